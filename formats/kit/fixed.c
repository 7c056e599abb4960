/* SPDX-License-Identifier: MIT */
#include "formats/kit/fixed.h"

#include "formats/kit/parse.h"
#include "formats/kit/print.h"

/* Exponents beyond this make any number too large, or nothing. */
enum { EXPONENT_MAX = 100000, DIGITS_MAX = 38 };

struct text {
    const char *at, *end;
};

static bool is_digit(const struct text *text)
{
    return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

static bool take(struct text *text, char c)
{
    bool found = text->at < text->end && *text->at == c;
    text->at += found;
    return found;
}

/* The digits of a number, as many as fit: `dropped` ones more stood behind these. */
struct digits {
    pf_int128 value;
    int taken, dropped; /* digits but leading zeros */
    bool any;
};

/* Takes a run of digits; returns how many there were, of which EXPONENT_MAX are counted. */
static int take_digits(struct text *text, struct digits *digits)
{
    int count = 0;
    for (; is_digit(text); text->at++) {
        count += count < EXPONENT_MAX;
        digits->any = true;
        if (digits->taken == DIGITS_MAX) {
            digits->dropped += digits->dropped < EXPONENT_MAX;
            continue;
        }
        digits->value = digits->value * 10 + (*text->at - '0');
        digits->taken += digits->value != 0;
    }
    return count;
}

/* The number behind an `e`; false if there is none. */
static bool take_exponent(struct text *text, int *exponent)
{
    bool negative = take(text, '-');
    struct digits digits = {0};
    if (!negative)
        take(text, '+');
    take_digits(text, &digits);
    int value = digits.value > EXPONENT_MAX || digits.dropped ? EXPONENT_MAX : (int)digits.value;
    *exponent = negative ? -value : value;
    return digits.any;
}

/* value * 10^places, toward zero; false if that is too large. */
static bool scale(pf_int128 *value, int places)
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
    struct text rest = {text, text + size};
    struct digits digits = {0};
    int exponent = 0;
    bool negative = take(&rest, '-');
    if (!negative)
        take(&rest, '+');
    take_digits(&rest, &digits);
    int fraction = take(&rest, '.') ? take_digits(&rest, &digits) : 0;
    if (!digits.any || ((take(&rest, 'e') || take(&rest, 'E')) && !take_exponent(&rest, &exponent)) ||
        rest.at != rest.end)
        return false;
    pf_int128 scaled = digits.value;
    if (!scale(&scaled, places + exponent + digits.dropped - fraction))
        return false;
    *value = negative ? -scaled : scaled;
    return true;
}

/* By its text: a quotient of two doubles would be rounded twice. */
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
