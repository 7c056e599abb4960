/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_MODELS_H
#define PF_EXTRAP_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/extrap/experiment.h"
#include "formats/json/tree.h"
#include "formats/kit/numbered.h"
#include "formats/kit/strings.h"

/*
 * Fitted models: functions of the parameters that describe how a metric of a call path grows. They are read with
 * the experiment, held in the order of the file, and walked as the table "models".
 */

/* How well a model fits; NAN with `has` clear if the file does not say. */
enum pf_fit { PF_RSS, PF_RRSS, PF_SMAPE, PF_AR2, PF_RE, PF_FITS };

struct pf_model {
    uint32_t modeler; /* in names, or PF_NO_STRING */
    uint32_t context, metric;
    uint32_t function; /* in functions */
    uint32_t next;     /* model of the same context, or PF_NO_MODEL */
    uint32_t has;      /* bit i: fits[i] is known */
    double fits[PF_FITS];
};
#define PF_NO_MODEL UINT32_MAX

struct pf_models {
    struct pf_strings *names, *functions;
    struct pf_model *items;
    size_t count, room;
    uint32_t *by_context; /* first model of each context up to n_contexts; made by pf_models_finish */
    size_t n_contexts;
};

struct pf_models *pf_models_new(void); /* NULL: out of memory */
void pf_models_free(struct pf_models *models);

/* Adds a model (copied); its members `function` and `next` are set here. 0, or -1 with *error filled. */
int pf_models_add(struct pf_models *models, const struct pf_model *model, const char *function, size_t size,
                  struct pf_error *error);

/* Puts another model in the place of number `at`. */
int pf_models_replace(struct pf_models *models, uint32_t at, const struct pf_model *model,
                      const char *function, size_t size, struct pf_error *error);

/* Finds the models of each context. */
int pf_models_finish(struct pf_models *models, const struct pf_experiment *experiment,
                     struct pf_error *error);

/* ---- functions as text -------------------------------------------------------------------------- */

/* Longer functions are none: a name that is long in the file stands in each term, so they could grow without end. */
#define PF_FORMULA_MAX ((size_t)256 * 1024)

/*
 * A function being written as Extra-P prints it: `5.2 + 1.3 * x^(3/2) * log2(x)^(2.0)`. Running out of memory, or
 * over PF_FORMULA_MAX bytes, is remembered and told at the end.
 */
struct pf_formula {
    char *text; /* owned */
    size_t size, room;
    bool failed, too_long;
    bool in_sum, in_product; /* something stands there already */
};

void pf_formula_free(struct pf_formula *formula);
void pf_formula_restart(struct pf_formula *formula);

/* Appends text as it is. */
void pf_formula_text(struct pf_formula *formula, const char *text, size_t size);

/* Appends a number as Python's repr() of a float does: `2.0`, `1e-05`, `1e+16`. */
void pf_formula_number(struct pf_formula *formula, double value);

/* A number in a file: a double, or the fraction numerator/denominator in lowest terms. */
struct pf_fraction {
    double value;
    int64_t numerator, denominator; /* denominator 0: no fraction */
};

/* "3/2", "nan", "2": true if text is a number. */
bool pf_fraction_parse(const char *text, size_t size, struct pf_fraction *fraction);

/* Begins a function: its constant, which is left out if it is 0 and the function has terms. */
void pf_formula_function(struct pf_formula *formula, const struct pf_fraction *constant, bool has_terms);

/* Begins a term of the sum. */
void pf_formula_term(struct pf_formula *formula);

/* A factor that is a number; left out if it is 1 unless it is `alone`. */
void pf_formula_coefficient(struct pf_formula *formula, const struct pf_fraction *coefficient, bool alone);

/* A factor `parameter^(exponent)`, or `log2(parameter)^(exponent)`. */
void pf_formula_factor(struct pf_formula *formula, const char *parameter, bool logarithm,
                       const struct pf_fraction *exponent);

/*
 * Reads a model of a saved experiment: fills model->fits and model->has, and *formula, the function's text (model_text.c).
 * experiment: whose parameters the functions have. NULL; or what is wrong with it. (Whether memory has run out, the formula
 * tells.)
 */
const char *pf_model_read(struct json_object *json, const struct pf_experiment *experiment,
                          struct pf_model *model, struct pf_formula *formula);

/* Walks the table; the profile's state is a struct pf_stored. */
extern const struct pf_numbered pf_models_cursor;

#endif
