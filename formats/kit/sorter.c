/* SPDX-License-Identifier: MIT */
#include "formats/kit/sorter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/pass.h"
#include "formats/kit/store.h"

/* A sorted run in the store, with a window in memory while runs are merged. */
struct sorted_run {
    uint64_t next, end; /* range of the run's unread records in the store */
    uint64_t *window;   /* part of sorter->memory */
    size_t at, have;    /* position in the window; records in the window */
};

struct pf_sorter {
    unsigned words, keys;
    size_t capacity; /* maximum number of records in memory */
    size_t room;     /* number of records allocated */
    size_t count;    /* number of records in memory */
    size_t at;       /* number of records returned; if runs were written, 1 once a record has been returned */
    bool in_order;   /* the records in memory are sorted */
    uint64_t *memory;
    struct pf_store *store; /* all runs; NULL if no run was written */
    struct sorted_run *runs;
    size_t n_runs, runs_room;
    size_t *heap; /* min-heap of the runs that have records left */
    size_t heaped;
};

enum { CAPACITY_LEAST = 4096, ROOM_FIRST = 1024 };

struct pf_sorter *pf_sorter_new(unsigned words, unsigned keys, uint64_t limit)
{
    struct pf_sorter *sorter = calloc(1, sizeof *sorter);
    if (!sorter)
        return NULL;
    uint64_t capacity = limit / (2 * words * sizeof *sorter->memory); /* sorting needs as much memory again */
    sorter->words = words;
    sorter->keys = keys;
    sorter->capacity = capacity < CAPACITY_LEAST ? CAPACITY_LEAST : (size_t)capacity;
    sorter->in_order = true;
    return sorter;
}

void pf_sorter_free(struct pf_sorter *sorter)
{
    if (!sorter)
        return;
    pf_store_free(sorter->store);
    free(sorter->memory);
    free(sorter->runs);
    free(sorter->heap);
    free(sorter);
}

static size_t sorter_record_size(const struct pf_sorter *sorter)
{
    return sorter->words * sizeof *sorter->memory;
}

static int sorter_compare(const uint64_t *a, const uint64_t *b, unsigned keys)
{
    for (unsigned i = 0; i < keys; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* A counting sort by one byte of a key; stable. */
static void sort_by_byte(const struct pf_sorter *sorter, uint64_t *to, unsigned key, unsigned shift)
{
    const uint64_t *from = sorter->memory, *end = from + sorter->count * sorter->words;
    size_t starts[257] = {0};
    for (const uint64_t *at = from; at < end; at += sorter->words)
        starts[(at[key] >> shift & 255) + 1]++;
    for (size_t i = 1; i < 256; i++)
        starts[i] += starts[i - 1];
    for (const uint64_t *at = from; at < end; at += sorter->words)
        memcpy(to + starts[at[key] >> shift & 255]++ * sorter->words, at, sorter_record_size(sorter));
}

/*
 * A radix sort that begins with the lowest byte of the last key. Skips bytes in which all records agree. Its time does
 * not depend on the order of the records, unless they are sorted already.
 */
static int sort_memory(struct pf_sorter *sorter, struct pf_error *error)
{
    if (sorter->in_order)
        return 0;
    uint64_t *spare = malloc(sorter->room * sorter_record_size(sorter));
    if (!spare)
        return pf_fail_memory(error);
    int failed = 0;
    for (unsigned key = sorter->keys; key-- > 0 && !failed;) {
        uint64_t differ = 0;
        for (size_t i = 0; i < sorter->count; i++)
            differ |= sorter->memory[i * sorter->words + key] ^ sorter->memory[key];
        for (unsigned shift = 0; shift < 64; shift += 8) {
            if (!(differ >> shift & 255))
                continue;
            if ((failed = pf_pass_check(error)))
                break;
            sort_by_byte(sorter, spare, key, shift);
            uint64_t *sorted = spare;
            spare = sorter->memory;
            sorter->memory = sorted;
        }
    }
    free(spare);
    sorter->in_order = !failed;
    return failed;
}

/* ---- adding -------------------------------------------------------------------------------------- */

static int write_run(struct pf_sorter *sorter, struct pf_error *error)
{
    if (pf_pass_check(error))
        return -1;
    if (!sorter->store && !(sorter->store = pf_store_new(0)))
        return pf_fail_memory(error);
    if (pf_array_room(&sorter->runs, &sorter->runs_room, sorter->n_runs, sizeof *sorter->runs, error))
        return -1;
    if (sort_memory(sorter, error))
        return -1;
    uint64_t first = pf_store_size(sorter->store) / sorter_record_size(sorter);
    if (pf_store_append(sorter->store, sorter->memory, sorter->count * sorter_record_size(sorter), error))
        return -1;
    sorter->runs[sorter->n_runs++] = (struct sorted_run){.next = first, .end = first + sorter->count};
    sorter->count = 0;
    return 0;
}

static int sorter_make_room(struct pf_sorter *sorter, struct pf_error *error)
{
    if (sorter->room == sorter->capacity)
        return write_run(sorter, error);
    size_t room = sorter->room ? sorter->room * 2 : ROOM_FIRST;
    if (room > sorter->capacity)
        room = sorter->capacity;
    if (pf_array_resize(&sorter->memory, room, sorter_record_size(sorter), error))
        return -1;
    sorter->room = room;
    return 0;
}

int pf_sorter_add(struct pf_sorter *sorter, const uint64_t *record, struct pf_error *error)
{
    if (sorter->count == sorter->room && sorter_make_room(sorter, error))
        return -1;
    uint64_t *to = sorter->memory + sorter->count * sorter->words;
    if (sorter->count && sorter->in_order)
        sorter->in_order = sorter_compare(to - sorter->words, record, sorter->keys) <= 0;
    memcpy(to, record, sorter_record_size(sorter));
    sorter->count++;
    return 0;
}

/* ---- merging ------------------------------------------------------------------------------------- */

static const uint64_t *head(const struct pf_sorter *sorter, size_t run)
{
    return sorter->runs[run].window + sorter->runs[run].at * sorter->words;
}

/* If records are equal, the one in the earlier run was added first. */
static bool is_before(const struct pf_sorter *sorter, size_t a, size_t b)
{
    int order = sorter_compare(head(sorter, a), head(sorter, b), sorter->keys);
    return order < 0 || (!order && a < b);
}

/* Moves the run at `place` down until the heap is in order again. */
static void sink(struct pf_sorter *sorter, size_t place)
{
    size_t run = sorter->heap[place];
    for (size_t child; (child = 2 * place + 1) < sorter->heaped; place = child) {
        if (child + 1 < sorter->heaped && is_before(sorter, sorter->heap[child + 1], sorter->heap[child]))
            child++;
        if (!is_before(sorter, sorter->heap[child], run))
            break;
        sorter->heap[place] = sorter->heap[child];
    }
    sorter->heap[place] = run;
}

/* Reads the next records of a run; `most` is the capacity of its window in records. */
static int sorter_refill(struct pf_sorter *sorter, struct sorted_run *run, size_t most,
                         struct pf_error *error)
{
    if (pf_pass_check(error))
        return -1;
    uint64_t left = run->end - run->next;
    run->at = 0;
    run->have = left < most ? (size_t)left : most;
    if (pf_store_read(sorter->store, run->next * sorter_record_size(sorter), run->window,
                      run->have * sorter_record_size(sorter), error))
        return -1;
    run->next += run->have;
    return 0;
}

static size_t window_records(const struct pf_sorter *sorter)
{
    return sorter->room / sorter->n_runs;
}

/* Divides the memory among the runs. Fails if the memory cannot hold one record of each run. That takes more than
 * capacity * capacity records. */
static int begin_merge(struct pf_sorter *sorter, struct pf_error *error)
{
    size_t most = window_records(sorter);
    if (!most || !(sorter->heap = malloc(sorter->n_runs * sizeof *sorter->heap)))
        return pf_fail_memory(error);
    for (size_t i = 0; i < sorter->n_runs; i++) {
        sorter->runs[i].window = sorter->memory + i * most * sorter->words;
        if (sorter_refill(sorter, &sorter->runs[i], most, error))
            return -1;
        sorter->heap[i] = i;
    }
    sorter->heaped = sorter->n_runs;
    for (size_t i = sorter->heaped / 2; i-- > 0;)
        sink(sorter, i);
    return 0;
}

int pf_sorter_finish(struct pf_sorter *sorter, struct pf_error *error)
{
    sorter->at = 0;
    if (!sorter->store)
        return sort_memory(sorter, error);
    if (sorter->count && write_run(sorter, error))
        return -1;
    return begin_merge(sorter, error);
}

/* Advances past the record that was returned last. */
static int sorter_advance(struct pf_sorter *sorter, struct pf_error *error)
{
    struct sorted_run *run = &sorter->runs[sorter->heap[0]];
    if (++run->at == run->have && run->next < run->end) {
        if (sorter_refill(sorter, run, window_records(sorter), error))
            return -1;
    } else if (run->at == run->have) {
        sorter->heap[0] = sorter->heap[--sorter->heaped];
    }
    if (sorter->heaped)
        sink(sorter, 0);
    return 0;
}

/* Frees the records when all have been returned. */
static int end_merge(struct pf_sorter *sorter)
{
    pf_store_free(sorter->store);
    free(sorter->memory);
    sorter->store = NULL;
    sorter->memory = NULL;
    sorter->at = sorter->count = 0;
    return 0;
}

int pf_sorter_next(struct pf_sorter *sorter, const uint64_t **record, struct pf_error *error)
{
    if (!sorter->store) {
        if (sorter->at == sorter->count)
            return end_merge(sorter);
        *record = sorter->memory + sorter->at++ * sorter->words;
        return 1;
    }
    if (sorter->at && sorter->heaped && sorter_advance(sorter, error))
        return -1;
    sorter->at = 1;
    if (!sorter->heaped)
        return end_merge(sorter);
    *record = head(sorter, sorter->heap[0]);
    return 1;
}
