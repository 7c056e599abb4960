/* SPDX-License-Identifier: MIT */
/* The driver of Perun profiles: JSON text and stored objects. See docs/formats/perun.md. */
#include <errno.h>
#include <stdlib.h>

#include "formats/perun/perun.h"

/* What opening reads at most, for info.txt: the regions may stand anywhere. */
#define OPEN_MAX_BYTES ((uint64_t)1 << 20)

static const struct pf_column value_columns[] = {{.name = "snapshot", .role = PF_PARTITION},
                                                 {.name = "context", .role = PF_CONTEXT},
                                                 {.name = "metric", .role = PF_METRIC},
                                                 {.name = "value"},
                                                 {.name = "name", .role = PF_CONTEXT_NAME}};
static const struct pf_column first_columns[PERUN_R_FIELDS] = {
    {.name = "row"}, {.name = "snapshot"}, {.name = "time"}, {.name = "context"}, {.name = "thread"}};
static const struct pf_column model_columns[PERUN_MODEL_COLUMNS] = {
    [PERUN_MODEL_ID] = {.name = "id"},
    [PERUN_MODEL_UID] = {.name = "uid"},
    [PERUN_MODEL_KIND] = {.name = "model"},
    [PERUN_MODEL_METHOD] = {.name = "method"},
    [PERUN_MODEL_R_SQUARE] = {.name = "r_square"},
    [PERUN_MODEL_X_START] = {.name = "x_start"},
    [PERUN_MODEL_X_END] = {.name = "x_end"},
    [PERUN_MODEL_COEFFS] = {.name = "coeffs"},
    [PERUN_MODEL_POINTS] = {.name = "points"},
    [PERUN_MODEL_STATS] = {.name = "stats"},
    [PERUN_MODEL_FORMULA] = {.name = "formula"},
    [PERUN_MODEL_OTHER] = {.name = "other"}};
static const struct pf_column property_columns[] = {{.name = "key"}, {.name = "value"}};
static const struct pf_column point_columns[] = {
    {.name = "id", .role = PF_KEY}, {.name = "x"}, {.name = "y"}, {.name = "model"}};
static const struct pf_column snapshot_fields[] = {{.name = "time"}};
static const struct pf_blob blobs[] = {{.name = "profile.json"}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- opening ------------------------------------------------------------------------------------ */

/* The text: as it is, or what a stored object inflates to, behind its header. */
static int open_text(struct pf_profile *profile, struct perun *perun, struct pf_error *error)
{
    unsigned char head[PERUN_STORED_HEADER_MAX];
    struct pf_input *file;
    struct perun_stored_header header;
    if (pf_source_open(profile->source, NULL, &file, error))
        return -1;
    perun->input = file;
    if (pf_source_open_inflated(profile->source, NULL, &perun->input, error)) {
        perun->input = file;
        return error->code == EINVAL ? 0 : -1;
    }
    ssize_t got = pf_input_read(perun->input, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    if (!perun_parse_stored(head, (size_t)got, &header))
        return pf_fail_at(error, EBADMSG, 0, "the header of the stored object is damaged");
    perun->stored = true;
    perun->body = header.size;
    perun->length = header.length;
    memcpy(perun->stored_type, header.type, sizeof perun->stored_type);
    return 0;
}

static ssize_t read_start(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct perun *perun = arg;
    if (offset >= OPEN_MAX_BYTES)
        return 0;
    if (size > OPEN_MAX_BYTES - offset)
        size = (size_t)(OPEN_MAX_BYTES - offset);
    return pf_input_read(perun->input, buffer, size, perun->body + offset, error);
}

/*
 * The regions without measurements that stand within reach. What is damaged is told later, but of a file that ends before its
 * first name there is nothing to show.
 */
static int read_start_of(struct perun *perun, struct perun_data *data, struct pf_error *error)
{
    struct pf_json_token name;
    struct pf_error ended = {0};
    bool any = false;
    struct perun_reading reading = {
        .data = data, .input = perun->input, .json = pf_json_new_reading(read_start, perun, 0, 0)};
    if (!reading.json)
        return pf_fail_memory(error);
    if (pf_json_next(reading.json, &name, &ended) == PF_JSON_OBJECT)
        while (pf_json_next(reading.json, &name, &ended) == PF_JSON_NAME) {
            any = true;
            if (perun_read_shown(&reading, &name, &ended))
                break;
        }
    pf_json_free(reading.json);
    if (any || ended.code != ENODATA || perun->stored)
        return 0;
    *error = ended;
    return -1;
}

static int add_info(struct pf_profile *profile, const char *key, struct pf_cell value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), value};
    return value.type == PF_ABSENT || (value.type == PF_TEXT && !value.size)
               ? 0
               : pf_rows_add(profile->info, cells, error);
}

/* Lines of info.txt, and where they stand: in new files, in older ones, in those without header. */
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

static int fill_info(struct pf_profile *profile, struct perun *perun, struct pf_error *error)
{
    struct perun_data *data = perun_data_new(1 << 20, error);
    int failed = data ? read_start_of(perun, data, error) : -1;
    for (size_t i = 0; i < COUNT(infos) && !failed; i++) {
        struct pf_cell value = pf_absent();
        for (size_t k = 0; k < COUNT(infos->properties) && value.type == PF_ABSENT; k++)
            if (infos[i].properties[k])
                value = perun_property(data, infos[i].properties[k]);
        failed = add_info(profile, infos[i].key, value, error);
    }
    perun_data_free(data);
    return failed || (perun->stored && add_info(profile, "Stored as", pf_string(perun->stored_type), error))
               ? -1
               : 0;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static void list_tables(struct perun *perun)
{
    perun->tables[PERUN_VALUES] = (struct pf_table){.name = "values",
                                                    .columns = value_columns,
                                                    .n_columns = COUNT(value_columns),
                                                    .stage = PF_MODELLED,
                                                    .flags = PF_SUMS_FLAGS,
                                                    .ops = &pf_sums_cursor};
    perun->tables[PERUN_RESOURCES] = (struct pf_table){.name = "resources",
                                                       .columns = perun->resource_columns,
                                                       .n_columns = PERUN_R_FIELDS,
                                                       .stage = PF_PARTITIONED,
                                                       .ops = &perun_resources_cursor};
    perun->tables[PERUN_POINTS] = (struct pf_table){.name = "points",
                                                    .columns = point_columns,
                                                    .n_columns = COUNT(point_columns),
                                                    .stage = PF_MODELLED,
                                                    .flags = PF_ONLY_IN_KEYS,
                                                    .ops = &perun_points_cursor};
}

/* Tables held in rows. These are made by the pass over the JSON: until then there are none. */
static void list_rows(struct perun *perun)
{
    perun->tables[PERUN_MODELS] = (struct pf_table){.name = "models",
                                                    .columns = model_columns,
                                                    .n_columns = COUNT(model_columns),
                                                    .stage = PF_PARTITIONED,
                                                    .rows = &perun->models};
    perun->tables[PERUN_PROPERTIES] = (struct pf_table){.name = "properties",
                                                        .columns = property_columns,
                                                        .n_columns = COUNT(property_columns),
                                                        .stage = PF_PARTITIONED,
                                                        .rows = &perun->properties};
}

static int set_up(struct pf_profile *profile, struct pf_error *error)
{
    struct perun *perun = calloc(1, sizeof *perun);
    if (!perun)
        return pf_fail_memory(error);
    profile->state = perun;
    perun->names = pf_strings_new();
    perun->resource_columns =
        calloc(PERUN_R_FIELDS + PERUN_OWN_COLUMNS + PERUN_R_LAST, sizeof *perun->resource_columns);
    if (!perun->names || !perun->resource_columns)
        return pf_fail_memory(error);
    memcpy(perun->resource_columns, first_columns, sizeof first_columns);
    list_tables(perun);
    list_rows(perun);
    return 0;
}

static int perun_open(struct pf_profile *profile, struct pf_error *error)
{
    if (set_up(profile, error))
        return -1;
    struct perun *perun = profile->state;
    if (open_text(profile, perun, error) || fill_info(profile, perun, error))
        return -1;
    profile->partitions.singular = "snapshot";
    profile->partitions.plural = "snapshots";
    profile->partitions.field_columns = snapshot_fields;
    profile->partitions.n_fields = COUNT(snapshot_fields);
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->metrics_stage = PF_MODELLED;
    profile->tables = perun->tables;
    profile->n_tables = PERUN_TABLES;
    profile->cells = &perun->tables[PERUN_VALUES];
    profile->cells_value = PF_SUMS_VALUE;
    profile->keys = (struct pf_keys){.plural = "models", .stage = PF_PARTITIONED, .about = PERUN_MODELS};
    if (perun->stored) {
        profile->blobs = blobs;
        profile->n_blobs = COUNT(blobs);
    }
    return 0;
}

static int perun_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                      struct pf_error *error)
{
    switch (stage) {
    case PF_PARTITIONED:
        return perun_load_data(profile, pass, error);
    case PF_MODELLED:
        return perun_load_model(profile, pass, error);
    default:
        return 0;
    }
}

static void perun_close(struct pf_profile *profile)
{
    struct perun *perun = profile->state;
    if (!perun)
        return;
    /* From PF_MODELLED on, the tree is the core's to free. */
    if (perun->data && profile->contexts)
        perun->data->tree = NULL;
    perun_drop_model(perun);
    perun_data_free(perun->data);
    pf_strings_free(perun->names);
    free(perun->order);
    free(perun->resource_columns);
    free(perun);
}

static ssize_t perun_blob_read(struct pf_profile *profile, size_t blob, void *buffer, size_t size,
                               uint64_t offset, struct pf_error *error)
{
    const struct perun *perun = profile->state;
    (void)blob;
    if (offset > UINT64_MAX - perun->body)
        return 0;
    return pf_input_read(perun->input, buffer, size, perun->body + offset, error);
}

const struct pf_driver pf_perun_driver = {.name = "perun",
                                          .title = "Perun profiles: .perf files and stored objects",
                                          .version = 6,
                                          .probe = perun_probe,
                                          .open = perun_open,
                                          .load = perun_load,
                                          .close = perun_close,
                                          .blob_read = perun_blob_read};
