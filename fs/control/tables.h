/* SPDX-License-Identifier: MIT */
#ifndef PF_CONTROL_TABLES_H
#define PF_CONTROL_TABLES_H

#include "formats/kit/store.h"
#include "fs/text/buf.h"
#include "fs/tree/vfs.h"

/* The files of .profilefs/tables; private to this folder. */
enum { PF_CONTROL_TABLES = 3 };

/* Returns the file name of a table; NULL after the last table. */
const char *pf_table_name(uint64_t number);

/*
 * Makes all tables within a pass. `listed` holds the paths of all profiles (see pf_list_profiles); if it is NULL, SOURCE is
 * searched for profiles. Sets *digest to the digest that pf_tables_digest computes. Returns 0, or -1 with *error filled and nothing
 * to free.
 */
int pf_tables_make(struct pf_fs *fs, const struct pf_buf *listed, struct pf_store *texts[PF_CONTROL_TABLES],
                   uint64_t *digest, struct pf_error *error);

/* Computes a digest that changes when a profile appears, disappears or changes. `listed` is as for pf_tables_make. Returns 0, or -1
 * with *error filled. */
int pf_tables_digest(struct pf_fs *fs, const struct pf_buf *listed, uint64_t *digest, struct pf_error *error);

#endif
