/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHE_H
#define PF_CACHE_H

#include <stdint.h>

#include "fs/profile/cachedb.h"

/* The cache as a whole: one file a profile whose passes took long (cachefile.h), and the database (cachedb.h). */

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

/*
 * Drops what was not used for PF_CACHE_DAYS, and what was used longest ago while the whole is larger than `limit` bytes. Others
 * may use the cache at the same time.
 */
void pf_cache_prune(const char *folder, struct pf_cachedb *db, uint64_t limit);
void pf_cache_usage(const char *folder, struct pf_cachedb *db, struct pf_cache_usage *usage);
/* Drops everything. */
void pf_cache_clear(const char *folder, struct pf_cachedb *db);

#endif
