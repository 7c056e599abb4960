/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHE_H
#define PF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

/*
 * What is kept between mounts: one SQLite database, which any number of processes share. It maps (source, type, number) to bytes, a
 * datum. A source is the 64-bit key of what a datum was made from, by pf_cache_key; what the bytes mean, and whether they are up to
 * date, is the caller's to know.
 *
 * Losing the database, finding it corrupt, foreign or locked for longer than 20 ms, or failing to write it costs speed only: a read
 * finds nothing, a write is dropped. So nothing here reports errors.
 *
 * The journal is a file beside the database while a transaction runs, and nothing is mapped. In WAL mode SQLite would map an index that
 * another process cuts once this process has lost its POSIX locks, which happens when it closes any descriptor of the file, as after a
 * read of the database through a mount of the home folder.
 *
 * All functions may be called from any thread, without a lock of fs/ of a rank of PF_RANK_DB or more. They touch the local disk only.
 */
struct pf_cache;

/* Types of data. Their numbers are stored. */
enum pf_datum {
    PF_DATUM_CACHE,  /* the cache's own */
    PF_DATUM_KNOWN,  /* listings, sizes and small texts of a profile */
    PF_DATUM_PASSES, /* what passes over a profile have found */
    PF_DATUM_PART,   /* what a profile adds to tables of many */
    PF_DATUM_PROBES, /* what 64 files are, by their inodes */
    PF_DATUM_INDEX,  /* of an archive */
    PF_DATUM_SUMS,   /* aggregates of a profile, by metric + 1; 0: of all metrics */
};

/* One datum to be stored. The bytes are borrowed. */
struct pf_cache_value {
    uint64_t source, number;
    enum pf_datum type;
    const void *bytes;
    size_t size;
};

enum {
    PF_CACHE_DAYS = 90, /* sources that were not used for so long are dropped */
    PF_CACHE_BATCH = 64 /* most data of one pf_cache_put_all */
};

/* The name of the database in its folder. */
#define PF_CACHE_NAME "profiles.db"

/* Opens nothing yet: the database is made by the first write. The folder is borrowed. NULL: out of memory. */
struct pf_cache *pf_cache_new(const char *folder);
void pf_cache_free(struct pf_cache *cache);

/* The key of a source: a hash of bytes that name it, with a random key that is kept in the database. */
uint64_t pf_cache_key(struct pf_cache *cache, const void *bytes, size_t size);

/* Returns the bytes of a datum, allocated for the caller, or NULL if there are none. *size: how many. */
char *pf_cache_get(struct pf_cache *cache, uint64_t source, enum pf_datum type, uint64_t number,
                   size_t *size);
/* Stores a datum. A failed buffer is dropped. */
void pf_cache_put(struct pf_cache *cache, uint64_t source, enum pf_datum type, uint64_t number,
                  const struct pf_buf *value);
/* Stores at most PF_CACHE_BATCH small data in one transaction. */
void pf_cache_put_all(struct pf_cache *cache, const struct pf_cache_value *values, size_t n);

/*
 * Drops the sources that were not used for `days`, and those used longest ago while the data take more than `limit` bytes: a few in
 * a transaction, between which other threads and processes read and write.
 */
void pf_cache_prune(struct pf_cache *cache, uint64_t limit, unsigned days);
/* Drops everything. */
void pf_cache_clear(struct pf_cache *cache);
/* How many sources it has data of, and how many bytes it takes. */
void pf_cache_usage(struct pf_cache *cache, uint64_t *sources, uint64_t *bytes);
/* How many data this process has put into it. */
uint64_t pf_cache_puts(struct pf_cache *cache);

/* ---- place.c ------------------------------------------------------------------------------------ */

/*
 * The folder for the database: `folder` (NULL: there is none), but a private one on the local disk if `folder` is on a file server, on
 * which locks can't be relied upon. Allocated for the caller; NULL: nowhere.
 */
char *pf_cache_place(const char *folder);
/* True if a folder, which is made if it is absent, belongs to this user and is closed to others. */
bool pf_cache_is_private(const char *path);
/* Makes a folder (0700) and those above it, as far as they are missing. */
void pf_cache_make_folder(const char *folder);

#endif
