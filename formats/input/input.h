/* SPDX-License-Identifier: MIT */
#ifndef PF_INPUT_H
#define PF_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/input/stamp.h"
#include "formats/kit/error.h"

/* An open file of a source (formats/input/source.h): its raw bytes, or the bytes it unpacks to. Owned by its source.
 * Reading is thread-safe. */
struct pf_input;

/* Names of two inputs that are listings of the source's folder: PF_FOLDER lists the entries that are not folders,
 * PF_FOLDERS the folders. Both list only names that matter (pf_matters). */
#define PF_FOLDER  "."
#define PF_FOLDERS "./"

/* True if the driver may need a file of this name in the source's folder. */
typedef bool pf_matters(const char *name);

/*
 * Reads up to `size` bytes at `offset`. Returns the number of bytes, fewer than `size` only at the end that the file
 * had when it was opened; -1 with *error filled: ESTALE if the file has since been truncated or closed, ECANCELED if
 * the thread's pass was cancelled.
 */
ssize_t pf_input_read(struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                      struct pf_error *error);

/*
 * The size in bytes at opening. The size of an unpacked input is UINT64_MAX until a read has reached the end, unless
 * the input was opened with PF_SIZED. The size may be an upper bound: the input ends where a read returns fewer bytes
 * than requested.
 */
uint64_t pf_input_size(const struct pf_input *input);

/* True if a read has reached the place where a compressed input is damaged or truncated; the input ends there. *damage
 * holds the reason and the offset in the compressed file. Always false for other inputs. */
bool pf_input_damage(struct pf_input *input, struct pf_error *damage);

/* True if a read has reached the end of the zlib stream in the input's file and more bytes follow; *offset is where
 * they begin. */
bool pf_input_trailing(struct pf_input *input, uint64_t *offset);

/*
 * Sets the progress of a sequential pass over an input that has reached `offset`: *done of *total bytes of the file.
 * For a compressed file, *done is an estimate.
 */
void pf_input_progress(struct pf_input *input, uint64_t offset, uint64_t *done, uint64_t *total);

/*
 * The limit in bytes on memory for data derived from an input: 4 times the size of the input's file, or of the archive
 * that contains the file if the archive is smaller; at least 256 MB. So a small compressed file cannot fill the memory.
 */
uint64_t pf_input_memory(const struct pf_input *input);
/* True if pf_input_size exceeds the size of the input's file, or of the archive that contains the file. */
bool pf_input_is_packed(const struct pf_input *input);
/* The version of the file. Valid as long as the input. */
const struct pf_stamp *pf_input_stamp(const struct pf_input *input);

/* Frees an input that was opened with PF_PEEK. */
void pf_input_free(struct pf_input *input);

#endif
