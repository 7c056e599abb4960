/* SPDX-License-Identifier: MIT */
#include "fs/profile/names.h"

#include <string.h>

#include "formats/kit/print.h"

/* The longest unit is a C1 control character: two bytes, three characters each. */
enum { UNIT_MAX = 6, ID_MAX = 20 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The range of a second byte that excludes overlong forms, surrogates and code points above U+10FFFF (The
 * Unicode Standard, table 3-7). */
static bool is_second(uint8_t lead, uint8_t byte)
{
    switch (lead) {
    case 0xe0:
        return byte >= 0xa0 && byte <= 0xbf;
    case 0xed:
        return byte >= 0x80 && byte <= 0x9f;
    case 0xf0:
        return byte >= 0x90 && byte <= 0xbf;
    case 0xf4:
        return byte >= 0x80 && byte <= 0x8f;
    default:
        return is_continuation(byte);
    }
}

/* Bytes of the UTF-8 character that the text begins with; 0 if it begins with none. */
static size_t character_size(const uint8_t *text, size_t size)
{
    uint8_t lead = text[0];
    size_t need = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (need > size || (need > 1 && !is_second(lead, text[1])))
        return 0;
    for (size_t i = 2; i < need; i++)
        if (!is_continuation(text[i]))
            return 0;
    return need;
}

static bool is_control(const uint8_t *text, size_t size)
{
    return size == 1 ? text[0] < 0x20 || text[0] == 0x7f : size == 2 && text[0] == 0xc2 && text[1] < 0xa0;
}

/* A character that may not stand for itself in a name; `first`: it would be the first one there. */
static bool is_forbidden(const char *text, size_t size, size_t character, bool first)
{
    if (*text == '%')
        return size >= 3 && is_hex(text[1]) && is_hex(text[2]);
    return *text == '/' || (*text == '.' && first) || is_control((const uint8_t *)text, character);
}

static size_t put_percent(char *out, const char *text, size_t size)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        *out++ = '%';
        *out++ = hex[byte >> 4];
        *out++ = hex[byte & 15];
    }
    return size * 3;
}

/* Most characters are: printable ASCII without a meaning in names. */
static inline bool is_ordinary(char c)
{
    return c >= ' ' && c <= '~' && c != '/' && c != '.' && c != '%';
}

/* Writes the text's first character, or its first byte if that is no character, as it stands in a name;
 * returns how many bytes it wrote and takes what it read off the text. */
static inline size_t put_unit(char out[UNIT_MAX], const char **text, size_t *size, bool first)
{
    const char *from = *text;
    if (is_ordinary(*from)) {
        *out = *from;
        ++*text;
        --*size;
        return 1;
    }
    size_t character = character_size((const uint8_t *)from, *size);
    bool as_it_is = character && !is_forbidden(from, *size, character, first);
    size_t taken = character ? character : 1;
    *text += taken;
    *size -= taken;
    if (!as_it_is)
        return put_percent(out, from, taken);
    memcpy(out, from, taken);
    return taken;
}

/* Whether a name ends in ~ and digits, whatever number they make; *digits is how many. */
static bool ends_like_suffix(const char *name, size_t size, size_t *digits)
{
    size_t start = size;
    while (start > 0 && is_digit(name[start - 1]))
        start--;
    *digits = size - start;
    return *digits > 0 && start > 0 && name[start - 1] == '~';
}

size_t pf_name(char *out, const char *text, size_t size, uint64_t id, bool suffix)
{
    size_t limit = PF_NAME_MAX - 1 - pf_uint_size(id); /* of what stands before a suffix */
    size_t length = 0, cut = 0;
    suffix |= size == 0;
    while (size > 0) {
        char unit[UNIT_MAX];
        size_t n = put_unit(unit, &text, &size, length == 0);
        if (length + n > PF_NAME_MAX) {
            suffix = true;
            break;
        }
        memcpy(out + length, unit, n);
        length += n;
        if (length <= limit)
            cut = length;
    }
    size_t digits;
    if (suffix || ends_like_suffix(out, length, &digits)) {
        char number[PF_NUMBER_MAX];
        size_t n = (size_t)(pf_print_uint(number, id) - number);
        out[cut] = '~';
        memcpy(out + cut + 1, number, n);
        length = cut + 1 + n;
    }
    out[length] = '\0';
    return length;
}

bool pf_name_id(const char *name, size_t size, uint64_t *id)
{
    size_t digits;
    if (!ends_like_suffix(name, size, &digits) || digits > ID_MAX)
        return false;
    const char *at = name + size - digits;
    if (*at == '0' && digits > 1)
        return false;
    uint64_t value = 0;
    for (; at < name + size; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *id = value;
    return true;
}
