/* SPDX-License-Identifier: MIT */
#ifndef PF_AFPERF_READER_H
#define PF_AFPERF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/source.h"

/*
 * Reads an AFPerf file record by record: splits it into records and fields (quoting as in RFC 4180), and replaces
 * invalid UTF-8. It does not interpret records. Not thread-safe; each thread needs its own reader.
 */

/* Maximum size of a record, in bytes; longer records are dropped. */
#define AFPERF_RECORD_MAX ((size_t)1 << 20)

/* Borrowed text; not terminated. */
struct afperf_text {
    const char *text;
    size_t size;
};

/* Kinds of items that the reader returns. Comments and blank lines are skipped. */
enum afperf_kind {
    AFPERF_FIELDS,             /* a record */
    AFPERF_HEADER,             /* a line that may be a version header; fields[0] is the whole line */
    AFPERF_UNTERMINATED_QUOTE, /* a line that is dropped, because a quoted field that it begins has no end */
    AFPERF_TOO_LONG,           /* a line that is dropped, because it begins a record that is too long */
};

struct afperf_record {
    enum afperf_kind kind;
    uint64_t offset, line; /* of the first byte; lines are physical and count from 1 */
    size_t n;              /* number of fields; at least one */
    const struct afperf_text *fields;
    unsigned quotes_inside;    /* number of unquoted fields that contain a quote */
    unsigned text_after_quote; /* number of quoted fields with text after the closing quote */
    bool bad_utf8, nul;        /* invalid bytes, or NULs, were replaced by U+FFFD */
};

/* Returns field i; blank if the record has fewer fields. */
static inline struct afperf_text afperf_field(const struct afperf_record *record, size_t i)
{
    return i < record->n ? record->fields[i] : (struct afperf_text){"", 0};
}

struct afperf_reader;

/* Creates a reader at the start of an input, which must outlive it. Returns NULL if out of memory. */
struct afperf_reader *afperf_reader_new(struct pf_input *input);
void afperf_reader_free(struct afperf_reader *reader);

/* Seeks to the record that begins at this offset, in this line. Cheap if the record was read recently. */
void afperf_reader_seek(struct afperf_reader *reader, uint64_t offset, uint64_t line);

/*
 * Reads the next record, valid until the next call. Returns 1 with *record filled; 0 at the end of the input; -1 with
 * *error filled.
 */
int afperf_reader_next(struct afperf_reader *reader, struct afperf_record *record, struct pf_error *error);

/* Sets *offset and *line to the position after the bytes read so far. */
void afperf_reader_tell(const struct afperf_reader *reader, uint64_t *offset, uint64_t *line);

#endif
