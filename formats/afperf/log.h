/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_LOG_H
#define PF_AFPERF_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/kit/store.h"

/*
 * Lists of events (uint64_t) in stores, which may have spilled: read and written through a window, since most come one after
 * another. Zero-initialised before init; each belongs to one thread.
 */
struct afperf_log_reader {
    const struct pf_store *store;
    uint64_t *window;
    uint64_t first, n; /* events that the window holds */
};

/* 0, or -1 with *error filled. The store must not change while it is read, and outlive the reader. */
int afperf_log_reader_init(struct afperf_log_reader *reader, const struct pf_store *store,
                           struct pf_error *error);
void afperf_log_reader_free(struct afperf_log_reader *reader);

/* Fills the window from event i on. */
int afperf_log_load(struct afperf_log_reader *reader, uint64_t i, struct pf_error *error);

/* Event number i. 0; -1 with *error filled, also if there is none. */
static inline int afperf_log_get(struct afperf_log_reader *reader, uint64_t i, uint64_t *event,
                                 struct pf_error *error)
{
    if (i - reader->first >= reader->n && afperf_log_load(reader, i, error) < 0)
        return -1;
    *event = reader->window[i - reader->first];
    return 0;
}

struct afperf_log_writer {
    struct pf_store *store;
    uint64_t *window;
    uint64_t first, n;
    bool changed;
};

int afperf_log_writer_init(struct afperf_log_writer *writer, struct pf_store *store, struct pf_error *error);
void afperf_log_writer_free(struct afperf_log_writer *writer);

/* Adds events at the end of a store, many at a time. Zero-initialised is empty. */
enum { AFPERF_LOG_BATCH = 512 };
struct afperf_log_batch {
    uint64_t events[AFPERF_LOG_BATCH];
    size_t n;
};
int afperf_log_batch_flush(struct afperf_log_batch *batch, struct pf_store *store, struct pf_error *error);
static inline int afperf_log_batch_add(struct afperf_log_batch *batch, struct pf_store *store, uint64_t event,
                                       struct pf_error *error)
{
    batch->events[batch->n++] = event;
    return batch->n == AFPERF_LOG_BATCH ? afperf_log_batch_flush(batch, store, error) : 0;
}

/* Overwrites event number i, which is there. Written at the latest when flushed. 0, or -1 with *error filled. */
int afperf_log_set(struct afperf_log_writer *writer, uint64_t i, uint64_t event, struct pf_error *error);
int afperf_log_flush(struct afperf_log_writer *writer, struct pf_error *error);

#endif
