/* SPDX-License-Identifier: MIT */
#ifndef PF_EXCERPT_H
#define PF_EXCERPT_H

#include "fs/tree/vfs.h"

enum pf_excerpt_rows { PF_EXCERPT_FUNCTIONS, PF_EXCERPT_WARNINGS, PF_EXCERPT_ROWS };
/*
 * The part of the tables over several profiles that one profile adds: its metrics, its row of the summary, the
 * functions of its primary metric, and its warnings. Excerpts are cached between mounts, so that later tables are made
 * without opening the profile.
 */
struct pf_excerpt {
    struct pf_buf metrics;               /* see pf_excerpt_metric */
    struct pf_buf summary;               /* cells of summary.csv, from column `partitions` to column `top` */
    struct pf_buf rows[PF_EXCERPT_ROWS]; /* a NUL in each row marks where the path is inserted */
    bool is_private;                     /* not all users may read all files that the profile used */
};

/* Opens the profile at a path relative to SOURCE, and loads its metrics. NULL with *error filled. */
struct pf_profile *pf_excerpt_open(struct pf_fs *fs, const char *path, const struct pf_entry_info *info,
                                   struct pf_error *error);

/* True if not all users may read all files that an open profile has used so far. */
bool pf_excerpt_is_private(struct pf_profile *profile);

enum pf_excerpt_extent { PF_EXCERPT_METRICS, PF_EXCERPT_WHOLE };
/*
 * Makes a profile's excerpt within the caller's pass, and caches it. With may_use_cache, takes the excerpt from the cache if
 * possible; is_private is then always false, since the cache does not hold it. With PF_EXCERPT_METRICS, a new
 * excerpt has only the metrics, which need no pass over the values, and is not cached. Returns 0, or -1 with *error filled and
 * nothing to free.
 * A transient error (see pf_is_transient) is not caused by the profile: the table over several profiles should then fail as
 * a whole. Any other error becomes the message in the profile's row.
 */
int pf_excerpt_get(struct pf_fs *fs, const char *path, const struct pf_entry_info *info,
                   enum pf_excerpt_extent extent, bool may_use_cache, struct pf_excerpt *excerpt,
                   struct pf_error *error);
void pf_excerpt_free(struct pf_excerpt *excerpt);

/* Caches the excerpt of a profile whose model and aggregates (if it has any) are already loaded. */
void pf_excerpt_put(struct pf_profile *profile, const struct pf_entry_info *info);

struct pf_excerpt_metric {
    const char *name, *unit, *dir; /* owned by the excerpt; dir: the metric's folder */
    bool primary;
};
/* Reads the metric at offset *at (0: the first) and advances *at. Returns false after the last metric. */
bool pf_excerpt_metric(const struct pf_excerpt *excerpt, size_t *at, struct pf_excerpt_metric *metric);

/* Appends a profile's row of the summary, with `run` as the first cell and `path` before the message; a cell that is NULL is
 * omitted. If the profile cannot be opened, `excerpt` is NULL and `message` is the reason. */
void pf_excerpt_summary(const struct pf_excerpt *excerpt, const struct pf_entry_info *info,
                        const char *message, const char *run, const char *path, struct pf_buf *out);
/* Appends the excerpt's rows of one kind, with the path inserted in each row. */
void pf_excerpt_print(const struct pf_excerpt *excerpt, enum pf_excerpt_rows which, const char *path,
                      struct pf_buf *out);

/* Appends a text to a store and empties the text. Returns 0, or -1 with *error filled; also fails if the text is a failed
 * buffer (out of memory). */
int pf_append_text(struct pf_store *store, struct pf_buf *text, struct pf_error *error);

#endif
