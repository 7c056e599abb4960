/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_READ_H
#define PF_AFPERF_READ_H

#include "formats/afperf/model.h"

/* Spans that started last, of which data most often speak. */
enum { AFPERF_RECENT = 4096 };

/* The state of the pass over the file: what is needed to make the model, and not by the model itself. */
struct afperf_reading {
    struct afperf_model *model;
    struct afperf_place place; /* of the record being read */
    uint64_t segment_start;    /* offset */
    uint64_t block;            /* the event that data without ids belong to */
    uint32_t last_section;     /* reference of the last SectionInfo, or AFPERF_NONE */

    struct afperf_map run_refs, section_refs; /* by id and segment */
    struct afperf_map measures;               /* by id and reference of the run */
    struct afperf_map open_regions;           /* newest open region of each id */
    struct afperf_map open_intervals;         /* by id and reference of the section */
    uint32_t recent_regions[AFPERF_RECENT], recent_intervals[AFPERF_RECENT]; /* plus 1; by hash of the id */
    unsigned char put_off[1 << 17]; /* bits: keys of which a stop waits for the end of the pass */
};

/* The reference of the run that a record names, or of the current one, which it needs; AFPERF_NONE with *error filled. */
uint32_t afperf_run_named(struct afperf_reading *reading, const struct afperf_id *run,
                          struct pf_error *error);

/* The run lasts at least until this time. */
void afperf_data_until(struct afperf_reading *reading, uint32_t ref, uint64_t time);

/* A data record: nothing is kept of it. If what it refers to is not known to be sound it is looked at again later. */
int afperf_read_data(struct afperf_reading *reading, const struct afperf_record *record,
                     const struct afperf_decoded *decoded, struct pf_error *error);

#endif
