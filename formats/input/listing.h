/* SPDX-License-Identifier: MIT */
#ifndef PF_INPUT_LISTING_H
#define PF_INPUT_LISTING_H

#include "formats/input/folder.h"
#include "formats/input/input.h"

/*
 * Listings of a source's folders. A listing is an input: what comes to or goes from the folder is a change. Functions of this header
 * may block.
 */
struct pf_source;

/*
 * Lists everything but folders that matters (pf_source_set_matters) in the folder that names of inputs are relative to, in no order.
 * Records the input PF_FOLDER: its version is a digest of the names that matter. 0, or -1 with *error filled.
 */
int pf_source_list(struct pf_source *source, pf_folder_visit *visit, void *arg, struct pf_error *error);

/* As pf_source_list, for the folders in a source that is a directory; the input is PF_FOLDERS. */
int pf_source_list_folders(struct pf_source *source, pf_folder_visit *visit, void *arg,
                           struct pf_error *error);

/*
 * Lists everything but folders in a folder of a source that is a directory, whatever its name. Records an input of the folder's name
 * followed by a slash, whose version is the folder's times. 0, or -1 with *error filled.
 */
int pf_source_list_in(struct pf_source *source, const char *folder, pf_folder_visit *visit, void *arg,
                      struct pf_error *error);

/* ---- for source.c ------------------------------------------------------------------------------- */

/*
 * If `name` is that of a listing: true, with the folder's present version in *stamp (all zero: it does not exist), or in *transient
 * the errno value why it is unknown just now.
 */
bool pf_listing_now(struct pf_source *source, const char *name, struct pf_stamp *stamp, int *transient);
/* True if an input of this name is the same in both versions: of PF_FOLDER and PF_FOLDERS only the digest counts. */
bool pf_listing_same(const char *name, const struct pf_stamp *a, const struct pf_stamp *b);
/* Remembers the digest of PF_FOLDER or PF_FOLDERS, so that names are not read again while the folder's times are these. */
void pf_listing_remember(struct pf_source *source, const char *name, const struct pf_stamp *stamp);

#endif
