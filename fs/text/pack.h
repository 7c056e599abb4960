/* SPDX-License-Identifier: MIT */
#ifndef PF_PACK_H
#define PF_PACK_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/text/buf.h"

/* Numbers and arrays as bytes of the machine's own order, for what is kept between mounts. */

/* This machine's byte order and word size: what another kind of machine has packed must not be unpacked. */
#define PF_MACHINE ((uint64_t)BYTE_ORDER << 32 | sizeof(void *))

void pf_pack_u64(struct pf_buf *out, uint64_t value);

/* Taking a payload apart: numbers and runs of bytes, in the machine's order. After a read past the end `failed` is set and zeros come. */
struct pf_unpack {
    const char *at, *end;
    bool failed;
};

uint64_t pf_unpack_u64(struct pf_unpack *in);
const void *pf_unpack_bytes(struct pf_unpack *in, uint64_t size); /* NULL past the end */
/* A copy of `count` items of `item` bytes, allocated; NULL past the end or out of memory. Never asks for more than the payload has. */
void *pf_unpack_array(struct pf_unpack *in, uint64_t count, size_t item);

#endif
