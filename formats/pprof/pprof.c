/* SPDX-License-Identifier: MIT */
/* Driver for pprof's profiles: profile.proto, usually gzip-compressed. See docs/formats/pprof.md. */
#include <stdlib.h>

#include "formats/pprof/pprof.h"

#include "formats/probe.h"

extern const struct pf_driver pf_pprof_driver;

static const struct pf_column location_columns[] = {{"id", PF_PLAIN, 0},   {"address", PF_PLAIN, 0},
                                                    {"line", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
                                                    {"file", PF_PLAIN, 0}, {"module", PF_PLAIN, 0}};
static const struct pf_column label_columns[PPROF_LABEL_COLUMNS] = {
    {"thread", PF_PARTITION, 0}, {"metric", PF_METRIC, 0}, {"sum", PF_PLAIN, 0},
    {"unit", PF_PLAIN, 0},       {"value", PF_PLAIN, 0},   {"label", PF_PLAIN, 0},
};
static const struct pf_column property_columns[] = {{"key", PF_PLAIN, 0}, {"value", PF_PLAIN, 0}};

static const struct pf_table own_tables[] = {
    [PPROF_LOCATIONS] = {.name = "locations",
                         .columns = location_columns,
                         .n_columns = sizeof location_columns / sizeof *location_columns,
                         .stage = PF_PARTITIONED,
                         .ops = &pf_stored_cursor.ops},
    [PPROF_LABELS] = {.name = "labels",
                      .columns = label_columns,
                      .n_columns = PPROF_LABEL_COLUMNS,
                      .stage = PF_PARTITIONED,
                      .ops = &pf_stored_cursor.ops},
    [PPROF_PROPERTIES] = {.name = "properties",
                          .columns = property_columns,
                          .n_columns = 2,
                          .stage = PF_PARTITIONED,
                          .ops = &pf_stored_cursor.ops},
    [PPROF_LINES] = PF_LINE_TABLE,
};

static const struct pf_column thread_fields[] = {{"tid", PF_PLAIN, 0}};

/* ---- recognising -------------------------------------------------------------------------------- */

static bool are_numbers(const struct pprof_field *field)
{
    struct pprof_message message = pprof_in(field);
    uint64_t number;
    while (message.at < message.end)
        if (!pprof_varint(&message, &number))
            return false;
    return true;
}

/*
 * Returns true if a message is not empty and has this form. Unknown field numbers are accepted from PPROF_FIELDS on: their
 * tags take two bytes, the first of which is not ASCII, so text is still rejected.
 */
static bool is_formed(const struct pprof_form *form, const struct pprof_field *whole)
{
    struct pprof_message message = pprof_in(whole);
    struct pprof_field field;
    const char *wrong;
    int more;
    while ((more = pprof_next(&message, &field, &wrong)) > 0) {
        if (field.number >= PPROF_FIELDS)
            continue;
        if (!pprof_fits(form, &field))
            return false;
        bool message_in = pprof_is(form, field.number) == 'm';
        /* Recursion is limited: forms nest at most two deep. */
        if (field.size && !(message_in ? is_formed(form->of[field.number], &field) : are_numbers(&field)))
            return false;
    }
    return more == 0 && whole->size > 0;
}

/* Returns true if the head ends inside a field. The field may be longer than the head, but not longer than the file. */
static bool is_cut(struct pprof_message rest, uint64_t left)
{
    uint64_t tag, size;
    return pprof_varint(&rest, &tag) && (tag & 7) == WIRE_BYTES && tag >> 3 < PPROF_FIELDS &&
           pprof_varint(&rest, &size) && size <= left;
}

/*
 * The format has no magic number, and fields come in any order. So well-formed messages are counted in the head, and
 * must outnumber malformed ones. (Text may look like one or two fields: a docstring that begins with three quotes is a
 * message of 34 bytes that begins with one of 32.) The sample types are the strongest evidence, because quipper's form
 * of perf.data has attributes in their place, while its events may look like samples.
 */
static void pprof_probe(struct pf_probe *probe, struct pf_probe_result *result)
{
    size_t have;
    const unsigned char *head = pf_probe_unpacked_head(probe, PF_PLAIN_HEAD_MAX, &have);
    bool packed = have && head == probe->plain, empty = false;
    struct pprof_message message = {head, head + have}, rest = message;
    struct pprof_field field;
    const char *wrong;
    unsigned good = 0, bad = 0, plain = 0; /* well-formed messages; malformed fields; numbers */
    unsigned types[2] = {0};               /* malformed and well-formed sample types */
    int more;
    while ((more = pprof_next(&message, &field, &wrong)) > 0) {
        rest = message;
        bool fits = pprof_fits(&pprof_file_form, &field);
        switch (pprof_is(&pprof_file_form, field.number)) {
        case 0:
            break;
        case 'm':
            fits = fits && is_formed(pprof_file_form.of[field.number], &field);
            *(fits ? &good : &bad) += 1;
            if (field.number == PPROF_SAMPLE_TYPE && field.size) /* an empty one has neither name nor unit */
                types[fits]++;
            break;
        case 's':
            bad += !fits;
            empty |= fits && !field.size;
            break;
        default:
            *(fits ? &plain : &bad) += 1;
        }
    }
    bool whole = more == 0 || is_cut(rest, packed ? UINT64_MAX : probe->size - (uint64_t)(rest.at - head));
    bool nothing = more == 0 && !good && !bad && empty && plain; /* a profile without samples */
    bool other = types[false] && !types[true];
    if (nothing || (good && !bad && whole) || (good >= 3 && good > 2 * bad && !other))
        result->confidence = packed ? 16 : 12;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/*
 * Reads the next field of the file, in pass 0 or 1 (`part`). Returns false at the end. *reported: offset of the next
 * progress report.
 */
static bool next_field(struct pprof *pprof, int part, uint64_t *reported, struct pprof_field *field)
{
    struct pf_build *build = pprof->build;
    if (pf_run_is_full(build->run) ||
        !pf_run_check(build->run, pprof_stream_next(&pprof->stream, field, build->run->error)))
        return false;
    if (field->offset >= *reported) {
        pprof_step(pprof, part, field->offset);
        *reported = field->offset + (1 << 18);
    }
    return true;
}

static void pprof_list_locations(struct pprof *pprof)
{
    struct pf_cell none = pf_absent();
    for (size_t i = 0; i < pprof->locations.count; i++) {
        const struct pprof_location *location = &pprof->location.at[i];
        const struct pprof_mapping *mapping = pprof_mapping(pprof, location->mapping);
        for (uint32_t k = 0; k < location->lines; k++) {
            const struct pprof_line *line = &pprof->lines.at[location->first + k];
            const struct pprof_function *function = pprof_function(pprof, line->function);
            struct pf_cell cells[] = {pf_uint(location->id),
                                      pf_uint(location->address),
                                      line->line ? pf_int((int64_t)line->line) : none,
                                      function ? pf_name(function->named) : none,
                                      function ? pf_name(function->filed) : none,
                                      mapping ? pf_name(mapping->filed) : none};
            pf_build_row(pprof->build, PPROF_LOCATIONS, cells);
        }
    }
}

static void add_property(struct pprof *pprof, const char *key, struct pf_cell value)
{
    struct pf_cell cells[] = {pf_string(key), value};
    pf_build_row(pprof->build, PPROF_PROPERTIES, cells);
}

static void pprof_add_text(struct pprof *pprof, const char *key, uint64_t string)
{
    uint32_t name = pprof_string(pprof, string, key);
    if (name != PF_NO_STRING)
        add_property(pprof, key, pf_name(name));
}

static void list_properties(struct pprof *pprof)
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
    pprof_add_text(pprof, "period_type", pprof->period.type);
    pprof_add_text(pprof, "period_unit", pprof->period.unit);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        uint64_t value = pprof->header[properties[i].field];
        if (value && properties[i].text)
            pprof_add_text(pprof, properties[i].key, value);
        else if (value)
            add_property(pprof, properties[i].key, pf_int((int64_t)value));
    }
    for (size_t i = 0; i < pprof->comments.n && !pf_run_is_full(pprof->build->run); i++)
        pprof_add_text(pprof, "comment", pprof->comments.at[i]);
}

static void begin_stream(struct pprof *pprof)
{
    free(pprof->stream.buffer);
    pprof->stream = (struct pprof_stream){.input = pprof->build->input};
}

/*
 * Reads the tables in the first pass, and the samples in the second, because samples may precede the tables that they
 * refer to.
 */
static void pprof_read_file(struct pf_build *build)
{
    struct pprof *pprof = build->state;
    struct pprof_field field = {0};
    uint64_t reported = 0;
    pprof->build = build;
    begin_stream(pprof);
    while (!pprof->refused && next_field(pprof, 0, &reported, &field))
        pprof_take(pprof, &field);
    if (pprof->stream.wrong)
        pf_build_warn(build, 0, pprof->stream.base + pprof->stream.start, "fatal", "damaged",
                      "reading ends here: %s", pprof->stream.wrong);
    pprof_resolve(pprof);
    if (pprof->refused) {
        pf_build_warn(build, 0, -1, "fatal", "no-profile", "%s", pprof->refused);
    } else {
        pprof_list_locations(pprof);
        list_properties(pprof);
        struct pprof_stacks *stacks = pprof_stacks_new(pprof);
        begin_stream(pprof);
        reported = 0;
        while (next_field(pprof, 1, &reported, &field))
            if (field.number == PPROF_SAMPLE && !pprof_stacks_take(stacks, &field))
                break;
        pprof_stacks_end(stacks);
    }
    if (pf_run_is_full(build->run))
        pf_build_warn_of_full(build, (int64_t)field.offset);
    begin_stream(pprof); /* frees its buffer */
}

static void pprof_clear(struct pf_build *build)
{
    struct pprof *pprof = build->state;
    free(pprof->stream.buffer);
}

static const struct pf_build_format format = {.state = sizeof(struct pprof),
                                              .fields = thread_fields,
                                              .n_fields = 1,
                                              .partitioned = true,
                                              .tables = own_tables,
                                              .n_tables = sizeof own_tables / sizeof *own_tables,
                                              .read = pprof_read_file,
                                              .clear = pprof_clear};

const struct pf_driver pf_pprof_driver = {.name = "pprof",
                                          .title = "pprof profiles (profile.proto), also compressed",
                                          .version = 8,
                                          .kit = &format,
                                          .probe = pprof_probe,
                                          PF_BUILD_OPERATIONS};
