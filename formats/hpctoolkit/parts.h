/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_PARTS_H
#define PF_HPC_PARTS_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * Databases of 2.x: the files of each thread, a dense table of values (*.metric-db) and a trace (*.hpctrace), or the one file
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

/* Of a sample in a trace of any layout: its size in bytes, its time in ns as a cell, and the context's number
 * (HPC_NO_NUMBER: unknown). */
size_t hpc_sample_size(const struct hpc_state *state, const struct hpc_thread *thread);
struct pf_cell hpc_sample_time(const struct hpc_state *state, uint64_t ticks);
uint32_t hpc_sampled_context(const struct hpc_state *state, uint32_t id);

#endif
