/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/json_window.h"

#define SIXTEEN(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x

/* Characters that need handling while text is skipped: [0] outside strings, [1] inside strings. */
static const bool matters[2][256] = {
    {[0] = true, ['\n'] = true, ['"'] = true, ['['] = true, ['{'] = true, [']'] = true, ['}'] = true},
    {SIXTEEN(true), SIXTEEN(true), ['"'] = true, ['\\'] = true},
};

/*
 * Handles the character at *at, which is in `matters` or is the sentinel, and moves *at after it. *string tells whether
 * *at is inside a string, before and after the call. Returns 0, or -1 with *error filled.
 */
static int pass(struct pf_json *json, const char **at, bool *string, struct pf_error *error)
{
    char c = **at;
    if (*at == json->end) {
        int got = pf_json_refill(json, at, error);
        return got ? got : pf_json_fail(json, ENODATA, *at, "truncated within a value", error);
    }
    int result = c == '\\' ? pf_json_ensure(json, at, 2, error) : 0;
    if (c == '"')
        *string = !*string;
    else if (*string && c != '\\')
        result = pf_json_fail(json, EBADMSG, *at, "control character in a string", error);
    else if (!c)
        result = pf_json_fail(json, EBADMSG, *at, "NUL outside of strings", error);
    else if (c == '\n')
        result = pf_json_new_line(json, *at, error);
    else if (c == '{' || c == '[')
        result = pf_json_push(json, *at, c == '{', error);
    else if (c == '}' || c == ']')
        result = pf_json_pop(json, *at, c == '}', error);
    if (result)
        return -1;
    *at += c == '\\' && json->end - *at > 1 ? 2 : 1;
    return 0;
}

int pf_json_leave(struct pf_json *json, struct pf_error *error)
{
    unsigned depth = json->depth;
    const char *at = json->at;
    bool string = false;
    if (json->failed.code)
        *error = json->failed;
    if (json->failed.code || !depth)
        return json->failed.code ? -1 : 0;
    while (json->depth >= depth) {
        while (!matters[string][(unsigned char)*at])
            at++;
        if (pass(json, &at, &string, error) < 0)
            return -1;
    }
    json->at = at;
    pf_json_value_over(json);
    return 0;
}

int pf_json_next_line(struct pf_json *json, struct pf_error *error)
{
    const char *newline;
    while (!(newline = memchr(json->at, '\n', (size_t)(json->end - json->at)))) {
        json->at = json->end;
        json->failed.code = 0;
        int got = pf_json_refill(json, &json->at, error);
        if (got < 0)
            return -1;
        if (!got)
            break;
    }
    json->failed.code = 0;
    json->depth = 0;
    json->value_line = 0;
    json->expect = PF_EXPECT_DOCUMENT;
    if (newline) {
        json->at = newline + 1;
        json->line++;
        json->line_start = pf_json_offset(json, json->at);
    }
    return 0;
}
