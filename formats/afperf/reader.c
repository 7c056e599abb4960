/* SPDX-License-Identifier: MIT */
#include "formats/afperf/reader.h"

#include <stdlib.h>
#include <string.h>

#include "formats/input/linereader.h"
#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

/*
 * Maximum number of bytes that are read again because a quoted field has no end. A file in which every line begins such
 * a field would take quadratic time. Once the budget is used up, records no longer continue on the next line.
 */
#define REREAD_MAX ((uint64_t)16 << 20)

/* Replacement for invalid UTF-8 bytes: U+FFFD. */
#define REPLACEMENT      "\xef\xbf\xbd"
#define REPLACEMENT_SIZE ((size_t)3)

/* The position in the current field, while a record with quotes is split. */
enum state {
    AT_START,
    IN_PLAIN,
    IN_QUOTES,
    AFTER_QUOTE, /* after a quote in quotes; it ends the quoted part, unless another quote follows */
    IN_TAIL,     /* after a quoted part or stray quote; the field has been counted as faulty */
};

struct afperf_reader {
    struct pf_linereader *lines;
    uint64_t end, end_line; /* position after the bytes read so far */
    uint64_t reread;        /* bytes re-read so far */

    struct afperf_text *fields;
    size_t n, fields_room;
    char *unquoted; /* buffer for records with quotes; NULL until the first one */
    size_t used;
    enum state state;
    char *valid; /* buffer for the fields of records with quotes, NULs or non-ASCII bytes */
    size_t valid_room;
};

struct afperf_reader *afperf_reader_new(struct pf_input *input)
{
    struct afperf_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->lines = pf_linereader_new(input);
    reader->end_line = 1;
    if (reader->lines)
        return reader;
    free(reader);
    return NULL;
}

void afperf_reader_free(struct afperf_reader *reader)
{
    if (!reader)
        return;
    pf_linereader_free(reader->lines);
    free(reader->fields);
    free(reader->unquoted);
    free(reader->valid);
    free(reader);
}

void afperf_reader_seek(struct afperf_reader *reader, uint64_t offset, uint64_t line)
{
    pf_linereader_seek(reader->lines, offset, line);
    reader->end = offset;
    reader->end_line = line;
}

void afperf_reader_tell(const struct afperf_reader *reader, uint64_t *offset, uint64_t *line)
{
    *offset = reader->end;
    *line = reader->end_line;
}

/* ---- fields ------------------------------------------------------------------------------------- */

static int add_field(struct afperf_reader *reader, const char *text, size_t size, struct pf_error *error)
{
    if (pf_array_room(&reader->fields, &reader->fields_room, reader->n, sizeof *reader->fields, error))
        return -1;
    reader->fields[reader->n++] = (struct afperf_text){text, size};
    return 0;
}

/* Splits a line without quotes at its commas. */
static int split_plain(struct afperf_reader *reader, const struct pf_line *line, struct pf_error *error)
{
    const char *at = line->text, *end = at + line->size, *comma;
    for (; (comma = memchr(at, ',', (size_t)(end - at))); at = comma + 1)
        if (add_field(reader, at, (size_t)(comma - at), error))
            return -1;
    return add_field(reader, at, (size_t)(end - at), error);
}

/* Appends a byte to the last field. */
static void append_byte(struct afperf_reader *reader, char c)
{
    reader->unquoted[reader->used++] = c;
    reader->fields[reader->n - 1].size++;
}

static int begin_field(struct afperf_reader *reader, struct pf_error *error)
{
    reader->state = AT_START;
    return add_field(reader, reader->unquoted + reader->used, 0, error);
}

/* Splits `text`, the next part of a record with quotes, into fields. Text after a quoted part is appended to the field. */
static int split_quoted(struct afperf_reader *reader, const char *text, size_t size,
                        struct afperf_record *record, struct pf_error *error)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool quote = c == '"';
        if (reader->state == IN_QUOTES && quote) {
            reader->state = AFTER_QUOTE;
        } else if (reader->state == AT_START && quote) {
            reader->state = IN_QUOTES;
        } else if (reader->state == IN_QUOTES) {
            append_byte(reader, c);
        } else if (reader->state == AFTER_QUOTE && quote) {
            append_byte(reader, c);
            reader->state = IN_QUOTES;
        } else if (c == ',') {
            if (begin_field(reader, error))
                return -1;
        } else {
            append_byte(reader, c);
            record->quotes_inside += quote && reader->state == IN_PLAIN;
            record->text_after_quote += reader->state == AFTER_QUOTE;
            reader->state =
                reader->state == AT_START || (reader->state == IN_PLAIN && !quote) ? IN_PLAIN : IN_TAIL;
        }
    }
    return 0;
}

/* ---- UTF-8 -------------------------------------------------------------------------------------- */

/* Returns true if the line has a quote, a NUL or a non-ASCII byte. The loop has no branches, so that compilers vectorize it. */
static bool has_special(const struct pf_line *line)
{
    unsigned char found = 0;
    for (size_t i = 0; i < line->size; i++) {
        unsigned char c = (unsigned char)line->text[i];
        found |= (unsigned char)(c & 0x80) | (unsigned char)(c == 0) | (unsigned char)(c == '"');
    }
    return found != 0;
}

/* Copies a field to `out`, replacing invalid UTF-8 and NULs. Returns the end of the copy. */
static char *replace_invalid(struct afperf_text *field, char *out, struct afperf_record *record)
{
    const struct afperf_text from = *field;
    field->text = out;
    for (size_t at = 0; at < from.size;) {
        size_t wrong, step = pf_utf8((const unsigned char *)from.text + at, from.size - at, &wrong);
        bool good = step && from.text[at];
        record->nul |= step && !good;
        record->bad_utf8 |= !step;
        memcpy(out, good ? from.text + at : REPLACEMENT, good ? step : REPLACEMENT_SIZE);
        out += good ? step : REPLACEMENT_SIZE;
        at += good ? step : wrong;
    }
    field->size = (size_t)(out - field->text);
    return out;
}

static int replace_invalid_in_fields(struct afperf_reader *reader, struct afperf_record *record,
                                     struct pf_error *error)
{
    size_t size = 1;
    for (size_t i = 0; i < reader->n; i++)
        size += REPLACEMENT_SIZE * reader->fields[i].size;
    if (size > reader->valid_room && pf_array_grow(&reader->valid, &reader->valid_room, size, 1, error))
        return -1;
    char *out = reader->valid;
    for (size_t i = 0; i < reader->n; i++)
        out = replace_invalid(&reader->fields[i], out, record);
    return 0;
}

/* ---- records ------------------------------------------------------------------------------------ */

/* Reads the next line, or only the first part of it if it is overlong. Sets reader->end to the position after what it read. */
static int read_line(struct afperf_reader *reader, struct pf_line *line, struct pf_error *error)
{
    int got = pf_linereader_whole(reader->lines, AFPERF_RECORD_MAX, line, error);
    if (got <= 0)
        return got;
    reader->end = pf_linereader_tell(reader->lines);
    reader->end_line = line->number + 1;
    return 1;
}

/* Skips the rest of an overlong line. */
static int skip_rest(struct afperf_reader *reader, const struct pf_line *line, struct pf_error *error)
{
    struct pf_line piece = *line;
    while (piece.more)
        if (pf_linereader_next(reader->lines, &piece, error) <= 0)
            return -1;
    reader->end = pf_linereader_tell(reader->lines);
    return 0;
}

/*
 * Reads a record with quotes that begins with `line` and continues until all quotes are closed. If the record exceeds 1 MiB, or a quote is
 * not closed before the file ends or the budget REREAD_MAX is used up, only `line` is dropped, and reading continues after it.
 */
static int read_quoted(struct afperf_reader *reader, struct afperf_record *record, struct pf_line line,
                       struct pf_error *error)
{
    uint64_t next = reader->end, next_line = reader->end_line, size = 0;
    int got = 1;
    if (!reader->unquoted && !(reader->unquoted = malloc(AFPERF_RECORD_MAX + 1)))
        return pf_fail_memory(error);
    reader->used = 0;
    if (begin_field(reader, error))
        return -1;
    for (; got > 0; got = read_line(reader, &line, error)) {
        size_t left = AFPERF_RECORD_MAX + 1 - (size_t)size,
               line_end = (size_t)(reader->end - line.offset) - line.size;
        if (split_quoted(reader, line.text, line.size < left ? line.size : left, record, error))
            return -1;
        size = reader->end - record->offset;
        if (reader->state != IN_QUOTES || line.size >= left || size > AFPERF_RECORD_MAX ||
            reader->reread > REREAD_MAX)
            break;
        if (split_quoted(reader, line_end > 1 ? "\r\n" : "\n", line_end > 1 ? 2 : 1, record, error))
            return -1;
    }
    if (got < 0)
        return -1;
    if (got && reader->state != IN_QUOTES && size <= AFPERF_RECORD_MAX)
        return 0;
    record->kind = reader->state == IN_QUOTES ? AFPERF_UNTERMINATED_QUOTE : AFPERF_TOO_LONG;
    reader->reread += size - (next - record->offset);
    reader->end = next;
    reader->end_line = next_line;
    pf_linereader_seek(reader->lines, next, next_line);
    return 0;
}

static bool is_blank(const struct pf_line *line)
{
    size_t at = 0;
    while (at < line->size && (line->text[at] == ' ' || line->text[at] == '\t'))
        at++;
    return at == line->size;
}

static bool may_be_header(const struct pf_line *line)
{
    static const char start[] = "# AFPerf v";
    size_t n = sizeof start - 1;
    return line->size > n && !memcmp(line->text, start, n) && line->text[n] >= '0' && line->text[n] <= '9';
}

/* Reads the record that begins with `line`. Returns 1; 0 if the line is a comment or blank; -1 with *error filled. */
static int afperf_read_record(struct afperf_reader *reader, const struct pf_line *line,
                              struct afperf_record *record, struct pf_error *error)
{
    bool comment = line->size && *line->text == '#', header = comment && may_be_header(line);
    bool too_long = line->more || line->size > AFPERF_RECORD_MAX;
    reader->n = 0;
    if (line->more && skip_rest(reader, line, error))
        return -1;
    if (comment || is_blank(line)) {
        record->kind = AFPERF_HEADER;
        return !header || too_long ? 0 : add_field(reader, line->text, line->size, error) ? -1 : 1;
    }
    bool special = has_special(line);
    if (special && memchr(line->text, '"', line->size)) {
        if (read_quoted(reader, record, *line, error))
            return -1;
    } else if (too_long) {
        record->kind = AFPERF_TOO_LONG;
    } else if (split_plain(reader, line, error)) {
        return -1;
    }
    if (special && record->kind == AFPERF_FIELDS && replace_invalid_in_fields(reader, record, error))
        return -1;
    return 1;
}

int afperf_reader_next(struct afperf_reader *reader, struct afperf_record *record, struct pf_error *error)
{
    struct pf_line line;
    int got;
    while ((got = read_line(reader, &line, error)) > 0) {
        *record = (struct afperf_record){.offset = line.offset, .line = line.number};
        got = afperf_read_record(reader, &line, record, error);
        if (!got)
            continue;
        record->n = reader->n;
        record->fields = reader->fields;
        return got;
    }
    return got;
}
