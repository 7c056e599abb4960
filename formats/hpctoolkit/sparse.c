/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"

/* ---- groups ------------------------------------------------------------------------------------------ */

static int add_value(struct hpc_group *group, uint32_t metric, double value, struct pf_error *error)
{
    if (pf_array_room(&group->values, &group->room, group->count, sizeof *group->values, error))
        return -1;
    group->values[group->count] =
        (struct hpc_group_value){.metric = metric, .place = (uint32_t)group->count, .value = value};
    group->count++;
    return 0;
}

static int by_metric(const void *left, const void *right)
{
    const struct hpc_group_value *a = left, *b = right;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Sorts by metric; of two values of one metric the first stays. */
static void sort_group(struct hpc_group *group)
{
    bool sorted = true;
    for (size_t i = 1; i < group->count && sorted; i++)
        sorted = group->values[i - 1].metric < group->values[i].metric;
    if (sorted)
        return;
    qsort(group->values, group->count, sizeof *group->values, by_metric);
    size_t kept = 1;
    for (size_t i = 1; i < group->count; i++)
        if (group->values[i].metric != group->values[kept - 1].metric)
            group->values[kept++] = group->values[i];
    group->count = kept;
}

/* ---- blocks --------------------------------------------------------------------------------------- */

/*
 * By axis: sizes of a value and a pair in bytes, and the key behind the pairs of experiment.xml's time ("end!", "ed"), whose number
 * is that of the values. meta.db's: u16 metric or u32 profile, f64 value; experiment.xml's: the reverse.
 */
static const struct {
    size_t value, pair;
    uint32_t end;
} sizes[] = {[HPC_BY_THREAD] = {10, 12, 0x656e6421}, [HPC_BY_CONTEXT] = {12, 10, 0x6564}};

static struct pf_input *file_of(const struct hpc_state *state, enum hpc_axis axis)
{
    return axis == HPC_BY_THREAD ? state->profile_db : state->cct_db;
}

bool hpc_block_fits(const struct hpc_state *state, enum hpc_axis axis, struct hpc_block *block)
{
    bool xml4 = state->layout == HPC_XML4;
    uint64_t end = pf_input_size(file_of(state, axis));
    if (!hpc_fits(block->values, block->n_values, sizes[axis].value, end))
        return false;
    if (xml4)
        block->indices = block->values + block->n_values * sizes[axis].value;
    return hpc_fits(block->indices, (uint64_t)block->n_contexts + xml4, sizes[axis].pair, end);
}

void hpc_block_enter(struct hpc_block_walk *walk, const struct hpc_state *state, enum hpc_axis axis,
                     const struct hpc_block *block, uint32_t entry)
{
    walk->state = state;
    walk->axis = axis;
    walk->block = *block;
    walk->entry = entry;
    walk->begun = false;
    if (walk->pairs.input != file_of(state, axis))
        walk->pairs.have = walk->values.have = 0;
    walk->pairs.input = walk->values.input = file_of(state, axis);
}

void hpc_block_leave(struct hpc_block_walk *walk)
{
    pf_window_close(&walk->pairs);
    pf_window_close(&walk->values);
}

/* u32 context, u64 number, or u16 metric, u64 number. */
static void take_pair(const struct hpc_state *state, enum hpc_axis axis, const unsigned char *bytes,
                      uint32_t *key, uint64_t *number)
{
    size_t key_size = sizes[axis].pair - 8;
    *key = axis == HPC_BY_THREAD ? pf_u32(bytes, state->big_endian) : pf_u16(bytes, state->big_endian);
    *number = pf_u64(bytes + key_size, state->big_endian);
}

int hpc_block_is_whole(struct hpc_block_walk *walk, struct pf_error *error)
{
    const struct hpc_block *block = &walk->block;
    uint32_t key;
    uint64_t number;
    if (walk->state->layout != HPC_XML4 || !block->indices || block->is_cut)
        return 1;
    size_t pair = sizes[walk->axis].pair;
    const unsigned char *bytes =
        pf_window_at(&walk->pairs, block->indices + block->n_contexts * pair, pair, error);
    if (!bytes)
        return -1;
    take_pair(walk->state, walk->axis, bytes, &key, &number);
    return key == sizes[walk->axis].end && number == block->n_values;
}

int hpc_block_next(struct hpc_block_walk *walk, uint32_t *key, uint64_t *first, uint64_t *end,
                   struct pf_error *error)
{
    const struct hpc_block *block = &walk->block;
    size_t pair = sizes[walk->axis].pair;
    bool last = walk->entry + 1 == block->n_contexts;
    uint32_t next;
    if (walk->entry >= block->n_contexts)
        return 0;
    const unsigned char *bytes =
        pf_window_at(&walk->pairs, block->indices + walk->entry * pair, last ? pair : 2 * pair, error);
    if (!bytes)
        return -1;
    take_pair(walk->state, walk->axis, bytes, key, first);
    *end = block->n_values;
    if (!last)
        take_pair(walk->state, walk->axis, bytes + pair, &next, end);
    if (*first > *end || *end > block->n_values || (walk->begun && *key <= walk->last_key) ||
        (walk->axis == HPC_BY_THREAD && *end - *first > HPC_GROUP_MAX))
        return 0;
    walk->begun = true;
    walk->last_key = *key;
    walk->entry++;
    return 1;
}

int hpc_block_value(struct hpc_block_walk *walk, uint64_t i, uint32_t *other, double *value,
                    struct pf_error *error)
{
    bool big_endian = walk->state->big_endian, value_first = walk->state->layout == HPC_XML4;
    size_t size = sizes[walk->axis].value, other_size = size - 8;
    const unsigned char *bytes = pf_window_at(&walk->values, walk->block.values + i * size, size, error);
    if (!bytes)
        return -1;
    const unsigned char *at = bytes + (value_first ? 8 : 0);
    *other = walk->axis == HPC_BY_THREAD ? pf_u16(at, big_endian) : pf_u32(at, big_endian);
    *value = hpc_f64(bytes + (value_first ? 0 : other_size), big_endian);
    return 0;
}

int hpc_block_group(struct hpc_block_walk *walk, uint64_t first, uint64_t end, const struct pf_ids *known,
                    struct hpc_group *group, struct pf_error *error)
{
    group->count = 0;
    for (uint64_t i = first; i < end; i++) {
        uint32_t id;
        double value;
        if (hpc_block_value(walk, i, &id, &value, error) ||
            (pf_ids_find(known, id) != PF_NO_ID && add_value(group, id, value, error)))
            return -1;
    }
    sort_group(group);
    return 0;
}

int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, bool by_number,
                   uint64_t wanted, uint32_t *entry, struct pf_error *error)
{
    uint32_t low = 0, high = block->n_contexts, key;
    uint64_t number;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        unsigned char bytes[12];
        ssize_t got = pf_input_read(state->profile_db, bytes, sizeof bytes,
                                    block->indices + (uint64_t)middle * sizeof bytes, error);
        if (got < (ssize_t)sizeof bytes)
            return got < 0 ? -1 : pf_fail(error, EIO, "profile.db ends inside a block");
        take_pair(state, HPC_BY_THREAD, bytes, &key, &number);
        if ((by_number ? number : key) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    *entry = low;
    return 0;
}

/* ---- the records of cct.db ---------------------------------------------------------------------- */

/* How often to look whether somebody still waits. */
enum { RECORDS_A_STEP = 16384 };

static size_t least_info(const struct hpc_state *state)
{
    return state->layout == HPC_XML4 ? 22 : 32;
}

/*
 * What the record of a context tells, as a block whose pairs are of metrics. experiment.xml's time: u32 context, u64 values, u16
 * metrics, u64 block. meta.db's: u64 values, u64 offset of them, u16 metrics, padding, u64 offset of the pairs. False if it
 * can't be.
 */
static bool read_info(const struct hpc_state *state, const unsigned char *bytes, uint64_t i,
                      struct hpc_block *block)
{
    bool xml4 = state->layout == HPC_XML4;
    *block = xml4 ? (struct hpc_block){.n_values = pf_u64(bytes + 4, true),
                                       .n_contexts = pf_u16(bytes + 12, true),
                                       .values = pf_u64(bytes + 14, true)}
                  : (struct hpc_block){.n_values = pf_u64(bytes, false),
                                       .values = pf_u64(bytes + 8, false),
                                       .n_contexts = pf_u16(bytes + 16, false),
                                       .indices = pf_u64(bytes + 24, false)};
    if (xml4 && pf_u32(bytes, true) != i)
        return false;
    return !block->n_values || (block->n_contexts && hpc_block_fits(state, HPC_BY_CONTEXT, block));
}

/* Whether all records can be, and announce so many values together. 1; 0; -1 with *error filled. */
static int announces(const struct hpc_state *state, uint64_t values, struct pf_pass *pass,
                     struct pf_error *error)
{
    const struct hpc_array *records = &state->cct;
    struct pf_window window = {.input = state->cct_db, .room = 64 * 1024};
    int sound = 1;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < records->count && sound > 0; i++) {
        struct hpc_block info;
        const unsigned char *bytes =
            pf_window_at(&window, records->at + i * records->stride, least_info(state), error);
        if (!bytes || (i % RECORDS_A_STEP == 0 && pf_pass_step(pass, i, records->count, error)))
            sound = -1;
        else if (!read_info(state, bytes, i, &info) || __builtin_add_overflow(sum, info.n_values, &sum))
            sound = 0;
    }
    pf_window_close(&window);
    return sound > 0 ? sum == values : sound;
}

int hpc_cct_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                 struct pf_error *error)
{
    uint64_t values = 0;
    state->cct_complete = false;
    if (!state->cct_db)
        return 0;
    if (hpc_read_array(state, state->cct_db, "cct.db", "HPCPROF-cctdb___", "HPCTOOLKITctxt",
                       least_info(state), &state->cct, notes, error))
        return -1;
    for (uint32_t i = 0; i < state->threads.count; i++)
        values += state->threads.items[i].block.n_values;
    int sound = announces(state, values, pass, error);
    state->cct_complete = sound > 0;
    return sound ? (sound < 0 ? -1 : 0)
                 : hpc_note(notes, "warning", "cct", 0, -1,
                            "cct.db does not announce what profile.db has; it is not used");
}

/* ---- a context's block of cct.db ---------------------------------------------------------------- */

/* Longer blocks are not read, in values. */
enum { VALUES_MAX = 1 << 21 };

/* A value of cct.db. */
struct hpc_column_value {
    uint32_t thread, metric; /* the latter: its id */
    double value;
};

static int by_thread(const void *left, const void *right)
{
    const struct hpc_column_value *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->metric > b->metric) - (a->metric < b->metric);
}

/* A metric's values, whose profiles must ascend, and be known. 1; 0: they do not; -1: *error filled. */
static int take_values(struct hpc_column *column, uint32_t metric, uint64_t end, struct pf_error *error)
{
    const struct hpc_threads *threads = &column->state->threads;
    for (int64_t before = -1; column->count < end; column->count++) {
        struct hpc_column_value *value = &column->values[column->count];
        uint32_t profile;
        if (hpc_block_value(&column->block, column->count, &profile, &value->value, error))
            return -1;
        value->metric = metric;
        value->thread = pf_ids_find(&threads->profiles, profile);
        if (value->thread == PF_NO_ID || profile <= before)
            return 0;
        before = profile;
    }
    return 1;
}

/* The block of the column's context. 1; 0: there is none that can be; -1: *error filled. */
static int find_block(const struct hpc_column *column, struct hpc_block *block, struct pf_error *error)
{
    const struct hpc_state *state = column->state;
    unsigned char bytes[32];
    ssize_t least = (ssize_t)least_info(state);
    if (!state->cct_complete || column->id >= state->cct.count)
        return 0;
    ssize_t got = pf_input_read(state->cct_db, bytes, (size_t)least,
                                state->cct.at + column->id * state->cct.stride, error);
    if (got < least)
        return got < 0 ? -1 : 0;
    return read_info(state, bytes, column->id, block) && block->n_values <= VALUES_MAX;
}

/* Reads that, if it is sound: 1, and the values, by thread; 0: it is not; -1: *error filled. */
static int read_block(struct hpc_column *column, struct pf_error *error)
{
    struct hpc_block block;
    uint32_t metric;
    uint64_t first, end;
    int found = find_block(column, &block, error), more = 1;
    if (found <= 0)
        return found;
    column->values = calloc(block.n_values + 1, sizeof *column->values);
    if (!column->values)
        return pf_fail_memory(error);
    if (!block.n_values)
        return 1;
    hpc_block_enter(&column->block, column->state, HPC_BY_CONTEXT, &block, 0);
    int sound = hpc_block_is_whole(&column->block, error);
    while (sound > 0 && (more = hpc_block_next(&column->block, &metric, &first, &end, error)) > 0)
        sound = first == column->count ? take_values(column, metric, end, error) : 0;
    if (sound < 0 || more < 0)
        return -1;
    qsort(column->values, column->count, sizeof *column->values, by_thread);
    return sound && column->count == block.n_values;
}

/* ---- the index ---------------------------------------------------------------------------------- */

/* Bytes of profile.db from which on cct.db is read instead. */
#define CCT_LEAST ((uint64_t)16 << 20)

/* No index has more places, each of 8 bytes. */
#define PLACES_MAX ((uint64_t)4 << 20)

enum { PAIRS_A_STEP = 1 << 14 };

/* Where the threads' blocks have the contexts: by context and thread. */
struct hpc_index {
    uint32_t *first; /* by context: its first place; one more: the number of places */
    struct place {
        uint32_t thread, entry;
    } * places;
    uint32_t room; /* how many there can be */
};

void hpc_index_free(struct hpc_index *index)
{
    if (!index)
        return;
    free(index->places);
    free(index->first);
    free(index);
}

/* Goes through all pairs whose context is in the tree: counts those of each, or, once there is room for them, places them. */
static int walk_pairs(struct hpc_index *index, const struct hpc_state *state, struct pf_pass *pass,
                      struct pf_error *error)
{
    struct hpc_block_walk walk = {0};
    uint32_t id;
    uint64_t first, end;
    int more = 0;
    for (uint32_t i = 0; i < state->threads.count && !more; i++) {
        hpc_block_enter(&walk, state, HPC_BY_THREAD, &state->threads.items[i].block, 0);
        while (!more && (more = hpc_block_next(&walk, &id, &first, &end, error)) > 0) {
            uint32_t context = pf_ids_find(&state->model.ids, id);
            more =
                walk.entry % PAIRS_A_STEP == 1 && pf_pass_step(pass, i, state->threads.count, error) ? -1 : 0;
            if (context == PF_NO_ID)
                continue;
            /* The file may change between the two walks. */
            if (index->places && index->first[context] < index->room)
                index->places[index->first[context]] = (struct place){i, walk.entry - 1};
            index->first[context]++;
        }
    }
    hpc_block_leave(&walk);
    return more;
}

/* Sorts the places by counting: first[] is where the next one of a context goes, in the end where the next context's begin. */
static int fill(struct hpc_index *index, const struct hpc_state *state, struct pf_pass *pass,
                struct pf_error *error)
{
    uint32_t contexts = state->model.contexts;
    if (walk_pairs(index, state, pass, error))
        return -1;
    for (uint32_t c = 0; c < contexts; c++) {
        uint32_t count = index->first[c];
        index->first[c] = index->room;
        index->room += count;
    }
    index->places = calloc((size_t)index->room + 1, sizeof *index->places);
    if (!index->places)
        return pf_fail_memory(error);
    if (walk_pairs(index, state, pass, error))
        return -1;
    memmove(index->first + 1, index->first, contexts * sizeof *index->first);
    index->first[0] = 0;
    index->first[contexts] = index->room;
    return 0;
}

int hpc_index_load(struct hpc_state *state, struct pf_pass *pass, struct pf_error *error)
{
    uint64_t pairs = 0;
    bool by_cct = state->cct_complete && pf_input_size(state->profile_db) > CCT_LEAST;
    for (uint32_t i = 0; i < state->threads.count; i++)
        pairs += state->threads.items[i].block.n_contexts;
    if (by_cct || pairs > PLACES_MAX)
        return 0;
    struct hpc_index *index = state->index = calloc(1, sizeof *index);
    if (!index)
        return pf_fail_memory(error);
    index->first = calloc((size_t)state->model.contexts + 1, sizeof *index->first);
    int failed = index->first ? fill(index, state, pass, error) : pf_fail_memory(error);
    if (failed) {
        hpc_index_free(index);
        state->index = NULL;
    }
    return failed;
}

/* ---- the walk over a context's column ------------------------------------------------------------ */

int hpc_column_open(struct hpc_column *column, const struct hpc_state *state, uint32_t context, uint32_t id,
                    uint32_t first, struct pf_error *error)
{
    const struct hpc_index *index = state->index;
    *column = (struct hpc_column){.state = state, .id = id, .thread = first};
    if (index) {
        column->next = index->first[context];
        column->count = index->first[context + 1];
        return 0;
    }
    int sound = read_block(column, error);
    if (sound <= 0) {
        free(column->values);
        column->values = NULL;
    }
    return sound < 0 ? -1 : 0;
}

/* The next thread's values of cct.db. As hpc_column_next. */
static int next_values(struct hpc_column *column, uint32_t *thread, struct hpc_group *group,
                       struct pf_error *error)
{
    group->count = 0;
    while (column->next < column->count && !group->count) {
        const struct hpc_column_value *value = &column->values[column->next];
        *thread = value->thread;
        for (; column->next < column->count && value->thread == *thread; value++, column->next++)
            if (pf_ids_find(&column->state->metrics.taken.ids, value->metric) != PF_NO_ID &&
                add_value(group, value->metric, value->value, error))
                return -1;
    }
    return group->count > 0;
}

/* Where the next thread's block may have the context. 1; 0: none has; -1: *error filled. */
static int next_place(struct hpc_column *column, struct place *place, struct pf_error *error)
{
    const struct hpc_state *state = column->state;
    if (state->index) {
        if (column->next == column->count)
            return 0;
        *place = state->index->places[column->next++];
        return 1;
    }
    place->entry = UINT32_MAX;
    for (uint32_t before = 0; column->thread < state->threads.count && !before;) {
        place->thread = column->thread++;
        if (hpc_block_find(state, &state->threads.items[place->thread].block, false, column->id, &before,
                           error))
            return -1;
        place->entry = before - 1;
    }
    return place->entry != UINT32_MAX;
}

int hpc_column_next(struct hpc_column *column, uint32_t *thread, struct hpc_group *group,
                    struct pf_error *error)
{
    const struct hpc_state *state = column->state;
    struct place place;
    uint32_t id;
    uint64_t first, end;
    int more;
    if (column->values)
        return next_values(column, thread, group, error);
    while ((more = next_place(column, &place, error)) > 0) {
        *thread = place.thread;
        hpc_block_enter(&column->block, state, HPC_BY_THREAD, &state->threads.items[place.thread].block,
                        place.entry);
        more = hpc_block_next(&column->block, &id, &first, &end, error);
        if (more <= 0 || id != column->id)
            first = end = 0;
        if (more < 0 || hpc_block_group(&column->block, first, end, &state->metrics.taken.ids, group, error))
            return -1;
        if (group->count)
            return 1;
    }
    return more;
}

void hpc_column_close(struct hpc_column *column)
{
    hpc_block_leave(&column->block);
    free(column->values);
    column->values = NULL;
}
