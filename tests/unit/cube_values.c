/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <time.h>

#include "tests/unit/cube_fixture.h"

/* ---- inclusive and exclusive -------------------------------------------------------------------- */

static const uint32_t all[] = {0, 1, 2, 3, 4};

static void exclusive_values_add_up_the_tree(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    /* main, a, c, d, b in two locations each */
    put_doubles(&rows, (double[]){1, 2, 10, 20, 100, 0, 0, 2000, 0, 0.5}, 10, false);
    put_index(&tar, "0.index", all, 5, false);
    put_data(&tar, "0.data", &rows);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "time", "DOUBLE")));
    set_up(&fixture, &tar);
    values_are(
        &fixture,
        "0 main time 1|1 main time 2|0 main time (inc) 111|1 main time (inc) 2022.5|"
        "0 a time 10|1 a time 20|0 a time (inc) 110|1 a time (inc) 2020|"
        "0 c time 100|0 c time (inc) 100|"
        "1 d<int> time 2000|1 d<int> time (inc) 2000|"
        "1 b time 0.5|1 b time (inc) 0.5|",
        "rows of an exclusive metric are in document order, and inclusive values are sums of subtrees");
    ok(is_sound(&fixture), "a valid file has no warnings");
    tear_down(&fixture);
    forget(&rows);
}

static void inclusive_values_are_split(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    /* positions: main, its children a and b, then a's children c and d */
    put_doubles(&rows, (double[]){100, 200, 60, 70, 5, 0, 20, 30, 0, 40}, 10, false);
    put_index(&tar, "0.index", all, 5, false);
    put_data(&tar, "0.data", &rows);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "INCLUSIVE", "time", "DOUBLE")));
    set_up(&fixture, &tar);
    values_are(
        &fixture,
        "0 main time 35|1 main time 130|0 main time (inc) 100|1 main time (inc) 200|"
        "0 a time 40|0 a time (inc) 60|1 a time (inc) 70|"
        "0 c time 20|1 c time 30|0 c time (inc) 20|1 c time (inc) 30|"
        "1 d<int> time 40|1 d<int> time (inc) 40|"
        "0 b time 5|0 b time (inc) 5|",
        "rows of an inclusive metric have all children of a node together; exclusive values are differences");
    tear_down(&fixture);
    forget(&rows);
}

static void counts_are_exact(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    const uint64_t huge = UINT64_MAX;
    const uint64_t counts[] = {huge, 1, huge, 0, huge, 0, 0, 0, 0, 3};
    for (size_t i = 0; i < 10; i++)
        put_number(&rows, counts[i], 8, false);
    put_index(&tar, "0.index", all, -1, false);
    put_data(&tar, "0.data", &rows);
    put_index(&tar, "1.index", all, -1, false);
    put_data(&tar, "1.data", &rows);
    put_text(&tar, "anchor.xml",
             ANCHOR(METRIC(0, "EXCLUSIVE", "sum", "UINT64") METRIC(1, "INCLUSIVE", "left", "UINT64")));
    set_up(&fixture, &tar);
    char *text = values_text(&fixture, (struct pf_restriction){-1, 0, -1, -1}, false);
    is(text,
       "0 main sum 18446744073709551615|1 main sum 1|0 main sum (inc) 55340232221128654845|1 main sum (inc) "
       "4|"
       "0 main left -18446744073709551615|1 main left 1|0 main left (inc) 18446744073709551615|1 main left "
       "(inc) 1|",
       "sums of 64-bit counts may exceed 64 bits, and differences may be negative");
    free(text);
    ok(warns(&fixture, "warning", "wrapped") && warns(&fixture, "warning", "negative") &&
           pf_rows_count(fixture.model.warnings) == 3,
       "a warning names each metric whose counts may have wrapped around, and each that falls below zero");
    tear_down(&fixture);
    forget(&rows);
}

static void minima_are_not_sums(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    /* only main, a and d have rows */
    put_doubles(&rows, (double[]){5, 1, 3, 0, 4, 2}, 6, false);
    put_index(&tar, "0.index", (uint32_t[]){0, 1, 3}, 3, false);
    put_data(&tar, "0.data", &rows);
    put_index(&tar, "1.index", (uint32_t[]){0, 1, 3}, 3, false);
    put_data(&tar, "1.data", &rows);
    put_text(&tar, "anchor.xml",
             ANCHOR(METRIC(0, "EXCLUSIVE", "min", "MINDOUBLE") METRIC(1, "EXCLUSIVE", "max", "MAXDOUBLE")));
    set_up(&fixture, &tar);
    values_are(&fixture,
               "0 main min 5|1 main min 1|0 main min (inc) 3|1 main min (inc) 0|"
               "0 a min 3|1 a min 0|0 a min (inc) 3|1 a min (inc) 0|"
               "0 d<int> min 4|1 d<int> min 2|0 d<int> min (inc) 4|1 d<int> min (inc) 2|"
               "0 main max 5|1 main max 1|0 main max (inc) 5|1 main max (inc) 2|"
               "0 a max 3|1 a max 0|0 a max (inc) 4|1 a max (inc) 2|"
               "0 d<int> max 4|1 d<int> max 2|0 d<int> max (inc) 4|1 d<int> max (inc) 2|",
               "minima and maxima are taken over subtrees; a zero counts, a missing row does not");
    ok(fixture.model.metrics[0].over_partitions == PF_MIN &&
           fixture.model.metrics[3].over_partitions == PF_MAX &&
           fixture.model.metrics[1].over_contexts == PF_OVER_NO_CONTEXTS,
       "minima and maxima are taken over threads too, and not added over call paths");
    tear_down(&fixture);
    forget(&rows);
}

static void extremes_that_are_no_numbers(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_doubles(&rows, (double[]){NAN, 1, 4, NAN}, 4, false); /* rows of main (inner node) and d (leaf) */
    put_index(&tar, "0.index", (uint32_t[]){0, 3}, 2, false);
    put_data(&tar, "0.data", &rows);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "min", "MINDOUBLE")));
    set_up(&fixture, &tar);
    char *column = values_text(&fixture, (struct pf_restriction){1, -1, -1, -1}, false);
    is(column, "1 main min 1|1 main min (inc) 1|1 d<int> min nan|1 d<int> min (inc) nan|",
       "an extreme that is not a number is shown in a thread's values and in all");
    values_are(&fixture,
               "0 main min nan|1 main min 1|0 main min (inc) 4|1 main min (inc) 1|0 a min (inc) 4|"
               "0 d<int> min 4|1 d<int> min nan|0 d<int> min (inc) 4|1 d<int> min (inc) nan|",
               "an extreme that is not a number compares as smaller than any number");
    free(column);
    tear_down(&fixture);
    forget(&rows);
}

/* ---- elements ----------------------------------------------------------------------------------- */

/* Writes metrics 0, 1, ..., each with a single row for main; frees the rows. */
static void put_metrics(struct bytes *tar, struct bytes *rows, int n, bool big)
{
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.index", i);
        put_index(tar, name, all, 1, big);
        snprintf(name, sizeof name, "%d.data", i);
        put_data(tar, name, &rows[i]);
        forget(&rows[i]);
    }
}

static void put_average(struct bytes *rows, uint32_t n, double sum, bool big)
{
    put_number(rows, n, 4, big);
    put_doubles(rows, (double[]){1, 2, sum, sum * sum}, 4, big);
}

/* There is one metric per element type. Each has a single row with the values of main in two locations. */
static void all_types_in_this_order(bool big)
{
    static const char anchor[] = ANCHOR(
        METRIC(0, "EXCLUSIVE", "i8", "INT8") METRIC(1, "EXCLUSIVE", "u16", "UNSIGNED SHORT INT")
            METRIC(2, "EXCLUSIVE", "i32", "INT") METRIC(3, "EXCLUSIVE", "i64", "INTEGER")
                METRIC(4, "EXCLUSIVE", "rate", "RATE") METRIC(5, "EXCLUSIVE", "length", "COMPLEX") METRIC(
                    6, "EXCLUSIVE", "mean", "TAU_ATOMIC") METRIC(7, "EXCLUSIVE", "bins", "HISTOGRAM(2)")
                    METRIC(8, "EXCLUSIVE", "float", "FLOAT") METRIC(9, "EXCLUSIVE", "none", "QUATERNION"));
    struct bytes tar = {0}, rows[10] = {{0}};
    struct fixture fixture;
    put_number(&rows[0], (uint64_t)-3, 1, big), put_number(&rows[0], 100, 1, big);
    put_number(&rows[1], 65535, 2, big), put_number(&rows[1], 1, 2, big);
    put_number(&rows[2], (uint64_t)-70000, 4, big), put_number(&rows[2], 1, 4, big);
    put_number(&rows[3], (uint64_t)INT64_MIN, 8, big), put_number(&rows[3], 1, 8, big);
    put_doubles(&rows[4], (double[]){9, 2, 1, 0}, 4, big);
    put_doubles(&rows[5], (double[]){3, 4, 0, 0}, 4, big);
    put_average(&rows[6], 4, 10, big), put_average(&rows[6], 0, 0, big);
    put_doubles(&rows[7], (double[]){-1, 7, 2, 3, 0, 0, 0, 0}, 8, big);
    put_doubles(&rows[8], (double[]){0.1, 0}, 2, big);
    put_zeros(&rows[9], 64);
    put_metrics(&tar, rows, 10, big);
    put_text(&tar, "anchor.xml", anchor);
    set_up(&fixture, &tar);
    char *text = values_text(&fixture, PF_UNRESTRICTED, false);
    is(text,
       "0 main i8 -3|1 main i8 100|0 main i8 (inc) -3|1 main i8 (inc) 100|"
       "0 main u16 65535|1 main u16 1|0 main u16 (inc) 65535|1 main u16 (inc) 1|"
       "0 main i32 -70000|1 main i32 1|0 main i32 (inc) -70000|1 main i32 (inc) 1|"
       "0 main i64 -9223372036854775808|1 main i64 1|0 main i64 (inc) -9223372036854775808|1 main i64 (inc) "
       "1|"
       "0 main rate 4.5|0 main rate (inc) 4.5|0 main length 5|0 main length (inc) 5|"
       "0 main mean 2.5|0 main mean (inc) 2.5|0 main bins 5|0 main bins (inc) 5|"
       "0 main float 0.1|0 main float (inc) 0.1|",
       big ? "big-endian elements of each type are read" : "little-endian elements of each type are read");
    free(text);
    ok(warns(&fixture, "warning", "no-number"), "values that are not numbers are not shown, with a warning");
    for (int64_t thread = 0; thread < 2; thread++) {
        char *column = values_text(&fixture, (struct pf_restriction){thread, -1, -1, -1}, false);
        ok(strstr(column, thread ? "1 main i64 1|" : "0 main rate 4.5|0 main rate (inc) 4.5|") != NULL,
           "the transposed copy has the same values");
        free(column);
    }
    tear_down(&fixture);
}

/* Writes the function 2 x^(-3/4) log(x)^5 with its value 1.5 for 64 processes, as an element of 848 bytes. */
static void put_function(struct bytes *rows, bool big)
{
    size_t start = rows->size;
    put_number(rows, 1, 4, big), put_number(rows, 1, 4, big);
    put_double(rows, 2, big);
    put_number(rows, (uint64_t)-3, 4, big), put_number(rows, 4, 4, big), put_number(rows, 5, 4, big);
    put_number(rows, 64, 4, big), put_double(rows, 1.5, big), put_double(rows, 0.25, big);
    put_zeros(rows, 848 - (rows->size - start));
}

static void parts_of_elements_are_told(bool big)
{
    static const char anchor[] = ANCHOR(
        METRIC(0, "INCLUSIVE", "rate", "RATE") METRIC(1, "EXCLUSIVE", "length", "COMPLEX")
            METRIC(2, "EXCLUSIVE", "mean", "TAU_ATOMIC") METRIC(3, "EXCLUSIVE", "bins", "HISTOGRAM(2)")
                METRIC(4, "EXCLUSIVE", "list", "NDOUBLES(2)") METRIC(5, "EXCLUSIVE", "grows", "SCALE_FUNC"));
    struct bytes tar = {0}, rows[6] = {{0}};
    struct fixture fixture;
    put_doubles(&rows[0], (double[]){9, 2, 0, 0}, 4, big);
    put_doubles(&rows[1], (double[]){3, 4, 0, 0}, 4, big);
    put_average(&rows[2], 4, 10, big), put_average(&rows[2], 0, 0, big);
    put_doubles(&rows[3], (double[]){-1, 7, 2, 3, 0, 0, 0, 0}, 8, big);
    put_doubles(&rows[4], (double[]){0, 0, 0.5, 0}, 4, big);
    put_function(&rows[5], big), put_number(&rows[5], 1000, 4, big), put_zeros(&rows[5], 844);
    put_metrics(&tar, rows, 6, big);
    put_text(&tar, "anchor.xml", anchor);
    set_up(&fixture, &tar);
    char *whole = components_text(&fixture, PF_UNRESTRICTED, false);
    is(whole,
       "0 main rate (inc) main 9|0 main rate (inc) duration 2|0 main length re 3|0 main length im 4|"
       "0 main mean n 4|0 main mean min 1|0 main mean max 2|0 main mean sum 10|0 main mean sum2 100|"
       "1 main mean n 0|1 main mean min 1|1 main mean max 2|1 main mean sum 0|1 main mean sum2 0|"
       "0 main bins min -1|0 main bins max 7|0 main bins bin0 2|0 main bins bin1 3|"
       "1 main list 0 0.5|1 main list 1 0|"
       "0 main grows a0 2|0 main grows b0 -3|0 main grows c0 4|0 main grows d0 5|"
       "0 main grows processes0 64|0 main grows mean0 1.5|0 main grows width0 0.25|",
       "elements of several numbers are shown number by number, except zeros and damaged ones");
    char *again = components_text(&fixture, PF_UNRESTRICTED, true);
    is(again, whole, "a walk resumes at any saved position");
    char *thread = components_text(&fixture, (struct pf_restriction){1, 0, 8, -1}, false);
    is(thread, "1 main list 0 0.5|1 main list 1 0|",
       "values can be restricted to one thread, context and metric");
    char *elsewhere = components_text(&fixture, (struct pf_restriction){-1, 1, -1, -1}, false);
    is(elsewhere, "", "a call path without a row has no values");
    ok(is_sound(&fixture), "elements of several numbers have no warnings");
    free(whole), free(again), free(thread), free(elsewhere);
    tear_down(&fixture);
}

/* Reading an element of 65536 numbers must take linear time. */
static void long_elements_are_looked_through_once(void)
{
    enum { LENGTH = 65536 };
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_zeros(&rows, (LENGTH - 1) * 8), put_double(&rows, 1, false), put_zeros(&rows, LENGTH * 8);
    put_metrics(&tar, &rows, 1, false);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "list", "NDOUBLES(65536)")));
    set_up(&fixture, &tar);
    clock_t start = clock();
    char *whole = components_text(&fixture, PF_UNRESTRICTED, false);
    static const char last[] = "|0 main list 65534 0|0 main list 65535 1|";
    size_t size = strlen(whole);
    ok(size > sizeof last && !strcmp(whole + size - (sizeof last - 1), last),
       "a long list is read to its end");
    ok(clock() - start < 5 * CLOCKS_PER_SEC, "a long list is read in linear time");
    free(whole);
    tear_down(&fixture);
}

/* Stores the value of the first row that matches a restriction; "?" if there is none. */
static void first_value(struct fixture *fixture, struct pf_restriction only, char text[32])
{
    struct pf_cell cells[8] = {{0}};
    struct pf_cursor cursor = {.model = &fixture->model, .table = fixture->model.values, .only = only};
    strcpy(text, "?");
    if (!cursor.table->ops->open(&cursor, &fixture->error) &&
        cursor.table->ops->next(&cursor, cells, &fixture->error) > 0)
        snprintf(text, 32, "%g", cells[3].d);
    cursor.table->ops->close(&cursor);
}

/* Overwrites the file after the first walk, so that reading the values again would return other values. */
static void costly_values_are_read_once(void)
{
    enum { LEAVES = 40000, ROWS_AT = 3 * 512 + 10 }; /* after two headers, an index and a marker */
    struct bytes tar = {0}, ones = {0}, twos = {0}, anchor = {0};
    struct fixture fixture;
    char have[32], line[80];
    static const char head[] = "<cube version=\"4.4\"><metrics>" METRIC(0, "EXCLUSIVE", "time", "DOUBLE")
        METRIC(1, "EXCLUSIVE", "visits",
               "DOUBLE") "</metrics><program><region id=\"0\"><name>f</name></region>"
                         "<cnode id=\"0\" calleeId=\"0\">";
    static const char tail[] = "</cnode></program>" SYSTEM "</cube>";
    put(&anchor, head, sizeof head - 1);
    for (int i = 0; i <= LEAVES; i++) {
        if (i)
            put(&anchor, line, (size_t)sprintf(line, "<cnode id=\"%d\" calleeId=\"0\"/>", i));
        put_doubles(&ones, (double[]){1, 1}, 2, false);
        put_doubles(&twos, (double[]){2, 2}, 2, false);
    }
    put(&anchor, tail, sizeof tail - 1);
    put_index(&tar, "0.index", NULL, -1, false);
    put_data(&tar, "0.data", &ones);
    put_index(&tar, "1.index", NULL, -1, false);
    put_data(&tar, "1.data", &twos);
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    forget(&anchor);
    set_up(&fixture, &tar);
    first_value(&fixture, (struct pf_restriction){0, 0, 1, -1}, have);
    is(have, "40001", "inclusive values of many call paths are summed");
    int fd = openat(fixture.directory, "profile.cubex", O_WRONLY);
    if (fd < 0 || pwrite(fd, twos.at, twos.size, ROWS_AT) != (ssize_t)twos.size)
        abort();
    close(fd);
    first_value(&fixture, (struct pf_restriction){0, 0, 0, -1}, have);
    is(have, "2", "stored values are read from the file");
    first_value(&fixture, (struct pf_restriction){0, 0, 3, -1}, have);
    is(have, "80002", "each metric has its own values");
    tear_down(&fixture);
    forget(&ones);
    forget(&twos);
}

/* ---- the same rows by every kind of walk -------------------------------------------------------- */

/* Returns the rows of `text` whose first word is `thread` (< 0: any) and whose second is `context` (NULL: any). */
static char *filter(const char *text, int64_t thread, const char *context)
{
    char *kept = malloc(strlen(text) + 1), *out = kept, wanted[64];
    snprintf(wanted, sizeof wanted, " %s ", context ? context : "");
    for (const char *at = text; *at;) {
        const char *end = strchr(at, '|') + 1, *blank = strchr(at, ' ');
        if ((thread < 0 || strtoll(at, NULL, 10) == thread) &&
            (!context || !strncmp(blank, wanted, strlen(wanted)))) {
            memcpy(out, at, (size_t)(end - at));
            out += end - at;
        }
        at = end;
    }
    *out = 0;
    return kept;
}

static void walks_agree(struct fixture *fixture, const char *what)
{
    static const char *const names[] = {"main", "a", "c", "d<int>", "b"};
    char *whole = values_text(fixture, PF_UNRESTRICTED, false);
    bool same = true;
    for (int64_t thread = 0; thread < 2; thread++) {
        char *want = filter(whole, thread, NULL);
        char *have = values_text(fixture, (struct pf_restriction){thread, -1, -1, -1}, thread == 1);
        same &= !strcmp(want, have);
        free(want), free(have);
    }
    ok(same, "%s: rows restricted to a thread equal the whole's, digit by digit", what);
    same = true;
    for (int64_t context = 0; context < 5; context++) {
        char *want = filter(whole, -1, names[context]);
        char *have = values_text(fixture, (struct pf_restriction){-1, context, -1, -1}, context == 1);
        same &= !strcmp(want, have);
        free(want), free(have);
    }
    ok(same, "%s: rows restricted to a context equal the whole's, digit by digit", what);
    char *again = values_text(fixture, PF_UNRESTRICTED, true);
    is(again, whole, "a walk resumes at any saved position");
    free(again), free(whole);
}

static void restricted_walks_give_the_same_rows(bool packed, bool big)
{
    /* the rounded sum of these values depends on the order of addition */
    const double values[] = {0.1, 1e16, 0.2, 1, 0.3, -1e16, 0.7, 3, 1e-3, 0.5};
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_doubles(&rows, values, 10, big);
    for (int i = 0; i < 2; i++) {
        put_index(&tar, i ? "1.index" : "0.index", all, i ? 5 : 4, big);
        if (packed)
            put_packed(&tar, i ? "1.data" : "0.data", &rows, 16, big, -1);
        else
            put_data(&tar, i ? "1.data" : "0.data", &rows);
    }
    put_text(&tar, "anchor.xml",
             ANCHOR(METRIC(0, "EXCLUSIVE", "x", "DOUBLE") METRIC(1, "INCLUSIVE", "y", "DOUBLE")));
    set_up(&fixture, &tar);
    walks_agree(&fixture, packed ? "compressed" : "plain");
    tear_down(&fixture);
    forget(&rows);
}

static void wrong_positions_are_refused(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_doubles(&rows, (double[]){1, 2}, 2, false);
    put_index(&tar, "0.index", all, 1, false);
    put_data(&tar, "0.data", &rows);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "x", "DOUBLE")));
    set_up(&fixture, &tar);
    const struct pf_table *table = fixture.model.values;
    struct pf_cursor cursor = {.model = &fixture.model, .table = table, .only = PF_UNRESTRICTED};
    unsigned char saved[sizeof(uint64_t)];
    memset(saved, 0x7f, sizeof saved);
    ok(!table->ops->open(&cursor, &fixture.error) &&
           table->ops->restore(&cursor, saved, sizeof saved, &fixture.error) < 0 &&
           table->ops->restore(&cursor, saved, 3, &fixture.error) < 0,
       "impossible positions are refused");
    table->ops->close(&cursor);
    tear_down(&fixture);
    forget(&rows);
}

static void put_locations(FILE *out, int n)
{
    fputs("<system><systemtreenode Id=\"0\"><name>m</name><class>machine</class><locationgroup Id=\"0\">",
          out);
    for (int i = 0; i < n; i++)
        fprintf(out, "<location Id=\"%d\"><rank>%d</rank></location>", i, i);
    fputs("</locationgroup></systemtreenode></system>", out);
}

/* Writes a call path with three children at each of `levels` levels below it. */
static void put_subtree(FILE *out, int levels, int *next)
{
    fprintf(out, "<cnode id=\"%d\" calleeId=\"0\">", (*next)++);
    for (int i = 0; levels && i < 3; i++)
        put_subtree(out, levels - 1, next);
    fputs("</cnode>", out);
}

struct value_cells {
    int64_t thread, context, metric;
    double value;
};

/* Reads up to `most` rows from a cursor. Returns their number. */
static size_t read_values(struct fixture *fixture, struct pf_cursor *cursor, struct value_cells *rows,
                          size_t most)
{
    struct pf_cell cells[8];
    size_t n = 0;
    while (n < most && cursor->table->ops->next(cursor, cells, &fixture->error) > 0)
        rows[n++] = (struct value_cells){cells[0].i, cells[1].i, cells[2].i, cells[3].d};
    return n;
}

static struct pf_cursor open_values(struct fixture *fixture)
{
    struct pf_cursor cursor = {
        .model = &fixture->model, .table = fixture->model.values, .only = PF_UNRESTRICTED};
    if (fixture->result || cursor.table->ops->open(&cursor, &fixture->error))
        abort();
    return cursor;
}

/* There are so many locations that a walk holds few call paths at a time, and at first fewer if it starts inside the tree. */
static void walks_that_start_inside_the_tree_agree(void)
{
    enum { PATHS = 40, LOCATIONS = 4000, ROWS = PATHS * LOCATIONS * 4, STRETCH = 40000, APART = 7919 };
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    struct value_cells *whole = calloc(ROWS, sizeof *whole), *part = calloc(STRETCH, sizeof *part);
    char *anchor = NULL;
    size_t size, different = 0;
    int next = 0;
    FILE *out = open_memstream(&anchor, &size);
    if (!whole || !part || !out)
        abort();
    fputs("<cube version=\"4.4\"><metrics>" METRIC(0, "EXCLUSIVE", "t", "DOUBLE") METRIC(
              1, "INCLUSIVE", "u", "DOUBLE") "</metrics><program><region id=\"0\"><name>f</name></region>",
          out);
    put_subtree(out, 3, &next);
    fputs("</program>", out);
    put_locations(out, LOCATIONS);
    fputs("</cube>", out);
    fclose(out);
    for (int i = 0; i < PATHS * LOCATIONS; i++)
        put_double(&rows, i * 31 % 97 + 0.25, false);
    put_text(&tar, "anchor.xml", anchor);
    for (int i = 0; i < 2; i++) {
        put_index(&tar, i ? "1.index" : "0.index", all, -1, false);
        put_data(&tar, i ? "1.data" : "0.data", &rows);
    }
    set_up(&fixture, &tar);
    struct pf_cursor walk = open_values(&fixture);
    unsigned char saved[ROWS / APART + 1][sizeof(uint64_t)];
    size_t n = 0, positions = 0, got;
    do {
        walk.table->ops->save(&walk, saved[positions++], sizeof *saved);
        n += got = read_values(&fixture, &walk, whole + n, APART);
    } while (got == APART);
    walk.table->ops->close(&walk);
    ok(n == ROWS, "each call path has both values of both metrics in each location");
    for (size_t i = 0; i < positions; i++) {
        struct pf_cursor cursor = open_values(&fixture);
        size_t begin = i * APART, want = n - begin < STRETCH ? n - begin : STRETCH;
        if (cursor.table->ops->restore(&cursor, saved[i], sizeof *saved, &fixture.error))
            abort();
        different += read_values(&fixture, &cursor, part, STRETCH) != want ||
                     memcmp(part, whole + begin, want * sizeof *part) != 0;
        cursor.table->ops->close(&cursor);
    }
    ok(!different, "walks that start inside the tree have the same rows");
    free(whole), free(part), free(anchor);
    tear_down(&fixture);
    forget(&rows);
}

/*
 * Only the outermost of the nested call paths has a row. There are so many locations that a walk holds only a few call paths at a time.
 * The walk reads the exclusive values at once; then it sums the inclusive values without further reads.
 */
static void a_walk_without_reads_can_be_cancelled(void)
{
    enum { PATHS = 2000, LOCATIONS = 1000 };
    static const uint32_t outermost[] = {0};
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    struct pf_pass pass = {0};
    struct pf_cell cells[8];
    char *anchor = NULL;
    size_t size;
    int got = 1;
    FILE *out = open_memstream(&anchor, &size);
    fputs("<cube version=\"4.4\"><metrics>" METRIC(
              0, "EXCLUSIVE", "t", "DOUBLE") "</metrics><program><region id=\"0\"><name>f</name></region>",
          out);
    for (int i = 0; i < PATHS; i++)
        fprintf(out, "<cnode id=\"%d\" calleeId=\"0\">", i);
    for (int i = 0; i < PATHS; i++)
        fputs("</cnode>", out);
    fputs("</program>", out);
    put_locations(out, LOCATIONS);
    for (int i = 0; i < LOCATIONS; i++)
        put_double(&rows, 1, false);
    fputs("</cube>", out);
    fclose(out);
    put_text(&tar, "anchor.xml", anchor);
    put_index(&tar, "0.index", outermost, 1, false);
    put_data(&tar, "0.data", &rows);
    forget(&rows);
    free(anchor);
    set_up(&fixture, &tar);
    struct pf_cursor cursor = open_values(&fixture);
    struct pf_pass *before = pf_pass_begin(&pass);
    size_t n = 0;
    for (; got > 0; n++) {
        got = cursor.table->ops->next(&cursor, cells, &fixture.error);
        pass.stop = true;
    }
    pf_pass_end(before);
    ok(got < 0 && fixture.error.code == ECANCELED && n == LOCATIONS + 1,
       "sums over call paths without rows can be cancelled");
    cursor.table->ops->close(&cursor);
    tear_down(&fixture);
}

int main(void)
{
    exclusive_values_add_up_the_tree();
    inclusive_values_are_split();
    counts_are_exact();
    minima_are_not_sums();
    extremes_that_are_no_numbers();
    all_types_in_this_order(false);
    all_types_in_this_order(true);
    parts_of_elements_are_told(false);
    parts_of_elements_are_told(true);
    long_elements_are_looked_through_once();
    costly_values_are_read_once();
    restricted_walks_give_the_same_rows(false, false);
    restricted_walks_give_the_same_rows(true, true);
    wrong_positions_are_refused();
    walks_that_start_inside_the_tree_agree();
    a_walk_without_reads_can_be_cancelled();
    return done();
}
