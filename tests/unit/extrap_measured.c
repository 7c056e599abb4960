/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/extrap/study.h"
#include "tests/unit/tap.h"

/* Makes a study of one metric and one parameter with these numbers of series and points. */
static struct pf_study *make_study(struct pf_run *run, unsigned series, unsigned points)
{
    struct pf_study *study = pf_study_new(run, NULL, 0);
    pf_study_parameter(study, "x", 1, 0, -1);
    uint32_t metric = pf_study_metric(study, "time", 4);
    for (unsigned i = 0; i < series; i++) {
        char name[16];
        int size = snprintf(name, sizeof name, "f%u", i);
        uint32_t context = pf_study_callpath(study, PF_NO_CONTEXT, name, (size_t)size);
        pf_study_series(study, context, metric, false, 0, -1);
    }
    for (unsigned i = 0; i < points; i++)
        pf_study_point(study, &(struct pf_point){.coordinates = {i}, .count = 1});
    return study;
}

static void add(struct pf_study *study, uint32_t series, uint32_t point, double value)
{
    pf_study_begin(study, series, point, false);
    pf_study_add(study, value);
}

/* True if the records are complete and sorted by series, then point, then repetition. */
static bool is_sorted(const struct pf_study *study, unsigned series, unsigned points, unsigned repetitions)
{
    const struct pf_list *list = &study->values;
    struct pf_store_window window = {.store = list->store};
    struct pf_value item;
    struct pf_error error;
    bool sorted = list->count == (uint64_t)series * points * repetitions;
    for (uint64_t i = 0; i < list->count && sorted; i++)
        sorted = !pf_list_read(list, &window, i, &item, &error) &&
                 item.at.series == i / repetitions / points && item.at.point == i / repetitions % points &&
                 item.at.repetition == i % repetitions && item.value == (double)item.at.repetition;
    pf_store_window_free(&window);
    return sorted;
}

struct size {
    unsigned series, points, repetitions;
};

/* Adds measurements run by run, as programs write them, so that the records of a series are scattered. */
static void any_order(struct pf_run *run, void *arg)
{
    struct size size = *(struct size *)arg;
    struct pf_study *study = make_study(run, size.series, size.points);
    for (unsigned r = 0; r < size.repetitions; r++)
        for (unsigned p = size.points; p-- > 0;)
            for (unsigned s = 0; s < size.series; s++)
                add(study, s, p, r);
    pf_study_finish(study);
    ok(is_sorted(study, size.series, size.points, size.repetitions),
       "%u records are sorted by series, point and repetition", size.series * size.points * size.repetitions);
    ok(pf_series_run_of(&study->values, size.series - 1).end == study->values.count,
       "the records of the last series are found");
}

static void replaced(struct pf_run *run, void *arg)
{
    (void)arg;
    struct pf_study *study = make_study(run, 2, 1);
    add(study, 0, 0, 7);
    add(study, 1, 0, 0);
    uint32_t second = pf_study_series(study, study->series[0].context, 0, true, 0, -1);
    add(study, second, 0, 8);
    pf_study_finish(study);
    ok(!pf_series_run_of(&study->values, 0).points && pf_series_run_of(&study->values, second).end == 2 &&
           pf_series_run_of(&study->values, 1).end == 1,
       "a series that is defined again replaces the earlier one");
}

int main(void)
{
    struct pf_model model = {.warnings = pf_rows_new(5)};
    struct pf_error error;
    ok(!pf_run(&model, any_order, &(struct size){3, 4, 5}, &error),
       "the run over a few records in memory succeeds");
    ok(!pf_run(&model, any_order, &(struct size){50, 100, 400}, &error),
       "the run over many records in a file succeeds");
    ok(!pf_run(&model, replaced, NULL, &error), "the run that replaces a series succeeds");
    pf_rows_free(model.warnings);
    return done();
}
