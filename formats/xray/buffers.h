/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_BUFFERS_H
#define PF_XRAY_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/xray/notes.h"

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

#define XRAY_THREADS_MAX ((uint32_t)1 << 30)

struct xray_thread {
    int32_t pid, tid;
    bool has_pid;
    size_t first, count; /* buffers */
};

struct xray_index {
    struct xray_buffer *buffers; /* thread after thread, in the order in which they were filled */
    size_t n_buffers;
    struct xray_thread *threads; /* in the order of their first buffers in the file */
    size_t n_threads;
    uint64_t start; /* the smallest TSC of the buffers' first events */
    uint64_t bytes; /* of all buffers together */
    struct xray_notes notes;
};

struct xray_header {
    unsigned version; /* 1 to 5 */
    bool constant_tsc, nonstop_tsc;
    uint64_t frequency;   /* ticks a second; 0: not known */
    uint64_t buffer_size; /* of one buffer; the file's layout in version 1, mere information later */
};

/* Bytes of every log's header. */
#define XRAY_HEADER_SIZE ((size_t)32)

/* 0, or -1 with *error filled. Either way *index is to be freed. */
int xray_index_make(struct xray_index *index, const struct xray_header *header, struct pf_input *input,
                    struct pf_pass *pass, struct pf_error *error);
void xray_index_free(struct xray_index *index);

/* Offset of the record that a buffer starts with. */
static inline uint64_t xray_buffer_offset(const struct xray_header *header, const struct xray_buffer *buffer)
{
    return buffer->body - (header->version == 1 ? 16 : 32);
}

#endif
