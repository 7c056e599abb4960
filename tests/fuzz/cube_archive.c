/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a .cubex. */
#include "tests/fuzz/cube_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_file file = create();
    fuzz_put(file, data, size);
    return read_cube(file, data, size);
}
