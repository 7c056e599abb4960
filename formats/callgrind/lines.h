/* SPDX-License-Identifier: MIT */
#ifndef CALLGRIND_LINES_H
#define CALLGRIND_LINES_H

#include <stdbool.h>

#include "formats/kit/cell.h"

/* The words and numbers of a line. All functions are safe from any thread; what they take, they take off the text. */

enum callgrind_word {
    NO_WORD,
    /* of the body */
    OB,
    FL,
    FI,
    FE,
    FN,
    COB,
    CFI,
    CFL,
    CFN,
    JFI,
    JFN,
    CALLS,
    RCALLS,
    JUMP,
    JCND,
    /* of the header */
    VERSION,
    CREATOR,
    PID,
    CMD,
    PART,
    THREAD,
    DESC,
    POSITIONS,
    EVENT,
    EVENTS,
    SUMMARY,
    TOTALS,
    WORDS
};

struct callgrind_text {
    const char *at, *end;
};

static inline bool callgrind_in_body(enum callgrind_word word)
{
    return word != NO_WORD && word < VERSION;
}

/* True if Cachegrind's files have such lines too. */
static inline bool callgrind_in_both(enum callgrind_word word)
{
    return (word >= FL && word <= FN) || word == CMD || word == DESC || word == EVENTS || word == SUMMARY;
}

/* True if a line that begins so is one of costs. */
static inline bool callgrind_begins_cost(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '*';
}

static inline bool callgrind_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void callgrind_skip_blanks(struct callgrind_text *text);
struct callgrind_text callgrind_trimmed(struct callgrind_text text);

/* The word that a line begins with, and what stands behind it. */
enum callgrind_word callgrind_take_word(struct callgrind_text *line);

/* What stands before the next blank; false if there is nothing more. */
bool callgrind_take_item(struct callgrind_text *line, struct callgrind_text *item);

/* Digits, decimal or 0x and hexadecimal; false if there are none or too many. */
bool callgrind_take_digits(struct callgrind_text *text, pf_int128 *number);

/* A count is a number, which may be negative, or a point for 0. */
bool callgrind_take_count(struct callgrind_text *line, pf_int128 *count);

/* A position is a number, one to be added to the last or taken off it, the last one (*), or a range. None is served. */
bool callgrind_take_position(struct callgrind_text *line);

/* `(12)`, which a name may begin with; false if it does not, as `(below main)`. */
bool callgrind_take_number(struct callgrind_text *text, uint64_t *number);

#endif
