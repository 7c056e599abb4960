/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/nsight/nsight.h"
#include "formats/runtime/numbered.h"

/* ---- the tables of an export --------------------------------------------------------------------- */

/* Columns of all tables of GPU activities. */
#define ACTIVITY_COLUMNS                                                                                     \
    [ACTIVITY_START] = "start", [ACTIVITY_END] = "end", [ACTIVITY_DEVICE] = "deviceId",                      \
    [ACTIVITY_CONTEXT] = "contextId", [ACTIVITY_STREAM] = "streamId",                                        \
    [ACTIVITY_CORRELATION] = "correlationId", [ACTIVITY_PID] = "globalPid"
#define TIMES_NEEDED (1 << ACTIVITY_START | 1 << ACTIVITY_END)

static const struct pf_sql_table export_tables[NSIGHT_TABLES] = {
    [NSIGHT_STRINGS] = {"StringIds", {"id", "value"}, 1 << STRINGS_ID | 1 << STRINGS_VALUE},
    [NSIGHT_META] = {"META_DATA_EXPORT", {"name", "value"}, 1 << META_NAME | 1 << META_VALUE},
    [NSIGHT_OLD_META] = {"EXPORT_META_DATA", {"name", "value"}, 1 << META_NAME | 1 << META_VALUE},
    [NSIGHT_GPUS] = {"TARGET_INFO_GPU", {"name"}, 1 << GPUS_NAME},
    [NSIGHT_OLD_GPUS] = {"TARGET_INFO_CUDA_GPU", {"name"}, 1 << GPUS_NAME},
    [NSIGHT_THREAD_NAMES] = {"ThreadNames",
                             {"nameId", "globalTid"},
                             1 << THREAD_NAMES_NAME | 1 << THREAD_NAMES_TID},
    [NSIGHT_RUNTIME] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                        {"start", "end", "globalTid", "correlationId", "nameId", "callchainId"},
                        1 << RUNTIME_START | 1 << RUNTIME_END | 1 << RUNTIME_NAME},
    [NSIGHT_KERNEL] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                       {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "shortName", [ACTIVITY_MORE] = "demangledName",
                        [ACTIVITY_MANGLED] = "mangledName"},
                       TIMES_NEEDED},
    [NSIGHT_MEMCPY] = {"CUPTI_ACTIVITY_KIND_MEMCPY",
                       {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "copyKind", [ACTIVITY_MORE] = "bytes"},
                       TIMES_NEEDED},
    [NSIGHT_MEMSET] = {"CUPTI_ACTIVITY_KIND_MEMSET",
                       {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "value", [ACTIVITY_MORE] = "bytes"},
                       TIMES_NEEDED},
    [NSIGHT_SYNC] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                     {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "syncType"},
                     TIMES_NEEDED},
    [NSIGHT_NVTX] = {"NVTX_EVENTS",
                     {"start", "end", "eventType", "text", "globalTid", "domainId", "textId"},
                     1 << NVTX_START | 1 << NVTX_END | 1 << NVTX_TYPE | 1 << NVTX_DOMAIN},
    [NSIGHT_CHAINS] = {"CUDA_CALLCHAINS",
                       {"id", "symbol", "stackDepth", "unresolved"},
                       1 << CHAINS_ID | 1 << CHAINS_SYMBOL | 1 << CHAINS_DEPTH},
    [NSIGHT_RESOLVED] = {"EXTRAP_RESOLVED_CALLPATHS",
                         {"correlationId", "callpath", "duration"},
                         1 << RESOLVED_CORRELATION | 1 << RESOLVED_PATH},
};

static bool is_export(const struct pf_sql *sql)
{
    bool events = pf_sql_has_table(sql, NSIGHT_NVTX);
    for (unsigned table = NSIGHT_RUNTIME; table <= NSIGHT_SYNC; table++)
        events |= pf_sql_has_table(sql, table);
    return events && pf_sql_has_table(sql, NSIGHT_STRINGS);
}

/* ---- tables and metrics of the profile ------------------------------------------------------------ */

static const struct pf_column value_columns[PF_SUMS_COLUMNS] = {{"thread", PF_PARTITION, 0},
                                                                {"context", PF_CONTEXT, 0},
                                                                {"metric", PF_METRIC, 0},
                                                                {"value", PF_PLAIN, 0},
                                                                {"name", PF_CONTEXT_NAME, 0}};

static const struct pf_table mass_tables[] = {
    {.name = "values",
     .columns = value_columns,
     .n_columns = PF_SUMS_COLUMNS,
     .stage = PF_MODELLED,
     .flags = PF_SUMS_FLAGS | PF_SEEKS_METRIC,
     .ops = &pf_sums_cursor.ops},
    {.name = "events",
     .columns = nsight_event_columns,
     .n_columns = NSIGHT_EVENT_COLUMNS,
     .stage = PF_MODELLED,
     .ops = &nsight_events.ops},
};
enum { MASS_TABLES = sizeof mass_tables / sizeof *mass_tables };

static const struct pf_metric metrics[] = {
    {0, "calls", "", "exclusive", "int", "visits of functions", PF_OVER_ALL, PF_SUM,
     .partner = PF_NO_PARTNER},
    {1, "time", "ns", "exclusive", "int", "time of the CPU, without what was called", PF_OVER_ALL, PF_SUM,
     .partner = 2},
    {2, "time (inc)", "ns", "inclusive", "int", "time of the CPU, with what was called", PF_OVER_ROOTS,
     PF_SUM, .partner = 1},
    {3, "gpu time", "ns", "exclusive", "int", "time of GPUs in kernels, copies and settings of memory",
     PF_OVER_ALL, PF_SUM, .partner = PF_NO_PARTNER},
    {4, "bytes", "bytes", "exclusive", "int", "bytes that GPUs copied or set", PF_OVER_ALL, PF_SUM,
     .partner = PF_NO_PARTNER},
    {5, "api calls", "", "exclusive", "int", "calls of the API", PF_OVER_ALL, PF_SUM,
     .partner = PF_NO_PARTNER},
    {6, "gpu activities", "", "exclusive", "int", "kernels, copies and settings of memory on GPUs",
     PF_OVER_ALL, PF_SUM, .partner = PF_NO_PARTNER},
};

static void set_tables(struct pf_model *model, struct nsight_state *state)
{
    memcpy(state->tables, mass_tables, sizeof mass_tables);
    memcpy(state->tables + MASS_TABLES, nsight_sum_tables, sizeof nsight_sum_tables);
    for (size_t i = 0; i < NSIGHT_SUMS; i++)
        state->tables[MASS_TABLES + i].data = &state->tallied[i];
    state->tables[0].data = &state->sums;
    model->tables = state->tables;
    model->n_tables = MASS_TABLES + NSIGHT_SUMS;
    model->cells = &state->tables[0];
    model->cells_value = PF_SUMS_VALUE;
    model->metrics = metrics;
    model->n_metrics = sizeof metrics / sizeof *metrics;
    model->partitions.singular = "thread";
    model->partitions.plural = "threads";
    model->partitions.field_columns = nsight_fields;
    model->partitions.n_fields = NSIGHT_FIELDS;
}

/* ---- opening ------------------------------------------------------------------------------------- */

/* Metadata of the export that info.txt shows, and the keys in info.txt. */
static const struct {
    const char *name, *key;
} shown[] = {
    {"EXPORT_PRODUCT_NAME", "Product"},
    {"EXPORT_PRODUCT_VERSION", "Product version"},
    {"EXPORT_PLATFORM", "Platform"},
    {"EXPORT_ARCH", "Architecture"},
    {"EXPORT_TIME_UTC", "Exported (UTC)"},
    {"EXPORT_INPUT_FILE", "Report"},
    {"GPU", "GPU"},
};

/* Maximum rows read from a table of metadata or GPUs, and bytes shown of a value. */
enum { ROWS_SHOWN = 64, BYTES_SHOWN = 200 };

/* State of reading a table of metadata or GPUs. */
struct showing {
    struct pf_model *model;
    unsigned rows;
    bool gpus;
};

/* Adds a row to info.txt. A row of metadata is a name and a value; a row of GPUs is a name. */
static int take_fact(void *arg, const struct pf_sql_row *row, struct pf_error *error)
{
    struct showing *showing = arg;
    struct pf_model *model = showing->model;
    size_t size;
    if (showing->rows++ == ROWS_SHOWN)
        return 1;
    const char *name = showing->gpus ? "GPU" : pf_sql_text(row, META_NAME, &size),
               *value = pf_sql_text(row, showing->gpus ? GPUS_NAME : META_VALUE, &size);
    if (!name || !value)
        return 0;
    if (!strcmp(name, "EXPORT_SCHEMA_VERSION"))
        snprintf(model->version, sizeof model->version, "%s", value);
    size_t i = 0;
    while (i < sizeof shown / sizeof *shown && strcmp(name, shown[i].name) != 0)
        i++;
    struct pf_cell cells[] = {pf_absent(), pf_text(value, size < BYTES_SHOWN ? size : BYTES_SHOWN)};
    if (i == sizeof shown / sizeof *shown)
        return 0;
    cells[0] = pf_string(shown[i].key);
    return pf_rows_add(model->info, cells, error);
}

/* Schemas 2 and 3 have different names for these tables. The table of schema 2 is ignored if that of schema 3 exists. */
static int read_facts(struct pf_model *model, struct pf_sql *sql, struct pf_error *error)
{
    struct showing meta = {.model = model}, gpus = {.model = model, .gpus = true};
    return pf_sql_each(sql, pf_sql_has_table(sql, NSIGHT_META) ? NSIGHT_META : NSIGHT_OLD_META, take_fact,
                       &meta, error) ||
           pf_sql_each(sql, pf_sql_has_table(sql, NSIGHT_GPUS) ? NSIGHT_GPUS : NSIGHT_OLD_GPUS, take_fact,
                       &gpus, error);
}

int nsight_open(struct pf_model *model, struct pf_input *input, struct pf_error *error)
{
    struct nsight_state *state = model->state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    state->sql = pf_sql_open(input, export_tables, NSIGHT_TABLES, error);
    if (!state->sql)
        return -1;
    set_tables(model, state);
    return is_export(state->sql)
               ? read_facts(model, state->sql, error)
               : pf_fail(error, EINVAL, "no export of Nsight Systems: it has no strings, or no events");
}

static int open_file(struct pf_model *model, struct pf_error *error)
{
    struct pf_input *input;
    return pf_source_open(model->source, NULL, PF_UNPACK | PF_SIZED, &input, error)
               ? -1
               : nsight_open(model, input, error);
}

/* ---- the pass ------------------------------------------------------------------------------------ */

/* Bytes of names in excess of the export's size, after which names become "#ID". Only a hostile export reaches this limit. */
enum { NAMES_SPARE = 1 << 20 };

/* Warns of a table that could not be read to its end, and of computed columns that were skipped. */
static int tell_table(struct nsight_model *model, unsigned t, struct pf_error *error)
{
    const struct pf_sql_facts *facts = &model->sql->facts[t];
    struct pf_model *profile = model->model;
    const char *name = export_tables[t].name;
    int failed = 0;
    if (facts->damaged && facts->started)
        failed = pf_warn(profile, 0, -1, "error", "bad-table", error,
                         "table %s cannot be read beyond row %" PRId64, name, facts->last);
    else if (facts->damaged)
        failed = pf_warn(profile, 0, -1, "error", "bad-table", error, "table %s cannot be read", name);
    for (unsigned c = 0; export_tables[t].columns[c] && !failed; c++)
        if (facts->computed >> c & 1)
            failed =
                pf_warn(profile, 0, -1, "warning", "computed-column", error,
                        "column %s of table %s is computed by the file, not stored in it: it is passed over",
                        export_tables[t].columns[c], name);
    return failed;
}

static int tell_problems(struct nsight_model *model, struct pf_error *error)
{
    struct pf_model *profile = model->model;
    const struct pf_sql *sql = model->sql;
    if (sql->size > sql->have &&
        pf_warn(profile, 0, (int64_t)sql->have, "fatal", "cut-file", error,
                "the file ends here, %" PRIu64 " bytes before the end of its database",
                sql->size - sql->have))
        return -1;
    for (unsigned t = 0; t < NSIGHT_TABLES; t++)
        if (tell_table(model, t, error))
            return -1;
    if (model->bad_times &&
        pf_warn(profile, 0, -1, "warning", "bad-times", error,
                "%" PRIu64 " events have no end, or end before they start: they take no time",
                model->bad_times))
        return -1;
    if (model->untimed &&
        pf_warn(profile, 0, -1, "warning", "untimed", error,
                "%" PRIu64
                " calls, kernels or other activities start and end at 0, since they were not timed: "
                "they are left out of all sums",
                model->untimed))
        return -1;
    return model->paths.out_of_text ? pf_warn(profile, 0, -1, "error", "long-paths", error,
                                              "call paths are longer than the file: some are left out")
                                    : 0;
}

static int read_export(struct nsight_model *model, struct pf_error *error)
{
    struct pf_model *profile = model->model;
    struct nsight_state *state = nsight_state(profile);
    for (unsigned t = 0; t < NSIGHT_TABLES; t++)
        model->sql->facts[t].damaged = false;
    if (nsight_lookup_init(&model->calls, model->limit, error) || nsight_partitions_init(model, error) ||
        nsight_paths_init(model, error) || nsight_read_calls(model, error) ||
        nsight_read_activities(model, error) ||
        (model->partitions->origin == NSIGHT_IMPORTED && nsight_read_imported(model, error)) ||
        nsight_publish_partitions(model, model->items, model->fields, error) ||
        pf_sums_finish(model->sums, model->partitions->count, model->tree->count, error) ||
        pf_tree_finish(model->tree, error) || tell_problems(model, error) ||
        nsight_publish_sums(&model->tallies, model->tree->strings, state->tallied, error))
        return -1;
    state->sums = model->sums;
    state->events = model->events;
    state->partitions = *model->partitions;
    profile->contexts = model->tree;
    profile->partitions.items = model->items;
    profile->partitions.fields = model->fields;
    *model->partitions = (struct nsight_partitions){0};
    model->sums = NULL;
    model->events = NULL;
    model->tree = NULL;
    model->items = model->fields = NULL;
    return 0;
}

static int load_model(struct pf_model *profile, struct pf_error *error)
{
    static const char *const kinds[] = {
        [NSIGHT_FUNCTION] = "function", [NSIGHT_API] = "api",         [NSIGHT_A_KERNEL] = "kernel",
        [NSIGHT_A_MEMCPY] = "memcpy",   [NSIGHT_A_MEMSET] = "memset",
    };
    struct nsight_state *state = nsight_state(profile);
    uint64_t cache = profile->options->cache;
    struct nsight_partitions partitions = {0};
    struct nsight_model model = {
        .model = profile,
        .sql = state->sql,
        .partitions = &partitions,
        .items = pf_rows_new(2),
        .fields = pf_rows_new(NSIGHT_FIELDS),
        .limit = cache / 4,
        .tree = pf_tree_new(kinds),
        .sums = pf_sums_new(cache, true),
        .events = pf_store_new(cache / 4),
        .names.left = state->sql->have + NAMES_SPARE,
    };
    int failed = model.tree && model.sums && model.events && model.items && model.fields
                     ? read_export(&model, error)
                     : pf_fail_memory(error);
    nsight_partitions_free(&partitions);
    pf_rows_free(model.items);
    pf_rows_free(model.fields);
    nsight_paths_free(&model.paths);
    nsight_tallies_free(&model.tallies);
    pf_ids_free(&model.names.ids);
    nsight_lookup_free(&model.calls);
    pf_store_free(model.events);
    pf_sums_free(model.sums);
    pf_tree_free(model.tree);
    return failed;
}

/* ---- the driver ---------------------------------------------------------------------------------- */

/* A single pass loads everything: threads and streams are only known from the tables that also hold values and contexts. */
static int nsight_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    struct nsight_state *state = nsight_state(model);
    if (stage != PF_PARTITIONED)
        return 0;
    state->sql->read = 0;
    int failed = load_model(model, error);
    if (!failed) {
        pf_sql_close(state->sql);
        state->sql = NULL;
    }
    return failed;
}

static void nsight_close(struct pf_model *model)
{
    struct nsight_state *state = model->state;
    if (!state)
        return;
    for (size_t i = 0; i < NSIGHT_SUMS; i++)
        pf_rows_free(state->tallied[i]);
    pf_sums_free(state->sums);
    pf_store_free(state->events);
    nsight_partitions_free(&state->partitions);
    pf_sql_close(state->sql);
    free(state);
    model->state = NULL;
}

/* An export depends on no other file of its folder. */
static bool no_name_matters(const char *name)
{
    (void)name;
    return false;
}

const struct pf_driver pf_nsight_driver = {
    .name = "nsight",
    .title = "Nsight Systems export (SQLite), with or without Extra-Prof ranges",
    .version = 7,
    .matters = no_name_matters,
    .probe = nsight_probe,
    .open = open_file,
    .load = nsight_load,
    .close = nsight_close,
};
