/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cube.h"
#include "formats/kit/bytes.h"

/*
 * The members ID.index and ID.data of a metric. The index declares the byte order of both, and which positions of the
 * call tree have a row. The data hold the rows in that order, plain or each as a zlib stream.
 */
static const char index_marker[] = "CUBEX.INDEX", data_marker[] = "CUBEX.DATA",
                  packed_marker[] = "ZCUBEX.DATA";

/* Offsets in an index. */
enum { ORDER_AT = 11, FORMAT_AT = 17, COUNT_AT = 18, POSITIONS_AT = 22, SPARSE = 1, DENSE = 3 };

/* Compressed data begin with the number of streams, followed by three 64-bit numbers per stream. */
enum { STREAMS_AT = 11, TABLE_AT = 19, ENTRY_SIZE = 24 };

/* Maximum number of rows of an index beyond the number of call paths: some files list rows of missing ones. */
enum { BEYOND_MAX = 1000 };

struct looking {
    struct pf_cube *cube;
    struct pf_cube_metric *metric;
    const struct pf_cube_member *index, *data;
};

/* Adds a note about the metric. Returns 0. */
__attribute__((format(printf, 5, 6))) static int note(const struct looking *looking, int64_t offset,
                                                      const char *severity, const char *code,
                                                      const char *format, ...)
{
    char what[128];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(what, sizeof what, format, values);
    va_end(values);
    return pf_cube_note(&looking->cube->data_notes, severity, code, 0, offset, "metric " PF_CUBE_NAME ": %s",
                        looking->metric->name, what);
}

int64_t pf_cube_row_of(const struct pf_cube *cube, const struct pf_cube_metric *metric, uint32_t path)
{
    uint32_t position = metric->stored == PF_CUBE_INCLUSIVE ? cube->paths[path].wide : path;
    uint32_t row = metric->row_at ? metric->row_at[position] : position;
    return metric->has_data && row < metric->rows ? (int64_t)row : -1;
}

/* ---- index -------------------------------------------------------------------------------------- */

/*
 * Assigns rows to positions. Rows are in the order of the index, so an index that does not ascend is ambiguous; rows of
 * positions beyond the call tree are ignored. Returns 1, or 0 if the index is unusable.
 */
static int place_rows(struct looking *looking, const unsigned char *raw, size_t n)
{
    struct pf_cube_metric *metric = looking->metric;
    int64_t last = -1, offset = (int64_t)looking->index->offset;
    size_t beyond = 0;
    for (uint32_t i = 0; i < looking->cube->tree->count; i++)
        metric->row_at[i] = PF_CUBE_NONE;
    for (size_t i = 0; i < n; i++) {
        uint32_t position = pf_u32(raw + i * 4, metric->big);
        if (position >= looking->cube->tree->count) {
            beyond++;
            continue;
        }
        if (position <= last)
            return note(looking, offset, "error", "bad-index", "the positions in its index do not ascend");
        last = position;
        metric->row_at[position] = (uint32_t)i;
    }
    metric->rows = n;
    if (beyond) {
        (void)note(looking, offset, "warning", "bad-position",
                   "%zu of its rows, for call paths that are not there, are left out", beyond);
    } else if (n == looking->cube->tree->count) { /* the usual case: the position is the row */
        free(metric->row_at);
        metric->row_at = NULL;
    }
    return 1;
}

/* Returns 1; 0 if the metric is unusable, which has been noted; -1 with *error filled. */
static int take_index(struct looking *looking, const unsigned char *raw, size_t size, struct pf_error *error)
{
    struct pf_cube_metric *metric = looking->metric;
    int64_t offset = (int64_t)looking->index->offset;
    uint32_t paths = looking->cube->tree->count;
    if (size < COUNT_AT || memcmp(raw, index_marker, sizeof index_marker - 1) != 0)
        return note(looking, offset, "error", "bad-index", "its index does not begin as one");
    metric->big = !memcmp(raw + ORDER_AT, "\0\0\0\1", 4);
    if (!metric->big && memcmp(raw + ORDER_AT, "\1\0\0\0", 4) != 0)
        return note(looking, offset + ORDER_AT, "error", "bad-index", "its index has no byte order");
    if (raw[FORMAT_AT] != SPARSE && raw[FORMAT_AT] != DENSE)
        return note(looking, offset + FORMAT_AT, "error", "bad-index", "its index is of an unknown kind");
    metric->rows = paths;
    if (raw[FORMAT_AT] == DENSE)
        return 1;
    uint64_t there = size < POSITIONS_AT ? 0 : (size - POSITIONS_AT) / 4;
    uint64_t count = size < POSITIONS_AT ? 0 : pf_u32(raw + COUNT_AT, metric->big);
    if (count > there) {
        count = there;
        (void)note(looking, offset, "error", "cut-index", "its index promises more rows than it lists");
    }
    if (count > (uint64_t)paths + BEYOND_MAX)
        return note(looking, offset, "error", "bad-index",
                    "its index lists more rows than there are call paths");
    metric->row_at = malloc(((size_t)paths + 1) * sizeof *metric->row_at);
    return metric->row_at ? place_rows(looking, raw + POSITIONS_AT, (size_t)count) : pf_fail_memory(error);
}

static int read_index(struct looking *looking, struct pf_error *error)
{
    size_t most = POSITIONS_AT + 4 * ((size_t)looking->cube->tree->count + BEYOND_MAX + 1);
    unsigned char *raw = malloc(most);
    if (!raw)
        return pf_fail_memory(error);
    ssize_t have = pf_cube_read(looking->cube, looking->index, raw, most, 0, error);
    int result = have < 0 ? -1 : take_index(looking, raw, (size_t)have, error);
    free(raw);
    return result;
}

/* ---- data --------------------------------------------------------------------------------------- */

/* Limits the number of rows, with a note if the index lists more. */
static void limit_rows(struct looking *looking, uint64_t rows)
{
    if (rows < looking->metric->rows)
        (void)note(looking, (int64_t)looking->metric->end, "error", "short-data",
                   "its data end after %llu of %llu rows; the others have no value", (unsigned long long)rows,
                   (unsigned long long)looking->metric->rows);
    if (rows < looking->metric->rows)
        looking->metric->rows = rows;
}

static int find_plain(struct looking *looking)
{
    struct pf_cube_metric *metric = looking->metric;
    uint64_t row = pf_cube_row_size(looking->cube, metric);
    metric->base = looking->data->offset + sizeof data_marker - 1;
    limit_rows(looking, (metric->end - metric->base) / row);
    return 1;
}

/*
 * Assigns streams to rows by their offset in the uncompressed data. A stream that exceeds the data gets the size
 * UINT64_MAX, which the reader rejects.
 */
static void place_streams(struct looking *looking, const unsigned char *raw, uint64_t count)
{
    struct pf_cube_metric *metric = looking->metric;
    uint64_t row_size = pf_cube_row_size(looking->cube, metric), room = metric->end - metric->base, lost = 0;
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
        (void)note(looking, (int64_t)metric->base, "error", "bad-stream",
                   "%llu rows have no stream in its data; they have no values", (unsigned long long)lost);
}

static int find_packed(struct looking *looking, uint64_t count, struct pf_error *error)
{
    struct pf_cube_metric *metric = looking->metric;
    uint64_t table = looking->data->offset + TABLE_AT;
    if (table > metric->end || count > (metric->end - table) / ENTRY_SIZE)
        return note(looking, (int64_t)looking->data->offset, "error", "bad-data",
                    "its table of streams is larger than its data");
    metric->base = table + count * ENTRY_SIZE;
    limit_rows(looking, count);
    size_t size = (size_t)metric->rows * ENTRY_SIZE;
    unsigned char *entries = malloc(size + 1);
    metric->streams = calloc((size_t)metric->rows + 1, sizeof *metric->streams);
    if (!entries || !metric->streams) {
        free(entries);
        return pf_fail_memory(error);
    }
    ssize_t have = pf_cube_read(looking->cube, looking->data, entries, size, TABLE_AT, error);
    if (have >= 0)
        place_streams(looking, entries, (uint64_t)have / ENTRY_SIZE);
    free(entries);
    return have < 0 ? -1 : 1;
}

static int find_rows(struct looking *looking, struct pf_error *error)
{
    unsigned char head[TABLE_AT] = "";
    ssize_t have = pf_cube_read(looking->cube, looking->data, head, sizeof head, 0, error);
    if (have < 0)
        return -1;
    looking->metric->end = looking->data->offset + looking->data->size;
    if (!memcmp(head, data_marker, sizeof data_marker - 1))
        return find_plain(looking);
    if (!memcmp(head, packed_marker, sizeof packed_marker - 1))
        return find_packed(looking, pf_u64(head + STREAMS_AT, looking->metric->big), error);
    return note(looking, (int64_t)looking->data->offset, "error", "bad-data",
                "its data do not begin as such");
}

/* ---- all metrics -------------------------------------------------------------------------------- */

static const struct pf_cube_member *find_member(const struct pf_cube *cube,
                                                const struct pf_cube_metric *metric, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s%llu.%s", metric->ghost ? "ghost_" : "", (unsigned long long)metric->id,
             what);
    return pf_cube_archive_find(&cube->archive, name);
}

bool pf_cube_may_have_data(const struct pf_cube *cube, const struct pf_cube_metric *metric)
{
    const struct pf_cube_member *index = find_member(cube, metric, "index"),
                                *data = find_member(cube, metric, "data");
    if (!index || !data || metric->stored >= PF_CUBE_DERIVED || !pf_cube_is_number(metric->type.kind))
        return false;
    bool no_positions = index->size > COUNT_AT && index->size <= POSITIONS_AT;
    bool no_streams = index->size == COUNT_AT && data->size == TABLE_AT;
    return data->size >= sizeof data_marker && !no_positions && !no_streams;
}

static void forget_metric(struct pf_cube_metric *metric)
{
    free(metric->row_at);
    free(metric->streams);
    metric->row_at = NULL;
    metric->streams = NULL;
    metric->has_data = false;
}

static int look(struct looking *looking, struct pf_error *error)
{
    struct pf_cube_metric *metric = looking->metric;
    looking->index = find_member(looking->cube, metric, "index");
    looking->data = find_member(looking->cube, metric, "data");
    if (!looking->index && !looking->data)
        return 0; /* normal for a metric that is unused: all values are zero */
    if (!looking->data)
        return note(looking, -1, "error", "no-data", "it has an index but no data: it has no values");
    if (!looking->index)
        return note(looking, -1, "error", "no-index", "it has data but no index: it has no values");
    if (metric->type.kind == PF_CUBE_NO_KIND)
        return note(looking, -1, "warning", "no-number",
                    "values of type %.60s are not known: it has no values", metric->dtype);
    int result = read_index(looking, error);
    if (result > 0)
        result = find_rows(looking, error);
    metric->has_data = result > 0;
    if (result <= 0)
        forget_metric(metric);
    return result < 0 ? -1 : 0;
}

void pf_cube_forget_data(struct pf_cube *cube)
{
    for (size_t i = 0; i < cube->n_metrics; i++)
        forget_metric(&cube->metrics[i]);
    pf_notes_free(&cube->data_notes);
    pf_notes_free(&cube->check_notes);
}

int pf_cube_find_data(struct pf_cube *cube, struct pf_error *error)
{
    struct looking looking = {.cube = cube};
    int result = 0;
    for (size_t i = 0; i < cube->n_metrics && !cube->broken && !result; i++) {
        looking.metric = &cube->metrics[i];
        if (looking.metric->stored < PF_CUBE_DERIVED)
            result = pf_pass_step(i, cube->n_metrics, error) || look(&looking, error) ? -1 : 0;
    }
    if (result)
        pf_cube_forget_data(cube);
    return result;
}
