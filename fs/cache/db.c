/* SPDX-License-Identifier: MIT */
#include "fs/cache/db.h"

#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fs/clock.h"

enum {
    APPLICATION = 0x70664b34, /* "pfK4", the application_id of databases that this version can read */
    APPLICATION_AT = 68,      /* offset of the application_id in a database file */
    LOCK_MS = 20,             /* the time a statement waits for a lock */
    RETRY_SECONDS = 30,       /* back-off after a failure */
    DAY = 86400,
};

/* The tables call an origin `source`. */
static const char *const statement_texts[PF_DB_STATEMENTS] = {
    [PF_DB_GET] =
        ("SELECT part, datum.sum, value, used, source.sum, head FROM datum JOIN source ON key = source "
         "WHERE source = ?1 AND type = ?2 AND number = ?3 ORDER BY part"),
    [PF_DB_USE] = "UPDATE source SET used = ?2 WHERE key = ?1",
    [PF_DB_HEAD] = "SELECT sum, head FROM source WHERE key = ?1",
    [PF_DB_ORIGIN] = "INSERT OR REPLACE INTO source(key, used, sum, head) VALUES(?1, ?2, ?3, ?4)",
    [PF_DB_CUT] = "DELETE FROM datum WHERE source = ?1 AND type = ?2 AND number = ?3 AND part != 0",
    [PF_DB_PUT] = ("INSERT INTO datum(source, type, number, part, sum, value) VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
                   "ON CONFLICT DO UPDATE SET sum = excluded.sum, value = excluded.value"),
    [PF_DB_DELETE] = "DELETE FROM datum WHERE source = ?1 AND type = ?2 AND number = ?3",
    [PF_DB_OLDEST] = "SELECT key, used FROM source WHERE key != 0 ORDER BY used LIMIT ?1",
    [PF_DB_DROP_DATA] = "DELETE FROM datum WHERE source = ?1",
    [PF_DB_DROP_ORIGIN] = "DELETE FROM source WHERE key = ?1",
    [PF_DB_COUNT] = "SELECT count(*) FROM source WHERE key != 0",
};

struct pf_cache *pf_cache_new(const char *folder)
{
    struct pf_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->folder = folder;
    if (getrandom(cache->key, sizeof cache->key, 0) != sizeof cache->key)
        cache->key[0] = (uint64_t)(uintptr_t)cache;
    pf_lock_init(&cache->lock, PF_RANK_DB);
    return cache;
}

void pf_db_close(struct pf_cache *cache)
{
    for (size_t s = 0; s < PF_DB_STATEMENTS; s++) {
        sqlite3_finalize(cache->statements[s]);
        cache->statements[s] = NULL;
    }
    sqlite3_close(cache->connection);
    cache->connection = NULL;
}

/* ---- running SQL -------------------------------------------------------------------------------- */

static int note_number(void *arg, int columns, char **values, char **names)
{
    (void)names;
    if (columns && values[0])
        *(int64_t *)arg = strtoll(values[0], NULL, 10);
    return 0;
}

int64_t pf_db_ask(struct pf_cache *cache, const char *sql)
{
    int64_t value = -1;
    sqlite3_exec(cache->connection, sql, note_number, &value, NULL);
    return value;
}

int pf_db_run(struct pf_cache *cache, const char *sql)
{
    return sqlite3_exec(cache->connection, sql, NULL, NULL, NULL);
}

bool pf_db_step(struct pf_cache *cache, enum pf_statement which)
{
    sqlite3_stmt *statement = cache->statements[which];
    int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (result == SQLITE_DONE || result == SQLITE_ROW)
        return true;
    pf_db_failed(cache, result);
    return false;
}

bool pf_db_begin(struct pf_cache *cache)
{
    int result = pf_db_run(cache, "BEGIN IMMEDIATE");
    if (result != SQLITE_OK)
        pf_db_failed(cache, result);
    return result == SQLITE_OK;
}

bool pf_db_end(struct pf_cache *cache, bool commit)
{
    commit &= cache->connection != NULL;
    int result = commit ? pf_db_run(cache, "COMMIT") : SQLITE_OK;
    if (cache->connection && (!commit || result != SQLITE_OK))
        pf_db_run(cache, "ROLLBACK");
    if (result != SQLITE_OK)
        pf_db_failed(cache, result);
    return commit && result == SQLITE_OK;
}

int64_t pf_db_today(void)
{
    return time(NULL) / DAY;
}

/* ---- opening ------------------------------------------------------------------------------------ */

static char *path_of(const struct pf_cache *cache, const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s%s", cache->folder, PF_CACHE_NAME, suffix) < 0 ? NULL : path;
}

/* Deletes a corrupt or foreign database. This is safe: the path is reserved for this cache. */
static void remove_database(struct pf_cache *cache)
{
    cache->keyed = false;
    static const char *const suffixes[] = {"-wal", "-shm", "-journal", ""};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *path = path_of(cache, suffixes[i]);
        if (path)
            unlink(path);
        free(path);
    }
}

/* Deletes the cache files (*.pfc, one per profile and archive) of releases that did not use a database. */
static void remove_old_files(const struct pf_cache *cache)
{
    DIR *listing = opendir(cache->folder);
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        const char *end = strrchr(entry->d_name, '.');
        if (end && !strcmp(end, ".pfc"))
            unlinkat(dirfd(listing), entry->d_name, 0);
    }
    if (listing)
        closedir(listing);
}

/*
 * Returns true if a file has the application_id of another application or version; 0 means that none is set yet. A foreign database must
 * not be opened: it may be in WAL mode, in which SQLite maps an index file.
 */
static bool is_foreign(const char *path)
{
    uint32_t application = 0;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool has = fd >= 0 && pread(fd, &application, sizeof application, APPLICATION_AT) == sizeof application;
    if (fd >= 0)
        close(fd); /* drops the process's POSIX locks on the file, but it has none yet */
    return has && be32toh(application) != APPLICATION && be32toh(application) != 0;
}

/*
 * The table `datum` has rowids, and thus a separate index for its key. Without rowids, SQLite would read each row that it
 * compares with a key as a whole, up to 1 MB.
 */
static int make_tables(struct pf_cache *cache)
{
    char application[64];
    snprintf(application, sizeof application, "PRAGMA application_id = %d", APPLICATION);
    pf_db_run(cache, "PRAGMA auto_vacuum = INCREMENTAL");
    int result = pf_db_run(
        cache, "BEGIN IMMEDIATE; CREATE TABLE source(key INTEGER PRIMARY KEY, used INTEGER NOT NULL,"
               " sum INTEGER NOT NULL, head BLOB NOT NULL);"
               "CREATE INDEX by_use ON source(used);"
               "CREATE TABLE datum(source INTEGER, type INTEGER, number INTEGER, part INTEGER,"
               " sum INTEGER NOT NULL, value BLOB NOT NULL,"
               " PRIMARY KEY(source, type, number, part))");
    if (result == SQLITE_OK)
        result = pf_db_run(cache, application);
    if (result == SQLITE_OK)
        result = pf_db_run(cache, "COMMIT");
    return result == SQLITE_ERROR ? SQLITE_BUSY
                                  : result; /* SQLITE_ERROR: another process has just made the tables */
}

/* Prepares a new connection. With synchronous OFF, a system crash may corrupt the database, which is then deleted and created again. */
static int set_up(struct pf_cache *cache)
{
    sqlite3_busy_timeout(cache->connection, LOCK_MS);
    sqlite3_extended_result_codes(cache->connection, 0);
    int result =
        pf_db_run(cache, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                         "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024; PRAGMA synchronous = OFF");
    if (result == SQLITE_OK && pf_db_ask(cache, "PRAGMA application_id") == 0 &&
        pf_db_ask(cache, "PRAGMA page_count") == 0)
        result = make_tables(cache);
    if (result == SQLITE_OK && pf_db_ask(cache, "PRAGMA application_id") != APPLICATION)
        result = SQLITE_NOTADB;
    if (result == SQLITE_OK)
        result = pf_db_run(cache, "PRAGMA journal_mode = TRUNCATE");
    for (size_t s = 0; s < PF_DB_STATEMENTS && result == SQLITE_OK; s++)
        result = sqlite3_prepare_v3(cache->connection, statement_texts[s], -1, SQLITE_PREPARE_PERSISTENT,
                                    &cache->statements[s], NULL);
    return result;
}

static int try_open(struct pf_cache *cache, bool make)
{
    char *path = path_of(cache, "");
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    if (path && is_foreign(path))
        remove_database(cache);
    int fd = path && make ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        close(fd);
        remove_old_files(cache);
    }
    int result = path ? sqlite3_open_v2(path, &cache->connection, flags, NULL) : SQLITE_NOMEM;
    if (result == SQLITE_OK)
        result = set_up(cache);
    free(path);
    if (result != SQLITE_OK)
        pf_db_close(cache);
    return result;
}

void pf_db_failed(struct pf_cache *cache, int result)
{
    if (result == SQLITE_BUSY)
        return;
    pf_db_close(cache);
    if (result == SQLITE_CORRUPT || result == SQLITE_NOTADB || result == SQLITE_ERROR ||
        result == SQLITE_SCHEMA)
        remove_database(cache);
    else
        cache->retry_at = pf_monotonic_seconds() + RETRY_SECONDS;
}

bool pf_db_open(struct pf_cache *cache, bool make)
{
    struct stat st;
    pf_assert_held(&cache->lock);
    if (cache->connection)
        return true;
    if (pf_monotonic_seconds() < cache->retry_at)
        return false;
    char *path = path_of(cache, "");
    bool there = path && !lstat(path, &st);
    free(path);
    if (!there && !make)
        return false;
    if (there && !S_ISREG(st.st_mode)) {
        cache->retry_at = UINT64_MAX;
        return false;
    }
    if (make)
        pf_cache_make_folder(cache->folder);
    int result = try_open(cache, make);
    if (result == SQLITE_BUSY)
        cache->retry_at = pf_monotonic_seconds() + 1;
    else if (result != SQLITE_OK)
        pf_db_failed(cache, result);
    return result == SQLITE_OK;
}
