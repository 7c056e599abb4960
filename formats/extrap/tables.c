/* SPDX-License-Identifier: MIT */
/* Columns of a study's tables, and cursors of the tables scaling, scaling_total and models. */
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/stored.h"

static const struct pf_study *model_study(const struct pf_cursor *cursor)
{
    return ((const struct pf_study_profile *)cursor->model->state)->study;
}

/* ---- scaling ------------------------------------------------------------------------------------ */

/* Returns the table that the cursor's rows, one per series, are made from: cells for scaling, totals for scaling_total. */
static const struct pf_table *cells_of(const struct pf_cursor *cursor)
{
    const struct pf_study_profile *stored = cursor->model->state;
    return &stored->tables[pf_study_table_of(cursor) == PF_SCALING_TABLE ? PF_CELLS_TABLE : PF_TOTALS_TABLE];
}

static int begin_scaling(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    numbers->end = model_study(cursor)->n_series;
    numbers->own = calloc(cells_of(cursor)->n_columns, sizeof(struct pf_cell));
    return numbers->own ? 0 : pf_fail_memory(error);
}

static int scaling_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                       struct pf_error *error)
{
    const struct pf_study *study = model_study(cursor);
    const struct pf_series *series = &study->series[number];
    int64_t metric = study->statistics_only ? cursor->only.metric / PF_STATISTICS : cursor->only.metric;
    struct pf_cell *values = own;
    struct pf_cursor at = {.model = cursor->model, .table = cells_of(cursor), .only = cursor->only};
    if (!pf_wanted(cursor->only.context, series->context) || series->metric != metric || series->dropped)
        return 0;
    at.only.context = series->context;
    for (size_t i = 1; i + 1 < cursor->table->n_columns; i++)
        cells[i] = pf_absent();
    int got = at.table->ops->open(&at, error) ? -1 : 1, any = 0;
    while (got > 0 && (got = at.table->ops->next(&at, values, error)) > 0) {
        cells[1 + values[0].i] = values[cursor->model->value_column];
        any = 1;
    }
    at.table->ops->close(&at);
    cells[0] = pf_int(series->context);
    return got < 0 ? -1 : any;
}

static const struct pf_numbered scaling = {PF_NUMBERED, .begin = begin_scaling, .row = scaling_row};

/* ---- models ------------------------------------------------------------------------------------- */

static uint64_t model_number_of(uint32_t model)
{
    return model == PF_NO_MODEL ? PF_NO_NUMBER : model;
}

static int begin_models(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct pf_study *study = model_study(cursor);
    int64_t context = cursor->only.context;
    (void)error;
    numbers->end = study->n_models;
    if (context >= 0)
        numbers->next =
            context < study->contexts->count ? model_number_of(study->firsts[context].model) : PF_NO_NUMBER;
    return 0;
}

static uint64_t model_after(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)own;
    return cursor->only.context < 0 ? number + 1 : model_number_of(model_study(cursor)->models[number].next);
}

/* A restriction to a metric is ignored if the profile's metrics are statistics (NAME.mean). */
static int model_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    const struct pf_study *study = model_study(cursor);
    const struct pf_fit_function *model = &study->models[number];
    bool figures = study->statistics_only;
    (void)own, (void)error;
    if (!pf_wanted(cursor->only.context, model->context) ||
        (!figures && !pf_wanted(cursor->only.metric, model->metric)))
        return 0;
    cells[0] = pf_interned(study->modelers, model->modeler);
    cells[1] = pf_int(model->context);
    cells[2] = figures ? pf_string(pf_study_metric_name(study, model->metric)) : pf_int(model->metric);
    for (int i = 0; i < PF_FITS; i++)
        cells[3 + i] = model->has >> i & 1 ? pf_double(model->fits[i]) : pf_absent();
    cells[3 + PF_FITS] = pf_interned(study->functions, model->function);
    return 1;
}

static const struct pf_numbered models = {PF_NUMBERED, .begin = begin_models, .row = model_row,
                                          .after = model_after};

/* ---- columns ------------------------------------------------------------------------------------ */

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
/* Indexes of columns: VALUE in value_columns, STATISTICS_METRIC and MEAN in statistics_columns, MODEL_METRIC in model_columns. */
enum { VALUE = 3, STATISTICS_METRIC = 1, MEAN = 3, MODEL_METRIC = 2 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

void pf_study_declare(struct pf_model *model, bool with_models)
{
    static const struct {
        const char *name;
        const struct pf_cursor_ops *ops;
    } kinds[PF_STUDY_TABLES] = {[PF_VALUES_TABLE] = {"values", &pf_study_rows.ops},
                                [PF_STATISTICS_TABLE] = {"statistics", &pf_study_rows.ops},
                                [PF_SCALING_TABLE] = {"scaling", &scaling.ops},
                                [PF_MODELS_TABLE] = {"models", &models.ops},
                                [PF_CELLS_TABLE] = {"cells", &pf_study_rows.ops},
                                [PF_TOTALS_TABLE] = {"totals", &pf_study_rows.ops}};
    struct pf_study_profile *stored = model->state;
    struct pf_table *tables = stored->tables;
    /* A cursor that is restricted to a point finds its items by binary search. */
    for (int i = 0; i < PF_STUDY_TABLES; i++)
        tables[i] = (struct pf_table){.name = kinds[i].name,
                                      .ops = kinds[i].ops,
                                      .stage = PF_MODELLED,
                                      .flags = PF_SEEKS_CONTEXT | PF_SEEKS_PARTITION};
    tables[PF_SCALING_TABLE].flags = PF_ONLY_IN_METRICS;
    if (stored->threads) {
        tables[PF_SCALING_TOTAL_TABLE] = tables[PF_SCALING_TABLE];
        tables[PF_SCALING_TOTAL_TABLE].name = "scaling_total";
    }
    model->partitions.singular = "point";
    model->partitions.plural = "points";
    model->tables = tables;
    model->n_tables = with_models || stored->threads ? PF_CELLS_TABLE : PF_MODELS_TABLE;
    model->values = &tables[PF_CELLS_TABLE];
}

/* Fills `columns` with the column point, one column per parameter, and `rest`. Returns the number of columns. */
static size_t columns_from(struct pf_column *columns, const struct pf_study *study,
                           const struct pf_column *rest, size_t n_rest)
{
    unsigned parameters = pf_study_parameters(study);
    columns[0] = (struct pf_column){"point", PF_PARTITION, 0};
    for (unsigned i = 0; i < parameters; i++)
        columns[1 + i] = (struct pf_column){pf_study_parameter_name(study, i), PF_PARTITION_FIELD, i};
    memcpy(columns + 1 + parameters, rest, n_rest * sizeof *rest);
    return 1 + parameters + n_rest;
}

static void set_columns(struct pf_table *table, const struct pf_column *columns, size_t n)
{
    table->columns = columns;
    table->n_columns = n;
}

/* Sets the tables' columns. It is called for the head of a file, and again for the whole file, which may have more parameters. */
static void make_columns(struct pf_model *model, const struct pf_study *study)
{
    static const struct pf_column no_points[] = {{"context", PF_CONTEXT, 0}, {"name", PF_CONTEXT_NAME, 0}};
    struct pf_study_profile *stored = model->state;
    bool statistics_only = study->statistics_only;
    size_t n_scaling = study->published ? pf_study_points(study) + 2 : COUNT(no_points);
    stored->parameters = pf_study_parameters(study);
    size_t n_values = columns_from(stored->values, study, value_columns, COUNT(value_columns));
    if (stored->threads) {
        stored->values[n_values] = stored->values[n_values - 1]; /* the name stays last */
        stored->values[n_values++ - 1] = (struct pf_column){"thread", PF_PLAIN, 0};
    }
    size_t n_statistics =
        columns_from(stored->statistics, study, statistics_columns, COUNT(statistics_columns));
    memcpy(stored->models, model_columns, sizeof model_columns);
    if (statistics_only) { /* NAME is not a metric of the profile; NAME.mean is */
        stored->statistics[1 + stored->parameters + STATISTICS_METRIC].role = PF_PLAIN;
        stored->models[MODEL_METRIC].role = PF_PLAIN;
    }
    const struct pf_column *scaling_columns = study->published ? study->scaling_columns : no_points;
    set_columns(&stored->tables[PF_SCALING_TABLE], scaling_columns, n_scaling);
    set_columns(&stored->tables[PF_VALUES_TABLE], stored->values, n_values);
    set_columns(&stored->tables[PF_STATISTICS_TABLE], stored->statistics, n_statistics);
    if (stored->threads)
        set_columns(&stored->tables[PF_SCALING_TOTAL_TABLE], scaling_columns, n_scaling);
    else
        set_columns(&stored->tables[PF_MODELS_TABLE], stored->models, COUNT(model_columns));
    set_columns(&stored->tables[PF_CELLS_TABLE], statistics_only ? stored->values : stored->statistics,
                statistics_only ? n_values : n_statistics);
    set_columns(&stored->tables[PF_TOTALS_TABLE], stored->statistics, n_statistics);
    model->value_column = 1 + stored->parameters + (statistics_only ? VALUE : MEAN);
}

void pf_study_adopt(struct pf_model *model, struct pf_study *study, bool head)
{
    struct pf_study_profile *stored = model->state;
    if (head) {
        stored->head = study;
        pf_list_free(&study->values);
        pf_list_free(&study->figures);
        study->statistics_only = false; /* the rest of the file may have values */
    } else {
        stored->study = study;
        pf_study_publish(study, model);
    }
    make_columns(model, study);
}
