/* SPDX-License-Identifier: MIT */
/* Any bytes as a Perun index; the first byte chooses whether it is one of jobs. */
#include "tests/fuzz/perun_fuzz.h"

extern const struct pf_driver pf_perun_index_driver;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = size ? data[0] : 0;
    data += size != 0;
    size -= size != 0;
    fuzz_one(&pf_perun_index_driver, choice & 1 ? ".index" : "AD", data, size, choice);
    return 0;
}
