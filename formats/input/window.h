/* SPDX-License-Identifier: MIT */
#ifndef PF_WINDOW_H
#define PF_WINDOW_H

#include "formats/input/input.h"

/* Reads records of an input through a buffer. If a record is not in the buffer, the buffer is refilled from the
 * start of that record. Zero-initialize all members except `input` and `room`. One thread at a time. */
struct pf_window {
    struct pf_input *input; /* borrowed */
    size_t room;            /* minimum number of bytes per read; 0: 4 KB */
    unsigned char *bytes;   /* owned; NULL before the first read */
    size_t size;            /* capacity of `bytes` */
    uint64_t start;         /* offset of bytes[0] in the input */
    size_t have;            /* number of valid bytes */
};

/* Slow path of pf_window_at. */
const unsigned char *pf_window_load(struct pf_window *window, uint64_t offset, size_t size,
                                    struct pf_error *error);

/* Returns `size` bytes at `offset`, valid until the next call. NULL with *error filled: ENODATA if the input is too
 * short. */
static inline const unsigned char *pf_window_at(struct pf_window *window, uint64_t offset, size_t size,
                                                struct pf_error *error)
{
    uint64_t skip = offset - window->start;
    if (offset >= window->start && skip < window->have && size <= window->have - skip)
        return window->bytes + skip;
    return pf_window_load(window, offset, size, error);
}

/*
 * Returns the number of buffered bytes from `bytes` on. `bytes` is the pointer that the last call of pf_window_at
 * returned.
 */
static inline size_t pf_window_rest(const struct pf_window *window, const unsigned char *bytes)
{
    return window->have - (size_t)(bytes - window->bytes);
}

/* Frees the buffer; the window may be used again. */
void pf_window_close(struct pf_window *window);

#endif
