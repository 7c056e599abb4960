/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_DECODE_H
#define PF_AFPERF_DECODE_H

#include "formats/afperf/number.h"

/* Record types, by their numbers in the format. */
enum afperf_type {
    AFPERF_UNKNOWN, /* unknown type; ignored */
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

/* An id, which may be blank. */
struct afperf_id {
    uint64_t id;
    bool given;
};

/* A measurement of a data record: the id of its type, and its value. */
struct afperf_pair {
    uint64_t type_id;
    struct afperf_text value;
};

/* A decoded record. Its texts are borrowed from the record. */
struct afperf_decoded {
    enum afperf_type type;

    /* Diagnostics. */
    unsigned leading_zero; /* number of ids and timestamps with a leading zero */
    unsigned bad_measurement_types;
    bool example_shape, run_version, bad_wallclock, odd_measurement;
    enum afperf_problem error; /* why the record must be dropped, or AFPERF_SOUND */

    /*
     * The record is a SectionInfo of the short shape (see decode.c) whose first field is not blank. `run` holds this
     * field. It is the id of a run if some RunInfo of the file has this id, else a timestamp.
     */
    bool run_or_time;
    uint64_t time, end; /* timestamps in ticks; only aggregates and pauses have an `end` other than `time` */
    struct afperf_id run, object, interval; /* `object`: id of a region or section; an aggregate may name a run */
    struct afperf_text aggregation;         /* trimmed */
    size_t values, values_end; /* range of the fields that hold measurements, as pairs of type id and value */
    struct afperf_text name, tags; /* `name` is a label, an application, or the name of a measurement type */
    /* RunInfo has these, trimmed except for application_version. MeasurementType has `units`, too. */
    struct afperf_text units, version, wallclock, application_version;
    /* Only MeasurementType has these. Like its `units`, they are not trimmed. */
    uint64_t type_id;
    struct afperf_text datatype, summary, description;
};

/*
 * Reads the next record like afperf_reader_next, and decodes it if its kind is AFPERF_FIELDS. If the record is invalid,
 * the call still succeeds, and decoded->error is set.
 */
int afperf_next_decoded(struct afperf_reader *reader, struct afperf_record *record,
                        struct afperf_decoded *decoded, struct pf_error *error);

/*
 * Sets *pair to the first measurement, from field *at on, whose type id is valid, and *at to the field after it. The
 * first call takes *at = decoded->values. Returns false if there is no further measurement.
 */
bool afperf_next_pair(const struct afperf_record *record, const struct afperf_decoded *decoded, size_t *at,
                      struct afperf_pair *pair);

#endif
