/* SPDX-License-Identifier: MIT */
#include "formats/input/archive_tree.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"

bool pf_archive_tree_begin(struct pf_archive_tree *tree, uint64_t size)
{
    *tree = (struct pf_archive_tree){.strings = pf_strings_new(), .size = size, .problems = pf_rows_new(3)};
    return tree->strings && tree->problems;
}

void pf_archive_tree_end(struct pf_archive_tree *tree)
{
    pf_strings_free(tree->strings);
    pf_ids_free(&tree->by_place);
    pf_rows_free(tree->problems);
    free(tree->members);
}

void pf_archive_tree_clear(struct pf_archive_tree *tree)
{
    tree->count = 0;
    pf_ids_free(&tree->by_place);
    pf_rows_cut(tree->problems, 0);
}

static uint64_t archive_tree_place_of(uint32_t folder, uint32_t name)
{
    return (uint64_t)folder << 32 | name;
}

uint32_t pf_archive_tree_add(struct pf_archive_tree *tree, uint32_t folder, uint32_t name, uint8_t type,
                             struct pf_error *error)
{
    if (tree->count == PF_NO_MEMBER - 1 ||
        pf_array_room(&tree->members, &tree->room, tree->count, sizeof *tree->members, error))
        return PF_NO_MEMBER;
    uint32_t member = tree->count++;
    tree->members[member] = (struct pf_member){.parent = folder,
                                               .name = name,
                                               .link = PF_NO_STRING,
                                               .type = type,
                                               .first = PF_NO_MEMBER,
                                               .last = PF_NO_MEMBER,
                                               .next = PF_NO_MEMBER};
    if (folder == PF_NO_MEMBER)
        return member;
    struct pf_member *above = &tree->members[folder];
    *(above->last == PF_NO_MEMBER ? &above->first : &tree->members[above->last].next) = member;
    above->last = member;
    tree->members[member].mtime = above->mtime;
    return pf_ids_set(&tree->by_place, archive_tree_place_of(folder, name), member, error) ? PF_NO_MEMBER
                                                                                           : member;
}

uint32_t pf_archive_tree_child(const struct pf_archive_tree *tree, uint32_t folder, const char *name,
                               size_t size)
{
    uint32_t number = pf_string_of(tree->strings, name, size);
    return number == PF_NO_STRING ? PF_NO_MEMBER
                                  : pf_ids_find(&tree->by_place, archive_tree_place_of(folder, number));
}

uint32_t pf_archive_tree_find(const struct pf_archive_tree *tree, uint32_t from, const char *path)
{
    while (*path && from != PF_NO_MEMBER) {
        size_t size = strcspn(path, "/");
        if (size && !(size == 1 && *path == '.'))
            from = tree->members[from].type == DT_DIR ? pf_archive_tree_child(tree, from, path, size)
                                                      : PF_NO_MEMBER;
        path += size + (path[size] == '/');
    }
    return from;
}
