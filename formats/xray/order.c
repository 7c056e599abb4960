/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/xray/buffers.h"

/* The order in which the buffers of an FDR log were filled. */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

/* By thread, then wall time, then TSC: what compares equal so far may be one buffer written twice. */
static int by_time(const struct xray_buffer *a, const struct xray_buffer *b)
{
    if (a->thread != b->thread)
        return COMPARE(a->thread, b->thread);
    if (a->seconds != b->seconds)
        return COMPARE(a->seconds, b->seconds);
    if (a->micros != b->micros)
        return COMPARE(a->micros, b->micros);
    if (a->has_tsc != b->has_tsc)
        return COMPARE(a->has_tsc, b->has_tsc);
    return COMPARE(a->tsc, b->tsc);
}

/* Of copies the longest comes first, of equally long ones that which stands first in the file. */
static int by_order(const void *left, const void *right)
{
    const struct xray_buffer *a = left, *b = right;
    int order = by_time(a, b);
    if (order)
        return order;
    if (a->has_tsc && a->end - a->body != b->end - b->body)
        return COMPARE(b->end - b->body, a->end - a->body);
    return COMPARE(a->body, b->body);
}

/*
 * Runtimes write the buffer of one live thread twice, and lose another's. A buffer without a TSC says too
 * little about itself to be called a copy. Returns how many buffers are left, SIZE_MAX with *error filled.
 */
static size_t drop_copies(struct xray_index *index, struct xray_buffer *buffers, size_t count,
                          const struct xray_header *header, struct pf_error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct xray_buffer *buffer = &buffers[i];
        if (kept && buffer->has_tsc && !by_time(&buffers[kept - 1], buffer)) {
            uint64_t offset = xray_buffer_offset(header, buffer->body);
            if (xray_note(&index->notes, XRAY_NOTE_DUPLICATE, offset, 0, error))
                return SIZE_MAX;
        } else {
            buffers[kept++] = *buffer;
        }
    }
    return kept;
}

int xray_order(struct xray_index *index, struct xray_buffer *buffers, size_t count,
               const struct xray_header *header, struct pf_error *error)
{
    if (count)
        qsort(buffers, count, sizeof *buffers, by_order);
    size_t kept = drop_copies(index, buffers, count, header, error);
    if (kept == SIZE_MAX)
        return -1;
    for (size_t i = 0; i < kept; i++) {
        struct xray_range range = {buffers[i].body, buffers[i].end};
        if (xray_index_add(index, buffers[i].thread, &range, error))
            return -1;
        if (buffers[i].has_start && buffers[i].start < index->start)
            index->start = buffers[i].start;
    }
    return 0;
}
