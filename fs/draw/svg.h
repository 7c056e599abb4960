/* SPDX-License-Identifier: MIT */
#ifndef PF_SVG_H
#define PF_SVG_H

#include "formats/kit/cell.h"
#include "fs/text/buf.h"

/* Pixels: the width of a picture, the margin of its texts, the end of its head. */
enum { SVG_WIDTH = 1200, SVG_MARGIN = 10, SVG_HEAD = 60 };

/*
 * The classes of what is drawn on the background, each with its colour in the light scheme. A style sheet in the picture replaces
 * these colours where the viewer prefers a dark scheme.
 */
#define SVG_INK  " class=\"ink\" fill=\"#000000\""
#define SVG_DIM  " class=\"dim\" fill=\"#666666\""
#define SVG_LINK " class=\"link\" fill=\"#2040a0\""
#define SVG_RULE " class=\"rule\" stroke=\"#dddddd\" fill=\"none\""

/* The three lines of text above a picture, unescaped. svg_begin frees them. */
struct svg_head {
    struct pf_buf title, subject, about;
};

/* Begins a picture: style sheet, background and head. A failed text of the head fails `out`. svg_end closes the picture. */
void svg_begin(struct pf_buf *out, double height, struct svg_head *head);
void svg_end(struct pf_buf *out);

/*
 * Appends text as XML. Control characters, the backslash and bytes that are not UTF-8 are printed as in CSV files: \n, \\, \xHH.
 * svg_text_cut appends at most `characters` characters (three or more) and marks with ".." that the end was left out.
 */
void svg_text(struct pf_buf *out, const char *text, size_t size);
void svg_text_cut(struct pf_buf *out, const char *text, size_t size, size_t characters);

/*
 * Appends at most `characters` characters (three or more) of the name of a function or thread. A qualified name is cut in front
 * as long as its last part is whole: "..Grid::sweep(int)" for "heat::Grid::sweep(int)"; other names, and a longer last part, are
 * cut at the end. A part follows "::", "." or "/" outside brackets.
 */
void svg_name_cut(struct pf_buf *out, const char *name, size_t size, size_t characters);

/* Appends a length in pixels, with at most two decimals. */
void svg_length(struct pf_buf *out, double pixels);

/* Appends ` name="pixels"`. */
void svg_attribute(struct pf_buf *out, const char *name, double pixels);

/* Begins a text at a place: `<text attributes x= y=>`. The caller appends its content and end. */
void svg_label(struct pf_buf *out, const char *attributes, double x, double y);

/* A colour that depends on the text only: `#rrggbb`. */
const char *svg_colour(const char *text, size_t size);

/* Appends a number for eyes: integers below 10^15 exactly, others in ten digits. */
void svg_number(struct pf_buf *out, double value);

/* The smallest step of 1, 2 or 5 times a power of ten of which at most `most` reach up to `high`, which is positive. */
double svg_step(double high, unsigned most);

#endif
