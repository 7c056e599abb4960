/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/cct.h"

#include <errno.h>
#include <stdlib.h>

/* Sizes in bytes: of a value, u32 profile and f64 value (experiment.xml's time: the reverse), and of a pair, u16 metric and u64
 * number of its first value. */
enum { VALUE = 12, PAIR = 10 };

/* What all the pieces of one walk take together at most, in values; how many blocks are looked at as a sample, and how many
 * values of each metric in these. */
enum { PIECES = 64 * 1024, SAMPLE = 32, SAMPLE_SHARE = 16, RECORDS_A_STEP = 16384 };

#define MAGIC_XML4 "HPCPROF-cctdb___"
#define MAGIC_META "HPCTOOLKITctxt"

/* What the record of a context tells. */
struct info {
    uint64_t n_values, values, pairs; /* the latter two are offsets */
    uint32_t n_metrics;
    uint32_t context;
};

/*
 * experiment.xml's time: u32 context, u64 values, u16 metrics, u64 block. meta.db's: u64 values, u64 offset of them, u16
 * metrics, padding, u64 offset of the pairs.
 */
static struct info read_info(const struct hpc_state *state, const unsigned char *bytes, uint64_t i)
{
    struct info info = {.context = (uint32_t)i};
    if (state->layout == HPC_XML4) {
        info.context = pf_u32(bytes, true);
        info.n_values = pf_u64(bytes + 4, true);
        info.n_metrics = pf_u16(bytes + 12, true);
        info.values = pf_u64(bytes + 14, true);
        if (__builtin_mul_overflow(info.n_values, (uint64_t)VALUE, &info.pairs) ||
            __builtin_add_overflow(info.pairs, info.values, &info.pairs))
            info.pairs = UINT64_MAX;
        return info;
    }
    info.n_values = pf_u64(bytes, false);
    info.values = pf_u64(bytes + 8, false);
    info.n_metrics = pf_u16(bytes + 16, false);
    info.pairs = pf_u64(bytes + 24, false);
    return info;
}

static size_t least_info(const struct hpc_state *state)
{
    return state->layout == HPC_XML4 ? 22 : 32;
}

/* experiment.xml's blocks end with one more pair. */
static uint64_t all_pairs(const struct hpc_state *state, const struct info *info)
{
    return (uint64_t)info->n_metrics + (state->layout == HPC_XML4);
}

static bool info_fits(const struct hpc_state *state, const struct info *info, uint64_t i)
{
    uint64_t size = pf_input_size(state->cct_db);
    return info->context == i &&
           (!info->n_values || (info->n_metrics && hpc_fits(info->values, info->n_values, VALUE, size) &&
                                hpc_fits(info->pairs, all_pairs(state, info), PAIR, size)));
}

/* ---- what it announces -------------------------------------------------------------------------------- */

/* Goes through the records; each may be NULL. *sum: values announced. 1; 0: some record is wrong; -1. */
static int walk_infos(const struct hpc_state *state, struct pf_pass *pass,
                      int (*each)(void *arg, uint32_t id, struct pf_error *error), void *arg, uint64_t *sum,
                      struct pf_error *error)
{
    const struct hpc_cct *cct = &state->cct;
    struct hpc_window window = {.input = state->cct_db, .room = 64 * 1024};
    size_t size = least_info(state);
    int sound = 1;
    *sum = 0;
    for (uint64_t i = 0; i < cct->count && sound > 0; i++) {
        const unsigned char *bytes = hpc_window_at(&window, cct->at + i * cct->stride, size,
                                                   cct->at + cct->count * cct->stride, error);
        struct info info = {0};
        if (!bytes || (i % RECORDS_A_STEP == 0 && pf_pass_step(pass, i, cct->count, error))) {
            sound = -1;
            break;
        }
        info = read_info(state, bytes, i);
        if (!info_fits(state, &info, i) || __builtin_add_overflow(*sum, info.n_values, sum))
            sound = 0;
        else if (info.n_values && each && each(arg, (uint32_t)i, error))
            sound = -1;
    }
    hpc_window_close(&window);
    return sound;
}

int hpc_cct_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                 struct pf_error *error)
{
    struct hpc_cct *cct = &state->cct;
    uint64_t sum, values = 0;
    *cct = (struct hpc_cct){0};
    if (!state->cct_db)
        return 0;
    if (hpc_read_array(state, state->cct_db, "cct.db", state->layout == HPC_XML4 ? MAGIC_XML4 : MAGIC_META,
                       least_info(state), &cct->at, &cct->count, &cct->stride, notes, error))
        return -1;
    for (uint32_t i = 0; i < state->threads.count; i++)
        values += state->threads.items[i].block.n_values;
    int sound = walk_infos(state, pass, NULL, NULL, &sum, error);
    if (sound < 0)
        return -1;
    cct->complete = sound && sum == values;
    if (cct->complete)
        return 0;
    return hpc_note(notes, HPC_NOTE_WARNING_CCT, 0, -1,
                    "cct.db does not announce what profile.db has; it is not used");
}

int hpc_cct_ids(const struct hpc_state *state, struct pf_pass *pass,
                int (*each)(void *arg, uint32_t id, struct pf_error *error), void *arg,
                struct pf_error *error)
{
    uint64_t sum;
    return walk_infos(state, pass, each, arg, &sum, error) < 0 ? -1 : 0;
}

/* ---- a context's block -------------------------------------------------------------------------------- */

/* The values of one metric: numbers [next, end) of the block's, some of which are held. */
struct list {
    uint64_t next, end;
    uint64_t start, have; /* held: [start, start + have) */
    unsigned char *bytes; /* in the walk's piece */
    uint32_t metric;      /* its id */
    uint32_t profile;     /* of the next value */
};

struct hpc_cct_walk {
    const struct hpc_state *state;
    struct info info;
    unsigned char *piece; /* `share` values for each list */
    uint64_t share;
    struct list *lists;
    uint32_t n_lists;
    uint32_t *heap, n_heap; /* the lists that have values left, the least (profile, metric) first */
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

static bool before(const struct hpc_cct_walk *walk, uint32_t a, uint32_t b)
{
    const struct list *x = &walk->lists[a], *y = &walk->lists[b];
    return x->profile != y->profile ? x->profile < y->profile : a < b;
}

static void sift(struct hpc_cct_walk *walk, uint32_t i)
{
    uint32_t *heap = walk->heap;
    for (;;) {
        uint32_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < walk->n_heap && before(walk, heap[left], heap[least]))
            least = left;
        if (right < walk->n_heap && before(walk, heap[right], heap[least]))
            least = right;
        if (least == i)
            return;
        uint32_t swap = heap[i];
        heap[i] = heap[least];
        heap[least] = swap;
        i = least;
    }
}

/* The pairs must name metrics in ascending order, and numbers that begin with 0 and do not fall. 1; 0; -1. */
static int read_lists(struct hpc_cct_walk *walk, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    size_t size = all_pairs(state, &walk->info) * PAIR;
    unsigned char *pairs = malloc(size + 1);
    if (!pairs)
        return pf_fail_memory(error);
    ssize_t got = pf_input_read(state->cct_db, pairs, size, walk->info.pairs, error);
    int sound = got < 0 ? -1 : (size_t)got == size;
    for (uint32_t i = 0; i < walk->n_lists && sound > 0; i++) {
        const unsigned char *pair = pairs + (size_t)i * PAIR;
        bool last = i + 1 == walk->n_lists;
        struct list *list = &walk->lists[i];
        list->metric = pf_u16(pair, state->big_endian);
        list->next = pf_u64(pair + 2, state->big_endian);
        list->end = last ? walk->info.n_values : pf_u64(pair + PAIR + 2, state->big_endian);
        list->bytes = walk->piece + i * walk->share * VALUE;
        sound = list->next <= list->end && list->end <= walk->info.n_values && (i || !list->next) &&
                (!i || list->metric > list[-1].metric);
    }
    /* experiment.xml's blocks: {0x6564, number of values} */
    if (sound > 0 && state->layout == HPC_XML4) {
        const unsigned char *last = pairs + (size_t)walk->n_lists * PAIR;
        sound = pf_u16(last, true) == 0x6564 && pf_u64(last + 2, true) == walk->info.n_values;
    }
    free(pairs);
    return sound;
}

/* Looks at a list's first piece: profiles ascend and are known. 1; 0; -1. */
static int check_list(struct hpc_cct_walk *walk, struct list *list, struct pf_error *error)
{
    if (list->next == list->end)
        return 1;
    const unsigned char *bytes = value_at(walk, list, list->next, error);
    if (!bytes)
        return -1;
    for (uint64_t i = 0; i < list->have; i++) {
        uint32_t profile = profile_of(walk->state, bytes + i * VALUE);
        if (hpc_idmap_find(&walk->state->threads.profiles, profile) == HPC_NO_NUMBER ||
            (i && profile <= profile_of(walk->state, bytes + (i - 1) * VALUE)))
            return 0;
    }
    list->profile = profile_of(walk->state, bytes);
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
    list->next = low;
    const unsigned char *bytes = low < list->end ? value_at(walk, list, low, error) : NULL;
    if (bytes)
        list->profile = profile_of(walk->state, bytes);
    return bytes || low == list->end ? 0 : -1;
}

/* Of a block that is only looked at, few values are. */
static int allocate(struct hpc_cct_walk *walk, bool sample, struct pf_error *error)
{
    walk->n_lists = walk->info.n_metrics;
    walk->share = sample ? SAMPLE_SHARE : PIECES / walk->n_lists + 1;
    if (walk->share > walk->info.n_values)
        walk->share = walk->info.n_values;
    walk->lists = calloc(walk->n_lists, sizeof *walk->lists);
    walk->heap = calloc(walk->n_lists, sizeof *walk->heap);
    walk->piece = malloc(walk->n_lists * walk->share * VALUE);
    return walk->lists && walk->heap && walk->piece ? 0 : pf_fail_memory(error);
}

/* 1: the walk stands before thread `first`; 0: the block is not sound; -1. */
static int enter(struct hpc_cct_walk *walk, uint32_t first, bool sample, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    if (allocate(walk, sample, error))
        return -1;
    int sound = read_lists(walk, error);
    for (uint32_t i = 0; i < walk->n_lists && sound > 0; i++) {
        struct list *list = &walk->lists[i];
        sound = check_list(walk, list, error);
        if (sound > 0 && first && skip(walk, list, state->threads.items[first].profile, error))
            sound = -1;
        if (sound > 0 && list->next < list->end)
            walk->heap[walk->n_heap++] = i;
    }
    for (uint32_t i = walk->n_heap / 2; i-- > 0 && sound > 0;)
        sift(walk, i);
    return sound;
}

/* The record of a context. 1; 0: it has none; -1. */
static int find_info(const struct hpc_state *state, uint32_t context, struct info *info,
                     struct pf_error *error)
{
    unsigned char bytes[32];
    if (!state->cct.complete || context >= state->cct.count)
        return 0;
    ssize_t got = pf_input_read(state->cct_db, bytes, least_info(state),
                                state->cct.at + context * state->cct.stride, error);
    if (got < (ssize_t)least_info(state))
        return got < 0 ? -1 : 0;
    *info = read_info(state, bytes, context);
    return info_fits(state, info, context);
}

static struct hpc_cct_walk *open_walk(const struct hpc_state *state, uint32_t context, uint32_t first,
                                      bool sample, struct pf_error *error)
{
    error->code = 0;
    struct hpc_cct_walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        pf_fail_memory(error);
        return NULL;
    }
    walk->state = state;
    int sound = find_info(state, context, &walk->info, error);
    if (sound > 0 && walk->info.n_values && first < state->threads.count)
        sound = enter(walk, first, sample, error);
    if (sound > 0)
        return walk;
    hpc_cct_close(walk);
    if (!sound)
        error->code = 0;
    return NULL;
}

struct hpc_cct_walk *hpc_cct_open(const struct hpc_state *state, uint32_t context, uint32_t first,
                                  struct pf_error *error)
{
    return open_walk(state, context, first, false, error);
}

/* Goes on to the list's next value. */
static int advance(struct hpc_cct_walk *walk, struct list *list, struct pf_error *error)
{
    uint32_t before_profile = list->profile;
    if (++list->next == list->end) {
        walk->heap[0] = walk->heap[--walk->n_heap];
        sift(walk, 0);
        return 0;
    }
    const unsigned char *bytes = value_at(walk, list, list->next, error);
    if (!bytes)
        return -1;
    list->profile = profile_of(walk->state, bytes);
    if (list->profile <= before_profile)
        return pf_fail(error, EIO, "cct.db: the profiles in a block do not ascend");
    sift(walk, 0);
    return 0;
}

int hpc_cct_next(struct hpc_cct_walk *walk, uint32_t *thread, struct hpc_group *group, struct pf_error *error)
{
    const struct hpc_state *state = walk->state;
    group->count = 0;
    while (walk->n_heap && !group->count) {
        uint32_t profile = walk->lists[walk->heap[0]].profile;
        *thread = hpc_idmap_find(&state->threads.profiles, profile);
        while (walk->n_heap && walk->lists[walk->heap[0]].profile == profile) {
            struct list *list = &walk->lists[walk->heap[0]];
            const unsigned char *bytes = value_at(walk, list, list->next, error);
            if (!bytes)
                return -1;
            bool known = *thread != HPC_NO_NUMBER &&
                         hpc_metric_at(&state->metrics.by_id, list->metric) != HPC_NO_NUMBER;
            if ((known && hpc_group_add(group, list->metric, value_of(state, bytes), error)) ||
                advance(walk, list, error))
                return -1;
        }
    }
    return group->count > 0;
}

void hpc_cct_close(struct hpc_cct_walk *walk)
{
    if (!walk)
        return;
    free(walk->lists);
    free(walk->heap);
    free(walk->piece);
    free(walk);
}

int hpc_cct_is_sound(const struct hpc_state *state, struct pf_error *error)
{
    if (!state->cct.complete)
        return 0;
    uint64_t step = state->cct.count / SAMPLE + 1;
    for (uint64_t i = 0; i < state->cct.count; i += step) {
        struct hpc_cct_walk *walk = open_walk(state, (uint32_t)i, 0, true, error);
        if (!walk)
            return error->code ? -1 : 0;
        hpc_cct_close(walk);
    }
    return 1;
}
