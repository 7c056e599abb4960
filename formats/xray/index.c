/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/sorter.h"
#include "formats/kit/table.h"
#include "formats/xray/records.h"
#include "formats/xray/xray.h"

/* What can be wrong. A number follows some texts. */
static const struct pf_note_kind duplicate = {"warning", "duplicate-buffer",
                                              "this buffer is in the file twice, and is left out once"};
static const struct pf_note_kind stray_argument = {
    "warning", "stray-record", "ignored, here for the first time: arguments without their call; records"};
static const struct pf_note_kind unknown = {
    "error", "bad-record", "left out, here for the first time: records of unknown type or kind; records"};

/* Bytes of parts, and of ranges, held in memory before they go to a file. */
enum { HELD = 16 * 1024 * 1024 };

/*
 * A part while it is sorted. Runtimes write the buffer of one live thread twice, and lose another's: copies agree in all
 * words before LENGTH, and the longest comes first. A buffer without a TSC says too little about itself to be called a copy.
 */
enum { THREAD, SECONDS, MICROS, HAS_TSC, TSC, LENGTH, BODY, END, WORDS };

int xray_index_range(const struct xray_index *index, uint64_t i, struct xray_range *range,
                     struct pf_error *error)
{
    return pf_store_read(index->ranges, i * sizeof *range, range, sizeof *range, error);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static bool is_thread(const void *of, uint32_t number, const void *key)
{
    const struct xray_thread *thread = (const struct xray_thread *)of + number, *wanted = key;
    return thread->tid == wanted->tid && thread->pid == wanted->pid && thread->has_pid == wanted->has_pid;
}

/* The number of a part's thread, added if new; -1 with *error filled. */
static int64_t thread_number(struct xray_indexing *indexing, const struct xray_part *part,
                             struct pf_error *error)
{
    struct xray_index *index = &indexing->index;
    struct xray_thread wanted = {.tid = part->tid, .pid = part->pid, .has_pid = part->has_pid};
    uint64_t hash = pf_siphash_number(
        (uint64_t)wanted.tid ^ pf_siphash_number((uint64_t)wanted.has_pid << 32 | (uint32_t)wanted.pid));
    int64_t number = pf_hash_find(&indexing->by_ids, hash, is_thread, index->threads, &wanted);
    if (number != PF_NOT_THERE)
        return number;
    if (pf_array_room(&index->threads, &indexing->threads_room, index->n_threads, sizeof wanted, error) ||
        pf_hash_add(&indexing->by_ids, hash, (uint32_t)index->n_threads, error))
        return -1;
    index->threads[index->n_threads] = wanted;
    return (int64_t)index->n_threads++;
}

int xray_index_add(struct xray_indexing *indexing, const struct xray_part *part, struct pf_error *error)
{
    int64_t thread = thread_number(indexing, part, error);
    if (thread < 0)
        return -1;
    uint64_t record[WORDS] = {
        [THREAD] = (uint64_t)thread,
        [SECONDS] = pf_ordered(part->seconds),
        [MICROS] = pf_ordered(part->micros),
        [HAS_TSC] = part->has_tsc,
        [TSC] = part->tsc,
        [LENGTH] = part->has_tsc ? UINT64_MAX - (part->range.end - part->range.body) : 0,
        [BODY] = part->range.body,
        [END] = part->range.end,
    };
    return pf_sorter_add(indexing->parts, record, error);
}

int xray_index_add_damage(struct xray_indexing *indexing, uint64_t offset, struct pf_error *error)
{
    enum { DAMAGE_MAX = 65536 };
    struct xray_index *index = &indexing->index;
    if (index->n_damage == DAMAGE_MAX)
        return 0;
    if (pf_array_room(&index->damage, &indexing->damage_room, index->n_damage, sizeof offset, error))
        return -1;
    index->damage[index->n_damage++] = offset;
    return 0;
}

uint64_t xray_index_damage(const struct xray_index *index, uint64_t from, uint64_t to)
{
    size_t low = 0, high = index->n_damage;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (index->damage[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    bool there = low < index->n_damage && (index->damage[low] == from || index->damage[low] < to);
    return there ? index->damage[low] : UINT64_MAX;
}

void xray_index_free(struct xray_index *index)
{
    pf_store_free(index->ranges);
    free(index->threads);
    free(index->damage);
    *index = (struct xray_index){0};
}

static int by_tid(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Processes are part of the name where threads of two have the same id. */
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
 * After the header come records of 32 bytes each, of all threads. Threads write blocks of about a thousand records, so those
 * of one thread come in runs. What is no function record belongs to the run that it stands in.
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
    /* All records have been seen, so everything that is wrong with them is told here. */
    if (decoder->fault == &xray_record_cut)
        xray_note(&indexing->notes, &xray_file_cut, decoder->fault_offset);
    if (decoder->unknown)
        xray_note_number(&indexing->notes, &unknown, decoder->first_unknown, decoder->unknown);
    if (decoder->strays)
        xray_note_number(&indexing->notes, &stray_argument, decoder->first_stray, decoder->strays);
    return 0;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static bool is_copy(const uint64_t *last, const uint64_t *record)
{
    return record[HAS_TSC] && !memcmp(last, record, LENGTH * sizeof *record);
}

/* Gives each thread its ranges, in their order. */
static int take_parts(struct xray_indexing *indexing, struct pf_error *error)
{
    enum { PARTS_PER_STEP = 65536 };
    struct xray_index *index = &indexing->index;
    uint64_t last[WORDS] = {[THREAD] = UINT64_MAX};
    const uint64_t *record;
    int more;
    if (pf_sorter_finish(indexing->parts, error))
        return -1;
    while ((more = pf_sorter_next(indexing->parts, &record, error)) > 0) {
        if (is_copy(last, record)) {
            xray_note(&indexing->notes, &duplicate, xray_buffer_offset(indexing->header, record[BODY]));
            continue;
        }
        memcpy(last, record, sizeof last);
        struct xray_range range = {record[BODY], record[END]};
        struct xray_thread *thread = &index->threads[record[THREAD]];
        if (!thread->count++)
            thread->first = index->n_ranges;
        index->bytes += range.end - range.body;
        if (pf_store_append(index->ranges, &range, sizeof range, error) ||
            (++index->n_ranges % PARTS_PER_STEP == 0 && pf_pass_step(index->n_ranges, 0, error)))
            return -1;
    }
    return more;
}

int xray_load_threads(struct pf_model *model, struct pf_error *error)
{
    static xray_scan *const scans[] = {
        [XRAY_BASIC] = scan_basic, [XRAY_FDR] = xray_scan_buffers, [XRAY_PROFILING] = xray_scan_blocks};
    struct xray_state *state = xray_state(model);
    struct pf_rows *items = pf_rows_new(2);
    struct xray_indexing indexing = {
        .header = &state->header,
        .size = pf_input_size(state->input),
        .index = {.ranges = pf_store_new(HELD), .start = UINT64_MAX},
        .parts = pf_sorter_new(WORDS, END, HELD),
    };
    xray_decoder_init(&indexing.decoder, state->input, &state->header, indexing.size);
    int failed = items && indexing.index.ranges && indexing.parts ? 0 : pf_fail_memory(error);
    if (!failed)
        failed = scans[state->header.type](&indexing, error) || take_parts(&indexing, error) ||
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
