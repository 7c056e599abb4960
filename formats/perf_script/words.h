/* SPDX-License-Identifier: MIT */
#ifndef PERF_SCRIPT_WORDS_H
#define PERF_SCRIPT_WORDS_H

#include <ctype.h>

#include "formats/kit/slice.h"

/* Recognises the words of a line of `perf script` by their form. For line.c only. */

static inline bool perf_is_number(struct pf_slice word)
{
    const char *at = word.at;
    while (at < word.end && isdigit((unsigned char)*at))
        at++;
    return at == word.end && word.at < word.end;
}

static inline bool is_signed(struct pf_slice word)
{
    word.at += word.at < word.end && *word.at == '-';
    return perf_is_number(word);
}

static inline bool is_address(struct pf_slice word)
{
    const char *at = word.at;
    while (at < word.end && isxdigit((unsigned char)*at))
        at++;
    return at == word.end && pf_size(word) >= 1 && pf_size(word) <= 16;
}

/* `[002]` */
static inline bool is_cpu(struct pf_slice word)
{
    return pf_size(word) > 2 && *word.at == '[' && word.end[-1] == ']' &&
           perf_is_number((struct pf_slice){word.at + 1, word.end - 1});
}

/* True for flags of the processor's mode or of a context switch: `K`, `Sp`, `d..` */
static inline bool is_misc(struct pf_slice word)
{
    const char *at = word.at;
    while (at < word.end && (isalpha((unsigned char)*at) || *at == '.' || *at == '+' || *at == '-'))
        at++;
    return at == word.end && pf_size(word) >= 1 && pf_size(word) <= 16;
}

/* `4332.596867:` */
static inline bool is_time(struct pf_slice word)
{
    if (!pf_size(word) || word.end[-1] != ':')
        return false;
    const char *point = memchr(word.at, '.', pf_size(word));
    return point && perf_is_number((struct pf_slice){word.at, point}) &&
           perf_is_number((struct pf_slice){point + 1, word.end - 1});
}

/* A date: `2026-04-02`. The time of day follows it. */
static inline bool is_date(struct pf_slice word)
{
    return pf_size(word) == 10 && word.at[4] == '-' && word.at[7] == '-' &&
           perf_is_number((struct pf_slice){word.at, word.at + 4}) &&
           perf_is_number((struct pf_slice){word.at + 5, word.at + 7}) &&
           perf_is_number((struct pf_slice){word.at + 8, word.end});
}

/* `4K`, `2M`, `N/A` */
static inline bool is_page_size(struct pf_slice word)
{
    size_t size = pf_size(word);
    return (size > 1 && memchr("BKMGT", word.end[-1], 5) &&
            perf_is_number((struct pf_slice){word.at, word.end - 1})) ||
           (size == 3 && pf_begins(word, "N/A"));
}

/* Returns the number of columns of a right-aligned word: its length plus the blanks before it, back to `start`. */
static inline size_t columns(const char *start, struct pf_slice word)
{
    const char *at = word.at;
    while (at > start && at[-1] == ' ')
        at--;
    return (size_t)(word.end - at);
}

/* Returns true if the text contains the end of a branch stack entry, such as `/P/-/-/4`. */
static inline bool has_branch(struct pf_slice text)
{
    for (const char *at = text.at; (at = memchr(at, '/', pf_size((struct pf_slice){at, text.end}))); at++)
        if (text.end - at >= 8 && memchr("PMN-", at[1], 4) && at[2] == '/' &&
            (at[3] == '-' || at[3] == 'X') && at[4] == '/' && (at[5] == '-' || at[5] == 'A') &&
            at[6] == '/' && isdigit((unsigned char)at[7]))
            return true;
    return false;
}

/*
 * Returns true if the text contains `word`. `rare` is a character of the word that few lines have: searching for this character first is
 * faster.
 */
static inline bool line_holds(struct pf_slice text, const char *word, char rare)
{
    return memchr(text.at, rare, pf_size(text)) && memmem(text.at, pf_size(text), word, strlen(word));
}

#endif
