/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/draw/draw.h"
#include "fs/profile/profile_private.h"

/* What may be rendered in one go on a thread that others wait for: about a millisecond. */
enum { ROWS_AT_ONCE = 4096, BYTES_AT_ONCE = 2 * PF_BLOCK };

/* A read of so few bytes that stands alone, so far from others, is made alone. */
enum { ALONE_BYTES = 32 * 1024, NEAR_BYTES = 4 * PF_BLOCK };

/* While what was read is on its way to whoever reads on, the next so many bytes are made. */
enum { AHEAD_BYTES = 2 * PF_BLOCK };

/* A file's text, shared by all handles on it and by passes. Kept without handles if its size took a pass. */
struct pf_file_text {
    struct pf_owner
        owner; /* first; counts handles, operations and jobs; the last reference is given back under profile->lock */
    struct pf_text text;
    struct pf_profile *profile; /* held while there are references */
    struct pf_node node;
    _Atomic uint64_t until; /* to be measured up to here */
    bool keep;
    bool alone;                /* a table's, measured without the others; guarded by profile->lock */
    atomic_bool ahead;         /* somebody is making what is likely to be read next */
};

struct pf_file {
    atomic_uint references;
    struct pf_profile *profile; /* held */
    struct pf_node node;
    _Atomic(struct pf_file_text *)
        text;    /* NULL: the size is known, and nothing else has been asked for yet */
    char *bytes; /* the whole file, if that is known */
    uint64_t size;
    _Atomic uint64_t read_to; /* where the last read ended */
    _Atomic uint64_t made_to; /* where what was made ahead ends */
};

static struct pf_lines *walk_text(void *owner, struct pf_error *error)
{
    struct pf_file_text *text = owner;
    return pf_node_walk(text->profile, text->node, error);
}

/* ---- texts -------------------------------------------------------------------------------------- */

static void text_free(struct pf_file_text *text)
{
    pf_owner_end(&text->owner);
    pf_text_close(&text->text);
    free(text);
}

static const char *text_name(const struct pf_owner *owner)
{
    return pf_source_name(((const struct pf_file_text *)owner)->profile->source);
}

static void release_text(struct pf_owner *owner)
{
    pf_file_text_release((struct pf_file_text *)owner);
}

static const struct pf_owner_type text_type = {release_text, text_name};

/* The text of a node, held; made if there is none. NULL: out of memory. */
static struct pf_file_text *text_of(struct pf_profile *profile, struct pf_node node)
{
    pf_lock_take(&profile->lock);
    struct pf_file_text *text = pf_map_get(&profile->texts, pf_node_key(node));
    if (!text && (text = calloc(1, sizeof *text))) {
        pf_text_init(&text->text, atomic_fetch_add(&profile->core->next_text, 1), walk_text, text);
        pf_owner_init(&text->owner, &text_type, profile->core->pool);
        text->owner.references = 0;
        text->profile = profile;
        text->node = node;
        if (!pf_map_put(&profile->texts, pf_node_key(node), text)) {
            text_free(text);
            text = NULL;
        }
    }
    if (text && atomic_fetch_add(&text->owner.references, 1) == 0)
        pf_profile_hold(profile);
    pf_lock_drop(&profile->lock);
    return text;
}

void pf_file_text_release(struct pf_file_text *text)
{
    struct pf_profile *profile = text->profile;
    pf_lock_take(&profile->lock);
    bool closed = atomic_fetch_sub(&text->owner.references, 1) == 1, last = closed && !text->keep;
    if (last)
        pf_map_remove(&profile->texts, pf_node_key(text->node));
    pf_lock_drop(&profile->lock);
    if (last)
        text_free(text);
    else if (closed)
        pf_text_rest(&text->text); /* texts are kept by the thousand: their walks are not */
    if (closed)
        pf_profile_release(profile);
}

void pf_file_texts_free(struct pf_profile *profile)
{
    for (size_t i = 0; profile->texts.slots && i <= profile->texts.mask; i++)
        if (profile->texts.slots[i].value)
            text_free(profile->texts.slots[i].value);
    pf_map_free(&profile->texts);
}

void pf_file_texts_each(struct pf_profile *profile,
                        void (*each)(void *arg, struct pf_node node, const struct pf_text *text), void *arg)
{
    pf_assert_held(&profile->lock);
    for (size_t i = 0; profile->texts.slots && i <= profile->texts.mask; i++) {
        struct pf_file_text *text = profile->texts.slots[i].value;
        if (!text)
            continue;
        pf_lock_take(&text->text.lock);
        if (text->keep && text->text.sized && !text->text.shared)
            each(arg, text->node, &text->text);
        pf_lock_drop(&text->text.lock);
    }
}

static void count_alone(struct pf_file_text *text)
{
    int table = pf_table_of(text->node.kind);
    pf_lock_take(&text->profile->lock);
    if (table >= 0 && !text->alone)
        text->profile->alone[table]++;
    text->alone = true;
    pf_lock_drop(&text->profile->lock);
}

bool pf_file_text_restore(struct pf_profile *profile, struct pf_node node, uint64_t size, uint64_t covered,
                          struct pf_track *track)
{
    struct pf_file_text *text = text_of(profile, node);
    if (!text || text->text.sized) {
        pf_track_free(track);
        return false;
    }
    text->text.own = *track;
    text->text.size = size;
    text->text.covered = covered;
    text->text.sized = true;
    text->keep = true;
    count_alone(text);
    pf_file_text_release(text);
    return true;
}

/* Renders a range into the cache of blocks. 0, or -1 with *error filled. */
static int render(struct pf_file_text *text, uint64_t offset, size_t size, struct pf_error *error)
{
    struct pf_piece pieces[PF_PIECES];
    int n = pf_text_read(&text->text, text->profile->core->blocks, offset, size, false, pieces, error);
    for (int i = 0; i < n; i++)
        pf_blocks_release(text->profile->core->blocks, pieces[i].block);
    return n < 0 ? -1 : 0;
}

/* ---- sizes -------------------------------------------------------------------------------------- */

/*
 * A table's pass gives the sizes of all its files at once. A file whose rows can be found without the others' is
 * measured on its own if it is one of few that are asked for: looking at one thread of a thousand reads that thread.
 */
enum { ALONE_MAX = 16 };

/* Rows may be made from facts that only a whole pass finds out. */
static bool needs_facts(const struct pf_profile *profile, struct pf_node node)
{
    return profile->model.driver->facts && pf_table_of(node.kind) >= 0;
}

/* True if the file is, or is to be, measured on its own. */
static bool is_alone(struct pf_profile *profile, struct pf_node node)
{
    int table = pf_table_of(node.kind);
    if (table < 0)
        return true;
    unsigned base = pf_table_base(node.kind);
    if (base == PF_TABLE_OF_METRIC || base == PF_TABLE_OF_KEY)
        return true;
    if (base == PF_TABLE_WHOLE || !profile->model.tables[table].ops || needs_facts(profile, node) ||
        !pf_is_seekable(&profile->model, node))
        return false;
    pf_lock_take(&profile->lock);
    const struct pf_file_text *text = pf_map_get(&profile->texts, pf_node_key(node));
    bool alone = !profile->families[table] && ((text && text->alone) || profile->alone[table] < ALONE_MAX);
    pf_lock_drop(&profile->lock);
    return alone;
}

/* The size of a table's file out of its family. */
static uint64_t family_size(const struct pf_family *family, struct pf_node node)
{
    unsigned base = pf_table_base(node.kind);
    if (base == PF_TABLE_OF_CONTEXT)
        return node.item < family->contexts
                   ? atomic_load_explicit(&family->context[node.item], memory_order_relaxed)
                   : 0;
    if (base == PF_TABLE_OF_PARTITION)
        return node.item < family->partitions ? family->partition[node.item] : 0;
    return family->whole;
}

/* Few enough rows to render while somebody waits. */
static bool is_short(struct pf_profile *profile, struct pf_node node)
{
    const struct pf_model *model = &profile->model;
    if (pf_is_cheap(model, node))
        return true;
    if (pf_table_of(node.kind) >= 0 || node.kind == PF_BLOB || node.kind == PF_TIMELINE_SVG ||
        node.kind == PF_TRACE_JSON)
        return false;
    return pf_rows_count(model->partitions.items) < ROWS_AT_ONCE &&
           pf_profile_context_count(profile) < ROWS_AT_ONCE;
}

/* ---- jobs over a text --------------------------------------------------------------------------- */

/* True if what is to be measured is short: the whole file, or the part up to text->until. */
static bool measures_short(struct pf_owner *owner, uint64_t number)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    (void)number;
    return is_short(text->profile, text->node) ||
           (pf_text_is_sized(&text->text, NULL) && !pf_is_heavy(&text->profile->model, text->node) &&
            pf_text_distance(&text->text, atomic_load(&text->until)) <= BYTES_AT_ONCE);
}

static int run_measure(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    struct pf_profile *profile = text->profile;
    uint64_t start = pf_now_ns();
    bool counts = !measures_short(owner, number);
    if (pf_text_cover(&text->text, atomic_load(&text->until), error))
        return -1;
    pf_lock_take(&profile->lock);
    text->keep =
        !pf_is_cheap(&profile->model, text->node); /* a size that took work is not to be found again */
    pf_lock_drop(&profile->lock);
    if (!pf_profile_intact(profile))
        return pf_fail(error, ESTALE, "the file has changed");
    if (counts)
        pf_profile_note_pass(profile, start);
    return 0;
}

static const struct pf_work measure_work = {"sizes of", PF_WORK_MEASURE, measures_short, run_measure};

/* Measures a text until an offset is covered. */
static int measure(struct pf_file_text *text, uint64_t until, struct pf_op *op)
{
    uint64_t before = atomic_load(&text->until);
    while (before < until && !atomic_compare_exchange_weak(&text->until, &before, until))
        ;
    return pf_need(op, &measure_work, &text->owner, 0);
}

/* A range of a text as the number of a job. */
enum { OFFSET_BITS = 44, RANGE_MAX = (1 << 20) - 1 };

static int run_blocks(struct pf_owner *owner, uint64_t range, struct pf_error *error)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    if (pf_pass_step(0, 1, error))
        return -1;
    atomic_fetch_add(&text->profile->core->passes, 1);
    return render(text, range & (((uint64_t)1 << OFFSET_BITS) - 1), (size_t)(range >> OFFSET_BITS), error);
}

static const struct pf_work blocks_work = {"text of", PF_WORK_BLOCKS, NULL, run_blocks};

/* ---- sizes of texts ----------------------------------------------------------------------------- */

/* Everything that a walk over the file needs. 0: it is there. */
static int prepare(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
{
    struct pf_aggregate *aggregate;
    int result = pf_profile_ready(profile, node, op);
    if (result == 0 && pf_needs_aggregate(&profile->model, node))
        result = pf_profile_aggregate(profile, pf_aggregate_metric(node), &aggregate, op);
    for (size_t i = 0; result == 0 && node.kind == PF_METRIC_SUMMARY; i++) {
        struct pf_node file;
        uint64_t size;
        if (!pf_summary_file(profile, node, i, &file))
            break;
        result = pf_profile_size(profile, file, &size, op);
    }
    /* Its rows are the table's: a pass over that finds out the facts. */
    if (result == 0 && node.kind == PF_TRACE_JSON && profile->model.driver->facts) {
        struct pf_family *family;
        size_t table = (size_t)(pf_timeline_table(&profile->model) - profile->model.tables);
        result = pf_profile_family(profile, table, &family, op);
    }
    return result;
}

static int size_text(struct pf_file_text *text, struct pf_op *op)
{
    if (pf_text_is_sized(&text->text, NULL))
        return 0;
    count_alone(text);
    int result = prepare(text->profile, text->node, op);
    while (result == 0 && !pf_text_is_sized(&text->text, NULL))
        result = measure(text, UINT64_MAX, op);
    return result;
}

static int size_alone(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op)
{
    struct pf_file_text *text = text_of(profile, node);
    if (!text)
        return pf_fail_memory(&op->error);
    int result = size_text(text, op);
    if (result == 0)
        pf_text_is_sized(&text->text, size);
    pf_file_text_release(text);
    return result;
}

static int size_in_family(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op)
{
    struct pf_family *family;
    int result = pf_profile_family(profile, (size_t)pf_table_of(node.kind), &family, op);
    if (result == 0)
        *size = family_size(family, node);
    return result;
}

/* A size that needs no open profile. */
static bool size_if_kept(struct pf_profile *profile, struct pf_node node, uint64_t *size)
{
    const char *target = pf_hidden_target(node.kind);
    if (target)
        *size = strlen(target);
    return target || pf_known_file(&profile->known, node, size, NULL);
}

int pf_profile_size(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op)
{
    if (size_if_kept(profile, node, size))
        return 0;
    int result = pf_profile_wake(profile, &op->error);
    if (!result)
        result = is_alone(profile, node) ? size_alone(profile, node, size, op)
                                         : size_in_family(profile, node, size, op);
    if (!result)
        pf_profile_learn_file(profile, node, *size, NULL);
    return result;
}

bool pf_profile_known_size(struct pf_profile *profile, struct pf_node node, uint64_t *size)
{
    int table = pf_table_of(node.kind);
    bool in_family = table >= 0 && pf_table_base(node.kind) < PF_TABLE_OF_METRIC;
    if (size_if_kept(profile, node, size))
        return true;
    pf_lock_take(&profile->lock);
    const struct pf_family *family = in_family ? profile->families[table] : NULL;
    struct pf_file_text *text = family ? NULL : pf_map_get(&profile->texts, pf_node_key(node));
    bool known = family || (text && pf_text_is_sized(&text->text, size));
    if (family)
        *size = family_size(family, node);
    pf_lock_drop(&profile->lock);
    return known;
}

int pf_file_walk(struct pf_profile *profile, struct pf_node node, struct pf_lines **lines, struct pf_op *op)
{
    uint64_t size;
    *lines = NULL;
    if (pf_profile_known_size(profile, node, &size))
        return 0;
    if (pf_profile_wake(profile, &op->error))
        return -1;
    if (needs_facts(profile, node))
        return 0;
    int result = prepare(profile, node, op);
    if (result == 0)
        *lines = pf_node_walk(profile, node, &op->error);
    return result ? result : *lines ? 0 : -1;
}

/* ---- handles ------------------------------------------------------------------------------------ */

/* Gives a table's text what the family knows. */
static void use_family(struct pf_file_text *text, const struct pf_family *family)
{
    struct pf_text *t = &text->text;
    struct pf_node node = text->node;
    pf_lock_take(&t->lock);
    if (!t->sized) {
        t->size = family_size(family, node);
        if (pf_table_base(node.kind) == PF_TABLE_WHOLE) {
            t->shared = &family->track;
            t->end = family->track.count;
            t->covered = t->size;
        } else if (pf_table_base(node.kind) == PF_TABLE_OF_PARTITION && family->first &&
                   node.item < family->partitions) {
            t->shared = &family->track;
            t->first = family->first[node.item];
            t->end = family->end[node.item];
            t->part = true;
            t->covered = t->size;
        }
        t->sized = true;
    }
    pf_lock_drop(&t->lock);
}

/* The file's text, held and sized. 0: it is there. */
static int sized_text(struct pf_profile *profile, struct pf_node node, struct pf_file_text **text,
                      struct pf_op *op)
{
    struct pf_family *family = NULL;
    if (pf_profile_wake(profile, &op->error))
        return -1;
    bool alone = is_alone(profile, node);
    int result = prepare(profile, node, op);
    if (result == 0 && !alone)
        result = pf_profile_family(profile, (size_t)pf_table_of(node.kind), &family, op);
    if (result)
        return result;
    *text = text_of(profile, node);
    if (!*text)
        return pf_fail_memory(&op->error);
    if (family)
        use_family(*text, family);
    else
        result = size_text(*text, op);
    if (result)
        pf_file_text_release(*text);
    return result;
}

int pf_file_open(struct pf_profile *profile, struct pf_node node, struct pf_file **file, struct pf_op *op)
{
    struct pf_file_text *text = NULL;
    char *bytes;
    uint64_t size;
    bool known = pf_known_file(&profile->known, node, &size, &bytes); /* bytes are NULL where they are not */
    int result = known ? 0 : sized_text(profile, node, &text, op);
    if (result)
        return result;
    *file = calloc(1, sizeof **file);
    if (!*file) {
        if (text)
            pf_file_text_release(text);
        free(bytes);
        return pf_fail_memory(&op->error);
    }
    **file = (struct pf_file){.references = 1,
                              .profile = pf_profile_hold(profile),
                              .node = node,
                              .text = text,
                              .bytes = bytes,
                              .size = known ? size : text->text.size};
    return 0;
}

bool pf_file_bytes(const struct pf_file *file, const char **bytes, size_t *size)
{
    *bytes = file->bytes;
    *size = (size_t)file->size;
    return file->bytes != NULL;
}

/* What was opened by its known size alone is to be read. 0: its text is there. */
static int need_text(struct pf_file *file, struct pf_op *op)
{
    struct pf_file_text *text, *none = NULL;
    if (atomic_load(&file->text))
        return 0;
    int result = sized_text(file->profile, file->node, &text, op);
    if (result)
        return result;
    if (text->text.size != file->size)
        result = pf_fail(&op->error, ESTALE, "the file has changed");
    if (result || !atomic_compare_exchange_strong(&file->text, &none, text))
        pf_file_text_release(text);
    return result;
}

struct pf_file *pf_file_hold(struct pf_file *file)
{
    atomic_fetch_add(&file->references, 1);
    return file;
}

struct pf_profile *pf_file_live(const struct pf_file *file)
{
    return file->profile;
}

struct pf_node pf_file_node(const struct pf_file *file)
{
    return file->node;
}

void pf_file_close(struct pf_file *file)
{
    if (atomic_fetch_sub(&file->references, 1) > 1)
        return;
    if (file->text)
        pf_file_text_release(file->text);
    pf_profile_release(file->profile);
    free(file->bytes);
    free(file);
}

/* Makes a range readable on this thread. */
static int make_readable(struct pf_file *file, uint64_t offset, size_t size, struct pf_op *op)
{
    struct pf_file_text *text = file->text;
    uint64_t last = offset + size - 1, range = size < RANGE_MAX ? size : RANGE_MAX;
    int result = 0;
    while (!result && pf_text_distance(&text->text, last))
        result = measure(text, last, op);
    if (result || !pf_is_heavy(&file->profile->model, text->node))
        return result;
    return pf_need(op, &blocks_work, &text->owner, offset | range << OFFSET_BITS);
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* True of a read near the one before. Those of one reader may come side by side, in any order. */
static bool reads_on(const struct pf_file *file, uint64_t offset)
{
    uint64_t before = atomic_load(&file->read_to);
    return offset <= before + NEAR_BYTES && before <= offset + NEAR_BYTES;
}

/* A few bytes somewhere: neither at the start nor near where others were read. Heavy texts' blocks are made by passes, as blocks. */
static bool is_alone_standing(const struct pf_file *file, uint64_t offset, size_t size)
{
    return offset > 0 && size <= ALONE_BYTES && !reads_on(file, offset) &&
           !pf_is_heavy(&file->profile->model, file->text->node);
}

/* Blocks that are likely to be read next, to be made by a thread that would else do nothing. */
struct ahead {
    struct pf_errand errand;
    struct pf_profile *profile; /* held */
    struct pf_file_text *text;  /* held */
    uint64_t offset;
    size_t size;
};

/* What goes wrong is told to whoever reads them. */
static void make_ahead(struct pf_errand *errand)
{
    struct ahead *ahead = (struct ahead *)errand;
    struct pf_error error;
    render(ahead->text, ahead->offset, ahead->size, &error);
    atomic_store(&ahead->text->ahead, false);
    pf_file_text_release(ahead->text);
    pf_profile_release(ahead->profile);
    free(ahead);
}

/* One thread a text is enough, and more would make it in pieces. */
static bool start_ahead(struct pf_file *file, uint64_t offset, size_t size)
{
    struct pf_file_text *text = file->text;
    if (atomic_exchange(&text->ahead, true))
        return false;
    struct ahead *ahead = malloc(sizeof *ahead);
    if (!ahead) {
        atomic_store(&text->ahead, false);
        return false;
    }
    *ahead = (struct ahead){{.run = make_ahead}, pf_profile_hold(file->profile), text, offset, size};
    atomic_fetch_add(&text->owner.references, 1);
    if (pf_pool_errand(file->profile->core->pool, &ahead->errand))
        return true;
    make_ahead(&ahead->errand);
    return true;
}

/* Has what follows a read made ahead, at least a block at a time. */
static void read_ahead(struct pf_file *file, uint64_t end)
{
    struct pf_text *text = &file->text->text;
    uint64_t until = end + AHEAD_BYTES, from = atomic_load(&file->made_to);
    if (from < end || from > until) /* of another place */
        from = end;
    if (until > text->size)
        until = text->size;
    if (until >= from + PF_BLOCK && !pf_text_distance(text, until - 1) &&
        start_ahead(file, from, (size_t)(until - from)))
        atomic_store(&file->made_to, until);
}

int pf_file_read(struct pf_file *file, uint64_t offset, size_t size, struct pf_piece pieces[PF_PIECES],
                 int *n, struct pf_op *op)
{
    *n = 0;
    if (offset >= file->size || size == 0)
        return 0;
    int result = need_text(file, op);
    if (result)
        return result;
    struct pf_text *text = &file->text->text;
    if (size > text->size - offset)
        size = (size_t)(text->size - offset);
    result = make_readable(file, offset, size, op);
    if (result)
        return result;
    bool goes_on = offset > 0 && reads_on(file, offset);
    if (goes_on && !pf_is_heavy(&file->profile->model, file->text->node))
        read_ahead(file, offset + size);
    int got = pf_text_read(text, file->profile->core->blocks, offset, size,
                           is_alone_standing(file, offset, size), pieces, &op->error);
    if (got < 0)
        return -1;
    if (!pf_profile_intact(file->profile)) {
        while (got)
            pf_blocks_release(file->profile->core->blocks, pieces[--got].block);
        return pf_fail(&op->error, ESTALE, "the file has changed");
    }
    *n = got;
    if (got == 1 && pieces[0].size == text->size && text->size <= PF_KNOWN_TEXT_MAX)
        pf_profile_learn_file(file->profile, file->node, text->size,
                              pieces[0].block->data + pieces[0].offset);
    atomic_store(&file->read_to, offset + size);
    return 0;
}
