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
 * What keeps an opened file's bytes alive: the archive that the file is a member of. An archive begins with one, so that this layer
 * need not know archives. `hold` takes a reference, `release` drops one; both may be called from any thread.
 */
struct pf_holder {
    void (*hold)(struct pf_holder *holder);
    void (*release)(struct pf_holder *holder);
    const struct pf_opened *file; /* the archive's own file */
};

/*
 * A regular file that is open for reading: bytes from `start` on of a descriptor, or of what something unpacks to. The caller of the
 * function that fills one closes it.
 */
struct pf_opened {
    int fd;                       /* -1: `unpacked` holds the bytes */
    struct pf_unpacked *unpacked; /* a reference; NULL: none */
    struct pf_holder *owner;      /* a reference; NULL: none */
    uint64_t start;
    struct stat st;  /* the file's; a member's own, if the file is a member of an archive */
    unsigned within; /* number of archives that the file lies in; if any, its size is st.st_size for good */
};

/* Drops what is held. A no-op if called again. */
void pf_opened_close(struct pf_opened *opened);
/* Duplicates an opened file. 0 or an errno value. */
int pf_opened_copy(const struct pf_opened *opened, struct pf_opened *copy);
/* Attributes of the file of the file system that holds the bytes: for a member, the outermost archive. 0, or -1 with errno. */
int pf_opened_stat(const struct pf_opened *opened, struct stat *st);
/*
 * Reads up to `size` bytes at an offset of the file. Returns fewer only at the end of what is open, which for a member may be beyond
 * its own end; -1 with *error filled.
 */
ssize_t pf_opened_read(const struct pf_opened *opened, void *buffer, size_t size, uint64_t offset,
                       struct pf_error *error);

#endif
