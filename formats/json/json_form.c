/* SPDX-License-Identifier: MIT */
#include "formats/json/json_form.h"

#include "formats/json/json_window.h"

/* ---- making ------------------------------------------------------------------------------------- */

/* Copies text up to a gap, or to the object's end. */
static void add_part(struct pf_json_form *form, const char *from, const char *to)
{
    size_t i = form->n_gaps, start = i ? form->parts[i - 1].end : 0;
    memcpy(form->text + start, from, (size_t)(to - from));
    form->parts[i].end = start + (size_t)(to - from);
    for (const char *at = from; at < to; at++)
        form->lines += *at == '\n';
}

static bool is_fit(enum pf_json_gap gap, const struct pf_json_token *value)
{
    switch (gap) {
    case PF_JSON_FIXED:
        return value->event != PF_JSON_OBJECT && value->event != PF_JSON_ARRAY;
    case PF_JSON_NUMBER_GAP:
        return value->event == PF_JSON_NUMBER;
    case PF_JSON_STRING_GAP:
        return value->event == PF_JSON_STRING;
    case PF_JSON_ANY_GAP:
        return value->event == PF_JSON_NUMBER || value->event == PF_JSON_STRING;
    default:
        return false;
    }
}

/* A member's value. *done: up to where the text is a part of the form, or behind a gap. */
static bool add_value(struct pf_json_form *form, enum pf_json_gap gap, const struct pf_json_token *value,
                      const char *text, const char **done)
{
    bool string = value->event == PF_JSON_STRING;
    const char *start = text + value->offset + string;
    if (!is_fit(gap, value))
        return false;
    if (gap == PF_JSON_FIXED)
        return true;
    if (form->n_gaps == PF_JSON_FORM_GAPS ||
        value->text != start) /* a string with escapes does not stand there */
        return false;
    add_part(form, *done, start);
    form->parts[form->n_gaps++].string = string;
    *done = start + value->size;
    return true;
}

bool pf_json_form_learn(struct pf_json_form *form, struct pf_json *part, const char *text, size_t size,
                        enum pf_json_gap (*choose)(void *arg, const struct pf_json_token *name), void *arg)
{
    char copy[PF_JSON_FORM_TEXT + 1];
    const char *done = copy;
    struct pf_json_token token;
    struct pf_error error;
    int event;
    size = size < PF_JSON_FORM_TEXT ? size : PF_JSON_FORM_TEXT;
    memcpy(copy, text, size);
    copy[size] = 0;
    pf_json_text(part, copy, size);
    form->n_gaps = form->lines = 0;
    if (pf_json_next(part, &token, &error) != PF_JSON_OBJECT)
        return false;
    while ((event = pf_json_next(part, &token, &error)) == PF_JSON_NAME) {
        enum pf_json_gap gap = choose(arg, &token);
        if (pf_json_next(part, &token, &error) < 0 || !add_value(form, gap, &token, copy, &done))
            return false;
    }
    if (event != PF_JSON_OBJECT_END)
        return false;
    add_part(form, done, copy + token.offset + 1);
    return true;
}

/* ---- matching ----------------------------------------------------------------------------------- */

/* What fills a gap from `at` on: where it ends, or NULL. It ends at the window's end at the latest. */
static inline const char *fill_gap(const struct pf_json *json, const char *at, bool string,
                                   struct pf_cell *cell)
{
    if (!string)
        return pf_json_scan_shown(at, json->end, cell);
    const char *end = pf_json_scan_ascii(at);
    *cell = pf_text(at, (size_t)(end - at));
    return *end == '"' && end - at <= (ptrdiff_t)PF_JSON_TEXT_MAX ? end : NULL;
}

bool pf_json_form_match(struct pf_json *json, const struct pf_json_form *form, struct pf_cell *cells)
{
    if (!pf_json_before_value(json) || (form->lines && json->flags & PF_JSON_LINES))
        return false;
    const char *at = json->at;
    for (size_t i = 0, start = 0; at; i++) {
        size_t size = form->parts[i].end - start;
        if ((size_t)(json->end - at) < size || memcmp(at, form->text + start, size) != 0)
            return false;
        at += size;
        start += size;
        if (i == form->n_gaps)
            break;
        at = fill_gap(json, at, form->parts[i].string, &cells[i]);
    }
    if (!at)
        return false;
    if (form->lines) {
        const char *newline = memrchr(json->at, '\n', (size_t)(at - json->at));
        json->line += form->lines;
        json->line_start = pf_json_offset(json, newline) + 1;
    }
    json->at = at;
    pf_json_value_over(json);
    return true;
}
