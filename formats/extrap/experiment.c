/* SPDX-License-Identifier: MIT */
#include "formats/extrap/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

/* The one kind of context there is; the model has no names for inner parts of a path. */
static const char *const kinds[] = {"callpath", NULL};

struct pf_experiment *pf_experiment_new(void)
{
    struct pf_experiment *experiment = calloc(1, sizeof *experiment);
    if (!experiment)
        return NULL;
    experiment->parameters = pf_strings_new();
    experiment->metrics = pf_strings_new();
    experiment->contexts = pf_tree_new(kinds);
    if (!experiment->parameters || !experiment->metrics || !experiment->contexts) {
        pf_experiment_free(experiment);
        return NULL;
    }
    return experiment;
}

void pf_experiment_free(struct pf_experiment *experiment)
{
    if (!experiment)
        return;
    pf_strings_free(experiment->parameters);
    pf_strings_free(experiment->metrics);
    if (!experiment->published)
        pf_tree_free(experiment->contexts);
    free(experiment->points);
    free(experiment->coordinates);
    pf_hash_free(&experiment->point_table);
    free(experiment->series);
    pf_hash_free(&experiment->series_table);
    free(experiment->by_context);
    pf_notes_free(&experiment->notes);
    pf_strings_free(experiment->units);
    free(experiment->unit_of);
    free(experiment->metric_list);
    pf_strings_free(experiment->metric_names);
    free(experiment->field_columns);
    free(experiment);
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Interns a name together with a NUL, so that it can be handed out as a C string. */
static uint32_t intern_terminated(struct pf_strings *strings, const char *name, size_t size,
                                  struct pf_error *error)
{
    size = strnlen(name, size);
    char few[256], *copy = size < sizeof few ? few : malloc(size + 1);
    if (!copy) {
        pf_fail_memory(error);
        return PF_NO_STRING;
    }
    memcpy(copy, name, size);
    copy[size] = 0;
    uint32_t id = pf_intern(strings, copy, size + 1, error);
    if (copy != few)
        free(copy);
    return id;
}

const char *pf_experiment_parameter(const struct pf_experiment *experiment, unsigned parameter)
{
    return pf_interned(experiment->parameters, parameter).text;
}

const char *pf_experiment_metric_name(const struct pf_experiment *experiment, uint32_t metric)
{
    return pf_interned(experiment->metrics, metric).text;
}

int pf_experiment_parameter_named(const struct pf_experiment *experiment, const char *name, size_t size,
                                  unsigned first)
{
    unsigned n = pf_experiment_parameters(experiment);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = (first + i) % n;
        const char *known = pf_experiment_parameter(experiment, at);
        if (strlen(known) == size && !memcmp(known, name, size))
            return (int)at;
    }
    return -1;
}

int pf_experiment_add_parameter(struct pf_experiment *experiment, const char *name, size_t size,
                                struct pf_error *error)
{
    uint32_t before = pf_strings_count(experiment->parameters);
    if (before == PF_PARAMETERS_MAX)
        return 0;
    if (intern_terminated(experiment->parameters, name, size, error) == PF_NO_STRING)
        return -1;
    return pf_strings_count(experiment->parameters) > before;
}

uint32_t pf_experiment_metric(struct pf_experiment *experiment, const char *name, size_t size,
                              struct pf_error *error)
{
    return intern_terminated(experiment->metrics, name, size, error);
}

int pf_experiment_unit(struct pf_experiment *experiment, uint32_t metric, const char *unit, size_t size,
                       struct pf_error *error)
{
    if (!experiment->units && !(experiment->units = pf_strings_new()))
        return pf_fail_memory(error);
    while (experiment->n_units <= metric) {
        if (pf_array_room(&experiment->unit_of, &experiment->room_units, experiment->n_units,
                          sizeof *experiment->unit_of, error))
            return -1;
        experiment->unit_of[experiment->n_units++] = PF_NO_STRING;
    }
    experiment->unit_of[metric] = intern_terminated(experiment->units, unit, size, error);
    return experiment->unit_of[metric] == PF_NO_STRING ? -1 : 0;
}

uint32_t pf_experiment_callpath(struct pf_experiment *experiment, uint32_t parent, const char *path,
                                size_t size, struct pf_error *error)
{
    struct pf_tree *tree = experiment->contexts;
    uint32_t context = parent;
    for (;;) {
        const char *arrow = memmem(path, size, "->", 2);
        size_t part = arrow ? (size_t)(arrow - path) : size;
        uint32_t name = pf_intern(tree->strings, path, part, error);
        if (name == PF_NO_STRING)
            return PF_NO_CONTEXT;
        uint8_t flags = context == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
        context = pf_tree_child(tree, context, name, name, 0, flags, error);
        if (context == PF_NO_CONTEXT || !arrow)
            return context;
        path += part + 2;
        size -= part + 2;
    }
}

/* ---- finding points and series ------------------------------------------------------------------ */

/* Equal coordinates have equal bits: the zeros are one, and so are the nans. */
static uint64_t coordinate_bits(double coordinate)
{
    uint64_t bits;
    if (coordinate == 0)
        coordinate = 0;
    if (isnan(coordinate))
        return UINT64_MAX;
    memcpy(&bits, &coordinate, sizeof bits);
    return bits;
}

/* What a point is looked up by: its coordinates' bits. */
struct point_key {
    uint64_t bits[PF_PARAMETERS_MAX];
    unsigned count;
};

static bool is_point(const void *of, uint32_t number, const void *key)
{
    const struct pf_experiment *experiment = of;
    const struct point_key *wanted = key;
    const struct pf_point *point = &experiment->points[number];
    if (point->count != wanted->count)
        return false;
    for (unsigned i = 0; i < point->count; i++)
        if (coordinate_bits(experiment->coordinates[point->first + i]) != wanted->bits[i])
            return false;
    return true;
}

uint32_t pf_experiment_point(struct pf_experiment *experiment, const double *coordinates, unsigned count,
                             bool broken, struct pf_error *error)
{
    struct point_key key = {.count = count};
    for (unsigned i = 0; i < count; i++)
        key.bits[i] = coordinate_bits(coordinates[i]);
    uint64_t hash = pf_siphash(count, key.bits, count * sizeof *key.bits);
    int64_t known =
        broken ? PF_NOT_THERE : pf_hash_find(&experiment->point_table, hash, is_point, experiment, &key);
    if (known != PF_NOT_THERE)
        return (uint32_t)known;
    if (pf_array_room(&experiment->points, &experiment->room_points, experiment->n_points,
                      sizeof *experiment->points, error) ||
        pf_array_reach(&experiment->coordinates, &experiment->room_coordinates,
                       experiment->n_coordinates + count, sizeof *experiment->coordinates, error))
        return PF_NO_POINT;
    if (count)
        memcpy(experiment->coordinates + experiment->n_coordinates, coordinates, count * sizeof *coordinates);
    uint32_t number = (uint32_t)experiment->n_points++;
    experiment->points[number] =
        (struct pf_point){.first = experiment->n_coordinates, .count = (uint8_t)count, .broken = broken};
    experiment->n_coordinates += count;
    bool lost = !broken && pf_hash_add(&experiment->point_table, hash, number, error) < 0;
    return lost ? PF_NO_POINT : number;
}

/* ---- series and their data ---------------------------------------------------------------------- */

static int grow_by_context(struct pf_experiment *experiment, uint32_t context, struct pf_error *error)
{
    size_t known = experiment->n_by_context;
    if (pf_array_reach(&experiment->by_context, &experiment->n_by_context, context,
                       sizeof *experiment->by_context, error))
        return -1;
    for (size_t i = known; i < experiment->n_by_context; i++)
        experiment->by_context[i] = (struct pf_series_list){PF_NO_SERIES, PF_NO_SERIES};
    return 0;
}

uint32_t pf_experiment_first_series(const struct pf_experiment *experiment, uint32_t context)
{
    return context < experiment->n_by_context ? experiment->by_context[context].first : PF_NO_SERIES;
}

/* Adds a series, also to the list of its context. Its number, or PF_NO_SERIES with *error filled. */
static uint32_t add_series(struct pf_experiment *experiment, uint32_t context, uint32_t metric,
                           struct pf_error *error)
{
    if (grow_by_context(experiment, context, error) < 0 ||
        pf_array_room(&experiment->series, &experiment->room_series, experiment->n_series,
                      sizeof *experiment->series, error))
        return PF_NO_SERIES;
    uint32_t number = (uint32_t)experiment->n_series++;
    experiment->series[number] =
        (struct pf_series){.context = context, .metric = metric, .offset = -1, .next = PF_NO_SERIES};
    struct pf_series_list *list = &experiment->by_context[context];
    *(list->first == PF_NO_SERIES ? &list->first : &experiment->series[list->last].next) = number;
    list->last = number;
    return number;
}

static uint64_t key_of_series(uint32_t context, uint32_t metric)
{
    return (uint64_t)context << 32 | metric;
}

/* One that was dropped is not found any more. */
static bool is_series(const void *of, uint32_t number, const void *key)
{
    const struct pf_series *series = &((const struct pf_experiment *)of)->series[number];
    return !series->dropped && key_of_series(series->context, series->metric) == *(const uint64_t *)key;
}

uint32_t pf_experiment_series(struct pf_experiment *experiment, uint32_t context, uint32_t metric, bool anew,
                              struct pf_error *error)
{
    uint64_t key = key_of_series(context, metric), hash = pf_siphash_number(key);
    int64_t known = pf_hash_find(&experiment->series_table, hash, is_series, experiment, &key);
    if (known != PF_NOT_THERE && !anew)
        return (uint32_t)known;
    uint32_t number = add_series(experiment, context, metric, error);
    if (number == PF_NO_SERIES || pf_hash_add(&experiment->series_table, hash, number, error) < 0)
        return PF_NO_SERIES;
    if (known != PF_NOT_THERE)
        experiment->series[known].dropped = true;
    return number;
}

/* ---- notes -------------------------------------------------------------------------------------- */

static const struct pf_note_kind problems[PF_PROBLEMS] = {
    [PF_BAD_LINE] = {"error", "bad-line", NULL},
    [PF_BAD_MEMBER] = {"error", "bad-member", NULL},
    [PF_BAD_MODEL] = {"error", "bad-model", NULL},
    [PF_BAD_NUMBER] = {"error", "bad-number", NULL},
    [PF_BAD_POINT] = {"error", "bad-point", NULL},
    [PF_BAD_REFERENCE] = {"error", "bad-reference", NULL},
    [PF_BAD_VALUES] = {"error", "bad-values", NULL},
    [PF_CUT_FILE] = {"fatal", "damaged", NULL},
    [PF_CUT_NAME] = {"error", "cut-name", NULL},
    [PF_DATA_TOO_MANY] = {"error", "too-many-data", NULL},
    [PF_DATA_WITHOUT_VALUES] = {"error", "no-values", NULL},
    [PF_INDENTED] = {"warning", "indented", NULL},
    [PF_INNER_BRACES] = {"warning", "inner-braces", NULL},
    [PF_LIMIT] = {"error", "limit", NULL},
    [PF_MARK] = {"warning", "byte-order-mark", NULL},
    [PF_NO_REGION] = {"warning", "no-region", NULL},
    [PF_NO_SUCH_WORD] = {"error", "unknown-keyword", NULL},
    [PF_NOTHING] = {"error", "empty", NULL},
    [PF_ORDER] = {"error", "order", NULL},
    [PF_PARAMETER_COUNT] = {"warning", "parameters", NULL},
    [PF_POINT_SIZE] = {"warning", "point-size", NULL},
    [PF_REPEATED_NAME] = {"warning", "repeated-name", NULL},
    [PF_REPEATED_POINT] = {"warning", "repeated-point", NULL},
    [PF_REPEATED_SERIES] = {"warning", "repeated-series", NULL},
    [PF_REPLACED_TEXT] = {"warning", "replaced-text", NULL},
    [PF_INCOMPLETE_SERIES] = {"warning", "incomplete-series", NULL},
};

void pf_experiment_note(struct pf_experiment *experiment, enum pf_problem problem, uint64_t line,
                        int64_t offset, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pf_note(&experiment->notes, &problems[problem], (int64_t)line, offset, "%s", text);
}

void pf_experiment_note_series(struct pf_experiment *experiment, enum pf_problem problem, uint32_t number,
                               const char *format, ...)
{
    const struct pf_series *series = &experiment->series[number];
    const struct pf_tree *tree = experiment->contexts;
    struct pf_cell context = pf_interned(tree->strings, tree->name[series->context]);
    const char *metric = pf_experiment_metric_name(experiment, series->metric);
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pf_experiment_note(experiment, problem, series->line, series->offset,
                       "call path ending in '%.*s', metric '%.*s': %s",
                       pf_experiment_clip(context.text, context.size), context.text,
                       pf_experiment_clip(metric, strlen(metric)), metric, text);
}

int pf_experiment_clip(const char *name, size_t size)
{
    size_t most = 48;
    if (size <= most)
        return (int)size;
    while (most && ((unsigned char)name[most] & 0xc0) == 0x80)
        most--;
    return (int)most;
}
