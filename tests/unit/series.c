/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "fs/runs/changes.h"
#include "fs/text/csv.h"
#include "tests/unit/fake_model.h"

/* The changes of one metric from run to run. */

/* Adds a run in which main calls the functions `f` and `g;h` with exclusive times f and g; if g is 0, `g;h` is not called. */
static void add_run(struct pf_run_series *series, unsigned run, const char *unit, int64_t f, int64_t g,
                    enum pf_series_by by)
{
    struct fake fake;
    struct pf_error error;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    fake.metrics[m].unit = unit;
    uint32_t top = fake_context(&fake, PF_NO_CONTEXT, "main", PF_ROOT | PF_FRAME);
    fake_value(&fake, 0, fake_context(&fake, top, "f", PF_FRAME), m, f);
    if (g)
        fake_value(&fake, 0, fake_context(&fake, top, "g;h", PF_FRAME), m, g);
    fake_finish(&fake);
    must(!pf_series_add(series, run, fake.aggregate, m, by, &error));
    fake_free(&fake);
}

static void add_cell(struct pf_buf *out, const struct pf_optional_number *figure)
{
    struct pf_cell cell = pf_optional_cell(figure);
    pf_csv_cell(out, &cell);
    pf_buf_char(out, ',');
}

/* Returns all rows of function_changes.csv. */
static char *text_of(struct pf_run_series *series)
{
    struct pf_error error;
    struct pf_buf out = {0};
    struct pf_change change;
    int more;
    while ((more = pf_series_next(series, &change, &error)) > 0) {
        const struct pf_optional_number *figures[] = {&change.first,   &change.last,  &change.change,
                                                      &change.percent, &change.min,   &change.mean,
                                                      &change.max,     &change.stddev};
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            add_cell(&out, figures[i]);
        pf_buf_printf(&out, "%u,%d,", change.runs, change.since);
        pf_csv_cell(&out, &change.name);
        pf_buf_char(&out, '\n');
    }
    must(!more);
    pf_buf_char(&out, '\0');
    must(!out.failed);
    return out.data;
}

static void series_are(struct pf_run_series *series, const char *want, const char *behaviour)
{
    char *have = text_of(series);
    is(have, want, behaviour);
    free(have);
    pf_series_free(series);
}

static void functions_over_three_runs(void)
{
    struct pf_run_series *series = pf_series_new(3, 1 << 20);
    add_run(series, 0, "ns", 10, 0, PF_SERIES_FUNCTIONS);
    add_run(series, 1, "ns", 20, 4, PF_SERIES_FUNCTIONS);
    add_run(series, 2, "ns", 15, 6, PF_SERIES_FUNCTIONS);
    series_are(
        series,
        "10,15,5,50,10,15,20,4.08248290463863,3,-1,f\n"
        "0,0,0,,0,0,0,0,3,-1,main\n"
        ",6,6,,4,5,6,1,2,-1,g;h\n",
        "a function has a row with its first and last run and its statistics over the runs that have it");
}

static void times_are_brought_to_ns(void)
{
    struct pf_run_series *series = pf_series_new(2, 1 << 20);
    add_run(series, 0, "us", 10, 0, PF_SERIES_CONTEXTS);
    add_run(series, 1, "ns", 9000, 5, PF_SERIES_CONTEXTS);
    series_are(series,
               "10000,9000,-1000,-10,9000,9500,10000,500,2,-1,main;f\n"
               ",5,5,,5,5,5,0,1,-1,main;g:h\n",
               "call paths of runs are matched by name, with times in nanoseconds");
}

static void a_step(void)
{
    static const double step[] = {10, 11, 9, 10, 20, 21, 19}, noise[] = {10, 14, 9, 12, 13, 8, 11},
                        flat[] = {5, 5, 5, 5}, late[] = {5, 5, 5, 5, 5, 6},
                        small[] = {1000, 1000, 1000, 1001}, few[] = {1, 1, 9};
    ok(pf_find_step(step, 7) == 4, "a step is where two levels fit the values best");
    ok(pf_find_step(noise, 7) == -1, "a step within the noise does not count");
    ok(pf_find_step(flat, 4) == -1, "constant values have no step");
    ok(pf_find_step(late, 6) == 5, "the last run may be the step");
    ok(pf_find_step(small, 4) == -1, "a step of less than one percent does not count");
    ok(pf_find_step(few, 3) == -1, "three runs are too few for a step");
}

static void what_changed_most(void)
{
    static const char *const runs[] = {"a", "b", "c", "d"};
    struct pf_run_series *series = pf_series_new(4, 1 << 20);
    struct pf_changes changes = {0};
    struct pf_change change;
    struct pf_error error;
    struct pf_buf out = {0};
    for (unsigned run = 0; run < 4; run++)
        add_run(series, run, "ns", run < 2 ? 100 : 200, run < 3 ? 7 : 1, PF_SERIES_FUNCTIONS);
    while (pf_series_next(series, &change, &error) > 0)
        must(!pf_changes_add(&changes, &change, &error));
    pf_changes_print(&changes, runs, &out);
    pf_buf_char(&out, '\0');
    is(out.data,
       "grew\n"
       "        change   change%         first          last  since  name\n"
       "          +100  +100.00%           100           200      c  f\n"
       "\n"
       "shrank\n"
       "        change   change%         first          last  since  name\n"
       "            -6   -85.71%             7             1      d  g;h\n",
       "functions that grew and functions that shrank are listed with the run of their step");
    pf_buf_free(&out);
    pf_changes_free(&changes);
    pf_series_free(series);
}

static void columns_stay_apart(void)
{
    static const char *const runs[] = {"a", "b\n"};
    struct pf_run_series *series = pf_series_new(2, 1 << 20);
    struct pf_changes changes = {0};
    struct pf_change change;
    struct pf_error error;
    struct pf_buf out = {0};
    add_run(series, 0, "ns", 1, 0, PF_SERIES_FUNCTIONS);
    add_run(series, 1, "ns", 123456789012345, 0, PF_SERIES_FUNCTIONS);
    while (pf_series_next(series, &change, &error) > 0)
        must(!pf_changes_add(&changes, &change, &error));
    for (size_t i = 0; i < changes.n_grew; i++)
        changes.grew[i].since = 1;
    pf_changes_print(&changes, runs, &out);
    pf_buf_char(&out, '\0');
    ok(strstr(out.data,
              "\n +123456789012344 +12345678901234400.00%             1 123456789012345    b\\n  f\n"),
       "columns are separated by a blank however long their numbers are, and a row is one line");
    pf_buf_free(&out);
    pf_changes_free(&changes);
    pf_series_free(series);
}

static void many_names(void)
{
    enum { RUNS = 40 };
    struct pf_run_series *series = pf_series_new(RUNS, 4096);
    for (unsigned run = 0; run < RUNS; run++)
        add_run(series, run, "ns", run, 1, PF_SERIES_FUNCTIONS);
    struct pf_change change;
    struct pf_error error;
    int names = 0, right = 0;
    while (pf_series_next(series, &change, &error) > 0) {
        names++;
        right += change.runs == RUNS;
    }
    ok(names == 3 && right == 3, "values of many runs are sorted in a temporary file");
    pf_series_free(series);
}

int main(void)
{
    functions_over_three_runs();
    times_are_brought_to_ns();
    a_step();
    what_changed_most();
    columns_stay_apart();
    many_names();
    return done();
}
