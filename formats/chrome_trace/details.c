/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/chrome_trace/chrome_trace.h"
#include "formats/kit/position.h"

/*
 * Asynchronous events and flows, counters, and instants: what belongs to no stack. Their ids may be as many as they are, so
 * nothing of them is held; a table of them is the file read again.
 */

enum { THREAD, TIME };
enum { ASYNC_PHASE = TIME + 1, ASYNC_ID, ASYNC_CATEGORY, ASYNC_NAME };
enum { COUNTER_VALUE = TIME + 1, COUNTER_ID, COUNTER_SERIES, COUNTER_NAME };
enum { INSTANT_SCOPE = TIME + 1, INSTANT_CATEGORY, INSTANT_NAME };

const struct pf_column trace_async_columns[TRACE_ASYNC_COLUMNS] = {
    [THREAD] = {"thread", PF_PARTITION, 0},       [TIME] = {"time", PF_PLAIN, 0},
    [ASYNC_PHASE] = {"phase", PF_PLAIN, 0},       [ASYNC_ID] = {"id", PF_PLAIN, 0},
    [ASYNC_CATEGORY] = {"category", PF_PLAIN, 0}, [ASYNC_NAME] = {"name", PF_PLAIN, 0},
};
const struct pf_column trace_counter_columns[TRACE_COUNTER_COLUMNS] = {
    [THREAD] = {"thread", PF_PARTITION, 0},     [TIME] = {"time", PF_PLAIN, 0},
    [COUNTER_VALUE] = {"value", PF_PLAIN, 0},   [COUNTER_ID] = {"id", PF_PLAIN, 0},
    [COUNTER_SERIES] = {"series", PF_PLAIN, 0}, [COUNTER_NAME] = {"name", PF_PLAIN, 0},
};
const struct pf_column trace_instant_columns[TRACE_INSTANT_COLUMNS] = {
    [THREAD] = {"thread", PF_PARTITION, 0},   [TIME] = {"time", PF_PLAIN, 0},
    [INSTANT_SCOPE] = {"scope", PF_PLAIN, 0}, [INSTANT_CATEGORY] = {"category", PF_PLAIN, 0},
    [INSTANT_NAME] = {"name", PF_PLAIN, 0},
};

enum trace_kind trace_kind_of(char phase)
{
    if (phase && strchr("bneSTpFstf", phase))
        return TRACE_ASYNC;
    if (phase && strchr("iIR", phase))
        return TRACE_INSTANTS;
    return phase == 'C' ? TRACE_COUNTERS : TRACE_KINDS;
}

/* A position: between two series of a counter, or two events (series 0), where the reader's own follows. */
struct position {
    uint64_t rows;   /* given out so far */
    uint64_t series; /* of the event that follows, that were given out */
};

struct walk {
    struct trace_reader reader;
    const struct trace_state *state;
    enum trace_kind kind;
    struct position at;
    struct pf_json *args;  /* of a counter's event whose series are being read, */
    bool in_args;          /* or not */
    unsigned char *before; /* where that event begins, for positions */
    size_t before_size, before_room;
    struct pf_json_token value;
    pf_int128 wide;
    char series[256];
    size_t series_size;
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->state = trace_state(cursor->profile);
    walk->kind = (enum trace_kind)cursor->table->user;
    walk->args = pf_json_new(NULL, 0, 0);
    walk->before_room = PF_JSON_POSITION_SIZE + 2 + PF_JSON_DEPTH_MAX / 8;
    walk->before = malloc(walk->before_room);
    if (!walk->args || !walk->before)
        return pf_fail_memory(error);
    return trace_reader_begin(&walk->reader, walk->state->samples.input, true, 'C', error);
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (!walk)
        return;
    trace_reader_free(&walk->reader);
    pf_json_free(walk->args);
    free(walk->before);
    free(walk);
    cursor->state = NULL;
}

static struct pf_cell text_cell(const struct trace_event *event, enum trace_member member)
{
    const struct trace_text *text = &event->texts[member];
    return text->there ? pf_text(text->size ? text->text : "", text->size) : pf_absent();
}

static struct pf_cell name_cell(const struct pf_cursor *cursor, const struct walk *walk)
{
    struct pf_cell name = text_cell(&walk->reader.event, TRACE_NAME);
    return name.type == PF_TEXT ? name
                                : pf_interned(cursor->profile->contexts->strings, walk->state->nameless);
}

/* On to the next series of a counter that is a number. False: there is none left. */
static bool next_series(struct walk *walk)
{
    struct pf_json_token name;
    struct pf_error ignored;
    while (walk->in_args && pf_json_next(walk->args, &name, &ignored) == PF_JSON_NAME) {
        walk->series_size = name.size < sizeof walk->series ? name.size : sizeof walk->series;
        memcpy(walk->series, name.text, walk->series_size);
        int got = pf_json_skip(walk->args, &walk->value, &ignored);
        if (got == PF_JSON_NUMBER)
            return true;
        if (got < 0)
            break;
    }
    walk->in_args = false;
    return false;
}

/* On to the next event of the kind and thread. 1; 0: no more; -1. */
static int next_event(struct pf_cursor *cursor, struct walk *walk, struct pf_error *error)
{
    const struct trace_event *event = &walk->reader.event;
    for (;;) {
        walk->before_size = trace_reader_save(&walk->reader, walk->before, walk->before_room);
        walk->at.series = 0;
        int more = trace_reader_next(&walk->reader, error);
        if (more <= 0)
            return more;
        if (event->time.given != TRACE_GIVEN || trace_kind_of(event->phase) != walk->kind)
            continue;
        uint32_t thread = trace_threads_find(&walk->state->threads, event);
        if (thread != TRACE_UNLISTED && (cursor->only.partition < 0 || thread == cursor->only.partition))
            return 1;
    }
}

/* On to what the next row is of. */
static int next_item(struct pf_cursor *cursor, struct walk *walk, struct pf_error *error)
{
    const struct trace_event *event = &walk->reader.event;
    struct pf_json_token token;
    while (walk->kind != TRACE_COUNTERS || !next_series(walk)) {
        int more = next_event(cursor, walk, error);
        if (more <= 0 || walk->kind != TRACE_COUNTERS)
            return more;
        if (event->args.there) {
            pf_json_text(walk->args, event->args.text, event->args.size);
            walk->in_args = pf_json_next(walk->args, &token, error) == PF_JSON_OBJECT;
        }
    }
    return 1;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct trace_event *event = &walk->reader.event;
    if (walk->at.rows >= walk->state->kinds[walk->kind] && walk->kind != TRACE_COUNTERS)
        return 0;
    int more = walk->state->kinds[walk->kind] ? next_item(cursor, walk, error) : 0;
    if (more <= 0)
        return more;
    walk->at.rows++;
    walk->at.series++;
    cells[THREAD] = pf_int(trace_threads_find(&walk->state->threads, event));
    cells[TIME] = pf_int(event->time.ns);
    switch (walk->kind) {
    case TRACE_ASYNC:
        cells[ASYNC_PHASE] = pf_text(&event->phase, 1);
        cells[ASYNC_ID] = text_cell(event, TRACE_ID);
        cells[ASYNC_CATEGORY] = text_cell(event, TRACE_CATEGORY);
        cells[ASYNC_NAME] = name_cell(cursor, walk);
        break;
    case TRACE_COUNTERS:
        cells[COUNTER_VALUE] = pf_json_number(&walk->value, &walk->wide);
        cells[COUNTER_ID] = text_cell(event, TRACE_ID);
        cells[COUNTER_SERIES] = pf_text(walk->series, walk->series_size);
        cells[COUNTER_NAME] = name_cell(cursor, walk);
        break;
    default:
        cells[INSTANT_SCOPE] = text_cell(event, TRACE_SCOPE);
        cells[INSTANT_CATEGORY] = text_cell(event, TRACE_CATEGORY);
        cells[INSTANT_NAME] = name_cell(cursor, walk);
        break;
    }
    return 1;
}

/* A counter's event that is being read is read again. */
static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    struct position at = walk->at;
    size_t size;
    if (!walk->in_args)
        at.series = 0;
    size = sizeof at + (walk->in_args ? walk->before_size : trace_reader_save(&walk->reader, NULL, 0));
    if (size > room)
        return size;
    memcpy(blob, &at, sizeof at);
    if (walk->in_args)
        memcpy((char *)blob + sizeof at, walk->before, walk->before_size);
    else
        trace_reader_save(&walk->reader, (char *)blob + sizeof at, room - sizeof at);
    return size;
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    struct position at;
    if (size < sizeof at)
        return pf_position_refuse(error);
    memcpy(&at, blob, sizeof at);
    walk->in_args = false;
    if (trace_reader_restore(&walk->reader, (const char *)blob + sizeof at, size - sizeof at, error))
        return -1;
    for (walk->at.series = 0; walk->at.series < at.series; walk->at.series++) {
        int more = next_item(cursor, walk, error);
        if (more <= 0)
            return more < 0 ? -1 : pf_position_refuse(error);
    }
    walk->at = at;
    return 0;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    uint64_t done, total;
    pf_input_progress(walk->state->samples.input, pf_json_tell(walk->reader.json), &done, &total);
    return total ? (double)done / (double)total : 1;
}

const struct pf_cursor_ops trace_details_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};
