/* SPDX-License-Identifier: MIT */
#ifndef PF_EXTRAP_ZIP_H
#define PF_EXTRAP_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/input/source.h"

/*
 * Members of a ZIP archive over an input (PKWARE's APPNOTE 6.3, with ZIP64; stored or deflated): found by the central
 * directory, or, if the archive is cut off, by the headers in front of the members. Only members that a caller asks
 * for are kept; what an archive says of sizes is believed no further than its bytes go.
 */
struct pf_zip_member {
    uint64_t header;       /* offset of the header in front of it */
    uint64_t packed, size; /* in bytes; size UINT64_MAX: not said */
    uint16_t method;       /* 0 stored, 8 deflated */
    bool encrypted;
};

/*
 * What a member may inflate to: so much, and so many times its packed size. JSON shrinks to a tenth, columns of equal
 * numbers to a hundredth; deflate could go on to a thousandth.
 */
#define PF_ZIP_FREE  ((uint64_t)64 << 20)
#define PF_ZIP_RATIO 200

/* Called for each member with its name (not terminated). 0: go on; else the walk ends and returns that. */
typedef int pf_zip_visit(void *arg, const char *name, size_t size, const struct pf_zip_member *member,
                         struct pf_error *error);

/*
 * Calls visit for the members. Returns what it returned; else 0; -1 with *error filled if the input cannot be read,
 * or begins as no archive does (EINVAL). *cut: there is no central directory, or it is damaged.
 */
int pf_zip_walk(struct pf_input *input, pf_zip_visit *visit, void *arg, bool *cut, struct pf_error *error);

/* The bytes of a member, from its start to its end. */
struct pf_zip_stream;

/* NULL with *error filled: EINVAL if the member cannot be read (it is encrypted, packed in another way). */
struct pf_zip_stream *pf_zip_open(struct pf_input *input, const struct pf_zip_member *member,
                                  struct pf_error *error);
void pf_zip_close(struct pf_zip_stream *stream);

/*
 * Up to `size` bytes at an offset, which is cheap where reading stopped last and starts anew if it lies before; fewer
 * only at the end. Damage, a member that is longer than it says, and one that inflates beyond all measure end there.
 * -1 with *error filled.
 */
ssize_t pf_zip_read(struct pf_zip_stream *stream, void *buffer, size_t size, uint64_t offset,
                    struct pf_error *error);

/* Why the member ended early, with the offset in the archive; NULL: it did not, as far as it has been read. */
const char *pf_zip_damage(const struct pf_zip_stream *stream, uint64_t *offset);

/* How much of the archive has been read for it. */
uint64_t pf_zip_progress(const struct pf_zip_stream *stream);

#endif
