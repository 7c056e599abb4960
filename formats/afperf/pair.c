/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/log.h"
#include "formats/afperf/model.h"

/*
 * Stops whose start was not known when they were read: because it comes behind them, or stands in another segment,
 * or several have the same id. They are paired in the order of the file.
 */
struct pairing {
    struct afperf_model *model;
    struct afperf_open *regions, *intervals; /* made when first needed */
    uint32_t *anonymous; /* intervals without id by section, in it by start; made when first needed */
    struct afperf_log_writer log;
};

static int note(struct pairing *pairing, enum afperf_problem problem, const struct afperf_stop *stop,
                struct pf_error *error)
{
    return afperf_note(&pairing->model->notes, problem, stop->offset, stop->line, error);
}

/* Closes a span that has been found. */
static int close_span(struct pairing *pairing, struct afperf_span *span, uint32_t number,
                      const struct afperf_stop *stop, struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    bool negative;
    afperf_close_span(span, stop->time, &negative);
    if (stop->region && number >= stop->starts && span->start == span->stop)
        span->flags |= AFPERF_EARLY_STOP;
    enum afperf_event kind = stop->region ? AFPERF_EVENT_REGION_STOP : AFPERF_EVENT_INTERVAL_STOP;
    if (afperf_log_set(&pairing->log, stop->event, afperf_event(kind, number), error) < 0)
        return -1;
    if (!negative)
        return 0;
    return afperf_note(&model->notes, AFPERF_NEGATIVE_DURATION, afperf_span_offset(span), 0, error);
}

/* Nothing open has the stop's id: has anything? */
static int note_unpaired(struct pairing *pairing, const struct afperf_spans *spans,
                         const struct afperf_stop *stop, uint32_t owner, struct pf_error *error)
{
    uint32_t first, end;
    afperf_spans_group(spans, owner, stop->id.id, &first, &end);
    return note(pairing, first < end ? AFPERF_DUPLICATE_STOP : AFPERF_STOP_WITHOUT_START, stop, error);
}

static int pair_by_id(struct pairing *pairing, struct afperf_spans *spans, struct afperf_open **open,
                      const struct afperf_stop *stop, uint32_t owner, struct pf_error *error)
{
    if (!*open && !(*open = afperf_open_new(spans, error)))
        return -1;
    struct afperf_segment segment =
        afperf_segment(pairing->model, afperf_segment_at(pairing->model, stop->offset));
    uint32_t number = afperf_open_take(*open, owner, stop->id.id, stop->offset, &segment);
    if (number == AFPERF_NONE)
        return note_unpaired(pairing, spans, stop, owner, error);
    return close_span(pairing, afperf_span(spans, number), number, stop, error);
}

/* ---- intervals without id ----------------------------------------------------------------------- */

static int by_section_and_start(const void *left, const void *right, void *arg)
{
    const struct afperf_spans *intervals = arg;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    const struct afperf_span *a = afperf_span(intervals, i), *b = afperf_span(intervals, j);
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int list_anonymous(struct pairing *pairing, struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    struct afperf_spans *intervals = &model->intervals;
    uint32_t n = 0;
    pairing->anonymous = malloc(((size_t)intervals->count + 1) * sizeof *pairing->anonymous);
    if (!pairing->anonymous)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < intervals->count; i++)
        if (afperf_span(intervals, i)->flags & AFPERF_ANONYMOUS)
            pairing->anonymous[n++] = i;
    qsort_r(pairing->anonymous, n, sizeof *pairing->anonymous, by_section_and_start, intervals);
    for (uint32_t i = n; i-- > 0;) {
        struct afperf_section *section =
            &model->sections[afperf_span(intervals, pairing->anonymous[i])->owner];
        section->anonymous = i;
        section->n_anonymous++;
    }
    return 0;
}

/* First in, first out: the earliest start, which must not be later than the stop. */
static int pair_anonymous(struct pairing *pairing, const struct afperf_stop *stop, uint32_t owner,
                          struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    if (!pairing->anonymous && list_anonymous(pairing, error) < 0)
        return -1;
    struct afperf_section *section = &model->sections[owner];
    uint32_t number = section->n_anonymous ? pairing->anonymous[section->anonymous] : AFPERF_NONE;
    struct afperf_span *interval = number == AFPERF_NONE ? NULL : afperf_span(&model->intervals, number);
    if (!interval || interval->start > stop->time)
        return note(pairing, AFPERF_STOP_WITHOUT_START, stop, error);
    section->anonymous++;
    section->n_anonymous--;
    return close_span(pairing, interval, number, stop, error);
}

static int pair_interval(struct pairing *pairing, const struct afperf_stop *stop, struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    const struct afperf_section_ref *section = &model->section_refs[stop->owner];
    if (!section->known)
        return note(pairing, AFPERF_UNRESOLVED_SECTION, stop, error);
    if (!stop->id.given)
        return pair_anonymous(pairing, stop, section->section, error);
    return pair_by_id(pairing, &model->intervals, &pairing->intervals, stop, section->section, error);
}

static int pair(struct pairing *pairing, const struct afperf_stop *stop, struct pf_error *error)
{
    struct afperf_model *model = pairing->model;
    if (!stop->region)
        return pair_interval(pairing, stop, error);
    if (stop->id.given)
        return pair_by_id(pairing, &model->regions, &pairing->regions, stop, 0, error);
    uint32_t run = model->refs[stop->owner].run;
    bool later = run != AFPERF_NONE && model->runs[run].pair_anew;
    return later ? 0 : note(pairing, AFPERF_STOP_WITHOUT_START, stop, error);
}

enum { STOPS_AT_ONCE = 1024 };

static int pair_all(struct pairing *pairing, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_store *stops = pairing->model->stops;
    uint64_t size = pf_store_size(stops);
    struct afperf_stop some[STOPS_AT_ONCE];
    for (uint64_t at = 0; at < size;) {
        size_t n = size - at < sizeof some ? (size_t)(size - at) : sizeof some;
        if (pf_store_read(stops, at, some, n, error) < 0 || pf_pass_step(pass, at, size, error) < 0)
            return -1;
        for (size_t i = 0; i < n / sizeof *some; i++)
            if (pair(pairing, &some[i], error) < 0)
                return -1;
        at += n;
    }
    return afperf_log_flush(&pairing->log, error);
}

int afperf_pair_stops(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    struct pairing pairing = {.model = model};
    int result = afperf_log_writer_init(&pairing.log, model->log, error);
    if (!result)
        result = pair_all(&pairing, pass, error);
    afperf_open_free(pairing.regions);
    afperf_open_free(pairing.intervals);
    free(pairing.anonymous);
    afperf_log_writer_free(&pairing.log);
    return result;
}
