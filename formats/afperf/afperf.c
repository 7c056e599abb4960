/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/afperf.h"
#include "formats/input/inflate.h"
#include "formats/probe.h"

extern const struct pf_driver pf_afperf_driver;

/* ---- recognising -------------------------------------------------------------------------------- */

/* The header of version 1 is MAGIC, which includes trailing spaces. A line end or the end of the file must follow it. */
#define MAGIC      "# AFPerf v1     "
#define MAGIC_SIZE (sizeof MAGIC - 1)

/* Number of bytes that problem_of_head needs: a byte-order mark, the header and a line end. */
enum { HEAD_SIZE = 3 + MAGIC_SIZE + 2 };

/* Common prefix of the headers of all versions. */
#define COMMON      "# AFPerf v"
#define COMMON_SIZE (sizeof COMMON - 1)

/* Returns true if the first line is a header of any version. A Markdown heading with further words is not one. */
static bool is_header(const char *head, size_t size)
{
    if (size <= COMMON_SIZE || memcmp(head, COMMON, COMMON_SIZE) != 0)
        return false;
    size_t at = COMMON_SIZE;
    while (at < size && strchr("0123456789.", head[at]) && head[at])
        at++;
    bool version = at > COMMON_SIZE && head[COMMON_SIZE] != '.';
    while (at < size && (head[at] == ' ' || head[at] == '\r'))
        at++;
    return version && (at == size || head[at] == '\n');
}

/*
 * Returns why a file that begins with `head` cannot be read, or NULL if it can be. Sets *is_afperf to whether the file is in any version of
 * the format.
 */
static const char *problem_of_head(const char *head, size_t size, bool *is_afperf)
{
    *is_afperf = true;
    if (size >= MAGIC_SIZE && !memcmp(head, MAGIC, MAGIC_SIZE)) {
        bool alone = size == MAGIC_SIZE || head[MAGIC_SIZE] == '\n' ||
                     (head[MAGIC_SIZE] == '\r' && (size == MAGIC_SIZE + 1 || head[MAGIC_SIZE + 1] == '\n'));
        return alone ? NULL : "text follows the version header on its line";
    }
    bool mark = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3);
    *is_afperf = is_header(head + 3 * mark, size - 3 * mark);
    if (mark)
        return "a byte-order mark precedes the version header";
    if (*is_afperf && head[COMMON_SIZE] == '1' &&
        (size == COMMON_SIZE + 1 || !strchr("0123456789.", head[COMMON_SIZE + 1])))
        return "the version header is not padded to 16 bytes";
    return "unknown version of the format";
}

static void probe_afperf(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    bool is_afperf;
    if (probe->directory)
        return;
    const char *head = (const char *)pf_probe_head(probe, HEAD_SIZE, &have);
    const char *problem = problem_of_head(head, have, &is_afperf);
    if (!is_afperf && pf_inflate_is_gzip((const unsigned char *)head, have)) {
        head = (const char *)pf_probe_plain_head(probe, HEAD_SIZE, &have);
        problem = problem_of_head(head, have, &is_afperf);
    }
    if (!is_afperf)
        return;
    result->confidence = problem ? 16 : 32;
    if (problem)
        snprintf(result->message, sizeof result->message, "%s", problem);
    else
        strcpy(result->version, "1");
}

/* ---- metrics and tables ------------------------------------------------------------------------- */

#define METRIC(index, metric_name, unit_name, scope_name, over, partner_id, text)                            \
    {                                                                                                        \
        .id = (index), .name = (metric_name), .unit = (unit_name), .scope = (scope_name), .type = "int",     \
        .description = (text), .over_contexts = (over), .over_partitions = PF_SUM, .partner = (partner_id)   \
    }

static const struct pf_metric metrics[AFPERF_METRICS] = {
    [AFPERF_CALLS] = METRIC(AFPERF_CALLS, "calls", "", "exclusive", PF_OVER_FRAMES, PF_NO_PARTNER,
                            "regions; intervals of a section"),
    [AFPERF_TIME] = METRIC(AFPERF_TIME, "time", "ns", "exclusive", PF_OVER_FRAMES, AFPERF_TIME_INC,
                           "time in regions, excluding nested regions"),
    [AFPERF_TIME_INC] = METRIC(AFPERF_TIME_INC, "time (inc)", "ns", "inclusive", PF_OVER_ROOTS, AFPERF_TIME,
                               "time in regions, including nested regions; in intervals of a section"),
    [AFPERF_TIME_NET] =
        METRIC(AFPERF_TIME_NET, "time net", "ns", "exclusive", PF_OVER_FRAMES, AFPERF_TIME_NET_INC,
               "time in regions, excluding nested regions and pauses of the run"),
    [AFPERF_TIME_NET_INC] =
        METRIC(AFPERF_TIME_NET_INC, "time net (inc)", "ns", "inclusive", PF_OVER_ROOTS, AFPERF_TIME_NET,
               "time in regions, including nested regions, excluding pauses of the run"),
};

static const struct pf_column value_columns[PF_SUMS_COLUMNS] = {
    [PF_SUMS_PARTITION] = {"run", PF_PARTITION, 0}, [PF_SUMS_CONTEXT] = {"context", PF_CONTEXT, 0},
    [PF_SUMS_METRIC] = {"metric", PF_METRIC, 0},    [PF_SUMS_VALUE] = {.name = "value"},
    [PF_SUMS_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static const struct pf_table values_table = {
    .name = "values", AFPERF_COLUMNS(value_columns), .flags = PF_SUMS_FLAGS, .ops = &pf_sums_cursor.ops};

static void list_tables_of(struct pf_model *profile, struct afperf_model *model)
{
    for (int i = 0; i < TABLES; i++) {
        struct pf_table *table = &model->tables[i];
        *table = i == VALUES         ? values_table
                 : i == TRACE        ? afperf_trace_table
                 : i == MEASUREMENTS ? afperf_measurements_table
                                     : afperf_row_tables[i];
        table->stage = PF_MODELLED;
        if (i == VALUES)
            table->data = &model->values;
        else if (i >= FIRST_STORED)
            table->data = table->ops ? (const void *)&model->stored[i] : &model->rows[i];
    }
    profile->tables = model->tables;
    profile->n_tables = TABLES;
    profile->values = &model->tables[VALUES];
    profile->value_column = PF_SUMS_VALUE;
}

/* ---- the profile -------------------------------------------------------------------------------- */

/* A compressed file has a blob with its unpacked content. */
static const struct pf_blob blobs[] = {{.name = "profile.afperf"}};

static int set_blobs(struct pf_model *model, struct pf_error *error)
{
    struct pf_input *file;
    unsigned char head[4];
    if (pf_source_open(model->source, NULL, PF_RAW, &file, error) < 0)
        return -1;
    ssize_t have = pf_input_read(file, head, sizeof head, 0, error);
    if (have > 0 && pf_inflate_is_gzip(head, (size_t)have)) {
        struct afperf_model *state = model->state;
        state->extra = (struct pf_model_extra){.blobs = blobs, .n_blobs = 1};
        model->extra = &state->extra;
    }
    return have < 0 ? -1 : 0;
}

static ssize_t read_unpacked(struct pf_model *model, size_t blob, void *buffer, size_t size, uint64_t offset,
                             struct pf_error *error)
{
    const struct afperf_model *state = model->state;
    (void)blob; /* there is only one */
    return pf_input_read(state->input, buffer, size, offset, error);
}

static int open_afperf(struct pf_model *model, struct pf_error *error)
{
    struct afperf_model *state = model->state = calloc(1, sizeof *state);
    char head[HEAD_SIZE];
    bool is_afperf;
    if (!state)
        return pf_fail_memory(error);
    if (pf_source_open(model->source, NULL, PF_UNPACK, &state->input, error) < 0)
        return -1;
    ssize_t have = pf_input_read(state->input, head, sizeof head, 0, error);
    if (have < 0)
        return -1;
    const char *problem = problem_of_head(head, (size_t)have, &is_afperf);
    if (problem)
        return pf_fail_line(error, EINVAL, 1, "%s", is_afperf ? problem : "no version header");
    strcpy(model->version, "1");
    model->partitions.singular = "run";
    model->partitions.plural = "runs";
    model->partitions.field_columns = afperf_run_columns;
    model->partitions.n_fields = afperf_n_run_columns;
    model->metrics = metrics;
    model->n_metrics = AFPERF_METRICS;
    model->time_unit = "ticks";
    state->profile = model;
    state->limit = model->options->cache / 16;
    list_tables_of(model, state);
    return set_blobs(model, error);
}

/* ---- the pass ----------------------------------------------------------------------------------- */

static const char *const kinds[] = {[AFPERF_KIND_REGION] = "region", [AFPERF_KIND_SECTION] = "section"};

/* Creates the parts of the model that outlive the pass. */
static bool create_parts(struct afperf_model *model)
{
    struct pf_model *profile = model->profile;
    model->strings = pf_strings_new();
    model->tree = profile->contexts = pf_tree_new(kinds);
    model->values = pf_sums_new(4 * model->limit, true);
    bool created = model->strings && model->tree && model->values;
    for (int i = 0; i < STORES; i++)
        created &= (model->stores[i] = pf_store_new(model->limit)) != NULL;
    for (int i = FIRST_STORED; i < TABLES; i++)
        if (model->tables[i].ops)
            created &= (model->stored[i] = pf_stored_new(model->tables[i].n_columns, model->limit)) != NULL;
        else
            created &= (model->rows[i] = pf_rows_new(model->tables[i].n_columns)) != NULL;
    profile->partitions.items = pf_rows_new(2);
    profile->partitions.fields = pf_rows_new(afperf_n_run_columns);
    return created && profile->partitions.items && profile->partitions.fields;
}

static void free_parts(struct afperf_model *model)
{
    void *const arrays[] = {model->runs,
                            model->names[AFPERF_RUNS].refs,
                            model->names[AFPERF_SECTIONS].refs,
                            model->measures,
                            model->sections,
                            model->segments,
                            model->pauses};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    for (int i = 0; i < STORES; i++)
        pf_store_free(model->stores[i]);
    for (int i = 0; i < TABLES; i++) {
        pf_stored_free(model->stored[i]);
        pf_rows_free(model->rows[i]);
    }
    pf_strings_free(model->strings);
    pf_sums_free(model->values);
}

static void read_afperf_file(struct pf_run *run, void *arg)
{
    struct afperf_model *model = arg;
    model->run = run;
    if (!create_parts(model))
        pf_run_check(run, pf_fail_memory(run->error));
    model->events = afperf_new_store(model);
    struct pf_sorter *links = afperf_new_sorter(model, sizeof(struct afperf_link_record), 1);
    afperf_read(model);
    afperf_resolve_names(model);
    afperf_match(model, links);
    afperf_find_targets(model, links);
    afperf_number_runs(model);
    afperf_check_data(model);
    afperf_nest(model);
    afperf_fill_rows(model);
    pf_run_check(run, pf_sums_finish(model->values, (uint32_t)model->n_runs, model->tree->count, run->error));
    pf_run_check(run, pf_tree_finish(model->tree, run->error));
    pf_notes_sort(&run->notes);
}

/* Loads all data in the first stage, because even the runs are known only after the whole file has been read. */
static int load_afperf(struct pf_model *profile, enum pf_stage stage, struct pf_error *error)
{
    struct afperf_model *model = profile->state;
    if (stage != PF_PARTITIONED || !pf_run(profile, read_afperf_file, model, error))
        return 0;
    /* The load failed, so restore the state before it. */
    struct afperf_model opened = {
        .profile = profile, .input = model->input, .limit = model->limit, .extra = model->extra};
    free_parts(model);
    *model = opened;
    list_tables_of(profile, model);
    pf_tree_free(profile->contexts);
    pf_rows_free(profile->partitions.items);
    pf_rows_free(profile->partitions.fields);
    profile->contexts = NULL;
    profile->partitions.items = profile->partitions.fields = NULL;
    return -1;
}

static void close_afperf(struct pf_model *profile)
{
    if (profile->state)
        free_parts(profile->state);
    free(profile->state);
    profile->state = NULL;
}

const struct pf_driver pf_afperf_driver = {
    .name = "afperf",
    .title = "AFPerf v1 (AFSIM's profiling container)",
    .version = 6,
    .probe = probe_afperf,
    .open = open_afperf,
    .load = load_afperf,
    .close = close_afperf,
    .extra = &(const struct pf_driver_extra){.blob_read = read_unpacked},
};
