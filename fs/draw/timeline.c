/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/ids.h"
#include "fs/draw/caption.h"
#include "fs/draw/chart.h"
#include "fs/draw/draw.h"
#include "fs/sums/order.h"
#include "fs/text/table.h"

/* A row of the picture is a thread or, if there are more than ROWS_MAX threads, several neighbouring ones. A column is a bin of
 * time. The shade of a cell shows the deepest stack in the bin. */
enum { BINS = 495, ROWS_MAX = 128, SHADES = 8 };

/* In pixels: the width of threads' names, the room above the rows, the height of a row, the room below the rows. */
enum { NAMES = 190, TOP = SVG_CAPTION, ROW = 14, BOTTOM = 30 };
enum { BIN = (SVG_WIDTH - 2 * SVG_MARGIN - NAMES) / BINS, PLOT = BIN * BINS };

/* Table rows read per step. A pass can be cancelled between steps. */
enum { STEP = 1024 };

/* The number of times that a driver may restart the table because earlier rows relied on a wrong assumption. */
enum { RESTARTS_MAX = 3 };

/* The columns that a time line is made from; -1: the table has none. */
struct timeline_columns {
    int partition, time, duration, depth, context;
};

enum timeline_stage { RANGE, FILL, DRAWN };

/* The time, thread and depth of the last row read, for tables without durations. */
struct last {
    long double from;
    int64_t partition; /* -1: none yet */
    uint32_t depth;
};

struct timeline {
    struct pf_walk base;
    struct pf_model *model;
    const struct pf_table *table;
    const struct pf_cursor_ops *ops; /* of the table */
    struct pf_cell *cells;
    struct pf_cursor cursor;
    size_t threads, rows;
    uint32_t *grid;         /* by row and bin: depth + 1 of the deepest stack; 0: no stack */
    struct pf_ids contexts; /* context indexes by id, for formats with own ids and no column `depth` */
    long double start, end;
    struct last last;
    struct timeline_columns columns;
    enum timeline_stage stage;
    unsigned restarts;
    uint32_t deepest;
    bool open, any;
};

static struct timeline_columns columns_of(const struct pf_table *table)
{
    return (struct timeline_columns){
        pf_table_column(table, PF_PARTITION), pf_table_column_named(table, "time"),
        pf_table_column_named(table, "duration"), pf_table_column_named(table, "depth"),
        pf_table_column_named(table, "context")};
}

const struct pf_table *pf_timeline_table(const struct pf_model *model)
{
    for (size_t i = 0; i < model->n_tables; i++) {
        const struct pf_table *table = &model->tables[i];
        if (!strcmp(table->name, "trace") && pf_table_column(table, PF_PARTITION) >= 0 &&
            pf_table_column_named(table, "time") >= 0)
            return table;
    }
    return NULL;
}

/* ---- rows of the table -------------------------------------------------------------------------- */

static void close_cursor(struct timeline *line)
{
    if (line->open)
        line->ops->close(&line->cursor);
    line->open = false;
}

static int open_cursor(struct timeline *line, struct pf_error *error)
{
    line->cursor = (struct pf_cursor){.model = line->model, .table = line->table, .only = PF_UNRESTRICTED};
    line->last.partition = -1;
    line->open = true;
    return line->ops->open(&line->cursor, error);
}

static bool timeline_number(const struct pf_cell *cells, int column, long double *value)
{
    *value = column < 0 ? NAN : pf_cell_number(&cells[column]);
    return isfinite(*value);
}

/* Sets *depth to the stack depth of a table row. Returns false if the row has no stack. */
static bool depth_in(const struct timeline *line, const struct pf_cell *cells, uint32_t *depth)
{
    const struct pf_tree *tree = line->model->contexts;
    long double number;
    if (line->columns.depth >= 0) {
        bool known =
            timeline_number(cells, line->columns.depth, &number) && number >= 0 && number < UINT32_MAX - 1;
        *depth = known ? (uint32_t)number : 0;
        return known;
    }
    *depth = 0;
    if (line->columns.context < 0)
        return true;
    if (!timeline_number(cells, line->columns.context, &number) || number < 0 || number >= 0x1p63L)
        return false;
    uint64_t context = (uint64_t)number;
    if (tree->id && line->table->columns[line->columns.context].role != PF_CONTEXT)
        context = pf_ids_find(&line->contexts, context);
    if (context >= tree->count)
        return false;
    *depth = tree->depth[context];
    return true;
}

/* ---- the grid ----------------------------------------------------------------------------------- */

static void extend_timeline(struct timeline *line, long double time)
{
    line->start = !line->any || time < line->start ? time : line->start;
    line->end = !line->any || time > line->end ? time : line->end;
    line->any = true;
}

static size_t bin_of(const struct timeline *line, long double time)
{
    long double range = line->end - line->start, bin = range > 0 ? (time - line->start) / range * BINS : 0;
    return bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (size_t)bin;
}

static void fill_timeline(struct timeline *line, int64_t thread, long double from, long double to,
                          uint32_t depth)
{
    if (thread < 0 || (uint64_t)thread >= line->threads)
        return;
    uint32_t *bins = line->grid + (size_t)thread * line->rows / line->threads * BINS;
    size_t last = bin_of(line, to);
    for (size_t bin = bin_of(line, from); bin <= last; bin++)
        if (bins[bin] < depth + 1)
            bins[bin] = depth + 1;
    if (depth + 1 > line->deepest)
        line->deepest = depth + 1;
}

/* Fills the bins of the previous row, for tables without durations. A row lasts until the next row if that is of the same thread;
 * otherwise it fills only the bin of its time. */
static void fill_until_next(struct timeline *line, int64_t thread, long double time, uint32_t depth)
{
    struct last *last = &line->last;
    if (last->partition >= 0)
        fill_timeline(line, last->partition, last->from, last->partition == thread ? time : last->from,
                      last->depth);
    *last = (struct last){time, thread, depth};
}

static void add_timeline_row(struct timeline *line, const struct pf_cell *cells)
{
    long double time, duration;
    uint32_t depth;
    int64_t thread = cells[line->columns.partition].i;
    if (!timeline_number(cells, line->columns.time, &time))
        return;
    bool lasts = timeline_number(cells, line->columns.duration, &duration);
    duration = lasts ? duration : 0;
    if (line->stage == RANGE) {
        extend_timeline(line, time);
        extend_timeline(line, time + duration);
    } else if (depth_in(line, cells, &depth)) {
        if (line->columns.duration < 0)
            fill_until_next(line, thread, time, depth);
        else if (lasts)
            fill_timeline(line, thread, time, time + duration, depth);
    }
}

/* ---- the picture -------------------------------------------------------------------------------- */

/* Returns the unit of the times. Speedscope files have a remark after "ns"; only "ns" is returned. */
static const char *timeline_unit(const struct timeline *line)
{
    const char *unit = line->model->time_unit ? line->model->time_unit : "";
    return !strncmp(unit, "ns", 2) ? "ns" : unit;
}

static void add_tick(struct pf_buf *out, const struct timeline *line, double x, double time, const char *unit)
{
    double bottom = TOP + ROW * (double)line->rows;
    const char *anchor = x < SVG_MARGIN + NAMES + 20 ? "start" : x > SVG_WIDTH - 40 ? "end" : "middle";
    chart_rule(out, x, bottom, x, bottom + 4, SVG_RULE);
    pf_buf_printf(out, "<text" SVG_DIM " text-anchor=\"%s\"", anchor);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", bottom + 16);
    pf_buf_printf(out, ">%.6g ", time);
    svg_text(out, unit, strlen(unit));
    pf_buf_str(out, "</text>\n");
}

/* Appends the ticks of the time axis: from 0 on, in steps of 1, 2 or 5 times a power of ten. */
static void add_axis(struct pf_buf *out, const struct timeline *line)
{
    enum { TICKS = 8 };
    double range = (double)(line->end - line->start);
    struct pf_scale scale = pf_scale_of(range, timeline_unit(line));
    const char *unit = scale.name ? scale.name : timeline_unit(line);
    double end = range * scale.factor / scale.divisor, step = end > 0 ? svg_step(end, TICKS) : 1;
    for (int i = 0; i <= TICKS && step * i <= end; i++)
        add_tick(out, line, SVG_MARGIN + NAMES + (end > 0 ? PLOT * step * i / end : 0), step * i, unit);
}

/* Appends a row's background and the name of the row's first thread. A tooltip also shows the number of other threads in the row. */
static void add_timeline_name(struct pf_buf *out, const struct timeline *line, size_t row)
{
    size_t first = (row * line->threads + line->rows - 1) / line->rows;
    size_t end = ((row + 1) * line->threads + line->rows - 1) / line->rows;
    struct pf_cell name = pf_rows_at(line->model->partitions.items, first)[1];
    double y = TOP + ROW * (double)row;
    pf_buf_str(out, "<g><title>");
    svg_text_cut(out, name.text, name.size, 200);
    if (end > first + 1)
        pf_buf_printf(out, " and %zu more", end - first - 1);
    pf_buf_printf(out, "</title><rect class=\"%s\" x=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"",
                  row % 2 ? "band" : "paper", SVG_MARGIN, NAMES + PLOT, ROW, row % 2 ? "#f7f7f7" : "#ffffff");
    svg_attribute(out, "y", y);
    pf_buf_str(out, "/>");
    svg_label(out, SVG_INK, SVG_MARGIN, y + 11);
    svg_name_cut(out, name.text, name.size, 28);
    pf_buf_str(out, "</text></g>\n");
}

static unsigned shade_of(const struct timeline *line, uint32_t depth)
{
    return depth ? 1 + (unsigned)((uint64_t)(depth - 1) * SHADES / line->deepest) : 0;
}

/* Appends all bins of one shade. Each shade is visible on the backgrounds of both schemes, light and dark. */
static void add_shade(struct pf_buf *out, const struct timeline *line, unsigned shade)
{
    static const char *const colours[SHADES] = {"#c6dbef", "#a8cbe6", "#8bbadd", "#6fa8d4",
                                                "#5695ca", "#4183bf", "#3173b3", "#2364a8"};
    pf_buf_printf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%d\" d=\"", colours[shade - 1],
                  ROW - 3);
    for (size_t row = 0; row < line->rows; row++) {
        const uint32_t *bins = line->grid + row * BINS;
        for (size_t bin = 0, end; bin < BINS; bin = end) {
            for (end = bin + 1; end < BINS && shade_of(line, bins[end]) == shade_of(line, bins[bin]);)
                end++;
            if (shade_of(line, bins[bin]) == shade)
                pf_buf_printf(out, "M%zu %zuh%zu", SVG_MARGIN + NAMES + bin * BIN, TOP + row * ROW + ROW / 2,
                              (end - bin) * BIN);
        }
    }
    pf_buf_str(out, "\"/>\n");
}

static struct svg_caption timeline_caption(const struct timeline *line)
{
    struct svg_caption caption = {0};
    bool any = line->any && line->rows;
    pf_buf_printf(&caption.title, "%s over time", line->model->partitions.plural);
    if (any) {
        pf_buf_str(&caption.title, ": ");
        svg_number(&caption.title, (double)(line->end - line->start));
        pf_buf_printf(&caption.title, " %s", timeline_unit(line));
        pf_add_readable(&caption.title, (double)(line->end - line->start), timeline_unit(line));
        pf_buf_str(&caption.title, " total");
        pf_buf_printf(&caption.about, "the darker, the deeper the stack: up to %u level%s", line->deepest,
                      line->deepest == 1 ? "" : "s");
        if (line->rows < line->threads)
            pf_buf_printf(&caption.about, "; a row is several %s", line->model->partitions.plural);
    } else {
        pf_buf_str(&caption.about, "empty: the trace has no rows with a time");
    }
    caption_subject(&caption.subject, line->model);
    return caption;
}

static void draw_timeline(const struct timeline *line, struct pf_buf *out)
{
    struct svg_caption caption = timeline_caption(line);
    svg_begin(out, TOP + ROW * (double)line->rows + BOTTOM, &caption);
    for (size_t row = 0; row < line->rows; row++)
        add_timeline_name(out, line, row);
    for (unsigned shade = 1; shade <= SHADES && line->deepest; shade++)
        add_shade(out, line, shade);
    if (line->any && line->rows)
        add_axis(out, line);
    svg_end(out);
}

/* ---- the walk ----------------------------------------------------------------------------------- */

/* Reads up to STEP rows. Returns 1; 0 at the end of the table; -1 with *error filled. */
static int read_timeline_rows(struct timeline *line, struct pf_error *error)
{
    for (unsigned i = 0; i < STEP; i++) {
        int more = line->ops->next(&line->cursor, line->cells, error);
        if (more <= 0)
            return more;
        add_timeline_row(line, line->cells);
    }
    return 1;
}

static int begin_anew(struct timeline *line, struct pf_error *error)
{
    close_cursor(line);
    line->stage = RANGE;
    line->any = false;
    line->deepest = 0;
    memset(line->grid, 0, (line->rows * BINS + 1) * sizeof *line->grid);
    return open_cursor(line, error);
}

/* Performs one step. The last step appends the picture as one record; earlier steps append nothing. Position 1 is the end. */
static int next_timeline_step(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct timeline *line = (struct timeline *)base;
    if (base->position)
        return 0;
    if (line->stage == DRAWN) {
        draw_timeline(line, out);
        base->position = 1;
        return 1;
    }
    if (!line->open && open_cursor(line, error))
        return -1;
    int more = read_timeline_rows(line, error);
    if (more < 0 && error->code == EAGAIN && line->restarts++ < RESTARTS_MAX)
        return begin_anew(line, error) ? -1 : 1;
    if (more)
        return more;
    if (line->stage == FILL && line->last.partition >= 0)
        fill_timeline(line, line->last.partition, line->last.from, line->last.from, line->last.depth);
    close_cursor(line);
    line->stage++;
    return 1;
}

static void close_timeline(struct pf_walk *base)
{
    struct timeline *line = (struct timeline *)base;
    close_cursor(line);
    pf_ids_free(&line->contexts);
    free(line->cells);
    free(line->grid);
    free(line);
}

static const struct pf_walk_ops timeline_ops = {.next = next_timeline_step, .close = close_timeline};

static int list_contexts(struct timeline *line, struct pf_error *error)
{
    const struct pf_tree *tree = line->model->contexts;
    if (!tree || !tree->id || line->columns.depth >= 0 || line->columns.context < 0)
        return 0;
    for (uint32_t i = 0; i < tree->count; i++)
        if (pf_ids_set(&line->contexts, tree->id[i], i, error))
            return -1;
    return 0;
}

struct pf_walk *pf_timeline_walk(struct pf_model *model, struct pf_error *error)
{
    struct timeline *line = calloc(1, sizeof *line);
    if (!line) {
        pf_fail_memory(error);
        return NULL;
    }
    line->base.ops = &timeline_ops;
    line->model = model;
    line->table = pf_timeline_table(model);
    line->ops = pf_table_ops(line->table);
    line->columns = columns_of(line->table);
    line->threads = pf_rows_count(model->partitions.items);
    line->rows = line->threads < ROWS_MAX ? line->threads : ROWS_MAX;
    line->cells = calloc(line->table->n_columns + 1, sizeof *line->cells);
    line->grid = calloc(line->rows * BINS + 1, sizeof *line->grid);
    if (line->cells && line->grid && !list_contexts(line, error))
        return &line->base;
    if (!line->cells || !line->grid)
        pf_fail_memory(error);
    close_timeline(&line->base);
    return NULL;
}
