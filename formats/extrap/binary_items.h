/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_BINARY_ITEMS_H
#define PF_EXTRAP_BINARY_ITEMS_H

#include "formats/extrap/study.h"

/*
 * The items of an Extra-P 3.0 file: integers of 64 bits, doubles, and strings of a length of 32 bits and that many bytes;
 * nothing is aligned. Reading is sticky: once an item could not be read, all are zero or empty, and study->error tells what
 * went wrong first, with its offset.
 */
enum { PF_ITEM_MAX = 32 * 1024, PF_ITEMS_HELD = 64 * 1024 }; /* bytes of the longest string; read at once */

struct pf_items {
    struct pf_study *study;
    uint64_t end; /* of what is read */
    bool big_endian;
    bool broken;
    uint64_t at;   /* of the next item */
    uint64_t base; /* of what is at hand */
    size_t have;
    unsigned char buffer[PF_ITEMS_HELD];
};

/* items: zeroed. Reads the mark of the byte order. */
void pf_items_open(struct pf_items *items, struct pf_study *study);

/* How many bytes are left. */
uint64_t pf_items_left(const struct pf_items *items);

/* Says what is wrong with the item at an offset, unless something was before. `word` may be what the sentence begins with. */
void pf_items_damage(struct pf_items *items, int code, uint64_t at, const char *word, const char *what);

int64_t pf_item_int(struct pf_items *items);
double pf_item_real(struct pf_items *items);
struct pf_cell pf_item_string(struct pf_items *items); /* valid until the next item */

/* How many things follow; less than none is damage. */
int64_t pf_item_count(struct pf_items *items);

/* A string that has to be this word. */
void pf_item_expect(struct pf_items *items, const char *word);

/* Passes over n things of this size, of which there may be less than none. */
void pf_item_skip(struct pf_items *items, int64_t n, size_t size);

static inline bool pf_item_is(struct pf_cell text, const char *word)
{
    return strlen(word) == text.size && !memcmp(text.text, word, text.size);
}

#endif
