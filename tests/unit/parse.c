/* SPDX-License-Identifier: MIT */
#include "formats/kit/number.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "formats/kit/print.h"
#include "tests/unit/tap.h"

static uint64_t random_state = UINT64_C(0xD1B54A32D192ED03);

/* xorshift64*: the same numbers in every run. */
static uint64_t random_bits(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* Parses a copy with nothing after it, so that an over-read crashes under a sanitizer. */
static bool parse(const char *text, size_t size, double *value)
{
    char *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, text, size);
    bool parsed = pf_parse_double(copy, size, value);
    free(copy);
    return parsed;
}

static void reads(const char *text, double want)
{
    double value = -12345;
    bool parsed = parse(text, strlen(text), &value);
    if (!ok(parsed && same(value, want), "%.60s is %.17g", text, want))
        printf("#   have: %s %.17g\n", parsed ? "number" : "no number", value);
}

static void refuses(const char *text)
{
    double value;
    ok(!parse(text, strlen(text), &value), "\"%s\" is no number", text);
}

static void grammar(void)
{
    reads("0", 0);
    reads("-0", -0.0);
    reads("+1", 1);
    reads("007", 7);
    reads("1.5", 1.5);
    reads(".5", 0.5);
    reads("5.", 5);
    reads("-.5e1", -5);
    reads("5.e-1", 0.5);
    reads("1e5", 1e5);
    reads("1E+05", 1e5);
    reads("1e-05", 1e-5);
    reads("1_000.000_1", 1000.0001);
    reads("12345678_12345678_1", 12345678123456781.0);
    reads("1e1_0", 1e10);
    reads("inf", INFINITY);
    reads("-Infinity", -INFINITY);
    reads("+INF", INFINITY);
    reads("nan", (double)NAN);
    reads("-NaN", (double)NAN);
}

static void what_is_no_number(void)
{
    static const char *const texts[] = {
        "",          "+",         "-",         ".",        "e5",   ".e5",   "1e",       "1e+",   "1e5.",
        "1.2.3",     "--1",       "+-1",       " 1",       "1 ",   "1\n",   "0x10",     "1f",    "_1",
        "1_",        "1__0",      "1_.5",      "1._5",     "1_e5", "1e_5",  "1e5_",     "1,5",   "in",
        "infi",      "infinit",   "infinity1", "nan()",    "nano", "1e5e5", "1-",       "1e5-1", "_",
        "inf inity", "12345678a", "1234567/",  "1234567:", "- 1",  "1e 5",  "\xc2\xb2",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refuses(texts[i]);
    double value;
    ok(!parse("1\0", 2, &value), "a NUL after a number makes it invalid");
    ok(pf_parse_double("1234", 2, &value) && value == 12, "no byte beyond the given size is read");
}

static void limits(void)
{
    reads("1.7976931348623157e308", 1.7976931348623157e308);
    reads("1.7976931348623158e308", 1.7976931348623157e308);
    reads("1.7976931348623159e308", INFINITY);
    reads("-1e309", -INFINITY);
    reads("1e400", INFINITY);
    reads("2.2250738585072014e-308", 0x1p-1022);
    reads("2.2250738585072011e-308", 0x0.fffffffffffffp-1022);
    reads("2.2250738585072012e-308", 0x1p-1022);
    reads("5e-324", 0x1p-1074);
    reads("2.4703282292062328e-324", 0x1p-1074);
    reads("2.4703282292062327e-324", 0);
    reads("-1e-400", -0.0);
    reads("0e999999999999999999999999", 0);
    reads("1e999999999999999999999999", INFINITY);
    reads("1e-999999999999999999999999", 0);
    reads("123456789012345678901234567890e-340", 1.2345678901234568e-311);
}

static void ties_go_to_the_even(void)
{
    reads("9007199254740992", 9007199254740992.0);
    reads("9007199254740993", 9007199254740992.0);
    reads("9007199254740995", 9007199254740996.0);
    reads("9007199254740993.0", 9007199254740992.0);
    reads("9007199254740993.000000000000000000000000000000000000001", 9007199254740994.0);
    reads("9007199254740992.999999999999999999999999999999999999999", 9007199254740992.0);
    reads("36028797018963972", 36028797018963968.0);
    reads("36028797018963980", 36028797018963984.0);
    reads("9223372036854776832", 9223372036854775808.0);
    reads("0.500000000000000055511151231257827", 0.5);
    reads("0.500000000000000055511151231257828", 0x1.0000000000001p-1);
    reads("0.50000000000000000000", 0.5);
    reads("0.10000000000000000555111512312578270211815834045410156250", 0.1);
    reads("6.631236846766476e-316", 6.631236846766476e-316);
    reads("8.5e22", 8.5e22);
    reads("1e23", 1e23);
    reads("4.4501363245856945e-308", 4.4501363245856945e-308);
}

/* Returns `head`, then `unit` `count` times, then `tail`; the caller frees it. */
static char *composed(const char *head, char unit, size_t count, const char *tail)
{
    size_t before = strlen(head), behind = strlen(tail);
    char *text = malloc(before + count + behind + 1);
    if (!text)
        abort();
    memcpy(text, head, before);
    memset(text + before, unit, count);
    memcpy(text + before + count, tail, behind + 1);
    return text;
}

static void long_one(const char *head, char unit, size_t count, const char *tail, double want)
{
    char *text = composed(head, unit, count, tail);
    reads(text, want);
    free(text);
}

static void any_number_of_digits(void)
{
    long_one("", '0', 1000000, "1", 1);
    long_one("0.", '0', 1000000, "1e1000001", 1);
    long_one("1", '0', 1000000, "e-1000000", 1);
    long_one("1", '0', 1000000, "", INFINITY);
    long_one("0.", '9', 1000000, "", 1);
    long_one("", '7', 1000000, "e-1000000", 7.0 / 9);
    long_one("9007199254740993.", '0', 1000000, "1", 9007199254740994.0);
    long_one("9007199254740993.", '0', 1000000, "0", 9007199254740992.0);
    long_one("1e", '0', 1000000, "5", 1e5);
    long_one("1e-", '9', 1000000, "", 0);
}

/* Random doubles, written with 1100 decimal places, read back exactly. */
static void exact_expansions(void)
{
    bool right = true;
    for (int i = 0; i < 2000; i++) {
        double value = ldexp((double)(random_bits() >> 11), (int)(random_bits() % 1100) - 1074);
        char text[1200];
        int size = snprintf(text, sizeof text, "%.*f", 1100, value);
        double back;
        right &= parse(text, (size_t)size, &back) && same(back, value);
    }
    ok(right, "2000 doubles written out with 1100 places read back");
}

static bool agrees_with_strtod(const char *text)
{
    double value = -1;
    if (parse(text, strlen(text), &value) && same(value, strtod(text, NULL)))
        return true;
    printf("# %s: %.17g, not %.17g\n", text, value, strtod(text, NULL));
    return false;
}

static void random_numbers(void)
{
    bool shortest = true, digits = true, places = true;
    for (int i = 0; i < 100000; i++) {
        char text[64];
        uint64_t bits = random_bits();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            *pf_print_double(text, value) = '\0';
            shortest &= agrees_with_strtod(text);
        }
        snprintf(text, sizeof text, "%" PRIu64 "%06uE%d", random_bits() >> random_bits() % 64,
                 (unsigned)(random_bits() % 1000000), (int)(random_bits() % 700) - 360);
        digits &= agrees_with_strtod(text);
        snprintf(text, sizeof text, "%.*f", (int)(random_bits() % 25), (double)random_bits() * 0x1p-50);
        places &= agrees_with_strtod(text);
    }
    ok(shortest, "random doubles as they print read as by strtod");
    ok(digits, "random digits with random exponents read as by strtod");
    ok(places, "random numbers with up to 24 places read as by strtod");
}

/* Numbers halfway between two doubles, and just above and below. */
static void random_ties(void)
{
    bool right = true;
    for (int i = 0; i < 20000; i++) {
        uint64_t odd = (random_bits() >> 10) | 1 | UINT64_C(1) << 53;
        char text[64];
        snprintf(text, sizeof text, "%" PRIu64, odd << random_bits() % 10);
        right &= agrees_with_strtod(text);
        snprintf(text, sizeof text, "%" PRIu64 "%s", odd,
                 random_bits() % 2 ? ".000000000000000000001" : ".0");
        right &= agrees_with_strtod(text);
        snprintf(text, sizeof text, "%.*f", (int)(random_bits() % 3) + 52, ldexp((double)(odd | 3), -54) / 2);
        right &= agrees_with_strtod(text);
    }
    ok(right, "numbers at and next to ties read as by strtod");
}

static void locale_does_not_matter(void)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        ok(true, "the locale does not matter # SKIP no locale de_DE.UTF-8");
        return;
    }
    reads("1.5", 1.5);
    reads("4.9406564584124654e-324", 0x1p-1074);
    refuses("1,5");
    setlocale(LC_ALL, "C");
}

static bool takes(const char *text, unsigned base, pf_int128 want, const char *rest)
{
    struct pf_slice slice = pf_slice(text, strlen(text));
    pf_int128 number;
    return pf_take_base(&slice, base, &number) && number == want && pf_is(slice, rest);
}

static void bases(void)
{
    ok(takes("0000017780", 8, 0177, "80"), "octal digits end at an 8");
    ok(takes("fFg", 16, 255, "g"), "hexadecimal digits may be of either case");
    ok(takes("7a", 10, 7, "a"), "decimal digits end at a letter");
    ok(!takes("8", 8, 0, "8") && !takes("", 16, 0, ""), "a number has at least one digit");
}

int main(void)
{
    bases();
    grammar();
    what_is_no_number();
    limits();
    ties_go_to_the_even();
    any_number_of_digits();
    exact_expansions();
    random_numbers();
    random_ties();
    locale_does_not_matter();
    return done();
}
