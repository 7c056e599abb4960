/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/position.h"
#include "formats/xray/records.h"
#include "formats/xray/stack.h"

/*
 * The table "trace": thread after thread, range after range, record after record. A walk keeps the open
 * calls of the thread it is in, for the column `depth`; it needs no model.
 */

struct walk {
    const struct xray_names *map;
    struct xray_decoder decoder;
    struct xray_stack stack;
    struct pf_strings *strings; /* functions' names */
    struct pf_cell *names;      /* by the stack's numbers of functions */
    size_t names_room;
    uint64_t start;          /* T0 as this walk's rows have it */
    size_t thread;           /* index; the number of threads at the end */
    uint64_t next;           /* ordinal of the thread's next range */
    struct xray_range range; /* the one before that */
    char *text;              /* arguments or payload of the row */
    size_t text_room;
    pf_int128 wide; /* time of the row, where it does not fit 63 bits */
};

/* ---- walking ------------------------------------------------------------------------------------ */

static void begin_thread(struct walk *walk, size_t thread)
{
    xray_stack_clear(&walk->stack);
    walk->thread = thread;
    walk->next = 0;
    xray_decoder_begin(&walk->decoder, 0, 0);
}

static int begin_range(struct walk *walk, const struct xray_index *index, uint64_t ordinal,
                       struct pf_error *error)
{
    if (xray_index_range(index, index->threads[walk->thread].first + ordinal, &walk->range, error))
        return -1;
    xray_decoder_begin(&walk->decoder, walk->range.body, walk->range.end);
    walk->next = ordinal + 1;
    return 0;
}

/* To the next range that the restriction lets through. 1; 0: there is none; -1: *error filled. */
static int next_range(const struct pf_cursor *cursor, struct walk *walk, struct pf_error *error)
{
    const struct xray_index *index = &xray_state(cursor->profile)->index;
    while (walk->thread < index->n_threads && walk->next == index->threads[walk->thread].count)
        begin_thread(walk, cursor->only.partition < 0 ? walk->thread + 1 : index->n_threads);
    if (walk->thread == index->n_threads)
        return 0;
    return begin_range(walk, index, walk->next, error) ? -1 : 1;
}

/* Numbers a function that has not been seen before, and makes the cell of its name once for all rows. */
static uint32_t new_function(struct walk *walk, uint32_t id, struct pf_error *error)
{
    uint32_t function = xray_functions_add(&walk->stack.functions, id, error);
    if (function == XRAY_NO_FUNCTION)
        return XRAY_NO_FUNCTION;
    if (function >= walk->names_room) {
        size_t room = walk->stack.functions.room;
        if (pf_array_resize(&walk->names, room, sizeof *walk->names, error))
            return XRAY_NO_FUNCTION;
        walk->names_room = room;
    }
    char buffer[XRAY_NAME_MAX];
    struct pf_cell name = xray_name(walk->map, id, buffer);
    uint32_t string = pf_intern(walk->strings, name.text, name.size, error);
    walk->names[function] = pf_interned(walk->strings, string);
    return string == PF_NO_STRING ? XRAY_NO_FUNCTION : function;
}

static inline uint32_t number_of(struct walk *walk, uint32_t id, struct pf_error *error)
{
    uint32_t function = xray_functions_find(&walk->stack.functions, id);
    return function != XRAY_NO_FUNCTION ? function : new_function(walk, id, error);
}

/* An exit of any function: closes the nearest open call of it and those inside. Returns the calls around. */
static size_t leave(struct xray_stack *stack, uint32_t function)
{
    size_t call = xray_stack_find(stack, function);
    if (call == SIZE_MAX)
        return stack->depth;
    while (stack->depth > call)
        xray_stack_pop(stack);
    return call;
}

/*
 * Follows a function record with the stack. Returns the function's number; *depth: the calls around it.
 * Inlined by force: a call would put the event in memory, which costs a third of a row.
 */
__attribute__((always_inline)) static inline uint32_t
follow(struct walk *walk, const struct xray_event *event, size_t *depth, struct pf_error *error)
{
    enum { ENTRIES = 1 << XRAY_ENTER | 1 << XRAY_ENTER_ARG };
    struct xray_stack *stack = &walk->stack;
    uint32_t function = number_of(walk, event->function, error);
    if (function == XRAY_NO_FUNCTION)
        return XRAY_NO_FUNCTION;
    if (stack->depth + 1 >= stack->room && xray_stack_grow(stack, error))
        return XRAY_NO_FUNCTION;
    /* Entries and exits alternate as in a random walk: a branch between them is mispredicted half the time,
     * which costs more than all the rest. So an entry and the exit of the innermost call are one case. */
    unsigned entering = ENTRIES >> event->kind & 1;
    if (entering | (stack->calls[stack->depth] == function)) {
        stack->calls[stack->depth + 1] = function;
        stack->functions.seen[function].open += 2 * entering - 1;
        *depth = stack->depth - !entering;
        stack->depth = *depth + entering;
    } else {
        *depth = leave(stack, function);
    }
    return function;
}

/* ---- the start of time -------------------------------------------------------------------------- */

/* The smallest TSC of all events, by decoding them all. */
static int find_start(struct walk *walk, const struct xray_index *index, uint64_t *start,
                      struct pf_error *error)
{
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
 * An event is earlier than any first event of a buffer: its time would be negative. All are looked through
 * at once, so that a trace whose every event is earlier than the one before costs two passes, not a pass an
 * event.
 */
static int lower_start(const struct pf_cursor *cursor, struct walk *walk, uint64_t tsc,
                       struct pf_error *error)
{
    struct xray_state *state = xray_state(cursor->profile);
    uint64_t shared = atomic_load(&state->start), start = shared;
    if (tsc < shared) {
        if (find_start(walk, &state->index, &start, error))
            return -1;
        if (start > tsc) /* the log has no such event: the position that this walk began from was damaged */
            return pf_position_refuse(error);
        while (start < shared && !atomic_compare_exchange_weak(&state->start, &shared, start))
            ;
    }
    return pf_fail(error, EAGAIN, "the trace starts earlier than its buffers said");
}

/* ---- rows --------------------------------------------------------------------------------------- */

#define WORD(word)                                                                                           \
    {                                                                                                        \
        .type = PF_TEXT, .plain = true, .padded = true, .size = sizeof(word) - 1,                            \
        .text = word "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"                                                      \
    }

static const struct pf_cell event_words[] = {
    [XRAY_ENTER] = WORD("enter"),         [XRAY_EXIT] = WORD("exit"),
    [XRAY_TAIL_EXIT] = WORD("tail-exit"), [XRAY_ENTER_ARG] = WORD("enter-arg"),
    [XRAY_CUSTOM] = WORD("custom"),       [XRAY_TYPED] = WORD("typed"),
};

/* Room for `more` bytes of text after the first `used`. NULL with *error filled. */
static char *text_room(struct walk *walk, size_t used, size_t more, struct pf_error *error)
{
    if (walk->text_room - used < more && pf_array_grow(&walk->text, &walk->text_room, used + more, 1, error))
        return NULL;
    return walk->text + used;
}

/* Arguments in decimal, joined by blanks. */
static int arguments_cell(struct walk *walk, struct pf_cell *cell, struct pf_error *error)
{
    enum { DIGITS = 20 };
    size_t used = 0;
    uint64_t value;
    int more;
    for (unsigned n = 0; (more = xray_next_argument(&walk->decoder, &value, error)) > 0; n++) {
        if (n >= XRAY_ARGUMENTS_SHOWN)
            continue;
        char *text = text_room(walk, used, DIGITS + 1, error);
        if (!text)
            return -1;
        if (used)
            *text++ = ' ';
        char digits[DIGITS];
        size_t at = DIGITS;
        do
            digits[--at] = (char)('0' + value % 10);
        while (value /= 10);
        memcpy(text, digits + at, DIGITS - at);
        used = (size_t)(text - walk->text) + DIGITS - at;
    }
    *cell = pf_plain(walk->text, used);
    return more;
}

/* The payload in hexadecimal. Text is made only for bytes that have been read. */
static int payload_cell(struct walk *walk, struct pf_cell *cell, struct pf_error *error)
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
    *cell = pf_plain(walk->text, used);
    return 0;
}

static int function_cells(struct walk *walk, const struct xray_event *event, struct pf_cell *cells,
                          struct pf_error *error)
{
    size_t depth;
    uint32_t function = follow(walk, event, &depth, error);
    if (function == XRAY_NO_FUNCTION)
        return -1;
    cells[XRAY_TRACE_FUNCTION] = pf_uint(event->function);
    cells[XRAY_TRACE_DEPTH] = pf_uint(depth);
    cells[XRAY_TRACE_ARGS] = pf_absent();
    cells[XRAY_TRACE_EVENT_TYPE] = pf_absent();
    cells[XRAY_TRACE_DATA] = pf_absent();
    cells[XRAY_TRACE_NAME] = walk->names[function];
    if (!event->arguments)
        return 1;
    if (arguments_cell(walk, &cells[XRAY_TRACE_ARGS], error))
        return -1;
    /* Early runtimes write entries with arguments as plain ones. */
    if (event->kind == XRAY_ENTER && cells[XRAY_TRACE_ARGS].size)
        cells[XRAY_TRACE_EVENT] = event_words[XRAY_ENTER_ARG];
    return 1;
}

static int payload_cells(struct walk *walk, const struct xray_event *event, struct pf_cell *cells,
                         struct pf_error *error)
{
    cells[XRAY_TRACE_FUNCTION] = pf_absent();
    cells[XRAY_TRACE_DEPTH] = pf_uint(walk->stack.depth);
    cells[XRAY_TRACE_ARGS] = pf_absent();
    cells[XRAY_TRACE_EVENT_TYPE] = event->kind == XRAY_TYPED ? pf_uint(event->type) : pf_absent();
    cells[XRAY_TRACE_NAME] = pf_absent();
    return payload_cell(walk, &cells[XRAY_TRACE_DATA], error) ? -1 : 1;
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct xray_state *state = xray_state(cursor->profile);
    struct xray_event event;
    int found, more;
    while ((found = xray_next_event(&walk->decoder, &event, error)) == 0)
        if ((more = next_range(cursor, walk, error)) <= 0)
            return more;
    if (found < 0)
        return -1;
    if (event.tsc < walk->start || atomic_load_explicit(&state->start, memory_order_relaxed) != walk->start)
        return lower_start(cursor, walk, event.tsc, error);
    cells[XRAY_TRACE_THREAD] = pf_int((int64_t)walk->thread);
    cells[XRAY_TRACE_TIME] = xray_clock_cell(&state->clock, event.tsc - walk->start, &walk->wide);
    cells[XRAY_TRACE_TSC] = pf_uint(event.tsc);
    cells[XRAY_TRACE_CPU] = event.cpu < 0 ? pf_absent() : pf_int(event.cpu);
    cells[XRAY_TRACE_EVENT] = event_words[event.kind];
    return event.kind <= XRAY_ENTER_ARG ? function_cells(walk, &event, cells, error)
                                        : payload_cells(walk, &event, cells, error);
}

/* ---- positions ---------------------------------------------------------------------------------- */

/*
 * Where the next row comes from. Stacks deeper than a few pages are not saved with it: they are made anew
 * from the thread's start.
 */
struct position {
    uint64_t start;  /* T0 of the rows */
    uint64_t offset; /* of the next record, from the range's body */
    uint64_t next;   /* 0: before the thread's first range; else one more than the range's ordinal */
    uint64_t tsc;
    uint64_t depth; /* ids of so many functions follow, outermost first, if at most STACK_SAVED */
    uint32_t thread;
    int32_t cpu;
    uint64_t timed;
};

enum { STACK_SAVED = 65536 };

static struct position position_of(const struct walk *walk, const struct xray_index *index)
{
    struct position position = {
        .start = walk->start, .thread = (uint32_t)walk->thread, .next = walk->next, .cpu = -1};
    if (walk->thread == index->n_threads || !walk->next)
        return position;
    position.offset = xray_decoder_offset(&walk->decoder) - walk->range.body;
    position.tsc = walk->decoder.tsc;
    position.cpu = walk->decoder.cpu;
    position.timed = walk->decoder.timed;
    position.depth = walk->stack.depth;
    return position;
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    struct position position = position_of(walk, &xray_state(cursor->profile)->index);
    size_t ids = position.depth <= STACK_SAVED ? (size_t)position.depth : 0;
    size_t size = sizeof position + ids * sizeof(uint32_t);
    if (room < size)
        return size;
    memcpy(blob, &position, sizeof position);
    char *at = (char *)blob + sizeof position;
    for (size_t i = 0; i < ids; i++, at += sizeof(uint32_t))
        memcpy(at, &walk->stack.functions.seen[walk->stack.calls[i + 1]].id, sizeof(uint32_t));
    return size;
}

static bool is_position(const struct position *position, size_t size, const struct xray_index *index)
{
    uint64_t ids = position->depth <= STACK_SAVED ? position->depth : 0;
    if (size != sizeof *position + ids * sizeof(uint32_t) || position->thread > index->n_threads)
        return false;
    if (position->thread == index->n_threads || !position->next)
        return !position->next && !position->depth;
    return position->next <= index->threads[position->thread].count && position->cpu >= -1 &&
           position->cpu <= UINT16_MAX && position->timed <= 1;
}

static int push_saved(struct walk *walk, const unsigned char *ids, size_t depth, struct pf_error *error)
{
    for (size_t i = 0; i < depth; i++) {
        uint32_t id;
        memcpy(&id, ids + i * sizeof id, sizeof id);
        uint32_t function = number_of(walk, id, error);
        if (function == XRAY_NO_FUNCTION || xray_stack_push(&walk->stack, function, error))
            return -1;
    }
    return 0;
}

static int skip_arguments(struct xray_decoder *decoder, struct pf_error *error)
{
    uint64_t value;
    int more;
    while ((more = xray_next_argument(decoder, &value, error)) > 0)
        ;
    return more;
}

/* Walks the thread up to the position, for its stack. */
static int replay(struct walk *walk, const struct xray_index *index, const struct position *to,
                  struct pf_error *error)
{
    struct xray_event event;
    for (uint64_t ordinal = 0; ordinal < to->next; ordinal++) {
        if (begin_range(walk, index, ordinal, error))
            return -1;
        uint64_t end = ordinal + 1 == to->next ? walk->range.body + to->offset : UINT64_MAX;
        int more = 1;
        while (xray_decoder_offset(&walk->decoder) < end &&
               (more = xray_next_event(&walk->decoder, &event, error)) > 0) {
            size_t depth;
            if (event.kind <= XRAY_ENTER_ARG && follow(walk, &event, &depth, error) == XRAY_NO_FUNCTION)
                return -1;
            /* The position stands after the arguments. */
            if (event.arguments && skip_arguments(&walk->decoder, error))
                return -1;
        }
        if (more < 0)
            return -1;
    }
    return walk->stack.depth == to->depth ? 0 : pf_position_refuse(error);
}

static int go_to(struct walk *walk, const struct xray_index *index, const struct position *to,
                 const unsigned char *ids, struct pf_error *error)
{
    begin_thread(walk, to->thread);
    if (!to->next)
        return 0;
    int failed = to->depth <= STACK_SAVED ? push_saved(walk, ids, (size_t)to->depth, error)
                                          : replay(walk, index, to, error);
    if (failed)
        return -1;
    if (begin_range(walk, index, to->next - 1, error))
        return -1;
    if (to->offset > walk->range.end - walk->range.body)
        return pf_position_refuse(error);
    xray_decoder_resume(&walk->decoder, walk->range.body + to->offset, to->tsc, to->cpu, to->timed);
    return 0;
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct xray_index *index = &xray_state(cursor->profile)->index;
    struct position position;
    if (size < sizeof position)
        return pf_position_refuse(error);
    memcpy(&position, blob, sizeof position);
    if (!is_position(&position, size, index))
        return pf_position_refuse(error);
    /* What an earlier run has found out about the start of time has been recalled before: see facts in xray.c. */
    walk->start = atomic_load(&xray_state(cursor->profile)->start);
    if (position.start < walk->start)
        return pf_position_refuse(error);
    /* The rows of a restriction that follow a position in another partition: all, or none. */
    int64_t only = cursor->only.partition;
    if (only >= 0 && position.thread != only) {
        begin_thread(walk, position.thread < only && (uint64_t)only < index->n_threads ? (size_t)only
                                                                                       : index->n_threads);
        return 0;
    }
    return go_to(walk, index, &position, (const unsigned char *)blob + sizeof position, error);
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct xray_state *state = xray_state(cursor->profile);
    struct walk *walk = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    cursor->state = walk;
    walk->map = &state->names;
    walk->strings = pf_strings_new();
    if (!walk->strings)
        return pf_fail_memory(error);
    xray_decoder_init(&walk->decoder, state->input, &state->header);
    walk->start = atomic_load(&state->start);
    int64_t only = cursor->only.partition;
    size_t first = only < 0                                  ? 0
                   : (uint64_t)only < state->index.n_threads ? (size_t)only
                                                             : state->index.n_threads;
    begin_thread(walk, first);
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
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
    const struct xray_index *index = &xray_state(cursor->profile)->index;
    const struct walk *walk = cursor->state;
    if (walk->thread >= index->n_threads)
        return 1;
    const struct xray_thread *thread = &index->threads[walk->thread];
    uint64_t ranges = cursor->only.partition < 0 ? index->n_ranges : thread->count;
    uint64_t behind = cursor->only.partition < 0 ? thread->first + walk->next : walk->next;
    return ranges ? (double)behind / (double)ranges : 1;
}

const struct pf_cursor_ops xray_trace_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};
