/* SPDX-License-Identifier: MIT */
#ifndef PF_CUBE_ROWS_H
#define PF_CUBE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "formats/cube/cube.h"

/*
 * Reads rows of matrices: one pread each, and one inflate where they are compressed. A reader belongs to one thread; its
 * memory is a row, and 64 KiB.
 */
struct pf_cube_reader {
    const struct pf_cube *cube;
    bool ahead; /* rows that follow one another may be read at once, beyond what is asked for */

    unsigned char *window; /* bytes of the file */
    size_t window_room, window_size;
    uint64_t window_offset;
    uint64_t next; /* offset behind what was asked for last */

    unsigned char *row; /* inflated: this one */
    size_t row_room;
    const struct pf_cube_metric *row_metric; /* NULL: none */
    uint64_t row_number;

    z_stream stream;
    bool stream_ready;
};

/* Part of the input. */
struct pf_cube_range {
    uint64_t offset, size;
};

void pf_cube_reader_init(struct pf_cube_reader *reader, const struct pf_cube *cube, bool ahead);
void pf_cube_reader_end(struct pf_cube_reader *reader);

/*
 * The values of a call path as they are stored, of the locations first .. first + n - 1. 1: in `out`; 0: there is no row,
 * out is untouched; -1: *error filled.
 */
int pf_cube_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint32_t path,
                uint32_t first, uint32_t n, union pf_cube_number *out, struct pf_error *error);

/*
 * Elements first .. first + n - 1 of row `row` of the matrix (below metric->rows) as they stand in the file. 1: *raw is valid
 * until the next call; 0: there is none; -1: *error filled.
 */
int pf_cube_raw_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                    uint32_t first, uint32_t n, const unsigned char **raw, struct pf_error *error);

/* The values by the number of the row in the matrix (below metric->rows), all locations. */
int pf_cube_matrix_row(struct pf_cube_reader *reader, const struct pf_cube_metric *metric, uint64_t row,
                       union pf_cube_number *out, struct pf_error *error);

/*
 * Where the stream of a row of compressed data is, as the table says; of no bytes if the row has no data. 1; 0: nowhere in
 * the data; -1: *error filled. (data.c)
 */
int pf_cube_stream(const struct pf_cube *cube, const struct pf_cube_metric *metric, uint64_t row,
                   struct pf_cube_range *range, struct pf_error *error);

/*
 * Looks at a metric's data, and notes what is odd about them; damaged rows have no values then. 0, or -1 with *error filled.
 * (check.c)
 */
int pf_cube_check(struct pf_cube *cube, struct pf_cube_metric *metric, struct pf_pass *pass,
                  struct pf_error *error);

#endif
