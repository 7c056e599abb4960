/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/kit/digest.h"
#include "formats/kit/table.h"
#include "fs/cache/db.h"
#include "fs/cache/fields.h"
#include "fs/clock.h"

/*
 * A datum of up to PART_MAX bytes is one row, part 0 (WHOLE). A larger datum is split into parts 1, 2, ..., each written in its own
 * transaction. Part -1 (TOTAL), with the size and checksum of all parts together, is written last. A large datum is invalid if part
 * TOTAL is missing, or if the other parts do not match TOTAL's checksum.
 */
enum { PART_MAX = 1 << 20, VALUE_MAX = 64 << 20, TOTAL = -1, WHOLE = 0 };

/*
 * The queue is written when a datum is added and one of the BATCH limits is reached. While the database is locked, each further datum
 * tries again, until the queue is full and is dropped. QUEUED_BYTES_MAX may be exceeded by one datum.
 */
enum {
    BATCH = PF_QUEUED_MAX / 2,
    BATCH_BYTES = 1 << 20,
    BATCH_MS = 1000,
    QUEUED_BYTES_MAX = 2 * BATCH_BYTES,
    LAST_TRIES = 10 /* attempts to write the queue when the cache is freed */
};

struct datum_total {
    uint64_t size, sum; /* size and checksum of the parts together */
};

/* ---- reading ------------------------------------------------------------------------------------ */

/* The checksum of a part. It covers the part's key too, so that a row under a wrong key is detected. */
static uint64_t sum_of(uint64_t origin, enum pf_datum type, uint64_t number, int part, const void *bytes,
                       size_t size)
{
    const uint64_t key[] = {origin, type, number, (uint64_t)part};
    return pf_digest(pf_digest(0, key, sizeof key), bytes, size);
}

static void bind_datum(sqlite3_stmt *statement, uint64_t origin, enum pf_datum type, uint64_t number)
{
    sqlite3_bind_int64(statement, 1, (int64_t)origin);
    sqlite3_bind_int64(statement, 2, (int64_t)type);
    sqlite3_bind_int64(statement, 3, (int64_t)number);
}

struct datum_reading {
    struct datum_total total; /* expected size and checksum of the parts together */
    char *bytes;
    size_t have;
};

/*
 * Reads the current row of a statement. `expected` is the number of the expected part; TOTAL for the first row, which can be TOTAL or
 * WHOLE. Returns false if the part or its checksum is wrong, or if memory runs out.
 */
static bool read_part(sqlite3_stmt *row, uint64_t origin, enum pf_datum type, uint64_t number, int expected,
                      struct datum_reading *reading)
{
    int part = sqlite3_column_int(row, 0);
    const void *bytes = sqlite3_column_blob(row, 2);
    size_t size = (size_t)sqlite3_column_bytes(row, 2);
    bool sound =
        bytes && sum_of(origin, type, number, part, bytes, size) == (uint64_t)sqlite3_column_int64(row, 1);
    if (!sound)
        return false;
    if (expected == TOTAL) {
        if (part == TOTAL && size == sizeof reading->total)
            memcpy(&reading->total, bytes, size);
        else
            reading->total = (struct datum_total){size, pf_digest(0, bytes, size)};
        if ((part != TOTAL && part != WHOLE) || reading->total.size > VALUE_MAX ||
            !(reading->bytes = malloc(reading->total.size + 1)))
            return false;
        if (part == TOTAL)
            return true;
    } else if (part != expected) {
        return false;
    }
    if (size > reading->total.size - reading->have)
        return false;
    memcpy(reading->bytes + reading->have, bytes, size);
    reading->have += size;
    return true;
}

static void forget(struct pf_cache *cache, uint64_t origin, enum pf_datum type, uint64_t number)
{
    bind_datum(cache->statements[PF_DB_DELETE], origin, type, number);
    pf_db_step(cache, PF_DB_DELETE);
}

static bool note_use(struct pf_cache *cache, uint64_t origin)
{
    sqlite3_bind_int64(cache->statements[PF_DB_USE], 1, (int64_t)origin);
    sqlite3_bind_int64(cache->statements[PF_DB_USE], 2, pf_db_today());
    return pf_db_step(cache, PF_DB_USE);
}

static uint64_t sum_of_head(uint64_t origin, const void *bytes, size_t size)
{
    return pf_digest(origin, bytes, size);
}

/*
 * Checks the head in column `column` + 1 of a row against the checksum in `column`, and appends the head to *head unless `head` is NULL.
 * Returns false if the checksum is wrong, or if memory runs out.
 */
static bool read_head(sqlite3_stmt *row, int column, uint64_t origin, struct pf_buf *head)
{
    const void *bytes = sqlite3_column_blob(row, column + 1);
    size_t size = (size_t)sqlite3_column_bytes(row, column + 1);
    if (sum_of_head(origin, bytes, size) != (uint64_t)sqlite3_column_int64(row, column))
        return false;
    if (head)
        pf_buf_add(head, bytes, size);
    return !head || !head->failed;
}

static char *get(struct pf_cache *cache, uint64_t origin, enum pf_datum type, uint64_t number, size_t *size,
                 struct pf_buf *head)
{
    struct datum_reading reading = {.bytes = NULL};
    sqlite3_stmt *row = cache->statements[PF_DB_GET];
    int rows = 0, result;
    bool sound = true, old = false;
    bind_datum(row, origin, type, number);
    while ((result = sqlite3_step(row)) == SQLITE_ROW && sound) {
        /* The order of parts is -1, 1, 2, ..., or only 0. */
        sound = read_part(row, origin, type, number, rows ? rows : TOTAL, &reading) &&
                (rows || read_head(row, 4, origin, head));
        old = sqlite3_column_int64(row, 3) < pf_db_today();
        rows++;
    }
    sqlite3_reset(row);
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        pf_db_failed(cache, result);
    sound = sound && rows && result == SQLITE_DONE && reading.have == reading.total.size &&
            pf_digest(0, reading.bytes, reading.have) == reading.total.sum;
    if (rows && !sound && result != SQLITE_BUSY && cache->connection)
        forget(cache, origin, type, number);
    if (sound && old)
        note_use(cache, origin);
    if (!sound) {
        free(reading.bytes);
        return NULL;
    }
    *size = reading.have;
    return reading.bytes;
}

/* ---- writing ------------------------------------------------------------------------------------ */

static bool put_part(struct pf_cache *cache, const struct pf_cache_value *value, int part, const void *bytes,
                     size_t size)
{
    sqlite3_stmt *statement = cache->statements[PF_DB_PUT];
    uint64_t sum = sum_of(value->origin, value->type, value->number, part, bytes, size);
    bind_datum(statement, value->origin, value->type, value->number);
    sqlite3_bind_int(statement, 4, part);
    sqlite3_bind_int64(statement, 5, (int64_t)sum);
    sqlite3_bind_blob64(statement, 6, size ? bytes : "", size, SQLITE_STATIC);
    return pf_db_step(cache, PF_DB_PUT);
}

static const struct pf_cache_head no_head = {.bytes = ""};

static bool put_origin(struct pf_cache *cache, uint64_t origin, int64_t used,
                       const struct pf_cache_head *head)
{
    sqlite3_stmt *statement = cache->statements[PF_DB_ORIGIN];
    sqlite3_bind_int64(statement, 1, (int64_t)origin);
    sqlite3_bind_int64(statement, 2, used);
    sqlite3_bind_int64(statement, 3, (int64_t)sum_of_head(origin, head->bytes, head->size));
    sqlite3_bind_blob64(statement, 4, head->size ? head->bytes : "", head->size, SQLITE_STATIC);
    return pf_db_step(cache, PF_DB_ORIGIN);
}

/* The relation of an origin's stored head to the head of new data. */
enum relation {
    UNREADABLE, /* a failure; the database may be closed */
    ABSENT,     /* the origin is new */
    COVERS,     /* the stored head equals or includes the new one */
    COVERED,    /* the new head includes the stored one */
    DIFFERENT
};

static enum relation stored_head(struct pf_cache *cache, uint64_t origin, const struct pf_cache_head *head)
{
    struct pf_buf stored = {0};
    sqlite3_stmt *row = cache->statements[PF_DB_HEAD];
    sqlite3_bind_int64(row, 1, (int64_t)origin);
    int result = sqlite3_step(row);
    enum relation relation = result == SQLITE_DONE ? ABSENT : result == SQLITE_ROW ? DIFFERENT : UNREADABLE;
    bool sound = result == SQLITE_ROW && read_head(row, 0, origin, &stored);
    sqlite3_reset(row);
    if (relation == UNREADABLE)
        pf_db_failed(cache, result);
    const struct pf_cache_head other = {.bytes = stored.data, .size = stored.size};
    bool same =
        sound && other.size == head->size && (!head->size || !memcmp(other.bytes, head->bytes, head->size));
    bool comparable = sound && head->includes;
    if (!same && comparable && head->includes(head, &other))
        relation = COVERED;
    else if (same || (comparable && head->includes(&other, head)))
        relation = COVERS;
    pf_buf_free(&stored);
    return relation;
}

/*
 * Prepares an origin for new data. If one of the two heads includes the other, keeps the larger one; otherwise the stored data belong to
 * another version, and are deleted.
 */
static bool set_head(struct pf_cache *cache, uint64_t origin, const struct pf_cache_head *head)
{
    enum relation relation = stored_head(cache, origin, head);
    if (relation == UNREADABLE)
        return false;
    if (relation == COVERS)
        return note_use(cache, origin);
    if (relation == DIFFERENT) {
        sqlite3_bind_int64(cache->statements[PF_DB_DROP_DATA], 1, (int64_t)origin);
        if (!pf_db_step(cache, PF_DB_DROP_DATA))
            return false;
    }
    return put_origin(cache, origin, pf_db_today(), head);
}

/* Deletes the parts of an older large datum. The row of an older small datum is replaced by the insert. */
static bool cut(struct pf_cache *cache, const struct pf_cache_value *value)
{
    bind_datum(cache->statements[PF_DB_CUT], value->origin, value->type, value->number);
    return pf_db_step(cache, PF_DB_CUT);
}

/* Stores a datum of up to PART_MAX bytes. See pf_cache_put for fields. */
static bool put_small(struct pf_cache *cache, const struct pf_cache_value *value)
{
    struct pf_cache_value merged = *value;
    struct pf_buf fields = {0};
    size_t size = 0;
    char *stored = value->type == PF_DATUM_TREE || value->type == PF_DATUM_PASSES
                       ? get(cache, value->origin, value->type, value->number, &size, NULL)
                       : NULL;
    if (stored && pf_fields_are_sound(value->bytes, value->size)) {
        pf_buf_add(&fields, value->bytes, value->size);
        pf_fields_merge(&fields, stored, size, PART_MAX);
        if (!fields.failed) {
            merged.bytes = fields.data;
            merged.size = fields.size;
        }
    }
    bool written =
        cache->connection && cut(cache, value) && put_part(cache, &merged, WHOLE, merged.bytes, merged.size);
    pf_buf_free(&fields);
    free(stored);
    return written;
}

/* ---- the key ------------------------------------------------------------------------------------ */

/*
 * Reads the hash key from the database. If it has none and `store` is true, stores the random key of this process. Processes that start
 * at the same time must agree on one key: otherwise, a process does not find the data of the others.
 */
static void settle_key(struct pf_cache *cache, bool store)
{
    const struct pf_cache_value own = {
        .type = PF_DATUM_CACHE, .bytes = cache->key, .size = sizeof cache->key};
    size_t size = 0;
    if (cache->keyed || !pf_db_open(cache, store))
        return;
    char *stored = get(cache, 0, PF_DATUM_CACHE, 0, &size, NULL);
    if (!stored && store && cache->connection && pf_db_begin(cache)) {
        stored = get(cache, 0, PF_DATUM_CACHE, 0, &size, NULL);
        cache->keyed = pf_db_end(cache, !stored && cache->connection &&
                                            put_part(cache, &own, WHOLE, own.bytes, own.size) &&
                                            put_origin(cache, 0, INT64_MAX, &no_head));
    }
    if (stored && size == sizeof cache->key) {
        memcpy(cache->key, stored, size);
        cache->keyed = true;
    }
    free(stored);
}

uint64_t pf_cache_key(struct pf_cache *cache, const void *bytes, size_t size)
{
    pf_db_take(cache);
    settle_key(cache, false);
    uint64_t key = pf_siphash_keyed(cache->key, bytes, size);
    pf_lock_drop(&cache->lock);
    return key ? key : 1; /* origin 0 is reserved for the cache's own data */
}

/* ---- the queue; with the lock held -------------------------------------------------------------- */

static bool is_queued(const struct pf_cache *cache, uint64_t origin)
{
    size_t i = 0;
    while (i < cache->queued && cache->queue[i].origin != origin)
        i++;
    return i < cache->queued;
}

static void empty_queue(struct pf_cache *cache)
{
    while (cache->queued)
        free((char *)(uintptr_t)cache->queue[--cache->queued].head.bytes);
    cache->queued_bytes = 0;
}

/*
 * Writes the queue in one transaction, and empties it. If the transaction fails, for example because another process is writing, the
 * data stay queued. Returns true if the queue is empty.
 */
static bool write_queue(struct pf_cache *cache)
{
    pf_assert_held(&cache->lock);
    if (cache->queued && pf_db_open(cache, true) && pf_db_begin(cache)) {
        bool written = true;
        for (size_t i = 0; i < cache->queued && written; i++) {
            const struct pf_cache_value *value = &cache->queue[i];
            written = set_head(cache, value->origin, &value->head) && put_small(cache, value);
        }
        if (pf_db_end(cache, written)) {
            cache->puts += cache->queued;
            empty_queue(cache);
        }
    }
    return !cache->queued;
}

/* Copies a datum of up to PART_MAX bytes, and its head, to the queue. No-op if memory runs out. */
static void queue_value(struct pf_cache *cache, const struct pf_cache_value *value)
{
    size_t size = value->head.size + value->size;
    char *copy = malloc(size + 1);
    uint64_t now = pf_monotonic_ms();
    if (!copy)
        return;
    if (value->head.size)
        memcpy(copy, value->head.bytes, value->head.size);
    if (value->size)
        memcpy(copy + value->head.size, value->bytes, value->size);
    if (!cache->queued)
        cache->queued_since = now;
    struct pf_cache_value *queued = &cache->queue[cache->queued++];
    *queued = *value;
    queued->head.bytes = copy;
    queued->bytes = copy + value->head.size;
    cache->queued_bytes += size;
    if ((cache->queued >= BATCH || cache->queued_bytes > BATCH_BYTES ||
         now - cache->queued_since >= BATCH_MS) &&
        !write_queue(cache) && (cache->queued == PF_QUEUED_MAX || cache->queued_bytes > QUEUED_BYTES_MAX))
        empty_queue(cache);
}

/* ---- large data --------------------------------------------------------------------------------- */

/*
 * Writes a part in its own transaction; other threads can use the database between parts. Returns false on failure, or if the stored
 * head no longer equals or includes that of the datum. The caller must not hold the lock.
 */
static bool put_large_part(struct pf_cache *cache, const struct pf_cache_value *value, int part,
                           const void *bytes, size_t size)
{
    pf_db_take(cache);
    bool written = pf_db_open(cache, true) && pf_db_begin(cache);
    if (written) {
        written = stored_head(cache, value->origin, &value->head) == COVERS &&
                  put_part(cache, value, part, bytes, size);
        pf_db_end(cache, written);
    }
    pf_lock_drop(&cache->lock);
    return written;
}

static void put_large(struct pf_cache *cache, const struct pf_cache_value *value)
{
    const struct datum_total total = {value->size, pf_digest(0, value->bytes, value->size)};
    const char *bytes = value->bytes;
    pf_db_take(cache);
    settle_key(cache, true);
    /* The queue is written first, since it may hold an older version of the datum. */
    bool written = write_queue(cache) && pf_db_open(cache, true) && pf_db_begin(cache);
    if (written) {
        forget(cache, value->origin, value->type, value->number);
        written = cache->connection && set_head(cache, value->origin, &value->head);
        pf_db_end(cache, written);
        cache->puts++;
    }
    pf_lock_drop(&cache->lock);
    int part = 1;
    for (size_t at = 0; written && at < value->size; at += PART_MAX, part++) {
        size_t size = value->size - at < PART_MAX ? value->size - at : PART_MAX;
        written = put_large_part(cache, value, part, bytes + at, size);
    }
    if (written)
        put_large_part(cache, value, TOTAL, &total, sizeof total);
}

/* ---- the interface ------------------------------------------------------------------------------ */

char *pf_cache_get(struct pf_cache *cache, uint64_t origin, enum pf_datum type, uint64_t number, size_t *size,
                   struct pf_buf *head)
{
    pf_db_take(cache);
    if (is_queued(cache, origin))
        write_queue(cache);
    char *value = pf_db_open(cache, false) ? get(cache, origin, type, number, size, head) : NULL;
    pf_lock_drop(&cache->lock);
    return value;
}

void pf_cache_put(struct pf_cache *cache, const struct pf_cache_head *head, uint64_t origin,
                  enum pf_datum type, uint64_t number, const struct pf_buf *buf)
{
    const struct pf_cache_value value = {origin, number, type, buf->data, buf->size, head ? *head : no_head};
    if (buf->failed || buf->size > VALUE_MAX)
        return;
    if (buf->size > PART_MAX) {
        put_large(cache, &value);
        return;
    }
    pf_db_take(cache);
    settle_key(cache, true);
    queue_value(cache, &value);
    pf_lock_drop(&cache->lock);
}

void pf_cache_flush(struct pf_cache *cache)
{
    if (!cache)
        return;
    pf_db_take(cache);
    write_queue(cache);
    pf_lock_drop(&cache->lock);
}

void pf_cache_free(struct pf_cache *cache)
{
    if (!cache)
        return;
    for (unsigned i = 0; i < LAST_TRIES && cache->queued; i++)
        pf_cache_flush(cache);
    empty_queue(cache);
    pf_db_close(cache);
    pf_lock_destroy(&cache->lock);
    free(cache);
}

uint64_t pf_cache_puts(struct pf_cache *cache)
{
    pf_db_take(cache);
    uint64_t puts = cache->puts;
    pf_lock_drop(&cache->lock);
    return puts;
}
