/* SPDX-License-Identifier: MIT */
#include "formats/afperf/reader.h"

#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

/*
 * The window: what one read fills at most, and room for the longest record and what follows it. It is small at first: tables
 * look at records here and there.
 */
#define WINDOW     ((size_t)256 * 1024)
#define WINDOW_MAX (AFPERF_RECORD_MAX + WINDOW)

/* The first read after a jump; each further one is twice as long, up to the window. */
#define FIRST_READ ((size_t)4096)

/*
 * Bytes that may be read in vain behind lines whose record has no end. A file can be made so that each of its
 * lines begins such a record; from here on no record is taken to go on in the next line.
 */
#define VAIN_MAX ((uint64_t)16 << 20)

/* What takes the place of a byte that is no UTF-8. */
#define REPLACEMENT      "\xef\xbf\xbd"
#define REPLACEMENT_SIZE ((size_t)3)

struct afperf_reader {
    struct pf_input *input;
    char *window;
    size_t room;
    uint64_t base;     /* file offset of window[0] */
    size_t start, end; /* the unread part of the window */
    size_t read_size;  /* of the next read */
    bool at_end;       /* nothing follows in the file after window[end] */
    uint64_t line;     /* of the next record */
    uint64_t vain;     /* bytes read in vain so far */

    struct afperf_text *fields;
    size_t n, fields_room;
    char *scratch; /* fields that had to be changed */
    size_t scratch_used, scratch_room;
};

struct afperf_reader *afperf_reader_new(struct pf_input *input)
{
    struct afperf_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->input = input;
    reader->window = malloc(2 * FIRST_READ);
    reader->room = 2 * FIRST_READ;
    reader->fields_room = 64;
    reader->fields = calloc(reader->fields_room, sizeof *reader->fields);
    reader->read_size = FIRST_READ;
    reader->line = 1;
    if (!reader->window || !reader->fields) {
        afperf_reader_free(reader);
        return NULL;
    }
    return reader;
}

void afperf_reader_free(struct afperf_reader *reader)
{
    if (!reader)
        return;
    free(reader->window);
    free(reader->fields);
    free(reader->scratch);
    free(reader);
}

void afperf_reader_seek(struct afperf_reader *reader, uint64_t offset, uint64_t line)
{
    reader->line = line;
    if (offset >= reader->base && offset - reader->base <= reader->end) {
        reader->start = (size_t)(offset - reader->base);
        return;
    }
    reader->base = offset;
    reader->start = reader->end = 0;
    reader->at_end = false;
    reader->read_size = FIRST_READ;
}

uint64_t afperf_reader_tell(const struct afperf_reader *reader, uint64_t *line)
{
    *line = reader->line;
    return reader->base + reader->start;
}

/* ---- the window --------------------------------------------------------------------------------- */

static int grow_window(struct afperf_reader *reader, struct pf_error *error)
{
    if (reader->room == WINDOW_MAX)
        return 0;
    size_t room = reader->room * 2 < WINDOW_MAX ? reader->room * 2 : WINDOW_MAX;
    if (pf_array_resize(&reader->window, room, 1, error))
        return -1;
    reader->room = room;
    return 0;
}

/* Moves the unread part to the front of the window and reads on behind it. */
static int refill(struct afperf_reader *reader, struct pf_error *error)
{
    size_t have = reader->end - reader->start;
    bool small = reader->room < WINDOW && reader->room < 2 * reader->read_size;
    if ((small || have == reader->room) && grow_window(reader, error) < 0)
        return -1;
    memmove(reader->window, reader->window + reader->start, have);
    reader->base += reader->start;
    reader->start = 0;
    reader->end = have;

    size_t room = reader->room - have;
    size_t want = reader->read_size < room ? reader->read_size : room;
    ssize_t got = pf_input_read(reader->input, reader->window + have, want, reader->base + have, error);
    if (got < 0)
        return -1;
    reader->end = have + (size_t)got;
    reader->at_end = (size_t)got < want;
    if (reader->read_size < WINDOW)
        reader->read_size *= 2;
    return 0;
}

/* True if a byte of the line is a quote, NUL or beyond ASCII. Without branches, so that compilers look at many at once. */
static bool has_special(const char *at, const char *end)
{
    unsigned char found = 0;
    for (; at < end; at++) {
        unsigned char c = (unsigned char)*at;
        found |= (unsigned char)(c & 0x80) | (unsigned char)(c == 0) | (unsigned char)(c == '"');
    }
    return found != 0;
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
static int split_plain(struct afperf_reader *reader, const char *at, const char *end, struct pf_error *error)
{
    const char *comma;
    reader->n = 0;
    for (; (comma = memchr(at, ',', (size_t)(end - at))); at = comma + 1)
        if (add_field(reader, at, (size_t)(comma - at), error) < 0)
            return -1;
    return add_field(reader, at, (size_t)(end - at), error);
}

/* Makes room for a record of this many bytes: each is copied at most once when quotes are taken off, and
 * becomes at most three when text is mended. */
static int reserve_scratch(struct afperf_reader *reader, size_t size, struct pf_error *error)
{
    reader->scratch_used = 0;
    if (4 * size <= reader->scratch_room)
        return 0;
    char *scratch = realloc(reader->scratch, 4 * size);
    if (!scratch)
        return pf_fail_memory(error);
    reader->scratch = scratch;
    reader->scratch_room = 4 * size;
    return 0;
}

/* A record being split that has quotes in it. */
struct quoted {
    const char *at, *end; /* what is left of the window */
    bool open;            /* `end` was reached inside a quoted field */
    bool line_end;        /* the record's line end was reached: `at` is behind it */
};

/* The end of a plain piece: at a comma, a line end or the end. A CR before the line end is left out. */
static const char *plain_end(const struct quoted *quoted, const char **next)
{
    const char *at = quoted->at;
    while (at < quoted->end && *at != ',' && *at != '\n')
        at++;
    *next = at;
    if (at > quoted->at && at[-1] == '\r' && (at == quoted->end || *at == '\n'))
        at--;
    return at;
}

/* Steps over the comma or line end behind a field. */
static void end_field(struct quoted *quoted)
{
    if (quoted->at < quoted->end && *quoted->at++ == '\n')
        quoted->line_end = true;
}

static int take_plain(struct afperf_reader *reader, struct quoted *quoted, struct afperf_record *record,
                      struct pf_error *error)
{
    const char *next, *after = plain_end(quoted, &next);
    size_t size = (size_t)(after - quoted->at);
    record->quotes_inside += memchr(quoted->at, '"', size) != NULL;
    if (add_field(reader, quoted->at, size, error) < 0)
        return -1;
    quoted->at = next;
    return 0;
}

/* A field that begins with a quote. Text behind its end is taken as if it belonged to it. */
static int take_quoted(struct afperf_reader *reader, struct quoted *quoted, struct afperf_record *record,
                       struct pf_error *error)
{
    char *text = reader->scratch + reader->scratch_used, *out = text;
    const char *at = quoted->at + 1;
    for (;;) {
        const char *quote = memchr(at, '"', (size_t)(quoted->end - at));
        size_t size = (size_t)((quote ? quote : quoted->end) - at);
        memcpy(out, at, size);
        out += size;
        if (!quote) {
            quoted->open = true;
            return 0;
        }
        at = quote + 1;
        if (at == quoted->end || *at != '"')
            break;
        *out++ = *at++;
    }
    quoted->at = at;
    const char *next, *after = plain_end(quoted, &next);
    record->text_after_quote += after > at;
    memcpy(out, at, (size_t)(after - at));
    out += after - at;
    quoted->at = next;
    reader->scratch_used += (size_t)(out - text);
    return add_field(reader, text, (size_t)(out - text), error);
}

/* Splits the record that begins the unread part and has at most `size` bytes. */
static int split_quoted(struct afperf_reader *reader, size_t size, struct quoted *quoted,
                        struct afperf_record *record, struct pf_error *error)
{
    const char *start = reader->window + reader->start;
    *quoted = (struct quoted){.at = start, .end = start + size};
    reader->n = 0;
    record->quotes_inside = record->text_after_quote = 0;
    if (reserve_scratch(reader, size, error) < 0)
        return -1;
    bool comma;
    do {
        bool quote = quoted->at < quoted->end && *quoted->at == '"';
        if ((quote ? take_quoted : take_plain)(reader, quoted, record, error) < 0)
            return -1;
        if (quoted->open)
            return 0;
        comma = quoted->at < quoted->end && *quoted->at == ',';
        end_field(quoted);
    } while (comma);
    return 0;
}

/* ---- UTF-8 -------------------------------------------------------------------------------------- */

/* True if text needs no mending. */
static bool is_sound(const char *text, size_t size)
{
    size_t wrong;
    for (size_t at = 0, step; at < size; at += step) {
        step = pf_utf8((const unsigned char *)text + at, size - at, &wrong);
        if (!step || !text[at])
            return false;
    }
    return true;
}

static void mend(struct afperf_reader *reader, struct afperf_text *field, struct afperf_record *record)
{
    char *text = reader->scratch + reader->scratch_used, *out = text;
    for (size_t at = 0; at < field->size;) {
        size_t wrong, step = pf_utf8((const unsigned char *)field->text + at, field->size - at, &wrong);
        if (step && field->text[at]) {
            memcpy(out, field->text + at, step);
            out += step;
            at += step;
            continue;
        }
        record->nul |= step != 0;
        record->bad_utf8 |= !step;
        memcpy(out, REPLACEMENT, REPLACEMENT_SIZE);
        out += REPLACEMENT_SIZE;
        at += wrong;
    }
    *field = (struct afperf_text){text, (size_t)(out - text)};
    reader->scratch_used += field->size;
}

static void mend_fields(struct afperf_reader *reader, struct afperf_record *record)
{
    for (size_t i = 0; i < reader->n; i++)
        if (!is_sound(reader->fields[i].text, reader->fields[i].size))
            mend(reader, &reader->fields[i], record);
}

/* ---- records ------------------------------------------------------------------------------------ */

/*
 * Looks for the end of the line that starts the unread part. 1: *newline is it (NULL: the line is the file's last and
 * has none); 0: the line is longer than a record may be; -1: *error filled.
 */
static int find_line(struct afperf_reader *reader, const char **newline, struct pf_error *error)
{
    size_t searched = 0;
    for (;;) {
        size_t have = reader->end - reader->start;
        *newline = memchr(reader->window + reader->start + searched, '\n', have - searched);
        if (*newline)
            return *newline - (reader->window + reader->start) <= (ptrdiff_t)AFPERF_RECORD_MAX;
        if (have > AFPERF_RECORD_MAX)
            return 0;
        if (reader->at_end)
            return 1;
        searched = have;
        if (refill(reader, error) < 0)
            return -1;
    }
}

/* Goes to the start of the next line. */
static int skip_line(struct afperf_reader *reader, struct pf_error *error)
{
    reader->line++;
    for (;;) {
        const char *at = reader->window + reader->start;
        const char *newline = memchr(at, '\n', reader->end - reader->start);
        reader->start = newline ? (size_t)(newline + 1 - reader->window) : reader->end;
        if (newline || reader->at_end)
            return 0;
        if (refill(reader, error) < 0)
            return -1;
    }
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at == end;
}

static bool may_be_header(const char *text, size_t size)
{
    static const char start[] = "# AFPerf v";
    size_t n = sizeof start - 1;
    return size > n && !memcmp(text, start, n) && text[n] >= '0' && text[n] <= '9';
}

static uint64_t count_newlines(const char *at, const char *end)
{
    uint64_t count = 0;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        count++;
        at++;
    }
    return count;
}

/* A record with quotes; its first line, with the line end, has `line` bytes. 0; -1: *error filled. record->kind tells
 * whether it has an end. */
static int read_quoted(struct afperf_reader *reader, struct afperf_record *record, size_t line,
                       struct pf_error *error)
{
    struct quoted quoted;
    bool one_line = reader->vain > VAIN_MAX;
    for (;;) {
        size_t have = reader->end - reader->start;
        size_t size = one_line ? line : have > AFPERF_RECORD_MAX ? AFPERF_RECORD_MAX + 1 : have;
        if (split_quoted(reader, size, &quoted, record, error) < 0)
            return -1;
        if (quoted.line_end || have > AFPERF_RECORD_MAX || reader->at_end || one_line)
            break;
        if (refill(reader, error) < 0)
            return -1;
    }
    const char *start = reader->window + reader->start;
    size_t size = (size_t)(quoted.at - start);
    if (quoted.open || size > AFPERF_RECORD_MAX || (!quoted.line_end && !reader->at_end)) {
        record->kind = quoted.open ? AFPERF_UNTERMINATED_QUOTE : AFPERF_TOO_LONG;
        reader->vain += (size_t)(quoted.end - start);
        return 0;
    }
    reader->line += count_newlines(start, quoted.at) + !quoted.line_end;
    reader->start += size;
    mend_fields(reader, record);
    return 0;
}

/* A record without quotes. */
static int read_plain(struct afperf_reader *reader, struct afperf_record *record, const char *end,
                      bool special, struct pf_error *error)
{
    const char *start = reader->window + reader->start;
    if (split_plain(reader, start, end, error) < 0)
        return -1;
    if (!special)
        return 1;
    if (reserve_scratch(reader, (size_t)(end - start), error) < 0)
        return -1;
    mend_fields(reader, record);
    return 1;
}

static void fill(struct afperf_record *record, const struct afperf_reader *reader)
{
    record->n = reader->n;
    record->fields = reader->fields;
}

/* The line at the start of the window, which has an end. 1: a record; 0: nothing of interest; -1: error. */
static int read_line(struct afperf_reader *reader, struct afperf_record *record, const char *newline,
                     struct pf_error *error)
{
    const char *start = reader->window + reader->start;
    const char *after = newline ? newline : reader->window + reader->end, *end = after;
    if (end > start && end[-1] == '\r')
        end--;
    size_t stop = (size_t)((newline ? newline + 1 : after) - reader->window);
    bool header = *start == '#' && may_be_header(start, (size_t)(end - start));
    int result = header;
    if (header) {
        record->kind = AFPERF_HEADER;
        reader->n = 0;
        if (add_field(reader, start, (size_t)(end - start), error) < 0)
            return -1;
    } else if (*start != '#' && !is_blank(start, end)) {
        bool special = has_special(start, end);
        if (special && memchr(start, '"', (size_t)(end - start)))
            return read_quoted(reader, record, stop - reader->start, error) < 0 ? -1 : 1;
        result = read_plain(reader, record, end, special, error);
    }
    reader->start = stop;
    reader->line++;
    return result;
}

/* A line that is longer than a record may be. 1: a record; 0: a comment; -1: *error filled. */
static int read_long(struct afperf_reader *reader, struct afperf_record *record, struct pf_error *error)
{
    const char *start = reader->window + reader->start;
    struct quoted quoted = {.open = false};
    if (*start == '#')
        return 0;
    if (memchr(start, '"', AFPERF_RECORD_MAX) &&
        split_quoted(reader, AFPERF_RECORD_MAX + 1, &quoted, record, error) < 0)
        return -1;
    record->kind = quoted.open ? AFPERF_UNTERMINATED_QUOTE : AFPERF_TOO_LONG;
    return 1;
}

int afperf_reader_next(struct afperf_reader *reader, struct afperf_record *record, struct pf_error *error)
{
    for (;;) {
        const char *newline;
        int found = find_line(reader, &newline, error);
        if (found < 0)
            return -1;
        if (found && !newline && reader->start == reader->end)
            return 0;
        *record = (struct afperf_record){.offset = reader->base + reader->start, .line = reader->line};
        int got = found ? read_line(reader, record, newline, error) : read_long(reader, record, error);
        if (got < 0)
            return -1;
        bool dropped = !found || record->kind == AFPERF_UNTERMINATED_QUOTE || record->kind == AFPERF_TOO_LONG;
        if (dropped && skip_line(reader, error) < 0)
            return -1;
        if (!got)
            continue; /* a comment, or nothing */
        fill(record, reader);
        return 1;
    }
}

int afperf_reader_skip(struct afperf_reader *reader, uint64_t offset, struct pf_error *error)
{
    while (reader->base + reader->start < offset) {
        uint64_t left = offset - (reader->base + reader->start);
        size_t have = reader->end - reader->start;
        size_t size = have < left ? have : (size_t)left;
        const char *at = reader->window + reader->start;
        reader->line += count_newlines(at, at + size);
        reader->start += size;
        if (size == left || reader->at_end)
            break;
        if (refill(reader, error) < 0)
            return -1;
    }
    return 0;
}
