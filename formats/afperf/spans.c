/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/afperf/model.h"

void afperf_spans_free(struct afperf_spans *spans)
{
    free(spans->items);
    free(spans->order);
    *spans = (struct afperf_spans){0};
}

struct afperf_span *afperf_spans_add(struct afperf_spans *spans, uint64_t offset, struct pf_error *error)
{
    if (offset >> 47) { /* blocks of the file have numbers of 32 bits */
        pf_fail_at(error, EFBIG, (int64_t)offset, "too large a file");
        return NULL;
    }
    if (afperf_grow(&spans->items, spans->count, &spans->room, sizeof *spans->items, error) < 0)
        return NULL;
    struct afperf_span *span = &spans->items[spans->count++];
    *span = (struct afperf_span){.offset = offset, .label = PF_NO_STRING};
    return span;
}

void afperf_close_span(struct afperf_model *model, struct afperf_span *span, uint64_t time)
{
    span->stop = time < span->start ? span->start : time;
    span->flags |= AFPERF_CLOSED;
    if (time < span->start)
        afperf_note(model, AFPERF_NEGATIVE_DURATION, span->offset, 0);
}

/* ---- the index ---------------------------------------------------------------------------------- */

struct key {
    uint32_t owner;
    bool anonymous;
    uint64_t id;
};

static struct key key_of(const struct afperf_spans *spans, uint32_t number)
{
    const struct afperf_span *span = &spans->items[number];
    return (struct key){spans->scoped ? span->owner : 0, span->flags & AFPERF_ANONYMOUS, span->id};
}

static int compare(const struct key *a, const struct key *b)
{
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->anonymous != b->anonymous)
        return a->anonymous ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int by_key(const void *left, const void *right, void *arg)
{
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    struct key a = key_of(arg, i), b = key_of(arg, j);
    int order = compare(&a, &b);
    return order ? order : i < j ? -1 : i > j;
}

/* Most files number their spans as they start them: there is nothing to sort then. */
int afperf_spans_index(struct afperf_spans *spans, struct pf_error *error)
{
    if (spans->order)
        return 0;
    uint32_t *order = malloc(((size_t)spans->count + 1) * sizeof *order);
    bool ordered = true;
    if (!order)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < spans->count; i++) {
        order[i] = i;
        ordered = ordered && (!i || by_key(&order[i - 1], &order[i], spans) < 0);
    }
    if (!ordered)
        qsort_r(order, spans->count, sizeof *order, by_key, spans);
    spans->order = order;
    return 0;
}

/* The first place in the index that is not before this key and offset. */
static uint32_t bound(const struct afperf_spans *spans, const struct key *key, uint64_t offset)
{
    uint32_t low = 0, high = spans->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, number = spans->order[middle];
        struct key here = key_of(spans, number);
        int order = compare(&here, key);
        if (order < 0 || (order == 0 && spans->items[number].offset < offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The offset of the span at a place in the index if it has this key, else UINT64_MAX. */
static uint64_t offset_at(const struct afperf_spans *spans, uint32_t place, const struct key *key)
{
    if (place >= spans->count)
        return UINT64_MAX;
    struct key here = key_of(spans, spans->order[place]);
    return compare(&here, key) ? UINT64_MAX : spans->items[spans->order[place]].offset;
}

/* Chooses between two places in the index; AFPERF_NONE if neither has the key. */
static uint32_t choose(const struct afperf_spans *spans, uint32_t before, uint32_t behind,
                       const struct key *key, const struct afperf_segment *segment)
{
    uint64_t before_offset = offset_at(spans, before, key), behind_offset = offset_at(spans, behind, key);
    if (before_offset == UINT64_MAX && behind_offset == UINT64_MAX)
        return AFPERF_NONE;
    return afperf_means_before(before_offset, behind_offset, segment) ? before : behind;
}

uint32_t afperf_spans_find(const struct afperf_spans *spans, uint32_t owner, uint64_t id, uint64_t offset,
                           const struct afperf_segment *segment)
{
    struct key key = {spans->scoped ? owner : 0, false, id};
    uint32_t behind = bound(spans, &key, offset + 1);
    uint32_t found = choose(spans, behind - 1, behind, &key, segment);
    return found == AFPERF_NONE ? AFPERF_NONE : spans->order[found];
}

/* ---- those that are open ------------------------------------------------------------------------ */

/*
 * A union-find over the index: for each place, one nearer to the next open one to the right, and to the left; itself if it is
 * open. Paths are cut short as they are walked, so that any number of equal ids costs little.
 */
struct afperf_open {
    const struct afperf_spans *spans;
    uint32_t *right; /* up to and with spans->count, which stands for none */
    uint32_t *left;  /* moved by 1: left[0] stands for none */
};

struct afperf_open *afperf_open_new(const struct afperf_spans *spans, struct pf_error *error)
{
    struct afperf_open *open = calloc(1, sizeof *open);
    size_t n = (size_t)spans->count + 1;
    if (open) {
        open->spans = spans;
        open->right = malloc(n * sizeof *open->right);
        open->left = malloc(n * sizeof *open->left);
    }
    if (!open || !open->right || !open->left) {
        afperf_open_free(open);
        pf_fail_memory(error);
        return NULL;
    }
    open->right[spans->count] = spans->count;
    open->left[0] = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        bool closed = spans->items[spans->order[i]].flags & (AFPERF_CLOSED | AFPERF_ANONYMOUS);
        open->right[i] = i + closed;
        open->left[i + 1] = i + !closed;
    }
    return open;
}

void afperf_open_free(struct afperf_open *open)
{
    if (!open)
        return;
    free(open->right);
    free(open->left);
    free(open);
}

static uint32_t follow(uint32_t *links, uint32_t i)
{
    while (links[i] != i) {
        links[i] = links[links[i]];
        i = links[i];
    }
    return i;
}

uint32_t afperf_open_take(struct afperf_open *open, uint32_t owner, uint64_t id, uint64_t offset,
                          const struct afperf_segment *segment, bool *any)
{
    const struct afperf_spans *spans = open->spans;
    struct key key = {spans->scoped ? owner : 0, false, id};
    uint32_t middle = bound(spans, &key, offset + 1);
    *any = offset_at(spans, middle, &key) != UINT64_MAX ||
           (middle && offset_at(spans, middle - 1, &key) != UINT64_MAX);
    uint32_t behind = follow(open->right, middle), before = follow(open->left, middle);
    uint32_t found = choose(spans, before - 1, behind, &key, segment);
    if (found == AFPERF_NONE)
        return AFPERF_NONE;
    open->right[found] = found + 1;
    open->left[found + 1] = found;
    return spans->order[found];
}
