/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json/json_window.h"

/* ---- passing over ------------------------------------------------------------------------------- */

#define SIXTEEN(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x

/* What matters of a text that is passed over. */
enum kind { NOTHING, NUL, NEWLINE, QUOTE, OPEN, CLOSE };

static const unsigned char kinds[256] = {
    [0] = NUL, ['\n'] = NEWLINE, ['"'] = QUOTE, ['['] = OPEN, ['{'] = OPEN, [']'] = CLOSE, ['}'] = CLOSE,
};

/* What matters inside a string: control characters, the quote, the backslash. */
static const bool ends_run[256] = {
    SIXTEEN(1), SIXTEEN(1), 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    SIXTEEN(0), SIXTEEN(0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
};

/* Where the bytes that are passed over are copied to. */
struct copy {
    char *to; /* NULL: nowhere */
    size_t room, size;
    bool cut;
    const char *from; /* what is not copied yet */
};

static void copy_up_to(struct copy *copy, const char *end)
{
    size_t size = (size_t)(end - copy->from);
    if (!copy->to || copy->cut)
        return;
    if (size >= copy->room - copy->size) { /* a NUL comes behind it */
        copy->cut = true;
        return;
    }
    memcpy(copy->to + copy->size, copy->from, size);
    copy->size += size;
}

/* Shows what follows the window, all of which has been passed over. 0, or -1 with *error filled. */
static int show_more(struct pf_json *json, struct copy *copy, const char **at, struct pf_error *error)
{
    copy_up_to(copy, *at);
    int got = pf_json_refill(json, at, error);
    copy->from = *at;
    if (!got)
        return pf_json_fail(json, ENODATA, *at, "the text ends inside a value", error);
    return got < 0 ? -1 : 0;
}

/* From a string's first quote to behind its last one. */
static int pass_string(struct pf_json *json, struct copy *copy, const char **from, struct pf_error *error)
{
    const char *at = *from + 1;
    for (;;) {
        while (!ends_run[(unsigned char)*at])
            at++;
        if (*at == '"') {
            *from = at + 1;
            return 0;
        }
        if (*at == '\\' && at + 1 != json->end) {
            at += 2;
        } else if (*at == '\\' || at == json->end) {
            bool escape = *at == '\\'; /* whose next character is in no window yet */
            at += escape;
            if (show_more(json, copy, &at, error) < 0)
                return -1;
            at += escape;
        } else {
            return pf_json_fail(json, EBADMSG, at, "a control character in a string", error);
        }
    }
}

/* A line end or a NUL outside of strings. */
static int pass_control(struct pf_json *json, struct copy *copy, const char **at, struct pf_error *error)
{
    if (*at == json->end)
        return show_more(json, copy, at, error);
    if (!**at)
        return pf_json_fail(json, EBADMSG, *at, "a NUL outside of strings", error);
    if (json->flags & PF_JSON_LINES)
        return pf_json_fail(json, EBADMSG, *at, "the line ends inside a value", error);
    json->line++;
    json->line_start = pf_json_offset(json, *at) + 1;
    ++*at;
    return 0;
}

/* On to behind the end of the container that is the outermost but `depth`. */
static int leave(struct pf_json *json, unsigned depth, struct copy *copy, struct pf_error *error)
{
    const char *at = json->at;
    copy->from = at;
    while (json->depth > depth) {
        while (!kinds[(unsigned char)*at])
            at++;
        int result = 0;
        switch ((enum kind)kinds[(unsigned char)*at]) {
        case QUOTE:
            result = pass_string(json, copy, &at, error);
            break;
        case OPEN:
            result = pf_json_push(json, at, *at == '{', error);
            at++;
            break;
        case CLOSE:
            result = pf_json_pop(json, at, *at == '}', error);
            at++;
            break;
        default:
            result = pass_control(json, copy, &at, error);
        }
        if (result < 0)
            return -1;
    }
    copy_up_to(copy, at);
    json->at = at;
    pf_json_value_over(json);
    return 0;
}

int pf_json_leave(struct pf_json *json, struct pf_error *error)
{
    struct copy nowhere = {0};
    if (json->failed.code) {
        *error = json->failed;
        return -1;
    }
    return json->depth ? leave(json, json->depth - 1, &nowhere, error) : 0;
}

int pf_json_skip(struct pf_json *json, struct pf_json_token *token, struct pf_error *error)
{
    int event = pf_json_next(json, token, error);
    if ((event == PF_JSON_OBJECT || event == PF_JSON_ARRAY) && pf_json_leave(json, error) < 0)
        return -1;
    return event;
}

int pf_json_take(struct pf_json *json, struct pf_json_token *token, char *buffer, size_t room,
                 struct pf_error *error)
{
    int event = pf_json_next(json, token, error);
    if (event != PF_JSON_OBJECT && event != PF_JSON_ARRAY)
        return event;
    struct copy copy = {.to = buffer, .room = room, .cut = room < 2};
    if (!copy.cut)
        copy.to[copy.size++] = event == PF_JSON_OBJECT ? '{' : '[';
    if (leave(json, json->depth - 1, &copy, error) < 0)
        return -1;
    token->cut = copy.cut;
    token->text = buffer;
    token->size = copy.cut ? 0 : copy.size;
    if (room)
        buffer[token->size] = 0;
    return event;
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

/* ---- positions ---------------------------------------------------------------------------------- */

/* A saved position, before as many bytes of the stack as it needs; in the byte order of the machine. */
struct position {
    uint64_t offset, line, line_start;
    uint32_t depth;
    uint8_t expect, alone, begun, unused;
};
_Static_assert(sizeof(struct position) == PF_JSON_POSITION_SIZE, "the header says how large it is");

size_t pf_json_save(const struct pf_json *json, void *blob, size_t room)
{
    struct position position = {.offset = pf_json_offset(json, json->at),
                                .line = json->line,
                                .line_start = json->line_start,
                                .depth = json->depth,
                                .expect = (uint8_t)json->expect,
                                .alone = json->alone,
                                .begun = json->value_line == json->line};
    size_t stack = (json->depth + 7) / 8, size = sizeof position + stack;
    if (room < size)
        return size;
    memcpy(blob, &position, sizeof position);
    memcpy((char *)blob + sizeof position, json->stack, stack);
    return size;
}

/* Whether what the innermost container is fits what is expected in it. */
static bool position_fits(const struct pf_json *json, const struct position *position,
                          const unsigned char *stack)
{
    unsigned top = position->depth - 1;
    bool inside = position->depth > 0;
    if (position->depth > json->depth_max || position->expect > PF_EXPECT_OVER || position->alone > 1 ||
        position->begun > 1)
        return false;
    bool object = inside && stack[top / 8] >> top % 8 & 1;
    switch ((enum pf_json_expect)position->expect) {
    case PF_EXPECT_VALUE:
    case PF_EXPECT_COMMA:
        return inside;
    case PF_EXPECT_FIRST:
        return inside && !object;
    case PF_EXPECT_FIRST_NAME:
    case PF_EXPECT_NAME:
    case PF_EXPECT_COLON:
        return object;
    default:
        return !inside;
    }
}

int pf_json_restore(struct pf_json *json, const void *blob, size_t size, struct pf_error *error)
{
    struct position position;
    if (size < sizeof position)
        return pf_fail(error, EINVAL, "a saved position is too short");
    memcpy(&position, blob, sizeof position);
    const unsigned char *stack = (const unsigned char *)blob + sizeof position;
    if (position.depth > json->depth_max || size != sizeof position + (position.depth + 7) / 8 ||
        !position_fits(json, &position, stack))
        return pf_fail(error, EINVAL, "a saved position does not fit");
    pf_json_seek(json, position.offset, position.line);
    json->line_start = position.line_start;
    json->value_line = position.begun ? position.line : 0;
    json->depth = position.depth;
    json->expect = (enum pf_json_expect)position.expect;
    json->alone = position.alone;
    memcpy(json->stack, stack, (position.depth + 7) / 8);
    return 0;
}
