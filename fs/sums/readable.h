/* SPDX-License-Identifier: MIT */
#ifndef PF_READABLE_H
#define PF_READABLE_H

#include "fs/sums/aggregate.h"
#include "fs/sums/number.h"

/*
 * Prints numbers, shares and names for the human-readable texts: hot.txt, tree.txt, bottom_up.txt, summary.md,
 * callgraph.dot.
 *
 * The print functions write to `out`, which must have room for PF_NUMBER_MAX bytes (print.h), and return the end of the
 * written text; they do not terminate it. The add functions append to a buffer. None of them keeps state.
 */

/* Prints an integer exactly; a double with six significant digits or, from 10^5 to 10^15, as a rounded integer. */
char *pf_print_rounded(char *out, const union pf_number *number, bool real);

/* Returns the larger of a width and the length of a number as printed by pf_print_rounded. */
size_t pf_wider(size_t width, const union pf_number *number, bool real);

/* Append text, a number, or `part` in percent of `whole`, right-aligned in a column of `width` bytes. */
void pf_add_right(struct pf_buf *out, const char *text, size_t size, size_t width);
void pf_add_number(struct pf_buf *out, const union pf_number *number, bool real, size_t width);
void pf_add_percent(struct pf_buf *out, double part, double whole, size_t width);
enum { PF_PERCENT_WIDTH = 7 }; /* of "999.99%" */

/* Appends an inclusive value and its share of `whole`, separated by `blanks` blanks. Appends dashes if the value is `unknown`. */
void pf_add_inclusive(struct pf_buf *out, const union pf_number *number, bool real, bool unknown,
                      double whole, size_t width, size_t blanks);

/* Appends a name on one line, escaped as in CSV but never quoted. */
void pf_add_name(struct pf_buf *out, const struct pf_cell *name);

/* Truncates the text after offset `from` to `most` bytes, "..." included, at a character boundary. Returns the new size of
 * that text. */
size_t pf_cut_end(struct pf_buf *buf, size_t from, size_t most);

/* Truncates the text at the front to `most` bytes, "..." included, at a character boundary. Returns the offset in the buffer
 * where the truncated text begins. */
size_t pf_cut_front(struct pf_buf *buf, size_t most);

/* Appends a number and, if the metric has one, its unit. */
void pf_add_with_unit(struct pf_buf *out, const struct pf_metric *metric, const union pf_number *number,
                      bool real);

/* If the metric does not add up, appends a line that states this and returns true: the line is then the file's whole text. */
bool pf_add_sums_missing(struct pf_buf *out, const struct pf_model *model, unsigned metric);

/* Appends "24630000000 ns (24.63 s) total\n": the total of `total_metric` (see pf_totals.metric), in the unit of `metric`
 * and in a readable unit. */
void pf_add_total_line(struct pf_buf *out, const struct pf_aggregate *aggregate, unsigned metric,
                       unsigned total_metric);

#endif
