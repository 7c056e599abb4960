/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "formats/kit/pass.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/csv.h"
#include "tests/unit/fake_model.h"

/* Tests the aggregates of a profile's values: totals, and statistics per context. */

static void is_cell(struct pf_cell cell, const char *want, const char *behaviour)
{
    struct pf_buf text = {0};
    pf_csv_cell(&text, &cell);
    pf_buf_char(&text, '\0');
    is(text.data, want, behaviour);
    pf_buf_free(&text);
}

static void total_is(struct fake *fake, unsigned metric, const char *want, const char *behaviour)
{
    pf_int128 wide;
    is_cell(pf_aggregate_total(fake->aggregate, metric, &wide), want, behaviour);
}

static void statistics_of_a_context(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    fake_init(&fake, 4);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t c = fake_context(&fake, PF_NO_CONTEXT, "main", 0);
    uint32_t none = fake_context(&fake, c, "idle", 0);
    fake_value(&fake, 0, c, m, 2);
    fake_value(&fake, 1, c, m, 4);
    fake_value(&fake, 3, c, m, -12);
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, m, c, &it);
    ok(it.count == 3, "statistics of a context count only partitions with a value");
    is_cell(it.sum, "-6", "the sum of a context includes negative values");
    is_cell(it.mean, "-2", "the mean of a context is over the partitions with a value");
    is_cell(it.min, "-12", "the minimum of a context is its smallest value");
    is_cell(it.max, "4", "the maximum of a context is its largest value");
    ok(fabs(it.stddev.d - sqrt(152.0 / 3)) < 1e-12, "the standard deviation is of the population");
    is_cell(it.imbalance, "-2",
            "the imbalance of a context is maximum by mean, over the threads with a value");
    pf_aggregate_context(fake.aggregate, m, none, &it);
    ok(it.count == 0 && it.sum.type == PF_ABSENT && it.mean.type == PF_ABSENT && it.min.type == PF_ABSENT &&
           it.max.type == PF_ABSENT && it.stddev.type == PF_ABSENT && it.imbalance.type == PF_ABSENT,
       "a context without a value has no statistics");
    fake_free(&fake);
}

static void a_single_value(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    unsigned zero = fake_metric(&fake, "zero", "int", PF_OVER_ALL, PF_SUM);
    uint32_t c = fake_context(&fake, PF_NO_CONTEXT, "main", 0);
    fake_real(&fake, 0, c, m, 0.1);
    fake_value(&fake, 0, c, zero, 0);
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, m, c, &it);
    is_cell(it.mean, "0.1", "the mean of one value is the value");
    is_cell(it.stddev, "0", "a single value has a standard deviation of 0");
    is_cell(it.imbalance, "1", "a single value has an imbalance of 1");
    pf_aggregate_context(fake.aggregate, zero, c, &it);
    is_cell(it.imbalance, "", "a zero mean has no imbalance");
    fake_free(&fake);
}

static void imbalance_is_of_all_threads_that_measure(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    fake_init(&fake, 20);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t all = fake_context(&fake, PF_NO_CONTEXT, "main", 0), one = fake_context(&fake, all, "write", 0);
    for (int thread = 0; thread < 16; thread++)
        fake_value(&fake, thread, all, m, 1);
    fake_value(&fake, 3, one, m, 5);
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, m, one, &it);
    is_cell(it.imbalance, "16", "a value in one of 16 threads has an imbalance of 16");
    fake.model.partitions.singular = "point";
    pf_aggregate_context(fake.aggregate, m, one, &it);
    is_cell(it.imbalance, "", "only threads have an imbalance");
    fake_free(&fake);
}

static void shares_above_100_percent(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned fine = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    unsigned wrapped = fake_metric(&fake, "L3", "int", PF_OVER_ALL, PF_SUM);
    unsigned backwards = fake_metric(&fake, "time (inc)", "int", PF_OVER_ROOTS, PF_SUM);
    unsigned partner = fake_metric(&fake, "L3 (inc)", "int", PF_OVER_ROOTS, PF_SUM);
    unsigned negative = fake_metric(&fake, "delta", "int", PF_OVER_ALL, PF_SUM);
    fake_partners(&fake, wrapped, partner);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", PF_ROOT | PF_FRAME);
    uint32_t b = fake_context(&fake, a, "b", PF_FRAME);
    fake_value(&fake, 0, a, fine, 1);
    fake_value(&fake, 0, b, fine, 9);
    fake_value(&fake, 0, a, wrapped, 500);
    fake_value(&fake, 0, b, wrapped, -400);
    fake_value(&fake, 0, a, partner, 100);
    fake_value(&fake, 0, a, backwards, 5);
    fake_value(&fake, 0, b, backwards, 6);
    fake_value(&fake, 0, a, negative, -10);
    fake_value(&fake, 0, b, negative, -20);
    fake_finish(&fake);
    ok(!pf_aggregate_exceeds_total(fake.aggregate, fine), "shares of measured totals are within 100 %%");
    ok(pf_aggregate_exceeds_total(fake.aggregate, wrapped),
       "shares of counters that wrapped may exceed the total");
    ok(!pf_aggregate_exceeds_total(fake.aggregate, partner), "shares above 100 %% are reported for one of two partners");
    ok(pf_aggregate_exceeds_total(fake.aggregate, backwards),
       "shares of clocks that ran backwards may exceed the total");
    ok(!pf_aggregate_exceeds_total(fake.aggregate, negative),
       "values that are all negative are shares of a negative total");
    fake_free(&fake);
}

static void what_is_no_number_has_no_deviation(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0), b = fake_context(&fake, a, "b", 0);
    fake_real(&fake, 0, a, m, NAN);
    fake_real(&fake, 0, b, m, INFINITY);
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, m, a, &it);
    is_cell(it.stddev, "nan", "the standard deviation with nan is nan");
    pf_aggregate_context(fake.aggregate, m, b, &it);
    is_cell(it.stddev, "nan", "the standard deviation with inf is nan");
    fake_free(&fake);
}

static void one_partition_speaks_for_all(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    fake_init(&fake, 3);
    unsigned m = fake_metric(&fake, "bytes", "int", PF_OVER_ALL, PF_AT);
    fake.metrics[m].at = 1;
    uint32_t c = fake_context(&fake, PF_NO_CONTEXT, "main", 0);
    uint32_t gone = fake_context(&fake, c, "gone", 0);
    fake_value(&fake, 0, c, m, 5);
    fake_value(&fake, 1, c, m, 7);
    fake_value(&fake, 0, gone, m, 90);
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, m, c, &it);
    is_cell(it.sum, "7", "the sum of a metric that shows one partition is that partition's value");
    is_cell(it.mean, "6",
            "the mean of a metric that shows one partition is over all partitions with a value");
    pf_aggregate_context(fake.aggregate, m, gone, &it);
    is_cell(it.sum, "0",
            "the sum of a metric that shows one partition is 0 for a context without a value there");
    total_is(&fake, m, "7", "the total of a metric that shows one partition is that partition's total");
    fake_free(&fake);
}

static void totals_follow_what_a_metric_says(void)
{
    struct fake fake;
    fake_init(&fake, 2);
    unsigned all = fake_metric(&fake, "all", "int", PF_OVER_ALL, PF_SUM);
    unsigned frames = fake_metric(&fake, "frames", "int", PF_OVER_FRAMES, PF_SUM);
    unsigned roots = fake_metric(&fake, "roots", "int", PF_OVER_ROOTS, PF_SUM);
    unsigned none = fake_metric(&fake, "none", "int", PF_OVER_NO_CONTEXTS, PF_SUM);
    unsigned low = fake_metric(&fake, "low", "int", PF_OVER_ALL, PF_MIN);
    unsigned high = fake_metric(&fake, "high", "double", PF_OVER_ALL, PF_MAX);
    unsigned apart = fake_metric(&fake, "apart", "int", PF_OVER_ALL, PF_OVER_NO_PARTITIONS);
    unsigned without = fake_metric(&fake, "without", "int", PF_OVER_ALL, PF_SUM);
    uint32_t root = fake_context(&fake, PF_NO_CONTEXT, "main", PF_ROOT | PF_FRAME);
    uint32_t loop = fake_context(&fake, root, "loop", 0);
    uint32_t leaf = fake_context(&fake, loop, "leaf", PF_FRAME);
    for (unsigned m = all; m <= apart; m++) {
        fake_value(&fake, 0, root, m, 1);
        fake_value(&fake, 0, loop, m, 10);
        fake_value(&fake, 0, leaf, m, 100);
        fake_value(&fake, 1, leaf, m, 1000);
    }
    fake_finish(&fake);
    total_is(&fake, all, "1111", "a total is the sum over all contexts");
    total_is(&fake, frames, "1101",
             "a total over frames counts functions only, whose values include their loops");
    total_is(&fake, roots, "1", "a total over roots counts roots only, whose values include the others");
    total_is(&fake, none, "", "a metric that is not additive over contexts has no total");
    total_is(&fake, low, "111", "a total of minima over partitions is added over contexts");
    total_is(&fake, high, "1011", "a total of maxima over partitions is added over contexts");
    total_is(&fake, apart, "", "a metric that is not additive over partitions has no total");
    total_is(&fake, without, "0", "the total of a metric without values is 0");
    struct pf_context_statistics it;
    pf_aggregate_context(fake.aggregate, low, leaf, &it);
    is_cell(it.sum, "100", "the sum of a context is the minimum over partitions if the metric says so");
    pf_aggregate_context(fake.aggregate, apart, leaf, &it);
    is_cell(it.sum, "", "a context has no sum if partitions are not additive");
    is_cell(it.mean, "550", "a context of a metric that is not additive over partitions has a mean");
    fake_free(&fake);
}

static void integers_stay_exact(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    const pf_int128 big = (pf_int128)1 << 100;
    fake_init(&fake, 3);
    unsigned m = fake_metric(&fake, "cycles", "int", PF_OVER_ALL, PF_SUM);
    unsigned low = fake_metric(&fake, "low", "int", PF_OVER_ALL, PF_MIN);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    uint32_t b = fake_context(&fake, PF_NO_CONTEXT, "b", 0);
    fake_value(&fake, 0, a, m, INT64_MAX);
    fake_value(&fake, 1, a, m, INT64_MAX);
    fake_cell(&fake, 2, a, m, pf_uint(UINT64_MAX));
    fake_cell(&fake, 0, b, m, pf_wide(&big));
    fake_value(&fake, 1, b, m, 1);
    fake_value(&fake, 0, a, low, 7);
    fake_cell(&fake, 1, a, low, pf_wide(&big));
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, m, a, &it);
    is_cell(it.sum, "36893488147419103229", "a sum of more than 64 bits is exact");
    is_cell(it.min, "9223372036854775807", "a minimum stays if wider values follow");
    is_cell(it.max, "18446744073709551615", "a maximum may exceed signed 64 bits");
    pf_aggregate_context(fake.aggregate, m, b, &it);
    is_cell(it.max, "1267650600228229401496703205376", "a maximum of more than 64 bits is exact");
    is_cell(it.sum, "1267650600228229401496703205377", "a sum of a wide and a narrow value is exact");
    total_is(&fake, m, "1267650600265122889644122308606", "a total of more than 64 bits is exact");
    total_is(&fake, low, "7", "a minimum of narrow and wide values is exact");
    fake_free(&fake);
}

static void integers_give_way_to_doubles(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    const pf_int128 huge = (pf_int128)1 << 126;
    fake_init(&fake, 3);
    unsigned mixed = fake_metric(&fake, "mixed", "int", PF_OVER_ALL, PF_SUM);
    unsigned full = fake_metric(&fake, "full", "int", PF_OVER_ALL, PF_SUM);
    unsigned spread = fake_metric(&fake, "spread", "int", PF_OVER_ALL, PF_SUM);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    uint32_t b = fake_context(&fake, PF_NO_CONTEXT, "b", 0);
    fake_value(&fake, 0, a, mixed, 3);
    fake_real(&fake, 1, a, mixed, 0.5);
    fake_value(&fake, 2, a, mixed, -1);
    fake_cell(&fake, 0, a, full, pf_wide(&huge));
    fake_cell(&fake, 1, a, full, pf_wide(&huge));
    fake_cell(&fake, 0, a, spread, pf_wide(&huge));
    fake_cell(&fake, 1, b, spread, pf_wide(&huge));
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, mixed, a, &it);
    is_cell(it.sum, "2.5", "integers and doubles of one metric are added");
    is_cell(it.max, "3", "the maximum of mixed values may be an earlier integer");
    is_cell(it.min, "-1", "the minimum of mixed values may be a later integer");
    pf_aggregate_context(fake.aggregate, full, a, &it);
    is_cell(it.sum, "1.7014118346046923e+38", "a sum of more than 128 bits becomes a double");
    is_cell(it.max, "8.507059173023462e+37", "the maximum becomes a double when the sum exceeds 128 bits");
    total_is(&fake, spread, "1.7014118346046923e+38", "a total of more than 128 bits becomes a double");
    pf_aggregate_context(fake.aggregate, spread, b, &it);
    is_cell(it.sum, "8.507059173023462e+37", "a sum becomes a double when the total exceeds 128 bits");
    fake_free(&fake);
}

static void doubles_are_compensated(void)
{
    struct fake fake;
    struct pf_context_statistics it;
    fake_init(&fake, 4);
    unsigned m = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    uint32_t b = fake_context(&fake, PF_NO_CONTEXT, "b", 0);
    const double cancelling[] = {1, 1e100, 1, -1e100};
    for (int i = 0; i < 4; i++)
        fake_real(&fake, i, a, m, cancelling[i]);
    fake_real(&fake, 0, b, m, NAN);
    fake_real(&fake, 1, b, m, 5);
    fake_real(&fake, 2, b, m, INFINITY);
    fake_finish(&fake);
    pf_aggregate_context(fake.aggregate, m, a, &it);
    is_cell(it.sum, "2", "compensated summation recovers small summands next to a large one");
    pf_aggregate_context(fake.aggregate, m, b, &it);
    is_cell(it.sum, "nan", "a sum with nan is nan");
    is_cell(it.min, "5", "nan is not the minimum");
    is_cell(it.max, "inf", "infinity is the maximum");
    is_cell(it.imbalance, "", "non-finite values have no imbalance");
    fake_free(&fake);
}

static void odd_rows_are_left_out(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t c = fake_context(&fake, PF_NO_CONTEXT, "main", 0);
    fake_value(&fake, 0, c, m, 5);
    fake_value(&fake, 1, c, m, 50);
    fake_value(&fake, -1, c, m, 50);
    fake_value(&fake, 0, 1, m, 50);
    fake_value(&fake, 0, c, 1, 50);
    fake_value(&fake, 0, INT64_MAX, m, 50);
    fake_cell(&fake, 0, c, m, pf_absent());
    fake_cell(&fake, 0, c, m, pf_string("50"));
    fake_finish(&fake);
    total_is(&fake, m, "5", "rows without partition, context, metric or number do not count");
    fake_free(&fake);
}

/* The sums of many contexts are the same if they are spilled to a temporary file. */
static void spilling_changes_nothing(void)
{
    struct fake fake[2];
    bool same = true;
    uint64_t filled = 0;
    for (int f = 0; f < 2; f++) {
        fake_init(&fake[f], 3);
        fake[f].options.cache = f ? 0 : UINT64_MAX;
        unsigned m = fake_metric(&fake[f], "time", "int", PF_OVER_ALL, PF_SUM);
        for (int c = 0; c < 10000; c++)
            fake_context(&fake[f], PF_NO_CONTEXT, "f", 0);
        for (int64_t i = 0; i < 9000; i++)
            fake_value(&fake[f], i % 3, i * 7919 % 10000, m, i * i);
        fake_finish(&fake[f]);
    }
    for (uint32_t c = 0; c < 10000; c++) {
        struct pf_context_statistics a, b;
        pf_aggregate_context(fake[0].aggregate, 0, c, &a);
        pf_aggregate_context(fake[1].aggregate, 0, c, &b);
        same = same && a.count == b.count && a.sum.type == b.sum.type && a.sum.i == b.sum.i;
        filled += a.count;
    }
    ok(same && filled == 9000, "sums in a temporary file equal sums in memory");
    total_is(&fake[1], 0, "242959501500", "the total of sums in a temporary file is equal");
    fake_free(&fake[0]);
    fake_free(&fake[1]);
}

/* Makes 10,000 contexts, each with a record of sums. The records take a little less than 1 MB. */
static void make_large(struct fake *fake)
{
    fake_init(fake, 3);
    fake->options.cache = 1 << 20;
    unsigned m = fake_metric(fake, "time", "int", PF_OVER_ALL, PF_SUM);
    for (int c = 0; c < 10000; c++)
        fake_context(fake, PF_NO_CONTEXT, "f", 0);
    for (int64_t i = 0; i < 20000; i++)
        fake_value(fake, i / 10000, i % 10000, m, 1);
    fake_finish(fake);
}

static void the_cache_bounds_all_together(void)
{
    struct fake first, second, small;
    pf_budget_was_exceeded();
    make_large(&first);
    ok(first.aggregate->arena.file < 0 && !pf_budget_was_exceeded(),
       "an aggregate that fits the cache is in memory");
    make_large(&second);
    ok(second.aggregate->arena.file >= 0 &&
           first.aggregate->arena.held + second.aggregate->arena.held <= 1 << 20,
       "a second aggregate that does not fit is in a file");
    ok(pf_budget_was_exceeded() && !pf_budget_was_exceeded(),
       "an aggregate that does not fit is reported once, so that others can be freed");
    fake_init(&small, 1);
    small.options.cache = 1 << 20;
    fake_value(&small, 0, fake_context(&small, PF_NO_CONTEXT, "f", 0),
               fake_metric(&small, "time", "int", PF_OVER_ALL, PF_SUM), 1);
    fake_finish(&small);
    ok(small.aggregate->arena.file < 0, "a small aggregate is always in memory");
    fake_free(&first);
    fake_free(&second);
    make_large(&second);
    ok(second.aggregate->arena.file < 0, "freeing an aggregate makes room for another one in memory");
    fake_free(&second);
    fake_free(&small);
}

/* Returns the sum of the first metric over all contexts that have a value. */
static int64_t all_of(const struct pf_aggregate *aggregate)
{
    int64_t sum = 0;
    for (uint32_t c = 0; c < 10000; c++) {
        struct pf_context_statistics it;
        pf_aggregate_context(aggregate, 0, c, &it);
        sum += it.sum.type == PF_INT ? it.sum.i : 0;
    }
    return sum;
}

/* Truncates the mapped file of sums. Reading it then raises SIGBUS, as after a read error of the disk. */
static void a_disk_that_loses_sums(void)
{
    struct fake fake;
    struct pf_error error = {0};
    fake_init(&fake, 3);
    fake.options.cache = 0;
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    for (int c = 0; c < 10000; c++)
        fake_context(&fake, PF_NO_CONTEXT, "f", 0);
    for (int64_t i = 0; i < 20000; i++)
        fake_value(&fake, i % 3, i * 7919 % 10000, m, 1);
    fake_finish(&fake);
    ok(all_of(fake.aggregate) == 20000 && !pf_aggregate_check(fake.aggregate, &error),
       "sums in a file are intact");
    must(!ftruncate(fake.aggregate->arena.file, 4096));
    ok(all_of(fake.aggregate) < 20000, "sums remain readable when the disk loses a part of the file");
    ok(pf_aggregate_check(fake.aggregate, &error) && error.code == EIO,
       "the loss of a part of the file is detected");
    must(!ftruncate(fake.aggregate->arena.file, 0));
    struct pf_order *functions = pf_order_get(fake.aggregate, m, PF_BY_FUNCTION, &error);
    ok(functions != NULL, "the loss is detected while a view is made");
    if (functions)
        pf_order_release(fake.aggregate, functions);
    pf_aggregate_free(fake.aggregate);
    fake.aggregate = pf_aggregate_new(&fake.model, &error);
    ok(fake.aggregate && all_of(fake.aggregate) == 20000 && !pf_aggregate_check(fake.aggregate, &error),
       "sums that are computed again are intact");
    fake_free(&fake);
}

static void no_room_to_spill(void)
{
    struct fake fake;
    struct pf_error error = {0};
    fake_init(&fake, 1);
    fake.options.cache = 0;
    fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    fake_value(&fake, 0, fake_context(&fake, PF_NO_CONTEXT, "main", 0), 0, 1);
    must(!pf_tree_finish(fake.model.contexts, &error));
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/proc/none", 1);
    fake.aggregate = pf_aggregate_new(&fake.model, &error);
    ok(!fake.aggregate && error.code == ENOENT, "a temporary file without a folder is an error");
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
    fake_free(&fake);
}

static void one_metric_alone(void)
{
    struct fake fake;
    struct pf_error error;
    fake_init(&fake, 2);
    unsigned time = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    unsigned calls = fake_metric(&fake, "calls", "int", PF_OVER_ALL, PF_SUM);
    unsigned whole = fake_metric(&fake, "time (inc)", "double", PF_OVER_ROOTS, PF_SUM);
    fake_partners(&fake, time, whole);
    fake.table.flags = PF_SEEKS_METRIC;
    uint32_t top = fake_context(&fake, PF_NO_CONTEXT, "main", PF_ROOT | PF_FRAME);
    uint32_t below = fake_context(&fake, top, "f", PF_FRAME);
    for (int thread = 0; thread < 2; thread++) {
        fake_real(&fake, thread, top, time, 0.1);
        fake_value(&fake, thread, top, calls, 1);
        fake_real(&fake, thread, top, whole, 0.4);
        fake_real(&fake, thread, below, time, 0.3);
        fake_real(&fake, thread, below, whole, 0.3);
    }
    fake_finish(&fake);
    struct pf_aggregate *all = fake.aggregate;
    struct pf_buf want = fake_text(&fake, time, PF_METRIC_FUNCTIONS);
    fake.aggregate = pf_aggregate_of(&fake.model, time, &error);
    must(fake.aggregate);
    struct pf_buf have = fake_text(&fake, time, PF_METRIC_FUNCTIONS);
    is(have.data, want.data, "aggregates of a single metric equal those made for all metrics");
    total_is(&fake, calls, "0", "other metrics of an aggregate of a single metric have no values");
    pf_buf_free(&want);
    pf_buf_free(&have);
    pf_aggregate_free(all);
    fake_free(&fake);
}

/* Returns the concatenated text of all views of the first `metrics` metrics. */
static struct pf_buf all_text(struct fake *fake, unsigned metrics)
{
    struct pf_buf all = {0};
    for (unsigned m = 0; m < metrics; m++)
        for (int view = PF_METRIC_CONTEXTS; view <= PF_METRIC_FUNCTIONS; view++) {
            struct pf_buf text = fake_text(fake, m, (enum pf_metric_view)view);
            pf_buf_str(&all, text.data);
            pf_buf_free(&text);
        }
    pf_buf_char(&all, '\0');
    return all;
}

static void kept_as_bytes(void)
{
    struct fake fake;
    struct pf_buf packed = {0};
    const pf_int128 huge = (pf_int128)1 << 100;
    fake_init(&fake, 2);
    unsigned whole = fake_metric(&fake, "calls", "int", PF_OVER_ALL, PF_SUM);
    unsigned part = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    unsigned peak = fake_metric(&fake, "peak", "int", PF_OVER_ALL, PF_AT);
    fake.metrics[peak].at = 1;
    uint32_t one = fake_context(&fake, PF_NO_CONTEXT, "one", 0);
    uint32_t several = fake_context(&fake, PF_NO_CONTEXT, "several", 0);
    uint32_t wide = fake_context(&fake, PF_NO_CONTEXT, "wide", 0);
    fake_context(&fake, PF_NO_CONTEXT, "none", 0);
    for (int thread = 0; thread < 2; thread++) {
        fake_value(&fake, thread, several, whole, 7 + thread);
        fake_real(&fake, thread, several, part, 0.1 + thread);
        fake_value(&fake, thread, several, peak, 10 * thread);
    }
    fake_value(&fake, 0, one, whole, -3);
    fake_real(&fake, 1, one, part, -0.0);
    fake_real(&fake, 1, wide, part, NAN);
    fake_value(&fake, 1, one, peak, 5);
    fake_cell(&fake, 0, wide, whole, pf_wide(&huge));
    fake_finish(&fake);
    struct pf_aggregate *made = fake.aggregate;
    struct pf_buf want = all_text(&fake, 3);
    ok(!pf_aggregate_pack(made, 100, &packed) && !packed.size, "an aggregate with too many bytes is not stored");
    ok(pf_aggregate_pack(made, 10000, &packed), "an aggregate within the limit is stored as bytes");
    fake.aggregate = pf_aggregate_unpack(&fake.model, packed.data, packed.size);
    must(fake.aggregate);
    struct pf_buf have = all_text(&fake, 3);
    is(have.data, want.data, "an aggregate restored from bytes is equal");
    unsigned sound = 0;
    for (size_t size = 0; size < packed.size; size++) {
        struct pf_aggregate *cut = pf_aggregate_unpack(&fake.model, packed.data, size);
        sound += cut != NULL;
        pf_aggregate_free(cut);
    }
    ok(sound == 0, "truncated bytes are refused");
    pf_buf_free(&packed);
    pf_buf_free(&want);
    pf_buf_free(&have);
    pf_aggregate_free(made);
    fake_free(&fake);
}

static void a_pass_that_nobody_waits_for(void)
{
    struct fake fake;
    struct pf_error error = {0};
    struct pf_pass pass = {.stop = true};
    fake_init(&fake, 1);
    must(!pf_tree_finish(fake.model.contexts, &error));
    struct pf_pass *before = pf_pass_begin(&pass);
    fake.aggregate = pf_aggregate_new(&fake.model, &error);
    ok(!fake.aggregate && error.code == ECANCELED, "an aggregate is not computed in a cancelled pass");
    fake.aggregate = pf_aggregate_new(&fake.model, &error);
    ok(!fake.aggregate && error.code == ECANCELED, "a second aggregate is not computed in a cancelled pass");
    pf_pass_end(before);
    fake_free(&fake);
}

static void an_empty_profile(void)
{
    struct fake fake;
    fake_init(&fake, 0);
    fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    fake_finish(&fake);
    total_is(&fake, 0, "0", "the total of a profile without contexts is 0");
    fake_free(&fake);
}

static void is_primary(const struct pf_metric *metrics, size_t n, const char *option, int want,
                       const char *behaviour)
{
    int have = pf_primary_metric(metrics, n, option);
    if (!ok(have == want, "%s", behaviour))
        printf("#   have: %d\n#   want: %d\n", have, want);
}

static void the_primary_metric(void)
{
    static const struct pf_metric metrics[] = {
        {.name = "calls", .unit = "", .scope = ""},
        {.name = "visits", .unit = "occ", .scope = "exclusive"},
        {.name = "cpu (inc)", .unit = "sec", .scope = "inclusive", .over_contexts = PF_OVER_ROOTS},
        {.name = "cpu", .unit = "sec", .scope = "function", .over_contexts = PF_OVER_FRAMES},
        {.name = "time", .unit = "ns", .scope = "exclusive"},
        {.name = "time", .unit = "ns", .scope = "exclusive", .empty = true},
    };
    is_primary(metrics, 5, NULL, 4, "the primary metric is `time`");
    is_primary(metrics, 5, "visits", 1, "the primary metric is the requested one");
    is_primary(metrics, 5, "unheard-of", 4,
               "the primary metric is `time` if the requested one does not exist");
    is_primary(metrics, 4, NULL, 3,
               "without `time`, the primary metric is the first exclusive metric with a time unit");
    is_primary(metrics, 3, NULL, 1, "without a time unit, the primary metric is the first exclusive metric");
    is_primary(metrics, 1, NULL, 0, "without exclusive metrics, the primary metric is the first metric");
    is_primary(metrics + 4, 2, NULL, 0, "a metric with values is primary rather than one without");
    is_primary(metrics + 5, 1, NULL, 0, "a metric without values can be primary if no metric has values");
    is_primary(metrics, 0, NULL, -1, "a profile without metrics has no primary metric");
}

int main(void)
{
    statistics_of_a_context();
    a_single_value();
    imbalance_is_of_all_threads_that_measure();
    shares_above_100_percent();
    what_is_no_number_has_no_deviation();
    one_partition_speaks_for_all();
    totals_follow_what_a_metric_says();
    integers_stay_exact();
    integers_give_way_to_doubles();
    doubles_are_compensated();
    odd_rows_are_left_out();
    spilling_changes_nothing();
    the_cache_bounds_all_together();
    a_disk_that_loses_sums();
    no_room_to_spill();
    one_metric_alone();
    kept_as_bytes();
    a_pass_that_nobody_waits_for();
    an_empty_profile();
    the_primary_metric();
    return done();
}
