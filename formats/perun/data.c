/* SPDX-License-Identifier: MIT */
/* What the pass leaves behind: fields, snapshots, times; and what may be wrong with a file. */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/perun/perun.h"

const struct pf_note_kind perun_problems[] = {
    [PERUN_BAD_JSON] = {"fatal", "bad-json", "reading ends here"},
    [PERUN_BAD_STREAM] = {"fatal", "bad-stream", "reading ends here"},
    [PERUN_TRAILING] = {"warning", "trailing-bytes", "bytes follow the object's stream: they are ignored"},
    [PERUN_BAD_LENGTH] = {"error", "bad-length", NULL},
    [PERUN_NO_ENTRY] = {"warning", "no-entry",
                        "left out: this type of resources is not in resource_type_map"},
    [PERUN_UNEQUAL] = {"warning", "unequal-columns",
                       "the columns of this type have unequal lengths: the shortest counts"},
    [PERUN_NO_LIST] = {"warning", "no-list", "a column is not a list: its type has no resources"},
    [PERUN_NO_NUMBER] = {"warning", "no-number", "this amount is not a number, and is left out"},
    [PERUN_NO_REGION] = {"error", "no-resources", "this profile has no region that resources stand in"},
    [PERUN_NO_RESOURCES] = {"warning", "no-resources", "this snapshot has no list of resources"},
    [PERUN_WRONG_KIND] = {"warning", "wrong-kind", "left out: this is not"},
    [PERUN_BAD_SNAPSHOT] = {"warning", "bad-snapshot", "the number of a snapshot is not an integer"},
    [PERUN_TOO_LONG] = {"error", "too-long", "left out: this is longer than 16 MB"},
    [PERUN_MANY_FIELDS] = {"warning", "many-fields", "left out: there are too many different fields"},
    [PERUN_MANY_METRICS] = {"warning", "many-metrics",
                            "values of further kinds are in resources.csv alone: there are too many"},
    [PERUN_MANY_MODELS] = {"warning", "many-models", "further models are left out"},
    [PERUN_MANY_PROPERTIES] = {"warning", "many-properties", "a property is left out: there are too many"},
};

/* ---- fields ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool identity, reserved;
} known_fields[] = {
    [PERUN_TIME] = {"time", true, true},
    [PERUN_TID] = {"tid", true, false},
    [PERUN_THREAD] = {"thread", true, true},
    [PERUN_AMOUNT] = {"amount", false, false},
    [PERUN_EXCLUSIVE] = {"exclusive", false, false},
    [PERUN_NCALLS] = {"ncalls", false, false},
    [PERUN_SIZE] = {"structure-unit-size", true, false},
    {"order", true, false},
    {"call-order", true, false},
    {"address", true, false},
    {"timestamp", true, false},
    {"pid", true, false},
    {"ppid", true, false},
    {"allocation_order", true, false},
    {"cluster", true, false},
    {"row", true, true},
    {"snapshot", true, true},
    {"type", true, true},
    {"subtype", true, true},
    {"uid", true, true},
    {"context", true, true},
    {"other", true, true},
};

uint32_t perun_field(struct perun_data *data, const char *name, size_t size, struct pf_error *error)
{
    uint32_t field = pf_intern(data->fields, name, size, error);
    if (field == PF_NO_STRING)
        return PERUN_NONE;
    return pf_array_reach(&data->field_list, &data->fields_room, field, sizeof *data->field_list, error)
               ? PERUN_NONE
               : field;
}

static int add_known_fields(struct perun_data *data, struct pf_error *error)
{
    for (size_t i = 0; i < sizeof known_fields / sizeof *known_fields; i++) {
        uint32_t field = perun_field(data, known_fields[i].name, strlen(known_fields[i].name), error);
        if (field == PERUN_NONE)
            return -1;
        data->field_list[field] =
            (struct perun_field){.identity = known_fields[i].identity, .reserved = known_fields[i].reserved};
    }
    return 0;
}

/* ---- snapshots and times ------------------------------------------------------------------------ */

static bool is_snapshot(const void *of, uint32_t i, const void *key)
{
    return ((const struct perun_snapshot *)of)[i].number == *(const int64_t *)key;
}

uint32_t perun_snapshot(struct perun_data *data, int64_t number, struct pf_error *error)
{
    uint64_t hash = pf_siphash_number((uint64_t)number);
    int64_t found = pf_hash_find(&data->snapshot_table, hash, is_snapshot, data->snapshots, &number);
    if (found != PF_NOT_THERE)
        return (uint32_t)found;
    if (pf_array_room(&data->snapshots, &data->snapshots_room, data->n_snapshots, sizeof *data->snapshots,
                      error) ||
        pf_hash_add(&data->snapshot_table, hash, data->n_snapshots, error))
        return PERUN_NONE;
    data->snapshots[data->n_snapshots] = (struct perun_snapshot){number, PERUN_NONE};
    return data->n_snapshots++;
}

uint32_t perun_new_time(struct perun_data *data, struct pf_error *error)
{
    if (data->n_times == PERUN_NONE ||
        pf_array_room(&data->times, &data->times_room, data->n_times, sizeof *data->times, error))
        return PERUN_NONE;
    data->times[data->n_times] = pf_absent();
    return data->n_times++;
}

int perun_set_time(struct perun_data *data, uint32_t time, struct pf_cell value, struct pf_error *error)
{
    if (value.type == PF_TEXT) {
        uint32_t string = perun_string(data, value.text, value.size, error);
        if (string == PERUN_NONE)
            return -1;
        value = perun_string_cell(data, string);
    }
    data->times[time] = value;
    return 0;
}

struct pf_cell perun_property(const struct perun_data *data, const char *key)
{
    size_t size = strlen(key);
    for (size_t i = pf_rows_count(data->properties); i-- > 0;) {
        const struct pf_cell *row = pf_rows_at(data->properties, i);
        if (row[0].size == size && !memcmp(row[0].text, key, size))
            return row[1];
    }
    return pf_absent();
}

/* ---- all ---------------------------------------------------------------------------------------- */

struct perun_data *perun_data_new(uint64_t limit, struct pf_error *error)
{
    struct perun_data *data = calloc(1, sizeof *data);
    if (!data) {
        pf_fail_memory(error);
        return NULL;
    }
    data->none_time = PERUN_NONE;
    data->tree = pf_tree_new(perun_kinds);
    data->fields = pf_strings_new();
    data->items = pf_store_new(limit / 4);
    data->entries = pf_store_new(limit / 4);
    data->columns = pf_store_new(limit / 4);
    data->column_texts = pf_store_new(limit / 8);
    data->links = pf_store_new(limit / 8);
    data->properties = pf_rows_new(2);
    data->models = pf_rows_new(PERUN_MODEL_COLUMNS);
    data->model_names = pf_rows_new(2);
    data->model_values = pf_store_new(limit / 8);
    bool made = data->tree && data->fields && data->items && data->entries && data->columns &&
                data->column_texts && data->links && data->properties && data->models && data->model_names &&
                data->model_values;
    if (!made)
        pf_fail_memory(error);
    else if (!add_known_fields(data, error))
        return data;
    perun_data_free(data);
    return NULL;
}

void perun_data_free(struct perun_data *data)
{
    if (!data)
        return;
    pf_tree_free(data->tree);
    pf_strings_free(data->fields);
    struct pf_store *stores[] = {data->items,        data->entries, data->columns,
                                 data->column_texts, data->links,   data->model_values};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        pf_store_free(stores[i]);
    pf_rows_free(data->properties);
    pf_rows_free(data->models);
    pf_rows_free(data->model_names);
    pf_hash_free(&data->snapshot_table);
    pf_notes_free(&data->notes);
    free(data->field_list);
    free(data->snapshots);
    free(data->times);
    free(data->model_list);
    free(data);
}
