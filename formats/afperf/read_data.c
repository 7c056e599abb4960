/* SPDX-License-Identifier: MIT */
#include "formats/afperf/read.h"

/*
 * Data records refer to regions, sections and types that may stand anywhere in the file. Most speak of what has just been read:
 * then they are known to be sound. The others are remembered by their place, to be looked at once all is known.
 */

/* A span of this segment that is the newest of its id; AFPERF_NONE if that is not known. */
static uint32_t recent(const struct afperf_reading *reading, const struct afperf_spans *spans,
                       const uint32_t *newest, uint64_t id, uint32_t scope, bool scoped)
{
    uint32_t number = newest[afperf_hash(id, scope) % AFPERF_RECENT];
    if (!number)
        return AFPERF_NONE;
    const struct afperf_span *span = afperf_span(spans, --number);
    bool same = span->id == id && (!scoped || span->owner == scope);
    return same && afperf_span_offset(span) >= reading->segment_start ? number : AFPERF_NONE;
}

static uint32_t recent_region(const struct afperf_reading *reading, uint64_t id)
{
    const struct afperf_model *model = reading->model;
    uint32_t number = recent(reading, &model->regions, reading->recent_regions, id, 0, false);
    if (number != AFPERF_NONE)
        return number;
    number = afperf_map_get(&reading->open_regions, id, 0);
    bool here = number != AFPERF_NONE &&
                afperf_span_offset(afperf_span(&model->regions, number)) >= reading->segment_start;
    return here ? number : AFPERF_NONE;
}

/*
 * The reference of the run that the data belong to, or AFPERF_NONE if it is not known yet. Notes where data of a region or
 * section stand.
 */
static uint32_t run_of_region_data(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    enum afperf_event kind = afperf_event_kind(reading->block);
    uint32_t region = AFPERF_NONE;
    if (decoded->object.given)
        region = recent_region(reading, decoded->object.id);
    else if (decoded->aggregation.size)
        return reading->place.run ? reading->place.run : AFPERF_NONE;
    else if (kind == AFPERF_EVENT_REGION_START || kind == AFPERF_EVENT_REGION_STOP)
        region = afperf_event_number(reading->block);
    if (region == AFPERF_NONE)
        return AFPERF_NONE;
    struct afperf_span *span = afperf_span(&reading->model->regions, region);
    reading->model->data_of_stops |= !decoded->object.given && kind == AFPERF_EVENT_REGION_STOP;
    span->data_end = afperf_block_of(reading->place.offset) + 1;
    return span->owner;
}

/* The run of a section by its reference. */
static uint32_t run_of_section(const struct afperf_model *model, uint32_t ref)
{
    bool known = ref != AFPERF_NONE && model->section_refs[ref].known;
    return known ? model->sections[model->section_refs[ref].section].run : AFPERF_NONE;
}

static uint32_t run_of_section_data(struct afperf_reading *reading, const struct afperf_decoded *decoded)
{
    const struct afperf_model *model = reading->model;
    if (!decoded->object.given) {
        bool processed = decoded->aggregation.size && reading->place.run;
        return processed ? reading->place.run : AFPERF_NONE;
    }
    uint32_t ref = afperf_map_get(&reading->section_refs, decoded->object.id, reading->place.segment);
    if (ref != AFPERF_NONE && decoded->interval.given &&
        recent(reading, &model->intervals, reading->recent_intervals, decoded->interval.id, ref, true) ==
            AFPERF_NONE)
        return AFPERF_NONE;
    if (ref != AFPERF_NONE && model->section_refs[ref].known)
        afperf_extend(&model->sections[model->section_refs[ref].section].data,
                      afperf_extent_at(reading->place.offset));
    return run_of_section(model, ref);
}

/* True if the run defines the types of all values, and these are of their datatypes. */
static bool values_are_sound(struct afperf_reading *reading, const struct afperf_record *record,
                             const struct afperf_decoded *decoded, uint32_t ref)
{
    struct afperf_pair room;
    const struct afperf_pair *pair;
    for (size_t at = decoded->values; (pair = afperf_next_pair(record, decoded, &at, &room));) {
        uint32_t i = afperf_map_get(&reading->measures, pair->type_id, ref);
        struct pf_cell cell;
        if (i == AFPERF_NONE)
            return false;
        struct afperf_measure *measure = &reading->model->measures[i];
        measure->used = true;
        if (!afperf_fits(measure->datatype, pair->look) &&
            !afperf_value(measure->datatype, pair->value, &cell))
            return false;
    }
    return true;
}

int afperf_read_data(struct afperf_reading *reading, const struct afperf_record *record,
                     const struct afperf_decoded *decoded, struct pf_error *error)
{
    struct afperf_model *model = reading->model;
    uint32_t ref;
    bool of_run = decoded->type == AFPERF_RUN_POINT || decoded->type == AFPERF_RUN_AGGREGATE;
    if (of_run) {
        ref = afperf_run_named(reading, &decoded->run, error);
        if (ref == AFPERF_NONE)
            return -1;
    } else {
        bool region = decoded->type == AFPERF_REGION_POINT || decoded->type == AFPERF_REGION_AGGREGATE;
        ref = (region ? run_of_region_data : run_of_section_data)(reading, decoded);
    }
    if (ref != AFPERF_NONE) {
        afperf_data_until(reading, ref, decoded->end);
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
