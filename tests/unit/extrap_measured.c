/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/extrap/measured.h"
#include "tests/unit/tap.h"

/* An experiment with series of one metric and points of one parameter. */
static struct pf_experiment *make_experiment(unsigned series, unsigned points)
{
    struct pf_error error;
    struct pf_experiment *experiment = pf_experiment_new();
    pf_experiment_add_parameter(experiment, "x", 1, &error);
    uint32_t metric = pf_experiment_metric(experiment, "time", 4, &error);
    for (unsigned i = 0; i < series; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "f%u", i);
        uint32_t context = pf_experiment_callpath(experiment, PF_NO_CONTEXT, name, (size_t)size, &error);
        pf_experiment_series(experiment, context, metric, false, &error);
    }
    for (unsigned i = 0; i < points; i++)
        pf_experiment_point(experiment, &(double){i}, 1, false, &error);
    return experiment;
}

static bool add(struct pf_measured *measured, uint32_t series, uint32_t point, double value)
{
    struct pf_error error;
    return !pf_measured_begin(measured, series, point, false, &error) &&
           !pf_measured_add(measured, value, &error);
}

/* Series, points and repetitions from the outermost loop to the innermost are 0 to n of each, in this order. */
static bool is_sorted(const struct pf_measured *measured, unsigned series, unsigned points,
                      unsigned repetitions)
{
    struct pf_records records;
    struct pf_record record;
    const double *numbers;
    struct pf_error error;
    uint64_t seen = 0;
    bool sorted = true;
    records = pf_records_of(measured->store, 0, pf_store_size(measured->store));
    while (sorted && pf_records_peek(&records, &record, &numbers, &error) > 0) {
        for (uint32_t i = 0; i < record.values; i++, seen++)
            sorted &= record.series == seen / repetitions / points &&
                      record.point == seen / repetitions % points &&
                      numbers[i] == (double)(seen % repetitions);
        records.at += pf_record_size(&record);
    }
    pf_store_window_free(&records.window);
    return sorted && seen == (uint64_t)series * points * repetitions;
}

/* Measurements as programs make them: run by run, so that each series is everywhere. */
static void any_order(unsigned series, unsigned points, unsigned repetitions, const char *name)
{
    struct pf_error error;
    struct pf_experiment *experiment = make_experiment(series, points);
    struct pf_measured *measured = pf_measured_new();
    bool added = true;
    for (unsigned r = 0; r < repetitions; r++)
        for (unsigned p = points; p-- > 0;)
            for (unsigned s = 0; s < series; s++)
                added &= add(measured, s, p, r);
    ok(added && !pf_measured_finish(measured, experiment, NULL, &error) &&
           is_sorted(measured, series, points, repetitions),
       "%s", name);
    ok(measured->runs[series - 1].end == pf_store_size(measured->store), "and each series is found");
    pf_measured_free(measured);
    pf_experiment_free(experiment);
}

static void dropped(void)
{
    struct pf_error error;
    struct pf_experiment *experiment = make_experiment(2, 1);
    struct pf_measured *measured = pf_measured_new();
    add(measured, 0, 0, 7);
    add(measured, 1, 0, 0);
    uint32_t anew = pf_experiment_series(experiment, experiment->series[0].context, 0, true, &error);
    add(measured, anew, 0, 8);
    pf_measured_finish(measured, experiment, NULL, &error);
    ok(measured->runs[0].end == 0 && measured->runs[anew].end == pf_store_size(measured->store) &&
           measured->runs[1].start == 0,
       "what is told anew takes the place of what was there");
    pf_measured_free(measured);
    pf_experiment_free(experiment);
}

int main(void)
{
    any_order(3, 4, 5, "records are sorted by series and point, repetitions stay in order");
    any_order(50, 100, 400, "also if they do not fit into memory at once");
    dropped();
    return done();
}
