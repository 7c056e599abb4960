/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/models.h"
#include "formats/kit/array.h"
#include "formats/kit/parse.h"
#include "formats/kit/print.h"

void pf_formula_free(struct pf_formula *formula)
{
    free(formula->text);
    *formula = (struct pf_formula){0};
}

void pf_formula_restart(struct pf_formula *formula)
{
    formula->size = 0;
    formula->failed = formula->too_long = formula->in_sum = formula->in_product = false;
}

void pf_formula_text(struct pf_formula *formula, const char *text, size_t size)
{
    formula->too_long |= size > PF_FORMULA_MAX - formula->size;
    if (!size || formula->too_long)
        return;
    struct pf_error lack;
    if (size > formula->room - formula->size &&
        pf_array_grow(&formula->text, &formula->room, formula->size + size, 1, &lack)) {
        formula->failed = true;
        return;
    }
    memcpy(formula->text + formula->size, text, size);
    formula->size += size;
}

static void add(struct pf_formula *formula, const char *text)
{
    pf_formula_text(formula, text, strlen(text));
}

/*
 * Numbers of 17 digits before the point get an exponent in Python, and none here: d(d...)0* of 17 digits becomes
 * d.d...e+16. Returns the new size.
 */
static size_t with_exponent(char *text, size_t size)
{
    size_t sign = text[0] == '-', digits = size - sign;
    while (digits > 1 && text[sign + digits - 1] == '0')
        digits--;
    if (digits > 1) {
        memmove(text + sign + 2, text + sign + 1, digits - 1);
        text[sign + 1] = '.';
        digits++;
    }
    memcpy(text + sign + digits, "e+16", 4);
    return sign + digits + 4;
}

void pf_formula_number(struct pf_formula *formula, double value)
{
    char text[PF_NUMBER_MAX + 8];
    size_t size = (size_t)(pf_print_double(text, value) - text), sign = text[0] == '-';
    bool whole = true;
    for (size_t i = sign; i < size; i++)
        whole &= text[i] >= '0' && text[i] <= '9';
    if (whole && size - sign == 17) {
        size = with_exponent(text, size);
    } else if (whole) {
        memcpy(text + size, ".0", 2);
        size += 2;
    }
    pf_formula_text(formula, text, size);
}

/* ---- fractions ---------------------------------------------------------------------------------- */

/* An integer of at most 18 digits. */
static bool parse_integer(const char *text, size_t size, int64_t *value)
{
    bool negative = size && *text == '-';
    *value = 0;
    if (size == negative || size - negative > 18)
        return false;
    for (size_t i = negative; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *value = *value * 10 + (text[i] - '0');
    }
    *value = negative ? -*value : *value;
    return true;
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
    const char *slash = memchr(text, '/', size);
    *fraction = (struct pf_fraction){0};
    if (!slash)
        return pf_parse_double(text, size, &fraction->value);
    int64_t numerator, denominator;
    size_t before = (size_t)(slash - text);
    if (!parse_integer(text, before, &numerator) ||
        !parse_integer(slash + 1, size - before - 1, &denominator) || denominator <= 0)
        return false;
    int64_t divisor = common_divisor(numerator, denominator);
    fraction->numerator = numerator / divisor;
    fraction->denominator = denominator / divisor;
    fraction->value = (double)fraction->numerator / (double)fraction->denominator;
    return true;
}

static void add_fraction(struct pf_formula *formula, const struct pf_fraction *fraction)
{
    char text[2 * PF_NUMBER_MAX];
    if (!fraction->denominator) {
        pf_formula_number(formula, fraction->value);
        return;
    }
    char *end = pf_print_int(text, fraction->numerator);
    if (fraction->denominator != 1) {
        *end++ = '/';
        end = pf_print_int(end, fraction->denominator);
    }
    pf_formula_text(formula, text, (size_t)(end - text));
}

/* ---- functions ---------------------------------------------------------------------------------- */

void pf_formula_function(struct pf_formula *formula, const struct pf_fraction *constant, bool has_terms)
{
    formula->in_sum = formula->in_product = false;
    if (has_terms && constant->value == 0)
        return;
    add_fraction(formula, constant);
    formula->in_sum = true;
}

void pf_formula_term(struct pf_formula *formula)
{
    if (formula->in_sum)
        add(formula, " + ");
    formula->in_sum = true;
    formula->in_product = false;
}

static void begin_factor(struct pf_formula *formula)
{
    if (formula->in_product)
        add(formula, " * ");
    formula->in_product = true;
}

void pf_formula_coefficient(struct pf_formula *formula, const struct pf_fraction *coefficient, bool alone)
{
    if (coefficient->value == 1 && !alone)
        return;
    begin_factor(formula);
    add_fraction(formula, coefficient);
}

void pf_formula_factor(struct pf_formula *formula, const char *parameter, bool logarithm,
                       const struct pf_fraction *exponent)
{
    begin_factor(formula);
    add(formula, logarithm ? "log2(" : "");
    add(formula, parameter);
    add(formula, logarithm ? ")^(" : "^(");
    add_fraction(formula, exponent);
    add(formula, ")");
}
