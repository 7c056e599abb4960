/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/parse.h"
#include "fs/draw/draw.h"
#include "fs/draw/svg.h"
#include "fs/text/text.h"

/* Lines that are drawn, and pixels: of the plot, and where it begins. */
enum {
    LINES = 12,
    LEFT = 70,
    TOP = 56,
    PLOT_WIDTH = 640,
    PLOT_HEIGHT = 420,
    HEIGHT = TOP + PLOT_HEIGHT + 56
};

/* Points of one value of the parameter are shown as one: their mean. */
struct place {
    double x;
    uint32_t index; /* of the point */
    uint32_t slot;  /* of the value of x, from the smallest on */
};

/* What grows: a context's values by slot, nan where there is none. */
struct line {
    uint32_t context;
    double heaviest; /* of its values */
    double *values;
};

struct scaling {
    struct pf_profile *profile;
    const struct pf_table *table;
    unsigned metric;
    const char *parameter;
    struct place *places;
    size_t n_places;
    double *xs; /* by slot */
    size_t slots;
    struct line lines[LINES + 1]; /* the heaviest first; the last one is being made */
    size_t n_lines;
    double *sums;
    uint32_t *counts;
    double low, high; /* of all values that are drawn */
};

const struct pf_table *pf_scaling_table(const struct pf_profile *profile)
{
    for (size_t i = 0; i < profile->n_tables; i++)
        if (profile->tables[i].flags & PF_ONLY_IN_METRICS && !strcmp(profile->tables[i].name, "scaling"))
            return &profile->tables[i];
    return NULL;
}

static double number_of(const struct pf_cell *cell)
{
    double value;
    switch ((enum pf_cell_type)cell->type) {
    case PF_INT:
        return (double)cell->i;
    case PF_UINT:
        return (double)cell->u;
    case PF_WIDE:
        return (double)*cell->wide;
    case PF_DOUBLE:
        return cell->d;
    case PF_TEXT:
        return pf_parse_double(cell->text, cell->size, &value) ? value : NAN;
    default:
        return NAN;
    }
}

/* ---- the parameter ------------------------------------------------------------------------------ */

static int by_x(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x) : (x->index > y->index) - (x->index < y->index);
}

/* Fills places[] with the points that have a value of this parameter that a logarithm is of; returns how many values. */
static size_t place_points(struct scaling *scaling, size_t parameter)
{
    const struct pf_rows *fields = scaling->profile->partitions.fields;
    size_t n = pf_rows_count(fields), slots = 0;
    scaling->n_places = 0;
    for (size_t i = 0; i < n; i++) {
        double x = number_of(&pf_rows_at(fields, i)[parameter]);
        if (x > 0 && isfinite(x))
            scaling->places[scaling->n_places++] = (struct place){.x = x, .index = (uint32_t)i};
    }
    qsort(scaling->places, scaling->n_places, sizeof *scaling->places, by_x);
    for (size_t i = 0; i < scaling->n_places; i++) {
        slots += !i || scaling->places[i].x > scaling->places[i - 1].x;
        scaling->places[i].slot = (uint32_t)slots - 1;
    }
    return slots;
}

/* Takes the first parameter that has several values. 0, or -1 with *error filled. */
static int find_parameter(struct scaling *scaling, struct pf_error *error)
{
    const struct pf_partitions *partitions = &scaling->profile->partitions;
    size_t n = partitions->fields ? pf_rows_count(partitions->fields) : 0;
    scaling->places = calloc(n + 1, sizeof *scaling->places);
    scaling->xs = calloc(n + 1, sizeof *scaling->xs);
    scaling->sums = calloc(n + 1, sizeof *scaling->sums);
    scaling->counts = calloc(n + 1, sizeof *scaling->counts);
    for (size_t i = 0; i <= LINES; i++)
        scaling->lines[i].values = calloc(n + 1, sizeof *scaling->lines[i].values);
    for (size_t i = 0; i <= LINES; i++)
        if (!scaling->lines[i].values)
            return pf_fail_memory(error);
    if (!scaling->places || !scaling->xs || !scaling->sums || !scaling->counts)
        return pf_fail_memory(error);
    for (size_t p = 0; n && p < partitions->n_fields && scaling->slots < 2; p++) {
        scaling->slots = place_points(scaling, p);
        scaling->parameter = partitions->field_columns[p].name;
    }
    for (size_t i = 0; i < scaling->n_places; i++)
        scaling->xs[scaling->places[i].slot] = scaling->places[i].x;
    return 0;
}

/* ---- lines -------------------------------------------------------------------------------------- */

/* Makes the last line of a row of the table. */
static void make_line(struct scaling *scaling, const struct pf_cell *cells)
{
    struct line *line = &scaling->lines[LINES];
    memset(scaling->sums, 0, scaling->slots * sizeof *scaling->sums);
    memset(scaling->counts, 0, scaling->slots * sizeof *scaling->counts);
    for (size_t i = 0; i < scaling->n_places; i++) {
        const struct place *place = &scaling->places[i];
        double value =
            place->index + 2 < scaling->table->n_columns ? number_of(&cells[1 + place->index]) : NAN;
        if (!(value > 0) || !isfinite(value))
            continue;
        scaling->sums[place->slot] += value;
        scaling->counts[place->slot]++;
    }
    line->context = (uint32_t)cells[0].i;
    line->heaviest = 0;
    for (size_t i = 0; i < scaling->slots; i++) {
        line->values[i] = scaling->counts[i] ? scaling->sums[i] / scaling->counts[i] : NAN;
        if (line->values[i] > line->heaviest)
            line->heaviest = line->values[i];
    }
}

/* Puts it among the others where it belongs, if it does. */
static void keep_line(struct scaling *scaling)
{
    size_t at = scaling->n_lines < LINES ? scaling->n_lines : LINES - 1;
    struct line made = scaling->lines[LINES];
    if (made.heaviest <= 0 || (scaling->n_lines == LINES && made.heaviest <= scaling->lines[at].heaviest))
        return;
    double *room = scaling->lines[at].values;
    for (; at && scaling->lines[at - 1].heaviest < made.heaviest; at--)
        scaling->lines[at] = scaling->lines[at - 1];
    scaling->lines[at] = made;
    scaling->lines[LINES].values = room;
    scaling->n_lines += scaling->n_lines < LINES;
}

static int read_rows(struct scaling *scaling, struct pf_cursor *cursor, struct pf_cell *cells,
                     struct pf_error *error)
{
    const struct pf_cursor_ops *ops = scaling->table->ops;
    int more = ops->open(cursor, error);
    while (more >= 0 && (more = ops->next(cursor, cells, error)) > 0) {
        make_line(scaling, cells);
        keep_line(scaling);
    }
    ops->close(cursor);
    return more;
}

static int read_table(struct scaling *scaling, struct pf_error *error)
{
    struct pf_cursor cursor = {.profile = scaling->profile, .table = scaling->table, .only = PF_UNRESTRICTED};
    struct pf_cell *cells = calloc(scaling->table->n_columns + 1, sizeof *cells);
    if (!cells)
        return pf_fail_memory(error);
    cursor.only.metric = scaling->metric;
    int result = read_rows(scaling, &cursor, cells, error);
    free(cells);
    return result;
}

/* ---- the picture -------------------------------------------------------------------------------- */

static double part(double value, double low, double high)
{
    return high > low ? (log(value) - log(low)) / (log(high) - log(low)) : 0.5;
}

static double x_of(const struct scaling *scaling, double x)
{
    return LEFT + PLOT_WIDTH * part(x, scaling->xs[0], scaling->xs[scaling->slots - 1]);
}

static double y_of(const struct scaling *scaling, double value)
{
    return TOP + PLOT_HEIGHT * (1 - part(value, scaling->low, scaling->high));
}

static void find_range(struct scaling *scaling)
{
    scaling->low = INFINITY;
    for (size_t l = 0; l < scaling->n_lines; l++)
        for (size_t i = 0; i < scaling->slots; i++) {
            double value = scaling->lines[l].values[i];
            scaling->low = value < scaling->low ? value : scaling->low;
            scaling->high = value > scaling->high ? value : scaling->high;
        }
    /* Whole decades, and no fewer than one; what is a millionth of the most is not told apart. */
    scaling->high = pow(10, ceil(log10(scaling->high)));
    scaling->low = pow(10, floor(log10(scaling->low)));
    if (scaling->low < scaling->high * 1e-6)
        scaling->low = scaling->high * 1e-6;
    if (scaling->low >= scaling->high)
        scaling->low = scaling->high / 10;
}

static void add_rule(struct pf_buf *out, double x1, double y1, double x2, double y2, const char *style)
{
    pf_buf_str(out, "<path d=\"M");
    svg_length(out, x1);
    pf_buf_char(out, ' ');
    svg_length(out, y1);
    pf_buf_char(out, 'L');
    svg_length(out, x2);
    pf_buf_char(out, ' ');
    svg_length(out, y2);
    pf_buf_printf(out, "\" %s/>\n", style);
}

static void add_label(struct pf_buf *out, double x, double y, const char *anchor, double value)
{
    pf_buf_printf(out, "<text text-anchor=\"%s\" fill=\"#666666\"", anchor);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    pf_buf_printf(out, ">%.6g</text>\n", value);
}

static void add_axes(const struct scaling *scaling, struct pf_buf *out)
{
    static const char rule[] = "stroke=\"#dddddd\" fill=\"none\"";
    double bottom = TOP + PLOT_HEIGHT, last = -1e9;
    for (size_t i = 0; i < scaling->slots; i++) {
        double x = x_of(scaling, scaling->xs[i]);
        add_rule(out, x, TOP, x, bottom, rule);
        if (x - last >= 34)
            add_label(out, x, bottom + 15, "middle", scaling->xs[i]);
        last = x - last >= 34 ? x : last;
    }
    int decades = (int)lround(log10(scaling->high / scaling->low));
    for (int i = 0; i <= decades; i++) {
        double value = scaling->high / pow(10, i), y = y_of(scaling, value);
        add_rule(out, LEFT, y, LEFT + PLOT_WIDTH, y, rule);
        add_label(out, LEFT - 6, y + 4, "end", value);
    }
    pf_buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", LEFT + PLOT_WIDTH / 2, HEIGHT - 20);
    svg_text(out, scaling->parameter, strlen(scaling->parameter));
    pf_buf_str(out, "</text>\n");
}

/* What stays the same, and what halves as the parameter doubles: from where the heaviest line begins. */
static void add_ideals(const struct scaling *scaling, struct pf_buf *out)
{
    static const char rule[] = "stroke=\"#888888\" stroke-dasharray=\"5 4\" fill=\"none\"";
    double first = scaling->lines[0].values[0], from = scaling->xs[0], to = scaling->xs[scaling->slots - 1];
    if (isnan(first))
        return;
    double end = first * from / to, until = to;
    if (end < scaling->low) {
        end = scaling->low;
        until = first * from / end;
    }
    add_rule(out, x_of(scaling, from), y_of(scaling, first), x_of(scaling, to), y_of(scaling, first), rule);
    add_rule(out, x_of(scaling, from), y_of(scaling, first), x_of(scaling, until), y_of(scaling, end), rule);
    pf_buf_str(out, "<g fill=\"#888888\">");
    pf_buf_str(out, "<text");
    svg_attribute(out, "x", x_of(scaling, to) + 4);
    svg_attribute(out, "y", y_of(scaling, first) + 4);
    pf_buf_str(out, ">constant</text><text");
    svg_attribute(out, "x", x_of(scaling, until) + 4);
    svg_attribute(out, "y", y_of(scaling, end) - 4);
    pf_buf_str(out, ">ideal: 1/");
    svg_text(out, scaling->parameter, strlen(scaling->parameter));
    pf_buf_str(out, "</text></g>\n");
}

static void add_line(const struct scaling *scaling, size_t l, struct pf_buf *out)
{
    static const char *const colours[LINES] = {"#1f6fb4", "#d9541e", "#2f9e44", "#8e44ad",
                                               "#c2255c", "#0b7285", "#a0700b", "#5f3dc4",
                                               "#087f5b", "#e03131", "#495057", "#74b816"};
    const struct line *line = &scaling->lines[l];
    const struct pf_tree *tree = scaling->profile->contexts;
    struct pf_cell name =
        line->context < tree->count ? pf_interned(tree->strings, tree->name[line->context]) : pf_absent();
    if (name.type != PF_TEXT)
        name = pf_string("");
    bool drawn = false;
    pf_buf_str(out, "<g><title>");
    svg_text(out, name.text, name.size < 1000 ? name.size : 1000);
    pf_buf_printf(out, "</title><path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"", colours[l]);
    for (size_t i = 0; i < scaling->slots; i++) {
        double value = line->values[i];
        if (isnan(value))
            continue;
        pf_buf_char(out, drawn ? 'L' : 'M');
        svg_length(out, x_of(scaling, scaling->xs[i]));
        pf_buf_char(out, ' ');
        svg_length(out, y_of(scaling, value < scaling->low ? scaling->low : value));
        drawn = true;
    }
    pf_buf_printf(out, "\"/>");
    for (size_t i = 0; i < scaling->slots; i++) {
        if (isnan(line->values[i]))
            continue;
        pf_buf_printf(out, "<circle r=\"3\" fill=\"%s\"", colours[l]);
        svg_attribute(out, "cx", x_of(scaling, scaling->xs[i]));
        svg_attribute(out, "cy",
                      y_of(scaling, line->values[i] < scaling->low ? scaling->low : line->values[i]));
        pf_buf_str(out, "/>");
    }
    double y = TOP + 8 + 18 * (double)l;
    pf_buf_printf(out, "<rect x=\"%d\" width=\"14\" height=\"4\" fill=\"%s\"", LEFT + PLOT_WIDTH + 110,
                  colours[l]);
    svg_attribute(out, "y", y - 5);
    pf_buf_printf(out, "/><text x=\"%d\"", LEFT + PLOT_WIDTH + 130);
    svg_attribute(out, "y", y);
    pf_buf_char(out, '>');
    svg_text_cut(out, name.text, name.size, 50);
    pf_buf_str(out, "</text></g>\n");
}

static void draw(struct scaling *scaling, struct pf_buf *out)
{
    char about[320];
    const struct pf_metric *metric = &scaling->profile->metrics[scaling->metric];
    bool any = scaling->n_lines && scaling->slots > 1;
    snprintf(about, sizeof about,
             any ? "the contexts that hold the most%s%s; both axes are logarithmic" : "nothing to show",
             *metric->unit ? ", in " : "", metric->unit);
    svg_begin(out, any ? HEIGHT : TOP, metric->name, about);
    if (any) {
        find_range(scaling);
        add_axes(scaling, out);
        add_ideals(scaling, out);
        for (size_t l = scaling->n_lines; l-- > 0;)
            add_line(scaling, l, out);
    }
    svg_end(out);
}

struct pf_lines *pf_scaling_lines(struct pf_profile *profile, unsigned metric, struct pf_error *error)
{
    struct scaling scaling = {.profile = profile, .table = pf_scaling_table(profile), .metric = metric};
    struct pf_buf out = {0};
    struct pf_lines *lines = NULL;
    if (!find_parameter(&scaling, error) && !read_table(&scaling, error)) {
        draw(&scaling, &out);
        lines = pf_lines_of_text(&out, error);
    }
    for (size_t i = 0; i <= LINES; i++)
        free(scaling.lines[i].values);
    free(scaling.places);
    free(scaling.xs);
    free(scaling.sums);
    free(scaling.counts);
    return lines;
}
