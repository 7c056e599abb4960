/* SPDX-License-Identifier: MIT */
#include "formats/cube/cube.h"

#include <stdlib.h>
#include <string.h>

#include "formats/input/inflate.h"

const struct pf_note_kind pf_cube_note_kinds[PF_CUBE_NOTE_KINDS] = {
    [PF_CUBE_NOTE_CUT] = {"fatal", "cut", NULL},
    [PF_CUBE_NOTE_BAD_HEADER] = {"fatal", "bad-header", NULL},
    [PF_CUBE_NOTE_LIMIT] = {"fatal", "limit", NULL},
    [PF_CUBE_NOTE_BAD_STREAM] = {"error", "bad-stream", NULL},
    [PF_CUBE_NOTE_WRAPPED] = {"warning", "wrapped", NULL},
    [PF_CUBE_NOTE_NEGATIVE] = {"warning", "negative", NULL},
    [PF_CUBE_NOTE_BAD_ID] = {"fatal", "bad-id", NULL},
    [PF_CUBE_NOTE_BAD_ID_ERROR] = {"error", "bad-id", NULL},
    [PF_CUBE_NOTE_BAD_ANCHOR] = {"fatal", "bad-anchor", NULL},
    [PF_CUBE_NOTE_BAD_TAG] = {"error", "bad-anchor", NULL},
    [PF_CUBE_NOTE_NO_ANCHOR] = {"fatal", "no-anchor", NULL},
    [PF_CUBE_NOTE_BAD_INDEX] = {"error", "bad-index", NULL},
    [PF_CUBE_NOTE_BAD_POSITION] = {"warning", "bad-position", NULL},
    [PF_CUBE_NOTE_CUT_INDEX] = {"error", "cut-index", NULL},
    [PF_CUBE_NOTE_SHORT_DATA] = {"error", "short-data", NULL},
    [PF_CUBE_NOTE_BAD_DATA] = {"error", "bad-data", NULL},
    [PF_CUBE_NOTE_NO_DATA] = {"error", "no-data", NULL},
    [PF_CUBE_NOTE_NO_INDEX] = {"error", "no-index", NULL},
    [PF_CUBE_NOTE_NO_NUMBER] = {"warning", "no-number", NULL},
    [PF_CUBE_NOTE_DOUBLED_ID] = {"fatal", "doubled-id", NULL},
    [PF_CUBE_NOTE_NO_REGION] = {"fatal", "no-region", NULL},
    [PF_CUBE_NOTE_NO_LOCATIONS] = {"fatal", "no-locations", NULL},
};

/* ---- bytes -------------------------------------------------------------------------------------- */

ssize_t pf_cube_bytes_read(const struct pf_cube_bytes *bytes, void *buffer, size_t size, uint64_t at,
                           struct pf_error *error)
{
    if (bytes->inflate)
        return pf_inflate_read(bytes->inflate, buffer, size, at, error);
    if (at >= bytes->size)
        return 0;
    if (size > bytes->size - at)
        size = (size_t)(bytes->size - at);
    return pf_input_read(bytes->input, buffer, size, bytes->offset + at, error);
}

/* ---- opening ------------------------------------------------------------------------------------ */

static ssize_t read_packed(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct pf_cube *cube = arg;
    struct pf_cube_bytes plain = cube->anchor;
    plain.inflate = NULL;
    return pf_cube_bytes_read(&plain, buffer, size, offset, error);
}

/* anchor.xml, which may be gzip data under the same name. */
static int find_anchor(struct pf_cube *cube, struct pf_error *error)
{
    const struct pf_cube_member *member = pf_cube_archive_find(&cube->archive, "anchor.xml");
    unsigned char head[16];
    if (!member)
        return 0;
    cube->has_anchor = true;
    cube->anchor =
        (struct pf_cube_bytes){.input = cube->input, .offset = member->offset, .size = member->size};
    ssize_t have = pf_cube_bytes_read(&cube->anchor, head, sizeof head, 0, error);
    if (have < 0)
        return -1;
    if (!pf_inflate_is_gzip(head, (size_t)have))
        return 0;
    cube->anchor.inflate = pf_inflate_new(read_packed, cube, member->size);
    return cube->anchor.inflate ? 0 : pf_fail_memory(error);
}

int pf_cube_open(struct pf_cube *cube, struct pf_input *input, struct pf_error *error)
{
    *cube = (struct pf_cube){.input = input, .attributes = pf_rows_new(2), .texts = pf_strings_new()};
    if (!cube->attributes || !cube->texts)
        return pf_fail_memory(error);
    if (pf_cube_archive_read(&cube->archive, input, &cube->notes, error) || find_anchor(cube, error))
        return -1;
    if (!cube->has_anchor)
        return pf_cube_note(&cube->notes, PF_CUBE_NOTE_NO_ANCHOR, 0, -1,
                            "there is no anchor.xml in the file, which says what its other members are");
    if (pf_cube_anchor_head(cube, error))
        return -1;
    for (size_t i = 0; i < cube->n_metrics; i++)
        cube->metrics[i].type = pf_cube_type_of(cube->metrics[i].dtype);
    return 0;
}

/* ---- loading ------------------------------------------------------------------------------------ */

static void forget_load(struct pf_cube *cube)
{
    if (!cube->tree_taken)
        pf_tree_free(cube->tree);
    pf_notes_free(&cube->load_notes);
    free(cube->paths);
    free(cube->regions);
    free(cube->nodes);
    free(cube->locations);
    cube->tree = NULL;
    cube->tree_taken = false;
    cube->paths = NULL;
    cube->regions = NULL;
    cube->nodes = NULL;
    cube->locations = NULL;
    cube->n_regions = cube->room_regions = cube->n_nodes = cube->room_nodes = 0;
    cube->n_locations = 0;
    cube->broken = false;
    cube->loaded = false;
}

/* What is wrong inside a compressed anchor is known once it has been read. */
static int note_damage(struct pf_cube *cube)
{
    struct pf_error damage;
    if (!cube->anchor.inflate || !pf_inflate_damage(cube->anchor.inflate, &damage))
        return 0;
    return pf_cube_note(&cube->load_notes, PF_CUBE_NOTE_BAD_ANCHOR, 0, (int64_t)cube->anchor.offset,
                        "anchor.xml cannot be inflated to its end: %.150s", damage.what);
}

static int load(struct pf_cube *cube, struct pf_pass *pass, struct pf_error *error)
{
    static const char *const no_kinds[] = {""};
    cube->tree = pf_tree_new(no_kinds);
    if (!cube->tree)
        return pf_fail_memory(error);
    if (cube->has_anchor && (pf_cube_anchor_body(cube, pass, error) || note_damage(cube)))
        return -1;
    return pf_cube_shape(cube, error);
}

int pf_cube_load(struct pf_cube *cube, struct pf_pass *pass, struct pf_error *error)
{
    if (cube->loaded)
        return 0;
    if (load(cube, pass, error)) {
        forget_load(cube);
        return -1;
    }
    cube->loaded = true;
    return 0;
}

/* ---- closing ------------------------------------------------------------------------------------ */

void pf_cube_close(struct pf_cube *cube)
{
    forget_load(cube);
    pf_cube_forget_data(cube);
    free(cube->metrics);
    pf_inflate_free(cube->anchor.inflate);
    pf_cube_archive_free(&cube->archive);
    pf_strings_free(cube->texts);
    pf_rows_free(cube->attributes);
    pf_notes_free(&cube->notes);
    *cube = (struct pf_cube){0};
}
