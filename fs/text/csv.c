/* SPDX-License-Identifier: MIT */
#include "fs/text/csv.h"

#include <stdint.h>
#include <string.h>

#include "formats/kit/print.h"
#include "formats/kit/utf8.h"

/* What a byte of text asks for: how many bytes it takes beyond itself, and whether the cell needs quotes. */
enum { GROWTH = 3, QUOTES = 4 };

/* \xHH takes three bytes more than the byte itself; \t, \n, \r and a doubled quote take one. */
/* clang-format off */
static const uint8_t needs[256] = {
    3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 3, 3, 1, 3, 3, /* 0x00 to 0x0f */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, /* 0x10 to 0x1f */
    ['\\'] = 1, ['"'] = 1 | QUOTES, [','] = QUOTES, [0x7f] = 3,
};
/* clang-format on */

static size_t text_size(const char *text, size_t size)
{
    size_t grown = size;
    unsigned all = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned need = needs[(uint8_t)text[i]];
        grown += need & GROWTH;
        all |= need;
    }
    return grown + (all & QUOTES ? 2 : 0);
}

/* One byte with a backslash before it, as itself, as a letter or as two hex digits. */
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

static void add_escaped_text(struct pf_buf *out, const char *text, size_t size)
{
    size_t grown = text_size(text, size);
    char *at = pf_buf_reserve(out, grown);
    if (!at)
        return;
    bool quotes = memchr(text, '"', size) || memchr(text, ',', size);
    if (quotes)
        *at++ = '"';
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (byte == '"')
            *at++ = '"';
        if (needs[byte] & GROWTH && byte != '"')
            at = put_escaped(at, byte);
        else
            *at++ = text[i];
    }
    if (quotes)
        *at = '"';
    out->size += grown;
}

void pf_escape(struct pf_buf *out, const char *text, size_t size)
{
    char escaped[4];
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (!(needs[byte] & GROWTH) || byte == '"')
            continue;
        pf_buf_add(out, text + from, i - from);
        pf_buf_add(out, escaped, (size_t)(put_escaped(escaped, byte) - escaped));
        from = i + 1;
    }
    if (size > from)
        pf_buf_add(out, text + from, size - from);
}

void pf_csv_dir(struct pf_buf *out, const char *path, size_t size)
{
    bool quotes = memchr(path, '"', size) || memchr(path, ',', size);
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

void pf_csv_path(struct pf_buf *out, const char *path)
{
    size_t left = strlen(path);
    bool quotes = strpbrk(path, "\",") != NULL;
    if (quotes)
        pf_buf_char(out, '"');
    while (left) {
        size_t wrong, n = pf_utf8((const unsigned char *)path, left, &wrong);
        uint8_t byte = (uint8_t)*path;
        char escaped[4];
        if (byte == '"')
            pf_buf_str(out, "\"\"");
        else if (!n || needs[byte] & GROWTH)
            pf_buf_add(out, escaped, (size_t)(put_escaped(escaped, byte) - escaped));
        else
            pf_buf_add(out, path, n);
        n = n ? n : 1;
        path += n;
        left -= n;
    }
    if (quotes)
        pf_buf_char(out, '"');
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
