/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a .cpuprofile. The first byte chooses items, positions and the memory limit, see fuzz_choice. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_cpuprofile_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_cpuprofile_driver, "a.json", data, size, choice, FUZZ_MAY_FAIL);
}
