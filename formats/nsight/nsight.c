/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* ---- opening ------------------------------------------------------------------------------------- */

/* The names of the export's metadata that info.txt shows, with their keys in info.txt. */
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

/* Maximum number of rows read from a table of metadata or GPUs, and of bytes shown of a value. */
enum { ROWS_SHOWN = 64, BYTES_SHOWN = 200 };

/* State of reading a table of metadata or GPUs. */
struct metadata_reading {
    struct pf_build *build;
    unsigned rows;
    bool gpus;
};

/* Adds a row to info.txt. A row of metadata has a name and a value, and a row of GPUs has the name of a GPU. */
static void take_metadata_row(void *arg, struct pf_sql_row *row)
{
    struct metadata_reading *reading = arg;
    struct pf_model *model = reading->build->model;
    struct pf_slice name = reading->gpus ? pf_slice("GPU", 3) : pf_sql_text(row, META_NAME),
                    value = pf_sql_text(row, reading->gpus ? GPUS_NAME : META_VALUE);
    row->last = reading->rows++ == ROWS_SHOWN;
    if (row->last || !name.at || !value.at)
        return;
    if (pf_is(name, "EXPORT_SCHEMA_VERSION"))
        snprintf(model->version, sizeof model->version, "%s", value.at);
    if (pf_size(value) > BYTES_SHOWN)
        value.end = value.at + BYTES_SHOWN;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (pf_is(name, shown[i].name))
            pf_build_info(reading->build, shown[i].key, value);
}

/* Opens the export for the rest of the run. */
static struct pf_sql *open_export(struct pf_build *build)
{
    struct pf_sql *sql = pf_sql_open(build->input, export_tables, NSIGHT_TABLES, build->run->error);
    if (!sql)
        pf_run_fail(build->run);
    return PF_OWN(build->run, sql, pf_sql_close);
}

/* Reads the tables of metadata and of GPUs. If a table of schema 3 is missing, reads the table of schema 2 instead,
 * which has another name. */
static void read_metadata(struct pf_build *build)
{
    struct pf_sql *sql = open_export(build);
    struct metadata_reading meta = {.build = build}, gpus = {.build = build, .gpus = true};
    if (!is_export(sql))
        pf_run_refuse(build->run, 0,
                      "not an export of Nsight Systems: it has no table StringIds or no table of events");
    build->tables[0].flags |= PF_SEEKS_METRIC; /* large exports are aggregated metric by metric */
    pf_sql_each(build->run, sql, pf_sql_has_table(sql, NSIGHT_META) ? NSIGHT_META : NSIGHT_OLD_META,
                take_metadata_row, &meta);
    pf_sql_each(build->run, sql, pf_sql_has_table(sql, NSIGHT_GPUS) ? NSIGHT_GPUS : NSIGHT_OLD_GPUS,
                take_metadata_row, &gpus);
}

/* ---- the pass ------------------------------------------------------------------------------------ */

/* All names together may have this many bytes more than the export. They exceed that only if rows of a hostile
 * export share their pages. */
enum { NAMES_SPARE = 1 << 20 };

/* Adds warnings about a table that could not be read to its end, and about columns that were skipped because they are computed. */
static void warn_of_table(struct nsight_pass *pass, unsigned t)
{
    const struct pf_sql_facts *facts = &pass->sql->facts[t];
    const struct pf_sql_table *table = &export_tables[t];
    if (facts->damaged && facts->started)
        pf_build_warn(pass->build, 0, -1, "error", "bad-table", "table %s cannot be read beyond row %" PRId64,
                      table->name, facts->last);
    else if (facts->damaged)
        pf_build_warn(pass->build, 0, -1, "error", "bad-table", "table %s cannot be read", table->name);
    for (unsigned c = 0; table->columns[c]; c++)
        if (facts->computed >> c & 1)
            pf_build_warn(pass->build, 0, -1, "warning", "computed-column",
                          "column %s of table %s is computed by the file, not stored in it: column skipped",
                          table->columns[c], table->name);
}

static void warn_of_problems(struct nsight_pass *pass)
{
    struct pf_build *build = pass->build;
    const struct pf_sql *sql = pass->sql;
    if (sql->size > sql->have)
        pf_build_warn(build, 0, sql->have, "fatal", "cut-file",
                      "the file ends here, %" PRIu64 " bytes before the end of its database",
                      sql->size - sql->have);
    for (unsigned t = 0; t < NSIGHT_TABLES; t++)
        warn_of_table(pass, t);
    if (pass->bad_times)
        pf_build_warn(build, 0, -1, "warning", "bad-times",
                      "%" PRIu64
                      " events without an end, or with an end before their start: their duration is 0",
                      pass->bad_times);
    if (pass->untimed)
        pf_build_warn(build, 0, -1, "warning", "untimed",
                      "%" PRIu64
                      " calls, kernels or other activities without times (they start and end at 0): "
                      "not in any sum",
                      pass->untimed);
    if (pass->paths.out_of_text)
        pf_build_warn(build, 0, -1, "error", "long-paths",
                      "call paths are longer than the file: some skipped");
}

/* Loads everything in a single pass, because threads and streams are known only from the tables that also hold values and contexts. */
static void read_export(struct pf_build *build)
{
    struct pf_run *run = build->run;
    struct nsight_pass *pass = PF_OWN(run, calloc(1, sizeof *pass), free);
    pass->build = build;
    pass->state = build->state;
    pass->sql = open_export(build);
    pass->limit = build->model->options->cache / 4;
    pass->names.left = pass->sql->have + NAMES_SPARE;
    PF_OWN(run, &pass->names.ids, pf_ids_free);
    PF_OWN(run, &pass->tallies.table, pf_hash_free);
    pass->state->events = pf_run_memory(run, pf_store_new(pass->limit));
    nsight_lookup_begin(run, &pass->calls, pass->limit);
    nsight_begin_partitions(pass);
    nsight_begin_paths(pass);
    nsight_read_calls(pass);
    nsight_read_activities(pass);
    if (pass->partitions.origin == NSIGHT_IMPORTED)
        nsight_read_imported(pass);
    nsight_publish_partitions(pass);
    nsight_publish_sums(pass);
    warn_of_problems(pass);
}

/* ---- the driver ---------------------------------------------------------------------------------- */

/* The columns of the sums have the order of add_tally_row in tallies.c. */
#define CONTEXT                                                                                              \
    {                                                                                                        \
        "context", PF_CONTEXT, 0                                                                             \
    }
#define TIMES                                                                                                \
    {.name = "total_ns"}, {.name = "min_ns"},                                                                \
    {                                                                                                        \
        .name = "max_ns"                                                                                     \
    }
static const struct pf_column named_columns[] = {CONTEXT, {.name = "count"}, TIMES, {.name = "name"}};
static const struct pf_column memcpy_columns[] = {
    CONTEXT, {.name = "kind"}, {.name = "count"}, {.name = "bytes"}, TIMES};
static const struct pf_column memset_columns[] = {CONTEXT, {.name = "count"}, {.name = "bytes"}, TIMES};
static const struct pf_column sync_columns[] = {CONTEXT, {.name = "type"}, {.name = "count"}, TIMES};

#define TABLE(word, its_columns)                                                                             \
    {                                                                                                        \
        .name = (word), .columns = (its_columns), .n_columns = sizeof(its_columns) / sizeof *(its_columns),  \
        .stage = PF_MODELLED                                                                                 \
    }
static const struct pf_table own_tables[NSIGHT_OWN_TABLES] = {
    [NSIGHT_EVENTS] = {.name = "events",
                       .columns = nsight_event_columns,
                       .n_columns = NSIGHT_EVENT_COLUMNS,
                       .stage = PF_MODELLED,
                       .ops = &nsight_events.ops},
    [NSIGHT_SUM_API] = TABLE("api", named_columns),
    [NSIGHT_SUM_KERNELS] = TABLE("kernels", named_columns),
    [NSIGHT_SUM_MEMCPY] = TABLE("memcpy", memcpy_columns),
    [NSIGHT_SUM_MEMSET] = TABLE("memset", memset_columns),
    [NSIGHT_SUM_SYNC] = TABLE("sync", sync_columns),
};

/* Initialiser of an exclusive metric that can be summed over all contexts and partitions. */
#define METRIC(index, called, of_unit, describes)                                                            \
    {                                                                                                        \
        .id = (index), .name = (called), .unit = (of_unit), .scope = "exclusive", .type = "int",             \
        .description = (describes), .over_contexts = PF_OVER_ALL, .over_partitions = PF_SUM,                 \
        .partner = PF_NO_PARTNER                                                                             \
    }
static const struct pf_metric metrics[NSIGHT_METRICS] = {
    [NSIGHT_CALLS] = METRIC(NSIGHT_CALLS, "calls", "", "visits of functions"),
    [NSIGHT_TIME] = {.id = NSIGHT_TIME,
                     .name = "time",
                     .unit = "ns",
                     .scope = "exclusive",
                     .type = "int",
                     .description = "CPU time, excluding calls",
                     .over_contexts = PF_OVER_ALL,
                     .over_partitions = PF_SUM,
                     .partner = NSIGHT_TIME_INC},
    [NSIGHT_TIME_INC] = {.id = NSIGHT_TIME_INC,
                         .name = "time (inc)",
                         .unit = "ns",
                         .scope = "inclusive",
                         .type = "int",
                         .description = "CPU time, including calls",
                         .over_contexts = PF_OVER_ROOTS,
                         .over_partitions = PF_SUM,
                         .partner = NSIGHT_TIME},
    [NSIGHT_GPU_TIME] = METRIC(NSIGHT_GPU_TIME, "gpu time", "ns", "GPU time in kernels, copies and memsets"),
    [NSIGHT_BYTES] = METRIC(NSIGHT_BYTES, "bytes", "bytes", "bytes that GPUs copied or set"),
    [NSIGHT_API_CALLS] = METRIC(NSIGHT_API_CALLS, "api calls", "", "calls of the API"),
    [NSIGHT_GPU_ACTIVITIES] =
        METRIC(NSIGHT_GPU_ACTIVITIES, "gpu activities", "", "kernels, copies and memsets on GPUs"),
};

static void clear(struct pf_build *build)
{
    struct nsight_state *state = build->state;
    pf_store_free(state->events);
    free(state->stream_at);
}

static const char *const kinds[] = {
    [NSIGHT_KIND_FUNCTION] = "function", [NSIGHT_KIND_API] = "api",       [NSIGHT_KIND_KERNEL] = "kernel",
    [NSIGHT_KIND_MEMCPY] = "memcpy",     [NSIGHT_KIND_MEMSET] = "memset",
};

static const struct pf_build_format format = {.state = sizeof(struct nsight_state),
                                              .kinds = kinds,
                                              .fields = nsight_fields,
                                              .n_fields = NSIGHT_FIELDS,
                                              .partitioned = true,
                                              .without_all = true,
                                              .zeros = true,
                                              .metrics = metrics,
                                              .n_metrics = NSIGHT_METRICS,
                                              .tables = own_tables,
                                              .n_tables = NSIGHT_OWN_TABLES,
                                              .open = read_metadata,
                                              .read = read_export,
                                              .clear = clear};

static int open_export_file(struct pf_model *model, struct pf_error *error)
{
    struct pf_input *input;
    return pf_source_open(model->source, NULL, PF_UNPACK | PF_SIZED, &input, error)
               ? -1
               : pf_build_open_input(model, input, error);
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
    .version = 9,
    .matters = no_name_matters,
    .kit = &format,
    .probe = nsight_probe,
    .open = open_export_file,
    .load = pf_build_load,
    .close = pf_build_close,
};
