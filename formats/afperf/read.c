/* SPDX-License-Identifier: MIT */
#include "formats/afperf/read.h"

#include <stdlib.h>
#include <string.h>

/* How often to say how far the pass is. */
#define STEP_BYTES ((uint64_t)1 << 20)

/* ---- ids ---------------------------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t id, uint32_t scope)
{
    return pf_siphash_number(id ^ (uint64_t)scope << 32 ^ scope);
}

static bool is_key(const void *of, uint32_t number, const void *key)
{
    const struct afperf_key *have = (const struct afperf_key *)of + number, *want = key;
    return have->id == want->id && have->scope == want->scope;
}

static int64_t find(const struct afperf_map *map, uint64_t id, uint32_t scope)
{
    struct afperf_key key = {.id = id, .scope = scope};
    return pf_hash_find(&map->table, hash_of(id, scope), is_key, map->keys, &key);
}

uint32_t afperf_map_get(const struct afperf_map *map, uint64_t id, uint32_t scope)
{
    int64_t found = find(map, id, scope);
    return found == PF_NOT_THERE ? AFPERF_NONE : map->keys[found].value;
}

int afperf_map_set(struct afperf_map *map, uint64_t id, uint32_t scope, uint32_t value,
                   struct pf_error *error)
{
    int64_t found = find(map, id, scope);
    if (found != PF_NOT_THERE) {
        map->keys[found].value = value;
        return 0;
    }
    if (afperf_grow(&map->keys, map->n, &map->room, sizeof *map->keys, error) < 0 ||
        pf_hash_add(&map->table, hash_of(id, scope), (uint32_t)map->n, error) < 0)
        return -1;
    map->keys[map->n++] = (struct afperf_key){id, scope, value};
    return 0;
}

static void free_map(struct afperf_map *map)
{
    pf_hash_free(&map->table);
    free(map->keys);
}

/* ---- references --------------------------------------------------------------------------------- */

void afperf_need(struct afperf_reading *reading, uint32_t ref)
{
    struct afperf_ref *needed = &reading->model->refs[ref];
    reading->model->initial_used |= ref == 0;
    if (needed->line)
        return;
    needed->line = reading->place.line;
    needed->offset = reading->place.offset;
}

uint32_t afperf_add_ref(struct afperf_reading *reading, enum afperf_ref_kind kind, uint64_t id,
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
    ref = afperf_add_ref(reading, AFPERF_REF_ID, id, error);
    if (ref == AFPERF_NONE || afperf_map_set(&reading->run_refs, id, reading->place.segment, ref, error) < 0)
        return AFPERF_NONE;
    return ref;
}

uint32_t afperf_run_named(struct afperf_reading *reading, const struct afperf_id *run, struct pf_error *error)
{
    uint32_t ref = run->given ? ref_of_id(reading, run->id, error) : reading->place.run;
    if (ref != AFPERF_NONE)
        afperf_need(reading, ref);
    return ref;
}

/* ---- what all records have in common ------------------------------------------------------------ */

void afperf_note_here(struct afperf_reading *reading, enum afperf_problem problem)
{
    afperf_note(reading->model, problem, reading->place.offset, reading->place.line);
}

int afperf_log_event(struct afperf_reading *reading, uint32_t event, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (AFPERF_GROW(model, log, error) < 0)
        return -1;
    model->log[model->n_log++] = event;
    reading->place.events++;
    if (afperf_event_kind(event) != AFPERF_EVENT_SECTION) {
        reading->place.block = reading->place.events;
        reading->block = event;
    }
    return 0;
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
                                      : afperf_add_ref(reading, AFPERF_REF_ID, 0, error);
    if (ref == AFPERF_NONE)
        return -1;
    if (model->refs[ref].kind == AFPERF_REF_RUN) {
        afperf_note_here(reading, AFPERF_DUPLICATE_RUN);
    } else {
        model->refs[ref].kind = AFPERF_REF_RUN;
        model->refs[ref].run = (uint32_t)model->n_runs;
        if (add_run(reading, decoded, error) < 0)
            return -1;
    }
    reading->place.run = ref;
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_RUN, ref), error);
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

static void data_until(struct afperf_reading *reading, uint32_t ref, uint64_t time)
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
    data_until(reading, ref, decoded->end);
    return 0;
}

/* ---- data --------------------------------------------------------------------------------------- */

/*
 * Data records refer to regions, sections and types that may stand anywhere in the file; nothing is kept of them. Most speak of
 * what has just been read: then they are known to be sound. The others are remembered by their place, to be looked at once all
 * is known.
 */

/* The reference of the run that data of a region belong to, or AFPERF_NONE if it is not known yet. Notes where they stand. */
static uint32_t run_of_region_data(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    uint32_t region = AFPERF_NO_NUMBER;
    if (decoded->object.given) {
        const struct afperf_same *same = afperf_same_region(reading, decoded->object.id);
        region = same && same->newest ? same->newest - 1 : AFPERF_NO_NUMBER;
    } else if (decoded->aggregation.size) {
        return reading->place.run ? reading->place.run : AFPERF_NONE;
    } else if (afperf_event_is_region(reading->block)) {
        region = afperf_event_number(reading->block);
    }
    if (region == AFPERF_NO_NUMBER)
        return AFPERF_NONE;
    struct afperf_span *span = &reading->model->regions.items[region];
    span->data_end = afperf_block_of(reading->place.offset) + 1;
    return span->owner;
}

static uint32_t run_of_section_data(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    const struct afperf_model *model = reading->model;
    if (!decoded->object.given) {
        bool processed = decoded->aggregation.size && reading->place.run;
        return processed ? reading->place.run : AFPERF_NONE;
    }
    uint32_t ref = afperf_map_get(&reading->section_refs, decoded->object.id, reading->place.segment);
    if (ref == AFPERF_NONE || !model->section_refs[ref].known || decoded->interval.given)
        return AFPERF_NONE;
    struct afperf_section *section = &model->sections[model->section_refs[ref].section];
    afperf_extend(&section->data, afperf_extent_at(reading->place.offset));
    return section->run;
}

/* True if the run defines the types of all values, and these are of their datatypes. */
static bool values_are_sound(struct afperf_reading *reading, const struct afperf_record *record,
                             const struct afperf_decoded *decoded, uint32_t ref)
{
    struct afperf_pair pair;
    for (size_t at = decoded->values; afperf_next_pair(record, decoded, &at, &pair);) {
        uint32_t i = afperf_map_get(&reading->measures, pair.type_id, ref);
        struct pf_cell cell;
        if (i == AFPERF_NONE)
            return false;
        struct afperf_measure *measure = &reading->model->measures[i];
        measure->used = true;
        if (!afperf_value(measure->datatype, pair.value, &cell))
            return false;
    }
    return true;
}

static int read_data(struct afperf_reading *reading, const struct afperf_record *record,
                     const struct afperf_decoded *decoded, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref;
    if (decoded->type == AFPERF_RUN_POINT || decoded->type == AFPERF_RUN_AGGREGATE) {
        ref = afperf_run_named(reading, &decoded->run, error);
        if (ref == AFPERF_NONE)
            return -1;
    } else {
        bool region = decoded->type == AFPERF_REGION_POINT || decoded->type == AFPERF_REGION_AGGREGATE;
        ref = (region ? run_of_region_data : run_of_section_data)(reading, decoded);
    }
    if (ref != AFPERF_NONE) {
        data_until(reading, ref, decoded->end);
        afperf_extend(&model->refs[ref].data, afperf_extent_at(reading->place.offset));
        if (values_are_sound(reading, record, decoded, ref))
            return 0;
    } else if (!reading->place.run && !model->refs[0].line) {
        /* Whether that run is needed is seen when the record is looked at again. */
        model->refs[0].line = reading->place.line;
        model->refs[0].offset = reading->place.offset;
    }
    return pf_store_append(model->doubtful, &reading->place, sizeof reading->place, error);
}

/* ---- records ------------------------------------------------------------------------------------ */

/* What is wrong with the record's text and fields. */
static void note_record(struct afperf_reading *reading, const struct afperf_record *record,
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
        /* Of a record that is dropped it matters no more what it would have meant. */
        {AFPERF_EXAMPLE_SHAPE, decoded->example_shape && !decoded->error},
        {AFPERF_OTHER_RUN_VERSION, decoded->run_version && !decoded->error},
        {AFPERF_BAD_NUMBER, decoded->bad_wallclock && !decoded->error},
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        for (unsigned n = 0; n < found[i].times; n++)
            afperf_note_here(reading, found[i].problem);
    if (decoded->error)
        afperf_note_here(reading, afperf_problem_of(decoded->error));
}

static int read_fields(struct afperf_reading *reading, const struct afperf_record *record,
                       const struct afperf_decoded *decoded, struct pf_error *error)
{
    note_record(reading, record, decoded);
    if (decoded->error)
        return 0;
    switch (decoded->type) {
    case AFPERF_RUN_INFO:
        return read_run_info(reading, decoded, error);
    case AFPERF_MEASUREMENT_TYPE:
        return read_measurement_type(reading, decoded, error);
    case AFPERF_PAUSE_RESUME:
        return read_pause(reading, decoded, error);
    case AFPERF_REGION_START:
        return afperf_read_region_start(reading, decoded, error);
    case AFPERF_REGION_STOP:
        return afperf_read_region_stop(reading, decoded, error);
    case AFPERF_SECTION_INFO:
        return afperf_read_section_info(reading, decoded, error);
    case AFPERF_SECTION_START:
        return afperf_read_section_start(reading, decoded, error);
    case AFPERF_SECTION_STOP:
        return afperf_read_section_stop(reading, decoded, error);
    case AFPERF_UNKNOWN:
        return 0;
    default:
        return read_data(reading, record, decoded, error);
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
        afperf_note_here(reading, AFPERF_OTHER_VERSION);
        return 0;
    }
    if (size != 16)
        afperf_note_here(reading, AFPERF_HEADER_NOT_16_BYTES);
    if (AFPERF_GROW(model, segments, error) < 0)
        return -1;
    model->segments[model->n_segments] = reading->place.offset;
    reading->place.segment = (uint32_t)model->n_segments++;
    return 1;
}

/* Remembers now and then the place before a record. */
static int mark_place(struct afperf_reading *reading, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (reading->place.offset < reading->next_mark)
        return 0;
    if (AFPERF_GROW(model, marks, error) < 0)
        return -1;
    model->marks[model->n_marks++] = reading->place;
    reading->next_mark = reading->place.offset + AFPERF_BLOCK;
    return 0;
}

/* One thing that the reader has come upon. 1: go on; 0: reading ends here; -1: *error filled. */
static int read_record(struct afperf_reading *reading, const struct afperf_record *record,
                       const struct afperf_decoded *decoded, struct pf_error *error)
{
    reading->place.offset = record->offset;
    reading->place.line = record->line;
    if (mark_place(reading, error) < 0)
        return -1;
    switch (record->kind) {
    case AFPERF_HEADER:
        return read_header(reading, record->fields[0], error);
    case AFPERF_UNTERMINATED_QUOTE:
        afperf_note_here(reading, AFPERF_QUOTE_WITHOUT_END);
        return 1;
    case AFPERF_TOO_LONG:
        afperf_note_here(reading, AFPERF_RECORD_TOO_LONG);
        return 1;
    case AFPERF_FIELDS:
        break;
    }
    return read_fields(reading, record, decoded, error) < 0 ? -1 : 1;
}

static int read_all(struct afperf_reading *reading, struct afperf_reader *reader, struct pf_pass *pass,
                    struct pf_error *error)
{
    struct pf_input *input = reading->model->input;
    uint64_t stepped = 0, done, total, line;
    struct afperf_record record;
    struct afperf_decoded decoded;
    int more;
    if (afperf_add_ref(reading, AFPERF_REF_NONE, 0, error) == AFPERF_NONE)
        return -1;
    while ((more = afperf_next_decoded(reader, &record, &decoded, error)) > 0) {
        if (record.offset - stepped >= STEP_BYTES) {
            stepped = record.offset;
            pf_input_progress(input, stepped, &done, &total);
            if (pf_pass_step(pass, done, total, error) < 0)
                return -1;
        }
        more = read_record(reading, &record, &decoded, error);
        if (more <= 0)
            return more;
    }
    if (more < 0)
        return -1;
    reading->place.offset = reading->model->end = afperf_reader_tell(reader, &line);
    reading->place.line = line;
    struct pf_error damage;
    if (pf_input_damage(input, &damage))
        afperf_note_here(reading, AFPERF_DAMAGED);
    return 0;
}

static void free_reading(struct afperf_reading *reading)
{
    free_map(&reading->run_refs);
    free_map(&reading->section_refs);
    free_map(&reading->measures);
    free_map(&reading->region_ids);
    free(reading->same);
}

int afperf_read(struct afperf_model *model, struct pf_pass *pass, struct pf_error *error)
{
    struct afperf_reading reading = {
        .model = model, .last_section = AFPERF_NONE, .block = afperf_event(AFPERF_EVENT_RUN, 0)};
    struct afperf_reader *reader = afperf_reader_new(model->input);
    int result = reader ? read_all(&reading, reader, pass, error) : pf_fail_memory(error);
    free_reading(&reading);
    afperf_reader_free(reader);
    return result;
}
