/* SPDX-License-Identifier: MIT */
#include "formats/perun/walk.h"

#include <errno.h>
#include <stdlib.h>

/* A type whose values take no more than this has them read at once. */
#define BLOCK_MAX ((uint64_t)64 * 1024)

/* What the buffers of a large type's columns take together. */
#define BUFFERS ((size_t)1 << 20)

void perun_walk_open(struct perun_walk *walk, const struct perun_data *data, bool shown)
{
    *walk = (struct perun_walk){.data = data, .shown = shown, .shape = PERUN_NO_SHAPE, .fresh = true};
    walk->items.tape = &data->items;
    walk->entries.tape = &data->entries;
    walk->shapes.tape = &data->shapes;
    walk->links.tape = &data->links;
    walk->block.tape = &data->columns;
}

void perun_walk_close(struct perun_walk *walk)
{
    struct perun_head *heads[] = {&walk->items, &walk->entries, &walk->shapes, &walk->links, &walk->block};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        perun_head_free(heads[i]);
    for (size_t i = 0; i < walk->column_room; i++)
        perun_head_free(&walk->columns[i].head);
    free(walk->columns);
    free(walk->cells);
    perun_text_free(&walk->texts);
}

/* ---- items -------------------------------------------------------------------------------------- */

static int reserve_cells(struct perun_walk *walk, size_t n, struct pf_error *error)
{
    if (n <= walk->room)
        return 0;
    struct perun_row_cell *cells = realloc(walk->cells, n * sizeof *cells);
    if (!cells)
        return pf_fail_memory(error);
    walk->cells = cells;
    walk->room = n;
    return 0;
}

/* What the properties at this shape have in common; the columns' cells stay where they are. */
static int read_shape(struct perun_walk *walk, uint64_t shape, struct pf_error *error)
{
    uint32_t *known[] = {&walk->snapshot, &walk->group, &walk->type, &walk->subtype};
    uint64_t number, n;
    walk->shape = PERUN_NO_SHAPE;
    perun_head_seek(&walk->shapes, shape);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (perun_get_number(&walk->shapes, &number, error))
            return -1;
        *known[i] = (uint32_t)number - 1;
    }
    if (perun_get_number(&walk->shapes, &n, error))
        return -1;
    if (n > PERUN_FIELDS_MAX || reserve_cells(walk, walk->n_columns + (size_t)n, error))
        return n > PERUN_FIELDS_MAX ? pf_fail(error, EINVAL, "not a position") : -1;
    for (size_t i = 0; i < n; i++) {
        if (perun_get_number(&walk->shapes, &number, error))
            return -1;
        walk->cells[walk->n_columns + i].field = (uint32_t)number;
    }
    walk->n_cells = walk->n_columns + (size_t)n;
    walk->shape = shape;
    return 0;
}

static inline int get_cell(const struct perun_walk *walk, struct perun_head *head, struct pf_cell *cell,
                           struct pf_error *error)
{
    return walk->shown ? perun_get_shown(head, cell, error) : perun_get_cell(head, cell, error);
}

/* What the cell borrows of the cell's own stands where that is now. */
static inline void stand_by(struct perun_row_cell *cell)
{
    if (cell->cell.type == PF_WIDE)
        cell->cell.wide = &cell->wide;
    else if (cell->cell.type == PF_TEXT && cell->cell.padded)
        cell->cell.text = cell->verbatim;
}

/* A value that all rows of the item have: text and wide integers are kept. */
static int read_cell(struct perun_walk *walk, struct perun_head *head, struct perun_row_cell *cell,
                     struct pf_error *error)
{
    if (get_cell(walk, head, &cell->cell, error))
        return -1;
    bool padded = cell->cell.type == PF_TEXT && cell->cell.padded;
    if (padded)
        memcpy(cell->verbatim, cell->cell.text, PF_PADDING);
    else if (cell->cell.type == PF_WIDE)
        cell->wide = *cell->cell.wide;
    stand_by(cell);
    if (padded || cell->cell.type != PF_TEXT)
        return 0;
    cell->text = walk->texts.size;
    return perun_text_add(&walk->texts, cell->cell.text, cell->cell.size, error);
}

/* The properties that `head` stands before. Of an object, they may have the shape of the object before. */
static int read_properties(struct perun_walk *walk, struct perun_head *head, struct pf_error *error)
{
    uint64_t shape, uid, context, unit;
    if (perun_get_number(head, &shape, error) || perun_get_number(head, &uid, error) ||
        perun_get_number(head, &context, error) || perun_get_number(head, &unit, error))
        return -1;
    walk->alike = shape == walk->shape && !walk->n_columns;
    if (!walk->alike && read_shape(walk, shape, error))
        return -1;
    walk->uid = (uint32_t)uid - 1;
    walk->context = (uint32_t)context;
    walk->unit = unit ? (uint32_t)unit - 1 : walk->unit;
    walk->texts.size = 0;
    for (size_t i = walk->n_columns; i < walk->n_cells; i++)
        if (read_cell(walk, head, &walk->cells[i], error))
            return -1;
    for (size_t i = walk->n_columns; walk->texts.size && i < walk->n_cells; i++)
        if (walk->cells[i].cell.type == PF_TEXT && !walk->cells[i].cell.padded)
            walk->cells[i].cell.text = walk->texts.at + walk->cells[i].text;
    return 0;
}

static int reserve_columns(struct perun_walk *walk, size_t n, struct pf_error *error)
{
    if (n <= walk->column_room)
        return 0;
    struct perun_column *columns = realloc(walk->columns, n * sizeof *columns);
    if (!columns)
        return pf_fail_memory(error);
    memset(columns + walk->column_room, 0, (n - walk->column_room) * sizeof *columns);
    walk->columns = columns;
    walk->column_room = n;
    return 0;
}

/* Lets each column's head stand before its first value. */
static int stand_columns(struct perun_walk *walk, uint64_t start, uint64_t end, struct pf_error *error)
{
    const unsigned char *bytes = NULL;
    if (end - start <= BLOCK_MAX && walk->n_columns) {
        perun_head_seek(&walk->block, start);
        if (!(bytes = perun_get(&walk->block, (size_t)(end - start), error)))
            return -1;
    }
    size_t share = walk->n_columns ? BUFFERS / walk->n_columns : 0;
    for (size_t i = 0; i < walk->n_columns; i++) {
        struct perun_head *head = &walk->columns[i].head;
        head->tape = &walk->data->columns;
        head->base = bytes ? start : start + walk->columns[i].start;
        head->at = bytes ? (size_t)walk->columns[i].start : 0;
        head->window = bytes;
        head->have = bytes ? (size_t)(end - start) : 0;
        if (!head->buffer)
            head->room = share < 1024 ? 1024 : share > PERUN_HEAD_ROOM ? PERUN_HEAD_ROOM : share;
    }
    walk->columns_at = start;
    return 0;
}

/* Whether the rows of the type share this field: then the column does not count. */
static bool is_shared(const struct perun_walk *walk, uint32_t field, size_t first)
{
    for (size_t i = first; i < walk->n_cells; i++)
        if (walk->cells[i].field == field)
            return true;
    return false;
}

/* Columns that what is shared overrides are taken out. */
static void drop_overridden(struct perun_walk *walk)
{
    size_t kept = 0, columns = walk->n_columns;
    for (size_t i = 0; i < columns; i++) {
        if (is_shared(walk, walk->columns[i].field, columns))
            continue;
        struct perun_column column = walk->columns[kept];
        walk->columns[kept] = walk->columns[i];
        walk->columns[i] = column; /* its buffer is kept */
        kept++;
    }
    memmove(walk->cells + kept, walk->cells + columns, (walk->n_cells - columns) * sizeof *walk->cells);
    walk->n_cells -= columns - kept;
    walk->n_columns = kept;
    for (size_t i = kept; i < walk->n_cells; i++)
        stand_by(&walk->cells[i]);
}

/* What stands of a column in its type's item. */
static int read_column(struct perun_head *head, struct perun_column *column, struct pf_error *error)
{
    uint64_t field, kind;
    struct pf_cell whole;
    const unsigned char *reals;
    if (perun_get_number(head, &field, error) || perun_get_number(head, &column->start, error) ||
        perun_get_number(head, &kind, error))
        return -1;
    column->field = (uint32_t)field;
    column->summed = kind != PERUN_NO_SUM;
    column->total = (struct perun_total){.has_real = kind == PERUN_REAL_SUM};
    if (!column->summed)
        return 0;
    if (perun_get_cell(head, &whole, error))
        return -1;
    column->total.whole = whole.type == PF_WIDE ? *whole.wide : whole.i;
    if (!column->total.has_real)
        return 0;
    if (!(reals = perun_get(head, 2 * sizeof(double), error)))
        return -1;
    memcpy(&column->total.real, reals, sizeof(double));
    memcpy(&column->total.rest, reals + sizeof(double), sizeof(double));
    return 0;
}

static int read_type(struct perun_walk *walk, struct pf_error *error)
{
    uint64_t head[5], link; /* rows, start, end, unit, columns */
    for (size_t i = 0; i < 5; i++)
        if (perun_get_number(&walk->items, &head[i], error))
            return -1;
    if (head[4] > PERUN_FIELDS_MAX || head[2] < head[1])
        return pf_fail(error, EINVAL, "not a position");
    walk->unit = (uint32_t)head[3] - 1;
    if (reserve_columns(walk, (size_t)head[4], error))
        return -1;
    walk->n_columns = (size_t)head[4];
    for (size_t i = 0; i < walk->n_columns; i++)
        if (read_column(&walk->items, &walk->columns[i], error))
            return -1;
    perun_head_seek(&walk->links, walk->types_over * sizeof link);
    const unsigned char *bytes = perun_get(&walk->links, sizeof link, error);
    if (!bytes)
        return -1;
    memcpy(&link, bytes, sizeof link);
    walk->types_over++;
    walk->rows = link ? head[0] : 0;
    if (!walk->rows)
        return 0;
    perun_head_seek(&walk->entries, link - 1);
    if (read_properties(walk, &walk->entries, error))
        return -1;
    walk->shape = PERUN_NO_SHAPE; /* the cells do not begin with it */
    drop_overridden(walk);
    for (size_t i = 0; i < walk->n_columns; i++)
        walk->cells[i].field = walk->columns[i].field;
    return stand_columns(walk, head[1], head[2], error);
}

/* The next item; it may have no rows. */
static int read_item(struct perun_walk *walk, struct pf_error *error)
{
    walk->item_at = perun_head_tell(&walk->items);
    const unsigned char *kind = perun_get(&walk->items, 1, error);
    if (!kind)
        return -1;
    walk->items_over++;
    walk->alike = false;
    walk->row = 0;
    walk->rows = 1;
    walk->n_columns = 0;
    walk->unit = PERUN_NONE;
    return *kind == PERUN_TYPE ? read_type(walk, error) : read_properties(walk, &walk->items, error);
}

/* ---- rows --------------------------------------------------------------------------------------- */

int perun_walk_next(struct perun_walk *walk, struct pf_error *error)
{
    walk->alike = true;
    while (walk->row == walk->rows) {
        if (walk->items_over == walk->data->n_items)
            return 0;
        if (read_item(walk, error))
            return -1;
    }
    for (size_t i = 0; i < walk->n_columns; i++)
        if (get_cell(walk, &walk->columns[i].head, &walk->cells[i].cell, error))
            return -1;
    walk->number += !walk->fresh;
    walk->fresh = false;
    walk->row++;
    return 1;
}

void perun_walk_leave(struct perun_walk *walk)
{
    walk->number += walk->rows - walk->row;
    walk->row = walk->rows;
}

const struct pf_cell *perun_walk_cell(const struct perun_walk *walk, uint32_t field)
{
    for (size_t i = 0; i < walk->n_cells; i++)
        if (walk->cells[i].field == field)
            return &walk->cells[i].cell;
    return NULL;
}

/* ---- positions ---------------------------------------------------------------------------------- */

struct position {
    uint64_t item_at, items_over, types_over; /* of the item's start, and before it */
    uint64_t number, row, fresh;
    uint64_t n_columns; /* whose places follow; 0: before the item */
};

size_t perun_walk_save(const struct perun_walk *walk, void *blob, size_t room)
{
    bool inside = walk->row < walk->rows;
    struct position position = {.item_at = inside ? walk->item_at : perun_head_tell(&walk->items),
                                .items_over = walk->items_over - inside,
                                .types_over = walk->types_over - inside,
                                .number = walk->number,
                                .row = inside ? walk->row : 0,
                                .fresh = walk->fresh,
                                .n_columns = inside ? walk->n_columns : 0};
    size_t size = sizeof position + (size_t)position.n_columns * sizeof(uint64_t);
    if (size > room)
        return size;
    memcpy(blob, &position, sizeof position);
    for (size_t i = 0; i < position.n_columns; i++) {
        uint64_t at = perun_head_tell(&walk->columns[i].head);
        memcpy((char *)blob + sizeof position + i * sizeof at, &at, sizeof at);
    }
    return size;
}

int perun_walk_restore(struct perun_walk *walk, const void *blob, size_t size, struct pf_error *error)
{
    struct position position;
    const struct perun_data *data = walk->data;
    if (size < sizeof position)
        return pf_fail(error, EINVAL, "not a position");
    memcpy(&position, blob, sizeof position);
    if (position.n_columns != (size - sizeof position) / sizeof(uint64_t) ||
        position.items_over > data->n_items || position.types_over > data->n_types ||
        position.item_at > data->items.size)
        return pf_fail(error, EINVAL, "not a position");
    perun_head_seek(&walk->items, position.item_at);
    walk->items_over = position.items_over;
    walk->types_over = position.types_over;
    walk->number = position.number;
    walk->fresh = position.fresh != 0;
    walk->shape = PERUN_NO_SHAPE;
    walk->row = walk->rows = 0;
    if (!position.row)
        return 0;
    if (position.items_over == data->n_items || read_item(walk, error))
        return pf_fail(error, EINVAL, "not a position");
    if (position.row > walk->rows || position.n_columns != walk->n_columns)
        return pf_fail(error, EINVAL, "not a position");
    walk->row = position.row;
    for (size_t i = 0; i < walk->n_columns; i++) {
        uint64_t at;
        memcpy(&at, (const char *)blob + sizeof position + i * sizeof at, sizeof at);
        if (at > data->columns.size)
            return pf_fail(error, EINVAL, "not a position");
        perun_head_seek(&walk->columns[i].head, at);
    }
    return 0;
}

double perun_walk_progress(const struct perun_walk *walk)
{
    const struct perun_data *data = walk->data;
    uint64_t total = data->items.size + data->columns.size;
    uint64_t done = perun_head_tell(&walk->items) + walk->columns_at;
    if (walk->n_columns && walk->row < walk->rows)
        done += perun_head_tell(&walk->columns[walk->n_columns - 1].head) - walk->columns_at;
    return total ? (double)done / (double)total : 1;
}
