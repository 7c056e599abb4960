/* SPDX-License-Identifier: MIT */
#include "formats/kit/shortest.h"

#include <stdbool.h>
#include <string.h>

#include "formats/kit/powers.h"

/*
 * After Raffaello Giulietti, "The Schubfach way to render doubles" (2020). The decimals that read back as a
 * double v = c * 2^q fill an interval around it that reaches half way to its neighbours. With k chosen so
 * that 10^k is no wider than the interval and 10^(k+1) is wider, at most one multiple of 10^(k+1) lies
 * inside, and if so it is the shortest; else one of the two multiples of 10^k around v is. To decide that, v
 * and the ends of the interval are scaled by 4 * 10^-k and rounded to odd integers where they are not
 * integers already: so all comparisons with multiples of 2 come out right.
 */

enum { FRACTION_BITS = 52, EXPONENT_BIAS = 1075 };

/* v = c * 2^q; `lopsided` if the lower neighbour is only half as far away as the upper one. */
struct binary {
    uint64_t c;
    int q;
    bool lopsided;
};

static struct binary take_apart(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    int exponent = (int)(bits >> FRACTION_BITS & 0x7ff);
    if (exponent == 0)
        return (struct binary){.c = fraction, .q = 1 - EXPONENT_BIAS, .lopsided = false};
    return (struct binary){.c = fraction | UINT64_C(1) << FRACTION_BITS,
                           .q = exponent - EXPONENT_BIAS,
                           .lopsided = (fraction == 0) & (exponent > 1)};
}

/* floor(log10(2^q)), or of 3/4 * 2^q, the width of a lopsided interval: 1262611 / 2^22 is log10(2) closely
 * enough for the exponents of doubles, 524031 / 2^22 is -log10(3/4). */
static int width_log10(int q, bool lopsided)
{
    return (q * 1262611 - (lopsided ? 524031 : 0)) >> 22;
}

/* power * n / 2^128, rounded to odd: down, with the last bit set if the rest is not 0. The power is too large
 * by less than 1, hence a rest of up to 1 in the middle word counts as 0. */
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
    struct binary v = take_apart(value);
    int k = width_log10(v.q, v.lopsided);
    pf_uint128 power = pf_power_of_ten(-k) + !pf_power_is_exact(-k);
    int shift = v.q + pf_power_log2(-k) + 1; /* 1 to 4 */

    uint64_t middle = scale_to_odd(power, v.c * 4 << shift);
    uint64_t lower = scale_to_odd(power, (v.c * 4 - 2 + v.lopsided) << shift);
    uint64_t upper = scale_to_odd(power, (v.c * 4 + 2) << shift);
    /* The ends themselves read back as v only if c is even. */
    lower += v.c & 1;
    upper -= v.c & 1;

    /* All without branches: random digits would have the processor guess wrong half of the time. */
    uint64_t down = middle / 4;
    uint64_t tens = down / 10;
    bool tens_inside = lower <= tens * 40;
    bool next_tens_inside = tens * 40 + 40 <= upper;
    bool shorter = (tens > 0) & (tens_inside ^ next_tens_inside);

    bool down_inside = lower <= down * 4;
    bool up_inside = down * 4 + 4 <= upper;
    bool only_up = up_inside && !down_inside;
    bool either = up_inside == down_inside;
    bool nearer_up = (middle & 3) + (down & 1) > 2; /* a tie goes to the even one */
    bool round_up = only_up | (either & nearer_up);

    uint64_t digits = shorter ? tens + next_tens_inside : down + round_up;
    return without_trailing_zeros(digits, k + shorter);
}
