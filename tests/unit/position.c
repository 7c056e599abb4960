/* SPDX-License-Identifier: MIT */
/* Tests how positions of cursors are saved and restored. */
#include <errno.h>
#include <stdint.h>

#include "formats/runtime/numbered.h"
#include "tests/unit/tap.h"

struct position {
    uint64_t row;
    uint32_t thread, value;
};

static bool same(const struct position *a, const struct position *b)
{
    return a->row == b->row && a->thread == b->thread && a->value == b->value;
}

int main(void)
{
    struct pf_error error = {0};
    const struct position kept = {1ull << 40, 3, 7}, other = {1, 2, 3};
    struct position back = other;
    unsigned char saved[sizeof kept + 1] = {0}, untouched[sizeof saved] = {0};

    ok(pf_position_save(&kept, sizeof kept, saved, sizeof kept - 1) == sizeof kept &&
           !memcmp(saved, untouched, sizeof saved),
       "saving a position without room for it returns its size and writes nothing");
    ok(pf_position_save(&kept, sizeof kept, saved, sizeof saved) == sizeof kept,
       "saving a position with room for it returns its size");
    ok(pf_position_restore(&back, sizeof back, saved, sizeof saved, &error) == -1 && error.code == EINVAL &&
           same(&back, &other),
       "a saved position that is too long is refused, and the position is unchanged");
    ok(pf_position_restore(&back, sizeof back, saved, sizeof kept - 1, &error) == -1 && same(&back, &other),
       "a saved position that is too short is refused, and the position is unchanged");
    ok(!pf_position_restore(&back, sizeof back, saved, sizeof kept, &error) && same(&back, &kept),
       "restoring a saved position returns it");
    ok(pf_position_refuse(&error) == -1 && error.code == EINVAL, "refusing a position returns EINVAL");
    return done();
}
