/* SPDX-License-Identifier: MIT */
/* Reads any bytes as meta.db of the released or of the draft format. */
#include "tests/fuzz/hpctoolkit_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const layouts[2] = {"solver-2023", "solver-2022-draft"};
    return fuzz(layouts, "meta.db", data, size);
}
