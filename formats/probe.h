/* SPDX-License-Identifier: MIT */
#ifndef PF_PROBE_H
#define PF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/input/folder.h"
#include "formats/kit/error.h"

/*
 * A view of a file or directory whose format is not known yet. Drivers read it through the functions below. A probe is used by one thread
 * at a time; none of the functions takes a lock that a caller could hold.
 */

#define PF_HEAD_MAX       ((size_t)64 * 1024)
#define PF_PLAIN_HEAD_MAX ((size_t)8 * 1024)

struct pf_driver;
struct pf_unpacked;

struct pf_probe {
    const char *name; /* of the file or directory */
    bool directory;
    uint64_t size;      /* of the file in bytes; 0 for a directory */
    int failure; /* errno value of a transient failure, after which "not mine" is inconclusive; 0: none */
    bool looked_inside; /* more of a directory than the names of its entries has been examined */

    /* Private to formats/probe.c and to the maker of the probe. */
    int fd;                         /* the open file or directory; unused with `unpacked` or `folder` */
    uint64_t start;                 /* offset of the file's bytes in `fd` or `unpacked` */
    struct pf_unpacked *unpacked;   /* borrowed */
    const struct pf_folder *folder; /* borrowed */
    unsigned char *bytes;           /* cache of the head: PF_HEAD_MAX bytes, owned by the maker of the probe */
    size_t have;                    /* number of bytes of the head that are cached */
    size_t plain_have;              /* number of bytes of the inflated head that are cached in `plain` */
    unsigned char plain[PF_PLAIN_HEAD_MAX];

    /*
     * Private to formats/extrap/points.c: the endings of the names in the measurement points' subfolders, hashed into a
     * bit set.
     */
    bool points_searched; /* `points_endings` is complete */
    uint64_t points_endings;

    /* Private to formats/json/probe.c: the member names of the object that the file begins with. */
    struct {
        bool learnt;
        uint64_t end;      /* number of bytes up to which `names` is complete; 0: none */
        uint64_t names[4]; /* bit set of hashes */
    } members;
};

/*
 * A driver's answer to a probe. The confidence counts bits of evidence, as in libarchive: 0 means "not mine", 8 one
 * distinctive key or word, 32 a magic number. A confidence with a message means "mine, but broken": the profile then
 * shows what can be read.
 */
struct pf_probe_result {
    unsigned confidence;
    char version[24];  /* of the format, as in info.txt; may be empty */
    char message[120]; /* what is wrong; empty if no fault is known */
};

/*
 * Sets probe->failure to `code`, the errno value of a failed access, if it is transient (pf_is_transient). Called by the functions below.
 */
void pf_probe_failed(struct pf_probe *probe, int code);

/*
 * Returns the first bytes of the file: `want` (at most PF_HEAD_MAX) or more; fewer if the file is shorter or unreadable. *have is
 * their number. The bytes belong to the probe and are valid until the next call.
 */
const unsigned char *pf_probe_head(struct pf_probe *probe, size_t want, size_t *have);

/*
 * Returns the first inflated bytes of a file of gzip data or a zlib stream: up to `want` (at most PF_PLAIN_HEAD_MAX). *have is their
 * number, 0 if the file is neither. Reads no more of the file than its head.
 */
const unsigned char *pf_probe_plain_head(struct pf_probe *probe, size_t want, size_t *have);

/* Returns pf_probe_plain_head of a gzip file, pf_probe_head of any other file. */
const unsigned char *pf_probe_unpacked_head(struct pf_probe *probe, size_t want, size_t *have);

/* Returns pf_probe_unpacked_head without a leading UTF-8 byte order mark. */
const unsigned char *pf_probe_text_head(struct pf_probe *probe, size_t want, size_t *have);

/* False if the first 256 bytes show that the file is not text (pf_probe_is_text). True for a directory. */
bool pf_probe_begins_text(struct pf_probe *probe);

/*
 * True if the file, or what it inflates to if it is gzip data, may be text: it has no NUL byte in its first 256 bytes, and at
 * most one per 1024 bytes of its head. A single NUL byte later on is damage that a driver reports.
 */
bool pf_probe_is_text(struct pf_probe *probe);

/*
 * Reads up to `size` bytes of the file at an offset. Returns their number, which is smaller only at the file's end; -1
 * with errno.
 */
ssize_t pf_probe_read(struct pf_probe *probe, void *buffer, size_t size, uint64_t offset);

/*
 * pf_probe_read with the signature of pf_inflate_source; `probe` is the struct pf_probe. Returns -1 with *error filled
 * on failure.
 */
ssize_t pf_probe_source(void *probe, void *buffer, size_t size, uint64_t offset, struct pf_error *error);

/* True if a directory has this entry (a path without `..`). */
bool pf_probe_has(struct pf_probe *probe, const char *name);

/* Reads the first `size` bytes of a file in a directory. Returns their number; 0 if the file cannot be read. */
size_t pf_probe_head_of(struct pf_probe *probe, const char *name, void *bytes, size_t size);

/*
 * Calls `each` for the entries of the directory at `path`, relative to the probed directory, until `each` returns nonzero. Returns 0 or
 * an errno value.
 */
int pf_probe_list(struct pf_probe *probe, const char *path, pf_folder_visit *each, void *arg);

/*
 * Calls the driver's probe(), which fills *result, zeroed by the caller. If driver->text is set and the file is not text, zeroes *result.
 */
void pf_probe_ask(struct pf_probe *probe, const struct pf_driver *driver, struct pf_probe_result *result);

#endif
