/* SPDX-License-Identifier: MIT */
#include "formats/afperf/read.h"

#include <stdlib.h>
#include <string.h>

/* How often to say how far the pass is. */
#define STEP_BYTES ((uint64_t)1 << 20)

/* ---- references --------------------------------------------------------------------------------- */

/* The run is needed by the record being read. */
static void need(struct afperf_reading *reading, uint32_t ref)
{
    struct afperf_ref *needed = &reading->model->refs[ref];
    reading->model->initial_used |= ref == 0;
    if (needed->line)
        return;
    needed->line = reading->place.line;
    needed->offset = reading->place.offset;
}

/* A new reference, or AFPERF_NONE with *error filled. */
static uint32_t add_ref(struct afperf_reading *reading, enum afperf_ref_kind kind, uint64_t id,
                        struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (AFPERF_GROW(model, refs, error) < 0)
        return AFPERF_NONE;
    model->refs[model->n_refs] =
        (struct afperf_ref){.kind = kind, .segment = reading->place.segment, .id = id, .run = AFPERF_NONE};
    return (uint32_t)model->n_refs++;
}

/* The reference by this id in this segment, made if there is none. */
static uint32_t ref_of_id(struct afperf_reading *reading, uint64_t id, struct pf_error *error)
{
    uint32_t ref = afperf_map_get(&reading->run_refs, id, reading->place.segment);
    if (ref != AFPERF_NONE)
        return ref;
    ref = add_ref(reading, AFPERF_REF_ID, id, error);
    if (ref == AFPERF_NONE || afperf_map_set(&reading->run_refs, id, reading->place.segment, ref, error) < 0)
        return AFPERF_NONE;
    return ref;
}

uint32_t afperf_run_named(struct afperf_reading *reading, const struct afperf_id *run, struct pf_error *error)
{
    uint32_t ref = run->given ? ref_of_id(reading, run->id, error) : reading->place.run;
    if (ref != AFPERF_NONE)
        need(reading, ref);
    return ref;
}

static uint32_t add_section_ref(struct afperf_reading *reading, const struct afperf_id *id,
                                struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (AFPERF_GROW(model, section_refs, error) < 0)
        return AFPERF_NONE;
    model->section_refs[model->n_section_refs] = (struct afperf_section_ref){
        .by_id = id->given, .id = id->id, .segment = reading->place.segment, .section = AFPERF_NONE};
    return (uint32_t)model->n_section_refs++;
}

/* The reference that a start or stop names its section by. */
static uint32_t section_named(struct afperf_reading *reading, const struct afperf_id *id,
                              struct pf_error *error)
{
    uint32_t *nameless = &reading->last_section;
    uint32_t ref =
        id->given ? afperf_map_get(&reading->section_refs, id->id, reading->place.segment) : *nameless;
    if (ref != AFPERF_NONE)
        return ref;
    ref = add_section_ref(reading, id, error);
    if (ref == AFPERF_NONE)
        return AFPERF_NONE;
    if (!id->given)
        *nameless = ref;
    else if (afperf_map_set(&reading->section_refs, id->id, reading->place.segment, ref, error) < 0)
        return AFPERF_NONE;
    return ref;
}

/* ---- what all records have in common ------------------------------------------------------------ */

static int note(struct afperf_reading *reading, enum afperf_problem problem, struct pf_error *error)
{
    return afperf_note(&reading->model->notes, problem, reading->place.offset, reading->place.line, error);
}

/* Notes the same problem several times. */
static int note_times(struct afperf_reading *reading, enum afperf_problem problem, unsigned times,
                      struct pf_error *error)
{
    for (unsigned i = 0; i < times; i++)
        if (note(reading, problem, error) < 0)
            return -1;
    return 0;
}

/* Adds an event to the log. It is what data without an id belong to, if it starts or stops something. */
static int log_event(struct afperf_reading *reading, uint64_t event, struct pf_error *error)
{
    reading->place.events++;
    if (afperf_event_kind(event) != AFPERF_EVENT_SECTION) {
        reading->place.block = reading->place.events;
        reading->block = event;
    }
    return pf_store_append(reading->model->log, &event, sizeof event, error);
}

/* True, from then on, of keys that have been set; of a few others too. */
static bool is_put_off(const struct afperf_reading *reading, uint64_t hash)
{
    size_t bit = hash % (8 * sizeof reading->put_off);
    return reading->put_off[bit / 8] >> bit % 8 & 1;
}

/* Leaves a stop for when all has been read, and so all later ones of its key: stops are paired in file order. */
static int put_off(struct afperf_reading *reading, struct afperf_stop *stop, uint64_t hash,
                   struct pf_error *error)
{
    size_t bit = hash % (8 * sizeof reading->put_off);
    reading->put_off[bit / 8] |= (unsigned char)(1u << bit % 8);
    stop->offset = reading->place.offset;
    stop->line = reading->place.line;
    stop->event = reading->place.events;
    stop->starts = reading->model->regions.count;
    enum afperf_event kind = stop->region ? AFPERF_EVENT_REGION_STOP : AFPERF_EVENT_INTERVAL_STOP;
    if (log_event(reading, afperf_event(kind, AFPERF_NONE), error) < 0)
        return -1;
    return pf_store_append(reading->model->stops, stop, sizeof *stop, error);
}

/* ---- runs, types, pauses ------------------------------------------------------------------------ */

/* What a RunInfo says of the run. */
static int add_run(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                   struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (AFPERF_GROW(model, runs, error) < 0)
        return -1;
    struct afperf_run *run = &model->runs[model->n_runs];
    uint64_t nanoseconds = afperf_nanoseconds(decoded->units);
    *run = (struct afperf_run){.offset = reading->place.offset,
                               .line = reading->place.line,
                               .id = decoded->run,
                               .start = decoded->time,
                               .end = decoded->time,
                               .units = afperf_keep(model, decoded->units, error),
                               .wallclock = afperf_keep(model, decoded->wallclock, error),
                               .version = afperf_keep(model, decoded->version, error),
                               .application = afperf_keep(model, decoded->name, error),
                               .application_version = afperf_keep(model, decoded->application_version, error),
                               .tags = afperf_keep(model, decoded->tags, error),
                               .segment = reading->place.segment,
                               .nanoseconds = nanoseconds ? nanoseconds : 1};
    model->n_runs++;
    bool kept = run->units != PF_NO_STRING && run->wallclock != PF_NO_STRING &&
                run->version != PF_NO_STRING && run->application != PF_NO_STRING &&
                run->application_version != PF_NO_STRING && run->tags != PF_NO_STRING;
    return kept ? 0 : -1;
}

static int read_run_info(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                         struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = decoded->run.given ? ref_of_id(reading, decoded->run.id, error)
                                      : add_ref(reading, AFPERF_REF_ID, 0, error);
    if (ref == AFPERF_NONE)
        return -1;
    if (model->refs[ref].kind == AFPERF_REF_RUN) {
        if (note(reading, AFPERF_DUPLICATE_RUN, error) < 0)
            return -1;
    } else {
        model->refs[ref].kind = AFPERF_REF_RUN;
        model->refs[ref].run = (uint32_t)model->n_runs;
        if (add_run(reading, decoded, error) < 0)
            return -1;
    }
    reading->place.run = ref;
    return log_event(reading, afperf_event(AFPERF_EVENT_RUN, ref), error);
}

/* The definitions of this id by the reference, added if there are none. */
static struct afperf_measure *measure_of(struct afperf_reading *reading, uint64_t id, uint32_t ref,
                                         struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t i = afperf_map_get(&reading->measures, id, ref);
    if (i != AFPERF_NONE)
        return &model->measures[i];
    i = (uint32_t)model->n_measures;
    if (AFPERF_GROW(model, measures, error) < 0 || afperf_map_set(&reading->measures, id, ref, i, error) < 0)
        return NULL;
    struct afperf_measure *measure = &model->measures[model->n_measures++];
    *measure = (struct afperf_measure){.id = id, .run = ref};
    for (int field = 0; field < AFPERF_TYPE_FIELDS; field++)
        measure->fields[field].text = PF_NO_STRING;
    return measure;
}

/* A later definition updates an earlier one; what it leaves blank stays. */
static int read_measurement_type(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                                 struct pf_error *error)
{
    uint32_t ref = afperf_run_named(reading, &decoded->run, error);
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
        measure->fields[field].line = reading->place.line;
        measure->fields[field].text = afperf_keep(reading->model, texts[field], error);
        if (measure->fields[field].text == PF_NO_STRING)
            return -1;
    }
    measure->line = reading->place.line;
    measure->definitions++;
    if (!afperf_trim(decoded->datatype).size)
        return 0;
    enum afperf_datatype datatype = afperf_datatype(decoded->datatype);
    reading->model->doubt_all |= measure->used && measure->datatype != datatype;
    measure->datatype = datatype;
    return 0;
}

void afperf_data_until(struct afperf_reading *reading, uint32_t ref, uint64_t time)
{
    if (time > reading->model->refs[ref].end)
        reading->model->refs[ref].end = time;
}

static int read_pause(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                      struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = afperf_run_named(reading, &decoded->run, error);
    if (ref == AFPERF_NONE || AFPERF_GROW(model, pauses, error) < 0)
        return -1;
    model->pauses[model->n_pauses++] =
        (struct afperf_pause){.start = decoded->time, .stop = decoded->end, .before = ref};
    afperf_data_until(reading, ref, decoded->end);
    return 0;
}

/* ---- regions ------------------------------------------------------------------------------------ */

/* A start or stop without id. While they come in the order of time, each stop closes the innermost open one. */
static void watch_order(struct afperf_ref *ref, uint64_t time)
{
    ref->unordered |= ref->has_anonymous && time < ref->last_anonymous;
    ref->has_anonymous = true;
    ref->last_anonymous = time;
}

/* Makes a region known as open. */
static int open_region(struct afperf_reading *reading, struct afperf_span *region, uint32_t number,
                       uint32_t ref, struct pf_error *error)
{
    if (region->flags & AFPERF_ANONYMOUS) {
        struct afperf_ref *run = &reading->model->refs[ref];
        watch_order(run, region->start);
        region->open_below = run->anonymous;
        run->anonymous = number + 1;
        return 0;
    }
    reading->recent_regions[afperf_hash(region->id, 0) % AFPERF_RECENT] = number + 1;
    region->open_below = afperf_map_get(&reading->open_regions, region->id, 0) + 1;
    return afperf_map_set(&reading->open_regions, region->id, 0, number, error);
}

static int read_region_start(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = afperf_run_named(reading, &decoded->run, error);
    uint32_t number = model->regions.count;
    struct afperf_span *region =
        ref == AFPERF_NONE ? NULL : afperf_spans_add(&model->regions, reading->place.offset, error);
    if (!region)
        return -1;
    region->id = decoded->object.id;
    region->start = decoded->time;
    region->owner = ref;
    region->flags =
        (uint8_t)((decoded->object.given ? 0 : AFPERF_ANONYMOUS) | (decoded->tags.size ? AFPERF_TAGGED : 0) |
                  (decoded->name.size ? 0 : AFPERF_UNLABELLED));
    region->label = PF_NO_STRING;
    if (decoded->name.size) {
        region->label = pf_intern(model->tree->strings, decoded->name.text, decoded->name.size, error);
        if (region->label == PF_NO_STRING)
            return -1;
    }
    reading->place.run = ref;
    if (open_region(reading, region, number, ref, error) < 0)
        return -1;
    return log_event(reading, afperf_event(AFPERF_EVENT_REGION_START, number), error);
}

static int close_span(struct afperf_reading *reading, struct afperf_span *span, uint64_t time,
                      struct pf_error *error)
{
    bool negative;
    afperf_close_span(span, time, &negative);
    if (!negative)
        return 0;
    return afperf_note(&reading->model->notes, AFPERF_NEGATIVE_DURATION, afperf_span_offset(span), 0, error);
}

/* Takes the newest open span of a key out of those that are open. */
static int take_open(struct afperf_map *map, const struct afperf_span *span, uint32_t scope,
                     struct pf_error *error)
{
    if (span->open_below)
        return afperf_map_set(map, span->id, scope, span->open_below - 1, error);
    afperf_map_remove(map, span->id, scope);
    return 0;
}

static int stop_anonymous_region(struct afperf_reading *reading, uint64_t time, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    struct afperf_ref *ref = &model->refs[reading->place.run];
    watch_order(ref, time);
    if (!ref->anonymous) {
        struct afperf_stop stop = {.time = time, .owner = reading->place.run, .region = true};
        return put_off(reading, &stop, 0, error);
    }
    uint32_t number = ref->anonymous - 1;
    struct afperf_span *region = afperf_span(&model->regions, number);
    ref->anonymous = region->open_below;
    region->stop = time; /* not before its start, or all are paired anew */
    region->flags |= AFPERF_CLOSED;
    return log_event(reading, afperf_event(AFPERF_EVENT_REGION_STOP, number), error);
}

static int read_region_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                            struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (!decoded->object.given)
        return stop_anonymous_region(reading, decoded->time, error);
    uint64_t id = decoded->object.id, hash = afperf_hash(id, 0);
    uint32_t number = is_put_off(reading, hash) ? AFPERF_NONE : afperf_map_get(&reading->open_regions, id, 0);
    struct afperf_span *region = number == AFPERF_NONE ? NULL : afperf_span(&model->regions, number);
    if (!region || afperf_span_offset(region) < reading->segment_start) {
        struct afperf_stop stop = {.time = decoded->time, .id = decoded->object, .region = true};
        return put_off(reading, &stop, hash, error);
    }
    if (take_open(&reading->open_regions, region, 0, error) < 0 ||
        close_span(reading, region, decoded->time, error) < 0)
        return -1;
    return log_event(reading, afperf_event(AFPERF_EVENT_REGION_STOP, number), error);
}

/* ---- sections ----------------------------------------------------------------------------------- */

/* The run of a section: of the short shape, its first field may be a run's id. */
static uint32_t run_of_section(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                               struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (!decoded->run_or_time)
        return afperf_run_named(reading, &decoded->run, error);
    uint32_t known = afperf_map_get(&reading->run_refs, decoded->run.id, reading->place.segment);
    if (known != AFPERF_NONE && model->refs[known].kind == AFPERF_REF_RUN)
        return known;
    uint32_t ref = add_ref(reading, AFPERF_REF_MAYBE, decoded->run.id, error);
    if (ref == AFPERF_NONE)
        return AFPERF_NONE;
    model->refs[ref].fallback = reading->place.run;
    need(reading, ref);
    return ref;
}

/* The reference of a section that a SectionInfo tells of, whose number is `section`. */
static uint32_t ref_of_section(struct afperf_reading *reading, const struct afperf_id *id, uint32_t section,
                               struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref =
        id->given ? afperf_map_get(&reading->section_refs, id->id, reading->place.segment) : AFPERF_NONE;
    bool duplicate = ref != AFPERF_NONE && model->section_refs[ref].known;
    if (duplicate && note(reading, AFPERF_DUPLICATE_SECTION, error) < 0)
        return AFPERF_NONE;
    if (ref == AFPERF_NONE || duplicate) {
        ref = add_section_ref(reading, id, error);
        if (ref == AFPERF_NONE)
            return AFPERF_NONE;
        if (id->given &&
            afperf_map_set(&reading->section_refs, id->id, reading->place.segment, ref, error) < 0)
            return AFPERF_NONE;
    }
    model->section_refs[ref].known = true;
    model->section_refs[ref].section = section;
    return ref;
}

static int read_section_info(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t section = (uint32_t)model->n_sections;
    uint32_t run = run_of_section(reading, decoded, error);
    if (run == AFPERF_NONE || AFPERF_GROW(model, sections, error) < 0)
        return -1;
    uint32_t ref = ref_of_section(reading, &decoded->object, section, error);
    if (ref == AFPERF_NONE)
        return -1;
    struct afperf_section *new = &model->sections[model->n_sections++];
    *new = (struct afperf_section){.offset = reading->place.offset,
                                   .line = reading->place.line,
                                   .id = decoded->object,
                                   .run = run,
                                   .label = afperf_keep(model, decoded->name, error),
                                   .tags = afperf_keep(model, decoded->tags, error)};
    reading->place.run = run;
    reading->last_section = ref;
    if (new->label == PF_NO_STRING || new->tags == PF_NO_STRING)
        return -1;
    return log_event(reading, afperf_event(AFPERF_EVENT_SECTION, ref), error);
}

static int read_section_start(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                              struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t number = model->intervals.count;
    uint32_t ref = section_named(reading, &decoded->object, error);
    struct afperf_span *interval =
        ref == AFPERF_NONE ? NULL : afperf_spans_add(&model->intervals, reading->place.offset, error);
    if (!interval)
        return -1;
    struct afperf_section_ref *section = &model->section_refs[ref];
    if (!section->line) {
        section->line = reading->place.line;
        section->offset = reading->place.offset;
        section->run = reading->place.run;
    }
    interval->id = decoded->interval.id;
    interval->start = decoded->time;
    interval->owner = ref;
    interval->flags = decoded->interval.given ? 0 : AFPERF_ANONYMOUS;
    if (decoded->interval.given) {
        reading->recent_intervals[afperf_hash(interval->id, ref) % AFPERF_RECENT] = number + 1;
        interval->open_below = afperf_map_get(&reading->open_intervals, interval->id, ref) + 1;
        if (afperf_map_set(&reading->open_intervals, interval->id, ref, number, error) < 0)
            return -1;
    }
    return log_event(reading, afperf_event(AFPERF_EVENT_INTERVAL_START, number), error);
}

static int read_section_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = section_named(reading, &decoded->object, error);
    if (ref == AFPERF_NONE)
        return -1;
    const struct afperf_section_ref *section = &model->section_refs[ref];
    uint64_t hash = afperf_hash(decoded->interval.id ^ afperf_hash(section->id, section->by_id), 1);
    bool later = !decoded->interval.given || !section->known || is_put_off(reading, hash);
    uint32_t number =
        later ? AFPERF_NONE : afperf_map_get(&reading->open_intervals, decoded->interval.id, ref);
    struct afperf_span *interval = number == AFPERF_NONE ? NULL : afperf_span(&model->intervals, number);
    if (!interval || afperf_span_offset(interval) < reading->segment_start) {
        struct afperf_stop stop = {.time = decoded->time, .id = decoded->interval, .owner = ref};
        return put_off(reading, &stop, hash, error);
    }
    if (take_open(&reading->open_intervals, interval, ref, error) < 0 ||
        close_span(reading, interval, decoded->time, error) < 0)
        return -1;
    return log_event(reading, afperf_event(AFPERF_EVENT_INTERVAL_STOP, number), error);
}

/* ---- records ------------------------------------------------------------------------------------ */

static int note_text(struct afperf_reading *reading, const struct afperf_record *record,
                     struct pf_error *error)
{
    if (note_times(reading, AFPERF_QUOTE_IN_FIELD, record->quotes_inside, error) < 0 ||
        note_times(reading, AFPERF_TEXT_AFTER_QUOTE, record->text_after_quote, error) < 0 ||
        note_times(reading, AFPERF_BAD_UTF8, record->bad_utf8, error) < 0)
        return -1;
    return note_times(reading, AFPERF_NUL_BYTE, record->nul, error);
}

static int note_decoded(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                        struct pf_error *error)
{
    if (note_times(reading, AFPERF_LEADING_ZERO, decoded->leading_zero, error) < 0 ||
        note_times(reading, AFPERF_ODD_MEASUREMENT, decoded->odd_measurement, error) < 0 ||
        note_times(reading, AFPERF_BAD_MEASUREMENT_TYPE, decoded->bad_measurement_types, error) < 0)
        return -1;
    if (decoded->error)
        return note(reading, afperf_problem_of(decoded->error), error);
    if (note_times(reading, AFPERF_EXAMPLE_SHAPE, decoded->example_shape, error) < 0 ||
        note_times(reading, AFPERF_OTHER_RUN_VERSION, decoded->run_version, error) < 0)
        return -1;
    return note_times(reading, AFPERF_BAD_NUMBER, decoded->bad_wallclock, error);
}

static int read_fields(struct afperf_reading *reading, const struct afperf_record *record,
                       struct pf_error *error)
{
    struct afperf_decoded decoded;
    afperf_decode(record, &decoded);
    if (note_text(reading, record, error) < 0 || note_decoded(reading, &decoded, error) < 0)
        return -1;
    if (decoded.error)
        return 0;
    switch (decoded.type) {
    case AFPERF_RUN_INFO:
        return read_run_info(reading, &decoded, error);
    case AFPERF_MEASUREMENT_TYPE:
        return read_measurement_type(reading, &decoded, error);
    case AFPERF_PAUSE_RESUME:
        return read_pause(reading, &decoded, error);
    case AFPERF_REGION_START:
        return read_region_start(reading, &decoded, error);
    case AFPERF_REGION_STOP:
        return read_region_stop(reading, &decoded, error);
    case AFPERF_SECTION_INFO:
        return read_section_info(reading, &decoded, error);
    case AFPERF_SECTION_START:
        return read_section_start(reading, &decoded, error);
    case AFPERF_SECTION_STOP:
        return read_section_stop(reading, &decoded, error);
    case AFPERF_UNKNOWN:
        return 0;
    default:
        return afperf_read_data(reading, record, &decoded, error);
    }
}

/* A header. 1: a segment starts; 0: reading ends here; -1: *error filled. */
static int read_header(struct afperf_reading *reading, struct afperf_text header, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    size_t size = header.size;
    while (header.size && strchr(" \t\r", header.text[header.size - 1]))
        header.size--;
    if (!afperf_is(header, "# AFPerf v1")) {
        model->end = reading->place.offset;
        return note(reading, AFPERF_OTHER_VERSION, error);
    }
    if (size != 16 && note(reading, AFPERF_HEADER_NOT_16_BYTES, error) < 0)
        return -1;
    if (AFPERF_GROW(model, segments, error) < 0)
        return -1;
    reading->segment_start = model->segments[model->n_segments] = reading->place.offset;
    reading->place.segment = (uint32_t)model->n_segments++;
    return 1;
}

/* Remembers now and then where a line starts. */
static int mark_line(struct afperf_model *model, const struct afperf_place *place, struct pf_error *error)
{
    if (model->n_marks && place->offset - model->marks[model->n_marks - 1].offset < AFPERF_LINES)
        return 0;
    if (AFPERF_GROW(model, marks, error) < 0)
        return -1;
    model->marks[model->n_marks++] = (struct afperf_mark){place->offset, place->line};
    return 0;
}

/* One thing that the reader has come upon. 1: go on; 0: reading ends here; -1: *error filled. */
static int read_record(struct afperf_reading *reading, const struct afperf_record *record,
                       struct pf_error *error)
{
    reading->place.offset = record->offset;
    reading->place.line = record->line;
    if (mark_line(reading->model, &reading->place, error) < 0)
        return -1;
    switch (record->kind) {
    case AFPERF_HEADER:
        return read_header(reading, record->fields[0], error);
    case AFPERF_UNTERMINATED_QUOTE:
        return note(reading, AFPERF_QUOTE_WITHOUT_END, error) < 0 ? -1 : 1;
    case AFPERF_TOO_LONG:
        return note(reading, AFPERF_RECORD_TOO_LONG, error) < 0 ? -1 : 1;
    case AFPERF_FIELDS:
        break;
    }
    return read_fields(reading, record, error) < 0 ? -1 : 1;
}

static int read_all(struct afperf_reading *reading, struct afperf_reader *reader, struct pf_pass *pass,
                    struct pf_error *error)
{
    uint64_t size = pf_input_size(reading->model->input), stepped = 0;
    struct afperf_record record;
    int more;
    if (add_ref(reading, AFPERF_REF_NONE, 0, error) == AFPERF_NONE)
        return -1;
    while ((more = afperf_reader_next(reader, &record, error)) > 0) {
        if (record.offset - stepped >= STEP_BYTES) {
            stepped = record.offset;
            if (pf_pass_step(pass, stepped, size, error) < 0)
                return -1;
        }
        more = read_record(reading, &record, error);
        if (more <= 0)
            break;
    }
    return more;
}

static void free_reading(struct afperf_reading *reading)
{
    if (!reading)
        return;
    afperf_map_free(&reading->run_refs);
    afperf_map_free(&reading->section_refs);
    afperf_map_free(&reading->measures);
    afperf_map_free(&reading->open_regions);
    afperf_map_free(&reading->open_intervals);
    free(reading);
}

int afperf_read(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_reading *reading = calloc(1, sizeof *reading);
    struct afperf_reader *reader = afperf_reader_new(model->input);
    int result = -1;
    if (reading && reader) {
        reading->model = model;
        reading->last_section = AFPERF_NONE;
        reading->block = afperf_event(AFPERF_EVENT_RUN, 0);
        model->end = pf_input_size(model->input);
        result = read_all(reading, reader, pass, error);
    } else {
        pf_fail_memory(error);
    }
    free_reading(reading);
    afperf_reader_free(reader);
    return result;
}
