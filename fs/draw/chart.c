/* SPDX-License-Identifier: MIT */
#include "fs/draw/chart.h"

#include <math.h>

static const char *const colours[CHART_LINES] = {"#1f6fb4", "#d9541e", "#2f9e44", "#8e44ad",
                                                 "#c2255c", "#0b7285", "#a0700b", "#5f3dc4",
                                                 "#087f5b", "#e03131", "#495057", "#74b816"};
static const char grey[] = "stroke=\"#dddddd\" fill=\"none\"";

int chart_begin(struct chart *chart, size_t places, struct pf_error *error)
{
    *chart = (struct chart){.places = places, .xs = calloc(places + 1, sizeof *chart->xs)};
    bool made = chart->xs;
    for (size_t i = 0; i <= CHART_LINES; i++)
        made &= (chart->lines[i].values = calloc(places + 1, sizeof(double))) != NULL;
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

int chart_keep(struct chart *chart, double weight, const struct pf_cell *name, struct pf_error *error)
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

/* ---- the axis of values ------------------------------------------------------------------------- */

/* A step of 1, 2 or 5 times a power of ten, of which at most ten reach up to `high`. */
static double step_to(double high)
{
    double power = pow(10, floor(log10(high)) - 1), steps[] = {1, 2, 5, 10};
    size_t i = 0;
    while (i < 3 && high > 10 * power * steps[i])
        i++;
    return power * steps[i];
}

void chart_range(struct chart *chart)
{
    double low = INFINITY, high = 0;
    for (size_t l = 0; l < chart->count; l++)
        for (size_t i = 0; i < chart->places; i++) {
            double value = chart->lines[l].values[i];
            low = value > 0 && value < low ? value : low;
            high = value > high ? value : high;
        }
    high = high > 0 ? high : 1;
    chart->low = 0;
    chart->high = ceil(high / step_to(high)) * step_to(high);
    if (!chart->logarithmic)
        return;
    /* Whole decades, and no fewer than one; what is a millionth of the most is not told apart. */
    chart->high = pow(10, ceil(log10(high)));
    chart->low = pow(10, floor(log10(low)));
    if (!(chart->low >= chart->high * 1e-6))
        chart->low = chart->high * 1e-6;
    if (chart->low >= chart->high)
        chart->low = chart->high / 10;
}

double chart_y(const struct chart *chart, double value)
{
    double shown = value < chart->low ? chart->low : value;
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
    chart_rule(out, x, CHART_TOP, x, bottom, grey);
    if (label)
        svg_label(out, " text-anchor=\"middle\" fill=\"#666666\"", x, bottom + 15);
}

static void add_level(const struct chart *chart, struct pf_buf *out, double value)
{
    double y = chart_y(chart, value);
    chart_rule(out, CHART_LEFT, y, CHART_LEFT + CHART_WIDTH, y, grey);
    svg_label(out, " text-anchor=\"end\" fill=\"#666666\"", CHART_LEFT - 6, y + 4);
    pf_buf_printf(out, "%.6g</text>\n", value);
}

static void add_levels(const struct chart *chart, struct pf_buf *out)
{
    double step = step_to(chart->high);
    int n =
        chart->logarithmic ? (int)lround(log10(chart->high / chart->low)) : (int)lround(chart->high / step);
    for (int i = 0; i <= n; i++)
        add_level(chart, out, chart->logarithmic ? chart->high / pow(10, i) : step * i);
}

/* ---- drawing ------------------------------------------------------------------------------------ */

/* The line itself, in pieces where values lack, and a dot a value, if there is room for dots. */
static void add_path(const struct chart *chart, const struct chart_line *line, const char *colour,
                     struct pf_buf *out)
{
    bool drawn = false;
    pf_buf_printf(out, "<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"", colour);
    for (size_t i = 0; i < chart->places; i++) {
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
    for (size_t i = 0; i < chart->places && chart->places <= 64; i++) {
        if (isnan(line->values[i]))
            continue;
        pf_buf_printf(out, "<circle r=\"3\" fill=\"%s\"", colour);
        svg_attribute(out, "cx", chart->xs[i]);
        svg_attribute(out, "cy", chart_y(chart, line->values[i]));
        pf_buf_str(out, "/>");
    }
}

static void add_line(const struct chart *chart, size_t l, struct pf_buf *out)
{
    const struct chart_line *line = &chart->lines[l];
    double y = CHART_TOP + 8 + 18 * (double)l;
    pf_buf_str(out, "<g><title>");
    svg_text_cut(out, line->name, line->name_size, 1000);
    pf_buf_str(out, "</title>");
    add_path(chart, line, colours[l], out);
    pf_buf_printf(out, "<rect x=\"%d\" width=\"14\" height=\"4\" fill=\"%s\"", CHART_LEFT + CHART_WIDTH + 102,
                  colours[l]);
    svg_attribute(out, "y", y - 5);
    pf_buf_str(out, "/>");
    svg_label(out, "", CHART_LEFT + CHART_WIDTH + 122, y);
    svg_text_cut(out, line->name, line->name_size, 50);
    pf_buf_str(out, "</text></g>\n");
}

void chart_draw(const struct chart *chart, struct pf_buf *out)
{
    add_levels(chart, out);
    for (size_t l = chart->count; l-- > 0;)
        add_line(chart, l, out);
}
