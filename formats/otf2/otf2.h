/* SPDX-License-Identifier: MIT */
#ifndef OTF2_H
#define OTF2_H

#include "formats/kit/ids.h"
#include "formats/otf2/reader.h"
#include "formats/runtime/build.h"

/*
 * OTF2 archives, as Score-P writes them: a folder with an anchor (NAME.otf2), definitions (NAME.def) and, in NAME/, a file of
 * events and one of definitions for each location. Partitions are locations; contexts are paths of regions.
 */

/* The file NAME.otf2, by which an archive is known. Strings stand behind each other in `text`. */
struct otf2_anchor {
    unsigned version[3];
    uint64_t event_chunk, definition_chunk; /* bytes */
    uint64_t locations;                     /* announced */
    const char *machine, *creator, *description;
    char text[4096];
};

/* The definitions that are kept, and what their fields are, in the order of the record. The first one is the id. */
enum otf2_kind {
    OTF2_CLOCKS,
    OTF2_STRINGS,
    OTF2_LOCATION_GROUPS,
    OTF2_LOCATIONS,
    OTF2_REGIONS,
    OTF2_GROUPS,
    OTF2_MEMBERS,   /* a counter each */
    OTF2_CLASSES,   /* of metrics: which counters their events have */
    OTF2_INSTANCES, /* of such classes */
    OTF2_COMMS,
    OTF2_KINDS
};
enum { OTF2_ID, OTF2_NAME };
enum { OTF2_CLOCK_TICKS, OTF2_CLOCK_OFFSET };
enum { OTF2_STRING_TEXT = 1 }; /* a number in definitions.strings */
enum { OTF2_LOCATION_TYPE = 2, OTF2_LOCATION_EVENTS, OTF2_LOCATION_GROUP };
enum { OTF2_REGION_FILE = 4, OTF2_REGION_LINE, OTF2_REGION_PARADIGM = 9 };
enum { OTF2_PARADIGMS = 256 }; /* a byte in the file */
enum { OTF2_GROUP_COUNT = 3, OTF2_GROUP_FIRST, OTF2_GROUP_TYPE, OTF2_GROUP_PARADIGM };
enum { OTF2_MEMBER_MODE = 4, OTF2_MEMBER_TYPE, OTF2_MEMBER_UNIT = 8 };
enum { OTF2_CLASS_COUNT = 1, OTF2_CLASS_FIRST, OTF2_CLASS_OCCURRENCE };
enum { OTF2_INSTANCE_CLASS = 1 };
enum { OTF2_COMM_GROUP = 2 };

#define OTF2_NONE UINT32_MAX

/*
 * What the locations share. Ids are sparse and choose themselves; things are also known by their places, in the order of the file.
 * Filled by one thread, then read by all.
 */
struct otf2_definitions {
    struct pf_strings *strings;
    struct otf2_things {
        uint64_t *fields; /* those of thing i from i * width on */
        size_t width, room;
        uint32_t count;
        struct pf_ids places; /* by id */
    } things[OTF2_KINDS];
    struct otf2_list {
        uint64_t *at;
        size_t n, room;
    } class_members,
        group_members; /* ids of counters; locations, or indexes of them: those of a class or group from its FIRST on */
    uint32_t all_locations[OTF2_PARADIGMS]; /* place of the group of all locations, plus 1; 0: none */
};

/* Metrics: calls, those of the same region that a region holds, time; from the last on, counters. */
enum { OTF2_CALLS, OTF2_HELD_CALLS, OTF2_TIME_METRIC, OTF2_COUNTERS };

/* The format's own tables. */
enum { OTF2_MESSAGES, OTF2_READINGS };
enum { OTF2_MESSAGE_COLUMNS = 9, OTF2_READING_COLUMNS = 5 };

struct otf2_state {
    struct pf_build *build;
    char archive[256]; /* NAME */
    struct otf2_anchor anchor;
    struct pf_input *global;
    struct otf2_definitions definitions; /* from PF_PARTITIONED on */
    int *counter;                        /* while events are read, by counter's place: its metric, or -1 */
    uint32_t *unknown; /* ids of regions that are not defined: region n_regions + i is unknown[i] */
    size_t n_unknown, unknown_room;
};

/* ---- definitions.c ------------------------------------------------------------------------------ */

/* Reads the anchor. 0; or -1 with *error filled, EINVAL if it is none, or one that cannot be read. */
int otf2_anchor_read(struct otf2_anchor *anchor, struct pf_input *input, struct pf_error *error);

/* Reads the global definitions; damage is warned of, what stands before it is kept. */
void otf2_read_definitions(struct otf2_state *state);
void otf2_free_definitions(struct otf2_definitions *definitions);

static inline uint32_t otf2_count(const struct otf2_definitions *definitions, enum otf2_kind kind)
{
    return definitions->things[kind].count;
}

/* The fields of the thing at a place; NULL for OTF2_NONE and beyond. */
static inline const uint64_t *otf2_at(const struct otf2_definitions *definitions, enum otf2_kind kind,
                                      uint32_t place)
{
    const struct otf2_things *things = &definitions->things[kind];
    return place < things->count ? things->fields + place * things->width : NULL;
}

/* The place of an id; OTF2_NONE: it is not defined. */
static inline uint32_t otf2_place(const struct otf2_definitions *definitions, enum otf2_kind kind,
                                  uint64_t id)
{
    return pf_ids_find(&definitions->things[kind].places, id);
}

/* The fields of the thing of an id; NULL: it is not defined. */
static inline const uint64_t *otf2_find(const struct otf2_definitions *definitions, enum otf2_kind kind,
                                        uint64_t id)
{
    return otf2_at(definitions, kind, otf2_place(definitions, kind, id));
}

/* The text whose id a field of a thing is; absent if there is no thing (NULL), or no such text. */
struct pf_cell otf2_text_of(const struct otf2_definitions *definitions, const uint64_t *thing,
                            unsigned field);

/* The same for a row that is stored. */
struct pf_cell otf2_name_of(const struct otf2_definitions *definitions, const uint64_t *thing,
                            unsigned field);

/* The class that an event's id names, itself or by an instance; NULL if it is not defined. */
const uint64_t *otf2_class_of(const struct otf2_definitions *definitions, uint64_t id);

/* The location that a rank of a communicator is: its id; absent if it is not known. */
struct pf_cell otf2_rank(const struct otf2_definitions *definitions, uint64_t comm, uint64_t rank);

/* ---- events.c ----------------------------------------------------------------------------------- */

/* The events of one location: its file, and what a second one says of its clock and of ids. For one thread. */

enum {
    OTF2_ENTER = 12,
    OTF2_LEAVE = 13,
    OTF2_SEND = 14,
    OTF2_ISEND = 15,
    OTF2_RECV = 18,
    OTF2_IRECV = 19,
    OTF2_METRIC = 31,
};

/* A correction of the clock, from this time on. */
struct otf2_offset {
    uint64_t time;
    int64_t offset;
};

/* Kinds of ids that a location may have of its own. */
enum otf2_mapped { OTF2_MAP_REGION, OTF2_MAP_METRIC, OTF2_MAP_COMM, OTF2_MAPS };

struct otf2_events {
    struct otf2_state *state;
    struct pf_input *input;
    struct otf2_reader reader, own; /* own: of what a second file says */
    PF_LIST(struct otf2_offset) offsets;
    size_t interval;               /* of offsets, that the last time lay in */
    struct pf_ids maps[OTF2_MAPS]; /* id in the events -> id in the definitions */
    uint64_t stamp;                /* of the last time record, as it stands in the file */
};

struct otf2_event {
    uint8_t type;
    pf_int128 time;            /* ns since the archive's beginning, rounded down */
    struct otf2_fields fields; /* what has not been taken yet; valid until the next event */
};

/*
 * Stands before the first event of the location with this id. 0; -1: there are none, *build->run->error says why: ENOENT if it has no
 * file, EINVAL if that is none. otf2_events_close is due in either case.
 */
int otf2_events_open(struct otf2_events *events, struct otf2_state *state, uint64_t location);
void otf2_events_close(struct otf2_events *events);

/* The next event. 1; 0: no more; -1: the file is damaged from here on, *build->run->error tells. */
int otf2_events_next(struct otf2_events *events, struct otf2_event *event);

/* An id that is taken from an event, as the definitions have it. */
uint32_t otf2_mapped(const struct otf2_events *events, enum otf2_mapped what, uint32_t id);

/* ---- calls.c ------------------------------------------------------------------------------------ */

/* Reads the events of all locations: makes the contexts, the values and the tables, and tells what is wrong. */
void otf2_follow(struct otf2_state *state);

#endif
