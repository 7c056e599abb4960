/* SPDX-License-Identifier: MIT */
#include "formats/nsight/nsight.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that names may have beyond those of the export, which only a hostile one has use for. */
enum { NAMES_SPARE = 1 << 20 };

const char *const nsight_context_kinds[] = {
    [NSIGHT_FUNCTION] = "function", [NSIGHT_API] = "api",         [NSIGHT_A_KERNEL] = "kernel",
    [NSIGHT_A_MEMCPY] = "memcpy",   [NSIGHT_A_MEMSET] = "memset",
};

/* A row in warnings.csv for each table that ended before its end. 0, or -1 with *error filled. */
static int tell_damage(struct pf_profile *profile, const struct nsight_damage damage[NSIGHT_TABLES],
                       struct pf_error *error)
{
    int failed = 0;
    for (size_t t = 0; t < NSIGHT_TABLES && !failed; t++) {
        const char *name = nsight_table_name((enum nsight_table)t);
        if (damage[t].damaged && damage[t].started)
            failed = pf_warn(profile, 0, -1, "error", "bad-table", error,
                             "table %s cannot be read beyond row %" PRId64, name, damage[t].rowid);
        else if (damage[t].damaged)
            failed = pf_warn(profile, 0, -1, "error", "bad-table", error, "table %s cannot be read", name);
    }
    return failed;
}

/* What functions of imported paths took, in no known thread. */
static int fold_homeless(struct nsight_model *model, struct pf_error *error)
{
    const struct nsight_paths *paths = &model->paths;
    if (nsight_state(model->profile)->partitions.homeless == NSIGHT_NONE)
        return 0;
    int64_t *below = calloc(paths->own_room + 1, sizeof *below);
    if (!below)
        return pf_fail_memory(error);
    for (size_t c = paths->own_room; c-- > 0;) {
        int64_t own = paths->own[c].time, inclusive = nsight_plus(own, below[c]);
        if (!paths->own[c].calls && !inclusive)
            continue;
        union pf_measure *measures = pf_fold_at(model->fold, (uint32_t)c, error);
        if (!measures) {
            free(below);
            return -1;
        }
        measures[NSIGHT_CALLS].i = paths->own[c].calls;
        measures[NSIGHT_TIME].i = own;
        measures[NSIGHT_TIME_INC].i = inclusive;
        measures[NSIGHT_TIMED].i = 1;
        uint32_t parent = model->tree->parent[c];
        if (parent != PF_NO_CONTEXT)
            below[parent] = nsight_plus(below[parent], inclusive);
    }
    free(below);
    return pf_fold_end_partition(model->fold, error);
}

static int tell_computed(struct nsight_model *model, struct pf_error *error)
{
    for (unsigned t = 0; t < NSIGHT_TABLES; t++)
        for (unsigned c = 0; c < nsight_column_count(t); c++)
            if (model->db->schema.tables[t].computed >> c & 1 &&
                pf_warn(model->profile, 0, -1, "warning", "computed-column", error,
                        "column %s of table %s is computed by the file, not stored in it: it is passed over",
                        nsight_column_name(t, c), nsight_table_name(t)))
                return -1;
    return 0;
}

static int tell_problems(struct nsight_model *model, struct pf_error *error)
{
    struct pf_profile *profile = model->profile;
    const struct nsight_vfs *vfs = &model->db->vfs;
    if (vfs->size > vfs->have &&
        pf_warn(profile, 0, (int64_t)vfs->have, "fatal", "cut-file", error,
                "the file ends here, %" PRIu64 " bytes before the end of its database",
                vfs->size - vfs->have))
        return -1;
    memcpy(nsight_state(profile)->damage, model->damage, sizeof model->damage);
    if (tell_computed(model, error) || tell_damage(profile, model->damage, error))
        return -1;
    if (model->bad_times &&
        pf_warn(profile, 0, -1, "warning", "bad-times", error,
                "%" PRIu64 " events have no end, or end before they start: they take no time",
                model->bad_times))
        return -1;
    if (model->paths.out_of_text && pf_warn(profile, 0, -1, "error", "long-paths", error,
                                            "call paths are longer than the file: some are left out"))
        return -1;
    return 0;
}

static void hand_over(struct nsight_model *model, struct pf_rows *sums[NSIGHT_SUMS])
{
    struct pf_profile *profile = model->profile;
    struct nsight_state *state = nsight_state(profile);
    state->fold.fold = model->fold;
    state->names = model->names;
    state->calls = model->calls;
    for (size_t i = 0; i < NSIGHT_SUMS; i++)
        state->sums[i] = sums[i];
    profile->contexts = model->tree;
    model->fold = NULL;
    model->tree = NULL;
    model->names = (struct nsight_names){0};
    model->calls = (struct nsight_lookup){0};
}

static int read_export(struct nsight_model *model, struct pf_error *error)
{
    struct pf_rows *sums[NSIGHT_SUMS];
    model->names =
        (struct nsight_names){.strings = model->tree->strings, .left = model->db->vfs.have + NAMES_SPARE};
    model->paths = (struct nsight_paths){.tree = model->tree,
                                         .damage = model->damage,
                                         .names = &model->names,
                                         .partitions = &nsight_state(model->profile)->partitions,
                                         .db = model->db};
    if (nsight_lookup_init(&model->calls, model->limit, error) ||
        nsight_paths_init(&model->paths, model->limit, error) || nsight_read_calls(model, error) ||
        nsight_read_activities(model, error) || fold_homeless(model, error) ||
        pf_tree_finish(model->tree, error) || tell_problems(model, error) ||
        nsight_sums_publish(&model->sums, model->tree->strings, sums, error))
        return -1;
    hand_over(model, sums);
    return 0;
}

int nsight_load_model(struct pf_profile *profile, struct nsight_db *db, struct pf_error *error)
{
    static const struct pf_derivation derivations[] = {
        {.measure = NSIGHT_CALLS, .present = NSIGHT_CALLS},
        {.measure = NSIGHT_TIME, .present = NSIGHT_TIMED},
        {.measure = NSIGHT_TIME_INC, .present = NSIGHT_TIMED},
        {.measure = NSIGHT_GPU_TIME, .present = NSIGHT_GPU_CALLS},
        {.measure = NSIGHT_BYTES, .present = NSIGHT_BYTES},
        {.measure = NSIGHT_API_CALLS, .present = NSIGHT_API_CALLS},
        {.measure = NSIGHT_GPU_CALLS, .present = NSIGHT_GPU_CALLS},
    };
    uint64_t cache = profile->options->cache;
    struct nsight_model model = {
        .profile = profile,
        .db = db,
        .limit = cache / 4,
        .tree = pf_tree_new(nsight_context_kinds),
        .fold = pf_fold_new(NSIGHT_MEASURES, derivations, sizeof derivations / sizeof *derivations, cache),
    };
    int failed = -1;
    if (!model.tree || !model.fold)
        pf_fail_memory(error);
    else
        failed = read_export(&model, error);
    nsight_paths_free(&model.paths);
    nsight_sums_free(&model.sums);
    nsight_names_free(&model.names);
    nsight_lookup_free(&model.calls);
    pf_fold_free(model.fold);
    pf_tree_free(model.tree);
    return failed;
}
