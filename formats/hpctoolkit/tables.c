/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "formats/hpctoolkit/identity.h"
#include "formats/hpctoolkit/metrics.h"
#include "formats/kit/numbered.h"

/* ---- modules, files, functions ----------------------------------------------------------------------- */

enum { MODULES, FILES, FUNCTIONS };

static const struct pf_column module_columns[] = {{"id", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column file_columns[] = {
    {"id", PF_PLAIN, 0}, {"copied", PF_PLAIN, 0}, {"name", PF_PLAIN, 0}};
static const struct pf_column function_columns[] = {{"id", PF_PLAIN, 0},     {"line", PF_PLAIN, 0},
                                                    {"offset", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
                                                    {"file", PF_PLAIN, 0},   {"module", PF_PLAIN, 0}};

static void set_function(const struct pf_strings *strings, const struct hpc_function *function,
                         struct pf_cell *cells)
{
    cells[0] = pf_uint(function->id);
    cells[1] = function->line ? pf_uint(function->line) : pf_absent();
    cells[2] = function->offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(function->offset);
    cells[3] = pf_interned(strings, function->name);
    cells[4] = pf_interned(strings, function->file);
    cells[5] = pf_interned(strings, function->module);
}

static int begin_list(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct hpc_model *model = &hpc_state(cursor->profile)->model;
    (void)error;
    numbers->end = cursor->table->user == FUNCTIONS ? model->functions.count
                   : cursor->table->user == FILES   ? model->files.count
                                                    : model->modules.count;
    return 0;
}

static int list_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                    struct pf_error *error)
{
    const struct hpc_model *model = &hpc_state(cursor->profile)->model;
    const struct pf_strings *strings = cursor->profile->contexts->strings;
    bool files = cursor->table->user == FILES;
    (void)own, (void)error;
    if (cursor->table->user == FUNCTIONS) {
        set_function(strings, &model->functions.items[number], cells);
        return 1;
    }
    const struct hpc_place *place = &(files ? &model->files : &model->modules)->items[number];
    cells[0] = pf_uint(place->id);
    if (files)
        cells[1] = pf_uint(place->copied);
    cells[1 + files] = pf_interned(strings, place->path);
    return 1;
}

static const struct pf_numbered list = {PF_NUMBERED, .begin = begin_list, .row = list_row};

/* ---- all of them --------------------------------------------------------------------------------------- */

#define COLUMNS(array) .columns = (array), .n_columns = sizeof(array) / sizeof *(array)

static const struct pf_table values_table = {
    .name = "values",
    COLUMNS(hpc_values_columns),
    .stage = PF_MODELLED,
    .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
    .ops = &hpc_values_cursor,
};
static const struct pf_table trace_table = {
    .name = "trace",
    COLUMNS(hpc_trace_columns),
    .stage = PF_MODELLED,
    .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
    .ops = &hpc_trace_cursor,
};
static const struct pf_table summary_table = {
    .name = "summary",
    COLUMNS(hpc_summary_columns),
    .stage = PF_MODELLED,
    .flags = PF_SEEKS_CONTEXT,
    .ops = &hpc_summary_cursor,
};
static const struct pf_table statistics_table = {
    .name = "statistics",
    COLUMNS(hpc_summary_columns),
    .stage = PF_MODELLED,
    .flags = PF_SEEKS_CONTEXT,
    .ops = &hpc_statistics_cursor,
};
static const struct pf_table summary_metrics_table = {
    .name = "summary_metrics",
    COLUMNS(hpc_summary_metric_columns),
    .stage = PF_OPENED,
};
static const struct pf_table lists[] = {
    [MODULES] =
        {.name = "modules", COLUMNS(module_columns), .stage = PF_MODELLED, .ops = &list.ops, .user = MODULES},
    [FILES] = {.name = "files", COLUMNS(file_columns), .stage = PF_MODELLED, .ops = &list.ops, .user = FILES},
    [FUNCTIONS] = {.name = "functions",
                   COLUMNS(function_columns),
                   .stage = PF_MODELLED,
                   .ops = &list.ops,
                   .user = FUNCTIONS},
};

enum { TABLES_MAX = 9 };

int hpc_set_tables(struct pf_profile *profile, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct pf_table *tables = state->tables = calloc(TABLES_MAX, sizeof *tables);
    size_t n = 0;
    if (!tables)
        return pf_fail_memory(error);
    tables[n] = values_table;
    /* The index from contexts to threads' blocks, where cct.db is of no use. */
    tables[n++].context_stage = state->profile_db ? PF_DERIVED : PF_OPENED;
    tables[n++] = trace_table;
    tables[n++] = summary_table;
    if (state->layout == HPC_OLD) {
        tables[0].ops = &hpc_old_values_cursor;
        tables[n - 1].ops = &hpc_old_summary_cursor;
    }
    tables[n] = summary_metrics_table;
    tables[n++].rows = &state->summary_metrics.rows;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        tables[n++] = lists[i];
    if (state->layout == HPC_XML4) /* alone has metrics that are not stored */
        tables[n++] = statistics_table;
    profile->tables = tables;
    profile->n_tables = n;
    profile->cells = &tables[0];
    profile->cells_value = HPC_VALUES_VALUE;
    return 0;
}
