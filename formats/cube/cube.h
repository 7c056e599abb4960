/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_H
#define PF_CUBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/driver.h"
#include "formats/input/window.h"
#include "formats/kit/bytes.h"
#include "formats/kit/notes.h"
#include "formats/kit/store.h"
#include "formats/kit/strings.h"
#include "formats/kit/tree.h"

/*
 * One Cube file: its metrics, regions, call tree, system tree and locations, and where its values are. A profile is one cube, or is
 * made of many. A cube is opened (archive, attributes, metrics: a few reads), then loaded (all of anchor.xml), then its data are
 * located (indexes). What a step has made is immutable afterwards and read by many threads.
 *
 * The parts, each knowing those before it only:
 *   archive.c       the members of the archive
 *   type.c          kinds of values and their arithmetic
 *   shape.c         what follows from the call tree
 *   rows.c          rows of matrices
 *   anchor_items.c  elements of anchor.xml                    (anchor.h)
 *   anchor.c        the two readings of anchor.xml
 *   data.c          where the matrices are
 *   columns.c       a transposed copy of the matrices
 *   sums.c          exclusive and inclusive values
 *   check.c         damage of the data
 *   cube.c          opening, loading, closing
 *   metrics.c, threads.c, components.c, values.c, cubex.c: the driver (cubex.h)
 */
#define PF_CUBE_NONE UINT32_MAX

/* ---- archive.c ---------------------------------------------------------------------------------- */

/*
 * The container of a .cubex: a tar archive without folders, as Cube writes it. Check sums are not looked at (one
 * writer gets all of them wrong), and a lone block of zeros inside is not its end (Cube writes one behind each member
 * whose size is a multiple of 512).
 */
struct pf_cube_member {
    const char *name; /* terminated */
    uint64_t offset, size;
};

struct pf_cube_archive {
    struct pf_strings *names;
    struct pf_cube_member
        *members; /* each name once: the last of its name in the file; by the number of the name */
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

/* What the stored value of a call path says; derived metrics have none, but a formula. */
enum pf_cube_stored {
    PF_CUBE_EXCLUSIVE,
    PF_CUBE_INCLUSIVE,
    PF_CUBE_DERIVED, /* of sums, be they exclusive or inclusive */
    PF_CUBE_DERIVED_EXCLUSIVE,
    PF_CUBE_DERIVED_INCLUSIVE,
};

/* Sentences of warnings tell of a metric by at most this much of its name. */
#define PF_CUBE_NAME "%.80s"

/* Notes a problem: severity and code, line (0: not known), offset (-1: not known), text. 0 in any case. */
#define pf_cube_note(notes, severity, code, line, offset, ...)                                               \
    (pf_note((notes), &(const struct pf_note_kind){(severity), (code), NULL}, line, offset, __VA_ARGS__), 0)

/* Notes damage of the anchor (a fatal problem, with a number) that leaves open whose the rows of the data are. 0 in any case. */
#define pf_cube_note_fatal(cube, code, what, number)                                                         \
    ((cube)->broken = true,                                                                                  \
     pf_cube_note(&(cube)->load_notes, "fatal", code, 0, -1, what, (unsigned long long)(number)))

struct pf_cube_type {
    enum pf_cube_kind kind;
    uint32_t size; /* of an element, in bytes */
};

/* Part of the input. */
struct pf_cube_range {
    uint64_t offset, size;
};

struct pf_cube_metric {
    uint64_t id;
    uint32_t parent; /* index, or PF_CUBE_NONE */
    enum pf_cube_stored stored;
    struct pf_cube_type type;
    bool ghost;
    /* As in the file, terminated; "" if not there. */
    const char *kind, *name, *title, *dtype, *unit, *description, *expression;

    /* Where the values are; known once the data have been looked at. */
    bool has_data;
    bool big;      /* the most significant byte comes first */
    uint64_t rows; /* how many there are, with those that no position belongs to */
    uint64_t base; /* offset in the input: of row 0, or, where rows are compressed, of all streams */
    uint64_t end;  /* of the data in the input */
    uint32_t
        *row_at; /* the row of each position, which may be none of `rows`. NULL: the position is the row */
    struct pf_cube_range
        *streams; /* the zlib stream of each row, without bytes if it has no data. NULL: not compressed */
};

/* What a call path has beside what the tree says of it. */
struct pf_cube_path {
    uint32_t region;     /* index, or PF_CUBE_NONE */
    uint32_t end;        /* index behind its subtree, which is a range of indexes */
    uint32_t wide;       /* its position in the order of inclusive metrics */
    uint32_t line, file; /* of the call: 0, PF_NO_STRING if not there */
    uint32_t parameters; /* string, or PF_NO_STRING */
};

struct pf_cube_location {
    uint64_t id;
    uint32_t group; /* its row in the table of the system, or PF_CUBE_NONE */
    bool there;
    struct pf_cell cells[3]; /* by the next enum */
};
enum { PF_CUBE_LOCATION_NAME, PF_CUBE_LOCATION_RANK, PF_CUBE_LOCATION_TYPE };

/* Columns of the tables of regions, and of machines, nodes and processes. The latter's ids are numbered apart in the file: here the row is the id. */
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
    const struct pf_cube_member *anchor; /* NULL: there is none */
    struct pf_inflate *inflate;          /* of the anchor; NULL: it is not compressed */
    char version[16];                    /* of the anchor's syntax */
    struct pf_rows *attributes;          /* key, value */
    struct pf_strings *texts;            /* of the metrics */
    struct pf_cube_metric *metrics;
    size_t n_metrics, room_metrics;
    struct pf_notes notes; /* problems found while opening, loading, looking at the data */

    /* From pf_cube_load on. Call paths are in the document's order, parents before children. */
    bool broken;                      /* the anchor is: there are no values */
    struct pf_tree *tree;             /* owned, unless */
    bool tree_taken;                  /* somebody has taken it over: a profile, whose contexts it is */
    const char *kinds[PF_CUBE_KINDS]; /* of call paths: roles of regions */
    size_t n_kinds;
    struct pf_cube_path *paths;
    struct pf_rows *regions, *system;
    struct pf_cube_location *locations; /* by id, which is the column of the data */
    uint32_t n_locations;
    struct pf_notes load_notes;

    struct pf_notes data_notes;  /* from pf_cube_find_data on, */
    struct pf_notes check_notes; /* and from pf_cube_check */
};

/* ---- archive.c: members ------------------------------------------------------------------------- */

/* Finds anchor.xml, which may be gzip data of the same name. Notes if there is none. 0, or -1 with *error filled. */
int pf_cube_find_anchor(struct pf_cube *cube, struct pf_error *error);

/*
 * Reads up to `size` bytes at `at` of a member, of anchor.xml as inflated; fewer at its end only. -1 with *error filled. Safe from many
 * threads.
 */
ssize_t pf_cube_read(const struct pf_cube *cube, const struct pf_cube_member *member, void *buffer,
                     size_t size, uint64_t at, struct pf_error *error);

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
bool pf_cube_shown_other(enum pf_cube_kind kind, const union pf_cube_number *number, struct pf_cell *cell);
static inline bool pf_cube_shown(enum pf_cube_kind kind, const union pf_cube_number *number,
                                 struct pf_cell *cell)
{
    if (kind != PF_CUBE_REAL)
        return pf_cube_shown_other(kind, number, cell);
    *cell = pf_double(number->a);
    return number->a != 0;
}

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

/* ---- shape.c ------------------------------------------------------------------------------------ */

/* Derives what follows from the call tree, and orders the locations. -1: memory. */
int pf_cube_shape(struct pf_cube *cube, struct pf_error *error);

/* ---- rows.c ------------------------------------------------------------------------------------- */

/*
 * Reads rows of matrices: one pread each, and one inflate where they are compressed. A reader belongs to one thread; its
 * memory is a row and its stream, or a matrix of up to 1 MiB.
 */
struct pf_cube_reader {
    const struct pf_cube *cube;
    bool ahead; /* more may be read than is asked for */
    struct pf_window window;
    unsigned char *row; /* inflated */
    size_t row_room;
    struct libdeflate_decompressor *inflater; /* NULL: not needed so far */
};

void pf_cube_reader_init(struct pf_cube_reader *reader, const struct pf_cube *cube, bool ahead);
void pf_cube_reader_end(struct pf_cube_reader *reader);

/* Elements first .. first + n - 1 of a row as they stand in the file, valid until the next call. 1; 0: there are none; -1: *error filled. */
int pf_cube_raw_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                    uint32_t first, uint32_t n, const unsigned char **raw, struct pf_error *error);

/* ---- anchor.c ----------------------------------------------------------------------------------- */

/*
 * The attributes and metrics; or the program and the system, with what follows from the call tree. Damage makes the cube
 * `broken`. -1 with *error filled.
 */
int pf_cube_anchor_head(struct pf_cube *cube, struct pf_error *error);
int pf_cube_anchor_body(struct pf_cube *cube, struct pf_error *error);

/* ---- data.c ------------------------------------------------------------------------------------- */

/* Looks at the indexes and data of all metrics. A cube that is broken has none. On failure nothing has changed. */
int pf_cube_find_data(struct pf_cube *cube, struct pf_error *error);
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

/* ---- columns.c ---------------------------------------------------------------------------------- */

/*
 * A copy of all matrices in which the values of one location stand together. The file has them row by row, so that one
 * location's would take a read a value; the copy is made once, in one pass over the data, and is held in an unlinked
 * file beyond a limit. It is made of blocks of some rows each: of a block, all elements of location 0 come first, then those
 * of location 1, and so on, as they stand in the file.
 */
struct pf_cube_columns {
    struct pf_store *store;
    uint64_t *base; /* where each metric begins */
};

/* limit: bytes to hold in memory. -1 with *error filled; *columns is then empty. */
int pf_cube_columns_make(struct pf_cube_columns *columns, const struct pf_cube *cube, uint64_t limit,
                         struct pf_error *error);
void pf_cube_columns_free(struct pf_cube_columns *columns);

/* The elements of a metric at one location, row by row. Safe from many threads. */
int pf_cube_columns_read(const struct pf_cube_columns *columns, const struct pf_cube *cube,
                         const struct pf_cube_metric *metric, uint32_t location, unsigned char *raw,
                         struct pf_error *error);

/* ---- sums.c ------------------------------------------------------------------------------------- */

/*
 * Exclusive and inclusive values of call paths, whichever of them the file holds. A walk through everything reads the rows of
 * a range of call paths at once. For the other side it reads, beyond these, the rows of their children (exclusive of what is stored
 * inclusive) or the rest of their subtrees (inclusive of what is stored exclusive). Belongs to one thread.
 *
 * Sums of doubles depend on the order of adding. It is the same everywhere: the inclusive values of a call path's children
 * are added from the last to the first, and its own value to these.
 */
struct pf_cube_sums {
    struct pf_cube_reader reader;
    uint32_t location, width;                   /* that values are of: the first, and how many */
    const struct pf_cube_columns *columns;      /* where one location's are read from; NULL: the file */
    const struct pf_cube_metric *column_metric; /* whose column is there; NULL: none */
    unsigned char *column;
    uint32_t rows;                        /* of call paths in a range, at most */
    const struct pf_cube_metric *metric;  /* whose range is there: NULL: none */
    uint32_t first, end;                  /* the range */
    union pf_cube_number *stored;         /* a number a call path and location, */
    bool *there;                          /* whether the call path has a row */
    union pf_cube_number *derived, *term; /* the other side, once it has been asked for; a row */
    bool is_derived;
};

/*
 * ahead: for walks through everything. location: the only one that is wanted, which then `columns` (NULL: none) are read for; -1:
 * all are. -1 with *error filled; to be ended in any case.
 */
int pf_cube_sums_init(struct pf_cube_sums *sums, const struct pf_cube *cube, bool ahead, int64_t location,
                      const struct pf_cube_columns *columns, struct pf_error *error);
void pf_cube_sums_end(struct pf_cube_sums *sums);

/*
 * The values of a call path, one a location. 1: in *values until the next call; 0: there are none, all are neutral; -1:
 * *error filled.
 */
int pf_cube_sums_at(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                    bool inclusive, const union pf_cube_number **values, struct pf_error *error);

/* ---- check.c ------------------------------------------------------------------------------------ */

/*
 * Looks at the data themselves, which nothing but check_notes depends on: which rows are damaged, whether counters have wrapped
 * around, whether call paths come to less than zero. On failure nothing has changed.
 */
int pf_cube_check(struct pf_cube *cube, struct pf_error *error);

/* ---- cube.c ------------------------------------------------------------------------------------- */

/* Finds the members and reads attributes and metrics. -1 with *error filled; to be closed in any case. */
int pf_cube_open(struct pf_cube *cube, struct pf_input *input, struct pf_error *error);
void pf_cube_close(struct pf_cube *cube);

/* Reads all of anchor.xml; `pass` may be NULL. On failure (ECANCELED) nothing has changed. */
int pf_cube_load(struct pf_cube *cube, struct pf_error *error);

#endif
