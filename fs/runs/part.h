/* SPDX-License-Identifier: MIT */
#ifndef PF_PART_H
#define PF_PART_H

#include "fs/tree/vfs.h"

/*
 * What one profile adds to what spans many: its metrics, its row of the summary, the functions of its primary metric, its warnings.
 * It is kept between mounts, so that an archive that was read once need not be opened again.
 */
enum pf_part_rows { PF_PART_FUNCTIONS, PF_PART_WARNINGS, PF_PART_ROWS };
struct pf_part {
    struct pf_buf metrics;            /* see pf_part_metric */
    struct pf_buf summary;            /* cells of its row, from `partitions` to `top` */
    struct pf_buf rows[PF_PART_ROWS]; /* with a NUL in each, where the path is to stand */
    bool closed;                      /* not everybody may read all that it is made from */
};

/* Opens the profile that was found at a path below SOURCE, as far as its metrics. NULL with *error filled. */
struct pf_profile *pf_part_open(struct pf_fs *fs, const char *path, const struct pf_found *found,
                             struct pf_error *error);

/* True if not everybody may read all that an open profile was made from so far. */
bool pf_part_is_closed(struct pf_profile *profile);

/*
 * Makes a profile's part as a part of a pass, and keeps it; or recalls it, if that will do: it does not tell who may read it. What is
 * made may hold the metrics alone, which take no more than opening. 0; or -1 with *error filled and nothing to free.
 */
enum pf_part_extent { PF_PART_METRICS, PF_PART_WHOLE };
int pf_part_get(struct pf_fs *fs, const char *path, const struct pf_found *found, enum pf_part_extent extent,
                bool may_recall, struct pf_part *part, struct pf_error *error);
void pf_part_free(struct pf_part *part);

/* Keeps the part of a profile whose model and aggregates are loaded, if it has any. */
void pf_part_learn(struct pf_profile *profile, const struct pf_found *found);

/* True if an error says nothing about the profile: texts that span profiles fail with it. Other errors are the profile's message. */
static inline bool pf_part_is_hindered(const struct pf_error *error)
{
    return pf_is_transient(error->code);
}

/* The metric that stands at *at (0: the first), which is moved on. False: there are no more. */
struct pf_part_metric {
    const char *name, *unit, *dir; /* the part's; dir: its folder in the profile */
    bool primary;
};
bool pf_part_metric(const struct pf_part *part, size_t *at, struct pf_part_metric *metric);

/*
 * Appends a profile's row of the summary, with `run` in front (NULL: without) and `path` before the message (NULL: without);
 * part NULL: it can't be opened, and message says why.
 */
void pf_part_summary(const struct pf_part *part, const struct pf_found *found, const char *message,
                     const char *run, const char *path, struct pf_buf *out);
/* Appends rows, with the path in each. */
void pf_part_print(const struct pf_part *part, enum pf_part_rows which, const char *path, struct pf_buf *out);

/* Appends a text to a store; it is empty then. 0, or -1 with *error filled: also if memory ran out while it was made. */
int pf_part_append(struct pf_store *store, struct pf_buf *text, struct pf_error *error);

#endif
