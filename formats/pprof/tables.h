/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_TABLES_H
#define PF_PPROF_TABLES_H

#include "formats/kit/samples.h"
#include "formats/kit/table.h"
#include "formats/pprof/drop.h"
#include "formats/pprof/wire.h"

/*
 * All of a pprof profile but its samples: strings, functions, mappings, locations, types of samples. They may stand anywhere in
 * the file, also behind the samples that speak of them.
 */

/* What stands in the message that a file is. */
enum {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_SAMPLE,
    PPROF_MAPPING,
    PPROF_LOCATION,
    PPROF_FUNCTION,
    PPROF_STRING,
    PPROF_DROP_FRAMES,
    PPROF_KEEP_FRAMES,
    PPROF_TIME,
    PPROF_DURATION,
    PPROF_PERIOD_TYPE,
    PPROF_PERIOD,
    PPROF_COMMENT,
    PPROF_DEFAULT_TYPE,
    PPROF_DOC_URL,
    PPROF_FIELDS
};

/* Records of a kind by their ids, which may be any number but 0. */
struct pprof_ids {
    uint64_t *ids; /* of record i */
    size_t n, room;
    struct pf_hash_table table;
};

/* Strings are numbers into the string table, as the file has them, until pprof_resolve has made names of them. */
struct pprof_function {
    uint64_t name, system, file;
    uint32_t named, filed; /* names; PF_NO_STRING: none */
    uint32_t shown;        /* the file, if all functions of the name are in it */
    bool dropped;
};

struct pprof_mapping {
    uint64_t file;
    uint32_t filed, bracketed; /* names: the file, and what frames without a function are called after it */
};

struct pprof_line {
    uint64_t function, line;
    uint32_t frame; /* see pf_samples_frame */
};

struct pprof_location {
    uint64_t mapping, address;
    uint32_t first,
        lines;    /* of struct pprof_line, innermost first; it has at least one once it is resolved */
    uint32_t cut; /* so many of its innermost lines are dropped, */
    bool dropped; /* or all of it */
};

struct pprof_type {
    uint64_t type, unit; /* strings */
    uint32_t metric;
};

struct pprof_tables {
    struct pf_profile *profile;
    uint32_t *strings; /* their names */
    size_t n_strings, strings_room;
    struct pprof_ids functions, mappings, locations;
    struct pprof_function *function;
    struct pprof_mapping *mapping;
    struct pprof_location *location;
    size_t function_room, mapping_room, location_room;
    struct pprof_line *lines;
    size_t n_lines, lines_room;
    struct pprof_type *types;
    size_t n_types, types_room;
    uint64_t *comments; /* strings */
    size_t n_comments, comments_room;
    uint64_t header[PPROF_FIELDS]; /* fields that are numbers, strings among them */
    struct pprof_type period;
    size_t samples;         /* how many there are */
    uint32_t unknown_frame; /* of what is in no location */
    const char *refused;    /* why this is no profile */
};

void pprof_tables_free(struct pprof_tables *tables);

/* Takes a field of the file; samples are only counted. 0, or -1 with *error filled. */
int pprof_tables_take(struct pprof_tables *tables, const struct pprof_field *field, struct pf_error *error);

/* Once all fields are taken: names, frames, metrics, what is dropped. 0, or -1 with *error filled. */
int pprof_tables_resolve(struct pprof_tables *tables, struct pf_error *error);

/* The index of the record with this id; or -1. */
int64_t pprof_find(const struct pprof_ids *ids, uint64_t id);

/* The name of string `index`, told of if there is none: `what` it was to be. Then it is the empty one, PF_NO_STRING. */
int pprof_string(struct pprof_tables *tables, uint64_t index, const char *what, uint32_t *name,
                 struct pf_error *error);

/* Says that something in a field or record is wrong: a warning. 0, or -1 with *error filled. */
int pprof_warn(struct pprof_tables *tables, uint64_t offset, const char *code, struct pf_error *error,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
