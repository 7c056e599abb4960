/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"

/* groups.csv: what the partitions hold that share a value of a grouping column (PF_GROUP): those of a process, a rank, a node. */

/* The partitions with one value of the column: numbered as values are, in order of first appearance. */
struct group {
    union pf_number sum;
    uint64_t partitions;
};

struct groups {
    struct pf_aggregate *aggregate;
    unsigned metric;
    struct pf_strings *values; /* as CSV cells */
    struct group *all;
    size_t n, room;
};

/* True if the sums of partitions mean something: all, or one of them, are what the metric adds up to. */
static bool partitions_add_up(const struct pf_metric *metric)
{
    return metric->over_contexts != PF_OVER_NO_CONTEXTS &&
           (metric->over_partitions == PF_SUM || metric->over_partitions == PF_AT);
}

static int add_partition(struct groups *groups, size_t partition, const struct pf_cell *value,
                         struct pf_error *error)
{
    const struct pf_metric *metric = &groups->aggregate->model->metrics[groups->metric];
    const struct pf_metric_sums *sums = &groups->aggregate->metrics[groups->metric];
    const struct pf_partition_sum *sum = pf_plane_find(&sums->partitions, sizeof *sum, partition);
    struct pf_buf text = {0};
    pf_csv_cell(&text, value);
    uint32_t number =
        text.failed ? PF_NO_STRING : pf_intern(groups->values, text.size ? text.data : "", text.size, error);
    bool failed = text.failed;
    pf_buf_free(&text);
    if (failed)
        return pf_fail_memory(error);
    if (number == PF_NO_STRING ||
        pf_array_reach(&groups->all, &groups->room, number, sizeof *groups->all, error))
        return -1;
    groups->n = number + (size_t)1 > groups->n ? number + (size_t)1 : groups->n;
    groups->all[number].partitions++;
    if (sum && (metric->over_partitions != PF_AT || metric->at == partition))
        pf_number_add(&groups->all[number].sum, &sum->sum, sums->real);
    return 0;
}

static void add_group_rows(const struct groups *groups, const char *column, struct pf_buf *out)
{
    const struct pf_metric *metric = &groups->aggregate->model->metrics[groups->metric];
    bool real = groups->aggregate->metrics[groups->metric].real, adds = partitions_add_up(metric);
    union pf_number whole = {0};
    for (size_t g = 0; g < groups->n; g++)
        pf_number_add(&whole, &groups->all[g].sum, real);
    for (size_t g = 0; g < groups->n; g++) {
        const struct group *group = &groups->all[g];
        struct pf_cell value = pf_interned(groups->values, (uint32_t)g);
        struct pf_cell cells[] = {pf_string(column), pf_uint(group->partitions),
                                  adds ? pf_number_cell(&group->sum, real) : pf_absent(),
                                  adds ? pf_percent_cell(&group->sum, real, pf_number_double(&whole, real))
                                       : pf_absent()};
        pf_csv_row(out, cells, sizeof cells / sizeof *cells, ',');
        pf_buf_add(out, value.text, value.size);
        pf_buf_char(out, '\n');
    }
}

/* Appends the rows of column `c` of the partitions' fields; none if all its cells are empty. 0, or -1 with *error filled. */
static int add_column(struct pf_aggregate *aggregate, unsigned metric, size_t c, struct pf_buf *out,
                      struct pf_error *error)
{
    const struct pf_partitions *partitions = &aggregate->model->partitions;
    struct groups groups = {.aggregate = aggregate, .metric = metric, .values = pf_strings_new()};
    int result = groups.values ? 0 : pf_fail_memory(error);
    for (size_t p = 0; p < aggregate->n_partitions && !result; p++)
        result = add_partition(&groups, p, &pf_rows_at(partitions->fields, p)[c], error);
    if (!result && (groups.n > 1 || (groups.n == 1 && pf_interned(groups.values, 0).size)))
        add_group_rows(&groups, partitions->field_columns[c].name, out);
    pf_strings_free(groups.values);
    free(groups.all);
    return result;
}

int pf_groups_text(struct pf_aggregate *aggregate, unsigned metric, struct pf_buf *out,
                   struct pf_error *error)
{
    const struct pf_partitions *partitions = &aggregate->model->partitions;
    pf_buf_str(out, "column,partitions,sum,sum_percent,value\n");
    for (size_t c = 0; partitions->fields && c < partitions->n_fields; c++)
        if (partitions->field_columns[c].role == PF_GROUP && add_column(aggregate, metric, c, out, error))
            return -1;
    return 0;
}
