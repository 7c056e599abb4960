/* SPDX-License-Identifier: MIT */
#include "fs/sums/groups.h"

#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/text/csv.h"

/* groups.csv: sums over the partitions that have the same value of a grouping column. */

/* True if sums over partitions are meaningful, that is, if the metric's total is the sum over all partitions or the value
 * of one partition. */
static bool partitions_add_up(const struct pf_metric *metric)
{
    return metric->over_contexts != PF_OVER_NO_CONTEXTS &&
           (metric->over_partitions == PF_SUM || metric->over_partitions == PF_AT);
}

/* Interns a value as text, with numbers in decimal digits. Returns the number of the group, or PF_NO_STRING with *error filled. */
static uint32_t intern_value(struct pf_strings *values, const struct pf_cell *value, struct pf_error *error)
{
    struct pf_buf digits = {0};
    if (value->type == PF_TEXT)
        return pf_intern(values, value->text, value->size, error);
    pf_csv_cell(&digits, value);
    uint32_t number = PF_NO_STRING;
    if (digits.failed)
        pf_fail_memory(error);
    else
        number = pf_intern(values, digits.size ? digits.data : "", digits.size, error);
    pf_buf_free(&digits);
    return number;
}

static int add_group_partition(struct pf_groups *groups, const struct pf_aggregate *aggregate,
                               unsigned metric, size_t partition, const struct pf_cell *value,
                               struct pf_error *error)
{
    const struct pf_metric *about = &aggregate->model->metrics[metric];
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    const struct pf_partition_sum *sum = pf_sparse_find(&sums->partitions, sizeof *sum, partition);
    uint32_t number = intern_value(groups->values, value, error);
    if (number == PF_NO_STRING ||
        pf_array_reach(&groups->all, &groups->room, number, sizeof *groups->all, error))
        return -1;
    groups->n = number + (size_t)1 > groups->n ? number + (size_t)1 : groups->n;
    groups->all[number].partitions++;
    groups->all[number].with_values += sum && sum->contexts > 0;
    if (sum && (about->over_partitions != PF_AT || about->at == partition))
        pf_number_add(&groups->all[number].sum, &sum->sum, sums->real);
    return 0;
}

int pf_groups_find(struct pf_groups *groups, const struct pf_aggregate *aggregate, unsigned metric,
                   size_t column, struct pf_error *error)
{
    const struct pf_rows *fields = aggregate->model->partitions.fields;
    *groups = (struct pf_groups){.values = pf_strings_new()};
    int result = groups->values ? 0 : pf_fail_memory(error);
    for (size_t p = 0; p < aggregate->n_partitions && !result; p++)
        result = add_group_partition(groups, aggregate, metric, p, &pf_rows_at(fields, p)[column], error);
    if (result)
        pf_groups_free(groups);
    return result;
}

void pf_groups_free(struct pf_groups *groups)
{
    pf_strings_free(groups->values);
    free(groups->all);
    *groups = (struct pf_groups){0};
}

/* Appends the rows of a column; no rows if all its cells are empty. */
static void add_group_rows(const struct pf_aggregate *aggregate, unsigned metric, const char *column,
                           const struct pf_groups *groups, struct pf_buf *out)
{
    bool real = aggregate->metrics[metric].real, adds = partitions_add_up(&aggregate->model->metrics[metric]);
    union pf_number whole = {0};
    if (groups->n == 1 && !pf_interned(groups->values, 0).size)
        return;
    for (size_t g = 0; g < groups->n; g++)
        pf_number_add(&whole, &groups->all[g].sum, real);
    for (size_t g = 0; g < groups->n; g++) {
        const struct pf_group *group = &groups->all[g];
        struct pf_cell cells[] = {pf_string(column), pf_uint(group->partitions),
                                  adds ? pf_number_cell(&group->sum, real) : pf_absent(),
                                  adds ? pf_percent_cell(&group->sum, real, pf_number_double(&whole, real))
                                       : pf_absent(),
                                  pf_interned(groups->values, (uint32_t)g)};
        pf_csv_row(out, cells, sizeof cells / sizeof *cells, '\n');
    }
}

int pf_groups_text(struct pf_aggregate *aggregate, unsigned metric, struct pf_buf *out,
                   struct pf_error *error)
{
    const struct pf_partitions *partitions = &aggregate->model->partitions;
    pf_buf_str(out, "column,partitions,sum,sum_percent,value\n");
    for (size_t c = 0; partitions->fields && c < partitions->n_fields; c++) {
        struct pf_groups groups;
        if (partitions->field_columns[c].role != PF_GROUP)
            continue;
        if (pf_groups_find(&groups, aggregate, metric, c, error))
            return -1;
        add_group_rows(aggregate, metric, partitions->field_columns[c].name, &groups, out);
        pf_groups_free(&groups);
    }
    return 0;
}
