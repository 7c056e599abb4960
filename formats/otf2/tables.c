/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/position.h"
#include "formats/otf2/otf2.h"

/* The tables "messages" and "readings": events as they come, location after location, with nothing held of them. */

enum {
    MESSAGE_THREAD,
    MESSAGE_TIME,
    MESSAGE_EVENT,
    MESSAGE_RANK,
    MESSAGE_PEER,
    MESSAGE_TAG,
    MESSAGE_BYTES,
    MESSAGE_REQUEST,
    MESSAGE_COMMUNICATOR
};
const struct pf_column otf2_message_columns[OTF2_MESSAGE_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0},    {"event", PF_PLAIN, 0},
    {"rank", PF_PLAIN, 0},       {"peer", PF_PLAIN, 0},    {"tag", PF_PLAIN, 0},
    {"bytes", PF_PLAIN, 0},      {"request", PF_PLAIN, 0}, {"communicator", PF_PLAIN, 0},
};

enum { READING_THREAD, READING_TIME, READING_VALUE, READING_UNIT, READING_NAME };
const struct pf_column otf2_reading_columns[OTF2_READING_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0}, {"value", PF_PLAIN, 0},
    {"unit", PF_PLAIN, 0},       {"name", PF_PLAIN, 0},
};

/* Where a walk stands: before `item` of the event at `offset`, or before the event behind that. */
struct place {
    uint64_t offset, stamp; /* of the location's file; 0: its beginning */
    uint32_t location, item;
};

struct walk {
    struct place at;
    struct otf2_events events;
    bool open;  /* events is that of at.location */
    bool begun; /* `event` is the one that at.item counts in */
    struct otf2_event event;
    const struct otf2_class *class; /* of the event, if it is a reading */
    uint32_t items;
    pf_int128 time;
};

static void leave_location(struct walk *walk)
{
    otf2_events_close(&walk->events);
    walk->open = walk->begun = false;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->at.location = cursor->only.partition > 0 ? (uint32_t)cursor->only.partition : 0;
    return 0;
}

/* A location that has no events, or damaged ones, has no rows from there on. */
static bool is_end(const struct pf_error *error)
{
    return error->code == EINVAL || error->code == ENOENT;
}

/* 1: the walk's location is open; 0: there is none more; -1: *error filled. */
static int open_location(const struct pf_cursor *cursor, struct walk *walk, struct pf_error *error)
{
    struct otf2_state *state = otf2_state(cursor->profile);
    while (!walk->open) {
        if (walk->at.location >= state->definitions.things[OTF2_LOCATIONS].count ||
            (cursor->only.partition >= 0 && walk->at.location != (uint64_t)cursor->only.partition))
            return 0;
        walk->open = true;
        if (!otf2_events_open(&walk->events, &state->definitions, &state->files, walk->at.location, error)) {
            if (walk->at.offset)
                otf2_events_seek(&walk->events, walk->at.offset, walk->at.stamp);
            return 1;
        }
        leave_location(walk);
        if (!is_end(error))
            return -1;
        walk->at = (struct place){.location = walk->at.location + 1};
    }
    return 1;
}

/* How many rows the event has. */
static uint32_t rows_of(const struct pf_cursor *cursor, struct walk *walk)
{
    struct otf2_event *event = &walk->event;
    if (cursor->table->user == OTF2_MESSAGES)
        return event->type == OTF2_SEND || event->type == OTF2_ISEND || event->type == OTF2_RECV ||
               event->type == OTF2_IRECV;
    if (event->type != OTF2_METRIC)
        return 0;
    uint32_t id = otf2_mapped(&walk->events, OTF2_MAP_METRIC, otf2_id(&event->fields));
    uint32_t n = otf2_byte(&event->fields);
    walk->class = otf2_class_of(walk->events.definitions, id);
    return !walk->class || event->fields.bad ? 0 : n < walk->class->count ? n : walk->class->count;
}

static void fill_message(struct walk *walk, struct pf_cell *cells)
{
    static const char *const names[] = {
        [OTF2_SEND] = "send", [OTF2_ISEND] = "isend", [OTF2_RECV] = "recv", [OTF2_IRECV] = "irecv"};
    const struct otf2_definitions *definitions = walk->events.definitions;
    const struct otf2_comm *comms = definitions->things[OTF2_COMMS].items;
    struct otf2_fields *fields = &walk->event.fields;
    uint32_t rank = otf2_id(fields), comm = otf2_mapped(&walk->events, OTF2_MAP_COMM, otf2_id(fields));
    uint32_t place = otf2_find(definitions, OTF2_COMMS, comm);
    uint64_t peer;
    bool asynchronous = walk->event.type == OTF2_ISEND || walk->event.type == OTF2_IRECV;
    cells[MESSAGE_EVENT] = pf_string(names[walk->event.type]);
    cells[MESSAGE_RANK] = pf_uint(rank);
    cells[MESSAGE_PEER] = otf2_rank(definitions, comm, rank, &peer) ? pf_uint(peer) : pf_absent();
    cells[MESSAGE_TAG] = pf_uint(otf2_id(fields));
    cells[MESSAGE_BYTES] = pf_uint(otf2_number(fields, 8));
    cells[MESSAGE_REQUEST] = asynchronous ? pf_uint(otf2_number(fields, 8)) : pf_absent();
    cells[MESSAGE_COMMUNICATOR] =
        place == OTF2_NONE ? pf_absent() : otf2_string(definitions, comms[place].name);
}

static struct pf_cell value_cell(uint8_t type, uint64_t bits)
{
    enum { REAL = 10, SIGNED = 5 };
    double real;
    memcpy(&real, &bits, sizeof real);
    return type == REAL ? pf_double(real) : type >= SIGNED ? pf_int((int64_t)bits) : pf_uint(bits);
}

static void fill_reading(struct walk *walk, struct pf_cell *cells)
{
    const struct otf2_definitions *definitions = walk->events.definitions;
    uint32_t id = definitions->class_members[walk->class->first + walk->at.item];
    uint32_t member = otf2_find(definitions, OTF2_MEMBERS, id);
    uint8_t type = otf2_byte(&walk->event.fields);
    cells[READING_VALUE] = value_cell(type, otf2_number(&walk->event.fields, 8));
    cells[READING_UNIT] =
        member == OTF2_NONE ? pf_absent() : otf2_string(definitions, otf2_members(definitions)[member].unit);
    cells[READING_NAME] =
        member == OTF2_NONE ? pf_absent() : otf2_string(definitions, otf2_members(definitions)[member].name);
}

/* To the next event that has rows, in this location. 1; 0: none is left; -1: *error filled. */
static int next_event(const struct pf_cursor *cursor, struct walk *walk, struct pf_error *error)
{
    int more;
    while ((more = otf2_events_next(&walk->events, &walk->event, error)) > 0) {
        walk->items = rows_of(cursor, walk);
        if (!walk->items)
            continue;
        /* A walk that has been restored in the middle of an event skips what came before. */
        for (uint32_t i = 0; i < walk->at.item && i < walk->items && cursor->table->user == OTF2_READINGS;
             i++) {
            otf2_byte(&walk->event.fields);
            otf2_number(&walk->event.fields, 8);
        }
        walk->begun = true;
        return 1;
    }
    return more < 0 && !is_end(error) ? -1 : 0;
}

static void fill(const struct pf_cursor *cursor, struct walk *walk, struct pf_cell *cells)
{
    walk->time = otf2_ns(walk->events.definitions, walk->event.ticks);
    cells[MESSAGE_THREAD] = pf_int(walk->at.location);
    cells[MESSAGE_TIME] = walk->time >= INT64_MIN && walk->time <= INT64_MAX ? pf_int((int64_t)walk->time)
                                                                             : pf_wide(&walk->time);
    if (cursor->table->user == OTF2_MESSAGES)
        fill_message(walk, cells);
    else
        fill_reading(walk, cells);
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    int more;
    while ((more = open_location(cursor, walk, error)) > 0) {
        if (!walk->begun && next_event(cursor, walk, error) < 0)
            return -1;
        if (!walk->begun) {
            leave_location(walk);
            walk->at = (struct place){.location = walk->at.location + 1};
            continue;
        }
        if (walk->at.item < walk->items) {
            fill(cursor, walk, cells);
            walk->at.item++;
            walk->at.offset = walk->event.offset;
            walk->at.stamp = walk->events.stamp;
            return 1;
        }
        walk->at = (struct place){
            .location = walk->at.location, .offset = walk->events.reader.at, .stamp = walk->events.stamp};
        walk->begun = false;
    }
    return more;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    struct place at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    leave_location(walk);
    walk->at = at;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (walk)
        leave_location(walk);
    free(walk);
    cursor->state = NULL;
}

const struct pf_cursor_ops otf2_events_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
};
