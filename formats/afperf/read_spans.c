/* SPDX-License-Identifier: MIT */
#include "formats/afperf/read.h"

static int note(struct afperf_reading *reading, enum afperf_problem problem, struct pf_error *error)
{
    return afperf_note(&reading->model->notes, problem, reading->place.offset, reading->place.line, error);
}

/* ---- stops whose start is not known ------------------------------------------------------------- */

/* True, from then on, of keys that have been set; of a few others too. */
static bool is_put_off(const struct afperf_reading *reading, uint64_t hash)
{
    size_t bit = hash % (8 * sizeof reading->put_off);
    return reading->any_put_off && reading->put_off[bit / 8] >> bit % 8 & 1;
}

/* Leaves a stop for when all has been read, and so all later ones of its key: stops are paired in file order. */
static int put_off(struct afperf_reading *reading, struct afperf_stop *stop, uint64_t hash,
                   struct pf_error *error)
{
    size_t bit = hash % (8 * sizeof reading->put_off);
    reading->any_put_off = true;
    reading->put_off[bit / 8] |= (unsigned char)(1u << bit % 8);
    stop->offset = reading->place.offset;
    stop->line = reading->place.line;
    stop->event = reading->place.events;
    stop->starts = reading->model->regions.count;
    uint64_t event = stop->region ? afperf_event(AFPERF_EVENT_REGION_STOP, AFPERF_NONE)
                                  : afperf_event(AFPERF_EVENT_LOST_STOP, stop->owner);
    if (afperf_log_event(reading, event, error) < 0)
        return -1;
    return pf_store_append(reading->model->stops, stop, sizeof *stop, error);
}

/* ---- regions ------------------------------------------------------------------------------------ */

/* A start or stop without id. While they come in the order of time, each stop closes the innermost open one. */
static void watch_order(struct afperf_ref *ref, uint64_t time)
{
    ref->unordered |= ref->has_anonymous && time < ref->last_anonymous;
    ref->has_anonymous = true;
    ref->last_anonymous = time;
}

/* Links a region to the others of its reference. It starts inside the innermost one. */
static void nest_start(struct afperf_reading *reading, struct afperf_span *region, uint32_t number)
{
    struct afperf_ref *ref = &reading->model->refs[region->owner];
    ref->tangled |= ref->last_region && region->start < ref->last_region_time;
    ref->last_region_time = region->start;
    if (ref->last_region)
        afperf_span(&reading->model->regions, ref->last_region - 1)->next = number + 1;
    else
        ref->first_region = number + 1;
    ref->last_region = number + 1;
    region->parent = ref->innermost - 1;
    ref->innermost = number + 1;
}

/* It must be the innermost one that stops, or the run is nested when all has been read. */
static void nest_stop(struct afperf_reading *reading, const struct afperf_span *region, uint32_t number)
{
    struct afperf_ref *ref = &reading->model->refs[region->owner];
    ref->tangled |= ref->innermost != number + 1 || region->stop < ref->last_region_time;
    ref->last_region_time = region->stop;
    ref->innermost = region->parent + 1;
}

/* Makes a span with an id known as the newest open one of its key. */
static int open_span(struct afperf_map *map, const struct afperf_spans *spans, struct afperf_span *span,
                     uint32_t number, uint32_t scope, struct pf_error *error)
{
    uint32_t *newest = afperf_map_place(map, span->id, scope, error);
    if (!newest)
        return -1;
    span->open_below = *newest;
    if (*newest)
        afperf_span(spans, *newest - 1)->flags |= AFPERF_SHADOWED;
    *newest = number + 1;
    return 0;
}

/* Data will speak of this span, if it is the newest of its key. */
static void expect_data(uint32_t *recent, const struct afperf_span *span, uint32_t number, uint32_t scope)
{
    if (!(span->flags & AFPERF_SHADOWED))
        recent[afperf_hash(span->id, scope) % AFPERF_RECENT] = number + 1;
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
    expect_data(reading->recent_regions, region, number, 0);
    return open_span(&reading->open_regions, &reading->model->regions, region, number, 0, error);
}

int afperf_read_region_start(struct afperf_reading *reading, const struct afperf_decoded *decoded,
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
    nest_start(reading, region, number);
    if (open_region(reading, region, number, ref, error) < 0)
        return -1;
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_REGION_START, number), error);
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
static void take_open(struct afperf_map *map, struct afperf_slot *open, const struct afperf_span *span)
{
    if (span->open_below)
        open->value = span->open_below;
    else
        afperf_map_take(map, open);
}

/* The newest open span of a key, if it is of this segment. */
static struct afperf_span *opened(const struct afperf_reading *reading, const struct afperf_spans *spans,
                                  const struct afperf_slot *open)
{
    struct afperf_span *span = open ? afperf_span(spans, open->value - 1) : NULL;
    return span && afperf_span_offset(span) >= reading->segment_start ? span : NULL;
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
    nest_stop(reading, region, number);
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_REGION_STOP, number), error);
}

int afperf_read_region_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                            struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    if (!decoded->object.given)
        return stop_anonymous_region(reading, decoded->time, error);
    uint64_t id = decoded->object.id, hash = afperf_hash(id, 0);
    struct afperf_slot *open =
        is_put_off(reading, hash) ? NULL : afperf_map_find(&reading->open_regions, id, 0);
    struct afperf_span *region = opened(reading, &model->regions, open);
    if (!region) {
        struct afperf_stop stop = {.time = decoded->time, .id = decoded->object, .region = true};
        return put_off(reading, &stop, hash, error);
    }
    uint32_t number = open->value - 1;
    take_open(&reading->open_regions, open, region);
    if (close_span(reading, region, decoded->time, error) < 0)
        return -1;
    nest_stop(reading, region, number);
    expect_data(reading->recent_regions, region, number, 0);
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_REGION_STOP, number), error);
}

/* ---- sections ----------------------------------------------------------------------------------- */

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
    uint32_t ref = afperf_add_ref(reading, AFPERF_REF_MAYBE, decoded->run.id, error);
    if (ref == AFPERF_NONE)
        return AFPERF_NONE;
    model->refs[ref].fallback = reading->place.run;
    afperf_need(reading, ref);
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

int afperf_read_section_info(struct afperf_reading *reading, const struct afperf_decoded *decoded,
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
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_SECTION, ref), error);
}

int afperf_read_section_start(struct afperf_reading *reading, const struct afperf_decoded *decoded,
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
        expect_data(reading->recent_intervals, interval, number, ref);
        if (open_span(&reading->open_intervals, &model->intervals, interval, number, ref, error) < 0)
            return -1;
    }
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_INTERVAL_START, number), error);
}

int afperf_read_section_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref = section_named(reading, &decoded->object, error);
    if (ref == AFPERF_NONE)
        return -1;
    const struct afperf_section_ref *section = &model->section_refs[ref];
    uint64_t hash = afperf_hash(decoded->interval.id ^ afperf_hash(section->id, section->by_id), 1);
    bool later = !decoded->interval.given || !section->known || is_put_off(reading, hash);
    struct afperf_slot *open =
        later ? NULL : afperf_map_find(&reading->open_intervals, decoded->interval.id, ref);
    struct afperf_span *interval = opened(reading, &model->intervals, open);
    if (!interval) {
        struct afperf_stop stop = {.time = decoded->time, .id = decoded->interval, .owner = ref};
        return put_off(reading, &stop, hash, error);
    }
    uint32_t number = open->value - 1;
    take_open(&reading->open_intervals, open, interval);
    if (close_span(reading, interval, decoded->time, error) < 0)
        return -1;
    expect_data(reading->recent_intervals, interval, number, ref);
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_INTERVAL_STOP, number), error);
}
