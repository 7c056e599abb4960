/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/xray/records.h"

/* Problems of a file. Some messages end in a number. */
static const struct pf_note_kind block_size = {
    "error", "block-size", "the rest of the file is left out: this block is too small; bytes"};
static const struct pf_note_kind block_cut = {"fatal", "cut-block",
                                              "the file ends inside this block; bytes missing"};
static const struct pf_note_kind cut_in_block = {"error", "cut-record",
                                                 "the block ends inside this record, which is left out"};
static const struct pf_note_kind no_path = {"warning", "record-without-path",
                                            "this record names no function, and is left out"};
static const struct pf_note_kind long_path = {
    "error", "long-path", "this record is left out, because its path is too long; functions"};

/*
 * Reader of files written by XRay's profiling mode. They have no events; instead, for each thread, the number of calls
 * and ticks of each calling context. Layout: a header, then blocks of one thread each. A block is: u32 size (including
 * these 16 bytes), u32 number, u64 thread; then records. A record is: u32 function ids from the innermost to the
 * outermost, a zero, u64 calls, i64 exclusive ticks. Nothing is aligned.
 */
enum {
    BLOCK_HEADER = 16,
    /* Limit of ids kept of a path: 16 MB, far deeper than real call stacks. */
    PATH_MAX_IDS = 4 * 1024 * 1024,
};

/* ---- threads ------------------------------------------------------------------------------------ */

int xray_scan_blocks(struct xray_indexing *scan, struct pf_error *error)
{
    uint64_t offset = XRAY_HEADER_SIZE, left;
    for (; (left = scan->size - offset) >= BLOCK_HEADER;) {
        size_t have;
        scan->decoder.done = offset;
        const unsigned char *bytes = xray_peek(&scan->decoder, offset, BLOCK_HEADER, &have, error);
        if (!bytes)
            return -1;
        uint32_t size = pf_u32(bytes, scan->header->big_endian);
        if (size < BLOCK_HEADER) {
            xray_note_number(&scan->notes, &block_size, offset, size);
            return 0;
        }
        if (size > left)
            xray_note_number(&scan->notes, &block_cut, offset, size - left);
        uint64_t body = offset + BLOCK_HEADER;
        offset = size <= left ? offset + size : scan->size;
        struct xray_part part = {.range = {body, offset},
                                 .tid = (int64_t)pf_u64(bytes + 8, scan->header->big_endian)};
        if (xray_index_add(scan, &part, error))
            return -1;
    }
    if (left)
        xray_note(&scan->notes, &xray_file_cut, offset);
    return 0;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

/* Columns of the thread table after id and name. */
enum { PID, TID, BLOCKS, FIELDS };

/* Measures of a context in a thread. */
enum { CALLS, TICKS, PRESENT, MEASURES };

struct model {
    const struct xray_state *state;
    struct xray_decoder decoder;
    uint64_t at;    /* file offset of the next item */
    uint32_t *path; /* ids, innermost first */
    size_t path_room;
    struct xray_model made;
};

/* Returns the next `want` bytes, which must be inside the file, and advances; NULL with *error filled. */
static const unsigned char *take(struct model *model, size_t want, struct pf_error *error)
{
    size_t have;
    uint64_t at = model->at;
    model->at += want;
    return xray_peek(&model->decoder, at, want, &have, error);
}

/*
 * Reads ids up to the zero. Returns 1 with *size set to their number; 0 if the block ends first; -1 with *error filled.
 */
static int read_path(struct model *model, uint64_t end, size_t *size, struct pf_error *error)
{
    for (*size = 0; end - model->at >= sizeof(uint32_t); ++*size) {
        const unsigned char *bytes = take(model, sizeof(uint32_t), error);
        if (!bytes)
            return -1;
        uint32_t id = pf_u32(bytes, model->state->header.big_endian);
        if (!id)
            return 1;
        if (*size >= PATH_MAX_IDS) /* beyond the limit, ids are only counted */
            continue;
        if (pf_array_room(&model->path, &model->path_room, *size, sizeof id, error))
            return -1;
        model->path[*size] = id;
    }
    return 0;
}

/* Returns the context of the path just read; PF_NO_CONTEXT with *error filled. */
static uint32_t context_of(struct model *model, size_t size, struct pf_error *error)
{
    uint32_t context = PF_NO_CONTEXT;
    for (size_t i = size; i > 0; i--) {
        uint32_t id = model->path[i - 1];
        char buffer[XRAY_NAME_MAX];
        struct pf_cell text = xray_name(&model->state->names, id, buffer);
        uint32_t name = pf_intern(model->made.tree->strings, text.text, text.size, error);
        if (name == PF_NO_STRING)
            return PF_NO_CONTEXT;
        uint8_t flags = i == size ? PF_FRAME | PF_ROOT : PF_FRAME;
        context = pf_tree_child(model->made.tree, context, id, name, 0, flags, error);
        if (context == PF_NO_CONTEXT)
            return PF_NO_CONTEXT;
    }
    return context;
}

/* A path may occur several times, even in one block; the values are added, modulo 2^64. */
static int add_values(struct model *model, size_t size, const unsigned char *bytes, struct pf_error *error)
{
    uint64_t calls = pf_u64(bytes, model->state->header.big_endian);
    uint64_t ticks = pf_u64(bytes + 8, model->state->header.big_endian);
    uint32_t context = context_of(model, size, error);
    if (context == PF_NO_CONTEXT)
        return -1;
    union pf_measure *measures = xray_fold_at(model->made.fold, context, error);
    if (!measures)
        return -1;
    measures[CALLS].i = (int64_t)((uint64_t)measures[CALLS].i + calls);
    measures[TICKS].i = (int64_t)((uint64_t)measures[TICKS].i + ticks);
    measures[PRESENT].i = 1;
    model->made.negative += (int64_t)ticks < 0;
    return 0;
}

/*
 * Reads one record of the block that ends at `end`. Returns 1; 0 if the block ends inside it (noted); -1 with *error
 * filled.
 */
static int read_record(struct model *model, uint64_t end, struct pf_error *error)
{
    enum { VALUES = 16 };
    uint64_t offset = model->at;
    size_t size;
    int whole = read_path(model, end, &size, error);
    if (whole < 0)
        return -1;
    if (!whole || end - model->at < VALUES) {
        xray_note(&model->made.notes,
                  end == pf_input_size(model->state->input) ? &xray_file_cut : &cut_in_block, offset);
        return 0;
    }
    const unsigned char *bytes = take(model, VALUES, error);
    if (!bytes)
        return -1;
    if (!size)
        xray_note(&model->made.notes, &no_path, offset);
    else if (size > PATH_MAX_IDS)
        xray_note_number(&model->made.notes, &long_path, offset, size);
    else if (add_values(model, size, bytes, error))
        return -1;
    return 1;
}

static int read_thread(struct model *model, const struct xray_thread *thread, struct pf_error *error)
{
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range block;
        if (xray_index_range(&model->state->index, thread->first + i, &block, error))
            return -1;
        model->at = block.body;
        for (int more = 1; more && model->at < block.end;)
            if ((more = read_record(model, block.end, error)) < 0)
                return -1;
    }
    struct pf_cell cells[FIELDS] = {
        [PID] = pf_uint(model->state->header.pid),
        [TID] = pf_uint((uint64_t)thread->tid),
        [BLOCKS] = pf_uint(thread->count),
    };
    return xray_fold_end_partition(model->made.fold, error) || pf_rows_add(model->made.fields, cells, error)
               ? -1
               : 0;
}

static int read_threads(struct model *model, struct pf_error *error)
{
    const struct xray_index *index = &model->state->index;
    for (size_t i = 0; i < index->n_threads; i++)
        if (read_thread(model, &index->threads[i], error))
            return -1;
    return 0;
}

int xray_profiling_contexts(struct pf_model *profile, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct model model = {.state = state};
    xray_decoder_init(&model.decoder, state->input, &state->header, state->index.bytes);
    int failed = xray_model_begin(&model.made, profile, MEASURES, error) || read_threads(&model, error);
    xray_decoder_free(&model.decoder);
    free(model.path);
    return xray_model_end(&model.made, profile, failed, error);
}

/* ---- what there is ------------------------------------------------------------------------------ */

static const struct pf_column thread_fields[FIELDS] = {
    [PID] = {"pid", PF_GROUP, 0},
    [TID] = {"tid", PF_PLAIN, 0},
    [BLOCKS] = {"blocks", PF_PLAIN, 0},
};

static const struct pf_metric metrics[] = {
    {0, "calls", "", "exclusive", "int", "calls", PF_OVER_ALL, PF_SUM, .partner = PF_NO_PARTNER},
    {1, "ticks", "ticks", "exclusive", "int", "ticks in calls, without what they called", PF_OVER_ALL, PF_SUM,
     .partner = PF_NO_PARTNER},
};

void xray_profiling_set(struct pf_model *model)
{
    struct pf_derivation *how = xray_state(model)->derivations;
    how[0] = (struct pf_derivation){.measure = CALLS, .present = PRESENT};
    how[1] = (struct pf_derivation){.measure = TICKS, .present = PRESENT};
    model->partitions.field_columns = thread_fields;
    model->partitions.n_fields = FIELDS;
    model->metrics = metrics;
    model->n_metrics = sizeof metrics / sizeof *metrics;
}
