/* SPDX-License-Identifier: MIT */
#ifndef PF_SQL_H
#define PF_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/input/window.h"

/*
 * An SQLite database that somebody else has written, which nobody trusts: read-only, immutable, without journals and locks,
 * and without what a hostile one could do harm with. Views, triggers, virtual tables, indexes, extensions and computed
 * columns are off, only the tables that the driver names may be read, lengths and the work of parsing the schema are
 * limited. SQLite hands each row of a table to a function, in the order of their numbers, up to the first damage. A database
 * is used by one thread at a time.
 */
enum { PF_SQL_COLUMNS = 10, PF_SQL_TABLES = 16 };

/* Texts of more bytes are not read: they end their table. */
enum { PF_SQL_TEXT_MAX = 256 * 1024 };

/*
 * A table that a driver wants, and its columns by name. Databases of different versions have different ones: a column that is
 * not there is read as NULL.
 */
struct pf_sql_table {
    const char *name;
    const char *columns[PF_SQL_COLUMNS + 1];
    uint32_t needed; /* bit c: without column c the table is as if it were not there */
};

/* What is known of such a table in the database, and of the last walk over it. */
struct pf_sql_facts {
    uint32_t columns;  /* bit c: column c is there */
    uint32_t computed; /* bit c: an expression of the file's makes it, and so it is passed over */
    bool usable;       /* the table is there, with all that is needed, and numbers its rows */
    bool damaged;      /* the walk ended before the table's end: */
    bool started;      /* behind the row with this number */
    int64_t last;
};

struct pf_sql {
    sqlite3_vfs methods; /* of a file system of its own, which holds the input alone */
    char vfs[32];
    struct pf_window window; /* of the input, several pages of the database at once */
    uint64_t have;           /* bytes of the input */
    uint64_t size;           /* as its header tells: more than there are if the end is missing */
    uint64_t read;           /* bytes that have been read so far */
    bool failed;             /* reading, or the pass, has failed: */
    struct pf_error failure;

    const struct pf_sql_table *tables;
    size_t n_tables;
    struct pf_sql_facts facts[PF_SQL_TABLES];

    sqlite3 *connection;
    unsigned steps_left; /* calls of the progress handler that what runs may take; 0: any number */
    struct pf_sql_walk *walk;
    sqlite3_stmt *look_up; /* prepared when a text is first asked for */
};

/*
 * Opens the database that an input holds; both it and `tables` must outlive it. One that was cut short is read as far as it
 * goes. NULL with *error filled; its code is EINVAL if the input is no database that can be read.
 */
struct pf_sql *pf_sql_open(struct pf_input *input, const struct pf_sql_table *tables, size_t n_tables,
                           struct pf_error *error);
void pf_sql_close(struct pf_sql *sql);

static inline bool pf_sql_has_table(const struct pf_sql *sql, unsigned table)
{
    return sql->facts[table].usable;
}

static inline bool pf_sql_has(const struct pf_sql *sql, unsigned table, unsigned column)
{
    return pf_sql_has_table(sql, table) && (sql->facts[table].columns >> column & 1);
}

/* A row while it is handed over. */
struct pf_sql_row {
    unsigned table;
    int64_t number;
    uint32_t set;                  /* bit c: column c is not NULL, */
    int64_t value[PF_SQL_COLUMNS]; /* but this integer; 0 if it is no number */
    sqlite3_value **cells;
};

static inline bool pf_sql_is_set(const struct pf_sql_row *row, unsigned column)
{
    return row->set >> column & 1;
}

static inline int64_t pf_sql_int(const struct pf_sql_row *row, unsigned column)
{
    return row->value[column];
}

/* A column as text, valid until the next row; NULL if it is NULL. */
const char *pf_sql_text(const struct pf_sql_row *row, unsigned column, size_t *size);

/* What a row adds. 0 to go on; 1: no more rows are wanted; -1 with *error filled. */
typedef int pf_sql_take(void *arg, const struct pf_sql_row *row, struct pf_error *error);

/*
 * Hands all rows of a table to `take`, which may read other tables meanwhile. Where the table ends early, facts[table] tells. 0,
 * or -1 with *error filled.
 */
int pf_sql_each(struct pf_sql *sql, unsigned table, pf_sql_take *take, void *arg, struct pf_error *error);

/*
 * The text that a table with the columns (key, text) has for a key, which must be the number of its row. Valid until the next call; NULL if there is none. 0, or -1 with *error filled.
 */
int pf_sql_find(struct pf_sql *sql, unsigned table, int64_t key, const char **text, size_t *size,
                struct pf_error *error);

/* Reports to the calling thread's pass how much of the file is read; -1 with *error filled if it is to stop. For work that reads no rows: reading them does so. */
int pf_sql_step(struct pf_sql *sql, struct pf_error *error);

#endif
