/* SPDX-License-Identifier: MIT */
#include "formats/xray/tallies.h"

#include <stdlib.h>

#include "formats/kit/array.h"

void xray_tallies_free(struct xray_tallies *tallies)
{
    free(tallies->items);
    free(tallies->touched);
    free(tallies->list);
    *tallies = (struct xray_tallies){0};
}

static int grow(struct xray_tallies *tallies, struct pf_error *error)
{
    size_t room = tallies->room ? tallies->room * 2 : 256;
    if (pf_array_resize(&tallies->items, room, sizeof *tallies->items, error) ||
        pf_array_resize(&tallies->touched, room, sizeof *tallies->touched, error) ||
        pf_array_resize(&tallies->list, room, sizeof *tallies->list, error))
        return -1;
    tallies->room = room;
    return 0;
}

int xray_tallies_reach(struct xray_tallies *tallies, uint32_t number, struct pf_error *error)
{
    static const struct xray_tally_pair none = {.thread = {.min = UINT64_MAX}, .all = {.min = UINT64_MAX}};
    while (tallies->room <= number)
        if (grow(tallies, error))
            return -1;
    for (; tallies->count <= number; tallies->count++)
        tallies->items[tallies->count] = none;
    return 0;
}

static struct xray_function function_of(uint32_t id, const struct xray_tally *tally)
{
    return (struct xray_function){
        .id = id, .count = tally->count, .min = tally->min, .max = tally->max, .sum = tally->sum};
}

static int by_id(const void *left, const void *right)
{
    const struct xray_function *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

int xray_tallies_end_thread(struct xray_tallies *tallies, const struct xray_functions *seen,
                            struct xray_lists *lists, struct pf_error *error)
{
    uint32_t n = tallies->n_touched;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = tallies->touched[i];
        struct xray_tally_pair *item = &tallies->items[number];
        tallies->list[i] = function_of(seen->seen[number].id, &item->thread);
        xray_tally_add(&item->all, &item->thread);
        item->thread = (struct xray_tally){.min = UINT64_MAX};
    }
    tallies->n_touched = 0;
    if (n)
        qsort(tallies->list, n, sizeof *tallies->list, by_id);
    return xray_lists_add(lists, tallies->list, n, error);
}

struct xray_function *xray_tallies_all(const struct xray_tallies *tallies, const struct xray_functions *seen,
                                       uint32_t *count, struct pf_error *error)
{
    struct xray_function *functions = calloc(tallies->count + 1, sizeof *functions);
    if (!functions) {
        pf_fail_memory(error);
        return NULL;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < tallies->count; i++)
        if (tallies->items[i].all.count)
            functions[n++] = function_of(seen->seen[i].id, &tallies->items[i].all);
    qsort(functions, n, sizeof *functions, by_id);
    *count = n;
    return functions;
}
