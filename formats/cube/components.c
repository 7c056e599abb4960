/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cubex.h"
#include "formats/kit/bytes.h"

/*
 * The table "components" has the stored parts of elements that consist of several numbers. A row names the exclusive or the
 * inclusive metric, whichever of the two the file stores. Rows are sorted by metric, call path and location. Elements whose
 * bytes are all zero have no rows.
 */

/* ---- layouts of elements -------------------------------------------------------------------------- */

/* A group of fields in an element. If groups repeat, the name of a part is the field's name and the number of the group. */
struct components_group {
    bool repeats;
    uint32_t size, n_fields;
    struct component_field {
        const char *name;
        enum { REAL, UNSIGNED, SIGNED } type;
        uint32_t at;
    } fields[5];
};
static const struct components_group rate = {false, 16, 2, {{"main", REAL, 0}, {"duration", REAL, 8}}};
static const struct components_group complex = {false, 16, 2, {{"re", REAL, 0}, {"im", REAL, 8}}};
static const struct components_group average = {
    false,
    36,
    5,
    {{"n", UNSIGNED, 0}, {"min", REAL, 4}, {"max", REAL, 12}, {"sum", REAL, 20}, {"sum2", REAL, 28}}};
static const struct components_group range = {false, 16, 2, {{"min", REAL, 0}, {"max", REAL, 8}}};
static const struct components_group bin = {true, 8, 1, {{"bin", REAL, 0}}};
static const struct components_group item = {true, 8, 1, {{"", REAL, 0}}};
/*
 * A SCALE_FUNC is u32 number of terms, u32 number of measurements, the terms, and the measurements. A term stands for
 * `a * x^(b/c) * log(x)^d`.
 */
static const struct components_group term = {
    true, 20, 4, {{"a", REAL, 0}, {"b", SIGNED, 8}, {"c", UNSIGNED, 12}, {"d", SIGNED, 16}}};
static const struct components_group measurement = {
    true, 20, 3, {{"processes", UNSIGNED, 0}, {"mean", REAL, 4}, {"width", REAL, 12}}};
enum { FUNCTION_AT = 8 };

/* Consecutive groups of one layout in an element: `count` of them from the offset `at` on. */
struct groups {
    const struct components_group *group;
    uint32_t at, count;
};

enum { GROUPS = 2 };

/* Determines the groups of an element. There are none if the element is a single number or damaged. */
static void find_groups(const struct pf_cube_metric *metric, const unsigned char *element,
                        struct groups of[GROUPS])
{
    uint32_t numbers = metric->type.size / 8;
    of[0] = of[1] = (struct groups){&item, 0, 0};
    switch (metric->type.kind) {
    case PF_CUBE_RATE:
        of[0] = (struct groups){&rate, 0, 1};
        break;
    case PF_CUBE_COMPLEX:
        of[0] = (struct groups){&complex, 0, 1};
        break;
    case PF_CUBE_AVERAGE:
        of[0] = (struct groups){&average, 0, 1};
        break;
    case PF_CUBE_BINS:
        of[0] = (struct groups){&range, 0, 1};
        of[1] = (struct groups){&bin, 16, numbers - 2};
        break;
    case PF_CUBE_LIST:
        of[0] = (struct groups){&item, 0, numbers};
        break;
    case PF_CUBE_FUNCTION: {
        uint64_t terms = pf_u32(element, metric->big), measurements = pf_u32(element + 4, metric->big);
        uint64_t room = metric->type.size - FUNCTION_AT, end = terms * term.size;
        if (end + measurements * measurement.size > room)
            break;
        of[0] = (struct groups){&term, FUNCTION_AT, (uint32_t)terms};
        of[1] = (struct groups){&measurement, FUNCTION_AT + (uint32_t)end, (uint32_t)measurements};
        break;
    }
    default:
        break;
    }
}

/* Returns the number of parts of an element; 0 if its bytes are all zero. */
static uint32_t count_parts(const struct pf_cube_metric *metric, const unsigned char *element)
{
    struct groups of[GROUPS];
    if (!element[0] && !memcmp(element, element + 1, metric->type.size - 1))
        return 0;
    find_groups(metric, element, of);
    return of[0].count * of[0].group->n_fields + of[1].count * of[1].group->n_fields;
}

/* Returns the maximum number of parts in an element of a metric. */
static uint64_t parts_max(const struct pf_cube_metric *metric)
{
    static const unsigned char zeros[FUNCTION_AT];
    struct groups of[GROUPS];
    if (metric->type.kind == PF_CUBE_FUNCTION)
        return (uint64_t)(metric->type.size - FUNCTION_AT) / term.size * term.n_fields;
    find_groups(metric, zeros, of);
    return (uint64_t)of[0].count * of[0].group->n_fields + (uint64_t)of[1].count * of[1].group->n_fields;
}

/* Size in bytes of the buffer for a part's name. Such a name has no spaces, commas or quotes, so it is a plain cell. */
enum { PART_NAME = 24 };

static struct pf_cell part_cell(const struct pf_cube_metric *metric, const unsigned char *element,
                                uint32_t part, char name[PART_NAME])
{
    struct groups of[GROUPS];
    find_groups(metric, element, of);
    uint32_t first = of[0].count * of[0].group->n_fields;
    const struct groups *in = &of[part >= first];
    part -= part >= first ? first : 0;
    uint32_t number = part / in->group->n_fields;
    const struct component_field *field = &in->group->fields[part % in->group->n_fields];
    const unsigned char *at = element + in->at + (size_t)number * in->group->size + field->at;
    if (in->group->repeats)
        snprintf(name, PART_NAME, "%s%u", field->name, number);
    else
        snprintf(name, PART_NAME, "%s", field->name);
    if (field->type == REAL)
        return pf_double(pf_f64(at, metric->big));
    uint32_t bits = pf_u32(at, metric->big);
    return field->type == SIGNED ? pf_int((int32_t)bits) : pf_uint(bits);
}

/* ---- the table ---------------------------------------------------------------------------------- */

struct components {
    struct pf_cubex_numbers numbers;
    struct pf_cube_reader reader;
    uint64_t next;            /* next number that may have a row */
    uint64_t path;            /* the loaded call path's first number; PF_NO_NUMBER: none */
    uint64_t element;         /* first number of the element that was examined last; PF_NO_NUMBER: none */
    const unsigned char *row; /* the loaded call path's row */
    uint32_t parts;           /* number of parts of the element examined last */
    char name[PART_NAME];
};

/* Returns the profile's metric for the values that the file stores for the cube's metric `metric`. */
static int stored_side(const struct pf_cubex *cubex, uint32_t metric)
{
    bool inclusive = cubex->cube.metrics[metric].stored == PF_CUBE_INCLUSIVE;
    return cubex->sides[metric].side[inclusive];
}

static uint64_t parts_wanted(const struct pf_cursor *cursor, uint32_t metric)
{
    const struct pf_cubex *cubex = cursor->model->state;
    bool wanted = pf_wanted(cursor->only.metric, (uint64_t)stored_side(cubex, metric));
    return wanted ? parts_max(&cubex->cube.metrics[metric]) : 0;
}

static int begin_components(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                            struct pf_error *error)
{
    const struct pf_cubex *cubex = cursor->model->state;
    struct components *own = numbers->own = calloc(1, sizeof *own);
    if (!own)
        return pf_fail_memory(error);
    own->path = own->element = PF_NO_NUMBER;
    pf_cube_reader_init(&own->reader, &cubex->cube, cursor->only.context < 0);
    if (pf_cubex_numbers_init(&own->numbers, cursor, parts_wanted, error))
        return -1;
    numbers->end = own->numbers.first[cubex->cube.n_metrics];
    return 0;
}

static void free_components(void *state)
{
    struct components *own = state;
    if (!own)
        return;
    pf_cube_reader_end(&own->reader);
    free(own->numbers.first);
    free(own);
}

/*
 * Loads the row of the call path whose first number is `first`, unless it is loaded. Returns 1; 0 if the call path has
 * no row; -1 with *error filled.
 */
static int load_component_row(struct components *own, uint64_t first, struct pf_error *error)
{
    const struct pf_cube_metric *metric = &own->reader.cube->metrics[own->numbers.metric];
    if (own->path == first)
        return 1;
    own->path = own->element = PF_NO_NUMBER;
    int64_t row = pf_cube_row_of(&own->reader, metric, own->numbers.path);
    int got = row < 0 ? 0
                      : pf_cube_raw_row(&own->reader, metric, (uint64_t)row, own->numbers.location_first,
                                        own->numbers.locations, &own->row, error);
    if (got > 0)
        own->path = first;
    return got;
}

static int component_row(const struct pf_cursor *cursor, void *state, uint64_t number, struct pf_cell *cells,
                         struct pf_error *error)
{
    const struct pf_cubex *cubex = cursor->model->state;
    struct components *own = state;
    struct pf_cubex_numbers *at = &own->numbers;
    pf_cubex_find_number(at, number);
    const struct pf_cube_metric *metric = &cubex->cube.metrics[at->metric];
    uint64_t parts = at->each, location = at->rest / parts, part = at->rest % parts;
    uint64_t path = number - at->rest, element = number - part;
    own->next = path + at->locations * parts;
    int got = load_component_row(own, path, error);
    if (got <= 0)
        return got;
    const unsigned char *bytes = own->row + location * metric->type.size;
    if (own->element != element)
        own->parts = count_parts(metric, bytes);
    own->element = element;
    own->next = element + parts;
    if (part >= own->parts)
        return 0;
    own->next = number + 1;
    cells[PF_CUBEX_PART_VALUE] = part_cell(metric, bytes, (uint32_t)part, own->name);
    cells[PF_CUBEX_PART_THREAD] = pf_int((int64_t)(at->location_first + location));
    cells[PF_CUBEX_PART_CONTEXT] = pf_int(at->path);
    cells[PF_CUBEX_PART_METRIC] = pf_int(stored_side(cubex, at->metric));
    cells[PF_CUBEX_PART_COMPONENT] = pf_plain(own->name, strlen(own->name));
    return 1;
}

static uint64_t after_component(const struct pf_cursor *cursor, const void *state, uint64_t number)
{
    (void)cursor, (void)number;
    return ((const struct components *)state)->next;
}

const struct pf_numbered pf_cubex_components = {PF_NUMBERED, .begin = begin_components, .row = component_row,
                                                .after = after_component, .free = free_components};
