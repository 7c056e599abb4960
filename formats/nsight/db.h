/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_DB_H
#define PF_NSIGHT_DB_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/input/source.h"

/*
 * SQLite's view of one input: a file that only this connection knows, that is read with pf_input_read and
 * never changes. There are no locks, no journal and no other files. Each connection registers one of its own,
 * so that nothing is shared between threads.
 */
struct nsight_vfs {
    sqlite3_vfs methods; /* known to SQLite while registered: must not move */
    char name[32];
    struct pf_input *input;
    uint64_t have;  /* bytes of the input */
    uint64_t size;  /* as SQLite is told: more than there are if the end is missing */
    uint64_t bytes; /* that have been read so far */
    bool failed;    /* a read has failed: */
    struct pf_error failure;
};

/* The name that a connection opens through such a VFS. */
#define NSIGHT_VFS_FILE "export"

/*
 * Registers a VFS over an input, which must outlive it. A database that was cut short is shown in the length that
 * its header tells, with nothing but zeros where the file ends, so that what came before can be read. -1 with
 * *error filled.
 */
int nsight_vfs_register(struct nsight_vfs *vfs, struct pf_input *input, struct pf_error *error);

/* Makes SQLite forget it; after the connection is closed. */
void nsight_vfs_unregister(struct nsight_vfs *vfs);

/*
 * The tables of an export that are read, and their columns. Exports of different versions have different
 * columns, and tables only where they have rows: what is there is found out once. A column that is not there is
 * read as NULL.
 */
enum nsight_table {
    NSIGHT_STRINGS,
    NSIGHT_META,
    NSIGHT_OLD_META,
    NSIGHT_GPUS,
    NSIGHT_OLD_GPUS,
    NSIGHT_THREAD_NAMES,
    NSIGHT_RUNTIME,
    NSIGHT_KERNEL,
    NSIGHT_MEMCPY,
    NSIGHT_MEMSET,
    NSIGHT_SYNC,
    NSIGHT_NVTX,
    NSIGHT_CHAINS,
    NSIGHT_RESOLVED,
    NSIGHT_TABLES
};

enum { NSIGHT_COLUMNS_MAX = 10 };

enum { STRINGS_ID, STRINGS_VALUE };
enum { META_NAME, META_VALUE };
enum { GPUS_NAME };
enum { THREAD_NAMES_NAME, THREAD_NAMES_TID };
enum { RUNTIME_START, RUNTIME_END, RUNTIME_TID, RUNTIME_CORRELATION, RUNTIME_NAME, RUNTIME_CHAIN };
/* The first seven are the same for all activities of a GPU. */
enum {
    ACTIVITY_START,
    ACTIVITY_END,
    ACTIVITY_DEVICE,
    ACTIVITY_CONTEXT,
    ACTIVITY_STREAM,
    ACTIVITY_CORRELATION,
    ACTIVITY_PID,
    ACTIVITY_WHAT, /* kernel: short name; memcpy: kind; memset: value; sync: type */
    ACTIVITY_MORE, /* kernel: demangled name; memcpy and memset: bytes */
    ACTIVITY_MANGLED
};
enum { NVTX_START, NVTX_END, NVTX_TYPE, NVTX_TEXT, NVTX_TID, NVTX_DOMAIN, NVTX_TEXT_ID };
enum { CHAINS_ID, CHAINS_SYMBOL, CHAINS_DEPTH, CHAINS_UNRESOLVED };
enum { RESOLVED_CORRELATION, RESOLVED_PATH, RESOLVED_DURATION };

struct nsight_schema {
    struct nsight_table_facts {
        uint32_t columns;  /* bit c: column c is there */
        uint32_t computed; /* bit c: it is made by an expression of the file's, and so passed over */
        const char
            *rowid; /* the word by which rows are numbered; NULL: the table is not there, or not usable */
    } tables[NSIGHT_TABLES];
};

const char *nsight_table_name(enum nsight_table table);

/* What the connection's database has. SQLITE_OK or what went wrong: SQLITE_NOMEM, an error of reading, ... */
int nsight_schema_read(struct nsight_schema *schema, sqlite3 *connection);

static inline bool nsight_has_table(const struct nsight_schema *schema, enum nsight_table table)
{
    return schema->tables[table].rowid != NULL;
}

static inline bool nsight_has(const struct nsight_schema *schema, enum nsight_table table, unsigned column)
{
    return nsight_has_table(schema, table) && (schema->tables[table].columns >> column & 1);
}

/*
 * Writes the statement that reads the table's rows with a number of at least ?1 in their order: the number, then all
 * columns, NULL for those that are not there or not `wanted` (bit c: column c). No index is used: one that lies would change what is read. At least NSIGHT_SQL_MAX bytes of room.
 */
#define NSIGHT_SQL_MAX 1024
void nsight_scan_sql(const struct nsight_schema *schema, enum nsight_table table, uint32_t wanted, char *sql);

const char *nsight_column_name(enum nsight_table table, unsigned column);
/* How many columns a table has. */
unsigned nsight_column_count(enum nsight_table table);

/*
 * A connection to an export: read-only, without what a hostile database could do harm with. Views, triggers,
 * extensions and functions are off, only the tables of schema.h may be read, lengths are limited, and the work of
 * parsing the schema is. What is read is one row after another, in the order of their numbers. A connection is
 * used by one thread at a time.
 */
struct nsight_db {
    struct nsight_vfs vfs;
    sqlite3 *connection;
    struct nsight_schema schema;
    struct pf_pass *pass; /* on whose behalf rows are read, or NULL */
    bool limited;         /* what runs may take but `steps_left` calls of the progress handler */
    unsigned steps_left;
    sqlite3_stmt *string;   /* looks up a string; prepared when one is first asked for */
    struct nsight_db *next; /* in the pool */
};

/* Texts of more bytes are not read. */
enum { NSIGHT_TEXT_MAX = 256 * 1024 };

/* Tells the pass on whose behalf rows are read how far it is; -1 with *error filled if it is to stop. For work that
 * reads no rows: reading them does so by itself. */
int nsight_db_step(struct nsight_db *db, struct pf_error *error);

/*
 * Connections that nobody uses now, to be used again: parsing the schema costs more than many a table. For all
 * threads.
 */
struct nsight_pool {
    pthread_mutex_t lock;
    struct nsight_db *idle;
    unsigned n_idle;
};

void nsight_pool_init(struct nsight_pool *pool);
void nsight_pool_destroy(struct nsight_pool *pool); /* closes those in it */
/* A connection for the caller alone; NULL with *error filled. To be given back to the pool. */
struct nsight_db *nsight_pool_take(struct nsight_pool *pool, struct pf_input *input, struct pf_error *error);
void nsight_pool_give(struct nsight_pool *pool, struct nsight_db *db);

/* ---- rows ---------------------------------------------------------------------------------------- */

/* A walk over the rows of one table. */
struct nsight_scan {
    struct nsight_db *db;
    enum nsight_table table;
    sqlite3_stmt *statement;           /* NULL: the table is not there, or ended */
    unsigned columns;                  /* of the table */
    uint32_t wanted;                   /* bit c: column c is read */
    uint32_t set;                      /* bit c: it is not NULL in this row, */
    int64_t value[NSIGHT_COLUMNS_MAX]; /* but this number; 0 if it is none */
    int64_t rowid;                     /* of the row */
    bool started, damaged;             /* damaged: the table ended before its end */
};

/*
 * Before the first row whose number is at least `from`. A table that is not there has no rows. wanted: bit c for
 * column c; all others are as if they were NULL. -1 with *error filled.
 */
int nsight_scan_open(struct nsight_scan *scan, struct nsight_db *db, enum nsight_table table, uint32_t wanted,
                     int64_t from, struct pf_error *error);
#define NSIGHT_ALL_COLUMNS UINT32_MAX
void nsight_scan_close(struct nsight_scan *scan);

/* 1: there is a row; 0: no more (see damaged); -1: *error filled. */
int nsight_scan_next(struct nsight_scan *scan, struct pf_error *error);

/* Where a table ended before its end, for each table: told when the pass is over, which may be made again. */
struct nsight_damage {
    bool damaged, started;
    int64_t rowid; /* of the last row, if it has started */
};

/* What a row adds. 0 to go on; 1: no more rows are wanted; -1 with *error filled. */
typedef int nsight_take(void *arg, const struct nsight_scan *scan, struct pf_error *error);

/* Gives `take` all rows of a table, with the columns that are wanted. damage (of all tables; NULL: none is kept) is told if it
 * ended early. 0, or -1 with *error filled. */
int nsight_each(struct nsight_db *db, enum nsight_table table, uint32_t wanted, struct nsight_damage *damage,
                nsight_take *take, void *arg, struct pf_error *error);

/* Cells of the row: whether it is not NULL; as an integer, 0 if it is none. */
static inline bool nsight_is_set(const struct nsight_scan *scan, unsigned column)
{
    return scan->set >> column & 1;
}

static inline int64_t nsight_int(const struct nsight_scan *scan, unsigned column)
{
    return scan->value[column];
}

/* The string of this number in StringIds, valid until the next call; NULL if there is none. -1 with *error filled. */
int nsight_string(struct nsight_db *db, int64_t id, const char **text, size_t *size, struct pf_error *error);

/* As text, valid until the next row; NULL if it is NULL. */
const char *nsight_text(const struct nsight_scan *scan, unsigned column, size_t *size);

/* end - start in ns of a row with these columns, 0 if it is negative, absent or out of range; *bad is set then. */
int64_t nsight_duration(const struct nsight_scan *scan, unsigned start, unsigned end, bool *bad);

#endif
