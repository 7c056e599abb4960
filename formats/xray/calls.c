/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/xray/records.h"
#include "formats/xray/stack.h"
#include "formats/xray/xray.h"

/*
 * The model pass: the events of each thread are its calls, which become the profile's contexts, in the order of their first
 * entries, thread by thread, their measures, what functions took, and fields of threads.
 *
 *  - An entry opens a call in the context of the calls around it.
 *  - An exit (or tail exit, which carries the id of the function that is left) closes the nearest open call
 *    of its function, and every call above it: those have been left by an exception or a jump. An exit of a
 *    function that is not open is ignored.
 *  - Calls open at the thread's end have no duration; what calls inside them took is in their inclusive time.
 */

const char *const xray_context_kinds[] = {"function"};

/* ---- the calls of one thread -------------------------------------------------------------------- */

/*
 * A calling context of one thread. This is where the pass spends its time: all that a call needs to be counted stands in one
 * record, which is as large as a cache line.
 */
struct context {
    uint64_t calls;     /* completed ones; what follows is of these */
    uint64_t ticks;     /* without the calls inside; modulo 2^64, as the next, so that no file can overflow */
    uint64_t ticks_inc; /* with the calls inside */
    uint64_t min, max; /* ticks of the shortest and the longest; min is UINT64_MAX where there are no calls */
    uint32_t wraps;    /* how often ticks_inc went past 2^64 */
    uint32_t parent;   /* index; lower than this context's */
    uint32_t id;       /* of its function */
    uint32_t function; /* the number that the function has in this thread */
    uint32_t merged;   /* for who merges threads: its index in the profile's tree */
};

/* An open call. */
struct open_call {
    uint64_t entered; /* TSC */
    uint64_t inside;  /* ticks of the calls that it has made and that are closed */
    uint64_t id;      /* of its function; UINT64_MAX: there is none, this is the place outside all calls */
    uint32_t context;
};

/* Context 0 and call 0 are the place outside all calls. */
struct calls {
    struct context *items; /* in the order of their first entries, so callers first; owned */
    uint32_t count, room;
    uint64_t *slots; /* hash of (parent, id): some bits of the hash << 32 | index; 0: free; owned */
    unsigned shift;  /* a hash's slot is hash >> shift */

    struct open_call *calls; /* calls[1 .. depth]: those open, outermost first; owned */
    size_t depth, calls_room;
    struct xray_functions functions; /* seen in this thread, and how many calls of each are open */

    uint64_t unmatched; /* exits of functions that were not open, which have been ignored */
    uint64_t implicit;  /* calls closed by the exit of a call around them: left by an exception or a jump */
    size_t max_depth;
};

static inline uint64_t hash_of(uint32_t parent, uint32_t id)
{
    return ((uint64_t)parent << 32 | id) * UINT64_C(0x9e3779b97f4a7c15);
}

/* What a slot holds of a hash: bits that hardly depend on which slot it is. */
static inline uint64_t tag_of(uint64_t hash)
{
    return hash >> 16 << 32;
}

/* At most half of the slots are taken; there are 2^SLOTS_MIN of them at first. */
enum { SLOTS_MIN = 8, HASH_BITS = 64 };
#define CONTEXTS_MAX ((uint32_t)1 << 31)

static size_t slot_count(const struct calls *contexts)
{
    return (size_t)1 << (HASH_BITS - contexts->shift);
}

/* Puts a context that has none into a slot. */
static void place(struct calls *contexts, uint32_t index)
{
    const struct context *context = &contexts->items[index];
    uint64_t hash = hash_of(context->parent, context->id);
    uint64_t mask = UINT64_MAX >> contexts->shift, i = hash >> contexts->shift;
    while (contexts->slots[i])
        i = (i + 1) & mask;
    contexts->slots[i] = tag_of(hash) | index;
}

/* Twice the slots, or the first ones. */
static int grow_slots(struct calls *contexts, struct pf_error *error)
{
    unsigned shift = contexts->slots ? contexts->shift - 1 : HASH_BITS - SLOTS_MIN;
    uint64_t *slots = calloc((size_t)1 << (HASH_BITS - shift), sizeof *slots);
    if (!slots)
        return pf_fail_memory(error);
    free(contexts->slots);
    contexts->slots = slots;
    contexts->shift = shift;
    for (uint32_t i = 1; i < contexts->count; i++)
        place(contexts, i);
    return 0;
}

static int grow_items(struct calls *contexts, struct pf_error *error)
{
    if (contexts->room >= CONTEXTS_MAX)
        return pf_fail(error, EFBIG, "too many contexts");
    uint32_t room = contexts->room ? contexts->room * 2 : 64;
    if (pf_array_resize(&contexts->items, room, sizeof *contexts->items, error))
        return -1;
    contexts->room = room;
    return 0;
}

static int grow_calls(struct calls *contexts, struct pf_error *error)
{
    return pf_array_grow(&contexts->calls, &contexts->calls_room, contexts->calls_room + 1,
                         sizeof *contexts->calls, error);
}

static int begin_calls(struct calls *contexts, struct pf_error *error)
{
    *contexts = (struct calls){.count = 1};
    if (grow_items(contexts, error) || grow_slots(contexts, error) || grow_calls(contexts, error))
        return -1;
    contexts->items[0] = (struct context){.min = UINT64_MAX};
    contexts->calls[0] = (struct open_call){.id = UINT64_MAX};
    return 0;
}

static void free_calls(struct calls *contexts)
{
    free(contexts->items);
    free(contexts->slots);
    free(contexts->calls);
    xray_functions_free(&contexts->functions);
    *contexts = (struct calls){0};
}

static uint32_t add_context(struct calls *contexts, uint32_t parent, uint32_t id, struct pf_error *error)
{
    uint32_t function = xray_functions_find(&contexts->functions, id);
    if (function == XRAY_NO_FUNCTION)
        function = xray_functions_add(&contexts->functions, id, error);
    if (function == XRAY_NO_FUNCTION || (contexts->count == contexts->room && grow_items(contexts, error)))
        return 0;
    uint32_t index = contexts->count;
    contexts->items[index] =
        (struct context){.min = UINT64_MAX, .parent = parent, .id = id, .function = function};
    if (contexts->count >= slot_count(contexts) / 2 && grow_slots(contexts, error))
        return 0;
    contexts->count++;
    place(contexts, index);
    return index;
}

/* The context of this function called from `parent`, added if new. Its index, or 0 with *error filled. */
static inline uint32_t child_context(struct calls *contexts, uint32_t parent, uint32_t id,
                                     struct pf_error *error)
{
    uint64_t hash = hash_of(parent, id), tag = tag_of(hash);
    uint64_t mask = UINT64_MAX >> contexts->shift;
    for (uint64_t i = hash >> contexts->shift;; i = (i + 1) & mask) {
        uint64_t slot = contexts->slots[i];
        if (!slot)
            return add_context(contexts, parent, id, error);
        if (((slot ^ tag) >> 32) != 0)
            continue;
        const struct context *context = &contexts->items[(uint32_t)slot];
        if (context->parent == parent && context->id == id)
            return (uint32_t)slot;
    }
}

/* An entry. 0, or -1 with *error filled. */
static inline int enter(struct calls *contexts, uint32_t id, uint64_t tsc, struct pf_error *error)
{
    uint32_t context = child_context(contexts, contexts->calls[contexts->depth].context, id, error);
    if (!context)
        return -1;
    if (contexts->depth + 1 >= contexts->calls_room && grow_calls(contexts, error))
        return -1;
    contexts->calls[++contexts->depth] = (struct open_call){.entered = tsc, .id = id, .context = context};
    contexts->functions.seen[contexts->items[context].function].open++;
    if (contexts->depth > contexts->max_depth)
        contexts->max_depth = contexts->depth;
    return 0;
}

/* Ends the innermost call, of which there must be one. Clocks may step back, so its duration is the
 * difference of the two TSCs whatever its sign. */
static inline void close_call(struct calls *contexts, uint64_t tsc)
{
    struct open_call *call = &contexts->calls[contexts->depth--];
    struct context *context = &contexts->items[call->context];
    uint64_t duration = tsc > call->entered ? tsc - call->entered : call->entered - tsc;
    call[-1].inside += duration;
    context->calls++;
    context->ticks += duration - call->inside;
    context->ticks_inc += duration;
    context->wraps += context->ticks_inc < duration;
    context->min = duration < context->min ? duration : context->min;
    context->max = duration > context->max ? duration : context->max;
    contexts->functions.seen[context->function].open--;
}

/* Closes the nearest open call of this function, which is not the innermost one, and those inside it. */
static void unwind(struct calls *contexts, uint32_t id, uint64_t tsc)
{
    uint32_t function = xray_functions_find(&contexts->functions, id);
    if (function == XRAY_NO_FUNCTION || !contexts->functions.seen[function].open) {
        contexts->unmatched++;
        return;
    }
    while (contexts->calls[contexts->depth].id != id) {
        close_call(contexts, tsc);
        contexts->implicit++;
    }
    close_call(contexts, tsc);
}

/* An exit: nearly always of the innermost call. */
static inline void leave(struct calls *contexts, uint32_t id, uint64_t tsc)
{
    if (contexts->calls[contexts->depth].id == id)
        close_call(contexts, tsc);
    else
        unwind(contexts, id, tsc);
}

/* ---- the events of one thread ------------------------------------------------------------------- */

struct reader {
    const struct xray_state *state;
    struct pf_pass *pass;
    uint64_t *done; /* bytes of ranges, of all threads */
    struct pf_notes *notes;
    struct xray_decoder decoder;
    struct calls calls;
    uint64_t events, first_tsc, last_tsc;
};

/* Of FDR logs: the light pass over a basic log has seen all records, and has told everything. */
static void note_problems(const struct reader *reader, const struct xray_range *range)
{
    const struct xray_header *header = &reader->state->header;
    const struct xray_decoder *decoder = &reader->decoder;
    struct pf_notes *notes = reader->notes;
    bool at_end = range->end == pf_input_size(reader->state->input);
    uint64_t at = decoder->fault_offset, offset = xray_buffer_offset(header, range->body);
    if (header->type == XRAY_BASIC)
        return;
    switch (decoder->fault) {
    case XRAY_CUT_RECORD:
        xray_note(notes, at_end ? XRAY_FILE_CUT : XRAY_RECORD_CUT, at);
        break;
    case XRAY_BAD_FUNCTION:
        xray_note_number(notes, XRAY_FUNCTION_KIND, at, decoder->fault_detail);
        break;
    case XRAY_BAD_METADATA:
        xray_note_number(notes, XRAY_METADATA_KIND, at, decoder->fault_detail);
        break;
    case XRAY_BAD_SIZE:
        xray_note_number(notes, XRAY_EVENT_SIZE, at, decoder->fault_detail);
        break;
    case XRAY_NESTED_BUFFER:
        xray_note(notes, XRAY_NESTED, at);
        break;
    case XRAY_SOUND: /* version 1: a buffer that the file ends in has no EndOfBuffer, nor has one that was damaged */
        if (header->version != 1 || decoder->closed)
            break;
        if (range->end - offset < header->buffer_size)
            xray_note_number(notes, XRAY_BUFFER_CUT, offset, header->buffer_size - (range->end - offset));
        else
            xray_note(notes, XRAY_NO_END, offset);
    }
    if (decoder->untimed)
        xray_note_number(notes, XRAY_UNTIMED, offset, decoder->untimed);
    if (decoder->strays)
        xray_note_number(notes, XRAY_STRAY, offset, decoder->strays);
}

/* Arguments and payloads matter to the trace only, but what it leaves out is told here. */
static int check_extras(struct reader *reader, const struct xray_event *event, struct pf_error *error)
{
    uint64_t value, n = 0, offset = reader->decoder.base + reader->decoder.at;
    int more = 0;
    if (event->kind > XRAY_ENTER_ARG && event->size > XRAY_PAYLOAD_SHOWN)
        xray_note_number(reader->notes, XRAY_LONG_PAYLOAD, offset, event->size - XRAY_PAYLOAD_SHOWN);
    while (event->arguments && (more = xray_next_argument(&reader->decoder, &value, error)) > 0)
        n++;
    if (n > XRAY_ARGUMENTS_SHOWN)
        xray_note_number(reader->notes, XRAY_MANY_ARGUMENTS, offset, n - XRAY_ARGUMENTS_SHOWN);
    return more;
}

/* A custom or typed event happens in the innermost call, and changes nothing. */
static inline int take_event(struct calls *calls, const struct xray_event *event, struct pf_error *error)
{
    if (event->kind == XRAY_ENTER || event->kind == XRAY_ENTER_ARG)
        return enter(calls, event->function, event->tsc, error);
    if (event->kind <= XRAY_ENTER_ARG)
        leave(calls, event->function, event->tsc);
    return 0;
}

/* Says that the range has been read up to here, from where it was said last (which moves on). */
static int step(const struct reader *reader, uint64_t *said, uint64_t here, struct pf_error *error)
{
    *reader->done += here - *said;
    *said = here;
    return pf_pass_step(reader->pass, *reader->done, reader->state->index.bytes, error);
}

static int read_range(struct reader *reader, const struct xray_range *range, struct pf_error *error)
{
    enum { EVENTS_PER_STEP = 32768 };
    struct xray_decoder *decoder = &reader->decoder;
    struct xray_event event;
    int more;
    uint64_t events = 0, said = range->body;
    xray_decoder_begin(decoder, range->body, range->end);
    while ((more = xray_next_event(decoder, &event, error)) > 0) {
        if (!reader->events && !events)
            reader->first_tsc = event.tsc;
        reader->last_tsc = event.tsc;
        if (++events % EVENTS_PER_STEP == 0 && step(reader, &said, xray_decoder_offset(decoder), error))
            return -1;
        if (take_event(&reader->calls, &event, error))
            return -1;
        if ((event.arguments || event.kind > XRAY_ENTER_ARG) && check_extras(reader, &event, error))
            return -1;
    }
    reader->events += events;
    if (more < 0 || step(reader, &said, range->end, error))
        return -1;
    note_problems(reader, range);
    return 0;
}

/* Either way the reader is to be ended. */
static int read_thread(struct reader *reader, size_t number, struct pf_error *error)
{
    const struct xray_thread *thread = &reader->state->index.threads[number];
    xray_decoder_init(&reader->decoder, reader->state->input, &reader->state->header);
    if (begin_calls(&reader->calls, error))
        return -1;
    for (uint64_t i = 0; i < thread->count; i++) {
        struct xray_range range;
        if (xray_index_range(&reader->state->index, thread->first + i, &range, error) ||
            read_range(reader, &range, error))
            return -1;
    }
    return 0;
}

static void end_reader(struct reader *reader)
{
    xray_decoder_free(&reader->decoder);
    free_calls(&reader->calls);
}

/* ---- functions ---------------------------------------------------------------------------------- */

struct model {
    const struct xray_state *state;
    struct xray_functions functions; /* of all threads, numbered as they come */
    uint32_t *names;                 /* of these functions, in the tree's strings */
    struct xray_function *all;       /* what they took; count 0: nothing */
    size_t names_room, all_room;
    struct pf_store *of_threads;
    uint64_t *first_of_thread;
    struct pf_tree *tree;
    struct pf_fold *fold;
    struct pf_rows *fields;
    struct pf_notes notes;
    uint64_t negative; /* contexts of threads that took less than no time */
};

/* The model's number of a function; XRAY_NO_FUNCTION with *error filled. */
static uint32_t number_function(struct model *model, uint32_t id, struct pf_error *error)
{
    uint32_t number = xray_functions_find(&model->functions, id);
    if (number != XRAY_NO_FUNCTION)
        return number;
    number = xray_functions_add(&model->functions, id, error);
    if (number == XRAY_NO_FUNCTION ||
        pf_array_room(&model->names, &model->names_room, number, sizeof *model->names, error) ||
        pf_array_room(&model->all, &model->all_room, number, sizeof *model->all, error))
        return XRAY_NO_FUNCTION;
    char buffer[XRAY_NAME_MAX];
    struct pf_cell name = xray_name(&model->state->names, id, buffer);
    model->names[number] = pf_intern(model->tree->strings, name.text, name.size, error);
    model->all[number] = (struct xray_function){.id = id, .min = UINT64_MAX};
    return model->names[number] == PF_NO_STRING ? XRAY_NO_FUNCTION : number;
}

static void add_function(struct xray_function *function, const struct xray_function *more)
{
    function->count += more->count;
    function->sum += more->sum;
    function->min = more->min < function->min ? more->min : function->min;
    function->max = more->max > function->max ? more->max : function->max;
}

static int by_id(const void *left, const void *right)
{
    const struct xray_function *a = left, *b = right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Sorts those with completed calls by id. Returns how many there are. */
static uint32_t sort_functions(struct xray_function *functions, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (functions[i].count)
            functions[kept++] = functions[i];
    if (kept)
        qsort(functions, kept, sizeof *functions, by_id);
    return kept;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

static int add_measures(struct model *model, const struct context *context, struct pf_error *error)
{
    union pf_measure *measures = pf_fold_at(model->fold, context->merged, error);
    if (!measures)
        return -1;
    measures[XRAY_CALLS].i = (int64_t)context->calls;
    measures[XRAY_TICKS].i = (int64_t)context->ticks;
    measures[XRAY_TICKS_INC].i = (int64_t)context->ticks_inc;
    model->negative += (int64_t)context->ticks < 0;
    return 0;
}

/*
 * Calls that had not ended have no duration, but what the calls inside them took is theirs, and their callers': so each
 * context's inclusive time is its own time and the inclusive times below it.
 */
static int add_open_calls(struct model *model, const struct calls *calls, struct pf_error *error)
{
    uint64_t inside = 0;
    for (size_t i = calls->depth; i > 0; i--) {
        const struct open_call *call = &calls->calls[i];
        union pf_measure *measures = pf_fold_at(model->fold, calls->items[call->context].merged, error);
        if (!measures)
            return -1;
        inside += call->inside;
        measures[XRAY_TICKS_INC].i = (int64_t)((uint64_t)measures[XRAY_TICKS_INC].i + inside);
        measures[XRAY_OPEN].i = 1;
    }
    return 0;
}

/* Adds a thread's contexts to the profile's; in_thread[n]: what calls of the thread's function n took. */
static int add_contexts(struct model *model, struct calls *calls, struct xray_function *in_thread,
                        struct pf_error *error)
{
    calls->items[0].merged = PF_NO_CONTEXT;
    for (uint32_t i = 1; i < calls->count; i++) {
        struct context *context = &calls->items[i];
        uint32_t number = number_function(model, context->id, error);
        if (number == XRAY_NO_FUNCTION)
            return -1;
        uint8_t flags = context->parent ? PF_FRAME : PF_FRAME | PF_ROOT;
        context->merged = pf_tree_child(model->tree, calls->items[context->parent].merged, context->id,
                                        model->names[number], 0, flags, error);
        if (context->merged == PF_NO_CONTEXT || add_measures(model, context, error))
            return -1;
        struct xray_function took = {.count = context->calls,
                                     .min = context->min,
                                     .max = context->max,
                                     .sum = (xray_uint128)context->wraps << 64 | context->ticks_inc};
        add_function(&model->all[number], &took);
        add_function(&in_thread[context->function], &took);
    }
    return add_open_calls(model, calls, error);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static int add_fields(struct model *model, const struct xray_thread *thread, const struct reader *reader,
                      struct pf_error *error)
{
    const struct calls *calls = &reader->calls;
    bool buffered = model->state->header.type == XRAY_FDR;
    struct pf_cell cells[XRAY_FIELDS] = {
        [XRAY_FIELD_PID] = thread->has_pid ? pf_int(thread->pid) : pf_absent(),
        [XRAY_FIELD_TID] = pf_int(thread->tid),
        [XRAY_FIELD_BUFFERS] = buffered ? pf_uint(thread->count) : pf_absent(),
        [XRAY_FIELD_EVENTS] = pf_uint(reader->events),
        [XRAY_FIELD_UNMATCHED_EXITS] = pf_uint(calls->unmatched),
        [XRAY_FIELD_IMPLICIT_EXITS] = pf_uint(calls->implicit),
        [XRAY_FIELD_OPEN_AT_END] = pf_uint(calls->depth),
        [XRAY_FIELD_MAX_DEPTH] = pf_uint(calls->max_depth),
        [XRAY_FIELD_FIRST_TSC] = reader->events ? pf_uint(reader->first_tsc) : pf_absent(),
        [XRAY_FIELD_LAST_TSC] = reader->events ? pf_uint(reader->last_tsc) : pf_absent(),
    };
    return pf_rows_add(model->fields, cells, error);
}

static int take_thread(struct model *model, size_t thread, struct reader *reader, struct pf_error *error)
{
    uint32_t n = reader->calls.functions.count;
    struct xray_function *functions = calloc((size_t)n + 1, sizeof *functions);
    if (!functions)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < n; i++)
        functions[i] = (struct xray_function){
            .id = reader->calls.functions.seen[i].id, .thread = (uint32_t)thread, .min = UINT64_MAX};
    int failed = add_contexts(model, &reader->calls, functions, error);
    n = failed ? 0 : sort_functions(functions, n);
    if (n)
        failed = pf_store_append(model->of_threads, functions, n * sizeof *functions, error);
    free(functions);
    model->first_of_thread[thread + 1] = model->first_of_thread[thread] + n;
    return failed || pf_fold_end_partition(model->fold, error)
               ? -1
               : add_fields(model, &model->state->index.threads[thread], reader, error);
}

static int make(struct model *model, struct pf_pass *pass, struct pf_error *error)
{
    /* Bytes held in memory before they go to a file. */
    enum { FUNCTIONS_HELD = 4 * 1024 * 1024 };
    size_t threads = model->state->index.n_threads;
    uint64_t done = 0;
    model->of_threads = pf_store_new(FUNCTIONS_HELD);
    model->first_of_thread = calloc(threads + 1, sizeof *model->first_of_thread);
    if (!model->tree || !model->fold || !model->fields || !model->of_threads || !model->first_of_thread)
        return pf_fail_memory(error);
    for (size_t i = 0; i < threads; i++) {
        struct reader reader = {.state = model->state, .pass = pass, .done = &done, .notes = &model->notes};
        int failed = read_thread(&reader, i, error) || take_thread(model, i, &reader, error);
        end_reader(&reader);
        if (failed)
            return -1;
    }
    pf_notes_sort(&model->notes);
    if (model->negative)
        xray_note_number(&model->notes, XRAY_NEGATIVE, UINT64_MAX, model->negative);
    return pf_tree_finish(model->tree, error);
}

/* Hands what the pass has made over to the profile. */
static void hand_over(struct model *model, struct pf_profile *profile)
{
    struct xray_state *state = xray_state(profile);
    state->n_functions = sort_functions(model->all, model->functions.count);
    state->functions = model->all;
    state->of_threads = model->of_threads;
    state->first_of_thread = model->first_of_thread;
    state->fold.fold = model->fold;
    profile->contexts = model->tree;
    profile->partitions.fields = model->fields;
    model->all = NULL;
    model->of_threads = NULL;
    model->first_of_thread = NULL;
    model->fold = NULL;
    model->tree = NULL;
    model->fields = NULL;
}

int xray_load_calls(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    const struct xray_state *state = xray_state(profile);
    struct model model = {
        .state = state,
        .tree = pf_tree_new(xray_context_kinds),
        .fold = pf_fold_new(XRAY_MEASURES, state->derivations, profile->n_metrics, profile->options->cache),
        .fields = pf_rows_new(XRAY_FIELDS),
    };
    int failed = make(&model, pass, error) || pf_notes_publish(&model.notes, profile, error) ||
                 xray_names_tell(&state->names, model.tree, profile, error);
    if (!failed)
        hand_over(&model, profile);
    xray_functions_free(&model.functions);
    free(model.names);
    free(model.all);
    pf_store_free(model.of_threads);
    free(model.first_of_thread);
    pf_tree_free(model.tree);
    pf_fold_free(model.fold);
    pf_rows_free(model.fields);
    pf_notes_free(&model.notes);
    return failed ? -1 : 0;
}
