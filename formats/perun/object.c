/* SPDX-License-Identifier: MIT */
/* Reading of one JSON object: a resource, or an entry of resource_type_map. */
#include <errno.h>

#include "formats/kit/number.h"
#include "formats/kit/slice.h"
#include "formats/kit/utf8.h"
#include "formats/perun/perun.h"

/* ---- amounts ------------------------------------------------------------------------------------ */

static bool is_of_unit(char c)
{
    char letter = (char)(c | 0x20);
    return (letter >= 'a' && letter <= 'z') || c == '%' || (unsigned char)c >= 0x80;
}

/* Parses a decimal number and an optional unit, with blanks around each. Returns absent if the text is anything else. */
static struct pf_cell parse_amount(const char *text, size_t size, struct pf_cell *unit)
{
    double real;
    pf_int128 whole;
    struct pf_slice number = pf_trimmed(pf_slice(text, size));
    const char *end = number.end;
    while (number.end > number.at && is_of_unit(number.end[-1]))
        number.end--;
    *unit = pf_text(number.end, (size_t)(end - number.end));
    number = pf_trimmed(number);
    if (!pf_size(number) || !pf_parse_double(number.at, pf_size(number), &real))
        return pf_absent();
    bool negative = *number.at == '-';
    number.at += negative || *number.at == '+';
    struct pf_cell cell = pf_parse_amount(number.at, pf_size(number), &whole);
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

/* Stores the unit that is written after an amount. It becomes the metric's unit if the header declares none. */
static void note_unit(struct perun_reading *reading, const struct pf_cell *unit)
{
    if (reading->item.unit == PERUN_NONE && unit->size && unit->size <= 15)
        reading->item.unit = perun_string(reading->data, unit->text, unit->size);
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

/* Reads the next value as a whole. Drops an object or list that is too long, with a warning. */
static void take_whole(struct perun_reading *reading, struct perun_raw *raw)
{
    struct pf_json_token *token = &raw->token;
    perun_take(reading, raw);
    if (token->cut && (token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY)) {
        PERUN_NOTE(reading, token, PERUN_TOO_LONG, NULL);
        token->event = PF_JSON_END;
    }
}

/* Sets the value of a field. The last value of a field wins. */
static void set_value(struct perun_reading *reading, uint32_t field, struct pf_cell cell,
                      const struct pf_json_token *token)
{
    struct perun_item *item = &reading->item;
    uint32_t i = 0;
    while (i < item->n_values && reading->values[i].field != field)
        i++;
    if (i == PERUN_VALUES_MAX) {
        PERUN_NOTE(reading, token, PERUN_TOO_MANY, "fields of one resource");
        return;
    }
    if (cell.type == PF_TEXT)
        perun_keep_text(reading->data, &cell);
    item->n_values += i == item->n_values;
    reading->values[i] = (struct perun_value){field, cell};
}

/* Reads a field. An object or list becomes JSON text, except in `amount`. */
static void read_field_member(struct perun_reading *reading, uint32_t field)
{
    struct pf_json_token *token = &reading->other.token;
    perun_take(reading, &reading->other);
    bool nested = token->event == PF_JSON_OBJECT || token->event == PF_JSON_ARRAY;
    struct pf_cell cell = !nested || field == PERUN_AMOUNT ? perun_value_of(reading, field, token)
                          : token->cut                     ? pf_string("(too long)")
                                                           : pf_text(token->text, token->size);
    set_value(reading, field, cell, token);
}

/* Reads `type` or `subtype`. Returns PERUN_NONE for a value that is not text. */
static uint32_t read_word(struct perun_reading *reading)
{
    struct pf_json_token token;
    return perun_skip(reading, &token) == PF_JSON_STRING ? perun_string(reading->data, token.text, token.size)
                                                         : PERUN_NONE;
}

static void read_snapshot_number(struct perun_reading *reading)
{
    struct pf_json_token token;
    struct pf_cell unit, cell = pf_absent();
    perun_skip(reading, &token);
    if (token.event == PF_JSON_NUMBER)
        cell = perun_value_of(reading, PERUN_SIZE, &token);
    else if (token.event == PF_JSON_STRING)
        cell = parse_amount(token.text, token.size, &unit);
    reading->has_snapshot = cell.type == PF_INT;
    reading->number = cell.i;
    if (cell.type != PF_INT && token.event != PF_JSON_NULL)
        PERUN_NOTE(reading, &token, PERUN_BAD_SNAPSHOT, NULL);
}

/* Reads the command. It is a field and, in addition, the root of the resource's context (read_command in paths.c). */
static void read_command_member(struct perun_reading *reading)
{
    const struct pf_json_token *command = &reading->command.token;
    uint32_t field = perun_field(reading->data, "command", strlen("command"));
    take_whole(reading, &reading->command);
    if (command->event == PF_JSON_STRING)
        set_value(reading, field, pf_text(command->text, command->size), command);
}

void perun_read_member(struct perun_reading *reading, const struct pf_json_token *name)
{
    if (pf_json_is(name, "trace"))
        take_whole(reading, &reading->trace);
    else if (pf_json_is(name, "uid"))
        take_whole(reading, &reading->uid);
    else if (pf_json_is(name, "type"))
        reading->item.kind = read_word(reading);
    else if (pf_json_is(name, "subtype"))
        reading->item.subtype = read_word(reading);
    else if (pf_json_is(name, "snapshot"))
        read_snapshot_number(reading);
    else if (pf_json_is(name, "command"))
        read_command_member(reading);
    else
        read_field_member(reading, perun_field(reading->data, name->text, name->size));
}

void perun_begin_object(struct perun_reading *reading)
{
    reading->item = (struct perun_item){.kind = PERUN_NONE, .subtype = PERUN_NONE, .unit = PERUN_NONE};
    reading->trace.token.event = reading->uid.token.event = reading->command.token.event = PF_JSON_END;
    reading->has_snapshot = false;
}

void perun_end_object(struct perun_reading *reading)
{
    struct perun_item *item = &reading->item;
    perun_path(reading->paths, &reading->trace, &reading->uid, &reading->command, &item->context, &item->uid);
}

void perun_read_object(struct perun_reading *reading)
{
    struct pf_json_token name;
    perun_begin_object(reading);
    while (perun_next(reading, &name) == PF_JSON_NAME)
        perun_read_member(reading, &name);
    perun_step(reading);
    perun_end_object(reading);
}

/* ---- keeping ------------------------------------------------------------------------------------ */

/* Returns the region of an object outside all snapshots and global regions: the snapshot that the object names, or data->none. */
static uint32_t region_of(struct perun_reading *reading)
{
    struct perun_data *data = reading->data;
    if (reading->has_snapshot)
        return perun_snapshot(data, reading->number);
    if (data->none == PERUN_NONE)
        data->none = perun_new_region(data);
    return data->none;
}

/* Sets the time of a region to the time of the object just read, unless the region has a time or is itself an object in the file. */
static void note_time(struct perun_reading *reading, uint32_t region)
{
    char text[256 + 1];
    struct perun_data *data = reading->data;
    const struct perun_region *known = &data->regions[region];
    for (uint32_t i = 0; i < reading->item.n_values && known->time.type == PF_ABSENT && !known->declared;
         i++) {
        struct pf_cell time = reading->values[i].cell;
        if (reading->values[i].field != PERUN_TIME)
            continue;
        if (time.type == PF_TEXT) {
            size_t size = time.size < sizeof text ? time.size : sizeof text;
            pf_run_check(data->run, pf_store_read(data->texts, time.u, text, size, data->run->error));
            time = pf_text(text, pf_utf8_cut(text, size, sizeof text - 1));
        }
        perun_set_time(data, region, time);
        return;
    }
}

void perun_keep(struct perun_reading *reading, struct pf_store *store, uint32_t region)
{
    struct perun_item *item = &reading->item;
    struct perun_data *data = reading->data;
    if (region == PERUN_NONE)
        region = region_of(reading);
    note_time(reading, region);
    data->regions[region].used = true;
    for (uint32_t i = 0; i < item->n_values; i++) {
        struct perun_field *field = &data->field_list[reading->values[i].field];
        field->seen |= reading->values[i].cell.type != PF_ABSENT;
        field->texts |= reading->values[i].cell.type == PF_TEXT;
    }
    item->region = region;
    item->values = pf_store_size(data->values) / sizeof *reading->values;
    perun_append(data, store, item, sizeof *item);
    perun_append(data, data->values, reading->values, item->n_values * sizeof *reading->values);
}
