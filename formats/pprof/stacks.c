/* SPDX-License-Identifier: MIT */
#include "formats/pprof/stacks.h"

#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"

enum {
    FRAMES_A_BYTE = 16, /* of the file: inlined lines make many frames of a few bytes, but not that many */
    FRAMES_MAX = 1000 * 1000, /* in any case */
};

/* Keys of labels that tell of threads, as writers call them; the first that a sample has counts. */
enum { ID_KEYS = 3, NAME_KEYS = 4, KEYS = ID_KEYS + NAME_KEYS };
static const char *const keys[KEYS] = {"thread id",   "thread_id", "tid",        "thread name",
                                       "thread_name", "thread",    "thread_comm"};

struct pprof_stacks {
    struct pprof_tables *tables;
    struct pprof_labels *all_labels;
    struct pf_profile *profile;
    uint32_t keys[KEYS]; /* names */
    uint32_t no_stack;   /* the frame of samples without any location */
    /* The sample at hand. */
    uint64_t *locations, *values;
    size_t n_locations, locations_room, n_values, values_room;
    struct pprof_label *labels;
    size_t n_labels, labels_room;
    uint64_t offset;
    struct pf_cell id, name; /* of its thread */
    char id_text[PF_NUMBER_MAX], name_text[PF_NUMBER_MAX];
    char *thread; /* a name being put together */
    size_t thread_room;
    uint64_t frames;
};

struct pprof_stacks *pprof_stacks_new(struct pprof_tables *tables, struct pprof_labels *labels,
                                      struct pf_error *error)
{
    struct pf_profile *profile = tables->profile;
    struct pprof_stacks *stacks = calloc(1, sizeof *stacks);
    if (!stacks) {
        pf_fail_memory(error);
        return NULL;
    }
    stacks->tables = tables;
    stacks->all_labels = labels;
    stacks->profile = profile;
    bool made = true;
    for (size_t i = 0; i < KEYS && made; i++) {
        stacks->keys[i] = pf_samples_string(profile, keys[i], strlen(keys[i]), error);
        made = stacks->keys[i] != PF_NO_STRING;
    }
    stacks->no_stack = made ? pf_samples_named_frame(profile, "(no stack)", 10, error) : PF_NO_STRING;
    if (stacks->no_stack != PF_NO_STRING)
        return stacks;
    pprof_stacks_free(stacks);
    return NULL;
}

void pprof_stacks_free(struct pprof_stacks *stacks)
{
    if (!stacks)
        return;
    free(stacks->locations);
    free(stacks->values);
    free(stacks->labels);
    free(stacks->thread);
    free(stacks);
}

/* ---- labels ------------------------------------------------------------------------------------- */

/* Of the keys that tell of the same thing the first counts, of a key that a sample has twice the first label. */
static void note_thread(struct pprof_stacks *stacks, const struct pprof_label *label, unsigned best[2])
{
    for (unsigned i = 0; i < KEYS; i++) {
        bool named = i >= ID_KEYS;
        if (label->key != stacks->keys[i] || best[named] <= i)
            continue;
        best[named] = i;
        if (named)
            stacks->name = pprof_label_value(stacks->profile, label, stacks->name_text);
        else
            stacks->id = pprof_label_value(stacks->profile, label, stacks->id_text);
    }
}

/* 1: taken; 0: it cannot be read; -1: *error filled. */
static int take_label(struct pprof_stacks *stacks, const struct pprof_field *whole, unsigned best[2],
                      const char **wrong, struct pf_error *error)
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    uint64_t numbers[5] = {0};
    int more;
    while ((more = pprof_next(&message, &field, wrong)) > 0)
        if (field.number < 5 && field.wire == WIRE_VARINT)
            numbers[field.number] = field.value;
    if (more < 0)
        return 0;
    struct pprof_label label = {.number = (int64_t)numbers[3]};
    if (pprof_string(stacks->tables, numbers[1], "a label's key", &label.key, error) ||
        pprof_string(stacks->tables, numbers[2], "a label's text", &label.text, error) ||
        pprof_string(stacks->tables, numbers[4], "a label's unit", &label.unit, error))
        return -1;
    if (label.text == PF_NO_STRING && !numbers[3] && !numbers[4])
        return 1; /* nothing, as pprof has it */
    if (label.text != PF_NO_STRING) {
        label.number = 0;
        label.unit = PF_NO_STRING;
    }
    note_thread(stacks, &label, best);
    if (pf_array_room(&stacks->labels, &stacks->labels_room, stacks->n_labels, sizeof *stacks->labels, error))
        return -1;
    stacks->labels[stacks->n_labels++] = label;
    return 1;
}

/* ---- one sample --------------------------------------------------------------------------------- */

/* Appends numbers, of which a field has one or several. 1: taken; 0: they cannot be read; -1: *error filled. */
static int take_numbers(const struct pprof_field *field, uint64_t **numbers, size_t *n, size_t *room,
                        struct pf_error *error)
{
    struct pprof_message packed = pprof_in(field);
    uint64_t number = field->value;
    bool single = field->wire == WIRE_VARINT;
    while (single || packed.at < packed.end) {
        if (!single && !pprof_varint(&packed, &number))
            return 0;
        if (pf_array_room(numbers, room, *n, sizeof **numbers, error))
            return -1;
        (*numbers)[(*n)++] = number;
        single = false;
    }
    return 1;
}

/* 1: the sample is there; 0: it cannot be read, *wrong says why; -1: *error filled. */
static int take_sample(struct pprof_stacks *stacks, const struct pprof_field *whole, const char **wrong,
                       struct pf_error *error)
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    unsigned best[2] = {KEYS, KEYS};
    int more;
    stacks->n_locations = stacks->n_values = stacks->n_labels = 0;
    stacks->id = stacks->name = pf_absent();
    while ((more = pprof_next(&message, &field, wrong)) > 0) {
        int got = 1;
        if (field.number > 3)
            continue;
        *wrong = "a number does not end";
        if (field.number == 3 ? field.wire != WIRE_BYTES
                              : field.wire != WIRE_BYTES && field.wire != WIRE_VARINT)
            got = pprof_warn(stacks->tables, whole->offset, "bad-type", error,
                             "field %u of a sample has another type: it is left out", (unsigned)field.number)
                      ? -1
                      : 1;
        else if (field.number == 1)
            got = take_numbers(&field, &stacks->locations, &stacks->n_locations, &stacks->locations_room,
                               error);
        else if (field.number == 2)
            got = take_numbers(&field, &stacks->values, &stacks->n_values, &stacks->values_room, error);
        else
            got = take_label(stacks, &field, best, wrong, error);
        if (got <= 0)
            return got;
    }
    return more < 0 ? 0 : 1;
}

/* The partition of the sample at hand; PF_NO_PARTITION with *error filled. */
static uint32_t thread_of(struct pprof_stacks *stacks, struct pf_error *error)
{
    bool has_id = stacks->id.type == PF_TEXT, has_name = stacks->name.type == PF_TEXT;
    if (!has_id && !has_name)
        return pf_samples_partition(stacks->profile, "all", 3, NULL, error);
    if (!has_id)
        return pf_samples_partition(stacks->profile, stacks->name.text, stacks->name.size, NULL, error);
    size_t size = 0;
    const struct pf_cell parts[] = {has_name ? stacks->name : pf_string("thread-"),
                                    pf_string(has_name ? " (" : ""), stacks->id,
                                    pf_string(has_name ? ")" : "")};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t end = size + parts[i].size;
        if (end > stacks->thread_room && pf_array_grow(&stacks->thread, &stacks->thread_room, end, 1, error))
            return PF_NO_PARTITION;
        memcpy(stacks->thread + size, parts[i].text, parts[i].size);
        size = end;
    }
    return pf_samples_partition(stacks->profile, stacks->thread, size, &stacks->id, error);
}

/* Goes from a context into the lines of a location that are not cut, outermost first. */
static int enter_location(struct pprof_stacks *stacks, const struct pprof_location *location,
                          uint32_t *context, struct pf_error *error)
{
    stacks->frames += location->lines - location->cut;
    for (uint32_t k = location->lines; k-- > location->cut;) {
        *context = pf_samples_enter(stacks->profile, *context,
                                    stacks->tables->lines[location->first + k].frame, error);
        if (*context == PF_NO_CONTEXT)
            return -1;
    }
    return 0;
}

/*
 * The context of the sample at hand. Locations that are dropped end it with all that they call; but not before there is one that
 * neither is nor is cut, lest a dropped root take everything.
 */
static uint32_t context_of(struct pprof_stacks *stacks, struct pf_error *error)
{
    const struct pprof_tables *tables = stacks->tables;
    uint32_t context = PF_NO_CONTEXT;
    bool user = false, over = false;
    if (!stacks->n_locations)
        return pf_samples_enter(stacks->profile, context, stacks->no_stack, error);
    for (size_t i = stacks->n_locations; i-- > 0 && !over;) {
        int64_t found = pprof_find(&tables->locations, stacks->locations[i]);
        const struct pprof_location *location = found < 0 ? NULL : &tables->location[found];
        if (!location) {
            context = pf_samples_enter(stacks->profile, context, tables->unknown_frame, error);
            if (context == PF_NO_CONTEXT ||
                pprof_warn(stacks->tables, stacks->offset, "no-location", error,
                           "location %ju of a sample is not there", (uintmax_t)stacks->locations[i]))
                return PF_NO_CONTEXT;
        }
        bool whole = !location || (!location->dropped && !location->cut);
        if (user && location && location->dropped)
            break;
        over = user && !whole;
        user = user || whole;
        if (location && enter_location(stacks, location, &context, error))
            return PF_NO_CONTEXT;
    }
    return context;
}

static int add_values(struct pprof_stacks *stacks, struct pf_error *error)
{
    const struct pprof_tables *tables = stacks->tables;
    if (stacks->n_values != tables->n_types &&
        pprof_warn(stacks->tables, stacks->offset, "values", error, "a sample has %zu values instead of %zu",
                   stacks->n_values, tables->n_types))
        return -1;
    uint32_t context = context_of(stacks, error);
    uint32_t thread = context == PF_NO_CONTEXT ? PF_NO_PARTITION : thread_of(stacks, error);
    if (thread == PF_NO_PARTITION)
        return -1;
    for (size_t i = 0; i < stacks->n_values && i < tables->n_types; i++) {
        uint32_t metric = tables->types[i].metric;
        struct pf_cell value = pf_int((int64_t)stacks->values[i]);
        if (pf_samples_add(stacks->profile, thread, context, metric, value, error))
            return -1;
        for (size_t k = 0; k < stacks->n_labels; k++)
            if (pprof_labels_add(stacks->all_labels, &stacks->labels[k], thread, metric, value.i, error))
                return -1;
    }
    return 0;
}

int pprof_stacks_take(struct pprof_stacks *stacks, const struct pprof_field *field, struct pf_error *error)
{
    const char *wrong = NULL;
    stacks->offset = field->offset;
    if (field->wire != WIRE_BYTES)
        return 0; /* told of already */
    int got = take_sample(stacks, field, &wrong, error);
    if (got < 0)
        return -1;
    if (got == 0)
        return pprof_warn(stacks->tables, field->offset, "bad-message", error, "a sample is left out: %s",
                          wrong);
    if (add_values(stacks, error))
        return -1;
    if (stacks->frames <= FRAMES_MAX || stacks->frames / FRAMES_A_BYTE <= field->offset)
        return 0;
    return pf_warn(
               stacks->profile, 0, (int64_t)field->offset, "fatal", "many-frames", error,
               "inlined functions make more frames than the file can be meant to have: the rest is left out")
               ? -1
               : 1;
}
