/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/extrap/stored.h"
#include "formats/kit/numbered.h"

/*
 * The table "scaling" of one metric: the cells of each series side by side, a column a point; "scaling_total" is the same over
 * its totals.
 */

/* The experiment's tables stand behind one another, each at the place that `user` tells. */
static const struct pf_table *cells_of(const struct pf_cursor *cursor)
{
    const struct pf_table *tables = cursor->table - cursor->table->user;
    return &tables[cursor->table->user == PF_SCALING_TABLE ? PF_CELLS_TABLE : PF_TOTALS_TABLE];
}

static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct pf_stored *stored = cursor->profile->state;
    numbers->end = stored->study->experiment->n_series;
    numbers->own = calloc(cells_of(cursor)->n_columns, sizeof(struct pf_cell));
    return numbers->own ? 0 : pf_fail_memory(error);
}

static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    const struct pf_stored *stored = cursor->profile->state;
    const struct pf_experiment *experiment = stored->study->experiment;
    const struct pf_series *series = &experiment->series[number];
    int64_t metric = experiment->statistics_only ? cursor->only.metric / PF_STATISTICS : cursor->only.metric;
    struct pf_cell *values = own;
    struct pf_cursor at = {.profile = cursor->profile, .table = cells_of(cursor), .only = cursor->only};
    bool wanted = cursor->only.context < 0 || series->context == cursor->only.context;
    if (!wanted || series->metric != metric || series->dropped)
        return 0;
    at.only.context = series->context;
    for (size_t i = 1; i + 1 < cursor->table->n_columns; i++)
        cells[i] = pf_absent();
    int got = at.table->ops->open(&at, error) ? -1 : 1, any = 0;
    while (got > 0 && (got = at.table->ops->next(&at, values, error)) > 0) {
        cells[1 + values[0].i] = values[cursor->profile->cells_value];
        any = 1;
    }
    at.table->ops->close(&at);
    cells[0] = pf_int(series->context);
    return got < 0 ? -1 : any;
}

const struct pf_numbered pf_experiment_scaling = {PF_NUMBERED, .begin = begin, .row = row};
