/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHE_H
#define PF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

/*
 * The persistent cache: one SQLite database that any number of processes share. It maps (origin, type, number) to a datum, a string of
 * bytes. The origin is a 64-bit key, from pf_cache_key, that identifies what the datum was made from, such as a profile. The cache does
 * not interpret data, except to merge fields. The caller compares the origin's head to find out whether a datum is up to date.
 *
 * Functions report no errors, since a failure costs only speed: if the database is missing, corrupt, foreign, not writable or locked for
 * longer than 20 ms, a read is a miss. A write is dropped if it fails several times.
 *
 * The database uses a rollback journal and no memory mapping. In WAL mode SQLite maps an index file (-shm), which another process may
 * truncate once this process has lost its POSIX locks; accessing the mapping then raises SIGBUS. A process loses the locks when it
 * closes any descriptor of the file, as it does if the database is read through a mount of the database's folder.
 *
 * All functions are thread-safe. The caller must hold no lock of rank PF_RANK_NO_BLOCKING or higher (pf_may_block). Only the local disk
 * is accessed.
 */
struct pf_cache;

/* Types of data. The database stores these numbers, so they must not change. */
enum pf_datum {
    PF_DATUM_CACHE,   /* the cache's own data */
    PF_DATUM_TREE,    /* fields: listings, sizes and small texts of a profile */
    PF_DATUM_PASSES,  /* fields: results of passes over a profile */
    PF_DATUM_EXCERPT, /* fields: a profile's excerpt for the tables over several profiles */
    PF_DATUM_PROBES,  /* probe results of 64 consecutive inodes */
    PF_DATUM_INDEX,   /* the index of an archive */
    PF_DATUM_SUMS,    /* aggregates of a profile; number: metric + 1, or 0 for all metrics */
};

/*
 * The versions that all data of an origin depend on, such as those of drivers and files; borrowed. If the head of new data neither
 * includes the stored head nor is included by it, the new data replace all data of the origin; otherwise the larger head is kept.
 * Functions take NULL for an empty head.
 */
struct pf_cache_head {
    const char *bytes;
    size_t size;
    /* True if `head` contains all dependencies of `other`. NULL: heads are compared for equality. Called under the database lock. */
    bool (*includes)(const struct pf_cache_head *head, const struct pf_cache_head *other);
};

enum { PF_CACHE_DAYS = 90 }; /* default age in days after which unused origins are dropped */

/* The name of the database in its folder. */
#define PF_CACHE_NAME "profiles.db"

/* Returns a cache in this folder (borrowed). NULL: out of memory. The first access opens the database; only a write creates it. */
struct pf_cache *pf_cache_new(const char *folder);
/* Writes the queue, closes the database and frees the cache. NULL: no-op. */
void pf_cache_free(struct pf_cache *cache);

/*
 * Returns the key of an origin: a hash of bytes that identify the origin, keyed with a random number that the database holds. Before the
 * first write to a new database, and while the database is locked or unusable, the number may be one that is replaced later.
 */
uint64_t pf_cache_key(struct pf_cache *cache, const void *bytes, size_t size);

/*
 * Returns the bytes of a datum, which the caller frees, and sets *size to their number. Returns NULL on a miss. Appends the origin's
 * stored head to *head unless `head` is NULL: the caller checks whether the stored head is up to date.
 */
char *pf_cache_get(struct pf_cache *cache, uint64_t origin, enum pf_datum type, uint64_t number, size_t *size,
                   struct pf_buf *head);
/*
 * Stores a datum, replacing an older one. In a datum of type TREE or PASSES, stored fields that `value` lacks are kept as long as the
 * datum takes at most 1 MB (pf_fields_merge). No-op if the buffer has failed or exceeds 64 MB.
 *
 * A datum of up to 1 MB is copied to a queue, since a transaction costs more than the data of most profiles. One transaction writes the
 * queue: in pf_cache_flush, before a datum of a queued origin is read, and when a datum is added and the queue then has 64 data or 1 MB,
 * or its oldest datum is a second old. If the transaction fails, the data stay queued; at 128 data or 2 MB they are dropped.
 */
void pf_cache_put(struct pf_cache *cache, const struct pf_cache_head *head, uint64_t origin,
                  enum pf_datum type, uint64_t number, const struct pf_buf *value);
/* Writes the queue. NULL: no-op. */
void pf_cache_flush(struct pf_cache *cache);

/*
 * Drops the origins that were not used for more than `days` days and, while the database takes more than `limit` bytes, the least recently
 * used ones. Each transaction drops only a few origins, so that other threads and processes can read and write in between.
 */
void pf_cache_prune(struct pf_cache *cache, uint64_t limit, unsigned days);
/* Drops all origins. */
void pf_cache_clear(struct pf_cache *cache);
/* Sets *origins to the number of origins and *bytes to the size of the used pages of the database; both 0 if it cannot be opened. */
void pf_cache_usage(struct pf_cache *cache, uint64_t *origins, uint64_t *bytes);
/* Returns the number of data that this process has written. */
uint64_t pf_cache_puts(struct pf_cache *cache);

/* ---- location.c --------------------------------------------------------------------------------- */

/*
 * Returns the folder for the database, which the caller frees: a copy of `folder`, or a private folder in /var/tmp if `folder` is on a
 * network file system, where locks are unreliable. Returns NULL if `folder` is NULL or no folder is usable.
 */
char *pf_cache_location(const char *folder);
/* Creates a folder if it is missing. Returns true if it belongs to this user and other users have no access. */
bool pf_cache_is_private(const char *path);
/* Creates a folder and its missing parents, with mode 0700. Errors are ignored. */
void pf_cache_make_folder(const char *folder);

#endif
