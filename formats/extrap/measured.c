/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/study.h"
#include "formats/kit/sorter.h"

/* Maximum bytes that the sorter of a list holds in memory. The rest is spilled. */
#define SORTED_HELD ((uint64_t)32 << 20)

/* ---- collecting --------------------------------------------------------------------------------- */

uint32_t pf_study_series(struct pf_study *study, uint32_t context, uint32_t metric, bool replaces,
                         uint64_t line, int64_t offset)
{
    struct pf_run *run = study->run;
    uint64_t key = (uint64_t)context << 32 | metric;
    uint32_t known = pf_ids_find(&study->series_of, key), number = (uint32_t)study->n_series;
    if (known != PF_NO_ID && !replaces)
        return known;
    pf_run_check(run, pf_array_room(&study->series, &study->room_series, study->n_series,
                                    sizeof *study->series, run->error));
    pf_run_check(run, pf_ids_set(&study->series_of, key, number, run->error));
    if (known != PF_NO_ID) {
        study->series[known].dropped = true;
        pf_study_note(study, PF_REPEATED_NAME, line, offset,
                      "a repeated call path and metric: the last one is kept");
    }
    study->series[study->n_series++] =
        (struct pf_series){.context = context, .metric = metric, .line = line, .offset = offset};
    return number;
}

static uint64_t measured_key_of(const struct pf_place *place)
{
    return (uint64_t)place->series << 32 | place->point;
}

/* Appends an item, whose first member is *item. The ranges list->runs are valid only while the items are added in sorted order. */
static void append_item(struct pf_run *run, struct pf_list *list, struct pf_place *item)
{
    uint64_t key = measured_key_of(item), last = list->count ? measured_key_of(&list->last) : 0;
    bool same = list->count && key == last;
    pf_run_check(run,
                 pf_array_reach(&list->runs, &list->n_runs, item->series, sizeof *list->runs, run->error));
    struct pf_series_run *range = &list->runs[item->series];
    item->repetition = same ? list->last.repetition + 1 : 0;
    list->unsorted |= key < last;
    list->last = *item;
    if (!range->points)
        range->start = list->count;
    range->end = ++list->count;
    range->points += !same;
    range->doubled += same && item->flags & PF_STARTS;
    pf_run_check(run, pf_store_append(list->store, item, list->item, run->error));
}

void pf_study_begin(struct pf_study *study, uint32_t series, uint32_t point, bool starts)
{
    study->next = (struct pf_place){.series = series, .point = point, .flags = starts ? PF_STARTS : 0};
}

void pf_study_add(struct pf_study *study, double value)
{
    struct pf_value item = {study->next, value};
    append_item(study->run, &study->values, &item.at);
    study->next.flags = (item.at.flags & ~(uint32_t)PF_STARTS) + PF_FLAGS_ABOVE;
}

void pf_study_figures(struct pf_study *study, struct pf_figures figures)
{
    append_item(study->run, &study->figures, &figures.at);
}

void pf_study_model(struct pf_study *study, uint32_t at, const struct pf_fit_function *model,
                    const char *function, size_t size)
{
    struct pf_run *run = study->run;
    struct pf_fit_function copy = *model;
    copy.function = pf_run_intern(run, study->functions, size ? function : "", size);
    if (at == PF_NO_MODEL && study->n_models == PF_NO_MODEL)
        pf_run_check(run, pf_fail_memory(run->error));
    pf_run_check(run, pf_array_room(&study->models, &study->room_models, study->n_models,
                                    sizeof *study->models, run->error));
    study->models[at == PF_NO_MODEL ? study->n_models++ : at] = copy;
}

/* ---- sorting ------------------------------------------------------------------------------------ */

/* Words of a sort record: the key, and the number of the item, which makes the sort stable. */
enum { KEY, NUMBER, WORDS };

/* State while a list is sorted. */
struct sorting {
    struct pf_list sorted;
    struct pf_store_window window; /* on the unsorted list */
    struct pf_sorter *sorter;
};

/* An item of study->values or of study->figures. */
union any_item {
    struct pf_place at;
    struct pf_value value;
    struct pf_figures figures;
};

static void free_sorting(void *thing)
{
    struct sorting *sorting = thing;
    pf_list_free(&sorting->sorted);
    pf_store_window_free(&sorting->window);
    pf_sorter_free(sorting->sorter);
    free(sorting);
}

static void sort_keys(struct pf_study *study, const struct pf_list *list, struct sorting *sorting)
{
    struct pf_run *run = study->run;
    union any_item item;
    for (uint64_t i = 0; i < list->count; i++) {
        pf_study_step(study, i);
        pf_run_check(run, pf_list_read(list, &sorting->window, i, &item, run->error));
        if (!study->series[item.at.series].dropped)
            pf_run_check(
                run, pf_sorter_add(sorting->sorter, (uint64_t[]){measured_key_of(&item.at), i}, run->error));
    }
    pf_run_check(run, pf_sorter_finish(sorting->sorter, run->error));
}

static void copy_sorted(struct pf_study *study, const struct pf_list *list, struct sorting *sorting)
{
    struct pf_run *run = study->run;
    union any_item item;
    const uint64_t *words;
    while (pf_run_check(run, pf_sorter_next(sorting->sorter, &words, run->error))) {
        pf_study_step(study, sorting->sorted.count);
        pf_run_check(run,
                     pf_store_read(list->store, words[NUMBER] * list->item, &item, list->item, run->error));
        append_item(run, &sorting->sorted, &item.at);
    }
}

/* Sorts a list by series and point, unless it is already sorted. Removes the items of dropped series. */
static void sort_list(struct pf_study *study, struct pf_list *list)
{
    bool needed = list->unsorted;
    for (size_t i = 0; i < study->n_series; i++)
        needed |= study->series[i].dropped;
    if (!needed)
        return;
    struct sorting *sorting = PF_OWN(study->run, calloc(1, sizeof *sorting), free_sorting);
    sorting->sorter = pf_run_memory(study->run, pf_sorter_new(WORDS, WORDS, SORTED_HELD));
    sorting->sorted = pf_list_new(study->run, list->item);
    sorting->window.store = list->store;
    study->steps = list->count;
    study->next_step = 0;
    sort_keys(study, list, sorting);
    study->next_step = 0;
    copy_sorted(study, list, sorting);
    struct pf_list unsorted = *list;
    *list = sorting->sorted;
    sorting->sorted = unsorted;
    free_sorting(pf_disown(study->run, sorting));
}

/* ---- finishing ---------------------------------------------------------------------------------- */

static void note_series(struct pf_study *study, struct pf_note_kind problem, uint32_t number,
                        const char *what)
{
    const struct pf_series *series = &study->series[number];
    const struct pf_tree *tree = study->contexts;
    struct pf_cell context = pf_interned(tree->strings, tree->name[series->context]);
    const char *metric = pf_study_metric_name(study, series->metric);
    pf_study_note(study, problem, series->line, series->offset,
                  "call path ending in '%.*s', metric '%.*s': %s", pf_study_clip(context.text, context.size),
                  context.text, pf_study_clip(metric, strlen(metric)), metric, what);
}

static void check_series(struct pf_study *study, uint32_t series)
{
    struct pf_series_run run =
        pf_series_run_of(study->figures.count ? &study->figures : &study->values, series);
    char what[128];
    if (run.doubled) {
        snprintf(what, sizeof what,
                 "%ju further measurements of points that have one, served as further repetitions",
                 (uintmax_t)run.doubled);
        note_series(study, PF_REPEATED_SERIES, series, what);
    }
    if (!run.points || run.points == pf_study_points(study))
        return;
    snprintf(what, sizeof what, "data for %ju of %ju points", (uintmax_t)run.points,
             (uintmax_t)pf_study_points(study));
    note_series(study, PF_INCOMPLETE_SERIES, series, what);
}

/*
 * Links the series of each context into one list, and its fitted models into another. The loops run backwards, so that
 * the lists are in file order.
 */
static void list_by_context(struct pf_study *study)
{
    for (size_t i = 0; i < study->contexts->count; i++)
        study->firsts[i] = (struct pf_firsts){PF_NO_SERIES, PF_NO_MODEL};
    for (size_t i = study->n_series; i-- > 0;) {
        uint32_t *first = &study->firsts[study->series[i].context].series;
        study->series[i].next = *first;
        *first = (uint32_t)i;
    }
    for (size_t i = study->n_models; i-- > 0;) {
        uint32_t *first = &study->firsts[study->models[i].context].model;
        study->models[i].next = *first;
        *first = (uint32_t)i;
    }
}

void pf_study_finish(struct pf_study *study)
{
    sort_list(study, &study->values);
    sort_list(study, &study->figures);
    study->firsts =
        pf_run_memory(study->run, calloc(study->contexts->count + (size_t)1, sizeof *study->firsts));
    list_by_context(study);
    for (uint32_t i = 0; i < study->n_series; i++)
        check_series(study, i);
    study->statistics_only = study->figures.count && !study->values.count;
}
