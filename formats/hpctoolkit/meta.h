/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_META_H
#define PF_HPC_META_H

#include "formats/hpctoolkit/hpctoolkit.h"

/*
 * meta.db: eight sections of little-endian records that refer to each other by offsets in the file. Records
 * may become longer in later versions: the distance between two of them stands beside each array.
 */
enum hpc_section {
    HPC_GENERAL,
    HPC_ID_NAMES,
    HPC_METRICS,
    HPC_CONTEXTS,
    HPC_STRINGS,
    HPC_MODULES,
    HPC_FILES,
    HPC_FUNCTIONS,
    HPC_SECTIONS
};

#define HPC_META_HEADER ((size_t)(16 + 16 * HPC_SECTIONS))
#define HPC_META_NAME   ((size_t)14) /* "HPCTOOLKITmeta", before the version's two bytes */

struct hpc_extent {
    uint64_t offset, size;
};

/* meta.db while it is being read. */
struct hpc_meta {
    struct hpc_state *state;
    struct pf_notes *notes;
    uint64_t size; /* of the file */
    struct hpc_extent sections[HPC_SECTIONS];
    struct hpc_page *pages;    /* pieces of the file that records were read from lately */
    unsigned char *page_bytes; /* theirs */
    unsigned char *record;     /* a record that lies across two of them; HPC_RECORD_MAX bytes */
    char *string;              /* the string read last; HPC_STRING_MAX bytes */
    uint64_t budget;           /* bytes of new strings that an honest file can still have */
};

/* There is no longer record. */
#define HPC_RECORD_MAX ((size_t)4096)

/* Longer strings are no names. */
#define HPC_STRING_MAX ((size_t)64 * 1024)
/* Of metrics and identifiers. */
#define HPC_NAME_MAX ((size_t)1024)

/* Begins to read the state's description. 0, or -1 with *error filled; to be closed in any case. */
int hpc_meta_begin(struct hpc_meta *meta, struct hpc_state *state, struct pf_notes *notes,
                   struct pf_error *error);
void hpc_meta_end(struct hpc_meta *meta);

/* `size` bytes (at most HPC_RECORD_MAX) at an offset of the file, valid until the next call. NULL: they lie beyond its
 * end (error->code 0), or *error is filled. */
const unsigned char *hpc_meta_record(struct hpc_meta *meta, uint64_t offset, size_t size,
                                     struct pf_error *error);

/* The string that a pointer refers to, in meta->string, of at most `limit` bytes; a pointer that leads nowhere, or to no
 * end, gives an empty one. Returns its size, or -1 with *error filled. */
ssize_t hpc_meta_string(struct hpc_meta *meta, uint64_t pointer, size_t limit, struct pf_error *error);

/* The same string among `strings`, or PF_NO_STRING with *error filled. */
uint32_t hpc_meta_intern(struct hpc_meta *meta, uint64_t pointer, struct pf_strings *strings,
                         struct pf_error *error);

/* Reads what opening needs: version, title, identifiers, metrics. Sets the layout. */
int hpc_meta_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error);

/* Reads modules, files, functions and contexts into a fresh model. */
int hpc_meta_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                      struct pf_pass *pass, struct pf_error *error);

/* The metrics of the draft's layout, and of the released one. */
int hpc_meta_metrics(struct hpc_meta *meta, struct pf_error *error);

#endif
