/* SPDX-License-Identifier: MIT */
/* Tests files of XRay's profiling mode. */
#include "tests/unit/xray_log.h"

static void recognises_files(struct log *log)
{
    put_profiling_header(log, 7);
    ok(confidence_in(log->bytes, log->size) >= 32, "a file with only a header is recognised");
    ok(!confidence_in(log->bytes, 31), "a file shorter than a header is rejected");
    patch(log, 8, 0x20180425, 8);
    ok(!confidence_in(log->bytes, log->size), "a file of another version is rejected");
}

static void opens_the_header(struct log *log)
{
    struct opened opened;
    put_profiling_header(log, 1234);
    open_log(&opened, log, PF_OPENED);
    is(opened.model.version, "profiling 0x20180424",
       "the version states that the file is of the profiling mode");
    columns_are(
        opened.model.info, "01",
        log->big_endian
            ? "Type,profiling mode\nByte order,big-endian\n"
              "Created (ns since 1970),1500000000000000000\nProcess,1234\nInstrumentation map,none found\n"
            : "Type,profiling mode\nByte order,little-endian\n"
              "Created (ns since 1970),1500000000000000000\nProcess,1234\nInstrumentation map,none found\n",
        "info.txt has the fields of the header");
    ok(table_of(&opened, "values") && !table_of(&opened, "trace") && !table_of(&opened, "durations"),
       "the profile has values, but no events and no durations of single calls");
    close_log(&opened);
}

/* Checks values as thread,context,metric,value, and offset, severity and code of warnings. */
static void values_are(const struct log *log, const char *values, const char *warnings, const char *name)
{
    struct opened opened;
    if (ok(!open_log(&opened, log, PF_DERIVED), "%s: the log opens", name)) {
        rows_are(&opened, "values", values, name);
        warnings_are(&opened, warnings, name);
    }
    close_log(&opened);
}

static void adds_up(struct log *log)
{
    struct opened opened;
    put_profiling_header(log, 7);
    size_t block = put_block(log, UINT64_MAX);
    put_path(log, block, "3", 1, 100);
    put_path(log, block, "13", 2, 50);
    block = put_block(log, 5);
    put_path(log, block, "213", 4, (uint64_t)-9);
    block = put_block(log, UINT64_MAX);
    put_path(log, block, "13", 5, 25);
    put_path(log, block, "13", 1, 1);
    open_log(&opened, log, PF_DERIVED);
    columns_are(opened.model.partitions.items, "01", "0,thread-18446744073709551615\n1,thread-5\n",
                "threads are in the order of their first blocks");
    columns_are(opened.model.partitions.fields, "012", "7,18446744073709551615,2\n7,5,1\n",
                "a thread has its ids and its number of blocks");
    rows_are(&opened, "values",
             "0,0,calls,1\n0,0,ticks,100\n0,1,calls,8\n0,1,ticks,76\n1,2,calls,4\n1,2,ticks,-9\n",
             "values of equal paths are added, in other blocks too; ticks may be negative");
    struct pf_tree *tree = opened.model.contexts;
    ok(tree->count == 3 && tree->parent[2] == 1 && tree->parent[1] == 0 && tree->key[2] == 2 &&
           tree->flags[0] == (PF_FRAME | PF_ROOT) && tree->flags[2] == PF_FRAME,
       "paths are stored from the innermost function outwards");
    close_log(&opened);
}

static void survives_damage(struct log *log)
{
    put_profiling_header(log, 7);
    size_t block = put_block(log, 5);
    put_path(log, block, "", 1, 1);
    put_path(log, block, "1", 2, 3);
    values_are(log, "0,0,calls,2\n0,0,ticks,3\n", "48,warning,record-without-path\n",
               "a record without functions is omitted");
    size_t second = put_block(log, 6);
    put_path(log, second, "12", 4, 5);
    patch(log, block, second - block - 4, 4);
    values_are(log, "", "88,error,block-size\n48,warning,record-without-path\n68,error,cut-record\n",
               "the last record of a block that is too short is omitted, and bytes after it are no block");
    patch(log, block, second - block, 4);
    log->size -= 1;
    values_are(log, "0,0,calls,2\n0,0,ticks,3\n",
               "92,fatal,cut-block\n48,warning,record-without-path\n108,fatal,cut-record\n",
               "a file that ends inside a record is read up to there");
    log->size = second + 15;
    values_are(log, "0,0,calls,2\n0,0,ticks,3\n", "92,fatal,cut-record\n48,warning,record-without-path\n",
               "a file that ends inside a block's header is read up to there");
    log->size = second;
    patch(log, block, 15, 4);
    values_are(log, "", "32,error,block-size\n", "a block smaller than its header ends the file");
    patch(log, block, UINT32_MAX, 4);
    values_are(log, "0,0,calls,2\n0,0,ticks,3\n", "32,fatal,cut-block\n48,warning,record-without-path\n",
               "a block larger than the file is read up to the end of the file");
}

/* Blocks of two threads in turn, with paths of up to three functions. */
static void put_everything(struct log *log)
{
    static const char path[] = "123";
    put_profiling_header(log, 7);
    for (uint64_t i = 0; i < 4; i++) {
        size_t block = put_block(log, i & 1);
        for (size_t j = 0; j < 3; j++)
            put_path(log, block, path + (i + j) % 3, i, j);
    }
}

static void any_length(struct log *log)
{
    size_t rows = 0;
    put_everything(log);
    ok(grows_with_length(log, "values", &rows) && rows == 2 * 2 * 3,
       "a longer prefix of the file never has fewer rows");
}

int main(void)
{
    static struct log log;
    for (int order = 0; order < 2; order++) {
        log.big_endian = order;
        recognises_files(&log);
        opens_the_header(&log);
        adds_up(&log);
        survives_damage(&log);
        any_length(&log);
        put_everything(&log);
        any_bytes_are_read(&log);
    }
    return done();
}
