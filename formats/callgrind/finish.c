/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/callgrind.h"

#include <stdlib.h>

/* Functions, rows or calls between two checks of the pass. */
enum { CALLGRIND_A_STEP = 8192 };

/* Sentinel: several defined functions (with fn=) have this name. */
#define SEVERAL (CALLGRIND_NO_FUNCTION - 1)

/* The calls of one function by another in one thread. */
struct callgrind_edge {
    struct callgrind_key key;
    uint32_t pair; /* index in `pairs`: the names of caller and callee */
    const pf_int128 *costs;
};

/* State of the conversion at the end of the pass. */
struct finish {
    struct callgrind *callgrind;
    struct pf_build *build;
    uint32_t functions;
    uint32_t *context; /* by function; PF_NO_CONTEXT: the function does not exist (see exists) */
    uint32_t *only;    /* by name: the only defined function; CALLGRIND_NO_FUNCTION: none; SEVERAL */
    struct callgrind_edge *calls;
    size_t n_calls;
    struct pf_strings *pairs; /* interned pairs of name indexes */
    uint64_t *used; /* by pair: bit m is set if metric m is not 0 in a call of this pair, bit 0 always */
    pf_int128 *own, *inclusive; /* by function: exclusive and inclusive cost of one metric in all threads */
};

static uint32_t callgrind_name_of(const struct finish *finish, uint32_t function)
{
    return pf_build_frame_at(finish->build, function).name;
}

/* True if the function has costs, calls or callers. */
static bool exists(const struct finish *finish, uint32_t function)
{
    return function < finish->callgrind->exists.room && finish->callgrind->exists.at[function];
}

static bool is_defined(const struct finish *finish, uint32_t function)
{
    return function < finish->callgrind->defined.room && finish->callgrind->defined.at[function] &&
           exists(finish, function);
}

/* Checks the pass at every CALLGRIND_A_STEP-th item i of a loop. The file has been read, so there is no progress to report. */
static void callgrind_step(const struct finish *finish, uint64_t i)
{
    if (i % CALLGRIND_A_STEP == 0)
        pf_run_step(finish->build->run, 1, 1);
}

/* Fills finish->only. */
static void callgrind_find_only(struct finish *finish, uint32_t names)
{
    for (uint32_t i = 0; i < names; i++)
        finish->only[i] = CALLGRIND_NO_FUNCTION;
    for (uint32_t i = 0; i < finish->functions; i++) {
        uint32_t *place = &finish->only[callgrind_name_of(finish, i)];
        if (is_defined(finish, i))
            *place = *place == CALLGRIND_NO_FUNCTION ? i : SEVERAL;
    }
}

/*
 * Resolves a callee. Old xdebug omits the file of a callee, and the reader then assumes the caller's file. If that function is not defined,
 * but exactly one other function of its name is, returns the latter.
 */
static uint32_t callee_of(const struct finish *finish, uint32_t callee)
{
    uint32_t other = is_defined(finish, callee) ? SEVERAL : finish->only[callgrind_name_of(finish, callee)];
    return other < SEVERAL ? other : callee;
}

static void callgrind_add_value(struct finish *finish, const struct callgrind_key *key, uint32_t metric,
                                const pf_int128 *value)
{
    pf_build_add(finish->build, key->thread, finish->context[key->caller], metric, pf_whole(value));
}

/*
 * Adds the values of one row of costs. A function's inclusive value is its exclusive value plus the costs of its calls, except recursive
 * calls. A function with only calls gets the exclusive value 0. Functions that share a name get no inclusive value: values are added up by
 * name, and costs would count twice if one of them calls another (as valgrind's two `(below main)` do).
 */
static void callgrind_add_values(struct finish *finish, const struct callgrind_key *key,
                                 const pf_int128 *costs)
{
    static const pf_int128 nothing = 0;
    bool inclusive =
        key->callee != key->caller && finish->only[callgrind_name_of(finish, key->caller)] == key->caller;
    for (unsigned i = 0; i < finish->callgrind->n_metrics; i++) {
        uint32_t metric = finish->callgrind->exclusive[i];
        int partner = finish->build->metrics[metric].partner;
        if (costs[i] && key->callee == CALLGRIND_NO_FUNCTION)
            callgrind_add_value(finish, key, metric, &costs[i]);
        if (costs[i] && inclusive && partner != PF_NO_PARTNER) {
            callgrind_add_value(finish, key, metric, &nothing);
            callgrind_add_value(finish, key, (uint32_t)partner, &costs[i]);
        }
    }
}

static void callgrind_add_call(struct finish *finish, const struct callgrind_key *key, const pf_int128 *costs)
{
    uint32_t names[] = {callgrind_name_of(finish, key->caller), callgrind_name_of(finish, key->callee)};
    uint32_t pair = pf_build_intern(finish->build, finish->pairs, names, sizeof names);
    for (unsigned i = 0; i < finish->callgrind->n_metrics; i++)
        finish->used[pair] |= (uint64_t)(i == 0 || costs[1 + i]) << i;
    finish->calls[finish->n_calls++] = (struct callgrind_edge){*key, pair, costs};
}

static void callgrind_add_rows(struct finish *finish)
{
    const struct callgrind *callgrind = finish->callgrind;
    for (uint32_t i = 0; i < pf_strings_count(callgrind->keys); i++) {
        struct callgrind_key key = callgrind_key_at(callgrind, i);
        const pf_int128 *costs = callgrind->costs.at + i * callgrind->stride;
        callgrind_step(finish, i);
        if (key.callee != CALLGRIND_NO_FUNCTION)
            key.callee = callee_of(finish, key.callee);
        callgrind_add_values(finish, &key, costs + 1);
        if (key.callee != CALLGRIND_NO_FUNCTION)
            callgrind_add_call(finish, &key, costs);
    }
}

static int callgrind_by_key(const void *a, const void *b)
{
    const struct callgrind_edge *x = a, *y = b;
    const uint32_t left[] = {x->key.thread, x->key.caller, x->key.callee};
    const uint32_t right[] = {y->key.thread, y->key.caller, y->key.callee};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return (x->costs > y->costs) -
           (x->costs < y->costs); /* costs point into one array, which is in file order */
}

/*
 * Fills the table of calls. A call has a row for the first metric. For any other metric, it has a row unless the metric
 * is 0 in all calls between functions of these names. So a metric has rows for all calls of a pair of names or for
 * none, and counts added up by name are complete.
 */
static void list_calls(struct finish *finish)
{
    const struct callgrind *callgrind = finish->callgrind;
    const struct pf_tree *tree = finish->build->model->contexts;
    for (size_t i = 0; i < finish->n_calls; i++) {
        const struct callgrind_edge *call = &finish->calls[i];
        uint32_t caller = finish->context[call->key.caller], callee = finish->context[call->key.callee];
        callgrind_step(finish, i);
        for (unsigned m = 0; m < callgrind->n_metrics; m++) {
            struct pf_cell cells[CALLGRIND_COLUMNS] = {
                [CALLGRIND_THREAD] = pf_int(call->key.thread),
                [CALLGRIND_CONTEXT] = pf_int(caller),
                [CALLGRIND_METRIC] = pf_int(callgrind->exclusive[m]),
                [CALLGRIND_COUNT] = pf_whole(&call->costs[0]),
                [CALLGRIND_INCLUSIVE] = pf_whole(&call->costs[1 + m]),
                [CALLGRIND_CALLER] = pf_interned(tree->strings, tree->name[caller]),
                [CALLGRIND_CALLEE] = pf_interned(tree->strings, tree->name[callee]),
            };
            if (finish->used[call->pair] >> m & 1)
                pf_build_row(finish->build, CALLGRIND_CALLS, cells);
        }
    }
}

/* ---- shares ------------------------------------------------------------------------------------- */

/* Adds to a sum, which saturates. The reader limits the sum of each row to 128 bits, but not sums of several rows. */
static void callgrind_saturate(pf_int128 *sum, pf_int128 more)
{
    const pf_int128 most = (((pf_int128)1 << 126) - 1) * 2 + 1;
    pf_int128 result;
    *sum = !__builtin_add_overflow(*sum, more, &result) ? result : more < 0 ? -most : most;
}

static bool exceeds(pf_int128 part, pf_int128 total)
{
    return total > 0 ? part > total : part < total;
}

/*
 * Warns of shares above 100 %. They occur since costs may be negative, functions may be recursive, and a file may list
 * the costs of calls without those of the callees.
 */
static void warn_of_shares(struct finish *finish, unsigned metric)
{
    const struct callgrind *callgrind = finish->callgrind;
    pf_int128 total = 0;
    memset(finish->own, 0, finish->functions * sizeof *finish->own);
    for (uint32_t i = 0; i < pf_strings_count(callgrind->keys); i++) {
        struct callgrind_key key = callgrind_key_at(callgrind, i);
        pf_int128 cost = callgrind->costs.at[i * callgrind->stride + 1 + metric];
        callgrind_step(finish, i);
        if (key.callee != CALLGRIND_NO_FUNCTION)
            continue;
        callgrind_saturate(&finish->own[key.caller], cost);
        callgrind_saturate(&total, cost);
    }
    memcpy(finish->inclusive, finish->own, finish->functions * sizeof *finish->own);
    for (size_t i = 0; i < finish->n_calls; i++)
        if (finish->calls[i].key.caller != finish->calls[i].key.callee)
            callgrind_saturate(&finish->inclusive[finish->calls[i].key.caller],
                               finish->calls[i].costs[1 + metric]);
    for (uint32_t i = 0; i < finish->functions; i++)
        if (exceeds(finish->own[i], total) || exceeds(finish->inclusive[i], total)) {
            pf_build_warn(
                finish->build, 0, -1, "warning", "shares",
                "some functions have more %.80s than the total of exclusive costs: shares may exceed 100 %%",
                finish->build->metrics[callgrind->exclusive[metric]].name);
            return;
        }
}

static void *zeroed(struct pf_build *build, size_t n, size_t size)
{
    return PF_OWN(build->run, calloc(n + 1, size), free);
}

void callgrind_finish(struct callgrind *callgrind)
{
    struct pf_build *build = callgrind->build;
    uint32_t names = pf_strings_count(build->model->contexts->strings),
             rows = pf_strings_count(callgrind->keys);
    struct finish finish = {
        .callgrind = callgrind, .build = build, .functions = pf_strings_count(build->frames)};
    finish.context = zeroed(build, finish.functions, sizeof *finish.context);
    finish.only = zeroed(build, names, sizeof *finish.only);
    finish.calls = zeroed(build, rows, sizeof *finish.calls);
    finish.used = zeroed(build, rows, sizeof *finish.used);
    finish.own = zeroed(build, finish.functions, sizeof *finish.own);
    finish.inclusive = zeroed(build, finish.functions, sizeof *finish.inclusive);
    finish.pairs = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    callgrind_find_only(&finish, names);
    for (uint32_t i = 0; i < finish.functions; i++) {
        callgrind_step(&finish, i);
        finish.context[i] = exists(&finish, i) ? pf_build_enter(build, PF_NO_CONTEXT, i) : PF_NO_CONTEXT;
    }
    callgrind_add_rows(&finish);
    qsort(finish.calls, finish.n_calls, sizeof *finish.calls, callgrind_by_key);
    if (finish.n_calls)
        list_calls(&finish);
    for (unsigned i = 0; i < callgrind->n_metrics; i++)
        warn_of_shares(&finish, i);
}
