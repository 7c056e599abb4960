/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/bytes.h"
#include "formats/xray/xray.h"

/*
 * Files that XRay's profiling mode writes: no events, but for each thread how often each calling context was
 * called and how many ticks it took. After the header come blocks, each of one thread: u32 size with these 16
 * bytes, u32 number, u64 thread; then records: u32 ids of functions from the innermost to the outermost, a
 * zero, u64 calls, i64 exclusive ticks. Nothing is aligned.
 */
enum {
    BLOCK_HEADER = 16,
    CHUNK = 64 * 1024,
    /* Ids of one path that are held: 16 MB of them. Nothing calls as deep. */
    PATH_MAX_IDS = 4 * 1024 * 1024,
};

/* ---- reading ------------------------------------------------------------------------------------ */

struct reader {
    struct pf_input *input;
    bool big_endian;
    uint64_t size;        /* of the file */
    unsigned char *bytes; /* CHUNK of them, owned */
    uint64_t base;        /* offset in the file of bytes[0] */
    size_t have;          /* in bytes[] */
    uint64_t at;          /* offset in the file of what is taken next */
};

static int open_reader(struct reader *reader, const struct xray_header *header, struct pf_input *input,
                       struct pf_error *error)
{
    *reader = (struct reader){.input = input,
                              .big_endian = header->big_endian,
                              .size = pf_input_size(input),
                              .bytes = malloc(CHUNK)};
    return reader->bytes ? 0 : pf_fail_memory(error);
}

/* The next `want` bytes, which the file must have. NULL with *error filled. */
static const unsigned char *take(struct reader *reader, size_t want, struct pf_error *error)
{
    uint64_t from = reader->at - reader->base;
    if (reader->at < reader->base || from > reader->have || reader->have - from < want) {
        reader->have = 0;
        ssize_t have = pf_input_read(reader->input, reader->bytes, CHUNK, reader->at, error);
        if (have < 0)
            return NULL;
        reader->base = reader->at;
        reader->have = (size_t)have;
        from = 0;
        if (reader->have < want) {
            pf_fail_at(error, ESTALE, (int64_t)reader->at, "the file has become shorter");
            return NULL;
        }
    }
    reader->at += want;
    return reader->bytes + from;
}

/* ---- threads ------------------------------------------------------------------------------------ */

/* The block at reader->at, which has a whole header; leaves reader->at behind it, or at the file's end. */
static int scan_block(struct reader *reader, struct xray_indexing *indexing, struct pf_notes *notes,
                      struct pf_error *error)
{
    uint64_t offset = reader->at;
    const unsigned char *bytes = take(reader, BLOCK_HEADER, error);
    if (!bytes)
        return -1;
    uint32_t size = pf_u32(bytes, reader->big_endian);
    uint64_t tid = pf_u64(bytes + 8, reader->big_endian), left = reader->size - offset;
    reader->at = size <= left && size >= BLOCK_HEADER ? offset + size : reader->size;
    if (size < BLOCK_HEADER) {
        xray_note_number(notes, XRAY_BLOCK_SIZE, offset, size);
        return 0;
    }
    if (size > left)
        xray_note_number(notes, XRAY_BLOCK_CUT, offset, size - left);
    struct xray_part part = {.range = {offset + BLOCK_HEADER, reader->at}};
    return xray_index_add(indexing, false, 0, (int64_t)tid, &part, error);
}

int xray_scan_blocks(struct xray_indexing *indexing, const struct xray_header *header, struct pf_input *input,
                     struct pf_notes *notes, struct pf_pass *pass, struct pf_error *error)
{
    struct reader reader;
    int failed = open_reader(&reader, header, input, error);
    reader.at = XRAY_HEADER_SIZE;
    while (!failed && reader.size - reader.at >= BLOCK_HEADER)
        failed =
            pf_pass_step(pass, reader.at, reader.size, error) || scan_block(&reader, indexing, notes, error);
    if (!failed && reader.at < reader.size)
        xray_note(notes, XRAY_FILE_CUT, reader.at);
    free(reader.bytes);
    return failed ? -1 : 0;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

/* Columns of the thread table after id and name. */
enum { PID, TID, BLOCKS, FIELDS };

/* Measures of a context in a thread. */
enum { CALLS, TICKS, PRESENT, MEASURES };

struct model {
    const struct xray_state *state;
    struct pf_pass *pass;
    uint64_t done; /* bytes of blocks */
    struct reader reader;
    uint32_t *path; /* ids, innermost first */
    size_t path_room;
    struct pf_tree *tree;
    struct pf_fold *fold;
    struct pf_rows *fields;
    struct pf_notes notes;
    uint64_t negative; /* records of less than no time */
};

static int put_id(struct model *model, size_t i, uint32_t id, struct pf_error *error)
{
    if (i >= PATH_MAX_IDS)
        return 0;
    if (pf_array_room(&model->path, &model->path_room, i, sizeof *model->path, error))
        return -1;
    model->path[i] = id;
    return 0;
}

/* Reads ids up to the zero. 1: *size of them; 0: the block ends first; -1: *error filled. */
static int read_path(struct model *model, uint64_t end, size_t *size, struct pf_error *error)
{
    struct reader *reader = &model->reader;
    for (*size = 0; end - reader->at >= sizeof(uint32_t); ++*size) {
        const unsigned char *bytes = take(reader, sizeof(uint32_t), error);
        if (!bytes)
            return -1;
        uint32_t id = pf_u32(bytes, reader->big_endian);
        if (!id)
            return 1;
        if (put_id(model, *size, id, error))
            return -1;
        if (*size % CHUNK == 0 && pf_pass_step(model->pass, model->done, model->state->index.bytes, error))
            return -1;
    }
    return 0;
}

/* The context of the path that was read. PF_NO_CONTEXT with *error filled. */
static uint32_t context_of(struct model *model, size_t size, struct pf_error *error)
{
    uint32_t context = PF_NO_CONTEXT;
    for (size_t i = size; i > 0; i--) {
        uint32_t id = model->path[i - 1];
        char buffer[XRAY_NAME_MAX];
        struct pf_cell text = xray_name(&model->state->names, id, buffer);
        uint32_t name = pf_intern(model->tree->strings, text.text, text.size, error);
        if (name == PF_NO_STRING)
            return PF_NO_CONTEXT;
        uint8_t flags = i == size ? PF_FRAME | PF_ROOT : PF_FRAME;
        context = pf_tree_child(model->tree, context, id, name, 0, flags, error);
        if (context == PF_NO_CONTEXT)
            return PF_NO_CONTEXT;
    }
    return context;
}

/* Paths may be there several times, also in one block: they add up, modulo 2^64. */
static int add_values(struct model *model, size_t size, const unsigned char *bytes, struct pf_error *error)
{
    uint64_t calls = pf_u64(bytes, model->reader.big_endian);
    uint64_t ticks = pf_u64(bytes + 8, model->reader.big_endian);
    uint32_t context = context_of(model, size, error);
    if (context == PF_NO_CONTEXT)
        return -1;
    union pf_measure *measures = pf_fold_at(model->fold, context, error);
    if (!measures)
        return -1;
    measures[CALLS].i = (int64_t)((uint64_t)measures[CALLS].i + calls);
    measures[TICKS].i = (int64_t)((uint64_t)measures[TICKS].i + ticks);
    measures[PRESENT].i = 1;
    model->negative += (int64_t)ticks < 0;
    return 0;
}

/* One record of the block that ends at `end`. 1; 0: the block ends inside it, which is noted; -1: *error
 * filled. */
static int read_record(struct model *model, uint64_t end, struct pf_error *error)
{
    enum { VALUES = 16 };
    struct reader *reader = &model->reader;
    uint64_t offset = reader->at;
    size_t size;
    int whole = read_path(model, end, &size, error);
    if (whole < 0)
        return -1;
    if (!whole || end - reader->at < VALUES) {
        xray_note(&model->notes, end == reader->size ? XRAY_FILE_CUT : XRAY_CUT_IN_BLOCK, offset);
        return 0;
    }
    const unsigned char *bytes = take(reader, VALUES, error);
    if (!bytes)
        return -1;
    if (!size)
        xray_note(&model->notes, XRAY_NO_PATH, offset);
    else if (size > PATH_MAX_IDS)
        xray_note_number(&model->notes, XRAY_LONG_PATH, offset, size);
    else if (add_values(model, size, bytes, error))
        return -1;
    return 1;
}

static int read_block(struct model *model, const struct xray_range *range, struct pf_error *error)
{
    enum { RECORDS_PER_STEP = 4096 };
    int more = 1;
    model->reader.at = range->body;
    for (uint64_t n = 0; more > 0 && model->reader.at < range->end; n++) {
        if (n % RECORDS_PER_STEP == 0 &&
            pf_pass_step(model->pass, model->done + (model->reader.at - range->body),
                         model->state->index.bytes, error))
            return -1;
        more = read_record(model, range->end, error);
    }
    model->done += range->end - range->body;
    return more < 0 ? -1 : 0;
}

static int read_thread(struct model *model, const struct xray_thread *thread, struct pf_error *error)
{
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range range;
        if (xray_index_range(&model->state->index, thread->first + i, &range, error) ||
            read_block(model, &range, error))
            return -1;
    }
    struct pf_cell cells[FIELDS] = {
        [PID] = pf_uint(model->state->header.pid),
        [TID] = pf_uint((uint64_t)thread->tid),
        [BLOCKS] = pf_uint(thread->count),
    };
    return pf_fold_end_partition(model->fold, error) || pf_rows_add(model->fields, cells, error) ? -1 : 0;
}

static int read_threads(struct model *model, struct pf_error *error)
{
    const struct xray_index *index = &model->state->index;
    for (size_t i = 0; i < index->n_threads; i++)
        if (read_thread(model, &index->threads[i], error))
            return -1;
    pf_notes_sort(&model->notes);
    if (model->negative)
        xray_note_number(&model->notes, XRAY_NEGATIVE, UINT64_MAX, model->negative);
    return pf_tree_finish(model->tree, error);
}

int xray_profiling_contexts(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct model model = {
        .state = state,
        .pass = pass,
        .tree = pf_tree_new(xray_context_kinds),
        .fold = pf_fold_new(MEASURES, state->derivations, profile->n_metrics, profile->options->cache),
        .fields = pf_rows_new(FIELDS),
    };
    int failed = -1;
    if (!model.tree || !model.fold || !model.fields)
        pf_fail_memory(error);
    else if (!open_reader(&model.reader, &state->header, state->input, error) && !read_threads(&model, error))
        failed = pf_notes_publish(&model.notes, profile, error) ||
                 xray_names_tell(&state->names, model.tree, profile, error);
    if (!failed) {
        state->fold.fold = model.fold;
        profile->contexts = model.tree;
        profile->partitions.fields = model.fields;
        model.fold = NULL;
        model.tree = NULL;
        model.fields = NULL;
    }
    pf_tree_free(model.tree);
    pf_fold_free(model.fold);
    pf_rows_free(model.fields);
    pf_notes_free(&model.notes);
    free(model.reader.bytes);
    free(model.path);
    return failed ? -1 : 0;
}

/* ---- what there is ------------------------------------------------------------------------------ */

static const struct pf_column thread_fields[FIELDS] = {
    [PID] = {"pid", PF_PLAIN, 0},
    [TID] = {"tid", PF_PLAIN, 0},
    [BLOCKS] = {"blocks", PF_PLAIN, 0},
};

static const struct pf_metric metrics[] = {
    {0, "calls", "", "exclusive", "int", "calls", PF_OVER_ALL, PF_SUM, .partner = PF_NO_PARTNER},
    {1, "ticks", "ticks", "exclusive", "int", "ticks in calls, without what they called", PF_OVER_ALL, PF_SUM,
     .partner = PF_NO_PARTNER},
};

void xray_profiling_set(struct pf_profile *profile)
{
    struct pf_derivation *how = xray_state(profile)->derivations;
    how[0] = (struct pf_derivation){.measure = CALLS, .present = PRESENT};
    how[1] = (struct pf_derivation){.measure = TICKS, .present = PRESENT};
    profile->partitions.field_columns = thread_fields;
    profile->partitions.n_fields = FIELDS;
    profile->metrics = metrics;
    profile->n_metrics = sizeof metrics / sizeof *metrics;
}
