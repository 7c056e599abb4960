/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/kit/array.h"

#include "formats/cube/cube.h"
#include "formats/xml/xml.h"

/*
 * anchor.xml: attributes, metrics, program (regions, call tree), system. Elements of one kind nest (metrics, cnodes,
 * nodes of the system), so each kind has its open one, and closing goes to that one's parent.
 */
enum section { HEAD, PROGRAM, SYSTEM };

/* What a simple element (<name>text</name>) tells of. */
enum subject { NOTHING, METRIC, REGION, NODE, LOCATION };

/* Text of parameters that one call path keeps. */
enum { PARAMETERS_MAX = 4096 };

/* Bytes that are read at a time, fewer where only the first ones are wanted. */
enum { PIECE = 64 * 1024, HEAD_PIECE = 4096 };

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
    size_t room_paths, room_locations;
    bool is_cube; /* <cube> has been seen */
    bool over;    /* nothing more is wanted */
};

static struct pf_cube_location *last_location(const struct reading *reading)
{
    return &reading->cube->locations[reading->cube->n_locations - 1];
}

/* ---- small things ------------------------------------------------------------------------------- */

static bool read_int(const char *text, int64_t *value)
{
    char *end;
    if (!text || !*text)
        return false;
    errno = 0;
    *value = strtoll(text, &end, 10);
    while (*end == ' ' || *end == '\n' || *end == '\t' || *end == '\r')
        end++;
    return end != text && !*end && !errno;
}

static int64_t int_or(const char *text, int64_t otherwise)
{
    int64_t value;
    return read_int(text, &value) ? value : otherwise;
}

/* An id, which is never negative. A wrong one makes the file unusable. */
static int read_id(struct reading *reading, const char *attribute, uint64_t *id)
{
    int64_t value;
    *id = 0;
    if (read_int(pf_xml_attribute(reading->xml, attribute), &value) && value >= 0) {
        *id = (uint64_t)value;
        return 0;
    }
    reading->cube->broken = true;
    return pf_cube_note(&reading->cube->load_notes, PF_CUBE_NOTE_BAD_ID, (int64_t)pf_xml_line(reading->xml),
                        -1, "<%.40s> has no number as its %s", reading->name, attribute);
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
    const char *value = pf_xml_attribute(reading->xml, name);
    return intern(reading, value, value ? strlen(value) : 0, string, error);
}

/* A terminated copy that lives as long as the cube. NULL: memory. */
static const char *keep(const struct pf_cube *cube, const char *text, size_t size, struct pf_error *error)
{
    uint32_t string;
    char *copy = malloc(size + 1);
    if (!copy) {
        pf_fail_memory(error);
        return NULL;
    }
    memcpy(copy, text, size);
    copy[size] = 0;
    string = pf_intern(cube->texts, copy, size + 1, error);
    free(copy);
    return string == PF_NO_STRING ? NULL : pf_interned(cube->texts, string).text;
}

static void trim(const char **text, size_t *size)
{
    static const char blanks[] = " \n\t\r";
    while (*size && strchr(blanks, **text)) {
        (*text)++;
        (*size)--;
    }
    while (*size && strchr(blanks, (*text)[*size - 1]))
        (*size)--;
}

/* ---- head: attributes and metrics --------------------------------------------------------------- */

static int start_cube(struct reading *reading, struct pf_error *error)
{
    (void)error;
    const char *version = pf_xml_attribute(reading->xml, "version");
    reading->is_cube = true;
    if (version)
        snprintf(reading->cube->version, sizeof reading->cube->version, "%s", version);
    return 0;
}

/* Attributes of the file stand directly in <cube>; others belong to nodes of the system. */
static int start_attr(struct reading *reading, struct pf_error *error)
{
    const char *key = pf_xml_attribute(reading->xml, "key");
    const char *value = pf_xml_attribute(reading->xml, "value");
    if (reading->section != HEAD || reading->depth != 2 || !key)
        return 0;
    struct pf_cell cells[] = {pf_string(key), pf_string(value ? value : "")};
    return pf_rows_add(reading->cube->attributes, cells, error);
}

static void set_stored(struct pf_cube_metric *metric, const char *kind)
{
    static const char pre[] = "PREDERIVED";
    metric->stored = PF_CUBE_EXCLUSIVE;
    if (!strcmp(kind, "INCLUSIVE"))
        metric->stored = PF_CUBE_INCLUSIVE;
    else if (!strcmp(kind, "POSTDERIVED") || !strcmp(kind, "DERIVED") || !strncmp(kind, pre, strlen(pre)))
        metric->stored = PF_CUBE_DERIVED;
    metric->takes_inclusive = !strcmp(kind, "PREDERIVED_INCLUSIVE");
}

static int start_metric(struct reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    int64_t id;
    if (reading->section != HEAD)
        return 0;
    if (pf_array_room(&cube->metrics, &cube->room_metrics, cube->n_metrics, sizeof *cube->metrics, error))
        return -1;
    const char *kind = pf_xml_attribute(reading->xml, "type");
    const char *shown = pf_xml_attribute(reading->xml, "viztype");
    if (!kind)
        kind = "EXCLUSIVE"; /* children may have no type */
    struct pf_cube_metric metric = {.parent = reading->metric,
                                    .kind = keep(cube, kind, strlen(kind), error),
                                    .name = "",
                                    .title = "",
                                    .dtype = "",
                                    .unit = "",
                                    .description = "",
                                    .expression = ""};
    if (!metric.kind)
        return -1;
    if (!read_int(pf_xml_attribute(reading->xml, "id"), &id) || id < 0) {
        id = (int64_t)cube->n_metrics;
        if (pf_cube_note(&cube->notes, PF_CUBE_NOTE_BAD_ID_ERROR, (int64_t)pf_xml_line(reading->xml), -1,
                         "a metric has no number as its id"))
            return -1;
    }
    metric.id = (uint64_t)id;
    metric.ghost = shown && !strcasecmp(shown, "GHOST");
    set_stored(&metric, metric.kind);
    reading->metric = (uint32_t)cube->n_metrics;
    reading->subject = METRIC;
    cube->metrics[cube->n_metrics++] = metric;
    return 0;
}

static void close_metric(struct reading *reading)
{
    if (reading->metric != PF_CUBE_NONE)
        reading->metric = reading->cube->metrics[reading->metric].parent;
    reading->subject = reading->metric == PF_CUBE_NONE ? NOTHING : METRIC;
}

static int tell_metric(struct reading *reading, const char *name, const char *text, size_t size,
                       struct pf_error *error)
{
    struct pf_cube_metric *metric = &reading->cube->metrics[reading->metric];
    const struct {
        const char *name;
        const char **value;
    } parts[] = {{"uniq_name", &metric->name},    {"disp_name", &metric->title},
                 {"dtype", &metric->dtype},       {"uom", &metric->unit},
                 {"descr", &metric->description}, {"cubepl", &metric->expression}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(name, parts[i].name) != 0)
            continue;
        trim(&text, &size);
        *parts[i].value = keep(reading->cube, text, size, error);
        return *parts[i].value ? 0 : -1;
    }
    return 0;
}

/* ---- program: regions and call paths ------------------------------------------------------------ */

static int start_program(struct reading *reading, struct pf_error *error)
{
    (void)error;
    reading->section = PROGRAM;
    reading->subject = NOTHING;
    reading->over = reading->head_only;
    return 0;
}

static int start_region(struct reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    struct pf_cube_region region = {.begin = int_or(pf_xml_attribute(reading->xml, "begin"), -1),
                                    .end = int_or(pf_xml_attribute(reading->xml, "end"), -1),
                                    .name = PF_NO_STRING,
                                    .mangled = PF_NO_STRING,
                                    .paradigm = PF_NO_STRING,
                                    .role = PF_NO_STRING,
                                    .url = PF_NO_STRING,
                                    .description = PF_NO_STRING};
    if (reading->section != PROGRAM)
        return 0;
    if (read_id(reading, "id", &region.id) || intern_attribute(reading, "mod", &region.file, error) ||
        pf_array_room(&cube->regions, &cube->room_regions, cube->n_regions, sizeof region, error))
        return -1;
    cube->regions[cube->n_regions++] = region;
    reading->subject = REGION;
    return 0;
}

static int tell_region(struct reading *reading, const char *name, const char *text, size_t size,
                       struct pf_error *error)
{
    struct pf_cube_region *region = &reading->cube->regions[reading->cube->n_regions - 1];
    const struct {
        const char *name;
        uint32_t *value;
    } parts[] = {{"name", &region->name},         {"mangled_name", &region->mangled},
                 {"paradigm", &region->paradigm}, {"role", &region->role},
                 {"url", &region->url},           {"descr", &region->description}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(name, parts[i].name))
            return intern(reading, text, size, parts[i].value, error);
    return 0;
}

/* The ids are kept as the keys of the tree until all is read: what they stand for is looked up then. */
static int start_cnode(struct reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    struct pf_tree *tree = cube->tree;
    struct pf_cube_path path = {.parameters = PF_NO_STRING};
    uint64_t id, region;
    if (reading->section != PROGRAM)
        return 0;
    if (read_id(reading, "id", &id) || read_id(reading, "calleeId", &region) ||
        intern_attribute(reading, "mod", &path.file, error))
        return -1;
    int64_t line = int_or(pf_xml_attribute(reading->xml, "line"), 0);
    path.line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
    path.region = region < UINT32_MAX ? (uint32_t)region : UINT32_MAX;
    if (id >= UINT32_MAX) {
        cube->broken = true;
        id = UINT32_MAX;
    }
    size_t count = tree->count;
    if (pf_array_room(&cube->paths, &reading->room_paths, count, sizeof path, error))
        return -1;
    cube->paths[count] = path;
    uint8_t flags = reading->path == PF_CUBE_NONE ? PF_FRAME | PF_ROOT : PF_FRAME;
    reading->path = pf_tree_add(tree, reading->path, (uint32_t)id, 0, 0, flags, error);
    reading->subject = NOTHING;
    return reading->path == PF_NO_CONTEXT ? -1 : 0;
}

static void close_cnode(struct reading *reading)
{
    if (reading->path != PF_CUBE_NONE)
        reading->path = reading->cube->tree->parent[reading->path];
}

/* Adds "KEY=VALUE" to what the call path has of these. */
static int start_parameter(struct reading *reading, struct pf_error *error)
{
    char text[PARAMETERS_MAX];
    const char *key = pf_xml_attribute(reading->xml, "parkey");
    const char *value = pf_xml_attribute(reading->xml, "parvalue");
    if (reading->path == PF_CUBE_NONE || !key || !value)
        return 0;
    struct pf_cube_path *path = &reading->cube->paths[reading->path];
    struct pf_cell before = pf_interned(reading->cube->tree->strings, path->parameters);
    bool first = before.type != PF_TEXT;
    int size = snprintf(text, sizeof text, "%.*s%s%s=%s", first ? 0 : (int)before.size,
                        first ? "" : before.text, first ? "" : "; ", key, value);
    if (size < 0 || (size_t)size >= sizeof text)
        return 0;
    return intern(reading, text, (size_t)size, &path->parameters, error);
}

/* ---- system ------------------------------------------------------------------------------------- */

static int start_system(struct reading *reading, struct pf_error *error)
{
    (void)error;
    reading->section = SYSTEM;
    reading->subject = NOTHING;
    reading->over = reading->head_only;
    return 0;
}

/* word: what it is called where the file does not say. */
static int add_node(struct reading *reading, const char *word, bool group, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    uint32_t parent = reading->node;
    struct pf_cube_node node = {.parent = parent,
                                .depth = parent == PF_CUBE_NONE ? 0 : cube->nodes[parent].depth + 1,
                                .id = (uint64_t)int_or(pf_xml_attribute(reading->xml, "Id"), 0),
                                .rank = -1,
                                .name = PF_NO_STRING,
                                .group = group};
    if (intern(reading, word, strlen(word), &node.class, error) ||
        pf_array_room(&cube->nodes, &cube->room_nodes, cube->n_nodes, sizeof node, error))
        return -1;
    reading->node = (uint32_t)cube->n_nodes;
    reading->subject = NODE;
    cube->nodes[cube->n_nodes++] = node;
    return 0;
}

/* systemtreenode; machine and node in the syntax of version 4.0 */
static int start_node(struct reading *reading, struct pf_error *error)
{
    return reading->section == SYSTEM ? add_node(reading, reading->name, false, error) : 0;
}

/* locationgroup; process in 4.0 */
static int start_group(struct reading *reading, struct pf_error *error)
{
    return reading->section == SYSTEM ? add_node(reading, "process", true, error) : 0;
}

static void close_node(struct reading *reading)
{
    if (reading->section == SYSTEM && reading->node != PF_CUBE_NONE)
        reading->node = reading->cube->nodes[reading->node].parent;
    reading->subject = reading->node == PF_CUBE_NONE ? NOTHING : NODE;
}

static int start_location(struct reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    struct pf_cube_location location = {.name = PF_NO_STRING, .group = reading->node, .rank = -1};
    if (reading->section != SYSTEM)
        return 0;
    if (read_id(reading, "Id", &location.id) || intern(reading, "thread", 6, &location.type, error) ||
        pf_array_room(&cube->locations, &reading->room_locations, cube->n_locations, sizeof location, error))
        return -1;
    cube->locations[cube->n_locations++] = location;
    reading->subject = LOCATION;
    return 0;
}

static int tell_node(struct reading *reading, const char *name, const char *text, size_t size,
                     struct pf_error *error)
{
    struct pf_cube_node *node = &reading->cube->nodes[reading->node];
    if (!strcmp(name, "name"))
        return intern(reading, text, size, &node->name, error);
    if (!strcmp(name, "class") || !strcmp(name, "type"))
        return intern(reading, text, size, &node->class, error);
    if (!strcmp(name, "rank"))
        node->rank = int_or(text, -1);
    return 0;
}

static int tell_location(struct reading *reading, const char *name, const char *text, size_t size,
                         struct pf_error *error)
{
    struct pf_cube_location *location = last_location(reading);
    if (!strcmp(name, "name"))
        return intern(reading, text, size, &location->name, error);
    if (!strcmp(name, "type"))
        return intern(reading, text, size, &location->type, error);
    if (!strcmp(name, "rank"))
        location->rank = int_or(text, -1);
    return 0;
}

/* ---- all elements ------------------------------------------------------------------------------- */

struct element {
    const char *name;
    int (*start)(struct reading *reading, struct pf_error *error);
    void (*close)(struct reading *reading);
};

static void close_region(struct reading *reading)
{
    reading->subject = NOTHING;
}

static void close_location(struct reading *reading)
{
    reading->subject = reading->node == PF_CUBE_NONE ? NOTHING : NODE;
}

static const struct element elements[] = {
    {"cnode", start_cnode, close_cnode},
    {"parameter", start_parameter, NULL},
    {"region", start_region, close_region},
    {"location", start_location, close_location},
    {"thread", start_location, close_location},
    {"locationgroup", start_group, close_node},
    {"process", start_group, close_node},
    {"systemtreenode", start_node, close_node},
    {"machine", start_node, close_node},
    {"node", start_node, close_node},
    {"metric", start_metric, close_metric},
    {"attr", start_attr, NULL},
    {"program", start_program, NULL},
    {"system", start_system, NULL},
    {"cube", start_cube, NULL},
};

static const struct element *find_element(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (!strcmp(name, elements[i].name))
            return &elements[i];
    return NULL;
}

/* Of the second reading: the first has seen to what comes before the program. */
static bool skips(const struct reading *reading, const struct element *element)
{
    return !reading->head_only && (element->start == start_metric || element->start == start_attr);
}

/* A simple element has ended. */
static int tell(struct reading *reading, const char *name, const char *text, size_t size,
                struct pf_error *error)
{
    switch (reading->subject) {
    case METRIC:
        return tell_metric(reading, name, text, size, error);
    case REGION:
        return tell_region(reading, name, text, size, error);
    case NODE:
        return tell_node(reading, name, text, size, error);
    case LOCATION:
        return tell_location(reading, name, text, size, error);
    default:
        return 0;
    }
}

static int on_start(void *arg, const char *name, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct element *element = find_element(name);
    reading->name = name;
    reading->depth++;
    if (element && !skips(reading, element) && element->start(reading, error))
        return -1;
    return reading->over;
}

static int on_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct element *element = find_element(name);
    reading->depth--;
    if (!element)
        return tell(reading, name, text, size, error);
    if (element->close && !skips(reading, element))
        element->close(reading);
    return 0;
}

/*
 * A damaged tag. Where call paths or locations may be missing, nobody knows whose the rows of the data are; in the head and in
 * regions no more is lost than what the tag told. Each reading tells of its own part.
 */
static void on_fault(void *arg, int64_t line, bool lost)
{
    struct reading *reading = arg;
    struct pf_cube *cube = reading->cube;
    bool body = pf_xml_is_inside(reading->xml, "program") || pf_xml_is_inside(reading->xml, "system");
    if (body != reading->head_only)
        (void)pf_cube_note(body ? &cube->load_notes : &cube->notes, PF_CUBE_NOTE_BAD_TAG, line, -1,
                           "a tag of anchor.xml is damaged: what can be read of it is");
    cube->broken |= body && lost && !pf_xml_is_inside(reading->xml, "region");
}

/* Until nothing more is wanted. */
static int read_elements(struct reading *reading, struct pf_pass *pass, struct pf_error *error)
{
    const struct pf_cube_bytes *anchor = &reading->cube->anchor;
    size_t piece = reading->head_only ? HEAD_PIECE : PIECE;
    char *bytes = malloc(piece);
    ssize_t have = bytes ? 1 : pf_fail_memory(error);
    int told = 0;
    for (uint64_t at = 0; have > 0 && !told; at += (uint64_t)have) {
        have = pf_pass_step(pass, at, anchor->size, error)
                   ? -1
                   : pf_cube_bytes_read(anchor, bytes, piece, at, error);
        if (have > 0)
            told = pf_xml_feed(reading->xml, bytes, (size_t)have, error);
    }
    free(bytes);
    return have < 0 || told < 0 ? -1 : 0;
}

/* What is wrong with the text as such. */
static void judge(const struct reading *reading)
{
    const char *problem = !reading->is_cube ? "anchor.xml has no <cube>"
                          : pf_xml_is_cut(reading->xml)
                              ? "anchor.xml ends inside an element, or is no XML from here on"
                              : NULL;
    if (!problem)
        return;
    reading->cube->broken = true;
    (void)pf_cube_note(&reading->cube->load_notes, PF_CUBE_NOTE_BAD_ANCHOR, pf_xml_line(reading->xml), -1,
                       "%s", problem);
}

static int read_anchor(struct pf_cube *cube, bool head_only, struct pf_pass *pass, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_start, on_end};
    struct reading reading = {.cube = cube,
                              .head_only = head_only,
                              .metric = PF_CUBE_NONE,
                              .path = PF_CUBE_NONE,
                              .node = PF_CUBE_NONE};
    reading.xml = pf_xml_new(&events, &reading);
    if (!reading.xml)
        return pf_fail_memory(error);
    pf_xml_forgive(reading.xml, on_fault);
    int result = read_elements(&reading, pass, error);
    if (!result && !head_only)
        judge(&reading);
    pf_xml_free(reading.xml);
    return result;
}

int pf_cube_anchor_head(struct pf_cube *cube, struct pf_error *error)
{
    return read_anchor(cube, true, NULL, error);
}

int pf_cube_anchor_body(struct pf_cube *cube, struct pf_pass *pass, struct pf_error *error)
{
    return read_anchor(cube, false, pass, error);
}
