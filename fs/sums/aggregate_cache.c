/* SPDX-License-Identifier: MIT */
#include "fs/sums/aggregate_private.h"
#include "fs/text/pack.h"

/*
 * An aggregate as bytes: contexts, partitions, metrics; then for each metric its sorts of numbers, its total and
 * its planes; a plane is the number of its stretches that exist, then each one's number and items.
 */

enum { REAL = 1, WIDE = 2, TOTAL_REAL = 4, BEYOND = 8 };

static size_t stretches_of(size_t count)
{
    return (count + PF_STRETCH - 1) / PF_STRETCH;
}

static size_t stretch_bytes(size_t count, size_t item, size_t stretch)
{
    size_t rest = count - stretch * PF_STRETCH;
    return (rest < PF_STRETCH ? rest : PF_STRETCH) * item;
}

/* The planes of a metric, with how many items they have and how large these are. */
struct shape {
    struct pf_plane *plane;
    size_t count, item;
};

enum { PLANES = 4 };

static void shapes_of(const struct pf_aggregate *aggregate, struct pf_metric_sums *sums,
                      struct shape shapes[PLANES])
{
    shapes[0] = (struct shape){&sums->contexts, aggregate->n_contexts, sizeof(struct pf_context_sum)};
    shapes[1] = (struct shape){&sums->extremes, aggregate->n_contexts, sizeof(struct pf_extremes)};
    shapes[2] = (struct shape){&sums->partitions, aggregate->n_partitions, sizeof(struct pf_partition_sum)};
    shapes[3] = (struct shape){&sums->at, aggregate->n_contexts, sizeof(union pf_number)};
}

/* ---- to bytes ----------------------------------------------------------------------------------- */

static uint64_t plane_size(const struct shape *shape, uint64_t *present)
{
    uint64_t bytes = 0;
    *present = 0;
    for (size_t i = 0; shape->plane->stretches && i < stretches_of(shape->count); i++)
        if (shape->plane->stretches[i]) {
            ++*present;
            bytes += sizeof(uint64_t) + stretch_bytes(shape->count, shape->item, i);
        }
    return bytes;
}

static void pack_plane(const struct shape *shape, struct pf_buf *out)
{
    uint64_t present;
    plane_size(shape, &present);
    pf_pack_u64(out, present);
    for (size_t i = 0; present && i < stretches_of(shape->count); i++)
        if (shape->plane->stretches[i]) {
            pf_pack_u64(out, i);
            pf_buf_add(out, shape->plane->stretches[i], stretch_bytes(shape->count, shape->item, i));
        }
}

static uint64_t packed_size(const struct pf_aggregate *aggregate)
{
    uint64_t bytes = 0, present;
    struct shape shapes[PLANES];
    for (size_t m = 0; m < aggregate->profile->n_metrics; m++) {
        shapes_of(aggregate, &aggregate->metrics[m], shapes);
        bytes += sizeof(union pf_number) + sizeof(uint64_t);
        for (int i = 0; i < PLANES; i++)
            bytes += sizeof present + plane_size(&shapes[i], &present);
    }
    return bytes;
}

bool pf_aggregate_pack(const struct pf_aggregate *aggregate, uint64_t limit, struct pf_buf *out)
{
    struct shape shapes[PLANES];
    if (packed_size(aggregate) > limit)
        return false;
    pf_pack_u64(out, aggregate->n_contexts);
    pf_pack_u64(out, aggregate->n_partitions);
    pf_pack_u64(out, aggregate->profile->n_metrics);
    for (size_t m = 0; m < aggregate->profile->n_metrics; m++) {
        struct pf_metric_sums *sums = &aggregate->metrics[m];
        pf_pack_u64(out, (sums->real ? REAL : 0U) | (sums->wide ? WIDE : 0U) |
                             (sums->total_real ? TOTAL_REAL : 0U) | (sums->beyond ? BEYOND : 0U));
        pf_buf_add(out, (const char *)&sums->total, sizeof sums->total);
        shapes_of(aggregate, sums, shapes);
        for (int i = 0; i < PLANES; i++)
            pack_plane(&shapes[i], out);
    }
    return true;
}

/* ---- and back ----------------------------------------------------------------------------------- */

static bool unpack_plane(struct pf_aggregate *aggregate, const struct shape *shape, struct pf_unpack *in)
{
    struct pf_error error;
    for (uint64_t present = pf_unpack_u64(in); present && !in->failed; present--) {
        uint64_t i = pf_unpack_u64(in);
        if (in->failed || i >= stretches_of(shape->count))
            return false;
        size_t size = stretch_bytes(shape->count, shape->item, i);
        const void *bytes = pf_unpack_bytes(in, size);
        void *items = bytes ? pf_plane_at(&aggregate->arena, shape->plane, shape->count, shape->item,
                                          (size_t)i * PF_STRETCH, &error)
                            : NULL;
        if (!items)
            return false;
        memcpy(items, bytes, size);
    }
    return !in->failed;
}

static bool unpack_metric(struct pf_aggregate *aggregate, struct pf_metric_sums *sums, struct pf_unpack *in)
{
    struct shape shapes[PLANES];
    uint64_t sorts = pf_unpack_u64(in);
    const void *total = pf_unpack_bytes(in, sizeof sums->total);
    if (!total)
        return false;
    memcpy(&sums->total, total, sizeof sums->total);
    sums->real = sorts & REAL;
    sums->wide = sorts & WIDE;
    sums->total_real = sorts & TOTAL_REAL;
    sums->beyond = sorts & BEYOND;
    shapes_of(aggregate, sums, shapes);
    for (int i = 0; i < PLANES; i++)
        if (!unpack_plane(aggregate, &shapes[i], in))
            return false;
    /* Extremes are looked for wherever a wide metric has a value. */
    return !sums->wide || sums->contexts.stretches == NULL || sums->extremes.stretches != NULL;
}

struct pf_aggregate *pf_aggregate_unpack(const struct pf_profile *profile, const void *bytes, size_t size)
{
    struct pf_error error;
    struct pf_unpack in = {bytes, (const char *)bytes + size, false};
    struct pf_aggregate *aggregate = pf_aggregate_empty(profile, &error);
    if (!aggregate)
        return NULL;
    bool fits = pf_unpack_u64(&in) == aggregate->n_contexts &&
                pf_unpack_u64(&in) == aggregate->n_partitions && pf_unpack_u64(&in) == profile->n_metrics;
    for (size_t m = 0; fits && m < profile->n_metrics; m++)
        fits = unpack_metric(aggregate, &aggregate->metrics[m], &in);
    pf_count_holders(aggregate);
    if (fits)
        return aggregate;
    pf_aggregate_free(aggregate);
    return NULL;
}
