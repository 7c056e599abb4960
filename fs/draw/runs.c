/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "fs/draw/chart.h"
#include "fs/draw/draw.h"

struct pf_runs_picture {
    struct chart chart;
    const char *title, *unit;
    const char *const *runs;
};

struct pf_runs_picture *pf_runs_picture_new(const char *title, const char *unit, const char *const *runs,
                                            size_t n, struct pf_error *error)
{
    struct pf_runs_picture *picture = calloc(1, sizeof *picture);
    if (!picture) {
        pf_fail_memory(error);
        return NULL;
    }
    picture->title = title;
    picture->unit = unit;
    picture->runs = runs;
    if (chart_begin(&picture->chart, n, error)) {
        pf_runs_picture_free(picture);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        picture->chart.xs[i] = CHART_LEFT + CHART_WIDTH * (n > 1 ? (double)i / (double)(n - 1) : 0.5);
    return picture;
}

void pf_runs_picture_free(struct pf_runs_picture *picture)
{
    if (picture)
        chart_free(&picture->chart);
    free(picture);
}

/* What changes matters more than what is large. */
int pf_runs_picture_add(struct pf_runs_picture *picture, const struct pf_cell *name, const double *values,
                        struct pf_error *error)
{
    double *line = chart_values(&picture->chart), low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < picture->chart.places; i++) {
        line[i] = isfinite(values[i]) ? values[i] : NAN;
        low = line[i] < low ? line[i] : low;
        high = line[i] > high ? line[i] : high;
    }
    return chart_keep(&picture->chart, high > 0 ? high + 4 * (high - low) : 0, name, error);
}

/* The names of runs, as many as there is room for. */
static void add_runs(const struct pf_runs_picture *picture, struct pf_buf *out)
{
    const struct chart *chart = &picture->chart;
    double last = -1e9;
    for (size_t i = 0; i < chart->places; i++) {
        double x = chart->xs[i];
        if (x - last < 80 && chart->places > 1)
            continue;
        chart_tick(out, x, true);
        pf_buf_str(out, "<title>");
        svg_text(out, picture->runs[i], strlen(picture->runs[i]));
        pf_buf_str(out, "</title>");
        svg_text_cut(out, picture->runs[i], strlen(picture->runs[i]), 13);
        pf_buf_str(out, "</text>\n");
        last = x;
    }
}

void pf_runs_picture_draw(struct pf_runs_picture *picture, struct pf_buf *out)
{
    char about[320];
    bool any = picture->chart.count && picture->chart.places;
    snprintf(about, sizeof about,
             any ? "the functions that hold or change the most, over the runs%s%s" : "nothing to show",
             *picture->unit ? "; in " : "", picture->unit);
    svg_begin(out, any ? CHART_HEIGHT : CHART_TOP, picture->title, about);
    if (any) {
        chart_range(&picture->chart);
        add_runs(picture, out);
        chart_draw(&picture->chart, out);
    }
    svg_end(out);
}
