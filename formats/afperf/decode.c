/* SPDX-License-Identifier: MIT */
#include "formats/afperf/decode.h"

#include <string.h>

/* ---- types -------------------------------------------------------------------------------------- */

static const char *const names[AFPERF_TYPES] = {
    [AFPERF_UNKNOWN] = "",
    [AFPERF_MEASUREMENT_TYPE] = "MeasurementType",
    [AFPERF_PAUSE_RESUME] = "PauseResume",
    [AFPERF_REGION_AGGREGATE] = "RegionAggregate",
    [AFPERF_REGION_POINT] = "RegionPoint",
    [AFPERF_REGION_START] = "RegionStart",
    [AFPERF_REGION_STOP] = "RegionStop",
    [AFPERF_RUN_AGGREGATE] = "RunAggregate",
    [AFPERF_RUN_INFO] = "RunInfo",
    [AFPERF_RUN_POINT] = "RunPoint",
    [AFPERF_SECTION_AGGREGATE] = "SectionAggregate",
    [AFPERF_SECTION_INFO] = "SectionInfo",
    [AFPERF_SECTION_POINT] = "SectionPoint",
    [AFPERF_SECTION_START] = "SectionStart",
    [AFPERF_SECTION_STOP] = "SectionStop",
};

static enum afperf_type type_of(struct afperf_text text)
{
    text = afperf_trim(text);
    for (int type = AFPERF_UNKNOWN + 1; type < AFPERF_TYPES; type++)
        if (afperf_is(text, names[type]))
            return (enum afperf_type)type;
    uint64_t number;
    bool padded = false;
    bool known = afperf_unsigned(text, &number, &padded) == AFPERF_NUMBER && number < AFPERF_TYPES;
    return known ? (enum afperf_type)number : AFPERF_UNKNOWN;
}

bool afperf_is_data(enum afperf_type type)
{
    return type == AFPERF_REGION_AGGREGATE || type == AFPERF_REGION_POINT || type == AFPERF_RUN_AGGREGATE ||
           type == AFPERF_RUN_POINT || type == AFPERF_SECTION_AGGREGATE || type == AFPERF_SECTION_POINT;
}

bool afperf_is_mark(enum afperf_type type)
{
    return type == AFPERF_RUN_INFO || type == AFPERF_REGION_START || type == AFPERF_REGION_STOP ||
           type == AFPERF_SECTION_INFO || type == AFPERF_SECTION_START || type == AFPERF_SECTION_STOP;
}

/* ---- fields ------------------------------------------------------------------------------------- */

/* Takes the fields of a record one by one, up to the first error. */
struct taking {
    const struct afperf_record *record;
    struct afperf_decoded *decoded;
    size_t at; /* the next field */
};

static struct afperf_text take(struct taking *taking)
{
    return afperf_field(taking->record, taking->at++);
}

static const char *code_of(enum afperf_parsed parsed)
{
    switch (parsed) {
    case AFPERF_BLANK:
        return "missing-field";
    case AFPERF_NO_INTEGER:
        return "bad-integer";
    case AFPERF_NEGATIVE:
        return "negative";
    case AFPERF_OUT_OF_RANGE:
        return "out-of-range";
    case AFPERF_NUMBER:
        break;
    }
    return NULL;
}

/* True if there is a number; a blank field is an error only if it must not be. */
static bool take_number(struct taking *taking, uint64_t *value, bool may_be_blank)
{
    struct afperf_decoded *decoded = taking->decoded;
    struct afperf_text field = take(taking);
    bool padded = false;
    if (decoded->error)
        return false;
    enum afperf_parsed parsed = afperf_unsigned(field, value, &padded);
    if (parsed != AFPERF_BLANK || !may_be_blank)
        decoded->error = code_of(parsed);
    decoded->leading_zero += padded;
    return parsed == AFPERF_NUMBER;
}

static void take_time(struct taking *taking, bool may_be_blank)
{
    take_number(taking, &taking->decoded->time, may_be_blank);
    taking->decoded->end = taking->decoded->time;
}

static struct afperf_id take_id(struct taking *taking)
{
    struct afperf_id id = {0};
    id.given = take_number(taking, &id.id, true);
    return id;
}

/* The end stands before the start. */
static void take_span(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    take_number(taking, &decoded->end, false);
    take_number(taking, &decoded->time, false);
}

static bool is_integer(struct afperf_text text)
{
    uint64_t value;
    bool padded = false;
    enum afperf_parsed parsed = afperf_unsigned(text, &value, &padded);
    return parsed != AFPERF_BLANK && parsed != AFPERF_NO_INTEGER;
}

static bool is_blank(struct afperf_text text)
{
    return !afperf_trim(text).size;
}

/* ---- measurements ------------------------------------------------------------------------------- */

bool afperf_next_pair(const struct afperf_record *record, const struct afperf_decoded *decoded, size_t *at,
                      struct afperf_pair *pair)
{
    while (*at + 1 < decoded->values_end) {
        bool padded = false;
        const struct afperf_text *fields = record->fields + *at;
        pair->value = fields[1];
        *at += 2;
        if (afperf_unsigned(fields[0], &pair->type_id, &padded) == AFPERF_NUMBER)
            return true;
    }
    return false;
}

/* The rest of the record: pairs. A blank last field is none. */
static void take_values(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    const struct afperf_record *record = taking->record;
    size_t n = record->n > taking->at ? record->n - taking->at : 0, pairs = n / 2, good = 0;
    struct afperf_pair pair;
    decoded->values = taking->at;
    decoded->values_end = taking->at + 2 * pairs;
    if (decoded->error)
        return;
    decoded->odd_measurement = n % 2 && !is_blank(record->fields[record->n - 1]);
    for (size_t at = decoded->values; afperf_next_pair(record, decoded, &at, &pair);)
        good++;
    decoded->bad_measurement_types = (unsigned)(pairs - good);
    if (!good)
        decoded->error = "no-measurement";
}

static void check_span(struct afperf_decoded *decoded, const char *code)
{
    if (!decoded->error && decoded->end < decoded->time)
        decoded->error = code;
}

/* ---- the record types --------------------------------------------------------------------------- */

static void decode_measurement_type(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    take_time(taking, true);
    decoded->run = take_id(taking);
    take_number(taking, &decoded->type_id, false);
    decoded->name = take(taking);
    decoded->datatype = take(taking);
    decoded->units = take(taking);
    decoded->summary = take(taking);
    decoded->description = take(taking);
}

static void decode_pause(struct taking *taking)
{
    take_span(taking);
    taking->decoded->run = take_id(taking);
    check_span(taking->decoded, "pause-ends-before-start");
}

static void decode_aggregate(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    take_span(taking);
    if (decoded->type == AFPERF_RUN_AGGREGATE)
        decoded->run = take_id(taking);
    else
        decoded->object = take_id(taking);
    if (decoded->type == AFPERF_SECTION_AGGREGATE)
        decoded->interval = take_id(taking);
    decoded->aggregation = afperf_trim(take(taking));
    check_span(decoded, "aggregate-ends-before-start");
    take_values(taking);
}

static void decode_point(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    take_time(taking, false);
    if (decoded->type == AFPERF_RUN_POINT)
        decoded->run = take_id(taking);
    else
        decoded->object = take_id(taking);
    if (decoded->type == AFPERF_SECTION_POINT)
        decoded->interval = take_id(taking);
    take_values(taking);
}

/*
 * The format's line has time, run, id, label and tags; the document's examples leave one out. Field 3 tells them apart: an
 * integer there is the id of the full shape, other text the label of the short one.
 */
static bool is_short(const struct afperf_record *record)
{
    struct afperf_text third = afperf_field(record, 3);
    return is_blank(third) ? record->n < 6 : !is_integer(third);
}

static void decode_region_start(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    decoded->example_shape = is_short(taking->record);
    take_time(taking, false);
    if (!decoded->example_shape)
        decoded->run = take_id(taking);
    decoded->object = take_id(taking);
    decoded->name = take(taking);
    decoded->tags = take(taking);
}

static void decode_section_info(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    decoded->example_shape = is_short(taking->record);
    if (decoded->example_shape) {
        decoded->run = take_id(taking);
        decoded->run_or_time = decoded->run.given;
    } else {
        take_time(taking, true);
        decoded->run = take_id(taking);
    }
    decoded->object = take_id(taking);
    decoded->name = take(taking);
    decoded->tags = take(taking);
}

static void decode_section_event(struct taking *taking)
{
    take_time(taking, false);
    taking->decoded->object = take_id(taking);
    taking->decoded->interval = take_id(taking);
}

static void decode_region_stop(struct taking *taking)
{
    take_time(taking, false);
    taking->decoded->object = take_id(taking);
}

/* `1.2.3` */
static bool is_version(struct afperf_text text)
{
    size_t dots = 0, digits = 0;
    for (size_t i = 0; i < text.size; i++) {
        bool digit = text.text[i] >= '0' && text.text[i] <= '9';
        if (!digit && (text.text[i] != '.' || !digits))
            return false;
        dots += !digit;
        digits = digit ? digits + 1 : 0;
    }
    return dots == 2 && digits;
}

/* Any major version but 1, however many zeros stand before it. */
static bool is_other_major(struct afperf_text version)
{
    while (version.size && *version.text == '0') {
        version.text++;
        version.size--;
    }
    return version.size < 2 || version.text[0] != '1' || version.text[1] != '.';
}

/* Whether a RunInfo has its version field (4), which the document's example leaves out; sets `error` if that cannot be
 * told. */
static bool has_version(const struct afperf_record *record, const char **error)
{
    struct afperf_text fourth = afperf_trim(afperf_field(record, 4));
    if (is_version(fourth))
        return true;
    if (!fourth.size)
        return is_integer(afperf_field(record, 5)) || record->n >= 9;
    if (!is_integer(fourth))
        *error = "bad-version";
    return false;
}

static void decode_run_info(struct taking *taking)
{
    struct afperf_decoded *decoded = taking->decoded;
    const char *error = NULL;
    double wallclock;
    bool full = has_version(taking->record, &error);
    take_time(taking, false);
    decoded->units = afperf_trim(take(taking));
    decoded->wallclock = afperf_trim(take(taking));
    if (!decoded->error)
        decoded->error = error;
    decoded->version = full ? afperf_trim(take(taking)) : (struct afperf_text){"", 0};
    decoded->run = take_id(taking);
    decoded->name = take(taking);
    decoded->application_version = take(taking);
    decoded->tags = take(taking);
    decoded->example_shape = !full;
    decoded->bad_wallclock = decoded->wallclock.size && !afperf_double(decoded->wallclock, &wallclock);
    decoded->run_version = decoded->version.size && is_other_major(decoded->version);
}

void afperf_decode(const struct afperf_record *record, struct afperf_decoded *decoded)
{
    memset(decoded, 0, sizeof *decoded);
    decoded->type = type_of(record->fields[0]);
    struct taking taking = {record, decoded, 1};
    switch (decoded->type) {
    case AFPERF_MEASUREMENT_TYPE:
        decode_measurement_type(&taking);
        break;
    case AFPERF_PAUSE_RESUME:
        decode_pause(&taking);
        break;
    case AFPERF_REGION_AGGREGATE:
    case AFPERF_RUN_AGGREGATE:
    case AFPERF_SECTION_AGGREGATE:
        decode_aggregate(&taking);
        break;
    case AFPERF_REGION_POINT:
    case AFPERF_RUN_POINT:
    case AFPERF_SECTION_POINT:
        decode_point(&taking);
        break;
    case AFPERF_REGION_START:
        decode_region_start(&taking);
        break;
    case AFPERF_REGION_STOP:
        decode_region_stop(&taking);
        break;
    case AFPERF_RUN_INFO:
        decode_run_info(&taking);
        break;
    case AFPERF_SECTION_INFO:
        decode_section_info(&taking);
        break;
    case AFPERF_SECTION_START:
    case AFPERF_SECTION_STOP:
        decode_section_event(&taking);
        break;
    case AFPERF_UNKNOWN:
    case AFPERF_TYPES:
        break;
    }
}

int afperf_next_decoded(struct afperf_reader *reader, struct afperf_record *record,
                        struct afperf_decoded *decoded, struct pf_error *error)
{
    int got = afperf_reader_next(reader, record, error);
    if (got > 0 && record->kind == AFPERF_FIELDS)
        afperf_decode(record, decoded);
    return got;
}
