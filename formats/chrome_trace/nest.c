/* SPDX-License-Identifier: MIT */
#include "formats/chrome_trace/chrome_trace.h"

#include <errno.h>
#include <stdlib.h>

/* The end of a slice that a B began, until its E is read. */
#define NO_END INT64_MAX

/* Maximum number of open slices that an E searches for its B. */
enum { LOOK_BACK = 4096 };

/* Maximum number of events of one time that are sorted together (32 MB). */
enum { GROUP_MAX = 1 << 20 };

/* An open slice. */
struct slice {
    int64_t end;
    uint64_t row; /* number of its row in trace.csv */
    int64_t begin;
    uint32_t context, name;
    bool over; /* it has ended, but a slice above it on the stack has not */
};

struct chrome_event {
    int64_t time, duration;
    uint64_t place;
    uint32_t name;
    char phase;
};

struct chrome_nesting {
    struct trace_state *state;
    struct pf_build *build;
    uint32_t thread;
    PF_LIST(struct slice) open; /* stack, the innermost last */
    size_t over;                /* number of slices in `open` that are over */
    PF_LIST(uint32_t) ends;     /* heap of the Xs in `open` that are not over, the earliest end on top */
    int64_t now, last; /* time is attributed up to `now`; `last` is the thread's latest time so far */
    PF_LIST(struct chrome_event) group; /* events of one time without a B or E between them */
};

/* ---- the heap of ends --------------------------------------------------------------------------- */

/* If two slices have equal ends, the inner one ends first. */
static bool ends_before(const struct chrome_nesting *n, uint32_t a, uint32_t b)
{
    return n->open.at[a].end != n->open.at[b].end ? n->open.at[a].end < n->open.at[b].end : a > b;
}

static void sift_up(struct chrome_nesting *n, size_t at)
{
    uint32_t moved = n->ends.at[at];
    for (; at && ends_before(n, moved, n->ends.at[(at - 1) / 2]); at = (at - 1) / 2)
        n->ends.at[at] = n->ends.at[(at - 1) / 2];
    n->ends.at[at] = moved;
}

static void sift_down(struct chrome_nesting *n, size_t at)
{
    uint32_t moved = n->ends.at[at];
    for (size_t child; (child = 2 * at + 1) < n->ends.n; at = child) {
        child += child + 1 < n->ends.n && ends_before(n, n->ends.at[child + 1], n->ends.at[child]);
        if (!ends_before(n, n->ends.at[child], moved))
            break;
        n->ends.at[at] = n->ends.at[child];
    }
    n->ends.at[at] = moved;
}

/* ---- slices ------------------------------------------------------------------------------------- */

/* Adds the time up to `time` to the innermost open slice. */
static void chrome_pass_time(struct chrome_nesting *n, int64_t time)
{
    if (n->open.n && time > n->now)
        pf_build_add(n->build, n->thread, n->open.at[n->open.n - 1].context, TRACE_TIME,
                     pf_int(time - n->now));
    if (time > n->now)
        n->now = time;
    if (time > n->last)
        n->last = time;
}

/*
 * Pops the ended slices on top of the stack. Ended slices below an open one remain. Overlapping Xs can leave many of them, so the stack is
 * compacted and the heap rebuilt once half of the stack has ended.
 */
static void sweep(struct chrome_nesting *n)
{
    while (n->open.n && n->open.at[n->open.n - 1].over) {
        n->open.n--;
        n->over--;
    }
    if (n->over < 64 || n->over < n->open.n / 2)
        return;
    size_t kept = 0;
    n->ends.n = n->over = 0;
    for (size_t i = 0; i < n->open.n; i++) {
        if (n->open.at[i].over)
            continue;
        n->open.at[kept] = n->open.at[i];
        if (n->open.at[kept].end != NO_END) {
            n->ends.at[n->ends.n++] = (uint32_t)kept;
            sift_up(n, n->ends.n - 1);
        }
        kept++;
    }
    n->open.n = kept;
}

/* Marks a slice as ended. May move the slices of the stack. */
static void end_slice(struct chrome_nesting *n, size_t i)
{
    n->open.at[i].over = true;
    n->over++;
    sweep(n);
}

/* Ends all Xs that end at or before `time`, and attributes the time up to `time`. */
static void end_until(struct chrome_nesting *n, int64_t time)
{
    while (n->ends.n && n->open.at[n->ends.at[0]].end <= time) {
        uint32_t first = n->ends.at[0];
        chrome_pass_time(n, n->open.at[first].end);
        n->ends.at[0] = n->ends.at[--n->ends.n];
        if (n->ends.n)
            sift_down(n, 0);
        end_slice(n, first);
    }
    chrome_pass_time(n, time);
}

static void chrome_nest_warn(struct chrome_nesting *n, const char *code, const char *what, uint32_t name,
                             int64_t time)
{
    struct pf_cell text = pf_build_named(n->build, name);
    struct pf_cell thread = pf_rows_at(n->build->model->partitions.items, n->thread)[1];
    pf_build_warn(n->build, 0, -1, "warning", code, "thread %.*s: %.*s at %lld ns %s",
                  (int)(thread.size < 64 ? thread.size : 64), thread.text,
                  (int)(text.size < 64 ? text.size : 64), text.text, (long long)time, what);
}

/* Adds the end of the new slice `i` to the heap. Warns if it is after the end of an open X. */
static void add_end(struct chrome_nesting *n, uint32_t i)
{
    const struct slice *slice = &n->open.at[i];
    if (n->ends.n && n->open.at[n->ends.at[0]].end < slice->end)
        chrome_nest_warn(n, "overlap", "overlaps the end of its enclosing slice", slice->name, slice->begin);
    *PF_PUSH(n->build->run, n->ends) = i;
    sift_up(n, n->ends.n - 1);
}

/* Begins a B or X. An X without duration gets no children. */
static void chrome_begin(struct chrome_nesting *n, const struct chrome_event *event)
{
    uint32_t parent = n->open.n ? n->open.at[n->open.n - 1].context : PF_NO_CONTEXT;
    uint32_t context = pf_build_child(n->build, parent, event->name, event->name, 0);
    pf_build_add(n->build, n->thread, context, TRACE_CALLS, pf_int(1));
    struct pf_span_row span = {.thread = n->thread,
                               .context = context,
                               .name = event->name,
                               .phase = event->phase,
                               .time = pf_int(event->time),
                               .duration = pf_int(event->duration)};
    uint64_t number = pf_build_span(n->build, &span);
    if (event->phase == 'X' && event->duration <= 0)
        return;
    if (n->open.n >= UINT32_MAX - 1)
        pf_run_check(n->build->run, pf_fail(n->build->run->error, EFBIG, "too many open slices"));
    *PF_PUSH(n->build->run, n->open) =
        (struct slice){.end = event->phase == 'B' ? NO_END : event->time + event->duration,
                       .row = number,
                       .begin = event->time,
                       .context = context,
                       .name = event->name};
    if (event->phase == 'X')
        add_end(n, (uint32_t)n->open.n - 1);
}

/* Ends the innermost B of the same name; an E without a name ends the innermost B. */
static void chrome_end(struct chrome_nesting *n, const struct chrome_event *event)
{
    bool any = event->name == PF_NO_STRING;
    for (size_t i = n->open.n, looked = 0; i-- && looked < LOOK_BACK; looked++) {
        struct slice *slice = &n->open.at[i];
        if (slice->over || slice->end != NO_END || (!any && slice->name != event->name))
            continue;
        pf_build_lasts(n->build, slice->row, pf_int(event->time - slice->begin));
        end_slice(n, i);
        return;
    }
    chrome_nest_warn(n, "stray-end", "has no matching begin: ignored", any ? n->state->nameless : event->name,
                     event->time);
}

/* Handles the next event of the thread. It begins or ends a slice, or only gets a row in trace.csv. */
static void chrome_nest_event(struct chrome_nesting *n, struct chrome_event *event)
{
    end_until(n, event->time);
    if (event->phase == 'E') {
        chrome_end(n, event);
        return;
    }
    if (event->name == PF_NO_STRING)
        event->name = n->state->nameless;
    if (event->phase == 'B' || event->phase == 'X') {
        chrome_begin(n, event);
        return;
    }
    struct pf_span_row instant = {.thread = n->thread,
                                  .context = PF_NO_CONTEXT,
                                  .name = event->name,
                                  .phase = event->phase,
                                  .time = pf_int(event->time),
                                  .duration = pf_absent()};
    pf_build_span(n->build, &instant);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static void chrome_begin_thread(struct chrome_nesting *n, uint32_t thread)
{
    n->thread = thread;
    n->open.n = n->over = n->ends.n = 0;
    n->now = n->last = INT64_MIN;
}

/* Ends all slices that are still open. */
static void chrome_end_thread(struct chrome_nesting *n)
{
    for (size_t i = 0; i < n->ends.n; i++)
        if (n->open.at[n->ends.at[i]].end > n->last)
            n->last = n->open.at[n->ends.at[i]].end;
    end_until(n, n->last);
    while (n->open.n) {
        const struct slice *slice = &n->open.at[n->open.n - 1];
        chrome_nest_warn(n, "no-end", "has no end: ended with its thread", slice->name, slice->begin);
        pf_build_lasts(n->build, slice->row, pf_int(n->last - slice->begin));
        end_slice(n, n->open.n - 1);
    }
}

/* ---- order -------------------------------------------------------------------------------------- */

static int longer_first(const void *a, const void *b)
{
    const struct chrome_event *x = a, *y = b;
    if ((x->phase == 'X') != (y->phase == 'X'))
        return x->phase == 'X' ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/*
 * Handles a group: events of one time other than B and E, without a B or E between them in the file. Longer Xs come first, so that they
 * enclose shorter ones. Events without duration come last.
 */
static void take_group(struct chrome_nesting *n)
{
    if (n->group.n > 1)
        qsort(n->group.at, n->group.n, sizeof *n->group.at, longer_first);
    for (size_t i = 0; i < n->group.n; i++)
        chrome_nest_event(n, &n->group.at[i]);
    n->group.n = 0;
}

static void warn_of_large_group(struct chrome_nesting *n)
{
    const struct chrome_event *event = &n->group.at[0];
    chrome_nest_warn(n, "equal-times",
                     "is one of more than 1048576 events at this time: nested in groups of 1048576",
                     event->name == PF_NO_STRING ? n->state->nameless : event->name, event->time);
}

static struct chrome_event event_of(const uint64_t *record)
{
    return (struct chrome_event){.time = pf_signed(record[TRACE_RECORD_TIME]),
                                 .duration = (int64_t)record[TRACE_RECORD_DURATION],
                                 .place = record[TRACE_RECORD_PLACE],
                                 .name = (uint32_t)record[TRACE_RECORD_NAME],
                                 .phase = (char)(record[TRACE_RECORD_PLACE] & 0xff)};
}

void trace_nest_all(struct trace_state *state)
{
    struct pf_build *build = state->build;
    struct chrome_nesting *n = PF_OWN(build->run, calloc(1, sizeof *n), free);
    const uint64_t *record;
    uint64_t done = 0;
    n->state = state;
    n->build = build;
    chrome_begin_thread(n, 0);
    while (pf_run_check(build->run, pf_sorter_next(state->sorter, &record, build->run->error))) {
        if (pf_run_is_full(build->run)) {
            pf_build_warn_of_full(build, -1);
            break;
        }
        uint32_t thread = (uint32_t)record[TRACE_RECORD_THREAD];
        struct chrome_event event = event_of(record);
        bool is_edge = event.phase == 'B' || event.phase == 'E';
        bool goes_on = n->group.n && thread == n->thread && event.time == n->group.at[0].time && !is_edge;
        if (goes_on && n->group.n == GROUP_MAX)
            warn_of_large_group(n);
        if (!goes_on || n->group.n == GROUP_MAX)
            take_group(n);
        if (thread != n->thread) {
            chrome_end_thread(n);
            chrome_begin_thread(n, thread);
        }
        if (is_edge)
            chrome_nest_event(n, &event);
        else
            *PF_PUSH(build->run, n->group) = event;
        if (++done % 4096 == 0)
            pf_run_check(build->run, pf_pass_step(done, state->records, build->run->error));
    }
    take_group(n);
    chrome_end_thread(n);
}
