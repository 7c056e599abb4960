/* SPDX-License-Identifier: MIT */
#ifndef PF_SOURCE_H
#define PF_SOURCE_H

#include "formats/input/access.h"
#include "formats/input/beneath.h"
#include "formats/input/input.h"
#include "formats/input/listing.h"

/*
 * A profile's files. A source is one profile in SOURCE: a file, or a directory that is a database. It is a driver's only way to files:
 * every file that is opened through it, or looked for and found absent, is recorded as an input. The text that the profile serves
 * depends on its inputs and on nothing else, so comparing them shows every change.
 *
 * Functions are safe from any thread unless they say otherwise. No lock is held while one of them waits for the file system.
 */
struct pf_source;

/* ---- life --------------------------------------------------------------------------------------- */

/*
 * A closed source for the entry at a path below a folder (borrowed), "." for the folder itself; symbolic links are not followed.
 * within: the entry is expected to be a directory. Looks at nothing. NULL: out of memory, *error filled.
 *
 * A closed source holds no descriptor, and can be asked whether recorded inputs are unchanged; its inputs cannot be opened.
 */
struct pf_source *pf_source_at(const struct pf_folder *top, const char *path, bool within,
                               struct pf_error *error);
/* An open source, for good, for the entry `name` of the open directory `directory` (duplicated). NULL with *error filled. */
struct pf_source *pf_source_new(int directory, const char *name, struct pf_error *error);
/* Opens a closed source; a no-op if it is open. 0, or -1 with *error filled. Called by one thread at a time. */
int pf_source_wake(struct pf_source *source, struct pf_error *error);
/* Closes it and all inputs, which stay recorded: opened again, they must be unchanged. No other thread uses the inputs. */
void pf_source_rest(struct pf_source *source);
/*
 * Takes a use of an open source, whose files stay open until pf_source_release, after opening again what pf_source_close_files has
 * closed. 0, or -1 with *error filled: ESTALE if an input has changed.
 */
int pf_source_acquire(struct pf_source *source, struct pf_error *error);
void pf_source_release(struct pf_source *source); /* never waits */
/* Closes the files of a source without uses. Inputs stay valid, and so does what compressed files unpack to. */
void pf_source_close_files(struct pf_source *source);
/* Frees the source and its inputs. */
void pf_source_free(struct pf_source *source);

/* The last name of the source's path. Valid as long as the source. */
const char *pf_source_name(const struct pf_source *source);
/*
 * Sets which names in the source's folder can be of interest; others come and go without being a change. NULL: all can. Called
 * before other threads use the source.
 */
void pf_source_set_matters(struct pf_source *source, pf_matters *matters);

/*
 * Takes access control lists into account from here on, as other users than the mounter will read what is made of the source; and,
 * if the source is a directory, all files in it that matter (NULL: all), since any of them may become an input later. Called before
 * other threads use the source.
 */
void pf_source_mind_others(struct pf_source *source, pf_matters *matters);
/* Who may read all inputs recorded so far, and reach them from the source's folder. */
struct pf_access pf_source_access(struct pf_source *source);

/* ---- opening ------------------------------------------------------------------------------------ */

enum pf_open_flags {
    PF_RAW = 0,    /* the file's bytes as they are */
    PF_UNPACK = 1, /* if the file is compressed by gzip, zstd, xz or bzip2: what it unpacks to */
    PF_SIZED =
        2, /* with PF_UNPACK: read to the end, so that pf_input_size is the size; reports to the thread's pass */
    PF_ZLIB = 4, /* with PF_UNPACK: also if the file begins as a zlib stream does */
    PF_PATH = 8, /* the name is an absolute path that the user has given; links are followed */
    PF_PEEK =
        16 /* do not record the file: it is only looked at. The caller frees the input (pf_input_free) */
};

/*
 * Opens a regular file for reading. name NULL: the source itself (a file). Otherwise a path without `..`: relative to the source if
 * that is a directory, else to the folder of the source. `flags` are of enum pf_open_flags. What a file unpacks to is an input of its
 * own; the file's may be open at the same time. Each is opened once: a second call returns the same input.
 *
 * 0 with *input, which belongs to the source and lives as long (but PF_PEEK); -1 with *error filled and *input NULL: ENOENT if the
 * file is absent (which is recorded; a transient error is not, as it says nothing about the file), EINVAL if it is not a regular file,
 * ESTALE if it was recorded as another version.
 */
int pf_source_open(struct pf_source *source, const char *name, unsigned flags, struct pf_input **input,
                   struct pf_error *error);

/*
 * Closes the file of an input that is not read any more; it stays recorded. 0; or -1 with ESTALE in *error if the file has been written
 * to since it was opened. It can be opened again while it is unchanged.
 */
int pf_input_done(struct pf_input *input, struct pf_error *error);

/* ---- change ------------------------------------------------------------------------------------- */

/* Compares all inputs by path (one stat each). 0; or -1 with *error: ESTALE if one has changed, or a transient error. */
int pf_source_check(struct pf_source *source, struct pf_error *error);

/*
 * Compares the open inputs by descriptor (one fstat each): false if one was written to. Asked after reading, so that no answer mixes
 * two versions. A file that was deleted or replaced keeps its bytes and is intact.
 */
bool pf_source_intact(struct pf_source *source);

/* The number of recorded inputs. */
size_t pf_source_input_count(struct pf_source *source);
/* The name of input i, in the order of recording (NULL: the source itself), and its stamp. Valid as long as the source. */
const char *pf_source_input_at(struct pf_source *source, size_t i, struct pf_stamp *stamp);

/* 1 if the input of this name has this stamp, else 0; a negative errno value if that is unknown just now. */
int pf_source_matches(struct pf_source *source, const char *name, const struct pf_stamp *stamp);
/* Records an input without opening it. 0, or -1 with *error filled. */
int pf_source_know(struct pf_source *source, const char *name, const struct pf_stamp *stamp,
                   struct pf_error *error);

#endif
