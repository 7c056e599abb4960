/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cube.h"
#include "formats/cube/rows.h"

/*
 * The members ID.index and ID.data of a metric. The index says, in the byte order of both, which positions of the call
 * tree have a row; the rows follow one another in the data, plain or as a zlib stream each.
 */
static const char index_marker[] = "CUBEX.INDEX", data_marker[] = "CUBEX.DATA",
                  packed_marker[] = "ZCUBEX.DATA";

/* Offsets in an index. */
enum { ORDER_AT = 11, FORMAT_AT = 17, COUNT_AT = 18, POSITIONS_AT = 22, SPARSE = 1, DENSE = 3 };

/* Of compressed data: the number of streams, then for each three 64-bit numbers. */
enum { STREAMS_AT = 11, TABLE_AT = 19, ENTRY_SIZE = 24 };

/* Positions of an index that are read at a time. */
enum { POSITIONS_A_READ = 4096 };

struct looking {
    struct pf_cube *cube;
    struct pf_cube_metric *metric;
    const struct pf_cube_member *index, *data;
    struct pf_pass *pass;
};

static int note(const struct looking *looking, int64_t offset, enum pf_cube_note_kind kind, const char *what)
{
    return pf_cube_note(&looking->cube->data_notes, kind, 0, offset, "metric " PF_CUBE_NAME ": %s",
                        looking->metric->name, what);
}

/* ---- which positions have rows ------------------------------------------------------------------ */

static inline bool has_bit(const uint64_t *bits, uint64_t i)
{
    return bits[i / 64] >> i % 64 & 1;
}

/* How many rows come before a position, of those that are not complete. */
static uint32_t rows_before(const struct pf_cube_metric *metric, uint32_t position)
{
    uint64_t before = metric->bits[position / 64] & ((UINT64_C(1) << position % 64) - 1);
    return metric->rank[position / 64] + (unsigned)__builtin_popcountll(before);
}

bool pf_cube_has_rows(const struct pf_cube_metric *metric, uint32_t first, uint32_t end)
{
    if (!metric->has_data || metric->all_rows)
        return metric->has_data;
    return rows_before(metric, end) > rows_before(metric, first);
}

int64_t pf_cube_row_of(const struct pf_cube *cube, const struct pf_cube_metric *metric, uint32_t path)
{
    uint64_t position = metric->stored == PF_CUBE_INCLUSIVE ? cube->paths[path].wide : path, row = position;
    if (!metric->has_data)
        return -1;
    if (!metric->all_rows) {
        if (!has_bit(metric->bits, position))
            return -1;
        row = metric->row_at ? metric->row_at[position] : rows_before(metric, (uint32_t)position);
    }
    if (row >= metric->rows || (metric->damaged && has_bit(metric->damaged, row)))
        return -1;
    return (int64_t)row;
}

/* Counts the rows before each word of the bits. */
static int count_bits(struct looking *looking, struct pf_error *error)
{
    size_t words = looking->cube->tree->count / 64 + 1;
    uint32_t *rank = malloc(words * sizeof *rank), sum = 0;
    if (!rank)
        return pf_fail_memory(error);
    for (size_t i = 0; i < words; i++) {
        rank[i] = sum;
        sum += (unsigned)__builtin_popcountll(looking->metric->bits[i]);
    }
    looking->metric->rank = rank;
    return 0;
}

/* ---- index -------------------------------------------------------------------------------------- */

/* 1: fine; 0: the metric can't be used, which has been noted. */
static int read_marker(struct looking *looking, unsigned char head[POSITIONS_AT], size_t *have,
                       struct pf_error *error)
{
    int64_t offset = (int64_t)looking->index->offset;
    size_t want = looking->index->size < POSITIONS_AT ? (size_t)looking->index->size : POSITIONS_AT;
    ssize_t got = pf_input_read(looking->cube->input, head, want, looking->index->offset, error);
    if (got < 0)
        return -1;
    *have = (size_t)got;
    if (*have < COUNT_AT || memcmp(head, index_marker, sizeof index_marker - 1) != 0)
        return note(looking, offset, PF_CUBE_NOTE_BAD_INDEX, "its index does not begin as one");
    bool big = !memcmp(head + ORDER_AT, "\0\0\0\1", 4), little = !memcmp(head + ORDER_AT, "\1\0\0\0", 4);
    if (!big && !little)
        return note(looking, offset + ORDER_AT, PF_CUBE_NOTE_BAD_INDEX, "its index has no byte order");
    looking->metric->swapped = big == (BYTE_ORDER == LITTLE_ENDIAN);
    if (head[FORMAT_AT] != SPARSE && head[FORMAT_AT] != DENSE)
        return note(looking, offset + FORMAT_AT, PF_CUBE_NOTE_BAD_INDEX, "its index is of an unknown kind");
    return 1;
}

static uint32_t number_32(const struct pf_cube_metric *metric, const unsigned char *raw)
{
    uint32_t value;
    memcpy(&value, raw, sizeof value);
    return metric->swapped ? __builtin_bswap32(value) : value;
}

static uint64_t number_64(const struct pf_cube_metric *metric, const unsigned char *raw)
{
    uint64_t value;
    memcpy(&value, raw, sizeof value);
    return metric->swapped ? __builtin_bswap64(value) : value;
}

/*
 * Marks the positions of an index. Its order is that of the rows, so one that is out of order leaves it open what belongs
 * where; one beyond the call tree belongs nowhere, and its row is passed over.
 */
static int mark_positions(struct looking *looking, const unsigned char *raw, size_t n, int64_t *last,
                          uint64_t *beyond)
{
    struct pf_cube_metric *metric = looking->metric;
    for (size_t i = 0; i < n; i++, metric->rows++) {
        uint32_t position = number_32(metric, raw + i * 4);
        if (position >= looking->cube->tree->count) {
            ++*beyond;
            continue;
        }
        if (position <= *last)
            return note(looking, (int64_t)looking->index->offset, PF_CUBE_NOTE_BAD_INDEX,
                        "the positions in its index do not ascend");
        *last = position;
        metric->bits[position / 64] |= UINT64_C(1) << position % 64;
        if (metric->row_at)
            metric->row_at[position] = (uint32_t)metric->rows;
    }
    return 1;
}

static int read_positions(struct looking *looking, uint64_t count, uint64_t *beyond, struct pf_error *error)
{
    unsigned char raw[POSITIONS_A_READ * 4];
    uint64_t at = looking->index->offset + POSITIONS_AT;
    int64_t last = -1;
    int result = 1;
    *beyond = 0;
    looking->metric->rows = 0;
    while (count && result > 0) {
        size_t n = count < POSITIONS_A_READ ? (size_t)count : POSITIONS_A_READ;
        ssize_t have = pf_input_read(looking->cube->input, raw, n * 4, at, error);
        if (have < 0 || pf_pass_step(looking->pass, at, pf_input_size(looking->cube->input), error))
            return -1;
        if ((size_t)have < n * 4)
            return 0; /* cannot be: the member's end is within the input */
        result = mark_positions(looking, raw, n, &last, beyond);
        count -= n;
        at += n * 4;
    }
    return result;
}

/* Rows that belong to no call path shift those behind them: a second look numbers the rows of the positions. */
static int pass_over(struct looking *looking, uint64_t count, uint64_t beyond, struct pf_error *error)
{
    char what[128];
    snprintf(what, sizeof what, "%llu of its rows, for call paths that are not there, are left out",
             (unsigned long long)beyond);
    if (note(looking, (int64_t)looking->index->offset, PF_CUBE_NOTE_BAD_POSITION, what))
        return -1;
    looking->metric->row_at = calloc((size_t)looking->cube->tree->count + 1, sizeof *looking->metric->row_at);
    if (!looking->metric->row_at)
        return pf_fail_memory(error);
    return read_positions(looking, count, &beyond, error);
}

/* 1: read; 0: can't be used; -1: *error filled. */
static int read_sparse(struct looking *looking, const unsigned char *head, size_t have,
                       struct pf_error *error)
{
    struct pf_cube_metric *metric = looking->metric;
    uint64_t there = looking->index->size > POSITIONS_AT ? (looking->index->size - POSITIONS_AT) / 4 : 0;
    uint64_t count = have < POSITIONS_AT ? 0 : number_32(metric, head + COUNT_AT);
    if (count > there) {
        count = there;
        if (note(looking, (int64_t)looking->index->offset, PF_CUBE_NOTE_CUT_INDEX,
                 "its index promises more rows than it lists"))
            return -1;
    }
    metric->bits = calloc((size_t)looking->cube->tree->count / 64 + 1, sizeof *metric->bits);
    if (!metric->bits)
        return pf_fail_memory(error);
    uint64_t beyond;
    int result = read_positions(looking, count, &beyond, error);
    if (result > 0 && beyond > looking->cube->tree->count)
        return note(looking, (int64_t)looking->index->offset, PF_CUBE_NOTE_BAD_INDEX,
                    "most positions in its index are beyond the call tree");
    if (result > 0 && beyond)
        result = pass_over(looking, count, beyond, error);
    if (result <= 0)
        return result;
    metric->all_rows = !beyond && metric->rows == looking->cube->tree->count;
    return count_bits(looking, error) ? -1 : 1;
}

static int read_index(struct looking *looking, struct pf_error *error)
{
    unsigned char head[POSITIONS_AT];
    size_t have;
    int result = read_marker(looking, head, &have, error);
    if (result <= 0)
        return result;
    if (head[FORMAT_AT] == SPARSE)
        return read_sparse(looking, head, have, error);
    looking->metric->all_rows = true;
    looking->metric->rows = looking->cube->tree->count;
    return 1;
}

/* ---- data --------------------------------------------------------------------------------------- */

static int note_short(struct looking *looking, uint64_t rows)
{
    char what[128];
    snprintf(what, sizeof what, "its data end after %llu of %llu rows; the others have no value",
             (unsigned long long)rows, (unsigned long long)looking->metric->rows);
    looking->metric->rows = rows;
    return note(looking, (int64_t)looking->metric->end, PF_CUBE_NOTE_SHORT_DATA, what);
}

static int find_plain(struct looking *looking)
{
    struct pf_cube_metric *metric = looking->metric;
    uint64_t row = pf_cube_row_size(looking->cube, metric);
    metric->base = looking->data->offset + sizeof data_marker - 1;
    uint64_t there = row ? (metric->end - metric->base) / row : 0;
    if (there < metric->rows && note_short(looking, there))
        return -1;
    return 1;
}

int pf_cube_stream(const struct pf_cube *cube, const struct pf_cube_metric *metric, uint64_t row,
                   struct pf_cube_range *range, struct pf_error *error)
{
    unsigned char raw[ENTRY_SIZE];
    uint64_t entry = metric->entry ? metric->entry[row] : row;
    if (entry == PF_CUBE_NONE)
        return 0;
    ssize_t have = pf_input_read(cube->input, raw, sizeof raw, metric->table + entry * ENTRY_SIZE, error);
    if (have < (ssize_t)sizeof raw)
        return have < 0 ? -1 : 0;
    uint64_t start = number_64(metric, raw + 8), size = number_64(metric, raw + 16);
    *range = (struct pf_cube_range){metric->base + start, size};
    return start <= metric->end - metric->base && size <= metric->end - metric->base - start;
}

/*
 * The table of streams tells each one's place in the uncompressed data: mostly the number of the row times its
 * size, otherwise it takes a list to find them.
 */
static int map_entry(struct looking *looking, const unsigned char *raw, uint64_t i, struct pf_error *error)
{
    struct pf_cube_metric *metric = looking->metric;
    uint64_t size = pf_cube_row_size(looking->cube, metric), start = number_64(metric, raw);
    if (i < metric->rows && start == i * size && !metric->entry)
        return 0;
    if (!metric->entry) {
        metric->entry = malloc((metric->rows + 1) * sizeof *metric->entry);
        if (!metric->entry)
            return pf_fail_memory(error);
        for (uint64_t row = 0; row < metric->rows; row++)
            metric->entry[row] = row < i ? (uint32_t)row : PF_CUBE_NONE;
    }
    if (size && start % size == 0 && start / size < metric->rows && i < PF_CUBE_NONE)
        metric->entry[start / size] = (uint32_t)i;
    return 0;
}

static int map_entries(struct looking *looking, uint64_t count, struct pf_error *error)
{
    unsigned char raw[512 * ENTRY_SIZE];
    for (uint64_t i = 0; i < count;) {
        uint64_t at = looking->metric->table + i * ENTRY_SIZE;
        size_t n = count - i < 512 ? (size_t)(count - i) : 512;
        ssize_t have = pf_input_read(looking->cube->input, raw, n * ENTRY_SIZE, at, error);
        if (have < 0 || pf_pass_step(looking->pass, at, pf_input_size(looking->cube->input), error))
            return -1;
        if ((size_t)have < n * ENTRY_SIZE)
            return 0; /* cannot be: the member's end is within the input */
        for (size_t k = 0; k < n; k++, i++)
            if (map_entry(looking, raw + k * ENTRY_SIZE, i, error))
                return -1;
    }
    return 0;
}

static int find_packed(struct looking *looking, struct pf_error *error)
{
    struct pf_cube_metric *metric = looking->metric;
    unsigned char raw[8];
    metric->compressed = true;
    metric->table = looking->data->offset + TABLE_AT;
    ssize_t have =
        pf_input_read(looking->cube->input, raw, sizeof raw, looking->data->offset + STREAMS_AT, error);
    if (have < 0)
        return -1;
    uint64_t count = have == sizeof raw && metric->table <= metric->end ? number_64(metric, raw) : 0;
    uint64_t there = metric->table <= metric->end ? (metric->end - metric->table) / ENTRY_SIZE : 0;
    if (count > there)
        return note(looking, (int64_t)looking->data->offset, PF_CUBE_NOTE_BAD_DATA,
                    "its table of streams is larger than its data");
    metric->base = metric->table + count * ENTRY_SIZE;
    if (map_entries(looking, count, error))
        return -1;
    if (count < metric->rows && !metric->entry && note_short(looking, count))
        return -1;
    return 1;
}

static int find_rows(struct looking *looking, struct pf_error *error)
{
    char marker[sizeof packed_marker - 1];
    looking->metric->end = looking->data->offset + looking->data->size;
    size_t want = looking->data->size < sizeof marker ? (size_t)looking->data->size : sizeof marker;
    ssize_t have = pf_input_read(looking->cube->input, marker, want, looking->data->offset, error);
    if (have < 0)
        return -1;
    size_t plain = sizeof data_marker - 1;
    if ((size_t)have >= plain && !memcmp(marker, data_marker, plain))
        return find_plain(looking);
    if ((size_t)have == sizeof marker && !memcmp(marker, packed_marker, sizeof marker))
        return find_packed(looking, error);
    return note(looking, (int64_t)looking->data->offset, PF_CUBE_NOTE_BAD_DATA,
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
    if (!index || !data || metric->stored == PF_CUBE_DERIVED || !pf_cube_is_number(metric->type.kind))
        return false;
    bool no_positions = index->size > COUNT_AT && index->size <= POSITIONS_AT;
    bool no_streams = index->size == COUNT_AT && data->size == TABLE_AT;
    return data->size >= sizeof data_marker && !no_positions && !no_streams;
}

/* One of the pair is missing, or the values are of a type that nobody knows. */
static int note_missing(struct looking *looking)
{
    if (!looking->index || !looking->data)
        return note(looking, -1, looking->index ? PF_CUBE_NOTE_NO_DATA : PF_CUBE_NOTE_NO_INDEX,
                    looking->index ? "it has an index but no data: it has no values"
                                   : "it has data but no index: it has no values");
    char what[128];
    snprintf(what, sizeof what, "values of type %.60s are not known: it has no values",
             looking->metric->dtype);
    return note(looking, -1, PF_CUBE_NOTE_NO_NUMBER, what);
}

static void forget_metric(struct pf_cube_metric *metric)
{
    free(metric->bits);
    free(metric->rank);
    free(metric->row_at);
    free(metric->entry);
    free(metric->damaged);
    metric->bits = metric->damaged = NULL;
    metric->rank = metric->row_at = metric->entry = NULL;
    metric->rows = 0;
    metric->has_data = metric->swapped = metric->compressed = metric->all_rows = false;
}

static int look(struct looking *looking, struct pf_error *error)
{
    struct pf_cube_metric *metric = looking->metric;
    looking->index = find_member(looking->cube, metric, "index");
    looking->data = find_member(looking->cube, metric, "data");
    if (!looking->index && !looking->data)
        return 0; /* as most metrics that a program does not use: all zero */
    if (!looking->index || !looking->data || metric->type.kind == PF_CUBE_NO_KIND)
        return note_missing(looking);
    int result = read_index(looking, error);
    if (result > 0)
        result = find_rows(looking, error);
    metric->has_data = result > 0;
    if (result > 0 && pf_cube_check(looking->cube, metric, looking->pass, error))
        result = -1;
    if (result <= 0)
        forget_metric(metric);
    return result < 0 ? -1 : 0;
}

void pf_cube_forget_data(struct pf_cube *cube)
{
    for (size_t i = 0; i < cube->n_metrics; i++)
        forget_metric(&cube->metrics[i]);
    pf_notes_free(&cube->data_notes);
}

int pf_cube_find_data(struct pf_cube *cube, struct pf_pass *pass, struct pf_error *error)
{
    struct looking looking = {.cube = cube, .pass = pass};
    int result = 0;
    for (size_t i = 0; i < cube->n_metrics && !cube->broken && !result; i++) {
        looking.metric = &cube->metrics[i];
        if (looking.metric->stored != PF_CUBE_DERIVED)
            result = look(&looking, error);
    }
    if (result)
        pf_cube_forget_data(cube);
    return result;
}
