/* SPDX-License-Identifier: MIT */
#ifndef PF_KNOWN_H
#define PF_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/pack.h"
#include "fs/profile/views.h"

/*
 * What is known of a profile's tree without the profile: whole listings of folders, sizes of files, and the text of small ones
 * (of a link its target). It grows as the profile is looked at, up to some KB more than 100, and is kept between mounts. Zeroed it
 * is empty. Guarded by its owner's lock; what is learnt twice is the same.
 */
struct pf_known {
    struct pf_known_folder *folders;
    struct pf_known_entry *entries;
    struct pf_known_file *files;
    struct pf_buf bytes; /* names, each with its NUL, and texts */
    size_t n_folders, folders_room, n_entries, entries_room, n_files, files_room;
    bool changed; /* since it was packed or unpacked */
};

enum {
    PF_KNOWN_TEXT_MAX = 8 * 1024, /* longer texts are rendered when they are read */
    PF_KNOWN_ENTRIES_MAX = 256,   /* larger folders are not kept */
};

void pf_known_free(struct pf_known *known);

/* True if the listing of this folder is known. */
bool pf_known_lists(const struct pf_known *known, struct pf_node folder);
/* Of a folder whose listing is known: its entry by number or by name. False: there is none. */
bool pf_known_entry(const struct pf_known *known, struct pf_node folder, uint64_t number, char *name,
                    struct pf_node *entry);
bool pf_known_find(const struct pf_known *known, struct pf_node folder, const char *name,
                   struct pf_node *entry);
/* The folder that an entry stands in, and its name there, if a known listing tells. */
bool pf_known_parent(const struct pf_known *known, struct pf_node node, struct pf_node *parent, char *name);

/* The size of a file, and its text, NULL if that is not known (valid until something is learnt). False: neither is. */
bool pf_known_file(const struct pf_known *known, struct pf_node file, uint64_t *size, const char **text);

/*
 * Learns a folder: `count` entries, which pf_known_list has written to `entries`. What there is no room or memory for is not
 * learnt.
 */
void pf_known_list(struct pf_buf *entries, struct pf_node entry, const char *name);
void pf_known_add_folder(struct pf_known *known, struct pf_node folder, uint32_t count,
                         const struct pf_buf *entries);
/* Learns a file's size, and its text if that is not NULL and short enough. */
void pf_known_add_file(struct pf_known *known, struct pf_node file, uint64_t size, const char *text);

/* As bytes, and back: false if they are not sound, and it is empty. */
void pf_known_pack(const struct pf_known *known, struct pf_buf *out);
bool pf_known_unpack(struct pf_known *known, struct pf_unpack *in);

/* How much memory it takes, in bytes. */
size_t pf_known_bytes(const struct pf_known *known);

#endif
