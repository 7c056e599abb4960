/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"

/* Numbers of threads from here on are streams of a GPU. */
enum { FIRST_STREAM = 500 };

/* Headers, in bytes: magic[18], version[5], `b`, then of values u32 rows and u32 columns, of a trace from version 01.01 on
 * u64 flags. */
enum { HEADER = 24, VALUES_HEADER = 32, MAGIC = 18 };

enum { FILES_A_STEP = 256 };

struct hpc_part {
    char *name;
    struct pf_input *input; /* while users > 0 */
    unsigned users;
};

/* What one thread has in one file: of values, or a trace. */
struct piece {
    uint32_t rank, thread; /* the latter also says which stream of a GPU */
    uint32_t part;
    bool merged;          /* the file holds those of all threads */
    uint64_t start, size; /* in the file */
};

struct pieces {
    struct piece *items;
    size_t count, room;
};

struct hpc_parts {
    struct pf_source *source;
    pthread_mutex_t lock; /* guards input and users of the files */
    struct hpc_part *items;
    uint32_t count;
    size_t room;
};

/* ---- files ---------------------------------------------------------------------------------------------- */

static struct hpc_parts *parts_new(struct pf_source *source)
{
    struct hpc_parts *parts = calloc(1, sizeof *parts);
    if (parts) {
        parts->source = source;
        pthread_mutex_init(&parts->lock, NULL);
    }
    return parts;
}

void hpc_parts_free(struct hpc_parts *parts)
{
    if (!parts)
        return;
    for (uint32_t i = 0; i < parts->count; i++)
        free(parts->items[i].name);
    free(parts->items);
    pthread_mutex_destroy(&parts->lock);
    free(parts);
}

static int add_part(struct hpc_parts *parts, const char *name, struct pf_error *error)
{
    if (pf_array_room(&parts->items, &parts->room, parts->count, sizeof *parts->items, error))
        return -1;
    struct hpc_part part = {.name = strdup(name)};
    if (!part.name)
        return pf_fail_memory(error);
    parts->items[parts->count++] = part;
    return 0;
}

struct hpc_part *hpc_part_use(struct hpc_parts *parts, uint32_t i, struct pf_input **input,
                              struct pf_error *error)
{
    struct hpc_part *part = &parts->items[i];
    pthread_mutex_lock(&parts->lock);
    int failed = part->users ? 0 : pf_source_open(parts->source, part->name, &part->input, error);
    if (!failed)
        part->users++;
    *input = part->input;
    pthread_mutex_unlock(&parts->lock);
    return failed ? NULL : part;
}

void hpc_part_release(struct hpc_parts *parts, struct hpc_part *part)
{
    struct pf_error ignored = {0}; /* a change is found when the inputs are checked */
    pthread_mutex_lock(&parts->lock);
    if (!--part->users) {
        pf_input_done(part->input, &ignored);
        part->input = NULL;
    }
    pthread_mutex_unlock(&parts->lock);
}

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);
    return size >= tail && !strcmp(name + size - tail, end);
}

static bool is_values(const char *name)
{
    return ends_with(name, ".metric-db") || ends_with(name, ".mdb");
}

static bool is_trace(const char *name)
{
    return ends_with(name, ".hpctrace") || ends_with(name, ".mt");
}

struct listing {
    struct hpc_parts *parts;
    struct pf_error *error;
    int failed;
};

static int list_entry(void *arg, const char *name, unsigned char type)
{
    struct listing *listing = arg;
    (void)type;
    if (is_values(name) || is_trace(name))
        listing->failed = add_part(listing->parts, name, listing->error);
    return listing->failed;
}

static int by_name(const void *left, const void *right)
{
    const struct hpc_part *a = left, *b = right;
    return strcmp(a->name, b->name);
}

int hpc_parts_open(struct pf_profile *profile, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct listing listing = {.parts = state->parts = parts_new(profile->source), .error = error};
    if (!listing.parts)
        return pf_fail_memory(error);
    if (pf_source_list(profile->source, list_entry, &listing, error) || listing.failed)
        return -1;
    if (listing.parts->count > 1)
        qsort(listing.parts->items, listing.parts->count, sizeof *listing.parts->items, by_name);
    return 0;
}

bool hpc_parts_have_values(const struct hpc_parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++)
        if (is_values(parts->items[i].name))
            return true;
    return false;
}

/* ---- pieces --------------------------------------------------------------------------------------------- */

static int add_piece(struct pieces *pieces, const struct piece *piece, struct pf_error *error)
{
    if (pf_array_room(&pieces->items, &pieces->room, pieces->count, sizeof *pieces->items, error))
        return -1;
    pieces->items[pieces->count++] = *piece;
    return 0;
}

/* PREFIX-RANK-THREAD-HOST-PID-GENERATION.SUFFIX: the numbers, counted from the end. */
static void read_name(const char *name, struct piece *piece)
{
    const char *dashes[5] = {0}; /* the last five, the latest first */
    for (const char *at = name; *at; at++)
        if (*at == '-' && !ends_with("metric-db", at)) {
            memmove(dashes + 1, dashes, sizeof dashes - sizeof *dashes);
            dashes[0] = at;
        }
    if (!dashes[4])
        return;
    piece->rank = (uint32_t)strtoul(dashes[4] + 1, NULL, 10);
    piece->thread = (uint32_t)strtoul(dashes[3] + 1, NULL, 10);
}

/*
 * hpcviewer's file of all files: u32 kind, u32 number of parts, for each u32 rank, u32 thread, u64 offset; the parts; 8
 * bytes more. A part ends where the next begins.
 */
static int read_merged(struct hpc_parts *parts, uint32_t part, struct pf_input *input, struct pieces *pieces,
                       struct pf_notes *notes, struct pf_error *error)
{
    unsigned char head[8], record[16];
    uint64_t size = pf_input_size(input), end = size >= 8 ? size - 8 : 0;
    ssize_t got = pf_input_read(input, head, sizeof head, 0, error);
    if (got < 0)
        return -1;
    uint64_t count = got == sizeof head ? pf_u32(head + 4, true) : 0;
    if (!hpc_fits(sizeof head, count, sizeof record, end))
        return hpc_note(notes, HPC_NOTE_FATAL_BEYOND_END, 0, 4,
                        "%s: the records of its parts do not fit into the file; it is not read",
                        parts->items[part].name);
    size_t first = pieces->count;
    for (uint64_t i = 0; i < count; i++) {
        if (pf_input_read(input, record, sizeof record, sizeof head + i * sizeof record, error) <
            (ssize_t)sizeof record)
            return -1;
        struct piece piece = {.rank = pf_u32(record, true),
                              .thread = pf_u32(record + 4, true),
                              .part = part,
                              .merged = true,
                              .start = pf_u64(record + 8, true)};
        if (pieces->count > first) {
            struct piece *last = &pieces->items[pieces->count - 1];
            last->size = piece.start > last->start ? piece.start - last->start : 0;
        }
        if (piece.start > end)
            piece.start = end;
        if (add_piece(pieces, &piece, error))
            return -1;
    }
    for (size_t i = first; i < pieces->count; i++) {
        struct piece *piece = &pieces->items[i];
        if (i + 1 == pieces->count || piece->size > end - piece->start)
            piece->size = end - piece->start;
    }
    return 0;
}

static bool is_merged(const char *name)
{
    return ends_with(name, ".mdb") || ends_with(name, ".mt");
}

/* What one file holds. One that can't be read is left out. */
static int read_part(struct hpc_parts *parts, uint32_t i, struct pieces *pieces, struct pf_notes *notes,
                     struct pf_error *error)
{
    const char *name = parts->items[i].name;
    struct pf_input *input;
    struct hpc_part *part = hpc_part_use(parts, i, &input, error);
    if (!part)
        return hpc_is_unreadable(error->code) ? hpc_note(notes, HPC_NOTE_ERROR_UNREADABLE, 0, -1,
                                                         "%s can't be read: %s", name, error->what)
                                              : -1;
    struct piece piece = {.part = i, .size = pf_input_size(input)};
    read_name(name, &piece);
    int failed = is_merged(name) ? read_merged(parts, i, input, pieces, notes, error)
                                 : add_piece(pieces, &piece, error);
    hpc_part_release(parts, part);
    return failed;
}

/*
 * What the files of a kind hold, thread by thread: first the merged ones, which take the place of those that they were made of.
 * 0, or -1 with *error filled.
 */
static int find_pieces(struct hpc_parts *parts, bool traces, struct pieces *pieces, struct pf_notes *notes,
                       struct pf_pass *pass, struct pf_error *error)
{
    const char *left_out = NULL;
    for (uint64_t n = 0; n < 2 * (uint64_t)parts->count; n++) {
        bool merged = n < parts->count;
        uint32_t i = (uint32_t)(merged ? n : n - parts->count);
        const char *name = parts->items[i].name;
        if (!(traces ? is_trace(name) : is_values(name)) || is_merged(name) != merged)
            continue;
        if (i % FILES_A_STEP == 0 && pf_pass_step(pass, i, parts->count, error))
            return -1;
        if (!merged && pieces->count && pieces->items[0].merged)
            left_out = left_out ? left_out : name;
        else if (read_part(parts, i, pieces, notes, error))
            return -1;
    }
    return left_out ? hpc_note(notes, HPC_NOTE_WARNING_PART, 0, -1,
                               "%s: so that nothing counts twice, it and others like it are left out: a file "
                               "that was made of all of them is there too",
                               left_out)
                    : 0;
}

/* The first bytes of a piece, at most `size`; how many, or -1 with *error filled. */
static ssize_t read_header(struct hpc_parts *parts, const struct piece *piece, unsigned char *bytes,
                           size_t size, struct pf_error *error)
{
    struct pf_input *input;
    struct hpc_part *part = hpc_part_use(parts, piece->part, &input, error);
    if (!part)
        return -1;
    if (size > piece->size)
        size = (size_t)piece->size;
    ssize_t got = pf_input_read(input, bytes, size, piece->start, error);
    hpc_part_release(parts, part);
    return got;
}

/* cut: the file ends inside of something. */
static int note_piece(struct hpc_parts *parts, const struct piece *piece, bool cut, const char *text,
                      struct pf_notes *notes)
{
    return hpc_note(notes, cut ? HPC_NOTE_FATAL_PART : HPC_NOTE_ERROR_PART, 0, (int64_t)piece->start,
                    "%s: %s", parts->items[piece->part].name, text);
}

/* ---- threads -------------------------------------------------------------------------------------------- */

static int read_values(struct hpc_state *state, const struct piece *piece, struct hpc_thread *thread,
                       struct pf_notes *notes, struct pf_error *error)
{
    unsigned char bytes[VALUES_HEADER];
    ssize_t got = read_header(state->parts, piece, bytes, sizeof bytes, error);
    if (got < 0)
        return -1;
    if (got < VALUES_HEADER || memcmp(bytes, "HPCPROF-metricdb__", MAGIC) != 0 || bytes[MAGIC + 5] != 'b')
        return note_piece(state->parts, piece, got < VALUES_HEADER,
                          "no table of values begins here; it is left out", notes);
    uint64_t rows = pf_u32(bytes + HEADER, true), columns = pf_u32(bytes + HEADER + 4, true);
    uint64_t fit = columns ? (piece->size - VALUES_HEADER) / (8 * columns) : 0;
    thread->block.values = piece->start + VALUES_HEADER;
    thread->block.n_contexts = (uint32_t)(rows < fit ? rows : fit);
    thread->block.n_values = (uint64_t)thread->block.n_contexts * columns;
    thread->columns = (uint32_t)columns;
    thread->part = piece->part;
    return rows <= fit || !columns
               ? 0
               : note_piece(state->parts, piece, true,
                            "the table of values is cut off; its first rows are kept", notes);
}

static int read_trace(struct hpc_state *state, const struct piece *piece, struct hpc_thread *thread,
                      struct pf_notes *notes, struct pf_error *error)
{
    unsigned char bytes[HEADER + 8];
    ssize_t got = read_header(state->parts, piece, bytes, sizeof bytes, error);
    if (got < 0)
        return -1;
    if (got < HEADER || memcmp(bytes, "HPCRUN-trace______", MAGIC) != 0 || bytes[MAGIC + 5] != 'b')
        return note_piece(state->parts, piece, got < HEADER, "no trace begins here; it is left out", notes);
    bool flags = memcmp(bytes + MAGIC, "01.00", 5) != 0;
    size_t header = flags ? HEADER + 8 : HEADER;
    if ((size_t)got < header)
        return note_piece(state->parts, piece, true, "the trace is cut off", notes);
    thread->data_centric = flags && pf_u64(bytes + HEADER, true) & 1;
    thread->trace = piece->start + header;
    size_t sample = thread->data_centric ? HPC_SAMPLE_DATA : HPC_SAMPLE;
    thread->samples = (piece->size - header) / sample;
    thread->trace_part = piece->part;
    return (piece->size - header) % sample
               ? note_piece(state->parts, piece, true, "the trace ends inside of a sample", notes)
               : 0;
}

static int add_identity(struct hpc_identities *identities, uint32_t profile, const struct piece *piece,
                        struct pf_error *error)
{
    bool stream = piece->thread >= FIRST_STREAM;
    struct hpc_identity rank = {.kind = HPC_RANK, .logical = piece->rank};
    struct hpc_identity thread = {.kind = stream ? HPC_STREAM : HPC_THREAD,
                                  .logical = stream ? piece->thread - FIRST_STREAM : piece->thread};
    return hpc_identities_add(identities, profile, error) ||
                   hpc_identities_element(identities, &rank, error) ||
                   hpc_identities_element(identities, &thread, error)
               ? -1
               : 0;
}

/* ---- whose trace it is ---------------------------------------------------------------------------------- */

/*
 * Processes that do not know of each other all have rank 0 and thread 0: what else stands in the names of their files tells
 * them apart. Pieces of merged files have no names; theirs is empty here.
 */
static struct pf_cell stem_of(const struct hpc_parts *parts, const struct piece *piece)
{
    const char *name = parts->items[piece->part].name, *dot = strrchr(name, '.');
    return piece->merged ? pf_text("", 0) : pf_text(name, (size_t)(dot - name)); /* they all have an ending */
}

static int compare_stems(struct pf_cell a, struct pf_cell b)
{
    int order = memcmp(a.text, b.text, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_threads(const struct piece *a, const struct piece *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* For qsort_r: by thread, then by name, then as they were found. */
static int by_thread(const void *left, const void *right, void *arg)
{
    const struct piece *const *x = left, *const *y = right, *a = *x, *b = *y;
    int order = compare_threads(a, b);
    if (!order)
        order = compare_stems(stem_of(arg, a), stem_of(arg, b));
    return order ? order : (a > b) - (a < b);
}

/* Pointers to the pieces in that order, to be freed; NULL with *error filled. */
static const struct piece **sorted(struct hpc_parts *parts, const struct pieces *pieces,
                                   struct pf_error *error)
{
    const struct piece **list = malloc((pieces->count + 1) * sizeof *list);
    if (!list) {
        pf_fail_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < pieces->count; i++)
        list[i] = &pieces->items[i];
    qsort_r(list, pieces->count, sizeof *list, by_thread, parts);
    return list;
}

/*
 * Goes through both lists side by side: of[i] becomes the trace of the thread whose values are piece i, own[j] tells whether
 * trace j is of none of them.
 */
static void pair(struct hpc_parts *parts, const struct pieces *values, const struct piece **v,
                 const struct pieces *traces, const struct piece **t, const struct piece **of, bool *own)
{
    size_t i = 0, j = 0;
    while (j < traces->count) {
        int order = i < values->count ? compare_threads(v[i], t[j]) : 1;
        if (!order && !v[i]->merged && !t[j]->merged)
            order = compare_stems(stem_of(parts, v[i]), stem_of(parts, t[j]));
        if (!order)
            of[v[i] - values->items] = t[j];
        own[t[j] - traces->items] = order > 0;
        i += order <= 0;
        j += order >= 0;
    }
}

/* of[] and own[] as above, to be freed. 0, or -1 with *error filled. */
static int pair_up(struct hpc_parts *parts, const struct pieces *values, const struct pieces *traces,
                   const struct piece ***of, bool **own, struct pf_error *error)
{
    const struct piece **v = sorted(parts, values, error), **t = sorted(parts, traces, error);
    *of = calloc(values->count + 1, sizeof **of);
    *own = calloc(traces->count + 1, sizeof **own);
    int failed = v && t && *of && *own ? 0 : pf_fail_memory(error);
    if (!failed)
        pair(parts, values, v, traces, t, *of, *own);
    free(v);
    free(t);
    return failed;
}

/* A thread that goes by the name of one of its pieces. */
static int add_thread(struct hpc_state *state, const struct piece *named, const struct piece *values,
                      const struct piece *trace, struct hpc_identities *identities, struct pf_notes *notes,
                      struct pf_error *error)
{
    struct hpc_threads *threads = &state->threads;
    struct hpc_thread *thread = &threads->items[threads->count];
    thread->profile = threads->count++;
    if ((values && read_values(state, values, thread, notes, error)) ||
        (trace && read_trace(state, trace, thread, notes, error)))
        return -1;
    return add_identity(identities, thread->profile, named, error);
}

/* Threads are those that have values, in the order of their files; behind them those that have a trace alone. */
static int make_threads(struct hpc_state *state, const struct pieces *values, const struct pieces *traces,
                        struct hpc_identities *identities, struct pf_notes *notes, struct pf_error *error)
{
    const struct piece **of = NULL;
    bool *own = NULL;
    state->threads.items = calloc(values->count + traces->count + 1, sizeof *state->threads.items);
    int failed = !state->threads.items || values->count + traces->count > UINT32_MAX
                     ? pf_fail_memory(error)
                     : pair_up(state->parts, values, traces, &of, &own, error);
    for (size_t i = 0; i < values->count && !failed; i++)
        failed = add_thread(state, &values->items[i], &values->items[i], of[i], identities, notes, error);
    for (size_t j = 0; j < traces->count && !failed; j++)
        failed = own && own[j] &&
                 add_thread(state, &traces->items[j], NULL, &traces->items[j], identities, notes, error);
    free(of);
    free(own);
    return failed ? -1 : 0;
}

int hpc_parts_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                   struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct hpc_identities identities = {0};
    struct pieces values = {0}, traces = {0};
    int failed = find_pieces(state->parts, false, &values, notes, pass, error) ||
                 find_pieces(state->parts, true, &traces, notes, pass, error);
    failed = failed || make_threads(state, &values, &traces, &identities, notes, error) ||
             hpc_publish_threads(profile, &identities, error);
    free(values.items);
    free(traces.items);
    hpc_identities_free(&identities);
    if (failed)
        hpc_threads_free(&state->threads);
    return failed ? -1 : 0;
}
