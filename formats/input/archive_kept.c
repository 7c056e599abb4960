/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/input/archive_private.h"

/*
 * The index of an archive as bytes, in the machine's order: what it was made of, members, strings, problems. To be raised when an
 * index is made in another way.
 */
#define EDITION (UINT64_C(0x7461727a69700000) + 3)

struct head {
    uint64_t edition;
    struct pf_stamp stamp;
    uint64_t size, members, strings, problems;
};

/* Bytes being written to, or counted if `at` is NULL; or being read. */
struct run {
    unsigned char *at;
    size_t size;
};

static void put(struct run *run, const void *bytes, size_t size)
{
    if (run->at && size)
        memcpy(run->at + run->size, bytes, size);
    run->size += size;
}

static void put_text(struct run *run, struct pf_cell text)
{
    put(run, &text.size, sizeof text.size);
    put(run, text.text, text.size);
}

static void put_all(const struct pf_archive *archive, struct run *run)
{
    struct head head = {.edition = EDITION,
                        .stamp = archive->stamp,
                        .size = archive->size,
                        .members = archive->count,
                        .strings = pf_strings_count(archive->strings),
                        .problems = pf_rows_count(archive->problems)};
    put(run, &head, sizeof head);
    put(run, archive->members, archive->count * sizeof *archive->members);
    for (uint32_t i = 0; i < head.strings; i++)
        put_text(run, pf_interned(archive->strings, i));
    for (size_t i = 0; i < head.problems; i++)
        for (size_t c = 0; c < 3; c++)
            put_text(run, pf_rows_at(archive->problems, i)[c]);
}

void *pf_archive_pack(const struct pf_archive *archive, size_t *size)
{
    struct run run = {0};
    put_all(archive, &run);
    run = (struct run){malloc(run.size), 0};
    if (run.at)
        put_all(archive, &run);
    *size = run.size;
    return run.at;
}

/* ---- and back ----------------------------------------------------------------------------------- */

static const void *take(struct run *run, uint64_t size)
{
    if (size > run->size)
        return NULL;
    const void *bytes = run->at;
    run->at += size;
    run->size -= (size_t)size;
    return bytes;
}

static bool take_text(struct run *run, struct pf_cell *cell)
{
    uint32_t size;
    const void *have = take(run, sizeof size);
    if (have)
        memcpy(&size, have, sizeof size);
    const char *text = have ? take(run, size) : NULL;
    if (text)
        *cell = pf_text(text, size);
    return text != NULL;
}

static bool take_strings(struct pf_archive *archive, struct run *run, uint64_t n)
{
    struct pf_error error;
    struct pf_cell text;
    for (uint32_t i = 0; i < n; i++)
        if (!take_text(run, &text) || pf_intern(archive->strings, text.text, text.size, &error) != i)
            return false;
    return true;
}

static bool take_problems(struct pf_archive *archive, struct run *run, uint64_t n)
{
    struct pf_error error;
    struct pf_cell row[3];
    for (uint64_t i = 0; i < n; i++)
        if (!take_text(run, &row[0]) || !take_text(run, &row[1]) || !take_text(run, &row[2]) ||
            pf_rows_add(archive->problems, row, &error))
            return false;
    return true;
}

/* Members come behind the folder that they are in, in its order: so they are added again as they were. */
static bool take_member(struct pf_archive *archive, const struct pf_member *kept, uint64_t strings)
{
    struct pf_error error;
    bool first = !archive->count;
    if (first != (kept->parent == PF_NO_MEMBER) || (!first && kept->parent >= archive->count) ||
        (!first && kept->name >= strings) || (kept->type == DT_LNK && kept->link >= strings) ||
        (!first && archive->members[kept->parent].type != DT_DIR))
        return false;
    uint32_t at = pf_archive_add(archive, kept->parent, kept->name, kept->type, &error);
    if (at == PF_NO_MEMBER)
        return false;
    struct pf_member *member = &archive->members[at];
    member->link = kept->link;
    member->start = kept->start;
    member->size = kept->size;
    member->mtime = kept->mtime;
    member->method = kept->method;
    return true;
}

static bool take_all(struct pf_archive *archive, struct run *run)
{
    struct head head;
    struct pf_member member;
    const void *have = take(run, sizeof head);
    if (have)
        memcpy(&head, have, sizeof head);
    if (!have || head.edition != EDITION || !pf_stamp_same(&head.stamp, &archive->stamp) ||
        head.members > run->size / sizeof member || !head.members)
        return false;
    const unsigned char *members = take(run, head.members * sizeof member);
    if (!take_strings(archive, run, head.strings) || !take_problems(archive, run, head.problems))
        return false;
    for (uint64_t i = 0; i < head.members; i++) {
        memcpy(&member, members + i * sizeof member, sizeof member);
        if (!take_member(archive, &member, head.strings))
            return false;
    }
    archive->size = head.size;
    return true;
}

bool pf_archive_unpack_index(struct pf_archive *archive, const void *bytes, size_t size)
{
    struct run run = {(unsigned char *)(uintptr_t)bytes, size};
    uint64_t before = archive->size;
    if (take_all(archive, &run))
        return true;
    /* As if it had not been tried. Strings that nothing uses do no harm. */
    archive->count = 0;
    archive->size = before;
    pf_map_free(&archive->by_place);
    archive->by_place = (struct pf_map){0};
    pf_rows_cut(archive->problems, 0);
    return false;
}
