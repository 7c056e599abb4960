/* SPDX-License-Identifier: MIT */
#ifndef PF_DIRNAMES_H
#define PF_DIRNAMES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * The file names of a set of items (partitions, metrics, contexts), both ways: item to name for listing, name
 * to item for look-up. Items in the same group are siblings in one folder; names are unique there. Immutable
 * once made.
 */
struct pf_dirnames;

struct pf_items {
    const void *of;
    uint32_t count;
    struct pf_cell (*text)(const void *of, uint32_t item);
    uint32_t (*group)(const void *of, uint32_t item); /* NULL: all are siblings */
    uint64_t (*id)(const void *of, uint32_t item);    /* NULL: the item's number */
    const char *const
        *reserved; /* names of our own files in these folders; ends with NULL; lives as long as the index */
};

#define PF_NO_ITEM UINT32_MAX

struct pf_dirnames *pf_dirnames_new(const struct pf_items *items, struct pf_error *error);
void pf_dirnames_free(struct pf_dirnames *names);
/* How much memory they take, in bytes; 0 for NULL. */
uint64_t pf_dirnames_bytes(const struct pf_dirnames *names);

/* Writes the name, NUL-terminated, into out[PF_NAME_MAX + 1]; returns its length. */
size_t pf_dirname(const struct pf_dirnames *names, uint32_t item, char *out);

/* The item of this name in a group (0 if all are siblings), or PF_NO_ITEM. */
uint32_t pf_dirname_find(const struct pf_dirnames *names, uint32_t group, const char *name);

#endif
