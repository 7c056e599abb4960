/* SPDX-License-Identifier: MIT */
#include "fs/draw/draw.h"
#include "tests/unit/fake_model.h"

/* Tests callgraph.dot: functions by name, calls between them, and the minimum shares of functions and calls. */

static char *graph_of(struct fake *fake, unsigned metric)
{
    struct pf_error error;
    struct pf_buf text = {0};
    struct pf_walk *walk = pf_callgraph_walk(&fake->model, fake->aggregate, metric, &error);
    must(walk);
    while (walk->ops->next(walk, &text, &error) > 0)
        ;
    walk->ops->close(walk);
    pf_buf_char(&text, '\0');
    must(!text.failed);
    return text.data;
}

#define HEAD(title)                                                                                          \
    "digraph callgraph {\n  graph [label=\"" title "\", labelloc=t, fontname=\"sans-serif\"];\n"             \
    "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\"];\n"

static void graphs(struct fake *fake, unsigned metric, const char *want, const char *behaviour)
{
    char *text = graph_of(fake, metric);
    is(text, want, behaviour);
    free(text);
}

static unsigned begin(struct fake *fake)
{
    fake_init(fake, 1);
    return fake_metric(fake, "time", "int", PF_OVER_ALL, PF_SUM);
}

static uint32_t add(struct fake *fake, uint32_t parent, const char *name, unsigned metric, int64_t value)
{
    uint32_t context = fake_context(fake, parent, name, PF_FRAME);
    fake_value(fake, 0, context, metric, value);
    return context;
}

static void calls_between_functions(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t top = add(&fake, PF_NO_CONTEXT, "main", m, 10);
    uint32_t f = add(&fake, top, "f", m, 20);
    uint32_t loop = fake_context(&fake, f, "loop", 0);
    fake_value(&fake, 0, loop, m, 5);
    add(&fake, add(&fake, loop, "f", m, 40), "g", m, 25);
    fake_finish(&fake);
    graphs(&fake, m,
           HEAD("time: 100 ns total") "  n1 [label=\"main\\n100% inclusive\\n10.00% exclusive\", "
                                      "penwidth=5.00, fillcolor=\"#f3ccb3\"];\n"
                                      "  n2 [label=\"f\\n90.00% inclusive\\n65.00% exclusive\", "
                                      "penwidth=4.60, fillcolor=\"#e07e3d\"];\n"
                                      "  n3 [label=\"g\\n25.00% inclusive\\n25.00% exclusive\", "
                                      "penwidth=2.00, fillcolor=\"#ecaf87\"];\n"
                                      "  n1 -> n2 [label=\"90.00%\", penwidth=4.60];\n"
                                      "  n2 -> n2 [label=\"65.00%\", penwidth=3.60];\n"
                                      "  n2 -> n3 [label=\"25.00%\", penwidth=2.00];\n}\n",
           "a loop is part of its function, and recursion is one edge to the function itself");
    fake_free(&fake);
}

static void small_shares_are_left_out(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t a = add(&fake, PF_NO_CONTEXT, "a", m, 9000), b = add(&fake, PF_NO_CONTEXT, "b", m, 0);
    add(&fake, a, "c", m, 9);
    add(&fake, b, "c", m, 942);
    add(&fake, a, "half", m, 49);
    fake_finish(&fake);
    char *text = graph_of(&fake, m);
    ok(!strstr(text, "half"), "a function below 0.5 %% is not a node");
    ok(strstr(text, "n2 [label=\"c\\n") && strstr(text, "n3 [label=\"b\\n"),
       "nodes are in the order of inclusive values");
    ok(!strstr(text, "n1 -> n2") && strstr(text, "n3 -> n2 [label=\"9.42%\""),
       "a call below 0.1 %% is not an edge");
    free(text);
    fake_free(&fake);
}

static void names_are_quoted_and_cut(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    char name[200] = "a\"b\\c&d\n";
    memset(name + strlen(name), 'x', sizeof name - strlen(name) - 1);
    add(&fake, add(&fake, PF_NO_CONTEXT, "", m, 5), name, m, 5);
    fake_finish(&fake);
    char *text = graph_of(&fake, m);
    ok(strstr(text, "n1 [label=\"[unnamed]\\n100% inclusive"), "a function without a name is labelled as such");
    char *at = strstr(text, "n2 [label=\"a\\\"b\\\\\\\\c&amp;d\\\\nxxx");
    ok(at && strstr(at, "x...\\n50.00% inclusive"),
       "quotes, backslashes and ampersands are escaped, long names are shortened");
    ok(strstr(text, "n1 -> n2"), "functions with unusual names have edges");
    free(text);
    fake_free(&fake);
}

static void at_most_200_functions(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    uint32_t context = PF_NO_CONTEXT;
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%03d", i);
        context = add(&fake, context, name, m, 1);
    }
    fake_finish(&fake);
    char *text = graph_of(&fake, m);
    ok(strstr(text, "  n200 [label=\"f199\\n") && !strstr(text, "n201"), "the first 200 functions are nodes");
    ok(strstr(text, "  n199 -> n200 ["), "functions among the first 200 have edges");
    free(text);
    fake_free(&fake);
}

static void without_sums(void)
{
    struct fake fake;
    unsigned m = begin(&fake);
    unsigned none = fake_metric(&fake, "stddev", "double", PF_OVER_NO_CONTEXTS, PF_SUM);
    fake_context(&fake, PF_NO_CONTEXT, "f", PF_ROOT);
    fake_finish(&fake);
    graphs(&fake, m, HEAD("time: 0 ns total") "}\n", "a metric without values has no nodes");
    graphs(&fake, none, HEAD("stddev cannot be summed over contexts; see contexts.csv") "}\n",
           "a metric that is not additive has no nodes");
    fake_free(&fake);
}

int main(void)
{
    calls_between_functions();
    small_shares_are_left_out();
    names_are_quoted_and_cut();
    at_most_200_functions();
    without_sums();
    return done();
}
