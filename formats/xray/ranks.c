/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/quantiles.h"
#include "formats/xray/durations.h"

/*
 * Percentiles of the durations of each function's calls, in all threads and in each. Counts are known from the
 * model pass, so that a second pass can hand the durations to quantiles: to those of all threads, and to those
 * of the thread that it is in, which are done with when it ends. Where there is one thread only, its percentiles
 * are those of all.
 */

/* Where a function's durations go. */
struct groups {
    uint32_t all;       /* index in the list of all functions */
    uint32_t in_thread; /* index in a thread's list */
    size_t thread;      /* which thread's, plus one; 0: none's yet */
};

struct ranking {
    struct xray_durations durations; /* first: see take */
    const struct xray_state *state;
    struct pf_quantiles *all;    /* NULL: there is one thread only; owned */
    struct pf_quantiles *thread; /* of the thread that is read; owned */
    size_t number;               /* of that thread, plus one */
    struct xray_function *list;  /* its functions; owned */
    uint32_t count, room;
    struct groups *groups; /* by the stack's numbers of functions; owned */
    uint32_t n_groups, groups_room;
};

/* ---- which quantiles ---------------------------------------------------------------------------- */

/* The index of a function in a list by id; n if it is not there, which no function with completed calls is. */
static uint32_t index_of(const struct xray_function *functions, uint32_t n, uint32_t id)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (functions[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && functions[low].id == id ? low : n;
}

static int add_groups(struct ranking *ranking, struct pf_error *error)
{
    const struct xray_state *state = ranking->state;
    const struct xray_functions *seen = &ranking->durations.stack.functions;
    if (seen->count > ranking->groups_room) {
        if (pf_array_resize(&ranking->groups, seen->room, sizeof *ranking->groups, error))
            return -1;
        ranking->groups_room = seen->room;
    }
    for (; ranking->n_groups < seen->count; ranking->n_groups++)
        ranking->groups[ranking->n_groups] = (struct groups){
            .all = index_of(state->functions, state->n_functions, seen->seen[ranking->n_groups].id)};
    return 0;
}

/* Where the calls of a function go in this thread. NULL with *error filled. */
static inline const struct groups *groups_of(struct ranking *ranking, uint32_t number, struct pf_error *error)
{
    if (number >= ranking->n_groups && add_groups(ranking, error))
        return NULL;
    struct groups *groups = &ranking->groups[number];
    if (groups->thread != ranking->number) {
        uint32_t id = ranking->durations.stack.functions.seen[number].id;
        groups->thread = ranking->number;
        groups->in_thread = index_of(ranking->list, ranking->count, id);
    }
    return groups;
}

static int take(struct xray_durations *durations, const struct xray_duration *calls, size_t n,
                struct pf_error *error)
{
    struct ranking *ranking = (struct ranking *)durations;
    for (size_t i = 0; i < n; i++) {
        const struct groups *groups = groups_of(ranking, calls[i].function, error);
        if (!groups || pf_quantiles_add(ranking->thread, groups->in_thread, calls[i].ticks, error) ||
            (ranking->all && pf_quantiles_add(ranking->all, groups->all, calls[i].ticks, error)))
            return -1;
    }
    return 0;
}

/* ---- ranks -------------------------------------------------------------------------------------- */

static struct pf_quantiles *quantiles_for(const struct xray_function *functions, uint32_t n,
                                          struct pf_error *error)
{
    /* Held in memory before they go to a file. */
    enum { DURATIONS_LIMIT = 8 * 1024 * 1024 };
    uint64_t *counts = malloc(((size_t)n + 1) * sizeof *counts);
    if (!counts) {
        pf_fail_memory(error);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        counts[i] = functions[i].count;
    struct pf_quantiles *quantiles = pf_quantiles_new(counts, n, DURATIONS_LIMIT, error);
    free(counts);
    return quantiles;
}

/* Sets the percentiles of a function with completed calls. */
static int set_ranks(struct pf_quantiles *quantiles, uint32_t group, struct xray_function *function,
                     struct pf_error *error)
{
    uint64_t count = function->count, result[3];
    /* floor(0.9 n) and floor(0.99 n) without overflow: of the hundreds, then of the rest. */
    uint64_t hundreds = count / 100, rest = count % 100;
    uint64_t ranks[3] = {count / 2, hundreds * 90 + rest * 90 / 100, hundreds * 99 + rest * 99 / 100};
    if (pf_quantiles_get(quantiles, group, ranks, 3, result, error))
        return -1;
    function->median = result[0];
    function->p90 = result[1];
    function->p99 = result[2];
    return 0;
}

static int set_all_ranks(struct ranking *ranking, struct pf_quantiles *quantiles,
                         struct xray_function *functions, uint32_t n, struct pf_error *error)
{
    for (uint32_t i = 0; i < n; i++)
        if (set_ranks(quantiles, i, &functions[i], error) ||
            xray_durations_step(&ranking->durations, 0, error))
            return -1;
    return 0;
}

/* ---- the pass ----------------------------------------------------------------------------------- */

/* The list of the thread that comes next. */
static int get_list(struct ranking *ranking, size_t thread, struct pf_error *error)
{
    uint32_t count = ranking->state->lists.items[thread].count;
    if (count > ranking->room) {
        struct xray_function *list = realloc(ranking->list, count * sizeof *list);
        if (!list)
            return pf_fail_memory(error);
        ranking->list = list;
        ranking->room = count;
    }
    ranking->count = count;
    ranking->number = thread + 1;
    return xray_lists_get(&ranking->state->lists, thread, ranking->list, error);
}

static int rank_thread(struct ranking *ranking, struct xray_state *state, size_t thread,
                       struct pf_error *error)
{
    if (get_list(ranking, thread, error))
        return -1;
    pf_quantiles_free(ranking->thread);
    ranking->thread = quantiles_for(ranking->list, ranking->count, error);
    if (!ranking->thread || xray_durations_read(&ranking->durations, thread, error) ||
        set_all_ranks(ranking, ranking->thread, ranking->list, ranking->count, error))
        return -1;
    return xray_lists_set(&state->lists, thread, ranking->list, error);
}

static int rank_log(struct ranking *ranking, struct xray_state *state, struct pf_error *error)
{
    size_t threads = state->index.n_threads;
    if (threads != 1) {
        ranking->all = quantiles_for(state->functions, state->n_functions, error);
        if (!ranking->all)
            return -1;
    }
    for (size_t i = 0; i < threads; i++)
        if (rank_thread(ranking, state, i, error))
            return -1;
    return ranking->all ? set_all_ranks(ranking, ranking->all, state->functions, state->n_functions, error)
                        : xray_lists_get(&state->lists, 0, state->functions, error);
}

int xray_load_ranks(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct ranking ranking = {.durations = {.state = state, .pass = pass, .take = take}, .state = state};
    xray_durations_init(&ranking.durations);
    int failed = rank_log(&ranking, state, error);
    pf_quantiles_free(ranking.all);
    pf_quantiles_free(ranking.thread);
    xray_durations_free(&ranking.durations);
    free(ranking.list);
    free(ranking.groups);
    return failed;
}
