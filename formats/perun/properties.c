/* SPDX-License-Identifier: MIT */
/* Regions without measurements as rows of keys and values: header.units.time, postprocessors.0.name. */
#include <stdio.h>

#include "formats/perun/read.h"

/* Rows, the longest key, and bytes of all: further ones are left out. */
enum { ROWS_MAX = 50000, KEY_MAX = 1000, TEXT_MAX = 16 << 20 };

/* Where in a region the reader is. */
struct place {
    char key[KEY_MAX];
    size_t size;                            /* of key */
    uint16_t before[PF_JSON_DEPTH_MAX + 1]; /* of key, outside each open container */
    uint64_t index[PF_JSON_DEPTH_MAX + 1];  /* the next element of each open list; UINT64_MAX: an object */
    unsigned depth;
};

/* Appends to the key; what is too long is cut. */
static void extend(struct place *place, const char *text, size_t size)
{
    if (place->size && place->size < KEY_MAX)
        place->key[place->size++] = '.';
    if (size > KEY_MAX - place->size)
        size = KEY_MAX - place->size;
    memcpy(place->key + place->size, text, size);
    place->size += size;
}

static int add_row(struct perun_reading *reading, const struct place *place,
                   const struct pf_json_token *token, struct pf_error *error)
{
    pf_int128 wide;
    struct pf_cell cells[2] = {pf_text(place->key, place->size), pf_absent()};
    struct perun_data *data = reading->data;
    if (pf_rows_count(data->properties) == ROWS_MAX || data->properties_text > TEXT_MAX) {
        PERUN_NOTE_AT(reading, token, "warning", "many-properties",
                      "a property is left out: there are too many");
        return 0;
    }
    if (token->event == PF_JSON_NUMBER)
        cells[1] = pf_json_number(token, &wide);
    else if (token->event == PF_JSON_STRING)
        cells[1] = pf_text(token->text, token->size);
    else if (token->event != PF_JSON_NULL)
        cells[1] = pf_string(token->event == PF_JSON_TRUE ? "true" : "false");
    data->properties_text += place->size + token->size;
    return pf_rows_add(data->properties, cells, error);
}

static void open_container(struct place *place, bool list)
{
    place->before[place->depth] = (uint16_t)place->size;
    place->index[place->depth++] = list ? 0 : UINT64_MAX;
}

/* In a list, the key goes on with the element's number. */
static void begin_element(struct place *place)
{
    char number[24] = "";
    uint64_t *index = place->depth ? &place->index[place->depth - 1] : NULL;
    if (!index || *index == UINT64_MAX)
        return;
    int size = snprintf(number, sizeof number, "%ju", (uintmax_t)(*index)++);
    place->size = place->before[place->depth - 1];
    extend(place, number, (size_t)size);
}

static int read_place(struct perun_reading *reading, struct place *place, const struct pf_json_token *first,
                      struct pf_error *error)
{
    struct pf_json_token token = *first;
    for (;;) {
        switch (token.event) {
        case PF_JSON_OBJECT:
        case PF_JSON_ARRAY:
            begin_element(place);
            open_container(place, token.event == PF_JSON_ARRAY);
            break;
        case PF_JSON_OBJECT_END:
        case PF_JSON_ARRAY_END:
            place->size = place->before[--place->depth];
            break;
        case PF_JSON_NAME:
            place->size = place->before[place->depth - 1];
            extend(place, token.text, token.size);
            break;
        default:
            begin_element(place);
            if (add_row(reading, place, &token, error))
                return -1;
        }
        if (!place->depth)
            return 0;
        if (pf_json_next(reading->json, &token, error) < 0 || perun_step(reading, error))
            return -1;
    }
}

int perun_read_properties_of(struct perun_reading *reading, const char *region,
                             const struct pf_json_token *token, struct pf_error *error)
{
    struct place place = {.size = 0};
    extend(&place, region, strlen(region));
    return read_place(reading, &place, token, error);
}
