/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SAVED_VALUES_H
#define PF_EXTRAP_SAVED_VALUES_H

#include "formats/extrap/measured.h"
#include "formats/extrap/zip.h"

/*
 * The values that an experiment was saved with: chunks, each an index of offsets (values/N.indx) and a row of NumPy
 * arrays (values/N.vals).
 */
struct pf_saved_values;

/* pass: told how far unpacking is. NULL: out of memory. */
struct pf_saved_values *pf_saved_values_new(struct pf_input *archive, struct pf_pass *pass);
void pf_saved_values_free(struct pf_saved_values *values);

/* Remembers a member of the archive if it belongs to a chunk. 0, or -1 with *error filled. */
int pf_saved_values_member(struct pf_saved_values *values, const char *name, size_t size,
                           const struct pf_zip_member *member, struct pf_error *error);

/*
 * Adds array `index` of a chunk to the measurement that was begun. *repetitions: how many rows it has. 1; 0: it cannot
 * be read, and *what tells why; -1 with *error filled. Extra-P writes an array for each measurement, chunk by chunk:
 * going back to an earlier chunk is slow, or refused if that is packed, and arrays that are asked for again and again
 * are refused when more than the whole chunk has been added.
 */
int pf_saved_values_add(struct pf_saved_values *values, int64_t chunk, int64_t index,
                        struct pf_measured *measured, uint64_t *repetitions, const char **what,
                        struct pf_error *error);

#endif
