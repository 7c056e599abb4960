/* SPDX-License-Identifier: MIT */
/* The top level of a profile: its regions, in any order. */
#include <errno.h>
#include <stdlib.h>

#include "formats/perun/read.h"

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

/* A region that is not what it should be is passed over. */
static int wrong_kind(struct perun_reading *reading, const struct pf_json_token *token, const char *what,
                      struct pf_error *error)
{
    PERUN_NOTE_AT(reading, token, "warning", "wrong-kind", "left out: this is not %s", what);
    bool open = token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY;
    return open ? pf_json_leave(reading->json, error) : 0;
}

/* An object of a list, behind its first token. */
struct element {
    struct pf_json_token token;
    int64_t position; /* in the list, from 0 */
};

/* Calls `one` for each object of a list (behind the list's first token); anything else in it is passed over. */
static int each_object(struct perun_reading *reading, const char *what,
                       int (*one)(struct perun_reading *, struct element *, void *, struct pf_error *),
                       void *arg, struct pf_error *error)
{
    struct element element = {.position = 0};
    int event;
    for (; (event = pf_json_next(reading->json, &element.token, error)) > 0 && event != PF_JSON_ARRAY_END;
         element.position++) {
        if (perun_step(reading, error))
            return -1;
        if (event == PF_JSON_OBJECT ? one(reading, &element, arg, error)
                                    : wrong_kind(reading, &element.token, what, error))
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* ---- resources as objects ----------------------------------------------------------------------- */

/* The region that resources stand in. */
struct group {
    uint32_t snapshot, time;
};

/* What was read of a resource onto the tape. */
static int write_resource(struct perun_reading *reading, const struct group *group, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    if (perun_find_place(reading, error) || perun_put(&data->items, &(unsigned char){PERUN_OBJECT}, 1, error))
        return -1;
    data->n_items++;
    return perun_write_properties(reading, &data->items, group->snapshot, group->time, error);
}

/* Resources that are written like the ones before. */
static int read_alike(struct perun_reading *reading, const struct group *group, struct pf_error *error)
{
    int more;
    while ((more = perun_match_object(reading, error)) > 0)
        if (write_resource(reading, group, error))
            return -1;
    return more;
}

static int read_resource(struct perun_reading *reading, struct element *element, void *arg,
                         struct pf_error *error)
{
    const struct group *group = arg;
    if (perun_read_properties(reading, error))
        return -1;
    perun_learn_object(reading, element->token.offset);
    return write_resource(reading, group, error) || read_alike(reading, group, error) ? -1 : 0;
}

static int read_resources(struct perun_reading *reading, struct group *group, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0)
        return -1;
    if (event == PF_JSON_ARRAY)
        return each_object(reading, "a resource", read_resource, group, error);
    if (event == PF_JSON_OBJECT && group->snapshot == PERUN_NONE && group->time == PERUN_NONE)
        return perun_read_types(reading, error);
    return wrong_kind(reading, &token, "a list of resources", error);
}

static int read_top_resources(struct perun_reading *reading, struct pf_error *error)
{
    return read_resources(reading, &(struct group){PERUN_NONE, PERUN_NONE}, error);
}

static int read_one_model(struct perun_reading *reading, struct element *element, void *arg,
                          struct pf_error *error)
{
    (void)element;
    (void)arg;
    return perun_read_model(reading, error);
}

static int read_models(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0)
        return -1;
    return event == PF_JSON_ARRAY ? each_object(reading, "a model", read_one_model, NULL, error)
                                  : wrong_kind(reading, &token, "a list of models", error);
}

/* ---- snapshots and global ----------------------------------------------------------------------- */

/* The time of a group, which may stand behind its resources. */
static int read_time(struct perun_reading *reading, struct group *group, struct pf_error *error)
{
    struct pf_json_token token;
    struct perun_value value;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_OBJECT || token.event == PF_JSON_ARRAY)
        return 0;
    reading->texts.size = 0;
    if (perun_read_value(reading, PERUN_TIME, &token, &value, error))
        return -1;
    if (value.cell.type == PF_TEXT)
        value.cell.text = reading->texts.at + value.text;
    return perun_data_set_time(reading->data, group->time, &value.cell, error);
}

/* A snapshot, or the global region, behind its first token. */
static int read_group(struct perun_reading *reading, struct group *group, struct pf_error *error)
{
    struct pf_json_token name, rest;
    bool resources = false;
    int event;
    while ((event = pf_json_next(reading->json, &name, error)) == PF_JSON_NAME) {
        int failed;
        if (pf_json_is(&name, "time") || pf_json_is(&name, "timestamp"))
            failed = read_time(reading, group, error);
        else if (pf_json_is(&name, "resources")) {
            resources = true;
            failed = read_resources(reading, group, error);
        } else if (pf_json_is(&name, "models"))
            failed = read_models(reading, error);
        else
            failed = pf_json_skip(reading->json, &rest, error) < 0;
        if (failed)
            return -1;
    }
    if (event >= 0 && !resources && group->snapshot != PERUN_NONE)
        PERUN_NOTE_AT(reading, &name, "warning", "no-resources", "this snapshot has no list of resources");
    return event < 0 ? -1 : 0;
}

static int new_group(struct perun_reading *reading, struct group *group, struct pf_error *error)
{
    group->time = perun_data_group(reading->data, error);
    return group->time == PERUN_NONE ? -1 : 0;
}

/* Its number is its place in the list. */
static int read_snapshot(struct perun_reading *reading, struct element *element, void *arg,
                         struct pf_error *error)
{
    struct perun_data *data = reading->data;
    struct group group = {.snapshot = perun_data_snapshot(data, element->position, error)};
    (void)arg;
    if (group.snapshot == PERUN_NONE || new_group(reading, &group, error))
        return -1;
    data->snapshots[group.snapshot].group = group.time;
    return read_group(reading, &group, error);
}

static int read_snapshots(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0)
        return -1;
    return event == PF_JSON_ARRAY ? each_object(reading, "a snapshot", read_snapshot, NULL, error)
                                  : wrong_kind(reading, &token, "a list of snapshots", error);
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

static int read_one_global(struct perun_reading *reading, struct element *element, void *arg,
                           struct pf_error *error)
{
    struct group group = {.snapshot = PERUN_NONE, .time = PERUN_NONE};
    bool resource = false;
    (void)arg;
    if (element && is_resource(reading, &resource, error))
        return -1;
    if (resource) /* a mixed list has some beside its regions */
        return read_resource(reading, element, &group, error);
    if (new_group(reading, &group, error))
        return -1;
    if (reading->data->none_group == PERUN_NONE)
        reading->data->none_group = group.time;
    return read_group(reading, &group, error);
}

static int read_global(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0)
        return -1;
    if (event == PF_JSON_OBJECT)
        return read_one_global(reading, NULL, NULL, error);
    return event == PF_JSON_ARRAY ? each_object(reading, "a global region", read_one_global, NULL, error)
                                  : wrong_kind(reading, &token, "a global region", error);
}

static int read_type_map(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0)
        return -1;
    return event == PF_JSON_OBJECT ? perun_read_entries(reading, error)
                                   : wrong_kind(reading, &token, "an object", error);
}

/* ---- the top level ------------------------------------------------------------------------------ */

/* Regions without measurements. Scalars of any name are shown, too. */
static bool is_shown(const struct pf_json_token *name)
{
    static const char *const regions[] = {"header",  "collector_info", "collector", "postprocessors",
                                          "machine", "metadata",       "stats"};
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        if (pf_json_is(name, regions[i]))
            return true;
    return false;
}

int perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name, struct pf_error *error)
{
    char region[64];
    struct pf_json_token token;
    bool shown = is_shown(name);
    size_t size = name->size < sizeof region ? name->size : sizeof region - 1;
    memcpy(region, name->text, size);
    region[size] = 0;
    int event =
        shown ? pf_json_next(reading->json, &token, error) : pf_json_skip(reading->json, &token, error);
    if (event < 0)
        return -1;
    if (!shown && (event == PF_JSON_OBJECT || event == PF_JSON_ARRAY))
        return 0;
    return perun_read_properties_of(reading, region, &token, error);
}

static int read_region(struct perun_reading *reading, const struct pf_json_token *name,
                       struct pf_error *error)
{
    static const struct {
        const char *name;
        int (*read)(struct perun_reading *, struct pf_error *);
    } regions[] = {{"resources", read_top_resources},
                   {"resource_type_map", read_type_map},
                   {"snapshots", read_snapshots},
                   {"global", read_global}};
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        if (!pf_json_is(name, regions[i].name))
            continue;
        reading->has_resources = true;
        return regions[i].read(reading, error);
    }
    return pf_json_is(name, "models") ? read_models(reading, error) : perun_read_shown(reading, name, error);
}

static int read_all(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_next(reading->json, &token, error);
    if (event < 0)
        return -1;
    if (event != PF_JSON_OBJECT) {
        pf_fail_at(error, EBADMSG, (int64_t)token.offset, "the top level is not an object");
        error->line = (int64_t)token.line;
        return -1;
    }
    while ((event = pf_json_next(reading->json, &token, error)) == PF_JSON_NAME)
        if (read_region(reading, &token, error))
            return -1;
    /* Whether anything follows. */
    if (event < 0 || pf_json_next(reading->json, &token, error) < 0)
        return -1;
    if (!reading->has_resources)
        perun_note(&reading->data->notes, 0, -1, "error", "no-resources",
                   "this profile has no region that resources stand in");
    return 0;
}

static bool is_damage(const struct pf_error *error)
{
    return error->code == EBADMSG || error->code == ENODATA || error->code == E2BIG;
}

static int finish(struct perun_data *data, struct pf_error *error)
{
    if (perun_tape_finish(&data->keys, error) || perun_tape_finish(&data->types, error) ||
        perun_link_types(data, error) || perun_tape_finish(&data->links, error) ||
        perun_tape_finish(&data->items, error) || perun_tape_finish(&data->entries, error) ||
        perun_tape_finish(&data->shapes, error) || perun_tape_finish(&data->columns, error))
        return -1;
    return perun_name_models(data, error);
}

int perun_read(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_error damage;
    if (read_all(reading, error)) {
        if (!is_damage(error))
            return -1;
        /* Where a stream was cut off, that says more than where the JSON in it ends. */
        bool packed = pf_input_damage(reading->input, &damage);
        int64_t offset = error->offset < 0 ? -1 : error->offset + (int64_t)reading->body;
        perun_note(&reading->data->notes, packed ? 0 : error->line, packed ? damage.offset : offset, "fatal",
                   packed ? "bad-stream" : "bad-json", "reading ends here: %s",
                   packed ? damage.what : error->what);
    }
    uint64_t behind;
    if (pf_input_trailing(reading->input, &behind))
        perun_note(&reading->data->notes, 0, (int64_t)behind, "warning", "trailing-bytes",
                   "bytes follow the object's stream: they are ignored");
    return finish(reading->data, error);
}
