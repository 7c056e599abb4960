/* SPDX-License-Identifier: MIT */
#ifndef PF_IDS_H
#define PF_IDS_H

#include "formats/kit/error.h"
#include "formats/kit/table.h"

/*
 * From the ids of a file, which may be any numbers in any order but mostly are small ones, to small numbers of ours. All zero is
 * empty. Adding is for one thread; once that is over, any may look.
 */
struct pf_ids {
    uint32_t *small; /* owned: by id, number + 1, for ids that are no larger than such an array may be */
    size_t room;     /* ids that there is room for */
    uint32_t count;
    struct pf_map large; /* the others: id -> number + 1 */
    uint32_t
        settled; /* how many ids there were when these were last moved to the array as far as it may go */
};

#define PF_NO_ID UINT32_MAX

/* 1: added; 0: the id was there and keeps its number; -1: *error filled. number is less than PF_NO_ID. */
int pf_ids_add(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error);

/* The same, but the later number takes the earlier one's place. 0, or -1 with *error filled. */
int pf_ids_set(struct pf_ids *ids, uint64_t id, uint32_t number, struct pf_error *error);

/* The id's number, or PF_NO_ID. */
static inline uint32_t pf_ids_find(const struct pf_ids *ids, uint64_t id)
{
    uint32_t found = id < ids->room ? ids->small[id] : 0;
    return (found || !ids->large.count ? found : (uint32_t)(uintptr_t)pf_map_get(&ids->large, id)) - 1;
}

void pf_ids_free(struct pf_ids *ids);

#endif
