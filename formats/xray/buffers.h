/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_BUFFERS_H
#define PF_XRAY_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/xray/header.h"
#include "formats/xray/index.h"

/*
 * The light pass over an FDR log: which buffers it has, of which threads, and in which order they were
 * filled. Only the start of each buffer is read, unless the file is damaged there.
 */

/* One buffer of a thread. Its records are the file's bytes [body, end). */
struct xray_buffer {
    uint64_t body; /* after the NewBuffer record */
    uint64_t end;
    int64_t seconds; /* wall time of the buffer's start, of the monotonic clock */
    uint64_t tsc;    /* of its first NewCPUId */
    uint64_t start;  /* TSC of its first event */
    int32_t micros;
    uint32_t thread : 30; /* index in the index's threads */
    uint32_t has_tsc : 1;
    uint32_t has_start : 1;
};

/* 0, or -1 with *error filled. Either way *index is to be freed. */
int xray_buffers_index(struct xray_index *index, const struct xray_header *header, struct pf_input *input,
                       struct pf_pass *pass, struct pf_error *error);

/*
 * Sorts the buffers, drops those that are there twice, and gives each of the index's threads its own. 0, or -1
 * with *error filled.
 */
int xray_order(struct xray_index *index, struct xray_buffer *buffers, size_t count,
               const struct xray_header *header, struct pf_error *error);

/* Offset of the record that a buffer starts with, given that of its records. */
static inline uint64_t xray_buffer_offset(const struct xray_header *header, uint64_t body)
{
    return body - (header->version == 1 ? 16 : 32);
}

#endif
