/* SPDX-License-Identifier: MIT */
#include "formats/afperf/plain.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Each step takes what stands at `at` and returns where the next one begins, or NULL if the line is not plain; so that steps can
 * follow each other, of NULL they make NULL. None goes beyond a newline, so none reads more than AFPERF_PADDING bytes from the
 * first one on.
 */

/* ---- numbers ------------------------------------------------------------------------------------ */

/* Decimal digits from `at` on. Returns how many there are; the value is sound up to 19 of them. */
static inline size_t decimal(const char *at, uint64_t *value)
{
    const char *start = at;
    uint64_t sum = 0;
    for (unsigned digit; (digit = (unsigned)*at - '0') <= 9; at++)
        sum = sum * 10 + digit;
    *value = sum;
    return (size_t)(at - start);
}

/* The same in hexadecimal, in letters of either case, up to 16 digits. */
static inline size_t hexadecimal(const char *at, uint64_t *value)
{
    const char *start = at;
    uint64_t sum = 0;
    for (unsigned digit; (digit = afperf_hex_digits[(unsigned char)*at]) <= 15; at++)
        sum = sum << 4 | digit;
    *value = sum;
    return (size_t)(at - start);
}

/* ---- fields ------------------------------------------------------------------------------------- */

/* Steps over what ends a field: a comma, or the line's end. */
static inline const char *end_field(const char *at)
{
    if (*at == ',')
        return at + 1;
    at += *at == '\r';
    return *at == '\n' ? at + 1 : NULL;
}

/* True behind the last field. */
static inline bool has_ended(const char *at)
{
    return at[-1] == '\n';
}

/* An integer up to 2^64 - 1 without zeros before it. */
static const char *take_number(const char *at, uint64_t *value)
{
    size_t digits = 1;
    if (!at || has_ended(at))
        return NULL;
    if (*at != '0') {
        digits = decimal(at, value);
        if (digits < 1 || digits > 19)
            return NULL;
    } else if (at[1] == 'x') {
        at += 2;
        digits = hexadecimal(at, value);
        if (digits < 1 || digits > 16)
            return NULL;
    } else {
        *value = 0;
    }
    return end_field(at + digits);
}

static inline const char *take_time(const char *at, struct afperf_decoded *decoded)
{
    at = take_number(at, &decoded->time);
    decoded->end = decoded->time;
    return at;
}

static inline const char *take_span(const char *at, struct afperf_decoded *decoded)
{
    at = take_number(take_number(at, &decoded->end), &decoded->time);
    return at && decoded->end >= decoded->time ? at : NULL;
}

/* As everywhere, a field beyond the last one is blank. */
static inline const char *take_id(const char *at, struct afperf_id *id)
{
    if (!at || has_ended(at))
        return at;
    const char *blank = end_field(at);
    id->given = !blank;
    return blank ? blank : take_number(at, &id->id);
}

/* Where a byte may stand: in a field, between quotes. Quotes, control characters and what is no ASCII may not. */
enum { IN_FIELD = 1, IN_QUOTES = 2 };
/* clang-format off */
static const unsigned char may_stand[256] = {
    [0x20] = 3, 3, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, IN_QUOTES, 3, 3, 3, /* space to `/` */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,                  /* 0x30 */
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,
    3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3,                     /* 0x70 to `~` */
};
/* clang-format on */

/* The next byte that may not stand there. */
static inline const char *text_end(const char *at, unsigned there)
{
    while (may_stand[(unsigned char)*at] & there)
        at++;
    return at;
}

/* Text that may be quoted, but has no quotes of its own. */
static const char *take_text(const char *at, struct afperf_text *text)
{
    if (!at || has_ended(at))
        return at;
    bool quoted = *at == '"';
    at += quoted;
    const char *end = text_end(at, quoted ? IN_QUOTES : IN_FIELD);
    *text = (struct afperf_text){at, (size_t)(end - at)};
    if (!quoted)
        return end_field(end);
    return *end == '"' ? end_field(end + 1) : NULL;
}

/* Text, around which blanks would not count. */
static inline const char *take_word(const char *at, struct afperf_text *text)
{
    at = take_text(at, text);
    bool blanks = text->size && (text->text[0] == ' ' || text->text[text->size - 1] == ' ');
    return blanks ? NULL : at;
}

/* A value. Most are numbers. */
static inline const char *take_value(const char *at, struct afperf_pair *pair)
{
    uint64_t unused;
    size_t sign = *at == '-', whole = decimal(at + sign, &unused), fraction = 0;
    const char *end = at + sign + whole;
    bool point = *end == '.';
    if (point) {
        fraction = decimal(end + 1, &unused);
        end += 1 + fraction;
    }
    const char *next = whole + fraction ? end_field(end) : NULL;
    if (!next) {
        pair->look = AFPERF_LOOKS_ANYHOW;
        pair->value = (struct afperf_text){"", 0};
        return take_text(at, &pair->value);
    }
    pair->look = point || whole > 18 ? AFPERF_LOOKS_DECIMAL : AFPERF_LOOKS_INTEGER;
    pair->value = (struct afperf_text){at, (size_t)(end - at)};
    return next;
}

/* The rest of the record, of which this is the next field: a few pairs. */
static const char *take_pairs(const char *at, struct afperf_decoded *decoded, size_t field)
{
    size_t n = 0;
    do {
        struct afperf_pair *pair = &decoded->pairs[n];
        if (n == AFPERF_PAIRS_KEPT || !(at = take_number(at, &pair->type_id)) || has_ended(at) ||
            !(at = take_value(at, pair)))
            return NULL;
        n++;
    } while (!has_ended(at));
    decoded->n_pairs = n;
    decoded->values = field;
    decoded->values_end = field + 2 * n;
    return at;
}

/* ---- records ------------------------------------------------------------------------------------ */

/* Steps over a word if it stands here. */
#define TAKE(at, word) (memcmp(*(at), word, sizeof(word) - 1) ? false : (*(at) += sizeof(word) - 1, true))

/* The type, by name or number, and the comma behind it. */
static inline enum afperf_type take_type(const char **at)
{
    uint64_t number;
    if (TAKE(at, "Region"))
        return TAKE(at, "Point,")       ? AFPERF_REGION_POINT
               : TAKE(at, "Start,")     ? AFPERF_REGION_START
               : TAKE(at, "Stop,")      ? AFPERF_REGION_STOP
               : TAKE(at, "Aggregate,") ? AFPERF_REGION_AGGREGATE
                                        : AFPERF_UNKNOWN;
    if (TAKE(at, "Section"))
        return TAKE(at, "Point,")       ? AFPERF_SECTION_POINT
               : TAKE(at, "Start,")     ? AFPERF_SECTION_START
               : TAKE(at, "Stop,")      ? AFPERF_SECTION_STOP
               : TAKE(at, "Aggregate,") ? AFPERF_SECTION_AGGREGATE
                                        : AFPERF_UNKNOWN;
    if (TAKE(at, "Run"))
        return TAKE(at, "Point,")       ? AFPERF_RUN_POINT
               : TAKE(at, "Aggregate,") ? AFPERF_RUN_AGGREGATE
                                        : AFPERF_UNKNOWN;
    size_t digits = decimal(*at, &number);
    bool known = (digits == 1 || digits == 2) && **at != '0' && (*at)[digits] == ',' && number < AFPERF_TYPES;
    *at += digits + 1;
    return known ? (enum afperf_type)number : AFPERF_UNKNOWN;
}

/* The fields behind the type. */
static inline const char *take_fields(const char *at, struct afperf_decoded *decoded)
{
    switch (decoded->type) {
    case AFPERF_REGION_START:
        decoded->object.given = true; /* without it a record may be of another shape */
        decoded->name = (struct afperf_text){"", 0};
        decoded->tags = (struct afperf_text){"", 0};
        at = take_id(take_time(at, decoded), &decoded->run);
        at = take_number(at, &decoded->object.id);
        return take_text(take_text(at, &decoded->name), &decoded->tags);
    case AFPERF_REGION_STOP:
        return take_id(take_time(at, decoded), &decoded->object);
    case AFPERF_REGION_POINT:
        return take_pairs(take_id(take_time(at, decoded), &decoded->object), decoded, 3);
    case AFPERF_REGION_AGGREGATE:
        at = take_id(take_span(at, decoded), &decoded->object);
        return take_pairs(take_word(at, &decoded->aggregation), decoded, 5);
    case AFPERF_RUN_POINT:
        return take_pairs(take_id(take_time(at, decoded), &decoded->run), decoded, 3);
    case AFPERF_RUN_AGGREGATE:
        at = take_id(take_span(at, decoded), &decoded->run);
        return take_pairs(take_word(at, &decoded->aggregation), decoded, 5);
    case AFPERF_SECTION_START:
    case AFPERF_SECTION_STOP:
        return take_id(take_id(take_time(at, decoded), &decoded->object), &decoded->interval);
    case AFPERF_SECTION_POINT:
        at = take_id(take_id(take_time(at, decoded), &decoded->object), &decoded->interval);
        return take_pairs(at, decoded, 4);
    case AFPERF_SECTION_AGGREGATE:
        at = take_id(take_id(take_span(at, decoded), &decoded->object), &decoded->interval);
        return take_pairs(take_word(at, &decoded->aggregation), decoded, 6);
    default:
        return NULL;
    }
}

const char *afperf_scan_plain(const char *at, struct afperf_decoded *decoded)
{
    afperf_nothing_decoded(decoded);
    decoded->plain = true;
    decoded->type = take_type(&at);
    if (decoded->type == AFPERF_UNKNOWN)
        return NULL;
    at = take_fields(at, decoded);
    return at && has_ended(at) ? at : NULL;
}
