/* SPDX-License-Identifier: MIT */
#include "formats/xray/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/text/csv.h"
#include "tests/unit/cpu_limit.h"
#include "tests/unit/gate.h"
#include "tests/unit/tap.h"

/*
 * Events are summed in four partitions: two have many contexts, one is empty, and one has a single context. The three measures are calls,
 * seconds (only in some contexts), and the number of events with seconds.
 */
enum { PARTITIONS = 4, CONTEXTS = 700, MEASURES = 3, METRICS = 4 };
enum { CALLS, SECONDS, TIMED };

static const struct pf_derivation derivations[METRICS] = {
    {.measure = CALLS, .present = CALLS},
    {.measure = SECONDS, .real = true, .present = TIMED},
    {.measure = CALLS, .present = CALLS, .scale = 3, .divisor = 7},
    {.measure = SECONDS, .real = true, .present = TIMED, .scale = 1000, .divisor = 1},
};

static const struct pf_column columns[XRAY_FOLD_COLUMNS] = {{.name = "thread", .role = PF_PARTITION},
                                                          {.name = "context", .role = PF_CONTEXT},
                                                          {.name = "metric", .role = PF_METRIC},
                                                          {.name = "value", .role = PF_PLAIN},
                                                          {.name = "name", .role = PF_CONTEXT_NAME}};
static const struct pf_table table = {
    .name = "values", .columns = columns, .n_columns = XRAY_FOLD_COLUMNS, .ops = &xray_fold_cursor.ops};

static bool is_touched(unsigned partition, uint32_t context)
{
    return partition == 1 ? false : partition == 3 ? context == 650 : context % 3 != partition / 2;
}

static void fold_event(struct xray_fold *fold, unsigned partition, uint32_t context)
{
    struct pf_error error;
    union xray_measure *record = xray_fold_at(fold, context, &error);
    record[CALLS].i += context % 5 == 4 ? 0 : partition + 1;
    if (context % 2) {
        record[SECONDS].d += 0.25 * context;
        record[TIMED].i++;
    }
}

/* Folds the events of all partitions. Contexts come in scattered order and have two events each. */
static struct xray_fold *make_fold(uint64_t limit)
{
    struct pf_error error;
    struct xray_fold *fold = xray_fold_new(MEASURES, derivations, METRICS, limit);
    for (unsigned p = 0; p < PARTITIONS; p++) {
        for (uint32_t i = 0; i < 2 * CONTEXTS; i++) {
            uint32_t context = i * 11 % CONTEXTS;
            if (is_touched(p, context))
                fold_event(fold, p, context);
        }
        if (xray_fold_end_partition(fold, &error))
            abort();
    }
    return fold;
}

/* ---- rows as text ------------------------------------------------------------------------------- */

static void add_row(struct pf_buf *out, const struct pf_cell *cells)
{
    for (int c = 0; c < XRAY_FOLD_NAME; c++) {
        pf_csv_cell(out, &cells[c]);
        pf_buf_char(out, c + 1 < XRAY_FOLD_NAME ? ',' : '\n');
    }
}

/* Appends an expected row. */
static void expect_row(struct pf_buf *out, int64_t p, int64_t c, int64_t m, struct pf_cell value)
{
    struct pf_cell cells[] = {pf_int(p), pf_int(c), pf_int(m), value};
    add_row(out, cells);
}

static bool wanted(int64_t only, int64_t value)
{
    return only < 0 || only == value;
}

/* Metrics 0 and 2 are partners; while with_partner is set, a cursor restricted to one of them also returns the other. */
static struct pf_metric metrics[METRICS] = {
    {.partner = 2}, {.partner = PF_NO_PARTNER}, {.partner = 0}, {.partner = PF_NO_PARTNER}};
static bool with_partner;

static bool wants_metric(int64_t only, int64_t metric)
{
    return wanted(only, metric) || (with_partner && only < METRICS && metrics[only].partner == metric);
}

static struct pf_buf expected(struct pf_restriction only)
{
    struct pf_buf out = {0};
    for (unsigned p = 0; p < PARTITIONS; p++)
        for (uint32_t c = 0; c < CONTEXTS && wanted(only.partition, p); c++) {
            if (!is_touched(p, c) || !wanted(only.context, c))
                continue;
            int64_t calls = c % 5 == 4 ? 0 : 2 * (p + 1);
            double seconds = 2 * 0.25 * c;
            if (calls && wants_metric(only.metric, 0))
                expect_row(&out, p, c, 0, pf_int(calls));
            if (c % 2 && wants_metric(only.metric, 1))
                expect_row(&out, p, c, 1, pf_double(seconds));
            if (calls && wants_metric(only.metric, 2))
                expect_row(&out, p, c, 2, pf_double((double)calls * 3 / 7));
            if (c % 2 && wants_metric(only.metric, 3))
                expect_row(&out, p, c, 3, pf_double(seconds * 1000));
        }
    return out;
}

/* Returns the rows that match a restriction. With `resumed`, each row is read by a new cursor that resumes at a saved position. */
static struct pf_buf rows_of(struct xray_fold *fold, struct pf_restriction only, bool resumed)
{
    struct xray_fold_state state = {fold};
    struct pf_model model = {.state = &state, .metrics = metrics, .n_metrics = METRICS};
    struct pf_error error;
    struct pf_buf out = {0};
    struct pf_cell cells[XRAY_FOLD_COLUMNS];
    unsigned char position[64];
    size_t size = 0;
    int more = 1;
    struct pf_cursor cursor = {.model = &model, .table = &table, .only = only, .partner = with_partner};
    while (more > 0) {
        if (!cursor.state && xray_fold_cursor.ops.open(&cursor, &error))
            abort();
        if (resumed && size && xray_fold_cursor.ops.restore(&cursor, position, size, &error))
            abort();
        more = xray_fold_cursor.ops.next(&cursor, cells, &error);
        if (more > 0)
            add_row(&out, cells);
        if (resumed) {
            size = xray_fold_cursor.ops.save(&cursor, position, sizeof position);
            xray_fold_cursor.ops.close(&cursor);
        }
    }
    if (!resumed)
        xray_fold_cursor.ops.close(&cursor);
    if (more < 0)
        pf_buf_str(&out, "error\n");
    return out;
}

static bool holds(struct xray_fold *fold, struct pf_restriction only, bool resumed)
{
    struct pf_buf have = rows_of(fold, only, resumed), want = expected(only);
    bool same = have.size == want.size && (want.size == 0 || !memcmp(have.data, want.data, want.size));
    pf_buf_free(&have);
    pf_buf_free(&want);
    return same;
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void check_fold(struct xray_fold *fold, const char *where)
{
    bool partitions = true, contexts = true, metric = true, partners = true, mixed = true;
    ok(holds(fold, PF_UNRESTRICTED, false),
       "%s: an unrestricted walk yields all rows by partition, context and metric", where);
    for (int p = 0; p < PARTITIONS; p++)
        partitions &= holds(fold, (struct pf_restriction){p, -1, -1, -1}, false);
    ok(partitions, "%s: a walk restricted to a partition yields its rows", where);
    for (int c = 0; c < CONTEXTS; c += 13)
        contexts &= holds(fold, (struct pf_restriction){-1, c, -1, -1}, false);
    ok(contexts && holds(fold, (struct pf_restriction){-1, 650, -1, -1}, false),
       "%s: a walk restricted to a context yields its rows", where);
    for (int m = 0; m < METRICS; m++)
        metric &= holds(fold, (struct pf_restriction){-1, -1, m, -1}, false);
    ok(metric, "%s: a walk restricted to a metric yields its rows", where);
    with_partner = true;
    for (int m = -1; m < METRICS; m++)
        partners &= holds(fold, (struct pf_restriction){-1, -1, m, -1}, false) &&
                    holds(fold, (struct pf_restriction){2, -1, m, -1}, true);
    with_partner = false;
    ok(partners, "%s: a walk restricted to a metric yields its partner's rows too if requested", where);
    for (int i = 0; i < 200; i++)
        mixed &= holds(fold, (struct pf_restriction){i % PARTITIONS, i * 7 % CONTEXTS, i % 5 - 1, -1}, i % 2);
    ok(mixed, "%s: a walk restricted on several axes yields the matching rows", where);
    ok(holds(fold, PF_UNRESTRICTED, true), "%s: a walk resumes at every row", where);
    ok(holds(fold, (struct pf_restriction){2, -1, -1, -1}, true) &&
           holds(fold, (struct pf_restriction){-1, 101, -1, -1}, true) &&
           holds(fold, (struct pf_restriction){-1, -1, 2, -1}, true),
       "%s: a restricted walk resumes at every row", where);
    ok(holds(fold, (struct pf_restriction){-1, 5 * CONTEXTS, -1, -1}, false) &&
           holds(fold, (struct pf_restriction){PARTITIONS + 3, -1, -1, -1}, false),
       "%s: a walk restricted to a context or partition that does not exist yields no rows", where);
}

/* A position saved by a walk over one partition can be restored in a walk over the whole table. */
static void test_positions_meet(struct xray_fold *fold)
{
    struct xray_fold_state state = {fold};
    struct pf_model model = {.state = &state};
    struct pf_error error;
    struct pf_cell cells[XRAY_FOLD_COLUMNS];
    unsigned char position[64];
    struct pf_cursor part = {.model = &model, .table = &table, .only = {2, -1, -1, -1}},
                     whole = {.model = &model, .table = &table, .only = PF_UNRESTRICTED};
    xray_fold_cursor.ops.open(&part, &error);
    for (int i = 0; i < 100; i++)
        xray_fold_cursor.ops.next(&part, cells, &error);
    size_t size = xray_fold_cursor.ops.save(&part, position, sizeof position);
    xray_fold_cursor.ops.open(&whole, &error);
    xray_fold_cursor.ops.restore(&whole, position, size, &error);
    struct pf_buf a = {0}, b = {0};
    while (xray_fold_cursor.ops.next(&part, cells, &error) > 0)
        add_row(&a, cells);
    for (int more = 1; more > 0 && b.size < a.size;) {
        more = xray_fold_cursor.ops.next(&whole, cells, &error);
        if (more > 0)
            add_row(&b, cells);
    }
    ok(a.size && a.size == b.size && !memcmp(a.data, b.data, a.size),
       "a position saved in a walk of one partition is valid in a walk of the whole table");
    xray_fold_cursor.ops.close(&part);
    xray_fold_cursor.ops.close(&whole);
    pf_buf_free(&a);
    pf_buf_free(&b);
}

/* Positions come from cache files. A damaged one must be refused or lead to a harmless walk. */
static void test_damaged_positions(struct xray_fold *fold)
{
    struct xray_fold_state state = {fold};
    struct pf_model model = {.state = &state};
    struct pf_error error;
    struct pf_cell cells[XRAY_FOLD_COLUMNS];
    unsigned char position[64];
    unsigned seed = 3;
    int refused = 0;
    struct pf_cursor cursor = {.model = &model, .table = &table, .only = PF_UNRESTRICTED};
    xray_fold_cursor.ops.open(&cursor, &error);
    size_t size = xray_fold_cursor.ops.save(&cursor, position, sizeof position);
    ok(xray_fold_cursor.ops.save(&cursor, NULL, 0) == size,
       "the size of a position is returned without a buffer");
    ok(xray_fold_cursor.ops.restore(&cursor, position, size - 1, &error) && error.code == EINVAL,
       "a position that is too short is refused");
    for (int i = 0; i < 3000; i++) {
        for (size_t b = 0; b < size; b++)
            position[b] = (unsigned char)(rand_r(&seed) % (i % 3 ? 256 : 2));
        if (xray_fold_cursor.ops.restore(&cursor, position, size, &error))
            refused++;
        else
            xray_fold_cursor.ops.next(&cursor, cells, &error);
    }
    ok(refused > 1500, "most damaged positions are refused, and the others do no harm");
    xray_fold_cursor.ops.close(&cursor);
}

static void test_many_contexts(void)
{
    struct pf_error error;
    struct xray_fold *fold = xray_fold_new(1, derivations, 1, 1 << 16);
    for (uint32_t c = 0; c < 300000; c += 2)
        xray_fold_at(fold, c, &error)[0].i = c + 1;
    xray_fold_end_partition(fold, &error);
    union xray_measure *again = xray_fold_at(fold, 4, &error);
    ok(again[0].i == 0, "records are zero at the start of the next partition");
    again[0].i = 7;
    xray_fold_end_partition(fold, &error);
    struct pf_buf rows = rows_of(fold, (struct pf_restriction){-1, 4, -1, -1}, false);
    pf_buf_char(&rows, 0);
    is(rows.data, "0,4,0,5\n1,4,0,7\n",
       "a context among many in a temporary file is found in every partition");
    pf_buf_free(&rows);
    xray_fold_free(fold);
}

/* A large partition with sums of all but every tenth context. They stay in memory until the next partition begins. */
static void test_large_partition(void)
{
    enum { MANY = 300000 };
    struct pf_error error;
    struct xray_fold *fold = xray_fold_new(MEASURES, derivations, METRICS, 1 << 16);
    xray_fold_at(fold, 1, &error)[CALLS].i = 9;
    xray_fold_end_partition(fold, &error);
    for (uint32_t c = MANY; c-- > 0;)
        if (c % 10)
            xray_fold_at(fold, c, &error)[CALLS].i = c;
    xray_fold_end_partition(fold, &error);
    xray_fold_end_partition(fold, &error);
    const struct pf_restriction looks[] = {PF_UNRESTRICTED,  {1, -1, 0, -1},        {-1, 1, -1, -1},
                                           {-1, 20, -1, -1}, {-1, MANY - 1, 0, -1}, {2, 5, -1, -1}};
    enum { LOOKS = sizeof looks / sizeof *looks };
    struct pf_buf before[LOOKS], after[LOOKS];
    for (int i = 0; i < LOOKS; i++)
        before[i] = rows_of(fold, looks[i], false);
    ok(before[1].size > MANY && !before[3].size && !before[5].size, "contexts without events have no rows");
    ok(!memcmp(before[2].data, "0,1,0,9\n", 8) && !memcmp(before[4].data, "1,299999,0,299999\n", 18),
       "one context among many is found");
    xray_fold_at(fold, MANY + 5, &error)[CALLS].i = 4;
    xray_fold_end_partition(fold, &error);
    bool same = true;
    for (int i = 0; i < LOOKS; i++) {
        after[i] = rows_of(fold, looks[i], false);
        same &= after[i].size >= before[i].size &&
                (!before[i].size || !memcmp(after[i].data, before[i].data, before[i].size));
        same &= i == 0 || after[i].size == before[i].size;
    }
    struct pf_buf last = rows_of(fold, (struct pf_restriction){3, -1, 0, -1}, false);
    ok(same, "a new partition changes no rows of the previous ones");
    ok(last.size == strlen("3,300005,0,4\n") && !memcmp(last.data, "3,300005,0,4\n", last.size),
       "a new partition has its own rows");
    pf_buf_free(&last);
    for (int i = 0; i < LOOKS; i++) {
        pf_buf_free(&before[i]);
        pf_buf_free(&after[i]);
    }
    xray_fold_free(fold);
}

/* Ends many partitions that touch a low and a high context each. */
static void add_short_partitions(void *fold)
{
    enum { SHORT_PARTITIONS = 20000, HIGH = 1 << 20 };
    struct pf_error error;
    for (int i = 0; i < SHORT_PARTITIONS; i++) {
        xray_fold_at(fold, 1, &error)[CALLS].i++;
        xray_fold_at(fold, HIGH, &error)[CALLS].i++;
        if (xray_fold_end_partition(fold, &error))
            abort();
    }
}

static void test_short_partitions(void)
{
    struct xray_fold *fold = xray_fold_new(1, derivations, 1, 1 << 24);
    ok(returns_within(5, add_short_partitions, fold),
       "a partition takes no time for contexts that it does not touch");
    xray_fold_free(fold);
}

int main(void)
{
    alarm(HANG_SECONDS);
    struct xray_fold *held = make_fold(1 << 24), *spilled = make_fold(4096);
    check_fold(held, "in memory");
    check_fold(spilled, "spilled");
    test_positions_meet(held);
    test_positions_meet(spilled);
    test_damaged_positions(held);
    test_damaged_positions(spilled);
    xray_fold_free(held);
    xray_fold_free(spilled);
    test_many_contexts();
    test_large_partition();
    test_short_partitions();
    return done();
}
