/* SPDX-License-Identifier: MIT */
#ifndef PF_PPROF_WIRE_H
#define PF_PPROF_WIRE_H

#include "formats/input/source.h"

/* Protocol buffers as they are written: fields with a number, a wire type and a value. */

enum pprof_wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };

struct pprof_field {
    uint64_t number;
    enum pprof_wire wire;
    uint64_t value;             /* WIRE_VARINT */
    const unsigned char *bytes; /* WIRE_BYTES: of the message; valid until the stream goes on */
    size_t size;
    uint64_t offset; /* of the field in the file; in a message in memory 0 */
};

/* A message in memory, less what has been read of it. */
struct pprof_message {
    const unsigned char *at, *end;
};

static inline struct pprof_message pprof_in(const struct pprof_field *field)
{
    return (struct pprof_message){field->bytes, field->bytes + field->size};
}

/* Takes a number off the front; false if there is none of at most 10 bytes. */
bool pprof_varint(struct pprof_message *message, uint64_t *value);

/* The next field. 1: *field filled; 0: no more; -1: *wrong says what is wrong. */
int pprof_next(struct pprof_message *message, struct pprof_field *field, const char **wrong);

/*
 * A message that a file is, or what it inflates to. One field at a time is in memory. Zeroed but for the input it stands at the
 * start; `buffer` is the caller's to free.
 */
struct pprof_stream {
    struct pf_input *input;
    unsigned char *buffer;
    size_t room, start, end; /* what of the buffer is filled and not yet read */
    uint64_t base;           /* offset of buffer[0] in the file */
    bool ended;              /* nothing follows buffer[end] */
    const char *wrong;       /* why reading has ended before the file does; NULL: it has not */
};

/* The next field. 1: *field filled; 0: no more, stream->wrong tells why; -1: *error filled. */
int pprof_stream_next(struct pprof_stream *stream, struct pprof_field *field, struct pf_error *error);

#endif
