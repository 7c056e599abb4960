/* SPDX-License-Identifier: MIT */
/* Reads any bytes as experiment.xml of version 4.0 or 2.2. */
#include "tests/fuzz/hpctoolkit_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const layouts[2] = {"solver-2021", "solver-2019"};
    return fuzz(layouts, "experiment.xml", data, size);
}
