/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "formats/extrap/json_study.h"
#include "formats/extrap/stored.h"
#include "formats/json/probe.h"
#include "formats/probe.h"

/*
 * Reader of the older JSON form. It has tables of parameters, call paths, metrics and coordinates, whose rows have ids, and
 * a table of measurements, which refer to these ids. The order of the tables is not fixed, so a first walk only finds the
 * tables. Then each table is read after the tables that its rows refer to.
 *
 * Ids are used as they are. Extra-P sorts each table and uses an id as a position in the table. Both ways give the same
 * result if the ids are 1 to n.
 */
enum table { PARAMETERS, CALLPATHS, METRICS, COORDINATES, MEASUREMENTS, TABLES };

/* Members of a row of any table. */
struct row {
    struct pf_json_amount id, callpath, metric, coordinate, value;
    uint32_t name; /* number of the row's context, metric or string (see take_row_name); PF_NO_ID: no name */
    struct pf_point point;
};

struct old {
    struct pf_json_study reader; /* must be first */
    struct pf_json_place places[TABLES];
    enum table table; /* the table being read */
    struct row row;   /* the row being read */
    struct {
        struct pf_json_amount id, value;
    } pair; /* the coordinate being read: a parameter's id and value */
    struct {
        int64_t id;
        uint32_t name;               /* string of study->units, since files of this form have no units */
    } parameters[PF_PARAMETERS_MAX]; /* by ascending id */
    unsigned n_parameters;
    struct pf_ids callpaths, metrics, coordinates;
    uint32_t context, metric, series; /* of the previous measurement; series PF_NO_SERIES: there was none */
};

/* Returns true if a number can be an id: it has an integer value, for example 1.0. */
static bool is_id(const struct pf_json_amount *amount)
{
    return amount->known && fabs(amount->value) < 0x1p53 && amount->value == floor(amount->value);
}

static int note_row(const struct old *old, struct pf_note_kind problem, const struct pf_json_token *at,
                    const char *what)
{
    return pf_json_study_note(&old->reader, problem, at, what);
}

static uint32_t find_id(const struct pf_ids *ids, const struct pf_json_amount *id)
{
    return pf_ids_find(ids, (uint64_t)(int64_t)id->value);
}

static void set_row_id(struct old *old, struct pf_ids *ids, uint32_t number)
{
    struct pf_run *run = old->reader.study->run;
    pf_run_check(run, pf_ids_set(ids, (uint64_t)(int64_t)old->row.id.value, number, run->error));
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Interns a row's name as a call path, a metric or a plain string, depending on the table. */
static int take_row_name(const struct pf_json_walk *walk)
{
    struct old *old = walk->into;
    struct pf_study *study = old->reader.study;
    if (old->table == CALLPATHS) {
        old->row.name = pf_json_study_callpath(&old->reader, walk->token);
    } else if (old->table == METRICS) {
        old->row.name = pf_json_study_metric(&old->reader, walk->token);
    } else {
        pf_study_check_text(study, walk->token);
        old->row.name = pf_run_intern(study->run, study->units, walk->token->text, walk->token->size);
    }
    return 0;
}

/* Adds a parameter. The list is sorted by id, as in Extra-P, so a point's coordinates are in this order. */
static int add_parameter(struct old *old, const struct pf_json_token *start)
{
    int64_t id = (int64_t)old->row.id.value;
    if (old->n_parameters == PF_PARAMETERS_MAX)
        return note_row(old, PF_LIMIT, start, "more than 16 parameters: the rest are skipped");
    unsigned at = old->n_parameters++;
    for (; at && old->parameters[at - 1].id > id; at--)
        old->parameters[at] = old->parameters[at - 1];
    old->parameters[at].id = id;
    old->parameters[at].name = old->row.name;
    return 0;
}

static int add_named(struct old *old, const struct pf_json_token *start)
{
    if (!is_id(&old->row.id) || old->row.name == PF_NO_ID)
        return note_row(old, PF_BAD_MEMBER, start, "a row without an id or name");
    if (old->table == PARAMETERS)
        return add_parameter(old, start);
    set_row_id(old, old->table == CALLPATHS ? &old->callpaths : &old->metrics, old->row.name);
    return 0;
}

/* ---- coordinates -------------------------------------------------------------------------------- */

/* Reads one {parameter_id, parameter_value}. */
static int take_coordinate_pair(const struct pf_json_walk *walk)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER("parameter_id", PF_JSON_END, pf_json_take_amount, struct old, pair.id),
        PF_MEMBER("parameter_value", PF_JSON_END, pf_json_take_amount, struct old, pair.value),
        PF_MEMBERS_END,
    };
    struct old *old = walk->into;
    struct pf_point *point = &old->row.point;
    unsigned i = 0;
    old->pair.id.known = old->pair.value.known = false;
    if (pf_json_object(walk, old, members))
        return -1;
    if (!is_id(&old->pair.id) || !old->pair.value.known)
        return note_row(old, PF_BAD_NUMBER, walk->token, "a coordinate without an id or number");
    while (i < old->n_parameters && old->parameters[i].id != (int64_t)old->pair.id.value)
        i++;
    if (i == old->n_parameters)
        return note_row(old, PF_BAD_REFERENCE, walk->token, "a coordinate of an unknown parameter");
    point->count += isnan(point->coordinates[i]);
    point->coordinates[i] = old->pair.value.value;
    return 0;
}

static int take_pairs(const struct pf_json_walk *walk)
{
    return pf_json_array(walk, walk->into, PF_JSON_OBJECT, take_coordinate_pair);
}

/*
 * Adds the point of a row of coordinates. A point that lacks coordinates becomes broken, so it equals no other point.
 */
static int add_older_coordinate(struct old *old, const struct pf_json_token *start)
{
    struct pf_point *point = &old->row.point;
    unsigned known = point->count;
    if (!is_id(&old->row.id))
        return note_row(old, PF_BAD_MEMBER, start, "a coordinate without an id");
    point->broken = known != old->n_parameters;
    point->count = old->n_parameters;
    if (point->broken)
        pf_study_note(old->reader.study, PF_POINT_SIZE, start->line, (int64_t)start->offset,
                      "a point with %u of %u coordinates: Extra-P refuses the file", known,
                      old->n_parameters);
    set_row_id(old, &old->coordinates, pf_study_point(old->reader.study, point));
    return 0;
}

/* ---- measurements ------------------------------------------------------------------------------- */

static int add_older_measurement(struct old *old, const struct pf_json_token *start)
{
    struct pf_study *study = old->reader.study;
    const struct row *row = &old->row;
    if (!is_id(&row->callpath) || !is_id(&row->metric) || !is_id(&row->coordinate) || !row->value.known)
        return note_row(old, PF_BAD_MEMBER, start, "a measurement without an id or a number: skipped");
    uint32_t context = find_id(&old->callpaths, &row->callpath);
    uint32_t metric = find_id(&old->metrics, &row->metric);
    uint32_t point = find_id(&old->coordinates, &row->coordinate);
    if (context == PF_NO_ID || metric == PF_NO_ID || point == PF_NO_ID)
        return note_row(old, PF_BAD_REFERENCE, start,
                        "a measurement of an unknown call path, metric or coordinate: skipped");
    if (old->series == PF_NO_SERIES || old->context != context || old->metric != metric)
        old->series = pf_study_series(study, context, metric, false, start->line, (int64_t)start->offset);
    old->context = context;
    old->metric = metric;
    pf_study_begin(study, old->series, point, false);
    pf_study_add(study, row->value.value);
    return 0;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static const struct pf_json_member measurement_members[] = {
    PF_MEMBER("callpath_id", PF_JSON_END, pf_json_take_amount, struct old, row.callpath),
    PF_MEMBER("metric_id", PF_JSON_END, pf_json_take_amount, struct old, row.metric),
    PF_MEMBER("coordinate_id", PF_JSON_END, pf_json_take_amount, struct old, row.coordinate),
    PF_MEMBER("value", PF_JSON_END, pf_json_take_amount, struct old, row.value),
    PF_MEMBERS_END,
};
static const struct pf_json_member coordinate_members[] = {
    PF_MEMBER("id", PF_JSON_END, pf_json_take_amount, struct old, row.id),
    PF_MEMBER_OF_ALL("parameter_value_pairs", PF_JSON_ARRAY, take_pairs),
    PF_MEMBERS_END,
};
static const struct pf_json_member named_members[] = {
    PF_MEMBER("id", PF_JSON_END, pf_json_take_amount, struct old, row.id),
    PF_MEMBER_OF_ALL("name", PF_JSON_STRING, take_row_name),
    PF_MEMBERS_END,
};

/* Reads a row. If damage or the end of the text cuts a row off, drops it unless its id and name have been read. */
static int take_older_row(const struct pf_json_walk *walk)
{
    static const struct {
        const struct pf_json_member *members;
        int (*add)(struct old *old, const struct pf_json_token *start);
    } rows[TABLES] = {[PARAMETERS] = {named_members, add_named},
                      [CALLPATHS] = {named_members, add_named},
                      [METRICS] = {named_members, add_named},
                      [COORDINATES] = {coordinate_members, add_older_coordinate},
                      [MEASUREMENTS] = {measurement_members, add_older_measurement}};
    struct old *old = walk->into;
    struct row *row = &old->row;
    if (walk->token->event != PF_JSON_OBJECT)
        return note_row(old, PF_BAD_MEMBER, walk->token, "a row is not an object");
    row->id.known = row->callpath.known = row->metric.known = row->coordinate.known = row->value.known =
        false;
    row->name = PF_NO_ID;
    row->point.count = 0;
    for (unsigned i = 0; old->table == COORDINATES && i < PF_PARAMETERS_MAX; i++)
        row->point.coordinates[i] = (double)NAN;
    int got = pf_json_object(walk, old, rows[old->table].members);
    if (!got || (is_id(&row->id) && row->name != PF_NO_ID))
        rows[old->table].add(old, walk->token);
    return got;
}

static int find_table(const struct pf_json_walk *walk)
{
    const struct pf_json_place *place = walk->place;
    if (place->line)
        return note_row(walk->into, PF_REPEATED_NAME, walk->token, "a repeated table: skipped");
    return pf_json_take_place(walk);
}

static void read_tables(struct old *old)
{
    static const struct pf_json_member tables[] = {
        PF_MEMBER("parameters", PF_JSON_ARRAY, find_table, struct old, places[PARAMETERS]),
        PF_MEMBER("callpaths", PF_JSON_ARRAY, find_table, struct old, places[CALLPATHS]),
        PF_MEMBER("metrics", PF_JSON_ARRAY, find_table, struct old, places[METRICS]),
        PF_MEMBER("coordinates", PF_JSON_ARRAY, find_table, struct old, places[COORDINATES]),
        PF_MEMBER("measurements", PF_JSON_ARRAY, find_table, struct old, places[MEASUREMENTS]),
        PF_MEMBERS_END,
    };
    struct pf_study *study = old->reader.study;
    pf_json_study_read(&old->reader, tables);
    for (old->table = 0; old->table < TABLES; old->table++) {
        pf_json_study_array(&old->reader, old->places[old->table], take_older_row);
        for (unsigned i = 0; old->table == PARAMETERS && i < old->n_parameters; i++) {
            struct pf_cell name = pf_interned(study->units, old->parameters[i].name);
            pf_study_parameter(study, name.text, name.size, 0, -1);
        }
    }
}

static void read_older(struct pf_study *study)
{
    struct old *old = pf_json_study_open(study, sizeof *old, NULL, 0);
    PF_OWN(study->run, &old->callpaths, pf_ids_free);
    PF_OWN(study->run, &old->metrics, pf_ids_free);
    PF_OWN(study->run, &old->coordinates, pf_ids_free);
    old->series = PF_NO_SERIES;
    read_tables(old);
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void old_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER_OF_ALL("callpaths", PF_JSON_ARRAY, pf_json_count_down),
        PF_MEMBER_OF_ALL("coordinates", PF_JSON_ARRAY, pf_json_count_down),
        PF_MEMBERS_END,
    };
    unsigned missing = 2;
    if (pf_probe_object(probe, 0, pf_probe_scan(probe), &missing, members))
        result->confidence = 16;
}

const struct pf_driver pf_extrap_json_old_driver = {
    .name = "extrap-json-old",
    .title = "Extra-P JSON file, older form",
    .version = 7,
    .text = true,
    .probe = old_probe,
    .kit = &(const struct pf_study_format){read_older, PF_STUDY_HEAD, false},
    PF_STUDY_OPERATIONS,
};
