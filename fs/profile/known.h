/* SPDX-License-Identifier: MIT */
#ifndef PF_KNOWN_H
#define PF_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kit/lock.h"
#include "fs/profile/views.h"
#include "fs/text/pack.h"

/*
 * What is known of a profile's tree without the profile: whole listings of folders, sizes of files, and the text of small ones
 * (of a link its target). It grows as the profile is looked at, up to some KB more than 100, and is kept between mounts. What is
 * learnt twice is the same. Safe for many threads.
 */
struct pf_known {
    struct pf_lock lock;
    struct pf_buf records; /* one behind the other, as they are kept */
    unsigned count;
    bool changed; /* since it was packed or unpacked */
};

enum {
    PF_KNOWN_TEXT_MAX = 8 * 1024, /* longer texts are rendered when they are read */
    PF_KNOWN_ENTRIES_MAX = 256,   /* larger folders are not kept */
};

void pf_known_init(struct pf_known *known);
void pf_known_free(struct pf_known *known);

/* True if the listing of a folder can be learnt: it is not known, nor known to be too long, and there is room. */
bool pf_known_wants(struct pf_known *known, struct pf_node folder);
/* Learns that the listing of a folder is too long to be kept. */
void pf_known_add_long_folder(struct pf_known *known, struct pf_node folder);
/* True if the listing of this folder is known. */
bool pf_known_lists(struct pf_known *known, struct pf_node folder);
/* The entry of a folder by number or by name: 1; 0: there is none; -1: the listing is not known. */
int pf_known_entry(struct pf_known *known, struct pf_node folder, uint64_t number, char *name,
                   struct pf_node *entry);
int pf_known_find(struct pf_known *known, struct pf_node folder, const char *name, struct pf_node *entry);
/* The folder that an entry stands in, and its name there, if a known listing tells. */
bool pf_known_parent(struct pf_known *known, struct pf_node node, struct pf_node *parent, char *name);

/*
 * The size of a file, and (text not NULL) a copy of its text for the caller, with a NUL behind it; NULL if that is not known. False:
 * neither is.
 */
bool pf_known_file(struct pf_known *known, struct pf_node file, uint64_t *size, char **text);

/*
 * Learns a folder: `count` entries, which pf_known_list has written to `entries`. What there is no room or memory for is not
 * learnt.
 */
void pf_known_list(struct pf_buf *entries, struct pf_node entry, const char *name);
void pf_known_add_folder(struct pf_known *known, struct pf_node folder, uint32_t count,
                         const struct pf_buf *entries);
/* Learns a file's size, and its text if that is not NULL and short enough. */
void pf_known_add_file(struct pf_known *known, struct pf_node file, uint64_t size, const char *text);

/* True if something was learnt since it was packed or unpacked. */
bool pf_known_is_changed(struct pf_known *known);
/* As bytes, to the end of a value, and back: false if they are not sound, and it is empty. */
void pf_known_pack(struct pf_known *known, struct pf_buf *out);
bool pf_known_unpack(struct pf_known *known, struct pf_unpack *in);

#endif
