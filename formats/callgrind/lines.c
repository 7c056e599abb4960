/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/lines.h"

#include <ctype.h>
#include <string.h>

static const char *const words[WORDS] = {
    [OB] = "ob=",
    [FL] = "fl=",
    [FI] = "fi=",
    [FE] = "fe=",
    [FN] = "fn=",
    [COB] = "cob=",
    [CFI] = "cfi=",
    [CFL] = "cfl=",
    [CFN] = "cfn=",
    [JFI] = "jfi=",
    [JFN] = "jfn=",
    [CALLS] = "calls=",
    [RCALLS] = "rcalls=",
    [JUMP] = "jump=",
    [JCND] = "jcnd=",
    [VERSION] = "version:",
    [CREATOR] = "creator:",
    [PID] = "pid:",
    [CMD] = "cmd:",
    [PART] = "part:",
    [THREAD] = "thread:",
    [DESC] = "desc:",
    [POSITIONS] = "positions:",
    [EVENT] = "event:",
    [EVENTS] = "events:",
    [SUMMARY] = "summary:",
    [TOTALS] = "totals:",
};

void callgrind_skip_blanks(struct callgrind_text *text)
{
    while (text->at < text->end && callgrind_is_blank(*text->at))
        text->at++;
}

struct callgrind_text callgrind_trimmed(struct callgrind_text text)
{
    callgrind_skip_blanks(&text);
    while (text.end > text.at && callgrind_is_blank(text.end[-1]))
        text.end--;
    return text;
}

enum callgrind_word callgrind_take_word(struct callgrind_text *line)
{
    for (enum callgrind_word word = OB; word < WORDS; word++) {
        const char *at = line->at, *same = words[word];
        while (*same && at < line->end && *at == *same)
            at++, same++;
        if (*same)
            continue;
        line->at = at;
        return word;
    }
    return NO_WORD;
}

bool callgrind_take_item(struct callgrind_text *line, struct callgrind_text *item)
{
    callgrind_skip_blanks(line);
    item->at = line->at;
    while (line->at < line->end && !callgrind_is_blank(*line->at))
        line->at++;
    item->end = line->at;
    return item->at < item->end;
}

/* The value of a digit, `base` or more if it is none. */
static unsigned digit_of(char c)
{
    unsigned decimal = (unsigned char)c - (unsigned)'0', letter = ((unsigned char)c | 32u) - 'a';
    return decimal < 10 ? decimal : letter < 6 ? 10 + letter : 16;
}

bool callgrind_take_digits(struct callgrind_text *text, pf_int128 *number)
{
    bool hex = text->end - text->at > 2 && text->at[0] == '0' && (text->at[1] | 32) == 'x';
    const char *first = text->at += hex ? 2 : 0;
    unsigned base = hex ? 16 : 10, digit;
    uint64_t low = 0;
    for (; text->at < text->end && text->at - first < 15 && (digit = digit_of(*text->at)) < base; text->at++)
        low = low * base + digit;
    *number = low;
    for (; text->at < text->end && (digit = digit_of(*text->at)) < base; text->at++)
        if (__builtin_mul_overflow(*number, (pf_int128)base, number) ||
            __builtin_add_overflow(*number, (pf_int128)digit, number))
            return false;
    return text->at > first;
}

bool callgrind_take_count(struct callgrind_text *line, pf_int128 *count)
{
    struct callgrind_text item;
    *count = 0;
    if (!callgrind_take_item(line, &item))
        return false;
    if (item.end - item.at == 1 && *item.at == '.')
        return true;
    bool negative = *item.at == '-';
    item.at += negative;
    if (!callgrind_take_digits(&item, count) || item.at < item.end)
        return false;
    *count = negative ? -*count : *count;
    return true;
}

bool callgrind_take_position(struct callgrind_text *line)
{
    struct callgrind_text item;
    pf_int128 number;
    if (!callgrind_take_item(line, &item))
        return false;
    if (*item.at == '*')
        return item.end - item.at == 1;
    item.at += *item.at == '+' || *item.at == '-';
    if (!callgrind_take_digits(&item, &number))
        return false;
    if (item.at == item.end)
        return true;
    if (*item.at != '+' && *item.at != ':')
        return false;
    item.at++;
    return callgrind_take_digits(&item, &number) && item.at == item.end;
}

bool callgrind_take_number(struct callgrind_text *text, uint64_t *number)
{
    enum { DIGITS = 18 }; /* so many always fit */
    const char *at = text->at, *first = at + 1;
    *number = 0;
    if (at == text->end || *at++ != '(')
        return false;
    for (; at < text->end && isdigit((unsigned char)*at) && at - first < DIGITS; at++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    if (at == first || at == text->end || *at != ')')
        return false;
    text->at = at + 1;
    return true;
}
