/* SPDX-License-Identifier: MIT */
#include "formats/callgrind/callgrind.h"

#include <ctype.h>

/* Indexed by enum callgrind_word. */
static const char *const words[WORDS] = {
    "",      "ob=",     "fl=",    "fi=",        "fe=",    "fn=",     "cob=",     "cfi=",     "cfl=",  "cfn=",
    "jfi=",  "jfn=",    "calls=", "rcalls=",    "jump=",  "jcnd=",   "version:", "creator:", "pid:",  "cmd:",
    "part:", "thread:", "desc:",  "positions:", "event:", "events:", "summary:", "totals:",  "total:"};

enum callgrind_word callgrind_take_word(struct pf_slice *line)
{
    for (enum callgrind_word word = OB; word < WORDS && line->at < line->end; word++)
        if (*line->at == *words[word] && pf_take(line, words[word]))
            return word;
    return NO_WORD;
}

bool callgrind_take_count(struct pf_slice *line, pf_int128 *count)
{
    struct pf_slice item = pf_take_word(line);
    *count = 0;
    if (pf_size(item) == 1 && *item.at == '.')
        return true;
    bool negative = pf_take(&item, "-");
    if (!pf_take_digits(&item, count) || item.at < item.end)
        return false;
    *count = negative ? -*count : *count;
    return true;
}

bool callgrind_take_position(struct pf_slice *line, pf_int128 *position)
{
    struct pf_slice item = pf_take_word(line);
    pf_int128 number, last, end;
    if (pf_take(&item, "*"))
        return item.at == item.end;
    bool after = pf_take(&item, "+"), before = !after && pf_take(&item, "-");
    if (!pf_take_digits(&item, &number))
        return false;
    last = after || before ? *position : 0;
    if (before ? __builtin_sub_overflow(last, number, &number)
               : __builtin_add_overflow(last, number, &number))
        return false;
    bool range = pf_take(&item, "+") || pf_take(&item, ":");
    if ((range && !pf_take_digits(&item, &end)) || item.at < item.end)
        return false;
    *position = number;
    return true;
}

bool callgrind_take_reference(struct pf_slice *text, uint64_t *number)
{
    struct pf_slice rest = *text;
    bool found = pf_take(&rest, "(") && pf_take_number(&rest, number) && pf_take(&rest, ")");
    if (found)
        *text = rest;
    return found;
}
