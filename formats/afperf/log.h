/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_LOG_H
#define PF_AFPERF_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/store.h"

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

/* Event number i. 0; -1 with *error filled, also if there is none. */
int afperf_log_get(struct afperf_log_reader *reader, uint64_t i, uint64_t *event, struct pf_error *error);

struct afperf_log_writer {
    struct pf_store *store;
    uint64_t *window;
    uint64_t first, n;
    bool changed;
};

int afperf_log_writer_init(struct afperf_log_writer *writer, struct pf_store *store, struct pf_error *error);
void afperf_log_writer_free(struct afperf_log_writer *writer);

/* Overwrites event number i, which is there. Written at the latest when flushed. 0, or -1 with *error filled. */
int afperf_log_set(struct afperf_log_writer *writer, uint64_t i, uint64_t event, struct pf_error *error);
int afperf_log_flush(struct afperf_log_writer *writer, struct pf_error *error);

#endif
