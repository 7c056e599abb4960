/* SPDX-License-Identifier: MIT */
#include "fs/draw/draw.h"
#include "fs/profile/profile_private.h"
#include "fs/profile/views.h"
#include "fs/sums/export.h"
#include "fs/text/table.h"

/* Walks over views and tables that other folders make. */

struct pf_lines *pf_walk_metric(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_metric_lines(pf_profile_model(profile), pf_profile_aggregate_now(profile, (int)node.item),
                           node.item, (enum pf_metric_view)(node.kind - PF_METRIC_FILE), error);
}

struct pf_lines *pf_walk_flame(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_flame_lines(pf_profile_model(profile), pf_profile_aggregate_now(profile, (int)node.item),
                          node.item, error);
}

struct pf_lines *pf_walk_callgraph(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_callgraph_lines(pf_profile_model(profile), pf_profile_aggregate_now(profile, (int)node.item),
                              node.item, error);
}

struct pf_lines *pf_walk_scaling(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    return pf_scaling_lines(pf_profile_model(profile), node.item, error);
}

struct pf_lines *pf_walk_pprof(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return pf_pprof_lines(pf_profile_model(profile), pf_profile_aggregate_now(profile, -1), error);
}

struct pf_lines *pf_walk_trace(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return pf_trace_json_lines(pf_profile_model(profile), pf_timeline_table(pf_profile_model(profile)),
                               error);
}

struct pf_lines *pf_walk_timeline(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    (void)node;
    return pf_timeline_lines(pf_profile_model(profile), error);
}

struct pf_lines *pf_walk_table(struct pf_profile *profile, struct pf_node node, struct pf_error *error)
{
    struct pf_model *model = pf_profile_model(profile);
    struct pf_slice slice = {.table = &model->tables[pf_table_of(node.kind)], .only = PF_UNRESTRICTED};
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
    return pf_table_lines(model, &slice, error);
}
