/* SPDX-License-Identifier: MIT */
/*
 * The top level of a profile, whose regions may come in any order. `resources` is a list of rows, or maps the key of each type to its
 * columns of rows. `resource_type_map`, which may come before or after `resources`, maps this key to the members that all rows of the
 * type share.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/json/walk.h"
#include "formats/perun/perun.h"

/* Skips the rest of a value whose first token was read. */
static void leave(struct perun_reading *reading, const struct pf_json_token *token)
{
    struct pf_run *run = reading->data->run;
    if (token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY)
        pf_run_check(run, pf_json_leave(reading->json, run->error));
}

static void wrong_kind(struct perun_reading *reading, const struct pf_json_token *token, const char *what)
{
    PERUN_NOTE(reading, token, PERUN_WRONG_KIND, "%s", what);
    leave(reading, token);
}

/* Reads element i of a list, after the element's first token. `region` is the region that contains the list, or PERUN_NONE. */
typedef void read_element(struct perun_reading *reading, int64_t i, uint32_t region);

/* Reads the objects of a list whose first token was read. Skips other elements with a warning. */
static void read_list(struct perun_reading *reading, const struct pf_json_token *list, const char *what,
                      read_element *read, uint32_t region)
{
    struct pf_json_token token;
    int event;
    if (list->event != PF_JSON_ARRAY) {
        wrong_kind(reading, list, what);
        return;
    }
    for (int64_t i = 0; (event = perun_next(reading, &token)) > 0 && event != PF_JSON_ARRAY_END; i++) {
        perun_step(reading);
        if (event == PF_JSON_OBJECT)
            read(reading, i, region);
        else
            wrong_kind(reading, &token, what);
    }
}

/* ---- columns ------------------------------------------------------------------------------------ */

/* Maximum number of cells of a column that are appended to data->columns at once. */
enum { BLOCK = 1024 };

struct column {
    uint32_t field;
    uint64_t start, rows; /* index of the first cell in data->columns; number of cells */
    bool whole;           /* not cut off by damage */
};

/* A type with columns. */
struct perun_type {
    bool open; /* it has begun, and keep_type has not been called */
    struct pf_json_token key;
    uint64_t hash; /* of the type's name */
    struct column columns[PERUN_VALUES_MAX];
    size_t n;
    struct column *column; /* the column being read */
    struct pf_cell cells[BLOCK];
    size_t n_cells;
};

/* Appends the buffered cells to data->columns. */
static void flush_cells(struct perun_reading *reading)
{
    struct perun_type *type = reading->type;
    perun_append(reading->data, reading->data->columns, type->cells, type->n_cells * sizeof *type->cells);
    type->column->rows += type->n_cells;
    type->n_cells = 0;
    perun_step(reading);
}

static void add_cell(struct perun_reading *reading, struct pf_cell cell)
{
    struct perun_type *type = reading->type;
    struct perun_field *field = &reading->data->field_list[type->column->field];
    field->seen |= cell.type != PF_ABSENT;
    field->texts |= cell.type == PF_TEXT;
    if (cell.type == PF_TEXT)
        perun_keep_text(reading->data, &cell);
    type->cells[type->n_cells++] = cell;
    if (type->n_cells == BLOCK)
        flush_cells(reading);
}

/* Reads a column after its name. */
static void read_column(struct perun_reading *reading)
{
    struct column *column = reading->type->column;
    struct pf_json_token token;
    column->start = pf_store_size(reading->data->columns) / sizeof(struct pf_cell);
    if (perun_next(reading, &token) != PF_JSON_ARRAY) {
        PERUN_NOTE(reading, &token, PERUN_NO_LIST, NULL);
        column->whole = true;
        leave(reading, &token);
        return;
    }
    while (perun_next(reading, &token) != PF_JSON_ARRAY_END) {
        add_cell(reading, perun_value_of(reading, column->field, &token));
        leave(reading, &token);
    }
    column->whole = true;
    flush_cells(reading);
}

/*
 * Returns an empty slot for the column of a field, which replaces an earlier column of the field. Returns NULL if there are too many
 * columns.
 */
static struct column *column_for(struct perun_type *type, uint32_t field)
{
    size_t i = 0;
    while (i < type->n && type->columns[i].field != field)
        i++;
    if (i == PERUN_VALUES_MAX)
        return NULL;
    type->n += i == type->n;
    type->columns[i] = (struct column){.field = field};
    return &type->columns[i];
}

/*
 * Returns the number of rows of a type, which is the length of its shortest column, or 1 if it has no columns. A column that was cut off by
 * damage is ignored unless it is the only one.
 */
static uint64_t rows_of_type(struct perun_reading *reading)
{
    const struct perun_type *type = reading->type;
    uint64_t rows = UINT64_MAX, most = 0;
    for (size_t i = 0; i < type->n; i++)
        if (type->columns[i].whole) {
            rows = type->columns[i].rows < rows ? type->columns[i].rows : rows;
            most = type->columns[i].rows > most ? type->columns[i].rows : most;
        }
    if (rows < most)
        PERUN_NOTE(reading, &type->key, PERUN_UNEQUAL, NULL);
    return !type->n ? 1 : rows < UINT64_MAX ? rows : type->columns[0].rows;
}

/* Appends the type to data->items, and its columns to data->values. Pads a column that was cut off by damage with absent cells. */
static void keep_type(struct perun_reading *reading)
{
    struct perun_data *data = reading->data;
    struct perun_type *type = reading->type;
    type->open = false;
    if (type->n_cells)
        flush_cells(reading);
    struct perun_item item = {.type = true,
                              .n_values = (uint32_t)type->n,
                              .first = data->n_rows,
                              .rows = rows_of_type(reading),
                              .values = pf_store_size(data->values) / sizeof(struct perun_value),
                              .place = reading->body + type->key.offset,
                              .key = type->hash,
                              .unit = reading->item.unit};
    for (size_t i = 0; i < type->n; i++) {
        type->column = &type->columns[i];
        struct perun_value value = {.field = type->column->field, .cell = {.u = type->column->start}};
        perun_append(data, data->values, &value, sizeof value);
        for (uint64_t row = type->column->rows; row < item.rows; row++)
            add_cell(reading, pf_absent());
        flush_cells(reading);
    }
    data->n_rows += item.rows;
    perun_append(data, data->items, &item, sizeof item);
}

/* Reads the columns of a type after the first token of the type's object. */
static void read_columns(struct perun_reading *reading)
{
    struct perun_type *type = reading->type;
    struct pf_json_token name, rest;
    while (perun_next(reading, &name) == PF_JSON_NAME) {
        type->column = column_for(type, perun_field(reading->data, name.text, name.size));
        if (type->column) {
            read_column(reading);
            continue;
        }
        PERUN_NOTE(reading, &name, PERUN_TOO_MANY, "columns of one type");
        perun_skip(reading, &rest);
    }
}

/* Returns a hash. It is keyed with the process's secret, so names with equal hashes are taken to be equal. */
static uint64_t hash_of_name(const struct pf_json_token *name)
{
    return pf_siphash(0, name->text, name->size);
}

/* Reads `resources` that is an object of types with columns, after the object's first token. */
static void read_types(struct perun_reading *reading)
{
    struct perun_type *type = reading->type;
    struct pf_json_token token;
    while (perun_next(reading, &type->key) == PF_JSON_NAME) {
        type->hash = hash_of_name(&type->key);
        type->n = 0;
        perun_next(reading, &token);
        perun_step(reading);
        if (token.event != PF_JSON_OBJECT) {
            wrong_kind(reading, &token, "a type with columns");
            continue;
        }
        reading->item.unit = PERUN_NONE;
        type->open = true;
        read_columns(reading);
        keep_type(reading);
    }
}

/* ---- resource_type_map -------------------------------------------------------------------------- */

static void read_entries(struct perun_reading *reading)
{
    struct pf_json_token key, token;
    struct perun_data *data = reading->data;
    struct pf_run *run = data->run;
    while (perun_next(reading, &key) == PF_JSON_NAME) {
        uint64_t number = pf_store_size(data->entries) / sizeof(struct perun_item), hash = hash_of_name(&key);
        if (perun_next(reading, &token) != PF_JSON_OBJECT) {
            wrong_kind(reading, &token, "an entry of resource_type_map");
            continue;
        }
        perun_read_object(reading);
        perun_keep(reading, data->entries, PERUN_NONE);
        if (number >= PF_NO_ID)
            pf_run_check(run, pf_fail(run->error, EFBIG, "too many entries"));
        pf_run_check(run, pf_ids_set(&data->entry_of, hash, (uint32_t)number, run->error));
    }
}

/* ---- resources and models ----------------------------------------------------------------------- */

static void keep_resource(struct perun_reading *reading, uint32_t region)
{
    reading->item.first = reading->data->n_rows++;
    reading->item.rows = 1;
    perun_keep(reading, reading->data->items, region);
}

static void read_resource(struct perun_reading *reading, int64_t i, uint32_t region)
{
    (void)i;
    perun_read_object(reading);
    keep_resource(reading, region);
}

static void read_resources(struct perun_reading *reading, uint32_t region)
{
    struct pf_json_token token;
    perun_next(reading, &token);
    if (token.event == PF_JSON_OBJECT && region == PERUN_NONE)
        read_types(reading);
    else
        read_list(reading, &token, "a resource, or a list of these", read_resource, region);
}

static void read_models(struct perun_reading *reading)
{
    struct pf_json_token token;
    if (perun_next(reading, &token) != PF_JSON_ARRAY) {
        wrong_kind(reading, &token, "a list of models");
        return;
    }
    do
        perun_step(reading);
    while (perun_read_model(reading));
}

/* ---- snapshots and global ----------------------------------------------------------------------- */

/* Reads the time of a region, which may come after the region's resources. */
static void read_time(struct perun_reading *reading, uint32_t region)
{
    struct pf_json_token token;
    perun_skip(reading, &token);
    if (token.event != PF_JSON_OBJECT && token.event != PF_JSON_ARRAY)
        perun_set_time(reading->data, region, perun_value_of(reading, PERUN_TIME, &token));
}

/* Returns true if the object just read has members of a resource. */
static bool is_resource(const struct perun_reading *reading)
{
    bool resource = reading->uid.token.event != PF_JSON_END || reading->trace.token.event != PF_JSON_END;
    for (uint32_t i = 0; i < reading->item.n_values; i++)
        resource |= reading->values[i].field == PERUN_AMOUNT;
    return resource;
}

/*
 * Reads a snapshot or a global region after its first token. A list of global regions may also contain resources. These
 * are the objects that have members of a resource, but neither `resources` nor `models`.
 */
static void read_region(struct perun_reading *reading, uint32_t region)
{
    struct pf_json_token name;
    bool resources = false, models = false;
    reading->data->regions[region].declared = true;
    perun_begin_object(reading);
    while (perun_next(reading, &name) == PF_JSON_NAME) {
        if (pf_json_is(&name, "time") || pf_json_is(&name, "timestamp")) {
            read_time(reading, region);
        } else if (pf_json_is(&name, "resources")) {
            resources = true;
            read_resources(reading, region);
        } else if (pf_json_is(&name, "models")) {
            models = true;
            read_models(reading);
        } else {
            perun_read_member(reading, &name);
        }
    }
    if (!resources && reading->data->regions[region].numbered) {
        PERUN_NOTE(reading, &name, PERUN_NO_RESOURCES, NULL);
    } else if (!resources && !models && is_resource(reading)) {
        perun_end_object(reading);
        keep_resource(reading, region);
    }
}

/* Reads a snapshot, whose number is its position in the list. */
static void read_snapshot(struct perun_reading *reading, int64_t i, uint32_t none)
{
    (void)none;
    read_region(reading, perun_snapshot(reading->data, i));
}

static void read_global(struct perun_reading *reading, int64_t i, uint32_t none)
{
    (void)i, (void)none;
    read_region(reading, perun_new_region(reading->data));
}

/* ---- the top level ------------------------------------------------------------------------------ */

enum { RESOURCES, TYPE_MAP, SNAPSHOTS, GLOBAL, MODELS, OTHER };

/* Reads a top-level member after its name. */
static void read_top_member(struct perun_reading *reading, const struct pf_json_token *name)
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
    reading->has_resources |= member < MODELS;
    if (member == OTHER) {
        perun_read_shown(reading, name);
    } else if (member == MODELS) {
        read_models(reading);
    } else if (member == RESOURCES) {
        read_resources(reading, PERUN_NONE);
    } else {
        bool object = perun_next(reading, &token) == PF_JSON_OBJECT;
        if (member == SNAPSHOTS)
            read_list(reading, &token, "a snapshot, or a list of these", read_snapshot, PERUN_NONE);
        else if (member == TYPE_MAP && object)
            read_entries(reading);
        else if (member == TYPE_MAP)
            wrong_kind(reading, &token, "an object");
        else if (object)
            read_global(reading, 0, PERUN_NONE);
        else
            read_list(reading, &token, "a global region", read_global, PERUN_NONE);
    }
}

static void read_all(struct pf_run *run, void *arg)
{
    struct perun_reading *reading = arg;
    struct pf_json_token token;
    if (perun_next(reading, &token) != PF_JSON_OBJECT) {
        pf_fail_at(run->error, EBADMSG, (int64_t)token.offset, "the top level is not an object");
        run->error->line = (int64_t)token.line;
        pf_run_fail(run);
    }
    while (perun_next(reading, &token) == PF_JSON_NAME)
        read_top_member(reading, &token);
    /* Fails if text follows the top-level object. */
    perun_next(reading, &token);
    if (!reading->has_resources)
        pf_run_note(run, &perun_problems[PERUN_NO_REGION], 0, -1, NULL);
}

/*
 * Handles damage that ended reading. Keeps the part of a type before the damage, and adds a warning. If the compressed
 * stream is damaged, the warning reports that instead of the JSON error that results from it.
 */
static void end_at_damage(struct perun_reading *reading, const struct pf_error *error)
{
    struct pf_error damage;
    struct pf_run *run = reading->data->run;
    int64_t offset = error->offset < 0 ? -1 : error->offset + (int64_t)reading->body;
    if (reading->type->open)
        keep_type(reading);
    if (pf_input_damage(reading->input, &damage))
        pf_run_note(run, &perun_problems[PERUN_BAD_STREAM], 0, damage.offset, "%s", damage.what);
    else
        pf_run_note(run, &perun_problems[PERUN_BAD_JSON], error->line, offset, "%s", error->what);
}

/* ---- after the last region ---------------------------------------------------------------------- */

/* Items between two checks of the pass. */
enum { ITEMS_A_STEP = 8192 };

/* Drops the rows of types that are not in resource_type_map, and renumbers the rows after them. */
static void drop_types(struct perun_data *data)
{
    struct pf_run *run = data->run;
    struct perun_item item;
    struct pf_store_window *items = PF_OWN(run, calloc(1, sizeof *items), free);
    items->store = data->items;
    PF_OWN(run, items, pf_store_window_free);
    data->n_items = pf_store_size(data->items) / sizeof item;
    data->n_rows = 0;
    for (uint64_t i = 0; i < data->n_items; i++) {
        if (i % ITEMS_A_STEP == 0)
            pf_run_step(run, i, data->n_items);
        const void *kept = pf_store_at(items, i * sizeof item, sizeof item, run->error);
        if (!kept)
            pf_run_fail(run);
        memcpy(&item, kept, sizeof item);
        bool known = !item.type || pf_ids_find(&data->entry_of, item.key) != PF_NO_ID;
        if (!known) {
            pf_run_note(run, &perun_problems[PERUN_NO_ENTRY], 0, item.place, NULL);
            item.rows = 0;
        }
        if (!known || item.first != data->n_rows) {
            item.first = data->n_rows;
            pf_run_check(run, pf_store_write(data->items, i * sizeof item, &item, sizeof item, run->error));
        }
        data->n_rows += item.rows;
    }
}

void perun_read(struct perun_reading *reading)
{
    struct pf_run *run = reading->data->run;
    uint64_t trailing;
    reading->type = PF_OWN(run, calloc(1, sizeof *reading->type), free);
    if (pf_run_call(run, read_all, reading)) {
        struct pf_error error = *run->error;
        if (!pf_json_is_damage(&error))
            pf_run_fail(run);
        end_at_damage(reading, &error);
    }
    if (pf_input_trailing(reading->input, &trailing))
        pf_run_note(run, &perun_problems[PERUN_TRAILING], 0, trailing, NULL);
    drop_types(reading->data);
    perun_name_models(reading->data);
}
