/* SPDX-License-Identifier: MIT */
#include "formats/kit/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/kit/array.h"
#include "formats/kit/lock.h"

/* A spilled store buffers up to TAIL appended bytes. It is read in blocks; the BLOCKS most recently used ones are cached. */
enum { TAIL = 64 * 1024, BLOCK = 64 * 1024, BLOCKS = 8 };

/* A cached block of a spilled store, from offset number * BLOCK on. */
struct pf_store_block {
    _Atomic unsigned holders;
    uint64_t number;
    size_t size;
    unsigned char bytes[];
};

struct pf_store {
    _Atomic unsigned owners;
    uint64_t limit, size;
    unsigned char *memory; /* NULL once spilled */
    size_t room;
    int fd;              /* -1 while in memory */
    unsigned char *tail; /* the last bytes of a spilled store, not written to the file yet */
    size_t tail_size;
    struct pf_lock lock;                   /* guards the members below */
    struct pf_store_block *blocks[BLOCKS]; /* most recently used first; NULL: unused */
};

struct pf_store *pf_store_new(uint64_t limit)
{
    struct pf_store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    store->owners = 1;
    store->limit = limit;
    store->fd = -1;
    pf_lock_init(&store->lock, PF_RANK_STORE);
    return store;
}

static void release_block(struct pf_store_block *block)
{
    if (block && !--block->holders)
        free(block);
}

static void drop_blocks(struct pf_store *store)
{
    pf_lock_take(&store->lock);
    for (size_t i = 0; i < BLOCKS && store->blocks[i]; i++) {
        release_block(store->blocks[i]);
        store->blocks[i] = NULL;
    }
    pf_lock_drop(&store->lock);
}

struct pf_store *pf_store_hold(struct pf_store *store)
{
    store->owners++;
    return store;
}

void pf_store_free(struct pf_store *store)
{
    if (!store || --store->owners)
        return;
    if (store->fd >= 0)
        close(store->fd);
    drop_blocks(store);
    pf_lock_destroy(&store->lock);
    free(store->memory);
    free(store->tail);
    free(store);
}

int pf_spill_file(struct pf_error *error)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/var/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char path[4096];
    if (strlen(folder) + sizeof "/profilefs.XXXXXX" > sizeof path)
        return pf_fail(error, ENAMETOOLONG, "TMPDIR is too long");
    strcpy(path, folder);
    strcat(path, "/profilefs.XXXXXX");
    fd = mkostemp(path, O_CLOEXEC); /* fallback for file systems without O_TMPFILE */
    if (fd < 0)
        return pf_fail(error, errno, "no temporary file in %.100s: %s", folder, strerror(errno));
    unlink(path);
    return fd;
}

static int write_all(int fd, const void *bytes, size_t size, uint64_t offset, struct pf_error *error)
{
    const unsigned char *at = bytes;
    while (size) {
        ssize_t n = pwrite(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return pf_fail(error, n ? errno : ENOSPC, "writing a temporary file: %s",
                           strerror(n ? errno : ENOSPC));
        at += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static int spill(struct pf_store *store, struct pf_error *error)
{
    int fd = pf_spill_file(error);
    if (fd < 0)
        return -1;
    if (write_all(fd, store->memory, store->size, 0, error)) {
        close(fd);
        return -1;
    }
    free(store->memory);
    store->memory = NULL;
    store->fd = fd;
    return 0;
}

static int flush_tail(struct pf_store *store, struct pf_error *error)
{
    if (store->tail_size &&
        write_all(store->fd, store->tail, store->tail_size, store->size - store->tail_size, error))
        return -1;
    store->tail_size = 0;
    return 0;
}

static int append_tail(struct pf_store *store, const void *bytes, size_t size, struct pf_error *error)
{
    if (!store->tail && !(store->tail = malloc(TAIL)))
        return pf_fail_memory(error);
    if (size > TAIL - store->tail_size && flush_tail(store, error))
        return -1;
    if (size > TAIL) {
        if (write_all(store->fd, bytes, size, store->size, error))
            return -1;
    } else if (size) {
        memcpy(store->tail + store->tail_size, bytes, size);
        store->tail_size += size;
    }
    store->size += size;
    return 0;
}

static int store_grow(struct pf_store *store, uint64_t size, struct pf_error *error)
{
    size_t room = store->room ? store->room : 4096;
    while (room < size)
        room *= 2;
    if (room > store->limit && size <= store->limit)
        room = store->limit;
    if (pf_array_resize(&store->memory, room, 1, error))
        return -1;
    store->room = room;
    return 0;
}

int pf_store_write(struct pf_store *store, uint64_t offset, const void *bytes, size_t size,
                   struct pf_error *error)
{
    uint64_t end = offset + size;
    if (end < offset || end > INT64_MAX)
        return pf_fail(error, EFBIG, "too much to hold");
    if (store->fd < 0 && end > store->limit && spill(store, error))
        return -1;
    if (store->fd >= 0) {
        if (store->blocks[0])
            drop_blocks(store);
        uint64_t in_file = store->size - store->tail_size;
        if (offset == store->size)
            return append_tail(store, bytes, size, error);
        if (offset >= in_file && end <= store->size) {
            memcpy(store->tail + (offset - in_file), bytes, size);
            return 0;
        }
        if ((end > in_file && flush_tail(store, error)) || write_all(store->fd, bytes, size, offset, error))
            return -1;
    } else {
        if (end > store->room && store_grow(store, end, error))
            return -1;
        if (offset > store->size)
            memset(store->memory + store->size, 0, offset - store->size);
        if (size)
            memcpy(store->memory + offset, bytes, size);
    }
    if (end > store->size)
        store->size = end;
    return 0;
}

int pf_store_append(struct pf_store *store, const void *bytes, size_t size, struct pf_error *error)
{
    return pf_store_write(store, store->size, bytes, size, error);
}

int pf_store_expect(struct pf_store *store, uint64_t more, struct pf_error *error)
{
    bool fits = store->size <= store->limit && more <= store->limit - store->size;
    return store->fd < 0 && !fits ? spill(store, error) : 0;
}

uint64_t pf_store_size(const struct pf_store *store)
{
    return store->size;
}

int pf_store_read(const struct pf_store *store, uint64_t offset, void *buffer, size_t size,
                  struct pf_error *error)
{
    if (offset > store->size || size > store->size - offset)
        return pf_fail(error, EIO, "reading past the end of a temporary file");
    if (store->fd < 0) {
        if (size)
            memcpy(buffer, store->memory + offset, size);
        return 0;
    }
    unsigned char *at = buffer;
    uint64_t in_file = store->size - store->tail_size;
    if (offset + size > in_file) {
        size_t late = offset >= in_file ? size : (size_t)(offset + size - in_file);
        memcpy(at + size - late, store->tail + (offset + size - late - in_file), late);
        size -= late;
    }
    while (size) {
        ssize_t n = pread(store->fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pf_fail(error, errno, "reading a temporary file: %s", strerror(errno));
        if (n == 0) { /* a hole at the end: extended, but never written */
            memset(at, 0, size);
            return 0;
        }
        at += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

const void *pf_store_memory(const struct pf_store *store)
{
    return store->fd < 0 ? store->memory : NULL;
}

int pf_store_flush(struct pf_store *store, struct pf_error *error)
{
    return flush_tail(store, error);
}

int pf_store_file(const struct pf_store *store)
{
    return store->fd;
}

/* ---- windows ------------------------------------------------------------------------------------ */

/* Moves `block` from index i to the front. A new block replaces the last one (i = BLOCKS - 1). Returns the replaced
 * block, or NULL. */
static struct pf_store_block *move_to_front(struct pf_store *store, size_t i, struct pf_store_block *block)
{
    pf_assert_held(&store->lock);
    struct pf_store_block *displaced = store->blocks[i] == block ? NULL : store->blocks[i];
    memmove(store->blocks + 1, store->blocks, i * sizeof *store->blocks);
    store->blocks[0] = block;
    return displaced;
}

/* Returns a cached block with a reference, or NULL. */
static struct pf_store_block *store_find_block(struct pf_store *store, uint64_t number)
{
    struct pf_store_block *found = NULL;
    pf_lock_take(&store->lock);
    for (size_t i = 0; i < BLOCKS && store->blocks[i] && !found; i++)
        if (store->blocks[i]->number == number) {
            found = store->blocks[i];
            found->holders++;
            move_to_front(store, i, found);
        }
    pf_lock_drop(&store->lock);
    return found;
}

/* Reads a block, caches it and returns a reference. NULL with *error filled. */
static struct pf_store_block *read_block(struct pf_store *store, uint64_t number, struct pf_error *error)
{
    uint64_t left = store->size - number * BLOCK;
    size_t size = left < BLOCK ? (size_t)left : BLOCK;
    struct pf_store_block *block = malloc(sizeof *block + size);
    if (!block) {
        pf_fail_memory(error);
        return NULL;
    }
    block->holders = 2; /* references of the caller and of the store */
    block->number = number;
    block->size = size;
    if (pf_store_read(store, number * BLOCK, block->bytes, size, error)) {
        free(block);
        return NULL;
    }
    pf_lock_take(&store->lock);
    struct pf_store_block *displaced = move_to_front(store, BLOCKS - 1, block);
    pf_lock_drop(&store->lock);
    release_block(displaced);
    return block;
}

/* Reads a range that crosses blocks. */
static const void *read_across_blocks(struct pf_store_window *window, uint64_t offset, size_t size,
                                      struct pf_error *error)
{
    if (size > window->room) {
        if (pf_array_resize(&window->buffer, size, 1, error))
            return NULL;
        window->room = size;
    }
    return pf_store_read(window->store, offset, window->buffer, size, error) ? NULL : window->buffer;
}

const void *pf_store_at(struct pf_store_window *window, uint64_t offset, size_t size, struct pf_error *error)
{
    const struct pf_store *store = window->store;
    if (offset > store->size || size > store->size - offset) {
        pf_fail(error, EIO, "reading past the end of a temporary file");
        return NULL;
    }
    if (store->fd < 0)
        return store->memory ? store->memory + offset : (const unsigned char *)"";
    uint64_t number = offset / BLOCK;
    size_t at = (size_t)(offset % BLOCK);
    if (size > BLOCK - at)
        return read_across_blocks(window, offset, size, error);
    if (!window->block || window->block->number != number || size > window->block->size - at) {
        struct pf_store *shared =
            (struct pf_store *)(uintptr_t)store; /* the cache may change in a const store */
        release_block(window->block);
        window->block = store_find_block(shared, number);
        if (!window->block && !(window->block = read_block(shared, number, error)))
            return NULL;
    }
    return window->block->bytes + at;
}

void pf_store_window_free(struct pf_store_window *window)
{
    release_block(window->block);
    free(window->buffer);
    window->block = NULL;
    window->buffer = NULL;
    window->room = 0;
}
