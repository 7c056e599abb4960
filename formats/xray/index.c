/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/sorter.h"
#include "formats/kit/table.h"
#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/* Problems of a file. A number is appended to the text. */
static const struct pf_note_kind stray_argument = {
    "warning", "stray-record", "ignored, here for the first time: arguments without their call; records"};
static const struct pf_note_kind unknown = {
    "error", "bad-record", "left out, here for the first time: records of unknown type or kind; records"};

/* ---- names of threads --------------------------------------------------------------------------- */

static int by_tid(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Names the threads. A name includes the process, if known, if another thread has the same id. */
static void name_threads(struct xray_indexing *indexing)
{
    struct pf_run *run = indexing->run;
    const struct xray_index *index = &indexing->index;
    size_t n = index->n_threads;
    int64_t *tids = PF_OWN(run, malloc((n + 1) * sizeof *tids), free);
    for (size_t i = 0; i < n; i++)
        tids[i] = index->threads[i].tid;
    qsort(tids, n, sizeof *tids, by_tid);
    for (size_t i = 0; i < n; i++) {
        const struct xray_thread *thread = &index->threads[i];
        const int64_t *at = bsearch(&thread->tid, tids, n, sizeof *tids, by_tid);
        bool unique = (at == tids || at[-1] != *at) && (at + 1 == tids + n || at[1] != *at);
        char name[64];
        int size;
        if (indexing->header->type == XRAY_PROFILING)
            size = snprintf(name, sizeof name, "thread-%" PRIu64, (uint64_t)thread->tid);
        else if (unique || !thread->has_pid)
            size = snprintf(name, sizeof name, "thread-%" PRId64, thread->tid);
        else
            size =
                snprintf(name, sizeof name, "process-%" PRId32 ".thread-%" PRId64, thread->pid, thread->tid);
        struct pf_cell cells[] = {pf_uint(i), pf_plain(name, (size_t)size)};
        pf_run_check(run, pf_rows_add(indexing->items, cells, run->error));
    }
}

/* ---- basic logs --------------------------------------------------------------------------------- */

/*
 * A basic log consists of a header and the records of all threads. Threads write blocks of about a thousand records, so
 * the records of a thread form runs. Each run becomes a part. A record that is not a function record belongs to the run
 * around it.
 */
static void scan_basic(struct xray_indexing *indexing)
{
    struct pf_run *run = indexing->run;
    struct xray_decoder *decoder = &indexing->decoder;
    struct xray_event event;
    struct xray_part part = {.has_pid = indexing->header->version >= 3}; /* range.body 0: no run has begun */
    xray_decoder_begin(decoder, XRAY_HEADER_SIZE, indexing->size);
    while (pf_run_check(run, xray_next_event(decoder, &event, run->error))) {
        uint64_t offset = xray_decoder_offset(decoder) - XRAY_BASIC_SIZE;
        bool other_thread = decoder->tid != (uint64_t)part.tid || decoder->pid != (uint32_t)part.pid;
        if (part.range.body && other_thread) {
            part.range.end = offset;
            xray_index_add(indexing, &part);
        }
        if (!part.range.body || other_thread)
            part.range.body = offset;
        part.tid = decoder->tid;
        part.pid = (int32_t)decoder->pid;
        if (event.tsc < indexing->index.start)
            indexing->index.start = event.tsc;
    }
    part.range.end = indexing->size - indexing->size % XRAY_BASIC_SIZE;
    if (part.range.body)
        xray_index_add(indexing, &part);
    /* This pass decodes all records, so it warns of all their problems. */
    if (decoder->fault == &xray_record_cut)
        xray_note(run, &xray_file_cut, decoder->fault_offset);
    if (decoder->unknown)
        xray_note_number(run, &unknown, decoder->first_unknown, decoder->unknown);
    if (decoder->strays)
        xray_note_number(run, &stray_argument, decoder->first_stray, decoder->strays);
}

/* ---- the pass ----------------------------------------------------------------------------------- */

static void index_file(struct pf_run *run, void *arg)
{
    static xray_scan *const scans[] = {
        [XRAY_BASIC] = scan_basic, [XRAY_FDR] = xray_scan_buffers, [XRAY_PROFILING] = xray_scan_blocks};
    struct xray_indexing *indexing = arg;
    indexing->run = run;
    indexing->items = pf_run_memory(run, pf_rows_new(2));
    indexing->index.ranges = pf_run_memory(run, pf_store_new(XRAY_INDEX_HELD));
    indexing->parts = pf_run_memory(run, xray_parts_new());
    scans[indexing->header->type](indexing);
    xray_parts_finish(indexing);
    name_threads(indexing);
    pf_notes_sort(&run->notes);
}

int xray_load_threads(struct pf_model *model, struct pf_error *error)
{
    struct xray_state *state = xray_state(model);
    struct xray_indexing indexing = {
        .header = &state->header, .size = pf_input_size(state->input), .index.start = UINT64_MAX};
    xray_decoder_init(&indexing.decoder, state->input, &state->header, indexing.size);
    int failed = pf_run(model, index_file, &indexing, error);
    if (failed) {
        pf_rows_free(indexing.items);
        xray_index_free(&indexing.index);
    } else {
        state->index = indexing.index;
        atomic_store(&state->start, indexing.index.start);
        model->partitions.items = indexing.items;
    }
    xray_decoder_free(&indexing.decoder);
    pf_hash_free(&indexing.by_ids);
    pf_sorter_free(indexing.parts);
    return failed;
}
