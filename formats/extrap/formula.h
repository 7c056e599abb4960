/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_FORMULA_H
#define PF_EXTRAP_FORMULA_H

#include "formats/extrap/study.h"
#include "formats/json/tree.h"

/* Longer functions are none: a name that is long in the file stands in each term, so they could grow without end. */
#define PF_FORMULA_MAX ((size_t)256 * 1024)

/*
 * A function being written as Extra-P prints it: `5.2 + 1.3 * x^(3/2) * log2(x)^(2.0)`. Running out of memory, or
 * over PF_FORMULA_MAX bytes, is remembered and told at the end. Zeroed, it is empty.
 */
struct pf_formula {
    char *text; /* owned */
    size_t size, room;
    bool failed, too_long;
    bool in_sum, in_product; /* something stands there already */
};

void pf_formula_free(struct pf_formula *formula);
void pf_formula_restart(struct pf_formula *formula);

/* A number in a file: a double, or the fraction numerator/denominator in lowest terms. */
struct pf_fraction {
    double value;
    int64_t numerator, denominator; /* denominator 0: no fraction */
};

/* "3/2", "nan", "2": true if text is a number. */
bool pf_fraction_parse(const char *text, size_t size, struct pf_fraction *fraction);

/* Begins a function: its constant, which is left out if it is 0 and the function has terms. */
void pf_formula_function(struct pf_formula *formula, struct pf_fraction constant, bool has_terms);

/* Begins a term of the sum. */
void pf_formula_term(struct pf_formula *formula);

/* A factor that is a number; left out if it is 1 unless it is `alone`. */
void pf_formula_coefficient(struct pf_formula *formula, struct pf_fraction coefficient, bool alone);

/* A factor `parameter^(exponent)`, or `log2(parameter)^(exponent)`. */
void pf_formula_factor(struct pf_formula *formula, const char *parameter, bool logarithm,
                       struct pf_fraction exponent);

/*
 * Reads a model of a saved experiment, {"hypothesis": {"function": {...}, "RSS": ...}}: fills model->fits and model->has, and
 * *formula, the function's text. study: whose parameters the functions have. NULL; or what is wrong with it. (Whether memory has
 * run out, the formula tells.)
 */
const char *pf_fit_function_read(struct json_object *json, const struct pf_study *study, struct pf_fit_function *model,
                          struct pf_formula *formula);

#endif
