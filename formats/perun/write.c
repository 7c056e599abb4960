/* SPDX-License-Identifier: MIT */
/* One resource, or what the rows of a type share, onto a tape. */
#include <string.h>

#include "formats/perun/read.h"

/* ---- onto the tape ------------------------------------------------------------------------------ */

/* A value with its text, or wide integer, where these are now. */
static struct pf_cell whole_cell(const struct perun_reading *reading, const struct perun_value *value)
{
    struct pf_cell cell = value->cell;
    if (cell.type == PF_TEXT && !value->verbatim)
        cell.text = reading->texts.at + value->text;
    if (cell.type == PF_WIDE)
        cell.wide = &value->wide;
    return cell;
}

/* The snapshot's time, where the file has no better: that of its first resource. */
static int note_time(struct perun_reading *reading, uint32_t snapshot, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    uint32_t *group = snapshot == PERUN_NONE ? &data->none_group : &data->snapshots[snapshot].group;
    data->without_snapshot |= snapshot == PERUN_NONE;
    for (size_t i = 0; i < reading->n_values && *group == PERUN_NONE; i++) {
        const struct perun_value *value = &reading->values[i];
        if (value->field != PERUN_TIME)
            continue;
        struct pf_cell cell = whole_cell(reading, value);
        *group = perun_data_group(data, error);
        if (*group == PERUN_NONE || perun_data_set_time(data, *group, &cell, error))
            return -1;
    }
    return 0;
}

/* ---- shapes ------------------------------------------------------------------------------------- */

static struct perun_known_shape *shape_slot(struct perun_reading *reading, const uint32_t *words, size_t n)
{
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
    return &reading->shapes[(hash >> 32) % PERUN_SHAPES];
}

/* The words of a shape but for its fields, which the values have: see data.h. */
enum { SHAPE_HEAD = 4 };

static int put_new_shape(struct perun_reading *reading, const uint32_t *head, struct pf_error *error)
{
    struct perun_tape *tape = &reading->data->shapes;
    for (size_t i = 0; i < SHAPE_HEAD; i++)
        if (perun_put_number(tape, head[i], error))
            return -1;
    if (perun_put_number(tape, reading->n_values, error))
        return -1;
    for (size_t i = 0; i < reading->n_values; i++)
        if (perun_put_number(tape, reading->values[i].field, error))
            return -1;
    return 0;
}

/* Where the shape of the values stands, which is written if none of the last ones is like it. */
static int find_shape(struct perun_reading *reading, const uint32_t *head, uint64_t *offset,
                      struct pf_error *error)
{
    uint32_t words[PERUN_SHAPE_WORDS];
    size_t n = SHAPE_HEAD + reading->n_values;
    *offset = reading->data->shapes.size;
    if (n > PERUN_SHAPE_WORDS)
        return put_new_shape(reading, head, error);
    memcpy(words, head, SHAPE_HEAD * sizeof *words);
    for (size_t i = 0; i < reading->n_values; i++)
        words[SHAPE_HEAD + i] = reading->values[i].field;
    struct perun_known_shape *known = shape_slot(reading, words, n);
    if (known->n_words == n && !memcmp(known->words, words, n * sizeof *words)) {
        *offset = known->offset;
        return 0;
    }
    known->offset = *offset;
    known->n_words = n;
    memcpy(known->words, words, n * sizeof *words);
    return put_new_shape(reading, head, error);
}

/* Objects of one form mostly have one shape: their type and fields are those of the form. */
static int put_shape(struct perun_reading *reading, const uint32_t *head, uint64_t *offset,
                     struct pf_error *error)
{
    struct perun_form *form = reading->form;
    if (form && form->shaped && form->snapshot_word == head[0] && form->group_word == head[1]) {
        *offset = form->shape;
        return 0;
    }
    if (find_shape(reading, head, offset, error))
        return -1;
    if (form) {
        form->shaped = true;
        form->snapshot_word = head[0];
        form->group_word = head[1];
        form->shape = *offset;
    }
    return 0;
}

/* ---- properties --------------------------------------------------------------------------------- */

static int put_values(struct perun_reading *reading, struct perun_tape *tape, struct pf_error *error)
{
    for (size_t i = 0; i < reading->n_values; i++) {
        const struct perun_value *value = &reading->values[i];
        struct pf_cell cell = whole_cell(reading, value);
        struct perun_field *field = &reading->data->fields.list[value->field];
        field->seen |= cell.type != PF_ABSENT;
        field->texts |= cell.type == PF_TEXT && !value->verbatim;
        if (value->verbatim ? perun_put_verbatim(tape, cell.text, cell.size, error)
                            : perun_put_cell(tape, &cell, error))
            return -1;
    }
    return 0;
}

int perun_find_place(struct perun_reading *reading, struct pf_error *error)
{
    uint32_t *context = &reading->context, *uid = &reading->uid_text_word;
    struct perun_raw *trace = &reading->trace, *command = &reading->command;
    *uid = reading->uid_word;
    if (*uid == PF_NO_STRING)
        return perun_path(reading->paths, trace, &reading->uid, command, context, uid, error);
    if (trace->event == PF_JSON_END && command->event == PF_JSON_END)
        return perun_path_of_word(reading->paths, *uid, context, error);
    struct pf_cell text = pf_interned(reading->data->tree->strings, *uid);
    reading->uid_text.size = 0;
    if (perun_text_add(&reading->uid_text, text.text, text.size, error))
        return -1;
    reading->uid =
        (struct perun_raw){.event = PF_JSON_STRING, .text = reading->uid_text.at, .size = text.size};
    return perun_path(reading->paths, trace, &reading->uid, command, context, uid, error);
}

int perun_write_properties(struct perun_reading *reading, struct perun_tape *tape, uint32_t snapshot,
                           uint32_t group, struct pf_error *error)
{
    uint64_t shape;
    if (snapshot == PERUN_NONE && reading->snapshot.there) {
        snapshot = perun_data_snapshot(reading->data, reading->snapshot.number, error);
        if (snapshot == PERUN_NONE)
            return -1;
    }
    /* A snapshot's own time comes after its resources at times: then it is set later, and no matter. */
    if (group == PERUN_NONE && note_time(reading, snapshot, error))
        return -1;
    reading->data->without_snapshot |= snapshot == PERUN_NONE;
    uint32_t head[SHAPE_HEAD] = {snapshot + 1, group + 1, reading->type + 1, reading->subtype + 1};
    if (put_shape(reading, head, &shape, error) || perun_put_number(tape, shape, error) ||
        perun_put_number(tape, reading->uid_text_word + 1, error) ||
        perun_put_number(tape, reading->context, error) || perun_put_number(tape, reading->unit + 1, error))
        return -1;
    return put_values(reading, tape, error);
}
