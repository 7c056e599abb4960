/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_LABELS_H
#define PF_PPROF_LABELS_H

#include "formats/kit/numbered.h"

/*
 * The table labels.csv: what the samples of each label add up to. Some writers give each sample a time of its own, so labels may
 * be as many as samples: their sums are sorted and stored beyond memory.
 */
struct pprof_labels;

/* Names; PF_NO_STRING: none. A label has a text or a number. */
struct pprof_label {
    uint32_t key, text, unit;
    int64_t number;
};

/* limit: bytes to hold in memory. NULL: out of memory. */
struct pprof_labels *pprof_labels_new(uint64_t limit);
void pprof_labels_free(struct pprof_labels *labels);

/* Adds a value of a sample with this label. 0, or -1 with *error filled; so does the next. */
int pprof_labels_add(struct pprof_labels *labels, const struct pprof_label *label, uint32_t thread,
                     uint32_t metric, int64_t value, struct pf_error *error);

/* Once all are added. */
int pprof_labels_finish(struct pprof_labels *labels, struct pf_error *error);

/* The text of a label, or its number as digits, for which there is room. */
struct pf_cell pprof_label_value(const struct pf_profile *profile, const struct pprof_label *label,
                                 char *digits);

/* The table. The labels are the profile's `state` plus `table->user` bytes: a struct pprof_labels *. */
enum { PPROF_LABEL_COLUMNS = 6 };
extern const struct pf_column pprof_label_columns[PPROF_LABEL_COLUMNS];
extern const struct pf_numbered pprof_label_cursor;

#endif
