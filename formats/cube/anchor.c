/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/cube/anchor.h"
#include "formats/input/inflate.h"

/* Bytes per read. Reads of the head are smaller, since the head is short. */
enum { PIECE = 64 * 1024, HEAD_PIECE = 4096 };

/* Nodes of the system tree between two checks of the pass. */
enum { NODES_A_STEP = 8192 };

/* ---- elements ----------------------------------------------------------------------------------- */

/* Enters the program or system, which ends the head. */
static void start_section(struct pf_cube_reading *reading)
{
    reading->section = strcmp(reading->name, "system") ? IN_PROGRAM : IN_SYSTEM;
    if (reading->head_only)
        pf_xml_stop(reading->xml);
}

static const struct anchor_element {
    const char *name;
    enum pf_cube_section section; /* section in which the element is parsed */
    enum pf_cube_subject subject;
    pf_cube_start *start;
} elements[] = {
    {"cnode", IN_PROGRAM, OF_PATH, pf_cube_start_cnode},
    {"parameter", IN_PROGRAM, OF_NOTHING, pf_cube_start_parameter},
    {"region", IN_PROGRAM, OF_REGION, pf_cube_start_region},
    {"location", IN_SYSTEM, OF_LOCATION, pf_cube_start_location},
    {"thread", IN_SYSTEM, OF_LOCATION, pf_cube_start_location},
    {"locationgroup", IN_SYSTEM, OF_NODE, pf_cube_start_node},
    {"process", IN_SYSTEM, OF_NODE, pf_cube_start_node},
    {"systemtreenode", IN_SYSTEM, OF_NODE, pf_cube_start_node},
    {"machine", IN_SYSTEM, OF_NODE, pf_cube_start_node},
    {"node", IN_SYSTEM, OF_NODE, pf_cube_start_node},
    {"metric", IN_HEAD, OF_METRIC, pf_cube_start_metric},
    {"attr", IN_HEAD, OF_NOTHING, pf_cube_start_attr},
    {"program", IN_ANY, OF_NOTHING, start_section},
    {"system", IN_ANY, OF_NOTHING, start_section},
    {"cube", IN_ANY, OF_NOTHING, pf_cube_start_cube},
};

/* Returns NULL for simple elements, for elements outside their section, and for elements of the head in the second pass. */
static const struct anchor_element *find_element(const struct pf_cube_reading *reading, const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const struct anchor_element *it = &elements[i];
        if (name[0] != it->name[0] || strcmp(name, it->name) != 0)
            continue;
        bool passed_over = it->section == IN_HEAD && !reading->head_only;
        return !passed_over && (it->section == IN_ANY || it->section == reading->section) ? it : NULL;
    }
    return NULL;
}

static void anchor_start(void *arg, const char *name)
{
    struct pf_cube_reading *reading = arg;
    const struct anchor_element *element = find_element(reading, name);
    reading->name = name;
    reading->depth++;
    if (!element)
        return;
    pf_cube_end_region(reading);
    element->start(reading);
    reading->subject = element->subject;
}

/* Handles the end of an element. After a metric, node or location, the enclosing metric or node becomes the current subject. */
static void leave_subject(struct pf_cube_reading *reading, enum pf_cube_subject subject)
{
    const struct pf_cube *cube = reading->cube;
    reading->subject = OF_NOTHING;
    if (subject == OF_METRIC && reading->metric != PF_CUBE_NONE)
        reading->metric = cube->metrics[reading->metric].parent;
    if (subject == OF_METRIC && reading->metric != PF_CUBE_NONE)
        reading->subject = OF_METRIC;
    if (subject == OF_NODE && reading->node != PF_CUBE_NONE)
        reading->node = reading->nodes.at[reading->node].parent;
    if ((subject == OF_NODE || subject == OF_LOCATION) && reading->node != PF_CUBE_NONE)
        reading->subject = OF_NODE;
}

static void anchor_end(void *arg, const char *name, const char *text, size_t size)
{
    struct pf_cube_reading *reading = arg;
    const struct anchor_element *element = find_element(reading, name);
    reading->depth--;
    if (!element) {
        pf_cube_take_text(reading, name, text, size);
        return;
    }
    pf_cube_end_region(reading);
    if (element->subject == OF_PATH)
        pf_cube_end_cnode(reading);
    leave_subject(reading, element->subject);
}

/*
 * Handles a damaged tag. If `lost` is set, elements may be missing. In the head and in a region, the other elements remain
 * usable. Elsewhere, a call path or location may be missing, so it is unknown which rows of the data belong to which call
 * path, and the cube is broken. Each of the two passes reports damage of the part that it reads.
 */
static void anchor_fault(void *arg, bool lost)
{
    struct pf_cube_reading *reading = arg;
    bool body = reading->section != IN_HEAD;
    if (body != reading->head_only)
        pf_run_warn(reading->run, "error", "bad-anchor", pf_xml_line(reading->xml), -1,
                    "anchor.xml: damaged tag: its readable parts are used");
    reading->cube->broken |= body && lost && reading->subject != OF_REGION;
}

static void read_elements(struct pf_cube_reading *reading)
{
    static const struct pf_xml_events events = {anchor_start, anchor_end, anchor_fault};
    struct pf_run *run = reading->run;
    const struct pf_cube *cube = reading->cube;
    size_t piece = reading->head_only ? HEAD_PIECE : PIECE;
    char *bytes = PF_OWN(run, malloc(piece), free);
    reading->xml = pf_xml_new(run, &events, reading);
    uint64_t at = 0;
    ssize_t have;
    do {
        pf_run_step(run, at, cube->anchor->size);
        have = pf_cube_read(cube, cube->anchor, bytes, piece, at, run->error);
        pf_run_check(run, (int)have);
        at += (uint64_t)have;
    } while (have && pf_xml_feed(reading->xml, bytes, (size_t)have));
    pf_xml_end(reading->xml);
}

/* Warns if anchor.xml has no element <cube>, is truncated or cannot be decompressed. The first two break the cube. */
static void check_damage(const struct pf_cube_reading *reading)
{
    struct pf_cube *cube = reading->cube;
    struct pf_error damage;
    const char *problem =
        !reading->is_cube ? "anchor.xml: no element <cube>: no values are shown"
        : pf_xml_is_cut(reading->xml)
            ? "anchor.xml: truncated, or not XML from here on: call paths up to here are kept, without values"
            : NULL;
    cube->broken |= problem != NULL;
    if (problem)
        pf_run_warn(reading->run, "fatal", "bad-anchor", pf_xml_line(reading->xml), -1, "%s", problem);
    if (cube->inflate && pf_inflate_damage(cube->inflate, &damage))
        pf_run_warn(reading->run, "fatal", "bad-anchor", 0, cube->anchor->offset,
                    "anchor.xml: cannot be decompressed to its end: %.150s", damage.what);
}

static void free_anchor_reading(struct pf_cube_reading *reading)
{
    pf_ids_free(&reading->region_ids);
    pf_ids_free(&reading->path_ids);
    free(reading);
}

/* Reads anchor.xml, if there is one. Returns the parser's state; `run` owns it. */
static struct pf_cube_reading *read_anchor_xml(struct pf_run *run, struct pf_cube *cube, bool head_only)
{
    struct pf_cube_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free_anchor_reading);
    reading->run = run;
    reading->cube = cube;
    reading->head_only = head_only;
    reading->section = IN_HEAD;
    reading->metric = reading->path = reading->node = PF_CUBE_NONE;
    if (cube->anchor)
        read_elements(reading);
    return reading;
}

void pf_cube_anchor_head(struct pf_run *run, struct pf_cube *cube)
{
    read_anchor_xml(run, cube, true);
    for (size_t i = 0; i < cube->n_metrics; i++)
        cube->metrics[i].type = pf_cube_type_of(cube->metrics[i].dtype);
}

/* ---- finishing the call tree --------------------------------------------------------------------- */

/*
 * Copies the attributes of regions to their call paths. Sets the ids of call paths if they are unique. Otherwise tree->id
 * stays NULL, which makes the index the id.
 */
static void finish_call_tree(const struct pf_cube_reading *reading)
{
    struct pf_run *run = reading->run;
    struct pf_tree *tree = reading->cube->tree;
    size_t n = (size_t)tree->count + 1;
    struct pf_cube_region none = {pf_run_intern(run, tree->strings, "", 0), PF_NO_STRING, 0, 0};
    tree->line = pf_run_memory(run, malloc(n * sizeof *tree->line));
    tree->file = pf_run_memory(run, malloc(n * sizeof *tree->file));
    if (!reading->doubled)
        tree->id = pf_run_memory(run, malloc(n * sizeof *tree->id));
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t at = reading->cube->paths[i].region;
        const struct pf_cube_region *region = at < reading->regions.n ? &reading->regions.at[at] : &none;
        tree->name[i] = region->name != PF_NO_STRING ? region->name : none.name;
        tree->kind[i] = region->kind;
        tree->file[i] = region->file;
        tree->line[i] = region->line;
        if (tree->id)
            tree->id[i] = tree->key[i];
    }
    pf_run_check(run, pf_tree_finish(tree, run->error));
}

void pf_cube_anchor_body(struct pf_run *run, struct pf_cube *cube)
{
    struct pf_cube_reading *reading = read_anchor_xml(run, cube, false);
    if (cube->anchor)
        check_damage(reading);
    pf_cube_end_region(reading);
    while (reading->open_paths.n)
        pf_cube_end_cnode(reading);
    finish_call_tree(reading);
    for (size_t i = 0; i < reading->nodes.n; i++) {
        if (i % NODES_A_STEP == 0)
            pf_run_step(run, i, reading->nodes.n);
        pf_run_check(run, pf_rows_add(cube->system, reading->nodes.at[i].cells, run->error));
    }
    pf_cube_shape(run, cube);
}
