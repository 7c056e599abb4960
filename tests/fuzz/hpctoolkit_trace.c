/* SPDX-License-Identifier: MIT */
/* Reads any bytes as trace.db, little-endian or big-endian. */
#include "tests/fuzz/hpctoolkit_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const layouts[2] = {"solver-2023", "solver-2021"};
    return fuzz(layouts, "trace.db", data, size);
}
