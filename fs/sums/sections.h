/* SPDX-License-Identifier: MIT */
#ifndef PF_SECTIONS_H
#define PF_SECTIONS_H

#include "fs/sums/aggregate.h"

/* The sections of summary.md that are made from the aggregate: hottest functions, hot path, callers, and load balance. */

/* Maximum lengths, in bytes, of texts that come from the profile. */
struct pf_section_limits {
    size_t name;  /* of functions and of the metric */
    size_t where; /* FILE:LINE */
    size_t text;  /* of titles, warnings, partitions */
};

/* The data of the sections. They are collected once, but printed again with smaller limits if summary.md is too long. */
struct pf_sections;

/* Borrows the aggregate, which must contain at least this metric and its partner. Returns NULL with *error filled on
 * failure. */
struct pf_sections *pf_sections_new(struct pf_aggregate *aggregate, unsigned metric, struct pf_error *error);
void pf_sections_free(struct pf_sections *sections);

/* Appends the line `Total` or, if the metric does not add up, an empty line and a line that states this. */
void pf_sections_add_total(const struct pf_sections *sections, struct pf_buf *out);

/* Appends the nonempty sections, each with an empty line before it. */
void pf_sections_add(const struct pf_sections *sections, const struct pf_section_limits *limits,
                     struct pf_buf *out);

/* Appends text as a Markdown code span; inside a table, `|` is escaped. Empty text becomes [unnamed]. */
void pf_add_code(struct pf_buf *out, const char *text, size_t size, bool in_table);

/* Appends text on one line, truncated to `most` bytes. */
void pf_add_cut(struct pf_buf *out, const char *text, size_t most);

/* Appends a cell on one line as a code span, truncated to `most` bytes. */
void pf_add_code_cell(struct pf_buf *out, const struct pf_cell *cell, size_t most, bool in_table);

#endif
