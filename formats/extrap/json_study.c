/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_study.h"

#include <math.h>
#include <stdlib.h>

#include "formats/extrap/formula.h"
#include "formats/extrap/summary.h"

/* ---- reading ------------------------------------------------------------------------------------ */

static ssize_t read_study_input(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct pf_study *study = ((struct pf_json_study *)arg)->study;
    uint64_t left = offset < study->end ? study->end - offset : 0;
    pf_study_step(study, offset);
    return left ? pf_input_read(study->input, buffer, size < left ? size : (size_t)left, offset, error) : 0;
}

void *pf_json_study_open(struct pf_study *study, size_t size, pf_json_read *read, unsigned flags)
{
    struct pf_json_study *reader = PF_OWN(study->run, calloc(1, size), free);
    reader->study = study;
    reader->json = PF_OWN(study->run, pf_json_new_reading(read ? read : read_study_input, reader, flags, 0),
                          pf_json_free);
    return reader;
}

struct pf_json_walk pf_json_study_walk(struct pf_json_study *reader)
{
    return (struct pf_json_walk){.json = reader->json, .error = reader->study->run->error};
}

/* Handles the result of a walk. Notes only the first damage of the text. Other errors end the run. */
static void end_walk(struct pf_json_study *reader, int got)
{
    if (got >= 0)
        return;
    if (!reader->damaged || !pf_json_is_damage(reader->study->run->error))
        pf_study_damage(reader->study);
    reader->damaged = true;
}

void pf_json_study_read(struct pf_json_study *reader, const struct pf_json_member *members)
{
    struct pf_json_walk walk = pf_json_study_walk(reader);
    end_walk(reader, pf_json_whole_object(&walk, reader, members));
}

void pf_json_study_array(struct pf_json_study *reader, struct pf_json_place place, pf_json_taker *take)
{
    struct pf_json_walk walk = pf_json_study_walk(reader);
    struct pf_json_token token;
    if (!place.line)
        return;
    reader->study->next_step = 0;
    pf_json_seek(reader->json, place.offset, place.line);
    int got = pf_json_next(reader->json, &token, walk.error);
    if (got == PF_JSON_ARRAY)
        got = pf_json_array(&walk, reader, PF_JSON_END, take);
    end_walk(reader, got);
}

int pf_json_study_note(const struct pf_json_study *reader, struct pf_note_kind problem,
                       const struct pf_json_token *at, const char *what)
{
    pf_study_note(reader->study, problem, at->line, (int64_t)at->offset, "%s", what);
    return 0;
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

int pf_json_take_amount(const struct pf_json_walk *walk)
{
    struct pf_json_amount *amount = walk->place;
    amount->known |= pf_study_number(walk->token, &amount->value);
    return 0;
}

void pf_study_check_text(struct pf_study *study, const struct pf_json_token *token)
{
    if (token->cut)
        pf_study_note(study, PF_CUT_NAME, token->line, (int64_t)token->offset,
                      "the name is too long and cut");
    if (token->replaced)
        pf_study_note(study, PF_REPLACED_TEXT, token->line, (int64_t)token->offset,
                      "a name has invalid bytes, shown as U+FFFD: '%.*s'",
                      pf_study_clip(token->text, token->size), token->text);
}

static int take_parameter_name(const struct pf_json_walk *walk)
{
    struct pf_json_study *reader = walk->into;
    const struct pf_json_token *name = walk->token;
    if (name->event != PF_JSON_STRING)
        return pf_json_study_note(reader, PF_BAD_MEMBER, name, "a parameter's name is not a string");
    pf_study_check_text(reader->study, name);
    pf_study_parameter(reader->study, name->text, name->size, name->line, (int64_t)name->offset);
    return 0;
}

int pf_json_take_parameters(const struct pf_json_walk *walk)
{
    if (walk->token->event != PF_JSON_ARRAY)
        return pf_json_study_note(walk->into, PF_BAD_MEMBER, walk->token, "the parameters are not an array");
    return pf_json_array(walk, walk->into, PF_JSON_END, take_parameter_name);
}

static int take_coordinate(const struct pf_json_walk *walk)
{
    double value;
    pf_point_add(walk->into, pf_study_number(walk->token, &value) ? &value : NULL);
    return 0;
}

int pf_json_take_point(const struct pf_json_walk *walk)
{
    struct pf_json_walk within = *walk;
    struct pf_json_point *point = walk->place;
    *point = (struct pf_json_point){.known = false};
    within.into = &point->of;
    int got = walk->token->event == PF_JSON_ARRAY
                  ? pf_json_array(&within, within.into, PF_JSON_END, take_coordinate)
                  : take_coordinate(&within);
    point->known = !got;
    if (point->of.broken && point->known)
        pf_json_study_note(walk->into, PF_BAD_NUMBER, walk->token, "a coordinate is not a number");
    return got;
}

/* ---- measurements ------------------------------------------------------------------------------- */

static void keep_value(struct pf_json_study *reader, double value, const struct pf_json_token *at)
{
    if (reader->values.n == PF_SUMMARY_HELD)
        pf_json_study_note(reader, PF_LIMIT, at, "too many values of one measurement: this one is skipped");
    else
        *PF_PUSH(reader->study->run, reader->values) = value;
}

int pf_json_take_values(const struct pf_json_walk *walk)
{
    struct pf_json_study *reader = walk->into;
    struct pf_json_token token = *walk->token;
    bool inside = token.event == PF_JSON_ARRAY || token.event == PF_JSON_OBJECT;
    unsigned outer = pf_json_depth(walk->json) - inside;
    double value;
    int got;
    reader->values.n = 0;
    do {
        got = 0;
        if (pf_study_number(&token, &value))
            keep_value(reader, value, &token);
        else if (token.event != PF_JSON_ARRAY && token.event != PF_JSON_ARRAY_END)
            pf_json_study_note(reader, PF_BAD_VALUES, &token, "a value is not a number: skipped");
        if (token.event == PF_JSON_OBJECT)
            got = pf_json_leave(walk->json, walk->error);
        if (!got && pf_json_depth(walk->json) > outer)
            got = pf_json_next(walk->json, &token, walk->error);
    } while (got > 0);
    return got;
}

void pf_json_study_add(struct pf_json_study *reader, uint32_t series, uint32_t point, bool starts)
{
    pf_study_begin(reader->study, series, point, starts);
    for (size_t i = 0; i < reader->values.n; i++)
        pf_study_add(reader->study, reader->values.at[i]);
}

uint32_t pf_json_study_callpath(struct pf_json_study *reader, const struct pf_json_token *name)
{
    const char *tags = memchr(name->text, 3, name->size);
    pf_study_check_text(reader->study, name);
    return pf_study_callpath(reader->study, PF_NO_CONTEXT, name->text,
                             tags ? (size_t)(tags - name->text) : name->size);
}

uint32_t pf_json_study_metric(struct pf_json_study *reader, const struct pf_json_token *name)
{
    pf_study_check_text(reader->study, name);
    return pf_study_metric(reader->study, name->text, name->size);
}

static int take_metric_member(const struct pf_json_walk *walk)
{
    struct pf_json_study *reader = walk->into;
    reader->metric = pf_json_study_metric(reader, walk->token);
    return reader->each(walk);
}

static int take_callpath_member(const struct pf_json_walk *walk)
{
    static const struct pf_json_member metrics[] = {PF_EACH_MEMBER(take_metric_member), PF_MEMBERS_END};
    struct pf_json_study *reader = walk->into;
    struct pf_json_token value;
    reader->context = pf_json_study_callpath(reader, walk->token);
    if (pf_json_next(walk->json, &value, walk->error) < 0)
        return -1;
    if (value.event != PF_JSON_OBJECT)
        return pf_json_study_note(reader, PF_BAD_MEMBER, &value,
                                  "the metrics of a call path are not an object");
    return pf_json_object(walk, reader, metrics);
}

int pf_json_by_metric(const struct pf_json_walk *walk, pf_json_taker *take)
{
    static const struct pf_json_member callpaths[] = {PF_EACH_MEMBER(take_callpath_member), PF_MEMBERS_END};
    struct pf_json_study *reader = walk->into;
    reader->each = take;
    return pf_json_object(walk, reader, callpaths);
}

static int take_element(const struct pf_json_walk *walk)
{
    const struct pf_json_study *reader = walk->into;
    if (walk->token->event != PF_JSON_OBJECT)
        return pf_json_study_note(reader, PF_BAD_MEMBER, walk->token, "a measurement is not an object");
    return reader->measurement(walk);
}

static int take_series(const struct pf_json_walk *walk)
{
    struct pf_json_study *reader = walk->into;
    struct pf_json_token list;
    if (pf_json_next(walk->json, &list, walk->error) < 0)
        return -1;
    if (list.event != PF_JSON_ARRAY)
        return pf_json_study_note(reader, PF_BAD_MEMBER, &list,
                                  "the measurements of a metric are not an array");
    reader->series = pf_study_series(reader->study, reader->context, reader->metric, reader->replaces,
                                     list.line, (int64_t)list.offset);
    return pf_json_array(walk, reader, PF_JSON_END, take_element);
}

int pf_json_measurements(const struct pf_json_walk *walk, bool replaces, pf_json_taker *measurement)
{
    struct pf_json_study *reader = walk->into;
    reader->replaces = replaces;
    reader->measurement = measurement;
    return pf_json_by_metric(walk, take_series);
}
