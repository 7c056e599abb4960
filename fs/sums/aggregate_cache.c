/* SPDX-License-Identifier: MIT */
#include "fs/sums/aggregate_private.h"
#include "fs/text/pack.h"

/*
 * A serialized aggregate begins with the numbers of contexts, partitions and metrics. For each metric, there follow its flags
 * (REAL, EXCEEDS_TOTAL), magnitude and total, the sums of its contexts, the values of a PF_AT metric in the selected
 * partition, and the sums of its partitions.
 */

enum { REAL = 1, EXCEEDS_TOTAL = 2 };

/* ---- contexts: a count; then for each its number, and its only value or its sum ------------------- */

/* Returns true if a context's entry holds one value instead of a sum. The entry begins with `head`: twice the context's number,
 * plus 1 if the context has only one value. */
static bool is_one(uint64_t head)
{
    return head & 1;
}

/*
 * Appends the sums of all contexts. Returns false, with nothing appended, if even the shortest entries would exceed `limit` bytes.
 */
static bool pack_contexts(const struct pf_context_sums *contexts, bool real, uint64_t limit,
                          struct pf_buf *out)
{
    struct pf_context_sum sum;
    uint64_t n = 0;
    for (size_t i = pf_context_next(contexts, 0); i < contexts->n; i = pf_context_next(contexts, i + 1))
        n++;
    if (n > limit / (sizeof n + sizeof sum.low))
        return false;
    pf_pack_u64(out, n);
    for (size_t i = pf_context_next(contexts, 0); i < contexts->n; i = pf_context_next(contexts, i + 1)) {
        pf_context_load(contexts, i, real, &sum);
        pf_pack_u64(out, i << 1 | (sum.count == 1));
        if (sum.count == 1)
            pf_buf_add(out, (const char *)&sum.low, sizeof sum.low);
        else
            pf_buf_add(out, (const char *)&sum, sizeof sum);
    }
    return true;
}

static bool unpack_contexts(struct pf_arena *arena, struct pf_context_sums *contexts, bool real,
                            struct pf_unpack *in)
{
    struct pf_error error;
    for (uint64_t n = pf_unpack_u64(in); n && !in->failed; n--) {
        struct pf_context_sum sum = {.count = 1};
        uint64_t head = pf_unpack_u64(in);
        size_t size = is_one(head) ? sizeof sum.low : sizeof sum;
        const void *bytes = pf_unpack_bytes(in, size);
        if (!bytes || head >> 1 >= contexts->n)
            return false;
        memcpy(is_one(head) ? (void *)&sum.low : &sum, bytes, size);
        if (is_one(head)) {
            sum.high = sum.low;
            if (real)
                sum.sum.d.sum = 0 + sum.low.d;
            else
                sum.sum.i = sum.low.i;
        }
        if (!sum.count || pf_context_store(arena, contexts, head >> 1, real, &sum, &error))
            return false;
    }
    return !in->failed;
}

/* ---- partitions: a count; then for each its number and sum ----------------------------------------- */

static const struct pf_partition_sum *find_partition_sum(const struct pf_metric_sums *sums, size_t partition)
{
    const struct pf_partition_sum *sum = pf_sparse_find(&sums->partitions, sizeof *sum, partition);
    return sum && sum->contexts ? sum : NULL;
}

static void pack_partitions(const struct pf_aggregate *aggregate, const struct pf_metric_sums *sums,
                            struct pf_buf *out)
{
    uint64_t n = 0;
    for (size_t p = 0; p < aggregate->n_partitions; p++)
        n += find_partition_sum(sums, p) != NULL;
    pf_pack_u64(out, n);
    for (size_t p = 0; n && p < aggregate->n_partitions; p++)
        if (find_partition_sum(sums, p)) {
            pf_pack_u64(out, p);
            pf_buf_add(out, (const char *)find_partition_sum(sums, p), sizeof(struct pf_partition_sum));
        }
}

static bool unpack_partitions(struct pf_aggregate *aggregate, struct pf_metric_sums *sums,
                              struct pf_unpack *in)
{
    struct pf_error error;
    for (uint64_t n = pf_unpack_u64(in); n && !in->failed; n--) {
        struct pf_partition_sum *sum;
        uint64_t p = pf_unpack_u64(in);
        const void *bytes = pf_unpack_bytes(in, sizeof *sum);
        if (!bytes || p >= aggregate->n_partitions ||
            !(sum = pf_sparse_at(&aggregate->arena, &sums->partitions, aggregate->n_partitions, sizeof *sum,
                                 p, &error)))
            return false;
        memcpy(sum, bytes, sizeof *sum);
    }
    return !in->failed;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

bool pf_aggregate_pack(const struct pf_aggregate *aggregate, uint64_t limit, struct pf_buf *out)
{
    size_t before = out->size;
    bool fits = true;
    pf_pack_u64(out, aggregate->n_contexts);
    pf_pack_u64(out, aggregate->n_partitions);
    pf_pack_u64(out, aggregate->model->n_metrics);
    for (size_t m = 0; fits && m < aggregate->model->n_metrics; m++) {
        struct pf_metric_sums *sums = &aggregate->metrics[m];
        pf_pack_u64(out, (sums->real ? REAL : 0U) | (sums->exceeds_total ? EXCEEDS_TOTAL : 0U));
        pf_buf_add(out, (const char *)&sums->magnitude, sizeof sums->magnitude);
        pf_buf_add(out, (const char *)&sums->total, sizeof sums->total);
        fits = pack_contexts(&sums->contexts, sums->real, limit, out) &&
               pack_contexts(&sums->at, sums->real, limit, out);
        pack_partitions(aggregate, sums, out);
        fits &= out->size - before <= limit;
    }
    if (!fits)
        out->size = before;
    return fits;
}

static bool unpack_metric(struct pf_aggregate *aggregate, struct pf_metric_sums *sums, struct pf_unpack *in)
{
    uint64_t sorts = pf_unpack_u64(in);
    const void *magnitude = pf_unpack_bytes(in, sizeof sums->magnitude);
    const void *total = pf_unpack_bytes(in, sizeof sums->total);
    if (!total)
        return false;
    memcpy(&sums->magnitude, magnitude, sizeof sums->magnitude);
    memcpy(&sums->total, total, sizeof sums->total);
    sums->real = sorts & REAL;
    sums->exceeds_total = sorts & EXCEEDS_TOTAL;
    return unpack_contexts(&aggregate->arena, &sums->contexts, sums->real, in) &&
           unpack_contexts(&aggregate->arena, &sums->at, sums->real, in) &&
           unpack_partitions(aggregate, sums, in);
}

struct pf_aggregate *pf_aggregate_unpack(const struct pf_model *model, const void *bytes, size_t size)
{
    struct pf_error error;
    struct pf_unpack in = {bytes, (const char *)bytes + size, false};
    struct pf_aggregate *aggregate = pf_aggregate_empty(model, &error);
    if (!aggregate)
        return NULL;
    bool fits = pf_unpack_u64(&in) == aggregate->n_contexts &&
                pf_unpack_u64(&in) == aggregate->n_partitions && pf_unpack_u64(&in) == model->n_metrics;
    for (size_t m = 0; fits && m < model->n_metrics; m++)
        fits = unpack_metric(aggregate, &aggregate->metrics[m], &in);
    pf_count_with_values(aggregate);
    if (fits)
        return aggregate;
    pf_aggregate_free(aggregate);
    return NULL;
}
