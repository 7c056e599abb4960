/* SPDX-License-Identifier: MIT */
#ifndef PF_LINEREADER_H
#define PF_LINEREADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/input.h"
#include "formats/kit/error.h"

/*
 * Reads an input line by line through one window, so that memory does not depend on the length of a line. A
 * line that fits into the window comes in one piece. A longer one comes in several: each but the last says
 * `more`, each but the first `continued`; pieces are cut after a blank or tab where the window holds one, so
 * that a word shorter than the window is never torn. A UTF-8 byte order mark at offset 0 is skipped. A reader
 * belongs to one thread.
 */
#define PF_LINE_WINDOW ((size_t)256 * 1024)

struct pf_line {
    const char *text; /* without the line end (LF or CR LF); valid until the next call */
    size_t size;
    uint64_t offset; /* of text[0] in the file */
    uint64_t number; /* of the line, from 1 */
    bool continued;  /* goes on with the line of the piece before */
    bool more;       /* the line goes on in the next piece */
};

struct pf_linereader;

/* A reader before the first line of an input, which must outlive it. NULL: out of memory. */
struct pf_linereader *pf_linereader_new(struct pf_input *input);
void pf_linereader_free(struct pf_linereader *reader);

/*
 * Go to a byte offset; the next line starts there and has this number. (Inside a line: what is left of it
 * counts as a line.) Cheap where the window already holds the offset; otherwise the next reads start small
 * and grow, so that jumping about does not read a window a jump.
 */
void pf_linereader_seek(struct pf_linereader *reader, uint64_t offset, uint64_t number);

/* The next line, or piece of one. 1: *line filled; 0: end of the input; -1: *error filled. */
int pf_linereader_next(struct pf_linereader *reader, struct pf_line *line, struct pf_error *error);

/*
 * The same, but a line that does not fit into the window comes in one piece as well, in memory of the reader's: up to `max`
 * bytes and one window of it; what it has beyond these comes in further pieces as above.
 */
int pf_linereader_whole(struct pf_linereader *reader, size_t max, struct pf_line *line,
                        struct pf_error *error);

/* Where the next piece starts. */
uint64_t pf_linereader_tell(const struct pf_linereader *reader);

#endif
