/* SPDX-License-Identifier: MIT */
/* Reading of one JSON object: a resource, or an entry of resource_type_map. */
#include <errno.h>

#include "formats/kit/number.h"
#include "formats/perun/perun.h"

/* ---- amounts ------------------------------------------------------------------------------------ */

static size_t without_blanks(const char *text, size_t size)
{
    while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    return size;
}

static bool is_of_unit(char c)
{
    char letter = (char)(c | 0x20);
    return (letter >= 'a' && letter <= 'z') || c == '%' || (unsigned char)c >= 0x80;
}

/* Parses a decimal number and an optional unit, with blanks around each. Absent if the text has another form. */
static struct pf_cell parse_amount(const char *text, size_t size, struct pf_cell *unit)
{
    double real;
    pf_int128 whole;
    size_t start = 0, behind = without_blanks(text, size), letters = behind;
    while (start < size && (text[start] == ' ' || text[start] == '\t'))
        start++;
    while (letters && is_of_unit(text[letters - 1]))
        letters--;
    size_t end = without_blanks(text, letters);
    *unit = pf_text(text + letters, behind - letters);
    if (end <= start || !pf_parse_double(text + start, end - start, &real))
        return pf_absent();
    bool negative = text[start] == '-';
    start += negative || text[start] == '+';
    struct pf_cell cell = pf_parse_amount(text + start, end - start, &whole);
    if (cell.type == PF_WIDE && whole <= INT64_MAX)
        return pf_int(negative ? -(int64_t)whole : (int64_t)whole);
    return cell.type == PF_WIDE && whole <= UINT64_MAX && !negative ? pf_uint((uint64_t)whole)
                                                                    : pf_double(real);
}

static struct pf_cell note_no_number(struct perun_reading *reading, const struct pf_json_token *token,
                                     const char *what, size_t size)
{
    PERUN_NOTE(reading, token, PERUN_NO_NUMBER, "%.*s", size < 60 ? (int)size : 60, what);
    return pf_absent();
}

/* Keeps the unit that was given with an amount: the metric's unit if the header declares none. */
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
    if (token->event == PF_JSON_NUMBER) {
        cell = pf_json_number(token, &wide);
        return cell.type == PF_WIDE ? pf_double(pf_json_double(token)) : cell;
    }
    if (token->event == PF_JSON_STRING) {
        cell = amount ? parse_amount(token->text, token->size, &unit) : pf_text(token->text, token->size);
        if (cell.type == PF_ABSENT)
            return note_no_number(reading, token, token->text, token->size);
        if (amount)
            note_unit(reading, &unit);
        return cell;
    }
    const char *word = words[token->event];
    if (amount)
        return note_no_number(reading, token, word, strlen(word));
    return token->event == PF_JSON_TRUE || token->event == PF_JSON_FALSE ? pf_string(word) : pf_absent();
}

/* ---- members ------------------------------------------------------------------------------------ */

/* Reads the next value as a whole. An object or list that is too long is dropped with a warning. */
static int take(struct perun_reading *reading, struct perun_raw *raw, struct pf_error *error)
{
    struct pf_json_token *token = &raw->token;
    if (pf_json_take(reading->json, token, &raw->text, error) < 0)
        return -1;
    if (token->cut && (token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY)) {
        PERUN_NOTE(reading, token, PERUN_TOO_LONG, NULL);
        token->event = PF_JSON_END;
    }
    return 0;
}

/* Sets a field; the last of duplicate fields wins. */
static int set_value(struct perun_reading *reading, uint32_t field, struct pf_cell cell,
                     const struct pf_json_token *token, struct pf_error *error)
{
    struct perun_item *item = &reading->item;
    uint32_t i = 0;
    while (i < item->n_values && reading->values[i].field != field)
        i++;
    if (i == PERUN_VALUES_MAX) {
        PERUN_NOTE(reading, token, PERUN_TOO_MANY, "fields of one resource");
        return 0;
    }
    if (cell.type == PF_TEXT && perun_keep_text(reading->data, &cell, error))
        return -1;
    item->n_values += i == item->n_values;
    reading->values[i] = (struct perun_value){field, cell};
    return 0;
}

/* Reads a member that is a field. An object or list becomes its JSON text. */
static int read_field(struct perun_reading *reading, uint32_t field, struct pf_error *error)
{
    struct pf_json_token *token = &reading->other.token;
    if (pf_json_take(reading->json, token, &reading->other.text, error) < 0)
        return -1;
    bool nested = token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY;
    struct pf_cell cell = !nested || field == PERUN_AMOUNT ? perun_value_of(reading, field, token)
                          : token->cut                     ? pf_string("(too long)")
                                                           : pf_text(token->text, token->size);
    return set_value(reading, field, cell, token, error);
}

/* Reads `type` or `subtype`. A value that is not text counts as absent. */
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

int perun_read_member(struct perun_reading *reading, const struct pf_json_token *name, struct pf_error *error)
{
    const struct pf_json_token *command = &reading->command.token;
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
    bool is_command = pf_json_is(name, "command");
    uint32_t field = perun_field(reading->data, name->text, name->size, error);
    if (field == PERUN_NONE)
        return -1;
    if (!is_command)
        return read_field(reading, field, error);
    /* The command is a field too: a trace that begins with it has no separate root. */
    if (take(reading, &reading->command, error))
        return -1;
    return command->event == PF_JSON_STRING
               ? set_value(reading, field, pf_text(command->text, command->size), command, error)
               : 0;
}

void perun_begin_object(struct perun_reading *reading)
{
    reading->item = (struct perun_item){.kind = PERUN_NONE, .subtype = PERUN_NONE, .unit = PERUN_NONE};
    reading->trace.token.event = reading->uid.token.event = reading->command.token.event = PF_JSON_END;
    reading->has_snapshot = false;
}

int perun_end_object(struct perun_reading *reading, struct pf_error *error)
{
    struct perun_item *item = &reading->item;
    return perun_path(reading->paths, &reading->trace, &reading->uid, &reading->command, &item->context,
                      &item->uid, error);
}

int perun_read_object(struct perun_reading *reading, struct pf_error *error)
{
    struct pf_json_token name;
    int event;
    perun_begin_object(reading);
    while ((event = pf_json_next(reading->json, &name, error)) == PF_JSON_NAME)
        if (perun_read_member(reading, &name, error))
            return -1;
    return event < 0 || perun_step(reading, error) ? -1 : perun_end_object(reading, error);
}

/* ---- keeping ------------------------------------------------------------------------------------ */

/* Returns the region of a resource outside all regions: the snapshot that it names, or else the region `none`. */
static uint32_t region_of(struct perun_reading *reading, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    if (reading->has_snapshot)
        return perun_snapshot(data, reading->number, error);
    if (data->none == PERUN_NONE)
        data->none = perun_new_region(data, error);
    return data->none;
}

/* Sets the time of a region that is not an object of the file from its first resource with a time. */
static int note_time(const struct perun_reading *reading, uint32_t region, struct pf_error *error)
{
    char text[256];
    const struct perun_region *known = &reading->data->regions[region];
    for (uint32_t i = 0; i < reading->item.n_values && known->time.type == PF_ABSENT && !known->told; i++) {
        struct pf_cell time = reading->values[i].cell;
        if (reading->values[i].field != PERUN_TIME)
            continue;
        if (time.type == PF_TEXT) {
            size_t size = time.size < sizeof text ? time.size : sizeof text;
            if (pf_store_read(reading->data->texts, time.u, text, size, error))
                return -1;
            time = pf_text(text, size);
        }
        return perun_set_time(reading->data, region, time, error);
    }
    return 0;
}

int perun_keep(struct perun_reading *reading, struct pf_store *store, uint32_t region, struct pf_error *error)
{
    struct perun_item *item = &reading->item;
    struct perun_data *data = reading->data;
    if (region == PERUN_NONE && (region = region_of(reading, error)) == PERUN_NONE)
        return -1;
    if (note_time(reading, region, error))
        return -1;
    data->regions[region].used = true;
    for (uint32_t i = 0; i < item->n_values; i++) {
        struct perun_field *field = &data->field_list[reading->values[i].field];
        field->seen |= reading->values[i].cell.type != PF_ABSENT;
        field->texts |= reading->values[i].cell.type == PF_TEXT;
    }
    item->region = region;
    item->values = pf_store_size(data->values) / sizeof *reading->values;
    return pf_store_append(store, item, sizeof *item, error) ||
                   pf_store_append(data->values, reading->values, item->n_values * sizeof *reading->values,
                                   error)
               ? -1
               : 0;
}
