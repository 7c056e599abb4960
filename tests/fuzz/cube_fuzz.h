/* SPDX-License-Identifier: MIT */
#ifndef CUBE_FUZZ_H
#define CUBE_FUZZ_H

#include "tests/fuzz/profile.h"

/* Functions of the fuzz targets that write and read Cube files of a few members. */

extern const struct pf_driver pf_cube_driver;

static inline void put_member(struct fuzz_file file, const char *name, const void *content, size_t size)
{
    static const char zeros[512];
    char block[512] = {0};
    memcpy(block, name, strlen(name));
    snprintf(block + 124, 12, "%011zo", size);
    block[156] = '0';
    memcpy(block + 257, "ustar", 6);
    fuzz_put(file, block, sizeof block);
    fuzz_put(file, content, size);
    fuzz_put(file, zeros, size % 512 ? 512 - size % 512 : 0);
}

static inline struct fuzz_file create(void)
{
    return fuzz_create(fuzz_folder(), "fuzz.cubex");
}

/* Completes the file and reads it. The last byte of the input makes the choices, as the first one does in fuzz_choice. */
static inline int read_cube(struct fuzz_file file, const uint8_t *data, size_t size)
{
    fuzz_finish(fuzz_folder(), file);
    fuzz_read(&pf_cube_driver, fuzz_folder(), file.name, size ? data[size - 1] : 0, FUZZ_OPENS | FUZZ_LOADS);
    return 0;
}

#endif
