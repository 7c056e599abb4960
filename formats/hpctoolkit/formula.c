/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/hpctoolkit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/parse.h"

enum { STEPS_MAX = 256, STACK_MAX = 64, WORD_MAX = 64 };

enum operation {
    NUMBER,
    OPERAND,
    OPEN, /* a bracket; never a step */
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    NEGATE,
    POWER,
    SQRT, /* from here on: functions */
    LN,
    LOG,
    MINIMUM,
    MAXIMUM,
    FLOOR,
    CEIL,
    OPERATIONS
};

struct step {
    uint8_t operation;
    uint8_t arguments; /* of a function */
    uint32_t id;       /* of an operand */
    double number;
};

struct hpc_formula {
    size_t n_steps;
    bool has_operands;
    struct step steps[STEPS_MAX];
};

/* ---- compiling: the shunting-yard algorithm ------------------------------------------------------------- */

static const char *const functions[OPERATIONS] = {
    [SQRT] = "sqrt",   [LN] = "ln",       [LOG] = "log",  [MINIMUM] = "min",
    [MAXIMUM] = "max", [FLOOR] = "floor", [CEIL] = "ceil"};

struct compiling {
    struct hpc_formula *formula;
    const char *at;
    struct step waiting[STACK_MAX]; /* operators, functions, brackets */
    size_t n_waiting;
    bool value; /* what was read last is a value */
};

static int precedence(unsigned operation)
{
    static const int levels[OPERATIONS] = {
        [ADD] = 1, [SUBTRACT] = 1, [MULTIPLY] = 2, [DIVIDE] = 2, [NEGATE] = 3, [POWER] = 4};
    return levels[operation];
}

static bool put(struct compiling *compiling, const struct step *step)
{
    struct hpc_formula *formula = compiling->formula;
    if (formula->n_steps == STEPS_MAX)
        return false;
    formula->steps[formula->n_steps++] = *step;
    return true;
}

static bool wait_with(struct compiling *compiling, unsigned operation)
{
    if (compiling->n_waiting == STACK_MAX)
        return false;
    compiling->waiting[compiling->n_waiting++] =
        (struct step){.operation = (uint8_t)operation, .arguments = 1};
    return true;
}

/* Puts what waits and binds at least as tightly as `level`, up to the innermost bracket. */
static bool put_waiting(struct compiling *compiling, int level)
{
    while (compiling->n_waiting) {
        const struct step *top = &compiling->waiting[compiling->n_waiting - 1];
        if (top->operation == OPEN || precedence(top->operation) < level)
            break;
        if (!put(compiling, top))
            return false;
        compiling->n_waiting--;
    }
    return true;
}

static bool read_operator(struct compiling *compiling)
{
    static const char signs[] = "+-*/^";
    static const uint8_t operations[] = {ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER};
    unsigned operation = operations[strchr(signs, *compiling->at++) - signs];
    if (!compiling->value) { /* a sign */
        if (operation == SUBTRACT)
            return wait_with(compiling, NEGATE);
        return operation == ADD;
    }
    compiling->value = false;
    int level = precedence(operation) + (operation == POWER); /* powers bind to the right */
    return put_waiting(compiling, level) && wait_with(compiling, operation);
}

/* An opening bracket waits, behind the function that it belongs to. */
static bool read_open(struct compiling *compiling)
{
    compiling->at++;
    return !compiling->value && wait_with(compiling, OPEN);
}

/* A comma or a closing bracket ends an argument. */
static bool read_close(struct compiling *compiling)
{
    bool comma = *compiling->at++ == ',';
    if (!compiling->value || !put_waiting(compiling, 0) || !compiling->n_waiting)
        return false;
    struct step *function = compiling->n_waiting > 1 ? &compiling->waiting[compiling->n_waiting - 2] : NULL;
    bool called = function && function->operation >= SQRT;
    if (comma) {
        compiling->value = false;
        return called && function->arguments < UINT8_MAX && ++function->arguments;
    }
    compiling->n_waiting--;
    if (!called)
        return true;
    compiling->n_waiting--;
    return put(compiling, function);
}

static size_t length(const char *text, const char *characters)
{
    size_t size = strspn(text, characters);
    return size < WORD_MAX ? size : 0;
}

static bool read_operand(struct compiling *compiling)
{
    char *end;
    unsigned long id = strtoul(compiling->at + 1, &end, 10);
    size_t digits = length(compiling->at + 1, "0123456789");
    struct step step = {.operation = OPERAND, .id = (uint32_t)id};
    if (compiling->value || !digits || digits > 9)
        return false;
    compiling->at += 1 + digits;
    compiling->value = compiling->formula->has_operands = true;
    return put(compiling, &step);
}

static bool read_number(struct compiling *compiling)
{
    struct step step = {.operation = NUMBER};
    size_t size = length(compiling->at, "0123456789.");
    if (size && (compiling->at[size] == 'e' || compiling->at[size] == 'E')) {
        size_t sign = compiling->at[size + 1] == '+' || compiling->at[size + 1] == '-';
        size_t digits = length(compiling->at + size + 1 + sign, "0123456789");
        size += digits ? 1 + sign + digits : 0;
    }
    if (compiling->value || !size || !pf_parse_double(compiling->at, size, &step.number))
        return false;
    compiling->at += size;
    compiling->value = true;
    return put(compiling, &step);
}

static bool read_function(struct compiling *compiling)
{
    size_t size = length(compiling->at, "abcdefghijklmnopqrstuvwxyz");
    for (unsigned i = SQRT; size && i < OPERATIONS; i++)
        if (strlen(functions[i]) == size && !memcmp(functions[i], compiling->at, size)) {
            compiling->at += size;
            compiling->at += strspn(compiling->at, " ");
            return !compiling->value && *compiling->at == '(' && wait_with(compiling, i);
        }
    return false;
}

static bool read_token(struct compiling *compiling)
{
    char c = *compiling->at;
    if (c == '$')
        return read_operand(compiling);
    if (c == '(')
        return read_open(compiling);
    if (c == ')' || c == ',')
        return read_close(compiling);
    if (strchr("+-*/^", c))
        return read_operator(compiling);
    return (c >= '0' && c <= '9') || c == '.' ? read_number(compiling) : read_function(compiling);
}

/* How many values a step takes. */
static unsigned takes(const struct step *step)
{
    switch (step->operation) {
    case NUMBER:
    case OPERAND:
        return 0;
    case NEGATE:
        return 1;
    case ADD:
    case SUBTRACT:
    case MULTIPLY:
    case DIVIDE:
    case POWER:
        return 2;
    default:
        return step->arguments;
    }
}

/* True if the steps never take more values than there are, leave one, and functions have as many as they need. */
static bool is_sound(const struct hpc_formula *formula)
{
    size_t values = 0;
    for (size_t i = 0; i < formula->n_steps; i++) {
        const struct step *step = &formula->steps[i];
        unsigned want = step->operation == LOG                                     ? 2
                        : step->operation == MINIMUM || step->operation == MAXIMUM ? step->arguments
                                                                                   : 1;
        if ((step->operation >= SQRT && step->arguments != want) || takes(step) > values)
            return false;
        values += 1 - (size_t)takes(step);
        if (values > STACK_MAX)
            return false;
    }
    return values == 1;
}

struct hpc_formula *hpc_formula_new(const char *text)
{
    struct compiling compiling = {.formula = calloc(1, sizeof *compiling.formula), .at = text};
    bool good = compiling.formula != NULL;
    while (good && *(compiling.at += strspn(compiling.at, " \t\n")))
        good = read_token(&compiling);
    good = good && compiling.value && put_waiting(&compiling, 0) && !compiling.n_waiting &&
           is_sound(compiling.formula);
    if (good)
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
    switch (step->operation) {
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
    case MINIMUM:
    case MAXIMUM:
        return extreme(values, step->arguments, step->operation == MAXIMUM);
    default:
        return step->number;
    }
}

bool hpc_formula_value(const struct hpc_formula *formula, hpc_operand *operand, void *arg, double *value)
{
    double stack[STACK_MAX + 1] = {0};
    size_t n = 0;
    bool known = !formula->has_operands;
    for (size_t i = 0; i < formula->n_steps; i++) {
        const struct step *step = &formula->steps[i];
        double result;
        n -= takes(step);
        if (step->operation == OPERAND)
            result = operand(arg, step->id, &known);
        else
            result = apply(step, stack + n);
        stack[n++] = result;
    }
    *value = stack[0];
    return known;
}
