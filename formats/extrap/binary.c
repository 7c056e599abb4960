/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/binary_items.h"
#include "formats/extrap/ids.h"
#include "formats/extrap/stored.h"
#include "formats/kit/array.h"

/*
 * Extra-P 3.0: a binary stream of records, each a word and what belongs to it, up to the end of the file. It has
 * the figures of each measurement, no values, and fitted models. (Bytes: docs/formats/extrap.md.)
 * */
#define MAGIC "EXTRAP_EXPERIMENT"

/* A region of the program. */
struct region {
    uint32_t name, file; /* in the contexts' strings */
    uint32_t line;
};

struct binary {
    struct pf_study *study;
    struct pf_experiment *experiment; /* the study's */

    struct pf_items in;
    uint64_t record; /* offset of the record being read */

    struct pf_ids metrics, regions, callpaths, coordinates;
    struct region *items; /* regions, in the order of the file */
    size_t n_items, room_items;
    struct pf_strings *region_names; /* as in the file, and how often each was there: */
    uint32_t *uses;
    size_t room_uses;
    uint32_t *region_of; /* of each context, plus 1; 0: none */
    size_t n_region_of;
    uint32_t *generators; /* names of modelers, in the order of the file */
    size_t n_generators, room_generators;
    bool has_options; /* some generator had them: models have RE */
    struct pf_formula formula;
};

static void note(struct binary *binary, enum pf_problem problem, const char *what)
{
    pf_experiment_note(binary->experiment, problem, 0, (int64_t)binary->record, "%s", what);
}

/* ---- what measurements are of ------------------------------------------------------------------- */

/* Gives an id of the file its number, if all of its record could be read. */
static void set_id(struct binary *binary, struct pf_ids *ids, int64_t id, uint32_t number)
{
    if (!binary->in.broken && !binary->study->failed)
        pf_study_check(binary->study, pf_ids_set(ids, id, number, binary->study->error));
}

static void read_parameter(struct binary *binary)
{
    pf_item_int(&binary->in); /* its id */
    struct pf_cell name = pf_item_string(&binary->in);
    if (!binary->in.broken)
        pf_study_parameter(binary->study, name.text, name.size, 0, (int64_t)binary->record);
}

static void read_metric(struct binary *binary)
{
    struct pf_study *study = binary->study;
    int64_t id = pf_item_int(&binary->in);
    struct pf_cell name = pf_item_string(&binary->in);
    if (binary->in.broken)
        return;
    uint32_t metric = pf_study_metric(study, name.text, name.size);
    set_id(binary, &binary->metrics, id, metric);
    struct pf_cell unit = pf_item_string(&binary->in);
    if (unit.size && !pf_item_is(unit, "unknown") && !study->failed)
        pf_study_check(study,
                       pf_experiment_unit(binary->experiment, metric, unit.text, unit.size, study->error));
}

/* A string of the contexts; PF_NO_STRING: the study has failed. */
static uint32_t intern(struct binary *binary, struct pf_cell text)
{
    struct pf_study *study = binary->study;
    uint32_t id = study->failed
                      ? PF_NO_STRING
                      : pf_intern(binary->experiment->contexts->strings, text.text, text.size, study->error);
    study->failed |= id == PF_NO_STRING;
    return id;
}

/* The name of a region; further ones of the same name are told apart by a number, as Extra-P does. */
static uint32_t name_region(struct binary *binary, struct pf_cell name)
{
    struct pf_study *study = binary->study;
    uint32_t known = pf_intern(binary->region_names, name.text, name.size, study->error);
    if (known == PF_NO_STRING ||
        pf_array_reach(&binary->uses, &binary->room_uses, known, sizeof *binary->uses, study->error)) {
        study->failed = true;
        return PF_NO_STRING;
    }
    char numbered[PF_ITEM_MAX + 16];
    memcpy(numbered, name.text, name.size);
    uint32_t use = binary->uses[known]++;
    int more = use ? snprintf(numbered + name.size, 16, " #%u", use) : 0;
    return intern(binary, pf_text(numbered, name.size + (size_t)more));
}

static void read_region(struct binary *binary)
{
    struct region region = {.file = PF_NO_STRING};
    int64_t id = pf_item_int(&binary->in);
    struct pf_cell name = pf_item_string(&binary->in);
    if (!binary->in.broken)
        region.name = name_region(binary, name);
    struct pf_cell file = pf_item_string(&binary->in);
    if (file.size)
        region.file = intern(binary, file);
    int64_t line = pf_item_int(&binary->in);
    region.line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    if (binary->in.broken || binary->study->failed ||
        !pf_study_check(binary->study, pf_array_room(&binary->items, &binary->room_items, binary->n_items,
                                                     sizeof *binary->items, binary->study->error)))
        return;
    binary->items[binary->n_items] = region;
    set_id(binary, &binary->regions, id, (uint32_t)binary->n_items++);
}

static void read_callpath(struct binary *binary)
{
    struct pf_study *study = binary->study;
    int64_t id = pf_item_int(&binary->in), region_id = pf_item_int(&binary->in),
            parent_id = pf_item_int(&binary->in);
    uint32_t region = pf_ids_get(&binary->regions, region_id);
    uint32_t parent = parent_id == -1 ? PF_NO_CONTEXT : pf_ids_get(&binary->callpaths, parent_id);
    if (binary->in.broken)
        return;
    if (region == PF_NO_ID) {
        note(binary, PF_BAD_REFERENCE, "a call path of a region that there is not, passed over");
        return;
    }
    if (parent_id != -1 && parent == PF_NO_ID)
        note(binary, PF_BAD_REFERENCE, "a call path below one that there is not, shown as a root");
    struct pf_cell name = pf_interned(binary->experiment->contexts->strings, binary->items[region].name);
    uint32_t context = pf_study_callpath(study, parent, name.text, name.size);
    if (study->failed ||
        !pf_study_check(study, pf_array_reach(&binary->region_of, &binary->n_region_of, context,
                                              sizeof *binary->region_of, study->error)))
        return;
    binary->region_of[context] = region + 1;
    set_id(binary, &binary->callpaths, id, context);
}

/* One coordinate: the parameter's name and the number. */
static void read_pair(struct binary *binary, double *coordinates)
{
    struct pf_cell name = pf_item_string(&binary->in);
    int at = pf_experiment_parameter_named(binary->experiment, name.text, name.size, 0);
    double value = pf_item_real(&binary->in);
    if (at >= 0)
        coordinates[at] = value;
    else if (!binary->in.broken)
        note(binary, PF_BAD_REFERENCE, "a coordinate of a parameter that there is not");
}

static void read_coordinate(struct binary *binary)
{
    struct pf_study *study = binary->study;
    double coordinates[PF_PARAMETERS_MAX];
    int64_t id = pf_item_int(&binary->in), pairs = pf_item_int(&binary->in);
    bool broken = false;
    for (int i = 0; i < PF_PARAMETERS_MAX; i++)
        coordinates[i] = (double)NAN;
    for (int64_t i = 0; i < pairs && !binary->in.broken; i++)
        read_pair(binary, coordinates);
    unsigned n = pf_experiment_parameters(binary->experiment);
    for (unsigned i = 0; i < n; i++)
        broken |= isnan(coordinates[i]) != 0;
    if (binary->in.broken || study->failed)
        return;
    if (broken)
        note(binary, PF_POINT_SIZE, "a point that lacks a coordinate");
    uint32_t point = pf_experiment_point(binary->experiment, coordinates, n, broken, study->error);
    study->failed |= point == PF_NO_POINT;
    set_id(binary, &binary->coordinates, id, point);
}

/* ---- measurements ------------------------------------------------------------------------------- */

/* The doubles of a measurement; between these are bounds of confidence. */
enum { MEAN, MEAN_LOW, MEAN_HIGH, DEVIATION, MEDIAN, MEDIAN_LOW, MEDIAN_HIGH, MINIMUM, MAXIMUM, REALS };

static void read_measurement(struct binary *binary)
{
    struct pf_study *study = binary->study;
    double reals[REALS];
    uint32_t point = pf_ids_get(&binary->coordinates, pf_item_int(&binary->in));
    int64_t samples = pf_item_int(&binary->in);
    for (int i = 0; i < REALS; i++)
        reals[i] = pf_item_real(&binary->in);
    uint32_t metric = pf_ids_get(&binary->metrics, pf_item_int(&binary->in)),
             context = pf_ids_get(&binary->callpaths, pf_item_int(&binary->in));
    if (binary->in.broken)
        return;
    if (point == PF_NO_ID || metric == PF_NO_ID || context == PF_NO_ID) {
        note(binary, PF_BAD_REFERENCE,
             "a measurement of a point, metric or call path that there is not, passed over");
        return;
    }
    const double figures[PF_STATISTICS] = {[PF_MEAN] = reals[MEAN],
                                           [PF_MEDIAN] = reals[MEDIAN],
                                           [PF_MINIMUM] = reals[MINIMUM],
                                           [PF_MAXIMUM] = reals[MAXIMUM],
                                           [PF_DEVIATION] = reals[DEVIATION]};
    uint32_t series = pf_study_series(study, context, metric, false, 0, (int64_t)binary->record);
    pf_study_begin(study, series, point, true);
    if (study->failed)
        return;
    pf_measured_figures(study->measured, figures, (1u << PF_STATISTICS) - 1);
    pf_measured_repetitions(study->measured, samples);
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* The kind, `polynomial` or `logarithm`, and the exponent. */
static void read_simple(struct binary *binary, const char *parameter, struct pf_formula *formula)
{
    uint64_t start = binary->in.at;
    struct pf_cell kind = pf_item_string(&binary->in);
    bool logarithm = pf_item_is(kind, "logarithm");
    if (!logarithm && !pf_item_is(kind, "polynomial"))
        pf_items_damage(&binary->in, EBADMSG, start, "", "a term of an unknown kind");
    struct pf_fraction exponent = (struct pf_fraction){.value = pf_item_real(&binary->in)};
    if (formula)
        pf_formula_factor(formula, parameter, logarithm, &exponent);
}

/* A coefficient and simple terms. */
static void read_compound(struct binary *binary, const char *parameter, struct pf_formula *formula)
{
    struct pf_fraction coefficient = (struct pf_fraction){.value = pf_item_real(&binary->in)};
    int64_t terms = pf_item_count(&binary->in);
    if (formula)
        pf_formula_coefficient(formula, &coefficient, !terms);
    for (int64_t i = 0; i < terms && !binary->in.broken; i++) {
        pf_item_expect(&binary->in, "SimpleTerm");
        read_simple(binary, parameter, formula);
    }
}

/* A coefficient and a compound term for each of some parameters. */
static void read_multi_term(struct binary *binary, struct pf_formula *formula)
{
    struct pf_fraction coefficient = (struct pf_fraction){.value = pf_item_real(&binary->in)};
    int64_t terms = pf_item_count(&binary->in);
    if (formula)
        pf_formula_coefficient(formula, &coefficient, false);
    for (int64_t i = 0; i < terms && !binary->in.broken; i++) {
        uint64_t start = binary->in.at;
        struct pf_cell name = pf_item_string(&binary->in);
        int parameter = pf_experiment_parameter_named(binary->experiment, name.text, name.size, 0);
        if (parameter < 0)
            pf_items_damage(&binary->in, EBADMSG, start, "", "a parameter that there is not");
        pf_item_expect(&binary->in, "CompoundTerm");
        if (!binary->in.broken)
            read_compound(binary, pf_experiment_parameter(binary->experiment, (unsigned)parameter), formula);
    }
}

/* A constant and terms, of one parameter or of several. */
static void read_terms(struct binary *binary, const char *parameter, struct pf_formula *formula)
{
    struct pf_fraction constant = (struct pf_fraction){.value = pf_item_real(&binary->in)};
    int64_t terms = pf_item_count(&binary->in);
    if (formula)
        pf_formula_function(formula, &constant, terms > 0);
    for (int64_t i = 0; i < terms && !binary->in.broken; i++) {
        if (formula)
            pf_formula_term(formula);
        if (parameter) {
            pf_item_expect(&binary->in, "CompoundTerm");
            read_compound(binary, parameter, formula);
        } else {
            read_multi_term(binary, formula);
        }
    }
}

/* Reads a function into the formula; NULL: passes over it. */
static void read_function(struct binary *binary, struct pf_formula *formula)
{
    uint64_t start = binary->in.at;
    struct pf_cell type = pf_item_string(&binary->in);
    bool any = pf_experiment_parameters(binary->experiment) > 0;
    const char *parameter = any ? pf_experiment_parameter(binary->experiment, 0) : "?";
    if (pf_item_is(type, "SingleParameterFunction"))
        read_terms(binary, parameter, formula);
    else if (pf_item_is(type, "MultiParameterFunction"))
        read_terms(binary, NULL, formula);
    else if (pf_item_is(type, "CompoundTerm"))
        read_compound(binary, parameter, formula);
    else if (pf_item_is(type, "SimpleTerm"))
        read_simple(binary, parameter, formula);
    else if (!pf_item_is(type, "Function"))
        pf_items_damage(&binary->in, EBADMSG, start, "", "a function of an unknown kind");
}

/* ---- models ------------------------------------------------------------------------------------- */

/* A string that has to be one of these words. */
static bool one_of(struct binary *binary, const char *const *words)
{
    struct pf_cell text = pf_item_string(&binary->in);
    while (*words && !pf_item_is(text, *words))
        words++;
    return *words;
}

/*
 * Passes over the options that newer files have in the records of generators: an integer, a word, two integers, a word.
 * Whether they are there must be guessed from their words.
 */
static void skip_options(struct binary *binary)
{
    static const char *const points[] = {"FIRST_POINTS_FOUND", "MAX_NUMBER_POINTS", "CHEAPEST_POINTS", NULL};
    static const char *const costs[] = {"INCREASING_COST", "DECREASING_COST", NULL};
    uint64_t start = binary->in.at;
    if (binary->in.broken || pf_items_left(&binary->in) < 4 * sizeof(int64_t))
        return;
    pf_item_skip(&binary->in, 1, sizeof(int64_t));
    bool there = one_of(binary, points);
    pf_item_skip(&binary->in, 2, sizeof(int64_t));
    there = there && one_of(binary, costs) && !binary->in.broken;
    binary->has_options |= there;
    if (there || (binary->in.broken && !pf_study_is_damage(binary->study->error)))
        return;
    binary->in.at = start;
    binary->in.broken = false;
}

static void read_generator(struct binary *binary, bool single, bool terms)
{
    struct pf_study *study = binary->study;
    struct pf_cell name = pf_item_string(&binary->in);
    if (binary->in.broken ||
        !pf_study_check(study, pf_array_room(&binary->generators, &binary->room_generators,
                                             binary->n_generators, sizeof *binary->generators, study->error)))
        return;
    uint32_t id = pf_intern(study->models->names, name.text, name.size, study->error);
    study->failed |= id == PF_NO_STRING;
    binary->generators[binary->n_generators++] = id;
    if (single) { /* cross validation and epsilon */
        pf_item_string(&binary->in);
        pf_item_skip(&binary->in, 1, sizeof(double));
    }
    pf_item_string(&binary->in); /* what is modelled (GENERATE_MODEL_MEAN) */
    skip_options(binary);
    if (!terms)
        return;
    int64_t n =
        pf_item_int(&binary->in); /* compound terms that are tried, and how many of them a model may have */
    for (int64_t i = 0; i < n && !binary->in.broken; i++)
        read_function(binary, NULL);
    pf_item_skip(&binary->in, 1, sizeof(int64_t));
}

/* Comments, and the bounds of each parameter within which the model holds. */
static void skip_model_rest(struct binary *binary)
{
    pf_item_skip(&binary->in, pf_item_int(&binary->in), sizeof(int64_t));
    int64_t n = pf_item_int(&binary->in);
    for (int64_t i = 0; i < n && !binary->in.broken; i++) {
        pf_item_string(&binary->in);
        pf_item_skip(&binary->in, pf_item_int(&binary->in), 2 * sizeof(double));
    }
}

static void read_model(struct binary *binary)
{
    static const enum pf_fit fits[] = {PF_RSS, PF_AR2, PF_SMAPE, PF_RE}; /* RE: in newer files */
    struct pf_study *study = binary->study;
    struct pf_formula *formula = &binary->formula;
    struct pf_model model = {.metric = pf_ids_get(&binary->metrics, pf_item_int(&binary->in)), .has = 0};
    model.context = pf_ids_get(&binary->callpaths, pf_item_int(&binary->in));
    int64_t generator = pf_item_int(&binary->in);
    pf_formula_restart(formula);
    read_function(binary, formula);
    for (int i = 0; i < 6; i++) /* upper and lower bounds: of confidence, error cone, noise */
        read_function(binary, NULL);
    for (int i = 0; i < (binary->has_options ? 4 : 3); i++) {
        model.fits[fits[i]] = pf_item_real(&binary->in);
        model.has |= 1u << fits[i];
    }
    skip_model_rest(binary);
    if (binary->in.broken)
        return;
    if (model.metric == PF_NO_ID || model.context == PF_NO_ID || generator < 0 ||
        (uint64_t)generator >= binary->n_generators) {
        note(binary, PF_BAD_REFERENCE,
             "a model of a metric, call path or generator that there is not, passed over");
        return;
    }
    model.modeler = binary->generators[generator];
    if (formula->failed)
        pf_study_check(study, pf_fail_memory(study->error));
    else if (formula->too_long)
        note(binary, PF_BAD_MODEL, "a model that cannot be shown: its function is too long");
    else
        pf_study_check(study, pf_models_add(study->models, &model, formula->text ? formula->text : "",
                                            formula->size, study->error));
}

/* ---- records ------------------------------------------------------------------------------------ */

static void skip_comment(struct binary *binary)
{
    pf_item_skip(&binary->in, 1, sizeof(int64_t));
    pf_item_string(&binary->in);
}

static void read_simple_generator(struct binary *binary)
{
    read_generator(binary, true, true);
}

static void read_refining_generator(struct binary *binary)
{
    read_generator(binary, true, false);
}

static void read_multi_generator(struct binary *binary)
{
    read_generator(binary, false, false);
}

static const struct {
    const char *tag;
    void (*read)(struct binary *binary);
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

static void read_record(struct binary *binary)
{
    size_t i = 0, n = sizeof records / sizeof *records;
    binary->record = binary->in.at;
    struct pf_cell tag = pf_item_string(&binary->in);
    while (i < n && !pf_item_is(tag, records[i].tag))
        i++;
    if (i < n)
        records[i].read(binary);
    else
        pf_items_damage(&binary->in, EBADMSG, binary->record, "", "a record of an unknown kind");
}

/* The byte order, the magic word and the version. */
static void read_head(struct binary *binary)
{
    if (!pf_item_is(pf_item_string(&binary->in), MAGIC))
        pf_items_damage(&binary->in, EBADMSG, 2, MAGIC, " is missing");
    struct pf_cell version = pf_item_string(&binary->in);
    snprintf(binary->study->version, sizeof binary->study->version, "%.*s",
             (int)(version.size < 31 ? version.size : 31), version.text);
}

/* Gives the contexts the files and lines of their regions. */
static void place_contexts(struct binary *binary)
{
    struct pf_tree *tree = binary->experiment->contexts;
    tree->file = malloc((tree->count + (size_t)1) * sizeof *tree->file);
    tree->line = calloc(tree->count + (size_t)1, sizeof *tree->line);
    if (!tree->file || !tree->line) {
        pf_study_check(binary->study, pf_fail_memory(binary->study->error));
        return;
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t region = i < binary->n_region_of ? binary->region_of[i] : 0;
        tree->file[i] = region ? binary->items[region - 1].file : PF_NO_STRING;
        tree->line[i] = region ? binary->items[region - 1].line : 0;
    }
}

static void free_binary(struct binary *binary)
{
    pf_ids_free(&binary->metrics);
    pf_ids_free(&binary->regions);
    pf_ids_free(&binary->callpaths);
    pf_ids_free(&binary->coordinates);
    free(binary->items);
    pf_strings_free(binary->region_names);
    free(binary->uses);
    free(binary->region_of);
    free(binary->generators);
    pf_formula_free(&binary->formula);
    free(binary);
}

static void read_file(struct pf_study *study)
{
    struct binary *binary = calloc(1, sizeof *binary);
    if (!binary || !(binary->region_names = pf_strings_new())) {
        free(binary);
        pf_study_check(study, pf_fail_memory(study->error));
        return;
    }
    binary->study = study;
    binary->experiment = study->experiment;
    pf_items_open(&binary->in, study);
    read_head(binary);
    while (!binary->in.broken && pf_items_left(&binary->in) && pf_study_step(study, binary->in.at))
        read_record(binary);
    if (binary->in.broken)
        pf_study_damage(study);
    place_contexts(binary);
    free_binary(binary);
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

const struct pf_driver pf_extrap_binary_driver = {
    .name = "extrap-3",
    .title = "Extra-P 3.0 experiment",
    .version = 3,
    .probe = binary_probe,
    .kit = &(const struct pf_stored_format){read_file, PF_STUDY_HEAD, true},
    PF_STORED,
};
