/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/xray/reading.h"
#include "formats/xray/tallies.h"
#include "formats/xray/xray.h"

/*
 * The model pass: what the threads' events have come to (reading.h) becomes the profile's contexts, in the order of
 * their first entries, thread by thread, their measures, what functions took, and fields of threads.
 */

const char *const xray_context_kinds[] = {"function"};

struct model {
    const struct xray_state *state;
    struct xray_functions functions; /* of all threads, numbered as they come */
    uint32_t *names;                 /* of these functions, in the tree's strings */
    size_t names_room;
    struct xray_tallies tallies; /* by the same numbers */
    struct xray_lists lists;
    struct pf_tree *tree;
    struct pf_fold *fold;
    struct pf_rows *fields;
    struct xray_notes notes;
    uint64_t negative; /* contexts of threads that took less than no time */
};

/* ---- functions ---------------------------------------------------------------------------------- */

/* The number of a function that has not been seen before, with its name. */
static uint32_t new_function(struct model *model, uint32_t id, struct pf_error *error)
{
    uint32_t number = xray_functions_add(&model->functions, id, error);
    if (number == XRAY_NO_FUNCTION)
        return XRAY_NO_FUNCTION;
    if (xray_tallies_reach(&model->tallies, number, error))
        return XRAY_NO_FUNCTION;
    if (number >= model->names_room) {
        size_t room = model->functions.room;
        if (pf_array_resize(&model->names, room, sizeof *model->names, error))
            return XRAY_NO_FUNCTION;
        model->names_room = room;
    }
    char buffer[XRAY_NAME_MAX];
    struct pf_cell name = xray_name(&model->state->names, id, buffer);
    model->names[number] = pf_intern(model->tree->strings, name.text, name.size, error);
    return model->names[number] == PF_NO_STRING ? XRAY_NO_FUNCTION : number;
}

/* The model's numbers of a thread's functions, by the thread's, for the caller to free. NULL with *error filled. */
static uint32_t *number_functions(struct model *model, const struct xray_functions *seen,
                                  struct pf_error *error)
{
    uint32_t *numbers = malloc(((size_t)seen->count + 1) * sizeof *numbers);
    if (!numbers) {
        pf_fail_memory(error);
        return NULL;
    }
    for (uint32_t i = 0; i < seen->count; i++) {
        numbers[i] = xray_functions_find(&model->functions, seen->seen[i].id);
        if (numbers[i] == XRAY_NO_FUNCTION)
            numbers[i] = new_function(model, seen->seen[i].id, error);
        if (numbers[i] == XRAY_NO_FUNCTION) {
            free(numbers);
            return NULL;
        }
    }
    return numbers;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

static int add_measures(struct model *model, const struct xray_context *context, struct pf_error *error)
{
    union pf_measure *measures = pf_fold_at(model->fold, context->merged, error);
    if (!measures)
        return -1;
    measures[XRAY_CALLS].i = (int64_t)context->calls;
    measures[XRAY_TICKS].i = (int64_t)context->ticks;
    measures[XRAY_TICKS_INC].i = (int64_t)context->ticks_inc;
    return 0;
}

/*
 * Calls that had not ended have no duration, but what the calls inside them took is theirs, and their callers': so each
 * context's inclusive time is its own time and the inclusive times below it.
 */
static int add_open_calls(struct model *model, const struct xray_contexts *contexts, struct pf_error *error)
{
    uint64_t inside = 0;
    for (size_t i = contexts->depth; i > 0; i--) {
        const struct xray_call *call = &contexts->calls[i];
        union pf_measure *measures = pf_fold_at(model->fold, contexts->items[call->context].merged, error);
        if (!measures)
            return -1;
        inside += call->inside;
        measures[XRAY_TICKS_INC].i = (int64_t)((uint64_t)measures[XRAY_TICKS_INC].i + inside);
        measures[XRAY_OPEN].i = 1;
    }
    return 0;
}

/* What the completed calls in a context took. */
static struct xray_tally tally_of(const struct xray_context *context)
{
    return (struct xray_tally){.count = context->calls,
                               .min = context->min,
                               .max = context->max,
                               .sum = (xray_uint128)context->wraps << 64 | context->ticks_inc};
}

/* Adds a thread's contexts to the profile's. numbers: the model's numbers of functions, by the thread's. */
static int add_contexts(struct model *model, struct xray_contexts *contexts, const uint32_t *numbers,
                        struct pf_error *error)
{
    contexts->items[0].merged = PF_NO_CONTEXT;
    for (uint32_t i = 1; i < contexts->count; i++) {
        struct xray_context *context = &contexts->items[i];
        uint32_t number = numbers[context->function];
        uint8_t flags = context->parent ? PF_FRAME : PF_FRAME | PF_ROOT;
        context->merged = pf_tree_child(model->tree, contexts->items[context->parent].merged, context->id,
                                        model->names[number], 0, flags, error);
        if (context->merged == PF_NO_CONTEXT || add_measures(model, context, error))
            return -1;
        model->negative += (int64_t)context->ticks < 0;
        struct xray_tally tally = tally_of(context);
        xray_tallies_take(&model->tallies, number, &tally);
    }
    return add_open_calls(model, contexts, error);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static int add_notes(struct model *model, const struct xray_notes *notes, struct pf_error *error)
{
    for (size_t i = 0; i < notes->count; i++) {
        const struct xray_note *note = &notes->items[i];
        if (xray_note(&model->notes, note->kind, note->offset, note->detail, error))
            return -1;
    }
    return 0;
}

static int add_fields(struct model *model, const struct xray_thread *thread,
                      const struct xray_reading *reading, struct pf_error *error)
{
    const struct xray_contexts *contexts = &reading->contexts;
    bool buffered = model->state->header.type == XRAY_FDR;
    struct pf_cell cells[XRAY_FIELDS] = {
        [XRAY_FIELD_PID] = thread->has_pid ? pf_int(thread->pid) : pf_absent(),
        [XRAY_FIELD_TID] = pf_int(thread->tid),
        [XRAY_FIELD_BUFFERS] = buffered ? pf_uint(thread->count) : pf_absent(),
        [XRAY_FIELD_EVENTS] = pf_uint(reading->events),
        [XRAY_FIELD_UNMATCHED_EXITS] = pf_uint(contexts->unmatched),
        [XRAY_FIELD_IMPLICIT_EXITS] = pf_uint(contexts->implicit),
        [XRAY_FIELD_OPEN_AT_END] = pf_uint(contexts->depth),
        [XRAY_FIELD_MAX_DEPTH] = pf_uint(contexts->max_depth),
        [XRAY_FIELD_FIRST_TSC] = reading->events ? pf_uint(reading->first_tsc) : pf_absent(),
        [XRAY_FIELD_LAST_TSC] = reading->events ? pf_uint(reading->last_tsc) : pf_absent(),
    };
    return pf_rows_add(model->fields, cells, error);
}

static int take_thread(void *arg, size_t thread, struct xray_reading *reading, struct pf_error *error)
{
    struct model *model = arg;
    uint32_t *numbers = number_functions(model, &reading->contexts.functions, error);
    if (!numbers)
        return -1;
    int failed = add_contexts(model, &reading->contexts, numbers, error);
    free(numbers);
    if (failed || pf_fold_end_partition(model->fold, error) ||
        xray_tallies_end_thread(&model->tallies, &model->functions, &model->lists, error) ||
        add_notes(model, &reading->notes, error))
        return -1;
    return add_fields(model, &model->state->index.threads[thread], reading, error);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

/* Hands what the pass has made over to the profile. */
static int hand_over(struct model *model, struct pf_profile *profile, struct pf_error *error)
{
    struct xray_state *state = xray_state(profile);
    uint32_t n_functions;
    struct xray_function *functions =
        xray_tallies_all(&model->tallies, &model->functions, &n_functions, error);
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

static int make(struct model *model, struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    if (!model->tree || !model->fold || !model->fields)
        return pf_fail_memory(error);
    if (xray_lists_init(&model->lists, model->state->index.n_threads, error) ||
        xray_read_threads(model->state, pass, take_thread, model, error) ||
        pf_tree_finish(model->tree, error) ||
        (model->negative &&
         xray_note(&model->notes, XRAY_NOTE_NEGATIVE, XRAY_NOWHERE, model->negative, error)))
        return -1;
    return hand_over(model, profile, error);
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
    int failed = make(&model, profile, pass, error);
    xray_functions_free(&model.functions);
    free(model.names);
    xray_tallies_free(&model.tallies);
    xray_lists_free(&model.lists);
    pf_tree_free(model.tree);
    pf_fold_free(model.fold);
    pf_rows_free(model.fields);
    xray_notes_free(&model.notes);
    return failed;
}
