/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/nsight/nsight.h"

/* ---- tables and metrics -------------------------------------------------------------------------- */

static const struct pf_column thread_fields[NSIGHT_FIELDS] = {
    [NSIGHT_FIELD_KIND] = {"kind", PF_PLAIN, 0},
    [NSIGHT_FIELD_PID] = {"pid", PF_PLAIN, 0},
    [NSIGHT_FIELD_TID] = {"tid", PF_PLAIN, 0},
    [NSIGHT_FIELD_DEVICE] = {"device", PF_PLAIN, 0},
    [NSIGHT_FIELD_CONTEXT] = {"gpu_context", PF_PLAIN, 0},
    [NSIGHT_FIELD_STREAM] = {"stream", PF_PLAIN, 0},
    [NSIGHT_FIELD_THREAD_NAME] = {"thread_name", PF_PLAIN, 0},
};

static const struct pf_column event_columns[EVENTS_COLUMNS] = {
    [EVENTS_THREAD] = {"thread", PF_PARTITION, 0},
    [EVENTS_KIND] = {"kind", PF_PLAIN, 0},
    [EVENTS_START] = {"start", PF_PLAIN, 0},
    [EVENTS_END] = {"end", PF_PLAIN, 0},
    [EVENTS_DEVICE] = {"device", PF_PLAIN, 0},
    [EVENTS_STREAM] = {"stream", PF_PLAIN, 0},
    [EVENTS_CORRELATION] = {"correlation_id", PF_PLAIN, 0},
    [EVENTS_CONTEXT] = {"context", PF_CONTEXT, 0},
    [EVENTS_BYTES] = {"bytes", PF_PLAIN, 0},
    [EVENTS_NAME] = {"name", PF_PLAIN, 0},
};

static const struct pf_table mass_tables[] = {
    {.name = "values",
     .columns = pf_fold_thread_columns,
     .n_columns = PF_FOLD_COLUMNS,
     .stage = PF_MODELLED,
     .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
     .ops = &pf_fold_cursor},
    {.name = "events",
     .columns = event_columns,
     .n_columns = EVENTS_COLUMNS,
     .stage = PF_MODELLED,
     .ops = &nsight_events_cursor},
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

static void set_tables(struct pf_profile *profile, struct nsight_state *state)
{
    memcpy(state->tables, mass_tables, sizeof mass_tables);
    for (size_t i = 0; i < NSIGHT_SUMS; i++)
        state->tables[MASS_TABLES + i] = (struct pf_table){
            .name = nsight_sum_names[i],
            .columns = nsight_sum_columns[i],
            .n_columns = nsight_sum_widths[i],
            .stage = PF_MODELLED,
            .rows = &state->sums[i],
        };
    profile->tables = state->tables;
    profile->n_tables = MASS_TABLES + NSIGHT_SUMS;
    profile->cells = &state->tables[0];
    profile->cells_value = PF_FOLD_VALUE;
    profile->metrics = metrics;
    profile->n_metrics = sizeof metrics / sizeof *metrics;
    profile->partitions.singular = "thread";
    profile->partitions.plural = "threads";
    profile->partitions.field_columns = thread_fields;
    profile->partitions.n_fields = NSIGHT_FIELDS;
    profile->partitions.fields_stage = PF_PARTITIONED;
}

/* ---- opening ------------------------------------------------------------------------------------- */

/* Values of the export's metadata that info.txt tells, and the keys they get there. */
static const struct {
    const char *name, *key;
} facts[] = {
    {"EXPORT_PRODUCT_NAME", "Product"},    {"EXPORT_PRODUCT_VERSION", "Product version"},
    {"EXPORT_PLATFORM", "Platform"},       {"EXPORT_ARCH", "Architecture"},
    {"EXPORT_TIME_UTC", "Exported (UTC)"}, {"EXPORT_INPUT_FILE", "Report"},
};

/* Of rows that people wrote, and of GPUs, there are few; of bytes too. */
enum { ROWS_SHOWN = 64, BYTES_SHOWN = 200 };

static int add_info(struct pf_profile *profile, const char *key, const char *text, size_t size,
                    struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), pf_text(text, size < BYTES_SHOWN ? size : BYTES_SHOWN)};
    return pf_rows_add(profile->info, cells, error);
}

/* What one of the tables tells, as far as it is shown. */
struct showing {
    struct pf_profile *profile;
    unsigned rows;
};

static int take_fact(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct showing *showing = arg;
    struct pf_profile *profile = showing->profile;
    size_t size;
    if (showing->rows++ == ROWS_SHOWN)
        return 1;
    const char *name = nsight_text(scan, META_NAME, &size), *value = nsight_text(scan, META_VALUE, &size);
    if (!name || !value)
        return 0;
    if (!strcmp(name, "EXPORT_SCHEMA_VERSION"))
        snprintf(profile->version, sizeof profile->version, "%s", value);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (!strcmp(name, facts[i].name))
            return add_info(profile, facts[i].key, value, size, error);
    return 0;
}

static int take_gpu(void *arg, const struct nsight_scan *scan, struct pf_error *error)
{
    struct showing *showing = arg;
    size_t size;
    if (showing->rows++ == ROWS_SHOWN)
        return 1;
    const char *name = nsight_text(scan, GPUS_NAME, &size);
    return name ? add_info(showing->profile, "GPU", name, size, error) : 0;
}

/* Exports of schema 3 and of schema 2 have these tables under different names; an old one beside the new is not read. */
static int read_facts(struct pf_profile *profile, struct nsight_db *db, struct pf_error *error)
{
    bool old_meta = !nsight_has_table(&db->schema, NSIGHT_META),
         old_gpus = !nsight_has_table(&db->schema, NSIGHT_GPUS);
    struct showing meta = {.profile = profile}, gpus = meta;
    return nsight_each(db, old_meta ? NSIGHT_OLD_META : NSIGHT_META, NSIGHT_ALL_COLUMNS, NULL, take_fact,
                       &meta, error) ||
           nsight_each(db, old_gpus ? NSIGHT_OLD_GPUS : NSIGHT_GPUS, NSIGHT_ALL_COLUMNS, NULL, take_gpu,
                       &gpus, error);
}

static bool is_export(const struct nsight_schema *schema)
{
    bool events = nsight_has_table(schema, NSIGHT_RUNTIME) || nsight_has_table(schema, NSIGHT_NVTX);
    for (size_t i = 0; i < NSIGHT_ACTIVITIES; i++)
        events |= nsight_has_table(schema, nsight_activities[i]);
    return events && nsight_has_table(schema, NSIGHT_STRINGS);
}

int nsight_open(struct pf_profile *profile, struct pf_input *input, struct pf_error *error)
{
    struct nsight_state *state = calloc(1, sizeof *state);
    if (!state)
        return pf_fail_memory(error);
    profile->state = state;
    state->input = input;
    nsight_pool_init(&state->pool);
    struct nsight_db *db = nsight_pool_take(&state->pool, input, error);
    if (!db)
        return -1;
    set_tables(profile, state);
    int failed = !is_export(&db->schema)
                     ? pf_fail(error, EINVAL, "no export of Nsight Systems: it has no strings, or no events")
                     : read_facts(profile, db, error);
    nsight_pool_give(&state->pool, db);
    return failed ? -1 : 0;
}

static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_input *input;
    return pf_source_open(profile->source, NULL, &input, error) ? -1 : nsight_open(profile, input, error);
}

static int nsight_load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass,
                       struct pf_error *error)
{
    struct nsight_state *state = nsight_state(profile);
    if (stage != PF_PARTITIONED && stage != PF_MODELLED)
        return 0;
    struct nsight_db *db = nsight_pool_take(&state->pool, state->input, error);
    if (!db)
        return -1;
    db->pass = pass;
    db->vfs.bytes = 0;
    int failed = stage == PF_PARTITIONED ? nsight_load_partitions(profile, db, error)
                                         : nsight_load_model(profile, db, error);
    nsight_pool_give(&state->pool, db);
    return failed;
}

static void nsight_close(struct pf_profile *profile)
{
    struct nsight_state *state = profile->state;
    if (!state)
        return;
    for (size_t i = 0; i < NSIGHT_SUMS; i++)
        pf_rows_free(state->sums[i]);
    pf_fold_free(state->fold.fold);
    nsight_names_free(&state->names);
    nsight_lookup_free(&state->calls);
    nsight_partitions_free(&state->partitions);
    nsight_pool_destroy(&state->pool);
    free(state);
    profile->state = NULL;
}

/* Nothing beside an export matters to it. */
static bool no_name_matters(const char *name)
{
    (void)name;
    return false;
}

const struct pf_driver pf_nsight_driver = {
    .name = "nsight",
    .title = "Nsight Systems export (SQLite), with or without Extra-Prof ranges",
    .version = 4,
    .matters = no_name_matters,
    .probe = nsight_probe,
    .open = open_file,
    .load = nsight_load,
    .close = nsight_close,
};
