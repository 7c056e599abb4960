/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/model.h"

static int compare(const void *left, const void *right)
{
    const struct afperf_key *a = left, *b = right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

int afperf_index_room(struct afperf_index *index, size_t n, struct pf_error *error)
{
    free(index->keys);
    *index = (struct afperf_index){calloc(n + 1, sizeof *index->keys), 0};
    return index->keys ? 0 : pf_fail_memory(error);
}

void afperf_index_sort(struct afperf_index *index)
{
    if (index->n)
        qsort(index->keys, index->n, sizeof *index->keys, compare);
}

size_t afperf_bound(const struct afperf_index *index, uint32_t owner, uint64_t value, uint64_t offset)
{
    const struct afperf_key key = {value, offset, owner, 0};
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&index->keys[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Binary search: returns the bounds of the segment that contains an offset. */
static void segment_at(const struct afperf_model *model, uint64_t offset, uint64_t *start, uint64_t *end)
{
    size_t low = 0, high = model->n_segments;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (model->segments[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    *start = low < model->n_segments ? model->segments[low] : 0;
    *end = low + 1 < model->n_segments ? model->segments[low + 1] : UINT64_MAX;
}

/* Returns the key at a position of the index if it has this owner and id, else NULL. */
static const struct afperf_key *key_at(const struct afperf_index *index, size_t place, uint32_t owner,
                                       uint64_t id)
{
    const struct afperf_key *key = place < index->n ? &index->keys[place] : NULL;
    return key && key->owner == owner && key->value == id ? key : NULL;
}

size_t afperf_choose(const struct afperf_model *model, const struct afperf_index *index, uint32_t owner,
                     uint64_t id, uint64_t offset, size_t before, size_t behind)
{
    const struct afperf_key *first = key_at(index, before, owner, id);
    const struct afperf_key *second = key_at(index, behind, owner, id);
    uint64_t start, end;
    if (!first || !second)
        return first ? before : second ? behind : SIZE_MAX;
    segment_at(model, offset, &start, &end);
    return first->offset >= start || second->offset >= end ? before : behind;
}

uint32_t afperf_find(const struct afperf_model *model, const struct afperf_index *index, uint32_t owner,
                     uint64_t id, uint64_t offset)
{
    size_t behind = afperf_bound(index, owner, id, offset);
    size_t found = afperf_choose(model, index, owner, id, offset, behind - 1, behind);
    return found == SIZE_MAX ? AFPERF_NONE : index->keys[found].number;
}
