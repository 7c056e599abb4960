/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a Perun index; the first byte chooses whether it is an index of jobs. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_perun_index_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_perun_index_driver, choice & 1 ? ".index" : "AD", data, size, choice,
                      FUZZ_MAY_FAIL);
}
