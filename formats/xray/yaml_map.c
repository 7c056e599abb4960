/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "formats/input/source.h"
#include "formats/kit/number.h"
#include "formats/xray/names.h"

/*
 * Reader of the instrumentation map in YAML, as `llvm-xray extract` prints it: a list of mappings.
 *   - { id: 1, address: 0x11D00, function: 0x11D00, kind: function-enter, function-name: 'f(int)', ... }
 * Each entry of the map is a mapping, and a function has several entries. The reader uses the keys `id`, `function` (the
 * function's address) and `function-name`.
 */

enum { HEAD = 4096 };

/* Maximum size of a map in bytes. It bounds memory, since libyaml holds a whole scalar in memory. */
#define MAP_MAX ((uint64_t)256 << 20)

/* State of libyaml's read callback. */
struct yaml_map_reading {
    struct pf_input *input;
    uint64_t at, size;
    struct pf_error *error;
    bool failed; /* *error is filled */
};

static int read_some(void *data, unsigned char *buffer, size_t room, size_t *size)
{
    struct yaml_map_reading *reading = data;
    ssize_t got = pf_input_read(reading->input, buffer, room, reading->at, reading->error);
    reading->failed = got < 0 || pf_pass_step(reading->at, reading->size, reading->error);
    *size = reading->failed ? 0 : (size_t)got;
    reading->at += *size;
    return !reading->failed;
}

/* The mapping being read. */
struct yaml_map_entry {
    char key[16];
    bool keyed; /* the next scalar is the value of `key` */
    uint64_t id, address;
    char *symbol; /* of XRAY_SYMBOL_MAX bytes; owned */
    size_t symbol_size;
};

/* Parses a decimal number, or a hexadecimal number after 0x. Returns false if it is invalid or exceeds `most`. */
static bool parse_number(const char *text, size_t size, uint64_t most, uint64_t *number)
{
    struct pf_slice digits = pf_slice(text, size);
    pf_int128 whole;
    bool valid = pf_take_digits(&digits, &whole) && digits.at == digits.end && whole <= (pf_int128)most;
    *number = valid ? (uint64_t)whole : 0;
    return valid;
}

/* Handles a key's value. Returns NULL, or a message if the value is invalid. */
static const char *take_yaml_value(struct yaml_map_entry *entry, const char *text, size_t size)
{
    if (!strcmp(entry->key, "id")) {
        if (!parse_number(text, size, XRAY_MAPPED_MAX, &entry->id) || !entry->id)
            return "the function id is not a number";
    } else if (!strcmp(entry->key, "function")) {
        if (!parse_number(text, size, UINT64_MAX, &entry->address))
            return "the function's address is not a number";
    } else if (!strcmp(entry->key, "function-name")) {
        entry->symbol_size = size < XRAY_SYMBOL_MAX ? size : XRAY_SYMBOL_MAX;
        memcpy(entry->symbol, text, entry->symbol_size);
    }
    return NULL;
}

/*
 * Handles an event of libyaml. `depth` is 1 in the list, and 2 in an entry. Returns NULL, or a message if the file is
 * invalid. Sets *failed, with *error filled, on other errors.
 */
static const char *take_yaml_event(struct xray_names *names, struct yaml_map_entry *entry,
                                   const yaml_event_t *event, int depth, bool *failed, struct pf_error *error)
{
    const char *text = (const char *)event->data.scalar.value;
    bool mapping = event->type == YAML_MAPPING_START_EVENT, scalar = event->type == YAML_SCALAR_EVENT;
    if (event->type == YAML_ALIAS_EVENT)
        return "an alias";
    if ((event->type == YAML_SEQUENCE_START_EVENT && depth != 1) || ((mapping || scalar) && depth != 2))
        return "no list of entries in braces";
    if (mapping)
        *entry = (struct yaml_map_entry){.address = XRAY_NO_ADDRESS, .symbol = entry->symbol};
    if (event->type == YAML_MAPPING_END_EVENT) {
        if (!entry->id)
            return "an entry without id";
        *failed = xray_names_add(names, (uint32_t)entry->id, entry->address, entry->symbol,
                                 entry->symbol_size, error);
    }
    if (!scalar)
        return NULL;
    entry->keyed = !entry->keyed;
    if (!entry->keyed)
        return take_yaml_value(entry, text, event->data.scalar.length);
    snprintf(entry->key, sizeof entry->key, "%s", text);
    return NULL;
}

/* Reads the map up to its end or to the first problem, which is recorded in *names. */
static int read_yaml_events(yaml_parser_t *parser, struct xray_names *names, struct yaml_map_reading *reading,
                            struct yaml_map_entry *entry)
{
    yaml_event_t event;
    int depth = 0; /* 1 in the list, 2 in an entry */
    for (bool over = false; !over && !*names->problem;) {
        bool failed = false;
        if (!yaml_parser_parse(parser, &event)) {
            if (reading->failed)
                return -1;
            if (parser->error == YAML_MEMORY_ERROR)
                return pf_fail_memory(reading->error);
            xray_names_problem(names, (int64_t)parser->problem_mark.line + 1, "%s; the rest is not read",
                               parser->problem ? parser->problem : "no YAML");
            return 0;
        }
        depth += event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT;
        const char *wrong = take_yaml_event(names, entry, &event, depth, &failed, reading->error);
        depth -= event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        if (wrong)
            xray_names_problem(names, (int64_t)event.start_mark.line + 1, "%s; the rest is not read", wrong);
        over = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (failed)
            return -1;
    }
    return 0;
}

int xray_yaml_map_read(struct xray_names *names, struct pf_input *input, struct pf_error *error)
{
    struct yaml_map_reading reading = {.input = input, .size = pf_input_size(input), .error = error};
    struct yaml_map_entry entry = {.symbol = malloc(XRAY_SYMBOL_MAX)};
    yaml_parser_t parser;
    int failed = -1;
    if (reading.size > MAP_MAX) {
        xray_names_problem(names, 0, "it is larger than any map");
        failed = 0;
    } else if (!entry.symbol || !yaml_parser_initialize(&parser)) {
        pf_fail_memory(error);
    } else {
        yaml_parser_set_input(&parser, read_some, &reading);
        failed = read_yaml_events(&parser, names, &reading, &entry);
        yaml_parser_delete(&parser);
    }
    free(entry.symbol);
    return failed;
}

/* Sets *is to whether the first item in a file's head is a mapping in braces with the keys `id` and `function`. */
int xray_yaml_is_map(struct pf_input *input, bool *is, struct pf_error *error)
{
    char head[HEAD + 1];
    ssize_t got = pf_input_read(input, head, HEAD, 0, error);
    if (got < 0)
        return -1;
    head[got] = 0;
    const char *at = head;
    while (*at && strchr(" \t\r\n-[#", *at))
        at = *at == '#' ? strchrnul(at, '\n') : at + 1;
    const char *end = strchrnul(at, '}'), *id = strstr(at, "id:"), *function = strstr(at, "function:");
    *is = *at == '{' && id && function && id < end && function < end;
    return 0;
}
