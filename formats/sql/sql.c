/* SPDX-License-Identifier: MIT */
#include "formats/sql/sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/bytes.h"

/*
 * OPERATIONS_PER_STEP is the number of virtual machine operations between two calls of the progress handler; a row
 * takes 10 to 30. SCHEMA_STEPS is the number of calls after which the reading of the schema is interrupted.
 */
enum { OPERATIONS_PER_STEP = 2000, SCHEMA_STEPS = 65 };

/* Maximum size in bytes of a statement in the schema. Statements of real exports have up to 6 KB. */
enum { STATEMENT_MAX = 32 * 1024 };

/* Bytes of the input per read. */
enum { WINDOW = 64 * 1024 };

/* The SQL function that receives the rows. */
#define TAKE "take"

/* A walk over a table. */
struct pf_sql_walk {
    struct pf_run *run;
    struct pf_sql_row row;
    unsigned columns;
    pf_sql_take *take;
    void *arg;
    bool failed; /* `take` failed */
};

/* ---- limits -------------------------------------------------------------------------------------- */

/* The progress is approximate, since tables may be skipped or read twice. */
static int report_query_progress(const struct pf_sql *sql, struct pf_error *error)
{
    return pf_pass_step(sql->read < sql->have ? sql->read : sql->have, sql->have, error);
}

void pf_sql_step(struct pf_run *run, const struct pf_sql *sql)
{
    pf_run_check(run, report_query_progress(sql, run->error));
}

/* Returns nonzero to interrupt the statement. */
static int on_progress(void *arg)
{
    struct pf_sql *sql = arg;
    if (sql->steps_left && !--sql->steps_left)
        return 1;
    if (report_query_progress(sql, &sql->failure))
        sql->failed = true;
    return sql->failed;
}

/* Allows only reads of the driver's tables and calls of TAKE. */
static int authorize(void *arg, int action, const char *first, const char *second, const char *database,
                     const char *trigger)
{
    const struct pf_sql *sql = arg;
    (void)database;
    if (action == SQLITE_SELECT || (action == SQLITE_FUNCTION && second && !strcmp(second, TAKE)))
        return SQLITE_OK;
    if (action != SQLITE_READ || trigger || !first)
        return SQLITE_DENY;
    for (size_t t = 0; t < sql->n_tables; t++)
        if (!sqlite3_stricmp(first, sql->tables[t].name))
            return SQLITE_OK;
    return SQLITE_DENY;
}

static void set_limits(sqlite3 *connection)
{
    static const int limits[][2] = {
        {SQLITE_LIMIT_LENGTH, PF_SQL_TEXT_MAX},
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
    static const int options[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        /*
         * Makes SQLite ignore schema statements that it cannot parse, such as views of other versions. The
         * database remains read-only.
         */
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(connection, limits[i][0], limits[i][1]);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        sqlite3_db_config(connection, options[i][0], options[i][1], NULL);
}

/* ---- damage -------------------------------------------------------------------------------------- */

/* A size in bytes that exceeds what SQLite needs for a row. */
enum { ROW_MEMORY = 4 * PF_SQL_TEXT_MAX };

/*
 * True if memory is really exhausted. SQLite also returns SQLITE_NOMEM for damaged pages that declare too large sizes.
 * (volatile: compilers may otherwise remove an unused allocation and assume that it succeeds.)
 */
static bool is_memory_out(void)
{
    void *volatile some = malloc(ROW_MEMORY);
    bool out = !some;
    free(some);
    return out;
}

/*
 * True if a result of SQLite means damage of the database, which ends a table but is not an error. Otherwise (memory, a
 * failed read, a cancelled pass) *error is filled.
 */
static bool is_damage(struct pf_sql *sql, int result, struct pf_error *error)
{
    if (sql->failed) {
        *error = sql->failure;
        sql->failed = false;
        return false;
    }
    if ((result & 0xff) != SQLITE_NOMEM || !is_memory_out())
        return true;
    pf_fail_memory(error);
    return false;
}

/* ---- the schema ---------------------------------------------------------------------------------- */

/* True for errors of reading the schema; false if a table or column is merely missing. */
static bool is_trouble(int result)
{
    int kind = result & 0xff;
    return kind != SQLITE_OK && kind != SQLITE_ERROR;
}

/* Looks up a column in the parsed schema: SQLITE_OK if it exists in a table that is no view. The table must not be virtual. */
static int look_for(sqlite3 *connection, const char *table, const char *column, const char **type, int *key)
{
    const char *collation;
    int not_null, increments;
    return sqlite3_table_column_metadata(connection, "main", table, column, type, &collation, &not_null, key,
                                         &increments);
}

/* True if the table has rowids under the name `rowid`. SQLite reports the rowid as an INTEGER primary key. */
static bool has_rowid(sqlite3 *connection, const char *table)
{
    const char *type;
    int key;
    return look_for(connection, table, "rowid", &type, &key) == SQLITE_OK && key && type &&
           !sqlite3_stricmp(type, "INTEGER");
}

/*
 * Sets bit c of *computed if column c is a generated column, or a hidden column of a virtual table. No profiler writes
 * such columns, and the cost of their expressions is unbounded. Returns SQLITE_OK, or the error.
 */
static int find_computed(sqlite3 *connection, const struct pf_sql_table *table, uint32_t *computed)
{
    enum { NAME = 1, HIDDEN = 6 };
    char sql[128];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "PRAGMA main.table_xinfo(\"%s\")", table->name);
    int result = sqlite3_prepare_v2(connection, sql, -1, &statement, NULL);
    while (result == SQLITE_OK && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, NAME);
        bool hidden = sqlite3_column_int(statement, HIDDEN) != 0;
        for (unsigned c = 0; hidden && name && table->columns[c]; c++)
            *computed |= (uint32_t)!sqlite3_stricmp(name, table->columns[c]) << c;
        result = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

/*
 * Sets *found if a statement of the schema may create a virtual table of this name. Such a table must not be passed to
 * sqlite3_table_column_metadata, which crashes on it in SQLite 3.53. Searches the statements' text, since the schema's columns `name` and `type`
 * may contradict the text in a damaged file. Stops at damage, as SQLite does. Returns SQLITE_OK, or the error.
 */
static int find_virtual(sqlite3 *connection, const char *table, bool *found)
{
    sqlite3_stmt *statement;
    int result = sqlite3_prepare_v2(
        connection, "SELECT 1 FROM main.sqlite_schema WHERE sql LIKE '%create%virtual%table%' || ?1 || '%'",
        -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    *found = result == SQLITE_ROW;
    sqlite3_finalize(statement);
    return result == SQLITE_ROW || result == SQLITE_DONE || (result & 0xff) == SQLITE_CORRUPT ? SQLITE_OK
                                                                                              : result;
}

/* Determines which tables and columns exist. Returns SQLITE_OK, or the error: SQLITE_NOMEM, an I/O error, ... */
static int read_schema(struct pf_sql *sql)
{
    for (size_t t = 0; t < sql->n_tables; t++) {
        const struct pf_sql_table *table = &sql->tables[t];
        struct pf_sql_facts *facts = &sql->facts[t];
        bool is_virtual;
        int result = find_virtual(sql->connection, table->name, &is_virtual);
        if (is_trouble(result))
            return result;
        if (is_virtual || result != SQLITE_OK)
            continue;
        for (unsigned c = 0; table->columns[c]; c++) {
            const char *type;
            int key;
            result = look_for(sql->connection, table->name, table->columns[c], &type, &key);
            if (is_trouble(result))
                return result;
            facts->columns |= (uint32_t)(result == SQLITE_OK) << c;
        }
        result = facts->columns ? find_computed(sql->connection, table, &facts->computed) : SQLITE_OK;
        if (is_trouble(result))
            return result;
        facts->computed &= facts->columns;
        facts->columns &= ~facts->computed;
        facts->usable =
            (facts->columns & table->needed) == table->needed && has_rowid(sql->connection, table->name);
    }
    return SQLITE_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static void read_cells(struct pf_sql_walk *walk)
{
    struct pf_sql_row *row = &walk->row;
    row->set = 0;
    for (unsigned c = 0; c < walk->columns; c++) {
        int type = sqlite3_value_type(row->cells[c]);
        row->set |= (uint32_t)(type != SQLITE_NULL) << c;
        row->value[c] =
            type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_value_int64(row->cells[c]) : 0;
    }
}

static const struct pf_slice no_text;

static void call_take(struct pf_run *run, void *arg)
{
    struct pf_sql_walk *walk = arg;
    (void)run;
    walk->take(walk->arg, &walk->row);
}

/*
 * Receives a row. In a damaged tree of pages, shared branches yield endless rows, but the rowids of these do not
 * ascend. So the walk ends at the first rowid that does not ascend.
 */
static void take_row(sqlite3_context *context, int n, sqlite3_value **cells)
{
    struct pf_sql *sql = sqlite3_user_data(context);
    struct pf_sql_walk *walk = sql->walk;
    struct pf_sql_facts *facts = &sql->facts[walk->row.table];
    int64_t number = n ? sqlite3_value_int64(cells[0]) : 0;
    facts->damaged = facts->started && number <= facts->last;
    facts->started = true;
    facts->last = walk->row.number = number;
    walk->row.cells = cells + 1;
    if (!facts->damaged) {
        read_cells(walk);
        walk->failed = pf_run_call(walk->run, call_take, walk);
    }
    if (facts->damaged || walk->failed || walk->row.last)
        sqlite3_result_error_code(context, SQLITE_ABORT);
}

static void end_rows(sqlite3_context *context)
{
    (void)context;
}

/*
 * Writes `SELECT take(rowid,"a",NULL,"c") FROM "table" NOT INDEXED`. Since `take` is an aggregate function, one step of
 * the statement passes it all rows. Indexes are disabled, because a forged one would change the result.
 */
static void write_walk(const struct pf_sql *sql, unsigned table, sqlite3_str *text)
{
    sqlite3_str_appendall(text, "SELECT " TAKE "(rowid");
    for (unsigned c = 0; sql->tables[table].columns[c]; c++)
        if (pf_sql_has(sql, table, c))
            sqlite3_str_appendf(text, ",\"%w\"", sql->tables[table].columns[c]);
        else
            sqlite3_str_appendall(text, ",NULL");
    sqlite3_str_appendf(text, ") FROM main.\"%w\" NOT INDEXED", sql->tables[table].name);
}

/* Returns SQLITE_ROW if all rows have been passed to walk->take, otherwise the reason why the walk ended. */
static int run_walk(struct pf_sql *sql, struct pf_sql_walk *walk)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_str *text = sqlite3_str_new(sql->connection);
    write_walk(sql, walk->row.table, text);
    char *written = sqlite3_str_finish(text);
    int result = written ? sqlite3_prepare_v2(sql->connection, written, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(written);
    struct pf_sql_walk *outer = sql->walk;
    sql->walk = walk;
    if (result == SQLITE_OK) {
        pf_run_enter_library(walk->run);
        result = sqlite3_step(statement);
        pf_run_leave_library(walk->run);
    }
    sql->walk = outer;
    sqlite3_finalize(statement);
    return result;
}

void pf_sql_each(struct pf_run *run, struct pf_sql *sql, unsigned table, pf_sql_take *take, void *arg)
{
    struct pf_sql_walk walk = {.run = run, .row.table = table, .take = take, .arg = arg};
    struct pf_sql_facts *facts = &sql->facts[table];
    facts->damaged = facts->started = false;
    if (!pf_sql_has_table(sql, table))
        return;
    while (sql->tables[table].columns[walk.columns])
        walk.columns++;
    int result = run_walk(sql, &walk);
    if (walk.failed)
        pf_run_fail(run);
    if (walk.row.last || facts->damaged || result == SQLITE_ROW)
        return;
    facts->damaged = is_damage(sql, result, run->error);
    if (!facts->damaged)
        pf_run_fail(run);
}

struct pf_slice pf_sql_text(const struct pf_sql_row *row, unsigned column)
{
    const char *text = (const char *)sqlite3_value_text(row->cells[column]);
    return text ? pf_slice(text, (size_t)sqlite3_value_bytes(row->cells[column])) : no_text;
}

struct pf_slice pf_sql_find(struct pf_run *run, struct pf_sql *sql, unsigned table, int64_t key)
{
    const char *const *columns = sql->tables[table].columns;
    char statement[256];
    if (!pf_sql_has_table(sql, table))
        return no_text;
    int result = SQLITE_OK;
    if (!sql->look_up) {
        snprintf(statement, sizeof statement,
                 "SELECT \"%s\" FROM main.\"%s\" NOT INDEXED WHERE rowid=?1 AND \"%s\"=?1", columns[1],
                 sql->tables[table].name, columns[0]);
        result = sqlite3_prepare_v2(sql->connection, statement, -1, &sql->look_up, NULL);
    }
    if (result == SQLITE_OK) {
        sqlite3_reset(sql->look_up);
        sqlite3_bind_int64(sql->look_up, 1, key);
        result = sqlite3_step(sql->look_up);
    }
    if (result != SQLITE_ROW) {
        if (result != SQLITE_DONE && !is_damage(sql, result, run->error))
            pf_run_fail(run);
        return no_text;
    }
    const char *text = (const char *)sqlite3_column_text(sql->look_up, 0);
    return text ? pf_slice(text, (size_t)sqlite3_column_bytes(sql->look_up, 0)) : no_text;
}

/* ---- the VFS -------------------------------------------------------------------------------------- */

/*
 * A private VFS whose only file is the input, which never changes. Each connection registers its own, so threads share
 * nothing.
 */
#define FILE_NAME "database"

struct file {
    sqlite3_file base;
    struct pf_sql *sql;
};

static int close_file(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

/* Fills the buffer with zeros beyond the end of the input, as SQLite requires for short reads. */
static int read_database_file(sqlite3_file *file, void *buffer, int size, sqlite3_int64 offset)
{
    struct pf_sql *sql = ((struct file *)file)->sql;
    if (size < 0 || offset < 0)
        return SQLITE_IOERR_READ;
    uint64_t at = (uint64_t)offset, left = at < sql->have ? sql->have - at : 0;
    size_t n = (size_t)size < left ? (size_t)size : (size_t)left;
    const unsigned char *bytes = n ? pf_window_at(&sql->window, at, n, &sql->failure) : NULL;
    if (n && !bytes) {
        sql->failed = true; /* until is_damage reports it */
        return SQLITE_IOERR_READ;
    }
    if (n)
        memcpy(buffer, bytes, n);
    memset((char *)buffer + n, 0, (size_t)size - n);
    sql->read += n;
    return n < (size_t)size ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *size)
{
    *size = (sqlite3_int64)((struct file *)file)->sql->size;
    return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int operation, void *arg)
{
    (void)file, (void)operation, (void)arg;
    return SQLITE_NOTFOUND;
}

static int characteristics(sqlite3_file *file)
{
    (void)file;
    return SQLITE_IOCAP_IMMUTABLE;
}

/*
 * SQLite neither locks nor writes an immutable file, and looks for no journal or write-ahead log, whatever its header
 * declares. So the methods for these are missing.
 */
static const sqlite3_io_methods file_methods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_database_file,
    .xFileSize = size_of_file,
    .xFileControl = control_file,
    .xDeviceCharacteristics = characteristics,
};

/* Opens FILE_NAME, and refuses any other file: temporary files are kept in memory. */
static int open_file(sqlite3_vfs *methods, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    file->pMethods = NULL;
    if (!name || strcmp(name, FILE_NAME) != 0 || !(flags & SQLITE_OPEN_MAIN_DB))
        return SQLITE_CANTOPEN;
    ((struct file *)file)->sql = methods->pAppData;
    file->pMethods = &file_methods;
    if (out_flags)
        *out_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int full_name(sqlite3_vfs *methods, const char *name, int size, char *out)
{
    (void)methods;
    snprintf(out, (size_t)size, "%s", name);
    return SQLITE_OK;
}

/*
 * Returns the database size that the header declares, or 0 if it declares none. The size is the page size at offset 16
 * (1 means 65536) times the number of pages at 28. It is valid if the change counter at 24 equals the version at 92.
 * All numbers are big-endian.
 */
static uint64_t declared_database_size(const unsigned char header[100])
{
    uint32_t page = pf_u16(header + 16, true);
    if (page == 1)
        page = 65536;
    bool page_ok = page >= 512 && !(page & (page - 1));
    return page_ok && pf_u32(header + 24, true) == pf_u32(header + 92, true)
               ? (uint64_t)pf_u32(header + 28, true) * page
               : 0;
}

static int register_file(struct pf_sql *sql, struct pf_error *error)
{
    unsigned char header[100] = {0};
    ssize_t have = pf_input_read(sql->window.input, header, sizeof header, 0, error);
    if (have < 0)
        return -1;
    const sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (!system)
        return pf_fail_memory(error);
    uint64_t declared = have == sizeof header ? declared_database_size(header) : 0;
    sql->have = pf_input_size(sql->window.input);
    sql->size = declared > sql->have ? declared : sql->have;
    snprintf(sql->vfs, sizeof sql->vfs, "profilefs-%" PRIxPTR, (uintptr_t)sql);
    sql->methods = *system; /* provides time, sleep and randomness, which do not affect what is read */
    sql->methods.iVersion = 1;
    sql->methods.szOsFile = sizeof(struct file);
    sql->methods.mxPathname = 64;
    sql->methods.pNext = NULL;
    sql->methods.zName = sql->vfs;
    sql->methods.pAppData = sql;
    sql->methods.xOpen = open_file;
    sql->methods.xDelete = NULL;
    sql->methods.xAccess = NULL;
    sql->methods.xFullPathname = full_name;
    return sqlite3_vfs_register(&sql->methods, 0) == SQLITE_OK ? 0 : pf_fail_memory(error);
}

/* ---- the connection ------------------------------------------------------------------------------ */

/* Reads the schema before the authorizer is set, since the authorizer denies the necessary pragmas. */
static int connect(struct pf_sql *sql)
{
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int result = sqlite3_open_v2(FILE_NAME, &sql->connection, flags, sql->vfs);
    if (result != SQLITE_OK)
        return result;
    set_limits(sql->connection);
    sqlite3_progress_handler(sql->connection, OPERATIONS_PER_STEP, on_progress, sql);
    /* Pages (4 KiB) are read once, so a small cache suffices. */
    result = sqlite3_exec(sql->connection, "PRAGMA cache_size=-512; PRAGMA temp_store=2", NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = read_schema(sql);
    if (result == SQLITE_OK)
        result = sqlite3_create_function(sql->connection, TAKE, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, sql,
                                         NULL, take_row, end_rows);
    return result == SQLITE_OK ? sqlite3_set_authorizer(sql->connection, authorize, sql) : result;
}

struct pf_sql *pf_sql_open(struct pf_input *input, const struct pf_sql_table *tables, size_t n_tables,
                           struct pf_error *error)
{
    struct pf_sql *sql = calloc(1, sizeof *sql);
    if (!sql) {
        pf_fail_memory(error);
        return NULL;
    }
    *sql =
        (struct pf_sql){.window = {.input = input, .room = WINDOW}, .tables = tables, .n_tables = n_tables};
    if (register_file(sql, error)) {
        free(sql);
        return NULL;
    }
    sql->steps_left = SCHEMA_STEPS;
    int result = connect(sql);
    sql->steps_left = 0;
    /* The result may be SQLITE_OK even if a read or the pass failed while the schema was loaded: see sql->failed. */
    if (result == SQLITE_OK && !sql->failed)
        return sql;
    if (is_damage(sql, result, error))
        pf_fail(error, EINVAL, "no database that can be read: %s",
                sql->connection ? sqlite3_errmsg(sql->connection) : sqlite3_errstr(result));
    pf_sql_close(sql);
    return NULL;
}

void pf_sql_close(struct pf_sql *sql)
{
    if (!sql)
        return;
    sqlite3_finalize(sql->look_up);
    sqlite3_close(sql->connection);
    sqlite3_vfs_unregister(&sql->methods);
    pf_window_close(&sql->window);
    free(sql);
}
