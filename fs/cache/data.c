/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "formats/kit/digest.h"
#include "formats/kit/table.h"
#include "fs/cache/db.h"

/*
 * A datum of up to PART_MAX bytes is one row, part 0 (WHOLE). A larger datum is split into parts 1, 2, ..., each written in its own
 * transaction; part -1 (HEAD), with the size and checksum of the parts together, is written last. A large datum without a head, or whose
 * parts do not match the head's checksum, is invalid.
 */
enum { PART_MAX = 1 << 20, VALUE_MAX = 64 << 20, HEAD = -1, WHOLE = 0 };

struct head {
    uint64_t size, sum; /* of the parts together */
};

/* ---- keys --------------------------------------------------------------------------------------- */

/* Reads the key from the database, or draws one if the database has no key; the first write stores it. Releases the lock meanwhile. */
static void need_key(struct pf_cache *cache)
{
    size_t size = 0;
    if (cache->keyed)
        return;
    pf_lock_drop(&cache->lock);
    char *stored = pf_cache_get(cache, 0, PF_DATUM_CACHE, 0, &size);
    pf_db_take(cache);
    if (!cache->keyed && stored && size == sizeof cache->key)
        memcpy(cache->key, stored, size);
    else if (!cache->keyed && getrandom(cache->key, sizeof cache->key, 0) != sizeof cache->key)
        cache->key[0] = (uint64_t)(uintptr_t)cache;
    cache->keyed = true;
    free(stored);
}

uint64_t pf_cache_key(struct pf_cache *cache, const void *bytes, size_t size)
{
    pf_db_take(cache);
    need_key(cache);
    uint64_t key = pf_siphash_keyed(cache->key, bytes, size);
    pf_lock_drop(&cache->lock);
    return key ? key : 1; /* source 0 is reserved for the cache's own data */
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* The checksum of a part. It covers the part's place too, so that a row under a wrong key is detected. */
static uint64_t sum_of(uint64_t source, enum pf_datum type, uint64_t number, int part, const void *bytes,
                       size_t size)
{
    const uint64_t place[] = {source, type, number, (uint64_t)part};
    return pf_digest(pf_digest(0, place, sizeof place), bytes, size);
}

static void bind_datum(sqlite3_stmt *statement, uint64_t source, enum pf_datum type, uint64_t number)
{
    sqlite3_bind_int64(statement, 1, (int64_t)source);
    sqlite3_bind_int64(statement, 2, (int64_t)type);
    sqlite3_bind_int64(statement, 3, (int64_t)number);
}

struct reading {
    struct head head; /* expected size and checksum of the parts together */
    char *bytes;
    size_t have;
};

/*
 * Reads the current row of a statement. `expected` is HEAD for the first row, which must be part HEAD or WHOLE, otherwise the part's number.
 * Returns false if the part or its checksum is wrong, or out of memory.
 */
static bool read_part(sqlite3_stmt *row, uint64_t source, enum pf_datum type, uint64_t number, int expected,
                      struct reading *reading)
{
    int part = sqlite3_column_int(row, 0);
    const void *bytes = sqlite3_column_blob(row, 2);
    size_t size = (size_t)sqlite3_column_bytes(row, 2);
    bool sound =
        bytes && sum_of(source, type, number, part, bytes, size) == (uint64_t)sqlite3_column_int64(row, 1);
    if (!sound)
        return false;
    if (expected == HEAD) {
        if (part == HEAD && size == sizeof reading->head)
            memcpy(&reading->head, bytes, size);
        else
            reading->head = (struct head){size, pf_digest(0, bytes, size)};
        if ((part != HEAD && part != WHOLE) || reading->head.size > VALUE_MAX ||
            !(reading->bytes = malloc(reading->head.size + 1)))
            return false;
        if (part == HEAD)
            return true;
    } else if (part != expected) {
        return false;
    }
    if (size > reading->head.size - reading->have)
        return false;
    memcpy(reading->bytes + reading->have, bytes, size);
    reading->have += size;
    return true;
}

static void forget(struct pf_cache *cache, uint64_t source, enum pf_datum type, uint64_t number)
{
    bind_datum(cache->statements[PF_DB_FORGET], source, type, number);
    pf_db_step(cache, PF_DB_FORGET);
}

static void note_use(struct pf_cache *cache, uint64_t source)
{
    sqlite3_bind_int64(cache->statements[PF_DB_USE], 1, (int64_t)source);
    sqlite3_bind_int64(cache->statements[PF_DB_USE], 2, pf_db_today());
    pf_db_step(cache, PF_DB_USE);
}

static char *get(struct pf_cache *cache, uint64_t source, enum pf_datum type, uint64_t number, size_t *size)
{
    struct reading reading = {.bytes = NULL};
    sqlite3_stmt *row = cache->statements[PF_DB_GET];
    int rows = 0, result;
    bool sound = true, old = false;
    bind_datum(row, source, type, number);
    while ((result = sqlite3_step(row)) == SQLITE_ROW && sound) {
        /* The order of parts is -1, 1, 2, ..., or only 0. */
        sound = read_part(row, source, type, number, rows ? rows : HEAD, &reading);
        old = sqlite3_column_int64(row, 3) < pf_db_today();
        rows++;
    }
    sqlite3_reset(row);
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        pf_db_failed(cache, result);
    sound = sound && rows && result == SQLITE_DONE && reading.have == reading.head.size &&
            pf_digest(0, reading.bytes, reading.have) == reading.head.sum;
    if (rows && !sound && result != SQLITE_BUSY && cache->connection)
        forget(cache, source, type, number);
    if (sound && old)
        note_use(cache, source);
    if (!sound) {
        free(reading.bytes);
        return NULL;
    }
    *size = reading.have;
    return reading.bytes;
}

char *pf_cache_get(struct pf_cache *cache, uint64_t source, enum pf_datum type, uint64_t number, size_t *size)
{
    pf_db_take(cache);
    char *value = pf_db_open(cache, false) ? get(cache, source, type, number, size) : NULL;
    pf_lock_drop(&cache->lock);
    return value;
}

/* ---- writing ------------------------------------------------------------------------------------ */

static bool put_part(struct pf_cache *cache, const struct pf_cache_value *value, int part, const void *bytes,
                     size_t size)
{
    sqlite3_stmt *statement = cache->statements[PF_DB_PUT];
    uint64_t sum = sum_of(value->source, value->type, value->number, part, bytes, size);
    bind_datum(statement, value->source, value->type, value->number);
    sqlite3_bind_int(statement, 4, part);
    sqlite3_bind_int64(statement, 5, (int64_t)sum);
    sqlite3_bind_blob64(statement, 6, size ? bytes : "", size, SQLITE_STATIC);
    return pf_db_step(cache, PF_DB_PUT);
}

static bool put_source(struct pf_cache *cache, uint64_t source, int64_t used)
{
    sqlite3_bind_int64(cache->statements[PF_DB_SOURCE], 1, (int64_t)source);
    sqlite3_bind_int64(cache->statements[PF_DB_SOURCE], 2, used);
    return pf_db_step(cache, PF_DB_SOURCE);
}

/* Deletes the parts of an older large datum. The row of an older small datum is replaced by the insert. */
static bool cut(struct pf_cache *cache, const struct pf_cache_value *value)
{
    bind_datum(cache->statements[PF_DB_CUT], value->source, value->type, value->number);
    return pf_db_step(cache, PF_DB_CUT);
}

/* Opens the database for writing. Stores the key of this process if the database has none. */
static bool open_for_writing(struct pf_cache *cache)
{
    size_t size;
    if (!pf_db_open(cache, true))
        return false;
    char *stored = cache->puts ? NULL : get(cache, 0, PF_DATUM_CACHE, 0, &size);
    if (cache->puts || stored || !cache->connection) {
        free(stored);
        return cache->connection;
    }
    const struct pf_cache_value key = {
        .type = PF_DATUM_CACHE, .bytes = cache->key, .size = sizeof cache->key};
    if (!cache->keyed || !pf_db_begin(cache))
        return cache->connection;
    pf_db_end(cache, put_part(cache, &key, WHOLE, key.bytes, key.size) && put_source(cache, 0, INT64_MAX));
    return cache->connection;
}

static bool put_small(struct pf_cache *cache, const struct pf_cache_value *value)
{
    return cut(cache, value) && put_part(cache, value, WHOLE, value->bytes, value->size) &&
           put_source(cache, value->source, pf_db_today());
}

void pf_cache_put_all(struct pf_cache *cache, const struct pf_cache_value *values, size_t n)
{
    bool keep = true;
    pf_db_take(cache);
    if (n && open_for_writing(cache) && pf_db_begin(cache)) {
        for (size_t i = 0; i < n && keep; i++)
            keep = values[i].size <= PART_MAX && put_small(cache, &values[i]);
        pf_db_end(cache, keep);
        cache->puts += n;
    }
    pf_lock_drop(&cache->lock);
}

/* Writes a part in its own transaction; other threads can use the database between parts. The caller does not hold the lock. */
static bool put_large_part(struct pf_cache *cache, const struct pf_cache_value *value, int part,
                           const void *bytes, size_t size)
{
    pf_db_take(cache);
    bool kept = pf_db_open(cache, true) && pf_db_begin(cache);
    if (kept) {
        kept = put_part(cache, value, part, bytes, size);
        pf_db_end(cache, kept);
    }
    pf_lock_drop(&cache->lock);
    return kept;
}

static void put_large(struct pf_cache *cache, const struct pf_cache_value *value)
{
    const struct head head = {value->size, pf_digest(0, value->bytes, value->size)};
    const char *bytes = value->bytes;
    pf_db_take(cache);
    bool kept = open_for_writing(cache) && pf_db_begin(cache);
    if (kept) {
        forget(cache, value->source, value->type, value->number);
        kept = cache->connection && put_source(cache, value->source, pf_db_today());
        pf_db_end(cache, kept);
        cache->puts++;
    }
    pf_lock_drop(&cache->lock);
    int part = 1;
    for (size_t at = 0; kept && at < value->size; at += PART_MAX, part++) {
        size_t size = value->size - at < PART_MAX ? value->size - at : PART_MAX;
        kept = put_large_part(cache, value, part, bytes + at, size);
    }
    if (kept)
        put_large_part(cache, value, HEAD, &head, sizeof head);
}

void pf_cache_put(struct pf_cache *cache, uint64_t source, enum pf_datum type, uint64_t number,
                  const struct pf_buf *buf)
{
    const struct pf_cache_value value = {source, number, type, buf->data, buf->size};
    if (buf->failed || buf->size > VALUE_MAX)
        return;
    if (buf->size <= PART_MAX)
        pf_cache_put_all(cache, &value, 1);
    else
        put_large(cache, &value);
}

uint64_t pf_cache_puts(struct pf_cache *cache)
{
    pf_db_take(cache);
    uint64_t puts = cache->puts;
    pf_lock_drop(&cache->lock);
    return puts;
}
