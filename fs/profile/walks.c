/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "fs/draw/draw.h"
#include "fs/profile/profile_private.h"
#include "fs/sums/export.h"
#include "fs/text/table.h"
#include "fs/text/walk.h"

/* Opens a walk over the records of a file, by kind of node. */

static struct pf_walk *metric_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_metric_view_walk(pf_profile_aggregate_now(profile, (int)node.item), node.item,
                               (enum pf_metric_view)(node.kind - PF_METRIC_FILE), error);
}

static struct pf_walk *flame_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_flame_walk(pf_profile_model(profile), pf_profile_aggregate_now(profile, (int)node.item),
                         node.item, error);
}

static struct pf_walk *callgraph_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_callgraph_walk(pf_profile_model(profile), pf_profile_aggregate_now(profile, (int)node.item),
                             node.item, error);
}

static struct pf_walk *scaling_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_scaling_walk(pf_profile_model(profile), node.item, error);
}

static struct pf_walk *pprof_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return pf_pprof_walk(pf_profile_aggregate_now(profile, -1), error);
}

static struct pf_walk *trace_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return pf_trace_json_walk(pf_profile_model(profile), pf_timeline_table(pf_profile_model(profile)), error);
}

static struct pf_walk *timeline_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return pf_timeline_walk(pf_profile_model(profile), error);
}

static struct pf_walk *table_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    struct pf_model *model = pf_profile_model(profile);
    struct pf_table_slice slice = {.table = &model->tables[pf_table_of(node.kind)], .only = PF_UNRESTRICTED};
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
    return pf_table_walk(model, &slice, error);
}

static const struct {
    unsigned kind;
    pf_model_text *walk;
} walks[] = {
    {PF_INFO, pf_info_walk},
    {PF_METRICS_CSV, pf_metrics_csv_walk},
    {PF_PARTITIONS_CSV, pf_partitions_csv_walk},
    {PF_CONTEXTS_CSV, pf_contexts_csv_walk},
    {PF_WARNINGS_CSV, pf_warnings_csv_walk},
    {PF_PARTITION_INFO, pf_partition_info_walk},
    {PF_CONTEXT_INFO, pf_context_info_walk},
    {PF_METRIC_INFO, pf_metric_info_walk},
    {PF_METRIC_SUMMARY, pf_summary_walk},
    {PF_KEY_INFO, pf_key_info_walk},
    {PF_CONTEXTS_LINK, pf_link_walk},
    {PF_PRIMARY_LINK, pf_link_walk},
    {PF_EXPORT_LINK, pf_link_walk},
    {PF_PPROF, pprof_walk},
    {PF_EMPTY_PPROF, pprof_walk},
    {PF_TRACE_JSON, trace_walk},
    {PF_TIMELINE_SVG, timeline_walk},
    {PF_FLAME_SVG, flame_walk},
    {PF_CALLGRAPH_DOT, callgraph_walk},
    {PF_SCALING_SVG, scaling_walk},
    {PF_LINK, pf_link_walk},
};

struct pf_walk *pf_node_walk(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    for (size_t i = 0; i < sizeof walks / sizeof *walks; i++)
        if (walks[i].kind == node.kind)
            return walks[i].walk(profile, node, error);
    if (node.kind >= PF_METRIC_FILE && node.kind < PF_METRIC_FILE + PF_METRIC_VIEWS)
        return metric_walk(profile, node, error);
    if (node.kind == PF_BLOB)
        return pf_blob_walk(pf_profile_model(profile), node.item, error);
    if (pf_table_of(node.kind) >= 0)
        return table_walk(profile, node, error);
    pf_fail(error, ENOENT, "no such file");
    return NULL;
}
