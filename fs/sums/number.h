/* SPDX-License-Identifier: MIT */
#ifndef PF_SUMS_NUMBER_H
#define PF_SUMS_NUMBER_H

#include <math.h>

#include "formats/kit/cell.h"

/* Sums that are exact for integers of up to 128 bits and compensated for doubles: adding, comparing, conversion to cells. */

/* A sum: an exact integer, or a double and its accumulated rounding error (Neumaier's compensated summation). The owner keeps a
 * flag `real` next to the sum, which is true for a double. All-zero bytes are 0 in both cases. */
union pf_number {
    pf_int128 i;
    struct {
        double sum, compensation;
    } d;
};

static inline void pf_real_add(union pf_number *to, double x)
{
    double sum = to->d.sum + x;
    if (isfinite(sum))
        to->d.compensation += fabs(to->d.sum) >= fabs(x) ? (to->d.sum - sum) + x : (x - sum) + to->d.sum;
    to->d.sum = sum;
}

/* Converts an integer to a double. Nearly all integers fit 64 bits, for which the processor has an instruction. */
static inline double pf_int_double(pf_int128 i)
{
    return i == (int64_t)i ? (double)(int64_t)i : (double)i;
}

static inline double pf_number_double(const union pf_number *number, bool real)
{
    if (!real)
        return pf_int_double(number->i);
    return isfinite(number->d.sum) ? number->d.sum + number->d.compensation : number->d.sum;
}

/* Adds a number of the same kind. Returns false, with *to unchanged, if an integer sum overflows 128 bits. */
static inline bool pf_number_add(union pf_number *to, const union pf_number *x, bool real)
{
    pf_int128 sum;
    if (real)
        pf_real_add(to, pf_number_double(x, true));
    else if (__builtin_add_overflow(to->i, x->i, &sum))
        return false;
    else
        to->i = sum;
    return true;
}

/* Subtracts a number of the same kind. Returns false, with *from unchanged, if an integer difference overflows 128 bits. */
static inline bool pf_number_subtract(union pf_number *from, const union pf_number *x, bool real)
{
    pf_int128 difference;
    if (real)
        pf_real_add(from, -pf_number_double(x, true));
    else if (__builtin_sub_overflow(from->i, x->i, &difference))
        return false;
    else
        from->i = difference;
    return true;
}

/* Converts an exact integer to a double. */
static inline union pf_number pf_number_real(union pf_number number)
{
    return (union pf_number){.d = {(double)number.i, 0}};
}

/* Multiplies a number by a factor. The result is exact if the number is an integer and the product fits 128 bits;
 * otherwise it is a double. *real is updated. */
static inline union pf_number pf_number_times(union pf_number number, int64_t factor, bool *real)
{
    pf_int128 product;
    if (!*real && !__builtin_mul_overflow(number.i, factor, &product))
        return (union pf_number){.i = product};
    double x = pf_number_double(&number, *real) * (double)factor;
    *real = true;
    return (union pf_number){.d = {x, 0}};
}

/* Three-way comparison; nan is less than all other numbers. */
static inline int pf_number_compare(const union pf_number *a, const union pf_number *b, bool real)
{
    if (!real)
        return (a->i > b->i) - (a->i < b->i);
    double x = pf_number_double(a, true), y = pf_number_double(b, true);
    if (isnan(x) || isnan(y))
        return !isnan(x) - !isnan(y);
    return (x > y) - (x < y);
}

/* Converts the number to a cell, which may point to *number. */
static inline struct pf_cell pf_number_cell(const union pf_number *number, bool real)
{
    if (real)
        return pf_double(pf_number_double(number, true));
    if (number->i >= INT64_MIN && number->i <= INT64_MAX)
        return pf_int((int64_t)number->i);
    return pf_wide(&number->i);
}

/* Converts a cell to a number. Returns false if the cell holds no number. An integer stays exact; *real is set for a
 * double. */
static inline bool pf_number_of_cell(const struct pf_cell *cell, union pf_number *number, bool *real)
{
    *real = cell->type == PF_DOUBLE;
    *number = (union pf_number){0};
    if (*real)
        number->d.sum = cell->d;
    else if (cell->type == PF_INT)
        number->i = cell->i;
    else if (cell->type == PF_UINT)
        number->i = cell->u;
    else if (cell->type == PF_WIDE)
        number->i = *cell->wide;
    return cell->type != PF_ABSENT && cell->type != PF_TEXT;
}

/* Returns the cell's number as a long double, for charts and inexact sums; nan if the cell holds no number. */
static inline long double pf_cell_number(const struct pf_cell *cell)
{
    union pf_number number;
    bool real;
    if (!pf_number_of_cell(cell, &number, &real))
        return NAN;
    return real ? (long double)number.d.sum : (long double)number.i;
}

#endif
