/* SPDX-License-Identifier: MIT */
#include "formats/cube/cube.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/input/inflate.h"
#include "formats/kit/array.h"
#include "formats/kit/bytes.h"

enum {
    BLOCK = 512,
    MEMBERS_MAX = 65536, /* real files have at most a few hundred */
    PAX_MAX = 8192,      /* maximum size in bytes of a pax record that is read */
    ZEROS_MAX = 2048,    /* this many consecutive blocks of zeros end the archive */
};

/* Offsets in a header. */
enum { NAME_SIZE = 100, SIZE_AT = 124, SIZE_LENGTH = 12, KIND_AT = 156, MAGIC_AT = 257 };

struct walk {
    struct pf_cube_archive *archive;
    struct pf_input *input;
    struct pf_notes *notes;
    uint64_t at, end;
    uint32_t zeros; /* consecutive blocks of zeros so far */
    uint64_t size;  /* of the next member, from a pax record */
    bool has_size;  /* `size` is set */
};

/* ---- headers ------------------------------------------------------------------------------------ */

static bool is_header(const unsigned char *block)
{
    return !memcmp(block + MAGIC_AT, "ustar", 5);
}

static bool is_zero(const unsigned char *block)
{
    return !block[0] && !memcmp(block, block + 1, BLOCK - 1);
}

/*
 * Parses octal digits, or GNU tar's encoding of large sizes (big-endian, top bit set). Returns false if the field is
 * neither.
 */
static bool read_size(const unsigned char *block, uint64_t *size)
{
    char digits[SIZE_LENGTH + 1] = "", *end;
    const unsigned char *field = block + SIZE_AT;
    memcpy(digits, field, SIZE_LENGTH);
    if (field[0] & 0x80) {
        *size = pf_u64(field + SIZE_LENGTH - 8, true);
        return field[0] == 0x80 && !memcmp(field + 1, "\0\0\0", 3) && !(*size >> 62);
    }
    const char *first = digits + strspn(digits, " ");
    *size = strtoull(first, &end, 8); /* 12 octal digits are 36 bits: no overflow */
    return isdigit((unsigned char)*first) && end > first;
}

/* ---- members ------------------------------------------------------------------------------------ */

/* A later member replaces an earlier one of the same name. */
static int add_member(struct pf_cube_archive *archive, const char *name, uint64_t offset, uint64_t size,
                      struct pf_error *error)
{
    uint32_t at = pf_intern(archive->names, name, strlen(name) + 1, error);
    if (at == PF_NO_STRING ||
        pf_array_reach(&archive->members, &archive->room, at, sizeof *archive->members, error))
        return -1;
    archive->members[at] = (struct pf_cube_member){pf_interned(archive->names, at).text, offset, size};
    archive->count = pf_strings_count(archive->names);
    return 0;
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

/* ---- the walk ----------------------------------------------------------------------------------- */

/* Parses a pax record ("LENGTH KEY=VALUE\n" lines), which holds the size of a member of 8 GiB or more. */
static int take_pax(struct walk *walk, uint64_t offset, uint64_t size, struct pf_error *error)
{
    static const char key[] = " size=";
    char text[PAX_MAX + 1];
    ssize_t have = pf_input_read(walk->input, text, size < PAX_MAX ? (size_t)size : PAX_MAX, offset, error);
    if (have < 0)
        return -1;
    text[have] = 0;
    const char *at = memmem(text, (size_t)have, key, strlen(key));
    walk->has_size = at && isdigit((unsigned char)at[strlen(key)]);
    walk->size = walk->has_size ? strtoull(at + strlen(key), NULL, 10) : 0;
    return 0;
}

static int take_member(struct walk *walk, const unsigned char *block, uint64_t offset, uint64_t size,
                       struct pf_error *error)
{
    char text[NAME_SIZE + 1] = "";
    const char *name = text;
    memcpy(text, block, NAME_SIZE);
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    walk->has_size = false;
    if (size > walk->end - offset) {
        size = walk->end - offset;
        (void)pf_cube_note(walk->notes, "fatal", "cut", 0, (int64_t)walk->end,
                           "the file ends inside its member %s", name);
    }
    return *name ? add_member(walk->archive, name, offset, size, error) : 0;
}

static bool is_file(char kind)
{
    return kind == '0' || kind == 0 || kind == '7';
}

/* Handles a header, and skips the member's contents. */
static int take_header(struct walk *walk, const unsigned char *block, struct pf_error *error)
{
    uint64_t size, offset = walk->at + BLOCK;
    char kind = (char)block[KIND_AT];
    walk->zeros = 0;
    if (!is_header(block) || !read_size(block, &size)) {
        int64_t at = (int64_t)walk->at;
        walk->at = walk->end;
        return pf_cube_note(walk->notes, "fatal", "bad-header", 0, at, "no header of a member here");
    }
    if (is_file(kind) && walk->has_size)
        size = walk->size;
    if (is_file(kind) ? take_member(walk, block, offset, size, error)
                      : kind == 'x' && take_pax(walk, offset, size, error))
        return -1;
    uint64_t left = walk->end - offset;
    walk->at = size < left ? offset + size : walk->end;
    if (walk->at % BLOCK)
        walk->at += BLOCK - walk->at % BLOCK;
    return 0;
}

int pf_cube_archive_read(struct pf_cube_archive *archive, struct pf_input *input, struct pf_notes *notes,
                         struct pf_error *error)
{
    struct walk walk = {.archive = archive, .input = input, .notes = notes, .end = pf_input_size(input)};
    unsigned char block[BLOCK];
    int result = 0;
    *archive = (struct pf_cube_archive){.names = pf_strings_new()};
    if (!archive->names)
        return pf_fail_memory(error);
    while (!result && walk.at < walk.end && walk.end - walk.at >= BLOCK) {
        ssize_t have = pf_input_read(input, block, BLOCK, walk.at, error);
        if (have < BLOCK)
            result = have < 0 ? -1 : 1;
        else if (is_zero(block))
            walk.at = ++walk.zeros < ZEROS_MAX ? walk.at + BLOCK : walk.end;
        else
            result = take_header(&walk, block, error);
        if (!result && archive->count >= MEMBERS_MAX) {
            result = pf_cube_note(notes, "fatal", "limit", 0, (int64_t)walk.at,
                                  "members from the %dth on are not read", MEMBERS_MAX);
            break;
        }
    }
    return result < 0 ? -1 : 0;
}

/* ---- members ------------------------------------------------------------------------------------ */

/* Reads raw bytes of a member. */
static ssize_t read_member(const struct pf_cube *cube, const struct pf_cube_member *member, void *buffer,
                           size_t size, uint64_t at, struct pf_error *error)
{
    uint64_t left = at < member->size ? member->size - at : 0;
    return pf_input_read(cube->input, buffer, size < left ? size : (size_t)left, member->offset + at, error);
}

static ssize_t read_packed(void *arg, void *buffer, size_t size, uint64_t at, struct pf_error *error)
{
    const struct pf_cube *cube = arg;
    return read_member(cube, cube->anchor, buffer, size, at, error);
}

ssize_t pf_cube_read(const struct pf_cube *cube, const struct pf_cube_member *member, void *buffer,
                     size_t size, uint64_t at, struct pf_error *error)
{
    return member == cube->anchor && cube->inflate ? pf_inflate_read(cube->inflate, buffer, size, at, error)
                                                   : read_member(cube, member, buffer, size, at, error);
}

int pf_cube_find_anchor(struct pf_cube *cube, struct pf_error *error)
{
    unsigned char head[16];
    cube->anchor = pf_cube_archive_find(&cube->archive, "anchor.xml");
    if (!cube->anchor)
        return pf_cube_note(&cube->notes, "fatal", "no-anchor", 0, -1,
                            "there is no anchor.xml in the file, which says what its other members are");
    ssize_t have = pf_cube_read(cube, cube->anchor, head, sizeof head, 0, error);
    if (have < 0)
        return -1;
    if (!pf_inflate_is_gzip(head, (size_t)have))
        return 0;
    cube->inflate = pf_inflate_new(read_packed, cube, cube->anchor->size);
    return cube->inflate ? 0 : pf_fail_memory(error);
}
