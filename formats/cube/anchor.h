/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_ANCHOR_H
#define PF_CUBE_ANCHOR_H

#include "formats/cube/cube.h"
#include "formats/kit/ids.h"
#include "formats/xml/xml.h"

/*
 * Parser of anchor.xml: attributes, metrics, program (regions, call tree), system. Elements of one kind nest (metrics,
 * cnodes, nodes of the system), so the innermost open element of each kind is recorded, and the end of an element
 * restores its parent. The file is read twice: opening reads up to the program, loading reads the rest.
 */
enum pf_cube_section { IN_ANY, IN_HEAD, IN_PROGRAM, IN_SYSTEM };

/* The kind of the element that a simple child element (<name>text</name>) describes. */
enum pf_cube_subject { OF_NOTHING, OF_METRIC, OF_REGION, OF_PATH, OF_NODE, OF_LOCATION };

struct pf_cube_region {
    uint32_t name, file; /* strings of the tree, or PF_NO_STRING */
    uint32_t line;       /* 0: unknown */
    uint8_t kind;        /* the kind of its call paths */
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
    bool head_only;   /* stop before the program; otherwise skip the head */
    enum pf_cube_section section;
    enum pf_cube_subject subject;
    int64_t depth;   /* number of open elements */
    uint32_t metric; /* the innermost open element of each kind, or PF_CUBE_NONE */
    uint32_t path;
    uint32_t node;
    struct pf_cube_region region; /* the open region, and its row */
    struct pf_cell cells[PF_CUBE_REGION_COLUMNS];
    PF_LIST(struct pf_cube_region) regions;
    PF_LIST(struct pf_cube_node) nodes;
    size_t room_paths, room_locations; /* of the cube's arrays */
    struct pf_ids region_ids, path_ids;
    PF_LIST(char) parameters;   /* stack: parameters of the open call paths */
    PF_LIST(size_t) open_paths; /* by level: offset in `parameters` of an open call path's parameters */
    bool doubled;               /* a call path's id occurs twice */
    bool is_cube;               /* <cube> has been seen */
};

/* ---- anchor_items.c ----------------------------------------------------------------------------- */

/* Handles the start of an element with attributes (see pf_xml_attribute). */
typedef void pf_cube_start(struct pf_cube_reading *reading);
pf_cube_start pf_cube_start_cube, pf_cube_start_attr, pf_cube_start_metric, pf_cube_start_region,
    pf_cube_start_cnode, pf_cube_start_parameter, pf_cube_start_node, pf_cube_start_location;

/* Adds the open region, if any. */
void pf_cube_end_region(struct pf_cube_reading *reading);
/* Closes the innermost open call path, if any. */
void pf_cube_end_cnode(struct pf_cube_reading *reading);

/* Stores the text of a simple element in the field of this name of the current subject, if it has one. */
void pf_cube_take_text(struct pf_cube_reading *reading, const char *name, const char *text, size_t size);

#endif
