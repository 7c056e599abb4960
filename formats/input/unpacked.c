/* SPDX-License-Identifier: MIT */
#include "formats/input/unpacked.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/lock.h"
#include "formats/kit/pass.h"
#include "formats/kit/store.h"

enum {
    IN_MEMORY = 64 * 1024, /* maximum size of a part in memory; a longer part goes into a file */
    PART_MIN = 1 << 20,    /* a part grows to half of the limit, but at least to this size */
    BEHIND = 64 * 1024,    /* after a restart, caching begins this many bytes before the requested offset */
    RUNS_MAX = 8,          /* maximum number of a group's runs; each takes a few hundred KB or more */
};

/* A contiguous range of unpacked bytes. */
struct unpacked_part {
    uint64_t base;
    struct pf_store *store; /* NULL: empty */
};

struct pf_unpacked {
    struct pf_unpackings *all;
    atomic_uint references;
    enum pf_packing_kind kind;
    pf_inflate_source *source;
    void *arg;
    uint64_t start, packed_end, limit;

    struct pf_lock lock; /* guards the following */
    struct pf_unpacker *run;
    uint64_t at;                       /* offset of the next byte that the run will unpack */
    struct unpacked_part older, newer; /* two adjacent ranges; the next bytes are appended to the newer one */
    uint64_t size;                     /* UINT64_MAX: unknown */
    bool damaged;
    struct pf_error damage;

    /* Guarded by all->lock: */
    struct pf_unpacked *more, *less; /* neighbours in the LRU list */
    uint64_t held;
    bool runs;
};

struct pf_unpackings {
    struct pf_lock lock;
    uint64_t limit, held;
    unsigned runs;
    struct pf_unpacked *newest, *oldest;
};

struct pf_unpackings *pf_unpackings_new(uint64_t limit)
{
    struct pf_unpackings *all = calloc(1, sizeof *all);
    if (all) {
        all->limit = limit;
        pf_lock_init(&all->lock, PF_RANK_UNPACKINGS);
    }
    return all;
}

void pf_unpackings_free(struct pf_unpackings *all)
{
    if (!all)
        return;
    pf_lock_destroy(&all->lock);
    free(all);
}

/* ---- parts; the caller holds unpacked->lock ----------------------------------------------------- */

static uint64_t bytes_of(const struct unpacked_part *part)
{
    return part->store ? pf_store_size(part->store) : 0;
}

static uint64_t end_of(const struct unpacked_part *part)
{
    return part->base + bytes_of(part);
}

static void drop_part(struct unpacked_part *part)
{
    pf_store_free(part->store);
    *part = (struct unpacked_part){0};
}

static void drop_parts(struct pf_unpacked *unpacked)
{
    drop_part(&unpacked->older);
    drop_part(&unpacked->newer);
}

static void drop_run(struct pf_unpacked *unpacked)
{
    pf_unpacker_free(unpacked->run);
    unpacked->run = NULL;
}

/* The part that holds a byte; NULL if it is not cached. */
static const struct unpacked_part *unpacked_part_of(const struct pf_unpacked *unpacked, uint64_t offset)
{
    const struct unpacked_part *parts[] = {&unpacked->newer, &unpacked->older};
    for (size_t i = 0; i < 2; i++)
        if (offset >= parts[i]->base && offset < end_of(parts[i]))
            return parts[i];
    return NULL;
}

static uint64_t first_byte(const struct pf_unpacked *unpacked)
{
    return unpacked->older.store ? unpacked->older.base : unpacked->newer.base;
}

/* ---- the limit ---------------------------------------------------------------------------------- */

static void unpacked_unlist(struct pf_unpackings *all, struct pf_unpacked *unpacked)
{
    if (all->newest != unpacked && !unpacked->more)
        return;
    *(unpacked->more ? &unpacked->more->less : &all->newest) = unpacked->less;
    *(unpacked->less ? &unpacked->less->more : &all->oldest) = unpacked->more;
    unpacked->more = unpacked->less = NULL;
}

static void unpacked_count(struct pf_unpackings *all, struct pf_unpacked *unpacked)
{
    uint64_t held = bytes_of(&unpacked->older) + bytes_of(&unpacked->newer);
    all->held += held - unpacked->held;
    unpacked->held = held;
    all->runs += (unsigned)(unpacked->run != NULL) - (unsigned)unpacked->runs;
    unpacked->runs = unpacked->run != NULL;
}

/*
 * Evicts the cached bytes of `from` if the group exceeds its limit, and the run of `from` if there are too many runs.
 * Skips `from` if it is in use, instead of waiting for it.
 */
static void evict_from(struct pf_unpackings *all, struct pf_unpacked *from)
{
    if (!pf_lock_try(&from->lock))
        return;
    if (all->held > all->limit)
        drop_parts(from);
    if (all->runs > RUNS_MAX)
        drop_run(from);
    unpacked_count(all, from);
    pf_lock_drop(&from->lock);
}

/* Must be called after a read: accounts for the cached bytes, and evicts other files' bytes and runs beyond the limits. */
static void unpacked_note_use(struct pf_unpacked *unpacked)
{
    pf_assert_held(&unpacked->lock);
    struct pf_unpackings *all = unpacked->all;
    if (!all)
        return;
    pf_lock_take(&all->lock);
    unpacked_unlist(all, unpacked);
    unpacked->less = all->newest;
    *(all->newest ? &all->newest->more : &all->oldest) = unpacked;
    all->newest = unpacked;
    unpacked_count(all, unpacked);
    for (struct pf_unpacked *at = all->oldest;
         at != unpacked && (all->held > all->limit || all->runs > RUNS_MAX); at = at->more)
        evict_from(all, at);
    pf_lock_drop(&all->lock);
}

void pf_unpackings_relieve(struct pf_unpackings *all)
{
    pf_lock_take(&all->lock);
    for (struct pf_unpacked *at = all->oldest; at; at = at->more) {
        if (at->held <= IN_MEMORY || !pf_lock_try(&at->lock))
            continue;
        drop_parts(at);
        unpacked_count(all, at);
        pf_lock_drop(&at->lock);
    }
    pf_lock_drop(&all->lock);
}

/* ---- life --------------------------------------------------------------------------------------- */

struct pf_unpacked *pf_unpacked_new(struct pf_unpackings *all, enum pf_packing_kind kind,
                                    pf_inflate_source *source, void *arg, uint64_t start, uint64_t end,
                                    uint64_t size)
{
    struct pf_unpacked *unpacked = calloc(1, sizeof *unpacked);
    if (!unpacked)
        return NULL;
    unpacked->all = all;
    unpacked->kind = kind;
    unpacked->source = source;
    unpacked->arg = arg;
    unpacked->start = start;
    unpacked->packed_end = end;
    unpacked->size = UINT64_MAX;
    uint64_t sound = pf_packing_limit(end - start);
    unpacked->limit = size < sound ? size : sound;
    atomic_init(&unpacked->references, 1);
    pf_lock_init(&unpacked->lock, PF_RANK_UNPACKED);
    return unpacked;
}

struct pf_unpacked *pf_unpacked_hold(struct pf_unpacked *unpacked)
{
    atomic_fetch_add(&unpacked->references, 1);
    return unpacked;
}

void pf_unpacked_release(struct pf_unpacked *unpacked)
{
    if (!unpacked || atomic_fetch_sub(&unpacked->references, 1) != 1)
        return;
    struct pf_unpackings *all = unpacked->all;
    if (all)
        pf_lock_take(&all->lock);
    drop_parts(unpacked);
    drop_run(unpacked);
    if (all) {
        unpacked_unlist(all, unpacked);
        unpacked_count(all, unpacked);
        pf_lock_drop(&all->lock);
    }
    pf_lock_destroy(&unpacked->lock);
    free(unpacked);
}

/* ---- unpacking; the caller holds unpacked->lock ------------------------------------------------- */

/* Starts a newer part at `base` if there is none, or if it has reached half of the limit. The full part then becomes
 * the older one, and the previous older one is dropped. */
static int unpacked_make_room(struct pf_unpacked *unpacked, uint64_t base, struct pf_error *error)
{
    uint64_t half = unpacked->all ? unpacked->all->limit / 2 : UINT64_MAX;
    if (half < PART_MIN)
        half = PART_MIN;
    if (unpacked->newer.store && bytes_of(&unpacked->newer) < half)
        return 0;
    drop_part(&unpacked->older);
    unpacked->older = unpacked->newer;
    unpacked->newer = (struct unpacked_part){base, pf_store_new(IN_MEMORY)};
    return unpacked->newer.store ? 0 : pf_fail_memory(error);
}

/* Caches the bytes of a piece that are not cached yet. The piece begins at the run's offset. */
static int unpacked_retain(struct pf_unpacked *unpacked, const unsigned char *bytes, size_t size,
                           struct pf_error *error)
{
    uint64_t from = unpacked->newer.store ? end_of(&unpacked->newer) : unpacked->at;
    if (from >= unpacked->at + size)
        return 0;
    size_t skip = (size_t)(from - unpacked->at);
    return unpacked_make_room(unpacked, from, error)
               ? -1
               : pf_store_append(unpacked->newer.store, bytes + skip, size - skip, error);
}

static void end_here(struct pf_unpacked *unpacked, const struct pf_error *damage)
{
    unpacked->size = unpacked->at;
    unpacked->damaged = damage->code != 0;
    unpacked->damage = *damage;
    drop_run(unpacked);
}

/* Unpacks the next piece and caches it, unless nothing is cached and the piece ends at least BEHIND bytes before
 * `wanted`. */
static int unpack_piece(struct pf_unpacked *unpacked, uint64_t wanted, struct pf_error *error)
{
    struct pf_error damage = {0};
    const void *bytes;
    size_t size;
    int more = pf_unpacker_next(unpacked->run, &bytes, &size, &damage, error);
    if (more < 0)
        return -1;
    bool beyond = more && size > unpacked->limit - unpacked->at;
    if (beyond) {
        size = (size_t)(unpacked->limit - unpacked->at);
        pf_fail_at(&damage, EFBIG, (int64_t)pf_unpacker_packed(unpacked->run), PF_PACKING_BEYOND);
    }
    bool needed = unpacked->newer.store || unpacked->at + size + BEHIND > wanted;
    if (more && size && needed && unpacked_retain(unpacked, bytes, size, error))
        return -1;
    unpacked->at += more ? size : 0;
    if (!more || beyond)
        end_here(unpacked, &damage);
    return 0;
}

static int start_run(struct pf_unpacked *unpacked, struct pf_error *error)
{
    drop_run(unpacked);
    unpacked->at = 0;
    unpacked->run = pf_unpacker_new(unpacked->kind, unpacked->source, unpacked->arg, unpacked->start,
                                    unpacked->packed_end, error);
    return unpacked->run ? 0 : -1;
}

/* Returns 1 if the byte at `offset` is cached or after the end; otherwise unpacks one piece and returns 0, or -1 on failure. */
static int unpack_towards(struct pf_unpacked *unpacked, uint64_t offset, struct pf_error *error)
{
    if (offset >= unpacked->size || unpacked_part_of(unpacked, offset))
        return 1;
    if (pf_pass_check(error)) /* before any change, so that the run stays usable */
        return -1;
    if (unpacked->newer.store && offset < first_byte(unpacked)) {
        drop_parts(unpacked);
        drop_run(unpacked);
    }
    bool behind = !unpacked->newer.store && unpacked->at > offset;
    if ((!unpacked->run || behind) && start_run(unpacked, error))
        return -1;
    int failed = unpack_piece(unpacked, offset, error);
    if (failed)
        drop_run(unpacked); /* its position is undefined after an error */
    return failed;
}

static ssize_t unpacked_read_parts(struct pf_unpacked *unpacked, unsigned char *buffer, size_t size,
                                   uint64_t offset, struct pf_error *error)
{
    size_t done = 0;
    while (done < size) {
        uint64_t at = offset + done;
        int there;
        while (!(there = unpack_towards(unpacked, at, error))) {
        }
        if (there < 0)
            return -1;
        const struct unpacked_part *part = unpacked_part_of(unpacked, at);
        if (!part)
            break;
        uint64_t have = end_of(part) - at;
        size_t n = have < size - done ? (size_t)have : size - done;
        if (pf_store_read(part->store, at - part->base, buffer + done, n, error))
            return -1;
        done += n;
    }
    return (ssize_t)done;
}

ssize_t pf_unpacked_read(struct pf_unpacked *unpacked, void *buffer, size_t size, uint64_t offset,
                         struct pf_error *error)
{
    pf_lock_take(&unpacked->lock);
    if (size > UINT64_MAX - offset)
        size = (size_t)(UINT64_MAX - offset);
    ssize_t got = unpacked_read_parts(unpacked, buffer, size, offset, error);
    unpacked_note_use(unpacked);
    pf_lock_drop(&unpacked->lock);
    return got;
}

int pf_unpacked_reach(struct pf_unpacked *unpacked, uint64_t offset, struct pf_error *error)
{
    int there = 0;
    while (!there) {
        pf_lock_take(&unpacked->lock);
        there = unpack_towards(unpacked, offset, error);
        unpacked_note_use(unpacked);
        pf_lock_drop(&unpacked->lock);
        uint64_t done = pf_unpacked_packed_before(unpacked, offset);
        if (!there && pf_pass_step(done, unpacked->packed_end - unpacked->start, error))
            return -1;
    }
    return there < 0 ? -1 : 0;
}

/* ---- state -------------------------------------------------------------------------------------- */

uint64_t pf_unpacked_size(struct pf_unpacked *unpacked)
{
    pf_lock_take(&unpacked->lock);
    uint64_t size = unpacked->size;
    pf_lock_drop(&unpacked->lock);
    return size;
}

uint64_t pf_unpacked_distance(struct pf_unpacked *unpacked, uint64_t offset)
{
    pf_lock_take(&unpacked->lock);
    bool there = offset >= unpacked->size || unpacked_part_of(unpacked, offset);
    bool ahead = unpacked->run && unpacked->at <= offset;
    uint64_t distance = there ? 0 : ahead ? offset - unpacked->at + 1 : offset + 1;
    pf_lock_drop(&unpacked->lock);
    return distance;
}

bool pf_unpacked_damage(struct pf_unpacked *unpacked, struct pf_error *damage)
{
    pf_lock_take(&unpacked->lock);
    bool damaged = unpacked->damaged;
    if (damaged)
        *damage = unpacked->damage;
    pf_lock_drop(&unpacked->lock);
    return damaged;
}

uint64_t pf_unpacked_packed_before(struct pf_unpacked *unpacked, uint64_t offset)
{
    pf_lock_take(&unpacked->lock);
    uint64_t packed = unpacked->packed_end - unpacked->start;
    if (offset < unpacked->size && unpacked->run)
        packed = pf_unpacker_packed(unpacked->run) - unpacked->start;
    else if (offset < unpacked->size && unpacked->size != UINT64_MAX)
        packed = (uint64_t)((double)packed * ((double)offset / (double)unpacked->size));
    else if (offset < unpacked->size)
        packed = 0;
    pf_lock_drop(&unpacked->lock);
    return packed;
}
