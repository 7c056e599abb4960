/* SPDX-License-Identifier: MIT */
#ifndef OTF2_READER_H
#define OTF2_READER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/input/window.h"
#include "formats/runtime/build.h"

/*
 * Walks the records of an archive's file, of either byte order. A file is chunks of one size, each begins with its byte order
 * and what events it holds; what is left of one behind its last record is not looked at. For one thread.
 */

/* Records that no kind of file has for itself. */
enum { OTF2_END_OF_CHUNK = 1, OTF2_END_OF_FILE = 2, OTF2_CHUNK = 3, OTF2_TIME = 5, OTF2_ATTRIBUTES = 6 };

struct otf2_reader {
    uint64_t size, chunk; /* of the file, of a chunk, in bytes */
    bool events;          /* some records of events have no length */
    bool big_endian, over;
    struct pf_window window;
    const unsigned char *here; /* the bytes from the next record on that were looked at last */
    uint64_t at;               /* offset in the file of the next record */
};

/* What a record says, taken from front to back. */
struct otf2_fields {
    const unsigned char *at, *end;
    bool big_endian;
    bool bad; /* something was not there, or larger than its type: all that is taken from then on is 0 */
};

struct otf2_record {
    uint8_t type;
    uint64_t offset;
    struct otf2_fields fields; /* valid until the next record */
};

/* Stands before the file's first record. chunk: 0 for a file without. 0, or -1 with *error filled: EINVAL if it is no such file. */
int otf2_reader_open(struct otf2_reader *reader, struct pf_input *input, uint64_t chunk, bool events,
                     struct pf_error *error);
void otf2_reader_close(struct otf2_reader *reader);

/*
 * The next record, but for what only tells where others stand. 1: *record filled; 0: no more; -1: *error filled: EINVAL if the
 * file is cut or damaged, at its offset.
 */
int otf2_next(struct otf2_reader *reader, struct otf2_record *record, struct pf_error *error);

/* What the functions above have returned: -1 for damage, which *build->run->error tells of; another failure ends the pass. */
static inline int otf2_got(struct pf_build *build, int got)
{
    return got < 0 && build->run->error->code == EINVAL ? -1 : pf_run_check(build->run, got);
}

/* Numbers of fixed size. */
uint8_t otf2_byte(struct otf2_fields *fields);
uint64_t otf2_u64(struct otf2_fields *fields);

/* A compressed number of `width` bytes at most; UINT64_MAX, or UINT32_MAX for four bytes, is an undefined one. */
uint64_t otf2_number(struct otf2_fields *fields, unsigned width);
static inline uint32_t otf2_id(struct otf2_fields *fields)
{
    return (uint32_t)otf2_number(fields, 4);
}

/* A string that a NUL ends; *size is without. */
const char *otf2_text(struct otf2_fields *fields, size_t *size);

#endif
