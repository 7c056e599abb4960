/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a TaLPas file. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_extrap_talpas_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_extrap_talpas_driver, "study", data, size, choice, FUZZ_OPENS | FUZZ_LOADS);
}
