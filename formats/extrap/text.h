/* SPDX-License-Identifier: MIT */
#ifndef PF_XTEXT_H
#define PF_XTEXT_H

#include "formats/extrap/columns.h"
#include "formats/extrap/experiment.h"
#include "formats/input/source.h"
#include "formats/kit/store.h"

/*
 * Extra-P text files: one pass finds the model and where each series' data stand; no value is kept. The unit
 * is a block: the DATA lines of one series between two lines that reset the counter of points (METRIC,
 * REGION). Line i of a block (DATA lines alone counted) belongs to point i.
 */
#define PF_NO_BLOCK UINT32_MAX

struct pf_xtext_block {
    uint64_t offset;          /* of its first DATA line */
    uint64_t line;            /* number of that line */
    uint64_t lines;           /* DATA lines that belong to points */
    uint64_t base;            /* repetition number of the first value of each line */
    uint32_t series;          /* in the experiment */
    uint32_t next_in_series;  /* further data of the same series, or PF_NO_BLOCK */
    uint32_t next_in_context; /* next block of any series of the context, in file order, or PF_NO_BLOCK */
};

struct pf_xtext_index {
    struct pf_experiment *experiment;
    struct pf_store *blocks; /* struct pf_xtext_block, in file order */
    uint32_t n_blocks;
};

/* The driver's state of a profile. */
struct pf_xtext {
    struct pf_input *input;
    struct pf_experiment *head;   /* big files: the parameters as the first MB has them; else NULL */
    struct pf_xtext_index *index; /* NULL before the pass */
    struct pf_experiment_tables tables;
};

/*
 * The pass over what comes before the offset `end`, in whole lines or pieces of long ones. NULL with *error
 * filled; ECANCELED if nobody waits for it any more.
 */
struct pf_xtext_index *pf_xtext_index_new(struct pf_input *input, uint64_t end, struct pf_pass *pass,
                                          struct pf_error *error);
void pf_xtext_index_free(struct pf_xtext_index *index);

/* Reads block number `i`. 0, or -1 with *error filled. */
int pf_xtext_block(const struct pf_xtext_index *index, uint32_t i, struct pf_xtext_block *block,
                   struct pf_error *error);

extern const struct pf_cursor_ops pf_xtext_values, pf_xtext_statistics;

#endif
