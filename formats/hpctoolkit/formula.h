/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_FORMULA_H
#define PF_HPC_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Formulas of metrics that experiment.xml 4.0 does not store: numbers, `$ID` (the stored metric of that number), + - * / ^,
 * brackets, sqrt, ln, log(x, base), min, max, floor and ceil. Compiled into steps for a stack machine, so that
 * nothing recurses and every formula takes bounded time.
 */
struct hpc_formula;

/* NULL if the text is no formula, or too long a one, or memory runs out. */
struct hpc_formula *hpc_formula_new(const char *text);
void hpc_formula_free(struct hpc_formula *formula);

/* The value of metric `id`, or 0 if there is none; *known is set if there is. */
typedef double hpc_operand(void *arg, uint32_t id, bool *known);

/* True with *value if any operand is known, or the formula has none. */
bool hpc_formula_value(const struct hpc_formula *formula, hpc_operand *operand, void *arg, double *value);

#endif
