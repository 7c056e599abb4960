/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/xray/durations.h"

/*
 * The table "functions": how long the completed calls of each function took, over all threads, in ticks and
 * in seconds. Counts, extremes and sums are known from the model pass; the ranks between need the durations
 * themselves, which a second pass hands to the quantiles.
 */

/* What is known while the pass runs. */
struct ranking {
    struct xray_durations durations; /* first: see add */
    struct pf_quantiles *quantiles;  /* owned */
    uint32_t *groups;                /* number of a function in the stack -> index in the list; owned */
    uint32_t n_groups, groups_room;
};

/* ---- the pass ----------------------------------------------------------------------------------- */

/* The index of a function in the list, which is sorted; any if it is not there: no call of it ends. */
static uint32_t index_of(const struct xray_state *state, uint32_t id)
{
    uint32_t low = 0, high = state->n_functions;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (state->functions[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_groups(struct ranking *ranking, struct pf_error *error)
{
    const struct xray_functions *seen = &ranking->durations.stack.functions;
    if (seen->count > ranking->groups_room) {
        uint32_t *groups = realloc(ranking->groups, seen->room * sizeof *groups);
        if (!groups)
            return pf_fail_memory(error);
        ranking->groups = groups;
        ranking->groups_room = seen->room;
    }
    for (; ranking->n_groups < seen->count; ranking->n_groups++)
        ranking->groups[ranking->n_groups] =
            index_of(ranking->durations.state, seen->seen[ranking->n_groups].id);
    return 0;
}

static int add(struct xray_durations *durations, uint32_t number, uint64_t duration, struct pf_error *error)
{
    struct ranking *ranking = (struct ranking *)durations;
    if (number >= ranking->n_groups && add_groups(ranking, error))
        return -1;
    return pf_quantiles_add(ranking->quantiles, ranking->groups[number], duration, error);
}

static int read_log(struct ranking *ranking, struct pf_error *error)
{
    for (size_t i = 0; i < ranking->durations.state->index.n_threads; i++)
        if (xray_durations_read(&ranking->durations, i, error))
            return -1;
    return 0;
}

static int set_all_ranks(struct ranking *ranking, struct xray_function *functions, uint32_t n,
                         struct pf_error *error)
{
    for (uint32_t i = 0; i < n; i++)
        if (xray_set_ranks(ranking->quantiles, i, &functions[i], error) ||
            (i % 64 == 0 && pf_pass_step(ranking->durations.pass, i, n, error)))
            return -1;
    return 0;
}

int xray_load_functions(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct ranking ranking = {.durations = {.state = state, .pass = pass, .take = add},
                              .quantiles = xray_quantiles_new(state->functions, state->n_functions, error)};
    int failed = -1;
    xray_durations_init(&ranking.durations);
    if (ranking.quantiles && !read_log(&ranking, error))
        failed = set_all_ranks(&ranking, state->functions, state->n_functions, error);
    pf_quantiles_free(ranking.quantiles);
    xray_durations_free(&ranking.durations);
    free(ranking.groups);
    return failed;
}

/* ---- the table ---------------------------------------------------------------------------------- */

struct walk {
    uint64_t next; /* index of the next function */
    struct xray_function_text text;
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    cursor->state = calloc(1, sizeof(struct walk));
    return cursor->state ? 0 : pf_fail_memory(error);
}

static struct pf_cell seconds(const struct xray_state *state, double ticks)
{
    uint64_t frequency = state->header.frequency;
    return frequency ? pf_double(ticks / (double)frequency) : pf_absent();
}

void xray_function_cells(const struct xray_state *state, const struct xray_function *function,
                         struct pf_cell *cells, struct xray_function_text *text)
{
    text->sum = (pf_int128)function->sum;
    cells[XRAY_FUNCTIONS_FUNCTION] = pf_uint(function->id);
    cells[XRAY_FUNCTIONS_COUNT] = pf_uint(function->count);
    cells[XRAY_FUNCTIONS_MIN] = pf_uint(function->min);
    cells[XRAY_FUNCTIONS_MEDIAN] = pf_uint(function->median);
    cells[XRAY_FUNCTIONS_P90] = pf_uint(function->p90);
    cells[XRAY_FUNCTIONS_P99] = pf_uint(function->p99);
    cells[XRAY_FUNCTIONS_MAX] = pf_uint(function->max);
    cells[XRAY_FUNCTIONS_SUM] =
        function->sum <= UINT64_MAX ? pf_uint((uint64_t)function->sum) : pf_wide(&text->sum);
    cells[XRAY_FUNCTIONS_NAME] = xray_name(&state->names, function->id, text->name);
    cells[XRAY_FUNCTIONS_MIN_S] = seconds(state, (double)function->min);
    cells[XRAY_FUNCTIONS_MEDIAN_S] = seconds(state, (double)function->median);
    cells[XRAY_FUNCTIONS_P90_S] = seconds(state, (double)function->p90);
    cells[XRAY_FUNCTIONS_P99_S] = seconds(state, (double)function->p99);
    cells[XRAY_FUNCTIONS_MAX_S] = seconds(state, (double)function->max);
    cells[XRAY_FUNCTIONS_SUM_S] = seconds(state, (double)function->sum);
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    (void)error;
    struct walk *walk = cursor->state;
    const struct xray_state *state = xray_state(cursor->profile);
    if (walk->next >= state->n_functions)
        return 0;
    xray_function_cells(state, &state->functions[walk->next++], cells, &walk->text);
    return 1;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    if (room >= sizeof walk->next)
        memcpy(blob, &walk->next, sizeof walk->next);
    return sizeof walk->next;
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    uint64_t next;
    if (size != sizeof next)
        return pf_fail(error, EINVAL, "not a position in the functions");
    memcpy(&next, blob, sizeof next);
    if (next > xray_state(cursor->profile)->n_functions)
        return pf_fail(error, EINVAL, "not a position in the functions");
    walk->next = next;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    free(cursor->state);
    cursor->state = NULL;
}

const struct pf_cursor_ops xray_functions_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
};
