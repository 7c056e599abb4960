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
 * Reads JSON token by token through one window: memory depends neither on the size of the text nor on its
 * nesting, and nothing is built. Whoever calls asks for the next token, and knows by what came before what it
 * means. A reader belongs to one thread.
 *
 * Accepts RFC 8259, and beyond it NaN and the infinities as Python, JavaScript and printf write them: `NaN`, `nan`, `inf`,
 * `Infinity` and the like are numbers, in any case and with a sign; a byte order mark is skipped. Everything else (comments, trailing commas but with a flag, control characters in
 * strings, a second value) is an error with the byte offset, the line, and the column in its sentence.
 */
struct pf_json;

/* What stands at a place; PF_JSON_END is the end of all values. */
enum pf_json_event {
    PF_JSON_END,
    PF_JSON_OBJECT,
    PF_JSON_OBJECT_END,
    PF_JSON_ARRAY,
    PF_JSON_ARRAY_END,
    PF_JSON_NAME, /* of an object's member: its value is next */
    PF_JSON_STRING,
    PF_JSON_NUMBER,
    PF_JSON_TRUE,
    PF_JSON_FALSE,
    PF_JSON_NULL,
};

/*
 * Names and strings longer than this come cut at the end of a character. Numbers that are longer are an error,
 * since no other reader takes them either.
 */
#define PF_JSON_TEXT_MAX ((size_t)64 * 1024)

#define PF_JSON_DEPTH     512  /* of nested containers, unless told otherwise */
#define PF_JSON_DEPTH_MAX 4096 /* at most */

struct pf_json_token {
    enum pf_json_event event;
    bool cut;      /* name, string: there was more text */
    bool replaced; /* name, string: U+FFFD stands for what is no text (see pf_json_flags) */
    const char *
        text; /* name, string: unescaped UTF-8; number: as written (`-nan` of `-nan(ind)`). Valid until the next call */
    size_t size;     /* of text in bytes */
    uint64_t offset; /* of the token's first byte */
    uint64_t line;   /* that it stands in, from 1 */
    /* A number of few digits, on the way to a double: mantissa / 10^places. For pf_json_double and _number. */
    uint64_t mantissa;
    uint8_t places;
    bool simple, integer, negative;
};

enum pf_json_flags {
    /* Bytes that are no UTF-8 are an error. Otherwise U+FFFD is put in their place, as it always is for half a
     * surrogate pair and for \u0000. */
    PF_JSON_STRICT_UTF8 = 1,
    /* Any number of values, one a line; blank lines are skipped, and a line that ends inside a value is an
     * error. After an error pf_json_next_line goes on behind it. */
    PF_JSON_LINES = 2,
    /* Every `;`, also in strings, is read as a comma. */
    PF_JSON_SEMICOLONS = 4,
    /* A comma may stand before the end of an object or array. */
    PF_JSON_LAST_COMMAS = 8,
    /* For probing: gzip files are looked into (probe.h). */
    PF_JSON_PACKED = 16,
};

/*
 * Bytes of the text: up to `size` of them at `offset` into buffer. Returns how many; fewer than `size` only at
 * the end of the text; -1 with *error filled. As long as the reader is never told to go back, neither do the
 * offsets.
 */
typedef ssize_t pf_json_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

/*
 * A reader before the start of an input, which must outlive it, or of what `read` gives. depth 0: PF_JSON_DEPTH.
 * NULL: out of memory.
 */
struct pf_json *pf_json_new(struct pf_input *input, unsigned flags, unsigned depth);
struct pf_json *pf_json_new_reading(pf_json_read *read, void *arg, unsigned flags, unsigned depth);
void pf_json_free(struct pf_json *json);

/*
 * Reads text[0 .. size) instead, in place and from its start: text[size] must be NUL, and with
 * PF_JSON_SEMICOLONS the text is written to. No memory is taken, so this may be done for each of many small
 * texts. json may be one made with a NULL input, which reads nothing else.
 */
void pf_json_text(struct pf_json *json, char *text, size_t size);

/*
 * The next token. Returns its event (PF_JSON_END, which is 0, at the end), or -1 with *error filled: EBADMSG
 * for what is no JSON, ENODATA if the text ends inside a value, E2BIG if it is nested too deeply or a number is too
 * long, else what reading gave. After an error every call fails in the same way.
 */
int pf_json_next(struct pf_json *json, struct pf_json_token *token, struct pf_error *error);

/*
 * Like pf_json_next, but an object or array is passed over whole: the token tells where it began, the next one is what
 * follows it. Of what is passed over, only brackets and strings are checked. So after a name this skips the
 * value, and in an array an element.
 */
int pf_json_skip(struct pf_json *json, struct pf_json_token *token, struct pf_error *error);

/* Passes over what is left of the innermost open object or array, its end too. 0, or -1 with *error filled. */
int pf_json_leave(struct pf_json *json, struct pf_error *error);

/* Memory of the caller's that grows. Zeroed but for the limit it is empty; `bytes` is to be freed. */
struct pf_json_buffer {
    char *bytes;
    size_t size, room;
    bool cut;
    size_t limit; /* a value that is longer, in bytes, and than 4 KB, does not fit */
};

/*
 * Like pf_json_skip, but the text of the value, whatever it is, stays in the buffer, followed by a NUL: of an object or array
 * all of it as it is written. If it does not fit, the token is `cut` and its text is empty.
 */
int pf_json_take(struct pf_json *json, struct pf_json_token *token, struct pf_json_buffer *buffer,
                 struct pf_error *error);

/* How many objects and arrays are open. */
unsigned pf_json_depth(const struct pf_json *json);

/* The offset of what is not read yet. */
uint64_t pf_json_tell(const struct pf_json *json);

/* PF_JSON_LINES: goes on behind the next line end, whether or not an error came up. 0, or -1 with *error
 * filled. */
int pf_json_next_line(struct pf_json *json, struct pf_error *error);

/*
 * Goes to a value at a known offset (a token's) in a known line. It is read as if it were alone: behind it comes
 * PF_JSON_END, whatever follows. Also ends an error. Columns count from the offset until a new line begins.
 */
void pf_json_seek(struct pf_json *json, uint64_t offset, uint64_t line);

/* The number as Python's float() has it. The token must be a number. */
double pf_json_double(const struct pf_json_token *token);

/*
 * The number as a cell: an integer (digits alone) as the smallest type that holds it, up to 128 bits, which are
 * written to *wide and borrowed from there; else a double. The token must be a number.
 */
struct pf_cell pf_json_number(const struct pf_json_token *token, pf_int128 *wide);

/* True if the token's text is this word. */
static inline bool pf_json_is(const struct pf_json_token *token, const char *word)
{
    size_t size = strlen(word);
    return token->size == size && !memcmp(token->text, word, size);
}

#endif
