/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_JSON_IDS_H
#define PF_EXTRAP_JSON_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/error.h"

/* From ids of a file, whatever they are, to numbers of items. All zero: empty. */
struct pf_ids {
    struct pf_id {
        int64_t id;
        uint32_t number; /* PF_NO_ID: a free slot */
    } * slots;
    size_t room, count; /* room: a power of two */
};
#define PF_NO_ID UINT32_MAX

/* Sets the number of an id; a later one takes the place of an earlier one. 0, or -1 with *error filled. */
int pf_ids_set(struct pf_ids *ids, int64_t id, uint32_t number, struct pf_error *error);

/* The number of an id, or PF_NO_ID. */
uint32_t pf_ids_get(const struct pf_ids *ids, int64_t id);
void pf_ids_free(struct pf_ids *ids);

#endif
