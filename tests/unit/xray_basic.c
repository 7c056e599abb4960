/* SPDX-License-Identifier: MIT */
/* Tests XRay's basic logs: how they are recognised, threads with interleaved records, arguments and damage. */
#include "tests/unit/xray_log.h"

/* ---- recognising -------------------------------------------------------------------------------- */

static void recognises_logs(struct log *log)
{
    for (unsigned version = 1; version <= 3; version++) {
        put_basic_header(log, version, 1000000000);
        ok(confidence_in(log->bytes, 32), "a log of version %u without records is recognised", version);
        put_record(log, 5, ENTER, 1, 1000);
        ok(confidence_in(log->bytes, log->size) > confidence_in(log->bytes, 32),
           "a log of version %u with a record is recognised with more confidence", version);
    }
    ok(!confidence_in(log->bytes, 63), "a log that ends in its first record is rejected");
    patch(log, 8, 0, 8);
    ok(confidence_in(log->bytes, log->size), "a log with a record may lack its clock's frequency");
    ok(!confidence_in(log->bytes, 32), "a log without records and without a frequency is rejected");
    patch(log, 8, 1, 8);
    ok(!confidence_in(log->bytes, log->size), "a log with a clock of 1 Hz is rejected");
    put_basic_header(log, 4, 1000000000);
    put_record(log, 5, ENTER, 1, 1000);
    ok(!confidence_in(log->bytes, log->size), "a log of version 4, which does not exist, is rejected");
}

/* Other formats begin with small numbers too. */
static void recognises_no_others(void)
{
    /* One file has the table directory of a TrueType font, the other is almost all zeros. */
    static const unsigned char font[64] = "\0\1\0\0\0\x11\1\0\0\4\0\x10"
                                          "DSIG\0\0\0\1\0\5\xbe\x28\0\0\0\x08"
                                          "GDEF\x58\x0e\x4b\xf0\0\0\1\x1c\0\0\1\x12"
                                          "GPOS\x6c\xd8\xb4\x58\0\0\2\x30\0\0\x10";
    static const unsigned char zeros[64] = {1};
    ok(!confidence_in(font, sizeof font), "a font is rejected");
    ok(!confidence_in(zeros, sizeof zeros), "a file with a one and zeros is rejected");
}

static void opens_the_header(struct log *log)
{
    struct opened opened;
    put_basic_header(log, 3, 2000000000);
    open_log(&opened, log, PF_OPENED);
    is(opened.model.version, "basic 3", "the version states that the log is a basic log");
    columns_are(opened.model.info, "01",
                log->big_endian
                    ? "Type,basic log\nByte order,big-endian\nCycle frequency (Hz),2000000000\n"
                      "Constant TSC,yes\nNonstop TSC,yes\nInstrumentation map,none found\n"
                    : "Type,basic log\nByte order,little-endian\nCycle frequency (Hz),2000000000\n"
                      "Constant TSC,yes\nNonstop TSC,yes\nInstrumentation map,none found\n",
                "info.txt has the fields of the header");
    close_log(&opened);
    reads_as(log, "", "", "a header alone is an empty trace");
}

/* ---- threads ------------------------------------------------------------------------------------ */

static void reads_versions(struct log *log)
{
    for (unsigned version = 1; version <= 3; version++) {
        struct opened opened;
        put_basic_header(log, version, 0);
        put_record(log, 20, ENTER, UINT32_MAX, 500);
        put_record(log, 10, ENTER, 1, 400);
        put_record(log, 20, version == 1 ? EXIT : TAIL_EXIT, UINT32_MAX, 503);
        put_record(log, 10, EXIT, 1, 450);
        reads_as(log,
                 version == 1 ? "0,100,500,3,enter,4294967295,0,,,,#4294967295\n"
                                "0,103,503,3,exit,4294967295,0,,,,#4294967295\n"
                                "1,0,400,3,enter,1,0,,,,#1\n1,50,450,3,exit,1,0,,,,#1\n"
                              : "0,100,500,3,enter,4294967295,0,,,,#4294967295\n"
                                "0,103,503,3,tail-exit,4294967295,0,,,,#4294967295\n"
                                "1,0,400,3,enter,1,0,,,,#1\n1,50,450,3,exit,1,0,,,,#1\n",
                 "", "records are grouped by thread, in the order of the threads' first records");
        open_log(&opened, log, PF_DERIVED);
        columns_are(opened.model.partitions.items, "01", "0,thread-20\n1,thread-10\n",
                    "threads are in the order of their first records");
        columns_are(opened.model.partitions.fields, "0123456789",
                    version < 3 ? ",20,,2,0,0,0,1,500,503\n,10,,2,0,0,0,1,400,450\n"
                                : "7,20,,2,0,0,0,1,500,503\n7,10,,2,0,0,0,1,400,450\n",
                    "threads have no buffers, and have a process from version 3 on");
        rows_are(&opened, "values",
                 "0,0,calls,1\n0,0,ticks,3\n0,0,ticks (inc),3\n"
                 "1,1,calls,1\n1,1,ticks,50\n1,1,ticks (inc),50\n",
                 "the durations of calls are counted");
        close_log(&opened);
    }
}

static void keeps_processes_apart(struct log *log)
{
    struct opened opened;
    put_basic_header(log, 3, 0);
    put_record(log, 20, ENTER, 1, 1);
    put_record(log, 20, EXIT, 1, 2);
    patch(log, log->size - 12, 8, 4);
    open_log(&opened, log, PF_PARTITIONED);
    columns_are(opened.model.partitions.items, "1", "process-7.thread-20\nprocess-8.thread-20\n",
                "threads of two processes with one id are separate");
    close_log(&opened);
}

/* ---- arguments ---------------------------------------------------------------------------------- */

static void tells_arguments(struct log *log)
{
    for (unsigned version = 2; version <= 3; version++) {
        put_basic_header(log, version, 0);
        put_record(log, 1, ENTER_ARG, 5, 10);
        put_record_argument(log, 1, 5, UINT64_MAX);
        put_record(log, 1, ENTER, 6, 11);
        put_record_argument(log, 1, 6, 1);
        put_record_argument(log, 1, 6, 2);
        put_record(log, 1, EXIT, 6, 12);
        reads_as(log,
                 "0,0,10,3,enter-arg,5,0,18446744073709551615,,,#5\n0,1,11,3,enter-arg,6,1,1 2,,,#6\n"
                 "0,2,12,3,exit,6,1,,,,#6\n",
                 "", "arguments belong to the entry before them");
    }
    put_basic_header(log, 3, 0);
    put_record_argument(log, 1, 5, 1);
    put_record(log, 1, ENTER_ARG, 5, 10);
    put_record_argument(log, 1, 6, 2); /* has no enter record, because the call was too deep for one */
    put_record_argument(log, 1, 5, 3);
    put_record(log, 1, ENTER_ARG, 5, 11);
    put_record_argument(log, 2, 5, 4);
    put_record(log, 1, ENTER_ARG, 5, 12);
    put_record_argument(log, 1, 5, 5);
    patch(log, log->size - 20, 8, 4); /* another process */
    reads_as(log,
             "0,0,10,3,enter-arg,5,0,,,,#5\n0,1,11,3,enter-arg,5,1,,,,#5\n0,2,12,3,enter-arg,5,2,,,,#5\n",
             "32,warning,stray-record\n", "arguments of another function, thread or process are ignored");
}

/* ---- damage ------------------------------------------------------------------------------------- */

static void leaves_out_what_is_wrong(struct log *log)
{
    put_basic_header(log, 3, 0);
    put_record(log, 1, ENTER, 5, 10);
    put_record(log, 1, ENTER, 9, 11);
    patch(log, log->size - 32, 9, 2); /* type */
    put_record(log, 1, ENTER, 9, 12);
    log->bytes[log->size - 29] = 4; /* kind */
    put_record(log, 1, EXIT, 5, 13);
    reads_as(log, "0,0,10,3,enter,5,0,,,,#5\n0,3,13,3,exit,5,0,,,,#5\n", "64,error,bad-record\n",
             "records of unknown type or kind are omitted");
    log->size -= 1;
    reads_as(log, "0,0,10,3,enter,5,0,,,,#5\n", "64,error,bad-record\n128,fatal,cut-record\n",
             "a record that the file ends in is omitted");
}

/* Three threads with runs of different lengths, with arguments and with invalid records. */
static void put_everything(struct log *log)
{
    put_basic_header(log, 3, 1700000000);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t thread = 1 + (i + i / 7) % 3;
        put_record(log, thread, i % 4 == 3 ? EXIT : ENTER_ARG, 1 + i % 5, 1000 + i * 10);
        if (i % 6 == 2)
            put_record_argument(log, thread, 1 + i % 5, i);
        if (i % 11 == 3) {
            put_record(log, thread, ENTER, 1, 0);
            patch(log, log->size - 32, 5, 2); /* type */
        }
    }
}

static void resumes(struct log *log)
{
    struct opened opened;
    put_everything(log);
    open_log(&opened, log, PF_PARTITIONED);
    ok(resumes_everywhere(&opened, -1, -1), "a walk resumes at the position of any row");
    ok(resumes_everywhere(&opened, 1, 1) && resumes_everywhere(&opened, -1, 2),
       "a walk of one thread resumes at the position of any row");
    close_log(&opened);
}

static void any_length(struct log *log)
{
    size_t rows = 0;
    put_everything(log);
    ok(grows_with_length(log, "trace", &rows) && rows == 24,
       "a longer prefix of the file never has fewer rows");
}

int main(void)
{
    static struct log log;
    recognises_no_others();
    for (int order = 0; order < 2; order++) {
        log.big_endian = order;
        recognises_logs(&log);
        opens_the_header(&log);
        reads_versions(&log);
        keeps_processes_apart(&log);
        tells_arguments(&log);
        leaves_out_what_is_wrong(&log);
        resumes(&log);
        any_length(&log);
        put_everything(&log);
        any_bytes_are_read(&log);
    }
    return done();
}
