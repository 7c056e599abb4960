/* SPDX-License-Identifier: MIT */
#include "formats/extrap/text_points.h"

#include <math.h>

#include "formats/extrap/text_grammar.h"
#include "formats/kit/parse.h"

/* Where a problem is. */
struct place {
    struct pf_experiment *experiment;
    const struct pf_line *line;
    const char *at;
};

static int note(const struct place *place, enum pf_problem problem, const char *text, struct pf_error *error)
{
    int64_t offset = (int64_t)(place->line->offset + (uint64_t)(place->at - place->line->text));
    return pf_experiment_note(place->experiment, problem, place->line->number, offset, error, "%s", text);
}

void pf_xtext_points_start(struct pf_xtext_points *points)
{
    *points = (struct pf_xtext_points){0};
}

static int note_size(const struct place *place, unsigned count, struct pf_error *error)
{
    unsigned parameters = pf_experiment_parameters(place->experiment);
    if (!parameters || count == parameters)
        return 0;
    int64_t offset = (int64_t)(place->line->offset + (uint64_t)(place->at - place->line->text));
    return pf_experiment_note(place->experiment, PF_POINT_SIZE, place->line->number, offset, error,
                              "a point with %u of %u coordinates: Extra-P refuses the file", count,
                              parameters);
}

/* Ends the open point. */
static int finish_point(struct pf_xtext_points *points, const struct place *place, struct pf_error *error)
{
    unsigned count = points->count, kept = count < PF_PARAMETERS_MAX ? count : PF_PARAMETERS_MAX;
    bool broken = points->broken;
    points->count = 0;
    points->broken = false;
    if (!count)
        return note(place, PF_BAD_POINT, "a point without coordinates, passed over", error);
    if (note_size(place, count, error) < 0)
        return -1;
    size_t before = place->experiment->n_points;
    if (pf_experiment_point(place->experiment, points->coordinates, kept, broken, error) == PF_NO_POINT)
        return -1;
    if (place->experiment->n_points == before)
        return note(place, PF_REPEATED_POINT,
                    "a point that is there already, passed over: its DATA lines have no point", error);
    return 0;
}

static int add_coordinate(struct pf_xtext_points *points, const struct place *place, size_t size,
                          struct pf_error *error)
{
    double value;
    if (!pf_parse_double(place->at, size, &value)) {
        value = NAN;
        points->broken = true;
        if (pf_experiment_note(place->experiment, PF_BAD_NUMBER, place->line->number,
                               (int64_t)(place->line->offset + (uint64_t)(place->at - place->line->text)),
                               error, "a coordinate is not a number: '%.*s'",
                               pf_experiment_clip(place->at, size), place->at) < 0)
            return -1;
    }
    if (points->count < PF_PARAMETERS_MAX)
        points->coordinates[points->count] = value;
    points->count++;
    return points->depth ? 0 : finish_point(points, place, error);
}

static int open_brace(struct pf_xtext_points *points, const struct place *place, struct pf_error *error)
{
    points->depth++;
    if (points->depth < 2 || points->inner)
        return 0;
    points->inner = true;
    return note(place, PF_INNER_BRACES, "braces inside a point's braces: Extra-P refuses the file", error);
}

static int close_brace(struct pf_xtext_points *points, const struct place *place, struct pf_error *error)
{
    if (!points->depth)
        return note(place, PF_BAD_POINT, "a brace is closed that was not opened", error);
    return --points->depth ? 0 : finish_point(points, place, error);
}

static const char *end_of_number(const char *at, const char *end)
{
    while (at < end && !pf_xtext_is_blank(*at) && *at != '(' && *at != ')')
        at++;
    return at;
}

/* The end of the last piece. */
static int finish_line(struct pf_xtext_points *points, const struct place *place, struct pf_error *error)
{
    if (!points->depth || points->lost)
        return 0;
    points->depth = 0;
    if (note(place, PF_BAD_POINT, "a brace is not closed", error) < 0)
        return -1;
    return points->count ? finish_point(points, place, error) : 0;
}

int pf_xtext_points_add(struct pf_xtext_points *points, struct pf_experiment *experiment,
                        const struct pf_line *line, const char *text, size_t size, struct pf_error *error)
{
    const char *at = text, *end = text + size;
    struct place place = {experiment, line, at};
    if (!points->lost && line->more && size && !pf_xtext_is_blank(end[-1])) {
        /* The piece ends inside a word (see linereader.h), so that its last number may be torn. */
        points->lost = true;
        if (note(&place, PF_BAD_POINT, "too many points without a blank between them, passed over", error) <
            0)
            return -1;
    }
    while (at < end && !points->lost) {
        place.at = at;
        int result = 0;
        if (pf_xtext_is_blank(*at)) {
            at++;
        } else if (*at == '(') {
            at++;
            result = open_brace(points, &place, error);
        } else if (*at == ')') {
            at++;
            result = close_brace(points, &place, error);
        } else {
            at = end_of_number(at, end);
            result = add_coordinate(points, &place, (size_t)(at - place.at), error);
        }
        if (result < 0)
            return -1;
    }
    place.at = at;
    return line->more ? 0 : finish_line(points, &place, error);
}
