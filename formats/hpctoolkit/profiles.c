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
 * file, with a note. `file` is the name for notes, `xml4` and `meta` are the magic bytes of the two layouts. Returns 0,
 * or -1 with *error filled.
 *   experiment.xml's layout: magic[16], u8 major, u8 minor, u32 count, u16 sections, then {u64 size, u64 offset} each.
 *   meta.db's: "HPCTOOLKIT", format[4], u8 major, u8 minor, then {u64 size, u64 offset} for the sections; the
 *     first section begins with {u64 array, u32 count, u8 stride}.
 */
static int read_array(const struct hpc_state *state, struct pf_input *input, const char *file,
                      const char *xml4, const char *meta, size_t least, struct hpc_array *array,
                      struct pf_notes *notes, struct pf_error *error)
{
    unsigned char bytes[56] = {0}, section[13];
    bool is_xml4 = state->layout == HPC_XML4;
    const char *magic = is_xml4 ? xml4 : meta;
    uint64_t size = pf_input_size(input);
    *array = (struct hpc_array){0};
    ssize_t got = pf_input_read(input, bytes, sizeof bytes, 0, error);
    if (got < 0)
        return -1;
    unsigned major = bytes[strlen(magic)];
    if (got < 40 || memcmp(bytes, magic, strlen(magic)) != 0 || (major != 4 && !(is_xml4 && major == 1)))
        return hpc_note(notes, got < 40 ? "fatal" : "error", "header", 0, 0,
                        "%s does not begin as one; it is not read", file);
    if (is_xml4)
        *array = (struct hpc_array){pf_u64(bytes + 32, true), pf_u32(bytes + 18, true), least};
    else if ((got = pf_input_read(input, section, sizeof section, pf_u64(bytes + 24, false), error)) < 0)
        return -1;
    else if ((size_t)got == sizeof section)
        *array = (struct hpc_array){pf_u64(section, false), pf_u32(section + 8, false), section[12]};
    if (!array->count || (array->stride >= least && hpc_fits(array->at, array->count, array->stride, size)))
        return 0;
    uint64_t fit = array->stride >= least && array->at < size ? (size - array->at) / array->stride : 0;
    uint64_t announced = array->count;
    array->count = fit < announced ? fit : announced;
    return hpc_note(notes, "fatal", "beyond-end", 0, (int64_t)array->at,
                    "%s: %llu records do not fit into the file; %llu are read", file,
                    (unsigned long long)announced, (unsigned long long)fit);
}

/*
 * Opens a file of the database. *input is NULL if the file is missing or unreadable. Returns 0, or -1 with *error
 * filled.
 */
static int open_file(struct pf_model *model, const char *name, struct pf_input **input,
                     struct pf_notes *notes, struct pf_error *error)
{
    if (!pf_source_open(model->source, name, PF_RAW, input, error))
        return 0;
    struct pf_error why = *error;
    *input = NULL;
    *error = (struct pf_error){0};
    if (why.code == ENOENT)
        return 0;
    if (hpc_is_unreadable(why.code))
        return hpc_note(notes, "error", "unreadable", 0, -1, "%s can't be read: %s", name, why.what);
    *error = why;
    return -1;
}

/* ---- profiles --------------------------------------------------------------------------------------- */

/* A profile's record. */
struct info {
    struct hpc_block block;
    uint64_t tuple; /* file offset; 0: none */
    bool summary;
};

/*
 * experiment.xml's layout: u64 tuple, 3 x u64 unused, u64 number of values, u32 contexts, u64 block. meta.db's: u64
 * number of values, u64 their offset, u32 contexts, padding, u64 offset of the pairs, u64 tuple, u32 flags (not in
 * drafts; bit 0: a summary).
 */
static struct info read_info(const struct hpc_state *state, const unsigned char *bytes, size_t size,
                             uint64_t i)
{
    if (state->layout == HPC_XML4)
        return (struct info){.summary = i == 0,
                             .tuple = pf_u64(bytes, true),
                             .block = {.n_values = pf_u64(bytes + 32, true),
                                       .n_contexts = pf_u32(bytes + 40, true),
                                       .values = pf_u64(bytes + 44, true)}};
    return (struct info){.summary = size >= 44 ? pf_u32(bytes + 40, false) & 1 : i == 0,
                         .tuple = pf_u64(bytes + 32, false),
                         .block = {.n_values = pf_u64(bytes, false),
                                   .values = pf_u64(bytes + 8, false),
                                   .n_contexts = pf_u32(bytes + 16, false),
                                   .indices = pf_u64(bytes + 24, false)}};
}

/* State while profile.db's records are read. To be closed with end(). */
struct reading {
    struct hpc_state *state;
    struct pf_notes *notes;
    struct pf_window window, others; /* of the records; of the data that records refer to */
    struct hpc_block_reader blocks;
};

static struct reading begin(struct hpc_state *state, struct pf_notes *notes)
{
    return (struct reading){.state = state,
                            .notes = notes,
                            .window = {.input = state->profile_db, .room = 64 * 1024},
                            .others = {.input = state->profile_db},
                            .blocks = {state, .values = {.input = state->profile_db}}};
}

static void end(struct reading *reading)
{
    pf_window_close(&reading->window);
    pf_window_close(&reading->others);
    hpc_block_reader_close(&reading->blocks);
}

/* Reads record i. A block that exceeds the file is treated as empty, with a note if notes is not NULL. */
static int read_record(struct reading *reading, uint64_t i, struct info *info, struct pf_notes *notes,
                       struct pf_error *error)
{
    uint64_t at = reading->state->profiles.at + i * reading->state->profiles.stride;
    size_t size = reading->state->profiles.stride < 48 ? reading->state->profiles.stride : 48;
    if (reading->state->layout == HPC_XML4)
        size = 52;
    const unsigned char *bytes = pf_window_at(&reading->window, at, size, error);
    if (!bytes)
        return -1;
    *info = read_info(reading->state, bytes, size, i);
    if (hpc_block_fits(reading->state, &info->block))
        return 0;
    info->block = (struct hpc_block){0};
    return !notes ? 0
                  : hpc_note(notes, "fatal", "block-beyond-end", 0, (int64_t)at,
                             "profile.db: the values of profile %llu lie beyond the end of the file; they "
                             "are left out",
                             (unsigned long long)i);
}

/* Checks that a file ends with its footer, which the writer adds last. input may be NULL (no such file). */
static int check_footer(struct pf_input *input, const char *file, const char *end, const char *other_end,
                        struct pf_notes *notes, struct pf_error *error)
{
    char bytes[9] = {0};
    uint64_t size = input ? pf_input_size(input) : 0;
    if (!input)
        return 0;
    if (pf_input_read(input, bytes, 8, size < 8 ? 0 : size - 8, error) < 0)
        return -1;
    return !strcmp(bytes, end) || !strcmp(bytes, other_end)
               ? 0
               : hpc_note(notes, "fatal", "footer", 0, (int64_t)size,
                          "%s does not end as it should: its writer may have been interrupted", file);
}

/* experiment.xml's writers stored the footers as integers, so the bytes may be reversed, and wrote none after traces. */
static int check_footers(const struct hpc_state *state, struct pf_notes *notes, struct pf_error *error)
{
    if (state->layout == HPC_XML4)
        return check_footer(state->profile_db, "profile.db", "PROFDBft", "tfBDFORP", notes, error);
    return check_footer(state->description, "meta.db", "_meta.db", "_meta.db", notes, error) ||
                   check_footer(state->profile_db, "profile.db", "_prof.db", "_prof.db", notes, error) ||
                   check_footer(state->trace_db, "trace.db", "trace.db", "trace.db", notes, error)
               ? -1
               : 0;
}

/* ---- which metrics there are, and which have values ---------------------------------------------------- */

/* Files up to LOOK_THROUGH bytes are scanned completely on opening; of larger files, about LOOK_AT bytes are. */
#define LOOK_THROUGH ((uint64_t)1 << 20)
#define LOOK_AT      ((uint64_t)512 << 10)

/* Metrics that have a value other than zero, by id. Ids have 16 bits. */
struct seen {
    bool ids[1 << 16];
};

static int add_nameless(struct hpc_state *state, unsigned id, bool summary, struct pf_notes *notes,
                        struct pf_error *error)
{
    char name[24];
    snprintf(name, sizeof name, "metric %u", id);
    struct hpc_metric_facts facts = {
        .id = id, .name = hpc_keep(state, name, strlen(name), error), .scope = ""};
    if (!facts.name)
        return -1;
    int added = summary ? hpc_add_summary_metric(state, &facts, NULL, NULL, error)
                        : hpc_add_metric(state, &facts, error);
    if (added <= 0)
        return added;
    return hpc_note(notes, "warning", "unknown-metric", 0, -1,
                    "profile.db: metric %u is not described; its values are kept under its number", id);
}

/* Scans the first n values of a block and marks their metrics as seen. Adds metrics that the description lacks. */
static int look_for_metrics(struct reading *reading, const struct hpc_block *block, uint64_t n, bool summary,
                            struct seen *seen, struct pf_error *error)
{
    struct hpc_state *state = reading->state;
    const struct pf_ids *ids = summary ? &state->summary_metrics.taken.ids : &state->metrics.taken.ids;
    /* In experiment.xml's layout the summary's metrics have ids of their own. */
    bool counts = !summary || state->layout != HPC_XML4;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t id;
        double value;
        if (hpc_block_value(&reading->blocks, block, i, &id, &value, error) ||
            (pf_ids_find(ids, id) == PF_NO_ID && add_nameless(state, id, summary, reading->notes, error)))
            return -1;
        seen->ids[id] |= counts && value != 0;
    }
    return 0;
}

static bool is_inclusive(const struct pf_metric *metric)
{
    return !strcmp(metric->scope, "execution") || !strcmp(metric->scope, "inclusive");
}

/*
 * Marks metrics without values as empty. whole: all values have been seen; otherwise only the first, which include the
 * root's inclusive values, so an exclusive metric is judged by its inclusive partner. An empty point metric loses its
 * partner: the inclusive costs come from other scopes.
 */
static void mark_empty(struct hpc_state *state, const struct seen *seen, bool whole)
{
    for (size_t i = 0; i < state->metrics.count; i++) {
        struct pf_metric *metric = &state->metrics.items[i], *told = metric;
        if (!whole && !is_inclusive(metric) && metric->partner != PF_NO_PARTNER)
            told = &state->metrics.items[metric->partner];
        if (whole || is_inclusive(told))
            metric->empty = told->id < 0 || told->id > UINT16_MAX || !seen->ids[told->id];
        if (metric->empty && !strcmp(metric->scope, "point"))
            metric->partner = PF_NO_PARTNER;
    }
}

/*
 * Determines which metrics have values. Blocks of a damaged file may overlap: the budget for a small file is twice
 * LOOK_THROUGH. For a large file, the summary, which comes first, shows which metrics have values.
 */
static int look_at_profiles(struct reading *reading, struct seen *seen, struct pf_error *error)
{
    struct hpc_state *state = reading->state;
    bool large = pf_input_size(state->profile_db) > LOOK_THROUGH;
    bool by_summary = false, whole = false;
    uint64_t left = large ? LOOK_AT : 2 * LOOK_THROUGH;
    for (uint64_t i = 0; i < reading->state->profiles.count && left; i++) {
        struct info info;
        if (read_record(reading, i, &info, NULL, error))
            return -1;
        uint64_t n = info.block.n_values < left / 10 ? info.block.n_values : left / 10;
        uint64_t used = 10 * n + reading->state->profiles.stride;
        left -= used < left ? used : left;
        if (!i && info.summary && state->layout != HPC_XML4) {
            by_summary = true;
            whole = n == info.block.n_values;
        }
        if (look_for_metrics(reading, &info.block, n, info.summary, seen, error))
            return -1;
    }
    if (left || by_summary)
        mark_empty(state, seen, left || whole);
    return 0;
}

int hpc_profiles_open(struct pf_model *model, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    if (open_file(model, "profile.db", &state->profile_db, notes, error) ||
        open_file(model, "trace.db", &state->trace_db, notes, error) || check_footers(state, notes, error))
        return -1;
    if (!state->profile_db)
        return hpc_note(notes, "error", "no-values", 0, -1, "profile.db is missing: there are no values");
    if (read_array(state, state->profile_db, "profile.db", "HPCPROF-profdb__", "HPCTOOLKITprof",
                   state->layout == HPC_XML4 ? 52 : 40, &state->profiles, notes, error))
        return -1;
    struct reading reading = begin(state, notes);
    struct seen *seen = calloc(1, sizeof *seen);
    int failed = seen ? look_at_profiles(&reading, seen, error) : pf_fail_memory(error);
    end(&reading);
    free(seen);
    return failed ? -1 : 0;
}

/* ---- threads ---------------------------------------------------------------------------------------- */

/*
 * Tuple: u16 number of elements (in meta.db's layouts followed by 6 bytes of padding), then the elements. An element in
 * experiment.xml's layout: u16 kind (its two top bits select how to print the element), u64 physical, u64 logical; in
 * meta.db's: u8 kind, padding, u16 flags (bit 0: print the physical number too), u32 logical, u64 physical.
 */
static int read_tuple(struct reading *reading, uint64_t at, struct pf_error *error)
{
    bool xml4 = reading->state->layout == HPC_XML4;
    size_t head = xml4 ? 2 : 8, element = xml4 ? 18 : 16;
    uint64_t size = pf_input_size(reading->state->profile_db);
    if (!at || !hpc_fits(at, head, 1, size))
        return 0;
    const unsigned char *bytes = pf_window_at(&reading->others, at, head, error);
    if (!bytes)
        return -1;
    unsigned count = pf_u16(bytes, xml4);
    if (count > TUPLE_MAX || !hpc_fits(at + head, count, element, size))
        return hpc_note(reading->notes, "error", "identity", 0, (int64_t)at,
                        "profile.db: a thread's identity is broken; the thread goes by its number");
    for (unsigned i = 0; i < count; i++) {
        bytes = pf_window_at(&reading->others, at + head + (uint64_t)i * element, element, error);
        if (!bytes)
            return -1;
        unsigned kind = xml4 ? pf_u16(bytes, true) : bytes[0];
        struct hpc_identity identity = {.kind = kind & 0x3fff,
                                        .shows_physical =
                                            xml4 ? !(kind >> 14 & 2) : pf_u16(bytes + 2, false) & 1,
                                        .logical = xml4 ? pf_u64(bytes + 10, true) : pf_u32(bytes + 4, false),
                                        .physical = pf_u64(bytes + (xml4 ? 2 : 8), xml4)};
        if (hpc_add_identity(&reading->state->threads, &identity, error))
            return -1;
    }
    return 0;
}

static int add_thread(struct reading *reading, uint64_t i, const struct info *info, struct pf_error *error)
{
    struct hpc_threads *threads = &reading->state->threads;
    struct hpc_thread thread = {.block = info->block, .profile = (uint32_t)i};
    return pf_ids_add(&threads->profiles, i, threads->count, error) < 0 ||
                   hpc_add_thread(threads, &thread, error) || read_tuple(reading, info->tuple, error)
               ? -1
               : 0;
}

static int read_threads(struct reading *reading, struct pf_error *error)
{
    for (uint64_t i = 0; i < reading->state->profiles.count && i < UINT32_MAX; i++) {
        struct info info;
        if ((i % RECORDS_A_STEP == 0 && pf_pass_step(i, reading->state->profiles.count, error)) ||
            read_record(reading, i, &info, reading->notes, error))
            return -1;
        if (!info.summary && add_thread(reading, i, &info, error))
            return -1;
        if (info.summary && !reading->state->has_summary) {
            reading->state->has_summary = true;
            reading->state->summary_profile = (uint32_t)i;
            reading->state->summary = info.block;
        }
    }
    return 0;
}

/* ---- traces ---------------------------------------------------------------------------------------- */

/*
 * A trace's record: u32 profile; then in experiment.xml's layout u16 type, u64 start, u64 end; in meta.db's padding,
 * u64 start, u64 end. The offset of an empty trace is not validated: writers leave it arbitrary.
 */
static int add_trace(struct hpc_state *state, const unsigned char *bytes, uint64_t at, struct pf_notes *notes)
{
    bool xml4 = state->layout == HPC_XML4;
    uint32_t profile = pf_u32(bytes, xml4), i = pf_ids_find(&state->threads.profiles, profile);
    unsigned type = xml4 ? pf_u16(bytes + 4, true) : 0;
    uint64_t start = pf_u64(bytes + (xml4 ? 6 : 8), xml4), end = pf_u64(bytes + (xml4 ? 14 : 16), xml4);
    uint64_t size = pf_input_size(state->trace_db);
    if (start == end)
        return 0;
    if (start > end)
        return hpc_note(notes, "error", "stray-trace", 0, (int64_t)at,
                        "trace.db: the trace of profile %u ends before it begins; it is left out", profile);
    if (i == PF_NO_ID || type || state->threads.items[i].samples)
        return hpc_note(
            notes, "warning", "stray-trace", 0, (int64_t)at,
            "trace.db: a trace of no thread, of another kind, or a second one of a thread is left out");
    struct hpc_thread *thread = &state->threads.items[i];
    if (start < size) {
        thread->trace = start;
        thread->samples = ((end < size ? end : size) - start) / HPC_SAMPLE;
    }
    if (end <= size)
        return 0;
    return hpc_note(
        notes, "fatal", "trace-beyond-end", 0, (int64_t)at,
        "trace.db: the trace of profile %u reaches beyond the end of the file; %llu samples are kept",
        profile, (unsigned long long)thread->samples);
}

static int read_traces(struct hpc_state *state, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_array array;
    struct pf_window window = {.input = state->trace_db, .room = 64 * 1024};
    size_t size = state->layout == HPC_XML4 ? 22 : 24;
    int failed = 0;
    if (!state->trace_db)
        return 0;
    if (read_array(state, state->trace_db, "trace.db", "HPCPROF-tracedb_", "HPCTOOLKITtrce", size, &array,
                   notes, error))
        return -1;
    for (uint64_t i = 0; i < array.count && !failed; i++) {
        uint64_t at = array.at + i * array.stride;
        const unsigned char *bytes = pf_window_at(&window, at, size, error);
        failed = !bytes || (i % RECORDS_A_STEP == 0 && pf_pass_step(i, array.count, error)) ||
                 add_trace(state, bytes, at, notes);
    }
    pf_window_close(&window);
    return failed ? -1 : 0;
}

int hpc_profiles_load(struct pf_model *model, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    struct reading reading = begin(state, notes);
    int failed = read_threads(&reading, error) || read_traces(state, notes, error) ||
                 hpc_publish_threads(model, error);
    end(&reading);
    if (failed)
        hpc_threads_free(&state->threads);
    return failed ? -1 : 0;
}
