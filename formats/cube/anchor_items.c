/* SPDX-License-Identifier: MIT */
/* Handlers for the elements of anchor.xml. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/cube/anchor.h"
#include "formats/kit/array.h"

/* Maximum size in bytes of a call path's parameters. */
enum { PARAMETERS_MAX = 4096 };

/* ---- attributes --------------------------------------------------------------------------------- */

static const char *attribute(const struct pf_cube_reading *reading, const char *name)
{
    return pf_xml_attribute(reading->xml, name);
}

static int64_t int_or(const char *text, int64_t otherwise)
{
    char *end;
    if (!text)
        return otherwise;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    bool any = end != text;
    while (isspace((unsigned char)*end))
        end++;
    return any && !*end && !errno ? value : otherwise;
}

/* Reads an id, which is never negative. An invalid id makes the file's values unusable. */
static uint32_t read_id(const struct pf_cube_reading *reading, const char *name)
{
    int64_t id = int_or(attribute(reading, name), -1);
    if (id >= 0 && id < UINT32_MAX)
        return (uint32_t)id;
    reading->cube->broken = true;
    (void)pf_cube_note(&reading->cube->load_notes, "fatal", "bad-id", pf_xml_line(reading->xml), -1,
                       "<%.40s> has no number as its %s", reading->name, name);
    return 0;
}

/*
 * Interns a string in the tree's pool; *string is PF_NO_STRING for a missing or empty one. Returns 0, or -1 with *error
 * filled.
 */
static int intern(const struct pf_cube_reading *reading, const char *text, size_t size, uint32_t *string,
                  struct pf_error *error)
{
    *string = PF_NO_STRING;
    if (!text || !size)
        return 0;
    *string = pf_intern(reading->cube->tree->strings, text, size, error);
    return *string == PF_NO_STRING ? -1 : 0;
}

static int intern_attribute(const struct pf_cube_reading *reading, const char *name, uint32_t *string,
                            struct pf_error *error)
{
    const char *value = attribute(reading, name);
    return intern(reading, value, value ? strlen(value) : 0, string, error);
}

static struct pf_cell string_cell(const struct pf_cube_reading *reading, uint32_t string)
{
    return pf_interned(reading->cube->tree->strings, string);
}

/* A line or a rank; -1 means none. */
static struct pf_cell number_cell(const char *text)
{
    int64_t number = int_or(text, -1);
    return number >= 0 ? pf_int(number) : pf_absent();
}

/* Returns a NUL-terminated copy without surrounding whitespace, owned by the cube. NULL with *error filled. */
static const char *keep(const struct pf_cube *cube, const char *text, size_t size, struct pf_error *error)
{
    while (size && isspace((unsigned char)*text))
        text++, size--;
    while (size && isspace((unsigned char)text[size - 1]))
        size--;
    char *copy = strndup(text, size);
    if (!copy) {
        pf_fail_memory(error);
        return NULL;
    }
    uint32_t string = pf_intern(cube->texts, copy, strlen(copy) + 1, error);
    free(copy);
    return string == PF_NO_STRING ? NULL : pf_interned(cube->texts, string).text;
}

/* ---- head: attributes and metrics --------------------------------------------------------------- */

int pf_cube_start_cube(struct pf_cube_reading *reading, struct pf_error *error)
{
    (void)error;
    const char *version = attribute(reading, "version");
    reading->is_cube = true;
    if (version)
        snprintf(reading->cube->version, sizeof reading->cube->version, "%s", version);
    return 0;
}

/* Attributes of the file are direct children of <cube>; others belong to nodes of the system. */
int pf_cube_start_attr(struct pf_cube_reading *reading, struct pf_error *error)
{
    const char *key = attribute(reading, "key"), *value = attribute(reading, "value");
    if (reading->depth != 2 || !key)
        return 0;
    struct pf_cell cells[] = {pf_string(key), pf_string(value ? value : "")};
    return pf_rows_add(reading->cube->attributes, cells, error);
}

static enum pf_cube_stored stored_of(const char *kind)
{
    static const char *const kinds[] = {
        [PF_CUBE_INCLUSIVE] = "INCLUSIVE",
        [PF_CUBE_DERIVED] = "POSTDERIVED",
        [PF_CUBE_DERIVED_EXCLUSIVE] = "PREDERIVED_EXCLUSIVE",
        [PF_CUBE_DERIVED_INCLUSIVE] = "PREDERIVED_INCLUSIVE",
    };
    for (unsigned k = PF_CUBE_INCLUSIVE; k < sizeof kinds / sizeof *kinds; k++)
        if (!strcmp(kind, kinds[k]))
            return (enum pf_cube_stored)k;
    return strcmp(kind, "DERIVED") ? PF_CUBE_EXCLUSIVE : PF_CUBE_DERIVED;
}

int pf_cube_start_metric(struct pf_cube_reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    const char *kind = attribute(reading, "type"), *shown = attribute(reading, "viztype");
    int64_t id = int_or(attribute(reading, "id"), -1);
    if (!kind)
        kind = "EXCLUSIVE"; /* children may have no type */
    if (pf_array_room(&cube->metrics, &cube->room_metrics, cube->n_metrics, sizeof *cube->metrics, error) ||
        !(kind = keep(cube, kind, strlen(kind), error)))
        return -1;
    if (id < 0) {
        id = (int64_t)cube->n_metrics;
        (void)pf_cube_note(&cube->notes, "error", "bad-id", pf_xml_line(reading->xml), -1,
                           "a metric has no number as its id");
    }
    cube->metrics[cube->n_metrics] = (struct pf_cube_metric){.id = (uint64_t)id,
                                                             .parent = reading->metric,
                                                             .stored = stored_of(kind),
                                                             .ghost = shown && !strcasecmp(shown, "GHOST"),
                                                             .kind = kind,
                                                             .name = "",
                                                             .title = "",
                                                             .dtype = "",
                                                             .unit = "",
                                                             .description = "",
                                                             .expression = ""};
    reading->metric = (uint32_t)cube->n_metrics++;
    return 0;
}

/* ---- program: regions and call paths ------------------------------------------------------------ */

int pf_cube_start_region(struct pf_cube_reading *reading, struct pf_error *error)
{
    int64_t begin = int_or(attribute(reading, "begin"), 0);
    reading->region.line = begin > 0 && begin < UINT32_MAX ? (uint32_t)begin : 0;
    if (intern_attribute(reading, "mod", &reading->region.file, error))
        return -1;
    memset(reading->cells, 0, sizeof reading->cells); /* absent */
    reading->cells[PF_CUBE_REGION_ID] = pf_uint(read_id(reading, "id"));
    reading->cells[PF_CUBE_REGION_BEGIN] = number_cell(attribute(reading, "begin"));
    reading->cells[PF_CUBE_REGION_END] = number_cell(attribute(reading, "end"));
    reading->cells[PF_CUBE_REGION_FILE] = string_cell(reading, reading->region.file);
    return 0;
}

/* Maps a region's role to the kind of its call paths. Kind 0: no role, or more distinct roles than kinds. */
static int find_kind(struct pf_cube *cube, struct pf_cell role, uint8_t *kind, struct pf_error *error)
{
    enum { ROLE_MAX = 127 };
    *kind = 0;
    if (role.type != PF_TEXT)
        return 0;
    const char *name = keep(cube, role.text, role.size < ROLE_MAX ? role.size : ROLE_MAX, error);
    size_t k = 1;
    while (k < cube->n_kinds && cube->kinds[k] != name) /* names are interned */
        k++;
    if (!name || k == PF_CUBE_KINDS)
        return name ? 0 : -1;
    cube->kinds[k] = name;
    cube->n_kinds += k == cube->n_kinds;
    *kind = (uint8_t)k;
    return 0;
}

int pf_cube_end_region(struct pf_cube_reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    struct pf_cube_region *region = &reading->region;
    const struct pf_cell *cells = reading->cells, *name = &cells[PF_CUBE_REGION_NAME];
    uint64_t id = cells[PF_CUBE_REGION_ID].u;
    if (intern(reading, name->text, name->size, &region->name, error) ||
        pf_rows_add(cube->regions, cells, error) ||
        find_kind(cube, cells[PF_CUBE_REGION_ROLE], &region->kind, error) ||
        pf_array_room(&reading->regions, &reading->room_regions, reading->n_regions, sizeof *region, error))
        return -1;
    int added = pf_ids_add(&reading->region_ids, id, (uint32_t)reading->n_regions, error);
    if (!added)
        (void)pf_cube_note_fatal(cube, "doubled-id", "region %llu is there twice", id);
    reading->regions[reading->n_regions++] = *region;
    reading->subject = OF_NOTHING;
    return added < 0 ? -1 : 0;
}

/* tree->key holds the ids until the whole file is read. */
int pf_cube_start_cnode(struct pf_cube_reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    struct pf_tree *tree = cube->tree;
    uint32_t id = read_id(reading, "id"), callee = read_id(reading, "calleeId");
    int64_t line = int_or(attribute(reading, "line"), 0);
    struct pf_cube_path path = {.parameters = PF_NO_STRING,
                                .line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0,
                                .region = pf_ids_find(&reading->region_ids, callee)};
    if (path.region == PF_CUBE_NONE)
        (void)pf_cube_note_fatal(cube, "no-region", "a call path is in region %llu, which is not there",
                                 callee);
    int added = pf_ids_add(&reading->path_ids, id, tree->count, error);
    if (!added && !reading->doubled)
        (void)pf_cube_note_fatal(cube, "doubled-id", "call path %llu is there twice", id);
    reading->doubled |= !added;
    if (added < 0 || intern_attribute(reading, "mod", &path.file, error) ||
        pf_array_room(&cube->paths, &reading->room_paths, tree->count, sizeof path, error) ||
        pf_array_room(&reading->parameters_begin, &reading->open_paths_room, reading->n_open_paths,
                      sizeof *reading->parameters_begin, error))
        return -1;
    reading->parameters_begin[reading->n_open_paths++] = reading->parameters_size;
    cube->paths[tree->count] = path;
    uint8_t flags = reading->path == PF_CUBE_NONE ? PF_FRAME | PF_ROOT : PF_FRAME;
    reading->path = pf_tree_add(tree, reading->path, id, 0, 0, flags, error);
    return reading->path == PF_NO_CONTEXT ? -1 : 0;
}

/* Appends "KEY=VALUE" to the parameters of the innermost open call path, if it fits. */
int pf_cube_start_parameter(struct pf_cube_reading *reading, struct pf_error *error)
{
    const char *key = attribute(reading, "parkey"), *value = attribute(reading, "parvalue");
    if (!reading->n_open_paths || !key || !value)
        return 0;
    size_t size = reading->parameters_size - reading->parameters_begin[reading->n_open_paths - 1];
    size_t room = PARAMETERS_MAX - size;
    if (reading->parameters_room - reading->parameters_size < PARAMETERS_MAX &&
        pf_array_grow(&reading->parameters, &reading->parameters_room,
                      reading->parameters_size + PARAMETERS_MAX, 1, error))
        return -1;
    int more = snprintf(reading->parameters + reading->parameters_size, room, "%s%s=%s", size ? "; " : "",
                        key, value);
    if (more > 0 && (size_t)more < room)
        reading->parameters_size += (size_t)more;
    return 0;
}

/* Parameters are interned when their call path ends, which keeps their prefixes out of the pool. */
int pf_cube_end_cnode(struct pf_cube_reading *reading, struct pf_error *error)
{
    const struct pf_cube *cube = reading->cube;
    if (!reading->n_open_paths)
        return 0;
    size_t begin = reading->parameters_begin[--reading->n_open_paths];
    size_t size = reading->parameters_size - begin;
    reading->parameters_size = begin;
    if (size &&
        intern(reading, reading->parameters + begin, size, &cube->paths[reading->path].parameters, error))
        return -1;
    reading->path = cube->tree->parent[reading->path];
    return 0;
}

/* ---- system ------------------------------------------------------------------------------------- */

/*
 * Starts a systemtreenode or locationgroup; in version 4.0 a machine, node or process. The class defaults to the
 * element's name.
 */
int pf_cube_start_node(struct pf_cube_reading *reading, struct pf_error *error)
{
    const char *class = strcmp(reading->name, "locationgroup") ? reading->name : "process";
    struct pf_cube_node node = {.parent = reading->node};
    uint32_t name;
    if (intern(reading, class, strlen(class), &name, error) ||
        pf_array_room(&reading->nodes, &reading->room_nodes, reading->n_nodes, sizeof node, error))
        return -1;
    node.cells[PF_CUBE_NODE_ID] = pf_uint(reading->n_nodes);
    node.cells[PF_CUBE_NODE_DEPTH] = pf_uint(0);
    if (node.parent != PF_CUBE_NONE) {
        node.cells[PF_CUBE_NODE_PARENT] = pf_uint(node.parent);
        node.cells[PF_CUBE_NODE_DEPTH] = pf_uint(reading->nodes[node.parent].cells[PF_CUBE_NODE_DEPTH].u + 1);
    }
    node.cells[PF_CUBE_NODE_CLASS] = string_cell(reading, name);
    node.cells[PF_CUBE_NODE_NUMBER] = pf_uint((uint64_t)int_or(attribute(reading, "Id"), 0));
    reading->node = (uint32_t)reading->n_nodes;
    reading->nodes[reading->n_nodes++] = node;
    return 0;
}

int pf_cube_start_location(struct pf_cube_reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    struct pf_cube_location location = {.there = true, .group = reading->node, .id = read_id(reading, "Id")};
    uint32_t type;
    if (intern(reading, "thread", 6, &type, error) ||
        pf_array_room(&cube->locations, &reading->room_locations, cube->n_locations, sizeof location, error))
        return -1;
    location.cells[PF_CUBE_LOCATION_TYPE] = string_cell(reading, type);
    cube->locations[cube->n_locations++] = location;
    return 0;
}

/* ---- simple elements ---------------------------------------------------------------------------- */

/*
 * The destination of each simple element's text: a string of a metric, or a cell of another subject's row, as text or
 * number.
 */
static const struct field {
    const char *name;
    enum pf_cube_subject subject;
    enum { TEXT, NUMBER } sort;
    size_t at;
} fields[] = {
    {"uniq_name", OF_METRIC, TEXT, offsetof(struct pf_cube_metric, name)},
    {"disp_name", OF_METRIC, TEXT, offsetof(struct pf_cube_metric, title)},
    {"dtype", OF_METRIC, TEXT, offsetof(struct pf_cube_metric, dtype)},
    {"uom", OF_METRIC, TEXT, offsetof(struct pf_cube_metric, unit)},
    {"descr", OF_METRIC, TEXT, offsetof(struct pf_cube_metric, description)},
    {"cubepl", OF_METRIC, TEXT, offsetof(struct pf_cube_metric, expression)},
    {"name", OF_REGION, TEXT, PF_CUBE_REGION_NAME},
    {"mangled_name", OF_REGION, TEXT, PF_CUBE_REGION_MANGLED},
    {"paradigm", OF_REGION, TEXT, PF_CUBE_REGION_PARADIGM},
    {"role", OF_REGION, TEXT, PF_CUBE_REGION_ROLE},
    {"url", OF_REGION, TEXT, PF_CUBE_REGION_URL},
    {"descr", OF_REGION, TEXT, PF_CUBE_REGION_DESCRIPTION},
    {"name", OF_NODE, TEXT, PF_CUBE_NODE_NAME},
    {"class", OF_NODE, TEXT, PF_CUBE_NODE_CLASS},
    {"type", OF_NODE, TEXT, PF_CUBE_NODE_CLASS},
    {"rank", OF_NODE, NUMBER, PF_CUBE_NODE_RANK},
    {"name", OF_LOCATION, TEXT, PF_CUBE_LOCATION_NAME},
    {"type", OF_LOCATION, TEXT, PF_CUBE_LOCATION_TYPE},
    {"rank", OF_LOCATION, NUMBER, PF_CUBE_LOCATION_RANK},
};

/* The row of the current subject. */
static struct pf_cell *row_of_subject(struct pf_cube_reading *reading)
{
    if (reading->subject == OF_REGION)
        return reading->cells;
    return reading->subject == OF_NODE ? reading->nodes[reading->node].cells
                                       : reading->cube->locations[reading->cube->n_locations - 1].cells;
}

int pf_cube_take_text(struct pf_cube_reading *reading, const char *name, const char *text, size_t size,
                      struct pf_error *error)
{
    const struct field *field = fields, *end = fields + sizeof fields / sizeof *fields;
    while (field < end && (field->subject != reading->subject || strcmp(name, field->name) != 0))
        field++;
    if (field == end)
        return 0;
    if (reading->subject == OF_METRIC) {
        const char **to = (void *)((char *)&reading->cube->metrics[reading->metric] + field->at);
        return (*to = keep(reading->cube, text, size, error)) ? 0 : -1;
    }
    struct pf_cell *cell = row_of_subject(reading) + field->at;
    uint32_t string;
    if (field->sort == NUMBER) {
        *cell = number_cell(text);
        return 0;
    }
    if (intern(reading, text, size, &string, error))
        return -1;
    *cell = string_cell(reading, string);
    return 0;
}
