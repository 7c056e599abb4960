/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_READ_H
#define PF_HPC_READ_H

#include <errno.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/input/window.h"
#include "formats/kit/bytes.h"

/*
 * How the files with measurements are read: profile.db, which has the values by thread, cct.db, which has the same by context,
 * and the files of each thread of 2.x.
 */

static inline double hpc_f64(const unsigned char *bytes, bool big_endian)
{
    uint64_t bits = pf_u64(bytes, big_endian);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* True if `count` records of `record` bytes at `offset` lie before `end`. */
static inline bool hpc_fits(uint64_t offset, uint64_t count, uint64_t record, uint64_t end)
{
    uint64_t size;
    return !__builtin_mul_overflow(count, record, &size) && offset <= end && size <= end - offset;
}

/*
 * True if a file could not be opened because of what it is: a link, a folder, one that the mounter may not read. The rest of the
 * database is served without it. Other failures tell of the system, or of a change: they are errors.
 */
static inline bool hpc_is_unreadable(int code)
{
    return code == EACCES || code == EPERM || code == ELOOP || code == EISDIR || code == EINVAL;
}

/* ---- profiles.c: profile.db --------------------------------------------------------------------- */

/* Of a sample of a trace: u64 time, u32 context; of an old data-centric trace four bytes more. */
enum { HPC_SAMPLE = 12, HPC_SAMPLE_DATA = 16 };

/* Opens profile.db, cct.db and trace.db as far as they are there, and finds the summary. 0, or -1 with *error
 * filled. */
int hpc_profiles_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error);

/* Makes the list of threads, the partitions' items and fields. 0, or -1 with *error filled; then all is as before. */
int hpc_profiles_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error);

/*
 * Finds the array of a file, with a stride of at least `least` bytes; what does not fit into the file is cut off, with a note.
 * `file` names it for people, `xml4` and `meta` are what it begins with. 0, or -1 with *error filled.
 */
int hpc_read_array(const struct hpc_state *state, struct pf_input *input, const char *file, const char *xml4,
                   const char *meta, size_t least, struct hpc_array *array, struct pf_notes *notes,
                   struct pf_error *error);

/* ---- sparse.c: blocks --------------------------------------------------------------------------- */

/*
 * What a thread has in profile.db is a block, and so is what a context has in cct.db: values, and pairs of a key and the number
 * of the key's first value, by ascending key. Keys are contexts in profile.db, and values tell their metric; in cct.db keys are
 * metrics, and values tell their profile.
 */
enum hpc_axis { HPC_BY_THREAD, HPC_BY_CONTEXT };

/* More values than there are ids of metrics are not of one context. */
#define HPC_GROUP_MAX ((uint64_t)1 << 16)

/* True if a block lies in its file. In experiment.xml's time the pairs stand behind the values: that is where they are from now on. */
bool hpc_block_fits(const struct hpc_state *state, enum hpc_axis axis, struct hpc_block *block);

/* Reads a block pair by pair. To be left in any case; all zero is left. */
struct hpc_block_walk {
    const struct hpc_state *state;
    enum hpc_axis axis;
    struct hpc_block block;
    uint32_t entry; /* the next pair */
    bool begun;     /* last_key holds */
    uint32_t last_key;
    struct pf_window pairs, values;
};

/* Stands before the block's pair `entry`. */
void hpc_block_enter(struct hpc_block_walk *walk, const struct hpc_state *state, enum hpc_axis axis,
                     const struct hpc_block *block, uint32_t entry);

/* Whether the pairs end as they do in experiment.xml's time. 1; 0; -1: *error filled. */
int hpc_block_is_whole(struct hpc_block_walk *walk, struct pf_error *error);

/*
 * The next key and the numbers [*first, *end) of its values. 1; 0: there is none; -1: *error filled. A pair that cannot be
 * (keys do not ascend, numbers beyond the values) ends the block; walk->entry is then that pair.
 */
int hpc_block_next(struct hpc_block_walk *walk, uint32_t *key, uint64_t *first, uint64_t *end,
                   struct pf_error *error);

/* Value number i and the metric or profile that it tells. 0, or -1 with *error filled. */
int hpc_block_value(struct hpc_block_walk *walk, uint64_t i, uint32_t *other, double *value,
                    struct pf_error *error);

void hpc_block_leave(struct hpc_block_walk *walk);

/* What one thread has in one context: a few values, of different metrics, by ascending id. */
struct hpc_group {
    struct hpc_group_value {
        uint32_t metric; /* its id */
        uint32_t place;  /* among the values as they stood */
        double value;
    } * values;
    size_t count, room;
};

/* Fills the group with these values of a thread, sorted; metrics that `known` has not are left out. */
int hpc_block_group(struct hpc_block_walk *walk, uint64_t first, uint64_t end, const struct pf_ids *known,
                    struct hpc_group *group, struct pf_error *error);

/* How many pairs of a thread's block come before the first that has a larger key, or larger numbers, than this. 0, or -1 with *error
 * filled. */
int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, bool by_number,
                   uint64_t wanted, uint32_t *entry, struct pf_error *error);

/* ---- sparse.c: what a context has --------------------------------------------------------------- */

/*
 * cct.db is profile.db transposed, without the summary: a context's block holds, by ascending metric, the values of ascending
 * profiles. Known writers left whole files of zeros behind right headers, so that a block counts only where it fits what is
 * said of it. Small databases do without: an index from contexts to the threads' blocks is as soon made. With neither, the
 * context is looked up in each thread's block.
 */

/* Reads the header of cct.db, and whether its records announce as many values as the threads have. 0, or -1 with *error filled. */
int hpc_cct_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                 struct pf_error *error);

/* Makes the index if cct.db can't be used, unless it were too large a one. 0, or -1 with *error filled. */
int hpc_index_load(struct hpc_state *state, struct pf_pass *pass, struct pf_error *error);
void hpc_index_free(struct hpc_index *index);

/* A walk over what all threads have in one context. */
struct hpc_column {
    const struct hpc_state *state;   /* NULL: it is not open */
    uint32_t id;                     /* of the context */
    struct hpc_column_value *values; /* owned: all that cct.db has; NULL: from the threads' blocks */
    uint64_t next, count;            /* the next of these, or of the index's places; how many */
    uint32_t thread;                 /* with neither: the next one to look into, by halving */
    struct hpc_block_walk block;
};

/*
 * Stands before what the threads have in context number `context`; `first` and those behind it, if only these are wanted and it
 * saves time. 0, or -1 with *error filled; to be closed in any case.
 */
int hpc_column_open(struct hpc_column *column, const struct hpc_state *state, uint32_t context, uint32_t id,
                    uint32_t first, struct pf_error *error);
/* The next thread that has values, and these in the group. 1; 0: there is none; -1: *error filled. */
int hpc_column_next(struct hpc_column *column, uint32_t *thread, struct hpc_group *group,
                    struct pf_error *error);
void hpc_column_close(struct hpc_column *column);

/* ---- parts.c: the files of 2.x ------------------------------------------------------------------ */

/*
 * The files of each thread, a dense table of values (*.metric-db) and a trace (*.hpctrace), or the one file
 * that hpcviewer has made of all of a kind (experiment-1.mdb, experiment.mt). There may be thousands: they are open only
 * while somebody reads them.
 */
struct hpc_parts;

/* Looks which there are, and tells in the profile's info if none holds values. 0, or -1 with *error filled. */
int hpc_parts_open(struct pf_profile *profile, struct pf_error *error);

/* Makes the list of threads, as hpc_profiles_load does. 0, or -1 with *error filled. */
int hpc_parts_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                   struct pf_error *error);
void hpc_parts_free(struct hpc_parts *parts);

/* File number i, opened if need be, until it is released; from any thread. NULL with *error filled. */
struct pf_input *hpc_part_use(struct hpc_parts *parts, uint32_t i, struct pf_error *error);
void hpc_part_release(struct hpc_parts *parts, uint32_t i);

#endif
