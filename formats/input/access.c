/* SPDX-License-Identifier: MIT */
#include "formats/input/access.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

enum { ALL = 0444, OWNER = 0400, GROUP = 0040, OTHERS = 0004 };

struct pf_access pf_access_through(const struct stat *st)
{
    return (struct pf_access){st->st_uid, st->st_gid, (st->st_mode & 0111) << 2};
}

struct pf_access pf_access_of(const struct stat *st)
{
    struct pf_access access = {st->st_uid, st->st_gid, st->st_mode & ALL};
    if (S_ISDIR(st->st_mode))
        access.mode &= (st->st_mode & 0111) << 2;
    return access;
}

bool pf_access_same(const struct pf_access *a, const struct pf_access *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->mode == b->mode;
}

void pf_access_restrict(struct pf_access *access, const struct pf_access *further, uid_t reader)
{
    if (further->mode == ALL || pf_access_same(access, further))
        return;
    if (access->mode == ALL) {
        *access = *further;
        return;
    }
    bool one_owner = access->uid == further->uid, one_group = access->gid == further->gid;
    mode_t both = access->mode & further->mode;
    /*
     * If the owners or groups differ, a user may belong to one class (owner, group, others) for one file and to another
     * class for the other file. A bit that both modes have then does not prove that the user may read both.
     */
    if (!one_owner || !one_group)
        both &= ~(mode_t)OTHERS;
    if (!one_group)
        both &= ~(mode_t)GROUP;
    /* `reader` becomes the owner below. A former owner who may not read would then get the rights of group or others. */
    if (!(both & OWNER))
        both = 0;
    if (!one_owner || !(both & OWNER)) {
        access->uid = reader;
        both |= OWNER;
    }
    access->mode = both;
}

/* An entry of a POSIX ACL in the xattr format of the kernel, little-endian. */
struct list_entry {
    uint16_t tag, rights;
    uint32_t id;
};
enum {
    LIST_HEAD = 4,
    LIST_MAX = 65536,
    TAG_NAMED_USER = 2,
    TAG_GROUP = 4,
    TAG_NAMED_GROUP = 8,
    TAG_MASK = 16
};

/* Returns the bits of 07 that every named user, every group and the mask of an access control list have. */
static mode_t common_rights(const char *list, size_t size)
{
    mode_t common = 07;
    for (size_t at = LIST_HEAD; at + sizeof(struct list_entry) <= size; at += sizeof(struct list_entry)) {
        struct list_entry entry;
        memcpy(&entry, list + at, sizeof entry);
        unsigned tag = le16toh(entry.tag);
        if (tag == TAG_NAMED_USER || tag == TAG_GROUP || tag == TAG_NAMED_GROUP || tag == TAG_MASK)
            common &= le16toh(entry.rights);
    }
    return common;
}

mode_t pf_mode_without_list(int directory, const char *name, mode_t mode)
{
    static const char attribute[] = "system.posix_acl_access";
    char *path, *list;
    if (!(mode & 0077) || S_ISLNK(mode))
        return mode;
    if (asprintf(&path, *name ? "/proc/self/fd/%d/%s" : "/proc/self/fd/%d", directory, name) < 0)
        return mode & ~(mode_t)0077;
    list = malloc(LIST_MAX);
    ssize_t size = -1;
    errno = ENOMEM;
    if (list)
        size = *name ? lgetxattr(path, attribute, list, LIST_MAX) : getxattr(path, attribute, list, LIST_MAX);
    if (size > 0)
        mode &= ~(mode_t)0077 | common_rights(list, (size_t)size);
    else if (size < 0 && errno != ENODATA && errno != EOPNOTSUPP)
        mode &= ~(mode_t)0077; /* unknown: deny group and others */
    free(list);
    free(path);
    return mode;
}
