/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_H
#define PF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/input/source.h"
#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * Pull parser for JSON. It reads through one window: memory use depends neither on the size of the text nor on its
 * nesting, and no tree is built. The caller requests token after token and keeps track of their meaning. A reader
 * belongs to one thread.
 *
 * Accepts RFC 8259. In addition, NaN and the infinities are numbers as Python, JavaScript and printf write them (`NaN`,
 * `nan`, `inf`, `Infinity` and the like, in any case and with a sign), and a byte order mark is skipped. Everything
 * else (comments, trailing commas without PF_JSON_LAST_COMMAS, control characters in strings, a second value) is an
 * error. An error has the byte offset and the line; its text names the column.
 */
struct pf_json;

/* Kinds of tokens. PF_JSON_END is the end of all values. */
enum pf_json_event {
    PF_JSON_END,
    PF_JSON_OBJECT,
    PF_JSON_OBJECT_END,
    PF_JSON_ARRAY,
    PF_JSON_ARRAY_END,
    PF_JSON_NAME, /* name of an object's member; its value is the next token */
    PF_JSON_STRING,
    PF_JSON_NUMBER,
    PF_JSON_TRUE,
    PF_JSON_FALSE,
    PF_JSON_NULL,
};

/*
 * Maximum size of a name, string or number in bytes. Longer names and strings are truncated between characters; longer
 * numbers are an error, since no other parser accepts them.
 */
#define PF_JSON_TEXT_MAX ((size_t)64 * 1024)

#define PF_JSON_DEPTH     512  /* default limit of nested containers */
#define PF_JSON_DEPTH_MAX 4096 /* upper bound of that limit */

struct pf_json_token {
    enum pf_json_event event;
    bool cut;      /* name, string: the text is truncated */
    bool replaced; /* name, string: U+FFFD replaces invalid text (see pf_json_flags) */
    /* A name or string as unescaped UTF-8, or a number as written (`-nan` for `-nan(ind)`). Valid until the next call. */
    const char *text;
    size_t size;     /* size of text in bytes */
    uint64_t offset; /* offset of the token's first byte */
    uint64_t line;   /* line of the token, from 1 */
    /* A number of few digits in decoded form: mantissa / 10^places. Private to pf_json_double and pf_json_number. */
    uint64_t mantissa;
    uint8_t places;
    bool simple, integer, negative;
};

enum pf_json_flags {
    /*
     * Invalid UTF-8 is an error instead of being replaced by U+FFFD. Half a surrogate pair and \u0000 are always
     * replaced.
     */
    PF_JSON_STRICT_UTF8 = 1,
    /*
     * JSON Lines: any number of values, one per line. Blank lines are skipped; a line that ends inside a value is an
     * error. After an error, pf_json_next_line resumes at the next line.
     */
    PF_JSON_LINES = 2,
    /* Reads each `;` as a comma, even in strings. */
    PF_JSON_SEMICOLONS = 4,
    /* Allows a comma before the end of an object or array. */
    PF_JSON_LAST_COMMAS = 8,
    /* For probing: decompresses gzip files (probe.h). */
    PF_JSON_PACKED = 16,
};

/*
 * Reads up to `size` bytes at `offset` of the text into `buffer`. Returns the number of bytes, fewer than `size` only at
 * the end of the text; -1 with *error filled. Offsets ascend unless pf_json_seek moves back.
 */
typedef ssize_t pf_json_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

/*
 * pf_json_new creates a reader of an input, which is borrowed and must outlive the reader; pf_json_new_reading creates
 * a reader of the text that `read` supplies. flags: enum pf_json_flags. depth: limit of nested containers, 0 for
 * PF_JSON_DEPTH. Both return NULL if memory is exhausted.
 */
struct pf_json *pf_json_new(struct pf_input *input, unsigned flags, unsigned depth);
struct pf_json *pf_json_new_reading(pf_json_read *read, void *arg, unsigned flags, unsigned depth);
void pf_json_free(struct pf_json *json);

/*
 * Makes the reader parse text[0 .. size) in place, from its start. text[size] must be NUL. The text is borrowed, and
 * modified if PF_JSON_SEMICOLONS is set. Allocates nothing, so it is cheap for many small texts. The reader may have
 * been created with a NULL input.
 */
void pf_json_text(struct pf_json *json, char *text, size_t size);

/*
 * Reads the next token. Returns its event (PF_JSON_END, which is 0, at the end), or -1 with *error filled: EBADMSG for
 * invalid JSON, ENODATA if the text ends inside a value, E2BIG for excessive nesting or a number that is too long,
 * otherwise the error of the read. After an error, every call fails with the same error.
 */
int pf_json_next(struct pf_json *json, struct pf_json_token *token, struct pf_error *error);

/*
 * Like pf_json_next, but skips an object or array as a whole. *token is then the opening bracket, and the next call
 * continues after the closing one. Only brackets and strings of the skipped text are checked. After a name, the
 * function skips the value. In an array, it skips an element.
 */
int pf_json_skip(struct pf_json *json, struct pf_json_token *token, struct pf_error *error);

/* Skips the rest of the innermost open object or array, including its end. Returns 0, or -1 with *error filled. */
int pf_json_leave(struct pf_json *json, struct pf_error *error);

/* A growing buffer of the caller. Initialise with zeros and a limit; the caller frees `bytes`. */
struct pf_json_buffer {
    char *bytes;
    size_t size, room;
    bool cut;
    size_t limit; /* maximum size of a value in bytes; values below 4 KB always fit */
};

/*
 * Like pf_json_skip, but copies the value to the buffer, NUL-terminated: an object or array verbatim, any other value
 * as its token's text. The token's text is then in the buffer. If the value exceeds the limit, the token is `cut` and
 * its text empty.
 */
int pf_json_take(struct pf_json *json, struct pf_json_token *token, struct pf_json_buffer *buffer,
                 struct pf_error *error);

/* The number of open objects and arrays. */
unsigned pf_json_depth(const struct pf_json *json);

/* The offset of the first unread byte. */
uint64_t pf_json_tell(const struct pf_json *json);

/* PF_JSON_LINES: skips to the start of the next line and clears an error. Returns 0, or -1 with *error filled. */
int pf_json_next_line(struct pf_json *json, struct pf_error *error);

/*
 * Moves to the value whose first token has this offset and line, and clears an error. The value is parsed as if it were
 * the whole text: PF_JSON_END follows it. Columns count from `offset` until a new line begins.
 */
void pf_json_seek(struct pf_json *json, uint64_t offset, uint64_t line);

/* Converts a number token to a double as Python's float() does. */
double pf_json_double(const struct pf_json_token *token);

/*
 * Converts a number token to a cell. A number without point and exponent becomes the first of PF_INT, PF_UINT and PF_WIDE
 * that holds it; a PF_WIDE cell points to *wide. Other numbers, and integers of more than 127 bits, become PF_DOUBLE.
 */
struct pf_cell pf_json_number(const struct pf_json_token *token, pf_int128 *wide);

/* True if the token's text equals `word`. */
static inline bool pf_json_is(const struct pf_json_token *token, const char *word)
{
    size_t size = strlen(word);
    return token->size == size && !memcmp(token->text, word, size);
}

#endif
