/* SPDX-License-Identifier: MIT */
/* XRay FDR logs of big-endian machines give the same profiles as those of little-endian machines. */
#include "tests/unit/xray_log.h"

/*
 * Writes four buffers of two threads, out of order, with every kind of record. If the reader can skip garbage in logs of this version, it
 * also writes some between two buffers.
 */
static void put_everything(struct log *log, unsigned version)
{
    static const unsigned char rubbish[3] = {0};
    put_header(log, version, 1700000000, 512);
    for (uint32_t i = 0; i < 4; i++) {
        open_buffer(log, -5 + (int32_t)(i & 1), 4 - i, 1000000 * (4 - i));
        put_function(log, ENTER, 268435455, UINT32_MAX);
        put_function(log, ENTER_ARG, 0x123456, 5);
        put_argument(log, UINT64_C(0x0102030405060708));
        put_event(log, CUSTOM, 3, 0, "payload");
        if (version > 1)
            put_event(log, TYPED, 3, 0x1234, "p");
        put_cpu(log, 0x1fe, UINT64_C(0x1122334455667788));
        put_function(log, TAIL_EXIT, 0x123456, 9);
        put_wrap(log, 77777777);
        put_function(log, EXIT, 268435455, 1000);
        close_buffer(log);
        if (version > 1)
            put(log, rubbish, i == 1 ? sizeof rubbish : 0);
        else
            log->size = 32 + (i + 1) * 512;
    }
}

/* Returns all tables, the version, the threads and the warnings that are read from a log, as text. */
static char *all_of(const struct log *log)
{
    struct opened opened;
    struct pf_buf text = {0};
    if (open_log(&opened, log, PF_DERIVED))
        pf_buf_printf(&text, "%s\n", opened.error.what);
    for (size_t i = 0; i < opened.model.n_tables && opened.stage == PF_DERIVED; i++) {
        char *rows = rows_of(&opened, opened.model.tables[i].name, -1);
        pf_buf_printf(&text, "%s:\n%s", opened.model.tables[i].name, rows);
        free(rows);
    }
    if (opened.stage == PF_DERIVED) {
        char *threads = columns_of(opened.model.partitions.items, "01");
        char *fields = columns_of(opened.model.partitions.fields, "0123456789");
        char *warnings = columns_of(opened.model.warnings, "1234");
        pf_buf_printf(&text, "%s%s%s%s", opened.model.version, threads, fields, warnings);
        free(threads);
        free(fields);
        free(warnings);
    }
    close_log(&opened);
    pf_buf_char(&text, '\0');
    return text.data;
}

static void reads_alike(struct log *little, struct log *big)
{
    for (unsigned version = 1; version <= 5; version++) {
        char name[64];
        put_everything(little, version);
        put_everything(big, version);
        char *want = all_of(little), *have = all_of(big);
        ok(strstr(want, "enter-arg") && strstr(want, "72623859790382856"),
           "version %u: events of a little-endian log are read", version);
        snprintf(name, sizeof name, "version %u: events of a big-endian log are the same", version);
        is(have, want, name);
        free(want);
        free(have);
        ok(confidence_in(big->bytes, big->size) == confidence_in(little->bytes, little->size) &&
               confidence_in(big->bytes, 32) == 32,
           "version %u: both byte orders are recognised with the same confidence", version);
    }
}

static void tells_the_order(struct log *big)
{
    struct opened opened;
    put_header(big, 5, 2000000000, 16384);
    open_log(&opened, big, PF_OPENED);
    columns_are(opened.model.info, "01",
                "Type,flight data recorder (FDR)\nByte order,big-endian\n"
                "Cycle frequency (Hz),2000000000\nConstant TSC,yes\nNonstop TSC,yes\n"
                "Buffer size (bytes),16384\nInstrumentation map,none found\n",
                "info.txt has the fields of the header");
    close_log(&opened);
}

static void resumes(struct log *big)
{
    struct opened opened;
    put_everything(big, 5);
    open_log(&opened, big, PF_PARTITIONED);
    ok(resumes_everywhere(&opened, -1, -1) && resumes_everywhere(&opened, -1, 1),
       "a walk resumes at the position of any row");
    close_log(&opened);
}

static void any_length(struct log *big)
{
    put_everything(big, 5);
    size_t size = big->size, before = 0;
    bool grows = true;
    for (big->size = 32; big->size <= size; big->size++) {
        size_t rows = rows_in(big, "trace");
        grows &= rows >= before;
        before = rows;
    }
    ok(grows && before == 24, "a longer prefix of the file never has fewer rows");
}

int main(void)
{
    static struct log little, big = {.big_endian = true};
    reads_alike(&little, &big);
    tells_the_order(&big);
    resumes(&big);
    any_length(&big);
    return done();
}
