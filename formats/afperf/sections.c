/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"

int afperf_number_intervals(struct afperf_model *model, struct pf_error *error)
{
    uint32_t n = model->intervals.count, first = 0;
    model->interval_order = malloc(((size_t)n + 1) * sizeof *model->interval_order);
    if (!model->interval_order)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < n; i++)
        model->sections[model->intervals.items[i].owner].count++;
    for (size_t i = 0; i < model->n_sections; i++) {
        struct afperf_section *section = &model->sections[i];
        section->first = first;
        first += section->count;
        section->count = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct afperf_span *interval = &model->intervals.items[i];
        struct afperf_section *section = &model->sections[interval->owner];
        interval->number = section->first + section->count++;
        model->interval_order[interval->number] = i;
    }
    return 0;
}

/* Start and stop of an interval. */
struct extent {
    uint64_t start, stop;
};

static int by_start(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Sets the ticks covered by the union of the section's intervals. */
static void cover(const struct afperf_model *model, struct afperf_section *section, struct extent *extents)
{
    uint32_t run = afperf_run_of(model, section->ref);
    uint64_t to = 0;
    if (section->count)
        qsort(extents, section->count, sizeof *extents, by_start);
    for (uint32_t i = 0; i < section->count; i++) {
        uint64_t from = extents[i].start > to ? extents[i].start : to;
        if (extents[i].stop <= from)
            continue;
        to = extents[i].stop;
        section->covered += to - from;
        section->covered_net += to - from - afperf_paused(model, run, from, to);
    }
}

/* Closes open intervals at the end of the run, and sums up the durations. */
static void add_intervals(struct afperf_model *model, struct afperf_section *section, struct extent *extents)
{
    uint32_t run = afperf_run_of(model, section->ref);
    for (uint32_t i = 0; i < section->count; i++) {
        struct afperf_span *interval = &model->intervals.items[model->interval_order[section->first + i]];
        if (!(interval->flags & AFPERF_CLOSED)) {
            interval->stop = model->runs[run].end;
            afperf_note(model, AFPERF_UNCLOSED_INTERVAL, interval->offset, interval->line);
        }
        uint64_t duration = interval->stop - interval->start;
        section->total += duration;
        section->total_net += duration - afperf_paused(model, run, interval->start, interval->stop);
        extents[i] = (struct extent){interval->start, interval->stop};
    }
}

/*
 * Returns the context of a section; sections of one label share one. Its key starts with a NUL, which no region's name
 * contains, so that a region with the same label has another context.
 */
static uint32_t context_of(struct afperf_model *model, const struct afperf_section *section,
                           struct pf_error *error)
{
    struct pf_strings *strings = model->tree->strings;
    struct pf_cell label = pf_interned(model->strings, section->label);
    char id[AFPERF_HEX];
    if (!label.size && section->is.id.given)
        label = pf_text(id, afperf_hex(section->is.id.id, id));
    else if (!label.size)
        label = pf_string("(blank)");
    char *key = malloc((size_t)label.size + 1);
    if (!key) {
        pf_fail_memory(error);
        return PF_NO_CONTEXT;
    }
    key[0] = '\0'; /* the reader replaces NULs in the file's text */
    memcpy(key + 1, label.text, label.size);
    uint32_t name = pf_intern(strings, label.text, label.size, error);
    uint32_t number = name == PF_NO_STRING ? name : pf_intern(strings, key, (size_t)label.size + 1, error);
    free(key);
    if (number == PF_NO_STRING)
        return PF_NO_CONTEXT;
    return pf_tree_child(model->tree, PF_NO_CONTEXT, number, name, AFPERF_KIND_SECTION, 0, error);
}

static int time_section(struct afperf_model *model, struct afperf_section *section, uint32_t run,
                        struct pf_error *error)
{
    struct extent *extents = malloc(((size_t)section->count + 1) * sizeof *extents);
    if (!extents)
        return pf_fail_memory(error);
    add_intervals(model, section, extents);
    cover(model, section, extents);
    free(extents);
    uint32_t context = context_of(model, section, error);
    section->context = context;
    const pf_int128 values[AFPERF_METRICS] = {[AFPERF_CALLS] = section->count,
                                              [AFPERF_TIME_INC] = section->total,
                                              [AFPERF_TIME_NET_INC] = section->total_net};
    return context == PF_NO_CONTEXT ? -1 : afperf_add_values(model, run, context, values, error);
}

int afperf_time_sections(struct afperf_model *model, uint32_t run, struct pf_error *error)
{
    for (uint32_t i = model->runs[run].first_section; i != AFPERF_NONE; i = model->sections[i].next)
        if (time_section(model, &model->sections[i], run, error))
            return -1;
    return 0;
}
