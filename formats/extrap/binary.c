/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

#include "formats/extrap/binary_models.h"
#include "formats/extrap/binary_stream.h"
#include "formats/extrap/json_ids.h"
#include "formats/extrap/stored.h"

/*
 * Extra-P 3.0: a binary stream of records, each a word and what belongs to it, up to the end of the file. It has
 * the figures of each measurement, no values, and fitted models. (Bytes: docs/formats/extrap.md.)
 */
#define MAGIC "EXTRAP_EXPERIMENT"

/* A region of the program. */
struct region {
    uint32_t name, file; /* in the contexts' strings */
    uint32_t line;
};

struct binary {
    struct pf_study *study;
    struct pf_experiment *experiment;
    struct pf_stream stream;
    uint64_t record; /* offset of the record being read */
    struct pf_ids metrics, regions, callpaths, coordinates;

    struct region *items; /* regions, in the order of the file */
    size_t n_items, room_items;
    struct pf_strings *region_names; /* as in the file, and how often each was there: */
    uint32_t *uses;
    size_t room_uses;

    uint32_t *region_of; /* of each context; PF_NO_ID: none */
    size_t n_region_of;

    uint32_t *generators; /* names of modelers, in the order of the file */
    size_t n_generators, room_generators;
    bool has_options; /* some generator had them: models have RE */
    struct pf_formula formula;
};

static int note(struct binary *binary, enum pf_problem problem, const char *what, struct pf_error *error)
{
    return pf_experiment_note(binary->experiment, problem, 0, (int64_t)binary->record, error, "%s", what);
}

/* ---- what measurements are of ------------------------------------------------------------------- */

static int read_parameter(struct binary *binary, struct pf_error *error)
{
    int64_t id;
    const char *name;
    size_t size;
    if (pf_stream_int(&binary->stream, &id, error) < 0 ||
        pf_stream_string(&binary->stream, &name, &size, error) < 0)
        return -1;
    unsigned before = pf_experiment_parameters(binary->experiment);
    int added = pf_experiment_add_parameter(binary->experiment, name, size, error);
    if (!added && before == PF_PARAMETERS_MAX)
        return note(binary, PF_LIMIT, "more than 16 parameters, the rest are passed over", error);
    return added < 0 ? -1 : 0;
}

static int read_metric(struct binary *binary, struct pf_error *error)
{
    int64_t id;
    const char *text;
    size_t size;
    if (pf_stream_int(&binary->stream, &id, error) < 0 ||
        pf_stream_string(&binary->stream, &text, &size, error) < 0)
        return -1;
    uint32_t metric = pf_experiment_metric(binary->experiment, text, size, error);
    if (metric == PF_NO_STRING || pf_ids_set(&binary->metrics, id, metric, error) < 0 ||
        pf_stream_string(&binary->stream, &text, &size, error) < 0)
        return -1;
    if (!size || pf_binary_is(text, size, "unknown"))
        return 0;
    return pf_experiment_unit(binary->experiment, metric, text, size, error);
}

/* The name of a region; further ones of the same name are told apart by a number, as Extra-P does. */
static uint32_t name_region(struct binary *binary, const char *name, size_t size, struct pf_error *error)
{
    struct pf_strings *strings = binary->experiment->contexts->strings;
    uint32_t before = pf_strings_count(binary->region_names);
    uint32_t known = pf_intern(binary->region_names, name, size, error);
    if (known == PF_NO_STRING ||
        pf_array_room(&binary->uses, &binary->room_uses, known, sizeof *binary->uses, error))
        return PF_NO_STRING;
    if (known == before)
        binary->uses[known] = 0;
    uint32_t use = binary->uses[known]++;
    if (!use)
        return pf_intern(strings, name, size, error);
    char *numbered = malloc(size + 16);
    if (!numbered) {
        pf_fail_memory(error);
        return PF_NO_STRING;
    }
    memcpy(numbered, name, size);
    int more = snprintf(numbered + size, 16, " #%u", use);
    uint32_t result = pf_intern(strings, numbered, size + (size_t)more, error);
    free(numbered);
    return result;
}

static int read_region(struct binary *binary, struct pf_error *error)
{
    struct pf_strings *strings = binary->experiment->contexts->strings;
    struct region region = {.file = PF_NO_STRING};
    int64_t id, line;
    const char *text;
    size_t size;
    if (pf_stream_int(&binary->stream, &id, error) < 0 ||
        pf_stream_string(&binary->stream, &text, &size, error) < 0)
        return -1;
    region.name = name_region(binary, text, size, error);
    if (region.name == PF_NO_STRING || pf_stream_string(&binary->stream, &text, &size, error) < 0)
        return -1;
    if (size && (region.file = pf_intern(strings, text, size, error)) == PF_NO_STRING)
        return -1;
    if (pf_stream_int(&binary->stream, &line, error) < 0 ||
        pf_array_room(&binary->items, &binary->room_items, binary->n_items, sizeof *binary->items, error))
        return -1;
    region.line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    binary->items[binary->n_items] = region;
    return pf_ids_set(&binary->regions, id, (uint32_t)binary->n_items++, error);
}

/* Remembers which region a context is of. */
static int set_region(struct binary *binary, uint32_t context, uint32_t region, struct pf_error *error)
{
    size_t known = binary->n_region_of;
    if (context >= known && pf_array_grow(&binary->region_of, &binary->n_region_of, (size_t)context + 1,
                                          sizeof *binary->region_of, error))
        return -1;
    for (size_t i = known; i < binary->n_region_of; i++)
        binary->region_of[i] = PF_NO_ID;
    binary->region_of[context] = region;
    return 0;
}

static int read_callpath(struct binary *binary, struct pf_error *error)
{
    struct pf_experiment *experiment = binary->experiment;
    int64_t id, region_id, parent_id;
    if (pf_stream_int(&binary->stream, &id, error) < 0 ||
        pf_stream_int(&binary->stream, &region_id, error) < 0 ||
        pf_stream_int(&binary->stream, &parent_id, error) < 0)
        return -1;
    uint32_t region = pf_ids_get(&binary->regions, region_id);
    uint32_t parent = parent_id == -1 ? PF_NO_CONTEXT : pf_ids_get(&binary->callpaths, parent_id);
    if (region == PF_NO_ID)
        return note(binary, PF_BAD_REFERENCE, "a call path of a region that there is not, passed over",
                    error);
    if (parent_id != -1 && parent == PF_NO_ID) {
        parent = PF_NO_CONTEXT;
        if (note(binary, PF_BAD_REFERENCE, "a call path below one that there is not, shown as a root",
                 error) < 0)
            return -1;
    }
    struct pf_cell name = pf_interned(experiment->contexts->strings, binary->items[region].name);
    uint32_t context = pf_experiment_callpath_below(experiment, parent, name.text, name.size, error);
    if (context == PF_NO_CONTEXT || set_region(binary, context, region, error) < 0)
        return -1;
    return pf_ids_set(&binary->callpaths, id, context, error);
}

/* One coordinate: the parameter's name and the number. */
static int read_pair(struct binary *binary, double *coordinates, struct pf_error *error)
{
    const char *name;
    size_t size;
    double value;
    unsigned n = pf_experiment_parameters(binary->experiment), i = 0;
    if (pf_stream_string(&binary->stream, &name, &size, error) < 0)
        return -1;
    while (i < n && !pf_binary_is(name, size, pf_experiment_parameter(binary->experiment, i)))
        i++;
    if (pf_stream_real(&binary->stream, &value, error) < 0)
        return -1;
    if (i == n)
        return note(binary, PF_BAD_REFERENCE, "a coordinate of a parameter that there is not", error);
    coordinates[i] = value;
    return 0;
}

static int read_coordinate(struct binary *binary, struct pf_error *error)
{
    double coordinates[PF_PARAMETERS_MAX];
    int64_t id, count;
    bool broken = false;
    for (int i = 0; i < PF_PARAMETERS_MAX; i++)
        coordinates[i] = (double)NAN;
    if (pf_stream_int(&binary->stream, &id, error) < 0 || pf_stream_int(&binary->stream, &count, error) < 0)
        return -1;
    for (int64_t i = 0; i < count; i++)
        if (read_pair(binary, coordinates, error) < 0)
            return -1;
    unsigned n = pf_experiment_parameters(binary->experiment);
    for (unsigned i = 0; i < n; i++)
        broken |= isnan(coordinates[i]) != 0;
    if (broken && note(binary, PF_POINT_SIZE, "a point that lacks a coordinate", error) < 0)
        return -1;
    uint32_t point = pf_experiment_point(binary->experiment, coordinates, n, broken, error);
    return point == PF_NO_POINT ? -1 : pf_ids_set(&binary->coordinates, id, point, error);
}

/* ---- measurements ------------------------------------------------------------------------------- */

/* The doubles of a measurement; between these are bounds of confidence. */
enum { MEAN, MEAN_LOW, MEAN_HIGH, DEVIATION, MEDIAN, MEDIAN_LOW, MEDIAN_HIGH, MINIMUM, MAXIMUM, REALS };

static int add_measurement(struct binary *binary, uint32_t point, uint32_t metric, uint32_t context,
                           int64_t samples, const double reals[REALS], struct pf_error *error)
{
    struct pf_experiment *experiment = binary->experiment;
    struct pf_measured *measured = binary->study->measured;
    const double figures[PF_STATISTICS] = {[PF_MEAN] = reals[MEAN],
                                           [PF_MEDIAN] = reals[MEDIAN],
                                           [PF_MINIMUM] = reals[MINIMUM],
                                           [PF_MAXIMUM] = reals[MAXIMUM],
                                           [PF_DEVIATION] = reals[DEVIATION]};
    size_t before = experiment->n_series;
    uint32_t series = pf_experiment_series(experiment, context, metric, error);
    if (series == PF_NO_SERIES)
        return -1;
    if (experiment->n_series > before)
        experiment->series[series].offset = (int64_t)binary->record;
    if (pf_measured_begin(measured, series, point, true, error) < 0)
        return -1;
    pf_measured_figures(measured, figures, (1u << PF_STATISTICS) - 1);
    pf_measured_repetitions(measured, samples);
    return 0;
}

static int read_measurement(struct binary *binary, struct pf_error *error)
{
    struct pf_stream *stream = &binary->stream;
    int64_t coordinate_id, samples, metric_id, callpath_id;
    double reals[REALS];
    if (pf_stream_int(stream, &coordinate_id, error) < 0 || pf_stream_int(stream, &samples, error) < 0)
        return -1;
    for (int i = 0; i < REALS; i++)
        if (pf_stream_real(stream, &reals[i], error) < 0)
            return -1;
    if (pf_stream_int(stream, &metric_id, error) < 0 || pf_stream_int(stream, &callpath_id, error) < 0)
        return -1;
    uint32_t point = pf_ids_get(&binary->coordinates, coordinate_id);
    uint32_t metric = pf_ids_get(&binary->metrics, metric_id);
    uint32_t context = pf_ids_get(&binary->callpaths, callpath_id);
    if (point == PF_NO_ID || metric == PF_NO_ID || context == PF_NO_ID)
        return note(binary, PF_BAD_REFERENCE,
                    "a measurement of a point, metric or call path that there is not, passed over", error);
    return add_measurement(binary, point, metric, context, samples, reals, error);
}

/* ---- models ------------------------------------------------------------------------------------- */

/* The words that come before a generator's own fields, which nobody asks for. */
static int skip_strings(struct pf_stream *stream, int count, struct pf_error *error)
{
    const char *text;
    size_t size;
    for (int i = 0; i < count; i++)
        if (pf_stream_string(stream, &text, &size, error) < 0)
            return -1;
    return 0;
}

/* Compound terms that a simple generator tries, and how many of them a model may have. */
static int skip_terms(struct binary *binary, struct pf_error *error)
{
    int64_t count;
    if (pf_stream_int(&binary->stream, &count, error) < 0)
        return -1;
    for (int64_t i = 0; i < count; i++)
        if (pf_binary_function(&binary->stream, binary->experiment, NULL, error) < 0)
            return -1;
    return pf_stream_skip(&binary->stream, sizeof(int64_t), error);
}

static int read_generator(struct binary *binary, bool single, bool terms, struct pf_error *error)
{
    struct pf_stream *stream = &binary->stream;
    const char *name;
    size_t size;
    if (pf_stream_string(stream, &name, &size, error) < 0 ||
        pf_array_room(&binary->generators, &binary->room_generators, binary->n_generators,
                      sizeof *binary->generators, error))
        return -1;
    uint32_t id = pf_intern(binary->study->models->names, name, size, error);
    if (id == PF_NO_STRING)
        return -1;
    binary->generators[binary->n_generators++] = id;
    /* Cross validation and epsilon, then what is modelled (GENERATE_MODEL_MEAN). */
    if (single && (skip_strings(stream, 1, error) < 0 || pf_stream_skip(stream, sizeof(double), error) < 0))
        return -1;
    if (skip_strings(stream, 1, error) < 0)
        return -1;
    int options = pf_binary_options(stream, error);
    binary->has_options |= options > 0;
    if (options < 0)
        return -1;
    return terms ? skip_terms(binary, error) : 0;
}

/* Comments, and the bounds of each parameter within which the model holds. */
static int skip_model_rest(struct binary *binary, struct pf_error *error)
{
    struct pf_stream *stream = &binary->stream;
    int64_t count;
    if (pf_stream_int(stream, &count, error) < 0)
        return -1;
    if (count > 0 && ((uint64_t)count > pf_stream_left(stream) / sizeof(int64_t) ||
                      pf_stream_skip(stream, (uint64_t)count * sizeof(int64_t), error) < 0))
        return pf_fail_at(error, ENODATA, (int64_t)stream->at, "the file ends inside a record");
    if (pf_stream_int(stream, &count, error) < 0)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t pairs;
        if (skip_strings(stream, 1, error) < 0 || pf_stream_int(stream, &pairs, error) < 0)
            return -1;
        uint64_t most = pf_stream_left(stream) / (2 * sizeof(double));
        if (pairs > 0 && (uint64_t)pairs > most)
            return pf_fail_at(error, ENODATA, (int64_t)stream->at, "the file ends inside a record");
        if (pairs > 0 && pf_stream_skip(stream, (uint64_t)pairs * 2 * sizeof(double), error) < 0)
            return -1;
    }
    return 0;
}

/* RSS, AR2, SMAPE and, in newer files, RE. */
static int read_fits(struct binary *binary, struct pf_model *model, struct pf_error *error)
{
    static const enum pf_fit order[] = {PF_RSS, PF_AR2, PF_SMAPE, PF_RE};
    int n = binary->has_options ? 4 : 3;
    model->has = 0;
    for (int i = 0; i < n; i++) {
        if (pf_stream_real(&binary->stream, &model->fits[order[i]], error) < 0)
            return -1;
        model->has |= 1u << order[i];
    }
    return 0;
}

static int add_model(struct binary *binary, struct pf_model *model, int64_t metric_id, int64_t callpath_id,
                     int64_t generator, struct pf_error *error)
{
    model->metric = pf_ids_get(&binary->metrics, metric_id);
    model->context = pf_ids_get(&binary->callpaths, callpath_id);
    if (model->metric == PF_NO_ID || model->context == PF_NO_ID || generator < 0 ||
        (uint64_t)generator >= binary->n_generators)
        return note(binary, PF_BAD_REFERENCE,
                    "a model of a metric, call path or generator that there is not, passed over", error);
    model->modeler = binary->generators[generator];
    if (binary->formula.failed)
        return pf_fail_memory(error);
    if (binary->formula.too_long)
        return note(binary, PF_BAD_MODEL, "a model that cannot be shown: its function is too long", error);
    return pf_models_add(binary->study->models, model, binary->formula.text ? binary->formula.text : "",
                         binary->formula.size, error);
}

static int read_model(struct binary *binary, struct pf_error *error)
{
    struct pf_stream *stream = &binary->stream;
    struct pf_model model = {.modeler = PF_NO_STRING};
    int64_t metric_id, callpath_id, generator;
    if (pf_stream_int(stream, &metric_id, error) < 0 || pf_stream_int(stream, &callpath_id, error) < 0 ||
        pf_stream_int(stream, &generator, error) < 0)
        return -1;
    pf_formula_restart(&binary->formula);
    if (pf_binary_function(stream, binary->experiment, &binary->formula, error) < 0)
        return -1;
    for (int i = 0; i < 6; i++) /* upper and lower bounds: of confidence, error cone, noise */
        if (pf_binary_function(stream, binary->experiment, NULL, error) < 0)
            return -1;
    if (read_fits(binary, &model, error) < 0 || skip_model_rest(binary, error) < 0)
        return -1;
    return add_model(binary, &model, metric_id, callpath_id, generator, error);
}

static int skip_comment(struct binary *binary, struct pf_error *error)
{
    if (pf_stream_skip(&binary->stream, sizeof(int64_t), error) < 0)
        return -1;
    return skip_strings(&binary->stream, 1, error);
}

/* ---- records ------------------------------------------------------------------------------------ */

static int read_simple_generator(struct binary *binary, struct pf_error *error)
{
    return read_generator(binary, true, true, error);
}

static int read_refining_generator(struct binary *binary, struct pf_error *error)
{
    return read_generator(binary, true, false, error);
}

static int read_multi_generator(struct binary *binary, struct pf_error *error)
{
    return read_generator(binary, false, false, error);
}

static const struct {
    const char *tag;
    int (*read)(struct binary *binary, struct pf_error *error);
} records[] = {
    {"ExperimentPoint", read_measurement},
    {"Model", read_model},
    {"Callpath", read_callpath},
    {"Region", read_region},
    {"Coordinate", read_coordinate},
    {"Parameter", read_parameter},
    {"Metric", read_metric},
    {"ModelComment", skip_comment},
    {"SingleParameterSimpleModelGenerator", read_simple_generator},
    {"SingleParameterRefiningModelGenerator", read_refining_generator},
    {"MultiParameterSimpleModelGenerator", read_multi_generator},
    {"MultiParameterSparseModelGenerator", read_multi_generator},
};

static int read_record(struct binary *binary, struct pf_error *error)
{
    const char *tag;
    size_t size, i = 0;
    if (pf_stream_string(&binary->stream, &tag, &size, error) < 0)
        return -1;
    while (i < sizeof records / sizeof *records && !pf_binary_is(tag, size, records[i].tag))
        i++;
    if (i < sizeof records / sizeof *records)
        return records[i].read(binary, error);
    return pf_fail_at(error, EBADMSG, (int64_t)binary->record, "a record of an unknown kind");
}

/* The byte order, the magic word and the version. */
static int read_head(struct binary *binary, struct pf_error *error)
{
    struct pf_stream *stream = &binary->stream;
    const char *text;
    size_t size;
    uint16_t order;
    if (pf_stream_u16(stream, &order, error) < 0)
        return -1;
    stream->big_endian = order != 1;
    if (pf_stream_string(stream, &text, &size, error) < 0)
        return -1;
    if (!pf_binary_is(text, size, MAGIC))
        return pf_fail_at(error, EBADMSG, 2, MAGIC " is missing");
    if (pf_stream_string(stream, &text, &size, error) < 0)
        return -1;
    char *version = binary->study->version;
    snprintf(version, sizeof binary->study->version, "%.*s", (int)(size < 31 ? size : 31), text);
    return 0;
}

static int read_records(struct binary *binary, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_stream *stream = &binary->stream;
    uint64_t next_step = 0;
    int result = read_head(binary, error);
    while (!result && pf_stream_left(stream)) {
        binary->record = stream->at;
        if (stream->at >= next_step) {
            next_step = stream->at + PF_STUDY_STEP;
            if (pf_pass_step(pass, stream->at, stream->end, error) < 0)
                return -1;
        }
        result = read_record(binary, error);
    }
    if (!result)
        return 0;
    return pf_study_is_damage(error) ? pf_study_damage(binary->study, error) : -1;
}

/* Gives the contexts the files and lines of their regions. */
static int place_contexts(struct binary *binary, struct pf_error *error)
{
    struct pf_tree *tree = binary->experiment->contexts;
    tree->file = malloc((tree->count + (size_t)1) * sizeof *tree->file);
    tree->line = calloc(tree->count + (size_t)1, sizeof *tree->line);
    if (!tree->file || !tree->line)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t region = i < binary->n_region_of ? binary->region_of[i] : PF_NO_ID;
        tree->file[i] = region == PF_NO_ID ? PF_NO_STRING : binary->items[region].file;
        tree->line[i] = region == PF_NO_ID ? 0 : binary->items[region].line;
    }
    return 0;
}

static int read_file(struct pf_study *study, struct pf_input *input, uint64_t end, struct pf_pass *pass,
                     struct pf_error *error)
{
    struct binary binary = {
        .study = study, .experiment = study->experiment, .region_names = pf_strings_new()};
    int result = pf_stream_open(&binary.stream, input, end, error);
    if (!result && !binary.region_names)
        result = pf_fail_memory(error);
    if (!result)
        result = read_records(&binary, pass, error);
    if (!result)
        result = place_contexts(&binary, error);
    pf_stream_close(&binary.stream);
    pf_ids_free(&binary.metrics);
    pf_ids_free(&binary.regions);
    pf_ids_free(&binary.callpaths);
    pf_ids_free(&binary.coordinates);
    free(binary.items);
    pf_strings_free(binary.region_names);
    free(binary.uses);
    free(binary.region_of);
    free(binary.generators);
    pf_formula_free(&binary.formula);
    return result;
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void binary_probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    static const unsigned char little[] = "\1\0\21\0\0\0" MAGIC, big[] = "\0\1\0\0\0\21" MAGIC;
    size_t have, size = sizeof little - 1;
    if (probe->directory)
        return;
    const unsigned char *head = pf_probe_head(probe, 64, &have);
    if (have >= size && (!memcmp(head, little, size) || !memcmp(head, big, size)))
        verdict->confidence = 64;
}

static int binary_open(struct pf_profile *profile, struct pf_error *error)
{
    return pf_stored_open(profile, read_file, PF_STUDY_HEAD, true, error);
}

const struct pf_driver pf_extrap_binary_driver = {
    .name = "extrap-3",
    .title = "Extra-P 3.0 experiment",
    .version = 1,
    .probe = binary_probe,
    .open = binary_open,
    .load = pf_stored_load,
    .close = pf_stored_close,
};
