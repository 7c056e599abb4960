/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"

/* ---- intervals ---------------------------------------------------------------------------------- */

/* A record of the sorter model->covers, which sorts intervals by section and start. */
struct cover {
    uint64_t section, start, stop;
};

void afperf_begin_intervals(struct afperf_model *model)
{
    model->intervals = afperf_new_sorter(model, sizeof(struct afperf_interval), 1);
    model->covers = afperf_new_sorter(model, sizeof(struct cover), 2);
}

void afperf_sort_interval(struct afperf_model *model, const struct afperf_walk *walk)
{
    const struct afperf_event *event = &walk->event;
    uint32_t section = model->names[AFPERF_SECTIONS].refs[event->owner].object;
    bool closed = walk->link.found == AFPERF_FOUND;
    uint64_t stop = closed ? walk->link.time : model->runs[afperf_run_of_section(model, section)].end;
    if (stop < event->time)
        stop = event->time;
    if (!closed)
        afperf_note(model, AFPERF_UNCLOSED_INTERVAL, event->offset, event->line);
    afperf_sort(model, model->intervals,
                &(struct afperf_interval){.row = walk->link.number,
                                          .start = event->time,
                                          .stop = stop,
                                          .id = event->id,
                                          .line = event->line,
                                          .section = section,
                                          .closed = closed,
                                          .id_given = event->id_given});
    afperf_sort(model, model->covers, &(struct cover){section, event->time, stop});
}

/*
 * Adds an interval to the sums of its section. *to is the latest stop of the section's intervals added so far, and is
 * updated.
 */
static void add_interval(struct afperf_model *model, const struct cover *interval, uint64_t *to)
{
    struct afperf_section *section = &model->sections[interval->section];
    uint32_t run = afperf_run_of(model, section->ref);
    uint64_t start = interval->start, stop = interval->stop, from = start > *to ? start : *to;
    section->total += stop - start;
    section->total_net += stop - start - afperf_paused(model, run, start, stop);
    if (stop <= from)
        return;
    section->covered += stop - from;
    section->covered_net += stop - from - afperf_paused(model, run, from, stop);
    *to = stop;
}

void afperf_time_intervals(struct afperf_model *model)
{
    uint64_t section = UINT64_MAX, to = 0;
    pf_run_check(model->run, pf_sorter_finish(model->intervals, model->run->error));
    pf_run_check(model->run, pf_sorter_finish(model->covers, model->run->error));
    for (const struct cover *interval; (interval = afperf_sorted(model, model->covers));) {
        if (interval->section != section)
            to = 0;
        section = interval->section;
        add_interval(model, interval, &to);
    }
}

/* ---- sections ----------------------------------------------------------------------------------- */

/*
 * Returns the context of a section. Sections with equal labels share a context. The context's key in the tree starts with a NUL, which
 * no region's name contains. A region with the same label therefore has another context.
 */
static uint32_t context_of_section(struct afperf_model *model, const struct afperf_section *section)
{
    struct pf_cell label = pf_interned(model->strings, section->label);
    char id[AFPERF_HEX];
    if (!label.size && section->is.id.given)
        label = pf_text(id, afperf_hex(section->is.id.id, id));
    else if (!label.size)
        label = pf_string("(blank)");
    char *key = PF_OWN(model->run, malloc((size_t)label.size + 1), free);
    key[0] = '\0'; /* the reader replaces NULs in the file's text */
    memcpy(key + 1, label.text, label.size);
    uint32_t name = afperf_name(model, label.text, label.size);
    uint32_t number = afperf_name(model, key, (size_t)label.size + 1);
    return afperf_context(model, PF_NO_CONTEXT, number, name, AFPERF_KIND_SECTION, 0);
}

void afperf_time_sections(struct afperf_model *model, uint32_t run)
{
    for (uint32_t i = model->runs[run].first_section; i != AFPERF_NONE; i = model->sections[i].next) {
        struct afperf_section *section = &model->sections[i];
        section->context = context_of_section(model, section);
        const pf_int128 values[AFPERF_METRICS] = {[AFPERF_CALLS] = section->count,
                                                  [AFPERF_TIME_INC] = section->total,
                                                  [AFPERF_TIME_NET_INC] = section->total_net};
        afperf_add(model, section->context, values);
    }
}
