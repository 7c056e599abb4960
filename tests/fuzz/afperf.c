/* SPDX-License-Identifier: MIT */
/*
 * Any bytes behind an AFPerf header: probing, opening, loading, and walking all tables, whole and restricted, over saved
 * positions. The first byte chooses when positions are taken, and whether the header is put before the rest.
 */
#include "tests/unit/afperf_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Longer inputs say nothing that shorter ones cannot, and cost more. */
enum { INPUT_MAX = 8192 };

/* The folder of the one file that all inputs are written to. */
static struct afperf_profile *place(void)
{
    static struct afperf_profile profile;
    if (!*profile.folder) {
        strcpy(profile.folder, "/dev/shm/fuzz.XXXXXX");
        profile.directory = mkdtemp(profile.folder) ? open(profile.folder, O_RDONLY | O_DIRECTORY) : -1;
        if (profile.directory < 0)
            abort();
    }
    return &profile;
}

static void probe(const struct afperf_profile *p, size_t size)
{
    static unsigned char head[PF_HEAD_MAX];
    int fd = openat(p->directory, "run.afperf", O_RDONLY);
    struct pf_probe input = {.name = "run.afperf", .size = size, .fd = fd, .bytes = head};
    struct pf_verdict verdict = {0};
    pf_afperf_driver.probe(&input, &verdict);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[sizeof HEADER + INPUT_MAX];
    struct afperf_profile *p = place();
    if (!size || size > INPUT_MAX)
        return 0;
    size_t header = data[0] & 0x80 ? 0 : sizeof HEADER - 1;
    memcpy(text, HEADER, header);
    memcpy(text + header, data + 1, size - 1);
    write_profile(p->directory, text, header + size - 1);
    probe(p, header + size - 1);
    load_profile(p, NULL);
    if (p->result ? header != 0 : unsound(&p->profile, 1 + data[0] % 8) != NULL)
        abort(); /* behind a sound header there is no text that cannot be opened */
    unload_profile(p);
    return 0;
}
