/* SPDX-License-Identifier: MIT */
#include "formats/chrome_trace/nest.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* An X has an end; that of a B is not known before its E comes. */
#define NO_END INT64_MAX

/* How many open slices an E looks through for its B. */
enum { LOOK_BACK = 4096 };

/* Events of one time that are put in order at once. */
enum { GROUP_MAX = 4096 };

/* A slice that has begun. */
struct slice {
    int64_t end;
    uint64_t row; /* of the spans */
    int64_t begin;
    uint32_t context, name;
    bool over; /* it has ended below others that have not */
};

struct event {
    int64_t time, duration;
    uint64_t place;
    uint32_t name;
    char phase;
};

/* What a thread has spent in a context. */
struct spent {
    int64_t time, calls;
};

struct nesting {
    const struct trace_nest *nest;
    struct pf_tree *tree;
    uint32_t thread;
    struct slice *open; /* the innermost last */
    size_t count, room, over;
    uint32_t *ends; /* a heap of the Xs in `open` that are not over: that which ends first on top */
    size_t n_ends, ends_room;
    struct spent *spent; /* by context */
    size_t spent_room;
    uint32_t *visited; /* the contexts whose spent is not zero */
    size_t n_visited, visited_room;
    int64_t now, last; /* up to where time is told; the thread's last moment so far */
    struct event group[GROUP_MAX];
};

/* ---- the heap of ends --------------------------------------------------------------------------- */

/* Of two that end at once the inner one ends first. */
static bool ends_before(const struct nesting *n, uint32_t a, uint32_t b)
{
    return n->open[a].end != n->open[b].end ? n->open[a].end < n->open[b].end : a > b;
}

static void sift_up(struct nesting *n, size_t at)
{
    uint32_t moved = n->ends[at];
    for (; at && ends_before(n, moved, n->ends[(at - 1) / 2]); at = (at - 1) / 2)
        n->ends[at] = n->ends[(at - 1) / 2];
    n->ends[at] = moved;
}

static void sift_down(struct nesting *n, size_t at)
{
    uint32_t moved = n->ends[at];
    for (size_t child; (child = 2 * at + 1) < n->n_ends; at = child) {
        child += child + 1 < n->n_ends && ends_before(n, n->ends[child + 1], n->ends[child]);
        if (!ends_before(n, n->ends[child], moved))
            break;
        n->ends[at] = n->ends[child];
    }
    n->ends[at] = moved;
}

/* ---- slices ------------------------------------------------------------------------------------- */

/* Gives the time up to `time` to the innermost slice. */
static void pass_time(struct nesting *n, int64_t time)
{
    if (n->count && time > n->now)
        n->spent[n->open[n->count - 1].context].time += time - n->now;
    if (time > n->now)
        n->now = time;
    if (time > n->last)
        n->last = time;
}

/* Counts a call of a context, which thereby gets room for its time. */
static int visit(struct nesting *n, uint32_t context, struct pf_error *error)
{
    if (pf_array_reach(&n->spent, &n->spent_room, context, sizeof *n->spent, error))
        return -1;
    if (!n->spent[context].calls++) {
        if (pf_array_room(&n->visited, &n->visited_room, n->n_visited, sizeof *n->visited, error))
            return -1;
        n->visited[n->n_visited++] = context;
    }
    return 0;
}

/* Adds what the thread has spent to the profile's values. */
static int add_values(struct nesting *n, struct pf_error *error)
{
    for (; n->n_visited; n->n_visited--) {
        uint32_t context = n->visited[n->n_visited - 1];
        struct spent *spent = &n->spent[context];
        struct pf_profile *profile = n->nest->profile;
        if (pf_samples_add(profile, n->thread, context, TRACE_TIME, pf_int(spent->time), error) ||
            pf_samples_add(profile, n->thread, context, TRACE_CALLS, pf_int(spent->calls), error))
            return -1;
        *spent = (struct spent){0};
    }
    return 0;
}

/* Forgets slices that are over, once these are the most: the Xs of some files overlap each other without end. */
static void sweep(struct nesting *n)
{
    while (n->count && n->open[n->count - 1].over) {
        n->count--;
        n->over--;
    }
    if (n->over < 64 || n->over < n->count / 2)
        return;
    size_t kept = 0;
    n->n_ends = n->over = 0;
    for (size_t i = 0; i < n->count; i++) {
        if (n->open[i].over)
            continue;
        n->open[kept] = n->open[i];
        if (n->open[kept].end != NO_END) {
            n->ends[n->n_ends++] = (uint32_t)kept;
            sift_up(n, n->n_ends - 1);
        }
        kept++;
    }
    n->count = kept;
}

static void end_slice(struct nesting *n, size_t i)
{
    n->open[i].over = true;
    n->over++;
    sweep(n);
}

/* Ends all Xs whose time is over at `time`. */
static void end_until(struct nesting *n, int64_t time)
{
    while (n->n_ends && n->open[n->ends[0]].end <= time) {
        uint32_t first = n->ends[0];
        pass_time(n, n->open[first].end);
        n->ends[0] = n->ends[--n->n_ends];
        if (n->n_ends)
            sift_down(n, 0);
        end_slice(n, first);
    }
    pass_time(n, time);
}

static int warn(const struct nesting *n, const char *code, struct pf_error *error, const char *what,
                uint32_t name, int64_t time)
{
    struct pf_cell text = pf_interned(n->tree->strings, name);
    struct pf_cell thread = pf_rows_at(n->nest->profile->partitions.items, n->thread)[1];
    return pf_warn(n->nest->profile, 0, -1, "warning", code, error, "thread %.*s: %.*s at %lld ns %s",
                   (int)(thread.size < 64 ? thread.size : 64), thread.text,
                   (int)(text.size < 64 ? text.size : 64), text.text, (long long)time, what);
}

/* Where the new slice `i` ends. */
static int add_end(struct nesting *n, uint32_t i, struct pf_error *error)
{
    if (n->n_ends && n->open[n->ends[0]].end < n->open[i].end &&
        warn(n, "overlap", error, "overlaps the end of the slice that it began in", n->open[i].name,
             n->open[i].begin))
        return -1;
    if (pf_array_room(&n->ends, &n->ends_room, n->n_ends, sizeof *n->ends, error))
        return -1;
    n->ends[n->n_ends++] = i;
    sift_up(n, n->n_ends - 1);
    return 0;
}

/* A B or X begins; an X that takes no time is nobody's parent. */
static int begin(struct nesting *n, const struct event *event, struct pf_error *error)
{
    bool lasts = event->phase == 'B' || event->duration > 0;
    uint32_t parent = n->count ? n->open[n->count - 1].context : PF_NO_CONTEXT;
    uint8_t flags = n->count ? PF_FRAME : PF_FRAME | PF_ROOT;
    uint32_t context = pf_tree_child(n->tree, parent, event->name, event->name, 0, flags, error);
    if (context == PF_NO_CONTEXT || visit(n, context, error))
        return -1;
    struct pf_span_row row = {.time = pf_time(event->time),
                              .duration = pf_time(event->duration),
                              .phase = event->phase,
                              .context = context,
                              .name = event->name};
    uint64_t number = pf_spans_count(n->nest->spans);
    if (pf_spans_add(n->nest->spans, &row, error))
        return -1;
    if (!lasts)
        return 0;
    if (n->count >= UINT32_MAX - 1)
        return pf_fail(error, EFBIG, "more slices are open at once than can be counted");
    if (pf_array_room(&n->open, &n->room, n->count, sizeof *n->open, error))
        return -1;
    n->open[n->count++] = (struct slice){.end = event->phase == 'B' ? NO_END : event->time + event->duration,
                                         .row = number,
                                         .begin = event->time,
                                         .context = context,
                                         .name = event->name};
    return event->phase == 'B' ? 0 : add_end(n, (uint32_t)n->count - 1, error);
}

/* An E ends the innermost B of its name; one without name the innermost B. */
static int end(struct nesting *n, const struct event *event, struct pf_error *error)
{
    bool any = event->name == PF_NO_STRING;
    for (size_t i = n->count, looked = 0; i-- && looked < LOOK_BACK; looked++) {
        struct slice *slice = &n->open[i];
        if (slice->over || slice->end != NO_END || (!any && slice->name != event->name))
            continue;
        if (pf_spans_set_duration(n->nest->spans, slice->row, pf_time(event->time - slice->begin), error))
            return -1;
        end_slice(n, i);
        return 0;
    }
    return warn(n, "stray-end", error, "ends nothing that has begun, and is ignored",
                any ? n->nest->nameless : event->name, event->time);
}

static int add_instant(struct nesting *n, const struct event *event, struct pf_error *error)
{
    struct pf_span_row row = {.time = pf_time(event->time),
                              .instant = true,
                              .phase = event->phase,
                              .context = PF_NO_CONTEXT,
                              .name = event->name};
    return pf_spans_add(n->nest->spans, &row, error);
}

static int take(struct nesting *n, struct event *event, struct pf_error *error)
{
    end_until(n, event->time);
    if (event->phase == 'E')
        return end(n, event, error);
    if (event->name == PF_NO_STRING)
        event->name = n->nest->nameless;
    return event->phase == 'B' || event->phase == 'X' ? begin(n, event, error) : add_instant(n, event, error);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static void begin_thread(struct nesting *n, uint32_t thread)
{
    n->thread = thread;
    n->count = n->over = n->n_ends = 0;
    n->now = n->last = INT64_MIN;
}

/* What is still open ends with the thread. */
static int end_thread(struct nesting *n, struct pf_error *error)
{
    for (size_t i = 0; i < n->n_ends; i++)
        if (n->open[n->ends[i]].end > n->last)
            n->last = n->open[n->ends[i]].end;
    end_until(n, n->last);
    while (n->count) {
        const struct slice *slice = &n->open[n->count - 1];
        if (warn(n, "no-end", error, "has no end: it ends with its thread", slice->name, slice->begin) ||
            pf_spans_set_duration(n->nest->spans, slice->row, pf_time(n->last - slice->begin), error))
            return -1;
        end_slice(n, n->count - 1);
    }
    return add_values(n, error) ? -1 : pf_spans_end_partition(n->nest->spans, error);
}

/* ---- order -------------------------------------------------------------------------------------- */

static int longer_first(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if ((x->phase == 'X') != (y->phase == 'X'))
        return x->phase == 'X' ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Of Xs that begin at once, without a B or E between them in the file, the longer one is the outer one. */
static int take_group(struct nesting *n, size_t count, struct pf_error *error)
{
    for (size_t i = 0, run; i < count; i += run ? run : 1) {
        for (run = 0; i + run < count && n->group[i + run].phase != 'B' && n->group[i + run].phase != 'E';)
            run++;
        if (run > 1)
            qsort(n->group + i, run, sizeof *n->group, longer_first);
    }
    for (size_t i = 0; i < count; i++)
        if (take(n, &n->group[i], error))
            return -1;
    return 0;
}

static struct event event_of(const uint64_t *record)
{
    return (struct event){.time = pf_signed(record[TRACE_RECORD_TIME]),
                          .duration = (int64_t)record[TRACE_RECORD_DURATION],
                          .place = record[TRACE_RECORD_PLACE],
                          .name = (uint32_t)record[TRACE_RECORD_NAME],
                          .phase = (char)(record[TRACE_RECORD_PLACE] & 0xff)};
}

/* Ends the thread, and all before `thread`. */
static int go_to_thread(struct nesting *n, uint32_t thread, struct pf_error *error)
{
    while (n->thread < thread) {
        if (end_thread(n, error))
            return -1;
        begin_thread(n, n->thread + 1);
    }
    return 0;
}

static int nest_all(struct nesting *n, uint32_t threads, struct pf_pass *pass, uint64_t records,
                    struct pf_error *error)
{
    const uint64_t *record;
    size_t count = 0;
    uint64_t done = 0;
    int more;
    begin_thread(n, 0);
    while ((more = pf_sorter_next(n->nest->sorter, &record, error)) > 0) {
        uint32_t thread = (uint32_t)record[TRACE_RECORD_THREAD];
        struct event event = event_of(record);
        bool goes_on = count && thread == n->thread && event.time == n->group[0].time && count < GROUP_MAX;
        if (!goes_on) {
            if (take_group(n, count, error) || go_to_thread(n, thread, error))
                return -1;
            count = 0;
        }
        n->group[count++] = event;
        if (++done % 4096 == 0 && pf_pass_step(pass, done, records, error))
            return -1;
    }
    return more < 0 || take_group(n, count, error) || go_to_thread(n, threads, error) ? -1 : 0;
}

int trace_nest_all(const struct trace_nest *nest, uint32_t threads, struct pf_pass *pass, uint64_t records,
                   struct pf_error *error)
{
    struct nesting *n = calloc(1, sizeof *n);
    if (!n)
        return pf_fail_memory(error);
    n->nest = nest;
    n->tree = nest->profile->contexts;
    int result = nest_all(n, threads, pass, records, error);
    free(n->open);
    free(n->ends);
    free(n->spent);
    free(n->visited);
    free(n);
    return result;
}
