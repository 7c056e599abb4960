/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "formats/driver_extra.h"
#include "fs/sums/order.h"
#include "tests/unit/fake_model.h"

/* The files below metrics/, compared with the expected text for small profiles. */

/*
 * main calls solve and io; solve calls itself through step. Exclusive times in two threads:
 *
 *     main 10                        t0
 *       solve 5 + 5                  t0, t1
 *         step 20                    t0
 *           solve 40                 t0
 *       io 20                        t1
 */
#define FUNCTIONS_HEAD                                                                                       \
    "kind,contexts,exclusive,inclusive,exclusive_percent,inclusive_percent,unit,name,file\n"

enum { MAIN, SOLVE, STEP, INNER, IO };

static void add_calls(struct fake *fake)
{
    fake_init(fake, 3);
    fake_context(fake, PF_NO_CONTEXT, "main", PF_ROOT | PF_FRAME);
    fake_context(fake, MAIN, "solve", PF_FRAME);
    fake_context(fake, SOLVE, "step", PF_FRAME);
    fake_context(fake, STEP, "solve", PF_FRAME);
    fake_context(fake, MAIN, "io", PF_FRAME);
}

static void add_exclusive(struct fake *fake, unsigned metric)
{
    fake_value(fake, 0, MAIN, metric, 10);
    fake_value(fake, 0, SOLVE, metric, 5);
    fake_value(fake, 0, STEP, metric, 20);
    fake_value(fake, 0, INNER, metric, 40);
    fake_value(fake, 1, SOLVE, metric, 5);
    fake_value(fake, 1, IO, metric, 20);
}

static void add_inclusive(struct fake *fake, unsigned metric)
{
    fake_value(fake, 0, MAIN, metric, 75);
    fake_value(fake, 0, SOLVE, metric, 65);
    fake_value(fake, 0, STEP, metric, 60);
    fake_value(fake, 0, INNER, metric, 40);
    fake_value(fake, 1, MAIN, metric, 25);
    fake_value(fake, 1, SOLVE, metric, 5);
    fake_value(fake, 1, IO, metric, 20);
}

static const char functions_text[] = FUNCTIONS_HEAD "function,2,50,70,50,70,ns,solve,\n"
                                                    "function,1,20,60,20,60,ns,step,\n"
                                                    "function,1,20,20,20,20,ns,io,\n"
                                                    "function,1,10,100,10,100,ns,main,\n";

static const char callers_text[] = "contexts,exclusive,inclusive,caller,callee\n"
                                   "1,10,100,,main\n"
                                   "1,10,70,main,solve\n"
                                   "1,20,60,solve,step\n"
                                   "1,40,40,step,solve\n"
                                   "1,20,20,main,io\n";

static const char hot_text[] = "Showing nodes accounting for 100 ns, 100% of 100 ns total\n"
                               "      flat   flat%    sum%        cum    cum%  name\n"
                               "        50  50.00%  50.00%         70  70.00%  solve\n"
                               "        20  20.00%  70.00%         60  60.00%  step\n"
                               "        20  20.00%  90.00%         20  20.00%  io\n"
                               "        10  10.00%    100%        100    100%  main\n";

static const char tree_text[] = "100 ns total\n"
                                " inclusive    incl%  exclusive  context\n"
                                "       100     100%         10  main\n"
                                "        70   70.00%         10    solve\n"
                                "        60   60.00%         20      step\n"
                                "        40   40.00%         40        solve\n"
                                "        20   20.00%         20    io\n";

static const char folded_text[] = "main 10\n"
                                  "main;solve 10\n"
                                  "main;solve;step 20\n"
                                  "main;solve;step;solve 40\n"
                                  "main;io 20\n";

static void shows_all(struct fake *fake, unsigned metric, const char *what)
{
    char behaviour[200];
    static const struct {
        enum pf_metric_view view;
        const char *text, *name;
    } views[] = {{PF_METRIC_FUNCTIONS, functions_text, "functions.csv"},
                 {PF_METRIC_CALLERS, callers_text, "callers.csv"},
                 {PF_METRIC_HOT, hot_text, "hot.txt"},
                 {PF_METRIC_TREE, tree_text, "tree.txt"},
                 {PF_METRIC_FOLDED, folded_text, "stacks.folded"}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        snprintf(behaviour, sizeof behaviour, "%s: %s", views[i].name, what);
        shows(fake, metric, views[i].view, views[i].text, behaviour);
    }
}

static void exclusive_alone(void)
{
    struct fake fake;
    add_calls(&fake);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    add_exclusive(&fake, m);
    fake_finish(&fake);
    shows_all(&fake, m, "inclusive values are sums of subtrees, of outermost calls only");
    shows(&fake, m, PF_METRIC_CONTEXTS,
          "context,sum,mean,min,max,stddev,imbalance,count,name\n"
          "0,10,10,10,10,0,2,1,main\n"
          "1,10,5,5,5,0,1,2,solve\n"
          "2,20,20,20,20,0,2,1,step\n"
          "3,40,40,40,40,0,2,1,solve\n"
          "4,20,20,20,20,0,2,1,io\n",
          "contexts.csv: a row for each context that has a value");
    shows(&fake, m, PF_METRIC_PARTITIONS, "thread,sum,contexts\nt0,75,4\nt1,25,2\nt2,0,0\n",
          "threads.csv: a row for each thread, also for idle ones");
    fake_free(&fake);
}

static void inclusive_alone(void)
{
    struct fake fake;
    add_calls(&fake);
    unsigned m = fake_metric(&fake, "time (inc)", "int", PF_OVER_ROOTS, PF_SUM);
    add_inclusive(&fake, m);
    fake_finish(&fake);
    shows_all(&fake, m, "exclusive values are inclusive ones less those of the callees");
    shows(&fake, m, PF_METRIC_PARTITIONS, "thread,sum,contexts\nt0,75,4\nt1,25,3\nt2,0,0\n",
          "threads.csv: an inclusive metric adds up over the roots");
    fake_free(&fake);
}

static void partners(void)
{
    struct fake fake;
    add_calls(&fake);
    unsigned exclusive = fake_metric(&fake, "time", "int", PF_OVER_FRAMES, PF_SUM);
    unsigned inclusive = fake_metric(&fake, "time (inc)", "int", PF_OVER_ROOTS, PF_SUM);
    fake_partners(&fake, exclusive, inclusive);
    add_exclusive(&fake, exclusive);
    add_inclusive(&fake, inclusive);
    fake_finish(&fake);
    shows_all(&fake, exclusive, "an exclusive metric's partner has the inclusive values");
    shows_all(&fake, inclusive, "an inclusive metric's partner has the exclusive values");
    fake_free(&fake);
}

/* A partner metric that cannot be summed over contexts is ignored. */
static void useless_partners(void)
{
    struct fake fake;
    add_calls(&fake);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    unsigned other = fake_metric(&fake, "other", "int", PF_OVER_NO_CONTEXTS, PF_SUM);
    fake_partners(&fake, m, other);
    add_exclusive(&fake, m);
    fake_value(&fake, 0, MAIN, other, 999);
    fake_finish(&fake);
    shows_all(&fake, m, "a partner that cannot be summed is ignored");
    fake_free(&fake);
}

/* Exclusive values are as HPCToolkit defines them. The value of a function includes the values of its loops. */
static void frames_alone_count(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_FRAMES, PF_SUM);
    uint32_t top = fake_context(&fake, PF_NO_CONTEXT, "main", PF_FRAME);
    uint32_t loop = fake_context(&fake, top, "loop", 0);
    uint32_t callee = fake_context(&fake, loop, "f", PF_FRAME);
    fake_value(&fake, 0, top, m, 10);
    fake_value(&fake, 0, loop, m, 8);
    fake_value(&fake, 0, callee, m, 2);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,1,10,12,83.33333333333333,100,ns,main,\n"
                         "function,1,2,2,16.666666666666668,16.666666666666668,ns,f,\n"
                         "function,1,0,2,0,16.666666666666668,ns,loop,\n",
          "functions.csv: a loop's value is not added to its function's");
    shows(&fake, m, PF_METRIC_FOLDED, "main 10\nmain;loop;f 2\n", "stacks.folded: a loop's value is not added to its function's");
    shows(&fake, m, PF_METRIC_PARTITIONS, "thread,sum,contexts\nt0,12,3\n", "threads.csv: a loop's value is not added to its function's");
    fake_free(&fake);
}

/* Inclusive values with a gap: a caller without a value, between a root and a leaf with values. */
static void gaps_in_inclusive_values(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time (inc)", "int", PF_OVER_ROOTS, PF_SUM);
    uint32_t above = fake_context(&fake, PF_NO_CONTEXT, "above", 0);
    uint32_t root = fake_context(&fake, above, "root", PF_ROOT);
    uint32_t gap = fake_context(&fake, root, "gap", 0);
    uint32_t leaf = fake_context(&fake, gap, "leaf", 0);
    fake_value(&fake, 0, above, m, 1000);
    fake_value(&fake, 0, root, m, 10);
    fake_value(&fake, 0, leaf, m, 4);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FOLDED, "above;root 6\nabove;root;gap;leaf 4\n",
          "stacks.folded: all stacks add up to the roots' inclusive values");
    fake_free(&fake);
}

/* Contexts outside the tree have no caller. Only their own values count; their inclusive values are ignored. */
static void places_outside_the_tree(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    unsigned inclusive = fake_metric(&fake, "time (inc)", "int", PF_OVER_ROOTS, PF_SUM);
    fake_partners(&fake, m, inclusive);
    uint32_t above = fake_context(&fake, PF_NO_CONTEXT, "above", 0);
    uint32_t root = fake_context(&fake, above, "root", PF_ROOT | PF_FRAME);
    uint32_t outside[] = {fake_context(&fake, PF_NO_CONTEXT, "outside", 0),
                          fake_context(&fake, PF_NO_CONTEXT, "outside", 0)};
    fake_value(&fake, 0, above, inclusive, 30);
    fake_value(&fake, 0, root, inclusive, 30);
    fake_value(&fake, 0, root, m, 10);
    for (int i = 0; i < 2; i++) {
        fake_value(&fake, 0, outside[i], m, 10);
        fake_value(&fake, 0, outside[i], inclusive, 500);
    }
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,2,20,20,66.66666666666667,66.66666666666667,ns,outside,\n"
                         "function,1,10,30,33.333333333333336,100,ns,root,\n"
                         "function,1,0,30,0,100,ns,above,\n",
          "functions.csv: a context outside the tree has only its own value");
    fake_free(&fake);
}

static void what_counts_nowhere_is_not_shown(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_FRAMES, PF_SUM);
    unsigned points = fake_metric(&fake, "point", "int", PF_OVER_ALL, PF_SUM);
    uint32_t root = fake_context(&fake, PF_NO_CONTEXT, "root", PF_ROOT | PF_FRAME);
    uint32_t unlisted = fake_context(&fake, PF_NO_CONTEXT, "unlisted", 0);
    fake_value(&fake, 0, root, m, 10);
    fake_value(&fake, 0, unlisted, m, 10);
    fake_value(&fake, 0, unlisted, points, 10);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_TREE,
          "10 ns total\n inclusive    incl%  exclusive  context\n        10     100%         10  root\n",
          "tree.txt: a context outside the tree has no line if its values are part of no sum");
    shows(&fake, points, PF_METRIC_TREE,
          "10 ns total\n inclusive    incl%  exclusive  context\n        10     100%         10  unlisted\n",
          "tree.txt: a context outside the tree has a line if its values are part of a sum");
    fake_free(&fake);
}

static void what_does_not_add_up(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned none = fake_metric(&fake, "stddev", "double", PF_OVER_NO_CONTEXTS, PF_MAX);
    unsigned apart = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_OVER_NO_PARTITIONS);
    uint32_t f = fake_context(&fake, PF_NO_CONTEXT, "f", PF_ROOT);
    fake_real(&fake, 0, f, none, 0.5);
    fake_value(&fake, 0, f, apart, 7);
    fake_finish(&fake);
    shows(&fake, none, PF_METRIC_FUNCTIONS, FUNCTIONS_HEAD "function,1,,,,,ns,f,\n",
          "functions.csv: cells are empty if contexts do not add up");
    shows(&fake, none, PF_METRIC_PARTITIONS, "thread,sum,contexts\nt0,,1\n",
          "threads.csv: cells are empty if contexts do not add up");
    shows(&fake, none, PF_METRIC_HOT, "stddev cannot be summed over contexts; see contexts.csv\n",
          "hot.txt: a single line says that contexts do not add up");
    shows(&fake, none, PF_METRIC_TREE, "stddev cannot be summed over contexts; see contexts.csv\n",
          "tree.txt: a single line says that contexts do not add up");
    shows(&fake, none, PF_METRIC_FOLDED, "", "stacks.folded: the file is empty if contexts do not add up");
    shows(&fake, apart, PF_METRIC_CONTEXTS,
          "context,sum,mean,min,max,stddev,imbalance,count,name\n0,,7,7,7,0,,1,f\n",
          "contexts.csv: the sum is empty if partitions do not add up");
    shows(&fake, apart, PF_METRIC_PARTITIONS, "thread,sum,contexts\nt0,7,1\n",
          "threads.csv: contexts of one thread add up even if partitions do not");
    shows(&fake, apart, PF_METRIC_HOT, "time cannot be summed over threads; see contexts.csv\n",
          "hot.txt: a single line says that partitions do not add up");
    fake_free(&fake);
}

static void numbers_for_eyes(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    static const double values[] = {123456789.5, 99999.96, 1234.5678, 100, 0.1, 0.000123456789, 1e-7, -2.5};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fake_real(&fake, 0, fake_context(&fake, PF_NO_CONTEXT, "f", 0), m, values[i]);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_TREE,
          "123558122 ns (123.56 ms) total\n"
          "  inclusive    incl%   exclusive  context\n"
          "  123456790   99.92%   123456790  f\n"
          "     100000    0.08%      100000  f\n"
          "    1234.57   0.001%     1234.57  f\n"
          "        100  8.1e-05%         100  f\n"
          "        0.1  8.1e-08%         0.1  f\n"
          "0.000123457   1e-10% 0.000123457  f\n"
          "      1e-07  8.1e-14%       1e-07  f\n"
          "       -2.5  -2e-06%        -2.5  f\n",
          "tree.txt: doubles have six significant digits, and all digits before the point, small shares two");
    shows(&fake, m, PF_METRIC_FOLDED, "f 123456790\nf 100000\nf 1235\nf 100\n",
          "stacks.folded: times are rounded to nanoseconds; none of zero or less");
    uint64_t left_out = 0;
    struct pf_error error;
    ok(!pf_folded_left_out(fake.aggregate, m, &left_out, &error) && left_out == 3,
       "stacks lost to rounding are counted");
    fake_free(&fake);
}

static void large_and_small_numbers(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "x", "double", PF_OVER_ALL, PF_SUM);
    fake.metrics[m].unit = "";
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    uint32_t b = fake_context(&fake, PF_NO_CONTEXT, "b", 0);
    uint32_t c = fake_context(&fake, PF_NO_CONTEXT, "c", 0);
    fake_real(&fake, 0, a, m, 1.7976931348623157e308);
    fake_real(&fake, 0, b, m, 1e15);
    fake_real(&fake, 0, c, m, 5e-324);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_HOT,
          "Showing nodes accounting for 1.79769e+308, 100% of 1.79769e+308 total\n"
          "        flat   flat%    sum%          cum    cum%  name\n"
          "1.79769e+308    100%    100% 1.79769e+308    100%  a\n"
          "       1e+15 5.6e-292%    100%        1e+15 5.6e-292%  b\n"
          "4.94066e-324      0%    100% 4.94066e-324      0%  c\n",
          "hot.txt: the largest and smallest doubles fit");
    fake_free(&fake);
}

static void wide_integers(void)
{
    struct fake fake;
    const pf_int128 half = (pf_int128)1 << 126, less = (pf_int128)1 << 123;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "cycles", "int", PF_OVER_ALL, PF_SUM);
    fake.metrics[m].unit = "";
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    fake_cell(&fake, 0, a, m, pf_wide(&less));
    unsigned n = fake_metric(&fake, "more cycles", "int", PF_OVER_ALL, PF_SUM);
    uint32_t b = fake_context(&fake, a, "b", 0);
    fake_cell(&fake, 0, a, n, pf_wide(&half));
    fake_cell(&fake, 0, b, n, pf_wide(&half));
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,1,10633823966279326983230456482242756608,"
                         "10633823966279326983230456482242756608,100,100,,a,\n",
          "functions.csv: integers of more than 64 bits are exact");
    shows(&fake, n, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,1,8.507059173023462e+37,1.7014118346046923e+38,50,100,ns,a,\n"
                         "function,1,8.507059173023462e+37,8.507059173023462e+37,50,50,ns,b,\n",
          "functions.csv: sums of more than 128 bits are doubles");
    fake_free(&fake);
}

static void negative_values(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "delta", "int", PF_OVER_ALL, PF_SUM);
    fake.metrics[m].unit = "bytes";
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    uint32_t b = fake_context(&fake, a, "b", 0);
    fake_value(&fake, 0, a, m, 300);
    fake_value(&fake, 0, b, m, -100);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_HOT,
          "Showing nodes accounting for 200 bytes, 100% of 200 bytes total\n"
          "      flat   flat%    sum%        cum    cum%  name\n"
          "       300 150.00% 150.00%        200    100%  a\n"
          "      -100 -50.00%    100%       -100 -50.00%  b\n",
          "hot.txt: negative values are subtracted");
    shows(&fake, m, PF_METRIC_FOLDED, "a 300\n", "stacks.folded: negative values are omitted");
    fake_free(&fake);
}

static void stacks_with_large_values(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "bytes", "int", PF_OVER_ALL, PF_SUM);
    fake.metrics[m].unit = "";
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", PF_ROOT);
    uint32_t b = fake_context(&fake, a, "b", 0);
    fake_value(&fake, 0, a, m, UINT32_MAX);
    fake_value(&fake, 0, b, m, INT64_C(1) + UINT32_MAX);
    fake_value(&fake, 0, fake_context(&fake, b, "c", 0), m, INT64_MAX);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FOLDED, "a 4294967295\na;b 4294967296\na;b;c 9223372036854775807\n",
          "stacks.folded: values may exceed 32 bits");
    fake_free(&fake);
}

/* Contexts are in the order of their first appearance. A stack comes after its caller's stack, with other stacks in between. */
static void stacks_of_calls_that_took_turns(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned own = fake_metric(&fake, "own", "int", PF_OVER_ALL, PF_SUM);
    unsigned held = fake_metric(&fake, "held", "int", PF_OVER_ROOTS, PF_SUM);
    fake.metrics[own].unit = fake.metrics[held].unit = "";
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", PF_ROOT);
    uint32_t b = fake_context(&fake, PF_NO_CONTEXT, "b", PF_ROOT);
    uint32_t ac = fake_context(&fake, a, "c", 0);
    uint32_t bd = fake_context(&fake, b, "d", 0);
    uint32_t ae = fake_context(&fake, a, "e", 0);
    uint32_t acf = fake_context(&fake, ac, "f", 0);
    uint32_t values[][3] = {{a, 1, 10}, {b, 2, 9}, {ac, 0, 5}, {bd, 4, 7}, {ae, 5, 4}, {acf, 6, 5}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        fake_value(&fake, 0, values[i][0], own, values[i][1]);
        fake_value(&fake, 0, values[i][0], held, values[i][2]);
    }
    fake_finish(&fake);
    shows(&fake, own, PF_METRIC_FOLDED, "a 1\na;c;f 6\na;e 5\nb 2\nb;d 4\n", "stacks.folded: callers first");
    shows(&fake, held, PF_METRIC_FOLDED, "a 1\na;c;f 5\na;e 4\nb 2\nb;d 7\n",
          "stacks.folded: an inclusive metric has the same stacks");
    fake_free(&fake);
}

static void names_with_special_characters(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, " a;b\n\\\x01 ", 0);
    uint32_t b = fake_context(&fake, a, "", 0);
    uint32_t c = fake_context(&fake, b, "f(int, char)", 0);
    fake_value(&fake, 0, a, m, 3);
    fake_value(&fake, 0, c, m, 1);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FOLDED,
          "\\x20a:b\\n\\\\\\x01\\x20 3\n"
          "\\x20a:b\\n\\\\\\x01\\x20;[unnamed];f(int, char) 1\n",
          "stacks.folded: a name can end neither a frame nor a line");
    shows(&fake, m, PF_METRIC_TREE,
          "4 ns total\n"
          " inclusive    incl%  exclusive  context\n"
          "         4     100%          3   a;b\\n\\\\\\x01 \n"
          "         1   25.00%          0    \n"
          "         1   25.00%          1      f(int, char)\n",
          "tree.txt: a name is on one line");
    shows(&fake, m, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,1,3,4,75,100,ns, a;b\\n\\\\\\x01 ,\n"
                         "function,1,1,1,25,25,ns,\"f(int, char)\",\n"
                         "function,1,0,1,0,25,ns,,\n",
          "functions.csv: names are quoted as in CSV");
    fake_free(&fake);
}

static void names_that_end_in_numbers(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "main 2", 0);
    uint32_t b = fake_context(&fake, a, "file.c: 12.5", 0);
    fake_value(&fake, 0, b, m, 3);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FOLDED, "main\\x202;file.c:\\x2012.5 3\n",
          "stacks.folded: a number at the end of a name is not taken for a value");
    fake_free(&fake);
}

/* Contexts belong to one function if both name and file are equal. Functions of equal value are ordered by name, then file. */
static void files_tell_functions_apart(void)
{
    struct fake fake;
    struct pf_error error;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    static const char *const names[][2] = {{"init", "b.c"}, {"init", "a.c"}, {"init", "b.c"}, {"exit", ""}};
    struct pf_tree *tree = fake.model.contexts;
    must((tree->file = calloc(4, sizeof *tree->file)));
    for (int i = 0; i < 4; i++) {
        uint32_t context = fake_context(&fake, PF_NO_CONTEXT, names[i][0], 0);
        tree->file[context] =
            i == 3 ? PF_NO_STRING : pf_intern(tree->strings, names[i][1], strlen(names[i][1]), &error);
        fake_value(&fake, 0, context, m, i == 1 ? 4 : i == 3 ? 4 : 2);
    }
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,1,4,4,33.333333333333336,33.333333333333336,ns,exit,\n"
                         "function,1,4,4,33.333333333333336,33.333333333333336,ns,init,a.c\n"
                         "function,2,4,4,33.333333333333336,33.333333333333336,ns,init,b.c\n",
          "functions.csv: functions of one name in two files are separate");
    fake_free(&fake);
}

static void kinds_tell_functions_apart(void)
{
    struct fake fake;
    static const char *const kinds[] = {"function", "loop"};
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t f = fake_context(&fake, PF_NO_CONTEXT, "f", 0), loop = fake_context(&fake, f, "f", 0);
    fake.model.contexts->kinds = kinds;
    fake.model.contexts->kind[loop] = 1;
    fake_value(&fake, 0, f, m, 3);
    fake_value(&fake, 0, loop, m, 1);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,1,3,4,75,100,ns,f,\nloop,1,1,1,25,25,ns,f,\n",
          "functions.csv: a loop with the name of its function is a separate row");
    fake_free(&fake);
}

static void recursion_counts_once(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t at = PF_NO_CONTEXT;
    for (int i = 0; i < 5; i++) {
        at = fake_context(&fake, at, i % 2 ? "even" : "odd", 0);
        fake_value(&fake, 0, at, m, 1);
    }
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_CALLERS,
          "contexts,exclusive,inclusive,caller,callee\n1,1,5,,odd\n2,2,4,odd,even\n2,2,3,even,odd\n",
          "callers.csv: other metrics count for a pair's outermost calls only");
    fake_free(&fake);
}

/* A format that stores functions and the calls between them, without a tree. */
static void call_edges(void)
{
    struct fake fake;
    struct pf_error error;
    static const struct pf_column columns[] = {{.name = "count"},
                                               {.name = "inclusive"},
                                               {.name = "metric", .role = PF_METRIC},
                                               {.name = "caller"},
                                               {.name = "callee"}};
    struct pf_rows *rows = pf_rows_new(5);
    const struct pf_table edges = {.name = "calls", .columns = columns, .n_columns = 5, .data = &rows};
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "Ir", "int", PF_OVER_ALL, PF_SUM);
    unsigned inclusive = fake_metric(&fake, "Ir (inc)", "int", PF_OVER_NO_CONTEXTS, PF_SUM);
    fake.metrics[m].unit = fake.metrics[inclusive].unit = "";
    fake_partners(&fake, m, inclusive);
    for (int i = 0; i < 4; i++) {
        uint32_t f = fake_context(&fake, PF_NO_CONTEXT,
                                  i == 0   ? "main"
                                  : i == 1 ? "f"
                                           : "g",
                                  PF_ROOT | PF_FRAME);
        fake_value(&fake, 0, f, m, 10);
        if (i < 3)
            fake_value(&fake, 0, f, inclusive, i == 0 ? 40 : 15);
    }
    const struct {
        const char *caller, *callee;
        unsigned metric;
        int inclusive;
    } calls[] = {{"main", "f", m, 10}, {"main", "g", m, 15}, {"main", "f", m, 5}, {"f", "g", inclusive, 1}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct pf_cell cells[] = {pf_int(1), pf_int(calls[i].inclusive), pf_int(calls[i].metric),
                                  pf_string(calls[i].caller), pf_string(calls[i].callee)};
        must(!pf_rows_add(rows, cells, &error));
    }
    struct pf_model_extra extra = {.edges = &edges};
    fake.model.extra = &extra;
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_CALLERS,
          "contexts,exclusive,inclusive,caller,callee\n,,15,main,f\n,,15,main,g\n",
          "callers.csv: edges of a format without a tree, added by name");
    shows(&fake, m, PF_METRIC_FUNCTIONS,
          FUNCTIONS_HEAD "function,2,20,,50,,,g,\n"
                         "function,1,10,40,25,100,,main,\n"
                         "function,1,10,15,25,37.5,,f,\n",
          "functions.csv: inclusive values are the file's, or absent if contexts may include each other");
    shows(&fake, m, PF_METRIC_TREE,
          "40 total\n inclusive    incl%  exclusive  context\n"
          "        40     100%         10  main\n"
          "        15   37.50%         10  f\n"
          "        15   37.50%         10  g\n"
          "         -        -         10  g\n",
          "tree.txt: a dash marks an unknown inclusive value");
    pf_rows_free(rows);
    fake_free(&fake);
}

static void a_fixed_unit_of_folded_stacks(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned power = fake_metric(&fake, "energy", "double", PF_OVER_ALL, PF_SUM);
    unsigned time = fake_metric(&fake, "cpu", "int", PF_OVER_ALL, PF_SUM);
    fake.metrics[power].unit = "J";
    fake.metrics[time].unit = "ms";
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    fake_real(&fake, 0, a, power, 0.25);
    fake_value(&fake, 0, a, time, 3);
    fake_finish(&fake);
    shows(&fake, power, PF_METRIC_FOLDED, "a 250000\n", "stacks.folded: doubles in millionths of their unit");
    shows(&fake, time, PF_METRIC_FOLDED, "a 3000000\n", "stacks.folded: times in nanoseconds");
    fake_free(&fake);
}

static void contexts_have_their_own_ids(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    struct pf_tree *tree = fake.model.contexts;
    must((tree->id = calloc(2, sizeof *tree->id)));
    for (int i = 0; i < 2; i++) {
        uint32_t context = fake_context(&fake, PF_NO_CONTEXT, i ? "second" : "first", 0);
        tree->id[context] = i ? 7 : UINT64_MAX;
        fake_value(&fake, 0, context, m, 1);
    }
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_CONTEXTS,
          "context,sum,mean,min,max,stddev,imbalance,count,name\n"
          "18446744073709551615,1,1,1,1,0,1,1,first\n"
          "7,1,1,1,1,0,1,1,second\n",
          "contexts.csv: ids are the format's, rows in the order of the tree");
    shows(&fake, m, PF_METRIC_TREE,
          "2 ns total\n inclusive    incl%  exclusive  context\n"
          "         1   50.00%          1  second\n"
          "         1   50.00%          1  first\n",
          "tree.txt: children of equal weight are in the order of ids");
    fake_free(&fake);
}

static void contexts_without_values(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t a = fake_context(&fake, PF_NO_CONTEXT, "a", 0);
    uint32_t empty = fake_context(&fake, PF_NO_CONTEXT, "empty", 0);
    fake_context(&fake, empty, "below", 0);
    uint32_t b = fake_context(&fake, a, "b", 0);
    fake_value(&fake, 0, b, m, 0);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_TREE,
          "0 ns total\n inclusive    incl%  exclusive  context\n"
          "         0       0%          0  a\n"
          "         0       0%          0    b\n",
          "tree.txt: contexts without a value in their subtree are omitted, zeros are not");
    shows(&fake, m, PF_METRIC_CONTEXTS,
          "context,sum,mean,min,max,stddev,imbalance,count,name\n3,0,0,0,0,0,,1,b\n",
          "contexts.csv: contexts without a value have no row");
    shows(&fake, m, PF_METRIC_FOLDED, "", "stacks.folded: stacks without cost are omitted");
    fake_free(&fake);
}

static void an_empty_profile(void)
{
    struct fake fake;
    fake_init(&fake, 0);
    unsigned m = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_CONTEXTS, "context,sum,mean,min,max,stddev,imbalance,count,name\n",
          "contexts.csv: an empty profile has only the header");
    shows(&fake, m, PF_METRIC_PARTITIONS, "thread,sum,contexts\n",
          "threads.csv: an empty profile has only the header");
    shows(&fake, m, PF_METRIC_FUNCTIONS, FUNCTIONS_HEAD,
          "functions.csv: an empty profile has only the header");
    shows(&fake, m, PF_METRIC_HOT,
          "Showing nodes accounting for 0 ns, 0% of 0 ns total\n"
          "      flat   flat%    sum%        cum    cum%  name\n",
          "hot.txt: an empty profile has only the head");
    shows(&fake, m, PF_METRIC_TREE, "0 ns total\n inclusive    incl%  exclusive  context\n",
          "tree.txt: an empty profile has only the head");
    shows(&fake, m, PF_METRIC_FOLDED, "", "stacks.folded: an empty profile has an empty file");
    fake_free(&fake);
}

/* There are a million nested calls of f. The n-th record must be neither slow to render nor long. */
static void a_million_nested_calls(void)
{
    enum { DEEP = 1000 * 1000 };
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    for (uint32_t i = 0; i < DEEP; i++)
        fake_context(&fake, i ? i - 1 : PF_NO_CONTEXT, "f", 0);
    fake_value(&fake, 0, 0, m, 1);
    fake_value(&fake, 0, 1023, m, 1);
    fake_value(&fake, 0, 1024, m, 1);
    fake_value(&fake, 0, DEEP - 1, m, 1);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_FUNCTIONS, FUNCTIONS_HEAD "function,1000000,4,4,100,100,ns,f,\n",
          "functions.csv: a million nested calls are one function");

    struct pf_buf text = fake_text(&fake, m, PF_METRIC_TREE);
    static const char last[] = "         1   25.00%          0  ",
                      end[] = "[depth 1996] f\n(cut at 2000 lines)\n";
    char *at = strstr(text.data, end);
    ok(at && !at[strlen(end)], "tree.txt: a million levels are cut");
    ok(at && at - text.data > 160 && !strncmp(at - 128 - strlen(last), last, strlen(last)),
       "tree.txt: lines are indented by at most 64 levels");
    pf_buf_free(&text);

    text = fake_text(&fake, m, PF_METRIC_FOLDED);
    char *lines[5] = {text.data};
    for (int i = 1; i < 5; i++)
        lines[i] = lines[i - 1] ? strchr(lines[i - 1], '\n') + 1 : NULL;
    ok(lines[2] - lines[1] == 2 * 1024 + 2, "stacks.folded: a stack of 1024 frames is complete");
    ok(lines[3] - lines[2] == 2 * 1024 + 4 + 2 && !strncmp(lines[2] + 2 * 512, "...;f;", 6),
       "stacks.folded: a deeper stack has dots after its outermost 512 frames");
    ok(lines[4] - lines[3] == 2 * 1024 + 4 + 2, "stacks.folded: the deepest stack has dots too");
    ok(fake_measures(&fake, m, PF_METRIC_FOLDED), "stacks.folded: stacks have the measured lengths");
    pf_buf_free(&text);
    fake_free(&fake);
}

static void saved_positions_are_checked(void)
{
    struct fake fake;
    struct pf_error error;
    add_calls(&fake);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    add_exclusive(&fake, m);
    fake_finish(&fake);
    for (int view = 0; view < PF_METRIC_VIEWS; view++) {
        unsigned char saved[16];
        struct pf_buf out = {0};
        struct pf_walk *walk = fake_walk(&fake, m, view);
        size_t size = pf_walk_save(walk, saved, 0);
        memset(saved, 0xff, sizeof saved);
        ok(size <= sizeof saved && pf_walk_restore(walk, saved, size - 1, &error) == -1 &&
               !pf_walk_restore(walk, saved, size, &error) && walk->ops->next(walk, &out, &error) == 0,
           "view %d refuses a position of another size, and has nothing after its end", view);
        pf_buf_free(&out);
        walk->ops->close(walk);
    }
    ok(!pf_metric_view_walk(fake.aggregate, 1, PF_METRIC_HOT, &error) && error.code == EINVAL,
       "a metric that does not exist has no views");
    fake_free(&fake);
}

/* With a tiny cache, the sort order of a view is evicted to make room for the next view's, but never while in use. */
static void walks_side_by_side(void)
{
    struct fake fake;
    struct pf_error error;
    struct pf_buf text = {0};
    add_calls(&fake);
    fake.options.cache = 0;
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    unsigned other = fake_metric(&fake, "other", "int", PF_OVER_ALL, PF_SUM);
    add_exclusive(&fake, m);
    add_inclusive(&fake, other);
    fake_finish(&fake);
    struct pf_walk *walk = fake_walk(&fake, m, PF_METRIC_TREE);
    for (int more = 1; more > 0;) {
        more = walk->ops->next(walk, &text, &error);
        for (unsigned metric = m; metric <= other; metric++) {
            struct pf_buf folded = fake_text(&fake, metric, PF_METRIC_FOLDED);
            struct pf_buf hot = fake_text(&fake, metric, PF_METRIC_HOT);
            pf_buf_free(&folded);
            pf_buf_free(&hot);
        }
    }
    walk->ops->close(walk);
    pf_buf_char(&text, '\0');
    is(text.data, tree_text, "concurrent walks do not disturb each other");
    pf_buf_free(&text);
    fake_free(&fake);
}

struct maker {
    unsigned calls;
    bool fails;
};

/* Makes a sort order as a job does, then all kinds of order. With a cache of size 0, these evict the first order unless it is in use. */
static int make_order(void *owner, struct pf_aggregate *aggregate, unsigned metric, enum pf_order_kind kind,
                      struct pf_error *error)
{
    struct maker *maker = owner;
    maker->calls++;
    if (maker->fails)
        return pf_fail(error, EIO, "no order");
    int result = pf_order_make(aggregate, metric, kind, error);
    for (int other = PF_BY_FUNCTION; other <= PF_BY_LINE && !result; other++)
        result = pf_order_make(aggregate, metric, (enum pf_order_kind)other, error);
    return result;
}

static void orders_made_by_a_job(void)
{
    struct fake fake;
    struct pf_error error = {0};
    struct maker maker = {.fails = true};
    add_calls(&fake);
    fake.options.cache = 0;
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    add_exclusive(&fake, m);
    fake_finish(&fake);
    pf_aggregate_share(fake.aggregate, make_order, &maker);
    ok(!pf_order_get(fake.aggregate, m, PF_BY_FUNCTION, &error) && error.code == EIO,
       "a walk gets the error of the job");
    maker = (struct maker){0};
    struct pf_order *first = pf_order_get(fake.aggregate, m, PF_BY_FUNCTION, &error);
    ok(first && maker.calls == 1 && first->n_functions > 0, "a later walk has the order made again");
    struct pf_order *second = pf_order_get(fake.aggregate, m, PF_BY_FUNCTION, &error);
    ok(second == first && maker.calls == 1, "a walk beside it shares the order");
    pf_order_release(fake.aggregate, first);
    pf_order_release(fake.aggregate, second);
    fake_free(&fake);
}

/* Returns a pseudo-random number less than `below`; the sequence is the same in each run. */
static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % below;
}

enum { RANDOM_CONTEXTS = 60 };

static void add_random(struct fake *fake, uint32_t seed, unsigned metric, int64_t least)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (uint32_t i = 0; i < RANDOM_CONTEXTS; i++) {
        uint32_t parent = i && next_random(&seed, 8) ? next_random(&seed, i) : PF_NO_CONTEXT;
        uint8_t flags = (uint8_t)(next_random(&seed, 2) | (parent == PF_NO_CONTEXT ? PF_ROOT : 0));
        fake_context(fake, parent, names[next_random(&seed, 5)], flags);
        for (int64_t thread = 0; thread < 3; thread++)
            if (next_random(&seed, 3))
                fake_value(fake, thread, i, metric, (int64_t)next_random(&seed, 200) + least);
    }
}

/* Returns the sum of the last field of each line of stacks.folded. */
static int64_t folded_total(struct fake *fake, unsigned metric)
{
    int64_t total = 0;
    struct pf_buf text = fake_text(fake, metric, PF_METRIC_FOLDED);
    for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        total += strtoll(strrchr(line, ' '), NULL, 10);
    }
    pf_buf_free(&text);
    return total;
}

/* Returns the sum of a column of functions.csv. */
static int64_t functions_total(struct fake *fake, unsigned metric)
{
    int64_t total = 0;
    struct pf_buf text = fake_text(fake, metric, PF_METRIC_FUNCTIONS);
    for (char *line = strchr(text.data, '\n') + 1; *line; line = strchr(line, '\n') + 1)
        total += strtoll(strchr(strchr(line, ',') + 1, ',') + 1, NULL, 10);
    pf_buf_free(&text);
    return total;
}

static void all_views_add_up_to_the_total(void)
{
    int folded = 0, functions = 0, resumed = 0, measured = 0, profiles = 0, positive = 0;
    for (uint32_t seed = 1; seed <= 300; seed++, profiles++) {
        struct fake fake;
        pf_int128 wide;
        fake_init(&fake, 3);
        unsigned m = fake_metric(&fake, "time", "int", (enum pf_over_contexts)(seed % 3),
                                 (enum pf_over_partitions)(seed / 3 % 3));
        bool negative = seed % 3 == PF_OVER_ROOTS || seed % 2;
        add_random(&fake, seed, m, negative ? -50 : 0);
        fake_finish(&fake);
        int64_t total = pf_aggregate_total(fake.aggregate, m, &wide).i;
        positive += !negative;
        folded += !negative && folded_total(&fake, m) == total;
        functions += functions_total(&fake, m) == total;
        for (int view = 0; view < PF_METRIC_VIEWS; view++) {
            struct pf_buf a = fake_text(&fake, m, view), b = fake_resumed_text(&fake, m, view);
            resumed += !strcmp(a.data, b.data);
            measured += fake_measures(&fake, m, view);
            pf_buf_free(&a);
            pf_buf_free(&b);
        }
        fake_free(&fake);
    }
    ok(functions == profiles,
       "functions.csv: the exclusive values of any profile add up to the metric's total");
    ok(folded == positive && positive > 0,
       "stacks.folded: the nonnegative exclusive values of any profile add up to the metric's total");
    ok(resumed == profiles * PF_METRIC_VIEWS, "any view of any profile can be resumed at each record");
    ok(measured == profiles * PF_METRIC_VIEWS, "any view of any profile has its measured length");
}

int main(void)
{
    exclusive_alone();
    inclusive_alone();
    partners();
    useless_partners();
    frames_alone_count();
    gaps_in_inclusive_values();
    places_outside_the_tree();
    what_counts_nowhere_is_not_shown();
    what_does_not_add_up();
    numbers_for_eyes();
    large_and_small_numbers();
    wide_integers();
    negative_values();
    stacks_of_calls_that_took_turns();
    stacks_with_large_values();
    names_with_special_characters();
    names_that_end_in_numbers();
    files_tell_functions_apart();
    kinds_tell_functions_apart();
    recursion_counts_once();
    call_edges();
    a_fixed_unit_of_folded_stacks();
    contexts_have_their_own_ids();
    contexts_without_values();
    an_empty_profile();
    a_million_nested_calls();
    saved_positions_are_checked();
    walks_side_by_side();
    orders_made_by_a_job();
    all_views_add_up_to_the_total();
    return done();
}
