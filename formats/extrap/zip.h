/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_ZIP_H
#define PF_EXTRAP_ZIP_H

#include "formats/extrap/study.h"

/*
 * Members of the ZIP archive that a study is read from. libarchive finds them, by the directory at the end, or, if the archive
 * is cut off, by the headers in front of them; their bytes are read here, where they are stored or deflated, so that what comes
 * before damage is not lost. What an archive says of sizes is believed no further than its bytes go.
 */
struct pf_zip_member {
    uint64_t start; /* of its bytes in the archive */
    uint64_t size;  /* of what it is, in bytes; UINT64_MAX: not said */
    bool deflated;  /* else stored */
    bool readable;  /* false: it is encrypted, or packed in another way */
};

/*
 * What all members of an archive may inflate to: so much, and so many times its size. JSON shrinks to a tenth, columns of
 * equal numbers to a hundredth; deflate could go on to a thousandth.
 */
#define PF_ZIP_FREE  ((uint64_t)64 << 20)
#define PF_ZIP_RATIO 200

/*
 * Calls visit for the members. False: it has returned false, which ends the walk, or the study has failed. *cut: there is no
 * directory at the end, or it is damaged.
 */
typedef bool pf_zip_visit(void *arg, const char *name, const struct pf_zip_member *member);
bool pf_zip_walk(struct pf_study *study, pf_zip_visit *visit, void *arg, bool *cut);

/* The bytes of a member. Zeroed, it has none. */
struct pf_zip_file {
    struct pf_study *study;
    uint64_t start, size;
    struct pf_store *unpacked; /* NULL: it is stored */
    const char *damage;        /* why it ends early; NULL: it does not */
    uint64_t damage_offset;    /* in the archive */
};

/*
 * Opens a member that is readable, which a deflated one is unpacked for, up to `most` bytes. *left: how many bytes may yet be
 * unpacked of the archive. (Where the study fails, so do all reads.)
 */
void pf_zip_open(struct pf_zip_file *file, struct pf_study *study, const struct pf_zip_member *member,
                 uint64_t most, uint64_t *left);
void pf_zip_close(struct pf_zip_file *file);

/* Up to `size` bytes at an offset, fewer only at the end. -1: the study has failed. */
ssize_t pf_zip_read(const struct pf_zip_file *file, void *buffer, size_t size, uint64_t offset);

#endif
