/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SAVED_H
#define PF_EXTRAP_SAVED_H

#include "formats/extrap/study.h"

/* ---- the archive (zip.c) ------------------------------------------------------------------------ */

/*
 * A member of a study's ZIP archive. libarchive finds the members by the central directory at the end or, if the archive is
 * truncated, by their local headers. zip.c reads and inflates the members' bytes itself, so that the data before damage are
 * kept. zip.c does not trust the sizes that the archive declares.
 */
struct pf_zip_member {
    uint64_t start; /* offset of the member's bytes in the archive */
    uint64_t size;  /* declared unpacked size, in bytes; UINT64_MAX: not declared */
    bool deflated;  /* the member is compressed by Deflate; otherwise, it is stored */
    bool readable;  /* the member is neither encrypted nor compressed by an unsupported method */
};

/*
 * The unpacked size of all members together is limited to PF_ZIP_FREE bytes plus PF_ZIP_RATIO times the archive's size. JSON
 * compresses about 10:1, and columns of equal numbers 100:1. Deflate allows 1000:1.
 */
#define PF_ZIP_FREE  ((uint64_t)64 << 20)
#define PF_ZIP_RATIO 200

typedef bool pf_zip_visit(void *arg, const char *name, const struct pf_zip_member *member);
/*
 * Calls `visit` for each member until `visit` returns false. Returns false if the members were found by the central
 * directory; true if that failed, as in a truncated archive, and the members come from the local headers.
 */
bool pf_zip_walk(struct pf_study *study, pf_zip_visit *visit, void *arg);

/* An open member. A zeroed struct is an empty member. */
struct pf_zip_file {
    struct pf_study *study;
    uint64_t start, size;
    struct pf_store *unpacked; /* NULL: the member is stored */
    struct pf_error damage; /* why the member ends early, with an offset in the archive; code 0: undamaged */
};

/*
 * Opens a readable member. Unpacks a deflated member, up to `most` bytes. Deducts the member's size from *left, the budget
 * of all members together. Stored members count too, because they may overlap. The caller closes the file, also if the run
 * fails.
 */
void pf_zip_open(struct pf_zip_file *file, struct pf_study *study, const struct pf_zip_member *member,
                 uint64_t most, uint64_t *left);
void pf_zip_close(struct pf_zip_file *file);

/* Reads up to `size` bytes at an offset. Returns the number of bytes, less than `size` only at the end. */
size_t pf_zip_read(const struct pf_zip_file *file, void *buffer, size_t size, uint64_t offset);

/* ---- values (saved_values.c) -------------------------------------------------------------------- */

/*
 * The values saved with an experiment, in chunks. A chunk is an index of offsets (values/N.indx) and a sequence of NumPy
 * arrays (values/N.vals).
 */
struct pf_saved_values;
/* Creates an empty set of chunks, which the run owns. Borrows `left`, the remaining budget of bytes to unpack. */
struct pf_saved_values *pf_saved_values_new(struct pf_study *study, uint64_t *left);

/* Records a member of the archive if it belongs to a chunk. Ignores other members. */
void pf_saved_values_member(struct pf_saved_values *values, const char *name,
                            const struct pf_zip_member *member);

/*
 * Adds the numbers of array `index` of a chunk to the measurement that pf_study_begin has begun. Sets *repetitions to the
 * array's number of rows. Returns NULL, or a message if the array cannot be read.
 *
 * Extra-P writes one array per measurement, chunk by chunk. So only one chunk is open at a time, and returning to an earlier
 * chunk unpacks it again. The arrays added from a chunk may together not exceed the chunk's size. This bounds the work if
 * many measurements refer to one array.
 */
const char *pf_saved_values_add(struct pf_saved_values *values, int64_t chunk, int64_t index,
                                uint64_t *repetitions);

#endif
