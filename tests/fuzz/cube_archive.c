/* SPDX-License-Identifier: MIT */
/* Any bytes as a .cubex. */
#include "tests/fuzz/cube_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = create();
    put(fd, data, size);
    read_file(fd);
    return 0;
}
