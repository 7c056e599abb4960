/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/array.h"

/* ---- groups ------------------------------------------------------------------------------------------ */

int hpc_group_add(struct hpc_group *group, uint32_t id, uint32_t metric, double value, struct pf_error *error)
{
    if (pf_array_room(&group->values, &group->room, group->count, sizeof *group->values, error))
        return -1;
    group->values[group->count] =
        (struct hpc_group_value){.id = id, .metric = metric, .place = (uint32_t)group->count, .value = value};
    group->count++;
    return 0;
}

static int by_metric_id(const void *left, const void *right)
{
    const struct hpc_group_value *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Sorts the values by metric id, and removes all but the first value of each metric. */
static void sort_group(struct hpc_group *group)
{
    bool sorted = true;
    for (size_t i = 1; i < group->count && sorted; i++)
        sorted = group->values[i - 1].id < group->values[i].id;
    if (sorted)
        return;
    qsort(group->values, group->count, sizeof *group->values, by_metric_id);
    size_t kept = 1;
    for (size_t i = 1; i < group->count; i++)
        if (group->values[i].id != group->values[kept - 1].id)
            group->values[kept++] = group->values[i];
    group->count = kept;
}

/* ---- blocks --------------------------------------------------------------------------------------- */

/*
 * In meta.db's layout, a value is u16 metric, f64 value. In experiment.xml's layout, the order is reversed, and the last
 * pair terminates the others. This pair has the context id END ("end!"), and its index is the number of values.
 */
enum { END = 0x656e6421 };

/* Maximum number of values of one context: one per metric id, which has 16 bits. */
enum { GROUP_MAX = 1 << 16 };

bool hpc_block_fits(const struct hpc_state *state, struct hpc_block *block)
{
    bool xml4 = state->layout == HPC_XML4;
    uint64_t end = pf_input_size(state->profile_db);
    if (!hpc_fits(block->values, block->n_values, HPC_VALUE, end))
        return false;
    if (xml4)
        block->indices = block->values + block->n_values * HPC_VALUE;
    return hpc_fits(block->indices, (uint64_t)block->n_contexts + xml4, HPC_PAIR, end);
}

void hpc_block_reader_init(struct hpc_block_reader *reader, const struct hpc_state *state, size_t room)
{
    struct pf_window window = {.input = state->profile_db, .room = room};
    *reader = (struct hpc_block_reader){state, window, window};
}

void hpc_block_reader_close(struct hpc_block_reader *reader)
{
    pf_window_close(&reader->pairs);
    pf_window_close(&reader->values);
}

static void free_block_reader(struct hpc_block_reader *reader)
{
    hpc_block_reader_close(reader);
    free(reader);
}

struct hpc_block_reader *hpc_block_reader_new(struct pf_run *run, size_t room)
{
    struct hpc_block_reader *reader = PF_OWN(run, calloc(1, sizeof *reader), free_block_reader);
    hpc_block_reader_init(reader, hpc_state(run->model), room);
    return reader;
}

/* Decodes a pair: u32 context id, u64 index of the context's first value. */
static void decode_pair(const struct hpc_state *state, const unsigned char *bytes, uint32_t *id,
                        uint64_t *number)
{
    *id = pf_u32(bytes, state->big_endian);
    *number = pf_u64(bytes + 4, state->big_endian);
}

int hpc_block_is_whole(struct hpc_block_reader *reader, const struct hpc_block *block, struct pf_error *error)
{
    uint32_t id;
    uint64_t number;
    if (reader->state->layout != HPC_XML4 || !block->indices || block->is_cut)
        return 1;
    const unsigned char *bytes = pf_window_at(
        &reader->pairs, block->indices + (uint64_t)block->n_contexts * HPC_PAIR, HPC_PAIR, error);
    if (!bytes)
        return -1;
    decode_pair(reader->state, bytes, &id, &number);
    return id == END && number == block->n_values;
}

int hpc_block_pair(struct hpc_block_reader *reader, const struct hpc_block *block, uint32_t i, uint32_t *id,
                   uint64_t *first, uint64_t *end, struct pf_error *error)
{
    bool last = i + 1 == block->n_contexts;
    uint32_t next;
    const unsigned char *bytes = pf_window_at(&reader->pairs, block->indices + (uint64_t)i * HPC_PAIR,
                                              last ? HPC_PAIR : 2 * HPC_PAIR, error);
    if (!bytes)
        return -1;
    decode_pair(reader->state, bytes, id, first);
    *end = block->n_values;
    if (!last)
        decode_pair(reader->state, bytes + HPC_PAIR, &next, end);
    return *first <= *end && *end <= block->n_values && *end - *first <= GROUP_MAX;
}

static uint32_t metric_id_in_value(const struct hpc_state *state, const unsigned char *bytes)
{
    return pf_u16(bytes + (state->layout == HPC_XML4 ? 8 : 0), state->big_endian);
}

static double number_in_value(const struct hpc_state *state, const unsigned char *bytes)
{
    return pf_f64(bytes + (state->layout == HPC_XML4 ? 0 : 2), state->big_endian);
}

int hpc_block_value(struct hpc_block_reader *reader, const struct hpc_block *block, uint64_t i,
                    uint32_t *metric, double *value, struct pf_error *error)
{
    const unsigned char *bytes =
        pf_window_at(&reader->values, block->values + i * HPC_VALUE, HPC_VALUE, error);
    if (!bytes)
        return -1;
    *metric = metric_id_in_value(reader->state, bytes);
    *value = number_in_value(reader->state, bytes);
    return 0;
}

int hpc_block_group(struct hpc_block_reader *reader, const struct hpc_block *block, uint32_t i,
                    const struct pf_ids *known, uint32_t *context, struct hpc_group *group,
                    struct pf_error *error)
{
    const struct hpc_state *state = reader->state;
    uint32_t id;
    uint64_t first, end;
    group->count = 0;
    *context = PF_NO_ID;
    int there = hpc_block_pair(reader, block, i, &id, &first, &end, error);
    if (there <= 0)
        return there;
    *context = pf_ids_find(&state->model.ids, id);
    if (*context == PF_NO_ID || first == end)
        return 0;
    const unsigned char *bytes = pf_window_at(&reader->values, block->values + first * HPC_VALUE,
                                              (size_t)(end - first) * HPC_VALUE, error);
    if (!bytes)
        return -1;
    for (; first < end; first++, bytes += HPC_VALUE) {
        uint32_t metric_id = metric_id_in_value(state, bytes), metric = pf_ids_find(known, metric_id);
        if (metric != PF_NO_ID &&
            hpc_group_add(group, metric_id, metric, number_in_value(state, bytes), error))
            return -1;
    }
    sort_group(group);
    return 0;
}

int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, uint64_t wanted,
                   uint32_t *entry, struct pf_error *error)
{
    uint32_t low = 0, high = block->n_contexts;
    *entry = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, id;
        unsigned char bytes[4];
        ssize_t got = pf_input_read(state->profile_db, bytes, sizeof bytes,
                                    block->indices + (uint64_t)middle * HPC_PAIR, error);
        if (got < (ssize_t)sizeof bytes)
            return got < 0 ? -1 : pf_fail(error, ENODATA, "profile.db ends inside a block");
        id = pf_u32(bytes, state->big_endian);
        if (id == wanted) {
            *entry = middle;
            return 0;
        }
        if (id < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* ---- the index from contexts to pairs --------------------------------------------------------------- */

/* Maximum number of pairs in an index (4 bytes per pair), and number of pairs between two checks of the pass. */
enum { PAIRS_MAX = 8 << 20, PAIRS_A_STEP = 1 << 14 };

uint64_t hpc_index_find(const struct hpc_index *index, uint32_t context, uint64_t known, uint64_t from)
{
    uint32_t pair = known < from ? index->next[known] : index->first[context];
    while (pair < from)
        pair = index->next[pair];
    return pair;
}

void hpc_index_free(struct hpc_index *index)
{
    free(index->first);
    free(index->next);
    *index = (struct hpc_index){0};
}

/*
 * Prepends a thread's pairs to the lists of their contexts. A context has at most one pair per thread, and threads are
 * added from the last to the first, so each list is in ascending order.
 */
static void add_pairs(struct pf_run *run, struct hpc_index *index, struct hpc_block_reader *reader,
                      uint32_t thread)
{
    const struct hpc_threads *threads = &reader->state->threads;
    const struct hpc_thread *of = &threads->items[thread];
    for (uint32_t i = 0; i < of->block.n_contexts; i++) {
        uint32_t id, pair = (uint32_t)of->before[HPC_OF_VALUES] + i;
        uint64_t first, end;
        if (i % PAIRS_A_STEP == 0)
            pf_run_step(run, threads->count - thread, threads->count);
        pf_run_check(run, hpc_block_pair(reader, &of->block, i, &id, &first, &end, run->error));
        uint32_t context = pf_ids_find(&reader->state->model.ids, id);
        if (context == PF_NO_ID)
            continue;
        index->next[pair] = index->first[context];
        index->first[context] = pair;
    }
}

void hpc_index_load(struct pf_run *run)
{
    struct hpc_state *state = hpc_state(run->model);
    struct hpc_index *index = &state->index;
    size_t contexts = state->model.contexts, pairs = state->threads.rows[HPC_OF_VALUES];
    if (pairs > PAIRS_MAX)
        return;
    struct hpc_block_reader *reader = hpc_block_reader_new(run, 64 * 1024);
    PF_OWN(run, index, hpc_index_free);
    index->first = pf_run_memory(run, malloc((contexts + 1) * sizeof *index->first));
    index->next = pf_run_memory(run, malloc((pairs + 1) * sizeof *index->next));
    memset(index->first, 0xff, (contexts + 1) * sizeof *index->first); /* sets all to HPC_NO_PAIR */
    memset(index->next, 0xff, (pairs + 1) * sizeof *index->next);
    for (uint32_t thread = state->threads.count; thread-- > 0;)
        add_pairs(run, index, reader, thread);
    pf_disown(run, index);
}
