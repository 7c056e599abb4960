/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_TYPES_H
#define PF_CUBE_TYPES_H

#include "formats/driver.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"

/* Types of a cube: members, metrics, call paths, locations. */

#define PF_CUBE_NONE UINT32_MAX /* no index */

/*
 * A member of a .cubex, which is a tar archive without folders. The reader ignores checksums, since one writer computes
 * all of them wrongly. A single block of zeros does not end the archive, because Cube writes one after each member
 * whose size is a multiple of 512.
 */
struct pf_cube_member {
    const char *name; /* NUL-terminated */
    uint64_t offset, size;
};

struct pf_cube_archive {
    struct pf_strings *names;
    struct pf_cube_member *members; /* by the index of the name in `names`; the last member of a name wins */
    size_t count, room;
};

struct pf_inflate;

/* The kind of the elements of a matrix, which determines how they aggregate. */
enum pf_cube_kind {
    PF_CUBE_NO_KIND,  /* unknown type */
    PF_CUBE_SIGNED,   /* integers of 1, 2, 4 or 8 bytes; sums are exact */
    PF_CUBE_UNSIGNED, /* unsigned integers of 1, 2, 4 or 8 bytes; sums are exact */
    PF_CUBE_REAL,     /* a double */
    PF_CUBE_LEAST,    /* a double, aggregated by minimum */
    PF_CUBE_LARGEST,  /* a double, aggregated by maximum */
    PF_CUBE_RATE,     /* two doubles, shown as a / b */
    PF_CUBE_COMPLEX,  /* two doubles, shown as the absolute value */
    PF_CUBE_AVERAGE,  /* TAU_ATOMIC: count and sum of the observations, shown as b / a */
    PF_CUBE_BINS,     /* HISTOGRAM: the counts of its bins, shown as their sum */
    PF_CUBE_LIST,     /* NDOUBLES: shown as the sum */
    PF_CUBE_FUNCTION, /* SCALE_FUNC: shown only as components */
};

/* A decoded value: `i` for integer kinds, `a` or both doubles for the others. */
union pf_cube_number {
    pf_int128 i;
    struct {
        double a, b;
    };
};

/* The meaning of a metric's stored values. Derived metrics have a formula instead of values. */
enum pf_cube_stored {
    PF_CUBE_EXCLUSIVE,
    PF_CUBE_INCLUSIVE,
    PF_CUBE_DERIVED, /* computed from other metrics' sums */
    PF_CUBE_DERIVED_EXCLUSIVE,
    PF_CUBE_DERIVED_INCLUSIVE,
};

struct pf_cube_type {
    enum pf_cube_kind kind;
    uint32_t size; /* of an element, in bytes */
};

/* A range of bytes of the input. */
struct pf_cube_range {
    uint64_t offset, size;
};

struct pf_cube_metric {
    uint64_t id;
    uint32_t parent; /* index, or PF_CUBE_NONE */
    enum pf_cube_stored stored;
    struct pf_cube_type type;
    bool ghost;
    /* NUL-terminated, as in the file; "" if missing. */
    const char *kind, *name, *title, *dtype, *unit, *description, *expression;

    /* The positions of the values; valid after pf_cube_find_data. */
    bool has_data;
    bool big;      /* big-endian */
    uint64_t rows; /* number of rows, including those that no position refers to */
    uint64_t base; /* offset in the input of row 0, or of the streams if the rows are compressed */
    uint64_t end;  /* offset in the input of the end of the data */
    /*
     * By row: the row's position + 1. A row without a call path has the same number as the row before it, or 0. NULL: row i has position i.
     */
    uint32_t *after;
    struct pf_cube_range
        *streams; /* the zlib stream of each row, with size 0 if the row has no data. NULL: not compressed */
};

/* Attributes of a call path that the tree does not hold. */
struct pf_cube_path {
    uint32_t region;     /* index, or PF_CUBE_NONE */
    uint32_t end;        /* index after the last call path of its subtree, whose indexes are contiguous */
    uint32_t wide;       /* position in inclusive metrics, which have another order (shape.c) */
    uint32_t line, file; /* of the call site; 0 and PF_NO_STRING: unknown */
    uint32_t parameters; /* string, or PF_NO_STRING */
};

struct pf_cube_location {
    uint64_t id;
    uint32_t group;          /* row of the enclosing node in the table of the system, or PF_CUBE_NONE */
    bool there;              /* false in a free slot while the locations are sorted */
    struct pf_cell cells[3]; /* indexed by the enum below */
};
enum { PF_CUBE_LOCATION_NAME, PF_CUBE_LOCATION_RANK, PF_CUBE_LOCATION_TYPE };

/* Columns of the table of regions. */
enum {
    PF_CUBE_REGION_ID,
    PF_CUBE_REGION_BEGIN,
    PF_CUBE_REGION_END,
    PF_CUBE_REGION_PARADIGM,
    PF_CUBE_REGION_ROLE,
    PF_CUBE_REGION_MANGLED,
    PF_CUBE_REGION_URL,
    PF_CUBE_REGION_NAME,
    PF_CUBE_REGION_FILE,
    PF_CUBE_REGION_DESCRIPTION,
    PF_CUBE_REGION_COLUMNS
};
/*
 * Columns of the table of the system, which has machines, nodes and processes. The file numbers the nodes of
 * each class separately, so PF_CUBE_NODE_ID is the row instead.
 */
enum {
    PF_CUBE_NODE_ID,
    PF_CUBE_NODE_PARENT,
    PF_CUBE_NODE_DEPTH,
    PF_CUBE_NODE_CLASS,
    PF_CUBE_NODE_NUMBER,
    PF_CUBE_NODE_RANK,
    PF_CUBE_NODE_NAME,
    PF_CUBE_NODE_COLUMNS
};

enum { PF_CUBE_KINDS = 256 };

struct pf_cube {
    struct pf_input *input; /* borrowed */
    struct pf_cube_archive archive;
    const struct pf_cube_member *anchor; /* NULL: missing */
    struct pf_inflate *inflate;          /* decompressor of the anchor; NULL: it is not compressed */
    char version[16];                    /* the version of anchor.xml's syntax */
    struct pf_rows *attributes;          /* key, value */
    struct pf_strings *texts;            /* strings of the metrics */
    struct pf_cube_metric *metrics;
    size_t n_metrics, room_metrics;

    /* Valid from pf_cube_load on. Call paths are in document order, parents before children. */
    bool broken;                      /* the anchor is too damaged to assign values */
    struct pf_tree *tree;             /* owned unless tree_taken */
    bool tree_taken;                  /* the profile has taken ownership of the tree as its contexts */
    const char *kinds[PF_CUBE_KINDS]; /* of call paths: "region", then the roles of regions */
    size_t n_kinds;
    struct pf_cube_path *paths;
    struct pf_rows *regions, *system;
    struct pf_cube_location *locations; /* by id, which is the column in the data */
    uint32_t n_locations;
};

#endif
