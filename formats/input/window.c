/* SPDX-License-Identifier: MIT */
#include "formats/input/window.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"

const unsigned char *pf_window_load(struct pf_window *window, uint64_t offset, size_t size,
                                    struct pf_error *error)
{
    enum { LEAST = 4096 };
    size_t want = window->room ? window->room : LEAST;
    if (want < size)
        want = size;
    window->have = 0;
    if (window->size < want) {
        if (pf_array_resize(&window->bytes, want, 1, error))
            return NULL;
        window->size = want;
    }
    ssize_t got = pf_input_read(window->input, window->bytes, want, offset, error);
    if (got < 0)
        return NULL;
    if ((size_t)got < size) {
        pf_fail_at(error, ENODATA, (int64_t)offset, "the file is truncated within a record");
        return NULL;
    }
    window->start = offset;
    window->have = (size_t)got;
    return window->bytes;
}

void pf_window_close(struct pf_window *window)
{
    free(window->bytes);
    window->bytes = NULL;
    window->size = window->have = 0;
}
