/* SPDX-License-Identifier: MIT */
#include "formats/kit/number.h"
#include "formats/kit/print.h"
#include "tests/unit/tap.h"

static void reads_as(const char *text, int places, const char *want, const char *name)
{
    pf_int128 value = 0;
    char have[PF_NUMBER_MAX + 1] = "none";
    if (pf_parse_fixed(text, strlen(text), places, &value))
        *pf_print_wide(have, value) = 0;
    is(have, want, name);
}

int main(void)
{
    reads_as("4249687522.778", 3, "4249687522778", "microseconds are read exactly as nanoseconds");
    reads_as("1707417525509335.123", 3, "1707417525509335123",
             "numbers beyond the precision of a double are exact");
    reads_as("0.0019", 3, "1", "a fraction of the last place is truncated");
    reads_as("-0.0019", 3, "-1", "a negative fraction is truncated toward zero");
    reads_as("17", 0, "17", "an integer is read");
    reads_as("5.", 1, "50", "a number may end with the point");
    reads_as(".5", 1, "5", "a number may begin with the point");
    reads_as("+7", 0, "7", "a number may have a plus sign");
    reads_as("1e3", 3, "1000000", "a number may have an exponent");
    reads_as("1.5E-3", 6, "1500", "a number may have a negative exponent");
    reads_as("0.0000000000000000000000000000000000000000000012", 46, "12",
             "leading zeros do not count as digits");
    reads_as("123456789012345678901234567890123456789012345e-10", 0, "12345678901234567890123456789012345",
             "more than 38 digits are read if an exponent cuts them");
    reads_as("0e999999999999", 3, "0", "zero with a huge exponent is zero");
    reads_as("1e-999999999999", 3, "0", "a number with a tiny exponent is zero");
    reads_as("1e36", 3, "none", "a number of more than 128 bits is invalid");
    reads_as("1e999999999999", 0, "none", "a number with a huge exponent is invalid");
    reads_as("", 0, "none", "an empty text is invalid");
    reads_as(".", 0, "none", "a point without digits is invalid");
    reads_as("1e", 0, "none", "an exponent without digits is invalid");
    reads_as("1x", 0, "none", "a number with a letter after it is invalid");
    reads_as("NaN", 0, "none", "a word is invalid");
    ok(pf_fixed_double(9899999986373587, 11) == 98999.99986373587,
       "a fixed-point number becomes the nearest double");
    ok(pf_fixed_double(-5, 1) == -0.5, "a negative fixed-point number becomes a negative double");
    return done();
}
