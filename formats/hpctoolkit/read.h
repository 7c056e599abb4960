/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_READ_H
#define PF_HPC_READ_H

#include <errno.h>

#include "formats/hpctoolkit/hpctoolkit.h"
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

/* ---- blocks.c: windows---------------------------------------------------------------------------- */

/*
 * Reads records of a file through a piece of it that is held in memory. The piece starts small and grows while
 * reading goes straight on, so that jumping about reads little more than what is asked for. Belongs to one
 * thread. All zero but `input` and `room` is a window that holds nothing yet.
 */
struct hpc_window {
    struct pf_input *input;
    size_t room;          /* bytes that a piece may have; at least HPC_WINDOW_FIRST are kept */
    unsigned char *bytes; /* owned; NULL until something is read */
    uint64_t start;       /* offset of bytes[0] in the file */
    size_t have, next;    /* bytes held; what to read at least when these are used up */
};

#define HPC_WINDOW_FIRST ((size_t)4096)

/*
 * `size` bytes (at most HPC_WINDOW_FIRST) at `offset`; nothing at or beyond `end` is read, which is at least
 * offset + size. Valid until the next call. NULL with *error filled: EIO if the file ends before.
 */
const unsigned char *hpc_window_load(struct hpc_window *window, uint64_t offset, size_t size, uint64_t end,
                                     struct pf_error *error);

static inline const unsigned char *hpc_window_at(struct hpc_window *window, uint64_t offset, size_t size,
                                                 uint64_t end, struct pf_error *error)
{
    uint64_t skip = offset - window->start;
    if (offset >= window->start && skip < window->have && size <= window->have - skip)
        return window->bytes + skip;
    return hpc_window_load(window, offset, size, end, error);
}

/* Frees the piece. */
void hpc_window_close(struct hpc_window *window);

/* ---- profiles.c: profile.db --------------------------------------------------------------------- */

/*
 * A profile's block holds its values and, ascending, the contexts that have some, each with the number of its first value.
 * Sizes of a value and of a (context, number) pair in bytes, in all layouts:
 */
enum { HPC_VALUE = 10, HPC_INDEX = 12 };

/* Opens profile.db, cct.db and trace.db as far as they are there, and finds the summary. 0, or -1 with *error
 * filled. */
int hpc_profiles_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error);

/* Makes the list of threads, the partitions' items and fields. 0, or -1 with *error filled; then all is as before. */
int hpc_profiles_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error);

/*
 * Finds the array of a file, with a stride of at least `least` bytes; what does not fit into the file is cut off, with a note. `file` names it for
 * people, `xml4` and `meta` are what it begins with. 0, or -1 with *error filled.
 */
int hpc_read_array(const struct hpc_state *state, struct pf_input *input, const char *file, const char *xml4,
                   const char *meta, size_t least, struct hpc_array *array, struct pf_notes *notes,
                   struct pf_error *error);

/* Makes the partitions' items and fields of the threads, whose identities these are. 0, or -1 with *error filled. */
int hpc_publish_threads(struct pf_profile *profile, const struct hpc_identities *identities,
                        struct pf_error *error);
void hpc_threads_free(struct hpc_threads *threads);

/* A value of profile.db: u16 metric, f64 value; of experiment.xml's time, f64 value, u16 metric. */
static inline double hpc_value(const struct hpc_state *state, const unsigned char *bytes, unsigned *metric)
{
    bool first = state->layout == HPC_XML4;
    *metric = pf_u16(bytes + (first ? 8 : 0), state->big_endian);
    return hpc_f64(bytes + (first ? 0 : 2), state->big_endian);
}

/* ---- blocks.c: what a thread has ---------------------------------------------------------------- */

/* What one thread has in one context: a few values, of different metrics, by ascending id. */
struct hpc_group {
    struct hpc_group_value {
        uint32_t metric; /* its id */
        uint32_t place;  /* among the values as they stood */
        double value;
    } * values;
    size_t count, room;
};

/* More values than there are ids of metrics are no group. */
#define HPC_GROUP_MAX ((uint64_t)1 << 16)

/* Adds a value. 0, or -1 with *error filled. */
int hpc_group_add(struct hpc_group *group, uint32_t metric, double value, struct pf_error *error);

/* Reads a profile's block context by context. To be left in any case; all zero is left. */
struct hpc_block_walk {
    const struct hpc_state *state;
    struct hpc_block block;
    uint32_t entry; /* the next (context, number) pair */
    bool begun;     /* last_context holds */
    uint32_t last_context;
    bool single; /* only this one entry is wanted: nothing behind it is read ahead */
    struct hpc_window indices, values;
};

/* Stands before the block's pair `entry`. */
void hpc_block_enter(struct hpc_block_walk *walk, const struct hpc_state *state,
                     const struct hpc_block *block, uint32_t entry);

/*
 * The next context's id and the numbers [*first, *end) of its values. 1; 0: there is none; -1: *error filled. A pair that
 * cannot be (contexts do not ascend, numbers beyond the values) ends the block; walk->entry is then that pair.
 */
int hpc_block_next(struct hpc_block_walk *walk, uint32_t *context, uint64_t *first, uint64_t *end,
                   struct pf_error *error);

/* Fills the group with these values, sorted; metrics that `known` has not are left out. */
int hpc_block_values(struct hpc_block_walk *walk, uint64_t first, uint64_t end, const struct hpc_by_id *known,
                     struct hpc_group *group, struct pf_error *error);

/* The pair of a context, by halving; block.n_contexts if it has none. 0, or -1 with *error filled. */
int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, uint32_t context,
                   uint32_t *entry, struct pf_error *error);

void hpc_block_leave(struct hpc_block_walk *walk);

/* ---- column.c: what a context has --------------------------------------------------------------- */

/*
 * cct.db is profile.db transposed, without the summary: a context's block holds, by ascending metric, the values of ascending
 * profiles. Known writers left whole files of zeros behind right headers, so that a block counts only where it fits what is
 * said of it. Small databases do without: an index from contexts to the threads' blocks is as soon made.
 */
#define HPC_CCT_LEAST ((uint64_t)16 << 20) /* bytes of profile.db */

/* Reads the header of cct.db, and whether its records announce as many values as profile.db has. */
int hpc_cct_load(struct hpc_state *state, struct pf_notes *notes, struct pf_pass *pass,
                 struct pf_error *error);

/* Calls `each` with the id of each context that cct.db says to have values. 0, or -1 with *error filled. */
int hpc_cct_ids(const struct hpc_state *state, struct pf_pass *pass,
                int (*each)(void *arg, uint32_t id, struct pf_error *error), void *arg,
                struct pf_error *error);

/* Makes the index if cct.db can't be used: in memory up to a limit, in an unlinked file beyond. 0, or -1 with *error filled. */
int hpc_index_load(struct hpc_state *state, struct pf_pass *pass, struct pf_error *error);
void hpc_index_free(struct hpc_index *index);

/* A walk over what all threads have in one context. */
struct hpc_column {
    const struct hpc_state *state;
    uint32_t id;              /* of the context */
    struct hpc_cct_walk *cct; /* NULL: from the threads' blocks */
    uint64_t pair, end;       /* in the index */
    uint32_t thread;          /* without an index: the next one to look into, by halving */
    struct hpc_block_walk block;
};

/* Stands before what thread `first` has in context number `context`. 0, or -1 with *error filled; to be closed in any case. */
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
struct hpc_part;

/* Looks which there are. 0, or -1 with *error filled. */
int hpc_parts_open(struct pf_profile *profile, struct pf_error *error);

/* Whether any of them holds values. */
bool hpc_parts_have_values(const struct hpc_parts *parts);

/* Makes the list of threads, as hpc_profiles_load does. 0, or -1 with *error filled. */
int hpc_parts_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                   struct pf_error *error);
void hpc_parts_free(struct hpc_parts *parts);

/* File number i, opened if need be, until it is released; from any thread. NULL with *error filled. */
struct hpc_part *hpc_part_use(struct hpc_parts *parts, uint32_t i, struct pf_input **input,
                              struct pf_error *error);
void hpc_part_release(struct hpc_parts *parts, struct hpc_part *part);

#endif
