/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/tables.h"
#include "formats/driver_extra.h"
#include "formats/input/inflate.h"
#include "formats/probe.h"

extern const struct pf_driver pf_afperf_driver;

/* ---- recognising -------------------------------------------------------------------------------- */

/* Header of version 1: MAGIC, which is 16 bytes including trailing spaces, then a line end or the end of the file. */
#define MAGIC      "# AFPerf v1     "
#define MAGIC_SIZE (sizeof MAGIC - 1)

/* Number of bytes needed for the decision: a byte order mark, the header and a line end. */
enum { HEAD_SIZE = 3 + MAGIC_SIZE + 2 };

/* Common prefix of the headers of all versions. */
#define COMMON      "# AFPerf v"
#define COMMON_SIZE (sizeof COMMON - 1)

/* Returns true if the first line is a header of any version, and not a heading that continues with words. */
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

/* Returns why a file cannot be read, or NULL if it can. *mine: it is an AFPerf file nevertheless. */
static const char *trouble_with(const char *head, size_t size, bool *mine)
{
    *mine = true;
    if (size >= MAGIC_SIZE && !memcmp(head, MAGIC, MAGIC_SIZE)) {
        bool alone = size == MAGIC_SIZE || head[MAGIC_SIZE] == '\n' ||
                     (head[MAGIC_SIZE] == '\r' && (size == MAGIC_SIZE + 1 || head[MAGIC_SIZE + 1] == '\n'));
        return alone ? NULL : "the version header does not stand alone on its line";
    }
    bool mark = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3);
    *mine = is_header(head + 3 * mark, size - 3 * mark);
    if (mark)
        return "a byte-order mark stands before the version header";
    if (*mine && head[COMMON_SIZE] == '1' &&
        (size == COMMON_SIZE + 1 || !strchr("0123456789.", head[COMMON_SIZE + 1])))
        return "the version header is not padded to 16 bytes";
    return "a version of the format that is not known";
}

static void probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    bool mine;
    if (probe->directory)
        return;
    const char *head = (const char *)pf_probe_head(probe, HEAD_SIZE, &have);
    const char *trouble = trouble_with(head, have, &mine);
    if (!mine && pf_inflate_is_gzip((const unsigned char *)head, have)) {
        head = (const char *)pf_probe_plain_head(probe, HEAD_SIZE, &have);
        trouble = trouble_with(head, have, &mine);
    }
    if (!mine)
        return;
    result->confidence = trouble ? 16 : 32;
    if (trouble)
        snprintf(result->message, sizeof result->message, "%s", trouble);
    else
        strcpy(result->version, "1");
}

/* ---- metrics and tables ------------------------------------------------------------------------- */

static const struct pf_metric metrics[AFPERF_METRICS] = {
    [AFPERF_CALLS] = {AFPERF_CALLS, "calls", "", "exclusive", "int", "regions; intervals of a section",
                      PF_OVER_FRAMES, PF_SUM, .partner = PF_NO_PARTNER},
    [AFPERF_TIME] = {AFPERF_TIME, "time", "ns", "exclusive", "int",
                     "time in regions, without the regions inside", PF_OVER_FRAMES, PF_SUM,
                     .partner = AFPERF_TIME_INC},
    [AFPERF_TIME_INC] = {AFPERF_TIME_INC, "time (inc)", "ns", "inclusive", "int",
                         "time in regions, with the regions inside; in intervals of a section", PF_OVER_ROOTS,
                         PF_SUM, .partner = AFPERF_TIME},
    [AFPERF_TIME_NET] = {AFPERF_TIME_NET, "time net", "ns", "exclusive", "int",
                         "time in regions, without the regions inside, less pauses of the run",
                         PF_OVER_FRAMES, PF_SUM, .partner = AFPERF_TIME_NET_INC},
    [AFPERF_TIME_NET_INC] = {AFPERF_TIME_NET_INC, "time net (inc)", "ns", "inclusive", "int",
                             "time in regions, with the regions inside, less pauses of the run",
                             PF_OVER_ROOTS, PF_SUM, .partner = AFPERF_TIME_NET},
};

/* ---- the profile -------------------------------------------------------------------------------- */

static void set_tables(struct pf_model *model, struct afperf_state *state)
{
    const struct pf_table walked[WALKED] = {
        [VALUES] = afperf_values_table,
        [TRACE] = afperf_trace_table,
        [MEASUREMENTS] = afperf_measurements_table,
        [REGIONS] = afperf_regions_table,
        [INTERVALS] = afperf_intervals_table,
        [TAGS] = afperf_tags_table,
    };
    for (int i = 0; i < TABLES; i++) {
        struct pf_table *table = &state->tables[i];
        *table = i < WALKED ? walked[i] : afperf_short_tables[i - WALKED];
        table->stage = PF_MODELLED;
        if (i >= WALKED)
            table->data = &state->rows[i - WALKED];
    }
    model->tables = state->tables;
    model->n_tables = TABLES;
    model->cells = &state->tables[VALUES];
    model->cells_value = 3;
}

/* The content of a compressed file, unpacked. */
static const struct pf_blob blobs[] = {{.name = "profile.afperf"}};

static int set_blobs(struct pf_model *model, struct pf_error *error)
{
    struct pf_input *file;
    unsigned char head[4];
    if (pf_source_open(model->source, NULL, PF_RAW, &file, error) < 0)
        return -1;
    ssize_t have = pf_input_read(file, head, sizeof head, 0, error);
    if (have > 0 && pf_inflate_is_gzip(head, (size_t)have)) {
        struct afperf_state *state = model->state;
        state->extra = (struct pf_model_extra){.blobs = blobs, .n_blobs = 1};
        model->extra = &state->extra;
    }
    return have < 0 ? -1 : 0;
}

static ssize_t blob_read(struct pf_model *model, size_t blob, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error)
{
    const struct afperf_state *state = model->state;
    (void)blob; /* there is only one */
    return pf_input_read(state->input, buffer, size, offset, error);
}

static int open_file(struct pf_model *model, struct pf_error *error)
{
    struct afperf_state *state = model->state = calloc(1, sizeof *state);
    char head[HEAD_SIZE];
    bool mine;
    if (!state)
        return pf_fail_memory(error);
    if (pf_source_open(model->source, NULL, PF_UNPACK, &state->input, error) < 0)
        return -1;
    ssize_t have = pf_input_read(state->input, head, sizeof head, 0, error);
    if (have < 0)
        return -1;
    const char *trouble = trouble_with(head, (size_t)have, &mine);
    if (trouble)
        return pf_fail_line(error, EINVAL, 1, "%s", mine ? trouble : "no version header");
    strcpy(model->version, "1");
    model->partitions.singular = "run";
    model->partitions.plural = "runs";
    model->partitions.field_columns = afperf_run_columns;
    model->partitions.n_fields = afperf_n_run_columns;
    model->metrics = metrics;
    model->n_metrics = AFPERF_METRICS;
    model->time_unit = "ticks";
    set_tables(model, state);
    return set_blobs(model, error);
}

/* The runs are known only after the whole file has been read, and so is everything else: one stage suffices. */
static int load(struct pf_model *profile, enum pf_stage stage, struct pf_error *error)
{
    struct afperf_state *state = profile->state;
    if (stage != PF_PARTITIONED)
        return 0;
    struct afperf_model *model = afperf_model_new(state->input, error);
    if (!model)
        return -1;
    if (afperf_publish(model, profile, error) < 0) {
        afperf_model_free(model);
        return -1;
    }
    state->model = model;
    return 0;
}

static void close_file(struct pf_model *model)
{
    struct afperf_state *state = model->state;
    if (!state)
        return;
    afperf_model_free(state->model);
    for (int i = 0; i < TABLES - WALKED; i++)
        pf_rows_free(state->rows[i]);
    free(state);
    model->state = NULL;
}

const struct pf_driver pf_afperf_driver = {
    .name = "afperf",
    .title = "AFPerf v1 (AFSIM's profiling container)",
    .version = 4,
    .probe = probe,
    .open = open_file,
    .load = load,
    .close = close_file,
    .extra = &(const struct pf_driver_extra){.blob_read = blob_read},
};
