/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_ORDER_H
#define PF_XRAY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/xray/buffers.h"

/* Whose the buffers are, and in which order they were filled. */

/* Threads by process and thread id, while the index is being made. Zero-initialised is empty. */
struct xray_threads {
    struct xray_thread *items; /* owned */
    size_t count, room;
    uint32_t *slots; /* hash of the ids -> index + 1; owned */
    uint32_t mask;
};

/* The index of this thread, added if new. 0, or -1 with *error filled. */
int xray_threads_find(struct xray_threads *threads, bool has_pid, int32_t pid, int32_t tid, uint32_t *index,
                      struct pf_error *error);

/* Hands the array over to the caller and frees the rest. */
struct xray_thread *xray_threads_take(struct xray_threads *threads, size_t *count);

/* Sorts the index's buffers, drops those that are there twice, and gives each thread its own. */
int xray_order(struct xray_index *index, const struct xray_header *header, struct pf_error *error);

#endif
