/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/json_study.h"
#include "formats/extrap/stored.h"
#include "formats/json/probe.h"

/*
 * TaLPas and JSON Lines: an object a line, which is one measurement of a call path and metric at a point. Lines of
 * the same series and point are repetitions wherever they stand. A line with something wrong is passed over.
 */

/* What the members of a line are called, and which may be missing. */
struct dialect {
    const char *parameters, *default_metric, *default_callpath; /* NULL: these must be there */
    unsigned flags;                                             /* of the JSON reader */
};

static const struct dialect talpas = {"parameters", NULL, NULL, PF_JSON_LINES | PF_JSON_SEMICOLONS};
static const struct dialect json_lines = {"params", "<default>", "<root>", PF_JSON_LINES};

/* A string of a line, as the last line had it: names repeat. */
struct name {
    char text[PF_JSON_TEXT_MAX];
    size_t size;
    bool seen;    /* in this line */
    bool changed; /* since the last measurement */
};

struct lines {
    struct pf_study *study;
    struct pf_json *json;
    struct pf_json_token token; /* the last one */
    const struct dialect *dialect;
    bool defined; /* the parameters are known */

    /* Of the line being read: */
    uint64_t line, offset;
    struct name metric, callpath;
    double coordinates[PF_PARAMETERS_MAX];
    unsigned known; /* bit i: coordinate i */
    bool has_parameters;
    struct pf_json_token value; /* its first token, PF_JSON_END: none yet; a number is */
    double number;

    uint32_t series; /* of the last measurement, or PF_NO_SERIES */
    uint32_t point;
    double last[PF_PARAMETERS_MAX]; /* its coordinates */
};

/* ---- one line ----------------------------------------------------------------------------------- */

/* Says why a line is passed over; false, since nothing more of it is read. */
static bool refuse(struct lines *lines, const char *why)
{
    pf_experiment_note(lines->study->experiment, PF_BAD_LINE, lines->line, (int64_t)lines->offset,
                       "%s: the line is passed over", why);
    return false;
}

/* The same for what the JSON reader has failed with, if that is the line's fault; else the study has failed. */
static bool refuse_text(struct lines *lines)
{
    const struct pf_error *error = lines->study->error;
    if (!pf_study_is_damage(error))
        return pf_study_check(lines->study, -1);
    pf_experiment_note(lines->study->experiment, error->code == ENODATA ? PF_CUT_FILE : PF_BAD_LINE,
                       (uint64_t)error->line, error->offset, "%.150s: the line is passed over", error->what);
    return false;
}

/* Keeps the string that the last token is. */
static bool read_name(struct lines *lines, struct name *name)
{
    const struct pf_json_token *token = &lines->token;
    if (token->event != PF_JSON_STRING)
        return refuse(lines, "the name of a call path or metric is no string");
    name->seen = true;
    if (name->size == token->size && !memcmp(name->text, token->text, token->size) && !token->replaced)
        return true;
    memcpy(name->text, token->text, token->size);
    name->size = token->size;
    name->changed = true;
    pf_study_check_text(lines->study, token);
    return true;
}

/* The number of a parameter, -1: none. The first line's are those of the file; names mostly come in order. */
static int find_parameter(struct lines *lines, unsigned expected)
{
    const struct pf_json_token *name = &lines->token;
    if (lines->defined)
        return pf_experiment_parameter_named(lines->study->experiment, name->text, name->size, expected);
    pf_study_check_text(lines->study, name);
    return pf_study_parameter(lines->study, name->text, name->size, name->line, (int64_t)name->offset);
}

static bool read_parameters(struct lines *lines)
{
    int event;
    if (lines->token.event != PF_JSON_OBJECT)
        return refuse(lines, "the parameters are no object");
    for (unsigned i = 0;
         (event = pf_json_next(lines->json, &lines->token, lines->study->error)) == PF_JSON_NAME; i++) {
        int number = find_parameter(lines, i);
        event = pf_json_skip(lines->json, &lines->token, lines->study->error);
        if (event < 0)
            break;
        if (number < 0)
            continue;
        if (!pf_study_number(&lines->token, &lines->coordinates[number]))
            return refuse(lines, "the value of a parameter is no number");
        lines->known |= 1u << number;
    }
    lines->has_parameters = true;
    return event < 0 ? refuse_text(lines) : true;
}

/* Passes over the rest of what the last token begins. */
static bool ignore(struct lines *lines)
{
    bool open = lines->token.event == PF_JSON_OBJECT || lines->token.event == PF_JSON_ARRAY;
    return open && pf_json_leave(lines->json, lines->study->error) < 0 ? refuse_text(lines) : true;
}

/* A number is kept, a list is read once the line is known. */
static bool read_value(struct lines *lines)
{
    lines->value = lines->token;
    if (lines->token.event == PF_JSON_ARRAY)
        return ignore(lines);
    return pf_study_number(&lines->token, &lines->number) ? true : refuse(lines, "the value is no number");
}

/* The members of the line's object. */
static bool read_members(struct lines *lines)
{
    const struct pf_json_token *token = &lines->token;
    int event;
    lines->metric.seen = lines->callpath.seen = lines->has_parameters = false;
    lines->value.event = PF_JSON_END;
    lines->known = 0;
    while ((event = pf_json_next(lines->json, &lines->token, lines->study->error)) == PF_JSON_NAME) {
        bool parameters = pf_json_is(token, lines->dialect->parameters), value = pf_json_is(token, "value"),
             metric = pf_json_is(token, "metric"), callpath = pf_json_is(token, "callpath");
        event = pf_json_next(lines->json, &lines->token, lines->study->error);
        if (event < 0)
            break;
        if (!(parameters ? read_parameters(lines)
              : metric   ? read_name(lines, &lines->metric)
              : callpath ? read_name(lines, &lines->callpath)
              : value    ? read_value(lines)
                         : ignore(lines)))
            return false;
    }
    return event < 0 ? refuse_text(lines) : true;
}

/* ---- the measurement of a line ------------------------------------------------------------------ */

/* What is missing takes its default; false if there is none. */
static bool complete_name(struct name *name, const char *otherwise)
{
    if (name->seen || !otherwise)
        return name->seen;
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
    if (lines->known != (1u << pf_experiment_parameters(lines->study->experiment)) - 1)
        return "it lacks a parameter that the first line has";
    if (!lines->value.event)
        return "it has no value";
    if (!complete_name(&lines->metric, lines->dialect->default_metric))
        return "it has no metric";
    return complete_name(&lines->callpath, lines->dialect->default_callpath) ? NULL : "it has no call path";
}

/* The series and point of the line, in lines->series and lines->point. */
static void find_place(struct lines *lines)
{
    struct pf_study *study = lines->study;
    unsigned n = pf_experiment_parameters(study->experiment);
    size_t size = n * sizeof *lines->last;
    if (lines->series == PF_NO_SERIES || memcmp(lines->last, lines->coordinates, size) != 0) {
        lines->point =
            pf_study_point(study, lines->coordinates, n, false, lines->line, (int64_t)lines->offset);
        memcpy(lines->last, lines->coordinates, size);
    }
    if (lines->series != PF_NO_SERIES && !lines->metric.changed && !lines->callpath.changed)
        return;
    uint32_t context = pf_study_callpath(study, PF_NO_CONTEXT, lines->callpath.text, lines->callpath.size);
    uint32_t metric = pf_study_metric(study, lines->metric.text, lines->metric.size);
    lines->series = pf_study_series(study, context, metric, false, lines->line, (int64_t)lines->offset);
    lines->metric.changed = lines->callpath.changed = false;
}

/* Adds the values of a list, however deep they are, up to what is none. */
static void add_list(struct lines *lines)
{
    struct pf_study *study = lines->study;
    const struct pf_json_token *token = &lines->token;
    double value;
    int event;
    pf_json_seek(lines->json, lines->value.offset, lines->value.line);
    while (!study->failed && (event = pf_json_next(lines->json, &lines->token, study->error))) {
        if (event < 0 && !pf_study_is_damage(study->error)) {
            study->failed = true;
        } else if (event < 0) {
            pf_experiment_note(study->experiment, PF_BAD_VALUES, (uint64_t)study->error->line,
                               study->error->offset, "%.150s: the rest of the list is passed over",
                               study->error->what);
            return;
        } else if (event != PF_JSON_ARRAY && event != PF_JSON_ARRAY_END && !pf_study_number(token, &value)) {
            pf_experiment_note(study->experiment, PF_BAD_VALUES, token->line, (int64_t)token->offset,
                               "a value is no number: the rest of the list is passed over");
            return;
        } else if (event != PF_JSON_ARRAY && event != PF_JSON_ARRAY_END) {
            pf_study_add(study, value);
        }
    }
}

static void add_values(struct lines *lines)
{
    struct pf_study *study = lines->study;
    pf_study_begin(study, lines->series, lines->point, false);
    if (lines->value.event != PF_JSON_ARRAY) {
        pf_study_add(study, lines->number);
        return;
    }
    unsigned char here[PF_JSON_POSITION_SIZE];
    size_t size = pf_json_save(lines->json, here, sizeof here);
    add_list(lines);
    if (!study->failed)
        pf_study_check(study, pf_json_restore(lines->json, here, size, study->error));
}

/* False: the line is passed over. */
static bool read_line(struct lines *lines)
{
    lines->line = lines->token.line;
    lines->offset = lines->token.offset;
    if (lines->token.event != PF_JSON_OBJECT)
        return refuse(lines, "it is no object");
    if (!read_members(lines))
        return false;
    const char *what = missing(lines);
    if (what)
        return refuse(lines, what);
    find_place(lines);
    add_values(lines);
    return true;
}

/* ---- all lines ---------------------------------------------------------------------------------- */

static void read_lines(struct lines *lines)
{
    struct pf_study *study = lines->study;
    int event;
    while (!study->failed && (event = pf_json_next(lines->json, &lines->token, study->error)))
        if (!(event < 0 ? refuse_text(lines) : read_line(lines)) && !study->failed)
            pf_study_check(study, pf_json_next_line(lines->json, study->error));
}

static void read_file(struct pf_study *study, const struct dialect *dialect)
{
    struct lines *lines = calloc(1, sizeof *lines);
    if (!lines) {
        pf_study_check(study, pf_fail_memory(study->error));
        return;
    }
    lines->study = study;
    lines->dialect = dialect;
    lines->json = pf_study_json(study, dialect->flags);
    lines->series = PF_NO_SERIES;
    read_lines(lines);
    pf_json_free(lines->json);
    free(lines);
}

static void read_talpas(struct pf_study *study)
{
    read_file(study, &talpas);
}

static void read_json_lines(struct pf_study *study)
{
    read_file(study, &json_lines);
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

const struct pf_driver pf_extrap_talpas_driver = {
    .name = "extrap-talpas",
    .title = "Extra-P TaLPas file",
    .version = 3,
    .probe = talpas_probe,
    .kit = &(const struct pf_stored_format){read_talpas, PF_STUDY_HEAD, false},
    PF_STORED,
};

const struct pf_driver pf_extrap_jsonl_driver = {
    .name = "extrap-jsonl",
    .title = "Extra-P JSON Lines file",
    .version = 3,
    .probe = json_lines_probe,
    .kit = &(const struct pf_stored_format){read_json_lines, PF_STUDY_HEAD, false},
    PF_STORED,
};
