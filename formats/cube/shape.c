/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cube.h"

/* ---- kinds of call paths ------------------------------------------------------------------------ */

/* The roles of regions that Cube's writers know; the first stands for any other. */
static const char *const kinds[] = {
    "region",   "function",         "wrapper",        "loop",        "parallel",         "artificial",
    "user",     "point2point",      "one2one",        "one2all",     "all2one",          "all2all",
    "barrier",  "other collective", "atomic",         "rma",         "file_io",          "file io",
    "allocate", "deallocate",       "reallocate",     "critical",    "critical sblock",  "implicit barrier",
    "flush",    "master",           "ordered",        "sections",    "section",          "single",
    "task",     "taskwait",         "workshare",      "phase",       "dynamic",          "thread create",
    "workload", "thread wait",      "ordered sblock", "task create", "dynamic function", "single sblock",
};

static uint8_t kind_of(const struct pf_cell *role)
{
    if (role->type == PF_TEXT)
        for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++)
            if (role->size == strlen(kinds[i]) && !memcmp(role->text, kinds[i], role->size))
                return (uint8_t)i;
    return 0;
}

/* ---- ids ---------------------------------------------------------------------------------------- */

struct numbered {
    uint64_t id;
    uint32_t index;
};

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

#define note_fatal(cube, kind, what, id)                                                                     \
    ((cube)->broken = true, pf_cube_note(&(cube)->load_notes, kind, 0, -1, what, (unsigned long long)(id)))

/* Sorts by id; a number that is there twice breaks the cube. */
static int sort_ids(struct pf_cube *cube, struct numbered *list, size_t n, const char *what, bool *doubled)
{
    *doubled = false;
    qsort(list, n, sizeof *list, compare_numbered);
    for (size_t i = 1; i < n && !*doubled; i++)
        if (list[i].id == list[i - 1].id) {
            *doubled = true;
            if (note_fatal(cube, PF_CUBE_NOTE_DOUBLED_ID, what, list[i].id))
                return -1;
        }
    return 0;
}

/* ---- call paths --------------------------------------------------------------------------------- */

static uint32_t find_region(const struct numbered *regions, size_t n, uint32_t id)
{
    struct numbered key = {.id = id};
    const struct numbered *found = n ? bsearch(&key, regions, n, sizeof key, compare_numbered) : NULL;
    return found ? found->index : PF_CUBE_NONE;
}

/* Gives each call path its region, and from that name, kind and place. */
static int name_paths(struct pf_cube *cube, const struct numbered *regions, struct pf_error *error)
{
    struct pf_tree *tree = cube->tree;
    uint32_t unnamed = pf_intern(tree->strings, "", 0, error);
    if (unnamed == PF_NO_STRING)
        return -1;
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t id = cube->paths[i].region, index = find_region(regions, cube->n_regions, id);
        cube->paths[i].region = index;
        tree->name[i] = unnamed;
        if (index == PF_CUBE_NONE) {
            if (note_fatal(cube, PF_CUBE_NOTE_NO_REGION, "a call path is in region %llu, which is not there",
                           id))
                return -1;
            continue;
        }
        const struct pf_cube_region *region = &cube->regions[index];
        struct pf_cell role = pf_interned(tree->strings, region->role);
        if (region->name != PF_NO_STRING)
            tree->name[i] = region->name;
        tree->kind[i] = kind_of(&role);
        tree->file[i] = region->file;
        tree->line[i] = region->begin > 0 && region->begin < UINT32_MAX ? (uint32_t)region->begin : 0;
    }
    return 0;
}

static int find_regions(struct pf_cube *cube, struct pf_error *error)
{
    struct numbered *regions = malloc((cube->n_regions + 1) * sizeof *regions);
    bool doubled;
    if (!regions)
        return pf_fail_memory(error);
    for (size_t i = 0; i < cube->n_regions; i++)
        regions[i] = (struct numbered){cube->regions[i].id, (uint32_t)i};
    int result = sort_ids(cube, regions, cube->n_regions, "region %llu is there twice", &doubled);
    if (!result)
        result = name_paths(cube, regions, error);
    free(regions);
    return result;
}

/* The ids of call paths, which are the tree's keys so far. Doubled ones name nothing: then the index is the id. */
static int set_path_ids(struct pf_cube *cube, struct pf_error *error)
{
    struct pf_tree *tree = cube->tree;
    struct numbered *ids = malloc(((size_t)tree->count + 1) * sizeof *ids);
    bool doubled;
    if (!ids)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++)
        ids[i] = (struct numbered){tree->key[i], i};
    int result = sort_ids(cube, ids, tree->count, "call path %llu is there twice", &doubled);
    free(ids);
    if (result || doubled)
        return result;
    tree->id = malloc(((size_t)tree->count + 1) * sizeof *tree->id);
    if (!tree->id)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++)
        tree->id[i] = tree->key[i];
    return 0;
}

/* Where subtrees end: in the document's order each is a range. */
static void find_ends(struct pf_cube *cube)
{
    const struct pf_tree *tree = cube->tree;
    for (uint32_t i = 0; i < tree->count; i++)
        cube->paths[i].end = i + 1;
    for (uint32_t i = tree->count; i-- > 0;) {
        uint32_t parent = tree->parent[i];
        if (parent != PF_NO_CONTEXT && cube->paths[parent].end < cube->paths[i].end)
            cube->paths[parent].end = cube->paths[i].end;
    }
}

/*
 * The positions of rows of inclusive metrics: a root, then its children, then the children of the first of them,
 * and so on in the document's order; one root after the other.
 */
static void number_wide(struct pf_cube *cube)
{
    const struct pf_tree *tree = cube->tree;
    uint32_t next = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (tree->parent[i] == PF_NO_CONTEXT)
            cube->paths[i].wide = next++;
        for (uint32_t c = tree->first[i]; c < tree->first[i + 1]; c++)
            cube->paths[tree->child[c]].wide = next++;
    }
}

/* ---- locations ---------------------------------------------------------------------------------- */

static int place_locations(struct pf_cube *cube, struct pf_cube_location *ordered, uint8_t *known)
{
    for (size_t i = 0; i < cube->n_locations && !cube->broken; i++) {
        uint64_t id = cube->locations[i].id;
        if (id >= cube->n_locations)
            return note_fatal(cube, PF_CUBE_NOTE_BAD_ID, "location %llu has an id beyond their number", id);
        if (known[id])
            return note_fatal(cube, PF_CUBE_NOTE_DOUBLED_ID, "location %llu is there twice", id);
        known[id] = 1;
        ordered[id] = cube->locations[i];
    }
    return 0;
}

/* Puts them in the order of their ids, which are the columns of the data: 0, 1, ... without a gap. */
static int order_locations(struct pf_cube *cube, struct pf_error *error)
{
    size_t n = cube->n_locations;
    if (!n && !cube->broken)
        return note_fatal(cube, PF_CUBE_NOTE_NO_LOCATIONS, "the file has %llu locations", 0);
    struct pf_cube_location *ordered = calloc(n + 1, sizeof *ordered);
    uint8_t *known = calloc(n + 1, 1);
    int result = ordered && known ? place_locations(cube, ordered, known) : pf_fail_memory(error);
    free(known);
    if (result || cube->broken) {
        free(ordered);
        return result;
    }
    free(cube->locations);
    cube->locations = ordered;
    return 0;
}

int pf_cube_shape(struct pf_cube *cube, struct pf_error *error)
{
    struct pf_tree *tree = cube->tree;
    tree->kinds = kinds;
    tree->line = calloc((size_t)tree->count + 1, sizeof *tree->line);
    tree->file = calloc((size_t)tree->count + 1, sizeof *tree->file);
    if (!tree->line || !tree->file)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++)
        tree->file[i] = PF_NO_STRING;
    if (find_regions(cube, error) || set_path_ids(cube, error) || pf_tree_finish(tree, error))
        return -1;
    find_ends(cube);
    number_wide(cube);
    return order_locations(cube, error);
}
