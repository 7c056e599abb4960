/* SPDX-License-Identifier: MIT */
/* The top level of a profile: its regions, in any order. */
#include <errno.h>
#include <stdio.h>

#include "formats/kit/sorter.h"
#include "formats/perun/perun.h"

/* Bytes between two calls of pf_pass_step. */
#define STEP ((uint64_t)256 * 1024)

int perun_step(struct perun_reading *reading, struct pf_error *error)
{
    uint64_t done, total, offset = pf_json_tell(reading->json);
    if (!reading->pass || offset - reading->stepped < STEP)
        return 0;
    reading->stepped = offset;
    pf_input_progress(reading->input, reading->body + offset, &done, &total);
    return pf_pass_step(reading->pass, done, total, error);
}

int perun_leave(struct perun_reading *reading, const struct pf_json_token *token, struct pf_error *error)
{
    bool open = token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY;
    return open ? pf_json_leave(reading->json, error) : 0;
}

int perun_wrong_kind(struct perun_reading *reading, const struct pf_json_token *token, const char *what,
                     struct pf_error *error)
{
    PERUN_NOTE(reading, token, PERUN_WRONG_KIND, "%s", what);
    return perun_leave(reading, token, error);
}

/* A region that resources stand in: its snapshot and time, or PERUN_NONE. */
struct region {
    uint32_t snapshot, time;
};

/* Reads an element of a list, whose first token is given: number i of the list, in this region. */
typedef int read_element(struct perun_reading *reading, const struct pf_json_token *token, int64_t i,
                         const struct region *region, struct pf_error *error);

/* The objects of a list, whose first token was read; anything else in it is passed over. */
static int read_list(struct perun_reading *reading, const struct pf_json_token *list, const char *what,
                     read_element *read, const struct region *region, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (list->event != PF_JSON_ARRAY)
        return perun_wrong_kind(reading, list, what, error);
    for (int64_t i = 0;
         (event = pf_json_next(reading->json, &token, error)) > 0 && event != PF_JSON_ARRAY_END; i++)
        if (perun_step(reading, error) ||
            (event == PF_JSON_OBJECT ? read(reading, &token, i, region, error)
                                     : perun_wrong_kind(reading, &token, what, error)))
            return -1;
    return event < 0 ? -1 : 0;
}

/* ---- resources and models ----------------------------------------------------------------------- */

static int read_resource(struct perun_reading *reading, const struct pf_json_token *token, int64_t i,
                         const struct region *region, struct pf_error *error)
{
    (void)token, (void)i;
    if (perun_read_object(reading, error) ||
        perun_keep(reading, reading->data->items, region->snapshot, region->time, error))
        return -1;
    reading->data->n_items++;
    return 0;
}

static int read_resources(struct perun_reading *reading, const struct region *region, struct pf_error *error)
{
    struct pf_json_token token;
    if (pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_OBJECT && region->snapshot == PERUN_NONE && region->time == PERUN_NONE)
        return perun_read_types(reading, error);
    return read_list(reading, &token, "a resource, or a list of these", read_resource, region, error);
}

static int read_models(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int more = pf_json_next(reading->json, &token, error) < 0 ? -1 : 1;
    if (more > 0 && token.event != PF_JSON_ARRAY)
        return perun_wrong_kind(reading, &token, "a list of models", error);
    while (more > 0)
        more = perun_step(reading, error) ? -1 : perun_read_model(reading, error);
    return more;
}

/* ---- snapshots and global ----------------------------------------------------------------------- */

/* The time of a region, which may stand behind its resources. */
static int read_time(struct perun_reading *reading, uint32_t time, struct pf_error *error)
{
    struct pf_json_token token;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_OBJECT || token.event == PF_JSON_ARRAY)
        return 0;
    return perun_set_time(reading->data, time, perun_value_of(reading, PERUN_TIME, &token), error);
}

/* A snapshot, or a global region, behind its first token. */
static int read_region(struct perun_reading *reading, const struct region *region, struct pf_error *error)
{
    struct pf_json_token name, rest;
    bool resources = false;
    int event;
    while ((event = pf_json_next(reading->json, &name, error)) == PF_JSON_NAME) {
        bool time = pf_json_is(&name, "time") || pf_json_is(&name, "timestamp"),
             list = pf_json_is(&name, "resources");
        resources |= list;
        if (time                          ? read_time(reading, region->time, error)
            : list                        ? read_resources(reading, region, error)
            : pf_json_is(&name, "models") ? read_models(reading, error)
                                          : pf_json_skip(reading->json, &rest, error) < 0)
            return -1;
    }
    if (event >= 0 && !resources && region->snapshot != PERUN_NONE)
        PERUN_NOTE(reading, &name, PERUN_NO_RESOURCES, NULL);
    return event < 0 ? -1 : 0;
}

/* Its number is its place in the list. */
static int read_snapshot(struct perun_reading *reading, const struct pf_json_token *token, int64_t i,
                         const struct region *none, struct pf_error *error)
{
    (void)token, (void)none;
    struct perun_data *data = reading->data;
    struct region region = {perun_snapshot(data, i, error), PERUN_NONE};
    if (region.snapshot == PERUN_NONE || (region.time = perun_new_time(data, error)) == PERUN_NONE)
        return -1;
    data->snapshots[region.snapshot].time = region.time;
    return read_region(reading, &region, error);
}

static int read_one_global(struct perun_reading *reading, struct pf_error *error)
{
    struct region region = {PERUN_NONE, perun_new_time(reading->data, error)};
    if (region.time == PERUN_NONE)
        return -1;
    if (reading->data->none_time == PERUN_NONE)
        reading->data->none_time = region.time;
    return read_region(reading, &region, error);
}

/*
 * Whether an element of a list of global regions, which json stands in, is a resource: by the first name that only one of the
 * two has. Comes back to where it was; damage is met again on the way.
 */
static int is_resource(struct perun_reading *reading, bool *resource, struct pf_error *error)
{
    static const char *const own[] = {"uid", "amount", "trace", "type", "subtype", "exclusive"};
    char position[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH_MAX / 8 + 8];
    size_t size = pf_json_save(reading->json, position, sizeof position);
    struct pf_json_token name, rest;
    bool region = *resource = false;
    while (!region && !*resource && pf_json_next(reading->json, &name, error) == PF_JSON_NAME) {
        region = pf_json_is(&name, "resources") || pf_json_is(&name, "models");
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            *resource |= pf_json_is(&name, own[i]);
        if (!region && !*resource && pf_json_skip(reading->json, &rest, error) < 0)
            break;
    }
    return pf_json_restore(reading->json, position, size, error);
}

/* A list of them may hold resources as well. */
static int read_global_element(struct perun_reading *reading, const struct pf_json_token *token, int64_t i,
                               const struct region *none, struct pf_error *error)
{
    bool resource;
    if (is_resource(reading, &resource, error))
        return -1;
    return resource ? read_resource(reading, token, i, none, error) : read_one_global(reading, error);
}

/* ---- the top level ------------------------------------------------------------------------------ */

enum { RESOURCES, TYPE_MAP, SNAPSHOTS, GLOBAL, MODELS, OTHER };

/* A member of the top level, behind its name. */
static int read_member(struct perun_reading *reading, const struct pf_json_token *name,
                       struct pf_error *error)
{
    static const char *const names[] = {[RESOURCES] = "resources",
                                        [TYPE_MAP] = "resource_type_map",
                                        [SNAPSHOTS] = "snapshots",
                                        [GLOBAL] = "global",
                                        [MODELS] = "models"};
    const struct region none = {PERUN_NONE, PERUN_NONE};
    struct pf_json_token token;
    int member = 0;
    while (member < OTHER && !pf_json_is(name, names[member]))
        member++;
    if (member == OTHER)
        return perun_read_shown(reading, name, error);
    reading->has_resources |= member < MODELS;
    if (member == MODELS)
        return read_models(reading, error);
    if (member == RESOURCES)
        return read_resources(reading, &none, error);
    if (pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (member == SNAPSHOTS)
        return read_list(reading, &token, "a snapshot, or a list of these", read_snapshot, &none, error);
    if (token.event == PF_JSON_OBJECT)
        return (member == TYPE_MAP ? perun_read_entries : read_one_global)(reading, error);
    return member == TYPE_MAP
               ? perun_wrong_kind(reading, &token, "an object", error)
               : read_list(reading, &token, "a global region", read_global_element, &none, error);
}

static int read_all(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event >= 0 && event != PF_JSON_OBJECT) {
        pf_fail_at(error, EBADMSG, (int64_t)token.offset, "the top level is not an object");
        error->line = (int64_t)token.line;
        return -1;
    }
    while (event >= 0 && (event = pf_json_next(reading->json, &token, error)) == PF_JSON_NAME)
        if (read_member(reading, &token, error))
            return -1;
    /* Whether anything follows. */
    if (event < 0 || pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (!reading->has_resources)
        pf_note(&reading->data->notes, &perun_problems[PERUN_NO_REGION], 0, -1, NULL);
    return 0;
}

/* Notes what ended reading; false: it was no damage. Where a stream was cut off, that says more than where the JSON in it ends. */
static bool note_damage(struct perun_reading *reading, const struct pf_error *error)
{
    struct pf_error damage;
    struct pf_notes *notes = &reading->data->notes;
    int64_t offset = error->offset < 0 ? -1 : error->offset + (int64_t)reading->body;
    if (error->code != EBADMSG && error->code != ENODATA && error->code != E2BIG)
        return false;
    if (pf_input_damage(reading->input, &damage))
        pf_note(notes, &perun_problems[PERUN_BAD_STREAM], 0, damage.offset, "%s", damage.what);
    else
        pf_note(notes, &perun_problems[PERUN_BAD_JSON], error->line, offset, "%s", error->what);
    return true;
}

int perun_read(struct perun_reading *reading, struct pf_error *error)
{
    uint64_t behind;
    if (read_all(reading, error) && !note_damage(reading, error))
        return -1;
    if (pf_input_trailing(reading->input, &behind))
        pf_note(&reading->data->notes, &perun_problems[PERUN_TRAILING], 0, (int64_t)behind, NULL);
    return perun_link_types(reading, error) || perun_name_models(reading->data, error) ? -1 : 0;
}
