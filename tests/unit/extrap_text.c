/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "formats/kit/number.h"
#include "formats/kit/pass.h"
#include "formats/model.h"
#include "tests/unit/extrap_study.h"

extern const struct pf_driver pf_extrap_text_driver;

#define STUDY                                                                                                \
    "# two parameters, three points\n"                                                                       \
    "PARAMETER p n\n"                                                                                        \
    "POINTS (2 10) (4 10) (4 0.5)\n"                                                                         \
    "METRIC time\n"                                                                                          \
    "REGION main->solve\n"                                                                                   \
    "DATA 1 2\n"                                                                                             \
    "DATA 3 4 5.5\n"                                                                                         \
    "DATA 6\n"                                                                                               \
    "REGION main\n"                                                                                          \
    "DATA 7 8\n"                                                                                             \
    "DATA 9 10\n"                                                                                            \
    "DATA 11 12\n"                                                                                           \
    "METRIC bytes\n"                                                                                         \
    "DATA 100\n"                                                                                             \
    "DATA 200\n"                                                                                             \
    "DATA 300\n"

/* ---- rows as text ------------------------------------------------------------------------------- */

static void check_rows(const char *text, const char *table, struct pf_restriction only, const char *want,
                       const char *name)
{
    struct study study;
    open_study(&study, &pf_extrap_text_driver, text, strlen(text));
    char *have = rows_of(&study, table_named(&study, table), only, false);
    is(have, want, name);
    free(have);
    close_study(&study);
}

/* Checks the first warning with this code, as `line severity code`. */
static void check_warning(const char *text, const char *want, const char *name)
{
    struct study study;
    char have[128] = "no such warning";
    open_study(&study, &pf_extrap_text_driver, text, strlen(text));
    const char *code = strrchr(want, ' ') + 1;
    for (size_t i = 0; i < pf_rows_count(study.model.warnings); i++) {
        const struct pf_cell *row = pf_rows_at(study.model.warnings, i);
        if (row[3].size == strlen(code) && !memcmp(row[3].text, code, row[3].size)) {
            snprintf(have, sizeof have, "%jd %.*s %s", row[0].type == PF_INT ? (intmax_t)row[0].i : 0,
                     (int)row[2].size, row[2].text, code);
            break;
        }
    }
    is(have, want, name);
    close_study(&study);
}

/* ---- recognising -------------------------------------------------------------------------------- */

static unsigned confidence_in(const char *text)
{
    return confidence(&pf_extrap_text_driver, text, strlen(text));
}

static void check_probe(void)
{
    ok(confidence_in(STUDY) == 16, "a study is recognised");
    ok(confidence_in("\xef\xbb\xbfPARAMETER p\nPOINTS 1\n") == 12,
       "a study after a byte order mark is recognised");
    ok(confidence_in("\r\n# c\r\nPARAMETER\tp\r\nPOINTS 1\r\n") == 12,
       "a study with CR LF, comments and tabs is recognised");
    ok(confidence_in("PARAMETER p") == 8, "a study that ends after its parameters is recognised");
    ok(confidence_in("POINTS 1 2\nREGION main\nDATA 1\n") == 16,
       "a study without parameters is recognised, although it is invalid");
    ok(confidence_in("") == 0, "an empty file is rejected");
    ok(confidence_in("parameter p\npoints 1 2\n") == 0, "keywords in lower case are rejected");
    ok(confidence_in(" PARAMETER p\nPOINTS 1 2\n") == 0, "an indented first keyword is rejected");
    ok(confidence_in("PARAMETERS p\nPOINTS 1 2\n") == 0, "a word that begins with a keyword is rejected");
    ok(confidence_in("DATA 1 2 3\nDATA 4 5 6\n") == 0, "a file with only DATA lines is rejected");
    ok(confidence_in("REGION of interest\nDATA is a plural\nMETRIC tons are units\n\nand more\nprose\n") == 0,
       "prose that begins with keywords is rejected");
    ok(confidence_in("PARAMETER is a word that this paragraph begins with, and many more words follow in it, "
                     "so that nobody could take it for a list of names\n") == 0,
       "a long sentence that begins with a keyword is rejected");
    ok(confidence_in("PARAMETER study\n\nWe looked at\nmany things.\n") == 0,
       "a note with a headline that begins with a keyword is rejected");
}

/* ---- the model ---------------------------------------------------------------------------------- */

static char *points_of(const char *text)
{
    struct study study;
    char *have = NULL;
    size_t size;
    FILE *out = open_memstream(&have, &size);
    open_study(&study, &pf_extrap_text_driver, text, strlen(text));
    struct pf_partitions *points = &study.model.partitions;
    for (size_t i = 0; i < pf_rows_count(points->items); i++) {
        print_cell(out, pf_rows_at(points->items, i)[1]);
        for (size_t c = 0; c < points->n_fields; c++) {
            fprintf(out, " %s:", points->field_columns[c].name);
            print_cell(out, pf_rows_at(points->fields, i)[c]);
        }
        fputc('|', out);
    }
    fclose(out);
    close_study(&study);
    return have;
}

static void check_points(const char *text, const char *want, const char *name)
{
    char *have = points_of(text);
    is(have, want, name);
    free(have);
}

static char *contexts_of(const char *text)
{
    struct study study;
    char *have = NULL;
    size_t size;
    FILE *out = open_memstream(&have, &size);
    open_study(&study, &pf_extrap_text_driver, text, strlen(text));
    for (uint32_t i = 0; i < study.model.contexts->count; i++) {
        print_path(out, study.model.contexts, i);
        fputc('|', out);
    }
    fclose(out);
    close_study(&study);
    return have;
}

static void check_model(void)
{
    check_points(STUDY, "p=2_n=10 p:2 n:10|p=4_n=10 p:4 n:10|p=4_n=0.5 p:4 n:0.5|",
                 "points are named by their parameters");
    check_points("PARAMETER x\nPOINTS 10 2e1\nPOINTS ( 30 )(40)\n",
                 "x=10 x:10|x=20 x:20|x=30 x:30|x=40 x:40|", "points of one parameter need no braces");
    check_points("PARAMETER x\nPARAMETER y x\nPOINTS (1 2)\n", "x=1_y=2 x:1 y:2|",
                 "parameters are collected from all PARAMETER lines, each once");
    check_points("PARAMETER x y\nPOINTS ((1) (2)) ((3) (4))\n", "x=1_y=2 x:1 y:2|x=3_y=4 x:3 y:4|",
                 "braces inside a point's braces are ignored");
    check_points("PARAMETER x\nPOINTS 1 2 1 3\n", "x=1 x:1|x=2 x:2|x=3 x:3|", "a point is listed once");
    check_points("PARAMETER x y\nPOINTS 1 (1 2 3) ()\n", "x=1 x:1 y:|x=1_y=2_3 x:1 y:2|",
                 "a point may have too few or too many coordinates");
    check_points("PARAMETER x\nPOINTS 1 oops 2 oops\n", "x=1 x:1|point 1 x:|x=2 x:2|point 3 x:|",
                 "an invalid point keeps its place");
    char *have = contexts_of("PARAMETER x\nPOINTS 1\nREGION b->c\nREGION a->->b\nREGION  m  ->  f(int,\ti)\n"
                             "REGION b\n");
    is(have, "b|b->c|a|a->|a->->b|m |m -> f(int, i)|",
       "call paths are split at arrows, and runs of blanks become one blank");
    free(have);

    struct study study;
    open_only(&study, &pf_extrap_text_driver, STUDY, strlen(STUDY));
    const struct pf_model *model = &study.model;
    ok(model->n_metrics == 2 && !strcmp(model->metrics[0].name, "time") &&
           !strcmp(model->metrics[1].name, "bytes") && !model->metrics_late,
       "opening a small file finds its metrics, in order of appearance");
    ok(model->tables[0].n_columns == 8 && !strcmp(model->tables[0].columns[1].name, "p") &&
           !strcmp(model->tables[0].columns[2].name, "n"),
       "tables have one column per parameter");
    ok(pf_rows_count(model->warnings) == 0, "a valid file has no warnings");
    close_study(&study);
}

/* ---- values ------------------------------------------------------------------------------------- */

static const struct pf_restriction all = {-1, -1, -1, -1};

static void check_values(void)
{
    check_rows(STUDY, "values", all,
               "p=2_n=10,0,main->solve,time,1\n"
               "p=2_n=10,1,main->solve,time,2\n"
               "p=4_n=10,0,main->solve,time,3\n"
               "p=4_n=10,1,main->solve,time,4\n"
               "p=4_n=10,2,main->solve,time,5.5\n"
               "p=4_n=0.5,0,main->solve,time,6\n"
               "p=2_n=10,0,main,time,7\n"
               "p=2_n=10,1,main,time,8\n"
               "p=4_n=10,0,main,time,9\n"
               "p=4_n=10,1,main,time,10\n"
               "p=4_n=0.5,0,main,time,11\n"
               "p=4_n=0.5,1,main,time,12\n"
               "p=2_n=10,0,main,bytes,100\n"
               "p=4_n=10,0,main,bytes,200\n"
               "p=4_n=0.5,0,main,bytes,300\n",
               "values are in the order of the file");
    check_rows(STUDY, "values", (struct pf_restriction){.partition = 1, .context = -1, .metric = 0},
               "p=4_n=10,0,main->solve,time,3\n"
               "p=4_n=10,1,main->solve,time,4\n"
               "p=4_n=10,2,main->solve,time,5.5\n"
               "p=4_n=10,0,main,time,9\n"
               "p=4_n=10,1,main,time,10\n",
               "values can be restricted to a point and a metric");
    check_rows(STUDY, "values", (struct pf_restriction){.partition = 2, .context = 0, .metric = -1},
               "p=4_n=0.5,0,main,time,11\n"
               "p=4_n=0.5,1,main,time,12\n"
               "p=4_n=0.5,0,main,bytes,300\n",
               "values can be restricted to a point and a call path");
    check_rows("PARAMETER x\nPOINTS 1 2\nREGION a\nDATA 1\n\n# c\nMETRICS m\nDATA 2\n", "values", all,
               "x=1,0,a,,1\nx=2,0,a,,2\n", "an unknown keyword does not end a series");
    check_rows(
        "PARAMETER x\nPOINTS 1 2\nREGION a\nMETRIC t\nDATA 1\nDATA 2\nMETRIC u\nDATA 3\nREGION b\nDATA 4\n",
        "values", all, "x=1,0,a,t,1\nx=2,0,a,t,2\nx=1,0,a,u,3\nx=1,0,b,u,4\n",
        "METRIC and REGION start a series at the first point, and apply until changed");
    check_rows("PARAMETER x\nPOINTS 1\nDATA 1\n", "values", all, "x=1,0,,,1\n",
               "values without REGION and METRIC belong to a call path and a metric without a name");
    check_rows("PARAMETER x\nPOINTS 1 2\nREGION a\nDATA 1 2\nDATA 3\nREGION a\nDATA 4\nDATA 5 6\n", "values",
               all, "x=1,0,a,,1\nx=1,1,a,,2\nx=1,2,a,,4\nx=2,0,a,,3\nx=2,1,a,,5\nx=2,2,a,,6\n",
               "a repeated series continues to count repetitions");
    check_rows(
        "PARAMETER x\nPOINTS 1\nREGION a\nDATA 1e-3 -2 .5 5. +7 1_000 12345678.25 0.000000000000000001\n",
        "values", all,
        "x=1,0,a,,0.001\nx=1,1,a,,-2\nx=1,2,a,,0.5\nx=1,3,a,,5\nx=1,4,a,,7\nx=1,5,a,,1000\n"
        "x=1,6,a,,1.23457e+07\nx=1,7,a,,1e-18\n",
        "numbers have Python's syntax");
    check_rows("PARAMETER x\nPOINTS 1 2\nREGION a\nDATA 1 2 # c\nDATA 3\n", "values", all,
               "x=1,0,a,,1\nx=1,1,a,,2\nx=2,0,a,,3\n",
               "values before an invalid one are kept, and later lines are read");
    check_rows("PARAMETER x\nPOINTS 1\nREGION a\nDATA 1\nDATA 2\nREGION b\nDATA 3\n", "values", all,
               "x=1,0,a,,1\nx=1,0,b,,3\n", "DATA lines without a point are omitted");
    check_rows("PARAMETER x\nPOINTS 1\nREGION a\nDATA 1\nDATA 2\nPOINTS 2\nDATA 3\n", "values", all,
               "x=1,0,a,,1\n",
               "DATA lines without a point are omitted even if points follow, since their point is unknown");
}

/* ---- statistics --------------------------------------------------------------------------------- */

static void check_statistics(void)
{
    check_rows(STUDY, "statistics", all,
               "p=2_n=10,main->solve,time,2,1.5,1.5,1,2,0.5\n"
               "p=4_n=10,main->solve,time,3,4.16667,4,3,5.5,1.0274\n"
               "p=4_n=0.5,main->solve,time,1,6,6,6,6,0\n"
               "p=2_n=10,main,time,2,7.5,7.5,7,8,0.5\n"
               "p=4_n=10,main,time,2,9.5,9.5,9,10,0.5\n"
               "p=4_n=0.5,main,time,2,11.5,11.5,11,12,0.5\n"
               "p=2_n=10,main,bytes,1,100,100,100,100,0\n"
               "p=4_n=10,main,bytes,1,200,200,200,200,0\n"
               "p=4_n=0.5,main,bytes,1,300,300,300,300,0\n",
               "statistics have count, mean, median, min, max and std per series and point");
    check_rows(STUDY, "statistics", (struct pf_restriction){.partition = 0, .context = 0, .metric = 1},
               "p=2_n=10,main,bytes,1,100,100,100,100,0\n", "statistics can be restricted on all axes");
    static const char repeated[] =
        "PARAMETER x\nPOINTS 1 2\nREGION a\nDATA 1 2\nDATA 3\nREGION a\nDATA 6\nDATA oops\n";
    check_rows(repeated, "statistics", all,
               "x=1,a,,2,1.5,1.5,1,2,0.5\nx=1,a,,1,6,6,6,6,0\nx=2,a,,1,3,3,3,3,0\n",
               "a repeated series has statistics of its own");
    check_rows(repeated, "cells", all, "x=1,a,,3,3,2,1,6,2.16025\nx=2,a,,1,3,3,3,3,0\n",
               "the cells of aggregates combine the values of a repeated series");
    check_rows("PARAMETER x\nPOINTS 1 2\nREGION a\nDATA 1 nan 2\nDATA 1 inf\n", "statistics", all,
               "x=1,a,,3,nan,nan,nan,nan,nan\nx=2,a,,2,inf,inf,1,inf,nan\n",
               "statistics show NaN and infinities");
}

/* ---- warnings ----------------------------------------------------------------------------------- */

static void check_warnings(void)
{
    check_warning("", "0 error empty", "an empty file is reported");
    check_warning("\xef\xbb\xbfPARAMETER x\nPOINTS 1\nREGION a\nDATA 1\n", "1 warning byte-order-mark",
                  "a byte order mark is reported");
    check_warning("POINTS 1\nREGION a\nDATA 1\n", "1 error order", "POINTS before PARAMETER is reported");
    check_warning("PARAMETER x\nREGION a\nDATA 1\n", "3 error order", "DATA before POINTS is reported");
    check_warning("PARAMETER x\nPOINTS 1\nPARAMETER y\n", "3 error order",
                  "PARAMETER after POINTS is reported");
    check_warning("PARAMETER a b c d e\nPOINTS (1 2 3 4 5)\n", "1 warning parameters",
                  "a fifth parameter is reported");
    check_warning("PARAMETER x y\nPOINTS 1\n", "2 warning point-size",
                  "a point with too few coordinates is reported");
    check_warning("PARAMETER x\nPOINTS 1 1\n", "2 warning repeated-point", "a repeated point is reported");
    check_warning("PARAMETER x\nPOINTS (1\n", "2 error bad-point", "a brace that is not closed is reported");
    check_warning("PARAMETER x\nPOINTS 1)\n", "2 error bad-point", "a brace that is not opened is reported");
    check_warning("PARAMETER x\nPOINTS ((1))\n", "2 warning inner-braces", "braces in braces are reported");
    check_warning("PARAMETER x\nPOINTS 1,2\n", "2 error bad-number",
                  "points separated by commas are reported");
    check_warning("PARAMETER x\nPOINTS 1\n REGION a\nDATA 1\n", "3 warning indented",
                  "an indented line is reported");
    check_warning("PARAMETER x\nPOINTS 1\nRegion a\nDATA 1\n", "3 error unknown-keyword",
                  "an unknown keyword is reported");
    check_warning("PARAMETER x\nPOINTS 1\nMETRIC t\nDATA 1\n", "4 warning no-region",
                  "a series without REGION is reported");
    check_warning("PARAMETER x\nPOINTS 1\nREGION a\nDATA\n", "4 error no-values",
                  "DATA without values is reported");
    check_warning("PARAMETER x\nPOINTS 1\nREGION a\nDATA 1 # c\n", "4 error bad-number",
                  "a trailing comment is reported");
    check_warning("PARAMETER x\nPOINTS 1\nREGION a\nDATA 0x10\n", "4 error bad-number",
                  "a hexadecimal number is reported");
    check_warning("PARAMETER x\nPOINTS 1\nREGION a\nDATA 1\nDATA 2\n", "5 error too-many-data",
                  "more DATA lines than points are reported");
    check_warning("PARAMETER x\nPOINTS 1 2\nREGION a\nDATA 1\n", "4 warning incomplete-series",
                  "a series without all points is reported");
    check_warning("PARAMETER x\nPOINTS 1\nREGION a\nDATA 1\nREGION a\nDATA 1\n", "4 warning repeated-series",
                  "a repeated series is reported");
    check_warning("PARAMETER x\nPOINTS 1\nREGION\nDATA 1\n", "3 error cut-name",
                  "REGION without a name is reported");
}

/* A NUL is a byte of a word, so this is a bad number before a good one. */
static void check_nul(void)
{
    static const char text[] = "PARAMETER x\nPOINTS 1\0005 3\nREGION a\nDATA 1\n";
    struct study study;
    open_study(&study, &pf_extrap_text_driver, text, sizeof text - 1);
    ok(!study.result && pf_rows_count(study.model.partitions.items) == 2, "a NUL does not separate points");
    close_study(&study);
}

/* ---- positions ---------------------------------------------------------------------------------- */

static const char untidy[] = "PARAMETER p n\r\nPOINTS (2 10) (4 10) (4 0.5)\r\n"
                             "METRIC time\nREGION main->solve\n DATA 1 2 \r\nDATA 3 4 5.5 # c\n#\nDATA\n"
                             "REGION main\nDATA 7 8\nDATA 9 10\nREGION main->solve\nDATA 11 12\nDATA 1e3\n"
                             "METRIC bytes\nDATA 100\nDATA 200\nDATA 300 400 500\n";

static void check_hops_with(struct study *study, const char *table, const char *text)
{
    bool same = true;
    for (int64_t point = -1; point < 3; point++)
        for (int64_t context = -1; context < 2; context++)
            for (int64_t metric = -1; metric < 2; metric++) {
                struct pf_restriction only = {point, context, metric, -1};
                char *once = rows_of(study, table_named(study, table), only, false),
                     *hopping = rows_of(study, table_named(study, table), only, true);
                same &= !strcmp(once, hopping);
                free(once);
                free(hopping);
            }
    ok(same, "%s of %s: a cursor resumes at every saved position, with any restriction", table, text);
}

/* Tries damaged positions, which a damaged cache could hold. Each must be refused, or the walk must end. */
static void check_damaged_positions(struct study *study, const char *name)
{
    struct pf_model *model = &study->model;
    const struct pf_table *table = table_named(study, name);
    struct pf_cell cells[32];
    struct pf_error error;
    bool ends = true;
    for (unsigned i = 0; i < 600; i++) {
        struct pf_cursor cursor = {.model = model, .table = table, .only = {-1, i % 3 ? -1 : 1, -1, -1}};
        unsigned char saved[256];
        ends &= table->ops->open(&cursor, &error) == 0;
        for (unsigned row = 0; row < i % 5; row++)
            table->ops->next(&cursor, cells, &error);
        size_t size = table->ops->save(&cursor, saved, sizeof saved);
        saved[i % size] = (unsigned char)(i * 37);
        saved[i * 7 % size] ^= (unsigned char)(1u << i % 8);
        if (!table->ops->restore(&cursor, saved, i % 50 ? size : size - 1, &error)) {
            unsigned rows = 0;
            while (rows < 1000 && table->ops->next(&cursor, cells, &error) > 0)
                rows++;
            ends &= rows < 1000;
        }
        table->ops->close(&cursor);
    }
    ok(ends, "%s: a damaged position is refused or leads to an end", name);
}

static void check_positions(void)
{
    static const char *const tables[] = {"values", "statistics", "cells"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct study study;
        open_study(&study, &pf_extrap_text_driver, STUDY, strlen(STUDY));
        check_hops_with(&study, tables[i], "a study");
        close_study(&study);
        open_study(&study, &pf_extrap_text_driver, untidy, strlen(untidy));
        check_hops_with(&study, tables[i], "an untidy file");
        check_damaged_positions(&study, tables[i]);
        close_study(&study);
    }
}

/* ---- damage ------------------------------------------------------------------------------------- */

/* True if all rows are also in `whole`, except for at most one whose last number is truncated. */
static bool are_among(const char *whole, const char *rows)
{
    unsigned others = 0;
    for (size_t size; *rows; rows += size + (rows[size] == '\n')) {
        char row[300];
        size = strcspn(rows, "\n");
        snprintf(row, sizeof row, "%.*s\n", (int)size, rows);
        const char *found = strstr(whole, row);
        others += !found || (found > whole && found[-1] != '\n');
    }
    return others <= 1;
}

static void check_cuts(void)
{
    struct study study;
    size_t size = strlen(untidy);
    open_study(&study, &pf_extrap_text_driver, untidy, size);
    char *whole = rows_of(&study, table_named(&study, "values"), all, false);
    close_study(&study);
    size_t right = 0;
    for (size_t i = 0; i < size; i++) {
        open_study(&study, &pf_extrap_text_driver, untidy, i);
        char *cut = rows_of(&study, table_named(&study, "values"), all, false);
        free(rows_of(&study, table_named(&study, "statistics"), all, false));
        right += are_among(whole, cut);
        free(cut);
        close_study(&study);
    }
    free(whole);
    ok(right == size, "a file truncated anywhere has the rows before the cut");
}

static void check_flips(void)
{
    char text[sizeof STUDY];
    unsigned random = 1;
    bool opened = true;
    for (int i = 0; i < 1500; i++) {
        struct study study;
        strcpy(text, STUDY);
        for (int flips = 0; flips <= i % 4; flips++) {
            random = random * 1103515245 + 12345;
            text[(random >> 8) % strlen(STUDY)] =
                (char)(i % 3 ? random >> 24 : (unsigned)"\n\t (>-#.e"[random >> 20 & 7]);
        }
        open_study(&study, &pf_extrap_text_driver, text, sizeof text - 1);
        opened &= !study.result;
        if (!study.result) {
            free(rows_of(&study, table_named(&study, "values"), all, true));
            free(rows_of(&study, table_named(&study, "cells"), all, true));
        }
        close_study(&study);
    }
    ok(opened, "a file with any changed bytes opens");
}

/* ---- large files -------------------------------------------------------------------------------- */

enum { BIG_REGIONS = 300, BIG_POINTS = 100 };

/* Returns the text of a study of about 1.6 MB, in which one measurement is missing and two lines declare parameters. */
static char *big_study(size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    fputs("PARAMETER p\nPARAMETER n\nPOINTS", out);
    for (int i = 0; i < BIG_POINTS; i++)
        fprintf(out, " (%d %d)", i, i * i);
    for (int r = 0; r < BIG_REGIONS; r++) {
        fprintf(out, "\nMETRIC time\nREGION main->r%d", r);
        for (int i = 0; i < BIG_POINTS - (r == 7); i++)
            fprintf(out, "\nDATA %d.%06d %d.000000001 %d 1.5 2.25", r, i, i, r);
    }
    fclose(out);
    return text;
}

static void check_big(void)
{
    size_t size;
    char *text = big_study(&size);
    struct study study;
    open_only(&study, &pf_extrap_text_driver, text, size);
    struct pf_model *model = &study.model;
    ok(!study.result && model->metrics_late && !model->partitions.items && model->tables[0].n_columns == 8,
       "opening a file of %zu bytes reads its parameters and leaves the rest for a later pass", size);

    struct pf_pass pass = {0};
    atomic_store(&pass.stop, true);
    struct pf_pass *before = pf_pass_begin(&pass);
    ok(pf_model_load(&study.model, PF_DERIVED, &study.error) < 0 && study.error.code == ECANCELED &&
           !model->contexts && !model->partitions.items && !pf_rows_count(model->warnings),
       "a pass without waiters leaves no data");
    pf_pass_end(before);
    ok(pf_model_load(&study.model, PF_DERIVED, &study.error) == 0 &&
           pf_rows_count(model->partitions.items) == BIG_POINTS &&
           model->contexts->count == BIG_REGIONS + 1 && pf_rows_count(model->warnings) == 1,
       "a later pass reads the whole file, and reports the gap once");

    char *rows = rows_of(&study, table_named(&study, "values"), all, false);
    size_t lines = 0;
    for (const char *at = rows; (at = strchr(at, '\n')); at++)
        lines++;
    ok(lines == (BIG_REGIONS * BIG_POINTS - 1) * 5, "the file has all its %zu values", lines);
    free(rows);
    rows = rows_of(&study, table_named(&study, "values"),
                   (struct pf_restriction){.partition = 99, .context = 8, .metric = -1}, true);
    is(rows, "", "a measurement that is missing has no values");
    free(rows);
    rows = rows_of(&study, table_named(&study, "values"),
                   (struct pf_restriction){.partition = 99, .context = 300, .metric = -1}, true);
    is(rows,
       "p=99_n=9801,0,main->r299,time,299\np=99_n=9801,1,main->r299,time,99\n"
       "p=99_n=9801,2,main->r299,time,299\np=99_n=9801,3,main->r299,time,1.5\n"
       "p=99_n=9801,4,main->r299,time,2.25\n",
       "the last measurement has its values");
    free(rows);
    close_study(&study);
    free(text);
}

/* Lines longer than the reader's window. */
static void check_long_lines(void)
{
    enum { REPETITIONS = 150000 };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("PARAMETER x\nPOINTS", out);
    for (int i = 0; i < 60000; i++)
        fprintf(out, " (%d)", i);
    fputs("\nREGION a\nDATA", out);
    for (int i = 0; i < REPETITIONS; i++)
        fprintf(out, " %d", i);
    fputs("\nDATA 7\n", out);
    fclose(out);

    struct study study;
    open_study(&study, &pf_extrap_text_driver, text, size);
    ok(pf_rows_count(study.model.partitions.items) == 60000, "a line may hold any number of points");
    char *rows = rows_of(&study, table_named(&study, "statistics"), all, false);
    is(rows, "x=0,a,,150000,74999.5,74999.5,0,149999,43301.3\nx=1,a,,1,7,7,7,7,0\n",
       "a line may hold any number of values");
    free(rows);
    close_study(&study);
    free(text);
}

int main(void)
{
    check_probe();
    check_model();
    check_values();
    check_statistics();
    check_warnings();
    check_nul();
    check_positions();
    check_cuts();
    check_flips();
    check_big();
    check_long_lines();
    return done();
}
