/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/formula.h"
#include "formats/extrap/stored.h"
#include "formats/kit/bytes.h"
#include "formats/probe.h"

/*
 * Reader of Extra-P 3.0's binary format, a stream of records up to the end of the file. A record is a tag followed by items.
 * The format has statistics of each measurement and fitted models, but no single values. docs/formats/extrap.md has the
 * layout of the records.
 *
 * An item is a 64-bit integer, a double, or a string after its 32-bit length. Items are not aligned. After the first damaged
 * item, all further items are read as zero or empty, and run->error has the damage with its offset.
 */
#define MAGIC "EXTRAP_EXPERIMENT"

enum { STRING_MAX = 32 * 1024, HELD = 64 * 1024 }; /* bytes: longest string, buffer */

struct extrap_binary {
    struct pf_study *study;

    uint64_t end; /* end of the bytes to read */
    bool big_endian;
    bool broken;         /* an item could not be read */
    uint64_t at, record; /* file offsets of the next item and of the current record */
    uint64_t base;       /* file offset of buffer[0] */
    size_t have;
    unsigned char buffer[HELD];

    struct pf_ids metrics, callpaths, coordinates;
    struct pf_ids names, files, lines;        /* id of a region -> its name, file (strings) and line */
    struct pf_ids uses;                       /* name of regions (string) -> count of these regions */
    struct pf_ids context_file, context_line; /* context -> file and line of its region */
    struct pf_ids modelers;                   /* index of a generator in the file -> its name */
    bool has_options;                         /* some generator has options; then all models have RE */
    struct pf_formula formula, skipped;
};

static void note_record(struct extrap_binary *binary, struct pf_note_kind problem, const char *what)
{
    pf_study_note(binary->study, problem, 0, (int64_t)binary->record, "%s", what);
}

/* ---- items -------------------------------------------------------------------------------------- */

/* Records damage at the offset of an item, unless earlier damage has been recorded. The message begins with `word`. */
static void damage(struct extrap_binary *binary, int code, uint64_t at, const char *word, const char *what)
{
    if (!binary->broken)
        pf_fail_at(binary->study->run->error, code, (int64_t)at, "%s%s", word, what);
    binary->broken = true;
}

static void damage_end(struct extrap_binary *binary)
{
    damage(binary, ENODATA, binary->at, "", "the file ends inside a record");
}

static uint64_t left(const struct extrap_binary *binary)
{
    return binary->end - binary->at;
}

/* Returns the next `size` bytes (at most HELD), and advances. Returns NULL if fewer are left, or after damage. */
static const unsigned char *take_bytes(struct extrap_binary *binary, size_t size)
{
    struct pf_study *study = binary->study;
    if (binary->broken || size > left(binary)) {
        damage_end(binary);
        return NULL;
    }
    if (binary->at < binary->base || binary->at - binary->base + size > binary->have) {
        size_t want = left(binary) < HELD ? (size_t)left(binary) : HELD;
        binary->have = pf_run_read(study->run, study->input, binary->buffer, want, binary->at);
        binary->base = binary->at;
        if (binary->have < size) {
            damage_end(binary);
            return NULL;
        }
    }
    binary->at += size;
    return binary->buffer + (binary->at - size - binary->base);
}

static int64_t take_int(struct extrap_binary *binary)
{
    const unsigned char *bytes = take_bytes(binary, sizeof(int64_t));
    return bytes ? (int64_t)pf_u64(bytes, binary->big_endian) : 0;
}

static double take_real(struct extrap_binary *binary)
{
    uint64_t word = (uint64_t)take_int(binary);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Reads a double, and returns it as a fraction without a denominator. */
static struct pf_fraction take_coefficient(struct extrap_binary *binary)
{
    return (struct pf_fraction){.value = take_real(binary)};
}

/* Reads a string, which is valid until the next item is read. */
static struct pf_cell take_text(struct extrap_binary *binary)
{
    uint64_t start = binary->at;
    const unsigned char *bytes = take_bytes(binary, sizeof(uint32_t));
    uint32_t size = bytes ? pf_u32(bytes, binary->big_endian) : 0;
    if (size > STRING_MAX) {
        binary->at = start;
        damage(binary, size > left(binary) ? ENODATA : EBADMSG, start, "", "a string that is too long");
        return pf_text("", 0);
    }
    bytes = take_bytes(binary, size);
    return bytes ? pf_text((const char *)bytes, size) : pf_text("", 0);
}

static bool text_is(struct pf_cell text, const char *word)
{
    return strlen(word) == text.size && !memcmp(text.text, word, text.size);
}

/* Reads a string that must equal `word`. */
static void expect_word(struct extrap_binary *binary, const char *word)
{
    uint64_t start = binary->at;
    if (!text_is(take_text(binary), word))
        damage(binary, EBADMSG, start, word, " is missing");
}

/* Skips n elements of `size` bytes. If n is negative, this is a no-op. */
static void skip_items(struct extrap_binary *binary, int64_t n, size_t size)
{
    if (n > 0 && (uint64_t)n > left(binary) / size)
        damage_end(binary);
    else if (n > 0)
        binary->at += (uint64_t)n * size;
}

/* ---- definitions -------------------------------------------------------------------------------- */

/* Maps an id of the file to `number`, unless damage was found or `number` is PF_NO_ID. */
static void set_record_id(struct extrap_binary *binary, struct pf_ids *ids, int64_t id, uint32_t number)
{
    struct pf_run *run = binary->study->run;
    if (!binary->broken && number != PF_NO_ID)
        pf_run_check(run, pf_ids_set(ids, id, number, run->error));
}

static void read_parameter(struct extrap_binary *binary)
{
    take_int(binary); /* the parameter's id, unused */
    struct pf_cell name = take_text(binary);
    if (!binary->broken)
        pf_study_parameter(binary->study, name.text, name.size, 0, (int64_t)binary->record);
}

static void read_binary_metric(struct extrap_binary *binary)
{
    int64_t id = take_int(binary);
    struct pf_cell name = take_text(binary);
    if (binary->broken)
        return;
    uint32_t metric = pf_study_metric(binary->study, name.text, name.size);
    set_record_id(binary, &binary->metrics, id, metric);
    struct pf_cell unit = take_text(binary);
    if (unit.size && !text_is(unit, "unknown"))
        pf_study_unit(binary->study, metric, unit.text, unit.size);
}

/* Interns a string of the contexts. */
static uint32_t intern_text(struct extrap_binary *binary, struct pf_cell text)
{
    return pf_run_intern(binary->study->run, binary->study->contexts->strings, text.text, text.size);
}

/* Interns a region's name. Like Extra-P, appends a number to the name of each further region of the same name. */
static uint32_t name_region(struct extrap_binary *binary, struct pf_cell name)
{
    uint32_t known = intern_text(binary, name), use = pf_ids_find(&binary->uses, known);
    char numbered[STRING_MAX + 16];
    set_record_id(binary, &binary->uses, known, use == PF_NO_ID ? 1 : use + 1);
    if (use == PF_NO_ID)
        return known;
    memcpy(numbered, name.text, name.size);
    return intern_text(
        binary, pf_text(numbered, name.size + (size_t)snprintf(numbered + name.size, 16, " #%u", use)));
}

static void read_region_record(struct extrap_binary *binary)
{
    int64_t id = take_int(binary);
    struct pf_cell name = take_text(binary);
    uint32_t number = !binary->broken ? name_region(binary, name) : PF_NO_STRING;
    struct pf_cell file = take_text(binary);
    uint32_t file_number = file.size ? intern_text(binary, file) : PF_NO_STRING;
    int64_t line = take_int(binary);
    set_record_id(binary, &binary->names, id, number);
    set_record_id(binary, &binary->files, id, file_number);
    set_record_id(binary, &binary->lines, id, line > 0 && line < UINT32_MAX ? (uint32_t)line : 0);
}

static void read_callpath(struct extrap_binary *binary)
{
    struct pf_study *study = binary->study;
    int64_t id = take_int(binary), region = take_int(binary), parent_id = take_int(binary);
    uint32_t name = pf_ids_find(&binary->names, region);
    uint32_t parent = parent_id == -1 ? PF_NO_CONTEXT : pf_ids_find(&binary->callpaths, parent_id);
    if (binary->broken)
        return;
    if (name == PF_NO_ID) {
        note_record(binary, PF_BAD_REFERENCE, "a call path of an unknown region: skipped");
        return;
    }
    if (parent_id != -1 && parent == PF_NO_ID)
        note_record(binary, PF_BAD_REFERENCE, "a call path below an unknown one: shown as a root");
    struct pf_cell text = pf_interned(study->contexts->strings, name);
    uint32_t context = pf_study_callpath(study, parent, text.text, text.size);
    set_record_id(binary, &binary->context_file, context, pf_ids_find(&binary->files, region));
    set_record_id(binary, &binary->context_line, context, pf_ids_find(&binary->lines, region));
    set_record_id(binary, &binary->callpaths, id, context);
}

/* Reads a coordinate record: pairs of a parameter's name and a number. */
static void read_coordinate(struct extrap_binary *binary)
{
    struct pf_study *study = binary->study;
    struct pf_point point = {.count = 0};
    int64_t id = take_int(binary), pairs = take_int(binary);
    while (point.count < pf_study_parameters(study))
        pf_point_add(&point, NULL);
    point.broken = false;
    for (int64_t i = 0; i < pairs && !binary->broken; i++) {
        struct pf_cell name = take_text(binary);
        int at = pf_study_parameter_named(study, name.text, name.size, 0);
        double value = take_real(binary);
        if (at >= 0)
            point.coordinates[at] = value;
        else if (!binary->broken)
            note_record(binary, PF_BAD_REFERENCE, "a coordinate of an unknown parameter");
    }
    for (unsigned i = 0; i < point.count; i++)
        point.broken |= isnan(point.coordinates[i]) != 0;
    if (binary->broken)
        return;
    if (point.broken)
        note_record(binary, PF_POINT_SIZE, "a point that lacks a coordinate");
    set_record_id(binary, &binary->coordinates, id, pf_study_point(study, &point));
}

/* ---- measurements ------------------------------------------------------------------------------- */

/* The doubles in a measurement, in file order. _LOW and _HIGH are the bounds of confidence intervals. */
enum { MEAN, MEAN_LOW, MEAN_HIGH, DEVIATION, MEDIAN, MEDIAN_LOW, MEDIAN_HIGH, MINIMUM, MAXIMUM, REALS };

static void read_measurement(struct extrap_binary *binary)
{
    struct pf_study *study = binary->study;
    double reals[REALS];
    uint32_t point = pf_ids_find(&binary->coordinates, take_int(binary));
    int64_t samples = take_int(binary);
    for (int i = 0; i < REALS; i++)
        reals[i] = take_real(binary);
    uint32_t metric = pf_ids_find(&binary->metrics, take_int(binary)),
             context = pf_ids_find(&binary->callpaths, take_int(binary));
    if (binary->broken)
        return;
    if (point == PF_NO_ID || metric == PF_NO_ID || context == PF_NO_ID) {
        note_record(binary, PF_BAD_REFERENCE,
                    "a measurement of an unknown point, metric or call path: skipped");
        return;
    }
    uint32_t series = pf_study_series(study, context, metric, false, 0, (int64_t)binary->record);
    pf_study_figures(study, (struct pf_figures){.at = {series, point, 0, PF_ALL_FIGURES},
                                                .repetitions = samples,
                                                .of = {[PF_MEAN] = reals[MEAN],
                                                       [PF_MEDIAN] = reals[MEDIAN],
                                                       [PF_MINIMUM] = reals[MINIMUM],
                                                       [PF_MAXIMUM] = reals[MAXIMUM],
                                                       [PF_DEVIATION] = reals[DEVIATION]}});
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* Reads a simple term: its kind (`polynomial` or `logarithm`) and its exponent. */
static void read_simple(struct extrap_binary *binary, const char *parameter, struct pf_formula *formula)
{
    uint64_t start = binary->at;
    struct pf_cell kind = take_text(binary);
    bool logarithm = text_is(kind, "logarithm");
    if (!logarithm && !text_is(kind, "polynomial"))
        damage(binary, EBADMSG, start, "", "a term of an unknown kind");
    pf_formula_factor(formula, parameter, logarithm, take_coefficient(binary));
}

/* Reads a compound term: a coefficient and simple terms. */
static void read_compound(struct extrap_binary *binary, const char *parameter, struct pf_formula *formula)
{
    struct pf_fraction coefficient = take_coefficient(binary);
    int64_t terms = take_int(binary);
    pf_formula_coefficient(formula, coefficient, !terms);
    for (int64_t i = 0; i < terms && !binary->broken; i++) {
        expect_word(binary, "SimpleTerm");
        read_simple(binary, parameter, formula);
    }
}

/* Reads a multi-parameter term: a coefficient, and a compound term for each parameter that occurs in it. */
static void read_multi_term(struct extrap_binary *binary, struct pf_formula *formula)
{
    struct pf_fraction coefficient = take_coefficient(binary);
    int64_t terms = take_int(binary);
    pf_formula_coefficient(formula, coefficient, false);
    for (int64_t i = 0; i < terms && !binary->broken; i++) {
        uint64_t start = binary->at;
        struct pf_cell name = take_text(binary);
        int parameter = pf_study_parameter_named(binary->study, name.text, name.size, 0);
        if (parameter < 0)
            damage(binary, EBADMSG, start, "", "an unknown parameter");
        expect_word(binary, "CompoundTerm");
        if (!binary->broken)
            read_compound(binary, pf_study_parameter_name(binary->study, (unsigned)parameter), formula);
    }
}

/* Reads a constant and terms. `parameter` is the name of the terms' only parameter, or NULL if the terms name their parameters. */
static void read_terms(struct extrap_binary *binary, const char *parameter, struct pf_formula *formula)
{
    struct pf_fraction constant = take_coefficient(binary);
    int64_t terms = take_int(binary);
    pf_formula_function(formula, constant, terms > 0);
    for (int64_t i = 0; i < terms && !binary->broken; i++) {
        pf_formula_term(formula);
        if (parameter) {
            expect_word(binary, "CompoundTerm");
            read_compound(binary, parameter, formula);
        } else {
            read_multi_term(binary, formula);
        }
    }
}

/* Reads a function, and appends its text to the formula. */
static void read_function(struct extrap_binary *binary, struct pf_formula *formula)
{
    uint64_t start = binary->at;
    struct pf_cell type = take_text(binary);
    bool any = pf_study_parameters(binary->study) > 0;
    const char *parameter = any ? pf_study_parameter_name(binary->study, 0) : "?";
    if (text_is(type, "SingleParameterFunction"))
        read_terms(binary, parameter, formula);
    else if (text_is(type, "MultiParameterFunction"))
        read_terms(binary, NULL, formula);
    else if (text_is(type, "CompoundTerm"))
        read_compound(binary, parameter, formula);
    else if (text_is(type, "SimpleTerm"))
        read_simple(binary, parameter, formula);
    else if (!text_is(type, "Function"))
        damage(binary, EBADMSG, start, "", "a function of an unknown kind");
}

static void skip_function(struct extrap_binary *binary)
{
    pf_formula_restart(&binary->skipped);
    read_function(binary, &binary->skipped);
}

/* ---- models ------------------------------------------------------------------------------------- */

/*
 * Skips the options that newer files have in the records of generators. These are an integer, a word, two integers, and
 * a word. Nothing declares whether a record has options, so the first word decides.
 */
static void skip_options(struct extrap_binary *binary)
{
    static const char *const words[] = {"FIRST_POINTS_FOUND", "MAX_NUMBER_POINTS", "CHEAPEST_POINTS", NULL};
    uint64_t start = binary->at;
    int i = 0;
    if (binary->broken || left(binary) < 4 * sizeof(int64_t))
        return;
    skip_items(binary, 1, sizeof(int64_t));
    struct pf_cell word = take_text(binary);
    while (words[i] && !text_is(word, words[i]))
        i++;
    skip_items(binary, 2, sizeof(int64_t));
    take_text(binary);
    binary->has_options |= words[i] && !binary->broken;
    if (words[i])
        return;
    binary->at = start;
    binary->broken = false;
}

/*
 * Reads a generator of fitted models. If `single` is set, these models have a single parameter. If `terms` is set, the
 * record lists the terms that the generator may use.
 */
static void read_generator(struct extrap_binary *binary, bool single, bool terms)
{
    struct pf_study *study = binary->study;
    struct pf_cell name = take_text(binary);
    if (binary->broken)
        return;
    uint32_t id = pf_run_intern(study->run, study->modelers, name.text, name.size);
    set_record_id(binary, &binary->modelers, binary->modelers.count, id);
    if (single) { /* two items: the kind of cross validation, and epsilon */
        take_text(binary);
        skip_items(binary, 1, sizeof(double));
    }
    take_text(binary); /* the modelled statistic (GENERATE_MODEL_MEAN) */
    skip_options(binary);
    if (!terms)
        return;
    int64_t n = take_int(binary); /* number of terms, which follow; then the maximum per model */
    for (int64_t i = 0; i < n && !binary->broken; i++)
        skip_function(binary);
    skip_items(binary, 1, sizeof(int64_t));
}

/* Skips a model's comments and, for each parameter, the bounds within which the model is valid. */
static void skip_model_rest(struct extrap_binary *binary)
{
    skip_items(binary, take_int(binary), sizeof(int64_t));
    int64_t n = take_int(binary);
    for (int64_t i = 0; i < n && !binary->broken; i++) {
        take_text(binary);
        skip_items(binary, take_int(binary), 2 * sizeof(double));
    }
}

static void read_model(struct extrap_binary *binary)
{
    static const enum pf_fit fits[] = {PF_RSS, PF_AR2, PF_SMAPE, PF_RE}; /* only newer files have RE */
    struct pf_study *study = binary->study;
    struct pf_formula *formula = &binary->formula;
    struct pf_fit_function model = {.metric = pf_ids_find(&binary->metrics, take_int(binary)), .has = 0};
    model.context = pf_ids_find(&binary->callpaths, take_int(binary));
    model.modeler = pf_ids_find(&binary->modelers, take_int(binary));
    pf_formula_restart(formula);
    read_function(binary, formula);
    for (int i = 0; i < 6; i++) /* upper and lower bounds of confidence, error cone and noise */
        skip_function(binary);
    for (int i = 0; i < (binary->has_options ? 4 : 3); i++) {
        model.fits[fits[i]] = take_real(binary);
        model.has |= 1u << fits[i];
    }
    skip_model_rest(binary);
    if (binary->broken)
        return;
    if (model.metric == PF_NO_ID || model.context == PF_NO_ID || model.modeler == PF_NO_ID) {
        note_record(binary, PF_BAD_REFERENCE,
                    "a model of an unknown metric, call path or generator: skipped");
        return;
    }
    if (formula->too_long)
        note_record(binary, PF_BAD_MODEL, "a model that cannot be shown: its function is too long");
    else
        pf_study_model(study, PF_NO_MODEL, &model, formula->text.at, formula->text.n);
}

/* ---- records ------------------------------------------------------------------------------------ */

static void skip_comment(struct extrap_binary *binary)
{
    skip_items(binary, 1, sizeof(int64_t));
    take_text(binary);
}

static const struct {
    const char *tag;
    void (*read)(struct extrap_binary *binary); /* NULL: a generator */
    bool single, terms;
} records[] = {
    {"ExperimentPoint", read_measurement, 0, 0},
    {"Model", read_model, 0, 0},
    {"Callpath", read_callpath, 0, 0},
    {"Region", read_region_record, 0, 0},
    {"Coordinate", read_coordinate, 0, 0},
    {"Parameter", read_parameter, 0, 0},
    {"Metric", read_binary_metric, 0, 0},
    {"ModelComment", skip_comment, 0, 0},
    {"SingleParameterSimpleModelGenerator", NULL, true, true},
    {"SingleParameterRefiningModelGenerator", NULL, true, false},
    {"MultiParameterSimpleModelGenerator", NULL, false, false},
    {"MultiParameterSparseModelGenerator", NULL, false, false},
};

static void read_tagged_record(struct extrap_binary *binary)
{
    size_t i = 0, n = sizeof records / sizeof *records;
    binary->record = binary->at;
    struct pf_cell tag = take_text(binary);
    while (i < n && !text_is(tag, records[i].tag))
        i++;
    if (i == n)
        damage(binary, EBADMSG, binary->record, "", "a record of an unknown kind");
    else if (records[i].read)
        records[i].read(binary);
    else
        read_generator(binary, records[i].single, records[i].terms);
}

/* Reads the byte order, the magic word and the version. */
static void read_binary_head(struct extrap_binary *binary)
{
    struct pf_study *study = binary->study;
    const unsigned char *order = take_bytes(binary, sizeof(uint16_t));
    binary->big_endian = order && pf_u16(order, false) != 1;
    if (!text_is(take_text(binary), MAGIC))
        damage(binary, EBADMSG, 2, MAGIC, " is missing");
    struct pf_cell version = take_text(binary);
    snprintf(study->version, sizeof study->version, "%.*s", (int)(version.size < 31 ? version.size : 31),
             version.text);
}

/* Sets the file and line of each context from its region. */
static void place_contexts(struct extrap_binary *binary)
{
    struct pf_tree *tree = binary->study->contexts;
    tree->file = pf_run_memory(binary->study->run, malloc((tree->count + (size_t)1) * sizeof *tree->file));
    tree->line = pf_run_memory(binary->study->run, calloc(tree->count + (size_t)1, sizeof *tree->line));
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t line = pf_ids_find(&binary->context_line, i);
        tree->file[i] = pf_ids_find(&binary->context_file, i); /* PF_NO_ID equals PF_NO_STRING */
        tree->line[i] = line == PF_NO_ID ? 0 : line;
    }
}

static void read_binary_study(struct pf_study *study)
{
    struct pf_run *run = study->run;
    struct extrap_binary *binary = PF_OWN(run, calloc(1, sizeof *binary), free);
    struct pf_ids *const ids[] = {&binary->metrics, &binary->callpaths,    &binary->coordinates,
                                  &binary->names,   &binary->files,        &binary->lines,
                                  &binary->uses,    &binary->context_file, &binary->context_line,
                                  &binary->modelers};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        PF_OWN(run, ids[i], pf_ids_free);
    uint64_t size = pf_input_size(study->input);
    binary->study = study;
    binary->formula.run = binary->skipped.run = run;
    binary->end = study->end < size ? study->end : size;
    read_binary_head(binary);
    while (!binary->broken && left(binary)) {
        pf_study_step(study, binary->at);
        read_tagged_record(binary);
    }
    if (binary->broken)
        pf_study_damage(study);
    place_contexts(binary);
}

/* ---- the driver --------------------------------------------------------------------------------- */

static void binary_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    static const unsigned char little[] = "\1\0\21\0\0\0" MAGIC, big[] = "\0\1\0\0\0\21" MAGIC;
    size_t have, size = sizeof little - 1;
    if (probe->directory)
        return;
    const unsigned char *head = pf_probe_head(probe, 64, &have);
    if (have >= size && (!memcmp(head, little, size) || !memcmp(head, big, size)))
        result->confidence = 64;
}

const struct pf_driver pf_extrap_binary_driver = {
    .name = "extrap-3",
    .title = "Extra-P 3.0 experiment",
    .version = 6,
    .probe = binary_probe,
    .kit = &(const struct pf_study_format){read_binary_study, PF_STUDY_HEAD, true},
    PF_STUDY_OPERATIONS,
};
