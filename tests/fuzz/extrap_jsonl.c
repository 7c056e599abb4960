/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/extrap_fuzz.h"

extern const struct pf_driver pf_extrap_jsonl_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_study(&pf_extrap_jsonl_driver, data, size, false);
    return 0;
}
