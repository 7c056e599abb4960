/* SPDX-License-Identifier: MIT */
#include "formats/extrap/text_grammar.h"

#include <endian.h>
#include <float.h>
#include <string.h>

#include "formats/kit/parse.h"

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

/* A number as nearly all are written: an optional minus, digits, at most one point. */
struct plain {
    uint64_t mantissa; /* the digits without the point; wrong beyond 19 digits */
    unsigned digits, places;
    bool negative;
};

/* Eight characters less '0' each, the first in the lowest byte. */
static inline uint64_t eight_from_zero(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word) - UINT64_C(0x3030303030303030);
}

/*
 * A bit in the high nibble of each byte that is no digit, right up to the first such byte (a borrow of the
 * subtraction, or a carry of this addition, can only disturb bytes above one that is no digit itself).
 */
static inline uint64_t no_digits(uint64_t eight)
{
    return (eight | (eight + UINT64_C(0x0606060606060606))) & UINT64_C(0xf0f0f0f0f0f0f0f0);
}

/* Joins eight digits to pairs, the pairs to fours, the fours to one number. */
static inline uint64_t join_digits(uint64_t eight)
{
    eight = (eight * 10 + (eight >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    eight = (eight * 100 + (eight >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (eight * 10000 + (eight >> 32)) & UINT64_C(0xffffffff);
}

/* Reads digits, eight at a time: their number differs from value to value, which spoils branch prediction. */
static inline const char *read_digits(const char *at, const char *end, uint64_t *mantissa)
{
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    while (end - at >= 8) {
        uint64_t eight = eight_from_zero(at), other = no_digits(eight);
        if (other) {
            unsigned digits = (unsigned)__builtin_ctzll(other) / 8;
            if (digits)
                *mantissa = *mantissa * tens[digits] + join_digits(eight << (64 - 8 * digits));
            return at + digits;
        }
        *mantissa = *mantissa * 100000000 + join_digits(eight);
        at += 8;
    }
    for (; at < end && (unsigned char)(*at - '0') < 10; at++)
        *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
    return at;
}

/* Reads a plain number in one go; returns its end, or NULL if it looks different or does not end in a blank.
 */
static inline const char *read_plain(const char *at, const char *end, struct plain *plain)
{
    *plain = (struct plain){.negative = at < end && *at == '-'};
    const char *start = at + plain->negative;
    at = read_digits(start, end, &plain->mantissa);
    plain->digits = (unsigned)(at - start);
    if (at < end && *at == '.') {
        start = ++at;
        at = read_digits(start, end, &plain->mantissa);
        plain->places = (unsigned)(at - start);
        plain->digits += plain->places;
    }
    return plain->digits && (at == end || pf_xtext_is_blank(*at)) ? at : NULL;
}

/*
 * The value, if both the digits and the power of ten are doubles without error: their quotient is then
 * rounded once, thus correctly. pf_parse_double does the same, but has to look for more.
 */
static inline bool value_of_plain(const struct plain *plain, double *value)
{
    static const double tens[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                  1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
    if (FLT_EVAL_METHOD != 0 || plain->digits > 16 || plain->mantissa > (uint64_t)1 << DBL_MANT_DIG)
        return false;
    double number = (double)plain->mantissa / tens[plain->places];
    *value = plain->negative ? -number : number;
    return true;
}

enum pf_xtext_got pf_xtext_next_value(const char **at, const char *end, double *value)
{
    const char *word = skip_blanks(*at, end);
    if (word == end) {
        *at = end;
        return PF_XTEXT_NONE;
    }
    struct plain plain;
    const char *after = read_plain(word, end, &plain);
    if (!after || !value_of_plain(&plain, value)) {
        after = skip_word(word, end);
        if (!pf_parse_double(word, (size_t)(after - word), value)) {
            *at = word;
            return PF_XTEXT_BAD;
        }
    }
    *at = after;
    return PF_XTEXT_VALUE;
}

uint64_t pf_xtext_count_values(const char *at, const char *end, const char **bad)
{
    uint64_t count = 0;
    *bad = NULL;
    for (;; count++) {
        at = skip_blanks(at, end);
        if (at == end)
            return count;
        struct plain plain;
        const char *after = read_plain(at, end, &plain);
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
