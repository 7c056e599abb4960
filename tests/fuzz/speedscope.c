/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a speedscope file. The first byte chooses items, positions and the memory limit, see fuzz_choice. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_speedscope_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_speedscope_driver, "a.json", data, size, choice, FUZZ_MAY_FAIL);
}
