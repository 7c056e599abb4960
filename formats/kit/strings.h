/* SPDX-License-Identifier: MIT */
#ifndef PF_STRINGS_H
#define PF_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * A pool of interned strings, identified by small numbers: names of contexts, files, modules, parameters. Interned
 * bytes never move, so cells that point into the pool stay valid as long as the pool. One thread interns; then any
 * number of threads may read.
 */
struct pf_strings;

#define PF_NO_STRING UINT32_MAX

struct pf_strings *pf_strings_new(void); /* NULL: out of memory */
void pf_strings_free(struct pf_strings *strings);

/* Interns a string and returns its number; PF_NO_STRING with *error filled if memory or numbers are exhausted. */
uint32_t pf_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error);

/* The number of a string, or PF_NO_STRING if it was not interned. Thread-safe after the last pf_intern. */
uint32_t pf_string_of(const struct pf_strings *strings, const char *text, size_t size);

/* The string as a cell, NUL-terminated and marked by pf_cell_mark; absent for PF_NO_STRING. */
struct pf_cell pf_interned(const struct pf_strings *strings, uint32_t id);

uint32_t pf_strings_count(const struct pf_strings *strings);

/* The pool's memory in bytes. */
uint64_t pf_strings_bytes(const struct pf_strings *strings);

#endif
