/* SPDX-License-Identifier: MIT */
#ifndef PF_OPENED_H
#define PF_OPENED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "formats/kit/error.h"

struct pf_unpacked;
struct pf_opened;

/*
 * An archive as seen by its opened members: a reference keeps their bytes readable. It is the start of struct
 * pf_archive, so that this layer does not depend on archives. `hold` takes a reference, `release` drops one; both are
 * thread-safe.
 */
struct pf_holder {
    void (*hold)(struct pf_holder *holder);
    void (*release)(struct pf_holder *holder);
    const struct pf_opened *file; /* the archive's own file */
};

/* A regular file opened for reading: the bytes of a descriptor or of an unpacked stream, from `start` on. A function
 * that fills a pf_opened passes ownership to its caller. */
struct pf_opened {
    int fd;                       /* -1: `unpacked` holds the bytes */
    struct pf_unpacked *unpacked; /* a reference; NULL: none */
    struct pf_holder *owner;      /* a reference; NULL: none */
    uint64_t start;
    struct stat st;  /* for a member of an archive: the member's own */
    unsigned within; /* archive nesting depth; if not 0, the size is always st.st_size */
};

/* Drops the descriptor and references. Idempotent. */
void pf_opened_close(struct pf_opened *opened);
/* Duplicates an opened file. Returns 0 or an errno value. */
int pf_opened_copy(const struct pf_opened *opened, struct pf_opened *copy);
/* Gets the attributes of the file; for a member, those of the outermost archive. Returns 0, or -1 with errno. */
int pf_opened_stat(const struct pf_opened *opened, struct stat *st);
/* Reads up to `size` bytes at an offset of the file. Returns fewer only at the end of the descriptor or stream, which
 * for a member may be after the member's end; -1 with *error filled. */
ssize_t pf_opened_read(const struct pf_opened *opened, void *buffer, size_t size, uint64_t offset,
                       struct pf_error *error);

#endif
