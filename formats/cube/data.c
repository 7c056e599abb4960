/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cube.h"
#include "formats/kit/bytes.h"

/*
 * A metric's values are in the members ID.index and ID.data. The index declares the byte order of both members, and which
 * positions in the call tree have a row. The data hold these rows in the same order, either plain or each as a zlib stream.
 */
static const char index_marker[] = "CUBEX.INDEX", data_marker[] = "CUBEX.DATA",
                  packed_marker[] = "ZCUBEX.DATA";

/* Offsets of the fields of an index, and the two values of the field at FORMAT_AT. */
enum { ORDER_AT = 11, FORMAT_AT = 17, COUNT_AT = 18, POSITIONS_AT = 22, SPARSE = 1, DENSE = 3 };

/* In compressed data: offset of the number of streams, offset of the table of streams, size of an entry of this table. */
enum { STREAMS_AT = 11, TABLE_AT = 19, ENTRY_SIZE = 24 };

/*
 * An index may list this many rows more than there are call paths, because some files have rows of call paths that
 * anchor.xml lacks.
 */
enum { BEYOND_MAX = 1000 };

struct data_search {
    struct pf_run *run;
    struct pf_cube *cube;
    struct pf_cube_metric *metric;
    const struct pf_cube_member *index, *data;
    PF_LIST(unsigned char) bytes; /* buffer */
    uint64_t memory;              /* bytes of `after` and `streams` of all metrics so far */
};

/* An unknown offset in the file, for note_metric(). */
#define UNKNOWN UINT64_MAX

/* Warns about the metric. Returns false. */
__attribute__((format(printf, 5, 6))) static bool note_metric(const struct data_search *search,
                                                              uint64_t offset, const char *severity,
                                                              const char *code, const char *format, ...)
{
    char what[128];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(what, sizeof what, format, values);
    va_end(values);
    pf_run_warn(search->run, severity, code, 0, offset, "metric " PF_CUBE_NAME ": %s", search->metric->name,
                what);
    return false;
}

/* Reads up to `size` bytes of a member into search->bytes. Returns their number. */
static size_t read_bytes(struct data_search *search, const struct pf_cube_member *member, size_t size,
                         uint64_t at)
{
    struct pf_run *run = search->run;
    pf_run_room(run, &search->bytes.at, &search->bytes.room, size, 1);
    ssize_t have = pf_cube_read(search->cube, member, search->bytes.at, size, at, run->error);
    if (have < 0)
        pf_run_fail(run);
    return (size_t)have;
}

/* ---- index -------------------------------------------------------------------------------------- */

/*
 * Assigns rows to positions. Row i belongs to the i-th position that the index lists. Ignores rows of positions beyond the
 * call tree. Returns false if the positions do not ascend, since the index is unusable then.
 */
static bool place_rows(struct data_search *search, const unsigned char *raw, size_t n)
{
    struct pf_cube_metric *metric = search->metric;
    uint64_t offset = search->index->offset;
    uint32_t after = 0;
    size_t beyond = 0;
    for (size_t i = 0; i < n; metric->after[i++] = after) {
        uint32_t position = pf_u32(raw + i * 4, metric->big);
        if (position >= search->cube->tree->count) {
            beyond++;
            continue;
        }
        if (position < after)
            return note_metric(search, offset, "error", "bad-index",
                               "positions in its index do not ascend: no values");
        after = position + 1;
    }
    metric->rows = n;
    if (beyond) {
        (void)note_metric(search, offset, "warning", "bad-position",
                          "%zu rows of unknown call paths: skipped", beyond);
    } else if (n == search->cube->tree->count) { /* the usual case: the position is the row */
        free(metric->after);
        metric->after = NULL;
    }
    return true;
}

/* Reads the index: byte order and positions of rows. Returns false if the metric is unusable. */
static bool read_metric_index(struct data_search *search)
{
    struct pf_cube_metric *metric = search->metric;
    uint64_t offset = search->index->offset;
    uint32_t paths = search->cube->tree->count;
    size_t most = POSITIONS_AT + 4 * ((size_t)paths + BEYOND_MAX + 1);
    size_t size = read_bytes(search, search->index, most, 0);
    const unsigned char *raw = search->bytes.at;
    if (size < COUNT_AT || memcmp(raw, index_marker, sizeof index_marker - 1) != 0)
        return note_metric(search, offset, "error", "bad-index", "bad magic of its index: no values");
    metric->big = !memcmp(raw + ORDER_AT, "\0\0\0\1", 4);
    if (!metric->big && memcmp(raw + ORDER_AT, "\1\0\0\0", 4) != 0)
        return note_metric(search, offset + ORDER_AT, "error", "bad-index",
                           "invalid byte order of its index: no values");
    if (raw[FORMAT_AT] != SPARSE && raw[FORMAT_AT] != DENSE)
        return note_metric(search, offset + FORMAT_AT, "error", "bad-index",
                           "unknown kind of index: no values");
    metric->rows = paths;
    if (raw[FORMAT_AT] == DENSE)
        return true;
    uint64_t there = size < POSITIONS_AT ? 0 : (size - POSITIONS_AT) / 4;
    uint64_t count = size < POSITIONS_AT ? 0 : pf_u32(raw + COUNT_AT, metric->big);
    if (count > there) {
        count = there;
        (void)note_metric(search, offset, "error", "cut-index",
                          "truncated index: only the rows that it lists are read");
    }
    if (count > (uint64_t)paths + BEYOND_MAX)
        return note_metric(search, offset, "error", "bad-index",
                           "its index lists more rows than there are call paths: no values");
    search->memory += count * sizeof *metric->after;
    metric->after = pf_run_memory(search->run, malloc((size_t)(count + 1) * sizeof *metric->after));
    return place_rows(search, raw + POSITIONS_AT, (size_t)count);
}

/* ---- data --------------------------------------------------------------------------------------- */

/* Limits the number of rows to those that the data have, with a warning if the index lists more. */
static void limit_rows(struct data_search *search, uint64_t rows)
{
    if (rows < search->metric->rows)
        (void)note_metric(search, search->metric->end, "error", "short-data",
                          "truncated data: only %llu of %llu rows have values", (unsigned long long)rows,
                          (unsigned long long)search->metric->rows);
    if (rows < search->metric->rows)
        search->metric->rows = rows;
}

static bool find_plain(struct data_search *search)
{
    struct pf_cube_metric *metric = search->metric;
    uint64_t row = pf_cube_row_size(search->cube, metric);
    metric->base = search->data->offset + sizeof data_marker - 1;
    limit_rows(search, (metric->end - metric->base) / row);
    return true;
}

/*
 * Assigns streams to rows. An entry of the table has three u64: the row's offset in the uncompressed data, and the stream's offset from
 * metric->base and size. A stream that exceeds the data gets the size UINT64_MAX, which inflate_row rejects.
 */
static void place_streams(struct data_search *search, const unsigned char *raw, uint64_t count)
{
    struct pf_cube_metric *metric = search->metric;
    uint64_t row_size = pf_cube_row_size(search->cube, metric), room = metric->end - metric->base, lost = 0;
    for (uint64_t i = 0; i < count; i++, raw += ENTRY_SIZE) {
        uint64_t place = pf_u64(raw, metric->big), start = pf_u64(raw + 8, metric->big),
                 size = pf_u64(raw + 16, metric->big);
        bool inside = start <= room && size <= room - start;
        if (place % row_size == 0 && place / row_size < metric->rows)
            metric->streams[place / row_size] =
                (struct pf_cube_range){metric->base + start, inside ? size : UINT64_MAX};
    }
    for (uint64_t i = 0; i < metric->rows; i++)
        lost += !metric->streams[i].offset;
    if (lost)
        (void)note_metric(search, metric->base, "error", "bad-stream",
                          "%llu rows without a stream: no values", (unsigned long long)lost);
}

static bool find_packed(struct data_search *search, uint64_t count)
{
    struct pf_cube_metric *metric = search->metric;
    uint64_t table = search->data->offset + TABLE_AT;
    if (table > metric->end || count > (metric->end - table) / ENTRY_SIZE)
        return note_metric(search, search->data->offset, "error", "bad-data",
                           "its table of streams is larger than its data: no values");
    metric->base = table + count * ENTRY_SIZE;
    limit_rows(search, count);
    search->memory += metric->rows * sizeof *metric->streams;
    metric->streams = pf_run_memory(search->run, calloc((size_t)metric->rows + 1, sizeof *metric->streams));
    size_t have = read_bytes(search, search->data, (size_t)metric->rows * ENTRY_SIZE, TABLE_AT);
    place_streams(search, search->bytes.at, have / ENTRY_SIZE);
    return true;
}

/* Finds the rows or streams in the data. Returns false if the metric is unusable. */
static bool find_rows(struct data_search *search)
{
    size_t have = read_bytes(search, search->data, TABLE_AT, 0);
    const unsigned char *head = search->bytes.at;
    memset(search->bytes.at + have, 0, TABLE_AT - have);
    search->metric->end = search->data->offset + search->data->size;
    if (!memcmp(head, data_marker, sizeof data_marker - 1))
        return find_plain(search);
    if (!memcmp(head, packed_marker, sizeof packed_marker - 1))
        return find_packed(search, pf_u64(head + STREAMS_AT, search->metric->big));
    return note_metric(search, search->data->offset, "error", "bad-data", "bad magic of its data: no values");
}

/* ---- metrics ------------------------------------------------------------------------------------ */

static const struct pf_cube_member *find_metric_member(const struct pf_cube *cube,
                                                       const struct pf_cube_metric *metric, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s%llu.%s", metric->ghost ? "ghost_" : "", (unsigned long long)metric->id,
             what);
    return pf_cube_archive_find(&cube->archive, name);
}

bool pf_cube_may_have_data(const struct pf_cube *cube, const struct pf_cube_metric *metric)
{
    const struct pf_cube_member *index = find_metric_member(cube, metric, "index"),
                                *data = find_metric_member(cube, metric, "data");
    if (!index || !data || metric->stored >= PF_CUBE_DERIVED || !pf_cube_is_number(metric->type.kind))
        return false;
    /* A sparse index lists positions; a dense one ends at COUNT_AT. */
    bool no_positions = index->size > COUNT_AT && index->size <= POSITIONS_AT;
    bool no_streams = index->size == COUNT_AT && data->size == TABLE_AT;
    return data->size >= sizeof data_marker && !no_positions && !no_streams;
}

static void forget_metric(struct pf_cube_metric *metric)
{
    free(metric->after);
    free(metric->streams);
    metric->after = NULL;
    metric->streams = NULL;
    metric->has_data = false;
}

/* Returns true if the metric has data. */
static bool find_metric_data(struct data_search *search)
{
    struct pf_cube_metric *metric = search->metric;
    search->index = find_metric_member(search->cube, metric, "index");
    search->data = find_metric_member(search->cube, metric, "data");
    if (!search->index && !search->data)
        return false; /* normal for an unused metric, whose values are all zero */
    if (!search->data)
        return note_metric(search, UNKNOWN, "error", "no-data", "index without data: no values");
    if (!search->index)
        return note_metric(search, UNKNOWN, "error", "no-index", "data without an index: no values");
    if (metric->type.kind == PF_CUBE_NO_KIND)
        return note_metric(search, UNKNOWN, "warning", "no-number", "unknown type %.60s: no values",
                           metric->dtype);
    return read_metric_index(search) && find_rows(search);
}

void pf_cube_forget_data(struct pf_cube *cube)
{
    for (size_t i = 0; i < cube->n_metrics; i++)
        forget_metric(&cube->metrics[i]);
}

void pf_cube_find_data(struct pf_run *run, struct pf_cube *cube)
{
    struct data_search *search = PF_OWN(run, calloc(1, sizeof *search), free);
    search->run = run;
    pf_cube_forget_data(cube); /* the data of an earlier attempt that failed */
    search->cube = PF_OWN(run, cube, pf_cube_forget_data);
    for (size_t i = 0; i < cube->n_metrics && !cube->broken; i++) {
        search->metric = &cube->metrics[i];
        if (search->metric->stored >= PF_CUBE_DERIVED)
            continue;
        pf_run_step(run, i, cube->n_metrics);
        if (search->memory > pf_input_memory(cube->input)) {
            (void)note_metric(search, UNKNOWN, "fatal", "too-large", PF_RUN_FULL ": no values from here on");
            break;
        }
        search->metric->has_data = find_metric_data(search);
        if (!search->metric->has_data)
            forget_metric(search->metric);
    }
    pf_disown(run, cube);
}
