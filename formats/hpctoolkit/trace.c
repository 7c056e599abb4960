/* SPDX-License-Identifier: MIT */

#include "formats/hpctoolkit/read.h"

enum { TRACES_A_STEP = 8192 };

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
    struct hpc_array array;
    struct hpc_window window = {.input = state->trace_db, .room = 64 * 1024};
    size_t size = state->layout == HPC_XML4 ? 22 : 24;
    int failed = 0;
    if (!state->trace_db)
        return 0;
    if (hpc_read_array(state, state->trace_db, "trace.db", "HPCPROF-tracedb_", "HPCTOOLKITtrce", size, &array,
                       notes, error))
        return -1;
    for (uint64_t i = 0; i < array.count && !failed; i++) {
        uint64_t at = array.at + i * array.stride;
        const unsigned char *bytes =
            hpc_window_at(&window, at, size, array.at + array.count * array.stride, error);
        struct record record = bytes ? read_record(state, bytes) : (struct record){0};
        failed = !bytes || (i % TRACES_A_STEP == 0 && pf_pass_step(pass, i, array.count, error)) ||
                 add_trace(state, &record, at, notes);
    }
    hpc_window_close(&window);
    return failed ? -1 : 0;
}
