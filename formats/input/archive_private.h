/* SPDX-License-Identifier: MIT */
#ifndef PF_ARCHIVE_PRIVATE_H
#define PF_ARCHIVE_PRIVATE_H

#include <dirent.h>
#include <pthread.h>
#include <string.h>

#include "formats/input/archive.h"
#include "formats/input/source.h"
#include "formats/input/unpacked.h"
#include "formats/kit/rows.h"
#include "formats/kit/strings.h"
#include "formats/kit/table.h"

/* What the archive's own files share. */

enum {
    PF_ARCHIVES_NESTED = 2, /* an archive in an archive is entered, what is deeper is not */
    PF_ARCHIVE_KEPT =
        16, /* members that are compressed one by one and stay unpacked for who opens them again */
};

enum pf_packing { PF_NO_ARCHIVE, PF_TAR, PF_TAR_PACKED, PF_ZIP };
enum pf_packing pf_packing_of(const char *name, const unsigned char *head, size_t size);

#define PF_NO_MEMBER UINT32_MAX

enum { PF_MEMBER_PLAIN, PF_MEMBER_DEFLATED, PF_MEMBER_SPARSE, PF_MEMBER_UNREADABLE };

struct pf_member {
    uint32_t parent, name, link; /* numbers of strings, but parent; PF_NO_STRING: none */
    uint32_t first, last, next;  /* in a folder's list, which has the archive's order */
    uint64_t start, size; /* bytes of the archive: where they begin (SPARSE: the header), how many they are */
    int64_t mtime;        /* seconds */
    uint8_t type, method; /* DT_DIR, DT_REG, DT_LNK */
};

struct pf_archive {
    struct pf_archives *archives;
    struct pf_archive *older;
    unsigned users, within;   /* within: how many archives its members lie in */
    bool made;                /* it has its index; guarded by archives->lock, as users is */
    struct pf_archive *outer; /* that its file is a member of, held; NULL: it stands in */
    int folder;               /* at */
    char *path;
    struct pf_stamp stamp;
    struct stat st;
    struct pf_opened file;
    struct pf_unpacked *unpacked; /* of a tar that is compressed: members lie in that */
    uint64_t size;                /* of what they lie in; UINT64_MAX: not known */
    struct pf_strings *strings;
    struct pf_map by_place; /* folder and name -> member + 1 */
    struct pf_member *members;
    uint32_t count;
    size_t room;
    struct pf_rows *problems; /* severity, code, text */
    pthread_mutex_t lock;     /* guards the following */
    struct kept {
        struct pf_unpacked *unpacked; /* NULL: none */
        uint32_t member;
    } kept[PF_ARCHIVE_KEPT];
    unsigned next_kept;
};

/* The last name of a path. */
static inline const char *pf_last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Finds the members. 0, or -1 with *error filled: ENOTDIR if it is no archive. */
int pf_archive_index(struct pf_archive *archive, struct pf_pass *pass, const struct pf_archive_keeper *keeper,
                     struct pf_error *error);

/* A new member of a folder (PF_NO_MEMBER: the first of all). PF_NO_MEMBER with *error filled. */
uint32_t pf_archive_add(struct pf_archive *archive, uint32_t folder, uint32_t name, uint8_t type,
                        struct pf_error *error);

/* The index as bytes, for the keeper; and back, into an archive without members: false if they are not sound. */
void *pf_archive_pack(const struct pf_archive *archive, size_t *size);
bool pf_archive_unpack_index(struct pf_archive *archive, const void *bytes, size_t size);

/* The member of this name in a folder; PF_NO_MEMBER. */
uint32_t pf_archive_child(const struct pf_archive *archive, uint32_t folder, const char *name, size_t size);

/* As pf_inflate_source, arg being the archive: bytes of its file; of what the members lie in, which for a tar that is compressed is
 * what that unpacks to. */
ssize_t pf_archive_read_file(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);
ssize_t pf_archive_read(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

#endif
