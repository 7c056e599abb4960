/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_ARCHIVE_H
#define PF_CUBE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/input/source.h"
#include "formats/kit/error.h"
#include "formats/kit/rows.h"

/*
 * The container of a .cubex: a tar archive without folders, as Cube writes it. Check sums are not looked at (one
 * writer gets all of them wrong), and a lone block of zeros inside is not its end (Cube writes one behind each member
 * whose size is a multiple of 512).
 */
struct pf_cube_member {
    char *name; /* terminated, owned */
    uint64_t offset, size;
};

struct pf_cube_archive {
    struct pf_cube_member *members; /* by name, each name once: the last of its name in the file */
    size_t count, room;
};

/*
 * Hops over the headers, a read each. What is wrong goes to notes (see note.h): the members before it are there.
 * -1 with *error filled if the input can't be read or memory is out; the archive is to be freed in any case.
 */
int pf_cube_archive_read(struct pf_cube_archive *archive, struct pf_input *input, struct pf_rows *notes,
                         struct pf_error *error);
void pf_cube_archive_free(struct pf_cube_archive *archive);

/* NULL if there is none. */
const struct pf_cube_member *pf_cube_archive_find(const struct pf_cube_archive *archive, const char *name);

#endif
