/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cubex.h"
#include "formats/cube/parts.h"
#include "formats/cube/rows.h"
#include "formats/kit/position.h"

/*
 * The table "components": the numbers that elements of several are made of, as they are stored, under the metric on whose
 * side they are. In the order of the file: metric by metric, call path by call path, location by location. An element that
 * is zero is left out.
 */

/* Where the next row is looked for; also a saved position, in the byte order of the machine, as the whole cache is. */
struct position {
    uint32_t metric, path, location, part;
};

struct components {
    const struct pf_cubex *cubex;
    const struct pf_cube *cube;
    struct pf_cube_reader reader;
    struct pf_restriction only;
    struct position at;
    const unsigned char *row; /* of the call path, valid until the next read; NULL: not read yet */
    bool counted;             /* parts is known: */
    uint32_t parts;           /* of the element at the location */
    char name[PF_CUBE_PART_NAME];
};

static int components_open(struct pf_cursor *cursor, struct pf_error *error)
{
    struct components *components = cursor->state = calloc(1, sizeof *components);
    if (!components)
        return pf_fail_memory(error);
    components->cubex = cursor->profile->state;
    components->cube = &components->cubex->cube;
    components->only = cursor->only;
    pf_cube_reader_init(&components->reader, components->cube, cursor->only.context < 0);
    return 0;
}

static void components_close(struct pf_cursor *cursor)
{
    struct components *components = cursor->state;
    if (!components)
        return;
    pf_cube_reader_end(&components->reader);
    free(components);
    cursor->state = NULL;
}

/* The profile's metric on whose side the values are stored. */
static int metric_of(const struct components *components)
{
    const struct pf_cube_metric *metric = &components->cube->metrics[components->at.metric];
    return components->cubex->sides[components->at.metric].side[metric->stored == PF_CUBE_INCLUSIVE];
}

static bool wants_metric(const struct components *components)
{
    const struct pf_cube_metric *metric = &components->cube->metrics[components->at.metric];
    return !components->cube->broken && metric->has_data && pf_cube_parts_max(metric) &&
           (components->only.metric < 0 || components->only.metric == metric_of(components));
}

static bool wants_path(const struct components *components)
{
    return components->only.context < 0 || components->only.context == components->at.path;
}

static void next_path(struct components *components)
{
    components->row = NULL;
    components->counted = false;
    components->at.part = components->at.location = 0;
    if (++components->at.path < components->cube->tree->count)
        return;
    components->at.path = 0;
    components->at.metric++;
}

/* Goes on to a call path that has a row, and reads it. 1; 0: there is none any more; -1: *error filled. */
static int find_row(struct components *components, struct pf_error *error)
{
    const struct pf_cube *cube = components->cube;
    while (components->at.metric < cube->n_metrics && cube->tree->count) {
        const struct pf_cube_metric *metric = &cube->metrics[components->at.metric];
        if (!wants_metric(components)) {
            components->at = (struct position){.metric = components->at.metric + 1};
            continue;
        }
        int64_t row = wants_path(components) ? pf_cube_row_of(cube, metric, components->at.path) : -1;
        int got = row < 0 ? 0
                          : pf_cube_raw_row(&components->reader, metric, (uint64_t)row, 0, cube->n_locations,
                                            &components->row, error);
        if (got)
            return got;
        next_path(components);
    }
    return 0;
}

/* How many parts the element at the location has: counted once, as that looks through all of it. */
static uint32_t count_parts(struct components *components, const struct pf_cube_metric *metric,
                            const unsigned char *element)
{
    bool wanted = components->only.partition < 0 || components->only.partition == components->at.location;
    if (!components->counted)
        components->parts = wanted ? pf_cube_parts(metric, element) : 0;
    components->counted = true;
    return components->parts;
}

/* Goes on to a location of the row that has one more part. NULL: there is none. */
static const unsigned char *find_element(struct components *components)
{
    const struct pf_cube_metric *metric = &components->cube->metrics[components->at.metric];
    while (components->at.location < components->cube->n_locations) {
        const unsigned char *element = components->row + (size_t)components->at.location * metric->type.size;
        if (components->at.part < count_parts(components, metric, element))
            return element;
        components->at.location++;
        components->at.part = 0;
        components->counted = false;
    }
    return NULL;
}

static int components_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct components *components = cursor->state;
    for (;;) {
        int got = components->row ? 1 : find_row(components, error);
        if (got <= 0)
            return got;
        const unsigned char *element = find_element(components);
        if (element) {
            const struct pf_cube_metric *metric = &components->cube->metrics[components->at.metric];
            cells[PF_CUBEX_PART_VALUE] =
                pf_cube_part(metric, element, components->at.part++, components->name);
            cells[PF_CUBEX_PART_THREAD] = pf_int(components->at.location);
            cells[PF_CUBEX_PART_CONTEXT] = pf_int(components->at.path);
            cells[PF_CUBEX_PART_METRIC] = pf_int(metric_of(components));
            cells[PF_CUBEX_PART_COMPONENT] = pf_plain(components->name, strlen(components->name));
            return 1;
        }
        next_path(components);
    }
}

static size_t components_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct components *components = cursor->state;
    return pf_position_save(&components->at, sizeof components->at, blob, room);
}

static int components_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct components *components = cursor->state;
    const struct pf_cube *cube = components->cube;
    struct position at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    if (at.metric > cube->n_metrics || at.path > cube->tree->count || at.location > cube->n_locations)
        return pf_position_refuse(error);
    components->at = at;
    components->row = NULL;
    components->counted = false;
    return 0;
}

const struct pf_cursor_ops pf_cubex_components = {
    .open = components_open,
    .next = components_next,
    .save = components_save,
    .restore = components_restore,
    .close = components_close,
};
