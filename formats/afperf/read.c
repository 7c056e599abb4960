/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/model.h"
#include "formats/kit/array.h"

/* Interval of progress reports, in bytes. */
#define STEP_BYTES ((uint64_t)1 << 20)

/* Map from an id and a scope (a small number) to a number. */
struct map {
    struct pf_strings *keys;
    uint32_t *values; /* indexed by the key's number */
    size_t room;
};

/* State of the pass over the file that the model itself does not need. */
struct reading {
    struct afperf_model *model;
    uint64_t offset, line; /* of the current record */
    uint32_t segment;      /* current segment */
    uint32_t run;          /* reference of the current run */
    uint32_t block;        /* index in the log of the last event that is not a section's name, plus 1; 0:
                                     * none */
    uint32_t last_section; /* reference of the last SectionInfo, or AFPERF_NONE */
    struct map refs[AFPERF_THINGS]; /* id and segment -> reference */
    struct map measures;            /* id and run reference -> index in model->measures */
};

/* Returns the value of a key, AFPERF_NONE if new; NULL with *error filled. Valid until the next call. */
static uint32_t *look_up(struct map *map, uint64_t id, uint32_t scope, struct pf_error *error)
{
    const uint64_t key[] = {id, scope};
    if (!map->keys && !(map->keys = pf_strings_new())) {
        pf_fail_memory(error);
        return NULL;
    }
    uint32_t known = pf_strings_count(map->keys);
    uint32_t number = pf_intern(map->keys, (const char *)key, sizeof key, error);
    if (number == PF_NO_STRING ||
        pf_array_reach(&map->values, &map->room, number, sizeof *map->values, error))
        return NULL;
    if (number >= known)
        map->values[number] = AFPERF_NONE;
    return &map->values[number];
}

static void free_map(struct map *map)
{
    pf_strings_free(map->keys);
    free(map->values);
}

/* Notes a problem of the current record. */
static void note(struct reading *reading, enum afperf_problem problem)
{
    afperf_note(reading->model, problem, reading->offset, reading->line);
}

static int log_event(struct reading *reading, enum afperf_event_kind kind, uint32_t number,
                     struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (AFPERF_GROW(model, log, error))
        return -1;
    model->log[model->n_log++] = (struct afperf_event){kind, number};
    if (kind != AFPERF_EVENT_SECTION)
        reading->block = (uint32_t)model->n_log;
    return 0;
}

/* ---- references --------------------------------------------------------------------------------- */

static struct afperf_ref *ref_at(const struct reading *reading, enum afperf_thing thing, uint32_t ref)
{
    return &reading->model->names[thing].refs[ref];
}

/* Marks a reference as needed by the current record. */
static void need(struct reading *reading, enum afperf_thing thing, uint32_t ref)
{
    struct afperf_ref *needed = ref_at(reading, thing, ref);
    if (needed->line)
        return;
    needed->line = reading->line;
    needed->offset = reading->offset;
    needed->current = reading->run;
}

/* Adds a reference. AFPERF_NONE with *error filled. */
static uint32_t add_ref(struct reading *reading, enum afperf_thing thing, const struct afperf_id *id,
                        struct pf_error *error)
{
    struct afperf_names *names = &reading->model->names[thing];
    if (afperf_grow(&names->refs, names->n, &names->room, sizeof *names->refs, error))
        return AFPERF_NONE;
    names->refs[names->n] =
        (struct afperf_ref){.id = *id, .segment = reading->segment, .object = AFPERF_NONE};
    return (uint32_t)names->n++;
}

/* Returns the reference of this id in the current segment, added if new. */
static uint32_t ref_of_id(struct reading *reading, enum afperf_thing thing, const struct afperf_id *id,
                          struct pf_error *error)
{
    uint32_t *ref = look_up(&reading->refs[thing], id->id, reading->segment, error);
    if (!ref)
        return AFPERF_NONE;
    if (*ref == AFPERF_NONE)
        *ref = add_ref(reading, thing, id, error);
    return *ref;
}

/*
 * Returns the reference that a RunInfo or SectionInfo defines; from here on, its id means this reference in the
 * segment. Each definition without an id gets a new reference. AFPERF_NONE with *error filled.
 */
static uint32_t ref_of_told(struct reading *reading, enum afperf_thing thing, const struct afperf_id *id,
                            struct pf_error *error)
{
    uint32_t ref = id->given ? ref_of_id(reading, thing, id, error) : add_ref(reading, thing, id, error);
    bool again = ref != AFPERF_NONE && ref_at(reading, thing, ref)->told;
    if (!again)
        return ref;
    note(reading, thing == AFPERF_RUNS ? AFPERF_DUPLICATE_RUN : AFPERF_DUPLICATE_SECTION);
    if (thing == AFPERF_RUNS)
        return ref;
    uint32_t *latest = look_up(&reading->refs[thing], id->id, reading->segment, error);
    return latest ? *latest = add_ref(reading, thing, id, error) : AFPERF_NONE;
}

/*
 * Returns the reference of the run that a record names, or of the current run, and marks it as needed. AFPERF_NONE with
 * *error filled.
 */
static uint32_t run_named(struct reading *reading, const struct afperf_id *run, struct pf_error *error)
{
    uint32_t ref = run->given ? ref_of_id(reading, AFPERF_RUNS, run, error) : reading->run;
    if (ref != AFPERF_NONE)
        need(reading, AFPERF_RUNS, ref);
    return ref;
}

/* ---- runs, types, pauses ------------------------------------------------------------------------ */

/* Adds the run that a RunInfo defines. */
static int add_run(struct reading *reading, const struct afperf_decoded *decoded, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (AFPERF_GROW(model, runs, error))
        return -1;
    struct afperf_run *run = &model->runs[model->n_runs++];
    uint64_t nanoseconds = afperf_nanoseconds(decoded->units);
    *run = (struct afperf_run){.is = {.offset = reading->offset, .line = reading->line, .id = decoded->run},
                               .start = decoded->time,
                               .end = decoded->time,
                               .nanoseconds = nanoseconds ? nanoseconds : 1};
    const struct {
        uint32_t *string;
        struct afperf_text text;
    } texts[] = {
        {&run->units, decoded->units},     {&run->wallclock, decoded->wallclock},
        {&run->version, decoded->version}, {&run->application, decoded->name},
        {&run->is.tags, decoded->tags},    {&run->application_version, decoded->application_version},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if ((*texts[i].string = afperf_keep(model, texts[i].text, error)) == PF_NO_STRING)
            return -1;
    return 0;
}

static int read_run_info(struct reading *reading, const struct afperf_decoded *decoded,
                         struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t number = ref_of_told(reading, AFPERF_RUNS, &decoded->run, error);
    if (number == AFPERF_NONE)
        return -1;
    struct afperf_ref *ref = ref_at(reading, AFPERF_RUNS, number);
    if (!ref->told) {
        ref->told = true;
        ref->object = (uint32_t)model->n_runs;
        if (add_run(reading, decoded, error))
            return -1;
    }
    reading->run = number;
    return log_event(reading, AFPERF_EVENT_RUN, number, error);
}

/* Returns the measurement type of an id and reference, added if new. */
static struct afperf_measure *measure_of(struct reading *reading, uint64_t id, uint32_t ref,
                                         struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t *number = look_up(&reading->measures, id, ref, error);
    if (!number)
        return NULL;
    if (*number != AFPERF_NONE)
        return &model->measures[*number];
    if (AFPERF_GROW(model, measures, error))
        return NULL;
    *number = (uint32_t)model->n_measures;
    struct afperf_measure *measure = &model->measures[model->n_measures++];
    *measure = (struct afperf_measure){.id = id, .run = ref};
    for (int field = 0; field < AFPERF_TYPE_FIELDS; field++)
        measure->fields[field].text = PF_NO_STRING;
    return measure;
}

/* A later definition updates an earlier one; its blank fields change nothing. */
static int read_measurement_type(struct reading *reading, const struct afperf_decoded *decoded,
                                 struct pf_error *error)
{
    uint32_t ref = run_named(reading, &decoded->run, error);
    struct afperf_measure *measure =
        ref == AFPERF_NONE ? NULL : measure_of(reading, decoded->type_id, ref, error);
    if (!measure)
        return -1;
    const struct afperf_text texts[AFPERF_TYPE_FIELDS] = {
        [AFPERF_NAME] = decoded->name,
        [AFPERF_DATATYPE] = decoded->datatype,
        [AFPERF_UNITS] = decoded->units,
        [AFPERF_SUMMARY] = decoded->summary,
        [AFPERF_DESCRIPTION] = decoded->description,
    };
    for (int field = 0; field < AFPERF_TYPE_FIELDS; field++) {
        if (!afperf_trim(texts[field]).size)
            continue;
        measure->fields[field].line = reading->line;
        measure->fields[field].text = afperf_keep(reading->model, texts[field], error);
        if (measure->fields[field].text == PF_NO_STRING)
            return -1;
    }
    measure->line = reading->line;
    measure->definitions++;
    if (afperf_trim(decoded->datatype).size)
        measure->datatype = afperf_datatype(decoded->datatype);
    return 0;
}

static int read_pause(struct reading *reading, const struct afperf_decoded *decoded, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = run_named(reading, &decoded->run, error);
    if (ref == AFPERF_NONE || AFPERF_GROW(model, pauses, error))
        return -1;
    model->pauses[model->n_pauses++] =
        (struct afperf_pause){.start = decoded->time, .stop = decoded->end, .run = ref};
    return 0;
}

/* ---- regions ------------------------------------------------------------------------------------ */

static int add_span(struct reading *reading, struct afperf_spans *spans, const struct afperf_decoded *decoded,
                    const struct afperf_id *id, uint32_t owner, struct pf_error *error)
{
    if (reading->line > UINT32_MAX)
        return pf_fail_at(error, EFBIG, (int64_t)reading->offset, "too many lines");
    if (afperf_grow(&spans->items, spans->count, &spans->room, sizeof *spans->items, error))
        return -1;
    unsigned flags = (id->given ? 0 : AFPERF_ANONYMOUS) | (decoded->tags.size ? AFPERF_TAGGED : 0);
    spans->items[spans->count++] = (struct afperf_span){.id = id->id,
                                                        .start = decoded->time,
                                                        .offset = reading->offset,
                                                        .line = (uint32_t)reading->line,
                                                        .owner = owner,
                                                        .label = PF_NO_STRING,
                                                        .parent = AFPERF_NONE,
                                                        .flags = (uint8_t)flags};
    return 0;
}

static int read_region_start(struct reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = run_named(reading, &decoded->run, error), number = model->regions.count;
    if (ref == AFPERF_NONE || add_span(reading, &model->regions, decoded, &decoded->object, ref, error))
        return -1;
    if (decoded->name.size) {
        uint32_t label = pf_intern(model->tree->strings, decoded->name.text, decoded->name.size, error);
        if (label == PF_NO_STRING)
            return -1;
        model->regions.items[number].label = label;
    }
    reading->run = ref;
    return log_event(reading, AFPERF_EVENT_REGION_START, number, error);
}

/* Stops are collected and paired after the pass, since a start may come after its stop in the file. */
static int add_stop(struct reading *reading, const struct afperf_decoded *decoded, const struct afperf_id *id,
                    uint32_t owner, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (AFPERF_GROW(model, stops, error))
        return -1;
    bool region = decoded->type == AFPERF_REGION_STOP;
    model->stops[model->n_stops++] = (struct afperf_stop){.offset = reading->offset,
                                                          .line = reading->line,
                                                          .time = decoded->time,
                                                          .id = *id,
                                                          .event = (uint32_t)model->n_log,
                                                          .owner = owner,
                                                          .region = region};
    return region ? log_event(reading, AFPERF_EVENT_REGION_STOP, AFPERF_NO_NUMBER, error)
                  : log_event(reading, AFPERF_EVENT_LOST_STOP, owner, error);
}

/* ---- sections ----------------------------------------------------------------------------------- */

/*
 * Returns the reference of the section that a start or stop names; without an id, the last section defined in the file.
 */
static uint32_t section_named(struct reading *reading, const struct afperf_id *id, struct pf_error *error)
{
    if (id->given)
        return ref_of_id(reading, AFPERF_SECTIONS, id, error);
    if (reading->last_section == AFPERF_NONE)
        reading->last_section = add_ref(reading, AFPERF_SECTIONS, id, error);
    return reading->last_section;
}

/* Returns the run of a section. In the short shape, the first field may be a run's id. */
static uint32_t run_of_section(struct reading *reading, const struct afperf_decoded *decoded,
                               struct pf_error *error)
{
    if (!decoded->run_or_time)
        return run_named(reading, &decoded->run, error);
    const uint32_t *known = look_up(&reading->refs[AFPERF_RUNS], decoded->run.id, reading->segment, error);
    if (!known)
        return AFPERF_NONE;
    if (*known != AFPERF_NONE && ref_at(reading, AFPERF_RUNS, *known)->told)
        return *known;
    uint32_t ref = add_ref(reading, AFPERF_RUNS, &decoded->run, error);
    if (ref == AFPERF_NONE)
        return AFPERF_NONE;
    ref_at(reading, AFPERF_RUNS, ref)->maybe = true;
    need(reading, AFPERF_RUNS, ref);
    return ref;
}

static int read_section_info(struct reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t run = run_of_section(reading, decoded, error);
    uint32_t number = ref_of_told(reading, AFPERF_SECTIONS, &decoded->object, error);
    if (run == AFPERF_NONE || number == AFPERF_NONE || AFPERF_GROW(model, sections, error))
        return -1;
    struct afperf_ref *ref = ref_at(reading, AFPERF_SECTIONS, number);
    ref->told = true;
    ref->object = (uint32_t)model->n_sections;
    struct afperf_section *section = &model->sections[model->n_sections++];
    *section = (struct afperf_section){
        .is = {.offset = reading->offset, .line = reading->line, .id = decoded->object},
        .ref = run,
        .label = afperf_keep(model, decoded->name, error)};
    section->is.tags = afperf_keep(model, decoded->tags, error);
    if (section->label == PF_NO_STRING || section->is.tags == PF_NO_STRING)
        return -1;
    reading->run = run;
    reading->last_section = number;
    return log_event(reading, AFPERF_EVENT_SECTION, number, error);
}

static int read_section_start(struct reading *reading, const struct afperf_decoded *decoded,
                              struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t number = model->intervals.count, ref = section_named(reading, &decoded->object, error);
    if (ref == AFPERF_NONE || add_span(reading, &model->intervals, decoded, &decoded->interval, ref, error))
        return -1;
    need(reading, AFPERF_SECTIONS, ref);
    return log_event(reading, AFPERF_EVENT_INTERVAL_START, number, error);
}

static int read_section_stop(struct reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    uint32_t ref = section_named(reading, &decoded->object, error);
    return ref == AFPERF_NONE ? -1 : add_stop(reading, decoded, &decoded->interval, ref, error);
}

/* ---- data --------------------------------------------------------------------------------------- */

/* Only data of a whole run name the run, and thus create an implicit run if it is undefined. */
static int read_data(struct reading *reading, const struct afperf_decoded *decoded, struct pf_error *error)
{
    bool whole = decoded->type == AFPERF_RUN_POINT || decoded->type == AFPERF_RUN_AGGREGATE;
    const struct afperf_data data = {.offset = reading->offset,
                                     .line = reading->line,
                                     .end = decoded->end,
                                     .object = decoded->object,
                                     .interval = decoded->interval,
                                     .type = decoded->type,
                                     .processed = decoded->aggregation.size > 0,
                                     .run = whole ? run_named(reading, &decoded->run, error) : reading->run,
                                     .block = reading->block};
    return data.run == AFPERF_NONE ? -1 : pf_store_append(reading->model->data, &data, sizeof data, error);
}

/* ---- records ------------------------------------------------------------------------------------ */

/* Notes the problems of the record's text and fields. */
static void note_record(struct reading *reading, const struct afperf_record *record,
                        const struct afperf_decoded *decoded)
{
    const struct {
        enum afperf_problem problem;
        unsigned times;
    } found[] = {
        {AFPERF_QUOTE_IN_FIELD, record->quotes_inside},
        {AFPERF_TEXT_AFTER_QUOTE, record->text_after_quote},
        {AFPERF_BAD_UTF8, record->bad_utf8},
        {AFPERF_NUL_BYTE, record->nul},
        {AFPERF_LEADING_ZERO, decoded->leading_zero},
        {AFPERF_ODD_MEASUREMENT, decoded->odd_measurement},
        {AFPERF_BAD_MEASUREMENT_TYPE, decoded->bad_measurement_types},
        /* If the record is dropped, problems of its meaning are not noted. */
        {AFPERF_EXAMPLE_SHAPE, decoded->example_shape && !decoded->error},
        {AFPERF_OTHER_RUN_VERSION, decoded->run_version && !decoded->error},
        {AFPERF_BAD_NUMBER, decoded->bad_wallclock && !decoded->error},
        {decoded->error, decoded->error != AFPERF_SOUND},
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        for (unsigned n = 0; n < found[i].times; n++)
            note(reading, found[i].problem);
}

static int read_fields(struct reading *reading, const struct afperf_record *record,
                       const struct afperf_decoded *decoded, struct pf_error *error)
{
    note_record(reading, record, decoded);
    if (decoded->error)
        return 0;
    if (afperf_is_data(decoded->type))
        return read_data(reading, decoded, error);
    switch (decoded->type) {
    case AFPERF_RUN_INFO:
        return read_run_info(reading, decoded, error);
    case AFPERF_MEASUREMENT_TYPE:
        return read_measurement_type(reading, decoded, error);
    case AFPERF_PAUSE_RESUME:
        return read_pause(reading, decoded, error);
    case AFPERF_REGION_START:
        return read_region_start(reading, decoded, error);
    case AFPERF_REGION_STOP:
        return add_stop(reading, decoded, &decoded->object, reading->run, error);
    case AFPERF_SECTION_INFO:
        return read_section_info(reading, decoded, error);
    case AFPERF_SECTION_START:
        return read_section_start(reading, decoded, error);
    case AFPERF_SECTION_STOP:
        return read_section_stop(reading, decoded, error);
    default:
        return 0;
    }
}

/* Handles a header line. Returns 1 if a segment starts; 0 if reading ends; -1 with *error filled. */
static int read_header(struct reading *reading, struct afperf_text header, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    size_t size = header.size;
    while (header.size && strchr(" \t\r", header.text[header.size - 1]))
        header.size--;
    if (!afperf_is(header, "# AFPerf v1")) {
        note(reading, AFPERF_OTHER_VERSION);
        return 0;
    }
    if (size != 16)
        note(reading, AFPERF_HEADER_NOT_16_BYTES);
    if (AFPERF_GROW(model, segments, error))
        return -1;
    reading->segment = (uint32_t)model->n_segments;
    model->segments[model->n_segments++] = reading->offset;
    return 1;
}

/* Handles one item of the reader. Returns 1 to continue; 0 if reading ends; -1 with *error filled. */
static int read_record(struct reading *reading, const struct afperf_record *record,
                       const struct afperf_decoded *decoded, struct pf_error *error)
{
    reading->offset = record->offset;
    reading->line = record->line;
    if (record->kind == AFPERF_HEADER)
        return read_header(reading, record->fields[0], error);
    if (record->kind == AFPERF_FIELDS)
        return read_fields(reading, record, decoded, error) ? -1 : 1;
    note(reading, record->kind == AFPERF_TOO_LONG ? AFPERF_RECORD_TOO_LONG : AFPERF_QUOTE_WITHOUT_END);
    return 1;
}

static int read_all(struct reading *reading, struct afperf_reader *reader, struct pf_error *error)
{
    struct pf_input *input = reading->model->input;
    uint64_t stepped = 0, done, total;
    struct afperf_record record;
    struct afperf_decoded decoded;
    int more;
    if (add_ref(reading, AFPERF_RUNS, &(struct afperf_id){0}, error) == AFPERF_NONE)
        return -1;
    while ((more = afperf_next_decoded(reader, &record, &decoded, error)) > 0) {
        if (record.offset - stepped >= STEP_BYTES) {
            stepped = record.offset;
            pf_input_progress(input, stepped, &done, &total);
            if (pf_pass_step(done, total, error))
                return -1;
        }
        more = read_record(reading, &record, &decoded, error);
        if (more <= 0)
            return more;
    }
    if (more < 0)
        return -1;
    afperf_reader_tell(reader, &reading->offset, &reading->line);
    struct pf_error damage;
    if (pf_input_damage(input, &damage))
        note(reading, AFPERF_DAMAGED);
    return 0;
}

int afperf_read(struct afperf_model *model, struct pf_error *error)
{
    struct reading reading = {.model = model, .last_section = AFPERF_NONE};
    struct afperf_reader *reader = afperf_reader_new(model->input);
    int result = reader ? read_all(&reading, reader, error) : pf_fail_memory(error);
    for (int thing = 0; thing < AFPERF_THINGS; thing++)
        free_map(&reading.refs[thing]);
    free_map(&reading.measures);
    afperf_reader_free(reader);
    return result;
}
