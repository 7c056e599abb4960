/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/read.h"

#include <errno.h>
#include <stdlib.h>

const unsigned char *hpc_window_load(struct hpc_window *window, uint64_t offset, size_t size, uint64_t end,
                                     struct pf_error *error)
{
    if (!window->bytes) {
        if (window->room < HPC_WINDOW_FIRST)
            window->room = HPC_WINDOW_FIRST;
        window->bytes = malloc(window->room);
        if (!window->bytes) {
            pf_fail_memory(error);
            return NULL;
        }
    }
    /* A record may lie across the end of the piece before. */
    bool goes_on = window->have && offset >= window->start && offset <= window->start + window->have;
    size_t want = goes_on ? window->next * 2 : HPC_WINDOW_FIRST;
    window->next = want < window->room ? want : window->room;
    want = end - offset < window->next ? (size_t)(end - offset) : window->next;
    window->have = 0;
    ssize_t got = pf_input_read(window->input, window->bytes, want, offset, error);
    if (got < 0)
        return NULL;
    window->start = offset;
    window->have = (size_t)got;
    if (window->have < size) {
        pf_fail_at(error, EIO, (int64_t)offset, "the file ends inside a record");
        return NULL;
    }
    return window->bytes;
}

void hpc_window_close(struct hpc_window *window)
{
    free(window->bytes);
    window->bytes = NULL;
    window->have = 0;
}
