/* SPDX-License-Identifier: MIT */
/* Makes rows from items, and the table `resources`. */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/perun/perun.h"

/* ---- rows --------------------------------------------------------------------------------------- */

struct perun_walk *perun_walk_new(const struct perun_data *data)
{
    struct perun_walk *walk = calloc(1, sizeof *walk);
    if (walk)
        *walk = (struct perun_walk){.data = data,
                                    .items = {.store = data->items},
                                    .entries = {.store = data->entries},
                                    .values = {.store = data->values}};
    return walk;
}

void perun_walk_free(void *freed)
{
    struct perun_walk *walk = freed;
    if (!walk)
        return;
    pf_store_window_free(&walk->items);
    pf_store_window_free(&walk->entries);
    pf_store_window_free(&walk->values);
    for (size_t i = 0; i < walk->room; i++) {
        pf_store_window_free(&walk->cells[i].cells);
        pf_store_window_free(&walk->cells[i].texts);
    }
    free(walk->cells);
    free(walk);
}

/* Reads record i of a store. */
static int read_record(struct pf_store_window *window, uint64_t i, void *record, size_t size,
                       struct pf_error *error)
{
    const void *at = pf_store_at(window, i * size, size, error);
    if (at)
        memcpy(record, at, size);
    return at ? 0 : -1;
}

static int find_text(struct perun_cell *cell, struct pf_error *error)
{
    struct pf_cell *text = &cell->value.cell;
    if (text->type == PF_TEXT)
        text->text = pf_store_at(&cell->texts, text->u, text->size, error);
    return text->type == PF_TEXT && !text->text ? -1 : 0;
}

/*
 * Returns the slot for the cell of a field; NULL with *error filled. If the field has a column, this is the column's slot, because a
 * value that all rows share replaces the cell of a column. Otherwise the slot is new.
 */
static struct perun_cell *slot_for(struct perun_walk *walk, uint32_t field, struct pf_error *error)
{
    size_t i = 0;
    while (i < walk->n_columns && walk->cells[i].value.field != field)
        i++;
    if (i == walk->n_columns)
        i = walk->n_cells;
    if (pf_array_reach(&walk->cells, &walk->room, i, sizeof *walk->cells, error))
        return NULL;
    walk->n_cells += i == walk->n_cells;
    walk->cells[i].cells.store = walk->data->columns;
    walk->cells[i].texts.store = walk->data->texts;
    return &walk->cells[i];
}

/* Adds a cell for each column of a type, or for each value of an entry or resource. */
static int add_cells(struct perun_walk *walk, const struct perun_item *item, struct pf_error *error)
{
    for (uint32_t i = 0; i < item->n_values; i++) {
        struct perun_value value;
        if (read_record(&walk->values, item->values + i, &value, sizeof value, error))
            return -1;
        struct perun_cell *cell = slot_for(walk, value.field, error);
        if (!cell)
            return -1;
        cell->value = value;
        cell->in_column = item->type;
        cell->first = value.cell.u;
        if (!item->type && find_text(cell, error))
            return -1;
    }
    return 0;
}

/* Makes an item the current one: sets up its columns, and loads the cells that all its rows share. */
static int load_item(struct perun_walk *walk, const struct perun_item *item, struct pf_error *error)
{
    walk->item = *item;
    walk->n_cells = walk->n_columns = 0;
    if (item->type) {
        uint32_t entry = pf_ids_find(&walk->data->entry_of, item->key);
        if (add_cells(walk, item, error) ||
            read_record(&walk->entries, entry, &walk->item, sizeof walk->item, error))
            return -1;
        walk->n_columns = walk->n_cells;
    }
    if (add_cells(walk, &walk->item, error))
        return -1;
    walk->item.first = item->first;
    walk->item.rows = item->rows;
    if (walk->item.unit == PERUN_NONE)
        walk->item.unit = item->unit;
    return 0;
}

/* Finds the item of a row. First tries the item after the current one, for sequential reading, then continues with a binary search. */
static int find_item(struct perun_walk *walk, uint64_t number, struct perun_item *item,
                     struct pf_error *error)
{
    uint64_t low = 0, high = walk->data->n_items, middle = walk->next;
    while (low < high) {
        if (middle < low || middle >= high)
            middle = low + (high - low) / 2;
        if (read_record(&walk->items, middle, item, sizeof *item, error))
            return -1;
        if (number >= item->first && number - item->first < item->rows) {
            walk->next = middle + 1;
            return 0;
        }
        if (number < item->first)
            high = middle;
        else
            low = middle + 1;
        middle = high; /* out of the range, so bisect from now on */
    }
    return pf_fail(error, EBADMSG, "row %ju is of no resource", (uintmax_t)number);
}

int perun_walk_to(struct perun_walk *walk, uint64_t number, struct pf_error *error)
{
    struct perun_item item = {0};
    if (number >= walk->data->n_rows)
        return 0;
    bool loaded = number >= walk->item.first && number - walk->item.first < walk->item.rows;
    if (!loaded && (find_item(walk, number, &item, error) || load_item(walk, &item, error))) {
        walk->item.rows = 0;
        return -1;
    }
    walk->number = number;
    for (size_t i = 0; i < walk->n_columns; i++) {
        struct perun_cell *cell = &walk->cells[i];
        if (cell->in_column && (read_record(&cell->cells, cell->first + number - walk->item.first,
                                            &cell->value.cell, sizeof cell->value.cell, error) ||
                                find_text(cell, error)))
            return -1;
    }
    return 1;
}

struct pf_cell perun_walk_cell(const struct perun_walk *walk, uint32_t field)
{
    for (size_t i = 0; i < walk->n_cells; i++)
        if (walk->cells[i].value.field == field)
            return walk->cells[i].value.cell;
    return pf_absent();
}

/* ---- the columns of resources.csv --------------------------------------------------------------- */

/* Fields get columns in the order of their numbers, first those without texts, then those with texts. */
void perun_make_columns(struct perun *perun)
{
    static const struct pf_column last[PERUN_R_LAST] = {
        {.name = "type"}, {.name = "subtype"}, {.name = "uid"}};
    struct perun_data *data = &perun->data;
    uint32_t fields = pf_strings_count(data->fields);
    unsigned next = PERUN_R_FIELDS;
    for (uint32_t i = 0; i < fields; i++)
        data->field_list[i].column = -1;
    for (uint32_t k = 0; k < 2 * fields; k++) {
        struct perun_field *field = &data->field_list[k % fields];
        struct pf_cell name = pf_interned(data->fields, k % fields);
        if (!field->seen || field->texts != k / fields || k % fields == PERUN_TIME ||
            k % fields == PERUN_THREAD)
            continue;
        if (next == PERUN_R_FIELDS + PERUN_OWN_COLUMNS) {
            pf_run_note(data->run, &perun_problems[PERUN_TOO_MANY], 0, -1, "fields");
            break;
        }
        field->column = (int)next;
        perun->resource_columns[next++] = (struct pf_column){
            .name = perun_name(perun, field->reserved ? "field." : "", name.text, name.size)};
    }
    perun->last_columns = next;
    memcpy(perun->resource_columns + next, last, sizeof last);
    perun->tables[PERUN_RESOURCES].n_columns = next + PERUN_R_LAST;
}

/* ---- the table ---------------------------------------------------------------------------------- */

static int begin_resources(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct perun *perun = cursor->model->state;
    numbers->own = perun_walk_new(&perun->data);
    if (!numbers->own)
        return pf_fail_memory(error);
    numbers->end = perun->data.n_rows;
    return 0;
}

/* Fills the row of resources.csv. The column `thread` shows the field `tid` or, if that is absent, the field `thread`. */
static void fill_row(const struct perun *perun, const struct perun_walk *walk, struct pf_cell *row)
{
    const struct perun_region *region = &walk->data->regions[walk->item.region];
    struct pf_cell time = pf_absent(), tid = pf_absent(), thread = pf_absent(),
                   *last = row + perun->last_columns;
    for (size_t i = PERUN_R_FIELDS; i < perun->last_columns; i++)
        row[i] = pf_absent();
    for (size_t i = 0; i < walk->n_cells; i++) {
        const struct perun_value *value = &walk->cells[i].value;
        int column = walk->data->field_list[value->field].column;
        if (column >= 0)
            row[column] = value->cell;
        if (value->field > PERUN_THREAD)
            continue;
        *(value->field == PERUN_TIME ? &time : value->field == PERUN_TID ? &tid : &thread) = value->cell;
    }
    row[PERUN_R_SNAPSHOT] = region->numbered ? pf_int(region->number) : pf_absent();
    row[PERUN_R_TIME] = time.type == PF_ABSENT && region->declared ? region->time : time;
    row[PERUN_R_CONTEXT] = pf_uint(walk->item.context);
    row[PERUN_R_THREAD] = tid.type != PF_ABSENT ? tid : thread;
    last[PERUN_R_TYPE] = perun_string_cell(&perun->data, perun_type_of(perun, walk->item.kind));
    last[PERUN_R_SUBTYPE] = perun_string_cell(&perun->data, walk->item.subtype);
    last[PERUN_R_UID] = perun_string_cell(&perun->data, walk->item.uid);
}

static int resource_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *row,
                        struct pf_error *error)
{
    int more = perun_walk_to(own, number, error);
    if (more <= 0)
        return more;
    fill_row(cursor->model->state, own, row);
    row[PERUN_R_ROW] = pf_uint(number);
    return 1;
}

const struct pf_numbered perun_resources = {PF_NUMBERED, .begin = begin_resources, .row = resource_row,
                                            .free = perun_walk_free};
