/* SPDX-License-Identifier: MIT */
#include "formats/extrap/model_text.h"

#include <stdlib.h>

/*
 * The JSON of a model is small and its members come in any order. So it is held as text, and what is needed is
 * looked for by walking over the object that has it: a place in the text stands for a value.
 */
struct pf_model_text {
    struct pf_json *members;          /* looks members up */
    struct pf_json *segments, *terms; /* walks over arrays and objects, one a level: */
    struct pf_json *pairs, *halves, *half_terms, *factors;
    const struct pf_experiment *experiment;
    struct pf_formula formula;
    const char *what; /* is wrong; NULL: nothing is known to be */
};

/* Where a value is in the text; 0, where the whole model is, stands for none. */
typedef uint64_t place;

void pf_model_text_free(struct pf_model_text *reader)
{
    if (!reader)
        return;
    pf_json_free(reader->members);
    pf_json_free(reader->segments);
    pf_json_free(reader->terms);
    pf_json_free(reader->pairs);
    pf_json_free(reader->halves);
    pf_json_free(reader->half_terms);
    pf_json_free(reader->factors);
    pf_formula_free(&reader->formula);
    free(reader);
}

struct pf_model_text *pf_model_text_new(void)
{
    struct pf_model_text *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->members = pf_json_new(NULL, 0, 0);
    reader->segments = pf_json_new(NULL, 0, 0);
    reader->terms = pf_json_new(NULL, 0, 0);
    reader->pairs = pf_json_new(NULL, 0, 0);
    reader->halves = pf_json_new(NULL, 0, 0);
    reader->half_terms = pf_json_new(NULL, 0, 0);
    reader->factors = pf_json_new(NULL, 0, 0);
    if (reader->members && reader->segments && reader->terms && reader->pairs && reader->halves &&
        reader->half_terms && reader->factors)
        return reader;
    pf_model_text_free(reader);
    return NULL;
}

/* Remembers what is wrong first. */
static void wrong(struct pf_model_text *reader, const char *what)
{
    if (!reader->what)
        reader->what = what;
}

/* ---- looking up --------------------------------------------------------------------------------- */

/* The value of an object's member; its event, PF_JSON_END if there is none. */
static int find(struct pf_model_text *reader, place object, const char *name, struct pf_json_token *token)
{
    struct pf_error error;
    pf_json_seek(reader->members, object, 1);
    if (pf_json_next(reader->members, token, &error) != PF_JSON_OBJECT)
        return PF_JSON_END;
    while (pf_json_next(reader->members, token, &error) == PF_JSON_NAME) {
        bool found = pf_json_is(token, name);
        int event = found ? pf_json_next(reader->members, token, &error)
                          : pf_json_skip(reader->members, token, &error);
        if (event < 0)
            break;
        if (found)
            return event;
    }
    return PF_JSON_END;
}

static place find_place(struct pf_model_text *reader, place object, const char *name,
                        enum pf_json_event event)
{
    struct pf_json_token token;
    return find(reader, object, name, &token) == (int)event ? token.offset : 0;
}

static bool has_word(struct pf_model_text *reader, place object, const char *name, const char *word)
{
    struct pf_json_token token;
    return find(reader, object, name, &token) == PF_JSON_STRING && pf_json_is(&token, word);
}

static bool read_fraction(const struct pf_json_token *token, struct pf_fraction *fraction)
{
    *fraction = (struct pf_fraction){0};
    if (token->event == PF_JSON_NUMBER)
        fraction->value = pf_json_double(token);
    return token->event == PF_JSON_NUMBER ||
           (token->event == PF_JSON_STRING && pf_fraction_parse(token->text, token->size, fraction));
}

static struct pf_fraction number(struct pf_model_text *reader, place object, const char *name)
{
    struct pf_json_token token;
    struct pf_fraction fraction = {0};
    if (find(reader, object, name, &token) == PF_JSON_END || !read_fraction(&token, &fraction))
        wrong(reader, "a number of its function is missing");
    return fraction;
}

/* Walks over the elements of an array. Stands before its first one, if it has any. */
static void enter(struct pf_json *json, place array)
{
    struct pf_json_token token;
    struct pf_error error;
    pf_json_seek(json, array, 1);
    pf_json_next(json, &token, &error);
}

/* The next element that is an object, or array; 0: there is none. */
static place next_element(struct pf_json *json)
{
    struct pf_json_token token;
    struct pf_error error;
    int event = pf_json_skip(json, &token, &error);
    return event == PF_JSON_OBJECT || event == PF_JSON_ARRAY ? token.offset : 0;
}

/* ---- terms -------------------------------------------------------------------------------------- */

/* {coefficient, simple_terms: [{term_type, exponent}]} of a parameter. */
static void write_compound(struct pf_model_text *reader, place compound, const char *parameter)
{
    struct pf_fraction coefficient = number(reader, compound, "coefficient");
    place simple = find_place(reader, compound, "simple_terms", PF_JSON_ARRAY), term = 0;
    if (simple) {
        enter(reader->factors, simple);
        term = next_element(reader->factors);
    }
    pf_formula_coefficient(&reader->formula, &coefficient, !term);
    for (; term; term = next_element(reader->factors)) {
        struct pf_fraction exponent = number(reader, term, "exponent");
        bool logarithm = has_word(reader, term, "term_type", "logarithm");
        if (!logarithm && !has_word(reader, term, "term_type", "polynomial"))
            wrong(reader, "a term of its function is of an unknown kind");
        pf_formula_factor(&reader->formula, parameter, logarithm, &exponent);
    }
}

static void write_text(struct pf_model_text *reader, const char *text)
{
    pf_formula_text(&reader->formula, text, strlen(text));
}

/* The bound of an interval: intervals[which][end]. */
static struct pf_fraction bound(struct pf_model_text *reader, place object, int which, int end)
{
    struct pf_fraction fraction = {0};
    struct pf_json_token token = {0};
    struct pf_error error;
    place intervals = find_place(reader, object, "intervals", PF_JSON_ARRAY), interval = 0;
    if (intervals) {
        enter(reader->members, intervals);
        for (int i = 0; i <= which; i++)
            interval = next_element(reader->members);
    }
    if (interval) {
        enter(reader->members, interval);
        for (int i = 0; i <= end; i++)
            if (pf_json_skip(reader->members, &token, &error) <= 0)
                break;
    }
    if (!interval || !read_fraction(&token, &fraction))
        wrong(reader, "a bound of its segments is missing");
    return fraction;
}

/* " for p<=b" behind the first segment, " for p>=a" behind the second. */
static void write_bound(struct pf_model_text *reader, place object, int segment, const char *parameter)
{
    struct pf_fraction at = bound(reader, object, segment, segment ? 0 : 1);
    write_text(reader, " for ");
    write_text(reader, parameter);
    write_text(reader, segment ? ">=" : "<=");
    pf_formula_number(&reader->formula, at.value);
}

/* Begins a function: its constant. Returns the first of its terms, the others of which `terms` walks over; 0: none. */
static place begin_function(struct pf_model_text *reader, place function, struct pf_json *terms)
{
    struct pf_fraction constant = number(reader, function, "constant_coefficient");
    place array = find_place(reader, function, "compound_terms", PF_JSON_ARRAY), term = 0;
    if (array) {
        enter(terms, array);
        term = next_element(terms);
    }
    pf_formula_function(&reader->formula, &constant, term != 0);
    return term;
}

/* A factor that is another function in each segment of its parameter: `{F for x<=4.0; G for x>=8.0}`. */
static void write_segmented_term(struct pf_model_text *reader, place object, const char *parameter)
{
    place segments = find_place(reader, object, "segments", PF_JSON_ARRAY);
    write_text(reader, reader->formula.in_product ? " * {" : "{");
    if (segments)
        enter(reader->halves, segments);
    for (int i = 0; i < 2; i++) {
        place segment = segments ? next_element(reader->halves) : 0;
        if (!segment) {
            wrong(reader, "a segment of its function is missing");
            break;
        }
        write_text(reader, i ? "; " : "");
        place term = begin_function(reader, segment, reader->half_terms);
        for (; term; term = next_element(reader->half_terms)) {
            pf_formula_term(&reader->formula);
            write_compound(reader, term, parameter);
        }
        write_bound(reader, object, i, parameter);
    }
    write_text(reader, "}");
    reader->formula.in_sum = reader->formula.in_product = true;
}

/* The parameter that a member is named after by its number. */
static const char *parameter_of(struct pf_model_text *reader, const struct pf_json_token *name)
{
    unsigned n = pf_experiment_parameters(reader->experiment);
    struct pf_fraction index;
    if (name->event == PF_JSON_NAME && pf_fraction_parse(name->text, name->size, &index) &&
        index.value >= 0 && index.value < n)
        return pf_experiment_parameter(reader->experiment, (unsigned)index.value);
    wrong(reader, "its function has a parameter that there is not");
    return "?";
}

/* {coefficient, parameter_term_pairs: {"0": compound, ...}} */
static void write_multi_term(struct pf_model_text *reader, place term, place pairs)
{
    struct pf_fraction coefficient = number(reader, term, "coefficient");
    struct pf_json_token token;
    struct pf_error error;
    enter(reader->pairs, pairs);
    int event = pf_json_next(reader->pairs, &token, &error);
    pf_formula_coefficient(&reader->formula, &coefficient, event != PF_JSON_NAME);
    for (; event == PF_JSON_NAME; event = pf_json_next(reader->pairs, &token, &error)) {
        const char *parameter = parameter_of(reader, &token);
        place compound = next_element(reader->pairs);
        if (!compound)
            wrong(reader, "a term of its function is no object");
        else if (has_word(reader, compound, "$variant", "SegmentedTerm"))
            write_segmented_term(reader, compound, parameter);
        else
            write_compound(reader, compound, parameter);
    }
}

/* ---- functions ---------------------------------------------------------------------------------- */

static const char *first_parameter(struct pf_model_text *reader)
{
    if (pf_experiment_parameters(reader->experiment))
        return pf_experiment_parameter(reader->experiment, 0);
    wrong(reader, "its function has a parameter that there is not");
    return "?";
}

/* A constant and the sum of its terms, of one parameter or of several. */
static void write_function(struct pf_model_text *reader, place function)
{
    place term = begin_function(reader, function, reader->terms);
    for (; term; term = next_element(reader->terms)) {
        place pairs = find_place(reader, term, "parameter_term_pairs", PF_JSON_OBJECT);
        pf_formula_term(&reader->formula);
        if (pairs)
            write_multi_term(reader, term, pairs);
        else
            write_compound(reader, term, first_parameter(reader));
    }
}

static void write_segments(struct pf_model_text *reader, place function, place segments)
{
    const char *parameter = first_parameter(reader);
    enter(reader->segments, segments);
    for (int i = 0; i < 2; i++) {
        place segment = next_element(reader->segments);
        if (!segment) {
            wrong(reader, "a segment of its function is missing");
            return;
        }
        write_text(reader, i ? "; " : "");
        write_function(reader, segment);
        write_bound(reader, function, i, parameter);
    }
}

static void read_fits(struct pf_model_text *reader, place hypothesis, struct pf_model *model)
{
    static const char *const names[PF_FITS] = {"RSS", "rRSS", "SMAPE", "AR2", "RE"};
    for (int i = 0; i < PF_FITS; i++) {
        struct pf_json_token token;
        struct pf_fraction fit;
        if (find(reader, hypothesis, names[i], &token) == PF_JSON_END || !read_fraction(&token, &fit))
            continue;
        model->fits[i] = fit.value;
        model->has |= 1u << i;
    }
}

static void read_hypothesis(struct pf_model_text *reader, struct pf_model *model)
{
    place hypothesis = find_place(reader, 0, "hypothesis", PF_JSON_OBJECT);
    place function = hypothesis ? find_place(reader, hypothesis, "function", PF_JSON_OBJECT) : 0;
    if (!function) {
        wrong(reader, "it has no function");
        return;
    }
    place segments = find_place(reader, function, "segments", PF_JSON_ARRAY);
    if (segments)
        write_segments(reader, function, segments);
    else
        write_function(reader, function);
    read_fits(reader, hypothesis, model);
}

int pf_model_text_read(struct pf_model_text *reader, char *text, size_t size,
                       const struct pf_experiment *experiment, struct pf_model *model,
                       const struct pf_formula **formula, const char **what, struct pf_error *error)
{
    struct pf_json *all[] = {reader->members, reader->segments,   reader->terms,  reader->pairs,
                             reader->halves,  reader->half_terms, reader->factors};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pf_json_text(all[i], text, size);
    reader->experiment = experiment;
    reader->what = NULL;
    pf_formula_restart(&reader->formula);
    model->has = 0;
    read_hypothesis(reader, model);
    if (reader->formula.too_long)
        wrong(reader, "its function is too long");
    *formula = &reader->formula;
    *what = reader->what;
    if (reader->formula.failed)
        return pf_fail_memory(error);
    return !reader->what;
}
