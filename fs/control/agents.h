/* SPDX-License-Identifier: MIT */
#ifndef PF_AGENTS_H
#define PF_AGENTS_H

#include <stddef.h>

/*
 * .profilefs/AGENTS.md, for a reader who has only a shell: which file answers which question, and which files are too
 * large to print. At most 4 KB. The text is the same in every mount, so files that only some formats have are
 * described, not named.
 */
extern const char pf_agents_text[];
extern const size_t pf_agents_size;

#endif
