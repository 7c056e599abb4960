/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/cube/cube.h"
#include "formats/input/inflate.h"
#include "formats/kit/array.h"
#include "formats/kit/ids.h"
#include "formats/xml/xml.h"

/*
 * anchor.xml: attributes, metrics, program (regions, call tree), system. Elements of one kind nest (metrics, cnodes,
 * nodes of the system), so each kind has its open one, and closing goes to that one's parent. It is read twice: up to the
 * program when the file is opened, and from there on when it is loaded.
 */
enum section { ANY, HEAD, PROGRAM, SYSTEM };

/* What an element is, and so what a simple one in it (<name>text</name>) tells of. */
enum subject { NOTHING, METRIC, REGION, PATH, NODE, LOCATION };

/* Text of parameters that one call path keeps. */
enum { PARAMETERS_MAX = 4096 };

/* Bytes that are read at a time, fewer where only the first ones are wanted. */
enum { PIECE = 64 * 1024, HEAD_PIECE = 4096 };

struct region {
    uint32_t name, file; /* strings of the tree, or PF_NO_STRING */
    uint32_t line;       /* 0: not known */
    uint8_t kind;        /* of its call paths */
};

struct node {
    uint32_t parent;
    struct pf_cell cells[PF_CUBE_NODE_COLUMNS];
};

struct reading {
    struct pf_cube *cube;
    struct pf_xml *xml;
    const char *name; /* of the element that is told */
    bool head_only;   /* stops before the program; else what comes before it is skipped */
    enum section section;
    enum subject subject;
    int64_t depth;   /* open elements */
    uint32_t metric; /* the innermost open one of each kind, or PF_CUBE_NONE */
    uint32_t path;
    uint32_t node;
    struct region region; /* the open one, and its row */
    struct pf_cell cells[PF_CUBE_REGION_COLUMNS];
    struct region *regions;
    struct node *nodes;
    size_t n_regions, room_regions, n_nodes, room_nodes, room_paths, room_locations;
    struct pf_ids region_ids, path_ids;
    char *parameters;         /* of the open call paths, the innermost one's last */
    size_t *parameters_begin; /* by level: where those of an open call path begin */
    size_t parameters_size, parameters_room, n_open_paths, open_paths_room;
    bool doubled; /* the id of a call path is */
    bool is_cube; /* <cube> has been seen */
    bool over;    /* nothing more is wanted */
};

/* ---- attributes --------------------------------------------------------------------------------- */

static const char *attribute(const struct reading *reading, const char *name)
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

/* An id, which is never negative. A wrong one makes the file unusable. */
static uint32_t read_id(const struct reading *reading, const char *name)
{
    int64_t id = int_or(attribute(reading, name), -1);
    if (id >= 0 && id < UINT32_MAX)
        return (uint32_t)id;
    reading->cube->broken = true;
    (void)pf_cube_note(&reading->cube->load_notes, "fatal", "bad-id", pf_xml_line(reading->xml), -1,
                       "<%.40s> has no number as its %s", reading->name, name);
    return 0;
}

/* A string of the tree's pool; PF_NO_STRING for none and for an empty one. -1: memory. */
static int intern(const struct reading *reading, const char *text, size_t size, uint32_t *string,
                  struct pf_error *error)
{
    *string = PF_NO_STRING;
    if (!text || !size)
        return 0;
    *string = pf_intern(reading->cube->tree->strings, text, size, error);
    return *string == PF_NO_STRING ? -1 : 0;
}

static int intern_attribute(const struct reading *reading, const char *name, uint32_t *string,
                            struct pf_error *error)
{
    const char *value = attribute(reading, name);
    return intern(reading, value, value ? strlen(value) : 0, string, error);
}

static struct pf_cell string_cell(const struct reading *reading, uint32_t string)
{
    return pf_interned(reading->cube->tree->strings, string);
}

/* A line or a rank: -1 is none. */
static struct pf_cell number_cell(const char *text)
{
    int64_t number = int_or(text, -1);
    return number >= 0 ? pf_int(number) : pf_absent();
}

/* A terminated copy, without blanks around it, that lives as long as the cube. NULL: memory. */
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

static int start_cube(struct reading *reading, struct pf_error *error)
{
    (void)error;
    const char *version = attribute(reading, "version");
    reading->is_cube = true;
    if (version)
        snprintf(reading->cube->version, sizeof reading->cube->version, "%s", version);
    return 0;
}

/* Attributes of the file stand directly in <cube>; others belong to nodes of the system. */
static int start_attr(struct reading *reading, struct pf_error *error)
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

static int start_metric(struct reading *reading, struct pf_error *error)
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

static int start_region(struct reading *reading, struct pf_error *error)
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

/* The role of a region is the kind of its call paths. The first kind stands for none, and for more of them than a tree can tell apart. */
static int find_kind(struct pf_cube *cube, struct pf_cell role, uint8_t *kind, struct pf_error *error)
{
    enum { ROLE_MAX = 127 };
    *kind = 0;
    if (role.type != PF_TEXT)
        return 0;
    const char *name = keep(cube, role.text, role.size < ROLE_MAX ? role.size : ROLE_MAX, error);
    size_t k = 1;
    while (k < cube->n_kinds && cube->kinds[k] != name) /* each is kept once */
        k++;
    if (!name || k == PF_CUBE_KINDS)
        return name ? 0 : -1;
    cube->kinds[k] = name;
    cube->n_kinds += k == cube->n_kinds;
    *kind = (uint8_t)k;
    return 0;
}

/* Adds the region that has been read. */
static int end_region(struct reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    struct region *region = &reading->region;
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
    reading->subject = NOTHING;
    return added < 0 ? -1 : 0;
}

/* The ids are the keys of the tree until all is read. */
static int start_cnode(struct reading *reading, struct pf_error *error)
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
static int start_parameter(struct reading *reading, struct pf_error *error)
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

/* Closes the innermost open call path. Interning its parameters only here keeps no prefix of them in the pool. */
static int end_cnode(struct reading *reading, struct pf_error *error)
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
 * A systemtreenode or locationgroup; a machine, node or process in the syntax of version 4.0. It is called so where the file
 * does not say what it is.
 */
static int start_node(struct reading *reading, struct pf_error *error)
{
    const char *class = strcmp(reading->name, "locationgroup") ? reading->name : "process";
    struct node node = {.parent = reading->node};
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

static int start_location(struct reading *reading, struct pf_error *error)
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

/* Where the text of each goes: to a string of a metric, or to a cell of the row of another subject, as a text or a number. */
static const struct field {
    const char *name;
    enum subject subject;
    enum { TEXT, NUMBER } sort;
    size_t at;
} fields[] = {
    {"uniq_name", METRIC, TEXT, offsetof(struct pf_cube_metric, name)},
    {"disp_name", METRIC, TEXT, offsetof(struct pf_cube_metric, title)},
    {"dtype", METRIC, TEXT, offsetof(struct pf_cube_metric, dtype)},
    {"uom", METRIC, TEXT, offsetof(struct pf_cube_metric, unit)},
    {"descr", METRIC, TEXT, offsetof(struct pf_cube_metric, description)},
    {"cubepl", METRIC, TEXT, offsetof(struct pf_cube_metric, expression)},
    {"name", REGION, TEXT, PF_CUBE_REGION_NAME},
    {"mangled_name", REGION, TEXT, PF_CUBE_REGION_MANGLED},
    {"paradigm", REGION, TEXT, PF_CUBE_REGION_PARADIGM},
    {"role", REGION, TEXT, PF_CUBE_REGION_ROLE},
    {"url", REGION, TEXT, PF_CUBE_REGION_URL},
    {"descr", REGION, TEXT, PF_CUBE_REGION_DESCRIPTION},
    {"name", NODE, TEXT, PF_CUBE_NODE_NAME},
    {"class", NODE, TEXT, PF_CUBE_NODE_CLASS},
    {"type", NODE, TEXT, PF_CUBE_NODE_CLASS},
    {"rank", NODE, NUMBER, PF_CUBE_NODE_RANK},
    {"name", LOCATION, TEXT, PF_CUBE_LOCATION_NAME},
    {"type", LOCATION, TEXT, PF_CUBE_LOCATION_TYPE},
    {"rank", LOCATION, NUMBER, PF_CUBE_LOCATION_RANK},
};

/* The row of what simple elements tell of. */
static struct pf_cell *row_of_subject(struct reading *reading)
{
    if (reading->subject == REGION)
        return reading->cells;
    return reading->subject == NODE ? reading->nodes[reading->node].cells
                                    : reading->cube->locations[reading->cube->n_locations - 1].cells;
}

static int tell(struct reading *reading, const char *name, const char *text, size_t size,
                struct pf_error *error)
{
    const struct field *field = fields, *end = fields + sizeof fields / sizeof *fields;
    while (field < end && (field->subject != reading->subject || strcmp(name, field->name) != 0))
        field++;
    if (field == end)
        return 0;
    if (reading->subject == METRIC) {
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

/* ---- all elements ------------------------------------------------------------------------------- */

/* The head is over. */
static int start_section(struct reading *reading, struct pf_error *error)
{
    (void)error;
    reading->section = strcmp(reading->name, "system") ? PROGRAM : SYSTEM;
    reading->over = reading->head_only;
    return 0;
}

static const struct element {
    const char *name;
    enum section section; /* the only one that it counts in */
    enum subject subject;
    int (*start)(struct reading *reading, struct pf_error *error);
} elements[] = {
    {"cnode", PROGRAM, PATH, start_cnode},        {"parameter", PROGRAM, NOTHING, start_parameter},
    {"region", PROGRAM, REGION, start_region},    {"location", SYSTEM, LOCATION, start_location},
    {"thread", SYSTEM, LOCATION, start_location}, {"locationgroup", SYSTEM, NODE, start_node},
    {"process", SYSTEM, NODE, start_node},        {"systemtreenode", SYSTEM, NODE, start_node},
    {"machine", SYSTEM, NODE, start_node},        {"node", SYSTEM, NODE, start_node},
    {"metric", HEAD, METRIC, start_metric},       {"attr", HEAD, NOTHING, start_attr},
    {"program", ANY, NOTHING, start_section},     {"system", ANY, NOTHING, start_section},
    {"cube", ANY, NOTHING, start_cube},
};

/* NULL for simple elements, and for what is passed over: the first reading has seen to what comes before the program. */
static const struct element *find_element(const struct reading *reading, const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const struct element *it = &elements[i];
        if (name[0] != it->name[0] || strcmp(name, it->name) != 0)
            continue;
        bool passed_over = it->section == HEAD && !reading->head_only;
        return !passed_over && (it->section == ANY || it->section == reading->section) ? it : NULL;
    }
    return NULL;
}

static int on_start(void *arg, const char *name, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct element *element = find_element(reading, name);
    reading->name = name;
    reading->depth++;
    if (!element)
        return 0;
    if ((reading->subject == REGION && end_region(reading, error)) || element->start(reading, error))
        return -1;
    reading->subject = element->subject;
    return reading->over;
}

/* Goes back to what the element that ends is in. */
static void go_up(struct reading *reading, enum subject subject)
{
    const struct pf_cube *cube = reading->cube;
    reading->subject = NOTHING;
    if (subject == METRIC && reading->metric != PF_CUBE_NONE)
        reading->metric = cube->metrics[reading->metric].parent;
    if (subject == METRIC && reading->metric != PF_CUBE_NONE)
        reading->subject = METRIC;
    if (subject == NODE && reading->node != PF_CUBE_NONE)
        reading->node = reading->nodes[reading->node].parent;
    if ((subject == NODE || subject == LOCATION) && reading->node != PF_CUBE_NONE)
        reading->subject = NODE;
}

static int on_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct element *element = find_element(reading, name);
    reading->depth--;
    if (!element)
        return tell(reading, name, text, size, error);
    if ((reading->subject == REGION && end_region(reading, error)) ||
        (element->subject == PATH && end_cnode(reading, error)))
        return -1;
    go_up(reading, element->subject);
    return 0;
}

/*
 * A damaged tag. Where call paths or locations may be missing, nobody knows whose the rows of the data are; in the head and in
 * regions no more is lost than what the tag told. Each reading tells of its own part.
 */
static void on_fault(void *arg, bool lost)
{
    struct reading *reading = arg;
    struct pf_cube *cube = reading->cube;
    bool body = reading->section != HEAD;
    if (body != reading->head_only)
        (void)pf_cube_note(body ? &cube->load_notes : &cube->notes, "error", "bad-anchor",
                           pf_xml_line(reading->xml), -1,
                           "a tag of anchor.xml is damaged: what can be read of it is");
    cube->broken |= body && lost && reading->subject != REGION;
}

/* Until nothing more is wanted. */
static int read_elements(struct reading *reading, struct pf_error *error)
{
    const struct pf_cube *cube = reading->cube;
    size_t piece = reading->head_only ? HEAD_PIECE : PIECE;
    char *bytes = malloc(piece);
    ssize_t have = bytes ? 1 : pf_fail_memory(error);
    int told = 0;
    for (uint64_t at = 0; have > 0 && !told; at += (uint64_t)have) {
        have = pf_pass_step(at, cube->anchor->size, error)
                   ? -1
                   : pf_cube_read(cube, cube->anchor, bytes, piece, at, error);
        if (have > 0)
            told = pf_xml_feed(reading->xml, bytes, (size_t)have, error);
    }
    free(bytes);
    if (have >= 0 && !told)
        told = pf_xml_end(reading->xml, error);
    return have < 0 || told < 0 ? -1 : 0;
}

/* What is wrong with the text as such. */
static void judge(const struct reading *reading)
{
    struct pf_cube *cube = reading->cube;
    struct pf_error damage;
    const char *problem = !reading->is_cube ? "anchor.xml has no <cube>"
                          : pf_xml_is_cut(reading->xml)
                              ? "anchor.xml ends inside an element, or is no XML from here on"
                              : NULL;
    cube->broken |= problem != NULL;
    if (problem)
        (void)pf_cube_note(&cube->load_notes, "fatal", "bad-anchor", pf_xml_line(reading->xml), -1, "%s",
                           problem);
    if (cube->inflate && pf_inflate_damage(cube->inflate, &damage))
        (void)pf_cube_note(&cube->load_notes, "fatal", "bad-anchor", 0, (int64_t)cube->anchor->offset,
                           "anchor.xml cannot be inflated to its end: %.150s", damage.what);
}

static int read_anchor(struct reading *reading, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_start, on_end, on_fault};
    reading->section = HEAD;
    reading->metric = reading->path = reading->node = PF_CUBE_NONE;
    reading->xml = pf_xml_new(&events, reading);
    if (!reading->xml)
        return pf_fail_memory(error);
    int result = read_elements(reading, error);
    if (!result && !reading->head_only)
        judge(reading);
    pf_xml_free(reading->xml);
    return result;
}

int pf_cube_anchor_head(struct pf_cube *cube, struct pf_error *error)
{
    struct reading reading = {.cube = cube, .head_only = true};
    if (read_anchor(&reading, error))
        return -1;
    for (size_t i = 0; i < cube->n_metrics; i++)
        cube->metrics[i].type = pf_cube_type_of(cube->metrics[i].dtype);
    return 0;
}

/* ---- what follows from all of it ---------------------------------------------------------------- */

/* What regions tell of call paths; and ids: doubled ones name nothing, then the index is the id. */
static int finish_tree(const struct reading *reading, struct pf_error *error)
{
    struct pf_tree *tree = reading->cube->tree;
    size_t n = (size_t)tree->count + 1;
    struct region none = {pf_intern(tree->strings, "", 0, error), PF_NO_STRING, 0, 0};
    tree->line = malloc(n * sizeof *tree->line);
    tree->file = malloc(n * sizeof *tree->file);
    tree->id = reading->doubled ? NULL : malloc(n * sizeof *tree->id);
    if (none.name == PF_NO_STRING || !tree->line || !tree->file || (!tree->id && !reading->doubled))
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t at = reading->cube->paths[i].region;
        const struct region *region = at < reading->n_regions ? &reading->regions[at] : &none;
        tree->name[i] = region->name != PF_NO_STRING ? region->name : none.name;
        tree->kind[i] = region->kind;
        tree->file[i] = region->file;
        tree->line[i] = region->line;
        if (tree->id)
            tree->id[i] = tree->key[i];
    }
    return pf_tree_finish(tree, error);
}

static int finish(struct reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    if (reading->subject == REGION && end_region(reading, error))
        return -1;
    while (reading->n_open_paths)
        if (end_cnode(reading, error))
            return -1;
    if (finish_tree(reading, error))
        return -1;
    for (size_t i = 0; i < reading->n_nodes; i++)
        if (pf_rows_add(cube->system, reading->nodes[i].cells, error))
            return -1;
    return pf_cube_shape(cube, error);
}

int pf_cube_anchor_body(struct pf_cube *cube, struct pf_error *error)
{
    struct reading reading = {.cube = cube};
    int result = (cube->anchor && read_anchor(&reading, error)) || finish(&reading, error) ? -1 : 0;
    free(reading.regions);
    free(reading.nodes);
    free(reading.parameters);
    free(reading.parameters_begin);
    pf_ids_free(&reading.region_ids);
    pf_ids_free(&reading.path_ids);
    return result;
}
