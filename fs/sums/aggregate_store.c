/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/kit/array.h"
#include "formats/kit/store.h"
#include "fs/sums/aggregate_private.h"

/* ---- memory ------------------------------------------------------------------------------------- */

enum { SEGMENT_MIN = 16 * 1024, SEGMENT_MAX = 16 * 1024 * 1024 };

struct pf_segment {
    char *base;
    size_t size;
    struct pf_guard *guard; /* guards the mapping of the file; NULL for a heap segment */
};

/* ---- the budget of the process ------------------------------------------------------------------- */

/* A small aggregate stays on the heap even if the budget is exhausted: a file per aggregate would take too many
 * descriptors. */
enum { SHARE_OF_ONE = 64 };

static _Atomic uint64_t held; /* by all arenas and orders of the process */
static atomic_bool was_exceeded;

void pf_budget_add(uint64_t bytes)
{
    held += bytes;
}

void pf_budget_subtract(uint64_t bytes)
{
    held -= bytes;
}

bool pf_budget_exceeded(uint64_t limit)
{
    bool exceed = held > limit;
    if (exceed)
        was_exceeded = true;
    return exceed;
}

bool pf_budget_was_exceeded(void)
{
    return atomic_exchange(&was_exceeded, false);
}

/* Takes room for a heap segment from the budget, or returns false. See SHARE_OF_ONE. */
static bool take_heap(struct pf_arena *arena, size_t size)
{
    uint64_t limit = arena->limit, all = atomic_fetch_add(&held, size) + size;
    if (all <= limit || arena->held + size <= limit / SHARE_OF_ONE) {
        arena->held += size;
        return true;
    }
    held -= size;
    if (arena->held + size <= limit) /* it would fit if this were the only aggregate */
        was_exceeded = true;
    return false;
}

/* ---- segments ------------------------------------------------------------------------------------ */

/* Returns the size of the next segment, a multiple of the page size. Sizes double, so that a large profile needs few segments and
 * a small one little memory. */
static size_t next_size(const struct pf_arena *arena, size_t least)
{
    size_t size = SEGMENT_MIN;
    if (arena->n_segments)
        size = arena->segments[arena->n_segments - 1].size * 2;
    if (size > SEGMENT_MAX)
        size = SEGMENT_MAX;
    if (size < least)
        size = (least + SEGMENT_MIN - 1) / SEGMENT_MIN * SEGMENT_MIN;
    return size;
}

/* Allocates the file's blocks before mapping them, so that a full disk is an error here and not a SIGBUS later. */
static char *map_spill(struct pf_arena *arena, size_t size, struct pf_guard **guard, struct pf_error *error)
{
    if (arena->file < 0 && (arena->file = pf_spill_file(error)) < 0)
        return NULL;
    int code = posix_fallocate(arena->file, (off_t)arena->file_size, (off_t)size);
    if (code) {
        pf_fail(error, code, "cannot write sums to the temporary file: %s", strerror(code));
        return NULL;
    }
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, arena->file, (off_t)arena->file_size);
    *guard = base == MAP_FAILED ? NULL : pf_guard_mapping(base, size, &arena->lost);
    if (!*guard) {
        if (base != MAP_FAILED)
            munmap(base, size);
        pf_fail_memory(error);
        return NULL;
    }
    arena->file_size += size;
    return base;
}

static int add_segment(struct pf_arena *arena, size_t least, struct pf_error *error)
{
    size_t size = next_size(arena, least);
    struct pf_segment *segments = realloc(arena->segments, (arena->n_segments + 1) * sizeof *segments);
    if (!segments)
        return pf_fail_memory(error);
    arena->segments = segments;
    bool fits = take_heap(arena, size);
    struct pf_guard *guard = NULL;
    char *base = fits ? calloc(1, size) : map_spill(arena, size, &guard, error);
    if (!base && fits) {
        arena->held -= size;
        held -= size;
        return pf_fail_memory(error);
    }
    if (!base)
        return -1;
    if (fits)
        pf_array_fills(base, size);
    segments[arena->n_segments++] = (struct pf_segment){base, size, guard};
    arena->at = base;
    arena->left = size;
    return 0;
}

/* Allocates zeroed bytes. Sizes are rounded up to 16 so that 128-bit integers stay aligned. NULL with *error filled. */
static void *arena_alloc(struct pf_arena *arena, size_t size, struct pf_error *error)
{
    size = (size + 15) & ~(size_t)15;
    if (arena->left < size && add_segment(arena, size, error))
        return NULL;
    char *at = arena->at;
    arena->at += size;
    arena->left -= size;
    return at;
}

int pf_arena_lost(struct pf_error *error)
{
    return pf_fail(error, EIO, "cannot read sums back from the temporary file");
}

void pf_arena_free(struct pf_arena *arena)
{
    for (size_t i = 0; i < arena->n_segments; i++) {
        const struct pf_segment *it = &arena->segments[i];
        if (it->guard) {
            pf_guard_release(it->guard);
            munmap(it->base, it->size);
        } else {
            free(it->base);
        }
    }
    free(arena->segments);
    held -= arena->held;
    if (arena->file >= 0)
        close(arena->file);
}

void *pf_sparse_at(struct pf_arena *arena, struct pf_sparse_array *sparse, size_t count, size_t item,
                   size_t i, struct pf_error *error)
{
    if (!sparse->chunks) {
        size_t chunks = (count + PF_SPARSE_CHUNK - 1) / PF_SPARSE_CHUNK;
        sparse->chunks = arena_alloc(arena, chunks * sizeof *sparse->chunks, error);
        if (!sparse->chunks)
            return NULL;
    }
    char **chunk = &sparse->chunks[i / PF_SPARSE_CHUNK];
    if (!*chunk) {
        size_t rest = count - i / PF_SPARSE_CHUNK * PF_SPARSE_CHUNK;
        *chunk = arena_alloc(arena, (rest < PF_SPARSE_CHUNK ? rest : PF_SPARSE_CHUNK) * item, error);
        if (!*chunk)
            return NULL;
    }
    return *chunk + i % PF_SPARSE_CHUNK * item;
}

/* ---- contexts ----------------------------------------------------------------------------------- */

/* A chunk of contexts is an array of slots followed by one `kind` byte per slot. A slot of kind NONE has no value, ONE holds the
 * only value, and RECORD points to a record. The kind of a context only ever advances in this order. */
enum slot_kind { NONE, ONE, RECORD };

/* A page of a spilled arena may turn into zeros at any time (see spill_guard.h). A reader therefore checks the pointer to a
 * record for NULL, and the record's count for 0. */

union sums_slot {
    int64_t i;
    double d;
    struct pf_context_sum *record;
};

_Static_assert(PF_CONTEXT_SLOT_SIZE == sizeof(union sums_slot) + 1, "a slot and its kind");

/* The number of contexts in the chunk that contains `context`. */
static size_t chunk_length(const struct pf_context_sums *sums, size_t context)
{
    size_t left = sums->n - context / PF_SPARSE_CHUNK * PF_SPARSE_CHUNK;
    return left < PF_SPARSE_CHUNK ? left : PF_SPARSE_CHUNK;
}

static union sums_slot *slots_of(const struct pf_context_sums *sums, size_t context)
{
    char **chunks = sums->sparse.chunks;
    return chunks ? (union sums_slot *)(void *)chunks[context / PF_SPARSE_CHUNK] : NULL;
}

static unsigned char *kinds_of(const struct pf_context_sums *sums, union sums_slot *slots, size_t context)
{
    return (unsigned char *)(slots + chunk_length(sums, context));
}

void pf_context_prefetch(const struct pf_context_sums *sums, size_t context)
{
    union sums_slot *slots = slots_of(sums, context);
    if (!slots)
        return;
    __builtin_prefetch(&slots[context % PF_SPARSE_CHUNK], 1);
    __builtin_prefetch(&kinds_of(sums, slots, context)[context % PF_SPARSE_CHUNK], 1);
}

void pf_context_prefetch_record(const struct pf_context_sums *sums, size_t context)
{
    const char *sum = (const char *)pf_context_record(sums, context);
    if (!sum)
        return;
    __builtin_prefetch(sum, 1);
    __builtin_prefetch(sum + sizeof(struct pf_context_sum) - 1, 1);
}

struct pf_context_sum *pf_context_record(const struct pf_context_sums *sums, size_t context)
{
    union sums_slot *slots = slots_of(sums, context);
    bool there = slots && kinds_of(sums, slots, context)[context % PF_SPARSE_CHUNK] == RECORD;
    return there ? slots[context % PF_SPARSE_CHUNK].record : NULL;
}

bool pf_context_load(const struct pf_context_sums *sums, size_t context, bool real,
                     struct pf_context_sum *sum)
{
    union sums_slot *slots = slots_of(sums, context);
    unsigned char kind = slots ? kinds_of(sums, slots, context)[context % PF_SPARSE_CHUNK] : NONE;
    if (kind == NONE)
        return false;
    const union sums_slot *slot = &slots[context % PF_SPARSE_CHUNK];
    if (kind == RECORD) {
        const struct pf_context_sum *record = slot->record;
        *sum = record ? *record : (struct pf_context_sum){.count = 0};
        return sum->count;
    }
    if (real) {
        /* 0 + converts -0 to 0, as a sum that starts with 0 does */
        *sum = (struct pf_context_sum){{.d = {0 + slot->d, 0}}, {.d = slot->d}, {.d = slot->d}, .count = 1};
    } else {
        *sum = (struct pf_context_sum){{.i = slot->i}, {.i = slot->i}, {.i = slot->i}, .count = 1};
    }
    return true;
}

bool pf_context_total(const struct pf_context_sums *sums, size_t context, bool real, union pf_number *total)
{
    union sums_slot *slots = slots_of(sums, context);
    unsigned char kind = slots ? kinds_of(sums, slots, context)[context % PF_SPARSE_CHUNK] : NONE;
    if (kind == NONE)
        return false;
    const union sums_slot *slot = &slots[context % PF_SPARSE_CHUNK];
    const struct pf_context_sum *record = kind == RECORD ? slot->record : NULL;
    if (kind == RECORD)
        *total = record ? record->sum : (union pf_number){0};
    else if (real)
        *total = (union pf_number){.d = {0 + slot->d, 0}}; /* as in pf_context_load */
    else
        *total = (union pf_number){.i = slot->i};
    return true;
}

bool pf_context_has(const struct pf_context_sums *sums, size_t context)
{
    union sums_slot *slots = slots_of(sums, context);
    return slots && kinds_of(sums, slots, context)[context % PF_SPARSE_CHUNK] != NONE;
}

int pf_context_begin(struct pf_arena *arena, struct pf_context_sums *sums, size_t context, bool real,
                     const union pf_extreme *value, struct pf_error *error)
{
    union sums_slot *slots = slots_of(sums, context);
    if (!slots && !pf_sparse_at(arena, &sums->sparse, sums->n, PF_CONTEXT_SLOT_SIZE, context, error))
        return -1;
    slots = slots_of(sums, context);
    if (!slots)
        return pf_arena_lost(error);
    unsigned char *kind = &kinds_of(sums, slots, context)[context % PF_SPARSE_CHUNK];
    if (*kind != NONE || (!real && value->i != (int64_t)value->i))
        return 0;
    *kind = ONE;
    if (real)
        slots[context % PF_SPARSE_CHUNK].d = value->d;
    else
        slots[context % PF_SPARSE_CHUNK].i = (int64_t)value->i;
    return 1;
}

int pf_context_store(struct pf_arena *arena, struct pf_context_sums *sums, size_t context, bool real,
                     const struct pf_context_sum *sum, struct pf_error *error)
{
    union sums_slot *slots = slots_of(sums, context);
    if (!slots && !pf_sparse_at(arena, &sums->sparse, sums->n, PF_CONTEXT_SLOT_SIZE, context, error))
        return -1;
    slots = slots_of(sums, context);
    if (!slots)
        return pf_arena_lost(error);
    union sums_slot *slot = &slots[context % PF_SPARSE_CHUNK];
    unsigned char *kind = &kinds_of(sums, slots, context)[context % PF_SPARSE_CHUNK];
    bool one = sum->count == 1 && (real || sum->low.i == (int64_t)sum->low.i);
    if (*kind != RECORD && !one) {
        struct pf_context_sum *record = arena_alloc(arena, sizeof *record, error);
        if (!record)
            return -1;
        slot->record = record;
        *kind = RECORD;
    }
    if (*kind == RECORD) {
        struct pf_context_sum *record = slot->record;
        if (!record)
            return pf_arena_lost(error);
        *record = *sum;
        return 0;
    }
    *kind = ONE;
    if (real)
        slot->d = sum->low.d;
    else
        slot->i = (int64_t)sum->low.i;
    return 0;
}

size_t pf_context_next(const struct pf_context_sums *sums, size_t i)
{
    while (i < sums->n) {
        union sums_slot *slots = slots_of(sums, i);
        size_t end = i / PF_SPARSE_CHUNK * PF_SPARSE_CHUNK + chunk_length(sums, i);
        for (; slots && i < end; i++)
            if (kinds_of(sums, slots, i)[i % PF_SPARSE_CHUNK] != NONE)
                return i;
        i = sums->sparse.chunks ? end : sums->n;
    }
    return sums->n;
}
