/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "formats/extrap/json_study.h"
#include "formats/extrap/stored.h"
#include "formats/json/probe.h"
#include "formats/probe.h"

/*
 * Reader of TaLPas and JSON Lines. Each line is an object, which is a measurement of a call path and metric at a point.
 * Lines of the same series and point are repetitions, wherever they are in the file. Malformed lines are skipped.
 */

struct lines {
    struct pf_json_study reader; /* must be first */
    const struct dialect *dialect;
    bool defined; /* the parameters are known, from the first line that has parameters */

    /* State of the line being read: */
    const char *why;          /* reason why the line is skipped, or NULL */
    uint32_t metric, context; /* PF_NO_STRING, PF_NO_CONTEXT: not seen yet */
    struct pf_point point;
    unsigned parameters; /* number of parameters seen so far */
    unsigned known;      /* bit i is set if coordinate i has been seen */
    bool has_parameters, has_value;
};

/* ---- one line ----------------------------------------------------------------------------------- */

/* Marks the line as skipped for the reason `why`. Returns 1, which stops the walk, so that the line is not read further. */
static int refuse(struct lines *lines, const char *why)
{
    lines->why = why;
    return 1;
}

/*
 * Returns the number of a parameter, or -1. The first line with parameters defines those of the file. Lines usually name
 * parameters in this order, so the search for the i-th name of a line starts at parameter i.
 */
static int find_parameter(struct lines *lines, const struct pf_json_token *name)
{
    struct pf_study *study = lines->reader.study;
    if (lines->defined)
        return pf_study_parameter_named(study, name->text, name->size, lines->parameters++);
    pf_study_check_text(study, name);
    return pf_study_parameter(study, name->text, name->size, name->line, (int64_t)name->offset);
}

static int take_line_parameter(const struct pf_json_walk *walk)
{
    struct lines *lines = walk->into;
    struct pf_json_token value;
    int number = find_parameter(lines, walk->token);
    if (pf_json_next(walk->json, &value, walk->error) < 0)
        return -1;
    if (number < 0)
        return 0;
    if (!pf_study_number(&value, &lines->point.coordinates[number]))
        return refuse(lines, "the value of a parameter is not a number");
    lines->known |= 1u << number;
    return 0;
}

static int take_parameters(const struct pf_json_walk *walk)
{
    static const struct pf_json_member members[] = {PF_EACH_MEMBER(take_line_parameter), PF_MEMBERS_END};
    struct lines *lines = walk->into;
    if (walk->token->event != PF_JSON_OBJECT)
        return refuse(lines, "the parameters are not an object");
    lines->has_parameters = true;
    lines->parameters = 0;
    return pf_json_object(walk, lines, members);
}

static int take_line_value(const struct pf_json_walk *walk)
{
    struct lines *lines = walk->into;
    double number;
    if (walk->token->event != PF_JSON_ARRAY && !pf_study_number(walk->token, &number))
        return refuse(lines, "the value is not a number");
    lines->has_value = true;
    return pf_json_take_values(walk);
}

static int take_line_metric(const struct pf_json_walk *walk)
{
    struct lines *lines = walk->into;
    if (walk->token->event != PF_JSON_STRING)
        return refuse(lines, "the name of a metric is not a string");
    lines->metric = pf_json_study_metric(&lines->reader, walk->token);
    return 0;
}

static int take_line_callpath(const struct pf_json_walk *walk)
{
    struct lines *lines = walk->into;
    if (walk->token->event != PF_JSON_STRING)
        return refuse(lines, "the name of a call path is not a string");
    lines->context = pf_json_study_callpath(&lines->reader, walk->token);
    return 0;
}

static const struct pf_json_member talpas_members[] = {
    PF_MEMBER_OF_ALL("parameters", PF_JSON_END, take_parameters),
    PF_MEMBER_OF_ALL("metric", PF_JSON_END, take_line_metric),
    PF_MEMBER_OF_ALL("callpath", PF_JSON_END, take_line_callpath),
    PF_MEMBER_OF_ALL("value", PF_JSON_END, take_line_value),
    PF_MEMBERS_END,
};
static const struct pf_json_member json_lines_members[] = {
    PF_MEMBER_OF_ALL("params", PF_JSON_END, take_parameters),
    PF_MEMBER_OF_ALL("metric", PF_JSON_END, take_line_metric),
    PF_MEMBER_OF_ALL("callpath", PF_JSON_END, take_line_callpath),
    PF_MEMBER_OF_ALL("value", PF_JSON_END, take_line_value),
    PF_MEMBERS_END,
};
/*
 * The members of a line, and the names to use for a missing metric or call path. If a name is NULL, that member
 * is required.
 */
struct dialect {
    const struct pf_json_member *members;
    const char *metric, *callpath;
    unsigned flags; /* of the JSON reader */
};

static const struct dialect talpas = {talpas_members, NULL, NULL, PF_JSON_LINES | PF_JSON_SEMICOLONS};
static const struct dialect json_lines = {json_lines_members, "<default>", "<root>", PF_JSON_LINES};

/* Adds the measurement of a line. Returns 0, or 1 if the line is to be skipped. */
static int add_json_line(struct lines *lines, const struct pf_json_token *start)
{
    struct pf_json_study *reader = &lines->reader;
    struct pf_study *study = reader->study;
    const char *metric = lines->dialect->metric, *callpath = lines->dialect->callpath;
    if (!lines->has_parameters)
        return refuse(lines, "it has no parameters");
    lines->defined = true;
    lines->point.count = pf_study_parameters(study);
    if (lines->known != (1u << lines->point.count) - 1)
        return refuse(lines, "it lacks a parameter that the first line has");
    if (!lines->has_value)
        return refuse(lines, "it has no value");
    if (lines->metric == PF_NO_STRING && metric)
        lines->metric = pf_study_metric(study, metric, strlen(metric));
    if (lines->context == PF_NO_CONTEXT && callpath)
        lines->context = pf_study_callpath(study, PF_NO_CONTEXT, callpath, strlen(callpath));
    if (lines->metric == PF_NO_STRING || lines->context == PF_NO_CONTEXT)
        return refuse(lines, "it has no metric or call path");
    uint32_t series =
        pf_study_series(study, lines->context, lines->metric, false, start->line, (int64_t)start->offset);
    pf_json_study_add(reader, series, pf_study_point(study, &lines->point), false);
    return 0;
}

/* Reads a line after its first token. Returns 0; 1 if the line is to be skipped; -1 with run->error filled if it is damaged. */
static int read_json_line(struct lines *lines, const struct pf_json_token *start)
{
    struct pf_json_walk walk = pf_json_study_walk(&lines->reader);
    if (start->event != PF_JSON_OBJECT)
        return refuse(lines, "it is not an object");
    lines->metric = PF_NO_STRING;
    lines->context = PF_NO_CONTEXT;
    lines->has_parameters = lines->has_value = false;
    lines->known = 0;
    int got = pf_json_object(&walk, lines, lines->dialect->members);
    return got ? got : add_json_line(lines, start);
}

/* ---- all lines ---------------------------------------------------------------------------------- */

/* Notes why the line is skipped, and moves to the next line. */
static void skip_json_line(struct lines *lines, const struct pf_json_token *start, bool damaged)
{
    struct pf_study *study = lines->reader.study;
    struct pf_error *error = study->run->error;
    if (damaged && !pf_json_is_damage(error))
        pf_run_fail(study->run);
    const struct pf_note_kind *kind = damaged && error->code == ENODATA ? &PF_CUT_FILE : &PF_BAD_LINE;
    if (damaged)
        pf_study_note(study, *kind, error->line, error->offset, "%.150s: the line is skipped", error->what);
    else
        pf_study_note(study, *kind, start->line, start->offset, "%s: the line is skipped", lines->why);
    pf_run_check(study->run, pf_json_next_line(lines->reader.json, error));
}

static void read_dialect(struct pf_study *study, const struct dialect *dialect)
{
    struct lines *lines = pf_json_study_open(study, sizeof *lines, NULL, dialect->flags);
    struct pf_json_token start;
    int event;
    lines->dialect = dialect;
    while ((event = pf_json_next(lines->reader.json, &start, study->run->error)) != 0) {
        int got = event < 0 ? -1 : read_json_line(lines, &start);
        if (got)
            skip_json_line(lines, &start, got < 0);
    }
}

static void read_talpas(struct pf_study *study)
{
    read_dialect(study, &talpas);
}

static void read_json_lines(struct pf_study *study)
{
    read_dialect(study, &json_lines);
}

/* ---- the drivers -------------------------------------------------------------------------------- */

static void talpas_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER_OF_ALL("parameters", PF_JSON_OBJECT, pf_json_count_down),
        PF_MEMBER_OF_ALL("metric", PF_JSON_STRING, pf_json_count_down),
        PF_MEMBER_OF_ALL("callpath", PF_JSON_STRING, pf_json_count_down),
        PF_MEMBER_OF_ALL("value", PF_JSON_END, pf_json_count_down),
        PF_MEMBERS_END,
    };
    unsigned missing = 4;
    if (pf_probe_object(probe, talpas.flags, 0, &missing, members))
        result->confidence = 16;
}

static void json_lines_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER_OF_ALL("params", PF_JSON_OBJECT, pf_json_count_down),
        PF_MEMBER_OF_ALL("value", PF_JSON_END, pf_json_count_down),
        PF_MEMBERS_END,
    };
    unsigned missing = 2;
    if (pf_probe_object(probe, json_lines.flags, 0, &missing, members))
        result->confidence = 12;
}

const struct pf_driver pf_extrap_talpas_driver = {
    .name = "extrap-talpas",
    .title = "Extra-P TaLPas file",
    .version = 7,
    .text = true,
    .probe = talpas_probe,
    .kit = &(const struct pf_study_format){read_talpas, PF_STUDY_HEAD, false},
    PF_STUDY_OPERATIONS,
};

const struct pf_driver pf_extrap_jsonl_driver = {
    .name = "extrap-jsonl",
    .title = "Extra-P JSON Lines file",
    .version = 7,
    .text = true,
    .probe = json_lines_probe,
    .kit = &(const struct pf_study_format){read_json_lines, PF_STUDY_HEAD, false},
    PF_STUDY_OPERATIONS,
};
