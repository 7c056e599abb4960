/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as an Nsight Systems export. The driver runs no SQL of the database, so the number of rows is finite. The last byte, not
 * the first, chooses items, positions and the memory limit (see fuzz_choice), so that unchanged samples can be seeds.
 */
#include "tests/fuzz/profile.h"

extern const struct pf_driver pf_nsight_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = size ? data[size - 1] : 0;
    return fuzz_bytes(&pf_nsight_driver, "export.sqlite", data, size, choice, FUZZ_LOADS);
}
