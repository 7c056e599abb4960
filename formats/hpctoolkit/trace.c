/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "formats/hpctoolkit/bytes.h"
#include "formats/hpctoolkit/parts.h"
#include "formats/hpctoolkit/profiles.h"
#include "formats/kit/position.h"

/* ---- finding them ------------------------------------------------------------------------------------- */

enum { TRACES_A_STEP = 8192 };

#define MAGIC_XML4 "HPCPROF-tracedb_"
#define MAGIC_META "HPCTOOLKITtrce"

/* A trace's record: u32 profile, then experiment.xml's time: u16 type, u64 start, u64 end; meta.db's: padding, u64 start, u64 end. */
struct record {
    uint64_t start, end;
    uint32_t profile;
    unsigned type;
};

static struct record read_record(const struct hpc_state *state, const unsigned char *bytes)
{
    if (state->layout == HPC_XML4)
        return (struct record){.profile = pf_u32(bytes, true),
                               .type = pf_u16(bytes + 4, true),
                               .start = pf_u64(bytes + 6, true),
                               .end = pf_u64(bytes + 14, true)};
    return (struct record){
        .profile = pf_u32(bytes, false), .start = pf_u64(bytes + 8, false), .end = pf_u64(bytes + 16, false)};
}

/* The samples of an empty trace may be said to stand anywhere. */
static int add_trace(struct hpc_state *state, const struct record *record, uint64_t at,
                     struct pf_notes *notes)
{
    uint32_t i = hpc_idmap_find(&state->threads.profiles, record->profile);
    uint64_t size = pf_input_size(state->trace_db);
    if (record->start == record->end)
        return 0;
    if (record->start > record->end)
        return hpc_note(notes, HPC_NOTE_ERROR_STRAY_TRACE, 0, (int64_t)at,
                        "trace.db: the trace of profile %u ends before it begins; it is left out",
                        record->profile);
    if (i == HPC_NO_NUMBER || record->type || state->threads.items[i].samples)
        return hpc_note(
            notes, HPC_NOTE_WARNING_STRAY_TRACE, 0, (int64_t)at,
            "trace.db: a trace of no thread, of another kind, or a second one of a thread is left out");
    uint64_t end = record->end < size ? record->end : size;
    struct hpc_thread *thread = &state->threads.items[i];
    if (record->start < size) {
        thread->trace = record->start;
        thread->samples = (end - record->start) / HPC_SAMPLE;
    }
    if (end == record->end)
        return 0;
    return hpc_note(
        notes, HPC_NOTE_FATAL_TRACE_BEYOND_END, 0, (int64_t)at,
        "trace.db: the trace of profile %u reaches beyond the end of the file; %llu samples are kept",
        record->profile, (unsigned long long)thread->samples);
}

int hpc_traces_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                    struct pf_error *error)
{
    bool xml4 = state->layout == HPC_XML4;
    uint64_t at, count;
    size_t stride;
    if (!state->trace_db)
        return 0;
    if (hpc_read_array(state, state->trace_db, "trace.db", xml4 ? MAGIC_XML4 : MAGIC_META, xml4 ? 22 : 24,
                       &at, &count, &stride, notes, error))
        return -1;
    struct hpc_window window = {.input = state->trace_db, .room = 64 * 1024};
    int failed = 0;
    for (uint64_t i = 0; i < count && !failed; i++) {
        uint64_t here = at + i * stride;
        const unsigned char *bytes = hpc_window_at(&window, here, xml4 ? 22 : 24, at + count * stride, error);
        struct record record = bytes ? read_record(state, bytes) : (struct record){0};
        failed = !bytes || (i % TRACES_A_STEP == 0 && pf_pass_step(pass, i, count, error)) ||
                 add_trace(state, &record, here, notes);
    }
    hpc_window_close(&window);
    return failed ? -1 : 0;
}

/* ---- the table ---------------------------------------------------------------------------------------- */

const struct pf_column hpc_trace_columns[HPC_TRACE_COLUMNS] = {
    [HPC_TRACE_THREAD] = {"thread", PF_PARTITION, 0},
    [HPC_TRACE_TIME] = {"time", PF_PLAIN, 0},
    [HPC_TRACE_CONTEXT] = {"context", PF_PLAIN, 0},
    [HPC_TRACE_NAME] = {"name", PF_PLAIN, 0},
};

struct position {
    uint64_t sample;
    uint32_t thread, unused;
};

struct walk {
    struct hpc_state *state;
    const struct pf_tree *tree;
    struct position at;
    uint32_t end; /* one past the last thread */
    struct hpc_window window;
    struct hpc_part *part; /* old: the file that is being read, or NULL */
};

/* Most windows are no larger than what there is to read. */
enum { ROOM = HPC_SAMPLE * 10922 };

static void leave(struct walk *walk)
{
    hpc_window_close(&walk->window);
    walk->window.input = NULL;
    if (walk->part)
        hpc_part_release(walk->state->parts, walk->part);
    walk->part = NULL;
}

/* Makes the file of the thread that the walk stands in ready to be read. */
static int enter(struct walk *walk, const struct hpc_thread *thread, struct pf_error *error)
{
    if (walk->state->layout != HPC_OLD) {
        walk->window.input = walk->state->trace_db;
        return 0;
    }
    walk->part = hpc_part_use(walk->state->parts, thread->trace_part, &walk->window.input, error);
    return walk->part ? 0 : -1;
}

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(cursor->profile);
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->state = state;
    walk->tree = cursor->profile->contexts;
    walk->end = state->threads.count;
    walk->window.room = ROOM;
    if (cursor->only.partition >= 0 && (uint64_t)cursor->only.partition < walk->end) {
        walk->at.thread = (uint32_t)cursor->only.partition;
        walk->end = walk->at.thread + 1;
    }
    return 0;
}

static void set_context(const struct walk *walk, uint32_t id, struct pf_cell *cells)
{
    uint32_t context = hpc_sampled_context(walk->state, id);
    cells[HPC_TRACE_CONTEXT] = context == HPC_NO_NUMBER ? pf_uint(id) : pf_uint(walk->tree->id[context]);
    cells[HPC_TRACE_NAME] =
        context == HPC_NO_NUMBER ? pf_absent() : pf_interned(walk->tree->strings, walk->tree->name[context]);
}

static int next_row(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct hpc_state *state = walk->state;
    const struct hpc_thread *thread;
    for (;; walk->at = (struct position){.thread = walk->at.thread + 1}) {
        if (walk->at.thread >= walk->end)
            return 0;
        thread = &state->threads.items[walk->at.thread];
        if (walk->at.sample < thread->samples)
            break;
        leave(walk);
    }
    if (!walk->window.input && enter(walk, thread, error))
        return -1;
    size_t size = hpc_sample_size(state, thread);
    const unsigned char *bytes = hpc_window_at(&walk->window, thread->trace + walk->at.sample * size, size,
                                               thread->trace + thread->samples * size, error);
    if (!bytes)
        return -1;
    walk->at.sample++;
    cells[HPC_TRACE_THREAD] = pf_int(walk->at.thread);
    cells[HPC_TRACE_TIME] = hpc_sample_time(state, pf_u64(bytes, state->big_endian));
    set_context(walk, pf_u32(bytes + 8, state->big_endian), cells);
    return 1;
}

static size_t save_walk(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    return pf_position_save(&walk->at, sizeof walk->at, blob, room);
}

static int restore_walk(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    struct position at;
    if (pf_position_restore(&at, sizeof at, blob, size, error))
        return -1;
    if (at.thread > walk->state->threads.count ||
        (at.thread < walk->state->threads.count &&
         at.sample > walk->state->threads.items[at.thread].samples) ||
        (cursor->only.partition >= 0 && at.thread < cursor->only.partition))
        return pf_position_refuse(error);
    leave(walk);
    walk->at = at;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (walk)
        leave(walk);
    free(walk);
    cursor->state = NULL;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    uint32_t first = cursor->only.partition > 0 ? (uint32_t)cursor->only.partition : 0;
    if (walk->at.thread >= walk->end)
        return 1;
    uint64_t samples = walk->state->threads.items[walk->at.thread].samples;
    double inside = samples ? (double)walk->at.sample / (double)samples : 0;
    return (walk->at.thread - first + inside) / (walk->end - first);
}

const struct pf_cursor_ops hpc_trace_cursor = {
    .open = open_walk,
    .next = next_row,
    .save = save_walk,
    .restore = restore_walk,
    .close = close_walk,
    .progress = progress,
};
