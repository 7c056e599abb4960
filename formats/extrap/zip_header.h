/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_ZIP_HEADER_H
#define PF_EXTRAP_ZIP_HEADER_H

#include <stdint.h>

#include "formats/input/source.h"

/* Where the bytes of the member with this header are. 1; 0: there is no header; -1: *error filled. */
int pf_zip_data(struct pf_input *input, uint64_t header, uint64_t *data, struct pf_error *error);

#endif
