/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/xray/stack.h"

/* Problems of a file. A number may be appended to the text. */
static const struct pf_note_kind no_end = {"warning", "buffer-without-end", "this buffer has no end record"};
static const struct pf_note_kind untimed = {
    "error", "record-without-time", "left out of this buffer, because they precede any time stamp; records"};
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
 * The model pass turns the events of each thread into calls. From these it makes the profile's contexts (in order of first
 * entry, thread by thread), their measures, and the fields of threads.
 *
 * - An entry opens a call in the context of the enclosing calls.
 * - An exit or tail exit closes the innermost open call of its function. It also closes the calls inside that one, which an
 *   exception or a jump has left. If the function has no open call, the exit is ignored.
 * - A call that is still open at the thread's end has no duration. Its inclusive time is the time of the calls inside it.
 */

/* ---- the calls of a thread ---------------------------------------------------------------------- */

/* An entry of the cache of contexts. */
struct recent {
    uint32_t parent, function;
    uint32_t context; /* context + 1; 0: the entry is empty */
};

/*
 * Binary logarithm of the number of cache entries. The entries fit into the processor's cache together with the other
 * data of the pass.
 */
enum { RECENT_BITS = 15 };

/* State of the model pass. */
struct reader {
    const struct xray_state *state;
    struct pf_run *run;
    struct xray_model model;
    struct xray_decoder decoder;
    struct xray_stack stack;
    PF_LIST(uint32_t)
    names; /* by function number (stack.h): 1 + the name's string in the tree; 0 before the first entry */
    uint32_t contexts_most;
    bool full;             /* no further event is read, since there are more than contexts_most contexts */
    struct recent *recent; /* cache of 1 << RECENT_BITS entries, indexed by recent_of */

    /* State of the current thread. */
    uint64_t events, first_tsc, last_tsc;
    uint64_t unmatched; /* number of exits that were ignored, since their functions had no open calls */
    uint64_t implicit;  /* number of calls that the exit of an enclosing call closed */
    size_t max_depth;

    /* FDR logs only. */
    const struct pf_rows *threads; /* the partitions */
    size_t thread;
    uint64_t buffer_end; /* file offset of the end of the last event's buffer */
    uint64_t damage;     /* file offset of records lost since the last event; UINT64_MAX: none */
};

/* Returns the name of a function. Interns it at the function's first entry. */
static uint32_t name_of_function(struct reader *reader, uint32_t function)
{
    uint32_t *entry = PF_ITEM(reader->run, reader->names, function);
    if (!*entry) {
        char buffer[XRAY_NAME_MAX];
        struct pf_cell name = xray_name(&reader->state->names, reader->stack.functions[function].id, buffer);
        *entry = pf_run_intern(reader->run, reader->model.tree->strings, name.text, name.size) + 1;
    }
    return *entry - 1;
}

/*
 * Returns the cache entry for the context of a function below `parent`. The cache is indexed by hash, since a search in a
 * list of children would mispredict branches if calls of several children alternate.
 */
static inline struct recent *recent_of(struct reader *reader, uint32_t parent, uint32_t function)
{
    uint64_t hash = ((uint64_t)parent << 32 | function) * UINT64_C(0x9e3779b97f4a7c15);
    return &reader->recent[hash >> (64 - RECENT_BITS)];
}

static inline void enter_call(struct reader *reader, uint32_t function, const struct xray_event *event)
{
    struct xray_stack *stack = &reader->stack;
    uint32_t parent = stack->calls[stack->depth].context;
    struct recent *recent = recent_of(reader, parent, function);
    if (recent->parent != parent || recent->function != function || !recent->context) {
        uint32_t context =
            xray_model_context(&reader->model, parent, event->function, name_of_function(reader, function));
        reader->full |= context > reader->contexts_most;
        *recent = (struct recent){parent, function, context + 1};
    }
    xray_fold_expect(reader->model.fold, recent->context - 1);
    xray_stack_push(stack, function, recent->context - 1, event->tsc);
    if (stack->depth > reader->max_depth)
        reader->max_depth = stack->depth;
}

/* Closes the innermost call, which must exist. Counts ticks in unsigned arithmetic, so that no file causes signed overflow. */
static inline void close_call(struct reader *reader, uint64_t tsc)
{
    struct xray_call *call = xray_stack_pop(&reader->stack);
    union xray_measure *measures = xray_model_at(&reader->model, call->context);
    uint64_t duration = xray_duration(call, tsc), before = (uint64_t)measures[XRAY_TICKS].i;
    uint64_t ticks = before + duration - call->inside;
    call[-1].inside += duration;
    measures[XRAY_CALLS].i++;
    measures[XRAY_TICKS].i = (int64_t)ticks;
    measures[XRAY_TICKS_INC].i = (int64_t)((uint64_t)measures[XRAY_TICKS_INC].i + duration);
    reader->model.negative += (ticks >> 63) - (before >> 63);
}

/* Handles an exit. Fast path: the innermost call exits. */
static inline void leave_call(struct reader *reader, uint32_t function, uint64_t tsc)
{
    struct xray_stack *stack = &reader->stack;
    if (stack->calls[stack->depth].function == function) {
        close_call(reader, tsc);
        return;
    }
    size_t around = xray_stack_around(stack, function);
    if (stack->depth == around)
        reader->unmatched++;
    else
        reader->implicit += stack->depth - around - 1;
    while (stack->depth > around)
        close_call(reader, tsc);
}

/* Handles an event. Custom and typed events do not change the stack. */
static inline void handle_event(struct reader *reader, const struct xray_event *event)
{
    if (event->kind > XRAY_ENTER_ARG)
        return;
    uint32_t function = xray_stack_function_in(reader->run, &reader->stack, event->function);
    if (xray_is_entry(event))
        enter_call(reader, function, event);
    else
        leave_call(reader, function, event->tsc);
}

/*
 * Ends the calls that are still open at the thread's end. They have no duration. The inclusive time of each is the sum of
 * the inclusive times of the calls inside it, so that each context's inclusive time remains its exclusive time plus the
 * inclusive times of its children.
 */
static void end_open_calls(struct reader *reader)
{
    uint64_t inside = 0;
    while (reader->stack.depth) {
        const struct xray_call *call = xray_stack_pop(&reader->stack);
        union xray_measure *measures = xray_model_at(&reader->model, call->context);
        inside += call->inside;
        measures[XRAY_TICKS_INC].i = (int64_t)((uint64_t)measures[XRAY_TICKS_INC].i + inside);
        measures[XRAY_OPEN].i = 1;
    }
}

/* ---- the events of a thread --------------------------------------------------------------------- */

/* Warns of the problems of a buffer of an FDR log. The index pass has already warned of all problems of a basic log. */
static void note_problems(struct reader *reader, const struct xray_range *range)
{
    const struct xray_header *header = &reader->state->header;
    const struct xray_decoder *decoder = &reader->decoder;
    struct pf_run *run = reader->run;
    bool at_end = range->end == pf_input_size(reader->state->input);
    uint64_t at = decoder->fault_offset, offset = xray_buffer_offset(header, range->body);
    if (header->type == XRAY_BASIC)
        return;
    if (decoder->fault != NULL && decoder->fault_detail == XRAY_NO_NUMBER)
        xray_note(run, decoder->fault == &xray_record_cut && at_end ? &xray_file_cut : decoder->fault, at);
    else if (decoder->fault != NULL)
        xray_note_number(run, decoder->fault, at, decoder->fault_detail);
    /* In version 1, a missing EndOfBuffer shows that the file ends inside the buffer, or that the buffer is damaged. */
    else if (header->version == 1 && !decoder->closed && range->end - offset < header->buffer_size)
        xray_note_number(run, &xray_buffer_cut, offset, header->buffer_size - (range->end - offset));
    else if (header->version == 1 && !decoder->closed)
        xray_note(run, &no_end, offset);
    if (decoder->untimed)
        xray_note_number(run, &untimed, offset, decoder->untimed);
    if (decoder->strays)
        xray_note_number(run, &stray, offset, decoder->strays);
}

/* Warns of arguments and payload bytes that the trace will omit. */
static void check_extras(struct reader *reader, const struct xray_event *event)
{
    struct pf_run *run = reader->run;
    uint64_t value, n = 0, offset = reader->decoder.base + reader->decoder.at;
    if (event->kind > XRAY_ENTER_ARG && event->size > XRAY_PAYLOAD_SHOWN)
        xray_note_number(run, &long_payload, offset, event->size - XRAY_PAYLOAD_SHOWN);
    while (event->arguments && pf_run_check(run, xray_next_argument(&reader->decoder, &value, run->error)))
        n++;
    if (n > XRAY_ARGUMENTS_SHOWN)
        xray_note_number(run, &many_arguments, offset, n - XRAY_ARGUMENTS_SHOWN);
}

/*
 * Warns of open calls at the first event of a buffer of an FDR log if records may have been lost since the thread's
 * previous event. The open calls keep all the time since then, although some of them may have ended in the meantime. A
 * lost buffer may belong to any thread.
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
    pf_run_note(reader->run, &open_across, 0, at,
                "%.*s, tsc %" PRIu64 " to %" PRIu64
                ": records are or may be lost; calls open there (%zu) keep this time",
                (int)name.size, name.text, reader->last_tsc, tsc, depth);
}

static void read_calls_of_range(struct reader *reader, const struct xray_range *range)
{
    const struct xray_header *header = &reader->state->header;
    const struct xray_decoder *decoder = &reader->decoder;
    struct pf_run *run = reader->run;
    struct xray_event event;
    bool started = false;
    while (!reader->full && pf_run_check(run, xray_next_event(&reader->decoder, &event, run->error))) {
        if (!started && header->type == XRAY_FDR)
            note_open_across(reader, range, event.tsc);
        started = true;
        if (!reader->events++)
            reader->first_tsc = event.tsc;
        reader->last_tsc = event.tsc;
        handle_event(reader, &event);
        if (event.arguments || event.kind > XRAY_ENTER_ARG)
            check_extras(reader, &event);
    }
    if (reader->full)
        return;
    note_problems(reader, range);
    /*
     * If this range had an event, note_open_across has warned of the damage before it. New damage, before the next
     * event: records may be lost at the end of a buffer that is cut off, and in a buffer without any time stamp.
     */
    bool cut = decoder->fault != NULL || (header->version == 1 && !decoder->closed);
    if (started)
        reader->damage = UINT64_MAX;
    if (reader->damage == UINT64_MAX && (cut || (!started && decoder->untimed)))
        reader->damage = decoder->fault != NULL ? decoder->fault_offset : range->end;
    if (started)
        reader->buffer_end = range->end;
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

static void read_calls(struct reader *reader, size_t number)
{
    struct pf_run *run = reader->run;
    const struct xray_thread *thread = &reader->state->index.threads[number];
    bool buffered = reader->state->header.type == XRAY_FDR;
    reader->events = reader->unmatched = reader->implicit = reader->max_depth = 0;
    reader->thread = number;
    reader->damage = UINT64_MAX;
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range range;
        pf_run_check(
            run, xray_begin_range(&reader->decoder, &reader->state->index, number, i, &range, run->error));
        read_calls_of_range(reader, &range);
    }
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
    end_open_calls(reader);
    xray_model_end_thread(&reader->model, cells);
}

static void make_calls(struct pf_run *run, void *arg)
{
    struct reader *reader = arg;
    reader->run = run;
    reader->recent = PF_OWN(run, calloc((size_t)1 << RECENT_BITS, sizeof *reader->recent), free);
    xray_model_begin(run, &reader->model, XRAY_MEASURES);
    for (size_t i = 0; i < reader->state->index.n_threads; i++)
        read_calls(reader, i);
    if (reader->full)
        xray_note(run, &too_large, UINT64_MAX);
    xray_model_finish(&reader->model);
}

int xray_load_calls(struct pf_model *model, struct pf_error *error)
{
    struct xray_state *state = xray_state(model);
    struct reader reader = {.state = state, .threads = model->partitions.items};
    enum { CONTEXT_BYTES = 128 }; /* memory of a context: its node in the tree and its record in the fold */
    uint64_t most = pf_input_memory(state->input) / CONTEXT_BYTES;
    reader.contexts_most =
        pf_input_is_packed(state->input) && most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
    xray_decoder_init(&reader.decoder, state->input, &state->header, state->index.bytes);
    int failed = pf_run(model, make_calls, &reader, error);
    xray_decoder_free(&reader.decoder);
    xray_stack_free(&reader.stack);
    return xray_model_end(&reader.model, model, failed);
}
