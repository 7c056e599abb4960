/* SPDX-License-Identifier: MIT */
#include "formats/kit/array.h"
#include "tests/unit/fake_model.h"

/* Tests modules.csv, files.csv, lines.csv and groups.csv: exclusive values by source location and by common properties of threads. */

#define COLUMNS "functions,exclusive,exclusive_percent,unit,"
#define LINES   "exclusive,exclusive_percent,unit,line,name,file\n"
#define GROUPS  "column,partitions,sum,sum_percent,value\n"

/* A context with a value. A module or file that is NULL, or a line that is 0, means that the context has none of its own. */
struct placed {
    uint32_t parent;
    const char *name, *module, *file;
    uint32_t line;
    uint8_t flags;
    int64_t value;
};

static uint32_t interned(struct pf_tree *tree, const char *text)
{
    struct pf_error error;
    return text ? pf_intern(tree->strings, text, strlen(text), &error) : PF_NO_STRING;
}

static void add_placed(struct fake *fake, unsigned metric, const struct placed *placed, size_t n)
{
    struct pf_error error;
    struct pf_tree *tree = fake->model.contexts;
    for (size_t i = 0; i < n; i++) {
        uint32_t context = fake_context(fake, placed[i].parent, placed[i].name, placed[i].flags);
        fake_value(fake, 0, context, metric, placed[i].value);
    }
    must(!pf_array_resize(&tree->module, n, sizeof *tree->module, &error) &&
         !pf_array_resize(&tree->file, n, sizeof *tree->file, &error) &&
         !pf_array_resize(&tree->line, n, sizeof *tree->line, &error));
    for (size_t i = 0; i < n; i++) {
        tree->module[i] = interned(tree, placed[i].module);
        tree->file[i] = interned(tree, placed[i].file);
        tree->line[i] = placed[i].line;
    }
    fake_finish(fake);
}

static unsigned begin(struct fake *fake, enum pf_over_contexts over)
{
    fake_init(fake, 1);
    return fake_metric(fake, "time", "int", over, PF_SUM);
}

/*
 * main (a.c:1) in app
 *   line 5 of a.c
 *     f (f.c:1) in lib
 *       code of f inlined from b.h:7
 *   f without a location
 */
static const struct placed calls[] = {
    {PF_NO_CONTEXT, "main", "app", "a.c", 1, PF_FRAME | PF_ROOT, 1},
    {0, "line", NULL, NULL, 5, 0, 2},
    {1, "f", "lib", "f.c", 1, PF_FRAME, 4},
    {2, "inlined", NULL, "b.h", 7, 0, 8},
    {0, "f", NULL, NULL, 0, PF_FRAME, 16},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void locations_of_contexts(void)
{
    struct fake fake;
    unsigned m = begin(&fake, PF_OVER_ALL);
    add_placed(&fake, m, calls, CALLS);
    shows(&fake, m, PF_METRIC_MODULES,
          COLUMNS
          "module\n1,16,51.61290322580645,ns,\n1,12,38.70967741935484,ns,lib\n1,3,9.67741935483871,ns,app\n",
          "modules.csv: a line belongs to its function's module, and contexts without a module share a row");
    shows(&fake, m, PF_METRIC_FILES,
          COLUMNS
          "file\n1,16,51.61290322580645,ns,\n0,8,25.806451612903224,ns,b.h\n1,4,12.903225806451612,ns,f.c\n"
          "1,3,9.67741935483871,ns,a.c\n",
          "files.csv: inlined code belongs to its own file, which counts no function");
    shows(&fake, m, PF_METRIC_LINES,
          LINES
          "16,51.61290322580645,ns,,,\n8,25.806451612903224,ns,7,f,b.h\n4,12.903225806451612,ns,1,f,f.c\n"
          "2,6.451612903225806,ns,5,main,a.c\n1,3.225806451612903,ns,1,main,a.c\n",
          "lines.csv: values belong to the innermost line, with the name of its function");
    fake_free(&fake);
}

/* A function's value includes its lines' values. It is 20, of which the loop has 5 and the line in the loop 3. */
static void frames_hold_their_lines(void)
{
    static const struct placed nested[] = {
        {PF_NO_CONTEXT, "main", NULL, "a.c", 1, PF_FRAME | PF_ROOT, 20},
        {0, "loop", NULL, NULL, 4, 0, 5},
        {1, "line", NULL, NULL, 5, 0, 3},
        {2, "f", NULL, "f.c", 2, PF_FRAME, 10},
    };
    struct fake fake;
    unsigned m = begin(&fake, PF_OVER_FRAMES);
    add_placed(&fake, m, nested, sizeof nested / sizeof *nested);
    shows(&fake, m, PF_METRIC_LINES,
          LINES "15,50,ns,1,main,a.c\n10,33.333333333333336,ns,2,f,f.c\n3,10,ns,5,main,a.c\n"
                "2,6.666666666666667,ns,4,main,a.c\n",
          "lines.csv: a function's own line has the value that its other lines leave");
    shows(&fake, m, PF_METRIC_FILES,
          COLUMNS "file\n1,20,66.66666666666667,ns,a.c\n1,10,33.333333333333336,ns,f.c\n",
          "files.csv: a loop's value is not added to its function's");
    fake_free(&fake);
}

static void ties_are_in_order_of_names(void)
{
    static const struct placed equal[] = {
        {PF_NO_CONTEXT, "g", NULL, "b", 10, PF_FRAME, 1}, {PF_NO_CONTEXT, "g", NULL, "b", 9, PF_FRAME, 1},
        {PF_NO_CONTEXT, "g", NULL, "a", 11, PF_FRAME, 1}, {PF_NO_CONTEXT, "f", NULL, "c", 12, PF_FRAME, 1},
        {PF_NO_CONTEXT, "h", NULL, NULL, 0, PF_FRAME, 1},
    };
    struct fake fake;
    unsigned m = begin(&fake, PF_OVER_ALL);
    add_placed(&fake, m, equal, sizeof equal / sizeof *equal);
    shows(&fake, m, PF_METRIC_LINES,
          LINES "1,20,ns,,,\n1,20,ns,12,f,c\n1,20,ns,11,g,a\n1,20,ns,9,g,b\n1,20,ns,10,g,b\n",
          "lines.csv: equal values are ordered by name, file and line number");
    fake_free(&fake);
}

static void metrics_that_do_not_add_up(void)
{
    struct fake fake;
    unsigned m = begin(&fake, PF_OVER_NO_CONTEXTS);
    add_placed(&fake, m, calls, CALLS);
    shows(&fake, m, PF_METRIC_MODULES, COLUMNS "module\n1,,,ns,\n1,,,ns,app\n1,,,ns,lib\n",
          "modules.csv: cells are empty if the metric does not add up over contexts");
    shows(&fake, m, PF_METRIC_GROUPS, GROUPS,
          "groups.csv: a profile without grouping columns has only the header");
    fake_free(&fake);
}

static void no_values(void)
{
    struct fake fake;
    unsigned m = begin(&fake, PF_OVER_ALL);
    fake_context(&fake, PF_NO_CONTEXT, "main", PF_ROOT);
    fake_finish(&fake);
    shows(&fake, m, PF_METRIC_MODULES, COLUMNS "module\n",
          "modules.csv: a metric without values has only the header");
    shows(&fake, m, PF_METRIC_LINES, LINES, "lines.csv: a metric without values has only the header");
    fake_free(&fake);
}

/* ---- a table of lines --------------------------------------------------------------------------- */

static void a_table_of_lines(void)
{
    static const struct pf_column columns[] = {{"metric", PF_METRIC, 0},
                                               {"value", PF_PLAIN, 0},
                                               {"line", PF_PLAIN, 0},
                                               {"name", PF_PLAIN, 0},
                                               {"file", PF_PLAIN, 0}};
    struct fake fake;
    struct pf_error error;
    struct pf_rows *rows = pf_rows_new(5);
    unsigned m = begin(&fake, PF_OVER_ALL), other = fake_metric(&fake, "calls", "int", PF_OVER_ALL, PF_SUM);
    struct pf_cell cells[][5] = {
        {pf_int(m), pf_int(5), pf_int(3), pf_string("f"), pf_string("a.c")},
        {pf_int(other), pf_int(9), pf_int(3), pf_string("f"), pf_string("a.c")},
        {pf_int(m), pf_int(7), pf_int(4), pf_string("f"), pf_string("a.c")},
        {pf_int(m), pf_int(5), pf_int(3), pf_string("f"), pf_string("a.c")},
        {pf_int(m), pf_int(14), pf_absent(), pf_absent(), pf_absent()},
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        must(rows && !pf_rows_add(rows, cells[i], &error));
    struct pf_table tables[] = {{.name = "lines", .columns = columns, .n_columns = 5, .data = &rows}};
    fake.model.tables = tables;
    fake.model.n_tables = 1;
    add_placed(&fake, m, calls, CALLS);
    shows(&fake, m, PF_METRIC_LINES,
          LINES
          "14,45.16129032258065,ns,,,\n10,32.25806451612903,ns,3,f,a.c\n7,22.580645161290324,ns,4,f,a.c\n",
          "lines.csv: equal rows of the format's own table are added");
    pf_rows_free(rows);
    fake_free(&fake);
}

/* ---- groups ------------------------------------------------------------------------------------- */

static void threads_that_share_a_value(void)
{
    static const struct pf_column columns[] = {
        {"node", PF_GROUP, 0}, {"tid", PF_PLAIN, 0}, {"rank", PF_GROUP, 0}, {"host", PF_GROUP, 0}};
    static const struct {
        const char *node;
        int64_t rank;
    } threads[] = {{"b, 1", 7}, {"a", 7}, {"b, 1", 0}, {NULL, 0}};
    struct fake fake;
    struct pf_error error;
    fake_init(&fake, 4);
    unsigned m = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    unsigned peak = fake_metric(&fake, "peak", "int", PF_OVER_ALL, PF_AT);
    unsigned least = fake_metric(&fake, "least", "int", PF_OVER_ALL, PF_MIN);
    fake.metrics[peak].at = 1;
    struct pf_rows *fields = pf_rows_new(4);
    uint32_t f = fake_context(&fake, PF_NO_CONTEXT, "f", PF_ROOT);
    for (int t = 0; t < 4; t++) {
        struct pf_cell cells[] = {pf_string(threads[t].node), pf_int(t), pf_int(threads[t].rank),
                                  pf_absent()};
        must(fields && !pf_rows_add(fields, cells, &error));
        if (t != 2)
            for (unsigned metric = m; metric <= least; metric++)
                fake_value(&fake, t, f, metric, 10 << t);
    }
    fake.model.partitions.fields = fields;
    fake.model.partitions.field_columns = columns;
    fake.model.partitions.n_fields = 4;
    fake_finish(&fake);
    shows(
        &fake, m, PF_METRIC_GROUPS,
        GROUPS
        "node,2,10,9.090909090909092,\"b, 1\"\nnode,1,20,18.181818181818183,a\nnode,1,80,72.72727272727273,\n"
        "rank,2,30,27.272727272727273,7\nrank,2,80,72.72727272727273,0\n",
        "groups.csv: each value of a column has a row, in order of first appearance; an empty column has "
        "none");
    shows(&fake, peak, PF_METRIC_GROUPS,
          GROUPS "node,2,0,0,\"b, 1\"\nnode,1,20,100,a\nnode,1,0,0,\nrank,2,20,100,7\nrank,2,0,0,0\n",
          "groups.csv: only the group of the thread that the metric shows has a value");
    shows(&fake, least, PF_METRIC_GROUPS,
          GROUPS "node,2,,,\"b, 1\"\nnode,1,,,a\nnode,1,,,\nrank,2,,,7\nrank,2,,,0\n",
          "groups.csv: sums are empty if the metric does not add up over threads");
    pf_rows_free(fields);
    fake.model.partitions.fields = NULL;
    fake_free(&fake);
}

static void a_million_lines(void)
{
    enum { MANY = 1000 * 1000 };
    struct fake fake;
    struct pf_error error;
    unsigned m = begin(&fake, PF_OVER_ALL);
    struct pf_tree *tree = fake.model.contexts;
    for (uint32_t i = 0; i < MANY; i++)
        fake_value(&fake, 0, fake_context(&fake, i ? 0 : PF_NO_CONTEXT, "f", 0), m, 1);
    must(!pf_array_resize(&tree->line, MANY, sizeof *tree->line, &error));
    for (uint32_t i = 0; i < MANY; i++)
        tree->line[i] = i + 1;
    fake_finish(&fake);
    struct pf_buf text = fake_text(&fake, m, PF_METRIC_LINES);
    static const char last[] = "\n1,0.0001,ns,1000000,f,\n";
    ok(text.size > sizeof last && !strcmp(text.data + text.size - sizeof last, last),
       "lines.csv: a million lines have a row each");
    pf_buf_free(&text);
    fake_free(&fake);
}

int main(void)
{
    locations_of_contexts();
    frames_hold_their_lines();
    ties_are_in_order_of_names();
    metrics_that_do_not_add_up();
    no_values();
    a_table_of_lines();
    threads_that_share_a_value();
    a_million_lines();
    return done();
}
