/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SAVED_VALUES_H
#define PF_EXTRAP_SAVED_VALUES_H

#include "formats/extrap/zip.h"

/*
 * The values that an experiment was saved with: chunks, each an index of offsets (values/N.indx) and a row of NumPy
 * arrays (values/N.vals).
 */
struct pf_saved_values;

/* left: how many bytes may be unpacked of the archive. NULL: out of memory. */
struct pf_saved_values *pf_saved_values_new(struct pf_study *study, uint64_t *left);
void pf_saved_values_free(struct pf_saved_values *values);

/* Remembers a member of the archive if it belongs to a chunk. */
void pf_saved_values_member(struct pf_saved_values *values, const char *name,
                            const struct pf_zip_member *member);

/*
 * Adds array `index` of a chunk to the measurement that was begun. *repetitions: how many rows it has. NULL; or why it cannot be
 * read. Extra-P writes an array for each measurement, chunk by chunk: going back to an earlier chunk is slow, or refused if
 * that is packed, and arrays that are asked for again and again are refused when more than the whole chunk has been added.
 */
const char *pf_saved_values_add(struct pf_saved_values *values, int64_t chunk, int64_t index,
                                uint64_t *repetitions);

#endif
