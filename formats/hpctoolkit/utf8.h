/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_UTF8_H
#define PF_HPC_UTF8_H

#include <stddef.h>

#include "formats/kit/strings.h"

/* The length of the UTF-8 character that text begins with (size > 0), or 0 if it begins with none. */
size_t hpc_utf8(const unsigned char *text, size_t size);

/*
 * As pf_intern; what is not UTF-8 becomes U+FFFD, a byte a character. Names come from programs and compilers, and no
 * writer of databases looks at them.
 */
uint32_t hpc_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error);

#endif
