/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/probe.h"
#include "formats/extrap/stored.h"

/*
 * TaLPas and JSON Lines: an object a line, which is one measurement of a call path and metric at a point. Lines of
 * the same series and point are repetitions wherever they stand.
 */

/* What the members of a line are called, and which may be missing. */
struct dialect {
    const char *parameters, *metric, *callpath;
    const char *default_metric, *default_callpath; /* NULL: these must be there */
    unsigned flags;                                /* of the JSON reader */
};

static const struct dialect talpas = {"parameters", "metric", "callpath",
                                      NULL,         NULL,     PF_JSON_LINES | PF_JSON_SEMICOLONS};
static const struct dialect json_lines = {"params",    "metric", "callpath",
                                          "<default>", "<root>", PF_JSON_LINES};

/* A string of a line, as the last line had it: names repeat. */
struct name {
    char *text; /* owned: PF_JSON_TEXT_MAX bytes */
    size_t size;
    bool seen;    /* in this line */
    bool changed; /* since the last measurement */
};

struct lines {
    struct pf_study *study;
    struct pf_experiment *experiment;
    struct pf_json *json;
    const struct dialect *dialect;
    bool defined; /* the parameters are known */

    /* Of the line being read: */
    uint64_t line, offset;
    struct name metric, callpath;
    double coordinates[PF_PARAMETERS_MAX];
    unsigned known; /* bit i: coordinate i */
    bool has_parameters, has_value, is_list;
    double value;
    uint64_t list, list_line; /* where a list of values is */

    uint32_t series; /* of the last measurement, or PF_NO_SERIES */
    uint32_t point;
    double last[PF_PARAMETERS_MAX]; /* its coordinates */
};

/* ---- one line ----------------------------------------------------------------------------------- */

/* Why a line is passed over. Returns 1. */
static int refuse(struct lines *lines, const char *why, struct pf_error *error)
{
    if (pf_experiment_note(lines->experiment, PF_BAD_LINE, lines->line, (int64_t)lines->offset, error,
                           "%s: the line is passed over", why) < 0)
        return -1;
    return 1;
}

/* The same for what the JSON reader has failed with; -1 if that is not the line's fault. */
static int refuse_text(struct lines *lines, struct pf_error *error)
{
    if (!pf_study_is_damage(error))
        return -1;
    enum pf_problem problem = error->code == ENODATA ? PF_CUT_FILE : PF_BAD_LINE;
    if (pf_experiment_note(lines->experiment, problem, (uint64_t)error->line, error->offset, error,
                           "%.150s: the line is passed over", error->what) < 0)
        return -1;
    return 1;
}

/* Keeps a string. */
static int read_name(struct lines *lines, struct name *name, const struct pf_json_token *token,
                     struct pf_error *error)
{
    if (token->event != PF_JSON_STRING)
        return refuse(lines, "the name of a call path or metric is no string", error);
    name->seen = true;
    if (name->size == token->size && !memcmp(name->text, token->text, token->size) && !token->replaced)
        return 0;
    memcpy(name->text, token->text, token->size);
    name->size = token->size;
    name->changed = true;
    return pf_study_check_text(lines->study, token, error);
}

/* The number of a parameter; names mostly come in order. -1: there is none. */
static int find_parameter(const struct lines *lines, unsigned expected, const struct pf_json_token *name)
{
    unsigned n = pf_experiment_parameters(lines->experiment);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = (expected + i) % n;
        const char *known = pf_experiment_parameter(lines->experiment, at);
        if (strlen(known) == name->size && !memcmp(known, name->text, name->size))
            return (int)at;
    }
    return -1;
}

/* The first line's parameters are those of the file. The number, -1 if it is too much, -2: *error filled. */
static int define_parameter(struct lines *lines, const struct pf_json_token *name, struct pf_error *error)
{
    unsigned before = pf_experiment_parameters(lines->experiment);
    if (pf_study_check_text(lines->study, name, error) < 0)
        return -2;
    int added = pf_experiment_add_parameter(lines->experiment, name->text, name->size, error);
    if (added < 0)
        return -2;
    if (added)
        return (int)before;
    if (before == PF_PARAMETERS_MAX &&
        pf_experiment_note(lines->experiment, PF_LIMIT, name->line, (int64_t)name->offset, error,
                           "more than 16 parameters, the rest are passed over") < 0)
        return -2;
    return find_parameter(lines, 0, name);
}

/* The object of parameters. 0; 1: the line is refused; -1: *error filled. */
static int read_parameters(struct lines *lines, const struct pf_json_token *start, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    if (start->event != PF_JSON_OBJECT)
        return refuse(lines, "the parameters are no object", error);
    for (unsigned i = 0; (event = pf_json_next(lines->json, &token, error)) == PF_JSON_NAME; i++) {
        int number =
            lines->defined ? find_parameter(lines, i, &token) : define_parameter(lines, &token, error);
        if (number == -2)
            return -1;
        event = pf_json_skip(lines->json, &token, error);
        if (event < 0)
            break;
        if (number < 0)
            continue;
        if (!pf_study_number(&token, &lines->coordinates[number]))
            return refuse(lines, "the value of a parameter is no number", error);
        lines->known |= 1u << number;
    }
    lines->has_parameters = true;
    return event < 0 ? refuse_text(lines, error) : 0;
}

/* A number is kept, a list is read once the line is known. */
static int read_value(struct lines *lines, const struct pf_json_token *token, struct pf_error *error)
{
    lines->has_value = true;
    lines->is_list = token->event == PF_JSON_ARRAY;
    lines->list = token->offset;
    lines->list_line = token->line;
    if (lines->is_list)
        return pf_json_leave(lines->json, error) < 0 ? refuse_text(lines, error) : 0;
    return pf_study_number(token, &lines->value) ? 0 : refuse(lines, "the value is no number", error);
}

/* Passes over a member that nobody asks for. */
static int ignore(struct lines *lines, const struct pf_json_token *token, struct pf_error *error)
{
    if (token->event != PF_JSON_OBJECT && token->event != PF_JSON_ARRAY)
        return 0;
    return pf_json_leave(lines->json, error) < 0 ? refuse_text(lines, error) : 0;
}

enum member { PARAMETERS, METRIC, CALLPATH, VALUE, OTHER };

static enum member member_of(const struct dialect *dialect, const struct pf_json_token *name)
{
    return pf_json_is(name, dialect->parameters) ? PARAMETERS
           : pf_json_is(name, dialect->metric)   ? METRIC
           : pf_json_is(name, dialect->callpath) ? CALLPATH
           : pf_json_is(name, "value")           ? VALUE
                                                 : OTHER;
}

/* The members of the line's object. 0; 1: the line is refused; -1: *error filled. */
static int read_members(struct lines *lines, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    lines->metric.seen = lines->callpath.seen = false;
    lines->has_parameters = lines->has_value = false;
    lines->known = 0;
    while ((event = pf_json_next(lines->json, &token, error)) == PF_JSON_NAME) {
        enum member member = member_of(lines->dialect, &token);
        event = pf_json_next(lines->json, &token, error);
        if (event < 0)
            break;
        int result = member == PARAMETERS ? read_parameters(lines, &token, error)
                     : member == METRIC   ? read_name(lines, &lines->metric, &token, error)
                     : member == CALLPATH ? read_name(lines, &lines->callpath, &token, error)
                     : member == VALUE    ? read_value(lines, &token, error)
                                          : ignore(lines, &token, error);
        if (result)
            return result;
    }
    return event < 0 ? refuse_text(lines, error) : 0;
}

/* ---- the measurement of a line ------------------------------------------------------------------ */

/* What is missing takes its default; false if there is none. */
static bool complete_name(struct name *name, const char *otherwise)
{
    if (name->seen)
        return true;
    if (!otherwise)
        return false;
    size_t size = strlen(otherwise);
    name->changed |= name->size != size || memcmp(name->text, otherwise, size) != 0;
    memcpy(name->text, otherwise, size);
    name->size = size;
    return true;
}

/* What the line lacks, or NULL. */
static const char *missing(struct lines *lines)
{
    if (!lines->has_parameters)
        return "it has no parameters";
    lines->defined = true;
    if (lines->known != (1u << pf_experiment_parameters(lines->experiment)) - 1)
        return "it lacks a parameter that the first line has";
    if (!lines->has_value)
        return "it has no value";
    if (!complete_name(&lines->metric, lines->dialect->default_metric))
        return "it has no metric";
    return complete_name(&lines->callpath, lines->dialect->default_callpath) ? NULL : "it has no call path";
}

/* The series and point of the line, in lines->series and lines->point. */
static int find_place(struct lines *lines, struct pf_error *error)
{
    struct pf_experiment *experiment = lines->experiment;
    unsigned n = pf_experiment_parameters(experiment);
    size_t size = n * sizeof *lines->last;
    if (lines->series == PF_NO_SERIES || memcmp(lines->last, lines->coordinates, size) != 0) {
        lines->point = pf_experiment_point(experiment, lines->coordinates, n, false, error);
        memcpy(lines->last, lines->coordinates, size);
    }
    if (lines->point == PF_NO_POINT)
        return -1;
    if (lines->series != PF_NO_SERIES && !lines->metric.changed && !lines->callpath.changed)
        return 0;
    uint32_t context = pf_experiment_callpath(experiment, lines->callpath.text, lines->callpath.size, error);
    uint32_t metric = context == PF_NO_CONTEXT
                          ? PF_NO_STRING
                          : pf_experiment_metric(experiment, lines->metric.text, lines->metric.size, error);
    size_t before = experiment->n_series;
    lines->series =
        metric == PF_NO_STRING ? PF_NO_SERIES : pf_experiment_series(experiment, context, metric, error);
    if (lines->series == PF_NO_SERIES)
        return -1;
    if (experiment->n_series > before) {
        experiment->series[lines->series].line = lines->line;
        experiment->series[lines->series].offset = (int64_t)lines->offset;
    }
    lines->metric.changed = lines->callpath.changed = false;
    return 0;
}

/* Adds the values of a list, however deep they are, up to what is none. 0, or -1 with *error filled. */
static int add_list(struct lines *lines, struct pf_error *error)
{
    struct pf_json_token token;
    double value;
    int event;
    pf_json_seek(lines->json, lines->list, lines->list_line);
    while ((event = pf_json_next(lines->json, &token, error)) > 0) {
        if (event == PF_JSON_ARRAY || event == PF_JSON_ARRAY_END)
            continue;
        if (!pf_study_number(&token, &value))
            return pf_experiment_note(lines->experiment, PF_BAD_VALUES, token.line, (int64_t)token.offset,
                                      error, "a value is no number: the rest of the list is passed over");
        if (pf_measured_add(lines->study->measured, value, error) < 0)
            return -1;
    }
    if (event >= 0)
        return 0;
    if (!pf_study_is_damage(error))
        return -1;
    return pf_experiment_note(lines->experiment, PF_BAD_VALUES, (uint64_t)error->line, error->offset, error,
                              "%.150s: the rest of the list is passed over", error->what);
}

static int add_values(struct lines *lines, struct pf_error *error)
{
    struct pf_measured *measured = lines->study->measured;
    if (pf_measured_begin(measured, lines->series, lines->point, false, error) < 0)
        return -1;
    if (!lines->is_list)
        return pf_measured_add(measured, lines->value, error);
    unsigned char here[PF_JSON_POSITION_SIZE];
    size_t size = pf_json_save(lines->json, here, sizeof here);
    return add_list(lines, error) < 0 ? -1 : pf_json_restore(lines->json, here, size, error);
}

/* The object of a line has begun. 0; 1: the line is refused; -1: *error filled. */
static int read_line(struct lines *lines, struct pf_error *error)
{
    int result = read_members(lines, error);
    if (result)
        return result;
    const char *what = missing(lines);
    if (what)
        return refuse(lines, what, error);
    return find_place(lines, error) < 0 ? -1 : add_values(lines, error);
}

/* ---- all lines ---------------------------------------------------------------------------------- */

static int read_lines(struct lines *lines, struct pf_error *error)
{
    struct pf_json_token token;
    int event;
    while ((event = pf_json_next(lines->json, &token, error))) {
        lines->line = token.line;
        lines->offset = token.offset;
        int result = event < 0                 ? refuse_text(lines, error)
                     : event == PF_JSON_OBJECT ? read_line(lines, error)
                                               : refuse(lines, "it is no object", error);
        if (result < 0 || (result && pf_json_next_line(lines->json, error) < 0))
            return -1;
    }
    return 0;
}

static int read_file(const struct dialect *dialect, struct pf_study *study, struct pf_input *input,
                     uint64_t end, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_study_input source = {.input = input, .end = end, .pass = pass};
    struct lines lines = {.study = study,
                          .experiment = study->experiment,
                          .dialect = dialect,
                          .json = pf_json_new_reading(pf_study_input_read, &source, dialect->flags, 0),
                          .metric = {.text = malloc(PF_JSON_TEXT_MAX)},
                          .callpath = {.text = malloc(PF_JSON_TEXT_MAX)},
                          .series = PF_NO_SERIES};
    int result = -1;
    if (lines.json && lines.metric.text && lines.callpath.text)
        result = read_lines(&lines, error);
    else
        pf_fail_memory(error);
    pf_json_free(lines.json);
    free(lines.metric.text);
    free(lines.callpath.text);
    return result;
}

static int read_talpas(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                       struct pf_error *error)
{
    return read_file(&talpas, study, input, end, pass, error);
}

static int read_json_lines(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                           struct pf_error *error)
{
    return read_file(&json_lines, study, input, end, pass, error);
}

/* ---- the drivers -------------------------------------------------------------------------------- */

static void talpas_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const struct pf_member members[] = {{"parameters", PF_JSON_OBJECT},
                                               {"metric", PF_JSON_STRING},
                                               {"callpath", PF_JSON_STRING},
                                               {"value", PF_JSON_END},
                                               {NULL, PF_JSON_END}};
    if (pf_probe_members(probe, members, PF_JSON_LINES | PF_JSON_SEMICOLONS, 0))
        verdict->confidence = 16;
}

static void json_lines_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const struct pf_member members[] = {
        {"params", PF_JSON_OBJECT}, {"value", PF_JSON_END}, {NULL, PF_JSON_END}};
    if (pf_probe_members(probe, members, PF_JSON_LINES, 0))
        verdict->confidence = 12;
}

static int talpas_open(struct pf_profile *profile, struct pf_error *error)
{
    return pf_stored_open(profile, read_talpas, PF_STUDY_HEAD, false, error);
}

static int json_lines_open(struct pf_profile *profile, struct pf_error *error)
{
    return pf_stored_open(profile, read_json_lines, PF_STUDY_HEAD, false, error);
}

const struct pf_driver pf_extrap_talpas_driver = {
    .name = "extrap-talpas",
    .title = "Extra-P TaLPas file",
    .version = 2,
    .probe = talpas_probe,
    .open = talpas_open,
    .load = pf_stored_load,
    .close = pf_stored_close,
};

const struct pf_driver pf_extrap_jsonl_driver = {
    .name = "extrap-jsonl",
    .title = "Extra-P JSON Lines file",
    .version = 2,
    .probe = json_lines_probe,
    .open = json_lines_open,
    .load = pf_stored_load,
    .close = pf_stored_close,
};
