/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "fs/draw/draw.h"
#include "fs/profile/model_text.h"
#include "fs/profile/views.h"
#include "fs/sums/export.h"
#include "fs/text/blob_text.h"
#include "fs/text/table.h"

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
    if (pf_table_has(table, PF_KEY))
        stage = later(stage, profile->keys.stage);
    return stage;
}

static enum pf_stage aggregate_stage(const struct pf_profile *profile)
{
    return later(PF_MODELLED, profile->cells ? table_stage(profile, profile->cells) : PF_MODELLED);
}

enum pf_stage pf_node_stage(const struct pf_profile *profile, struct pf_node node)
{
    switch (node.kind) {
    case PF_TOP:
    case PF_TABLES:
    case PF_INFO:
    case PF_ERROR:
    case PF_BLOBS:
    case PF_BLOB:
    case PF_LINK:
    case PF_SOURCE_FOLDER:
        return PF_OPENED;
    case PF_KEYS:
    case PF_KEY_DIR:
        return profile->keys.stage;
    case PF_KEY_INFO:
        return later(profile->keys.stage, profile->tables[profile->keys.about].stage);
    case PF_PARTITIONS:
    case PF_PARTITION_DIR:
        return PF_PARTITIONED;
    case PF_PARTITIONS_CSV:
    case PF_PARTITION_INFO:
        return later(PF_PARTITIONED, profile->partitions.fields_stage);
    case PF_METRICS:
    case PF_METRIC_DIR:
    case PF_METRICS_CSV:
    case PF_PRIMARY:
    case PF_PRIMARY_LINK:
    case PF_EXPORT:
    case PF_EXPORT_DIR:
        return profile->metrics_stage;
    case PF_METRIC_INFO:
        /* Metrics that a later stage makes are not to be looked at before. */
        return profile->metrics_stage == PF_OPENED && !pf_needs_aggregate(profile, node)
                   ? PF_OPENED
                   : aggregate_stage(profile);
    case PF_TRACE_JSON:
    case PF_TIMELINE_SVG:
        return later(PF_MODELLED, table_stage(profile, pf_timeline_table(profile)));
    case PF_SCALING_SVG:
        return later(PF_MODELLED, table_stage(profile, pf_scaling_table(profile)));
    case PF_CONTEXTS:
    case PF_CONTEXT_DIR:
    case PF_CONTEXTS_CSV:
    case PF_CONTEXT_INFO:
        return PF_MODELLED;
    default:
        break;
    }
    if (pf_needs_aggregate(profile, node))
        return aggregate_stage(profile);
    if (node.kind == PF_WARNINGS_CSV)
        return PF_MODELLED;
    const struct pf_table *table = &profile->tables[pf_table_of(node.kind)];
    enum pf_stage stage = table_stage(profile, table);
    switch (pf_table_base(node.kind)) {
    case PF_TABLE_OF_PARTITION:
        return later(later(stage, PF_PARTITIONED), table->partition_stage);
    case PF_TABLE_OF_CONTEXT:
        return later(later(stage, PF_MODELLED), table->context_stage);
    case PF_TABLE_OF_METRIC:
        return later(stage, profile->metrics_stage);
    case PF_TABLE_OF_KEY:
        return later(stage, profile->keys.stage);
    default:
        return stage;
    }
}

bool pf_node_exists(const struct pf_profile *profile, struct pf_node node)
{
    unsigned base = pf_table_of(node.kind) >= 0 ? pf_table_base(node.kind) : node.kind;
    switch (base) {
    case PF_PARTITION_DIR:
    case PF_PARTITION_INFO:
    case PF_TABLE_OF_PARTITION:
        return node.item < pf_rows_count(profile->partitions.items);
    case PF_CONTEXT_DIR:
    case PF_CONTEXT_INFO:
    case PF_TABLE_OF_CONTEXT:
        return profile->contexts && node.item < profile->contexts->count;
    case PF_KEY_DIR:
    case PF_KEY_INFO:
    case PF_TABLE_OF_KEY:
        return node.item < pf_rows_count(profile->keys.items);
    case PF_BLOB:
        return node.item < profile->n_blobs;
    case PF_LINK:
        return node.item < profile->n_links;
    case PF_METRIC_DIR:
    case PF_METRIC_INFO:
    case PF_TABLE_OF_METRIC:
        return node.item < profile->n_metrics;
    default:
        return !node.item || !pf_needs_aggregate(profile, node) || node.item < profile->n_metrics;
    }
}

bool pf_needs_context_names(unsigned kind)
{
    return kind == PF_CONTEXTS || kind == PF_CONTEXT_DIR || kind == PF_CONTEXTS_CSV;
}

/*
 * What is known of a metric is known before its values are, but for how many of them folded stacks leave out. Of shares
 * above 100 % only values tell.
 */
bool pf_needs_aggregate(const struct pf_profile *profile, struct pf_node node)
{
    if (node.kind == PF_WARNINGS_CSV)
        return profile->partitions.plural != NULL;
    if (node.kind == PF_METRIC_INFO)
        return node.item < profile->n_metrics && pf_folding(profile, node.item).loses;
    return node.kind == PF_FLAME_SVG || node.kind == PF_PPROF ||
           (node.kind >= PF_METRIC_FILE && node.kind < PF_METRIC_FILE + PF_METRIC_VIEWS);
}

bool pf_is_cheap(const struct pf_profile *profile, struct pf_node node)
{
    switch (node.kind) {
    case PF_LINK:
    case PF_PRIMARY_LINK:
    case PF_INFO:
    case PF_ERROR:
    case PF_METRICS_CSV:
    case PF_PARTITION_INFO:
    case PF_CONTEXT_INFO:
    case PF_KEY_INFO:
        return true;
    case PF_METRIC_INFO:
    case PF_WARNINGS_CSV:
        return !pf_needs_aggregate(profile, node);
    default:
        return false;
    }
}

bool pf_is_seekable(const struct pf_profile *profile, struct pf_node node)
{
    int t = pf_table_of(node.kind);
    if (t < 0)
        return true;
    switch (pf_table_base(node.kind)) {
    case PF_TABLE_OF_PARTITION:
        return profile->tables[t].flags & PF_SEEKS_PARTITION;
    case PF_TABLE_OF_CONTEXT:
        return profile->tables[t].flags & PF_SEEKS_CONTEXT;
    case PF_TABLE_OF_METRIC:
        return false; /* values lie by partition and context */
    default:
        return true;
    }
}

bool pf_is_heavy(const struct pf_profile *profile, struct pf_node node)
{
    int t = pf_table_of(node.kind);
    if (node.kind == PF_TIMELINE_SVG)
        return true;
    return t >= 0 && profile->tables[t].ops && !pf_is_seekable(profile, node);
}

/* ---- files -------------------------------------------------------------------------------------- */

static struct pf_lines *table_walk(struct pf_live *live, struct pf_node node, struct pf_error *error)
{
    struct pf_profile *profile = pf_live_profile(live);
    struct pf_slice slice = {.table = &profile->tables[pf_table_of(node.kind)], .only = PF_UNRESTRICTED};
    switch (pf_table_base(node.kind)) {
    case PF_TABLE_OF_PARTITION:
        slice.only.partition = node.item;
        break;
    case PF_TABLE_OF_CONTEXT:
        slice.only.context = node.item;
        break;
    case PF_TABLE_OF_METRIC:
        slice.only.metric = node.item;
        break;
    case PF_TABLE_OF_KEY:
        slice.only.key = node.item;
        break;
    default:
        break;
    }
    return pf_table_lines(profile, &slice, error);
}

struct pf_lines *pf_node_walk(struct pf_live *live, struct pf_node node, struct pf_error *error)
{
    switch (node.kind) {
    case PF_LINK:
    case PF_PRIMARY_LINK:
        return pf_link_lines(live, node, error);
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
    case PF_KEY_INFO:
        return pf_key_info_lines(live, node.item, error);
    case PF_BLOB:
        return pf_blob_lines(pf_live_profile(live), node.item, error);
    case PF_FLAME_SVG:
        return pf_flame_lines(pf_live_profile(live), pf_live_aggregate_now(live), node.item, error);
    case PF_PPROF:
        return pf_pprof_lines(pf_live_profile(live), pf_live_aggregate_now(live), error);
    case PF_TRACE_JSON:
        return pf_trace_json_lines(pf_live_profile(live), pf_timeline_table(pf_live_profile(live)), error);
    case PF_TIMELINE_SVG:
        return pf_timeline_lines(pf_live_profile(live), error);
    case PF_SCALING_SVG:
        return pf_scaling_lines(pf_live_profile(live), node.item, error);
    default:
        break;
    }
    if (node.kind >= PF_METRIC_FILE && node.kind < PF_METRIC_FILE + PF_METRIC_VIEWS)
        return pf_metric_lines(pf_live_profile(live), pf_live_aggregate_now(live), node.item,
                               (enum pf_metric_view)(node.kind - PF_METRIC_FILE), error);
    if (pf_table_of(node.kind) >= 0)
        return table_walk(live, node, error);
    pf_fail(error, ENOENT, "no such file");
    return NULL;
}
