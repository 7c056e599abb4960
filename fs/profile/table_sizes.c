/* SPDX-License-Identifier: MIT */
#include "fs/profile/table_sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/text/table.h"

enum { ROWS_PER_STEP = 8192, TRIES = 8 };

/*
 * Failures of a piece. ENDED: the piece was stopped, for example because another one failed. REPEAT: the pass must be repeated
 * (EAGAIN). FAILED: any other error.
 */
enum severity { ENDED, REPEAT, FAILED, SEVERITIES };

/* The share of the pass that covers one partition, or the whole table if the table is not ordered by partition. */
struct sizes_piece {
    uint64_t full; /* size of this piece's rows in the whole table */
    uint64_t partition;                /* size of the partition's own file, with header */
    struct pf_checkpoints checkpoints; /* `full` offsets are relative to the piece's first row */
    unsigned char *start;              /* the saved position before the first row */
    size_t start_size;
};

struct measuring {
    struct pf_model *model;
    const struct pf_table *table;
    struct pf_table_sizes *sizes;
    struct pf_row_size header;
    struct sizes_piece *pieces;
    size_t n;
    _Atomic uint64_t done; /* progress in thousandths of a piece, summed over all pieces */
    /*
     * By severity: whether a piece has failed, and the error of the first piece that failed; errors[] is read only after the split.
     */
    atomic_bool failed[SEVERITIES];
    struct pf_error errors[SEVERITIES];
};

static bool by_partition(const struct measuring *all)
{
    return all->table->flags & PF_BY_PARTITION && all->sizes->partitions > 0;
}

static int save_start(struct sizes_piece *piece, const struct pf_measure *measure, struct pf_error *error)
{
    piece->start_size = pf_measure_save(measure, NULL, 0);
    piece->start = malloc(piece->start_size + 1);
    if (!piece->start)
        return pf_fail_memory(error);
    pf_measure_save(measure, piece->start, piece->start_size);
    return 0;
}

static void count_row(struct measuring *all, const struct pf_row_size *row)
{
    struct pf_table_sizes *sizes = all->sizes;
    if (sizes->contexts && row->context_index >= 0 && (uint64_t)row->context_index < sizes->contexts)
        atomic_fetch_add_explicit(&sizes->context[row->context_index], row->full - row->context,
                                  memory_order_relaxed);
    if (sizes->partitions && !sizes->first && row->partition_index >= 0 &&
        (uint64_t)row->partition_index < sizes->partitions)
        sizes->partition[row->partition_index] += row->full - row->partition;
}

/*
 * Adds a checkpoint if one is due. The distance is measured in the partition's file, which is shorter than the whole table.
 * *last: offset of the previous checkpoint in the partition's file.
 */
static int set_checkpoint(struct sizes_piece *piece, const struct pf_measure *measure, uint64_t *last,
                          struct pf_error *error)
{
    size_t position = pf_measure_save(measure, NULL, 0);
    if (!pf_checkpoint_is_due(piece->partition - *last, position))
        return 0;
    void *saved = pf_checkpoints_add(&piece->checkpoints, piece->full, piece->partition, position, error);
    if (!saved)
        return -1;
    pf_measure_save(measure, saved, position);
    *last = piece->partition;
    return 0;
}

/* Reports progress. *reported is the share of this piece already added to all->done, in thousandths. */
static int report_progress(struct measuring *all, const struct pf_measure *measure, uint64_t *reported,
                           struct pf_error *error)
{
    uint64_t now = (uint64_t)(1000 * pf_measure_progress(measure));
    uint64_t more = now > *reported ? now - *reported : 0;
    uint64_t done = atomic_fetch_add_explicit(&all->done, more, memory_order_relaxed) + more;
    *reported += more;
    return pf_pass_step(done, 1000 * all->n, error);
}

static void note_piece_failure(struct measuring *all, const struct pf_error *error)
{
    enum severity severity = error->code == ECANCELED ? ENDED : error->code == EAGAIN ? REPEAT : FAILED;
    if (!atomic_exchange(&all->failed[severity], true))
        all->errors[severity] = *error;
}

static bool has_piece_failed(struct measuring *all)
{
    bool failed = false;
    for (int s = 0; s < SEVERITIES; s++)
        failed |= atomic_load_explicit(&all->failed[s], memory_order_relaxed);
    return failed;
}

/* Returns 0, or -1 with the most severe failure of a piece in *error. */
static int result_of_pieces(struct measuring *all, struct pf_error *error)
{
    for (int s = SEVERITIES - 1; s >= 0; s--)
        if (atomic_load(&all->failed[s])) {
            *error = all->errors[s];
            return -1;
        }
    return 0;
}

static int measure_rows(struct measuring *all, struct sizes_piece *piece, struct pf_measure *measure,
                        struct pf_error *error)
{
    struct pf_row_size row;
    uint64_t last = piece->partition, reported = 0;
    int more;
    for (uint64_t rows = 0; (more = pf_measure_next(measure, &row, error)) > 0; rows++) {
        piece->full += row.full;
        piece->partition += row.full - row.partition;
        count_row(all, &row);
        if (piece->partition - last >= PF_INTERVAL && set_checkpoint(piece, measure, &last, error))
            return -1;
        if (rows % ROWS_PER_STEP == 0) {
            if (report_progress(all, measure, &reported, error))
                return -1;
            if (has_piece_failed(all))
                return pf_fail(error, ECANCELED, "another part of the pass failed");
        }
    }
    atomic_fetch_add_explicit(&all->done, 1000 - reported, memory_order_relaxed);
    return more;
}

static void measure_piece(void *arg, size_t i)
{
    struct measuring *all = arg;
    struct sizes_piece *piece = &all->pieces[i];
    struct pf_error error = {0};
    int64_t partition = by_partition(all) ? (int64_t)i : -1;
    piece->partition = all->header.full - all->header.partition;
    struct pf_measure *measure = pf_measure_new(all->model, all->table, partition, &error);
    if (!measure || save_start(piece, measure, &error) || measure_rows(all, piece, measure, &error))
        note_piece_failure(all, &error);
    pf_measure_free(measure);
}

/* Appends the sizes and checkpoints of piece i to those of the table. *last: offset of the table's last checkpoint. */
static int join_piece(struct measuring *all, size_t i, uint64_t *last, struct pf_error *error)
{
    struct pf_table_sizes *sizes = all->sizes;
    struct sizes_piece *piece = &all->pieces[i];
    uint64_t base = sizes->whole;
    if (i > 0 && piece->full && base - *last >= PF_INTERVAL) {
        void *saved = pf_checkpoints_add(&sizes->checkpoints, base, 0, piece->start_size, error);
        if (!saved)
            return -1;
        memcpy(saved, piece->start, piece->start_size);
        *last = base;
    }
    if (sizes->first) {
        sizes->first[i] = (uint32_t)sizes->checkpoints.count;
        sizes->partition[i] = piece->partition;
    }
    for (size_t m = 0; m < piece->checkpoints.count; m++) {
        const struct pf_checkpoint *at = &piece->checkpoints.items[m];
        void *saved =
            pf_checkpoints_add(&sizes->checkpoints, base + at->full, at->partition, at->size, error);
        if (!saved)
            return -1;
        memcpy(saved, piece->checkpoints.positions + at->position, at->size);
        *last = base + at->full;
    }
    if (sizes->first)
        sizes->end[i] = (uint32_t)sizes->checkpoints.count;
    sizes->whole += piece->full;
    return 0;
}

static void free_pieces(struct measuring *all)
{
    for (size_t i = 0; i < all->n; i++) {
        pf_checkpoints_free(&all->pieces[i].checkpoints);
        free(all->pieces[i].start);
    }
    free(all->pieces);
    all->pieces = NULL;
}

static int measure_once(struct pf_pool *pool, struct measuring *all, struct pf_error *error)
{
    struct pf_table_sizes *sizes = all->sizes;
    all->n = by_partition(all) ? sizes->partitions : 1;
    all->pieces = calloc(all->n, sizeof *all->pieces);
    if (!all->pieces)
        return pf_fail_memory(error);
    atomic_store(&all->done, 0);
    for (int s = 0; s < SEVERITIES; s++)
        atomic_store(&all->failed[s], false);
    pf_pool_split(pool, all->n, measure_piece, all);
    int result = result_of_pieces(all, error);
    uint64_t last = 0;
    sizes->whole = all->header.full;
    for (size_t i = 0; i < all->n && !result; i++)
        result = join_piece(all, i, &last, error);
    free_pieces(all);
    return result;
}

static int prepare_sizes(struct pf_table_sizes *sizes, const struct pf_model *model,
                         const struct pf_table *table, struct pf_error *error)
{
    if (pf_table_has(table, PF_PARTITION))
        sizes->partitions = pf_rows_count(model->partitions.items);
    if (pf_table_has(table, PF_CONTEXT) && model->contexts)
        sizes->contexts = model->contexts->count;
    sizes->partition = calloc(sizes->partitions + 1, sizeof *sizes->partition);
    sizes->context = calloc(sizes->contexts + 1, sizeof *sizes->context);
    if (table->flags & PF_BY_PARTITION && sizes->partitions) {
        sizes->first = calloc(sizes->partitions, sizeof *sizes->first);
        sizes->end = calloc(sizes->partitions, sizeof *sizes->end);
    }
    bool failed = !sizes->partition || !sizes->context ||
                  (table->flags & PF_BY_PARTITION && sizes->partitions && (!sizes->first || !sizes->end));
    return failed ? pf_fail_memory(error) : 0;
}

static void reset(struct pf_table_sizes *sizes, const struct pf_row_size *header)
{
    pf_checkpoints_free(&sizes->checkpoints);
    for (size_t i = 0; i < sizes->partitions; i++)
        sizes->partition[i] = header->full - header->partition;
    for (size_t i = 0; i < sizes->contexts; i++)
        atomic_store_explicit(&sizes->context[i], header->full - header->context, memory_order_relaxed);
}

struct pf_table_sizes *pf_table_sizes_new(struct pf_pool *pool, struct pf_model *model,
                                          const struct pf_table *table, struct pf_error *error)
{
    struct pf_table_sizes *sizes = calloc(1, sizeof *sizes);
    if (!sizes || prepare_sizes(sizes, model, table, error)) {
        pf_fail_memory(error);
        pf_table_sizes_free(sizes);
        return NULL;
    }
    struct measuring all = {.model = model, .table = table, .sizes = sizes, .header = pf_header_size(table)};
    int result = -1;
    for (int tries = 0; tries < TRIES && result; tries++) {
        reset(sizes, &all.header);
        result = measure_once(pool, &all, error);
        if (result && error->code != EAGAIN)
            break;
    }
    if (result) {
        pf_table_sizes_free(sizes);
        return NULL;
    }
    return sizes;
}

void pf_table_sizes_free(struct pf_table_sizes *sizes)
{
    if (!sizes)
        return;
    pf_checkpoints_free(&sizes->checkpoints);
    free(sizes->partition);
    free(sizes->first);
    free(sizes->end);
    free(sizes->context);
    free(sizes);
}
