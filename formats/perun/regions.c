/* SPDX-License-Identifier: MIT */
/*
 * The top level of a profile: its regions, in any order. `resources` is a list of resources, or an object of types with columns.
 * The members that all rows of a type share are in the entry of `resource_type_map` with the same key; the map may come before or
 * after `resources`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/perun/perun.h"

static int leave(struct perun_reading *reading, const struct pf_json_token *token, struct pf_error *error)
{
    bool open = token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY;
    return open ? pf_json_leave(reading->json, error) : 0;
}

static int wrong_kind(struct perun_reading *reading, const struct pf_json_token *token, const char *what,
                      struct pf_error *error)
{
    PERUN_NOTE(reading, token, PERUN_WRONG_KIND, "%s", what);
    return leave(reading, token, error);
}

/* Reads element i of a list, after its first token; region: the region that holds the list, or PERUN_NONE. */
typedef int read_element(struct perun_reading *reading, int64_t i, uint32_t region, struct pf_error *error);

/* Reads the objects of a list whose first token was read; other elements are skipped with a warning. */
static int read_list(struct perun_reading *reading, const struct pf_json_token *list, const char *what,
                     read_element *read, uint32_t region, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (list->event != PF_JSON_ARRAY)
        return wrong_kind(reading, list, what, error);
    for (int64_t i = 0;
         (event = pf_json_next(reading->json, &token, error)) > 0 && event != PF_JSON_ARRAY_END; i++)
        if (perun_step(reading, error) ||
            (event == PF_JSON_OBJECT ? read(reading, i, region, error)
                                     : wrong_kind(reading, &token, what, error)))
            return -1;
    return event < 0 ? -1 : 0;
}

/* ---- columns ------------------------------------------------------------------------------------ */

struct column {
    uint32_t field;
    uint64_t start, rows; /* index of its first cell in data->columns, number of cells */
    bool whole;           /* read to its end */
};

/* Appends the buffered cells to data->columns. */
static int flush_cells(struct perun_reading *reading, struct column *column, struct pf_error *error)
{
    size_t n = reading->n_cells;
    reading->n_cells = 0;
    column->rows += n;
    return pf_store_append(reading->data->columns, reading->cells, n * sizeof *reading->cells, error) ||
                   perun_step(reading, error)
               ? -1
               : 0;
}

static int add_cell(struct perun_reading *reading, struct column *column, struct pf_cell cell,
                    struct pf_error *error)
{
    struct perun_field *field = &reading->data->field_list[column->field];
    field->seen |= cell.type != PF_ABSENT;
    field->texts |= cell.type == PF_TEXT;
    if (cell.type == PF_TEXT && perun_keep_text(reading->data, &cell, error))
        return -1;
    reading->cells[reading->n_cells++] = cell;
    return reading->n_cells < PERUN_BLOCK ? 0 : flush_cells(reading, column, error);
}

/* Reads the cells of a column after the list's first token. Cells before damage are kept. */
static int read_column_list(struct perun_reading *reading, struct column *column, struct pf_error *error)
{
    struct pf_json_token token;
    struct pf_error other;
    int event;
    while ((event = pf_json_next(reading->json, &token, error)) > 0 && event != PF_JSON_ARRAY_END)
        if (add_cell(reading, column, perun_value_of(reading, column->field, &token), error) ||
            ((event == PF_JSON_OBJECT || event == PF_JSON_ARRAY) && leave(reading, &token, error))) {
            event = -1;
            break;
        }
    column->whole = event == PF_JSON_ARRAY_END;
    return flush_cells(reading, column, column->whole ? error : &other) || !column->whole ? -1 : 0;
}

/* Reads a column after its name. */
static int read_column(struct perun_reading *reading, struct column *column, struct pf_error *error)
{
    struct pf_json_token token;
    column->start = pf_store_size(reading->data->columns) / sizeof(struct pf_cell);
    if (pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_ARRAY)
        return read_column_list(reading, column, error);
    PERUN_NOTE(reading, &token, PERUN_NO_LIST, NULL);
    column->whole = true;
    return leave(reading, &token, error);
}

/* Returns the slot for a column; the last of duplicate columns wins. NULL: too many columns. */
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

/* Returns the number of rows that all columns have; 1 without columns. A truncated column does not shorten the others. */
static uint64_t rows_of(struct perun_reading *reading, const struct column *columns, size_t n,
                        const struct pf_json_token *key)
{
    uint64_t rows = UINT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++)
        if (columns[i].whole) {
            rows = columns[i].rows < rows ? columns[i].rows : rows;
            most = columns[i].rows > most ? columns[i].rows : most;
        }
    if (rows < most)
        PERUN_NOTE(reading, key, PERUN_UNEQUAL, NULL);
    return !n ? 1 : rows < UINT64_MAX ? rows : columns[0].rows;
}

/* Appends the type to data->items, and its columns to data->values. A truncated column is padded with absent cells. */
static int keep_type(struct perun_reading *reading, struct column *columns, size_t n,
                     const struct pf_json_token *key, uint64_t hash, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    struct perun_item item = {.type = true,
                              .n_values = (uint32_t)n,
                              .first = data->n_rows,
                              .rows = rows_of(reading, columns, n, key),
                              .values = pf_store_size(data->values) / sizeof(struct perun_value),
                              .place = reading->body + key->offset,
                              .key = hash,
                              .unit = reading->item.unit};
    for (size_t i = 0; i < n; i++) {
        struct perun_value value = {.field = columns[i].field, .cell = {.u = columns[i].start}};
        if (pf_store_append(data->values, &value, sizeof value, error))
            return -1;
        for (uint64_t row = columns[i].rows; row < item.rows; row++)
            if (add_cell(reading, &columns[i], pf_absent(), error))
                return -1;
        if (flush_cells(reading, &columns[i], error))
            return -1;
    }
    data->n_rows += item.rows;
    return pf_store_append(data->items, &item, sizeof item, error);
}

/* Reads the columns of a type after its first token. *n: number of columns. */
static int read_columns(struct perun_reading *reading, struct column *columns, size_t *n,
                        struct pf_error *error)
{
    struct pf_json_token name, rest;
    int event;
    while ((event = pf_json_next(reading->json, &name, error)) == PF_JSON_NAME) {
        uint32_t field = perun_field(reading->data, name.text, name.size, error);
        struct column *column = field == PERUN_NONE ? NULL : place_for(columns, n, field);
        if (field == PERUN_NONE)
            return -1;
        if (!column)
            PERUN_NOTE(reading, &name, PERUN_TOO_MANY, "columns of one type");
        if (column ? read_column(reading, column, error) : pf_json_skip(reading->json, &rest, error) < 0)
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* The hash is keyed with the process's secret, so equal hashes are taken for equal names. */
static uint64_t hash_of(const struct pf_json_token *name)
{
    return pf_siphash(0, name->text, name->size);
}

/* Reads an object of types after its first token. The part of a type before damage is kept. */
static int read_types(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token key, token;
    struct pf_error other;
    struct column *columns = malloc(PERUN_VALUES_MAX * sizeof *columns);
    int event = 0, failed = columns ? 0 : pf_fail_memory(error);
    while (!failed && (event = pf_json_next(reading->json, &key, error)) == PF_JSON_NAME) {
        uint64_t hash = hash_of(&key);
        size_t n = 0;
        if ((failed = pf_json_next(reading->json, &token, error) < 0 || perun_step(reading, error)))
            break;
        if (token.event != PF_JSON_OBJECT) {
            failed = wrong_kind(reading, &token, "a type with columns", error);
            continue;
        }
        reading->item.unit = PERUN_NONE;
        failed = read_columns(reading, columns, &n, error);
        failed |= keep_type(reading, columns, n, &key, hash, failed ? &other : error);
    }
    free(columns);
    return failed || event < 0 ? -1 : 0;
}

/* ---- resource_type_map -------------------------------------------------------------------------- */

static int read_entries(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token key, token;
    struct perun_data *data = reading->data;
    int event;
    while ((event = pf_json_next(reading->json, &key, error)) == PF_JSON_NAME) {
        uint64_t number = pf_store_size(data->entries) / sizeof(struct perun_item), hash = hash_of(&key);
        if (pf_json_next(reading->json, &token, error) < 0)
            return -1;
        if (token.event != PF_JSON_OBJECT) {
            if (wrong_kind(reading, &token, "an entry of resource_type_map", error))
                return -1;
            continue;
        }
        if (perun_read_object(reading, error) || perun_keep(reading, data->entries, PERUN_NONE, error))
            return -1;
        if (number >= PF_NO_ID)
            return pf_fail(error, EFBIG, "too many entries");
        if (pf_ids_set(&data->entry_of, hash, (uint32_t)number, error))
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* ---- resources and models ----------------------------------------------------------------------- */

static int keep_resource(struct perun_reading *reading, uint32_t region, struct pf_error *error)
{
    reading->item.first = reading->data->n_rows++;
    reading->item.rows = 1;
    return perun_keep(reading, reading->data->items, region, error);
}

static int read_resource(struct perun_reading *reading, int64_t i, uint32_t region, struct pf_error *error)
{
    (void)i;
    return perun_read_object(reading, error) ? -1 : keep_resource(reading, region, error);
}

static int read_resources(struct perun_reading *reading, uint32_t region, struct pf_error *error)
{
    struct pf_json_token token;
    if (pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_OBJECT && region == PERUN_NONE)
        return read_types(reading, error);
    return read_list(reading, &token, "a resource, or a list of these", read_resource, region, error);
}

static int read_models(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int more = pf_json_next(reading->json, &token, error) < 0 ? -1 : 1;
    if (more > 0 && token.event != PF_JSON_ARRAY)
        return wrong_kind(reading, &token, "a list of models", error);
    while (more > 0)
        more = perun_step(reading, error) ? -1 : perun_read_model(reading, error);
    return more;
}

/* ---- snapshots and global ----------------------------------------------------------------------- */

/* Reads the time of a region, which may come after its resources. */
static int read_time(struct perun_reading *reading, uint32_t region, struct pf_error *error)
{
    struct pf_json_token token;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_OBJECT || token.event == PF_JSON_ARRAY)
        return 0;
    return perun_set_time(reading->data, region, perun_value_of(reading, PERUN_TIME, &token), error);
}

/* Returns true if the object just read has members of a resource. */
static bool is_resource(const struct perun_reading *reading)
{
    bool resource = reading->uid.token.event != PF_JSON_END || reading->trace.token.event != PF_JSON_END;
    for (uint32_t i = 0; i < reading->item.n_values; i++)
        resource |= reading->values[i].field == PERUN_AMOUNT;
    return resource;
}

/* Reads a snapshot or a global region after its first token. A list of global regions may also contain resources. */
static int read_region(struct perun_reading *reading, uint32_t region, struct pf_error *error)
{
    struct pf_json_token name;
    bool resources = false, models = false;
    int event;
    if (region == PERUN_NONE)
        return -1;
    reading->data->regions[region].told = true;
    perun_begin_object(reading);
    while ((event = pf_json_next(reading->json, &name, error)) == PF_JSON_NAME) {
        bool time = pf_json_is(&name, "time") || pf_json_is(&name, "timestamp"),
             list = pf_json_is(&name, "resources"), fits = pf_json_is(&name, "models");
        resources |= list;
        models |= fits;
        if (time   ? read_time(reading, region, error)
            : list ? read_resources(reading, region, error)
            : fits ? read_models(reading, error)
                   : perun_read_member(reading, &name, error))
            return -1;
    }
    if (event < 0)
        return -1;
    if (!resources && reading->data->regions[region].numbered)
        PERUN_NOTE(reading, &name, PERUN_NO_RESOURCES, NULL);
    else if (!resources && !models && is_resource(reading))
        return perun_end_object(reading, error) || keep_resource(reading, region, error) ? -1 : 0;
    return 0;
}

/* A snapshot's number is its position in the list. */
static int read_snapshot(struct perun_reading *reading, int64_t i, uint32_t none, struct pf_error *error)
{
    (void)none;
    return read_region(reading, perun_snapshot(reading->data, i, error), error);
}

static int read_global(struct perun_reading *reading, int64_t i, uint32_t none, struct pf_error *error)
{
    (void)i, (void)none;
    return read_region(reading, perun_new_region(reading->data, error), error);
}

/* ---- the top level ------------------------------------------------------------------------------ */

enum { RESOURCES, TYPE_MAP, SNAPSHOTS, GLOBAL, MODELS, OTHER };

/* Reads a top-level member after its name. */
static int read_member(struct perun_reading *reading, const struct pf_json_token *name,
                       struct pf_error *error)
{
    static const char *const names[] = {[RESOURCES] = "resources",
                                        [TYPE_MAP] = "resource_type_map",
                                        [SNAPSHOTS] = "snapshots",
                                        [GLOBAL] = "global",
                                        [MODELS] = "models"};
    struct pf_json_token token;
    int member = 0;
    while (member < OTHER && !pf_json_is(name, names[member]))
        member++;
    if (member == OTHER)
        return perun_read_shown(reading, name, error);
    reading->has_resources |= member < MODELS;
    if (member == MODELS)
        return read_models(reading, error);
    if (member == RESOURCES)
        return read_resources(reading, PERUN_NONE, error);
    if (pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (member == SNAPSHOTS)
        return read_list(reading, &token, "a snapshot, or a list of these", read_snapshot, PERUN_NONE, error);
    if (member == TYPE_MAP)
        return token.event == PF_JSON_OBJECT ? read_entries(reading, error)
                                             : wrong_kind(reading, &token, "an object", error);
    return token.event == PF_JSON_OBJECT
               ? read_global(reading, 0, PERUN_NONE, error)
               : read_list(reading, &token, "a global region", read_global, PERUN_NONE, error);
}

static int read_all(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event >= 0 && event != PF_JSON_OBJECT) {
        pf_fail_at(error, EBADMSG, (int64_t)token.offset, "the top level is not an object");
        error->line = (int64_t)token.line;
        return -1;
    }
    while (event >= 0 && (event = pf_json_next(reading->json, &token, error)) == PF_JSON_NAME)
        if (read_member(reading, &token, error))
            return -1;
    /* Fails if text follows the top-level object. */
    if (event < 0 || pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (!reading->has_resources)
        pf_note(&reading->data->notes, &perun_problems[PERUN_NO_REGION], 0, -1, NULL);
    return 0;
}

/*
 * Adds a warning for the error that ended reading. Returns false if the error is not damage. Damage of the compressed stream takes
 * precedence over the resulting error of the JSON.
 */
static bool note_damage(struct perun_reading *reading, const struct pf_error *error)
{
    struct pf_error damage;
    struct pf_notes *notes = &reading->data->notes;
    int64_t offset = error->offset < 0 ? -1 : error->offset + (int64_t)reading->body;
    if (error->code != EBADMSG && error->code != ENODATA && error->code != E2BIG)
        return false;
    if (pf_input_damage(reading->input, &damage))
        pf_note(notes, &perun_problems[PERUN_BAD_STREAM], 0, damage.offset, "%s", damage.what);
    else
        pf_note(notes, &perun_problems[PERUN_BAD_JSON], error->line, offset, "%s", error->what);
    return true;
}

/* ---- after the last region ---------------------------------------------------------------------- */

/* Drops the rows of types that are not in resource_type_map, and renumbers the rows after them. */
static int drop_types(struct perun_data *data, struct pf_error *error)
{
    struct pf_store_window items = {.store = data->items};
    struct perun_item item;
    int failed = 0;
    data->n_items = pf_store_size(data->items) / sizeof item;
    data->n_rows = 0;
    for (uint64_t i = 0; i < data->n_items && !failed; i++) {
        const void *kept = pf_store_at(&items, i * sizeof item, sizeof item, error);
        if ((failed = !kept))
            break;
        memcpy(&item, kept, sizeof item);
        bool known = !item.type || pf_ids_find(&data->entry_of, item.key) != PF_NO_ID;
        if (!known) {
            pf_note(&data->notes, &perun_problems[PERUN_NO_ENTRY], 0, (int64_t)item.place, NULL);
            item.rows = 0;
        }
        if (!known || item.first != data->n_rows) {
            item.first = data->n_rows;
            failed = pf_store_write(data->items, i * sizeof item, &item, sizeof item, error);
        }
        data->n_rows += item.rows;
    }
    pf_store_window_free(&items);
    return failed ? -1 : 0;
}

int perun_read(struct perun_reading *reading, struct pf_error *error)
{
    uint64_t behind;
    if (read_all(reading, error) && !note_damage(reading, error))
        return -1;
    if (pf_input_trailing(reading->input, &behind))
        pf_note(&reading->data->notes, &perun_problems[PERUN_TRAILING], 0, (int64_t)behind, NULL);
    return drop_types(reading->data, error) || perun_name_models(reading->data, error) ? -1 : 0;
}
