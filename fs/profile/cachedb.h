/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHEDB_H
#define PF_CACHEDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

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
/* The same for n keys and their values, which is quicker than one by one. */
void pf_cachedb_put_all(struct pf_cachedb *db, const uint64_t *keys, const struct pf_buf *values, size_t n);

/* Drops what was used longest ago until the file has at most `limit` bytes, and what was not used for `days`. */
void pf_cachedb_prune(struct pf_cachedb *db, uint64_t limit, unsigned days);

void pf_cachedb_clear(struct pf_cachedb *db);

/* How much it holds: entries, and bytes of the file. */
void pf_cachedb_usage(struct pf_cachedb *db, uint64_t *entries, uint64_t *bytes);

/* How often something was put into it by this process. */
uint64_t pf_cachedb_puts(struct pf_cachedb *db);

/* Its file's name in the folder. */
#define PF_CACHEDB_NAME "profiles.db"

#endif
