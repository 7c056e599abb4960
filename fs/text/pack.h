/* SPDX-License-Identifier: MIT */
#ifndef PF_PACK_H
#define PF_PACK_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

/* Serialisation of numbers and arrays in the machine's byte order, for the cache that persists between mounts. */

/* Byte order and word size of this machine. A payload packed on a machine with another value must not be unpacked. */
#define PF_MACHINE ((uint64_t)BYTE_ORDER << 32 | sizeof(void *))

void pf_pack_u64(struct pf_buf *out, uint64_t value);

/* Reader of a payload. A read past the end sets `failed`, and that read and all later ones return 0 or NULL. */
struct pf_unpack {
    const char *at, *end;
    bool failed;
};

uint64_t pf_unpack_u64(struct pf_unpack *in);
const void *pf_unpack_bytes(struct pf_unpack *in, uint64_t size); /* NULL past the end */
/*
 * Returns an allocated copy of `count` items of `item` bytes, owned by the caller; NULL past the end or out of memory. Checks the count
 * against the payload's size before it allocates.
 */
void *pf_unpack_array(struct pf_unpack *in, uint64_t count, size_t item);

#endif
