/* SPDX-License-Identifier: MIT */
/* Profiles of pprof: profile.proto, mostly compressed by gzip. See docs/formats/pprof.md. */
#include <stdlib.h>

#include "formats/pprof/stacks.h"

extern const struct pf_driver pf_pprof_driver;

enum { LOCATIONS, LABELS, PROPERTIES };

struct pprof_state {
    struct pf_samples samples; /* first: the kit looks here */
    struct pprof_labels *labels;
};

static const struct pf_column location_columns[] = {{"id", PF_PLAIN, 0},   {"address", PF_PLAIN, 0},
                                                    {"line", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
                                                    {"file", PF_PLAIN, 0}, {"module", PF_PLAIN, 0}};
static const struct pf_column property_columns[] = {{"key", PF_PLAIN, 0}, {"value", PF_PLAIN, 0}};

static const struct pf_table own_tables[] = {
    [LOCATIONS] = {.name = "locations",
                   .columns = location_columns,
                   .n_columns = sizeof location_columns / sizeof *location_columns,
                   .stage = PF_PARTITIONED},
    [LABELS] = {.name = "labels",
                .columns = pprof_label_columns,
                .n_columns = PPROF_LABEL_COLUMNS,
                .stage = PF_PARTITIONED,
                .ops = &pprof_label_cursor.ops,
                .user = offsetof(struct pprof_state, labels)},
    [PROPERTIES] = {.name = "properties",
                    .columns = property_columns,
                    .n_columns = 2,
                    .stage = PF_PARTITIONED},
};

static const struct pf_column thread_fields[] = {{"tid", PF_PLAIN, 0}};

/* ---- recognising -------------------------------------------------------------------------------- */

/* What the fields of a message are: a bit each for numbers, lists of numbers in bytes, and other messages, of a shape. */
struct shape {
    unsigned numbers, packed, messages;
    const struct shape *of_messages;
};

static const struct shape two_numbers = {.numbers = 0x6}, three_numbers = {.numbers = 0xe};
static const struct shape four_numbers = {.numbers = 0x1e}, five_numbers = {.numbers = 0x3e};
static const struct shape ten_numbers = {.numbers = 0x7fe};
static const struct shape sample_shape = {0x6, 0x6, 1 << 3, &four_numbers};
static const struct shape location_shape = {0x2e, 0, 1 << 4, &three_numbers};

static const struct shape *const shapes[PPROF_FIELDS] = {
    [PPROF_SAMPLE_TYPE] = &two_numbers, [PPROF_SAMPLE] = &sample_shape,   [PPROF_MAPPING] = &ten_numbers,
    [PPROF_LOCATION] = &location_shape, [PPROF_FUNCTION] = &five_numbers, [PPROF_PERIOD_TYPE] = &two_numbers,
};

static bool are_numbers(const struct pprof_field *field)
{
    struct pprof_message message = pprof_in(field);
    uint64_t number;
    while (message.at < message.end)
        if (!pprof_varint(&message, &number))
            return false;
    return true;
}

/* True if all of a message that is not empty is as a shape says. (Numbers of fields to come take two bytes, which no text is.) */
static bool is_shaped(const struct shape *shape, const struct pprof_field *whole)
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    const char *wrong;
    int more;
    while ((more = pprof_next(&message, &field, &wrong)) > 0) {
        unsigned bit = field.number < PPROF_FIELDS ? 1U << field.number : 0;
        bool fits = !bit || (field.wire == WIRE_VARINT && (bit & shape->numbers)) ||
                    (field.wire == WIRE_BYTES && (bit & shape->packed) && are_numbers(&field));
        /* No shape holds another that holds a third. */
        if (!fits && !(field.wire == WIRE_BYTES && (bit & shape->messages) &&
                       (!field.size || is_shaped(shape->of_messages, &field))))
            return false;
    }
    return more == 0 && whole->size > 0;
}

/* The last field of the head may be longer than that, but not longer than the file. */
static bool is_cut(struct pprof_message rest, uint64_t left)
{
    uint64_t tag, size;
    return pprof_varint(&rest, &tag) && (tag & 7) == WIRE_BYTES && tag >> 3 < PPROF_FIELDS &&
           pprof_varint(&rest, &size) && size <= left;
}

/*
 * There is no magic number, and fields come in any order: what counts is how many whole messages of the file's start are as they
 * should be, and that others are not more. (Text may be a field or two: a docstring that begins with three quotes is a message of
 * 34 bytes that begins with one of 32.)
 */
static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    enum {
        NUMBERS = 1 << PPROF_DROP_FRAMES | 1 << PPROF_KEEP_FRAMES | 1 << PPROF_TIME | 1 << PPROF_DURATION |
                  1 << PPROF_PERIOD | 1 << PPROF_COMMENT | 1 << PPROF_DEFAULT_TYPE | 1 << PPROF_DOC_URL
    };
    size_t have;
    const unsigned char *head = pf_samples_head(probe, PF_PLAIN_HEAD_MAX, &have);
    bool packed = have && head == probe->plain, empty = false;
    struct pprof_message message = {head, head + have}, rest = message;
    struct pprof_field field;
    const char *wrong;
    unsigned good = 0, bad = 0, plain = 0;
    int more;
    while ((more = pprof_next(&message, &field, &wrong)) > 0) {
        rest = message;
        const struct shape *shape = field.number < PPROF_FIELDS ? shapes[field.number] : NULL;
        if (shape)
            *(field.wire == WIRE_BYTES && is_shaped(shape, &field) ? &good : &bad) += 1;
        else if (field.number == PPROF_STRING && field.wire == WIRE_BYTES)
            empty |= !field.size;
        else if (field.number < PPROF_FIELDS && (NUMBERS >> field.number & 1) &&
                 (field.wire == WIRE_VARINT || field.number == PPROF_COMMENT))
            plain++;
        else
            bad += field.number < PPROF_FIELDS;
    }
    bool whole = more == 0 || is_cut(rest, packed ? UINT64_MAX : probe->size - (uint64_t)(rest.at - head));
    bool nothing = more == 0 && !good && !bad && empty && plain; /* a profile without samples */
    if (nothing || (good && !bad && whole) || (good >= 3 && good > 2 * bad))
        verdict->confidence = packed ? 16 : 12;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Calls `take` for each field of the file until that gives something else than 0, which it gives itself. */
static int each_field(struct pf_profile *profile, struct pf_pass *pass, int part, const char **wrong,
                      uint64_t *end, int (*take)(void *, const struct pprof_field *, struct pf_error *),
                      void *arg, struct pf_error *error)
{
    const struct pf_samples *samples = profile->state;
    struct pprof_stream stream = {.input = samples->input};
    struct pprof_field field;
    uint64_t told = 0, done, total;
    int more;
    while ((more = pprof_stream_next(&stream, &field, error)) > 0) {
        if (field.offset >= told) {
            pf_input_progress(samples->input, field.offset, &done, &total);
            if (pf_pass_step(pass, done + (part ? total : 0), 2 * total, error)) {
                more = -1;
                break;
            }
            told = field.offset + (1 << 18);
        }
        int got = take(arg, &field, error);
        if (got) {
            more = got;
            break;
        }
    }
    *wrong = stream.wrong;
    *end = stream.base + stream.start;
    free(stream.buffer);
    return more;
}

static int take_table(void *arg, const struct pprof_field *field, struct pf_error *error)
{
    struct pprof_tables *tables = arg;
    return tables->refused ? 1 : pprof_tables_take(tables, field, error);
}

static int take_sample(void *arg, const struct pprof_field *field, struct pf_error *error)
{
    return field->number == PPROF_SAMPLE ? pprof_stacks_take(arg, field, error) : 0;
}

static int list_locations(const struct pprof_tables *tables, struct pf_rows *rows, struct pf_error *error)
{
    const struct pf_strings *strings = tables->profile->contexts->strings;
    for (size_t i = 0; i < tables->locations.n; i++) {
        const struct pprof_location *location = &tables->location[i];
        int64_t mapping = pprof_find(&tables->mappings, location->mapping);
        for (uint32_t k = 0; k < location->lines; k++) {
            const struct pprof_line *line = &tables->lines[location->first + k];
            int64_t function = pprof_find(&tables->functions, line->function);
            struct pf_cell none = pf_absent();
            struct pf_cell cells[] = {
                pf_uint(tables->locations.ids[i]),
                pf_uint(location->address),
                line->line ? pf_int((int64_t)line->line) : none,
                function < 0 ? none : pf_interned(strings, tables->function[function].named),
                function < 0 ? none : pf_interned(strings, tables->function[function].filed),
                mapping < 0 ? none : pf_interned(strings, tables->mapping[mapping].filed)};
            if (pf_rows_add(rows, cells, error))
                return -1;
        }
    }
    return 0;
}

static int add_property(struct pf_rows *rows, const char *key, struct pf_cell value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), value};
    return value.type == PF_ABSENT ? 0 : pf_rows_add(rows, cells, error);
}

static int add_text(struct pprof_tables *tables, struct pf_rows *rows, const char *key, uint64_t string,
                    struct pf_error *error)
{
    uint32_t name;
    return pprof_string(tables, string, key, &name, error) ||
                   add_property(rows, key, pf_interned(tables->profile->contexts->strings, name), error)
               ? -1
               : 0;
}

static int list_properties(struct pprof_tables *tables, struct pf_rows *rows, struct pf_error *error)
{
    static const struct {
        const char *key;
        unsigned field;
        bool text;
    } properties[] = {
        {"time_nanos", PPROF_TIME, false},        {"duration_nanos", PPROF_DURATION, false},
        {"period", PPROF_PERIOD, false},          {"default_sample_type", PPROF_DEFAULT_TYPE, true},
        {"drop_frames", PPROF_DROP_FRAMES, true}, {"keep_frames", PPROF_KEEP_FRAMES, true},
        {"doc_url", PPROF_DOC_URL, true}};
    if (add_text(tables, rows, "period_type", tables->period.type, error) ||
        add_text(tables, rows, "period_unit", tables->period.unit, error))
        return -1;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        uint64_t value = tables->header[properties[i].field];
        const char *key = properties[i].key;
        if (value && (properties[i].text ? add_text(tables, rows, key, value, error)
                                         : add_property(rows, key, pf_int((int64_t)value), error)))
            return -1;
    }
    for (size_t i = 0; i < tables->n_comments; i++)
        if (add_text(tables, rows, "comment", tables->comments[i], error))
            return -1;
    return 0;
}

static int read_samples(struct pprof_tables *tables, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_profile *profile = tables->profile;
    struct pprof_state *state = profile->state;
    struct pprof_stacks *stacks = pprof_stacks_new(tables, state->labels, error);
    const char *wrong;
    uint64_t end;
    int failed = !stacks || each_field(profile, pass, 1, &wrong, &end, take_sample, stacks, error) < 0 ||
                 pprof_labels_finish(state->labels, error);
    pprof_stacks_free(stacks);
    return failed ? -1 : 0;
}

/* The tables first, since samples may stand before what they speak of; then the samples. */
static int read_both(struct pprof_tables *tables, struct pf_pass *pass, struct pf_error *error)
{
    struct pf_profile *profile = tables->profile;
    struct pf_samples *samples = profile->state;
    const char *wrong;
    uint64_t end;
    if (each_field(profile, pass, 0, &wrong, &end, take_table, tables, error) < 0)
        return -1;
    if (wrong && pf_warn(profile, 0, (int64_t)end, "fatal", "damaged", error, "reading ends here: %s", wrong))
        return -1;
    if (pprof_tables_resolve(tables, error))
        return -1;
    if (tables->refused)
        return pf_warn(profile, 0, -1, "fatal", "no-profile", error, "%s", tables->refused);
    return list_locations(tables, samples->rows[LOCATIONS], error) ||
                   list_properties(tables, samples->rows[PROPERTIES], error) ||
                   read_samples(tables, pass, error)
               ? -1
               : 0;
}

static int read_file(struct pf_profile *profile, struct pf_pass *pass, struct pf_error *error)
{
    struct pprof_state *state = profile->state;
    struct pprof_tables tables = {.profile = profile};
    state->labels = pprof_labels_new(profile->options->cache / 4);
    int failed = state->labels ? read_both(&tables, pass, error) : pf_fail_memory(error);
    pprof_tables_free(&tables);
    return failed;
}

static void clear(struct pf_profile *profile)
{
    struct pprof_state *state = profile->state;
    pprof_labels_free(state->labels);
}

static const struct pf_samples_format format = {.state = sizeof(struct pprof_state),
                                                .fields = thread_fields,
                                                .n_fields = 1,
                                                .partitioned = true,
                                                .tables = own_tables,
                                                .n_tables = sizeof own_tables / sizeof *own_tables,
                                                .read = read_file,
                                                .clear = clear};

const struct pf_driver pf_pprof_driver = {.name = "pprof",
                                          .title = "pprof profiles (profile.proto), also compressed",
                                          .version = 2,
                                          .kit = &format,
                                          .probe = probe,
                                          PF_SAMPLES_OPERATIONS};
