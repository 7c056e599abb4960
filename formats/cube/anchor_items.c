/* SPDX-License-Identifier: MIT */
/* Handlers for the elements of anchor.xml. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/cube/anchor.h"
#include "formats/kit/number.h"

/* Maximum size in bytes of a call path's parameters. */
enum { PARAMETERS_MAX = 4096 };

/* ---- attributes --------------------------------------------------------------------------------- */

static const char *anchor_attribute(const struct pf_cube_reading *reading, const char *name)
{
    return pf_xml_attribute(reading->xml, name);
}

/* Returns a text without surrounding whitespace, which includes newlines. */
static struct pf_slice anchor_trimmed(const char *text, size_t size)
{
    struct pf_slice slice = pf_slice(text ? text : "", size);
    while (slice.at < slice.end && isspace((unsigned char)*slice.at))
        slice.at++;
    while (slice.end > slice.at && isspace((unsigned char)slice.end[-1]))
        slice.end--;
    return slice;
}

/* Parses an integer of at most 18 digits. Returns `otherwise` if the text is NULL or not an integer. */
static int64_t integer_or(const char *text, int64_t otherwise)
{
    struct pf_slice rest = anchor_trimmed(text, text ? strlen(text) : 0);
    bool negative = pf_take(&rest, "-");
    uint64_t number;
    if (!pf_take_number(&rest, &number) || pf_size(rest))
        return otherwise;
    return negative ? -(int64_t)number : (int64_t)number;
}

/* Returns the id in the attribute `name`. If it is missing or invalid, warns, marks the cube as broken and returns 0. */
static uint32_t read_id(const struct pf_cube_reading *reading, const char *name)
{
    int64_t id = integer_or(anchor_attribute(reading, name), -1);
    if (id >= 0 && id < UINT32_MAX)
        return (uint32_t)id;
    reading->cube->broken = true;
    pf_run_warn(reading->run, "fatal", "bad-id", pf_xml_line(reading->xml), -1,
                "<%.40s>: missing or invalid %s: no values are shown", reading->name, name);
    return 0;
}

/* Interns a string in the tree's pool. Returns PF_NO_STRING if the string is NULL or empty. */
static uint32_t intern_in_tree(const struct pf_cube_reading *reading, const char *text, size_t size)
{
    return text && size ? pf_run_intern(reading->run, reading->cube->tree->strings, text, size)
                        : PF_NO_STRING;
}

static uint32_t intern_attribute(const struct pf_cube_reading *reading, const char *name)
{
    const char *value = anchor_attribute(reading, name);
    return intern_in_tree(reading, value, value ? strlen(value) : 0);
}

static struct pf_cell string_cell(const struct pf_cube_reading *reading, uint32_t string)
{
    return pf_interned(reading->cube->tree->strings, string);
}

/* Returns a line or a rank as a cell. In the file, -1 means that there is none. */
static struct pf_cell line_or_rank_cell(const char *text)
{
    int64_t number = integer_or(text, -1);
    return number >= 0 ? pf_int(number) : pf_absent();
}

/* Returns a NUL-terminated copy without surrounding whitespace, owned by the cube. */
static const char *keep_trimmed(const struct pf_cube_reading *reading, const char *text, size_t size)
{
    struct pf_strings *texts = reading->cube->texts;
    struct pf_slice kept = anchor_trimmed(text, size);
    /* The pool NUL-terminates each string. */
    return pf_interned(texts, pf_run_intern(reading->run, texts, kept.at, pf_size(kept))).text;
}

/* ---- head: attributes and metrics --------------------------------------------------------------- */

void pf_cube_start_cube(struct pf_cube_reading *reading)
{
    const char *version = anchor_attribute(reading, "version");
    reading->is_cube = true;
    if (version)
        snprintf(reading->cube->version, sizeof reading->cube->version, "%s", version);
}

/* Adds an attribute of the file, which is a direct child of <cube>. Other elements <attr> belong to nodes of the system. */
void pf_cube_start_attr(struct pf_cube_reading *reading)
{
    const char *key = anchor_attribute(reading, "key"), *value = anchor_attribute(reading, "value");
    if (reading->depth != 2 || !key)
        return;
    struct pf_cell cells[] = {pf_string(key), pf_string(value ? value : "")};
    pf_run_check(reading->run, pf_rows_add(reading->cube->attributes, cells, reading->run->error));
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

void pf_cube_start_metric(struct pf_cube_reading *reading)
{
    struct pf_run *run = reading->run;
    struct pf_cube *cube = reading->cube;
    const char *kind = anchor_attribute(reading, "type"), *shown = anchor_attribute(reading, "viztype");
    int64_t id = integer_or(anchor_attribute(reading, "id"), -1);
    if (!kind)
        kind = "EXCLUSIVE"; /* child metrics may have no type */
    kind = keep_trimmed(reading, kind, strlen(kind));
    pf_run_check(run, pf_array_room(&cube->metrics, &cube->room_metrics, cube->n_metrics,
                                    sizeof *cube->metrics, run->error));
    if (id < 0) {
        id = (int64_t)cube->n_metrics;
        pf_run_warn(run, "error", "bad-id", pf_xml_line(reading->xml), -1,
                    "metric without a valid id: its position is used as the id");
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
}

/* ---- program: regions and call paths ------------------------------------------------------------ */

void pf_cube_start_region(struct pf_cube_reading *reading)
{
    int64_t begin = integer_or(anchor_attribute(reading, "begin"), 0);
    reading->region.line = begin > 0 && begin < UINT32_MAX ? (uint32_t)begin : 0;
    reading->region.file = intern_attribute(reading, "mod");
    memset(reading->cells, 0, sizeof reading->cells); /* absent */
    reading->cells[PF_CUBE_REGION_ID] = pf_uint(read_id(reading, "id"));
    reading->cells[PF_CUBE_REGION_BEGIN] = line_or_rank_cell(anchor_attribute(reading, "begin"));
    reading->cells[PF_CUBE_REGION_END] = line_or_rank_cell(anchor_attribute(reading, "end"));
    reading->cells[PF_CUBE_REGION_FILE] = string_cell(reading, reading->region.file);
}

/*
 * Returns the kind of the call paths of a region with this role. Each role has its own kind. Kind 0 is for regions without
 * a role, and for roles in excess of PF_CUBE_KINDS.
 */
static uint8_t find_kind(const struct pf_cube_reading *reading, struct pf_cell role)
{
    enum { ROLE_MAX = 127 };
    struct pf_cube *cube = reading->cube;
    if (role.type != PF_TEXT)
        return 0;
    const char *name = keep_trimmed(reading, role.text, role.size < ROLE_MAX ? role.size : ROLE_MAX);
    size_t k = 1;
    while (k < cube->n_kinds && cube->kinds[k] != name) /* names are interned */
        k++;
    if (k == PF_CUBE_KINDS)
        return 0;
    cube->kinds[k] = name;
    cube->n_kinds += k == cube->n_kinds;
    return (uint8_t)k;
}

void pf_cube_end_region(struct pf_cube_reading *reading)
{
    struct pf_run *run = reading->run;
    struct pf_cube *cube = reading->cube;
    struct pf_cube_region *region = &reading->region;
    const struct pf_cell *cells = reading->cells, *name = &cells[PF_CUBE_REGION_NAME];
    uint64_t id = cells[PF_CUBE_REGION_ID].u;
    if (reading->subject != OF_REGION)
        return;
    reading->subject = OF_NOTHING;
    region->name = intern_in_tree(reading, name->text, name->size);
    region->kind = find_kind(reading, cells[PF_CUBE_REGION_ROLE]);
    pf_run_check(run, pf_rows_add(cube->regions, cells, run->error));
    if (!pf_run_check(run, pf_ids_add(&reading->region_ids, id, (uint32_t)reading->regions.n, run->error)))
        pf_cube_break(run, cube, "doubled-id", "region %llu: duplicate id: no values are shown", id);
    *PF_PUSH(run, reading->regions) = *region;
}

/* Adds a call path. tree->key holds the ids of call paths until the whole file is read. */
void pf_cube_start_cnode(struct pf_cube_reading *reading)
{
    struct pf_run *run = reading->run;
    struct pf_cube *cube = reading->cube;
    struct pf_tree *tree = cube->tree;
    uint32_t id = read_id(reading, "id"), callee = read_id(reading, "calleeId");
    int64_t line = integer_or(anchor_attribute(reading, "line"), 0);
    struct pf_cube_path path = {.parameters = PF_NO_STRING,
                                .line = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0,
                                .region = pf_ids_find(&reading->region_ids, callee),
                                .file = intern_attribute(reading, "mod")};
    if (path.region == PF_CUBE_NONE)
        pf_cube_break(run, cube, "no-region", "call path in undefined region %llu: no values are shown",
                      callee);
    bool added = pf_run_check(run, pf_ids_add(&reading->path_ids, id, tree->count, run->error));
    if (!added && !reading->doubled)
        pf_cube_break(run, cube, "doubled-id", "call path %llu: duplicate id: no values are shown", id);
    reading->doubled |= !added;
    pf_run_check(run,
                 pf_array_room(&cube->paths, &reading->room_paths, tree->count, sizeof path, run->error));
    cube->paths[tree->count] = path;
    *PF_PUSH(run, reading->open_paths) = reading->parameters.n;
    uint8_t flags = reading->path == PF_CUBE_NONE ? PF_FRAME | PF_ROOT : PF_FRAME;
    reading->path = pf_tree_add(tree, reading->path, id, 0, 0, flags, run->error);
    if (reading->path == PF_NO_CONTEXT)
        pf_run_fail(run);
}

/* Appends "KEY=VALUE" to the parameters of the innermost open call path, if it fits. */
void pf_cube_start_parameter(struct pf_cube_reading *reading)
{
    const char *key = anchor_attribute(reading, "parkey"), *value = anchor_attribute(reading, "parvalue");
    if (!reading->open_paths.n || !key || !value)
        return;
    size_t begin = reading->open_paths.at[reading->open_paths.n - 1], size = reading->parameters.n - begin;
    size_t room = PARAMETERS_MAX - size;
    (void)PF_ITEM(reading->run, reading->parameters, begin + PARAMETERS_MAX); /* makes room */
    int more = snprintf(reading->parameters.at + reading->parameters.n, room, "%s%s=%s", size ? "; " : "",
                        key, value);
    if (more > 0 && (size_t)more < room)
        reading->parameters.n += (size_t)more;
}

/* Interns the parameters only now, when they are complete, so that the pool does not fill with their prefixes. */
void pf_cube_end_cnode(struct pf_cube_reading *reading)
{
    const struct pf_cube *cube = reading->cube;
    if (!reading->open_paths.n)
        return;
    size_t begin = reading->open_paths.at[--reading->open_paths.n];
    size_t size = reading->parameters.n - begin;
    reading->parameters.n = begin;
    if (size)
        cube->paths[reading->path].parameters = intern_in_tree(reading, reading->parameters.at + begin, size);
    reading->path = cube->tree->parent[reading->path];
}

/* ---- system ------------------------------------------------------------------------------------- */

/*
 * Adds a node of the system. Its element is a systemtreenode or locationgroup, or in version 4.0 a machine, node or
 * process. Unless a child element declares the node's class, the class is `process` for a locationgroup, and the element's
 * name for other nodes.
 */
void pf_cube_start_node(struct pf_cube_reading *reading)
{
    const char *class = strcmp(reading->name, "locationgroup") ? reading->name : "process";
    struct pf_cube_node node = {.parent = reading->node};
    node.cells[PF_CUBE_NODE_ID] = pf_uint(reading->nodes.n);
    node.cells[PF_CUBE_NODE_DEPTH] = pf_uint(0);
    if (node.parent != PF_CUBE_NONE) {
        node.cells[PF_CUBE_NODE_PARENT] = pf_uint(node.parent);
        node.cells[PF_CUBE_NODE_DEPTH] =
            pf_uint(reading->nodes.at[node.parent].cells[PF_CUBE_NODE_DEPTH].u + 1);
    }
    node.cells[PF_CUBE_NODE_CLASS] = string_cell(reading, intern_in_tree(reading, class, strlen(class)));
    node.cells[PF_CUBE_NODE_NUMBER] = pf_uint((uint64_t)integer_or(anchor_attribute(reading, "Id"), 0));
    reading->node = (uint32_t)reading->nodes.n;
    *PF_PUSH(reading->run, reading->nodes) = node;
}

void pf_cube_start_location(struct pf_cube_reading *reading)
{
    struct pf_cube *cube = reading->cube;
    struct pf_cube_location location = {.there = true, .group = reading->node, .id = read_id(reading, "Id")};
    location.cells[PF_CUBE_LOCATION_TYPE] = string_cell(reading, intern_in_tree(reading, "thread", 6));
    pf_run_check(reading->run, pf_array_room(&cube->locations, &reading->room_locations, cube->n_locations,
                                             sizeof location, reading->run->error));
    cube->locations[cube->n_locations++] = location;
}

/* ---- simple elements ---------------------------------------------------------------------------- */

/*
 * Simple elements. If the subject is a metric, the text goes to the string at offset `at` of struct pf_cube_metric,
 * otherwise to column `at` of the subject's row.
 */
static const struct anchor_field {
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

/* Returns the row of the current subject, which is a region, node or location. */
static struct pf_cell *row_of_subject(struct pf_cube_reading *reading)
{
    if (reading->subject == OF_REGION)
        return reading->cells;
    return reading->subject == OF_NODE ? reading->nodes.at[reading->node].cells
                                       : reading->cube->locations[reading->cube->n_locations - 1].cells;
}

void pf_cube_take_text(struct pf_cube_reading *reading, const char *name, const char *text, size_t size)
{
    const struct anchor_field *field = fields, *end = fields + sizeof fields / sizeof *fields;
    while (field < end && (field->subject != reading->subject || strcmp(name, field->name) != 0))
        field++;
    if (field == end)
        return;
    if (reading->subject == OF_METRIC) {
        const char **to = (void *)((char *)&reading->cube->metrics[reading->metric] + field->at);
        *to = keep_trimmed(reading, text, size);
        return;
    }
    row_of_subject(reading)[field->at] = field->sort == NUMBER
                                             ? line_or_rank_cell(text)
                                             : string_cell(reading, intern_in_tree(reading, text, size));
}
