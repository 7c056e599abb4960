/* SPDX-License-Identifier: MIT */
#ifndef PF_WINDOW_H
#define PF_WINDOW_H

#include "formats/input/input.h"

/*
 * Reads records of an input through a piece of it that is held in memory: it begins with the last record that was not in the one
 * before. All zero but `input` and `room` it holds nothing yet. For one thread.
 */
struct pf_window {
    struct pf_input *input; /* borrowed */
    size_t room;            /* bytes to read at once, if a record is not longer; 0: 4 KB */
    unsigned char *bytes;   /* owned; NULL until something is read */
    size_t size;            /* of that memory */
    uint64_t start;         /* offset of bytes[0] in the input */
    size_t have;            /* bytes held */
};

/* For the next function. */
const unsigned char *pf_window_load(struct pf_window *window, uint64_t offset, size_t size,
                                    struct pf_error *error);

/* `size` bytes at `offset`, valid until the next call. NULL with *error filled: ENODATA if the input ends before. */
static inline const unsigned char *pf_window_at(struct pf_window *window, uint64_t offset, size_t size,
                                                struct pf_error *error)
{
    uint64_t skip = offset - window->start;
    if (offset >= window->start && skip < window->have && size <= window->have - skip)
        return window->bytes + skip;
    return pf_window_load(window, offset, size, error);
}

/* How many bytes are held from these on, which the last call has given. */
static inline size_t pf_window_rest(const struct pf_window *window, const unsigned char *bytes)
{
    return window->have - (size_t)(bytes - window->bytes);
}

/* Frees the piece; the window may be used again. */
void pf_window_close(struct pf_window *window);

#endif
