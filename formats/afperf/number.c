/* SPDX-License-Identifier: MIT */
#include "formats/afperf/number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/kit/parse.h"

/* Longer hexadecimal floating point numbers are taken for text. */
enum { HEX_MAX = 400 };

bool afperf_is(struct afperf_text text, const char *word)
{
    return text.size == strlen(word) && !memcmp(text.text, word, text.size);
}

/* Takes a sign off the text, if there is one; true if it is a minus. */
static bool take_sign(struct afperf_text *text)
{
    if (!text->size || (*text->text != '-' && *text->text != '+'))
        return false;
    bool minus = *text->text == '-';
    text->text++;
    text->size--;
    return minus;
}

static bool take_0x(struct afperf_text *text)
{
    if (text->size < 2 || text->text[0] != '0' || (text->text[1] | 0x20) != 'x')
        return false;
    text->text += 2;
    text->size -= 2;
    return true;
}

/* What a digit is worth; 16 or more: it is none. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    unsigned letter = (unsigned)((c | 0x20) - 'a');
    return letter < 6 ? 10 + letter : 16;
}

/* Digits to the end of the text. */
static inline enum afperf_parsed read_digits(struct afperf_text text, unsigned base, uint64_t *value)
{
    uint64_t sum = 0;
    bool overflow = false;
    if (!text.size)
        return AFPERF_NO_INTEGER;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = digit_of(text.text[i]);
        if (digit >= base)
            return AFPERF_NO_INTEGER;
        overflow |= __builtin_mul_overflow(sum, base, &sum);
        overflow |= __builtin_add_overflow(sum, digit, &sum);
    }
    *value = sum;
    return overflow ? AFPERF_OUT_OF_RANGE : AFPERF_NUMBER;
}

enum afperf_parsed afperf_unsigned(struct afperf_text text, uint64_t *value, bool *padded)
{
    text = afperf_trim(text);
    if (!text.size)
        return AFPERF_BLANK;
    bool minus = take_sign(&text), hex = take_0x(&text);
    enum afperf_parsed parsed = read_digits(text, hex ? 16 : 10, value);
    if (parsed == AFPERF_NO_INTEGER)
        return parsed;
    if (minus)
        return AFPERF_NEGATIVE;
    *padded |= parsed == AFPERF_NUMBER && !hex && text.size > 1 && *text.text == '0';
    return parsed;
}

enum afperf_parsed afperf_signed(struct afperf_text text, int64_t *value)
{
    text = afperf_trim(text);
    if (!text.size)
        return AFPERF_BLANK;
    uint64_t size = 0;
    bool minus = take_sign(&text), hex = take_0x(&text);
    enum afperf_parsed parsed = read_digits(text, hex ? 16 : 10, &size);
    if (parsed == AFPERF_NUMBER && size > (uint64_t)INT64_MAX + minus)
        return AFPERF_OUT_OF_RANGE;
    *value = minus ? (int64_t)(0 - size) : (int64_t)size;
    return parsed;
}

/* ---- floating point ----------------------------------------------------------------------------- */

/* What has 0x: the C library reads it, from a copy with an end. The program never leaves the C locale. */
static bool read_hex(struct afperf_text text, double *value)
{
    char copy[HEX_MAX + 1], *end;
    if (text.size > HEX_MAX)
        return false;
    memcpy(copy, text.text, text.size);
    copy[text.size] = 0;
    *value = strtod(copy, &end);
    return end == copy + text.size;
}

/* `nan(...)`: letters, digits and underscores in the brackets. */
static bool is_nan_with_characters(struct afperf_text text)
{
    if (text.size < 5 || text.text[text.size - 1] != ')' || strncasecmp(text.text, "nan(", 4) != 0)
        return false;
    for (size_t i = 4; i + 1 < text.size; i++)
        if (!isalnum((unsigned char)text.text[i]) && text.text[i] != '_')
            return false;
    return true;
}

bool afperf_double(struct afperf_text text, double *value)
{
    text = afperf_trim(text);
    struct afperf_text rest = text;
    take_sign(&rest);
    if (take_0x(&rest))
        return read_hex(text, value);
    if (is_nan_with_characters(rest)) {
        *value = (double)NAN;
        return true;
    }
    /* The project's parser takes underscores between digits, which C does not. */
    return pf_parse_double(text.text, text.size, value) && !memchr(text.text, '_', text.size);
}

/* ---- values ------------------------------------------------------------------------------------- */

enum afperf_datatype afperf_datatype(struct afperf_text name)
{
    static const struct {
        const char *name;
        enum afperf_datatype datatype;
    } all[] = {
        {"double", AFPERF_DOUBLE}, {"int32", AFPERF_INT32}, {"int64", AFPERF_INT64},
        {"integer", AFPERF_INT64}, /* in the format document's own list of examples */
        {"bool", AFPERF_BOOL},     {"string", AFPERF_TEXT}, {"enum", AFPERF_TEXT},
    };
    name = afperf_trim(name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (afperf_is(name, all[i].name))
            return all[i].datatype;
    return AFPERF_ANY;
}

static bool integer_value(struct afperf_text text, int64_t low, int64_t high, struct pf_cell *cell)
{
    int64_t value;
    enum afperf_parsed parsed = afperf_signed(text, &value);
    if (parsed == AFPERF_BLANK) {
        *cell = pf_absent();
        return true;
    }
    if (parsed != AFPERF_NUMBER || value < low || value > high)
        return false;
    *cell = pf_int(value);
    return true;
}

static bool double_value(struct afperf_text text, struct pf_cell *cell)
{
    double value;
    if (!afperf_trim(text).size) {
        *cell = pf_absent();
        return true;
    }
    if (!afperf_double(text, &value))
        return false;
    *cell = pf_double(value);
    return true;
}

static void any_value(struct afperf_text text, struct pf_cell *cell)
{
    uint64_t large;
    bool padded = false;
    if (!afperf_trim(text).size || integer_value(text, INT64_MIN, INT64_MAX, cell))
        return;
    if (afperf_unsigned(text, &large, &padded) == AFPERF_NUMBER)
        *cell = pf_uint(large);
    else
        double_value(text, cell);
}

bool afperf_value(enum afperf_datatype datatype, struct afperf_text text, struct pf_cell *cell)
{
    *cell = pf_text(text.text, text.size);
    switch (datatype) {
    case AFPERF_DOUBLE:
        return double_value(text, cell);
    case AFPERF_INT32:
        return integer_value(text, INT32_MIN, INT32_MAX, cell);
    case AFPERF_INT64:
        return integer_value(text, INT64_MIN, INT64_MAX, cell);
    case AFPERF_BOOL: {
        struct afperf_text bit = afperf_trim(text);
        if (bit.size && !afperf_is(bit, "0") && !afperf_is(bit, "1"))
            return false;
        *cell = bit.size ? pf_int(*bit.text - '0') : pf_absent();
        return true;
    }
    case AFPERF_ANY:
        any_value(text, cell);
        return true;
    case AFPERF_TEXT:
        break;
    }
    return true;
}

uint64_t afperf_nanoseconds(struct afperf_text unit)
{
    static const struct {
        const char *name;
        uint64_t nanoseconds;
    } all[] = {
        {"nanoseconds", 1},          {"ns", 1},       {"microseconds", 1000},  {"us", 1000},
        {"\xc2\xb5s", 1000},         /* micro sign */
        {"\xce\xbcs", 1000},         /* Greek mu */
        {"\xc3\x8e\xc2\xbcs", 1000}, /* Greek mu, encoded twice: as the format document prints it */
        {"milliseconds", 1000000},   {"ms", 1000000}, {"seconds", 1000000000}, {"s", 1000000000},
    };
    unit = afperf_trim(unit);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (afperf_is(unit, all[i].name))
            return all[i].nanoseconds;
    return 0;
}
