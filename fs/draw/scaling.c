/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "formats/kit/number.h"
#include "fs/draw/caption.h"
#include "fs/draw/chart.h"
#include "fs/draw/draw.h"
#include "fs/sums/order.h"
#include "fs/text/text.h"

/* Points with the same value of the parameter share a slot, which shows their mean. */
struct scaling_point {
    double x;
    uint32_t index; /* of the point in the table */
    uint32_t slot;  /* rank of x among the different values, ascending */
};

struct scaling {
    struct pf_model *model;
    const struct pf_table *table;
    unsigned metric;
    const char *parameter;
    struct scaling_point *points;
    size_t n_points, slots;
    double first, last; /* the smallest and the largest x */
    double *sums;       /* by slot */
    uint32_t *counts;
    struct chart chart;
};

const struct pf_table *pf_scaling_table(const struct pf_model *model)
{
    for (size_t i = 0; i < model->n_tables; i++)
        if (model->tables[i].flags & PF_ONLY_IN_METRICS && !strcmp(model->tables[i].name, "scaling"))
            return &model->tables[i];
    return NULL;
}

static double scaling_number(const struct pf_cell *cell)
{
    double value;
    if (cell->type != PF_TEXT)
        return (double)pf_cell_number(cell);
    return pf_parse_double(cell->text, cell->size, &value) ? value : NAN;
}

/* ---- the parameter ------------------------------------------------------------------------------ */

static int by_x(const void *a, const void *b)
{
    const struct scaling_point *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x) : (x->index > y->index) - (x->index < y->index);
}

/* Fills points[] with the points whose value of this parameter is positive; returns the number of different values. */
static size_t collect_points(struct scaling *scaling, size_t parameter)
{
    const struct pf_rows *fields = scaling->model->partitions.fields;
    size_t n = pf_rows_count(fields), slots = 0;
    scaling->n_points = 0;
    for (size_t i = 0; i < n; i++) {
        double x = scaling_number(&pf_rows_at(fields, i)[parameter]);
        if (x > 0 && isfinite(x))
            scaling->points[scaling->n_points++] = (struct scaling_point){.x = x, .index = (uint32_t)i};
    }
    qsort(scaling->points, scaling->n_points, sizeof *scaling->points, by_x);
    for (size_t i = 0; i < scaling->n_points; i++) {
        slots += !i || scaling->points[i].x > scaling->points[i - 1].x;
        scaling->points[i].slot = (uint32_t)slots - 1;
    }
    return slots;
}

static double x_of(const struct scaling *scaling, double x)
{
    double range = log(scaling->last / scaling->first);
    return CHART_LEFT + CHART_WIDTH * (range > 0 ? log(x / scaling->first) / range : 0.5);
}

/* Chooses the first parameter with two different positive values, else the last one. Returns 0, or -1 with *error filled. */
static int choose_scaling_parameter(struct scaling *scaling, struct pf_error *error)
{
    const struct pf_partitions *partitions = &scaling->model->partitions;
    size_t n = partitions->fields ? pf_rows_count(partitions->fields) : 0;
    scaling->points = calloc(n + 1, sizeof *scaling->points);
    scaling->sums = calloc(n + 1, sizeof *scaling->sums);
    scaling->counts = calloc(n + 1, sizeof *scaling->counts);
    if (!scaling->points || !scaling->sums || !scaling->counts)
        return pf_fail_memory(error);
    for (size_t p = 0; n && p < partitions->n_fields && scaling->slots < 2; p++) {
        scaling->slots = collect_points(scaling, p);
        scaling->parameter = partitions->field_columns[p].name;
    }
    if (chart_begin(&scaling->chart, scaling->slots, error))
        return -1;
    scaling->chart.logarithmic = true;
    if (!scaling->n_points)
        return 0;
    scaling->first = scaling->points[0].x;
    scaling->last = scaling->points[scaling->n_points - 1].x;
    for (size_t i = 0; i < scaling->n_points; i++)
        scaling->chart.xs[scaling->points[i].slot] = x_of(scaling, scaling->points[i].x);
    return 0;
}

/* ---- lines -------------------------------------------------------------------------------------- */

/* Makes a line from a row of the table. */
static int add_scaling_line(struct scaling *scaling, const struct pf_cell *cells, struct pf_error *error)
{
    const struct pf_tree *tree = scaling->model->contexts;
    double *values = chart_values(&scaling->chart), heaviest = 0;
    memset(scaling->sums, 0, scaling->slots * sizeof *scaling->sums);
    memset(scaling->counts, 0, scaling->slots * sizeof *scaling->counts);
    for (size_t i = 0; i < scaling->n_points; i++) {
        const struct scaling_point *point = &scaling->points[i];
        double value =
            point->index + 2 < scaling->table->n_columns ? scaling_number(&cells[1 + point->index]) : NAN;
        if (!(value > 0) || !isfinite(value))
            continue;
        scaling->sums[point->slot] += value;
        scaling->counts[point->slot]++;
    }
    for (size_t i = 0; i < scaling->slots; i++) {
        values[i] = scaling->counts[i] ? scaling->sums[i] / scaling->counts[i] : NAN;
        heaviest = values[i] > heaviest ? values[i] : heaviest;
    }
    bool known = cells[0].i >= 0 && cells[0].i < tree->count;
    struct pf_cell name = known ? pf_interned(tree->strings, tree->name[cells[0].i]) : pf_absent();
    return chart_offer_line(&scaling->chart, heaviest, &name, error);
}

static int read_rows(struct scaling *scaling, struct pf_cursor *cursor, struct pf_cell *cells,
                     struct pf_error *error)
{
    const struct pf_cursor_ops *ops = scaling->table->ops;
    int more = ops->open(cursor, error);
    while (more >= 0 && (more = ops->next(cursor, cells, error)) > 0)
        if (add_scaling_line(scaling, cells, error))
            more = -1;
    ops->close(cursor);
    return more;
}

static int read_table(struct scaling *scaling, struct pf_error *error)
{
    struct pf_cursor cursor = {.model = scaling->model, .table = scaling->table, .only = PF_UNRESTRICTED};
    struct pf_cell *cells = calloc(scaling->table->n_columns + 1, sizeof *cells);
    if (!cells)
        return pf_fail_memory(error);
    cursor.only.metric = scaling->metric;
    int result = read_rows(scaling, &cursor, cells, error);
    free(cells);
    return result;
}

/* ---- the picture -------------------------------------------------------------------------------- */

static void add_parameter_name(const struct scaling *scaling, struct pf_buf *out)
{
    double last = -1e9;
    for (size_t i = 0; i < scaling->n_points; i++) {
        double x = x_of(scaling, scaling->points[i].x);
        if (i && scaling->points[i].slot == scaling->points[i - 1].slot)
            continue;
        chart_tick(out, x, x - last >= 34);
        if (x - last < 34)
            continue;
        pf_buf_printf(out, "%.6g</text>\n", scaling->points[i].x);
        last = x;
    }
    chart_label_x_axis(out);
    svg_text(out, scaling->parameter, strlen(scaling->parameter));
    pf_buf_str(out, "</text>\n");
}

/* Appends a dotted line with a label at its end. */
static void add_ideal(const struct scaling *scaling, double from, double to, double end, const char *label,
                      struct pf_buf *out)
{
    double x = x_of(scaling, to), y = chart_y(&scaling->chart, end);
    chart_rule(
        out, x_of(scaling, scaling->first), chart_y(&scaling->chart, from), x, y,
        "class=\"ideal\" stroke=\"#000000\" stroke-width=\"1.5\" stroke-dasharray=\"2 6\" fill=\"none\"");
    svg_label(out, SVG_INK, x + 6, y + 4);
    svg_text(out, label, strlen(label));
    pf_buf_str(out, "</text>\n");
}

/* Appends two ideal lines that start at the first point of the heaviest context. The value of one is constant, that of the other
 * halves when the parameter doubles. */
static void add_ideals(const struct scaling *scaling, struct pf_buf *out)
{
    char label[64];
    double from = scaling->chart.lines[0].values[0], to = scaling->last, end = from * scaling->first / to;
    double low = scaling->chart.low / scaling->chart.scale.factor * scaling->chart.scale.divisor;
    if (isnan(from))
        return;
    if (end < low) {
        end = low;
        to = from * scaling->first / end;
    }
    snprintf(label, sizeof label, "ideal: 1/%s", scaling->parameter);
    add_ideal(scaling, from, scaling->last, from, "constant", out);
    add_ideal(scaling, from, to, end, label, out);
}

static struct svg_caption scaling_caption(const struct scaling *scaling)
{
    struct svg_caption caption = {0};
    const struct pf_metric *metric = &scaling->model->metrics[scaling->metric];
    caption_metric(&caption.title, metric->name, metric->unit);
    caption_subject(&caption.subject, scaling->model);
    pf_buf_str(&caption.about, scaling->slots < 2 ? "empty: no parameter has two positive values"
                               : !scaling->chart.count
                                   ? "empty: no context has a positive value"
                                   : "the contexts with the largest values; both axes are "
                                     "logarithmic; dotted: ideal scaling of the heaviest context");
    return caption;
}

static void draw_scaling(struct scaling *scaling, struct pf_buf *out)
{
    const struct pf_metric *metric = &scaling->model->metrics[scaling->metric];
    bool any = scaling->chart.count && scaling->slots > 1;
    struct svg_caption caption = scaling_caption(scaling);
    svg_begin(out, any ? CHART_HEIGHT : SVG_CAPTION, &caption);
    if (any) {
        chart_range(&scaling->chart, metric->unit);
        add_parameter_name(scaling, out);
        chart_draw(&scaling->chart, metric->name, metric->unit, out);
        add_ideals(scaling, out);
    }
    svg_end(out);
}

struct pf_walk *pf_scaling_walk(struct pf_model *model, unsigned metric, struct pf_error *error)
{
    struct scaling scaling = {.model = model, .table = pf_scaling_table(model), .metric = metric};
    struct pf_buf out = {0};
    struct pf_walk *walk = NULL;
    if (!scaling.table) {
        pf_fail(error, ENOENT, "no such file");
        return NULL;
    }
    if (!choose_scaling_parameter(&scaling, error) && !read_table(&scaling, error)) {
        draw_scaling(&scaling, &out);
        walk = pf_walk_of_text(&out, error);
    }
    chart_free(&scaling.chart);
    free(scaling.points);
    free(scaling.sums);
    free(scaling.counts);
    return walk;
}
