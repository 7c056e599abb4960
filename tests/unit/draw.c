/* SPDX-License-Identifier: MIT */
#include <libxml/parser.h>
#include <math.h>

#include "fs/draw/draw.h"
#include "fs/draw/svg.h"
#include "fs/text/text.h"
#include "tests/unit/fake_model.h"

/* SVG pictures, parsed as XML to check them. */

struct picture {
    struct pf_buf text;
    xmlDoc *document; /* NULL: not well-formed */
};

static struct picture picture_of(struct pf_walk *walk)
{
    struct pf_error error;
    struct picture picture = {0};
    must(walk);
    while (walk->ops->next(walk, &picture.text, &error) > 0)
        ;
    walk->ops->close(walk);
    pf_buf_char(&picture.text, 0); /* the terminator, for strstr */
    must(!picture.text.failed);
    picture.text.size--;
    picture.document = xmlReadMemory(picture.text.data, (int)picture.text.size, NULL, NULL,
                                     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_HUGE);
    return picture;
}

static void free_picture(struct picture *picture)
{
    xmlFreeDoc(picture->document);
    pf_buf_free(&picture->text);
}

/* Returns the number of elements with this name in a list of sibling nodes and below; appends their texts to `titles` unless it is NULL. */
static size_t count(const xmlNode *node, const char *name, FILE *titles)
{
    size_t n = 0;
    for (; node; node = node->next) {
        bool is = node->type == XML_ELEMENT_NODE && !strcmp((const char *)node->name, name);
        if (is && titles) {
            xmlChar *text = xmlNodeGetContent(node);
            fprintf(titles, "%s|", (const char *)text);
            xmlFree(text);
        }
        n += is + count(node->children, name, titles);
    }
    return n;
}

static char *titles_of(const struct picture *picture)
{
    char *titles = NULL;
    size_t size;
    FILE *out = open_memstream(&titles, &size);
    count(picture->document ? xmlDocGetRootElement(picture->document) : NULL, "title", out);
    fclose(out);
    return titles;
}

static bool reads(const struct picture *picture, const char *text)
{
    return picture->document && strstr(picture->text.data, text);
}

static const struct pf_driver driver = {.name = "fake", .title = "made by hand"};

static struct picture flame_of(struct fake *fake, unsigned metric)
{
    struct pf_error error;
    fake->model.driver = &driver;
    return picture_of(pf_flame_walk(&fake->model, fake->aggregate, metric, &error));
}

/* ---- flame graphs ------------------------------------------------------------------------------- */

static void flames(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned time = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    unsigned odd = fake_metric(&fake, "odd", "int", PF_OVER_NO_CONTEXTS, PF_SUM);
    unsigned none = fake_metric(&fake, "none", "int", PF_OVER_ALL, PF_SUM);
    uint32_t root = fake_context(&fake, PF_NO_CONTEXT, "main<int>", PF_ROOT | PF_FRAME);
    fake_value(&fake, 0, root, time, 1000);
    fake_value(&fake, 0, fake_context(&fake, root, "", PF_FRAME), time, 3000);
    fake_value(&fake, 0, fake_context(&fake, root, "ends\n\"so\"\xff\x01\\", PF_FRAME), time, 2000);
    fake_value(&fake, 0, fake_context(&fake, root, "negative", PF_FRAME), time, -500);
    fake_value(&fake, 0, root, odd, 7);
    fake_finish(&fake);
    struct picture picture = flame_of(&fake, time);
    char *titles = titles_of(&picture);
    is(titles,
       "main<int> (6000 ns, 100.00%)| (3000 ns, 50.00%)|ends\\n\"so\"\\xFF\\x01\\\\ (2000 ns, 33.33%)|",
       "each context with a positive value is a frame, whatever its name");
    ok(reads(&picture, ">time, ns: 5500 (5.50 us) total<"), "the head gives metric, unit and total");
    ok(reads(&picture, ">fake: made by hand<"), "the head gives the format and the title");
    free(titles);
    free_picture(&picture);
    picture = flame_of(&fake, odd);
    ok(picture.document && !count(xmlDocGetRootElement(picture.document), "title", NULL),
       "a metric that cannot be summed has no frames");
    ok(reads(&picture, ">empty: the metric cannot be summed over contexts<"),
       "a picture of a metric that cannot be summed says so");
    free_picture(&picture);
    picture = flame_of(&fake, none);
    ok(reads(&picture, ">none, ns: 0 total<") && reads(&picture, ">empty: no context has a positive value<"),
       "a picture without values says so");
    free_picture(&picture);
    fake_free(&fake);
}

static void narrow_flames(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned time = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    uint32_t root = fake_context(&fake, PF_NO_CONTEXT, "main", PF_ROOT | PF_FRAME);
    fake_value(&fake, 0, fake_context(&fake, root, "wide", PF_FRAME), time, 90000);
    for (int i = 0; i < 10000; i++)
        fake_value(&fake, 0, fake_context(&fake, root, "narrow", PF_FRAME), time, 1);
    fake_finish(&fake);
    struct picture picture = flame_of(&fake, time);
    char *titles = titles_of(&picture);
    is(titles, "main (100000 ns, 100.00%)|wide (90000 ns, 90.00%)|",
       "narrow frames are drawn as one, without a title");
    ok(picture.document && count(xmlDocGetRootElement(picture.document), "rect", NULL) == 4,
       "narrow frames are one rectangle");
    free(titles);
    free_picture(&picture);
    fake_free(&fake);
}

/* A profile's own command or title replaces the format's title in a picture. */
static void heads(void)
{
    struct pf_error error;
    struct fake fake;
    fake_init(&fake, 1);
    unsigned time = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    fake_value(&fake, 0, fake_context(&fake, PF_NO_CONTEXT, "main", PF_ROOT | PF_FRAME), time, 3);
    fake_finish(&fake);
    fake.model.info = pf_rows_new(2);
    must(fake.model.info);
    snprintf(fake.model.version, sizeof fake.model.version, "%s", "5");
    must(!pf_rows_add(fake.model.info, (struct pf_cell[]){pf_string("Title"), pf_string("heat, on 4 nodes")},
                      &error));
    struct picture picture = flame_of(&fake, time);
    ok(reads(&picture, ">fake 5: heat, on 4 nodes<"), "a head shows the title of the profile");
    free_picture(&picture);
    must(!pf_rows_add(fake.model.info, (struct pf_cell[]){pf_string("Command"), pf_string("heat <4")},
                      &error));
    picture = flame_of(&fake, time);
    ok(reads(&picture, ">fake 5: heat &lt;4<"),
       "a head shows the command of the profile rather than its title");
    free_picture(&picture);
    pf_rows_free(fake.model.info);
    fake.model.info = NULL;
    fake_free(&fake);
}

static void labels(void)
{
    static const struct {
        const char *name;
        size_t characters;
        const char *wanted;
    } cuts[] = {
        {"short", 5, "short"},
        {"unqualified", 8, "unqual.."},
        {"heat::Grid::sweep(int)", 18, "..Grid::sweep(int)"},
        {"heat::Grid::sweep(int)", 12, "..sweep(int)"},
        {"heat::Grid::sweep(int)", 9, "sweep(i.."},
        {"std::map<a::b, c::d>::at(x::y)", 10, "..at(x::y)"},
        {"f(std::string const&)", 12, "f(std::str.."},
        {"java.util.HashMap.put", 13, "..HashMap.put"},
        {"operator>(A::B, C::D)", 9, "operato.."},
        {"a/b/t \xc3\xa9\xc3\xa9", 7, "../t \xc3\xa9\xc3\xa9"},
        {"namespace::", 6, "..ce::"},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct pf_buf out = {0};
        svg_name_cut(&out, cuts[i].name, strlen(cuts[i].name), cuts[i].characters);
        pf_buf_char(&out, 0);
        is(out.data, cuts[i].wanted, "the start of long qualified names is omitted");
        pf_buf_free(&out);
    }
}

/* The picture of a deep and wide tree with long names must have a bounded size. */
static void large_flames(void)
{
    char name[2000];
    struct fake fake;
    fake_init(&fake, 1);
    unsigned time = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    uint32_t parent = PF_NO_CONTEXT;
    for (int depth = 0; depth < 3000; depth++) {
        parent = fake_context(&fake, parent, name, parent == PF_NO_CONTEXT ? PF_ROOT | PF_FRAME : PF_FRAME);
        for (int i = 0; i < 4; i++)
            fake_value(&fake, 0, fake_context(&fake, parent, "leaf", PF_FRAME), time, 1 + i);
    }
    fake_finish(&fake);
    struct picture picture = flame_of(&fake, time);
    ok(picture.document && picture.text.size <= PF_PICTURE_MAX, "a picture takes at most 2 MB (%zu)",
       picture.text.size);
    ok(picture.document && count(xmlDocGetRootElement(picture.document), "title", NULL) > 100,
       "a picture that is limited to 2 MB has many frames");
    free_picture(&picture);
    fake_free(&fake);
}

/* ---- time lines --------------------------------------------------------------------------------- */

static const struct pf_column trace_columns[] = {{"thread", PF_PARTITION, 0},
                                                 {"time", PF_PLAIN, 0},
                                                 {"duration", PF_PLAIN, 0},
                                                 {"depth", PF_PLAIN, 0},
                                                 {"name", PF_PLAIN, 0}};

static void add_span(struct pf_rows *rows, int thread, struct pf_cell time, struct pf_cell duration,
                     int depth)
{
    struct pf_error error;
    struct pf_cell cells[] = {pf_int(thread), time, duration, pf_int(depth), pf_string("f")};
    must(!pf_rows_add(rows, cells, &error));
}

static void timelines(void)
{
    struct pf_error error;
    struct fake fake;
    fake_init(&fake, 2);
    fake_finish(&fake);
    struct pf_rows *rows = pf_rows_new(5);
    must(rows);
    const struct pf_table table = {.name = "trace", .columns = trace_columns, .n_columns = 5, .data = &rows};
    ok(!pf_timeline_table(&fake.model), "a profile without a trace has no time line");
    fake.model.tables = &table;
    fake.model.n_tables = 1;
    fake.model.time_unit = "ns";
    fake.model.driver = &driver;
    ok(pf_timeline_table(&fake.model) == &table, "a profile with a trace has a time line");
    struct picture picture = picture_of(pf_timeline_walk(&fake.model, &error));
    ok(picture.document && strstr(picture.text.data, "empty: the trace has no rows with a time"),
       "a time line without rows says so");
    free_picture(&picture);
    add_span(rows, 0, pf_int(1000000000), pf_int(990), 0);
    add_span(rows, 0, pf_int(1000000000), pf_int(10), 1);
    add_span(rows, 1, pf_double(1000000500), pf_int(2), 0);
    add_span(rows, 1, pf_int(1000000600), pf_absent(), 0);
    picture = picture_of(pf_timeline_walk(&fake.model, &error));
    char *titles = titles_of(&picture);
    is(titles, "t0|t1|", "each thread has a row");
    ok(picture.document && strstr(picture.text.data, "d=\"M212 67h978M700 81h4\"") &&
           strstr(picture.text.data, "d=\"M200 67h12\""),
       "each bin of time shows its deepest stack");
    ok(reads(&picture, ">threads over time: 990 ns total<"), "the head of a time line gives the total time");
    ok(reads(&picture, ">200 ns<") && reads(&picture, ">800 ns<") && !reads(&picture, ">1000 ns<"),
       "a time line has ticks in round steps");
    free(titles);
    free_picture(&picture);
    pf_rows_free(rows);
    fake_free(&fake);
}

/* ---- runs --------------------------------------------------------------------------------------- */

static struct picture draw_runs(struct pf_runs_picture *picture)
{
    struct pf_error error;
    struct pf_buf text = {0};
    pf_runs_picture_draw(picture, &text);
    return picture_of(pf_walk_of_text(&text, &error));
}

static void runs(void)
{
    struct pf_error error;
    const char *names[] = {"run1", "run<2>", "run3"};
    struct pf_runs_caption caption = {.metric = "time",
                                      .unit = "ns",
                                      .formats = "fake",
                                      .runs = names,
                                      .n = 3,
                                      .totals = (double[]){1e9, 2e9}};
    struct pf_runs_picture *picture = pf_runs_picture_new(&caption, &error);
    must(picture);
    for (int i = 0; i < 40; i++) {
        char name[16];
        double values[] = {1000 + i, NAN, 1000 + i};
        struct pf_cell cell = pf_text(name, (size_t)snprintf(name, sizeof name, "even%d", i));
        must(!pf_runs_picture_add(picture, &cell, values, &error));
    }
    struct pf_cell grown = pf_string("grown"), none = pf_absent();
    must(!pf_runs_picture_add(picture, &grown, (double[]){10, 10, 900}, &error));
    must(!pf_runs_picture_add(picture, &none, (double[]){NAN, NAN, NAN}, &error));
    struct picture drawn = draw_runs(picture);
    char *titles = titles_of(&drawn);
    is(titles,
       "run3|run<2>|run1|even29|even30|even31|even32|even33|even34|even35|even36|even37|even38|even39|grown|",
       "functions with the largest values are drawn, and before them those with the largest changes");
    ok(reads(&drawn, ">time, ns: 1000000000 (1.00 s) to 2000000000 (2.00 s) total<"),
       "the head gives metric, unit and totals");
    ok(reads(&drawn, ">fake: 3 runs, run1 to run3<"), "the head gives the formats and the runs");
    ok(reads(&drawn, ">time, us<") && reads(&drawn, ">0.2</text>") && reads(&drawn, ">1.2</text>"),
       "the axis of values has a unit and round steps");
    free(titles);
    free_picture(&drawn);
    pf_runs_picture_free(picture);
}

/* Checks that the labels of runs with these names are `wanted`: they omit the common prefix and suffix of the names. */
static void names_of_runs(const char *const *names, size_t n, const char *wanted)
{
    struct pf_error error;
    struct pf_runs_caption caption = {
        .metric = "samples", .unit = "", .formats = "fake", .runs = names, .n = n};
    struct pf_runs_picture *picture = pf_runs_picture_new(&caption, &error);
    must(picture);
    struct pf_cell name = pf_string("f");
    must(!pf_runs_picture_add(picture, &name, (double[]){1, 2, 3}, &error));
    struct picture drawn = draw_runs(picture);
    char *labels = NULL;
    size_t size;
    FILE *out = open_memstream(&labels, &size);
    const char *at = drawn.text.data;
    while ((at = strstr(at, "</title>"))) {
        at += strlen("</title>");
        if (*at != '<')
            fprintf(out, "%.*s|", (int)strcspn(at, "<"), at);
    }
    fclose(out);
    is(labels, wanted, "labels of runs omit the common prefix and suffix");
    free(labels);
    free_picture(&drawn);
    pf_runs_picture_free(picture);
}

static void labels_of_runs(void)
{
    names_of_runs(
        (const char *const[]){"app-2026-06-01.pb.gz", "app-2026-06-02.pb.gz", "app-2026-06-13.pb.gz"}, 3,
        "13|02|01|");
    names_of_runs((const char *const[]){"run", "run-2", "run-3"}, 3, "run-3|run-2|run|");
    names_of_runs((const char *const[]){"a.b", "a.b.b", "a.c.b"}, 3, "c.b|b.b|b|");
    names_of_runs((const char *const[]){"1", "2"}, 2, "2|1|");
    struct pf_error error;
    struct pf_runs_caption caption = {
        .metric = "samples", .unit = "", .formats = "fake", .runs = (const char *const[]){"a", "b"}, .n = 2};
    struct pf_runs_picture *picture = pf_runs_picture_new(&caption, &error);
    must(picture);
    struct picture drawn = draw_runs(picture);
    ok(reads(&drawn, ">empty: no function has a positive value in any run<"),
       "a picture without functions says so");
    free_picture(&drawn);
    pf_runs_picture_free(picture);
}

int main(void)
{
    flames();
    heads();
    labels();
    narrow_flames();
    large_flames();
    timelines();
    runs();
    labels_of_runs();
    ok(svg_colour("libc.so", 7) == svg_colour("libc.so", 7), "a module always has the same colour");
    return done();
}
