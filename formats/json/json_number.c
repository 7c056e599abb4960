/* SPDX-License-Identifier: MIT */
#include "formats/json/json_window.h"
#include "formats/kit/digits.h"
#include "formats/kit/parse.h"
#include "formats/kit/powers.h"
#include "formats/kit/print.h"

/* ---- where a number ends ------------------------------------------------------------------------ */

/* Reads digits on into *mantissa, which wraps round if they are too many. */
static inline const char *scan_digits(const char *at, const char *end, uint64_t *mantissa)
{
    while (end - at >= 8) {
        uint64_t word = pf_digits_load(at);
        unsigned n = pf_digits_count(word);
        if (n == 0)
            return at;
        *mantissa = *mantissa * pf_tens[n] + pf_digits_join(word, n);
        at += n;
        if (n < 8)
            return at;
    }
    for (; pf_json_is_digit(*at); at++)
        *mantissa = *mantissa * 10 + (unsigned)(*at - '0');
    return at;
}

/* Behind an `e`: where the exponent ends; *good if it is one. */
static const char *scan_exponent(const char *at, bool *good)
{
    at += *at == '+' || *at == '-';
    *good = pf_json_is_digit(*at);
    while (pf_json_is_digit(*at))
        at++;
    return at;
}

static inline const char *scan_number(const char *at, const char *end, struct pf_json_token *token,
                                      bool *good)
{
    *good = false;
    token->negative = *at == '-';
    at += token->negative;
    const char *start = at, *point;
    token->mantissa = 0;
    at = *at == '0' ? at + 1 : scan_digits(at, end, &token->mantissa);
    if (at == start)
        return at;
    point = at;
    if (*at == '.') {
        at = scan_digits(at + 1, end, &token->mantissa);
        if (at == point + 1)
            return at;
    }
    token->integer = at == point;
    token->simple = at - start <= 18 && (*at | 0x20) != 'e';
    token->places = (uint8_t)(token->simple && at > point ? at - point - 1 : 0);
    *good = true;
    if ((*at | 0x20) != 'e')
        return at;
    token->integer = false;
    return scan_exponent(at + 1, good);
}

const char *pf_json_scan_number(const char *at, const char *end, struct pf_json_token *token, bool *good)
{
    return scan_number(at, end, token, good);
}

/* ---- what it is --------------------------------------------------------------------------------- */

/* Below 2^53 the mantissa is a double, as the power of ten is: dividing them rounds once. */
double pf_json_double(const struct pf_json_token *token)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    double value = 0;
    if (token->simple && token->mantissa < UINT64_C(1) << 53 && token->places < sizeof tens / sizeof *tens) {
        value = (double)token->mantissa / tens[token->places];
        return token->negative ? -value : value;
    }
    pf_parse_double(token->text, token->size, &value);
    return value;
}

/* As many digits as surely fit into 64 bits. */
enum { DIGITS_64 = 18 };

/* The digits as an integer of 127 bits; false if they are too many or not alone. */
static bool read_integer(const char *at, const char *end, pf_int128 *value)
{
    const pf_int128 most = (pf_int128)(((pf_uint128)1 << 127) - 1);
    uint64_t first = 0;
    for (int i = 0; i < DIGITS_64 && at < end; i++, at++) {
        if (*at < '0' || *at > '9')
            return false;
        first = first * 10 + (unsigned)(*at - '0');
    }
    *value = first;
    for (; at < end; at++) {
        int digit = *at - '0';
        if (digit < 0 || digit > 9 || *value > (most - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return true;
}

struct pf_cell pf_json_number(const struct pf_json_token *token, pf_int128 *wide)
{
    const char *at = token->text, *end = at + token->size;
    bool negative = *at == '-';
    if (token->simple && token->integer)
        return pf_int(negative ? -(int64_t)token->mantissa : (int64_t)token->mantissa);
    if (!read_integer(at + negative, end, wide))
        return pf_double(pf_json_double(token));
    if (negative)
        *wide = -*wide;
    if (*wide >= INT64_MIN && *wide <= INT64_MAX)
        return pf_int((int64_t)*wide);
    if (*wide >= 0 && *wide <= UINT64_MAX)
        return pf_uint((uint64_t)*wide);
    return pf_wide(wide);
}

/* ---- numbers of few digits ---------------------------------------------------------------------- */

bool pf_json_accept_number(struct pf_json *json, struct pf_cell *cell)
{
    struct pf_json_token token;
    bool good;
    if (!pf_json_before_value(json))
        return false;
    const char *at = json->at, *stop = scan_number(at, json->end, &token, &good);
    if (!good || !token.simple || stop == json->end)
        return false;
    token.text = at;
    token.size = (size_t)(stop - at);
    int64_t whole = token.negative ? -(int64_t)token.mantissa : (int64_t)token.mantissa;
    *cell = token.integer ? pf_int(whole) : pf_double(pf_json_double(&token));
    json->at = stop;
    pf_json_value_over(json);
    return true;
}
