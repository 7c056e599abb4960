/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xray/durations.h"

/*
 * The table "functions" of each thread. Nothing of it is kept: threads times functions may be many, and a
 * thread's list is made in two passes over its own calls when a walk comes to it.
 */

struct list {
    struct xray_function *items; /* with completed calls, by id; owned */
    uint32_t count;
};

/* What is known while a thread's calls are read; functions by their numbers in the stack. */
struct tally {
    struct xray_durations durations; /* first: see tally_of */
    struct xray_function *functions; /* owned */
    uint32_t count, room;
    struct pf_quantiles *quantiles; /* owned */
};

/* ---- a thread's list ---------------------------------------------------------------------------- */

static struct tally *tally_of(struct xray_durations *durations)
{
    return (struct tally *)durations;
}

static int add_functions(struct tally *tally, struct pf_error *error)
{
    const struct xray_functions *seen = &tally->durations.stack.functions;
    if (seen->count > tally->room) {
        struct xray_function *functions = realloc(tally->functions, seen->room * sizeof *functions);
        if (!functions)
            return pf_fail_memory(error);
        tally->functions = functions;
        tally->room = seen->room;
    }
    for (; tally->count < seen->count; tally->count++)
        tally->functions[tally->count] =
            (struct xray_function){.id = seen->seen[tally->count].id, .min = UINT64_MAX};
    return 0;
}

static int count(struct xray_durations *durations, uint32_t number, uint64_t duration, struct pf_error *error)
{
    struct tally *tally = tally_of(durations);
    if (number >= tally->count && add_functions(tally, error))
        return -1;
    struct xray_function *function = &tally->functions[number];
    function->count++;
    function->sum += duration;
    if (duration < function->min)
        function->min = duration;
    if (duration > function->max)
        function->max = duration;
    return 0;
}

static int rank(struct xray_durations *durations, uint32_t number, uint64_t duration, struct pf_error *error)
{
    return pf_quantiles_add(tally_of(durations)->quantiles, number, duration, error);
}

static int by_id(const void *left, const void *right)
{
    const struct xray_function *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Numbers mean the same in both passes: the stack knows the functions still. */
static int read_calls(struct tally *tally, size_t thread, struct pf_error *error)
{
    tally->durations.take = count;
    if (xray_durations_read(&tally->durations, thread, error))
        return -1;
    tally->durations.take = rank;
    tally->quantiles = xray_quantiles_new(tally->functions, tally->count, error);
    if (!tally->quantiles || xray_durations_read(&tally->durations, thread, error))
        return -1;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tally->count; i++) {
        struct xray_function function = tally->functions[i];
        if (!function.count)
            continue;
        if (xray_set_ranks(tally->quantiles, i, &function, error))
            return -1;
        tally->functions[kept++] = function;
    }
    tally->count = kept;
    if (kept)
        qsort(tally->functions, kept, sizeof *tally->functions, by_id);
    return 0;
}

static int make_list(struct list *list, const struct xray_state *state, size_t thread, struct pf_error *error)
{
    struct tally tally = {.durations = {.state = state}};
    xray_durations_init(&tally.durations);
    int failed = read_calls(&tally, thread, error);
    if (!failed) {
        *list = (struct list){tally.functions, tally.count};
        tally.functions = NULL;
    }
    free(tally.functions);
    pf_quantiles_free(tally.quantiles);
    xray_durations_free(&tally.durations);
    return failed;
}

/* ---- the table ---------------------------------------------------------------------------------- */

/* The position of the next row. */
struct position {
    uint64_t thread; /* the number of threads at the end */
    uint64_t next;   /* index in its list */
};

struct walk {
    struct position at;
    bool made; /* the thread's list */
    struct list list;
    struct xray_function_text text;
};

static size_t thread_count(const struct pf_cursor *cursor)
{
    return xray_state(cursor->profile)->index.n_threads;
}

static void go_to(struct walk *walk, struct position position)
{
    free(walk->list.items);
    walk->list = (struct list){0};
    walk->made = false;
    walk->at = position;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    cursor->state = walk;
    if (cursor->only.partition >= 0)
        walk->at.thread = (uint64_t)cursor->only.partition;
    return 0;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct xray_state *state = xray_state(cursor->profile);
    size_t threads = thread_count(cursor);
    while (walk->at.thread < threads) {
        if (!walk->made && make_list(&walk->list, state, (size_t)walk->at.thread, error))
            return -1;
        walk->made = true;
        if (walk->at.next < walk->list.count) {
            cells[0] = pf_uint(walk->at.thread);
            xray_function_cells(state, &walk->list.items[walk->at.next++], cells + 1, &walk->text);
            return 1;
        }
        go_to(walk, (struct position){cursor->only.partition < 0 ? walk->at.thread + 1 : threads, 0});
    }
    return 0;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    if (room >= sizeof walk->at)
        memcpy(blob, &walk->at, sizeof walk->at);
    return sizeof walk->at;
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct position position;
    size_t threads = thread_count(cursor);
    if (size != sizeof position)
        return pf_fail(error, EINVAL, "not a position in the functions");
    memcpy(&position, blob, sizeof position);
    if (position.thread > threads)
        return pf_fail(error, EINVAL, "not a position in the functions");
    /* The rows of a restriction that follow a position in another thread: all, or none. */
    uint64_t only = (uint64_t)cursor->only.partition;
    if (cursor->only.partition >= 0 && position.thread != only)
        position = (struct position){position.thread < only ? only : threads, 0};
    go_to(cursor->state, position);
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (walk)
        free(walk->list.items);
    free(walk);
    cursor->state = NULL;
}

const struct pf_cursor_ops xray_thread_functions_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
};
