/* SPDX-License-Identifier: MIT */
#include "formats/xray/order.h"

#include <errno.h>
#include <stdlib.h>

static bool is_thread(const struct xray_thread *thread, bool has_pid, int32_t pid, int32_t tid)
{
    return thread->tid == tid && thread->has_pid == has_pid && thread->pid == pid;
}

static uint32_t *slot_of(const struct xray_threads *threads, bool has_pid, int32_t pid, int32_t tid)
{
    uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
    for (uint64_t i = (key + has_pid) * 0x9e3779b97f4a7c15u >> 32;; i++) {
        uint32_t *slot = &threads->slots[i & threads->mask];
        if (!*slot || is_thread(&threads->items[*slot - 1], has_pid, pid, tid))
            return slot;
    }
}

static int grow(struct xray_threads *threads, struct pf_error *error)
{
    if (threads->count < threads->room)
        return 0;
    if (threads->count >= XRAY_THREADS_MAX)
        return pf_fail(error, EFBIG, "too many threads");
    size_t room = threads->room ? threads->room * 2 : 16;
    struct xray_thread *items = realloc(threads->items, room * sizeof *items);
    if (!items)
        return pf_fail_memory(error);
    threads->items = items;
    uint32_t *slots = calloc(room * 2, sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    free(threads->slots);
    threads->slots = slots;
    threads->mask = (uint32_t)(room * 2 - 1);
    threads->room = room;
    for (size_t i = 0; i < threads->count; i++)
        *slot_of(threads, items[i].has_pid, items[i].pid, items[i].tid) = (uint32_t)i + 1;
    return 0;
}

int xray_threads_find(struct xray_threads *threads, bool has_pid, int32_t pid, int32_t tid, uint32_t *index,
                      struct pf_error *error)
{
    if (grow(threads, error))
        return -1;
    uint32_t *slot = slot_of(threads, has_pid, pid, tid);
    if (!*slot) {
        threads->items[threads->count++] = (struct xray_thread){.pid = pid, .tid = tid, .has_pid = has_pid};
        *slot = (uint32_t)threads->count;
    }
    *index = *slot - 1;
    return 0;
}

struct xray_thread *xray_threads_take(struct xray_threads *threads, size_t *count)
{
    struct xray_thread *items = threads->items;
    *count = threads->count;
    free(threads->slots);
    *threads = (struct xray_threads){0};
    return items;
}

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
 * little about itself to be called a copy.
 */
static int drop_copies(struct xray_index *index, const struct xray_header *header, struct pf_error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < index->n_buffers; i++) {
        const struct xray_buffer *buffer = &index->buffers[i];
        if (kept && buffer->has_tsc && !by_time(&index->buffers[kept - 1], buffer)) {
            uint64_t offset = xray_buffer_offset(header, buffer);
            if (xray_note(&index->notes, XRAY_NOTE_DUPLICATE, offset, 0, error))
                return -1;
        } else {
            index->buffers[kept++] = *buffer;
        }
    }
    index->n_buffers = kept;
    return 0;
}

int xray_order(struct xray_index *index, const struct xray_header *header, struct pf_error *error)
{
    if (index->n_buffers)
        qsort(index->buffers, index->n_buffers, sizeof *index->buffers, by_order);
    if (drop_copies(index, header, error))
        return -1;
    index->start = UINT64_MAX;
    for (size_t i = 0; i < index->n_buffers; i++) {
        const struct xray_buffer *buffer = &index->buffers[i];
        struct xray_thread *thread = &index->threads[buffer->thread];
        if (!thread->count++)
            thread->first = i;
        index->bytes += buffer->end - buffer->body;
        if (buffer->has_start && buffer->start < index->start)
            index->start = buffer->start;
    }
    return 0;
}
