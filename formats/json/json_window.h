/* SPDX-License-Identifier: MIT */
#ifndef PF_JSON_WINDOW_H
#define PF_JSON_WINDOW_H

#include "formats/json/json.h"

/*
 * The window on the text, and the reader's state. The layers of the JSON reader, from the bottom: json_window, json_string (strings),
 * json_skip (passing over values), json (tokens, whole values).
 *
 * A NUL follows the last byte of the window. Since JSON holds no NUL, loops over characters need not compare with the end: they stop
 * at the NUL, and then ask whether it is that of the window.
 */

/* What may come next. */
enum pf_json_expect {
    PF_EXPECT_DOCUMENT,   /* a value that is in nothing */
    PF_EXPECT_VALUE,      /* of a member, or an element after a comma */
    PF_EXPECT_FIRST,      /* an element or the array's end */
    PF_EXPECT_FIRST_NAME, /* a name or the object's end */
    PF_EXPECT_NAME,       /* after a comma */
    PF_EXPECT_COLON,
    PF_EXPECT_COMMA, /* or the container's end */
    PF_EXPECT_END,   /* of the text */
    PF_EXPECT_OVER,  /* nothing: the value that was sought has been read */
};

/*
 * The window: a string or number of PF_JSON_TEXT_MAX bytes that starts at its very end still fits when it has
 * been moved to the front.
 */
#define PF_JSON_WINDOW (4 * PF_JSON_TEXT_MAX)

/* Bytes behind what is seen that may be read. */
enum { PF_JSON_PADDING = 16 };

struct pf_json {
    pf_json_read *read; /* NULL: the text is all in the window */
    void *arg;
    unsigned flags, depth_max;

    char *window;      /* owned: PF_JSON_WINDOW + PF_JSON_PADDING bytes; NULL until something is read */
    const char *first; /* start of what is seen of the text: the window, or a caller's text */
    const char *at;    /* what is not read yet */
    const char *end;   /* the NUL behind what is seen */
    uint64_t base;     /* offset of *first */
    size_t read_size;
    bool at_end; /* nothing comes behind `end` */

    uint64_t line, line_start; /* the line, from 1; offset of its first byte */
    uint64_t value_line;       /* PF_JSON_LINES: where the last value ended; 0: none yet */
    enum pf_json_expect expect;
    bool alone; /* a value that was sought: nothing after it is looked at */
    unsigned depth;
    unsigned char stack[PF_JSON_DEPTH_MAX / 8]; /* a bit a container, innermost last: 1 is an object */

    struct pf_json_buffer *taken; /* what is passed over is copied there; NULL: nowhere */
    const char *taken_to;         /* what is not copied yet */

    char *scratch;          /* owned: an unescaped string; NULL until needed */
    struct pf_error failed; /* code 0: not */
};

static inline uint64_t pf_json_offset(const struct pf_json *json, const char *at)
{
    return json->base + (uint64_t)(at - json->first);
}

/*
 * Shows more of the text. What stands from *keep on is kept and moves: *keep tells where to. 1: there is more;
 * 0: there is none; -1: *error filled. *keep lies at most PF_JSON_TEXT_MAX and a few bytes before the end.
 */
int pf_json_refill(struct pf_json *json, const char **keep, struct pf_error *error);

/* Appends text and a NUL to a buffer, unless that passes its limit: it is then marked as cut. 0, or -1 with *error filled. */
int pf_json_add_text(struct pf_json_buffer *buffer, const char *text, size_t size, struct pf_error *error);

/* Copies what is being taken, from json->taken_to up to `end`. 0, or -1 with *error filled. */
int pf_json_take_up_to(struct pf_json *json, const char *end, struct pf_error *error);

/* Tries to have `size` (few) bytes from *at on in the window; fewer are there only at the end. 0 or -1. */
static inline int pf_json_ensure(struct pf_json *json, const char **at, size_t size, struct pf_error *error)
{
    while ((size_t)(json->end - *at) < size) {
        int got = pf_json_refill(json, at, error);
        if (got <= 0)
            return got;
    }
    return 0;
}

/* Ends reading: *error tells what is wrong at this character. Returns -1. */
int pf_json_fail(struct pf_json *json, int code, const char *at, const char *what, struct pf_error *error);

static inline bool pf_json_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

/* A line has ended here. 0, or -1 with *error filled if it may not. */
int pf_json_new_line(struct pf_json *json, const char *newline, struct pf_error *error);

/* Opens a container, or closes the innermost one. 0, or -1 with *error filled if that cannot be. */
int pf_json_push(struct pf_json *json, const char *at, bool object, struct pf_error *error);
int pf_json_pop(struct pf_json *json, const char *at, bool object, struct pf_error *error);

static inline bool pf_json_in_object(const struct pf_json *json)
{
    unsigned top = json->depth - 1;
    return json->stack[top / 8] >> top % 8 & 1;
}

/* What comes after a value that json->at is behind; a comma that follows at once is taken with it, and a blank behind that. */
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

/* Reads the string whose quote is at json->at into the token's text, and moves json->at after it. 0, or -1 with *error filled. */
int pf_json_string(struct pf_json *json, struct pf_json_token *token, struct pf_error *error);

#endif
