/* SPDX-License-Identifier: MIT */
#include "fs/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/model_text.h"
#include "fs/names.h"
#include "fs/table.h"

/*
 * The table of views: which files stand in which folder. name NULL: the partition's plural. A driver's tables
 * come after these, in folders whose axis they have a column for.
 */
static const struct view {
    unsigned folder, kind;
    const char *name, *extension;
} views[] = {
    {PF_TOP, PF_INFO, "info", ".txt"},
    {PF_TABLES, PF_METRICS_CSV, "metrics", ".csv"},
    {PF_TABLES, PF_PARTITIONS_CSV, NULL, ".csv"},
    {PF_TABLES, PF_CONTEXTS_CSV, "contexts", ".csv"},
    {PF_TABLES, PF_WARNINGS_CSV, "warnings", ".csv"},
    {PF_PARTITION_DIR, PF_PARTITION_INFO, "info", ".txt"},
    {PF_CONTEXT_DIR, PF_CONTEXT_INFO, "info", ".txt"},
    {PF_METRIC_DIR, PF_METRIC_INFO, "info", ".txt"},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_CONTEXTS, "contexts", ".csv"},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_PARTITIONS, NULL, ".csv"},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_FUNCTIONS, "functions", ".csv"},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_HOT, "hot", ".txt"},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_TREE, "tree", ".txt"},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_FOLDED, "stacks", ".folded"},
    {PF_TOP, PF_TABLES, "tables", ""},
    {PF_TOP, PF_PARTITIONS, NULL, ""},
    {PF_TOP, PF_CONTEXTS, "contexts", ""},
    {PF_TOP, PF_METRICS, "metrics", ""},
};
enum { VIEWS = sizeof views / sizeof *views };

static size_t view_name(const struct pf_profile *profile, const struct view *view, char *name)
{
    const char *stem = view->name ? view->name : profile->partitions.plural;
    return (size_t)snprintf(name, PF_NAME_MAX + 1, "%s%s", stem, view->extension);
}

/* A driver's table stands in a folder if the folder is `tables` or the table has the column that the folder
 * fixes; but some tables are the partitions' alone. */
static bool table_stands_in(const struct pf_table *table, unsigned folder)
{
    return (folder == PF_TABLES && !(table->flags & PF_ONLY_IN_PARTITIONS)) ||
           (folder == PF_PARTITION_DIR && pf_table_has(table, PF_PARTITION)) ||
           (folder == PF_CONTEXT_DIR && pf_table_has(table, PF_CONTEXT));
}

static unsigned table_base(unsigned folder)
{
    return folder == PF_TABLES          ? PF_TABLE_WHOLE
           : folder == PF_PARTITION_DIR ? PF_TABLE_OF_PARTITION
                                        : PF_TABLE_OF_CONTEXT;
}

static size_t table_count(const struct pf_profile *profile)
{
    return profile->n_tables < PF_TABLES_MAX ? profile->n_tables : PF_TABLES_MAX;
}

/* Our own entries of a folder, one by one: *at counts through views and tables. False when there are no more.
 */
static bool next_own(const struct pf_profile *profile, struct pf_node folder, size_t *at, char *name,
                     struct pf_node *entry)
{
    for (; *at < VIEWS; ++*at) {
        const struct view *view = &views[*at];
        if (view->folder != folder.kind)
            continue;
        view_name(profile, view, name);
        *entry = (struct pf_node){view->kind, folder.item};
        ++*at;
        return true;
    }
    for (; *at < VIEWS + table_count(profile); ++*at) {
        size_t t = *at - VIEWS;
        if (!table_stands_in(&profile->tables[t], folder.kind))
            continue;
        snprintf(name, PF_NAME_MAX + 1, "%s.csv", profile->tables[t].name);
        *entry = (struct pf_node){table_base(folder.kind) + (unsigned)t, folder.item};
        ++*at;
        return true;
    }
    return false;
}

/* ---- stages and costs --------------------------------------------------------------------------- */

static enum pf_stage later(enum pf_stage a, enum pf_stage b)
{
    return a > b ? a : b;
}

static enum pf_stage table_stage(const struct pf_profile *profile, const struct pf_table *table)
{
    enum pf_stage stage = table->stage;
    if (pf_table_has(table, PF_PARTITION_FIELD))
        stage = later(stage, profile->partitions.fields_stage);
    if (pf_table_has(table, PF_PARTITION))
        stage = later(stage, PF_PARTITIONED);
    if (pf_table_has(table, PF_METRIC))
        stage = later(stage, profile->metrics_stage);
    if (pf_table_has(table, PF_CONTEXT))
        stage = later(stage, PF_MODELLED);
    return stage;
}

enum pf_stage pf_node_stage(const struct pf_profile *profile, struct pf_node node)
{
    switch (node.kind) {
    case PF_TOP:
    case PF_TABLES:
    case PF_INFO:
    case PF_ERROR:
        return PF_OPENED;
    case PF_PARTITIONS:
    case PF_PARTITION_DIR:
        return PF_PARTITIONED;
    case PF_PARTITIONS_CSV:
    case PF_PARTITION_INFO:
        return later(PF_PARTITIONED, profile->partitions.fields_stage);
    case PF_METRICS:
    case PF_METRIC_DIR:
    case PF_METRICS_CSV:
    case PF_METRIC_INFO:
        return profile->metrics_stage;
    case PF_CONTEXTS:
    case PF_CONTEXT_DIR:
    case PF_CONTEXTS_CSV:
    case PF_WARNINGS_CSV:
    case PF_CONTEXT_INFO:
        return PF_MODELLED;
    default:
        break;
    }
    if (pf_needs_aggregate(node.kind))
        return later(PF_MODELLED, profile->cells ? table_stage(profile, profile->cells) : PF_MODELLED);
    enum pf_stage stage = table_stage(profile, &profile->tables[pf_table_of(node.kind)]);
    if (node.kind >= PF_TABLE_OF_CONTEXT)
        return later(stage, PF_MODELLED);
    return node.kind >= PF_TABLE_OF_PARTITION ? later(stage, PF_PARTITIONED) : stage;
}

bool pf_needs_aggregate(unsigned kind)
{
    return kind >= PF_METRIC_FILE && kind < PF_METRIC_FILE + PF_METRIC_VIEWS;
}

bool pf_is_cheap(unsigned kind)
{
    return kind == PF_INFO || kind == PF_ERROR || kind == PF_METRICS_CSV || kind == PF_WARNINGS_CSV ||
           kind == PF_PARTITION_INFO || kind == PF_CONTEXT_INFO || kind == PF_METRIC_INFO;
}

bool pf_is_heavy(const struct pf_profile *profile, struct pf_node node)
{
    int t = pf_table_of(node.kind);
    if (t < 0 || node.kind < PF_TABLE_OF_PARTITION || !profile->tables[t].ops)
        return false;
    unsigned seeks = node.kind >= PF_TABLE_OF_CONTEXT ? PF_SEEKS_CONTEXT : PF_SEEKS_PARTITION;
    return !(profile->tables[t].flags & seeks);
}

/* ---- folders ------------------------------------------------------------------------------------ */

/* The items of a folder: how many, and which node the i-th is. */
static uint64_t item_count(struct pf_live *live, struct pf_node folder)
{
    const struct pf_profile *profile = pf_live_profile(live);
    switch (folder.kind) {
    case PF_PARTITIONS:
        return pf_rows_count(profile->partitions.items);
    case PF_METRICS:
        return profile->n_metrics;
    case PF_CONTEXTS:
        return profile->contexts->roots;
    case PF_CONTEXT_DIR:
        return profile->contexts->first[folder.item + 1] - profile->contexts->first[folder.item];
    default:
        return 0;
    }
}

/* The i-th item of a folder of contexts. */
static uint32_t context_item(const struct pf_tree *tree, struct pf_node folder, uint64_t i)
{
    return folder.kind == PF_CONTEXTS ? tree->root[i] : tree->child[tree->first[folder.item] + i];
}

static bool folder_item(struct pf_live *live, struct pf_node folder, uint64_t i, char *name,
                        struct pf_node *entry)
{
    if (i >= item_count(live, folder))
        return false;
    uint32_t item = (uint32_t)i;
    if (folder.kind == PF_PARTITIONS) {
        *entry = (struct pf_node){PF_PARTITION_DIR, item};
        pf_dirname(pf_live_partitions(live), item, name);
    } else if (folder.kind == PF_METRICS) {
        *entry = (struct pf_node){PF_METRIC_DIR, item};
        pf_dirname(pf_live_metrics(live), item, name);
    } else { /* contexts: only now is there a tree to be looked at */
        item = context_item(pf_live_profile(live)->contexts, folder, i);
        *entry = (struct pf_node){PF_CONTEXT_DIR, item};
        pf_dirname(pf_live_contexts(live), item, name);
    }
    return true;
}

bool pf_folder_entry(struct pf_live *live, struct pf_node folder, uint64_t number, char *name,
                     struct pf_node *entry)
{
    size_t at = 0;
    uint64_t own = 0;
    while (next_own(pf_live_profile(live), folder, &at, name, entry))
        if (own++ == number)
            return true;
    return folder_item(live, folder, number - own, name, entry);
}

bool pf_folder_find(struct pf_live *live, struct pf_node folder, const char *name, struct pf_node *entry)
{
    char own[PF_NAME_MAX + 1];
    size_t at = 0;
    while (next_own(pf_live_profile(live), folder, &at, own, entry))
        if (!strcmp(own, name))
            return true;
    switch (folder.kind) {
    case PF_PARTITIONS:
        *entry = (struct pf_node){PF_PARTITION_DIR, pf_dirname_find(pf_live_partitions(live), 0, name)};
        break;
    case PF_METRICS:
        *entry = (struct pf_node){PF_METRIC_DIR, pf_dirname_find(pf_live_metrics(live), 0, name)};
        break;
    case PF_CONTEXTS:
        *entry =
            (struct pf_node){PF_CONTEXT_DIR, pf_dirname_find(pf_live_contexts(live), PF_NO_CONTEXT, name)};
        break;
    case PF_CONTEXT_DIR:
        *entry = (struct pf_node){PF_CONTEXT_DIR, pf_dirname_find(pf_live_contexts(live), folder.item, name)};
        break;
    default:
        return false;
    }
    return entry->item != PF_NO_ITEM;
}

/* The folder that a kind of node stands in. */
static struct pf_node folder_of(const struct pf_profile *profile, struct pf_node node)
{
    for (size_t v = 0; v < VIEWS; v++)
        if (views[v].kind == node.kind)
            return (struct pf_node){views[v].folder, node.item};
    switch (node.kind) {
    case PF_PARTITION_DIR:
        return (struct pf_node){PF_PARTITIONS, 0};
    case PF_METRIC_DIR:
        return (struct pf_node){PF_METRICS, 0};
    case PF_CONTEXT_DIR: {
        uint32_t parent = profile->contexts->parent[node.item];
        return parent == PF_NO_CONTEXT ? (struct pf_node){PF_CONTEXTS, 0}
                                       : (struct pf_node){PF_CONTEXT_DIR, parent};
    }
    default:
        break;
    }
    if (node.kind >= PF_TABLE_OF_CONTEXT)
        return (struct pf_node){PF_CONTEXT_DIR, node.item};
    if (node.kind >= PF_TABLE_OF_PARTITION)
        return (struct pf_node){PF_PARTITION_DIR, node.item};
    return (struct pf_node){node.kind >= PF_TABLE_WHOLE ? PF_TABLES : PF_TOP, 0};
}

bool pf_node_parent(struct pf_live *live, struct pf_node node, struct pf_node *parent, char *name)
{
    if (node.kind == PF_TOP)
        return false;
    *parent = folder_of(pf_live_profile(live), node);
    switch (node.kind) {
    case PF_PARTITION_DIR:
        pf_dirname(pf_live_partitions(live), node.item, name);
        return true;
    case PF_METRIC_DIR:
        pf_dirname(pf_live_metrics(live), node.item, name);
        return true;
    case PF_CONTEXT_DIR:
        pf_dirname(pf_live_contexts(live), node.item, name);
        return true;
    default:
        break;
    }
    struct pf_node entry = {0};
    size_t at = 0;
    while (next_own(pf_live_profile(live), *parent, &at, name, &entry))
        if (entry.kind == node.kind)
            return true;
    return false;
}

const char **pf_reserved_names(const struct pf_profile *profile, unsigned folder)
{
    char name[PF_NAME_MAX + 1];
    struct pf_node entry = {0};
    const char **names = calloc(VIEWS + table_count(profile) + 1, sizeof *names);
    size_t at = 0, n = 0;
    while (names && next_own(profile, (struct pf_node){folder, 0}, &at, name, &entry)) {
        names[n] = strdup(name);
        if (!names[n++]) {
            pf_reserved_free(names);
            return NULL;
        }
    }
    return names;
}

void pf_reserved_free(const char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free((char *)names[i]);
    free(names);
}

/* ---- files -------------------------------------------------------------------------------------- */

static struct pf_lines *table_walk(struct pf_live *live, struct pf_node node, struct pf_error *error)
{
    struct pf_profile *profile = pf_live_profile(live);
    struct pf_slice slice = {.table = &profile->tables[pf_table_of(node.kind)], .only = PF_UNRESTRICTED};
    if (node.kind >= PF_TABLE_OF_CONTEXT) {
        slice.only.context = node.item;
        slice.drop_context = true;
    } else if (node.kind >= PF_TABLE_OF_PARTITION) {
        slice.only.partition = node.item;
        slice.drop_partition = true;
    }
    return pf_table_lines(profile, &slice, error);
}

struct pf_lines *pf_node_walk(struct pf_live *live, struct pf_node node, struct pf_error *error)
{
    switch (node.kind) {
    case PF_INFO:
        return pf_info_lines(live, error);
    case PF_METRICS_CSV:
        return pf_metrics_csv_lines(live, error);
    case PF_PARTITIONS_CSV:
        return pf_partitions_csv_lines(live, error);
    case PF_CONTEXTS_CSV:
        return pf_contexts_csv_lines(live, error);
    case PF_WARNINGS_CSV:
        return pf_warnings_csv_lines(live, error);
    case PF_PARTITION_INFO:
        return pf_partition_info_lines(live, node.item, error);
    case PF_CONTEXT_INFO:
        return pf_context_info_lines(live, node.item, error);
    case PF_METRIC_INFO:
        return pf_metric_info_lines(live, node.item, error);
    default:
        break;
    }
    if (pf_needs_aggregate(node.kind))
        return pf_metric_lines(pf_live_profile(live), pf_live_aggregate_now(live), node.item,
                               (enum pf_metric_view)(node.kind - PF_METRIC_FILE), error);
    if (pf_table_of(node.kind) >= 0)
        return table_walk(live, node, error);
    pf_fail(error, ENOENT, "no such file");
    return NULL;
}
