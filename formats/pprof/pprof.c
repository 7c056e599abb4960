/* SPDX-License-Identifier: MIT */
/* Profiles of pprof: profile.proto, mostly compressed by gzip. See docs/formats/pprof.md. */
#include <stdlib.h>

#include "formats/pprof/stacks.h"

extern const struct pf_driver pf_pprof_driver;

enum { LOCATIONS, LABELS, PROPERTIES };

static const struct pf_column location_columns[] = {{"id", PF_PLAIN, 0},   {"address", PF_PLAIN, 0},
                                                    {"line", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
                                                    {"file", PF_PLAIN, 0}, {"module", PF_PLAIN, 0}};
static const struct pf_column label_columns[PPROF_L_COLUMNS] = {
    [PPROF_L_THREAD] = {"thread", PF_PARTITION, 0}, [PPROF_L_METRIC] = {"metric", PF_METRIC, 0},
    [PPROF_L_SUM] = {"sum", PF_PLAIN, 0},           [PPROF_L_LABEL] = {"label", PF_PLAIN, 0},
    [PPROF_L_UNIT] = {"unit", PF_PLAIN, 0},         [PPROF_L_VALUE] = {"value", PF_PLAIN, 0}};
static const struct pf_column property_columns[] = {{"key", PF_PLAIN, 0}, {"value", PF_PLAIN, 0}};

static const struct pf_table own_tables[] = {
    [LOCATIONS] = {.name = "locations",
                   .columns = location_columns,
                   .n_columns = sizeof location_columns / sizeof *location_columns,
                   .stage = PF_PARTITIONED},
    [LABELS] = {.name = "labels",
                .columns = label_columns,
                .n_columns = PPROF_L_COLUMNS,
                .stage = PF_MODELLED},
    [PROPERTIES] = {.name = "properties",
                    .columns = property_columns,
                    .n_columns = 2,
                    .stage = PF_PARTITIONED},
};

static const struct pf_column thread_fields[] = {{"tid", PF_PLAIN, 0}};

/* ---- recognising -------------------------------------------------------------------------------- */

/* Which fields of a message are lists of bytes and which are numbers: a bit each. */
struct shape {
    unsigned numbers, bytes;
};

static const struct shape profile_shape = {
    1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15, 0x7e | 1 << 11 | 1 << 13};
static const struct shape shapes[PPROF_STRING] = {[PPROF_SAMPLE_TYPE] = {0x6, 0},
                                                  [PPROF_SAMPLE] = {0x6, 0xe},
                                                  [PPROF_MAPPING] = {0x7fe, 0},
                                                  [PPROF_LOCATION] = {0x2e, 0x10},
                                                  [PPROF_FUNCTION] = {0x3e, 0}};

/* True if a field has a number and the type that goes with it. */
static bool fits(const struct shape *shape, const struct pprof_field *field)
{
    unsigned known = field->wire == WIRE_VARINT  ? shape->numbers
                     : field->wire == WIRE_BYTES ? shape->bytes
                                                 : 0;
    return field->number < 16 && (known >> field->number & 1);
}

/* True if all of a message that is not empty is as this shape says. */
static bool is_shaped(const struct shape *shape, const struct pprof_field *whole)
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    const char *wrong;
    int more;
    while ((more = pprof_next(&message, &field, &wrong)) > 0)
        if (!fits(shape, &field))
            return false;
    return more == 0 && whole->size > 0;
}

/*
 * There is no magic number, and fields come in any order: what counts is how many whole messages of the file's start are as they
 * should be, and that others are not more.
 */
static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    size_t have;
    const unsigned char *head = pf_samples_head(probe, PF_PLAIN_HEAD_MAX, &have);
    bool packed = have && head == probe->plain;
    struct pprof_message message = {head, head + have};
    struct pprof_field field;
    const char *wrong;
    unsigned good = 0, bad = 0, plain = 0;
    bool first = false;
    int more;
    while ((more = pprof_next(&message, &field, &wrong)) > 0) {
        bool listed = field.number < PPROF_STRING || field.number == PPROF_PERIOD_TYPE;
        const struct shape *shape = &shapes[field.number < PPROF_STRING ? field.number : PPROF_SAMPLE_TYPE];
        if (field.number < PPROF_FIELDS && !fits(&profile_shape, &field))
            bad++;
        else if (listed)
            *(is_shaped(shape, &field) ? &good : &bad) += 1;
        else if (field.number == PPROF_STRING)
            first |= !field.size;
        else
            plain += field.number < PPROF_FIELDS;
    }
    /* A field that is longer than the head is as good as the end. */
    bool cut = more < 0 && (have == PF_PLAIN_HEAD_MAX || have < probe->size);
    bool empty = more == 0 && !good && first && plain; /* a profile of nothing */
    if (empty || (good && !bad && (more == 0 || cut)) || (good >= 3 && good > 2 * bad))
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

static int add_property(struct pprof_tables *tables, struct pf_rows *rows, const char *key,
                        struct pf_cell value, struct pf_error *error)
{
    struct pf_cell cells[] = {pf_string(key), value};
    (void)tables;
    return value.type == PF_ABSENT ? 0 : pf_rows_add(rows, cells, error);
}

static int add_text(struct pprof_tables *tables, struct pf_rows *rows, const char *key, uint64_t string,
                    struct pf_error *error)
{
    uint32_t name;
    return pprof_string(tables, string, key, &name, error) ||
                   add_property(tables, rows, key, pf_interned(tables->profile->contexts->strings, name),
                                error)
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
                                         : add_property(tables, rows, key, pf_int((int64_t)value), error)))
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
    struct pf_samples *samples = profile->state;
    struct pprof_stacks *stacks = pprof_stacks_new(tables, error);
    const char *wrong;
    uint64_t end;
    int failed = !stacks || each_field(profile, pass, 1, &wrong, &end, take_sample, stacks, error) < 0 ||
                 pprof_stacks_list_labels(stacks, samples->rows[LABELS], error);
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
    struct pprof_tables tables = {.profile = profile};
    int failed = read_both(&tables, pass, error);
    pprof_tables_free(&tables);
    return failed;
}

static const struct pf_samples_format format = {.fields = thread_fields,
                                                .n_fields = 1,
                                                .partitioned = true,
                                                .tables = own_tables,
                                                .n_tables = sizeof own_tables / sizeof *own_tables,
                                                .read = read_file};

const struct pf_driver pf_pprof_driver = {.name = "pprof",
                                          .title = "pprof profiles (profile.proto), also compressed",
                                          .version = 1,
                                          .kit = &format,
                                          .probe = probe,
                                          .open = pf_samples_open,
                                          .load = pf_samples_load,
                                          .close = pf_samples_close};
