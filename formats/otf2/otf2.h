/* SPDX-License-Identifier: MIT */
#ifndef OTF2_H
#define OTF2_H

#include "formats/kit/ids.h"
#include "formats/otf2/reader.h"
#include "formats/runtime/build.h"

/*
 * OTF2 archives as written by Score-P: a folder with an anchor (NAME.otf2), global definitions (NAME.def) and, in
 * NAME/, one file of events and one of definitions per location. Partitions are locations; contexts are call paths of
 * regions.
 */

/* The anchor file NAME.otf2, which identifies an archive. The strings point into `text`. */
struct otf2_anchor {
    unsigned version[3];
    uint64_t event_chunk, definition_chunk; /* chunk sizes, in bytes */
    uint64_t locations;                     /* declared number of locations */
    const char *machine, *creator, *description;
    char text[4096];
};

/* Kinds of definitions that are kept. The enums below name their fields, in record order; field 0 is the id, except in clocks. */
enum otf2_kind {
    OTF2_CLOCKS,
    OTF2_STRINGS,
    OTF2_LOCATION_GROUPS,
    OTF2_LOCATIONS,
    OTF2_REGIONS,
    OTF2_GROUPS,
    OTF2_MEMBERS,   /* counters */
    OTF2_CLASSES,   /* metric classes: which counters a metric event reads */
    OTF2_INSTANCES, /* instances of metric classes */
    OTF2_COMMS,
    OTF2_KINDS
};
enum { OTF2_ID, OTF2_NAME };
enum { OTF2_CLOCK_TICKS, OTF2_CLOCK_OFFSET };
enum { OTF2_STRING_TEXT = 1 }; /* number of a string of definitions.strings */
enum { OTF2_LOCATION_TYPE = 2, OTF2_LOCATION_EVENTS, OTF2_LOCATION_GROUP };
enum { OTF2_REGION_FILE = 4, OTF2_REGION_LINE, OTF2_REGION_PARADIGM = 9 };
enum { OTF2_PARADIGMS = 256 }; /* number of values of a paradigm, a byte in the file */
enum { OTF2_GROUP_COUNT = 3, OTF2_GROUP_FIRST, OTF2_GROUP_TYPE, OTF2_GROUP_PARADIGM };
enum { OTF2_MEMBER_MODE = 4, OTF2_MEMBER_TYPE, OTF2_MEMBER_UNIT = 8 };
enum { OTF2_CLASS_COUNT = 1, OTF2_CLASS_FIRST, OTF2_CLASS_OCCURRENCE };
enum { OTF2_INSTANCE_CLASS = 1 };
enum { OTF2_COMM_GROUP = 2 };

#define OTF2_NONE UINT32_MAX

/*
 * The global definitions. Ids are sparse and arbitrary, so a definition is also identified by its place, which is its
 * index in file order. Filled by one thread, then immutable and shared by all.
 */
struct otf2_definitions {
    struct pf_strings *strings;
    struct otf2_things {
        uint64_t *fields; /* fields of definition i start at i * width */
        size_t width, room;
        uint32_t count;
        struct pf_ids places; /* id -> place */
    } things[OTF2_KINDS];
    /*
     * class_members has the counter ids of all classes, group_members the members of all groups (ids of locations, or
     * indexes in a list of them). The items of a definition begin at the index in its field FIRST.
     */
    struct otf2_list {
        uint64_t *at;
        size_t n, room;
    } class_members, group_members;
    /* Place of the group of all locations in each paradigm, plus 1; 0: none. */
    uint32_t all_locations[OTF2_PARADIGMS];
};

/*
 * The metrics are the calls, the calls with nested calls of the same function ("calls (inc)"), the time and, from OTF2_COUNTERS on, the
 * counters.
 */
enum { OTF2_CALLS, OTF2_HELD_CALLS, OTF2_TIME_METRIC, OTF2_COUNTERS };

/* Tables specific to the format. */
enum { OTF2_MESSAGES, OTF2_READINGS };
enum { OTF2_MESSAGE_COLUMNS = 9, OTF2_READING_COLUMNS = 5 };

struct otf2_state {
    struct pf_build *build;
    char archive[256]; /* NAME */
    struct otf2_anchor anchor;
    struct pf_input *global;
    struct otf2_definitions definitions; /* valid from PF_PARTITIONED on */
    /* Metric of each counter, by place; valid while events are read. -1: none; -2: the counter has the name of a built-in metric. */
    int *counter;
    uint32_t *unknown; /* ids of undefined regions, whose numbers follow those of the defined ones */
    size_t n_unknown, unknown_room;
};

/* ---- definitions.c ------------------------------------------------------------------------------ */

/* Reads the anchor. Returns 0; or -1 with *error filled: EINVAL if it is not an anchor, or not a supported one. */
int otf2_anchor_read(struct otf2_anchor *anchor, struct pf_input *input, struct pf_error *error);

/* Reads the global definitions. Warns of damage, and keeps the definitions before it. */
void otf2_read_definitions(struct otf2_state *state);
void otf2_free_definitions(struct otf2_definitions *definitions);

static inline uint32_t otf2_count(const struct otf2_definitions *definitions, enum otf2_kind kind)
{
    return definitions->things[kind].count;
}

/* Returns the fields of the definition at a place; NULL for OTF2_NONE and beyond the last place. */
static inline const uint64_t *otf2_at(const struct otf2_definitions *definitions, enum otf2_kind kind,
                                      uint32_t place)
{
    const struct otf2_things *things = &definitions->things[kind];
    return place < things->count ? things->fields + place * things->width : NULL;
}

/* Returns the place of an id; OTF2_NONE if undefined. */
static inline uint32_t otf2_place(const struct otf2_definitions *definitions, enum otf2_kind kind,
                                  uint64_t id)
{
    return pf_ids_find(&definitions->things[kind].places, id);
}

/* Returns the fields of the definition with an id; NULL if undefined. */
static inline const uint64_t *otf2_find(const struct otf2_definitions *definitions, enum otf2_kind kind,
                                        uint64_t id)
{
    return otf2_at(definitions, kind, otf2_place(definitions, kind, id));
}

/* Returns the string that a field of a definition refers to; absent if `thing` is NULL or the string is undefined. */
struct pf_cell otf2_text_of(const struct otf2_definitions *definitions, const uint64_t *thing,
                            unsigned field);

/* Like otf2_text_of, but the cell is suitable for a stored row. */
struct pf_cell otf2_name_of(const struct otf2_definitions *definitions, const uint64_t *thing,
                            unsigned field);

/* Returns the metric class of a metric event, whose `id` refers to a class or to an instance of a class. NULL if undefined. */
const uint64_t *otf2_class_of(const struct otf2_definitions *definitions, uint64_t id);

/* Returns the id of the location that has a rank in a communicator; absent if unknown. */
struct pf_cell otf2_rank(const struct otf2_definitions *definitions, uint64_t comm, uint64_t rank);

/* ---- events.c ----------------------------------------------------------------------------------- */

/* Types of the event records that are evaluated. */
enum {
    OTF2_ENTER = 12,
    OTF2_LEAVE = 13,
    OTF2_SEND = 14,
    OTF2_ISEND = 15,
    OTF2_RECV = 18,
    OTF2_IRECV = 19,
    OTF2_METRIC = 31,
};

/* The offset of a location's clock at one time. Offsets at times in between are interpolated. */
struct otf2_offset {
    uint64_t time;
    int64_t offset;
};

/* Kinds of ids that a location may map. */
enum otf2_mapped { OTF2_MAP_REGION, OTF2_MAP_METRIC, OTF2_MAP_COMM, OTF2_MAPS };

/*
 * A reader of the events of one location. It also reads the location's own definitions, which hold clock corrections and id mappings. Not
 * thread-safe.
 */
struct otf2_events {
    struct otf2_state *state;
    struct pf_input *input;
    struct otf2_reader reader, own; /* own: reader of the location's own definitions */
    PF_LIST(struct otf2_offset) offsets;
    struct pf_ids maps[OTF2_MAPS]; /* id in the events -> global id */
    uint64_t stamp;                /* last timestamp record, in ticks of the location's clock */
};

struct otf2_event {
    uint8_t type;
    pf_int128 time;            /* ns since the beginning of the trace, rounded down */
    struct otf2_fields fields; /* the fields not yet read; valid until the next event */
};

/*
 * Opens the events of the location with this id. Returns 0; or -1 with *build->run->error filled: ENOENT if the
 * location has no file, EINVAL if it is not a file of events. The caller must call otf2_events_close in either case.
 */
int otf2_events_open(struct otf2_events *events, struct otf2_state *state, uint64_t location);
void otf2_events_close(struct otf2_events *events);

/*
 * Reads the next event. Returns 1; 0 at the end; -1 with *build->run->error filled if the file is damaged from here on.
 */
int otf2_events_next(struct otf2_events *events, struct otf2_event *event);

/* Maps an id of an event to the global id; returns `id` unchanged if the location does not map it. */
uint32_t otf2_mapped(const struct otf2_events *events, enum otf2_mapped what, uint32_t id);

/* ---- calls.c ------------------------------------------------------------------------------------ */

/* Reads the events of all locations. Makes the contexts, the values and the tables, and warns of problems. */
void otf2_follow(struct otf2_state *state);

#endif
