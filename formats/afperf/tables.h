/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_TABLES_H
#define PF_AFPERF_TABLES_H

#include "formats/afperf/model.h"
#include "formats/driver.h"

/* The driver's state of a profile. */
struct afperf_state {
    struct pf_input *input;
    struct afperf_model *model; /* NULL before the pass */
    struct pf_rows *types, *sections, *pauses;
};

static inline const struct afperf_model *afperf_model(const struct pf_profile *profile)
{
    return ((const struct afperf_state *)profile->state)->model;
}

enum {
    AFPERF_VALUE_RUN,
    AFPERF_VALUE_CONTEXT,
    AFPERF_VALUE_METRIC,
    AFPERF_VALUE_VALUE,
    AFPERF_VALUE_NAME,
    AFPERF_VALUE_COLUMNS
};

enum { AFPERF_CALLS, AFPERF_TIME, AFPERF_TIME_INC, AFPERF_TIME_NET, AFPERF_TIME_NET_INC, AFPERF_METRICS };

/* Columns of the runs' table after id and name. */
enum {
    AFPERF_RUN_RUN,
    AFPERF_RUN_LINE,
    AFPERF_RUN_ID,
    AFPERF_RUN_START,
    AFPERF_RUN_END,
    AFPERF_RUN_IMPLICIT,
    AFPERF_RUN_NESTING,
    AFPERF_RUN_UNITS,
    AFPERF_RUN_WALLCLOCK,
    AFPERF_RUN_VERSION,
    AFPERF_RUN_APPLICATION,
    AFPERF_RUN_APPLICATION_VERSION,
    AFPERF_RUN_TAGS,
    AFPERF_RUN_COLUMNS
};

enum {
    AFPERF_TYPE_RUN,
    AFPERF_TYPE_ID,
    AFPERF_TYPE_LINE,
    AFPERF_TYPE_DEFINITIONS,
    AFPERF_TYPE_DATATYPE,
    AFPERF_TYPE_UNITS,
    AFPERF_TYPE_SUMMARY,
    AFPERF_TYPE_NAME,
    AFPERF_TYPE_DESCRIPTION,
    AFPERF_TYPE_COLUMNS
};

enum {
    AFPERF_SECTION_SECTION,
    AFPERF_SECTION_RUN,
    AFPERF_SECTION_CONTEXT,
    AFPERF_SECTION_ID,
    AFPERF_SECTION_INTERVALS,
    AFPERF_SECTION_TOTAL,
    AFPERF_SECTION_TOTAL_NET,
    AFPERF_SECTION_COVERED,
    AFPERF_SECTION_COVERED_NET,
    AFPERF_SECTION_IMPLICIT,
    AFPERF_SECTION_LINE,
    AFPERF_SECTION_TAGS,
    AFPERF_SECTION_LABEL,
    AFPERF_SECTION_COLUMNS
};

enum { AFPERF_PAUSE_RUN, AFPERF_PAUSE_START, AFPERF_PAUSE_STOP, AFPERF_PAUSE_COLUMNS };

enum {
    AFPERF_REGION_REGION,
    AFPERF_REGION_RUN,
    AFPERF_REGION_CONTEXT,
    AFPERF_REGION_ID,
    AFPERF_REGION_PARENT,
    AFPERF_REGION_DEPTH,
    AFPERF_REGION_STARTS,
    AFPERF_REGION_STOPS,
    AFPERF_REGION_INCLUSIVE,
    AFPERF_REGION_EXCLUSIVE,
    AFPERF_REGION_INCLUSIVE_NET,
    AFPERF_REGION_EXCLUSIVE_NET,
    AFPERF_REGION_STATE,
    AFPERF_REGION_LINE,
    AFPERF_REGION_TAGS,
    AFPERF_REGION_LABEL,
    AFPERF_REGION_COLUMNS
};

enum {
    AFPERF_INTERVAL_INTERVAL,
    AFPERF_INTERVAL_SECTION,
    AFPERF_INTERVAL_RUN,
    AFPERF_INTERVAL_CONTEXT,
    AFPERF_INTERVAL_ID,
    AFPERF_INTERVAL_STARTS,
    AFPERF_INTERVAL_STOPS,
    AFPERF_INTERVAL_DURATION,
    AFPERF_INTERVAL_DURATION_NET,
    AFPERF_INTERVAL_STATE,
    AFPERF_INTERVAL_LINE,
    AFPERF_INTERVAL_COLUMNS
};

enum {
    AFPERF_MEASUREMENT_SCOPE,
    AFPERF_MEASUREMENT_RUN,
    AFPERF_MEASUREMENT_CONTEXT,
    AFPERF_MEASUREMENT_OBJECT,
    AFPERF_MEASUREMENT_INTERVAL,
    AFPERF_MEASUREMENT_KIND,
    AFPERF_MEASUREMENT_START,
    AFPERF_MEASUREMENT_STOP,
    AFPERF_MEASUREMENT_TYPE_ID,
    AFPERF_MEASUREMENT_LINE,
    AFPERF_MEASUREMENT_AGGREGATION,
    AFPERF_MEASUREMENT_VALUE,
    AFPERF_MEASUREMENT_NAME,
    AFPERF_MEASUREMENT_COLUMNS
};

enum {
    AFPERF_TRACE_RUN,
    AFPERF_TRACE_TIME,
    AFPERF_TRACE_EVENT,
    AFPERF_TRACE_CONTEXT,
    AFPERF_TRACE_TAGS,
    AFPERF_TRACE_NAME,
    AFPERF_TRACE_COLUMNS
};

enum { AFPERF_TAG_OBJECT, AFPERF_TAG_ID, AFPERF_TAG_VALUE, AFPERF_TAG_NAME, AFPERF_TAG_COLUMNS };

extern const struct pf_cursor_ops afperf_values_cursor, afperf_regions_cursor, afperf_intervals_cursor,
    afperf_measurements_cursor, afperf_trace_cursor, afperf_tags_cursor;

/* An id as text in hexadecimal, in `text` of AFPERF_HEX bytes. */
static inline struct pf_cell afperf_id_cell(uint64_t id, char *text)
{
    return pf_plain(text, afperf_hex(id, text));
}

/* Ticks that may need more than 64 bits; *wide is where they stand then. */
struct pf_cell afperf_ticks_cell(afperf_uint128 ticks, pf_int128 *wide);

/*
 * The tags of a region as its start record has them, read from the file: borrowed from the reader, which stands behind
 * the record then. 0, or -1 with *error filled.
 */
int afperf_region_tags(const struct afperf_model *model, struct afperf_reader *reader,
                       const struct afperf_span *region, struct afperf_text *tags, struct pf_error *error);

#endif
