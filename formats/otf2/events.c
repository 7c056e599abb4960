/* SPDX-License-Identifier: MIT */
#include "formats/otf2/events.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"

/* ---- files -------------------------------------------------------------------------------------- */

int otf2_files_open(struct otf2_files *files, struct pf_source *source, const char *archive,
                    const struct otf2_anchor *anchor, uint32_t locations, struct pf_error *error)
{
    *files = (struct otf2_files){.source = source,
                                 .archive = archive,
                                 .event_chunk = anchor->event_chunk,
                                 .definition_chunk = anchor->definition_chunk};
    pthread_mutex_init(&files->lock, NULL);
    files->users = calloc((size_t)locations + 1, sizeof *files->users);
    return files->users ? 0 : pf_fail_memory(error);
}

void otf2_files_close(struct otf2_files *files)
{
    if (files->source)
        pthread_mutex_destroy(&files->lock);
    free(files->users);
    *files = (struct otf2_files){0};
}

static int open_file(const struct otf2_events *events, const char *extension, struct pf_input **input,
                     struct pf_error *error)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%" PRIu64 ".%s", events->files->archive,
             otf2_locations(events->definitions)[events->location].id, extension);
    return pf_source_open(events->files->source, name, input, error);
}

static int use_file(struct otf2_events *events, struct pf_error *error)
{
    pthread_mutex_lock(&events->files->lock);
    int failed = open_file(events, "evt", &events->input, error);
    if (!failed)
        events->files->users[events->location]++;
    else
        events->input = NULL;
    pthread_mutex_unlock(&events->files->lock);
    return failed;
}

static void release_file(struct otf2_events *events)
{
    struct pf_error ignored; /* a change is found when the inputs are checked */
    if (!events->input)
        return;
    pthread_mutex_lock(&events->files->lock);
    if (!--events->files->users[events->location])
        pf_input_done(events->input, &ignored);
    pthread_mutex_unlock(&events->files->lock);
}

/* ---- a location's own definitions --------------------------------------------------------------- */

static int add_offset(struct otf2_events *events, struct otf2_fields *fields, struct pf_error *error)
{
    struct otf2_offset offset = {.time = otf2_u64(fields), .offset = (int64_t)otf2_number(fields, 8)};
    if (fields->bad)
        return 0;
    if (pf_array_room(&events->offsets, &events->offsets_room, events->n_offsets, sizeof offset, error))
        return -1;
    events->offsets[events->n_offsets++] = offset;
    return 0;
}

/* Dense: value i is that of id i; sparse: pairs of an id and its value. */
static int add_mapping(struct otf2_events *events, struct otf2_fields *fields, struct pf_error *error)
{
    static const uint8_t kinds[OTF2_MAPS] = {
        [OTF2_MAP_REGION] = 3, [OTF2_MAP_METRIC] = 5, [OTF2_MAP_COMM] = 6};
    uint8_t what = otf2_byte(fields);
    uint32_t count = otf2_id(fields);
    bool sparse = otf2_byte(fields) == 1;
    for (int kind = 0; kind < OTF2_MAPS; kind++) {
        if (kinds[kind] != what)
            continue;
        for (uint32_t i = 0; i < count && !fields->bad; i++) {
            uint64_t id = sparse ? otf2_number(fields, 8) : i, value = otf2_number(fields, 8);
            if (!fields->bad && !pf_map_put(&events->maps[kind], id, (void *)(uintptr_t)(value + 1)))
                return pf_fail_memory(error);
        }
    }
    return 0;
}

/* What cannot be read of it is left out: its ids and times are the global ones then. */
static int read_own(struct otf2_events *events, struct pf_error *error)
{
    enum { MAPPING = 5, CLOCK_OFFSET = 6 };
    struct otf2_reader reader = {0};
    struct otf2_record record;
    struct pf_input *input;
    if (open_file(events, "def", &input, error))
        return pf_is_lack(error->code) ? -1 : 0;
    int more = otf2_reader_open(&reader, input, events->files->definition_chunk, false, error) ? -1 : 1;
    while (more > 0 && (more = otf2_next(&reader, &record, error)) > 0)
        if ((record.type == CLOCK_OFFSET && add_offset(events, &record.fields, error)) ||
            (record.type == MAPPING && add_mapping(events, &record.fields, error)))
            more = -1;
    otf2_reader_close(&reader);
    if (more < 0 && error->code != EINVAL)
        return -1;
    return pf_input_done(input, error);
}

uint32_t otf2_mapped(const struct otf2_events *events, enum otf2_mapped what, uint32_t id)
{
    uintptr_t value = (uintptr_t)pf_map_get(&events->maps[what], id);
    return value ? (uint32_t)(value - 1) : id;
}

/* ---- times -------------------------------------------------------------------------------------- */

/* On the line between the two corrections around it; the first and the last line go on beyond them. */
static uint64_t corrected(struct otf2_events *events, uint64_t time)
{
    if (events->n_offsets < 2)
        return time;
    size_t k = events->interval < events->n_offsets - 1 && time > events->offsets[events->interval].time
                   ? events->interval
                   : 0;
    while (k + 2 < events->n_offsets && time > events->offsets[k + 1].time)
        k++;
    events->interval = k;
    const struct otf2_offset *from = &events->offsets[k], *to = from + 1;
    double slope = (double)(int64_t)((uint64_t)to->offset - (uint64_t)from->offset) /
                   (double)(int64_t)(to->time - from->time);
    double more = rint(slope * (double)(int64_t)(time - from->time));
    if (!(fabs(more) < 0x1p62))
        more = 0;
    return time + (uint64_t)from->offset + (uint64_t)(int64_t)more;
}

pf_int128 otf2_ns(const struct otf2_definitions *definitions, uint64_t ticks)
{
    enum { SECOND = 1000000000 };
    pf_int128 since = (pf_int128)ticks - (pf_int128)definitions->offset,
              rate = (pf_int128)definitions->ticks_per_second;
    if (rate == SECOND || !rate)
        return since;
    pf_int128 ns = since * SECOND / rate;
    return ns - (since < 0 && ns * rate != since * SECOND);
}

/* ---- events ------------------------------------------------------------------------------------- */

int otf2_events_open(struct otf2_events *events, const struct otf2_definitions *definitions,
                     struct otf2_files *files, uint32_t location, struct pf_error *error)
{
    *events = (struct otf2_events){.definitions = definitions, .files = files, .location = location};
    return use_file(events, error) ||
                   otf2_reader_open(&events->reader, events->input, files->event_chunk, true, error) ||
                   read_own(events, error)
               ? -1
               : 0;
}

void otf2_events_close(struct otf2_events *events)
{
    release_file(events);
    otf2_reader_close(&events->reader);
    free(events->offsets);
    for (int i = 0; i < OTF2_MAPS; i++)
        pf_map_free(&events->maps[i]);
    *events = (struct otf2_events){0};
}

int otf2_events_next(struct otf2_events *events, struct otf2_event *event, struct pf_error *error)
{
    struct otf2_record record;
    int more;
    while ((more = otf2_next(&events->reader, &record, error)) > 0) {
        if (record.type == OTF2_TIME) {
            events->stamp = otf2_u64(&record.fields);
        } else if (record.type != OTF2_ATTRIBUTES) {
            *event = (struct otf2_event){record.type, corrected(events, events->stamp), record.offset,
                                         record.fields};
            return 1;
        }
    }
    return more;
}

void otf2_events_seek(struct otf2_events *events, uint64_t offset, uint64_t stamp)
{
    otf2_reader_seek(&events->reader, offset);
    events->stamp = stamp;
}
