/* SPDX-License-Identifier: MIT */
#include <sched.h>

#include "fs/cache/db.h"

/* Limits of the work per transaction, so that other threads and processes wait at most some milliseconds. */
enum { ORIGINS = 16, VACUUM_PAGES = 256 };

static uint64_t bytes_used(struct pf_cache *cache)
{
    int64_t pages = pf_db_ask(cache, "PRAGMA page_count") - pf_db_ask(cache, "PRAGMA freelist_count");
    return pages > 0 ? (uint64_t)(pages * pf_db_ask(cache, "PRAGMA page_size")) : 0;
}

/* Lists the least recently used origins, at most ORIGINS, that were last used before the day `oldest`. Returns their number. */
static size_t list_oldest(struct pf_cache *cache, int64_t oldest, uint64_t origins[ORIGINS])
{
    size_t n = 0;
    int result = SQLITE_DONE;
    sqlite3_stmt *row = cache->statements[PF_DB_OLDEST];
    sqlite3_bind_int(row, 1, ORIGINS);
    while (n < ORIGINS && (result = sqlite3_step(row)) == SQLITE_ROW && sqlite3_column_int64(row, 1) < oldest)
        origins[n++] = (uint64_t)sqlite3_column_int64(row, 0);
    sqlite3_reset(row);
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        pf_db_failed(cache, result);
    return n;
}

static bool drop_origin(struct pf_cache *cache, uint64_t origin)
{
    sqlite3_bind_int64(cache->statements[PF_DB_DROP_DATA], 1, (int64_t)origin);
    if (!pf_db_step(cache, PF_DB_DROP_DATA))
        return false;
    sqlite3_bind_int64(cache->statements[PF_DB_DROP_ORIGIN], 1, (int64_t)origin);
    return pf_db_step(cache, PF_DB_DROP_ORIGIN);
}

/* Drops some origins whose last use is before the day `oldest`. Returns false if no origin qualifies or the database is locked. */
static bool drop_some(struct pf_cache *cache, int64_t oldest)
{
    uint64_t origins[ORIGINS];
    size_t n = list_oldest(cache, oldest, origins);
    bool dropped = n && cache->connection && pf_db_begin(cache);
    if (!dropped)
        return false;
    for (size_t i = 0; i < n && dropped; i++)
        dropped = drop_origin(cache, origins[i]);
    pf_db_end(cache, dropped);
    return dropped && cache->connection;
}

/* Gives some free pages back to the file system. Returns false if there were none or the database is locked. */
static bool shrink_some(struct pf_cache *cache)
{
    char sql[64];
    int64_t before = pf_db_ask(cache, "PRAGMA freelist_count");
    if (before <= 0)
        return false;
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA incremental_vacuum(%d)", VACUUM_PAGES);
    int result = pf_db_run(cache, sql);
    if (result != SQLITE_OK)
        pf_db_failed(cache, result);
    return result == SQLITE_OK && pf_db_ask(cache, "PRAGMA freelist_count") < before;
}

static bool prune_some(struct pf_cache *cache, uint64_t limit, unsigned days)
{
    pf_db_take(cache);
    bool more = pf_db_open(cache, false);
    if (more)
        more = drop_some(cache, bytes_used(cache) > limit ? INT64_MAX : pf_db_today() - days) ||
               (cache->connection && shrink_some(cache));
    pf_lock_drop(&cache->lock);
    return more;
}

void pf_cache_prune(struct pf_cache *cache, uint64_t limit, unsigned days)
{
    pf_cache_flush(cache);
    while (prune_some(cache, limit, days))
        sched_yield();
}

void pf_cache_clear(struct pf_cache *cache)
{
    pf_cache_prune(cache, 0, 0);
}

void pf_cache_usage(struct pf_cache *cache, uint64_t *origins, uint64_t *bytes)
{
    *origins = *bytes = 0;
    pf_db_take(cache);
    if (pf_db_open(cache, false)) {
        sqlite3_stmt *count = cache->statements[PF_DB_COUNT];
        if (sqlite3_step(count) == SQLITE_ROW)
            *origins = (uint64_t)sqlite3_column_int64(count, 0);
        sqlite3_reset(count);
        *bytes = bytes_used(cache);
    }
    pf_lock_drop(&cache->lock);
}
