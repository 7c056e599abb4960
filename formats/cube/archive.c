/* SPDX-License-Identifier: MIT */
#include "formats/cube/cube.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

enum {
    BLOCK = 512,
    MEMBERS_MAX = 65536,     /* real files have up to a few hundred */
    EXTENSION_MAX = 8192,    /* of a pax or long-name record */
    NAME_ROOM = 4096,        /* for a member's name, with its NUL */
    ZEROS_STEP = 64 * 1024,  /* zeros are skipped in reads of this size */
    ZEROS_MAX = 1024 * 1024, /* more of them are the end */
};

/* Offsets in a header. */
enum { SIZE_AT = 124, SIZE_LENGTH = 12, KIND_AT = 156, MAGIC_AT = 257, PREFIX_AT = 345, PREFIX_LENGTH = 155 };

struct walk {
    struct pf_cube_archive *archive;
    struct pf_input *input;
    struct pf_notes *notes;
    uint64_t at, end;
    char name[NAME_ROOM]; /* of the next member, from a record before its header; empty: none */
    uint64_t size;        /* likewise */
    bool has_size;
};

/* ---- headers ------------------------------------------------------------------------------------ */

static bool is_header(const unsigned char *block)
{
    return !memcmp(block + MAGIC_AT, "ustar", 5);
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/* GNU tar's way for sizes that octal digits have no room for: big-endian, the first bit set. */
static bool read_binary(const unsigned char *field, size_t length, uint64_t *value)
{
    *value = field[0] & 0x7f;
    for (size_t i = 1; i < length; i++) {
        if (*value >> 55)
            return false;
        *value = *value << 8 | field[i];
    }
    return true;
}

/* A number in octal digits, blanks before it and a blank or NUL behind. */
static bool read_octal(const unsigned char *field, size_t length, uint64_t *value)
{
    size_t i = 0, digits = 0;
    while (i < length && field[i] == ' ')
        i++;
    for (*value = 0; i < length && field[i] >= '0' && field[i] <= '7'; i++, digits++)
        *value = *value << 3 | (uint64_t)(field[i] - '0'); /* 12 digits are 36 bits */
    return digits > 0;
}

static bool read_size(const unsigned char *block, uint64_t *size)
{
    const unsigned char *field = block + SIZE_AT;
    return field[0] & 0x80 ? read_binary(field, SIZE_LENGTH, size) : read_octal(field, SIZE_LENGTH, size);
}

/* The name of a header's member, without a leading "./". POSIX headers may have its first part elsewhere. */
static void read_name(const unsigned char *block, char *name)
{
    const char *text = (const char *)block, *prefix = text + PREFIX_AT;
    size_t size = strnlen(text, 100), prefix_size = 0;
    if (!block[MAGIC_AT + 5])
        prefix_size = strnlen(prefix, PREFIX_LENGTH);
    memcpy(name, prefix, prefix_size);
    if (prefix_size)
        name[prefix_size++] = '/';
    memcpy(name + prefix_size, text, size);
    name[prefix_size + size] = 0;
}

static const char *without_dot(const char *name)
{
    while (name[0] == '.' && name[1] == '/')
        name += 2;
    return name;
}

/* ---- members ------------------------------------------------------------------------------------ */

static int add_member(struct pf_cube_archive *archive, const char *name, uint64_t offset, uint64_t size,
                      struct pf_error *error)
{
    if (pf_array_room(&archive->members, &archive->room, archive->count, sizeof *archive->members, error))
        return -1;
    struct pf_cube_member *member = &archive->members[archive->count];
    *member = (struct pf_cube_member){strdup(name), offset, size};
    if (!member->name)
        return pf_fail_memory(error);
    archive->count++;
    return 0;
}

/* By name; of one name, by place. */
static int compare_members(const void *a, const void *b)
{
    const struct pf_cube_member *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static void sort_members(struct pf_cube_archive *archive)
{
    size_t kept = 0;
    if (archive->count)
        qsort(archive->members, archive->count, sizeof *archive->members, compare_members);
    for (size_t i = 0; i < archive->count; i++) {
        struct pf_cube_member member = archive->members[i];
        bool replaced = i + 1 < archive->count && !strcmp(member.name, archive->members[i + 1].name);
        if (replaced)
            free(member.name);
        else
            archive->members[kept++] = member;
    }
    archive->count = kept;
}

const struct pf_cube_member *pf_cube_archive_find(const struct pf_cube_archive *archive, const char *name)
{
    size_t low = 0, high = archive->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, archive->members[middle].name);
        if (!order)
            return &archive->members[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void pf_cube_archive_free(struct pf_cube_archive *archive)
{
    for (size_t i = 0; i < archive->count; i++)
        free(archive->members[i].name);
    free(archive->members);
    *archive = (struct pf_cube_archive){0};
}

/* ---- records before a header -------------------------------------------------------------------- */

/* One line of a pax record: "LENGTH KEY=VALUE\n". */
static void take_pax_line(struct walk *walk, const char *line, size_t size)
{
    if (size > 5 && !memcmp(line, "size=", 5)) {
        uint64_t value = 0;
        for (size_t i = 5; i < size && line[i] >= '0' && line[i] <= '9' && value < UINT64_MAX / 16; i++)
            value = value * 10 + (uint64_t)(line[i] - '0');
        walk->size = value;
        walk->has_size = true;
    } else if (size > 5 && size - 5 < NAME_ROOM && !memcmp(line, "path=", 5)) {
        memcpy(walk->name, line + 5, size - 5);
        walk->name[size - 5] = 0;
    }
}

static void take_pax(struct walk *walk, const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *blank = newline ? memchr(at, ' ', (size_t)(newline - at)) : NULL;
        if (!blank)
            return;
        take_pax_line(walk, blank + 1, (size_t)(newline - blank - 1));
        at = newline + 1;
    }
}

/* What a record of kind `x` (pax) or `L` (GNU's long names) says of the member behind it. */
static int take_record(struct walk *walk, char kind, uint64_t offset, uint64_t size, struct pf_error *error)
{
    char text[EXTENSION_MAX];
    if (size > sizeof text || (kind != 'x' && kind != 'L'))
        return 0;
    ssize_t have = pf_input_read(walk->input, text, (size_t)size, offset, error);
    if (have < 0)
        return -1;
    if (kind == 'x') {
        take_pax(walk, text, (size_t)have);
    } else if ((size_t)have < NAME_ROOM) {
        memcpy(walk->name, text, (size_t)have);
        walk->name[have] = 0;
    }
    return 0;
}

/* ---- the walk ----------------------------------------------------------------------------------- */

/* Goes over zeros, to the block with the first other byte. */
static int skip_zeros(struct walk *walk, struct pf_error *error)
{
    unsigned char *bytes = malloc(ZEROS_STEP);
    if (!bytes)
        return pf_fail_memory(error);
    uint64_t stop = walk->end - walk->at > ZEROS_MAX ? walk->at + ZEROS_MAX : walk->end;
    ssize_t have = 0;
    while (walk->at < stop) {
        have = pf_input_read(walk->input, bytes, ZEROS_STEP, walk->at, error);
        if (have <= 0)
            break;
        size_t zeros = 0;
        while (zeros < (size_t)have && !bytes[zeros])
            zeros++;
        walk->at += zeros;
        if (zeros < (size_t)have) {
            walk->at -= walk->at % BLOCK; /* members start at whole blocks */
            break;
        }
    }
    if (walk->at >= stop)
        walk->at = walk->end;
    free(bytes);
    return have < 0 ? -1 : 0;
}

static int take_member(struct walk *walk, const unsigned char *block, uint64_t offset, uint64_t size,
                       struct pf_error *error)
{
    char name[NAME_ROOM];
    if (walk->name[0])
        memcpy(name, walk->name, NAME_ROOM);
    else
        read_name(block, name);
    walk->name[0] = 0;
    walk->has_size = false;
    if (offset + size > walk->end || offset + size < offset) {
        size = walk->end - offset;
        if (pf_cube_note(walk->notes, PF_CUBE_NOTE_CUT, 0, (int64_t)walk->end,
                         "the file ends inside its member %.100s", without_dot(name)))
            return -1;
    }
    if (!*without_dot(name))
        return 0;
    return add_member(walk->archive, without_dot(name), offset, size, error);
}

static bool is_file(char kind)
{
    return kind == '0' || kind == 0 || kind == '7';
}

/* A header and what follows it. */
static int take_header(struct walk *walk, const unsigned char *block, struct pf_error *error)
{
    uint64_t size, offset = walk->at + BLOCK;
    char kind = (char)block[KIND_AT];
    if (!is_header(block) || !read_size(block, &size)) {
        int64_t at = (int64_t)walk->at;
        walk->at = walk->end;
        return pf_cube_note(walk->notes, PF_CUBE_NOTE_BAD_HEADER, 0, at, "no header of a member here");
    }
    if (is_file(kind) && walk->has_size)
        size = walk->size;
    if (is_file(kind) ? take_member(walk, block, offset, size, error)
                      : take_record(walk, kind, offset, size, error))
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
    *archive = (struct pf_cube_archive){0};
    while (!result && walk.at < walk.end && walk.end - walk.at >= BLOCK) {
        ssize_t have = pf_input_read(input, block, BLOCK, walk.at, error);
        if (have < BLOCK)
            result = have < 0 ? -1 : 1;
        else if (is_zero(block, BLOCK))
            result = skip_zeros(&walk, error);
        else
            result = take_header(&walk, block, error);
        if (!result && archive->count >= MEMBERS_MAX) {
            result = pf_cube_note(notes, PF_CUBE_NOTE_LIMIT, 0, (int64_t)walk.at,
                                  "members from the %dth on are not read", MEMBERS_MAX);
            break;
        }
    }
    sort_members(archive);
    return result < 0 ? -1 : 0;
}
