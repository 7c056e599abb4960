/* SPDX-License-Identifier: MIT */
/* Tests how XRay logs are recognised and opened, and their threads and buffers. */
#include "tests/unit/xray_log.h"

/* ---- recognising -------------------------------------------------------------------------------- */

static void recognises_logs(struct log *log)
{
    for (unsigned version = 1; version <= 5; version++) {
        put_header(log, version, 1000, 4096);
        ok(confidence_in(log->bytes, log->size) >= 32, "a log of version %u without buffers is recognised",
           version);
        open_buffer(log, 1, 0, 0);
        ok(confidence_in(log->bytes, log->size) >= 32, "a log of version %u with a buffer is recognised",
           version);
    }
    ok(!confidence_in(log->bytes, 31), "a file shorter than a header is rejected");
    log->bytes[32] = 0;
    unsigned damaged = confidence_in(log->bytes, log->size);
    ok(damaged && damaged < 32, "a log without a first buffer is recognised with less confidence");
    patch(log, 4, 0xff, 4);
    ok(!confidence_in(log->bytes, log->size), "a log without the usual flags is rejected");
    put_header(log, 5, 1000, 4096);
    patch(log, 2, 0, 2);
    ok(!confidence_in(log->bytes, log->size),
       "a file of another type is not recognised as a flight data recorder log");
    for (unsigned version = 0; version <= 6; version += 6) {
        put_header(log, version, 1000, 4096);
        ok(!confidence_in(log->bytes, log->size), "a log of version %u, which does not exist, is rejected",
           version);
    }
}

static void opens_the_header(struct log *log)
{
    struct opened opened;
    put_header(log, 3, 2000000000, 16384);
    ok(!open_log(&opened, log, PF_OPENED), "a log with only a header opens");
    is(opened.model.version, "3", "the version is the header's");
    columns_are(opened.model.info, "01",
                "Type,flight data recorder (FDR)\nByte order,little-endian\n"
                "Cycle frequency (Hz),2000000000\nConstant TSC,yes\nNonstop TSC,yes\n"
                "Buffer size (bytes),16384\nInstrumentation map,none found\n",
                "info.txt has the fields of the header");
    is(opened.model.time_unit, "ns", "time is in nanoseconds if the frequency is known");
    ok(opened.model.n_metrics == 6, "a log with a known frequency has metrics of time");
    close_log(&opened);
    put_header(log, 5, 0, 16384);
    open_log(&opened, log, PF_OPENED);
    is(opened.model.time_unit, "ticks", "time is in ticks without a frequency");
    ok(opened.model.n_metrics == 4, "a log without a frequency has no metrics of time");
    close_log(&opened);
    ok(open_bytes(&opened, log->bytes, 31) == -1, "a file shorter than a header does not open");
    close_log(&opened);
    reads_as(log, "", "", "a header alone is an empty trace");
}

/* ---- order -------------------------------------------------------------------------------------- */

/* Appends a buffer in which one function is entered, one tick after the buffer's start. */
static void put_small(struct log *log, int32_t pid, int32_t tid, uint32_t micros, uint64_t tsc,
                      uint32_t function)
{
    open_buffer_of(log, pid, tid, micros, tsc);
    put_function(log, ENTER, function, 1);
    close_buffer(log);
}

static void names_threads(struct log *log)
{
    struct opened opened;
    put_header(log, 5, 0, 4096);
    put_small(log, 7, 20, 0, 500, 1);
    put_small(log, 7, 10, 0, 100, 1);
    put_small(log, 8, 20, 0, 900, 1);
    put_small(log, 7, 10, 1, 200, 1);
    open_log(&opened, log, PF_MODELLED);
    columns_are(
        opened.model.partitions.items, "01", "0,process-7.thread-20\n1,thread-10\n2,process-8.thread-20\n",
        "threads are in the order of their first buffers, and names of equal ids include the process");
    columns_are(opened.model.partitions.fields, "012", "7,20,1\n7,10,2\n8,20,1\n",
                "a thread has its ids and its number of buffers");
    close_log(&opened);
    put_header(log, 2, 0, 4096);
    put_small(log, 7, -5, 0, 500, 1);
    open_log(&opened, log, PF_MODELLED);
    columns_are(opened.model.partitions.items, "1", "thread--5\n", "thread ids are signed");
    columns_are(opened.model.partitions.fields, "01", ",-5\n", "a log of version 2 has no process ids");
    close_log(&opened);
}

static void orders_buffers(struct log *log)
{
    put_header(log, 5, 0, 4096);
    put_small(log, 7, 1, 30, 5000, 3);
    put_small(log, 7, 1, 10, 9000, 1); /* the earliest wall time but the highest TSC */
    put_small(log, 7, 1, 20, 4000, 2);
    put_small(log, 7, 1, 30, 4900, 4);
    reads_as(log,
             "0,5000,9001,3,enter,1,0,,,,#1\n0,0,4001,3,enter,2,1,,,,#2\n"
             "0,900,4901,3,enter,4,2,,,,#4\n0,1000,5001,3,enter,3,3,,,,#3\n",
             "", "buffers are ordered by wall time, then by TSC, whatever their order in the file");
}

static void drops_copies(struct log *log)
{
    put_header(log, 5, 0, 4096);
    put_small(log, 7, 1, 10, 100, 1);
    size_t longer = log->size;
    open_buffer(log, 1, 10, 100);
    put_function(log, ENTER, 1, 1);
    put_function(log, EXIT, 1, 1);
    close_buffer(log);
    size_t last = log->size;
    put_small(log, 7, 1, 10, 100, 1);
    put_small(log, 7, 2, 10, 100, 9);
    char warnings[128];
    snprintf(warnings, sizeof warnings, "32,warning,duplicate-buffer\n%zu,warning,duplicate-buffer\n", last);
    ok(longer < last, "the second of three copies of a buffer is the longest");
    reads_as(log, "0,0,101,3,enter,1,0,,,,#1\n0,1,102,3,exit,1,0,,,,#1\n1,0,101,3,enter,9,0,,,,#9\n",
             warnings, "the longest of several copies of a buffer is kept");
}

static void reads_fixed_buffers(struct log *log)
{
    put_header(log, 1, 0, 200);
    for (uint32_t i = 2; i > 0; i--) {
        open_buffer(log, 1, i, 100 * i);
        put_function(log, ENTER, i, 1);
        close_buffer(log);
        memset(log->bytes + log->size, 0xff, 200);
        log->size = 32 + (3 - i) * 200;
    }
    reads_as(log, "0,0,101,3,enter,1,0,,,,#1\n0,100,201,3,enter,2,1,,,,#2\n", "",
             "a log of version 1 has buffers of one size, with ignored bytes after their ends");
    log->size -= 150;
    reads_as(log, "0,0,201,3,enter,2,0,,,,#2\n", "280,fatal,cut-record\n",
             "a log of version 1 that ends in a buffer is read up to there");
    put_header(log, 1, 0, 0);
    open_buffer(log, 1, 0, 100);
    put_function(log, ENTER, 1, 1);
    close_buffer(log);
    reads_as(log, "0,0,101,3,enter,1,0,,,,#1\n", "16,warning,buffer-size\n",
             "a log of version 1 without a buffer size is one buffer");
}

int main(void)
{
    static struct log log;
    recognises_logs(&log);
    opens_the_header(&log);
    names_threads(&log);
    orders_buffers(&log);
    drops_copies(&log);
    reads_fixed_buffers(&log);
    return done();
}
