/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/powers.h"
#include "formats/kit/print.h"
#include "formats/runtime/numbered.h"
#include "formats/xray/stack.h"

/*
 * The table "trace" has all events, ordered by thread, range and record. A cursor tracks the open calls of the current
 * thread for the column `depth`. It does not need the model.
 */

/* ---- time --------------------------------------------------------------------------------------- */

/*
 * Conversion of ticks to nanoseconds, exactly floor(ticks * 10^9 / frequency). A 128-bit division would dominate the cost
 * of a row. So the quotient is computed with a reciprocal, and corrected with the remainder.
 */
struct clock {
    uint64_t frequency; /* ticks per second; 0: time is in ticks */
    uint64_t whole;     /* integer part of 10^9 / frequency */
    uint64_t fraction;  /* fractional part of 10^9 / frequency, in units of 2^-64 */
    uint64_t limit;     /* highest number of ticks that short_time converts; the time fits 63 bits */
};

#define NS_PER_S UINT64_C(1000000000)

static struct clock clock_new(uint64_t frequency)
{
    struct clock clock = {.frequency = frequency, .whole = 1, .limit = INT64_MAX};
    if (!frequency)
        return clock;
    clock.whole = NS_PER_S / frequency;
    clock.fraction = (uint64_t)(((pf_uint128)(NS_PER_S % frequency) << 64) / frequency);
    pf_uint128 limit = (pf_uint128)INT64_MAX * frequency / NS_PER_S;
    clock.limit = limit < UINT64_MAX ? (uint64_t)limit : UINT64_MAX;
    /* With a higher frequency, the remainder in short_time would overflow 64 bits. */
    if (frequency > UINT64_MAX / 2)
        clock.limit = 0;
    return clock;
}

/* Converts up to clock->limit ticks. */
static inline int64_t short_time(const struct clock *clock, uint64_t ticks)
{
    if (!clock->frequency)
        return (int64_t)ticks;
    uint64_t quotient = ticks * clock->whole + (uint64_t)(((pf_uint128)ticks * clock->fraction) >> 64);
    /* The reciprocal is at most 2^-64 too small, so the quotient is exact or one too small. */
    uint64_t rest = ticks * NS_PER_S - quotient * clock->frequency;
    return (int64_t)(quotient + (rest >= clock->frequency));
}

/* Converts any number of ticks. A time that does not fit 63 bits is stored in *wide, which the cell then borrows. */
static inline struct pf_cell time_cell(const struct clock *clock, uint64_t ticks, pf_int128 *wide)
{
    if (ticks <= clock->limit)
        return pf_int(short_time(clock, ticks));
    if (!clock->frequency)
        return pf_uint(ticks);
    *wide = (pf_int128)((pf_uint128)ticks * NS_PER_S / clock->frequency);
    return pf_wide(wide);
}

/* ---- walking ------------------------------------------------------------------------------------ */

struct xray_trace_walk {
    const struct xray_state *state;
    struct xray_decoder decoder;
    struct xray_stack stack;
    struct pf_strings *strings; /* names of functions */
    struct pf_cell *names;      /* by the number of a function in `stack` */
    size_t n_names, names_room;
    struct clock clock;
    uint64_t start;          /* T0 of this walk's rows */
    size_t thread, end;      /* the current thread, and the thread at which the walk ends */
    uint64_t next;           /* ordinal of the current thread's next range */
    struct xray_range range; /* the current range */
    char *text;              /* arguments or payload of the current row */
    size_t text_room;
    pf_int128 wide; /* time of the current row, if it does not fit 63 bits */
};

static void begin_trace_thread(struct xray_trace_walk *walk, size_t thread)
{
    while (walk->stack.depth)
        xray_stack_pop(&walk->stack);
    walk->thread = thread;
    walk->next = 0;
    xray_decoder_begin(&walk->decoder, 0, 0);
}

/* Moves to the next range. Returns 1; 0 if there is none; -1 with *error filled. */
static int next_range(struct xray_trace_walk *walk, struct pf_error *error)
{
    const struct xray_index *index = &walk->state->index;
    while (walk->thread < walk->end && walk->next == index->threads[walk->thread].count)
        begin_trace_thread(walk, walk->thread + 1);
    if (walk->thread == walk->end)
        return 0;
    return xray_begin_range(&walk->decoder, index, walk->thread, walk->next++, &walk->range, error) ? -1 : 1;
}

/* Makes the cell with a function's name, which all rows of the function share. */
static int name_traced_function(struct xray_trace_walk *walk, uint32_t function, struct pf_error *error)
{
    char buffer[XRAY_NAME_MAX];
    struct pf_cell name = xray_name(&walk->state->names, walk->stack.functions[function].id, buffer);
    uint32_t string = pf_intern(walk->strings, name.text, name.size, error);
    if (string == PF_NO_STRING ||
        pf_array_room(&walk->names, &walk->names_room, function, sizeof *walk->names, error))
        return -1;
    walk->names[function] = pf_interned(walk->strings, string);
    walk->n_names++;
    return 0;
}

/* Returns the number of a function; XRAY_NO_FUNCTION with *error filled. */
static inline uint32_t trace_number_of(struct xray_trace_walk *walk, uint32_t id, struct pf_error *error)
{
    uint32_t function = xray_stack_function(&walk->stack, id, error);
    if (function == walk->n_names && name_traced_function(walk, function, error))
        return XRAY_NO_FUNCTION;
    return function;
}

/*
 * Updates the stack by a function record. Returns the function's number, and sets *depth to the number of calls around it;
 * XRAY_NO_FUNCTION with *error filled. It is always_inline, because a call would force the event into memory, which costs a
 * third of a row.
 */
__attribute__((always_inline)) static inline uint32_t follow_in_trace(struct xray_trace_walk *walk,
                                                                      const struct xray_event *event,
                                                                      size_t *depth, struct pf_error *error)
{
    struct xray_stack *stack = &walk->stack;
    uint32_t function = trace_number_of(walk, event->function, error);
    if (function == XRAY_NO_FUNCTION || xray_stack_reserve(stack, error))
        return XRAY_NO_FUNCTION;
    if (xray_is_entry(event)) {
        *depth = stack->depth;
        xray_stack_push(stack, function, PF_NO_CONTEXT, event->tsc);
        return function;
    }
    size_t around = xray_stack_around(stack, function);
    while (stack->depth > around)
        xray_stack_pop(stack);
    *depth = stack->depth;
    return function;
}

/* ---- T0 ----------------------------------------------------------------------------------------- */

/* Finds the smallest TSC of all events by decoding them all. */
static int find_start(struct xray_trace_walk *walk, uint64_t *start, struct pf_error *error)
{
    const struct xray_index *index = &walk->state->index;
    struct xray_event event;
    for (uint64_t i = 0; i < index->n_ranges; i++) {
        struct xray_range range;
        int more;
        if (xray_index_range(index, i, &range, error))
            return -1;
        xray_decoder_begin(&walk->decoder, range.body, range.end);
        while ((more = xray_next_event(&walk->decoder, &event, error)) > 0)
            if (event.tsc < *start)
                *start = event.tsc;
        if (more < 0)
            return -1;
    }
    return 0;
}

/*
 * Called for an event whose `tsc` is less than the walk's T0, so that its time would be negative. Lowers T0 to the
 * smallest TSC of all events. One pass finds that TSC, so even a trace with descending times costs two passes, not one
 * per event. Always returns -1. Unless the pass fails, *error has EAGAIN: the core starts the walk again, since rows
 * already served have times from the old T0.
 */
static int lower_start(struct xray_trace_walk *walk, struct xray_state *state, uint64_t tsc,
                       struct pf_error *error)
{
    uint64_t shared = atomic_load(&state->start), start = shared;
    if (tsc < shared) {
        if (find_start(walk, &start, error))
            return -1;
        if (start > tsc) /* the log has no such event: the restored position was invalid */
            return pf_position_refuse(error);
        while (start < shared && !atomic_compare_exchange_weak(&state->start, &shared, start))
            ;
    }
    return pf_fail(error, EAGAIN, "the trace starts earlier than its buffers said");
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* Columns of the table. */
enum { THREAD, TIME, TSC, CPU, EVENT, FUNCTION, DEPTH, ARGS, EVENT_TYPE, DATA, NAME };

const struct pf_column xray_trace_columns[XRAY_TRACE_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {"time", PF_PLAIN, 0},     {"tsc", PF_PLAIN, 0},   {"cpu", PF_PLAIN, 0},
    {"event", PF_PLAIN, 0},      {"function", PF_PLAIN, 0}, {"depth", PF_PLAIN, 0}, {"args", PF_PLAIN, 0},
    {"event_type", PF_PLAIN, 0}, {"data", PF_PLAIN, 0},     {"name", PF_PLAIN, 0},
};

#define WORD(word)                                                                                           \
    {                                                                                                        \
        .type = PF_TEXT, .plain = true, .size = sizeof(word) - 1, .text = word                               \
    }

static const struct pf_cell event_words[] = {
    [XRAY_ENTER] = WORD("enter"),         [XRAY_EXIT] = WORD("exit"),
    [XRAY_TAIL_EXIT] = WORD("tail-exit"), [XRAY_ENTER_ARG] = WORD("enter-arg"),
    [XRAY_CUSTOM] = WORD("custom"),       [XRAY_TYPED] = WORD("typed"),
};

/* Returns room for `more` bytes of text after the first `used`; NULL with *error filled. */
static char *text_room(struct xray_trace_walk *walk, size_t used, size_t more, struct pf_error *error)
{
    if (walk->text_room - used < more && pf_array_grow(&walk->text, &walk->text_room, used + more, 1, error))
        return NULL;
    return walk->text + used;
}

/* Returns the first `used` bytes of walk->text as a cell. The text may be NULL if `used` is 0. */
static struct pf_cell text_cell(const struct xray_trace_walk *walk, size_t used)
{
    return pf_plain(used ? walk->text : "", used);
}

/* Formats the arguments in decimal, separated by spaces. */
static int arguments_cell(struct xray_trace_walk *walk, struct pf_cell *cell, struct pf_error *error)
{
    size_t used = 0;
    uint64_t value;
    int more;
    for (unsigned n = 0; (more = xray_next_argument(&walk->decoder, &value, error)) > 0; n++) {
        if (n >= XRAY_ARGUMENTS_SHOWN)
            continue;
        char *text = text_room(walk, used, PF_NUMBER_MAX + 1, error);
        if (!text)
            return -1;
        if (used)
            *text++ = ' ';
        used = (size_t)(pf_print_uint(text, value) - walk->text);
    }
    *cell = text_cell(walk, used);
    return more;
}

/* Formats the payload in hexadecimal. Allocates text only for bytes that have been read, since a file may declare any size. */
static int payload_cell(struct xray_trace_walk *walk, struct pf_cell *cell, struct pf_error *error)
{
    static const char hex[] = "0123456789abcdef";
    size_t used = 0;
    while (used < 2 * (size_t)XRAY_PAYLOAD_SHOWN) {
        size_t size, left = XRAY_PAYLOAD_SHOWN - used / 2;
        const unsigned char *bytes = xray_next_payload(&walk->decoder, &size, error);
        if (!bytes)
            return -1;
        if (!size)
            break;
        size = size < left ? size : left;
        char *text = text_room(walk, used, 2 * size, error);
        if (!text)
            return -1;
        for (size_t i = 0; i < size; i++) {
            *text++ = hex[bytes[i] >> 4];
            *text++ = hex[bytes[i] & 15];
        }
        used += 2 * size;
    }
    *cell = text_cell(walk, used);
    return 0;
}

static int function_cells(struct xray_trace_walk *walk, const struct xray_event *event, struct pf_cell *cells,
                          struct pf_error *error)
{
    size_t depth;
    uint32_t function = follow_in_trace(walk, event, &depth, error);
    if (function == XRAY_NO_FUNCTION)
        return -1;
    cells[FUNCTION] = pf_uint(event->function);
    cells[DEPTH] = pf_uint(depth);
    cells[ARGS] = pf_absent();
    cells[EVENT_TYPE] = pf_absent();
    cells[DATA] = pf_absent();
    cells[NAME] = walk->names[function];
    if (!event->arguments)
        return 1;
    if (arguments_cell(walk, &cells[ARGS], error))
        return -1;
    /* Old runtimes write entries with arguments as plain entries. */
    if (event->kind == XRAY_ENTER && cells[ARGS].size)
        cells[EVENT] = event_words[XRAY_ENTER_ARG];
    return 1;
}

static int payload_cells(struct xray_trace_walk *walk, const struct xray_event *event, struct pf_cell *cells,
                         struct pf_error *error)
{
    cells[FUNCTION] = pf_absent();
    cells[DEPTH] = pf_uint(walk->stack.depth);
    cells[ARGS] = pf_absent();
    cells[EVENT_TYPE] = event->kind == XRAY_TYPED ? pf_uint(event->type) : pf_absent();
    cells[NAME] = pf_absent();
    return payload_cell(walk, &cells[DATA], error) ? -1 : 1;
}

static int next_trace_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct xray_trace_walk *walk = cursor->state;
    struct xray_state *state = xray_state(cursor->model);
    struct xray_event event;
    int found, more;
    while ((found = xray_next_event(&walk->decoder, &event, error)) == 0)
        if ((more = next_range(walk, error)) <= 0)
            return more;
    if (found < 0)
        return -1;
    if (event.tsc < walk->start || atomic_load_explicit(&state->start, memory_order_relaxed) != walk->start)
        return lower_start(walk, state, event.tsc, error);
    cells[THREAD] = pf_int((int64_t)walk->thread);
    cells[TIME] = time_cell(&walk->clock, event.tsc - walk->start, &walk->wide);
    cells[TSC] = pf_uint(event.tsc);
    cells[CPU] = event.cpu < 0 ? pf_absent() : pf_int(event.cpu);
    cells[EVENT] = event_words[event.kind];
    return event.kind <= XRAY_ENTER_ARG ? function_cells(walk, &event, cells, error)
                                        : payload_cells(walk, &event, cells, error);
}

/* ---- positions ---------------------------------------------------------------------------------- */

/* A saved position of a cursor: the place of the next record, and the state of the decoder there. */
struct position {
    uint64_t start;  /* T0 */
    uint64_t offset; /* offset of the next record, relative to the range's body */
    uint64_t next;   /* ordinal of the current range + 1; 0: before the thread's first range */
    uint64_t tsc;
    uint64_t depth; /* number of open calls; if at most STACK_SAVED, their ids follow, outermost first */
    uint32_t thread;
    int32_t cpu;
    uint64_t timed;
};

/* Maximum depth of stacks that are saved. Restoring a position with a deeper stack replays the thread from its start. */
enum { STACK_SAVED = 65536 };

static uint64_t ids_of(const struct position *position)
{
    return position->depth <= STACK_SAVED ? position->depth : 0;
}

static size_t save(const struct pf_cursor *cursor, void *saved, size_t room)
{
    const struct xray_trace_walk *walk = cursor->state;
    struct position position = {
        .start = walk->start, .thread = (uint32_t)walk->thread, .next = walk->next, .cpu = -1};
    if (walk->next) {
        position.offset = xray_decoder_offset(&walk->decoder) - walk->range.body;
        position.tsc = walk->decoder.tsc;
        position.cpu = walk->decoder.cpu;
        position.timed = walk->decoder.timed;
        position.depth = walk->stack.depth;
    }
    size_t ids = (size_t)ids_of(&position), size = sizeof position + ids * sizeof(uint32_t);
    if (room < size)
        return size;
    char *at = (char *)memcpy(saved, &position, sizeof position) + sizeof position;
    for (size_t i = 1; i <= ids; i++, at += sizeof(uint32_t))
        memcpy(at, &walk->stack.functions[walk->stack.calls[i].function].id, sizeof(uint32_t));
    return size;
}

static bool is_position(const struct position *position, size_t size, const struct xray_index *index)
{
    if (size != sizeof *position + ids_of(position) * sizeof(uint32_t) || position->thread > index->n_threads)
        return false;
    if (position->thread == index->n_threads || !position->next)
        return !position->next && !position->depth;
    return position->next <= index->threads[position->thread].count && position->cpu >= -1 &&
           position->cpu <= UINT16_MAX && position->timed <= 1;
}

/* Replays the thread up to the position, to rebuild the stack. */
static int replay(struct pf_cursor *cursor, const struct position *to, struct pf_error *error)
{
    const struct xray_trace_walk *walk = cursor->state;
    struct pf_cell cells[XRAY_TRACE_COLUMNS];
    int more = 1;
    while (more > 0 && walk->thread == to->thread &&
           (walk->next < to->next || xray_decoder_offset(&walk->decoder) - walk->range.body < to->offset))
        more = next_trace_row(cursor, cells, error);
    if (more < 0)
        return -1;
    return walk->thread == to->thread && walk->stack.depth == to->depth ? 0 : pf_position_refuse(error);
}

static int push_saved(struct xray_trace_walk *walk, const unsigned char *ids, uint64_t depth,
                      struct pf_error *error)
{
    for (uint64_t i = 0; i < depth; i++) {
        struct xray_event entry = {.kind = XRAY_ENTER};
        memcpy(&entry.function, ids + i * sizeof entry.function, sizeof entry.function);
        size_t around;
        if (follow_in_trace(walk, &entry, &around, error) == XRAY_NO_FUNCTION)
            return -1;
    }
    return 0;
}

static int restore(struct pf_cursor *cursor, const void *saved, size_t size, struct pf_error *error)
{
    struct xray_trace_walk *walk = cursor->state;
    const struct xray_index *index = &walk->state->index;
    struct position position;
    if (size < sizeof position)
        return pf_position_refuse(error);
    memcpy(&position, saved, sizeof position);
    /* xray_restore has already restored a lower T0 that an earlier process found. */
    walk->start = atomic_load(&walk->state->start);
    if (!is_position(&position, size, index) || position.start < walk->start)
        return pf_position_refuse(error);
    /*
     * If the position is not in the restriction's partition, all rows of that partition follow the position, or none
     * do.
     */
    int64_t only = cursor->only.partition;
    if (only >= 0 && position.thread != only) {
        begin_trace_thread(walk, position.thread < only ? (size_t)only : walk->end);
        return 0;
    }
    begin_trace_thread(walk, position.thread);
    if (!position.next)
        return 0;
    if (position.depth > STACK_SAVED
            ? replay(cursor, &position, error)
            : push_saved(walk, (const unsigned char *)saved + sizeof position, position.depth, error))
        return -1;
    walk->next = position.next;
    if (xray_begin_range(&walk->decoder, index, walk->thread, walk->next - 1, &walk->range, error))
        return -1;
    if (position.offset > walk->range.end - walk->range.body)
        return pf_position_refuse(error);
    struct xray_decoder *decoder = &walk->decoder;
    xray_decoder_begin(decoder, walk->range.body + position.offset, walk->range.end);
    decoder->tsc = position.tsc;
    decoder->cpu = position.cpu;
    decoder->timed = position.timed;
    return 0;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct xray_trace_walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk || !(walk->strings = pf_strings_new()))
        return pf_fail_memory(error);
    const struct xray_state *state = walk->state = xray_state(cursor->model);
    xray_decoder_init(&walk->decoder, state->input, &state->header, 0);
    walk->clock = clock_new(state->header.frequency);
    walk->start = atomic_load(&state->start);
    int64_t only = cursor->only.partition;
    walk->end =
        only < 0 || (uint64_t)only >= state->index.n_threads ? state->index.n_threads : (size_t)only + 1;
    begin_trace_thread(walk, only < 0 ? 0 : walk->end - 1);
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct xray_trace_walk *walk = cursor->state;
    if (!walk)
        return;
    xray_decoder_free(&walk->decoder);
    xray_stack_free(&walk->stack);
    pf_strings_free(walk->strings);
    free(walk->names);
    free(walk->text);
    free(walk);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct xray_trace_walk *walk = cursor->state;
    const struct xray_index *index = &walk->state->index;
    if (walk->thread >= walk->end)
        return 1;
    const struct xray_thread *thread = &index->threads[walk->thread];
    uint64_t ranges = cursor->only.partition < 0 ? index->n_ranges : thread->count;
    uint64_t passed = cursor->only.partition < 0 ? thread->first + walk->next : walk->next;
    return ranges ? (double)passed / (double)ranges : 1;
}

const struct pf_cursor_ops xray_trace_cursor = {
    .open = open_walk,
    .next = next_trace_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};
