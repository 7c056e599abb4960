/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/sorter.h"
#include "formats/kit/table.h"
#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/* Problems of a file. Some messages end in a number. */
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

/* Names the threads. The names include the process if threads of two processes have the same id. */
static int name_threads(const struct xray_state *state, const struct xray_index *index, struct pf_rows *items,
                        struct pf_error *error)
{
    size_t n = index->n_threads;
    int64_t *tids = malloc((n + 1) * sizeof *tids);
    if (!tids)
        return pf_fail_memory(error);
    for (size_t i = 0; i < n; i++)
        tids[i] = index->threads[i].tid;
    qsort(tids, n, sizeof *tids, by_tid);
    int failed = 0;
    for (size_t i = 0; i < n && !failed; i++) {
        const struct xray_thread *thread = &index->threads[i];
        const int64_t *at = bsearch(&thread->tid, tids, n, sizeof *tids, by_tid);
        bool alone = (at == tids || at[-1] != *at) && (at + 1 == tids + n || at[1] != *at);
        char name[64];
        int size;
        if (state->header.type == XRAY_PROFILING)
            size = snprintf(name, sizeof name, "thread-%" PRIu64, (uint64_t)thread->tid);
        else if (alone || !thread->has_pid)
            size = snprintf(name, sizeof name, "thread-%" PRId64, thread->tid);
        else
            size =
                snprintf(name, sizeof name, "process-%" PRId32 ".thread-%" PRId64, thread->pid, thread->tid);
        struct pf_cell cells[] = {pf_uint(i), pf_plain(name, (size_t)size)};
        failed = pf_rows_add(items, cells, error);
    }
    free(tids);
    return failed;
}

/* ---- basic logs --------------------------------------------------------------------------------- */

/*
 * A basic log is a header and records of 32 bytes each, of all threads. Threads write blocks of about a thousand
 * records, so the records of a thread form runs, which become its parts. A record that is not a function record belongs
 * to the run around it.
 */
static int scan_basic(struct xray_indexing *indexing, struct pf_error *error)
{
    struct xray_decoder *decoder = &indexing->decoder;
    struct xray_event event;
    struct xray_part run = {.has_pid = indexing->header->version >= 3};
    int more;
    xray_decoder_begin(decoder, XRAY_HEADER_SIZE, indexing->size);
    while ((more = xray_next_event(decoder, &event, error)) > 0) {
        uint64_t offset = xray_decoder_offset(decoder) - XRAY_BASIC_SIZE;
        bool other = decoder->tid != (uint64_t)run.tid || decoder->pid != (uint32_t)run.pid;
        if (run.range.body && other) {
            run.range.end = offset;
            if (xray_index_add(indexing, &run, error))
                return -1;
        }
        if (!run.range.body || other)
            run.range.body = offset;
        run.tid = decoder->tid;
        run.pid = (int32_t)decoder->pid;
        if (event.tsc < indexing->index.start)
            indexing->index.start = event.tsc;
    }
    run.range.end = indexing->size - indexing->size % XRAY_BASIC_SIZE;
    if (more < 0 || (run.range.body && xray_index_add(indexing, &run, error)))
        return -1;
    /* This pass decodes all records, so it notes all their problems. */
    if (decoder->fault == &xray_record_cut)
        xray_note(&indexing->notes, &xray_file_cut, decoder->fault_offset);
    if (decoder->unknown)
        xray_note_number(&indexing->notes, &unknown, decoder->first_unknown, decoder->unknown);
    if (decoder->strays)
        xray_note_number(&indexing->notes, &stray_argument, decoder->first_stray, decoder->strays);
    return 0;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

int xray_load_threads(struct pf_model *model, struct pf_error *error)
{
    static xray_scan *const scans[] = {
        [XRAY_BASIC] = scan_basic, [XRAY_FDR] = xray_scan_buffers, [XRAY_PROFILING] = xray_scan_blocks};
    struct xray_state *state = xray_state(model);
    struct pf_rows *items = pf_rows_new(2);
    struct xray_indexing indexing = {
        .header = &state->header,
        .size = pf_input_size(state->input),
        .index = {.ranges = pf_store_new(XRAY_INDEX_HELD), .start = UINT64_MAX},
        .parts = xray_parts_new(),
    };
    xray_decoder_init(&indexing.decoder, state->input, &state->header, indexing.size);
    int failed = items && indexing.index.ranges && indexing.parts ? 0 : pf_fail_memory(error);
    if (!failed)
        failed = scans[state->header.type](&indexing, error) || xray_parts_finish(&indexing, error) ||
                 name_threads(state, &indexing.index, items, error);
    pf_notes_sort(&indexing.notes);
    if (failed || pf_notes_publish(&indexing.notes, model, error)) {
        pf_rows_free(items);
        xray_index_free(&indexing.index);
        failed = -1;
    } else {
        state->index = indexing.index;
        atomic_store(&state->start, indexing.index.start);
        model->partitions.items = items;
    }
    xray_decoder_free(&indexing.decoder);
    pf_notes_free(&indexing.notes);
    pf_hash_free(&indexing.by_ids);
    pf_sorter_free(indexing.parts);
    return failed;
}
