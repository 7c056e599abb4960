/* SPDX-License-Identifier: MIT */
#ifndef PF_SLICE_H
#define PF_SLICE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A borrowed piece of text, usually the rest of a line. The pf_take functions consume what they parse from its front. */
struct pf_slice {
    const char *at, *end;
};

/* The UTF-8 byte order mark, which some editors write at the beginning of a text. */
#define PF_BYTE_ORDER_MARK "\xef\xbb\xbf"

static inline struct pf_slice pf_slice(const char *text, size_t size)
{
    return (struct pf_slice){text, text + size};
}

static inline size_t pf_size(struct pf_slice slice)
{
    return (size_t)(slice.end - slice.at);
}

static inline bool pf_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline void pf_skip_blanks(struct pf_slice *slice)
{
    while (slice->at < slice->end && pf_is_blank(*slice->at))
        slice->at++;
}

static inline struct pf_slice pf_trimmed(struct pf_slice slice)
{
    pf_skip_blanks(&slice);
    while (slice.end > slice.at && pf_is_blank(slice.end[-1]))
        slice.end--;
    return slice;
}

static inline bool pf_begins(struct pf_slice slice, const char *word)
{
    size_t size = strlen(word);
    return pf_size(slice) >= size && !memcmp(slice.at, word, size);
}

static inline bool pf_is(struct pf_slice slice, const char *word)
{
    return pf_size(slice) == strlen(word) && pf_begins(slice, word);
}

/* If the slice begins with this word, consumes it and returns true. */
static inline bool pf_take(struct pf_slice *slice, const char *word)
{
    bool begins = pf_begins(*slice, word);
    slice->at += begins ? strlen(word) : 0;
    return begins;
}

/* Consumes and returns the text before the next blank, which may be empty; also consumes the blanks after it. */
static inline struct pf_slice pf_take_word(struct pf_slice *slice)
{
    struct pf_slice word = {slice->at, slice->at};
    while (word.end < slice->end && !pf_is_blank(*word.end))
        word.end++;
    slice->at = word.end;
    pf_skip_blanks(slice);
    return word;
}

/* Consumes the next line and returns it without its line end; false if there is none. A last line without line end
 * counts only if `all` is set. */
static inline bool pf_take_line(struct pf_slice *text, bool all, struct pf_slice *line)
{
    const char *newline = text->at < text->end ? memchr(text->at, '\n', pf_size(*text)) : NULL;
    if (text->at == text->end || (!newline && !all))
        return false;
    *line = (struct pf_slice){text->at, newline ? newline : text->end};
    text->at = newline ? newline + 1 : text->end;
    line->end -= line->end > line->at && line->end[-1] == '\r';
    return true;
}

#endif
