/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"

/* How often to look whether somebody still waits. */
enum { PROFILES_A_STEP = 8192 };

/* Longer tuples are no identities. Ids of metrics have 16 bits. */
enum { TUPLE_MAX = 64, HPC_IDS = 1 << 16 };

/* ---- headers ---------------------------------------------------------------------------------------- */

/*
 * experiment.xml's time: magic[16], u8 major, u8 minor, u32 count, u16 sections, then {u64 size, u64 offset} each.
 * meta.db's: "HPCTOOLKIT", format[4], u8 major, u8 minor, then {u64 size, u64 offset} for the sections; the
 * first of them begins with {u64 array, u32 count, u8 stride}.
 */
int hpc_read_array(const struct hpc_state *state, struct pf_input *input, const char *file, const char *xml4,
                   const char *meta, size_t least, struct hpc_array *array, struct pf_notes *notes,
                   struct pf_error *error)
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
        return hpc_note(notes, got < 40 ? HPC_NOTE_FATAL_HEADER : HPC_NOTE_ERROR_HEADER, 0, 0,
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
    return hpc_note(notes, HPC_NOTE_FATAL_BEYOND_END, 0, (int64_t)array->at,
                    "%s: %llu records do not fit into the file; %llu are read", file,
                    (unsigned long long)announced, (unsigned long long)fit);
}

/* A file of the database; *input stays NULL if it is absent. */
static int open_file(struct pf_profile *profile, const char *name, struct pf_input **input,
                     struct pf_notes *notes, struct pf_error *error)
{
    if (!pf_source_open(profile->source, name, input, error))
        return 0;
    struct pf_error why = *error;
    *input = NULL;
    *error = (struct pf_error){0};
    if (why.code == ENOENT)
        return 0;
    if (hpc_is_unreadable(why.code))
        return hpc_note(notes, HPC_NOTE_ERROR_UNREADABLE, 0, -1, "%s can't be read: %s", name, why.what);
    *error = why;
    return -1;
}

/* ---- profiles --------------------------------------------------------------------------------------- */

/* What a profile's record tells. */
struct info {
    struct hpc_block block;
    uint64_t tuple; /* offset; 0: none */
    bool summary;
};

/*
 * experiment.xml's time: u64 tuple, 3 x u64 unused, u64 values, u32 contexts, u64 block.
 * meta.db's: u64 values, u64 offset of them, u32 contexts, padding, u64 offset of the pairs, u64 tuple,
 * u32 flags (not in drafts; bit 0: a summary).
 */
static struct info read_info(const struct hpc_state *state, const unsigned char *bytes, size_t size,
                             uint64_t i)
{
    struct info info = {.summary = i == 0};
    struct hpc_block *block = &info.block;
    if (state->layout == HPC_XML4) {
        info.tuple = pf_u64(bytes, true);
        block->n_values = pf_u64(bytes + 32, true);
        block->n_contexts = pf_u32(bytes + 40, true);
        block->values = pf_u64(bytes + 44, true);
        if (__builtin_mul_overflow(block->n_values, (uint64_t)HPC_VALUE, &block->indices) ||
            __builtin_add_overflow(block->indices, block->values, &block->indices))
            block->indices = UINT64_MAX;
        return info;
    }
    block->n_values = pf_u64(bytes, false);
    block->values = pf_u64(bytes + 8, false);
    block->n_contexts = pf_u32(bytes + 16, false);
    block->indices = pf_u64(bytes + 24, false);
    info.tuple = pf_u64(bytes + 32, false);
    if (size >= 44)
        info.summary = pf_u32(bytes + 40, false) & 1;
    return info;
}

/* A block that does not lie in the file is as good as empty. */
static int check_block(const struct hpc_state *state, struct info *info, uint64_t i, uint64_t at,
                       struct pf_notes *notes)
{
    struct hpc_block *block = &info->block;
    uint64_t size = pf_input_size(state->profile_db);
    uint64_t pairs = (uint64_t)block->n_contexts + (state->layout == HPC_XML4);
    if (hpc_fits(block->values, block->n_values, HPC_VALUE, size) &&
        hpc_fits(block->indices, pairs, HPC_INDEX, size))
        return 0;
    info->block = (struct hpc_block){0};
    return hpc_note(
        notes, HPC_NOTE_FATAL_BLOCK_BEYOND_END, 0, (int64_t)at,
        "profile.db: the values of profile %llu lie beyond the end of the file; they are left out",
        (unsigned long long)i);
}

/* profile.db while its records are read. */
struct reading {
    struct hpc_state *state;
    struct pf_notes *notes, *of_records;
    struct hpc_window window, tuples;
    struct hpc_array array;
    uint64_t seen[HPC_IDS / 64]; /* a bit an id of a metric that has been seen with a value */
};

static int begin(struct reading *reading, struct hpc_state *state, struct pf_notes *notes,
                 struct pf_error *error)
{
    *reading = (struct reading){.state = state, .notes = notes, .of_records = notes};
    reading->window = (struct hpc_window){.input = state->profile_db, .room = 64 * 1024};
    reading->tuples = (struct hpc_window){.input = state->profile_db, .room = 64 * 1024};
    return hpc_read_array(state, state->profile_db, "profile.db", "HPCPROF-profdb__", "HPCTOOLKITprof",
                          state->layout == HPC_XML4 ? 52 : 40, &reading->array, notes, error);
}

static void end(struct reading *reading)
{
    hpc_window_close(&reading->window);
    hpc_window_close(&reading->tuples);
}

/* Record i, checked. */
static int read_record(struct reading *reading, uint64_t i, struct info *info, struct pf_error *error)
{
    uint64_t at = reading->array.at + i * reading->array.stride;
    size_t size = reading->array.stride < 48 ? reading->array.stride : 48;
    if (reading->state->layout == HPC_XML4)
        size = 52;
    const unsigned char *bytes = hpc_window_at(
        &reading->window, at, size, reading->array.at + reading->array.count * reading->array.stride, error);
    if (!bytes)
        return -1;
    *info = read_info(reading->state, bytes, size, i);
    return check_block(reading->state, info, i, at, reading->of_records);
}

/*
 * Files end with their name if their writer came to an end. experiment.xml's time wrote the names as numbers, which came out
 * backwards, and none behind traces.
 */
static int check_footers(struct hpc_state *state, struct pf_notes *notes, struct pf_error *error)
{
    bool xml4 = state->layout == HPC_XML4;
    const struct footer {
        struct pf_input *input;
        const char *file, *meta, *xml4, *reversed;
    } footers[] = {{xml4 ? NULL : state->description, "meta.db", "_meta.db", "", ""},
                   {state->profile_db, "profile.db", "_prof.db", "PROFDBft", "tfBDFORP"},
                   {state->cct_db, "cct.db", "__ctx.db", "CCTDBftr", "rtfBDTCC"},
                   {xml4 ? NULL : state->trace_db, "trace.db", "trace.db", "", ""}};
    for (size_t i = 0; i < sizeof footers / sizeof *footers; i++) {
        const struct footer *footer = &footers[i];
        char bytes[9] = {0};
        uint64_t size = footer->input ? pf_input_size(footer->input) : 0;
        if (footer->input && pf_input_read(footer->input, bytes, 8, size < 8 ? 0 : size - 8, error) < 0)
            return -1;
        bool whole = xml4 ? !strcmp(bytes, footer->xml4) || !strcmp(bytes, footer->reversed)
                          : !strcmp(bytes, footer->meta);
        if (footer->input && !whole)
            (void)hpc_note(notes, HPC_NOTE_FATAL_FOOTER, 0, (int64_t)size,
                           "%s does not end as it should: its writer may have been interrupted",
                           footer->file);
    }
    return 0;
}

/* ---- which metrics there are, and which have values ---------------------------------------------------- */

/*
 * A file larger than this is not looked through when it is opened: of a few of its profiles, here and there, the
 * first values are. What a writer does not describe mostly shows in every thread.
 */
#define LOOK_THROUGH ((uint64_t)1 << 20)
enum { SAMPLED_PROFILES = 8, SAMPLED_VALUES = HPC_WINDOW_FIRST / HPC_VALUE };

static int add_nameless(struct hpc_state *state, unsigned id, bool summary, struct pf_notes *notes,
                        struct pf_error *error)
{
    char name[24];
    snprintf(name, sizeof name, "metric %u", id);
    struct hpc_metric_facts facts = {
        .id = id, .name = hpc_keep(state, name, strlen(name), error), .scope = ""};
    if (!facts.name)
        return -1;
    int added = summary ? hpc_add_summary_metric(state, &facts, NULL, NULL, false, error)
                        : hpc_add_metric(state, &facts, error);
    if (added <= 0)
        return added;
    return hpc_note(notes, HPC_NOTE_WARNING_UNKNOWN_METRIC, 0, -1,
                    "profile.db: metric %u is not described; its values are kept under its number", id);
}

/* Goes through a block; of_summary: it is that of profiles like these whose metrics are marked as seen. */
static int look_for_metrics(struct reading *reading, const struct info *info, bool of_summary,
                            struct pf_error *error)
{
    struct hpc_state *state = reading->state;
    const struct hpc_block *block = &info->block;
    const struct hpc_idmap *ids = info->summary ? &state->summary_metrics.ids : &state->metrics.ids;
    for (uint64_t i = 0; i < block->n_values; i++) {
        unsigned id;
        const unsigned char *bytes = hpc_window_at(&reading->tuples, block->values + i * HPC_VALUE, HPC_VALUE,
                                                   block->values + block->n_values * HPC_VALUE, error);
        if (!bytes)
            return -1;
        if (hpc_value(state, bytes, &id) != 0 && info->summary == of_summary)
            reading->seen[id / 64] |= UINT64_C(1) << id % 64;
        if (hpc_idmap_find(ids, id) == HPC_NO_NUMBER &&
            add_nameless(state, id, info->summary, reading->notes, error))
            return -1;
    }
    return 0;
}

static bool is_seen(const uint64_t *seen, int64_t id)
{
    return id >= 0 && id < HPC_IDS && (seen[id / 64] >> id % 64 & 1);
}

static bool is_inclusive(const struct pf_metric *metric)
{
    return !strcmp(metric->scope, "execution") || !strcmp(metric->scope, "inclusive");
}

/*
 * Marks the metrics without values. whole: everything has been seen; else the first values, among them the root's inclusive
 * ones, which tell of the exclusive ones too. A point metric without values has no inclusive twin: the costs are of other
 * scopes alone.
 */
static void mark_empty(struct hpc_state *state, const uint64_t *seen, bool whole)
{
    for (size_t i = 0; i < state->metrics.count; i++) {
        struct pf_metric *metric = &state->metrics.items[i], *told = metric;
        if (!whole && !is_inclusive(metric) && metric->partner != PF_NO_PARTNER)
            told = &state->metrics.items[metric->partner];
        if (whole || is_inclusive(told))
            metric->empty = !is_seen(seen, told->id);
        if (metric->empty && !strcmp(metric->scope, "point"))
            metric->partner = PF_NO_PARTNER;
    }
}

/* Of a large file the summary tells, whose metrics have the threads' ids; not in experiment.xml's time. */
static int look_at_summary(struct reading *reading, struct pf_error *error)
{
    struct hpc_state *state = reading->state;
    struct info info = {.block = state->summary, .summary = true};
    if (!state->has_summary || state->layout == HPC_XML4)
        return 0;
    memset(reading->seen, 0, sizeof reading->seen);
    if (info.block.n_values > LOOK_THROUGH / HPC_VALUE)
        info.block.n_values = LOOK_THROUGH / HPC_VALUE;
    if (look_for_metrics(reading, &info, true, error))
        return -1;
    mark_empty(state, reading->seen, info.block.n_values == state->summary.n_values);
    return 0;
}

/*
 * Finds the summary, and looks at the profiles' values. Blocks may overlap in a broken file: it is gone through no more than
 * twice.
 */
static int look_at_profiles(struct hpc_state *state, struct pf_notes *notes, struct pf_error *error)
{
    struct reading reading;
    struct pf_notes later = {0}; /* told when all records are read */
    bool large = pf_input_size(state->profile_db) > LOOK_THROUGH;
    uint64_t left = 2 * LOOK_THROUGH / HPC_VALUE, most = large ? SAMPLED_VALUES : UINT64_MAX;
    int failed = begin(&reading, state, notes, error);
    uint64_t step = large ? reading.array.count / SAMPLED_PROFILES + 1 : 1; /* no more than so many */
    reading.of_records = &later;
    for (uint64_t i = 0; i < reading.array.count && !failed && left; i += step) {
        struct info info = {0};
        failed = read_record(&reading, i, &info, error);
        if (!i && info.summary) {
            state->has_summary = true;
            state->summary = info.block;
        }
        if (info.block.n_values > most)
            info.block.n_values = most;
        if (info.block.n_values > left)
            info.block.n_values = left;
        left -= info.block.n_values;
        failed = failed || look_for_metrics(&reading, &info, false, error);
    }
    if (!failed && large)
        failed = look_at_summary(&reading, error);
    else if (!failed && left)
        mark_empty(state, reading.seen, true);
    end(&reading);
    pf_notes_free(&later);
    return failed ? -1 : 0;
}

int hpc_profiles_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    if (open_file(profile, "profile.db", &state->profile_db, notes, error) ||
        open_file(profile, "cct.db", &state->cct_db, notes, error) ||
        open_file(profile, "trace.db", &state->trace_db, notes, error) || check_footers(state, notes, error))
        return -1;
    if (state->profile_db)
        return look_at_profiles(state, notes, error);
    return hpc_note(notes, HPC_NOTE_ERROR_NO_VALUES, 0, -1, "profile.db is missing: there are no values");
}

/* ---- threads ---------------------------------------------------------------------------------------- */

/*
 * Element of a tuple. experiment.xml's time: u16 kind (two bits of it say how to show it), u64 physical, u64 logical;
 * meta.db's: u8 kind, padding, u16 flags (bit 0: show the physical number too), u32 logical, u64 physical.
 */
static struct hpc_identity read_element(const struct hpc_state *state, const unsigned char *bytes)
{
    if (state->layout == HPC_XML4) {
        unsigned kind = pf_u16(bytes, true);
        return (struct hpc_identity){.kind = kind & 0x3fff,
                                     .shows_physical = !(kind >> 14 & 2),
                                     .physical = pf_u64(bytes + 2, true),
                                     .logical = pf_u64(bytes + 10, true)};
    }
    return (struct hpc_identity){.kind = bytes[0],
                                 .shows_physical = pf_u16(bytes + 2, false) & 1,
                                 .logical = pf_u32(bytes + 4, false),
                                 .physical = pf_u64(bytes + 8, false)};
}

/* Tuple: u16 number of elements (meta.db's layouts: and 6 bytes padding), the elements. */
static int read_tuple(struct reading *reading, uint64_t at, struct hpc_identities *identities,
                      struct pf_error *error)
{
    const struct hpc_state *state = reading->state;
    bool xml4 = state->layout == HPC_XML4;
    size_t head = xml4 ? 2 : 8, element = xml4 ? 18 : 16;
    uint64_t size = pf_input_size(state->profile_db);
    if (!at || !hpc_fits(at, head, 1, size))
        return 0;
    const unsigned char *bytes = hpc_window_at(&reading->tuples, at, head, size, error);
    if (!bytes)
        return -1;
    unsigned count = pf_u16(bytes, xml4);
    if (count > TUPLE_MAX || !hpc_fits(at + head, count, element, size))
        return hpc_note(reading->notes, HPC_NOTE_ERROR_IDENTITY, 0, (int64_t)at,
                        "profile.db: a thread's identity is broken; the thread goes by its number");
    for (unsigned i = 0; i < count; i++) {
        bytes = hpc_window_at(&reading->tuples, at + head + (uint64_t)i * element, element, size, error);
        if (!bytes)
            return -1;
        struct hpc_identity identity = read_element(state, bytes);
        if (hpc_identities_element(identities, &identity, error))
            return -1;
    }
    return 0;
}

static int add_thread(struct reading *reading, uint64_t i, const struct info *info,
                      struct hpc_identities *identities, struct pf_error *error)
{
    struct hpc_threads *threads = &reading->state->threads;
    if (hpc_idmap_add(&threads->profiles, i, threads->count, error) < 0)
        return -1;
    threads->items[threads->count++] = (struct hpc_thread){.block = info->block, .profile = (uint32_t)i};
    return hpc_identities_add(identities, (uint32_t)i, error) ||
                   read_tuple(reading, info->tuple, identities, error)
               ? -1
               : 0;
}

/* A summary that is not the first profile. Writers make one alone. */
static int keep_summary(struct reading *reading, uint64_t i, const struct info *info)
{
    struct hpc_state *state = reading->state;
    if (state->has_summary && state->summary_profile != i)
        return hpc_note(reading->notes, HPC_NOTE_WARNING_SUMMARY, 0,
                        (int64_t)(reading->array.at + i * reading->array.stride),
                        "profile.db: profile %llu is a second summary; it is left out",
                        (unsigned long long)i);
    state->has_summary = true;
    state->summary_profile = (uint32_t)i;
    state->summary = info->block;
    return 0;
}

static int read_threads(struct reading *reading, struct hpc_identities *identities, struct pf_pass *pass,
                        struct pf_error *error)
{
    struct hpc_threads *threads = &reading->state->threads;
    /* The records are in the file, each of at least 40 bytes: that many there can be. */
    threads->items = calloc(reading->array.count + 1, sizeof *threads->items);
    if (!threads->items)
        return pf_fail_memory(error);
    for (uint64_t i = 0; i < reading->array.count && i < UINT32_MAX; i++) {
        struct info info;
        if ((i % PROFILES_A_STEP == 0 && pf_pass_step(pass, i, reading->array.count, error)) ||
            read_record(reading, i, &info, error))
            return -1;
        if (info.summary ? i && keep_summary(reading, i, &info)
                         : add_thread(reading, i, &info, identities, error))
            return -1;
    }
    return 0;
}

void hpc_threads_free(struct hpc_threads *threads)
{
    hpc_idmap_free(&threads->profiles);
    free(threads->items);
    *threads = (struct hpc_threads){0};
}

int hpc_publish_threads(struct pf_profile *profile, const struct hpc_identities *identities,
                        struct pf_error *error)
{
    struct pf_rows *items = pf_rows_new(2), *fields = pf_rows_new(HPC_FIELDS);
    int failed = !items || !fields ? pf_fail_memory(error) : 0;
    if (failed || hpc_identities_publish(identities, hpc_state(profile), items, fields, error)) {
        pf_rows_free(items);
        pf_rows_free(fields);
        return -1;
    }
    profile->partitions.items = items;
    profile->partitions.fields = fields;
    return 0;
}

int hpc_profiles_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct hpc_identities identities = {0};
    struct reading reading;
    struct pf_notes again = {0}; /* what was noted when the profile was opened */
    int failed = 0;
    if (state->profile_db) {
        failed = begin(&reading, state, &again, error);
        reading.notes = reading.of_records = notes;
        failed = failed || read_threads(&reading, &identities, pass, error);
        end(&reading);
    }
    failed = failed || hpc_traces_load(state, notes, pass, error) ||
             hpc_publish_threads(profile, &identities, error);
    pf_notes_free(&again);
    hpc_identities_free(&identities);
    if (failed)
        hpc_threads_free(&state->threads);
    return failed ? -1 : 0;
}
