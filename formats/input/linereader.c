/* SPDX-License-Identifier: MIT */
#include "formats/input/linereader.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/slice.h"

/* Size of the first read after a seek; each further read doubles, up to the window's size. */
#define FIRST_READ ((size_t)4096)

struct pf_linereader {
    struct pf_input *input;
    uint64_t base;     /* file offset of window[0] */
    size_t start, end; /* the unread part of the window */
    size_t read_size;  /* of the next read */
    uint64_t number;   /* line number of the next piece */
    bool inside;       /* the next piece continues a line */
    bool at_end;       /* window[end] is the end of the file */
    char *joined;      /* buffer for the joined pieces of a line */
    size_t joined_room;
    char window[PF_LINE_WINDOW];
};

struct pf_linereader *pf_linereader_new(struct pf_input *input)
{
    /* The window is left uninitialized, since only bytes that a read has filled are used. */
    struct pf_linereader *reader = malloc(sizeof *reader);
    if (!reader)
        return NULL;
    reader->input = input;
    reader->base = 0;
    reader->start = reader->end = 0;
    reader->at_end = false;
    reader->joined = NULL;
    reader->joined_room = 0;
    reader->read_size = FIRST_READ;
    pf_linereader_seek(reader, 0, 1);
    return reader;
}

void pf_linereader_free(struct pf_linereader *reader)
{
    if (reader)
        free(reader->joined);
    free(reader);
}

void pf_linereader_seek(struct pf_linereader *reader, uint64_t offset, uint64_t number)
{
    reader->number = number;
    reader->inside = false;
    if (offset >= reader->base && offset - reader->base <= reader->end) {
        reader->start = (size_t)(offset - reader->base);
        return;
    }
    reader->base = offset;
    reader->start = reader->end = 0;
    reader->at_end = false;
    reader->read_size = FIRST_READ;
}

uint64_t pf_linereader_tell(const struct pf_linereader *reader)
{
    return reader->base + reader->start;
}

/* Moves the unread part to the front of the window and reads more after it. */
static int linereader_refill(struct pf_linereader *reader, struct pf_error *error)
{
    size_t have = reader->end - reader->start;
    memmove(reader->window, reader->window + reader->start, have);
    reader->base += reader->start;
    reader->start = 0;
    reader->end = have;

    size_t room = PF_LINE_WINDOW - have;
    size_t want = reader->read_size < room ? reader->read_size : room;
    ssize_t got = pf_input_read(reader->input, reader->window + have, want, reader->base + have, error);
    if (got < 0)
        return -1;
    reader->end += (size_t)got;
    reader->at_end = (size_t)got < want;
    if (reader->read_size < PF_LINE_WINDOW)
        reader->read_size *= 2;
    return 0;
}

/* Finds the end of the line at the start of the unread part; *newline is NULL if the window does not contain it. */
static int find_newline(struct pf_linereader *reader, const char **newline, struct pf_error *error)
{
    size_t searched = 0;
    for (;;) {
        size_t have = reader->end - reader->start;
        const char *from = reader->window + reader->start + searched;
        *newline = memchr(from, '\n', have - searched);
        if (*newline || reader->at_end || have == PF_LINE_WINDOW)
            return 0;
        searched = have;
        if (linereader_refill(reader, error) < 0)
            return -1;
    }
}

/* Returns where to cut a line whose end is not in the full window: after its last blank or tab, if there is one. */
static size_t linereader_cut(const char *text, size_t size)
{
    const char *blank = memrchr(text, ' ', size);
    size_t after = blank ? (size_t)(blank - text) + 1 : 0;
    const char *tab = memrchr(text + after, '\t', size - after);
    if (tab)
        after = (size_t)(tab - text) + 1;
    if (after)
        return after;
    /* A CR at the very end may be half of a CR LF, so it belongs to the next piece. */
    return text[size - 1] == '\r' ? size - 1 : size;
}

static void skip_byte_order_mark(struct pf_line *line)
{
    size_t size = strlen(PF_BYTE_ORDER_MARK);
    if (line->offset || line->size < size || memcmp(line->text, PF_BYTE_ORDER_MARK, size) != 0)
        return;
    line->text += size;
    line->size -= size;
    line->offset += size;
}

int pf_linereader_next(struct pf_linereader *reader, struct pf_line *line, struct pf_error *error)
{
    const char *newline;
    if (find_newline(reader, &newline, error) < 0)
        return -1;

    const char *text = reader->window + reader->start;
    size_t have = reader->end - reader->start;
    if (!newline && !have && !reader->inside)
        return 0;

    size_t size = newline ? (size_t)(newline - text) : have;
    bool more = !newline && !reader->at_end;
    if (more)
        size = linereader_cut(text, size);

    *line = (struct pf_line){.text = text,
                             .size = size,
                             .offset = reader->base + reader->start,
                             .number = reader->number,
                             .continued = reader->inside,
                             .more = more};
    skip_byte_order_mark(line);
    reader->start += size + (newline ? 1 : 0);
    reader->inside = more;
    if (more)
        return 1;
    reader->number++;
    if (line->size && line->text[line->size - 1] == '\r')
        line->size--;
    return 1;
}

/* Appends a piece to the first `size` bytes of the joined line. */
static int join(struct pf_linereader *reader, size_t size, const struct pf_line *piece,
                struct pf_error *error)
{
    size_t end = size + piece->size;
    if (end > reader->joined_room && pf_array_grow(&reader->joined, &reader->joined_room, end, 1, error))
        return -1;
    memcpy(reader->joined + size, piece->text, piece->size);
    return 0;
}

int pf_linereader_whole(struct pf_linereader *reader, size_t max, struct pf_line *line,
                        struct pf_error *error)
{
    int got = pf_linereader_next(reader, line, error);
    if (got <= 0 || !line->more || line->continued)
        return got;
    struct pf_line piece = *line;
    line->size = 0;
    for (;;) {
        if (join(reader, line->size, &piece, error))
            return -1;
        line->size += piece.size;
        if (!piece.more || line->size > max)
            break;
        got = pf_linereader_next(reader, &piece, error);
        if (got <= 0)
            return got;
    }
    line->text = reader->joined;
    line->more = piece.more;
    return 1;
}
