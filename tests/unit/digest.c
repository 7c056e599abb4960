/* SPDX-License-Identifier: MIT */
#include "formats/kit/digest.h"

#include <stdbool.h>
#include <stdio.h>

#include "tests/unit/tap.h"

static void tells_texts_apart(void)
{
    ok(pf_digest(0, "a", 1) != pf_digest(0, "a\0", 2) && pf_digest(0, "", 0) != pf_digest(0, "\0", 1),
       "texts of other length have another digest");
    ok(pf_digest(1, "main", 4) != pf_digest(2, "main", 4), "the same text after another one has another digest");
    unsigned char bytes[29] = {0};
    uint64_t none = pf_digest(0, bytes, sizeof bytes);
    unsigned same = 0;
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        same += pf_digest(0, bytes, sizeof bytes) == none;
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    ok(same == 0, "every bit changes the digest");
    ok(pf_digest(0, "main", 4) == 0xe00d0b1fd7017dba && pf_digest(7, "some function", 13) == 0x63b69c35392d761d,
       "a text has the same hash on every machine");
}

/* Checks that the lower bits, which hash tables use, are evenly distributed. */
static void spreads(const char *format, const char *what)
{
    enum { TEXTS = 10000, SLOTS = 1 << 15 };
    static unsigned char taken[SLOTS];
    unsigned met = 0;
    memset(taken, 0, sizeof taken);
    for (unsigned i = 0; i < TEXTS; i++) {
        char text[64];
        int size = snprintf(text, sizeof text, format, i);
        unsigned slot = pf_digest(0, text, (size_t)size) % SLOTS;
        met += taken[slot];
        taken[slot] = 1;
    }
    /* A random function has 1382 collisions on average: 10000 - 32768 * (1 - exp(-10000 / 32768)). */
    ok(met > 1100 && met < 1700, "%s spread over the lower bits like random numbers: %u collisions", what, met);
}

int main(void)
{
    tells_texts_apart();
    spreads("%u", "numbers");
    spreads("f%05u", "names of six bytes");
    spreads("some_name_space::function_%u(int)", "long names that differ in the middle");
    spreads("%u_is_what_they_begin_with", "long names that differ at their start");
    return done();
}
