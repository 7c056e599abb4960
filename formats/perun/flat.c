/* SPDX-License-Identifier: MIT */
#include "formats/perun/flat.h"

#include <stdlib.h>
#include <string.h>

/* Values of one object or list that make its text; real ones have at most five. */
enum { PARTS_MAX = 64 };

/* Keys of the others come after these. */
enum { OTHERS = 7 };

static const struct {
    const char *key;
    unsigned rank;
} ranks[] = {
    {"bin", 0},    {"file", 1},      {"source", 1},    {"package", 1},     {"module", 2},
    {"class", 3},  {"struct", 3},    {"structure", 3}, {"function", 4},    {"func", 4},
    {"method", 4}, {"procedure", 4}, {"line", 5},      {"instruction", 6},
};

struct part {
    unsigned rank;
    size_t key, key_size; /* of the others: the number they are ordered by, in digits */
    size_t at, size;      /* the value */
};

/* ---- text that grows ---------------------------------------------------------------------------- */

static int reserve(struct perun_text *text, size_t more, struct pf_error *error)
{
    if (text->at && more <= text->room - text->size)
        return 0;
    if (more > SIZE_MAX / 4 - text->size) {
        pf_fail_memory(error);
        return -1;
    }
    size_t room = text->room ? text->room : 256;
    while (room - text->size < more)
        room *= 2;
    char *at = realloc(text->at, room);
    if (!at) {
        pf_fail_memory(error);
        return -1;
    }
    text->at = at;
    text->room = room;
    return 0;
}

int perun_text_add(struct perun_text *text, const char *bytes, size_t size, struct pf_error *error)
{
    if (reserve(text, size + 1, error))
        return -1;
    if (size)
        memcpy(text->at + text->size, bytes, size);
    text->size += size;
    return 0;
}

int perun_text_end(struct perun_text *text, struct pf_error *error)
{
    if (reserve(text, 1, error))
        return -1;
    text->at[text->size] = 0;
    return 0;
}

void perun_text_free(struct perun_text *text)
{
    free(text->at);
    *text = (struct perun_text){0};
}

/* ---- flattening --------------------------------------------------------------------------------- */

static int add_scalar(const struct pf_json_token *token, struct perun_text *out, struct pf_error *error)
{
    switch (token->event) {
    case PF_JSON_STRING:
    case PF_JSON_NUMBER:
        return perun_text_add(out, token->text, token->size, error);
    case PF_JSON_TRUE:
        return perun_text_add(out, "True", 4, error);
    case PF_JSON_FALSE:
        return perun_text_add(out, "False", 5, error);
    case PF_JSON_NULL:
        return perun_text_add(out, "None", 4, error);
    default:
        return 0;
    }
}

/* A key that means nothing known is ordered by the codes of its characters plus 6, written one after the other. */
static int rank_key(struct part *part, const struct pf_json_token *key, struct perun_text *scratch,
                    struct pf_error *error)
{
    part->rank = OTHERS;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (pf_json_is(key, ranks[i].key))
            part->rank = ranks[i].rank;
    part->key = scratch->size;
    for (size_t i = 0; part->rank == OTHERS && i < key->size && i < 256; i++) {
        unsigned code = (unsigned char)key->text[i] + 6u;
        char digits[3] = {(char)('0' + code / 100), (char)('0' + code / 10 % 10), (char)('0' + code % 10)};
        unsigned skip = code < 10 ? 2 : code < 100 ? 1 : 0;
        if (perun_text_add(scratch, digits + skip, 3 - skip, error))
            return -1;
    }
    part->key_size = scratch->size - part->key;
    return 0;
}

/* Whether a comes before b; of equals the first stays first. */
static bool before(const struct part *a, const struct part *b, const char *text)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->key_size != b->key_size)
        return a->key_size < b->key_size;
    return a->key_size && memcmp(text + a->key, text + b->key, a->key_size) < 0;
}

static void sort(struct part *parts, size_t n, const char *text)
{
    for (size_t i = 1; i < n; i++) {
        struct part part = parts[i];
        size_t at = i;
        for (; at && before(&part, &parts[at - 1], text); at--)
            parts[at] = parts[at - 1];
        parts[at] = part;
    }
}

static int join(const struct part *parts, size_t n, const char *text, char separator, struct perun_text *out,
                struct pf_error *error)
{
    for (size_t i = 0; i < n; i++)
        if ((i && perun_text_add(out, &separator, 1, error)) ||
            perun_text_add(out, text + parts[i].at, parts[i].size, error))
            return -1;
    return 0;
}

/* What frames say of their form and place. */
static void note_place(struct perun_frame *frame, const struct part *part, const struct pf_json_token *value,
                       bool func, bool function)
{
    frame->has_func |= func;
    frame->has_function |= function;
    if (part->rank == 5 && value->event == PF_JSON_NUMBER) {
        double line = pf_json_double(value);
        frame->line = line >= 1 && line < UINT32_MAX ? (uint32_t)line : 0;
    }
}

/* Reads the members of an object, or the elements of a list, to its end. */
static int read_parts(struct pf_json *json, bool object, struct part *parts, size_t *n,
                      struct perun_text *scratch, struct perun_frame *frame, struct pf_error *error)
{
    struct pf_json_token token;
    for (*n = 0;;) {
        struct part part = {.rank = OTHERS};
        bool func = false, function = false;
        int event = pf_json_next(json, &token, error);
        if (event < 0)
            return -1;
        if (event == PF_JSON_OBJECT_END || event == PF_JSON_ARRAY_END)
            return 0;
        if (object) {
            func = pf_json_is(&token, "func");
            function = pf_json_is(&token, "function");
            if (rank_key(&part, &token, scratch, error) || pf_json_next(json, &token, error) < 0)
                return -1;
        }
        part.at = scratch->size;
        if (token.event == PF_JSON_OBJECT || token.event == PF_JSON_ARRAY) {
            if (pf_json_leave(json, error))
                return -1;
        } else if (add_scalar(&token, scratch, error)) {
            return -1;
        }
        part.size = scratch->size - part.at;
        if (frame && object)
            note_place(frame, &part, &token, func, function);
        if (*n < PARTS_MAX)
            parts[(*n)++] = part;
    }
}

int perun_flatten(struct pf_json *json, const struct pf_json_token *token, struct perun_text *out,
                  struct perun_frame *frame, struct pf_error *error)
{
    bool object = token->event == PF_JSON_OBJECT;
    if (!object && token->event != PF_JSON_ARRAY)
        return add_scalar(token, out, error);
    struct part parts[PARTS_MAX];
    struct perun_text scratch = {0};
    size_t n, start = out->size;
    int result = read_parts(json, object, parts, &n, &scratch, frame, error);
    if (!result && object && n)
        sort(parts, n, scratch.at);
    if (!result)
        result = join(parts, n, scratch.at, object ? ':' : ',', out, error);
    if (!result && frame && n && object && parts[0].rank == 1) {
        frame->file = start;
        frame->file_size = parts[0].size;
    }
    perun_text_free(&scratch);
    return result;
}
