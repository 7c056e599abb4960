/* SPDX-License-Identifier: MIT */
#ifndef PF_NSIGHT_DB_H
#define PF_NSIGHT_DB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/nsight/schema.h"
#include "formats/nsight/vfs.h"

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

#define NSIGHT_ALL_COLUMNS UINT32_MAX

/*
 * Before the first row whose number is at least `from`. A table that is not there has no rows. wanted: bit c for
 * column c; all others are as if they were NULL. -1 with *error filled.
 */
int nsight_scan_open(struct nsight_scan *scan, struct nsight_db *db, enum nsight_table table, uint32_t wanted,
                     int64_t from, struct pf_error *error);
void nsight_scan_close(struct nsight_scan *scan);

/* 1: there is a row; 0: no more (see damaged); -1: *error filled. */
int nsight_scan_next(struct nsight_scan *scan, struct pf_error *error);

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
