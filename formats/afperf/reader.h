/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_READER_H
#define PF_AFPERF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/source.h"

/*
 * Reads an AFPerf file record by record: splits it into records and these into fields, as RFC 4180 quotes them,
 * and mends text that is no UTF-8. What a record means is not its business. A reader belongs to one thread.
 */

/* A record that is longer is dropped. */
#define AFPERF_RECORD_MAX ((size_t)1 << 20)

/* Text that belongs to somebody else; not terminated. */
struct afperf_text {
    const char *text;
    size_t size;
};

/* What the reader has come upon. Comments and blank records are passed over. */
enum afperf_kind {
    AFPERF_FIELDS,             /* a record */
    AFPERF_HEADER,             /* a line that may be a version header: fields[0] is all of it */
    AFPERF_UNTERMINATED_QUOTE, /* a line dropped because its record's quoted field has no end */
    AFPERF_TOO_LONG,           /* a line dropped because its record is too long */
};

struct afperf_record {
    enum afperf_kind kind;
    uint64_t offset, line; /* of its first byte; lines count from 1, physically */
    size_t n;              /* fields; at least one */
    const struct afperf_text *fields;
    unsigned quotes_inside;    /* plain fields that hold a quote */
    unsigned text_after_quote; /* quoted fields that go on behind their end */
    bool bad_utf8, nul;        /* there was such a byte; U+FFFD stands in its place */
};

/* The field of this number; blank if the record has fewer. */
static inline struct afperf_text afperf_field(const struct afperf_record *record, size_t i)
{
    return i < record->n ? record->fields[i] : (struct afperf_text){"", 0};
}

struct afperf_reader;

/* A reader before the first record of an input, which must outlive it. NULL: out of memory. */
struct afperf_reader *afperf_reader_new(struct pf_input *input);
void afperf_reader_free(struct afperf_reader *reader);

/* Go to the first byte of a record, which stands in this line. Cheap where it has been read lately. */
void afperf_reader_seek(struct afperf_reader *reader, uint64_t offset, uint64_t line);

/* The next record, valid until the next call. 1: *record filled; 0: end of the input; -1: *error filled. */
int afperf_reader_next(struct afperf_reader *reader, struct afperf_record *record, struct pf_error *error);

/* Where the next record starts, and its line. */
void afperf_reader_tell(const struct afperf_reader *reader, uint64_t *offset, uint64_t *line);

#endif
