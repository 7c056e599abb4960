/* SPDX-License-Identifier: MIT */
#include "formats/afperf/log.h"

#include <errno.h>
#include <stdlib.h>

enum { WINDOW = 4096 }; /* events */

static uint64_t count_of(const struct pf_store *store)
{
    return pf_store_size(store) / sizeof(uint64_t);
}

/* A window; no larger than the store, which is small in most files. NULL: out of memory. */
static uint64_t *window_for(const struct pf_store *store)
{
    uint64_t count = count_of(store);
    return malloc((count < WINDOW ? (size_t)count + 1 : WINDOW) * sizeof(uint64_t));
}

/* Fills a window from event i on. */
static int load(const struct pf_store *store, uint64_t *window, uint64_t i, uint64_t *n,
                struct pf_error *error)
{
    uint64_t count = count_of(store);
    if (i >= count)
        return pf_fail(error, EIO, "an event is not in the list");
    *n = count - i < WINDOW ? count - i : WINDOW;
    return pf_store_read(store, i * sizeof *window, window, *n * sizeof *window, error);
}

int afperf_log_reader_init(struct afperf_log_reader *reader, const struct pf_store *store,
                           struct pf_error *error)
{
    *reader = (struct afperf_log_reader){.store = store, .window = window_for(store)};
    return reader->window ? 0 : pf_fail_memory(error);
}

void afperf_log_reader_free(struct afperf_log_reader *reader)
{
    free(reader->window);
    reader->window = NULL;
}

int afperf_log_load(struct afperf_log_reader *reader, uint64_t i, struct pf_error *error)
{
    reader->n = 0;
    reader->first = i;
    return load(reader->store, reader->window, i, &reader->n, error);
}

int afperf_log_batch_flush(struct afperf_log_batch *batch, struct pf_store *store, struct pf_error *error)
{
    size_t size = batch->n * sizeof *batch->events;
    batch->n = 0;
    return pf_store_append(store, batch->events, size, error);
}

int afperf_log_writer_init(struct afperf_log_writer *writer, struct pf_store *store, struct pf_error *error)
{
    *writer = (struct afperf_log_writer){.store = store, .window = window_for(store)};
    return writer->window ? 0 : pf_fail_memory(error);
}

void afperf_log_writer_free(struct afperf_log_writer *writer)
{
    free(writer->window);
    writer->window = NULL;
}

int afperf_log_flush(struct afperf_log_writer *writer, struct pf_error *error)
{
    if (!writer->changed)
        return 0;
    writer->changed = false;
    return pf_store_write(writer->store, writer->first * sizeof *writer->window, writer->window,
                          writer->n * sizeof *writer->window, error);
}

int afperf_log_set(struct afperf_log_writer *writer, uint64_t i, uint64_t event, struct pf_error *error)
{
    if (i - writer->first >= writer->n) {
        if (afperf_log_flush(writer, error) < 0)
            return -1;
        writer->n = 0;
        if (load(writer->store, writer->window, i, &writer->n, error) < 0)
            return -1;
        writer->first = i;
    }
    writer->window[i - writer->first] = event;
    writer->changed = true;
    return 0;
}
