/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_UTF8_H
#define PF_HPC_UTF8_H

#include "formats/strings.h"

/*
 * As pf_intern; what is not UTF-8 becomes U+FFFD, a byte a character. Names come from programs and compilers, and no
 * writer of databases looks at them.
 */
uint32_t hpc_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error);

#endif
