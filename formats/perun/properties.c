/* SPDX-License-Identifier: MIT */
/*
 * Regions without measurements as rows of keys and values: header.units.time, postprocessors.0.name. Read token by token, so that
 * what stands before damage is there.
 */
#include <stdio.h>

#include "formats/perun/perun.h"

/* Rows, the longest key, and bytes of all: further ones are left out. */
enum { ROWS_MAX = 50000, KEY_MAX = 1000, TEXT_MAX = 16 << 20 };

/* Where in a region the reader is. */
struct place {
    char key[KEY_MAX];
    size_t size; /* of key */
    unsigned depth;
    struct level {
        uint16_t outside; /* size of key, outside the container */
        int64_t index;    /* the next element of a list; -1: an object */
    } levels[PF_JSON_DEPTH_MAX + 1];
};

/* Goes to a member or element; what is too long is cut. */
static void go_below(struct place *place, size_t outside, const char *name, size_t size)
{
    place->size = outside;
    if (place->size && place->size < KEY_MAX)
        place->key[place->size++] = '.';
    size = size < KEY_MAX - place->size ? size : KEY_MAX - place->size;
    memcpy(place->key + place->size, name, size);
    place->size += size;
}

/* Before a value: in a list, the key goes on with its number. */
static void begin_value(struct place *place)
{
    char number[24];
    struct level *level = place->depth ? &place->levels[place->depth - 1] : NULL;
    if (level && level->index >= 0)
        go_below(place, level->outside, number,
                 (size_t)snprintf(number, sizeof number, "%jd", (intmax_t)level->index++));
}

static int add_row(struct perun_reading *reading, const struct place *place,
                   const struct pf_json_token *token, struct pf_error *error)
{
    struct perun_data *data = reading->data;
    if (pf_rows_count(data->properties) == ROWS_MAX || data->properties_text > TEXT_MAX) {
        PERUN_NOTE(reading, token, PERUN_MANY_PROPERTIES, NULL);
        return 0;
    }
    data->properties_text += place->size + token->size;
    struct pf_cell cells[] = {pf_text(place->key, place->size), perun_value_of(reading, PERUN_TIME, token)};
    return pf_rows_add(data->properties, cells, error);
}

/* The rows of a value whose first token is given. */
static int read_value(struct perun_reading *reading, struct place *place, struct pf_json_token token,
                      struct pf_error *error)
{
    for (;;) {
        bool list = token.event == PF_JSON_ARRAY;
        if (token.event == PF_JSON_NAME) {
            go_below(place, place->levels[place->depth - 1].outside, token.text, token.size);
        } else if (token.event == PF_JSON_OBJECT_END || token.event == PF_JSON_ARRAY_END) {
            place->size = place->levels[--place->depth].outside;
        } else {
            begin_value(place);
            if (list || token.event == PF_JSON_OBJECT)
                place->levels[place->depth++] = (struct level){(uint16_t)place->size, list ? 0 : -1};
            else if (add_row(reading, place, &token, error))
                return -1;
        }
        if (!place->depth)
            return 0;
        if (pf_json_next(reading->json, &token, error) < 0 || perun_step(reading, error))
            return -1;
    }
}

/* Regions without measurements. Scalars of any name are shown, too. */
static bool is_shown(const struct pf_json_token *name)
{
    static const char *const regions[] = {"header",  "collector_info", "collector", "postprocessors",
                                          "machine", "metadata",       "stats"};
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        if (pf_json_is(name, regions[i]))
            return true;
    return false;
}

int perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name, struct pf_error *error)
{
    struct pf_json_token token;
    struct place place = {.size = 0};
    bool shown = is_shown(name);
    go_below(&place, 0, name->text, name->size);
    int event =
        shown ? pf_json_next(reading->json, &token, error) : pf_json_skip(reading->json, &token, error);
    if (event < 0)
        return -1;
    return !shown && (event == PF_JSON_OBJECT || event == PF_JSON_ARRAY)
               ? 0
               : read_value(reading, &place, token, error);
}
