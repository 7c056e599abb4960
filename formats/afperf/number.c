/* SPDX-License-Identifier: MIT */
#include "formats/afperf/number.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/number.h"

/* Maximum length of a number that read_special reads. Longer numbers count as text. */
enum { HEX_MAX = 400 };

struct afperf_text afperf_trim(struct afperf_text text)
{
    const char *at = text.text, *end = at + text.size;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct afperf_text){at, (size_t)(end - at)};
}

bool afperf_is(struct afperf_text text, const char *word)
{
    return text.size == strlen(word) && !memcmp(text.text, word, text.size);
}

/* ---- integers ----------------------------------------------------------------------------------- */

/* Returns the value of a hexadecimal digit; 16 or more if `c` is not one. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    unsigned letter = (unsigned)((c | 0x20) - 'a');
    return letter < 6 ? 10 + letter : 16;
}

/* Parses an integer of any sign. Sets *size to its absolute value. */
static enum afperf_problem read_integer(struct afperf_text text, uint64_t *size, bool *minus, bool *padded)
{
    text = afperf_trim(text);
    const char *at = text.text, *end = at + text.size;
    if (at == end)
        return AFPERF_MISSING_FIELD;
    *minus = *at == '-';
    at += *at == '-' || *at == '+';
    bool hex = end - at >= 2 && at[0] == '0' && (at[1] | 0x20) == 'x', overflow = false;
    at += 2 * hex;
    if (at == end)
        return AFPERF_BAD_INTEGER;
    bool zero = !hex && *at == '0' && end - at > 1;
    unsigned base = hex ? 16 : 10;
    uint64_t value = 0;
    for (; at < end; at++) {
        unsigned digit = digit_of(*at);
        if (digit >= base)
            return AFPERF_BAD_INTEGER;
        overflow |=
            __builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value);
    }
    *size = value;
    *padded |= zero && !*minus && !overflow;
    return overflow ? AFPERF_NUMBER_OUT_OF_RANGE : AFPERF_SOUND;
}

enum afperf_problem afperf_unsigned(struct afperf_text text, uint64_t *value, bool *padded)
{
    bool minus = false;
    enum afperf_problem problem = read_integer(text, value, &minus, padded);
    bool number = problem == AFPERF_SOUND || problem == AFPERF_NUMBER_OUT_OF_RANGE;
    return number && minus ? AFPERF_NEGATIVE_NUMBER : problem;
}

/* Parses an integer from `low` to `high`, and stores it in *cell. Returns false if the text is not such an integer. */
static bool integer_value(struct afperf_text text, int64_t low, int64_t high, struct pf_cell *cell)
{
    uint64_t size;
    bool minus, padded = false;
    if (read_integer(text, &size, &minus, &padded) || size > (uint64_t)INT64_MAX + minus)
        return false;
    int64_t value = minus ? (int64_t)(0 - size) : (int64_t)size;
    if (value < low || value > high)
        return false;
    *cell = pf_int(value);
    return true;
}

/* ---- floating point ----------------------------------------------------------------------------- */

/*
 * Parses hexadecimal numbers and `nan(...)` with strtod, from a terminated copy. Requires the C locale, which the
 * program never changes.
 */
static bool read_special(struct afperf_text text, double *value)
{
    char copy[HEX_MAX + 1], *end;
    if (text.size > HEX_MAX || isspace((unsigned char)*text.text))
        return false;
    memcpy(copy, text.text, text.size);
    copy[text.size] = 0;
    *value = strtod(copy, &end);
    return end == copy + text.size;
}

bool afperf_double(struct afperf_text text, double *value)
{
    text = afperf_trim(text);
    for (size_t i = 0; i < text.size; i++) {
        char c = text.text[i];
        if (c == 'x' || c == 'X' || c == '(')
            return read_special(text, value);
        if (c == '_') /* pf_parse_double accepts underscores between digits */
            return false;
    }
    return pf_parse_double(text.text, text.size, value);
}

/* ---- values ------------------------------------------------------------------------------------- */

enum afperf_datatype afperf_datatype(struct afperf_text name)
{
    static const struct {
        const char *name;
        enum afperf_datatype datatype;
    } all[] = {
        {"double", AFPERF_DOUBLE}, {"int32", AFPERF_INT32}, {"int64", AFPERF_INT64},
        {"integer", AFPERF_INT64}, /* used by the format document's examples */
        {"bool", AFPERF_BOOL},     {"string", AFPERF_TEXT}, {"enum", AFPERF_TEXT},
    };
    name = afperf_trim(name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (afperf_is(name, all[i].name))
            return all[i].datatype;
    return AFPERF_ANY;
}

static bool double_value(struct afperf_text text, struct pf_cell *cell)
{
    double value;
    if (!afperf_double(text, &value))
        return false;
    *cell = pf_double(value);
    return true;
}

/* Converts a value of unknown datatype. *cell holds the text; if the text is a number, *cell becomes the number. */
static bool any_value(struct afperf_text text, struct pf_cell *cell)
{
    uint64_t large;
    bool padded = false;
    if (integer_value(text, INT64_MIN, INT64_MAX, cell))
        return true;
    if (afperf_unsigned(text, &large, &padded) == AFPERF_SOUND)
        *cell = pf_uint(large);
    else
        double_value(text, cell);
    return true;
}

bool afperf_value(enum afperf_datatype datatype, struct afperf_text text, struct pf_cell *cell)
{
    struct afperf_text number = afperf_trim(text);
    bool is_text = datatype == AFPERF_TEXT || (datatype == AFPERF_ANY && !number.size);
    *cell = pf_text(text.text, text.size);
    if (!is_text && !number.size)
        *cell = pf_absent();
    if (is_text || !number.size)
        return true;
    switch (datatype) {
    case AFPERF_DOUBLE:
        return double_value(number, cell);
    case AFPERF_INT32:
        return integer_value(number, INT32_MIN, INT32_MAX, cell);
    case AFPERF_BOOL:
        return (afperf_is(number, "0") || afperf_is(number, "1")) && integer_value(number, 0, 1, cell);
    case AFPERF_INT64:
        return integer_value(number, INT64_MIN, INT64_MAX, cell);
    default:
        return any_value(number, cell);
    }
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
        {"\xc3\x8e\xc2\xbcs", 1000}, /* Greek mu, UTF-8 encoded twice, as printed in the format document */
        {"milliseconds", 1000000},   {"ms", 1000000}, {"seconds", 1000000000}, {"s", 1000000000},
    };
    unit = afperf_trim(unit);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (afperf_is(unit, all[i].name))
            return all[i].nanoseconds;
    return 0;
}
