/* SPDX-License-Identifier: MIT */
#ifndef PF_INPUT_H
#define PF_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/input/stamp.h"
#include "formats/kit/error.h"

/*
 * An open file of a source (formats/input/source.h): its bytes as they are, or what they unpack to. Belongs to its source. Reading is
 * safe from many threads at once.
 */
struct pf_input;

/* Names of listings, which are inputs, too: of what is in the source's folder but folders; of the folders in it. */
#define PF_FOLDER  "."
#define PF_FOLDERS "./"

/* True if a name in the source's folder can be of interest to its driver. */
typedef bool pf_matters(const char *name);

/*
 * Reads up to `size` bytes at `offset`. Returns the number of bytes, less than `size` only at the end of the file as it was when
 * opened; -1 with *error filled: ESTALE if the file has been truncated or closed since, ECANCELED if the thread's pass was cancelled.
 */
ssize_t pf_input_read(struct pf_input *input, void *buffer, size_t size, uint64_t offset,
                      struct pf_error *error);

/*
 * The size in bytes when the input was opened. UINT64_MAX for an unpacked input until a read has met its end, unless it was opened
 * with PF_SIZED: an upper bound, while the end is where a read returns less than was asked for.
 */
uint64_t pf_input_size(const struct pf_input *input);

/*
 * True if a read has met the place where a compressed input is damaged or cut off: the input ends there. *damage holds what is wrong
 * and where, its offset being one in the compressed file. Always false for other inputs.
 */
bool pf_input_damage(struct pf_input *input, struct pf_error *damage);

/* True if a read has met the end of the zlib stream that the input is made of and bytes of the file follow; *offset is theirs. */
bool pf_input_trailing(struct pf_input *input, uint64_t *offset);

/*
 * The progress of a pass that reads an input from its start and has reached `offset`, in bytes of the file: *done of *total. An
 * estimate for a compressed file.
 */
void pf_input_progress(struct pf_input *input, uint64_t offset, uint64_t *done, uint64_t *total);

/*
 * The bytes of memory that may be made of an input: 4 times its bytes on disk (of the archive that holds it, if these are fewer),
 * at least 256 MB. A bound for what few compressed bytes can expand to.
 */
uint64_t pf_input_memory(const struct pf_input *input);
/* True if its bytes on disk are fewer than those that are read. */
bool pf_input_is_packed(const struct pf_input *input);
/* The version of the file. Valid as long as the input. */
const struct pf_stamp *pf_input_stamp(const struct pf_input *input);

/* Frees an input that was opened with PF_PEEK. */
void pf_input_free(struct pf_input *input);

#endif
