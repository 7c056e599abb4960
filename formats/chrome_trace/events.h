/* SPDX-License-Identifier: MIT */
#ifndef PF_CHROME_TRACE_EVENTS_H
#define PF_CHROME_TRACE_EVENTS_H

#include "formats/driver.h"
#include "formats/json/json.h"

/*
 * The events of a Trace Event file, one after the other, as they stand there. The file is an array of events, which may lack its
 * end, or an object whose member traceEvents is that array.
 */

/* Text of an event, which belongs to its reader and is valid until the next event. */
struct trace_text {
    char *text;
    size_t size, room;
    bool there;
};

/* The members that are read, in the order of trace_event.texts. */
enum trace_member { TRACE_PID, TRACE_TID, TRACE_NAME, TRACE_ID, TRACE_CATEGORY, TRACE_SCOPE, TRACE_TEXTS };

/* Whether a time is in the file and what it is. */
enum trace_given { TRACE_ABSENT, TRACE_GIVEN, TRACE_UNUSABLE };

struct trace_time {
    enum trace_given given;
    int64_t ns;
};

struct trace_event {
    char phase; /* 0: none, and so no event */
    struct trace_time time, duration;
    struct trace_text texts[TRACE_TEXTS];
    struct trace_text args; /* JSON; only of events that `args` below are wanted of */
    uint64_t offset, line;
};

/* Times are less than this, in ns, so that differences of times fit too: 146 years. */
#define TRACE_TIME_MAX (INT64_C(1) << 62)

/* How much of an event's args is kept. */
enum { TRACE_ARGS_MAX = 64 * 1024 };

/* What is wrong with the file itself. */
enum trace_end {
    TRACE_WHOLE,
    TRACE_CUT,    /* it ends inside an event, or is an object and has no end */
    TRACE_DAMAGED /* or cannot be read on */
};

struct trace_reader {
    struct pf_json *json;
    bool details; /* id, category and scope are read, */
    char kept;    /* and args of events of this phase */
    bool in_object, in_events, over;
    enum trace_end end;
    struct pf_error damage; /* if it is not whole */
    struct trace_event event;
    char *args; /* of event.args, while its phase is not known */
};

/* Details are for the tables that show them. `reader` is zeroed or was freed. 0, or -1 with *error filled; trace_reader_free is due in either case. */
int trace_reader_begin(struct trace_reader *reader, struct pf_input *input, bool details, char kept,
                       struct pf_error *error);
void trace_reader_free(struct trace_reader *reader);

/*
 * The next event, in reader->event. 1; 0: there are no more, and reader->end tells why; -1: *error filled, for want of memory
 * or because the file could not be read.
 */
int trace_reader_next(struct trace_reader *reader, struct pf_error *error);

/* Positions between events, as pf_json_save and pf_json_restore have them. */
size_t trace_reader_save(const struct trace_reader *reader, void *blob, size_t room);
int trace_reader_restore(struct trace_reader *reader, const void *blob, size_t size, struct pf_error *error);

#endif
