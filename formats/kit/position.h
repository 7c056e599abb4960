/* SPDX-License-Identifier: MIT */
#ifndef PF_POSITION_H
#define PF_POSITION_H

#include <stddef.h>

#include "formats/kit/error.h"

/*
 * Positions of cursors that are a struct of fixed size without pointers and without padding, kept as it lies in
 * memory: for the save and restore of struct pf_cursor_ops. Kept positions never leave the machine, so that byte
 * order does not matter; but they may come back damaged. Safe from any thread.
 */

/* Copies the `size` bytes of a position into a blob with `room` bytes if they fit. Returns `size` in any case. */
size_t pf_position_save(const void *position, size_t size, void *blob, size_t room);

/*
 * Takes a position of `size` bytes out of a blob of `blob_size`. 0, or -1 with EINVAL in *error, and *position as it was,
 * if the sizes differ. What the numbers in it may be is for the caller to check.
 */
int pf_position_restore(void *position, size_t size, const void *blob, size_t blob_size,
                        struct pf_error *error);

/* For a position that has the right size and cannot be: fills *error with EINVAL. Always returns -1. */
int pf_position_refuse(struct pf_error *error);

#endif
