/* SPDX-License-Identifier: MIT */
#include "tests/unit/fake_model.h"

/* Views for eyes stay short however large a profile is: hot.txt and tree.txt. */

static uint32_t add(struct fake *fake, uint32_t parent, const char *name, unsigned metric, int64_t value)
{
    uint32_t context =
        fake_context(fake, parent, name, parent == PF_NO_CONTEXT ? PF_ROOT | PF_FRAME : PF_FRAME);
    fake_value(fake, 0, context, metric, value);
    return context;
}

/* `n` functions f0, f1, ... below `parent`, each with the value. */
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
    ok(lines_of(&text) == lines && last && !last[strlen(end)], behaviour);
    pf_buf_free(&text);
}

static void hot_functions(void)
{
    static const struct {
        int functions, lines;
        const char *end, *behaviour;
    } cases[] = {
        {99, 2 + 100, " f98\n", "hot.txt: 100 functions have a line each"},
        {100, 2 + 100 + 1, "\n(1 more function: functions.csv)\n", "hot.txt: one more is counted"},
        {1100, 2 + 100 + 1, "\n(1001 more functions: functions.csv)\n", "hot.txt: so are a thousand more"},
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
          "tree.txt: what holds less than 0.1 % is one line below its siblings");
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
          "tree.txt: doubles below 0.1 % are left out");
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
          "tree.txt: nothing is left out where an inclusive value is negative");
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
                more ? "tree.txt: one line too many, and the last one says so"
                     : "tree.txt: has up to 2000 lines");
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
    return done();
}
