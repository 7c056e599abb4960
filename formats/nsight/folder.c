/* SPDX-License-Identifier: MIT */
#include "formats/nsight/folder.h"

#include <stdlib.h>

extern const struct pf_driver pf_nsight_folder_driver;

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    pf_pointstudy_probe(probe, ".sqlite", verdict);
}

static int open_folder(struct pf_profile *profile, struct pf_error *error)
{
    static const struct pf_experiment_ops ops = {
        .values = &pf_stored_rows, .statistics = &pf_stored_rows, .cells = &pf_stored_rows};
    profile->state = calloc(1, sizeof(struct pf_pointstudy));
    if (!profile->state)
        return pf_fail_memory(error);
    return pf_pointstudy_open(profile, ".sqlite", "Exports", &ops, error);
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_pointstudy *points = profile->state;
    if (stage != PF_PARTITIONED || points->stored.study)
        return 0;
    struct pf_study *study = pf_pointstudy_read(profile, nsight_read_point, pass, error);
    return study ? pf_pointstudy_publish(profile, study, error) : -1;
}

const struct pf_driver pf_nsight_folder_driver = {
    .name = "nsight-experiment",
    .title = "Folders of points that hold Nsight Systems exports, as an Extra-P experiment",
    .version = 1,
    .directories = true,
    .beside = "experiment",
    .probe = probe,
    .open = open_folder,
    .load = load,
    .close = pf_pointstudy_close,
};
