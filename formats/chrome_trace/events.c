/* SPDX-License-Identifier: MIT */
#include "formats/chrome_trace/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/walk.h"
#include "formats/kit/array.h"
#include "formats/kit/fixed.h"

int trace_reader_begin(struct trace_reader *reader, struct pf_input *input, bool details, char kept,
                       struct pf_error *error)
{
    *reader = (struct trace_reader){.details = details, .kept = kept};
    reader->json = pf_json_new(input, PF_JSON_LAST_COMMAS, PF_JSON_DEPTH_MAX);
    reader->args = malloc(TRACE_ARGS_MAX);
    return reader->json && reader->args ? 0 : pf_fail_memory(error);
}

void trace_reader_free(struct trace_reader *reader)
{
    for (size_t i = 0; i < TRACE_TEXTS; i++)
        free(reader->event.texts[i].text);
    free(reader->args);
    pf_json_free(reader->json);
    *reader = (struct trace_reader){0};
}

/* ---- members of an event ------------------------------------------------------------------------ */

static int take_phase(const struct pf_json_walk *walk)
{
    *(char *)walk->place = (char)(walk->token->size ? *walk->token->text : 0);
    return 0;
}

static int take_text(const struct pf_json_walk *walk)
{
    struct trace_text *text = walk->place;
    const struct pf_json_token *token = walk->token;
    text->there = token->event == PF_JSON_STRING || token->event == PF_JSON_NUMBER;
    text->size = text->there ? token->size : 0;
    if (text->size > text->room && pf_array_grow(&text->text, &text->room, text->size, 1, walk->error))
        return -1;
    if (text->size)
        memcpy(text->text, token->text, text->size);
    return 0;
}

/* Microseconds, as a number or as text of one, in ns. */
static int take_time(const struct pf_json_walk *walk)
{
    struct trace_time *time = walk->place;
    const struct pf_json_token *token = walk->token;
    pf_int128 value;
    time->given = TRACE_UNUSABLE;
    if (token->simple && token->places == 0) {
        value = (pf_int128)token->mantissa * 1000;
        value = token->negative ? -value : value;
    } else if ((token->event != PF_JSON_NUMBER && token->event != PF_JSON_STRING) ||
               !pf_parse_fixed(token->text, token->size, 3, &value)) {
        return 0;
    }
    if (value <= -TRACE_TIME_MAX || value >= TRACE_TIME_MAX)
        return 0;
    *time = (struct trace_time){TRACE_GIVEN, (int64_t)value};
    return 0;
}

/* The thread's own clock: for want of a better. */
static int take_thread_time(const struct pf_json_walk *walk)
{
    const struct trace_time *time = walk->place;
    return time->given == TRACE_ABSENT ? take_time(walk) : 0;
}

/* Args come before the phase in some files: they are kept until it is known whether anybody wants them. */
static int take_args(const struct pf_json_walk *walk)
{
    struct trace_reader *reader = walk->into;
    struct trace_event *event = &reader->event;
    struct pf_json_token value;
    if (event->phase && event->phase != reader->kept)
        return pf_json_skip(walk->json, &value, walk->error) < 0 ? -1 : 0;
    int got = pf_json_take(walk->json, &value, reader->args, TRACE_ARGS_MAX, walk->error);
    event->args = (struct trace_text){
        .text = reader->args, .size = value.size, .there = got == PF_JSON_OBJECT && !value.cut};
    return got < 0 ? -1 : 0;
}

#define MEMBER(name, begins, take, field) PF_MEMBER(name, begins, take, struct trace_reader, event.field)
#define MEMBERS                                                                                              \
    MEMBER("ph", PF_JSON_STRING, take_phase, phase), MEMBER("ts", PF_JSON_END, take_time, time),             \
        MEMBER("pid", PF_JSON_END, take_text, texts[TRACE_PID]),                                             \
        MEMBER("tid", PF_JSON_END, take_text, texts[TRACE_TID]),                                             \
        MEMBER("dur", PF_JSON_END, take_time, duration),                                                     \
        MEMBER("name", PF_JSON_END, take_text, texts[TRACE_NAME]),                                           \
        PF_MEMBER_OF_ALL("args", PF_JSON_NAME, take_args),                                                   \
        MEMBER("tdur", PF_JSON_END, take_thread_time, duration)

static const struct pf_json_member members[] = {MEMBERS, PF_MEMBERS_END};
static const struct pf_json_member detailed_members[] = {
    MEMBERS,
    MEMBER("id", PF_JSON_END, take_text, texts[TRACE_ID]),
    MEMBER("cat", PF_JSON_END, take_text, texts[TRACE_CATEGORY]),
    MEMBER("s", PF_JSON_END, take_text, texts[TRACE_SCOPE]),
    PF_MEMBERS_END,
};

/* The event whose bracket was read. 0; -1: *error filled. */
static int read_event(struct trace_reader *reader, struct pf_error *error)
{
    struct pf_json_walk walk = {.json = reader->json, .error = error};
    return pf_json_object(&walk, reader, reader->details ? detailed_members : members);
}

/* ---- the file ----------------------------------------------------------------------------------- */

/* What reading failed with: damage of the file ends it, anything else is an error. */
static int end_at(struct trace_reader *reader, bool between, struct pf_error *error)
{
    bool cut = error->code == ENODATA;
    if (!cut && error->code != EBADMSG && error->code != E2BIG)
        return -1;
    reader->over = true;
    /* An array may lack its end. */
    reader->end = cut && between && !reader->in_object ? TRACE_WHOLE : cut ? TRACE_CUT : TRACE_DAMAGED;
    reader->damage = *error;
    return 0;
}

/* On to the first element of an array of events. 1; 0: there is none left; -1. */
static int enter_events(struct trace_reader *reader, struct pf_error *error)
{
    struct pf_json_token token;
    int got;
    if (!reader->in_object) {
        got = pf_json_next(reader->json, &token, error);
        reader->in_object = got == PF_JSON_OBJECT;
        reader->in_events = got == PF_JSON_ARRAY;
        if (got <= 0 || !reader->in_object)
            return got < 0 ? -1 : reader->in_events;
    }
    while ((got = pf_json_next(reader->json, &token, error)) == PF_JSON_NAME) {
        bool events = pf_json_is(&token, "traceEvents");
        got = events ? pf_json_next(reader->json, &token, error) : pf_json_skip(reader->json, &token, error);
        if (got < 0)
            return -1;
        reader->in_events = events && got == PF_JSON_ARRAY;
        if (reader->in_events)
            return 1;
        if (events && got == PF_JSON_OBJECT && pf_json_leave(reader->json, error))
            return -1;
    }
    return got < 0 ? -1 : 0;
}

static void clear(struct trace_event *event)
{
    event->phase = 0;
    event->time = event->duration = (struct trace_time){TRACE_ABSENT, 0};
    event->args.there = false;
    for (size_t i = 0; i < TRACE_TEXTS; i++)
        event->texts[i].there = false;
}

/* Behind an array of events: what else there is, is checked to its end. */
static int leave_events(struct trace_reader *reader, struct pf_error *error)
{
    struct pf_json_token token;
    reader->in_events = false;
    if (reader->in_object)
        return 0;
    reader->over = true;
    return pf_json_next(reader->json, &token, error) < 0 ? -1 : 0;
}

int trace_reader_next(struct trace_reader *reader, struct pf_error *error)
{
    struct trace_event *event = &reader->event;
    struct pf_json_token token;
    while (!reader->over) {
        if (!reader->in_events) {
            int more = enter_events(reader, error);
            if (more < 0)
                return end_at(reader, false, error);
            if (!more)
                break;
        }
        clear(event);
        int got = pf_json_next(reader->json, &token, error);
        if (got < 0)
            return end_at(reader, true, error);
        event->offset = token.offset;
        event->line = token.line;
        if (got == PF_JSON_ARRAY_END ? leave_events(reader, error) < 0
            : got == PF_JSON_OBJECT  ? read_event(reader, error) < 0
            : got == PF_JSON_ARRAY   ? pf_json_leave(reader->json, error) < 0
                                     : false)
            return end_at(reader, false, error);
        if (got != PF_JSON_ARRAY_END)
            return 1;
    }
    reader->over = true;
    return 0;
}

/* ---- positions ---------------------------------------------------------------------------------- */

/* What the reader knows beside where it stands. */
enum { IN_OBJECT = 1, IN_EVENTS = 2, OVER = 4 };

size_t trace_reader_save(const struct trace_reader *reader, void *blob, size_t room)
{
    size_t size = pf_json_save(reader->json, NULL, 0) + 1;
    if (size > room)
        return size;
    *(unsigned char *)blob = (unsigned char)((reader->in_object ? IN_OBJECT : 0) |
                                             (reader->in_events ? IN_EVENTS : 0) | (reader->over ? OVER : 0));
    pf_json_save(reader->json, (char *)blob + 1, room - 1);
    return size;
}

int trace_reader_restore(struct trace_reader *reader, const void *blob, size_t size, struct pf_error *error)
{
    if (!size)
        return pf_fail(error, EINVAL, "a saved position has a wrong size");
    unsigned char known = *(const unsigned char *)blob;
    reader->in_object = known & IN_OBJECT;
    reader->in_events = known & IN_EVENTS;
    reader->over = known & OVER;
    return pf_json_restore(reader->json, (const char *)blob + 1, size - 1, error);
}
