/* SPDX-License-Identifier: MIT */
#include "formats/cube/cube.h"
#include "formats/kit/pass.h"
#include "tests/unit/cpu_limit.h"
#include "tests/unit/cube_fixture.h"

/* Parsing of all variants of anchor.xml. */

#define WITH(metrics, program, system)                                                                       \
    "<cube version=\"4.3\"><metrics>" metrics "</metrics>" program system "</cube>"

static void set_up_anchor(struct fixture *fixture, const char *anchor)
{
    struct bytes tar = {0};
    put_text(&tar, "anchor.xml", anchor);
    set_up(fixture, &tar);
}

/* ---- metrics ------------------------------------------------------------------------------------ */

static const char *metrics_text(const struct pf_model *model)
{
    static char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    for (size_t i = 0; i < model->n_metrics; i++) {
        struct pf_cell cells[8];
        model->metric_cells(model, i, cells);
        fprintf(out, "%s %s parent ", model->metrics[i].name, model->metrics[i].scope);
        print_cell(out, &cells[0]);
        fputc('|', out);
    }
    fclose(out);
    return text;
}

static void metrics_form_a_tree(void)
{
    struct fixture fixture;
    set_up_anchor(&fixture,
                  WITH("<metric id='0' type='EXCLUSIVE'><uniq_name>time</uniq_name><dtype>DOUBLE</dtype>"
                       "<metric id='7'><uniq_name>mpi</uniq_name><dtype>DOUBLE</dtype></metric>"
                       "<metric id='9' type='POSTDERIVED'><uniq_name>share</uniq_name><dtype>DOUBLE</dtype>"
                       "<cubepl type=plus>metric::time() &lt; 3</cubepl></metric>"
                       "</metric>"
                       "<metric id='10' type='PREDERIVED_INCLUSIVE'><uniq_name>pre</uniq_name></metric>",
                       PROGRAM, SYSTEM));
    const struct pf_model *model = &fixture.model;
    is(metrics_text(model),
       "time exclusive parent |time (inc) inclusive parent |mpi exclusive parent 0|mpi (inc) inclusive "
       "parent 1|"
       "share derived parent 0|pre (inc) inclusive parent |",
       "a metric is split into an exclusive and an inclusive one, a derived metric is not; parts name their "
       "parents");
    is(model->metrics[4].expression, "metric::time() < 3", "a derived metric has its expression");
    ok(!model->metrics[0].expression && model->metrics[0].partner == 1 && model->metrics[1].partner == 0,
       "the two metrics made from one are partners");
    tear_down(&fixture);
}

static void names_of_metrics_are_unique(void)
{
    struct fixture fixture;
    set_up_anchor(&fixture,
                  WITH(METRIC(0, "EXCLUSIVE", "t", "DOUBLE") METRIC(1, "EXCLUSIVE", "t", "DOUBLE")
                           METRIC(2, "EXCLUSIVE", "t (inc)", "DOUBLE") METRIC(3, "EXCLUSIVE", "", "DOUBLE"),
                       PROGRAM, SYSTEM));
    is(metrics_text(&fixture.model),
       "t exclusive parent |t (inc) inclusive parent |t#1 exclusive parent |t#1 (inc) inclusive parent |"
       "t (inc)#2 exclusive parent |t (inc) (inc) inclusive parent |#3 exclusive parent |#3 (inc) inclusive "
       "parent |",
       "duplicate and empty names get a number");
    tear_down(&fixture);
}

/* ---- text --------------------------------------------------------------------------------------- */

static void markup_is_taken_as_it_comes(void)
{
    struct fixture fixture;
    set_up_anchor(&fixture,
                  "<?xml version=\"1.0\"?>\n<!DOCTYPE cube>\n<!-- a <cube> in a comment --- here -->\n"
                  "<cube version=4.4><attr key=\"a\"  value='b &amp; \"c\" &#x263a;'/><attr key=x value=y/>"
                  "<metrics title=\"&lt;odd&gt;\"><metric id=\"0\"><uniq_name><![CDATA[a<b]]></uniq_name>"
                  "<dtype> DOUBLE\n</dtype><uom>A & B &nothing; 1 < 2</uom></metric></metrics>" PROGRAM SYSTEM
                  "</cube>\n");
    const struct pf_model *model = &fixture.model;
    is(model->n_metrics ? model->metrics[0].name : "", "a<b", "CDATA is text");
    is(model->n_metrics ? model->metrics[0].unit : "", "A & B &nothing; 1 < 2",
       "characters that should be escaped but are not are text");
    is(model->version, "4.4", "values without quotes are accepted");
    for (size_t i = 0; i < model->n_tables; i++)
        if (!strcmp(model->tables[i].name, "attributes"))
            is(rows_text(pf_table_rows(&model->tables[i]), 2), "a b & \"c\" \xe2\x98\xba|x y|",
               "character references are decoded");
    ok(is_sound(&fixture), "unusual markup has no warnings");
    tear_down(&fixture);
}

static void a_cut_anchor_is_fatal(void)
{
    static const char whole[] = ANCHOR(METRIC(0, "EXCLUSIVE", "t", "DOUBLE"));
    bool all = true, told = true;
    for (size_t size = 0; size < sizeof whole - 9; size += 13) {
        struct bytes tar = {0};
        struct fixture fixture;
        put_member(&tar, "anchor.xml", whole, size);
        set_up(&fixture, &tar);
        all &= !fixture.result;
        told &= !fixture.result && warns(&fixture, "fatal", "bad-anchor");
        tear_down(&fixture);
    }
    ok(all, "an anchor truncated anywhere can be opened");
    ok(told, "an anchor truncated anywhere is reported");
}

static void names_may_be_long(void)
{
    struct bytes anchor = {0}, tar = {0};
    struct fixture fixture;
    put(&anchor, "<cube version=\"4\"><metrics/><program><region id=\"0\" mod=\"", 58);
    for (int i = 0; i < 60000; i++)
        put(&anchor, "longer&amp;", 11);
    put(&anchor, "\"><name>", 8);
    for (int i = 0; i < 100000; i++)
        put(&anchor, "longer ", 7);
    put(&anchor, "</name></region><cnode id=\"0\" calleeId=\"0\"/></program>" SYSTEM "</cube>",
        strlen("</name></region><cnode id=\"0\" calleeId=\"0\"/></program>" SYSTEM "</cube>"));
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    forget(&anchor);
    set_up(&fixture, &tar);
    const struct pf_tree *tree = fixture.model.contexts;
    ok(!fixture.result && tree->count == 1 && pf_interned(tree->strings, tree->name[0]).size > 100000 &&
           pf_interned(tree->strings, tree->name[0]).size < 700000,
       "names of megabytes are truncated");
    tear_down(&fixture);
}

/* ---- contexts and threads ----------------------------------------------------------------------- */

static void contexts_are_those_of_the_document(void)
{
    struct fixture fixture;
    set_up_anchor(&fixture, ANCHOR(""));
    const struct pf_model *model = &fixture.model;
    const struct pf_tree *tree = model->contexts;
    char text[512];
    FILE *out = fmemopen(text, sizeof text, "w");
    for (uint32_t i = 0; i < tree->count; i++) {
        struct pf_cell cells[8], name = pf_interned(tree->strings, tree->name[i]);
        model->context_cells(model, i, cells);
        fprintf(out, "%d %.*s %s %u in region %d called at %d|", (int)pf_tree_id(tree, i), (int)name.size,
                name.text, tree->kinds[tree->kind[i]], tree->line[i], (int)cells[0].i,
                cells[1].type ? (int)cells[1].i : -1);
    }
    fclose(out);
    is(text,
       "0 main function 3 in region 0 called at -1|1 a loop 0 in region 1 called at 7|"
       "2 c region 0 in region 3 called at -1|3 d<int> region 0 in region 4 called at -1|"
       "9 b region 0 in region 2 called at -1|",
       "contexts have the ids of the file, and the kind and location of their region");
    tear_down(&fixture);
}

static const char *kind_of(const struct fixture *fixture, uint32_t context)
{
    const struct pf_tree *tree = fixture->model.contexts;
    return tree->kinds[tree->kind[context]];
}

static void roles_are_kinds(void)
{
    enum { ROLES = 300 };
    struct bytes anchor = {0}, tar = {0};
    struct fixture fixture;
    char text[256];
    static const char head[] = "<cube version='4'><metrics/><program>",
                      tail[] = "</program>" SYSTEM "</cube>";
    put(&anchor, head, sizeof head - 1);
    for (int i = 0; i < ROLES; i++)
        put(&anchor, text,
            (size_t)sprintf(text, "<region id='%d'><name>f</name><role>role %d</role></region>", i,
                            i / 2 * 2));
    for (int i = 0; i < ROLES; i++)
        put(&anchor, text, (size_t)sprintf(text, "<cnode id='%d' calleeId='%d'/>", i, i));
    put(&anchor, tail, sizeof tail - 1);
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    set_up(&fixture, &tar);
    const uint8_t *kinds = fixture.model.contexts->kind;
    is(kind_of(&fixture, 7), "role 6",
       "the kind of a call path is the role of its region, whatever the role is");
    ok(kinds[6] == kinds[7] && kinds[5] != kinds[6], "regions of one role have the same kind");
    tear_down(&fixture);

    anchor.size = 0;
    put(&anchor, head, sizeof head - 1);
    for (int i = 0; i < ROLES; i++)
        put(&anchor, text,
            (size_t)sprintf(text,
                            "<region id='%d'><role>role %d</role></region><cnode id='%d' calleeId='%d'/>", i,
                            i, i, i));
    put(&anchor, tail, sizeof tail - 1);
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    forget(&anchor);
    set_up(&fixture, &tar);
    is(kind_of(&fixture, 254), "role 254", "there are as many kinds as a tree can distinguish");
    is(kind_of(&fixture, 255), "region", "call paths of further roles have the kind 0");
    tear_down(&fixture);
}

static void parameters_are_kept(void)
{
    struct fixture fixture;
    set_up_anchor(&fixture,
                  WITH("",
                       "<program><region id=\"0\"><name>k</name></region><cnode id=\"0\" calleeId=\"0\">"
                       "<parameter partype=\"numeric\" parkey=\"callsite id\" parvalue=\"3\" />"
                       "<parameter partype=\"string\" parkey=\"n\" parvalue=\"x\"/></cnode></program>",
                       SYSTEM));
    struct pf_cell cells[8];
    fixture.model.context_cells(&fixture.model, 0, cells);
    ok(cells[3].type == PF_TEXT && cells[3].size == 18 && !memcmp(cells[3].text, "callsite id=3; n=x", 18),
       "the parameters of a call path are joined in one cell");
    tear_down(&fixture);
}

static bool has_parameters(const struct fixture *fixture, uint32_t context, const char *want)
{
    struct pf_cell cells[8];
    fixture->model.context_cells(&fixture->model, context, cells);
    return cells[3].type == PF_TEXT && cells[3].size == strlen(want) &&
           !memcmp(cells[3].text, want, cells[3].size);
}

static void parameters_follow_nested_call_paths(void)
{
    struct fixture fixture;
    set_up_anchor(
        &fixture,
        WITH("",
             "<program><region id=\"0\"><name>k</name></region><cnode id=\"0\" calleeId=\"0\">"
             "<parameter parkey=\"a\" parvalue=\"1\"/><cnode id=\"1\" calleeId=\"0\">"
             "<parameter parkey=\"b\" parvalue=\"2\"/></cnode><parameter parkey=\"c\" parvalue=\"3\"/>"
             "<cnode id=\"2\" calleeId=\"0\"><parameter parkey=\"d\" parvalue=\"4\"/></program>",
             SYSTEM));
    ok(has_parameters(&fixture, 0, "a=1; c=3") && has_parameters(&fixture, 1, "b=2") &&
           has_parameters(&fixture, 2, "d=4"),
       "parameters belong to the innermost open call path, even if that is never closed");
    tear_down(&fixture);
}

/*
 * Returns the number of strings in the context tree of a call path with `n` parameters of 100 bytes. With `nested`, each parameter is
 * followed by a child call path.
 */
static uint32_t strings_of_parameters(int n, bool nested)
{
    struct bytes anchor = {0}, tar = {0};
    struct fixture fixture;
    char text[200];
    static const char begin[] =
        "<cube version=\"4\"><metrics/><program><region id=\"0\"><name>k</name></region>"
        "<cnode id=\"0\" calleeId=\"0\">",
                      end[] = "</cnode></program>" SYSTEM "</cube>";
    put(&anchor, begin, strlen(begin));
    for (int i = 0; i < n; i++) {
        int size = snprintf(text, sizeof text, "<parameter parkey=\"%0100d\" parvalue=\"x\"/>", i);
        if (nested)
            size +=
                snprintf(text + size, sizeof text - (size_t)size, "<cnode id=\"%d\" calleeId=\"0\"/>", i + 1);
        put(&anchor, text, (size_t)size);
    }
    put(&anchor, end, strlen(end));
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    forget(&anchor);
    set_up(&fixture, &tar);
    uint32_t count = fixture.result ? UINT32_MAX : pf_strings_count(fixture.model.contexts->strings);
    tear_down(&fixture);
    return count;
}

static void parameters_are_kept_once(void)
{
    enum { MANY = 35 };
    uint32_t one = strings_of_parameters(1, false);
    ok(strings_of_parameters(MANY, false) == one && strings_of_parameters(MANY, true) == one,
       "the parameters of a call path are interned once, not for each added parameter");
}

static void threads_have_names_of_their_own(void)
{
    struct fixture fixture;
    set_up_anchor(&fixture, ANCHOR(""));
    is(rows_text(fixture.model.partitions.items, 2), "0 rank 0.master|1 rank 1.master|",
       "if processes have threads of equal names, the process's name precedes the thread's");
    is(rows_text(fixture.model.partitions.fields, fixture.model.partitions.n_fields),
       "0 0 thread rank 0 machine/rank 0|1 0 thread rank 1 machine/rank 1|",
       "threads have rank, thread and location");
    tear_down(&fixture);

    set_up_anchor(
        &fixture,
        WITH("", PROGRAM,
             "<system><machine Id='0'><name>m</name><node Id='0'><name>n</name><process Id='0'><name>p</name>"
             "<rank>5</rank><thread Id='1'><name>one</name><rank>1</rank></thread>"
             "<thread Id='0'><name>zero</name><rank>0</rank></thread></process></node></machine></system>"));
    is(rows_text(fixture.model.partitions.items, 2), "0 zero|1 one|",
       "threads of version 4.0 have names, and are ordered by id");
    is(rows_text(fixture.model.partitions.fields, fixture.model.partitions.n_fields),
       "5 0 thread p m/n/p|5 1 thread p m/n/p|",
       "threads of version 4.0 are located by machine, node and process");
    tear_down(&fixture);
}

static void long_names_are_cut_between_characters(void)
{
    struct fixture fixture;
    char name[2 * 1024], anchor[4 * sizeof name] = "<cube version='4'><metrics/>" PROGRAM
                                                   "<system><systemtreenode Id='0'><locationgroup Id='0'>";
    size_t size = 1;
    name[0] = 'a';
    for (; size < sizeof name - 2; size += 2)
        memcpy(name + size, "\xc3\xa9", 2);
    for (int i = 0; i < 2; i++) {
        char *end = anchor + strlen(anchor);
        snprintf(end, sizeof anchor - (size_t)(end - anchor),
                 "<location Id='%d'><name>%.*s</name></location>", i, (int)size, name);
    }
    strcat(anchor, "</locationgroup></systemtreenode></system></cube>");
    set_up_anchor(&fixture, anchor);
    const struct pf_cell *thread = fixture.result ? NULL : &pf_rows_at(fixture.model.partitions.items, 0)[1];
    ok(thread && thread->size == 1025 && !memcmp(thread->text, name, 1023) &&
           !memcmp(thread->text + 1023, "#0", 2),
       "a long name of several threads is truncated between characters");
    tear_down(&fixture);
}

static void wrong_ids_are_fatal(void)
{
    struct fixture fixture;
    set_up_anchor(&fixture,
                  WITH("", "<program><region id='0'/><cnode id='0' calleeId='4'/></program>", SYSTEM));
    ok(!fixture.result && warns(&fixture, "fatal", "no-region"), "a call path without a region is reported");
    tear_down(&fixture);
    set_up_anchor(&fixture,
                  WITH("",
                       "<program><region id='0'/><cnode id='7' calleeId='0'><cnode id='7' calleeId='0'/>"
                       "</cnode></program>",
                       SYSTEM));
    ok(!fixture.result && warns(&fixture, "fatal", "doubled-id") &&
           pf_tree_id(fixture.model.contexts, 1) == 1,
       "a duplicate call path is reported, and ids are replaced by numbers");
    tear_down(&fixture);
    set_up_anchor(
        &fixture,
        WITH("", PROGRAM, "<system><systemtreenode Id='0'><location Id='1'/></systemtreenode></system>"));
    ok(!fixture.result && warns(&fixture, "fatal", "bad-id"), "a missing location is reported");
    tear_down(&fixture);
}

/* ---- depth -------------------------------------------------------------------------------------- */

/* Writes `depth` nested calls, each with one row of values for this number of locations. */
static void put_chain(struct bytes *tar, uint32_t depth, uint32_t locations)
{
    struct bytes anchor = {0}, rows = {0};
    char text[128];
    put(&anchor, "<cube version='4'><metrics>", 27);
    put(&anchor, METRIC(0, "EXCLUSIVE", "n", "UINT8"), strlen(METRIC(0, "EXCLUSIVE", "n", "UINT8")));
    put(&anchor, "</metrics><program><region id='0'><name>f</name></region>", 57);
    for (uint32_t i = 0; i < depth; i++)
        put(&anchor, text, (size_t)snprintf(text, sizeof text, "<cnode id='%u' calleeId='0'>", i));
    for (uint32_t i = 0; i < depth; i++)
        put(&anchor, "</cnode>", 8);
    put(&anchor, "</program><system><process>", 27);
    for (uint32_t i = 0; i < locations; i++)
        put(&anchor, text,
            (size_t)snprintf(text, sizeof text, "<thread Id='%u'><name>%u</name></thread>", i, i));
    put(&anchor, "</process></system></cube>", 26);
    put_member(tar, "anchor.xml", anchor.at, anchor.size);
    for (size_t i = 0; i < (size_t)depth * locations; i++)
        put_number(&rows, 1, 1, false);
    put_index(tar, "0.index", NULL, -1, false);
    put_data(tar, "0.data", &rows);
    forget(&anchor);
    forget(&rows);
}

/* Each call has the exclusive value 1, so its inclusive value is the number of calls in its subtree. */
static void deep_calls_add_up(uint32_t depth, uint32_t locations)
{
    struct bytes tar = {0};
    struct fixture fixture;
    struct pf_cell cells[8] = {{0}};
    put_chain(&tar, depth, locations);
    set_up(&fixture, &tar);
    const struct pf_table *table = fixture.model.values;
    uint64_t right = 0;
    for (int by_thread = 0; by_thread < 2; by_thread++) {
        struct pf_cursor cursor = {.model = &fixture.model,
                                   .table = table,
                                   .only = {by_thread ? (int64_t)locations - 1 : -1, -1, 1, -1}};
        if (fixture.result || table->ops->open(&cursor, &fixture.error))
            abort();
        while (table->ops->next(&cursor, cells, &fixture.error) > 0)
            right += cells[3].i == depth - cells[1].i;
        table->ops->close(&cursor);
    }
    ok(right == (uint64_t)depth * locations + depth,
       "%u nested calls in %u threads add up, by rows and by columns", depth, locations);
    tear_down(&fixture);
}

/* ---- bounds ------------------------------------------------------------------------------------- */

static void load_anchor(void *text)
{
    struct fixture fixture;
    set_up_anchor(&fixture, text);
    tear_down(&fixture);
}

/* Many threads inside of many nested nodes, which have no names and so are not part of the threads' paths. */
static void systems_may_be_deep(void)
{
    enum { DEPTH = 50000, LOCATIONS = 50000 };
    struct pf_pass pass = {0}, *before;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("<cube version=\"4.3\"><metrics></metrics>" PROGRAM "<system>", out);
    for (int i = 0; i < DEPTH; i++)
        fputs("<node>", out);
    for (int i = 0; i < LOCATIONS; i++)
        fprintf(out, "<location Id='%d'/>", i);
    for (int i = 0; i < DEPTH; i++)
        fputs("</node>", out);
    fputs("</system></cube>", out);
    fclose(out);
    ok(returns_within(4, load_anchor, text), "many threads deep in the system are loaded in linear time");
    before = pf_pass_begin(&pass);
    load_anchor(text);
    pf_pass_end(before);
    ok(atomic_load(&pass.total) == LOCATIONS && atomic_load(&pass.done) > 0,
       "naming of threads can be cancelled");
    free(text);
}

static void metrics_can_be_cancelled(void)
{
    enum { METRICS = 2000 };
    struct pf_pass pass = {0}, *before;
    struct fixture fixture;
    struct bytes tar = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("<cube version=\"4.3\"><metrics>", out);
    for (int i = 0; i < METRICS; i++)
        fprintf(out, "<metric id='%d' type='POSTDERIVED'><uniq_name>m%d</uniq_name></metric>", i, i);
    fputs("</metrics>" PROGRAM SYSTEM "</cube>", out);
    fclose(out);
    put_text(&tar, "anchor.xml", text);
    before = pf_pass_begin(&pass);
    open_fixture(&fixture, &tar);
    pf_pass_end(before);
    ok(!fixture.result && atomic_load(&pass.total) == METRICS && atomic_load(&pass.done) > 0,
       "naming of metrics can be cancelled");
    tear_down(&fixture);
    free(text);
}

int main(void)
{
    metrics_form_a_tree();
    names_of_metrics_are_unique();
    markup_is_taken_as_it_comes();
    a_cut_anchor_is_fatal();
    names_may_be_long();
    contexts_are_those_of_the_document();
    roles_are_kinds();
    parameters_are_kept();
    parameters_follow_nested_call_paths();
    parameters_are_kept_once();
    threads_have_names_of_their_own();
    long_names_are_cut_between_characters();
    wrong_ids_are_fatal();
    deep_calls_add_up(150000, 1); /* this and the next one need more than NUMBERS_MAX sums (cube/sums.c) */
    deep_calls_add_up(60, 12000);
    systems_may_be_deep();
    metrics_can_be_cancelled();
    return done();
}
