/* SPDX-License-Identifier: MIT */
#include "formats/kit/powers.h"

/* A natural number, least significant word first. Large enough for 5^324 (753 bits), and for a power of two that has
 * 128 significant bits left after division by 5^342 (795 bits). */
enum { WORDS = 30 };

struct natural {
    uint32_t word[WORDS];
};

/* Filled before main starts and constant afterwards. Exact arithmetic computes these 10 KB in less than 0.1 ms. */
static pf_uint128 powers[PF_POWER_MAX - PF_POWER_MIN + 1];

static void multiply_by_5(struct natural *n)
{
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)n->word[i] * 5;
        n->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void divide_by_5(struct natural *n)
{
    uint64_t rest = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        rest = rest << 32 | n->word[i];
        n->word[i] = (uint32_t)(rest / 5);
        rest %= 5;
    }
}

/* The 128 bits from the highest set bit downwards; n must not be 0. */
static pf_uint128 leading_bits(const struct natural *n)
{
    int top = WORDS - 1;
    while (!n->word[top])
        top--;
    pf_uint128 bits = 0;
    for (int i = top; i > top - 4; i--)
        bits = bits << 32 | (i >= 0 ? n->word[i] : 0);
    unsigned shift = (unsigned)__builtin_clz(n->word[top]);
    uint64_t next = top >= 4 ? n->word[top - 4] : 0;
    return bits << shift | next << shift >> 32;
}

/*
 * 10^k has the leading bits of 5^k, since the factor 2^k only shifts them. The bits of 5^-k result from dividing a
 * large power of two by 5 repeatedly: rounding down at each step gives the same as rounding down once at the end.
 */
__attribute__((constructor)) static void fill_powers(void)
{
    struct natural n = {{1}};
    for (int k = 0; k <= PF_POWER_MAX; k++) {
        powers[k - PF_POWER_MIN] = leading_bits(&n);
        multiply_by_5(&n);
    }
    n = (struct natural){0};
    n.word[WORDS - 1] = UINT32_C(1) << 31;
    for (int k = -1; k >= PF_POWER_MIN; k--) {
        divide_by_5(&n);
        powers[k - PF_POWER_MIN] = leading_bits(&n);
    }
}

pf_uint128 pf_power_of_ten(int k)
{
    return powers[k - PF_POWER_MIN];
}
