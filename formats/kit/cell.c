/* SPDX-License-Identifier: MIT */
#include "formats/kit/cell.h"

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Nonzero if a byte of the word is below `limit` (at most 0x80). */
static inline uint64_t has_below(uint64_t word, uint8_t limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

static inline uint64_t has_byte(uint64_t word, uint8_t byte)
{
    return has_below(word ^ EACH_BYTE(byte), 1);
}

/* Bytes outside ASCII are not plain, since only the printing code validates UTF-8. */
static inline bool eight_are_plain(uint64_t word)
{
    return !(has_below(word, 0x20) | has_byte(word, '"') | has_byte(word, ',') | has_byte(word, '\\') |
             has_byte(word, 0x7f) | (word & EACH_BYTE(0x80)));
}

bool pf_text_is_plain(const char *text, size_t size)
{
    uint64_t word = EACH_BYTE(' ');
    if (size < sizeof word) {
        if (size)
            memcpy(&word, text, size);
        return eight_are_plain(word);
    }
    size_t last = size - sizeof word;
    for (size_t i = 0; i < last; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        if (!eight_are_plain(word))
            return false;
    }
    memcpy(&word, text + last, sizeof word);
    return eight_are_plain(word);
}

/* True if a comma is the only reason for quotes. */
static bool needs_no_escape(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (byte < 0x20 || byte == '"' || byte == '\\' || byte >= 0x7f)
            return false;
    }
    return true;
}

void pf_cell_mark(struct pf_cell *cell)
{
    bool text = cell->type == PF_TEXT;
    cell->plain = text && pf_text_is_plain(cell->text, cell->size);
    cell->quoted = text && !cell->plain && needs_no_escape(cell->text, cell->size);
}
