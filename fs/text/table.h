/* SPDX-License-Identifier: MIT */
#ifndef PF_TABLE_H
#define PF_TABLE_H

#include "formats/driver.h"
#include "fs/text/lines.h"

/*
 * A driver's table as CSV: the whole of it, or restricted to one item of an axis and without the columns that
 * this fixes: the item and what belongs to it.
 */
struct pf_slice {
    const struct pf_table *table;
    struct pf_restriction only;
};

/* A walk over the slice's lines, header first. Borrows the profile; freed by its close. NULL with *error
 * filled. */
struct pf_lines *pf_table_lines(struct pf_model *model, const struct pf_slice *slice,
                                struct pf_error *error);

/* The cursor operations of a table, also for one that is held in rows. */
const struct pf_cursor_ops *pf_table_ops(const struct pf_table *table);

/* The first column of a role, or of a name; -1 if the table has none. */
int pf_table_column(const struct pf_table *table, enum pf_role role);
int pf_table_column_named(const struct pf_table *table, const char *name);

static inline bool pf_table_has(const struct pf_table *table, enum pf_role role)
{
    return pf_table_column(table, role) >= 0;
}

/*
 * How long rows are, without making them. `full` is the row's line in the whole table; `partition` and
 * `context` are how much shorter it is without the columns that such a folder fixes.
 */
struct pf_row_size {
    uint64_t full, partition, context;
    int64_t partition_index, context_index; /* -1: none */
};

/* A walk for measuring all of a table (or one partition of it). Thread-safe as cursors are. */
struct pf_measure;
struct pf_measure *pf_measure_new(struct pf_model *model, const struct pf_table *table, int64_t partition,
                                  struct pf_error *error);
/* 1: *size is the next row's; 0: no more; -1: *error filled. */
int pf_measure_next(struct pf_measure *measure, struct pf_row_size *size, struct pf_error *error);
/* The position of the next row, as pf_lines_ops.save of this table's walks gives it. */
size_t pf_measure_save(const struct pf_measure *measure, void *blob, size_t room);
/* How much is behind it, from 0 to 1; 0 if the table can't tell. */
double pf_measure_progress(const struct pf_measure *measure);
void pf_measure_free(struct pf_measure *measure);

/* The header line's sizes, as for a row. */
struct pf_row_size pf_header_size(const struct pf_table *table);

#endif
