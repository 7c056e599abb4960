/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/afperf/afperf.h"

/* Interval of progress reports, in bytes. */
#define STEP_BYTES ((uint64_t)1 << 20)

/* Map from an id and a scope to a number. The scope is a segment or a reference. */
struct id_map {
    struct pf_strings *keys;
    PF_LIST(uint32_t) values; /* indexed by the key's number */
};

/* State that only the pass over the file needs. */
struct afperf_reading {
    struct afperf_model *model;
    uint64_t offset, line;             /* of the current record */
    uint64_t n_events;                 /* number of events so far */
    uint32_t segment;                  /* current segment */
    uint32_t run;                      /* reference of the current run */
    bool apart;                        /* no start or stop since the last RunInfo or the file's start */
    uint32_t last_section;             /* reference of the last SectionInfo, or AFPERF_NONE */
    struct id_map refs[AFPERF_THINGS]; /* references by id and segment */
    struct id_map measures;            /* indexes in model->measures by id and the run's reference */
};

/*
 * Returns a pointer to the value of an id and scope. The pointer is valid until the next call. A new key has the value
 * AFPERF_NONE.
 */
static uint32_t *look_up_id(struct afperf_reading *reading, struct id_map *map, uint64_t id, uint32_t scope)
{
    struct pf_run *run = reading->model->run;
    const uint64_t key[] = {id, scope};
    if (!map->keys)
        map->keys = PF_OWN(run, pf_strings_new(), pf_strings_free);
    uint32_t known = pf_strings_count(map->keys);
    uint32_t number = pf_intern(map->keys, (const char *)key, sizeof key, run->error);
    if (number == PF_NO_STRING)
        pf_run_fail(run);
    uint32_t *value = PF_ITEM(run, map->values, number);
    if (number >= known)
        *value = AFPERF_NONE;
    return value;
}

/* Adds a warning about the current record. */
static void note_here(struct afperf_reading *reading, enum afperf_problem problem)
{
    afperf_note(reading->model, problem, reading->offset, reading->line);
}

/* ---- references --------------------------------------------------------------------------------- */

static struct afperf_ref *ref_at(const struct afperf_reading *reading, enum afperf_thing thing, uint32_t ref)
{
    return &reading->model->names[thing].refs[ref];
}

/* Marks a reference as needed by the current record. */
static void need_here(struct afperf_reading *reading, enum afperf_thing thing, uint32_t ref)
{
    struct afperf_ref *needed = ref_at(reading, thing, ref);
    if (needed->line)
        return;
    needed->line = reading->line;
    needed->offset = reading->offset;
    needed->current = reading->run;
}

static uint32_t add_ref(struct afperf_reading *reading, enum afperf_thing thing, const struct afperf_id *id)
{
    struct afperf_names *names = &reading->model->names[thing];
    afperf_grow(reading->model, &names->refs, names->n, &names->room, sizeof *names->refs);
    names->refs[names->n] =
        (struct afperf_ref){.id = *id, .segment = reading->segment, .object = AFPERF_NONE};
    return (uint32_t)names->n++;
}

/* Returns the reference of this id in the current segment. Adds one if there is none. */
static uint32_t ref_of_id(struct afperf_reading *reading, enum afperf_thing thing, const struct afperf_id *id)
{
    uint32_t *ref = look_up_id(reading, &reading->refs[thing], id->id, reading->segment);
    if (*ref == AFPERF_NONE)
        *ref = add_ref(reading, thing, id);
    return *ref;
}

/*
 * Returns the reference that a RunInfo or SectionInfo with this id defines. A repeated RunInfo gets the reference of the first one. A
 * repeated SectionInfo gets a new reference, which the id stands for in the rest of the segment. A definition without an id gets a new
 * reference, too.
 */
static uint32_t ref_of_definition(struct afperf_reading *reading, enum afperf_thing thing,
                                  const struct afperf_id *id)
{
    uint32_t ref = id->given ? ref_of_id(reading, thing, id) : add_ref(reading, thing, id);
    if (!ref_at(reading, thing, ref)->defined)
        return ref;
    note_here(reading, thing == AFPERF_RUNS ? AFPERF_DUPLICATE_RUN : AFPERF_DUPLICATE_SECTION);
    if (thing == AFPERF_RUNS)
        return ref;
    return *look_up_id(reading, &reading->refs[thing], id->id, reading->segment) =
               add_ref(reading, thing, id);
}

/*
 * Returns the reference of the run that a record names or, if it names none, of the current run. Marks the reference as
 * needed.
 */
static uint32_t run_named(struct afperf_reading *reading, const struct afperf_id *run)
{
    uint32_t ref = run->given ? ref_of_id(reading, AFPERF_RUNS, run) : reading->run;
    need_here(reading, AFPERF_RUNS, ref);
    return ref;
}

/* ---- runs, types, pauses ------------------------------------------------------------------------ */

/* Adds the run that a RunInfo defines. */
static void define_run(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    struct afperf_model *model = reading->model;
    AFPERF_GROW(model, runs);
    uint64_t nanoseconds = afperf_nanoseconds(decoded->units);
    model->runs[model->n_runs++] =
        (struct afperf_run){.is = {.offset = reading->offset,
                                   .line = reading->line,
                                   .id = decoded->run,
                                   .tags = afperf_keep(model, decoded->tags)},
                            .start = decoded->time,
                            .end = decoded->time,
                            .units = afperf_keep(model, decoded->units),
                            .wallclock = afperf_keep(model, decoded->wallclock),
                            .version = afperf_keep(model, decoded->version),
                            .application = afperf_keep(model, decoded->name),
                            .application_version = afperf_keep(model, decoded->application_version),
                            .nanoseconds = nanoseconds ? nanoseconds : 1};
}

static void read_run_info(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    uint32_t number = ref_of_definition(reading, AFPERF_RUNS, &decoded->run);
    struct afperf_ref *ref = ref_at(reading, AFPERF_RUNS, number);
    if (!ref->defined) {
        ref->defined = true;
        ref->object = (uint32_t)reading->model->n_runs;
        define_run(reading, decoded);
    }
    reading->run = number;
    reading->apart = true;
}

/* Returns the measurement type of this id in the run that `ref` names. Adds it if it is new. */
static struct afperf_measure *measure_of(struct afperf_reading *reading, uint64_t id, uint32_t ref)
{
    struct afperf_model *model = reading->model;
    uint32_t *number = look_up_id(reading, &reading->measures, id, ref);
    if (*number != AFPERF_NONE)
        return &model->measures[*number];
    AFPERF_GROW(model, measures);
    *number = (uint32_t)model->n_measures;
    struct afperf_measure *measure = &model->measures[model->n_measures++];
    *measure = (struct afperf_measure){.id = id, .run = ref};
    for (int field = 0; field < AFPERF_TYPE_FIELDS; field++)
        measure->fields[field].text = PF_NO_STRING;
    return measure;
}

/* A later definition of a type updates an earlier one. Blank fields of the later definition change nothing. */
static void read_measurement_type(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    uint32_t ref = run_named(reading, &decoded->run);
    struct afperf_measure *measure = measure_of(reading, decoded->type_id, ref);
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
        measure->fields[field].text = afperf_keep(reading->model, texts[field]);
    }
    measure->line = reading->line;
    measure->definitions++;
    if (afperf_trim(decoded->datatype).size)
        measure->datatype = afperf_datatype(decoded->datatype);
}

static void read_pause(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = run_named(reading, &decoded->run);
    AFPERF_GROW(model, pauses);
    model->pauses[model->n_pauses++] =
        (struct afperf_pause){.start = decoded->time, .stop = decoded->end, .run = ref};
}

/* ---- events ------------------------------------------------------------------------------------- */

static void store_event(struct afperf_reading *reading, struct afperf_event event)
{
    struct afperf_model *model = reading->model;
    if (reading->n_events++ == AFPERF_EVENTS_MAX)
        pf_run_check(model->run, pf_fail(model->run->error, EFBIG, "too many records"));
    event.offset = reading->offset;
    event.line = reading->line;
    if (event.kind != AFPERF_EVENT_DATA)
        reading->apart = false;
    afperf_append(model, model->events, &event, sizeof event);
}

/* Copies the tags of a region to model->stores[TAG_TEXTS]. Returns their range there, see afperf_tags. */
static uint64_t store_tags(struct afperf_model *model, struct afperf_text tags)
{
    uint64_t at = pf_store_size(model->stores[TAG_TEXTS]);
    if (!tags.size)
        return 0;
    if (at >> (64 - AFPERF_TAGS_BITS))
        pf_run_check(model->run, pf_fail(model->run->error, EFBIG, "too much text"));
    afperf_append(model, model->stores[TAG_TEXTS], tags.text, tags.size);
    return at << AFPERF_TAGS_BITS | tags.size;
}

/* Reads a RegionStart or RegionStop. Only the former has a label and tags. */
static void afperf_read_region(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    struct afperf_model *model = reading->model;
    const struct afperf_text label = decoded->name;
    bool start = decoded->type == AFPERF_REGION_START;
    if (start)
        reading->run = run_named(reading, &decoded->run);
    store_event(reading, (struct afperf_event){
                             .kind = start ? AFPERF_EVENT_REGION_START : AFPERF_EVENT_REGION_STOP,
                             .time = decoded->time,
                             .id = decoded->object.id,
                             .id_given = decoded->object.given,
                             .owner = reading->run,
                             .label = label.size ? afperf_name(model, label.text, label.size) : PF_NO_STRING,
                             .other = store_tags(model, decoded->tags)});
}

/* ---- sections ----------------------------------------------------------------------------------- */

/*
 * Returns the reference of the section that a start or stop names. If it names none, returns the reference of the last SectionInfo or,
 * before the first SectionInfo, of a section without an id.
 */
static uint32_t section_named(struct afperf_reading *reading, const struct afperf_id *id)
{
    if (id->given)
        return ref_of_id(reading, AFPERF_SECTIONS, id);
    if (reading->last_section == AFPERF_NONE)
        reading->last_section = add_ref(reading, AFPERF_SECTIONS, id);
    return reading->last_section;
}

/*
 * Returns the reference of a section's run. A short SectionInfo begins with a run's id or a timestamp. Unless the id is defined already,
 * names.c decides later which of the two it is.
 */
static uint32_t run_of_section(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    if (!decoded->run_or_time)
        return run_named(reading, &decoded->run);
    uint32_t known = *look_up_id(reading, &reading->refs[AFPERF_RUNS], decoded->run.id, reading->segment);
    if (known != AFPERF_NONE && ref_at(reading, AFPERF_RUNS, known)->defined)
        return known;
    uint32_t ref = add_ref(reading, AFPERF_RUNS, &decoded->run);
    ref_at(reading, AFPERF_RUNS, ref)->maybe = true;
    need_here(reading, AFPERF_RUNS, ref);
    return ref;
}

static void read_section_info(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    struct afperf_model *model = reading->model;
    uint32_t run = run_of_section(reading, decoded);
    uint32_t number = ref_of_definition(reading, AFPERF_SECTIONS, &decoded->object);
    AFPERF_GROW(model, sections);
    struct afperf_ref *ref = ref_at(reading, AFPERF_SECTIONS, number);
    ref->defined = true;
    ref->object = (uint32_t)model->n_sections;
    model->sections[model->n_sections++] =
        (struct afperf_section){.is = {.offset = reading->offset,
                                       .line = reading->line,
                                       .id = decoded->object,
                                       .tags = afperf_keep(model, decoded->tags)},
                                .ref = run,
                                .label = afperf_keep(model, decoded->name)};
    reading->run = run;
    reading->last_section = number;
}

static void read_interval(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    uint32_t ref = section_named(reading, &decoded->object);
    bool start = decoded->type == AFPERF_SECTION_START;
    if (start)
        need_here(reading, AFPERF_SECTIONS, ref);
    store_event(reading, (struct afperf_event){.kind = start ? AFPERF_EVENT_INTERVAL_START
                                                             : AFPERF_EVENT_INTERVAL_STOP,
                                               .time = decoded->time,
                                               .id = decoded->interval.id,
                                               .id_given = decoded->interval.given,
                                               .owner = ref});
}

/* ---- data --------------------------------------------------------------------------------------- */

/*
 * Reads a data record. Only data of a whole run name a run. If no record defines that run, it becomes an implicit run.
 */
static void read_data_record(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    bool whole = decoded->type == AFPERF_RUN_POINT || decoded->type == AFPERF_RUN_AGGREGATE;
    store_event(reading,
                (struct afperf_event){.kind = AFPERF_EVENT_DATA,
                                      .type = (uint8_t)decoded->type,
                                      .time = decoded->end,
                                      .id = decoded->object.id,
                                      .id_given = decoded->object.given,
                                      .other = decoded->interval.id,
                                      .other_given = decoded->interval.given,
                                      .processed = decoded->aggregation.size > 0,
                                      .apart = reading->apart,
                                      .owner = whole ? run_named(reading, &decoded->run) : reading->run});
}

/* ---- records ------------------------------------------------------------------------------------ */

/* Adds warnings about the record's text and fields. */
static void afperf_note_problems(struct afperf_reading *reading, const struct afperf_record *record,
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
        /* The next three warnings are left out if the record is dropped for an error. */
        {AFPERF_EXAMPLE_SHAPE, decoded->example_shape && !decoded->error},
        {AFPERF_OTHER_RUN_VERSION, decoded->run_version && !decoded->error},
        {AFPERF_BAD_NUMBER, decoded->bad_wallclock && !decoded->error},
        {decoded->error, decoded->error != AFPERF_SOUND},
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        for (unsigned n = 0; n < found[i].times; n++)
            note_here(reading, found[i].problem);
}

static void (*const read_type[AFPERF_TYPES])(struct afperf_reading *reading,
                                             const struct afperf_decoded *decoded) = {
    [AFPERF_MEASUREMENT_TYPE] = read_measurement_type,
    [AFPERF_PAUSE_RESUME] = read_pause,
    [AFPERF_REGION_AGGREGATE] = read_data_record,
    [AFPERF_REGION_POINT] = read_data_record,
    [AFPERF_REGION_START] = afperf_read_region,
    [AFPERF_REGION_STOP] = afperf_read_region,
    [AFPERF_RUN_AGGREGATE] = read_data_record,
    [AFPERF_RUN_INFO] = read_run_info,
    [AFPERF_RUN_POINT] = read_data_record,
    [AFPERF_SECTION_AGGREGATE] = read_data_record,
    [AFPERF_SECTION_INFO] = read_section_info,
    [AFPERF_SECTION_POINT] = read_data_record,
    [AFPERF_SECTION_START] = read_interval,
    [AFPERF_SECTION_STOP] = read_interval,
};

static void read_known_type(struct afperf_reading *reading, const struct afperf_record *record,
                            const struct afperf_decoded *decoded)
{
    afperf_note_problems(reading, record, decoded);
    if (!decoded->error && read_type[decoded->type])
        read_type[decoded->type](reading, decoded);
}

/* Handles a header line. Returns false if reading ends here. */
static bool read_header_line(struct afperf_reading *reading, struct afperf_text header)
{
    struct afperf_model *model = reading->model;
    size_t size = header.size;
    while (header.size && strchr(" \t\r", header.text[header.size - 1]))
        header.size--;
    if (!afperf_is(header, "# AFPerf v1")) {
        note_here(reading, AFPERF_OTHER_VERSION);
        return false;
    }
    if (size != 16)
        note_here(reading, AFPERF_HEADER_NOT_16_BYTES);
    AFPERF_GROW(model, segments);
    reading->segment = (uint32_t)model->n_segments;
    model->segments[model->n_segments++] = (struct afperf_segment){reading->offset, reading->n_events};
    return true;
}

/* Handles one item of the reader. Returns false if reading ends here. */
static bool read_item(struct afperf_reading *reading, const struct afperf_record *record,
                      const struct afperf_decoded *decoded)
{
    reading->offset = record->offset;
    reading->line = record->line;
    if (record->kind == AFPERF_HEADER)
        return read_header_line(reading, record->fields[0]);
    if (!reading->model->n_segments) /* the file began with a header when it was opened */
        pf_run_check(reading->model->run,
                     pf_fail(reading->model->run->error, ESTALE, "the file has changed"));
    if (record->kind == AFPERF_FIELDS)
        read_known_type(reading, record, decoded);
    else
        note_here(reading,
                  record->kind == AFPERF_TOO_LONG ? AFPERF_RECORD_TOO_LONG : AFPERF_QUOTE_WITHOUT_END);
    return true;
}

void afperf_read(struct afperf_model *model)
{
    struct pf_run *run = model->run;
    struct afperf_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free);
    struct afperf_reader *reader = PF_OWN(run, afperf_reader_new(model->input), afperf_reader_free);
    struct afperf_record record;
    struct afperf_decoded decoded;
    struct pf_error damage;
    uint64_t stepped = 0, done, total;
    reading->model = model;
    reading->last_section = AFPERF_NONE;
    reading->apart = true;
    add_ref(reading, AFPERF_RUNS, &(struct afperf_id){0});
    while (pf_run_check(run, afperf_next_decoded(reader, &record, &decoded, run->error))) {
        if (record.offset - stepped >= STEP_BYTES) {
            stepped = record.offset;
            pf_input_progress(model->input, stepped, &done, &total);
            pf_run_check(run, pf_pass_step(done, total, run->error));
        }
        if (!read_item(reading, &record, &decoded))
            return;
    }
    afperf_reader_tell(reader, &reading->offset, &reading->line);
    if (pf_input_damage(model->input, &damage))
        note_here(reading, AFPERF_DAMAGED);
}
