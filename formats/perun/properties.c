/* SPDX-License-Identifier: MIT */
/*
 * Properties: the contents of regions that describe the profile, as rows of a key (header.units.time, postprocessors.0.name) and a value.
 * The regions are read token by token, so that damage does not affect the rows before it.
 */
#include <stdio.h>

#include "formats/perun/perun.h"

/*
 * Maximum number of rows, and maximum bytes of a key and of all keys and values. Further rows are dropped with a
 * warning. A longer key is cut.
 */
enum { ROWS_MAX = 50000, KEY_MAX = 1000, TEXT_MAX = 16 << 20 };

/* Appends ".name" to a key of `outside` bytes, or only the name to an empty key, up to KEY_MAX bytes. Returns the new size. */
static size_t extend(char key[KEY_MAX], size_t outside, const char *name, size_t size)
{
    if (outside && outside < KEY_MAX)
        key[outside++] = '.';
    size = size < KEY_MAX - outside ? size : KEY_MAX - outside;
    memcpy(key + outside, name, size);
    return outside + size;
}

static void add_property_row(struct perun_reading *reading, const char *key, size_t size,
                             const struct pf_json_token *token)
{
    struct perun_data *data = reading->data;
    if (pf_rows_count(data->properties) == ROWS_MAX || data->properties_text > TEXT_MAX) {
        PERUN_NOTE(reading, token, PERUN_TOO_MANY, "properties");
        return;
    }
    data->properties_text += size + token->size;
    perun_add_property(data, pf_text(key, size), perun_value_of(reading, PERUN_TIME, token));
}

/* Adds the rows of a value whose first token was read. The JSON reader limits the depth of values, and so of the recursion. */
static void add_property_value(struct perun_reading *reading, char key[KEY_MAX], size_t size,
                               const struct pf_json_token *value)
{
    struct pf_json_token token;
    char number[24];
    bool list = value->event == PF_JSON_ARRAY;
    if (!list && value->event != PF_JSON_OBJECT) {
        add_property_row(reading, key, size, value);
        return;
    }
    for (uintmax_t i = 0;; i++) {
        int event = perun_next(reading, &token);
        if (event == PF_JSON_OBJECT_END || event == PF_JSON_ARRAY_END)
            break;
        size_t inside = list ? extend(key, size, number, (size_t)snprintf(number, sizeof number, "%ju", i))
                             : extend(key, size, token.text, token.size);
        if (!list)
            perun_next(reading, &token);
        add_property_value(reading, key, inside, &token);
    }
    perun_step(reading);
}

/* Returns true if a member is a region that describes the profile. */
static bool is_shown(const struct pf_json_token *name)
{
    static const char *const regions[] = {"header",  "collector_info", "collector", "postprocessors",
                                          "machine", "metadata",       "stats"};
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        if (pf_json_is(name, regions[i]))
            return true;
    return false;
}

void perun_read_shown(struct perun_reading *reading, const struct pf_json_token *name)
{
    struct pf_json_token token;
    char key[KEY_MAX];
    bool shown = is_shown(name);
    size_t size = extend(key, 0, name->text, name->size);
    int event = shown ? perun_next(reading, &token) : perun_skip(reading, &token);
    if (shown || (event != PF_JSON_OBJECT && event != PF_JSON_ARRAY))
        add_property_value(reading, key, size, &token);
}
