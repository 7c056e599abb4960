/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a pprof profile, compressed or not. The first byte chooses items, positions and the memory limit, see fuzz_choice. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_pprof_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_pprof_driver, "cpu.pb", data, size, choice, FUZZ_OPENS | FUZZ_LOADS);
}
