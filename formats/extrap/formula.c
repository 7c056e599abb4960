/* SPDX-License-Identifier: MIT */
#include "formats/extrap/formula.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/number.h"
#include "formats/kit/print.h"

void pf_formula_restart(struct pf_formula *formula)
{
    formula->text.n = 0;
    formula->too_long = formula->in_sum = formula->in_product = false;
}

/* Appends formatted text. If the formula would become too long, sets too_long instead. */
static void __attribute__((format(printf, 2, 3)))
append_to_formula(struct pf_formula *formula, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int more = vsnprintf(NULL, 0, format, args);
    va_end(args);
    formula->too_long |= more < 0 || (size_t)more > PF_FORMULA_MAX - formula->text.n;
    if (formula->too_long)
        return;
    *PF_ITEM(formula->run, formula->text, formula->text.n + (size_t)more) = 0;
    va_start(args, format);
    vsnprintf(formula->text.at + formula->text.n, (size_t)more + 1, format, args);
    va_end(args);
    formula->text.n += (size_t)more;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

/* The text of a number: a float as Python's repr() prints it (`2.0`, `1e-05`, `1e+16`), or a fraction (`3/2`). */
struct formula_text {
    char of[2 * PF_NUMBER_MAX];
};

static struct formula_text number_text(struct pf_fraction number)
{
    struct formula_text text = {""};
    if (number.denominator) {
        char *end = pf_print_int(text.of, number.numerator);
        if (number.denominator != 1) {
            *end++ = '/';
            end = pf_print_int(end, number.denominator);
        }
        *end = 0;
        return text;
    }
    char *end = pf_print_double(text.of, number.value);
    *end = 0;
    if (text.of[strspn(text.of, "-0123456789")] != 0)
        return text;
    memcpy(end, ".0", 3);
    double shown;
    for (int digits = 0; fabs(number.value) >= 1e16 && digits < 17;
         digits++) { /* repr() prints an exponent from 1e16 on */
        snprintf(text.of, sizeof text.of, "%.*e", digits, number.value);
        if (pf_parse_double(text.of, strlen(text.of), &shown) && shown == number.value)
            break;
    }
    return text;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

bool pf_fraction_parse(const char *text, size_t size, struct pf_fraction *fraction)
{
    struct pf_slice rest = pf_slice(text, size);
    uint64_t above, below; /* below 2^63: pf_take_number takes at most 18 digits */
    *fraction = (struct pf_fraction){0};
    if (!memchr(text, '/', size))
        return pf_parse_double(text, size, &fraction->value);
    bool negative = pf_take(&rest, "-");
    if (!pf_take_number(&rest, &above) || !pf_take(&rest, "/") || !pf_take_number(&rest, &below) ||
        pf_size(rest) || !below)
        return false;
    int64_t numerator = negative ? -(int64_t)above : (int64_t)above, denominator = (int64_t)below;
    int64_t divisor = common_divisor(numerator, denominator);
    fraction->numerator = numerator / divisor;
    fraction->denominator = denominator / divisor;
    fraction->value = (double)fraction->numerator / (double)fraction->denominator;
    return true;
}

/* ---- functions ---------------------------------------------------------------------------------- */

void pf_formula_function(struct pf_formula *formula, struct pf_fraction constant, bool has_terms)
{
    formula->in_sum = formula->in_product = false;
    if (has_terms && constant.value == 0)
        return;
    append_to_formula(formula, "%s", number_text(constant).of);
    formula->in_sum = true;
}

void pf_formula_term(struct pf_formula *formula)
{
    append_to_formula(formula, "%s", formula->in_sum ? " + " : "");
    formula->in_sum = true;
    formula->in_product = false;
}

/* Returns the operator that the next factor needs before it. Sets in_product. */
static const char *times(struct pf_formula *formula)
{
    bool in_product = formula->in_product;
    formula->in_product = true;
    return in_product ? " * " : "";
}

void pf_formula_coefficient(struct pf_formula *formula, struct pf_fraction coefficient, bool alone)
{
    if (coefficient.value != 1 || alone)
        append_to_formula(formula, "%s%s", times(formula), number_text(coefficient).of);
}

void pf_formula_factor(struct pf_formula *formula, const char *parameter, bool logarithm,
                       struct pf_fraction exponent)
{
    append_to_formula(formula, logarithm ? "%slog2(%s)^(%s)" : "%s%s^(%s)", times(formula), parameter,
                      number_text(exponent).of);
}

/* ---- models of saved experiments ---------------------------------------------------------------- */

/* State while the function of a fitted model is written. */
struct writing {
    struct pf_formula *formula;
    const struct pf_study *study;
    const char *what; /* the first error; NULL: no error */
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

/* Returns the value of a member. Records an error if the value is not a number or fraction. */
static struct pf_fraction read_number(struct writing *writing, struct json_object *object, const char *name)
{
    struct pf_fraction fraction;
    if (!read_fraction(pf_tree_get(object, name), &fraction))
        wrong(writing, "a number of its function is missing");
    return fraction;
}

/* Returns element i of a list; NULL if it does not exist, or is not an object or list. */
static struct json_object *element(struct json_object *list, size_t i)
{
    struct json_object *value = i < pf_tree_length(list) ? json_object_array_get_idx(list, i) : NULL;
    return pf_tree_is_object(value) || pf_tree_is_list(value) ? value : NULL;
}

/* Returns the name of the parameter whose index is the text `number`. Records an error if there is none. */
static const char *parameter_of(struct writing *writing, const char *number)
{
    struct pf_fraction index;
    if (pf_fraction_parse(number, strlen(number), &index) && index.value >= 0 &&
        index.value < pf_study_parameters(writing->study))
        return pf_study_parameter_name(writing->study, (unsigned)index.value);
    wrong(writing, "its function has an unknown parameter");
    return "?";
}

static bool is_json_word(struct json_object *value, const char *word)
{
    struct pf_cell text = pf_tree_text(value);
    return text.size == strlen(word) && text.type == PF_TEXT && !memcmp(text.text, word, text.size);
}

/* Writes a compound term of one parameter: {coefficient, simple_terms: [{term_type, exponent}]}. */
static void write_compound(struct writing *writing, struct json_object *compound, const char *parameter)
{
    struct pf_fraction coefficient = read_number(writing, compound, "coefficient");
    struct json_object *terms = pf_tree_get(compound, "simple_terms"), *term;
    pf_formula_coefficient(writing->formula, coefficient, !element(terms, 0));
    for (size_t i = 0; (term = element(terms, i)); i++) {
        struct pf_fraction exponent = read_number(writing, term, "exponent");
        struct json_object *type = pf_tree_get(term, "term_type");
        bool logarithm = is_json_word(type, "logarithm");
        if (!logarithm && !is_json_word(type, "polynomial"))
            wrong(writing, "a term of its function is of an unknown kind");
        pf_formula_factor(writing->formula, parameter, logarithm, exponent);
    }
}

/* Writes the constant of a function, as pf_formula_function does. Returns the list of the function's terms. */
static struct json_object *begin_function(struct writing *writing, struct json_object *function)
{
    struct pf_fraction constant = read_number(writing, function, "constant_coefficient");
    struct json_object *terms = pf_tree_get(function, "compound_terms");
    pf_formula_function(writing->formula, constant, element(terms, 0) != NULL);
    return terms;
}

/*
 * Writes the bound of a segment. If the object's intervals are [[.., b], [a, ..]], this is " for p<=b" for the first
 * segment and " for p>=a" for the second.
 */
static void write_bound(struct writing *writing, struct json_object *object, size_t segment,
                        const char *parameter)
{
    struct pf_fraction at = {0};
    struct json_object *interval = element(pf_tree_get(object, "intervals"), segment);
    size_t end = segment ? 0 : 1;
    if (end >= pf_tree_length(interval) || !read_fraction(json_object_array_get_idx(interval, end), &at))
        wrong(writing, "a bound of its segments is missing");
    at.denominator = 0;
    append_to_formula(writing->formula, " for %s%s%s", parameter, segment ? ">=" : "<=", number_text(at).of);
}

typedef void write_part(struct writing *writing, struct json_object *function, const char *parameter);

/* Writes both segments of a segmented object, each with its bound. */
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
        append_to_formula(writing->formula, "%s", i ? "; " : "");
        write(writing, segment, parameter);
        write_bound(writing, object, i, parameter);
    }
}

/* Writes a function of one parameter. */
static void write_single(struct writing *writing, struct json_object *function, const char *parameter)
{
    struct json_object *terms = begin_function(writing, function), *term;
    for (size_t i = 0; (term = element(terms, i)); i++) {
        pf_formula_term(writing->formula);
        write_compound(writing, term, parameter);
    }
}

/* Writes a factor that consists of segments: `{F for x<=4.0; G for x>=8.0}`. */
static void write_segmented_term(struct writing *writing, struct json_object *object, const char *parameter)
{
    append_to_formula(writing->formula, "%s{", times(writing->formula));
    write_segments(writing, object, parameter, write_single);
    append_to_formula(writing->formula, "}");
    writing->formula->in_sum = writing->formula->in_product = true;
}

/* Writes a multi-parameter term, which is {coefficient, parameter_term_pairs: {"0": compound, ...}}. */
static void write_multi_term(struct writing *writing, struct json_object *term, struct json_object *pairs)
{
    struct pf_fraction coefficient = read_number(writing, term, "coefficient");
    pf_formula_coefficient(writing->formula, coefficient, !json_object_object_length(pairs));
    json_object_object_foreach(pairs, key, compound)
    {
        const char *parameter = parameter_of(writing, key);
        if (!pf_tree_is_object(compound) && !pf_tree_is_list(compound))
            wrong(writing, "a term of its function is not an object");
        else if (is_json_word(pf_tree_get(compound, "$variant"), "SegmentedTerm"))
            write_segmented_term(writing, compound, parameter);
        else
            write_compound(writing, compound, parameter);
    }
}

/* Writes a function: its constant and its terms, which have one parameter or several. */
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

const char *pf_fit_function_read(struct json_object *json, const struct pf_study *study,
                                 struct pf_fit_function *model, struct pf_formula *formula)
{
    static const char *const fits[PF_FITS] = {"RSS", "rRSS", "SMAPE", "AR2", "RE"};
    struct writing writing = {formula, study, NULL};
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
