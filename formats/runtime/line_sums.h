/* SPDX-License-Identifier: MIT */
#ifndef PF_LINE_SUMS_H
#define PF_LINE_SUMS_H

#include "formats/runtime/build.h"

/*
 * Values by source line, for formats in which lines are not contexts. Sums exclusive values by metric, function name, file and line over
 * all partitions, in bounded memory (an external sort), and makes the rows of the table "lines" (metric, value, line, name, file).
 * The functions run in build->run and end it on failure (run.h).
 */
struct pf_line_sums;

/* A line of a function. If `line` is 0, the line is unknown, and name and file are ignored. */
struct pf_source_line {
    uint32_t name, file; /* numbers of names; PF_NO_STRING: none */
    uint32_t line;
};

enum { PF_LINE_COLUMNS = 5 };
extern const struct pf_column pf_line_columns[PF_LINE_COLUMNS];

/* Initialises the table "lines" in the tables of a struct pf_build_format. */
#define PF_LINE_TABLE                                                                                        \
    {                                                                                                        \
        .name = "lines", .columns = pf_line_columns, .n_columns = PF_LINE_COLUMNS, .stage = PF_MODELLED,     \
        .ops = &pf_stored_cursor.ops                                                                         \
    }

/* Returns empty sums, which the end of the run frees. */
struct pf_line_sums *pf_line_sums_new(struct pf_build *build);

/* Adds a value of a metric to a line; 0 is a no-op. */
void pf_line_sums_add(struct pf_line_sums *sums, const struct pf_source_line *where, uint32_t metric,
                      pf_int128 value);

/*
 * Adds the rows to the format's own table number `table`, after all values have been added. Rows are sorted by metric, name, file and
 * line, where names and files compare by number, not as text. Values without a line are the last row of their metric. Sums of 0 are left
 * out.
 */
void pf_line_sums_end(struct pf_line_sums *sums, size_t table);

#endif
