/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/utf8.h"
#include "formats/hpctoolkit/xml.h"
#include "formats/kit/array.h"

int hpc_text_add(struct hpc_text *text, const char *bytes, size_t size)
{
    struct pf_error lack;
    if (size > text->room - text->size &&
        pf_array_grow(&text->bytes, &text->room, text->size + size, 1, &lack))
        return -1;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return 0;
}

static int add(struct hpc_text *out, const char *text)
{
    return hpc_text_add(out, text, strlen(text));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Of the names that these files use. */
static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == ':' || c == '.';
}

static size_t skip_blanks(const char *tag, size_t size, size_t at)
{
    while (at < size && is_blank(tag[at]))
        at++;
    return at;
}

static size_t skip_name(const char *tag, size_t size, size_t at)
{
    while (at < size && is_name(tag[at]))
        at++;
    return at;
}

bool hpc_quote_is_text(const char *tag, size_t size, size_t at)
{
    size_t next = skip_blanks(tag, size, at + 1);
    if (next >= size || tag[next] == '>' || (tag[next] == '/' && next + 1 < size && tag[next + 1] == '>'))
        return false;
    size_t end = skip_name(tag, size, next);
    return !(end > next && end + 1 < size && tag[end] == '=' && tag[end + 1] == '"');
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* XML 1.0 has no other control characters, and no surrogates. */
static bool is_character(unsigned long c)
{
    return c == 9 || c == 10 || c == 13 || (c >= 0x20 && c < 0xd800) || (c >= 0xe000 && c < 0xfffe) ||
           (c >= 0x10000 && c < 0x110000);
}

/* The length of the reference that text begins with, `&lt;` or `&#60;`, or 0. */
static size_t reference(const char *text, size_t size)
{
    static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (size >= strlen(names[i]) && !memcmp(text, names[i], strlen(names[i])))
            return strlen(names[i]);
    if (size < 4 || text[1] != '#')
        return 0;
    size_t at = text[2] == 'x' ? 3 : 2, first = at;
    unsigned base = text[2] == 'x' ? 16 : 10;
    unsigned long c = 0;
    for (; at < size && at < first + 8; at++) {
        int digit = text[at] >= '0' && text[at] <= '9'   ? text[at] - '0'
                    : text[at] >= 'a' && text[at] <= 'f' ? text[at] - 'a' + 10
                    : text[at] >= 'A' && text[at] <= 'F' ? text[at] - 'A' + 10
                                                         : 16;
        if ((unsigned)digit >= base)
            break;
        c = c * base + (unsigned)digit;
    }
    return at > first && at < size && text[at] == ';' && is_character(c) ? at + 1 : 0;
}

/* One character of a value, as it may stand between quotes. Returns how many bytes of the value it was; 0 if memory ran
 * out. */
static size_t add_character(struct hpc_text *out, const char *value, size_t size)
{
    unsigned char c = (unsigned char)*value;
    size_t length = 1;
    int failed;
    if (c == '&')
        failed = (length = reference(value, size)) ? hpc_text_add(out, value, length) : add(out, "&amp;");
    else if (c == '<')
        failed = add(out, "&lt;");
    else if (c == '"')
        failed = add(out, "&quot;");
    else if (c == '\\' && size > 1 && value[1] == '"')
        failed = (length = 2, add(out, "&quot;"));
    else if (c == '\n' || c == '\r' || c == '\t')
        failed = add(out, c == '\n' ? "&#10;" : c == '\r' ? "&#13;" : "&#9;");
    else if (c < 0x20 || c == 0x7f || !(length = hpc_utf8((const unsigned char *)value, size)) ||
             (length == 3 && !memcmp(value, "\xef\xbf", 2) && (unsigned char)value[2] >= 0xbe))
        failed = add(out, "\xef\xbf\xbd");
    else
        failed = hpc_text_add(out, value, length);
    return failed ? 0 : length ? length : 1;
}

static int add_value(struct hpc_text *out, const char *value, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        /* Most characters need no change: they go in one piece. */
        size_t plain = at;
        while (plain < size && (unsigned char)value[plain] >= 0x20 && (unsigned char)value[plain] < 0x7f &&
               value[plain] != '&' && value[plain] != '<' && value[plain] != '"' && value[plain] != '\\')
            plain++;
        if (plain > at && hpc_text_add(out, value + at, plain - at))
            return -1;
        at = plain;
        length = at < size ? add_character(out, value + at, size - at) : 1;
        if (!length)
            return -1;
    }
    return 0;
}

/* ---- tags --------------------------------------------------------------------------------------------- */

/* Where the value that opens before `at` closes; size if it does not. */
static size_t value_end(const char *tag, size_t size, size_t at, char quote)
{
    for (; at < size; at++)
        if (tag[at] == quote && !(quote == '"' && tag[at - 1] == '\\' && hpc_quote_is_text(tag, size, at)))
            break;
    return at;
}

/* ` NAME="VALUE"`, which begins at *at. 1; 0: it is no attribute; -1. */
static int mend_attribute(const char *tag, size_t size, size_t *at, struct hpc_text *out)
{
    size_t name = *at, end = skip_name(tag, size, name);
    size_t equals = skip_blanks(tag, size, end);
    if (end == name || equals >= size || tag[equals] != '=')
        return 0;
    size_t open = skip_blanks(tag, size, equals + 1);
    if (open >= size || (tag[open] != '"' && tag[open] != '\''))
        return 0;
    size_t close = value_end(tag, size, open + 1, tag[open]);
    if (close >= size)
        return 0;
    *at = close + 1;
    return add(out, " ") || hpc_text_add(out, tag + name, end - name) || add(out, "=\"") ||
                   add_value(out, tag + open + 1, close - open - 1) || add(out, "\"")
               ? -1
               : 1;
}

int hpc_mend_tag(const char *tag, size_t size, struct hpc_text *out)
{
    size_t at = skip_name(tag, size, 1);
    out->size = 0;
    if (at == 1 || hpc_text_add(out, tag, at))
        return at == 1 ? 0 : -1;
    for (;;) {
        at = skip_blanks(tag, size, at);
        if (at >= size)
            return 0;
        if (tag[at] == '>' || tag[at] == '/')
            return add(out, "/>") ? -1 : 1;
        int done = mend_attribute(tag, size, &at, out);
        if (done <= 0)
            return done;
    }
}
