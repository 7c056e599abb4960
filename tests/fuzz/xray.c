/* SPDX-License-Identifier: MIT */
/* Reads any bytes after the version and type of an XRay FDR log, in either byte order. */
#include "tests/fuzz/xray_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 32)
        return 0;
    unsigned char version = (unsigned char)(data[0] % 5 + 1);
    unsigned char little[4] = {version, 0, 1, 0}, big[4] = {0, version, 0, 1};
    read_bytes(data[0] & 0x80 ? big : little, 4, data, size);
    return 0;
}
