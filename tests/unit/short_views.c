/* SPDX-License-Identifier: MIT */
#include "tests/unit/fake_model.h"

/* The readable views hot.txt, tree.txt and bottom_up.txt stay short for profiles of any size. */

static uint32_t add(struct fake *fake, uint32_t parent, const char *name, unsigned metric, int64_t value)
{
    uint32_t context =
        fake_context(fake, parent, name, parent == PF_NO_CONTEXT ? PF_ROOT | PF_FRAME : PF_FRAME);
    fake_value(fake, 0, context, metric, value);
    return context;
}

/* Adds `n` functions f0, f1, ... below `parent`, each with this value. */
static void add_many(struct fake *fake, uint32_t parent, int n, unsigned metric, int64_t value)
{
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        add(fake, parent, name, metric, value);
    }
}

static unsigned begin(struct fake *fake)
{
    fake_init(fake, 1);
    return fake_metric(fake, "time", "int", PF_OVER_ALL, PF_SUM);
}

static int lines_of(const struct pf_buf *text)
{
    int lines = 0;
    for (const char *at = text->data; (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

static void ends_in(struct fake *fake, unsigned metric, enum pf_metric_view view, int lines, const char *end,
                    const char *behaviour)
{
    struct pf_buf text = fake_text(fake, metric, view);
    const char *last = strstr(text.data, end);
    ok(lines_of(&text) == lines && last && !last[strlen(end)], "%s", behaviour);
    pf_buf_free(&text);
}

static void hot_functions(void)
{
    static const struct {
        int functions, lines;
        const char *end, *behaviour;
    } cases[] = {
        {99, 2 + 100, " f98\n", "hot.txt: 100 functions have a line each"},
        {100, 2 + 100 + 1, "\n(1 more function: functions.csv)\n",
         "hot.txt: the 101st function is counted on an extra line"},
        {1100, 2 + 100 + 1, "\n(1001 more functions: functions.csv)\n",
         "hot.txt: a thousand more functions are counted on an extra line"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake fake;
        unsigned m = begin(&fake);
        add_many(&fake, PF_NO_CONTEXT, cases[i].functions, m, 1);
        add(&fake, PF_NO_CONTEXT, "main", m, 1000);
        fake_finish(&fake);
        ends_in(&fake, m, PF_METRIC_HOT, cases[i].lines, cases[i].end, cases[i].behaviour);
        fake_free(&fake);
    }
}

static void hot_head_counts_what_is_shown(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    add(&fake, PF_NO_CONTEXT, "main", m, 800);
    add_many(&fake, PF_NO_CONTEXT, 200, m, 1);
    fake_finish(&fake);
    struct pf_buf text = fake_text(&fake, m, PF_METRIC_HOT);
    static const char head[] = "Showing nodes accounting for 899 ns, 89.90% of 1000 ns (1.00 us) total\n";
    ok(!strncmp(text.data, head, sizeof head - 1),
       "hot.txt: the head accounts for the functions that are shown");
    pf_buf_free(&text);
    fake_free(&fake);
}

static void small_contexts_are_left_out(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t top = add(&fake, PF_NO_CONTEXT, "main", m, 990);
    uint32_t small = add(&fake, top, "small", m, 0);
    add(&fake, small, "f", m, 1);
    add(&fake, small, "g", m, 2);
    add(&fake, top, "least", m, 2);
    add(&fake, top, "less", m, 1);
    add(&fake, top, "zero", m, 0);
    add(&fake, PF_NO_CONTEXT, "idle", m, 1);
    add(&fake, PF_NO_CONTEXT, "other", m, 1003);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_TREE,
          "2000 ns (2.00 us) total\n"
          " inclusive    incl%  exclusive  context\n"
          "      1003   50.15%       1003  other\n"
          "       996   49.80%        990  main\n"
          "         3    0.15%          0    small\n"
          "         2    0.10%          2      g\n"
          "         1    0.05%                 (1 more)\n"
          "         2    0.10%          2    least\n"
          "         1    0.05%               (2 more)\n"
          "         1    0.05%             (1 more)\n",
          "tree.txt: siblings with less than 0.1 % share a line below the others");
    fake_free(&fake);
}

static void doubles_are_left_out_as_well(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "time", "double", PF_OVER_ALL, PF_SUM);
    uint32_t top = fake_context(&fake, PF_NO_CONTEXT, "main", PF_ROOT);
    fake_real(&fake, 0, top, m, 999.5);
    fake_real(&fake, 0, fake_context(&fake, top, "f", 0), m, 0.25);
    fake_real(&fake, 0, fake_context(&fake, top, "g", 0), m, 0.25);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_TREE,
          "1000 ns (1.00 us) total\n"
          " inclusive    incl%  exclusive  context\n"
          "      1000     100%      999.5  main\n"
          "       0.5    0.05%               (2 more)\n",
          "tree.txt: siblings with doubles below 0.1 % share a line");
    fake_free(&fake);
}

static void negative_values_leave_nothing_out(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t top = add(&fake, PF_NO_CONTEXT, "main", m, 10000);
    uint32_t f = add(&fake, top, "f", m, -50);
    add(&fake, f, "g", m, 49);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_TREE,
          "9999 ns (10.00 us) total\n"
          " inclusive    incl%  exclusive  context\n"
          "      9999     100%      10000  main\n"
          "        -1   -0.01%        -50    f\n"
          "        49    0.49%         49      g\n",
          "tree.txt: all children are shown where an inclusive value is negative");
    fake_free(&fake);
}

static void tree_is_cut(void)
{
    enum { HEAD = 2, LINES = 2000 };
    for (int more = 0; more < 2; more++) {
        struct fake fake;
        unsigned m = begin(&fake);
        uint32_t context = PF_NO_CONTEXT;
        for (int i = 0; i < LINES - HEAD + more; i++)
            context = add(&fake, context, "f", m, 1);
        fake_finish(&fake);
        ends_in(&fake, m, PF_METRIC_TREE, LINES,
                more ? " f\n(cut at 2000 lines)\n" : "[depth 1997] (1 more)\n",
                more ? "tree.txt: the last line of a view that was cut says so"
                     : "tree.txt: 2000 lines are shown completely");
        fake_free(&fake);
    }
}

/* ---- bottom_up.txt ------------------------------------------------------------------------------ */

#define BOTTOM_UP_HEAD " exclusive    excl%  function\n"

/*
 * main 2
 *   f 10
 *     loop 5          a part of f
 *       g 40
 *   g 30
 *     g 13            calls itself
 */
static void callers_stand_below_their_functions(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t top = add(&fake, PF_NO_CONTEXT, "main", m, 2);
    uint32_t f = add(&fake, top, "f", m, 10);
    uint32_t loop = fake_context(&fake, f, "loop", 0);
    fake_value(&fake, 0, loop, m, 5);
    add(&fake, loop, "g", m, 40);
    add(&fake, add(&fake, top, "g", m, 30), "g", m, 13);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_BOTTOM_UP,
          "100 ns total\n" BOTTOM_UP_HEAD "        83   83.00%  g\n"
          "        40   40.00%    f\n"
          "        40   40.00%      main\n"
          "        30   30.00%    main\n"
          "        13   13.00%    g\n"
          "        13   13.00%      main\n"
          "        15   15.00%  f\n"
          "        15   15.00%    main\n"
          "         2    2.00%  main\n",
          "bottom_up.txt: a caller has the part of the value that came through it; a loop belongs to its "
          "function");
    fake_free(&fake);
}

static void small_callers_are_left_out(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t b = add(&fake, PF_NO_CONTEXT, "b", m, 400), a = add(&fake, PF_NO_CONTEXT, "a", m, 400);
    uint32_t c = add(&fake, PF_NO_CONTEXT, "c", m, 4), d = add(&fake, PF_NO_CONTEXT, "d", m, 4);
    add(&fake, a, "f", m, 5);
    add(&fake, b, "f", m, 179);
    add(&fake, c, "f", m, 4);
    add(&fake, d, "f", m, 4);
    add(&fake, d, "zero", m, 0);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_BOTTOM_UP,
          "1000 ns (1.00 us) total\n" BOTTOM_UP_HEAD "       400   40.00%  a\n"
          "       400   40.00%  b\n"
          "       192   19.20%  f\n"
          "       179   17.90%    b\n"
          "         5    0.50%    a\n"
          "         8    0.80%    (2 more callers)\n"
          "         8    0.80%  (2 more functions)\n",
          "bottom_up.txt: siblings with less than 0.5 % share a line below the others; equal values are in "
          "order of names");
    fake_free(&fake);
}

static void doubles_and_unnamed_functions(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned m = fake_metric(&fake, "x", "double", PF_OVER_ALL, PF_SUM);
    fake.metrics[m].unit = "";
    uint32_t top = fake_context(&fake, PF_NO_CONTEXT, "", PF_FRAME);
    fake_real(&fake, 0, fake_context(&fake, top, "f", PF_FRAME), m, 99.6);
    fake_real(&fake, 0, fake_context(&fake, top, "g", PF_FRAME), m, 0.4);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_BOTTOM_UP,
          "100 total\n" BOTTOM_UP_HEAD "      99.6   99.60%  f\n"
          "      99.6   99.60%    \n"
          "       0.4    0.40%  (1 more function)\n",
          "bottom_up.txt: values may be doubles, and a caller may have no name");
    fake_free(&fake);
}

static void nothing_to_show_from_the_bottom(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    unsigned none = fake_metric(&fake, "stddev", "double", PF_OVER_NO_CONTEXTS, PF_SUM);
    add(&fake, PF_NO_CONTEXT, "main", m, -1);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_BOTTOM_UP, "-1 ns total\n" BOTTOM_UP_HEAD,
          "bottom_up.txt: a metric without a positive total has a header only");
    shows(&fake, none, PF_METRIC_BOTTOM_UP, "stddev cannot be summed over contexts; see contexts.csv\n",
          "bottom_up.txt: a metric that does not add up over contexts has one line");
    fake_free(&fake);
}

/* A million recursive calls of a function; only the innermost call has a cost. */
static void a_million_callers(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t context = add(&fake, PF_NO_CONTEXT, "main", m, 0);
    for (int i = 0; i < 1000 * 1000; i++)
        context = fake_context(&fake, context, "f", PF_FRAME);
    fake_value(&fake, 0, context, m, 7);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_BOTTOM_UP,
          "7 ns total\n" BOTTOM_UP_HEAD
          "         7     100%  f\n         7     100%    f\n         7     100%      f\n"
          "         7     100%        f\n         7     100%          f\n         7     100%            f\n"
          "         7     100%              f\n         7     100%                f\n         7     100%     "
          "             f\n",
          "bottom_up.txt: at most eight levels of callers are shown");
    fake_free(&fake);
}

static void bottom_up_is_cut(void)
{
    enum { HEAD = 2, LINES = 500, FUNCTIONS = 56 };
    for (int more = 0; more < 2; more++) {
        struct fake fake;
        unsigned m = begin(&fake);
        for (int i = 0; i < FUNCTIONS; i++) { /* 55 chains of nine lines; the first chain has 3 or 4 */
            uint32_t context = PF_NO_CONTEXT;
            for (int level = 0; level < (i ? 9 : 3 + more); level++) {
                char name[16];
                snprintf(name, sizeof name, "f%d.%d", i, level);
                context = add(&fake, context, name, m, 0);
            }
            fake_value(&fake, 0, context, m, 100 + i);
        }
        fake_finish(&fake);
        ends_in(&fake, m, PF_METRIC_BOTTOM_UP, LINES, more ? "\n(cut at 500 lines)\n" : "    f0.0\n",
                more ? "bottom_up.txt: the last line of a view that was cut says so"
                     : "bottom_up.txt: 500 lines are shown completely");
        fake_free(&fake);
    }
}

int main(void)
{
    hot_functions();
    hot_head_counts_what_is_shown();
    small_contexts_are_left_out();
    doubles_are_left_out_as_well();
    negative_values_leave_nothing_out();
    tree_is_cut();
    callers_stand_below_their_functions();
    small_callers_are_left_out();
    doubles_and_unnamed_functions();
    nothing_to_show_from_the_bottom();
    a_million_callers();
    bottom_up_is_cut();
    return done();
}
