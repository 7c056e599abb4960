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
    reads_as("4249687522.778", 3, "4249687522778", "microseconds as nanoseconds, exactly");
    reads_as("1707417525509335.123", 3, "1707417525509335123", "beyond what a double holds");
    reads_as("0.0019", 3, "1", "what is below one is cut off,");
    reads_as("-0.0019", 3, "-1", "toward zero");
    reads_as("17", 0, "17", "an integer");
    reads_as("5.", 1, "50", "nothing need stand behind the point,");
    reads_as(".5", 1, "5", "nor before it");
    reads_as("+7", 0, "7", "a sign");
    reads_as("1e3", 3, "1000000", "an exponent");
    reads_as("1.5E-3", 6, "1500", "a negative one");
    reads_as("0.0000000000000000000000000000000000000000000012", 46, "12", "zeros in front are no digits");
    reads_as("123456789012345678901234567890123456789012345e-10", 0, "12345678901234567890123456789012345",
             "digits beyond 38 count by their place");
    reads_as("0e999999999999", 3, "0", "nothing stays nothing");
    reads_as("1e-999999999999", 3, "0", "what is tiny is nothing");
    reads_as("1e36", 3, "none", "too large");
    reads_as("1e999999999999", 0, "none", "far too large");
    reads_as("", 0, "none", "nothing is no number");
    reads_as(".", 0, "none", "nor is a point");
    reads_as("1e", 0, "none", "nor an exponent without digits");
    reads_as("1x", 0, "none", "nor what goes on");
    reads_as("NaN", 0, "none", "nor a word");
    ok(pf_fixed_double(9899999986373587, 11) == 98999.99986373587, "back to the nearest double");
    ok(pf_fixed_double(-5, 1) == -0.5, "with its sign");
    return done();
}
