/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/pointstudy.h"
#include "formats/nsight/nsight.h"

/*
 * A folder whose folders are points and hold exports, as an Extra-P experiment: each export is a rank or a repetition, and
 * its values are what it measured in all its threads and streams together.
 */

extern const struct pf_driver pf_nsight_folder_driver;

/* What a context comes to in all partitions of an export. */
struct total {
    int64_t value[NSIGHT_METRICS];
    bool has[NSIGHT_METRICS];
};

/* An export within the experiment. */
struct reading {
    struct pf_study *study;
    struct pf_profile export; /* as if it were opened by itself */
    struct total *totals;     /* by context of the export */
    uint32_t point;
};

static int add_up(struct reading *reading, struct pf_error *error)
{
    struct pf_profile *export = &reading->export;
    struct pf_cursor cursor = {.profile = export, .table = export->cells, .only = PF_UNRESTRICTED};
    struct pf_cell cells[PF_FOLD_COLUMNS];
    int more = cursor.table->ops->open(&cursor, error) ? -1 : 1;
    while (more > 0 && (more = cursor.table->ops->next(&cursor, cells, error)) > 0) {
        struct total *total = &reading->totals[cells[PF_FOLD_CONTEXT].i];
        int64_t *value = &total->value[cells[PF_FOLD_METRIC].i];
        *value = nsight_plus(*value, cells[PF_FOLD_VALUE].i);
        total->has[cells[PF_FOLD_METRIC].i] = true;
    }
    cursor.table->ops->close(&cursor);
    return more;
}

static int add_value(struct reading *reading, uint32_t context, size_t metric, int64_t value,
                     struct pf_error *error)
{
    struct pf_experiment *experiment = reading->study->experiment;
    const struct pf_metric *of = &reading->export.metrics[metric];
    uint32_t number = pf_experiment_metric(experiment, of->name, strlen(of->name), error);
    if (number == PF_NO_STRING || pf_experiment_unit(experiment, number, of->unit, strlen(of->unit), error))
        return -1;
    uint32_t series = pf_experiment_series(experiment, context, number, false, error);
    if (series == PF_NO_SERIES ||
        pf_measured_begin(reading->study->measured, series, reading->point, false, error))
        return -1;
    return pf_measured_add(reading->study->measured, (double)value, error);
}

static int add_values(struct reading *reading, struct pf_error *error)
{
    uint32_t *map = pf_study_contexts(reading->study, reading->export.contexts);
    if (!map)
        return -1;
    int failed = 0;
    for (uint32_t c = 0; c < reading->export.contexts->count && !failed; c++)
        for (size_t m = 0; m < NSIGHT_METRICS && !failed; m++)
            if (reading->totals[c].has[m])
                failed = add_value(reading, map[c], m, reading->totals[c].value[m], error);
    free(map);
    return failed;
}

/* Loads the export and takes its values over. */
static int take_export(struct reading *reading, const struct pf_profile *folder, struct pf_input *input,
                       struct pf_pass *pass, struct pf_error *error)
{
    struct pf_profile *export = &reading->export;
    if (pf_profile_begin(export, &pf_nsight_driver, folder->source, folder->options, error) ||
        nsight_open(export, input, error) || pf_profile_load(export, PF_MODELLED, pass, error))
        return -1;
    reading->totals = calloc((size_t) export->contexts->count + 1, sizeof *reading->totals);
    if (!reading->totals)
        return pf_fail_memory(error);
    return add_up(reading, error) || add_values(reading, error) ? -1 : 0;
}

/* What is wrong with an export is told there; that something is, here too. */
static void note_damage(struct reading *reading, const char *path)
{
    if (pf_rows_count(reading->export.warnings))
        pf_experiment_note(reading->study->experiment, PF_BAD_MEMBER, 0, -1,
                           "%.150s is damaged: see its own warnings", path);
}

static int read_export(struct pf_profile *folder, struct reading *reading, const char *path,
                       struct pf_pass *pass, struct pf_error *error)
{
    struct pf_input *input;
    if (pf_source_open(folder->source, path, &input, error))
        return -1;
    int failed = take_export(reading, folder, input, pass, error);
    if (!failed)
        note_damage(reading, path);
    pf_profile_end(&reading->export);
    free(reading->totals);
    return failed ? -1 : pf_input_done(input, error);
}

static int read_point(struct pf_profile *profile, struct pf_study *study, const char *path, uint32_t point,
                      struct pf_pass *pass, struct pf_error *error)
{
    struct reading reading = {.study = study, .point = point};
    int failed = read_export(profile, &reading, path, pass, error);
    bool unreadable = failed && (error->code == EINVAL || error->code == EACCES || error->code == ENOENT);
    if (unreadable)
        pf_experiment_note(study->experiment, PF_BAD_MEMBER, 0, -1,
                           "%.150s cannot be read as an export: it is left out", path);
    return unreadable ? 0 : failed;
}

static void probe(struct pf_probe *probe, struct pf_verdict *verdict)
{
    pf_pointstudy_probe(probe, ".sqlite", verdict);
}

static int open_folder(struct pf_profile *profile, struct pf_error *error)
{
    profile->state = calloc(1, sizeof(struct pf_pointstudy));
    if (!profile->state)
        return pf_fail_memory(error);
    return pf_pointstudy_open(profile, ".sqlite", "Exports", error);
}

static int load(struct pf_profile *profile, enum pf_stage stage, struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_pointstudy *points = profile->state;
    if (stage != PF_PARTITIONED || points->stored.study)
        return 0;
    struct pf_study *study = pf_pointstudy_read(profile, read_point, pass, error);
    return study ? pf_pointstudy_publish(profile, study, error) : -1;
}

const struct pf_driver pf_nsight_folder_driver = {
    .name = "nsight-experiment",
    .title = "Folders of points that hold Nsight Systems exports, as an Extra-P experiment",
    .version = 2,
    .directories = true,
    .beside = "experiment",
    .probe = probe,
    .open = open_folder,
    .load = load,
    .close = pf_pointstudy_close,
};
