/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "fs/clock.h"
#include "fs/draw/draw.h"
#include "fs/profile/profile_private.h"

/* Measures, opens and reads the files of a profile. */

struct pf_file {
    atomic_uint references;
    struct pf_profile *profile; /* held */
    struct pf_node node;
    _Atomic(struct pf_file_text *)
        text;    /* NULL until the first read if the file was opened from a stored size */
    char *bytes; /* contents of the whole file if stored, otherwise NULL */
    uint64_t size;
};

/* ---- measuring ---------------------------------------------------------------------------------- */

/* Limits for measuring on the thread of an operation: about a millisecond of work. */
enum { ROWS_AT_ONCE = 4096, BYTES_AT_ONCE = 512 * 1024 };

/* Returns an upper bound of the number of rows if the file is a seekable slice of the table of values; otherwise UINT64_MAX. */
static uint64_t most_rows(struct pf_profile *profile, struct pf_node node)
{
    const struct pf_model *model = &profile->model;
    unsigned base = pf_table_base(node.kind);
    if (&model->tables[pf_table_of(node.kind)] != model->values || !pf_is_seekable(model, node))
        return UINT64_MAX;
    return base == PF_TABLE_OF_CONTEXT     ? model->n_metrics * pf_rows_count(model->partitions.items)
           : base == PF_TABLE_OF_PARTITION ? model->n_metrics * (uint64_t)pf_profile_context_count(profile)
                                           : UINT64_MAX;
}

/* True if the file has few enough rows to walk them on the thread of an operation. */
static bool is_short_text(struct pf_profile *profile, struct pf_node node)
{
    const struct pf_model *model = &profile->model;
    if (pf_is_cheap(model, node))
        return true;
    if (pf_table_of(node.kind) >= 0)
        return most_rows(profile, node) < ROWS_AT_ONCE;
    if (node.kind == PF_BLOB || node.kind == PF_TIMELINE_SVG || node.kind == PF_TRACE_JSON)
        return false;
    return pf_rows_count(model->partitions.items) < ROWS_AT_ONCE &&
           pf_profile_context_count(profile) < ROWS_AT_ONCE;
}

/* True if the file is short, or if it is sized, not heavy, and little is left to measure up to text->until. */
static bool measures_short(struct pf_owner *owner, uint64_t number)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    (void)number;
    return is_short_text(text->profile, text->node) ||
           (pf_text_is_sized(&text->text, NULL) && !pf_is_heavy(&text->profile->model, text->node) &&
            pf_text_distance(&text->text, atomic_load(&text->until)) <= BYTES_AT_ONCE);
}

/*
 * Makes the result of measuring outlive the text's handles, unless the text is cheap to make. Keeps only the size if the
 * text is too short for checkpoints; otherwise, or if the size cannot be stored, keeps the text. Called with profile->lock
 * held.
 */
static void keep_measured(struct pf_profile *profile, struct pf_file_text *text)
{
    pf_assert_held(&profile->lock);
    uint64_t size;
    bool worthwhile = !pf_is_cheap(&profile->model, text->node) && pf_text_is_sized(&text->text, &size);
    text->outlives_handles = worthwhile && (size > PF_INTERVAL || !pf_put_size(profile, text->node, size));
}

static int run_measure(struct pf_owner *owner, uint64_t number, struct pf_error *error)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    struct pf_profile *profile = text->profile;
    uint64_t start = pf_monotonic_ns();
    bool counts = !measures_short(owner, number);
    if (pf_text_measure(&text->text, atomic_load(&text->until), error))
        return -1;
    pf_lock_take(&profile->lock);
    keep_measured(profile, text);
    pf_lock_drop(&profile->lock);
    if (!pf_profile_intact(profile))
        return pf_fail(error, ESTALE, "the file has changed");
    if (counts)
        pf_profile_count_pass(profile, start);
    return 0;
}

static const struct pf_work measure_work = {"sizes of", PF_WORK_MEASURE, measures_short, run_measure};

static bool is_measured(struct pf_text *text, uint64_t until)
{
    return until == UINT64_MAX ? pf_text_is_sized(text, NULL) : !pf_text_distance(text, until);
}

/*
 * Measures a text in jobs until its end (UINT64_MAX), or until the byte at an offset can be read. Repeats, since a job that
 * was started for another operation may end earlier. 0, or -1 with op->error filled.
 */
static int measure_text(struct pf_file_text *text, uint64_t until, struct pf_op *op)
{
    int result = 0;
    while (result == 0 && !is_measured(&text->text, until)) {
        uint64_t before = atomic_load(&text->until);
        while (before < until && !atomic_compare_exchange_weak(&text->until, &before, until))
            ;
        result = pf_need(op, &measure_work, &text->owner, 0);
    }
    return result;
}

/* ---- sizes -------------------------------------------------------------------------------------- */

/* True if the rows may depend on facts that only a complete pass over the table finds. */
static bool needs_facts(const struct pf_profile *profile, struct pf_node node)
{
    return pf_driver_extra_of(profile->model.driver)->facts && pf_table_of(node.kind) >= 0;
}

/*
 * True if the file is measured by a walk over its own rows instead of a pass over the table, which gives the sizes of all
 * files of the table at once. A file whose rows can be located directly does not wait for that pass: reading one thread of
 * a thousand reads the data of that thread only.
 */
static bool is_measured_by_walk(struct pf_profile *profile, struct pf_node node)
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
    bool made = profile->table_sizes[table] != NULL;
    pf_lock_drop(&profile->lock);
    return !made;
}

/* Loads or computes everything that a walk over the file needs. Returns 0, or -1 with op->error filled. */
static int prepare_walk(struct pf_profile *profile, struct pf_node node, struct pf_op *op)
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
    /* The rows of the timeline table, from which trace.json is made, depend on facts that only a pass over the table finds. */
    if (result == 0 && node.kind == PF_TRACE_JSON && pf_driver_extra_of(profile->model.driver)->facts) {
        struct pf_table_sizes *sizes;
        size_t table = (size_t)(pf_timeline_table(&profile->model) - profile->model.tables);
        result = pf_profile_table_sizes(profile, table, &sizes, op);
    }
    return result;
}

static int size_from_walk(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op)
{
    struct pf_file_text *text = pf_file_text_of(profile, node);
    if (!text)
        return pf_fail_memory(&op->error);
    int result = pf_text_is_sized(&text->text, NULL) ? 0 : prepare_walk(profile, node, op);
    if (result == 0)
        result = measure_text(text, UINT64_MAX, op);
    if (result == 0)
        pf_text_is_sized(&text->text, size);
    pf_file_text_release(text);
    return result;
}

static int size_from_table(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op)
{
    struct pf_table_sizes *sizes;
    int result = pf_profile_table_sizes(profile, (size_t)pf_table_of(node.kind), &sizes, op);
    if (result == 0)
        *size = pf_size_in_table(sizes, node);
    return result;
}

int pf_profile_size(struct pf_profile *profile, struct pf_node node, uint64_t *size, struct pf_op *op)
{
    if (pf_cached_size(profile, node, size))
        return 0;
    int result = pf_profile_open(profile, op);
    if (!result)
        result = is_measured_by_walk(profile, node) ? size_from_walk(profile, node, size, op)
                                                    : size_from_table(profile, node, size, op);
    if (!result)
        pf_profile_put_file(profile, node, *size, NULL);
    return result;
}

int pf_file_walk(struct pf_profile *profile, struct pf_node node, struct pf_walk **walk, struct pf_op *op)
{
    uint64_t size;
    *walk = NULL;
    if (pf_profile_size_now(profile, node, &size))
        return 0;
    if (pf_profile_open(profile, op))
        return -1;
    if (needs_facts(profile, node))
        return 0;
    int result = prepare_walk(profile, node, op);
    if (result == 0)
        *walk = pf_node_walk(profile, node, &op->error);
    return result ? result : *walk ? 0 : -1;
}

/* ---- handles ------------------------------------------------------------------------------------ */

/* Sets the size and checkpoints of a text, taken from the sizes of its table. */
static void use_table_sizes(struct pf_file_text *text, const struct pf_table_sizes *sizes)
{
    struct pf_text *t = &text->text;
    struct pf_node node = text->node;
    pf_lock_take(&t->lock);
    if (!t->sized) {
        t->size = pf_size_in_table(sizes, node);
        if (pf_table_base(node.kind) == PF_TABLE_WHOLE) {
            t->shared = &sizes->checkpoints;
            t->end = sizes->checkpoints.count;
            t->measured = t->size;
        } else if (pf_table_base(node.kind) == PF_TABLE_OF_PARTITION && sizes->first &&
                   node.item < sizes->partitions) {
            t->shared = &sizes->checkpoints;
            t->first = sizes->first[node.item];
            t->end = sizes->end[node.item];
            t->of_partition = true;
            t->measured = t->size;
        }
        t->sized = true;
    }
    pf_lock_drop(&t->lock);
}

/* Stores a reference to a file's text in *text, once the text is measured and ready for walks. 0, or -1 with op->error filled. */
static int readable_text(struct pf_profile *profile, struct pf_node node, struct pf_file_text **text,
                         struct pf_op *op)
{
    struct pf_table_sizes *sizes = NULL;
    if (pf_profile_open(profile, op))
        return -1;
    bool by_walk = is_measured_by_walk(profile, node);
    int result = prepare_walk(profile, node, op);
    if (result == 0 && !by_walk)
        result = pf_profile_table_sizes(profile, (size_t)pf_table_of(node.kind), &sizes, op);
    if (result)
        return result;
    *text = pf_file_text_of(profile, node);
    if (!*text)
        return pf_fail_memory(&op->error);
    if (sizes)
        use_table_sizes(*text, sizes);
    else
        result = measure_text(*text, UINT64_MAX, op);
    if (result)
        pf_file_text_release(*text);
    return result;
}

int pf_file_open(struct pf_profile *profile, struct pf_node node, struct pf_file **file, struct pf_op *op)
{
    struct pf_file_text *text = NULL;
    char *bytes;
    uint64_t size;
    bool cached = pf_cached_get_file(&profile->cached, node, &size, &bytes); /* bytes: NULL if not stored */
    int result = cached ? 0 : readable_text(profile, node, &text, op);
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
                              .size = cached ? size : text->text.size};
    return 0;
}

bool pf_file_bytes(const struct pf_file *file, const char **bytes, size_t *size)
{
    *bytes = file->bytes;
    *size = (size_t)file->size;
    return file->bytes != NULL;
}

/* Sets file->text, at the first read of a file that was opened from a stored size. Returns 0, or -1 with op->error filled. */
static int need_text(struct pf_file *file, struct pf_op *op)
{
    struct pf_file_text *text, *none = NULL;
    if (atomic_load(&file->text))
        return 0;
    int result = readable_text(file->profile, file->node, &text, op);
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

struct pf_profile *pf_file_profile(const struct pf_file *file)
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

/* ---- reading ------------------------------------------------------------------------------------ */

static bool renders_short(struct pf_owner *owner, uint64_t start)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    (void)start;
    return !pf_is_heavy(&text->profile->model, text->node);
}

static int run_block(struct pf_owner *owner, uint64_t start, struct pf_error *error)
{
    struct pf_file_text *text = (struct pf_file_text *)owner;
    return pf_pass_step(0, 1, error) ? -1
                                     : pf_text_render(&text->text, text->profile->env->blocks, start, error);
}

static const struct pf_work block_work = {"text of", PF_WORK_BLOCKS, renders_short, run_block};

/* Renders the block that starts at offset `start`. All readers of the block share one job. 0, or -1 with op->error filled. */
static int need_text_block(void *owner, uint64_t start, struct pf_op *op)
{
    struct pf_file_text *text = owner;
    return pf_need(op, &block_work, &text->owner, start);
}

int pf_file_read(struct pf_file *file, uint64_t offset, size_t size, struct pf_span spans[PF_SPANS], int *n,
                 struct pf_op *op)
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
    result = measure_text(file->text, offset + size - 1, op);
    if (result)
        return result;
    int got = pf_text_read(text, file->profile->env->blocks, offset, size, spans, need_text_block, op);
    if (got < 0)
        return -1;
    if (!pf_profile_intact(file->profile)) {
        while (got)
            pf_blocks_release(file->profile->env->blocks, spans[--got].block);
        return pf_fail(&op->error, ESTALE, "the file has changed");
    }
    *n = got;
    if (got == 1 && spans[0].size == text->size && text->size <= PF_CACHED_TEXT_MAX)
        pf_profile_put_file(file->profile, file->node, text->size, spans[0].block->data + spans[0].offset);
    return 0;
}

/* ---- links -------------------------------------------------------------------------------------- */

/* Reads the target of a link: the text that the walk over its node returns. */
static int read_target(struct pf_profile *profile, struct pf_node node, char **target, struct pf_error *error)
{
    struct pf_buf text = {0};
    struct pf_walk *walk = pf_node_walk(profile, node, error);
    int more = walk ? 1 : -1;
    while (more > 0)
        more = walk->ops->next(walk, &text, error);
    if (walk)
        walk->ops->close(walk);
    pf_buf_char(&text, '\0');
    if (more == 0 && !text.failed) {
        *target = text.data;
        return 0;
    }
    pf_buf_free(&text);
    return more < 0 ? -1 : pf_fail_memory(error);
}

int pf_profile_link(struct pf_profile *profile, struct pf_node node, char **target, struct pf_op *op)
{
    uint64_t size;
    const char *hidden = pf_hidden_target(node.kind);
    if (hidden)
        return (*target = strdup(hidden)) ? 0 : pf_fail_memory(&op->error);
    if (pf_cached_get_file(&profile->cached, node, &size, target) && *target)
        return 0;
    int result = pf_profile_ready(profile, node, op);
    if (!result)
        result = read_target(profile, node, target, &op->error);
    if (!result && *target)
        pf_profile_put_file(profile, node, strlen(*target), *target);
    return result;
}
