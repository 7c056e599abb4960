/* SPDX-License-Identifier: MIT */
#ifndef PF_CHROME_TRACE_THREADS_H
#define PF_CHROME_TRACE_THREADS_H

#include "formats/chrome_trace/events.h"
#include "formats/kit/table.h"

/*
 * The threads of a trace: pairs of a pid and a tid, each a number or any text. One is listed from its first event on that
 * is more than metadata, which may tell its name before and after.
 */
#define TRACE_UNLISTED UINT32_MAX

struct trace_thread {
    uint32_t pid, tid, name; /* in strings; name: PF_NO_STRING until one is told */
    uint32_t number;         /* its place among those listed, or TRACE_UNLISTED */
};

struct trace_threads {
    struct pf_strings *strings; /* owned: pids, tids and what they are called */
    struct trace_thread *all;
    size_t count, room;
    uint32_t *listed; /* indexes into all */
    size_t n_listed, listed_room;
    struct pf_map by_ids;     /* index + 1, by pid and tid */
    struct pf_map by_process; /* number of the process's name + 1, by pid */
    size_t last;              /* that the last event was of */
};

/* 0, or -1 with *error filled; so are the following. */
int trace_threads_begin(struct trace_threads *threads, struct pf_error *error);
void trace_threads_free(struct trace_threads *threads);

/* The thread of an event, added if it is new: its index in `all`. */
int trace_threads_of(struct trace_threads *threads, const struct trace_event *event, size_t *index,
                     struct pf_error *error);
/* The same for one that is listed from now on: its number. */
int trace_threads_listed(struct trace_threads *threads, const struct trace_event *event, uint32_t *number,
                         struct pf_error *error);
/* The number of an event's thread, TRACE_UNLISTED if there is none; for any thread once all are added. */
uint32_t trace_threads_find(const struct trace_threads *threads, const struct trace_event *event);

/* Takes what metadata say of a thread or process. */
int trace_threads_name(struct trace_threads *threads, const struct trace_event *event,
                       struct pf_json *args_reader, struct pf_error *error);

/* Columns of the partitions' table: pid, tid, process. */
enum { TRACE_THREAD_FIELDS = 3 };
extern const struct pf_column trace_thread_fields[TRACE_THREAD_FIELDS];

/* Adds those listed as partitions. */
int trace_threads_publish(const struct trace_threads *threads, struct pf_profile *profile,
                          struct pf_error *error);

#endif
