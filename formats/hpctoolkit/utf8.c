/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/utf8.h"

size_t hpc_utf8(const unsigned char *text, size_t size)
{
    size_t wrong;
    return pf_utf8(text, size, &wrong);
}

/* How much of the text is valid from its start on. */
static size_t valid(const unsigned char *text, size_t size)
{
    size_t at = 0, length;
    while (at < size && (length = hpc_utf8(text + at, size - at)))
        at += length;
    return at;
}

uint32_t hpc_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = valid(bytes, size), out = at;
    if (at == size)
        return pf_intern(strings, text, size, error);
    char *mended = size <= SIZE_MAX / 3 ? malloc(size * 3) : NULL;
    if (!mended) {
        pf_fail_memory(error);
        return PF_NO_STRING;
    }
    memcpy(mended, text, at);
    while (at < size) {
        size_t length = hpc_utf8(bytes + at, size - at);
        memcpy(mended + out, length ? text + at : "\xef\xbf\xbd", length ? length : 3);
        out += length ? length : 3;
        at += length ? length : 1;
    }
    uint32_t id = pf_intern(strings, mended, out, error);
    free(mended);
    return id;
}
