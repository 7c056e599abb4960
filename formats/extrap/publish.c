/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/study.h"
#include "formats/kit/print.h"

/* Maximum size in bytes of a point's name. It fits into a file name. */
enum { POINT_NAME_MAX = 240 };

/*
 * Writes the name of a point: `x=4_y=10`. Coordinates in excess of the parameters have no `x=`. A broken point, or one with
 * an overlong name, is named by its number. Names are unique, since points are distinct and numbers contain no `_`. Returns
 * the size of the name.
 */
static int name_of_point(const struct pf_study *study, uint32_t number, char name[POINT_NAME_MAX + 1])
{
    const struct pf_point point = pf_study_point_of(study, number);
    int size = 0;
    for (unsigned i = 0; i < point.count && size <= POINT_NAME_MAX; i++) {
        char digits[PF_NUMBER_MAX];
        bool named = i < pf_study_parameters(study);
        size_t room = (size_t)(POINT_NAME_MAX + 1 - size);
        *pf_print_double(digits, point.coordinates[i]) = 0;
        size += snprintf(name + size, room, "%s%s%s%s", i ? "_" : "",
                         named ? pf_study_parameter_name(study, i) : "", named ? "=" : "", digits);
    }
    if (point.broken || !point.count || size > POINT_NAME_MAX)
        size = snprintf(name, POINT_NAME_MAX + 1, "point %u", number);
    return size;
}

static void make_points(struct pf_study *study)
{
    struct pf_run *run = study->run;
    unsigned parameters = pf_study_parameters(study);
    study->items = pf_run_memory(run, pf_rows_new(2));
    study->fields = pf_run_memory(run, pf_rows_new(parameters));
    for (uint32_t i = 0; i < pf_study_points(study); i++) {
        char name[POINT_NAME_MAX + 1];
        struct pf_cell cells[PF_PARAMETERS_MAX];
        const struct pf_point point = pf_study_point_of(study, i);
        size_t size = (size_t)name_of_point(study, i, name);
        pf_run_step(run, i, pf_study_points(study));
        struct pf_cell item[] = {pf_uint(i), pf_text(name, size)};
        for (unsigned c = 0; c < parameters; c++) {
            bool known = c < point.count && !(point.broken && isnan(point.coordinates[c]));
            cells[c] = known ? pf_double(point.coordinates[c]) : pf_absent();
        }
        pf_run_intern(run, study->point_names, name, size + 1);
        pf_run_check(run, pf_rows_add(study->items, item, run->error));
        pf_run_check(run, pf_rows_add(study->fields, cells, run->error));
    }
}

/* ---- metrics ------------------------------------------------------------------------------------ */

static const struct {
    const char *suffix, *description;
} statistics[PF_STATISTICS] = {
    {".mean", "mean over the repetitions at a point, as the file has it"},
    {".median", "median over the repetitions at a point, as the file has it"},
    {".min", "smallest of the repetitions at a point, as the file has it"},
    {".max", "largest of the repetitions at a point, as the file has it"},
    {".std", "standard deviation of the repetitions at a point, as the file has it"},
};

/* Returns the name of a statistic of the metric `name`, such as NAME.mean. The study owns the text. */
static const char *name_statistic(struct pf_study *study, const char *name, const char *suffix)
{
    char *whole = NULL;
    int size = asprintf(&whole, "%s%s", name, suffix);
    PF_OWN(study->run, size < 0 ? NULL : whole, free);
    uint32_t id = pf_run_intern(study->run, study->metric_names, whole, (size_t)size + 1);
    free(pf_disown(study->run, whole));
    return pf_interned(study->metric_names, id).text;
}

/* Returns the number of published metrics per metric of the file. */
static size_t metrics_per_name(const struct pf_study *study)
{
    return study->statistics_only ? PF_STATISTICS : 1;
}

/* Makes the metrics. Their values do not add up, neither over nested call paths nor over points. */
static void make_metrics(struct pf_study *study)
{
    size_t per_name = metrics_per_name(study), n = pf_strings_count(study->metrics) * per_name;
    struct pf_metric *list = study->metric_list = pf_run_memory(study->run, calloc(n + 1, sizeof *list));
    for (size_t i = 0; i < n; i++) {
        size_t metric = i / per_name;
        uint32_t unit = metric < study->n_unit_of ? study->unit_of[metric] : 0;
        list[i] = (struct pf_metric){
            .id = (int64_t)i,
            .name = pf_study_metric_name(study, (uint32_t)metric),
            .unit = unit ? pf_interned(study->units, unit - 1).text : "",
            .scope = "",
            .type = "double",
            .description =
                "as measured: repetitions at points, neither inclusive nor exclusive by themselves",
            .over_contexts = PF_OVER_NO_CONTEXTS,
            .over_partitions = PF_OVER_NO_PARTITIONS,
            .partner = PF_NO_PARTNER,
        };
        if (!study->statistics_only)
            continue;
        list[i].description = statistics[i % per_name].description;
        list[i].name = name_statistic(study, list[i].name, statistics[i % per_name].suffix);
    }
}

/* ---- columns ------------------------------------------------------------------------------------ */

static void make_columns_of_points(struct pf_study *study)
{
    size_t parameters = pf_study_parameters(study), points = pf_study_points(study);
    study->field_columns = pf_run_memory(study->run, calloc(parameters + 1, sizeof *study->field_columns));
    for (unsigned i = 0; i < parameters; i++)
        study->field_columns[i].name = pf_study_parameter_name(study, i);
    study->scaling_columns = pf_run_memory(study->run, calloc(points + 2, sizeof *study->scaling_columns));
    study->scaling_columns[0] = (struct pf_column){"context", PF_CONTEXT, 0};
    for (uint32_t i = 0; i < points; i++)
        study->scaling_columns[1 + i].name = pf_interned(study->point_names, i).text;
    study->scaling_columns[1 + points] = (struct pf_column){"name", PF_CONTEXT_NAME, 0};
}

/* ---- the profile -------------------------------------------------------------------------------- */

void pf_study_prepare(struct pf_study *study)
{
    make_points(study);
    make_metrics(study);
    make_columns_of_points(study);
    pf_run_check(study->run, pf_tree_finish(study->contexts, study->run->error));
}

void pf_study_publish(struct pf_study *study, struct pf_model *model)
{
    model->partitions.items = study->items;
    model->partitions.fields = study->fields;
    model->partitions.field_columns = study->field_columns;
    model->partitions.n_fields = pf_study_parameters(study);
    model->contexts = study->contexts;
    model->metrics = study->metric_list;
    model->n_metrics = pf_strings_count(study->metrics) * metrics_per_name(study);
    study->published = true;
}

void pf_study_info(const struct pf_study *study)
{
    struct pf_run *run = study->run;
    char *names = NULL;
    size_t size = 0;
    FILE *out = pf_run_memory(run, open_memstream(&names, &size));
    for (unsigned i = 0; i < pf_study_parameters(study); i++)
        fprintf(out, "%s%s", i ? " " : "", pf_study_parameter_name(study, i));
    bool written = fclose(out) == 0;
    struct pf_cell cells[] = {pf_string("Parameters"), pf_text(written ? names : "", written ? size : 0)};
    int result = written ? pf_rows_add(run->model->info, cells, run->error) : pf_fail_memory(run->error);
    free(names);
    pf_run_check(run, result);
}
