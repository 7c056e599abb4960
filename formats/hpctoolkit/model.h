/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_MODEL_H
#define PF_HPC_MODEL_H

#include "formats/hpctoolkit/idmap.h"
#include "formats/hpctoolkit/old_summary.h"
#include "formats/kit/tree.h"

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
