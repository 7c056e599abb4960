/* SPDX-License-Identifier: MIT */
#include "formats/input/inflate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/inflater.h"
#include "formats/kit/array.h"
#include "formats/kit/lock.h"
#include "formats/kit/store.h"

/*
 * Distance in the text between seek points. It doubles after every DENSE points, so that even a large file has few
 * points.
 */
#define SPACING ((uint64_t)2 << 20)
#define DENSE   1024

/* Maximum memory for the windows of seek points; if it is exceeded, all windows are in an unlinked file. */
#define WINDOWS_IN_MEMORY ((uint64_t)2 << 20)

/* Number of inflaters kept at their positions; about 120 KB each. */
enum { RUNS = 8 };

struct inflate_slot {
    struct pf_inflater *run; /* NULL: not created yet */
    bool busy;               /* in use by a thread that does not hold the lock */
    uint64_t used;           /* value of `clock` at the last use */
};

struct pf_inflate {
    pf_inflate_source *source;
    void *arg;
    uint64_t packed_size;

    struct pf_lock lock; /* guards all members below, except a busy slot's run, which its thread uses alone */
    pthread_cond_t idle; /* signalled when a slot becomes idle */
    struct inflate_slot slots[RUNS];
    uint64_t clock;
    struct pf_seek_point *points; /* ordered by offset in the text */
    size_t n_points, room;
    struct pf_store *windows;
    uint64_t text_size; /* UINT64_MAX: unknown */
    bool damaged;
    struct pf_error damage;
    uint64_t packed_end; /* offset of the first byte after an intact zlib stream; UINT64_MAX: unknown */
};

struct pf_inflate *pf_inflate_new(pf_inflate_source *source, void *arg, uint64_t packed_size)
{
    struct pf_inflate *inflate = calloc(1, sizeof *inflate);
    if (!inflate || !(inflate->windows = pf_store_new(WINDOWS_IN_MEMORY))) {
        free(inflate);
        return NULL;
    }
    inflate->source = source;
    inflate->arg = arg;
    inflate->packed_size = packed_size;
    inflate->text_size = inflate->packed_end = UINT64_MAX;
    pf_lock_init(&inflate->lock, PF_RANK_INFLATE);
    pthread_cond_init(&inflate->idle, NULL);
    return inflate;
}

void pf_inflate_free(struct pf_inflate *inflate)
{
    if (!inflate)
        return;
    for (size_t i = 0; i < RUNS; i++)
        pf_inflater_free(inflate->slots[i].run);
    pf_store_free(inflate->windows);
    free(inflate->points);
    pthread_cond_destroy(&inflate->idle);
    pf_lock_destroy(&inflate->lock);
    free(inflate);
}

/* ---- seek points; the caller holds the lock ----------------------------------------------------- */

/* The number of seek points at or before an offset of the text. */
static size_t points_to(const struct pf_inflate *inflate, uint64_t offset)
{
    size_t low = 0, high = inflate->n_points;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (inflate->points[middle].text <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The lowest text offset at which the next seek point may be recorded. */
static uint64_t next_point(const struct pf_inflate *inflate)
{
    uint64_t last = inflate->n_points ? inflate->points[inflate->n_points - 1].text : 0;
    size_t doublings = inflate->n_points / DENSE;
    return last + (SPACING << (doublings < 20 ? doublings : 20));
}

/* Records the run's position as a seek point unless another run has done so. If memory runs out, no point is recorded,
 * and reading is slower. */
static void add_point(struct pf_inflate *inflate, struct pf_inflater *run)
{
    unsigned char window[PF_INFLATER_WINDOW];
    struct pf_seek_point point;
    struct pf_error error;
    if (run->base + run->have < next_point(inflate))
        return;
    if (pf_array_room(&inflate->points, &inflate->room, inflate->n_points, sizeof *inflate->points, &error))
        return;
    pf_inflater_point(run, &point, window);
    point.window = pf_store_size(inflate->windows);
    if (pf_store_append(inflate->windows, window, point.window_size, &error) == 0)
        inflate->points[inflate->n_points++] = point;
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* True if a run can reach `offset` by inflating forward. *from is the text offset where inflating would begin; at
 * most `offset`. */
static bool can_reach(const struct pf_inflater *run, uint64_t offset, uint64_t *from)
{
    uint64_t end = run->base + run->have;
    *from = offset < end ? offset : end;
    return !run->lost && run->base <= offset && !(run->ended && offset > end);
}

/*
 * Returns the slot of the idle run that must inflate the fewest bytes to reach `offset`; NULL if a new run from the
 * last seek point before `offset` would inflate fewer.
 */
static struct inflate_slot *inflate_nearest(struct pf_inflate *inflate, uint64_t offset)
{
    size_t points = points_to(inflate, offset);
    uint64_t best = points ? inflate->points[points - 1].text : 0;
    struct inflate_slot *found = NULL;
    for (size_t i = 0; i < RUNS; i++) {
        struct inflate_slot *slot = &inflate->slots[i];
        uint64_t from;
        if (slot->run && !slot->busy && can_reach(slot->run, offset, &from) && from >= best) {
            best = from;
            found = slot;
        }
    }
    return found;
}

/* Returns a slot for a new run: an unused one, otherwise the least recently used idle one; NULL if all are busy. */
static struct inflate_slot *spare(struct pf_inflate *inflate)
{
    struct inflate_slot *oldest = NULL;
    for (size_t i = 0; i < RUNS; i++) {
        struct inflate_slot *slot = &inflate->slots[i];
        if (!slot->run)
            return slot;
        if (!slot->busy && (!oldest || slot->used < oldest->used))
            oldest = slot;
    }
    return oldest;
}

/* Restarts a slot's run at the last seek point at or before an offset, or at the start if there is none. */
static int restart(struct pf_inflate *inflate, struct inflate_slot *slot, uint64_t offset,
                   struct pf_error *error)
{
    unsigned char window[PF_INFLATER_WINDOW];
    size_t points = points_to(inflate, offset);
    const struct pf_seek_point *point = points ? &inflate->points[points - 1] : NULL;
    if (!slot->run)
        slot->run = pf_inflater_new(inflate->source, inflate->arg);
    if (!slot->run)
        return pf_fail_memory(error);
    if (point && pf_store_read(inflate->windows, point->window, window, point->window_size, error))
        return -1;
    return pf_inflater_start(slot->run, point, window, error);
}

/* Acquires a run positioned at or before an offset, for exclusive use by this thread. NULL with *error filled. */
static struct inflate_slot *inflate_take(struct pf_inflate *inflate, uint64_t offset, struct pf_error *error)
{
    pf_assert_held(&inflate->lock);
    struct inflate_slot *slot;
    while (!(slot = inflate_nearest(inflate, offset))) {
        slot = spare(inflate);
        if (slot && restart(inflate, slot, offset, error))
            return NULL;
        if (slot)
            break;
        pf_lock_wait(&inflate->lock, &inflate->idle);
    }
    slot->busy = true;
    slot->used = ++inflate->clock;
    return slot;
}

/* Drops what a run has inflated beyond `limit`, and ends its text there. */
static void cut_beyond(struct pf_inflater *run, uint64_t limit)
{
    if (run->have <= limit - run->base)
        return;
    run->have = (size_t)(limit - run->base);
    run->ended = run->damaged = true;
    run->at_boundary = false;
    pf_fail_at(&run->damage, EFBIG, (int64_t)pf_inflater_packed(run), PF_PACKING_BEYOND);
}

/* Inflates the next block of a run that this thread has acquired. */
static int inflate_advance(struct pf_inflate *inflate, struct pf_inflater *run, struct pf_error *error)
{
    pf_lock_take(&inflate->lock);
    uint64_t wanted = next_point(inflate);
    pf_lock_drop(&inflate->lock);
    if (pf_inflater_next(run, wanted, error))
        return -1;
    cut_beyond(run, pf_packing_limit(inflate->packed_size));
    pf_lock_take(&inflate->lock);
    if (run->at_boundary)
        add_point(inflate, run);
    if (run->ended && inflate->text_size == UINT64_MAX) {
        inflate->text_size = run->base + run->have;
        inflate->damaged = run->damaged;
        inflate->damage = run->damage;
        if (!run->damaged && run->wrapping == PF_ZLIB)
            inflate->packed_end = pf_inflater_packed(run);
    }
    pf_lock_drop(&inflate->lock);
    return 0;
}

/* Copies up to `size` bytes of text at `offset`; the run inflates blocks as needed. Returns the number of bytes, or
 * -1 with *error filled. */
static ssize_t read_run(struct pf_inflate *inflate, struct pf_inflater *run, unsigned char *buffer,
                        size_t size, uint64_t offset, struct pf_error *error)
{
    size_t done = 0;
    while (done < size) {
        uint64_t at = offset + done, end = run->base + run->have;
        if (at < end) {
            size_t n = end - at < size - done ? (size_t)(end - at) : size - done;
            memcpy(buffer + done, run->block + (at - run->base), n);
            done += n;
        } else if (run->ended) {
            break;
        } else if (inflate_advance(inflate, run, error)) {
            return -1;
        }
    }
    return (ssize_t)done;
}

ssize_t pf_inflate_read(struct pf_inflate *inflate, void *buffer, size_t size, uint64_t offset,
                        struct pf_error *error)
{
    pf_lock_take(&inflate->lock);
    bool behind = offset >= inflate->text_size;
    struct inflate_slot *slot = behind ? NULL : inflate_take(inflate, offset, error);
    pf_lock_drop(&inflate->lock);
    if (!slot)
        return behind ? 0 : -1;
    if (size > UINT64_MAX - offset)
        size = (size_t)(UINT64_MAX - offset);
    ssize_t got = read_run(inflate, slot->run, buffer, size, offset, error);
    pf_lock_take(&inflate->lock);
    slot->busy = false;
    pthread_cond_signal(&inflate->idle);
    pf_lock_drop(&inflate->lock);
    return got;
}

/* ---- state -------------------------------------------------------------------------------------- */

uint64_t pf_inflate_size(struct pf_inflate *inflate)
{
    pf_lock_take(&inflate->lock);
    uint64_t size = inflate->text_size;
    pf_lock_drop(&inflate->lock);
    return size;
}

bool pf_inflate_damage(struct pf_inflate *inflate, struct pf_error *damage)
{
    pf_lock_take(&inflate->lock);
    bool damaged = inflate->damaged;
    if (damaged)
        *damage = inflate->damage;
    pf_lock_drop(&inflate->lock);
    return damaged;
}

bool pf_inflate_trailing(struct pf_inflate *inflate, uint64_t *offset)
{
    pf_lock_take(&inflate->lock);
    *offset = inflate->packed_end;
    pf_lock_drop(&inflate->lock);
    return *offset < inflate->packed_size;
}

uint64_t pf_inflate_packed_before(struct pf_inflate *inflate, uint64_t offset)
{
    pf_lock_take(&inflate->lock);
    size_t points = points_to(inflate, offset);
    uint64_t packed = points ? inflate->points[points - 1].packed : 0;
    /* An idle run gives a better estimate if it is past the seek point and its block begins at or before `offset`. */
    for (size_t i = 0; i < RUNS; i++) {
        const struct inflate_slot *slot = &inflate->slots[i];
        if (slot->run && !slot->busy && slot->run->base <= offset && pf_inflater_packed(slot->run) > packed)
            packed = pf_inflater_packed(slot->run);
    }
    if (offset >= inflate->text_size)
        packed = inflate->packed_size;
    pf_lock_drop(&inflate->lock);
    return packed < inflate->packed_size ? packed : inflate->packed_size;
}

/* ---- heads -------------------------------------------------------------------------------------- */

struct inflate_head {
    const unsigned char *bytes;
    size_t size;
};

static ssize_t inflate_read_head(void *arg, void *buffer, size_t size, uint64_t offset,
                                 struct pf_error *error)
{
    const struct inflate_head *head = arg;
    (void)error;
    if (offset >= head->size)
        return 0;
    if (size > head->size - offset)
        size = (size_t)(head->size - offset);
    memcpy(buffer, head->bytes + offset, size);
    return (ssize_t)size;
}

ssize_t pf_inflate_head(const unsigned char *packed, size_t packed_size, unsigned char *text, size_t room,
                        struct pf_error *error)
{
    struct inflate_head head = {packed, packed_size};
    if (!pf_inflate_is_gzip(packed, packed_size) && !pf_inflate_is_zlib(packed, packed_size))
        return 0;
    struct pf_inflate *inflate = pf_inflate_new(inflate_read_head, &head, packed_size);
    ssize_t got = inflate ? pf_inflate_read(inflate, text, room, 0, error) : pf_fail_memory(error);
    pf_inflate_free(inflate);
    return got;
}
