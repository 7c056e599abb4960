/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/otf2/otf2.h"

static int otf2_open_file(const struct otf2_events *events, uint64_t location, const char *extension,
                          struct pf_input **input)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%" PRIu64 ".%s", events->state->archive, location, extension);
    return pf_source_open(events->state->build->model->source, name, PF_RAW, input,
                          events->state->build->run->error);
}

/* ---- a location's own definitions --------------------------------------------------------------- */

static void add_offset(struct otf2_events *events, struct otf2_fields *fields)
{
    struct otf2_offset offset = {.time = otf2_u64(fields), .offset = (int64_t)otf2_number(fields, 8)};
    if (!fields->bad)
        *PF_PUSH(events->state->build->run, events->offsets) = offset;
}

/* Adds the pairs of an id mapping, local id to global id. A dense list omits the local ids, which are 0, 1, 2 and so on. */
static void add_mapping(struct otf2_events *events, struct otf2_fields *fields)
{
    static const uint8_t kinds[OTF2_MAPS] = {
        [OTF2_MAP_REGION] = 3, [OTF2_MAP_METRIC] = 5, [OTF2_MAP_COMM] = 6};
    struct pf_build *build = events->state->build;
    uint8_t what = otf2_byte(fields);
    uint32_t count = otf2_id(fields);
    bool sparse = otf2_byte(fields) == 1;
    for (int kind = 0; kind < OTF2_MAPS; kind++) {
        if (kinds[kind] != what)
            continue;
        for (uint32_t i = 0; i < count && !fields->bad; i++) {
            uint64_t id = sparse ? otf2_number(fields, 8) : i, value = otf2_number(fields, 8);
            /* PF_NO_ID is reserved; PF_NO_ID - 1, which no real file defines, replaces it. */
            uint32_t mapped = (uint32_t)value < PF_NO_ID ? (uint32_t)value : PF_NO_ID - 1;
            if (!fields->bad && value != UINT64_MAX)
                pf_run_check(build->run, pf_ids_set(&events->maps[kind], id, mapped, build->run->error));
        }
    }
}

/* Reads the location's own definitions, up to the first damage. If there are none, the location's ids and times are treated as global. */
static void read_own(struct otf2_events *events, uint64_t location)
{
    enum { MAPPING = 5, CLOCK_OFFSET = 6 };
    struct pf_build *build = events->state->build;
    struct otf2_reader *reader = &events->own;
    struct otf2_record record;
    struct pf_input *input;
    if (otf2_open_file(events, location, "def", &input)) {
        if (pf_is_transient(build->run->error->code))
            pf_run_fail(build->run);
        return;
    }
    uint64_t chunk = events->state->anchor.definition_chunk;
    int more = otf2_got(build, otf2_reader_open(reader, input, chunk, false, build->run->error));
    while (more >= 0 && (more = otf2_got(build, otf2_next(reader, &record, build->run->error))) > 0)
        if (record.type == CLOCK_OFFSET)
            add_offset(events, &record.fields);
        else if (record.type == MAPPING)
            add_mapping(events, &record.fields);
    otf2_reader_close(reader);
    pf_run_check(build->run, pf_input_done(input, build->run->error));
}

uint32_t otf2_mapped(const struct otf2_events *events, enum otf2_mapped what, uint32_t id)
{
    uint32_t mapped = pf_ids_find(&events->maps[what], id);
    return mapped != PF_NO_ID ? mapped : id;
}

/* ---- times -------------------------------------------------------------------------------------- */

/*
 * Interpolates linearly between the two clock corrections around `time`; extrapolates beyond the first and the last
 * one.
 */
static uint64_t corrected(const struct otf2_events *events, uint64_t time)
{
    if (events->offsets.n < 2)
        return time;
    size_t k = 0, last = events->offsets.n - 2; /* binary search for the interval */
    while (k < last) {
        size_t middle = k + (last - k) / 2;
        if (time > events->offsets.at[middle + 1].time)
            k = middle + 1;
        else
            last = middle;
    }
    const struct otf2_offset *from = &events->offsets.at[k], *to = from + 1;
    double slope = (double)(int64_t)((uint64_t)to->offset - (uint64_t)from->offset) /
                   (double)(int64_t)(to->time - from->time);
    double more = rint(slope * (double)(int64_t)(time - from->time));
    if (!(fabs(more) < 0x1p62))
        more = 0;
    return time + (uint64_t)from->offset + (uint64_t)(int64_t)more;
}

/* Converts ticks to ns since the beginning of the trace, rounded down. */
static pf_int128 otf2_ns_of(const struct otf2_definitions *definitions, uint64_t ticks)
{
    enum { SECOND = 1000000000 };
    const uint64_t *clock = otf2_at(definitions, OTF2_CLOCKS, 0);
    pf_int128 rate = clock ? (pf_int128)clock[OTF2_CLOCK_TICKS] : 0,
              since = (pf_int128)ticks - (pf_int128)(clock ? clock[OTF2_CLOCK_OFFSET] : 0);
    if (rate == SECOND || !rate)
        return since;
    pf_int128 ns = since * SECOND / rate;
    return ns - (since < 0 && ns * rate != since * SECOND);
}

/* ---- events ------------------------------------------------------------------------------------- */

int otf2_events_open(struct otf2_events *events, struct otf2_state *state, uint64_t location)
{
    struct pf_error *error = state->build->run->error;
    events->state = state;
    events->offsets.n = 0;
    events->stamp = 0;
    if (otf2_open_file(events, location, "evt", &events->input)) {
        events->input = NULL;
        if (error->code != ENOENT && error->code != EINVAL)
            pf_run_fail(state->build->run);
        return -1;
    }
    if (otf2_got(state->build,
                 otf2_reader_open(&events->reader, events->input, state->anchor.event_chunk, true, error)))
        return -1;
    read_own(events, location);
    return 0;
}

void otf2_events_close(struct otf2_events *events)
{
    struct pf_error ignored; /* the profile's check of its inputs finds changed files */
    otf2_reader_close(&events->reader);
    otf2_reader_close(&events->own);
    if (events->input)
        pf_input_done(events->input, &ignored);
    events->input = NULL;
    for (int i = 0; i < OTF2_MAPS; i++)
        pf_ids_free(&events->maps[i]);
}

int otf2_events_next(struct otf2_events *events, struct otf2_event *event)
{
    struct pf_build *build = events->state->build;
    struct otf2_record record;
    int more;
    while ((more = otf2_got(build, otf2_next(&events->reader, &record, build->run->error))) > 0) {
        if (record.type == OTF2_TIME) {
            events->stamp = otf2_u64(&record.fields);
        } else if (record.type != OTF2_ATTRIBUTES) {
            event->type = record.type;
            event->time = otf2_ns_of(&events->state->definitions, corrected(events, events->stamp));
            event->fields = record.fields;
            return 1;
        }
    }
    return more;
}
