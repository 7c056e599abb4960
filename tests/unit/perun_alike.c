/* SPDX-License-Identifier: MIT */
/* Resources that are written like the ones before are read by comparing text: nobody may see a difference. */
#include "tests/unit/perun_file.h"

/* Members of resources; those with one of each number stand three times each. */
static const char *const objects[] = {
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":\"a\",\"amount\":1,\"order\":1",
    "\"type\":\"t\",\"subtype\":\"user\",\"uid\":\"b\",\"amount\":2.5,\"order\":2",
    "\"type\":\"t\",\"subtype\":\"sys\",\"uid\":\"\",\"amount\":-3,\"order\":3",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":\"c, d\",\"amount\":4,\"order\":4",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":\"a\",\"amount\":1e2,\"order\":1",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":\"a\",\"amount\":\"0.5s\",\"order\":1",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":\"a\",\"amount\":null,\"order\":1",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":\"a\",\"amount\":123456789012345678901234567890,\"order\":1",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":\"\\u00e4\\\"\",\"amount\":6,\"order\":\"x\"",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":{\"function\":\"f\",\"line\":3},\"amount\":7,\"order\":1",
    "\"type\":\"t\",\"subtype\":\"real\",\"uid\":8,\"amount\":8,\"order\":1",
    "\"amount\":9,\"amount\":10,\"uid\":\"x\",\"uid\":\"y\"",
    "\"amount\":11,\"uid\":\"x\",\"time\":\"0.1\",\"tid\":5,\"thread\":\"six\"",
    "\"amount\":12,\"uid\":\"x\",\"snapshot\":3",
    "\"amount\":13,\"uid\":\"x\",\"snapshot\":4",
    "\"amount\":14,\"uid\":\"x\",\"snapshot\":\"no\"",
    "\"amount\":15,\"uid\":\"x\",\"trace\":[\"r\",\"s\"]",
    "\"amount\":16,\"uid\":\"x\",\"command\":\"c\"",
    "\"amount\":17,\"uid\":\"x\",\"flag\":true,\"list\":[1],\"text\":\"a,b\",\"none\":null",
    "\"amount\":18,\"text\":\"plain\"",
    "",
};
enum { OBJECTS = sizeof objects / sizeof *objects, TIMES = 3 * OBJECTS };

/* Which object is the i-th: each one three times in a row, then all of them in turns. */
static const char *object(unsigned i)
{
    return i < TIMES ? objects[i / 3] : objects[i * 7 % OBJECTS];
}

/* They are all written alike; or each with another number of blanks, so that no two are. */
static void print_object(FILE *out, unsigned i, bool alike)
{
    fprintf(out, "{%*s%s}", alike ? 0 : (int)i, "", object(i));
}

static char *resources(bool alike)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("{\"header\":{\"type\":\"h\"},\"resources\":[", out);
    for (unsigned i = 0; i < 2 * TIMES; i++) {
        fputs(i ? "," : "", out);
        print_object(out, i, alike);
    }
    fputs("]}", out);
    fclose(out);
    return text;
}

static char *entries(bool alike)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("{\"header\":{\"type\":\"h\"},\"resources\":{", out);
    for (unsigned i = 0; i < 2 * TIMES; i++)
        fprintf(out, "%s\"#%u\":{\"exclusive\":[%u,2]}", i ? "," : "", i, i);
    fputs("},\"resource_type_map\":{", out);
    for (unsigned i = 0; i < 2 * TIMES; i++) {
        fprintf(out, "%s\"#%u\":", i ? "," : "", i);
        print_object(out, i, alike);
    }
    fputs("}}", out);
    fclose(out);
    return text;
}

static void is_same(struct file *file, struct file *other, const char *table, const char *name)
{
    char *want = table_text(&other->profile, table, PF_UNRESTRICTED, 1000);
    table_is(file, table, want, name);
    char *hops = table_text(&file->profile, table, PF_UNRESTRICTED, 1);
    ok(!strcmp(hops, want), "%s, from every position", name);
    free(hops);
    free(want);
}

static void reads_the_same(char *(*write)(bool alike), const char *what)
{
    char name[100], *texts[] = {write(true), write(false)};
    struct file alike = file_of(texts[0]), other = file_of(texts[1]);
    snprintf(name, sizeof name, "%s that are alike have the same rows", what);
    is_same(&alike, &other, "resources", name);
    snprintf(name, sizeof name, "%s that are alike have the same sums", what);
    is_same(&alike, &other, "values", name);
    ok(pf_rows_count(alike.profile.warnings) == pf_rows_count(other.profile.warnings) &&
           pf_rows_count(alike.profile.warnings) > 0,
       "and the same warnings");
    file_close(&alike);
    file_close(&other);
    free(texts[0]);
    free(texts[1]);
}

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
             "what is alike in several snapshots belongs to its own");
    file_close(&file);
}

/* Number i of a column as it is written, and as it is shown. */
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
    {"123456789012345678901234567890", "123456789012345678901234567890"},
    {"1.0", "1"},
    {"0.00001", "1e-05"},
    {"3.25", "3.25"},
    {"0.1234567890123456789", "0.12345678901234568"},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers, ROWS = 40000 };

/* Two columns, of which the second is an eighth number; separated in several ways. */
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

/* Columns of numbers are shown as they would be if each was read and printed. limit: what may be held in memory, in bytes. */
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
    char *whole = table_text(&file.profile, "resources", PF_UNRESTRICTED, ROWS);
    char *hops = table_text(&file.profile, "resources", PF_UNRESTRICTED, 777);
    ok(!strcmp(whole, want), "numbers in columns are shown as they are printed, %s", what);
    ok(!strcmp(hops, want), "and from saved positions");
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
    table_is(&file, "values", "all,a,amount,10|", "what is alike and stands before damage is kept");
    const struct pf_cell *row = pf_rows_at(file.profile.warnings, 0);
    ok(pf_rows_count(file.profile.warnings) == 1 && row[0].i == 4, "the damage is told with its line");
    file_close(&file);
}

int main(void)
{
    reads_the_same(resources, "resources");
    reads_the_same(entries, "entries");
    test_regions();
    test_columns(64 << 20, "from memory");
    test_columns(4096, "from a file");
    test_damage_behind();
    return done();
}
