/* SPDX-License-Identifier: MIT */
#include "formats/kit/rows.h"

#include <stdlib.h>

#include "formats/kit/strings.h"

/*
 * Rows are in blocks, so that cells never move. Each block is as long as all blocks before it. Text is interned, since
 * most tables in memory repeat words.
 */
enum { FIRST_BLOCK = 8 };

struct pf_rows {
    size_t columns, count;
    struct pf_cell *blocks[48]; /* block 0 has FIRST_BLOCK rows, block b > 0 as many as all before it */
    size_t n_blocks, room;      /* room: rows that fit in the blocks */
    pf_int128 **wide;           /* one allocation per wide integer, since these are rare */
    size_t n_wide;
    struct pf_strings *strings;
};

struct pf_rows *pf_rows_new(size_t columns)
{
    struct pf_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return NULL;
    rows->columns = columns;
    rows->strings = pf_strings_new();
    if (!rows->strings) {
        free(rows);
        return NULL;
    }
    return rows;
}

void pf_rows_free(struct pf_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; i < rows->n_blocks; i++)
        free(rows->blocks[i]);
    for (size_t i = 0; i < rows->n_wide; i++)
        free(rows->wide[i]);
    free(rows->wide);
    pf_strings_free(rows->strings);
    free(rows);
}

static struct pf_cell *place(const struct pf_rows *rows, size_t i)
{
    if (i < FIRST_BLOCK)
        return rows->blocks[0] + i * rows->columns;
    /* Block log + 1 starts at row FIRST_BLOCK << log. */
    unsigned log = 63 - (unsigned)__builtin_clzll(i / FIRST_BLOCK);
    return rows->blocks[log + 1] + (i - ((size_t)FIRST_BLOCK << log)) * rows->columns;
}

static int add_block(struct pf_rows *rows, struct pf_error *error)
{
    size_t size = rows->room ? rows->room : FIRST_BLOCK;
    size_t columns = rows->columns ? rows->columns : 1;
    if (rows->n_blocks == sizeof rows->blocks / sizeof *rows->blocks)
        return pf_fail_memory(error);
    struct pf_cell *block = calloc(size * columns, sizeof *block);
    if (!block)
        return pf_fail_memory(error);
    rows->blocks[rows->n_blocks++] = block;
    rows->room += size;
    return 0;
}

static int keep_wide(struct pf_rows *rows, struct pf_cell *cell, struct pf_error *error)
{
    pf_int128 **all = realloc(rows->wide, (rows->n_wide + 1) * sizeof *all);
    if (!all)
        return pf_fail_memory(error);
    rows->wide = all;
    pf_int128 *copy = malloc(sizeof *copy);
    if (!copy)
        return pf_fail_memory(error);
    memcpy(copy, cell->wide, sizeof *copy);
    all[rows->n_wide++] = copy;
    cell->wide = copy;
    return 0;
}

static int rows_retain(struct pf_rows *rows, struct pf_cell *cell, struct pf_error *error)
{
    if (cell->type == PF_WIDE)
        return keep_wide(rows, cell, error);
    if (cell->type != PF_TEXT)
        return 0;
    uint32_t id = pf_intern(rows->strings, cell->text, cell->size, error);
    if (id == PF_NO_STRING)
        return -1;
    *cell = pf_interned(rows->strings, id);
    return 0;
}

int pf_rows_add(struct pf_rows *rows, const struct pf_cell *cells, struct pf_error *error)
{
    if (rows->count == rows->room && add_block(rows, error))
        return -1;
    struct pf_cell *row = place(rows, rows->count);
    for (size_t c = 0; c < rows->columns; c++) {
        row[c] = cells[c];
        if (rows_retain(rows, &row[c], error))
            return -1;
    }
    rows->count++;
    return 0;
}

void pf_rows_cut(struct pf_rows *rows, size_t count)
{
    if (count < rows->count)
        rows->count = count;
}

const struct pf_cell *pf_rows_at(const struct pf_rows *rows, size_t i)
{
    return place(rows, i);
}

size_t pf_rows_count(const struct pf_rows *rows)
{
    return rows ? rows->count : 0;
}
