/* SPDX-License-Identifier: MIT */
/* Tests which part of a damaged XRay log is still read, and the warnings about the rest. */
#include <zlib.h>

#include "tests/unit/xray_log.h"

#define ROW_1 "0,0,1,3,enter,1,0,,,,#1\n"
#define ROW_2 "1,100,101,3,enter,2,0,,,,#2\n"
/* The trace's only row if just the second buffer has an event. */
#define ONLY_2 "1,0,101,3,enter,2,0,,,,#2\n"

enum {
    FIRST = 32,    /* offset of the first buffer of two_buffers */
    FUNCTION = 80, /* offset of the function record within a buffer of put_small */
    SMALL = 88,    /* size of such a buffer */
    SECOND = FIRST + SMALL,
};

/* Appends a buffer of thread n with the entry of function n. */
static void put_small(struct log *log, uint32_t n)
{
    open_buffer(log, (int32_t)n, n, UINT64_C(100) * (n - 1));
    put_function(log, ENTER, n, 1);
    close_buffer(log);
}

static void two_buffers(struct log *log)
{
    put_header(log, 5, 0, 4096);
    put_small(log, 1);
    put_small(log, 2);
}

/* Inserts `size` bytes with this value at an offset. */
static void insert(struct log *log, size_t offset, unsigned char value, size_t size)
{
    memmove(log->bytes + offset + size, log->bytes + offset, log->size - offset);
    memset(log->bytes + offset, value, size);
    log->size += size;
}

static void cut_files(struct log *log)
{
    two_buffers(log);
    log->size -= 3;
    reads_as(log, ROW_1, "120,fatal,cut-buffer\n200,fatal,cut-record\n",
             "a file that ends inside a record is read up to there");
    two_buffers(log);
    log->size -= 8;
    reads_as(log, ROW_1, "120,fatal,cut-buffer\n",
             "a file that ends between two records of a buffer is read up to there");
    log->size = SECOND + 7;
    reads_as(log, ROW_1, "120,fatal,cut-record\n", "a file that ends inside the extents is read up to there");
    log->size = SECOND + 16;
    reads_as(log, ROW_1, "136,fatal,cut-record\n", "a file that ends after the extents is read up to there");
    put_header(log, 5, 0, 4096);
    put_small(log, 1);
    open_buffer(log, 2, 2, 100);
    put_function(log, ENTER, 2, 1);
    size_t damaged = log->size;
    put_function(log, ENTER, 3, 1);
    put_function(log, ENTER, 4, 1);
    close_buffer(log);
    log->bytes[damaged] = 5 << 1;
    log->size -= 3;
    reads_as(log, ROW_1 ROW_2, "120,fatal,cut-buffer\n208,error,bad-record\n",
             "a file that ends inside a buffer after a damaged record is read up to the record");
}

static void wrong_extents(struct log *log)
{
    two_buffers(log);
    patch(log, FIRST + 1, UINT64_C(1) << 60, 8);
    reads_as(log, ROW_1 ROW_2, "32,error,extents-beyond-end\n120,error,overlapping-buffer\n",
             "extents beyond the end of the file are reported");
    two_buffers(log);
    patch(log, FIRST + 1, SMALL - 16 + 5, 8);
    reads_as(log, ROW_1 ROW_2, "120,error,overlapping-buffer\n", "extents that are too long are reported");
    two_buffers(log);
    patch(log, FIRST + 1, SMALL - 16 - 5, 8);
    reads_as(log, ONLY_2, "115,error,resynchronised\n112,error,cut-record\n",
             "extents that are too short are reported");
    two_buffers(log);
    patch(log, FIRST + 1, 2 * SMALL - 16, 8);
    reads_as(log, ROW_1, "120,error,overlapping-buffer\n",
             "extents that span the next buffer hide it if no record is damaged");
}

static void wrong_buffers(struct log *log)
{
    two_buffers(log);
    insert(log, SECOND, 0, 13);
    reads_as(log, ROW_1 ROW_2, "120,error,resynchronised\n", "bytes between buffers are skipped");
    two_buffers(log);
    insert(log, SECOND, 0x0f, 1);
    reads_as(log, ROW_1 ROW_2, "120,error,buffer-without-thread\n",
             "bytes between buffers that look like extents are skipped");
    two_buffers(log);
    log->bytes[FIRST + 16] = 0;
    reads_as(log, "0,0,101,3,enter,2,0,,,,#2\n", "32,error,buffer-without-thread\n",
             "a buffer without a thread is skipped");
    two_buffers(log);
    insert(log, SECOND, 0, 16);
    log->bytes[SECOND] = EXTENTS << 1 | 1;
    reads_as(log, ROW_1 ROW_2, "", "an empty buffer is no problem");
}

static void wrong_records(struct log *log)
{
    static const struct {
        unsigned char byte;
        const char *code, *name;
    } cases[] = {
        {5 << 1, "bad-record", "a function record of unknown kind ends its buffer"},
        {50 << 1 | 1, "bad-record", "a metadata record of unknown kind ends its buffer"},
        {END_OF_BUFFER << 1 | 1, "bad-record", "a misplaced end of buffer ends its buffer"},
        {NEW_BUFFER << 1 | 1, "bad-record", "the start of another thread ends its buffer"},
        {CUSTOM << 1 | 1, "event-size", "an event larger than the buffer ends its buffer"},
        {TYPED << 1 | 1, "event-size", "an event of negative size ends its buffer"},
        {EXTENTS << 1 | 1, "overlapping-buffer", "a buffer inside a buffer ends the outer buffer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char warnings[128];
        put_header(log, 5, 0, 4096);
        open_buffer(log, 1, 1, 0);
        put_function(log, ENTER, 1, 1);
        size_t at = log->size;
        put_function(log, ENTER, 9, 1);
        put_function(log, ENTER, 9, 1);
        log->bytes[at] = cases[i].byte;
        memset(log->bytes + at + 1, i == 5 ? 0xff : 0x11, 4);
        close_buffer(log);
        put_small(log, 2);
        snprintf(warnings, sizeof warnings, "%zu,error,%s\n", at, cases[i].code);
        reads_as(log, ROW_1 ROW_2, warnings, cases[i].name);
    }
    put_header(log, 5, 0, 4096);
    open_buffer(log, 1, 1, 0);
    log->size -= 16; /* without NewCPUId */
    put_function(log, ENTER, 8, 1);
    put_event(log, CUSTOM, 1, 0, "lost");
    put_cpu(log, 3, 0);
    put_function(log, ENTER, 1, 1);
    close_buffer(log);
    reads_as(log, ROW_1, "32,error,record-without-time\n", "records before any time stamp are left out");
    put_header(log, 1, 0, 96);
    open_buffer(log, 1, 1, 0);
    for (int i = 0; i < 6; i++)
        put_function(log, i % 2 ? EXIT : ENTER, 1, i == 0);
    struct opened opened;
    open_log(&opened, log, PF_MODELLED);
    warnings_are(&opened, "32,warning,buffer-without-end\n",
                 "version 1: a buffer without an end is reported");
    close_log(&opened);
}

/* ---- calls around damage ------------------------------------------------------------------------ */

/*
 * Appends buffer n of thread 1: the function `entered` is entered at TSC 100 n + 1, and the function `left` is left 5 ticks later (0: no
 * exit). Returns the offset of the first function record.
 */
static size_t put_call(struct log *log, uint32_t n, uint32_t entered, uint32_t left)
{
    open_buffer(log, 1, n, UINT64_C(100) * n);
    size_t at = log->size;
    put_function(log, ENTER, entered, 1);
    if (left)
        put_function(log, EXIT, left, 5);
    close_buffer(log);
    return at;
}

static void says_open_across(const struct log *log, const char *want, const char *name)
{
    struct opened opened;
    char text[256] = "";
    open_log(&opened, log, PF_MODELLED);
    const struct pf_rows *warnings = opened.model.warnings;
    for (size_t i = 0; i < pf_rows_count(warnings); i++) {
        const struct pf_cell *cells = pf_rows_at(warnings, i);
        if (cells[3].size == strlen("open-across-damage") &&
            !memcmp(cells[3].text, "open-across-damage", cells[3].size))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s|", (int)cells[4].size,
                     cells[4].text);
    }
    is(text, want, name);
    close_log(&opened);
}

static void open_across(struct log *log)
{
    put_header(log, 5, 0, 4096);
    put_call(log, 1, 1, 0);
    put_call(log, 2, 2, 2);
    put_call(log, 3, 3, 3);
    says_open_across(log, "", "a call that is open from buffer to buffer is no problem");

    put_header(log, 5, 0, 4096);
    put_call(log, 1, 1, 0);
    size_t record = put_call(log, 2, 2, 2);
    log->bytes[record + 8] = 5 << 1;
    put_call(log, 3, 3, 3);
    says_open_across(
        log, "thread-1, tsc 201 to 301: records are or may be lost; calls open there (2) keep this time|",
        "a call that is open while the rest of a buffer is lost is reported");

    put_header(log, 5, 0, 4096);
    put_call(log, 1, 1, 0);
    record = put_call(log, 2, 2, 2);
    log->bytes[record] = 5 << 1;
    put_call(log, 3, 3, 3);
    says_open_across(
        log, "thread-1, tsc 101 to 301: records are or may be lost; calls open there (1) keep this time|",
        "a call that is open while all records of a buffer are lost is reported");

    put_header(log, 5, 0, 4096);
    put_call(log, 1, 1, 0);
    record = log->size;
    put_call(log, 2, 2, 2);
    log->bytes[record] = log->bytes[record + 16] = 0;
    put_call(log, 3, 3, 3);
    says_open_across(
        log, "thread-1, tsc 101 to 301: records are or may be lost; calls open there (1) keep this time|",
        "a call that is open while the thread of a buffer is lost is reported");

    put_header(log, 5, 0, 4096);
    put_call(log, 1, 1, 0);
    record = put_call(log, 2, 2, 2);
    /* Without their NewCPUId, the records of the buffer have no time. */
    memmove(log->bytes + record - 16, log->bytes + record, log->size - record);
    log->size -= 16;
    patch(log, record - 80 + 1, log->size - (record - 80) - 16, 8);
    put_call(log, 3, 3, 3);
    says_open_across(
        log, "thread-1, tsc 101 to 301: records are or may be lost; calls open there (1) keep this time|",
        "a call that is open while the times of a buffer are lost is reported");

    put_header(log, 5, 0, 4096);
    put_call(log, 1, 1, 1);
    record = put_call(log, 2, 2, 2);
    log->bytes[record] = 5 << 1;
    put_call(log, 3, 3, 3);
    says_open_across(log, "", "a call that is not open where records are lost is no problem");
}

/* ---- memory ------------------------------------------------------------------------------------- */

/* Nested calls, which compress a thousandfold. */
static void much_memory(struct log *log)
{
    enum { CALLS = 3000000 };
    put_header(log, 5, 0, 4096);
    open_buffer(log, 1, 1, 0);
    size_t head = log->size;
    put_function(log, ENTER, 1, 1);
    size_t call = log->size - head, size = head + CALLS * call;
    patch(log, log->extents + 1, size - log->extents - 16, 8);
    unsigned char *plain = malloc(size), *packed = malloc(size);
    memcpy(plain, log->bytes, head);
    for (size_t at = head; at < size; at += call)
        memcpy(plain + at, log->bytes + head, call);
    z_stream stream = {
        .next_in = plain, .avail_in = (unsigned)size, .next_out = packed, .avail_out = (unsigned)size};
    if (deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, 0) != Z_OK || deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    struct opened opened;
    ok(!open_bytes(&opened, packed, stream.total_out) && !load(&opened, PF_MODELLED) &&
           opened.model.contexts->count < CALLS,
       "a compressed log has no more contexts than its size allows");
    warnings_are(&opened, ",fatal,too-large\n", "a compressed log with too many contexts is reported");
    close_log(&opened);
    deflateEnd(&stream);
    free(plain);
    free(packed);
}

/* ---- arbitrary bytes ---------------------------------------------------------------------------- */

static void put_of_version(struct log *log, unsigned version)
{
    put_header(log, version, 1000, 256);
    for (uint32_t i = 0; i < 2; i++) {
        open_buffer(log, (int32_t)i, i, 1000 * i);
        put_function(log, ENTER, 1, 5);
        put_argument(log, 77);
        put_event(log, CUSTOM, 5, 0, "abc");
        if (version > 1)
            put_event(log, TYPED, 5, 1, "defgh");
        put_wrap(log, 2000 * i);
        put_function(log, TAIL_EXIT, 1, 5);
        close_buffer(log);
        if (version == 1)
            log->size = 32 + (i + 1) * 256;
    }
}

static void any_length(struct log *log)
{
    for (unsigned version = 1; version <= 5; version++) {
        size_t rows = 0;
        put_of_version(log, version);
        ok(grows_with_length(log, "trace", &rows) && rows == (version > 1 ? 8 : 6),
           "version %u: a longer prefix of the file never has fewer rows", version);
    }
}

static void any_bytes(struct log *log)
{
    uint64_t random = 1;
    bool sound = true;
    for (int i = 0; i < 1500; i++) {
        put_of_version(log, 1 + (unsigned)i % 5);
        sound &= reads_damaged(log, i, &random);
    }
    ok(sound, "no damage after the header makes reading fail");
}

int main(void)
{
    static struct log log;
    cut_files(&log);
    wrong_extents(&log);
    wrong_buffers(&log);
    open_across(&log);
    wrong_records(&log);
    much_memory(&log);
    any_length(&log);
    any_bytes(&log);
    return done();
}
