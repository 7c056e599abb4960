/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_MODEL_H
#define PF_HPC_MODEL_H

#include "formats/driver.h"
#include "formats/kit/store.h"
#include "formats/kit/table.h"
#include "formats/kit/tree.h"

/* ---- numbers ------------------------------------------------------------------------------------ */

/*
 * From the ids of a database, which may be any numbers in any order, to small numbers of ours. All zero is
 * empty. Adding is for one thread; once that is over, any may look.
 */
struct hpc_idmap {
    struct pf_hash_table table;
    struct hpc_numbered {
        uint64_t id;
        uint32_t number;
    } * items;
    size_t room;
    uint64_t largest;
    uint32_t *packed; /* once packed: by id, up to the largest */
};

#define HPC_NO_NUMBER UINT32_MAX

/* 1: added; 0: the id was there and keeps its number; -1: *error filled. number is not HPC_NO_NUMBER. */
int hpc_idmap_add(struct hpc_idmap *map, uint64_t id, uint32_t number, struct pf_error *error);

/* Makes looking up faster if the ids are small numbers, as they mostly are; nothing is added after that. 0, or -1 with *error
 * filled. */
int hpc_idmap_pack(struct hpc_idmap *map, struct pf_error *error);

uint32_t hpc_idmap_search(const struct hpc_idmap *map, uint64_t id);

/* The id's number, or HPC_NO_NUMBER. */
static inline uint32_t hpc_idmap_find(const struct hpc_idmap *map, uint64_t id)
{
    if (map->packed)
        return id <= map->largest ? map->packed[id] : HPC_NO_NUMBER;
    return hpc_idmap_search(map, id);
}

void hpc_idmap_free(struct hpc_idmap *map);

/* ---- the summary of 2.x -------------------------------------------------------------------------- */

/* A value as it is stored. */
struct hpc_old_value {
    double value;
    uint32_t metric, unused;
};

/*
 * The summary's values of a database of 2.x, which stand among the contexts of experiment.xml: kept as they come, those of
 * a context side by side as they are in the file. In memory up to a limit, in an unlinked file beyond. All zero is empty.
 */
struct hpc_old_summary {
    struct pf_store *values;
    uint64_t count;
    struct hpc_run {
        uint64_t first; /* number of its first value */
        uint32_t count;
    } * runs; /* by context */
    size_t room;
};

/* Adds a value of the summary's metric number `metric`. 1; 0: not behind the context's other values, and left out; -1:
 * *error filled. */
int hpc_old_summary_add(struct hpc_old_summary *summary, uint32_t context, uint32_t metric, double value,
                        struct pf_error *error);
void hpc_old_summary_free(struct hpc_old_summary *summary);

/* The table "summary" of such a database. */
extern const struct pf_cursor_ops hpc_old_summary_cursor;

/* ---- contexts ------------------------------------------------------------------------------------ */

/*
 * What the measurements of a database are of: the calling-context tree and the functions, files and load
 * modules that it names. Made by the readers of meta.db and experiment.xml; immutable once loaded.
 */

enum hpc_kind {
    HPC_ROOT,
    HPC_ENTRY,
    HPC_FUNCTION,
    HPC_INLINED,
    HPC_CALL,
    HPC_LOOP,
    HPC_LINE,
    HPC_INSTRUCTION,
    HPC_OTHER /* of a lexical type that is not known */
};

/* How a context is reached from its parent. Further numbers are those of meta.db, plus HPC_LEXICAL, that have no word. */
enum hpc_relation { HPC_NO_RELATION, HPC_LEXICAL, HPC_BY_CALL, HPC_BY_INLINED_CALL, HPC_RELATIONS };

#define HPC_NO_OFFSET UINT64_MAX

struct hpc_function {
    uint64_t id;
    uint64_t offset;             /* in the module; HPC_NO_OFFSET: not known */
    uint32_t name, file, module; /* in the tree's strings, or PF_NO_STRING */
    uint32_t line;               /* 0: not known */
};

/* A file or a load module. */
struct hpc_place {
    uint64_t id;
    uint32_t path; /* in the tree's strings */
    bool copied;   /* the database has a copy of this file, at this path */
};

struct hpc_functions {
    struct hpc_function *items;
    uint32_t count;
    size_t room;
};

struct hpc_places {
    struct hpc_place *items;
    uint32_t count;
    size_t room;
};

struct hpc_model {
    struct pf_tree *tree; /* owned until it becomes the profile's */
    uint64_t *offset;     /* by context: in its module, or HPC_NO_OFFSET */
    uint8_t *relation;    /* by context: enum hpc_relation */
    uint32_t room;        /* contexts that the arrays have room for */
    struct hpc_idmap ids; /* id of a context -> its index */
    struct hpc_functions functions;
    struct hpc_places files, modules;
    struct hpc_idmap traced;        /* 2.x: id in traces -> index of the context */
    struct hpc_old_summary summary; /* 2.x */
    uint32_t contexts;              /* how many there are, once all are known */
    uint32_t unlisted; /* how many of them, the last ones, have values and no place in the tree */
};

/* What is known of a context, but for its place in the tree. */
struct hpc_context {
    uint64_t id;
    uint64_t offset;             /* HPC_NO_OFFSET: none */
    uint32_t name, file, module; /* in the tree's strings; PF_NO_STRING: none (not name) */
    uint32_t line;               /* 0: none */
    enum hpc_kind kind;
    uint8_t relation; /* enum hpc_relation */
    uint8_t flags;    /* enum pf_context_flags */
};

/* An empty model. 0, or -1 with *error filled; to be freed in any case. */
int hpc_model_init(struct hpc_model *model, struct pf_error *error);
void hpc_model_free(struct hpc_model *model);

/*
 * Adds a context below `parent` (an index, or PF_NO_CONTEXT). Returns its index; PF_NO_CONTEXT with
 * error->code 0 if its id is taken, or with *error filled.
 */
uint32_t hpc_model_add(struct hpc_model *model, uint32_t parent, const struct hpc_context *context,
                       struct pf_error *error);

/* Adds the context that holds each thread's totals. As hpc_model_add. */
uint32_t hpc_model_add_root(struct hpc_model *model, uint64_t id, struct pf_error *error);

/* Adds the context of an id that has values and that the tree does not name. 0 (also if it has one), or -1. */
int hpc_model_add_unlisted(struct hpc_model *model, uint64_t id, struct pf_error *error);

/* Append to the lists. 0, or -1 with *error filled. */
int hpc_add_function(struct hpc_functions *functions, const struct hpc_function *function,
                     struct pf_error *error);
int hpc_add_place(struct hpc_places *places, const struct hpc_place *place, struct pf_error *error);

/*
 * Gives a context that has none the name that follows from what is known of it: of a line `FILE:LINE`, so too of a call if
 * its line is known, of a loop `loop at FILE:LINE`, of all others `MODULE+0xOFFSET`, FILE and MODULE being the last
 * part of the path. 0, or -1 with *error filled.
 */
int hpc_name_context(struct hpc_model *model, struct hpc_context *context, struct pf_error *error);

#endif
