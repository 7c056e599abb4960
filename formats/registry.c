/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/driver.h"
#include "formats/input/archive.h"
#include "formats/input/unpacked.h"

extern const struct pf_driver pf_cube_driver;
extern const struct pf_driver pf_cubedir_driver;
extern const struct pf_driver pf_hpctoolkit_driver;
extern const struct pf_driver pf_afperf_driver;
extern const struct pf_driver pf_xray_driver;
extern const struct pf_driver pf_extrap_text_driver;
extern const struct pf_driver pf_extrap_saved_driver;
extern const struct pf_driver pf_extrap_binary_driver;
extern const struct pf_driver pf_extrap_talpas_driver;
extern const struct pf_driver pf_extrap_jsonl_driver;
extern const struct pf_driver pf_extrap_json_driver;
extern const struct pf_driver pf_extrap_json_old_driver;
extern const struct pf_driver pf_perun_driver;
extern const struct pf_driver pf_perun_index_driver;
extern const struct pf_driver pf_callgrind_driver;
extern const struct pf_driver pf_cachegrind_driver;
extern const struct pf_driver pf_massif_driver;
extern const struct pf_driver pf_otf2_driver;
extern const struct pf_driver pf_nsight_driver;
extern const struct pf_driver pf_nsight_folder_driver;
extern const struct pf_driver pf_pprof_driver;
extern const struct pf_driver pf_perf_script_driver;
extern const struct pf_driver pf_collapsed_driver;
extern const struct pf_driver pf_chrome_trace_driver;
extern const struct pf_driver pf_speedscope_driver;
extern const struct pf_driver pf_cpuprofile_driver;

/*
 * Magic before heuristics: the driver of the highest confidence wins, and of equals the first. Adding a format is one line here.
 */
const struct pf_driver *const pf_drivers[] = {
    &pf_afperf_driver,          /* 16 bytes that nothing else begins with */
    &pf_cube_driver,            /* tar's magic and the first member's name */
    &pf_cubedir_driver,         /* beside: folders named like points that hold Cube files */
    &pf_otf2_driver,            /* a folder with a file *.otf2 and its magic */
    &pf_hpctoolkit_driver,      /* a folder: magic of meta.db, or the root element of experiment.xml */
    &pf_xray_driver,            /* four bytes of header and the first record's kind */
    &pf_nsight_driver,          /* SQLite's magic and names in the schema */
    &pf_nsight_folder_driver,   /* beside folders that are named like points and hold such files */
    &pf_extrap_binary_driver,   /* a byte order and a word of 17 letters */
    &pf_extrap_saved_driver,    /* ZIP's magic and the name of a member */
    &pf_callgrind_driver,       /* its first line, or nothing but lines of a header up to one of the body */
    &pf_cachegrind_driver,      /* the same without any word that only Callgrind has */
    &pf_massif_driver,          /* a first snapshot and its time */
    &pf_perun_index_driver,     /* four bytes; the folders of a store are no sign, its files are */
    &pf_perun_driver,           /* a stored object's first word, or keys of the top level of JSON */
    &pf_speedscope_driver,      /* the address of its schema, or the members shared and profiles */
    &pf_chrome_trace_driver,    /* the member traceEvents, or an array of objects with ph and ts */
    &pf_cpuprofile_driver,      /* nodes with a callFrame; behind trace events, which may hold such */
    &pf_extrap_json_old_driver, /* two members of the object that the file is; so are the next three */
    &pf_extrap_json_driver,
    &pf_extrap_talpas_driver,
    &pf_extrap_jsonl_driver,
    &pf_pprof_driver,       /* no magic, but messages that fit their numbers and types */
    &pf_extrap_text_driver, /* words in plain text: only what nothing with a magic number wants */
    &pf_perf_script_driver, /* lines of a form; those of samples may end in a number, so before the next */
    &pf_collapsed_driver,   /* no word at all, but lines that end in a number: after all other texts */
    NULL,
};

/* ---- recognising -------------------------------------------------------------------------------- */

enum {
    FIRST_READ = 4096,
    TAR_HEADER = 512,
    UNPACKED_MAX = 16 << 20, /* of a compressed file, to look at: if it ends before, its size is known */
    MAGIC = 32               /* bits that a magic number is worth */
};

/* True if the first bytes are those of a tar or zip archive, or of a tar compressed by gzip. */
static bool begins_archive(struct pf_probe *probe)
{
    size_t have;
    const unsigned char *head = pf_probe_unpacked_head(probe, TAR_HEADER, &have);
    return pf_archive_begins(head, have);
}

static const struct pf_driver *most_confident(struct pf_probe *probe, bool beside, struct pf_verdict *verdict)
{
    const struct pf_driver *best = NULL;
    bool archive = begins_archive(probe);
    *verdict = (struct pf_verdict){0};
    for (size_t i = 0; pf_drivers[i]; i++) {
        struct pf_verdict mine = {0};
        if (pf_drivers[i]->directories != probe->directory || pf_drivers[i]->beside != beside ||
            (archive && !pf_drivers[i]->archives))
            continue;
        pf_probe_ask(probe, pf_drivers[i], &mine);
        if (mine.confidence > verdict->confidence) {
            *verdict = mine;
            best = pf_drivers[i];
        }
        if (verdict->confidence >= MAGIC) /* magic numbers are unique */
            break;
    }
    return best;
}

/* Looks at what a compressed file unpacks to. */
static const struct pf_driver *recognise_unpacked(struct pf_probe *packed, enum pf_packing_kind kind,
                                                  struct pf_verdict *verdict)
{
    const struct pf_driver *best = NULL;
    struct pf_unpacked *unpacked =
        pf_unpacked_new(NULL, kind, pf_probe_source, packed, 0, packed->size, UNPACKED_MAX);
    struct pf_probe *inner = calloc(1, sizeof *inner);
    unsigned char *head = malloc(PF_HEAD_MAX);
    char *name = strndup(packed->name, pf_packing_stem(packed->name));
    if (!unpacked || !inner || !head || !name) {
        packed->lack = ENOMEM;
    } else {
        *inner = (struct pf_probe){
            .name = name, .fd = -1, .unpacked = unpacked, .size = UINT64_MAX, .bytes = head};
        pf_probe_head(inner, PF_HEAD_MAX, &(size_t){0});
        inner->size = pf_unpacked_size(unpacked);
        best = most_confident(inner, false, verdict);
        if (inner->lack)
            packed->lack = inner->lack;
    }
    free(name);
    free(head);
    free(inner);
    pf_unpacked_release(unpacked);
    return best;
}

const struct pf_driver *pf_recognise(struct pf_probe *probe, struct pf_verdict *verdict)
{
    const struct pf_driver *best = most_confident(probe, false, verdict);
    size_t have = 0;
    const unsigned char *head = best || probe->directory ? NULL : pf_probe_head(probe, FIRST_READ, &have);
    enum pf_packing_kind kind = pf_packing_kind_of(head, have);
    return kind == PF_UNPACKED ? best : recognise_unpacked(probe, kind, verdict);
}

const struct pf_driver *pf_recognise_beside(struct pf_probe *probe, struct pf_verdict *verdict)
{
    return most_confident(probe, true, verdict);
}
