/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_IDENTITY_H
#define PF_HPC_IDENTITY_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * Who a thread is: a tuple of elements from the outermost (the node) to the innermost (a thread, a stream). Names
 * are made of them once all are known: as short as they can be and still differ, `rank3.thread0`.
 */
struct hpc_identities {
    struct hpc_identity *elements;
    size_t n_elements, room;
    struct hpc_tuple {
        size_t first; /* in elements */
        uint32_t count;
        uint32_t profile; /* index in the database */
    } * tuples;           /* of thread i */
    size_t n_tuples, tuples_room;
};

/* Columns of the threads' table after id and name. */
enum {
    HPC_FIELD_NODE,
    HPC_FIELD_RANK,
    HPC_FIELD_TID,
    HPC_FIELD_CORE,
    HPC_FIELD_DEVICE,
    HPC_FIELD_CONTEXT,
    HPC_FIELD_STREAM,
    HPC_FIELD_VALUES,
    HPC_FIELD_CONTEXTS,
    HPC_FIELDS
};
extern const struct pf_column hpc_field_columns[HPC_FIELDS];

/* Begins the next thread. 0, or -1 with *error filled, as the next one. */
int hpc_identities_add(struct hpc_identities *all, uint32_t profile, struct pf_error *error);
/* Adds an element to the thread begun last. */
int hpc_identities_element(struct hpc_identities *all, const struct hpc_identity *element,
                           struct pf_error *error);
void hpc_identities_free(struct hpc_identities *all);

/* Appends (id, name) of all threads to `items`, and their fields to `fields`. */
int hpc_identities_publish(const struct hpc_identities *all, const struct hpc_state *state,
                           struct pf_rows *items, struct pf_rows *fields, struct pf_error *error);

#endif
