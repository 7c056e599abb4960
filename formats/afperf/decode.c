/* SPDX-License-Identifier: MIT */
#include "formats/afperf/decode.h"

#include <string.h>

/*
 * The fields of each record type after the name of the type. Each letter stands for a field, `e` for two:
 *
 *   t  timestamp                       a  aggregation type              d  datatype
 *   T  timestamp, which may be blank   v  measurements, up to the end   s  summary
 *   e  timestamps of end and start     n  name or label                 x  description
 *   r  id of a run                     g  tags                          w  wall-clock time
 *   o  id of a region or section       u  units                         c  format version
 *   i  id of an interval               y  id of a measurement type      A  application version
 *
 * The examples of the format document omit a field in some types. `as_in_examples` holds the fields of these examples.
 */
static const struct {
    const char *name, *fields, *as_in_examples;
} types[AFPERF_TYPES] = {
    [AFPERF_UNKNOWN] = {"", "", NULL},
    [AFPERF_MEASUREMENT_TYPE] = {"MeasurementType", "Tryndusx", NULL},
    [AFPERF_PAUSE_RESUME] = {"PauseResume", "er", NULL},
    [AFPERF_REGION_AGGREGATE] = {"RegionAggregate", "eoav", NULL},
    [AFPERF_REGION_POINT] = {"RegionPoint", "tov", NULL},
    [AFPERF_REGION_START] = {"RegionStart", "trong", "tong"},
    [AFPERF_REGION_STOP] = {"RegionStop", "to", NULL},
    [AFPERF_RUN_AGGREGATE] = {"RunAggregate", "erav", NULL},
    [AFPERF_RUN_INFO] = {"RunInfo", "tuwcrnAg", "tuwrnAg"},
    [AFPERF_RUN_POINT] = {"RunPoint", "trv", NULL},
    [AFPERF_SECTION_AGGREGATE] = {"SectionAggregate", "eoiav", NULL},
    [AFPERF_SECTION_INFO] = {"SectionInfo", "Trong", "rong"},
    [AFPERF_SECTION_POINT] = {"SectionPoint", "toiv", NULL},
    [AFPERF_SECTION_START] = {"SectionStart", "toi", NULL},
    [AFPERF_SECTION_STOP] = {"SectionStop", "toi", NULL},
};

/* Returns the type of a record from its first field, which is the type's name or number. */
static enum afperf_type afperf_type_of(struct afperf_text text)
{
    text = afperf_trim(text);
    for (int type = AFPERF_UNKNOWN + 1; type < AFPERF_TYPES; type++)
        if (afperf_is(text, types[type].name))
            return (enum afperf_type)type;
    uint64_t number;
    bool padded = false;
    bool known = afperf_unsigned(text, &number, &padded) == AFPERF_SOUND && number < AFPERF_TYPES;
    return known ? (enum afperf_type)number : AFPERF_UNKNOWN;
}

/* ---- shapes ------------------------------------------------------------------------------------- */

static bool is_integer(struct afperf_text text)
{
    uint64_t value;
    bool padded = false;
    enum afperf_problem problem = afperf_unsigned(text, &value, &padded);
    return problem != AFPERF_MISSING_FIELD && problem != AFPERF_BAD_INTEGER;
}

/* Returns true for a version like `1.2.3`. */
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

/* Returns true if the major version is not 1, ignoring leading zeros. */
static bool is_other_major(struct afperf_text version)
{
    size_t zeros = 0;
    while (zeros < version.size && version.text[zeros] == '0')
        zeros++;
    return version.size - zeros < 2 || memcmp(version.text + zeros, "1.", 2) != 0;
}

/*
 * Returns true if the record has the short shape, which omits a field, as the format document's examples do. Field 3 of RegionStart and
 * SectionInfo is an id in the full shape, and the label in the short one. Field 4 of RunInfo is the version in the full shape, and the
 * run's id in the short one. If field 4 is neither, *error is set.
 */
static bool is_example(const struct afperf_record *record, enum afperf_type type, enum afperf_problem *error)
{
    if (!types[type].as_in_examples)
        return false;
    bool run = type == AFPERF_RUN_INFO;
    struct afperf_text field = afperf_trim(afperf_field(record, run ? 4 : 3));
    if (!run)
        return field.size ? !is_integer(field) : record->n < 6;
    if (is_version(field))
        return false;
    if (!field.size)
        return record->n < 9 && !is_integer(afperf_field(record, 5));
    if (!is_integer(field))
        *error = AFPERF_BAD_VERSION;
    return true;
}

/* ---- fields ------------------------------------------------------------------------------------- */

/*
 * Parses a number. Returns true if the field is a valid number. Otherwise sets decoded->error, unless the field is blank and `may_be_blank`
 * is set. If the record has an error already, returns false.
 */
static bool take_number(struct afperf_decoded *decoded, struct afperf_text field, uint64_t *value,
                        bool may_be_blank)
{
    bool padded = false;
    if (decoded->error)
        return false;
    enum afperf_problem problem = afperf_unsigned(field, value, &padded);
    if (problem != AFPERF_MISSING_FIELD || !may_be_blank)
        decoded->error = problem;
    decoded->leading_zero += padded;
    return problem == AFPERF_SOUND;
}

bool afperf_next_pair(const struct afperf_record *record, const struct afperf_decoded *decoded, size_t *at,
                      struct afperf_pair *pair)
{
    while (*at + 1 < decoded->values_end) {
        bool padded = false;
        const struct afperf_text *fields = record->fields + *at;
        pair->value = fields[1];
        *at += 2;
        if (afperf_unsigned(fields[0], &pair->type_id, &padded) == AFPERF_SOUND)
            return true;
    }
    return false;
}

/* Sets the error of an aggregate or pause that ends before it starts. */
static void check_span(struct afperf_decoded *decoded)
{
    if (!decoded->error && decoded->end < decoded->time)
        decoded->error = decoded->type == AFPERF_PAUSE_RESUME ? AFPERF_PAUSE_ENDS_BEFORE_START
                                                              : AFPERF_AGGREGATE_ENDS_BEFORE_START;
}

/*
 * Decodes the measurements: pairs of fields from field number `first` to the end of the record. A last field without a partner is ignored;
 * odd_measurement is set if it is not blank.
 */
static void take_values(const struct afperf_record *record, size_t first, struct afperf_decoded *decoded)
{
    size_t n = record->n > first ? record->n - first : 0, pairs = n / 2, good = 0;
    struct afperf_pair pair;
    decoded->values = first;
    decoded->values_end = first + 2 * pairs;
    if (decoded->error)
        return;
    decoded->odd_measurement = n % 2 && afperf_trim(record->fields[record->n - 1]).size;
    for (size_t at = first; afperf_next_pair(record, decoded, &at, &pair);)
        good++;
    decoded->bad_measurement_types = (unsigned)(pairs - good);
    if (!good)
        decoded->error = AFPERF_NO_MEASUREMENT;
}

/* Returns the member of *decoded for a text field. `letter` is the field's letter in the table `types` above. */
static struct afperf_text *text_of(struct afperf_decoded *decoded, char letter)
{
    return letter == 'a'   ? &decoded->aggregation
           : letter == 'n' ? &decoded->name
           : letter == 'g' ? &decoded->tags
           : letter == 'u' ? &decoded->units
           : letter == 'd' ? &decoded->datatype
           : letter == 's' ? &decoded->summary
           : letter == 'x' ? &decoded->description
           : letter == 'w' ? &decoded->wallclock
           : letter == 'c' ? &decoded->version
                           : &decoded->application_version;
}

/* Decodes field number `at`. `letter` is the field's letter in the table `types` above. */
static void afperf_take_field(const struct afperf_record *record, size_t at, char letter,
                              struct afperf_decoded *decoded)
{
    struct afperf_text field = afperf_field(record, at);
    struct afperf_id *id = letter == 'r'   ? &decoded->run
                           : letter == 'o' ? &decoded->object
                           : letter == 'i' ? &decoded->interval
                                           : NULL;
    if (id) {
        id->given = take_number(decoded, field, &id->id, true);
    } else if (letter == 't' || letter == 'T') {
        take_number(decoded, field, &decoded->time, letter == 'T');
        decoded->end = decoded->time;
    } else if (letter == 'e') {
        take_number(decoded, field, &decoded->end, false);
        take_number(decoded, afperf_field(record, at + 1), &decoded->time, false);
    } else if (letter == 'y') {
        take_number(decoded, field, &decoded->type_id, false);
    } else if (letter == 'v') {
        check_span(decoded);
        take_values(record, at, decoded);
    } else {
        *text_of(decoded, letter) = strchr("awc", letter) ? afperf_trim(field) : field;
    }
}

static void check_run(struct afperf_decoded *decoded)
{
    double wallclock;
    decoded->units = afperf_trim(decoded->units);
    decoded->bad_wallclock = decoded->wallclock.size && !afperf_double(decoded->wallclock, &wallclock);
    decoded->run_version = decoded->version.size && is_other_major(decoded->version);
}

static void decode(const struct afperf_record *record, struct afperf_decoded *decoded)
{
    enum afperf_problem error = AFPERF_SOUND;
    memset(decoded, 0, sizeof *decoded);
    decoded->type = afperf_type_of(record->fields[0]);
    decoded->example_shape = is_example(record, decoded->type, &error);
    const char *fields =
        decoded->example_shape ? types[decoded->type].as_in_examples : types[decoded->type].fields;
    size_t at = 1;
    for (; *fields; fields++) {
        afperf_take_field(record, at, *fields, decoded);
        at += *fields == 'e' ? 2 : 1;
        /* The error of is_example is about field 4, so it counts unless an earlier field has an error. */
        if (at == 4 && !decoded->error)
            decoded->error = error;
    }
    check_span(decoded);
    decoded->run_or_time =
        decoded->type == AFPERF_SECTION_INFO && decoded->example_shape && decoded->run.given;
    if (decoded->type == AFPERF_RUN_INFO)
        check_run(decoded);
}

int afperf_next_decoded(struct afperf_reader *reader, struct afperf_record *record,
                        struct afperf_decoded *decoded, struct pf_error *error)
{
    int got = afperf_reader_next(reader, record, error);
    if (got > 0 && record->kind == AFPERF_FIELDS)
        decode(record, decoded);
    return got;
}
