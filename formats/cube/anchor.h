/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_ANCHOR_H
#define PF_CUBE_ANCHOR_H

#include "formats/cube/cube.h"
#include "formats/kit/ids.h"
#include "formats/xml/xml.h"

/*
 * The parser of anchor.xml. The file consists of the head (attributes and metrics), the program (regions and the call
 * tree) and the system. It is read twice, because opening needs the head only, and loading the rest. Metrics, call paths
 * and nodes of the system nest. For each of these, the parser records the innermost open element. At the end of an
 * element, its parent becomes the innermost one again.
 */
enum pf_cube_section { IN_ANY, IN_HEAD, IN_PROGRAM, IN_SYSTEM };

/* Kinds of elements that have simple elements (<name>text</name>) as children. A simple element describes its parent. */
enum pf_cube_subject { OF_NOTHING, OF_METRIC, OF_REGION, OF_PATH, OF_NODE, OF_LOCATION };

struct pf_cube_region {
    uint32_t name, file; /* strings of the tree, or PF_NO_STRING */
    uint32_t line;       /* 0: unknown */
    uint8_t kind;        /* the kind of its call paths: index in cube->kinds */
};

struct pf_cube_node {
    uint32_t parent;
    struct pf_cell cells[PF_CUBE_NODE_COLUMNS];
};

struct pf_cube_reading {
    struct pf_run *run;
    struct pf_cube *cube;
    struct pf_xml *xml;
    const char *name; /* of the element that the current event reports */
    bool head_only;   /* the pass reads the head and stops there; otherwise it skips the head */
    enum pf_cube_section section;
    enum pf_cube_subject subject;
    int64_t depth;   /* number of open elements */
    uint32_t metric; /* `metric`, `path`, `node`: index of the innermost open one, or PF_CUBE_NONE */
    uint32_t path;
    uint32_t node;
    struct pf_cube_region region;                 /* the open region */
    struct pf_cell cells[PF_CUBE_REGION_COLUMNS]; /* the row of the open region */
    PF_LIST(struct pf_cube_region) regions;
    PF_LIST(struct pf_cube_node) nodes;
    size_t room_paths, room_locations; /* allocated items of cube->paths and cube->locations */
    struct pf_ids region_ids, path_ids;
    PF_LIST(char) parameters;   /* the parameters of all open call paths, one after the other */
    PF_LIST(size_t) open_paths; /* where the parameters of each open call path begin */
    bool doubled;               /* two call paths have the same id */
    bool is_cube;               /* <cube> has been seen */
};

/* ---- anchor_items.c ----------------------------------------------------------------------------- */

/* Handles the start of an element, whose attributes pf_xml_attribute() returns. */
typedef void pf_cube_start(struct pf_cube_reading *reading);
pf_cube_start pf_cube_start_cube, pf_cube_start_attr, pf_cube_start_metric, pf_cube_start_region,
    pf_cube_start_cnode, pf_cube_start_parameter, pf_cube_start_node, pf_cube_start_location;

/* Adds the open region to the cube, if a region is open. */
void pf_cube_end_region(struct pf_cube_reading *reading);
/* Closes the innermost open call path, if any. */
void pf_cube_end_cnode(struct pf_cube_reading *reading);

/* Stores the text of a simple element in the field `name` of the current subject, if the subject has such a field. */
void pf_cube_take_text(struct pf_cube_reading *reading, const char *name, const char *text, size_t size);

#endif
