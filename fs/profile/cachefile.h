/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHEFILE_H
#define PF_CACHEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

/*
 * A file of bytes that is either there, whole and sound, or not there: written to a temporary name, checksummed, renamed into place.
 * Losing it costs speed only, so nothing here reports errors.
 *
 *   8 bytes  magic, also telling the byte order
 *   8 bytes  length of the payload
 *   8 bytes  checksum of the payload
 *   payload
 */

/* Writes; makes the folder (0700) if need be. False: nothing was written. */
bool pf_cachefile_write(const char *folder, const char *name, const struct pf_buf *payload);

/* Makes the folder (0700) and those it stands in, as far as they are missing. */
void pf_cachefile_make_folder(const char *folder);

/* The payload of a sound file, allocated for the caller; NULL if there is none. */
char *pf_cachefile_read(const char *folder, const char *name, size_t *size);

#endif
