/* SPDX-License-Identifier: MIT */
#ifndef PF_LINE_SUMS_H
#define PF_LINE_SUMS_H

#include "formats/runtime/build.h"

/*
 * Values by source line, for formats whose lines are not contexts: adds up exclusive values by metric, function name, file and line
 * over all partitions, in bounded memory, and makes the rows of the table "lines" (metric, value, line, name, file).
 */
struct pf_line_sums;

/* A line of a function; 0: no line is known, name and file do not count then. */
struct pf_source_line {
    uint32_t name, file; /* numbers of names; PF_NO_STRING: none */
    uint32_t line;
};

enum { PF_LINE_COLUMNS = 5 };
extern const struct pf_column pf_line_columns[PF_LINE_COLUMNS];

/* The table, for struct pf_build_format. */
#define PF_LINE_TABLE                                                                                        \
    {                                                                                                        \
        .name = "lines", .columns = pf_line_columns, .n_columns = PF_LINE_COLUMNS, .stage = PF_MODELLED,     \
        .ops = &pf_stored_cursor.ops                                                                         \
    }

/* The sums of a pass, freed at its end. */
struct pf_line_sums *pf_line_sums_new(struct pf_build *build);

void pf_line_sums_add(struct pf_line_sums *sums, const struct pf_source_line *where, uint32_t metric,
                      pf_int128 value);

/*
 * Adds the rows of table `table` of the format, once all values are added: by metric, name and file in the order of their first
 * appearance among the profile's names, and line; values without a line are the last row of their metric. Sums of 0 have no row.
 */
void pf_line_sums_end(struct pf_line_sums *sums, size_t table);

#endif
