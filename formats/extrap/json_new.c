/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_study.h"
#include "formats/extrap/stored.h"
#include "formats/json/probe.h"

/*
 * The newer JSON form: {"parameters": [names], "measurements": {call path: {metric: [{"point": [...], "values":
 * [...]}, ...]}}}. Values are numbers, or arrays of numbers (one a process) for each repetition. A later member of
 * the same name takes the place of the earlier one, as in Python.
 */

/* ---- values ------------------------------------------------------------------------------------- */

static void add_value(struct pf_json_study *reader)
{
    double value;
    if (pf_study_number(&reader->token, &value))
        pf_study_add(reader->study, value);
    else
        pf_json_study_note(reader, PF_BAD_VALUES, &reader->token, "a value is not a number, passed over");
    pf_json_study_ignore(reader);
}

/* The values that begin with the last token: however deep they are, each is a repetition. */
static void read_values(struct pf_json_study *reader, uint32_t series, uint32_t point)
{
    pf_study_begin(reader->study, series, point, true);
    if (reader->token.event != PF_JSON_ARRAY) {
        add_value(reader);
        return;
    }
    unsigned outer = pf_json_depth(reader->json);
    while (pf_json_depth(reader->json) >= outer && pf_json_study_next(reader))
        if (reader->token.event != PF_JSON_ARRAY && reader->token.event != PF_JSON_ARRAY_END)
            add_value(reader);
}

/* ---- measurements ------------------------------------------------------------------------------- */

/* Goes back to values that came before their point, and then on. */
static void read_deferred(struct pf_json_study *reader, const struct pf_json_token *values, uint32_t series,
                          uint32_t point)
{
    unsigned char here[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH / 8];
    size_t size = pf_json_save(reader->json, here, sizeof here);
    pf_json_seek(reader->json, values->offset, values->line);
    if (pf_json_study_next(reader))
        read_values(reader, series, point);
    pf_study_check(reader->study, pf_json_restore(reader->json, here, size, reader->study->error));
}

/* An object with a point and values. */
static void read_measurement(struct pf_json_study *reader, uint32_t series, void *arg)
{
    (void)arg;
    struct pf_study *study = reader->study;
    const struct pf_json_token start = reader->token;
    struct pf_json_token deferred = {.event = PF_JSON_END};
    uint32_t point = PF_NO_POINT;
    bool values = false;
    while (pf_json_study_member(reader)) {
        bool is_point = pf_json_is(&reader->token, "point"), is_values = pf_json_is(&reader->token, "values");
        pf_json_study_next(reader);
        if (is_point) {
            struct pf_json_point at;
            pf_json_study_point(reader, &at);
            point =
                pf_study_point(study, at.coordinates, at.count, at.broken, start.line, (int64_t)start.offset);
        } else if (is_values && point != PF_NO_POINT) {
            values = true;
            read_values(reader, series, point);
        } else {
            if (is_values)
                deferred = reader->token;
            pf_json_study_ignore(reader);
        }
    }
    if (point != PF_NO_POINT && deferred.event && !reader->damaged)
        read_deferred(reader, &deferred, series, point);
    else if (point == PF_NO_POINT || !values)
        pf_json_study_note(reader, PF_BAD_MEMBER, &start, "a measurement without a point or values");
}

/* ---- the file ----------------------------------------------------------------------------------- */

/* What earlier measurements there were is dropped. */
static void drop_all(struct pf_json_study *reader)
{
    struct pf_experiment *experiment = reader->study->experiment;
    for (size_t i = 0; i < experiment->n_series; i++)
        experiment->series[i].dropped = true;
    pf_json_study_note(reader, PF_REPEATED_NAME, &reader->token,
                       "measurements for a second time: only what comes last is kept");
}

static void read_file(struct pf_study *study)
{
    static const struct pf_json_measurements kind = {.read = read_measurement, .last_wins = true};
    struct pf_json_study reader = {.study = study, .json = pf_study_json(study, 0)};
    bool seen = false, object = pf_json_study_next(&reader) == PF_JSON_OBJECT;
    while (object && pf_json_study_member(&reader)) {
        bool parameters = pf_json_is(&reader.token, "parameters"),
             measurements = pf_json_is(&reader.token, "measurements");
        if (measurements && seen)
            drop_all(&reader);
        seen |= measurements;
        pf_json_study_next(&reader);
        if (parameters)
            pf_json_study_parameters(&reader);
        else if (measurements)
            pf_json_study_measurements(&reader, &kind);
        else
            pf_json_study_ignore(&reader);
    }
    if (reader.token.event == PF_JSON_OBJECT_END)
        pf_json_study_next(&reader); /* nothing may follow */
    pf_json_free(reader.json);
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void json_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const struct pf_member members[] = {
        {"parameters", PF_JSON_ARRAY}, {"measurements", PF_JSON_OBJECT}, {NULL, PF_JSON_END}};
    if (pf_probe_members(probe, members, 0, pf_probe_scan(probe)))
        verdict->confidence = 16;
}

const struct pf_driver pf_extrap_json_driver = {
    .name = "extrap-json",
    .title = "Extra-P JSON file",
    .version = 3,
    .probe = json_probe,
    .kit = &(const struct pf_stored_format){read_file, PF_STUDY_HEAD, false},
    PF_STORED,
};
