/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/numbered.h"
#include "formats/kit/quantiles.h"
#include "formats/xray/records.h"
#include "formats/xray/stack.h"

/*
 * Percentiles of the durations of each function's calls, in all threads and in each. Counts are known from the model pass, so
 * that a second pass can hand the durations to quantiles: to those of all threads, and to those of the thread that it is in,
 * which are done with when it ends. Where there is one thread only, its percentiles are those of all.
 */

/* Where a function's durations go. */
struct groups {
    uint32_t all;       /* index in the list of all functions */
    uint32_t in_thread; /* index in the thread's list */
};

/* A call that has ended. */
struct duration {
    uint64_t ticks;
    uint32_t function; /* its number in the stack */
};

enum { AT_ONCE = 1024 };

struct ranking {
    const struct xray_state *state;
    struct pf_quantiles *all;    /* NULL: there is one thread only; owned */
    struct pf_quantiles *thread; /* of the thread that is read; owned */
    struct xray_function *list;  /* its functions; owned */
    uint32_t count;
    struct pf_pass *pass;
    uint64_t done; /* bytes of ranges */

    /* The thread's calls are closed by the rules of the model pass (see calls.c), but no contexts are made. */
    struct xray_decoder decoder;
    struct xray_stack stack;
    uint64_t *entered; /* by depth in the stack, from 1 on; owned */
    size_t entered_room;
    struct groups *groups; /* by the stack's numbers of functions; owned */
    size_t n_groups, groups_room;
    size_t n_ended;
    struct duration ended[AT_ONCE]; /* not yet handed to the quantiles */
};

/* ---- where durations go ------------------------------------------------------------------------- */

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

/* Finds the groups of functions that have been seen since the thread began. */
static int add_groups(struct ranking *ranking, struct pf_error *error)
{
    const struct xray_state *state = ranking->state;
    const struct xray_functions *seen = &ranking->stack.functions;
    for (; ranking->n_groups < seen->count; ranking->n_groups++) {
        uint32_t id = seen->seen[ranking->n_groups].id;
        if (pf_array_room(&ranking->groups, &ranking->groups_room, ranking->n_groups, sizeof *ranking->groups,
                          error))
            return -1;
        ranking->groups[ranking->n_groups] = (struct groups){
            index_of(state->functions, state->n_functions, id), index_of(ranking->list, ranking->count, id)};
    }
    return 0;
}

static int hand_over(struct ranking *ranking, struct pf_error *error)
{
    if (add_groups(ranking, error))
        return -1;
    for (size_t i = 0; i < ranking->n_ended; i++) {
        const struct groups *groups = &ranking->groups[ranking->ended[i].function];
        uint64_t ticks = ranking->ended[i].ticks;
        if (pf_quantiles_add(ranking->thread, groups->in_thread, ticks, error) ||
            (ranking->all && pf_quantiles_add(ranking->all, groups->all, ticks, error)))
            return -1;
    }
    ranking->n_ended = 0;
    return 0;
}

/* ---- calls -------------------------------------------------------------------------------------- */

/* Room for one more open call. */
static int make_room(struct ranking *ranking, struct pf_error *error)
{
    struct xray_stack *stack = &ranking->stack;
    if (stack->depth + 1 >= stack->room && xray_stack_grow(stack, error))
        return -1;
    if (ranking->entered_room >= stack->room)
        return 0;
    if (pf_array_resize(&ranking->entered, stack->room, sizeof *ranking->entered, error))
        return -1;
    ranking->entered[0] = 0;
    ranking->entered_room = stack->room;
    return 0;
}

/* Notes the innermost call as one that ends, or would; there is always room for one. */
static inline void note_end(struct ranking *ranking, uint32_t function, uint64_t tsc)
{
    uint64_t entered = ranking->entered[ranking->stack.depth];
    ranking->ended[ranking->n_ended] =
        (struct duration){.ticks = tsc > entered ? tsc - entered : entered - tsc, .function = function};
}

/* An exit of a call that is not the innermost. */
static int leave(struct ranking *ranking, uint32_t function, uint64_t tsc, struct pf_error *error)
{
    struct xray_stack *stack = &ranking->stack;
    size_t call = xray_stack_find(stack, function);
    while (call != SIZE_MAX && stack->depth > call) {
        note_end(ranking, stack->calls[stack->depth], tsc);
        xray_stack_pop(stack);
        if (++ranking->n_ended == AT_ONCE && hand_over(ranking, error))
            return -1;
    }
    return 0;
}

/*
 * Entries and exits alternate as in a random walk: what depends on which it is would be predicted wrongly half
 * the time. So an entry and the exit of the innermost call are one case: both write what either needs, and only
 * the counts differ.
 */
static inline int take_event(struct ranking *ranking, const struct xray_event *event, struct pf_error *error)
{
    enum { ENTRIES = 1 << XRAY_ENTER | 1 << XRAY_ENTER_ARG };
    struct xray_stack *stack = &ranking->stack;
    if (event->kind > XRAY_ENTER_ARG)
        return 0;
    uint32_t number = xray_functions_find(&stack->functions, event->function);
    unsigned entering = ENTRIES >> event->kind & 1;
    if (number == XRAY_NO_FUNCTION) {
        if (!entering)
            return 0;
        number = xray_functions_add(&stack->functions, event->function, error);
        if (number == XRAY_NO_FUNCTION)
            return -1;
    }
    if (stack->depth + 1 >= stack->room && make_room(ranking, error))
        return -1;
    size_t depth = stack->depth;
    if (!(entering | (stack->calls[depth] == number)))
        return leave(ranking, number, event->tsc, error);
    note_end(ranking, number, event->tsc);
    ranking->n_ended += !entering;
    stack->calls[depth + 1] = number;
    ranking->entered[depth + 1] = event->tsc;
    stack->functions.seen[number].open += 2 * entering - 1;
    stack->depth = depth + 2 * (size_t)entering - 1;
    return ranking->n_ended == AT_ONCE ? hand_over(ranking, error) : 0;
}

static int read_range(struct ranking *ranking, const struct xray_range *range, struct pf_error *error)
{
    enum { EVENTS_PER_STEP = 32768 };
    struct xray_decoder *decoder = &ranking->decoder;
    struct xray_event event;
    uint64_t total = ranking->state->index.bytes;
    int more;
    xray_decoder_begin(decoder, range->body, range->end);
    for (uint64_t events = 1; (more = xray_next_event(decoder, &event, error)) > 0; events++) {
        uint64_t done = ranking->done + (xray_decoder_offset(decoder) - range->body);
        if ((events % EVENTS_PER_STEP == 0 && pf_pass_step(ranking->pass, done, total, error)) ||
            take_event(ranking, &event, error))
            return -1;
    }
    ranking->done += range->end - range->body;
    return more < 0 ? -1 : pf_pass_step(ranking->pass, ranking->done, total, error);
}

static int read_thread(struct ranking *ranking, size_t number, struct pf_error *error)
{
    const struct xray_thread *thread = &ranking->state->index.threads[number];
    xray_stack_free(&ranking->stack); /* its functions are numbered anew */
    ranking->n_groups = ranking->n_ended = 0;
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range range;
        if (xray_index_range(&ranking->state->index, thread->first + i, &range, error) ||
            read_range(ranking, &range, error))
            return -1;
    }
    return hand_over(ranking, error);
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

/* Sets the percentiles of functions with completed calls. */
static int set_ranks(const struct ranking *ranking, struct pf_quantiles *quantiles,
                     struct xray_function *functions, uint32_t n, struct pf_error *error)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t count = functions[i].count, result[3];
        /* floor(0.9 n) and floor(0.99 n) without overflow: of the hundreds, then of the rest. */
        uint64_t hundreds = count / 100, rest = count % 100;
        uint64_t ranks[3] = {count / 2, hundreds * 90 + rest * 90 / 100, hundreds * 99 + rest * 99 / 100};
        if (pf_quantiles_get(quantiles, i, ranks, 3, result, error) ||
            pf_pass_step(ranking->pass, ranking->done, ranking->state->index.bytes, error))
            return -1;
        functions[i].median = result[0];
        functions[i].p90 = result[1];
        functions[i].p99 = result[2];
    }
    return 0;
}

static int rank_thread(struct ranking *ranking, size_t thread, struct pf_error *error)
{
    const struct xray_state *state = ranking->state;
    uint64_t first = state->first_of_thread[thread] * sizeof *ranking->list;
    ranking->count = (uint32_t)(state->first_of_thread[thread + 1] - state->first_of_thread[thread]);
    size_t size = ranking->count * sizeof *ranking->list;
    ranking->list = calloc((size_t)ranking->count + 1, sizeof *ranking->list);
    if (!ranking->list)
        return pf_fail_memory(error);
    if (size && pf_store_read(state->of_threads, first, ranking->list, size, error))
        return -1;
    ranking->thread = quantiles_for(ranking->list, ranking->count, error);
    if (!ranking->thread || read_thread(ranking, thread, error) ||
        set_ranks(ranking, ranking->thread, ranking->list, ranking->count, error))
        return -1;
    return size ? pf_store_write(state->of_threads, first, ranking->list, size, error) : 0;
}

static void end_thread(struct ranking *ranking)
{
    pf_quantiles_free(ranking->thread);
    free(ranking->list);
    ranking->thread = NULL;
    ranking->list = NULL;
}

static int rank_log(struct ranking *ranking, struct xray_state *state, struct pf_error *error)
{
    size_t threads = state->index.n_threads;
    if (threads != 1 && !(ranking->all = quantiles_for(state->functions, state->n_functions, error)))
        return -1;
    for (size_t i = 0; i < threads; i++) {
        int failed = rank_thread(ranking, i, error);
        if (!failed && !ranking->all && ranking->count)
            memcpy(state->functions, ranking->list, ranking->count * sizeof *ranking->list);
        end_thread(ranking);
        if (failed)
            return -1;
    }
    return ranking->all ? set_ranks(ranking, ranking->all, state->functions, state->n_functions, error) : 0;
}

int xray_load_ranks(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    struct ranking ranking = {.state = state, .pass = pass};
    xray_decoder_init(&ranking.decoder, state->input, &state->header);
    int failed = rank_log(&ranking, state, error);
    pf_quantiles_free(ranking.all);
    xray_decoder_free(&ranking.decoder);
    xray_stack_free(&ranking.stack);
    free(ranking.entered);
    free(ranking.groups);
    return failed;
}

/* ---- the tables --------------------------------------------------------------------------------- */

/* What a row's cells borrow. */
struct text {
    char name[XRAY_NAME_MAX];
    pf_int128 sum;
};

static int function_cells(const struct xray_state *state, const struct xray_function *function,
                          struct text *text, struct pf_cell *cells)
{
    text->sum = (pf_int128)function->sum;
    cells[0] = pf_uint(function->id);
    cells[1] = pf_uint(function->count);
    cells[2] = pf_uint(function->min);
    cells[3] = pf_uint(function->median);
    cells[4] = pf_uint(function->p90);
    cells[5] = pf_uint(function->p99);
    cells[6] = pf_uint(function->max);
    cells[7] = function->sum <= UINT64_MAX ? pf_uint((uint64_t)function->sum) : pf_wide(&text->sum);
    cells[8] = xray_name(&state->names, function->id, text->name);
    return 1;
}

static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    numbers->own = malloc(sizeof(struct text));
    numbers->end = xray_state(cursor->profile)->n_functions;
    return numbers->own ? 0 : pf_fail_memory(error);
}

static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    const struct xray_state *state = xray_state(cursor->profile);
    (void)error;
    return function_cells(state, &state->functions[number], own, cells);
}

static int begin_threads(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct xray_state *state = xray_state(cursor->profile);
    uint64_t threads = state->index.n_threads, only = (uint64_t)cursor->only.partition;
    numbers->own = malloc(sizeof(struct text));
    numbers->next = cursor->only.partition < 0 ? 0 : state->first_of_thread[only < threads ? only : threads];
    numbers->end = state->first_of_thread[cursor->only.partition >= 0 && only < threads ? only + 1 : threads];
    return numbers->own ? 0 : pf_fail_memory(error);
}

static int thread_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                      struct pf_error *error)
{
    const struct xray_state *state = xray_state(cursor->profile);
    struct xray_function function;
    if (pf_store_read(state->of_threads, number * sizeof function, &function, sizeof function, error))
        return -1;
    cells[0] = pf_int(function.thread);
    return function_cells(state, &function, own, cells + 1);
}

const struct pf_numbered xray_durations = {PF_NUMBERED, .begin = begin, .row = row};
const struct pf_numbered xray_thread_durations = {PF_NUMBERED, .begin = begin_threads, .row = thread_row};
