/* SPDX-License-Identifier: MIT */
#ifndef PF_VIEWS_H
#define PF_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/profile/live.h"

/*
 * The tree inside a profile. A node is a kind and an item of that kind; nothing is stored for it. Kinds fit 8
 * bits, items 32, and both are part of inode numbers.
 */
enum pf_kind {
    /* folders; the item of a PARTITION, CONTEXT or METRIC is its index */
    PF_TOP,
    PF_TABLES,
    PF_PARTITIONS,
    PF_PARTITION_DIR,
    PF_CONTEXTS,
    PF_CONTEXT_DIR,
    PF_METRICS,
    PF_METRIC_DIR,
    PF_KEYS,
    PF_KEY_DIR,
    PF_BLOBS,         /* src/, of files that the profile carries */
    PF_SOURCE_FOLDER, /* src/, a folder of the source itself: not a node of ours, but the way to one of SOURCE's */
    PF_PRIMARY,
    PF_EXPORT,
    PF_EXPORT_DIR, /* the item is a metric's index */
    PF_LAST_FOLDER = PF_EXPORT_DIR,
    /* symbolic links; what a walk over one gives is its target */
    PF_LINK,         /* the item is the link's index */
    PF_PRIMARY_LINK, /* primary/metric */
    /* files made from the model */
    PF_INFO,
    PF_ERROR,
    PF_METRICS_CSV,
    PF_PARTITIONS_CSV,
    PF_CONTEXTS_CSV,
    PF_WARNINGS_CSV,
    PF_PARTITION_INFO,
    PF_CONTEXT_INFO,
    PF_METRIC_INFO,
    PF_KEY_INFO,
    PF_BLOB, /* the item is the blob's index */
    /* pictures; of a metric, but the time line */
    PF_TIMELINE_SVG,
    PF_TRACE_JSON,
    PF_PPROF,
    PF_FLAME_SVG,
    PF_SCALING_SVG,
    /* aggregates of a metric: enum pf_metric_view is added */
    PF_METRIC_FILE,
    /* a driver's tables: the table's number is added */
    PF_TABLE_WHOLE = 64,
    PF_TABLE_OF_PARTITION = 96,
    PF_TABLE_OF_CONTEXT = 128,
    PF_TABLE_OF_METRIC = 160,
    PF_TABLE_OF_KEY = 192,
    PF_TABLE_END = 224,
};
enum { PF_TABLES_MAX = 32 };

struct pf_node {
    unsigned kind;
    uint32_t item;
};

static inline bool pf_is_folder(unsigned kind)
{
    return kind <= PF_LAST_FOLDER;
}

static inline bool pf_is_link(unsigned kind)
{
    return kind == PF_LINK || kind == PF_PRIMARY_LINK;
}

/* The table that a table's file shows, or -1. */
static inline int pf_table_of(unsigned kind)
{
    bool table = kind >= PF_TABLE_WHOLE && kind < PF_TABLE_END;
    return table ? (int)((kind - PF_TABLE_WHOLE) % PF_TABLES_MAX) : -1;
}

/* Of a table's file, the kind that table 0's would have: PF_TABLE_WHOLE, PF_TABLE_OF_PARTITION, ... */
static inline unsigned pf_table_base(unsigned kind)
{
    return kind - (kind - PF_TABLE_WHOLE) % PF_TABLES_MAX;
}

/* The stage of the model that must be loaded before a folder can be searched, or a file's walk be made. */
enum pf_stage pf_node_stage(const struct pf_profile *profile, struct pf_node node);

/*
 * The profile has the node's item; its stage is loaded. (Numbers outlive a profile while it is not open, and one that is opened
 * anew where something was lacking may have fewer items.)
 */
bool pf_node_exists(const struct pf_profile *profile, struct pf_node node);

/* It can only be searched, or made, once the contexts' folders have names. */
bool pf_needs_context_names(unsigned kind);

/* The file is made from aggregates. */
bool pf_needs_aggregate(const struct pf_profile *profile, struct pf_node node);

/* The file is a small text, made in no time once its stage is there. */
bool pf_is_cheap(const struct pf_profile *profile, struct pf_node node);

/* The file's rows can be found without going through other items' data, so that a pass over it alone is cheap. */
bool pf_is_seekable(const struct pf_profile *profile, struct pf_node node);

/* Making a block of the file may go through data that is not shown in it: not to be done on a thread that
 * others wait for. */
bool pf_is_heavy(const struct pf_profile *profile, struct pf_node node);

/*
 * The entries of a folder, by number: our own files first, then folders and items. The folder's stage must be
 * loaded. False past the end. name has room for PF_NAME_MAX + 1 bytes.
 */
bool pf_folder_entry(struct pf_live *live, struct pf_node folder, uint64_t number, char *name,
                     struct pf_node *entry);
bool pf_folder_find(struct pf_live *live, struct pf_node folder, const char *name, struct pf_node *entry);

/* The folder that an entry stands in, and its name there; false for PF_TOP. The model must be loaded for
 * items. */
bool pf_node_parent(struct pf_live *live, struct pf_node node, struct pf_node *parent, char *name);

/* A walk over a file's records; its stage (and aggregate) must be loaded. NULL with *error filled. */
struct pf_lines *pf_node_walk(struct pf_live *live, struct pf_node node, struct pf_error *error);

/* Names of our files in the folders of each axis: what items may not be called. Made by the caller's profile;
 * freed by pf_reserved_free. */
const char **pf_reserved_names(const struct pf_profile *profile, unsigned folder);
void pf_reserved_free(const char **names);

#endif
