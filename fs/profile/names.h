/* SPDX-License-Identifier: MIT */
#ifndef PF_NAMES_H
#define PF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/cell.h"
#include "formats/kit/error.h"

/*
 * File names for what profiles call things. One function makes them for listing and for look-up alike.
 *  - UTF-8 stays; `/`, NUL, control characters (C0, DEL, C1 as U+0080..U+009F), invalid bytes and a `%`
 * before two hex digits become %XX; a leading `.` becomes %2E.
 *  - Longer than 255 bytes: cut at a character boundary (never inside %XX either), then ~<id>, together at
 * most 255 bytes.
 *  - An empty name is ~<id>. `suffix` asks for ~<id> anyway (siblings with equal names, names of our own
 * files); names that themselves end like a suffix (~ and digits) get one always, so that the text after the
 * last ~ is an id whenever it is digits.
 */
#define PF_NAME_MAX 255

/* Writes the name (NUL-terminated) into out[PF_NAME_MAX + 1]; returns its length. */
size_t pf_name(char *out, const char *text, size_t size, uint64_t id, bool suffix);

/* If name ends in ~<id> (decimal without leading zeros, fits 64 bits), true with *id. */
bool pf_name_id(const char *name, size_t size, uint64_t *id);

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
    /* Whether one of our own files in these folders has the name; NULL: none has. */
    bool (*reserved)(const void *reserved_by, unsigned folder, const char *name);
    const void *reserved_by;
    unsigned folder;
};

#define PF_NO_ITEM UINT32_MAX

struct pf_dirnames *pf_dirnames_new(const struct pf_items *items, struct pf_error *error);
void pf_dirnames_free(struct pf_dirnames *names);

/* Writes the name, NUL-terminated, into out[PF_NAME_MAX + 1]; returns its length. */
size_t pf_dirname(const struct pf_dirnames *names, uint32_t item, char *out);

/* The item of this name in a group (0 if all are siblings), or PF_NO_ITEM. */
uint32_t pf_dirname_find(const struct pf_dirnames *names, uint32_t group, const char *name);

#endif
