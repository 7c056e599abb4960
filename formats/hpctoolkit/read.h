/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_READ_H
#define PF_HPC_READ_H

#include <errno.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/input/window.h"
#include "formats/kit/bytes.h"

/*
 * Readers of the files with measurements: profile.db (values per thread), trace.db (samples), and the per-thread files
 * of 2.x.
 */

/* True if `count` records of `record` bytes at `offset` end at or before `end`. Safe against overflow. */
static inline bool hpc_fits(uint64_t offset, uint64_t count, uint64_t record, uint64_t end)
{
    uint64_t size;
    return !__builtin_mul_overflow(count, record, &size) && offset <= end && size <= end - offset;
}

/* Like pf_window_at, in a run. */
static inline const unsigned char *hpc_window_at(struct pf_run *run, struct pf_window *window,
                                                 uint64_t offset, size_t size)
{
    const unsigned char *bytes = pf_window_at(window, offset, size, run->error);
    if (!bytes)
        pf_run_fail(run);
    return bytes;
}

/*
 * True if `code` means that the file itself cannot be opened: it is a link or a folder, or access is denied. Such a file
 * is left out, and the rest of the database is served. Other codes mean that the system failed or the file has just
 * changed.
 */
static inline bool hpc_is_unreadable(int code)
{
    return code == EACCES || code == EPERM || code == ELOOP || code == EISDIR || code == EINVAL;
}

/* ---- profiles.c: profile.db --------------------------------------------------------------------- */

/* A sample is u64 time and u32 context. In a data-centric trace of 2.x, it has four bytes more. */
enum { HPC_SAMPLE = 12, HPC_SAMPLE_DATA = 16 };

/* Opens profile.db and trace.db if they exist, and determines which metrics have values. */
void hpc_profiles_open(struct pf_run *run);

/* Builds the list of threads, and finds the summary. */
void hpc_profiles_load(struct pf_run *run);

/* ---- sparse.c: blocks --------------------------------------------------------------------------- */

/*
 * A block holds one thread's values in profile.db. It has an array of values, each with its metric's id, and an array
 * of pairs. Each pair is the id of a context and the index of the context's first value. Pairs are sorted by context
 * id.
 */
enum { HPC_PAIR = 12, HPC_VALUE = 10 }; /* sizes of a pair and a value in bytes */

/*
 * True if a block is within its file. In experiment.xml's layout, also sets block->indices, since the pairs follow the
 * values.
 */
bool hpc_block_fits(const struct hpc_state *state, struct hpc_block *block);

/* A reader of blocks, for one thread at a time. */
struct hpc_block_reader {
    const struct hpc_state *state;
    struct pf_window pairs, values;
};

/* Initialises a reader whose windows read at least `room` bytes at once. The caller closes it. */
void hpc_block_reader_init(struct hpc_block_reader *reader, const struct hpc_state *state, size_t room);
void hpc_block_reader_close(struct hpc_block_reader *reader);

/* Allocates and initialises a reader, which the run owns. */
struct hpc_block_reader *hpc_block_reader_new(struct pf_run *run, size_t room);

/*
 * Checks the pair that terminates a block in experiment.xml's layout. Returns 1 if it is right; 0 if it is wrong; -1 with
 * *error filled. Also returns 1 in other layouts, and for an empty or cut block, which have no such pair.
 */
int hpc_block_is_whole(struct hpc_block_reader *reader, const struct hpc_block *block,
                       struct pf_error *error);

/*
 * Reads pair i of a block: the context's id, and the range [*first, *end) of the context's values. Returns 1; 0 if the
 * range is invalid; -1 with *error filled.
 */
int hpc_block_pair(struct hpc_block_reader *reader, const struct hpc_block *block, uint32_t i, uint32_t *id,
                   uint64_t *first, uint64_t *end, struct pf_error *error);

/* Reads value i and the id of its metric. Returns 0, or -1 with *error filled. */
int hpc_block_value(struct hpc_block_reader *reader, const struct hpc_block *block, uint64_t i,
                    uint32_t *metric, double *value, struct pf_error *error);

/* One thread's values in one context: at most one per metric. */
struct hpc_group {
    struct hpc_group_value {
        uint32_t id, metric; /* the metric's id, and its index among the known metrics */
        uint32_t place;      /* the value's position in the group before sorting */
        double value;
    } * values;
    size_t count, room;
};

/* Appends a value. Returns 0, or -1 with *error filled. */
int hpc_group_add(struct hpc_group *group, uint32_t id, uint32_t metric, double value,
                  struct pf_error *error);

/*
 * Fills the group with the values of pair i by ascending metric id, except values of metrics that are not in `known`.
 * Sets *context to the index of the pair's context, or to PF_NO_ID if the pair is invalid or its context unknown.
 * Returns 0, or -1 with *error filled.
 */
int hpc_block_group(struct hpc_block_reader *reader, const struct hpc_block *block, uint32_t i,
                    const struct pf_ids *known, uint32_t *context, struct hpc_group *group,
                    struct pf_error *error);

/*
 * Finds the pair of a context id by binary search. Sets *entry to the pair's number, or to n_contexts if the block has
 * no such pair. Returns 0, or -1 with *error filled.
 */
int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, uint64_t id, uint32_t *entry,
                   struct pf_error *error);

/* ---- sparse.c: the index ------------------------------------------------------------------------ */

/*
 * The index maps contexts to their pairs in all threads' blocks. A database also has the transpose of profile.db in
 * cct.db, which is not read, because the known writers of experiment.xml's layout left it full of zeros, and verifying it
 * would take as long as building the index. A database with too many pairs has no index. Each look-up of a context then
 * searches the blocks of all threads.
 */
#define HPC_NO_PAIR UINT32_MAX

/* Builds the index unless there are too many pairs. */
void hpc_index_load(struct pf_run *run);
void hpc_index_free(struct hpc_index *index);

/*
 * Returns the number of a context's first pair that is not below `from`, or HPC_NO_PAIR. If `known` is below `from`, it must
 * be the number of a pair of the context, and the search starts there; otherwise it starts at the context's first pair.
 */
uint64_t hpc_index_find(const struct hpc_index *index, uint32_t context, uint64_t known, uint64_t from);

/* ---- parts.c: the files of 2.x ------------------------------------------------------------------ */

/*
 * Each thread has two files: a dense table of values (*.metric-db) and a trace (*.hpctrace). hpcviewer may have merged
 * all files of a kind into one (experiment-1.mdb, experiment.mt). There may be thousands of files, so each is open only
 * while it is being read.
 */
struct hpc_parts;

/* Lists the files, and adds a row to the profile's info if none holds values. */
void hpc_parts_open(struct pf_run *run);

/* Builds the list of threads. */
void hpc_parts_load(struct pf_run *run);
void hpc_parts_free(struct hpc_parts *parts);

/*
 * Returns the input of file i, opened if necessary; NULL with *error filled. The caller releases it with
 * hpc_part_release, which closes the file after its last use. Thread-safe.
 */
struct pf_input *hpc_part_use(const struct hpc_parts *parts, uint32_t i, struct pf_error *error);
void hpc_part_release(struct pf_input *input);

/* ---- load.c ------------------------------------------------------------------------------------- */

/*
 * Builds model->contexts: the described contexts, then, by ascending id, the contexts that have values but no description
 * (instructions that the writer merged into lines).
 */
void hpc_model_load(struct pf_run *run);

#endif
