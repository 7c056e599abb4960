/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "formats/json/probe.h"
#include "formats/extrap/json_values.h"

/*
 * The newer JSON form: {"parameters": [names], "measurements": {call path: {metric: [{"point": [...], "values":
 * [...]}, ...]}}}. Values are numbers, or arrays of numbers (one a process) for each repetition. A later member of
 * the same name takes the place of the earlier one, as in Python.
 */

/* Where the values of a measurement are that come before its point. */
struct deferred {
    uint64_t offset, line;
    bool is;
};

/* ---- values ------------------------------------------------------------------------------------- */

static int add_value(struct pf_json_study *reader, const struct pf_json_token *token, struct pf_error *error)
{
    double value;
    if (!pf_study_number(token, &value))
        return pf_json_study_note(reader, PF_BAD_VALUES, token, "a value is not a number, passed over",
                                  error);
    return pf_measured_add(reader->study->measured, value, error);
}

/* The values that begin with this token: however deep they are, each is a repetition. */
static int read_values(struct pf_json_study *reader, const struct pf_json_token *start, uint32_t series,
                       uint32_t point, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (pf_measured_begin(reader->study->measured, series, point, true, error) < 0)
        return -1;
    if (start->event != PF_JSON_ARRAY) {
        if (add_value(reader, start, error) < 0)
            return -1;
        return pf_json_study_ignore(reader, start, error);
    }
    unsigned outer = pf_json_depth(reader->json);
    while (pf_json_depth(reader->json) >= outer) {
        event = pf_json_study_next(reader, &token, error);
        if (event <= 0)
            return event;
        if (event == PF_JSON_ARRAY || event == PF_JSON_ARRAY_END)
            continue;
        if (add_value(reader, &token, error) < 0 || pf_json_study_ignore(reader, &token, error) < 0)
            return -1;
    }
    return 0;
}

/* ---- measurements ------------------------------------------------------------------------------- */

/* Goes back to values that came before their point, and then on. */
static int read_deferred(struct pf_json_study *reader, const struct deferred *deferred, uint32_t series,
                         uint32_t point, struct pf_error *error)
{
    unsigned char here[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH / 8];
    struct pf_json_token token;
    size_t size = pf_json_save(reader->json, here, sizeof here);
    pf_json_seek(reader->json, deferred->offset, deferred->line);
    int event = pf_json_study_next(reader, &token, error);
    if (event < 0 || (event && read_values(reader, &token, series, point, error) < 0))
        return -1;
    return pf_json_restore(reader->json, here, size, error);
}

/* An object with a point and values; `start` is its first token. */
static int read_measurement(struct pf_json_study *reader, const struct pf_json_token *start, uint32_t series,
                            void *arg, struct pf_error *error)
{
    (void)arg;
    struct pf_json_point point = {.count = 0};
    struct deferred deferred = {.is = false};
    struct pf_json_token token;
    uint32_t number = PF_NO_POINT;
    bool values = false;
    int event;
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        bool is_point = pf_json_is(&token, "point"), is_values = pf_json_is(&token, "values");
        int result = pf_json_study_next(reader, &token, error);
        if (result < 0)
            return -1;
        if (is_point) {
            result = pf_json_study_point(reader, &token, &point, error);
            number = result < 0 ? PF_NO_POINT : pf_json_study_add_point(reader, &point, start, error);
            result = number == PF_NO_POINT ? -1 : 0;
        } else if (is_values && number != PF_NO_POINT) {
            values = true;
            result = read_values(reader, &token, series, number, error);
        } else {
            if (is_values)
                deferred = (struct deferred){token.offset, token.line, true};
            result = pf_json_study_ignore(reader, &token, error);
        }
        if (result < 0)
            return -1;
    }
    if (event < 0)
        return -1;
    if (number != PF_NO_POINT && deferred.is && !reader->damaged)
        return read_deferred(reader, &deferred, series, number, error);
    if (number != PF_NO_POINT && values)
        return 0;
    return pf_json_study_note(reader, PF_BAD_MEMBER, start, "a measurement without a point or values", error);
}

/* ---- the file ----------------------------------------------------------------------------------- */

static const struct pf_json_measurements kind = {.read = read_measurement, .last_wins = true};

/* What earlier measurements there were is dropped. */
static int drop_all(struct pf_json_study *reader, const struct pf_json_token *at, struct pf_error *error)
{
    struct pf_experiment *experiment = reader->experiment;
    for (size_t i = 0; i < experiment->n_series; i++)
        experiment->series[i].dropped = true;
    return pf_json_study_note(reader, PF_REPEATED_NAME, at,
                              "measurements for a second time: only what comes last is kept", error);
}

static int read_top(struct pf_json_study *reader, struct pf_error *error)
{
    struct pf_json_token token;
    bool seen = false;
    int event = pf_json_study_next(reader, &token, error);
    if (event != PF_JSON_OBJECT)
        return event < 0 ? -1 : 0;
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        bool parameters = pf_json_is(&token, "parameters"), measurements = pf_json_is(&token, "measurements");
        if ((measurements && seen && drop_all(reader, &token, error) < 0) ||
            pf_json_study_next(reader, &token, error) < 0)
            return -1;
        seen |= measurements;
        int result = parameters     ? pf_json_study_parameters(reader, &token, error)
                     : measurements ? pf_json_study_measurements(reader, &token, &kind, error)
                                    : pf_json_study_ignore(reader, &token, error);
        if (result < 0)
            return -1;
    }
    if (event == PF_JSON_OBJECT_END)
        event = pf_json_study_next(reader, &token, error); /* nothing may follow */
    return event < 0 ? -1 : 0;
}

static int read_file(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct pf_study_input source = {.input = input, .end = end, .pass = pass};
    struct pf_json_study reader = {.study = study,
                                   .experiment = study->experiment,
                                   .json = pf_json_new_reading(pf_study_input_read, &source, 0, 0)};
    int result = reader.json ? read_top(&reader, error) : pf_fail_memory(error);
    pf_json_free(reader.json);
    return result;
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void json_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const struct pf_member members[] = {
        {"parameters", PF_JSON_ARRAY}, {"measurements", PF_JSON_OBJECT}, {NULL, PF_JSON_END}};
    if (pf_probe_members(probe, members, 0, pf_probe_scan(probe)))
        verdict->confidence = 16;
}

static int json_open(struct pf_profile *profile, struct pf_error *error)
{
    return pf_stored_open(profile, read_file, PF_STUDY_HEAD, false, error);
}

const struct pf_driver pf_extrap_json_driver = {
    .name = "extrap-json",
    .title = "Extra-P JSON file",
    .version = 2,
    .probe = json_probe,
    .open = json_open,
    .load = pf_stored_load,
    .close = pf_stored_close,
};
