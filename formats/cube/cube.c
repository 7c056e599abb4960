/* SPDX-License-Identifier: MIT */
#include "formats/cube/cube.h"

#include <stdlib.h>

#include "formats/input/inflate.h"

void pf_cube_open(struct pf_run *run, struct pf_cube *cube, struct pf_input *input)
{
    cube->input = input;
    cube->attributes = pf_run_memory(run, pf_rows_new(2));
    cube->texts = pf_run_memory(run, pf_strings_new());
    pf_cube_archive_read(run, &cube->archive, input);
    pf_cube_find_anchor(run, cube);
    if (cube->anchor)
        pf_cube_anchor_head(run, cube);
}

static void forget_load(struct pf_cube *cube)
{
    if (!cube->tree_taken)
        pf_tree_free(cube->tree);
    pf_rows_free(cube->regions);
    pf_rows_free(cube->system);
    free(cube->paths);
    free(cube->locations);
    cube->tree = NULL;
    cube->regions = cube->system = NULL;
    cube->paths = NULL;
    cube->locations = NULL;
    cube->n_locations = 0;
    cube->broken = false;
}

void pf_cube_load(struct pf_run *run, struct pf_cube *cube)
{
    forget_load(cube); /* the results of an earlier attempt that failed */
    PF_OWN(run, cube, forget_load);
    cube->kinds[0] = "region";
    cube->n_kinds = 1;
    cube->tree = pf_run_memory(run, pf_tree_new(cube->kinds));
    cube->regions = pf_run_memory(run, pf_rows_new(PF_CUBE_REGION_COLUMNS));
    cube->system = pf_run_memory(run, pf_rows_new(PF_CUBE_NODE_COLUMNS));
    pf_cube_anchor_body(run, cube);
    pf_disown(run, cube);
}

void pf_cube_close(struct pf_cube *cube)
{
    forget_load(cube);
    pf_cube_forget_data(cube);
    free(cube->metrics);
    pf_inflate_free(cube->inflate);
    pf_cube_archive_free(&cube->archive);
    pf_strings_free(cube->texts);
    pf_rows_free(cube->attributes);
    *cube = (struct pf_cube){0};
}
