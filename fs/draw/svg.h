/* SPDX-License-Identifier: MIT */
#ifndef PF_SVG_H
#define PF_SVG_H

#include "formats/kit/cell.h"
#include "fs/text/buf.h"

/* What pictures are made from. They are 1200 pixels wide. */
enum { SVG_WIDTH = 1200, SVG_MARGIN = 10 };

/* The head of a picture, up to its title; `title` and `about` are shown in it. svg_end closes it. */
void svg_begin(struct pf_buf *out, double height, const char *title, const char *about);
void svg_end(struct pf_buf *out);

/*
 * Text as XML has it. What tables print with a backslash (control characters, the backslash itself) is printed so here; so
 * are bytes that are no UTF-8, as \xHH. svg_text_cut: at most so many characters, the last two dots if there were more.
 */
void svg_text(struct pf_buf *out, const char *text, size_t size);
void svg_text_cut(struct pf_buf *out, const char *text, size_t size, size_t characters);

/* A length in pixels, in hundredths. */
void svg_length(struct pf_buf *out, double pixels);

/* ` name="pixels"`. */
void svg_attribute(struct pf_buf *out, const char *name, double pixels);

/* Begins a text at a place, whose end the caller adds: `<text attributes x= y=>`. */
void svg_label(struct pf_buf *out, const char *attributes, double x, double y);

/* A colour, the same for the same text wherever it stands: `#rrggbb`. */
const char *svg_colour(const char *text, size_t size);

/* A number for eyes: integers below 10^15 exactly, others in ten digits. */
void svg_number(struct pf_buf *out, double value);

#endif
