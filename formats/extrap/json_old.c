/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "formats/extrap/json_ids.h"
#include "formats/json/probe.h"
#include "formats/extrap/json_values.h"

/*
 * The older JSON form: tables of call paths, metrics, parameters and coordinates, whose rows have ids, and
 * measurements that refer to these. Which table comes first is not said (measurements mostly come before metrics): what
 * comes before that which it refers to is read on a second walk.
 *
 * Ids are taken as they are. (Extra-P itself sorts each table and takes the id as a position in it, which is the same
 * for ids from 1 to n alone.)
 */
enum table { PARAMETERS, CALLPATHS, METRICS, COORDINATES, MEASUREMENTS, TABLES };

static const char *const table_names[TABLES] = {"parameters", "callpaths", "metrics", "coordinates",
                                                "measurements"};

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

/* ---- rows --------------------------------------------------------------------------------------- */

/* Reads a row of a table, whose first token is given. 0, or -1 with *error filled. */
typedef int read_row(struct old *old, const struct pf_json_token *start, struct pf_error *error);

/* The rows of an array that has begun, up to its end. */
static int read_rows(struct old *old, read_row *read, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    while ((event = pf_json_study_next(&old->reader, &token, error)) > 0 && event != PF_JSON_ARRAY_END) {
        int result = event == PF_JSON_OBJECT ? read(old, &token, error)
                                             : pf_json_study_note(&old->reader, PF_BAD_MEMBER, &token,
                                                                  "a row is no object", error);
        if (result < 0 || (event == PF_JSON_ARRAY && pf_json_study_ignore(&old->reader, &token, error) < 0))
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* What a row {id, name} is for: called with its name. */
typedef int use_name(struct old *old, int64_t id, const struct pf_json_token *name, struct pf_error *error);

/* The name may come before the id: it is then read again. */
static int read_named(struct old *old, const struct pf_json_token *start, use_name *use,
                      struct pf_error *error)
{
    struct pf_json_study *reader = &old->reader;
    struct pf_json_token token;
    bool has_id = false, has_name = false;
    uint64_t offset = 0, line = 0;
    int64_t id = 0;
    int event;
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        bool is_id = pf_json_is(&token, "id"), is_name = pf_json_is(&token, "name");
        if (pf_json_study_skip(reader, &token, error) < 0)
            return -1;
        has_id |= is_id && read_id(&token, &id);
        if (is_name && token.event == PF_JSON_STRING) {
            has_name = true;
            offset = token.offset;
            line = token.line;
        }
    }
    if (event < 0)
        return -1;
    if (!has_id || !has_name)
        return pf_json_study_note(reader, PF_BAD_MEMBER, start, "a row without an id or name", error);
    unsigned char here[PF_JSON_POSITION_SIZE + 1];
    size_t size = pf_json_save(reader->json, here, sizeof here);
    pf_json_seek(reader->json, offset, line);
    if (pf_json_next(reader->json, &token, error) < 0 || use(old, id, &token, error) < 0)
        return -1;
    return pf_json_restore(reader->json, here, size, error);
}

static int keep_parameter(struct old *old, int64_t id, const struct pf_json_token *name,
                          struct pf_error *error)
{
    if (old->n_parameters == PF_PARAMETERS_MAX)
        return pf_json_study_note(&old->reader, PF_LIMIT, name,
                                  "more than 16 parameters, the rest are passed over", error);
    if (pf_study_check_text(old->reader.study, name, error) < 0)
        return -1;
    char *copy = strndup(name->text, name->size);
    if (!copy)
        return pf_fail_memory(error);
    unsigned at = old->n_parameters++; /* sorted by id, as Extra-P has them */
    for (; at && old->parameters[at - 1].id > id; at--)
        old->parameters[at] = old->parameters[at - 1];
    old->parameters[at] = (struct parameter){id, copy, name->size};
    return 0;
}

static int keep_callpath(struct old *old, int64_t id, const struct pf_json_token *name,
                         struct pf_error *error)
{
    uint32_t context = pf_json_study_callpath(&old->reader, name, error);
    return context == PF_NO_CONTEXT ? -1 : pf_ids_set(&old->callpaths, id, context, error);
}

static int keep_metric(struct old *old, int64_t id, const struct pf_json_token *name, struct pf_error *error)
{
    if (pf_study_check_text(old->reader.study, name, error) < 0)
        return -1;
    uint32_t metric = pf_experiment_metric(old->reader.experiment, name->text, name->size, error);
    return metric == PF_NO_STRING ? -1 : pf_ids_set(&old->metrics, id, metric, error);
}

static int read_parameter(struct old *old, const struct pf_json_token *start, struct pf_error *error)
{
    return read_named(old, start, keep_parameter, error);
}

static int read_callpath(struct old *old, const struct pf_json_token *start, struct pf_error *error)
{
    return read_named(old, start, keep_callpath, error);
}

static int read_metric(struct old *old, const struct pf_json_token *start, struct pf_error *error)
{
    return read_named(old, start, keep_metric, error);
}

/* ---- coordinates -------------------------------------------------------------------------------- */

/* The coordinate of a parameter with this id. */
static int set_coordinate(struct old *old, int64_t id, double value, struct pf_json_point *point,
                          const struct pf_json_token *at, struct pf_error *error)
{
    unsigned i = 0;
    while (i < old->n_parameters && old->parameters[i].id != id)
        i++;
    if (i == old->n_parameters)
        return pf_json_study_note(&old->reader, PF_BAD_REFERENCE, at,
                                  "a coordinate of a parameter that there is not", error);
    point->count += isnan(point->coordinates[i]);
    point->coordinates[i] = value;
    return 0;
}

/* One {parameter_id, parameter_value}. */
static int read_pair(struct old *old, const struct pf_json_token *start, struct pf_json_point *point,
                     struct pf_error *error)
{
    struct pf_json_token token;
    bool has_id = false, has_value = false;
    int64_t id = 0;
    double value = 0;
    int event;
    while ((event = pf_json_study_next(&old->reader, &token, error)) == PF_JSON_NAME) {
        bool is_id = pf_json_is(&token, "parameter_id"), is_value = pf_json_is(&token, "parameter_value");
        if (pf_json_study_skip(&old->reader, &token, error) < 0)
            return -1;
        has_id |= is_id && read_id(&token, &id);
        has_value |= is_value && pf_study_number(&token, &value);
    }
    if (event < 0)
        return -1;
    if (!has_id || !has_value)
        return pf_json_study_note(&old->reader, PF_BAD_NUMBER, start, "a coordinate without an id or number",
                                  error);
    return set_coordinate(old, id, value, point, start, error);
}

static int read_pairs(struct old *old, struct pf_json_point *point, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    while ((event = pf_json_study_next(&old->reader, &token, error)) > 0 && event != PF_JSON_ARRAY_END) {
        int result = event == PF_JSON_OBJECT ? read_pair(old, &token, point, error)
                                             : pf_json_study_ignore(&old->reader, &token, error);
        if (result < 0)
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* A point that lacks coordinates is equal to no other. */
static int keep_coordinate(struct old *old, int64_t id, struct pf_json_point *point,
                           const struct pf_json_token *start, struct pf_error *error)
{
    if (old->reader.damaged) /* this may be half of one */
        return 0;
    unsigned have = point->count;
    if (have != old->n_parameters) {
        if (pf_experiment_note(old->reader.experiment, PF_POINT_SIZE, start->line, (int64_t)start->offset,
                               error, "a point with %u of %u coordinates: Extra-P refuses the file", have,
                               old->n_parameters) < 0)
            return -1;
        point->broken = true;
    }
    uint32_t number = pf_experiment_point(old->reader.experiment, point->coordinates, old->n_parameters,
                                          point->broken, error);
    return number == PF_NO_POINT ? -1 : pf_ids_set(&old->coordinates, id, number, error);
}

static int read_coordinate(struct old *old, const struct pf_json_token *start, struct pf_error *error)
{
    struct pf_json_point point = {.count = 0};
    struct pf_json_token token;
    bool has_id = false;
    int64_t id = 0;
    int event;
    for (unsigned i = 0; i < PF_PARAMETERS_MAX; i++)
        point.coordinates[i] = (double)NAN;
    while ((event = pf_json_study_next(&old->reader, &token, error)) == PF_JSON_NAME) {
        bool is_id = pf_json_is(&token, "id"), is_pairs = pf_json_is(&token, "parameter_value_pairs");
        if (pf_json_study_next(&old->reader, &token, error) < 0)
            return -1;
        has_id |= is_id && read_id(&token, &id);
        int result = is_pairs && token.event == PF_JSON_ARRAY
                         ? read_pairs(old, &point, error)
                         : pf_json_study_ignore(&old->reader, &token, error);
        if (result < 0)
            return -1;
    }
    if (event < 0)
        return -1;
    if (!has_id)
        return pf_json_study_note(&old->reader, PF_BAD_MEMBER, start, "a coordinate without an id", error);
    return keep_coordinate(old, id, &point, start, error);
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

/* The series of a measurement, which mostly is that of the last one. */
static int find_series(struct old *old, uint32_t context, uint32_t metric, const struct pf_json_token *start,
                       struct pf_error *error)
{
    struct pf_experiment *experiment = old->reader.experiment;
    size_t before = experiment->n_series;
    if (old->series != PF_NO_SERIES && old->context == context && old->metric == metric)
        return 0;
    old->context = context;
    old->metric = metric;
    old->series = pf_experiment_series(experiment, context, metric, error);
    if (old->series == PF_NO_SERIES)
        return -1;
    if (experiment->n_series > before) {
        experiment->series[old->series].line = start->line;
        experiment->series[old->series].offset = (int64_t)start->offset;
    }
    return 0;
}

static int add_measurement(struct old *old, const int64_t ids[VALUE], double value,
                           const struct pf_json_token *start, struct pf_error *error)
{
    uint32_t context = pf_ids_get(&old->callpaths, ids[CALLPATH_ID]);
    uint32_t metric = pf_ids_get(&old->metrics, ids[METRIC_ID]);
    uint32_t point = pf_ids_get(&old->coordinates, ids[COORDINATE_ID]);
    const char *what = context == PF_NO_ID  ? "a measurement of a call path that there is not, passed over"
                       : metric == PF_NO_ID ? "a measurement of a metric that there is not, passed over"
                       : point == PF_NO_ID  ? "a measurement at a coordinate that there is not, passed over"
                                            : NULL;
    if (what)
        return pf_json_study_note(&old->reader, PF_BAD_REFERENCE, start, what, error);
    struct pf_measured *measured = old->reader.study->measured;
    if (find_series(old, context, metric, start, error) < 0 ||
        pf_measured_begin(measured, old->series, point, false, error) < 0)
        return -1;
    return pf_measured_add(measured, value, error);
}

static int read_measurement(struct old *old, const struct pf_json_token *start, struct pf_error *error)
{
    struct pf_json_token token;
    int64_t ids[VALUE];
    unsigned has = 0;
    double value = 0;
    int event;
    while ((event = pf_json_study_next(&old->reader, &token, error)) == PF_JSON_NAME) {
        enum member member = member_of(&token);
        if (pf_json_study_skip(&old->reader, &token, error) < 0)
            return -1;
        if (member < VALUE ? read_id(&token, &ids[member])
                           : member == VALUE && pf_study_number(&token, &value))
            has |= 1u << member;
    }
    if (event <= 0)
        return event;
    if (has != (1u << OTHER) - 1)
        return pf_json_study_note(&old->reader, PF_BAD_MEMBER, start,
                                  "a measurement that lacks an id or a number, passed over", error);
    return add_measurement(old, ids, value, start, error);
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int add_parameters(struct old *old, struct pf_error *error)
{
    for (unsigned i = 0; i < old->n_parameters; i++)
        if (pf_experiment_add_parameter(old->reader.experiment, old->parameters[i].name,
                                        old->parameters[i].size, error) < 0)
            return -1;
    return 0;
}

static read_row *const read_rows_of[TABLES] = {read_parameter, read_callpath, read_metric, read_coordinate,
                                               read_measurement};

/* Whether the tables that a table's rows refer to have been read. */
static bool may_read(const struct old *old, enum table table)
{
    if (table == COORDINATES)
        return old->places[PARAMETERS].read;
    return table != MEASUREMENTS ||
           (old->places[CALLPATHS].read && old->places[METRICS].read && old->places[COORDINATES].read);
}

static int read_table(struct old *old, enum table table, struct pf_error *error)
{
    old->places[table].read = true;
    if (read_rows(old, read_rows_of[table], error) < 0)
        return -1;
    return table == PARAMETERS ? add_parameters(old, error) : 0;
}

/* A table's array has begun: it is read, or where it is is noted. */
static int find_table(struct old *old, enum table table, const struct pf_json_token *start,
                      struct pf_error *error)
{
    if (old->places[table].is) {
        if (pf_json_study_note(&old->reader, PF_REPEATED_NAME, start,
                               "a table for a second time, passed over", error) < 0)
            return -1;
        return pf_json_study_ignore(&old->reader, start, error);
    }
    old->places[table].is = true;
    old->places[table].offset = start->offset;
    old->places[table].line = start->line;
    return may_read(old, table) ? read_table(old, table, error)
                                : pf_json_study_ignore(&old->reader, start, error);
}

/* The first walk: reads the tables that can be read already, and notes where the others are. */
static int find_tables(struct old *old, struct pf_error *error)
{
    struct pf_json_token token;
    int event = pf_json_study_next(&old->reader, &token, error);
    if (event != PF_JSON_OBJECT)
        return event < 0 ? -1 : 0;
    while ((event = pf_json_study_next(&old->reader, &token, error)) == PF_JSON_NAME) {
        int table = 0;
        while (table < TABLES && !pf_json_is(&token, table_names[table]))
            table++;
        if (pf_json_study_next(&old->reader, &token, error) < 0)
            return -1;
        int result = table < TABLES && token.event == PF_JSON_ARRAY
                         ? find_table(old, (enum table)table, &token, error)
                         : pf_json_study_ignore(&old->reader, &token, error);
        if (result < 0)
            return -1;
    }
    if (event == PF_JSON_OBJECT_END)
        event = pf_json_study_next(&old->reader, &token, error); /* nothing may follow */
    return event < 0 ? -1 : 0;
}

/* The tables that could not be read on the first walk, in the order of use. */
static int read_tables(struct old *old, struct pf_error *error)
{
    struct pf_json_token token;
    if (find_tables(old, error) < 0)
        return -1;
    for (int table = 0; table < TABLES; table++) {
        if (!old->places[table].is || old->places[table].read)
            continue;
        old->reader.damaged = false;
        pf_json_seek(old->reader.json, old->places[table].offset, old->places[table].line);
        if (pf_json_next(old->reader.json, &token, error) < 0 ||
            read_table(old, (enum table)table, error) < 0)
            return -1;
    }
    return 0;
}

static int read_file(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct pf_study_input source = {.input = input, .end = end, .pass = pass};
    struct old old = {.reader = {.study = study,
                                 .experiment = study->experiment,
                                 .json = pf_json_new_reading(pf_study_input_read, &source, 0, 0)},
                      .series = PF_NO_SERIES};
    int result = old.reader.json ? read_tables(&old, error) : pf_fail_memory(error);
    pf_json_free(old.reader.json);
    for (unsigned i = 0; i < old.n_parameters; i++)
        free(old.parameters[i].name);
    pf_ids_free(&old.callpaths);
    pf_ids_free(&old.metrics);
    pf_ids_free(&old.coordinates);
    return result;
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void old_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const struct pf_member members[] = {
        {"callpaths", PF_JSON_ARRAY}, {"coordinates", PF_JSON_ARRAY}, {NULL, PF_JSON_END}};
    if (pf_probe_members(probe, members, 0, pf_probe_scan(probe)))
        verdict->confidence = 16;
}

static int old_open(struct pf_profile *profile, struct pf_error *error)
{
    return pf_stored_open(profile, read_file, PF_STUDY_HEAD, false, error);
}

const struct pf_driver pf_extrap_json_old_driver = {
    .name = "extrap-json-old",
    .title = "Extra-P JSON file, older form",
    .version = 2,
    .probe = old_probe,
    .open = old_open,
    .load = pf_stored_load,
    .close = pf_stored_close,
};
