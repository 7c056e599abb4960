/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a thread's table of values. */
#include "tests/fuzz/hpctoolkit_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const layouts[2] = {"solver-2019", "solver-2019"};
    return fuzz(layouts, "1.solver-000000-000-7f0101-4711-0.metric-db", data, size);
}
