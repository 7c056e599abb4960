/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHE_DB_H
#define PF_CACHE_DB_H

#include <sqlite3.h>

#include "formats/kit/lock.h"
#include "fs/cache/cache.h"

/* The connection to the database, shared by the files of this folder. */

enum pf_statement {
    PF_DB_GET,
    PF_DB_USE,
    PF_DB_SOURCE,
    PF_DB_CUT,
    PF_DB_PUT,
    PF_DB_FORGET,
    PF_DB_OLDEST,
    PF_DB_DROP_DATA,
    PF_DB_DROP_SOURCE,
    PF_DB_COUNT,
    PF_DB_STATEMENTS
};

struct pf_cache {
    const char *folder;
    struct pf_lock lock; /* guards what follows */
    sqlite3 *connection; /* NULL: not open */
    sqlite3_stmt *statements[PF_DB_STATEMENTS];
    bool keyed; /* `key` is drawn or read */
    uint64_t key[2];
    uint64_t puts;
    uint64_t rest; /* monotonic seconds before which nothing is tried */
};

/* All with cache->lock held. */

/* True if the database is open. `make`: it is made if there is none. */
bool pf_db_open(struct pf_cache *cache, bool make);
/* Closes the database after a result other than SQLITE_BUSY. A corrupt or foreign one is removed, and made again by the next write. */
void pf_db_failed(struct pf_cache *cache, int result);
/* Runs SQL without a result; SQLITE_OK or an error. */
int pf_db_run(struct pf_cache *cache, const char *sql);
/* Runs a prepared statement that gives no rows, and unbinds its parameters. False if it failed: the database may be closed then. */
bool pf_db_step(struct pf_cache *cache, enum pf_statement which);
/* The number that a query gives; -1 if it failed. */
int64_t pf_db_ask(struct pf_cache *cache, const char *sql);
/* Begins a transaction that writes, within which other processes only read. False: the database is locked, or closed now. */
bool pf_db_begin(struct pf_cache *cache);
/* Ends the transaction, if the database is still open: all that was done in it is kept, or nothing. */
void pf_db_end(struct pf_cache *cache, bool keep);

/* Days since 1970. */
int64_t pf_db_today(void);

#endif
