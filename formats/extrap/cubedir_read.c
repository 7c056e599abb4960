/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/sums.h"
#include "formats/extrap/cubedir.h"
#include "formats/kit/array.h"

enum { EXCLUSIVE, INCLUSIVE, SIDES };

/* A file within the experiment. */
struct reading {
    struct pf_cubedir *cubedir;
    struct pf_study *study;
    struct pf_cube cube;
    struct pf_cube_sums sums;
    uint32_t *contexts; /* of the experiment, for each call path of the file */
    uint32_t point;
    struct pf_pass *pass;
};

/* ---- names -------------------------------------------------------------------------------------- */

/* The experiment's metric of a side of one of the file, which is remembered to be inclusive. PF_NO_STRING: the study has failed. */
static uint32_t map_metric(struct reading *reading, const struct pf_cube_metric *metric, int side)
{
    struct pf_study *study = reading->study;
    struct pf_cubedir *cubedir = reading->cubedir;
    char *name = NULL;
    int size = asprintf(&name, "%s%s", metric->name, side == INCLUSIVE ? " (inc)" : "");
    if (size < 0) {
        pf_study_check(study, pf_fail_memory(study->error));
        return PF_NO_STRING;
    }
    uint32_t number = pf_study_metric(study, name, (size_t)size);
    free(name);
    if (study->failed ||
        !pf_study_check(study, pf_experiment_unit(study->experiment, number, metric->unit,
                                                  strlen(metric->unit), study->error)) ||
        !pf_study_check(study, pf_array_reach(&cubedir->inclusive, &cubedir->room_inclusive, number,
                                              sizeof *cubedir->inclusive, study->error)))
        return PF_NO_STRING;
    cubedir->inclusive[number] = side == INCLUSIVE;
    return number;
}

/* ---- values ------------------------------------------------------------------------------------- */

static double value_of(enum pf_cube_kind kind, const union pf_cube_number *number)
{
    struct pf_cell cell;
    if (!pf_cube_shown(kind, number, &cell))
        return 0;
    if (cell.type == PF_INT)
        return (double)cell.i;
    if (cell.type == PF_UINT)
        return (double)cell.u;
    return cell.type == PF_WIDE ? (double)*cell.wide : cell.d;
}

static int add_group(struct reading *reading, enum pf_cube_kind kind, uint32_t series,
                     const union pf_cube_number *values, struct pf_error *error)
{
    struct pf_measured *measured = reading->study->measured;
    struct {
        struct pf_record record;
        double numbers[PF_RECORD_VALUES];
    } part;
    uint32_t n, all = reading->cube.n_locations;
    for (uint32_t first = 0; first < all; first += n) {
        n = all - first < PF_RECORD_VALUES ? all - first : PF_RECORD_VALUES;
        part.record = (struct pf_record){
            .series = series, .point = reading->point, .values = n, .repetitions = first == 0};
        for (uint32_t i = 0; i < n; i++)
            part.numbers[i] = value_of(kind, &values[first + i]);
        if (pf_store_append(measured->store, &part, pf_record_size(&part.record), error))
            return -1;
    }
    measured->values += all;
    measured->unsorted = true;
    return 0;
}

/* The call paths that have a row, and no others: what the file does not tell is not zero here. */
static int add_side(struct reading *reading, const struct pf_cube_metric *metric, int side,
                    struct pf_error *error)
{
    const struct pf_cube *cube = &reading->cube;
    uint32_t number = map_metric(reading, metric, side);
    if (number == PF_NO_STRING)
        return -1;
    for (uint32_t p = 0; p < cube->tree->count; p++) {
        const union pf_cube_number *values;
        if (pf_cube_row_of(cube, metric, p) < 0)
            continue;
        int got = pf_cube_sums_at(&reading->sums, metric, p, side == INCLUSIVE, &values, error);
        if (got < 0 || pf_pass_step(reading->pass, p, cube->tree->count, error))
            return -1;
        if (!got)
            continue;
        uint32_t series = pf_study_series(reading->study, reading->contexts[p], number, false, 0, -1);
        if (series == PF_NO_SERIES || add_group(reading, metric->type.kind, series, values, error))
            return -1;
    }
    return 0;
}

static int add_metrics(struct reading *reading, struct pf_error *error)
{
    for (size_t m = 0; m < reading->cube.n_metrics; m++) {
        const struct pf_cube_metric *metric = &reading->cube.metrics[m];
        if (metric->parent != PF_CUBE_NONE || !metric->has_data || !pf_cube_is_number(metric->type.kind))
            continue;
        for (int side = 0; side < SIDES; side++)
            if (add_side(reading, metric, side, error))
                return -1;
    }
    return 0;
}

/* ---- files -------------------------------------------------------------------------------------- */

static bool is_damaged(const struct pf_cube *cube)
{
    return cube->notes.count || cube->load_notes.count || cube->data_notes.count;
}

static int take_cube(struct reading *reading, struct pf_input *input, const char *path,
                     struct pf_error *error)
{
    struct pf_cube *cube = &reading->cube;
    if (pf_cube_open(cube, input, error) || pf_cube_load(cube, reading->pass, error) ||
        pf_cube_find_data(cube, reading->pass, error))
        return -1;
    if (is_damaged(cube))
        pf_experiment_note(reading->study->experiment, PF_BAD_MEMBER, 0, -1,
                           "%.150s is damaged: see its own warnings", path);
    if (cube->broken)
        return 0;
    reading->contexts = pf_study_contexts(reading->study, cube->tree);
    if (!reading->contexts || pf_cube_sums_init(&reading->sums, cube, true, error))
        return -1;
    return add_metrics(reading, error);
}

int pf_cubedir_read(struct pf_profile *profile, struct pf_study *study, const char *path, uint32_t point,
                    struct pf_pass *pass, struct pf_error *error)
{
    struct pf_input *input;
    struct reading reading = {.cubedir = profile->state, .study = study, .point = point, .pass = pass};
    if (pf_source_open(profile->source, path, &input, error)) {
        if (error->code != EACCES && error->code != ENOENT && error->code != EINVAL)
            return -1;
        pf_experiment_note(study->experiment, PF_BAD_MEMBER, 0, -1, "%.150s cannot be opened: it is left out",
                           path);
        return 0;
    }
    int result = take_cube(&reading, input, path, error);
    pf_cube_sums_end(&reading.sums);
    free(reading.contexts);
    pf_cube_close(&reading.cube);
    return result ? -1 : pf_input_done(input, error);
}
