/* SPDX-License-Identifier: MIT */
#ifndef PF_UNITS_H
#define PF_UNITS_H

#include <stdint.h>

#include "fs/text/buf.h"

/* Units of time and of bytes, and values in the unit that reads best. All functions are safe for any thread. */

/* Nanoseconds in one `unit` of time; 0 if it is not a unit of time. */
int64_t pf_unit_ns(const char *unit);

/* A unit for eyes: s, ms, us, ns, TB, GB, MB, kB or B. */
struct pf_scale {
    const char *name; /* NULL: the values are neither times nor bytes */
    double factor;    /* a value times `factor`, divided by `divisor`, is in this unit */
    double divisor;
};

/* The largest unit in which |value| is at least 1, else the smallest; `unit` is the unit of the value. */
struct pf_scale pf_scale_of(double value, const char *unit);

/*
 * Appends " (24.63 s)": the value in that unit, with two decimals. Appends nothing if the value is below the smallest unit or not
 * finite, if it is neither a time nor bytes, or if `unit` is that unit already.
 */
void pf_add_readable(struct pf_buf *out, double value, const char *unit);

#endif
