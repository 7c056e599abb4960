/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_DATA_H
#define PF_AFPERF_DATA_H

#include "formats/afperf/model.h"

/*
 * A walk over the data records of a file whose model is known as far as names and pairs go: what they belong to, and what they
 * measured. For one thread; walks run side by side.
 */
enum { AFPERF_WALK_RECENT = 1024 };
struct afperf_walk {
    const struct afperf_model *model;
    struct afperf_reader *reader;
    struct afperf_place next;      /* before the next record */
    struct afperf_place place;     /* of the current one */
    struct afperf_record record;   /* the current one, until the next call */
    struct afperf_decoded decoded; /* likewise */
    uint32_t
        recent[AFPERF_WALK_RECENT]; /* regions that started since the walk came here, plus 1; by their ids */
};

/* Stands before the file's first record. 0, or -1 with *error filled; to be closed in any case. */
int afperf_walk_open(struct afperf_walk *walk, const struct afperf_model *model, struct pf_error *error);
void afperf_walk_close(struct afperf_walk *walk);

/* Goes to a place. */
void afperf_walk_go(struct afperf_walk *walk, const struct afperf_place *place);

/* The next sound data record. 1; 0: the end; -1: *error filled. */
int afperf_walk_next(struct afperf_walk *walk, struct pf_error *error);

enum afperf_scope {
    AFPERF_SCOPE_RUN,
    AFPERF_SCOPE_REGION,
    AFPERF_SCOPE_SECTION,
    AFPERF_SCOPE_RUN_REGIONS,
    AFPERF_SCOPE_RUN_SECTIONS,
    AFPERF_SCOPE_ORPHAN,
};

/* What data belong to. */
struct afperf_target {
    enum afperf_scope scope;
    uint32_t run, object, interval; /* object: region or section; interval: its number; AFPERF_NONE: none */
    enum afperf_problem problem;    /* AFPERF_PROBLEMS: none */
    bool current;                   /* the run is the current one: no other was named */
};

/* That of the current record. False if there is no run that it could belong to. */
bool afperf_walk_target(const struct afperf_walk *walk, struct afperf_target *target);

/* The type of this id as the run defines it, else as the first run does that defines it (*own: the run itself); NULL: none does. */
const struct afperf_measure *afperf_find_measure(const struct afperf_model *model, uint64_t id, uint32_t run,
                                                 bool *own);

#endif
