/* SPDX-License-Identifier: MIT */
/* Resources as they are kept, the walk over them, and the table resources. */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/position.h"
#include "formats/perun/perun.h"

/* ---- the walk ----------------------------------------------------------------------------------- */

void perun_walk_open(struct perun_walk *walk, const struct perun_data *data)
{
    *walk = (struct perun_walk){.data = data, .loaded = PERUN_NO_ITEM};
    walk->items.store = data->items;
    walk->entries.store = data->entries;
    walk->links.store = data->links;
}

void perun_walk_close(struct perun_walk *walk)
{
    pf_store_window_free(&walk->items);
    pf_store_window_free(&walk->entries);
    pf_store_window_free(&walk->links);
    perun_text_free(&walk->texts);
    perun_text_free(&walk->column_texts);
    free(walk->cells);
    free(walk->starts);
    free(walk->block);
}

/* What is kept at an offset: its values become cells from `first` on, whose texts are copied. Returns its size; 0: *error. */
static uint64_t load(struct perun_walk *walk, struct pf_store_window *window, uint64_t offset, size_t first,
                     struct pf_error *error)
{
    struct perun_item *item = &walk->item;
    const unsigned char *at = pf_store_at(window, offset, sizeof *item, error);
    if (!at)
        return 0;
    memcpy(item, at, sizeof *item);
    if (item->mark != pf_siphash_number(offset)) {
        pf_position_refuse(error);
        return 0;
    }
    size_t values = item->n_values * sizeof *walk->cells, size = sizeof *item + values + item->texts_size;
    if (pf_array_reach(&walk->cells, &walk->cells_room, first + item->n_values, sizeof *walk->cells, error) ||
        !(at = pf_store_at(window, offset, size, error)))
        return 0;
    memcpy(walk->cells + first, at + sizeof *item, values);
    walk->texts.size = 0;
    if (perun_add(&walk->texts, (const char *)at + sizeof *item + values, item->texts_size, error))
        return 0;
    for (size_t i = first; i < first + item->n_values; i++)
        if (walk->cells[i].cell.type == PF_TEXT)
            walk->cells[i].cell.text = walk->texts.at + walk->cells[i].cell.u;
    return size;
}

/* Whether the rows of the type share this field: then its column does not count. */
static bool is_shared(const struct perun_walk *walk, uint32_t field)
{
    for (size_t i = 0; i < walk->item.n_values; i++)
        if (walk->cells[walk->n_columns + i].field == field)
            return true;
    return false;
}

/* A type, whose columns are the cells now: what its rows share comes behind them. */
static int load_type(struct perun_walk *walk, struct pf_error *error)
{
    uint64_t link;
    uint32_t unit = walk->item.unit;
    const void *at = pf_store_at(&walk->links, walk->at.types_over * sizeof link, sizeof link, error);
    if (!at)
        return -1;
    memcpy(&link, at, sizeof link);
    walk->rows = link ? walk->item.rows : 0;
    walk->n_columns = walk->item.n_values;
    if (!walk->rows)
        return 0;
    if (pf_array_reach(&walk->starts, &walk->starts_room, walk->n_columns, sizeof *walk->starts, error) ||
        !load(walk, &walk->entries, link - 1, walk->n_columns, error))
        return -1;
    if (walk->item.unit == PERUN_NONE)
        walk->item.unit = unit;
    size_t kept = 0, shared = walk->n_columns;
    for (size_t i = 0; i < shared; i++)
        if (!is_shared(walk, walk->cells[i].field)) {
            walk->starts[kept] = walk->cells[i].cell.u;
            walk->cells[kept++].field = walk->cells[i].field;
        }
    memmove(walk->cells + kept, walk->cells + shared, walk->item.n_values * sizeof *walk->cells);
    walk->n_columns = kept;
    walk->n_cells = kept + walk->item.n_values;
    return 0;
}

static int load_item(struct perun_walk *walk, struct pf_error *error)
{
    walk->loaded = PERUN_NO_ITEM;
    walk->n_columns = 0;
    walk->block_row = walk->block_end = 0;
    walk->rows = 1;
    if (!(walk->size = load(walk, &walk->items, walk->at.item, 0, error)))
        return -1;
    walk->n_cells = walk->item.n_values;
    bool type = walk->item.type;
    if (type && load_type(walk, error))
        return -1;
    walk->item.type = type;
    walk->loaded = walk->at.item;
    return 0;
}

/* Reads the next rows of each column. */
static int read_block(struct perun_walk *walk, struct pf_error *error)
{
    uint64_t left = walk->rows - walk->at.row, n = left < PERUN_BLOCK ? left : PERUN_BLOCK;
    walk->block_row = walk->block_end = walk->at.row;
    if (pf_array_reach(&walk->block, &walk->block_room, walk->n_columns * PERUN_BLOCK, sizeof *walk->block,
                       error))
        return -1;
    for (size_t i = 0; i < walk->n_columns; i++)
        if (pf_store_read(walk->data->columns, (walk->starts[i] + walk->at.row) * sizeof *walk->block,
                          walk->block + i * PERUN_BLOCK, n * sizeof *walk->block, error))
            return -1;
    walk->block_end += n;
    return 0;
}

/* The cells of the columns in a row. */
static int fill_columns(struct perun_walk *walk, struct pf_error *error)
{
    struct perun_text *texts = &walk->column_texts;
    if ((walk->at.row < walk->block_row || walk->at.row >= walk->block_end) && read_block(walk, error))
        return -1;
    texts->size = 0;
    for (size_t i = 0; i < walk->n_columns; i++) {
        struct pf_cell *cell = &walk->cells[i].cell;
        *cell = walk->block[i * PERUN_BLOCK + (walk->at.row - walk->block_row)];
        if (cell->type != PF_TEXT)
            continue;
        uint64_t from = cell->u, to = texts->size;
        if (perun_reserve(texts, cell->size, error) ||
            pf_store_read(walk->data->column_texts, from, texts->at + to, cell->size, error))
            return -1;
        texts->size += cell->size;
        cell->u = to;
    }
    for (size_t i = 0; texts->size && i < walk->n_columns; i++)
        if (walk->cells[i].cell.type == PF_TEXT)
            walk->cells[i].cell.text = texts->at + walk->cells[i].cell.u;
    return 0;
}

/* Beyond the item that is loaded. */
static void pass_item(struct perun_walk *walk)
{
    walk->at.item += walk->size;
    walk->at.items_over++;
    walk->at.types_over += walk->item.type;
    walk->at.row = 0;
}

int perun_walk_next(struct perun_walk *walk, struct pf_error *error)
{
    for (;;) {
        if (walk->at.items_over >= walk->data->n_items)
            return 0;
        if (walk->loaded != walk->at.item && load_item(walk, error))
            return -1;
        if (walk->at.row < walk->rows)
            break;
        pass_item(walk);
    }
    if (walk->n_columns && fill_columns(walk, error))
        return -1;
    walk->number = walk->at.number++;
    if (++walk->at.row == walk->rows)
        pass_item(walk);
    return 1;
}

const struct pf_cell *perun_walk_cell(const struct perun_walk *walk, uint32_t field)
{
    for (size_t i = 0; i < walk->n_cells; i++)
        if (walk->cells[i].field == field)
            return &walk->cells[i].cell;
    return NULL;
}

double perun_walk_progress(const struct perun_walk *walk)
{
    uint64_t items = walk->data->n_items;
    double part = walk->at.row && walk->rows ? (double)walk->at.row / (double)walk->rows : 0;
    return items ? ((double)walk->at.items_over + part) / (double)items : 1;
}

/* ---- the table resources ------------------------------------------------------------------------ */

struct cursor {
    struct perun_walk walk;
    struct perun_text other;
};

static int resources_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    struct cursor *state = cursor->state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    perun_walk_open(&state->walk, perun->data);
    return 0;
}

/* Fields without a column: key=value, with a blank between them. */
static int fill_other(const struct perun *perun, struct cursor *state, struct pf_cell *cell,
                      struct pf_error *error)
{
    const struct perun_walk *walk = &state->walk;
    const struct perun_data *data = perun->data;
    struct perun_text *other = &state->other;
    bool tid = perun_walk_cell(walk, PERUN_TID);
    other->size = 0;
    for (size_t i = 0; i < walk->n_cells; i++) {
        uint32_t field = walk->cells[i].field;
        bool shown = field == PERUN_TIME || (field == PERUN_THREAD && !tid);
        if (data->field_list[field].column >= 0 || shown || walk->cells[i].cell.type == PF_ABSENT)
            continue;
        struct pf_cell name = pf_interned(data->fields, field);
        if ((other->size && perun_add(other, " ", 1, error)) || perun_add_cell(other, &name, error) ||
            perun_add(other, "=", 1, error) || perun_add_cell(other, &walk->cells[i].cell, error))
            return -1;
    }
    *cell = other->size ? pf_text(other->at, other->size) : pf_absent();
    return 0;
}

/* The cells of fields. Time and thread have columns of their own kind: a tid counts before a thread. */
static void fill_fields(const struct perun_data *data, const struct perun_walk *walk, struct pf_cell *row)
{
    struct pf_cell time = pf_absent(), tid = pf_absent(), thread = pf_absent();
    for (size_t i = 0; i < walk->n_cells; i++) {
        struct pf_cell cell = walk->cells[i].cell;
        uint32_t field = walk->cells[i].field;
        int column = data->field_list[field].column;
        if (column >= 0)
            row[column] = cell;
        if (field <= PERUN_THREAD)
            *(field == PERUN_TIME ? &time : field == PERUN_TID ? &tid : &thread) = cell;
    }
    row[PERUN_R_TIME] = time.type != PF_ABSENT          ? time
                        : walk->item.time != PERUN_NONE ? data->times[walk->item.time]
                                                        : pf_absent();
    row[PERUN_R_THREAD] = tid.type != PF_ABSENT ? tid : thread;
}

static int resources_next(struct pf_cursor *cursor, struct pf_cell *row, struct pf_error *error)
{
    const struct perun *perun = cursor->profile->state;
    const struct perun_data *data = perun->data;
    struct cursor *state = cursor->state;
    const struct perun_item *item = &state->walk.item;
    bool further = state->walk.loaded == state->walk.at.item && state->walk.at.row;
    int more = perun_walk_next(&state->walk, error);
    if (more <= 0)
        return more;
    /* What rows of a type share. */
    cursor->same = further ? (struct pf_span){perun->last_columns, perun->last_columns + PERUN_R_OTHER}
                           : (struct pf_span){0, 0};
    struct pf_cell *last = row + perun->last_columns;
    row[PERUN_R_ROW] = pf_uint(state->walk.number);
    row[PERUN_R_SNAPSHOT] =
        item->snapshot == PERUN_NONE ? pf_absent() : pf_int(data->snapshots[item->snapshot].number);
    row[PERUN_R_CONTEXT] = pf_uint(item->context);
    for (size_t i = PERUN_R_FIELDS; i < perun->last_columns; i++)
        row[i] = pf_absent();
    fill_fields(data, &state->walk, row);
    last[PERUN_R_TYPE] = perun_string_cell(data, perun_type_of(perun, item->kind));
    last[PERUN_R_SUBTYPE] = perun_string_cell(data, item->subtype);
    last[PERUN_R_UID] = perun_string_cell(data, item->uid);
    return perun->others && fill_other(perun, state, &last[PERUN_R_OTHER], error) ? -1 : 1;
}

static size_t resources_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct cursor *state = cursor->state;
    return pf_position_save(&state->walk.at, sizeof state->walk.at, blob, room);
}

static int resources_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct cursor *state = cursor->state;
    state->walk.loaded = PERUN_NO_ITEM;
    return pf_position_restore(&state->walk.at, sizeof state->walk.at, blob, size, error);
}

static void resources_close(struct pf_cursor *cursor)
{
    struct cursor *state = cursor->state;
    if (!state)
        return;
    perun_walk_close(&state->walk);
    perun_text_free(&state->other);
    free(state);
}

static double resources_progress(const struct pf_cursor *cursor)
{
    return perun_walk_progress(&((const struct cursor *)cursor->state)->walk);
}

const struct pf_cursor_ops perun_resources_cursor = {resources_open,    resources_next,  resources_save,
                                                     resources_restore, resources_close, resources_progress};
