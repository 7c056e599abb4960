/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"
#include "formats/kit/number.h"

/* Thread numbers from this one on denote streams of a GPU. */
enum { FIRST_STREAM = 500 };

/*
 * A file begins with magic[18], version[5] and `b`, which are HEADER bytes. In a file of values, u32 number of rows and
 * u32 number of columns follow, and the values begin at VALUES_HEADER. In a trace, u64 flags follow since version 01.01.
 */
enum { HEADER = 24, VALUES_HEADER = 32, MAGIC = 18 };

enum { FILES_A_STEP = 256 };

/* Maximum number of pieces (struct parts_piece) of values, and of traces. A merged file may declare up to 2^32. */
enum { PIECES_MAX = 1 << 20 };

/* Bytes of a merged file's records that are read at once. */
enum { RECORDS_ROOM = 64 * 1024 };

struct hpc_part {
    char *name;
    bool traces; /* the file is a trace; otherwise, it has values */
    bool merged; /* holds the pieces of all threads */
};

struct hpc_parts {
    struct pf_source *source;
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
    free(parts);
}

struct pf_input *hpc_part_use(const struct hpc_parts *parts, uint32_t i, struct pf_error *error)
{
    struct pf_input *input;
    (void)pf_source_open(parts->source, parts->items[i].name, PF_COUNTED, &input, error);
    return input;
}

void hpc_part_release(struct pf_input *input)
{
    struct pf_error ignored; /* the check of the profile's inputs reports a changed file */
    pf_input_done(input, &ignored);
}

struct parts_listing {
    struct hpc_parts *parts;
    struct pf_error *error;
    int failed;
};

static int list_part(void *arg, const char *name, unsigned char type)
{
    static const struct {
        const char *end;
        bool traces, merged;
    } kinds[] = {
        {".metric-db", false, false}, {".mdb", false, true}, {".hpctrace", true, false}, {".mt", true, true}};
    struct parts_listing *listing = arg;
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

static int by_part_name(const void *left, const void *right)
{
    const struct hpc_part *a = left, *b = right;
    return strcmp(a->name, b->name);
}

void hpc_parts_open(struct pf_run *run)
{
    struct hpc_parts *parts = hpc_state(run->model)->parts = pf_run_memory(run, calloc(1, sizeof *parts));
    struct parts_listing listing = {.parts = parts, .error = run->error};
    parts->source = run->model->source;
    pf_run_check(run, pf_source_list(parts->source, list_part, &listing, run->error));
    pf_run_check(run, listing.failed);
    if (parts->count > 1)
        qsort(parts->items, parts->count, sizeof *parts->items, by_part_name);
    for (uint32_t i = 0; i < parts->count; i++)
        if (!parts->items[i].traces)
            return;
    /* Profiles without values per thread are normal, because writers keep such values only on request. */
    struct pf_cell values[] = {pf_string("Values"),
                               pf_string("summary.csv alone: there are no files of threads")};
    pf_run_check(run, pf_rows_add(run->model->info, values, run->error));
}

/* ---- pieces: one thread's data in one file ------------------------------------------------------------------ */

struct parts_piece {
    uint32_t rank, thread; /* thread: a thread's number, or FIRST_STREAM plus a GPU stream's number */
    uint32_t part;
    bool traces, merged;
    bool taken;           /* the piece is a trace, and is some other piece's `trace` */
    uint64_t start, size; /* in the file, in bytes */
    unsigned char head[VALUES_HEADER];
    size_t head_size;          /* valid bytes of head */
    struct parts_piece *trace; /* of a piece with values: the trace of the same thread, or NULL */
    const char *name; /* the file's name without suffix; distinguishes pieces of equal rank and thread */
    size_t name_size; /* size of name in bytes; 0: no name */
};

struct pieces {
    struct pf_run *run;
    const struct hpc_parts *parts;
    PF_LIST(struct parts_piece) list;
    PF_LIST(struct parts_piece *) sorted;
    size_t limit;
    bool cut; /* pieces beyond `limit` were dropped */
    struct pf_window window;
};

static void add_piece(struct pieces *pieces, const struct parts_piece *piece)
{
    if (pieces->list.n == pieces->limit)
        pieces->cut = true;
    else
        *PF_PUSH(pieces->run, pieces->list) = *piece;
}

/* Warns of a damaged piece. `cut`: the file is truncated. */
static void note_piece(const struct pieces *pieces, const struct parts_piece *piece, bool cut,
                       const char *text)
{
    pf_run_warn(pieces->run, cut ? "fatal" : "error", "part", 0, piece->start, "%s: %s",
                pieces->parts->items[piece->part].name, text);
}

/* Parses a file name: PREFIX-RANK-THREAD-HOST-PID-GENERATION.SUFFIX. Counts dashes from the end, since PREFIX may contain some. */
static void read_part_name(struct parts_piece *piece, const char *name)
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
    struct pf_slice rank = {at + 1, name + piece->name_size}, inner = {thread, name + piece->name_size};
    uint64_t number;
    (void)pf_take_number(&rank, &number);
    piece->rank = (uint32_t)number;
    (void)pf_take_number(&inner, &number);
    piece->thread = (uint32_t)number;
}

/*
 * Adds the pieces of a file that hpcviewer merged. The file begins with u32 kind, u32 number of pieces and a record for
 * each piece: u32 rank, u32 thread, u64 offset. The pieces follow, then 8 bytes. A piece ends where the next begins.
 */
static void read_merged(struct pieces *pieces, const struct parts_piece *file, struct pf_input *input)
{
    enum { RECORD = 16 };
    struct pf_run *run = pieces->run;
    unsigned char head[8];
    uint64_t end = file->size >= 8 ? file->size - 8 : 0;
    uint64_t count =
        pf_run_read(run, input, head, sizeof head, 0) == sizeof head ? pf_u32(head + 4, true) : 0;
    if (!hpc_fits(sizeof head, count, RECORD, end)) {
        pf_run_warn(run, "fatal", "beyond-end", 0, 4,
                    "%s: the table of its parts exceeds the file: file skipped",
                    pieces->parts->items[file->part].name);
        return;
    }
    pf_window_close(&pieces->window);
    pieces->window = (struct pf_window){.input = input, .room = RECORDS_ROOM};
    for (uint64_t i = 0; i < count && !pieces->cut; i++) {
        struct parts_piece piece = *file;
        const unsigned char *record = hpc_window_at(run, &pieces->window, sizeof head + i * RECORD, RECORD);
        piece.rank = pf_u32(record, true);
        piece.thread = pf_u32(record + 4, true);
        piece.start = pf_u64(record + 8, true);
        if (piece.start > end)
            piece.start = end;
        piece.size = end - piece.start;
        struct parts_piece *last = i ? &pieces->list.at[pieces->list.n - 1] : NULL;
        uint64_t size = last && piece.start > last->start ? piece.start - last->start : 0;
        if (last && size < last->size)
            last->size = size;
        add_piece(pieces, &piece);
    }
}

/* Adds the pieces of one file. An unreadable file is skipped with a warning. */
static void read_part_pieces(struct pieces *pieces, uint32_t i)
{
    struct pf_run *run = pieces->run;
    const struct hpc_part *file = &pieces->parts->items[i];
    struct pf_input *input = hpc_part_use(pieces->parts, i, run->error);
    if (!input && hpc_is_unreadable(run->error->code)) {
        pf_run_warn(run, "error", "unreadable", 0, -1, "%s: cannot be read: %s: file skipped", file->name,
                    run->error->what);
        return;
    }
    pf_run_check(run, input ? 0 : -1);
    PF_OWN(run, input, hpc_part_release);
    struct parts_piece piece = {
        .part = i, .traces = file->traces, .merged = file->merged, .size = pf_input_size(input)};
    size_t first = pieces->list.n;
    if (piece.merged) {
        read_merged(pieces, &piece, input);
    } else {
        read_part_name(&piece, file->name);
        add_piece(pieces, &piece);
    }
    for (struct parts_piece *at = pieces->list.at + first; at < pieces->list.at + pieces->list.n; at++)
        at->head_size = pf_run_read(
            run, input, at->head, at->size < sizeof at->head ? (size_t)at->size : sizeof at->head, at->start);
    hpc_part_release(pf_disown(run, input));
}

/*
 * Adds the pieces of all files of one kind. Reads merged files first. If they have pieces, skips the single files,
 * which have the same data.
 */
static void find_pieces(struct pieces *pieces, bool traces)
{
    struct pf_run *run = pieces->run;
    const struct hpc_parts *parts = pieces->parts;
    const char *left_out = NULL;
    size_t first = pieces->list.n;
    pieces->limit = first + PIECES_MAX;
    pieces->cut = false;
    for (uint64_t n = 0; n < 2 * (uint64_t)parts->count && !pieces->cut; n++) {
        bool merged = n < parts->count;
        uint32_t i = (uint32_t)(merged ? n : n - parts->count);
        const struct hpc_part *part = &parts->items[i];
        if (part->traces != traces || part->merged != merged)
            continue;
        if (i % FILES_A_STEP == 0)
            pf_run_step(run, i, parts->count);
        if (!merged && pieces->list.n > first && pieces->list.at[first].merged)
            left_out = left_out ? left_out : part->name;
        else
            read_part_pieces(pieces, i);
        if (pieces->cut)
            pf_run_warn(run, "fatal", "part", 0, -1, "%s: more than %d threads: the others are skipped",
                        part->name, PIECES_MAX);
    }
    if (left_out)
        pf_run_warn(run, "warning", "part", 0, -1,
                    "%s: skipped, as all files of its kind: a merged file has the same data", left_out);
}

/* ---- assigning traces to threads -------------------------------------------------------------------------- */

/*
 * Compares rank, thread and name. Independent processes all have rank 0 and thread 0, and differ only in the names of
 * their files. Pieces of merged files have no names, so several may be equal.
 */
static int compare_keys(const struct parts_piece *a, const struct parts_piece *b)
{
    if (a->rank != b->rank || a->thread != b->thread)
        return a->rank < b->rank || (a->rank == b->rank && a->thread < b->thread) ? -1 : 1;
    size_t least = a->name_size < b->name_size ? a->name_size : b->name_size;
    int order = least ? memcmp(a->name, b->name, least) : 0;
    return order ? order : (a->name_size > b->name_size) - (a->name_size < b->name_size);
}

/* For qsort: by key, then in the order of discovery, in which values precede traces. */
static int by_piece_key(const void *left, const void *right)
{
    const struct parts_piece *const *x = left, *const *y = right, *a = *x, *b = *y;
    int order = compare_keys(a, b);
    return order ? order : (a > b) - (a < b);
}

/*
 * Assigns traces to pieces with values. Among pieces of equal key, the n-th trace belongs to the n-th piece with
 * values. If any piece is from a merged file, names are ignored.
 */
static void pair_up(struct pieces *pieces)
{
    bool named = true;
    for (size_t i = 0; i < pieces->list.n; i++) {
        *PF_PUSH(pieces->run, pieces->sorted) = &pieces->list.at[i];
        named = named && !pieces->list.at[i].merged;
    }
    struct parts_piece **sorted = pieces->sorted.at;
    for (size_t i = 0; i < pieces->list.n && !named; i++)
        sorted[i]->name_size = 0;
    if (pieces->list.n)
        qsort(sorted, pieces->list.n, sizeof *sorted, by_piece_key);
    /* `values` is the index of the first piece of the current key that has no trace assigned */
    for (size_t i = 0, values = 0; i < pieces->list.n; i++) {
        if (compare_keys(sorted[values], sorted[i]) != 0)
            values = i;
        if (sorted[i]->traces && !sorted[values]->traces) {
            sorted[values++]->trace = sorted[i];
            sorted[i]->taken = true;
        }
    }
}

/* ---- threads -------------------------------------------------------------------------------------------- */

/* Reads the header of a table of values. */
static void take_values_header(const struct pieces *pieces, const struct parts_piece *piece,
                               struct hpc_thread *thread)
{
    const unsigned char *bytes = piece->head;
    if (piece->head_size < VALUES_HEADER || memcmp(bytes, "HPCPROF-metricdb__", MAGIC) != 0 ||
        bytes[MAGIC + 5] != 'b') {
        note_piece(pieces, piece, piece->head_size < VALUES_HEADER,
                   "bad header of a table of values: skipped");
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
        note_piece(pieces, piece, true, "truncated table of values: its first rows are kept");
}

/* Reads the header of a trace. */
static void take_trace_header(const struct pieces *pieces, const struct parts_piece *piece,
                              struct hpc_thread *thread)
{
    const unsigned char *bytes = piece->head;
    if (piece->head_size < HEADER || memcmp(bytes, "HPCRUN-trace______", MAGIC) != 0 ||
        bytes[MAGIC + 5] != 'b') {
        note_piece(pieces, piece, piece->head_size < HEADER, "bad header of a trace: skipped");
        return;
    }
    bool flags = memcmp(bytes + MAGIC, "01.00", 5) != 0;
    size_t header = flags ? HEADER + 8 : HEADER;
    if (piece->head_size < header) {
        note_piece(pieces, piece, true, "truncated header of a trace: skipped");
        return;
    }
    thread->data_centric = flags && pf_u64(bytes + HEADER, true) & 1;
    thread->trace = piece->start + header;
    size_t sample = thread->data_centric ? HPC_SAMPLE_DATA : HPC_SAMPLE;
    thread->samples = (piece->size - header) / sample;
    thread->trace_part = piece->part;
    if ((piece->size - header) % sample)
        note_piece(pieces, piece, true, "truncated trace: its complete samples are kept");
}

/* Adds the thread of a piece with values, or of a trace that is assigned to no such piece. */
static void add_thread_of_piece(const struct pieces *pieces, const struct parts_piece *piece)
{
    struct pf_run *run = pieces->run;
    bool stream = piece->thread >= FIRST_STREAM;
    const struct parts_piece *trace = piece->traces ? piece : piece->trace;
    struct hpc_thread thread = {.profile = hpc_state(run->model)->threads.count};
    struct hpc_identity rank = {.kind = HPC_RANK, .logical = piece->rank};
    struct hpc_identity inner = {.kind = stream ? HPC_STREAM : HPC_THREAD,
                                 .logical = stream ? piece->thread - FIRST_STREAM : piece->thread};
    if (!piece->traces)
        take_values_header(pieces, piece, &thread);
    if (trace)
        take_trace_header(pieces, trace, &thread);
    hpc_add_thread(run, &thread);
    hpc_add_identity(run, &rank);
    hpc_add_identity(run, &inner);
}

static void free_thread_pieces(struct pieces *pieces)
{
    pf_window_close(&pieces->window);
    free(pieces);
}

/* Threads with values come first, in the order of their files, followed by threads with only a trace. */
void hpc_parts_load(struct pf_run *run)
{
    struct pieces *pieces = PF_OWN(run, calloc(1, sizeof *pieces), free_thread_pieces);
    pieces->run = run;
    pieces->parts = hpc_state(run->model)->parts;
    find_pieces(pieces, false);
    find_pieces(pieces, true);
    pair_up(pieces);
    for (size_t i = 0; i < pieces->list.n; i++)
        if (!pieces->list.at[i].taken)
            add_thread_of_piece(pieces, &pieces->list.at[i]);
}
