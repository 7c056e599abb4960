/* SPDX-License-Identifier: MIT */
#include "formats/afperf/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/afperf/map.h"
#include "formats/kit/array.h"

void afperf_spans_free(struct afperf_spans *spans)
{
    for (size_t i = 0; i < spans->n_chunks; i++)
        free(spans->chunks[i]);
    free(spans->chunks);
    free(spans->order);
    *spans = (struct afperf_spans){0};
}

static int add_chunk(struct afperf_spans *spans, struct pf_error *error)
{
    if (pf_array_room(&spans->chunks, &spans->room, spans->n_chunks, sizeof(struct afperf_span *), error))
        return -1;
    struct afperf_span *chunk = calloc(AFPERF_CHUNK, sizeof *chunk);
    if (!chunk)
        return pf_fail_memory(error);
    spans->chunks[spans->n_chunks++] = chunk;
    return 0;
}

struct afperf_span *afperf_spans_add(struct afperf_spans *spans, uint64_t offset, struct pf_error *error)
{
    if (spans->count >= AFPERF_NONE - 1 || offset >> 47) { /* blocks of the file have numbers of 32 bits */
        pf_fail_at(error, EFBIG, (int64_t)offset, "too many regions or intervals");
        return NULL;
    }
    if (spans->count == spans->n_chunks * AFPERF_CHUNK && add_chunk(spans, error) < 0)
        return NULL;
    struct afperf_span *span = afperf_span(spans, spans->count++);
    span->offset_low = (uint32_t)offset;
    span->offset_high = (uint16_t)(offset >> 32);
    return span;
}

/* ---- the index ---------------------------------------------------------------------------------- */

struct key {
    uint32_t owner;
    bool anonymous;
    uint64_t id;
};

static struct key key_of(const struct afperf_spans *spans, uint32_t i)
{
    const struct afperf_span *span = afperf_span(spans, i);
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

static bool is_ordered(const struct afperf_spans *spans)
{
    for (uint32_t i = 1; i < spans->count; i++) {
        struct key before = key_of(spans, i - 1), key = key_of(spans, i);
        if (compare(&before, &key) > 0)
            return false;
    }
    return true;
}

/* Digits of a key from the lowest on, a byte each: the id's eight, whether it has one, the owner's four. */
enum { DIGITS = 13, VALUES = 256 };

static inline unsigned digit_of(const struct key *key, unsigned digit)
{
    return digit < 8    ? key->id >> 8 * digit & 0xff
           : digit == 8 ? key->anonymous
                        : key->owner >> 8 * (digit - 9) & 0xff;
}

struct counts {
    uint32_t of[DIGITS][VALUES];
};

/* Counts those digits in which keys differ. Returns them as bits. */
static unsigned count_digits(const struct afperf_spans *spans, struct counts *counts)
{
    struct key first = key_of(spans, 0);
    struct key differ = {0};
    unsigned list[DIGITS], n = 0, digits = 0;
    for (uint32_t i = 0; i < spans->count; i++) {
        struct key key = key_of(spans, i);
        differ.id |= key.id ^ first.id;
        differ.owner |= key.owner ^ first.owner;
        differ.anonymous |= key.anonymous != first.anonymous;
    }
    for (unsigned d = 0; d < DIGITS; d++)
        if (digit_of(&differ, d)) {
            list[n++] = d;
            digits |= 1u << d;
        }
    for (uint32_t i = 0; i < spans->count; i++) {
        struct key key = key_of(spans, i);
        for (unsigned l = 0; l < n; l++)
            counts->of[list[l]][digit_of(&key, list[l])]++;
    }
    return digits;
}

/* One pass of the radix sort, which keeps the order of equal digits. */
static void sort_by(const struct afperf_spans *spans, unsigned digit, uint32_t *counts, const uint32_t *from,
                    uint32_t *to)
{
    uint32_t sum = 0;
    for (unsigned v = 0; v < VALUES; v++) {
        uint32_t count = counts[v];
        counts[v] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < spans->count; i++) {
        struct key key = key_of(spans, from[i]);
        to[counts[digit_of(&key, digit)]++] = from[i];
    }
}

int afperf_spans_index(struct afperf_spans *spans, struct pf_error *error)
{
    if (spans->indexed || is_ordered(spans)) {
        spans->indexed = true;
        return 0;
    }
    uint32_t *order = malloc(spans->count * sizeof *order), *other = malloc(spans->count * sizeof *other);
    struct counts *counts = calloc(1, sizeof *counts);
    if (!order || !other || !counts) {
        free(order);
        free(other);
        free(counts);
        return pf_fail_memory(error);
    }
    unsigned digits = count_digits(spans, counts);
    for (uint32_t i = 0; i < spans->count; i++)
        order[i] = i;
    for (unsigned d = 0; d < DIGITS; d++) {
        if (!(digits >> d & 1))
            continue;
        sort_by(spans, d, counts->of[d], order, other);
        uint32_t *swap = order;
        order = other;
        other = swap;
    }
    free(other);
    free(counts);
    spans->order = order;
    spans->indexed = true;
    return 0;
}

/* The first place in the index whose key is not below (or, if `above`, is above) this one. */
static uint32_t bound(const struct afperf_spans *spans, const struct key *key, bool above)
{
    uint32_t low = 0, high = spans->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct key here = key_of(spans, afperf_spans_at(spans, middle));
        int order = compare(&here, key);
        if (order < 0 || (above && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void afperf_spans_group(const struct afperf_spans *spans, uint32_t owner, uint64_t id, uint32_t *first,
                        uint32_t *end)
{
    struct key key = {spans->scoped ? owner : 0, false, id};
    *first = *end = bound(spans, &key, false);
    if (*first == spans->count)
        return;
    /* Most ids are unique. */
    struct key here = key_of(spans, afperf_spans_at(spans, *first));
    if (compare(&here, &key) != 0)
        return;
    *end = *first + 1;
    if (*end == spans->count)
        return;
    here = key_of(spans, afperf_spans_at(spans, *end));
    if (compare(&here, &key) == 0)
        *end = bound(spans, &key, true);
}

static uint64_t offset_at(const struct afperf_spans *spans, uint32_t i)
{
    return afperf_span_offset(afperf_span(spans, afperf_spans_at(spans, i)));
}

/* The first place in first .. end that stands behind the offset in the file. */
static uint32_t behind(const struct afperf_spans *spans, uint32_t first, uint32_t end, uint64_t offset)
{
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (offset_at(spans, middle) <= offset)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Chooses between the nearest before and the first behind, places in the index or AFPERF_NONE. */
static uint32_t choose(const struct afperf_spans *spans, uint32_t before, uint32_t after,
                       const struct afperf_segment *segment)
{
    if (before == AFPERF_NONE || after == AFPERF_NONE)
        return before == AFPERF_NONE ? after : before;
    if (offset_at(spans, before) >= segment->start)
        return before;
    return offset_at(spans, after) < segment->end ? after : before;
}

uint32_t afperf_spans_find(const struct afperf_spans *spans, uint32_t owner, uint64_t id, uint64_t offset,
                           const struct afperf_segment *segment)
{
    uint32_t first, end;
    afperf_spans_group(spans, owner, id, &first, &end);
    uint32_t middle = behind(spans, first, end, offset);
    uint32_t before = middle > first ? middle - 1 : AFPERF_NONE, after = middle < end ? middle : AFPERF_NONE;
    uint32_t found = choose(spans, before, after, segment);
    return found == AFPERF_NONE ? AFPERF_NONE : afperf_spans_at(spans, found);
}

/* ---- those that are open ------------------------------------------------------------------------ */

/*
 * For each place in the index, a place nearer to the next open one to the right, and to the left: itself if it is open. Paths
 * are cut short as they are walked, so that any number of equal ids costs little.
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
        const struct afperf_span *span = afperf_span(spans, afperf_spans_at(spans, i));
        bool closed = span->flags & (AFPERF_CLOSED | AFPERF_ANONYMOUS);
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
                          const struct afperf_segment *segment)
{
    uint32_t first, end;
    afperf_spans_group(open->spans, owner, id, &first, &end);
    uint32_t middle = behind(open->spans, first, end, offset);
    uint32_t after = follow(open->right, middle), before = follow(open->left, middle);
    before = before > first ? before - 1 : AFPERF_NONE;
    after = after < end ? after : AFPERF_NONE;
    uint32_t found = choose(open->spans, before, after, segment);
    if (found == AFPERF_NONE)
        return AFPERF_NONE;
    open->right[found] = found + 1;
    open->left[found + 1] = found;
    return afperf_spans_at(open->spans, found);
}
