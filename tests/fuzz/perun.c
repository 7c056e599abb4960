/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as a Perun profile. The first byte chooses whether the rest is the text of a profile, a text to be compressed into a
 * stored object, or the bytes of a stored object. It also chooses items, positions and the memory limit, see fuzz_choice.
 */
#include <zlib.h>

#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_perun_driver;

static void store(const uint8_t *data, size_t size, unsigned choice)
{
    static const char head[] = "profile time 100";
    uLongf packed = compressBound(size + sizeof head);
    uint8_t *plain = malloc(size + sizeof head), *object = malloc(packed);
    if (!plain || !object)
        abort();
    memcpy(plain, head, sizeof head);
    if (size)
        memcpy(plain + sizeof head, data, size);
    if (compress2(object, &packed, plain, size + sizeof head, 1) != Z_OK)
        abort();
    fuzz_bytes(&pf_perun_driver, "object", object, packed, choice, FUZZ_MAY_FAIL);
    free(plain);
    free(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    if (choice & 16)
        store(data, size, choice);
    else
        fuzz_bytes(&pf_perun_driver, "job.perf", data, size, choice, FUZZ_MAY_FAIL);
    return 0;
}
