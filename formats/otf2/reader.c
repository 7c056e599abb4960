/* SPDX-License-Identifier: MIT */
#include "formats/otf2/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/bytes.h"

enum {
    WINDOW = 256 * 1024,
    HEAD = 16,       /* sufficient bytes to determine the length of any record */
    LONG = 255,      /* length byte: an eight-byte length follows */
    UNDEFINED = 255, /* size byte of an undefined number */
    CHUNK_HEAD = 17, /* byte order, and numbers of the first and last event */
};

/* ---- fields ------------------------------------------------------------------------------------- */

static const unsigned char *otf2_take(struct otf2_fields *fields, uint64_t size)
{
    static const unsigned char zeros[8];
    if (fields->bad || (uint64_t)(fields->end - fields->at) < size) {
        fields->bad = true;
        return zeros;
    }
    fields->at += size;
    return fields->at - size;
}

uint8_t otf2_byte(struct otf2_fields *fields)
{
    return *otf2_take(fields, 1);
}

uint64_t otf2_u64(struct otf2_fields *fields)
{
    return pf_u64(otf2_take(fields, 8), fields->big_endian);
}

uint64_t otf2_number(struct otf2_fields *fields, unsigned width)
{
    unsigned size = *otf2_take(fields, 1);
    uint64_t number = 0;
    if (size == UNDEFINED)
        return width == 4 ? UINT32_MAX : UINT64_MAX;
    if (size > width)
        fields->bad = true;
    const unsigned char *bytes = size > width ? NULL : otf2_take(fields, size);
    for (unsigned i = 0; bytes && !fields->bad && i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * (fields->big_endian ? size - 1 - i : i);
    return number;
}

const char *otf2_text(struct otf2_fields *fields, size_t *size)
{
    const unsigned char *text = fields->at;
    const unsigned char *end =
        fields->bad || text == fields->end ? NULL : memchr(text, 0, (size_t)(fields->end - text));
    fields->bad |= !end;
    *size = end ? (size_t)(end - text) : 0;
    fields->at = end ? end + 1 : fields->at;
    return end ? (const char *)text : "";
}

/* ---- records ------------------------------------------------------------------------------------ */

/* Returns true for the events without a length byte, which consist of one compressed number. */
static bool is_bare(uint8_t type)
{
    static const uint8_t bare[] = {12, 13, 16, 17, 20, 21, 24, 28, 29, 30};
    return type <= 30 && memchr(bare, type, sizeof bare);
}

/* Loads `want` bytes or more at reader->at into the window; fewer at the end of the file. Returns their number; -1 with *error filled. */
static ssize_t otf2_peek(struct otf2_reader *reader, uint64_t want, struct pf_error *error)
{
    uint64_t left = reader->size > reader->at ? reader->size - reader->at : 0;
    reader->here = pf_window_at(&reader->window, reader->at, (size_t)(want < left ? want : left), error);
    return reader->here ? (ssize_t)pf_window_rest(&reader->window, reader->here) : -1;
}

static int otf2_fail_truncated(const struct otf2_reader *reader, struct pf_error *error)
{
    return pf_fail_at(error, EINVAL, (int64_t)reader->at, "the file is truncated within a record");
}

/* Sets the byte order, which each chunk declares after its record type. */
static bool take_order(struct otf2_reader *reader, unsigned char order)
{
    reader->big_endian = order == '#';
    return order == 'B' || order == '#';
}

int otf2_reader_open(struct otf2_reader *reader, struct pf_input *input, uint64_t chunk, bool events,
                     struct pf_error *error)
{
    *reader = (struct otf2_reader){.window = {.input = input, .room = WINDOW},
                                   .size = pf_input_size(input),
                                   .chunk = chunk,
                                   .events = events};
    ssize_t have = otf2_peek(reader, 2, error);
    if (have < 0)
        return -1;
    if (have < 2 || reader->here[0] != OTF2_CHUNK || !take_order(reader, reader->here[1]))
        return pf_fail_at(error, EINVAL, 0, have ? "bad magic" : "the file is empty");
    return 0;
}

void otf2_reader_close(struct otf2_reader *reader)
{
    pf_window_close(&reader->window);
}

/* Moves to the next chunk. */
static void skip_chunk(struct otf2_reader *reader)
{
    uint64_t left = reader->chunk ? reader->chunk - reader->at % reader->chunk : 0;
    reader->over |= !left || left > reader->size - reader->at;
    reader->at += reader->over ? 0 : left;
}

/* Skips the zero byte at reader->at and the zero bytes after it that are in the window. */
static void skip_zeros(struct otf2_reader *reader, size_t have)
{
    const unsigned char *bytes = reader->here;
    size_t n = have > 1 && !memcmp(bytes, bytes + 1, have - 1) ? have : 1;
    while (n < have && !bytes[n])
        n++;
    reader->at += n;
}

/*
 * Determines the size of a record's head (type and length) and of its fields. Returns 0; -1 if the record is truncated.
 */
static int measure(const struct otf2_reader *reader, const unsigned char *bytes, size_t have, size_t *head,
                   uint64_t *size)
{
    *head = 1;
    if (have < 2)
        return -1;
    if (bytes[0] == OTF2_CHUNK) {
        *size = CHUNK_HEAD;
    } else if (reader->events && bytes[0] == OTF2_TIME) {
        *size = 8;
    } else if (reader->events && is_bare(bytes[0])) {
        *size = 1u + (bytes[1] == UNDEFINED ? 0u : bytes[1]);
    } else if (bytes[1] != LONG) {
        *head = 2;
        *size = bytes[1];
    } else {
        *head = 10;
        *size = have < 10 ? UINT64_MAX : pf_u64(bytes + 2, reader->big_endian);
    }
    return 0;
}

/* Reads the record at reader->at, of which `have` bytes are in the window. Returns 1, or -1 with *error filled. */
static int otf2_handle_record(struct otf2_reader *reader, ssize_t have, struct otf2_record *record,
                              struct pf_error *error)
{
    size_t head;
    uint64_t size;
    if (measure(reader, reader->here, (size_t)have, &head, &size) || size > reader->size - reader->at ||
        head + size > reader->size - reader->at)
        return otf2_fail_truncated(reader, error);
    if (head + size > (size_t)have && otf2_peek(reader, head + size, error) < 0)
        return -1;
    const unsigned char *bytes = reader->here;
    *record = (struct otf2_record){
        .type = bytes[0],
        .offset = reader->at,
        .fields = {.at = bytes + head, .end = bytes + head + size, .big_endian = reader->big_endian}};
    reader->at += head + size;
    return 1;
}

int otf2_next(struct otf2_reader *reader, struct otf2_record *record, struct pf_error *error)
{
    while (!reader->over && reader->at < reader->size) {
        ssize_t have = otf2_peek(reader, HEAD, error);
        if (have < 0)
            return -1;
        uint8_t type = *reader->here;
        if (type == 0) {
            skip_zeros(reader, (size_t)have);
        } else if (type == OTF2_END_OF_CHUNK) {
            skip_chunk(reader);
        } else if (type == OTF2_END_OF_FILE) {
            reader->over = true;
        } else if (otf2_handle_record(reader, have, record, error) < 0) {
            return -1;
        } else if (type != OTF2_CHUNK) {
            return 1;
        } else if (!take_order(reader, *record->fields.at)) {
            return pf_fail_at(error, EINVAL, (int64_t)record->offset, "chunk of invalid byte order");
        }
    }
    return 0;
}
