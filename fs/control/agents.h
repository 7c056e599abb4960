/* SPDX-License-Identifier: MIT */
#ifndef PF_AGENTS_H
#define PF_AGENTS_H

#include <stddef.h>

/*
 * The text of .profilefs/AGENTS.md, for readers who have only a shell: which file answers which question, and which files
 * are too large to print. At most 4 KB. The text does not depend on the mount. The header is private to this folder.
 */
extern const char pf_agents_text[];
extern const size_t pf_agents_size;

#endif
