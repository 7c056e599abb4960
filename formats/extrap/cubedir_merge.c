/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/cubedir.h"

/*
 * Extra-P wants a value at each point. A call path that some point does not have is merged into the nearest one above it that
 * has values everywhere, if the metric is exclusive; if it is inclusive, it is dropped, since those above contain it.
 */

enum { RECORDS_A_STEP = 1024 };

/* How many points each series has; records are sorted by series and point. */
static int count_points(const struct pf_study *study, uint32_t *points, struct pf_pass *pass,
                        struct pf_error *error)
{
    const struct pf_measured *measured = study->measured;
    uint64_t size = pf_store_size(measured->store), key = UINT64_MAX;
    struct pf_records records;
    struct pf_record record;
    const double *numbers;
    int got;
    pf_records_open(&records, measured->store, 0, size);
    for (uint64_t i = 0; (got = pf_records_peek(&records, &record, &numbers, error)) > 0; i++) {
        points[record.series] += pf_record_key(&record) != key;
        key = pf_record_key(&record);
        records.at += pf_record_size(&record);
        if (i % RECORDS_A_STEP == 0 && (got = pf_pass_step(pass, records.at, size, error)))
            break;
    }
    pf_records_close(&records);
    return got;
}

/* The series of a metric in a context, or PF_NO_SERIES. */
static uint32_t find_series(const struct pf_experiment *experiment, uint32_t context, uint32_t metric)
{
    uint32_t series = pf_experiment_first_series(experiment, context);
    while (series != PF_NO_SERIES && experiment->series[series].metric != metric)
        series = experiment->series[series].next;
    return series;
}

static uint32_t series_above(const struct pf_experiment *experiment, const uint32_t *points, uint32_t series)
{
    uint32_t metric = experiment->series[series].metric;
    uint32_t context = experiment->contexts->parent[experiment->series[series].context];
    for (; context != PF_NO_CONTEXT; context = experiment->contexts->parent[context]) {
        uint32_t above = find_series(experiment, context, metric);
        if (above != PF_NO_SERIES && points[above] == experiment->n_points)
            return above;
    }
    return PF_NO_SERIES;
}

static void find_targets(struct pf_cubedir *cubedir, const struct pf_experiment *experiment,
                         const uint32_t *points)
{
    for (uint32_t s = 0; s < experiment->n_series; s++)
        cubedir->first[s] = PF_NO_SERIES;
    for (uint32_t s = 0; s < experiment->n_series; s++) {
        bool inclusive = cubedir->inclusive[experiment->series[s].metric];
        cubedir->next[s] = PF_NO_SERIES;
        cubedir->into[s] = s;
        if (points[s] == experiment->n_points)
            continue;
        uint32_t into = inclusive ? PF_NO_SERIES : series_above(experiment, points, s);
        cubedir->into[s] = into;
        if (into == PF_NO_SERIES)
            continue;
        cubedir->next[s] = cubedir->first[into];
        cubedir->first[into] = s;
    }
}

void pf_cubedir_merge_free(struct pf_cubedir *cubedir)
{
    free(cubedir->into);
    free(cubedir->first);
    free(cubedir->next);
    cubedir->into = cubedir->first = cubedir->next = NULL;
}

static int make_lists(struct pf_cubedir *cubedir, size_t n, struct pf_error *error)
{
    cubedir->into = calloc(n + 1, sizeof *cubedir->into);
    cubedir->first = calloc(n + 1, sizeof *cubedir->first);
    cubedir->next = calloc(n + 1, sizeof *cubedir->next);
    return cubedir->into && cubedir->first && cubedir->next ? 0 : pf_fail_memory(error);
}

int pf_cubedir_merge(struct pf_cubedir *cubedir, const struct pf_study *study, struct pf_pass *pass,
                     struct pf_error *error)
{
    const struct pf_experiment *experiment = study->experiment;
    uint32_t *points = calloc(experiment->n_series + 1, sizeof *points);
    if (!points)
        return pf_fail_memory(error);
    int result = make_lists(cubedir, experiment->n_series, error);
    if (!result)
        result = count_points(study, points, pass, error);
    if (result)
        pf_cubedir_merge_free(cubedir);
    else
        find_targets(cubedir, experiment, points);
    free(points);
    return result;
}
