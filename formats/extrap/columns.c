/* SPDX-License-Identifier: MIT */
#include "formats/extrap/columns.h"

#include <stdlib.h>

#include "formats/extrap/models.h"

/* The columns point and PARAMETERS, then `rest`. Returns how many columns there are. */
static size_t fill(struct pf_column *columns, const struct pf_experiment *experiment,
                   const struct pf_column *rest, size_t n_rest)
{
    unsigned parameters = pf_experiment_parameters(experiment);
    columns[0] = (struct pf_column){"point", PF_PARTITION, 0};
    for (unsigned i = 0; i < parameters; i++)
        columns[1 + i] = (struct pf_column){pf_experiment_parameter(experiment, i), PF_PARTITION_FIELD, i};
    memcpy(columns + 1 + parameters, rest, n_rest * sizeof *rest);
    return 1 + parameters + n_rest;
}

static const struct pf_column value_columns[] = {
    {"repetition", PF_PLAIN, 0}, {"context", PF_CONTEXT, 0},   {"metric", PF_METRIC, 0},
    {"value", PF_PLAIN, 0},      {"name", PF_CONTEXT_NAME, 0},
};
static const struct pf_column statistics_columns[] = {
    {"context", PF_CONTEXT, 0}, {"metric", PF_METRIC, 0}, {"repetitions", PF_PLAIN, 0},
    {"mean", PF_PLAIN, 0},      {"median", PF_PLAIN, 0},  {"min", PF_PLAIN, 0},
    {"max", PF_PLAIN, 0},       {"std", PF_PLAIN, 0},     {"name", PF_CONTEXT_NAME, 0},
};
static const struct pf_column model_columns[] = {
    {"modeler", PF_PLAIN, 0},  {"context", PF_CONTEXT, 0},   {"metric", PF_METRIC, 0}, {"RSS", PF_PLAIN, 0},
    {"rRSS", PF_PLAIN, 0},     {"SMAPE", PF_PLAIN, 0},       {"AR2", PF_PLAIN, 0},     {"RE", PF_PLAIN, 0},
    {"function", PF_PLAIN, 0}, {"name", PF_CONTEXT_NAME, 0},
};
/* Places among value_columns, statistics_columns and model_columns. */
enum { VALUE = 3, STATISTICS_METRIC = 1, MEAN = 3, MODEL_METRIC = 2 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

void pf_experiment_declare(struct pf_experiment_tables *tables, bool models, struct pf_profile *profile)
{
    static const struct {
        const char *name;
        const struct pf_cursor_ops *ops;
    } kinds[PF_EXPERIMENT_TABLES] = {[PF_VALUES_TABLE] = {"values", &pf_stored_rows},
                                     [PF_STATISTICS_TABLE] = {"statistics", &pf_stored_rows},
                                     [PF_SCALING_TABLE] = {"scaling", &pf_experiment_scaling.ops},
                                     [PF_MODELS_TABLE] = {"models", &pf_models_cursor.ops},
                                     [PF_CELLS_TABLE] = {"cells", &pf_stored_rows},
                                     [PF_TOTALS_TABLE] = {"totals", &pf_stored_rows}};
    /* Other points are passed over without their numbers being read: far less than measuring all rows. */
    for (int i = 0; i < PF_EXPERIMENT_TABLES; i++)
        tables->tables[i] = (struct pf_table){.name = kinds[i].name,
                                              .ops = kinds[i].ops,
                                              .user = i,
                                              .stage = PF_MODELLED,
                                              .flags = PF_SEEKS_CONTEXT | PF_SEEKS_PARTITION};
    tables->tables[PF_SCALING_TABLE].flags = PF_ONLY_IN_METRICS;
    if (tables->threads) {
        tables->tables[PF_SCALING_TOTAL_TABLE] = tables->tables[PF_SCALING_TABLE];
        tables->tables[PF_SCALING_TOTAL_TABLE].name = "scaling_total";
        tables->tables[PF_SCALING_TOTAL_TABLE].user = PF_SCALING_TOTAL_TABLE;
    }
    profile->partitions.singular = "point";
    profile->partitions.plural = "points";
    profile->partitions.fields_stage = PF_PARTITIONED;
    profile->tables = tables->tables;
    profile->n_tables = models || tables->threads ? PF_CELLS_TABLE : PF_MODELS_TABLE;
    profile->cells = &tables->tables[PF_CELLS_TABLE];
}

/* The points' names, each with a NUL, one behind the other. NULL with *error filled. */
static char *names_of_points(const struct pf_rows *items, size_t points, struct pf_error *error)
{
    size_t size = 1;
    for (size_t i = 0; i < points; i++)
        size += pf_rows_at(items, i)[1].size + (size_t)1;
    char *names = calloc(1, size), *at = names;
    if (!names) {
        pf_fail_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < points; i++) {
        struct pf_cell name = pf_rows_at(items, i)[1];
        memcpy(at, name.text, name.size);
        at += name.size + 1;
    }
    return names;
}

static void set_columns(struct pf_table *table, const struct pf_column *columns, size_t n)
{
    table->columns = columns;
    table->n_columns = n;
}

/* context,POINTS,name */
static int make_scaling(struct pf_experiment_tables *tables, const struct pf_profile *profile,
                        struct pf_error *error)
{
    const struct pf_rows *items = profile->partitions.items;
    size_t points = items ? pf_rows_count(items) : 0;
    struct pf_column *columns = calloc(points + 2, sizeof *columns);
    char *names = names_of_points(items, points, error), *name = names;
    if (!columns || !names) {
        free(columns);
        free(names);
        return pf_fail_memory(error);
    }
    columns[0] = (struct pf_column){"context", PF_CONTEXT, 0};
    for (size_t i = 0; i < points; i++, name += strlen(name) + 1)
        columns[1 + i] = (struct pf_column){name, PF_PLAIN, 0};
    columns[1 + points] = (struct pf_column){"name", PF_CONTEXT_NAME, 0};
    pf_experiment_tables_free(tables);
    tables->scaling = columns;
    tables->point_names = names;
    set_columns(&tables->tables[PF_SCALING_TABLE], columns, points + 2);
    if (tables->threads)
        set_columns(&tables->tables[PF_SCALING_TOTAL_TABLE], columns, points + 2);
    return 0;
}

int pf_experiment_columns(struct pf_experiment_tables *tables, const struct pf_experiment *experiment,
                          struct pf_profile *profile, struct pf_error *error)
{
    if (make_scaling(tables, profile, error) < 0)
        return -1;
    tables->parameters = pf_experiment_parameters(experiment);
    size_t n_values = fill(tables->values, experiment, value_columns, COUNT(value_columns));
    if (tables->threads) {
        tables->values[n_values] = tables->values[n_values - 1]; /* the name stays last */
        tables->values[n_values++ - 1] = (struct pf_column){"thread", PF_PLAIN, 0};
    }
    size_t n_statistics = fill(tables->statistics, experiment, statistics_columns, COUNT(statistics_columns));
    memcpy(tables->models, model_columns, sizeof model_columns);
    if (experiment->statistics_only) {
        /* NAME is no metric of the profile: NAME.mean is. */
        tables->statistics[1 + tables->parameters + STATISTICS_METRIC].role = PF_PLAIN;
        tables->models[MODEL_METRIC].role = PF_PLAIN;
    }
    set_columns(&tables->tables[PF_VALUES_TABLE], tables->values, n_values);
    set_columns(&tables->tables[PF_STATISTICS_TABLE], tables->statistics, n_statistics);
    if (!tables->threads)
        set_columns(&tables->tables[PF_MODELS_TABLE], tables->models, COUNT(model_columns));
    bool by_value = experiment->statistics_only;
    set_columns(&tables->tables[PF_CELLS_TABLE], by_value ? tables->values : tables->statistics,
                by_value ? n_values : n_statistics);
    set_columns(&tables->tables[PF_TOTALS_TABLE], tables->statistics, n_statistics);
    profile->cells_value = 1 + tables->parameters + (by_value ? VALUE : MEAN);
    return 0;
}

void pf_experiment_tables_free(struct pf_experiment_tables *tables)
{
    free(tables->scaling);
    free(tables->point_names);
}

void pf_statistics_cells(struct pf_cell *cells, unsigned parameters, uint32_t point,
                         const struct pf_series *series, const struct pf_statistics *statistics)
{
    cells[0] = pf_int(point);
    cells += 1 + parameters;
    cells[0] = pf_int(series->context);
    cells[1] = pf_int(series->metric);
    cells[2] = pf_uint(statistics->count);
    cells[3] = pf_double(statistics->mean);
    cells[4] = statistics->has_median ? pf_double(statistics->median) : pf_absent();
    cells[5] = pf_double(statistics->min);
    cells[6] = pf_double(statistics->max);
    cells[7] = pf_double(statistics->std);
}
