/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/formula.h"
#include "formats/extrap/json_study.h"
#include "formats/extrap/saved.h"
#include "formats/extrap/stored.h"
#include "formats/input/unpacked.h"
#include "formats/input/zip.h"
#include "formats/json/probe.h"
#include "formats/probe.h"

/*
 * Driver for experiments saved by Extra-P (*.extra-p). An experiment is a ZIP archive with experiment.json (parameters,
 * statistics of each measurement, fitted models) and, optionally, chunks of values. experiment.json is inflated, and read
 * once from start to end. Fitted models that come before the parameters are skipped, and read afterwards.
 */
#define EXPERIMENT "experiment.json"

/*
 * Maximum size of an archive that is read completely when it is opened. experiment.json inflates to about 8 times its
 * compressed size.
 */
#define WHOLE (PF_STUDY_HEAD / 8)

enum {
    MODELERS_MAX = 1000,      /* maximum number of modelers of a file */
    MODEL_MAX = 256 * 1024,   /* maximum bytes of the JSON text of a fitted model */
    MEMBERS_MAX = 200 * 1000, /* maximum number of members to examine; there are two per GB of values */
};

/* Members of a measurement: {coordinate, median, mean, ..., values: [chunk, index]}. */
struct measurement {
    struct pf_json_point point;
    struct pf_json_amount figures[PF_STATISTICS], repetitions;
    struct pf_json_point values; /* the pair [chunk, index], read like a point */
};

struct saved {
    struct pf_json_study reader; /* must be first */
    struct pf_zip_member member;
    bool found;              /* experiment.json was found */
    unsigned members;        /* number of members examined */
    struct pf_zip_file text; /* experiment.json */
    uint64_t unpack_left;    /* remaining budget of bytes to unpack */
    struct pf_saved_values *values;
    struct pf_json_trees *trees;
    struct measurement measurement; /* the measurement being read */
    struct pf_formula formula;
    uint32_t modeler;           /* name of the current modeler, or PF_NO_STRING */
    struct pf_ids known;        /* call path and metric -> fitted model of the current modeler */
    unsigned modelers;          /* number of modelers seen */
    struct pf_json_place later; /* place of the modelers if they come before the parameters */
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
    return true;
}

static ssize_t read_experiment_text(void *arg, void *buffer, size_t size, uint64_t offset,
                                    struct pf_error *error)
{
    struct saved *saved = arg;
    const struct pf_study *study = saved->reader.study;
    if (pf_pass_step(offset, saved->text.size, error))
        return -1;
    return offset < study->end ? (ssize_t)pf_zip_read(&saved->text, buffer, size, offset) : 0;
}

static void note_archive(struct saved *saved, uint64_t offset, const char *what)
{
    pf_study_note(saved->reader.study, PF_CUT_FILE, 0, (int64_t)offset, "%s", what);
}

/* Finds and opens experiment.json. */
static void open_experiment(struct saved *saved)
{
    struct pf_study *study = saved->reader.study;
    struct pf_run *run = study->run;
    bool cut = pf_zip_walk(study, visit_member, saved);
    if (saved->members > MEMBERS_MAX)
        note_archive(saved, 0, "the archive has too many members: the rest are skipped");
    if (cut)
        note_archive(saved, pf_input_size(study->input),
                     "the archive has no directory at its end: it is cut off");
    if (!saved->found)
        pf_run_refuse(run, 0, "the archive has no member " EXPERIMENT);
    if (!saved->member.readable)
        pf_run_check(run, pf_fail_at(run->error, EINVAL, (int64_t)saved->member.start,
                                     EXPERIMENT " is encrypted or packed in an unknown way"));
    pf_zip_open(&saved->text, study, &saved->member, study->end, &saved->unpack_left);
}

/* ---- measurements ------------------------------------------------------------------------------- */

/*
 * Adds the values that a measurement refers to. Returns the number of rows of the array with these values, or
 * UINT64_MAX if the array cannot be read.
 */
static uint64_t add_saved_values(struct saved *saved, const struct pf_json_token *start)
{
    const struct pf_point *at = &saved->measurement.values.of;
    const char *what = "the place of its values is not [chunk, index]";
    uint64_t rows = 0;
    if (at->count == 2 && !at->broken && fabs(at->coordinates[0]) < 0x1p53 &&
        fabs(at->coordinates[1]) < 0x1p53)
        what = pf_saved_values_add(saved->values, (int64_t)at->coordinates[0], (int64_t)at->coordinates[1],
                                   &rows);
    if (what)
        pf_json_study_note(&saved->reader, PF_BAD_VALUES, start, what);
    return what ? UINT64_MAX : rows;
}

/*
 * Adds a measurement. If the measurement does not declare its number of repetitions, the number of rows of its values
 * is used.
 */
static void add_saved_measurement(struct saved *saved, const struct pf_json_token *start)
{
    struct pf_study *study = saved->reader.study;
    const struct measurement *measurement = &saved->measurement;
    double repetitions = measurement->repetitions.value;
    struct pf_figures figures = {.at = {.series = saved->reader.series, .flags = PF_STARTS},
                                 .repetitions = -1};
    for (int i = 0; i < PF_STATISTICS; i++) {
        figures.at.flags |= measurement->figures[i].known ? (uint32_t)PF_FLAGS_ABOVE << i : 0;
        figures.of[i] = measurement->figures[i].value;
    }
    figures.at.point = pf_study_point_at(study, &measurement->point.of, start->line, (int64_t)start->offset);
    pf_study_begin(study, figures.at.series, figures.at.point, true);
    if (measurement->values.known)
        figures.repetitions = (int64_t)add_saved_values(saved, start);
    if (measurement->repetitions.known && repetitions >= 0 && repetitions < 0x1p53)
        figures.repetitions = (int64_t)repetitions;
    pf_study_figures(study, figures);
}

static int take_figure(const struct pf_json_walk *walk)
{
    const struct pf_json_amount *figure = walk->place;
    pf_json_take_amount(walk);
    if (!figure->known && walk->token->event != PF_JSON_NULL)
        pf_json_study_note(walk->into, PF_BAD_NUMBER, walk->token, "a figure is not a number");
    return 0;
}

#define FIGURE(name, figure)                                                                                 \
    PF_MEMBER(name, PF_JSON_END, take_figure, struct saved, measurement.figures[figure])

static const struct pf_json_member measurement_members[] = {
    PF_MEMBER("coordinate", PF_JSON_END, pf_json_take_point, struct saved, measurement.point),
    FIGURE("median", PF_MEDIAN),
    FIGURE("mean", PF_MEAN),
    FIGURE("minimum", PF_MINIMUM),
    FIGURE("maximum", PF_MAXIMUM),
    FIGURE("std", PF_DEVIATION),
    PF_MEMBER("repetitions", PF_JSON_END, pf_json_take_amount, struct saved, measurement.repetitions),
    PF_MEMBER("values", PF_JSON_ARRAY, pf_json_take_point, struct saved, measurement.values),
    PF_MEMBERS_END,
};

/* Reads a measurement. Drops it if it is cut off or has no coordinate. */
static int take_saved_measurement(const struct pf_json_walk *walk)
{
    struct saved *saved = walk->into;
    saved->measurement = (struct measurement){.point.known = false};
    if (pf_json_object(walk, saved, measurement_members))
        return -1;
    if (saved->measurement.point.known)
        add_saved_measurement(saved, walk->token);
    else
        pf_json_study_note(&saved->reader, PF_BAD_MEMBER, walk->token, "a measurement without a coordinate");
    return 0;
}

static int take_saved_measurements(const struct pf_json_walk *walk)
{
    return pf_json_measurements(walk, false, take_saved_measurement);
}

/* ---- models ------------------------------------------------------------------------------------- */

/* Adds a fitted model. Replaces an earlier model of the same modeler, call path and metric, as a Python dict does. */
static void keep_model(struct saved *saved, const struct pf_fit_function *model)
{
    struct pf_study *study = saved->reader.study;
    struct pf_run *run = study->run;
    uint64_t key = (uint64_t)model->context << 32 | model->metric;
    uint32_t known = pf_ids_find(&saved->known, key); /* PF_NO_ID equals PF_NO_MODEL */
    pf_study_model(study, known, model, saved->formula.text.at, saved->formula.text.n);
    if (known == PF_NO_ID)
        pf_run_check(run, pf_ids_set(&saved->known, key, (uint32_t)study->n_models - 1, run->error));
}

static void free_tree(void *json)
{
    json_object_put(json);
}

static int take_model(const struct pf_json_walk *walk)
{
    struct saved *saved = walk->into;
    struct pf_study *study = saved->reader.study;
    struct pf_fit_function model = {
        .modeler = PF_NO_STRING, .context = saved->reader.context, .metric = saved->reader.metric};
    struct pf_json_token token;
    struct json_object *json;
    int event = pf_json_tree(saved->trees, walk->json, &token, &json, walk->error);
    if (event < 0 || event == PF_JSON_NULL)
        return event < 0 ? -1 : 0;
    if (json)
        pf_own(study->run, json, free_tree);
    const char *what = token.cut                 ? "it is too long"
                       : event != PF_JSON_OBJECT ? "it is not an object"
                                                 : pf_fit_function_read(json, study, &model, &saved->formula);
    if (json)
        free_tree(pf_disown(study->run, json));
    if (!what)
        keep_model(saved, &model);
    else
        pf_study_note(study, PF_BAD_MODEL, token.line, (int64_t)token.offset,
                      "a model that cannot be shown: %s", what);
    return 0;
}

static int take_models(const struct pf_json_walk *walk)
{
    return pf_json_by_metric(walk, take_model);
}

static int take_modeler_name(const struct pf_json_walk *walk)
{
    struct saved *saved = walk->into;
    const struct pf_json_token *name = walk->token;
    struct pf_study *study = saved->reader.study;
    saved->modeler = pf_run_intern(study->run, study->modelers, name->text, name->size);
    return 0;
}

/* Takes {name, modeler, models}. The name may follow the models. */
static int take_modeler(const struct pf_json_walk *walk)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER_OF_ALL("name", PF_JSON_STRING, take_modeler_name),
        PF_MEMBER_OF_ALL("models", PF_JSON_OBJECT, take_models),
        PF_MEMBERS_END,
    };
    struct saved *saved = walk->into;
    struct pf_study *study = saved->reader.study;
    size_t first = study->n_models;
    if (walk->token->event != PF_JSON_OBJECT)
        return 0;
    if (++saved->modelers > MODELERS_MAX)
        return pf_json_study_note(&saved->reader, PF_LIMIT, walk->token,
                                  "more than 1000 modelers: the rest are skipped");
    pf_ids_free(&saved->known);
    saved->modeler = PF_NO_STRING;
    int got = pf_json_object(walk, saved, members);
    for (size_t i = first; i < study->n_models; i++)
        study->models[i].modeler = saved->modeler;
    return got;
}

static int take_modelers(const struct pf_json_walk *walk)
{
    const struct saved *saved = walk->into;
    if (!pf_study_parameters(saved->reader.study))
        return pf_json_take_place(walk);
    return pf_json_array(walk, walk->into, PF_JSON_END, take_modeler);
}

/* ---- experiment.json ---------------------------------------------------------------------------- */

static void keep_word(const struct pf_json_token *token, char *word, size_t room)
{
    snprintf(word, room, "%.*s", (int)(token->size < room ? token->size : room - 1), token->text);
}

static int take_version(const struct pf_json_walk *walk)
{
    struct pf_study *study = ((const struct saved *)walk->into)->reader.study;
    keep_word(walk->token, study->version, sizeof study->version);
    return 0;
}

static int take_scaling(const struct pf_json_walk *walk)
{
    struct pf_study *study = ((const struct saved *)walk->into)->reader.study;
    keep_word(walk->token, study->scaling, sizeof study->scaling);
    return 0;
}

static void read_experiment(struct saved *saved)
{
    static const struct pf_json_member members[] = {
        PF_MEMBER_OF_ALL("Extra-P", PF_JSON_STRING, take_version),
        PF_MEMBER_OF_ALL("scaling", PF_JSON_STRING, take_scaling),
        PF_MEMBER_OF_ALL("parameters", PF_JSON_END, pf_json_take_parameters),
        PF_MEMBER_OF_ALL("measurements", PF_JSON_OBJECT, take_saved_measurements),
        PF_MEMBER("modelers", PF_JSON_ARRAY, take_modelers, struct saved, later),
        PF_MEMBERS_END,
    };
    pf_json_study_read(&saved->reader, members);
    if (pf_study_parameters(saved->reader.study))
        pf_json_study_array(&saved->reader, saved->later, take_modeler);
}

static void read_saved(struct pf_study *study)
{
    struct pf_run *run = study->run;
    struct saved *saved = pf_json_study_open(study, sizeof *saved, read_experiment_text, 0);
    PF_OWN(run, &saved->text, pf_zip_close);
    PF_OWN(run, &saved->known, pf_ids_free);
    saved->trees = PF_OWN(run, pf_json_trees_new(MODEL_MAX, false), pf_json_trees_free);
    saved->values = pf_saved_values_new(study, &saved->unpack_left);
    saved->unpack_left = PF_ZIP_FREE + pf_input_size(study->input) * PF_ZIP_RATIO;
    saved->formula.run = run;
    open_experiment(saved);
    read_experiment(saved);
    if (saved->text.damage.code)
        note_archive(saved, (uint64_t)saved->text.damage.offset, saved->text.damage.what);
}

/* ---- the driver --------------------------------------------------------------------------------- */

enum {
    BEGINNING_MAX = 256, /* maximum bytes of a member that are searched for Extra-P's name */
    DIRECTORY_MAX = 4096 /* maximum number of directory entries that are examined */
};

/* A member that identifies the format. It is experiment.json or a part of saved values. */
struct sign {
    bool found, experiment; /* experiment: the member is experiment.json */
    unsigned examined;      /* number of directory entries examined */
    uint64_t header;        /* offset of the member's local header */
};

static bool is_named(const struct pf_zip_entry *entry, const char *name)
{
    return entry->name_size == strlen(name) && !memcmp(entry->name, name, entry->name_size);
}

static int visit_entry(void *arg, const struct pf_zip_entry *entry)
{
    struct sign *sign = arg;
    if (is_named(entry, EXPERIMENT))
        *sign = (struct sign){.found = true, .experiment = true, .header = entry->header};
    return sign->found || ++sign->examined == DIRECTORY_MAX;
}

/* Examines the first member of an archive without a directory. */
static int visit_first(void *arg, const struct pf_zip_entry *entry)
{
    struct sign *sign = arg;
    sign->experiment = is_named(entry, EXPERIMENT);
    sign->found = sign->experiment || (entry->name_size > 7 && !memcmp(entry->name, "values/", 7));
    return 0;
}

/* The first bytes of a member, unpacked. */
struct beginning {
    struct pf_probe *probe;
    char text[BEGINNING_MAX];
    size_t size;
};

static int visit_beginning(void *arg, const struct pf_zip_entry *entry)
{
    struct beginning *beginning = arg;
    struct pf_probe *probe = beginning->probe;
    struct pf_error error = {0};
    struct pf_unpacked *unpacked = entry->method == PF_ZIP_DEFLATED
                                       ? pf_unpacked_new(NULL, PF_DEFLATED, pf_probe_source, probe,
                                                         entry->data, probe->size, BEGINNING_MAX)
                                       : NULL;
    ssize_t got = unpacked ? pf_unpacked_read(unpacked, beginning->text, BEGINNING_MAX, 0, &error)
                  : entry->method == PF_ZIP_STORED
                      ? pf_probe_source(probe, beginning->text, BEGINNING_MAX, entry->data, &error)
                  : entry->method == PF_ZIP_DEFLATED ? pf_fail_memory(&error)
                                                     : 0;
    pf_unpacked_release(unpacked);
    pf_probe_failed(probe, got < 0 ? error.code : 0);
    beginning->size = got < 0 ? 0 : (size_t)got;
    return 0;
}

/* Returns true if a member begins with Extra-P's name, as experiment.json and saved values do if Extra-P wrote them. */
static bool begins_as_written(struct pf_probe *probe, uint64_t header)
{
    struct beginning beginning = {.probe = probe};
    struct pf_error error = {0};
    if (pf_zip_local(pf_probe_source, probe, header, visit_beginning, &beginning, &error) < 0)
        pf_probe_failed(probe, error.code);
    return memmem(beginning.text, beginning.size, "Extra-P", 7) != NULL;
}

/*
 * Many formats are ZIP archives. An experiment has a member experiment.json at the top level. Other programs write members
 * of this name too, so a file named *.zip is accepted only if its experiment.json begins as Extra-P writes it.
 */
static void saved_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    struct sign sign = {0};
    struct pf_error error = {0};
    size_t have;
    if (probe->directory)
        return;
    const unsigned char *head = pf_probe_head(probe, 4, &have);
    if (have < 4 || memcmp(head, "PK\3\4", 4) != 0)
        return;
    int listed = pf_zip_list(pf_probe_source, probe, probe->size, visit_entry, &sign, &error);
    if (!listed)
        pf_zip_local(pf_probe_source, probe, 0, visit_first, &sign, &error);
    pf_probe_failed(probe, error.code);
    bool sure = sign.experiment && !pf_probe_is_called(probe, ".zip");
    if (!sign.found || (!sure && !begins_as_written(probe, sign.header)))
        return;
    result->confidence = 40;
    if (!listed)
        snprintf(result->message, sizeof result->message, "the archive has no directory at its end");
}

const struct pf_driver pf_extrap_saved_driver = {
    .name = "extrap-experiment",
    .title = "Extra-P experiment (.extra-p)",
    .version = 9,
    .archives = true,
    .probe = saved_probe,
    .kit = &(const struct pf_study_format){read_saved, WHOLE, true},
    PF_STUDY_OPERATIONS,
};
