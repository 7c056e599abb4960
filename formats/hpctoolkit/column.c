/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/hpctoolkit/read.h"
#include "formats/kit/sorter.h"
#include "formats/kit/store.h"

/* Sizes in bytes: of a value, u32 profile and f64 value (experiment.xml's time: the reverse), and of a pair, u16 metric and u64
 * number of its first value. */
enum { VALUE = 12, PAIR = 10 };

/* What all the pieces of one walk take together at most, in values; how many blocks are looked at as a sample, and how many
 * values of each metric in these; how often to look whether somebody still waits. */
enum { PIECES = 64 * 1024, SAMPLE = 32, SAMPLE_SHARE = 16, RECORDS_A_STEP = 16384 };

/* ---- the records of cct.db ---------------------------------------------------------------------- */

/* What the record of a context tells. */
struct info {
    uint64_t n_values, values, pairs; /* the latter two are offsets */
    uint32_t n_metrics;
};

static size_t least_info(const struct hpc_state *state)
{
    return state->layout == HPC_XML4 ? 22 : 32;
}

/*
 * experiment.xml's time: u32 context, u64 values, u16 metrics, u64 block, whose pairs stand behind its values and end with one
 * more. meta.db's: u64 values, u64 offset of them, u16 metrics, padding, u64 offset of the pairs. False if that can't be.
 */
static bool read_info(const struct hpc_state *state, const unsigned char *bytes, uint64_t i,
                      struct info *info)
{
    uint64_t size = pf_input_size(state->cct_db);
    bool xml4 = state->layout == HPC_XML4, sound = true;
    if (xml4) {
        *info = (struct info){.n_values = pf_u64(bytes + 4, true),
                              .n_metrics = pf_u16(bytes + 12, true),
                              .values = pf_u64(bytes + 14, true)};
        sound = pf_u32(bytes, true) == i;
        if (__builtin_mul_overflow(info->n_values, (uint64_t)VALUE, &info->pairs) ||
            __builtin_add_overflow(info->pairs, info->values, &info->pairs))
            info->pairs = UINT64_MAX;
    } else {
        *info = (struct info){.n_values = pf_u64(bytes, false),
                              .values = pf_u64(bytes + 8, false),
                              .n_metrics = pf_u16(bytes + 16, false),
                              .pairs = pf_u64(bytes + 24, false)};
    }
    return sound &&
           (!info->n_values || (info->n_metrics && hpc_fits(info->values, info->n_values, VALUE, size) &&
                                hpc_fits(info->pairs, (uint64_t)info->n_metrics + xml4, PAIR, size)));
}

/* Goes through the records; each may be NULL. *sum: values announced. 1; 0: some record is wrong; -1. */
static int walk_infos(const struct hpc_state *state, struct pf_pass *pass,
                      int (*each)(void *arg, uint32_t id, struct pf_error *error), void *arg, uint64_t *sum,
                      struct pf_error *error)
{
    const struct hpc_array *records = &state->cct;
    struct hpc_window window = {.input = state->cct_db, .room = 64 * 1024};
    uint64_t end = records->at + records->count * records->stride;
    int sound = 1;
    *sum = 0;
    for (uint64_t i = 0; i < records->count && sound > 0; i++) {
        struct info info;
        const unsigned char *bytes =
            hpc_window_at(&window, records->at + i * records->stride, least_info(state), end, error);
        bool stopped = !bytes || (i % RECORDS_A_STEP == 0 && pf_pass_step(pass, i, records->count, error));
        if (!stopped &&
            (!read_info(state, bytes, i, &info) || __builtin_add_overflow(*sum, info.n_values, sum)))
            sound = 0;
        else if (stopped || (info.n_values && each && each(arg, (uint32_t)i, error)))
            sound = -1;
    }
    hpc_window_close(&window);
    return sound;
}

int hpc_cct_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                 struct pf_error *error)
{
    uint64_t sum, values = 0;
    state->cct_complete = false;
    if (!state->cct_db)
        return 0;
    if (hpc_read_array(state, state->cct_db, "cct.db", "HPCPROF-cctdb___", "HPCTOOLKITctxt",
                       least_info(state), &state->cct, notes, error))
        return -1;
    for (uint32_t i = 0; i < state->threads.count; i++)
        values += state->threads.items[i].block.n_values;
    int sound = walk_infos(state, pass, NULL, NULL, &sum, error);
    if (sound < 0)
        return -1;
    state->cct_complete = sound && sum == values;
    return state->cct_complete ? 0
                               : hpc_note(notes, HPC_NOTE_WARNING_CCT, 0, -1,
                                          "cct.db does not announce what profile.db has; it is not used");
}

int hpc_cct_ids(const struct hpc_state *state, struct pf_pass *pass,
                int (*each)(void *arg, uint32_t id, struct pf_error *error), void *arg,
                struct pf_error *error)
{
    uint64_t sum;
    return walk_infos(state, pass, each, arg, &sum, error) < 0 ? -1 : 0;
}

/* ---- a context's block of cct.db ---------------------------------------------------------------- */

/* The values of one metric: numbers [next, end) of the block's, some of which are held. */
struct list {
    uint64_t next, end;
    uint64_t start, have; /* held: [start, start + have) */
    unsigned char *bytes; /* in the walk's piece */
    uint32_t metric;      /* its id */
    uint32_t profile;     /* of the next value, if there is one */
};

struct hpc_cct_walk {
    const struct hpc_state *state;
    struct info info;
    unsigned char *piece; /* `share` values for each list */
    uint64_t share;
    struct list *lists;
    uint32_t n_lists;
};

static uint32_t profile_of(const struct hpc_state *state, const unsigned char *bytes)
{
    return pf_u32(bytes + (state->layout == HPC_XML4 ? 8 : 0), state->big_endian);
}

static double value_of(const struct hpc_state *state, const unsigned char *bytes)
{
    return hpc_f64(bytes + (state->layout == HPC_XML4 ? 0 : 4), state->big_endian);
}

/* The bytes of value i of a list, read with as many of those that follow as its share allows. */
static const unsigned char *value_at(struct hpc_cct_walk *walk, struct list *list, uint64_t i,
                                     struct pf_error *error)
{
    if (i < list->start || i - list->start >= list->have) {
        uint64_t left = list->end - i, want = left < walk->share ? left : walk->share;
        ssize_t got = pf_input_read(walk->state->cct_db, list->bytes, want * VALUE,
                                    walk->info.values + i * VALUE, error);
        if (got < (ssize_t)(want * VALUE)) {
            if (got >= 0)
                pf_fail(error, EIO, "cct.db ends inside a block");
            return NULL;
        }
        list->start = i;
        list->have = want;
    }
    return list->bytes + (i - list->start) * VALUE;
}

/* Goes to value i of the list, or behind its last one. 0, or -1 with *error filled. */
static int stand_at(struct hpc_cct_walk *walk, struct list *list, uint64_t i, struct pf_error *error)
{
    list->next = i;
    if (i == list->end)
        return 0;
    const unsigned char *bytes = value_at(walk, list, i, error);
    if (bytes)
        list->profile = profile_of(walk->state, bytes);
    return bytes ? 0 : -1;
}

/* The pairs must name metrics in ascending order, and numbers that begin with 0 and do not fall. 1; 0; -1. */
static int read_lists(struct hpc_cct_walk *walk, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    bool big_endian = state->big_endian, xml4 = state->layout == HPC_XML4;
    size_t size = ((size_t)walk->n_lists + xml4) * PAIR;
    unsigned char *pairs = malloc(size + 1);
    if (!pairs)
        return pf_fail_memory(error);
    ssize_t got = pf_input_read(state->cct_db, pairs, size, walk->info.pairs, error);
    int sound = got < 0 ? -1 : (size_t)got == size;
    for (uint32_t i = 0; i < walk->n_lists && sound > 0; i++) {
        const unsigned char *pair = pairs + (size_t)i * PAIR;
        struct list *list = &walk->lists[i];
        list->metric = pf_u16(pair, big_endian);
        list->next = pf_u64(pair + 2, big_endian);
        list->end = i + 1 == walk->n_lists ? walk->info.n_values : pf_u64(pair + PAIR + 2, big_endian);
        list->bytes = walk->piece + i * walk->share * VALUE;
        sound = list->next <= list->end && list->end <= walk->info.n_values && (i || !list->next) &&
                (!i || list->metric > list[-1].metric);
    }
    /* experiment.xml's blocks: {0x6564, number of values} */
    const unsigned char *last = pairs + (size_t)walk->n_lists * PAIR;
    if (sound > 0 && xml4)
        sound = pf_u16(last, true) == 0x6564 && pf_u64(last + 2, true) == walk->info.n_values;
    free(pairs);
    return sound;
}

/* Looks at a list's first piece: profiles ascend and are known. 1; 0; -1. */
static int check_list(struct hpc_cct_walk *walk, struct list *list, struct pf_error *error)
{
    if (stand_at(walk, list, list->next, error))
        return -1;
    for (uint64_t i = 0; list->next < list->end && i < list->have; i++) {
        uint32_t profile = profile_of(walk->state, list->bytes + i * VALUE);
        if (hpc_idmap_find(&walk->state->threads.profiles, profile) == HPC_NO_NUMBER ||
            (i && profile <= profile_of(walk->state, list->bytes + (i - 1) * VALUE)))
            return 0;
    }
    return 1;
}

/* Goes to the first value of profile `least` or a later one, by halving. */
static int skip(struct hpc_cct_walk *walk, struct list *list, uint32_t least, struct pf_error *error)
{
    uint64_t low = list->next, high = list->end;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const unsigned char *bytes = value_at(walk, list, middle, error);
        if (!bytes)
            return -1;
        if (profile_of(walk->state, bytes) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return stand_at(walk, list, low, error);
}

/* 1: the walk stands before thread `first`; 0: the block is not sound; -1. Of a sample few values are looked at. */
static int enter(struct hpc_cct_walk *walk, uint32_t first, bool sample, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    walk->n_lists = walk->info.n_metrics;
    walk->share = sample ? SAMPLE_SHARE : PIECES / walk->n_lists + 1;
    if (walk->share > walk->info.n_values)
        walk->share = walk->info.n_values;
    walk->lists = calloc(walk->n_lists, sizeof *walk->lists);
    walk->piece = malloc(walk->n_lists * walk->share * VALUE);
    if (!walk->lists || !walk->piece)
        return pf_fail_memory(error);
    int sound = read_lists(walk, error);
    for (uint32_t i = 0; i < walk->n_lists && sound > 0; i++) {
        sound = check_list(walk, &walk->lists[i], error);
        if (sound > 0 && first && skip(walk, &walk->lists[i], state->threads.items[first].profile, error))
            sound = -1;
    }
    return sound;
}

static void close_cct(struct hpc_cct_walk *walk)
{
    if (!walk)
        return;
    free(walk->lists);
    free(walk->piece);
    free(walk);
}

/* The walk over a context's block from thread `first` on. NULL with error->code 0 if the block is not sound or cct.db of no
 * use; NULL with *error filled. */
static struct hpc_cct_walk *open_cct(const struct hpc_state *state, uint32_t context, uint32_t first,
                                     bool sample, struct pf_error *error)
{
    unsigned char bytes[32];
    error->code = 0;
    if (!state->cct_complete || context >= state->cct.count)
        return NULL;
    struct hpc_cct_walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        pf_fail_memory(error);
        return NULL;
    }
    walk->state = state;
    ssize_t size = (ssize_t)least_info(state),
            got = pf_input_read(state->cct_db, bytes, (size_t)size,
                                state->cct.at + context * state->cct.stride, error);
    int sound = got < 0 ? -1 : got == size && read_info(state, bytes, context, &walk->info);
    if (sound > 0 && walk->info.n_values && first < state->threads.count)
        sound = enter(walk, first, sample, error);
    if (sound > 0)
        return walk;
    close_cct(walk);
    if (!sound)
        error->code = 0;
    return NULL;
}

/* Adds the next value of a list to the group, if its thread and metric are known, and goes on. 0, or -1 with *error filled. */
static int take(struct hpc_cct_walk *walk, struct list *list, bool known, struct hpc_group *group,
                struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    const unsigned char *bytes = value_at(walk, list, list->next, error);
    uint32_t before = list->profile;
    if (!bytes ||
        (known && hpc_metric_at(&state->metrics.by_id, list->metric) != HPC_NO_NUMBER &&
         hpc_group_add(group, list->metric, value_of(state, bytes), error)) ||
        stand_at(walk, list, list->next + 1, error))
        return -1;
    return list->next < list->end && list->profile <= before
               ? pf_fail(error, EIO, "cct.db: the profiles in a block do not ascend")
               : 0;
}

/* As hpc_column_next. */
static int next_in_cct(struct hpc_cct_walk *walk, uint32_t *thread, struct hpc_group *group,
                       struct pf_error *error)
{
    group->count = 0;
    while (!group->count) {
        uint64_t profile = UINT64_MAX;
        for (uint32_t i = 0; i < walk->n_lists; i++)
            if (walk->lists[i].next < walk->lists[i].end && walk->lists[i].profile < profile)
                profile = walk->lists[i].profile;
        if (profile == UINT64_MAX)
            return 0;
        *thread = hpc_idmap_find(&walk->state->threads.profiles, profile);
        for (uint32_t i = 0; i < walk->n_lists; i++) {
            struct list *list = &walk->lists[i];
            if (list->next < list->end && list->profile == profile &&
                take(walk, list, *thread != HPC_NO_NUMBER, group, error))
                return -1;
        }
    }
    return 1;
}

/* True if some blocks, looked at here and there, all are sound. -1 with *error filled. */
static int is_sound(const struct hpc_state *state, struct pf_error *error)
{
    uint64_t step = state->cct.count / SAMPLE + 1;
    for (uint64_t i = 0; i < state->cct.count; i += step) {
        struct hpc_cct_walk *walk = open_cct(state, (uint32_t)i, 0, true, error);
        if (!walk)
            return error->code ? -1 : 0;
        close_cct(walk);
    }
    return state->cct_complete;
}

/* ---- the index ---------------------------------------------------------------------------------- */

/* Bytes of pairs that are held in memory while they are sorted, and afterwards. */
enum { HELD = 8 << 20, PAIRS_A_STEP = 1 << 14 };

/* Where the threads' blocks have the contexts: by context and thread. */
struct hpc_index {
    uint64_t *first;         /* by context: its first place; one more: the number of places */
    struct pf_store *places; /* struct place */
};

struct place {
    uint32_t thread, entry;
};

/* Adds the pairs of a thread whose context is in the tree. */
static int add_thread(const struct hpc_state *state, uint32_t thread, struct hpc_block_walk *walk,
                      struct pf_sorter *sorter, struct pf_pass *pass, struct pf_error *error)
{
    uint32_t id;
    uint64_t first, end;
    int more;
    hpc_block_enter(walk, state, &state->threads.items[thread].block, 0);
    while ((more = hpc_block_next(walk, &id, &first, &end, error)) > 0) {
        uint64_t context = hpc_idmap_find(&state->model.ids, id);
        uint64_t record[] = {context << 32 | thread, walk->entry - 1};
        if ((walk->entry % PAIRS_A_STEP == 1 && pf_pass_step(pass, thread, state->threads.count, error)) ||
            (context != HPC_NO_NUMBER && pf_sorter_add(sorter, record, error)))
            return -1;
    }
    return more;
}

static int fill(struct hpc_index *index, const struct hpc_state *state, struct pf_sorter *sorter,
                struct pf_pass *pass, struct pf_error *error)
{
    struct hpc_block_walk walk = {0};
    const uint64_t *record;
    int more = 0;
    for (uint32_t i = 0; i < state->threads.count && !more; i++)
        more = add_thread(state, i, &walk, sorter, pass, error);
    hpc_block_leave(&walk);
    if (more || pf_sorter_finish(sorter, error))
        return -1;
    for (uint64_t n = 0; (more = pf_sorter_next(sorter, &record, error)) > 0; n++) {
        struct place place = {(uint32_t)record[0], (uint32_t)record[1]};
        index->first[(record[0] >> 32) + 1]++;
        if (pf_store_append(index->places, &place, sizeof place, error) ||
            (n % PAIRS_A_STEP == 0 && pf_pass_step(pass, 1, 1, error)))
            return -1;
    }
    for (uint32_t c = 0; c < state->model.contexts; c++)
        index->first[c + 1] += index->first[c];
    return more;
}

void hpc_index_free(struct hpc_index *index)
{
    if (!index)
        return;
    pf_store_free(index->places);
    free(index->first);
    free(index);
}

int hpc_index_load(struct hpc_state *state, struct pf_pass *pass, struct pf_error *error)
{
    int sound = pf_input_size(state->profile_db) > HPC_CCT_LEAST ? is_sound(state, error) : 0;
    if (sound)
        return sound < 0 ? -1 : 0;
    struct hpc_index *index = state->index = calloc(1, sizeof *index);
    if (!index)
        return pf_fail_memory(error);
    index->first = calloc((size_t)state->model.contexts + 1, sizeof *index->first);
    index->places = pf_store_new(HELD);
    struct pf_sorter *sorter = pf_sorter_new(2, 1, HELD);
    int failed = index->first && index->places && sorter ? fill(index, state, sorter, pass, error)
                                                         : pf_fail_memory(error);
    pf_sorter_free(sorter);
    if (failed) {
        hpc_index_free(index);
        state->index = NULL;
    }
    return failed ? -1 : 0;
}

static int place_at(const struct hpc_index *index, uint64_t i, struct place *place, struct pf_error *error)
{
    return pf_store_read(index->places, i * sizeof *place, place, sizeof *place, error);
}

/* ---- the walk ----------------------------------------------------------------------------------- */

int hpc_column_open(struct hpc_column *column, const struct hpc_state *state, uint32_t context, uint32_t id,
                    uint32_t first, struct pf_error *error)
{
    const struct hpc_index *index = state->index;
    *column = (struct hpc_column){.state = state, .id = id, .thread = first, .block.single = true};
    if (!index) {
        column->cct = open_cct(state, id, first, false, error);
        return column->cct || !error->code ? 0 : -1;
    }
    uint64_t low = index->first[context], high = column->end = index->first[context + 1];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct place place;
        if (place_at(index, middle, &place, error))
            return -1;
        if (place.thread < first)
            low = middle + 1;
        else
            high = middle;
    }
    column->pair = low;
    return 0;
}

/* Where the next thread's block has the context. 1; 0: none has; -1. */
static int next_place(struct hpc_column *column, struct place *place, struct pf_error *error)
{
    const struct hpc_state *state = column->state;
    if (state->index)
        return column->pair == column->end                            ? 0
               : place_at(state->index, column->pair++, place, error) ? -1
                                                                      : 1;
    while (column->thread < state->threads.count) {
        const struct hpc_block *block = &state->threads.items[column->thread].block;
        place->thread = column->thread++;
        if (hpc_block_find(state, block, column->id, &place->entry, error))
            return -1;
        if (place->entry < block->n_contexts)
            return 1;
    }
    return 0;
}

int hpc_column_next(struct hpc_column *column, uint32_t *thread, struct hpc_group *group,
                    struct pf_error *error)
{
    const struct hpc_state *state = column->state;
    struct place place;
    uint32_t id;
    uint64_t first, end;
    int more;
    if (column->cct)
        return next_in_cct(column->cct, thread, group, error);
    while ((more = next_place(column, &place, error)) > 0) {
        *thread = place.thread;
        hpc_block_enter(&column->block, state, &state->threads.items[place.thread].block, place.entry);
        more = hpc_block_next(&column->block, &id, &first, &end, error);
        if (more < 0 ||
            (more && hpc_block_values(&column->block, first, end, &state->metrics.by_id, group, error)))
            return -1;
        if (more && group->count)
            return 1;
    }
    return more;
}

void hpc_column_close(struct hpc_column *column)
{
    hpc_block_leave(&column->block);
    close_cct(column->cct);
    column->cct = NULL;
}
