/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/xray/stack.h"

/* Problems of a file. Some messages end in a number. */
static const struct pf_note_kind no_end = {"warning", "buffer-without-end", "this buffer has no end record"};
static const struct pf_note_kind untimed = {
    "error", "record-without-time",
    "left out of this buffer, because they stand before any time stamp; records"};
static const struct pf_note_kind stray = {"warning", "stray-record",
                                          "ignored in this buffer, because they are out of place; records"};
static const struct pf_note_kind long_payload = {
    "warning", "long-payload", "the trace shows only the start of this event's payload; bytes left out"};
static const struct pf_note_kind many_arguments = {
    "warning", "many-arguments", "the trace shows only the first arguments of this call; left out"};
static const struct pf_note_kind too_large = {
    "fatal", "too-large",
    "there are more contexts than a compressed log of this size may have: the rest of the calls is left out"};
static const struct pf_note_kind open_across = {"warning", "open-across-damage", NULL};

/*
 * The model pass: turns the events of each thread into calls. Calls become the profile's contexts, in order of first
 * entry, thread by thread; their measures; and fields of the threads.
 *
 * - An entry opens a call in the context of the enclosing calls.
 * - An exit (or a tail exit, which carries the id of the function that is left) closes the innermost open call of its
 * function, and every call inside it: an exception or a jump has left those. An exit of a function that is not open is
 * ignored.
 * - Calls still open at the thread's end have no duration; the durations of calls inside them count in their inclusive
 * time.
 */

/* ---- the calls of a thread ---------------------------------------------------------------------- */

/* An entry of the cache of contexts. */
struct recent {
    uint32_t parent, function;
    uint32_t context; /* context + 1; 0: the entry is empty */
};

/* Cache size: fits into the processor's cache together with the other data of the pass. */
enum { RECENT_BITS = 15 };

struct reader {
    const struct xray_state *state;
    struct xray_model model;
    struct xray_decoder decoder;
    struct xray_stack stack;
    uint32_t *
        names; /* function's number in the stack -> its name in the tree's strings + 1; 0: not entered yet; owned */
    size_t names_room;
    uint32_t contexts_most;
    bool full;             /* too many contexts: no further event is read */
    struct recent *recent; /* cache of 1 << RECENT_BITS entries, indexed by recent_of; owned */

    /* State of the current thread. */
    uint64_t events, first_tsc, last_tsc;
    uint64_t unmatched; /* ignored exits, of functions that were not open */
    uint64_t implicit;  /* calls closed by the exit of an enclosing call: left by an exception or a jump */
    size_t max_depth;

    /* FDR logs only. */
    const struct pf_rows *threads; /* the partitions */
    size_t thread;
    uint64_t buffer_end; /* file offset of the end of the last event's buffer */
    uint64_t damage;     /* file offset of records lost since the last event; UINT64_MAX: none */
};

/* Names a function at its first entry. */
static int name_function(struct reader *reader, uint32_t function, struct pf_error *error)
{
    char buffer[XRAY_NAME_MAX];
    struct pf_cell name = xray_name(&reader->state->names, reader->stack.functions[function].id, buffer);
    uint32_t string = pf_intern(reader->model.tree->strings, name.text, name.size, error);
    if (string == PF_NO_STRING ||
        pf_array_reach(&reader->names, &reader->names_room, function, sizeof *reader->names, error))
        return -1;
    reader->names[function] = string + 1;
    return 0;
}

/*
 * Returns the cache entry of a context, indexed by a hash. A hash needs no list of children, whose branches mispredict
 * when a context's children alternate.
 */
static inline struct recent *recent_of(struct reader *reader, uint32_t parent, uint32_t function)
{
    uint64_t hash = ((uint64_t)parent << 32 | function) * UINT64_C(0x9e3779b97f4a7c15);
    return &reader->recent[hash >> (64 - RECENT_BITS)];
}

static inline int enter(struct reader *reader, uint32_t function, const struct xray_event *event,
                        struct pf_error *error)
{
    struct xray_stack *stack = &reader->stack;
    uint32_t parent = stack->calls[stack->depth].context;
    struct recent *recent = recent_of(reader, parent, function);
    if (recent->parent != parent || recent->function != function || !recent->context) {
        bool named = function < reader->names_room && reader->names[function];
        if (!named && name_function(reader, function, error))
            return -1;
        uint8_t flags = stack->depth ? PF_FRAME : PF_FRAME | PF_ROOT;
        uint32_t context = pf_tree_child(reader->model.tree, parent, event->function,
                                         reader->names[function] - 1, 0, flags, error);
        if (context == PF_NO_CONTEXT)
            return -1;
        reader->full |= context > reader->contexts_most;
        *recent = (struct recent){parent, function, context + 1};
    }
    xray_fold_expect(reader->model.fold, recent->context - 1);
    xray_stack_push(stack, function, recent->context - 1, event->tsc);
    if (stack->depth > reader->max_depth)
        reader->max_depth = stack->depth;
    return 0;
}

/*
 * Closes the innermost call, which must exist. Ticks are counted modulo 2^64: unsigned arithmetic, so that no file
 * causes signed overflow.
 */
static inline int close_call(struct reader *reader, uint64_t tsc, struct pf_error *error)
{
    struct xray_call *call = xray_stack_pop(&reader->stack);
    union pf_measure *measures = xray_fold_at(reader->model.fold, call->context, error);
    if (!measures)
        return -1;
    uint64_t duration = xray_duration(call, tsc), before = (uint64_t)measures[XRAY_TICKS].i;
    uint64_t ticks = before + duration - call->inside;
    call[-1].inside += duration;
    measures[XRAY_CALLS].i++;
    measures[XRAY_TICKS].i = (int64_t)ticks;
    measures[XRAY_TICKS_INC].i = (int64_t)((uint64_t)measures[XRAY_TICKS_INC].i + duration);
    reader->model.negative += (ticks >> 63) - (before >> 63);
    return 0;
}

/* Handles an exit. Fast path: the innermost call exits. */
static inline int leave(struct reader *reader, uint32_t function, uint64_t tsc, struct pf_error *error)
{
    struct xray_stack *stack = &reader->stack;
    if (stack->calls[stack->depth].function == function)
        return close_call(reader, tsc, error);
    size_t around = xray_stack_around(stack, function);
    if (stack->depth == around)
        reader->unmatched++;
    else
        reader->implicit += stack->depth - around - 1;
    while (stack->depth > around)
        if (close_call(reader, tsc, error))
            return -1;
    return 0;
}

/* Handles an event. Custom and typed events do not change the stack. */
static inline int take_event(struct reader *reader, const struct xray_event *event, struct pf_error *error)
{
    if (event->kind > XRAY_ENTER_ARG)
        return 0;
    uint32_t function = xray_stack_function(&reader->stack, event->function, error);
    if (function == XRAY_NO_FUNCTION || xray_stack_reserve(&reader->stack, error))
        return -1;
    return xray_is_entry(event) ? enter(reader, function, event, error)
                                : leave(reader, function, event->tsc, error);
}

/*
 * Ends the calls that are still open at the thread's end. They have no duration; the inclusive time of each is the sum
 * of the inclusive times of the calls inside it. So each context's inclusive time is its own time plus the inclusive
 * times of its children.
 */
static int end_open_calls(struct reader *reader, struct pf_error *error)
{
    uint64_t inside = 0;
    while (reader->stack.depth) {
        const struct xray_call *call = xray_stack_pop(&reader->stack);
        union pf_measure *measures = xray_fold_at(reader->model.fold, call->context, error);
        if (!measures)
            return -1;
        inside += call->inside;
        measures[XRAY_TICKS_INC].i = (int64_t)((uint64_t)measures[XRAY_TICKS_INC].i + inside);
        measures[XRAY_OPEN].i = 1;
    }
    return 0;
}

/* ---- the events of a thread --------------------------------------------------------------------- */

/*
 * Notes the problems of a buffer. FDR logs only: the index pass has decoded a basic log completely and noted its
 * problems.
 */
static void note_problems(struct reader *reader, const struct xray_range *range)
{
    const struct xray_header *header = &reader->state->header;
    const struct xray_decoder *decoder = &reader->decoder;
    struct pf_notes *notes = &reader->model.notes;
    bool at_end = range->end == pf_input_size(reader->state->input);
    uint64_t at = decoder->fault_offset, offset = xray_buffer_offset(header, range->body);
    if (header->type == XRAY_BASIC)
        return;
    if (decoder->fault != NULL && decoder->fault_detail == XRAY_NO_NUMBER)
        xray_note(notes, decoder->fault == &xray_record_cut && at_end ? &xray_file_cut : decoder->fault, at);
    else if (decoder->fault != NULL)
        xray_note_number(notes, decoder->fault, at, decoder->fault_detail);
    /* Version 1: EndOfBuffer is missing if the file ends inside the buffer, and if the buffer is damaged. */
    else if (header->version == 1 && !decoder->closed && range->end - offset < header->buffer_size)
        xray_note_number(notes, &xray_buffer_cut, offset, header->buffer_size - (range->end - offset));
    else if (header->version == 1 && !decoder->closed)
        xray_note(notes, &no_end, offset);
    if (decoder->untimed)
        xray_note_number(notes, &untimed, offset, decoder->untimed);
    if (decoder->strays)
        xray_note_number(notes, &stray, offset, decoder->strays);
}

/* Counts the arguments and payload bytes that the trace will omit, so that warnings report them. */
static int check_extras(struct reader *reader, const struct xray_event *event, struct pf_error *error)
{
    struct pf_notes *notes = &reader->model.notes;
    uint64_t value, n = 0, offset = reader->decoder.base + reader->decoder.at;
    int more = 0;
    if (event->kind > XRAY_ENTER_ARG && event->size > XRAY_PAYLOAD_SHOWN)
        xray_note_number(notes, &long_payload, offset, event->size - XRAY_PAYLOAD_SHOWN);
    while (event->arguments && (more = xray_next_argument(&reader->decoder, &value, error)) > 0)
        n++;
    if (n > XRAY_ARGUMENTS_SHOWN)
        xray_note_number(notes, &many_arguments, offset, n - XRAY_ARGUMENTS_SHOWN);
    return more;
}

/*
 * Called at the first event of a buffer of an FDR log. If records may have been lost between the previous event and
 * this one, open calls include all of the time in between, although some may have ended, and others may have begun and
 * ended. A lost buffer may belong to any thread.
 */
static void note_open_across(struct reader *reader, const struct xray_range *range, uint64_t tsc)
{
    size_t depth = reader->stack.depth;
    uint64_t at = reader->damage;
    if (!depth)
        return;
    if (at == UINT64_MAX)
        at = xray_index_damage(&reader->state->index, reader->buffer_end, range->body);
    if (at == UINT64_MAX && reader->decoder.untimed)
        at = xray_buffer_offset(&reader->state->header, range->body);
    if (at == UINT64_MAX)
        return;
    struct pf_cell name = pf_rows_at(reader->threads, reader->thread)[1];
    pf_note(&reader->model.notes, &open_across, 0, (int64_t)at,
            "%.*s, tsc %" PRIu64 " to %" PRIu64
            ": records are or may be lost; calls open there (%zu) keep this time",
            (int)name.size, name.text, reader->last_tsc, tsc, depth);
}

static int read_range(struct reader *reader, const struct xray_range *range, struct pf_error *error)
{
    const struct xray_header *header = &reader->state->header;
    const struct xray_decoder *decoder = &reader->decoder;
    struct xray_event event;
    bool started = false;
    int more = 0;
    while (!reader->full && (more = xray_next_event(&reader->decoder, &event, error)) > 0) {
        if (!started && header->type == XRAY_FDR)
            note_open_across(reader, range, event.tsc);
        started = true;
        if (!reader->events++)
            reader->first_tsc = event.tsc;
        reader->last_tsc = event.tsc;
        if (take_event(reader, &event, error) ||
            ((event.arguments || event.kind > XRAY_ENTER_ARG) && check_extras(reader, &event, error)))
            return -1;
    }
    if (reader->full)
        return more < 0 ? -1 : 0;
    note_problems(reader, range);
    bool cut = decoder->fault != NULL || (header->version == 1 && !decoder->closed);
    if (started)
        reader->damage = UINT64_MAX;
    if (reader->damage == UINT64_MAX && (cut || (!started && decoder->untimed)))
        reader->damage = decoder->fault != NULL ? decoder->fault_offset : range->end;
    if (started)
        reader->buffer_end = range->end;
    return more;
}

/* ---- threads ------------------------------------------------------------------------------------ */

const struct pf_column xray_thread_fields[XRAY_FIELDS] = {
    {"pid", PF_GROUP, 0},
    {"tid", PF_PLAIN, 0},
    {"buffers", PF_PLAIN, 0},
    {"events", PF_PLAIN, 0},
    {"unmatched_exits", PF_PLAIN, 0},
    {"implicit_exits", PF_PLAIN, 0},
    {"open_at_end", PF_PLAIN, 0},
    {"max_depth", PF_PLAIN, 0},
    {"first_tsc", PF_PLAIN, 0},
    {"last_tsc", PF_PLAIN, 0},
};

static int add_fields(const struct reader *reader, const struct xray_thread *thread, struct pf_error *error)
{
    bool buffered = reader->state->header.type == XRAY_FDR;
    struct pf_cell cells[XRAY_FIELDS] = {
        thread->has_pid ? pf_int(thread->pid) : pf_absent(),
        pf_int(thread->tid),
        buffered ? pf_uint(thread->count) : pf_absent(),
        pf_uint(reader->events),
        pf_uint(reader->unmatched),
        pf_uint(reader->implicit),
        pf_uint(reader->stack.depth),
        pf_uint(reader->max_depth),
        reader->events ? pf_uint(reader->first_tsc) : pf_absent(),
        reader->events ? pf_uint(reader->last_tsc) : pf_absent(),
    };
    return pf_rows_add(reader->model.fields, cells, error);
}

static int read_thread(struct reader *reader, size_t number, struct pf_error *error)
{
    const struct xray_thread *thread = &reader->state->index.threads[number];
    reader->events = reader->unmatched = reader->implicit = reader->max_depth = 0;
    reader->thread = number;
    reader->damage = UINT64_MAX;
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range range;
        if (xray_begin_range(&reader->decoder, &reader->state->index, number, i, &range, error) ||
            read_range(reader, &range, error))
            return -1;
    }
    return add_fields(reader, thread, error) || end_open_calls(reader, error) ||
           xray_fold_end_partition(reader->model.fold, error);
}

static int read_threads(struct reader *reader, struct pf_error *error)
{
    for (size_t i = 0; i < reader->state->index.n_threads; i++)
        if (read_thread(reader, i, error))
            return -1;
    return 0;
}

int xray_load_calls(struct pf_model *model, struct pf_error *error)
{
    struct xray_state *state = xray_state(model);
    struct reader reader = {.state = state, .threads = model->partitions.items};
    enum { CONTEXT_BYTES = 128 }; /* tree node and fold record, in bytes */
    uint64_t most = pf_input_memory(state->input) / CONTEXT_BYTES;
    reader.contexts_most =
        pf_input_is_packed(state->input) && most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
    xray_decoder_init(&reader.decoder, state->input, &state->header, state->index.bytes);
    reader.recent = calloc((size_t)1 << RECENT_BITS, sizeof *reader.recent);
    int failed = xray_model_begin(&reader.model, model, XRAY_MEASURES, error) ||
                 (!reader.recent && pf_fail_memory(error)) || read_threads(&reader, error);
    if (reader.full)
        xray_note(&reader.model.notes, &too_large, UINT64_MAX);
    failed = xray_model_end(&reader.model, model, failed, error);
    xray_decoder_free(&reader.decoder);
    xray_stack_free(&reader.stack);
    free(reader.names);
    free(reader.recent);
    return failed;
}
