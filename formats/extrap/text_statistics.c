/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/kit/array.h"

#include "formats/extrap/summary.h"
#include "formats/extrap/text.h"
#include "formats/extrap/text_data.h"
#include "formats/kit/position.h"

/*
 * The tables "statistics" and cells: series by series in order of first appearance, point by point. Where a
 * series stands in the file in several blocks, statistics has rows for each (Extra-P refuses such files:
 * which data are meant is not known), block after block; cells pools them, reading all blocks side by side.
 */

/* Blocks of a series whose places are remembered; in further ones each point's line is looked for anew. */
enum { RUNS_MAX = 65536 };

/* How far one block of the series has been read. */
struct run {
    uint64_t offset; /* of what follows `line` lines of the block */
    uint64_t line;
    uint64_t lines; /* in the block */
};

struct statistics {
    const struct pf_xtext_index *index;
    uint64_t size; /* of the file */
    struct pf_restriction only;
    unsigned parameters;
    bool pooled;
    uint32_t number; /* of the series; PF_NO_SERIES: the end */
    uint32_t block;  /* not pooled: of the series, the one being read */
    uint32_t after;  /* not pooled: the next block of the series, or PF_NO_BLOCK */
    uint64_t point;  /* the next one */
    uint64_t points; /* no block being read has more lines */
    struct run *runs;
    size_t n_runs, room;
    uint32_t further; /* first block that is not among the runs, or PF_NO_BLOCK */
    struct pf_xtext_data data;
    struct pf_summary summary;
};

/* A saved position; offset: where the next point's line is, if one block is being read; else UINT64_MAX. */
struct position {
    uint64_t point, offset;
    uint32_t number, block;
};

static struct run run_of(const struct pf_xtext_block *block)
{
    return (struct run){.offset = block->offset, .lines = block->lines};
}

static int add_run(struct statistics *statistics, const struct pf_xtext_block *block, struct pf_error *error)
{
    if (pf_array_room(&statistics->runs, &statistics->room, statistics->n_runs, sizeof *statistics->runs,
                      error))
        return -1;
    statistics->runs[statistics->n_runs++] = run_of(block);
    return 0;
}

static bool series_matches(const struct statistics *statistics, uint32_t number)
{
    const struct pf_series *series = &statistics->index->experiment->series[number];
    return (statistics->only.context < 0 || series->context == statistics->only.context) &&
           (statistics->only.metric < 0 || series->metric == statistics->only.metric);
}

static uint32_t series_after(const struct statistics *statistics, uint32_t number)
{
    const struct pf_experiment *experiment = statistics->index->experiment;
    if (statistics->only.context >= 0)
        return experiment->series[number].next;
    return number + 1 < experiment->n_series ? number + 1 : PF_NO_SERIES;
}

static uint64_t first_point(const struct statistics *statistics)
{
    return statistics->only.partition < 0 ? 0 : (uint64_t)statistics->only.partition;
}

/* Stands before the first point of a block of the series; pooled: of that block and all that follow it. */
static int enter_block(struct statistics *statistics, uint32_t number, struct pf_error *error)
{
    statistics->block = number;
    statistics->point = first_point(statistics);
    statistics->points = 0;
    statistics->n_runs = 0;
    statistics->further = statistics->after = PF_NO_BLOCK;
    while (number != PF_NO_BLOCK) {
        struct pf_xtext_block block;
        if (pf_xtext_block(statistics->index, number, &block, error) < 0)
            return -1;
        if (statistics->n_runs < RUNS_MAX && add_run(statistics, &block, error) < 0)
            return -1;
        if (statistics->n_runs == RUNS_MAX && statistics->further == PF_NO_BLOCK)
            statistics->further = block.next_in_series;
        if (block.lines > statistics->points)
            statistics->points = block.lines;
        number = block.next_in_series;
        if (!statistics->pooled) {
            statistics->after = number;
            break;
        }
    }
    return 0;
}

/* Stands before the first matching series from `number` on. */
static int enter_series(struct statistics *statistics, uint32_t number, struct pf_error *error)
{
    while (number != PF_NO_SERIES && !series_matches(statistics, number))
        number = series_after(statistics, number);
    statistics->number = number;
    if (number == PF_NO_SERIES)
        return 0;
    return enter_block(statistics, statistics->index->experiment->series[number].first, error);
}

/* Goes on when the points are over. */
static int advance(struct statistics *statistics, struct pf_error *error)
{
    if (statistics->after != PF_NO_BLOCK)
        return enter_block(statistics, statistics->after, error);
    return enter_series(statistics, series_after(statistics, statistics->number), error);
}

static uint32_t first_series(const struct statistics *statistics)
{
    const struct pf_experiment *experiment = statistics->index->experiment;
    if (statistics->only.context >= 0)
        return statistics->only.context > UINT32_MAX
                   ? PF_NO_SERIES
                   : pf_experiment_data_of(experiment, (uint32_t)statistics->only.context)->first_series;
    return experiment->n_series ? 0 : PF_NO_SERIES;
}

static int statistics_open(struct pf_cursor *cursor, struct pf_error *error)
{
    const struct pf_xtext *text = cursor->profile->state;
    struct statistics *statistics = cursor->state = calloc(1, sizeof *statistics);
    if (!statistics)
        return pf_fail_memory(error);
    statistics->index = text->index;
    statistics->size = pf_input_size(text->input);
    statistics->only = cursor->only;
    statistics->parameters = text->tables.parameters;
    statistics->pooled = cursor->table->user == PF_CELLS_TABLE;
    if (pf_xtext_data_open(&statistics->data, text->input, error) < 0)
        return -1;
    return enter_series(statistics, first_series(statistics), error);
}

static void statistics_close(struct pf_cursor *cursor)
{
    struct statistics *statistics = cursor->state;
    if (!statistics)
        return;
    pf_xtext_data_close(&statistics->data);
    pf_summary_free(&statistics->summary);
    free(statistics->runs);
    free(statistics);
}

/* Adds the values that a block has for the point. */
static int add_point(struct statistics *statistics, struct run *run, uint64_t point, struct pf_error *error)
{
    if (point >= run->lines)
        return 0;
    if (run->line > point || pf_xtext_data_seek(&statistics->data, run->offset, false, error) < 0)
        return run->line > point ? 0 : -1;
    while (run->line <= point) {
        int got = pf_xtext_data_line(&statistics->data, error);
        if (got <= 0)
            return got;
        run->line++;
    }
    double value;
    int got;
    while ((got = pf_xtext_data_value(&statistics->data, &value, error)) > 0)
        if (pf_summary_add(&statistics->summary, value, error) < 0)
            return -1;
    run->offset = pf_xtext_data_tell(&statistics->data);
    return got;
}

static int summarise(struct statistics *statistics, uint64_t point, struct pf_error *error)
{
    pf_summary_reset(&statistics->summary);
    for (size_t i = 0; i < statistics->n_runs; i++)
        if (add_point(statistics, &statistics->runs[i], point, error) < 0)
            return -1;
    uint32_t next = statistics->further;
    while (next != PF_NO_BLOCK) {
        struct pf_xtext_block block;
        if (pf_xtext_block(statistics->index, next, &block, error) < 0)
            return -1;
        struct run run = run_of(&block);
        if (add_point(statistics, &run, point, error) < 0)
            return -1;
        next = block.next_in_series;
    }
    return 0;
}

static int statistics_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct statistics *statistics = cursor->state;
    while (statistics->number != PF_NO_SERIES) {
        int64_t only = statistics->only.partition;
        if (statistics->point >= statistics->points || (only >= 0 && statistics->point != (uint64_t)only)) {
            if (advance(statistics, error) < 0)
                return -1;
            continue;
        }
        uint64_t point = statistics->point++;
        if (summarise(statistics, point, error) < 0)
            return -1;
        if (!statistics->summary.count)
            continue;
        struct pf_statistics found = pf_summary_get(&statistics->summary);
        pf_statistics_cells(cells, statistics->parameters, (uint32_t)point,
                            &statistics->index->experiment->series[statistics->number], &found);
        return 1;
    }
    return 0;
}

static size_t statistics_save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct statistics *statistics = cursor->state;
    bool known = statistics->number != PF_NO_SERIES && statistics->n_runs == 1 &&
                 statistics->runs[0].line == statistics->point;
    struct position position = {.point = statistics->point,
                                .offset = known ? statistics->runs[0].offset : UINT64_MAX,
                                .number = statistics->number,
                                .block = statistics->block};
    return pf_position_save(&position, sizeof position, blob, room);
}

/* Enters the block of a saved position, after checking that the series has it. */
static int restore_block(struct statistics *statistics, const struct position *position,
                         struct pf_error *error)
{
    const struct pf_xtext_index *index = statistics->index;
    struct pf_xtext_block block;
    if (position->number >= index->experiment->n_series || !series_matches(statistics, position->number) ||
        position->block >= index->n_blocks)
        return pf_position_refuse(error);
    if (pf_xtext_block(index, position->block, &block, error) < 0)
        return -1;
    if (block.series != position->number ||
        (statistics->pooled && position->block != index->experiment->series[position->number].first))
        return pf_position_refuse(error);
    statistics->number = position->number;
    return enter_block(statistics, position->block, error);
}

static int statistics_restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct statistics *statistics = cursor->state;
    struct position position;
    if (pf_position_restore(&position, sizeof position, blob, size, error))
        return -1;
    if (position.number == PF_NO_SERIES) {
        statistics->number = PF_NO_SERIES;
        return 0;
    }
    if (restore_block(statistics, &position, error) < 0)
        return -1;
    statistics->point = position.point;
    if (position.offset == UINT64_MAX || statistics->n_runs != 1)
        return 0;
    struct run *run = &statistics->runs[0];
    if (position.offset < run->offset || position.offset > statistics->size || position.point > run->lines)
        return pf_position_refuse(error);
    run->offset = position.offset;
    run->line = position.point;
    return 0;
}

const struct pf_cursor_ops pf_xtext_statistics = {
    .open = statistics_open,
    .next = statistics_next,
    .save = statistics_save,
    .restore = statistics_restore,
    .close = statistics_close,
};
