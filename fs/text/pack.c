/* SPDX-License-Identifier: MIT */
#include "fs/text/pack.h"

#include <stdlib.h>
#include <string.h>

void pf_pack_u64(struct pf_buf *out, uint64_t value)
{
    pf_buf_add(out, (const char *)&value, sizeof value);
}

uint64_t pf_unpack_u64(struct pf_unpack *in)
{
    uint64_t value = 0;
    const void *bytes = pf_unpack_bytes(in, sizeof value);
    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return value;
}

const void *pf_unpack_bytes(struct pf_unpack *in, uint64_t size)
{
    if (in->failed || size > (uint64_t)(in->end - in->at)) {
        in->failed = true;
        return NULL;
    }
    const void *bytes = in->at;
    in->at += size;
    return bytes;
}

void *pf_unpack_array(struct pf_unpack *in, uint64_t count, size_t item)
{
    if (count > (uint64_t)(in->end - in->at) / item) {
        in->failed = true;
        return NULL;
    }
    const void *bytes = pf_unpack_bytes(in, count * item);
    void *copy = bytes ? malloc(count * item + 1) : NULL;
    if (copy)
        memcpy(copy, bytes, count * item);
    in->failed |= !copy;
    return copy;
}
