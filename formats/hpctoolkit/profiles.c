/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/read.h"

/* Records between two checks of the pass. */
enum { RECORDS_A_STEP = 8192 };

/* Maximum number of elements of an identity. */
enum { TUPLE_MAX = 64 };

/* ---- headers ---------------------------------------------------------------------------------------- */

/*
 * Finds the array of records of a file, with a stride of at least `least` bytes. Truncates an array that exceeds the
 * file, with a warning. `file` is the name for warnings. `xml4` and `meta` are the magic bytes of the two layouts.
 *
 * In experiment.xml's layout, a file begins with magic[16], u8 major, u8 minor, u32 number of records, u16 number of
 * sections, and {u64 size, u64 offset} per section. The first section is the array. In meta.db's layout, a file begins
 * with magic[14], u8 major, u8 minor, and {u64 size, u64 offset} per section. The first section begins with {u64 offset
 * of the array, u32 number of records, u8 stride}.
 */
static struct hpc_array read_array(struct pf_run *run, struct pf_input *input, const char *file,
                                   const char *xml4, const char *meta, size_t least)
{
    unsigned char bytes[56] = {0}, section[13];
    bool is_xml4 = hpc_state(run->model)->layout == HPC_XML4;
    const char *magic = is_xml4 ? xml4 : meta;
    uint64_t size = pf_input_size(input);
    struct hpc_array array = {0};
    size_t got = pf_run_read(run, input, bytes, sizeof bytes, 0);
    unsigned major = bytes[strlen(magic)];
    if (got < 40 || memcmp(bytes, magic, strlen(magic)) != 0 || (major != 4 && !(is_xml4 && major == 1))) {
        pf_run_warn(run, got < 40 ? "fatal" : "error", "header", 0, 0, "%s: bad magic: file skipped", file);
        return array;
    }
    if (is_xml4)
        array = (struct hpc_array){pf_u64(bytes + 32, true), pf_u32(bytes + 18, true), least};
    else if (pf_run_read(run, input, section, sizeof section, pf_u64(bytes + 24, false)) == sizeof section)
        array = (struct hpc_array){pf_u64(section, false), pf_u32(section + 8, false), section[12]};
    else
        pf_run_warn(run, "fatal", "section-beyond-end", 0, 16, "%s: section 0 exceeds the file: file skipped",
                    file);
    if (!array.count || (array.stride >= least && hpc_fits(array.at, array.count, array.stride, size)))
        return array;
    uint64_t fit = array.stride >= least && array.at < size ? (size - array.at) / array.stride : 0;
    uint64_t announced = array.count;
    array.count = fit < announced ? fit : announced;
    pf_run_warn(run, "fatal", "beyond-end", 0, array.at,
                "%s: the table of %llu records exceeds the file: %llu are read", file,
                (unsigned long long)announced, (unsigned long long)fit);
    return array;
}

/* Opens a file of the database. Returns NULL if the file is missing or unreadable. */
static struct pf_input *open_database_file(struct pf_run *run, const char *name)
{
    struct pf_input *input;
    if (!pf_source_open(run->model->source, name, PF_RAW, &input, run->error))
        return input;
    if (hpc_is_unreadable(run->error->code))
        pf_run_warn(run, "error", "unreadable", 0, -1, "%s: cannot be read: %s: file skipped", name,
                    run->error->what);
    else if (run->error->code != ENOENT)
        pf_run_fail(run);
    return NULL;
}

/* ---- profiles --------------------------------------------------------------------------------------- */

/* A record of profile.db's array of profiles. */
struct profile_record {
    struct hpc_block block;
    uint64_t tuple; /* file offset; 0: none */
    bool summary;
};

/*
 * Decodes record i. In experiment.xml's layout, it is u64 tuple, 3 x u64 unused, u64 number of values, u32 number of
 * contexts, u64 offset of the values. In meta.db's layout, it is u64 number of values, u64 offset of the values, u32
 * number of contexts, padding, u64 offset of the pairs, u64 tuple, u32 flags. Bit 0 of the flags marks a summary. Drafts
 * have no flags. If records have no flags, record 0 is the summary.
 */
static struct profile_record decode_profile_record(const struct hpc_state *state, const unsigned char *bytes,
                                                   size_t size, uint64_t i)
{
    if (state->layout == HPC_XML4)
        return (struct profile_record){.summary = i == 0,
                                       .tuple = pf_u64(bytes, true),
                                       .block = {.n_values = pf_u64(bytes + 32, true),
                                                 .n_contexts = pf_u32(bytes + 40, true),
                                                 .values = pf_u64(bytes + 44, true)}};
    return (struct profile_record){.summary = size >= 44 ? pf_u32(bytes + 40, false) & 1 : i == 0,
                                   .tuple = pf_u64(bytes + 32, false),
                                   .block = {.n_values = pf_u64(bytes, false),
                                             .values = pf_u64(bytes + 8, false),
                                             .n_contexts = pf_u32(bytes + 16, false),
                                             .indices = pf_u64(bytes + 24, false)}};
}

/* State while profile.db's records are read. */
struct profiles_reading {
    struct pf_run *run;
    struct hpc_state *state;
    struct pf_window window, others; /* on the records; on the data that records refer to */
    struct hpc_block_reader *blocks;
    bool seen[1 << 16]; /* by metric id, which has 16 bits: a value other than zero was found */
};

static void free_profiles_reading(struct profiles_reading *reading)
{
    pf_window_close(&reading->window);
    pf_window_close(&reading->others);
    free(reading);
}

/* Allocates the state, which the run owns. */
static struct profiles_reading *begin_profiles(struct pf_run *run)
{
    struct profiles_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free_profiles_reading);
    reading->run = run;
    reading->state = hpc_state(run->model);
    reading->window = (struct pf_window){.input = reading->state->profile_db, .room = 64 * 1024};
    reading->others = (struct pf_window){.input = reading->state->profile_db};
    reading->blocks = hpc_block_reader_new(run, 0);
    return reading;
}

/* Reads record i. A block that exceeds the file is treated as empty, with a warning unless `quiet`. */
static struct profile_record read_profile_record(struct profiles_reading *reading, uint64_t i, bool quiet)
{
    const struct hpc_array *profiles = &reading->state->profiles;
    uint64_t at = profiles->at + i * profiles->stride;
    size_t size = reading->state->layout == HPC_XML4 ? 52 : profiles->stride < 48 ? profiles->stride : 48;
    struct profile_record record = decode_profile_record(
        reading->state, hpc_window_at(reading->run, &reading->window, at, size), size, i);
    if (hpc_block_fits(reading->state, &record.block))
        return record;
    record.block = (struct hpc_block){0};
    if (!quiet)
        pf_run_warn(reading->run, "fatal", "block-beyond-end", 0, at,
                    "profile.db: profile %llu: values beyond the end of the file: skipped",
                    (unsigned long long)i);
    return record;
}

/* Checks that a file ends with its footer, which the writer adds last. `input` is NULL if there is no such file. */
static void check_footer(struct pf_run *run, struct pf_input *input, const char *file, const char *end,
                         const char *other_end)
{
    char bytes[9] = {0};
    if (!input)
        return;
    uint64_t size = pf_input_size(input);
    (void)pf_run_read(run, input, bytes, 8, size < 8 ? 0 : size - 8);
    if (strcmp(bytes, end) != 0 && strcmp(bytes, other_end) != 0)
        pf_run_warn(run, "fatal", "footer", 0, size, "%s: no footer: its writer may have been interrupted",
                    file);
}

/*
 * Checks the files' footers. Writers of experiment.xml's layout stored the footer as an integer, so its bytes may be
 * reversed. They wrote no footer to trace.db.
 */
static void check_footers(struct pf_run *run)
{
    const struct hpc_state *state = hpc_state(run->model);
    if (state->layout == HPC_XML4) {
        check_footer(run, state->profile_db, "profile.db", "PROFDBft", "tfBDFORP");
        return;
    }
    check_footer(run, state->description, "meta.db", "_meta.db", "_meta.db");
    check_footer(run, state->profile_db, "profile.db", "_prof.db", "_prof.db");
    check_footer(run, state->trace_db, "trace.db", "trace.db", "trace.db");
}

/* ---- metrics that have values -------------------------------------------------------------------------- */

/* Opening scans a profile.db of up to WHOLE_SCAN_MAX bytes completely, and about SCAN_BUDGET bytes of a larger one. */
#define WHOLE_SCAN_MAX ((uint64_t)1 << 20)
#define SCAN_BUDGET    ((uint64_t)512 << 10)

static void add_undescribed_metric(struct pf_run *run, unsigned id, bool summary)
{
    char name[24];
    int size = snprintf(name, sizeof name, "metric %u", id);
    struct hpc_metric_facts facts = {.id = id, .name = hpc_keep(run, name, (size_t)size), .scope = ""};
    if (summary ? hpc_add_summary_metric(run, &facts, NULL, NULL) : hpc_add_metric(run, &facts))
        pf_run_warn(run, "warning", "unknown-metric", 0, -1,
                    "profile.db: undescribed metric %u: named by its number", id);
}

/* Scans the first n values of a block and marks their metrics as seen. Adds metrics that the description lacks. */
static void scan_values(struct profiles_reading *reading, const struct hpc_block *block, uint64_t n,
                        bool summary)
{
    struct hpc_state *state = reading->state;
    const struct pf_ids *ids = summary ? &state->summary_metrics.taken.ids : &state->metrics.taken.ids;
    /* In experiment.xml's layout, the summary's metric ids do not identify metrics of threads, so they do not mark any. */
    bool counts = !summary || state->layout != HPC_XML4;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t id;
        double value;
        pf_run_check(reading->run,
                     hpc_block_value(reading->blocks, block, i, &id, &value, reading->run->error));
        if (pf_ids_find(ids, id) == PF_NO_ID)
            add_undescribed_metric(reading->run, id, summary);
        reading->seen[id] |= counts && value != 0;
    }
}

static bool is_inclusive_scope(const struct pf_metric *metric)
{
    return !strcmp(metric->scope, "execution") || !strcmp(metric->scope, "inclusive");
}

/*
 * Marks metrics without values as empty. If `whole` is set, all values have been scanned. Otherwise only the first ones
 * have, which include the root's inclusive values. An exclusive metric is then empty if its inclusive partner is. An empty
 * metric of scope `point` loses its partner, because the partner's costs come from other scopes.
 */
static void mark_empty(const struct profiles_reading *reading, bool whole)
{
    struct hpc_state *state = reading->state;
    for (size_t i = 0; i < state->metrics.count; i++) {
        struct pf_metric *metric = &state->metrics.items[i], *decisive = metric;
        if (!whole && !is_inclusive_scope(metric) && metric->partner != PF_NO_PARTNER)
            decisive = &state->metrics.items[metric->partner];
        if (whole || is_inclusive_scope(decisive))
            metric->empty = decisive->id < 0 || decisive->id > UINT16_MAX || !reading->seen[decisive->id];
        if (metric->empty && !strcmp(metric->scope, "point"))
            metric->partner = PF_NO_PARTNER;
    }
}

/*
 * Determines which metrics have values. Scans all values of a small file, up to twice WHOLE_SCAN_MAX, since blocks of a
 * damaged file may overlap. Scans the first values of a large file, and relies on them only if they begin with the
 * summary, which has values of every metric that has values in a thread.
 */
static void find_metrics_with_values(struct profiles_reading *reading)
{
    struct hpc_state *state = reading->state;
    bool large = pf_input_size(state->profile_db) > WHOLE_SCAN_MAX;
    bool by_summary = false, whole = false;
    uint64_t left = large ? SCAN_BUDGET : 2 * WHOLE_SCAN_MAX;
    for (uint64_t i = 0; i < state->profiles.count && left; i++) {
        struct profile_record record = read_profile_record(reading, i, true);
        uint64_t n = record.block.n_values < left / HPC_VALUE ? record.block.n_values : left / HPC_VALUE;
        uint64_t used = HPC_VALUE * n + state->profiles.stride;
        left -= used < left ? used : left;
        if (!i && record.summary && state->layout != HPC_XML4) {
            by_summary = true;
            whole = n == record.block.n_values;
        }
        scan_values(reading, &record.block, n, record.summary);
    }
    if (left || by_summary)
        mark_empty(reading, left || whole);
}

void hpc_profiles_open(struct pf_run *run)
{
    struct hpc_state *state = hpc_state(run->model);
    state->profile_db = open_database_file(run, "profile.db");
    state->trace_db = open_database_file(run, "trace.db");
    check_footers(run);
    if (!state->profile_db) {
        pf_run_warn(run, "error", "no-values", 0, -1, "profile.db is missing: no values");
        return;
    }
    state->profiles = read_array(run, state->profile_db, "profile.db", "HPCPROF-profdb__", "HPCTOOLKITprof",
                                 state->layout == HPC_XML4 ? 52 : 40);
    find_metrics_with_values(begin_profiles(run));
}

/* ---- threads ---------------------------------------------------------------------------------------- */

/*
 * Reads a tuple, which is the identity of the last added thread. It is u16 number of elements, 6 bytes of padding (only
 * in meta.db's layout), and the elements. An element in experiment.xml's layout is u16 kind, u64
 * physical, u64 logical; the two top bits of the kind select how to print it. In meta.db's layout, it is u8 kind,
 * padding, u16 flags, u32 logical, u64 physical; bit 0 of the flags selects that the physical number is printed, too.
 */
static void read_tuple(struct profiles_reading *reading, uint64_t at)
{
    struct pf_run *run = reading->run;
    bool xml4 = reading->state->layout == HPC_XML4;
    size_t head = xml4 ? 2 : 8, element = xml4 ? 18 : 16;
    uint64_t size = pf_input_size(reading->state->profile_db);
    if (!at || !hpc_fits(at, head, 1, size))
        return;
    unsigned count = pf_u16(hpc_window_at(run, &reading->others, at, head), xml4);
    if (count > TUPLE_MAX || !hpc_fits(at + head, count, element, size)) {
        pf_run_warn(run, "error", "identity", 0, at,
                    "profile.db: damaged identity of a thread: the thread is named by its number");
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        const unsigned char *bytes =
            hpc_window_at(run, &reading->others, at + head + (uint64_t)i * element, element);
        unsigned kind = xml4 ? pf_u16(bytes, true) : bytes[0];
        struct hpc_identity identity = {.kind = kind & 0x3fff,
                                        .shows_physical =
                                            xml4 ? !(kind >> 14 & 2) : pf_u16(bytes + 2, false) & 1,
                                        .logical = xml4 ? pf_u64(bytes + 10, true) : pf_u32(bytes + 4, false),
                                        .physical = pf_u64(bytes + (xml4 ? 2 : 8), xml4)};
        hpc_add_identity(run, &identity);
    }
}

static void read_threads(struct profiles_reading *reading)
{
    struct pf_run *run = reading->run;
    struct hpc_state *state = reading->state;
    for (uint64_t i = 0; i < state->profiles.count && i < UINT32_MAX; i++) {
        if (i % RECORDS_A_STEP == 0)
            pf_run_step(run, i, state->profiles.count);
        struct profile_record record = read_profile_record(reading, i, false);
        if (!record.summary) {
            struct hpc_thread thread = {.block = record.block, .profile = (uint32_t)i};
            pf_run_check(run, pf_ids_add(&state->threads.profiles, i, state->threads.count, run->error));
            hpc_add_thread(run, &thread);
            read_tuple(reading, record.tuple);
        } else if (!state->has_summary) {
            state->has_summary = true;
            state->summary_profile = (uint32_t)i;
            state->summary = record.block;
        }
    }
}

/* ---- traces ---------------------------------------------------------------------------------------- */

/*
 * Reads a record of trace.db. It is u32 profile, u64 start and u64 end. Before the start, experiment.xml's layout has u16
 * type, and meta.db's layout u32 padding. Does not validate the offsets of an empty trace, since writers leave them arbitrary.
 */
static void add_trace(struct pf_run *run, const unsigned char *bytes, uint64_t at)
{
    struct hpc_state *state = hpc_state(run->model);
    bool xml4 = state->layout == HPC_XML4;
    uint32_t profile = pf_u32(bytes, xml4), i = pf_ids_find(&state->threads.profiles, profile);
    unsigned type = xml4 ? pf_u16(bytes + 4, true) : 0;
    uint64_t start = pf_u64(bytes + (xml4 ? 6 : 8), xml4), end = pf_u64(bytes + (xml4 ? 14 : 16), xml4);
    uint64_t size = pf_input_size(state->trace_db);
    if (start == end)
        return;
    if (start > end) {
        pf_run_warn(run, "error", "stray-trace", 0, at,
                    "trace.db: profile %u: the trace ends before it begins: skipped", profile);
        return;
    }
    if (i == PF_NO_ID || type || state->threads.items[i].samples) {
        pf_run_warn(run, "warning", "stray-trace", 0, at,
                    "trace.db: trace of an unknown thread or kind, or the second one of a thread: skipped");
        return;
    }
    struct hpc_thread *thread = &state->threads.items[i];
    if (start < size) {
        thread->trace = start;
        thread->samples = ((end < size ? end : size) - start) / HPC_SAMPLE;
    }
    if (end > size)
        pf_run_warn(run, "fatal", "trace-beyond-end", 0, at,
                    "trace.db: profile %u: the trace exceeds the file: %llu samples are kept", profile,
                    (unsigned long long)thread->samples);
}

static void read_traces(struct profiles_reading *reading)
{
    struct pf_run *run = reading->run;
    struct pf_input *input = reading->state->trace_db;
    size_t size = reading->state->layout == HPC_XML4 ? 22 : 24;
    if (!input)
        return;
    struct hpc_array array = read_array(run, input, "trace.db", "HPCPROF-tracedb_", "HPCTOOLKITtrce", size);
    pf_window_close(&reading->window);
    reading->window = (struct pf_window){.input = input, .room = 64 * 1024};
    for (uint64_t i = 0; i < array.count; i++) {
        uint64_t at = array.at + i * array.stride;
        if (i % RECORDS_A_STEP == 0)
            pf_run_step(run, i, array.count);
        add_trace(run, hpc_window_at(run, &reading->window, at, size), at);
    }
}

void hpc_profiles_load(struct pf_run *run)
{
    struct profiles_reading *reading = begin_profiles(run);
    read_threads(reading);
    read_traces(reading);
}
