/* SPDX-License-Identifier: MIT */
#include "formats/kit/lock.h"
#include "fs/profile/cache.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/kit/hash.h"
#include "fs/clock.h"

enum {
    APPLICATION =
        0x70664b31, /* "pfK1": another number, or none, is a database of somebody else's or of another version */
    LOCK_MS = 20,      /* for which a write waits for another process's */
    REST_SECONDS = 30, /* for which nothing is tried after something has failed */
    VALUE_MAX = 16 << 20,
    DAY = 86400,
};

enum statement { GET, USE, PUT, DELETE_ONE, DELETE_OLD, OLDEST, COUNT, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    "SELECT value, sum, used FROM kept WHERE key = ?1",
    "UPDATE kept SET used = ?2 WHERE key = ?1",
    "INSERT OR REPLACE INTO kept(key, used, sum, value) VALUES(?1, ?2, ?3, ?4)",
    "DELETE FROM kept WHERE key = ?1",
    "DELETE FROM kept WHERE used < ?1",
    "SELECT key, length(value) FROM kept ORDER BY used LIMIT 64",
    "SELECT count(*) FROM kept",
};

struct pf_cachedb {
    const char *folder;
    struct pf_lock lock;  /* guards what follows */
    sqlite3 *connection;  /* NULL: not open */
    sqlite3_stmt *statements[STATEMENTS];
    uint64_t puts;
    uint64_t rest; /* in monotonic seconds: not to be tried before */
};

struct pf_cachedb *pf_cachedb_new(const char *folder)
{
    struct pf_cachedb *db = calloc(1, sizeof *db);
    if (!db)
        return NULL;
    db->folder = folder;
    pf_lock_init(&db->lock, PF_RANK_DB);
    return db;
}

static void close_connection(struct pf_cachedb *db)
{
    for (size_t s = 0; s < STATEMENTS; s++) {
        sqlite3_finalize(db->statements[s]);
        db->statements[s] = NULL;
    }
    sqlite3_close(db->connection);
    db->connection = NULL;
}

void pf_cachedb_free(struct pf_cachedb *db)
{
    if (!db)
        return;
    close_connection(db);
    pf_lock_destroy(&db->lock);
    free(db);
}

/* ---- opening; with db->lock held ---------------------------------------------------------------- */

static char *path_of(const struct pf_cachedb *db, const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s%s", db->folder, PF_CACHEDB_NAME, suffix) < 0 ? NULL : path;
}

/* What lies there is no database of ours: it is in our folder, under our name. */
static void remove_files(const struct pf_cachedb *db)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal", ""};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *path = path_of(db, suffixes[i]);
        if (path)
            unlink(path);
        free(path);
    }
}

static int number(void *arg, int columns, char **values, char **names)
{
    (void)names;
    if (columns && values[0])
        *(int64_t *)arg = strtoll(values[0], NULL, 10);
    return 0;
}

static int64_t ask(const struct pf_cachedb *db, const char *text)
{
    int64_t value = -1;
    sqlite3_exec(db->connection, text, number, &value, NULL);
    return value;
}

static int run(const struct pf_cachedb *db, const char *text)
{
    return sqlite3_exec(db->connection, text, NULL, NULL, NULL);
}

/* Nothing is ever waited for on the disk: after a crash of the system a file that is corrupt is made anew. */
static int set_up(struct pf_cachedb *db)
{
    char text[64];
    snprintf(text, sizeof text, "PRAGMA application_id = %d", APPLICATION);
    sqlite3_busy_timeout(db->connection, LOCK_MS);
    sqlite3_extended_result_codes(db->connection, 0);
    int result = run(db, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                         "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024; PRAGMA synchronous = OFF");
    if (result == SQLITE_OK && ask(db, "PRAGMA application_id") == 0 && ask(db, "PRAGMA page_count") == 0) {
        run(db, "PRAGMA auto_vacuum = INCREMENTAL");
        result = run(db, "PRAGMA journal_mode = WAL");
        if (result == SQLITE_OK)
            result = run(
                db, "CREATE TABLE kept(key INTEGER PRIMARY KEY, used INTEGER NOT NULL, sum INTEGER NOT NULL, "
                    "value BLOB NOT NULL); CREATE INDEX by_use ON kept(used)");
        if (result == SQLITE_OK)
            result = run(db, text);
        if (result == SQLITE_ERROR) /* another process has made the table just now */
            result = SQLITE_BUSY;
    }
    if (result == SQLITE_OK && ask(db, "PRAGMA application_id") != APPLICATION)
        result = SQLITE_NOTADB;
    if (result == SQLITE_OK)
        result = run(db, "PRAGMA journal_size_limit = 4194304");
    for (size_t s = 0; s < STATEMENTS && result == SQLITE_OK; s++)
        result = sqlite3_prepare_v3(db->connection, texts[s], -1, SQLITE_PREPARE_PERSISTENT,
                                    &db->statements[s], NULL);
    return result;
}

static int try_open(struct pf_cachedb *db, bool make)
{
    char *path = path_of(db, "");
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    int fd = path && make ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (fd >=
        0) /* only where there was none: closing a file drops its locks, whoever in this process has them */
        close(fd);
    int result = path ? sqlite3_open_v2(path, &db->connection, flags, NULL) : SQLITE_NOMEM;
    if (result == SQLITE_OK)
        result = set_up(db);
    free(path);
    if (result != SQLITE_OK)
        close_connection(db);
    return result;
}

/* After a failure: what is corrupt or foreign is made anew the next time, and nothing is tried for a while. */
static void fail(struct pf_cachedb *db, int result)
{
    if (result == SQLITE_BUSY)
        return;
    close_connection(db);
    if (result == SQLITE_CORRUPT || result == SQLITE_NOTADB || result == SQLITE_ERROR ||
        result == SQLITE_SCHEMA)
        remove_files(db);
    else
        db->rest = pf_monotonic_seconds() + REST_SECONDS;
}

/* True if it is open; `make`: a file is made where there is none. */
static bool open_db(struct pf_cachedb *db, bool make)
{
    struct stat st;
    if (db->connection)
        return true;
    if (pf_monotonic_seconds() < db->rest)
        return false;
    char *path = path_of(db, "");
    bool there = path && !lstat(path, &st);
    free(path);
    if (!there && !make)
        return false;
    if (there && !S_ISREG(st.st_mode)) {
        db->rest = UINT64_MAX;
        return false;
    }
    if (make)
        pf_cachefile_make_folder(db->folder);
    int result = try_open(db, make);
    if (result == SQLITE_BUSY)
        db->rest = pf_monotonic_seconds() + 1;
    else if (result != SQLITE_OK)
        fail(db, result);
    return result == SQLITE_OK;
}

/* ---- asking ------------------------------------------------------------------------------------- */

static int64_t today(void)
{
    return time(NULL) / DAY;
}

/* Runs a statement that gives no rows. */
static void step(struct pf_cachedb *db, enum statement which)
{
    sqlite3_stmt *statement = db->statements[which];
    int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        fail(db, result);
}

static void forget(struct pf_cachedb *db, uint64_t key)
{
    sqlite3_bind_int64(db->statements[DELETE_ONE], 1, (int64_t)key);
    step(db, DELETE_ONE);
}

/* The value of the row that the statement stands at, if it is sound. */
static char *value_of(sqlite3_stmt *statement, size_t *size)
{
    const void *bytes = sqlite3_column_blob(statement, 0);
    *size = (size_t)sqlite3_column_bytes(statement, 0);
    if (!bytes || pf_hash(0, bytes, *size) != (uint64_t)sqlite3_column_int64(statement, 1))
        return NULL;
    char *value = malloc(*size);
    if (value)
        memcpy(value, bytes, *size);
    return value;
}

static char *get(struct pf_cachedb *db, uint64_t key, size_t *size)
{
    sqlite3_stmt *statement = db->statements[GET];
    sqlite3_bind_int64(statement, 1, (int64_t)key);
    int result = sqlite3_step(statement);
    bool found = result == SQLITE_ROW;
    char *value = found ? value_of(statement, size) : NULL;
    bool stale = value && sqlite3_column_int64(statement, 2) < today();
    sqlite3_reset(statement);
    if (found && !value)
        forget(db, key);
    if (!found && result != SQLITE_DONE)
        fail(db, result);
    if (stale) {
        sqlite3_bind_int64(db->statements[USE], 1, (int64_t)key);
        sqlite3_bind_int64(db->statements[USE], 2, today());
        step(db, USE);
    }
    return value;
}

char *pf_cachedb_get(struct pf_cachedb *db, uint64_t key, size_t *size)
{
    pf_lock_take(&db->lock);
    char *value = open_db(db, false) ? get(db, key, size) : NULL;
    pf_lock_drop(&db->lock);
    return value;
}

static void put(struct pf_cachedb *db, uint64_t key, const struct pf_buf *value)
{
    sqlite3_stmt *statement = db->statements[PUT];
    sqlite3_bind_int64(statement, 1, (int64_t)key);
    sqlite3_bind_int64(statement, 2, today());
    sqlite3_bind_int64(statement, 3, (int64_t)pf_hash(0, value->data, value->size));
    sqlite3_bind_blob64(statement, 4, value->data, value->size, SQLITE_STATIC);
    step(db, PUT);
    db->puts++;
}

void pf_cachedb_put(struct pf_cachedb *db, uint64_t key, const struct pf_buf *value)
{
    if (value->failed || value->size > VALUE_MAX)
        return;
    pf_lock_take(&db->lock);
    if (open_db(db, true))
        put(db, key, value);
    pf_lock_drop(&db->lock);
}

/* ---- size --------------------------------------------------------------------------------------- */

static uint64_t used_bytes(const struct pf_cachedb *db)
{
    int64_t pages = ask(db, "PRAGMA page_count") - ask(db, "PRAGMA freelist_count");
    return pages > 0 ? (uint64_t)(pages * ask(db, "PRAGMA page_size")) : 0;
}

/* Drops some of the oldest, at least `bytes` if so many are there. */
static uint64_t drop_oldest(struct pf_cachedb *db, uint64_t bytes)
{
    int64_t keys[64];
    uint64_t dropped = 0;
    size_t n = 0;
    sqlite3_stmt *statement = db->statements[OLDEST];
    while (n < 64 && dropped < bytes && sqlite3_step(statement) == SQLITE_ROW) {
        keys[n++] = sqlite3_column_int64(statement, 0);
        dropped += (uint64_t)sqlite3_column_int64(statement, 1);
    }
    sqlite3_reset(statement);
    while (n && db->connection)
        forget(db, (uint64_t)keys[--n]);
    return dropped;
}

void pf_cachedb_prune(struct pf_cachedb *db, uint64_t limit, unsigned days)
{
    pf_lock_take(&db->lock);
    if (open_db(db, false)) {
        sqlite3_bind_int64(db->statements[DELETE_OLD], 1, today() - days);
        step(db, DELETE_OLD);
        while (db->connection) {
            uint64_t bytes = used_bytes(db);
            if (bytes <= limit || !drop_oldest(db, bytes - limit))
                break;
        }
        if (db->connection)
            run(db, "PRAGMA incremental_vacuum");
    }
    pf_lock_drop(&db->lock);
}

void pf_cachedb_usage(struct pf_cachedb *db, uint64_t *entries, uint64_t *bytes)
{
    *entries = *bytes = 0;
    pf_lock_take(&db->lock);
    if (open_db(db, false)) {
        sqlite3_stmt *count = db->statements[COUNT];
        if (sqlite3_step(count) == SQLITE_ROW)
            *entries = (uint64_t)sqlite3_column_int64(count, 0);
        sqlite3_reset(count);
        *bytes = used_bytes(db);
    }
    pf_lock_drop(&db->lock);
}

void pf_cachedb_clear(struct pf_cachedb *db)
{
    pf_lock_take(&db->lock);
    if (open_db(db, false))
        run(db, "DELETE FROM kept; PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
    pf_lock_drop(&db->lock);
}

uint64_t pf_cachedb_puts(struct pf_cachedb *db)
{
    pf_lock_take(&db->lock);
    uint64_t puts = db->puts;
    pf_lock_drop(&db->lock);
    return puts;
}
