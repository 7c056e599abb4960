/* SPDX-License-Identifier: MIT */
/* Reads any bytes as the anchor.xml of a .cubex that has a matrix for metric 0. */
#include "tests/fuzz/cube_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char index[] = "CUBEX.INDEX\1\0\0\0\0\0\1\3\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0";
    static const char values[] =
        "CUBEX.DATAvalues of many kinds, as they happen to stand here, one after the other";
    struct fuzz_file file = create();
    put_member(file, "0.index", index, sizeof index - 1);
    put_member(file, "0.data", values, sizeof values - 1);
    put_member(file, "anchor.xml", data, size);
    return read_cube(file, data, size);
}
