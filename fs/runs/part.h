/* SPDX-License-Identifier: MIT */
#ifndef PF_PART_H
#define PF_PART_H

#include "fs/tree/vfs.h"

/*
 * One profile's contribution to the tables over several profiles: its metrics, its row of the summary, the functions of
 * its primary metric, its warnings. Parts are cached between mounts, so that an archive that was read once need not be
 * opened again.
 */
enum pf_part_rows { PF_PART_FUNCTIONS, PF_PART_WARNINGS, PF_PART_ROWS };
struct pf_part {
    struct pf_buf metrics;            /* see pf_part_metric */
    struct pf_buf summary;            /* cells of its row, from column `partitions` to column `top` */
    struct pf_buf rows[PF_PART_ROWS]; /* a NUL in each row marks where the path is inserted */
    bool closed;                      /* not all users may read all the files it was made from */
};

/* Opens the profile at a path relative to SOURCE, and loads its metrics. NULL with *error filled. */
struct pf_profile *pf_part_open(struct pf_fs *fs, const char *path, const struct pf_entry_info *info,
                                struct pf_error *error);

/* True if not all users may read all files that an open profile has used so far. */
bool pf_part_is_closed(struct pf_profile *profile);

/*
 * Makes a profile's part within the caller's pass, and caches it. With may_use_cache, takes the part from the cache if
 * possible; `closed` is then not set, since it is not cached. With PF_PART_METRICS, a new part has only its metrics,
 * which need no pass over the values, and is not cached. Returns 0, or -1 with *error filled and nothing to free.
 */
enum pf_part_extent { PF_PART_METRICS, PF_PART_WHOLE };
int pf_part_get(struct pf_fs *fs, const char *path, const struct pf_entry_info *info,
                enum pf_part_extent extent, bool may_use_cache, struct pf_part *part, struct pf_error *error);
void pf_part_free(struct pf_part *part);

/* Caches the part of a profile whose model and aggregates (if it has any) are already loaded. */
void pf_part_put(struct pf_profile *profile, const struct pf_entry_info *info);

/* Returns true if an error is transient, and so not caused by the profile: a table over several profiles then fails as a
 * whole. Any other error becomes the message in the profile's row. */
static inline bool pf_part_is_hindered(const struct pf_error *error)
{
    return pf_is_transient(error->code);
}

/* Reads the metric at offset *at (0: the first) and advances *at. Returns false after the last metric. */
struct pf_part_metric {
    const char *name, *unit, *dir; /* owned by the part; dir: its folder in the profile */
    bool primary;
};
bool pf_part_metric(const struct pf_part *part, size_t *at, struct pf_part_metric *metric);

/* Appends a profile's row of the summary, with `run` as the first cell (NULL: omitted) and `path` before the message
 * (NULL: omitted). part NULL: the profile cannot be opened, and `message` is the reason. */
void pf_part_summary(const struct pf_part *part, const struct pf_entry_info *info, const char *message,
                     const char *run, const char *path, struct pf_buf *out);
/* Appends the part's rows of one kind, with the path inserted in each row. */
void pf_part_print(const struct pf_part *part, enum pf_part_rows which, const char *path, struct pf_buf *out);

/* Appends a text to a store and empties the text. Returns 0, or -1 with *error filled; also fails if the text is a failed
 * buffer (out of memory). */
int pf_part_append(struct pf_store *store, struct pf_buf *text, struct pf_error *error);

#endif
