/* SPDX-License-Identifier: MIT */
#include "fs/runs/series.h"

#include <stdlib.h>

#include "formats/kit/sorter.h"

/* Layout of a sorter record: the name's number, the run and kind of the value, and the value's bits. The sorter sorts by name and
 * is stable, so the records of a name remain in the order in which they were added, which is the order of runs. */
enum { NAME, RUN, LOW, WORDS = LOW + 2, KEYS = NAME + 1 };
enum { REAL = 1, OTHER = 2, SORTS = 4 }; /* flags: the value is a double; the value belongs in `others` */

struct pf_run_series {
    unsigned runs, n; /* maximum number of runs; number of runs added */
    struct pf_strings *names;
    struct pf_sorter *sorter;
    uint32_t last;                     /* number of the name added last */
    struct pf_stack stack;             /* of the current call path */
    struct pf_optional_number *values; /* one per run, followed by `others`, one per run */
    double *plain;                     /* values[] as doubles, 0 if absent */
    uint64_t pending[WORDS];           /* the first record of the next name */
    bool finished, more;
};

/* Appends a name to a call path. A semicolon in the name becomes a colon, since semicolons join the names. */
static void add_path_component(struct pf_buf *path, const struct pf_cell *name)
{
    size_t at = path->size;
    pf_buf_add(path, name->text, name->size);
    for (; !path->failed && at < path->size; at++)
        if (path->data[at] == ';')
            path->data[at] = ':';
}

struct pf_run_series *pf_series_new(unsigned runs, uint64_t limit)
{
    struct pf_run_series *series = calloc(1, sizeof *series);
    if (!series)
        return NULL;
    *series = (struct pf_run_series){.runs = runs,
                                     .names = pf_strings_new(),
                                     .stack = {.add_name = add_path_component},
                                     .sorter = pf_sorter_new(WORDS, KEYS, limit),
                                     .values = calloc(2 * (size_t)runs, sizeof *series->values),
                                     .plain = calloc(runs, sizeof *series->plain)};
    if (series->names && series->sorter && series->values && series->plain)
        return series;
    pf_series_free(series);
    return NULL;
}

void pf_series_free(struct pf_run_series *series)
{
    if (!series)
        return;
    pf_strings_free(series->names);
    pf_sorter_free(series->sorter);
    pf_buf_free(&series->stack.text);
    free(series->values);
    free(series->plain);
    free(series);
}

int64_t pf_series_factor(const struct pf_metric *metric)
{
    int64_t ns = pf_unit_ns(metric->unit);
    return ns ? ns : 1;
}

const char *pf_series_unit(const char *unit)
{
    return pf_unit_ns(unit) ? "ns" : unit;
}

bool pf_comparable(const struct pf_metric *a, const struct pf_metric *b)
{
    return !strcmp(a->name, b->name) &&
           (!strcmp(a->unit, b->unit) || (pf_unit_ns(a->unit) && pf_unit_ns(b->unit)));
}

/* ---- optional numbers -------------------------------------------------------------------------- */

double pf_optional_double(const struct pf_optional_number *number)
{
    return number->present ? pf_number_double(&number->value, number->real) : 0;
}

struct pf_cell pf_optional_cell(const struct pf_optional_number *number)
{
    return number->present ? pf_number_cell(&number->value, number->real) : pf_absent();
}

static struct pf_optional_number real_number(double x)
{
    return (struct pf_optional_number){true, true, {.d = {x, 0}}};
}

static void make_number_real(struct pf_optional_number *number)
{
    if (!number->real)
        number->value = pf_number_real(number->value);
    number->real = true;
}

/* Adds x to *to, or subtracts x from *to. The result of integers is an exact integer if it fits 128 bits, otherwise a double. */
static void sum_numbers(struct pf_optional_number *to, struct pf_optional_number x, bool subtract)
{
    if (to->real || x.real) {
        make_number_real(to);
        make_number_real(&x);
    }
    bool fits = subtract ? pf_number_subtract(&to->value, &x.value, to->real)
                         : pf_number_add(&to->value, &x.value, to->real);
    if (!fits) {
        make_number_real(to);
        sum_numbers(to, x, subtract);
    }
    to->present = true;
}

/* ---- adding ------------------------------------------------------------------------------------- */

/* Returns the number of a name, or PF_NO_STRING with *error filled. Most runs have the names in the same order, so the successor
 * of the previous name is tried first. */
static uint32_t intern_series_name(struct pf_run_series *series, struct pf_cell name, struct pf_error *error)
{
    struct pf_cell next = pf_interned(series->names, series->last + 1);
    bool same = name.size && next.size == name.size && !memcmp(next.text, name.text, name.size);
    uint32_t id =
        same ? series->last + 1 : pf_intern(series->names, name.size ? name.text : "", name.size, error);
    series->last = id;
    return id;
}

static int add_series_value(struct pf_run_series *series, unsigned run, uint32_t name, union pf_number number,
                            bool real, bool other, int64_t factor, struct pf_error *error)
{
    uint64_t record[WORDS] = {[NAME] = name};
    number = pf_number_times(number, factor, &real);
    record[RUN] = (uint64_t)run * SORTS + (real ? REAL : 0U) + (other ? OTHER : 0U);
    if (real)
        memcpy(&record[LOW], &number.d.sum, sizeof number.d.sum);
    else
        pf_wide_split(number.i, &record[LOW]);
    return pf_sorter_add(series->sorter, record, error);
}

static int add_series_functions(struct pf_run_series *series, unsigned run, struct pf_aggregate *aggregate,
                                unsigned metric, struct pf_error *error)
{
    const struct pf_metric *about = &pf_aggregate_model(aggregate)->metrics[metric];
    bool inclusive = about->over_contexts == PF_OVER_ROOTS;
    struct pf_order *order =
        pf_adds_up(about) ? pf_order_get(aggregate, metric, PF_BY_FUNCTION, error) : NULL;
    int result = order || !pf_adds_up(about) ? 0 : -1;
    for (size_t i = 0; order && !result && i < order->n_functions; i++) {
        const struct pf_function *it = &order->functions[i];
        uint32_t name = intern_series_name(
            series, pf_interned(pf_aggregate_model(aggregate)->contexts->strings, it->name), error);
        result = name == PF_NO_STRING
                     ? -1
                     : add_series_value(series, run, name, it->exclusive, order->exclusive_real, inclusive,
                                        pf_series_factor(about), error);
        if (!result && !it->unknown)
            result = add_series_value(series, run, name, it->inclusive, order->inclusive_real, !inclusive,
                                      pf_series_factor(about), error);
    }
    if (order)
        pf_order_release(aggregate, order);
    return result;
}

static int add_contexts(struct pf_run_series *series, unsigned run, struct pf_aggregate *aggregate,
                        unsigned metric, struct pf_error *error)
{
    const struct pf_tree *tree = pf_aggregate_model(aggregate)->contexts;
    struct pf_stack *stack = &series->stack;
    bool real = pf_aggregate_is_real(aggregate, metric);
    int64_t factor = pf_series_factor(&pf_aggregate_model(aggregate)->metrics[metric]);
    union pf_number number;
    uint32_t *outer;
    int result = pf_find_outer(tree, &outer, error);
    stack->n = 0;
    for (uint32_t i = 0; !result && i < tree->count; i++) {
        if (!pf_context_number(aggregate, metric, i, &number))
            continue;
        pf_stack_set(stack, tree, outer, i);
        uint32_t name = stack->text.failed
                            ? PF_NO_STRING
                            : intern_series_name(series, pf_text(stack->text.data, stack->text.size), error);
        if (stack->text.failed)
            pf_fail_memory(error);
        result = name == PF_NO_STRING
                     ? -1
                     : add_series_value(series, run, name, number, real, false, factor, error);
    }
    free(outer);
    return result;
}

int pf_series_add(struct pf_run_series *series, unsigned run, struct pf_aggregate *aggregate, unsigned metric,
                  enum pf_series_by by, struct pf_error *error)
{
    series->n = run + 1 > series->n ? run + 1 : series->n;
    int result = by == PF_SERIES_FUNCTIONS ? add_series_functions(series, run, aggregate, metric, error)
                                           : add_contexts(series, run, aggregate, metric, error);
    return result ? result : pf_aggregate_check(aggregate, error);
}

/* ---- the step ----------------------------------------------------------------------------------- */

int pf_find_step(const double *values, unsigned n)
{
    long double sum = 0, squares = 0, left = 0, best = 0, step = 0;
    unsigned at = 0;
    if (n < 4)
        return -1;
    for (unsigned i = 0; i < n; i++)
        sum += values[i];
    long double mean = sum / n;
    for (unsigned i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    /* With the mean subtracted, the sums of both sides have the same magnitude, |left|. `gain` is how much a step at k reduces the
     * sum of squares. */
    for (unsigned k = 1; k < n; k++) {
        left += values[k - 1] - mean;
        long double gain = left * left / k + left * left / (n - k);
        if (gain <= best)
            continue;
        best = gain;
        at = k;
        step = fabsl(left / k + left / (n - k));
    }
    long double rest = squares > best ? squares - best : 0;
    bool counts =
        at && step * step > 9 * rest / (n - 2) && step >= fabsl(mean) / 100 && isfinite((double)step);
    return counts ? (int)at : -1;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Reads the next record into pending[]. */
static int read_next_record(struct pf_run_series *series, struct pf_error *error)
{
    const uint64_t *record;
    int more = pf_sorter_next(series->sorter, &record, error);
    series->more = more > 0;
    if (series->more)
        memcpy(series->pending, record, sizeof series->pending);
    return more < 0 ? -1 : 0;
}

static void take_pending(struct pf_run_series *series)
{
    const uint64_t *record = series->pending;
    uint64_t sort = record[RUN] % SORTS;
    struct pf_optional_number x = {.present = true, .real = sort & REAL};
    if (x.real)
        memcpy(&x.value.d.sum, &record[LOW], sizeof x.value.d.sum);
    else
        x.value.i = pf_wide_join(&record[LOW]);
    sum_numbers(&series->values[record[RUN] / SORTS + (sort & OTHER ? series->runs : 0)], x, false);
}

static bool is_less(struct pf_optional_number a, struct pf_optional_number b)
{
    if (a.real || b.real) {
        make_number_real(&a);
        make_number_real(&b);
    }
    return pf_number_compare(&a.value, &b.value, a.real) < 0;
}

static struct pf_optional_number mean_of_sum(struct pf_optional_number sum, unsigned n)
{
    if (sum.real || sum.value.i % n)
        return real_number(pf_optional_double(&sum) / n);
    sum.value.i /= n;
    return sum;
}

/* Computes the statistics over the runs that have a value. */
static void describe_change(const struct pf_run_series *series, struct pf_change *change)
{
    struct pf_optional_number sum = {.present = true};
    double squares = 0;
    for (unsigned run = 0; run < series->n; run++) {
        const struct pf_optional_number *x = &series->values[run];
        if (!x->present)
            continue;
        if (!change->runs++)
            change->min = change->max = *x;
        if (is_less(*x, change->min))
            change->min = *x;
        if (is_less(change->max, *x))
            change->max = *x;
        sum_numbers(&sum, *x, false);
    }
    if (!change->runs)
        return;
    change->mean = mean_of_sum(sum, change->runs);
    for (unsigned run = 0; run < series->n; run++) {
        double off = series->plain[run] - pf_optional_double(&change->mean);
        squares += series->values[run].present ? off * off : 0;
    }
    change->stddev = real_number(sqrt(squares / change->runs));
}

static void compare_ends(struct pf_change *change)
{
    change->change = change->last.present ? change->last : (struct pf_optional_number){.present = true};
    if (change->first.present)
        sum_numbers(&change->change, change->first, true);
    double first = fabs(pf_optional_double(&change->first));
    if (first > 0 && isfinite(first))
        change->percent = real_number(pf_optional_double(&change->change) / first * 100);
}

int pf_series_next(struct pf_run_series *series, struct pf_change *change, struct pf_error *error)
{
    if (!series->finished) {
        series->finished = true;
        if (pf_sorter_finish(series->sorter, error) || read_next_record(series, error))
            return -1;
    }
    if (!series->more)
        return 0;
    uint64_t name = series->pending[NAME];
    memset(series->values, 0, 2 * (size_t)series->runs * sizeof *series->values);
    while (series->more && series->pending[NAME] == name) {
        take_pending(series);
        if (read_next_record(series, error))
            return -1;
    }
    bool finite = true;
    for (unsigned run = 0; run < series->n; run++) {
        series->plain[run] = pf_optional_double(&series->values[run]);
        finite &= isfinite(series->plain[run]);
    }
    *change = (struct pf_change){.name = pf_interned(series->names, (uint32_t)name),
                                 .values = series->values,
                                 .others = series->values + series->runs,
                                 .first = series->values[0],
                                 .last = series->values[series->n - 1],
                                 .since = finite ? pf_find_step(series->plain, series->n) : -1};
    describe_change(series, change);
    if (change->runs)
        compare_ends(change);
    return 1;
}
