/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_SAVED_H
#define PF_EXTRAP_SAVED_H

#include "formats/extrap/study.h"

/* ---- the archive (zip.c) ------------------------------------------------------------------------ */

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
    struct pf_error damage;    /* why it ends early, with an offset in the archive; code 0: it does not */
};

/*
 * Opens a member that is readable, which a deflated one is unpacked for, up to `most` bytes. *left: how many bytes may yet be
 * read of the archive: stored members may lie over each other. (Where the study fails, so do all reads.)
 */
void pf_zip_open(struct pf_zip_file *file, struct pf_study *study, const struct pf_zip_member *member,
                 uint64_t most, uint64_t *left);
void pf_zip_close(struct pf_zip_file *file);

/* Up to `size` bytes at an offset, fewer only at the end. -1: the study has failed. */
ssize_t pf_zip_read(const struct pf_zip_file *file, void *buffer, size_t size, uint64_t offset);

/* ---- values (saved_values.c) -------------------------------------------------------------------- */

/*
 * The values that an experiment was saved with: chunks, each an index of offsets (values/N.indx) and a row of NumPy
 * arrays (values/N.vals). left: how many bytes may be unpacked of the archive. NULL: out of memory.
 */
struct pf_saved_values;
struct pf_saved_values *pf_saved_values_new(struct pf_study *study, uint64_t *left);
void pf_saved_values_free(struct pf_saved_values *values);

/* Remembers a member of the archive if it belongs to a chunk. */
void pf_saved_values_member(struct pf_saved_values *values, const char *name,
                            const struct pf_zip_member *member);

/*
 * Adds array `index` of a chunk to the measurement that was begun. *repetitions: how many rows it has. NULL; or why it cannot be
 * read. Extra-P writes an array for each measurement, chunk by chunk: going back to an earlier chunk unpacks it anew,
 * and arrays that are asked for again and again are refused when more than the whole chunk has been added.
 */
const char *pf_saved_values_add(struct pf_saved_values *values, int64_t chunk, int64_t index,
                                uint64_t *repetitions);

#endif
