/* SPDX-License-Identifier: MIT */
/* The driver of Perun profiles: JSON text and stored objects. See docs/formats/perun.md. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/perun/perun.h"

/* Maximum bytes that opening reads for info.txt. Regions that come later in the file do not contribute. */
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

static struct pf_input *open_input(struct pf_run *run, unsigned flags)
{
    struct pf_input *input;
    pf_run_check(
        run, pf_source_open(run->model->source, NULL, PF_UNPACK | PF_OR_ZLIB | flags, &input, run->error));
    return input;
}

/* Opens the file and, if it is a stored object (compressed by zlib or gzip), parses its header. */
static void open_text(struct pf_run *run, struct perun *perun)
{
    static const char word[] = "profile ";
    unsigned char head[PERUN_STORED_HEADER_MAX];
    perun->input = open_input(run, 0);
    size_t got = pf_run_read(run, perun->input, head, sizeof head, 0);
    if (got < strlen(word) || memcmp(head, word, strlen(word)) != 0)
        perun->input = open_input(run, PF_SIZED);
    else if (!perun_parse_stored(head, got, &perun->stored))
        pf_run_check(run, pf_fail_at(run->error, EBADMSG, 0, "the header of the stored object is damaged"));
}

/* The first `end` bytes of a profile's JSON text. */
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

static bool is_measured_region(const struct pf_json_token *name)
{
    return pf_json_is(name, "resources") || pf_json_is(name, "snapshots") || pf_json_is(name, "global") ||
           pf_json_is(name, "models");
}

/* The start of the file while it is read for info.txt. */
struct start {
    struct body body;
    struct perun_reading reading;
    bool any; /* the name of a region with measurements was read */
};

static void read_start(struct pf_run *run, void *arg)
{
    struct start *start = arg;
    struct perun_reading *reading = &start->reading;
    struct pf_json_token name;
    (void)run;
    if (perun_next(reading, &name) == PF_JSON_OBJECT)
        while (perun_next(reading, &name) == PF_JSON_NAME) {
            start->any |= is_measured_region(&name);
            perun_read_shown(reading, &name);
        }
}

/*
 * Reads the properties in the first OPEN_MAX_BYTES. Damage is left to the pass to report, except that opening fails if the text of a
 * profile that is not a stored object ends before any resources or models, since there is nothing to show.
 */
static void read_start_of(struct pf_run *run, struct perun *perun)
{
    struct start *start = PF_OWN(run, calloc(1, sizeof *start), free);
    start->body = (struct body){perun, OPEN_MAX_BYTES};
    start->reading = (struct perun_reading){
        .data = &perun->data,
        .input = perun->input,
        .json = PF_OWN(run, pf_json_new_reading(read_body, &start->body, 0, 0), pf_json_free)};
    bool failed = pf_run_call(run, read_start, start);
    pf_notes_free(&run->notes); /* the pass adds these warnings again */
    if (failed && (pf_is_transient(run->error->code) ||
                   (!start->any && run->error->code == ENODATA && !perun->stored.size &&
                    pf_input_size(perun->input) <= OPEN_MAX_BYTES)))
        pf_run_fail(run);
}

static void add_info(struct pf_run *run, const char *key, struct pf_cell value)
{
    struct pf_cell cells[] = {pf_string(key), value};
    if (value.type != PF_ABSENT && (value.type != PF_TEXT || value.size))
        pf_run_check(run, pf_rows_add(run->model->info, cells, run->error));
}

/* The keys of info.txt, each with the properties that may hold its value. Properties of newer releases come first. */
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

static void fill_info(struct pf_run *run, struct perun *perun)
{
    struct perun_data *data = PF_OWN(run, &perun->data, perun_data_free);
    perun_data_begin(data, run, 1 << 20);
    read_start_of(run, perun);
    for (size_t i = 0; i < COUNT(infos); i++) {
        struct pf_cell value = pf_absent();
        for (size_t k = 0; k < COUNT(infos->properties) && value.type == PF_ABSENT; k++)
            if (infos[i].properties[k])
                value = perun_property(data, infos[i].properties[k]);
        add_info(run, infos[i].key, value);
    }
    if (perun->stored.size)
        add_info(run, "Stored as", pf_string(perun->stored.type));
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

static void set_tables(struct pf_model *model, struct perun *perun)
{
    memcpy(perun->resource_columns, first_columns, sizeof first_columns);
    memcpy(perun->tables, tables, sizeof tables);
    perun->tables[PERUN_RESOURCES].columns = perun->resource_columns;
    perun->tables[PERUN_VALUES].data = &perun->sums;
    perun->tables[PERUN_MODELS].data = &perun->data.models;
    perun->tables[PERUN_PROPERTIES].data = &perun->data.properties;
    model->tables = perun->tables;
    model->n_tables = PERUN_TABLES;
    model->values = &perun->tables[PERUN_VALUES];
    model->value_column = PF_SUMS_VALUE;
    perun->extra.keys = (struct pf_keys){.plural = "models", .about = PERUN_MODELS};
    model->extra = &perun->extra;
    if (perun->stored.size) {
        perun->extra.blobs = blobs;
        perun->extra.n_blobs = COUNT(blobs);
    }
}

static void open_perun_profile(struct pf_run *run, void *arg)
{
    struct pf_model *model = run->model;
    struct perun *perun = model->state = pf_run_memory(run, calloc(1, sizeof *perun));
    (void)arg;
    perun->names = pf_run_memory(run, pf_strings_new());
    perun->resource_columns = pf_run_memory(
        run, calloc(PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST, sizeof *perun->resource_columns));
    open_text(run, perun);
    fill_info(run, perun);
    model->partitions.singular = "snapshot";
    model->partitions.plural = "snapshots";
    model->partitions.field_columns = snapshot_fields;
    model->partitions.n_fields = COUNT(snapshot_fields);
    set_tables(model, perun);
}

static int perun_open(struct pf_model *model, struct pf_error *error)
{
    return pf_run(model, open_perun_profile, NULL, error);
}

/* ---- the pass over the JSON --------------------------------------------------------------------- */

static void read_data(struct pf_run *run, struct perun *perun)
{
    struct perun_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free);
    struct perun_raw *raws[] = {&reading->trace, &reading->uid, &reading->command, &reading->other};
    struct body *body = PF_OWN(run, malloc(sizeof *body), free);
    *body = (struct body){perun, UINT64_MAX};
    reading->data = &perun->data;
    reading->input = perun->input;
    reading->body = perun->stored.size;
    reading->trees = PF_OWN(run, pf_json_trees_new(PERUN_WHOLE_MAX, true), pf_json_trees_free);
    reading->paths = perun_paths_new(&perun->data, reading->trees);
    reading->json = PF_OWN(run, pf_json_new_reading(read_body, body, PF_JSON_STRICT_UTF8, 0), pf_json_free);
    reading->values = PF_OWN(run, malloc(PERUN_VALUES_MAX * sizeof *reading->values), free);
    for (size_t i = 0; i < COUNT(raws); i++) {
        raws[i]->text.limit = raws[i] == &reading->other ? (size_t)NESTED_MAX : PERUN_WHOLE_MAX;
        pf_own_items(run, &raws[i]->text.bytes);
    }
    perun_read(reading);
    pf_run_check(run, pf_tree_finish(perun->data.tree, run->error));
}

/*
 * Warns if the length in a stored object's header is wrong. Perun counts characters, which are bytes here, since it
 * writes only ASCII.
 */
static void check_length(struct perun *perun)
{
    struct pf_error damage;
    uint64_t size = pf_input_size(perun->input), head = perun->stored.size, length = perun->stored.length;
    if (head && !pf_input_damage(perun->input, &damage) && size != UINT64_MAX && size - head != length)
        pf_run_note(perun->data.run, &perun_problems[PERUN_BAD_LENGTH], 0, 0,
                    "the object's header says %ju characters, but there are %ju", (uintmax_t)length,
                    (uintmax_t)(size - head));
}

/* ---- snapshots ---------------------------------------------------------------------------------- */

/* Snapshots between two checks of the pass. */
enum { SNAPSHOTS_A_STEP = 8192 };

static int by_number(const void *a, const void *b)
{
    const struct perun_region *const *x = a, *const *y = b;
    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

static void add_partition(struct pf_run *run, struct pf_cell id, const char *name, struct pf_cell time)
{
    const struct pf_partitions *partitions = &run->model->partitions;
    struct pf_cell item[] = {id, pf_string(name)};
    pf_run_check(run, pf_rows_add(partitions->items, item, run->error));
    pf_run_check(run, pf_rows_add(partitions->fields, &time, run->error));
}

/* Adds the partitions: the snapshots by number, then `all` for the regions that are not snapshots. */
static void add_partitions(struct pf_run *run, struct perun_data *data)
{
    char name[24];
    uint32_t n = 0;
    bool none = false;
    struct pf_cell time = pf_absent();
    struct perun_region **sorted = PF_OWN(run, calloc((size_t)data->n_regions + 1, sizeof *sorted), free);
    for (uint32_t i = 0; i < data->n_regions; i++)
        if (data->regions[i].numbered)
            sorted[n++] = &data->regions[i];
    qsort(sorted, n, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < n; i++) {
        if (i % SNAPSHOTS_A_STEP == 0)
            pf_run_step(run, i, n);
        sorted[i]->partition = i;
        snprintf(name, sizeof name, "%jd", (intmax_t)sorted[i]->number);
        add_partition(run, pf_int(sorted[i]->number), name, sorted[i]->time);
    }
    for (uint32_t i = 0; i < data->n_regions; i++) {
        struct perun_region *region = &data->regions[i];
        if (region->numbered)
            continue;
        region->partition = n;
        none |= region->used;
        time = time.type == PF_ABSENT ? region->time : time;
    }
    if (none)
        add_partition(run, pf_absent(), "all", time);
}

/* ---- stages ------------------------------------------------------------------------------------- */

/* Sets perun->header_type to the property header.type or, in files without a header, to the property `type`. */
static void find_header_type(struct perun *perun)
{
    struct pf_cell type = perun_property(&perun->data, "header.type");
    if (type.type != PF_TEXT)
        type = perun_property(&perun->data, "type");
    perun->header_type = type.type == PF_TEXT ? perun_string(&perun->data, type.text, type.size) : PERUN_NONE;
}

/* Loads stage PF_PARTITIONED: runs the pass over the JSON, then makes the partitions and the columns of resources.csv. */
static void load_data(struct pf_run *run, void *arg)
{
    struct perun *perun = arg;
    struct pf_partitions *partitions = &run->model->partitions;
    perun_data_begin(&perun->data, run, run->model->options->cache);
    read_data(run, perun);
    partitions->items = pf_run_memory(run, pf_rows_new(2));
    partitions->fields = pf_run_memory(run, pf_rows_new(1));
    add_partitions(run, &perun->data);
    perun_make_columns(perun);
    find_header_type(perun);
    check_length(perun);
    perun->extra.keys.items = perun->data.model_names;
}

static void drop_data(struct pf_model *model, struct perun *perun)
{
    struct pf_partitions *partitions = &model->partitions;
    perun_data_free(&perun->data);
    pf_rows_free(partitions->items);
    pf_rows_free(partitions->fields);
    partitions->items = partitions->fields = NULL;
    perun->extra.keys.items = NULL;
}

static int perun_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    struct perun *perun = model->state;
    int failed = 0;
    if (stage == PF_PARTITIONED && (failed = pf_run(model, load_data, perun, error)))
        drop_data(model, perun);
    if (stage == PF_MODELLED && (failed = pf_run(model, perun_load_model, perun, error)))
        perun_drop_model(perun);
    perun->data.run = NULL;
    if (stage == PF_MODELLED && !failed) {
        model->contexts = perun->data.tree;
        model->metrics = perun->metrics;
        model->n_metrics = pf_strings_count(perun->keys);
    }
    return failed;
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
                                          .version = 12,
                                          .probe = perun_probe,
                                          .open = perun_open,
                                          .load = perun_load,
                                          .close = perun_close,
                                          .extra =
                                              &(const struct pf_driver_extra){.blob_read = perun_blob_read}};
