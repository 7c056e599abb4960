/* SPDX-License-Identifier: MIT */
#ifndef PF_LINEREADER_H
#define PF_LINEREADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/input.h"
#include "formats/kit/error.h"

/*
 * Reads an input line by line through a fixed window, so that memory does not depend on the length of lines.
 *
 * A line that fits into the window comes in one piece. A longer line comes in several: all except the last have `more`
 * set, all except the first `continued`. Pieces are cut after a blank or tab if the window contains one, so that a word
 * shorter than the window is never split. A UTF-8 byte order mark at offset 0 is skipped. One thread at a time.
 */
#define PF_LINE_WINDOW ((size_t)256 * 1024)

struct pf_line {
    const char *text; /* without the line end (LF or CR LF); valid until the next call */
    size_t size;
    uint64_t offset; /* of text[0] in the file */
    uint64_t number; /* line number, from 1 */
    bool continued;  /* continues the line of the previous piece */
    bool more;       /* the line continues in the next piece */
};

struct pf_linereader;

/* Creates a reader at the first line of an input (borrowed). NULL: out of memory. */
struct pf_linereader *pf_linereader_new(struct pf_input *input);
void pf_linereader_free(struct pf_linereader *reader);

/*
 * Makes the line that starts at `offset` the next line, with line number `number`. If `offset` is inside a line, the
 * rest of that line counts as a line. Cheap if the window contains the offset; otherwise the next reads start small and
 * grow, so that frequent seeks do not read a whole window each.
 */
void pf_linereader_seek(struct pf_linereader *reader, uint64_t offset, uint64_t number);

/* Reads the next line or piece of a line. Returns 1 with *line filled, 0 at the end of the input, -1 with *error
 * filled. */
int pf_linereader_next(struct pf_linereader *reader, struct pf_line *line, struct pf_error *error);

/* Like pf_linereader_next, but joins the pieces of a long line in memory owned by the reader: up to `max` bytes plus
 * one window. The rest of a longer line comes in further pieces. */
int pf_linereader_whole(struct pf_linereader *reader, size_t max, struct pf_line *line,
                        struct pf_error *error);

/* The offset of the next piece. */
uint64_t pf_linereader_tell(const struct pf_linereader *reader);

#endif
