/* SPDX-License-Identifier: MIT */
#ifndef PF_HPCTOOLKIT_H
#define PF_HPCTOOLKIT_H

#include <pthread.h>

#include "formats/driver.h"
#include "formats/hpctoolkit/model.h"
#include "formats/hpctoolkit/notes.h"
#include "formats/hpctoolkit/window.h"
#include "formats/kit/store.h"

/*
 * HPCToolkit databases: a directory with a file that describes what was measured (meta.db or experiment.xml)
 * and files that hold the measurements by thread (profile.db), by context (cct.db) and by time (trace.db).
 */
enum hpc_layout {
    HPC_META,  /* releases from 2022.10 on: meta.db, little-endian */
    HPC_DRAFT, /* development versions of 2022 before them: the same files, other records */
    HPC_XML4,  /* development versions of 2021/22: experiment.xml 4.0, big-endian */
    HPC_OLD,   /* releases up to 2022.05: experiment.xml 2.x, a dense table of values a thread */
};

/* ---- identifiers of threads ----------------------------------------------------------------------- */

/* The kinds that every writer numbers alike; further ones have a name alone. */
enum hpc_identifier {
    HPC_SUMMARY,
    HPC_NODE,
    HPC_RANK,
    HPC_THREAD,
    HPC_DEVICE,
    HPC_CONTEXT,
    HPC_STREAM,
    HPC_CORE,
    HPC_IDENTIFIERS
};

/* Names of the kinds of identifiers, as the database gives them. */
struct hpc_identifiers {
    const char **names; /* owned array, names in the state's strings; NULL: not named */
    size_t count;
};

/* One element of a thread's identity: `RANK 3`. */
struct hpc_identity {
    uint16_t kind;
    bool shows_physical; /* the physical number tells more than the logical one */
    uint64_t logical, physical;
};

/* ---- metrics -------------------------------------------------------------------------------------- */

/* From the ids that profiles use, which have 16 bits, to indexes of metrics. */
struct hpc_by_id {
    uint32_t *index; /* owned; HPC_NO_NUMBER: no metric has this id */
    uint32_t count;  /* one past the largest id */
};

static inline uint32_t hpc_metric_at(const struct hpc_by_id *by_id, uint32_t id)
{
    return id < by_id->count ? by_id->index[id] : HPC_NO_NUMBER;
}

/* A metric of the summary. */
struct hpc_summary_metric {
    int64_t id;
    const char *name;
    struct hpc_formula *formula; /* how to compute it from others; NULL: it is stored, or can't be computed */
};

struct hpc_metrics {
    struct pf_metric *items;
    size_t count, room;
    struct hpc_idmap ids;   /* id in the threads' profiles -> index */
    struct hpc_idmap names; /* number of the name in the state's strings -> index: names are unique */
    struct hpc_by_id by_id;
};

struct hpc_summary_metrics {
    struct hpc_summary_metric *items;
    size_t count, room;
    struct hpc_idmap ids, names;
    struct hpc_by_id by_id;
    struct pf_rows *rows; /* the table summary_metrics */
};

/* ---- threads -------------------------------------------------------------------------------------- */

/* Where the values of a profile stand in profile.db. */
struct hpc_block {
    uint64_t values, indices; /* offsets of the first value and of the first (context, index) pair */
    uint64_t n_values;
    uint32_t n_contexts;
};

struct hpc_thread {
    struct hpc_block block; /* 2.x: n_contexts rows of `columns` doubles, from `values` on */
    uint32_t profile;       /* its index in the database */
    uint32_t part, columns; /* 2.x: number of the file that holds its values */
    uint32_t trace_part;    /* 2.x: of the file that holds its trace */
    bool data_centric;      /* 2.x: samples are longer */
    uint64_t trace;         /* offset of its samples, */
    uint64_t samples;       /* and how many there are */
};

struct hpc_threads {
    struct hpc_thread *items;
    uint32_t count;
    struct hpc_idmap profiles; /* index in the database -> index here */
};

/* The array of records of cct.db. */
struct hpc_cct {
    uint64_t at, count;
    size_t stride;
    bool complete; /* they announce as many values as profile.db has */
};

struct hpc_parts;
struct hpc_transpose;

/* ---- the profile's state --------------------------------------------------------------------------- */

struct hpc_state {
    enum hpc_layout layout;
    bool big_endian;
    struct pf_strings *strings;   /* names of metrics and identifiers; complete once the profile is open */
    struct pf_input *description; /* meta.db or experiment.xml */
    struct pf_input *profile_db, *cct_db, *trace_db; /* NULL: absent or of no use */
    struct hpc_identifiers identifiers;
    struct hpc_metrics metrics;
    struct hpc_summary_metrics summary_metrics;
    bool has_summary;
    uint32_t summary_profile; /* which profile it is: the first one mostly */
    struct hpc_block summary;
    struct hpc_threads threads;
    struct hpc_cct cct;
    struct hpc_model model;
    struct hpc_notes broken;                     /* blocks that were found to be, until they are told */
    struct hpc_kept *thread_kept, *context_kept; /* blocks of profile.db and of cct.db; NULL in 2.x */
    struct hpc_transpose *transpose;             /* NULL: not needed, or not made yet */
    struct hpc_parts *parts;                     /* 2.x */
    uint64_t ticks_per_second;                   /* of the times in traces; 0: they are in ns */
    struct hpc_by_id columns;                    /* 2.x: column of the tables of values -> metric */
    struct pf_table *tables;
    size_t n_tables;
};

static inline struct hpc_state *hpc_state(const struct pf_profile *profile)
{
    return profile->state;
}

/* A string among those of the state, terminated by NUL; NULL with *error filled. */
const char *hpc_keep(struct hpc_state *state, const char *text, size_t size, struct pf_error *error);

#endif
