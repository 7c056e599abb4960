/* SPDX-License-Identifier: MIT */
/* Tests Extra-P's JSON formats: TaLPas, JSON Lines, the newer and the older JSON. */
#include "tests/unit/extrap_study.h"

extern const struct pf_driver pf_extrap_talpas_driver, pf_extrap_jsonl_driver, pf_extrap_json_driver,
    pf_extrap_json_old_driver;

/* ---- one measurement per line ------------------------------------------------------------------- */

#define LINE(p, n, metric, callpath, value)                                                                  \
    "{\"parameters\":{\"p\":" p ";\"n\":" n "};\"metric\":\"" metric "\";\"callpath\":\"" callpath           \
    "\";\"value\":" value "}\n"

static void talpas(void)
{
    struct study study;
    open_text(&study, &pf_extrap_talpas_driver,
              LINE("2", "10", "time", "main->solve", "1.5") LINE("4", "10", "time", "main->solve", "[2;3]")
                  LINE("2", "10", "bytes", "main", "7") LINE("2", "10", "time", "main->solve", "1.25"));
    has_rows(&study, "values",
             "p=2_n=10,0,main->solve,time,1.5\np=2_n=10,1,main->solve,time,1.25\n"
             "p=4_n=10,0,main->solve,time,2\np=4_n=10,1,main->solve,time,3\np=2_n=10,0,main,bytes,7\n",
             "TaLPas: all lines of one series and point are repetitions");
    has_rows(&study, "statistics",
             "p=2_n=10,main->solve,time,2,1.375,1.375,1.25,1.5,0.125\n"
             "p=4_n=10,main->solve,time,2,2.5,2.5,2,3,0.5\np=2_n=10,main,bytes,1,7,7,7,7,0\n",
             "TaLPas: statistics are those over the repetitions");
    has_warnings(&study, "3 incomplete-series\n", "TaLPas: a series without all points is reported");
    close_study(&study);
    open_text(&study, &pf_extrap_talpas_driver, LINE("1", "1", "t", "f", "[[1;2];[3];[]]"));
    has_rows(&study, "values", "p=1_n=1,0,f,t,1\np=1_n=1,1,f,t,2\np=1_n=1,2,f,t,3\n",
             "TaLPas: values in nested lists, one per process, are repetitions");
    has_warnings(&study, "", "TaLPas: nested lists have no warnings");
    close_study(&study);
    open_text(&study, &pf_extrap_talpas_driver, LINE("1", "1", "time", "a;b", "1"));
    has_rows(&study, "values", "p=1_n=1,0,a,b,time,1\n", "TaLPas: a semicolon in a name is read as a comma");
    close_study(&study);
}

static void restrictions(void)
{
    struct study study;
    open_text(&study, &pf_extrap_talpas_driver,
              LINE("1", "1", "t", "a->b", "1") LINE("1", "1", "u", "a->b", "2") LINE("1", "1", "t", "a", "3")
                  LINE("2", "1", "u", "a->b", "4"));
    struct pf_restriction only = PF_UNRESTRICTED;
    only.context = 1;
    has_rows_only(&study, "values", only, "p=1_n=1,0,a->b,t,1\np=1_n=1,0,a->b,u,2\np=2_n=1,0,a->b,u,4\n",
                  "values can be restricted to a context");
    only.metric = 1;
    has_rows_only(&study, "values", only, "p=1_n=1,0,a->b,u,2\np=2_n=1,0,a->b,u,4\n",
                  "values can be restricted to a context and a metric");
    only.partition = 1;
    has_rows_only(&study, "statistics", only, "p=2_n=1,a->b,u,1,4,4,4,4,0\n",
                  "statistics can be restricted to a context, a metric and a point");
    only = (struct pf_restriction){-1, -1, 1, -1};
    has_rows_only(&study, "scaling", only, "a->b,2,4\n",
                  "scaling has one column per point, with values of one metric");
    only.metric = 0;
    has_rows_only(&study, "scaling", only, "a->b,1,\na,3,\n",
                  "scaling leaves cells empty where nothing was measured");
    close_study(&study);
}

static void json_lines(void)
{
    struct study study;
    open_text(&study, &pf_extrap_jsonl_driver,
              "{\"value\":[1,2],\"params\":{\"x\":1},\"extra\":{\"a\":[1]}}\n\n"
              "{\"params\":{\"y\":5,\"x\":2},\"value\":3,\"callpath\":\"f\",\"metric\":\"m\"}\n");
    has_rows(&study, "values", "x=1,0,<root>,<default>,1\nx=1,1,<root>,<default>,2\nx=2,0,f,m,3\n",
             "JSON Lines: metric and call path have defaults, and unknown members are ignored");
    close_study(&study);
}

static void bad_lines(void)
{
    struct study study;
    open_text(&study, &pf_extrap_jsonl_driver,
              "{\"params\":{\"x\":1,\"y\":2},\"value\":1}\n"
              "{\"params\":{\"x\":1},\"value\":2}\n"                /* y is missing */
              "{\"params\":{\"x\":1,\"y\":2},\"value\":\"much\"}\n" /* not a number */
              "{\"params\":{\"x\":1,\"y\":2},\"value\":3\n"         /* not closed */
              "{\"params\":{\"x\":1,\"y\":2},\"value\":[4,null]}\n" /* an invalid value */
              "[1]\n"                                               /* not an object */
              "{\"params\":{\"x\":1,\"y\":2},\"value\":5} 6\n"      /* trailing text */
              "{\"params\":{\"x\":1,\"y\":2},\"val");               /* truncated */
    has_rows(&study, "values",
             "x=1_y=2,0,<root>,<default>,1\nx=1_y=2,1,<root>,<default>,4\nx=1_y=2,2,<root>,<default>,5\n",
             "JSON Lines: an invalid line is omitted, and lines after it are read");
    has_warnings(&study,
                 "2 bad-line\n3 bad-line\n4 bad-line\n5 bad-values\n6 bad-line\n7 bad-line\n8 damaged\n",
                 "JSON Lines: each invalid line is reported");
    close_study(&study);
}

/* A list of values longer than the read window is read in parts, even if its coordinates come after it. */
static void long_line(void)
{
    enum { COUNT = 200000 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("{\"value\":[0", out);
    for (int i = 1; i < COUNT; i++)
        fprintf(out, ",%d", i % 10);
    fputs("],\"params\":{\"x\":1}}\n{\"value\":1,\"params\":{\"x\":2}}\n", out);
    fclose(out);
    struct study study;
    open_study(&study, &pf_extrap_jsonl_driver, text, size);
    has_rows(&study, "statistics",
             "x=1,<root>,<default>,200000,4.5,4.5,0,9,2.87228\nx=2,<root>,<default>,1,1,1,1,1,0\n",
             "JSON Lines: a line may hold any number of values");
    close_study(&study);
    free(text);
}

/* ---- JSON --------------------------------------------------------------------------------------- */

static void newer(void)
{
    struct study study;
    open_text(&study, &pf_extrap_json_driver,
              "{\"measurements\":{\"main->f\":{\"time\":[{\"point\":[1,2],\"values\":[3,4.5]},"
              "{\"values\":[[1,2],[3]],\"point\":[2,\"2\"]}]},\"main\":{\"calls\":[{\"point\":[1,2],"
              "\"values\":7}]}},"
              "\"other\":[{}],\"parameters\":[\"x\",\"y\"]}");
    has_rows(&study, "values",
             "x=1_y=2,0,main->f,time,3\nx=1_y=2,1,main->f,time,4.5\nx=2_y=2,0,main->f,time,1\n"
             "x=2_y=2,1,main->f,time,2\nx=2_y=2,2,main->f,time,3\nx=1_y=2,0,main,calls,7\n",
             "JSON: members may be in any order, and values alone, in arrays or in nested arrays");
    close_study(&study);
}

static void repeated(void)
{
    struct study study;
    open_text(&study, &pf_extrap_json_driver,
              "{\"parameters\":[\"x\"],\"measurements\":{\"a\":{\"t\":[{\"point\":[1],\"values\":[1]}]},"
              "\"b\":{\"t\":[{\"point\":[1],\"values\":[2]},{\"point\":[1],\"values\":[4]}]},"
              "\"a\":{\"t\":[{\"point\":[1],\"values\":[8]}]}}}");
    has_rows(&study, "values", "x=1,0,b,t,2\nx=1,1,b,t,4\nx=1,0,a,t,8\n",
             "JSON: the last of two call paths of one name is used, and a repeated point adds repetitions");
    has_rows(&study, "statistics", "x=1,b,t,1,2,2,2,2,0\nx=1,b,t,1,4,4,4,4,0\nx=1,a,t,1,8,8,8,8,0\n",
             "JSON: each measurement of a repeated point has its own statistics");
    has_rows(&study, "cells", "x=1,b,t,2,3,3,2,4,1\nx=1,a,t,1,8,8,8,8,0\n",
             "JSON: the cells of aggregates combine the measurements of a repeated point");
    has_warnings(&study, "1 repeated-name\n1 repeated-series\n",
                 "JSON: a repeated call path and a repeated point are reported");
    close_study(&study);
    open_text(&study, &pf_extrap_json_driver,
              "{\"parameters\":[\"x\"],\"measurements\":{\"a\":{\"t\":[{\"point\":[1],\"values\":[1]}]}},\n"
              "\"measurements\":{\"b\":{\"t\":[{\"point\":[1],\"values\":[2]}]},"
              "\"a\":{\"t\":[{\"point\":[1],\"values\":[4]}]}}}");
    has_rows(&study, "values", "x=1,0,b,t,2\nx=1,0,a,t,4\n",
             "JSON: the last of two members `measurements` is used");
    has_warnings(&study, "2 repeated-name\n", "JSON: a repeated member `measurements` is reported");
    close_study(&study);
}

static void cut_json(void)
{
    struct study study;
    open_text(&study, &pf_extrap_json_driver,
              "{\"parameters\":[\"x\"],\"measurements\":{\"a\":{\"t\":[{\"point\":[1],\"values\":[1,2]},\n{"
              "\"point\":[2],\"val");
    has_rows(&study, "values", "x=1,0,a,t,1\nx=1,1,a,t,2\n",
             "JSON: values before the end of a truncated file are read");
    has_warnings(&study, "2 damaged\n1 incomplete-series\n", "JSON: the end of a truncated file is reported");
    close_study(&study);
}

#define OLD_TABLES                                                                                           \
    "\"callpaths\":[{\"id\":7,\"name\":\"main\"},{\"name\":\"main->f\",\"id\":0}],"                          \
    "\"coordinates\":[{\"id\":0,\"parameter_value_pairs\":[{\"parameter_id\":2,\"parameter_value\":20},"     \
    "{\"parameter_id\":1,\"parameter_value\":10}]},{\"parameter_value_pairs\":[{\"parameter_id\":1,"         \
    "\"parameter_value\":\"11\"},{\"parameter_id\":2,\"parameter_value\":20}],\"id\":5}],"
#define OLD_NAMES                                                                                            \
    ",\"metrics\":[{\"id\":3,\"name\":\"time\"}],\"parameters\":[{\"id\":2,\"name\":\"y\"},{\"id\":1,"       \
    "\"name\":\"x\"}]}"
#define OLD(callpath, coordinate, metric, value)                                                             \
    "{\"callpath_id\":" callpath ",\"coordinate_id\":" coordinate ",\"id\":1,\"metric_id\":" metric          \
    ",\"value\":" value "}"

static void older(void)
{
    struct study study;
    open_text(
        &study, &pf_extrap_json_old_driver,
        "{" OLD_TABLES "\"measurements\":[" OLD("0", "0", "3", "1.5") "," OLD("7", "5", "3", "\"2\"") "," OLD(
            "0", "0", "3", "2.5") "," OLD("0", "5", "3", "9") "," OLD("7", "0", "3", "4") "]" OLD_NAMES);
    has_rows(&study, "values",
             "x=10_y=20,0,main->f,time,1.5\nx=10_y=20,1,main->f,time,2.5\nx=11_y=20,0,main->f,time,9\n"
             "x=10_y=20,0,main,time,4\nx=11_y=20,0,main,time,2\n",
             "older JSON: ids may be any numbers, and tables and pairs may be in any order");
    has_warnings(&study, "", "older JSON: tables in any order have no warnings");
    close_study(&study);
    open_text(&study, &pf_extrap_json_old_driver,
              "{" OLD_TABLES
              "\"measurements\":[" OLD("1", "0", "3", "1") "," OLD("0", "0", "3", "null") "," OLD(
                  "0", "1", "3", "1") "," OLD("0", "0", "3", "2") "]" OLD_NAMES);
    has_rows(&study, "values", "x=10_y=20,0,main->f,time,2\n",
             "older JSON: measurements of unknown ids are omitted");
    has_warnings(&study, "1 bad-reference\n1 bad-member\n1 bad-reference\n1 incomplete-series\n",
                 "older JSON: unknown ids are reported");
    close_study(&study);
    open_text(&study, &pf_extrap_json_old_driver,
              "{" OLD_TABLES "\"measurements\":[" OLD("0", "0", "3", "1") "," OLD(
                  "0", "5", "3", "1") "],\n\"measurements\":[" OLD("0", "0", "3", "2") "]" OLD_NAMES);
    has_rows(&study, "values", "x=10_y=20,0,main->f,time,1\nx=11_y=20,0,main->f,time,1\n",
             "older JSON: the first of two tables of one name is read");
    has_warnings(&study, "2 repeated-name\n", "older JSON: a repeated table is reported");
    close_study(&study);
}

static void old_and_cut(void)
{
    struct study study;
    open_text(&study, &pf_extrap_json_old_driver,
              "{\"parameters\":[{\"id\":1,\"name\":\"x\"},{\"id\":2,\"name\":\"y\"}],"
              "\"metrics\":[{\"id\":3,\"name\":\"time\"}]," OLD_TABLES
              "\"measurements\":[" OLD("0", "0", "3", "1.5") ","
                                                             "{\"callpath_id\":0,\"coord");
    has_rows(&study, "values", "x=10_y=20,0,main->f,time,1.5\n",
             "older JSON: values before the end of a truncated file are read");
    close_study(&study);
}

/* ---- recognising -------------------------------------------------------------------------------- */

static bool knows(const struct pf_driver *driver, const char *text)
{
    return confidence(driver, text, strlen(text)) > 0;
}

static void recognised(void)
{
    const char *json = "{\"measurements\":{},\"parameters\":[]}",
               *old = "{\"callpaths\":[],\"coordinates\":[]}";
    const char *lines = "{\"params\":{},\"value\":1}", *line = LINE("1", "1", "t", "a", "1");
    ok(knows(&pf_extrap_json_driver, json) && !knows(&pf_extrap_json_driver, old) &&
           !knows(&pf_extrap_json_driver, lines) && !knows(&pf_extrap_json_driver, line),
       "only JSON is recognised as JSON");
    ok(knows(&pf_extrap_json_old_driver, old) && !knows(&pf_extrap_json_old_driver, json),
       "only older JSON is recognised as older JSON");
    ok(knows(&pf_extrap_jsonl_driver, lines) && !knows(&pf_extrap_jsonl_driver, line) &&
           !knows(&pf_extrap_jsonl_driver, json),
       "only JSON Lines, even a single line, is recognised as JSON Lines");
    ok(knows(&pf_extrap_talpas_driver, line) && !knows(&pf_extrap_talpas_driver, lines),
       "TaLPas is recognised, and JSON Lines is not TaLPas");
    ok(!knows(&pf_extrap_json_driver, "{\"parameters\":{},\"measurements\":[]}") &&
           !knows(&pf_extrap_json_driver, "{\"traceEvents\":[]}") && !knows(&pf_extrap_json_driver, "text"),
       "other JSON is rejected");
}

int main(void)
{
    talpas();
    restrictions();
    json_lines();
    bad_lines();
    long_line();
    newer();
    repeated();
    cut_json();
    older();
    old_and_cut();
    recognised();
    return done();
}
