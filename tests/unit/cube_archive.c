/* SPDX-License-Identifier: MIT */
#include "formats/cube/cubex.h"
#include "formats/driver_extra.h"
#include "tests/unit/cube_fixture.h"

/* All variants of archives, and the readable part of damaged ones. */

static const uint32_t first_only[] = {0};

/* Writes metric 0 with a single row: main has the values 1 and 2 in the two locations. */
static void put_metric(struct bytes *tar)
{
    struct bytes rows = {0};
    put_doubles(&rows, (double[]){1, 2}, 2, false);
    put_index(tar, "0.index", first_only, 1, false);
    put_data(tar, "0.data", &rows);
    forget(&rows);
}

#define ONE_METRIC ANCHOR(METRIC(0, "INCLUSIVE", "time", "DOUBLE"))
#define ONE_VALUE  "0 main time 1|1 main time 2|0 main time (inc) 1|1 main time (inc) 2|"

/* Opens the file. Returns true if metric 0 can be read. */
static bool can_be_read(struct bytes *tar)
{
    struct fixture fixture;
    set_up(&fixture, tar);
    char *text = fixture.result ? NULL : values_text(&fixture, PF_UNRESTRICTED, false);
    bool good = text && !strcmp(text, ONE_VALUE) && is_sound(&fixture);
    free(text);
    tear_down(&fixture);
    return good;
}

static void archives_come_in_many_ways(void)
{
    struct bytes tar = {0};
    put_text(&tar, "anchor.xml", ONE_METRIC);
    put_metric(&tar);
    ok(can_be_read(&tar), "the anchor may come first");

    put_metric(&tar);
    put_zeros(&tar, 512);
    put_text(&tar, "anchor.xml", ONE_METRIC);
    ok(can_be_read(&tar), "a single block of zeros is not the end");

    put_metric(&tar);
    put_text(&tar, "./anchor.xml", ONE_METRIC);
    put_zeros(&tar, 16384);
    ok(can_be_read(&tar), "names may begin with ./, and many blocks of zeros may end the file");

    put_metric(&tar);
    put_text(&tar, "anchor.xml", "<cube/>");
    put_text(&tar, "anchor.xml", ONE_METRIC);
    ok(can_be_read(&tar), "the last of two members with one name is used");

    put_metric(&tar);
    put_text(&tar, "anchor.xml", ONE_METRIC);
    for (size_t at = 0; at + 512 <= tar.size; at += 512)
        if (!memcmp(tar.at + at + 257, "ustar", 5)) {
            tar.at[at + 156] = 0;
            memcpy(tar.at + at + 148, "005689", 6);
        }
    ok(can_be_read(&tar), "checksums may be wrong, and the kind of a member may be NUL");
}

static void sizes_may_stand_before_the_header(void)
{
    struct bytes tar = {0};
    char record[64];
    put_metric(&tar);
    snprintf(record, sizeof record, "16 size=%06zu\n", strlen(ONE_METRIC));
    put_header(&tar, "pax", strlen(record), 'x');
    put(&tar, record, strlen(record));
    put_zeros(&tar, 512 - strlen(record));
    put_header(&tar, "anchor.xml", 7, '0');
    put(&tar, ONE_METRIC, strlen(ONE_METRIC));
    put_zeros(&tar, 1024 - strlen(ONE_METRIC) % 512);
    ok(can_be_read(&tar), "a size in a pax record overrides the member's");

    put_metric(&tar);
    put_header(&tar, "anchor.xml", 0, '0');
    memset(tar.at + tar.size - 512 + 124, 0, 12);
    tar.at[tar.size - 512 + 124] = 0x80;
    tar.at[tar.size - 512 + 134] = (unsigned char)(strlen(ONE_METRIC) >> 8);
    tar.at[tar.size - 512 + 135] = (unsigned char)strlen(ONE_METRIC);
    put(&tar, ONE_METRIC, strlen(ONE_METRIC));
    ok(can_be_read(&tar), "sizes may be binary");
}

static void members_are_carried(void)
{
    struct bytes tar = {0};
    struct fixture fixture;
    char text[64] = "";
    put_metric(&tar);
    put_text(&tar, "Humpty Dumpty", "sat on a wall");
    put_text(&tar, "anchor.xml", ONE_METRIC);
    set_up(&fixture, &tar);
    const struct pf_model_extra *extra = pf_extra_of(&fixture.model);
    ok(extra->n_blobs == 2 && !strcmp(extra->blobs[0].name, "Humpty Dumpty") &&
           !strcmp(extra->blobs[1].name, "anchor.xml"),
       "a member that is not a matrix is carried as a file");
    ssize_t size = pf_cube_driver.extra->blob_read(&fixture.model, 0, text, sizeof text, 4, &fixture.error);
    ok(size == 9 && !memcmp(text, "on a wall", 9), "a carried file can be read at any offset");
    tear_down(&fixture);

    put_metric(&tar);
    set_up(&fixture, &tar);
    ok(!fixture.result && warns(&fixture, "fatal", "no-anchor") && pf_extra_of(&fixture.model)->n_blobs == 2,
       "an archive without an anchor has its members as files, and a warning");
    tear_down(&fixture);
}

/* ---- damage ------------------------------------------------------------------------------------- */

static void a_cut_file_keeps_what_came_before(void)
{
    struct bytes tar = {0};
    struct fixture fixture;
    put_text(&tar, "anchor.xml",
             ANCHOR(METRIC(0, "INCLUSIVE", "time", "DOUBLE") METRIC(1, "INCLUSIVE", "more", "DOUBLE")));
    put_metric(&tar);
    put_header(&tar, "1.data", 4096, '0');
    put_zeros(&tar, 100);
    set_up(&fixture, &tar);
    values_are(&fixture, ONE_VALUE, "members before the end of a cut file are read");
    ok(warns(&fixture, "fatal", "cut"), "the end of a truncated file is reported");
    tear_down(&fixture);

    put_text(&tar, "anchor.xml", ONE_METRIC);
    put_metric(&tar);
    put(&tar, "garbage", 7);
    put_zeros(&tar, 505);
    set_up(&fixture, &tar);
    ok(!fixture.result && warns(&fixture, "fatal", "bad-header"), "an invalid header ends the archive");
    tear_down(&fixture);
}

static void a_damaged_metric_leaves_the_others(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_metric(&tar);
    put_text(&tar, "1.index", "CUBEX.INDIX\1\0\0\0and so on, and so on");
    put_text(&tar, "1.data", "CUBEX.DATA");
    put_index(&tar, "2.index", first_only, 1, false);
    put_text(&tar, "2.data", "CUBA.DATA.");
    put_index(&tar, "3.index", first_only, 1, false);
    put_index(&tar, "4.index", (uint32_t[]){3, 1}, 2, false);
    put_doubles(&rows, (double[]){1, 2, 3, 4}, 4, false);
    put_data(&tar, "4.data", &rows);
    put_text(&tar, "anchor.xml",
             ANCHOR(METRIC(0, "INCLUSIVE", "time", "DOUBLE") METRIC(1, "INCLUSIVE", "b", "DOUBLE")
                        METRIC(2, "INCLUSIVE", "c", "DOUBLE") METRIC(3, "INCLUSIVE", "d", "DOUBLE")
                            METRIC(4, "INCLUSIVE", "e", "DOUBLE") METRIC(5, "INCLUSIVE", "f", "DOUBLE")));
    set_up(&fixture, &tar);
    values_are(&fixture, ONE_VALUE,
               "metrics with damaged members have no values, and the others have theirs");
    ok(warns(&fixture, "error", "bad-index") && warns(&fixture, "error", "bad-data") &&
           warns(&fixture, "error", "no-data") && pf_rows_count(fixture.model.warnings) == 4,
       "each metric with damaged members is reported, and a metric without members is not");
    const struct pf_metric *metrics = fixture.model.metrics;
    ok(fixture.model.n_metrics == 12 && !metrics[0].empty && metrics[6].empty && metrics[10].empty,
       "all metrics are listed, and those without members are marked as empty");
    tear_down(&fixture);
    forget(&rows);
}

static void rows_may_be_missing(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_doubles(&rows, (double[]){1, 2, 3}, 3, false);
    put_index(&tar, "0.index", (uint32_t[]){0, 1, 77}, 3, false);
    put_data(&tar, "0.data", &rows);
    put_text(&tar, "anchor.xml", ONE_METRIC);
    set_up(&fixture, &tar);
    values_are(&fixture, ONE_VALUE, "rows beyond the end of the data, or without a call path, are skipped");
    ok(warns(&fixture, "error", "short-data") && warns(&fixture, "warning", "bad-position"),
       "rows beyond the end of the data and rows without a call path are reported");
    tear_down(&fixture);
    forget(&rows);
}

static void positions_may_be_wrong(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_doubles(&rows, (double[]){1, 2, 3, 4, 5, 6}, 6, false);
    put_index(&tar, "0.index", (uint32_t[]){0, 7777, 4}, 3, false);
    put_data(&tar, "0.data", &rows);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "time", "DOUBLE")));
    set_up(&fixture, &tar);
    values_are(&fixture,
               "0 main time 1|1 main time 2|0 main time (inc) 6|1 main time (inc) 8|"
               "0 b time 5|1 b time 6|0 b time (inc) 5|1 b time (inc) 6|",
               "a row without a call path is skipped, and the rows after it keep their call paths");
    ok(warns(&fixture, "warning", "bad-position"), "a row without a call path is reported");
    char *text = values_text(&fixture, (struct pf_restriction){1, -1, -1, -1}, false);
    is(text, "1 main time 2|1 main time (inc) 8|1 b time 6|1 b time (inc) 6|",
       "a row without a call path is skipped among the values of one location");
    free(text);
    tear_down(&fixture);
    forget(&rows);
}

/* All metrics have the number 0, so they share 30000 rows; but in memory, each needs its own table of these rows' streams. */
static void metrics_that_share_rows_are_limited(void)
{
    enum { METRICS = 1000, ROWS = 30000 };
    struct fixture fixture;
    struct bytes tar = {0}, anchor = {0}, data = {0};
    static uint32_t positions[ROWS];
    put(&anchor, "<cube version='4.4'><metrics>", 29);
    for (int i = 0; i < METRICS; i++)
        put(&anchor, METRIC(0, "EXCLUSIVE", "t", "DOUBLE"), sizeof METRIC(0, "EXCLUSIVE", "t", "DOUBLE") - 1);
    put(&anchor, "</metrics><program><region id='0'/>", 35);
    put(&data, "ZCUBEX.DATA", 11);
    put_number(&data, ROWS, 8, false);
    for (uint32_t i = 0; i <= ROWS; i++) {
        char call[64];
        put(&anchor, call, (size_t)snprintf(call, sizeof call, "<cnode id='%u' calleeId='0'/>", i));
        if (i < ROWS)
            positions[i] = i + 1;
    }
    put(&anchor, "</program>" SYSTEM "</cube>", sizeof "</program>" SYSTEM "</cube>" - 1);
    put_zeros(&data, (size_t)24 * ROWS);
    put_index(&tar, "0.index", positions, ROWS, false);
    put_member(&tar, "0.data", data.at, data.size);
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    open_fixture(&fixture, &tar);
    fixture.result =
        fixture.result ? fixture.result : pf_model_load(&fixture.model, PF_MODELLED, &fixture.error);
    ok(!fixture.result && warns(&fixture, "fatal", "too-large"),
       "the memory of metrics that share their rows is bounded");
    tear_down(&fixture);
    forget(&anchor);
    forget(&data);
}

static void a_damaged_stream_is_one_row(void)
{
    struct bytes tar = {0}, rows = {0};
    struct fixture fixture;
    put_doubles(&rows, (double[]){1, 2, 3, 4, 5, 6}, 6, false);
    put_index(&tar, "0.index", (uint32_t[]){0, 3, 4}, 3, false);
    put_packed(&tar, "0.data", &rows, 16, false, 1);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "time", "DOUBLE")));
    set_up(&fixture, &tar);
    values_are(&fixture,
               "0 main time 1|1 main time 2|0 main time (inc) 6|1 main time (inc) 8|"
               "0 b time 5|1 b time 6|0 b time (inc) 5|1 b time (inc) 6|",
               "a damaged one of several compressed rows is skipped");
    ok(warns(&fixture, "error", "bad-stream"), "a damaged stream is reported");
    tear_down(&fixture);
    forget(&rows);

    put_index(&tar, "0.index", first_only, 1, false);
    put_text(&tar, "0.data", "ZCUBEX.DATA\xff\xff\xff\xff\xff\xff\xff\x0f and no streams at all");
    put_text(&tar, "anchor.xml", ONE_METRIC);
    set_up(&fixture, &tar);
    ok(!fixture.result && warns(&fixture, "error", "bad-data"), "an impossible number of streams is refused");
    tear_down(&fixture);
}

/* Loads a file whose rows have no streams. Each row takes 24 bytes in the data, and 8 bytes per location in a copy. */
static void load_rows_without_streams(struct fixture *fixture, int rows, int locations)
{
    struct bytes tar = {0}, anchor = {0}, data = {0};
    char text[64];
    put(&anchor, "<cube version='4'><metrics>", 27);
    put(&anchor, METRIC(0, "EXCLUSIVE", "t", "DOUBLE"), sizeof METRIC(0, "EXCLUSIVE", "t", "DOUBLE") - 1);
    put(&anchor, "</metrics><program><region id='0'/>", 35);
    for (int i = 0; i < rows; i++)
        put(&anchor, text, (size_t)snprintf(text, sizeof text, "<cnode id='%d' calleeId='0'/>", i));
    put(&anchor, "</program><system><systemtreenode Id='0'><locationgroup Id='0'>", 63);
    for (int i = 0; i < locations; i++)
        put(&anchor, text, (size_t)snprintf(text, sizeof text, "<location Id='%d'/>", i));
    put(&anchor, "</locationgroup></systemtreenode></system></cube>", 49);
    put(&data, "ZCUBEX.DATA", 11);
    put_number(&data, (uint64_t)rows, 8, false);
    put_zeros(&data, (size_t)24 * (size_t)rows);
    put_index(&tar, "0.index", NULL, -1, false);
    put_member(&tar, "0.data", data.at, data.size);
    put_member(&tar, "anchor.xml", anchor.at, anchor.size);
    open_fixture(fixture, &tar);
    fixture->result = fixture->result || pf_model_load(&fixture->model, PF_MODELLED, &fixture->error) ||
                      pf_cube_driver.load(&fixture->model, PF_DERIVED, &fixture->error);
    forget(&anchor);
    forget(&data);
}

static void has_no_values_of_a_thread(struct fixture *fixture, const char *name)
{
    char *values =
        fixture->result ? NULL : values_text(fixture, (struct pf_restriction){1, -1, -1, -1}, false);
    is(values, "", name);
    free(values);
}

static void rows_without_streams_are_not_copied(void)
{
    struct fixture fixture;
    load_rows_without_streams(&fixture, 13000, 13000);
    ok(!fixture.result && !((struct pf_cubex *)fixture.model.state)->columns.store,
       "rows that would take a thousand times the size of the file are not copied");
    has_no_values_of_a_thread(&fixture, "rows that are not copied are read from the file");
    tear_down(&fixture);

    struct stat st = {0};
    load_rows_without_streams(&fixture, 3000, 3000);
    const struct pf_store *store = ((struct pf_cubex *)fixture.model.state)->columns.store;
    ok(!fixture.result && store && pf_store_size(store) == (uint64_t)8 * 3000 * 3000 &&
           !fstat(pf_store_file(store), &st) && st.st_blocks < 2048,
       "a copy of rows without streams takes no space on disk: %jd blocks", (intmax_t)st.st_blocks);
    has_no_values_of_a_thread(&fixture, "the rows of such a copy have no values");
    tear_down(&fixture);
}

static void streams_may_stand_in_any_order(void)
{
    struct bytes tar = {0}, data = {0};
    struct fixture fixture;
    unsigned char packed[2][128];
    uLongf size[2];
    const double values[] = {1, 2, 3, 4};
    for (int i = 0; i < 2; i++) {
        size[i] = sizeof packed[i];
        struct bytes row = {0};
        put_double(&row, values[2 * i], false);
        put_double(&row, values[2 * i + 1], false);
        compress(packed[i], &size[i], row.at, row.size);
        forget(&row);
    }
    put(&data, "ZCUBEX.DATA", 11);
    put_number(&data, 2, 8, false);
    for (unsigned i = 2; i-- > 0;) { /* the stream of the second row comes first */
        put_number(&data, 16 * i, 8, false);
        put_number(&data, i ? 0 : size[1], 8, false);
        put_number(&data, size[i], 8, false);
    }
    put(&data, packed[1], size[1]);
    put(&data, packed[0], size[0]);
    put_index(&tar, "0.index", (uint32_t[]){3, 4}, 2, false);
    put_member(&tar, "0.data", data.at, data.size);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "t", "DOUBLE")));
    set_up(&fixture, &tar);
    char *text = values_text(&fixture, (struct pf_restriction){-1, 3, -1, -1}, false);
    is(text, "0 d<int> t 1|1 d<int> t 2|0 d<int> t (inc) 1|1 d<int> t (inc) 2|",
       "a row's stream is found by its offset in the uncompressed data");
    free(text);
    tear_down(&fixture);
    forget(&data);
}

static void streams_may_be_empty(void)
{
    struct bytes tar = {0}, data = {0};
    struct fixture fixture;
    unsigned char packed[128];
    uLongf size = sizeof packed;
    compress(packed, &size, (const Bytef *)(const double[]){1, 2}, 16);
    put(&data, "ZCUBEX.DATA", 11);
    put_number(&data, 2, 8, false);
    for (unsigned i = 0; i < 2; i++) {
        put_number(&data, 16 * i, 8, false);
        put_number(&data, i ? size : 0, 8, false);
        put_number(&data, i ? 0 : size, 8, false);
    }
    put(&data, packed, size);
    put_index(&tar, "0.index", (uint32_t[]){3, 4}, 2, false);
    put_member(&tar, "0.data", data.at, data.size);
    put_text(&tar, "anchor.xml", ANCHOR(METRIC(0, "EXCLUSIVE", "t", "DOUBLE")));
    set_up(&fixture, &tar);
    char *text = values_text(&fixture, (struct pf_restriction){-1, 4, -1, -1}, false);
    is(text, "", "a row whose stream has no bytes has no data");
    ok(is_sound(&fixture), "an empty stream has no warning");
    free(text);
    tear_down(&fixture);
    forget(&data);
}

int main(void)
{
    archives_come_in_many_ways();
    sizes_may_stand_before_the_header();
    members_are_carried();
    a_cut_file_keeps_what_came_before();
    a_damaged_metric_leaves_the_others();
    rows_may_be_missing();
    positions_may_be_wrong();
    metrics_that_share_rows_are_limited();
    a_damaged_stream_is_one_row();
    rows_without_streams_are_not_copied();
    streams_may_stand_in_any_order();
    streams_may_be_empty();
    return done();
}
