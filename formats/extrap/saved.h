/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SAVED_H
#define PF_EXTRAP_SAVED_H

#include "formats/extrap/study.h"

/* ---- the archive (zip.c) ------------------------------------------------------------------------ */

/*
 * Members of a study's ZIP archive. libarchive finds them by the central directory at the end, or, if the archive is
 * truncated, by their local headers. The members' bytes are read and inflated here, so that data in front of damage is
 * kept. Sizes declared by the archive are never trusted beyond its actual bytes.
 */
struct pf_zip_member {
    uint64_t start; /* offset of the member's bytes in the archive */
    uint64_t size;  /* declared unpacked size, in bytes; UINT64_MAX: not declared */
    bool deflated;  /* false: stored */
    bool readable;  /* false: encrypted, or an unsupported compression */
};

/*
 * Limit of the unpacked size of all members together: PF_ZIP_FREE bytes plus PF_ZIP_RATIO times the archive's size.
 * JSON compresses about 10:1, columns of equal numbers 100:1; deflate allows up to 1000:1.
 */
#define PF_ZIP_FREE  ((uint64_t)64 << 20)
#define PF_ZIP_RATIO 200

/*
 * Calls `visit` for each member until `visit` returns false. Returns true if no member was found by the central directory:
 * the archive is cut off, and the members come from the local headers.
 */
typedef bool pf_zip_visit(void *arg, const char *name, const struct pf_zip_member *member);
bool pf_zip_walk(struct pf_study *study, pf_zip_visit *visit, void *arg);

/* An open member. A zeroed struct is an empty member. */
struct pf_zip_file {
    struct pf_study *study;
    uint64_t start, size;
    struct pf_store *unpacked; /* NULL: the member is stored */
    struct pf_error damage; /* why the member ends early, with an offset in the archive; code 0: undamaged */
};

/*
 * Opens a readable member; a deflated one is unpacked, up to `most` bytes. The member's size is deducted from *left, the
 * budget of all members together: stored ones count too, because they may overlap. The caller closes the file, also if
 * the run fails.
 */
void pf_zip_open(struct pf_zip_file *file, struct pf_study *study, const struct pf_zip_member *member,
                 uint64_t most, uint64_t *left);
void pf_zip_close(struct pf_zip_file *file);

/* Reads up to `size` bytes at an offset. Returns the number of bytes, less than `size` only at the end. */
size_t pf_zip_read(const struct pf_zip_file *file, void *buffer, size_t size, uint64_t offset);

/* ---- values (saved_values.c) -------------------------------------------------------------------- */

/*
 * The values saved with an experiment, in chunks. A chunk is an index of offsets (values/N.indx) and a sequence of
 * NumPy arrays (values/N.vals). *left is the remaining budget of bytes to unpack (borrowed). The run owns the values.
 */
struct pf_saved_values;
struct pf_saved_values *pf_saved_values_new(struct pf_study *study, uint64_t *left);

/* Records a member of the archive if it belongs to a chunk; others are ignored. */
void pf_saved_values_member(struct pf_saved_values *values, const char *name,
                            const struct pf_zip_member *member);

/*
 * Adds array `index` of a chunk to the measurement begun by pf_study_begin. Sets *repetitions to the array's number of
 * rows. Returns NULL, or a message if the array cannot be read.
 *
 * Extra-P writes one array per measurement, chunk by chunk, so only one chunk is kept open; returning to an earlier
 * chunk unpacks it again. Once the arrays added from a chunk exceed its size, further ones are refused: this bounds
 * references to the same array.
 */
const char *pf_saved_values_add(struct pf_saved_values *values, int64_t chunk, int64_t index,
                                uint64_t *repetitions);

#endif
