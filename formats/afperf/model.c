/* SPDX-License-Identifier: MIT */
#include "formats/afperf/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

static const char *const kinds[] = {[AFPERF_KIND_REGION] = "region", [AFPERF_KIND_SECTION] = "section"};

int afperf_enlarge(void *items, size_t *room, size_t size, struct pf_error *error)
{
    if (*room > AFPERF_NONE / 2)
        return pf_fail(error, EFBIG, "too many records of a kind");
    return pf_array_grow(items, room, *room + 1, size, error);
}

uint32_t afperf_keep(struct afperf_model *model, struct afperf_text text, struct pf_error *error)
{
    return pf_intern(model->strings, text.size ? text.text : "", text.size, error);
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

/* ---- times -------------------------------------------------------------------------------------- */

void afperf_close_span(struct afperf_span *span, uint64_t time, bool *negative)
{
    *negative = time < span->start;
    span->stop = *negative ? span->start : time;
    span->flags |= AFPERF_CLOSED;
}

uint32_t afperf_region_run(const struct afperf_model *model, const struct afperf_span *region)
{
    return model->nested ? model->nodes[region->owner].run : model->refs[region->owner].run;
}

uint32_t afperf_interval_run(const struct afperf_model *model, const struct afperf_span *interval)
{
    return model->sections[interval->owner].run;
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
    model->log = pf_store_new(AFPERF_LIST_HELD);
    model->stops = pf_store_new(AFPERF_LIST_HELD);
    model->doubtful = pf_store_new(AFPERF_LIST_HELD);
    if (model->strings && model->tree && model->log && model->stops && model->doubtful)
        return model;
    afperf_model_free(model);
    return NULL;
}

void afperf_model_free(struct afperf_model *model)
{
    if (!model)
        return;
    pf_strings_free(model->strings);
    if (!model->published)
        pf_tree_free(model->tree);
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
    free(model->times);
    free(model->first_node);
    free(model->last_node);
    afperf_spans_free(&model->regions);
    afperf_spans_free(&model->intervals);
    free(model->interval_order);
    pf_store_free(model->log);
    pf_store_free(model->timeline);
    pf_store_free(model->stops);
    pf_store_free(model->doubtful);
    afperf_notes_free(&model->notes);
    free(model);
}

/* Notes about spans come without the line. */
static int count_lines(struct afperf_model *model, struct pf_error *error)
{
    struct afperf_reader *reader = afperf_reader_new(model->input);
    int result = reader ? 0 : pf_fail_memory(error);
    afperf_notes_sort(&model->notes);
    for (size_t i = 0; i < model->notes.count && !result; i++) {
        struct afperf_note *note = &model->notes.items[i];
        if (note->line)
            continue;
        result = afperf_go_to_line(model, reader, note->offset, error);
        afperf_reader_tell(reader, &note->line);
    }
    afperf_reader_free(reader);
    return result;
}

/* What only making the model needs. */
static void drop_scaffolding(struct afperf_model *model)
{
    pf_store_free(model->stops);
    pf_store_free(model->doubtful);
    free(model->last_node);
    model->stops = model->doubtful = NULL;
    model->last_node = NULL;
}

/* Ids are looked for only where records do not come as they belong together. */
static int index_if_needed(struct afperf_model *model, struct pf_error *error)
{
    if (!model->doubt_all && !pf_store_size(model->stops) && !pf_store_size(model->doubtful))
        return 0;
    return afperf_spans_index(&model->regions, error) < 0 ? -1 : afperf_spans_index(&model->intervals, error);
}

/* So is what comes when: regions mostly come as they nest. */
static int order_if_needed(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    bool tangled = false;
    for (size_t i = 0; i < model->n_runs; i++)
        tangled |= model->runs[i].tangled;
    return tangled ? afperf_make_timeline(model, pass, error) : 0;
}

static int make(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    if (afperf_read(model, pass, error) < 0 || afperf_resolve_names(model, error) < 0 ||
        index_if_needed(model, error) < 0 || afperf_pair_stops(model, pass, error) < 0 ||
        afperf_pair_anew(model, pass, error) < 0 || afperf_number_intervals(model, error) < 0)
        return -1;
    if (afperf_look_again(model, pass, error) < 0 || afperf_drop_unused_run(model, error) < 0 ||
        afperf_find_ends(model, pass, error) < 0 || order_if_needed(model, pass, error) < 0 ||
        afperf_nest(model, pass, error) < 0)
        return -1;
    return count_lines(model, error) < 0 ? -1 : pf_tree_finish(model->tree, error);
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
    drop_scaffolding(model);
    return model;
}

int afperf_model_complete(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    if (afperf_spans_index(&model->regions, error) < 0 || afperf_spans_index(&model->intervals, error) < 0)
        return -1;
    return afperf_make_timeline(model, pass, error);
}
