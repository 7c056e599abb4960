/* SPDX-License-Identifier: MIT */
#ifndef HPCTOOLKIT_FUZZ_H
#define HPCTOOLKIT_FUZZ_H

#include <dirent.h>
#include <errno.h>

#include "tests/fuzz/profile.h"

/*
 * HPCToolkit databases in which one file has arbitrary content. If the input's first byte is odd, the rest is the file; otherwise the rest
 * is a list of changes to the bundled sample's file, four bytes each: u16 offset, u8 operation, u8 operand. Runs in the repository's
 * folder.
 */

extern const struct pf_driver pf_hpctoolkit_driver;

#define SAMPLES "tests/samples/archive/hpc"

enum { BYTES_MAX = 1 << 18 };

static inline size_t read_sample(const char *layout, const char *name, unsigned char bytes[BYTES_MAX])
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s/%s", SAMPLES, layout, name);
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, BYTES_MAX);
    if (got < 0)
        abort();
    close(fd);
    return (size_t)got;
}

/* Copies the sample into tmpfs under the same name; the folder may exist already. Returns a descriptor of the copy's folder. */
static inline int copy_sample(const char *layout)
{
    static unsigned char bytes[BYTES_MAX];
    char path[300];
    bool made = !mkdirat(fuzz_folder(), layout, 0700) || errno == EEXIST;
    int folder = made ? openat(fuzz_folder(), layout, O_RDONLY | O_DIRECTORY) : -1;
    snprintf(path, sizeof path, "%s/%s", SAMPLES, layout);
    DIR *listing = opendir(path);
    const struct dirent *entry;
    if (folder < 0 || !listing)
        abort();
    while ((entry = readdir(listing)))
        if (entry->d_type == DT_REG)
            fuzz_write(folder, entry->d_name, bytes, read_sample(layout, entry->d_name, bytes));
    closedir(listing);
    return folder;
}

/* Applies one change. Returns the new size. */
static inline size_t change(unsigned char *bytes, size_t size, const uint8_t *edit)
{
    size_t at = ((size_t)edit[0] | (size_t)edit[1] << 8) % (size + 1);
    size_t left = size - at;
    switch (edit[2] % 6) {
    case 0:
        memset(bytes + at, edit[3], left < 1 ? left : 1);
        break;
    case 1:
        memset(bytes + at, edit[3], left < 4 ? left : 4);
        break;
    case 2:
        memset(bytes + at, edit[3], left < 8 ? left : 8);
        break;
    case 3:
        if (left)
            bytes[at] = (unsigned char)(bytes[at] + edit[3]);
        break;
    case 4: /* moves later bytes to this offset, so that the file's offsets point elsewhere */
        if (edit[3] && left > edit[3])
            memmove(bytes + at, bytes + at + edit[3], left - edit[3]);
        break;
    default:
        return edit[3] % 8 ? size : at;
    }
    return size;
}

static inline size_t make_input(const char *layout, const char *file, const uint8_t *data, size_t size,
                                unsigned char bytes[BYTES_MAX])
{
    if (size && data[0] & 1) {
        size = size - 1 < BYTES_MAX ? size - 1 : BYTES_MAX;
        memcpy(bytes, data + 1, size);
        return size;
    }
    size_t made = read_sample(layout, file, bytes);
    for (size_t at = 1; at + 4 <= size; at += 4)
        made = change(bytes, made, data + at);
    return made;
}

/* Replaces `file` in one of two samples by the input, and reads the sample. Bit 1 of the first byte chooses the sample. */
static inline int fuzz(const char *const layouts[2], const char *file, const uint8_t *data, size_t size)
{
    static unsigned char bytes[BYTES_MAX];
    static int folders[2] = {-1, -1};
    unsigned which = size ? data[0] >> 1 & 1 : 0;
    if (folders[which] < 0)
        folders[which] = copy_sample(layouts[which]);
    size_t made = make_input(layouts[which], file, data, size, bytes);
    fuzz_write(folders[which], file, bytes, made);
    fuzz_read(&pf_hpctoolkit_driver, fuzz_folder(), layouts[which], size ? data[0] : 0, FUZZ_TWICE);
    return 0;
}

#endif
