/* SPDX-License-Identifier: MIT */
/* Tests Nsight Systems exports that are damaged, hostile, or change while they are read. */
#include "tests/unit/nsight_export.h"

#include <dirent.h>

#include "formats/kit/pass.h"
#include "formats/model.h"

/* n launches and n kernels, one row each. */
#define MANY(n)                                                                                              \
    "WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM i WHERE x<" #n ")"                           \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT x*10,x*10+5,0," THREAD_7 ",x,1,0,NULL FROM i;"           \
    "WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM i WHERE x<" #n ")"                           \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT x*10,x*10+7,0,1,x%3,x," PID_7 ",3,3 FROM i;"

static size_t read_file(const char *name, unsigned char **bytes)
{
    int fd = open(path_in(export_folder, name), O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || !(*bytes = malloc((size_t)st.st_size)) ||
        read(fd, *bytes, (size_t)st.st_size) != st.st_size)
        abort();
    close(fd);
    return (size_t)st.st_size;
}

static void write_file(const char *name, const unsigned char *bytes, size_t size)
{
    struct timespec times[2] = {{.tv_sec = 4102444800}, {.tv_sec = 4102444800}};
    write_bytes(export_folder, name, bytes, size);
    utimensat(AT_FDCWD, path_in(export_folder, name), times, 0);
}

static unsigned count_lines(const char *text)
{
    unsigned lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void test_cut(void)
{
    unsigned char *bytes;
    close_export(export_of(TABLES NAMES MANY(20000)));
    size_t size = read_file("export.sqlite", &bytes);
    write_file("cut.sqlite", bytes, size / 2 + 100);
    struct open_export *export = open_export("cut.sqlite");
    ok(!export->failed, "a truncated file opens");
    ok(strstr(codes(export), "cut-file") != NULL, "a truncated file is reported");
    ok(strstr(codes(export), "bad-table") != NULL, "tables that cannot be read to their ends are reported");
    ok(strlen(rows(export, "api")) > 0, "rows before the truncation are read");
    close_export(export);
    remove_export("cut.sqlite");

    write_file("cut.sqlite", bytes, 60);
    export = open_export("cut.sqlite");
    ok(export->failed && export->error.code == EINVAL, "a file shorter than a header is rejected");
    close_export(export);
    remove_export("cut.sqlite");
    free(bytes);
}

/* Overwrites a few bytes. An error, warnings or wrong rows are acceptable, but a crash is not. */
static void test_flipped(void)
{
    unsigned char *bytes;
    unsigned opened = 0;
    uint64_t random = 42;
    close_export(export_of(SMALL MANY(300)));
    size_t size = read_file("export.sqlite", &bytes);
    for (unsigned round = 0; round < 400; round++) {
        unsigned char *copy = malloc(size);
        if (!copy)
            abort();
        memcpy(copy, bytes, size);
        for (unsigned i = 0; i < 1 + round % 8; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            copy[(random >> 33) % (round % 2 ? size : 4096)] = (unsigned char)(random >> 25);
        }
        write_file("flipped.sqlite", copy, size);
        struct open_export *export = open_export("flipped.sqlite");
        opened += !export->failed;
        if (!export->failed)
            rows(export, "values");
        if (!export->failed)
            rows(export, "events");
        close_export(export);
        free(copy);
    }
    ok(opened > 100, "exports with changed bytes are read as far as they can be: %u of 400", opened);
    remove_export("flipped.sqlite");
    free(bytes);
}

static uint32_t be32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Returns the offset of the root page of the kernels' table in the latest export, whose pages have 4096 bytes. */
static size_t page_of_kernels(void)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    if (sqlite3_open(path_in(export_folder, "export.sqlite"), &db) ||
        sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name='CUPTI_ACTIVITY_KIND_KERNEL'",
                           -1, &statement, NULL) ||
        sqlite3_step(statement) != SQLITE_ROW)
        abort();
    size_t root = (size_t)(sqlite3_column_int(statement, 0) - 1) * 4096;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return root;
}

/* The second of three kernels has a smaller rowid than the first. A walk must end there, although a search would find the third kernel. */
static void test_unordered(void)
{
    unsigned char *bytes;
    close_export(export_of("PRAGMA page_size=4096;" TABLES NAMES KERNEL(1, 2, 7, 1, 3) KERNEL(3, 4, 7, 1, 3)
                               KERNEL(5, 6, 7, 1, 3)));
    size_t root = page_of_kernels(), size = read_file("export.sqlite", &bytes);
    const unsigned char *cells = bytes + root + 8;
    bytes[root + ((size_t)cells[2] << 8 | cells[3]) + 1] = 0; /* cell: payload size, rowid, payload */
    write_file("unordered.sqlite", bytes, size);
    struct open_export *export = open_export("unordered.sqlite");
    is(codes(export), "bad-table", "a table whose rows are out of order ends at the first such row");
    char *whole = strdup(rows(export, "events"));
    ok(whole && count_lines(whole) == 1, "rows before the first one out of order are read");
    is(rows_resumed(export, PF_UNRESTRICTED), whole,
       "a walk over a table with rows out of order resumes at saved positions");
    free(whole);
    close_export(export);
    remove_export("unordered.sqlite");
    free(bytes);
}

/* The third kernel's row declares a size of 2^56 bytes. */
static void test_endless_row(void)
{
    static const unsigned char cell[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,    3,   8,
                                         0,    4,    0x58, 0x75, 0xdf, 4,    0x58, 0x8a, 0x50};
    unsigned char *bytes;
    close_export(export_of("PRAGMA page_size=4096;" TABLES NAMES KERNEL(1, 2, 7, 1, 3) KERNEL(3, 4, 7, 1, 3)
                               KERNEL(5, 6, 7, 1, 3)));
    size_t root = page_of_kernels(), size = read_file("export.sqlite", &bytes);
    const unsigned char *cells = bytes + root + 8;
    memcpy(bytes + root + ((size_t)cells[4] << 8 | cells[5]), cell, sizeof cell);
    write_file("endless.sqlite", bytes, size);
    struct open_export *export = open_export("endless.sqlite");
    ok(!export->failed && count_lines(rows(export, "events")) == 2,
       "a row of impossible length ends its table");
    is(export->failed ? "" : codes(export), "bad-table", "a row of impossible length is reported");
    close_export(export);
    remove_export("endless.sqlite");
    free(bytes);
}

/* A row found by fuzzing for which SQLite returns SQLITE_NOMEM. */
static void test_row_beyond_memory(void)
{
    static unsigned char bytes[64 * 1024];
    FILE *seed = fopen("tests/fuzz/seeds/nsight/endless-row.sqlite", "rb");
    size_t size = seed ? fread(bytes, 1, sizeof bytes, seed) : 0;
    if (!size)
        abort();
    fclose(seed);
    write_file("endless.sqlite", bytes, size);
    struct open_export *export = open_export("endless.sqlite");
    ok(!export->failed && strstr(codes(export), "bad-table") && count_lines(rows(export, "events")) > 0,
       "a row that exceeds memory ends its own table only");
    close_export(export);
    remove_export("endless.sqlite");
}

/* Makes all child pointers in the root page of the kernels' table refer to its first child. */
static void test_circle(void)
{
    unsigned char *bytes;
    close_export(export_of("PRAGMA page_size=4096;" TABLES NAMES MANY(1000)));
    size_t root = page_of_kernels();
    size_t size = read_file("export.sqlite", &bytes);
    unsigned cells = (unsigned)bytes[root + 3] << 8 | bytes[root + 4];
    const unsigned char *first = bytes + root + ((size_t)bytes[root + 12] << 8 | bytes[root + 13]);
    uint32_t child = be32(first);
    for (unsigned i = 0; i < cells; i++)
        memcpy(bytes + root + ((size_t)bytes[root + 12 + 2 * i] << 8 | bytes[root + 13 + 2 * i]), first, 4);
    memcpy(bytes + root + 8, first, 4);
    ok(bytes[root] == 5 && cells > 1 && child > 1, "the table of the test has an inner page");
    write_file("circle.sqlite", bytes, size);
    struct open_export *export = open_export("circle.sqlite");
    is(codes(export), "bad-table", "a table whose pages form a cycle is reported");
    unsigned events = count_lines(rows(export, "events"));
    ok(events > 0 && events < 1000, "rows of a table whose pages form a cycle are read once: %u", events);
    close_export(export);
    remove_export("circle.sqlite");
    free(bytes);
}

static void test_write_ahead(void)
{
    unsigned char *bytes;
    close_export(export_of(SMALL));
    size_t size = read_file("export.sqlite", &bytes);
    bytes[18] = bytes[19] = 2; /* file format versions for writing and reading: 2 is WAL mode */
    write_file("wal.sqlite", bytes, size);
    write_text(export_folder, "wal.sqlite-wal", "no log");
    write_text(export_folder, "wal.sqlite-journal", "no journal");
    struct open_export *export = open_export("wal.sqlite");
    ok(!export->failed && count_lines(rows(export, "events")) == 4,
       "an export in WAL mode is read without its log");
    close_export(export);
    unsigned files = 0;
    DIR *listing = opendir(export_folder);
    while (listing && readdir(listing))
        files++;
    if (listing)
        closedir(listing);
    ok(files == 2 + 4, "no file is created next to an export in WAL mode");
    remove_export("wal.sqlite");
    remove_export("wal.sqlite-wal");
    remove_export("wal.sqlite-journal");
    free(bytes);
}

static void test_hostile_schemas(void)
{
    struct open_export *export = export_of(
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);" NAMES NVTX_TABLE
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x+1 "
        "FROM i)"
        " SELECT x AS start, x AS end, x AS shortName FROM i;");
    ok(!export->failed && !*rows(export, "events"), "a view is not read, however many rows it has");
    close_export(export);

    export = export_of(SMALL "PRAGMA writable_schema=ON;"
                             "INSERT INTO sqlite_schema VALUES ('view','EXTRAP_GPU_INFO','EXTRAP_GPU_INFO',0,"
                             "'CREATE VIEW EXTRAP_GPU_INFO AS SELECT FROM newer SYNTAX');");
    ok(!export->failed && count_lines(rows(export, "events")) == 4,
       "views that cannot be parsed are ignored");
    close_export(export);

    export = export_of(TABLES NAMES
                       "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"
                       "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end, shortName);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,3);");
    ok(!export->failed && !*rows(export, "events"), "virtual tables are not read");
    close_export(export);

    export = export_of(TABLES NAMES
                       "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"
                       "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, rowid TEXT);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,'x'),(3,4,'x');");
    ok(!export->failed && !*rows(export, "events"),
       "a column with the rowid's name is not taken for the rowid");
    close_export(export);

    export = export_of(
        TABLES NAMES
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end INTEGER) WITHOUT ROWID;"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2);");
    ok(!export->failed && !*rows(export, "events"), "tables without rowids are not read");
    close_export(export);

    /* The expensive column comes last, because SQLite would compute it for each inserted row. */
    export = export_of(TABLES NAMES "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;"
                                    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER,"
                                    " demangledName TEXT AS (hex(zeroblob(start))) STORED);"
                                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (1,2),(3,4);"
                                    "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL"
                                    " ADD COLUMN shortName TEXT AS (printf('%.*c',900000000,'x'));");
    ok(!export->failed && count_lines(rows(export, "events")) == 2,
       "rows with computed columns are read without these columns");
    is(codes(export), "computed-column computed-column", "computed columns are reported");
    close_export(export);
}

/*
 * An index lacks rows of its table. It is made as a partial index, whose declaration in the schema is then replaced by that of a full one.
 */
static void test_lying_index(void)
{
    struct open_export *export = export_of(
        TABLES NAMES MANY(100) "CREATE INDEX lie ON CUPTI_ACTIVITY_KIND_KERNEL (start) WHERE start < 0;"
                               "PRAGMA writable_schema=ON;"
                               "UPDATE sqlite_schema SET sql='CREATE INDEX lie ON CUPTI_ACTIVITY_KIND_KERNEL "
                               "(start)' WHERE name='lie';");
    ok(!export->failed && count_lines(rows(export, "events")) == 100,
       "rows that an index leaves out are read from the table");
    close_export(export);
}

static void test_types(void)
{
    struct open_export *export =
        export_of(TABLES NAMES "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                               "('soon',x'00',1.5,'a',9223372036854775807,'b',-1,'c',3),"
                               "(-9223372036854775807,9223372036854775807,0,1,-5,1," PID_7
                               ",3,3),(50,40,0,1,7,1," PID_7 ",3,3);");
    if (!ok(!export->failed, "cells of other types are read"))
        printf("# %s\n", export->error.what);
    is(codes(export), "bad-times untimed", "implausible times are reported");
    ok(count_lines(rows(export, "events")) == 3, "rows with cells of other types are read");
    close_export(export);
}

static void test_no_export(void)
{
    struct open_export *export = export_of("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                                           "CREATE TABLE other (CUPTI_ACTIVITY_KIND_KERNEL TEXT);");
    ok(export->failed && export->error.code == EINVAL, "a database of something else is rejected");
    close_export(export);
}

static void test_changed(void)
{
    close_export(export_of(TABLES NAMES MANY(20000)));
    struct open_export *export = open_export("export.sqlite");
    struct pf_error error;
    struct pf_model again;
    if (pf_model_begin(&again, &pf_nsight_driver, export->model.source, &export->options, &error) ||
        pf_nsight_driver.open(&again, &error) || truncate(path_in(export_folder, "export.sqlite"), 4096))
        abort();
    ok(pf_nsight_driver.load(&again, PF_PARTITIONED, &error),
       "a file that is truncated while it is read is an error");
    ok(error.code == ESTALE, "the error of a file that is truncated while it is read is ESTALE");
    pf_model_end(&again);
    close_export(export);
}

static void test_stopped(void)
{
    close_export(export_of(TABLES NAMES MANY(20000)));
    struct open_export *export = open_export("export.sqlite");
    struct pf_pass pass = {.stop = true};
    struct pf_model *model = &export->model;
    struct pf_source *source = model->source;
    struct pf_error error;
    struct pf_model again;
    if (pf_model_begin(&again, &pf_nsight_driver, source, &export->options, &error) ||
        pf_nsight_driver.open(&again, &error))
        abort();
    struct pf_pass *before = pf_pass_begin(&pass);
    ok(pf_nsight_driver.load(&again, PF_PARTITIONED, &error) && error.code == ECANCELED,
       "a cancelled pass stops");
    pf_pass_end(before);
    ok(!again.partitions.items && !again.contexts && !pf_nsight_driver.load(&again, PF_PARTITIONED, &error) &&
           again.contexts,
       "a pass after a cancelled one succeeds");
    pf_model_end(&again);
    close_export(export);
}

int main(void)
{
    test_cut();
    test_flipped();
    test_unordered();
    test_endless_row();
    test_row_beyond_memory();
    test_circle();
    test_write_ahead();
    test_hostile_schemas();
    test_lying_index();
    test_types();
    test_no_export();
    test_changed();
    test_stopped();
    temp_dir_remove(export_folder);
    return done();
}
