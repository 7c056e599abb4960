/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/runtime/numbered.h"

/* ---- trace -------------------------------------------------------------------------------------- */

static int begin_trace(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->model);
    int64_t only = cursor->only.partition;
    if (only < 0) {
        numbers->end = model->n_timeline;
    } else if ((uint64_t)only < model->n_runs) {
        numbers->next = model->runs[only].events;
        numbers->end = numbers->next + model->runs[only].n_events;
    }
    numbers->own = afperf_reader_new(model->input); /* reads tags */
    return numbers->own ? 0 : pf_fail_memory(error);
}

static void free_reader(void *own)
{
    afperf_reader_free(own);
}

static const struct pf_column trace_columns[] = {{"run", PF_PARTITION, 0}, {.name = "time"},
                                                 {.name = "event"},        {"context", PF_CONTEXT, 0},
                                                 {.name = "tags"},         {"name", PF_CONTEXT_NAME, 0}};

/* Returns the tags of a started span, or of an interval's section, as a cell. */
static int tags_of(const struct afperf_model *model, struct afperf_reader *reader, unsigned kind,
                   const struct afperf_span *span, struct pf_cell *cell, struct pf_error *error)
{
    struct afperf_text tags = {"", 0};
    if (kind == AFPERF_EVENT_INTERVAL_START)
        *cell = afperf_text_cell(model, model->sections[span->owner].is.tags);
    if (kind != AFPERF_EVENT_REGION_START)
        return 0;
    if (afperf_region_tags(reader, span, &tags, error))
        return -1;
    if (tags.size)
        *cell = pf_text(tags.text, tags.size);
    return 0;
}

static int trace_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    static const char *const names[] = {
        [AFPERF_EVENT_REGION_START] = "region-start",
        [AFPERF_EVENT_REGION_STOP] = "region-stop",
        [AFPERF_EVENT_INTERVAL_START] = "section-start",
        [AFPERF_EVENT_INTERVAL_STOP] = "section-stop",
        [AFPERF_EVENT_PAUSE] = "pause",
        [AFPERF_EVENT_RESUME] = "resume",
    };
    const struct afperf_model *model = afperf_model(cursor->model);
    const struct afperf_event event = model->timeline[number];
    uint32_t run;
    uint64_t time;
    const struct afperf_span *span = afperf_event_span(model, event, &run, &time);
    int64_t context = -1;
    if (span) {
        context = afperf_event_is_region(event) ? span->context : model->sections[span->owner].context;
    } else {
        const struct afperf_pause *pause = &model->pauses[event.number];
        run = pause->run;
        time = event.kind == AFPERF_EVENT_PAUSE ? pause->start : pause->stop;
    }
    if (!pf_wanted(cursor->only.partition, run) ||
        (cursor->only.context >= 0 && cursor->only.context != context))
        return 0;
    cells[0] = pf_int(run);
    cells[1] = pf_uint(time);
    cells[2] = pf_plain(names[event.kind], strlen(names[event.kind]));
    cells[3] = span ? pf_int(context) : pf_absent();
    cells[4] = pf_absent();
    return span && tags_of(model, own, event.kind, span, &cells[4], error) ? -1 : 1;
}

static const struct pf_numbered trace = {PF_NUMBERED, .begin = begin_trace, .row = trace_row,
                                         .free = free_reader};

const struct pf_table afperf_trace_table = {.name = "trace",
                                            AFPERF_COLUMNS(trace_columns),
                                            .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
                                            .ops = &trace.ops};

/* ---- tags --------------------------------------------------------------------------------------- */

/*
 * The table "tags": the tags `a=b;c=d` of a RunInfo, RegionStart or SectionInfo, one row each. A row's number is the
 * number of the tagged object (runs, then regions, then sections) above the tag's position in the text.
 */
enum { PLACE_BITS = 22 }; /* the text of a mended record of 1 MiB may grow to 3 MiB */

enum object { OF_RUN, OF_REGION, OF_SECTION };

struct tags {
    struct afperf_reader *reader;
    uint64_t entered; /* number of the object whose tags are in `text`, plus 1; 0: none */
    struct afperf_text text;
    uint64_t next; /* number of the next row */
};

static int begin_tags(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->model);
    struct tags *tags = numbers->own = calloc(1, sizeof *tags);
    numbers->end = (uint64_t)(model->n_runs + model->regions.count + model->n_sections) << PLACE_BITS;
    if (tags)
        tags->reader = afperf_reader_new(model->input);
    return tags && tags->reader ? 0 : pf_fail_memory(error);
}

static void free_tags(void *own)
{
    struct tags *tags = own;
    if (tags)
        afperf_reader_free(tags->reader);
    free(tags);
}

/* Returns the kind of a tagged object, and turns *number into its number within the kind. */
static enum object object_of(const struct afperf_model *model, uint64_t *number)
{
    if (*number < model->n_runs)
        return OF_RUN;
    *number -= model->n_runs;
    if (*number < model->regions.count)
        return OF_REGION;
    *number -= model->regions.count;
    return OF_SECTION;
}

static int get_tags(const struct afperf_model *model, struct tags *tags, enum object object, uint64_t number,
                    struct pf_error *error)
{
    if (object == OF_REGION)
        return afperf_region_tags(tags->reader, &model->regions.items[number], &tags->text, error);
    struct pf_cell text = pf_interned(model->strings, object == OF_RUN ? model->runs[number].is.tags
                                                                       : model->sections[number].is.tags);
    tags->text = (struct afperf_text){text.size ? text.text : "", text.size};
    return 0;
}

/* Finds the first tag at or after position `at`. *next: where to continue. Returns false if there is none. */
static bool find_tag(struct afperf_text text, size_t at, struct afperf_text *tag, size_t *next)
{
    while (at < text.size) {
        const char *start = text.text + at, *end = memchr(start, ';', text.size - at);
        *tag = (struct afperf_text){start, end ? (size_t)(end - start) : text.size - at};
        *next = at += tag->size + (end != NULL);
        if (tag->size)
            return true;
    }
    return false;
}

static int tag_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                   struct pf_error *error)
{
    static const char *const objects[] = {"run", "region", "section"};
    const struct afperf_model *model = afperf_model(cursor->model);
    struct tags *tags = own;
    uint64_t entry = number >> PLACE_BITS, id = entry;
    struct afperf_text tag;
    size_t next = 0;
    enum object object = object_of(model, &id);
    if (tags->entered != entry + 1 && get_tags(model, tags, object, id, error))
        return -1;
    tags->entered = entry + 1;
    bool found = find_tag(tags->text, number & ((1U << PLACE_BITS) - 1), &tag, &next);
    tags->next = found ? entry << PLACE_BITS | next : (entry + 1) << PLACE_BITS;
    if (!found)
        return 0;
    const char *equals = memchr(tag.text, '=', tag.size);
    size_t name = equals ? (size_t)(equals - tag.text) : tag.size;
    cells[0] = pf_plain(objects[object], strlen(objects[object]));
    cells[1] = pf_uint(id);
    cells[2] = equals ? pf_text(equals + 1, tag.size - name - 1) : pf_absent();
    cells[3] = pf_text(tag.text, name);
    return 1;
}

static uint64_t after_tag(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    (void)number;
    return ((const struct tags *)own)->next;
}

static const struct pf_column tag_columns[] = {
    {.name = "object"}, {.name = "id"}, {.name = "value"}, {.name = "name"}};

static const struct pf_numbered tags = {PF_NUMBERED, .begin = begin_tags, .row = tag_row, .after = after_tag,
                                        .free = free_tags};

const struct pf_table afperf_tags_table = {.name = "tags", AFPERF_COLUMNS(tag_columns), .ops = &tags.ops};
