/* SPDX-License-Identifier: MIT */
/* Any bytes as cct.db, little- and big-endian, of a database that is large enough for it to be used. */
#include "tests/fuzz/hpctoolkit_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const layouts[2] = {"solver-2023", "solver-2021"};
    return fuzz_stretched(layouts, "cct.db", "profile.db", 17 << 20, data, size);
}
