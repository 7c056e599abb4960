/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_READ_H
#define PF_AFPERF_READ_H

#include "formats/afperf/model.h"
#include "formats/kit/table.h"

/* Numbers by an id and a small number, a scope: a hash table with its keys. Zero-initialised is empty. */
struct afperf_map {
    struct pf_hash_table table;
    struct afperf_key {
        uint64_t id;
        uint32_t scope, value;
    } * keys;
    size_t n, room;
};

/* What is known of the regions of an id, in its map's order. */
struct afperf_same {
    uint32_t segment;
    uint32_t newest; /* region of this segment, plus 1; 0: none */
    uint32_t open;   /* the newest of these that is open, likewise */
    bool
        put_off; /* a stop waits for the end of the pass: so do all later ones, for stops are paired in file order */
};

/* The state of the pass over the file: what is needed to make the model, and not by the model itself. */
struct afperf_reading {
    struct afperf_model *model;
    struct afperf_place place; /* of the record being read */
    uint64_t next_mark;        /* offset from which on a place is to be remembered */
    uint32_t block;            /* the event that data without ids belong to */
    uint32_t last_section;     /* reference of the last SectionInfo, or AFPERF_NONE */

    struct afperf_map run_refs, section_refs; /* by id and segment */
    struct afperf_map measures;               /* by id and reference of the run */
    struct afperf_map region_ids;             /* by id: into `same` */
    struct afperf_same *same;
    size_t same_room;
};

/* The value of a key, or AFPERF_NONE. */
uint32_t afperf_map_get(const struct afperf_map *map, uint64_t id, uint32_t scope);
/* Sets the value of a key. 0, or -1 with *error filled. */
int afperf_map_set(struct afperf_map *map, uint64_t id, uint32_t scope, uint32_t value,
                   struct pf_error *error);

/* Notes a problem of the record being read. */
void afperf_note_here(struct afperf_reading *reading, enum afperf_problem problem);

/* The reference of the run that a record names, or of the current one, which it needs; AFPERF_NONE with *error filled. */
uint32_t afperf_run_named(struct afperf_reading *reading, const struct afperf_id *run,
                          struct pf_error *error);

/* The run of this reference is needed by the record being read. */
void afperf_need(struct afperf_reading *reading, uint32_t ref);

/* A new reference, or AFPERF_NONE with *error filled. */
uint32_t afperf_add_ref(struct afperf_reading *reading, enum afperf_ref_kind kind, uint64_t id,
                        struct pf_error *error);

/* Adds an event to the log. Data without ids that follow belong to it, unless it names a section. 0, or -1. */
int afperf_log_event(struct afperf_reading *reading, uint32_t event, struct pf_error *error);

/* What is known of the regions of this id in the segment being read; NULL: nothing. */
struct afperf_same *afperf_same_region(struct afperf_reading *reading, uint64_t id);

/* What starts and stops, and what is told of sections (read_spans.c). 0, or -1 with *error filled. */
typedef int afperf_reading_of(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                              struct pf_error *error);
afperf_reading_of afperf_read_region_start, afperf_read_region_stop, afperf_read_section_info,
    afperf_read_section_start, afperf_read_section_stop;

#endif
