/* SPDX-License-Identifier: MIT */
/* Reads any bytes as one file of an otherwise valid OTF2 archive. The first byte chooses the file, items, positions and the memory limit. */
#include "tests/fuzz/profile.h"
#include "tests/otf2_archive.h"

extern const struct pf_driver pf_otf2_driver;

static void put_file(int folder, const char *name, const struct bytes *bytes)
{
    fuzz_write(folder, name, bytes->at, bytes->size);
}

static int folder_in(int folder, const char *name)
{
    int made = mkdirat(folder, name, 0700), fd = openat(folder, name, O_RDONLY | O_DIRECTORY);
    if ((made && errno != EEXIST) || fd < 0)
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"traces.otf2", "traces.def", "0.evt", "0.def"};
    unsigned choice = fuzz_choice(&data, &size), which = choice >> 5 & 3;
    struct bytes anchor = anchor_of(false, 2), definitions = definitions_of(false, (uint64_t[]){3, 3});
    struct bytes events = {0}, own = {0};
    put_chunk(&events, 1, 3);
    put_time(&events, 110);
    put_call(&events, 12, 1);
    put_message(&events, 14, 0, 8);
    put_call(&events, 13, 1);
    put_chunk(&own, 0, 0);
    int run = folder_in(fuzz_folder(), "run"), traces = folder_in(run, "traces");
    put_file(run, names[0], &anchor);
    put_file(run, names[1], &definitions);
    put_file(traces, names[2], &events);
    put_file(traces, "4294967296.evt", &events);
    put_file(traces, names[3], &own);
    fuzz_write(which < 2 ? run : traces, names[which], data, size);
    fuzz_read(&pf_otf2_driver, fuzz_folder(), "run", choice, FUZZ_MAY_FAIL);
    close(traces);
    close(run);
    return 0;
}
