/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cube/cubex.h"

/* A path of names in the system tree; longer ones are cut at their front. */
enum { PATH_MAX_BYTES = 4096 };

static struct pf_cell string_cell(const struct pf_cube *cube, uint32_t string)
{
    return pf_interned(cube->tree->strings, string);
}

static struct pf_cell rank_cell(int64_t rank)
{
    return rank >= 0 ? pf_int(rank) : pf_absent();
}

/* ---- threads ------------------------------------------------------------------------------------ */

static const struct pf_column thread_fields[] = {
    {"rank", PF_PLAIN, 0},  {"tid", PF_PLAIN, 0},  {"type", PF_PLAIN, 0},
    {"group", PF_PLAIN, 0}, {"path", PF_PLAIN, 0},
};
enum { THREAD_FIELDS = sizeof thread_fields / sizeof *thread_fields };

/* NULL: none. */
static const struct pf_cube_node *node_at(const struct pf_cube *cube, uint32_t node)
{
    return node < cube->n_nodes ? cube->nodes + node : NULL;
}

/* MACHINE/NODE/PROCESS, made from the end on. */
static struct pf_cell path_cell(const struct pf_cube *cube, uint32_t last, char text[PATH_MAX_BYTES])
{
    size_t at = PATH_MAX_BYTES;
    for (const struct pf_cube_node *node = node_at(cube, last); node; node = node_at(cube, node->parent)) {
        struct pf_cell name = string_cell(cube, node->name);
        size_t size = name.type == PF_TEXT ? name.size : 0;
        if (size + 1 > at)
            break;
        if (at < PATH_MAX_BYTES)
            text[--at] = '/';
        at -= size;
        if (size)
            memcpy(text + at, name.text, size);
    }
    return pf_text(text + at, PATH_MAX_BYTES - at);
}

/* Names are unique in a profile, but locations are often called alike in each process. */
struct naming {
    const struct pf_cube *cube;
    struct pf_strings *names;
    unsigned how; /* 0: as in the file; 1: with the process's name; 2: with the id */
};

static int name_of(const struct naming *naming, uint32_t location, char text[PATH_MAX_BYTES], size_t *size)
{
    const struct pf_cube_location *at = &naming->cube->locations[location];
    const struct pf_cube_node *node = node_at(naming->cube, at->group);
    struct pf_cell name = string_cell(naming->cube, at->name);
    struct pf_cell group = string_cell(naming->cube, node ? node->name : PF_NO_STRING);
    const char *name_text = name.type == PF_TEXT ? name.text : "",
               *group_text = group.type == PF_TEXT ? group.text : "";
    int name_size = (int)name.size, group_size = (int)group.size, n;
    if (naming->how == 0)
        n = snprintf(text, PATH_MAX_BYTES, "%.*s", name_size, name_text);
    else if (naming->how == 1)
        n = snprintf(text, PATH_MAX_BYTES, "%.*s.%.*s", group_size, group_text, name_size, name_text);
    else
        n = snprintf(text, PATH_MAX_BYTES, "%.*s#%u", name_size > 1024 ? 1024 : name_size, name_text,
                     location);
    *size = n < PATH_MAX_BYTES ? (size_t)n : PATH_MAX_BYTES - 1;
    return n < 0 ? -1 : 0;
}

/* Adds all names to the rows; *unique tells whether they are. */
static int add_names(struct naming *naming, struct pf_rows *items, bool *unique, struct pf_error *error)
{
    char text[PATH_MAX_BYTES];
    size_t size;
    for (uint32_t i = 0; i < naming->cube->n_locations; i++) {
        if (name_of(naming, i, text, &size))
            return pf_fail_memory(error);
        if (pf_intern(naming->names, text, size, error) == PF_NO_STRING)
            return -1;
        *unique = size && pf_strings_count(naming->names) == i + 1;
        if (!*unique)
            return 0;
        struct pf_cell cells[] = {pf_uint(i), pf_text(text, size)};
        if (pf_rows_add(items, cells, error))
            return -1;
    }
    return 0;
}

/* The threads' ids and names; NULL with *error filled. */
static struct pf_rows *make_items(const struct pf_cube *cube, struct pf_error *error)
{
    for (unsigned how = 0; how < 3; how++) {
        bool unique = true;
        struct naming naming = {cube, pf_strings_new(), how};
        struct pf_rows *items = pf_rows_new(2);
        int result =
            naming.names && items ? add_names(&naming, items, &unique, error) : pf_fail_memory(error);
        pf_strings_free(naming.names);
        if (!result && unique)
            return items;
        pf_rows_free(items);
        if (result)
            return NULL;
    }
    pf_fail(error, EINVAL, "no names can be made for the threads");
    return NULL;
}

static int add_fields(const struct pf_cube *cube, struct pf_rows *fields, struct pf_error *error)
{
    char text[PATH_MAX_BYTES];
    for (uint32_t i = 0; i < cube->n_locations; i++) {
        const struct pf_cube_location *location = &cube->locations[i];
        const struct pf_cube_node *group = node_at(cube, location->group);
        struct pf_cell cells[THREAD_FIELDS] = {group ? rank_cell(group->rank) : pf_absent(),
                                               rank_cell(location->rank), string_cell(cube, location->type),
                                               group ? string_cell(cube, group->name) : pf_absent(),
                                               path_cell(cube, location->group, text)};
        if (pf_rows_add(fields, cells, error))
            return -1;
    }
    return 0;
}

int pf_cubex_set_threads(struct pf_profile *profile, struct pf_error *error)
{
    const struct pf_cubex *cubex = profile->state;
    struct pf_rows *items = make_items(&cubex->cube, error),
                   *fields = items ? pf_rows_new(THREAD_FIELDS) : NULL;
    if (items && !fields)
        pf_fail_memory(error);
    if (!items || !fields || add_fields(&cubex->cube, fields, error)) {
        pf_rows_free(items);
        pf_rows_free(fields);
        return -1;
    }
    profile->partitions.items = items;
    profile->partitions.fields = fields;
    profile->partitions.field_columns = thread_fields;
    profile->partitions.n_fields = THREAD_FIELDS;
    return 0;
}

/* ---- regions ------------------------------------------------------------------------------------ */

const struct pf_column pf_cubex_region_columns[PF_CUBEX_REGION_COLUMNS] = {
    {"id", PF_PLAIN, 0},   {"begin", PF_PLAIN, 0},        {"end", PF_PLAIN, 0}, {"paradigm", PF_PLAIN, 0},
    {"role", PF_PLAIN, 0}, {"mangled_name", PF_PLAIN, 0}, {"url", PF_PLAIN, 0}, {"name", PF_PLAIN, 0},
    {"file", PF_PLAIN, 0}, {"description", PF_PLAIN, 0},
};

int pf_cubex_fill_regions(struct pf_cubex *cubex, struct pf_error *error)
{
    const struct pf_cube *cube = &cubex->cube;
    struct pf_rows *rows = pf_rows_new(PF_CUBEX_REGION_COLUMNS);
    if (!rows)
        return pf_fail_memory(error);
    for (size_t i = 0; i < cube->n_regions; i++) {
        const struct pf_cube_region *region = &cube->regions[i];
        struct pf_cell cells[PF_CUBEX_REGION_COLUMNS] = {
            pf_uint(region->id),
            rank_cell(region->begin),
            rank_cell(region->end),
            string_cell(cube, region->paradigm),
            string_cell(cube, region->role),
            string_cell(cube, region->mangled),
            string_cell(cube, region->url),
            string_cell(cube, region->name),
            string_cell(cube, region->file),
            string_cell(cube, region->description),
        };
        if (pf_rows_add(rows, cells, error)) {
            pf_rows_free(rows);
            return -1;
        }
    }
    cubex->regions = rows;
    return 0;
}

/* ---- the system tree ---------------------------------------------------------------------------- */

/* The ids of its levels are numbered apart in the file, so here the index is the id. */
const struct pf_column pf_cubex_system_columns[PF_CUBEX_SYSTEM_COLUMNS] = {
    {"id", PF_PLAIN, 0},     {"parent", PF_PLAIN, 0}, {"depth", PF_PLAIN, 0}, {"class", PF_PLAIN, 0},
    {"number", PF_PLAIN, 0}, {"rank", PF_PLAIN, 0},   {"name", PF_PLAIN, 0},
};

int pf_cubex_fill_system(struct pf_cubex *cubex, struct pf_error *error)
{
    const struct pf_cube *cube = &cubex->cube;
    struct pf_rows *rows = pf_rows_new(PF_CUBEX_SYSTEM_COLUMNS);
    if (!rows)
        return pf_fail_memory(error);
    for (size_t i = 0; i < cube->n_nodes; i++) {
        const struct pf_cube_node *node = &cube->nodes[i];
        struct pf_cell cells[PF_CUBEX_SYSTEM_COLUMNS] = {
            pf_uint(i),
            node->parent != PF_CUBE_NONE ? pf_uint(node->parent) : pf_absent(),
            pf_uint(node->depth),
            string_cell(cube, node->class),
            pf_uint(node->id),
            rank_cell(node->rank),
            string_cell(cube, node->name),
        };
        if (pf_rows_add(rows, cells, error)) {
            pf_rows_free(rows);
            return -1;
        }
    }
    cubex->system = rows;
    return 0;
}
