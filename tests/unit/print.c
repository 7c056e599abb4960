/* SPDX-License-Identifier: MIT */
#include "formats/kit/print.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "formats/kit/shortest.h"
#include "tests/unit/tap.h"

static uint64_t random_state = UINT64_C(0x9E3779B97F4A7C15);

/* xorshift64*: the same numbers in every run. */
static uint64_t random_bits(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void integers_print_as_printf_does(void)
{
    bool prints = true, sizes = true;
    for (int i = 0; i < 200000; i++) {
        uint64_t value = random_bits() >> (random_bits() % 64);
        char want[PF_NUMBER_MAX], have[PF_NUMBER_MAX];
        snprintf(want, sizeof want, "%" PRIu64, value);
        *pf_print_uint(have, value) = '\0';
        prints &= !strcmp(have, want);
        sizes &= pf_uint_size(value) == strlen(want);
        snprintf(want, sizeof want, "%" PRId64, (int64_t)value);
        *pf_print_int(have, (int64_t)value) = '\0';
        prints &= !strcmp(have, want);
        sizes &= pf_int_size((int64_t)value) == strlen(want);
    }
    ok(prints, "integers of every length print as printf does");
    ok(sizes, "the size of an integer is the number of printed bytes");
}

static void integers_around_powers_of_ten(void)
{
    bool right = true;
    char want[PF_NUMBER_MAX], have[PF_NUMBER_MAX];
    for (int i = 0; i < 20; i++)
        for (int step = -1; step <= 1; step++) {
            uint64_t value = pf_tens[i] + (uint64_t)step;
            int size = snprintf(want, sizeof want, "%" PRIu64, value);
            *pf_print_uint(have, value) = '\0';
            right &= !strcmp(have, want) && pf_uint_size(value) == (unsigned)size;
        }
    ok(right, "integers next to each power of ten have the right digits and size");
    *pf_print_uint(have, UINT64_MAX) = '\0';
    is(have, "18446744073709551615", "the largest unsigned integer prints all digits");
    *pf_print_int(have, INT64_MIN) = '\0';
    is(have, "-9223372036854775808", "the smallest signed integer prints all digits");
    ok(pf_int_size(INT64_MIN) == 20, "the size of the smallest signed integer is 20");
}

static void wide(pf_int128 value, const char *want)
{
    char have[PF_NUMBER_MAX];
    *pf_print_wide(have, value) = '\0';
    is(have, want, want);
    ok(pf_wide_size(value) == strlen(want), "%s: the size is exact", want);
}

static void wide_integers(void)
{
    pf_int128 one = 1, ten_19 = (pf_int128)pf_tens[19];
    pf_int128 largest = ((one << 126) - 1) * 2 + 1;
    wide(0, "0");
    wide(-7, "-7");
    wide(UINT64_MAX, "18446744073709551615");
    wide((pf_int128)UINT64_MAX + 1, "18446744073709551616");
    wide(-(pf_int128)UINT64_MAX - 1, "-18446744073709551616");
    wide(ten_19 * 10 - 1, "99999999999999999999");
    wide(ten_19 * 10, "100000000000000000000");
    wide(ten_19 * 100000 - 1, "999999999999999999999999");
    wide(ten_19 * 100000, "1000000000000000000000000");
    wide(ten_19 * ten_19 + 5, "100000000000000000000000000000000000005");
    wide(largest, "170141183460469231731687303715884105727");
    wide(-largest - 1, "-170141183460469231731687303715884105728");
}

static void number(double value, const char *want)
{
    char have[PF_NUMBER_MAX];
    *pf_print_double(have, value) = '\0';
    is(have, want, want);
    ok(pf_double_size(value) == strlen(want), "%s: the size is exact", want);
}

static void doubles_print_shortest(void)
{
    number(0.1, "0.1");
    number(0.1 + 0.2, "0.30000000000000004");
    number(1.0 / 3, "0.3333333333333333");
    number(5549.9867, "5549.9867");
    number(-2.5, "-2.5");
    number(123456789.125, "123456789.125");
    number(9007199254740993.0, "9007199254740992");
    number(5e-324, "5e-324");
    number(1e-323, "1e-323");
    number(DBL_MIN, "2.2250738585072014e-308");
    number(nextafter(DBL_MIN, 0), "2.225073858507201e-308");
    number(DBL_MAX, "1.7976931348623157e+308");
    number(-DBL_MAX, "-1.7976931348623157e+308");
    number(2e-44, "2e-44");
    number(9.5367431640625e-07, "9.5367431640625e-07");
}

static void exponents_as_printf_chooses(void)
{
    number(0, "0");
    number(-0.0, "-0");
    number(1, "1");
    number(-1, "-1");
    number(1e15, "1000000000000000");
    number(1e16, "10000000000000000");
    number(12345678901234568.0, "12345678901234568");
    number(99999999999999984.0, "99999999999999980");
    number(1e17, "1e+17");
    number(-1e17, "-1e+17");
    number(123456789012345680.0, "1.2345678901234568e+17");
    number(1e100, "1e+100");
    number(1.5e300, "1.5e+300");
    number(0.001, "0.001");
    number(0.0001, "0.0001");
    number(0.00012345678901234567, "0.00012345678901234567");
    number(0.00001, "1e-05");
    number(-0.000012, "-1.2e-05");
    number(1e-99, "1e-99");
    number(1e-100, "1e-100");
    number(INFINITY, "inf");
    number(-INFINITY, "-inf");
    number((double)NAN, "nan");
    number(-(double)NAN, "nan");
}

static void plain(double value, const char *want)
{
    char have[PF_PLAIN_MAX];
    *pf_print_double_plain(have, value) = '\0';
    is(have, want, want);
}

static void plain_doubles_have_no_exponent(void)
{
    plain(1e17, "100000000000000000");
    plain(1.5e20, "150000000000000000000");
    plain(1e-05, "0.00001");
    plain(-1.25e-10, "-0.000000000125");
    plain(0.5, "0.5");
    plain(-3, "-3");
    plain(-0.0, "-0");
    plain(INFINITY, "inf");
    char have[PF_PLAIN_MAX];
    char *end = pf_print_double_plain(have, -5e-324);
    *end = '\0';
    ok(end - have == 327 && strtod(have, NULL) == -5e-324, "the smallest double has 324 places");
    end = pf_print_double_plain(have, -nextafter(DBL_MIN, 1));
    *end = '\0';
    ok(end - have <= 330 && strtod(have, NULL) == -nextafter(DBL_MIN, 1),
       "small doubles of 17 digits read back");
    end = pf_print_double_plain(have, DBL_MAX);
    *end = '\0';
    ok(end - have == 309 && strtod(have, NULL) == DBL_MAX, "the largest double has 309 digits");
}

/* Bit patterns of every kind: random, powers of two, subnormal, short decimals, integers times powers of two. */
static double random_double(int kind)
{
    uint64_t bits = random_bits();
    switch (kind % 5) {
    case 0:
        return double_of(bits);
    case 1:
        return double_of(bits & UINT64_C(0xfff) << 52);
    case 2:
        return double_of((bits & UINT64_C(0x800fffffffffffff)) >> random_bits() % 50);
    case 3:
        return (double)(bits % 1000000000) / (double)pf_tens[random_bits() % 12];
    default:
        return ldexp((double)(bits >> random_bits() % 64), (int)(random_bits() % 80) - 40);
    }
}

static double reread(struct pf_decimal d)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRIu64 "e%d", d.digits, d.exponent);
    return strtod(text, NULL);
}

/* Returns the decimal with n significant digits that is closest to value. */
static struct pf_decimal rounded(double value, unsigned n)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", (int)n - 1, value);
    struct pf_decimal d = {0, atoi(strchr(text, 'e') + 1) - (int)n + 1};
    for (const char *at = text; *at != 'e'; at++)
        if (*at != '.')
            d.digits = d.digits * 10 + (uint64_t)(*at - '0');
    return d;
}

static void random_doubles_are_shortest(void)
{
    bool back = true, shortest = true, closest = true, sizes = true;
    for (int i = 0; i < 200000; i++) {
        double value = fabs(random_double(i));
        if (!isfinite(value) || value == 0)
            continue;
        char text[PF_NUMBER_MAX];
        char *end = pf_print_double(text, value);
        *end = '\0';
        back &= strtod(text, NULL) == value;
        sizes &= pf_double_size(value) == end - text;
        struct pf_decimal d = pf_shortest(value);
        unsigned n = pf_uint_size(d.digits);
        shortest &= n <= 17 && d.digits % 10 != 0 && (n == 1 || reread(rounded(value, n - 1)) != value);
        /* Doubles below a power of two are half as far apart, so the closest decimal of n digits may read back as another double. */
        struct pf_decimal near = rounded(value, n);
        closest &= near.digits == d.digits || reread(near) != value;
    }
    ok(back, "200000 random doubles read back as the same number");
    ok(shortest, "no decimal with fewer digits reads back as the same double");
    ok(closest, "no decimal with as many digits is closer to the double");
    ok(sizes, "the sizes of doubles are the numbers of printed bytes");
}

static void locale_does_not_matter(void)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        ok(true, "the locale does not matter # SKIP no locale de_DE.UTF-8");
        return;
    }
    number(1234567.5, "1234567.5");
    setlocale(LC_ALL, "C");
}

int main(void)
{
    integers_print_as_printf_does();
    integers_around_powers_of_ten();
    wide_integers();
    doubles_print_shortest();
    exponents_as_printf_chooses();
    plain_doubles_have_no_exponent();
    random_doubles_are_shortest();
    locale_does_not_matter();
    return done();
}
