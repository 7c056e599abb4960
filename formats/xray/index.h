/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_INDEX_H
#define PF_XRAY_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/store.h"
#include "formats/xray/notes.h"

/*
 * What a light pass over a file finds out: its threads, and which parts of the file are theirs. A part is a
 * buffer of an FDR log, a run of a basic log's records, a block of a profiling file. There can be as many as
 * records in a file, so they are held in a store that spills: memory is bounded by the threads.
 */
struct xray_range {
    uint64_t body, end; /* bytes [body, end) of the file, without what only tells whose they are */
};

struct xray_thread {
    int64_t tid; /* of profiling files: all of 64 bits, to be read as unsigned */
    int32_t pid;
    bool has_pid;
    uint64_t first, count; /* ranges */
};

struct xray_index {
    struct pf_store *ranges; /* thread after thread, in the order in which they were written */
    uint64_t n_ranges;
    struct xray_thread *threads; /* in the order in which they first appear in the file */
    size_t n_threads;
    uint64_t start; /* the smallest TSC of the ranges' first events; UINT64_MAX: there are none */
    uint64_t bytes; /* of all ranges together */
    struct xray_notes notes;
};

#define XRAY_THREADS_MAX ((uint32_t)1 << 30)

/* An index without ranges and threads. 0, or -1 with *error filled; either way it is to be freed. */
int xray_index_init(struct xray_index *index, struct pf_error *error);
void xray_index_free(struct xray_index *index);

/* Range i < n_ranges. 0, or -1 with *error filled. */
int xray_index_range(const struct xray_index *index, uint64_t i, struct xray_range *range,
                     struct pf_error *error);

/* Appends a range, which must be of the last thread that has any or of a later one; counts it there. */
int xray_index_add(struct xray_index *index, size_t thread, const struct xray_range *range,
                   struct pf_error *error);

/* ---- making it ---------------------------------------------------------------------------------- */

/* Threads by process and thread id, while a light pass runs. Zero-initialised is empty. */
struct xray_threads {
    struct xray_thread *items; /* owned */
    size_t count, room;
    uint32_t *slots; /* hash of the ids -> index + 1; owned */
    uint32_t mask;
};

/* The index of this thread, added if new. 0, or -1 with *error filled. */
int xray_threads_find(struct xray_threads *threads, bool has_pid, int32_t pid, int64_t tid, uint32_t *index,
                      struct pf_error *error);

/* Hands the array over to the caller and frees the rest. */
struct xray_thread *xray_threads_take(struct xray_threads *threads, size_t *count);

/* Ranges in the order of the file, on their way to the index. */
struct xray_runs {
    struct pf_store *store; /* owned */
    uint64_t count;
};

int xray_runs_init(struct xray_runs *runs, struct pf_error *error);
void xray_runs_free(struct xray_runs *runs);
int xray_runs_add(struct xray_runs *runs, uint32_t thread, const struct xray_range *range,
                  struct pf_error *error);

/* Gives each of the index's threads its ranges, in the order of the file. */
int xray_runs_sort(const struct xray_runs *runs, struct xray_index *index, struct pf_pass *pass,
                   struct pf_error *error);

#endif
