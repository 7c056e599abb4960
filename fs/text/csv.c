/* SPDX-License-Identifier: MIT */
#include "fs/text/csv.h"

#include <stdint.h>
#include <string.h>

#include "formats/kit/print.h"
#include "formats/kit/utf8.h"

/* A byte that stands not for itself: as a letter or as two hex digits behind a backslash. */
static size_t put_escaped(char *out, uint8_t byte)
{
    static const char hex[] = "0123456789ABCDEF";
    const char *letter = memchr("\nn\rr\tt\\\\", byte, 8);
    bool known = letter && (byte < 0x20 || byte == '\\');
    char escaped[] = {'\\', known ? letter[1] : 'x', hex[byte >> 4], hex[byte & 15]};
    memcpy(out, escaped, sizeof escaped);
    return known ? 2 : sizeof escaped;
}

/* What a character of `n` bytes (0: none that is UTF-8) becomes: at most four bytes more than it has. */
static size_t put_character(char *out, const char *text, size_t n, bool quotes)
{
    uint8_t byte = (uint8_t)*text;
    if (!n) { /* the text `\xHH`, lest who undoes escapes take the byte for a character */
        *out = '\\';
        return 1 + put_escaped(out + 1, byte);
    }
    if (byte < 0x20 || byte == '\\' || byte == 0x7f)
        return put_escaped(out, byte);
    if (byte == '"' && quotes) {
        memcpy(out, "\"\"", 2);
        return 2;
    }
    memcpy(out, text, n);
    return n;
}

/* Text with escapes and, if `quotes`, doubled quotes. out NULL: its size alone is wanted. */
static size_t put_text(struct pf_buf *out, const char *text, size_t size, bool quotes)
{
    size_t put = 0;
    for (size_t i = 0; i < size;) {
        char character[8];
        size_t wrong, n = pf_utf8((const unsigned char *)text + i, size - i, &wrong);
        size_t m = put_character(character, text + i, n, quotes);
        if (out)
            pf_buf_add(out, character, m);
        put += m;
        i += n ? n : 1;
    }
    return put;
}

static bool needs_quotes(const char *text, size_t size)
{
    return memchr(text, '"', size) || memchr(text, ',', size);
}

void pf_escape(struct pf_buf *out, const char *text, size_t size)
{
    put_text(out, text, size, false);
}

void pf_csv_path(struct pf_buf *out, const char *path, size_t size)
{
    bool quotes = needs_quotes(path, size);
    if (quotes)
        pf_buf_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        if (path[i] == '"')
            pf_buf_char(out, '"');
        pf_buf_char(out, path[i]);
    }
    if (quotes)
        pf_buf_char(out, '"');
}

static void add_escaped_text(struct pf_buf *out, const char *text, size_t size)
{
    bool quotes = needs_quotes(text, size);
    if (quotes)
        pf_buf_char(out, '"');
    put_text(out, text, size, quotes);
    if (quotes)
        pf_buf_char(out, '"');
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
        add_escaped_text(out, cell->text, cell->size);
}

/* The types are told apart by comparing, the frequent ones first: the jump that a switch makes through a
 * table costs more than printing the number where processors do not predict such jumps. */
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
    bool quotes = needs_quotes(cell->text, cell->size);
    return put_text(NULL, cell->text, cell->size, quotes) + (quotes ? 2 : 0);
}
