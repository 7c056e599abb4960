/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/driver_extra.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/table.h"

/* The pass that reads the table of values and sums the values. */

/* A number from the table. */
struct value {
    bool real;
    pf_int128 i;
    double d; /* set for integers, too */
};

static inline void add_value_number(union pf_number *sum, const struct value *value, bool real)
{
    if (real)
        pf_real_add(sum, value->d);
    else
        sum->i += value->i;
}

static int contexts_to_real(struct pf_arena *arena, struct pf_context_sums *contexts, struct pf_error *error)
{
    struct pf_context_sum it;
    for (size_t i = pf_context_next(contexts, 0); i < contexts->n; i = pf_context_next(contexts, i + 1)) {
        pf_context_load(contexts, i, false, &it);
        it.sum = pf_number_real(it.sum);
        it.low.d = (double)it.low.i;
        it.high.d = (double)it.high.i;
        if (pf_context_store(arena, contexts, i, true, &it, error))
            return -1;
    }
    return 0;
}

/* Converts an integer metric's sums to doubles. Must be called before adding a double, or an integer with which a sum could
 * overflow. */
static int make_sums_real(struct pf_aggregate *aggregate, struct pf_metric_sums *metric,
                          struct pf_error *error)
{
    size_t n = aggregate->n_partitions;
    for (size_t i = pf_sparse_next(&metric->partitions, 0, n); i < n;
         i = pf_sparse_next(&metric->partitions, i + 1, n)) {
        struct pf_partition_sum *sum = pf_sparse_find(&metric->partitions, sizeof *sum, i);
        if (!sum)
            return pf_arena_lost(error);
        sum->sum = pf_number_real(sum->sum);
    }
    metric->real = true;
    return contexts_to_real(&aggregate->arena, &metric->contexts, error) ||
                   contexts_to_real(&aggregate->arena, &metric->at, error)
               ? -1
               : 0;
}

/* Updates the minimum and maximum; must be called before the value is counted. */
static inline void add_extremes(struct pf_context_sum *sum, const struct value *value, bool real)
{
    bool first = !sum->count;
    if (real && (first || isnan(sum->low.d))) { /* low and high are both NaN or both numbers */
        sum->low.d = sum->high.d = value->d;
    } else if (real) { /* branchless: the outcome is unpredictable */
        sum->low.d = value->d < sum->low.d ? value->d : sum->low.d;
        sum->high.d = value->d > sum->high.d ? value->d : sum->high.d;
    } else {
        if (first || value->i < sum->low.i)
            sum->low.i = value->i;
        if (first || value->i > sum->high.i)
            sum->high.i = value->i;
    }
}

static inline double context_mean(const struct pf_context_sum *sum, bool real)
{
    return sum->count ? pf_number_double(&sum->sum, real) / (double)sum->count : 0;
}

/* Adds a value and updates the deviation by Welford's method. *mean must be the present mean, and is updated. The new
 * mean is computed from the sum, which is exact or compensated, so no rounding errors accumulate in the mean. */
static inline void add_to_context(struct pf_context_sum *sum, double *mean, const struct value *value,
                                  bool real)
{
    double before = sum->count ? *mean : value->d;
    add_extremes(sum, value, real);
    add_value_number(&sum->sum, value, real);
    sum->count++;
    *mean = context_mean(sum, real);
    if (sum->count > 1)
        sum->deviation += (value->d - before) * (value->d - *mean);
}

/* The sum of one metric in one context, while values are added to it. */
struct value_target {
    struct pf_aggregate *aggregate;
    struct pf_metric_sums *sums;
    uint32_t context;
    bool counts;                   /* over_contexts includes the context */
    bool is_at;                    /* PF_AT metric: shows the value of one partition */
    uint32_t at;                   /* index of that partition */
    struct pf_context_sum *sum;    /* the context's stored sum, or &new_sum */
    struct pf_context_sum new_sum; /* the sum of a context that has no stored sum yet */
    double mean;                   /* of *sum */
};

static void find_target_sum(struct value_target *target)
{
    const struct pf_metric_sums *sums = target->sums;
    target->sum = pf_context_record(&sums->contexts, target->context);
    if (!target->sum) {
        target->sum = &target->new_sum;
        if (!pf_context_load(&sums->contexts, target->context, sums->real, &target->new_sum))
            target->new_sum = (struct pf_context_sum){.count = 0};
    }
    target->mean = context_mean(target->sum, sums->real);
}

static void begin_target(struct value_target *target, struct pf_aggregate *aggregate, unsigned metric,
                         uint32_t context)
{
    const struct pf_model *model = aggregate->model;
    const struct pf_metric *about = &model->metrics[metric];
    target->aggregate = aggregate;
    target->sums = &aggregate->metrics[metric];
    target->context = context;
    target->counts = pf_includes_context(about->over_contexts, model->contexts->flags[context]);
    target->is_at = about->over_partitions == PF_AT;
    target->at = about->at;
    find_target_sum(target);
}

static int end_target(struct value_target *target, struct pf_error *error)
{
    struct pf_metric_sums *sums = target->sums;
    sums->negative |= sums->real ? target->sum->low.d < 0 : target->sum->low.i < 0;
    return target->sum == &target->new_sum && target->new_sum.count
               ? pf_context_store(&target->aggregate->arena, &sums->contexts, target->context, sums->real,
                                  &target->new_sum, error)
               : 0;
}

static int target_to_real(struct value_target *target, struct pf_error *error)
{
    if (end_target(target, error) || make_sums_real(target->aggregate, target->sums, error))
        return -1;
    find_target_sum(target);
    return 0;
}

/* Records the value that a PF_AT metric shows in a context. */
static int add_shown_value(struct value_target *target, const struct value *value, struct pf_error *error)
{
    struct pf_metric_sums *sums = target->sums;
    struct pf_context_sum at = {.count = 0};
    pf_context_load(&sums->at, target->context, sums->real, &at);
    double mean = context_mean(&at, sums->real);
    add_to_context(&at, &mean, value, sums->real);
    return pf_context_store(&target->aggregate->arena, &sums->at, target->context, sums->real, &at, error);
}

static inline int add_target_value(struct value_target *target, uint32_t p, const struct value *value,
                                   struct pf_error *error)
{
    struct pf_metric_sums *sums = target->sums;
    struct pf_partition_sum *partition = pf_sparse_find(&sums->partitions, sizeof *partition, p);
    if (!partition)
        partition = pf_sparse_at(&target->aggregate->arena, &sums->partitions,
                                 target->aggregate->n_partitions, sizeof *partition, p, error);
    if (!partition)
        return -1;
    sums->magnitude += fabs(value->d);
    if (!sums->real && (value->real || sums->magnitude > PF_INTEGERS_MAX) && target_to_real(target, error))
        return -1;
    if (target->is_at && target->at == p && add_shown_value(target, value, error))
        return -1;
    add_to_context(target->sum, &target->mean, value, sums->real);
    if (target->counts)
        add_value_number(&partition->sum, value, sums->real);
    partition->contexts++;
    return 0;
}

/* ---- the pass ----------------------------------------------------------------------------------- */

/* Column indexes of the cells table. */
struct value_columns {
    unsigned partition, context, metric, value;
};

static int find_value_columns(const struct pf_model *model, struct value_columns *columns,
                              struct pf_error *error)
{
    const struct pf_table *table = model->values;
    unsigned found = 0;
    *columns = (struct value_columns){.value = model->value_column};
    for (unsigned i = 0; i < table->n_columns; i++) {
        enum pf_role role = table->columns[i].role;
        unsigned *at = role == PF_PARTITION ? &columns->partition
                       : role == PF_CONTEXT ? &columns->context
                       : role == PF_METRIC  ? &columns->metric
                                            : NULL;
        if (at && !(found & 1u << role)) {
            *at = i;
            found |= 1u << role;
        }
    }
    if (found != (1u << PF_PARTITION | 1u << PF_CONTEXT | 1u << PF_METRIC) ||
        model->value_column >= table->n_columns)
        return pf_fail(error, EINVAL, "table %.60s has no partition, context, metric and value", table->name);
    return 0;
}

static bool read_index_cell(const struct pf_cell *cell, uint64_t limit, uint32_t *index)
{
    if (cell->type != PF_INT || cell->i < 0 || (uint64_t)cell->i >= limit)
        return false;
    *index = (uint32_t)cell->i;
    return true;
}

static bool read_value_cell(const struct pf_cell *cell, struct value *value)
{
    union pf_number number;
    bool there = pf_number_of_cell(cell, &number, &value->real);
    value->i = value->real ? 0 : number.i;
    value->d = value->real ? cell->d : pf_int_double(number.i);
    return there;
}

/* A row of the table. */
struct value_row {
    uint32_t metric, context, partition;
    struct value value;
};

/* Returns false for a row without a valid partition, context or metric, or without a number. No sum includes such a row. */
static bool read_value_row(const struct pf_aggregate *aggregate, const struct value_columns *columns,
                           const struct pf_cell *cells, struct value_row *row)
{
    return read_index_cell(&cells[columns->partition], aggregate->n_partitions, &row->partition) &&
           read_index_cell(&cells[columns->context], aggregate->n_contexts, &row->context) &&
           read_index_cell(&cells[columns->metric], aggregate->model->n_metrics, &row->metric) &&
           read_value_cell(&cells[columns->value], &row->value);
}

enum { BATCH = 64, BATCHES_A_STEP = 1024, VALUE_ROWS_A_STEP = 256 };

/* Reads up to BATCH rows of the table. Stores the valid ones (read_value_row) in rows[0 .. *n). Returns 1; 0 if the table has
 * ended; -1 with *error filled. */
static int read_batch(const struct pf_aggregate *aggregate, const struct value_columns *columns,
                      struct pf_cursor *cursor, struct pf_cell *cells, struct value_row rows[BATCH],
                      size_t *n, struct pf_error *error)
{
    const struct pf_cursor_ops *ops = pf_table_ops(cursor->table);
    int more = 1;
    *n = 0;
    for (int i = 0; i < BATCH && (more = ops->next(cursor, cells, error)) > 0; i++) {
        struct value_row *row = &rows[*n];
        if (!read_value_row(aggregate, columns, cells, row))
            continue;
        pf_context_prefetch(&aggregate->metrics[row->metric].contexts, row->context);
        ++*n;
    }
    return more;
}

/* Fast path for the first value of a context, which is nearly always the only one. Returns 1 if the value was stored, 0 if
 * add_target_value must add it, -1 with *error filled. */
static inline int add_first(struct pf_aggregate *aggregate, const struct value_row *row,
                            struct pf_error *error)
{
    const struct pf_model *model = aggregate->model;
    const struct pf_metric *about = &model->metrics[row->metric];
    struct pf_metric_sums *sums = &aggregate->metrics[row->metric];
    struct pf_partition_sum *partition = pf_sparse_find(&sums->partitions, sizeof *partition, row->partition);
    const struct value *value = &row->value;
    bool real = sums->real;
    double magnitude = sums->magnitude + fabs(value->d);
    if (!partition || value->real != real || (!real && magnitude > PF_INTEGERS_MAX) ||
        about->over_partitions == PF_AT)
        return 0;
    union pf_extreme bound = {.i = value->i};
    if (real)
        bound.d = value->d;
    int kept = pf_context_begin(&aggregate->arena, &sums->contexts, row->context, real, &bound, error);
    if (kept <= 0)
        return kept;
    sums->magnitude = magnitude;
    sums->negative |= real ? value->d < 0 : value->i < 0;
    if (pf_includes_context(about->over_contexts, model->contexts->flags[row->context]))
        add_value_number(&partition->sum, value, real);
    partition->contexts++;
    return 1;
}

static int add_context_row(struct pf_aggregate *aggregate, const struct value_row *row,
                           struct pf_error *error)
{
    int added = add_first(aggregate, row, error);
    if (added)
        return added < 0 ? -1 : 0;
    struct value_target target;
    begin_target(&target, aggregate, row->metric, row->context);
    return add_target_value(&target, row->partition, &row->value, error) ? -1 : end_target(&target, error);
}

static int step_cursor(const struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_cursor_ops *ops = pf_table_ops(cursor->table);
    return pf_pass_step(ops->progress ? (uint64_t)(1000 * ops->progress(cursor)) : 0, 1000, error);
}

/* Adds all rows of a cursor. Contexts come in random order, and their sums exceed the processor's cache. The sums of a whole
 * batch of rows are therefore prefetched, so that the cache misses overlap. */
static int add_cursor_rows(struct pf_aggregate *aggregate, const struct value_columns *columns,
                           struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct value_row rows[BATCH];
    size_t n;
    int more = 1;
    for (uint64_t i = 0; more > 0; i++) {
        if (i % BATCHES_A_STEP == 0 && step_cursor(cursor, error))
            return -1;
        more = read_batch(aggregate, columns, cursor, cells, rows, &n, error);
        for (size_t r = 0; r < n; r++)
            pf_context_prefetch_record(&aggregate->metrics[rows[r].metric].contexts, rows[r].context);
        for (size_t r = 0; r < n && more >= 0; r++)
            if (add_context_row(aggregate, &rows[r], error))
                return -1;
    }
    return more;
}

/* Adds a row's values from partition p on, up to the first value that needs add_target_value. Returns the partition of that value,
 * or the number of partitions if all values are added. This path is fast since the sums stay in registers. */
static uint32_t add_reals(struct value_target *target, const struct pf_value_row *row, uint32_t p)
{
    struct pf_metric_sums *sums = target->sums;
    struct pf_context_sum sum = *target->sum;
    double mean = target->mean, magnitude = sums->magnitude;
    uint32_t n = sums->real && !target->is_at ? (uint32_t)target->aggregate->n_partitions : p;
    for (; p < n; p++) {
        struct value value = {.real = true, .d = row->values[p].d};
        struct pf_partition_sum *partition = pf_sparse_find(&sums->partitions, sizeof *partition, p);
        if (row->values[p].type == PF_ABSENT)
            continue;
        if (row->values[p].type != PF_DOUBLE || !partition)
            break;
        magnitude += fabs(value.d);
        add_to_context(&sum, &mean, &value, true);
        if (target->counts)
            pf_real_add(&partition->sum, value.d);
        partition->contexts++;
    }
    *target->sum = sum;
    target->mean = mean;
    sums->magnitude = magnitude;
    return p;
}

static int add_value_row(struct pf_aggregate *aggregate, const struct pf_value_row *row,
                         struct pf_error *error)
{
    struct value value;
    struct value_target target;
    begin_target(&target, aggregate, row->metric, row->context);
    for (uint32_t p = 0; (p = add_reals(&target, row, p)) < aggregate->n_partitions; p++)
        if (read_value_cell(&row->values[p], &value) && add_target_value(&target, p, &value, error))
            return -1;
    return end_target(&target, error);
}

static int add_value_rows(struct pf_aggregate *aggregate, struct pf_cursor *cursor, struct pf_error *error)
{
    struct pf_value_row row;
    int more;
    uint64_t i = 0;
    while ((more = cursor->table->ops->next_values(cursor, &row, error)) > 0)
        if ((i++ % VALUE_ROWS_A_STEP == 0 && step_cursor(cursor, error)) ||
            add_value_row(aggregate, &row, error))
            return -1;
    return more;
}

/* Adds the values of all metrics (metric < 0) or of one metric; with `both`, also the values of its partner. */
static int add_table(struct pf_aggregate *aggregate, struct pf_model *model, int64_t metric, bool both,
                     struct pf_error *error)
{
    struct value_columns columns;
    if (find_value_columns(model, &columns, error))
        return -1;
    struct pf_cell *cells = calloc(model->values->n_columns, sizeof *cells);
    if (!cells)
        return pf_fail_memory(error);
    struct pf_cursor cursor = {.model = model, .table = model->values, .only = PF_UNRESTRICTED};
    cursor.only.metric = metric;
    cursor.partner = both;
    const struct pf_cursor_ops *ops = pf_table_ops(cursor.table);
    int result = ops->open(&cursor, error);
    if (!result)
        result = ops->next_values ? add_value_rows(aggregate, &cursor, error)
                                  : add_cursor_rows(aggregate, &columns, &cursor, cells, error);
    ops->close(&cursor);
    free(cells);
    return result;
}

int pf_aggregate_add(struct pf_aggregate *aggregate, struct pf_model *model, int64_t metric,
                     struct pf_error *error)
{
    bool both = metric >= 0 && (pf_table_ops(model->values)->next_values ||
                                model->values->flags & (PF_SKIMS_METRIC | PF_SEEKS_PARTNER));
    int partner = metric >= 0 && !both ? pf_partner_of(model, (unsigned)metric) : PF_NO_PARTNER;
    if (add_table(aggregate, model, metric, both, error))
        return -1;
    return partner >= 0 ? add_table(aggregate, model, partner, false, error) : 0;
}
