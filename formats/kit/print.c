/* SPDX-License-Identifier: MIT */
#include "formats/kit/print.h"

#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "formats/kit/powers.h"
#include "formats/kit/shortest.h"

#define TEN_8  UINT64_C(100000000)
#define TEN_9  UINT64_C(1000000000)
#define TEN_16 UINT64_C(10000000000000000)
#define TEN_18 UINT64_C(1000000000000000000)
#define ZEROS  UINT64_C(0x3030303030303030) /* "00000000" */

const uint64_t pf_tens[20] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

/*
 * Returns the eight digits of a value below 10^8 in one word, the most significant digit in the lowest byte. Each step
 * divides all lanes of the word at once, by multiplying and shifting: lanes of 32 bits by 100 (10486 / 2^20), then
 * lanes of 16 bits by 10 (103 / 2^10). For numbers this small, the quotients are exact.
 */
static inline uint64_t print_eight_digits(uint32_t value)
{
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007f;
    uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = (twos * 103 >> 10) & 0x000f000f000f000f;
    return tens | (twos - tens * 10) << 8;
}

static inline void put_8_bytes(char *out, uint64_t digits)
{
    digits = htole64(digits);
    memcpy(out, &digits, sizeof digits);
}

/*
 * The digits of the numbers below 1000, as three characters, the first one in the lowest byte. The highest byte holds
 * the size of the leading zeros in bits.
 */
#define DIGITS(h, t, u) ('0' + (h)) | ('0' + (t)) << 8 | ('0' + (u)) << 16 | ((h) ? 0 : (t) ? 8 : 16) << 24
#define TEN(h, t)                                                                                            \
    DIGITS(h, t, 0), DIGITS(h, t, 1), DIGITS(h, t, 2), DIGITS(h, t, 3), DIGITS(h, t, 4), DIGITS(h, t, 5),    \
        DIGITS(h, t, 6), DIGITS(h, t, 7), DIGITS(h, t, 8), DIGITS(h, t, 9)
#define HUNDRED(h)                                                                                           \
    TEN(h, 0), TEN(h, 1), TEN(h, 2), TEN(h, 3), TEN(h, 4), TEN(h, 5), TEN(h, 6), TEN(h, 7), TEN(h, 8),       \
        TEN(h, 9)
static const uint32_t three_digits[1000] = {HUNDRED(0), HUNDRED(1), HUNDRED(2), HUNDRED(3), HUNDRED(4),
                                            HUNDRED(5), HUNDRED(6), HUNDRED(7), HUNDRED(8), HUNDRED(9)};

/* Writes four bytes; the caller overwrites the last one. */
static inline void put_4_bytes(char *out, uint32_t digits)
{
    digits = htole32(digits);
    memcpy(out, &digits, sizeof digits);
}

/* put_3 and put_9 print values below 10^3 and 10^9 with leading zeros; put_upto_3 and put_upto_9 print them without. */
static inline char *put_3(char *out, uint32_t value)
{
    put_4_bytes(out, three_digits[value]);
    return out + 3;
}

static inline char *put_upto_3(char *out, uint32_t value)
{
    uint32_t digits = three_digits[value], zeros = digits >> 24;
    put_4_bytes(out, digits >> zeros);
    return out + 3 - zeros / 8;
}

static inline char *put_9(char *out, uint32_t value)
{
    out = put_3(out, value / 1000000);
    out = put_3(out, value / 1000 % 1000);
    return put_3(out, value % 1000);
}

static inline char *put_upto_9(char *out, uint32_t value)
{
    if (value < 1000)
        return put_upto_3(out, value);
    if (value < 1000000) {
        out = put_upto_3(out, value / 1000);
    } else {
        out = put_upto_3(out, value / 1000000);
        out = put_3(out, value / 1000 % 1000);
    }
    return put_3(out, value % 1000);
}

static inline char *put_uint(char *out, uint64_t value)
{
    if (value < TEN_9)
        return put_upto_9(out, (uint32_t)value);
    if (value < TEN_18) {
        out = put_upto_9(out, (uint32_t)(value / TEN_9));
    } else {
        out = put_upto_3(out, (uint32_t)(value / TEN_18));
        out = put_9(out, (uint32_t)(value / TEN_9 % TEN_9));
    }
    return put_9(out, (uint32_t)(value % TEN_9));
}

char *pf_print_uint(char *out, uint64_t value)
{
    return put_uint(out, value);
}

static inline char *put_int(char *out, int64_t value)
{
    *out = '-';
    return put_uint(out + (value < 0), value < 0 ? -(uint64_t)value : (uint64_t)value);
}

char *pf_print_int(char *out, int64_t value)
{
    return put_int(out, value);
}

/* The absolute value, unsigned, since that of the smallest pf_int128 does not fit into a pf_int128. */
static pf_uint128 magnitude(pf_int128 value)
{
    return value < 0 ? -(pf_uint128)value : (pf_uint128)value;
}

/* Prints eighteen digits at a time until the rest fits a uint64_t. */
static char *put_wide(char *out, pf_uint128 value)
{
    if (value <= UINT64_MAX)
        return put_uint(out, (uint64_t)value);
    uint64_t low = (uint64_t)(value % TEN_18);
    out = put_wide(out, value / TEN_18);
    out = put_9(out, (uint32_t)(low / TEN_9));
    return put_9(out, (uint32_t)(low % TEN_9));
}

char *pf_print_wide(char *out, pf_int128 value)
{
    *out = '-';
    return put_wide(out + (value < 0), magnitude(value));
}

unsigned pf_wide_size(pf_int128 value)
{
    pf_uint128 rest = magnitude(value);
    unsigned size =
        rest <= UINT64_MAX ? pf_uint_size((uint64_t)rest) : 19 + pf_uint_size((uint64_t)(rest / pf_tens[19]));
    return size + (value < 0);
}

/* An integer below 2^53 is its own shortest decimal; most values of profiles are such integers. Returns false for -0. */
static inline bool print_is_integer(double value, int64_t *integer)
{
    if (!(fabs(value) < 9007199254740992.0))
        return false;
    *integer = (int64_t)value;
    return (double)*integer == value && (*integer != 0 || !signbit(value));
}

/* False for infinities, NaN and zeros, which pf_shortest does not convert. */
static inline bool has_digits(double value)
{
    return isfinite(value) && value != 0;
}

static const char *word_for(double value)
{
    return isnan(value) ? "nan" : isfinite(value) ? "-0" : value > 0 ? "inf" : "-inf";
}

static char *put_word(char *out, double value)
{
    const char *word = word_for(value);
    return (char *)memcpy(out, word, strlen(word)) + strlen(word);
}

/*
 * The exponent of the scientific notation: the number is 10^exponent times its n digits with a point after the first.
 */
static inline int scientific(struct pf_decimal d, unsigned n)
{
    return d.exponent + (int)n - 1;
}

static inline bool needs_exponent(int exponent)
{
    return exponent < -4 || exponent > 16;
}

/*
 * The 17 digits of a double, padded with zeros at the end: the first one, and 16 more as characters. The compiler keeps
 * the struct in registers. An array in memory would be slower: it would be written and read in different widths, which
 * defeats store forwarding.
 */
struct digits {
    char first;
    pf_uint128 others;
};

static inline struct digits seventeen_digits(uint64_t value, unsigned n)
{
    value *= pf_tens[17 - n];
    uint64_t high = value / TEN_8;
    return (struct digits){
        .first = (char)('0' + value / TEN_16),
        .others = (print_eight_digits((uint32_t)(high % TEN_8)) + ZEROS) |
                  (pf_uint128)(print_eight_digits((uint32_t)(value % TEN_8)) + ZEROS) << 64,
    };
}

static inline void put_16_bytes(char *out, pf_uint128 words)
{
    put_8_bytes(out, (uint64_t)words);
    put_8_bytes(out + 8, (uint64_t)(words >> 64));
}

/* Prints `1e-05` or `1.5e+300`, for example. The exponent has at least two digits. */
static inline char *put_scientific(char *out, struct pf_decimal d, unsigned n)
{
    struct digits digits = seventeen_digits(d.digits, n);
    out[0] = digits.first;
    out[1] = '.';
    put_16_bytes(out + 2, digits.others);
    out += n == 1 ? 1 : n + 1;
    int exponent = scientific(d, n);
    unsigned distance = (unsigned)(exponent < 0 ? -exponent : exponent);
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    *out = '0';
    return put_upto_3(out + (distance < 10), distance);
}

/* Prints numbers from 0.0001 to below 1e17. In this range, printf's %.17g prints no exponent. */
static inline char *put_moderate(char *out, struct pf_decimal d, unsigned n)
{
    struct digits digits = seventeen_digits(d.digits, n);
    int exponent = scientific(d, n);
    if (exponent < 0) {
        memcpy(out, "0.000000", 8);
        out += 1 - exponent;
        out[0] = digits.first;
        put_16_bytes(out + 1, digits.others);
        return out + n;
    }
    out[0] = digits.first;
    put_16_bytes(out + 1, digits.others);
    out += exponent + 1;
    if (d.exponent >= 0)
        return out;
    /* Write the digits after the point again, one position later. */
    *out = '.';
    put_16_bytes(out + 1, digits.others >> 8 * exponent);
    return out + 1 - d.exponent;
}

static char *put_plain(char *out, struct pf_decimal d, unsigned n)
{
    int exponent = scientific(d, n);
    if (!needs_exponent(exponent))
        return put_moderate(out, d, n);
    if (exponent > 0) {
        out = put_uint(out, d.digits);
        memset(out, '0', (size_t)d.exponent);
        return out + d.exponent;
    }
    size_t zeros = (size_t)(-exponent - 1);
    memcpy(out, "0.", 2);
    memset(out + 2, '0', zeros);
    return put_uint(out + 2 + zeros, d.digits);
}

char *pf_print_double(char *out, double value)
{
    int64_t integer;
    if (print_is_integer(value, &integer))
        return put_int(out, integer);
    if (!has_digits(value))
        return put_word(out, value);
    if (value < 0)
        *out++ = '-';
    struct pf_decimal d = pf_shortest(fabs(value));
    unsigned n = pf_uint_size(d.digits);
    return needs_exponent(scientific(d, n)) ? put_scientific(out, d, n) : put_moderate(out, d, n);
}

char *pf_print_double_plain(char *out, double value)
{
    if (!has_digits(value))
        return pf_print_double(out, value);
    if (value < 0)
        *out++ = '-';
    struct pf_decimal d = pf_shortest(fabs(value));
    return put_plain(out, d, pf_uint_size(d.digits));
}

unsigned pf_double_size(double value)
{
    int64_t integer;
    if (print_is_integer(value, &integer))
        return pf_int_size(integer);
    if (!has_digits(value))
        return (unsigned)strlen(word_for(value));
    struct pf_decimal d = pf_shortest(fabs(value));
    unsigned n = pf_uint_size(d.digits), sign = value < 0;
    int exponent = scientific(d, n);
    if (needs_exponent(exponent))
        return sign + n + (n > 1) + (exponent <= -100 || exponent >= 100 ? 5 : 4);
    if (d.exponent >= 0)
        return sign + n + (unsigned)d.exponent;
    return sign + n + 1 + (exponent < 0 ? (unsigned)-exponent : 0);
}
