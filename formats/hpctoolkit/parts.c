/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"
#include "formats/kit/lock.h"

/* Thread numbers from this one on denote streams of a GPU. */
enum { FIRST_STREAM = 500 };

/*
 * Sizes of headers in bytes: magic[18], version[5], `b`; then u32 rows and u32 columns for values; u64 flags for traces
 * since version 01.01.
 */
enum { HEADER = 24, VALUES_HEADER = 32, MAGIC = 18 };

enum { FILES_A_STEP = 256 };

/* Maximum number of pieces of values, and of traces; a merged file may declare 2^32. */
enum { PIECES_MAX = 1 << 20 };

/* Bytes of a merged file's records that are read at once. */
enum { RECORDS_ROOM = 64 * 1024 };

struct hpc_part {
    char *name;
    bool traces;            /* false: values */
    bool merged;            /* holds the pieces of all threads */
    struct pf_input *input; /* valid while users > 0 */
    unsigned users;
};

struct hpc_parts {
    struct pf_source *source;
    struct pf_lock lock; /* protects input and users of all items */
    struct hpc_part *items;
    uint32_t count;
    size_t room;
};

/* ---- files ---------------------------------------------------------------------------------------------- */

void hpc_parts_free(struct hpc_parts *parts)
{
    if (!parts)
        return;
    for (uint32_t i = 0; i < parts->count; i++)
        free(parts->items[i].name);
    free(parts->items);
    pf_lock_destroy(&parts->lock);
    free(parts);
}

struct pf_input *hpc_part_use(struct hpc_parts *parts, uint32_t i, struct pf_error *error)
{
    struct hpc_part *part = &parts->items[i];
    pf_lock_take(&parts->lock);
    int failed = part->users ? 0 : pf_source_open(parts->source, part->name, PF_RAW, &part->input, error);
    if (!failed)
        part->users++;
    struct pf_input *input = failed ? NULL : part->input;
    pf_lock_drop(&parts->lock);
    return input;
}

void hpc_part_release(struct hpc_parts *parts, uint32_t i)
{
    struct pf_error ignored = {0}; /* checking the inputs reports a changed file */
    struct hpc_part *part = &parts->items[i];
    pf_lock_take(&parts->lock);
    if (!--part->users)
        pf_input_done(part->input, &ignored);
    pf_lock_drop(&parts->lock);
}

struct listing {
    struct hpc_parts *parts;
    struct pf_error *error;
    int failed;
};

static int list_entry(void *arg, const char *name, unsigned char type)
{
    static const struct {
        const char *end;
        bool traces, merged;
    } kinds[] = {
        {".metric-db", false, false}, {".mdb", false, true}, {".hpctrace", true, false}, {".mt", true, true}};
    struct listing *listing = arg;
    struct hpc_parts *parts = listing->parts;
    const char *end = strrchr(name, '.');
    size_t i = 0;
    (void)type;
    while (end && i < sizeof kinds / sizeof *kinds && strcmp(end, kinds[i].end) != 0)
        i++;
    if (!end || i == sizeof kinds / sizeof *kinds)
        return 0;
    struct hpc_part part = {.traces = kinds[i].traces, .merged = kinds[i].merged};
    listing->failed = pf_array_room(&parts->items, &parts->room, parts->count, sizeof part, listing->error);
    if (!listing->failed && !(part.name = strdup(name)))
        listing->failed = pf_fail_memory(listing->error);
    if (!listing->failed)
        parts->items[parts->count++] = part;
    return listing->failed;
}

static int by_name(const void *left, const void *right)
{
    const struct hpc_part *a = left, *b = right;
    return strcmp(a->name, b->name);
}

int hpc_parts_open(struct pf_model *model, struct pf_error *error)
{
    struct hpc_parts *parts = hpc_state(model)->parts = calloc(1, sizeof *parts);
    struct listing listing = {.parts = parts, .error = error};
    if (!parts)
        return pf_fail_memory(error);
    parts->source = model->source;
    pf_lock_init(&parts->lock, PF_RANK_DRIVER);
    if (pf_source_list(model->source, list_entry, &listing, error) || listing.failed)
        return -1;
    if (parts->count > 1)
        qsort(parts->items, parts->count, sizeof *parts->items, by_name);
    for (uint32_t i = 0; i < parts->count; i++)
        if (!parts->items[i].traces)
            return 0;
    /* Normal for this layout: writers keep values per thread only on request. */
    struct pf_cell values[] = {pf_string("Values"),
                               pf_string("summary.csv alone: there are no files of threads")};
    return pf_rows_add(model->info, values, error);
}

/* ---- pieces: one thread's data in one file ------------------------------------------------------------------ */

struct piece {
    uint32_t rank, thread; /* thread: FIRST_STREAM plus the number of a GPU's stream, if not a thread */
    uint32_t part;
    bool traces, merged;
    bool taken;           /* this trace is assigned to a piece with values */
    uint64_t start, size; /* in the file, in bytes */
    unsigned char head[VALUES_HEADER];
    size_t head_size;    /* valid bytes of head */
    struct piece *trace; /* the trace of the same thread, for a piece with values */
    const char *name;    /* distinguishes pieces of equal rank and thread */
    size_t name_size;    /* size of name in bytes; 0: no name */
};

struct pieces {
    struct hpc_parts *parts;
    struct pf_notes *notes;
    struct piece *items;
    size_t count, room, limit;
    bool cut; /* pieces beyond `limit` were dropped */
};

static int add_piece(struct pieces *pieces, const struct piece *piece, struct pf_error *error)
{
    if (pieces->count == pieces->limit) {
        pieces->cut = true;
        return 0;
    }
    if (pf_array_room(&pieces->items, &pieces->room, pieces->count, sizeof *piece, error))
        return -1;
    pieces->items[pieces->count++] = *piece;
    return 0;
}

/* Notes a damaged piece. cut: the file is truncated. */
static void note_piece(const struct pieces *pieces, const struct piece *piece, bool cut, const char *text)
{
    (void)hpc_note(pieces->notes, cut ? "fatal" : "error", "part", 0, (int64_t)piece->start, "%s: %s",
                   pieces->parts->items[piece->part].name, text);
}

/* File names are PREFIX-RANK-THREAD-HOST-PID-GENERATION.SUFFIX; the fields are counted from the end. */
static void read_name(struct piece *piece, const char *name)
{
    const char *at = strrchr(name, '.'), *thread = NULL;
    int dashes = 0;
    piece->name = name;
    piece->name_size = (size_t)(at - name); /* every listed file has a suffix */
    while (dashes < 5 && at > name) {
        dashes += *--at == '-';
        if (*at == '-' && dashes == 4)
            thread = at + 1;
    }
    if (dashes < 5)
        return;
    piece->rank = (uint32_t)strtoul(at + 1, NULL, 10);
    piece->thread = (uint32_t)strtoul(thread, NULL, 10);
}

/*
 * A file merged by hpcviewer: u32 kind, u32 number of parts, for each part u32 rank, u32 thread, u64 offset; the parts;
 * 8 trailing bytes. A part ends where the next one begins.
 */
static int read_merged(struct pieces *pieces, const struct piece *file, struct pf_input *input,
                       struct pf_error *error)
{
    enum { RECORD = 16 };
    unsigned char head[8];
    struct pf_window window = {.input = input, .room = RECORDS_ROOM};
    int failed = 0;
    uint64_t end = file->size >= 8 ? file->size - 8 : 0;
    ssize_t got = pf_input_read(input, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    uint64_t count = got == sizeof head ? pf_u32(head + 4, true) : 0;
    if (!hpc_fits(sizeof head, count, RECORD, end))
        return hpc_note(pieces->notes, "fatal", "beyond-end", 0, 4,
                        "%s: the records of its parts do not fit into the file; it is not read",
                        pieces->parts->items[file->part].name);
    for (uint64_t i = 0; i < count && !failed && !pieces->cut; i++) {
        struct piece piece = *file;
        const unsigned char *record = pf_window_at(&window, sizeof head + i * RECORD, RECORD, error);
        if (!record) {
            failed = -1;
            break;
        }
        piece.rank = pf_u32(record, true);
        piece.thread = pf_u32(record + 4, true);
        piece.start = pf_u64(record + 8, true);
        if (piece.start > end)
            piece.start = end;
        piece.size = end - piece.start;
        struct piece *last = i ? &pieces->items[pieces->count - 1] : NULL;
        uint64_t size = last && piece.start > last->start ? piece.start - last->start : 0;
        if (last && size < last->size)
            last->size = size;
        failed = add_piece(pieces, &piece, error);
    }
    pf_window_close(&window);
    return failed;
}

/* Reads the first bytes of each piece from index `first` on, all of one file. */
static int read_heads(struct pieces *pieces, size_t first, struct pf_input *input, struct pf_error *error)
{
    for (struct piece *piece = pieces->items + first; piece < pieces->items + pieces->count; piece++) {
        size_t size = piece->size < sizeof piece->head ? (size_t)piece->size : sizeof piece->head;
        ssize_t got = pf_input_read(input, piece->head, size, piece->start, error);
        if (got < 0)
            return -1;
        piece->head_size = (size_t)got;
    }
    return 0;
}

/* Adds the pieces of one file. An unreadable file is noted and skipped. */
static int read_part(struct pieces *pieces, uint32_t i, struct pf_error *error)
{
    const struct hpc_part *file = &pieces->parts->items[i];
    struct pf_input *input = hpc_part_use(pieces->parts, i, error);
    if (!input)
        return hpc_is_unreadable(error->code) ? hpc_note(pieces->notes, "error", "unreadable", 0, -1,
                                                         "%s can't be read: %s", file->name, error->what)
                                              : -1;
    struct piece piece = {
        .part = i, .traces = file->traces, .merged = file->merged, .size = pf_input_size(input)};
    if (!piece.merged)
        read_name(&piece, file->name);
    size_t first = pieces->count;
    int failed =
        (piece.merged ? read_merged(pieces, &piece, input, error) : add_piece(pieces, &piece, error)) ||
        read_heads(pieces, first, input, error);
    hpc_part_release(pieces->parts, i);
    return failed ? -1 : 0;
}

/*
 * Adds the pieces of all files of one kind. Merged files are read first; if there is one, the single files, which are
 * its sources, are skipped. Returns 0, or -1 with *error filled.
 */
static int find_pieces(struct pieces *pieces, bool traces, struct pf_error *error)
{
    const struct hpc_parts *parts = pieces->parts;
    const char *left_out = NULL;
    size_t first = pieces->count;
    pieces->limit = first + PIECES_MAX;
    pieces->cut = false;
    for (uint64_t n = 0; n < 2 * (uint64_t)parts->count && !pieces->cut; n++) {
        bool merged = n < parts->count;
        uint32_t i = (uint32_t)(merged ? n : n - parts->count);
        const struct hpc_part *part = &parts->items[i];
        if (part->traces != traces || part->merged != merged)
            continue;
        if (i % FILES_A_STEP == 0 && pf_pass_step(i, parts->count, error))
            return -1;
        if (!merged && pieces->count > first && pieces->items[first].merged)
            left_out = left_out ? left_out : part->name;
        else if (read_part(pieces, i, error))
            return -1;
        if (pieces->cut && hpc_note(pieces->notes, "fatal", "part", 0, -1,
                                    "%s: more than %d threads: the rest is left out", part->name, PIECES_MAX))
            return -1;
    }
    return left_out ? hpc_note(pieces->notes, "warning", "part", 0, -1,
                               "%s: so that nothing counts twice, it and others like it are left out: a file "
                               "that was made of all of them is there too",
                               left_out)
                    : 0;
}

/* ---- assigning traces to threads -------------------------------------------------------------------------- */

/*
 * Independent processes all have rank 0 and thread 0; the rest of their files' names distinguishes them. Pieces of
 * merged files have no names; their order distinguishes them.
 */
static int compare_keys(const struct piece *a, const struct piece *b)
{
    if (a->rank != b->rank || a->thread != b->thread)
        return a->rank < b->rank || (a->rank == b->rank && a->thread < b->thread) ? -1 : 1;
    size_t least = a->name_size < b->name_size ? a->name_size : b->name_size;
    int order = least ? memcmp(a->name, b->name, least) : 0;
    return order ? order : (a->name_size > b->name_size) - (a->name_size < b->name_size);
}

/* For qsort: by key; among equal keys in the order of discovery, in which values precede traces. */
static int by_key(const void *left, const void *right)
{
    const struct piece *const *x = left, *const *y = right, *a = *x, *b = *y;
    int order = compare_keys(a, b);
    return order ? order : (a > b) - (a < b);
}

/*
 * Assigns traces to values: among pieces of equal key, the n-th trace belongs to the n-th values. Returns 0, or -1 with
 * *error filled.
 */
static int pair_up(struct pieces *pieces, struct pf_error *error)
{
    struct piece **sorted = malloc((pieces->count + 1) * sizeof *sorted);
    bool named = true;
    if (!sorted)
        return pf_fail_memory(error);
    for (size_t i = 0; i < pieces->count; i++) {
        sorted[i] = &pieces->items[i];
        named = named && !sorted[i]->merged;
    }
    for (size_t i = 0; i < pieces->count && !named; i++)
        sorted[i]->name_size = 0;
    qsort(sorted, pieces->count, sizeof *sorted, by_key);
    /* values: index of the first piece of the current key that may be values without a trace */
    for (size_t i = 0, values = 0; i < pieces->count; i++) {
        if (compare_keys(sorted[values], sorted[i]) != 0)
            values = i;
        if (sorted[i]->traces && !sorted[values]->traces) {
            sorted[values++]->trace = sorted[i];
            sorted[i]->taken = true;
        }
    }
    free(sorted);
    return 0;
}

/* ---- threads -------------------------------------------------------------------------------------------- */

/* Reads the header of a table of values. */
static void take_values(const struct pieces *pieces, const struct piece *piece, struct hpc_thread *thread)
{
    const unsigned char *bytes = piece->head;
    if (piece->head_size < VALUES_HEADER || memcmp(bytes, "HPCPROF-metricdb__", MAGIC) != 0 ||
        bytes[MAGIC + 5] != 'b') {
        note_piece(pieces, piece, piece->head_size < VALUES_HEADER,
                   "no table of values begins here; it is left out");
        return;
    }
    uint64_t rows = pf_u32(bytes + HEADER, true), columns = pf_u32(bytes + HEADER + 4, true);
    uint64_t fit = columns ? (piece->size - VALUES_HEADER) / (8 * columns) : 0;
    thread->block.values = piece->start + VALUES_HEADER;
    thread->block.n_contexts = (uint32_t)(rows < fit ? rows : fit);
    thread->block.n_values = (uint64_t)thread->block.n_contexts * columns;
    thread->columns = (uint32_t)columns;
    thread->part = piece->part;
    if (rows > fit && columns)
        note_piece(pieces, piece, true, "the table of values is cut off; its first rows are kept");
}

/* Reads the header of a trace. */
static void take_trace(const struct pieces *pieces, const struct piece *piece, struct hpc_thread *thread)
{
    const unsigned char *bytes = piece->head;
    if (piece->head_size < HEADER || memcmp(bytes, "HPCRUN-trace______", MAGIC) != 0 ||
        bytes[MAGIC + 5] != 'b') {
        note_piece(pieces, piece, piece->head_size < HEADER, "no trace begins here; it is left out");
        return;
    }
    bool flags = memcmp(bytes + MAGIC, "01.00", 5) != 0;
    size_t header = flags ? HEADER + 8 : HEADER;
    if (piece->head_size < header) {
        note_piece(pieces, piece, true, "the trace is cut off");
        return;
    }
    thread->data_centric = flags && pf_u64(bytes + HEADER, true) & 1;
    thread->trace = piece->start + header;
    size_t sample = thread->data_centric ? HPC_SAMPLE_DATA : HPC_SAMPLE;
    thread->samples = (piece->size - header) / sample;
    thread->trace_part = piece->part;
    if ((piece->size - header) % sample)
        note_piece(pieces, piece, true, "the trace ends inside of a sample");
}

/* Adds the thread of a piece of values and its trace, or of a trace without values. */
static int add_thread(struct hpc_state *state, const struct pieces *pieces, const struct piece *piece,
                      struct pf_error *error)
{
    bool stream = piece->thread >= FIRST_STREAM;
    const struct piece *trace = piece->traces ? piece : piece->trace;
    struct hpc_thread thread = {.profile = state->threads.count};
    struct hpc_identity rank = {.kind = HPC_RANK, .logical = piece->rank};
    struct hpc_identity inner = {.kind = stream ? HPC_STREAM : HPC_THREAD,
                                 .logical = stream ? piece->thread - FIRST_STREAM : piece->thread};
    if (!piece->traces)
        take_values(pieces, piece, &thread);
    if (trace)
        take_trace(pieces, trace, &thread);
    return hpc_add_thread(&state->threads, &thread, error) ||
                   hpc_add_identity(&state->threads, &rank, error) ||
                   hpc_add_identity(&state->threads, &inner, error)
               ? -1
               : 0;
}

/* Threads with values come first, in the order of their files, followed by threads with only a trace. */
int hpc_parts_load(struct pf_model *model, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    struct pieces pieces = {.parts = state->parts, .notes = notes};
    int failed =
        find_pieces(&pieces, false, error) || find_pieces(&pieces, true, error) || pair_up(&pieces, error);
    for (size_t i = 0; i < pieces.count && !failed; i++)
        failed = !pieces.items[i].taken && add_thread(state, &pieces, &pieces.items[i], error);
    failed = failed || hpc_publish_threads(model, error);
    free(pieces.items);
    if (failed)
        hpc_threads_free(&state->threads);
    return failed ? -1 : 0;
}
