/* SPDX-License-Identifier: MIT */
#ifndef XRAY_LOG_H
#define XRAY_LOG_H

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"
#include "formats/probe.h"
#include "fs/text/csv.h"
#include "fs/text/row.h"
#include "tests/profile.h"
#include "tests/unit/tap.h"

/* XRay files written in memory and read through the driver, for tests of the driver. */

extern const struct pf_driver pf_xray_driver;

/* ---- writing ------------------------------------------------------------------------------------ */

struct log {
    unsigned char bytes[1 << 20];
    size_t size;
    bool big_endian;
    unsigned version;
    size_t extents; /* offset of the open buffer's BufferExtents record */
};

enum { ENTER, EXIT, TAIL_EXIT, ENTER_ARG };
enum { NEW_BUFFER, END_OF_BUFFER, NEW_CPU, WRAP, WALLTIME, CUSTOM, ARGUMENT, EXTENTS, TYPED, PID };

static inline void put(struct log *log, const void *bytes, size_t size)
{
    memcpy(log->bytes + log->size, bytes, size);
    log->size += size;
}

/* Stores the low `size` bytes of a number at an offset. */
static inline void patch(struct log *log, size_t offset, uint64_t value, size_t size)
{
    value = log->big_endian ? htobe64(value << (64 - 8 * size)) : htole64(value);
    memcpy(log->bytes + offset, &value, size);
}

static inline void put_number(struct log *log, uint64_t value, size_t size)
{
    patch(log, log->size, value, size);
    log->size += size;
}

/* Writes the header of an FDR log, in the byte order of log->big_endian. */
static inline void put_header(struct log *log, unsigned version, uint64_t frequency, uint64_t buffer_size)
{
    memset(log->bytes, 0, sizeof log->bytes);
    log->version = version;
    log->size = 32;
    patch(log, 0, version, 2);
    patch(log, 2, 1, 2);
    log->bytes[4] = log->big_endian ? 0xc0 : 3;
    patch(log, 8, frequency, 8);
    patch(log, 16, buffer_size, 8);
}

/* Appends a metadata record whose unused bytes are garbage, as in real files. Returns its offset. */
static inline size_t put_metadata(struct log *log, unsigned kind)
{
    unsigned char record[16];
    memset(record, 0xaa, sizeof record);
    record[0] = (unsigned char)(log->big_endian ? 0x80 | kind : kind << 1 | 1);
    put(log, record, sizeof record);
    return log->size - sizeof record;
}

static inline void put_function(struct log *log, unsigned kind, uint32_t function, uint32_t delta)
{
    put_number(log, log->big_endian ? kind << 28 | function : function << 4 | kind << 1, 4);
    put_number(log, delta, 4);
}

static inline void put_cpu(struct log *log, unsigned cpu, uint64_t tsc)
{
    size_t at = put_metadata(log, NEW_CPU);
    patch(log, at + 1, cpu, 2);
    patch(log, at + 3, tsc, 8);
}

static inline void put_wrap(struct log *log, uint64_t tsc)
{
    patch(log, put_metadata(log, WRAP) + 1, tsc, 8);
}

static inline void put_argument(struct log *log, uint64_t value)
{
    patch(log, put_metadata(log, ARGUMENT) + 1, value, 8);
}

/* Appends a custom or typed event; `time` is its TSC, or in version 5 the ticks since the previous record. */
static inline void put_event(struct log *log, unsigned kind, uint64_t time, unsigned type,
                             const char *payload)
{
    size_t at = put_metadata(log, kind);
    patch(log, at + 1, strlen(payload), 4);
    patch(log, at + 5, time, log->version == 5 ? 4 : 8);
    if (kind == TYPED)
        patch(log, at + (log->version == 5 ? 9 : 13), type, 2);
    put(log, payload, strlen(payload));
}

static inline void put_new_buffer(struct log *log, int32_t tid)
{
    patch(log, put_metadata(log, NEW_BUFFER) + 1, (uint32_t)tid, 4);
}

static inline void put_walltime(struct log *log, uint64_t seconds, uint32_t micros)
{
    size_t at = put_metadata(log, WALLTIME);
    patch(log, at + 1, seconds, 8);
    patch(log, at + 9, micros, 4);
}

/* Appends the preamble of a buffer on CPU 3 that begins at wall time 100 s + `micros` microseconds. */
static inline void open_buffer_of(struct log *log, int32_t pid, int32_t tid, uint32_t micros, uint64_t tsc)
{
    log->extents = log->size;
    if (log->version > 1)
        put_metadata(log, EXTENTS);
    put_new_buffer(log, tid);
    put_walltime(log, 100, micros);
    if (log->version > 2)
        patch(log, put_metadata(log, PID) + 1, (uint32_t)pid, 4);
    put_cpu(log, 3, tsc);
}

/* Appends the preamble of a buffer of process 7. */
static inline void open_buffer(struct log *log, int32_t tid, uint32_t micros, uint64_t tsc)
{
    open_buffer_of(log, 7, tid, micros, tsc);
}

static inline void close_buffer(struct log *log)
{
    if (log->version > 1)
        patch(log, log->extents + 1, log->size - log->extents - 16, 8);
    else
        put_metadata(log, END_OF_BUFFER);
}

/* ---- writing basic logs ------------------------------------------------------------------------- */

static inline void put_basic_header(struct log *log, unsigned version, uint64_t frequency)
{
    put_header(log, version, frequency, 0);
    patch(log, 2, 0, 2);
}

/* Appends a function record on CPU 3; the process id is garbage before version 3. */
static inline void put_record(struct log *log, uint32_t tid, unsigned kind, uint32_t function, uint64_t tsc)
{
    put_number(log, 0, 2);
    put_number(log, 3, 1);
    put_number(log, kind, 1);
    put_number(log, function, 4);
    put_number(log, tsc, 8);
    put_number(log, tid, 4);
    put_number(log, log->version < 3 ? log->size : 7, 4);
    put_number(log, UINT64_MAX, 8);
}

static inline void put_record_argument(struct log *log, uint32_t tid, uint32_t function, uint64_t value)
{
    put_number(log, 1, 2);
    put_number(log, 0xffff, 2);
    put_number(log, function, 4);
    put_number(log, tid, 4);
    put_number(log, log->version < 3 ? log->size : 7, 4);
    put_number(log, value, 8);
    put_number(log, UINT64_MAX, 8);
}

/* ---- writing profiling files -------------------------------------------------------------------- */

static inline void put_profiling_header(struct log *log, uint64_t pid)
{
    log->size = 0;
    put_number(log, UINT64_C(0x7872617970726f66), 8);
    put_number(log, 0x20180424, 8);
    put_number(log, 1500000000000000000, 8);
    put_number(log, pid, 8);
}

/* Appends an empty block; returns its offset. */
static inline size_t put_block(struct log *log, uint64_t tid)
{
    put_number(log, 16, 4);
    put_number(log, 0, 4);
    put_number(log, tid, 8);
    return log->size - 16;
}

/* Adds a record to the last block of the file; the path has one digit per function, innermost first. */
static inline void put_path(struct log *log, size_t block, const char *path, uint64_t calls, uint64_t ticks)
{
    for (const char *at = path; *at; at++)
        put_number(log, (uint64_t)(*at - '0'), 4);
    put_number(log, 0, 4);
    put_number(log, calls, 8);
    put_number(log, ticks, 8);
    patch(log, block, log->size - block, 4);
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Returns the driver's confidence in a file. */
static inline unsigned confidence_in(const void *bytes, size_t size)
{
    static unsigned char head[PF_HEAD_MAX];
    memcpy(head, bytes, size);
    struct pf_probe probe = {.name = "log", .size = size, .fd = -1, .bytes = head, .have = size};
    struct pf_probe_result result = {0};
    pf_xray_driver.probe(&probe, &result);
    return result.confidence;
}

struct opened {
    char folder[64];
    int directory;
    struct pf_options options;
    struct pf_model model;
    struct pf_error error;
    enum pf_stage stage; /* the last stage that was loaded */
};

/* Opens bytes as a profile. Returns -1 with opened->error on failure. */
static inline int open_bytes(struct opened *opened, const void *bytes, size_t size)
{
    *opened = (struct opened){.folder = "/tmp/xray-test.XXXXXX", .options = {.cache = 1 << 20}};
    if (!mkdtemp(opened->folder))
        abort();
    opened->directory = open(opened->folder, O_RDONLY | O_DIRECTORY);
    int fd = openat(opened->directory, "log", O_WRONLY | O_CREAT, 0600);
    /* Sources wait up to 20 ms before they open a file that was just written; a future mtime (in 2100) avoids this. */
    struct timespec future[2] = {{.tv_sec = 4102444800}, {.tv_sec = 4102444800}};
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || futimens(fd, future) ||
        futimens(opened->directory, future))
        abort();
    close(fd);
    return profile_open(&opened->model, &pf_xray_driver, opened->directory, "log", &opened->options,
                        &opened->error);
}

/* Loads the stages up to this one. */
static inline int load(struct opened *opened, enum pf_stage stage)
{
    while (opened->stage < stage) {
        if (pf_xray_driver.load(&opened->model, opened->stage + 1, &opened->error))
            return -1;
        opened->stage++;
    }
    return 0;
}

static inline int open_log(struct opened *opened, const struct log *log, enum pf_stage stage)
{
    return open_bytes(opened, log->bytes, log->size) ? -1 : load(opened, stage);
}

static inline void close_log(struct opened *opened)
{
    profile_close(&opened->model);
    unlinkat(opened->directory, "log", 0);
    close(opened->directory);
    rmdir(opened->folder);
}

/* ---- tables as text ----------------------------------------------------------------------------- */

static inline const struct pf_table *table_of(const struct opened *opened, const char *name)
{
    for (size_t i = 0; i < opened->model.n_tables; i++)
        if (!strcmp(opened->model.tables[i].name, name))
            return &opened->model.tables[i];
    return NULL;
}

/* Appends a row as CSV; partitions and contexts are printed as indexes, metrics as names. */
static inline void add_row(struct pf_buf *text, const struct opened *opened, const struct pf_table *table,
                           const struct pf_cell *cells)
{
    struct pf_cell printed[16];
    unsigned columns[16];
    size_t n = 0;
    for (unsigned i = 0; i < table->n_columns; i++) {
        printed[i] = cells[i];
        if (table->columns[i].role == PF_METRIC)
            printed[i] = pf_string(opened->model.metrics[cells[i].i].name);
        if (table->columns[i].role != PF_CONTEXT_NAME)
            columns[n++] = i;
    }
    pf_row_add(text, printed, columns, n); /* formatted as in the mounted CSV */
}

static inline struct pf_cursor cursor_of(struct opened *opened, const char *table, int64_t partition)
{
    const struct pf_table *found = table_of(opened, table);
    if (!found) /* a bug in the test: no such table */
        abort();
    return (struct pf_cursor){.model = &opened->model,
                              .table = found,
                              .only = {.partition = partition, .context = -1, .metric = -1}};
}

static inline void add_rows(struct pf_buf *text, struct opened *opened, struct pf_cursor *cursor)
{
    struct pf_cell cells[16];
    int more;
    while ((more = cursor->table->ops->next(cursor, cells, &opened->error)) > 0)
        add_row(text, opened, cursor->table, cells);
    if (more < 0)
        pf_buf_printf(text, "error %d: %s\n", opened->error.code, opened->error.what);
}

/* Returns the rows of a table, restricted to a partition if `partition` >= 0; the caller frees the text. */
static inline char *walk_of(struct opened *opened, const char *table, int64_t partition)
{
    struct pf_buf text = {0};
    struct pf_cursor cursor = cursor_of(opened, table, partition);
    opened->error = (struct pf_error){0};
    if (!cursor.table->ops->open(&cursor, &opened->error))
        add_rows(&text, opened, &cursor);
    cursor.table->ops->close(&cursor);
    pf_buf_char(&text, '\0');
    return text.data;
}

/* Like walk_of, but restarts the walk if the first one ends with EAGAIN. */
static inline char *rows_of(struct opened *opened, const char *table, int64_t partition)
{
    char *rows = walk_of(opened, table, partition);
    if (opened->error.code == EAGAIN) {
        free(rows);
        rows = walk_of(opened, table, partition);
    }
    return rows;
}

/* Returns some columns of a table held in memory; `columns` has one digit per column ("025": columns 0, 2, 5). */
static inline char *columns_of(const struct pf_rows *rows, const char *columns)
{
    struct pf_buf text = {0};
    for (size_t i = 0; i < pf_rows_count(rows); i++) {
        for (const char *at = columns; *at; at++) {
            if (at > columns)
                pf_buf_char(&text, ',');
            pf_csv_cell(&text, &pf_rows_at(rows, i)[*at - '0']);
        }
        pf_buf_char(&text, '\n');
    }
    pf_buf_char(&text, '\0');
    return text.data;
}

/* Checks the rows of a table. */
static inline void rows_are(struct opened *opened, const char *table, const char *want, const char *name)
{
    char *have = rows_of(opened, table, -1);
    is(have, want, name);
    free(have);
}

/* Checks some columns of a table held in memory, chosen as in columns_of. */
static inline void columns_are(const struct pf_rows *rows, const char *columns, const char *want,
                               const char *name)
{
    char *have = columns_of(rows, columns);
    is(have, want, name);
    free(have);
}

/* Checks the offset, severity and code of all warnings. */
static inline void warnings_are(struct opened *opened, const char *want, const char *name)
{
    columns_are(opened->model.warnings, "123", want, name);
}

/* Loads a whole log, checks its trace and its warnings, and closes it. */
static inline void reads_as(const struct log *log, const char *trace, const char *warnings, const char *name)
{
    struct opened opened;
    if (ok(!open_log(&opened, log, PF_DERIVED), "%s: the log opens", name)) {
        char what[256];
        snprintf(what, sizeof what, "%s: its trace", name);
        rows_are(&opened, "trace", trace, what);
        snprintf(what, sizeof what, "%s: its warnings", name);
        warnings_are(&opened, warnings, what);
    }
    close_log(&opened);
}

/* True if the rows contain the line that walk_of prints for a failed walk. */
static inline bool tells_error(const char *rows)
{
    return !strncmp(rows, "error ", 6) || strstr(rows, "\nerror ");
}

/*
 * Loads all stages and walks all tables. Returns the number of rows of `table`, 0 if the log cannot be opened, or SIZE_MAX if a walk fails.
 */
static inline size_t rows_in(const struct log *log, const char *table)
{
    struct opened opened;
    size_t rows = 0;
    bool failed = false;
    if (!open_log(&opened, log, PF_DERIVED)) {
        for (size_t i = 0; i < opened.model.n_tables; i++) {
            char *text = rows_of(&opened, opened.model.tables[i].name, -1);
            failed |= tells_error(text);
            free(text);
        }
        char *text = rows_of(&opened, table, -1);
        for (const char *at = text; (at = strchr(at, '\n')); at++)
            rows++;
        free(text);
    }
    close_log(&opened);
    return failed ? SIZE_MAX : rows;
}

/*
 * True if a longer prefix of the log never gives the table fewer rows. The shortest prefix is the header. Stores the number of rows of the
 * whole log in *rows.
 */
static inline bool grows_with_length(struct log *log, const char *table, size_t *rows)
{
    size_t size = log->size, before = 0;
    bool grows = true;
    for (log->size = 32; log->size <= size; log->size++) {
        *rows = rows_in(log, table);
        grows &= *rows >= before;
        before = *rows;
    }
    log->size = size;
    return grows;
}

/* Changes bytes after the header, chosen by *random, in a copy of the log, and reads it. False if a walk fails. */
static inline bool reads_damaged(const struct log *log, int round, uint64_t *random)
{
    static struct log damaged;
    damaged = *log;
    for (int flips = 0; flips <= round % 4; flips++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
        damaged.bytes[32 + (*random >> 33) % (log->size - 32)] = (unsigned char)(*random >> 55);
    }
    return rows_in(&damaged, "values") != SIZE_MAX;
}

/* Checks that copies of the log with any damage after the header can be read. */
static inline void any_bytes_are_read(const struct log *log)
{
    uint64_t random = 1;
    bool sound = true;
    for (int i = 0; i < 300; i++)
        sound &= reads_damaged(log, i, &random);
    ok(sound, "no damage after the header makes reading fail");
}

/* ---- positions ---------------------------------------------------------------------------------- */

/* Returns the rows after a saved position. */
static inline char *rows_after(struct opened *opened, int64_t partition, const void *saved, size_t size)
{
    struct pf_buf text = {0};
    struct pf_cursor cursor = cursor_of(opened, "trace", partition);
    cursor.table->ops->open(&cursor, &opened->error);
    if (cursor.table->ops->restore(&cursor, saved, size, &opened->error))
        pf_buf_printf(&text, "refused: %s\n", opened->error.what);
    else
        add_rows(&text, opened, &cursor);
    cursor.table->ops->close(&cursor);
    pf_buf_char(&text, '\0');
    return text.data;
}

/* True if a walk restricted to partition `resumed_by` yields the remaining rows from each position saved by a walk of `saved_by`. */
static inline bool resumes_everywhere(struct opened *opened, int64_t saved_by, int64_t resumed_by)
{
    static unsigned char saved[16384];
    char *all = rows_of(opened, "trace", resumed_by);
    const char *rest = all;
    bool same = true;
    struct pf_cell cells[16];
    struct pf_cursor cursor = cursor_of(opened, "trace", saved_by);
    cursor.table->ops->open(&cursor, &opened->error);
    for (int more = 1; more > 0 && same;) {
        size_t size = cursor.table->ops->save(&cursor, saved, sizeof saved);
        char *have = rows_after(opened, resumed_by, saved, size);
        same = size <= sizeof saved && !strcmp(have, rest);
        if (!same)
            printf("# have: %s# want: %s", have, rest);
        free(have);
        more = cursor.table->ops->next(&cursor, cells, &opened->error);
        if (more > 0 && (resumed_by < 0 || cells[0].i == resumed_by))
            rest = strchr(rest, '\n') + 1;
    }
    cursor.table->ops->close(&cursor);
    free(all);
    return same;
}

#endif
