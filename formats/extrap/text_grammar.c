/* SPDX-License-Identifier: MIT */
#include "formats/extrap/text_grammar.h"

#include <string.h>

#include "formats/parse.h"

static const char *const keywords[] = {
    [PF_XTEXT_PARAMETER] = "PARAMETER", [PF_XTEXT_POINTS] = "POINTS", [PF_XTEXT_METRIC] = "METRIC",
    [PF_XTEXT_REGION] = "REGION",       [PF_XTEXT_DATA] = "DATA",
};

const char *pf_xtext_keyword(enum pf_xtext_word word)
{
    return keywords[word];
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && pf_xtext_is_blank(*at))
        at++;
    return at;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && !pf_xtext_is_blank(*at))
        at++;
    return at;
}

static enum pf_xtext_word word_of(const char *text, size_t size)
{
    for (enum pf_xtext_word word = PF_XTEXT_PARAMETER; word < PF_XTEXT_UNKNOWN; word++)
        if (strlen(keywords[word]) == size && !memcmp(keywords[word], text, size))
            return word;
    return PF_XTEXT_UNKNOWN;
}

struct pf_xtext_split pf_xtext_split(const char *text, size_t size)
{
    /* Nearly all lines of a large file are these. */
    if (size >= 5 && !memcmp(text, "DATA", 4) && pf_xtext_is_blank(text[4]))
        return (struct pf_xtext_split){PF_XTEXT_DATA, false, text + 5, size - 5};

    const char *end = text + size, *word = skip_blanks(text, end), *after = skip_word(word, end);
    if (word == end || *word == '#')
        return (struct pf_xtext_split){PF_XTEXT_BLANK, word > text && word < end, end, 0};
    struct pf_xtext_split split = {word_of(word, (size_t)(after - word)), word > text, after,
                                   (size_t)(end - after)};
    if (split.word == PF_XTEXT_UNKNOWN) {
        split.rest = word;
        split.size = (size_t)(end - word);
    }
    return split;
}

bool pf_xtext_next_word(const char **at, const char *end, const char **word, size_t *size)
{
    *word = skip_blanks(*at, end);
    *at = skip_word(*word, end);
    *size = (size_t)(*at - *word);
    return *size != 0;
}

enum pf_xtext_got pf_xtext_next_value(const char **at, const char *end, double *value)
{
    const char *word;
    size_t size;
    if (!pf_xtext_next_word(at, end, &word, &size))
        return PF_XTEXT_NONE;
    if (pf_parse_double(word, size, value))
        return PF_XTEXT_VALUE;
    *at = word;
    return PF_XTEXT_BAD;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && (unsigned char)(*at - '0') < 10)
        at++;
    return at;
}

/* The end of a number as nearly all are written, digits with at most one point; NULL if it looks different.
 */
static const char *skip_plain_number(const char *at, const char *end)
{
    if (at < end && *at == '-')
        at++;
    const char *whole = at;
    at = skip_digits(at, end);
    size_t digits = (size_t)(at - whole);
    if (at < end && *at == '.') {
        const char *fraction = ++at;
        at = skip_digits(at, end);
        digits += (size_t)(at - fraction);
    }
    return digits && (at == end || pf_xtext_is_blank(*at)) ? at : NULL;
}

uint64_t pf_xtext_count_values(const char *at, const char *end, const char **bad)
{
    uint64_t count = 0;
    *bad = NULL;
    for (;; count++) {
        at = skip_blanks(at, end);
        if (at == end)
            return count;
        const char *after = skip_plain_number(at, end);
        double value;
        if (!after) {
            after = skip_word(at, end);
            if (!pf_parse_double(at, (size_t)(after - at), &value)) {
                *bad = at;
                return count;
            }
        }
        at = after;
    }
}

size_t pf_xtext_name(const char *text, size_t size, char *name, size_t room, bool *cut)
{
    const char *at = text, *end = text + size, *word;
    size_t used = 0, length;
    *cut = false;
    while (pf_xtext_next_word(&at, end, &word, &length)) {
        size_t gap = used ? 1 : 0;
        if (length + gap > room - used) {
            *cut = true;
            length = room - used > gap ? room - used - gap : 0;
        }
        if (!length)
            break;
        if (gap)
            name[used++] = ' ';
        memcpy(name + used, word, length);
        used += length;
    }
    return used;
}
