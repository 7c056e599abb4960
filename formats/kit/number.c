/* SPDX-License-Identifier: MIT */
#include "formats/kit/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/kit/powers.h"
#include "formats/kit/print.h"

/*
 * Maximum number of digits that are passed to strtod. The midpoint of two adjacent doubles has at most 768 significant
 * digits, so the only fact that matters about further digits is whether one of them is not 0.
 */
enum { KEPT_DIGITS = 800 };

/*
 * Once an exponent has reached this value, its further digits are ignored: no mantissa can be long enough to compensate
 * for it.
 */
#define EXPONENT_LIMIT INT64_C(100000000000000000)

#define TEN_8  UINT64_C(100000000)
#define TEN_11 UINT64_C(100000000000)
#define TEN_18 UINT64_C(1000000000000000000)

/* The rest of the text that is being parsed. */
struct number_reader {
    const char *at, *end;
};

/* mantissa * 10^exponent; the mantissa holds up to 19 significant digits. */
struct decimal {
    uint64_t mantissa;
    int64_t exponent;
    bool more; /* nonzero digits follow */
};

static inline bool number_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* Consumes the next character if it is one of two. Returns false otherwise. */
static inline bool accept(struct number_reader *reader, char one, char other)
{
    if (reader->at == reader->end || (*reader->at != one && *reader->at != other))
        return false;
    reader->at++;
    return true;
}

/* Consumes an optional sign; returns true for a minus. */
static inline bool read_sign(struct number_reader *reader)
{
    if (accept(reader, '-', '-'))
        return true;
    accept(reader, '+', '+');
    return false;
}

static inline bool eight_digits(const char *text, uint64_t *value)
{
    uint64_t word = pf_digits_load(text);
    *value = pf_digits_join(word, 8);
    return pf_digits_count(word) == 8;
}

/* A single underscore is allowed between two digits. */
static inline bool is_separator(const char *at, const char *start, const char *end)
{
    return *at == '_' && at > start && end - at > 1 && number_is_digit(at[1]);
}

/* Reads the digits before or after the point into the decimal; returns false if there are none. */
static inline __attribute__((always_inline)) bool read_digits(struct number_reader *reader,
                                                              struct decimal *decimal, bool behind_point)
{
    const char *at = reader->at, *start = at, *end = reader->end;
    uint64_t mantissa = decimal->mantissa, eight;
    int64_t dropped = 0;
    while (mantissa < TEN_11 && end - at >= 8 && eight_digits(at, &eight)) {
        mantissa = mantissa * TEN_8 + eight;
        at += 8;
    }
    int64_t places = at - start;
    for (; at < end; at++) {
        if (!number_is_digit(*at)) {
            if (is_separator(at, start, end))
                continue;
            break;
        }
        unsigned digit = (unsigned)(*at - '0');
        if (mantissa < TEN_18) {
            mantissa = mantissa * 10 + digit;
            places++;
        } else {
            decimal->more |= digit != 0;
            dropped++;
        }
    }
    decimal->mantissa = mantissa;
    decimal->exponent += behind_point ? -places : dropped;
    reader->at = at;
    return at > start;
}

/* Reads the integer after `e`; returns false if it is invalid. */
static bool read_exponent(struct number_reader *reader, int64_t *exponent)
{
    bool negative = read_sign(reader);
    const char *start = reader->at;
    int64_t value = 0;
    for (; reader->at < reader->end; reader->at++) {
        if (number_is_digit(*reader->at))
            value = value < EXPONENT_LIMIT ? value * 10 + (*reader->at - '0') : value;
        else if (!is_separator(reader->at, start, reader->end))
            break;
    }
    *exponent = negative ? -value : value;
    return reader->at > start;
}

static bool number_is_word(struct number_reader reader, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(reader.end - reader.at) == size && !strncasecmp(reader.at, word, size);
}

static bool number_read_word(struct number_reader reader, double *value)
{
    if (number_is_word(reader, "inf") || number_is_word(reader, "infinity"))
        *value = HUGE_VAL;
    else if (number_is_word(reader, "nan"))
        *value = (double)NAN;
    else
        return false;
    return true;
}

/*
 * Converts by one multiplication or division if the mantissa and the power of ten are exact doubles. A single operation
 * rounds once, so the result is correct. Returns false if one of the two is not exact.
 */
static inline bool from_exact_parts(const struct decimal *decimal, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (FLT_EVAL_METHOD != 0 || decimal->mantissa > UINT64_C(1) << 53 || decimal->exponent < -22 ||
        decimal->exponent > 22)
        return false;
    double mantissa = (double)decimal->mantissa;
    *value = decimal->exponent < 0 ? mantissa / tens[-decimal->exponent] : mantissa * tens[decimal->exponent];
    return true;
}

/* mantissa * power / 2^64, truncated; `exact` if no bits were lost. */
struct product {
    pf_uint128 bits;
    bool exact;
};

static inline struct product multiply(uint64_t mantissa, pf_uint128 power)
{
    pf_uint128 low = (pf_uint128)mantissa * (uint64_t)power;
    pf_uint128 high = (pf_uint128)mantissa * (uint64_t)(power >> 64);
    return (struct product){.bits = high + (uint64_t)(low >> 64), .exact = (uint64_t)low == 0};
}

/*
 * Multiplies the mantissa by the 128-bit power of ten. The power and the product are truncated, and the mantissa may
 * lack digits, so the product is too small by less than `slack`. The result is correct if the product and product +
 * slack round to the same double. Returns false if they may not (practically never for random numbers of up to
 * 19 digits) or if the result is not a normal double.
 */
static inline bool from_product(const struct decimal *decimal, double *value)
{
    if (decimal->exponent < PF_POWER_MIN || decimal->exponent > PF_POWER_MAX)
        return false;
    int ten = (int)decimal->exponent;
    int shift = __builtin_clzll(decimal->mantissa);
    struct product product = multiply(decimal->mantissa << shift, pf_power_of_ten(ten));

    int surplus = product.bits >> 127 ? 128 - DBL_MANT_DIG : 127 - DBL_MANT_DIG;
    uint64_t fraction = (uint64_t)(product.bits >> surplus);
    pf_uint128 full = (pf_uint128)1 << surplus, half = full / 2, rest = product.bits & (full - 1);
    if (pf_power_is_exact(ten) && !decimal->more) {
        bool above = rest > half || (rest == half && !product.exact);
        fraction += above || (rest == half && fraction & 1);
    } else {
        /*
         * The error is below 2 units of the product's last bit. If digits were cut, the mantissa is too small by up to
         * 1, which adds less than 2^(64 + shift) such units.
         */
        pf_uint128 slack = 2 + (decimal->more ? (pf_uint128)1 << (64 + shift) : 0);
        if (rest + slack > (rest < half ? half : full))
            return false;
        fraction += rest >= half;
    }
    int exponent = surplus + pf_power_log2(ten) - shift - 63 + 1075; /* biased */
    if (exponent < 1 || exponent > 2046)
        return false;
    /*
     * Remove the leading bit, which is implicit. If the fraction was rounded up to 2^53, it carries into the exponent.
     */
    uint64_t bits = ((uint64_t)exponent << 52) + (fraction - (UINT64_C(1) << 52));
    memcpy(value, &bits, sizeof bits);
    return true;
}

/*
 * Converts a number by strtod. The copy that strtod reads has no decimal point, since some locales use another
 * character.
 */
static double from_digits(struct number_reader digits, int64_t exponent)
{
    char text[KEPT_DIGITS + 32];
    size_t size = 0;
    bool behind_point = false, more = false;
    for (const char *at = digits.at; at < digits.end; at++) {
        behind_point |= *at == '.';
        if (!number_is_digit(*at))
            continue;
        if (size < KEPT_DIGITS) {
            text[size] = *at;
            size += size > 0 || *at != '0';
            exponent -= behind_point;
        } else {
            more |= *at != '0';
            exponent += !behind_point;
        }
    }
    if (more) {
        text[size++] = '1';
        exponent--;
    }
    int clamped = exponent < -99999 ? -99999 : exponent > 99999 ? 99999 : (int)exponent;
    snprintf(text + size, sizeof text - size, "e%d", clamped);
    return strtod(text, NULL);
}

/* Removes zeros at the end, since fewer digits let the fast paths succeed: `0.50000000000000000` becomes 0.5. */
static inline void drop_trailing_zeros(struct decimal *decimal)
{
    if (decimal->more)
        return;
    while (decimal->exponent < 0 && decimal->mantissa % 10 == 0) {
        decimal->mantissa /= 10;
        decimal->exponent++;
    }
}

/* Returns the double nearest to the number. `exponent` is the exponent that follows `digits` in the text. */
static inline double number_nearest(struct decimal decimal, struct number_reader digits, int64_t exponent)
{
    double value = 0;
    if (decimal.mantissa == 0 || from_exact_parts(&decimal, &value))
        return value;
    drop_trailing_zeros(&decimal);
    if (from_exact_parts(&decimal, &value) || from_product(&decimal, &value))
        return value;
    return from_digits(digits, exponent);
}

/* A parsed number without sign. */
struct scan {
    struct number_reader digits; /* the text of the digits and the point */
    struct decimal decimal;      /* the value, including the exponent */
    int64_t exponent;            /* the number after `e`, or 0 */
};

/* Scans the rest of the text; returns false if it is not a number. */
static inline __attribute__((always_inline)) bool scan_number(struct number_reader reader, struct scan *scan)
{
    struct decimal decimal = {0};
    scan->digits = reader;
    bool before = read_digits(&reader, &decimal, false);
    bool behind = accept(&reader, '.', '.') && read_digits(&reader, &decimal, true);
    if (!before && !behind)
        return false;
    scan->digits.end = reader.at;
    scan->exponent = 0;
    if (accept(&reader, 'e', 'E') && !read_exponent(&reader, &scan->exponent))
        return false;
    decimal.exponent += scan->exponent;
    scan->decimal = decimal;
    return reader.at == reader.end;
}

bool pf_parse_double(const char *text, size_t size, double *value)
{
    struct number_reader reader = {text, text + size};
    struct scan scan;
    bool negative = read_sign(&reader);
    if (scan_number(reader, &scan))
        *value = number_nearest(scan.decimal, scan.digits, scan.exponent);
    else if (!number_read_word(reader, value))
        return false;
    if (negative)
        *value = -*value;
    return true;
}

struct pf_cell pf_parse_amount(const char *text, size_t size, pf_int128 *whole)
{
    bool fits = size > 0;
    double real;
    *whole = 0;
    for (size_t i = 0; i < size && fits; i++)
        fits = text[i] >= '0' && text[i] <= '9' && !__builtin_mul_overflow(*whole, 10, whole) &&
               !__builtin_add_overflow(*whole, text[i] - '0', whole);
    if (fits)
        return pf_wide(whole);
    return pf_parse_double(text, size, &real) ? pf_double(real) : pf_absent();
}

/* ---- a fixed number of places ------------------------------------------------------------------- */

/* The first 38 significant digits of a number, with the matching exponent. */
static pf_int128 leading_digits(const struct scan *scan, int64_t *exponent)
{
    enum { DIGITS_MAX = 38 };
    pf_int128 value = 0;
    int taken = 0;
    bool behind_point = false;
    *exponent = scan->exponent;
    for (const char *at = scan->digits.at; at < scan->digits.end; at++) {
        behind_point |= *at == '.';
        if (!number_is_digit(*at))
            continue;
        if (taken < DIGITS_MAX) {
            value = value * 10 + (*at - '0');
            taken += value != 0;
            *exponent -= behind_point;
        } else {
            *exponent += !behind_point;
        }
    }
    return value;
}

/* Multiplies by 10^places, rounding toward zero; returns false on overflow. */
static bool scale(pf_int128 *value, int64_t places)
{
    for (; places < 0 && *value; places++)
        *value /= 10;
    for (; places > 0 && *value; places--)
        if (__builtin_mul_overflow(*value, 10, value))
            return false;
    return true;
}

bool pf_parse_fixed(const char *text, size_t size, int places, pf_int128 *value)
{
    struct number_reader reader = {text, text + size};
    struct scan scan;
    bool negative = read_sign(&reader);
    if (!scan_number(reader, &scan) || memchr(text, '_', size))
        return false;
    int64_t exponent = scan.decimal.exponent;
    pf_int128 scaled = scan.decimal.more ? leading_digits(&scan, &exponent) : scan.decimal.mantissa;
    if (!scale(&scaled, places + exponent))
        return false;
    *value = negative ? -scaled : scaled;
    return true;
}

/* Converts by way of text, since a quotient of two doubles would be rounded twice. */
double pf_fixed_double(pf_int128 value, unsigned places)
{
    char text[PF_NUMBER_MAX + 8];
    double real = 0;
    char *end = pf_print_wide(text, value);
    *end++ = 'e';
    end = pf_print_int(end, -(int64_t)places);
    pf_parse_double(text, (size_t)(end - text), &real);
    return real;
}

/* ---- digits at the front of a slice -------------------------------------------------------------- */

/* Returns the value of a decimal or hex digit, 16 for other characters. */
static unsigned number_digit_of(char c)
{
    unsigned decimal = (unsigned char)c - (unsigned)'0', letter = ((unsigned char)c | 32u) - 'a';
    return decimal < 10 ? decimal : letter < 6 ? 10 + letter : 16;
}

bool pf_take_digits(struct pf_slice *text, pf_int128 *number)
{
    bool hex = text->end - text->at > 2 && text->at[0] == '0' && (text->at[1] | 32) == 'x';
    text->at += hex ? 2 : 0;
    return pf_take_base(text, hex ? 16 : 10, number);
}

bool pf_take_base(struct pf_slice *text, unsigned base, pf_int128 *number)
{
    const char *first = text->at;
    unsigned digit;
    *number = 0;
    for (; text->at < text->end && (digit = number_digit_of(*text->at)) < base; text->at++)
        if (__builtin_mul_overflow(*number, (pf_int128)base, number) ||
            __builtin_add_overflow(*number, (pf_int128)digit, number))
            return false;
    return text->at > first;
}
