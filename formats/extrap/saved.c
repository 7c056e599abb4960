/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/extrap/ids.h"
#include "formats/extrap/json_study.h"
#include "formats/extrap/saved_values.h"
#include "formats/extrap/stored.h"

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
    struct pf_zip_member member;
    bool found;       /* the member */
    unsigned members; /* that were looked at */
    struct pf_zip_file text;
    uint64_t unpack_left;
    struct pf_saved_values *values;
    struct pf_json_trees *trees;
    struct pf_formula formula;
    struct pf_ids known; /* models of the modeler that is read, by call path and metric */
    unsigned modelers;   /* so far */
    bool again;          /* models came before the parameters: read the text once more for them */
};

/* ---- the archive -------------------------------------------------------------------------------- */

static bool visit_member(void *arg, const char *name, const struct pf_zip_member *member)
{
    struct saved *saved = arg;
    if (++saved->members > MEMBERS_MAX)
        return false;
    if (!strcmp(name, EXPERIMENT)) {
        saved->member = *member;
        saved->found = true;
    } else {
        pf_saved_values_member(saved->values, name, member);
    }
    return !saved->reader.study->failed;
}

static ssize_t read_text(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    struct saved *saved = arg;
    struct pf_study *study = saved->reader.study;
    if (!pf_study_check(study, pf_pass_step(study->pass, offset, saved->text.size, error)))
        return -1;
    return offset >= study->end ? 0 : pf_zip_read(&saved->text, buffer, size, offset);
}

static void note_archive(struct saved *saved, uint64_t offset, const char *what)
{
    pf_experiment_note(saved->reader.study->experiment, PF_CUT_FILE, 0, (int64_t)offset, "%s", what);
}

/* False: experiment.json cannot be read, and the study has failed. */
static bool open_text(struct saved *saved)
{
    struct pf_study *study = saved->reader.study;
    bool cut = false;
    pf_zip_walk(study, visit_member, saved, &cut);
    if (saved->members > MEMBERS_MAX)
        note_archive(saved, 0, "the archive has too many members, the rest are passed over");
    if (cut)
        note_archive(saved, pf_input_size(study->input),
                     "the archive has no directory at its end: it is cut off");
    if (!study->failed && !saved->found)
        return pf_study_check(study, pf_fail(study->error, EINVAL, "the archive has no member " EXPERIMENT));
    if (!study->failed && !saved->member.readable)
        return pf_study_check(study, pf_fail_at(study->error, EINVAL, (int64_t)saved->member.start,
                                                EXPERIMENT " is encrypted or packed in an unknown way"));
    if (!study->failed)
        pf_zip_open(&saved->text, study, &saved->member, study->end, &saved->unpack_left);
    return !study->failed;
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
static void read_reference(struct pf_json_study *reader, struct figures *figures)
{
    const struct pf_json_token start = reader->token;
    struct pf_json_point pair;
    if (!pf_json_study_is(reader, PF_JSON_ARRAY, NULL))
        return;
    pf_json_study_point(reader, &pair);
    figures->has_values = pair.count == 2 && !pair.broken && fabs(pair.coordinates[0]) < 0x1p53 &&
                          fabs(pair.coordinates[1]) < 0x1p53;
    if (!figures->has_values) {
        pf_json_study_note(reader, PF_BAD_VALUES, &start, "where its values are is not [chunk, index]");
        return;
    }
    figures->values[0] = (int64_t)pair.coordinates[0];
    figures->values[1] = (int64_t)pair.coordinates[1];
}

static void read_member(struct pf_json_study *reader, struct figures *figures)
{
    const struct pf_json_token *token = &reader->token;
    double repetitions;
    int figure = figure_named(token);
    bool coordinate = pf_json_is(token, "coordinate"), values = pf_json_is(token, "values");
    bool count = pf_json_is(token, "repetitions");
    pf_json_study_next(reader);
    figures->has_point |= coordinate;
    if (coordinate) {
        pf_json_study_point(reader, &figures->point);
        return;
    }
    if (values) {
        read_reference(reader, figures);
        return;
    }
    if (figure < PF_STATISTICS && pf_study_number(token, &figures->figures[figure]))
        figures->has |= 1u << figure;
    else if (figure < PF_STATISTICS && token->event != PF_JSON_NULL)
        pf_json_study_note(reader, PF_BAD_NUMBER, token, "a figure is not a number");
    else if (count && pf_study_number(token, &repetitions) && repetitions >= 0 && repetitions < 0x1p53)
        figures->repetitions = (int64_t)repetitions;
    pf_json_study_ignore(reader);
}

static void add_values(struct saved *saved, const struct figures *figures, const struct pf_json_token *start)
{
    struct pf_study *study = saved->reader.study;
    uint64_t rows = 0;
    const char *what = NULL;
    if (figures->has_values)
        what = pf_saved_values_add(saved->values, figures->values[0], figures->values[1], &rows);
    if (figures->repetitions >= 0 || !figures->has_values)
        pf_measured_repetitions(study->measured, figures->repetitions);
    else if (!what)
        pf_measured_repetitions(study->measured, (int64_t)rows);
    if (what)
        pf_json_study_note(&saved->reader, PF_BAD_VALUES, start, what);
}

static void read_measurement(struct pf_json_study *reader, uint32_t series, void *arg)
{
    struct saved *saved = arg;
    struct pf_study *study = reader->study;
    struct figures figures = {.repetitions = -1};
    const struct pf_json_token start = reader->token;
    while (pf_json_study_member(reader))
        read_member(reader, &figures);
    if (reader->token.event == PF_JSON_END) /* half of one is none */
        return;
    if (!figures.has_point) {
        pf_json_study_note(reader, PF_BAD_MEMBER, &start, "a measurement without a coordinate");
        return;
    }
    uint32_t point = pf_study_point(study, figures.point.coordinates, figures.point.count,
                                    figures.point.broken, start.line, (int64_t)start.offset);
    pf_study_begin(study, series, point, true);
    if (study->failed)
        return;
    pf_measured_figures(study->measured, figures.figures, figures.has);
    add_values(saved, &figures, &start);
}

/* ---- models ------------------------------------------------------------------------------------- */

/* A second one of the same call path and metric takes the place of the first, as in Python. */
static int keep_model(struct saved *saved, const struct pf_model *model)
{
    struct pf_study *study = saved->reader.study;
    struct pf_models *models = study->models;
    const struct pf_formula *formula = &saved->formula;
    int64_t key = (int64_t)((uint64_t)model->context << 32 | model->metric);
    uint32_t known = pf_ids_get(&saved->known, key);
    if (known != PF_NO_ID)
        return pf_models_replace(models, known, model, formula->text, formula->size, study->error);
    if (pf_models_add(models, model, formula->text, formula->size, study->error) < 0)
        return -1;
    return pf_ids_set(&saved->known, key, (uint32_t)models->count - 1, study->error);
}

static void read_model(struct saved *saved, struct pf_model *model)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_study *study = reader->study;
    struct json_object *json;
    if (study->failed)
        return;
    int event = pf_json_tree(saved->trees, reader->json, &reader->token, &json, study->error);
    if (event < 0)
        pf_json_study_damage(reader);
    if (event < 0 || event == PF_JSON_NULL)
        return;
    const char *what = reader->token.cut ? "it is too long"
                       : event != PF_JSON_OBJECT
                           ? "it is no object"
                           : pf_model_read(json, study->experiment, model, &saved->formula);
    json_object_put(json);
    if (saved->formula.failed)
        pf_study_check(study, pf_fail_memory(study->error));
    else if (!what)
        pf_study_check(study, keep_model(saved, model));
    else if (!reader->damaged)
        pf_experiment_note(study->experiment, PF_BAD_MODEL, reader->token.line, (int64_t)reader->token.offset,
                           "a model that cannot be shown: %s", what);
}

/* {call path: {metric: model}} of a modeler. */
static void read_models(struct saved *saved, uint32_t modeler)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_model model = {.modeler = modeler};
    pf_json_study_next(reader);
    if (!pf_json_study_is(reader, PF_JSON_OBJECT, NULL))
        return;
    while (pf_json_study_member(reader)) {
        model.context = pf_json_study_callpath(reader);
        pf_json_study_next(reader);
        if (!pf_json_study_is(reader, PF_JSON_OBJECT, NULL))
            continue;
        while (pf_json_study_member(reader)) {
            model.metric = pf_study_metric(reader->study, reader->token.text, reader->token.size);
            read_model(saved, &model);
        }
    }
}

/* {name, modeler, models}: its name may come after its models, which then get it. */
static void read_modeler(struct saved *saved)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_study *study = reader->study;
    size_t first = study->models->count;
    uint32_t name = PF_NO_STRING;
    pf_ids_free(&saved->known);
    while (pf_json_study_member(reader)) {
        bool is_name = pf_json_is(&reader->token, "name");
        if (pf_json_is(&reader->token, "models")) {
            read_models(saved, name);
        } else if (pf_json_study_skip(reader) == PF_JSON_STRING && is_name) {
            name = pf_intern(study->models->names, reader->token.text, reader->token.size, study->error);
            study->failed |= name == PF_NO_STRING;
        }
    }
    for (size_t i = first; i < study->models->count; i++)
        study->models->items[i].modeler = name;
}

static void read_modelers(struct saved *saved)
{
    struct pf_json_study *reader = &saved->reader;
    if (!pf_json_study_is(reader, PF_JSON_ARRAY, NULL))
        return;
    while (pf_json_study_element(reader)) {
        if (reader->token.event == PF_JSON_OBJECT && saved->modelers++ < MODELERS_MAX) {
            read_modeler(saved);
        } else {
            if (saved->modelers == MODELERS_MAX + 1)
                pf_json_study_note(reader, PF_LIMIT, &reader->token,
                                   "more than 1000 modelers, the rest are passed over");
            pf_json_study_ignore(reader);
        }
    }
}

/* ---- experiment.json ---------------------------------------------------------------------------- */

/* Copies a short string. */
static void keep_word(struct pf_json_study *reader, char *word, size_t room)
{
    const struct pf_json_token *token = &reader->token;
    if (token->event == PF_JSON_STRING)
        snprintf(word, room, "%.*s", (int)(token->size < room ? token->size : room - 1), token->text);
    pf_json_study_ignore(reader);
}

/* The value of a member of the whole, whose name is the last token. models_only: that is all which is read. */
static void read_top(struct saved *saved, bool models_only)
{
    struct pf_json_study *reader = &saved->reader;
    struct pf_study *study = reader->study;
    const struct pf_json_measurements kind = {.read = read_measurement, .arg = saved};
    const struct pf_json_token *name = &reader->token;
    bool version = pf_json_is(name, "Extra-P"), scaling = pf_json_is(name, "scaling"),
         parameters = pf_json_is(name, "parameters"), measurements = pf_json_is(name, "measurements"),
         modelers = pf_json_is(name, "modelers");
    bool may_model = modelers && pf_experiment_parameters(study->experiment) > 0;
    saved->again |= modelers && !may_model;
    pf_json_study_next(reader);
    if (may_model)
        read_modelers(saved);
    else if (parameters && !models_only)
        pf_json_study_parameters(reader);
    else if (measurements && !models_only)
        pf_json_study_measurements(reader, &kind);
    else if (version && !models_only)
        keep_word(reader, study->version, sizeof study->version);
    else if (scaling && !models_only)
        keep_word(reader, study->scaling, sizeof study->scaling);
    else
        pf_json_study_ignore(reader);
}

static void walk(struct saved *saved, bool models_only)
{
    bool object = pf_json_study_next(&saved->reader) == PF_JSON_OBJECT;
    while (object && pf_json_study_member(&saved->reader))
        read_top(saved, models_only);
}

static void read_experiment(struct saved *saved)
{
    struct pf_json_study *reader = &saved->reader;
    if (!open_text(saved))
        return;
    walk(saved, false);
    if (saved->again && pf_experiment_parameters(reader->study->experiment) && !reader->study->failed) {
        pf_json_seek(reader->json, 0, 1);
        reader->damaged = false;
        walk(saved, true);
    }
    if (saved->text.damage)
        note_archive(saved, saved->text.damage_offset, saved->text.damage);
}

static void read_file(struct pf_study *study)
{
    uint64_t size = pf_input_size(study->input);
    struct saved saved = {.reader = {.study = study},
                          .unpack_left = PF_ZIP_FREE + size * PF_ZIP_RATIO,
                          .trees = pf_json_trees_new(MODEL_MAX, false)};
    saved.values = pf_saved_values_new(study, &saved.unpack_left);
    saved.reader.json = pf_json_new_reading(read_text, &saved, 0, 0);
    if (saved.values && saved.reader.json && saved.trees)
        read_experiment(&saved);
    else
        pf_study_check(study, pf_fail_memory(study->error));
    pf_json_free(saved.reader.json);
    pf_json_trees_free(saved.trees);
    pf_saved_values_free(saved.values);
    pf_zip_close(&saved.text);
    pf_formula_free(&saved.formula);
    pf_ids_free(&saved.known);
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

const struct pf_driver pf_extrap_saved_driver = {
    .name = "extrap-experiment",
    .title = "Extra-P experiment (.extra-p)",
    .version = 4,
    .probe = saved_probe,
    .kit = &(const struct pf_stored_format){read_file, WHOLE, true},
    PF_STORED,
};
