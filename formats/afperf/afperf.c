/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/publish.h"
#include "formats/afperf/tables.h"
#include "formats/input/inflate.h"

extern const struct pf_driver pf_afperf_driver;

/* ---- recognising -------------------------------------------------------------------------------- */

/* The header of version 1: this and blanks up to 16 bytes, then a line end or the end of the file. */
#define MAGIC      "# AFPerf v1     "
#define MAGIC_SIZE (sizeof MAGIC - 1)

/* Bytes that decide: a byte-order mark, the header and a line end. */
enum { HEAD_SIZE = 3 + MAGIC_SIZE + 2 };

/* What headers of other versions begin with too. */
#define COMMON      "# AFPerf v"
#define COMMON_SIZE (sizeof COMMON - 1)

/* True if the first line is a version header of some kind, and no heading that goes on with words. */
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

/* Why a file cannot be read; NULL if it can. *mine: it is an AFPerf file all the same. */
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

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
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
    verdict->confidence = trouble ? 16 : 32;
    if (trouble)
        snprintf(verdict->message, sizeof verdict->message, "%s", trouble);
    else
        strcpy(verdict->version, "1");
}

/* ---- metrics and tables ------------------------------------------------------------------------- */

static const struct pf_metric metrics[AFPERF_METRICS] = {
    [AFPERF_CALLS] = {AFPERF_CALLS, "calls", "", "exclusive", "int", "regions; intervals of a section",
                      PF_OVER_FRAMES, PF_SUM, PF_NO_PARTNER, NULL},
    [AFPERF_TIME] = {AFPERF_TIME, "time", "ns", "exclusive", "int",
                     "time in regions, without the regions inside", PF_OVER_FRAMES, PF_SUM, AFPERF_TIME_INC,
                     NULL},
    [AFPERF_TIME_INC] = {AFPERF_TIME_INC, "time (inc)", "ns", "inclusive", "int",
                         "time in regions, with the regions inside; in intervals of a section", PF_OVER_ROOTS,
                         PF_SUM, AFPERF_TIME, NULL},
    [AFPERF_TIME_NET] = {AFPERF_TIME_NET, "time net", "ns", "exclusive", "int",
                         "time in regions, without the regions inside, less pauses of the run",
                         PF_OVER_FRAMES, PF_SUM, AFPERF_TIME_NET_INC, NULL},
    [AFPERF_TIME_NET_INC] = {AFPERF_TIME_NET_INC, "time net (inc)", "ns", "inclusive", "int",
                             "time in regions, with the regions inside, less pauses of the run",
                             PF_OVER_ROOTS, PF_SUM, AFPERF_TIME_NET, NULL},
};

#define PLAIN(name)                                                                                          \
    {                                                                                                        \
        name, PF_PLAIN, 0                                                                                    \
    }
#define RUN                                                                                                  \
    {                                                                                                        \
        "run", PF_PARTITION, 0                                                                               \
    }
#define CONTEXT                                                                                              \
    {                                                                                                        \
        "context", PF_CONTEXT, 0                                                                             \
    }
#define CONTEXT_NAME                                                                                         \
    {                                                                                                        \
        "name", PF_CONTEXT_NAME, 0                                                                           \
    }

static const struct pf_column run_fields[AFPERF_RUN_COLUMNS] = {
    [AFPERF_RUN_RUN] = PLAIN("run"),
    [AFPERF_RUN_LINE] = PLAIN("line"),
    [AFPERF_RUN_ID] = PLAIN("run_id"),
    [AFPERF_RUN_START] = PLAIN("start"),
    [AFPERF_RUN_END] = PLAIN("end"),
    [AFPERF_RUN_IMPLICIT] = PLAIN("implicit"),
    [AFPERF_RUN_NESTING] = PLAIN("nesting"),
    [AFPERF_RUN_UNITS] = PLAIN("units"),
    [AFPERF_RUN_WALLCLOCK] = PLAIN("wallclock"),
    [AFPERF_RUN_VERSION] = PLAIN("version"),
    [AFPERF_RUN_APPLICATION] = PLAIN("application"),
    [AFPERF_RUN_APPLICATION_VERSION] = PLAIN("application_version"),
    [AFPERF_RUN_TAGS] = PLAIN("tags"),
};

static const struct pf_column value_columns[AFPERF_VALUE_COLUMNS] = {
    [AFPERF_VALUE_RUN] = RUN,
    [AFPERF_VALUE_CONTEXT] = CONTEXT,
    [AFPERF_VALUE_METRIC] = {"metric", PF_METRIC, 0},
    [AFPERF_VALUE_VALUE] = PLAIN("value"),
    [AFPERF_VALUE_NAME] = CONTEXT_NAME,
};

static const struct pf_column trace_columns[AFPERF_TRACE_COLUMNS] = {
    [AFPERF_TRACE_RUN] = RUN,
    [AFPERF_TRACE_TIME] = PLAIN("time"),
    [AFPERF_TRACE_EVENT] = PLAIN("event"),
    [AFPERF_TRACE_CONTEXT] = CONTEXT,
    [AFPERF_TRACE_TAGS] = PLAIN("tags"),
    [AFPERF_TRACE_NAME] = CONTEXT_NAME,
};

static const struct pf_column region_columns[AFPERF_REGION_COLUMNS] = {
    [AFPERF_REGION_REGION] = PLAIN("region"),
    [AFPERF_REGION_RUN] = RUN,
    [AFPERF_REGION_CONTEXT] = CONTEXT,
    [AFPERF_REGION_ID] = PLAIN("region_id"),
    [AFPERF_REGION_PARENT] = PLAIN("parent"),
    [AFPERF_REGION_DEPTH] = PLAIN("depth"),
    [AFPERF_REGION_STARTS] = PLAIN("start"),
    [AFPERF_REGION_STOPS] = PLAIN("stop"),
    [AFPERF_REGION_INCLUSIVE] = PLAIN("inclusive"),
    [AFPERF_REGION_EXCLUSIVE] = PLAIN("exclusive"),
    [AFPERF_REGION_INCLUSIVE_NET] = PLAIN("inclusive_net"),
    [AFPERF_REGION_EXCLUSIVE_NET] = PLAIN("exclusive_net"),
    [AFPERF_REGION_STATE] = PLAIN("state"),
    [AFPERF_REGION_LINE] = PLAIN("line"),
    [AFPERF_REGION_TAGS] = PLAIN("tags"),
    [AFPERF_REGION_LABEL] = PLAIN("label"),
};

static const struct pf_column interval_columns[AFPERF_INTERVAL_COLUMNS] = {
    [AFPERF_INTERVAL_INTERVAL] = PLAIN("interval"),
    [AFPERF_INTERVAL_SECTION] = PLAIN("section"),
    [AFPERF_INTERVAL_RUN] = RUN,
    [AFPERF_INTERVAL_CONTEXT] = CONTEXT,
    [AFPERF_INTERVAL_ID] = PLAIN("interval_id"),
    [AFPERF_INTERVAL_STARTS] = PLAIN("start"),
    [AFPERF_INTERVAL_STOPS] = PLAIN("stop"),
    [AFPERF_INTERVAL_DURATION] = PLAIN("duration"),
    [AFPERF_INTERVAL_DURATION_NET] = PLAIN("duration_net"),
    [AFPERF_INTERVAL_STATE] = PLAIN("state"),
    [AFPERF_INTERVAL_LINE] = PLAIN("line"),
};

static const struct pf_column section_columns[AFPERF_SECTION_COLUMNS] = {
    [AFPERF_SECTION_SECTION] = PLAIN("section"),
    [AFPERF_SECTION_RUN] = RUN,
    [AFPERF_SECTION_CONTEXT] = CONTEXT,
    [AFPERF_SECTION_ID] = PLAIN("section_id"),
    [AFPERF_SECTION_INTERVALS] = PLAIN("intervals"),
    [AFPERF_SECTION_TOTAL] = PLAIN("total"),
    [AFPERF_SECTION_TOTAL_NET] = PLAIN("total_net"),
    [AFPERF_SECTION_COVERED] = PLAIN("covered"),
    [AFPERF_SECTION_COVERED_NET] = PLAIN("covered_net"),
    [AFPERF_SECTION_IMPLICIT] = PLAIN("implicit"),
    [AFPERF_SECTION_LINE] = PLAIN("line"),
    [AFPERF_SECTION_TAGS] = PLAIN("tags"),
    [AFPERF_SECTION_LABEL] = PLAIN("label"),
};

static const struct pf_column type_columns[AFPERF_TYPE_COLUMNS] = {
    [AFPERF_TYPE_RUN] = RUN,
    [AFPERF_TYPE_ID] = PLAIN("type_id"),
    [AFPERF_TYPE_LINE] = PLAIN("line"),
    [AFPERF_TYPE_DEFINITIONS] = PLAIN("definitions"),
    [AFPERF_TYPE_DATATYPE] = PLAIN("datatype"),
    [AFPERF_TYPE_UNITS] = PLAIN("units"),
    [AFPERF_TYPE_NAME] = PLAIN("name"),
    [AFPERF_TYPE_SUMMARY] = PLAIN("summary"),
    [AFPERF_TYPE_DESCRIPTION] = PLAIN("description"),
};

static const struct pf_column pause_columns[AFPERF_PAUSE_COLUMNS] = {
    [AFPERF_PAUSE_RUN] = RUN,
    [AFPERF_PAUSE_START] = PLAIN("start"),
    [AFPERF_PAUSE_STOP] = PLAIN("stop"),
};

static const struct pf_column measurement_columns[AFPERF_MEASUREMENT_COLUMNS] = {
    [AFPERF_MEASUREMENT_SCOPE] = PLAIN("scope"),
    [AFPERF_MEASUREMENT_RUN] = RUN,
    [AFPERF_MEASUREMENT_CONTEXT] = CONTEXT,
    [AFPERF_MEASUREMENT_OBJECT] = PLAIN("object"),
    [AFPERF_MEASUREMENT_INTERVAL] = PLAIN("interval"),
    [AFPERF_MEASUREMENT_KIND] = PLAIN("kind"),
    [AFPERF_MEASUREMENT_START] = PLAIN("start"),
    [AFPERF_MEASUREMENT_STOP] = PLAIN("stop"),
    [AFPERF_MEASUREMENT_TYPE_ID] = PLAIN("type_id"),
    [AFPERF_MEASUREMENT_LINE] = PLAIN("line"),
    [AFPERF_MEASUREMENT_AGGREGATION] = PLAIN("aggregation"),
    [AFPERF_MEASUREMENT_NAME] = PLAIN("name"),
    [AFPERF_MEASUREMENT_VALUE] = PLAIN("value"),
};

static const struct pf_column tag_columns[AFPERF_TAG_COLUMNS] = {
    [AFPERF_TAG_OBJECT] = PLAIN("object"),
    [AFPERF_TAG_ID] = PLAIN("id"),
    [AFPERF_TAG_NAME] = PLAIN("name"),
    [AFPERF_TAG_VALUE] = PLAIN("value"),
};

enum { VALUES, TRACE, MEASUREMENTS, REGIONS, INTERVALS, TAGS, TYPES, SECTIONS, PAUSES, TABLES };

#define COLUMNS(list) .columns = list, .n_columns = sizeof list / sizeof *list

static const struct pf_table walked[] = {
    [VALUES] = {.name = "values",
                COLUMNS(value_columns),
                .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                .ops = &afperf_values_cursor},
    [TRACE] = {.name = "trace",
               COLUMNS(trace_columns),
               .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
               .ops = &afperf_trace_cursor},
    [MEASUREMENTS] = {.name = "measurements",
                      COLUMNS(measurement_columns),
                      .flags = PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                      .ops = &afperf_measurements_cursor},
    [REGIONS] = {.name = "regions",
                 COLUMNS(region_columns),
                 .flags = PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                 .ops = &afperf_regions_cursor},
    [INTERVALS] = {.name = "intervals", COLUMNS(interval_columns), .ops = &afperf_intervals_cursor},
    [TAGS] = {.name = "tags", COLUMNS(tag_columns), .ops = &afperf_tags_cursor},
    [TYPES] = {.name = "types", COLUMNS(type_columns)},
    [SECTIONS] = {.name = "sections", COLUMNS(section_columns)},
    [PAUSES] = {.name = "pauses", COLUMNS(pause_columns)},
};

/* ---- the profile -------------------------------------------------------------------------------- */

/* The driver's state, with the tables of the profile, some of which are held in rows of its own. */
struct opened {
    struct afperf_state state; /* first: see tables.h */
    struct pf_table tables[TABLES];
};

static void set_tables(struct pf_profile *profile, struct opened *opened)
{
    memcpy(opened->tables, walked, sizeof walked);
    for (int i = 0; i < TABLES; i++)
        opened->tables[i].stage = opened->tables[i].partition_stage = opened->tables[i].context_stage =
            PF_MODELLED;
    /* These need what no other does: the order in time; the places of ids. */
    opened->tables[TRACE].stage = opened->tables[MEASUREMENTS].stage = PF_DERIVED;
    opened->tables[TYPES].rows = &opened->state.types;
    opened->tables[SECTIONS].rows = &opened->state.sections;
    opened->tables[PAUSES].rows = &opened->state.pauses;
    profile->tables = opened->tables;
    profile->n_tables = TABLES;
    profile->cells = &opened->tables[VALUES];
    profile->cells_value = AFPERF_VALUE_VALUE;
}

/* What a compressed file inflates to. */
static const struct pf_blob blobs[] = {{.name = "profile.afperf"}};

static int set_blobs(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_input *file;
    unsigned char head[4];
    if (pf_source_open(profile->source, NULL, &file, error) < 0)
        return -1;
    ssize_t have = pf_input_read(file, head, sizeof head, 0, error);
    if (have > 0 && pf_inflate_is_gzip(head, (size_t)have)) {
        profile->blobs = blobs;
        profile->n_blobs = 1;
    }
    return have < 0 ? -1 : 0;
}

static ssize_t blob_read(struct pf_profile *profile, size_t blob, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error)
{
    const struct afperf_state *state = profile->state;
    (void)blob; /* there is one */
    return pf_input_read(state->input, buffer, size, offset, error);
}

static int open_file(struct pf_profile *profile, struct pf_error *error)
{
    struct opened *opened = profile->state = calloc(1, sizeof *opened);
    char head[HEAD_SIZE];
    bool mine;
    if (!opened)
        return pf_fail_memory(error);
    if (pf_source_open_plain(profile->source, NULL, &opened->state.input, error) < 0)
        return -1;
    ssize_t have = pf_input_read(opened->state.input, head, sizeof head, 0, error);
    if (have < 0)
        return -1;
    const char *trouble = trouble_with(head, (size_t)have, &mine);
    if (trouble)
        return pf_fail_line(error, EINVAL, 1, "%s", mine ? trouble : "no version header");
    strcpy(profile->version, "1");
    profile->partitions.singular = "run";
    profile->partitions.plural = "runs";
    profile->partitions.field_columns = run_fields;
    profile->partitions.n_fields = AFPERF_RUN_COLUMNS;
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->metrics = metrics;
    profile->n_metrics = AFPERF_METRICS;
    profile->metrics_stage = PF_OPENED;
    profile->time_unit = "ticks";
    set_tables(profile, opened);
    return set_blobs(profile, error);
}

/* What runs there are is known only when all has been read: then all else is too. */
static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_state *state = profile->state;
    if (stage == PF_DERIVED)
        return afperf_model_complete(state->model, pass, error);
    if (stage != PF_PARTITIONED)
        return 0;
    struct afperf_model *model = afperf_model_new(state->input, pass, error);
    if (!model)
        return -1;
    if (afperf_publish(model, profile, error) < 0) {
        afperf_model_free(model);
        return -1;
    }
    state->model = model;
    return 0;
}

static void close_file(struct pf_profile *profile)
{
    struct opened *opened = profile->state;
    if (!opened)
        return;
    afperf_model_free(opened->state.model);
    pf_rows_free(opened->state.types);
    pf_rows_free(opened->state.sections);
    pf_rows_free(opened->state.pauses);
    free(opened);
    profile->state = NULL;
}

const struct pf_driver pf_afperf_driver = {
    .name = "afperf",
    .title = "AFPerf v1 (AFSIM's profiling container)",
    .version = 3,
    .probe = probe,
    .open = open_file,
    .load = load,
    .close = close_file,
    .blob_read = blob_read,
};
