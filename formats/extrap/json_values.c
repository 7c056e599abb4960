/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_values.h"

#include <errno.h>
#include <math.h>

int pf_json_study_note(struct pf_json_study *reader, enum pf_problem problem,
                       const struct pf_json_token *token, const char *what, struct pf_error *error)
{
    if (reader->damaged) /* what looks wrong now is only what is missing */
        return 0;
    return pf_experiment_note(reader->experiment, problem, token->line, (int64_t)token->offset, error, "%s",
                              what);
}

int pf_json_study_damage(struct pf_json_study *reader, struct pf_error *error)
{
    if (!pf_study_is_damage(error) || (!reader->noted && pf_study_damage(reader->study, error) < 0))
        return -1;
    reader->damaged = reader->noted = true;
    return 1;
}

int pf_json_study_next(struct pf_json_study *reader, struct pf_json_token *token, struct pf_error *error)
{
    int event = pf_json_next(reader->json, token, error);
    if (event >= 0)
        return event;
    return pf_json_study_damage(reader, error) < 0 ? -1 : PF_JSON_END;
}

int pf_json_study_skip(struct pf_json_study *reader, struct pf_json_token *token, struct pf_error *error)
{
    int event = pf_json_skip(reader->json, token, error);
    if (event >= 0)
        return event;
    return pf_json_study_damage(reader, error) < 0 ? -1 : PF_JSON_END;
}

int pf_json_study_ignore(struct pf_json_study *reader, const struct pf_json_token *token,
                         struct pf_error *error)
{
    if ((token->event != PF_JSON_OBJECT && token->event != PF_JSON_ARRAY) ||
        pf_json_leave(reader->json, error) == 0)
        return 0;
    return pf_json_study_damage(reader, error) < 0 ? -1 : 0;
}

static int add_parameter(struct pf_json_study *reader, const struct pf_json_token *token,
                         struct pf_error *error)
{
    if (token->event != PF_JSON_STRING)
        return pf_json_study_note(reader, PF_BAD_MEMBER, token, "a parameter's name is no string", error);
    if (pf_study_check_text(reader->study, token, error) < 0)
        return -1;
    unsigned before = pf_experiment_parameters(reader->experiment);
    int added = pf_experiment_add_parameter(reader->experiment, token->text, token->size, error);
    if (!added && before == PF_PARAMETERS_MAX)
        return pf_json_study_note(reader, PF_LIMIT, token,
                                  "more than 16 parameters, the rest are passed over", error);
    return added < 0 ? -1 : 0;
}

int pf_json_study_parameters(struct pf_json_study *reader, const struct pf_json_token *start,
                             struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (start->event != PF_JSON_ARRAY) {
        if (pf_json_study_note(reader, PF_BAD_MEMBER, start, "the parameters are no array", error) < 0)
            return -1;
        return pf_json_study_ignore(reader, start, error);
    }
    while ((event = pf_json_study_skip(reader, &token, error)) > 0 && event != PF_JSON_ARRAY_END)
        if (add_parameter(reader, &token, error) < 0)
            return -1;
    return event < 0 ? -1 : 0;
}

static int add_coordinate(struct pf_json_study *reader, const struct pf_json_token *token,
                          struct pf_json_point *point, struct pf_error *error)
{
    double value;
    if (!pf_study_number(token, &value)) {
        value = (double)NAN;
        point->broken = true;
        if (pf_json_study_note(reader, PF_BAD_NUMBER, token, "a coordinate is not a number", error) < 0)
            return -1;
    }
    if (point->count < PF_PARAMETERS_MAX)
        point->coordinates[point->count] = value;
    point->count++;
    return 0;
}

int pf_json_study_point(struct pf_json_study *reader, const struct pf_json_token *start,
                        struct pf_json_point *point, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    point->count = 0;
    point->broken = false;
    if (start->event != PF_JSON_ARRAY) {
        if (pf_json_study_ignore(reader, start, error) < 0)
            return -1;
        return add_coordinate(reader, start, point, error);
    }
    while ((event = pf_json_study_skip(reader, &token, error)) > 0 && event != PF_JSON_ARRAY_END)
        if (add_coordinate(reader, &token, point, error) < 0)
            return -1;
    return event < 0 ? -1 : 0;
}

uint32_t pf_json_study_add_point(struct pf_json_study *reader, const struct pf_json_point *point,
                                 const struct pf_json_token *at, struct pf_error *error)
{
    unsigned parameters = pf_experiment_parameters(reader->experiment);
    unsigned kept = point->count < PF_PARAMETERS_MAX ? point->count : PF_PARAMETERS_MAX;
    if (parameters && point->count != parameters &&
        pf_experiment_note(reader->experiment, PF_POINT_SIZE, at->line, (int64_t)at->offset, error,
                           "a point with %u of %u coordinates: Extra-P refuses the file", point->count,
                           parameters) < 0)
        return PF_NO_POINT;
    return pf_experiment_point(reader->experiment, point->coordinates, kept, point->broken, error);
}

uint32_t pf_json_study_callpath(struct pf_json_study *reader, const struct pf_json_token *name,
                                struct pf_error *error)
{
    const char *tags = memchr(name->text, 3, name->size);
    if (pf_study_check_text(reader->study, name, error) < 0)
        return PF_NO_CONTEXT;
    return pf_experiment_callpath(reader->experiment, name->text,
                                  tags ? (size_t)(tags - name->text) : name->size, error);
}
