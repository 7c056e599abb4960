/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

#include "formats/extrap/measured.h"

/*
 * External merge sort: parts that fit into memory are sorted and written one behind the other, then merged. How
 * many parts there are depends on the file, but each takes only a small buffer.
 */
#define PART_BYTES ((uint64_t)32 << 20)

/* A record of a part: its place, and what it is sorted by. */
struct entry {
    uint64_t key, offset;
};

struct sort {
    const struct pf_store *from;
    const struct pf_experiment *experiment;
    struct pf_pass *pass;
    struct pf_store *parts; /* sorted parts, one behind the other */
    uint64_t *ends;         /* of each part */
    size_t n_parts, room_parts;
    struct entry *entries;
    size_t n_entries, room_entries;
};

/* Offsets make equal keys keep their order. */
static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Takes the entries of as many records as make a part. 1: there are more; 0: these are the last; -1. */
static int read_entries(struct sort *sort, struct pf_records *records, struct pf_error *error)
{
    uint64_t start = records->at;
    struct pf_record record;
    const double *numbers;
    int got;
    sort->n_entries = 0;
    while ((got = pf_records_peek(records, &record, &numbers, error)) > 0 &&
           records->at - start < PART_BYTES) {
        if (!sort->experiment->series[record.series].dropped) {
            if (pf_array_room(&sort->entries, &sort->room_entries, sort->n_entries, sizeof *sort->entries,
                              error))
                return -1;
            sort->entries[sort->n_entries++] = (struct entry){pf_record_key(&record), records->at};
        }
        records->at += pf_record_size(&record);
    }
    return got;
}

/* Writes the records of the entries, in their order, as a part. The records lie in bytes, from `start` on. */
static int write_part(struct sort *sort, const unsigned char *bytes, uint64_t start, struct pf_error *error)
{
    if (sort->n_entries)
        qsort(sort->entries, sort->n_entries, sizeof *sort->entries, by_key);
    for (size_t i = 0; i < sort->n_entries; i++) {
        struct pf_record record;
        const unsigned char *at = bytes + (sort->entries[i].offset - start);
        memcpy(&record, at, sizeof record);
        if (pf_store_append(sort->parts, at, pf_record_size(&record), error) < 0)
            return -1;
    }
    if (pf_array_room(&sort->ends, &sort->room_parts, sort->n_parts, sizeof *sort->ends, error))
        return -1;
    sort->ends[sort->n_parts++] = pf_store_size(sort->parts);
    return 0;
}

/* The part's bytes, in the store's memory or read into *buffer. */
static const unsigned char *bytes_of_part(const struct sort *sort, uint64_t start, uint64_t end,
                                          unsigned char **buffer, struct pf_error *error)
{
    const unsigned char *memory = pf_store_memory(sort->from);
    if (memory)
        return memory + start;
    free(*buffer);
    *buffer = malloc((size_t)(end - start) + 1);
    if (!*buffer) {
        pf_fail_memory(error);
        return NULL;
    }
    return pf_store_read(sort->from, start, *buffer, (size_t)(end - start), error) < 0 ? NULL : *buffer;
}

static int make_parts(struct sort *sort, struct pf_error *error)
{
    struct pf_records records;
    unsigned char *buffer = NULL;
    uint64_t size = pf_store_size(sort->from);
    int got = 1;
    pf_records_open(&records, sort->from, 0, size);
    while (got > 0) {
        uint64_t start = records.at;
        got = read_entries(sort, &records, error);
        const unsigned char *bytes = got < 0 ? NULL : bytes_of_part(sort, start, records.at, &buffer, error);
        if (!bytes || write_part(sort, bytes, start, error) < 0 ||
            pf_pass_step(sort->pass, records.at, size, error) < 0)
            got = -1;
    }
    free(buffer);
    pf_records_close(&records);
    return got;
}

/* ---- merging ------------------------------------------------------------------------------------ */

/* The parts as a heap: the one with the smallest next record is first. */
struct heap {
    struct part {
        struct pf_records records;
        struct pf_record record;
        const double *numbers;
        size_t number; /* earlier parts come first among equal keys */
    } * *parts;
    size_t count;
};

static bool comes_before(const struct part *a, const struct part *b)
{
    uint64_t x = pf_record_key(&a->record), y = pf_record_key(&b->record);
    return x != y ? x < y : a->number < b->number;
}

static void sift_down(struct heap *heap, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
            if (comes_before(heap->parts[child], heap->parts[least]))
                least = child;
        if (least == at)
            return;
        struct part *part = heap->parts[at];
        heap->parts[at] = heap->parts[least];
        heap->parts[least] = part;
        at = least;
    }
}

/* Moves all records to `to` in their order. */
static int merge_heap(struct sort *sort, struct heap *heap, struct pf_store *to, struct pf_error *error)
{
    uint64_t moved = 0;
    while (heap->count) {
        struct part *part = heap->parts[0];
        size_t size = pf_record_size(&part->record);
        const unsigned char *bytes = (const unsigned char *)part->numbers - sizeof part->record;
        if (pf_store_append(to, bytes, size, error) < 0)
            return -1;
        part->records.at += size;
        int got = pf_records_peek(&part->records, &part->record, &part->numbers, error);
        if (got < 0)
            return -1;
        if (!got)
            heap->parts[0] = heap->parts[--heap->count];
        sift_down(heap, 0);
        if (moved++ % 4096 == 0 &&
            pf_pass_step(sort->pass, pf_store_size(to), pf_store_size(sort->parts), error) < 0)
            return -1;
    }
    return 0;
}

static int merge(struct sort *sort, struct pf_store *to, struct pf_error *error)
{
    struct part *parts = calloc(sort->n_parts, sizeof *parts);
    struct heap heap = {.parts = calloc(sort->n_parts, sizeof *heap.parts)};
    int result = parts && heap.parts ? 0 : -1;
    if (result)
        pf_fail_memory(error);
    for (size_t i = 0; !result && i < sort->n_parts; i++) {
        parts[i].number = i;
        pf_records_open(&parts[i].records, sort->parts, i ? sort->ends[i - 1] : 0, sort->ends[i]);
        int got = pf_records_peek(&parts[i].records, &parts[i].record, &parts[i].numbers, error);
        if (got > 0)
            heap.parts[heap.count++] = &parts[i];
        result = got < 0 ? -1 : 0;
    }
    for (size_t i = heap.count; !result && i-- > 0;)
        sift_down(&heap, i);
    if (!result)
        result = merge_heap(sort, &heap, to, error);
    for (size_t i = 0; parts && i < sort->n_parts; i++)
        pf_records_close(&parts[i].records);
    free(parts);
    free(heap.parts);
    return result;
}

struct pf_store *pf_records_sort(const struct pf_store *store, const struct pf_experiment *experiment,
                                 struct pf_pass *pass, struct pf_error *error)
{
    struct sort sort = {.from = store, .experiment = experiment, .pass = pass};
    struct pf_store *sorted = NULL;
    sort.parts = pf_store_new(PF_RECORDS_HELD);
    if (!sort.parts) {
        pf_fail_memory(error);
        return NULL;
    }
    int result = make_parts(&sort, error);
    if (!result && sort.n_parts == 1) {
        sorted = sort.parts;
        sort.parts = NULL;
    } else if (!result && !(sorted = pf_store_new(PF_RECORDS_HELD))) {
        pf_fail_memory(error);
    } else if (!result && merge(&sort, sorted, error) < 0) {
        pf_store_free(sorted);
        sorted = NULL;
    }
    pf_store_free(sort.parts);
    free(sort.ends);
    free(sort.entries);
    return sorted;
}
