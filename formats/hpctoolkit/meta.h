/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_META_H
#define PF_HPC_META_H

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/hpctoolkit/read.h"

/*
 * meta.db: eight sections of little-endian records that refer to each other by offsets in the file. Records
 * may become longer in later versions: the distance between two of them stands beside each array.
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
    struct pf_window *windows; /* pieces of the file that records were read from lately */
    char *string;              /* the string read last; HPC_STRING_MAX bytes */
    uint64_t budget;           /* bytes of new strings that an honest file can still have */
};

/* Longer strings are no names; nor are, of metrics and identifiers, those longer than the latter. */
#define HPC_STRING_MAX ((size_t)64 * 1024)
#define HPC_NAME_MAX   ((size_t)1024)

/* Begins to read the state's description. 0, or -1 with *error filled; to be closed in any case. */
int hpc_meta_begin(struct hpc_meta *meta, struct hpc_state *state, struct pf_notes *notes,
                   struct pf_error *error);
void hpc_meta_end(struct hpc_meta *meta);

/* `size` bytes at an offset of the file, valid until the next call. NULL: they lie beyond its
 * end (error->code 0), or *error is filled. */
const unsigned char *hpc_meta_record(struct hpc_meta *meta, uint64_t offset, size_t size,
                                     struct pf_error *error);

/* The string that a pointer refers to, in meta->string, of at most `limit` bytes; a pointer that leads nowhere, or to no
 * end, gives an empty one. Returns its size, or -1 with *error filled. */
ssize_t hpc_meta_string(struct hpc_meta *meta, uint64_t pointer, size_t limit, struct pf_error *error);

#endif
