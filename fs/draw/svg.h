/* SPDX-License-Identifier: MIT */
#ifndef PF_SVG_H
#define PF_SVG_H

#include "formats/kit/cell.h"
#include "fs/text/buf.h"

/* In pixels: the width of a picture, the margin of texts, the bottom of the caption. */
enum { SVG_WIDTH = 1200, SVG_MARGIN = 10, SVG_CAPTION = 60 };

/*
 * Attributes of text and lines: a class, and the class's colour in the light scheme. A style sheet in the picture replaces the
 * colours if the viewer prefers a dark scheme.
 */
#define SVG_INK  " class=\"ink\" fill=\"#000000\""
#define SVG_DIM  " class=\"dim\" fill=\"#666666\""
#define SVG_RULE " class=\"rule\" stroke=\"#dddddd\" fill=\"none\""

/* The three lines of text above a picture, unescaped. svg_begin frees them. */
struct svg_caption {
    struct pf_buf title, subject, about;
};

/* Appends the start of a picture: style sheet, background and caption. Fails `out` if a text of the caption has failed. */
void svg_begin(struct pf_buf *out, double height, struct svg_caption *caption);
void svg_end(struct pf_buf *out);

/*
 * Appends text as XML. Control characters, the backslash and bytes that are not UTF-8 are printed as in CSV files: \n, \\, \xHH.
 * svg_text_cut appends at most `characters` characters (three or more); ".." at the end marks truncated text.
 */
void svg_text(struct pf_buf *out, const char *text, size_t size);
void svg_text_cut(struct pf_buf *out, const char *text, size_t size, size_t characters);

/*
 * Appends at most `characters` characters (three or more) of the name of a function or thread. A qualified name is truncated at the
 * front if its last part fits: "..Grid::sweep(int)" for "heat::Grid::sweep(int)". Other names, and a last part that does not fit, are
 * truncated at the end. A part follows "::", "." or "/" outside brackets.
 */
void svg_name_cut(struct pf_buf *out, const char *name, size_t size, size_t characters);

/* Appends a length in pixels, with at most two decimals. */
void svg_length(struct pf_buf *out, double pixels);

/* Appends ` name="pixels"`. */
void svg_attribute(struct pf_buf *out, const char *name, double pixels);

/* Begins a text at a position: `<text attributes x= y=>`. The caller appends its content and end. */
void svg_label(struct pf_buf *out, const char *attributes, double x, double y);

/* Returns a colour, `#rrggbb`, that depends on the text only. */
const char *svg_colour(const char *text, size_t size);

/* Appends a number for readers: an integer below 10^15 exactly, any other number with ten digits. */
void svg_number(struct pf_buf *out, double value);

/* Returns the smallest step of 1, 2 or 5 times a power of ten such that `most` steps reach `high`. `high` must be positive. */
double svg_step(double high, unsigned most);

#endif
