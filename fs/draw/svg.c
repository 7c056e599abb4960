/* SPDX-License-Identifier: MIT */
#include "fs/draw/svg.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/kit/utf8.h"

/* The style sheet sets the colours of the dark scheme. The light colours are attributes of the elements, so that viewers
 * without style sheets show them. */
static const char style[] = "<style>\n"
                            "svg { max-width: 100%; min-width: 900px; height: auto; background: #ffffff }\n"
                            "@media (prefers-color-scheme: dark) {\n"
                            "  svg { background: #1b1d20 }\n"
                            "  .paper { fill: #1b1d20 }\n"
                            "  .band { fill: #26292d }\n"
                            "  .ink { fill: #e6e8eb }\n"
                            "  .dim { fill: #a6abb2 }\n"
                            "  .link { fill: #8ab4f8 }\n"
                            "  .rule { stroke: #45494f }\n"
                            "  .ideal { stroke: #e6e8eb }\n"
                            "}\n"
                            "</style>\n";

static void add_caption_line(struct pf_buf *out, struct pf_buf *text, const char *attributes, int y,
                             size_t most)
{
    svg_label(out, attributes, SVG_MARGIN, y);
    svg_text_cut(out, text->data, text->size, most);
    pf_buf_str(out, "</text>\n");
    out->failed |= text->failed;
    pf_buf_free(text);
}

void svg_begin(struct pf_buf *out, double height, struct svg_caption *caption)
{
    pf_buf_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n",
        SVG_WIDTH, height, SVG_WIDTH, height);
    pf_buf_str(out, style);
    pf_buf_printf(out,
                  "<rect class=\"paper\" width=\"%d\" height=\"%.0f\" fill=\"#ffffff\"/>\n<g id=\"head\">\n",
                  SVG_WIDTH, height);
    add_caption_line(out, &caption->title, SVG_INK " font-size=\"15\"", 20, 90);
    add_caption_line(out, &caption->subject, SVG_DIM, 36, 180);
    add_caption_line(out, &caption->about, " id=\"about\"" SVG_DIM, 52, 180);
    pf_buf_str(out, "</g>\n");
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

/* Appends the character at `at`, escaped if necessary, and returns the number of bytes consumed. U+FFFE and U+FFFF are escaped byte
 * by byte, since XML excludes them. */
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

/* Returns the size in bytes of the character at `at`; 1 for a byte that is not UTF-8. */
static size_t svg_character_size(const char *at, size_t left)
{
    size_t wrong, size = pf_utf8((const unsigned char *)at, left, &wrong);
    return size ? size : 1;
}

static size_t count_characters(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t at = 0; at < size; n++)
        at += svg_character_size(text + at, size - at);
    return n;
}

/* Returns the size in bytes of the first `n` characters. */
static size_t svg_prefix_size(const char *text, size_t size, size_t n)
{
    size_t at = 0;
    for (; at < size && n; n--)
        at += svg_character_size(text + at, size - at);
    return at;
}

/* Returns the offset of the last part of a qualified name; 0 if the name has only one part. */
static size_t last_name_part(const char *text, size_t size)
{
    size_t part = 0, depth = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '(' || c == '<' || c == '[' || c == '{')
            depth++;
        else if ((c == ')' || c == '>' || c == ']' || c == '}') && depth)
            depth--;
        else if (!depth && (c == '.' || c == '/' || (c == ':' && i && text[i - 1] == ':')))
            part = i + 1;
    }
    return part;
}

void svg_text_cut(struct pf_buf *out, const char *text, size_t size, size_t characters)
{
    bool cut = count_characters(text, size) > characters;
    svg_text(out, text, cut ? svg_prefix_size(text, size, characters - 2) : size);
    if (cut)
        pf_buf_str(out, "..");
}

void svg_name_cut(struct pf_buf *out, const char *name, size_t size, size_t characters)
{
    size_t count = count_characters(name, size), left = characters - 2, part = last_name_part(name, size);
    if (count <= characters || !part) {
        svg_text_cut(out, name, size, characters);
    } else if (count_characters(name + part, size - part) <= left) {
        size_t cut = svg_prefix_size(name, size, count - left);
        pf_buf_str(out, "..");
        svg_text(out, name + cut, size - cut);
    } else {
        svg_text_cut(out, name + part, size - part, characters);
    }
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

double svg_step(double high, unsigned most)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(high / most)));
    size_t i = 0;
    while (i < 3 && high > most * power * steps[i])
        i++;
    return power * steps[i];
}

/* ---- colours ------------------------------------------------------------------------------------ */

/* Frame colours. They are light enough for black text, and distinct from the grey of merged frames and the violet of matches. */
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
