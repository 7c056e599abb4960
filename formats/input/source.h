/* SPDX-License-Identifier: MIT */
#ifndef PF_SOURCE_H
#define PF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/input/access.h"
#include "formats/input/beneath.h"
#include "formats/input/stamp.h"
#include "formats/kit/error.h"

/*
 * The only way for a driver to its files. A source is one profile in SOURCE: a file, or a directory that is a
 * database. Every file that is opened through it, or looked for and found absent, is recorded as an input:
 * the text that the profile serves depends on these and on nothing else, and they are what is compared to
 * notice a change.
 */
struct pf_source;
struct pf_input;

/*
 * A source for what stands at a path below a folder (borrowed), "." for itself; never follows symbolic links. It is closed: nothing is
 * looked at yet. `within`: it is thought to be a directory. NULL: out of memory, *error filled.
 *
 * A closed source holds no descriptor and can be asked whether inputs that it was told of are as they were; to open any, it must
 * be woken. 0, or -1 with *error filled.
 */
struct pf_folder;
struct pf_source *pf_source_at(const struct pf_folder *top, const char *path, bool within,
                               struct pf_error *error);
int pf_source_wake(struct pf_source *source, struct pf_error *error);
/* Closes it again, with all inputs, which stay recorded: to be opened once more they must be the same. Nobody else uses them. */
void pf_source_rest(struct pf_source *source);

/*
 * While a source is acquired, its files stay open. pf_source_acquire opens again what pf_source_close_files has closed; 0, or -1 with
 * *error filled: ESTALE if an input has changed since. pf_source_release gives one acquisition back and never waits. Both are safe from
 * any thread.
 */
int pf_source_acquire(struct pf_source *source, struct pf_error *error);
void pf_source_release(struct pf_source *source);
/*
 * Closes all files, unless the source is acquired. Inputs stay what drivers hold. Waits for the file system that the files are on. What
 * compressed files unpack to stays. Safe from any thread.
 */
void pf_source_close_files(struct pf_source *source);

/* A source for the entry `name` of the open directory `directory` (duplicated; not taken over), awake, for good. */
struct pf_source *pf_source_new(int directory, const char *name, struct pf_error *error);
void pf_source_free(struct pf_source *source);

/* Whether a name in the source's folder may be of interest to it. */
typedef bool pf_matters(const char *name);

/*
 * Others than the mounter will read what is made of the source: from here on access control lists count, too, and of a source that
 * is a directory all files that stand in it and matter (NULL: all do), for any of them may become an input later.
 */
void pf_source_mind_others(struct pf_source *source, pf_matters *matters);
/* Who may read everything that has been an input so far, and reach it from the source's own folder. Safe from any thread. */
struct pf_access pf_source_access(struct pf_source *source);

/*
 * Whose profile the source is. If its file is compressed (gzip, zstd, xz, bzip2) and that is nothing to the driver, pf_source_open
 * gives what the file unpacks to, as if it were the file.
 */
struct pf_driver;
void pf_source_set_driver(struct pf_source *source, const struct pf_driver *driver);

/* The entry's own name, as it stands in its folder. */
const char *pf_source_name(const struct pf_source *source);

/*
 * Open a regular file for reading. name NULL: the source itself (a file). Otherwise a path without `..`:
 * relative to the source if that is a directory, else relative to the folder that the source stands in
 * (sibling). The same input opened twice is recorded once. -1 with *error filled; error->code is ENOENT if it
 * is absent (recorded too; after a transient error it is not, as nothing is known of it). The input belongs to the source and lives as long as it; safe to read from many
 * threads at once.
 */
int pf_source_open(struct pf_source *source, const char *name, struct pf_input **input,
                   struct pf_error *error);

/*
 * The same for a file that may be compressed: if it begins with a gzip header, or as pf_source_set_driver tells, the input is
 * what it unpacks to, to be read like any other (see formats/input/inflate.h, unpacked.h). Its stamp and what is recorded are the file's. Opened twice, it is
 * the same input; the file itself may be open beside it.
 */
int pf_source_open_plain(struct pf_source *source, const char *name, struct pf_input **input,
                         struct pf_error *error);

/* The same for a file that is compressed, by gzip or as a zlib stream; EINVAL if it does not begin so. */
int pf_source_open_inflated(struct pf_source *source, const char *name, struct pf_input **input,
                            struct pf_error *error);

/*
 * The same for a file that the user has named, not the profile: an absolute path, taken as the system takes
 * it, links and all.
 */
int pf_source_open_path(struct pf_source *source, const char *path, struct pf_input **input,
                        struct pf_error *error);

/*
 * Says that nothing more will be read of an input: its descriptor is closed, it stays recorded. -1 with
 * ESTALE in *error if it has been written to since it was opened. Opened again, it must still be the same.
 */
int pf_input_done(struct pf_input *input, struct pf_error *error);

/*
 * Opens a regular file as pf_source_open does, without recording it: to see whether it is of interest at all. The caller
 * frees it. -1 with *error filled.
 */
int pf_source_peek(struct pf_source *source, const char *name, struct pf_input **input,
                   struct pf_error *error);
void pf_input_free(struct pf_input *input);

/*
 * Which names in the source's folder may matter to it. What comes and goes there otherwise changes nothing (an
 * archive's folder gets new profiles every day). To be set before pf_source_list; NULL: all do.
 */
void pf_source_set_matters(struct pf_source *source, pf_matters *matters);

/* One entry of a folder; type is one of readdir's DT_ values. Nonzero ends the listing. */
typedef int pf_entry(void *arg, const char *name, unsigned char type);

/*
 * Calls entry for everything but folders that matters in the folder that names given to pf_source_open are relative to, in
 * no order. The names that matter are recorded as an input named PF_FOLDER. 0, or -1 with *error filled.
 */
#define PF_FOLDER "."
int pf_source_list(struct pf_source *source, pf_entry *entry, void *arg, struct pf_error *error);

/* The same for the folders in a source that is a directory; recorded as an input named PF_FOLDERS. */
#define PF_FOLDERS "./"
int pf_source_list_folders(struct pf_source *source, pf_entry *entry, void *arg, struct pf_error *error);

/*
 * The same for everything but folders in one of these folders, whatever it is called. Recorded as an input named as the
 * folder, with a slash behind it, which changes when anything comes to or goes from there.
 */
int pf_source_list_in(struct pf_source *source, const char *folder, pf_entry *entry, void *arg,
                      struct pf_error *error);

/*
 * Read up to `size` bytes at `offset`. Returns the number of bytes, less than `size` only at the end of the
 * file as it was when opened; -1 with *error filled (ESTALE if the file has been truncated since).
 */
ssize_t pf_input_read(struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                      struct pf_error *error);

/*
 * True if a compressed input turned out to be damaged or cut off, once a read has met the place: the input ends there.
 * *damage says what is wrong and where, its offset being one in the compressed file. Other inputs never are.
 */
bool pf_input_damage(struct pf_input *input, struct pf_error *damage);

/* True if bytes of the file follow the zlib stream that the input is made of, once a read has met its end; *offset is theirs. */
bool pf_input_trailing(struct pf_input *input, uint64_t *offset);

/*
 * How far a pass that reads an input through is when it stands at `offset`, in bytes of the file: *done of *total.
 * For pf_pass_step; for a compressed file a good guess.
 */
void pf_input_progress(struct pf_input *input, uint64_t offset, uint64_t *done, uint64_t *total);

/*
 * The size in bytes when the input was opened; of a compressed input UINT64_MAX until its end has been read: a
 * bound that always holds, whereas the end is where a read gives less than was asked for.
 */
uint64_t pf_input_size(const struct pf_input *input);

/*
 * How many bytes of memory may be made of an input: 4 times its bytes on disk (of the archive that it lies in, if these are fewer),
 * or 256 MB if that is more. Few compressed bytes can be much.
 */
uint64_t pf_input_memory(const struct pf_input *input);
/* True if its bytes on disk are fewer than those that are read. */
bool pf_input_is_packed(const struct pf_input *input);
const struct pf_stamp *pf_input_stamp(const struct pf_input *input);

/* 0 if every input is still what it was (one fstatat each), -1 with ESTALE or a system error in *error
 * otherwise. */
int pf_source_check(struct pf_source *source, struct pf_error *error);

/*
 * True if the bytes behind the open inputs are still those of when they were opened (one fstat each): asked
 * after reading, so that no answer mixes two versions. A file that was deleted or replaced by another keeps its old bytes: still
 * intact.
 */
bool pf_source_intact(struct pf_source *source);

/* How many descriptors the source and its inputs hold. */
size_t pf_source_descriptors(struct pf_source *source);

/*
 * Closes all of them for good: what stands there is another version, or nothing. All that is asked afterwards fails with
 * ESTALE. Nobody else uses the source meanwhile, but for pf_source_check.
 */
void pf_source_let_go(struct pf_source *source);

/* How many inputs are recorded; input i (in order of opening): its name as it was opened (NULL: the source
 * itself) and what it was. */
size_t pf_source_input_count(const struct pf_source *source);
const char *pf_source_input_at(const struct pf_source *source, size_t i, struct pf_stamp *stamp);

/* 1 if the input of this name is what the stamp says, 0 if it is not; a negative errno value if that cannot be found out just now. */
int pf_source_matches(struct pf_source *source, const char *name, const struct pf_stamp *stamp);
/* Records an input without opening it. 0, or -1 with *error filled. */
int pf_source_know(struct pf_source *source, const char *name, const struct pf_stamp *stamp,
                   struct pf_error *error);

#endif
