/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/xray/records.h"

/* Problems of a file. A number may be appended to the text. */
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
 * Reader of files written by XRay's profiling mode. They contain no events, but the number of calls and the ticks of each
 * calling context of each thread. The header is followed by blocks of one thread each. A block begins with BLOCK_HEADER
 * bytes: u32 size of the block, u32 number, u64 thread. Its records follow. A record is u32 function ids from the innermost
 * to the outermost, u32 zero, u64 calls, i64 exclusive ticks. Nothing is aligned.
 */
enum {
    BLOCK_HEADER = 16,
    /* Maximum number of ids in a path (16 MB). Real call stacks are far less deep. */
    PATH_MAX_IDS = 4 * 1024 * 1024,
};

/* ---- threads ------------------------------------------------------------------------------------ */

void xray_scan_blocks(struct xray_indexing *scan)
{
    struct pf_run *run = scan->run;
    uint64_t offset = XRAY_HEADER_SIZE, left;
    while ((left = scan->size - offset) >= BLOCK_HEADER) {
        size_t have;
        scan->decoder.done = offset;
        const unsigned char *bytes = xray_peek_in(run, &scan->decoder, offset, BLOCK_HEADER, &have);
        uint32_t size = pf_u32(bytes, scan->header->big_endian);
        if (size < BLOCK_HEADER) {
            xray_note_number(run, &block_size, offset, size);
            return;
        }
        if (size > left)
            xray_note_number(run, &block_cut, offset, size - left);
        uint64_t body = offset + BLOCK_HEADER;
        offset = size <= left ? offset + size : scan->size;
        struct xray_part part = {.range = {body, offset},
                                 .tid = (int64_t)pf_u64(bytes + 8, scan->header->big_endian)};
        xray_index_add(scan, &part);
    }
    if (left)
        xray_note(run, &xray_file_cut, offset);
}

/* ---- contexts ----------------------------------------------------------------------------------- */

/* Columns of the thread table after id and name. */
enum { PID, TID, BLOCKS, FIELDS };

/* Measures of a context in a thread. PRESENT: 1 if there is a record of the context, even if the record's values are 0. */
enum { CALLS, TICKS, PRESENT, MEASURES };

/* State of the model pass. */
struct contexts {
    const struct xray_state *state;
    struct pf_run *run;
    struct xray_decoder decoder;
    uint64_t at;            /* file offset of the next bytes to read */
    PF_LIST(uint32_t) path; /* ids, innermost first */
    struct xray_model model;
};

/* Returns the next `want` bytes, which must be inside the file, and advances. */
static const unsigned char *take_profiling(struct contexts *contexts, size_t want)
{
    size_t have;
    uint64_t at = contexts->at;
    contexts->at += want;
    return xray_peek_in(contexts->run, &contexts->decoder, at, want, &have);
}

/* Reads ids up to the zero, and sets *size to their number. Returns false if the block ends first. */
static bool read_path(struct contexts *contexts, uint64_t end, size_t *size)
{
    contexts->path.n = 0;
    for (*size = 0; end - contexts->at >= sizeof(uint32_t); ++*size) {
        uint32_t id = pf_u32(take_profiling(contexts, sizeof id), contexts->state->header.big_endian);
        if (!id)
            return true;
        if (*size < PATH_MAX_IDS) /* ids beyond the limit are only counted */
            *PF_PUSH(contexts->run, contexts->path) = id;
    }
    return false;
}

/* Returns the context of the path just read. */
static uint32_t context_of_path(struct contexts *contexts)
{
    struct xray_model *model = &contexts->model;
    uint32_t context = PF_NO_CONTEXT;
    for (size_t i = contexts->path.n; i > 0; i--) {
        uint32_t id = contexts->path.at[i - 1];
        char buffer[XRAY_NAME_MAX];
        struct pf_cell text = xray_name(&contexts->state->names, id, buffer);
        uint32_t name = pf_run_intern(contexts->run, model->tree->strings, text.text, text.size);
        context = xray_model_context(model, context, id, name);
    }
    return context;
}

/* Adds the values of a record to the context of its path, modulo 2^64. A path may occur several times, even in one block. */
static void add_path_values(struct contexts *contexts, const unsigned char *bytes)
{
    uint64_t calls = pf_u64(bytes, contexts->state->header.big_endian);
    uint64_t ticks = pf_u64(bytes + 8, contexts->state->header.big_endian);
    union xray_measure *measures = xray_model_at(&contexts->model, context_of_path(contexts));
    measures[CALLS].i = (int64_t)((uint64_t)measures[CALLS].i + calls);
    measures[TICKS].i = (int64_t)((uint64_t)measures[TICKS].i + ticks);
    measures[PRESENT].i = 1;
    contexts->model.negative += (int64_t)ticks < 0;
}

/* Reads one record of the block that ends at `end`. Returns false, and warns, if the block ends inside it. */
static bool read_path_record(struct contexts *contexts, uint64_t end)
{
    enum { VALUES = 16 };
    uint64_t offset = contexts->at;
    size_t size;
    if (!read_path(contexts, end, &size) || end - contexts->at < VALUES) {
        bool last = end == pf_input_size(contexts->state->input);
        xray_note(contexts->run, last ? &xray_file_cut : &cut_in_block, offset);
        return false;
    }
    const unsigned char *bytes = take_profiling(contexts, VALUES);
    if (!size)
        xray_note(contexts->run, &no_path, offset);
    else if (size > PATH_MAX_IDS)
        xray_note_number(contexts->run, &long_path, offset, size);
    else
        add_path_values(contexts, bytes);
    return true;
}

static void read_blocks(struct contexts *contexts, const struct xray_thread *thread)
{
    struct pf_run *run = contexts->run;
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range block;
        pf_run_check(run, xray_index_range(&contexts->state->index, thread->first + i, &block, run->error));
        contexts->at = block.body;
        while (contexts->at < block.end && read_path_record(contexts, block.end))
            ;
    }
    struct pf_cell cells[FIELDS] = {
        [PID] = pf_uint(contexts->state->header.pid),
        [TID] = pf_uint((uint64_t)thread->tid),
        [BLOCKS] = pf_uint(thread->count),
    };
    xray_model_end_thread(&contexts->model, cells);
}

static void make_contexts(struct pf_run *run, void *arg)
{
    struct contexts *contexts = arg;
    const struct xray_index *index = &contexts->state->index;
    contexts->run = run;
    xray_model_begin(run, &contexts->model, MEASURES);
    for (size_t i = 0; i < index->n_threads; i++)
        read_blocks(contexts, &index->threads[i]);
    xray_model_finish(&contexts->model);
}

int xray_profiling_contexts(struct pf_model *profile, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct contexts contexts = {.state = state};
    xray_decoder_init(&contexts.decoder, state->input, &state->header, state->index.bytes);
    int failed = pf_run(profile, make_contexts, &contexts, error);
    xray_decoder_free(&contexts.decoder);
    return xray_model_end(&contexts.model, profile, failed);
}

/* ---- metrics and fields of threads -------------------------------------------------------------- */

static const struct pf_column thread_fields[FIELDS] = {
    [PID] = {"pid", PF_GROUP, 0},
    [TID] = {"tid", PF_PLAIN, 0},
    [BLOCKS] = {"blocks", PF_PLAIN, 0},
};

static const struct pf_metric metrics[] = {
    {.id = 0,
     .name = "calls",
     .unit = "",
     .scope = "exclusive",
     .type = "int",
     .description = "calls",
     .partner = PF_NO_PARTNER},
    {.id = 1,
     .name = "ticks",
     .unit = "ticks",
     .scope = "exclusive",
     .type = "int",
     .description = "ticks in calls, without what they called",
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
