/* SPDX-License-Identifier: MIT */
#include "formats/extrap/binary_models.h"

#include <errno.h>
#include <string.h>

bool pf_binary_is(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && !memcmp(text, word, size);
}

/* ---- functions ---------------------------------------------------------------------------------- */

/* A string that has to be this word. */
static int expect(struct pf_stream *stream, const char *word, struct pf_error *error)
{
    const char *text;
    size_t size;
    uint64_t start = stream->at;
    if (pf_stream_string(stream, &text, &size, error) < 0)
        return -1;
    if (pf_binary_is(text, size, word))
        return 0;
    return pf_fail_at(error, EBADMSG, (int64_t)start, "%s is missing", word);
}

static int read_count(struct pf_stream *stream, int64_t *count, struct pf_error *error)
{
    uint64_t start = stream->at;
    if (pf_stream_int(stream, count, error) < 0)
        return -1;
    if (*count < 0)
        return pf_fail_at(error, EBADMSG, (int64_t)start, "a count below zero");
    return 0;
}

static int read_number(struct pf_stream *stream, struct pf_fraction *number, struct pf_error *error)
{
    *number = (struct pf_fraction){0};
    return pf_stream_real(stream, &number->value, error);
}

/* The kind, `polynomial` or `logarithm`, and the exponent. */
static int read_simple(struct pf_stream *stream, const char *parameter, struct pf_formula *formula,
                       struct pf_error *error)
{
    const char *text;
    size_t size;
    struct pf_fraction exponent;
    uint64_t start = stream->at;
    if (pf_stream_string(stream, &text, &size, error) < 0)
        return -1;
    bool logarithm = pf_binary_is(text, size, "logarithm");
    if (!logarithm && !pf_binary_is(text, size, "polynomial"))
        return pf_fail_at(error, EBADMSG, (int64_t)start, "a term of an unknown kind");
    if (read_number(stream, &exponent, error) < 0)
        return -1;
    if (formula)
        pf_formula_factor(formula, parameter, logarithm, &exponent);
    return 0;
}

/* A coefficient and simple terms. */
static int read_compound(struct pf_stream *stream, const char *parameter, struct pf_formula *formula,
                         struct pf_error *error)
{
    struct pf_fraction coefficient;
    int64_t count;
    if (read_number(stream, &coefficient, error) < 0 || read_count(stream, &count, error) < 0)
        return -1;
    if (formula)
        pf_formula_coefficient(formula, &coefficient, !count);
    for (int64_t i = 0; i < count; i++)
        if (expect(stream, "SimpleTerm", error) < 0 || read_simple(stream, parameter, formula, error) < 0)
            return -1;
    return 0;
}

static int read_single(struct pf_stream *stream, const char *parameter, struct pf_formula *formula,
                       struct pf_error *error)
{
    struct pf_fraction constant;
    int64_t count;
    if (read_number(stream, &constant, error) < 0 || read_count(stream, &count, error) < 0)
        return -1;
    if (formula)
        pf_formula_function(formula, &constant, count > 0);
    for (int64_t i = 0; i < count; i++) {
        if (formula)
            pf_formula_term(formula);
        if (expect(stream, "CompoundTerm", error) < 0 || read_compound(stream, parameter, formula, error) < 0)
            return -1;
    }
    return 0;
}

/* The parameter of this name, which lasts. */
static const char *find_parameter(const struct pf_experiment *experiment, const char *text, size_t size)
{
    for (unsigned i = 0; i < pf_experiment_parameters(experiment); i++)
        if (pf_binary_is(text, size, pf_experiment_parameter(experiment, i)))
            return pf_experiment_parameter(experiment, i);
    return NULL;
}

/* A coefficient and a compound term for each of some parameters. */
static int read_multi_term(struct pf_stream *stream, const struct pf_experiment *experiment,
                           struct pf_formula *formula, struct pf_error *error)
{
    struct pf_fraction coefficient;
    int64_t count;
    if (read_number(stream, &coefficient, error) < 0 || read_count(stream, &count, error) < 0)
        return -1;
    if (formula) {
        pf_formula_term(formula);
        pf_formula_coefficient(formula, &coefficient, false);
    }
    for (int64_t i = 0; i < count; i++) {
        const char *name;
        size_t size;
        uint64_t start = stream->at;
        if (pf_stream_string(stream, &name, &size, error) < 0)
            return -1;
        const char *parameter = find_parameter(experiment, name, size);
        if (!parameter)
            return pf_fail_at(error, EBADMSG, (int64_t)start, "a parameter that there is not");
        if (expect(stream, "CompoundTerm", error) < 0 || read_compound(stream, parameter, formula, error) < 0)
            return -1;
    }
    return 0;
}

static int read_multi(struct pf_stream *stream, const struct pf_experiment *experiment,
                      struct pf_formula *formula, struct pf_error *error)
{
    struct pf_fraction constant;
    int64_t count;
    if (read_number(stream, &constant, error) < 0 || read_count(stream, &count, error) < 0)
        return -1;
    if (formula)
        pf_formula_function(formula, &constant, count > 0);
    for (int64_t i = 0; i < count; i++)
        if (read_multi_term(stream, experiment, formula, error) < 0)
            return -1;
    return 0;
}

int pf_binary_function(struct pf_stream *stream, const struct pf_experiment *experiment,
                       struct pf_formula *formula, struct pf_error *error)
{
    const char *type;
    size_t size;
    uint64_t start = stream->at;
    const char *parameter =
        pf_experiment_parameters(experiment) ? pf_experiment_parameter(experiment, 0) : "?";
    if (pf_stream_string(stream, &type, &size, error) < 0)
        return -1;
    if (pf_binary_is(type, size, "SingleParameterFunction"))
        return read_single(stream, parameter, formula, error);
    if (pf_binary_is(type, size, "MultiParameterFunction"))
        return read_multi(stream, experiment, formula, error);
    if (pf_binary_is(type, size, "CompoundTerm"))
        return read_compound(stream, parameter, formula, error);
    if (pf_binary_is(type, size, "SimpleTerm"))
        return read_simple(stream, parameter, formula, error);
    if (pf_binary_is(type, size, "Function"))
        return 0;
    return pf_fail_at(error, EBADMSG, (int64_t)start, "a function of an unknown kind");
}

/* ---- options ------------------------------------------------------------------------------------ */

/* A string that has to be one of these words. 1; 0: it is none, or no string at all; -1: *error filled. */
static int one_of(struct pf_stream *stream, const char *const *words, struct pf_error *error)
{
    const char *text;
    size_t size;
    if (pf_stream_string(stream, &text, &size, error) < 0)
        return error->code == ENODATA || error->code == EBADMSG ? 0 : -1;
    for (; *words; words++)
        if (pf_binary_is(text, size, *words))
            return 1;
    return 0;
}

/* The options themselves: an integer, a word, two integers, a word. */
static int read_options(struct pf_stream *stream, struct pf_error *error)
{
    static const char *const points[] = {"FIRST_POINTS_FOUND", "MAX_NUMBER_POINTS", "CHEAPEST_POINTS", NULL};
    static const char *const costs[] = {"INCREASING_COST", "DECREASING_COST", NULL};
    if (pf_stream_left(stream) < 4 * sizeof(int64_t))
        return 0;
    stream->at += sizeof(int64_t);
    int got = one_of(stream, points, error);
    if (got <= 0 || pf_stream_left(stream) < 2 * sizeof(int64_t))
        return got < 0 ? -1 : 0;
    stream->at += 2 * sizeof(int64_t);
    return one_of(stream, costs, error);
}

int pf_binary_options(struct pf_stream *stream, struct pf_error *error)
{
    uint64_t start = stream->at;
    int got = read_options(stream, error);
    if (got == 0)
        stream->at = start;
    return got;
}
