/* SPDX-License-Identifier: MIT */
#include "fs/profile/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/draw/draw.h"
#include "fs/profile/live_private.h"
#include "fs/profile/names.h"
#include "fs/text/table.h"

/*
 * The table of views: which files stand in which folder. name NULL: the partition's plural, or that of the keys. A driver's tables
 * come after these, in folders whose axis they have a column for.
 */
enum needs { ALWAYS, MEASUREMENTS, METRICS, TIMELINE, SCALING, KEYS, BLOBS, SRC };
static const struct view {
    unsigned folder, kind;
    const char *name, *extension;
    enum needs needs; /* what the profile must have */
} views[] = {
    {PF_TOP, PF_INFO, "info", ".txt", ALWAYS},
    {PF_TABLES, PF_METRICS_CSV, "metrics", ".csv", MEASUREMENTS},
    {PF_TABLES, PF_PARTITIONS_CSV, NULL, ".csv", MEASUREMENTS},
    {PF_TABLES, PF_CONTEXTS_CSV, "contexts", ".csv", MEASUREMENTS},
    {PF_TABLES, PF_WARNINGS_CSV, "warnings", ".csv", ALWAYS},
    {PF_PARTITION_DIR, PF_PARTITION_INFO, "info", ".txt", MEASUREMENTS},
    {PF_CONTEXT_DIR, PF_CONTEXT_INFO, "info", ".txt", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_INFO, "info", ".txt", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_CONTEXTS, "contexts", ".csv", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_PARTITIONS, NULL, ".csv", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_FUNCTIONS, "functions", ".csv", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_CALLERS, "callers", ".csv", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_HOT, "hot", ".txt", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_TREE, "tree", ".txt", MEASUREMENTS},
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_FOLDED, "stacks", ".folded", MEASUREMENTS},
    {PF_KEY_DIR, PF_KEY_INFO, "info", ".txt", KEYS},
    {PF_TOP, PF_TABLES, "tables", "", ALWAYS},
    {PF_TOP, PF_PARTITIONS, NULL, "", MEASUREMENTS},
    {PF_TOP, PF_CONTEXTS, "contexts", "", MEASUREMENTS},
    {PF_TOP, PF_METRICS, "metrics", "", MEASUREMENTS},
    {PF_TOP, PF_PRIMARY, "primary", "", MEASUREMENTS},
    {PF_PRIMARY, PF_PRIMARY_LINK, "metric", "", METRICS},
    {PF_TOP, PF_EXPORT, "export", "", MEASUREMENTS},
    {PF_EXPORT, PF_PPROF, "profile", ".pb", MEASUREMENTS},
    {PF_EXPORT, PF_TRACE_JSON, "trace", ".json", TIMELINE},
    {PF_EXPORT, PF_TIMELINE_SVG, "timeline", ".svg", TIMELINE},
    {PF_EXPORT_DIR, PF_FLAME_SVG, "flame", ".svg", MEASUREMENTS},
    {PF_EXPORT_DIR, PF_SCALING_SVG, "scaling", ".svg", SCALING},
    {PF_TOP, PF_KEYS, NULL, "", KEYS},
    {PF_TOP, PF_BLOBS, "src", "", BLOBS},
    {PF_TOP, PF_SOURCE_FOLDER, "src", "", SRC},
};
enum { VIEWS = sizeof views / sizeof *views };

static bool has(const struct pf_profile *profile, enum needs needs)
{
    switch (needs) {
    case MEASUREMENTS:
        return profile->partitions.plural != NULL;
    case METRICS:
        return profile->n_metrics > 0;
    case TIMELINE:
        return pf_timeline_table(profile) != NULL;
    case SCALING:
        return pf_scaling_table(profile) != NULL;
    case KEYS:
        return profile->keys.plural != NULL;
    case BLOBS:
        return profile->n_blobs > 0 && !profile->src;
    case SRC:
        return profile->src != NULL;
    case ALWAYS:
        break;
    }
    return true;
}

static size_t view_name(const struct pf_profile *profile, const struct view *view, char *name)
{
    const char *stem = view->name            ? view->name
                       : view->needs == KEYS ? profile->keys.plural
                                             : profile->partitions.plural;
    return (size_t)snprintf(name, PF_NAME_MAX + 1, "%s%s", stem, view->extension);
}

/* A driver's table stands in a folder if the folder is `tables` or the table has the column that the folder
 * fixes; but some tables belong to one kind of folder alone. */
static bool table_stands_in(const struct pf_table *table, unsigned folder)
{
    unsigned only = table->flags & (PF_ONLY_IN_PARTITIONS | PF_ONLY_IN_METRICS | PF_ONLY_IN_KEYS);
    switch (folder) {
    case PF_TABLES:
        return !only;
    case PF_PARTITION_DIR:
        return !(only & ~(unsigned)PF_ONLY_IN_PARTITIONS) && pf_table_has(table, PF_PARTITION);
    case PF_CONTEXT_DIR:
        return !only && pf_table_has(table, PF_CONTEXT);
    case PF_METRIC_DIR:
        return only & PF_ONLY_IN_METRICS;
    case PF_KEY_DIR:
        return pf_table_has(table, PF_KEY);
    default:
        return false;
    }
}

static unsigned table_base(unsigned folder)
{
    switch (folder) {
    case PF_PARTITION_DIR:
        return PF_TABLE_OF_PARTITION;
    case PF_CONTEXT_DIR:
        return PF_TABLE_OF_CONTEXT;
    case PF_METRIC_DIR:
        return PF_TABLE_OF_METRIC;
    case PF_KEY_DIR:
        return PF_TABLE_OF_KEY;
    default:
        return PF_TABLE_WHOLE;
    }
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
        if (view->folder != folder.kind || !has(profile, view->needs))
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

/* ---- folders ------------------------------------------------------------------------------------ */

/* Folders that hold an entry for each item of something that has names. */
static const struct named_folder {
    unsigned folder, item; /* kinds */
    enum pf_named named;
} named_folders[] = {
    {PF_PARTITIONS, PF_PARTITION_DIR, PF_NAMED_PARTITIONS},
    {PF_CONTEXTS, PF_CONTEXT_DIR, PF_NAMED_CONTEXTS},
    {PF_CONTEXT_DIR, PF_CONTEXT_DIR, PF_NAMED_CONTEXTS},
    {PF_METRICS, PF_METRIC_DIR, PF_NAMED_METRICS},
    {PF_EXPORT, PF_EXPORT_DIR, PF_NAMED_METRICS},
    {PF_KEYS, PF_KEY_DIR, PF_NAMED_KEYS},
    {PF_BLOBS, PF_BLOB, PF_NAMED_BLOBS},
    {PF_TOP, PF_LINK, PF_NAMED_LINKS},
};
enum { NAMED_FOLDERS = sizeof named_folders / sizeof *named_folders };

static const struct named_folder *named_folder(unsigned folder)
{
    for (size_t i = 0; i < NAMED_FOLDERS; i++)
        if (named_folders[i].folder == folder)
            return &named_folders[i];
    return NULL;
}

/* The items of a folder: how many, and which node the i-th is. */
static uint64_t item_count(struct pf_live *live, struct pf_node folder)
{
    const struct pf_profile *profile = pf_live_profile(live);
    switch (folder.kind) {
    case PF_PARTITIONS:
        return pf_rows_count(profile->partitions.items);
    case PF_METRICS:
    case PF_EXPORT:
        return profile->n_metrics;
    case PF_CONTEXTS:
        return profile->contexts->roots;
    case PF_CONTEXT_DIR:
        return profile->contexts->first[folder.item + 1] - profile->contexts->first[folder.item];
    case PF_KEYS:
        return pf_rows_count(profile->keys.items);
    case PF_BLOBS:
        return profile->n_blobs;
    case PF_TOP:
        return profile->n_links;
    default:
        return 0;
    }
}

/* Only folders of contexts look at the tree: a pass may be making it while others are listed. */
static uint32_t item_at(const struct pf_profile *profile, struct pf_node folder, uint64_t i)
{
    if (folder.kind != PF_CONTEXTS && folder.kind != PF_CONTEXT_DIR)
        return (uint32_t)i;
    const struct pf_tree *tree = profile->contexts;
    return folder.kind == PF_CONTEXTS ? tree->root[i] : tree->child[tree->first[folder.item] + i];
}

static bool folder_item(struct pf_live *live, struct pf_node folder, uint64_t i, char *name,
                        struct pf_node *entry)
{
    const struct named_folder *named = named_folder(folder.kind);
    if (!named || i >= item_count(live, folder))
        return false;
    *entry = (struct pf_node){named->item, item_at(pf_live_profile(live), folder, i)};
    pf_dirname(pf_live_names(live, named->named), entry->item, name);
    return true;
}

bool pf_folder_entry(struct pf_live *live, struct pf_node folder, uint64_t number, char *name,
                     struct pf_node *entry)
{
    int known = pf_live_known_entry(live, folder, number, name, entry);
    if (known >= 0)
        return known;
    size_t at = 0;
    uint64_t own = 0;
    while (next_own(pf_live_profile(live), folder, &at, name, entry))
        if (own++ == number)
            return true;
    return folder_item(live, folder, number - own, name, entry);
}

bool pf_folder_find(struct pf_live *live, struct pf_node folder, const char *name, struct pf_node *entry)
{
    int known = pf_live_known_find(live, folder, name, entry);
    if (known >= 0)
        return known;
    char own[PF_NAME_MAX + 1];
    size_t at = 0;
    while (next_own(pf_live_profile(live), folder, &at, own, entry))
        if (!strcmp(own, name))
            return true;
    const struct named_folder *named = named_folder(folder.kind);
    if (!named || !item_count(live, folder))
        return false;
    uint32_t group = folder.kind == PF_CONTEXTS      ? PF_NO_CONTEXT
                     : folder.kind == PF_CONTEXT_DIR ? folder.item
                                                     : 0;
    *entry = (struct pf_node){named->item, pf_dirname_find(pf_live_names(live, named->named), group, name)};
    return entry->item != PF_NO_ITEM;
}

/* The folder that a kind of node stands in. */
static struct pf_node folder_of(const struct pf_profile *profile, struct pf_node node)
{
    for (size_t v = 0; v < VIEWS; v++)
        if (views[v].kind == node.kind)
            return (struct pf_node){views[v].folder, node.item};
    if (node.kind == PF_CONTEXT_DIR) {
        uint32_t parent = profile->contexts->parent[node.item];
        return parent == PF_NO_CONTEXT ? (struct pf_node){PF_CONTEXTS, 0}
                                       : (struct pf_node){PF_CONTEXT_DIR, parent};
    }
    for (size_t i = 0; i < NAMED_FOLDERS; i++)
        if (named_folders[i].item == node.kind)
            return (struct pf_node){named_folders[i].folder, 0};
    if (pf_table_of(node.kind) < 0)
        return (struct pf_node){PF_TOP, 0};
    static const unsigned folders[] = {PF_PARTITION_DIR, PF_CONTEXT_DIR, PF_METRIC_DIR, PF_KEY_DIR};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (table_base(folders[i]) == pf_table_base(node.kind))
            return (struct pf_node){folders[i], node.item};
    return (struct pf_node){PF_TABLES, 0};
}

bool pf_node_parent(struct pf_live *live, struct pf_node node, struct pf_node *parent, char *name)
{
    if (node.kind == PF_TOP)
        return false;
    if (pf_live_known_parent(live, node, parent, name))
        return true;
    *parent = folder_of(pf_live_profile(live), node);
    for (size_t i = 0; i < NAMED_FOLDERS; i++)
        if (named_folders[i].item == node.kind) {
            pf_dirname(pf_live_names(live, named_folders[i].named), node.item, name);
            return true;
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
