/* SPDX-License-Identifier: MIT */
#include "fs/profile/views.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/model.h"
#include "fs/draw/draw.h"
#include "fs/profile/profile_private.h"
#include "fs/sums/export.h"
#include "fs/sums/folded.h"
#include "fs/text/table.h"

/* The tree inside a profile: the views (generated files and folders), the entries of a folder, the folder of a node. */

/* ---- the table of views ------------------------------------------------------------------------- */

/* The condition for a view to exist in a profile. */
enum needs { ALWAYS, MEASUREMENTS, TREE, METRICS, SAMPLES, NO_SAMPLES, TIMELINE, SCALING, KEYS, BLOBS, SRC };

/*
 * Parts of a model whose stage depends on the format. A view that needs such a part is readable once the stage that provides the
 * part is loaded.
 */
enum when {
    FIELDS = PF_STAGES, /* fields of partitions */
    NAMED,              /* metrics */
    DETAILED,           /* metrics, and all values that their info.txt show */
    KEYED,              /* keys */
    ROWS_OF_KEYS,
    ROWS_OF_TIMELINE,
    ROWS_OF_SCALING,
    ADDED_UP,
    ALL_WARNINGS,
};

/* The generated entries of each folder. Listings show the driver's tables after these (table_stands_in). */
static const struct view {
    unsigned folder, kind;
    const char *name, *extension; /* name NULL: the plural of the partitions or keys */
    enum needs needs;
    unsigned when; /* a stage, or an enum when */
} views[] = {
    {PF_TOP, PF_INFO, "info", ".txt", ALWAYS, PF_OPENED},
    {PF_TABLES, PF_METRICS_CSV, "metrics", ".csv", MEASUREMENTS, NAMED},
    {PF_TABLES, PF_PARTITIONS_CSV, NULL, ".csv", MEASUREMENTS, FIELDS},
    {PF_TABLES, PF_CONTEXTS_CSV, "contexts", ".csv", MEASUREMENTS, PF_MODELLED},
    {PF_TABLES, PF_WARNINGS_CSV, "warnings", ".csv", ALWAYS, ALL_WARNINGS},
    {PF_PARTITION_DIR, PF_PARTITION_INFO, "info", ".txt", MEASUREMENTS, FIELDS},
    {PF_CONTEXT_DIR, PF_CONTEXT_INFO, "info", ".txt", MEASUREMENTS, PF_MODELLED},
    {PF_METRIC_DIR, PF_METRIC_INFO, "info", ".txt", MEASUREMENTS, DETAILED},
    {PF_METRIC_DIR, PF_METRIC_SUMMARY, "summary", ".md", MEASUREMENTS, ALL_WARNINGS},
#define METRIC_VIEW(view, name, extension)                                                                   \
    {                                                                                                        \
        PF_METRIC_DIR, PF_METRIC_FILE + (view), name, extension, MEASUREMENTS, ADDED_UP                      \
    }
    METRIC_VIEW(PF_METRIC_CONTEXTS, "contexts", ".csv"),
    METRIC_VIEW(PF_METRIC_PARTITIONS, NULL, ".csv"),
    METRIC_VIEW(PF_METRIC_GROUPS, "groups", ".csv"),
    METRIC_VIEW(PF_METRIC_FUNCTIONS, "functions", ".csv"),
    METRIC_VIEW(PF_METRIC_MODULES, "modules", ".csv"),
    METRIC_VIEW(PF_METRIC_FILES, "files", ".csv"),
    METRIC_VIEW(PF_METRIC_LINES, "lines", ".csv"),
    METRIC_VIEW(PF_METRIC_CALLERS, "callers", ".csv"),
    METRIC_VIEW(PF_METRIC_HOT, "hot", ".txt"),
    METRIC_VIEW(PF_METRIC_TREE, "tree", ".txt"),
    {PF_METRIC_DIR, PF_METRIC_FILE + PF_METRIC_BOTTOM_UP, "bottom_up", ".txt", TREE, ADDED_UP},
    METRIC_VIEW(PF_METRIC_FOLDED, "stacks", ".folded"),
    {PF_KEY_DIR, PF_KEY_INFO, "info", ".txt", KEYS, ROWS_OF_KEYS},
    {PF_TOP, PF_TABLES, "tables", "", ALWAYS, PF_OPENED},
    {PF_TOP, PF_PARTITIONS, NULL, "", MEASUREMENTS, PF_PARTITIONED},
    {PF_TOP, PF_CONTEXTS_LINK, "contexts", "", MEASUREMENTS, PF_OPENED},
    {PF_TOP, PF_CONTEXTS, ".contexts", "", MEASUREMENTS, PF_MODELLED},
    {PF_TOP, PF_METRICS, "metrics", "", MEASUREMENTS, NAMED},
    {PF_TOP, PF_PRIMARY, "primary", "", MEASUREMENTS, NAMED},
    {PF_PRIMARY, PF_PRIMARY_LINK, "metric", "", METRICS, NAMED},
    {PF_TOP, PF_EXPORT_LINK, "export", "", MEASUREMENTS, PF_OPENED},
    {PF_TOP, PF_EXPORT, ".export", "", MEASUREMENTS, NAMED},
    {PF_EXPORT, PF_PPROF, "profile", ".pb", SAMPLES, ADDED_UP},
    {PF_EXPORT, PF_EMPTY_PPROF, "profile", ".pb", NO_SAMPLES, ADDED_UP},
    {PF_EXPORT, PF_TRACE_JSON, "trace", ".json", TIMELINE, ROWS_OF_TIMELINE},
    {PF_EXPORT, PF_TIMELINE_SVG, "timeline", ".svg", TIMELINE, ROWS_OF_TIMELINE},
    {PF_EXPORT_DIR, PF_FLAME_SVG, "flame", ".svg", MEASUREMENTS, ADDED_UP},
    {PF_EXPORT_DIR, PF_CALLGRAPH_DOT, "callgraph", ".dot", MEASUREMENTS, ADDED_UP},
    {PF_EXPORT_DIR, PF_SCALING_SVG, "scaling", ".svg", SCALING, ROWS_OF_SCALING},
    {PF_TOP, PF_KEYS, NULL, "", KEYS, KEYED},
    {PF_TOP, PF_BLOBS, "src", "", BLOBS, PF_OPENED},
    {PF_TOP, PF_SOURCE_FOLDER, "src", "", SRC, PF_OPENED},
};
enum { VIEWS = sizeof views / sizeof *views };
static_assert(PF_METRIC_FILE + PF_METRIC_VIEWS <= PF_TABLE_WHOLE, "kinds of files do not overlap");

/* The view of a kind; NULL for an item or a table's file. */
static const struct view *view_of(unsigned kind)
{
    for (size_t v = 0; v < VIEWS; v++)
        if (views[v].kind == kind)
            return &views[v];
    return NULL;
}

static bool has(const struct pf_model *model, enum needs needs)
{
    switch (needs) {
    case MEASUREMENTS:
        return model->partitions.plural != NULL;
    case TREE:
        return model->partitions.plural != NULL && !pf_extra_of(model)->edges;
    case METRICS:
        return model->n_metrics > 0;
    case SAMPLES:
        return pf_pprof_has_samples(model);
    case NO_SAMPLES:
        return model->partitions.plural != NULL && !pf_pprof_has_samples(model);
    case TIMELINE:
        return pf_timeline_table(model) != NULL;
    case SCALING:
        return pf_scaling_table(model) != NULL;
    case KEYS:
        return pf_extra_of(model)->keys.plural != NULL;
    case BLOBS:
        return pf_extra_of(model)->n_blobs > 0 && !pf_extra_of(model)->src;
    case SRC:
        return pf_extra_of(model)->src != NULL;
    case ALWAYS:
        break;
    }
    return true;
}

static const char *stem_of(const struct pf_model *model, const struct view *view)
{
    return view->name            ? view->name
           : view->needs == KEYS ? pf_extra_of(model)->keys.plural
                                 : model->partitions.plural;
}

/*
 * True if folders of this kind have a file of the driver's table: tables/, and the folders of partitions, contexts or keys
 * if the table has a column for them. A PF_ONLY_IN_* flag restricts the table to one kind of folder; metrics' folders have
 * only tables with PF_ONLY_IN_METRICS.
 */
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

/* The folders of a driver's tables, in the order of PF_TABLE_WHOLE, PF_TABLE_OF_PARTITION, ... */
static const unsigned table_folders[] = {PF_TABLES, PF_PARTITION_DIR, PF_CONTEXT_DIR, PF_METRIC_DIR,
                                         PF_KEY_DIR};

static unsigned table_base(unsigned folder)
{
    unsigned i = 0;
    while (table_folders[i] != folder)
        i++;
    return PF_TABLE_WHOLE + i * PF_TABLES_MAX;
}

/* The folder of a table's file. */
static unsigned table_folder(unsigned kind)
{
    return table_folders[(kind - PF_TABLE_WHOLE) / PF_TABLES_MAX];
}

static size_t table_count(const struct pf_model *model)
{
    return model->n_tables < PF_TABLES_MAX ? model->n_tables : PF_TABLES_MAX;
}

/* An entry of a folder that is not an item: a view, a folder of views, or a driver's table. */
struct own_entry {
    unsigned kind;
    const char *stem, *extension; /* its name */
};

/* Iterates over the entries of a folder that are not items. *at is the cursor, initially 0. False at the end. */
static bool next_own(const struct pf_model *model, unsigned folder, size_t *at, struct own_entry *own)
{
    for (; *at < VIEWS; ++*at) {
        const struct view *view = &views[*at];
        if (view->folder != folder || !has(model, view->needs))
            continue;
        *own = (struct own_entry){view->kind, stem_of(model, view), view->extension};
        ++*at;
        return true;
    }
    for (; *at < VIEWS + table_count(model); ++*at) {
        size_t t = *at - VIEWS;
        if (!table_stands_in(&model->tables[t], folder))
            continue;
        *own = (struct own_entry){table_base(folder) + (unsigned)t, model->tables[t].name, ".csv"};
        ++*at;
        return true;
    }
    return false;
}

static void put_own_name(const struct own_entry *own, char *name)
{
    snprintf(name, PF_NAME_MAX + 1, "%s%s", own->stem, own->extension);
}

static bool find_own(const struct pf_model *model, unsigned folder, const char *name, unsigned *kind)
{
    struct own_entry own;
    for (size_t at = 0; next_own(model, folder, &at, &own);) {
        size_t size = strlen(own.stem);
        *kind = own.kind;
        if (!strncmp(name, own.stem, size) && !strcmp(name + size, own.extension))
            return true;
    }
    return false;
}

bool pf_is_own_name(const void *model, unsigned folder, const char *name)
{
    unsigned kind;
    return find_own(model, folder, name, &kind);
}

/* ---- folders of items --------------------------------------------------------------------------- */

/* Kinds of folders with one entry per item of a named set. */
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

/* The set whose items a kind of folder holds; NULL: no items. */
static const struct named_folder *named_folder(unsigned folder)
{
    for (size_t i = 0; i < NAMED_FOLDERS; i++)
        if (named_folders[i].folder == folder)
            return &named_folders[i];
    return NULL;
}

static const struct named_folder *folder_of_items(unsigned item)
{
    for (size_t i = 0; i < NAMED_FOLDERS; i++)
        if (named_folders[i].item == item)
            return &named_folders[i];
    return NULL;
}

/* The number of items of a kind in the profile; 1 if the kind has no items. */
static uint64_t count_items(const struct pf_model *model, unsigned kind)
{
    switch (kind) {
    case PF_PARTITION_DIR:
        return pf_rows_count(model->partitions.items);
    case PF_CONTEXT_DIR:
        return model->contexts ? model->contexts->count : 0;
    case PF_METRIC_DIR:
    case PF_EXPORT_DIR:
        return model->n_metrics;
    case PF_KEY_DIR:
        return pf_rows_count(pf_extra_of(model)->keys.items);
    case PF_BLOB:
        return pf_extra_of(model)->n_blobs;
    case PF_LINK:
        return pf_extra_of(model)->n_links;
    default:
        return 1;
    }
}

static struct pf_node folder_of_node(const struct pf_model *model, struct pf_node node)
{
    const struct view *view = view_of(node.kind);
    const struct named_folder *named = folder_of_items(node.kind);
    if (node.kind == PF_CONTEXT_DIR && model->contexts->parent[node.item] != PF_NO_CONTEXT)
        return (struct pf_node){PF_CONTEXT_DIR, model->contexts->parent[node.item]};
    if (pf_table_of(node.kind) >= 0)
        return (struct pf_node){table_folder(node.kind), node.item};
    return view    ? (struct pf_node){view->folder, node.item}
           : named ? (struct pf_node){named->folder, 0}
                   : (struct pf_node){PF_TOP, 0};
}

/* ---- stages and costs --------------------------------------------------------------------------- */

static enum pf_stage later(enum pf_stage a, enum pf_stage b)
{
    return a > b ? a : b;
}

static enum pf_stage table_stage(const struct pf_model *model, const struct pf_table *table)
{
    enum pf_stage stage = table->stage;
    if (pf_table_has(table, PF_PARTITION_FIELD))
        stage = later(stage, model->partitions.fields_late ? PF_MODELLED : PF_PARTITIONED);
    if (pf_table_has(table, PF_PARTITION))
        stage = later(stage, PF_PARTITIONED);
    if (pf_table_has(table, PF_METRIC))
        stage = later(stage, pf_metrics_stage(model));
    if (pf_table_has(table, PF_CONTEXT) || pf_table_has(table, PF_KEY))
        stage = later(stage, PF_MODELLED);
    return stage;
}

enum pf_stage pf_aggregate_stage(const struct pf_model *model)
{
    return later(PF_MODELLED, model->values ? table_stage(model, model->values) : PF_MODELLED);
}

static enum pf_stage view_stage(const struct pf_model *model, unsigned when)
{
    switch (when) {
    case FIELDS:
        return model->partitions.fields_late ? PF_MODELLED : PF_PARTITIONED;
    case NAMED:
    case DETAILED:
        return pf_metrics_stage(model);
    case KEYED:
        return PF_MODELLED;
    case ROWS_OF_KEYS:
        return later(PF_MODELLED, model->tables[pf_extra_of(model)->keys.about].stage);
    case ROWS_OF_TIMELINE:
        return later(PF_MODELLED, table_stage(model, pf_timeline_table(model)));
    case ROWS_OF_SCALING:
        return later(PF_MODELLED, table_stage(model, pf_scaling_table(model)));
    case ADDED_UP:
        return pf_aggregate_stage(model);
    case ALL_WARNINGS:
        return later(PF_CHECKED, pf_aggregate_stage(model));
    default:
        return (enum pf_stage)when;
    }
}

static enum pf_stage table_file_stage(const struct pf_model *model, unsigned kind)
{
    const struct pf_table *table = &model->tables[pf_table_of(kind)];
    enum pf_stage stage = table_stage(model, table);
    switch (pf_table_base(kind)) {
    case PF_TABLE_OF_PARTITION:
        return later(stage, table->flags & PF_DERIVED_BY_PARTITION ? PF_DERIVED : PF_PARTITIONED);
    case PF_TABLE_OF_CONTEXT:
        return later(stage, table->flags & PF_DERIVED_BY_CONTEXT ? PF_DERIVED : PF_MODELLED);
    case PF_TABLE_OF_METRIC:
        return later(stage, pf_metrics_stage(model));
    case PF_TABLE_OF_KEY:
        return later(stage, PF_MODELLED);
    default:
        return stage;
    }
}

enum pf_stage pf_node_stage(const struct pf_model *model, struct pf_node node)
{
    const struct view *view = view_of(node.kind);
    const struct named_folder *named = folder_of_items(node.kind);
    if (pf_table_of(node.kind) >= 0)
        return table_file_stage(model, node.kind);
    if (!view && named) /* an item exists as soon as its folder does */
        view = view_of(named->folder);
    if (!view)
        return PF_OPENED;
    /* If a stage after PF_OPENED makes the metrics, their details are known once the aggregate stage is loaded. */
    bool sums = view->when == DETAILED && (model->metrics_late || pf_needs_aggregate(model, node));
    return sums ? pf_aggregate_stage(model) : view_stage(model, view->when);
}

bool pf_node_exists(const struct pf_model *model, struct pf_node node)
{
    const struct view *view = view_of(node.kind);
    unsigned item = pf_table_of(node.kind) >= 0 ? table_folder(node.kind) : view ? view->folder : node.kind;
    return node.item < count_items(model, item);
}

bool pf_needs_context_names(unsigned kind)
{
    return kind == PF_CONTEXTS || kind == PF_CONTEXT_DIR || kind == PF_CONTEXTS_CSV;
}

/*
 * warnings.csv needs aggregates for shares above 100 %, and summary.md for its sums. A metric's info.txt needs them only to
 * count stacks lost to rounding and values beyond 64 bits.
 */
bool pf_needs_aggregate(const struct pf_model *model, struct pf_node node)
{
    if (node.kind == PF_WARNINGS_CSV || node.kind == PF_METRIC_SUMMARY)
        return model->partitions.plural != NULL;
    if (node.kind == PF_METRIC_INFO) {
        if (node.item >= model->n_metrics)
            return false;
        struct pf_folded_unit unit = pf_folded_unit_of(model, node.item);
        return unit.may_drop || unit.may_saturate;
    }
    const struct view *view = view_of(node.kind);
    return view && view->when == ADDED_UP;
}

int pf_aggregate_metric(struct pf_node node)
{
    return node.kind == PF_WARNINGS_CSV || node.kind == PF_METRIC_SUMMARY || node.kind == PF_PPROF ||
                   node.kind == PF_EMPTY_PPROF
               ? -1
               : (int)node.item;
}

bool pf_is_cheap(const struct pf_model *model, struct pf_node node)
{
    switch (node.kind) {
    case PF_LINK:
    case PF_PRIMARY_LINK:
    case PF_CONTEXTS_LINK:
    case PF_EXPORT_LINK:
    case PF_INFO:
    case PF_METRICS_CSV:
    case PF_PARTITION_INFO:
    case PF_CONTEXT_INFO:
    case PF_KEY_INFO:
        return true;
    case PF_METRIC_INFO:
    case PF_WARNINGS_CSV:
        return !pf_needs_aggregate(model, node);
    default:
        return false;
    }
}

bool pf_is_seekable(const struct pf_model *model, struct pf_node node)
{
    int t = pf_table_of(node.kind);
    if (t < 0)
        return true;
    switch (pf_table_base(node.kind)) {
    case PF_TABLE_OF_PARTITION:
        return model->tables[t].flags & PF_SEEKS_PARTITION;
    case PF_TABLE_OF_CONTEXT:
        return model->tables[t].flags & PF_SEEKS_CONTEXT;
    case PF_TABLE_OF_METRIC:
        return false; /* values are ordered by partition and context */
    default:
        return true;
    }
}

bool pf_is_heavy(const struct pf_model *model, struct pf_node node)
{
    int t = pf_table_of(node.kind);
    if (node.kind == PF_TIMELINE_SVG)
        return true;
    return t >= 0 && model->tables[t].ops && !pf_is_seekable(model, node);
}

/* ---- entries of folders -------------------------------------------------------------------------- */

/*
 * The number of items in a folder; item_at returns the i-th one. model->contexts is read only for folders of contexts,
 * since a pass may still be building it while other folders are listed.
 */
static uint64_t item_count(const struct pf_model *model, struct pf_node folder, unsigned item)
{
    if (folder.kind == PF_CONTEXTS)
        return model->contexts->roots;
    if (folder.kind != PF_CONTEXT_DIR)
        return count_items(model, item);
    const uint32_t *first = &model->contexts->first[folder.item];
    return first[1] - first[0];
}

static uint32_t item_at(const struct pf_model *model, struct pf_node folder, uint64_t i)
{
    if (folder.kind == PF_CONTEXTS)
        return model->contexts->root[i];
    if (folder.kind != PF_CONTEXT_DIR)
        return (uint32_t)i;
    return model->contexts->child[model->contexts->first[folder.item] + i];
}

static bool folder_item(struct pf_profile *profile, struct pf_node folder, uint64_t i, char *name,
                        struct pf_node *entry)
{
    const struct named_folder *named = named_folder(folder.kind);
    if (!named || i >= item_count(pf_profile_model(profile), folder, named->item))
        return false;
    *entry = (struct pf_node){named->item, item_at(pf_profile_model(profile), folder, i)};
    pf_dirname(pf_profile_names(profile, named->named), entry->item, name);
    return true;
}

bool pf_folder_entry(struct pf_profile *profile, struct pf_node folder, uint64_t number, char *name,
                     struct pf_node *entry)
{
    int cached = pf_cached_get_entry(&profile->cached, folder, number, name, entry);
    if (cached >= 0)
        return cached;
    struct own_entry own;
    uint64_t n = 0;
    for (size_t at = 0; next_own(pf_profile_model(profile), folder.kind, &at, &own); n++)
        if (n == number) {
            put_own_name(&own, name);
            *entry = (struct pf_node){own.kind, folder.item};
            return true;
        }
    return folder_item(profile, folder, number - n, name, entry);
}

bool pf_folder_find(struct pf_profile *profile, struct pf_node folder, const char *name,
                    struct pf_node *entry)
{
    int cached = pf_cached_find(&profile->cached, folder, name, entry);
    if (cached >= 0)
        return cached;
    *entry = (struct pf_node){.item = folder.item};
    if (find_own(pf_profile_model(profile), folder.kind, name, &entry->kind))
        return true;
    const struct named_folder *named = named_folder(folder.kind);
    if (!named || !item_count(pf_profile_model(profile), folder, named->item))
        return false;
    uint32_t parent = folder.kind == PF_CONTEXTS      ? PF_NO_CONTEXT
                      : folder.kind == PF_CONTEXT_DIR ? folder.item
                                                      : 0;
    *entry =
        (struct pf_node){named->item, pf_dirname_find(pf_profile_names(profile, named->named), parent, name)};
    return entry->item != PF_NO_ITEM;
}

bool pf_node_parent(struct pf_profile *profile, struct pf_node node, struct pf_node *parent, char *name)
{
    if (node.kind == PF_TOP)
        return false;
    if (pf_cached_get_parent(&profile->cached, node, parent, name))
        return true;
    *parent = folder_of_node(pf_profile_model(profile), node);
    const struct named_folder *named = folder_of_items(node.kind);
    if (named) {
        pf_dirname(pf_profile_names(profile, named->named), node.item, name);
        return true;
    }
    struct own_entry own;
    for (size_t at = 0; next_own(pf_profile_model(profile), parent->kind, &at, &own);)
        if (own.kind == node.kind) {
            put_own_name(&own, name);
            return true;
        }
    return false;
}
