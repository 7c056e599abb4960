/* SPDX-License-Identifier: MIT */
#ifndef OTF2_DEFINITIONS_H
#define OTF2_DEFINITIONS_H

#include "formats/driver.h"
#include "formats/kit/table.h"

/*
 * What the files beside the events tell: the anchor, and the definitions that all locations share. Ids are sparse and choose
 * themselves; here things are known by their places in arrays. Filled by one thread, then read by all.
 */

#define OTF2_NONE UINT32_MAX

/* The file NAME.otf2, by which an archive is known. Strings stand behind each other in `text`. */
struct otf2_anchor {
    unsigned version[3];
    uint64_t event_chunk, definition_chunk; /* bytes */
    uint64_t locations, definitions;        /* announced */
    const char *machine, *creator, *description;
    char text[4096];
};

struct otf2_location {
    uint64_t id, announced; /* events */
    uint32_t name, group;   /* a string's id, a group's id */
    uint8_t type;
};

struct otf2_location_group {
    uint32_t id, name;
};

struct otf2_region {
    uint32_t id, name, file, line; /* ids of strings */
    uint8_t paradigm;
};

/* One counter of a class of metrics. */
struct otf2_member {
    uint32_t id, name, unit;
    uint8_t mode, type;
};

/* Of a class, which counters its events have: places [first, first + count) in class_members; of an instance, its class. */
struct otf2_class {
    uint32_t id, first, count, of; /* of: id of the class, OTF2_NONE if this is one */
    bool strict;                   /* read right before each enter and leave */
};

struct otf2_group {
    uint32_t id, first, count; /* places in group_members */
    uint8_t type, paradigm;
};

struct otf2_comm {
    uint32_t id, name, group;
};

/* Things of a kind, and where each id stands among them. */
struct otf2_things {
    void *items;
    size_t room;
    uint32_t count;
    struct pf_map by_id; /* place + 1 */
};

enum otf2_kind {
    OTF2_STRINGS,
    OTF2_LOCATIONS,
    OTF2_LOCATION_GROUPS,
    OTF2_REGIONS,
    OTF2_MEMBERS,
    OTF2_CLASSES,
    OTF2_GROUPS,
    OTF2_COMMS,
    OTF2_KINDS
};

struct otf2_definitions {
    uint64_t ticks_per_second, offset;
    struct pf_strings *strings;            /* texts; the items of OTF2_STRINGS are their numbers, u32 */
    struct otf2_things things[OTF2_KINDS]; /* in the order of the file */
    uint32_t *class_members;               /* ids of counters */
    size_t n_class_members, class_members_room;
    uint64_t *group_members; /* locations, or indexes of them */
    size_t n_group_members, group_members_room;
};

/* Reads the anchor. 0; or -1 with *error filled, EINVAL if it is none, or one that cannot be read. */
int otf2_anchor_read(struct otf2_anchor *anchor, struct pf_input *input, struct pf_error *error);

/* Reads the global definitions; damage is warned of, what stands before it is kept. 0, or -1 with *error filled. */
int otf2_definitions_read(struct otf2_definitions *definitions, struct pf_profile *profile,
                          struct pf_input *input, const struct otf2_anchor *anchor, struct pf_pass *pass,
                          struct pf_error *error);
void otf2_definitions_free(struct otf2_definitions *definitions);

/* The place of an id among the things of a kind; OTF2_NONE: it is not defined. */
uint32_t otf2_find(const struct otf2_definitions *definitions, enum otf2_kind kind, uint64_t id);

/* The text of a string's id; absent if there is none. */
struct pf_cell otf2_string(const struct otf2_definitions *definitions, uint32_t id);

static inline const struct otf2_location *otf2_locations(const struct otf2_definitions *definitions)
{
    return definitions->things[OTF2_LOCATIONS].items;
}

static inline const struct otf2_region *otf2_regions(const struct otf2_definitions *definitions)
{
    return definitions->things[OTF2_REGIONS].items;
}

static inline const struct otf2_member *otf2_members(const struct otf2_definitions *definitions)
{
    return definitions->things[OTF2_MEMBERS].items;
}

/* The class that an event's id names, itself or by an instance; NULL if it is not defined. */
const struct otf2_class *otf2_class_of(const struct otf2_definitions *definitions, uint32_t id);

/* The id of the location that a rank of a communicator is; false if it is not known. */
bool otf2_rank(const struct otf2_definitions *definitions, uint32_t comm, uint32_t rank, uint64_t *location);

#endif
