/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_READ_H
#define PF_AFPERF_READ_H

#include "formats/afperf/log.h"
#include "formats/afperf/model.h"

/* Spans that started last, of which data most often speak. */
enum { AFPERF_RECENT = 4096 };

/* The state of the pass over the file: what is needed to make the model, and not by the model itself. */
struct afperf_reading {
    struct afperf_model *model;
    struct afperf_place place; /* of the record being read */
    uint64_t segment_start;    /* offset */
    uint64_t next_mark;        /* offset from which on a place is to be remembered */
    struct afperf_log_batch log;
    uint64_t block;        /* the event that data without ids belong to */
    uint32_t last_section; /* reference of the last SectionInfo, or AFPERF_NONE */

    struct afperf_map run_refs, section_refs; /* by id and segment */
    struct afperf_map measures;               /* by id and reference of the run */
    struct afperf_map open_regions;           /* newest open region of each id */
    struct afperf_map open_intervals;         /* by id and reference of the section */
    uint32_t recent_regions[AFPERF_RECENT], recent_intervals[AFPERF_RECENT]; /* plus 1; by hash of the id */
    bool any_put_off;
    unsigned char put_off[1 << 17]; /* bits: keys of which a stop waits for the end of the pass */
};

/* The reference of the run that a record names, or of the current one, which it needs; AFPERF_NONE with *error filled. */
uint32_t afperf_run_named(struct afperf_reading *reading, const struct afperf_id *run,
                          struct pf_error *error);

/* The run of this reference is needed by the record being read. */
void afperf_need(struct afperf_reading *reading, uint32_t ref);

/* A new reference, or AFPERF_NONE with *error filled. */
uint32_t afperf_add_ref(struct afperf_reading *reading, enum afperf_ref_kind kind, uint64_t id,
                        struct pf_error *error);

/* Adds an event to the log. Data without ids that follow belong to it, unless it names a section. 0, or -1. */
int afperf_log_event(struct afperf_reading *reading, uint64_t event, struct pf_error *error);

/* The run lasts at least until this time. */
void afperf_data_until(struct afperf_reading *reading, uint32_t ref, uint64_t time);

/* What starts and stops, and what is told of sections (read_spans.c). 0, or -1 with *error filled. */
int afperf_read_region_start(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error);
int afperf_read_region_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                            struct pf_error *error);
int afperf_read_section_info(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error);
int afperf_read_section_start(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                              struct pf_error *error);
int afperf_read_section_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error);

/* A data record: nothing is kept of it. If what it refers to is not known to be sound it is looked at again later. */
int afperf_read_data(struct afperf_reading *reading, const struct afperf_record *record,
                     const struct afperf_decoded *decoded, struct pf_error *error);

#endif
