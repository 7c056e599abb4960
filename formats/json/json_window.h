/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_WINDOW_H
#define PF_JSON_WINDOW_H

#include "formats/json/json.h"

/*
 * The parser's state and its window on the text. Layers of the parser, from the bottom: json_window, json_string
 * (strings), json_skip (skipping values), json (tokens, whole values).
 *
 * A NUL follows the last byte of the window as a sentinel. JSON contains no NUL, so loops over characters need no
 * comparison with the end: they stop at a NUL, then check whether it is the sentinel.
 */

/* The expected next token. */
enum pf_json_expect {
    PF_EXPECT_DOCUMENT,   /* a top-level value */
    PF_EXPECT_VALUE,      /* a member's value, or an element after a comma */
    PF_EXPECT_FIRST,      /* an element or the end of the array */
    PF_EXPECT_FIRST_NAME, /* a name or the end of the object */
    PF_EXPECT_NAME,       /* a name after a comma */
    PF_EXPECT_COLON,
    PF_EXPECT_COMMA, /* a comma or the end of the container */
    PF_EXPECT_END,   /* the end of the text */
    PF_EXPECT_OVER,  /* nothing: the value that pf_json_seek moved to has been read */
};

/*
 * Size of the window. A string or number of PF_JSON_TEXT_MAX bytes that starts at the end of the window fits after a
 * refill, which moves it to the front.
 */
#define PF_JSON_WINDOW (4 * PF_JSON_TEXT_MAX)

/* Readable zero bytes after the window's contents. */
enum { PF_JSON_PADDING = 16 };

struct pf_json {
    pf_json_read *read; /* supplies the text; not called once at_end is set */
    void *arg;
    unsigned flags, depth_max;

    char *window;      /* owned: PF_JSON_WINDOW + PF_JSON_PADDING bytes; NULL until the first read */
    const char *first; /* start of the visible text: in the window, or in a caller's text */
    const char *at;    /* first unread byte */
    const char *end;   /* the sentinel after the visible text */
    uint64_t base;     /* offset of *first in the text */
    size_t read_size;
    bool at_end; /* no text follows `end` */

    uint64_t line, line_start; /* current line, from 1; offset of its first byte */
    uint64_t value_line;       /* PF_JSON_LINES: line in which the last value ended; 0: none yet */
    enum pf_json_expect expect;
    bool alone; /* after pf_json_seek: stop after one value */
    unsigned depth;
    unsigned char stack[PF_JSON_DEPTH_MAX / 8]; /* one bit per container: 1 is an object */

    struct pf_json_buffer *taken; /* skipped text is copied here; NULL: not copied */
    const char *taken_to;         /* first byte that is not copied yet */

    char *scratch;          /* owned: buffer for an unescaped string; NULL until needed */
    struct pf_error failed; /* code 0: no error */
};

static inline uint64_t pf_json_offset(const struct pf_json *json, const char *at)
{
    return json->base + (uint64_t)(at - json->first);
}

/*
 * Reads more text into the window. Moves the text from *keep on to the front of the window, and sets *keep and json->at
 * to its start. *keep must not be more than PF_JSON_TEXT_MAX and a few bytes before json->end. Returns 1 if there is
 * more text, 0 at the end, -1 with *error filled.
 */
int pf_json_refill(struct pf_json *json, const char **keep, struct pf_error *error);

/*
 * Appends text and a NUL to a buffer. If the limit would be exceeded, marks the buffer as `cut` instead. Returns 0, or
 * -1 with *error filled.
 */
int pf_json_add_text(struct pf_json_buffer *buffer, const char *text, size_t size, struct pf_error *error);

/* Copies text from json->taken_to up to `end` if a copy is requested. Returns 0, or -1 with *error filled. */
int pf_json_take_up_to(struct pf_json *json, const char *end, struct pf_error *error);

/*
 * Tries to make `size` (few) bytes from *at on visible; fewer are visible only at the end. Returns 0, or -1 with *error
 * filled.
 */
static inline int pf_json_ensure(struct pf_json *json, const char **at, size_t size, struct pf_error *error)
{
    while ((size_t)(json->end - *at) < size) {
        int got = pf_json_refill(json, at, error);
        if (got <= 0)
            return got;
    }
    return 0;
}

/* Stops the reader with an error at this character. Returns -1 with *error filled. */
int pf_json_fail(struct pf_json *json, int code, const char *at, const char *what, struct pf_error *error);

static inline bool pf_json_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* Handles a line end. Returns 0, or -1 with *error filled if it is not allowed. */
int pf_json_new_line(struct pf_json *json, const char *newline, struct pf_error *error);

/* Open a container, or close the innermost one. Return 0, or -1 with *error filled if that is invalid. */
int pf_json_push(struct pf_json *json, const char *at, bool object, struct pf_error *error);
int pf_json_pop(struct pf_json *json, const char *at, bool object, struct pf_error *error);

static inline bool pf_json_in_object(const struct pf_json *json)
{
    unsigned top = json->depth - 1;
    return json->stack[top / 8] >> top % 8 & 1;
}

/*
 * Sets json->expect after a value that ends just before json->at. Also consumes an immediate comma, and one space after
 * the comma.
 */
static inline void pf_json_value_over(struct pf_json *json)
{
    if (json->depth) {
        bool comma = *json->at == ',';
        json->at += comma + (comma && json->at[1] == ' ');
        json->expect = !comma ? PF_EXPECT_COMMA : pf_json_in_object(json) ? PF_EXPECT_NAME : PF_EXPECT_VALUE;
        return;
    }
    json->value_line = json->line;
    json->expect = json->alone                   ? PF_EXPECT_OVER
                   : json->flags & PF_JSON_LINES ? PF_EXPECT_DOCUMENT
                                                 : PF_EXPECT_END;
}

/* ---- json_string.c ------------------------------------------------------------------------------ */

/*
 * Parses the string whose opening quote is at json->at into the token, and moves json->at after it. Returns 0, or -1
 * with *error filled.
 */
int pf_json_string(struct pf_json *json, struct pf_json_token *token, struct pf_error *error);

#endif
