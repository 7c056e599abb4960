/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/powers.h"
#include "formats/kit/sorter.h"
#include "formats/runtime/numbered.h"
#include "formats/xray/stack.h"

/*
 * Statistics of the durations of completed calls of each function, per thread and in total. A second pass over the file
 * adds the durations to two sorters, one for the current thread and one for all threads. Percentiles are then read from
 * the sorted durations. If there is only one thread, its rows are also the total.
 */

/* A row of the tables of durations. */
struct duration {
    uint32_t thread, id;
    uint64_t count;
    uint64_t min, median, p90, p99, max; /* ticks */
    pf_uint128 sum;
};

/* The completed calls of one thread, or of all threads. */
struct durations_group {
    struct pf_sorter *durations; /* records: number of a function, ticks; owned by the run */
    PF_LIST(uint64_t) counts;    /* number of calls of each function; all 0 between groups */
};

struct ranking {
    const struct xray_state *state;
    struct pf_run *run;
    uint64_t limit; /* maximum bytes of durations to hold in memory */
    struct xray_decoder decoder;
    struct xray_stack stack;            /* assigns the same function numbers as the model pass */
    struct durations_group thread, all; /* `all` is unused if there is only one thread */
    PF_LIST(struct duration) rows;      /* rows of the group that is being ended */
    struct xray_durations done;         /* rows of ended groups, as struct duration */
};

/* ---- calls -------------------------------------------------------------------------------------- */

static void add_duration(struct pf_run *run, struct durations_group *group, uint32_t function, uint64_t ticks)
{
    uint64_t record[] = {function, ticks};
    ++*PF_ITEM(run, group->counts, function);
    pf_run_check(run, pf_sorter_add(group->durations, record, run->error));
}

/* Ends the innermost call and records its duration. */
static void rank_call(struct ranking *ranking, uint64_t tsc)
{
    const struct xray_call *call = xray_stack_pop(&ranking->stack);
    uint64_t ticks = xray_duration(call, tsc);
    add_duration(ranking->run, &ranking->thread, call->function, ticks);
    if (ranking->all.durations)
        add_duration(ranking->run, &ranking->all, call->function, ticks);
}

/* Updates the stack by the same rules as the model pass (calls.c), without contexts. */
static inline void follow_event(struct ranking *ranking, const struct xray_event *event)
{
    struct xray_stack *stack = &ranking->stack;
    if (event->kind > XRAY_ENTER_ARG)
        return;
    uint32_t function = xray_stack_function_in(ranking->run, stack, event->function);
    if (xray_is_entry(event)) {
        xray_stack_push(stack, function, PF_NO_CONTEXT, event->tsc);
        return;
    }
    size_t around = xray_stack_around(stack, function);
    while (stack->depth > around)
        rank_call(ranking, event->tsc);
}

static void follow_thread(struct ranking *ranking, size_t thread)
{
    struct pf_run *run = ranking->run;
    while (ranking->stack.depth)
        xray_stack_pop(&ranking->stack);
    for (uint64_t i = 0; i < ranking->state->index.threads[thread].count; i++) {
        struct xray_range range;
        struct xray_event event;
        pf_run_check(
            run, xray_begin_range(&ranking->decoder, &ranking->state->index, thread, i, &range, run->error));
        while (pf_run_check(run, xray_next_event(&ranking->decoder, &event, run->error)))
            follow_event(ranking, &event);
    }
}

/* ---- groups ------------------------------------------------------------------------------------- */

static void begin_ranking(const struct ranking *ranking, struct durations_group *group)
{
    /* The other half of the limit is for the group of all threads. */
    group->durations = PF_OWN(ranking->run, pf_sorter_new(2, 2, ranking->limit / 2), pf_sorter_free);
}

/* Adds a call to its function's row, after `seen` other calls. Calls must be added by ascending ticks. */
static void add_to_row(struct duration *row, uint64_t seen, uint64_t ticks)
{
    /* floor(0.9 n) and floor(0.99 n) without overflow: the hundreds and the rest are scaled separately. */
    uint64_t hundreds = row->count / 100, rest = row->count % 100;
    if (seen == 0)
        row->min = ticks;
    if (seen == row->count / 2)
        row->median = ticks;
    if (seen == hundreds * 90 + rest * 90 / 100)
        row->p90 = ticks;
    if (seen == hundreds * 99 + rest * 99 / 100)
        row->p99 = ticks;
    row->max = ticks;
    row->sum += ticks;
}

static int by_function_id(const void *left, const void *right)
{
    const struct duration *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Makes the rows of a group, in order of the functions' numbers. */
static void make_rows(struct ranking *ranking, size_t thread, struct durations_group *group)
{
    struct pf_run *run = ranking->run;
    const uint64_t *record;
    uint64_t seen = 0, function = 0;
    ranking->rows.n = 0;
    pf_run_check(run, pf_sorter_finish(group->durations, run->error));
    for (; pf_run_check(run, pf_sorter_next(group->durations, &record, run->error)); seen++) {
        if (!ranking->rows.n || record[0] != function) {
            pf_run_step(run, ranking->decoder.done, ranking->decoder.total);
            function = record[0];
            seen = 0;
            *PF_PUSH(run, ranking->rows) = (struct duration){.thread = (uint32_t)thread,
                                                             .id = ranking->stack.functions[function].id,
                                                             .count = group->counts.at[function]};
            group->counts.at[function] = 0; /* for the next group */
        }
        add_to_row(&ranking->rows.at[ranking->rows.n - 1], seen, record[1]);
    }
}

/* Ends a group: stores the rows of functions with completed calls, sorted by id. */
static void end_ranking(struct ranking *ranking, size_t thread, struct durations_group *group)
{
    struct pf_run *run = ranking->run;
    make_rows(ranking, thread, group);
    size_t n = ranking->rows.n;
    if (n) {
        qsort(ranking->rows.at, n, sizeof *ranking->rows.at, by_function_id);
        pf_run_check(run, pf_store_append(ranking->done.store, ranking->rows.at, n * sizeof *ranking->rows.at,
                                          run->error));
    }
    ranking->done.first[thread + 1] = ranking->done.first[thread] + n;
    pf_sorter_free(pf_disown(run, group->durations));
    group->durations = NULL;
}

static void rank_threads(struct pf_run *run, void *arg)
{
    enum { ROWS_HELD = 4 * 1024 * 1024 };
    struct ranking *ranking = arg;
    size_t threads = ranking->state->index.n_threads;
    ranking->run = run;
    ranking->done.store = pf_run_memory(run, pf_store_new(ROWS_HELD));
    ranking->done.first = pf_run_memory(run, calloc(threads + 2, sizeof *ranking->done.first));
    if (threads != 1)
        begin_ranking(ranking, &ranking->all);
    for (size_t i = 0; i < threads; i++) {
        begin_ranking(ranking, &ranking->thread);
        follow_thread(ranking, i);
        end_ranking(ranking, i, &ranking->thread);
    }
    if (threads != 1)
        end_ranking(ranking, threads, &ranking->all);
}

void xray_durations_free(struct xray_durations *durations)
{
    pf_store_free(durations->store);
    free(durations->first);
    *durations = (struct xray_durations){0};
}

int xray_load_durations(struct pf_model *model, struct pf_error *error)
{
    struct xray_state *state = xray_state(model);
    struct ranking ranking = {.state = state, .limit = model->options->cache / 2};
    xray_decoder_init(&ranking.decoder, state->input, &state->header, state->index.bytes);
    int failed = pf_run(model, rank_threads, &ranking, error);
    if (!failed)
        state->durations = ranking.done;
    else
        xray_durations_free(&ranking.done);
    xray_decoder_free(&ranking.decoder);
    xray_stack_free(&ranking.stack);
    return failed;
}

/* ---- the tables --------------------------------------------------------------------------------- */

/* Data that the cells of a row borrow. */
struct durations_text {
    char name[XRAY_NAME_MAX];
    pf_int128 sum;
};

/*
 * Sets the range of rows. A table without the column thread has the rows of the total. A table with it has the rows of
 * each thread, or of the thread that the cursor is restricted to.
 */
static int begin_durations(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct xray_state *state = xray_state(cursor->model);
    uint64_t threads = state->index.n_threads, from = 0, to = threads;
    if (cursor->table->columns->role != PF_PARTITION) {
        from = threads == 1 ? 0 : threads;
        to = from + 1;
    } else if (cursor->only.partition >= 0 && (uint64_t)cursor->only.partition < threads) {
        from = (uint64_t)cursor->only.partition;
        to = from + 1;
    }
    numbers->own = malloc(sizeof(struct durations_text));
    numbers->next = state->durations.first[from];
    numbers->end = state->durations.first[to];
    return numbers->own ? 0 : pf_fail_memory(error);
}

static int duration_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                        struct pf_error *error)
{
    const struct xray_state *state = xray_state(cursor->model);
    struct durations_text *text = own;
    struct duration duration;
    if (pf_store_read(state->durations.store, number * sizeof duration, &duration, sizeof duration, error))
        return -1;
    if (cursor->table->columns->role == PF_PARTITION)
        *cells++ = pf_int(duration.thread);
    text->sum = (pf_int128)duration.sum;
    cells[0] = pf_uint(duration.id);
    cells[1] = pf_uint(duration.count);
    cells[2] = pf_uint(duration.min);
    cells[3] = pf_uint(duration.median);
    cells[4] = pf_uint(duration.p90);
    cells[5] = pf_uint(duration.p99);
    cells[6] = pf_uint(duration.max);
    cells[7] = duration.sum <= UINT64_MAX ? pf_uint((uint64_t)duration.sum) : pf_wide(&text->sum);
    cells[8] = xray_name(&state->names, duration.id, text->name);
    return 1;
}

const struct pf_numbered xray_durations = {PF_NUMBERED, .begin = begin_durations, .row = duration_row};
