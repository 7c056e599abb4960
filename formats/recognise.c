/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver.h"
#include "formats/driver_extra.h"
#include "formats/input/archive.h"
#include "formats/input/unpacked.h"
#include "formats/recognise.h"

/* Finds the driver of a file. The table of drivers is in registry.c, so that tests can replace it. */

enum {
    FIRST_READ = 4096,
    TAR_HEADER = 512,
    UNPACKED_MAX = 16 << 20, /* maximum number of decompressed bytes to examine */
    MAGIC = 32               /* confidence of a magic number, in bits */
};

/* True if the file begins as a tar or zip archive, or as a gzip-compressed tar. */
static bool begins_archive(struct pf_probe *probe)
{
    size_t have;
    const unsigned char *head = pf_probe_unpacked_head(probe, TAR_HEADER, &have);
    return pf_archive_begins(head, have);
}

static const struct pf_driver *most_confident(struct pf_probe *probe, bool beside,
                                              struct pf_probe_result *result)
{
    const struct pf_driver *best = NULL;
    bool archive = begins_archive(probe), binary = !pf_probe_begins_text(probe);
    /* Drivers of text formats ask for the whole head, so read it at once. */
    if (!binary)
        pf_probe_head(probe, PF_HEAD_MAX, &(size_t){0});
    *result = (struct pf_probe_result){0};
    for (size_t i = 0; pf_drivers[i]; i++) {
        struct pf_probe_result mine = {0};
        if (pf_drivers[i]->directories != probe->directory || pf_driver_extra_of(pf_drivers[i])->beside != beside ||
            (archive && !pf_drivers[i]->archives) || (binary && pf_drivers[i]->text))
            continue;
        pf_probe_ask(probe, pf_drivers[i], &mine);
        if (mine.confidence > result->confidence) {
            *result = mine;
            best = pf_drivers[i];
        }
        if (result->confidence >= MAGIC) /* magic numbers are unique */
            break;
    }
    return best;
}

/* Probes the contents of a compressed file. */
static const struct pf_driver *recognise_unpacked(struct pf_probe *packed, enum pf_packing_kind kind,
                                                  struct pf_probe_result *result)
{
    const struct pf_driver *best = NULL;
    struct pf_unpacked *unpacked =
        pf_unpacked_new(NULL, kind, pf_probe_source, packed, 0, packed->size, UNPACKED_MAX);
    struct pf_probe *inner = calloc(1, sizeof *inner);
    unsigned char *head = malloc(PF_HEAD_MAX);
    char *name = strndup(packed->name, pf_packing_stem(packed->name));
    if (!unpacked || !inner || !head || !name) {
        packed->failure = ENOMEM;
    } else {
        *inner = (struct pf_probe){
            .name = name, .fd = -1, .unpacked = unpacked, .size = UINT64_MAX, .bytes = head};
        pf_probe_head(inner, PF_HEAD_MAX, &(size_t){0});
        inner->size = pf_unpacked_size(unpacked);
        best = most_confident(inner, false, result);
        if (inner->failure)
            packed->failure = inner->failure;
    }
    free(name);
    free(head);
    free(inner);
    pf_unpacked_release(unpacked);
    return best;
}

const struct pf_driver *pf_recognise(struct pf_probe *probe, struct pf_probe_result *result)
{
    const struct pf_driver *best = most_confident(probe, false, result);
    size_t have = 0;
    const unsigned char *head = best || probe->directory ? NULL : pf_probe_head(probe, FIRST_READ, &have);
    enum pf_packing_kind kind = pf_packing_kind_of(head, have);
    return kind == PF_UNPACKED ? best : recognise_unpacked(probe, kind, result);
}

const struct pf_driver *pf_recognise_beside(struct pf_probe *probe, struct pf_probe_result *result)
{
    return most_confident(probe, true, result);
}
