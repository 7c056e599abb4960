/* SPDX-License-Identifier: MIT */
#include "formats/extrap/study.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "formats/kit/utf8.h"

/* Interval of progress reports, in bytes. */
#define STEP ((uint64_t)1 << 20)

/* The only kind of context. The formats do not distinguish the parts of a path. */
static const char *const kinds[] = {"callpath", NULL};

struct pf_study *pf_study_new(struct pf_run *run, struct pf_input *input, uint64_t end)
{
    struct pf_study *study = PF_OWN(run, calloc(1, sizeof *study), pf_study_free);
    study->run = run;
    study->input = input;
    study->steps = input ? pf_input_size(input) : 0;
    study->end = end;
    struct pf_strings **const strings[] = {&study->parameters,   &study->metrics,    &study->units,
                                           &study->points,       &study->modelers,   &study->functions,
                                           &study->metric_names, &study->point_names};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        *strings[i] = pf_run_memory(run, pf_strings_new());
    study->contexts = pf_run_memory(run, pf_tree_new(kinds));
    study->values = pf_list_new(run, sizeof(struct pf_value));
    study->figures = pf_list_new(run, sizeof(struct pf_figures));
    return study;
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
    if (!study->published) {
        pf_tree_free(study->contexts);
        pf_rows_free(study->items);
        pf_rows_free(study->fields);
    }
    free(study->series);
    pf_ids_free(&study->series_of);
    pf_strings_free(study->modelers);
    pf_strings_free(study->functions);
    free(study->models);
    pf_list_free(&study->values);
    pf_list_free(&study->figures);
    free(study->firsts);
    free(study->metric_list);
    pf_strings_free(study->metric_names);
    pf_strings_free(study->point_names);
    free(study->field_columns);
    free(study->scaling_columns);
    free(study);
}

void pf_study_step(struct pf_study *study, uint64_t at)
{
    if (at < study->next_step)
        return;
    study->next_step = at + STEP;
    pf_run_step(study->run, at, study->steps);
}

/* ---- notes -------------------------------------------------------------------------------------- */

/* Returns true if *error means that the file is damaged, not that memory or a read failed. */
static bool is_study_damage(const struct pf_error *error)
{
    return error->code == EBADMSG || error->code == ENODATA || error->code == E2BIG;
}

void pf_study_damage(struct pf_study *study)
{
    const struct pf_error *error = study->run->error;
    if (!is_study_damage(error))
        pf_run_fail(study->run);
    pf_study_note(study, PF_CUT_FILE, error->line, error->offset, "%.150s: what follows is not read",
                  error->what);
}

int pf_study_clip(const char *name, size_t size)
{
    return (int)pf_utf8_cut(name, size, 48);
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Interns a name with its NUL, so that it can be used as a C string. */
static uint32_t intern_name(struct pf_study *study, struct pf_strings *strings, const char *name, size_t size)
{
    char *copy = pf_run_memory(study->run, strndup(name, size));
    uint32_t id = pf_intern(strings, copy, strlen(copy) + 1, study->run->error);
    free(copy);
    pf_run_check(study->run, id == PF_NO_STRING ? -1 : 0);
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
    if (pf_study_parameters(study) < PF_PARAMETERS_MAX)
        return (int)intern_name(study, study->parameters, name, size);
    pf_study_note(study, PF_LIMIT, line, offset, "more than 16 parameters: the rest are skipped");
    return pf_study_parameter_named(study, name, size, 0);
}

uint32_t pf_study_metric(struct pf_study *study, const char *name, size_t size)
{
    return intern_name(study, study->metrics, name, size);
}

void pf_study_unit(struct pf_study *study, uint32_t metric, const char *unit, size_t size)
{
    uint32_t id = intern_name(study, study->units, unit, size);
    pf_run_check(study->run, pf_array_reach(&study->unit_of, &study->n_unit_of, metric,
                                            sizeof *study->unit_of, study->run->error));
    study->unit_of[metric] = id + 1;
}

uint32_t pf_study_callpath(struct pf_study *study, uint32_t parent, const char *path, size_t size)
{
    struct pf_tree *tree = study->contexts;
    uint32_t context = parent;
    for (;;) {
        const char *arrow = memmem(path, size, "->", 2);
        size_t part = arrow ? (size_t)(arrow - path) : size;
        uint32_t name = pf_run_intern(study->run, tree->strings, path, part);
        uint8_t flags = context == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
        context = pf_tree_child(tree, context, name, name, 0, flags, study->run->error);
        pf_run_check(study->run, context == PF_NO_CONTEXT ? -1 : 0);
        if (!arrow)
            return context;
        path += part + 2;
        size -= part + 2;
    }
}

/* Adds the tree's contexts in a single loop, which is enough because parents precede their children. */
uint32_t *pf_study_contexts(struct pf_study *study, const struct pf_tree *tree)
{
    uint32_t *contexts = PF_OWN(study->run, malloc(((size_t)tree->count + 1) * sizeof *contexts), free);
    for (uint32_t c = 0; c < tree->count; c++) {
        struct pf_cell name = pf_interned(tree->strings, tree->name[c]);
        uint32_t parent = tree->parent[c] == PF_NO_CONTEXT ? PF_NO_CONTEXT : contexts[tree->parent[c]];
        pf_run_step(study->run, c, tree->count);
        contexts[c] = pf_study_callpath(study, parent, name.text, name.size);
    }
    return contexts;
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
 * A point is interned by the bytes of its coordinates. Zeros and NaNs are normalised first, so that equal coordinates have
 * equal bytes. The number of a broken point is appended to its bytes, which makes them unique.
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
    return pf_run_intern(study->run, study->points, key, size + (point->broken ? sizeof number : 0));
}

uint32_t pf_study_point_at(struct pf_study *study, const struct pf_point *point, uint64_t line,
                           int64_t offset)
{
    unsigned parameters = pf_study_parameters(study);
    if (parameters && point->count != parameters)
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
