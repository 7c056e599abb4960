/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/transpose.h"

#include <stdlib.h>

#include "formats/hpctoolkit/group.h"
#include "formats/hpctoolkit/memory.h"

/*
 * Made in two rounds, so that memory is bounded whatever there is to sort. First all pairs go, in the order of
 * threads, to the bucket of their context, each bucket being a range of contexts with about the same number of
 * pairs; buckets collect in memory and are written where they will stand. Then each bucket is read, sorted by
 * context (which keeps the threads in order) and written back.
 */
struct pair {
    uint32_t context, thread, entry;
};

enum {
    BUCKETS = 256,
    COLLECTED = 2048, /* pairs a bucket collects before they are written */
    MEMORY = 8 << 20, /* bytes of pairs that are held in memory */
};

struct hpc_transpose {
    uint64_t *first; /* by context: its first pair; one more: the number of pairs */
    uint32_t contexts;
    struct pf_store *pairs; /* struct pair */
};

static int count_pair(void *arg, const struct hpc_pair *pair, struct pf_error *error)
{
    struct hpc_transpose *transpose = arg;
    (void)error;
    transpose->first[pair->context + 1]++;
    return 0;
}

/* ---- buckets ------------------------------------------------------------------------------------------ */

struct bucket {
    uint32_t end;   /* one past its last context */
    uint64_t next;  /* number of the next pair to be written */
    uint32_t count; /* pairs collected */
    struct pair *collected;
};

struct buckets {
    struct hpc_transpose *transpose;
    struct bucket items[BUCKETS];
    struct pair *collected; /* COLLECTED for each */
    uint8_t *of;            /* by context: its bucket */
};

static int write_pairs(struct pf_store *store, uint64_t at, const struct pair *pairs, size_t count,
                       struct pf_error *error)
{
    return pf_store_write(store, at * sizeof *pairs, pairs, count * sizeof *pairs, error);
}

static int flush(struct buckets *buckets, struct bucket *bucket, struct pf_error *error)
{
    if (bucket->count &&
        write_pairs(buckets->transpose->pairs, bucket->next, bucket->collected, bucket->count, error))
        return -1;
    bucket->next += bucket->count;
    bucket->count = 0;
    return 0;
}

static int put_pair(void *arg, const struct hpc_pair *pair, struct pf_error *error)
{
    struct buckets *buckets = arg;
    struct bucket *bucket = &buckets->items[buckets->of[pair->context]];
    if (bucket->count == COLLECTED && flush(buckets, bucket, error))
        return -1;
    bucket->collected[bucket->count++] = (struct pair){pair->context, pair->thread, pair->entry};
    return 0;
}

/* Ranges of contexts with about as many pairs each. */
static int make_buckets(struct buckets *buckets, struct hpc_transpose *transpose, struct pf_error *error)
{
    uint64_t all = transpose->first[transpose->contexts];
    uint32_t context = 0;
    buckets->transpose = transpose;
    buckets->collected = malloc((size_t)BUCKETS * COLLECTED * sizeof *buckets->collected);
    buckets->of = malloc((size_t)transpose->contexts + 1);
    if (!buckets->collected || !buckets->of)
        return hpc_fail_memory(error);
    for (unsigned b = 0; b < BUCKETS; b++) {
        struct bucket *bucket = &buckets->items[b];
        uint64_t until = all / BUCKETS * (b + 1);
        bucket->next = transpose->first[context];
        bucket->collected = buckets->collected + (size_t)b * COLLECTED;
        for (; context < transpose->contexts && (b + 1 == BUCKETS || transpose->first[context] < until);
             context++)
            buckets->of[context] = (uint8_t)b;
        bucket->end = context;
    }
    return 0;
}

/* Sorts pairs [start, end), those of contexts [from, to), by context. */
static int sort_bucket(struct hpc_transpose *transpose, uint32_t from, uint32_t to, struct pf_error *error)
{
    uint64_t start = transpose->first[from], count = transpose->first[to] - start;
    struct pair *pairs = malloc((count + 1) * sizeof *pairs), *sorted = malloc((count + 1) * sizeof *sorted);
    uint64_t *next = malloc(((size_t)(to - from) + 1) * sizeof *next);
    int failed = pairs && sorted && next ? 0 : hpc_fail_memory(error);
    if (!failed)
        failed = pf_store_read(transpose->pairs, start * sizeof *pairs, pairs, count * sizeof *pairs, error);
    if (!failed) {
        for (uint32_t c = from; c < to; c++)
            next[c - from] = transpose->first[c] - start;
        for (uint64_t i = 0; i < count; i++)
            sorted[next[pairs[i].context - from]++] = pairs[i];
        failed = write_pairs(transpose->pairs, start, sorted, count, error);
    }
    free(pairs);
    free(sorted);
    free(next);
    return failed;
}

static int sort_buckets(struct buckets *buckets, const struct hpc_progress *progress, struct pf_error *error)
{
    uint32_t from = 0;
    for (unsigned b = 0; b < BUCKETS; b++) {
        uint32_t to = buckets->items[b].end;
        if (pf_pass_step(progress->pass, progress->done, progress->total, error) ||
            (from < to && sort_bucket(buckets->transpose, from, to, error)))
            return -1;
        from = to;
    }
    return 0;
}

/* ---- making it ---------------------------------------------------------------------------------------- */

static int fill(struct hpc_transpose *transpose, const struct hpc_state *state, struct pf_pass *pass,
                struct pf_error *error)
{
    struct hpc_progress progress = {.pass = pass,
                                    .total = 2 * hpc_pairs_count(state)}; /* they are read twice */
    if (hpc_pairs_walk(state, &progress, count_pair, transpose, error))
        return -1;
    for (uint32_t c = 0; c < transpose->contexts; c++)
        transpose->first[c + 1] += transpose->first[c];
    struct buckets *buckets = calloc(1, sizeof *buckets);
    int failed = buckets ? make_buckets(buckets, transpose, error) : hpc_fail_memory(error);
    failed = failed || hpc_pairs_walk(state, &progress, put_pair, buckets, error);
    for (unsigned b = 0; b < BUCKETS && !failed; b++)
        failed = flush(buckets, &buckets->items[b], error);
    failed = failed || sort_buckets(buckets, &progress, error);
    if (buckets) {
        free(buckets->collected);
        free(buckets->of);
    }
    free(buckets);
    return failed ? -1 : 0;
}

struct hpc_transpose *hpc_transpose_new(const struct hpc_state *state, struct pf_pass *pass,
                                        struct pf_error *error)
{
    struct hpc_transpose *transpose = calloc(1, sizeof *transpose);
    if (!transpose) {
        hpc_fail_memory(error);
        return NULL;
    }
    transpose->contexts = state->model.contexts;
    transpose->first = calloc((size_t)transpose->contexts + 1, sizeof *transpose->first);
    transpose->pairs = pf_store_new(MEMORY);
    int failed = transpose->first && transpose->pairs ? 0 : hpc_fail_memory(error);
    if (failed || fill(transpose, state, pass, error)) {
        hpc_transpose_free(transpose);
        return NULL;
    }
    return transpose;
}

void hpc_transpose_free(struct hpc_transpose *transpose)
{
    if (!transpose)
        return;
    pf_store_free(transpose->pairs);
    free(transpose->first);
    free(transpose);
}

/* ---- asking it ---------------------------------------------------------------------------------------- */

int hpc_transpose_pair(const struct hpc_transpose *transpose, uint64_t pair, uint32_t *thread,
                       uint32_t *entry, struct pf_error *error)
{
    struct pair found;
    if (pf_store_read(transpose->pairs, pair * sizeof found, &found, sizeof found, error))
        return -1;
    *thread = found.thread;
    *entry = found.entry;
    return 0;
}

int hpc_transpose_find(const struct hpc_transpose *transpose, uint32_t index, uint32_t first, uint64_t *pair,
                       uint64_t *end, struct pf_error *error)
{
    uint64_t low = transpose->first[index], high = transpose->first[index + 1];
    *end = high;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint32_t thread, entry;
        if (hpc_transpose_pair(transpose, middle, &thread, &entry, error))
            return -1;
        if (thread < first)
            low = middle + 1;
        else
            high = middle;
    }
    *pair = low;
    return 0;
}
