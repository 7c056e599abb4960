/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_H
#define PF_CUBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/driver.h"
#include "formats/kit/notes.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"

/*
 * One Cube file as it is: its metrics, regions, call tree, system tree and locations, and where the values stand. Any
 * input will do; a profile may be one cube, or be made of many. A cube is opened (archive, attributes, metrics: a
 * few reads), then loaded (all of anchor.xml), then its data are looked at (indexes); what a step has made is
 * immutable afterwards and read by many threads.
 */
#define PF_CUBE_NONE UINT32_MAX

/* ---- archive.c ---------------------------------------------------------------------------------- */

/*
 * The container of a .cubex: a tar archive without folders, as Cube writes it. Check sums are not looked at (one
 * writer gets all of them wrong), and a lone block of zeros inside is not its end (Cube writes one behind each member
 * whose size is a multiple of 512).
 */
struct pf_cube_member {
    char *name; /* terminated, owned */
    uint64_t offset, size;
};

struct pf_cube_archive {
    struct pf_cube_member *members; /* by name, each name once: the last of its name in the file */
    size_t count, room;
};

/*
 * Hops over the headers, a read each. What is wrong goes to notes : the members before it are there.
 * -1 with *error filled if the input can't be read or memory is out; the archive is to be freed in any case.
 */
int pf_cube_archive_read(struct pf_cube_archive *archive, struct pf_input *input, struct pf_notes *notes,
                         struct pf_error *error);
void pf_cube_archive_free(struct pf_cube_archive *archive);

/* NULL if there is none. */
const struct pf_cube_member *pf_cube_archive_find(const struct pf_cube_archive *archive, const char *name);

struct pf_inflate;

/* A range of an input as it stands there, or what it inflates to. */
struct pf_cube_bytes {
    struct pf_input *input;
    uint64_t offset, size;
    struct pf_inflate *inflate; /* NULL: not compressed */
};

/* Up to `size` bytes at `at` of the text; fewer at its end only. -1 with *error filled. Safe from many threads. */
ssize_t pf_cube_bytes_read(const struct pf_cube_bytes *bytes, void *buffer, size_t size, uint64_t at,
                           struct pf_error *error);

/* What an element of a matrix holds, and so how it adds up. */
enum pf_cube_kind {
    PF_CUBE_NO_KIND,  /* of a type that nobody knows */
    PF_CUBE_SIGNED,   /* integers of 1, 2, 4 or 8 bytes; added exactly */
    PF_CUBE_UNSIGNED, /* */
    PF_CUBE_REAL,     /* a double */
    PF_CUBE_LEAST,    /* a double of which the smallest counts */
    PF_CUBE_LARGEST,  /* */
    PF_CUBE_RATE,     /* two doubles, shown as a / b */
    PF_CUBE_COMPLEX,  /* two doubles, shown as their length */
    PF_CUBE_AVERAGE,  /* TAU_ATOMIC: number and sum of what was seen, shown as b / a */
    PF_CUBE_BINS,     /* HISTOGRAM: the counts of its bins, shown as their sum */
    PF_CUBE_LIST,     /* NDOUBLES: shown as the sum */
    PF_CUBE_FUNCTION, /* SCALE_FUNC: shown in its parts alone */
};

/* A value on its way: `i` for integers, `a` alone or both doubles for the others. */
union pf_cube_number {
    pf_int128 i;
    struct {
        double a, b;
    };
};

/* What the stored value of a call path says. */
enum pf_cube_stored { PF_CUBE_EXCLUSIVE, PF_CUBE_INCLUSIVE, PF_CUBE_DERIVED };

/* Sentences of warnings tell of a metric by at most this much of its name. */
#define PF_CUBE_NAME "%.80s"

/* What is wrong with a file, by code. */
enum pf_cube_note_kind {
    PF_CUBE_NOTE_CUT,
    PF_CUBE_NOTE_BAD_HEADER,
    PF_CUBE_NOTE_LIMIT,
    PF_CUBE_NOTE_BAD_STREAM,
    PF_CUBE_NOTE_WRAPPED,
    PF_CUBE_NOTE_NEGATIVE,
    PF_CUBE_NOTE_BAD_ID,
    PF_CUBE_NOTE_BAD_ID_ERROR,
    PF_CUBE_NOTE_BAD_ANCHOR,
    PF_CUBE_NOTE_BAD_TAG,
    PF_CUBE_NOTE_NO_ANCHOR,
    PF_CUBE_NOTE_BAD_INDEX,
    PF_CUBE_NOTE_BAD_POSITION,
    PF_CUBE_NOTE_CUT_INDEX,
    PF_CUBE_NOTE_SHORT_DATA,
    PF_CUBE_NOTE_BAD_DATA,
    PF_CUBE_NOTE_NO_DATA,
    PF_CUBE_NOTE_NO_INDEX,
    PF_CUBE_NOTE_NO_NUMBER,
    PF_CUBE_NOTE_DOUBLED_ID,
    PF_CUBE_NOTE_NO_REGION,
    PF_CUBE_NOTE_NO_LOCATIONS,
    PF_CUBE_NOTE_KINDS
};
extern const struct pf_note_kind pf_cube_note_kinds[PF_CUBE_NOTE_KINDS];

/* Notes a problem: kind, line (0: not known), offset (-1: not known), text. 0 in any case. */
#define pf_cube_note(notes, kind, line, offset, ...)                                                         \
    (pf_note((notes), &pf_cube_note_kinds[kind], line, offset, __VA_ARGS__), 0)

struct pf_cube_type {
    enum pf_cube_kind kind;
    uint32_t size; /* of an element, in bytes */
};

struct pf_cube_metric {
    uint64_t id;
    uint32_t parent; /* index, or PF_CUBE_NONE */
    enum pf_cube_stored stored;
    struct pf_cube_type type;
    bool ghost;
    bool takes_inclusive; /* derived metrics: of an inclusive kind */
    /* As in the file, terminated; "" if not there. */
    const char *kind, *name, *title, *dtype, *unit, *description, *expression;

    /* Where the values are; known once the data have been looked at. */
    bool has_data;
    bool swapped;    /* the other byte order than this machine's */
    bool compressed; /* a zlib stream a row */
    bool all_rows;   /* a row for each position, `bits` is NULL */
    uint64_t rows;   /* how many there are, with those that no position belongs to */
    uint64_t base;   /* offset of row 0 in the input; compressed: that streams are counted from */
    uint64_t end;    /* of the data in the input */
    uint64_t table;  /* compressed: offset of the table of streams in the input */
    uint64_t *bits;  /* a bit a position that has a row, */
    uint32_t *rank;  /* and for each word how many rows come before its first bit */
    uint32_t
        *row_at; /* the row of each position; NULL, as it mostly is: rows are numbered as their bits are */
    uint32_t *entry;   /* compressed: entry of the table for each row; NULL: the row's own number */
    uint64_t *damaged; /* compressed: a bit a row that can't be inflated; NULL: none */
};

struct pf_cube_region {
    uint64_t id;
    int64_t begin, end;                                             /* lines; -1: not known */
    uint32_t name, mangled, paradigm, role, url, description, file; /* in tree->strings, or PF_NO_STRING */
};

/* What a call path has beside what the tree says of it. */
struct pf_cube_path {
    uint32_t region;     /* index, or PF_CUBE_NONE */
    uint32_t end;        /* index behind its subtree, which is a range of indexes */
    uint32_t wide;       /* its position in the order of inclusive metrics */
    uint32_t line, file; /* of the call: 0, PF_NO_STRING if not there */
    uint32_t parameters; /* string, or PF_NO_STRING */
};

/* A node of the system tree: machine, rack, node, and the process as its last level. */
struct pf_cube_node {
    uint32_t parent, depth;
    uint64_t id;
    int64_t rank; /* groups; -1: none */
    uint32_t name, class;
    bool group; /* a process, an accelerator, ... : holds locations */
};

struct pf_cube_location {
    uint32_t name, type;
    uint32_t group; /* index of the node, or PF_CUBE_NONE */
    int64_t rank;   /* of the thread in its process; -1: none */
    uint64_t id;
};

struct pf_cube {
    struct pf_input *input; /* borrowed */
    struct pf_cube_archive archive;
    struct pf_cube_bytes anchor;
    bool has_anchor;
    char version[16];           /* of the anchor's syntax */
    struct pf_rows *attributes; /* key, value */
    struct pf_strings *texts;   /* of the metrics */
    struct pf_cube_metric *metrics;
    size_t n_metrics, room_metrics;
    struct pf_notes notes; /* problems found while opening, loading, looking at the data */

    /* From pf_cube_load on. Call paths are in the document's order, parents before children. */
    bool loaded;
    bool broken;          /* the anchor is: there are no values */
    struct pf_tree *tree; /* owned, unless */
    bool tree_taken;      /* somebody has taken it over: a profile, whose contexts it is */
    struct pf_cube_path *paths;
    struct pf_cube_region *regions;
    size_t n_regions, room_regions;
    struct pf_cube_node *nodes;
    size_t n_nodes, room_nodes;
    struct pf_cube_location *locations; /* by id, which is the column of the data */
    uint32_t n_locations;
    struct pf_notes load_notes;

    struct pf_notes data_notes; /* from pf_cube_find_data on */
};

/* ---- cube.c ------------------------------------------------------------------------------------- */

/* Finds the members and reads attributes and metrics. -1 with *error filled; to be closed in any case. */
int pf_cube_open(struct pf_cube *cube, struct pf_input *input, struct pf_error *error);
void pf_cube_close(struct pf_cube *cube);

/* Reads all of anchor.xml; `pass` may be NULL. On failure (ECANCELED) nothing has changed. */
int pf_cube_load(struct pf_cube *cube, struct pf_pass *pass, struct pf_error *error);

/* ---- anchor.c ----------------------------------------------------------------------------------- */

/* The attributes and metrics; or the program and the system. */
int pf_cube_anchor_head(struct pf_cube *cube, struct pf_error *error);
int pf_cube_anchor_body(struct pf_cube *cube, struct pf_pass *pass, struct pf_error *error);

/* ---- shape.c ------------------------------------------------------------------------------------ */

/* Checks ids and derives what follows from the call tree. -1: memory. Damage makes the cube `broken`. */
int pf_cube_shape(struct pf_cube *cube, struct pf_error *error);

/* ---- data.c ------------------------------------------------------------------------------------- */

/* Looks at the indexes and data of all metrics. A cube that is broken has none. On failure nothing has changed. */
int pf_cube_find_data(struct pf_cube *cube, struct pf_pass *pass, struct pf_error *error);
void pf_cube_forget_data(struct pf_cube *cube);

/* Whether a metric may have values, as far as the sizes of the members tell; they are not opened. */
bool pf_cube_may_have_data(const struct pf_cube *cube, const struct pf_cube_metric *metric);

/* How many bytes a row of a metric takes, inflated. */
static inline uint64_t pf_cube_row_size(const struct pf_cube *cube, const struct pf_cube_metric *metric)
{
    return (uint64_t)cube->n_locations * metric->type.size;
}

/* The row of a call path in a metric's matrix, or -1 if it has none. */
int64_t pf_cube_row_of(const struct pf_cube *cube, const struct pf_cube_metric *metric, uint32_t path);

/* True if a metric that is stored exclusive may have a row for one of the call paths first .. end - 1. */
bool pf_cube_has_rows(const struct pf_cube_metric *metric, uint32_t first, uint32_t end);

/* ---- type.c ------------------------------------------------------------------------------------- */

struct pf_cube_type pf_cube_type_of(const char *dtype);

/* The neutral element of a kind. */
union pf_cube_number pf_cube_neutral(enum pf_cube_kind kind);

/* Elements as they stand in the file, in the metric's byte order, as numbers. */
void pf_cube_decode(const struct pf_cube_metric *metric, const unsigned char *raw, size_t n,
                    union pf_cube_number *out);

/* sum[i] = sum[i] + x[i], or - x[i]; of minima and maxima, the least or largest in both cases. */
void pf_cube_add(enum pf_cube_kind kind, union pf_cube_number *sum, const union pf_cube_number *x, size_t n);
void pf_cube_subtract(enum pf_cube_kind kind, union pf_cube_number *sum, const union pf_cube_number *x,
                      size_t n);

/* The one number that Cube shows; false if there is nothing to show (zero, or no value at all). */
bool pf_cube_shown(enum pf_cube_kind kind, const union pf_cube_number *number, struct pf_cell *cell);

/* True if an element is shown as one number. */
static inline bool pf_cube_is_number(enum pf_cube_kind kind)
{
    return kind != PF_CUBE_NO_KIND && kind != PF_CUBE_FUNCTION;
}

/* True if values of this kind may be added up as they are shown. */
static inline bool pf_cube_is_sum(enum pf_cube_kind kind)
{
    return kind == PF_CUBE_SIGNED || kind == PF_CUBE_UNSIGNED || kind == PF_CUBE_REAL ||
           kind == PF_CUBE_BINS || kind == PF_CUBE_LIST;
}

static inline bool pf_cube_is_int(enum pf_cube_kind kind)
{
    return kind == PF_CUBE_SIGNED || kind == PF_CUBE_UNSIGNED;
}

static inline bool pf_cube_is_extreme(enum pf_cube_kind kind)
{
    return kind == PF_CUBE_LEAST || kind == PF_CUBE_LARGEST;
}

#endif
