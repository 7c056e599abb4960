/* SPDX-License-Identifier: MIT */
#include "formats/nsight/db.h"

#include <stdio.h>
#include <string.h>

/* What all activities of a GPU have. */
#define ACTIVITY_COLUMNS                                                                                     \
    [ACTIVITY_START] = "start", [ACTIVITY_END] = "end", [ACTIVITY_DEVICE] = "deviceId",                      \
    [ACTIVITY_CONTEXT] = "contextId", [ACTIVITY_STREAM] = "streamId",                                        \
    [ACTIVITY_CORRELATION] = "correlationId", [ACTIVITY_PID] = "globalPid"

static const struct {
    const char *name;
    const char *columns[NSIGHT_COLUMNS_MAX];
    uint32_t needed; /* bit c: the table is of no use without column c */
} tables[NSIGHT_TABLES] = {
    [NSIGHT_STRINGS] = {"StringIds", {"id", "value"}, 1 << STRINGS_ID | 1 << STRINGS_VALUE},
    [NSIGHT_META] = {"META_DATA_EXPORT", {"name", "value"}, 1 << META_NAME | 1 << META_VALUE},
    [NSIGHT_OLD_META] = {"EXPORT_META_DATA", {"name", "value"}, 1 << META_NAME | 1 << META_VALUE},
    [NSIGHT_GPUS] = {"TARGET_INFO_GPU", {"name"}, 1 << GPUS_NAME},
    [NSIGHT_OLD_GPUS] = {"TARGET_INFO_CUDA_GPU", {"name"}, 1 << GPUS_NAME},
    [NSIGHT_THREAD_NAMES] = {"ThreadNames",
                             {"nameId", "globalTid"},
                             1 << THREAD_NAMES_NAME | 1 << THREAD_NAMES_TID},
    [NSIGHT_RUNTIME] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                        {"start", "end", "globalTid", "correlationId", "nameId", "callchainId"},
                        1 << RUNTIME_START | 1 << RUNTIME_END | 1 << RUNTIME_NAME},
    [NSIGHT_KERNEL] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                       {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "shortName", [ACTIVITY_MORE] = "demangledName",
                        [ACTIVITY_MANGLED] = "mangledName"},
                       1 << ACTIVITY_START | 1 << ACTIVITY_END},
    [NSIGHT_MEMCPY] = {"CUPTI_ACTIVITY_KIND_MEMCPY",
                       {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "copyKind", [ACTIVITY_MORE] = "bytes"},
                       1 << ACTIVITY_START | 1 << ACTIVITY_END},
    [NSIGHT_MEMSET] = {"CUPTI_ACTIVITY_KIND_MEMSET",
                       {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "value", [ACTIVITY_MORE] = "bytes"},
                       1 << ACTIVITY_START | 1 << ACTIVITY_END},
    [NSIGHT_SYNC] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                     {ACTIVITY_COLUMNS, [ACTIVITY_WHAT] = "syncType"},
                     1 << ACTIVITY_START | 1 << ACTIVITY_END},
    [NSIGHT_NVTX] = {"NVTX_EVENTS",
                     {"start", "end", "eventType", "text", "globalTid", "domainId", "textId"},
                     1 << NVTX_START | 1 << NVTX_END | 1 << NVTX_TYPE | 1 << NVTX_DOMAIN},
    [NSIGHT_CHAINS] = {"CUDA_CALLCHAINS",
                       {"id", "symbol", "stackDepth", "unresolved"},
                       1 << CHAINS_ID | 1 << CHAINS_SYMBOL | 1 << CHAINS_DEPTH},
    [NSIGHT_RESOLVED] = {"EXTRAP_RESOLVED_CALLPATHS",
                         {"correlationId", "callpath", "duration"},
                         1 << RESOLVED_CORRELATION | 1 << RESOLVED_PATH},
};

const char *nsight_table_name(enum nsight_table table)
{
    return tables[table].name;
}

const char *nsight_column_name(enum nsight_table table, unsigned column)
{
    return tables[table].columns[column];
}

unsigned nsight_column_count(enum nsight_table table)
{
    unsigned n = 0;
    while (n < NSIGHT_COLUMNS_MAX && tables[table].columns[n])
        n++;
    return n;
}

/* SQLITE_OK if the parsed schema has this column; what a view or virtual table has is not looked at. */
static int look_up(sqlite3 *connection, const char *table, const char *column, const char **type, int *key)
{
    const char *collation;
    int not_null, increments;
    return sqlite3_table_column_metadata(connection, "main", table, column, type, &collation, &not_null, key,
                                         &increments);
}

/*
 * The word for the number of a row: one that no other column goes by. A table that numbers no rows has none.
 * (Asked for the number itself, SQLite tells of an integer that is the primary key.)
 */
static const char *rowid_word(sqlite3 *connection, const char *table)
{
    static const char *const words[] = {"rowid", "_rowid_", "oid"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *type;
        int key;
        if (look_up(connection, table, words[i], &type, &key) == SQLITE_OK && key && type &&
            !sqlite3_stricmp(type, "INTEGER"))
            return words[i];
    }
    return NULL;
}

/*
 * The columns of a table that hold nothing, but are computed whenever they are read, or are those of a virtual table: an export
 * has none, and what the expression costs nobody can bound. SQLITE_OK or what went wrong.
 */
static int find_computed(sqlite3 *connection, size_t t, uint32_t *computed)
{
    enum { NAME = 1, HIDDEN = 6 };
    char sql[128];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "PRAGMA main.table_xinfo(\"%s\")", tables[t].name);
    int result = sqlite3_prepare_v2(connection, sql, -1, &statement, NULL);
    while (result == SQLITE_OK && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, NAME);
        bool hidden = sqlite3_column_int(statement, HIDDEN) != 0;
        for (unsigned c = 0; hidden && name && c < NSIGHT_COLUMNS_MAX && tables[t].columns[c]; c++)
            *computed |= (uint32_t)!sqlite3_stricmp(name, tables[t].columns[c]) << c;
        result = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Errors of reading the schema, as opposed to what is not in it. */
static bool is_trouble(int result)
{
    int kind = result & 0xff;
    return kind != SQLITE_OK && kind != SQLITE_ERROR;
}

int nsight_schema_read(struct nsight_schema *schema, sqlite3 *connection)
{
    *schema = (struct nsight_schema){0};
    for (size_t t = 0; t < NSIGHT_TABLES; t++) {
        struct nsight_table_facts *facts = &schema->tables[t];
        for (unsigned c = 0; c < NSIGHT_COLUMNS_MAX && tables[t].columns[c]; c++) {
            const char *type;
            int key, result = look_up(connection, tables[t].name, tables[t].columns[c], &type, &key);
            if (is_trouble(result))
                return result;
            facts->columns |= (uint32_t)(result == SQLITE_OK) << c;
        }
        int result = facts->columns ? find_computed(connection, t, &facts->computed) : SQLITE_OK;
        if (is_trouble(result))
            return result;
        facts->computed &= facts->columns;
        facts->columns &= ~facts->computed;
        if ((facts->columns & tables[t].needed) == tables[t].needed)
            facts->rowid = rowid_word(connection, tables[t].name);
    }
    return SQLITE_OK;
}

void nsight_scan_sql(const struct nsight_schema *schema, enum nsight_table table, uint32_t wanted, char *sql)
{
    const struct nsight_table_facts *facts = &schema->tables[table];
    int at = snprintf(sql, NSIGHT_SQL_MAX, "SELECT %s", facts->rowid);
    for (unsigned c = 0; c < NSIGHT_COLUMNS_MAX && tables[table].columns[c]; c++)
        at += snprintf(sql + at, NSIGHT_SQL_MAX - (size_t)at,
                       (facts->columns & wanted) >> c & 1 ? ",\"%s\"" : ",NULL", tables[table].columns[c]);
    snprintf(sql + at, NSIGHT_SQL_MAX - (size_t)at, " FROM main.\"%s\" NOT INDEXED WHERE %s>=?1 ORDER BY %s",
             tables[table].name, facts->rowid, facts->rowid);
}
