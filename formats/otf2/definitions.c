/* SPDX-License-Identifier: MIT */
#include "formats/otf2/otf2.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"

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
        return pf_fail_at(error, EINVAL, 0, "not an anchor file");
    struct otf2_fields fields = {.at = bytes + 9, .end = bytes + got, .big_endian = bytes[1] == '#'};
    for (int i = 0; i < 3; i++)
        anchor->version[i] = otf2_byte(&fields);
    anchor->event_chunk = otf2_u64(&fields);
    anchor->definition_chunk = otf2_u64(&fields);
    uint8_t substrate = otf2_byte(&fields), compression = otf2_byte(&fields);
    anchor->locations = otf2_u64(&fields);
    otf2_u64(&fields); /* number of definitions, unused */
    anchor->machine = otf2_text(&fields, &size);
    anchor->creator = otf2_text(&fields, &size);
    anchor->description = otf2_text(&fields, &size);
    if (fields.bad)
        return pf_fail_at(error, EINVAL, got, "the anchor file is truncated");
    if (substrate != POSIX || compression > PLAIN)
        return pf_fail(error, EINVAL, "archives in one container or compressed are not supported");
    return 0;
}

/* ---- looking up definitions --------------------------------------------------------------------- */

struct pf_cell otf2_name_of(const struct otf2_definitions *definitions, const uint64_t *thing, unsigned field)
{
    const uint64_t *string = thing ? otf2_find(definitions, OTF2_STRINGS, thing[field]) : NULL;
    return string ? pf_name((uint32_t)string[OTF2_STRING_TEXT]) : pf_absent();
}

struct pf_cell otf2_text_of(const struct otf2_definitions *definitions, const uint64_t *thing, unsigned field)
{
    struct pf_cell name = otf2_name_of(definitions, thing, field);
    return name.type == PF_NAME ? pf_interned(definitions->strings, (uint32_t)name.u) : name;
}

const uint64_t *otf2_class_of(const struct otf2_definitions *definitions, uint64_t id)
{
    const uint64_t *class = otf2_find(definitions, OTF2_CLASSES, id),
                   *instance = otf2_find(definitions, OTF2_INSTANCES, id);
    return class || !instance ? class : otf2_find(definitions, OTF2_CLASSES, instance[OTF2_INSTANCE_CLASS]);
}

enum { ALL_LOCATIONS = 4, SELF = 6 }; /* values of OTF2_GROUP_TYPE */

struct pf_cell otf2_rank(const struct otf2_definitions *definitions, uint64_t comm, uint64_t rank)
{
    const uint64_t *known = otf2_find(definitions, OTF2_COMMS, comm), *group, *all;
    group = known ? otf2_find(definitions, OTF2_GROUPS, known[OTF2_COMM_GROUP]) : NULL;
    if (!group || group[OTF2_GROUP_TYPE] == SELF || rank >= group[OTF2_GROUP_COUNT])
        return pf_absent();
    uint64_t index = definitions->group_members.at[group[OTF2_GROUP_FIRST] + rank];
    /* The members of a communicator's group are indexes in its paradigm's list of all locations. */
    all = otf2_at(definitions, OTF2_GROUPS, definitions->all_locations[group[OTF2_GROUP_PARADIGM]] - 1);
    return all && index < all[OTF2_GROUP_COUNT]
               ? pf_uint(definitions->group_members.at[all[OTF2_GROUP_FIRST] + index])
               : pf_absent();
}

/* ---- records ------------------------------------------------------------------------------------ */

/*
 * Fields of each definition: `i` an id, `n` a 64-bit number, `b` a byte, `s` a string, `c` a list of counter ids, `m` a
 * list of group members. The field before a list is its length. Older writers may end the record at the `|`; the
 * missing fields are 0. The enums of fields in otf2.h name the positions.
 */
static const struct {
    enum otf2_kind kind;
    const char *fields;
} records[] = {
    [5] = {OTF2_CLOCKS, "nn"},
    [10] = {OTF2_STRINGS, "is"},
    [13] = {OTF2_LOCATION_GROUPS, "ii"},
    [14] = {OTF2_LOCATIONS, "nibni"},
    [15] = {OTF2_REGIONS, "iiibiii|ibb"},
    [18] = {OTF2_GROUPS, "iibim|bb"},
    [19] = {OTF2_MEMBERS, "iiibbbbni"},
    [20] = {OTF2_CLASSES, "ibcb"},
    [21] = {OTF2_INSTANCES, "ii"},
    [22] = {OTF2_COMMS, "iii"},
};

/* Appends up to `count` items of the record to a list, fewer if the record ends. Returns the index of the first. */
static uint64_t take_list(struct pf_build *build, struct otf2_list *list, uint64_t count, unsigned width,
                          struct otf2_fields *fields)
{
    size_t first = list->n;
    for (uint64_t i = 0; i < count && !fields->bad; i++) {
        pf_run_check(build->run,
                     pf_array_room(&list->at, &list->room, list->n, sizeof *list->at, build->run->error));
        list->at[list->n++] = otf2_number(fields, width);
    }
    return first;
}

static uint64_t otf2_read_text(struct otf2_state *state, struct otf2_fields *fields)
{
    size_t size;
    const char *text = otf2_text(fields, &size);
    return pf_build_intern(state->build, state->definitions.strings, text, size);
}

/* Adds a definition. The first one of an id wins. */
static void add_definition(struct otf2_state *state, enum otf2_kind kind, const uint64_t *fields,
                           size_t width)
{
    struct pf_build *build = state->build;
    struct otf2_things *things = &state->definitions.things[kind];
    things->width = width;
    pf_run_check(build->run, pf_array_room(&things->fields, &things->room, things->count,
                                           width * sizeof *fields, build->run->error));
    if (pf_run_check(build->run,
                     pf_ids_add(&things->places, fields[OTF2_ID], things->count, build->run->error)))
        memcpy(things->fields + things->count++ * width, fields, width * sizeof *fields);
}

/*
 * Reads a field; `form` is its letter in `records`. For a list, appends the items and returns the index of the first; `count`, the value
 * of the preceding field, is the list's length.
 */
static uint64_t take_field(struct otf2_state *state, char form, uint64_t count, struct otf2_fields *from)
{
    struct otf2_definitions *definitions = &state->definitions;
    return form == 'i'   ? otf2_id(from)
           : form == 'n' ? otf2_number(from, 8)
           : form == 'b' ? otf2_byte(from)
           : form == 's' ? otf2_read_text(state, from)
           : form == 'c' ? take_list(state->build, &definitions->class_members, count, 4, from)
                         : take_list(state->build, &definitions->group_members, count, 8, from);
}

static void take_definition(struct otf2_state *state, struct otf2_record *record)
{
    enum { FIELDS = 16 };
    struct pf_build *build = state->build;
    struct otf2_fields *from = &record->fields;
    uint64_t fields[FIELDS] = {0};
    bool optional = false;
    size_t n = 0;
    if (record->type >= sizeof records / sizeof *records || !records[record->type].fields)
        return;
    for (const char *form = records[record->type].fields; *form; form++) {
        if (*form == '|')
            optional = true;
        else if (optional && from->at == from->end)
            fields[n++] = 0;
        else {
            fields[n] = take_field(state, *form, n ? fields[n - 1] : 0, from);
            n++;
        }
    }
    if (!from->bad)
        add_definition(state, records[record->type].kind, fields, n);
    else
        pf_build_warn(build, 0, record->offset, "error", "definition",
                      "definition of kind %u is too short: skipped", record->type);
}

/* Sets definitions->all_locations. The first group of all locations in each paradigm wins. */
static void index_groups(struct otf2_definitions *definitions)
{
    const uint64_t *group;
    for (uint32_t i = otf2_count(definitions, OTF2_GROUPS); i--;) {
        group = otf2_at(definitions, OTF2_GROUPS, i);
        if (group[OTF2_GROUP_TYPE] == ALL_LOCATIONS)
            definitions->all_locations[group[OTF2_GROUP_PARADIGM]] = i + 1;
    }
}

static void close_reader(void *reader)
{
    otf2_reader_close(reader);
}

void otf2_read_definitions(struct otf2_state *state)
{
    struct pf_build *build = state->build;
    struct otf2_reader *reader = PF_OWN(build->run, calloc(1, sizeof *reader), free);
    struct otf2_record record;
    pf_own(build->run, reader, close_reader);
    state->definitions.strings = pf_strings_new();
    if (!state->definitions.strings)
        pf_run_check(build->run, pf_fail_memory(build->run->error));
    pf_run_check(build->run, otf2_reader_open(reader, state->global, state->anchor.definition_chunk, false,
                                              build->run->error));
    int more;
    for (uint64_t i = 0; (more = otf2_got(build, otf2_next(reader, &record, build->run->error))) > 0; i++) {
        if (i % 4096 == 0)
            pf_run_check(build->run, pf_pass_step(reader->at, reader->size, build->run->error));
        take_definition(state, &record);
    }
    if (more < 0)
        pf_build_warn(build, 0, build->run->error->offset, "fatal", "definitions",
                      "reading of global definitions ends here: %.150s", build->run->error->what);
    index_groups(&state->definitions);
    uint32_t found = otf2_count(&state->definitions, OTF2_LOCATIONS);
    if (found != state->anchor.locations)
        pf_build_warn(build, 0, -1, "warning", "locations", "%u locations defined, %llu declared", found,
                      (unsigned long long)state->anchor.locations);
}

void otf2_free_definitions(struct otf2_definitions *definitions)
{
    for (int i = 0; i < OTF2_KINDS; i++) {
        free(definitions->things[i].fields);
        pf_ids_free(&definitions->things[i].places);
    }
    free(definitions->class_members.at);
    free(definitions->group_members.at);
    pf_strings_free(definitions->strings);
    *definitions = (struct otf2_definitions){0};
}
