/* SPDX-License-Identifier: MIT */
/* Objects that are written as one before: their values are taken without reading tokens. See formats/json/json_form.h. */
#include "formats/perun/read.h"

/* What learning asks about members, and finds out of them. */
struct learning {
    struct perun_reading *reading;
    struct perun_form *form;
    size_t n; /* gaps so far */
};

/* Where the value of a field stands in the object that was just read; PERUN_UID_GAP if nowhere. */
static size_t value_of(const struct perun_reading *reading, uint32_t field)
{
    for (size_t i = 0; i < reading->n_values; i++)
        if (reading->values[i].field == field)
            return i;
    return PERUN_UID_GAP;
}

static enum pf_json_gap add_gap(struct learning *learning, size_t value, enum pf_json_gap gap)
{
    if (learning->n == PF_JSON_FORM_GAPS)
        return PF_JSON_NO_FORM;
    learning->form->values[learning->n++] = value;
    return gap;
}

static enum pf_json_gap choose_gap(void *arg, const struct pf_json_token *name)
{
    struct learning *learning = arg;
    struct perun_data *data = learning->reading->data;
    struct pf_error error;
    uint32_t field;
    switch (perun_member_called(name)) {
    case PERUN_TRACE_MEMBER:
    case PERUN_COMMAND_MEMBER:
        return PF_JSON_NO_FORM;
    case PERUN_TYPE_MEMBER:
    case PERUN_SUBTYPE_MEMBER:
        return PF_JSON_FIXED;
    case PERUN_SNAPSHOT_MEMBER: /* one that is no number is told each time */
        return learning->reading->snapshot.there ? PF_JSON_FIXED : PF_JSON_NO_FORM;
    case PERUN_UID_MEMBER:
        return add_gap(learning, PERUN_UID_GAP, PF_JSON_STRING_GAP);
    default:
        break;
    }
    if (perun_field_of(&data->fields, data->tree->strings, name->text, name->size, &field, &error))
        return PF_JSON_NO_FORM;
    size_t value = value_of(learning->reading, field);
    if (value == PERUN_UID_GAP)
        return PF_JSON_NO_FORM;
    return add_gap(learning, value, field == PERUN_AMOUNT ? PF_JSON_NUMBER_GAP : PF_JSON_ANY_GAP);
}

/* Of objects that nothing is like, fewer and fewer are learned. */
static bool is_worth_learning(struct perun_reading *reading)
{
    uint64_t misses = ++reading->misses;
    return (misses & (misses - 1)) == 0;
}

void perun_learn_object(struct perun_reading *reading, uint64_t start)
{
    size_t size;
    if (!is_worth_learning(reading))
        return;
    const char *text = pf_json_seen(reading->json, start, &size);
    struct perun_form *form = &reading->forms[reading->next_form];
    struct learning learning = {.reading = reading, .form = form};
    form->known = text && pf_json_form_learn(&form->form, reading->part, text, size, choose_gap, &learning);
    if (!form->known)
        return;
    form->shaped = false;
    form->n_values = reading->n_values;
    for (size_t i = 0; i < reading->n_values && i < PF_JSON_FORM_GAPS; i++)
        form->fields[i] = reading->values[i].field;
    form->type = reading->type;
    form->subtype = reading->subtype;
    form->snapshot = reading->snapshot;
    reading->next_form = (reading->next_form + 1) % PERUN_FORMS;
}

/* A uid as a string's number: mostly that of the object before. */
static int take_uid(struct perun_reading *reading, const struct pf_cell *uid, struct pf_error *error)
{
    struct pf_strings *strings = reading->data->tree->strings;
    struct pf_cell last = pf_interned(strings, reading->last_uid.word);
    bool same = last.type == PF_TEXT && last.size == uid->size && !memcmp(last.text, uid->text, uid->size);
    reading->uid_word = same ? reading->last_uid.word : pf_intern(strings, uid->text, uid->size, error);
    reading->last_uid.word = reading->uid_word;
    reading->last_uid.plain = same ? last.plain : pf_interned(strings, reading->uid_word).plain;
    return reading->uid_word == PF_NO_STRING ? -1 : 0;
}

static int take_gaps(struct perun_reading *reading, struct perun_form *form, const struct pf_cell *cells,
                     struct pf_error *error)
{
    perun_begin_object(reading);
    reading->form = form;
    reading->type = form->type;
    reading->subtype = form->subtype;
    reading->snapshot = form->snapshot;
    reading->n_values = form->n_values;
    for (size_t i = 0; i < form->form.n_gaps; i++) {
        size_t value = form->values[i];
        if (!form->form.parts[i].string)
            perun_set_number(reading, value, form->fields[value], &cells[i]);
        else if (value == PERUN_UID_GAP
                     ? take_uid(reading, &cells[i], error)
                     : perun_set_text(reading, value, form->fields[value], &cells[i], error))
            return -1;
    }
    return 0;
}

int perun_match_object(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_cell cells[PF_JSON_FORM_GAPS];
    size_t likely = reading->forms[reading->last_form].then;
    for (size_t i = 0; i < PERUN_FORMS; i++) {
        size_t n = (likely + i) % PERUN_FORMS;
        if (!reading->forms[n].known || !pf_json_form_match(reading->json, &reading->forms[n].form, cells))
            continue;
        reading->forms[reading->last_form].then = n;
        reading->last_form = n;
        reading->misses = 0;
        return take_gaps(reading, &reading->forms[n], cells, error) || perun_step(reading, error) ? -1 : 1;
    }
    return 0;
}
