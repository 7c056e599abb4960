/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_BINARY_STREAM_H
#define PF_EXTRAP_BINARY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/source.h"

/*
 * The items of an Extra-P 3.0 file: integers of 64 bits, doubles, and strings of a length of 32 bits and that many
 * bytes; nothing is aligned. Reading past the end, or a string that is longer than it may be, fails with ENODATA or
 * EBADMSG and the offset of the item.
 */
struct pf_stream {
    struct pf_input *input;
    uint64_t end;         /* of what is read */
    bool big_endian;      /* the file */
    uint64_t at;          /* of the next item */
    unsigned char *bytes; /* owned; what is at hand: */
    uint64_t base;
    size_t have;
};

/* Longest string. */
#define PF_STREAM_STRING ((size_t)32 * 1024)

/* 0, or -1 with *error filled (no memory). pf_stream_close in either case. */
int pf_stream_open(struct pf_stream *stream, struct pf_input *input, uint64_t end, struct pf_error *error);
void pf_stream_close(struct pf_stream *stream);

/* Each reads the next item and moves on. 0, or -1 with *error filled. */
int pf_stream_u16(struct pf_stream *stream, uint16_t *value, struct pf_error *error);
int pf_stream_int(struct pf_stream *stream, int64_t *value, struct pf_error *error);
int pf_stream_real(struct pf_stream *stream, double *value, struct pf_error *error);

/* *text is good until the next call, and not terminated. */
int pf_stream_string(struct pf_stream *stream, const char **text, size_t *size, struct pf_error *error);

/* Passes over bytes, which must be there. */
int pf_stream_skip(struct pf_stream *stream, uint64_t size, struct pf_error *error);

/* How many bytes are left. */
uint64_t pf_stream_left(const struct pf_stream *stream);

#endif
