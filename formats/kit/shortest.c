/* SPDX-License-Identifier: MIT */
#include "formats/kit/shortest.h"

#include <stdbool.h>
#include <string.h>

#include "formats/kit/powers.h"

/*
 * After Raffaello Giulietti, "The Schubfach way to render doubles" (2020). The decimals that read back as a double v =
 * c * 2^q form an interval around v that extends half way to its neighbours. Choose k so that 10^k is at most the width
 * of the interval and 10^(k+1) is more. Then at most one multiple of 10^(k+1) is inside. If there is one, it is the
 * shortest decimal. Otherwise the shortest decimal is one of the two multiples of 10^k around v. To decide this, v and
 * the ends of the interval are scaled by 4 * 10^-k, and non-integers are rounded to odd integers, so that all
 * comparisons with multiples of 2 are exact.
 */

enum { FRACTION_BITS = 52, EXPONENT_BIAS = 1075 };

/* v = c * 2^q; `lopsided` if the lower neighbour is half as far away as the upper one. */
struct shortest_binary {
    uint64_t c;
    int q;
    bool lopsided;
};

static struct shortest_binary take_apart(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    int exponent = (int)(bits >> FRACTION_BITS & 0x7ff);
    if (exponent == 0)
        return (struct shortest_binary){.c = fraction, .q = 1 - EXPONENT_BIAS, .lopsided = false};
    return (struct shortest_binary){.c = fraction | UINT64_C(1) << FRACTION_BITS,
                           .q = exponent - EXPONENT_BIAS,
                           .lopsided = (fraction == 0) & (exponent > 1)};
}

/* floor(log10(width)) of the interval, whose width is 2^q, or 3/4 * 2^q if lopsided. The factors approximate log10(2) and
 * -log10(3/4), times 2^22, closely enough for the exponents of doubles. */
static int width_log10(int q, bool lopsided)
{
    return (q * 1262611 - (lopsided ? 524031 : 0)) >> 22;
}

/* power * n / 2^128, rounded to odd: truncated, with the last bit set if the remainder is not 0. The power is too large
 * by less than 1, so a remainder of up to 1 in the middle word counts as 0. */
static inline uint64_t scale_to_odd(pf_uint128 power, uint64_t n)
{
    pf_uint128 low = (pf_uint128)(uint64_t)power * n;
    pf_uint128 sum = (pf_uint128)(uint64_t)(power >> 64) * n + (uint64_t)(low >> 64);
    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

static inline struct pf_decimal without_trailing_zeros(uint64_t digits, int exponent)
{
    if (digits % 10 == 0) {
        for (; digits % 10000 == 0; digits /= 10000)
            exponent += 4;
        for (; digits % 10 == 0; digits /= 10)
            exponent++;
    }
    return (struct pf_decimal){.digits = digits, .exponent = exponent};
}

struct pf_decimal pf_shortest(double value)
{
    struct shortest_binary v = take_apart(value);
    int k = width_log10(v.q, v.lopsided);
    pf_uint128 power = pf_power_of_ten(-k) + !pf_power_is_exact(-k);
    int shift = v.q + pf_power_log2(-k) + 1; /* 1 to 4 */

    uint64_t middle = scale_to_odd(power, v.c * 4 << shift);
    uint64_t lower = scale_to_odd(power, (v.c * 4 - 2 + v.lopsided) << shift);
    uint64_t upper = scale_to_odd(power, (v.c * 4 + 2) << shift);
    /* The ends of the interval read back as v only if c is even. */
    lower += v.c & 1;
    upper -= v.c & 1;

    /* Branchless: random digits would be mispredicted half of the time. */
    uint64_t down = middle / 4;
    uint64_t tens = down / 10;
    bool tens_inside = lower <= tens * 40;
    bool next_tens_inside = tens * 40 + 40 <= upper;
    bool shorter = (tens > 0) & (tens_inside ^ next_tens_inside);

    bool down_inside = lower <= down * 4;
    bool up_inside = down * 4 + 4 <= upper;
    bool only_up = up_inside && !down_inside;
    bool either = up_inside == down_inside;
    bool nearer_up = (middle & 3) + (down & 1) > 2; /* a tie goes to the even digit */
    bool round_up = only_up | (either & nearer_up);

    uint64_t digits = shorter ? tens + next_tens_inside : down + round_up;
    return without_trailing_zeros(digits, k + shorter);
}
