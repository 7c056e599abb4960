/* SPDX-License-Identifier: MIT */
#ifndef PF_VIEWS_H
#define PF_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/profile/profile.h"

/* The tree inside a profile. Kinds of nodes fit 8 bits, items 32, and both are part of inode numbers. */
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
    PF_CONTEXTS_LINK,
    PF_EXPORT_LINK,
    PF_LAST_LINK = PF_EXPORT_LINK,
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
    PF_METRIC_SUMMARY,
    PF_KEY_INFO,
    PF_BLOB, /* the item is the blob's index */
    /* pictures; of a metric, but the time line */
    PF_TIMELINE_SVG,
    PF_TRACE_JSON,
    PF_PPROF,
    PF_FLAME_SVG,
    PF_CALLGRAPH_DOT,
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

/* One number for a node. */
static inline uint64_t pf_node_key(struct pf_node node)
{
    return (uint64_t)node.kind << 32 | node.item;
}

static inline bool pf_is_folder(unsigned kind)
{
    return kind <= PF_LAST_FOLDER;
}

static inline bool pf_is_link(unsigned kind)
{
    return kind >= PF_LINK && kind <= PF_LAST_LINK;
}

/*
 * A folder that can be looked up but is not listed. A link with a listed name leads to it, so that recursive tools, which do not
 * follow links, skip what is below it.
 */
static inline bool pf_is_hidden(unsigned kind)
{
    return kind == PF_CONTEXTS || kind == PF_EXPORT;
}

/* The target of a link to a hidden folder, which is the same in every profile; NULL: the node is no such link. */
static inline const char *pf_hidden_target(unsigned kind)
{
    return kind == PF_CONTEXTS_LINK ? ".contexts" : kind == PF_EXPORT_LINK ? ".export" : NULL;
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
enum pf_stage pf_node_stage(const struct pf_model *model, struct pf_node node);

/*
 * The profile has the node's item; its stage is loaded. (Numbers outlive a profile while it is not open, and one that is opened
 * anew where something was lacking may have fewer items.)
 */
bool pf_node_exists(const struct pf_model *model, struct pf_node node);

/* It can only be searched, or made, once the contexts' folders have names. */
bool pf_needs_context_names(unsigned kind);

/* The file is made from aggregates. */
bool pf_needs_aggregate(const struct pf_model *model, struct pf_node node);
/* Of such a file: the metric that it is about; -1: all. */
int pf_aggregate_metric(struct pf_node node);

/* The file is a small text, made in no time once its stage is there. */
bool pf_is_cheap(const struct pf_model *model, struct pf_node node);

/* The file's rows can be found without going through other items' data, so that a pass over it alone is cheap. */
bool pf_is_seekable(const struct pf_model *model, struct pf_node node);

/* Making a block of the file may go through data that is not shown in it: not to be done on a thread that
 * others wait for. */
bool pf_is_heavy(const struct pf_model *model, struct pf_node node);

/*
 * The entries of a folder, by number: our own files first, then folders and items, hidden folders among them (see pf_is_hidden). The
 * folder's stage must be loaded. False past the end. name has room for PF_NAME_MAX + 1 bytes.
 */
bool pf_folder_entry(struct pf_profile *profile, struct pf_node folder, uint64_t number, char *name,
                     struct pf_node *entry);
bool pf_folder_find(struct pf_profile *profile, struct pf_node folder, const char *name, struct pf_node *entry);

/* The folder that an entry is in, and its name there; false for PF_TOP. pf_profile_parent_ready must have returned 0 for the node. */
bool pf_node_parent(struct pf_profile *profile, struct pf_node node, struct pf_node *parent, char *name);

/* A walk over a file's records; its stage (and aggregate) must be loaded. NULL with *error filled. */
struct pf_lines *pf_node_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error);

/* A profile's folders of this kind have an entry of ours of this name: items may not be called so. */
bool pf_is_own_name(const void *profile, unsigned folder, const char *name);

/* ---- model_text.c -------------------------------------------------------------------------------- */

/*
 * The texts that every profile has: info.txt of the profile and of each item, and the tables of its axes and
 * warnings. Each returns a walk (freed by its close), or NULL with *error filled. What stage they need:
 * pf_node_stage.
 */
typedef struct pf_lines *pf_model_text(struct pf_profile *profile, struct pf_node node, struct pf_error *error);
pf_model_text pf_info_lines, pf_partition_info_lines, pf_context_info_lines, pf_metric_info_lines,
    pf_key_info_lines, pf_metrics_csv_lines, pf_partitions_csv_lines, pf_contexts_csv_lines,
    pf_warnings_csv_lines;
/* The target of a link (see pf_is_link). */
pf_model_text pf_link_lines;

/*
 * Rows of warnings.csv: line, offset, severity, code, text, which may point into *scratch, an empty or used buffer of the
 * caller's. What the file is said to ask for must be there: pf_node_stage.
 */
enum { PF_WARNING_COLUMNS = 5 };
uint64_t pf_warning_count(struct pf_profile *profile);
void pf_warning_cells(struct pf_profile *profile, uint64_t i, struct pf_cell cells[PF_WARNING_COLUMNS],
                      struct pf_buf *scratch);

/* ---- summary.c ----------------------------------------------------------------------------------- */

/* A walk over summary.md. Aggregates of all metrics, and the sizes of all that pf_summary_file gives, must be there. */
pf_model_text pf_summary_lines;

/* The i-th file whose size a summary needs, in *file; false: there are no more. The folder's stage must be loaded. */
bool pf_summary_file(struct pf_profile *profile, struct pf_node summary, size_t i, struct pf_node *file);

#endif
