/* SPDX-License-Identifier: MIT */
#include "fs/text/row.h"

/* Reserves room for a row of n numbers or short words, each with a comma. NULL: out of memory. */
static inline char *room_for(struct pf_buf *out, size_t n)
{
    return pf_buf_reserve(out, n * (PF_NUMBER_MAX + 1));
}

/* Slow path: appends a cell of any kind, and again reserves room for n cells. Returns the new end; NULL: out of memory. */
static char *add_other(const struct pf_cell *cell, size_t n, struct pf_buf *out, char *at)
{
    out->size = (size_t)(at - out->data);
    pf_csv_cell(out, cell);
    return room_for(out, n);
}

/* Copies a short text with a few fixed-size copies that may overlap, which is faster than a byte loop or a call of memcpy. */
static inline char *put_short(char *at, const char *text, size_t size)
{
    if (size >= 8) {
        for (size_t i = 0; i + 8 < size; i += 8)
            memcpy(at + i, text + i, 8);
        memcpy(at + size - 8, text + size - 8, 8);
    } else if (size >= 4) {
        memcpy(at, text, 4);
        memcpy(at + size - 4, text + size - 4, 4);
    } else if (size) {
        at[0] = text[0];
        at[size / 2] = text[size / 2];
        at[size - 1] = text[size - 1];
    }
    return at + size;
}

/*
 * Writes a cell and a comma: the hottest code of rendering. Integers and short plain words go directly into the room that was
 * reserved once for the whole row.
 */
__attribute__((always_inline)) static inline char *add_cell(const struct pf_cell *cell, size_t n,
                                                            struct pf_buf *out, char *at)
{
    if (cell->type == PF_UINT || (cell->type == PF_INT && cell->i >= 0)) {
        at = pf_print_uint(at, cell->u);
    } else if (cell->type == PF_DOUBLE) {
        at = pf_print_double(at, cell->d);
    } else if (cell->type == PF_TEXT && cell->plain && cell->size <= PF_NUMBER_MAX) {
        at = put_short(at, cell->text, cell->size);
    } else if (cell->type != PF_ABSENT && !(at = add_other(cell, n, out, at))) {
        return NULL;
    }
    *at = ',';
    return at + 1;
}

void pf_row_add(struct pf_buf *out, const struct pf_cell *cells, const unsigned *columns, size_t n)
{
    char *at = n ? room_for(out, n) : NULL;
    for (size_t k = 0; k < n && at; k++)
        at = add_cell(&cells[columns[k]], n, out, at);
    if (!at)
        return;
    at[-1] = '\n';
    out->size = (size_t)(at - out->data);
}

size_t pf_row_measure(const struct pf_cell *cells, const unsigned *columns, size_t n)
{
    size_t size = n; /* a comma or newline after each cell */
    for (size_t k = 0; k < n; k++)
        size += pf_row_cell_size(&cells[columns[k]]);
    return size;
}
