/* SPDX-License-Identifier: MIT */
#include "formats/json/json_window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

/*
 * Size in bytes of the first read after a seek. It is small, since the seek may be for a single value. Later reads
 * double up to the window's size.
 */
enum { FIRST_READ = 4096 };

static ssize_t json_window_read_input(void *arg, void *buffer, size_t size, uint64_t offset,
                                      struct pf_error *error)
{
    struct pf_input *input = arg;
    return input ? pf_input_read(input, buffer, size, offset, error) : 0;
}

struct pf_json *pf_json_new_reading(pf_json_read *read, void *arg, unsigned flags, unsigned depth)
{
    struct pf_json *json = calloc(1, sizeof *json);
    if (!json)
        return NULL;
    json->read = read;
    json->arg = arg;
    json->flags = flags;
    json->depth_max = !depth ? PF_JSON_DEPTH : depth < PF_JSON_DEPTH_MAX ? depth : PF_JSON_DEPTH_MAX;
    pf_json_seek(json, 0, 1);
    json->alone = false;
    return json;
}

struct pf_json *pf_json_new(struct pf_input *input, unsigned flags, unsigned depth)
{
    return pf_json_new_reading(json_window_read_input, input, flags, depth);
}

void pf_json_free(struct pf_json *json)
{
    if (!json)
        return;
    free(json->window);
    free(json->scratch);
    free(json);
}

int pf_json_fail(struct pf_json *json, int code, const char *at, const char *what, struct pf_error *error)
{
    uint64_t offset = pf_json_offset(json, at), column = offset - json->line_start + 1;
    json->at = at;
    pf_fail(&json->failed, code, "%s, column %ju", what, (uintmax_t)column);
    json->failed.offset = (int64_t)offset;
    json->failed.line = (int64_t)json->line;
    *error = json->failed;
    return -1;
}

static void replace_semicolons(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text[i] = (char)(text[i] == ';' ? ',' : text[i]);
}

/* Allocates the window if necessary and moves the kept text to its front. NULL if memory is exhausted. */
static char *make_window(struct pf_json *json, const char *keep, size_t size)
{
    if (!json->window)
        json->window = malloc(PF_JSON_WINDOW + PF_JSON_PADDING);
    if (json->window)
        memmove(json->window, keep, size);
    return json->window;
}

/* Skips a byte order mark, which editors may put before UTF-8 text. */
static void json_window_skip_mark(struct pf_json *json, size_t size)
{
    if (json->base == 0 && size >= 3 && !memcmp(json->window, "\xef\xbb\xbf", 3)) {
        json->first += 3;
        json->base = json->line_start = 3;
    }
}

int pf_json_refill(struct pf_json *json, const char **keep, struct pf_error *error)
{
    size_t kept = (size_t)(json->end - *keep);
    if (json->at_end)
        return 0;
    uint64_t offset = pf_json_offset(json, *keep);
    int taken = pf_json_take_up_to(json, *keep, &json->failed);
    char *window = make_window(json, *keep, kept);
    if (taken || !window) {
        pf_fail_memory(&json->failed);
        *error = json->failed;
        return -1;
    }
    size_t room = PF_JSON_WINDOW - kept, want = json->read_size < room ? json->read_size : room;
    ssize_t got = json->read(json->arg, window + kept, want, offset + kept, &json->failed);
    if (got < 0) {
        *error = json->failed;
        got = 0;
    }
    if (json->flags & PF_JSON_SEMICOLONS)
        replace_semicolons(window + kept, (size_t)got);
    json->first = window;
    json->base = offset;
    json->end = window + kept + (size_t)got;
    memset(window + kept + (size_t)got, 0, PF_JSON_PADDING);
    json->at_end = (size_t)got < want;
    json->read_size = json->read_size < PF_JSON_WINDOW / 2 ? json->read_size * 2 : PF_JSON_WINDOW;
    if (!kept)
        json_window_skip_mark(json, (size_t)got);
    *keep = json->at = json->taken_to = json->first;
    return json->failed.code ? -1 : json->end > json->first + kept;
}

void pf_json_text(struct pf_json *json, char *text, size_t size)
{
    if (json->flags & PF_JSON_SEMICOLONS)
        replace_semicolons(text, size);
    json->read = json_window_read_input;
    json->arg = NULL;
    json->first = text;
    json->end = text + size;
    json->base = 0;
    json->at_end = true;
    pf_json_seek(json, 0, 1);
    json->alone = false;
}

void pf_json_seek(struct pf_json *json, uint64_t offset, uint64_t line)
{
    static const char nothing[1 + PF_JSON_PADDING] = "";
    bool seen =
        json->first && offset >= json->base && offset - json->base <= (uint64_t)(json->end - json->first);
    if (!seen) {
        json->first = json->end = json->window ? json->window : nothing;
        if (json->window)
            memset(json->window, 0, PF_JSON_PADDING);
        json->base = offset;
        json->at_end = false;
        json->read_size = FIRST_READ;
    }
    json->at = json->first + (offset - json->base);
    json->line = line;
    json->line_start = offset;
    json->value_line = 0;
    json->depth = 0;
    json->expect = PF_EXPECT_DOCUMENT;
    json->alone = true;
    json->failed.code = 0;
}

uint64_t pf_json_tell(const struct pf_json *json)
{
    return pf_json_offset(json, json->at);
}

unsigned pf_json_depth(const struct pf_json *json)
{
    return json->depth;
}

int pf_json_new_line(struct pf_json *json, const char *newline, struct pf_error *error)
{
    if (json->flags & PF_JSON_LINES && json->depth)
        return pf_json_fail(json, EBADMSG, newline, "line truncated within a value", error);
    json->line++;
    json->line_start = pf_json_offset(json, newline) + 1;
    return 0;
}

/* ---- containers --------------------------------------------------------------------------------- */

int pf_json_push(struct pf_json *json, const char *at, bool object, struct pf_error *error)
{
    unsigned top = json->depth;
    if (top == json->depth_max)
        return pf_json_fail(json, E2BIG, at, "nested too deeply", error);
    unsigned char bit = (unsigned char)(1u << top % 8);
    json->stack[top / 8] = (unsigned char)(object ? json->stack[top / 8] | bit : json->stack[top / 8] & ~bit);
    json->depth++;
    return 0;
}

int pf_json_pop(struct pf_json *json, const char *at, bool object, struct pf_error *error)
{
    if (pf_json_in_object(json) != object)
        return pf_json_fail(json, EBADMSG, at, object ? "'}' closes an array" : "']' closes an object",
                            error);
    json->depth--;
    return 0;
}

/* ---- copying skipped text ----------------------------------------------------------------------- */

int pf_json_add_text(struct pf_json_buffer *buffer, const char *text, size_t size, struct pf_error *error)
{
    enum { FIRST_ROOM = 4096 };
    size_t end = buffer->size + size;
    buffer->cut |= end >= FIRST_ROOM && end > buffer->limit;
    if (buffer->cut)
        return 0;
    if (end >= buffer->room &&
        pf_array_grow(&buffer->bytes, &buffer->room, end < FIRST_ROOM ? FIRST_ROOM : end + 1, 1, error))
        return -1;
    memcpy(buffer->bytes + buffer->size, text, size);
    buffer->bytes[end] = 0;
    buffer->size = end;
    return 0;
}

int pf_json_take_up_to(struct pf_json *json, const char *end, struct pf_error *error)
{
    const char *from = json->taken_to;
    json->taken_to = end;
    return json->taken ? pf_json_add_text(json->taken, from, (size_t)(end - from), error) : 0;
}
