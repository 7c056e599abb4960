/* SPDX-License-Identifier: MIT */
#ifndef PF_BLOB_TEXT_H
#define PF_BLOB_TEXT_H

#include "formats/driver.h"
#include "fs/text/lines.h"

/*
 * The bytes of a file that the profile carries, as a walk whose records are chunks of it. Borrows the profile;
 * freed by its close. NULL with *error filled.
 */
struct pf_lines *pf_blob_lines(struct pf_profile *profile, size_t blob, struct pf_error *error);

#endif
