/* SPDX-License-Identifier: MIT */
#include "formats/xray/lists.h"

#include <errno.h>
#include <stdlib.h>

int xray_lists_init(struct xray_lists *lists, size_t threads, struct pf_error *error)
{
    enum { LISTS_LIMIT = 4 * 1024 * 1024 }; /* bytes held in memory before they go to a file */
    *lists = (struct xray_lists){.items = calloc(threads + 1, sizeof *lists->items),
                                 .store = pf_store_new(LISTS_LIMIT),
                                 .room = threads};
    return lists->items && lists->store ? 0 : pf_fail_memory(error);
}

void xray_lists_free(struct xray_lists *lists)
{
    pf_store_free(lists->store);
    free(lists->items);
    *lists = (struct xray_lists){0};
}

int xray_lists_add(struct xray_lists *lists, const struct xray_function *functions, uint32_t count,
                   struct pf_error *error)
{
    if (lists->count == lists->room)
        return pf_fail(error, EINVAL, "more threads than there were");
    uint64_t first = pf_store_size(lists->store) / sizeof *functions;
    if (count && pf_store_append(lists->store, functions, count * sizeof *functions, error))
        return -1;
    lists->items[lists->count++] = (struct xray_list){.first = first, .count = count};
    return 0;
}

int xray_lists_get(const struct xray_lists *lists, size_t thread, struct xray_function *functions,
                   struct pf_error *error)
{
    const struct xray_list *list = &lists->items[thread];
    size_t size = sizeof *functions;
    return list->count ? pf_store_read(lists->store, list->first * size, functions, list->count * size, error)
                       : 0;
}

int xray_lists_set(struct xray_lists *lists, size_t thread, const struct xray_function *functions,
                   struct pf_error *error)
{
    const struct xray_list *list = &lists->items[thread];
    size_t size = sizeof *functions;
    return list->count
               ? pf_store_write(lists->store, list->first * size, functions, list->count * size, error)
               : 0;
}

int xray_lists_at(const struct xray_lists *lists, size_t thread, uint32_t i, struct xray_function *function,
                  struct pf_error *error)
{
    uint64_t at = lists->items[thread].first + i;
    return pf_store_read(lists->store, at * sizeof *function, function, sizeof *function, error);
}
