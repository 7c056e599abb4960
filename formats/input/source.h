/* SPDX-License-Identifier: MIT */
#ifndef PF_SOURCE_H
#define PF_SOURCE_H

#include "formats/input/access.h"
#include "formats/input/beneath.h"
#include "formats/input/input.h"
#include "formats/input/listing.h"

/*
 * A profile's files. A source is one profile in SOURCE: a file, or a directory that is a database. Drivers access files
 * only through it: each file that is opened, or looked up and found absent, is recorded as an input. The text served
 * for a profile depends on its inputs only, so comparing their versions detects every change.
 *
 * Functions are thread-safe unless stated otherwise. No lock is held during file system operations.
 */
struct pf_source;

/* ---- life --------------------------------------------------------------------------------------- */

/*
 * Creates a closed source for the entry at `path` below `top` (borrowed); "." is `top` itself. Symbolic links are not
 * followed. within: the entry is expected to be a directory. Does not access the file system. NULL with *error filled:
 * out of memory.
 *
 * A closed source has no descriptors. Its recorded inputs can be checked for changes, but not opened.
 */
struct pf_source *pf_source_at(const struct pf_folder *top, const char *path, bool within,
                               struct pf_error *error);
/* Creates a source that stays open, for the entry `name` of the open directory `directory` (duplicated). NULL with
 * *error filled. */
struct pf_source *pf_source_new(int directory, const char *name, struct pf_error *error);
/* Opens a closed source; a no-op if it is open. Returns 0, or -1 with *error filled. One thread at a time. */
int pf_source_reopen(struct pf_source *source, struct pf_error *error);
/* Closes the source and all inputs. Inputs stay recorded: when they are reopened they must be unchanged. No other
 * thread may use the inputs. */
void pf_source_close(struct pf_source *source);
/* Keeps the files of an open source open until pf_source_release_files. Reopens the files that
 * pf_source_close_files has closed. Returns 0, or -1 with *error filled: ESTALE if an input has changed. */
int pf_source_hold_files(struct pf_source *source, struct pf_error *error);
void pf_source_release_files(struct pf_source *source); /* never blocks */
/* Closes the files of a source unless they are held; a no-op for a source of pf_source_new. Inputs and their unpacked views stay valid. */
void pf_source_close_files(struct pf_source *source);
/* Frees the source and its inputs. */
void pf_source_free(struct pf_source *source);

/* The last component of the source's path. Valid as long as the source. */
const char *pf_source_name(const struct pf_source *source);
/* Sets the predicate for names in the source's folder that can be inputs; other names may appear or disappear without a
 * change of the source. NULL: all names. Must be called before other threads use the source. */
void pf_source_set_matters(struct pf_source *source, pf_matters *matters);

/*
 * Takes access control lists into account from now on, since users other than the mounter will read the served text. If
 * the source is an open directory, restricts pf_source_access to users who can read every regular file in it whose name
 * matters (matters NULL: every regular file), because these may become inputs later. Must be called before other
 * threads use the source.
 */
void pf_source_mind_others(struct pf_source *source, pf_matters *matters);
/* The permission to read all inputs recorded so far, and to reach them from the source's folder. */
struct pf_access pf_source_access(struct pf_source *source);

/* ---- opening ------------------------------------------------------------------------------------ */

enum pf_open_flags {
    PF_RAW = 0,     /* the raw bytes */
    PF_UNPACK = 1,  /* the unpacked bytes if the file is compressed by gzip, zstd, xz or bzip2 */
    PF_SIZED = 2,   /* with PF_UNPACK: unpack all, so that pf_input_size is exact; reports progress */
    PF_OR_ZLIB = 4, /* with PF_UNPACK: also if the file begins like a zlib stream */
    PF_PATH = 8,    /* the name is an absolute path that the user specified; symbolic links are followed */
    PF_PEEK = 16,   /* do not record the file; the caller frees the input (pf_input_free) */
    PF_COUNTED = 32 /* raw bytes only: the file stays open until each use has ended (pf_input_done) */
};

/*
 * Opens a regular file for reading. `name` is NULL for the source itself (a file); with PF_PATH, an absolute path;
 * otherwise a path without `..`, relative to the source if that is a directory, or else to the folder that contains the
 * source. `flags`: enum pf_open_flags. Repeated calls return one input (not with PF_PEEK). The raw file and its
 * unpacked view are two inputs.
 *
 * Returns 0 with *input, which the source owns (except with PF_PEEK); -1 with *error filled and *input NULL: ENOENT if
 * the file is absent, EINVAL if it is not a regular file, ESTALE if it differs from its recorded version. A file that
 * cannot be opened is recorded as absent, unless the error is transient.
 */
int pf_source_open(struct pf_source *source, const char *name, unsigned flags, struct pf_input **input,
                   struct pf_error *error);

/*
 * Ends a use of an input: closes its file, unless uses that were counted (PF_COUNTED) remain. The input stays recorded and
 * can be reopened while the file is unchanged. Returns 0, or -1 with ESTALE in *error if the closed file was written to
 * since it was opened.
 */
int pf_input_done(struct pf_input *input, struct pf_error *error);

/* ---- change ------------------------------------------------------------------------------------- */

/* Compares all inputs by path (one stat each). Returns 0, or -1 with *error filled: ESTALE if one has changed, or a
 * transient error. */
int pf_source_check(struct pf_source *source, struct pf_error *error);

/* Compares the open inputs by descriptor (one fstat each); returns false if one was written to. Call after reading, so
 * that no result mixes two versions. A deleted or replaced file keeps its bytes and is intact. */
bool pf_source_intact(struct pf_source *source);

/* The number of recorded inputs. */
size_t pf_source_input_count(struct pf_source *source);
/*
 * Returns the name of the input recorded at index i (NULL: the source itself), and its stamp. The name is valid as long
 * as the source.
 */
const char *pf_source_input_at(struct pf_source *source, size_t i, struct pf_stamp *stamp);

/*
 * Compares *stamp with the recorded stamp of the input `name`, or with the present stamp of the file if it is not
 * recorded; in that case, restricts pf_source_access to users who can read the file. Returns 1 if the stamps are
 * equal; 0 if not; a negative errno value on a transient error.
 */
int pf_source_matches(struct pf_source *source, const char *name, const struct pf_stamp *stamp);
/* Records an input without opening it. Returns 0, or -1 with *error filled. */
int pf_source_record(struct pf_source *source, const char *name, const struct pf_stamp *stamp,
                     struct pf_error *error);

#endif
