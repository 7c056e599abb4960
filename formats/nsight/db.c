/* SPDX-License-Identifier: MIT */
#include "formats/nsight/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The progress handler runs once so many operations of SQLite's machine; a row takes 10 to 30. */
enum { OPERATIONS_PER_STEP = 2000, SCHEMA_STEPS = 64, STRING_STEPS = 4 };

/* A statement in the schema, with its comments. Those of exports have up to 6 KB. */
enum { STATEMENT_MAX = 32 * 1024 };

/* ---- limits -------------------------------------------------------------------------------------- */

int nsight_db_step(struct nsight_db *db, struct pf_error *error)
{
    /* Tables that are not read, and such as are read twice, make this a rough measure. */
    uint64_t done = db->vfs.bytes < db->vfs.have ? db->vfs.bytes : db->vfs.have;
    return db->pass ? pf_pass_step(db->pass, done, db->vfs.have, error) : 0;
}

static void limit_steps(struct nsight_db *db, unsigned steps)
{
    db->limited = steps != 0;
    db->steps_left = steps;
}

/* Nonzero interrupts what runs. */
static int on_progress(void *arg)
{
    struct nsight_db *db = arg;
    if (db->limited && !db->steps_left--)
        return 1;
    db->vfs.failed = nsight_db_step(db, &db->vfs.failure) != 0;
    return db->vfs.failed;
}

/* Reading the known tables is all that is allowed. */
static int authorize(void *arg, int action, const char *first, const char *second, const char *database,
                     const char *trigger)
{
    (void)arg, (void)second, (void)database;
    if (action == SQLITE_SELECT)
        return SQLITE_OK;
    if (action != SQLITE_READ || trigger || !first)
        return SQLITE_DENY;
    for (size_t t = 0; t < NSIGHT_TABLES; t++)
        if (!sqlite3_stricmp(first, nsight_table_name((enum nsight_table)t)))
            return SQLITE_OK;
    return SQLITE_DENY;
}

static void set_limits(sqlite3 *connection)
{
    static const struct {
        int limit, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, NSIGHT_TEXT_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, STATEMENT_MAX},
        {SQLITE_LIMIT_COLUMN, 512},
        {SQLITE_LIMIT_EXPR_DEPTH, 64},
        {SQLITE_LIMIT_COMPOUND_SELECT, 16},
        {SQLITE_LIMIT_VDBE_OP, 20000},
        {SQLITE_LIMIT_FUNCTION_ARG, 16},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        /* Not to write: it makes SQLite pass over statements that it cannot parse, as views are that another
         * version has written. */
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(connection, limits[i].limit, limits[i].value);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        sqlite3_db_config(connection, options[i].option, options[i].value, NULL);
}

/* ---- the connection ------------------------------------------------------------------------------ */

/* More than SQLite needs for a row. */
enum { ROW_MEMORY = 4 * NSIGHT_TEXT_MAX };

/*
 * SQLite says so too of damaged pages, whose sizes ask for more than it ever takes. (The pointer is volatile, or compilers
 * take it for granted that memory that nobody uses is there.)
 */
static bool is_memory_out(void)
{
    void *volatile some = malloc(ROW_MEMORY);
    bool out = !some;
    free(some);
    return out;
}

/*
 * Whether SQLite's result is damage in the database, which ends a table but is no error. Otherwise (memory, reading,
 * a pass that was stopped) *error is filled.
 */
static bool is_damage(struct nsight_db *db, int result, struct pf_error *error)
{
    if (db->vfs.failed) {
        *error = db->vfs.failure;
        db->vfs.failed = false;
        return false;
    }
    if ((result & 0xff) != SQLITE_NOMEM || !is_memory_out())
        return true;
    pf_fail_memory(error);
    return false;
}

static int connect(struct nsight_db *db, struct pf_error *error)
{
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int result = sqlite3_open_v2(NSIGHT_VFS_FILE, &db->connection, flags, db->vfs.name);
    if (result == SQLITE_OK) {
        set_limits(db->connection);
        sqlite3_progress_handler(db->connection, OPERATIONS_PER_STEP, on_progress, db);
        /* Pages of 4 KiB are read once: few need be kept. */
        result =
            sqlite3_exec(db->connection, "PRAGMA cache_size=-512; PRAGMA temp_store=2", NULL, NULL, NULL);
    }
    /* The schema first: it is asked for by pragmas, which nothing may use from there on. */
    if (result == SQLITE_OK)
        result = nsight_schema_read(&db->schema, db->connection);
    if (result == SQLITE_OK)
        result = sqlite3_set_authorizer(db->connection, authorize, NULL);
    limit_steps(db, 0);
    /* A schema that cannot be read in full is passed over like one that cannot be parsed, but must not be. */
    if (result == SQLITE_OK && !db->vfs.failed)
        return 0;
    return is_damage(db, result, error)
               ? pf_fail(error, EINVAL, "no database that can be read: %s",
                         db->connection ? sqlite3_errmsg(db->connection) : sqlite3_errstr(result))
               : -1;
}

static void close_db(struct nsight_db *db)
{
    if (!db)
        return;
    sqlite3_finalize(db->string);
    sqlite3_close(db->connection);
    nsight_vfs_unregister(&db->vfs);
    free(db);
}

/* NULL with *error filled; its code is EINVAL if the input is no database that can be read. */
static struct nsight_db *open_db(struct pf_input *input, struct pf_error *error)
{
    struct nsight_db *db = calloc(1, sizeof *db);
    if (!db) {
        pf_fail_memory(error);
        return NULL;
    }
    if (nsight_vfs_register(&db->vfs, input, error)) {
        free(db);
        return NULL;
    }
    limit_steps(db, SCHEMA_STEPS);
    if (connect(db, error)) {
        close_db(db);
        return NULL;
    }
    return db;
}

/* ---- the pool ------------------------------------------------------------------------------------ */

/* More than these are closed: each holds a schema and half a megabyte of pages. */
enum { IDLE_MAX = 4 };

void nsight_pool_init(struct nsight_pool *pool)
{
    *pool = (struct nsight_pool){0};
    pthread_mutex_init(&pool->lock, NULL);
}

void nsight_pool_destroy(struct nsight_pool *pool)
{
    for (struct nsight_db *db = pool->idle, *next; db; db = next) {
        next = db->next;
        close_db(db);
    }
    pthread_mutex_destroy(&pool->lock);
}

struct nsight_db *nsight_pool_take(struct nsight_pool *pool, struct pf_input *input, struct pf_error *error)
{
    pthread_mutex_lock(&pool->lock);
    struct nsight_db *db = pool->idle;
    if (db) {
        pool->idle = db->next;
        pool->n_idle--;
    }
    pthread_mutex_unlock(&pool->lock);
    return db ? db : open_db(input, error);
}

void nsight_pool_give(struct nsight_pool *pool, struct nsight_db *db)
{
    if (!db)
        return;
    db->pass = NULL;
    pthread_mutex_lock(&pool->lock);
    bool kept = pool->n_idle < IDLE_MAX;
    if (kept) {
        db->next = pool->idle;
        pool->idle = db;
        pool->n_idle++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!kept)
        close_db(db);
}

/* ---- rows ---------------------------------------------------------------------------------------- */

int nsight_scan_open(struct nsight_scan *scan, struct nsight_db *db, enum nsight_table table, uint32_t wanted,
                     int64_t from, struct pf_error *error)
{
    char sql[NSIGHT_SQL_MAX];
    *scan = (struct nsight_scan){.db = db, .table = table, .wanted = wanted};
    if (!nsight_has_table(&db->schema, table))
        return 0;
    nsight_scan_sql(&db->schema, table, wanted, sql);
    scan->columns = nsight_column_count(table);
    int result = sqlite3_prepare_v2(db->connection, sql, -1, &scan->statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(scan->statement, 1, from);
    if (result == SQLITE_OK)
        return 0;
    nsight_scan_close(scan);
    scan->damaged = is_damage(db, result, error);
    return scan->damaged ? 0 : -1;
}

void nsight_scan_close(struct nsight_scan *scan)
{
    sqlite3_finalize(scan->statement);
    scan->statement = NULL;
}

/* A tree of pages whose branches meet again gives rows without end, but not with growing numbers. */
static bool goes_on(struct nsight_scan *scan)
{
    int64_t rowid = sqlite3_column_int64(scan->statement, 0);
    bool onward = !scan->started || rowid > scan->rowid;
    scan->rowid = rowid;
    scan->started = true;
    return onward;
}

/* All cells at once: each call of SQLite for one costs more than the cell. */
static void read_cells(struct nsight_scan *scan)
{
    scan->set = 0;
    for (unsigned c = 0; c < scan->columns; c++) {
        if (!(scan->wanted >> c & 1))
            continue;
        sqlite3_value *cell = sqlite3_column_value(scan->statement, (int)c + 1);
        int type = sqlite3_value_type(cell);
        scan->set |= (uint32_t)(type != SQLITE_NULL) << c;
        scan->value[c] = type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_value_int64(cell) : 0;
    }
}

int nsight_scan_next(struct nsight_scan *scan, struct pf_error *error)
{
    if (!scan->statement)
        return 0;
    int result = sqlite3_step(scan->statement);
    if (result == SQLITE_ROW && goes_on(scan)) {
        read_cells(scan);
        return 1;
    }
    nsight_scan_close(scan);
    if (result == SQLITE_DONE)
        return 0;
    scan->damaged = result == SQLITE_ROW || is_damage(scan->db, result, error);
    return scan->damaged ? 0 : -1;
}

int nsight_each(struct nsight_db *db, enum nsight_table table, uint32_t wanted, struct nsight_damage *damage,
                nsight_take *take, void *arg, struct pf_error *error)
{
    struct nsight_scan scan;
    int more;
    if (nsight_scan_open(&scan, db, table, wanted, INT64_MIN, error))
        return -1;
    while ((more = nsight_scan_next(&scan, error)) > 0 && !(more = take(arg, &scan, error)))
        ;
    nsight_scan_close(&scan);
    if (damage && scan.damaged)
        damage[table] = (struct nsight_damage){true, scan.started, scan.rowid};
    return more < 0 ? -1 : 0;
}

/* A number that is no key, as in tables that somebody has copied, would have to be searched for: not for long. */
int nsight_string(struct nsight_db *db, int64_t id, const char **text, size_t *size, struct pf_error *error)
{
    static const char sql[] = "SELECT value FROM main.StringIds NOT INDEXED WHERE id=?1";
    *text = NULL;
    *size = 0;
    if (!nsight_has_table(&db->schema, NSIGHT_STRINGS))
        return 0;
    int result = SQLITE_OK;
    if (!db->string)
        result = sqlite3_prepare_v2(db->connection, sql, sizeof sql, &db->string, NULL);
    if (result == SQLITE_OK) {
        sqlite3_reset(db->string);
        sqlite3_bind_int64(db->string, 1, id);
        limit_steps(db, STRING_STEPS);
        result = sqlite3_step(db->string);
        limit_steps(db, 0);
    }
    if (result != SQLITE_ROW)
        return result == SQLITE_DONE || is_damage(db, result, error) ? 0 : -1;
    *text = (const char *)sqlite3_column_text(db->string, 0);
    *size = *text ? (size_t)sqlite3_column_bytes(db->string, 0) : 0;
    return 0;
}

const char *nsight_text(const struct nsight_scan *scan, unsigned column, size_t *size)
{
    const char *text = (const char *)sqlite3_column_text(scan->statement, (int)column + 1);
    *size = text ? (size_t)sqlite3_column_bytes(scan->statement, (int)column + 1) : 0;
    return text;
}

int64_t nsight_duration(const struct nsight_scan *scan, unsigned start, unsigned end, bool *bad)
{
    int64_t duration;
    if (nsight_is_set(scan, start) && nsight_is_set(scan, end) &&
        !__builtin_sub_overflow(nsight_int(scan, end), nsight_int(scan, start), &duration) && duration >= 0)
        return duration;
    *bad = true;
    return 0;
}
