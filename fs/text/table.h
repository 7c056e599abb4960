/* SPDX-License-Identifier: MIT */
#ifndef PF_TABLE_H
#define PF_TABLE_H

#include "formats/driver.h"
#include "fs/text/walk.h"

/*
 * A driver's table as CSV: the whole table, or the rows of one partition, context, metric or key, without the columns of that item,
 * which are equal in all of its rows.
 */
struct pf_table_slice {
    const struct pf_table *table;
    struct pf_restriction only;
};

/* Returns a walk over the slice's lines, header first. Borrows the model; freed by ops->close. NULL with *error filled. */
struct pf_walk *pf_table_walk(struct pf_model *model, const struct pf_table_slice *slice,
                              struct pf_error *error);

/* Returns the cursor operations of a table: the driver's, or this module's for a table held in pf_rows. */
const struct pf_cursor_ops *pf_table_ops(const struct pf_table *table);

/* Return the first column with a role or with a name; -1 if the table has no such column. */
int pf_table_column(const struct pf_table *table, enum pf_role role);
int pf_table_column_named(const struct pf_table *table, const char *name);

static inline bool pf_table_has(const struct pf_table *table, enum pf_role role)
{
    return pf_table_column(table, role) >= 0;
}

/*
 * Size of a row in bytes, computed without rendering. `full` is the size of the row's line in the whole table; in the folder of a
 * partition or a context, the line is shorter by `partition` or `context` bytes.
 */
struct pf_row_size {
    uint64_t full, partition, context;
    int64_t partition_index, context_index; /* -1: none */
};

/* A walk that measures all rows of a table, or of one partition (-1: all). Not thread-safe: one thread per walk. */
struct pf_measure;
struct pf_measure *pf_measure_new(struct pf_model *model, const struct pf_table *table, int64_t partition,
                                  struct pf_error *error);
/* Sets *size to the next row's size. Returns 1; 0 at the end; -1 with *error filled. */
int pf_measure_next(struct pf_measure *measure, struct pf_row_size *size, struct pf_error *error);
/* Saves the position of the next row as pf_walk_ops.save does, so that a walk over the table can restore it. */
size_t pf_measure_save(const struct pf_measure *measure, void *saved, size_t room);
/* Returns the share of the table that has been measured, from 0 to 1; 0 if the cursor has no progress operation. */
double pf_measure_progress(const struct pf_measure *measure);
void pf_measure_free(struct pf_measure *measure);

/* Returns the header line's size, with both indices -1. */
struct pf_row_size pf_header_size(const struct pf_table *table);

#endif
