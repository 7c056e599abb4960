/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_DECODE_H
#define PF_AFPERF_DECODE_H

#include "formats/afperf/number.h"

/* Record types by their numbers. */
enum afperf_type {
    AFPERF_UNKNOWN, /* to be ignored */
    AFPERF_MEASUREMENT_TYPE,
    AFPERF_PAUSE_RESUME,
    AFPERF_REGION_AGGREGATE,
    AFPERF_REGION_POINT,
    AFPERF_REGION_START,
    AFPERF_REGION_STOP,
    AFPERF_RUN_AGGREGATE,
    AFPERF_RUN_INFO,
    AFPERF_RUN_POINT,
    AFPERF_SECTION_AGGREGATE,
    AFPERF_SECTION_INFO,
    AFPERF_SECTION_POINT,
    AFPERF_SECTION_START,
    AFPERF_SECTION_STOP,
    AFPERF_TYPES
};

/* An id that may be blank. */
struct afperf_id {
    uint64_t id;
    bool given;
};

/* What one measurement of a data record is, and how much it was. */
struct afperf_pair {
    uint64_t type_id;
    struct afperf_text value;
};

/* What a record says. Its text is the record's. */
struct afperf_decoded {
    enum afperf_type type;

    /* Diagnoses. */
    unsigned leading_zero; /* how many ids and timestamps have one */
    unsigned bad_measurement_types;
    bool example_shape, run_version, bad_wallclock, odd_measurement;
    enum afperf_problem error; /* why the record is to be dropped, or AFPERF_SOUND */

    /*
     * A SectionInfo of the short shape: `run` holds its first field, which is a run's id if some RunInfo of the
     * file has this id, else a timestamp.
     */
    bool run_or_time;
    uint64_t time, end; /* timestamps in ticks; end: of aggregates and pauses, else as time */
    struct afperf_id run, object, interval; /* object: region, section, or an aggregate's record id */
    struct afperf_text aggregation;         /* trimmed */
    size_t values, values_end;              /* fields of measurements: pairs of type id and value */
    struct afperf_text name, tags;          /* name: label, application, name of a measurement type */
    /* Of RunInfo: trimmed but the last one. */
    struct afperf_text units, version, wallclock, application_version;
    /* Of MeasurementType, which has `units` as well: not trimmed. */
    uint64_t type_id;
    struct afperf_text datatype, summary, description;
};

/* Whether records of this type hold measurements. */
bool afperf_is_data(enum afperf_type type);

/* The next record of a reader (afperf_reader_next), and what it says if it has fields; see decoded->error. */
int afperf_next_decoded(struct afperf_reader *reader, struct afperf_record *record,
                        struct afperf_decoded *decoded, struct pf_error *error);

/* Takes the next sound pair of a data record, from field *at (at first decoded->values) on. False if there are no more. */
bool afperf_next_pair(const struct afperf_record *record, const struct afperf_decoded *decoded, size_t *at,
                      struct afperf_pair *pair);

#endif
