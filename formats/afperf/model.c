/* SPDX-License-Identifier: MIT */
#include "formats/afperf/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

const struct pf_note_kind afperf_note_kinds[AFPERF_PROBLEMS] = {
#define X(name, severity, code, text) [AFPERF_##name] = {severity, code, text},
    AFPERF_PROBLEM_LIST(X)
#undef X
};

static const char *const kinds[] = {[AFPERF_KIND_REGION] = "region", [AFPERF_KIND_SECTION] = "section"};

int afperf_grow(void *items, size_t count, size_t *room, size_t size, struct pf_error *error)
{
    if (count >= AFPERF_NO_NUMBER)
        return pf_fail(error, EFBIG, "too many records of a kind");
    return pf_array_room(items, room, count, size, error);
}

uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text, struct pf_error *error)
{
    return pf_intern(model->strings, text.size ? text.text : "", text.size, error);
}

void afperf_note(struct afperf_model *model, enum afperf_problem problem, uint64_t offset, uint64_t line)
{
    pf_note(&model->notes, &afperf_note_kinds[problem], (int64_t)line, (int64_t)offset, NULL);
}

/* ---- times -------------------------------------------------------------------------------------- */

const struct afperf_span *afperf_event_span(const struct afperf_model *model, struct afperf_event event,
                                            uint32_t *run, uint64_t *time)
{
    bool region = afperf_event_is_region(event);
    if ((!region && !afperf_event_is_interval(event)) || event.number == AFPERF_NO_NUMBER)
        return NULL;
    const struct afperf_span *span = &(region ? &model->regions : &model->intervals)->items[event.number];
    bool start = event.kind == AFPERF_EVENT_REGION_START || event.kind == AFPERF_EVENT_INTERVAL_START;
    *run = afperf_run_of(model, region ? span->owner : model->sections[span->owner].ref);
    *time = start ? span->start : span->stop;
    return span;
}

/* Ticks that the run is paused before this time. */
static uint64_t paused_before(const struct afperf_pause *pauses, size_t n, uint64_t time)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (pauses[middle].start < time)
            low = middle + 1;
        else
            n = middle;
    }
    if (!low)
        return 0;
    const struct afperf_pause *last = &pauses[low - 1];
    return last->before + (time < last->stop ? time : last->stop) - last->start;
}

uint64_t afperf_paused(const struct afperf_model *model, uint32_t run, uint64_t start, uint64_t stop)
{
    size_t n = model->runs[run].n_pauses;
    if (!n)
        return 0;
    const struct afperf_pause *pauses = model->pauses + model->runs[run].pauses;
    return paused_before(pauses, n, stop) - paused_before(pauses, n, start);
}

size_t afperf_hex(uint64_t id, char *text)
{
    return (size_t)snprintf(text, AFPERF_HEX, "0x%" PRIx64, id);
}

/* ---- the model ---------------------------------------------------------------------------------- */

void afperf_model_free(struct afperf_model *model)
{
    if (!model)
        return;
    if (!model->published)
        pf_tree_free(model->tree);
    pf_strings_free(model->strings);
    void *const arrays[] = {
        model->runs,
        model->names[AFPERF_RUNS].refs,
        model->names[AFPERF_RUNS].index.keys,
        model->names[AFPERF_SECTIONS].refs,
        model->names[AFPERF_SECTIONS].index.keys,
        model->measures,
        model->sections,
        model->segments,
        model->pauses,
        model->nodes,
        model->first_node,
        model->last_node,
        model->log,
        model->stops,
        model->timeline,
        model->regions.items,
        model->regions.index.keys,
        model->intervals.items,
        model->intervals.index.keys,
        model->interval_order,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    pf_store_free(model->data);
    pf_store_free(model->targets);
    pf_notes_free(&model->notes);
    free(model);
}

static int make(struct afperf_model *model, struct pf_error *error)
{
    if (!model->strings || !model->tree || !model->data || !model->targets)
        return pf_fail_memory(error);
    if (afperf_read(model, error) || afperf_resolve_names(model, error) || afperf_pair_stops(model, error) ||
        afperf_number_intervals(model, error) || afperf_find_targets(model, error) ||
        afperf_number_runs(model, error) || afperf_check_data(model, error) || afperf_nest(model, error))
        return -1;
    pf_notes_sort(&model->notes);
    return pf_tree_finish(model->tree, error);
}

/* Bytes of what grows with the data that are held in memory before they spill. */
#define HELD ((uint64_t)4 << 20)

struct afperf_model *afperf_model_new(struct pf_input *input, struct pf_error *error)
{
    struct afperf_model *model = calloc(1, sizeof *model);
    if (!model) {
        pf_fail_memory(error);
        return NULL;
    }
    model->input = input;
    model->intervals.scoped = true;
    model->strings = pf_strings_new();
    model->tree = pf_tree_new(kinds);
    model->data = pf_store_new(HELD);
    model->targets = pf_store_new(HELD);
    if (make(model, error)) {
        afperf_model_free(model);
        return NULL;
    }
    pf_store_free(model->data);
    free(model->log);
    free(model->stops);
    model->data = NULL;
    model->log = NULL;
    model->stops = NULL;
    return model;
}
