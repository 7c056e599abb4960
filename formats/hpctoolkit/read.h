/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_READ_H
#define PF_HPC_READ_H

#include <errno.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/input/window.h"
#include "formats/kit/bytes.h"

/*
 * How the files with measurements are read: profile.db, which has the values by thread, trace.db, and the files of each thread
 * of 2.x.
 */

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

/* Opens profile.db and trace.db as far as they are there, and sees which metrics have values. 0, or -1 with *error filled. */
int hpc_profiles_open(struct pf_model *model, struct pf_notes *notes, struct pf_error *error);

/* Makes the list of threads, the partitions' items and fields, and finds the summary. 0, or -1 with *error filled; then all is as before. */
int hpc_profiles_load(struct pf_model *model, struct pf_notes *notes, struct pf_error *error);

/* ---- sparse.c: blocks --------------------------------------------------------------------------- */

/*
 * What a thread has in profile.db is a block: values, which tell their metric, and pairs of a context and the number of the
 * context's first value, by ascending id of the context.
 */
enum { HPC_PAIR = 12 }; /* bytes of a pair */

/* True if a block lies in its file. In experiment.xml's time the pairs stand behind the values: that is where they are from now on. */
bool hpc_block_fits(const struct hpc_state *state, struct hpc_block *block);

/* Reads blocks. Given the state, and the input of both windows; to be closed. */
struct hpc_block_reader {
    const struct hpc_state *state;
    struct pf_window pairs, values;
};

void hpc_block_reader_close(struct hpc_block_reader *reader);

/* Whether the pairs end as they do in experiment.xml's time. 1; 0; -1: *error filled. */
int hpc_block_is_whole(struct hpc_block_reader *reader, const struct hpc_block *block,
                       struct pf_error *error);

/* The id of the context of pair i, which is one of the block's, and the numbers [*first, *end) of its values. 1; 0: they cannot be; -1:
 * *error filled. */
int hpc_block_pair(struct hpc_block_reader *reader, const struct hpc_block *block, uint32_t i, uint32_t *id,
                   uint64_t *first, uint64_t *end, struct pf_error *error);

/* Value number i and the id of its metric. 0, or -1 with *error filled. */
int hpc_block_value(struct hpc_block_reader *reader, const struct hpc_block *block, uint64_t i,
                    uint32_t *metric, double *value, struct pf_error *error);

/* What one thread has in one context: a few values, each of another metric. */
struct hpc_group {
    struct hpc_group_value {
        uint32_t id, metric; /* of the metric its id, and its number among the known ones */
        uint32_t place;      /* among the values as they stood */
        double value;
    } * values;
    size_t count, room;
};

int hpc_group_add(struct hpc_group *group, uint32_t id, uint32_t metric, double value,
                  struct pf_error *error);

/*
 * Fills the group with the values of pair i, by ascending id of the metric; those that `known` has not are left out. *context is the
 * number of its context, or PF_NO_ID. 0, or -1 with *error filled.
 */
int hpc_block_group(struct hpc_block_reader *reader, const struct hpc_block *block, uint32_t i,
                    const struct pf_ids *known, uint32_t *context, struct hpc_group *group,
                    struct pf_error *error);

/* The number of the pair with a context's id; that behind the last one if there is none. 0, or -1 with *error filled. */
int hpc_block_find(const struct hpc_state *state, const struct hpc_block *block, uint64_t id, uint32_t *entry,
                   struct pf_error *error);

/* ---- sparse.c: the index ------------------------------------------------------------------------ */

/*
 * From contexts to their pairs in all threads' blocks. cct.db, which is profile.db transposed, is not read: the known writers of
 * experiment.xml's time left it full of zeros, and the index is as soon made as cct.db is checked. A database that is too large
 * for it does without: a context is looked for in each thread's block.
 */
#define HPC_NO_PAIR UINT32_MAX

/* Makes the index, unless it were too large a one. 0, or -1 with *error filled. */
int hpc_index_load(struct hpc_state *state, struct pf_error *error);
void hpc_index_free(struct hpc_index *index);

/*
 * The first pair of a context whose number is `from` or more, or HPC_NO_PAIR. `known`: one that is the context's; not less than
 * `from` if none is known.
 */
uint64_t hpc_index_find(const struct hpc_index *index, uint32_t context, uint64_t known, uint64_t from);

/* ---- parts.c: the files of 2.x ------------------------------------------------------------------ */

/*
 * The files of each thread, a dense table of values (*.metric-db) and a trace (*.hpctrace), or the one file
 * that hpcviewer has made of all of a kind (experiment-1.mdb, experiment.mt). There may be thousands: they are open only
 * while somebody reads them.
 */
struct hpc_parts;

/* Looks which there are, and tells in the profile's info if none holds values. 0, or -1 with *error filled. */
int hpc_parts_open(struct pf_model *model, struct pf_error *error);

/* Makes the list of threads, as hpc_profiles_load does. 0, or -1 with *error filled. */
int hpc_parts_load(struct pf_model *model, struct pf_notes *notes, struct pf_error *error);
void hpc_parts_free(struct hpc_parts *parts);

/* File number i, opened if need be, until it is released; from any thread. NULL with *error filled. */
struct pf_input *hpc_part_use(struct hpc_parts *parts, uint32_t i, struct pf_error *error);
void hpc_part_release(struct hpc_parts *parts, uint32_t i);

/* ---- load.c ------------------------------------------------------------------------------------- */

/*
 * Makes profile->contexts: those that the database describes, and after them, by ascending id, those that have values without a
 * description (instructions that their writer has merged into lines). 0, or -1 with *error filled and nothing changed.
 */
int hpc_model_load(struct pf_model *profile, struct pf_notes *notes, struct pf_error *error);

#endif
