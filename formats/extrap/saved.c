/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/extrap/json_ids.h"
#include "formats/extrap/json_values.h"
#include "formats/extrap/saved_values.h"
#include "formats/extrap/zip.h"

/*
 * Experiments as Extra-P saves them (*.extra-p): a ZIP archive with experiment.json (parameters, figures of each
 * measurement, fitted models) and, if the values were kept, chunks of them. experiment.json is inflated and read
 * from its start to its end, in most cases once.
 */
#define EXPERIMENT "experiment.json"

/* Archives up to this size are read whole when they are opened: experiment.json inflates to about 8 times as much. */
#define WHOLE (PF_STUDY_HEAD / 8)

/* More are none that somebody has made. */
enum { MODELERS_MAX = 1000 };

/* The JSON of one model. */
enum { MODEL_MAX = 256 * 1024 };

/* Most members of an archive that are looked at: two for each GB of values are the rule. */
enum { MEMBERS_MAX = 200 * 1000 };

struct saved {
    struct pf_json_study reader;
    struct pf_input *archive;
    struct pf_pass *pass;
    uint64_t end; /* of what is read of experiment.json */
    struct pf_zip_member member;
    bool found;       /* the member */
    unsigned members; /* that were looked at */
    struct pf_zip_stream *stream;
    struct pf_saved_values *values;
    struct pf_json_trees *trees;
    struct pf_formula formula;
    struct pf_ids known; /* models of the modeler that is read, by call path and metric */
    unsigned modelers;   /* so far */
    bool again;          /* models came before the parameters: read the text once more for them */
};

/* ---- the archive -------------------------------------------------------------------------------- */

static int visit_member(void *arg, const char *name, size_t size, const struct pf_zip_member *member,
                        struct pf_error *error)
{
    struct saved *saved = arg;
    if (++saved->members > MEMBERS_MAX)
        return 1;
    if (size == sizeof EXPERIMENT - 1 && !memcmp(name, EXPERIMENT, size)) {
        saved->member = *member;
        saved->found = true;
        return 0;
    }
    return pf_saved_values_member(saved->values, name, size, member, error);
}

static ssize_t read_text(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct saved *saved = arg;
    uint64_t done = pf_zip_progress(saved->stream);
    if (pf_pass_step(saved->pass, done, pf_input_size(saved->archive), error) < 0)
        return -1;
    return offset >= saved->end ? 0 : pf_zip_read(saved->stream, buffer, size, offset, error);
}

static int note_archive(struct saved *saved, uint64_t offset, const char *what, struct pf_error *error)
{
    return pf_experiment_note(saved->reader.experiment, PF_CUT_FILE, 0, (int64_t)offset, error, "%s", what);
}

static int find_members(struct saved *saved, struct pf_error *error)
{
    bool cut;
    if (pf_zip_walk(saved->archive, visit_member, saved, &cut, error) < 0)
        return -1;
    if (saved->members > MEMBERS_MAX &&
        note_archive(saved, 0, "the archive has too many members, the rest are passed over", error) < 0)
        return -1;
    if (cut && note_archive(saved, pf_input_size(saved->archive),
                            "the archive has no directory at its end: it is cut off", error) < 0)
        return -1;
    if (!saved->found)
        return pf_fail(error, EINVAL, "the archive has no member " EXPERIMENT);
    return 0;
}

/* ---- measurements ------------------------------------------------------------------------------- */

/* What an object {coordinate, median, mean, ..., values: [chunk, index]} says. */
struct figures {
    struct pf_json_point point;
    double figures[PF_STATISTICS];
    unsigned has;
    bool has_point, has_values;
    int64_t repetitions; /* -1: not said */
    int64_t values[2];
};

static int figure_named(const struct pf_json_token *name)
{
    static const char *const names[PF_STATISTICS] = {"mean", "median", "minimum", "maximum", "std"};
    int i = 0;
    while (i < PF_STATISTICS && !pf_json_is(name, names[i]))
        i++;
    return i;
}

/* [chunk, index], or null. */
static int read_reference(struct saved *saved, const struct pf_json_token *start, struct figures *figures,
                          struct pf_error *error)
{
    struct pf_json_point pair;
    if (start->event == PF_JSON_NULL)
        return 0;
    if (start->event != PF_JSON_ARRAY || pf_json_study_point(&saved->reader, start, &pair, error) < 0)
        return pf_json_study_ignore(&saved->reader, start, error);
    figures->has_values = pair.count == 2 && !pair.broken && fabs(pair.coordinates[0]) < 0x1p53 &&
                          fabs(pair.coordinates[1]) < 0x1p53;
    if (!figures->has_values)
        return pf_json_study_note(&saved->reader, PF_BAD_VALUES, start,
                                  "where its values are is not [chunk, index]", error);
    figures->values[0] = (int64_t)pair.coordinates[0];
    figures->values[1] = (int64_t)pair.coordinates[1];
    return 0;
}

static int read_figure(struct saved *saved, int figure, const struct pf_json_token *token,
                       struct figures *figures, struct pf_error *error)
{
    if (token->event == PF_JSON_NULL)
        return 0;
    if (pf_study_number(token, &figures->figures[figure])) {
        figures->has |= 1u << figure;
        return 0;
    }
    if (pf_json_study_note(&saved->reader, PF_BAD_NUMBER, token, "a figure is not a number", error) < 0)
        return -1;
    return pf_json_study_ignore(&saved->reader, token, error);
}

static int read_member(struct saved *saved, const struct pf_json_token *name, struct figures *figures,
                       struct pf_error *error)
{
    struct pf_json_token token;
    double repetitions;
    int figure = figure_named(name);
    bool coordinate = pf_json_is(name, "coordinate"), values = pf_json_is(name, "values");
    bool count = pf_json_is(name, "repetitions");
    if (pf_json_study_next(&saved->reader, &token, error) < 0)
        return -1;
    if (coordinate) {
        figures->has_point = true;
        return pf_json_study_point(&saved->reader, &token, &figures->point, error);
    }
    if (values)
        return read_reference(saved, &token, figures, error);
    if (figure < PF_STATISTICS)
        return read_figure(saved, figure, &token, figures, error);
    if (count && pf_study_number(&token, &repetitions) && repetitions >= 0 && repetitions < 0x1p53)
        figures->repetitions = (int64_t)repetitions;
    return pf_json_study_ignore(&saved->reader, &token, error);
}

static int add_values(struct saved *saved, const struct figures *figures, const struct pf_json_token *start,
                      struct pf_error *error)
{
    struct pf_measured *measured = saved->reader.study->measured;
    uint64_t rows = 0;
    const char *what;
    int got = pf_saved_values_add(saved->values, figures->values[0], figures->values[1], measured, &rows,
                                  &what, error);
    if (got < 0)
        return -1;
    if (figures->repetitions >= 0)
        pf_measured_repetitions(measured, figures->repetitions);
    else if (got)
        pf_measured_repetitions(measured, (int64_t)rows);
    return got ? 0 : pf_json_study_note(&saved->reader, PF_BAD_VALUES, start, what, error);
}

static int read_measurement(struct pf_json_study *reader, const struct pf_json_token *start, uint32_t series,
                            void *arg, struct pf_error *error)
{
    struct saved *saved = arg;
    struct figures figures = {.repetitions = -1};
    struct pf_json_token token;
    int event;
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME)
        if (read_member(saved, &token, &figures, error) < 0)
            return -1;
    if (event <= 0) /* half of one is none */
        return event;
    if (!figures.has_point)
        return pf_json_study_note(reader, PF_BAD_MEMBER, start, "a measurement without a coordinate", error);
    struct pf_measured *measured = reader->study->measured;
    uint32_t point = pf_json_study_add_point(reader, &figures.point, start, error);
    if (point == PF_NO_POINT || pf_measured_begin(measured, series, point, true, error) < 0)
        return -1;
    pf_measured_figures(measured, figures.figures, figures.has);
    if (figures.has_values)
        return add_values(saved, &figures, start, error);
    pf_measured_repetitions(measured, figures.repetitions);
    return 0;
}

/* ---- models ------------------------------------------------------------------------------------- */

static int note_model(struct saved *saved, const struct pf_json_token *at, const char *what,
                      struct pf_error *error)
{
    if (saved->reader.damaged)
        return 0;
    return pf_experiment_note(saved->reader.experiment, PF_BAD_MODEL, at->line, (int64_t)at->offset, error,
                              "a model that cannot be shown: %s", what);
}

/* A second one of the same call path and metric takes the place of the first, as in Python. */
static int keep_model(struct saved *saved, const struct pf_model *model, const struct pf_formula *formula,
                      struct pf_error *error)
{
    struct pf_models *models = saved->reader.study->models;
    int64_t key = (int64_t)((uint64_t)model->context << 32 | model->metric);
    uint32_t known = pf_ids_get(&saved->known, key);
    if (known != PF_NO_ID)
        return pf_models_replace(models, known, model, formula->text, formula->size, error);
    if (pf_models_add(models, model, formula->text, formula->size, error) < 0)
        return -1;
    return pf_ids_set(&saved->known, key, (uint32_t)models->count - 1, error);
}

static int read_model(struct saved *saved, struct pf_model *model, struct pf_error *error)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_json_token token;
    struct json_object *json;
    int event = pf_json_tree(saved->trees, reader->json, &token, &json, error);
    if (event < 0)
        return pf_json_study_damage(reader, error) < 0 ? -1 : 0;
    if (event == PF_JSON_NULL)
        return 0;
    const char *what = token.cut                  ? "it is too long"
                       : event != PF_JSON_OBJECT ? "it is no object"
                                                  : pf_model_read(json, reader->experiment, model, &saved->formula);
    json_object_put(json);
    if (saved->formula.failed)
        return pf_fail_memory(error);
    return what ? note_model(saved, &token, what, error) : keep_model(saved, model, &saved->formula, error);
}

/* {metric: model} of a call path. */
static int read_models_of(struct saved *saved, struct pf_model *model, struct pf_error *error)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_json_token token;
    int event = pf_json_study_next(reader, &token, error);
    if (event != PF_JSON_OBJECT)
        return event < 0 ? -1 : pf_json_study_ignore(reader, &token, error);
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        model->metric = pf_experiment_metric(reader->experiment, token.text, token.size, error);
        if (model->metric == PF_NO_STRING || read_model(saved, model, error) < 0)
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* {call path: {metric: model}} of a modeler. */
static int read_models(struct saved *saved, uint32_t modeler, struct pf_error *error)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_model model = {.modeler = modeler};
    struct pf_json_token token;
    int event = pf_json_study_next(reader, &token, error);
    if (event != PF_JSON_OBJECT)
        return event < 0 ? -1 : pf_json_study_ignore(reader, &token, error);
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        model.context = pf_json_study_callpath(reader, &token, error);
        if (model.context == PF_NO_CONTEXT || read_models_of(saved, &model, error) < 0)
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* {name, modeler, models}: its name may come after its models, which then get it. */
static int read_modeler(struct saved *saved, struct pf_error *error)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_models *models = reader->study->models;
    struct pf_json_token token;
    size_t first = models->count;
    uint32_t name = PF_NO_STRING;
    int event;
    pf_ids_free(&saved->known);
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        bool is_name = pf_json_is(&token, "name"), is_models = pf_json_is(&token, "models");
        int result = is_models ? read_models(saved, name, error) : pf_json_study_skip(reader, &token, error);
        if (result < 0)
            return -1;
        if (!is_name || token.event != PF_JSON_STRING)
            continue;
        name = pf_intern(models->names, token.text, token.size, error);
        if (name == PF_NO_STRING)
            return -1;
    }
    for (size_t i = first; i < models->count; i++)
        models->items[i].modeler = name;
    return event < 0 ? -1 : 0;
}

static int read_modelers(struct saved *saved, const struct pf_json_token *start, struct pf_error *error)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_json_token token;
    int event;
    if (start->event != PF_JSON_ARRAY)
        return pf_json_study_ignore(reader, start, error);
    while ((event = pf_json_study_next(reader, &token, error)) > 0 && event != PF_JSON_ARRAY_END) {
        bool one_more = event == PF_JSON_OBJECT && saved->modelers++ < MODELERS_MAX;
        int result = one_more ? read_modeler(saved, error) : pf_json_study_ignore(reader, &token, error);
        if (result < 0 ||
            (saved->modelers == MODELERS_MAX + 1 &&
             pf_json_study_note(reader, PF_LIMIT, &token, "more than 1000 modelers, the rest are passed over",
                                error) < 0))
            return -1;
    }
    return event < 0 ? -1 : 0;
}

/* ---- experiment.json ---------------------------------------------------------------------------- */

/* Copies a short string. */
static void keep_word(const struct pf_json_token *token, char *word, size_t room)
{
    if (token->event == PF_JSON_STRING)
        snprintf(word, room, "%.*s", (int)(token->size < room ? token->size : room - 1), token->text);
}

enum top { VERSION, SCALING, PARAMETERS, MEASUREMENTS, MODELERS, OTHER };

static enum top top_of(const struct pf_json_token *name)
{
    static const char *const names[OTHER] = {"Extra-P", "scaling", "parameters", "measurements", "modelers"};
    int i = 0;
    while (i < OTHER && !pf_json_is(name, names[i]))
        i++;
    return (enum top)i;
}

/* The value of a member of the whole, whose first token is given. */
static int read_top(struct saved *saved, enum top top, const struct pf_json_token *token,
                    struct pf_error *error)
{
    struct pf_json_study *reader = &saved->reader;
    const struct pf_json_measurements kind = {.read = read_measurement, .arg = saved};
    if (top == PARAMETERS)
        return pf_json_study_parameters(reader, token, error);
    if (top == MEASUREMENTS)
        return pf_json_study_measurements(reader, token, &kind, error);
    if (top == MODELERS && pf_experiment_parameters(reader->experiment))
        return read_modelers(saved, token, error);
    saved->again |= top == MODELERS;
    if (top == VERSION)
        keep_word(token, reader->study->version, sizeof reader->study->version);
    if (top == SCALING)
        keep_word(token, reader->study->scaling, sizeof reader->study->scaling);
    return pf_json_study_ignore(reader, token, error);
}

/* All members, or only the models. */
static int walk(struct saved *saved, bool models_only, struct pf_error *error)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_json_token token;
    int event = pf_json_study_next(reader, &token, error);
    if (event != PF_JSON_OBJECT)
        return event < 0 ? -1 : 0;
    while ((event = pf_json_study_next(reader, &token, error)) == PF_JSON_NAME) {
        enum top top = top_of(&token);
        if (pf_json_study_next(reader, &token, error) < 0)
            return -1;
        if (models_only && top != MODELERS)
            top = OTHER;
        if (read_top(saved, top, &token, error) < 0)
            return -1;
    }
    return event < 0 ? -1 : 0;
}

static int note_stream(struct saved *saved, struct pf_error *error)
{
    uint64_t offset;
    const char *what = pf_zip_damage(saved->stream, &offset);
    return what ? note_archive(saved, offset, what, error) : 0;
}

static int read_experiment(struct saved *saved, struct pf_error *error)
{
    if (find_members(saved, error) < 0)
        return -1;
    saved->stream = pf_zip_open(saved->archive, &saved->member, error);
    if (!saved->stream || walk(saved, false, error) < 0)
        return -1;
    if (saved->again && pf_experiment_parameters(saved->reader.experiment)) {
        pf_json_seek(saved->reader.json, 0, 1);
        saved->reader.damaged = false;
        if (walk(saved, true, error) < 0)
            return -1;
    }
    return note_stream(saved, error);
}

static int read_file(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct saved saved = {.reader = {.study = study, .experiment = study->experiment},
                          .archive = input,
                          .pass = pass,
                          .end = end,
                          .values = pf_saved_values_new(input, pass),
                          .trees = pf_json_trees_new(MODEL_MAX, false)};
    saved.reader.json = pf_json_new_reading(read_text, &saved, 0, 0);
    int result = -1;
    if (saved.values && saved.trees && saved.reader.json)
        result = read_experiment(&saved, error);
    else
        pf_fail_memory(error);
    pf_json_free(saved.reader.json);
    pf_zip_close(saved.stream);
    pf_saved_values_free(saved.values);
    pf_json_trees_free(saved.trees);
    pf_formula_free(&saved.formula);
    pf_ids_free(&saved.known);
    return result;
}

/* ---- the driver --------------------------------------------------------------------------------- */

/* Whether the head begins with the header of this member. */
static bool is_experiment(const unsigned char *head, size_t have)
{
    size_t name = sizeof EXPERIMENT - 1;
    return have >= 30 + name && head[26] == name && !head[27] && !memcmp(head + 30, EXPERIMENT, name);
}

/*
 * Many formats are ZIP archives: this one has its member's name in a header, or in the directory at the end, which is
 * short.
 */
static bool names_experiment(const unsigned char *bytes, size_t size)
{
    return memmem(bytes, size, EXPERIMENT, sizeof EXPERIMENT - 1) != NULL;
}

static void saved_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    unsigned char tail[4096];
    size_t have;
    if (probe->directory)
        return;
    const unsigned char *head = pf_probe_head(probe, 4096, &have);
    if (have < 30 || memcmp(head, "PK\3\4", 4) != 0)
        return;
    uint64_t from = probe->size > sizeof tail ? probe->size - sizeof tail : 0;
    ssize_t got = pf_probe_read(probe, tail, sizeof tail, from);
    bool listed =
        got > 0 && names_experiment(tail, (size_t)got) && memmem(tail, (size_t)got, "PK\5\6", 4) != NULL;
    if (!listed && !is_experiment(head, have) && !memmem(head, have, "Extra-P VALUES", 14))
        return;
    verdict->confidence = 40;
    if (!listed)
        snprintf(verdict->message, sizeof verdict->message, "the archive has no directory at its end");
}

static int saved_open(struct pf_profile *profile, struct pf_error *error)
{
    return pf_stored_open(profile, read_file, WHOLE, true, error);
}

const struct pf_driver pf_extrap_saved_driver = {
    .name = "extrap-experiment",
    .title = "Extra-P experiment (.extra-p)",
    .version = 2,
    .probe = saved_probe,
    .open = saved_open,
    .load = pf_stored_load,
    .close = pf_stored_close,
};
