/* SPDX-License-Identifier: MIT */
#ifndef PF_PAGE_H
#define PF_PAGE_H

#include "fs/sums/aggregate.h"

/* The sections of summary.md that are made from the aggregate: the hottest functions, the hot path, callers, and balance. */

/* The maximum length of texts from the profile, in bytes. */
struct pf_page_limits {
    size_t name;  /* of functions, of the metric */
    size_t where; /* FILE:LINE */
    size_t text;  /* of titles, warnings, partitions */
};

/* What the sections show, gathered once: the page may have to be printed again with smaller limits. */
struct pf_page;

/* Borrows the aggregate, which is of all metrics or of this one and its partner. NULL with *error filled. */
struct pf_page *pf_page_new(struct pf_aggregate *aggregate, unsigned metric, struct pf_error *error);
void pf_page_free(struct pf_page *page);

/* Appends the line `Total`; or, if the metric does not add up, an empty line and one that says so. */
void pf_page_add_total(const struct pf_page *page, struct pf_buf *out);

/* Appends the sections that are not empty, each with an empty line before it. */
void pf_page_add_sections(const struct pf_page *page, const struct pf_page_limits *limits,
                          struct pf_buf *out);

/* Appends text as a Markdown code span. In a table, `|` is escaped. Text that is empty is shown as [unnamed]. */
void pf_add_code(struct pf_buf *out, const char *text, size_t size, bool in_table);

/* Appends text on one line, cut to `most` bytes. */
void pf_add_cut(struct pf_buf *out, const char *text, size_t most);

/* Appends a cell on one line, cut to `most` bytes, as a code span. */
void pf_add_code_cell(struct pf_buf *out, const struct pf_cell *cell, size_t most, bool in_table);

#endif
