/* SPDX-License-Identifier: MIT */
#ifndef PF_ZIP_H
#define PF_ZIP_H

#include "formats/input/packing.h"

/*
 * Headers of ZIP archives. libarchive converts members' names to the locale and returns NULL for a name that the locale cannot
 * hold; the functions here return the bytes of the archive.
 */

enum { PF_ZIP_STORED = 0, PF_ZIP_DEFLATED = 8 };

/* A member, as its header describes it. */
struct pf_zip_entry {
    const char *name; /* as written, or the UTF-8 name of Info-ZIP's extra field 0x7075; not terminated */
    size_t name_size;
    uint64_t header; /* offset of its local header */
    uint64_t data;   /* offset of its data; 0 for an entry of the central directory */
    uint64_t packed; /* bytes of its data; 0 in a local header whose sizes follow the data */
    unsigned method;
};

/* Nonzero ends the listing. The entry is valid during the call. */
typedef int pf_zip_entry_visit(void *arg, const struct pf_zip_entry *entry);

/*
 * Calls visit for the entries of the central directory of an archive of `size` bytes, which `source` reads. Entries after a
 * damaged one are not listed. 1; 0 if the archive has no central directory; -1 with *error filled.
 */
int pf_zip_list(pf_inflate_source *source, void *source_arg, uint64_t size, pf_zip_entry_visit *visit,
                void *visit_arg, struct pf_error *error);

/* Calls visit for the local header at an offset. 1 if there is one, else 0; -1 with *error filled. */
int pf_zip_local(pf_inflate_source *source, void *source_arg, uint64_t offset, pf_zip_entry_visit *visit,
                 void *visit_arg, struct pf_error *error);

#endif
