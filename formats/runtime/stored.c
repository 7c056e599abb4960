/* SPDX-License-Identifier: MIT */
#include "formats/runtime/stored.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/store.h"

/* Layout of a row: eight bytes per cell, then the cells' types. Text of up to SHORT_MAX bytes is stored in its cell,
 * longer text in `texts`. */
enum { SHORT = 16 /* type of a text of 0 bytes; SHORT + n: of n bytes */, SHORT_MAX = 8 };

/*
 * The cell of a longer text or a wide integer has its offset in `texts` in the upper bits, and its size in the lower
 * SIZE_BITS bits.
 */
enum { SIZE_BITS = 24 };

struct pf_stored {
    size_t columns, width; /* width: size of a row in bytes */
    struct pf_store *rows, *texts;
    const struct pf_strings *names; /* NULL: the strings of the profile's contexts */
};

struct stored_row {
    uint64_t values[PF_STORED_COLUMNS];
    uint8_t types[PF_STORED_COLUMNS];
};

struct pf_stored *pf_stored_new(size_t columns, uint64_t limit)
{
    struct pf_stored *stored = calloc(1, sizeof *stored);
    if (!stored)
        return NULL;
    stored->columns = columns;
    stored->width = columns * sizeof(uint64_t) + columns;
    stored->rows = pf_store_new(limit - limit / 4);
    stored->texts = pf_store_new(limit / 4);
    if (stored->rows && stored->texts)
        return stored;
    pf_stored_free(stored);
    return NULL;
}

void pf_stored_free(struct pf_stored *stored)
{
    if (!stored)
        return;
    pf_store_free(stored->rows);
    pf_store_free(stored->texts);
    free(stored);
}

void pf_stored_names(struct pf_stored *stored, const struct pf_strings *names)
{
    stored->names = names;
}

uint64_t pf_stored_count(const struct pf_stored *stored)
{
    return pf_store_size(stored->rows) / stored->width;
}

/* Appends bytes to `texts`. Sets *value to their offset and size. */
static int add_bytes(struct pf_stored *stored, const void *bytes, size_t size, uint64_t *value,
                     struct pf_error *error)
{
    uint64_t at = pf_store_size(stored->texts);
    if (at >> (64 - SIZE_BITS))
        return pf_fail(error, EFBIG, "more text than rows can hold");
    if (size >> SIZE_BITS)
        size = (1 << SIZE_BITS) - 1;
    *value = at << SIZE_BITS | size;
    return pf_store_append(stored->texts, bytes, size, error);
}

int pf_stored_add(struct pf_stored *stored, const struct pf_cell *cells, struct pf_error *error)
{
    unsigned char bytes[sizeof(struct stored_row)];
    unsigned char *types = bytes + stored->columns * sizeof(uint64_t);
    for (size_t i = 0; i < stored->columns; i++) {
        const struct pf_cell *cell = &cells[i];
        uint64_t value = cell->u;
        types[i] = cell->type;
        if (cell->type == PF_TEXT && cell->size <= SHORT_MAX) {
            types[i] = (uint8_t)(SHORT + cell->size);
            if (cell->size)
                memcpy(&value, cell->text, cell->size);
        } else if (cell->type == PF_TEXT || cell->type == PF_WIDE) {
            const void *at = cell->type == PF_TEXT ? (const void *)cell->text : cell->wide;
            if (add_bytes(stored, at, cell->type == PF_TEXT ? cell->size : sizeof *cell->wide, &value, error))
                return -1;
        }
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
    return pf_store_append(stored->rows, bytes, stored->width, error);
}

int pf_stored_set(struct pf_stored *stored, uint64_t row, size_t column, struct pf_cell number,
                  struct pf_error *error)
{
    uint64_t at = row * stored->width;
    if (pf_store_write(stored->rows, at + column * sizeof number.u, &number.u, sizeof number.u, error))
        return -1;
    return pf_store_write(stored->rows, at + stored->columns * sizeof number.u + column, &number.type, 1,
                          error);
}

/* ---- the cursor --------------------------------------------------------------------------------- */

struct stored_cursor {
    const struct pf_stored *stored;
    struct pf_store_window rows, texts;
    struct stored_row row; /* short texts of the current row point into it */
    pf_int128 wides[PF_STORED_COLUMNS];
};

static int stored_read_row(struct stored_cursor *look, uint64_t number, struct pf_error *error)
{
    const struct pf_stored *stored = look->stored;
    const unsigned char *row = pf_store_at(&look->rows, number * stored->width, stored->width, error);
    if (!row)
        return -1;
    memcpy(look->row.values, row, stored->columns * sizeof *look->row.values);
    memcpy(look->row.types, row + stored->columns * sizeof *look->row.values, stored->columns);
    return 0;
}

/* Finds the first row of this partition or a later one. */
static int find_partition(struct stored_cursor *look, uint64_t partition, uint64_t *found,
                          struct pf_error *error)
{
    uint64_t from = 0, to = pf_stored_count(look->stored);
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (stored_read_row(look, middle, error))
            return -1;
        if (look->row.values[0] < partition)
            from = middle + 1;
        else
            to = middle;
    }
    *found = from;
    return 0;
}

static int stored_begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    struct stored_cursor *look = numbers->own = calloc(1, sizeof *look);
    if (!look)
        return pf_fail_memory(error);
    look->stored = *(struct pf_stored *const *)cursor->table->data;
    look->rows.store = look->stored->rows;
    look->texts.store = look->stored->texts;
    numbers->end = pf_stored_count(look->stored);
    if (cursor->only.partition < 0 || !(cursor->table->flags & PF_SEEKS_PARTITION))
        return 0;
    uint64_t partition = (uint64_t)cursor->only.partition;
    if (find_partition(look, partition, &numbers->next, error))
        return -1;
    return find_partition(look, partition + 1, &numbers->end, error);
}

static void stored_free_look(void *own)
{
    struct stored_cursor *look = own;
    if (look) {
        pf_store_window_free(&look->rows);
        pf_store_window_free(&look->texts);
    }
    free(look);
}

static int64_t only_of(const struct pf_restriction *only, enum pf_role role)
{
    return role == PF_PARTITION ? only->partition
           : role == PF_CONTEXT ? only->context
           : role == PF_METRIC  ? only->metric
           : role == PF_KEY     ? only->key
                                : -1;
}

static struct pf_cell stored_cell_of(const struct pf_cursor *cursor, struct stored_cursor *look,
                                     size_t column, const char **texts)
{
    uint8_t type = look->row.types[column];
    const uint64_t *value = &look->row.values[column];
    size_t size = *value & ((1 << SIZE_BITS) - 1);
    if (type >= SHORT)
        return pf_text((const char *)value, (size_t)(type - SHORT));
    if (type == PF_NAME)
        return pf_interned(look->stored->names ? look->stored->names : cursor->model->contexts->strings,
                           (uint32_t)*value);
    if (type != PF_TEXT && type != PF_WIDE)
        return (struct pf_cell){.type = type, .u = *value};
    const char *text = *texts;
    *texts += size;
    if (type == PF_TEXT)
        return pf_text(text, size);
    memcpy(&look->wides[column], text, sizeof *look->wides);
    return pf_wide(&look->wides[column]);
}

static int stored_fill(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                       struct pf_error *error)
{
    struct stored_cursor *look = own;
    uint64_t start = 0, size = 0; /* offset and size of the row's texts, which are contiguous */
    if (stored_read_row(look, number, error))
        return -1;
    for (size_t i = 0; i < look->stored->columns; i++) {
        uint8_t type = look->row.types[i];
        uint64_t value = look->row.values[i];
        int64_t only = only_of(&cursor->only, cursor->table->columns[i].role);
        if (only >= 0 && (type == PF_ABSENT || value != (uint64_t)only))
            return 0;
        if (type == PF_TEXT || type == PF_WIDE) {
            start = size ? start : value >> SIZE_BITS;
            size += value & ((1 << SIZE_BITS) - 1);
        }
    }
    const char *texts = size ? pf_store_at(&look->texts, start, size, error) : "";
    if (!texts)
        return -1;
    for (size_t i = 0; i < look->stored->columns; i++)
        cells[i] = stored_cell_of(cursor, look, i, &texts);
    return 1;
}

const struct pf_numbered pf_stored_cursor = {PF_NUMBERED, .begin = stored_begin, .row = stored_fill,
                                             .free = stored_free_look};
