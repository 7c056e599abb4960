/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/hash.h"
#include "fs/profile/cachefile.h"
#include "fs/profile/live_private.h"
#include "fs/text/pack.h"
#include "fs/version.h"

/*
 * What passes have found, kept between mounts: sizes and checkpoints of tables and texts, aggregates, and the facts a driver has learnt. The payload
 * begins with the key (everything that text depends on); then sections, each a tag and its content; tag 0 ends.
 */
enum { SECTION_END, SECTION_FAMILY, SECTION_TEXT, SECTION_FACTS, SECTION_AGGREGATE };

/* Larger aggregates are made anew rather than kept. */
enum { AGGREGATE_MAX = 16 << 20 };

/* ---- the key ------------------------------------------------------------------------------------ */

static void pack_text(struct pf_buf *out, const char *text)
{
    pf_pack_u64(out, text ? strlen(text) + 1 : 0);
    if (text)
        pf_buf_str(out, text);
}

void pf_live_pack_versions(const struct pf_live *live, struct pf_buf *out)
{
    const struct pf_options *options = &live->core->options;
    pack_text(out, live->driver->name);
    pf_pack_u64(out, live->driver->version);
    pf_pack_u64(out, PF_RENDERER_VERSION);
    pf_pack_u64(out, PF_LAST_FOLDER << 16 | PF_METRIC_FILE); /* kinds of nodes are kept by their numbers */
    pack_text(out, options->metric);
    pack_text(out, options->instr_map);
    pf_pack_u64(out, live->core->others); /* who may read is told by other rules */
}

/* All but the inputs. */
static void pack_versions(const struct pf_live *live, struct pf_buf *out)
{
    pf_live_pack_versions(live, out);
    pf_pack_u64(out, live->profile.n_tables);
}

void pf_live_pack_input(struct pf_buf *out, const char *name, const struct pf_stamp *stamp)
{
    pack_text(out, name);
    pf_buf_add(out, (const char *)stamp, sizeof *stamp);
}

void pf_packed_inputs(struct pf_packed_inputs *inputs, const char *bytes, size_t size)
{
    const char *end = size ? bytes + size : bytes; /* NULL has no bytes, nor any behind it */
    inputs->in = (struct pf_unpack){bytes, end, false};
    inputs->left = pf_unpack_u64(&inputs->in);
}

int pf_packed_input_next(struct pf_packed_inputs *inputs)
{
    if (!inputs->left || inputs->in.failed)
        return inputs->in.failed ? -1 : 0;
    uint64_t size = pf_unpack_u64(&inputs->in);
    if (size > sizeof inputs->path)
        return -1;
    const char *name = size ? pf_unpack_bytes(&inputs->in, size - 1) : NULL;
    if (name)
        memcpy(inputs->path, name, size - 1);
    if (size)
        inputs->path[size - 1] = 0;
    inputs->name = size ? inputs->path : NULL;
    const void *stamp = pf_unpack_bytes(&inputs->in, sizeof inputs->stamp);
    if (!stamp)
        return -1;
    memcpy(&inputs->stamp, stamp, sizeof inputs->stamp);
    inputs->left--;
    return 1;
}

/* True if they are as they were. */
static bool unpack_inputs(const struct pf_live *live, struct pf_unpack *in)
{
    struct pf_packed_inputs inputs;
    int more, matches = 1;
    pf_packed_inputs(&inputs, in->at, (size_t)(in->end - in->at));
    while ((more = pf_packed_input_next(&inputs)) > 0 && matches == 1)
        matches = pf_source_matches(live->source, inputs.name, &inputs.stamp);
    *in = inputs.in;
    return matches == 1 && more == 0;
}

/* One file a source and set of options: a new version of the source takes the place of the old one's. */
static void file_name(const struct pf_live *live, char name[32])
{
    struct pf_stamp stamp = {0};
    struct pf_buf key = {0};
    pf_source_input_at(live->source, 0, &stamp);
    pf_pack_u64(&key, stamp.device);
    pf_pack_u64(&key, stamp.inode);
    pack_text(&key, live->driver->name);
    pack_text(&key, live->core->options.metric);
    pack_text(&key, live->core->options.instr_map);
    snprintf(name, 32, "%016llx.pfc", (unsigned long long)pf_hash(0, key.data, key.size));
    pf_buf_free(&key);
}

/* ---- tracks ------------------------------------------------------------------------------------- */

static void pack_track(struct pf_buf *out, const struct pf_track *track)
{
    pf_pack_u64(out, track->count);
    pf_buf_add(out, (const char *)track->marks, track->count * sizeof *track->marks);
    pf_pack_u64(out, track->used);
    pf_buf_add(out, (const char *)track->blobs, track->used);
}

static bool unpack_track(struct pf_unpack *in, struct pf_track *track)
{
    track->count = pf_unpack_u64(in);
    track->marks = pf_unpack_array(in, track->count, sizeof *track->marks);
    track->room = track->count;
    track->used = pf_unpack_u64(in);
    track->blobs = pf_unpack_array(in, track->used, 1);
    track->blobs_room = track->used;
    for (size_t i = 0; i < track->count && !in->failed; i++) {
        const struct pf_mark *mark = &track->marks[i];
        in->failed |= mark->blob > track->used || mark->size > track->used - mark->blob ||
                      (i && mark->full < track->marks[i - 1].full);
    }
    return !in->failed;
}

/* ---- families ----------------------------------------------------------------------------------- */

static void pack_family(struct pf_buf *out, size_t table, const struct pf_family *family)
{
    pf_pack_u64(out, SECTION_FAMILY);
    pf_pack_u64(out, table);
    pf_pack_u64(out, family->whole);
    pf_pack_u64(out, family->partitions);
    pf_buf_add(out, (const char *)family->partition, family->partitions * sizeof *family->partition);
    pf_pack_u64(out, family->first != NULL);
    if (family->first) {
        pf_buf_add(out, (const char *)family->first, family->partitions * sizeof *family->first);
        pf_buf_add(out, (const char *)family->end, family->partitions * sizeof *family->end);
    }
    pf_pack_u64(out, family->contexts);
    for (size_t i = 0; i < family->contexts; i++)
        pf_pack_u64(out, atomic_load_explicit(&family->context[i], memory_order_relaxed));
    pack_track(out, &family->track);
}

static bool unpack_family(struct pf_live *live, struct pf_unpack *in)
{
    uint64_t table = pf_unpack_u64(in);
    struct pf_family *family = calloc(1, sizeof *family);
    if (!family || table >= live->profile.n_tables || table >= PF_TABLES_MAX) {
        free(family);
        return false;
    }
    family->whole = pf_unpack_u64(in);
    family->partitions = pf_unpack_u64(in);
    family->partition = pf_unpack_array(in, family->partitions, sizeof *family->partition);
    if (pf_unpack_u64(in)) {
        family->first = pf_unpack_array(in, family->partitions, sizeof *family->first);
        family->end = pf_unpack_array(in, family->partitions, sizeof *family->end);
    }
    family->contexts = pf_unpack_u64(in);
    family->context = pf_unpack_array(in, family->contexts, sizeof *family->context);
    bool sound = unpack_track(in, &family->track);
    for (size_t i = 0; sound && family->first && i < family->partitions; i++)
        sound = family->first[i] <= family->end[i] && family->end[i] <= family->track.count;
    if (!sound || live->families[table]) {
        pf_family_free(family);
        return false;
    }
    live->families[table] = family;
    return true;
}

/* ---- texts -------------------------------------------------------------------------------------- */

static void pack_one_text(void *arg, struct pf_node node, const struct pf_text *text)
{
    struct pf_buf *out = arg;
    pf_pack_u64(out, SECTION_TEXT);
    pf_pack_u64(out, node.kind);
    pf_pack_u64(out, node.item);
    pf_pack_u64(out, text->size);
    pf_pack_u64(out, text->covered);
    pack_track(out, &text->own);
}

/* Files with a size of their own: all but a table's whole; a table's number must be one. */
static bool may_be_alone(const struct pf_live *live, struct pf_node node)
{
    int table = pf_table_of(node.kind);
    if (table < 0)
        return node.kind < PF_TABLE_WHOLE;
    return (size_t)table < live->profile.n_tables && pf_table_base(node.kind) != PF_TABLE_WHOLE;
}

static bool unpack_text(struct pf_live *live, struct pf_unpack *in)
{
    struct pf_track track = {0};
    struct pf_node node = {(unsigned)pf_unpack_u64(in), (uint32_t)pf_unpack_u64(in)};
    uint64_t size = pf_unpack_u64(in), covered = pf_unpack_u64(in);
    if (!unpack_track(in, &track) || covered > size || !may_be_alone(live, node)) {
        pf_track_free(&track);
        return false;
    }
    return pf_file_text_restore(live, node, size, covered, &track);
}

/* ---- whole files -------------------------------------------------------------------------------- */

static bool unpack_facts(struct pf_live *live, struct pf_unpack *in)
{
    uint64_t size = pf_unpack_u64(in);
    if (live->facts || in->failed)
        return false;
    live->facts = pf_unpack_array(in, size, 1);
    live->facts_size = live->facts ? size : 0;
    return live->facts != NULL;
}

/* Kept as bytes until somebody asks for it: what it must fit is not known before the model is loaded. */
static bool unpack_aggregate(struct pf_live *live, struct pf_unpack *in)
{
    uint64_t size = pf_unpack_u64(in);
    if (live->packed_aggregate || in->failed)
        return false;
    live->packed_aggregate = pf_unpack_array(in, size, 1);
    live->packed_aggregate_size = live->packed_aggregate ? size : 0;
    return live->packed_aggregate != NULL;
}

static void unpack_sections(struct pf_live *live, struct pf_unpack *in)
{
    for (;;) {
        bool sound = true;
        switch (pf_unpack_u64(in)) {
        case SECTION_FAMILY:
            sound = unpack_family(live, in);
            break;
        case SECTION_TEXT:
            sound = unpack_text(live, in);
            break;
        case SECTION_FACTS:
            sound = unpack_facts(live, in);
            break;
        case SECTION_AGGREGATE:
            sound = unpack_aggregate(live, in);
            break;
        default:
            return;
        }
        if (!sound || in->failed)
            return;
    }
}

void pf_live_recall(struct pf_live *live)
{
    char name[32];
    size_t size;
    if (!live->core->cache_folder)
        return;
    file_name(live, name);
    char *payload = pf_cachefile_read(live->core->cache_folder, name, &size);
    if (!payload)
        return;
    struct pf_buf versions = {0};
    pack_versions(live, &versions);
    struct pf_unpack in = {payload, payload + size, false};
    const void *stored = pf_unpack_bytes(&in, versions.size);
    if (!versions.failed && stored && !memcmp(stored, versions.data, versions.size) &&
        unpack_inputs(live, &in))
        unpack_sections(live, &in);
    pf_buf_free(&versions);
    free(payload);
}

static void pack_facts(struct pf_live *live, struct pf_buf *out)
{
    const struct pf_driver *driver = live->profile.driver;
    unsigned char facts[256];
    if (!driver->facts || live->stage < PF_PARTITIONED)
        return;
    size_t size = driver->facts(&live->profile, facts, sizeof facts);
    if (size == 0 || size > sizeof facts)
        return;
    pf_pack_u64(out, SECTION_FACTS);
    pf_pack_u64(out, size);
    pf_buf_add(out, (const char *)facts, size);
}

static void pack_aggregate(const struct pf_live *live, struct pf_buf *out)
{
    struct pf_buf packed = {0};
    const char *bytes = live->packed_aggregate; /* known from before, not yet used */
    size_t size = live->packed_aggregate_size;
    if (live->aggregate && pf_aggregate_pack(live->aggregate, AGGREGATE_MAX, &packed) && !packed.failed) {
        bytes = packed.data;
        size = packed.size;
    }
    if (bytes) {
        pf_pack_u64(out, SECTION_AGGREGATE);
        pf_pack_u64(out, size);
        pf_buf_add(out, bytes, size);
    }
    pf_buf_free(&packed);
}

void pf_live_remember(struct pf_live *live)
{
    char name[32];
    struct pf_buf payload = {0};
    if (!live->core->cache_folder || !pf_live_intact(live))
        return;
    pack_versions(live, &payload);
    pf_live_inputs(live, &payload);
    pthread_mutex_lock(&live->lock);
    if (live->facts && live->stage < PF_PARTITIONED) { /* known from before, not yet used */
        pf_pack_u64(&payload, SECTION_FACTS);
        pf_pack_u64(&payload, live->facts_size);
        pf_buf_add(&payload, live->facts, live->facts_size);
    } else {
        pack_facts(live, &payload);
    }
    for (size_t t = 0; t < PF_TABLES_MAX; t++)
        if (live->families[t])
            pack_family(&payload, t, live->families[t]);
    pf_file_texts_each(live, pack_one_text, &payload);
    pack_aggregate(live, &payload);
    pthread_mutex_unlock(&live->lock);
    pf_pack_u64(&payload, SECTION_END);
    file_name(live, name);
    pf_cachefile_write(live->core->cache_folder, name, &payload);
    pf_buf_free(&payload);
}
