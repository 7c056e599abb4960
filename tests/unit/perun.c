/* SPDX-License-Identifier: MIT */
#include <sys/resource.h>

#include "formats/driver_extra.h"
#include "tests/unit/perun_file.h"

#define HEADER                                                                                               \
    "\"header\":{\"type\":\"memory\",\"cmd\":\"./a\",\"workload\":\"w\",\"units\":{\"memory\":\"B\"}}"

/* ---- shapes ------------------------------------------------------------------------------------- */

static void test_snapshots(void)
{
    struct file file = file_of(
        "{" HEADER ",\"snapshots\":[{\"resources\":[{\"type\":\"memory\",\"subtype\":\"malloc\",\"amount\":4,"
        "\"address\":7,\"uid\":\"f\"}],\"time\":\"0.1\"},{\"time\":\"0.2\",\"resources\":[]},"
        "{\"timestamp\":3,\"resources\":[{\"amount\":5,\"uid\":\"g\"},{\"amount\":6,\"uid\":\"f\","
        "\"type\":\"memory\",\"subtype\":\"malloc\"}]}],\"global\":{\"time\":\"9\",\"resources\":["
        "{\"amount\":1,\"uid\":\"f\"}]}}");
    table_is(&file, "resources",
             "0,0,0.1,0,,4,7,memory,malloc,f|1,2,3,1,,5,,memory,,g|2,2,3,0,,6,,memory,malloc,f|3,,9,0,,1"
             ",,memory,,f|",
             "snapshots and the global region are read in the order of the file, even if a time follows the "
             "resources");
    table_is(
        &file, "values",
        "0,f,memory(malloc).amount,4|2,f,memory(malloc).amount,6|2,g,memory.amount,5|all,f,memory.amount,1|",
        "values are sums by snapshot, context and metric");
    ok(pf_rows_count(file.model.partitions.items) == 4, "a snapshot without resources is a snapshot");
    warnings_are(&file, "", "a valid file has no warnings");
    file_close(&file);
    file =
        file_of("{\"snapshots\":[{\"resources\":[]},null,{\"resources\":[{\"uid\":\"a\",\"amount\":1}]}]}");
    table_is(&file, "values", "2,a,amount,1|",
             "a snapshot's number is its place in the list, whatever precedes it");
    warnings_are(&file, "warning wrong-kind|", "an element of the list that is not a snapshot is reported");
    file_close(&file);
}

static void test_mixed_global(void)
{
    struct file file = file_of(
        "{\"header\":{},\"global\":[{\"time\":\"1\",\"resources\":[{\"uid\":\"a\",\"amount\":1}]},"
        "{\"time\":\"2\",\"uid\":\"b\",\"amount\":2},{},{\"models\":[]},{\"uid\":\"c\",\"amount\":3}]}");
    table_is(&file, "resources", "0,,1,0,,1,,,a|1,,2,1,,2,,,b|2,,,2,,3,,,c|",
             "a list may hold resources and global regions");
    warnings_are(&file, "", "a list of resources and global regions has no warnings");
    file_close(&file);
}

static void test_types(void)
{
    struct file file = file_of(
        "{\"resources\":{\"b#0\":{\"amount\":[1,2.5],\"order\":[1,2]},\"a#0\":{},\"c#0\":{\"amount\":[7]}},"
        "\"resource_type_map\":{\"a#0\":{\"uid\":\"a\",\"amount\":3,\"snapshot\":5,\"time\":\"0.5\"},"
        "\"b#0\":{\"uid\":\"b\",\"type\":\"time\",\"snapshot\":2},\"c#0\":{\"uid\":\"c\",\"amount\":8}},"
        "\"header\":{\"type\":\"time\",\"units\":{\"time\":\"s\"}}}");
    table_is(
        &file, "resources",
        "0,2,,1,,1,1,time,,b|1,2,,1,,2.5,2,time,,b|2,5,0.5,0,,3,,time,,a|3,,,2,,8,,time,,c|",
        "columns become rows, types find their entries in any order, and shared values win over a column");
    table_is(&file, "values", "2,b,time.amount,3.5|5,a,time.amount,3|all,c,time.amount,8|",
             "integers and decimals of one metric are added");
    is(file.model.metrics[0].unit, "s", "the unit is that of a header after the resources");
    char *all = table_text(&file.model, "resources", PF_UNRESTRICTED, 1000);
    char *hops = table_text(&file.model, "resources", PF_UNRESTRICTED, 1);
    is(hops, all, "a cursor resumes at every saved position");
    free(all);
    free(hops);
    file_close(&file);
}

static void test_damaged_types(void)
{
    struct file file =
        file_of("{\"resources\":{\"x#0\":{\"amount\":[1,2,3],\"address\":[10,20]},\"gone#0\":{"
                "\"amount\":[5]},\"y#0\":{\"amount\":7},\"z#0\":{\"amount\":[true,null,\"x\",9]}},"
                "\"resource_type_map\":{\"x#0\":{\"uid\":\"x\"},\"y#0\":{\"uid\":\"y\"},\"z#0\":"
                "{\"uid\":\"z\"},\"only#0\":{\"uid\":\"only\"}}}");
    table_is(&file, "values", "all,x,amount,3|all,z,amount,9|",
             "rows end with the shortest column; values that are not lists, numbers or entries of the map "
             "are omitted");
    warnings_are(
        &file,
        "warning unequal-columns|warning no-list|warning no-number|warning no-number|warning no-number|"
        "warning no-entry|",
        "each problem of the columns is reported");
    file_close(&file);
}

static void test_members_in_any_order(void)
{
    struct file file =
        file_of("{\"header\":{},\"resources\":[{\"uid\":\"a\",\"type\":\"t\",\"amount\":1},"
                "{\"uid\":\"a\",\"type\":\"t\",\"amount\":2},{\"amount\":3,\"uid\":\"b\",\"type\":\"t\"},"
                "{\"uid\":\"b\",\"type\":\"u\",\"amount\":4,\"trace\":[\"r\"]},{\"uid\":\"b\",\"amount\":5},"
                "{\"uid\":\"b\",\"command\":\"c\",\"amount\":6},{\"uid\":\"b\\\\\",\"amount\":7},"
                "{\"uid\":\"b\\\\\",\"amount\":8},{\"uid\":\"b\",\"uid\":9,\"amount\":10},{\"amount\":11}]}");
    table_is(&file, "resources",
             "0,,,0,,1,,t,,a|1,,,0,,2,,t,,a|2,,,1,,3,,t,,b|3,,,3,,4,,u,,b|4,,,1,,5,,,,b|5,,,5,,6,c,,,b|6"
             ",,,6,,7,,,,b\\|7,,,6,,8,,,,b\\|8,,,7,,10,,,,9|9,,,8,,11,,,,|",
             "members that a resource does not have are not taken from the resource before it");
    file_close(&file);
}

static void test_list_of_resources(void)
{
    struct file file =
        file_of("{\"header\":{},\"resources\":[{\"uid\":\"a\",\"amount\":1},3,{\"uid\":\"b\",\"amount\":2}],"
                "\"chunks\":{\"x\":[1]},\"test\":[[]]}");
    table_is(&file, "values", "all,a,amount,1|all,b,amount,2|", "resources may be a plain list");
    warnings_are(&file, "warning wrong-kind|",
                 "an element of the list that is not a resource is reported; unknown regions are skipped");
    file_close(&file);
}

/* ---- contexts ----------------------------------------------------------------------------------- */

static void context_is(const char *resource, const char *want, const char *name)
{
    char json[2000];
    snprintf(json, sizeof json,
             "{\"header\":{\"type\":\"t\"},\"snapshots\":[{\"resources\":[{\"amount\":1,%s}]}]}", resource);
    struct file file = file_of(json);
    char line[600];
    snprintf(line, sizeof line, "0,%s,t.amount,1|", want);
    table_is(&file, "values", line, name);
    file_close(&file);
}

static void test_contexts(void)
{
    context_is("\"trace\":[{\"line\":2,\"function\":\"in\",\"source\":\"a.c\"},{\"source\":\"a.c\","
               "\"function\":\"main\","
               "\"line\":9}],\"uid\":{\"function\":\"in\",\"source\":\"a.c\",\"line\":2}",
               "a.c:main:9>a.c:in:2",
               "frames with `function` are ordered innermost first and include the uid");
    context_is("\"trace\":[{\"func\":\"main\"},{\"func\":\"mid\"}],\"uid\":\"leaf\"", "main>mid>leaf",
               "frames with `func` are ordered outermost first, and the uid is the leaf");
    context_is("\"trace\":[\"a\",\"b^3\"],\"uid\":\"c\"", "a>b^3>c",
               "frames that are strings are ordered outermost first, and the uid is the leaf");
    context_is("\"trace\":[],\"uid\":\"c\",\"command\":\"ls\"", "ls>c",
               "a command is the root of a resource without a trace");
    context_is("\"trace\":[{\"func\":\"ls\"}],\"uid\":\"c\",\"command\":\"ls\"", "ls>c",
               "a command is not added to a trace that begins with it");
    context_is("\"command\":\"ls\",\"trace\":[{\"func\":\"_start\"}],\"uid\":\"ls\"", "ls>_start>ls",
               "a command is the root of a trace that does not begin with it, wherever the member is");
    context_is("\"class\":\"O(n)\"", "(none)", "resources without uid and trace share one context");
    context_is("\"uid\":{\"zz\":\"1\",\"line\":5,\"b\":\"2\",\"bin\":\"x\",\"method\":\"m\",\"class\":\"C\"}",
               "x:C:m:5:2:1",
               "keys of a uid are ordered by their meaning, and unknown keys by length and letters");
    context_is("\"uid\":[\"a\",\"b\",3]", "a,b,3", "elements of a uid that is a list are joined by commas");
}

static void test_same_places(void)
{
    struct file file =
        file_of("{\"header\":{},\"snapshots\":[{\"resources\":["
                "{\"amount\":1,\"trace\":[{\"function\":\"f\",\"line\":7,\"source\":\"s.c\"}],\"uid\":\"f\"},"
                "{\"amount\":2,\"trace\":[{\"function\":\"f\",\"line\":7,\"source\":\"s.c\"}],\"uid\":\"f\"},"
                "{\"amount\":4,\"trace\":[ {\"source\":\"s.c\",\"function\":\"f\",\"line\":7}],\"uid\":\"f\"}"
                "]}]}");
    table_is(&file, "values", "0,s.c:f:7,amount,7|",
             "equal places are one context, however they are written");
    const struct pf_tree *tree = file.model.contexts;
    ok(tree->line && tree->line[0] == 7 && tree->file &&
           !memcmp(pf_interned(tree->strings, tree->file[0]).text, "s.c", 3),
       "a context has its file and line");
    file_close(&file);
}

/* ---- values ------------------------------------------------------------------------------------- */

static void test_amounts(void)
{
    struct file file = file_of(
        "{\"header\":{},\"resources\":{\"g#0\":{\"amount\":[\"1e3\",\" 7 \",\"+2\",\"0x10\",\"5 "
        "ms\",\"-4%\",\"\",\"1e\",NaN,"
        "18446744073709551616,-9223372036854775809]}},\"resource_type_map\":{\"g#0\":{\"uid\":\"g\"}}}");
    table_is(&file, "resources",
             "0,,,0,,1000,,,g|1,,,0,,7,,,g|2,,,0,,2,,,g|3,,,0,,,,,g|4,,,0,,5,,,g|5,,,0,,-4,,,g|6,,,0,,,,"
             ",g|7,,,0,,1,,,g|8,,,0,,nan,,,g|9,,,0,,1.8446744073709552e+19,,,g|10,,,0,,-9.223372036854776e+"
             "18,,,g|",
             "amounts may be numbers or texts with a unit; beyond 64 bits they are doubles");
    is(file.model.metrics[0].unit, "ms", "the unit of an amount is the metric's if the header has none");
    file_close(&file);
}

static void test_cut_amounts(void)
{
    struct file file =
        file_of("{\"header\":{},\"resources\":[{\"uid\":\"u\",\"amount\":\"x"
                "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
                "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
                "\u00e9\u00e9\u00e9\"}]}");
    const struct pf_cell *text = &pf_rows_at(file.model.warnings, 0)[4];
    ok(text->size > 59 && !memcmp(text->text + text->size - 4, "\xc3\xa9\xc3\xa9", 4),
       "a warning about a long invalid amount is cut between characters");
    file_close(&file);
}

static void test_sums(void)
{
    struct file file =
        file_of("{\"header\":{},\"snapshots\":[{\"resources\":["
                "{\"uid\":\"big\",\"amount\":9223372036854775807},{\"uid\":\"big\",\"amount\":1},"
                "{\"uid\":\"tenths\",\"amount\":0.1},{\"uid\":\"tenths\",\"amount\":1e16},"
                "{\"uid\":\"tenths\",\"amount\":-1e16},{\"uid\":\"inf\",\"amount\":Infinity},"
                "{\"uid\":\"inf\",\"amount\":1}]}]}");
    table_is(&file, "values", "0,big,amount,9223372036854775808|0,tenths,amount,0.1|0,inf,amount,inf|",
             "sums of integers are exact, and sums of decimals keep small summands");
    file_close(&file);
}

static void test_sums_of_columns(void)
{
    struct file file =
        file_of("{\"header\":{},\"resources\":{"
                "\"big#0\":{\"amount\":[9223372036854775807,1]},"
                "\"tenths#0\":{\"amount\":[0.1,1e16,-1e16]},"
                "\"inf#0\":{\"amount\":[Infinity,1]},"
                "\"both#0\":{\"exclusive\":[1,2],\"order\":[1,2]},"
                "\"gaps#0\":{\"amount\":[1,null,4],\"exclusive\":[7,8,9]},"
                "\"short#0\":{\"amount\":[1,2,300],\"exclusive\":[7,8]}},"
                "\"resource_type_map\":{\"big#0\":{\"uid\":\"big\"},\"tenths#0\":{\"uid\":\"tenths\"},"
                "\"inf#0\":{\"uid\":\"inf\"},\"both#0\":{\"uid\":\"both\",\"amount\":5},"
                "\"gaps#0\":{\"uid\":\"gaps\"},\"short#0\":{\"uid\":\"short\"}}}");
    table_is(&file, "values",
             "all,big,amount,9223372036854775808|all,tenths,amount,0.1|all,inf,amount,inf|all,both,amount,10|"
             "all,both,exclusive,3|all,gaps,amount,5|all,gaps,exclusive,24|all,short,amount,3|"
             "all,short,exclusive,15|",
             "sums of columns equal those of single resources, with shared values and gaps");
    file_close(&file);
}

static void test_columns_of_time_and_thread(void)
{
    struct file file =
        file_of("{\"header\":{},\"resources\":{\"a#0\":{\"amount\":[1,2,3],\"time\":[\"x\",null,\"z\"]},"
                "\"b#0\":{\"amount\":[4,5],\"tid\":[7,8]}},"
                "\"resource_type_map\":{\"a#0\":{\"uid\":\"a\"},\"b#0\":{\"uid\":\"b\",\"thread\":3}}}");
    table_is(&file, "resources",
             "0,,x,0,,,1,,,a|1,,,0,,,2,,,a|2,,z,0,,,3,,,a|3,,,1,7,7,4,,,b|4,,,1,8,8,5,,,b|",
             "each row has the time and thread of its columns");
    file_close(&file);
}

static void test_equal_names(void)
{
    struct file file =
        file_of("{\"header\":{},\"resources\":[{\"uid\":\"f\",\"type\":\"a\",\"subtype\":\"b\",\"amount\":1},"
                "{\"uid\":\"f\",\"type\":\"a(b)\",\"amount\":2}]}");
    table_is(&file, "values", "all,f,a(b).amount,1|all,f,a(b).amount #1,2|",
             "a metric whose name is taken has its number in its name");
    file_close(&file);
}

static void test_long_time(void)
{
    char json[1024] = "{\"header\":{},\"resources\":[{\"uid\":\"a\",\"snapshot\":0,\"amount\":1,\"time\":\"a";
    for (int i = 0; i < 200; i++)
        strcat(json, "\xc3\xa9");
    strcat(json, "\"}]}");
    struct file file = file_of(json);
    const struct pf_cell *time = pf_rows_at(file.model.partitions.fields, 0);
    ok(time->type == PF_TEXT && time->size == 255, "a long time is truncated between characters");
    file_close(&file);
}

static void test_many_sums(void)
{
    enum { CONTEXTS = 3000, ROUNDS = 7 };
    char *json = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size);
    fputs("{\"header\":{},\"snapshots\":[", out);
    for (int round = 0; round < ROUNDS; round++) {
        fputs(round ? ",{\"resources\":[" : "{\"resources\":[", out);
        for (int i = 0; i < 2 * CONTEXTS; i++)
            fprintf(out, "%s{\"uid\":\"f%d\",\"amount\":%d}", i ? "," : "", i % CONTEXTS,
                    i % CONTEXTS + round);
        fputs("]}", out);
    }
    fputs("]}", out);
    fclose(out);
    struct file roomy, tight;
    file_open(&roomy, &pf_perun_driver, "job.perf", json, size, 64 << 20);
    file_open(&tight, &pf_perun_driver, "job.perf", json, size, 4096);
    char *a = table_text(&roomy.model, "values", PF_UNRESTRICTED, 100000);
    char *b = table_text(&tight.model, "values", PF_UNRESTRICTED, 777);
    ok(roomy.loaded && tight.loaded && !strcmp(a, b), "sums are the same if memory is short");
    char *c = table_text(&roomy.model, "resources", PF_UNRESTRICTED, 100000);
    char *d = table_text(&tight.model, "resources", PF_UNRESTRICTED, 501);
    ok(!strcmp(c, d), "resources in a temporary file equal those in memory");
    char *e = table_text(&tight.model, "values", (struct pf_restriction){2, 5, -1, -1}, 100000);
    is(e, "2,f5,amount,14|", "values can be restricted to a snapshot and a context");
    char *f = table_text(&tight.model, "values", (struct pf_restriction){-1, 1, -1, -1}, 1);
    is(f,
       "0,f1,amount,2|1,f1,amount,4|2,f1,amount,6|3,f1,amount,8|4,f1,amount,10|5,f1,amount,12|6,f1,amount,"
       "14|",
       "values can be restricted to a context in all snapshots");
    char *texts[] = {a, b, c, d, e, f, json};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    file_close(&roomy);
    file_close(&tight);
}

static void adds_up(const struct file *file, const char *metric, enum pf_over_contexts contexts,
                    const char *name)
{
    bool right = false;
    for (size_t i = 0; i < file->model.n_metrics; i++)
        right |=
            !strcmp(file->model.metrics[i].name, metric) && file->model.metrics[i].over_contexts == contexts;
    ok(right, "%s", name);
}

static void test_metrics(void)
{
    struct file file = file_of("{\"header\":{\"type\":\"mixed\",\"units\":{\"mixed (time "
                               "delta)\":\"us\",\"cycles\":\"c\"}},\"snapshots\":[{"
                               "\"resources\":[{\"uid\":\"a\",\"type\":\"mixed\",\"subtype\":\"time "
                               "delta\",\"amount\":5,\"exclusive\":2},"
                               "{\"uid\":\"a\",\"subtype\":\"inclusive\",\"amount\":3,\"ncalls\":1},{\"uid\":"
                               "\"a\",\"subtype\":\"cycles\","
                               "\"amount\":3,\"score\":0.5}]}]}");
    adds_up(&file, "mixed(time delta).amount", PF_OVER_ROOTS,
            "durations of calls are inclusive values of their functions if exclusive values exist");
    adds_up(&file, "mixed(time delta).exclusive", PF_OVER_ALL,
            "exclusive durations add up over all contexts");
    adds_up(&file, "mixed(inclusive).amount", PF_OVER_ROOTS,
            "inclusive amounts of a trace add up over roots");
    adds_up(&file, "mixed(cycles).score", PF_OVER_NO_CONTEXTS, "unknown fields do not add up");
    ok(file.model.metrics[0].partner == 1 && file.model.metrics[1].partner == 0,
       "an amount and its exclusive part are partners");
    is(file.model.metrics[0].unit, "us", "a unit is found under a name with a blank before the subtype");
    is(file.model.metrics[4].unit, "c", "a unit is found under the subtype");
    file_close(&file);
    file =
        file_of("{\"header\":{\"type\":\"mixed\"},\"snapshots\":[{\"resources\":[{\"uid\":\"a\",\"subtype\":"
                "\"time delta\",\"amount\":5}]}]}");
    adds_up(&file, "mixed(time delta).amount", PF_OVER_NO_CONTEXTS,
            "durations of calls alone do not add up over functions");
    file_close(&file);
    file = file_of(
        "{\"header\":{\"type\":\"time\"},\"collector_info\":{\"name\":\"time\"},\"global\":{\"resources\":["
        "{\"uid\":\"real\",\"amount\":\"2 s\"},{\"uid\":\"user\",\"amount\":\"1 s\"},"
        "{\"uid\":\"real\",\"type\":\"term\",\"amount\":3}]}}");
    adds_up(&file, "time.amount", PF_OVER_NO_CONTEXTS, "clocks of one interval do not add up");
    is(file.model.metrics[0].unit, "s", "a unit of an amount is the unit of its metric");
    is(file.model.metrics[1].unit, "", "a unit of an amount is not the unit of other metrics");
    file_close(&file);
}

static void test_fields(void)
{
    char *json = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size);
    fputs("{\"header\":{},\"snapshots\":[{\"resources\":[{\"uid\":\"a\",\"row\":\"mine\",\"tid\":3,\"list\":["
          "1, {}]",
          out);
    for (int i = 0; i < 300; i++)
        fprintf(out, ",\"f%d\":%d", i, i);
    fputs("}]}]}", out);
    fclose(out);
    struct file file = file_of(json);
    const struct pf_table *table = &file.model.tables[1];
    char *text = table_text(&file.model, "resources", PF_UNRESTRICTED, 1000);
    ok(table->n_columns == 8 + 256, "256 fields have columns");
    ok(strstr(text, ",3,3,0,1,2,") != NULL, "the thread is shown as a field and as the partition");
    warnings_are(&file, "warning too-many|", "fields beyond 256 are reported");
    free(text);
    free(json);
    file_close(&file);
    file = file_of("{\"resources\":[{\"uid\":\"a\",\"row\":\"mine\",\"thread\":2,\"list\":[1, {}]}]}");
    table_is(&file, "resources", "0,,,0,2,mine,[1, {}],,,a|", "a list is shown as its JSON text");
    is(file.model.tables[1].columns[5].name, "field.row",
       "a field with the name of a fixed column gets another name");
    file_close(&file);
}

/* ---- models and properties ---------------------------------------------------------------------- */

static void test_models(void)
{
    struct file file = file_of(
        "{\"header\":{},\"resources\":{\"f#0\":{\"amount\":[10,30,20],\"structure-unit-size\":[1,3,2]}},"
        "\"resource_type_map\":{\"f#0\":{\"uid\":\"f\"}},\"models\":["
        "{\"uid\":\"f\",\"model\":\"linear\",\"method\":\"full\",\"r_square\":1,\"x_interval_start\":1,\"x_"
        "end\":3,"
        "\"coeffs\":[{\"name\":\"b1\",\"value\":-10.0},{\"value\":2e-05,\"name\":\"b0\"}]},"
        "{\"uid\":\"f\",\"method\":\"moving_average\",\"bucket_stats\":[NaN,15.0,25],\"r_square\":0.5},"
        "{\"uid\":\"g\",\"model\":\"mystery\"}]}");
    table_is(&file, "models",
             "0,1,1,3,,,2e-05 - 10 * x,b0=2e-05;b1=-10.0,linear,full,f,|1,0.5,,,3,nan 15.0 25,,,moving_a"
             "verage,,f,|2,,,,,,,,mystery,,g,|",
             "models have old names of keys, coefficients in order, kinds from the method and unknown kinds");
    char *line = table_text(&file.model, "points", (struct pf_restriction){-1, -1, -1, 0}, 1);
    is(line, "0,1,10,-9.99998|0,2,20,-19.99998|0,3,30,-29.99998|",
       "points of a model are ordered by x and have the model's values");
    char *average = table_text(&file.model, "points", (struct pf_restriction){-1, -1, -1, 1}, 1000);
    is(average, "1,1,10,|1,2,20,15|1,3,30,25|", "each point of a moving average has its value");
    const struct pf_rows *names = pf_extra_of(&file.model)->keys.items;
    ok(pf_rows_count(names) == 3 && !memcmp(pf_rows_at(names, 0)[1].text, "f linear", 8) &&
           pf_rows_at(names, 2)[1].size == 1,
       "a model is named by its uid, and its kind if several have the uid");
    free(line);
    free(average);
    file_close(&file);
}

/* Each point is read by a new cursor. The test would take too long if each cursor sorted the points. */
static void test_many_points(void)
{
    enum { POINTS = 20000 };
    char *json = NULL, *want = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size), *rows = open_memstream(&want, &size);
    fputs("{\"header\":{},\"resources\":{\"f#0\":{\"amount\":[", out);
    for (int i = 0; i < POINTS; i++) {
        fprintf(out, "%s%d", i ? "," : "", i);
        fprintf(rows, "1,%d,%d,|", i, POINTS - 1 - i);
    }
    fputs("],\"structure-unit-size\":[", out);
    for (int i = POINTS; i-- > 0;)
        fprintf(out, "%d%s", i, i ? "," : "");
    fputs("]}},\"resource_type_map\":{\"f#0\":{\"uid\":\"f\"}},\"models\":[{\"uid\":\"g\"},{\"uid\":\"f\"}]}",
          out);
    fclose(out);
    fclose(rows);
    struct file file = file_of(json);
    char *points = table_text(&file.model, "points", (struct pf_restriction){-1, -1, -1, 1}, 1);
    ok(points && !strcmp(points, want), "points are sorted once, not for each cursor");
    free(points);
    points = table_text(&file.model, "points", (struct pf_restriction){-1, -1, -1, 0}, 1);
    is(points, "", "a model of another uid has no points");
    free(points);
    free(json);
    free(want);
    file_close(&file);
}

/* Models with the same uid and different fields. */
static void test_points_of_many_fields(void)
{
    enum { MODELS = 66 };
    char *json = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size);
    fputs("{\"header\":{},\"resources\":[{\"uid\":\"f\",\"amount\":7", out);
    for (int i = 0; i < MODELS; i++)
        fprintf(out, ",\"x%d\":%d", i, i);
    fputs("}],\"models\":[", out);
    for (int i = 0; i < MODELS; i++)
        fprintf(out, "%s{\"uid\":\"f\",\"per_key\":\"x%d\"}", i ? "," : "", i);
    fputs(",{\"uid\":\"f\",\"per_key\":\"x63\"}]}", out);
    fclose(out);
    struct file file = file_of(json);
    static const char *const want[] = {[0] = "62,62,7,|", "63,63,7,|", "", "", "66,63,7,|"};
    for (int i = 0; i < 5; i++) {
        char *points = table_text(&file.model, "points", (struct pf_restriction){-1, -1, -1, 62 + i}, 1);
        is(points, want[i], "up to 64 pairs of fields of models have points");
        free(points);
    }
    warnings_are(&file, "warning too-many|", "further pairs of fields are reported");
    free(json);
    file_close(&file);
}

/* Opens a profile with this number of models, each with this number of values. */
static struct file stats_of(int models, int values)
{
    char *json = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size);
    fputs("{\"header\":{},\"resources\":[],\"models\":[", out);
    for (int m = 0; m < models; m++) {
        fprintf(out, "%s{\"uid\":\"f\",\"model\":\"regressogram\",\"bucket_stats\":[7", m ? "," : "");
        for (int i = 1; i < values; i++)
            fprintf(out, ",%d", i);
        fputs("]}", out);
    }
    fputs("]}", out);
    fclose(out);
    struct file file = file_of(json);
    free(json);
    return file;
}

static void test_long_stats(void)
{
    enum { STATS = 5 };
    struct file file = stats_of(1, 100000);
    const struct pf_table *models = file.model.tables;
    while (strcmp(models->name, "models") != 0)
        models++;
    struct pf_cell stats = pf_rows_at(pf_table_rows(models), 0)[STATS];
    ok(stats.size == 588889 && !memcmp(stats.text + stats.size - 6, " 99999", 6),
       "long lists of stats are complete");
    warnings_are(&file, "", "long lists of stats are not reported");
    file_close(&file);
}

/* Checks the formula in models.csv, and the points of model 0. */
static void model_is(const char *model, const char *formula, const char *points)
{
    char json[1000];
    snprintf(json, sizeof json,
             "{\"header\":{},\"resources\":[{\"uid\":\"f\",\"amount\":4,\"exclusive\":3,\"structure-unit-"
             "size\":2}],"
             "\"models\":[{%s,\"uid\":\"f\"}]}",
             model);
    struct file file = file_of(json);
    char *row = table_text(&file.model, "models", PF_UNRESTRICTED, 1000), *at = row;
    for (int commas = 0; commas < 6; commas++)
        at = strchr(at, ',') + 1;
    const char *other = strrchr(at, ',');
    at[strcspn(at, ",")] = 0;
    is(at, formula, model);
    if (strcmp(other + 1, "|") != 0)
        is(other + 1, "of_key=exclusive buckets_method=doane list=[12] none=null|",
           "members without a column are in `other`");
    free(row);
    row = table_text(&file.model, "points", (struct pf_restriction){-1, -1, -1, 0}, 1000);
    is(row, points, "the points have the values of the formula");
    free(row);
    file_close(&file);
}

#define B01 "\"coeffs\":[{\"name\":\"b0\",\"value\":3},{\"name\":\"b1\",\"value\":-2}]"
#define B012                                                                                                 \
    "\"coeffs\":[{\"name\":\"b2\",\"value\":-0.5},{\"name\":\"b1\",\"value\":1},{\"name\":\"b0\",\"value\":" \
    "0}]"

static void test_formulas(void)
{
    model_is("\"model\":\"constant\"," B01, "3", "0,2,4,3|");
    model_is("\"model\":\"linear\"," B01, "3 - 2 * x", "0,2,4,-1|");
    model_is("\"model\":\"logarithmic\"," B012, "0 + 1 * log(x)", "0,2,4,0.6931471805599453|");
    model_is("\"model\":\"quadratic\"," B01, "3 - 2 * x^2", "0,2,4,-5|");
    model_is("\"model\":\"quadratic\"," B012, "0 + 1 * x - 0.5 * x^2", "0,2,4,0|");
    model_is("\"model\":\"power\"," B01, "3 * x^-2", "0,2,4,0.75|");
    model_is("\"model\":\"exponential\"," B01, "3 * (-2)^x", "0,2,4,12|");
    model_is("\"model\":\"mystery\"," B01, "", "0,2,4,|");
    model_is("\"model\":\"linear\",\"coeffs\":[{\"name\":\"b1\",\"value\":2}]", "", "0,2,4,|");
    model_is("\"model\":\"regressogram\",\"x_start\":1,\"x_end\":3,\"bucket_stats\":[7,8],\"of_key\":"
             "\"exclusive\","
             "\"buckets_method\":\"doane\",\"list\":[12],\"none\":null",
             "", "0,2,3,8|");
}

static void test_properties(void)
{
    struct file file =
        file_of("{\"origin\":\"abc\",\"header\":{\"cmd\":\"ls\",\"units\":[null]},\"postprocessors\":[{"
                "\"name\":\"n\",\"params\":{\"deep\":[1,[2.5,true]]}}],\"global\":{}}");
    table_is(
        &file, "properties",
        "origin,abc|header.cmd,ls|header.units.0,|postprocessors.0.name,n|postprocessors.0.params.deep.0,1|"
        "postprocessors.0.params.deep.1.0,2.5|postprocessors.0.params.deep.1.1,true|",
        "properties outside the measurements are flattened");
    file_close(&file);
}

static void info_is(const char *json, const char *want, const char *name)
{
    struct file file = file_of(json);
    char have[500] = "";
    for (size_t i = 0; i < pf_rows_count(file.model.info); i++) {
        const struct pf_cell *row = pf_rows_at(file.model.info, i);
        sprintf(have + strlen(have), "%.*s: %.*s|", (int)row[0].size, row[0].text, (int)row[1].size,
                row[1].text);
    }
    is(have, want, name);
    file_close(&file);
}

static void test_info(void)
{
    info_is("{\"header\":{\"cmd\":\"c\",\"args\":\"a\",\"workload\":\"w\",\"type\":\"t\",\"label\":\"l\"},"
            "\"collector_info\":{\"name\":\"n\"},\"origin\":\"o\",\"global\":{}}",
            "Command: c|Arguments: a|Workload: w|Label: l|Type: t|Collector: n|Origin: o|",
            "info.txt has the members of a current header");
    info_is("{\"header\":{\"bin\":\"c\",\"params\":\"a\"},\"collector\":{\"name\":\"n\"},\"global\":{}}",
            "Command: c|Arguments: a|Collector: n|", "info.txt has the members of an old header");
    info_is("{\"cmd\":\"c\",\"param\":\"a\",\"workload\":\"w\",\"type\":\"t\",\"minor_version\":\"o\","
            "\"global\":{}}",
            "Command: c|Arguments: a|Workload: w|Type: t|Origin: o|",
            "info.txt has the members of a file without a header");
}

/* There are many metrics and properties. Only metric 7 has a unit among the properties. */
static void test_many_units(void)
{
    enum { METRICS = 10000, PROPERTIES = 49000 };
    char *json = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size);
    fputs("{\"header\":{\"units\":{", out);
    for (int i = 0; i < PROPERTIES; i++)
        fprintf(out, "\"u%05d(s)\":\"ms\",", i);
    fputs("\"t00007(s)\":\"old\",\"t00007(s)\":\"us\"}},\"global\":{\"resources\":[", out);
    for (int i = 0; i < METRICS; i++)
        fprintf(out, "%s{\"type\":\"t%05d\",\"subtype\":\"s\",\"uid\":\"a\",\"amount\":1}", i ? "," : "", i);
    fputs("]}}", out);
    fclose(out);
    struct file file = file_of(json);
    ok(file.loaded && file.model.n_metrics == METRICS && !strcmp(file.model.metrics[7].unit, "us") &&
           !strcmp(file.model.metrics[8].unit, ""),
       "units of many metrics are found among many properties, and the last one of a name wins");
    file_close(&file);
    free(json);
}

/* ---- damage ------------------------------------------------------------------------------------- */

static void test_damage(void)
{
    struct file file =
        file_of("{\"snapshots\":[{\"resources\":[{\"uid\":\"a\",\"amount\":1},{\"uid\":\"b\",");
    table_is(&file, "values", "0,a,amount,1|", "values before the end of a truncated file are kept");
    warnings_are(&file, "fatal bad-json|", "the end of a truncated file is reported");
    ok(pf_rows_at(file.model.warnings, 0)[0].i == 1, "the report of a truncated file has the line");
    file_close(&file);
    file = file_of("[{\"resources\":{}}]");
    warnings_are(&file, "fatal bad-json|", "a list is not a profile");
    ok(pf_rows_at(file.model.warnings, 0)[0].i == 1, "the report of a list has the line");
    file_close(&file);
    file = file_of("{\"header\":{}}");
    warnings_are(&file, "error no-resources|", "a profile without resources is reported");
    file_close(&file);
    file = file_of("{\"\":{},\"resources\":[{\"uid\":\"a\",\"amount\":1},\n{\"trace\":[{},],\"\":1}");
    table_is(&file, "resources", "0,,,0,,1,,,a|", "resources before damage inside a trace are kept");
    warnings_are(&file, "fatal bad-json|", "damage inside a trace is reported");
    ok(pf_rows_at(file.model.warnings, 0)[0].i == 2 && pf_rows_at(file.model.warnings, 0)[1].i == 57,
       "the report of damage has the line and the offset");
    file_close(&file);
    file = file_of("{\"resources\":[{\"uid\":\"a\",\"amount\":1},{\"uid\":{\"file\":},\"amount\":2}]}");
    table_is(&file, "values", "all,a,amount,1|", "resources before damage inside a uid are kept");
    warnings_are(&file, "fatal bad-json|", "damage inside a uid is reported");
    file_close(&file);
    file = file_of("{\"head");
    ok(!file.opened && file.error.code == ENODATA, "a file that ends inside its first name cannot be opened");
    file_close(&file);

    enum { DEEP = 200000 };
    char *json = malloc(2 * DEEP + 100);
    size_t size =
        (size_t)sprintf(json, "{\"snapshots\":[{\"resources\":[{\"uid\":\"a\",\"amount\":1}]}],\"x\":");
    memset(json + size, '[', DEEP);
    json[size + DEEP] = 0;
    file = file_of(json);
    table_is(&file, "values", "0,a,amount,1|", "values before 200000 levels of nesting are kept");
    warnings_are(&file, "fatal bad-json|", "200000 levels of nesting are reported");
    file_close(&file);
    free(json);
}

static void test_probe(void)
{
    const char *map = "{\"resource_type_map\":{", *common = "{\"resources\":[],\"version\":4}";
    const char *both = "\xef\xbb\xbf {\"global\":{},\"header\":{}}",
               *cut = "{\"header\":{},\"collector_info\":{},\"postpro";
    ok(sureness(&pf_perun_driver, "x", map, strlen(map)) > 8, "a key that only Perun uses is sufficient");
    ok(!sureness(&pf_perun_driver, "x", common, strlen(common)),
       "a key that other programs use too is not sufficient");
    ok(sureness(&pf_perun_driver, "x.perf", common, strlen(common)) == 8,
       "a key that other programs use too is sufficient if the file's name ends in .perf");
    ok(sureness(&pf_perun_driver, "x", both, strlen(both)) == 8,
       "two keys that other programs use too are sufficient, even after a byte order mark");
    ok(sureness(&pf_perun_driver, "x.perf", cut, strlen(cut)) == 8,
       "a file that ends before its resources is recognised");
    static const char *const first[] = {"{\"header\": {\"type\": \"ti", "{\"origin\": \"a5cf4",
                                        "{\"models\": [", "{\"type\": \"memory\",\n \"cmd\": \"./g",
                                        "{\"header\""};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        ok(sureness(&pf_perun_driver, "x.perf", first[i], strlen(first[i])),
           "a file that ends in its first member is recognised if its name ends in .perf");
        ok(!sureness(&pf_perun_driver, "x", first[i], strlen(first[i])),
           "a file that ends in its first member is not recognised by its content");
    }
    ok(!sureness(&pf_perun_driver, "x.perf", "{\"a\": 1, \"b\": []}", 18),
       "a complete object with other keys is rejected");
    struct file broken;
    file_open(&broken, &pf_perun_driver, "x.perf", first[0], strlen(first[0]), 1 << 20);
    ok(!broken.opened && broken.error.code == ENODATA,
       "a file that ends in its first member cannot be opened");
    file_close(&broken);
    static const char models[] = "{\"header\": {}, \"models\": [{\"uid\": \"a\"}, {\"ui";
    file_open(&broken, &pf_perun_driver, "x.perf", models, strlen(models), 1 << 20);
    ok(broken.loaded, "a file that ends in its models can be opened");
    file_close(&broken);
    ok(sureness(&pf_perun_driver, "x.perf", " {\"reso", 7) == 8 &&
           !sureness(&pf_perun_driver, "x.json", "{\"reso", 6),
       "a file that ends in its first name is recognised only if its name ends in .perf");
    ok(!sureness(&pf_perun_driver, "x.perf", "{1:", 3), "a file that is not JSON is rejected");
    ok(!sureness(&pf_perun_driver, "x.perf", "PERFILE2", 8) && !sureness(&pf_perun_driver, "x.perf", "[]", 2),
       "other files are rejected, whatever their name");
}

int main(void)
{
    struct rlimit limit = {5, RLIM_INFINITY}; /* seconds of processor time; all tests together take well under one */
    setrlimit(RLIMIT_CPU, &limit);
    test_snapshots();
    test_mixed_global();
    test_types();
    test_damaged_types();
    test_list_of_resources();
    test_members_in_any_order();
    test_contexts();
    test_same_places();
    test_amounts();
    test_cut_amounts();
    test_sums();
    test_sums_of_columns();
    test_columns_of_time_and_thread();
    test_equal_names();
    test_long_time();
    test_many_sums();
    test_metrics();
    test_fields();
    test_models();
    test_many_points();
    test_points_of_many_fields();
    test_long_stats();
    test_formulas();
    test_properties();
    test_many_units();
    test_info();
    test_damage();
    test_probe();
    return done();
}
