/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver_extra.h"
#include "formats/extrap/points.h"
#include "formats/model.h"
#include "formats/nsight/nsight.h"
#include "formats/probe.h"

/*
 * Presents a folder as an Extra-P experiment if its point directories hold exports. Each export is a rank or a
 * repetition of its point. The values of an export are the sums over all its threads and streams.
 */

extern const struct pf_driver pf_nsight_folder_driver;

/* Sums of a context over all partitions of an export. */
struct folder_total {
    struct pf_total value[NSIGHT_METRICS];
    bool has[NSIGHT_METRICS];
};

/* An export of a point of the experiment, while it is read. */
struct folder_reading {
    struct pf_study *study;
    struct pf_model export;      /* the model that the driver "nsight" makes of the export */
    struct folder_total *totals; /* by context of the export */
    uint32_t point;
};

static int sum_export_values(struct folder_reading *reading, struct pf_error *error)
{
    struct pf_model *export = &reading->export;
    struct pf_cursor cursor = {.model = export, .table = export->values, .only = PF_UNRESTRICTED};
    struct pf_cell cells[PF_SUMS_COLUMNS];
    int more = cursor.table->ops->open(&cursor, error) ? -1 : 1;
    while (more > 0 && (more = cursor.table->ops->next(&cursor, cells, error)) > 0) {
        struct folder_total *total = &reading->totals[cells[PF_SUMS_CONTEXT].i];
        pf_total_add(&total->value[cells[PF_SUMS_METRIC].i], &cells[PF_SUMS_VALUE]);
        total->has[cells[PF_SUMS_METRIC].i] = true;
    }
    cursor.table->ops->close(&cursor);
    return more;
}

static void add_folder_value(struct folder_reading *reading, uint32_t context, size_t metric, double value)
{
    struct pf_study *study = reading->study;
    const struct pf_metric *of = &reading->export.metrics[metric];
    uint32_t number = pf_study_metric(study, of->name, strlen(of->name));
    pf_study_unit(study, number, of->unit, strlen(of->unit));
    pf_study_begin(study, pf_study_series(study, context, number, false, 0, -1), reading->point, false);
    pf_study_add(study, value);
}

static void add_folder_values(struct folder_reading *reading)
{
    struct pf_study *study = reading->study;
    uint32_t *map = pf_study_contexts(study, reading->export.contexts);
    for (uint32_t c = 0; c < reading->export.contexts->count; c++)
        for (size_t m = 0; m < NSIGHT_METRICS; m++)
            if (reading->totals[c].has[m])
                add_folder_value(reading, map[c], m, (double)reading->totals[c].value[m].whole);
    free(pf_disown(study->run, map));
}

/* Loads the export and sums up its values. */
static int load_export(struct folder_reading *reading, const char *path, struct pf_error *error)
{
    const struct pf_model *folder = reading->study->run->model;
    struct pf_model *export = &reading->export;
    struct pf_input *input;
    if (pf_source_open(folder->source, path, PF_RAW, &input, error) ||
        pf_model_begin(export, &pf_nsight_driver, folder->source, folder->options, error) ||
        pf_build_open_input(export, input, error) || pf_model_load(export, PF_MODELLED, error))
        return -1;
    reading->totals = calloc((size_t) export->contexts->count + 1, sizeof *reading->totals);
    if (!reading->totals)
        return pf_fail_memory(error);
    return sum_export_values(reading, error) ? -1 : pf_input_done(input, error);
}

static void free_reading(void *thing)
{
    struct folder_reading *reading = thing;
    if (reading->export.driver)
        pf_model_end(&reading->export);
    free(reading->totals);
    free(reading);
}

/* Adds the values of an export to the study. If the export has warnings, adds one warning that refers to these. If
 * the file cannot be read as an export, adds a warning and leaves the file out. */
static void read_folder_export(struct pf_study *study, const char *path, uint32_t point)
{
    struct pf_run *run = study->run;
    struct folder_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free_reading);
    reading->study = study;
    reading->point = point;
    if (!load_export(reading, path, run->error)) {
        add_folder_values(reading);
        if (pf_rows_count(reading->export.warnings))
            pf_points_note(study, path, "is damaged: see its own warnings");
    } else if (run->error->code == EINVAL || run->error->code == EACCES || run->error->code == ENOENT) {
        pf_points_note(study, path, "cannot be read as an export: it is left out");
    } else {
        pf_run_fail(run);
    }
    free_reading(pf_disown(run, reading));
}

static void probe_export_folder(struct pf_probe *probe, struct pf_probe_result *result)
{
    result->confidence = pf_points_probe(probe, ".sqlite", 2) ? 16 : 0;
}

static int open_export_folder(struct pf_model *model, struct pf_error *error)
{
    model->state = calloc(1, sizeof(struct pf_points));
    if (!model->state)
        return pf_fail_memory(error);
    return pf_points_open(model, ".sqlite", "Exports", error);
}

static void read_all_exports(struct pf_run *run, void *reading)
{
    pf_study_made(reading, pf_points_read(run, read_folder_export));
}

static int load_export_folder(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    const struct pf_points *points = model->state;
    if (stage != PF_PARTITIONED || points->stored.study)
        return 0;
    struct pf_study_reading reading = {.read = read_all_exports};
    return pf_study_read(model, &reading, error);
}

const struct pf_driver pf_nsight_folder_driver = {
    .name = "nsight-experiment",
    .title = "Folders of points that hold Nsight Systems exports, as an Extra-P experiment",
    .version = 5,
    .directories = true,
    .extra = &(const struct pf_driver_extra){.beside = true},
    .probe = probe_export_folder,
    .open = open_export_folder,
    .load = load_export_folder,
    .close = pf_points_close,
};
