/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_KEPT_H
#define PF_HPC_KEPT_H

#include "formats/input/source.h"

/*
 * The block of a file that is being read, as far as it has been. When somebody first asks for a text, what it is made from is
 * gone through twice, once for the text's size: this way the file is read once. There is one of these a file, so that memory
 * stays bounded however many read; when another block is claimed, those who read the one before read the file without it.
 * Safe from any thread.
 */
struct hpc_kept;

/* `most`: bytes of the largest block that is kept. NULL: out of memory. */
struct hpc_kept *hpc_kept_new(size_t most);
void hpc_kept_free(struct hpc_kept *kept);

/* The block of `size` bytes at `offset` is what is kept from now on, if it is not too large. Reads nothing. */
void hpc_kept_claim(struct hpc_kept *kept, uint64_t offset, uint64_t size);

/* As pf_input_read, of the file that `kept` is for: what lies in the block is read from the file only once. */
ssize_t hpc_kept_read(struct hpc_kept *kept, struct pf_input *input, void *buffer, size_t size,
                      uint64_t offset, struct pf_error *error);

#endif
