/* SPDX-License-Identifier: MIT */
#include "fs/draw/svg.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/kit/utf8.h"

void svg_begin(struct pf_buf *out, double height, const char *title, const char *about)
{
    pf_buf_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"%d\" height=\"%.0f\" fill=\"#ffffff\"/>\n"
        "<text x=\"%d\" y=\"20\" font-size=\"15\">",
        SVG_WIDTH, height, SVG_WIDTH, height, SVG_WIDTH, height, SVG_MARGIN);
    svg_text(out, title, strlen(title));
    pf_buf_printf(out, "</text>\n<text x=\"%d\" y=\"36\" fill=\"#666666\">", SVG_MARGIN);
    svg_text(out, about, strlen(about));
    pf_buf_str(out, "</text>\n");
}

void svg_end(struct pf_buf *out)
{
    pf_buf_str(out, "</svg>\n");
}

/* ---- text --------------------------------------------------------------------------------------- */

static void escape(struct pf_buf *out, unsigned char c)
{
    char text[8];
    const char *known = c == '\n'   ? "\\n"
                        : c == '\r' ? "\\r"
                        : c == '\t' ? "\\t"
                        : c == '\\' ? "\\\\"
                        : c == '&'  ? "&amp;"
                        : c == '<'  ? "&lt;"
                        : c == '>'  ? "&gt;"
                        : c == '"'  ? "&quot;"
                                    : NULL;
    if (!known)
        snprintf(text, sizeof text, "\\x%02X", c);
    pf_buf_str(out, known ? known : text);
}

/* Appends the character that stands at `at`; returns its bytes. U+FFFE and U+FFFF are none in XML. */
static size_t add_character(struct pf_buf *out, const char *at, size_t left)
{
    size_t wrong, size = pf_utf8((const unsigned char *)at, left, &wrong);
    bool none = size == 3 && !memcmp(at, "\xef\xbf", 2) && (unsigned char)at[2] >= 0xbe;
    bool plain = (unsigned char)*at >= 0x20 && *at != 0x7f && !strchr("\\&<>\"", *at);
    if (!size || none || !plain) {
        escape(out, (unsigned char)*at);
        return 1;
    }
    pf_buf_add(out, at, size);
    return size;
}

void svg_text(struct pf_buf *out, const char *text, size_t size)
{
    for (size_t at = 0; at < size;)
        at += add_character(out, text + at, size - at);
}

static size_t count_characters(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

void svg_text_cut(struct pf_buf *out, const char *text, size_t size, size_t characters)
{
    bool cut = count_characters(text, size) > characters;
    size_t left = cut ? characters - 2 : characters;
    for (size_t at = 0; at < size && left; left--)
        at += add_character(out, text + at, size - at);
    if (cut)
        pf_buf_str(out, "..");
}

/* ---- numbers ------------------------------------------------------------------------------------ */

void svg_length(struct pf_buf *out, double pixels)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%.2f", pixels);
    while (size > 0 && text[size - 1] == '0')
        size--;
    size -= size > 0 && text[size - 1] == '.';
    pf_buf_add(out, text, size > 0 ? (size_t)size : 0);
}

void svg_attribute(struct pf_buf *out, const char *name, double pixels)
{
    pf_buf_printf(out, " %s=\"", name);
    svg_length(out, pixels);
    pf_buf_char(out, '"');
}

void svg_label(struct pf_buf *out, const char *attributes, double x, double y)
{
    pf_buf_printf(out, "<text%s", attributes);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    pf_buf_char(out, '>');
}

void svg_number(struct pf_buf *out, double value)
{
    bool whole = value == floor(value) && fabs(value) < 1e15;
    pf_buf_printf(out, whole ? "%.0f" : "%.10g", value);
}

/* ---- colours ------------------------------------------------------------------------------------ */

/* Light enough for black text, and apart from the grey of merged frames and the violet of what was found. */
static const char *const colours[] = {
    "#f2a07b", "#f4b65f", "#eccb5c", "#d4d66a", "#b5d876", "#92d58a", "#7fd3a6", "#7cd0c0",
    "#84c9d8", "#8fbfe6", "#a3b4ec", "#f09a9a", "#e8b48c", "#c9c28a", "#a9cfa0", "#9cc4c9",
};

const char *svg_colour(const char *text, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    hash ^= hash >> 15;
    return colours[hash % (sizeof colours / sizeof *colours)];
}
