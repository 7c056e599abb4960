/* SPDX-License-Identifier: MIT */
#include "formats/kit/powers.h"

#include "tests/unit/tap.h"

static pf_uint128 joined(uint64_t high, uint64_t low)
{
    return (pf_uint128)high << 64 | low;
}

static void known_powers(void)
{
    ok(pf_power_of_ten(0) == (pf_uint128)1 << 127 && pf_power_log2(0) == 0, "10^0 is 2^127 * 2^-127");
    ok(pf_power_of_ten(1) == (pf_uint128)5 << 125 && pf_power_log2(1) == 3, "10^1 is 5/4 * 2^3");
    ok(pf_power_of_ten(19) == (pf_uint128)UINT64_C(10000000000000000000) << 64 && pf_power_log2(19) == 63,
       "10^19 has 64 bits");
    ok(pf_power_of_ten(-1) == joined(UINT64_C(0xcccccccccccccccc), UINT64_C(0xcccccccccccccccc)) &&
           pf_power_log2(-1) == -4,
       "10^-1 is truncated, not rounded");
}

static void powers_of_five_that_fit(void)
{
    bool right = true;
    pf_uint128 five = 1;
    for (int k = 0; k <= 55; k++) {
        pf_uint128 bits = five;
        while (!(bits >> 127))
            bits *= 2;
        right &= pf_power_of_ten(k) == bits && pf_power_is_exact(k);
        if (k < 55)
            five *= 5;
    }
    ok(right, "10^0 to 10^55 are exact");
    ok(five > ~(pf_uint128)0 / 5, "5^56 has more than 128 bits");
    ok(!pf_power_is_exact(56) && !pf_power_is_exact(-1), "10^56 and 10^-1 are not exact");
}

/* Returns ten times the bits of 10^k, shifted to align with the bits of 10^(k+1). */
static pf_uint128 times_ten(pf_uint128 bits, int shift)
{
    pf_uint128 low = (pf_uint128)(uint64_t)bits * 10;
    pf_uint128 high = (bits >> 64) * 10 + (uint64_t)(low >> 64);
    return high << (64 - shift) | (uint64_t)low >> shift;
}

static void each_is_ten_times_the_one_before(void)
{
    bool right = true;
    for (int k = PF_POWER_MIN; k < PF_POWER_MAX; k++) {
        int shift = pf_power_log2(k + 1) - pf_power_log2(k);
        right &= shift == 3 || shift == 4;
        right &= pf_power_of_ten(k) >> 127 == 1;
        /* A truncated power is less than 1 too small, so after times_ten, which shifts by 3 or more, less than 2. */
        right &= pf_power_of_ten(k + 1) - times_ten(pf_power_of_ten(k), shift) < 3;
    }
    ok(right, "each power is ten times the previous one, except for truncated bits");
}

int main(void)
{
    known_powers();
    powers_of_five_that_fit();
    each_is_ten_times_the_one_before();
    return done();
}
