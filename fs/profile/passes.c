/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "fs/cache/fields.h"
#include "fs/profile/profile_private.h"
#include "fs/text/pack.h"

/*
 * The results of passes in the cache. Each aggregate is a separate datum, read on demand. One datum holds all other
 * results as fields: sizes and checkpoints of tables and texts, and the driver's facts.
 */

/* Maximum size of stored sums in bytes. Larger sums are recomputed. */
enum { SUMS_MAX = 16 << 20 };

/* ---- checkpoints -------------------------------------------------------------------------------- */

static void pack_checkpoints(struct pf_buf *out, const struct pf_checkpoints *checkpoints)
{
    pf_pack_u64(out, checkpoints->count);
    pf_buf_add(out, (const char *)checkpoints->items, checkpoints->count * sizeof *checkpoints->items);
    pf_pack_u64(out, checkpoints->used);
    pf_buf_add(out, (const char *)checkpoints->positions, checkpoints->used);
}

static bool unpack_checkpoints(struct pf_unpack *in, struct pf_checkpoints *checkpoints)
{
    checkpoints->count = pf_unpack_u64(in);
    checkpoints->items = pf_unpack_array(in, checkpoints->count, sizeof *checkpoints->items);
    checkpoints->room = checkpoints->count;
    checkpoints->used = pf_unpack_u64(in);
    checkpoints->positions = pf_unpack_array(in, checkpoints->used, 1);
    checkpoints->positions_room = checkpoints->used;
    for (size_t i = 0; i < checkpoints->count && !in->failed; i++) {
        const struct pf_checkpoint *at = &checkpoints->items[i];
        in->failed |= at->position > checkpoints->used || at->size > checkpoints->used - at->position ||
                      (i && at->full < checkpoints->items[i - 1].full);
    }
    return !in->failed;
}

/* ---- table sizes ----------------------------------------------------------------------------------- */

static void pack_table_sizes(struct pf_buf *out, size_t table, const struct pf_table_sizes *sizes)
{
    size_t begun = pf_fields_begin(out, PF_FIELD_TABLE_SIZES, table);
    pf_pack_u64(out, sizes->whole);
    pf_pack_u64(out, sizes->partitions);
    pf_buf_add(out, (const char *)sizes->partition, sizes->partitions * sizeof *sizes->partition);
    pf_pack_u64(out, sizes->first != NULL);
    if (sizes->first) {
        pf_buf_add(out, (const char *)sizes->first, sizes->partitions * sizeof *sizes->first);
        pf_buf_add(out, (const char *)sizes->end, sizes->partitions * sizeof *sizes->end);
    }
    pf_pack_u64(out, sizes->contexts);
    for (size_t i = 0; i < sizes->contexts; i++)
        pf_pack_u64(out, atomic_load_explicit(&sizes->context[i], memory_order_relaxed));
    pack_checkpoints(out, &sizes->checkpoints);
    pf_fields_end(out, begun);
}

static bool unpack_table_sizes(struct pf_profile *profile, uint64_t table, struct pf_unpack *in)
{
    struct pf_table_sizes *sizes = calloc(1, sizeof *sizes);
    if (!sizes || table >= profile->model.n_tables || table >= PF_TABLES_MAX) {
        free(sizes);
        return false;
    }
    sizes->whole = pf_unpack_u64(in);
    sizes->partitions = pf_unpack_u64(in);
    sizes->partition = pf_unpack_array(in, sizes->partitions, sizeof *sizes->partition);
    if (pf_unpack_u64(in)) {
        sizes->first = pf_unpack_array(in, sizes->partitions, sizeof *sizes->first);
        sizes->end = pf_unpack_array(in, sizes->partitions, sizeof *sizes->end);
    }
    sizes->contexts = pf_unpack_u64(in);
    sizes->context = pf_unpack_array(in, sizes->contexts, sizeof *sizes->context);
    bool sound = unpack_checkpoints(in, &sizes->checkpoints);
    for (size_t i = 0; sound && sizes->first && i < sizes->partitions; i++)
        sound = sizes->first[i] <= sizes->end[i] && sizes->end[i] <= sizes->checkpoints.count;
    pf_lock_take(&profile->lock); /* a profile with a cached tree is in use while its source is opened */
    sound = sound && !profile->table_sizes[table];
    if (sound)
        profile->table_sizes[table] = sizes;
    pf_lock_drop(&profile->lock);
    if (!sound)
        pf_table_sizes_free(sizes);
    return sound;
}

/* ---- texts -------------------------------------------------------------------------------------- */

static void pack_one_text(void *arg, struct pf_node node, const struct pf_text *text)
{
    struct pf_buf *out = arg;
    size_t begun = pf_fields_begin(out, PF_FIELD_CHECKPOINTS, pf_node_key(node));
    pf_pack_u64(out, text->size);
    pf_pack_u64(out, text->measured);
    pack_checkpoints(out, &text->own);
    pf_fields_end(out, begun);
}

/* True if the node is valid and may be measured by a walk of its own: all files except whole tables. */
static bool may_have_own_walk(const struct pf_profile *profile, struct pf_node node)
{
    int table = pf_table_of(node.kind);
    if (table < 0)
        return node.kind < PF_TABLE_WHOLE;
    return (size_t)table < profile->model.n_tables && pf_table_base(node.kind) != PF_TABLE_WHOLE;
}

static bool unpack_text(struct pf_profile *profile, uint64_t key, struct pf_unpack *in)
{
    struct pf_checkpoints checkpoints = {0};
    struct pf_node node = {(unsigned)(key >> 32), (uint32_t)key};
    uint64_t size = pf_unpack_u64(in), measured = pf_unpack_u64(in);
    bool sound = unpack_checkpoints(in, &checkpoints) && measured <= size && may_have_own_walk(profile, node);
    /* A measured part must end at the last checkpoint; otherwise a reader would wait for a checkpoint that no pass sets. */
    if (sound && measured != size)
        sound = measured == (checkpoints.count ? checkpoints.items[checkpoints.count - 1].full : 0);
    if (!sound) {
        pf_checkpoints_free(&checkpoints);
        return false;
    }
    return pf_file_text_restore(profile, node, size, measured, &checkpoints);
}

/* ---- the datum of pass results, and sums -------------------------------------------------------- */

static bool unpack_facts(struct pf_profile *profile, struct pf_unpack *in)
{
    size_t size = (size_t)(in->end - in->at);
    if (profile->facts || !size)
        return false;
    profile->facts = pf_unpack_array(in, size, 1);
    profile->facts_size = profile->facts ? size : 0;
    return profile->facts != NULL;
}

static bool unpack_field(struct pf_profile *profile, const struct pf_field *field, const char *bytes)
{
    struct pf_unpack in = {bytes, bytes + field->size, false};
    switch (field->type) {
    case PF_FIELD_TABLE_SIZES:
        return unpack_table_sizes(profile, field->number, &in);
    case PF_FIELD_CHECKPOINTS:
        return unpack_text(profile, field->number, &in);
    case PF_FIELD_FACTS:
        return unpack_facts(profile, &in);
    default:
        return false;
    }
}

/*
 * Returns a datum of an open profile, which the caller frees; NULL if none is cached for this version. Ignores the access
 * rights in the datum's head: the opened source provides them.
 */
static char *get_current(struct pf_profile *profile, enum pf_datum type, uint64_t number, size_t *size)
{
    struct pf_access access;
    return profile->env->cache
               ? pf_datum_get(profile, pf_profile_open_key(profile), type, number, size, &access)
               : NULL;
}

void pf_datum_get_passes(struct pf_profile *profile)
{
    struct pf_field field;
    struct pf_buf stored = {0};
    stored.data = get_current(profile, PF_DATUM_PASSES, 0, &stored.size);
    bool sound = stored.data && pf_fields_are_sound(stored.data, stored.size);
    for (const char *at = NULL; sound && (at = pf_fields_next(&stored, at, &field));)
        sound = unpack_field(profile, &field, at);
    free(stored.data);
}

/* Returns the sums stored for one metric, or for all metrics together (-1); owned by the caller. NULL: none are stored. */
static struct pf_aggregate *get_stored_sums(struct pf_profile *profile, int metric)
{
    size_t size;
    char *bytes = get_current(profile, PF_DATUM_SUMS, (uint64_t)metric + 1, &size);
    struct pf_aggregate *sums = bytes ? pf_aggregate_unpack(&profile->model, bytes, size) : NULL;
    free(bytes);
    return sums;
}

struct pf_aggregate *pf_datum_get_sums(struct pf_profile *profile, int *metric)
{
    struct pf_aggregate *sums = get_stored_sums(profile, -1);
    if (sums || *metric < 0) {
        *metric = -1;
        return sums;
    }
    int partner = pf_partner_of(&profile->model, (unsigned)*metric);
    sums = get_stored_sums(profile, *metric);
    return sums || !pf_are_partners(profile, *metric, partner) ? sums : get_stored_sums(profile, partner);
}

static void pack_facts(struct pf_profile *profile, struct pf_buf *out)
{
    const struct pf_driver_extra *driver = pf_driver_extra_of(profile->model.driver);
    unsigned char facts[256];
    if (!driver->facts || profile->stage < PF_PARTITIONED)
        return;
    size_t size = driver->facts(&profile->model, facts, sizeof facts);
    if (size == 0 || size > sizeof facts)
        return;
    pf_fields_add(out, PF_FIELD_FACTS, 0, facts, size);
}

/*
 * Packs the next unstored sums into *out, with *metric set, and marks them as stored. Sets out->failed if they are too
 * large. Returns false if all sums are stored.
 */
static bool pack_next_sums(struct pf_profile *profile, int *metric, struct pf_buf *out)
{
    pf_assert_held(&profile->lock);
    const struct pf_aggregate *sums = profile->sums_stored ? NULL : profile->aggregate;
    *metric = -1;
    profile->sums_stored = profile->aggregate;
    for (int m = 0; !profile->aggregate && profile->of_metric && !sums && m < (int)profile->model.n_metrics;
         m++) {
        int partner = pf_partner_of(&profile->model, (unsigned)m);
        bool same = partner >= 0 && partner < m && profile->of_metric[partner] == profile->of_metric[m];
        if (!profile->of_metric_stored[m] && !same)
            sums = profile->of_metric[ *metric = m];
        profile->of_metric_stored[m] = profile->of_metric[m];
    }
    if (sums && !pf_aggregate_pack(sums, SUMS_MAX, out))
        out->failed = true;
    return sums;
}

/* Stores each aggregate as a separate datum, since it may be large and is written once. */
static void store_sums(struct pf_profile *profile)
{
    for (bool more = true; more;) {
        struct pf_buf out = {0};
        int metric;
        pf_lock_take(&profile->lock);
        more = pack_next_sums(profile, &metric, &out);
        pf_lock_drop(&profile->lock);
        out.failed |= !pf_profile_intact(profile); /* packing may have found that aggregates are lost */
        if (more)
            pf_datum_put(profile, pf_profile_open_key(profile), PF_DATUM_SUMS, (uint64_t)metric + 1, &out);
        pf_buf_free(&out);
    }
}

void pf_datum_put_passes(struct pf_profile *profile)
{
    struct pf_buf payload = {0};
    if (!profile->env->cache || !pf_profile_may_cache(profile))
        return;
    pf_lock_take(&profile->lock);
    if (profile->facts && profile->stage < PF_PARTITIONED) /* restored from the cache, not yet used */
        pf_fields_add(&payload, PF_FIELD_FACTS, 0, profile->facts, profile->facts_size);
    else
        pack_facts(profile, &payload);
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        if (profile->table_sizes[t])
            pack_table_sizes(&payload, t, profile->table_sizes[t]);
    pf_file_texts_each(profile, pack_one_text, &payload);
    pf_lock_drop(&profile->lock);
    pf_datum_put(profile, pf_profile_open_key(profile), PF_DATUM_PASSES, 0, &payload);
    pf_buf_free(&payload);
    store_sums(profile);
}
