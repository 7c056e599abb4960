/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as an Nsight Systems export. No code in the database runs, and the number of rows is finite. Instead of the first byte,
 * the last one chooses items, positions and the memory limit (see fuzz_choice), so that unchanged samples can be seeds.
 */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_nsight_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = size ? data[size - 1] : 0;
    return fuzz_bytes(&pf_nsight_driver, "export.sqlite", data, size, choice, FUZZ_LOADS);
}
