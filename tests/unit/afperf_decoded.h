/* SPDX-License-Identifier: MIT */
#ifndef AFPERF_DECODED_H
#define AFPERF_DECODED_H

#include <stdlib.h>

#include "formats/afperf/decode.h"

/*
 * Plain records are scanned, the others split into fields and decoded. Both ways must make the same of what is plain: for the
 * tests of the driver and its fuzz target.
 */

static inline bool same_text(struct afperf_text a, struct afperf_text b)
{
    return a.size == b.size && (!a.size || !memcmp(a.text, b.text, a.size));
}

static inline bool same_id(struct afperf_id a, struct afperf_id b)
{
    return a.given == b.given && (!a.given || a.id == b.id);
}

/* True if a value is what it looks like. */
static inline bool looks_right(const struct afperf_pair *pair)
{
    struct pf_cell cell;
    return (!afperf_fits(AFPERF_INT64, pair->look) || afperf_value(AFPERF_INT64, pair->value, &cell)) &&
           (!afperf_fits(AFPERF_DOUBLE, pair->look) || afperf_value(AFPERF_DOUBLE, pair->value, &cell));
}

/* True if all pairs of two readings of a data record are the same. */
static inline bool same_pairs(const struct afperf_record *record, const struct afperf_decoded *scanned,
                              const struct afperf_decoded *decoded)
{
    struct afperf_record none = {0};
    struct afperf_pair first, second;
    const struct afperf_pair *a, *b;
    size_t i = scanned->values, j = decoded->values;
    if (scanned->values != decoded->values || scanned->values_end != decoded->values_end)
        return false;
    while ((a = afperf_next_pair(&none, scanned, &i, &first))) {
        b = afperf_next_pair(record, decoded, &j, &second);
        if (!b || i != j || a->type_id != b->type_id || !same_text(a->value, b->value) || !looks_right(a))
            return false;
    }
    return !afperf_next_pair(record, decoded, &j, &second);
}

/* What the general way makes of a record that the scan has found to be plain: the same, and nothing wrong with it? */
static inline bool same_decoded(const struct afperf_record *record, const struct afperf_decoded *scanned,
                                const struct afperf_decoded *decoded)
{
    bool sound = !record->quotes_inside && !record->text_after_quote && !record->bad_utf8 && !record->nul &&
                 !decoded->error && !decoded->leading_zero && !decoded->bad_measurement_types &&
                 !decoded->odd_measurement && !decoded->example_shape;
    bool region = decoded->type == AFPERF_REGION_START;
    return sound && scanned->type == decoded->type && scanned->time == decoded->time &&
           scanned->end == decoded->end && same_id(scanned->run, decoded->run) &&
           same_id(scanned->object, decoded->object) && same_id(scanned->interval, decoded->interval) &&
           same_text(scanned->aggregation, decoded->aggregation) &&
           (!region ||
            (same_text(scanned->name, decoded->name) && same_text(scanned->tags, decoded->tags))) &&
           (!afperf_is_data(decoded->type) || same_pairs(record, scanned, decoded));
}

/* Reads an input both ways: the line of the first record that they differ in, 0 if there is none. *plain counts records. */
static inline uint64_t first_difference(struct pf_input *input, size_t *plain)
{
    struct afperf_reader *scanning = afperf_reader_new(input), *splitting = afperf_reader_new(input);
    struct afperf_record a, b;
    struct afperf_decoded scanned, decoded;
    struct pf_error error;
    uint64_t line = 0;
    int got = 1;
    if (!scanning || !splitting)
        abort();
    while (got > 0 && !line) {
        got = afperf_next_decoded(scanning, &a, &scanned, &error);
        bool same = afperf_reader_next(splitting, &b, &error) == got &&
                    (got <= 0 || (a.kind == b.kind && a.offset == b.offset && a.line == b.line));
        if (same && got > 0 && a.kind == AFPERF_FIELDS && scanned.plain) {
            afperf_decode(&b, &decoded);
            same = same_decoded(&b, &scanned, &decoded);
            (*plain)++;
        }
        line = same ? 0 : b.line;
    }
    afperf_reader_free(scanning);
    afperf_reader_free(splitting);
    return line;
}

#endif
