/* SPDX-License-Identifier: MIT */
#ifndef PF_CACHED_H
#define PF_CACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/lock.h"
#include "fs/cache/fields.h"
#include "fs/profile/views.h"

/*
 * The cached tree of a profile, which answers without opening the profile: complete folder listings, file sizes, and
 * the contents of small files and links. It grows as the profile is browsed, up to 144 KB. This module keeps it in
 * memory; the profile reads and writes it as one datum of the database. All functions are thread-safe. Putting data that are
 * already stored is a no-op.
 */
struct pf_cached {
    struct pf_lock lock;
    struct pf_buf fields; /* packed as fields.h describes; also the format in the database */
    unsigned count;
    bool changed; /* since the last pack or unpack */
};

enum {
    PF_CACHED_TEXT_MAX = 8 * 1024, /* longer texts are rendered when they are read */
    PF_CACHED_ENTRIES_MAX = 256,   /* larger folders are not cached */
};

void pf_cached_init(struct pf_cached *cached);
void pf_cached_free(struct pf_cached *cached);

/* True if the listing of a folder can be added: it is neither stored nor marked as too long, and there is room. */
bool pf_cached_wants_folder(struct pf_cached *cached, struct pf_node folder);
/* Marks the listing of a folder as too long to be stored. */
void pf_cached_put_long_folder(struct pf_cached *cached, struct pf_node folder);
/* True if the listing of this folder is stored. */
bool pf_cached_has_folder(struct pf_cached *cached, struct pf_node folder);
/*
 * Find an entry of a folder by its position in the listing, or by its name. Return 1 with *entry filled, 0 if the
 * folder has no such entry, -1 if its listing is not stored. pf_cached_get_entry also fills `name` (PF_NAME_MAX + 1
 * bytes).
 */
int pf_cached_get_entry(struct pf_cached *cached, struct pf_node folder, uint64_t number, char *name,
                        struct pf_node *entry);
int pf_cached_find(struct pf_cached *cached, struct pf_node folder, const char *name, struct pf_node *entry);
/*
 * Finds the folder of a node and the node's name there (PF_NAME_MAX + 1 bytes). False if no stored listing contains the
 * node.
 */
bool pf_cached_get_parent(struct pf_cached *cached, struct pf_node node, struct pf_node *parent, char *name);

/*
 * The size of a file. If text is not NULL, *text receives a NUL-terminated copy of the contents, owned by the caller,
 * or NULL if the contents are not stored. False if nothing is stored for the file.
 */
bool pf_cached_get_file(struct pf_cached *cached, struct pf_node file, uint64_t *size, char **text);

/*
 * pf_cached_add_entry appends an entry to a listing. pf_cached_put_folder adds the listing of a folder; no-op if there
 * is no room or no memory.
 */
void pf_cached_add_entry(struct pf_buf *entries, struct pf_node entry, const char *name);
void pf_cached_put_folder(struct pf_cached *cached, struct pf_node folder, const struct pf_buf *entries);
/* Adds the size of a file, and its contents if text is not NULL and not longer than PF_CACHED_TEXT_MAX. */
void pf_cached_put_file(struct pf_cached *cached, struct pf_node file, uint64_t size, const char *text);

/* True if data have been put since the last pack or unpack. */
bool pf_cached_is_changed(struct pf_cached *cached);
/*
 * pf_cached_pack appends all data to out, as fields. pf_cached_unpack takes fields up to the limit of 144 KB; it
 * returns false and leaves *cached empty if the bytes are invalid.
 */
void pf_cached_pack(struct pf_cached *cached, struct pf_buf *out);
bool pf_cached_unpack(struct pf_cached *cached, const char *bytes, size_t size);

#endif
