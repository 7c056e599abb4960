/* SPDX-License-Identifier: MIT */
/* Tests the trace of XRay logs: events, times and positions. */
#include "tests/unit/xray_log.h"

/* ---- events ------------------------------------------------------------------------------------- */

static void tells_events(struct log *log)
{
    put_header(log, 5, 0, 4096);
    open_buffer(log, 1, 0, 1000);
    put_function(log, ENTER, 268435455, 10);
    put_event(log, CUSTOM, 5, 0, "\x01\xff");
    put_event(log, TYPED, 5, 77, "z");
    put_event(log, CUSTOM, 0, 0, "");
    put_function(log, TAIL_EXIT, 268435455, 10);
    close_buffer(log);
    reads_as(log,
             "0,0,1010,3,enter,268435455,0,,,,#268435455\n0,5,1015,3,custom,,1,,,01ff,\n"
             "0,10,1020,3,typed,,1,,77,7a,\n0,10,1020,3,custom,,1,,,,\n"
             "0,20,1030,3,tail-exit,268435455,0,,,,#268435455\n",
             "", "version 5: the time of an event is relative to the record before it");
}

/* The first row has an empty text while the text buffer is still NULL. Sanitizers would report a copy from NULL. */
static void tells_an_empty_payload_first(struct log *log)
{
    put_header(log, 5, 0, 4096);
    open_buffer(log, 1, 0, 1000);
    put_event(log, CUSTOM, 5, 0, "");
    close_buffer(log);
    reads_as(log, "0,0,1005,3,custom,,0,,,,\n", "", "an empty payload is an empty cell");
}

static void tells_old_events(struct log *log)
{
    for (unsigned version = 1; version < 5; version++) {
        char name[64];
        put_header(log, version, 0, 160);
        open_buffer(log, 1, 0, 1000);
        put_event(log, CUSTOM, 1500, 0, "a");
        patch(log, log->size - 17 + 13, 9, 2); /* the CPU in version 4, garbage in earlier versions */
        if (version > 1)
            put_event(log, TYPED, 1400, 300, "b");
        put_function(log, ENTER, 1, 50);
        close_buffer(log);
        snprintf(name, sizeof name, "version %u: an event has a TSC of its own", version);
        reads_as(log,
                 version == 1   ? "0,450,1500,3,custom,,0,,,61,\n0,0,1050,3,enter,1,0,,,,#1\n"
                 : version == 4 ? "0,450,1500,9,custom,,0,,,61,\n0,350,1400,3,typed,,0,,300,62,\n"
                                  "0,0,1050,3,enter,1,0,,,,#1\n"
                                : "0,450,1500,3,custom,,0,,,61,\n0,350,1400,3,typed,,0,,300,62,\n"
                                  "0,0,1050,3,enter,1,0,,,,#1\n",
                 "", name);
    }
}

static void tells_arguments(struct log *log)
{
    put_header(log, 3, 0, 4096);
    open_buffer(log, 1, 0, 0);
    put_function(log, ENTER, 1, 1);
    put_argument(log, UINT64_MAX);
    put_argument(log, 0);
    put_function(log, ENTER_ARG, 2, 1);
    put_argument(log, 42);
    put_function(log, ENTER_ARG, 3, 1);
    put_function(log, EXIT, 3, 1);
    close_buffer(log);
    reads_as(log,
             "0,0,1,3,enter-arg,1,0,18446744073709551615 0,,,#1\n0,1,2,3,enter-arg,2,1,42,,,#2\n"
             "0,2,3,3,enter-arg,3,2,,,,#3\n0,3,4,3,exit,3,2,,,,#3\n",
             "", "an entry that is followed by arguments is an entry with arguments, whatever its kind");
    put_header(log, 3, 0, 4096);
    open_buffer(log, 1, 0, 0);
    put_argument(log, 1);
    put_function(log, ENTER, 1, 1);
    close_buffer(log);
    reads_as(log, "0,0,1,3,enter,1,0,,,,#1\n", "32,warning,stray-record\n",
             "an argument without a call is ignored");
}

static void tells_times(struct log *log)
{
    put_header(log, 5, 0, 4096);
    open_buffer(log, 1, 0, 1000);
    put_function(log, ENTER, 1, UINT32_MAX);
    put_cpu(log, 255, 5000);
    put_function(log, ENTER, 2, 0);
    put_wrap(log, 7000);
    put_function(log, ENTER, 3, 1);
    put_wrap(log, UINT64_MAX);
    put_function(log, ENTER, 4, 3000);
    close_buffer(log);
    struct opened opened;
    open_log(&opened, log, PF_PARTITIONED);
    char *rows = walk_of(&opened, "trace", -1);
    ok(opened.error.code == EAGAIN,
       "a walk that meets an event before the assumed start of time returns EAGAIN");
    free(rows);
    rows_are(&opened, "trace",
             "0,4294965296,4294968295,3,enter,1,0,,,,#1\n0,2001,5000,255,enter,2,1,,,,#2\n"
             "0,4002,7001,255,enter,3,2,,,,#3\n0,0,2999,255,enter,4,3,,,,#4\n",
             "a repeated walk counts time from the earliest event; TSCs wrap around at 2^64");
    close_log(&opened);
}

/* Times must be exact for any frequency. They are compared with the results of 128-bit divisions. */
static void tells_exact_times(struct log *log)
{
    static const uint64_t frequencies[] = {1,          3,          999999999,        1000000000,
                                           1000000001, 2300000000, 18446744073,      INT64_MAX,
                                           UINT64_MAX, 2893299000, UINT64_C(1) << 62};
    static const uint64_t ticks[] = {0,         1,          2,           999999999, 4294967295,
                                     123456789, 4611686018, 18446744073, INT64_MAX, UINT64_MAX};
    bool exact = true;
    for (size_t f = 0; f < sizeof frequencies / sizeof *frequencies; f++) {
        struct opened opened;
        put_header(log, 5, frequencies[f], 4096);
        open_buffer(log, 1, 0, 0);
        for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
            put_wrap(log, ticks[i]);
            put_function(log, ENTER, 1, 0);
        }
        close_buffer(log);
        open_log(&opened, log, PF_PARTITIONED);
        struct pf_cursor cursor = cursor_of(&opened, "trace", -1);
        struct pf_cell cells[16];
        cursor.table->ops->open(&cursor, &opened.error);
        for (size_t i = 0; cursor.table->ops->next(&cursor, cells, &opened.error) > 0; i++) {
            pf_int128 want = (pf_int128)ticks[i] * 1000000000 / frequencies[f];
            pf_int128 have = cells[1].type == PF_WIDE ? *cells[1].wide : (pf_int128)cells[1].i;
            exact &= want == have;
        }
        cursor.table->ops->close(&cursor);
        close_log(&opened);
    }
    ok(exact, "time is floor(ticks * 10^9 / frequency), however large the numbers are");
}

static void tells_depths(struct log *log)
{
    put_header(log, 5, 0, 4096);
    open_buffer(log, 1, 0, 0);
    put_function(log, EXIT, 9, 1);
    put_function(log, ENTER, 1, 1);
    put_function(log, ENTER, 2, 1);
    put_function(log, ENTER, 3, 1);
    put_function(log, EXIT, 9, 1);
    put_function(log, EXIT, 1, 1);
    put_function(log, EXIT, 2, 1);
    close_buffer(log);
    reads_as(
        log,
        "0,0,1,3,exit,9,0,,,,#9\n0,1,2,3,enter,1,0,,,,#1\n0,2,3,3,enter,2,1,,,,#2\n"
        "0,3,4,3,enter,3,2,,,,#3\n0,4,5,3,exit,9,3,,,,#9\n0,5,6,3,exit,1,0,,,,#1\n"
        "0,6,7,3,exit,2,0,,,,#2\n",
        "",
        "the depth of an event is the number of calls around it; an exit closes the calls inside its call");
}

/* ---- positions ---------------------------------------------------------------------------------- */

/* Two threads with two buffers each, with all state that a position must save. */
static void put_everything(struct log *log)
{
    put_header(log, 5, 1700000000, 4096);
    for (uint32_t i = 0; i < 4; i++) {
        open_buffer(log, 1 + (int32_t)(i & 1), i, 1000 * i);
        for (uint32_t j = 0; j < 3; j++)
            put_function(log, ENTER, j % 5 + 1, 7);
        put_argument(log, 5);
        put_event(log, CUSTOM, 3, 0, "payload");
        put_cpu(log, i, 1000 * i + 500);
        put_function(log, EXIT, 3, 9);
        put_event(log, TYPED, 3, 4, "p");
        close_buffer(log);
    }
}

static void resumes(struct log *log)
{
    struct opened opened;
    put_everything(log);
    open_log(&opened, log, PF_PARTITIONED);
    ok(resumes_everywhere(&opened, -1, -1), "a walk resumes at the position of any row");
    ok(resumes_everywhere(&opened, 1, 1), "a walk of one thread resumes at the position of any row");
    ok(resumes_everywhere(&opened, -1, 0) && resumes_everywhere(&opened, -1, 1),
       "a walk of one thread resumes at positions of the unrestricted walk");
    char *whole = rows_of(&opened, "trace", -1), *first = rows_of(&opened, "trace", 0),
         *second = rows_of(&opened, "trace", 1);
    ok(strlen(first) + strlen(second) == strlen(whole) && !strcmp(whole + strlen(first), second),
       "rows of the threads are the rows of the unrestricted walk");
    free(whole);
    free(first);
    free(second);
    close_log(&opened);
}

/* The stack is too deep to be saved with a position. The row before the position has arguments. */
static void resumes_deep_stacks(struct log *log)
{
    enum { DEEP = 70000 };
    struct opened opened;
    struct pf_cell cells[16];
    unsigned char saved[16384];
    put_header(log, 5, 1700000000, 4096);
    open_buffer(log, 1, 0, 1000);
    for (uint32_t i = 0; i < DEEP; i++)
        put_function(log, ENTER, i % 5 + 1, 7);
    put_argument(log, 5);
    for (uint32_t i = 0; i < 100; i++)
        put_function(log, EXIT, (DEEP - 1 - i) % 5 + 1, 9);
    close_buffer(log);
    open_log(&opened, log, PF_PARTITIONED);
    struct pf_cursor cursor = cursor_of(&opened, "trace", 0);
    cursor.table->ops->open(&cursor, &opened.error);
    for (int i = 0; i < DEEP; i++)
        cursor.table->ops->next(&cursor, cells, &opened.error);
    struct pf_buf rest = {0};
    size_t size = cursor.table->ops->save(&cursor, saved, sizeof saved);
    add_rows(&rest, &opened, &cursor);
    pf_buf_char(&rest, '\0');
    cursor.table->ops->close(&cursor);
    char *have = rows_after(&opened, 0, saved, size);
    ok(size < 100 && !strcmp(have, rest.data), "a deep stack is rebuilt from the log instead of saved");
    free(have);
    pf_buf_free(&rest);
    close_log(&opened);
}

static void refuses_wrong_positions(struct log *log)
{
    struct opened opened;
    unsigned char saved[256], wrong[256];
    struct pf_cell cells[16];
    put_everything(log);
    open_log(&opened, log, PF_PARTITIONED);
    struct pf_cursor cursor = cursor_of(&opened, "trace", -1);
    cursor.table->ops->open(&cursor, &opened.error);
    for (int i = 0; i < 4; i++)
        cursor.table->ops->next(&cursor, cells, &opened.error);
    size_t size = cursor.table->ops->save(&cursor, saved, sizeof saved);
    ok(cursor.table->ops->save(&cursor, wrong, size - 1) == size,
       "the size of a position is returned if the buffer is too small");
    bool refused = true;
    for (size_t cut = 0; cut < size; cut++)
        refused &= cursor.table->ops->restore(&cursor, saved, cut, &opened.error) == -1;
    ok(refused, "a truncated position is refused");
    char *before = rows_after(&opened, -1, saved, size);
    /* A damaged position must be refused or lead to some rows, but never crash. */
    for (size_t i = 0; i < size * 8; i++) {
        memcpy(wrong, saved, size);
        wrong[i / 8] ^= (unsigned char)(1 << i % 8);
        free(rows_after(&opened, -1, wrong, size));
    }
    char *after = rows_after(&opened, -1, saved, size);
    ok(before && after && !strcmp(before, after),
       "a damaged position does not change the times of other walks");
    free(before);
    free(after);
    cursor.table->ops->close(&cursor);
    close_log(&opened);
}

/* An event earlier than the start of its buffer makes the next row search for the start of the whole log. */
static void looking_for_the_start_can_be_cancelled(struct log *log)
{
    struct opened opened;
    struct pf_pass pass = {0};
    struct pf_cell cells[16];
    put_header(log, 5, 0, 4096);
    open_buffer(log, 1, 0, 1000);
    put_function(log, ENTER, 1, 0);
    put_cpu(log, 3, 500);
    while (log->size < sizeof log->bytes - 64)
        put_function(log, ENTER, 2, 0);
    close_buffer(log);
    open_log(&opened, log, PF_PARTITIONED);
    struct pf_cursor cursor = cursor_of(&opened, "trace", -1);
    cursor.table->ops->open(&cursor, &opened.error);
    int got = cursor.table->ops->next(&cursor, cells, &opened.error);
    struct pf_pass *before = pf_pass_begin(&pass);
    pass.stop = true;
    int stopped = cursor.table->ops->next(&cursor, cells, &opened.error);
    ok(got == 1 && stopped == -1 && opened.error.code == ECANCELED,
       "the search for the start of time can be cancelled");
    pass.stop = false;
    cursor.table->ops->close(&cursor);
    cursor.table->ops->open(&cursor, &opened.error);
    got = cursor.table->ops->next(&cursor, cells, &opened.error);
    stopped = cursor.table->ops->next(&cursor, cells, &opened.error);
    pf_pass_end(before);
    ok(got == 1 && stopped == -1 && opened.error.code == EAGAIN, "the search for the start of time can be repeated");
    cursor.table->ops->close(&cursor);
    close_log(&opened);
}

int main(void)
{
    static struct log log;
    tells_events(&log);
    tells_an_empty_payload_first(&log);
    tells_old_events(&log);
    tells_arguments(&log);
    tells_times(&log);
    tells_exact_times(&log);
    tells_depths(&log);
    resumes(&log);
    resumes_deep_stacks(&log);
    refuses_wrong_positions(&log);
    looking_for_the_start_can_be_cancelled(&log);
    return done();
}
