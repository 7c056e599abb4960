/* SPDX-License-Identifier: MIT */
#ifndef PF_STORED_H
#define PF_STORED_H

#include "formats/runtime/numbered.h"

/*
 * The rows of a table that may exceed memory. They are added while the file is read, and are in memory up to a limit and in an unlinked
 * file beyond it. A cursor serves all rows, or those that match a restriction. One thread adds; then any number of threads may read.
 */
struct pf_stored;

enum { PF_STORED_COLUMNS = 16 }; /* maximum */

/* limit: bytes in memory before spilling. NULL: out of memory. */
struct pf_stored *pf_stored_new(size_t columns, uint64_t limit);
void pf_stored_free(struct pf_stored *stored);

/* A cell for pf_stored_add only: the number of a text in the strings of the profile's contexts, or in the strings set by
 * pf_stored_names; absent for PF_NO_STRING. */
enum { PF_NAME = PF_TEXT + 1 };
static inline struct pf_cell pf_name(uint32_t number)
{
    return (struct pf_cell){.type = PF_NAME, .u = number};
}

/* Sets the strings that pf_name cells refer to (borrowed). */
void pf_stored_names(struct pf_stored *stored, const struct pf_strings *names);

/* The number of rows. Rows are numbered from 0, so this is also the number of the next row. */
uint64_t pf_stored_count(const struct pf_stored *stored);

/*
 * Appends a row. Wide integers, and text other than pf_name cells, are copied; text is truncated to 16 MB. Returns 0,
 * or -1 with *error filled and no row added; a later call can succeed.
 */
int pf_stored_add(struct pf_stored *stored, const struct pf_cell *cells, struct pf_error *error);

/* Replaces a cell of a row by a number of up to 64 bits. Returns 0, or -1 with *error filled. */
int pf_stored_set(struct pf_stored *stored, uint64_t row, size_t column, struct pf_cell number,
                  struct pf_error *error);

/*
 * The cursor of a table whose `data` is the address of a struct pf_stored *. If the table has the flag
 * PF_SEEKS_PARTITION, its first column must be the partition, and its rows must have been added in the order of
 * partitions.
 */
extern const struct pf_numbered pf_stored_cursor;

#endif
