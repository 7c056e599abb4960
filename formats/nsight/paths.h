/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_PATHS_H
#define PF_NSIGHT_PATHS_H

#include "formats/nsight/nsight.h"

/*
 * Call paths of the CPU: their contexts, from whatever an export tells of them. Belongs to the pass that makes the
 * model.
 */
struct nsight_paths {
    struct pf_tree *tree; /* borrowed, as the next four */
    struct nsight_damage *damage;
    struct nsight_names *names;
    const struct nsight_partitions *partitions;
    struct nsight_db *db;

    struct pf_strings *texts; /* paths as they stand in the export */
    uint32_t *contexts;       /* of a text, by its number; PF_NO_CONTEXT: none */
    size_t contexts_room;
    uint64_t text_left; /* bytes that further texts may have */
    bool out_of_text;   /* there were more */

    bool symbols_read;
    struct pf_strings *pointers; /* of functions, as Extra-Prof writes them */
    uint32_t *symbols;           /* names by number of the pointer */
    size_t symbols_room;

    struct nsight_lookup known; /* paths by call chain, or by correlation */
    struct nsight_window window;
    struct nsight_own *own; /* by context: what functions took that belong to no known thread */
    size_t own_room;
};

/* Of imported paths. */
struct nsight_own {
    int64_t calls, time; /* time: ns, exclusive */
};

/* The context below `parent` (PF_NO_CONTEXT: a root) of this kind and name (in the tree's strings), added if new.
 * PF_NO_CONTEXT with *error filled. */
uint32_t nsight_child(struct pf_tree *tree, uint32_t parent, enum nsight_kind kind, uint32_t name,
                      struct pf_error *error);

/* Reads the tables that paths stand in, but for ranges. limit: bytes of memory. */
int nsight_paths_init(struct nsight_paths *paths, uint64_t limit, struct pf_error *error);
void nsight_paths_free(struct nsight_paths *paths);

/* The context of the path that an NVTX range stands for; *context is PF_NO_CONTEXT if there is none. */
int nsight_path_of_range(struct nsight_paths *paths, const struct nsight_scan *scan, uint32_t *context,
                         struct pf_error *error);

/* The context of an API call's path as far as chains or imported paths tell. */
int nsight_path_of_call(struct nsight_paths *paths, const struct nsight_scan *scan, uint32_t *context,
                        struct pf_error *error);

/* Adds the paths of activities whose calls are not in the export but whose paths an import has left. */
int nsight_paths_add_calls(struct nsight_paths *paths, struct nsight_lookup *calls, struct pf_error *error);

#endif
