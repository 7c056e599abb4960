/* SPDX-License-Identifier: MIT */
#include "formats/extrap/zip.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/extrap/zip_header.h"

/* Signatures and sizes of the records; all numbers are little endian. */
#define LOCAL_HEADER   UINT32_C(0x04034b50)
#define CENTRAL_HEADER UINT32_C(0x02014b50)
#define END_RECORD     UINT32_C(0x06054b50)
#define END_RECORD_64  UINT32_C(0x06064b50)
#define END_LOCATOR_64 UINT32_C(0x07064b50)
enum { LOCAL_SIZE = 30, CENTRAL_SIZE = 46, END_SIZE = 22, LOCATOR_SIZE = 20, END_64_SIZE = 56 };

/* The end record may be followed by a comment of this size. */
enum { COMMENT_MAX = 65535 };

/* Names and extra fields are at most this long, each. */
enum { FIELD_MAX = 65535 };

enum { ENCRYPTED = 1, SIZES_FOLLOW = 8 }; /* in the flags of a header */

static uint16_t le16(const unsigned char *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static uint32_t le32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static uint64_t le64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

/* 1: all `size` bytes are there; 0: they are not; -1: *error filled. */
static int read_at(struct pf_input *input, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    ssize_t got = pf_input_read(input, buffer, size, offset, error);
    return got < 0 ? -1 : (size_t)got == size;
}

/* ---- headers ------------------------------------------------------------------------------------ */

/* A member's name and extra fields, behind its header. */
struct fields {
    unsigned char bytes[2 * FIELD_MAX];
    size_t name, extra;
};

/* Numbers that do not fit into 32 bits stand in a field of their own, in this order, those that are needed. */
static void apply_zip64(const struct fields *fields, struct pf_zip_member *member, bool size, bool packed,
                        bool header)
{
    const unsigned char *at = fields->bytes + fields->name, *end = at + fields->extra;
    while (end - at >= 4) {
        size_t length = le16(at + 2);
        const unsigned char *field = at + 4;
        if (length > (size_t)(end - field))
            return;
        at = field + length;
        if (le16(field - 4) != 1)
            continue;
        uint64_t *wanted[] = {size ? &member->size : NULL, packed ? &member->packed : NULL,
                              header ? &member->header : NULL};
        for (int i = 0; i < 3; i++) {
            if (!wanted[i] || at - field < 8)
                continue;
            *wanted[i] = le64(field);
            field += 8;
        }
        return;
    }
}

/* One header of the central directory; *at moves behind it. 1; 0: there is none; -1: *error filled. */
static int read_central(struct pf_input *input, uint64_t *at, struct pf_zip_member *member,
                        struct fields *fields, struct pf_error *error)
{
    unsigned char header[CENTRAL_SIZE];
    int got = read_at(input, header, sizeof header, *at, error);
    if (got <= 0 || le32(header) != CENTRAL_HEADER)
        return got < 0 ? -1 : 0;
    fields->name = le16(header + 28);
    fields->extra = le16(header + 30);
    got = read_at(input, fields->bytes, fields->name + fields->extra, *at + CENTRAL_SIZE, error);
    if (got <= 0)
        return got;
    uint32_t packed = le32(header + 20), size = le32(header + 24), offset = le32(header + 42);
    *member = (struct pf_zip_member){.header = offset,
                                     .packed = packed,
                                     .size = size,
                                     .method = le16(header + 10),
                                     .encrypted = le16(header + 8) & ENCRYPTED};
    apply_zip64(fields, member, size == UINT32_MAX, packed == UINT32_MAX, offset == UINT32_MAX);
    *at += CENTRAL_SIZE + fields->name + fields->extra + le16(header + 32);
    return 1;
}

/* The header in front of a member; *data: where its bytes are. 1; 0: there is none; -1: *error filled. */
static int read_local(struct pf_input *input, uint64_t at, struct pf_zip_member *member, uint64_t *data,
                      struct fields *fields, struct pf_error *error)
{
    unsigned char header[LOCAL_SIZE];
    int got = read_at(input, header, sizeof header, at, error);
    if (got <= 0 || le32(header) != LOCAL_HEADER)
        return got < 0 ? -1 : 0;
    fields->name = le16(header + 26);
    fields->extra = le16(header + 28);
    got = read_at(input, fields->bytes, fields->name + fields->extra, at + LOCAL_SIZE, error);
    if (got <= 0)
        return got;
    uint16_t flags = le16(header + 6);
    uint32_t packed = le32(header + 18), size = le32(header + 22);
    *member = (struct pf_zip_member){.header = at,
                                     .packed = packed,
                                     .size = size,
                                     .method = le16(header + 8),
                                     .encrypted = flags & ENCRYPTED};
    apply_zip64(fields, member, size == UINT32_MAX, packed == UINT32_MAX, false);
    *data = at + LOCAL_SIZE + fields->name + fields->extra;
    uint64_t left = pf_input_size(input) - *data;
    if (flags & SIZES_FOLLOW && !packed) { /* nobody knew the sizes when this was written */
        member->packed = left;
        member->size = UINT64_MAX;
    }
    return 1;
}

int pf_zip_data(struct pf_input *input, uint64_t header, uint64_t *data, struct pf_error *error)
{
    unsigned char bytes[LOCAL_SIZE];
    int got = read_at(input, bytes, sizeof bytes, header, error);
    if (got <= 0 || le32(bytes) != LOCAL_HEADER)
        return got < 0 ? -1 : 0;
    *data = header + LOCAL_SIZE + le16(bytes + 26) + le16(bytes + 28);
    return 1;
}

/* ---- walking ------------------------------------------------------------------------------------ */

/* Where the central directory starts, by its end record, which stands at `at`. 1; 0; -1: *error filled. */
static int directory_of(struct pf_input *input, const unsigned char *record, uint64_t at, uint64_t *start,
                        struct pf_error *error)
{
    unsigned char locator[LOCATOR_SIZE], end[END_64_SIZE];
    *start = le32(record + 16);
    if (*start != UINT32_MAX && le16(record + 10) != UINT16_MAX)
        return 1;
    if (at < LOCATOR_SIZE)
        return 0;
    int got = read_at(input, locator, sizeof locator, at - LOCATOR_SIZE, error);
    if (got <= 0 || le32(locator) != END_LOCATOR_64)
        return got < 0 ? -1 : *start != UINT32_MAX;
    got = read_at(input, end, sizeof end, le64(locator + 8), error);
    if (got <= 0 || le32(end) != END_RECORD_64)
        return got < 0 ? -1 : 0;
    *start = le64(end + 48);
    return 1;
}

/* Finds the central directory. 1; 0: there is none; -1: *error filled. */
static int find_directory(struct pf_input *input, uint64_t *start, struct pf_error *error)
{
    uint64_t size = pf_input_size(input), most = END_SIZE + COMMENT_MAX;
    size_t have = size < most ? (size_t)size : (size_t)most;
    uint64_t tail = size - have;
    unsigned char *bytes = malloc(have + 1);
    if (!bytes)
        return pf_fail_memory(error);
    int got = read_at(input, bytes, have, tail, error);
    for (size_t at = have; got > 0 && at-- > 0;) {
        if (have - at < END_SIZE || le32(bytes + at) != END_RECORD)
            continue;
        got = directory_of(input, bytes + at, tail + at, start, error);
        free(bytes);
        return got;
    }
    free(bytes);
    return got < 0 ? -1 : 0;
}

static int walk_directory(struct pf_input *input, uint64_t at, struct fields *fields, pf_zip_visit *visit,
                          void *arg, bool *any, struct pf_error *error)
{
    struct pf_zip_member member;
    int got;
    while ((got = read_central(input, &at, &member, fields, error)) > 0) {
        *any = true;
        int result = visit(arg, (const char *)fields->bytes, fields->name, &member, error);
        if (result)
            return result;
    }
    return got;
}

/* Member after member, as far as their sizes lead from one to the next. */
static int walk_members(struct pf_input *input, struct fields *fields, pf_zip_visit *visit, void *arg,
                        struct pf_error *error)
{
    struct pf_zip_member member;
    uint64_t at = 0, data;
    int got;
    while ((got = read_local(input, at, &member, &data, fields, error)) > 0) {
        int result = visit(arg, (const char *)fields->bytes, fields->name, &member, error);
        if (result)
            return result;
        if (member.packed > UINT64_MAX - data)
            break;
        at = data + member.packed;
    }
    return got < 0 ? -1 : 0;
}

int pf_zip_walk(struct pf_input *input, pf_zip_visit *visit, void *arg, bool *cut, struct pf_error *error)
{
    uint64_t start = 0;
    bool any = false;
    *cut = false;
    struct fields *fields = malloc(sizeof *fields);
    if (!fields)
        return pf_fail_memory(error);
    int result = find_directory(input, &start, error);
    if (result > 0)
        result = walk_directory(input, start, fields, visit, arg, &any, error);
    if (!result && !any) {
        *cut = true;
        result = walk_members(input, fields, visit, arg, error);
    }
    free(fields);
    return result;
}
