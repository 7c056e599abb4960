/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHE_H
#define PF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

/* What is kept between mounts: a file a profile whose passes took long (cache.c), and a database (cachedb.c). */

/* ---- files -------------------------------------------------------------------------------------- */

/*
 * A file of bytes that is either there, whole and sound, or not there: written to a temporary name, checksummed, renamed into place.
 * Losing it costs speed only, so nothing here reports errors.
 *
 *   8 bytes  magic, also telling the byte order
 *   8 bytes  length of the payload
 *   8 bytes  checksum of the payload
 *   payload
 */

/* Writes; makes the folder (0700) if need be. False: nothing was written. */
bool pf_cachefile_write(const char *folder, const char *name, const struct pf_buf *payload);

/* Makes the folder (0700) and those it stands in, as far as they are missing. */
void pf_cachefile_make_folder(const char *folder);

/* The payload of a sound file, allocated for the caller; NULL if there is none. */
char *pf_cachefile_read(const char *folder, const char *name, size_t *size);

/* ---- the database ------------------------------------------------------------------------------- */

/*
 * What is small and kept between mounts, of all profiles: runs of bytes by a number, in one SQLite database, which any number of
 * processes may share. Its content is checksummed. Losing it, finding it corrupt, locked or foreign, or not being able to write
 * costs speed only, so nothing here reports errors; nobody waits for a lock longer than some milliseconds. Safe for many threads.
 */
struct pf_cachedb;

/* Opens nothing yet: the file is made when something is put into it. The folder is borrowed. NULL: out of memory. */
struct pf_cachedb *pf_cachedb_new(const char *folder);
void pf_cachedb_free(struct pf_cachedb *db);

/* What is kept under this number, allocated for the caller; NULL: nothing. */
char *pf_cachedb_get(struct pf_cachedb *db, uint64_t key, size_t *size);
void pf_cachedb_put(struct pf_cachedb *db, uint64_t key, const struct pf_buf *value);

/* Drops what was used longest ago until the file has at most `limit` bytes, and what was not used for `days`. */
void pf_cachedb_prune(struct pf_cachedb *db, uint64_t limit, unsigned days);

void pf_cachedb_clear(struct pf_cachedb *db);

/* How much it holds: entries, and bytes of the file. */
void pf_cachedb_usage(struct pf_cachedb *db, uint64_t *entries, uint64_t *bytes);

/* How often something was put into it by this process. */
uint64_t pf_cachedb_puts(struct pf_cachedb *db);

/* Its file's name in the folder. */
#define PF_CACHEDB_NAME "profiles.db"

/* ---- both --------------------------------------------------------------------------------------- */

enum { PF_CACHE_DAYS = 90 }; /* what was not used for so long goes */

struct pf_cache_usage {
    uint64_t files, file_bytes;
    uint64_t entries, entry_bytes; /* of the database */
};

/*
 * The folder that the database may stand in: the cache's own (NULL: there is none), but where that lies on a network's file
 * system, on which neither locks nor shared memory can be relied upon, a private one on the local disk. Allocated for the caller;
 * NULL: nowhere.
 */
char *pf_cache_db_folder(const char *folder);
/* True if a folder, made if it is absent, is ours alone. */
bool pf_cache_is_private(const char *path);

/*
 * Drops what was not used for PF_CACHE_DAYS, and what was used longest ago while the whole is larger than `limit` bytes. Others
 * may use the cache at the same time.
 */
void pf_cache_prune(const char *folder, struct pf_cachedb *db, uint64_t limit);
void pf_cache_usage(const char *folder, struct pf_cachedb *db, struct pf_cache_usage *usage);
/* Drops everything. */
void pf_cache_clear(const char *folder, struct pf_cachedb *db);

#endif
