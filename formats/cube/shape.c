/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/cube/cube.h"

/* Computes the ends of subtrees. The call paths of a subtree are contiguous, since they are in document order. */
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
 * Computes the positions of call paths in inclusive metrics. Visits the call paths in document order. A visited root takes the next
 * position; then the children of the visited call path take the next ones.
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

/* Sorts locations by id. Ids number the columns of the data, so they must be 0, 1, ... without gaps. */
static void order_locations(struct pf_run *run, struct pf_cube *cube)
{
    uint32_t n = cube->n_locations;
    struct pf_cube_location *ordered = pf_run_memory(run, calloc((size_t)n + 1, sizeof *ordered));
    if (!n && !cube->broken)
        pf_cube_break(run, cube, "no-locations", "%llu locations: no values are shown", 0);
    for (uint32_t i = 0; i < n && !cube->broken; i++) {
        uint64_t id = cube->locations[i].id;
        if (id >= n)
            pf_cube_break(run, cube, "bad-id",
                          "location %llu: id is not less than the number of locations: no values are shown",
                          id);
        else if (ordered[id].there)
            pf_cube_break(run, cube, "doubled-id", "location %llu: duplicate id: no values are shown", id);
        else
            ordered[id] = cube->locations[i];
    }
    free(cube->broken ? ordered : cube->locations);
    if (!cube->broken)
        cube->locations = ordered;
}

void pf_cube_shape(struct pf_run *run, struct pf_cube *cube)
{
    find_ends(cube);
    number_wide(cube);
    order_locations(run, cube);
}
