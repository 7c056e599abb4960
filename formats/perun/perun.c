/* SPDX-License-Identifier: MIT */
/* The driver of Perun profiles: JSON text and stored objects. See docs/formats/perun.md. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/perun/perun.h"

/* Maximum bytes that opening reads for info.txt; regions may come later in the file. */
#define OPEN_MAX_BYTES ((uint64_t)1 << 20)

/* Maximum bytes of the JSON text of a field that is an object or a list. */
enum { NESTED_MAX = 32 * 1024 };

static const struct pf_column value_columns[] = {{.name = "snapshot", .role = PF_PARTITION},
                                                 {.name = "context", .role = PF_CONTEXT},
                                                 {.name = "metric", .role = PF_METRIC},
                                                 {.name = "value"},
                                                 {.name = "name", .role = PF_CONTEXT_NAME}};
static const struct pf_column first_columns[PERUN_R_FIELDS] = {
    {.name = "row"}, {.name = "snapshot"}, {.name = "time"}, {.name = "context"}, {.name = "thread"}};
static const struct pf_column property_columns[] = {{.name = "key"}, {.name = "value"}};
static const struct pf_column snapshot_fields[] = {{.name = "time"}};
static const struct pf_blob blobs[] = {{.name = "profile.json"}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- opening ------------------------------------------------------------------------------------ */

/* Opens the text: the file itself, or the inflated contents of a stored object (zlib or gzip), whose header is parsed. */
static int open_text(struct pf_model *model, struct perun *perun, struct pf_error *error)
{
    static const char word[] = "profile ";
    unsigned char head[PERUN_STORED_HEADER_MAX];
    if (pf_source_open(model->source, NULL, PF_UNPACK | PF_ZLIB, &perun->input, error))
        return -1;
    ssize_t got = pf_input_read(perun->input, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    if ((size_t)got < strlen(word) || memcmp(head, word, strlen(word)) != 0)
        return pf_source_open(model->source, NULL, PF_UNPACK | PF_ZLIB | PF_SIZED, &perun->input, error);
    return perun_parse_stored(head, (size_t)got, &perun->stored)
               ? 0
               : pf_fail_at(error, EBADMSG, 0, "the header of the stored object is damaged");
}

/* The bytes of the JSON up to `end`. */
struct body {
    const struct perun *perun;
    uint64_t end;
};

static ssize_t read_body(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct body *body = arg;
    if (offset >= body->end)
        return 0;
    if (size > body->end - offset)
        size = (size_t)(body->end - offset);
    return pf_input_read(body->perun->input, buffer, size, body->perun->stored.size + offset, error);
}

static bool is_shown_region(const struct pf_json_token *name)
{
    return pf_json_is(name, "resources") || pf_json_is(name, "snapshots") || pf_json_is(name, "global") ||
           pf_json_is(name, "models");
}

/*
 * Reads the regions without measurements in the first OPEN_MAX_BYTES. Damage is reported by the pass, except for a text that ends
 * before any resources or models: that fails, since there is nothing to show.
 */
static int read_start_of(struct perun *perun, struct pf_error *error)
{
    struct pf_json_token name;
    struct pf_error ended = {0};
    bool any = false;
    struct body body = {perun, OPEN_MAX_BYTES};
    struct perun_reading reading = {
        .data = &perun->data, .input = perun->input, .json = pf_json_new_reading(read_body, &body, 0, 0)};
    if (!reading.json)
        return pf_fail_memory(error);
    if (pf_json_next(reading.json, &name, &ended) == PF_JSON_OBJECT)
        while (pf_json_next(reading.json, &name, &ended) == PF_JSON_NAME) {
            any = any || is_shown_region(&name);
            if (perun_read_shown(&reading, &name, &ended))
                break;
        }
    pf_json_free(reading.json);
    if (!pf_is_transient(ended.code) &&
        (any || ended.code != ENODATA || perun->stored.size || pf_input_size(perun->input) > OPEN_MAX_BYTES))
        return 0;
    *error = ended;
    return -1;
}

static int add_info(struct pf_model *model, const char *key, struct pf_cell value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), value};
    return value.type == PF_ABSENT || (value.type == PF_TEXT && !value.size)
               ? 0
               : pf_rows_add(model->info, cells, error);
}

/* Lines of info.txt, and the properties that hold them, from the newest form of the file to the oldest. */
static const struct {
    const char *key, *properties[3];
} infos[] = {
    {"Command", {"header.cmd", "header.bin", "cmd"}},
    {"Arguments", {"header.args", "header.params", "param"}},
    {"Workload", {"header.workload", "workload"}},
    {"Label", {"header.label"}},
    {"Type", {"header.type", "type"}},
    {"Collector", {"collector_info.name", "collector.name"}},
    {"Origin", {"origin", "minor_version"}},
};

static int fill_info(struct pf_model *model, struct perun *perun, struct pf_error *error)
{
    struct perun_data *data = &perun->data;
    int failed = perun_data_begin(data, 1 << 20, error) || read_start_of(perun, error);
    for (size_t i = 0; i < COUNT(infos) && !failed; i++) {
        struct pf_cell value = pf_absent();
        for (size_t k = 0; k < COUNT(infos->properties) && value.type == PF_ABSENT; k++)
            if (infos[i].properties[k])
                value = perun_property(data, infos[i].properties[k]);
        failed = add_info(model, infos[i].key, value, error);
    }
    perun_data_free(data);
    return failed ||
                   (perun->stored.size && add_info(model, "Stored as", pf_string(perun->stored.type), error))
               ? -1
               : 0;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static const struct pf_table tables[PERUN_TABLES] = {
    [PERUN_VALUES] = {.name = "values",
                      .columns = value_columns,
                      .n_columns = COUNT(value_columns),
                      .stage = PF_MODELLED,
                      .flags = PF_SUMS_FLAGS,
                      .ops = &pf_sums_cursor.ops},
    [PERUN_RESOURCES] = {.name = "resources",
                         .n_columns = PERUN_R_FIELDS,
                         .stage = PF_PARTITIONED,
                         .ops = &perun_resources.ops},
    [PERUN_MODELS] = {.name = "models",
                      .columns = perun_model_columns,
                      .n_columns = PERUN_MODEL_COLUMNS,
                      .stage = PF_PARTITIONED},
    [PERUN_PROPERTIES] = {.name = "properties",
                          .columns = property_columns,
                          .n_columns = COUNT(property_columns),
                          .stage = PF_PARTITIONED},
    [PERUN_POINTS] = {.name = "points",
                      .columns = perun_point_columns,
                      .n_columns = PERUN_POINT_COLUMNS,
                      .stage = PF_MODELLED,
                      .flags = PF_ONLY_IN_KEYS,
                      .ops = &perun_points.ops},
};

static int set_up(struct pf_model *model, struct pf_error *error)
{
    struct perun *perun = calloc(1, sizeof *perun);
    if (!perun)
        return pf_fail_memory(error);
    model->state = perun;
    perun->names = pf_strings_new();
    perun->resource_columns =
        calloc(PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST, sizeof *perun->resource_columns);
    if (!perun->names || !perun->resource_columns)
        return pf_fail_memory(error);
    memcpy(perun->resource_columns, first_columns, sizeof first_columns);
    memcpy(perun->tables, tables, sizeof tables);
    perun->tables[PERUN_RESOURCES].columns = perun->resource_columns;
    perun->tables[PERUN_VALUES].data = &perun->sums;
    perun->tables[PERUN_MODELS].data = &perun->data.models;
    perun->tables[PERUN_PROPERTIES].data = &perun->data.properties;
    return 0;
}

static int perun_open(struct pf_model *model, struct pf_error *error)
{
    if (set_up(model, error))
        return -1;
    struct perun *perun = model->state;
    if (open_text(model, perun, error) || fill_info(model, perun, error))
        return -1;
    model->partitions.singular = "snapshot";
    model->partitions.plural = "snapshots";
    model->partitions.field_columns = snapshot_fields;
    model->partitions.n_fields = COUNT(snapshot_fields);
    model->tables = perun->tables;
    model->n_tables = PERUN_TABLES;
    model->cells = &perun->tables[PERUN_VALUES];
    model->cells_value = PF_SUMS_VALUE;
    perun->extra.keys = (struct pf_keys){.plural = "models", .about = PERUN_MODELS};
    model->extra = &perun->extra;
    if (perun->stored.size) {
        perun->extra.blobs = blobs;
        perun->extra.n_blobs = COUNT(blobs);
    }
    return 0;
}

/* ---- the pass over the JSON --------------------------------------------------------------------- */

static void close_reading(struct perun_reading *reading)
{
    struct perun_raw *raws[] = {&reading->trace, &reading->uid, &reading->command, &reading->other};
    for (size_t i = 0; i < COUNT(raws); i++)
        free(raws[i]->text.bytes);
    pf_json_free(reading->json);
    pf_json_trees_free(reading->trees);
    perun_paths_free(reading->paths);
    free(reading->values);
}

static int read_data(struct perun *perun, struct pf_error *error)
{
    struct body body = {perun, UINT64_MAX};
    struct perun_raw empty = {.text = {.limit = PERUN_WHOLE_MAX}};
    struct pf_json_trees *trees = pf_json_trees_new(PERUN_WHOLE_MAX, true);
    struct perun_reading reading = {.data = &perun->data,
                                    .input = perun->input,
                                    .body = perun->stored.size,
                                    .trees = trees,
                                    .paths = perun_paths_new(perun->data.tree, trees),
                                    .json = pf_json_new_reading(read_body, &body, PF_JSON_STRICT_UTF8, 0),
                                    .values = malloc(PERUN_VALUES_MAX * sizeof *reading.values),
                                    .trace = empty,
                                    .uid = empty,
                                    .command = empty,
                                    .other = {.text = {.limit = NESTED_MAX}}};
    bool made = trees && reading.paths && reading.json && reading.values;
    int failed = made ? perun_read(&reading, error) : pf_fail_memory(error);
    close_reading(&reading);
    return failed ? -1 : pf_tree_finish(perun->data.tree, error);
}

/* Warns if the length in a stored object's header is wrong. (Perun counts characters, and writes only ASCII.) */
static void check_length(struct perun *perun)
{
    struct pf_error damage;
    uint64_t size = pf_input_size(perun->input), head = perun->stored.size, length = perun->stored.length;
    if (head && !pf_input_damage(perun->input, &damage) && size != UINT64_MAX && size - head != length)
        pf_note(&perun->data.notes, &perun_problems[PERUN_BAD_LENGTH], 0, 0,
                "the object's header says %ju characters, but there are %ju", (uintmax_t)length,
                (uintmax_t)(size - head));
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const struct perun_region *const *x = a, *const *y = b;
    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

static int add_partition(struct pf_model *model, struct pf_cell id, const char *name, struct pf_cell time,
                         struct pf_error *error)
{
    struct pf_cell item[] = {id, pf_string(name)};
    return pf_rows_add(model->partitions.items, item, error) ||
                   pf_rows_add(model->partitions.fields, &time, error)
               ? -1
               : 0;
}

/* Adds the snapshots by number, then `all` for the regions that are not snapshots. `sorted` has room for all regions. */
static int add_partitions(struct pf_model *model, struct perun_data *data, struct perun_region **sorted,
                          struct pf_error *error)
{
    char name[24];
    uint32_t n = 0;
    bool none = false;
    struct pf_cell time = pf_absent();
    for (uint32_t i = 0; i < data->n_regions; i++) {
        struct perun_region *region = &data->regions[i];
        if (region->numbered)
            sorted[n++] = region;
    }
    qsort(sorted, n, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < n; i++) {
        sorted[i]->partition = i;
        snprintf(name, sizeof name, "%jd", (intmax_t)sorted[i]->number);
        if (add_partition(model, pf_int(sorted[i]->number), name, sorted[i]->time, error))
            return -1;
    }
    for (uint32_t i = 0; i < data->n_regions; i++) {
        struct perun_region *region = &data->regions[i];
        if (region->numbered)
            continue;
        region->partition = n;
        none |= region->used;
        time = time.type == PF_ABSENT ? region->time : time;
    }
    return none ? add_partition(model, pf_absent(), "all", time, error) : 0;
}

static int make_partitions(struct pf_model *model, struct perun_data *data, struct pf_error *error)
{
    struct pf_partitions *partitions = &model->partitions;
    struct perun_region **sorted = calloc((size_t)data->n_regions + 1, sizeof *sorted);
    pf_rows_free(partitions->items);
    pf_rows_free(partitions->fields);
    partitions->items = pf_rows_new(2);
    partitions->fields = pf_rows_new(1);
    int failed = partitions->items && partitions->fields && sorted
                     ? add_partitions(model, data, sorted, error)
                     : pf_fail_memory(error);
    free(sorted);
    return failed;
}

/* ---- stages ------------------------------------------------------------------------------------- */

/* Files without a header have the type at the top level. */
static int find_header_type(struct perun *perun, struct pf_error *error)
{
    struct pf_cell type = perun_property(&perun->data, "header.type");
    if (type.type != PF_TEXT)
        type = perun_property(&perun->data, "type");
    perun->header_type = PERUN_NONE;
    if (type.type != PF_TEXT)
        return 0;
    perun->header_type = perun_string(&perun->data, type.text, type.size, error);
    return perun->header_type == PERUN_NONE ? -1 : 0;
}

/* Loads stage PF_PARTITIONED: the pass over the JSON, the snapshots, and the columns of resources.csv. */
static int load_data(struct pf_model *model, struct pf_error *error)
{
    struct perun *perun = model->state;
    int failed = perun_data_begin(&perun->data, model->options->cache, error) || read_data(perun, error) ||
                 make_partitions(model, &perun->data, error) || perun_make_columns(perun, error) ||
                 find_header_type(perun, error);
    if (failed) {
        perun_data_free(&perun->data);
        return -1;
    }
    check_length(perun);
    perun->extra.keys.items = perun->data.model_names;
    return 0;
}

static int perun_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    switch (stage) {
    case PF_PARTITIONED:
        return load_data(model, error);
    case PF_MODELLED:
        return perun_load_model(model, error);
    default:
        return 0;
    }
}

static void perun_close(struct pf_model *model)
{
    struct perun *perun = model->state;
    if (!perun)
        return;
    /* From PF_MODELLED on, the core owns the tree. */
    if (model->contexts)
        perun->data.tree = NULL;
    perun_drop_model(perun);
    perun_data_free(&perun->data);
    pf_strings_free(perun->names);
    free(perun->resource_columns);
    free(perun);
}

static ssize_t perun_blob_read(struct pf_model *model, size_t blob, void *buffer, size_t size,
                               uint64_t offset, struct pf_error *error)
{
    const struct perun *perun = model->state;
    (void)blob;
    if (offset > UINT64_MAX - perun->stored.size)
        return 0;
    return pf_input_read(perun->input, buffer, size, perun->stored.size + offset, error);
}

const struct pf_driver pf_perun_driver = {.name = "perun",
                                          .title = "Perun profiles: .perf files and stored objects",
                                          .version = 10,
                                          .probe = perun_probe,
                                          .open = perun_open,
                                          .load = perun_load,
                                          .close = perun_close,
                                          .extra = &(const struct pf_driver_extra){.blob_read = perun_blob_read}};
