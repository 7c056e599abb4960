/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_SUMS_H
#define PF_NSIGHT_SUMS_H

#include "formats/nsight/nsight.h"

/*
 * What calls and activities of one call path and one name come to: the tables api, kernels, memcpy, memset and
 * sync. In memory: one entry a path and name.
 */
struct nsight_sums {
    struct nsight_keys keys; /* table, context, name */
    struct nsight_entry *entries;
    size_t room;
};

/* Adds one. context: of the call path, or PF_NO_CONTEXT; name: in `strings`, or PF_NO_STRING; times in ns. */
int nsight_sums_add(struct nsight_sums *sums, enum nsight_sum table, uint32_t context, uint32_t name,
                    int64_t duration, int64_t bytes, struct pf_error *error);

/* Makes the tables, by context (rows without one first) and name. NSIGHT_SUMS of them. -1 with *error filled, and none
 * is made. */
int nsight_sums_publish(const struct nsight_sums *sums, const struct pf_strings *strings,
                        struct pf_rows *tables[NSIGHT_SUMS], struct pf_error *error);
void nsight_sums_free(struct nsight_sums *sums);

/* Their names and columns. */
extern const char *const nsight_sum_names[NSIGHT_SUMS];
extern const struct pf_column *const nsight_sum_columns[NSIGHT_SUMS];
extern const size_t nsight_sum_widths[NSIGHT_SUMS];

#endif
