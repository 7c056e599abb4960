/* SPDX-License-Identifier: MIT */
#ifndef PF_AGENTS_H
#define PF_AGENTS_H

#include <stddef.h>

/*
 * .profilefs/AGENTS.md: for a reader who has only a shell: which file answers which question, and what not to print. At most 4 KB.
 * It is the same in every mount, so it names no file that only some formats have, other than in words.
 */
extern const char pf_agents_text[];
extern const size_t pf_agents_size;

#endif
