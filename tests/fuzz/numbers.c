/* SPDX-License-Identifier: MIT */
/* Any text is parsed as a number or rejected safely, strtod gives the same value for accepted numbers, and any double survives printing
 * and parsing. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/number.h"
#include "formats/kit/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static double parsed(const char *text, const char *end)
{
    double value = 0;
    require(pf_parse_double(text, (size_t)(end - text), &value));
    return value;
}

static void survives_printing(double value)
{
    char text[PF_PLAIN_MAX];
    char *end = pf_print_double(text, value);
    require(end - text <= 24 && (size_t)(end - text) == pf_double_size(value));
    require(same(parsed(text, end), value));
    end = pf_print_double_plain(text, value);
    require(end <= text + 327 && same(parsed(text, end), value));
    require(!isfinite(value) || !memchr(text, 'e', (size_t)(end - text)));
}

static void integer_has_its_size(uint64_t value)
{
    char text[PF_NUMBER_MAX];
    require(pf_print_uint(text, value) == text + pf_uint_size(value));
    require(pf_print_int(text, (int64_t)value) == text + pf_int_size((int64_t)value));
    pf_int128 wide = (pf_int128)(int64_t)value * INT64_C(0x7000000000000001);
    require(pf_print_wide(text, wide) == text + pf_wide_size(wide));
}

/* strtod must give the same value for each accepted number; underscores, which it does not support, are removed first. */
static void reads_as_by_strtod(const char *text, size_t size)
{
    double value;
    if (!pf_parse_double(text, size, &value))
        return;
    char *copy = malloc(size + 1), *end;
    require(copy != NULL);
    size_t kept = 0;
    for (size_t i = 0; i < size; i++)
        if (text[i] != '_')
            copy[kept++] = text[i];
    copy[kept] = '\0';
    require(same(strtod(copy, &end), value) && end == copy + kept);
    free(copy);
    survives_printing(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reads_as_by_strtod((const char *)data, size);
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t bits;
        double value;
        memcpy(&bits, data, sizeof bits);
        memcpy(&value, data, sizeof value);
        survives_printing(value);
        integer_has_its_size(bits);
    }
    return 0;
}
