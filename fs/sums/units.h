/* SPDX-License-Identifier: MIT */
#ifndef PF_UNITS_H
#define PF_UNITS_H

#include <stdint.h>

#include "fs/text/buf.h"

/* Units of time and bytes, and values in a readable unit. All functions are thread-safe. */

/* Returns the nanoseconds per `unit`; 0 if `unit` is not a unit of time. */
int64_t pf_unit_ns(const char *unit);

/* A readable unit: s, ms, us, ns, TB, GB, MB, kB or B. */
struct pf_scale {
    const char *name; /* NULL: values are neither times nor bytes */
    double factor;    /* value * factor / divisor is in this unit */
    double divisor;
};

/* Returns the largest readable unit in which |value| is at least 1, or the smallest one. `unit` is the unit of `value`. */
struct pf_scale pf_scale_of(double value, const char *unit);

/* Appends " (24.63 s)": the value in its readable unit, with two decimals. Appends nothing if the value is below the
 * smallest unit or not finite, if it is neither a time nor bytes, or if `unit` is already the readable unit. */
void pf_add_readable(struct pf_buf *out, double value, const char *unit);

#endif
