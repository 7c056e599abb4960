/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/xray/buffers.h"
#include "formats/xray/records.h"
#include "formats/xray/tallies.h"
#include "formats/xray/xray.h"

/*
 * The model pass: the events of each thread as calls, and these as contexts and their measures.
 *  - An entry opens a call in the context of the calls around it.
 *  - An exit (or tail exit, which carries the id of the function that is left) closes the nearest open call
 *    of its function, and every call above it: those have been left by an exception or a jump. An exit of a
 *    function that is not open is ignored.
 *  - A call's duration is the difference of the two TSCs whatever its sign, because clocks may step back.
 *  - Calls open at the thread's end have no duration.
 */

const char *const xray_context_kinds[] = {"function"};

/* An open call; its function is in the stack. */
struct frame {
    uint64_t entered;
    uint64_t inside; /* ticks of the calls that it has made and that are closed */
    uint32_t context;
};

/* What is told of a thread. */
struct counts {
    uint64_t events, unmatched, implicit, open, max_depth, first_tsc, last_tsc;
};

struct model {
    const struct xray_state *state;
    struct pf_pass *pass;
    uint64_t done; /* bytes of ranges */
    struct xray_decoder decoder;
    struct xray_stack stack;
    struct frame *frames; /* by depth in the stack */
    size_t frames_room;
    uint32_t *names; /* of functions, in the tree's strings, by the stack's numbers */
    size_t names_room;
    struct xray_tallies tallies;
    struct xray_lists lists;
    struct pf_tree *tree;
    struct pf_fold *fold;
    struct pf_rows *fields;
    struct xray_notes notes;
    struct counts counts; /* of the thread */
};

/* ---- calls -------------------------------------------------------------------------------------- */

static int grow_frames(struct model *model, struct pf_error *error)
{
    size_t room = model->frames_room ? model->frames_room * 2 : 256;
    struct frame *frames = realloc(model->frames, room * sizeof *frames);
    if (!frames)
        return pf_fail_memory(error);
    model->frames = frames;
    model->frames_room = room;
    return 0;
}

/* The number of a function that has not been seen before, with its name. */
static uint32_t new_function(struct model *model, uint32_t id, struct pf_error *error)
{
    uint32_t number = xray_functions_add(&model->stack.functions, id, error);
    if (number == XRAY_NO_FUNCTION)
        return XRAY_NO_FUNCTION;
    if (xray_tallies_reach(&model->tallies, number, error))
        return XRAY_NO_FUNCTION;
    if (number >= model->names_room) {
        size_t room = model->stack.functions.room;
        uint32_t *names = realloc(model->names, room * sizeof *names);
        if (!names) {
            pf_fail_memory(error);
            return XRAY_NO_FUNCTION;
        }
        model->names = names;
        model->names_room = room;
    }
    char buffer[XRAY_NAME_MAX];
    struct pf_cell name = xray_name(&model->state->names, id, buffer);
    model->names[number] = pf_intern(model->tree->strings, name.text, name.size, error);
    return model->names[number] == PF_NO_STRING ? XRAY_NO_FUNCTION : number;
}

static int enter(struct model *model, const struct xray_event *event, struct pf_error *error)
{
    size_t depth = model->stack.depth;
    uint32_t number = xray_functions_find(&model->stack.functions, event->function);
    if (number == XRAY_NO_FUNCTION)
        number = new_function(model, event->function, error);
    if (number == XRAY_NO_FUNCTION || (depth == model->frames_room && grow_frames(model, error)))
        return -1;
    uint32_t parent = depth ? model->frames[depth - 1].context : PF_NO_CONTEXT;
    uint8_t flags = depth ? PF_FRAME : PF_FRAME | PF_ROOT;
    uint32_t context =
        pf_tree_child(model->tree, parent, event->function, model->names[number], 0, flags, error);
    if (context == PF_NO_CONTEXT || xray_stack_push(&model->stack, number, error))
        return -1;
    model->frames[depth] = (struct frame){.entered = event->tsc, .context = context};
    if (depth >= model->counts.max_depth)
        model->counts.max_depth = depth + 1;
    return 0;
}

/* Ticks add up modulo 2^64, so that no file can overflow. */
static void add_ticks(union pf_measure *measure, uint64_t ticks)
{
    measure->i = (int64_t)((uint64_t)measure->i + ticks);
}

static int close_call(struct model *model, uint64_t tsc, struct pf_error *error)
{
    size_t depth = model->stack.depth - 1;
    uint32_t function = model->stack.calls[depth + 1];
    struct frame *frame = &model->frames[depth];
    uint64_t duration = tsc > frame->entered ? tsc - frame->entered : frame->entered - tsc;
    xray_stack_pop(&model->stack);
    if (depth)
        frame[-1].inside += duration;
    xray_tallies_take(&model->tallies, function, duration);
    union pf_measure *measures = pf_fold_at(model->fold, frame->context, error);
    if (!measures)
        return -1;
    measures[XRAY_CALLS].i++;
    add_ticks(&measures[XRAY_TICKS], duration - frame->inside);
    add_ticks(&measures[XRAY_TICKS_INC], duration);
    return 0;
}

static int leave(struct model *model, const struct xray_event *event, struct pf_error *error)
{
    uint32_t function = xray_functions_find(&model->stack.functions, event->function);
    size_t call = function == XRAY_NO_FUNCTION ? SIZE_MAX : xray_stack_find(&model->stack, function);
    if (call == SIZE_MAX) {
        model->counts.unmatched++;
        return 0;
    }
    model->counts.implicit += model->stack.depth - call - 1;
    while (model->stack.depth > call)
        if (close_call(model, event->tsc, error))
            return -1;
    return 0;
}

/* The calls that are still open at the thread's end. */
static int count_open(struct model *model, struct pf_error *error)
{
    model->counts.open = model->stack.depth;
    while (model->stack.depth) {
        uint32_t context = model->frames[model->stack.depth - 1].context;
        union pf_measure *measures = pf_fold_at(model->fold, context, error);
        if (!measures)
            return -1;
        measures[XRAY_OPEN].i++;
        xray_stack_pop(&model->stack);
    }
    return 0;
}

/* ---- ranges and threads ------------------------------------------------------------------------- */

static int note(struct model *model, enum xray_note_kind kind, uint64_t offset, uint64_t detail,
                struct pf_error *error)
{
    return xray_note(&model->notes, kind, offset, detail, error);
}

static int note_fault(struct model *model, const struct xray_range *range, struct pf_error *error)
{
    const struct xray_decoder *decoder = &model->decoder;
    bool at_end = range->end == pf_input_size(model->state->input);
    switch (decoder->fault) {
    case XRAY_CUT_RECORD:
        return note(model, at_end ? XRAY_NOTE_FILE_CUT : XRAY_NOTE_CUT_RECORD, decoder->fault_offset, 0,
                    error);
    case XRAY_BAD_FUNCTION:
        return note(model, XRAY_NOTE_BAD_FUNCTION, decoder->fault_offset, decoder->fault_detail, error);
    case XRAY_BAD_METADATA:
        return note(model, XRAY_NOTE_BAD_METADATA, decoder->fault_offset, decoder->fault_detail, error);
    case XRAY_BAD_SIZE:
        return note(model, XRAY_NOTE_BAD_SIZE, decoder->fault_offset, decoder->fault_detail, error);
    case XRAY_NESTED_BUFFER:
        return note(model, XRAY_NOTE_NESTED, decoder->fault_offset, 0, error);
    case XRAY_SOUND:
        break;
    }
    return 0;
}

/* Version 1: a buffer that the file ends in has no EndOfBuffer, nor has one that was damaged. */
static int note_end(struct model *model, const struct xray_range *range, struct pf_error *error)
{
    const struct xray_header *header = &model->state->header;
    if (header->version != 1 || model->decoder.closed || model->decoder.fault != XRAY_SOUND)
        return 0;
    uint64_t offset = xray_buffer_offset(header, range->body), size = range->end - offset;
    if (size < header->buffer_size)
        return note(model, XRAY_NOTE_BUFFER_CUT, offset, header->buffer_size - size, error);
    return note(model, XRAY_NOTE_NO_END, offset, 0, error);
}

/* Of FDR logs: the light pass over a basic log has seen all records, and has told everything. */
static int note_problems(struct model *model, const struct xray_range *range, struct pf_error *error)
{
    const struct xray_header *header = &model->state->header;
    if (header->type == XRAY_BASIC)
        return 0;
    uint64_t offset = xray_buffer_offset(header, range->body);
    if (note_fault(model, range, error) || note_end(model, range, error))
        return -1;
    if (model->decoder.untimed && note(model, XRAY_NOTE_UNTIMED, offset, model->decoder.untimed, error))
        return -1;
    return model->decoder.strays ? note(model, XRAY_NOTE_STRAY, offset, model->decoder.strays, error) : 0;
}

/* Arguments and payloads matter to the trace only, but what it leaves out is told here. */
static int check_extras(struct model *model, const struct xray_event *event, uint64_t offset,
                        struct pf_error *error)
{
    if (event->kind > XRAY_ENTER_ARG)
        return event->size > XRAY_PAYLOAD_SHOWN
                   ? note(model, XRAY_NOTE_LONG_PAYLOAD, offset, event->size - XRAY_PAYLOAD_SHOWN, error)
                   : 0;
    uint64_t value, n = 0;
    int more;
    while ((more = xray_next_argument(&model->decoder, &value, error)) > 0)
        n++;
    if (more == 0 && n > XRAY_ARGUMENTS_SHOWN)
        return note(model, XRAY_NOTE_MANY_ARGUMENTS, offset, n - XRAY_ARGUMENTS_SHOWN, error);
    return more;
}

static int take_event(struct model *model, const struct xray_event *event, struct pf_error *error)
{
    switch (event->kind) {
    case XRAY_ENTER:
    case XRAY_ENTER_ARG:
        return enter(model, event, error);
    case XRAY_EXIT:
    case XRAY_TAIL_EXIT:
        return leave(model, event, error);
    default:
        return 0;
    }
}

static int step(struct model *model, uint64_t done, struct pf_error *error)
{
    return pf_pass_step(model->pass, model->done + done, model->state->index.bytes, error);
}

static int read_range(struct model *model, const struct xray_range *range, struct pf_error *error)
{
    enum { EVENTS_PER_STEP = 32768 };
    struct xray_decoder *decoder = &model->decoder;
    struct counts *counts = &model->counts;
    struct xray_event event;
    int more;
    uint64_t events = 0;
    xray_decoder_begin(decoder, range->body, range->end);
    while ((more = xray_next_event(decoder, &event, error)) > 0) {
        if (!counts->events && !events)
            counts->first_tsc = event.tsc;
        counts->last_tsc = event.tsc;
        if (++events % EVENTS_PER_STEP == 0 && step(model, xray_decoder_offset(decoder) - range->body, error))
            return -1;
        if (take_event(model, &event, error))
            return -1;
        if ((event.arguments || event.kind > XRAY_ENTER_ARG) &&
            check_extras(model, &event, decoder->base + decoder->at, error))
            return -1;
    }
    counts->events += events;
    model->done += range->end - range->body;
    if (more < 0 || step(model, 0, error))
        return -1;
    return note_problems(model, range, error);
}

static int add_fields(struct model *model, const struct xray_thread *thread, struct pf_error *error)
{
    const struct counts *counts = &model->counts;
    bool buffered = model->state->header.type == XRAY_FDR;
    struct pf_cell cells[XRAY_FIELDS] = {
        [XRAY_FIELD_PID] = thread->has_pid ? pf_int(thread->pid) : pf_absent(),
        [XRAY_FIELD_TID] = pf_int(thread->tid),
        [XRAY_FIELD_BUFFERS] = buffered ? pf_uint(thread->count) : pf_absent(),
        [XRAY_FIELD_EVENTS] = pf_uint(counts->events),
        [XRAY_FIELD_UNMATCHED_EXITS] = pf_uint(counts->unmatched),
        [XRAY_FIELD_IMPLICIT_EXITS] = pf_uint(counts->implicit),
        [XRAY_FIELD_OPEN_AT_END] = pf_uint(counts->open),
        [XRAY_FIELD_MAX_DEPTH] = pf_uint(counts->max_depth),
        [XRAY_FIELD_FIRST_TSC] = counts->events ? pf_uint(counts->first_tsc) : pf_absent(),
        [XRAY_FIELD_LAST_TSC] = counts->events ? pf_uint(counts->last_tsc) : pf_absent(),
    };
    return pf_rows_add(model->fields, cells, error);
}

static int read_thread(struct model *model, const struct xray_thread *thread, struct pf_error *error)
{
    model->counts = (struct counts){0};
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range range;
        if (xray_index_range(&model->state->index, thread->first + i, &range, error) ||
            read_range(model, &range, error))
            return -1;
    }
    if (count_open(model, error) || pf_fold_end_partition(model->fold, error) ||
        xray_tallies_end_thread(&model->tallies, &model->stack.functions, &model->lists, error))
        return -1;
    return add_fields(model, thread, error);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static int read_log(struct model *model, struct pf_error *error)
{
    const struct xray_index *index = &model->state->index;
    for (size_t i = 0; i < index->n_threads; i++)
        if (read_thread(model, &index->threads[i], error))
            return -1;
    return pf_tree_finish(model->tree, error);
}

/* Hands what the pass has made over to the profile. */
static int hand_over(struct model *model, struct pf_profile *profile, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    uint32_t n_functions;
    struct xray_function *functions =
        xray_tallies_all(&model->tallies, &model->stack.functions, &n_functions, error);
    if (!functions)
        return -1;
    if (xray_notes_tell(&state->index.notes, &model->notes, profile, error) ||
        xray_names_tell(&state->names, model->tree, profile, error)) {
        free(functions);
        return -1;
    }
    state->functions = functions;
    state->n_functions = n_functions;
    state->lists = model->lists;
    state->fold.fold = model->fold;
    profile->contexts = model->tree;
    profile->partitions.fields = model->fields;
    model->lists = (struct xray_lists){0};
    model->fold = NULL;
    model->tree = NULL;
    model->fields = NULL;
    return 0;
}

int xray_load_calls(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    const struct xray_state *state = xray_state(profile);
    struct model model = {
        .state = state,
        .pass = pass,
        .tree = pf_tree_new(xray_context_kinds),
        .fold = pf_fold_new(XRAY_MEASURES, state->derivations, profile->n_metrics, profile->options->cache),
        .fields = pf_rows_new(XRAY_FIELDS),
    };
    xray_decoder_init(&model.decoder, state->input, &state->header);
    int failed = -1;
    if (!model.tree || !model.fold || !model.fields)
        pf_fail_memory(error);
    else if (!xray_lists_init(&model.lists, state->index.n_threads, error))
        failed = read_log(&model, error) || hand_over(&model, profile, error) ? -1 : 0;
    xray_decoder_free(&model.decoder);
    xray_stack_free(&model.stack);
    free(model.frames);
    free(model.names);
    xray_tallies_free(&model.tallies);
    xray_lists_free(&model.lists);
    pf_tree_free(model.tree);
    pf_fold_free(model.fold);
    pf_rows_free(model.fields);
    xray_notes_free(&model.notes);
    return failed;
}
