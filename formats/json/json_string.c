/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/json_window.h"
#include "formats/kit/utf8.h"

#define SIXTEEN(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x

/* Characters that end the fast scan of a string: control characters, quote, backslash, non-ASCII bytes. */
static const bool is_special[256] = {
    SIXTEEN(1), SIXTEEN(1), 0,          0,          1,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,          0,
    0,          0,          SIXTEEN(0), SIXTEEN(0), 0,          0,          0,          0,
    0,          0,          0,          0,          0,          0,          0,          0,
    1,          0,          0,          0,          SIXTEEN(0), SIXTEEN(0), SIXTEEN(1), SIXTEEN(1),
    SIXTEEN(1), SIXTEEN(1), SIXTEEN(1), SIXTEEN(1), SIXTEEN(1), SIXTEEN(1),
};

/* The replacement character U+FFFD in UTF-8. */
static const char replacement[] = "\xef\xbf\xbd";

/* Returns the first character from `at` on that is a quote, a backslash, a control character or not ASCII. */
static const char *scan_ascii(const char *at)
{
    while (!is_special[(unsigned char)*at])
        at++;
    return at;
}

/* ---- appending to the unescaped text ------------------------------------------------------------ */

/* Appends text: ASCII is truncated to the remaining room; a multi-byte character is appended only as a whole. */
static void json_string_add(struct pf_json *json, struct pf_json_token *token, const char *text, size_t size,
                            bool ascii)
{
    size_t room = PF_JSON_TEXT_MAX - token->size;
    if (token->cut)
        return;
    token->cut = size > room;
    if (token->cut)
        size = ascii ? room : 0;
    memcpy(json->scratch + token->size, text, size);
    token->size += size;
}

static void add_replacement(struct pf_json *json, struct pf_json_token *token)
{
    token->replaced = true;
    json_string_add(json, token, replacement, sizeof replacement - 1, false);
}

/* ---- escapes ------------------------------------------------------------------------------------ */

/* Parses four hex digits; -1 if they are invalid. Stops at the sentinel. */
static int32_t hex4(const char *at)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)at[i], letter = (c | 0x20) - 'a';
        int digit = c >= '0' && c <= '9' ? c - '0' : letter >= 0 && letter < 6 ? letter + 10 : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/*
 * Parses `\uXXXX`, possibly a surrogate pair. Returns the code point, 0 if it is invalid, -1 for invalid hex digits.
 * Moves *at after the escape unless it returns -1.
 */
static int32_t read_code_point(const char **at)
{
    int32_t code = hex4(*at + 2);
    if (code < 0)
        return -1;
    *at += 6;
    if (code < 0xd800 || code > 0xdfff)
        return code;
    if (code > 0xdbff || (*at)[0] != '\\' || (*at)[1] != 'u')
        return 0;
    int32_t low = hex4(*at + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    *at += 6;
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

/* The character that a backslash and `c` denote; 0 if they are invalid. */
static char escaped(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case '"':
    case '\\':
    case '/':
        return c;
    default:
        return 0;
    }
}

static int read_escape(struct pf_json *json, struct pf_json_token *token, const char **at,
                       struct pf_error *error)
{
    const size_t longest = sizeof "\\ud83d\\ude00" - 1;
    if (pf_json_ensure(json, at, longest, error) < 0)
        return -1;
    if (*at + 1 == json->end)
        return pf_json_fail(json, ENODATA, json->end, "truncated within a string", error);
    if ((*at)[1] == 'u') {
        char text[4] = {0};
        int32_t code = read_code_point(at);
        if (code < 0)
            return pf_json_fail(json, json->end - *at < 6 ? ENODATA : EBADMSG, *at,
                                "'\\u' without four digits of hex", error);
        if (code)
            json_string_add(json, token, text, pf_utf8_put(text, (uint32_t)code), false);
        else
            add_replacement(json, token);
        return 0;
    }
    char c = escaped((*at)[1]);
    if (!c)
        return pf_json_fail(json, EBADMSG, *at, "invalid escape", error);
    json_string_add(json, token, &c, 1, true);
    *at += 2;
    return 0;
}

/* ---- UTF-8 -------------------------------------------------------------------------------------- */

static int read_character(struct pf_json *json, struct pf_json_token *token, const char **at,
                          struct pf_error *error)
{
    size_t wrong;
    if (pf_json_ensure(json, at, 4, error) < 0)
        return -1;
    size_t size = pf_utf8((const unsigned char *)*at, (size_t)(json->end - *at), &wrong);
    if (!size && json->flags & PF_JSON_STRICT_UTF8)
        return pf_json_fail(json, EBADMSG, *at, "invalid UTF-8", error);
    if (size)
        json_string_add(json, token, *at, size, false);
    else
        add_replacement(json, token);
    *at += size ? size : wrong;
    return 0;
}

/* ---- strings ------------------------------------------------------------------------------------ */

/*
 * Unescapes a string into json->scratch; `at` is the first character after its opening quote. Used if the text of the
 * token cannot be a part of the window: it has escapes or bytes beyond ASCII, or is too long.
 */
static int json_string_unescape(struct pf_json *json, struct pf_json_token *token, const char *at,
                                struct pf_error *error)
{
    if (!json->scratch && !(json->scratch = malloc(PF_JSON_TEXT_MAX)))
        return pf_fail_memory(error);
    token->text = json->scratch;
    token->size = 0;
    for (;;) {
        const char *run = at;
        at = scan_ascii(at);
        json_string_add(json, token, run, (size_t)(at - run), true);
        int result = 0;
        if (*at == '"')
            break;
        if (*at == '\\') {
            result = read_escape(json, token, &at, error);
        } else if ((unsigned char)*at >= 0x80) {
            result = read_character(json, token, &at, error);
        } else if (at != json->end) {
            return pf_json_fail(json, EBADMSG, at, "control character in a string", error);
        } else if ((result = pf_json_refill(json, &at, error)) == 0) {
            return pf_json_fail(json, ENODATA, at, "truncated within a string", error);
        }
        if (result < 0)
            return -1;
    }
    json->at = at + 1;
    return 0;
}

int pf_json_string(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    const char *quote = json->at, *at = quote + 1;
    for (;;) {
        at = scan_ascii(at);
        size_t size = (size_t)(at - quote) - 1;
        if (size > PF_JSON_TEXT_MAX || (*at != '"' && at != json->end))
            return json_string_unescape(json, token, quote + 1, error);
        if (*at == '"') {
            token->text = quote + 1;
            token->size = size;
            json->at = at + 1;
            return 0;
        }
        int got = pf_json_refill(json, &quote, error);
        at = quote + 1 + size;
        if (got < 0)
            return -1;
        if (!got)
            return pf_json_fail(json, ENODATA, at, "truncated within a string", error);
    }
}
