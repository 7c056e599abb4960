/* SPDX-License-Identifier: MIT */
#ifndef XRAY_HEAD_H
#define XRAY_HEAD_H

#include "tests/fuzz/profile.h"

/* Each target reads its input as an XRay file. A valid header overwrites the start of the input, so that the reader gets to the records. */

extern const struct pf_driver pf_xray_driver;

/* Reads the input as a file, with its first bytes replaced by `head`. */
static inline void read_bytes(const unsigned char *head, size_t head_size, const uint8_t *data, size_t size)
{
    if (size < head_size)
        return;
    struct fuzz_file file = fuzz_create(fuzz_folder(), "log");
    fuzz_put(file, head, head_size);
    fuzz_put(file, data + head_size, size - head_size);
    fuzz_finish(fuzz_folder(), file);
    fuzz_read(&pf_xray_driver, fuzz_folder(), "log", data[size - 1], FUZZ_LOADS);
}

#endif
