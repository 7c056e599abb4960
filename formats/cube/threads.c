/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "formats/cube/cubex.h"
#include "formats/kit/utf8.h"

/* Size in bytes of the buffer for a name, or for a path in the system tree. A longer path loses its outermost parts. */
enum { NAME_ROOM = 4096 };

/* Maximum number of parts of a path. Real systems have fewer than ten levels. */
enum { PATH_PARTS_MAX = 256 };

/* Locations between two checks of the pass. */
enum { LOCATIONS_A_STEP = 1024 };

static const struct pf_column fields[] = {
    {"rank", PF_GROUP, 0},  {"tid", PF_PLAIN, 0},  {"type", PF_PLAIN, 0},
    {"group", PF_PLAIN, 0}, {"path", PF_PLAIN, 0},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Returns the row of a node of the system tree; a row of absent cells if there is no such node. */
static const struct pf_cell *node_at(const struct pf_cube *cube, uint64_t node)
{
    static const struct pf_cell none[PF_CUBE_NODE_COLUMNS];
    return node < pf_rows_count(cube->system) ? pf_rows_at(cube->system, node) : none;
}

/* Builds MACHINE/NODE/PROCESS at the end of `text`, from the last part to the first. */
static struct pf_cell path_cell(const struct pf_cell *node, const struct pf_cube *cube, char text[NAME_ROOM])
{
    size_t at = NAME_ROOM;
    for (int parts = 0; parts < PATH_PARTS_MAX && node[PF_CUBE_NODE_ID].type != PF_ABSENT; parts++) {
        const struct pf_cell *name = &node[PF_CUBE_NODE_NAME], *parent = &node[PF_CUBE_NODE_PARENT];
        if (name->size + (size_t)1 > at)
            break;
        if (at < NAME_ROOM)
            text[--at] = '/';
        at -= name->size;
        if (name->size)
            memcpy(text + at, name->text, name->size);
        node = node_at(cube, parent->type != PF_ABSENT ? parent->u : PF_CUBE_NONE);
    }
    return pf_text(text + at, NAME_ROOM - at);
}

static void add_location_fields(struct pf_run *run, const struct pf_cube *cube, struct pf_rows *rows)
{
    char text[NAME_ROOM];
    for (uint32_t i = 0; i < cube->n_locations; i++) {
        const struct pf_cube_location *location = &cube->locations[i];
        const struct pf_cell *group = node_at(cube, location->group);
        if (i % LOCATIONS_A_STEP == 0)
            pf_run_step(run, i, cube->n_locations);
        struct pf_cell cells[FIELDS] = {group[PF_CUBE_NODE_RANK], location->cells[PF_CUBE_LOCATION_RANK],
                                        location->cells[PF_CUBE_LOCATION_TYPE], group[PF_CUBE_NODE_NAME],
                                        path_cell(group, cube, text)};
        pf_run_check(run, pf_rows_add(rows, cells, run->error));
    }
}

/*
 * Ways to name locations. They are tried in this order until all names are unique, since locations of different processes
 * often have the same name.
 */
enum location_naming { AS_IN_FILE, WITH_PROCESS, WITH_ID };

static struct pf_cell location_name(const struct pf_cube *cube, uint32_t id, enum location_naming how,
                                    char text[NAME_ROOM])
{
    const struct pf_cell *name = &cube->locations[id].cells[PF_CUBE_LOCATION_NAME],
                         *group = &node_at(cube, cube->locations[id].group)[PF_CUBE_NODE_NAME];
    int before = how == WITH_PROCESS ? (int)group->size : 0,
        size = (int)pf_utf8_cut(name->text, name->size, how == WITH_ID ? 1024 : NAME_ROOM);
    int n = snprintf(text, NAME_ROOM, "%.*s%s%.*s", before, before ? group->text : "",
                     how == WITH_PROCESS ? "." : "", size, size ? name->text : "");
    if (how == WITH_ID)
        n += snprintf(text + n, (size_t)(NAME_ROOM - n), "#%u", id);
    return pf_text(text, pf_utf8_cut(text, (size_t)n, NAME_ROOM - 2));
}

/* Replaces the rows by one row per location. Stops at a name that is empty or not unique, and returns false. */
static bool add_location_names(struct pf_run *run, const struct pf_cube *cube, enum location_naming how,
                               struct pf_rows *rows)
{
    char text[NAME_ROOM];
    struct pf_strings *names = PF_OWN(run, pf_strings_new(), pf_strings_free);
    bool unique = true;
    pf_rows_cut(rows, 0);
    for (uint32_t i = 0; i < cube->n_locations && unique; i++) {
        if (i % LOCATIONS_A_STEP == 0)
            pf_run_step(run, i, cube->n_locations);
        struct pf_cell cells[] = {pf_uint(i), location_name(cube, i, how, text)};
        unique = pf_run_intern(run, names, text, cells[1].size) == i && cells[1].size;
        pf_run_check(run, pf_rows_add(rows, cells, run->error));
    }
    return unique;
}

void pf_cubex_declare_threads(struct pf_model *model)
{
    model->partitions.singular = "thread";
    model->partitions.plural = "threads";
    model->partitions.field_columns = fields;
    model->partitions.n_fields = FIELDS;
}

void pf_cubex_set_threads(struct pf_run *run)
{
    const struct pf_cube *cube = &((const struct pf_cubex *)run->model->state)->cube;
    struct pf_partitions *partitions = &run->model->partitions;
    struct pf_rows *items = PF_OWN(run, pf_rows_new(2), pf_rows_free),
                   *rows = PF_OWN(run, pf_rows_new(FIELDS), pf_rows_free);
    enum location_naming how = AS_IN_FILE;
    while (!add_location_names(run, cube, how, items) && how < WITH_ID)
        how++;
    add_location_fields(run, cube, rows);
    pf_rows_free(partitions->items); /* rows of an earlier attempt that failed */
    pf_rows_free(partitions->fields);
    partitions->items = pf_disown(run, items);
    partitions->fields = pf_disown(run, rows);
}
