/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/reader.h"

#include <stdlib.h>
#include <string.h>

/* What stands for a name that several functions with an fn= of their own have, where that of the only one would. */
#define SEVERAL (CALLGRIND_NOBODY - 1)

static struct pf_frame frame_of(const struct callgrind_reader *reader, uint32_t function)
{
    struct pf_frame frame;
    memcpy(&frame, pf_interned(reader->state->samples.frames, function).text, sizeof frame);
    return frame;
}

static bool is_defined(const struct callgrind_reader *reader, uint32_t function)
{
    return function < reader->defined_room && reader->defined[function];
}

static void find_only(const struct callgrind_reader *reader, uint32_t functions, uint32_t *only,
                      uint32_t names)
{
    for (uint32_t i = 0; i < names; i++)
        only[i] = CALLGRIND_NOBODY;
    for (uint32_t i = 0; i < functions; i++) {
        uint32_t *place = &only[frame_of(reader, i).name];
        if (is_defined(reader, i))
            *place = *place == CALLGRIND_NOBODY ? i : SEVERAL;
    }
}

/*
 * Where old xdebug names no file of a callee, this one seems to be in the caller's. If there is no such function, the only one
 * of its name is meant.
 */
static uint32_t callee_of(const struct callgrind_reader *reader, const uint32_t *only, uint32_t callee)
{
    uint32_t other = is_defined(reader, callee) ? SEVERAL : only[frame_of(reader, callee).name];
    return other < SEVERAL ? other : callee;
}

static struct pf_cell number_cell(const pf_int128 *number)
{
    return *number >= INT64_MIN && *number <= INT64_MAX ? pf_int((int64_t)*number) : pf_wide(number);
}

/* Functions become contexts of the same numbers. */
static int add_contexts(struct callgrind_reader *reader, uint32_t functions)
{
    for (uint32_t i = 0; i < functions; i++)
        if (pf_samples_enter(reader->profile, PF_NO_CONTEXT, i, reader->error) == PF_NO_CONTEXT)
            return -1;
    return 0;
}

static int add_value(struct callgrind_reader *reader, const struct callgrind_key *key, int metric,
                     const pf_int128 *value)
{
    if (*value)
        reader->state->samples.metrics[metric].empty = false;
    return pf_samples_add(reader->profile, key->thread, key->caller, (uint32_t)metric, number_cell(value),
                          reader->error);
}

/*
 * A function's inclusive value is what it has itself and what its calls of others cost. Of several that have one name it is not
 * told: some hold each other (valgrind has two `(below main)`, one inside the other), and by name they are added up. One that
 * only holds something has an exclusive value, 0, all the same.
 */
static int add_values(struct callgrind_reader *reader, const struct callgrind_key *key,
                      const pf_int128 *costs, bool inclusive)
{
    static const pf_int128 nothing = 0;
    for (unsigned i = 0; i < reader->n_metrics; i++) {
        int metric = reader->exclusive[i], partner = reader->state->samples.metrics[metric].partner;
        bool held = inclusive && partner != PF_NO_PARTNER;
        if (costs[i] && ((key->callee == CALLGRIND_NOBODY && add_value(reader, key, metric, &costs[i])) ||
                         (held && (add_value(reader, key, metric, &nothing) ||
                                   add_value(reader, key, partner, &costs[i])))))
            return -1;
    }
    return 0;
}

/* A pair of functions of which one calls the other in a thread. */
struct call {
    struct callgrind_key key;
    uint32_t pair; /* of their names */
    const pf_int128 *costs;
};

struct calls {
    struct call *items;
    size_t n;
    struct pf_strings *pairs; /* bytes of two numbers of names */
    uint64_t *used; /* by pair: bits of the metrics that are not 0 in some call of one by the other */
};

static int add_call(struct callgrind_reader *reader, struct calls *calls, const struct callgrind_key *key,
                    const pf_int128 *costs)
{
    uint32_t names[] = {frame_of(reader, key->caller).name, frame_of(reader, key->callee).name};
    uint32_t pair = pf_intern(calls->pairs, (const char *)names, sizeof names, reader->error);
    if (pair == PF_NO_STRING)
        return -1;
    for (unsigned i = 0; i < reader->n_metrics; i++)
        calls->used[pair] |= (uint64_t)(i == 0 || costs[1 + i]) << i;
    calls->items[calls->n++] = (struct call){*key, pair, costs};
    return 0;
}

static int add_rows(struct callgrind_reader *reader, const uint32_t *only, struct calls *calls)
{
    for (uint32_t i = 0; i < pf_strings_count(reader->keys); i++) {
        struct callgrind_key key;
        const pf_int128 *costs = reader->costs + i * reader->stride;
        memcpy(&key, pf_interned(reader->keys, i).text, sizeof key);
        if (key.callee != CALLGRIND_NOBODY)
            key.callee = callee_of(reader, only, key.callee);
        bool inclusive = key.callee != key.caller && only[frame_of(reader, key.caller).name] == key.caller;
        if (add_values(reader, &key, costs + 1, inclusive) ||
            (key.callee != CALLGRIND_NOBODY && add_call(reader, calls, &key, costs)))
            return -1;
    }
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    const uint32_t left[] = {x->key.thread, x->key.caller, x->key.callee};
    const uint32_t right[] = {y->key.thread, y->key.caller, y->key.callee};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return (x->costs > y->costs) - (x->costs < y->costs); /* in the order of the file */
}

/*
 * The table has a row of the first metric, and of others that are not 0 for all calls between functions of these names: so that
 * counts can be added up by name.
 */
static int list_calls(struct callgrind_reader *reader, const struct calls *calls)
{
    const struct pf_tree *tree = reader->profile->contexts;
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->items[i];
        for (unsigned m = 0; m < reader->n_metrics; m++) {
            struct pf_cell cells[CALLGRIND_COLUMNS] = {
                [CALLGRIND_THREAD] = pf_int(call->key.thread),
                [CALLGRIND_CONTEXT] = pf_int(call->key.caller),
                [CALLGRIND_METRIC] = pf_int(reader->exclusive[m]),
                [CALLGRIND_COUNT] = number_cell(&call->costs[0]),
                [CALLGRIND_INCLUSIVE] = number_cell(&call->costs[1 + m]),
                [CALLGRIND_CALLER] = pf_interned(tree->strings, tree->name[call->key.caller]),
                [CALLGRIND_CALLEE] = pf_interned(tree->strings, tree->name[call->key.callee]),
            };
            if (calls->used[call->pair] >> m & 1 &&
                pf_rows_add(reader->state->samples.rows[0], cells, reader->error))
                return -1;
        }
    }
    return 0;
}

/* ---- shares ------------------------------------------------------------------------------------- */

/* What is added up by function, over all threads. */
struct shares {
    pf_int128 *own, *held;
    pf_int128 total;
};

static void add_shares(const struct callgrind_reader *reader, const struct calls *calls, unsigned metric,
                       struct shares *shares)
{
    for (uint32_t i = 0; i < pf_strings_count(reader->keys); i++) {
        struct callgrind_key key;
        pf_int128 cost = reader->costs[i * reader->stride + 1 + metric];
        memcpy(&key, pf_interned(reader->keys, i).text, sizeof key);
        if (key.callee != CALLGRIND_NOBODY)
            continue;
        shares->own[key.caller] += cost;
        shares->held[key.caller] += cost;
        shares->total += cost;
    }
    for (size_t i = 0; i < calls->n; i++)
        if (calls->items[i].key.caller != calls->items[i].key.callee)
            shares->held[calls->items[i].key.caller] += calls->items[i].costs[1 + metric];
}

static bool exceeds(pf_int128 part, pf_int128 total)
{
    return total > 0 ? part > total : part < total;
}

/* Costs may be negative, functions may call each other in circles, and what calls cost may be told beside what they are of. */
static int warn_of_shares(struct callgrind_reader *reader, const struct calls *calls, unsigned metric,
                          uint32_t functions)
{
    struct shares shares = {.own = calloc((size_t)functions + 1, sizeof *shares.own),
                            .held = calloc((size_t)functions + 1, sizeof *shares.held)};
    bool enough = shares.own && shares.held, over = false;
    if (enough)
        add_shares(reader, calls, metric, &shares);
    for (uint32_t i = 0; i < functions && enough && !over; i++)
        over = exceeds(shares.own[i], shares.total) || exceeds(shares.held[i], shares.total);
    free(shares.own);
    free(shares.held);
    if (!enough)
        return pf_fail_memory(reader->error);
    return !over ? 0
                 : pf_warn(reader->profile, 0, -1, "warning", "shares", reader->error,
                           "some functions have or hold more %.80s than all functions have themselves: "
                           "shares may exceed 100 %%",
                           reader->state->samples.metrics[reader->exclusive[metric]].name);
}

int callgrind_finish(struct callgrind_reader *reader)
{
    uint32_t functions = pf_strings_count(reader->state->samples.frames);
    uint32_t names = pf_strings_count(reader->profile->contexts->strings);
    size_t rows = (size_t)pf_strings_count(reader->keys) + 1;
    uint32_t *only = malloc(((size_t)names + 1) * sizeof *only);
    struct calls calls = {.items = calloc(rows, sizeof *calls.items),
                          .pairs = pf_strings_new(),
                          .used = calloc(rows, sizeof *calls.used)};
    int failed = -1;
    if (!only || !calls.items || !calls.pairs || !calls.used) {
        pf_fail_memory(reader->error);
    } else {
        find_only(reader, functions, only, names);
        failed = add_contexts(reader, functions) || add_rows(reader, only, &calls);
    }
    free(only);
    if (!failed) {
        qsort(calls.items, calls.n, sizeof *calls.items, by_key);
        failed = calls.n ? list_calls(reader, &calls) : 0;
        for (unsigned i = 0; i < reader->n_metrics && !failed; i++)
            failed = warn_of_shares(reader, &calls, i, functions);
    }
    free(calls.items);
    pf_strings_free(calls.pairs);
    free(calls.used);
    return failed ? -1 : 0;
}
