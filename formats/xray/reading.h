/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_READING_H
#define PF_XRAY_READING_H

#include <stdatomic.h>

#include "formats/xray/contexts.h"
#include "formats/xray/notes.h"
#include "formats/xray/xray.h"

/*
 * The first half of the model pass: what the events of each thread of a log come to. Threads know nothing of
 * each other, so they can be read side by side; what has been read is handed out in their order, whichever
 * was ready first.
 */

/* What the events of one thread have come to. */
struct xray_reading {
    struct xray_contexts contexts; /* its open calls are those that had not ended when the trace did */
    struct xray_notes notes;
    uint64_t events, first_tsc, last_tsc;
};

/* Takes what a thread has come to, which it may change but not keep. 0, or -1 with *error filled. */
typedef int xray_take_reading(void *arg, size_t thread, struct xray_reading *reading, struct pf_error *error);

/*
 * Reads all threads and hands them to `take`, in their order, in the calling thread. Memory: no more than a
 * few threads' readings at a time. 0, or -1 with *error filled: then that of the first thread that failed.
 */
int xray_read_threads(const struct xray_state *state, struct pf_pass *pass, xray_take_reading *take,
                      void *arg, struct pf_error *error);

/* One thread of the log, for xray_read_threads. `done` counts bytes read of all. 0, or -1 with *error filled;
 * either way the reading is to be freed. */
int xray_read_thread(struct xray_reading *reading, const struct xray_state *state,
                     const struct xray_thread *thread, struct pf_pass *pass, _Atomic uint64_t *done,
                     struct pf_error *error);
void xray_reading_free(struct xray_reading *reading);

#endif
