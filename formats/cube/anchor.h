/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_ANCHOR_H
#define PF_CUBE_ANCHOR_H

#include "formats/cube/cube.h"
#include "formats/kit/ids.h"
#include "formats/xml/xml.h"

/*
 * anchor.xml: attributes, metrics, program (regions, call tree), system. Elements of one kind nest (metrics, cnodes, nodes of the
 * system), so each kind has its open one, and the end of an element leads to its parent. The file is read twice: up to the program when
 * it is opened, and from there on when it is loaded.
 */
enum pf_cube_section { IN_ANY, IN_HEAD, IN_PROGRAM, IN_SYSTEM };

/* What an element is, and so what a simple element in it (<name>text</name>) describes. */
enum pf_cube_subject { OF_NOTHING, OF_METRIC, OF_REGION, OF_PATH, OF_NODE, OF_LOCATION };

struct pf_cube_region {
    uint32_t name, file; /* strings of the tree, or PF_NO_STRING */
    uint32_t line;       /* 0: not known */
    uint8_t kind;        /* of its call paths */
};

struct pf_cube_node {
    uint32_t parent;
    struct pf_cell cells[PF_CUBE_NODE_COLUMNS];
};

struct pf_cube_reading {
    struct pf_cube *cube;
    struct pf_xml *xml;
    const char *name; /* of the element that an event reports */
    bool head_only;   /* stops before the program; else what comes before it is skipped */
    enum pf_cube_section section;
    enum pf_cube_subject subject;
    int64_t depth;   /* open elements */
    uint32_t metric; /* the innermost open one of each kind, or PF_CUBE_NONE */
    uint32_t path;
    uint32_t node;
    struct pf_cube_region region; /* the open one, and its row */
    struct pf_cell cells[PF_CUBE_REGION_COLUMNS];
    struct pf_cube_region *regions;
    struct pf_cube_node *nodes;
    size_t n_regions, room_regions, n_nodes, room_nodes, room_paths, room_locations;
    struct pf_ids region_ids, path_ids;
    char *parameters;         /* of the open call paths, the innermost one's last */
    size_t *parameters_begin; /* by level: where those of an open call path begin */
    size_t parameters_size, parameters_room, n_open_paths, open_paths_room;
    bool doubled; /* the id of a call path is */
    bool is_cube; /* <cube> has been seen */
    bool over;    /* nothing more is wanted */
};

/* ---- anchor_items.c ----------------------------------------------------------------------------- */

/* The start of an element that is not simple, whose attributes pf_xml_attribute returns. 0, or -1 with *error filled. */
typedef int pf_cube_start(struct pf_cube_reading *reading, struct pf_error *error);
pf_cube_start pf_cube_start_cube, pf_cube_start_attr, pf_cube_start_metric, pf_cube_start_region,
    pf_cube_start_cnode, pf_cube_start_parameter, pf_cube_start_node, pf_cube_start_location;

/* The end of the open region, which is added; of the innermost open call path. 0, or -1 with *error filled. */
int pf_cube_end_region(struct pf_cube_reading *reading, struct pf_error *error);
int pf_cube_end_cnode(struct pf_cube_reading *reading, struct pf_error *error);

/* Stores the text of a simple element where its subject has a field of this name. 0, or -1 with *error filled. */
int pf_cube_take_text(struct pf_cube_reading *reading, const char *name, const char *text, size_t size,
                      struct pf_error *error);

#endif
