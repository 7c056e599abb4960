/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a file of Callgrind or Cachegrind. The first byte chooses the format, items, positions and the memory limit. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_callgrind_driver, pf_cachegrind_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(choice & 128 ? &pf_cachegrind_driver : &pf_callgrind_driver, "callgrind.out.1", data,
                      size, choice, FUZZ_MAY_FAIL);
}
