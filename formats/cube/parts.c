/* SPDX-License-Identifier: MIT */
#include "formats/cube/parts.h"

#include <stdio.h>
#include <string.h>

#include "formats/kit/bytes.h"

static bool is_big(const struct pf_cube_metric *metric)
{
    return metric->swapped == (BYTE_ORDER == LITTLE_ENDIAN);
}

static struct pf_cell real(const struct pf_cube_metric *metric, const unsigned char *at)
{
    uint64_t bits = pf_u64(at, is_big(metric));
    double value;
    memcpy(&value, &bits, sizeof value);
    return pf_double(value);
}

/* ---- SCALE_FUNC --------------------------------------------------------------------------------- */

/*
 * The numbers of terms and of measurements, 32 bits each; the terms a * x^(b/c) * log(x)^d: a double, and b, c, d of
 * 32 bits; the measurements: a number of processes of 32 bits, mean and width as doubles. The rest is zero.
 */
enum { TERMS_AT = 0, MEASUREMENTS_AT = 4, FUNCTION_AT = 8, TERM_SIZE = 20, TERM_PARTS = 4 };
enum { MEASUREMENT_SIZE = 20, MEASUREMENT_PARTS = 3 };

static uint32_t parts_of_function(const struct pf_cube_metric *metric, const unsigned char *element)
{
    uint64_t terms = pf_u32(element + TERMS_AT, is_big(metric)),
             measurements = pf_u32(element + MEASUREMENTS_AT, is_big(metric));
    if (FUNCTION_AT + terms * TERM_SIZE + measurements * MEASUREMENT_SIZE > metric->type.size)
        return 0; /* damaged */
    return (uint32_t)(terms * TERM_PARTS + measurements * MEASUREMENT_PARTS);
}

static struct pf_cell term_part(const struct pf_cube_metric *metric, const unsigned char *term, uint32_t part)
{
    bool big = is_big(metric);
    if (part == 0)
        return real(metric, term);
    uint32_t bits = pf_u32(term + 4 + part * (size_t)4, big);
    return part == 2 ? pf_uint(bits) : pf_int((int32_t)bits);
}

static struct pf_cell function_part(const struct pf_cube_metric *metric, const unsigned char *element,
                                    uint32_t part, char name[PF_CUBE_PART_NAME])
{
    static const char *const of_term[TERM_PARTS] = {"a", "b", "c", "d"};
    static const char *const of_measurement[MEASUREMENT_PARTS] = {"processes", "mean", "width"};
    uint32_t terms = pf_u32(element + TERMS_AT, is_big(metric));
    if (part < terms * TERM_PARTS) {
        snprintf(name, PF_CUBE_PART_NAME, "%s%u", of_term[part % TERM_PARTS], part / TERM_PARTS);
        return term_part(metric, element + FUNCTION_AT + (size_t)(part / TERM_PARTS) * TERM_SIZE,
                         part % TERM_PARTS);
    }
    part -= terms * TERM_PARTS;
    uint32_t which = part % MEASUREMENT_PARTS, number = part / MEASUREMENT_PARTS;
    const unsigned char *at =
        element + FUNCTION_AT + (size_t)terms * TERM_SIZE + (size_t)number * MEASUREMENT_SIZE;
    snprintf(name, PF_CUBE_PART_NAME, "%s%u", of_measurement[which], number);
    return which ? real(metric, at + (which == 1 ? 4 : 12)) : pf_uint(pf_u32(at, is_big(metric)));
}

/* ---- all types ---------------------------------------------------------------------------------- */

uint32_t pf_cube_parts_max(const struct pf_cube_metric *metric)
{
    switch (metric->type.kind) {
    case PF_CUBE_RATE:
    case PF_CUBE_COMPLEX:
        return 2;
    case PF_CUBE_AVERAGE:
        return 5;
    case PF_CUBE_BINS:
    case PF_CUBE_LIST:
        return metric->type.size / 8;
    case PF_CUBE_FUNCTION:
        return (metric->type.size - FUNCTION_AT) / TERM_SIZE *
               TERM_PARTS; /* terms have more than measurements */
    default:
        return 0;
    }
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

uint32_t pf_cube_parts(const struct pf_cube_metric *metric, const unsigned char *element)
{
    if (is_zero(element, metric->type.size))
        return 0;
    return metric->type.kind == PF_CUBE_FUNCTION ? parts_of_function(metric, element)
                                                 : pf_cube_parts_max(metric);
}

static void name_part(const struct pf_cube_metric *metric, uint32_t part, char name[PF_CUBE_PART_NAME])
{
    static const char *const of_rate[] = {"main", "duration"}, *const of_complex[] = {"re", "im"},
                             *const of_average[] = {"n", "min", "max", "sum", "sum2"},
                             *const of_bins[] = {"min", "max"};
    switch (metric->type.kind) {
    case PF_CUBE_RATE:
        snprintf(name, PF_CUBE_PART_NAME, "%s", of_rate[part]);
        break;
    case PF_CUBE_COMPLEX:
        snprintf(name, PF_CUBE_PART_NAME, "%s", of_complex[part]);
        break;
    case PF_CUBE_AVERAGE:
        snprintf(name, PF_CUBE_PART_NAME, "%s", of_average[part]);
        break;
    case PF_CUBE_BINS:
        if (part < 2)
            snprintf(name, PF_CUBE_PART_NAME, "%s", of_bins[part]);
        else
            snprintf(name, PF_CUBE_PART_NAME, "bin%u", part - 2);
        break;
    default:
        snprintf(name, PF_CUBE_PART_NAME, "%u", part);
    }
}

struct pf_cell pf_cube_part(const struct pf_cube_metric *metric, const unsigned char *element, uint32_t part,
                            char name[PF_CUBE_PART_NAME])
{
    if (metric->type.kind == PF_CUBE_FUNCTION)
        return function_part(metric, element, part, name);
    name_part(metric, part, name);
    if (metric->type.kind != PF_CUBE_AVERAGE)
        return real(metric, element + (size_t)part * 8);
    return part ? real(metric, element + 4 + (size_t)(part - 1) * 8)
                : pf_uint(pf_u32(element, is_big(metric)));
}
