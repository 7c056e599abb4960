/* SPDX-License-Identifier: MIT */
/* Any bytes as output of `perf script`. The first byte chooses restrictions and limits. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_perf_script_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_perf_script_driver, "perf.script", data, size, choice, FUZZ_OPENS | FUZZ_LOADS);
}
