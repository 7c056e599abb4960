/* SPDX-License-Identifier: MIT */
#ifndef PF_EYES_H
#define PF_EYES_H

#include "fs/sums/aggregate_private.h"

/*
 * Numbers, shares and names as the texts for eyes print them: hot.txt, tree.txt, bottom_up.txt, summary.md, callgraph.dot.
 * The print functions write to `out`, which has room for PF_NUMBER_MAX bytes (print.h), and return the end of what they wrote;
 * they do not terminate it. The add functions append to a buffer. None of them keeps state.
 */

/* An integer exactly; a double with six significant digits, all digits before the point. */
char *pf_print_rounded(char *out, const union pf_number *number, bool real);

/* The larger of a width and the length of a number so printed. */
size_t pf_wider(size_t width, const union pf_number *number, bool real);

/* `part` in percent of `whole`: two decimals, none if they round to 100; two significant digits if they would round to 0. */
char *pf_print_percent(char *out, double part, double whole);

/* Appends right-aligned text to a column of `width` bytes. */
void pf_add_right(struct pf_buf *out, const char *text, size_t size, size_t width);
void pf_add_number(struct pf_buf *out, const union pf_number *number, bool real, size_t width);
void pf_add_percent(struct pf_buf *out, double part, double whole, size_t width);
enum { PF_PERCENT_WIDTH = 7 }; /* of "100.00%" */

/* Appends an inclusive value and its share of `whole`, with some blanks between; dashes if it is lacking. */
void pf_add_inclusive(struct pf_buf *out, const union pf_number *number, bool real, bool lacking,
                      double whole, size_t width, size_t blanks);

/* Appends a name on one line, escaped as in CSV but never quoted. */
void pf_add_name(struct pf_buf *out, const struct pf_cell *name);

/* Cuts what a buffer holds from `from` on to `most` bytes: whole characters and "...". Returns its new size from there. */
size_t pf_cut_end(struct pf_buf *buf, size_t from, size_t most);

/* Cuts the whole of a buffer to `most` bytes: "..." and whole characters of its end. Returns where that begins in the buffer. */
size_t pf_cut_front(struct pf_buf *buf, size_t most);

/* Appends a number and, if the metric has one, its unit. */
void pf_add_with_unit(struct pf_buf *out, const struct pf_metric *metric, const union pf_number *number,
                      bool real);

/* If the metric does not add up: appends a line that says so, which is then the whole text, and returns true. */
bool pf_add_sums_missing(struct pf_buf *out, const struct pf_model *model, unsigned metric);

/* Appends the first line of tree.txt: the total of the metric `total_of` (struct pf_totals), in the metric's unit and readable. */
void pf_add_total_line(struct pf_buf *out, const struct pf_aggregate *aggregate, unsigned metric,
                       unsigned total_of);

#endif
