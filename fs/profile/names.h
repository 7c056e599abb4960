/* SPDX-License-Identifier: MIT */
#ifndef PF_NAMES_H
#define PF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * File names made from names in a profile. Listing and look-up use the same function.
 * - UTF-8 is kept; `/`, NUL, control characters (C0, DEL, C1 as U+0080..U+009F), invalid bytes, and a `%` before two
 *   hex digits become %XX; a leading `.` becomes %2E.
 * - A name longer than 255 bytes is cut at a character boundary (and never inside %XX) and gets the suffix ~<id>;
 *   together at most 255 bytes.
 * - An empty name becomes ~<id>. `suffix` requests the suffix, for siblings with equal names and for names that generated
 *   files have. A name that itself ends in ~ and digits always gets a suffix, so digits after the last ~ are always an id.
 */
#define PF_NAME_MAX 255

/* Writes the name, NUL-terminated, into out[PF_NAME_MAX + 1] and returns its length in bytes. */
size_t pf_name(char *out, const char *text, size_t size, uint64_t id, bool suffix);

/* True, with *id set, if the name ends in ~<id> (decimal without leading zeros, fits 64 bits). */
bool pf_name_id(const char *name, size_t size, uint64_t *id);

/*
 * Maps the items of a set, such as contexts, to file names for listing, and file names to items for look-up.
 * Items of the same parent are siblings in one folder, and names are unique among siblings. Immutable once made, so readers
 * need no lock.
 */
struct pf_dirnames;

struct pf_items {
    const void *of;
    uint32_t count;
    struct pf_cell (*text)(const void *of, uint32_t item);
    uint32_t (*parent)(const void *of, uint32_t item); /* NULL: all items are siblings */
    uint64_t (*id)(const void *of, uint32_t item);     /* NULL: the item's number */
    /* True if a folder of kind `folder` has a generated entry of this name; NULL: no name is reserved. */
    bool (*reserved)(const void *reserved_by, unsigned folder, const char *name);
    const void *reserved_by;
    unsigned folder;
};

#define PF_NO_ITEM UINT32_MAX

struct pf_dirnames *pf_dirnames_new(const struct pf_items *items, struct pf_error *error);
void pf_dirnames_free(struct pf_dirnames *names);

/* Writes the name, NUL-terminated, into out[PF_NAME_MAX + 1]; returns its length. */
size_t pf_dirname(const struct pf_dirnames *names, uint32_t item, char *out);

/* The item of this name with this parent (0 if all items are siblings), or PF_NO_ITEM. */
uint32_t pf_dirname_find(const struct pf_dirnames *names, uint32_t parent, const char *name);

#endif
