/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "formats/extrap/ids.h"
#include "formats/extrap/json_study.h"
#include "formats/extrap/stored.h"
#include "formats/json/probe.h"

/*
 * The older JSON form: tables of call paths, metrics, parameters and coordinates, whose rows have ids, and
 * measurements that refer to these. Which table comes first is not said (measurements mostly come before metrics): what
 * comes before that which it refers to is read on a second walk.
 *
 * Ids are taken as they are. (Extra-P itself sorts each table and takes the id as a position in it, which is the same
 * for ids from 1 to n alone.)
 */
enum table { PARAMETERS, CALLPATHS, METRICS, COORDINATES, MEASUREMENTS, TABLES };

/* A parameter, before it is known how many there are. */
struct parameter {
    int64_t id;
    char *name; /* owned */
    size_t size;
};

struct old {
    struct pf_json_study reader;
    struct {
        uint64_t offset, line;
        bool is, read;
    } places[TABLES];
    struct parameter parameters[PF_PARAMETERS_MAX];
    unsigned n_parameters;
    struct pf_ids callpaths, metrics, coordinates;
    uint32_t context, metric, series; /* of the last measurement; series PF_NO_SERIES: none */
    char name[PF_JSON_TEXT_MAX];      /* of the row being read */
};

/* An id is an integer, however written. */
static bool read_id(const struct pf_json_token *token, int64_t *id)
{
    double value;
    pf_int128 wide;
    if (token->event == PF_JSON_NUMBER && token->integer) {
        struct pf_cell cell = pf_json_number(token, &wide);
        *id = cell.i;
        if (cell.type == PF_INT)
            return true;
    }
    if (!pf_study_number(token, &value) || !(fabs(value) < 0x1p53) || value != floor(value))
        return false;
    *id = (int64_t)value;
    return true;
}

static void set_id(struct old *old, struct pf_ids *ids, int64_t id, uint32_t number)
{
    struct pf_study *study = old->reader.study;
    if (!study->failed)
        pf_study_check(study, pf_ids_set(ids, id, number, study->error));
}

/* ---- names -------------------------------------------------------------------------------------- */

/* The row {id, name} that has begun; the last token is its name then. False: it lacks one of them. */
static bool read_named(struct old *old, int64_t *id)
{
    struct pf_json_study *reader = &old->reader;
    struct pf_json_token *token = &reader->token;
    const struct pf_json_token start = *token;
    struct pf_json_token name = {.event = PF_JSON_END};
    bool has_id = false;
    while (pf_json_study_member(reader)) {
        bool is_id = pf_json_is(token, "id"), is_name = pf_json_is(token, "name");
        pf_json_study_skip(reader);
        has_id |= is_id && read_id(token, id);
        if (is_name && token->event == PF_JSON_STRING) { /* the text may go before the id comes */
            name = *token;
            name.text = memcpy(old->name, token->text, token->size);
        }
    }
    if (!has_id || !name.event) {
        pf_json_study_note(reader, PF_BAD_MEMBER, &start, "a row without an id or name");
        return false;
    }
    *token = name;
    return true;
}

/* Sorted by id, as Extra-P has them. */
static void keep_parameter(struct old *old, int64_t id)
{
    const struct pf_json_token *name = &old->reader.token;
    if (old->n_parameters == PF_PARAMETERS_MAX) {
        pf_json_study_note(&old->reader, PF_LIMIT, name, "more than 16 parameters, the rest are passed over");
        return;
    }
    pf_study_check_text(old->reader.study, name);
    char *copy = strndup(name->text, name->size);
    if (!copy) {
        pf_study_check(old->reader.study, pf_fail_memory(old->reader.study->error));
        return;
    }
    unsigned at = old->n_parameters++;
    for (; at && old->parameters[at - 1].id > id; at--)
        old->parameters[at] = old->parameters[at - 1];
    old->parameters[at] = (struct parameter){id, copy, name->size};
}

static void read_parameter(struct old *old)
{
    int64_t id;
    if (read_named(old, &id))
        keep_parameter(old, id);
}

static void read_callpath(struct old *old)
{
    int64_t id;
    if (read_named(old, &id))
        set_id(old, &old->callpaths, id, pf_json_study_callpath(&old->reader));
}

static void read_metric(struct old *old)
{
    int64_t id;
    if (read_named(old, &id))
        set_id(old, &old->metrics, id, pf_json_study_metric(&old->reader));
}

/* ---- coordinates -------------------------------------------------------------------------------- */

/* One {parameter_id, parameter_value}. */
static void read_pair(struct old *old, struct pf_json_point *point)
{
    struct pf_json_study *reader = &old->reader;
    const struct pf_json_token *token = &reader->token, start = *token;
    bool has_id = false, has_value = false;
    int64_t id = 0;
    double value = 0;
    unsigned i = 0;
    while (pf_json_study_member(reader)) {
        bool is_id = pf_json_is(token, "parameter_id"), is_value = pf_json_is(token, "parameter_value");
        pf_json_study_skip(reader);
        has_id |= is_id && read_id(token, &id);
        has_value |= is_value && pf_study_number(token, &value);
    }
    while (i < old->n_parameters && old->parameters[i].id != id)
        i++;
    if (!has_id || !has_value) {
        pf_json_study_note(reader, PF_BAD_NUMBER, &start, "a coordinate without an id or number");
    } else if (i == old->n_parameters) {
        pf_json_study_note(reader, PF_BAD_REFERENCE, &start, "a coordinate of a parameter that there is not");
    } else {
        point->count += isnan(point->coordinates[i]);
        point->coordinates[i] = value;
    }
}

static void read_pairs(struct old *old, struct pf_json_point *point)
{
    while (pf_json_study_element(&old->reader))
        if (pf_json_study_is(&old->reader, PF_JSON_OBJECT, NULL))
            read_pair(old, point);
}

/* A point that lacks coordinates is equal to no other. */
static void keep_coordinate(struct old *old, int64_t id, const struct pf_json_point *point,
                            const struct pf_json_token *start)
{
    struct pf_study *study = old->reader.study;
    if (old->reader.damaged || study->failed) /* this may be half of one */
        return;
    bool broken = point->count != old->n_parameters;
    if (broken)
        pf_experiment_note(study->experiment, PF_POINT_SIZE, start->line, (int64_t)start->offset,
                           "a point with %u of %u coordinates: Extra-P refuses the file", point->count,
                           old->n_parameters);
    uint32_t number =
        pf_experiment_point(study->experiment, point->coordinates, old->n_parameters, broken, study->error);
    study->failed |= number == PF_NO_POINT;
    set_id(old, &old->coordinates, id, number);
}

static void read_coordinate(struct old *old)
{
    struct pf_json_study *reader = &old->reader;
    const struct pf_json_token start = reader->token;
    struct pf_json_point point = {.count = 0};
    bool has_id = false;
    int64_t id = 0;
    for (unsigned i = 0; i < PF_PARAMETERS_MAX; i++)
        point.coordinates[i] = (double)NAN;
    while (pf_json_study_member(reader)) {
        bool is_id = pf_json_is(&reader->token, "id"),
             is_pairs = pf_json_is(&reader->token, "parameter_value_pairs");
        pf_json_study_next(reader);
        has_id |= is_id && read_id(&reader->token, &id);
        if (is_pairs && reader->token.event == PF_JSON_ARRAY)
            read_pairs(old, &point);
        else
            pf_json_study_ignore(reader);
    }
    if (has_id)
        keep_coordinate(old, id, &point, &start);
    else
        pf_json_study_note(reader, PF_BAD_MEMBER, &start, "a coordinate without an id");
}

/* ---- measurements ------------------------------------------------------------------------------- */

enum member { CALLPATH_ID, METRIC_ID, COORDINATE_ID, VALUE, OTHER };

/* By length first: there is one of these objects for every value. */
static enum member member_of(const struct pf_json_token *name)
{
    switch (name->size) {
    case 5:
        return pf_json_is(name, "value") ? VALUE : OTHER;
    case 9:
        return pf_json_is(name, "metric_id") ? METRIC_ID : OTHER;
    case 11:
        return pf_json_is(name, "callpath_id") ? CALLPATH_ID : OTHER;
    case 13:
        return pf_json_is(name, "coordinate_id") ? COORDINATE_ID : OTHER;
    default:
        return OTHER;
    }
}

static void add_measurement(struct old *old, const int64_t ids[VALUE], double value,
                            const struct pf_json_token *start)
{
    struct pf_study *study = old->reader.study;
    uint32_t context = pf_ids_get(&old->callpaths, ids[CALLPATH_ID]);
    uint32_t metric = pf_ids_get(&old->metrics, ids[METRIC_ID]);
    uint32_t point = pf_ids_get(&old->coordinates, ids[COORDINATE_ID]);
    const char *what = context == PF_NO_ID  ? "a measurement of a call path that there is not, passed over"
                       : metric == PF_NO_ID ? "a measurement of a metric that there is not, passed over"
                       : point == PF_NO_ID  ? "a measurement at a coordinate that there is not, passed over"
                                            : NULL;
    if (what) {
        pf_json_study_note(&old->reader, PF_BAD_REFERENCE, start, what);
        return;
    }
    if (old->series == PF_NO_SERIES || old->context != context || old->metric != metric)
        old->series = pf_study_series(study, context, metric, false, start->line, (int64_t)start->offset);
    old->context = context;
    old->metric = metric;
    pf_study_begin(study, old->series, point, false);
    pf_study_add(study, value);
}

static void read_measurement(struct old *old)
{
    struct pf_json_study *reader = &old->reader;
    const struct pf_json_token start = reader->token;
    int64_t ids[VALUE];
    unsigned has = 0;
    double value = 0;
    while (pf_json_study_member(reader)) {
        enum member member = member_of(&reader->token);
        pf_json_study_skip(reader);
        if (member < VALUE ? read_id(&reader->token, &ids[member])
                           : member == VALUE && pf_study_number(&reader->token, &value))
            has |= 1u << member;
    }
    if (reader->token.event != PF_JSON_OBJECT_END) /* half of one is none */
        return;
    if (has == (1u << OTHER) - 1)
        add_measurement(old, ids, value, &start);
    else
        pf_json_study_note(reader, PF_BAD_MEMBER, &start,
                           "a measurement that lacks an id or a number, passed over");
}

/* ---- the file ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*read_row)(struct old *old); /* the object that the last token begins */
} tables[TABLES] = {[PARAMETERS] = {"parameters", read_parameter},
                    [CALLPATHS] = {"callpaths", read_callpath},
                    [METRICS] = {"metrics", read_metric},
                    [COORDINATES] = {"coordinates", read_coordinate},
                    [MEASUREMENTS] = {"measurements", read_measurement}};

/* Whether the tables that a table's rows refer to have been read. */
static bool may_read(const struct old *old, enum table table)
{
    if (table == COORDINATES)
        return old->places[PARAMETERS].read;
    return table != MEASUREMENTS ||
           (old->places[CALLPATHS].read && old->places[METRICS].read && old->places[COORDINATES].read);
}

static void read_table(struct old *old, enum table table)
{
    struct pf_json_study *reader = &old->reader;
    old->places[table].read = true;
    while (pf_json_study_element(reader))
        if (pf_json_study_is(reader, PF_JSON_OBJECT, "a row is no object"))
            tables[table].read_row(old);
    for (unsigned i = 0; table == PARAMETERS && i < old->n_parameters; i++)
        pf_study_parameter(reader->study, old->parameters[i].name, old->parameters[i].size, 0, -1);
}

/* A table's array has begun: it is read, or where it is is noted. */
static void find_table(struct old *old, enum table table)
{
    struct pf_json_study *reader = &old->reader;
    if (old->places[table].is) {
        pf_json_study_note(reader, PF_REPEATED_NAME, &reader->token,
                           "a table for a second time, passed over");
        pf_json_study_ignore(reader);
        return;
    }
    old->places[table].is = true;
    old->places[table].offset = reader->token.offset;
    old->places[table].line = reader->token.line;
    if (may_read(old, table))
        read_table(old, table);
    else
        pf_json_study_ignore(reader);
}

/* The first walk: reads the tables that can be read already, and notes where the others are. */
static void find_tables(struct old *old)
{
    struct pf_json_study *reader = &old->reader;
    bool object = pf_json_study_next(reader) == PF_JSON_OBJECT;
    while (object && pf_json_study_member(reader)) {
        int table = 0;
        while (table < TABLES && !pf_json_is(&reader->token, tables[table].name))
            table++;
        pf_json_study_next(reader);
        if (table < TABLES && reader->token.event == PF_JSON_ARRAY)
            find_table(old, (enum table)table);
        else
            pf_json_study_ignore(reader);
    }
    if (reader->token.event == PF_JSON_OBJECT_END)
        pf_json_study_next(reader); /* nothing may follow */
}

/* The tables that could not be read on the first walk, in the order of use. */
static void read_tables(struct old *old)
{
    struct pf_json_study *reader = &old->reader;
    find_tables(old);
    for (int table = 0; table < TABLES && !reader->study->failed; table++) {
        if (!old->places[table].is || old->places[table].read)
            continue;
        reader->damaged = false;
        pf_json_seek(reader->json, old->places[table].offset, old->places[table].line);
        if (pf_json_study_next(reader))
            read_table(old, (enum table)table);
    }
}

static void read_file(struct pf_study *study)
{
    struct old *old = calloc(1, sizeof *old);
    if (!old) {
        pf_study_check(study, pf_fail_memory(study->error));
        return;
    }
    old->reader = (struct pf_json_study){.study = study, .json = pf_study_json(study, 0)};
    old->series = PF_NO_SERIES;
    read_tables(old);
    pf_json_free(old->reader.json);
    for (unsigned i = 0; i < old->n_parameters; i++)
        free(old->parameters[i].name);
    pf_ids_free(&old->callpaths);
    pf_ids_free(&old->metrics);
    pf_ids_free(&old->coordinates);
    free(old);
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void old_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const struct pf_member members[] = {
        {"callpaths", PF_JSON_ARRAY}, {"coordinates", PF_JSON_ARRAY}, {NULL, PF_JSON_END}};
    if (pf_probe_members(probe, members, 0, pf_probe_scan(probe)))
        verdict->confidence = 16;
}

const struct pf_driver pf_extrap_json_old_driver = {
    .name = "extrap-json-old",
    .title = "Extra-P JSON file, older form",
    .version = 3,
    .probe = old_probe,
    .kit = &(const struct pf_stored_format){read_file, PF_STUDY_HEAD, false},
    PF_STORED,
};
