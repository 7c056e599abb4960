/* SPDX-License-Identifier: MIT */
/* Tests the rows of the table of resources: rows of several regions, rows from long columns, and rows before damage. */
#include "formats/kit/pass.h"
#include "tests/unit/perun_file.h"

static void test_regions(void)
{
    struct file file = file_of(
        "{\"header\":{},\"snapshots\":["
        "{\"time\":\"0.1\",\"resources\":[{\"uid\":\"a\",\"amount\":1},{\"uid\":\"a\",\"amount\":2}]},"
        "{\"time\":\"0.2\",\"resources\":[{\"uid\":\"a\",\"amount\":3},{\"uid\":\"a\",\"amount\":4}]}],"
        "\"global\":{\"time\":\"9\",\"resources\":[{\"uid\":\"a\",\"amount\":5},{\"uid\":\"a\",\"amount\":6}]"
        "}}");
    table_is(&file, "resources",
             "0,0,0.1,0,,1,,,a|1,0,0.1,0,,2,,,a|2,1,0.2,0,,3,,,a|3,1,0.2,0,,4,,,a|4,,9,0,,5,,,a|5,,9,0,,"
             "6,,,a|",
             "resources that are equal in several snapshots have the snapshot they are in");
    file_close(&file);
}

/* Numbers as written in the file, and as printed in the table. */
static const char *const numbers[][2] = {
    {"0", "0"},
    {"7", "7"},
    {"12345678", "12345678"},
    {"123456789012345", "123456789012345"},
    {"0.5", "0.5"},
    {"-3", "-3"},
    {"1e2", "100"},
    {"2.50", "2.5"},
    {"-0", "0"},
    {"123456789012345678901234567890", "1.2345678901234568e+29"},
    {"1.0", "1"},
    {"0.00001", "1e-05"},
    {"3.25", "3.25"},
    {"0.1234567890123456789", "0.12345678901234568"},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers, ROWS = 40000 };

/* Returns a profile of two columns: `amount` cycles through `numbers` and separators; `order` is the row number / 8. */
static char *columns(void)
{
    static const char *const separators[] = {", ", ",", ",  ", ",\n"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("{\"header\":{\"type\":\"t\"},\"resources\":{\"a#0\":{\"amount\":[", out);
    for (unsigned i = 0; i < ROWS; i++)
        fprintf(out, "%s%s", i ? separators[i / 100 % 4] : "", numbers[i % NUMBERS][0]);
    fputs("], \"order\": [", out);
    for (unsigned i = 0; i < ROWS; i++)
        fprintf(out, "%s%u", i ? ", " : " ", i / 8);
    fputs("]}},\"resource_type_map\":{\"a#0\":{\"uid\":\"a\",\"workload\":\"x, y\"}}}", out);
    fclose(out);
    return text;
}

/* Columns of numbers print like numbers that were parsed and printed one by one. At most `limit` bytes are held in memory. */
static void test_columns(uint64_t limit, const char *what)
{
    struct file file;
    char *json = columns(), *want = NULL;
    size_t size;
    FILE *out = open_memstream(&want, &size);
    for (unsigned i = 0; i < ROWS; i++)
        fprintf(out, "%u,,,0,,%s,%u,x, y,t,,a|", i, numbers[i % NUMBERS][1], i / 8);
    fclose(out);
    file_open(&file, &pf_perun_driver, "job.perf", json, strlen(json), limit);
    char *whole = table_text(&file.model, "resources", PF_UNRESTRICTED, ROWS);
    char *hops = table_text(&file.model, "resources", PF_UNRESTRICTED, 777);
    ok(!strcmp(whole, want), "numbers in columns print as if parsed one by one, %s", what);
    ok(!strcmp(hops, want), "rows of columns resume at saved positions, %s", what);
    file_close(&file);
    free(json);
    free(want);
    free(whole);
    free(hops);
}

static void test_damage_behind(void)
{
    struct file file =
        file_of("{\"header\":{},\"resources\":[{\"uid\":\"a\",\"amount\":1},\n{\"uid\":\"a\",\"amount\":2},\n"
                "{\"uid\":\"a\",\"amount\":3},\n{\"uid\":\"a\",\"amount\":4}{");
    table_is(&file, "values", "all,a,amount,10|", "equal resources before damage are kept");
    const struct pf_cell *row = pf_rows_at(file.model.warnings, 0);
    ok(pf_rows_count(file.model.warnings) == 1 && row[0].i == 4, "damage is reported with its line");
    file_close(&file);
}

/* Checks that the last loop over the `n` parts of a profile reports its progress. */
static void steps_over(const char *before, const char *part, size_t n, const char *after, const char *name)
{
    struct pf_pass pass = {0}, *outer = pf_pass_begin(&pass);
    char *json = repeated(before, part, n - 1, after);
    struct file file = file_of(json);
    pf_pass_end(outer);
    ok(file.loaded && atomic_load(&pass.total) == n, "%s", name);
    file_close(&file);
    free(json);
}

int main(void)
{
    test_regions();
    steps_over("{\"header\":{},\"resources\":[{\"amount\":1}", ",{\"amount\":1}", 5000, "]}",
               "numbering of resources can be cancelled");
    steps_over("{\"header\":{},\"snapshots\":[{\"resources\":[]}", ",{\"resources\":[]}", 5000, "]}",
               "numbering of snapshots can be cancelled");
    test_columns(64 << 20, "from memory");
    test_columns(4096, "from a file");
    test_damage_behind();
    return done();
}
