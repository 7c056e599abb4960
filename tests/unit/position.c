/* SPDX-License-Identifier: MIT */
/* Positions of cursors, saved and restored. */
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
    unsigned char blob[sizeof kept + 1] = {0}, untouched[sizeof blob] = {0};

    ok(pf_position_save(&kept, sizeof kept, blob, sizeof kept - 1) == sizeof kept &&
           !memcmp(blob, untouched, sizeof blob),
       "without room for it a position tells its size and writes nothing");
    ok(pf_position_save(&kept, sizeof kept, blob, sizeof blob) == sizeof kept, "with room for it, too");
    ok(pf_position_restore(&back, sizeof back, blob, sizeof blob, &error) == -1 && error.code == EINVAL &&
           same(&back, &other),
       "a blob that is too long is refused, and the position stays as it was");
    ok(pf_position_restore(&back, sizeof back, blob, sizeof kept - 1, &error) == -1 && same(&back, &other),
       "one that is too short as well");
    ok(!pf_position_restore(&back, sizeof back, blob, sizeof kept, &error) && same(&back, &kept),
       "what was kept comes back");
    ok(pf_position_refuse(&error) == -1 && error.code == EINVAL, "a position that cannot be is refused");
    return done();
}
