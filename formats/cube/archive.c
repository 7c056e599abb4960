/* SPDX-License-Identifier: MIT */
#include "formats/cube/cube.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/inflate.h"
#include "formats/kit/array.h"
#include "formats/kit/bytes.h"
#include "formats/kit/number.h"

enum {
    BLOCK = 512,
    MEMBERS_MAX = 65536, /* real files have at most a few hundred */
    PAX_MAX = 8192,      /* maximum number of bytes read from a pax record */
    ZEROS_MAX = 2048,    /* this many consecutive blocks of zeros end the archive */
};

/* Offsets and sizes of the fields of a tar header, in bytes. */
enum { NAME_SIZE = 100, SIZE_AT = 124, SIZE_LENGTH = 12, KIND_AT = 156, MAGIC_AT = 257 };

struct archive_walk {
    struct pf_run *run;
    struct pf_cube_archive *archive;
    struct pf_input *input;
    uint64_t at, end;
    uint32_t zeros; /* consecutive blocks of zeros so far */
    uint64_t size;  /* of the next member, if a pax record declares it */
    bool has_size;  /* a pax record has declared `size` */
};

/* ---- headers ------------------------------------------------------------------------------------ */

static bool is_tar_header(const unsigned char *block)
{
    return !memcmp(block + MAGIC_AT, "ustar", 5);
}

static bool is_zero_block(const unsigned char *block)
{
    return !block[0] && !memcmp(block, block + 1, BLOCK - 1);
}

/*
 * Parses the size field. It has octal digits or, for large sizes, GNU tar's big-endian number with the top bit set.
 * Returns false if it is invalid.
 */
static bool read_size_field(const unsigned char *block, uint64_t *size)
{
    const unsigned char *field = block + SIZE_AT;
    struct pf_slice digits = pf_slice((const char *)field, SIZE_LENGTH);
    pf_int128 octal;
    if (field[0] & 0x80) {
        *size = pf_u64(field + SIZE_LENGTH - 8, true);
        return field[0] == 0x80 && !memcmp(field + 1, "\0\0\0", 3) && !(*size >> 62);
    }
    pf_skip_blanks(&digits);
    bool valid = pf_take_base(&digits, 8, &octal);
    *size = (uint64_t)octal; /* 12 octal digits are 36 bits */
    return valid;
}

/* ---- list of members ---------------------------------------------------------------------------- */

/* Adds a member. It replaces an earlier member of the same name. */
static void add_archive_member(struct pf_run *run, struct pf_cube_archive *archive, const char *name,
                               uint64_t offset, uint64_t size)
{
    uint32_t at = pf_run_intern(run, archive->names, name, strlen(name) + 1);
    pf_run_check(run,
                 pf_array_reach(&archive->members, &archive->room, at, sizeof *archive->members, run->error));
    archive->members[at] = (struct pf_cube_member){pf_interned(archive->names, at).text, offset, size};
    archive->count = pf_strings_count(archive->names);
}

const struct pf_cube_member *pf_cube_archive_find(const struct pf_cube_archive *archive, const char *name)
{
    uint32_t at = archive->names ? pf_string_of(archive->names, name, strlen(name) + 1) : PF_NO_STRING;
    return at == PF_NO_STRING ? NULL : &archive->members[at];
}

void pf_cube_archive_free(struct pf_cube_archive *archive)
{
    pf_strings_free(archive->names);
    free(archive->members);
    *archive = (struct pf_cube_archive){0};
}

/* ---- reading the archive --------------------------------------------------------------------------------- */

/* Takes the next member's size from a pax record ("LENGTH KEY=VALUE\n" lines). It declares sizes of 8 GiB or more. */
static void take_pax(struct archive_walk *walk, uint64_t offset, uint64_t size)
{
    static const char key[] = " size=";
    char text[PAX_MAX];
    size_t have = pf_run_read(walk->run, walk->input, text, size < PAX_MAX ? (size_t)size : PAX_MAX, offset);
    const char *at = memmem(text, have, key, strlen(key));
    struct pf_slice digits = {at ? at + strlen(key) : text, at ? text + have : text};
    walk->has_size = pf_take_number(&digits, &walk->size);
}

static void take_file_member(struct archive_walk *walk, const unsigned char *block, uint64_t offset,
                             uint64_t size)
{
    char text[NAME_SIZE + 1] = "";
    const char *name = text;
    memcpy(text, block, NAME_SIZE);
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    walk->has_size = false;
    if (size > walk->end - offset) {
        size = walk->end - offset;
        pf_run_warn(walk->run, "fatal", "cut", 0, walk->end, "member %s: truncated at the end of the file",
                    name);
    }
    if (*name)
        add_archive_member(walk->run, walk->archive, name, offset, size);
}

static bool is_file_kind(char kind)
{
    return kind == '0' || kind == 0 || kind == '7';
}

/* Handles a tar header, and skips the member's contents. */
static void take_tar_header(struct archive_walk *walk, const unsigned char *block)
{
    uint64_t size, offset = walk->at + BLOCK;
    char kind = (char)block[KIND_AT];
    walk->zeros = 0;
    if (!is_tar_header(block) || !read_size_field(block, &size)) {
        pf_run_warn(walk->run, "fatal", "bad-header", 0, walk->at,
                    "bad tar header: the rest of the file is skipped");
        walk->at = walk->end;
        return;
    }
    if (is_file_kind(kind) && walk->has_size)
        size = walk->size;
    if (is_file_kind(kind))
        take_file_member(walk, block, offset, size);
    else if (kind == 'x')
        take_pax(walk, offset, size);
    uint64_t left = walk->end - offset;
    walk->at = size < left ? offset + size : walk->end;
    if (walk->at % BLOCK)
        walk->at += BLOCK - walk->at % BLOCK;
}

void pf_cube_archive_read(struct pf_run *run, struct pf_cube_archive *archive, struct pf_input *input)
{
    struct archive_walk walk = {.run = run, .archive = archive, .input = input, .end = pf_input_size(input)};
    unsigned char block[BLOCK];
    archive->names = pf_run_memory(run, pf_strings_new());
    while (walk.at < walk.end && walk.end - walk.at >= BLOCK && archive->count < MEMBERS_MAX &&
           pf_run_read(run, input, block, BLOCK, walk.at) == BLOCK) {
        if (is_zero_block(block))
            walk.at = ++walk.zeros < ZEROS_MAX ? walk.at + BLOCK : walk.end;
        else
            take_tar_header(&walk, block);
    }
    if (archive->count == MEMBERS_MAX)
        pf_run_warn(run, "fatal", "limit", 0, walk.at, "%d members: further ones are skipped", MEMBERS_MAX);
}

/* ---- contents of members ------------------------------------------------------------------------ */

/* Reads bytes of a member without decompressing them. */
static ssize_t read_member_bytes(const struct pf_cube *cube, const struct pf_cube_member *member,
                                 void *buffer, size_t size, uint64_t at, struct pf_error *error)
{
    uint64_t left = at < member->size ? member->size - at : 0;
    return pf_input_read(cube->input, buffer, size < left ? size : (size_t)left, member->offset + at, error);
}

static ssize_t read_packed_anchor(void *arg, void *buffer, size_t size, uint64_t at, struct pf_error *error)
{
    const struct pf_cube *cube = arg;
    return read_member_bytes(cube, cube->anchor, buffer, size, at, error);
}

ssize_t pf_cube_read(const struct pf_cube *cube, const struct pf_cube_member *member, void *buffer,
                     size_t size, uint64_t at, struct pf_error *error)
{
    return member == cube->anchor && cube->inflate ? pf_inflate_read(cube->inflate, buffer, size, at, error)
                                                   : read_member_bytes(cube, member, buffer, size, at, error);
}

void pf_cube_find_anchor(struct pf_run *run, struct pf_cube *cube)
{
    unsigned char head[16];
    cube->anchor = pf_cube_archive_find(&cube->archive, "anchor.xml");
    if (!cube->anchor) {
        pf_run_warn(run, "fatal", "no-anchor", 0, -1,
                    "anchor.xml is missing: the data cannot be interpreted");
        return;
    }
    ssize_t have = pf_cube_read(cube, cube->anchor, head, sizeof head, 0, run->error);
    pf_run_check(run, (int)have);
    if (pf_inflate_is_gzip(head, (size_t)have))
        cube->inflate = pf_run_memory(run, pf_inflate_new(read_packed_anchor, cube, cube->anchor->size));
}
