/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "formats/cube/cube.h"
#include "formats/kit/number.h"

/* ---- names of types ----------------------------------------------------------------------------- */

/* Maximum n of HISTOGRAM(n) and NDOUBLES(n), so that the sizes of rows do not overflow. Real types are smaller. */
enum { PARTS_MAX = 65536 };

struct known_type {
    const char *name;
    enum pf_cube_kind kind;
    uint32_t size;
};

/* Types of fixed size in bytes. In Cube, FLOAT is a double, INTEGER has 64 bits and INT has 32. */
static const struct known_type known_types[] = {
    {"DOUBLE", PF_CUBE_REAL, 8},
    {"FLOAT", PF_CUBE_REAL, 8},
    {"MINDOUBLE", PF_CUBE_LEAST, 8},
    {"MAXDOUBLE", PF_CUBE_LARGEST, 8},
    {"UINT64", PF_CUBE_UNSIGNED, 8},
    {"UNSIGNED INTEGER", PF_CUBE_UNSIGNED, 8},
    {"INT64", PF_CUBE_SIGNED, 8},
    {"INTEGER", PF_CUBE_SIGNED, 8},
    {"SIGNED INTEGER", PF_CUBE_SIGNED, 8},
    {"UINT32", PF_CUBE_UNSIGNED, 4},
    {"UNSIGNED INT", PF_CUBE_UNSIGNED, 4},
    {"INT32", PF_CUBE_SIGNED, 4},
    {"INT", PF_CUBE_SIGNED, 4},
    {"SIGNED INT", PF_CUBE_SIGNED, 4},
    {"UINT16", PF_CUBE_UNSIGNED, 2},
    {"UNSIGNED SHORT INT", PF_CUBE_UNSIGNED, 2},
    {"INT16", PF_CUBE_SIGNED, 2},
    {"SHORT INT", PF_CUBE_SIGNED, 2},
    {"SIGNED SHORT INT", PF_CUBE_SIGNED, 2},
    {"UINT8", PF_CUBE_UNSIGNED, 1},
    {"CHAR", PF_CUBE_UNSIGNED, 1},
    {"INT8", PF_CUBE_SIGNED, 1},
    {"COMPLEX", PF_CUBE_COMPLEX, 16},
    {"RATE", PF_CUBE_RATE, 16},
    {"TAU_ATOMIC", PF_CUBE_AVERAGE, 36},
    {"SCALE_FUNC", PF_CUBE_FUNCTION, 848},
};

/* Parses NAME(n). Returns n, or 0 if the text is something else or n is invalid. */
static uint32_t list_length(const char *dtype, const char *name)
{
    struct pf_slice rest = pf_slice(dtype, strlen(dtype));
    uint64_t n;
    bool valid = pf_take(&rest, name) && pf_take(&rest, "(") && pf_take_number(&rest, &n) &&
                 pf_begins(rest, ")") && n <= PARTS_MAX;
    return valid ? (uint32_t)n : 0;
}

struct pf_cube_type pf_cube_type_of(const char *dtype)
{
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (!strcmp(dtype, known_types[i].name))
            return (struct pf_cube_type){known_types[i].kind, known_types[i].size};
    uint32_t parts = list_length(dtype, "HISTOGRAM");
    if (parts)
        return (struct pf_cube_type){PF_CUBE_BINS, 8 * (parts + 2)}; /* min and max precede the bins */
    parts = list_length(dtype, "NDOUBLES");
    if (parts)
        return (struct pf_cube_type){PF_CUBE_LIST, 8 * parts};
    return (struct pf_cube_type){PF_CUBE_NO_KIND, 0};
}

/* ---- elements ----------------------------------------------------------------------------------- */

static uint64_t load_unsigned(const unsigned char *raw, uint32_t size, bool big)
{
    return size == 8 ? pf_u64(raw, big) : size == 4 ? pf_u32(raw, big) : size == 2 ? pf_u16(raw, big) : *raw;
}

static int64_t load_signed(const unsigned char *raw, uint32_t size, bool big)
{
    unsigned unused = 64 - 8 * size;
    return (int64_t)(load_unsigned(raw, size, big) << unused) >> unused;
}

static double add_doubles(const unsigned char *raw, uint32_t n, bool big)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += pf_f64(raw + (size_t)i * 8, big);
    return sum;
}

static union pf_cube_number load_one(const struct pf_cube_metric *metric, const unsigned char *raw)
{
    bool big = metric->big;
    uint32_t size = metric->type.size;
    switch (metric->type.kind) {
    case PF_CUBE_SIGNED:
        return (union pf_cube_number){.i = load_signed(raw, size, big)};
    case PF_CUBE_UNSIGNED:
        return (union pf_cube_number){.i = load_unsigned(raw, size, big)};
    case PF_CUBE_AVERAGE: /* u32 count and, unaligned, the doubles min, max, sum, sum of squares */
        return (union pf_cube_number){.a = pf_u32(raw, big), .b = pf_f64(raw + 4 + 16, big)};
    case PF_CUBE_RATE:
    case PF_CUBE_COMPLEX:
        return (union pf_cube_number){.a = pf_f64(raw, big), .b = pf_f64(raw + 8, big)};
    case PF_CUBE_BINS:
        return (union pf_cube_number){.a = add_doubles(raw + 16, size / 8 - 2, big), .b = 0};
    case PF_CUBE_LIST:
        return (union pf_cube_number){.a = add_doubles(raw, size / 8, big), .b = 0};
    default:
        return (union pf_cube_number){.a = 0, .b = 0};
    }
}

void pf_cube_decode(const struct pf_cube_metric *metric, const unsigned char *raw, size_t n,
                    union pf_cube_number *out)
{
    enum pf_cube_kind kind = metric->type.kind;
    bool reals = kind == PF_CUBE_REAL || pf_cube_is_extreme(kind);
    for (size_t i = 0; i < n; i++)
        out[i] = reals ? (union pf_cube_number){.a = pf_f64(raw + i * 8, metric->big), .b = 0}
                       : load_one(metric, raw + i * metric->type.size);
}

/* ---- sums --------------------------------------------------------------------------------------- */

union pf_cube_number pf_cube_neutral(enum pf_cube_kind kind)
{
    if (pf_cube_is_int(kind))
        return (union pf_cube_number){.i = 0};
    double a = kind == PF_CUBE_LEAST ? DBL_MAX : kind == PF_CUBE_LARGEST ? -DBL_MAX : 0;
    return (union pf_cube_number){.a = a, .b = 0};
}

/* Sums of 128 bits cannot overflow, because values are below 2^64, and a sum has fewer than 2^63 terms. */
static inline void combine_numbers(enum pf_cube_kind kind, union pf_cube_number *sum,
                                   const union pf_cube_number *x, size_t n, int sign)
{
    for (size_t i = 0; i < n; i++)
        if (pf_cube_is_int(kind)) {
            sum[i].i += sign * x[i].i;
        } else if (kind == PF_CUBE_LEAST) {
            sum[i].a = x[i].a < sum[i].a ? x[i].a : sum[i].a;
        } else if (kind == PF_CUBE_LARGEST) {
            sum[i].a = x[i].a > sum[i].a ? x[i].a : sum[i].a;
        } else {
            sum[i].a += sign * x[i].a;
            sum[i].b += sign * x[i].b;
        }
}

void pf_cube_add(enum pf_cube_kind kind, union pf_cube_number *sum, const union pf_cube_number *x, size_t n)
{
    combine_numbers(kind, sum, x, n, 1);
}

void pf_cube_subtract(enum pf_cube_kind kind, union pf_cube_number *sum, const union pf_cube_number *x,
                      size_t n)
{
    combine_numbers(kind, sum, x, n, -1);
}

/* ---- shown values ------------------------------------------------------------------------------- */

bool pf_cube_shown_other(enum pf_cube_kind kind, const union pf_cube_number *number, struct pf_cell *cell)
{
    double a = number->a, b = number->b;
    switch (kind) {
    case PF_CUBE_NO_KIND:
    case PF_CUBE_FUNCTION:
        return false;
    case PF_CUBE_SIGNED:
    case PF_CUBE_UNSIGNED:
        *cell = pf_whole(&number->i);
        return number->i != 0;
    case PF_CUBE_LEAST:
        *cell = pf_double(a);
        return a != DBL_MAX;
    case PF_CUBE_LARGEST:
        *cell = pf_double(a);
        return a != -DBL_MAX;
    case PF_CUBE_RATE:
        *cell = pf_double(a / b);
        return b != 0 && a != 0;
    case PF_CUBE_COMPLEX:
        *cell = pf_double(hypot(a, b));
        return a != 0 || b != 0;
    case PF_CUBE_AVERAGE:
        *cell = pf_double(b / a);
        return a != 0 && b != 0;
    default:
        *cell = pf_double(a);
        return a != 0;
    }
}
