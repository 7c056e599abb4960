/* SPDX-License-Identifier: MIT */
/* One resource, or what the rows of a type share: an object of properties. */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/parse.h"
#include "formats/perun/read.h"

/* The longest trace or uid that is read, as JSON text. */
#define RAW_MAX ((size_t)16 << 20)

/* Other fields may be objects and lists: shown as their JSON text up to this size. */
#define NESTED_MAX ((size_t)32 * 1024)

/* ---- values whole ------------------------------------------------------------------------------- */

static int grow(struct perun_text *buffer, size_t room, struct pf_error *error)
{
    char *at = realloc(buffer->at, room);
    if (!at)
        return pf_fail_memory(error);
    buffer->at = at;
    buffer->room = room;
    return 0;
}

/* A scalar's text, which the reader's next call would take away. */
static int keep_scalar(struct perun_raw *raw, struct perun_text *buffer, const struct pf_json_token *token,
                       struct pf_error *error)
{
    buffer->size = 0;
    bool text = token->event == PF_JSON_STRING || token->event == PF_JSON_NUMBER;
    if (perun_text_add(buffer, text ? token->text : "", text ? token->size : 0, error) ||
        perun_text_end(buffer, error))
        return -1;
    *raw = (struct perun_raw){token->event, buffer->at, buffer->size, token->offset, token->line};
    return 0;
}

int perun_take(struct perun_reading *reading, struct perun_raw *raw, struct perun_text *buffer,
               struct pf_error *error)
{
    char position[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH_MAX / 8 + 8];
    struct pf_json_token token;
    size_t saved = pf_json_save(reading->json, position, sizeof position);
    *raw = (struct perun_raw){.event = PF_JSON_END};
    if (!buffer->at && grow(buffer, 4096, error))
        return -1;
    for (;;) {
        int event = pf_json_take(reading->json, &token, buffer->at, buffer->room, error);
        if (event < 0)
            return -1;
        if (event != PF_JSON_OBJECT && event != PF_JSON_ARRAY)
            return keep_scalar(raw, buffer, &token, error);
        if (!token.cut) {
            *raw = (struct perun_raw){(enum pf_json_event)event, buffer->at, token.size, token.offset,
                                      token.line};
            return 0;
        }
        if (buffer->room >= RAW_MAX) {
            PERUN_NOTE_AT(reading, &token, "error", "too-long", "left out: this is longer than 16 MB");
            return 0;
        }
        if (grow(buffer, buffer->room * 4, error) || pf_json_restore(reading->json, position, saved, error))
            return -1;
    }
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t skip_blanks(const char *text, size_t size, size_t at)
{
    while (at < size && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return at;
}

/* Past the digits from `at` on; *any tells whether there are some. */
static size_t skip_digits(const char *text, size_t size, size_t at, bool *any)
{
    *any = at < size && is_digit(text[at]);
    while (at < size && is_digit(text[at]))
        at++;
    return at;
}

/* The end of the decimal number that begins at `at`; *integer: digits alone. `at` itself if there is none. */
static size_t number_end(const char *text, size_t size, size_t at, bool *integer)
{
    bool before, after = false, exponent;
    size_t end = skip_digits(text, size, at, &before);
    *integer = before;
    if (end < size && text[end] == '.') {
        end = skip_digits(text, size, end + 1, &after);
        *integer = false;
    }
    if (!before && !after)
        return at;
    if (end < size && (text[end] == 'e' || text[end] == 'E')) {
        size_t digits = end + 1 + (end + 1 < size && (text[end + 1] == '+' || text[end + 1] == '-'));
        digits = skip_digits(text, size, digits, &exponent);
        if (exponent) {
            *integer = false;
            return digits;
        }
    }
    return end;
}

/* The end of the unit that begins at `at`: letters or %. */
static size_t unit_end(const char *text, size_t size, size_t at)
{
    for (; at < size; at++) {
        char letter = (char)(text[at] | 0x20);
        if (!((letter >= 'a' && letter <= 'z') || text[at] == '%' || (unsigned char)text[at] >= 0x80))
            break;
    }
    return at;
}

/*
 * Blanks, a decimal number, blanks, a unit: the number, and where the unit is (unit->size 0: none). False if the text is
 * none of this.
 */
static bool parse_amount(const char *text, size_t size, struct perun_value *value, struct pf_cell *unit)
{
    size_t at = skip_blanks(text, size, 0);
    bool negative = at < size && text[at] == '-', integer;
    at += negative || (at < size && text[at] == '+');
    size_t end = number_end(text, size, at, &integer), letters = skip_blanks(text, size, end);
    size_t behind = unit_end(text, size, letters);
    *unit = pf_text(text + letters, behind - letters);
    if (end == at || skip_blanks(text, size, behind) < size)
        return false;
    while (integer && at + 1 < end && text[at] == '0')
        at++;
    struct pf_json_token number = {.event = PF_JSON_NUMBER, .text = text + at, .size = end - at};
    double real;
    if (!integer || end - at > 36) {
        if (!pf_parse_double(text + at, end - at, &real))
            return false;
        value->cell = pf_double(negative ? -real : real);
        return true;
    }
    value->cell = pf_json_number(&number, &value->wide);
    if (!negative)
        return true;
    value->wide = value->cell.type == PF_WIDE   ? -value->wide
                  : value->cell.type == PF_UINT ? -(pf_int128)value->cell.u
                                                : -(pf_int128)value->cell.i;
    value->cell = value->wide < INT64_MIN ? pf_wide(&value->wide) : pf_int((int64_t)value->wide);
    return true;
}

/* ---- values of fields --------------------------------------------------------------------------- */

static int keep_text(struct perun_reading *reading, struct perun_value *value, const char *text, size_t size,
                     struct pf_error *error)
{
    value->text = reading->texts.size;
    value->cell = pf_text(NULL, size);
    return perun_text_add(&reading->texts, text, size, error);
}

static int note_no_number(struct perun_reading *reading, const struct pf_json_token *token, const char *what,
                          size_t size)
{
    PERUN_NOTE_AT(reading, token, "warning", "no-number",
                  "this amount is not a number, and is left out: %.*s", size < 60 ? (int)size : 60, what);
    return 0;
}

/* An object or list, whose first token was read. */
static int read_nested(struct perun_reading *reading, uint32_t field, const struct pf_json_token *token,
                       struct pf_error *error)
{
    if (field == PERUN_AMOUNT)
        note_no_number(reading, token, token->event == PF_JSON_ARRAY ? "a list" : "an object",
                       token->event == PF_JSON_ARRAY ? 6 : 9);
    return pf_json_leave(reading->json, error);
}

/* A unit that stands beside an amount is its metric's where the header names none. */
static int note_unit(struct perun_reading *reading, const struct pf_cell *unit, struct pf_error *error)
{
    if (reading->unit != PF_NO_STRING || !unit->size || unit->size > 15)
        return 0;
    reading->unit = pf_intern(reading->data->tree->strings, unit->text, unit->size, error);
    return reading->unit == PF_NO_STRING ? -1 : 0;
}

int perun_read_value(struct perun_reading *reading, uint32_t field, const struct pf_json_token *token,
                     struct perun_value *value, struct pf_error *error)
{
    struct pf_cell unit;
    static const char *const words[] = {
        [PF_JSON_TRUE] = "true", [PF_JSON_FALSE] = "false", [PF_JSON_NULL] = "null"};
    *value = (struct perun_value){.field = field, .cell = pf_absent()};
    switch (token->event) {
    case PF_JSON_NUMBER:
        value->cell = pf_json_number(token, &value->wide);
        return 0;
    case PF_JSON_STRING:
        if (field != PERUN_AMOUNT)
            return keep_text(reading, value, token->text, token->size, error);
        if (!parse_amount(token->text, token->size, value, &unit))
            return note_no_number(reading, token, token->text, token->size);
        return note_unit(reading, &unit, error);
    case PF_JSON_TRUE:
    case PF_JSON_FALSE:
    case PF_JSON_NULL:
        if (field == PERUN_AMOUNT)
            return note_no_number(reading, token, words[token->event], strlen(words[token->event]));
        return token->event == PF_JSON_NULL
                   ? 0
                   : keep_text(reading, value, words[token->event], strlen(words[token->event]), error);
    default:
        return read_nested(reading, field, token, error);
    }
}

/* The place for a field's value: that of an earlier one, since the last of equal keys counts. There is room for one more. */
static struct perun_value *place_for(struct perun_reading *reading, uint32_t field)
{
    size_t i = 0;
    while (i < reading->n_values && reading->values[i].field != field)
        i++;
    reading->n_values += i == reading->n_values;
    reading->values[i].field = field;
    reading->values[i].verbatim = false;
    return &reading->values[i];
}

/* ---- members ------------------------------------------------------------------------------------ */

void perun_set_number(struct perun_reading *reading, size_t i, uint32_t field, const struct pf_cell *number)
{
    struct perun_value *value = &reading->values[i];
    value->field = field;
    value->cell = *number;
    value->verbatim = number->type == PF_TEXT;
}

int perun_set_text(struct perun_reading *reading, size_t i, uint32_t field, const struct pf_cell *text,
                   struct pf_error *error)
{
    struct perun_value *value = &reading->values[i];
    value->field = field;
    value->verbatim = false;
    return keep_text(reading, value, text->text, text->size, error);
}

/* The value of a field, whatever it is: as text if it is an object or list. */
static int read_any(struct perun_reading *reading, uint32_t field, struct pf_error *error)
{
    struct pf_json_token token;
    char nested[NESTED_MAX];
    if (pf_json_take(reading->json, &token, nested, sizeof nested, error) < 0)
        return -1;
    if (field == PERUN_NONE || reading->n_values == PERUN_VALUES_MAX) {
        PERUN_NOTE_AT(reading, &token, "warning", "many-fields",
                      "left out: there are too many different fields");
        return 0;
    }
    struct perun_value *value = place_for(reading, field);
    if (token.event != PF_JSON_OBJECT && token.event != PF_JSON_ARRAY)
        return perun_read_value(reading, field, &token, value, error);
    value->cell = pf_absent();
    if (field == PERUN_AMOUNT)
        return note_no_number(reading, &token, token.cut ? "" : token.text, token.cut ? 0 : token.size);
    return keep_text(reading, value, token.cut ? "(too long)" : token.text, token.cut ? 10 : token.size,
                     error);
}

/* A member that is a field. Most are simple numbers, or simple text. */
static int read_field(struct perun_reading *reading, uint32_t field, struct pf_error *error)
{
    struct pf_cell number;
    const char *text;
    size_t size;
    if (field == PERUN_NONE || reading->n_values == PERUN_VALUES_MAX)
        return read_any(reading, field, error);
    if (pf_json_accept_number(reading->json, &number)) {
        place_for(reading, field)->cell = number;
        return 0;
    }
    if (field != PERUN_AMOUNT && pf_json_accept_string(reading->json, &text, &size))
        return keep_text(reading, place_for(reading, field), text, size, error);
    return read_any(reading, field, error);
}

/* A simple text that is next, most likely that of an object before. 1; 0: it is none; -1: *error filled. */
static int accept_word(struct perun_reading *reading, uint32_t *word, struct perun_last_word *last,
                       struct pf_error *error)
{
    struct pf_strings *strings = reading->data->tree->strings;
    const char *text;
    size_t size;
    struct pf_cell likely = last->plain ? pf_interned(strings, last->word) : pf_absent();
    if (last->plain && pf_json_accept(reading->json, false, likely.text, likely.size)) {
        *word = last->word;
        return 1;
    }
    if (!pf_json_accept_string(reading->json, &text, &size))
        return 0;
    *word = last->word = pf_intern(strings, text, size, error);
    last->plain = *word != PF_NO_STRING && pf_interned(strings, *word).plain;
    return *word == PF_NO_STRING ? -1 : 1;
}

static int read_uid(struct perun_reading *reading, struct pf_error *error)
{
    reading->uid.event = PF_JSON_END;
    int simple = accept_word(reading, &reading->uid_word, &reading->last_uid, error);
    if (simple)
        return simple < 0 ? -1 : 0;
    reading->uid_word = PF_NO_STRING;
    return perun_take(reading, &reading->uid, &reading->uid_text, error);
}

/* A word: `type` or `subtype`. Anything but text is none. */
static int read_word(struct perun_reading *reading, uint32_t *word, struct perun_last_word *last,
                     struct pf_error *error)
{
    struct pf_json_token token;
    int simple = accept_word(reading, word, last, error);
    if (simple)
        return simple < 0 ? -1 : 0;
    *word = PF_NO_STRING;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    if (token.event != PF_JSON_STRING)
        return 0;
    *word = pf_intern(reading->data->tree->strings, token.text, token.size, error);
    return *word == PF_NO_STRING ? -1 : 0;
}

static int read_snapshot(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    struct perun_value value = {.cell = pf_absent()};
    struct pf_cell unit;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    bool number = token.event == PF_JSON_NUMBER
                      ? (value.cell = pf_json_number(&token, &value.wide)).type == PF_INT
                  : token.event == PF_JSON_STRING
                      ? parse_amount(token.text, token.size, &value, &unit) && value.cell.type == PF_INT
                      : false;
    if (!number && token.event != PF_JSON_NULL)
        PERUN_NOTE_AT(reading, &token, "warning", "bad-snapshot",
                      "the number of a snapshot is not an integer");
    reading->snapshot.there = number;
    reading->snapshot.number = number ? value.cell.i : 0;
    return 0;
}

/* The command is a field too, since it tells more than the path's root. */
static int read_command(struct perun_reading *reading, uint32_t field, struct pf_error *error)
{
    const struct perun_raw *command = &reading->command;
    if (perun_take(reading, &reading->command, &reading->command_text, error))
        return -1;
    if (field == PERUN_NONE || command->event != PF_JSON_STRING || reading->n_values == PERUN_VALUES_MAX)
        return 0;
    return keep_text(reading, place_for(reading, field), command->text, command->size, error);
}

enum perun_member perun_member_called(const struct pf_json_token *name)
{
    static const char *const names[] = {
        [PERUN_TRACE_MEMBER] = "trace",       [PERUN_UID_MEMBER] = "uid",
        [PERUN_TYPE_MEMBER] = "type",         [PERUN_SUBTYPE_MEMBER] = "subtype",
        [PERUN_SNAPSHOT_MEMBER] = "snapshot", [PERUN_COMMAND_MEMBER] = "command"};
    unsigned member = 0;
    while (member < PERUN_FIELD_MEMBER && !pf_json_is(name, names[member]))
        member++;
    return (enum perun_member)member;
}

/* What a member of an object is, by its name, which is kept in *known if there is room. */
static int find_member(struct perun_reading *reading, const struct pf_json_token *name,
                       struct perun_known_member *known, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    known->size = 0;
    known->member = perun_member_called(name);
    known->field = PERUN_NONE;
    if (known->member >= PERUN_COMMAND_MEMBER &&
        perun_field_of(&data->fields, data->tree->strings, name->text, name->size, &known->field, error))
        return -1;
    if (name->size > sizeof known->name || !pf_text_is_plain(name->text, name->size))
        return 0;
    memcpy(known->name, name->text, name->size);
    known->size = name->size;
    return 0;
}

static int read_member(struct perun_reading *reading, const struct perun_known_member *known,
                       struct pf_error *error)
{
    switch (known->member) {
    case PERUN_TRACE_MEMBER:
        return perun_take(reading, &reading->trace, &reading->trace_text, error);
    case PERUN_UID_MEMBER:
        return read_uid(reading, error);
    case PERUN_TYPE_MEMBER:
        return read_word(reading, &reading->type, &reading->last_type, error);
    case PERUN_SUBTYPE_MEMBER:
        return read_word(reading, &reading->subtype, &reading->last_subtype, error);
    case PERUN_SNAPSHOT_MEMBER:
        return read_snapshot(reading, error);
    case PERUN_COMMAND_MEMBER:
        return read_command(reading, known->field, error);
    default:
        return read_field(reading, known->field, error);
    }
}

/* The i-th member of an object. 1; 0: it was the last; -1: *error filled. */
static int next_member(struct perun_reading *reading, size_t i, struct pf_error *error)
{
    struct pf_json_token name;
    struct perun_known_member *known = &reading->known[i < PERUN_KNOWN_MEMBERS ? i : PERUN_KNOWN_MEMBERS - 1];
    if (!known->size || !pf_json_accept(reading->json, true, known->name, known->size)) {
        int event = pf_json_next(reading->json, &name, error);
        if (event < 0)
            return -1;
        if (event == PF_JSON_OBJECT_END)
            return 0;
        if (find_member(reading, &name, known, error))
            return -1;
    }
    return read_member(reading, known, error) ? -1 : 1;
}

void perun_begin_object(struct perun_reading *reading)
{
    reading->n_values = 0;
    reading->form = NULL;
    reading->texts.size = 0;
    reading->trace.event = reading->uid.event = reading->command.event = PF_JSON_END;
    reading->type = reading->subtype = reading->uid_word = reading->unit = PF_NO_STRING;
    reading->snapshot.there = false;
}

int perun_read_properties(struct perun_reading *reading, struct pf_error *error)
{
    perun_begin_object(reading);
    int more = 1;
    for (size_t i = 0; more > 0; i++)
        more = next_member(reading, i, error);
    return more < 0 || perun_step(reading, error) ? -1 : 0;
}
