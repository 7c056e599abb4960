/* SPDX-License-Identifier: MIT */
#include "formats/cube/cube.h"

#include <stdlib.h>

#include "formats/input/inflate.h"

/* ---- opening ------------------------------------------------------------------------------------ */

int pf_cube_open(struct pf_cube *cube, struct pf_input *input, struct pf_error *error)
{
    *cube = (struct pf_cube){.input = input, .attributes = pf_rows_new(2), .texts = pf_strings_new()};
    if (!cube->attributes || !cube->texts)
        return pf_fail_memory(error);
    if (pf_cube_archive_read(&cube->archive, input, &cube->notes, error) || pf_cube_find_anchor(cube, error))
        return -1;
    return cube->anchor ? pf_cube_anchor_head(cube, error) : 0;
}

/* ---- loading ------------------------------------------------------------------------------------ */

static void forget_load(struct pf_cube *cube)
{
    if (!cube->tree_taken)
        pf_tree_free(cube->tree);
    pf_notes_free(&cube->load_notes);
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

int pf_cube_load(struct pf_cube *cube, struct pf_error *error)
{
    forget_load(cube); /* discards the results of a failed or cancelled load */
    cube->kinds[0] = "region";
    cube->n_kinds = 1;
    cube->tree = pf_tree_new(cube->kinds);
    cube->regions = pf_rows_new(PF_CUBE_REGION_COLUMNS);
    cube->system = pf_rows_new(PF_CUBE_NODE_COLUMNS);
    int result = cube->tree && cube->regions && cube->system ? 0 : pf_fail_memory(error);
    if (!result)
        result = pf_cube_anchor_body(cube, error);
    if (result)
        forget_load(cube);
    return result;
}

/* ---- closing ------------------------------------------------------------------------------------ */

void pf_cube_close(struct pf_cube *cube)
{
    forget_load(cube);
    pf_cube_forget_data(cube);
    free(cube->metrics);
    pf_inflate_free(cube->inflate);
    pf_cube_archive_free(&cube->archive);
    pf_strings_free(cube->texts);
    pf_rows_free(cube->attributes);
    pf_notes_free(&cube->notes);
    *cube = (struct pf_cube){0};
}
