/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_study.h"

#include <math.h>

/* ---- tokens ------------------------------------------------------------------------------------- */

static ssize_t read_input(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct pf_study *study = arg;
    uint64_t left = offset < study->end ? study->end - offset : 0;
    if (!pf_study_step(study, offset))
        return -1;
    return left ? pf_input_read(study->input, buffer, size < left ? size : (size_t)left, offset, error) : 0;
}

struct pf_json *pf_study_json(struct pf_study *study, unsigned flags)
{
    struct pf_json *json = pf_json_new_reading(read_input, study, flags, 0);
    if (!json)
        pf_study_check(study, pf_fail_memory(study->error));
    return json;
}

void pf_json_study_note(struct pf_json_study *reader, enum pf_problem problem, const struct pf_json_token *at,
                        const char *what)
{
    if (!reader->damaged)
        pf_experiment_note(reader->study->experiment, problem, at->line, (int64_t)at->offset, "%s", what);
}

void pf_json_study_damage(struct pf_json_study *reader)
{
    if (!reader->noted || !pf_study_is_damage(reader->study->error))
        pf_study_damage(reader->study);
    reader->damaged = reader->noted = true;
    reader->token.event = PF_JSON_END;
}

enum pf_json_event pf_json_study_next(struct pf_json_study *reader)
{
    if (reader->study->failed)
        reader->token.event = PF_JSON_END;
    else if (pf_json_next(reader->json, &reader->token, reader->study->error) < 0)
        pf_json_study_damage(reader);
    return reader->token.event;
}

enum pf_json_event pf_json_study_skip(struct pf_json_study *reader)
{
    if (reader->study->failed)
        reader->token.event = PF_JSON_END;
    else if (pf_json_skip(reader->json, &reader->token, reader->study->error) < 0)
        pf_json_study_damage(reader);
    return reader->token.event;
}

void pf_json_study_ignore(struct pf_json_study *reader)
{
    bool open = reader->token.event == PF_JSON_OBJECT || reader->token.event == PF_JSON_ARRAY;
    if (open && !reader->study->failed && pf_json_leave(reader->json, reader->study->error) < 0)
        pf_json_study_damage(reader);
}

bool pf_json_study_is(struct pf_json_study *reader, enum pf_json_event event, const char *what)
{
    if (reader->token.event == event)
        return true;
    if (what)
        pf_json_study_note(reader, PF_BAD_MEMBER, &reader->token, what);
    pf_json_study_ignore(reader);
    return false;
}

/* ---- simple values ------------------------------------------------------------------------------ */

bool pf_study_number(const struct pf_json_token *token, double *value)
{
    struct pf_fraction fraction;
    if (token->event == PF_JSON_NUMBER) {
        *value = pf_json_double(token);
        return true;
    }
    if (token->event != PF_JSON_STRING || !pf_fraction_parse(token->text, token->size, &fraction))
        return false;
    *value = fraction.value;
    return true;
}

void pf_study_check_text(struct pf_study *study, const struct pf_json_token *token)
{
    if (token->cut)
        pf_experiment_note(study->experiment, PF_CUT_NAME, token->line, (int64_t)token->offset,
                           "the name is too long and cut");
    if (token->replaced)
        pf_experiment_note(study->experiment, PF_REPLACED_TEXT, token->line, (int64_t)token->offset,
                           "a name holds what is no text, shown as U+FFFD: '%.*s'",
                           pf_experiment_clip(token->text, token->size), token->text);
}

void pf_json_study_parameters(struct pf_json_study *reader)
{
    const struct pf_json_token *token = &reader->token;
    if (!pf_json_study_is(reader, PF_JSON_ARRAY, "the parameters are no array"))
        return;
    while (pf_json_study_simple(reader)) {
        if (token->event != PF_JSON_STRING) {
            pf_json_study_note(reader, PF_BAD_MEMBER, token, "a parameter's name is no string");
            continue;
        }
        pf_study_check_text(reader->study, token);
        pf_study_parameter(reader->study, token->text, token->size, token->line, (int64_t)token->offset);
    }
}

static void add_coordinate(struct pf_json_study *reader, const struct pf_json_token *token,
                           struct pf_json_point *point)
{
    double value = (double)NAN;
    if (!pf_study_number(token, &value)) {
        point->broken = true;
        pf_json_study_note(reader, PF_BAD_NUMBER, token, "a coordinate is not a number");
    }
    if (point->count < PF_PARAMETERS_MAX)
        point->coordinates[point->count] = value;
    point->count++;
}

void pf_json_study_point(struct pf_json_study *reader, struct pf_json_point *point)
{
    const struct pf_json_token start = reader->token;
    point->count = 0;
    point->broken = false;
    if (start.event != PF_JSON_ARRAY) {
        pf_json_study_ignore(reader);
        add_coordinate(reader, &start, point);
        return;
    }
    while (pf_json_study_simple(reader))
        add_coordinate(reader, &reader->token, point);
}

uint32_t pf_json_study_callpath(struct pf_json_study *reader)
{
    const struct pf_json_token *name = &reader->token;
    const char *tags = memchr(name->text, 3, name->size);
    pf_study_check_text(reader->study, name);
    return pf_study_callpath(reader->study, PF_NO_CONTEXT, name->text,
                             tags ? (size_t)(tags - name->text) : name->size);
}

uint32_t pf_json_study_metric(struct pf_json_study *reader)
{
    pf_study_check_text(reader->study, &reader->token);
    return pf_study_metric(reader->study, reader->token.text, reader->token.size);
}

/* ---- measurements ------------------------------------------------------------------------------- */

/* The array of a metric's measurements. */
static void read_series(struct pf_json_study *reader, uint32_t context, uint32_t metric,
                        const struct pf_json_measurements *kind)
{
    if (!pf_json_study_is(reader, PF_JSON_ARRAY, "the measurements of a metric are no array"))
        return;
    uint32_t series = pf_study_series(reader->study, context, metric, kind->last_wins, reader->token.line,
                                      (int64_t)reader->token.offset);
    while (pf_json_study_element(reader))
        if (pf_json_study_is(reader, PF_JSON_OBJECT, "a measurement is no object"))
            kind->read(reader, series, kind->arg);
}

/* The metrics of a call path. */
static void read_callpath(struct pf_json_study *reader, uint32_t context,
                          const struct pf_json_measurements *kind)
{
    if (!pf_json_study_is(reader, PF_JSON_OBJECT, "what a call path has is no object"))
        return;
    while (pf_json_study_member(reader)) {
        uint32_t metric = pf_json_study_metric(reader);
        pf_json_study_next(reader);
        read_series(reader, context, metric, kind);
    }
}

/* What the call path that the last token names had before is dropped. */
static void drop_earlier(struct pf_json_study *reader, uint32_t context)
{
    struct pf_experiment *experiment = reader->study->experiment;
    uint32_t series = pf_experiment_first_series(experiment, context);
    if (series != PF_NO_SERIES)
        pf_json_study_note(reader, PF_REPEATED_NAME, &reader->token,
                           "a call path for a second time: only what comes last is kept");
    for (; series != PF_NO_SERIES; series = experiment->series[series].next)
        experiment->series[series].dropped = true;
}

void pf_json_study_measurements(struct pf_json_study *reader, const struct pf_json_measurements *kind)
{
    if (!pf_json_study_is(reader, PF_JSON_OBJECT, "the measurements are no object"))
        return;
    while (pf_json_study_member(reader)) {
        uint32_t context = pf_json_study_callpath(reader);
        if (kind->last_wins && context != PF_NO_CONTEXT)
            drop_earlier(reader, context);
        pf_json_study_next(reader);
        read_callpath(reader, context, kind);
    }
}
