/* SPDX-License-Identifier: MIT */
#include "formats/afperf/read.h"
#include "formats/kit/array.h"

/* Leaves a stop for when all has been read. */
static int put_off(struct afperf_reading *reading, struct afperf_stop *stop, struct pf_error *error)
{
    uint32_t event = stop->region ? afperf_event(AFPERF_EVENT_REGION_STOP, AFPERF_NO_NUMBER)
                                  : afperf_event(AFPERF_EVENT_LOST_STOP, stop->owner);
    stop->offset = reading->place.offset;
    stop->line = reading->place.line;
    stop->event = reading->place.events;
    if (afperf_log_event(reading, event, error) < 0)
        return -1;
    return pf_store_append(reading->model->stops, stop, sizeof *stop, error);
}

/* ---- regions ------------------------------------------------------------------------------------ */

struct afperf_same *afperf_same_region(struct afperf_reading *reading, uint64_t id)
{
    uint32_t number = afperf_map_get(&reading->region_ids, id, 0);
    if (number == AFPERF_NONE)
        return NULL;
    struct afperf_same *same = &reading->same[number];
    if (same->segment != reading->place.segment) {
        same->segment = reading->place.segment;
        same->newest = same->open = 0;
    }
    return same;
}

/* The same, made if there is nothing yet. NULL with *error filled. */
static struct afperf_same *know_id(struct afperf_reading *reading, uint64_t id, struct pf_error *error)
{
    struct afperf_same *same = afperf_same_region(reading, id);
    if (same)
        return same;
    uint32_t number = (uint32_t)reading->region_ids.n;
    if (afperf_grow(&reading->same, number, &reading->same_room, sizeof *reading->same, error) < 0 ||
        afperf_map_set(&reading->region_ids, id, 0, number, error) < 0)
        return NULL;
    same = &reading->same[number];
    *same = (struct afperf_same){.segment = reading->place.segment};
    return same;
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
    if (decoded->name.size) {
        region->label = pf_intern(model->tree->strings, decoded->name.text, decoded->name.size, error);
        if (region->label == PF_NO_STRING)
            return -1;
    }
    if (decoded->object.given) {
        struct afperf_same *same = know_id(reading, region->id, error);
        if (!same)
            return -1;
        region->open_below = same->open;
        same->open = same->newest = number + 1;
    }
    reading->place.run = ref;
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_REGION_START, number), error);
}

/* With an id, it stops the newest open region of it in the segment. Without one, order in time decides: later. */
int afperf_read_region_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                            struct pf_error *error)
{
    struct afperf_stop stop = {
        .time = decoded->time, .id = decoded->object, .owner = reading->place.run, .region = true};
    if (!decoded->object.given)
        return put_off(reading, &stop, error);
    struct afperf_same *same = know_id(reading, decoded->object.id, error);
    if (!same)
        return -1;
    if (!same->open || same->put_off) {
        same->put_off = true;
        return put_off(reading, &stop, error);
    }
    uint32_t number = same->open - 1;
    struct afperf_span *region = &reading->model->regions.items[number];
    same->open = region->open_below;
    afperf_close_span(reading->model, region, decoded->time);
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
    uint32_t segment = reading->place.segment;
    uint32_t ref = id->given ? afperf_map_get(&reading->section_refs, id->id, segment) : AFPERF_NONE;
    bool duplicate = ref != AFPERF_NONE && model->section_refs[ref].known;
    if (duplicate)
        afperf_note_here(reading, AFPERF_DUPLICATE_SECTION);
    if (ref == AFPERF_NONE || duplicate) {
        ref = add_section_ref(reading, id, error);
        if (ref == AFPERF_NONE ||
            (id->given && afperf_map_set(&reading->section_refs, id->id, segment, ref, error) < 0))
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
    return afperf_log_event(reading, afperf_event(AFPERF_EVENT_INTERVAL_START, number), error);
}

int afperf_read_section_stop(struct afperf_reading *reading, const struct afperf_decoded *decoded,
                             struct pf_error *error)
{
    struct afperf_stop stop = {.time = decoded->time, .id = decoded->interval};
    stop.owner = section_named(reading, &decoded->object, error);
    return stop.owner == AFPERF_NONE ? -1 : put_off(reading, &stop, error);
}
