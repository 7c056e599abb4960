/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/sorter.h"
#include "formats/xray/records.h"
#include "formats/xray/xray.h"

static const struct pf_note_kind duplicate = {"warning", "duplicate-buffer",
                                              "this buffer is in the file twice, and is left out once"};

/*
 * The words of a part's sort record. Runtimes may write the buffer of a live thread twice. The copies of a buffer have
 * equal words before LENGTH. LENGTH is inverted, so that the longest copy is sorted first; only that one is kept. A buffer
 * without TSC is never considered a copy.
 */
enum { THREAD, SECONDS, MICROS, HAS_TSC, TSC, LENGTH, BODY, END, WORDS };

struct pf_sorter *xray_parts_new(void)
{
    return pf_sorter_new(WORDS, END, XRAY_INDEX_HELD);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static bool is_thread(const void *of, uint32_t number, const void *key)
{
    const struct xray_thread *thread = (const struct xray_thread *)of + number, *wanted = key;
    return thread->tid == wanted->tid && thread->pid == wanted->pid && thread->has_pid == wanted->has_pid;
}

/* Finds or adds a part's thread. Returns its number. */
static uint64_t thread_number(struct xray_indexing *indexing, const struct xray_part *part)
{
    struct pf_run *run = indexing->run;
    struct xray_index *index = &indexing->index;
    struct xray_thread wanted = {.tid = part->tid, .pid = part->pid, .has_pid = part->has_pid};
    uint64_t hash = pf_siphash_number(
        (uint64_t)wanted.tid ^ pf_siphash_number((uint64_t)wanted.has_pid << 32 | (uint32_t)wanted.pid));
    int64_t number = pf_hash_find(&indexing->by_ids, hash, is_thread, index->threads, &wanted);
    if (number != PF_NOT_THERE)
        return (uint64_t)number;
    pf_run_check(run, pf_array_room(&index->threads, &indexing->threads_room, index->n_threads, sizeof wanted,
                                    run->error));
    pf_run_check(run, pf_hash_add(&indexing->by_ids, hash, (uint32_t)index->n_threads, run->error));
    index->threads[index->n_threads] = wanted;
    return index->n_threads++;
}

void xray_index_add(struct xray_indexing *indexing, const struct xray_part *part)
{
    uint64_t record[WORDS] = {
        [THREAD] = thread_number(indexing, part),
        [SECONDS] = pf_ordered(part->seconds),
        [MICROS] = pf_ordered(part->micros),
        [HAS_TSC] = part->has_tsc,
        [TSC] = part->tsc,
        [LENGTH] = part->has_tsc ? UINT64_MAX - (part->range.end - part->range.body) : 0,
        [BODY] = part->range.body,
        [END] = part->range.end,
    };
    pf_run_check(indexing->run, pf_sorter_add(indexing->parts, record, indexing->run->error));
}

void xray_index_add_damage(struct xray_indexing *indexing, uint64_t offset)
{
    enum { DAMAGE_MAX = 65536 };
    struct xray_index *index = &indexing->index;
    if (index->n_damage == DAMAGE_MAX)
        return;
    pf_run_check(indexing->run, pf_array_room(&index->damage, &indexing->damage_room, index->n_damage,
                                              sizeof offset, indexing->run->error));
    index->damage[index->n_damage++] = offset;
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

/* ---- ranges ------------------------------------------------------------------------------------- */

int xray_index_range(const struct xray_index *index, uint64_t i, struct xray_range *range,
                     struct pf_error *error)
{
    return pf_store_read(index->ranges, i * sizeof *range, range, sizeof *range, error);
}

static bool is_copy(const uint64_t *last, const uint64_t *record)
{
    return record[HAS_TSC] && !memcmp(last, record, LENGTH * sizeof *record);
}

void xray_parts_finish(struct xray_indexing *indexing)
{
    enum { PARTS_PER_STEP = 65536 };
    struct pf_run *run = indexing->run;
    struct xray_index *index = &indexing->index;
    uint64_t last[WORDS] = {[THREAD] = UINT64_MAX};
    const uint64_t *record;
    pf_run_check(run, pf_sorter_finish(indexing->parts, run->error));
    while (pf_run_check(run, pf_sorter_next(indexing->parts, &record, run->error))) {
        if (is_copy(last, record)) {
            xray_note(run, &duplicate, xray_buffer_offset(indexing->header, record[BODY]));
            continue;
        }
        memcpy(last, record, sizeof last);
        struct xray_range range = {record[BODY], record[END]};
        struct xray_thread *thread = &index->threads[record[THREAD]];
        if (!thread->count++)
            thread->first = index->n_ranges;
        index->bytes += range.end - range.body;
        pf_run_check(run, pf_store_append(index->ranges, &range, sizeof range, run->error));
        if (++index->n_ranges % PARTS_PER_STEP == 0)
            pf_run_step(run, index->n_ranges, 0);
    }
}
