/* SPDX-License-Identifier: MIT */
/* The models of saved experiments, each from its JSON: {"hypothesis": {"function": {...}, "RSS": ...}}. */
#include <string.h>

#include "formats/extrap/models.h"

/* A function being written. */
struct writing {
    struct pf_formula *formula;
    const struct pf_experiment *experiment;
    const char *what; /* is wrong first; NULL: nothing is known to be */
};

static void wrong(struct writing *writing, const char *what)
{
    if (!writing->what)
        writing->what = what;
}

static bool read_fraction(struct json_object *value, struct pf_fraction *fraction)
{
    struct pf_cell text = pf_tree_text(value);
    *fraction = (struct pf_fraction){0};
    if (text.type == PF_TEXT)
        return pf_fraction_parse(text.text, text.size, fraction);
    fraction->value = json_object_get_double(value);
    return pf_tree_number(value).type != PF_ABSENT;
}

static struct pf_fraction number(struct writing *writing, struct json_object *object, const char *name)
{
    struct pf_fraction fraction;
    if (!read_fraction(pf_tree_get(object, name), &fraction))
        wrong(writing, "a number of its function is missing");
    return fraction;
}

static void write_text(struct writing *writing, const char *text)
{
    pf_formula_text(writing->formula, text, strlen(text));
}

/* An element that is an object or list; NULL: there is none. */
static struct json_object *element(struct json_object *list, size_t i)
{
    struct json_object *value = i < pf_tree_length(list) ? json_object_array_get_idx(list, i) : NULL;
    return pf_tree_is_object(value) || pf_tree_is_list(value) ? value : NULL;
}

/* The parameter of this number. */
static const char *parameter_of(struct writing *writing, const char *number)
{
    struct pf_fraction index;
    if (pf_fraction_parse(number, strlen(number), &index) && index.value >= 0 &&
        index.value < pf_experiment_parameters(writing->experiment))
        return pf_experiment_parameter(writing->experiment, (unsigned)index.value);
    wrong(writing, "its function has a parameter that there is not");
    return "?";
}

/* ---- terms -------------------------------------------------------------------------------------- */

static bool is_word(struct json_object *value, const char *word)
{
    struct pf_cell text = pf_tree_text(value);
    return text.size == strlen(word) && text.type == PF_TEXT && !memcmp(text.text, word, text.size);
}

/* {coefficient, simple_terms: [{term_type, exponent}]} of a parameter. */
static void write_compound(struct writing *writing, struct json_object *compound, const char *parameter)
{
    struct pf_fraction coefficient = number(writing, compound, "coefficient");
    struct json_object *terms = pf_tree_get(compound, "simple_terms"), *term;
    pf_formula_coefficient(writing->formula, &coefficient, !element(terms, 0));
    for (size_t i = 0; (term = element(terms, i)); i++) {
        struct pf_fraction exponent = number(writing, term, "exponent");
        struct json_object *type = pf_tree_get(term, "term_type");
        bool logarithm = is_word(type, "logarithm");
        if (!logarithm && !is_word(type, "polynomial"))
            wrong(writing, "a term of its function is of an unknown kind");
        pf_formula_factor(writing->formula, parameter, logarithm, &exponent);
    }
}

/* Its constant, which is left out before terms if it is 0. Returns its terms. */
static struct json_object *begin_function(struct writing *writing, struct json_object *function)
{
    struct pf_fraction constant = number(writing, function, "constant_coefficient");
    struct json_object *terms = pf_tree_get(function, "compound_terms");
    pf_formula_function(writing->formula, &constant, element(terms, 0) != NULL);
    return terms;
}

/* " for p<=b" behind the first segment, " for p>=a" behind the second: of intervals [[.., b], [a, ..]]. */
static void write_bound(struct writing *writing, struct json_object *object, size_t segment,
                        const char *parameter)
{
    struct pf_fraction at = {0};
    struct json_object *interval = element(pf_tree_get(object, "intervals"), segment);
    size_t end = segment ? 0 : 1;
    if (end >= pf_tree_length(interval) || !read_fraction(json_object_array_get_idx(interval, end), &at))
        wrong(writing, "a bound of its segments is missing");
    write_text(writing, " for ");
    write_text(writing, parameter);
    write_text(writing, segment ? ">=" : "<=");
    pf_formula_number(writing->formula, at.value);
}

typedef void write_part(struct writing *writing, struct json_object *function, const char *parameter);

/* What has two segments: each with its bound. */
static void write_segments(struct writing *writing, struct json_object *object, const char *parameter,
                           write_part *write)
{
    struct json_object *segments = pf_tree_get(object, "segments");
    for (size_t i = 0; i < 2; i++) {
        struct json_object *segment = element(segments, i);
        if (!segment) {
            wrong(writing, "a segment of its function is missing");
            return;
        }
        write_text(writing, i ? "; " : "");
        write(writing, segment, parameter);
        write_bound(writing, object, i, parameter);
    }
}

/* A function of one parameter. */
static void write_single(struct writing *writing, struct json_object *function, const char *parameter)
{
    struct json_object *terms = begin_function(writing, function), *term;
    for (size_t i = 0; (term = element(terms, i)); i++) {
        pf_formula_term(writing->formula);
        write_compound(writing, term, parameter);
    }
}

/* A factor that is another function in each segment of its parameter: `{F for x<=4.0; G for x>=8.0}`. */
static void write_segmented_term(struct writing *writing, struct json_object *object, const char *parameter)
{
    write_text(writing, writing->formula->in_product ? " * {" : "{");
    write_segments(writing, object, parameter, write_single);
    write_text(writing, "}");
    writing->formula->in_sum = writing->formula->in_product = true;
}

/* {coefficient, parameter_term_pairs: {"0": compound, ...}} */
static void write_multi_term(struct writing *writing, struct json_object *term, struct json_object *pairs)
{
    struct pf_fraction coefficient = number(writing, term, "coefficient");
    pf_formula_coefficient(writing->formula, &coefficient, !json_object_object_length(pairs));
    json_object_object_foreach(pairs, key, compound)
    {
        const char *parameter = parameter_of(writing, key);
        if (!pf_tree_is_object(compound) && !pf_tree_is_list(compound))
            wrong(writing, "a term of its function is no object");
        else if (is_word(pf_tree_get(compound, "$variant"), "SegmentedTerm"))
            write_segmented_term(writing, compound, parameter);
        else
            write_compound(writing, compound, parameter);
    }
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* A constant and the sum of its terms, of one parameter or of several. */
static void write_function(struct writing *writing, struct json_object *function, const char *parameter)
{
    struct json_object *terms = begin_function(writing, function), *term;
    for (size_t i = 0; (term = element(terms, i)); i++) {
        struct json_object *pairs = pf_tree_get(term, "parameter_term_pairs");
        pf_formula_term(writing->formula);
        if (pf_tree_is_object(pairs))
            write_multi_term(writing, term, pairs);
        else
            write_compound(writing, term, parameter ? parameter : parameter_of(writing, "0"));
    }
}

const char *pf_model_read(struct json_object *json, const struct pf_experiment *experiment,
                          struct pf_model *model, struct pf_formula *formula)
{
    static const char *const fits[PF_FITS] = {"RSS", "rRSS", "SMAPE", "AR2", "RE"};
    struct writing writing = {formula, experiment, NULL};
    struct json_object *hypothesis = pf_tree_get(json, "hypothesis"),
                       *function = pf_tree_get(hypothesis, "function");
    pf_formula_restart(formula);
    model->has = 0;
    if (!pf_tree_is_object(function))
        return "it has no function";
    if (pf_tree_is_list(pf_tree_get(function, "segments")))
        write_segments(&writing, function, parameter_of(&writing, "0"), write_function);
    else
        write_function(&writing, function, NULL);
    for (int i = 0; i < PF_FITS; i++) {
        struct pf_fraction fit;
        if (!read_fraction(pf_tree_get(hypothesis, fits[i]), &fit))
            continue;
        model->fits[i] = fit.value;
        model->has |= 1u << i;
    }
    if (formula->too_long)
        wrong(&writing, "its function is too long");
    return writing.what;
}
