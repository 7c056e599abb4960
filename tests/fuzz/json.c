/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as JSON, read in several ways that must agree: through small reads, in place, with parts passed over, and
 * from saved positions. The first byte chooses the flags and where to look closer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/json_form.h"
#include "formats/kit/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
    const uint8_t *bytes;
    size_t size;
};

static ssize_t read_text(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct text *text = arg;
    (void)error;
    size_t left = offset < text->size ? text->size - (size_t)offset : 0, got = left < size ? left : size;
    if (got)
        memcpy(buffer, text->bytes + offset, got);
    return (ssize_t)got;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t mix_token(uint64_t hash, int event, const struct pf_json_token *token)
{
    hash = mix(hash, &event, sizeof event);
    hash = mix(hash, &token->offset, sizeof token->offset);
    return mix(hash, token->text, token->size);
}

/* What is left, as one number; errors count too. */
static uint64_t rest(struct pf_json *json)
{
    struct pf_json_token token;
    struct pf_error error;
    uint64_t hash = 14695981039346656037u;
    int event;
    do {
        event = pf_json_next(json, &token, &error);
        if (event == PF_JSON_NUMBER) {
            pf_int128 wide;
            struct pf_cell cell = pf_json_number(&token, &wide);
            hash = mix(hash, &cell.type, sizeof cell.type);
        }
        if (event >= 0)
            hash = mix_token(hash, event, &token);
    } while (event > 0);
    if (event < 0)
        hash = mix(hash, &error.offset, sizeof error.offset);
    return hash;
}

/* Every token's position leads on as the reader itself goes on. */
static void resume(struct text *text, unsigned flags, unsigned at)
{
    struct pf_json *json = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json *other = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json_token token;
    struct pf_error error;
    unsigned char blob[PF_JSON_POSITION_SIZE + PF_JSON_DEPTH / 8];
    bool well = true;
    for (unsigned i = 0; well && i < at; i++)
        well = pf_json_next(json, &token, &error) > 0;
    size_t saved = pf_json_save(json, blob, sizeof blob);
    if (well &&
        (saved > sizeof blob || pf_json_restore(other, blob, saved, &error) || rest(json) != rest(other)))
        abort();
    pf_json_free(json);
    pf_json_free(other);
}

/* Passing over ends where reading ends, if the text is sound. */
static void skip(struct text *text, unsigned flags)
{
    struct pf_json *json = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json *other = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json_token token;
    struct pf_error error;
    char taken[64];
    while (pf_json_next(json, &token, &error) > 0)
        if (pf_json_depth(json) == 0 && pf_json_take(other, &token, taken, sizeof taken, &error) <= 0)
            abort(); /* what can be read can be passed over */
    for (int i = 0; i < 8; i++)
        if (pf_json_next_line(json, &error) < 0 || rest(json) == 0)
            break;
    pf_json_free(json);
    pf_json_free(other);
}

/* What is told to be verbatim is what printing gives, and has the value that is told. */
static void check_verbatim(const struct pf_json_numeral *numeral)
{
    char printed[PF_NUMBER_MAX], *end;
    struct pf_cell value = numeral->value, read = pf_json_verbatim_number(numeral->text, numeral->size);
    end = value.type == PF_INT ? pf_print_int(printed, value.i) : pf_print_double(printed, value.d);
    if (read.type != value.type || read.u != value.u || numeral->size != (size_t)(end - printed) ||
        memcmp(numeral->text, printed, numeral->size) != 0)
        abort();
}

/* The cells of all numbers, and what ends the text, as one number; many are taken at once if that may be. */
static uint64_t numbers(struct text *text, unsigned flags, bool at_once)
{
    struct pf_json *json = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json_token token;
    struct pf_error error = {0};
    struct pf_json_numeral numerals[3];
    pf_int128 wide;
    uint64_t hash = 14695981039346656037u;
    int event;
    do {
        size_t n = at_once ? pf_json_numbers(json, numerals, 3) : 0;
        for (size_t i = 0; i < n; i++)
            if (numerals[i].text)
                check_verbatim(&numerals[i]);
        event = n ? PF_JSON_NUMBER : pf_json_next(json, &token, &error);
        if (!n && event == PF_JSON_NUMBER)
            numerals[n++].value = pf_json_number(&token, &wide);
        for (size_t i = 0; i < n; i++) {
            const struct pf_cell *value = &numerals[i].value;
            hash = mix(mix(hash, &value->type, 1), &value->u, value->type == PF_WIDE ? 0 : 8);
        }
        if (!n)
            hash = mix(hash, &event, sizeof event);
    } while (event > 0);
    pf_json_free(json);
    return mix(hash, &error.offset, sizeof error.offset);
}

/* What is accepted because it is likely, in the order of its kinds; PF_JSON_END: nothing. */
static int take_likely(struct pf_json *json, uint64_t *hash)
{
    struct pf_cell cell;
    const char *string = "a";
    size_t size = 1;
    int event = pf_json_accept(json, true, "a", 1)            ? PF_JSON_NAME
                : pf_json_accept(json, false, "a", 1)         ? PF_JSON_STRING
                : pf_json_accept_string(json, &string, &size) ? PF_JSON_STRING
                : pf_json_accept_number(json, &cell)          ? PF_JSON_NUMBER
                                                              : PF_JSON_END;
    if (event == PF_JSON_NUMBER)
        *hash = mix(mix(*hash, &cell.type, 1), &cell.u, sizeof cell.u);
    else if (event)
        *hash = mix(*hash, string, size);
    return event;
}

/* What is accepted as it stands is what reading it gives. */
static uint64_t likely(struct text *text, unsigned flags, bool accept)
{
    struct pf_json *json = pf_json_new_reading(read_text, text, flags, 0);
    struct pf_json_token token;
    struct pf_error error = {0};
    pf_int128 wide;
    uint64_t hash = 14695981039346656037u;
    int event;
    do {
        event = accept ? take_likely(json, &hash) : 0;
        if (!event) {
            event = pf_json_next(json, &token, &error);
            struct pf_cell cell = event == PF_JSON_NUMBER ? pf_json_number(&token, &wide) : pf_absent();
            if (event == PF_JSON_NUMBER)
                hash = mix(mix(hash, &cell.type, 1), &cell.u, cell.type == PF_WIDE ? 0 : sizeof cell.u);
            else if (event > 0)
                hash = mix(hash, token.text, token.size);
        }
        hash = mix(hash, &event, sizeof event);
    } while (event > 0);
    pf_json_free(json);
    return mix(hash, &error.offset, sizeof error.offset);
}

/* ---- objects that are alike --------------------------------------------------------------------- */

static enum pf_json_gap choose(void *arg, const struct pf_json_token *name)
{
    (void)arg;
    switch (name->size ? name->text[0] : 0) {
    case 'n':
        return PF_JSON_NUMBER_GAP;
    case 's':
        return PF_JSON_STRING_GAP;
    case 'a':
        return PF_JSON_ANY_GAP;
    case 'b':
        return PF_JSON_FIXED;
    default:
        return PF_JSON_NO_FORM;
    }
}

static uint64_t mix_cell(uint64_t hash, const struct pf_cell *cell)
{
    hash = mix(hash, &cell->type, 1);
    return cell->type == PF_TEXT   ? mix(hash, cell->text, cell->size)
           : cell->type == PF_WIDE ? hash
                                   : mix(hash, &cell->u, sizeof cell->u);
}

/* The members of an object that fill gaps, if it has a form. */
static int read_object(struct pf_json *json, uint64_t *hash, struct pf_error *error)
{
    struct pf_json_token token;
    pf_int128 wide;
    int event;
    while ((event = pf_json_next(json, &token, error)) == PF_JSON_NAME) {
        enum pf_json_gap gap = choose(NULL, &token);
        event = pf_json_skip(json, &token, error);
        struct pf_cell cell = event == PF_JSON_NUMBER ? pf_json_number(&token, &wide) : pf_absent();
        if (event == PF_JSON_STRING)
            cell = pf_text(token.text, token.size);
        if (event < 0)
            return -1;
        if (gap != PF_JSON_FIXED && gap != PF_JSON_NO_FORM)
            *hash = mix_cell(*hash, &cell);
    }
    return event < 0 ? -1 : 0;
}

/* All objects, which are compared with the form of the last one that was read, or read. */
static uint64_t alike(struct text *text, unsigned flags, bool match)
{
    struct pf_json *json = pf_json_new_reading(read_text, text, flags, 0), *part = pf_json_new(NULL, 0, 0);
    struct pf_json_form form;
    struct pf_json_token token;
    struct pf_error error = {0};
    struct pf_cell cells[PF_JSON_FORM_GAPS];
    uint64_t hash = 14695981039346656037u;
    bool learned = false;
    int event = 1;
    while (event > 0) {
        if (learned && pf_json_form_match(json, &form, cells)) {
            for (size_t i = 0; i < form.n_gaps; i++) {
                bool verbatim = cells[i].type == PF_TEXT && !form.parts[i].string;
                if (verbatim)
                    cells[i] = pf_json_verbatim_number(cells[i].text, cells[i].size);
                hash = mix_cell(hash, &cells[i]);
            }
            continue;
        }
        event = pf_json_next(json, &token, &error);
        if (event != PF_JSON_OBJECT)
            continue;
        uint64_t start = token.offset;
        size_t size;
        event = read_object(json, &hash, &error) ? -1 : event;
        const char *seen = pf_json_seen(json, start, &size);
        learned = match && event > 0 && seen && pf_json_form_learn(&form, part, seen, size, choose, NULL);
    }
    pf_json_free(json);
    pf_json_free(part);
    hash = mix(hash, &error.line, sizeof error.line);
    return mix(hash, &error.offset, sizeof error.offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    unsigned flags = data[0] & 7, at = data[0] >> 3;
    struct text text = {data + 1, size - 1};
    struct pf_json *json = pf_json_new_reading(read_text, &text, flags, 0);
    uint64_t want = rest(json);
    char *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    copy[size - 1] = 0;
    bool mark = size > 3 && !memcmp(copy, "\xef\xbb\xbf", 3); /* only files have one */
    pf_json_text(json, copy, size - 1);
    if (!mark && rest(json) != want)
        abort();
    pf_json_free(json);
    free(copy);
    resume(&text, flags, at);
    skip(&text, flags);
    if (numbers(&text, flags, true) != numbers(&text, flags, false) ||
        likely(&text, flags, true) != likely(&text, flags, false) ||
        alike(&text, flags, true) != alike(&text, flags, false))
        abort();
    return 0;
}
