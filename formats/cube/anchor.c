/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/cube/anchor.h"
#include "formats/input/inflate.h"

/* Bytes per read; fewer for the head, of which little is needed. */
enum { PIECE = 64 * 1024, HEAD_PIECE = 4096 };

/* ---- all elements ------------------------------------------------------------------------------- */

/* Enters the program or system, which ends the head. */
static int start_section(struct pf_cube_reading *reading, struct pf_error *error)
{
    (void)error;
    reading->section = strcmp(reading->name, "system") ? IN_PROGRAM : IN_SYSTEM;
    reading->over = reading->head_only;
    return 0;
}

static const struct element {
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

/* Returns NULL for simple elements, and for elements of the head in the second pass. */
static const struct element *find_element(const struct pf_cube_reading *reading, const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const struct element *it = &elements[i];
        if (name[0] != it->name[0] || strcmp(name, it->name) != 0)
            continue;
        bool passed_over = it->section == IN_HEAD && !reading->head_only;
        return !passed_over && (it->section == IN_ANY || it->section == reading->section) ? it : NULL;
    }
    return NULL;
}

static int on_start(void *arg, const char *name, struct pf_error *error)
{
    struct pf_cube_reading *reading = arg;
    const struct element *element = find_element(reading, name);
    reading->name = name;
    reading->depth++;
    if (!element)
        return 0;
    if ((reading->subject == OF_REGION && pf_cube_end_region(reading, error)) ||
        element->start(reading, error))
        return -1;
    reading->subject = element->subject;
    return reading->over;
}

/* Restores the parent of an element that ends as the current subject. */
static void go_up(struct pf_cube_reading *reading, enum pf_cube_subject subject)
{
    const struct pf_cube *cube = reading->cube;
    reading->subject = OF_NOTHING;
    if (subject == OF_METRIC && reading->metric != PF_CUBE_NONE)
        reading->metric = cube->metrics[reading->metric].parent;
    if (subject == OF_METRIC && reading->metric != PF_CUBE_NONE)
        reading->subject = OF_METRIC;
    if (subject == OF_NODE && reading->node != PF_CUBE_NONE)
        reading->node = reading->nodes[reading->node].parent;
    if ((subject == OF_NODE || subject == OF_LOCATION) && reading->node != PF_CUBE_NONE)
        reading->subject = OF_NODE;
}

static int on_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    struct pf_cube_reading *reading = arg;
    const struct element *element = find_element(reading, name);
    reading->depth--;
    if (!element)
        return pf_cube_take_text(reading, name, text, size, error);
    if ((reading->subject == OF_REGION && pf_cube_end_region(reading, error)) ||
        (element->subject == OF_PATH && pf_cube_end_cnode(reading, error)))
        return -1;
    go_up(reading, element->subject);
    return 0;
}

/*
 * Handles a damaged tag. If call paths or locations may be missing, the rows of the data cannot be assigned; in the
 * head and in regions only the tag is lost. Each of the two passes reports its own part.
 */
static void on_fault(void *arg, bool lost)
{
    struct pf_cube_reading *reading = arg;
    struct pf_cube *cube = reading->cube;
    bool body = reading->section != IN_HEAD;
    if (body != reading->head_only)
        (void)pf_cube_note(body ? &cube->load_notes : &cube->notes, "error", "bad-anchor",
                           pf_xml_line(reading->xml), -1,
                           "a tag of anchor.xml is damaged: what can be read of it is");
    cube->broken |= body && lost && reading->subject != OF_REGION;
}

static int read_elements(struct pf_cube_reading *reading, struct pf_error *error)
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

/* Notes damage of the file as a whole. */
static void note_damage(const struct pf_cube_reading *reading)
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

static int read_anchor(struct pf_cube_reading *reading, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_start, on_end, on_fault};
    reading->section = IN_HEAD;
    reading->metric = reading->path = reading->node = PF_CUBE_NONE;
    reading->xml = pf_xml_new(&events, reading);
    if (!reading->xml)
        return pf_fail_memory(error);
    int result = read_elements(reading, error);
    if (!result && !reading->head_only)
        note_damage(reading);
    pf_xml_free(reading->xml);
    return result;
}

int pf_cube_anchor_head(struct pf_cube *cube, struct pf_error *error)
{
    struct pf_cube_reading reading = {.cube = cube, .head_only = true};
    if (read_anchor(&reading, error))
        return -1;
    for (size_t i = 0; i < cube->n_metrics; i++)
        cube->metrics[i].type = pf_cube_type_of(cube->metrics[i].dtype);
    return 0;
}

/* ---- the end of the load ------------------------------------------------------------------------ */

/*
 * Copies the attributes of regions to their call paths. Sets the ids, unless they are ambiguous: then the index is the
 * id.
 */
static int finish_tree(const struct pf_cube_reading *reading, struct pf_error *error)
{
    struct pf_tree *tree = reading->cube->tree;
    size_t n = (size_t)tree->count + 1;
    struct pf_cube_region none = {pf_intern(tree->strings, "", 0, error), PF_NO_STRING, 0, 0};
    tree->line = malloc(n * sizeof *tree->line);
    tree->file = malloc(n * sizeof *tree->file);
    tree->id = reading->doubled ? NULL : malloc(n * sizeof *tree->id);
    if (none.name == PF_NO_STRING || !tree->line || !tree->file || (!tree->id && !reading->doubled))
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t at = reading->cube->paths[i].region;
        const struct pf_cube_region *region = at < reading->n_regions ? &reading->regions[at] : &none;
        tree->name[i] = region->name != PF_NO_STRING ? region->name : none.name;
        tree->kind[i] = region->kind;
        tree->file[i] = region->file;
        tree->line[i] = region->line;
        if (tree->id)
            tree->id[i] = tree->key[i];
    }
    return pf_tree_finish(tree, error);
}

static int finish(struct pf_cube_reading *reading, struct pf_error *error)
{
    struct pf_cube *cube = reading->cube;
    if (reading->subject == OF_REGION && pf_cube_end_region(reading, error))
        return -1;
    while (reading->n_open_paths)
        if (pf_cube_end_cnode(reading, error))
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
    struct pf_cube_reading reading = {.cube = cube};
    int result = (cube->anchor && read_anchor(&reading, error)) || finish(&reading, error) ? -1 : 0;
    free(reading.regions);
    free(reading.nodes);
    free(reading.parameters);
    free(reading.parameters_begin);
    pf_ids_free(&reading.region_ids);
    pf_ids_free(&reading.path_ids);
    return result;
}
