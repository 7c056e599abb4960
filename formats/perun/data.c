/* SPDX-License-Identifier: MIT */
/* Results of the pass (fields, regions, properties), the kinds of warnings, and the reading of JSON. */
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
    [PERUN_TOO_MANY] = {"warning", "too-many", "left out, since there are too many"},
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
};

uint32_t perun_field(struct perun_data *data, const char *name, size_t size)
{
    struct pf_run *run = data->run;
    uint32_t field = pf_run_intern(run, data->fields, name, size);
    pf_run_check(run, pf_array_reach(&data->field_list, &data->fields_room, field, sizeof *data->field_list,
                                     run->error));
    return field;
}

static void add_known_fields(struct perun_data *data)
{
    for (size_t i = 0; i < sizeof known_fields / sizeof *known_fields; i++) {
        uint32_t field = perun_field(data, known_fields[i].name, strlen(known_fields[i].name));
        data->field_list[field] =
            (struct perun_field){.identity = known_fields[i].identity, .reserved = known_fields[i].reserved};
    }
}

/* ---- regions and texts -------------------------------------------------------------------------- */

uint32_t perun_new_region(struct perun_data *data)
{
    pf_run_check(data->run, pf_array_room(&data->regions, &data->regions_room, data->n_regions,
                                          sizeof *data->regions, data->run->error));
    data->regions[data->n_regions] = (struct perun_region){.time = pf_absent()};
    return data->n_regions++;
}

uint32_t perun_snapshot(struct perun_data *data, int64_t number)
{
    uint32_t region = pf_ids_find(&data->snapshots, (uint64_t)number);
    if (region != PF_NO_ID)
        return region;
    region = perun_new_region(data);
    pf_run_check(data->run, pf_ids_add(&data->snapshots, (uint64_t)number, region, data->run->error));
    data->regions[region].numbered = true;
    data->regions[region].number = number;
    return region;
}

void perun_set_time(struct perun_data *data, uint32_t region, struct pf_cell time)
{
    if (time.type == PF_TEXT)
        time = perun_string_cell(data, perun_string(data, time.text, time.size));
    data->regions[region].time = time;
}

void perun_keep_text(struct perun_data *data, struct pf_cell *cell)
{
    const char *text = cell->text;
    *cell = (struct pf_cell){.type = PF_TEXT, .size = cell->size, .u = pf_store_size(data->texts)};
    perun_append(data, data->texts, text, cell->size);
}

void perun_add_property(struct perun_data *data, struct pf_cell key, struct pf_cell value)
{
    struct pf_run *run = data->run;
    uint32_t number = pf_run_intern(run, data->property_keys, key.text, key.size);
    pf_run_check(run, pf_array_reach(&data->property_rows, &data->property_rows_room, number,
                                     sizeof *data->property_rows, run->error));
    data->property_rows[number] = (uint32_t)pf_rows_count(data->properties);
    pf_run_check(run, pf_rows_add(data->properties, (struct pf_cell[]){key, value}, run->error));
}

struct pf_cell perun_property(const struct perun_data *data, const char *key)
{
    uint32_t number = pf_string_of(data->property_keys, key, strlen(key));
    return number == PF_NO_STRING ? pf_absent()
                                  : pf_rows_at(data->properties, data->property_rows[number])[1];
}

/* ---- all ---------------------------------------------------------------------------------------- */

void perun_data_begin(struct perun_data *data, struct pf_run *run, uint64_t limit)
{
    *data = (struct perun_data){.run = run, .none = PERUN_NONE};
    data->tree = pf_run_memory(run, pf_tree_new(perun_kinds));
    data->fields = pf_run_memory(run, pf_strings_new());
    data->items = pf_run_memory(run, pf_store_new(limit / 8));
    data->entries = pf_run_memory(run, pf_store_new(limit / 8));
    data->values = pf_run_memory(run, pf_store_new(limit / 4));
    data->columns = pf_run_memory(run, pf_store_new(limit / 4));
    data->texts = pf_run_memory(run, pf_store_new(limit / 8));
    data->properties = pf_run_memory(run, pf_rows_new(2));
    data->property_keys = pf_run_memory(run, pf_strings_new());
    data->models = pf_run_memory(run, pf_rows_new(PERUN_MODEL_COLUMNS));
    data->model_names = pf_run_memory(run, pf_rows_new(2));
    data->model_values = pf_run_memory(run, pf_store_new(limit / 8));
    add_known_fields(data);
}

void perun_data_free(struct perun_data *data)
{
    struct pf_store *stores[] = {data->items,   data->entries, data->values,
                                 data->columns, data->texts,   data->model_values};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        pf_store_free(stores[i]);
    pf_tree_free(data->tree);
    pf_strings_free(data->fields);
    pf_rows_free(data->properties);
    pf_strings_free(data->property_keys);
    free(data->property_rows);
    pf_rows_free(data->models);
    pf_rows_free(data->model_names);
    pf_ids_free(&data->entry_of);
    pf_ids_free(&data->snapshots);
    free(data->field_list);
    free(data->regions);
    free(data->model_list);
    *data = (struct perun_data){0};
}

/* ---- the pass ----------------------------------------------------------------------------------- */

/* Minimum number of bytes of JSON between two calls of pf_run_step. */
#define STEP ((uint64_t)256 * 1024)

void perun_step(struct perun_reading *reading)
{
    uint64_t done, total, offset = pf_json_tell(reading->json);
    if (offset - reading->stepped < STEP)
        return;
    reading->stepped = offset;
    pf_input_progress(reading->input, reading->body + offset, &done, &total);
    pf_run_step(reading->data->run, done, total);
}

int perun_next(struct perun_reading *reading, struct pf_json_token *token)
{
    struct pf_run *run = reading->data->run;
    return pf_run_check(run, pf_json_next(reading->json, token, run->error));
}

int perun_skip(struct perun_reading *reading, struct pf_json_token *token)
{
    struct pf_run *run = reading->data->run;
    return pf_run_check(run, pf_json_skip(reading->json, token, run->error));
}

int perun_take(struct perun_reading *reading, struct perun_raw *raw)
{
    struct pf_run *run = reading->data->run;
    return pf_run_check(run, pf_json_take(reading->json, &raw->token, &raw->text, run->error));
}

const char *perun_name(struct perun *perun, const char *before, const char *text, size_t size)
{
    struct pf_run *run = perun->data.run;
    char *copy;
    int length = asprintf(&copy, "%s%.*s", before, (int)size, text);
    PF_OWN(run, length < 0 ? NULL : copy, free);
    uint32_t string = pf_run_intern(run, perun->names, copy, (size_t)length + 1);
    free(pf_disown(run, copy));
    return pf_interned(perun->names, string).text;
}
