/* SPDX-License-Identifier: MIT */
/* Reads any bytes after the magic number and version of an XRay profiling file, in either byte order. */
#include "tests/fuzz/xray_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 32)
        return 0;
    static const unsigned char little[16] = {'f', 'o', 'r', 'p', 'y', 'a', 'r', 'x', 0x24, 0x04, 0x18, 0x20};
    static const unsigned char big[16] = {'x', 'r', 'a', 'y', 'p',  'r',  'o',  'f',
                                          0,   0,   0,   0,   0x20, 0x18, 0x04, 0x24};
    read_bytes(data[0] & 0x80 ? big : little, 16, data, size);
    return 0;
}
