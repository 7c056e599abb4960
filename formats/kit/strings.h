/* SPDX-License-Identifier: MIT */
#ifndef PF_STRINGS_H
#define PF_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * A pool of strings, each held once and known by a small number: names of contexts, files, modules,
 * parameters. Bytes are never moved once interned, so cells that point into the pool stay valid as long as
 * the pool. Not safe for concurrent interning; concurrent reading is fine once interning is over.
 */
struct pf_strings;

#define PF_NO_STRING UINT32_MAX

struct pf_strings *pf_strings_new(void); /* NULL: out of memory */
void pf_strings_free(struct pf_strings *strings);

/* The number of this string, added if new; PF_NO_STRING with *error filled if memory or numbers ran out. */
uint32_t pf_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error);

/* Its number if it has one, else PF_NO_STRING. Concurrent use is fine once interning is over. */
uint32_t pf_string_of(const struct pf_strings *strings, const char *text, size_t size);

/* The string as a cell (marked plain where it needs no quoting); absent for PF_NO_STRING. */
struct pf_cell pf_interned(const struct pf_strings *strings, uint32_t id);

uint32_t pf_strings_count(const struct pf_strings *strings);

/* How much memory the pool takes, in bytes. */
uint64_t pf_strings_bytes(const struct pf_strings *strings);

#endif
