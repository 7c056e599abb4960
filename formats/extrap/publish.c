/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/experiment.h"
#include "formats/kit/print.h"

/* Longer names of points, as long names of parameters make them, would not fit into a file name. */
enum { POINT_NAME_MAX = 240 };

/* Appends to name[0 .. size); returns the new size, or one beyond POINT_NAME_MAX if it does not fit. */
static size_t append(char *name, size_t size, const char *text, size_t more)
{
    if (size + more > POINT_NAME_MAX)
        return POINT_NAME_MAX + 1;
    memcpy(name + size, text, more);
    return size + more;
}

/*
 * `x=4_y=10`; coordinates beyond the parameters stand without a name. No two points have the same name: equal
 * points are one, and numbers hold no `_`. A point with a broken coordinate, or too long a name, goes by its
 * number.
 */
static size_t name_of_point(const struct pf_experiment *experiment, uint32_t number, char *name)
{
    const struct pf_point *point = &experiment->points[number];
    size_t size = point->broken || !point->count ? POINT_NAME_MAX + 1 : 0;
    for (unsigned i = 0; i < point->count && size <= POINT_NAME_MAX; i++) {
        char number_text[PF_NUMBER_MAX];
        size_t digits =
            (size_t)(pf_print_double(number_text, experiment->coordinates[point->first + i]) - number_text);
        if (i)
            size = append(name, size, "_", 1);
        if (i < pf_experiment_parameters(experiment)) {
            const char *parameter = pf_experiment_parameter(experiment, i);
            size = append(name, size, parameter, strlen(parameter));
            size = append(name, size, "=", 1);
        }
        size = append(name, size, number_text, digits);
    }
    if (size <= POINT_NAME_MAX)
        return size;
    size = append(name, 0, "point ", 6);
    return (size_t)(pf_print_uint(name + size, number) - name);
}

static int add_items(const struct pf_experiment *experiment, struct pf_rows *items, struct pf_error *error)
{
    for (uint32_t i = 0; i < experiment->n_points; i++) {
        char name[POINT_NAME_MAX + PF_NUMBER_MAX];
        size_t size = name_of_point(experiment, i, name);
        struct pf_cell cells[] = {pf_uint(i), pf_text(name, size)};
        if (pf_rows_add(items, cells, error) < 0)
            return -1;
    }
    return 0;
}

static int add_fields(const struct pf_experiment *experiment, struct pf_rows *fields, struct pf_error *error)
{
    unsigned parameters = pf_experiment_parameters(experiment);
    for (size_t i = 0; i < experiment->n_points; i++) {
        const struct pf_point *point = &experiment->points[i];
        struct pf_cell cells[PF_PARAMETERS_MAX];
        for (unsigned c = 0; c < parameters; c++) {
            double coordinate = c < point->count ? experiment->coordinates[point->first + c] : 0;
            bool known = c < point->count && !(point->broken && coordinate != coordinate);
            cells[c] = known ? pf_double(coordinate) : pf_absent();
        }
        if (pf_rows_add(fields, cells, error) < 0)
            return -1;
    }
    return 0;
}

static const char *unit_of(const struct pf_experiment *experiment, uint32_t metric)
{
    uint32_t unit = metric < experiment->n_units ? experiment->unit_of[metric] : PF_NO_STRING;
    return unit == PF_NO_STRING ? "" : pf_interned(experiment->units, unit).text;
}

/* Neither values of nested call paths nor those of different points may be added. */
static struct pf_metric metric_of(const struct pf_experiment *experiment, size_t id, const char *name,
                                  uint32_t metric, const char *description)
{
    return (struct pf_metric){
        .id = (int64_t)id,
        .name = name,
        .unit = unit_of(experiment, metric),
        .scope = "",
        .type = "double",
        .description = description,
        .over_contexts = PF_OVER_NO_CONTEXTS,
        .over_partitions = PF_OVER_NO_PARTITIONS,
        .partner = PF_NO_PARTNER,
    };
}

static const char *const statistic_names[PF_STATISTICS] = {".mean", ".median", ".min", ".max", ".std"};
static const char *const statistic_descriptions[PF_STATISTICS] = {
    "mean over the repetitions at a point, as the file has it",
    "median over the repetitions at a point, as the file has it",
    "smallest of the repetitions at a point, as the file has it",
    "largest of the repetitions at a point, as the file has it",
    "standard deviation of the repetitions at a point, as the file has it",
};

/* NAME.mean and so on, held by the experiment; NULL with *error filled. */
static const char *statistic_name(struct pf_experiment *experiment, uint32_t metric, int statistic,
                                  struct pf_error *error)
{
    const char *name = pf_experiment_metric_name(experiment, metric);
    char *whole = NULL;
    int size = asprintf(&whole, "%s%s", name, statistic_names[statistic]);
    uint32_t id = PF_NO_STRING;
    if (size < 0)
        pf_fail_memory(error);
    else
        id = pf_intern(experiment->metric_names, whole, (size_t)size + 1, error);
    if (size >= 0)
        free(whole);
    return id == PF_NO_STRING ? NULL : pf_interned(experiment->metric_names, id).text;
}

static int make_statistics(struct pf_experiment *experiment, size_t n, struct pf_error *error)
{
    experiment->metric_names = pf_strings_new();
    if (!experiment->metric_names)
        return pf_fail_memory(error);
    for (size_t i = 0; i < n * PF_STATISTICS; i++) {
        uint32_t metric = (uint32_t)(i / PF_STATISTICS);
        int statistic = (int)(i % PF_STATISTICS);
        const char *name = statistic_name(experiment, metric, statistic, error);
        if (!name)
            return -1;
        experiment->metric_list[i] =
            metric_of(experiment, i, name, metric, statistic_descriptions[statistic]);
    }
    return 0;
}

static size_t metric_count(const struct pf_experiment *experiment)
{
    size_t n = pf_strings_count(experiment->metrics);
    return experiment->statistics_only ? n * PF_STATISTICS : n;
}

static int make_metrics(struct pf_experiment *experiment, struct pf_error *error)
{
    size_t n = pf_strings_count(experiment->metrics);
    experiment->metric_list = calloc(metric_count(experiment) + 1, sizeof *experiment->metric_list);
    if (!experiment->metric_list)
        return pf_fail_memory(error);
    if (experiment->statistics_only)
        return make_statistics(experiment, n, error);
    for (uint32_t i = 0; i < n; i++)
        experiment->metric_list[i] =
            metric_of(experiment, i, pf_experiment_metric_name(experiment, i), i,
                      "as measured: repetitions at points, neither inclusive nor exclusive by themselves");
    return 0;
}

static int make_fields(struct pf_experiment *experiment, struct pf_error *error)
{
    unsigned n = pf_experiment_parameters(experiment);
    experiment->field_columns = calloc((size_t)n + 1, sizeof *experiment->field_columns);
    if (!experiment->field_columns)
        return pf_fail_memory(error);
    for (unsigned i = 0; i < n; i++)
        experiment->field_columns[i].name = pf_experiment_parameter(experiment, i);
    return 0;
}

int pf_experiment_publish(struct pf_experiment *experiment, struct pf_profile *profile,
                          struct pf_error *error)
{
    unsigned parameters = pf_experiment_parameters(experiment);
    struct pf_rows *items = pf_rows_new(2), *fields = pf_rows_new(parameters);
    int failed = !items || !fields ? pf_fail_memory(error) : 0;
    if (failed || add_items(experiment, items, error) < 0 || add_fields(experiment, fields, error) < 0 ||
        make_metrics(experiment, error) < 0 || make_fields(experiment, error) < 0 ||
        pf_tree_finish(experiment->contexts, error) < 0 ||
        pf_notes_publish(&experiment->notes, profile, error) < 0) {
        pf_rows_free(items);
        pf_rows_free(fields);
        return -1;
    }
    profile->partitions.items = items;
    profile->partitions.fields = fields;
    profile->partitions.field_columns = experiment->field_columns;
    profile->partitions.n_fields = parameters;
    profile->contexts = experiment->contexts;
    profile->metrics = experiment->metric_list;
    profile->n_metrics = metric_count(experiment);
    experiment->published = true;
    return 0;
}

int pf_experiment_info(struct pf_profile *profile, const struct pf_experiment *experiment,
                       struct pf_error *error)
{
    char *names = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&names, &size);
    if (!out)
        return pf_fail_memory(error);
    for (unsigned i = 0; i < pf_experiment_parameters(experiment); i++)
        fprintf(out, "%s%s", i ? " " : "", pf_experiment_parameter(experiment, i));
    bool written = fclose(out) == 0;
    struct pf_cell cells[] = {pf_string("Parameters"), pf_text(written ? names : "", written ? size : 0)};
    int result = written ? pf_rows_add(profile->info, cells, error) : pf_fail_memory(error);
    free(names);
    return result;
}
