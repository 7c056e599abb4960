/* SPDX-License-Identifier: MIT */
/*
 * The regions `resources` and `resource_type_map`: types with columns, and entries with what the rows of each share, which have
 * equal keys. Either may come first; there may be a type for each resource.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/sorter.h"
#include "formats/perun/perun.h"

/* Records of the sorter by which types find entries: all of one key together, entries first, in the order of the file. */
enum { HASH, ORDER, PLACE, KEY_WORDS, KEY_KEYS = 2 };
#define OF_TYPES (UINT64_C(1) << 63)

static int add_key(struct perun_reading *reading, uint64_t hash, uint64_t order, uint64_t place,
                   struct pf_error *error)
{
    if (!reading->keys && !(reading->keys = pf_sorter_new(KEY_WORDS, KEY_KEYS, 1 << 20)))
        return pf_fail_memory(error);
    return pf_sorter_add(reading->keys, (uint64_t[]){hash, order, place}, error);
}

/* ---- columns ------------------------------------------------------------------------------------ */

struct column {
    uint32_t field;
    uint64_t start, rows; /* its first cell in data->columns; how many there are */
    bool whole;           /* it was read to its end */
};

static int add_cell(struct perun_reading *reading, struct column *column, struct pf_cell cell,
                    struct pf_error *error)
{
    struct perun_data *data = reading->data;
    struct perun_field *field = &data->field_list[column->field];
    field->seen |= cell.type != PF_ABSENT;
    if (cell.type == PF_TEXT) {
        const char *text = cell.text;
        field->texts = true;
        cell = (struct pf_cell){.type = PF_TEXT, .size = cell.size, .u = pf_store_size(data->column_texts)};
        if (pf_store_append(data->column_texts, text, cell.size, error))
            return -1;
    }
    column->rows++;
    return pf_store_append(data->columns, &cell, sizeof cell, error);
}

/* A list, behind its first token. */
static int read_list(struct perun_reading *reading, struct column *column, struct pf_error *error)
{
    struct pf_json_token token;
    struct pf_cell cell;
    int event;
    for (;;) {
        bool simple = pf_json_accept_number(reading->json, &cell); /* as nearly all are */
        if (!simple) {
            event = pf_json_next(reading->json, &token, error);
            if (event <= 0 || event == PF_JSON_ARRAY_END)
                break;
            cell = perun_value_of(reading, column->field, &token);
        }
        if (add_cell(reading, column, cell, error) || (!simple && perun_leave(reading, &token, error)) ||
            perun_step(reading, error))
            return -1;
    }
    column->whole = event == PF_JSON_ARRAY_END;
    return event < 0 ? -1 : 0;
}

/* A column, behind its name. */
static int read_column(struct perun_reading *reading, struct column *column, struct pf_error *error)
{
    struct pf_json_token token;
    column->start = pf_store_size(reading->data->columns) / sizeof(struct pf_cell);
    if (pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_ARRAY)
        return read_list(reading, column, error);
    PERUN_NOTE(reading, &token, PERUN_NO_LIST, NULL);
    column->whole = true;
    return perun_leave(reading, &token, error);
}

/* The place for a column: of equal ones the last counts. NULL: there are too many. */
static struct column *place_for(struct column *columns, size_t *n, uint32_t field)
{
    size_t i = 0;
    while (i < *n && columns[i].field != field)
        i++;
    if (i == PERUN_VALUES_MAX)
        return NULL;
    *n += i == *n;
    columns[i] = (struct column){.field = field};
    return &columns[i];
}

/* How many rows all columns have; a type without columns is one resource. One that damage cuts off takes none of the others'. */
static uint64_t rows_of(struct perun_reading *reading, const struct column *columns, size_t n,
                        const struct pf_json_token *key)
{
    uint64_t rows = UINT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (columns[i].whole || (n == 1 && columns[i].rows))
            rows = columns[i].rows < rows ? columns[i].rows : rows;
        most = columns[i].whole && columns[i].rows > most ? columns[i].rows : most;
    }
    if (n && most > rows)
        PERUN_NOTE(reading, key, PERUN_UNEQUAL, NULL);
    return !n ? 1 : rows == UINT64_MAX ? 0 : rows;
}

/* Keeps the type. Cells that a column cut off by damage lacks are absent. */
static int keep_type(struct perun_reading *reading, struct column *columns, size_t n,
                     const struct pf_json_token *key, uint64_t hash, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    struct perun_item item = {.mark = pf_siphash_number(pf_store_size(data->items)),
                              .type = true,
                              .n_values = (uint32_t)n,
                              .rows = rows_of(reading, columns, n, key),
                              .unit = reading->item.unit};
    if (add_key(reading, hash, OF_TYPES | data->n_types, reading->body + key->offset, error) ||
        pf_store_append(data->items, &item, sizeof item, error))
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct perun_value value = {.field = columns[i].field, .cell = {.u = columns[i].start}};
        if (pf_store_append(data->items, &value, sizeof value, error))
            return -1;
        while (columns[i].rows < item.rows)
            if (add_cell(reading, &columns[i], pf_absent(), error))
                return -1;
    }
    data->n_types++;
    data->n_items++;
    return 0;
}

/* A type, behind its first token. What was read of it before damage is kept. */
static int read_type(struct perun_reading *reading, const struct pf_json_token *key, uint64_t hash,
                     struct column *columns, struct pf_error *error)
{
    struct pf_json_token name;
    struct pf_error other;
    size_t n = 0;
    int event, failed = 0;
    reading->item.unit = PERUN_NONE;
    while (!failed && (event = pf_json_next(reading->json, &name, error)) != PF_JSON_OBJECT_END) {
        uint32_t field = event < 0 ? PERUN_NONE : perun_field(reading->data, name.text, name.size, error);
        struct column ignored, *column = field == PERUN_NONE ? NULL : place_for(columns, &n, field);
        if (field != PERUN_NONE && !column) {
            PERUN_NOTE(reading, &name, PERUN_MANY_FIELDS, NULL);
            ignored = (struct column){.field = field};
            column = &ignored;
        }
        failed = !column || read_column(reading, column, error);
    }
    return keep_type(reading, columns, n, key, hash, failed ? &other : error) || failed ? -1 : 0;
}

int perun_read_types(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token key, token;
    struct column *columns = malloc(PERUN_VALUES_MAX * sizeof *columns);
    int event, failed = columns ? 0 : pf_fail_memory(error);
    while (columns && !failed && (event = pf_json_next(reading->json, &key, error)) != PF_JSON_OBJECT_END) {
        uint64_t hash = event < 0 ? 0 : pf_siphash(0, key.text, key.size);
        if (event < 0 || pf_json_next(reading->json, &token, error) < 0 || perun_step(reading, error))
            failed = -1;
        else
            failed = token.event == PF_JSON_OBJECT
                         ? read_type(reading, &key, hash, columns, error)
                         : perun_wrong_kind(reading, &token, "a type with columns", error);
    }
    free(columns);
    return failed ? -1 : 0;
}

/* ---- what the rows of a type share -------------------------------------------------------------- */

int perun_read_entries(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token key, token;
    struct pf_store *entries = reading->data->entries;
    int event;
    while ((event = pf_json_next(reading->json, &key, error)) == PF_JSON_NAME) {
        uint64_t hash = pf_siphash(0, key.text, key.size), place = pf_store_size(entries);
        if (pf_json_next(reading->json, &token, error) < 0)
            return -1;
        if (token.event != PF_JSON_OBJECT) {
            if (perun_wrong_kind(reading, &token, "an entry of resource_type_map", error))
                return -1;
        } else if (perun_read_object(reading, error) ||
                   perun_keep(reading, entries, PERUN_NONE, PERUN_NONE, error) ||
                   add_key(reading, hash, reading->n_entries++, place, error)) {
            return -1;
        }
    }
    return event < 0 ? -1 : 0;
}

/* ---- types and entries brought together --------------------------------------------------------- */

/* For each type, in the order of keys, its number and the link: 1 + offset of its entry, or 0. */
static int find_entries(struct perun_reading *reading, struct pf_sorter *links, struct pf_error *error)
{
    const uint64_t *record;
    uint64_t hash = 0, link = 0;
    int more;
    while ((more = pf_sorter_next(reading->keys, &record, error)) > 0) {
        bool type = record[ORDER] & OF_TYPES;
        if (record[HASH] != hash)
            link = 0;
        hash = record[HASH];
        if (!type)
            link = record[PLACE] + 1;
        else if (pf_sorter_add(links, (uint64_t[]){record[ORDER] & ~OF_TYPES, link, record[PLACE]}, error))
            return -1;
    }
    return more;
}

/* The links, in the order of types. */
static int write_links(struct perun_reading *reading, struct pf_sorter *links, struct pf_error *error)
{
    const uint64_t *record;
    int more = pf_sorter_finish(links, error);
    while (!more && (more = pf_sorter_next(links, &record, error)) > 0) {
        if (!record[1])
            pf_note(&reading->data->notes, &perun_problems[PERUN_NO_ENTRY], 0, (int64_t)record[2], NULL);
        more = pf_store_append(reading->data->links, &record[1], sizeof record[1], error);
    }
    return more;
}

int perun_link_types(struct perun_reading *reading, struct pf_error *error)
{
    if (!reading->data->n_types)
        return 0;
    struct pf_sorter *links = pf_sorter_new(3, 1, 1 << 20);
    int failed = !links ? pf_fail_memory(error)
                 : pf_sorter_finish(reading->keys, error) || find_entries(reading, links, error) ||
                         write_links(reading, links, error)
                     ? -1
                     : 0;
    pf_sorter_free(links);
    return failed;
}
