/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/driver.h"

/* Most files are told by their first bytes: heads grow only for drivers that ask for more. */
enum { FIRST_READ = 4096 };

const unsigned char *pf_probe_head(struct pf_probe *probe, size_t want, size_t *have)
{
    if (probe->directory || want > PF_HEAD_MAX)
        want = probe->directory ? 0 : PF_HEAD_MAX;
    if (want < FIRST_READ)
        want = FIRST_READ;
    while (!probe->directory && probe->have < want && probe->have < probe->size) {
        ssize_t n = pread(probe->fd, probe->bytes + probe->have, want - probe->have, (off_t)probe->have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        probe->have += (size_t)n;
    }
    *have = probe->have;
    return probe->bytes;
}

bool pf_probe_has(struct pf_probe *probe, const char *name)
{
    struct stat st;
    return probe->directory && !fstatat(probe->fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

const struct pf_driver *pf_recognise(struct pf_probe *probe, struct pf_verdict *verdict)
{
    const struct pf_driver *best = NULL;
    *verdict = (struct pf_verdict){0};
    for (size_t i = 0; pf_drivers[i]; i++) {
        struct pf_verdict mine = {0};
        if (pf_drivers[i]->directories != probe->directory)
            continue;
        pf_drivers[i]->probe(probe, &mine);
        if (mine.confidence > verdict->confidence) {
            *verdict = mine;
            best = pf_drivers[i];
        }
    }
    return best;
}
