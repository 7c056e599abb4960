/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_PRIVATE_H
#define PF_ARCHIVE_PRIVATE_H

#include <dirent.h>
#include <pthread.h>

#include "formats/input/archive.h"
#include "formats/input/source.h"
#include "formats/kit/rows.h"
#include "formats/kit/strings.h"
#include "formats/kit/table.h"

/* What the archive's own files share. */

enum {
    PF_ARCHIVES_NESTED = 2, /* an archive in an archive is entered, what is deeper is not */
    PF_ARCHIVE_KEPT = 4,    /* unpacked members that are kept */
};

enum pf_packing { PF_NO_ARCHIVE, PF_TAR, PF_TAR_PACKED, PF_ZIP };
enum pf_packing pf_packing_of(const char *name, const unsigned char *head, size_t size);

#define PF_NO_MEMBER UINT32_MAX

enum { PF_MEMBER_PLAIN, PF_MEMBER_DEFLATED, PF_MEMBER_UNREADABLE };

struct pf_member {
    uint32_t parent, name, link;  /* numbers of strings, but parent; PF_NO_STRING: none */
    uint32_t first, next;         /* in a folder's list */
    uint64_t start, size, packed; /* bytes of the archive: where they begin, what they are, what they take */
    int64_t mtime;                /* seconds */
    uint8_t type, method;         /* DT_DIR, DT_REG, DT_LNK */
};

struct pf_archive {
    struct pf_archives *archives;
    struct pf_archive *older;
    unsigned users, within; /* within: how many archives its members lie in */
    char *name;
    struct pf_stamp stamp;
    struct stat st;
    int fd; /* of the file, or of what it was unpacked to */
    uint64_t start, size;
    struct pf_strings *strings;
    struct pf_map by_place; /* folder and name -> member + 1 */
    struct pf_member *members;
    uint32_t count;
    size_t room;
    struct pf_rows *problems; /* severity, code, text */
    pthread_mutex_t lock;     /* guards the following */
    struct kept {
        int fd; /* 0: none */
        uint32_t member;
    } kept[PF_ARCHIVE_KEPT];
    unsigned next_kept;
};

/* Finds the members; for a compressed tar, unpacks it first. 0, or -1 with *error filled: ENOTDIR if it is no archive. */
int pf_archive_index(struct pf_archive *archive, struct pf_error *error);

/* The member of this name in a folder; PF_NO_MEMBER. */
uint32_t pf_archive_child(const struct pf_archive *archive, uint32_t folder, const char *name, size_t size);

/* A descriptor of what a deflated member inflates to. 0 or an errno value. */
int pf_archive_unpack(struct pf_archive *archive, uint32_t member, int *fd);

#endif
