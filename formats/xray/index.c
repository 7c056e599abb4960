/* SPDX-License-Identifier: MIT */
#include "formats/xray/index.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* Bytes of ranges held in memory before they go to a file: a million ranges. */
enum { RANGES_LIMIT = 16 * 1024 * 1024 };

/* ---- ranges ------------------------------------------------------------------------------------- */

int xray_index_init(struct xray_index *index, struct pf_error *error)
{
    *index = (struct xray_index){.ranges = pf_store_new(RANGES_LIMIT), .start = UINT64_MAX};
    return index->ranges ? 0 : pf_fail_memory(error);
}

void xray_index_free(struct xray_index *index)
{
    pf_store_free(index->ranges);
    free(index->threads);
    xray_notes_free(&index->notes);
    *index = (struct xray_index){0};
}

int xray_index_range(const struct xray_index *index, uint64_t i, struct xray_range *range,
                     struct pf_error *error)
{
    return pf_store_read(index->ranges, i * sizeof *range, range, sizeof *range, error);
}

static int put_range(struct xray_index *index, uint64_t i, const struct xray_range *range,
                     struct pf_error *error)
{
    index->n_ranges++;
    index->bytes += range->end - range->body;
    return pf_store_write(index->ranges, i * sizeof *range, range, sizeof *range, error);
}

int xray_index_add(struct xray_index *index, size_t thread, const struct xray_range *range,
                   struct pf_error *error)
{
    struct xray_thread *owner = &index->threads[thread];
    if (!owner->count++)
        owner->first = index->n_ranges;
    return put_range(index, index->n_ranges, range, error);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static bool is_thread(const struct xray_thread *thread, bool has_pid, int32_t pid, int64_t tid)
{
    return thread->tid == tid && thread->has_pid == has_pid && thread->pid == pid;
}

static uint32_t *slot_of(const struct xray_threads *threads, bool has_pid, int32_t pid, int64_t tid)
{
    uint64_t key = ((uint64_t)(uint32_t)pid << 32 ^ (uint64_t)tid) + has_pid;
    for (uint64_t i = key * 0x9e3779b97f4a7c15u >> 32;; i++) {
        uint32_t *slot = &threads->slots[i & threads->mask];
        if (!*slot || is_thread(&threads->items[*slot - 1], has_pid, pid, tid))
            return slot;
    }
}

static int grow(struct xray_threads *threads, struct pf_error *error)
{
    if (threads->count < threads->room)
        return 0;
    if (threads->count >= XRAY_THREADS_MAX)
        return pf_fail(error, EFBIG, "too many threads");
    size_t room = threads->room ? threads->room * 2 : 16;
    if (pf_array_resize(&threads->items, room, sizeof *threads->items, error))
        return -1;
    const struct xray_thread *items = threads->items;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    free(threads->slots);
    threads->slots = slots;
    threads->mask = (uint32_t)(room * 2 - 1);
    threads->room = room;
    for (size_t i = 0; i < threads->count; i++)
        *slot_of(threads, items[i].has_pid, items[i].pid, items[i].tid) = (uint32_t)i + 1;
    return 0;
}

int xray_threads_find(struct xray_threads *threads, bool has_pid, int32_t pid, int64_t tid, uint32_t *index,
                      struct pf_error *error)
{
    if (grow(threads, error))
        return -1;
    uint32_t *slot = slot_of(threads, has_pid, pid, tid);
    if (!*slot) {
        threads->items[threads->count++] = (struct xray_thread){.tid = tid, .pid = pid, .has_pid = has_pid};
        *slot = (uint32_t)threads->count;
    }
    *index = *slot - 1;
    return 0;
}

struct xray_thread *xray_threads_take(struct xray_threads *threads, size_t *count)
{
    struct xray_thread *items = threads->items;
    *count = threads->count;
    free(threads->slots);
    *threads = (struct xray_threads){0};
    return items;
}

/* ---- ranges that interleave --------------------------------------------------------------------- */

struct run {
    struct xray_range range;
    uint64_t thread;
};

int xray_runs_init(struct xray_runs *runs, struct pf_error *error)
{
    *runs = (struct xray_runs){.store = pf_store_new(RANGES_LIMIT)};
    return runs->store ? 0 : pf_fail_memory(error);
}

void xray_runs_free(struct xray_runs *runs)
{
    pf_store_free(runs->store);
    *runs = (struct xray_runs){0};
}

int xray_runs_add(struct xray_runs *runs, uint32_t thread, const struct xray_range *range,
                  struct pf_error *error)
{
    struct run run = {*range, thread};
    runs->count++;
    return pf_store_append(runs->store, &run, sizeof run, error);
}

/* Calls take for each run, many of which are read at once. */
static int for_each(const struct xray_runs *runs, struct xray_index *index, struct pf_pass *pass,
                    int (*take)(struct xray_index *, const struct run *, struct pf_error *),
                    struct pf_error *error)
{
    enum { AT_ONCE = 512 };
    struct run some[AT_ONCE];
    for (uint64_t i = 0; i < runs->count; i++) {
        uint64_t left = runs->count - i;
        if (i % AT_ONCE == 0 && (pf_pass_step(pass, i, runs->count, error) ||
                                 pf_store_read(runs->store, i * sizeof *some, some,
                                               (left < AT_ONCE ? left : AT_ONCE) * sizeof *some, error)))
            return -1;
        if (take(index, &some[i % AT_ONCE], error))
            return -1;
    }
    return 0;
}

static int count_run(struct xray_index *index, const struct run *run, struct pf_error *error)
{
    (void)error;
    index->threads[run->thread].count++;
    return 0;
}

static int place_run(struct xray_index *index, const struct run *run, struct pf_error *error)
{
    struct xray_thread *thread = &index->threads[run->thread];
    return put_range(index, thread->first + thread->count++, &run->range, error);
}

/* A counting sort: how many each thread has tells where they go. */
int xray_runs_sort(const struct xray_runs *runs, struct xray_index *index, struct pf_pass *pass,
                   struct pf_error *error)
{
    if (for_each(runs, index, pass, count_run, error))
        return -1;
    uint64_t first = 0;
    for (size_t i = 0; i < index->n_threads; i++) {
        index->threads[i].first = first;
        first += index->threads[i].count;
        index->threads[i].count = 0;
    }
    return for_each(runs, index, pass, place_run, error);
}
