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
    statistics->ops = &pf_cubedir_statistics.ops;
}

static int open_folder(struct pf_profile *profile, struct pf_error *error)
{
    struct pf_cubedir *cubedir = profile->state = calloc(1, sizeof *cubedir);
    if (!cubedir)
        return pf_fail_memory(error);
    cubedir->points.stored.tables.threads = true;
    if (pf_pointstudy_open(profile, ".cubex", "Files", error))
        return -1;
    add_scaling(cubedir);
    struct pf_cell reading[] = {pf_string("Values"), pf_string(reading_of_locations)};
    return pf_rows_add(profile->info, reading, error);
}

/* ---- merging ------------------------------------------------------------------------------------ */

/*
 * Extra-P wants a value at each point. A call path that some point does not have is merged into the nearest one above it that
 * has values everywhere, if the metric is exclusive; if it is inclusive, it is dropped, since those above contain it.
 */

static bool is_complete(const struct pf_study *study, uint32_t series)
{
    return study->measured->runs[series].points == study->experiment->n_points;
}

/* The series that this one is merged into, or PF_NO_SERIES. */
static uint32_t target_of(const struct pf_cubedir *cubedir, const struct pf_study *study, uint32_t number)
{
    const struct pf_experiment *experiment = study->experiment;
    const struct pf_series *series = experiment->series;
    const uint32_t *parent = experiment->contexts->parent;
    uint32_t metric = series[number].metric;
    if (is_complete(study, number))
        return number;
    if (cubedir->inclusive[metric])
        return PF_NO_SERIES;
    for (uint32_t c = parent[series[number].context]; c != PF_NO_CONTEXT; c = parent[c]) {
        uint32_t above = pf_experiment_first_series(experiment, c);
        while (above != PF_NO_SERIES && series[above].metric != metric)
            above = series[above].next;
        if (above != PF_NO_SERIES && is_complete(study, above))
            return above;
    }
    return PF_NO_SERIES;
}

static int merge(struct pf_cubedir *cubedir, const struct pf_study *study, struct pf_error *error)
{
    size_t n = study->experiment->n_series;
    cubedir->merged = calloc(n + 1, sizeof *cubedir->merged);
    if (!cubedir->merged)
        return pf_fail_memory(error);
    for (uint32_t s = 0; s < n; s++)
        cubedir->merged[s] = (struct pf_merge){target_of(cubedir, study, s), PF_NO_SERIES, PF_NO_SERIES};
    for (uint32_t s = 0; s < n; s++) {
        uint32_t into = cubedir->merged[s].into;
        if (into == s || into == PF_NO_SERIES)
            continue;
        cubedir->merged[s].next = cubedir->merged[into].first;
        cubedir->merged[into].first = s;
    }
    return 0;
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
    if (merge(cubedir, study, error)) {
        pf_study_free(study);
        return -1;
    }
    if (pf_pointstudy_publish(profile, study, error)) {
        if (!cubedir->points.stored.study) {
            free(cubedir->merged);
            cubedir->merged = NULL;
        }
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
    free(cubedir->merged);
    free(cubedir->inclusive);
    pf_pointstudy_close(profile);
}

const struct pf_driver pf_cubedir_driver = {
    .name = "cube-experiment",
    .title = "Folders of points that hold Cube profiles, as an Extra-P experiment",
    .version = 5,
    .directories = true,
    .beside = "experiment",
    .probe = probe,
    .open = open_folder,
    .load = load,
    .close = close_folder,
};
