/* SPDX-License-Identifier: MIT */
#include "fs/text/row.h"

/* Text of columns that stay is copied in one go up to this size, whatever it is: most is shorter. */
enum { SHORT_TEXT = 64 };

/* For a number or short word a column, a comma behind each, and the text of those that stay. */
static size_t row_room(const struct pf_row *row)
{
    return row->n * (PF_NUMBER_MAX + 1) + (row->printed ? row->size + SHORT_TEXT : 0);
}

struct pf_row pf_row_of(const unsigned *columns, size_t n)
{
    struct pf_row row = {.columns = columns, .n = n, .first = n, .last = n};
    row.room = row_room(&row);
    return row;
}

void pf_row_free(struct pf_row *row)
{
    pf_buf_free(&row->text);
}

/* ---- columns that stay -------------------------------------------------------------------------- */

void pf_row_forget(struct pf_row *row)
{
    row->same = (struct pf_span){0, 0};
    row->first = row->last = row->n;
    row->size = 0;
    row->printed = false;
    row->room = row_room(row);
}

static size_t columns_before(const struct pf_row *row, unsigned column)
{
    size_t n = 0;
    while (n < row->n && row->columns[n] < column)
        n++;
    return n;
}

/* What is remembered is of just these columns, else it is forgotten. */
static inline void follow(struct pf_row *row, struct pf_span same)
{
    if (same.from == row->same.from && same.to == row->same.to)
        return;
    pf_row_forget(row);
    if (same.from >= same.to)
        return;
    row->same = same;
    row->first = columns_before(row, same.from);
    row->last = columns_before(row, same.to);
}

/* ---- printing ----------------------------------------------------------------------------------- */

/* Most numbers in tables are small. Their length must not cost a mispredicted branch. */
static inline char *add_uint(char *at, uint64_t value)
{
    static const char digits[] =
        "0 1 2 3 4 5 6 7 8 9 101112131415161718192021222324252627282930313233343536373839"
        "404142434445464748495051525354555657585960616263646566676869"
        "707172737475767778798081828384858687888990919293949596979899";
    if (value >= 100)
        return pf_print_uint(at, value);
    memcpy(at, digits + 2 * value, 2);
    return at + 1 + (value >= 10);
}

/* A few bytes, without the call that memcpy would be. */
static inline char *add_word(char *at, const char *text, size_t size)
{
    if (size >= 8) {
        for (size_t i = 0; i + 8 <= size; i += 8)
            memcpy(at + i, text + i, 8);
        memcpy(at + size - 8, text + size - 8, 8);
    } else if (size >= 4) {
        memcpy(at, text, 4);
        memcpy(at + size - 4, text + size - 4, 4);
    } else {
        for (size_t i = 0; i < size; i++)
            at[i] = text[i];
    }
    return at + size;
}

/* What is no short number or word. Then there is room for a row again; NULL: there is none. */
static char *add_other(const struct pf_row *row, const struct pf_cell *cell, struct pf_buf *out, char *at)
{
    out->size = (size_t)(at - out->data);
    pf_csv_cell(out, cell);
    return pf_buf_reserve(out, row->room);
}

/*
 * A cell and a comma, which the innermost loop of all rendering is about: integers and short plain words go straight into room
 * that was reserved once for the whole row.
 */
__attribute__((always_inline)) static inline char *
add_cell(const struct pf_row *row, const struct pf_cell *cell, struct pf_buf *out, char *at)
{
    if (cell->type == PF_TEXT && cell->padded && cell->size <= PF_PADDING) {
        memcpy(at, cell->text, PF_PADDING);
        at += cell->size;
    } else if (cell->type == PF_UINT || (cell->type == PF_INT && cell->i >= 0)) {
        at = add_uint(at, cell->u);
    } else if (cell->type == PF_TEXT && cell->plain && cell->size <= PF_NUMBER_MAX) {
        at = add_word(at, cell->text, cell->size);
    } else if (cell->type == PF_DOUBLE) {
        at = pf_print_double(at, cell->d);
    } else if (cell->type != PF_ABSENT && !(at = add_other(row, cell, out, at))) {
        return NULL;
    }
    *at = ',';
    return at + 1;
}

/* Prints the columns that stay into their text. */
static void print_same(struct pf_row *row, const struct pf_cell *cells)
{
    struct pf_buf *text = &row->text;
    text->size = 0;
    char *at = pf_buf_reserve(text, row->room);
    for (size_t k = row->first; k < row->last && at; k++)
        at = add_cell(row, &cells[row->columns[k]], text, at);
    if (!at)
        return;
    row->size = text->size = (size_t)(at - text->data);
    row->printed = pf_buf_reserve(text, SHORT_TEXT) != NULL;
    row->room = row_room(row);
}

static inline char *copy_same(const struct pf_row *row, char *at)
{
    memcpy(at, row->text.data, SHORT_TEXT);
    if (row->size > SHORT_TEXT)
        memcpy(at + SHORT_TEXT, row->text.data + SHORT_TEXT, row->size - SHORT_TEXT);
    return at + row->size;
}

void pf_row_add(struct pf_row *row, const struct pf_cell *cells, struct pf_span same, struct pf_buf *out)
{
    if (!row->n)
        return;
    follow(row, same);
    if (row->first < row->last && !row->printed)
        print_same(row, cells);
    char *at = pf_buf_reserve(out, row->room);
    size_t n = row->n, stay = row->printed ? row->first : n;
    for (size_t k = 0; k < n && at; k++) {
        if (k == stay) {
            at = copy_same(row, at);
            k = row->last;
            if (k == n)
                break;
        }
        at = add_cell(row, &cells[row->columns[k]], out, at);
    }
    if (!at)
        return;
    at[-1] = '\n';
    out->size = (size_t)(at - out->data);
}

/* ---- measuring ---------------------------------------------------------------------------------- */

/* With a comma behind each. */
static inline size_t cells_size(const struct pf_row *row, size_t from, size_t to, const struct pf_cell *cells)
{
    size_t size = to - from;
    for (size_t k = from; k < to; k++)
        size += pf_row_cell_size(&cells[row->columns[k]]);
    return size;
}

size_t pf_row_measure(struct pf_row *row, const struct pf_cell *cells, struct pf_span same)
{
    follow(row, same);
    if (!row->size)
        row->size = cells_size(row, row->first, row->last, cells);
    return cells_size(row, 0, row->first, cells) + row->size + cells_size(row, row->last, row->n, cells);
}
