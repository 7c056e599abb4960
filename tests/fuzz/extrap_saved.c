/* SPDX-License-Identifier: MIT */
/* Reads any bytes as an experiment that Extra-P has saved. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_extrap_saved_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_extrap_saved_driver, "study", data, size, choice, FUZZ_MAY_FAIL);
}
