/* SPDX-License-Identifier: MIT */
#include <libxml/parser.h>
#include <math.h>

#include "fs/draw/draw.h"
#include "fs/text/text.h"
#include "fs/draw/svg.h"
#include "tests/unit/fake_model.h"

/* Pictures, read back as XML. */

struct picture {
    struct pf_buf text;
    xmlDoc *document; /* NULL: it is not well-formed */
};

static struct picture picture_of(struct pf_lines *lines)
{
    struct pf_error error;
    struct picture picture = {0};
    must(lines);
    while (lines->ops->next(lines, &picture.text, &error) > 0)
        ;
    lines->ops->close(lines);
    must(!picture.text.failed);
    picture.document = xmlReadMemory(picture.text.data, (int)picture.text.size, NULL, NULL,
                                     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_HUGE);
    return picture;
}

static void free_picture(struct picture *picture)
{
    xmlFreeDoc(picture->document);
    pf_buf_free(&picture->text);
}

/* All elements of this name below a node; `titles`: those that hold a title alone, whose texts are added to it. */
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

static struct picture flame_of(struct fake *fake, unsigned metric)
{
    struct pf_error error;
    return picture_of(pf_flame_lines(&fake->model, fake->aggregate, metric, &error));
}

/* ---- flame graphs ------------------------------------------------------------------------------- */

static void flames(void)
{
    struct fake fake;
    fake_init(&fake, 1);
    unsigned time = fake_metric(&fake, "time", "int", PF_OVER_ALL, PF_SUM);
    unsigned odd = fake_metric(&fake, "odd", "int", PF_OVER_NO_CONTEXTS, PF_SUM);
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
       "a frame a context with a positive value, whatever it is called");
    free(titles);
    free_picture(&picture);
    picture = flame_of(&fake, odd);
    ok(picture.document && !count(xmlDocGetRootElement(picture.document), "title", NULL),
       "what does not add up has no frames");
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
       "    (beside which there is the background)");
    free(titles);
    free_picture(&picture);
    fake_free(&fake);
}

/* Deep and wide, with long names: whatever the tree is, the picture stays small. */
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
       "and shows what it can");
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
    const struct pf_table table = {.name = "trace", .columns = trace_columns, .n_columns = 5, .rows = &rows};
    ok(!pf_timeline_table(&fake.model), "a profile without a trace has no time line");
    fake.model.tables = &table;
    fake.model.n_tables = 1;
    fake.model.time_unit = "ns";
    ok(pf_timeline_table(&fake.model) == &table, "one with a trace has one");
    struct picture picture = picture_of(pf_timeline_lines(&fake.model, &error));
    ok(picture.document && strstr(picture.text.data, "nothing to show"), "an empty one shows nothing");
    free_picture(&picture);
    add_span(rows, 0, pf_int(1000000000), pf_int(990), 0);
    add_span(rows, 0, pf_int(1000000000), pf_int(10), 1);
    add_span(rows, 1, pf_double(1000000500), pf_int(2), 0);
    add_span(rows, 1, pf_int(1000000600), pf_absent(), 0);
    picture = picture_of(pf_timeline_lines(&fake.model, &error));
    char *titles = titles_of(&picture);
    is(titles, "t0|t1|", "a row a thread");
    ok(picture.document && strstr(picture.text.data, "d=\"M212 55h978M700 69h4\"") &&
           strstr(picture.text.data, "d=\"M200 55h12\""),
       "the deepest stack in each bin of time");
    ok(picture.document && strstr(picture.text.data, ">990 ns<"), "and the time that it took");
    free(titles);
    free_picture(&picture);
    pf_rows_free(rows);
    fake_free(&fake);
}

/* ---- runs --------------------------------------------------------------------------------------- */

static void runs(void)
{
    struct pf_error error;
    const char *names[] = {"run1", "run<2>", "run3"};
    struct pf_runs_picture *picture = pf_runs_picture_new("time", "ns", names, 3, &error);
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
    struct pf_buf text = {0};
    pf_runs_picture_draw(picture, &text);
    struct picture drawn = picture_of(pf_lines_of_text(&text, &error));
    char *titles = titles_of(&drawn);
    is(titles,
       "run1|run<2>|run3|even29|even30|even31|even32|even33|even34|even35|even36|even37|even38|even39|grown|",
       "of many functions those that hold the most, and before these what changes");
    free(titles);
    free_picture(&drawn);
    pf_runs_picture_free(picture);
}

int main(void)
{
    flames();
    narrow_flames();
    large_flames();
    timelines();
    runs();
    ok(svg_colour("libc.so", 7) == svg_colour("libc.so", 7), "a module always has one colour");
    return done();
}
