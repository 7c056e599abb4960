/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_FORMULA_H
#define PF_EXTRAP_FORMULA_H

#include "formats/extrap/study.h"
#include "formats/json/tree.h"

/* Maximum length of a function's text in bytes. A small file could otherwise make long texts, since each term repeats a name. */
#define PF_FORMULA_MAX ((size_t)256 * 1024)

/*
 * The text of a function as Extra-P prints it: `5.2 + 1.3 * x^(3/2) * log2(x)^(2.0)`. A struct with only `run` set is an
 * empty function. The run owns the text, so the struct must not move before the run ends. One thread at a time uses it.
 */
struct pf_formula {
    struct pf_run *run;
    PF_LIST(char) text; /* not terminated */
    bool
        too_long; /* the text is incomplete, because of PF_FORMULA_MAX; the caller checks this at the end */
    bool in_sum, in_product; /* the next term, or the next factor, needs an operator before it */
};

/* Makes a function empty again. */
void pf_formula_restart(struct pf_formula *formula);

/* A number of a file: a double, or the fraction numerator/denominator in lowest terms. */
struct pf_fraction {
    double value;
    int64_t numerator, denominator; /* denominator 0: not a fraction */
};

/* Parses a number or a fraction ("3/2", "nan", "2"). Returns true with *fraction filled, or false if it is neither. */
bool pf_fraction_parse(const char *text, size_t size, struct pf_fraction *fraction);

/* Begins a function with its constant. Omits a constant of 0 if the function has terms. */
void pf_formula_function(struct pf_formula *formula, struct pf_fraction constant, bool has_terms);

/* Begins a term of the sum. */
void pf_formula_term(struct pf_formula *formula);

/* Appends a numeric factor. Omits a factor of 1, unless no other factor follows (`alone`). */
void pf_formula_coefficient(struct pf_formula *formula, struct pf_fraction coefficient, bool alone);

/* Appends a factor `parameter^(exponent)`, or `log2(parameter)^(exponent)`. */
void pf_formula_factor(struct pf_formula *formula, const char *parameter, bool logarithm,
                       struct pf_fraction exponent);

/*
 * Reads a fitted model of a saved experiment. Its JSON text is {"hypothesis": {"function": {...}, "RSS": ...}}. Sets
 * model->fits, model->has and the text of *formula. The names of parameters come from `study`. Returns NULL, or a message
 * if the model is malformed.
 */
const char *pf_fit_function_read(struct json_object *json, const struct pf_study *study,
                                 struct pf_fit_function *model, struct pf_formula *formula);

#endif
