/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "fs/draw/caption.h"
#include "fs/draw/chart.h"
#include "fs/draw/draw.h"

/* Maximum number of characters of a label on the x axis. */
enum { LABEL_MAX = 24 };

struct pf_runs_picture {
    const struct pf_runs_caption *caption;
    struct chart chart;
    size_t prefix, suffix; /* bytes common to the names of all runs; labels omit them */
};

/* ---- names of runs ------------------------------------------------------------------------------ */

static bool is_label_separator(char c)
{
    return c && strchr("-_.,:;+=@#~ ", c);
}

/*
 * Returns the size of the prefix that all names share, up to and including its last separator. With `back`, returns the size of
 * the shared suffix, from its first separator on. Apart from the result and the `taken` bytes at the other end, at least one byte
 * of each name is left.
 */
static size_t shared_bytes(const struct pf_runs_caption *caption, bool back, size_t taken)
{
    const char *first = caption->n > 1 ? caption->runs[0] : "";
    size_t size = strlen(first), n = size;
    for (size_t run = 0; run < caption->n; run++) {
        const char *name = caption->runs[run];
        size_t other = strlen(name), i = 0;
        while (i < n && i + taken + 1 < other &&
               (back ? first[size - 1 - i] == name[other - 1 - i] : first[i] == name[i]))
            i++;
        n = i;
    }
    while (n && !is_label_separator(back ? first[size - n] : first[n - 1]))
        n--;
    return n;
}

static struct pf_cell label_of(const struct pf_runs_picture *picture, size_t run)
{
    const char *name = picture->caption->runs[run];
    return pf_text(name + picture->prefix, strlen(name) - picture->prefix - picture->suffix);
}

/* ---- lines -------------------------------------------------------------------------------------- */

struct pf_runs_picture *pf_runs_picture_new(const struct pf_runs_caption *caption, struct pf_error *error)
{
    struct pf_runs_picture *picture = calloc(1, sizeof *picture);
    if (!picture) {
        pf_fail_memory(error);
        return NULL;
    }
    picture->caption = caption;
    picture->prefix = shared_bytes(caption, false, 0);
    picture->suffix = shared_bytes(caption, true, picture->prefix);
    if (chart_begin(&picture->chart, caption->n, error)) {
        pf_runs_picture_free(picture);
        return NULL;
    }
    for (size_t i = 0; i < caption->n; i++)
        picture->chart.xs[i] =
            CHART_LEFT + CHART_WIDTH * (caption->n > 1 ? (double)i / (double)(caption->n - 1) : 0.5);
    return picture;
}

void pf_runs_picture_free(struct pf_runs_picture *picture)
{
    if (picture)
        chart_free(&picture->chart);
    free(picture);
}

/* The weight of a line is its largest value plus four times its range, so that changes count more than size. */
int pf_runs_picture_add(struct pf_runs_picture *picture, const struct pf_cell *name, const double *values,
                        struct pf_error *error)
{
    double *line = chart_values(&picture->chart), low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < picture->chart.points; i++) {
        line[i] = isfinite(values[i]) ? values[i] : NAN;
        low = line[i] < low ? line[i] : low;
        high = line[i] > high ? line[i] : high;
    }
    return chart_offer_line(&picture->chart, high > 0 ? high + 4 * (high - low) : 0, name, error);
}

/* ---- the picture -------------------------------------------------------------------------------- */

/* Returns the minimum distance in pixels between the centres of two labels, which leaves room for the longest label. */
static double label_distance(const struct pf_runs_picture *picture)
{
    enum { CHARACTER = 7, GAP = 12 };
    size_t longest = 0;
    for (size_t i = 0; i < picture->caption->n; i++)
        longest = label_of(picture, i).size > longest ? label_of(picture, i).size : longest;
    return CHARACTER * (double)(longest < LABEL_MAX ? longest : LABEL_MAX) + GAP;
}

/* Appends as many names of runs as there is room for, from the last run back, and below them the common prefix and suffix. */
static void add_run_labels(const struct pf_runs_picture *picture, struct pf_buf *out)
{
    double distance = label_distance(picture), last = INFINITY;
    for (size_t i = picture->caption->n; i-- > 0;) {
        double x = picture->chart.xs[i];
        if (last - x < distance)
            continue;
        struct pf_cell label = label_of(picture, i);
        const char *name = picture->caption->runs[i];
        chart_tick(out, x, true);
        pf_buf_str(out, "<title>");
        svg_text(out, name, strlen(name));
        pf_buf_str(out, "</title>");
        svg_text_cut(out, label.text, label.size, LABEL_MAX);
        pf_buf_str(out, "</text>\n");
        last = x;
    }
    if (picture->prefix + picture->suffix == 0)
        return;
    const char *name = picture->caption->runs[0];
    chart_label_x_axis(out);
    svg_text(out, name, picture->prefix);
    pf_buf_char(out, '*');
    svg_text(out, name + strlen(name) - picture->suffix, picture->suffix);
    pf_buf_str(out, "</text>\n");
}

static struct svg_caption runs_picture_caption(const struct pf_runs_caption *caption, bool any)
{
    struct svg_caption texts = {0};
    caption_metric(&texts.title, caption->metric, caption->unit);
    if (caption->totals) {
        pf_buf_str(&texts.title, ": ");
        caption_value(&texts.title, caption->totals[0], caption->unit);
        pf_buf_str(&texts.title, " to ");
        caption_value(&texts.title, caption->totals[1], caption->unit);
        pf_buf_str(&texts.title, " total");
    }
    pf_buf_printf(&texts.subject, "%s: %zu runs", caption->formats, caption->n);
    if (caption->n)
        pf_buf_printf(&texts.subject, ", %s to %s", caption->runs[0], caption->runs[caption->n - 1]);
    pf_buf_str(&texts.about, any ? "the functions with the largest values or changes, over the runs"
                                 : "empty: no function has a positive value in any run");
    return texts;
}

void pf_runs_picture_draw(struct pf_runs_picture *picture, struct pf_buf *out)
{
    bool any = picture->chart.count && picture->chart.points;
    struct svg_caption caption = runs_picture_caption(picture->caption, any);
    svg_begin(out, any ? CHART_HEIGHT : SVG_CAPTION, &caption);
    if (any) {
        chart_range(&picture->chart, picture->caption->unit);
        add_run_labels(picture, out);
        chart_draw(&picture->chart, picture->caption->metric, picture->caption->unit, out);
    }
    svg_end(out);
}
