/* SPDX-License-Identifier: MIT */
#include "formats/input/archive_kept.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* Increment this when the index or its layout changes. Layout, in host byte order: head, members, strings, problems. */
#define EDITION (UINT64_C(0x7461727a69700000) + 3)

struct kept_head {
    uint64_t edition;
    struct pf_stamp stamp;
    uint64_t size, members, strings, problems;
};

/* When writing: buffer (NULL: only count) and number of bytes written to it. When reading: unread bytes and their number. */
struct kept_run {
    unsigned char *at;
    size_t size;
};

static void kept_put(struct kept_run *run, const void *bytes, size_t size)
{
    if (run->at && size)
        memcpy(run->at + run->size, bytes, size);
    run->size += size;
}

static void put_text(struct kept_run *run, struct pf_cell text)
{
    kept_put(run, &text.size, sizeof text.size);
    kept_put(run, text.text, text.size);
}

static void put_all(const struct pf_archive_tree *tree, const struct pf_stamp *stamp, struct kept_run *run)
{
    struct kept_head head = {.edition = EDITION,
                             .stamp = pf_stamp_lasting(stamp),
                             .size = tree->size,
                             .members = tree->count,
                             .strings = pf_strings_count(tree->strings),
                             .problems = pf_rows_count(tree->problems)};
    kept_put(run, &head, sizeof head);
    kept_put(run, tree->members, tree->count * sizeof *tree->members);
    for (uint32_t i = 0; i < head.strings; i++)
        put_text(run, pf_interned(tree->strings, i));
    for (size_t i = 0; i < head.problems; i++)
        for (size_t c = 0; c < 3; c++)
            put_text(run, pf_rows_at(tree->problems, i)[c]);
}

void *pf_archive_pack(const struct pf_archive_tree *tree, const struct pf_stamp *stamp, size_t *size)
{
    struct kept_run run = {0};
    put_all(tree, stamp, &run);
    run = (struct kept_run){malloc(run.size), 0};
    if (run.at)
        put_all(tree, stamp, &run);
    *size = run.size;
    return run.at;
}

/* ---- deserializing ------------------------------------------------------------------------------ */

static const void *kept_take(struct kept_run *run, uint64_t size)
{
    if (size > run->size)
        return NULL;
    const void *bytes = run->at;
    run->at += size;
    run->size -= (size_t)size;
    return bytes;
}

static bool kept_read_text(struct kept_run *run, struct pf_cell *cell)
{
    uint32_t size;
    const void *have = kept_take(run, sizeof size);
    if (have)
        memcpy(&size, have, sizeof size);
    const char *text = have ? kept_take(run, size) : NULL;
    if (text)
        *cell = pf_text(text, size);
    return text != NULL;
}

static bool take_strings(struct pf_archive_tree *tree, struct kept_run *run, uint64_t n)
{
    struct pf_error error;
    struct pf_cell text;
    for (uint32_t i = 0; i < n; i++)
        if (!kept_read_text(run, &text) || pf_intern(tree->strings, text.text, text.size, &error) != i)
            return false;
    return true;
}

static bool take_problems(struct pf_archive_tree *tree, struct kept_run *run, uint64_t n)
{
    struct pf_error error;
    struct pf_cell row[3];
    for (uint64_t i = 0; i < n; i++)
        if (!kept_read_text(run, &row[0]) || !kept_read_text(run, &row[1]) || !kept_read_text(run, &row[2]) ||
            pf_rows_add(tree->problems, row, &error))
            return false;
    return true;
}

/* Members come after their folder and in the folder's order, so adding them again restores `first`, `last` and `next`. */
static bool kept_take_member(struct pf_archive_tree *tree, const struct pf_member *kept, uint64_t strings)
{
    struct pf_error error;
    bool first = !tree->count;
    if (first != (kept->parent == PF_NO_MEMBER) || (!first && kept->parent >= tree->count) ||
        (!first && kept->name >= strings) || (kept->type == DT_LNK && kept->link >= strings) ||
        (!first && tree->members[kept->parent].type != DT_DIR))
        return false;
    uint32_t at = pf_archive_tree_add(tree, kept->parent, kept->name, kept->type, &error);
    if (at == PF_NO_MEMBER)
        return false;
    struct pf_member *member = &tree->members[at];
    member->link = kept->link;
    member->start = kept->start;
    member->size = kept->size;
    member->mtime = kept->mtime;
    member->method = kept->method;
    return true;
}

static bool take_all(struct pf_archive_tree *tree, const struct pf_stamp *stamp, struct kept_run *run)
{
    struct pf_stamp now = pf_stamp_lasting(stamp);
    struct kept_head head;
    struct pf_member member;
    const void *have = kept_take(run, sizeof head);
    if (have)
        memcpy(&head, have, sizeof head);
    if (!have || head.edition != EDITION || !pf_stamp_same(&head.stamp, &now) ||
        head.members > run->size / sizeof member || !head.members)
        return false;
    const unsigned char *members = kept_take(run, head.members * sizeof member);
    if (!take_strings(tree, run, head.strings) || !take_problems(tree, run, head.problems))
        return false;
    for (uint64_t i = 0; i < head.members; i++) {
        memcpy(&member, members + i * sizeof member, sizeof member);
        if (!kept_take_member(tree, &member, head.strings))
            return false;
    }
    tree->size = head.size;
    return true;
}

bool pf_archive_unpack_index(struct pf_archive_tree *tree, const struct pf_stamp *stamp, const void *bytes,
                             size_t size)
{
    struct kept_run run = {(unsigned char *)(uintptr_t)bytes, size};
    bool sound = take_all(tree, stamp, &run);
    if (!sound)
        pf_archive_tree_clear(tree);
    return sound;
}
