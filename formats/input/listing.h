/* SPDX-License-Identifier: MIT */
#ifndef PF_INPUT_LISTING_H
#define PF_INPUT_LISTING_H

#include "formats/input/folder.h"
#include "formats/input/input.h"

/*
 * Listings of a source's folders. A listing is an input, so a file that appears or disappears makes the source stale.
 * Functions of this header may block.
 */
struct pf_source;

/*
 * Visits the entries of the folder that input names are relative to, in no particular order. Skips folders, and names
 * that do not matter (pf_source_set_matters). Records the input PF_FOLDER, whose version is a digest of the visited
 * names. Returns 0, or -1 with *error filled.
 */
int pf_source_list(struct pf_source *source, pf_folder_visit *visit, void *arg, struct pf_error *error);

/* Like pf_source_list, but visits only the folders, in a source that is a directory. Records the input PF_FOLDERS. */
int pf_source_list_folders(struct pf_source *source, pf_folder_visit *visit, void *arg,
                           struct pf_error *error);

/*
 * Visits the entries of a folder in a source that is a directory. Skips folders; pf_source_set_matters has no effect.
 * Records an input whose name is `folder` with a slash appended, and whose stamp is the folder's own. Returns 0, or -1
 * with *error filled.
 */
int pf_source_list_in(struct pf_source *source, const char *folder, pf_folder_visit *visit, void *arg,
                      struct pf_error *error);

/* ---- internal; for source.c --------------------------------------------------------------------- */

/* Returns false if `name` is not the name of a listing. Otherwise returns true and fills *stamp with the folder's
 * present version (all zero: no such folder). Sets *transient to 0, or to the errno value of a transient error. */
bool pf_listing_now(struct pf_source *source, const char *name, struct pf_stamp *stamp, int *transient);
/* True if two stamps of the input `name` are equal; for PF_FOLDER and PF_FOLDERS only their digests are compared. */
bool pf_listing_same(const char *name, const struct pf_stamp *a, const struct pf_stamp *b);
/* Caches the digest of PF_FOLDER or PF_FOLDERS, so that names need not be read again while the folder's times are
 * unchanged. */
void pf_listing_record(struct pf_source *source, const char *name, const struct pf_stamp *stamp);

#endif
