/* SPDX-License-Identifier: MIT */
/* Text that grows, and uids and frames as one text. */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/print.h"
#include "formats/perun/perun.h"

/* ---- text that grows ---------------------------------------------------------------------------- */

int perun_reserve(struct perun_text *text, size_t more, struct pf_error *error)
{
    if (text->at && more < text->room - text->size)
        return 0;
    return more > SIZE_MAX / 4 - text->size
               ? pf_fail_memory(error)
               : pf_array_grow(&text->at, &text->room, text->size + more + 1, 1, error);
}

int perun_add(struct perun_text *text, const char *bytes, size_t size, struct pf_error *error)
{
    if (perun_reserve(text, size, error))
        return -1;
    if (size)
        memcpy(text->at + text->size, bytes, size);
    text->size += size;
    text->at[text->size] = 0;
    return 0;
}

int perun_add_cell(struct perun_text *text, const struct pf_cell *cell, struct pf_error *error)
{
    char number[PF_NUMBER_MAX], *end = number;
    if (cell->type == PF_TEXT)
        return perun_add(text, cell->text, cell->size, error);
    if (cell->type != PF_ABSENT)
        end = cell->type == PF_INT    ? pf_print_int(number, cell->i)
              : cell->type == PF_UINT ? pf_print_uint(number, cell->u)
                                      : pf_print_double(number, cell->d);
    return perun_add(text, number, (size_t)(end - number), error);
}

void perun_text_free(struct perun_text *text)
{
    free(text->at);
    *text = (struct perun_text){0};
}

/* ---- flattening --------------------------------------------------------------------------------- */

/* Values of one object that make its text; real ones have at most five. */
enum { PARTS_MAX = 64, KEY_MAX = 256 };

/* What keys mean, in their order; others come behind. */
static const struct {
    const char *key;
    unsigned rank;
} ranks[] = {
    {"bin", 0},    {"file", 1},      {"source", 1},    {"package", 1},     {"module", 2},
    {"class", 3},  {"struct", 3},    {"structure", 3}, {"function", 4},    {"func", 4},
    {"method", 4}, {"procedure", 4}, {"line", 5},      {"instruction", 6},
};
enum { RANKS = sizeof ranks / sizeof *ranks, FILES = 1, LINES = 5, OTHERS = 7 };

struct part {
    unsigned rank, number; /* number: its place in the object */
    const char *key;
    struct json_object *value;
};

static unsigned rank_of(const char *key)
{
    for (size_t i = 0; i < RANKS; i++)
        if (!strcmp(key, ranks[i].key))
            return ranks[i].rank;
    return OTHERS;
}

/* A key that means nothing known is ordered by the codes of its characters plus 6, written one after the other: a number. */
static size_t digits_of(const char *key, char digits[3 * KEY_MAX])
{
    size_t size = 0;
    for (size_t i = 0; i < KEY_MAX && key[i]; i++)
        size = (size_t)(pf_print_uint(digits + size, (unsigned char)key[i] + 6u) - digits);
    return size;
}

static int by_rank(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    char x[3 * KEY_MAX + PF_NUMBER_MAX], y[3 * KEY_MAX + PF_NUMBER_MAX];
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank == OTHERS) {
        size_t m = digits_of(a->key, x), n = digits_of(b->key, y);
        int order = m != n ? (m < n ? -1 : 1) : memcmp(x, y, m);
        if (order)
            return order;
    }
    return a->number < b->number ? -1 : 1;
}

static int add_scalar(struct json_object *value, struct perun_text *out, struct pf_error *error)
{
    const char *word = !value ? "None" : json_object_get_boolean(value) ? "True" : "False";
    if (!value || json_object_is_type(value, json_type_boolean))
        return perun_add(out, word, strlen(word), error);
    if (pf_tree_is_object(value) || pf_tree_is_list(value))
        return 0;
    /* Numbers stand as they are written. */
    struct pf_cell text = pf_tree_text(value);
    const char *number = text.type == PF_TEXT ? NULL : json_object_to_json_string(value);
    return number ? perun_add(out, number, strlen(number), error)
                  : perun_add(out, text.text, text.size, error);
}

static uint32_t line_of(struct json_object *value)
{
    bool number = json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    double line = number ? json_object_get_double(value) : 0;
    return line >= 1 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static int flatten_object(struct json_object *object, struct perun_text *out, struct perun_frame *frame,
                          struct pf_error *error)
{
    struct part parts[PARTS_MAX];
    unsigned n = 0;
    json_object_object_foreach(object, key, value)
    {
        if (n < PARTS_MAX) {
            parts[n] = (struct part){rank_of(key), n, key, value};
            n++;
        }
    }
    qsort(parts, n, sizeof *parts, by_rank);
    size_t start = out->size;
    for (unsigned i = 0; i < n; i++) {
        if ((i && perun_add(out, ":", 1, error)) || add_scalar(parts[i].value, out, error))
            return -1;
        if (!i && parts[i].rank == FILES)
            frame->file_size = out->size - start;
        if (parts[i].rank == LINES)
            frame->line = line_of(parts[i].value);
    }
    return 0;
}

int perun_flatten(struct json_object *value, struct perun_text *out, struct perun_frame *frame,
                  struct pf_error *error)
{
    *frame = (struct perun_frame){0};
    if (pf_tree_is_object(value))
        return flatten_object(value, out, frame, error);
    if (!pf_tree_is_list(value))
        return add_scalar(value, out, error);
    for (size_t i = 0; i < pf_tree_length(value) && i < PARTS_MAX; i++)
        if ((i && perun_add(out, ",", 1, error)) ||
            add_scalar(json_object_array_get_idx(value, i), out, error))
            return -1;
    return 0;
}
