/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHE_DB_H
#define PF_CACHE_DB_H

#include <sqlite3.h>

#include "formats/kit/lock.h"
#include "fs/cache/cache.h"

/* The connection to the database; private to fs/cache. */

enum pf_statement {
    PF_DB_GET,
    PF_DB_USE,
    PF_DB_HEAD,
    PF_DB_ORIGIN,
    PF_DB_CUT,
    PF_DB_PUT,
    PF_DB_DELETE,
    PF_DB_OLDEST,
    PF_DB_DROP_DATA,
    PF_DB_DROP_ORIGIN,
    PF_DB_COUNT,
    PF_DB_STATEMENTS
};

/* A datum to write. */
struct pf_cache_value {
    uint64_t origin, number;
    enum pf_datum type;
    const void *bytes;
    size_t size;
    struct pf_cache_head head;
};

enum { PF_QUEUED_MAX = 128 };

struct pf_cache {
    const char *folder;
    struct pf_lock lock; /* guards the members below */
    sqlite3 *connection; /* NULL: not open */
    sqlite3_stmt *statements[PF_DB_STATEMENTS];
    bool keyed; /* the database holds `key`, which is random until then */
    uint64_t key[2];
    uint64_t puts;
    /* Data that pf_cache_put has copied and that are not yet written. Each head.bytes is an allocation that also holds the datum. */
    struct pf_cache_value queue[PF_QUEUED_MAX];
    size_t queued, queued_bytes;
    uint64_t queued_since; /* time of the oldest datum in the queue, in monotonic milliseconds */
    uint64_t retry_at;     /* end of the back-off, in monotonic seconds; the database is not opened before */
};

/* Takes cache->lock. Aborts in builds that check locks if the caller holds a lock that must not be held during I/O. */
static inline void pf_db_take(struct pf_cache *cache)
{
    pf_may_block();
    pf_lock_take(&cache->lock);
}

/* The caller of each function below, except pf_db_today, holds cache->lock, or no other thread uses the cache. */

/* Opens the database unless it is open; creates it if it is missing and `make` is true. Returns true if it is open. */
bool pf_db_open(struct pf_cache *cache, bool make);
/* Closes the database. No-op if it is not open. */
void pf_db_close(struct pf_cache *cache);
/* Handles an error of SQLite: closes the database, and deletes it if it is corrupt or foreign, otherwise sets `retry_at`. No-op for SQLITE_BUSY. */
void pf_db_failed(struct pf_cache *cache, int result);
/* Runs SQL whose rows are ignored. Returns SQLITE_OK or an error of SQLite; does not call pf_db_failed. */
int pf_db_run(struct pf_cache *cache, const char *sql);
/* Runs a prepared statement, ignores its rows, and clears its bindings. Returns false on failure; the database may be closed then. */
bool pf_db_step(struct pf_cache *cache, enum pf_statement which);
/* Returns the number in the first column of a query's last row; -1 on failure. */
int64_t pf_db_ask(struct pf_cache *cache, const char *sql);
/* Begins a write transaction: other processes can only read. Returns false if the database is locked, or was closed by an error. */
bool pf_db_begin(struct pf_cache *cache);
/* Ends the transaction: commits it, or rolls it back if `commit` is false. Returns true if it was committed; false, too, if the database
 * was closed. */
bool pf_db_end(struct pf_cache *cache, bool commit);

/* Returns the number of days since 1970. */
int64_t pf_db_today(void);

#endif
