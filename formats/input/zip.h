/* SPDX-License-Identifier: MIT */
#ifndef PF_ZIP_H
#define PF_ZIP_H

#include "formats/input/packing.h"

/*
 * Reads headers of ZIP archives. libarchive converts member names to the locale and returns NULL for a name that the
 * locale cannot represent. The functions here return the raw bytes.
 */

enum { PF_ZIP_STORED = 0, PF_ZIP_DEFLATED = 8 };

/* A member, from its header. */
struct pf_zip_entry {
    const char *name; /* as written, or the UTF-8 name of Info-ZIP's extra field 0x7075; not terminated */
    size_t name_size;
    uint64_t header; /* offset of its local header */
    uint64_t data;   /* offset of its data; 0 for an entry of the central directory */
    uint64_t packed; /* bytes of its data; 0 in a local header whose sizes follow the data */
    unsigned method;
};

/* Visits an entry, which is valid during the call. Nonzero ends the listing. */
typedef int pf_zip_entry_visit(void *arg, const struct pf_zip_entry *entry);

/* Visits the entries of the central directory of an archive of `size` bytes, which `source` reads. Stops at a damaged
 * entry. Returns 1; 0 if the archive has no central directory; -1 with *error filled. */
int pf_zip_list(pf_inflate_source *source, void *source_arg, uint64_t size, pf_zip_entry_visit *visit,
                void *visit_arg, struct pf_error *error);

/* Visits the local header at an offset. Returns 1 if there is one, 0 if not, -1 with *error filled. */
int pf_zip_local(pf_inflate_source *source, void *source_arg, uint64_t offset, pf_zip_entry_visit *visit,
                 void *visit_arg, struct pf_error *error);

#endif
