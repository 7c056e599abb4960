/* SPDX-License-Identifier: MIT */
/* One resource, or what the rows of a type share: an object of properties. */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/parse.h"
#include "formats/perun/perun.h"

/* Other fields may be objects and lists: shown as their JSON text up to this size. */
enum { NESTED_MAX = 32 * 1024 };

/* ---- values whole ------------------------------------------------------------------------------- */

/* Reads the next value whole: objects and lists as JSON text. What is too long is left out, with a note. */
static int take(struct perun_reading *reading, struct perun_raw *raw, struct pf_error *error)
{
    char position[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH_MAX / 8 + 8];
    struct pf_json_token *token = &raw->token;
    size_t saved = pf_json_save(reading->json, position, sizeof position);
    for (;;) {
        int event = pf_json_take(reading->json, token, raw->text, raw->room, error);
        if (event < 0)
            return -1;
        bool nested = event == PF_JSON_OBJECT || event == PF_JSON_ARRAY;
        if (nested && !token->cut)
            return 0;
        size_t wanted = nested ? raw->room * 4 + 4096 : token->size + 1;
        if (nested && wanted > PERUN_WHOLE_MAX * 2) {
            PERUN_NOTE(reading, token, PERUN_TOO_LONG, NULL);
            token->event = PF_JSON_END;
            return 0;
        }
        if (wanted > raw->room && pf_array_grow(&raw->text, &raw->room, wanted, 1, error))
            return -1;
        if (!nested) { /* the reader's next call takes the text away */
            memcpy(raw->text, token->text ? token->text : "", token->text ? token->size : 0);
            raw->text[token->size] = 0;
            return 0;
        }
        if (pf_json_restore(reading->json, position, saved, error))
            return -1;
    }
}

/* ---- amounts ------------------------------------------------------------------------------------ */

static size_t skip(const char *text, size_t size, size_t at, const char *set)
{
    while (at < size && text[at] && strchr(set, text[at]))
        at++;
    return at;
}

/* The end of the decimal number without sign that begins at `at`; `at` itself if there is none. */
static size_t number_end(const char *text, size_t size, size_t at)
{
    static const char digits[] = "0123456789";
    size_t end = skip(text, size, at, digits), before = end - at, after = 0;
    if (end < size && text[end] == '.') {
        after = skip(text, size, end + 1, digits) - (end + 1);
        end += 1 + after;
    }
    if (!before && !after)
        return at;
    if (end < size && (text[end] == 'e' || text[end] == 'E')) {
        size_t first = end + 1 + (end + 1 < size && (text[end + 1] == '+' || text[end + 1] == '-'));
        size_t last = skip(text, size, first, digits);
        end = last > first ? last : end;
    }
    return end;
}

static bool is_of_unit(char c)
{
    char letter = (char)(c | 0x20);
    return (letter >= 'a' && letter <= 'z') || c == '%' || (unsigned char)c >= 0x80;
}

/* Blanks, a decimal number, blanks, a unit: the number, and the unit. Absent if the text is none of this. */
static struct pf_cell parse_amount(const char *text, size_t size, struct pf_cell *unit)
{
    size_t sign = skip(text, size, 0, " \t"),
           start = sign + (sign < size && strchr("+-", text[sign]) && text[sign]);
    size_t end = number_end(text, size, start), letters = skip(text, size, end, " \t"), behind = letters;
    while (behind < size && is_of_unit(text[behind]))
        behind++;
    *unit = pf_text(text + letters, behind - letters);
    if (end == start || skip(text, size, behind, " \t") < size)
        return pf_absent();
    pf_int128 whole;
    double real;
    bool negative = start > sign && text[sign] == '-', integer = true;
    for (size_t i = start; i < end; i++)
        integer &= text[i] >= '0' && text[i] <= '9';
    struct pf_cell cell = integer ? pf_parse_amount(text + start, end - start, &whole) : pf_absent();
    if (cell.type == PF_INT)
        return pf_int(negative ? -cell.i : cell.i);
    if (cell.type == PF_UINT && !negative)
        return cell;
    return pf_parse_double(text + start, end - start, &real) ? pf_double(negative ? -real : real)
                                                             : pf_absent();
}

static struct pf_cell note_no_number(struct perun_reading *reading, const struct pf_json_token *token,
                                     const char *what, size_t size)
{
    PERUN_NOTE(reading, token, PERUN_NO_NUMBER, "%.*s", size < 60 ? (int)size : 60, what);
    return pf_absent();
}

/* A unit that stands beside an amount is its metric's where the header names none. */
static void note_unit(struct perun_reading *reading, const struct pf_cell *unit)
{
    struct pf_error error;
    if (reading->item.unit == PERUN_NONE && unit->size && unit->size <= 15)
        reading->item.unit = perun_string(reading->data, unit->text, unit->size, &error);
}

struct pf_cell perun_value_of(struct perun_reading *reading, uint32_t field,
                              const struct pf_json_token *token)
{
    static const char *const words[] = {[PF_JSON_OBJECT] = "an object",
                                        [PF_JSON_ARRAY] = "a list",
                                        [PF_JSON_TRUE] = "true",
                                        [PF_JSON_FALSE] = "false",
                                        [PF_JSON_NULL] = "null"};
    pf_int128 wide;
    struct pf_cell cell, unit;
    bool amount = field == PERUN_AMOUNT;
    switch (token->event) {
    case PF_JSON_NUMBER:
        cell = pf_json_number(token, &wide);
        return cell.type == PF_WIDE ? pf_double(pf_json_double(token)) : cell;
    case PF_JSON_STRING:
        cell = amount ? parse_amount(token->text, token->size, &unit) : pf_text(token->text, token->size);
        if (cell.type == PF_ABSENT)
            return note_no_number(reading, token, token->text, token->size);
        if (amount)
            note_unit(reading, &unit);
        return cell;
    case PF_JSON_TRUE:
    case PF_JSON_FALSE:
        return amount ? note_no_number(reading, token, words[token->event], strlen(words[token->event]))
                      : pf_string(words[token->event]);
    default:
        return amount ? note_no_number(reading, token, words[token->event], strlen(words[token->event]))
                      : pf_absent();
    }
}

/* ---- members ------------------------------------------------------------------------------------ */

/* Sets a field: of equal ones the last counts. A text is copied. */
static int set_value(struct perun_reading *reading, uint32_t field, struct pf_cell cell,
                     struct pf_error *error)
{
    struct perun_item *item = &reading->item;
    uint32_t i = 0;
    while (i < item->n_values && reading->values[i].field != field)
        i++;
    if (i == PERUN_VALUES_MAX)
        return 0;
    item->n_values += i == item->n_values;
    if (cell.type == PF_TEXT) {
        const char *text = cell.text;
        cell = (struct pf_cell){.type = PF_TEXT, .size = cell.size, .u = reading->texts.size};
        if (perun_add(&reading->texts, text, cell.size, error))
            return -1;
    }
    reading->values[i] = (struct perun_value){field, cell};
    return 0;
}

/* A member that is a field, whatever it is: an object or list as its text. */
static int read_field(struct perun_reading *reading, uint32_t field, struct pf_error *error)
{
    struct pf_json_token token;
    char nested[NESTED_MAX];
    int event = pf_json_take(reading->json, &token, nested, sizeof nested, error);
    if (event < 0)
        return -1;
    if (reading->item.n_values == PERUN_VALUES_MAX)
        PERUN_NOTE(reading, &token, PERUN_MANY_FIELDS, NULL);
    bool shown = (event == PF_JSON_OBJECT || event == PF_JSON_ARRAY) && field != PERUN_AMOUNT;
    struct pf_cell cell = !shown      ? perun_value_of(reading, field, &token)
                          : token.cut ? pf_string("(too long)")
                                      : pf_text(token.text, token.size);
    return set_value(reading, field, cell, error);
}

/* A word: `type` or `subtype`. Anything but text is none. */
static int read_word(struct perun_reading *reading, uint32_t *word, struct pf_error *error)
{
    struct pf_json_token token;
    *word = PERUN_NONE;
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_STRING)
        *word = perun_string(reading->data, token.text, token.size, error);
    return token.event == PF_JSON_STRING && *word == PERUN_NONE ? -1 : 0;
}

static int read_snapshot(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token token;
    struct pf_cell unit, cell = pf_absent();
    if (pf_json_skip(reading->json, &token, error) < 0)
        return -1;
    if (token.event == PF_JSON_NUMBER)
        cell = perun_value_of(reading, PERUN_SIZE, &token);
    else if (token.event == PF_JSON_STRING)
        cell = parse_amount(token.text, token.size, &unit);
    reading->has_snapshot = cell.type == PF_INT;
    reading->number = cell.i;
    if (cell.type != PF_INT && token.event != PF_JSON_NULL)
        PERUN_NOTE(reading, &token, PERUN_BAD_SNAPSHOT, NULL);
    return 0;
}

static int read_member(struct perun_reading *reading, const struct pf_json_token *name,
                       struct pf_error *error)
{
    if (pf_json_is(name, "trace"))
        return take(reading, &reading->trace, error);
    if (pf_json_is(name, "uid"))
        return take(reading, &reading->uid, error);
    if (pf_json_is(name, "type"))
        return read_word(reading, &reading->item.kind, error);
    if (pf_json_is(name, "subtype"))
        return read_word(reading, &reading->item.subtype, error);
    if (pf_json_is(name, "snapshot"))
        return read_snapshot(reading, error);
    bool command = pf_json_is(name, "command");
    uint32_t field = perun_field(reading->data, name->text, name->size, error);
    if (field == PERUN_NONE)
        return -1;
    if (!command)
        return read_field(reading, field, error);
    /* It is a field too, since it tells more than the path's root. */
    const struct perun_raw *raw = &reading->command;
    if (take(reading, &reading->command, error))
        return -1;
    return raw->token.event == PF_JSON_STRING
               ? set_value(reading, field, pf_text(raw->text, raw->token.size), error)
               : 0;
}

int perun_read_object(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token name;
    struct perun_item *item = &reading->item;
    int event;
    *item = (struct perun_item){.kind = PERUN_NONE, .subtype = PERUN_NONE, .unit = PERUN_NONE};
    reading->texts.size = 0;
    reading->trace.token.event = reading->uid.token.event = reading->command.token.event = PF_JSON_END;
    reading->has_snapshot = false;
    while ((event = pf_json_next(reading->json, &name, error)) == PF_JSON_NAME)
        if (read_member(reading, &name, error))
            return -1;
    return event < 0 || perun_step(reading, error) ||
                   perun_path(reading->paths, &reading->trace, &reading->uid, &reading->command,
                              &item->context, &item->uid, error)
               ? -1
               : 0;
}

/* ---- keeping ------------------------------------------------------------------------------------ */

/* Where the file has no better, the time of a snapshot is that of its first resource. */
static int note_time(struct perun_reading *reading, uint32_t snapshot, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    uint32_t *time = snapshot == PERUN_NONE ? &data->none_time : &data->snapshots[snapshot].time;
    for (uint32_t i = 0; i < reading->item.n_values && *time == PERUN_NONE; i++) {
        struct pf_cell cell = reading->values[i].cell;
        if (reading->values[i].field != PERUN_TIME)
            continue;
        if (cell.type == PF_TEXT)
            cell.text = reading->texts.at + cell.u;
        *time = perun_new_time(data, error);
        if (*time == PERUN_NONE || perun_set_time(data, *time, cell, error))
            return -1;
    }
    return 0;
}

int perun_keep(struct perun_reading *reading, struct pf_store *store, uint32_t snapshot, uint32_t time,
               struct pf_error *error)
{
    struct perun_item *item = &reading->item;
    struct perun_data *data = reading->data;
    if (snapshot == PERUN_NONE && reading->has_snapshot) {
        snapshot = perun_snapshot(data, reading->number, error);
        if (snapshot == PERUN_NONE)
            return -1;
    }
    /* A snapshot's own time comes after its resources at times: then it is set later, and no matter. */
    if (time == PERUN_NONE && note_time(reading, snapshot, error))
        return -1;
    data->without_snapshot |= snapshot == PERUN_NONE;
    for (uint32_t i = 0; i < item->n_values; i++) {
        struct perun_field *field = &data->field_list[reading->values[i].field];
        field->seen |= reading->values[i].cell.type != PF_ABSENT;
        field->texts |= reading->values[i].cell.type == PF_TEXT;
    }
    item->mark = pf_siphash_number(pf_store_size(store));
    item->snapshot = snapshot;
    item->time = time;
    item->texts_size = reading->texts.size;
    return pf_store_append(store, item, sizeof *item, error) ||
                   pf_store_append(store, reading->values, item->n_values * sizeof *reading->values, error) ||
                   pf_store_append(store, reading->texts.at, reading->texts.size, error)
               ? -1
               : 0;
}
