/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_SCHEMA_H
#define PF_NSIGHT_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * columns, NULL for those that are not `wanted` (bit c: column c). No index is used: one that lies would change what is read. At least NSIGHT_SQL_MAX bytes of room.
 */
#define NSIGHT_SQL_MAX 1024
void nsight_scan_sql(const struct nsight_schema *schema, enum nsight_table table, uint32_t wanted, char *sql);

const char *nsight_column_name(enum nsight_table table, unsigned column);
/* How many columns a table has. */
unsigned nsight_column_count(enum nsight_table table);

#endif
