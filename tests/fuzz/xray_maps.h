/* SPDX-License-Identifier: MIT */
#ifndef XRAY_MAPS_H
#define XRAY_MAPS_H

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "formats/xray/names.h"

typedef int reader(struct xray_names *names, struct pf_input *input, struct pf_error *error);

/* Replaces the C library's function by a no-op. Before sources read a new file, they wait until its times can show changes. These waits
 * would take all of the fuzzing time. */
int nanosleep(const struct timespec *wait, struct timespec *left)
{
    (void)wait;
    (void)left;
    return 0;
}

/* Checks that every entry can be looked up, and that every name is as long as its size says. */
static inline void look_up(const struct xray_names *names)
{
    char buffer[XRAY_NAME_MAX];
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (i && names->items[i].id <= names->items[i - 1].id)
            abort();
        struct pf_cell cell = xray_name(names, names->items[i].id, buffer);
        if (!cell.size || cell.size > XRAY_SYMBOL_MAX)
            abort();
        for (uint32_t c = 0; c < cell.size; c++)
            sum ^= (unsigned char)cell.text[c];
    }
    (void)sum;
    xray_name(names, UINT32_MAX, buffer);
}

/* Reads the bytes as a file that holds a map. */
static inline void read_bytes(const uint8_t *data, size_t size, reader *read_map)
{
    char path[] = "/dev/shm/xray-map.XXXXXX";
    int fd = mkstemp(path), folder = open("/dev/shm", O_RDONLY | O_DIRECTORY);
    bool written = fd >= 0 && write(fd, data, size) == (ssize_t)size;
    struct pf_error error;
    struct pf_input *input;
    struct xray_names names = {0};
    struct pf_source *source = pf_source_new(folder, path + strlen("/dev/shm/"), &error);
    if (written && source && !pf_source_open(source, NULL, PF_RAW, &input, &error)) {
        if (read_map(&names, input, &error))
            abort();
        xray_names_finish(&names);
        look_up(&names);
    }
    xray_names_free(&names);
    pf_source_free(source);
    unlink(path);
    close(fd);
    close(folder);
}

#endif
