/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "fs/sums/aggregate_private.h"
#include "fs/sums/export.h"
#include "fs/text/table.h"

/* ---- adding up ---------------------------------------------------------------------------------- */

bool pf_counts(enum pf_over_contexts over, unsigned flags)
{
    return over == PF_OVER_ALL || (over == PF_OVER_FRAMES && flags & PF_FRAME) ||
           (over == PF_OVER_ROOTS && flags & PF_ROOT);
}

/* A value as it comes from the table. */
struct value {
    uint32_t metric, context, partition;
    bool real;
    pf_int128 i;
    double d; /* always */
};

/* An integer metric turns out to need doubles: what has been added so far becomes doubles. */
static void make_real(struct pf_aggregate *aggregate, struct pf_metric_sums *metric)
{
    size_t n = aggregate->n_contexts;
    for (size_t i = pf_plane_next(&metric->contexts, 0, n); i < n;
         i = pf_plane_next(&metric->contexts, i + 1, n)) {
        struct pf_context_sum *sum = pf_plane_find(&metric->contexts, sizeof *sum, i);
        if (!sum->count)
            continue;
        const struct pf_extremes *extremes =
            metric->wide ? pf_plane_find(&metric->extremes, sizeof *extremes, i) : NULL;
        sum->sum = pf_number_real(sum->sum);
        sum->low.d = extremes ? (double)extremes->low : (double)sum->low.i;
        sum->high.d = extremes ? (double)extremes->high : (double)sum->high.i;
    }
    n = aggregate->n_partitions;
    for (size_t i = pf_plane_next(&metric->partitions, 0, n); i < n;
         i = pf_plane_next(&metric->partitions, i + 1, n)) {
        struct pf_partition_sum *sum = pf_plane_find(&metric->partitions, sizeof *sum, i);
        sum->sum = pf_number_real(sum->sum);
    }
    n = aggregate->n_contexts;
    for (size_t i = pf_plane_next(&metric->at, 0, n); i < n; i = pf_plane_next(&metric->at, i + 1, n)) {
        union pf_number *at = pf_plane_find(&metric->at, sizeof *at, i);
        *at = pf_number_real(*at);
    }
    metric->real = true;
    metric->wide = false;
}

/* An integer of more than 64 bits turns up: smallest and largest values move to where they have room. */
static int make_wide(struct pf_aggregate *aggregate, struct pf_metric_sums *metric, struct pf_error *error)
{
    size_t n = aggregate->n_contexts;
    for (size_t i = pf_plane_next(&metric->contexts, 0, n); i < n;
         i = pf_plane_next(&metric->contexts, i + 1, n)) {
        const struct pf_context_sum *sum = pf_plane_find(&metric->contexts, sizeof *sum, i);
        if (!sum->count)
            continue;
        struct pf_extremes *extremes = pf_plane_at(&aggregate->arena, &metric->extremes,
                                                   aggregate->n_contexts, sizeof *extremes, i, error);
        if (!extremes)
            return -1;
        *extremes = (struct pf_extremes){sum->low.i, sum->high.i};
    }
    metric->wide = true;
    return 0;
}

/* Keeps the smallest and largest value; to be called before the value is counted. */
static int add_extremes(struct pf_aggregate *aggregate, struct pf_metric_sums *metric,
                        struct pf_context_sum *sum, const struct value *value, struct pf_error *error)
{
    bool first = !sum->count;
    if (metric->real) {
        /* nan is neither small nor large */
        if (first || value->d < sum->low.d || isnan(sum->low.d))
            sum->low.d = value->d;
        if (first || value->d > sum->high.d || isnan(sum->high.d))
            sum->high.d = value->d;
    } else if (metric->wide) {
        struct pf_extremes *extremes =
            pf_plane_at(&aggregate->arena, &metric->extremes, aggregate->n_contexts, sizeof *extremes,
                        value->context, error);
        if (!extremes)
            return -1;
        if (first || value->i < extremes->low)
            extremes->low = value->i;
        if (first || value->i > extremes->high)
            extremes->high = value->i;
    } else {
        if (first || value->i < sum->low.i)
            sum->low.i = (int64_t)value->i;
        if (first || value->i > sum->high.i)
            sum->high.i = (int64_t)value->i;
    }
    return 0;
}

/* Welford's update; the means before and after follow from the sums, which are exact or compensated. */
static void add_to_context(struct pf_context_sum *sum, const union pf_number *value, double x, bool real)
{
    double before = sum->count ? pf_number_double(&sum->sum, real) / (double)sum->count : x;
    pf_number_add(&sum->sum, value, real);
    if (sum->count++)
        sum->deviation += (x - before) * (x - pf_number_double(&sum->sum, real) / (double)sum->count);
}

/* Notes what a PF_AT metric shows in a context. */
static int add_at(struct pf_aggregate *aggregate, struct pf_metric_sums *metric, const struct value *value,
                  const union pf_number *number, struct pf_error *error)
{
    const struct pf_metric *about = &aggregate->profile->metrics[value->metric];
    if (about->over_partitions != PF_AT || about->at != value->partition)
        return 0;
    union pf_number *at =
        pf_plane_at(&aggregate->arena, &metric->at, aggregate->n_contexts, sizeof *at, value->context, error);
    if (!at)
        return -1;
    pf_number_add(at, number, metric->real);
    return 0;
}

static bool fits_64(pf_int128 i)
{
    return i >= INT64_MIN && i <= INT64_MAX;
}

static bool overflows(pf_int128 sum, pf_int128 x)
{
    return __builtin_add_overflow(sum, x, &sum);
}

static int add_value(struct pf_aggregate *aggregate, const struct value *value, struct pf_error *error)
{
    struct pf_metric_sums *metric = &aggregate->metrics[value->metric];
    struct pf_arena *arena = &aggregate->arena;
    struct pf_context_sum *context =
        pf_plane_at(arena, &metric->contexts, aggregate->n_contexts, sizeof *context, value->context, error);
    if (!context)
        return -1;
    struct pf_partition_sum *partition = pf_plane_at(arena, &metric->partitions, aggregate->n_partitions,
                                                     sizeof *partition, value->partition, error);
    if (!partition)
        return -1;
    if (!metric->real &&
        (value->real || overflows(context->sum.i, value->i) || overflows(partition->sum.i, value->i)))
        make_real(aggregate, metric);
    if (!metric->real && !metric->wide && !fits_64(value->i) && make_wide(aggregate, metric, error))
        return -1;
    if (add_extremes(aggregate, metric, context, value, error))
        return -1;
    union pf_number number = {.i = value->i};
    if (metric->real)
        number = (union pf_number){.d = {value->d, 0}};
    if (add_at(aggregate, metric, value, &number, error))
        return -1;
    add_to_context(context, &number, value->d, metric->real);
    const struct pf_profile *profile = aggregate->profile;
    if (pf_counts(profile->metrics[value->metric].over_contexts, profile->contexts->flags[value->context]))
        pf_number_add(&partition->sum, &number, metric->real);
    partition->contexts++;
    return 0;
}

/* ---- the pass ----------------------------------------------------------------------------------- */

/* Which columns of the cells table say what. */
struct columns {
    unsigned partition, context, metric, value;
};

static int find_columns(const struct pf_profile *profile, struct columns *columns, struct pf_error *error)
{
    const struct pf_table *table = profile->cells;
    unsigned found = 0;
    *columns = (struct columns){.value = profile->cells_value};
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
        profile->cells_value >= table->n_columns)
        return pf_fail(error, EINVAL, "table %.60s has no partition, context, metric and value", table->name);
    return 0;
}

static bool read_index(const struct pf_cell *cell, uint64_t limit, uint32_t *index)
{
    if (cell->type != PF_INT || cell->i < 0 || (uint64_t)cell->i >= limit)
        return false;
    *index = (uint32_t)cell->i;
    return true;
}

static bool read_number(const struct pf_cell *cell, struct value *value)
{
    value->real = cell->type == PF_DOUBLE;
    if (cell->type == PF_INT)
        value->i = cell->i;
    else if (cell->type == PF_UINT)
        value->i = cell->u;
    else if (cell->type == PF_WIDE)
        value->i = *cell->wide;
    else
        value->i = 0;
    value->d = value->real ? cell->d : pf_int_double(value->i);
    return cell->type != PF_ABSENT && cell->type != PF_TEXT;
}

/* Rows that belong to no partition, context or metric, or hold no number, have no place in a sum. */
static bool read_row(const struct pf_aggregate *aggregate, const struct columns *columns,
                     const struct pf_cell *cells, struct value *value)
{
    return read_index(&cells[columns->partition], aggregate->n_partitions, &value->partition) &&
           read_index(&cells[columns->context], aggregate->n_contexts, &value->context) &&
           read_index(&cells[columns->metric], aggregate->profile->n_metrics, &value->metric) &&
           read_number(&cells[columns->value], value);
}

/*
 * Values are added some rows after they were read, in the same order: where metrics and contexts are many, the sum of each has to
 * come from memory, and so these come while further rows are read.
 */
enum { ROWS_A_STEP = 64 * 1024, WAITING = 32 };

struct waiting {
    struct value values[WAITING];
    size_t n;
};

static void fetch(const struct pf_aggregate *aggregate, const struct value *value)
{
    const struct pf_plane *plane = &aggregate->metrics[value->metric].contexts;
    const char *sum = pf_plane_find(plane, sizeof(struct pf_context_sum), value->context);
    if (!sum)
        return;
    __builtin_prefetch(sum, 1);
    __builtin_prefetch(sum + sizeof(struct pf_context_sum) - 1, 1);
}

static int add_waiting(struct pf_aggregate *aggregate, struct waiting *waiting, struct pf_error *error)
{
    int result = 0;
    for (size_t i = 0; i < waiting->n && !result; i++)
        result = add_value(aggregate, &waiting->values[i], error);
    waiting->n = 0;
    return result;
}

static int add_rows(struct pf_aggregate *aggregate, const struct columns *columns, struct pf_cursor *cursor,
                    struct pf_cell *cells, struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_cursor_ops *ops = pf_table_ops(cursor->table);
    struct waiting waiting = {.n = 0};
    for (uint64_t i = 0;; i++) {
        if (i % ROWS_A_STEP == 0 && pf_pass_step(pass, i, 0, error))
            return -1;
        int more = ops->next(cursor, cells, error);
        if (more < 0 || (!more && add_waiting(aggregate, &waiting, error)))
            return -1;
        if (!more)
            return 0;
        struct value *value = &waiting.values[waiting.n];
        if (!read_row(aggregate, columns, cells, value))
            continue;
        fetch(aggregate, value);
        if (++waiting.n == WAITING && add_waiting(aggregate, &waiting, error))
            return -1;
    }
}

/* All values, or those of one metric. */
static int add_table(struct pf_aggregate *aggregate, struct pf_profile *profile, int64_t metric,
                     struct pf_pass *pass, struct pf_error *error)
{
    struct columns columns;
    if (find_columns(profile, &columns, error))
        return -1;
    struct pf_cell *cells = calloc(profile->cells->n_columns, sizeof *cells);
    if (!cells)
        return pf_fail_memory(error);
    struct pf_cursor cursor = {.profile = profile, .table = profile->cells, .only = PF_UNRESTRICTED};
    cursor.only.metric = metric;
    const struct pf_cursor_ops *ops = pf_table_ops(cursor.table);
    int result = ops->open(&cursor, error);
    if (!result)
        result = add_rows(aggregate, &columns, &cursor, cells, pass, error);
    ops->close(&cursor);
    free(cells);
    return result;
}

/* ---- totals ------------------------------------------------------------------------------------- */

bool pf_context_number(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                       union pf_number *number)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    const struct pf_context_sum *sum = pf_context_find(aggregate, metric, context);
    enum pf_over_partitions over = aggregate->profile->metrics[metric].over_partitions;
    if (!sum || over == PF_OVER_NO_PARTITIONS)
        return false;
    if (over == PF_SUM) {
        *number = sum->sum;
    } else if (over == PF_AT) {
        const union pf_number *at = pf_plane_find(&sums->at, sizeof *at, context);
        *number = at ? *at : (union pf_number){0};
    } else if (sums->real) {
        *number = (union pf_number){.d = {over == PF_MIN ? sum->low.d : sum->high.d, 0}};
    } else if (sums->wide) {
        const struct pf_extremes *extremes = pf_plane_find(&sums->extremes, sizeof *extremes, context);
        number->i = over == PF_MIN ? extremes->low : extremes->high;
    } else {
        number->i = over == PF_MIN ? sum->low.i : sum->high.i;
    }
    return true;
}

bool pf_adds_up(const struct pf_metric *metric)
{
    return metric->over_contexts != PF_OVER_NO_CONTEXTS && metric->over_partitions != PF_OVER_NO_PARTITIONS;
}

/* False if integers do not suffice. */
static bool add_total(struct pf_aggregate *aggregate, unsigned metric, bool real)
{
    struct pf_metric_sums *sums = &aggregate->metrics[metric];
    const struct pf_profile *profile = aggregate->profile;
    sums->total = (union pf_number){0};
    sums->total_real = real;
    size_t n = aggregate->n_contexts;
    for (size_t i = pf_plane_next(&sums->contexts, 0, n); i < n;
         i = pf_plane_next(&sums->contexts, i + 1, n)) {
        union pf_number number;
        if (!pf_counts(profile->metrics[metric].over_contexts, profile->contexts->flags[i]) ||
            !pf_context_number(aggregate, metric, (uint32_t)i, &number))
            continue;
        if (real && !sums->real)
            number = pf_number_real(number);
        if (!pf_number_add(&sums->total, &number, real))
            return false;
    }
    return true;
}

void pf_count_holders(struct pf_aggregate *aggregate)
{
    for (size_t m = 0; m < aggregate->profile->n_metrics; m++) {
        struct pf_metric_sums *sums = &aggregate->metrics[m];
        size_t n = aggregate->n_partitions;
        for (size_t i = pf_plane_next(&sums->partitions, 0, n); i < n;
             i = pf_plane_next(&sums->partitions, i + 1, n)) {
            const struct pf_partition_sum *sum = pf_plane_find(&sums->partitions, sizeof *sum, i);
            sums->holders += sum->contexts > 0;
        }
    }
}

static void add_totals(struct pf_aggregate *aggregate)
{
    pf_count_holders(aggregate);
    for (unsigned i = 0; i < aggregate->profile->n_metrics; i++)
        if (aggregate->metrics[i].contexts.stretches && !add_total(aggregate, i, aggregate->metrics[i].real))
            add_total(aggregate, i, true);
}

struct pf_cell pf_aggregate_total(const struct pf_aggregate *aggregate, unsigned metric, pf_int128 *wide)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    if (!pf_adds_up(&aggregate->profile->metrics[metric]))
        return pf_absent();
    struct pf_cell cell = pf_number_cell(&sums->total, sums->total_real);
    if (cell.type == PF_WIDE) {
        *wide = *cell.wide;
        cell.wide = wide;
    }
    return cell;
}

bool pf_aggregate_beyond(const struct pf_aggregate *aggregate, unsigned metric)
{
    int partner = aggregate->profile->metrics[metric].partner;
    bool told = partner >= 0 && (unsigned)partner < metric && aggregate->metrics[partner].beyond;
    return aggregate->metrics[metric].beyond && !told;
}

/* ---- one context -------------------------------------------------------------------------------- */

static struct pf_cell int_cell(pf_int128 value, pf_int128 *wide)
{
    *wide = value;
    return fits_64(value) ? pf_int((int64_t)value) : pf_wide(wide);
}

/* The mean of integers is told exactly where it is one. */
static struct pf_cell mean_cell(const struct pf_context_sum *sum, bool real, pf_int128 *wide)
{
    if (!real && sum->sum.i % (pf_int128)sum->count == 0)
        return int_cell(sum->sum.i / (pf_int128)sum->count, wide);
    return pf_double(pf_number_double(&sum->sum, real) / (double)sum->count);
}

/* How much more the busiest thread has than a fair share: the largest value of those that all threads make the mean of. */
static struct pf_cell imbalance_cell(const struct pf_aggregate *aggregate, unsigned metric,
                                     const struct pf_context_sum *sum, const struct pf_cell *high)
{
    const struct pf_profile *profile = aggregate->profile;
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    if (strcmp(profile->partitions.singular, "thread") != 0 ||
        profile->metrics[metric].over_partitions != PF_SUM)
        return pf_absent();
    double total = pf_number_double(&sum->sum, sums->real);
    double largest = sums->real ? high->d : high->type == PF_WIDE ? (double)*high->wide : (double)high->i;
    double imbalance = largest * (double)sums->holders / total;
    return total == 0 || !isfinite(imbalance) ? pf_absent() : pf_double(imbalance);
}

void pf_aggregate_context(const struct pf_aggregate *aggregate, unsigned metric, uint32_t context,
                          struct pf_statistics *out)
{
    const struct pf_metric_sums *sums = &aggregate->metrics[metric];
    const struct pf_context_sum *sum = pf_context_find(aggregate, metric, context);
    *out = (struct pf_statistics){0};
    if (!sum)
        return;
    union pf_number number;
    out->count = sum->count;
    if (pf_context_number(aggregate, metric, context, &number))
        out->sum =
            sums->real ? pf_double(pf_number_double(&number, true)) : int_cell(number.i, &out->wide[0]);
    out->mean = mean_cell(sum, sums->real, &out->wide[1]);
    if (sums->wide) {
        const struct pf_extremes *extremes = pf_plane_find(&sums->extremes, sizeof *extremes, context);
        out->min = int_cell(extremes->low, &out->wide[2]);
        out->max = int_cell(extremes->high, &out->wide[3]);
    } else {
        out->min = sums->real ? pf_double(sum->low.d) : pf_int(sum->low.i);
        out->max = sums->real ? pf_double(sum->high.d) : pf_int(sum->high.i);
    }
    double mean = pf_number_double(&sum->sum, sums->real) / (double)sum->count;
    out->stddev = pf_double(!isfinite(mean)      ? NAN
                            : sum->deviation < 0 ? 0
                                                 : sqrt(sum->deviation / (double)sum->count));
    out->imbalance = imbalance_cell(aggregate, metric, sum, &out->max);
}

/* ---- life --------------------------------------------------------------------------------------- */

struct pf_aggregate *pf_aggregate_empty(const struct pf_profile *profile, struct pf_error *error)
{
    struct pf_aggregate *aggregate = calloc(1, sizeof *aggregate);
    struct pf_metric_sums *metrics = calloc(profile->n_metrics + 1, sizeof *metrics);
    if (!aggregate || !metrics) {
        free(aggregate);
        free(metrics);
        pf_fail_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < profile->n_metrics; i++)
        metrics[i].real = metrics[i].total_real = !strcmp(profile->metrics[i].type, "double");
    aggregate->profile = profile;
    aggregate->metrics = metrics;
    aggregate->n_contexts = profile->contexts ? profile->contexts->count : 0;
    aggregate->n_partitions = profile->partitions.items ? pf_rows_count(profile->partitions.items) : 0;
    aggregate->arena.limit = profile->options ? profile->options->cache : UINT64_MAX;
    aggregate->arena.file = -1;
    pthread_mutex_init(&aggregate->lock, NULL);
    return aggregate;
}

void pf_aggregate_free(struct pf_aggregate *aggregate)
{
    if (!aggregate)
        return;
    pf_arranged_free_all(aggregate);
    pf_locations_free(aggregate->places);
    free(aggregate->metrics);
    pf_arena_free(&aggregate->arena);
    pthread_mutex_destroy(&aggregate->lock);
    free(aggregate);
}

/* A pass that a driver wants anew (EAGAIN) has learnt something; more often than this it is going in circles.
 */
enum { PASSES_MAX = 16 };

/* Those of all metrics, or of the given ones: indexes, of which those below 0 are none. */
static struct pf_aggregate *make(struct pf_profile *profile, const int *metrics, size_t n,
                                 struct pf_pass *pass, struct pf_error *error)
{
    for (int i = 0; i < PASSES_MAX; i++) {
        struct pf_aggregate *aggregate = pf_aggregate_empty(profile, error);
        if (!aggregate)
            return NULL;
        int result = profile->cells && !metrics ? add_table(aggregate, profile, -1, pass, error) : 0;
        for (size_t m = 0; profile->cells && m < n && !result; m++)
            if (metrics[m] >= 0)
                result = add_table(aggregate, profile, metrics[m], pass, error);
        if (!result) {
            add_totals(aggregate);
            if (!pf_find_beyond(aggregate, error))
                return aggregate;
        }
        pf_aggregate_free(aggregate);
        if (error->code != EAGAIN)
            return NULL;
    }
    pf_fail(error, EIO, "the values change with every pass");
    return NULL;
}

struct pf_aggregate *pf_aggregate_new(struct pf_profile *profile, struct pf_pass *pass,
                                      struct pf_error *error)
{
    return make(profile, NULL, 0, pass, error);
}

struct pf_aggregate *pf_aggregate_of(struct pf_profile *profile, unsigned metric, struct pf_pass *pass,
                                     struct pf_error *error)
{
    if (!profile->cells || !(profile->cells->flags & PF_SEEKS_METRIC))
        return make(profile, NULL, 0, pass, error);
    struct pf_twins twins = pf_twins_of(profile, metric);
    int other = twins.exclusive == (int)metric ? twins.inclusive : twins.exclusive;
    return make(profile, (int[]){(int)metric, other}, 2, pass, error);
}

/* ---- the primary metric ------------------------------------------------------------------------- */

static bool is_exclusive(const struct pf_metric *metric)
{
    if (!strcmp(metric->scope, "exclusive"))
        return true;
    /* A format's own word, such as "function": exclusive if the values of callers and callees add up. */
    return metric->scope[0] && strcmp(metric->scope, "inclusive") != 0 &&
           (metric->over_contexts == PF_OVER_ALL || metric->over_contexts == PF_OVER_FRAMES);
}

int64_t pf_unit_ns(const char *unit)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {{"ns", 1},
                 {"nsec", 1},
                 {"nanosecond", 1},
                 {"nanoseconds", 1},
                 {"us", 1000},
                 {"usec", 1000},
                 {"\xc2\xb5s", 1000},
                 {"\xce\xbcs", 1000},
                 {"microseconds", 1000},
                 {"ms", 1000000},
                 {"msec", 1000000},
                 {"milliseconds", 1000000},
                 {"s", 1000000000},
                 {"sec", 1000000000},
                 {"secs", 1000000000},
                 {"second", 1000000000},
                 {"seconds", 1000000000},
                 {"min", 60000000000},
                 {"h", 3600000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].unit))
            return units[i].ns;
    return 0;
}

/* Of two metrics that of the lower rank speaks for the profile, of equals the first. */
static int rank_of(const struct pf_metric *metric)
{
    enum { TIME, EXCLUSIVE_TIME, EXCLUSIVE, OTHER, EMPTY };
    int rank = !strcmp(metric->name, "time")                      ? TIME
               : is_exclusive(metric) && pf_unit_ns(metric->unit) ? EXCLUSIVE_TIME
               : is_exclusive(metric)                             ? EXCLUSIVE
                                                                  : OTHER;
    return metric->empty ? EMPTY + rank : rank;
}

int pf_primary_metric(const struct pf_metric *metrics, size_t n, const char *metric)
{
    int found = -1;
    for (size_t i = 0; i < n; i++) {
        if (metric && !strcmp(metrics[i].name, metric))
            return (int)i;
        if (found < 0 || rank_of(&metrics[i]) < rank_of(&metrics[found]))
            found = (int)i;
    }
    return found;
}
