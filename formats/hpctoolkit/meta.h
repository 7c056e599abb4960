/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_META_H
#define PF_HPC_META_H

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/hpctoolkit/read.h"

/*
 * meta.db: eight sections of little-endian records that refer to each other by file offsets. Later versions may
 * lengthen records: each array declares the stride of its records.
 */
enum hpc_section { GENERAL, ID_NAMES, METRICS, CONTEXTS, STRINGS, MODULES, FILES, FUNCTIONS, SECTIONS };

struct hpc_extent {
    uint64_t offset, size;
};

/* meta.db while it is being read. */
struct hpc_meta {
    struct hpc_state *state;
    struct pf_notes *notes;
    uint64_t size; /* of the file */
    struct hpc_extent sections[SECTIONS];
    struct pf_window *windows; /* recently used pieces of the file: a cache of pages */
    char *string;              /* buffer for the last string read; HPC_STRING_MAX bytes */
    uint64_t budget;           /* bytes of new strings that an undamaged file may still contain */
};

/* Maximum lengths in bytes: of any string; of the names of metrics and identifiers. */
#define HPC_STRING_MAX ((size_t)64 * 1024)
#define HPC_NAME_MAX   ((size_t)1024)

/*
 * Begins to read the state's description. Returns 0, or -1 with *error filled. The caller calls hpc_meta_end in either
 * case.
 */
int hpc_meta_begin(struct hpc_meta *meta, struct hpc_state *state, struct pf_notes *notes,
                   struct pf_error *error);
void hpc_meta_end(struct hpc_meta *meta);

/*
 * Returns `size` bytes at a file offset, valid until the next call. Returns NULL with error->code 0 if they are beyond
 * the end of the file, otherwise with *error filled.
 */
const unsigned char *hpc_meta_record(struct hpc_meta *meta, uint64_t offset, size_t size,
                                     struct pf_error *error);

/*
 * Reads the string at file offset `pointer` into meta->string, at most `limit` bytes. An invalid pointer or an
 * unterminated string yields an empty string. Returns the size in bytes, or -1 with *error filled.
 */
ssize_t hpc_meta_string(struct hpc_meta *meta, uint64_t pointer, size_t limit, struct pf_error *error);

#endif
