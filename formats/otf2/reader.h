/* SPDX-License-Identifier: MIT */
#ifndef OTF2_READER_H
#define OTF2_READER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/input/window.h"
#include "formats/runtime/build.h"

/*
 * Iterates over the records of an archive's file, of either byte order. A file consists of chunks of one size; each
 * begins with its byte order and the range of its events. The rest of a chunk after its last record is skipped. Not
 * thread-safe.
 */

/* Record types common to all kinds of files. */
enum { OTF2_END_OF_CHUNK = 1, OTF2_END_OF_FILE = 2, OTF2_CHUNK = 3, OTF2_TIME = 5, OTF2_ATTRIBUTES = 6 };

struct otf2_reader {
    uint64_t size, chunk; /* size of the file and of a chunk, in bytes */
    bool events;          /* file of events: some of its records have no length */
    bool big_endian, over;
    struct pf_window window;
    const unsigned char *here; /* the bytes at `at`, in the window */
    uint64_t at;               /* file offset of the next record */
};

/* The fields of a record, read in order. */
struct otf2_fields {
    const unsigned char *at, *end;
    bool big_endian;
    bool bad; /* a field was missing, or larger than its type; all further fields read as 0 */
};

struct otf2_record {
    uint8_t type;
    uint64_t offset;
    struct otf2_fields fields; /* valid until the next record */
};

/*
 * Opens a reader at the file's first record. The input is borrowed. chunk: size of a chunk in bytes, 0 for a file
 * without chunks. events: the file contains events. Returns 0; or -1 with *error filled: EINVAL if the input is not a
 * file of an archive. The caller must call otf2_reader_close in either case.
 */
int otf2_reader_open(struct otf2_reader *reader, struct pf_input *input, uint64_t chunk, bool events,
                     struct pf_error *error);
void otf2_reader_close(struct otf2_reader *reader);

/*
 * Reads the next record; records that only structure the file are skipped. Returns 1 with *record filled; 0 at the end; -1 with *error
 * filled: EINVAL, with the offset of the damage, if the file is truncated or damaged.
 */
int otf2_next(struct otf2_reader *reader, struct otf2_record *record, struct pf_error *error);

/*
 * Handles a result of the functions above: returns `got` if it is not -1, and -1 for damage (described in
 * *build->run->error). Any other error ends the pass.
 */
static inline int otf2_got(struct pf_build *build, int got)
{
    return got < 0 && build->run->error->code == EINVAL ? -1 : pf_run_check(build->run, got);
}

/* Read numbers of fixed size. */
uint8_t otf2_byte(struct otf2_fields *fields);
uint64_t otf2_u64(struct otf2_fields *fields);

/* Reads a compressed number of at most `width` bytes. UINT64_MAX (UINT32_MAX if width is 4) is the undefined value. */
uint64_t otf2_number(struct otf2_fields *fields, unsigned width);
static inline uint32_t otf2_id(struct otf2_fields *fields)
{
    return (uint32_t)otf2_number(fields, 4);
}

/* Reads a NUL-terminated string; *size is without the NUL. */
const char *otf2_text(struct otf2_fields *fields, size_t *size);

#endif
