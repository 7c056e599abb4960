/* SPDX-License-Identifier: MIT */
#ifndef PF_VIEWS_H
#define PF_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/profile/profile.h"

/*
 * The tree inside a profile: kinds of nodes and their properties. A kind fits 8 bits and an item 32 bits; both are part
 * of inode numbers.
 */
enum pf_kind {
    /* folders; the item of PF_PARTITION_DIR, PF_CONTEXT_DIR or PF_METRIC_DIR is the index of the partition, context or metric */
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
    PF_BLOBS,         /* src/: files embedded in the profile */
    PF_SOURCE_FOLDER, /* src/: a folder of the profile's source; the names in it are looked up in SOURCE */
    PF_PRIMARY,
    PF_EXPORT,
    PF_EXPORT_DIR, /* the item is a metric's index */
    PF_LAST_FOLDER = PF_EXPORT_DIR,
    /* symbolic links; a walk over a link returns its target */
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
    /* pictures and exports; each is of one metric, except the time line, trace.json and profile.pb */
    PF_TIMELINE_SVG,
    PF_TRACE_JSON,
    PF_PPROF,
    PF_EMPTY_PPROF, /* profile.pb of a profile without additive metrics: valid, but without samples */
    PF_FLAME_SVG,
    PF_CALLGRAPH_DOT,
    PF_SCALING_SVG,
    /* views of one metric, made from aggregates: PF_METRIC_FILE + enum pf_metric_view */
    PF_METRIC_FILE,
    /* files of a driver's tables: base + index of the table */
    PF_TABLE_WHOLE = 64,
    PF_TABLE_OF_PARTITION = 96,
    PF_TABLE_OF_CONTEXT = 128,
    PF_TABLE_OF_METRIC = 160,
    PF_TABLE_OF_KEY = 192,
    PF_TABLE_END = 224,
};
enum { PF_TABLES_MAX = 32 };

/* Packs a node into one integer. */
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
 * True for a folder that can be looked up but is not listed. A listed link leads to the folder. Recursive tools do not follow
 * links, so they skip the folder's contents. Also true for PF_EMPTY_PPROF, since pprof tools reject a file without samples.
 */
static inline bool pf_is_hidden(unsigned kind)
{
    return kind == PF_CONTEXTS || kind == PF_EXPORT || kind == PF_EMPTY_PPROF;
}

/* The target of a link to a hidden folder, the same in every profile; NULL for other nodes. */
static inline const char *pf_hidden_target(unsigned kind)
{
    return kind == PF_CONTEXTS_LINK ? ".contexts" : kind == PF_EXPORT_LINK ? ".export" : NULL;
}

/* The index of the driver's table whose rows a file shows; -1 for other files. */
static inline int pf_table_of(unsigned kind)
{
    bool table = kind >= PF_TABLE_WHOLE && kind < PF_TABLE_END;
    return table ? (int)((kind - PF_TABLE_WHOLE) % PF_TABLES_MAX) : -1;
}

/* The base of the kind of a table's file: PF_TABLE_WHOLE, PF_TABLE_OF_PARTITION, ... */
static inline unsigned pf_table_base(unsigned kind)
{
    return kind - (kind - PF_TABLE_WHOLE) % PF_TABLES_MAX;
}

/* The stage that must be loaded before a folder is searched or a file is walked. */
enum pf_stage pf_node_stage(const struct pf_model *model, struct pf_node node);
/* The stage that must be loaded before metrics are aggregated. */
enum pf_stage pf_aggregate_stage(const struct pf_model *model);

/*
 * True if the profile has the node's item. The node's stage must be loaded. (Node numbers outlive a loaded profile; a
 * profile that was reloaded after a transient error may have fewer items.)
 */
bool pf_node_exists(const struct pf_model *model, struct pf_node node);

/* True if the node needs the names of the contexts' folders. */
bool pf_needs_context_names(unsigned kind);

/* True if the file is made from aggregates. */
bool pf_needs_aggregate(const struct pf_model *model, struct pf_node node);
/* The metric whose aggregates a file needs (pf_needs_aggregate); -1: all metrics. */
int pf_aggregate_metric(struct pf_node node);

/* True for a small file that is made in negligible time once its stage is loaded. */
bool pf_is_cheap(const struct pf_model *model, struct pf_node node);

/*
 * True if the rows of the file can be located without reading the data of other items, so that a pass over only this file
 * is cheap.
 */
bool pf_is_seekable(const struct pf_model *model, struct pf_node node);

/*
 * True if rendering one block may read data that the block does not show. Such blocks must not be rendered on a thread
 * that others wait for.
 */
bool pf_is_heavy(const struct pf_model *model, struct pf_node node);

/*
 * The entry of a folder by number (generated entries, then the driver's tables, then items; including hidden entries, see
 * pf_is_hidden) or by name. The folder's stage must be loaded. False if there is no such entry. name: PF_NAME_MAX + 1
 * bytes.
 */
bool pf_folder_entry(struct pf_profile *profile, struct pf_node folder, uint64_t number, char *name,
                     struct pf_node *entry);
bool pf_folder_find(struct pf_profile *profile, struct pf_node folder, const char *name, struct pf_node *entry);

/*
 * The folder of a node and the node's name there; false for PF_TOP. Requires a successful pf_profile_parent_ready for
 * the node.
 */
bool pf_node_parent(struct pf_profile *profile, struct pf_node node, struct pf_node *parent, char *name);

/*
 * Opens a walk over a file's records, by the function that walks.c lists for the node's kind; views of a metric are opened
 * by pf_metric_view_walk. The file's stage, and aggregates if needed, must be loaded. NULL with *error filled.
 */
struct pf_walk *pf_node_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error);

/* True if folders of this kind have a generated entry of this name, which items must not use. model: a struct pf_model. */
bool pf_is_own_name(const void *model, unsigned folder, const char *name);

/* ---- model_text.c -------------------------------------------------------------------------------- */

/*
 * The texts that every profile has: info.txt of the profile and of each item, and the tables of its axes and warnings.
 * Each function returns a walk, which frees itself on close, or NULL with *error filled. The node's stage
 * (pf_node_stage) must be loaded.
 */
typedef struct pf_walk *pf_model_text(struct pf_profile *profile, struct pf_node node,
                                      struct pf_error *error);
pf_model_text pf_info_walk, pf_partition_info_walk, pf_context_info_walk, pf_metric_info_walk,
    pf_key_info_walk, pf_metrics_csv_walk, pf_partitions_csv_walk, pf_contexts_csv_walk, pf_warnings_csv_walk;
/* The target of a link (see pf_is_link). */
pf_model_text pf_link_walk;

/*
 * The rows of warnings.csv: line, offset, severity, code, text. Cells may point into *scratch, a buffer of the caller
 * that may be reused between calls. The stage of warnings.csv, and its aggregates, must be loaded.
 */
enum { PF_WARNING_COLUMNS = 5 };
uint64_t pf_warning_count(struct pf_profile *profile);
void pf_warning_cells(struct pf_profile *profile, uint64_t i, struct pf_cell cells[PF_WARNING_COLUMNS],
                      struct pf_buf *scratch);

/* ---- summary.c ----------------------------------------------------------------------------------- */

/*
 * Opens a walk over summary.md. Aggregates of all metrics, and the sizes of all files from pf_summary_file, must be
 * present.
 */
pf_model_text pf_summary_walk;

/* The i-th file whose size a summary needs, in *file; false at the end. The folder's stage must be loaded. */
bool pf_summary_file(struct pf_profile *profile, struct pf_node summary, size_t i, struct pf_node *file);

#endif
