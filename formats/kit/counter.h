/* SPDX-License-Identifier: MIT */
#ifndef PF_COUNTER_H
#define PF_COUNTER_H

#include "formats/kit/cell.h"
#include "formats/kit/print.h"

/*
 * Numbers that count up, such as those of rows, as text: to add one to the text takes less than to print the next number.
 * Zeroed, it stands nowhere. For one thread.
 */
enum { PF_COUNTER_DIGITS = 20 };

struct pf_counter {
    uint64_t value;
    unsigned size; /* digits, at the end of those that there is room for; 0: none yet */
    char text[PF_COUNTER_DIGITS + PF_PADDING]; /* text may be read behind the digits */
};

static inline void pf_counter_set(struct pf_counter *counter, uint64_t value)
{
    char digits[PF_NUMBER_MAX];
    counter->value = value;
    counter->size = (unsigned)(pf_print_uint(digits, value) - digits);
    memcpy(counter->text + PF_COUNTER_DIGITS - counter->size, digits, counter->size);
}

/* To the next number. A last 9 becomes 0, and what is before it is one more; nine times of ten that is not so. */
static inline void pf_counter_step(struct pf_counter *counter)
{
    char *last = counter->text + PF_COUNTER_DIGITS - 1;
    if (*last == '9') {
        pf_counter_set(counter, counter->value + 1);
        return;
    }
    ++*last;
    counter->value++;
}

/* The number as a cell, valid until the next call. Cheap if it is the one after that of the last call. */
static inline struct pf_cell pf_counter_cell(struct pf_counter *counter, uint64_t value)
{
    if (counter->size && value && value - 1 == counter->value)
        pf_counter_step(counter);
    else
        pf_counter_set(counter, value);
    return pf_padded(counter->text + PF_COUNTER_DIGITS - counter->size, counter->size);
}

#endif
