/* SPDX-License-Identifier: MIT */
/* Reads any bytes as an Extra-P text file, which can always be opened. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_extrap_text_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_extrap_text_driver, "study", data, size, choice, FUZZ_OPENS | FUZZ_LOADS);
}
