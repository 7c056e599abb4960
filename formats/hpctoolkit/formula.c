/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/number.h"

enum { DEPTH_MAX = 64, NUMBER_MAX = 64 };

/* State of the recursive-descent evaluation. Recursion is limited to DEPTH_MAX. */
struct formula_reading {
    const char *at;
    unsigned depth;
    hpc_operand *operand;
    void *arg;
    bool has_operands, known;
    bool bad; /* there was a syntax error; values read since then are meaningless */
};

/* Each read_X parses an X and returns its value. */
static double read_sum(struct formula_reading *reading);
static double read_signed(struct formula_reading *reading);

static char peek_char(struct formula_reading *reading)
{
    while (*reading->at == ' ' || *reading->at == '\t' || *reading->at == '\n')
        reading->at++;
    return *reading->at;
}

static bool skip_char(struct formula_reading *reading, char c)
{
    bool there = peek_char(reading) == c;
    reading->at += there;
    return there;
}

static void expect_char(struct formula_reading *reading, char c)
{
    reading->bad |= !skip_char(reading, c);
}

static double read_literal(struct formula_reading *reading)
{
    const char *at = reading->at;
    double number = 0;
    size_t size = strspn(at, "0123456789.");
    if (size && (at[size] == 'e' || at[size] == 'E')) {
        size_t sign = at[size + 1] == '+' || at[size + 1] == '-';
        size_t digits = strspn(at + size + 1 + sign, "0123456789");
        size += digits ? 1 + sign + digits : 0;
    }
    reading->at += size;
    reading->bad |= !size || size >= NUMBER_MAX || !pf_parse_double(at, size, &number);
    return number;
}

/* Reads `$ID` and returns the value of the metric with this id. */
static double read_operand(struct formula_reading *reading)
{
    const char *digits = ++reading->at;
    uint32_t id = 0;
    while (*reading->at >= '0' && *reading->at <= '9')
        id = 10 * id + (uint32_t)(*reading->at++ - '0');
    reading->bad |= reading->at == digits || reading->at - digits > 9;
    reading->has_operands = true;
    return reading->bad ? 0 : reading->operand(reading->arg, id, &reading->known);
}

static double logarithm(double a, double b)
{
    return log(a) / log(b);
}

/*
 * Reads `NAME(OPERAND, ...)` and calls the function NAME. The functions min and max, which take two operands in C and
 * any number in a formula, are applied from the left: min(min(a, b), c).
 */
static double read_function_call(struct formula_reading *reading)
{
    static const struct {
        const char *name;
        double (*of_one)(double);
        double (*of_two)(double, double);
        unsigned least, most;
    } functions[] = {{"sqrt", sqrt, NULL, 1, 1},       {"ln", log, NULL, 1, 1},
                     {"floor", floor, NULL, 1, 1},     {"ceil", ceil, NULL, 1, 1},
                     {"log", NULL, logarithm, 2, 2},   {"min", NULL, fmin, 1, UINT8_MAX},
                     {"max", NULL, fmax, 1, UINT8_MAX}};
    size_t size = strspn(reading->at, "abcdefghijklmnopqrstuvwxyz");
    unsigned i = 0, n = 1;
    while (i < sizeof functions / sizeof *functions &&
           (strlen(functions[i].name) != size || memcmp(functions[i].name, reading->at, size) != 0))
        i++;
    reading->at += size;
    reading->bad |= i == sizeof functions / sizeof *functions;
    expect_char(reading, '(');
    if (reading->bad)
        return 0;
    double value = read_sum(reading);
    if (functions[i].of_one)
        value = functions[i].of_one(value);
    for (; !reading->bad && n < functions[i].most && skip_char(reading, ','); n++)
        value = functions[i].of_two(value, read_sum(reading));
    expect_char(reading, ')');
    reading->bad |= n < functions[i].least;
    return value;
}

static double read_factor(struct formula_reading *reading)
{
    char c = peek_char(reading);
    if (c == '$')
        return read_operand(reading);
    if (c != '(')
        return (c >= '0' && c <= '9') || c == '.' ? read_literal(reading) : read_function_call(reading);
    expect_char(reading, '(');
    double value = read_sum(reading);
    expect_char(reading, ')');
    return value;
}

/* Reads a factor with its signs and exponent. `^` is right-associative and binds tighter than a sign. */
static double read_signed(struct formula_reading *reading)
{
    double value = 0;
    if (reading->bad || reading->depth == DEPTH_MAX) {
        reading->bad = true;
        return 0;
    }
    reading->depth++;
    if (skip_char(reading, '-'))
        value = -read_signed(reading);
    else if (skip_char(reading, '+'))
        value = read_signed(reading);
    else if (value = read_factor(reading), skip_char(reading, '^'))
        value = pow(value, read_signed(reading));
    reading->depth--;
    return value;
}

/* Reads a sum (level 0), a product (level 1) or a signed factor (level 2). Sums and products are left-associative. */
static double read_binary(struct formula_reading *reading, unsigned level)
{
    static const char *const operators[] = {"+-", "*/"};
    if (level == sizeof operators / sizeof *operators)
        return read_signed(reading);
    double value = read_binary(reading, level + 1);
    for (char c; !reading->bad && (c = peek_char(reading)) && strchr(operators[level], c);) {
        reading->at++;
        double other = read_binary(reading, level + 1);
        value = c == '+'   ? value + other
                : c == '-' ? value - other
                : c == '*' ? value * other
                           : value / other;
    }
    return value;
}

static double read_sum(struct formula_reading *reading)
{
    return read_binary(reading, 0);
}

bool hpc_formula_value(const char *text, hpc_operand *operand, void *arg, double *value, bool *known)
{
    struct formula_reading reading = {.at = text, .operand = operand, .arg = arg};
    *value = read_sum(&reading);
    *known = reading.known || !reading.has_operands;
    return !reading.bad && !peek_char(&reading);
}
