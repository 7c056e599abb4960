/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_META_H
#define PF_HPC_META_H

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/hpctoolkit/read.h"

/*
 * meta.db consists of eight sections of little-endian records, which refer to each other by file offsets. Each array
 * declares the stride of its records, since later versions may lengthen records.
 */
enum hpc_section { GENERAL, ID_NAMES, METRICS, CONTEXTS, STRINGS, MODULES, FILES, FUNCTIONS, SECTIONS };

struct hpc_extent {
    uint64_t offset, size;
};

/* Maximum size of a string in bytes, with its NUL. */
#define HPC_STRING_MAX ((size_t)64 * 1024)

enum { HPC_META_WINDOWS = 256 };

/* meta.db while it is being read. */
struct hpc_meta {
    struct pf_run *run;
    struct hpc_state *state;
    uint64_t size; /* of the file */
    struct hpc_extent sections[SECTIONS];
    struct pf_window windows[HPC_META_WINDOWS]; /* a direct-mapped cache of the file's pages */
    char string[HPC_STRING_MAX];                /* buffer for the last string read */
    uint64_t scanned;                           /* total bytes of all strings read so far */
};

/*
 * Reads the header of meta.db (state->description). Returns a reader, which the run owns. If `quiet` is set, does not warn of
 * sections that reach beyond the end of the file.
 */
struct hpc_meta *hpc_meta_begin(struct pf_run *run, bool quiet);

/* Returns `size` bytes at a file offset, valid until the next call; NULL if they are beyond the end of the file. */
const unsigned char *hpc_meta_record(struct hpc_meta *meta, uint64_t offset, size_t size);

/*
 * Reads the string at file offset `pointer` into meta->string, without its NUL. Returns its size in bytes; 0 if the
 * pointer is invalid or the string has no NUL within `limit` bytes.
 */
size_t hpc_meta_string(struct hpc_meta *meta, uint64_t pointer, size_t limit);

#endif
