/* SPDX-License-Identifier: MIT */
#include "fs/text/csv.h"

#include <stdint.h>
#include <string.h>

#include "formats/kit/print.h"
#include "formats/kit/utf8.h"

/* Masks for needs[byte]. GROWTH: number of bytes that escaping or doubling the byte adds. QUOTES: the cell must be quoted. */
enum { GROWTH = 3, QUOTES = 4 };

/* \xHH needs three additional bytes; \t, \n, \r, \\ and a doubled quote need one. */
/* clang-format off */
static const uint8_t needs[256] = {
    3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 3, 3, 1, 3, 3, /* 0x00 to 0x0f */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, /* 0x10 to 0x1f */
    ['\\'] = 1, ['"'] = 1 | QUOTES, [','] = QUOTES, [0x7f] = 3,
};
/* clang-format on */

/* Returns the size of the UTF-8 character at text; 0 if it is invalid, and its first byte must be escaped. */
static inline size_t character_size(const char *text, size_t left)
{
    size_t wrong;
    return (uint8_t)*text < 0x80 ? 1 : pf_utf8((const unsigned char *)text, left, &wrong);
}

static size_t text_size(const char *text, size_t size)
{
    size_t grown = size;
    unsigned all = 0, bytes = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned need = needs[(uint8_t)text[i]];
        grown += need & GROWTH;
        all |= need;
        bytes |= (uint8_t)text[i];
    }
    for (size_t i = 0, n; bytes & 0x80 && i < size; i += n ? n : 1) {
        n = character_size(text + i, size - i);
        grown += n ? 0 : strlen("\\xHH") - 1;
    }
    return grown + (all & QUOTES ? 2 : 0);
}

/* Writes the escape of a byte: backslash, then the byte itself, a letter, or x and two hex digits. */
static char *put_escaped(char *out, uint8_t byte)
{
    static const char hex[] = "0123456789ABCDEF";
    *out++ = '\\';
    switch (byte) {
    case '\n':
        *out++ = 'n';
        break;
    case '\r':
        *out++ = 'r';
        break;
    case '\t':
        *out++ = 't';
        break;
    case '\\':
        *out++ = '\\';
        break;
    default:
        *out++ = 'x';
        *out++ = hex[byte >> 4];
        *out++ = hex[byte & 15];
    }
    return out;
}

/* Bits of `how`. ESCAPED: control characters, backslashes and invalid UTF-8 are escaped. DOUBLED: quotes are doubled. */
enum { ESCAPED = 1, DOUBLED = 2 };

static void add_changed(struct pf_buf *out, const char *text, size_t size, unsigned how)
{
    char escaped[4];
    size_t from = 0;
    for (size_t i = 0, n = 1; i < size; i += n) {
        uint8_t byte = (uint8_t)text[i];
        n = how & ESCAPED ? character_size(text + i, size - i) : 1;
        bool escape = !n || (needs[byte] & GROWTH && byte != '"' && how & ESCAPED);
        n = n ? n : 1;
        if (!escape && !(how & DOUBLED && byte == '"'))
            continue;
        pf_buf_add(out, text + from, i - from);
        from = escape ? i + 1 : i; /* a quote is copied with the next run, after the added quote */
        pf_buf_add(out, escaped, escape ? (size_t)(put_escaped(escaped, byte) - escaped) : 0);
        pf_buf_add(out, "\"", !escape);
    }
    if (size > from)
        pf_buf_add(out, text + from, size - from);
}

/* Appends text, changed according to `how`, and quoted if it contains a comma or a quote. */
static void add_cell_text(struct pf_buf *out, const char *text, size_t size, unsigned how)
{
    bool quotes = memchr(text, '"', size) || memchr(text, ',', size);
    pf_buf_add(out, "\"", quotes);
    add_changed(out, text, size, how | DOUBLED);
    pf_buf_add(out, "\"", quotes);
}

void pf_escape(struct pf_buf *out, const char *text, size_t size)
{
    add_changed(out, text, size, ESCAPED);
}

void pf_csv_dir(struct pf_buf *out, const char *path, size_t size)
{
    add_cell_text(out, path, size, 0);
}

static void add_quoted_text(struct pf_buf *out, const char *text, size_t size)
{
    char *at = pf_buf_reserve(out, size + 2);
    if (!at)
        return;
    *at++ = '"';
    memcpy(at, text, size);
    at[size] = '"';
    out->size += size + 2;
}

static inline void add_text(struct pf_buf *out, const struct pf_cell *cell)
{
    if (cell->quoted)
        add_quoted_text(out, cell->text, cell->size);
    else if (cell->plain || pf_text_is_plain(cell->text, cell->size))
        pf_buf_add(out, cell->text, cell->size);
    else
        add_cell_text(out, cell->text, cell->size, ESCAPED);
}

/*
 * Tests the types one by one, frequent ones first. A switch would compile to an indirect jump, and a misprediction of the jump costs
 * more than printing the number.
 */
static inline char *put_number(char *out, const struct pf_cell *cell)
{
    if (cell->type == PF_INT)
        return pf_print_int(out, cell->i);
    if (cell->type == PF_DOUBLE)
        return pf_print_double(out, cell->d);
    if (cell->type == PF_UINT)
        return pf_print_uint(out, cell->u);
    return pf_print_wide(out, *cell->wide);
}

void pf_csv_cell(struct pf_buf *out, const struct pf_cell *cell)
{
    if (cell->type == PF_ABSENT)
        return;
    if (cell->type == PF_TEXT) {
        add_text(out, cell);
        return;
    }
    char *at = pf_buf_reserve(out, PF_NUMBER_MAX);
    if (at)
        out->size += (size_t)(put_number(at, cell) - at);
}

void pf_csv_row(struct pf_buf *out, const struct pf_cell *cells, size_t n, char end)
{
    for (size_t c = 0; c < n; c++) {
        pf_csv_cell(out, &cells[c]);
        if (c + 1 < n || end)
            pf_buf_char(out, c + 1 < n ? ',' : end);
    }
}

size_t pf_csv_cell_size(const struct pf_cell *cell)
{
    if (cell->type == PF_INT)
        return pf_int_size(cell->i);
    if (cell->type == PF_DOUBLE)
        return pf_double_size(cell->d);
    if (cell->type == PF_ABSENT)
        return 0;
    if (cell->type == PF_UINT)
        return pf_uint_size(cell->u);
    if (cell->type == PF_WIDE)
        return pf_wide_size(*cell->wide);
    if (cell->quoted)
        return cell->size + (size_t)2;
    if (cell->plain || pf_text_is_plain(cell->text, cell->size))
        return cell->size;
    return text_size(cell->text, cell->size);
}
