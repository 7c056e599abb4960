/* SPDX-License-Identifier: MIT */
/* Unpacks any bytes as gzip or zlib data. Reads at the offsets chosen by the first byte must return the bytes of a sequential read. */
#include "formats/input/inflate.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Maximum number of unpacked bytes that are compared; a decompression bomb only repeats itself after that. */
enum { TEXT_MAX = 1 << 20 };

struct bytes {
    const uint8_t *at;
    size_t size;
};

static ssize_t read_bytes(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct bytes *bytes = arg;
    (void)error;
    if (offset >= bytes->size)
        return 0;
    if (size > bytes->size - offset)
        size = bytes->size - offset;
    memcpy(buffer, bytes->at + offset, size);
    return (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char text[TEXT_MAX], some[4096];
    unsigned jump = size ? data[0] : 0;
    struct bytes bytes = {data + (size != 0), size - (size != 0)};
    struct pf_error error;
    struct pf_inflate *view = pf_inflate_new(read_bytes, &bytes, bytes.size);
    if (!view)
        abort();
    ssize_t all = pf_inflate_read(view, text, sizeof text, 0, &error);
    if (all < 0)
        abort(); /* damage ends the text and is not an error */
    for (uint64_t offset = (uint64_t)all + 100, n = 0; n < 20; n++, offset = offset * 7 / 11 + jump) {
        ssize_t got = pf_inflate_read(view, some, sizeof some, offset, &error);
        size_t want = offset < (uint64_t)all ? (size_t)((uint64_t)all - offset) : 0;
        want = want < sizeof some ? want : sizeof some;
        if (got < 0 || (all < TEXT_MAX && (size_t)got != want) || memcmp(some, text + offset, want) != 0)
            abort();
        if (pf_inflate_packed_before(view, offset) > bytes.size)
            abort();
    }
    pf_inflate_head(bytes.at, bytes.size, some, sizeof some, &error);
    pf_inflate_free(view);
    return 0;
}
