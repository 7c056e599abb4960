/* SPDX-License-Identifier: MIT */
#ifndef PF_VERDICTS_H
#define PF_VERDICTS_H

#include <stdbool.h>

#include "formats/input/source.h"
#include "fs/profile/cachedb.h"

/*
 * What probing found of single files, by their stamps and names: of those seen last in memory, since listing a folder probes what a
 * look-up asks for soon after; of all in the database, so that a later mount need not open them. Safe for many threads.
 */
struct pf_verdicts;
struct pf_found;

/* db: borrowed; NULL: nothing is kept between mounts. NULL: out of memory. */
struct pf_verdicts *pf_verdicts_new(struct pf_cachedb *db);
/* Keeps what is not kept yet, as pf_verdicts_save. */
void pf_verdicts_free(struct pf_verdicts *verdicts);

/* True if the file has been probed: then driver, verdict and packed of *found are filled. */
bool pf_verdicts_recall(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                        struct pf_found *found);
void pf_verdicts_note(struct pf_verdicts *verdicts, const struct pf_stamp *stamp, const char *name,
                      const struct pf_found *found);

/* Puts what was noted into the database, unless it is little: that is done for many at a time. */
void pf_verdicts_save(struct pf_verdicts *verdicts);

#endif
