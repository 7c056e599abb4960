/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_IDMAP_H
#define PF_HPC_IDMAP_H

#include <stdint.h>

#include "formats/error.h"

/*
 * From the ids of a database, which may be any numbers in any order, to small numbers of ours. All zero is
 * empty. Adding is for one thread; once that is over, any may look.
 */
struct hpc_idmap {
    struct hpc_idmap_slot *slots; /* open addressing */
    uint64_t mask, count;
};

#define HPC_NO_NUMBER UINT32_MAX

/* 1: added; 0: the id was there and keeps its number; -1: *error filled. number is not HPC_NO_NUMBER. */
int hpc_idmap_add(struct hpc_idmap *map, uint64_t id, uint32_t number, struct pf_error *error);

/* The id's number, or HPC_NO_NUMBER. */
uint32_t hpc_idmap_find(const struct hpc_idmap *map, uint64_t id);

void hpc_idmap_free(struct hpc_idmap *map);

#endif
