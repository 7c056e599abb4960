/* SPDX-License-Identifier: MIT */
#include "formats/json/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/json_window.h"
#include "formats/kit/number.h"
#include "formats/kit/print.h"

/* Result of json_peek at the end of the text; not a character. */
enum { TEXT_END = 256 };

/* Skips whitespace. Returns the next character, to which json->at then points; TEXT_END; or -1 with *error filled. */
static inline int json_peek(struct pf_json *json, struct pf_error *error)
{
    const char *at = json->at;
    for (;; at++) {
        unsigned char c = (unsigned char)*at;
        if (c > ' ') {
            json->at = at;
            return c;
        }
        if (c == '\n') {
            if (pf_json_new_line(json, at, error))
                return -1;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            json->at = at;
            if (c || at != json->end)
                return c;
            int got = pf_json_refill(json, &at, error);
            if (got <= 0)
                return got < 0 ? -1 : TEXT_END;
            at--;
        }
    }
}

/* ---- containers --------------------------------------------------------------------------------- */

static int open_container(struct pf_json *json, struct pf_json_token *token, bool object,
                          struct pf_error *error)
{
    if (pf_json_push(json, json->at, object, error) < 0)
        return -1;
    json->at++;
    json->expect = object ? PF_EXPECT_FIRST_NAME : PF_EXPECT_FIRST;
    return token->event = object ? PF_JSON_OBJECT : PF_JSON_ARRAY;
}

static int close_container(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    bool object = *json->at == '}';
    if (pf_json_pop(json, json->at, object, error) < 0)
        return -1;
    json->at++;
    pf_json_value_over(json);
    return token->event = object ? PF_JSON_OBJECT_END : PF_JSON_ARRAY_END;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

/* Appends digits to *mantissa, which wraps on overflow. */
static inline const char *scan_digits(const char *at, const char *end, uint64_t *mantissa)
{
    while (end - at >= 8) {
        uint64_t word = pf_digits_load(at);
        unsigned n = pf_digits_count(word);
        if (n == 0)
            return at;
        *mantissa = *mantissa * pf_tens[n] + pf_digits_join(word, n);
        at += n;
        if (n < 8)
            return at;
    }
    for (; pf_json_is_digit(*at); at++)
        *mantissa = *mantissa * 10 + (unsigned)(*at - '0');
    return at;
}

/* Scans the exponent after an `e`. Returns its end. Sets *good to whether it is valid. */
static const char *scan_exponent(const char *at, bool *good)
{
    at += *at == '+' || *at == '-';
    *good = pf_json_is_digit(*at);
    while (pf_json_is_digit(*at))
        at++;
    return at;
}

/*
 * Scans the number at `at`. Returns its end. Sets *good to whether it is valid. A number of at most 18 digits without
 * exponent is `simple`: the token then holds its digits. `end` is the end of the window; a number that ends there may
 * continue after it.
 */
static inline const char *scan_number(const char *at, const char *end, struct pf_json_token *token,
                                      bool *good)
{
    *good = false;
    token->negative = *at == '-';
    at += token->negative;
    const char *start = at, *point;
    token->mantissa = 0;
    at = *at == '0' ? at + 1 : scan_digits(at, end, &token->mantissa);
    if (at == start)
        return at;
    point = at;
    if (*at == '.') {
        at = scan_digits(at + 1, end, &token->mantissa);
        if (at == point + 1)
            return at;
    }
    token->integer = at == point;
    token->simple = at - start <= 18 && (*at | 0x20) != 'e';
    token->places = (uint8_t)(token->simple && at > point ? at - point - 1 : 0);
    *good = true;
    if ((*at | 0x20) != 'e')
        return at;
    token->integer = false;
    return scan_exponent(at + 1, good);
}

/* ---- values ------------------------------------------------------------------------------------- */

static inline int json_read_number(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    const char *at = json->at, *stop;
    bool good;
    while ((stop = scan_number(at, json->end, token, &good)) == json->end &&
           stop - at <= (ptrdiff_t)PF_JSON_TEXT_MAX) {
        int got = pf_json_refill(json, &at, error);
        if (got < 0)
            return -1;
        if (!got)
            break;
    }
    if (stop - at > (ptrdiff_t)PF_JSON_TEXT_MAX)
        return pf_json_fail(json, E2BIG, at, "the number has too many digits", error);
    if (!good)
        return pf_json_fail(json, stop == json->end ? ENODATA : EBADMSG, stop, "expected a digit", error);
    token->text = at;
    token->size = (size_t)(stop - at);
    json->at = stop;
    pf_json_value_over(json);
    return token->event = PF_JSON_NUMBER;
}

/*
 * Parses the words that are values. C, Python and JavaScript write NaN and the infinities in many ways, so any case and
 * a sign are accepted. MSVC appends the kind of a NaN, which is not part of the token's text.
 */
static int json_read_word(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    static const struct {
        const char *word;
        size_t text;
        enum pf_json_event event;
    } words[] = {{"true", 4, PF_JSON_TRUE},       {"false", 5, PF_JSON_FALSE},
                 {"null", 4, PF_JSON_NULL},       {"nan", 3, PF_JSON_NUMBER},
                 {"nan(ind)", 3, PF_JSON_NUMBER}, {"nan(snan)", 3, PF_JSON_NUMBER},
                 {"inf", 3, PF_JSON_NUMBER},      {"infinity", 8, PF_JSON_NUMBER}};
    if (pf_json_ensure(json, &json->at, sizeof "-nan(snan)", error) < 0)
        return -1;
    size_t sign = *json->at == '-' || *json->at == '+', taken = 0;
    const char *word = json->at + sign;
    size_t left = (size_t)(json->end - word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool number = words[i].event == PF_JSON_NUMBER;
        size_t size = strlen(words[i].word), shown = size < left ? size : left;
        if ((sign && !number) || size <= taken ||
            (number ? strncasecmp(word, words[i].word, shown) : memcmp(word, words[i].word, shown)) != 0)
            continue;
        if (size > left && left > taken)
            return pf_json_fail(json, ENODATA, json->end, "truncated within a word", error);
        if (size > left)
            continue;
        taken = size;
        token->size = sign + words[i].text;
        token->event = words[i].event;
    }
    if (!taken)
        return pf_json_fail(json, EBADMSG, json->at, "invalid value", error);
    token->text = json->at;
    json->at = word + taken;
    pf_json_value_over(json);
    return token->event;
}

static int read_string(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    if (pf_json_string(json, token, error) < 0)
        return -1;
    pf_json_value_over(json);
    return token->event = PF_JSON_STRING;
}

static inline int json_read_value(struct pf_json *json, char c, struct pf_json_token *token,
                                  struct pf_error *error)
{
    if (!json->depth && json->value_line == json->line && json->flags & PF_JSON_LINES)
        return pf_json_fail(json, EBADMSG, json->at, "second value in the line", error);
    if (pf_json_is_digit(c))
        return json_read_number(json, token, error);
    switch (c) {
    case '"':
        return read_string(json, token, error);
    case '{':
        return open_container(json, token, true, error);
    case '[':
        return open_container(json, token, false, error);
    case '-':
        if (pf_json_ensure(json, &json->at, 2, error) < 0)
            return -1;
        if (!strchr("IiNn", json->at[1]) || !json->at[1])
            return json_read_number(json, token, error);
        return json_read_word(json, token, error);
    default:
        return json_read_word(json, token, error);
    }
}

static int json_read_name(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    if (*json->at != '"')
        return pf_json_fail(json, EBADMSG, json->at, "expected a name in quotes", error);
    if (pf_json_string(json, token, error) < 0)
        return -1;
    bool colon = *json->at == ':';
    json->at += colon;
    json->expect = colon ? PF_EXPECT_VALUE : PF_EXPECT_COLON;
    return token->event = PF_JSON_NAME;
}

/* ---- tokens ------------------------------------------------------------------------------------- */

static int at_text_end(struct pf_json *json, struct pf_error *error)
{
    if (json->expect == PF_EXPECT_END || (json->expect == PF_EXPECT_DOCUMENT && json->flags & PF_JSON_LINES))
        return 0;
    return pf_json_fail(json, ENODATA, json->at,
                        json->depth ? "truncated within a value" : "truncated before a value", error);
}

/* Consumes an expected comma or colon. Returns 1 if there was one. */
static inline int take_separator(struct pf_json *json, int c)
{
    if (json->expect == PF_EXPECT_COMMA && c == ',')
        json->expect = pf_json_in_object(json) ? PF_EXPECT_NAME : PF_EXPECT_VALUE;
    else if (json->expect == PF_EXPECT_COLON && c == ':')
        json->expect = PF_EXPECT_VALUE;
    else
        return 0;
    json->at++;
    return 1;
}

/* True after a comma. A value may be missing after a comma (trailing comma), but not after a colon. */
static inline bool is_behind_comma(const struct pf_json *json)
{
    return json->depth && json->expect == (pf_json_in_object(json) ? PF_EXPECT_NAME : PF_EXPECT_VALUE);
}

static inline bool may_close(const struct pf_json *json, int c)
{
    return (c == ']' || c == '}') && (json->expect == PF_EXPECT_COMMA || json->expect == PF_EXPECT_FIRST ||
                                      json->expect == PF_EXPECT_FIRST_NAME ||
                                      (json->flags & PF_JSON_LAST_COMMAS && is_behind_comma(json)));
}

static inline int read_token(struct pf_json *json, int c, struct pf_json_token *token, struct pf_error *error)
{
    token->offset = pf_json_offset(json, json->at);
    token->line = json->line;
    if (may_close(json, c))
        return close_container(json, token, error);
    switch (json->expect) {
    case PF_EXPECT_DOCUMENT:
    case PF_EXPECT_VALUE:
    case PF_EXPECT_FIRST:
        return json_read_value(json, (char)c, token, error);
    case PF_EXPECT_FIRST_NAME:
    case PF_EXPECT_NAME:
        return json_read_name(json, token, error);
    case PF_EXPECT_COLON:
        return pf_json_fail(json, EBADMSG, json->at, "expected a colon after the name", error);
    case PF_EXPECT_COMMA:
        return pf_json_fail(json, EBADMSG, json->at, "expected a comma or a closing bracket", error);
    default:
        return pf_json_fail(json, EBADMSG, json->at, "text after the value", error);
    }
}

/* ---- the next token ----------------------------------------------------------------------------- */

/* Resets the token, except `mantissa` and `places`, which are set only for numbers. */
static inline void json_clear(const struct pf_json *json, struct pf_json_token *token)
{
    token->event = PF_JSON_END;
    token->cut = token->replaced = token->simple = token->integer = token->negative = false;
    token->text = NULL;
    token->size = 0;
    token->offset = pf_json_offset(json, json->at);
    token->line = json->line;
}

int pf_json_next(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    json_clear(json, token);
    if (json->failed.code) {
        *error = json->failed;
        return -1;
    }
    if (json->expect == PF_EXPECT_OVER)
        return PF_JSON_END;
    /* Fast path: mass data are mostly numbers. */
    if ((json->expect == PF_EXPECT_VALUE || json->expect == PF_EXPECT_FIRST) && pf_json_is_digit(*json->at))
        return json_read_number(json, token, error);
    int c;
    do {
        c = json_peek(json, error);
        if (c < 0)
            return -1;
        if (c == TEXT_END)
            return at_text_end(json, error);
    } while (take_separator(json, c));
    return read_token(json, c, token, error);
}

/* ---- whole values ------------------------------------------------------------------------------- */

int pf_json_skip(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    int event = pf_json_next(json, token, error);
    if ((event == PF_JSON_OBJECT || event == PF_JSON_ARRAY) && pf_json_leave(json, error) < 0)
        return -1;
    return event;
}

int pf_json_take(struct pf_json *json, struct pf_json_token *token, struct pf_json_buffer *buffer,
                 struct pf_error *error)
{
    int event = pf_json_next(json, token, error), got = event < 0 ? -1 : 0;
    buffer->size = 0;
    buffer->cut = false;
    if (event == PF_JSON_OBJECT || event == PF_JSON_ARRAY) {
        json->taken = buffer;
        json->taken_to = json->at - 1;
        got = pf_json_leave(json, error);
        const char *end = json->at;
        while (!got && end[-1] != '}' && end[-1] != ']') /* pf_json_leave also takes a comma */
            end--;
        if (!got)
            got = pf_json_take_up_to(json, end, error);
        json->taken = NULL;
    } else if (!got) {
        got = pf_json_add_text(buffer, token->size ? token->text : "", token->size, error);
    }
    if (got)
        return -1;
    token->cut |= buffer->cut;
    token->text = buffer->cut ? "" : buffer->bytes;
    token->size = buffer->cut ? 0 : buffer->size;
    return event;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

/* Fast path: a mantissa below 2^53 and the power of ten are exact doubles, so their quotient is rounded once. */
double pf_json_double(const struct pf_json_token *token)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    double value = 0;
    if (token->simple && token->mantissa < UINT64_C(1) << 53 && token->places < sizeof tens / sizeof *tens) {
        value = (double)token->mantissa / tens[token->places];
        return token->negative ? -value : value;
    }
    pf_parse_double(token->text, token->size, &value);
    return value;
}

struct pf_cell pf_json_number(const struct pf_json_token *token, pf_int128 *wide)
{
    const pf_int128 sign = token->negative ? -1 : 1;
    if (token->simple && token->integer)
        return pf_int((int64_t)sign * (int64_t)token->mantissa);
    if (!token->integer ||
        pf_parse_amount(token->text + token->negative, token->size - token->negative, wide).type != PF_WIDE)
        return pf_double(pf_json_double(token));
    *wide *= sign;
    if (*wide >= INT64_MIN && *wide <= INT64_MAX)
        return pf_int((int64_t)*wide);
    if (*wide >= 0 && *wide <= UINT64_MAX)
        return pf_uint((uint64_t)*wide);
    return pf_wide(wide);
}
