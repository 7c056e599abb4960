/* SPDX-License-Identifier: MIT */
/* Reads any bytes as Extra-P's older JSON. */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_extrap_json_old_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_choice(&data, &size);
    return fuzz_bytes(&pf_extrap_json_old_driver, "study", data, size, choice, FUZZ_OPENS | FUZZ_LOADS);
}
