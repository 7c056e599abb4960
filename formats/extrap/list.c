/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/study.h"

/* Maximum bytes of a list that are held in memory. The rest is spilled. */
#define LIST_HELD ((uint64_t)16 << 20)

struct pf_list pf_list_new(struct pf_run *run, size_t item)
{
    return (struct pf_list){.store = pf_run_memory(run, pf_store_new(LIST_HELD)), .item = item};
}

void pf_list_free(struct pf_list *list)
{
    pf_store_free(list->store);
    free(list->runs);
    *list = (struct pf_list){0};
}

int pf_list_read(const struct pf_list *list, struct pf_store_window *window, uint64_t number, void *item,
                 struct pf_error *error)
{
    const void *bytes = pf_store_at(window, number * list->item, list->item, error);
    if (bytes)
        memcpy(item, bytes, list->item);
    return bytes ? 0 : -1;
}
