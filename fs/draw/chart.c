/* SPDX-License-Identifier: MIT */
#include "fs/draw/chart.h"

#include <math.h>

#include "fs/draw/caption.h"

/* Line colours. Each has a contrast of at least 3:1 with the backgrounds of both schemes, light and dark. */
static const char *const colours[CHART_LINES] = {"#2f7fc4", "#d9541e", "#2f9e44", "#a55cc8",
                                                 "#d6407a", "#0f8ba0", "#a8761a", "#7d6bdb",
                                                 "#0b9a6c", "#e03b3b", "#7a828a", "#6a9a1a"};

int chart_begin(struct chart *chart, size_t points, struct pf_error *error)
{
    *chart = (struct chart){.points = points, .xs = calloc(points + 1, sizeof *chart->xs)};
    bool made = chart->xs;
    for (size_t i = 0; i <= CHART_LINES; i++)
        made &= (chart->lines[i].values = calloc(points + 1, sizeof(double))) != NULL;
    return made ? 0 : pf_fail_memory(error);
}

void chart_free(struct chart *chart)
{
    free(chart->xs);
    for (size_t i = 0; i <= CHART_LINES; i++) {
        free(chart->lines[i].values);
        free(chart->lines[i].name);
    }
}

/* ---- lines -------------------------------------------------------------------------------------- */

double *chart_values(struct chart *chart)
{
    return chart->lines[CHART_LINES].values;
}

int chart_offer_line(struct chart *chart, double weight, const struct pf_cell *name, struct pf_error *error)
{
    size_t at = chart->count < CHART_LINES ? chart->count : CHART_LINES - 1;
    struct chart_line made = chart->lines[CHART_LINES], last = chart->lines[at];
    if (!(weight > 0) || (chart->count == CHART_LINES && weight <= last.weight))
        return 0;
    made.weight = weight;
    made.name_size = name->type == PF_TEXT ? name->size : 0;
    made.name = malloc(made.name_size + 1);
    if (!made.name)
        return pf_fail_memory(error);
    if (made.name_size)
        memcpy(made.name, name->text, made.name_size);
    for (; at && chart->lines[at - 1].weight < weight; at--)
        chart->lines[at] = chart->lines[at - 1];
    chart->lines[at] = made;
    free(last.name);
    chart->lines[CHART_LINES] = (struct chart_line){.values = last.values};
    chart->count += chart->count < CHART_LINES;
    return 0;
}

/* ---- the y axis --------------------------------------------------------------------------------- */

/* Maximum number of orders of magnitude on a logarithmic axis. */
enum { DECADES_MAX = 6 };

/* round_down and round_up round x > 0 to 1, 2 or 5 times a power of ten. */
static double round_down(double x)
{
    double power = pow(10, floor(log10(x)));
    return power * (x >= 5 * power ? 5 : x >= 2 * power ? 2 : 1);
}

static double round_up(double x)
{
    double power = pow(10, floor(log10(x)));
    return power * (x <= power ? 1 : x <= 2 * power ? 2 : x <= 5 * power ? 5 : 10);
}

void chart_range(struct chart *chart, const char *unit)
{
    double low = INFINITY, high = 0;
    for (size_t l = 0; l < chart->count; l++)
        for (size_t i = 0; i < chart->points; i++) {
            double value = chart->lines[l].values[i];
            low = value > 0 && value < low ? value : low;
            high = value > high ? value : high;
        }
    high = high > 0 ? high : 1;
    chart->scale = pf_scale_of(high, unit);
    high = high * chart->scale.factor / chart->scale.divisor;
    low = low * chart->scale.factor / chart->scale.divisor;
    chart->low = 0;
    chart->step = svg_step(high, 10);
    chart->high = ceil(high / chart->step) * chart->step;
    if (!chart->logarithmic)
        return;
    chart->high = round_up(high);
    chart->low = round_down(low);
    if (!(chart->low >= chart->high / pow(10, DECADES_MAX)))
        chart->low = chart->high / pow(10, DECADES_MAX);
    if (chart->low >= chart->high)
        chart->low = chart->high / 10;
}

double chart_y(const struct chart *chart, double value)
{
    double shown = value * chart->scale.factor / chart->scale.divisor;
    shown = shown < chart->low ? chart->low : shown;
    double part = chart->logarithmic ? log(shown / chart->low) / log(chart->high / chart->low)
                                     : (shown - chart->low) / (chart->high - chart->low);
    return CHART_TOP + CHART_PLOT * (1 - part);
}

void chart_rule(struct pf_buf *out, double x1, double y1, double x2, double y2, const char *style)
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

void chart_tick(struct pf_buf *out, double x, bool label)
{
    double bottom = CHART_TOP + CHART_PLOT;
    chart_rule(out, x, CHART_TOP, x, bottom, SVG_RULE);
    if (label)
        svg_label(out, SVG_DIM " text-anchor=\"middle\"", x, bottom + 15);
}

void chart_label_x_axis(struct pf_buf *out)
{
    svg_label(out, SVG_DIM " text-anchor=\"middle\"", CHART_LEFT + CHART_WIDTH / 2.0,
              CHART_TOP + CHART_PLOT + 34);
}

/* Appends a horizontal rule and its label; `number` is in the unit of the scale. */
static void add_value_rule(const struct chart *chart, struct pf_buf *out, double number)
{
    double y = chart_y(chart, number / chart->scale.factor * chart->scale.divisor);
    chart_rule(out, CHART_LEFT, y, CHART_LEFT + CHART_WIDTH, y, SVG_RULE);
    svg_label(out, SVG_DIM " text-anchor=\"end\"", CHART_LEFT - 6, y + 4);
    pf_buf_printf(out, "%.6g</text>\n", number);
}

static void add_linear_levels(const struct chart *chart, struct pf_buf *out)
{
    long n = lround(chart->high / chart->step);
    for (long i = 0; i <= n; i++)
        add_value_rule(chart, out, chart->step * (double)i);
}

/* Appends rules at 1, 2 and 5 times each power of ten. An axis of more than three powers has rules only at the powers. */
static void add_logarithmic_levels(const struct chart *chart, struct pf_buf *out)
{
    static const int steps[] = {1, 2, 5};
    size_t n = chart->high / chart->low > 1100 ? 1 : 3;
    for (int power = (int)floor(log10(chart->low)); power <= (int)ceil(log10(chart->high)); power++)
        for (size_t i = 0; i < n; i++) {
            double number = steps[i] * pow(10, power);
            if (number >= chart->low * 0.999 && number <= chart->high * 1.001)
                add_value_rule(chart, out, number);
        }
}

/* ---- drawing ------------------------------------------------------------------------------------ */

/* Appends a line, with gaps at missing values, and a dot per value if there is room for dots. */
static void add_chart_path(const struct chart *chart, const struct chart_line *line, const char *colour,
                           struct pf_buf *out)
{
    bool drawn = false;
    pf_buf_printf(out, "<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"", colour);
    for (size_t i = 0; i < chart->points; i++) {
        bool there = !isnan(line->values[i]);
        if (there) {
            pf_buf_char(out, drawn ? 'L' : 'M');
            svg_length(out, chart->xs[i]);
            pf_buf_char(out, ' ');
            svg_length(out, chart_y(chart, line->values[i]));
        }
        drawn = there;
    }
    pf_buf_str(out, "\"/>");
    for (size_t i = 0; i < chart->points && chart->points <= 64; i++) {
        if (isnan(line->values[i]))
            continue;
        pf_buf_printf(out, "<circle r=\"3\" fill=\"%s\"", colour);
        svg_attribute(out, "cx", chart->xs[i]);
        svg_attribute(out, "cy", chart_y(chart, line->values[i]));
        pf_buf_str(out, "/>");
    }
}

static void add_chart_line(const struct chart *chart, size_t l, struct pf_buf *out)
{
    const struct chart_line *line = &chart->lines[l];
    double y = CHART_TOP + 8 + 18 * (double)l;
    pf_buf_str(out, "<g><title>");
    svg_text_cut(out, line->name, line->name_size, 1000);
    pf_buf_str(out, "</title>");
    add_chart_path(chart, line, colours[l], out);
    pf_buf_printf(out, "<rect x=\"%d\" width=\"14\" height=\"4\" fill=\"%s\"", CHART_LEFT + CHART_WIDTH + 102,
                  colours[l]);
    svg_attribute(out, "y", y - 5);
    pf_buf_str(out, "/>");
    svg_label(out, SVG_INK, CHART_LEFT + CHART_WIDTH + 122, y);
    svg_name_cut(out, line->name, line->name_size, 50);
    pf_buf_str(out, "</text></g>\n");
}

void chart_draw(const struct chart *chart, const char *name, const char *unit, struct pf_buf *out)
{
    struct pf_buf axis = {0};
    caption_metric(&axis, name, chart->scale.name ? chart->scale.name : unit);
    svg_label(out, SVG_DIM, SVG_MARGIN, CHART_TOP - 10);
    svg_text_cut(out, axis.data, axis.size, 100);
    pf_buf_str(out, "</text>\n");
    out->failed |= axis.failed;
    pf_buf_free(&axis);
    if (chart->logarithmic)
        add_logarithmic_levels(chart, out);
    else
        add_linear_levels(chart, out);
    for (size_t l = chart->count; l-- > 0;)
        add_chart_line(chart, l, out);
}
