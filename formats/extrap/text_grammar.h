/* SPDX-License-Identifier: MIT */
#ifndef PF_XTEXT_GRAMMAR_H
#define PF_XTEXT_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The grammar of a line of an Extra-P text file: a keyword, blanks, and what the keyword takes. A blank is a
 * space or tab. Lines may be given in pieces (see formats/input/linereader.h): the rest of a piece that continues a
 * line is the piece.
 */
enum pf_xtext_word {
    PF_XTEXT_BLANK, /* nothing, or a comment */
    PF_XTEXT_PARAMETER,
    PF_XTEXT_POINTS,
    PF_XTEXT_METRIC,
    PF_XTEXT_REGION,
    PF_XTEXT_DATA,
    PF_XTEXT_UNKNOWN,
};

struct pf_xtext_split {
    enum pf_xtext_word word;
    bool indented;
    const char *rest; /* after the keyword; for an unknown one: from it on */
    size_t size;
};

static inline bool pf_xtext_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct pf_xtext_split pf_xtext_split(const char *text, size_t size);

/* The keyword itself, as written. */
const char *pf_xtext_keyword(enum pf_xtext_word word);

/* The next run of non-blanks from *at on; false if there is none. Moves *at behind it. */
bool pf_xtext_next_word(const char **at, const char *end, const char **word, size_t *size);

enum pf_xtext_got { PF_XTEXT_NONE, PF_XTEXT_VALUE, PF_XTEXT_BAD };

/* The next number from *at on. Moves *at behind it; where it is no number, to it. */
enum pf_xtext_got pf_xtext_next_value(const char **at, const char *end, double *value);

/*
 * How many numbers stand between at and end before the first word that is none; *bad: where that is, NULL if
 * all are numbers. Agrees with pf_xtext_next_value, and is several times as fast.
 */
uint64_t pf_xtext_count_values(const char *at, const char *end, const char **bad);

/*
 * Writes a name with each run of blanks as one and none at the ends; `room` bytes at most. Returns its size;
 * *cut if it did not fit.
 */
size_t pf_xtext_name(const char *text, size_t size, char *name, size_t room, bool *cut);

#endif
