/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cubex.h"
#include "formats/cube/rows.h"
#include "formats/kit/bytes.h"
#include "formats/kit/position.h"

/*
 * The table "components": the numbers that elements of several are made of, as they are stored, under the metric on whose
 * side they are. In the order of the file: metric by metric, call path by call path, location by location. An element that
 * is zero is left out.
 */

/* Room for what a part is called: a text without blanks, commas or quotes. */
enum { PART_NAME = 24 };

static bool is_big(const struct pf_cube_metric *metric)
{
    return metric->swapped == (BYTE_ORDER == LITTLE_ENDIAN);
}

static struct pf_cell real(const struct pf_cube_metric *metric, const unsigned char *at)
{
    uint64_t bits = pf_u64(at, is_big(metric));
    double value;
    memcpy(&value, &bits, sizeof value);
    return pf_double(value);
}

/* ---- SCALE_FUNC --------------------------------------------------------------------------------- */

/*
 * The numbers of terms and of measurements, 32 bits each; the terms a * x^(b/c) * log(x)^d: a double, and b, c, d of
 * 32 bits; the measurements: a number of processes of 32 bits, mean and width as doubles. The rest is zero.
 */
enum { TERMS_AT = 0, MEASUREMENTS_AT = 4, FUNCTION_AT = 8, TERM_SIZE = 20, TERM_PARTS = 4 };
enum { MEASUREMENT_SIZE = 20, MEASUREMENT_PARTS = 3 };

static uint32_t parts_of_function(const struct pf_cube_metric *metric, const unsigned char *element)
{
    uint64_t terms = pf_u32(element + TERMS_AT, is_big(metric)),
             measurements = pf_u32(element + MEASUREMENTS_AT, is_big(metric));
    if (FUNCTION_AT + terms * TERM_SIZE + measurements * MEASUREMENT_SIZE > metric->type.size)
        return 0; /* damaged */
    return (uint32_t)(terms * TERM_PARTS + measurements * MEASUREMENT_PARTS);
}

static struct pf_cell term_part(const struct pf_cube_metric *metric, const unsigned char *term, uint32_t part)
{
    bool big = is_big(metric);
    if (part == 0)
        return real(metric, term);
    uint32_t bits = pf_u32(term + 4 + part * (size_t)4, big);
    return part == 2 ? pf_uint(bits) : pf_int((int32_t)bits);
}

static struct pf_cell function_part(const struct pf_cube_metric *metric, const unsigned char *element,
                                    uint32_t part, char name[PART_NAME])
{
    static const char *const of_term[TERM_PARTS] = {"a", "b", "c", "d"};
    static const char *const of_measurement[MEASUREMENT_PARTS] = {"processes", "mean", "width"};
    uint32_t terms = pf_u32(element + TERMS_AT, is_big(metric));
    if (part < terms * TERM_PARTS) {
        snprintf(name, PART_NAME, "%s%u", of_term[part % TERM_PARTS], part / TERM_PARTS);
        return term_part(metric, element + FUNCTION_AT + (size_t)(part / TERM_PARTS) * TERM_SIZE,
                         part % TERM_PARTS);
    }
    part -= terms * TERM_PARTS;
    uint32_t which = part % MEASUREMENT_PARTS, number = part / MEASUREMENT_PARTS;
    const unsigned char *at =
        element + FUNCTION_AT + (size_t)terms * TERM_SIZE + (size_t)number * MEASUREMENT_SIZE;
    snprintf(name, PART_NAME, "%s%u", of_measurement[which], number);
    return which ? real(metric, at + (which == 1 ? 4 : 12)) : pf_uint(pf_u32(at, is_big(metric)));
}

/* ---- all types ---------------------------------------------------------------------------------- */

static uint32_t parts_max(const struct pf_cube_metric *metric)
{
    switch (metric->type.kind) {
    case PF_CUBE_RATE:
    case PF_CUBE_COMPLEX:
        return 2;
    case PF_CUBE_AVERAGE:
        return 5;
    case PF_CUBE_BINS:
    case PF_CUBE_LIST:
        return metric->type.size / 8;
    case PF_CUBE_FUNCTION:
        return (metric->type.size - FUNCTION_AT) / TERM_SIZE *
               TERM_PARTS; /* terms have more than measurements */
    default:
        return 0;
    }
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

static uint32_t count_of(const struct pf_cube_metric *metric, const unsigned char *element)
{
    if (is_zero(element, metric->type.size))
        return 0;
    return metric->type.kind == PF_CUBE_FUNCTION ? parts_of_function(metric, element) : parts_max(metric);
}

static void name_part(const struct pf_cube_metric *metric, uint32_t part, char name[PART_NAME])
{
    static const char *const of_rate[] = {"main", "duration"}, *const of_complex[] = {"re", "im"},
                             *const of_average[] = {"n", "min", "max", "sum", "sum2"},
                             *const of_bins[] = {"min", "max"};
    switch (metric->type.kind) {
    case PF_CUBE_RATE:
        snprintf(name, PART_NAME, "%s", of_rate[part]);
        break;
    case PF_CUBE_COMPLEX:
        snprintf(name, PART_NAME, "%s", of_complex[part]);
        break;
    case PF_CUBE_AVERAGE:
        snprintf(name, PART_NAME, "%s", of_average[part]);
        break;
    case PF_CUBE_BINS:
        if (part < 2)
            snprintf(name, PART_NAME, "%s", of_bins[part]);
        else
            snprintf(name, PART_NAME, "bin%u", part - 2);
        break;
    default:
        snprintf(name, PART_NAME, "%u", part);
    }
}

static struct pf_cell part_of(const struct pf_cube_metric *metric, const unsigned char *element,
                              uint32_t part, char name[PART_NAME])
{
    if (metric->type.kind == PF_CUBE_FUNCTION)
        return function_part(metric, element, part, name);
    name_part(metric, part, name);
    if (metric->type.kind != PF_CUBE_AVERAGE)
        return real(metric, element + (size_t)part * 8);
    return part ? real(metric, element + 4 + (size_t)(part - 1) * 8)
                : pf_uint(pf_u32(element, is_big(metric)));
}

/* ---- the table ---------------------------------------------------------------------------------- */

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
    char name[PART_NAME];
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
    return !components->cube->broken && metric->has_data && parts_max(metric) &&
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
        components->parts = wanted ? count_of(metric, element) : 0;
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
            cells[PF_CUBEX_PART_VALUE] = part_of(metric, element, components->at.part++, components->name);
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
