/* SPDX-License-Identifier: MIT */
/* Reads any bytes, with or without an AFPerf header before them. With the header, any input can be opened and loaded, and its times add up. */
#include "formats/model.h"
#include "tests/fuzz/profile.h"
#include "tests/unit/afperf_profile.h"

/* Longer inputs reach no further code and cost more. */
enum { INPUT_MAX = 8192 };

static const char header[] = "# AFPerf v1     \n";
static const char name[] = "run.afperf";

/* Reads the file again and adds up its times. */
static void add_up(void)
{
    struct pf_error error;
    struct pf_options options = {.cache = 1 << 20};
    struct pf_model model;
    if (profile_open(&model, &pf_afperf_driver, fuzz_folder(), name, &options, &error) ||
        pf_model_load(&model, PF_DERIVED, &error) || !times_add_up(&model))
        abort();
    profile_close(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[sizeof header + INPUT_MAX];
    unsigned choice = fuzz_choice(&data, &size);
    size_t head = choice & 0x80 ? 0 : sizeof header - 1;
    if (size > INPUT_MAX)
        return 0;
    memcpy(text, header, head);
    if (size)
        memcpy(text + head, data, size);
    fuzz_bytes(&pf_afperf_driver, name, (const uint8_t *)text, head + size, choice,
               head ? FUZZ_OPENS | FUZZ_LOADS : FUZZ_MAY_FAIL);
    if (head && choice & 0x40)
        add_up();
    return 0;
}
