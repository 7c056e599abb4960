/* SPDX-License-Identifier: MIT */
#include "formats/extrap/cubedir.h"

#include <stdlib.h>
#include <string.h>

extern const struct pf_driver pf_cubedir_driver;

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    pf_pointstudy_probe(probe, ".cubex", verdict);
}

/* What aggregates over the points, and scaling.csv, show of a call path's values, a location each. */
static const char reading_of_locations[] = "at each point the mean over all locations, idle ones too, as "
                                           "Extra-P's weak scaling has it; scaling_total.csv has "
                                           "their sum";

/* ---- opening ------------------------------------------------------------------------------------ */

/* The columns of statistics are the common ones, with the scaling before them. */
static void add_scaling(struct pf_cubedir *cubedir)
{
    struct pf_table *statistics = &cubedir->points.stored.tables.tables[PF_STATISTICS_TABLE];
    cubedir->statistics[0] = (struct pf_column){"scaling", PF_PLAIN, 0};
    memcpy(cubedir->statistics + 1, statistics->columns, statistics->n_columns * sizeof *statistics->columns);
    statistics->columns = cubedir->statistics;
    statistics->n_columns++;
}

static int open_folder(struct pf_profile *profile, struct pf_error *error)
{
    static const struct pf_experiment_ops ops = {
        .values = &pf_stored_rows, .statistics = &pf_cubedir_statistics, .cells = &pf_stored_rows};
    struct pf_cubedir *cubedir = profile->state = calloc(1, sizeof *cubedir);
    if (!cubedir)
        return pf_fail_memory(error);
    cubedir->points.stored.tables.threads = true;
    if (pf_pointstudy_open(profile, ".cubex", "Files", &ops, error))
        return -1;
    add_scaling(cubedir);
    struct pf_cell reading[] = {pf_string("Values"), pf_string(reading_of_locations)};
    return pf_rows_add(profile->info, reading, error);
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* The sides of a metric know each other. Called with the metrics that have been published. */
static void set_sides(const struct pf_cubedir *cubedir, const struct pf_experiment *experiment)
{
    struct pf_metric *metrics = experiment->metric_list;
    size_t n = pf_strings_count(experiment->metrics);
    for (size_t i = 0; i < n; i++) {
        metrics[i].scope = cubedir->inclusive[i] ? "inclusive" : "exclusive";
        metrics[i].description = reading_of_locations;
        size_t length = strlen(metrics[i].name);
        bool twins = i + 1 < n && !cubedir->inclusive[i] && cubedir->inclusive[i + 1] &&
                     !strncmp(metrics[i].name, metrics[i + 1].name, length) &&
                     !strcmp(metrics[i + 1].name + length, " (inc)");
        if (twins) {
            metrics[i].partner = (int)i + 1;
            metrics[i + 1].partner = (int)i;
        }
    }
}

static int read_all(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_cubedir *cubedir = profile->state;
    struct pf_study *study = pf_pointstudy_read(profile, pf_cubedir_read, pass, error);
    if (!study)
        return -1;
    if (pf_cubedir_merge(cubedir, study, pass, error)) {
        pf_study_free(study);
        return -1;
    }
    if (pf_pointstudy_publish(profile, study, error)) {
        if (!cubedir->points.stored.study)
            pf_cubedir_merge_free(cubedir);
        return -1;
    }
    set_sides(cubedir, study->experiment);
    add_scaling(cubedir);
    return 0;
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_cubedir *cubedir = profile->state;
    return stage == PF_PARTITIONED && !cubedir->points.stored.study ? read_all(profile, pass, error) : 0;
}

static void close_folder(struct pf_profile *profile)
{
    struct pf_cubedir *cubedir = profile->state;
    if (!cubedir)
        return;
    pf_cubedir_merge_free(cubedir);
    free(cubedir->inclusive);
    pf_pointstudy_close(profile);
}

const struct pf_driver pf_cubedir_driver = {
    .name = "cube-experiment",
    .title = "Folders of points that hold Cube profiles, as an Extra-P experiment",
    .version = 3,
    .directories = true,
    .beside = "experiment",
    .probe = probe,
    .open = open_folder,
    .load = load,
    .close = close_folder,
};
