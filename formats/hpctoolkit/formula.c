/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/parse.h"

enum { STEPS_MAX = 256, STACK_MAX = 64, DEPTH_MAX = 64, WORD_MAX = 64 };

enum operation {
    NUMBER,
    OPERAND,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    POWER,
    NEGATE,
    SQRT,
    LN,
    FLOOR,
    CEIL,
    LOG,
    MIN,
    MAX
};

/* Of a stack machine: takes values from it and puts one there. */
struct step {
    uint8_t operation;
    uint8_t takes;
    uint32_t id;   /* of an operand */
    double number; /* of a number */
};

struct hpc_formula {
    size_t n_steps;
    bool has_operands;
    struct step steps[STEPS_MAX];
};

/* ---- compiling: by recursive descent, no deeper than DEPTH_MAX ------------------------------------------ */

struct compiling {
    struct hpc_formula *formula;
    const char *at;
    unsigned depth, height; /* the latter: of the stack, behind the steps so far */
};

/* Each reads what it is called after and puts its steps; false if there is no such thing, or too much of it. */
static bool read_sum(struct compiling *compiling);
static bool read_signed(struct compiling *compiling);

static char peek(struct compiling *compiling)
{
    compiling->at += strspn(compiling->at, " \t\n");
    return *compiling->at;
}

static bool skip(struct compiling *compiling, char c)
{
    bool there = peek(compiling) == c;
    compiling->at += there;
    return there;
}

static bool put(struct compiling *compiling, struct step step)
{
    struct hpc_formula *formula = compiling->formula;
    if (formula->n_steps == STEPS_MAX || compiling->height - step.takes == STACK_MAX)
        return false;
    compiling->height += 1U - step.takes;
    formula->steps[formula->n_steps++] = step;
    return true;
}

static bool read_number(struct compiling *compiling)
{
    const char *at = compiling->at;
    double number;
    size_t size = strspn(at, "0123456789.");
    if (size && (at[size] == 'e' || at[size] == 'E')) {
        size_t sign = at[size + 1] == '+' || at[size + 1] == '-';
        size_t digits = strspn(at + size + 1 + sign, "0123456789");
        size += digits ? 1 + sign + digits : 0;
    }
    compiling->at += size;
    return size && size < WORD_MAX && pf_parse_double(at, size, &number) &&
           put(compiling, (struct step){.operation = NUMBER, .number = number});
}

/* `$ID` */
static bool read_operand(struct compiling *compiling)
{
    size_t digits = strspn(++compiling->at, "0123456789");
    struct step step = {.operation = OPERAND, .id = (uint32_t)strtoul(compiling->at, NULL, 10)};
    compiling->at += digits;
    compiling->formula->has_operands = true;
    return digits && digits < 10 && put(compiling, step);
}

static bool read_call(struct compiling *compiling)
{
    static const struct {
        const char *name;
        uint8_t operation, least, most;
    } functions[] = {{"sqrt", SQRT, 1, 1},      {"ln", LN, 1, 1},   {"floor", FLOOR, 1, 1},
                     {"ceil", CEIL, 1, 1},      {"log", LOG, 2, 2}, {"min", MIN, 1, UINT8_MAX},
                     {"max", MAX, 1, UINT8_MAX}};
    size_t size = strspn(compiling->at, "abcdefghijklmnopqrstuvwxyz");
    unsigned i = 0, n = 0;
    while (i < sizeof functions / sizeof *functions &&
           (strlen(functions[i].name) != size || memcmp(functions[i].name, compiling->at, size) != 0))
        i++;
    compiling->at += size;
    if (i == sizeof functions / sizeof *functions || !skip(compiling, '('))
        return false;
    do {
        if (!read_sum(compiling))
            return false;
        n++;
    } while (n < UINT8_MAX && skip(compiling, ','));
    return skip(compiling, ')') && n >= functions[i].least && n <= functions[i].most &&
           put(compiling, (struct step){.operation = functions[i].operation, .takes = (uint8_t)n});
}

static bool read_value(struct compiling *compiling)
{
    char c = peek(compiling);
    if (c == '$')
        return read_operand(compiling);
    if (c == '(')
        return skip(compiling, '(') && read_sum(compiling) && skip(compiling, ')');
    return (c >= '0' && c <= '9') || c == '.' ? read_number(compiling) : read_call(compiling);
}

/* Powers bind to the right, and tighter than signs. */
static bool read_power(struct compiling *compiling)
{
    return read_value(compiling) &&
           (!skip(compiling, '^') ||
            (read_signed(compiling) && put(compiling, (struct step){.operation = POWER, .takes = 2})));
}

static bool read_signed(struct compiling *compiling)
{
    if (compiling->depth == DEPTH_MAX)
        return false;
    compiling->depth++;
    bool good = skip(compiling, '-')
                    ? read_signed(compiling) && put(compiling, (struct step){.operation = NEGATE, .takes = 1})
                : skip(compiling, '+') ? read_signed(compiling)
                                       : read_power(compiling);
    compiling->depth--;
    return good;
}

static bool read_product(struct compiling *compiling)
{
    bool good = read_signed(compiling), times = false;
    while (good && ((times = skip(compiling, '*')) || skip(compiling, '/')))
        good = read_signed(compiling) &&
               put(compiling, (struct step){.operation = times ? MULTIPLY : DIVIDE, .takes = 2});
    return good;
}

static bool read_sum(struct compiling *compiling)
{
    bool good = read_product(compiling), plus = false;
    while (good && ((plus = skip(compiling, '+')) || skip(compiling, '-')))
        good = read_product(compiling) &&
               put(compiling, (struct step){.operation = plus ? ADD : SUBTRACT, .takes = 2});
    return good;
}

struct hpc_formula *hpc_formula_new(const char *text)
{
    struct compiling compiling = {.formula = calloc(1, sizeof *compiling.formula), .at = text};
    if (compiling.formula && read_sum(&compiling) && !peek(&compiling))
        return compiling.formula;
    free(compiling.formula);
    return NULL;
}

void hpc_formula_free(struct hpc_formula *formula)
{
    free(formula);
}

/* ---- evaluating ----------------------------------------------------------------------------------------- */

static double extreme(const double *values, unsigned n, bool largest)
{
    double found = values[0];
    for (unsigned i = 1; i < n; i++)
        if (largest ? values[i] > found : values[i] < found)
            found = values[i];
    return found;
}

static double apply(const struct step *step, const double *values)
{
    switch ((enum operation)step->operation) {
    case ADD:
        return values[0] + values[1];
    case SUBTRACT:
        return values[0] - values[1];
    case MULTIPLY:
        return values[0] * values[1];
    case DIVIDE:
        return values[0] / values[1];
    case POWER:
        return pow(values[0], values[1]);
    case NEGATE:
        return -values[0];
    case SQRT:
        return sqrt(values[0]);
    case LN:
        return log(values[0]);
    case LOG:
        return log(values[0]) / log(values[1]);
    case FLOOR:
        return floor(values[0]);
    case CEIL:
        return ceil(values[0]);
    case MIN:
    case MAX:
        return extreme(values, step->takes, step->operation == MAX);
    case NUMBER:
    case OPERAND:
        break;
    }
    return step->number;
}

bool hpc_formula_value(const struct hpc_formula *formula, hpc_operand *operand, void *arg, double *value)
{
    double stack[STACK_MAX + 1] = {0};
    size_t n = 0;
    bool known = !formula->has_operands;
    for (size_t i = 0; i < formula->n_steps; i++) {
        const struct step *step = &formula->steps[i];
        n -= step->takes;
        stack[n] = step->operation == OPERAND ? operand(arg, step->id, &known) : apply(step, stack + n);
        n++;
    }
    *value = stack[0];
    return known;
}
