/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_PROFILES_H
#define PF_HPC_PROFILES_H

#include "formats/hpctoolkit/bytes.h"
#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * profile.db (of meta.db's layouts and of experiment.xml 4.0): which profiles there are, whose they are, and
 * where their values stand. A profile's block holds its values and, ascending, the contexts that have some,
 * each with the number of its first value. Profile 0 is the summary of the others.
 */

/* Sizes of a value and of a (context, number) pair in bytes, in all layouts. */
enum { HPC_VALUE = 10, HPC_INDEX = 12 };

/* Opens profile.db, cct.db and trace.db as far as they are there, and finds the summary. 0, or -1 with *error
 * filled. */
int hpc_profiles_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error);

/* Makes the list of threads, the partitions' items and fields. 0, or -1 with *error filled; then all is as before. */
int hpc_profiles_load(struct pf_profile *profile, struct pf_notes *notes, struct pf_pass *pass,
                      struct pf_error *error);

/*
 * Where the array of records stands that the first section of profile.db, cct.db or trace.db holds: its
 * offset, number of records, and bytes from one to the next (at least `least`). What does not fit into the file is cut
 * off, with a note. `file` names it for people; magic is what it begins with. 0, or -1 with *error filled.
 */
int hpc_read_array(struct hpc_state *state, struct pf_input *input, const char *file, const char *magic,
                   size_t least, uint64_t *at, uint64_t *count, size_t *stride, struct pf_notes *notes,
                   struct pf_error *error);

struct hpc_identities;

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

#endif
