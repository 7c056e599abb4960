/* SPDX-License-Identifier: MIT */
#ifndef PF_KNOWN_H
#define PF_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/lock.h"
#include "fs/cache/fields.h"
#include "fs/profile/views.h"

/*
 * A store of facts about a profile's tree that answers without opening the profile: complete folder listings, file
 * sizes, and the contents of small files and links. The store grows as the profile is browsed, up to 144 KB, and is
 * cached between mounts. Adding a fact again has no effect. All functions are thread-safe.
 */
struct pf_known {
    struct pf_lock lock;
    struct pf_buf fields; /* fields.h; also the cached format */
    unsigned count;
    bool changed; /* since the last pack or unpack */
};

enum {
    PF_KNOWN_TEXT_MAX = 8 * 1024, /* longer texts are rendered when they are read */
    PF_KNOWN_ENTRIES_MAX = 256,   /* larger folders are not kept */
};

void pf_known_init(struct pf_known *known);
void pf_known_free(struct pf_known *known);

/* True if the listing of a folder can be added: it is neither stored nor marked as too long, and there is room. */
bool pf_known_wants(struct pf_known *known, struct pf_node folder);
/* Marks the listing of a folder as too long to be stored. */
void pf_known_add_long_folder(struct pf_known *known, struct pf_node folder);
/* True if the listing of this folder is stored. */
bool pf_known_lists(struct pf_known *known, struct pf_node folder);
/*
 * The entry of a folder by number or by name. Returns 1 with *entry (and `name`, PF_NAME_MAX + 1 bytes) filled, 0 if
 * the folder has no such entry, -1 if its listing is not stored.
 */
int pf_known_entry(struct pf_known *known, struct pf_node folder, uint64_t number, char *name,
                   struct pf_node *entry);
int pf_known_find(struct pf_known *known, struct pf_node folder, const char *name, struct pf_node *entry);
/*
 * Finds the folder of a node and the node's name there (PF_NAME_MAX + 1 bytes). False if no stored listing contains the
 * node.
 */
bool pf_known_parent(struct pf_known *known, struct pf_node node, struct pf_node *parent, char *name);

/*
 * The size of a file. If text is not NULL, *text receives a NUL-terminated copy of the contents, owned by the caller,
 * or NULL if the contents are not stored. False if nothing is stored for the file.
 */
bool pf_known_file(struct pf_known *known, struct pf_node file, uint64_t *size, char **text);

/*
 * pf_known_list appends an entry to a listing. pf_known_add_folder adds the listing of a folder; no-op if there is no
 * room or no memory.
 */
void pf_known_list(struct pf_buf *entries, struct pf_node entry, const char *name);
void pf_known_add_folder(struct pf_known *known, struct pf_node folder, const struct pf_buf *entries);
/* Adds the size of a file, and its contents if text is not NULL and not longer than PF_KNOWN_TEXT_MAX. */
void pf_known_add_file(struct pf_known *known, struct pf_node file, uint64_t size, const char *text);

/* True if a fact has been added since the last pack or unpack. */
bool pf_known_is_changed(struct pf_known *known);
/*
 * pf_known_pack appends the store to out, as fields. pf_known_unpack restores fields until the store is full; it
 * returns false and leaves the store empty if the bytes are invalid.
 */
void pf_known_pack(struct pf_known *known, struct pf_buf *out);
bool pf_known_unpack(struct pf_known *known, const char *bytes, size_t size);

#endif
