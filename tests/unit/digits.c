/* SPDX-License-Identifier: MIT */
#include "formats/kit/number.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tests/unit/tap.h"

/* At any of the eight places, a byte that is not a digit ends the number. */
static void bytes(void)
{
    bool counted = true, joined = true;
    for (unsigned place = 0; place < 8; place++)
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[9] = "98765432";
            bool digit = byte >= '0' && byte <= '9';
            text[place] = (char)byte;
            uint64_t word = pf_digits_load(text);
            counted &= pf_digits_count(word) == (digit ? 8 : place);
            text[place] = 0;
            joined &= !place || pf_digits_join(word, place) == strtoull(text, NULL, 10);
        }
    ok(counted, "digits are counted up to any other byte");
    ok(joined, "the digits before any other byte are joined to a number");
}

static void bounds(void)
{
    ok(pf_digits_count(pf_digits_load("00000000")) == 8 && pf_digits_count(pf_digits_load("99999999")) == 8,
       "all eight bytes may be digits");
    ok(pf_digits_count(pf_digits_load("/:/:/:/:")) == 0 && pf_digits_count(pf_digits_load("\xff\xff\xff\xff"
                                                                                          "1234")) == 0,
       "bytes next to the digits in ASCII are not digits, even before digits");
    ok(pf_digits_join(pf_digits_load("99999999"), 8) == 99999999 &&
           pf_digits_join(pf_digits_load("00000001"), 8) == 1 &&
           pf_digits_join(pf_digits_load("7xxxxxxx"), 1) == 7,
       "one to eight digits are joined to a number");
}

int main(void)
{
    bytes();
    bounds();
    return done();
}
