/* SPDX-License-Identifier: MIT */
#include "formats/otf2/definitions.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/otf2/reader.h"

/* ---- the anchor --------------------------------------------------------------------------------- */

int otf2_anchor_read(struct otf2_anchor *anchor, struct pf_input *input, struct pf_error *error)
{
    enum { POSIX = 1, PLAIN = 1 };
    size_t size;
    *anchor = (struct otf2_anchor){.machine = ""};
    ssize_t got = pf_input_read(input, anchor->text, sizeof anchor->text, 0, error);
    if (got < 0)
        return -1;
    const unsigned char *bytes = (const unsigned char *)anchor->text;
    if (got < 9 || bytes[0] != OTF2_CHUNK || (bytes[1] != 'B' && bytes[1] != '#') ||
        memcmp(bytes + 2, "OTF2", 4) != 0)
        return pf_fail_at(error, EINVAL, 0, "no anchor of an archive");
    struct otf2_fields fields = {.at = bytes + 9, .end = bytes + got, .big_endian = bytes[1] == '#'};
    for (int i = 0; i < 3; i++)
        anchor->version[i] = otf2_byte(&fields);
    anchor->event_chunk = otf2_u64(&fields);
    anchor->definition_chunk = otf2_u64(&fields);
    uint8_t substrate = otf2_byte(&fields), compression = otf2_byte(&fields);
    anchor->locations = otf2_u64(&fields);
    anchor->definitions = otf2_u64(&fields);
    anchor->machine = otf2_text(&fields, &size);
    anchor->creator = otf2_text(&fields, &size);
    anchor->description = otf2_text(&fields, &size);
    if (fields.bad)
        return pf_fail_at(error, EINVAL, got, "the anchor is cut off");
    if (substrate != POSIX || compression > PLAIN)
        return pf_fail(error, EINVAL, "an archive in one container, or compressed, which is not read");
    return 0;
}

/* ---- things ------------------------------------------------------------------------------------- */

static const size_t sizes[OTF2_KINDS] = {
    [OTF2_STRINGS] = sizeof(uint32_t),
    [OTF2_LOCATIONS] = sizeof(struct otf2_location),
    [OTF2_LOCATION_GROUPS] = sizeof(struct otf2_location_group),
    [OTF2_REGIONS] = sizeof(struct otf2_region),
    [OTF2_MEMBERS] = sizeof(struct otf2_member),
    [OTF2_CLASSES] = sizeof(struct otf2_class),
    [OTF2_GROUPS] = sizeof(struct otf2_group),
    [OTF2_COMMS] = sizeof(struct otf2_comm),
};

uint32_t otf2_find(const struct otf2_definitions *definitions, enum otf2_kind kind, uint64_t id)
{
    uintptr_t place = (uintptr_t)pf_map_get(&definitions->things[kind].by_id, id);
    return place ? (uint32_t)(place - 1) : OTF2_NONE;
}

/* Of two definitions of one id the first counts. */
static int add(struct otf2_definitions *definitions, enum otf2_kind kind, uint64_t id, const void *item,
               struct pf_error *error)
{
    struct otf2_things *things = &definitions->things[kind];
    if (pf_map_get(&things->by_id, id))
        return 0;
    if (pf_array_room(&things->items, &things->room, things->count, sizes[kind], error))
        return -1;
    memcpy((char *)things->items + things->count * sizes[kind], item, sizes[kind]);
    things->count++;
    return pf_map_put(&things->by_id, id, (void *)(uintptr_t)things->count) ? 0 : pf_fail_memory(error);
}

struct pf_cell otf2_string(const struct otf2_definitions *definitions, uint32_t id)
{
    uint32_t place = otf2_find(definitions, OTF2_STRINGS, id);
    const uint32_t *numbers = definitions->things[OTF2_STRINGS].items;
    return place == OTF2_NONE ? pf_absent() : pf_interned(definitions->strings, numbers[place]);
}

const struct otf2_class *otf2_class_of(const struct otf2_definitions *definitions, uint32_t id)
{
    const struct otf2_class *classes = definitions->things[OTF2_CLASSES].items;
    uint32_t place = otf2_find(definitions, OTF2_CLASSES, id);
    if (place != OTF2_NONE && classes[place].of != OTF2_NONE)
        place = otf2_find(definitions, OTF2_CLASSES, classes[place].of);
    return place == OTF2_NONE || classes[place].of != OTF2_NONE ? NULL : &classes[place];
}

bool otf2_rank(const struct otf2_definitions *definitions, uint32_t comm, uint32_t rank, uint64_t *location)
{
    enum { ALL_LOCATIONS = 4, SELF = 6 };
    const struct otf2_comm *comms = definitions->things[OTF2_COMMS].items;
    const struct otf2_group *groups = definitions->things[OTF2_GROUPS].items;
    uint32_t place = otf2_find(definitions, OTF2_COMMS, comm);
    place = place == OTF2_NONE ? OTF2_NONE : otf2_find(definitions, OTF2_GROUPS, comms[place].group);
    if (place == OTF2_NONE || groups[place].type == SELF || rank >= groups[place].count)
        return false;
    uint64_t index = definitions->group_members[groups[place].first + rank];
    /* A communicator's members are indexes in the list of all locations of its paradigm. */
    for (uint32_t i = 0; i < definitions->things[OTF2_GROUPS].count; i++)
        if (groups[i].type == ALL_LOCATIONS && groups[i].paradigm == groups[place].paradigm) {
            if (index >= groups[i].count)
                return false;
            *location = definitions->group_members[groups[i].first + index];
            return true;
        }
    return false;
}

/* ---- records ------------------------------------------------------------------------------------ */

static int add_string(struct otf2_definitions *definitions, struct otf2_fields *fields,
                      struct pf_error *error)
{
    size_t size;
    uint32_t id = otf2_id(fields);
    const char *text = otf2_text(fields, &size);
    uint32_t number = pf_intern(definitions->strings, text, size, error);
    if (number == PF_NO_STRING)
        return -1;
    return fields->bad ? 0 : add(definitions, OTF2_STRINGS, id, &number, error);
}

static int add_location(struct otf2_definitions *definitions, struct otf2_fields *fields,
                        struct pf_error *error)
{
    struct otf2_location location = {.id = otf2_number(fields, 8), .name = otf2_id(fields)};
    location.type = otf2_byte(fields);
    location.announced = otf2_number(fields, 8);
    location.group = otf2_id(fields);
    return fields->bad ? 0 : add(definitions, OTF2_LOCATIONS, location.id, &location, error);
}

static int add_region(struct otf2_definitions *definitions, struct otf2_fields *fields,
                      struct pf_error *error)
{
    struct otf2_region region = {.id = otf2_id(fields), .name = otf2_id(fields)};
    otf2_id(fields);   /* description */
    otf2_byte(fields); /* what versions before 1.1 told of it */
    region.file = otf2_id(fields);
    region.line = otf2_id(fields);
    otf2_id(fields); /* its last line */
    otf2_id(fields); /* canonical name */
    otf2_byte(fields);
    region.paradigm = otf2_byte(fields);
    return fields->bad ? 0 : add(definitions, OTF2_REGIONS, region.id, &region, error);
}

static int add_member(struct otf2_definitions *definitions, struct otf2_fields *fields,
                      struct pf_error *error)
{
    struct otf2_member member = {.id = otf2_id(fields), .name = otf2_id(fields)};
    otf2_id(fields);   /* description */
    otf2_byte(fields); /* PAPI, resource usage, ... */
    member.mode = otf2_byte(fields);
    member.type = otf2_byte(fields);
    otf2_byte(fields); /* base and exponent of its scale */
    otf2_number(fields, 8);
    member.unit = otf2_id(fields);
    return fields->bad ? 0 : add(definitions, OTF2_MEMBERS, member.id, &member, error);
}

static int add_class(struct otf2_definitions *definitions, struct otf2_fields *fields, struct pf_error *error)
{
    struct otf2_class class = {
        .id = otf2_id(fields), .first = (uint32_t)definitions->n_class_members, .of = OTF2_NONE};
    class.count = otf2_byte(fields);
    for (uint32_t i = 0; i < class.count && !fields->bad; i++) {
        if (pf_array_room(&definitions->class_members, &definitions->class_members_room,
                          definitions->n_class_members, sizeof *definitions->class_members, error))
            return -1;
        definitions->class_members[definitions->n_class_members++] = otf2_id(fields);
    }
    class.strict = otf2_byte(fields) == 0;
    return fields->bad ? 0 : add(definitions, OTF2_CLASSES, class.id, &class, error);
}

static int add_instance(struct otf2_definitions *definitions, struct otf2_fields *fields,
                        struct pf_error *error)
{
    struct otf2_class class = {.id = otf2_id(fields), .of = otf2_id(fields)};
    return fields->bad ? 0 : add(definitions, OTF2_CLASSES, class.id, &class, error);
}

static int add_group(struct otf2_definitions *definitions, struct otf2_fields *fields, struct pf_error *error)
{
    struct otf2_group group = {.id = otf2_id(fields), .first = (uint32_t)definitions->n_group_members};
    otf2_id(fields);   /* name */
    otf2_byte(fields); /* type and flags of versions before 1.2 */
    uint32_t announced = otf2_id(fields);
    for (; group.count < announced && !fields->bad; group.count++) {
        if (pf_array_room(&definitions->group_members, &definitions->group_members_room,
                          definitions->n_group_members, sizeof *definitions->group_members, error))
            return -1;
        definitions->group_members[definitions->n_group_members++] = otf2_number(fields, 8);
    }
    group.type = otf2_byte(fields);
    group.paradigm = otf2_byte(fields);
    return fields->bad ? 0 : add(definitions, OTF2_GROUPS, group.id, &group, error);
}

static int add_record(struct otf2_definitions *definitions, struct otf2_record *record,
                      struct pf_error *error)
{
    enum {
        CLOCK = 5,
        STRING = 10,
        LOCATION_GROUP = 13,
        LOCATION = 14,
        REGION = 15,
        GROUP = 18,
        MEMBER = 19,
        CLASS = 20,
        INSTANCE = 21,
        COMM = 22
    };
    struct otf2_fields *fields = &record->fields;
    struct otf2_location_group group;
    struct otf2_comm comm;
    switch (record->type) {
    case CLOCK:
        definitions->ticks_per_second = otf2_number(fields, 8);
        definitions->offset = otf2_number(fields, 8);
        return 0;
    case STRING:
        return add_string(definitions, fields, error);
    case LOCATION_GROUP:
        group.id = otf2_id(fields);
        group.name = otf2_id(fields);
        return fields->bad ? 0 : add(definitions, OTF2_LOCATION_GROUPS, group.id, &group, error);
    case LOCATION:
        return add_location(definitions, fields, error);
    case REGION:
        return add_region(definitions, fields, error);
    case GROUP:
        return add_group(definitions, fields, error);
    case MEMBER:
        return add_member(definitions, fields, error);
    case CLASS:
        return add_class(definitions, fields, error);
    case INSTANCE:
        return add_instance(definitions, fields, error);
    case COMM:
        comm.id = otf2_id(fields);
        comm.name = otf2_id(fields);
        comm.group = otf2_id(fields);
        return fields->bad ? 0 : add(definitions, OTF2_COMMS, comm.id, &comm, error);
    default:
        return 0;
    }
}

static int read_records(struct otf2_definitions *definitions, struct pf_profile *profile,
                        struct otf2_reader *reader, struct pf_pass *pass, struct pf_error *error)
{
    struct otf2_record record;
    int more;
    for (uint64_t i = 0; (more = otf2_next(reader, &record, error)) > 0; i++) {
        if (i % 4096 == 0 && pf_pass_step(pass, reader->at, reader->size, error))
            return -1;
        if (add_record(definitions, &record, error))
            return -1;
        if (record.fields.bad &&
            pf_warn(profile, 0, (int64_t)record.offset, "error", "definition", error,
                    "a definition of kind %u is shorter than it should be: left out", record.type))
            return -1;
    }
    if (more < 0 && error->code == EINVAL)
        return pf_warn(profile, 0, error->offset, "fatal", "definitions", error,
                       "the global definitions end here: %.150s", error->what);
    return more;
}

int otf2_definitions_read(struct otf2_definitions *definitions, struct pf_profile *profile,
                          struct pf_input *input, const struct otf2_anchor *anchor, struct pf_pass *pass,
                          struct pf_error *error)
{
    struct otf2_reader reader;
    *definitions = (struct otf2_definitions){.strings = pf_strings_new()};
    if (!definitions->strings)
        return pf_fail_memory(error);
    int failed = otf2_reader_open(&reader, input, anchor->definition_chunk, false, error) ||
                 read_records(definitions, profile, &reader, pass, error);
    otf2_reader_close(&reader);
    if (failed)
        return -1;
    uint32_t found = definitions->things[OTF2_LOCATIONS].count;
    return found == anchor->locations ? 0
                                      : pf_warn(profile, 0, -1, "warning", "locations", error,
                                                "%u locations are defined, %llu announced", found,
                                                (unsigned long long)anchor->locations);
}

void otf2_definitions_free(struct otf2_definitions *definitions)
{
    for (int i = 0; i < OTF2_KINDS; i++) {
        free(definitions->things[i].items);
        pf_map_free(&definitions->things[i].by_id);
    }
    free(definitions->class_members);
    free(definitions->group_members);
    pf_strings_free(definitions->strings);
    *definitions = (struct otf2_definitions){0};
}
