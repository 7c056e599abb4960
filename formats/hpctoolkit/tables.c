/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/tables.h"

/* ---- modules, files, functions ----------------------------------------------------------------------- */

static const struct pf_column module_columns[] = {{"id", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column file_columns[] = {
    {"id", PF_PLAIN, 0}, {"copied", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column function_columns[] = {{"id", PF_PLAIN, 0},     {"line", PF_PLAIN, 0},
                                                    {"offset", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
                                                    {"file", PF_PLAIN, 0},   {"module", PF_PLAIN, 0}};

static int begin_list(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    (void)error;
    numbers->end = ((const struct hpc_items *)cursor->table->data)->count;
    return 0;
}

static int list_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    const struct hpc_items *items = cursor->table->data, *lists = hpc_state(cursor->model)->model.lists;
    const struct hpc_item *item = &items->items[number];
    const struct pf_strings *strings = cursor->model->contexts->strings;
    struct pf_cell name = pf_interned(strings, item->name);
    (void)own, (void)error;
    cells[0] = pf_uint(item->id);
    if (items == &lists[HPC_MODULES]) {
        cells[1] = name;
    } else if (items == &lists[HPC_FILES]) {
        cells[1] = pf_uint(item->copied);
        cells[2] = name;
    } else {
        cells[1] = item->line ? pf_uint(item->line) : pf_absent();
        cells[2] = item->offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(item->offset);
        cells[3] = name;
        cells[4] = pf_interned(strings, item->file);
        cells[5] = pf_interned(strings, item->module);
    }
    return 1;
}

static const struct pf_numbered list = {PF_NUMBERED, .begin = begin_list, .row = list_row};

/* ---- all tables ---------------------------------------------------------------------------------- */

static const struct pf_column values_columns[HPC_VALUE_COLUMNS] = {
    [HPC_VALUE_THREAD] = {"thread", PF_PARTITION, 0}, [HPC_VALUE_CONTEXT] = {"context", PF_CONTEXT, 0},
    [HPC_VALUE_METRIC] = {"metric", PF_METRIC, 0},    [HPC_VALUE_VALUE] = {"value", PF_PLAIN, 0},
    [HPC_VALUE_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static const struct pf_column trace_columns[HPC_TRACE_COLUMNS] = {
    [HPC_TRACE_THREAD] = {"thread", PF_PARTITION, 0},
    [HPC_TRACE_TIME] = {"time", PF_PLAIN, 0},
    [HPC_TRACE_CONTEXT] = {"context", PF_PLAIN, 0},
    [HPC_TRACE_NAME] = {"name", PF_PLAIN, 0},
};

static const struct pf_column summary_columns[HPC_SUM_COLUMNS] = {
    [HPC_SUM_CONTEXT] = {"context", PF_CONTEXT, 0},
    [HPC_SUM_METRIC] = {"metric", PF_PLAIN, 0},
    [HPC_SUM_VALUE] = {"value", PF_PLAIN, 0},
    [HPC_SUM_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

static const struct pf_column summary_metric_columns[HPC_SUMMARY_COLUMNS] = {
    [HPC_SUMMARY_ID] = {"id", PF_PLAIN, 0},
    [HPC_SUMMARY_NAME] = {"name", PF_PLAIN, 0},
    [HPC_SUMMARY_UNIT] = {"unit", PF_PLAIN, 0},
    [HPC_SUMMARY_SCOPE] = {"scope", PF_PLAIN, 0},
    [HPC_SUMMARY_FORMULA] = {"formula", PF_PLAIN, 0},
    [HPC_SUMMARY_COMBINE] = {"combine", PF_PLAIN, 0},
    [HPC_SUMMARY_DESCRIPTION] = {"description", PF_PLAIN, 0},
};

#define COLUMNS(array) .columns = (array), .n_columns = sizeof(array) / sizeof *(array), .stage = PF_MODELLED
#define BY_THREAD      (PF_BY_PARTITION | PF_SEEKS_PARTITION)

enum {
    VALUES_TABLE,
    TRACE_TABLE,
    SUMMARY_TABLE,
    SUMMARY_METRICS,
    LIST_TABLES,
    STATISTICS_TABLE = LIST_TABLES + HPC_LISTS,
    TABLES
};
static const struct pf_table all_tables[TABLES] = {
    [VALUES_TABLE] = {"values", COLUMNS(values_columns), .ops = &hpc_values.ops,
                      .flags = BY_THREAD | PF_SEEKS_CONTEXT | PF_SKIMS_METRIC},
    [TRACE_TABLE] = {"trace", COLUMNS(trace_columns), .ops = &hpc_trace.ops, .flags = BY_THREAD},
    [SUMMARY_TABLE] = {"summary", COLUMNS(summary_columns), .ops = &hpc_summary.ops,
                       .flags = PF_SEEKS_CONTEXT},
    [SUMMARY_METRICS] = {"summary_metrics", COLUMNS(summary_metric_columns)},
    [LIST_TABLES + HPC_MODULES] = {"modules", COLUMNS(module_columns), .ops = &list.ops},
    [LIST_TABLES + HPC_FILES] = {"files", COLUMNS(file_columns), .ops = &list.ops},
    [LIST_TABLES + HPC_FUNCTIONS] = {"functions", COLUMNS(function_columns), .ops = &list.ops},
    [STATISTICS_TABLE] = {"statistics", COLUMNS(summary_columns), .ops = &hpc_statistics.ops,
                          .flags = PF_SEEKS_CONTEXT},
};

void hpc_set_tables(struct pf_run *run)
{
    struct pf_model *model = run->model;
    struct hpc_state *state = hpc_state(model);
    struct pf_table *tables = state->tables = pf_run_memory(run, malloc(sizeof all_tables));
    memcpy(tables, all_tables, sizeof all_tables);
    tables[SUMMARY_METRICS].stage = PF_OPENED;
    tables[SUMMARY_METRICS].data = &state->summary_metrics.rows;
    for (int i = 0; i < HPC_LISTS; i++)
        tables[LIST_TABLES + i].data = &state->model.lists[i];
    /* Seeking a context uses the index, which the stage PF_DERIVED builds. */
    if (state->profile_db)
        tables[VALUES_TABLE].flags |= PF_DERIVED_BY_CONTEXT;
    if (state->layout == HPC_OLD)
        tables[SUMMARY_TABLE].ops = &hpc_old_summary.ops;
    model->tables = model->values = tables;
    model->n_tables = state->layout == HPC_XML4
                          ? TABLES
                          : STATISTICS_TABLE; /* HPC_XML4 is the only layout with statistics to compute */
    model->value_column = HPC_VALUE_VALUE;
    hpc_declare_threads(model);
    model->context_columns = hpc_context_columns;
    model->n_context_columns = HPC_CONTEXT_COLUMNS;
    model->context_cells = hpc_context_cells;
    model->metrics = state->metrics.items;
    model->n_metrics = state->metrics.count;
    model->time_unit = "ns";
    state->extra.src = "src";
    model->extra = &state->extra;
}
