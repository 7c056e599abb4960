/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_H
#define PF_CUBE_H

#include "formats/cube/types.h"
#include "formats/input/window.h"
#include "formats/kit/bytes.h"
#include "formats/kit/store.h"
#include "formats/runtime/run.h"

/*
 * A cube is the contents of one Cube file: metrics, regions, call tree, system tree and locations, and the positions of
 * the values. A profile consists of one cube. There are three steps: opening lists the archive's members and reads
 * attributes and metrics, loading reads all of anchor.xml, and locating the data reads the indexes. The results of each
 * step are immutable afterwards and may be read by many threads.
 *
 * Files, each of which depends only on those listed before it:
 *   types.h         the data
 *   archive.c       members of the archive
 *   type.c          kinds of values and their arithmetic
 *   shape.c         properties derived from the call tree
 *   rows.c          rows of matrices
 *   anchor_items.c  elements of anchor.xml                    (anchor.h)
 *   anchor.c        the two passes over anchor.xml
 *   data.c          positions of the matrices
 *   columns.c       a transposed copy of the matrices
 *   sums.c          exclusive and inclusive values
 *   check.c         damage of the data
 *   cube.c          opening, loading, closing
 *   metrics.c, threads.c, components.c, values.c, cubex.c: the driver (cubex.h)
 *
 * Functions that take a struct pf_run end the run on failure and add their warnings to it (formats/runtime/run.h).
 * Cursors call only functions that do not take one.
 */

/* The printf conversion of a metric's name in warnings. It truncates the name. */
#define PF_CUBE_NAME "%.80s"

/*
 * Marks the cube as broken (rows of data cannot be assigned to call paths), and warns. `what` is the warning's text with
 * one %llu for `number`.
 */
#define pf_cube_break(run, cube, code, what, number)                                                         \
    ((cube)->broken = true, pf_run_warn((run), "fatal", (code), 0, -1, what, (unsigned long long)(number)))

/* ---- archive.c ---------------------------------------------------------------------------------- */

/* Lists the members. Damage is a warning, and members before the damage are kept. The caller frees the archive. */
void pf_cube_archive_read(struct pf_run *run, struct pf_cube_archive *archive, struct pf_input *input);
void pf_cube_archive_free(struct pf_cube_archive *archive);

/* Returns the member of this name, owned by the archive; NULL if there is none. */
const struct pf_cube_member *pf_cube_archive_find(const struct pf_cube_archive *archive, const char *name);

/* Finds anchor.xml, which may be gzip-compressed under the same name. Warns if it is missing. */
void pf_cube_find_anchor(struct pf_run *run, struct pf_cube *cube);

/*
 * Reads `size` bytes at offset `at` of a member, or fewer at its end. If the member is anchor.xml, reads from its
 * decompressed text. Returns the number of bytes, or -1 with *error filled. Thread-safe.
 */
ssize_t pf_cube_read(const struct pf_cube *cube, const struct pf_cube_member *member, void *buffer,
                     size_t size, uint64_t at, struct pf_error *error);

/* ---- type.c ------------------------------------------------------------------------------------- */

/* Returns the type that anchor.xml calls `dtype`. An unknown type is PF_CUBE_NO_KIND with size 0. */
struct pf_cube_type pf_cube_type_of(const char *dtype);

/* Returns the identity element of a kind's aggregation. */
union pf_cube_number pf_cube_neutral(enum pf_cube_kind kind);

/* Decodes n elements in the metric's byte order. */
void pf_cube_decode(const struct pf_cube_metric *metric, const unsigned char *raw, size_t n,
                    union pf_cube_number *out);

/*
 * Add x[i] to sum[i], or subtract x[i] from sum[i], for i < n. For PF_CUBE_LEAST and PF_CUBE_LARGEST, both functions set
 * sum[i] to the minimum or maximum of sum[i] and x[i].
 */
void pf_cube_add(enum pf_cube_kind kind, union pf_cube_number *sum, const union pf_cube_number *x, size_t n);
void pf_cube_subtract(enum pf_cube_kind kind, union pf_cube_number *sum, const union pf_cube_number *x,
                      size_t n);

/* Both set *cell to the single number that Cube shows for `number`. They return false if nothing is shown (zero, or no value). */
bool pf_cube_shown_other(enum pf_cube_kind kind, const union pf_cube_number *number, struct pf_cell *cell);
static inline bool pf_cube_shown(enum pf_cube_kind kind, const union pf_cube_number *number,
                                 struct pf_cell *cell)
{
    if (kind != PF_CUBE_REAL)
        return pf_cube_shown_other(kind, number, cell);
    *cell = pf_double(number->a);
    return number->a != 0;
}

/* True if elements of this kind are shown as a single number. */
static inline bool pf_cube_is_number(enum pf_cube_kind kind)
{
    return kind != PF_CUBE_NO_KIND && kind != PF_CUBE_FUNCTION;
}

/* True if shown values of this kind are additive. */
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

/* Computes the derived properties of the call tree, and sorts the locations. */
void pf_cube_shape(struct pf_run *run, struct pf_cube *cube);

/* ---- rows.c ------------------------------------------------------------------------------------- */

/*
 * A reader of rows of matrices, for one thread. It holds one row and, if rows are compressed, the row's stream; or a whole
 * matrix of up to 1 MiB.
 */
struct pf_cube_reader {
    const struct pf_cube *cube;
    bool ahead; /* read-ahead is allowed */
    struct pf_window window;
    unsigned char *row; /* the last row, decompressed */
    size_t row_room;
    struct libdeflate_decompressor *inflater; /* NULL: not needed yet */
    uint64_t last;                            /* last result of the search for a position's row */
};

void pf_cube_reader_init(struct pf_cube_reader *reader, const struct pf_cube *cube, bool ahead);
void pf_cube_reader_end(struct pf_cube_reader *reader);

/* Returns the row of a call path in a metric's matrix, or -1 if the call path has none. */
int64_t pf_cube_row_of(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint32_t path);

/*
 * Reads elements first .. first + n - 1 of a row in the file's encoding; *raw is valid until the next call. Returns 1;
 * 0 if the row is missing or damaged; -1 with *error filled.
 */
int pf_cube_raw_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                    uint32_t first, uint32_t n, const unsigned char **raw, struct pf_error *error);

/* ---- anchor.c ----------------------------------------------------------------------------------- */

/*
 * Read the two parts of anchor.xml. The head has the attributes and metrics. The body has the program and the system, from
 * which pf_cube_anchor_body also computes the derived properties (shape.c). It sets cube->broken if damage prevents the
 * assignment of values to call paths.
 */
void pf_cube_anchor_head(struct pf_run *run, struct pf_cube *cube);
void pf_cube_anchor_body(struct pf_run *run, struct pf_cube *cube);

/* ---- data.c ------------------------------------------------------------------------------------- */

/* Reads the indexes of all metrics and locates their data. A broken cube has no data. */
void pf_cube_find_data(struct pf_run *run, struct pf_cube *cube);
void pf_cube_forget_data(struct pf_cube *cube);

/*
 * False if a metric certainly has no values: it is derived, its elements are not shown as numbers, or its members are
 * missing or too small. Does not read the members.
 */
bool pf_cube_may_have_data(const struct pf_cube *cube, const struct pf_cube_metric *metric);

/* Size of a metric's decompressed row in bytes. */
static inline uint64_t pf_cube_row_size(const struct pf_cube *cube, const struct pf_cube_metric *metric)
{
    return (uint64_t)cube->n_locations * metric->type.size;
}

/* ---- columns.c ---------------------------------------------------------------------------------- */

/*
 * A transposed copy of all matrices. The file stores a matrix row by row, so reading the values of one location would take
 * one read per value. The copy consists of blocks of several rows. Within a block, all elements of location 0 precede
 * those of location 1, and so on, in the file's encoding. The copy is made in one pass over the data. Its part beyond a
 * limit is in an unlinked temporary file.
 */
struct pf_cube_columns {
    struct pf_store *store; /* NULL: no copy */
    uint64_t *base;         /* the offset of each metric's copy in the store */
};

/* Maximum compression ratio of zlib. */
enum { PF_CUBE_RATIO_MAX = 1032 };

/*
 * Makes the copy, and keeps up to `limit` bytes of it in memory. Makes none if it would be more than PF_CUBE_RATIO_MAX times as large as
 * the file; values of one location are then read from the file.
 */
void pf_cube_columns_make(struct pf_run *run, struct pf_cube_columns *columns, const struct pf_cube *cube,
                          uint64_t limit);
void pf_cube_columns_free(struct pf_cube_columns *columns);

/*
 * Reads the elements of a metric at one location, in the order of rows, into `raw` (room for metric->rows elements).
 * Returns 0, or -1 with *error filled. Thread-safe.
 */
int pf_cube_columns_read(const struct pf_cube_columns *columns, const struct pf_cube *cube,
                         const struct pf_cube_metric *metric, uint32_t location, unsigned char *raw,
                         struct pf_error *error);

/* ---- sums.c ------------------------------------------------------------------------------------- */

/*
 * Computes exclusive and inclusive values of call paths, for one thread. The file stores one of the two for each metric. A
 * sequential scan reads the rows of a range of call paths at once. The values that are not stored are derived from further
 * rows. Exclusive values need the inclusive values of the children, and inclusive values need the exclusive values of the
 * whole subtree.
 *
 * Sums of doubles depend on the order of addition, so that order is fixed. The inclusive values of a call path's children are
 * added from the last to the first, then the call path's own value.
 */
struct pf_cube_sums {
    struct pf_cube_reader reader;
    uint32_t location, width;                   /* first location, and number of locations */
    const struct pf_cube_columns *columns;      /* to read one location from; NULL: read the file */
    const struct pf_cube_metric *column_metric; /* the metric of `column`; NULL: none */
    unsigned char *column;                      /* the elements of column_metric at `location` */
    uint32_t rows, rows_max;                    /* maximum number of call paths in the current range, and in any */
    const struct pf_cube_metric *metric;        /* the metric of the current range; NULL: none */
    uint32_t first, end;                        /* the current range of call paths */
    union pf_cube_number *stored;               /* rows of the range; one number per call path and location */
    bool *there;                                /* for each call path of the range: it has a row */
    union pf_cube_number *derived, *term;       /* values that the file does not store; a buffer for a row */
    bool is_derived;                            /* `derived` is filled */
};

/*
 * Initialises the state for reading a location, or all if `location` is -1. A single location is read from `columns`, or
 * from the file if `columns` is NULL. `ahead` optimises for a sequential scan. Returns 0, or -1 with *error filled. The
 * caller calls pf_cube_sums_end in either case.
 */
int pf_cube_sums_init(struct pf_cube_sums *sums, const struct pf_cube *cube, bool ahead, int64_t location,
                      const struct pf_cube_columns *columns, struct pf_error *error);
void pf_cube_sums_end(struct pf_cube_sums *sums);

/*
 * Computes the values of a call path, one per location. Returns 1 with *values valid until the next call; 0 if the call
 * path has no values (all are the kind's identity element); -1 with *error filled.
 */
int pf_cube_sums_at(struct pf_cube_sums *sums, const struct pf_cube_metric *metric, uint32_t path,
                    bool inclusive, const union pf_cube_number **values, struct pf_error *error);

/* ---- check.c ------------------------------------------------------------------------------------ */

/* Warns of damaged rows, of counters that went below zero, and of negative exclusive values. */
void pf_cube_check(struct pf_run *run, const struct pf_cube *cube);

/* ---- cube.c ------------------------------------------------------------------------------------- */

/*
 * Lists the members, and reads attributes and metrics into a zeroed cube. Borrows the input. The caller closes the cube,
 * also after a failure.
 */
void pf_cube_open(struct pf_run *run, struct pf_cube *cube, struct pf_input *input);
void pf_cube_close(struct pf_cube *cube);

/* Reads all of anchor.xml. */
void pf_cube_load(struct pf_run *run, struct pf_cube *cube);

#endif
