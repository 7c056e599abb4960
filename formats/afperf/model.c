/* SPDX-License-Identifier: MIT */
#include "formats/afperf/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

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

/* ---- places in the file ------------------------------------------------------------------------- */

struct afperf_segment afperf_segment(const struct afperf_model *model, uint32_t number)
{
    bool last = (size_t)number + 1 >= model->n_segments;
    return (struct afperf_segment){model->segments[number], last ? UINT64_MAX : model->segments[number + 1]};
}

uint32_t afperf_segment_at(const struct afperf_model *model, uint64_t offset)
{
    size_t low = 0, high = model->n_segments;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (model->segments[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* The last mark that is not behind the offset. The file's start is one. */
static const struct afperf_place *mark_before(const struct afperf_model *model, uint64_t offset)
{
    size_t low = 0, high = model->n_marks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (model->marks[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return &model->marks[low];
}

struct afperf_place afperf_place_before(const struct afperf_model *model, uint64_t offset)
{
    struct afperf_place place = *mark_before(model, offset);
    place.run = place.run ? model->refs[place.run].run : AFPERF_NONE;
    return place;
}

int afperf_go_to_line(const struct afperf_model *model, struct afperf_reader *reader, uint64_t offset,
                      struct pf_error *error)
{
    uint64_t line, here = afperf_reader_tell(reader, &line);
    if (here > offset || offset - here > AFPERF_BLOCK) {
        const struct afperf_place *mark = mark_before(model, offset);
        if (here > offset || mark->offset > here)
            afperf_reader_seek(reader, mark->offset, mark->line);
    }
    return afperf_reader_skip(reader, offset, error);
}

/* ---- what an id means --------------------------------------------------------------------------- */

bool afperf_means_before(uint64_t before, uint64_t behind, const struct afperf_segment *segment)
{
    if (before == UINT64_MAX || behind == UINT64_MAX)
        return behind == UINT64_MAX;
    return before >= segment->start || behind >= segment->end;
}

uint32_t afperf_find_named(const struct afperf_named *all, size_t n, uint64_t id, uint64_t offset,
                           const struct afperf_segment *segment)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].id < id || (all[middle].id == id && all[middle].offset < offset))
            low = middle + 1;
        else
            high = middle;
    }
    const struct afperf_named *before = low && all[low - 1].id == id ? &all[low - 1] : NULL;
    const struct afperf_named *behind = low < n && all[low].id == id ? &all[low] : NULL;
    const struct afperf_named *meant = before ? before : behind;
    if (before && behind && !afperf_means_before(before->offset, behind->offset, segment))
        meant = behind;
    return meant ? meant->number : AFPERF_NONE;
}

/* ---- spans and times ---------------------------------------------------------------------------- */

uint32_t afperf_region_run(const struct afperf_model *model, const struct afperf_span *region)
{
    return model->nested ? model->nodes[region->owner].run : model->refs[region->owner].run;
}

uint32_t afperf_interval_run(const struct afperf_model *model, const struct afperf_span *interval)
{
    return model->sections[interval->owner].run;
}

const struct afperf_span *afperf_event_span(const struct afperf_model *model, uint32_t event, uint32_t *run,
                                            uint64_t *time)
{
    enum afperf_event kind = afperf_event_kind(event);
    bool region = afperf_event_is_region(event);
    uint32_t number = afperf_event_number(event);
    if ((!region && !afperf_event_is_interval(event)) || number == AFPERF_NO_NUMBER)
        return NULL;
    const struct afperf_span *span = &(region ? &model->regions : &model->intervals)->items[number];
    bool start = kind == AFPERF_EVENT_REGION_START || kind == AFPERF_EVENT_INTERVAL_START;
    *run = region ? afperf_region_run(model, span) : afperf_interval_run(model, span);
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

uint64_t afperf_paused(const struct afperf_model *model, const struct afperf_run *run, uint64_t start,
                       uint64_t stop)
{
    if (!run->n_pauses)
        return 0;
    const struct afperf_pause *pauses = model->pauses + run->pauses;
    return paused_before(pauses, run->n_pauses, stop) - paused_before(pauses, run->n_pauses, start);
}

size_t afperf_hex(uint64_t id, char *text)
{
    static const char digits[] = "0123456789abcdef";
    unsigned n = id ? (67 - (unsigned)__builtin_clzll(id)) / 4 : 1;
    text[0] = '0';
    text[1] = 'x';
    for (unsigned i = 0; i < n; i++)
        text[2 + i] = digits[id >> 4 * (n - 1 - i) & 15];
    return 2 + n;
}

/* ---- the model ---------------------------------------------------------------------------------- */

static struct afperf_model *model_alloc(struct pf_input *input)
{
    struct afperf_model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    model->input = input;
    model->intervals.scoped = true;
    model->strings = pf_strings_new();
    model->tree = pf_tree_new(kinds);
    model->stops = pf_store_new(AFPERF_LIST_HELD);
    model->doubtful = pf_store_new(AFPERF_LIST_HELD);
    if (model->strings && model->tree && model->stops && model->doubtful)
        return model;
    afperf_model_free(model);
    return NULL;
}

void afperf_model_free(struct afperf_model *model)
{
    if (!model)
        return;
    if (!model->published)
        pf_tree_free(model->tree);
    pf_strings_free(model->strings);
    free(model->runs);
    free(model->refs);
    free(model->measures);
    free(model->sections);
    free(model->section_refs);
    free(model->sections_by_id);
    free(model->runs_by_id);
    free(model->segments);
    free(model->marks);
    free(model->pauses);
    free(model->nodes);
    free(model->first_node);
    free(model->last_node);
    free(model->log);
    free(model->timeline);
    afperf_spans_free(&model->regions);
    afperf_spans_free(&model->intervals);
    free(model->interval_order);
    pf_store_free(model->stops);
    pf_store_free(model->doubtful);
    pf_notes_free(&model->notes);
    free(model);
}

/* Notes about spans come without the line. */
static int count_lines(struct afperf_model *model, struct pf_error *error)
{
    struct afperf_reader *reader = afperf_reader_new(model->input);
    int result = reader ? 0 : pf_fail_memory(error);
    for (size_t i = 0; i < model->notes.count && !result; i++) {
        struct pf_note *note = &model->notes.items[i];
        if (note->line)
            continue;
        uint64_t line;
        result = afperf_go_to_line(model, reader, (uint64_t)note->offset, error);
        afperf_reader_tell(reader, &line);
        note->line = (int64_t)line;
    }
    afperf_reader_free(reader);
    pf_notes_sort(&model->notes);
    return result;
}

/* Ids are looked for only where records do not come as they belong together. */
static int index_if_needed(struct afperf_model *model, struct pf_error *error)
{
    if (!model->doubt_all && !pf_store_size(model->stops) && !pf_store_size(model->doubtful))
        return 0;
    return afperf_model_complete(model, error);
}

/* A run lasts until the last thing in it. */
static void find_ends(struct afperf_model *model)
{
    for (uint32_t i = 0; i < model->n_log; i++) {
        uint32_t run;
        uint64_t time;
        if (afperf_event_span(model, model->log[i], &run, &time) && time > model->runs[run].end)
            model->runs[run].end = time;
    }
}

static int make(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    if (afperf_read(model, pass, error) < 0 || afperf_resolve_names(model, error) < 0 ||
        index_if_needed(model, error) < 0 || afperf_pair_stops(model, pass, error) < 0 ||
        afperf_number_intervals(model, error) < 0)
        return -1;
    if (afperf_look_again(model, pass, error) < 0 || afperf_drop_unused_run(model, error) < 0)
        return -1;
    find_ends(model);
    if (afperf_make_timeline(model, error) < 0 || afperf_nest(model, pass, error) < 0 ||
        count_lines(model, error) < 0)
        return -1;
    return pf_tree_finish(model->tree, error);
}

struct afperf_model *afperf_model_new(struct pf_input *input, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_model *model = model_alloc(input);
    if (!model) {
        pf_fail_memory(error);
        return NULL;
    }
    if (make(model, pass, error) < 0) {
        afperf_model_free(model);
        return NULL;
    }
    /* What only making it needs. */
    pf_store_free(model->stops);
    pf_store_free(model->doubtful);
    free(model->last_node);
    model->stops = model->doubtful = NULL;
    model->last_node = NULL;
    return model;
}

int afperf_model_complete(struct afperf_model *model, struct pf_error *error)
{
    return afperf_spans_index(&model->regions, error) < 0 ? -1 : afperf_spans_index(&model->intervals, error);
}
