/* SPDX-License-Identifier: MIT */
#ifndef PF_STORED_H
#define PF_STORED_H

#include "formats/kit/numbered.h"

/*
 * The rows of a table that may be more than memory holds: added while the file is read, in memory up to a limit and in an unlinked
 * file beyond, and served by one cursor, whole or restricted. Adding is for one thread; reading afterwards for all.
 */
struct pf_stored;

enum { PF_STORED_COLUMNS = 12 }; /* at most */

/* limit: bytes to hold in memory before spilling. NULL: out of memory. */
struct pf_stored *pf_stored_new(size_t columns, uint64_t limit);
void pf_stored_free(struct pf_stored *stored);

/* Cells of rows alone: a text by its number in the strings of the profile's contexts, or in others; absent for PF_NO_STRING. */
enum { PF_NAME = PF_TEXT + 1 };
static inline struct pf_cell pf_name(uint32_t number)
{
    return (struct pf_cell){.type = PF_NAME, .u = number};
}

/* Such numbers are of these strings, which the profile keeps. */
void pf_stored_names(struct pf_stored *stored, const struct pf_strings *names);

/* How many rows there are: the number of the next one. */
uint64_t pf_stored_count(const struct pf_stored *stored);

/* Appends a row. Other text, of up to 16 MB, and wide integers are copied. 0, or -1 with *error filled; so does the next. */
int pf_stored_add(struct pf_stored *stored, const struct pf_cell *cells, struct pf_error *error);

/* Changes a cell of a row to another number. */
int pf_stored_set(struct pf_stored *stored, uint64_t row, size_t column, struct pf_cell number,
                  struct pf_error *error);

/*
 * The cursor of a table whose `data` is the address of a struct pf_stored *. A table that has
 * the flag PF_SEEKS_PARTITION has the partition as its first column, and its rows were added in the order of that.
 */
extern const struct pf_numbered pf_stored_cursor;

#endif
