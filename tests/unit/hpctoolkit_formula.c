/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "tests/unit/tap.h"

/* Metric 1 has the value 3, metric 2 the value 4; no other metric is known. */
static double operand(void *arg, uint32_t id, bool *known)
{
    (void)arg;
    *known = *known || id == 1 || id == 2;
    return id == 1 ? 3 : id == 2 ? 4 : 0;
}

static void gives(const char *text, double want)
{
    double value = 0;
    bool known = false, good = hpc_formula_value(text, operand, NULL, &value, &known);
    if (!ok(good && known && fabs(value - want) < 1e-12, "%s is %g", text, want))
        printf("#   have: %g\n", value);
}

static void is_none(const char *text, const char *name)
{
    double value;
    bool known;
    ok(!hpc_formula_value(text, operand, NULL, &value, &known), "%s is not a formula", name);
}

int main(void)
{
    gives("$1", 3);
    gives("$1 + $2 * 2", 11);
    gives("($1 + $2) * 2", 14);
    gives("10 - 3 - 2", 5);
    gives("2 ^ 3 ^ 2", 512);
    gives("-$1 ^ 2", -9);
    gives("2 * -$1", -6);
    gives("sqrt(($2 / 4) - ($1 / 3)^2)", 0);
    gives("min($1, $2, 1)", 1);
    gives("max($1, $2, 1)", 4);
    gives("log(8, 2)", 3);
    gives("ln(1)", 0);
    gives("floor(2.5) + ceil(2.5)", 5);
    gives("1.5e1", 15);
    gives("$1 + $9", 3);
    double value;
    bool known;
    ok(hpc_formula_value("$7 / $8", operand, NULL, &value, &known) && !known,
       "a formula of unknown metrics has no value");
    is_none("", "an empty text");
    is_none("$$", "a reference to the metric itself");
    is_none("1 +", "a formula without its end");
    is_none("(1", "an expression with an open bracket");
    is_none("1)", "an expression with a closing bracket too many");
    is_none("1 2", "two numbers");
    is_none("log(1)", "a function with too few arguments");
    is_none("sqrt(1, 2)", "a function with too many arguments");
    is_none("rm(1)", "an unknown function");
    char *deep = malloc(1002);
    memset(deep, '(', 1000);
    strcpy(deep + 1000, "1");
    is_none(deep, "an expression with a thousand brackets");
    free(deep);
    return done();
}
