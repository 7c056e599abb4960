/* SPDX-License-Identifier: MIT */
#ifndef STORED_H
#define STORED_H

#include <sqlite3.h>

#include "fs/cache/cache.h"
#include "tests/unit/tap.h"
#include "tests/unit/temp_dir.h"

/* Returns the origin of the only cached datum of this type; aborts unless there is exactly one. */
static inline uint64_t stored_origin(const char *folder, enum pf_datum type)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    if (sqlite3_open(path_in(folder, PF_CACHE_NAME), &db) ||
        sqlite3_prepare_v2(db, "SELECT source FROM datum WHERE type = ?1", -1, &row, NULL))
        abort();
    sqlite3_bind_int(row, 1, (int)type);
    if (sqlite3_step(row) != SQLITE_ROW)
        abort();
    uint64_t origin = (uint64_t)sqlite3_column_int64(row, 0);
    if (sqlite3_step(row) != SQLITE_DONE)
        abort();
    sqlite3_finalize(row);
    sqlite3_close(db);
    return origin;
}

#endif
