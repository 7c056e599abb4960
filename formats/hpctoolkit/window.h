/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_WINDOW_H
#define PF_HPC_WINDOW_H

#include "formats/input/source.h"

/*
 * Reads records of a file through a piece of it that is held in memory. The piece starts small and grows while
 * reading goes straight on, so that jumping about reads little more than what is asked for. Belongs to one
 * thread. All zero but `input` and `room` is a window that holds nothing yet.
 */
struct hpc_window {
    struct pf_input *input;
    size_t room;          /* bytes that a piece may have; at least HPC_WINDOW_FIRST are kept */
    unsigned char *bytes; /* owned; NULL until something is read */
    uint64_t start;       /* offset of bytes[0] in the file */
    size_t have, next;    /* bytes held; what to read at least when these are used up */
};

#define HPC_WINDOW_FIRST ((size_t)4096)

/*
 * `size` bytes (at most HPC_WINDOW_FIRST) at `offset`; nothing at or beyond `end` is read, which is at least
 * offset + size. Valid until the next call. NULL with *error filled: EIO if the file ends before.
 */
const unsigned char *hpc_window_load(struct hpc_window *window, uint64_t offset, size_t size, uint64_t end,
                                     struct pf_error *error);

static inline const unsigned char *hpc_window_at(struct hpc_window *window, uint64_t offset, size_t size,
                                                 uint64_t end, struct pf_error *error)
{
    uint64_t skip = offset - window->start;
    if (offset >= window->start && skip < window->have && size <= window->have - skip)
        return window->bytes + skip;
    return hpc_window_load(window, offset, size, end, error);
}

/* Frees the piece. */
void hpc_window_close(struct hpc_window *window);

#endif
