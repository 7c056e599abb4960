/* SPDX-License-Identifier: MIT */
#include "formats/extrap/study.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Interval of progress reports, in bytes. */
#define STEP ((uint64_t)1 << 20)

/* The only kind of context; the format does not name the inner parts of a path. */
static const char *const kinds[] = {"callpath", NULL};

struct pf_study *pf_study_new(struct pf_input *input, uint64_t end, struct pf_error *error)
{
    struct pf_study *study = calloc(1, sizeof *study);
    if (study) {
        study->input = input;
        study->steps = input ? pf_input_size(input) : 0;
        study->end = end;
        study->error = error;
        study->parameters = pf_strings_new();
        study->metrics = pf_strings_new();
        study->units = pf_strings_new();
        study->points = pf_strings_new();
        study->contexts = pf_tree_new(kinds);
        study->values = pf_list_new(sizeof(struct pf_value));
        study->figures = pf_list_new(sizeof(struct pf_figures));
        study->modelers = pf_strings_new();
        study->functions = pf_strings_new();
    }
    if (study && study->values.store && study->figures.store && study->parameters && study->metrics &&
        study->units && study->points && study->contexts && study->modelers && study->functions)
        return study;
    pf_study_free(study);
    pf_fail_memory(error);
    return NULL;
}

void pf_study_free(struct pf_study *study)
{
    if (!study)
        return;
    pf_strings_free(study->parameters);
    pf_strings_free(study->metrics);
    pf_strings_free(study->units);
    free(study->unit_of);
    pf_strings_free(study->points);
    if (!study->published)
        pf_tree_free(study->contexts);
    free(study->series);
    pf_ids_free(&study->series_of);
    pf_strings_free(study->modelers);
    pf_strings_free(study->functions);
    free(study->models);
    pf_notes_free(&study->notes);
    pf_list_free(&study->values);
    pf_list_free(&study->figures);
    free(study->firsts);
    free(study->metric_list);
    pf_strings_free(study->metric_names);
    pf_strings_free(study->point_names);
    free(study->field_columns);
    free(study);
}

bool pf_study_step(struct pf_study *study, uint64_t at)
{
    if (study->failed || at < study->next_step)
        return !study->failed;
    study->next_step = at + STEP;
    return pf_study_check(study, pf_pass_step(at, study->steps, study->error));
}

/* ---- notes -------------------------------------------------------------------------------------- */

void pf_study_note(struct pf_study *study, struct pf_note_kind problem, uint64_t line, int64_t offset,
                   const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pf_note(&study->notes, &problem, (int64_t)line, offset, "%s", text);
}

bool pf_study_is_damage(const struct pf_error *error)
{
    return error->code == EBADMSG || error->code == ENODATA || error->code == E2BIG;
}

void pf_study_damage(struct pf_study *study)
{
    const struct pf_error *error = study->error;
    if (pf_study_is_damage(error))
        pf_study_note(study, PF_CUT_FILE, (uint64_t)error->line, error->offset,
                      "%.150s: what follows is not read", error->what);
    else
        study->failed = true;
}

int pf_study_clip(const char *name, size_t size)
{
    size_t most = 48;
    if (size <= most)
        return (int)size;
    while (most && ((unsigned char)name[most] & 0xc0) == 0x80)
        most--;
    return (int)most;
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Returns PF_NO_STRING if the study has failed. */
static uint32_t intern(struct pf_study *study, struct pf_strings *strings, const char *text, size_t size)
{
    uint32_t id = study->failed ? PF_NO_STRING : pf_intern(strings, text, size, study->error);
    study->failed |= id == PF_NO_STRING;
    return id;
}

/* Interns a name with its NUL, so that it can be used as a C string. Returns PF_NO_STRING if the study has failed. */
static uint32_t intern_name(struct pf_study *study, struct pf_strings *strings, const char *name, size_t size)
{
    char *copy = strndup(name, size);
    if (!copy)
        pf_study_check(study, pf_fail_memory(study->error));
    uint32_t id = copy ? intern(study, strings, copy, strlen(copy) + 1) : PF_NO_STRING;
    free(copy);
    return id;
}

int pf_study_parameter_named(const struct pf_study *study, const char *name, size_t size, unsigned first)
{
    unsigned n = pf_study_parameters(study);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = (first + i) % n;
        const char *known = pf_study_parameter_name(study, at);
        if (strlen(known) == size && !memcmp(known, name, size))
            return (int)at;
    }
    return -1;
}

int pf_study_parameter(struct pf_study *study, const char *name, size_t size, uint64_t line, int64_t offset)
{
    if (pf_study_parameters(study) < PF_PARAMETERS_MAX) {
        uint32_t id = intern_name(study, study->parameters, name, size);
        return id == PF_NO_STRING ? -1 : (int)id;
    }
    pf_study_note(study, PF_LIMIT, line, offset, "more than 16 parameters, the rest are passed over");
    return study->failed ? -1 : pf_study_parameter_named(study, name, size, 0);
}

uint32_t pf_study_metric(struct pf_study *study, const char *name, size_t size)
{
    return intern_name(study, study->metrics, name, size);
}

void pf_study_unit(struct pf_study *study, uint32_t metric, const char *unit, size_t size)
{
    uint32_t id = intern_name(study, study->units, unit, size);
    if (!study->failed && pf_study_check(study, pf_array_reach(&study->unit_of, &study->n_unit_of, metric,
                                                               sizeof *study->unit_of, study->error)))
        study->unit_of[metric] = id + 1;
}

uint32_t pf_study_callpath(struct pf_study *study, uint32_t parent, const char *path, size_t size)
{
    struct pf_tree *tree = study->contexts;
    uint32_t context = parent;
    for (;;) {
        const char *arrow = memmem(path, size, "->", 2);
        size_t part = arrow ? (size_t)(arrow - path) : size;
        uint32_t name = intern(study, tree->strings, path, part);
        uint8_t flags = context == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
        if (name == PF_NO_STRING)
            return PF_NO_CONTEXT;
        context = pf_tree_child(tree, context, name, name, 0, flags, study->error);
        study->failed |= context == PF_NO_CONTEXT;
        if (study->failed || !arrow)
            return context;
        path += part + 2;
        size -= part + 2;
    }
}

/* A single pass suffices, because parents precede their children. */
uint32_t *pf_study_contexts(struct pf_study *study, const struct pf_tree *tree)
{
    uint32_t *contexts = malloc(((size_t)tree->count + 1) * sizeof *contexts);
    if (!contexts) {
        pf_study_check(study, pf_fail_memory(study->error));
        return NULL;
    }
    for (uint32_t c = 0; c < tree->count && !study->failed; c++) {
        struct pf_cell name = pf_interned(tree->strings, tree->name[c]);
        uint32_t parent = tree->parent[c] == PF_NO_CONTEXT ? PF_NO_CONTEXT : contexts[tree->parent[c]];
        contexts[c] = pf_study_callpath(study, parent, name.text, name.size);
    }
    if (!study->failed)
        return contexts;
    free(contexts);
    return NULL;
}

/* ---- points ------------------------------------------------------------------------------------- */

void pf_point_add(struct pf_point *point, const double *coordinate)
{
    point->broken |= !coordinate;
    if (point->count < PF_PARAMETERS_MAX)
        point->coordinates[point->count] = coordinate ? *coordinate : (double)NAN;
    point->count++;
}

/*
 * A point is interned by the bytes of its coordinates. Zeros and NaNs are normalized first, so that equal coordinates
 * have equal bits. The key of a broken point has its number appended, which makes it unique.
 */
uint32_t pf_study_point(struct pf_study *study, const struct pf_point *point)
{
    char key[PF_PARAMETERS_MAX * sizeof(double) + sizeof(uint32_t)];
    uint32_t number = (uint32_t)pf_study_points(study);
    size_t size = 0;
    for (unsigned i = 0; i < point->count && i < PF_PARAMETERS_MAX; i++, size += sizeof(double)) {
        double coordinate = point->coordinates[i];
        coordinate = isnan(coordinate) ? (double)NAN : coordinate + 0.0; /* -0 + 0 is 0 */
        memcpy(key + size, &coordinate, sizeof coordinate);
    }
    if (point->broken)
        memcpy(key + size, &number, sizeof number);
    return intern(study, study->points, key, size + (point->broken ? sizeof number : 0));
}

uint32_t pf_study_point_at(struct pf_study *study, const struct pf_point *point, uint64_t line,
                           int64_t offset)
{
    unsigned parameters = pf_study_parameters(study);
    if (parameters && point->count != parameters && !study->failed)
        pf_study_note(study, PF_POINT_SIZE, line, offset,
                      "a point with %u of %u coordinates: Extra-P refuses the file", point->count,
                      parameters);
    return pf_study_point(study, point);
}

struct pf_point pf_study_point_of(const struct pf_study *study, uint32_t number)
{
    struct pf_cell key = pf_interned(study->points, number);
    struct pf_point point = {.count = (unsigned)(key.size / sizeof(double)),
                             .broken = key.size % sizeof(double) != 0};
    memcpy(point.coordinates, key.text, point.count * sizeof(double));
    return point;
}
