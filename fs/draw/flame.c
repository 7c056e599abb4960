/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/draw/draw.h"
#include "fs/draw/script.h"
#include "fs/draw/svg.h"
#include "fs/sums/aggregate_private.h"
#include "fs/text/text.h"

/* Pixels: of the frames' part, of a level, above the first one, below the last one. */
enum { INNER = SVG_WIDTH - 2 * SVG_MARGIN, LEVEL = 17, TOP = 48, BOTTOM = 12 };

/* Levels that are drawn unless the picture is too large, and the narrowest frame: 1/2000 of all. */
enum { LEVELS_MAX = 1000, SHARE = 2000 };

/* A character takes about so many pixels; a label has three or more. */
static const double character = 6.4;

struct flame {
    const struct pf_model *model;
    const struct pf_tree *tree;
    const struct pf_metric *metric;
    double *held; /* by context: positive exclusive values of its subtree */
    double total;
    double narrowest; /* a frame's value, at least */
    uint32_t levels;  /* that may be drawn */
    uint32_t deepest; /* drawn */
    struct pf_buf frames;
};

/* ---- values ------------------------------------------------------------------------------------- */

/* Fills held[] and total. 0, or -1 with *error filled. */
static int add_up(struct flame *flame, struct pf_aggregate *aggregate, unsigned metric,
                  struct pf_error *error)
{
    const struct pf_tree *tree = flame->tree;
    struct pf_arranged *arranged = pf_arranged_get(aggregate, metric, PF_BY_STACK, error);
    if (!arranged)
        return -1;
    flame->held = calloc((size_t)tree->count + 1, sizeof *flame->held);
    if (!flame->held) {
        pf_arranged_put(aggregate, arranged);
        return pf_fail_memory(error);
    }
    for (uint32_t i = tree->count; i-- > 0;) {
        double value = pf_number_double(&arranged->exclusive[i], arranged->exclusive_real);
        if (value > 0 && isfinite(value))
            flame->held[i] += value;
        double *above = tree->parent[i] == PF_NO_CONTEXT ? &flame->total : &flame->held[tree->parent[i]];
        *above += flame->held[i];
    }
    pf_arranged_put(aggregate, arranged);
    if (!isfinite(flame->total))
        flame->total = 0;
    return 0;
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* What frames of one colour have in common: their module, else their file, else what their names begin with. */
static const char *colour_of(const struct pf_tree *tree, uint32_t context)
{
    struct pf_cell text = tree->module ? pf_interned(tree->strings, tree->module[context]) : pf_absent();
    if (text.type != PF_TEXT && tree->file)
        text = pf_interned(tree->strings, tree->file[context]);
    if (text.type == PF_TEXT)
        return svg_colour(text.text, text.size);
    text = pf_interned(tree->strings, tree->name[context]);
    size_t size = 0;
    while (size < text.size && !strchr(":./(<", text.text[size]))
        size++;
    return svg_colour(text.text, size);
}

static double pixels(const struct flame *flame, double value)
{
    return value / flame->total * INNER;
}

static void add_rect(struct flame *flame, double from, double value, uint32_t level, const char *colour)
{
    /* Edges are rounded, not widths: callees never reach beyond their caller. */
    double left = round(pixels(flame, from) * 100) / 100,
           right = round(pixels(flame, from + value) * 100) / 100;
    pf_buf_str(&flame->frames, "<rect");
    svg_attribute(&flame->frames, "x", SVG_MARGIN + left);
    svg_attribute(&flame->frames, "y", TOP + LEVEL * (double)level);
    svg_attribute(&flame->frames, "width", right - left);
    pf_buf_printf(&flame->frames, " height=\"%d\" fill=\"%s\"/>", LEVEL - 1, colour);
    if (level > flame->deepest)
        flame->deepest = level;
}

static void add_frame(struct flame *flame, uint32_t context, double from)
{
    struct pf_cell name = pf_interned(flame->tree->strings, flame->tree->name[context]);
    uint32_t level = flame->tree->depth[context];
    double value = flame->held[context];
    size_t room =
        (size_t)((pixels(flame, value) - 4) / character > 0 ? (pixels(flame, value) - 4) / character : 0);
    const char *shown = name.size ? name.text : "[unnamed]";
    size_t size = name.size ? name.size : sizeof "[unnamed]" - 1;
    pf_buf_str(&flame->frames, "<g><title>");
    svg_text(&flame->frames, name.text, name.size);
    pf_buf_str(&flame->frames, " (");
    svg_number(&flame->frames, value);
    if (*flame->metric->unit) {
        pf_buf_char(&flame->frames, ' ');
        svg_text(&flame->frames, flame->metric->unit, strlen(flame->metric->unit));
    }
    pf_buf_printf(&flame->frames, ", %.2f%%)</title>", value / flame->total * 100);
    add_rect(flame, from, value, level, colour_of(flame->tree, context));
    if (room > 2) {
        svg_label(&flame->frames, "", SVG_MARGIN + pixels(flame, from) + 3, TOP + LEVEL * (double)level + 12);
        svg_text_cut(&flame->frames, shown, size, room);
        pf_buf_str(&flame->frames, "</text>");
    }
    pf_buf_str(&flame->frames, "</g>\n");
}

/* A frame that is drawn and whose callees are yet to be. */
struct place {
    uint32_t context;
    double from;
};

struct places {
    struct place *all;
    size_t count, room;
};

/* Draws siblings side by side from `from` on, the narrow ones as one at the end, and notes the others. */
static int add_siblings(struct flame *flame, const uint32_t *siblings, uint32_t n, uint32_t level,
                        double from, struct places *places, struct pf_error *error)
{
    double narrow = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t context = siblings[i];
        double value = flame->held[context];
        if (value <= 0 || value < flame->narrowest) {
            narrow += value > 0 ? value : 0;
            continue;
        }
        add_frame(flame, context, from);
        if (pf_array_room(&places->all, &places->room, places->count, sizeof *places->all, error))
            return -1;
        places->all[places->count++] = (struct place){context, from};
        from += value;
    }
    if (narrow >= flame->narrowest && narrow > 0) {
        add_rect(flame, from, narrow, level, "#cccccc");
        pf_buf_char(&flame->frames, '\n');
    }
    return 0;
}

/* Fills frames; stops once that is too much. */
static int draw(struct flame *flame, struct pf_error *error)
{
    const struct pf_tree *tree = flame->tree;
    struct places places = {0};
    flame->frames.size = 0;
    flame->deepest = 0;
    int result = add_siblings(flame, tree->root, tree->roots, 0, 0, &places, error);
    while (!result && places.count && flame->frames.size <= PF_PICTURE_MAX) {
        struct place place = places.all[--places.count];
        uint32_t level = tree->depth[place.context] + 1, first = tree->first[place.context];
        if (level < flame->levels)
            result = add_siblings(flame, tree->child + first, tree->first[place.context + 1] - first, level,
                                  place.from, &places, error);
    }
    free(places.all);
    return result ? -1 : flame->frames.failed ? pf_fail_memory(error) : 0;
}

/* Merges more frames, and draws fewer levels, until the picture is small enough. */
static int draw_small(struct flame *flame, struct pf_error *error)
{
    const size_t room = PF_PICTURE_MAX - 2 * sizeof flame_script;
    flame->levels = LEVELS_MAX;
    flame->narrowest = flame->total / SHARE;
    for (;;) {
        if (draw(flame, error))
            return -1;
        if (flame->frames.size <= room || flame->levels <= 1)
            return 0;
        flame->narrowest *= 1.5;
        if (flame->narrowest > flame->total / 50)
            flame->levels = flame->levels / 2;
    }
}

/* ---- the picture -------------------------------------------------------------------------------- */

static void compose(const struct flame *flame, struct pf_buf *out)
{
    char title[320], about[320];
    const struct pf_metric *metric = flame->metric;
    bool any = flame->total > 0;
    snprintf(title, sizeof title, "%s", metric->name);
    snprintf(about, sizeof about, "%s%s%s", any ? "callers above callees; the width is " : "nothing to show",
             any ? metric->name : "", any && *metric->unit ? ", exclusive values added up" : "");
    svg_begin(out, any ? TOP + LEVEL * (flame->deepest + 1.0) + BOTTOM : TOP, title, about);
    if (any) {
        pf_buf_printf(out,
                      "<g fill=\"#2040a0\" cursor=\"pointer\" text-anchor=\"end\">"
                      "<text id=\"found\" x=\"%d\" y=\"36\" fill=\"#000000\"></text>"
                      "<text id=\"reset\" x=\"%d\" y=\"20\" style=\"display:none\">whole width</text>"
                      "<text id=\"search\" x=\"%d\" y=\"20\" style=\"display:none\">search</text></g>\n<g "
                      "id=\"frames\">\n",
                      SVG_WIDTH - SVG_MARGIN, SVG_WIDTH - SVG_MARGIN - 60, SVG_WIDTH - SVG_MARGIN);
        pf_buf_add(out, flame->frames.data, flame->frames.size);
        pf_buf_str(out, "</g>\n");
        pf_buf_add(out, flame_script, sizeof flame_script - 1);
    }
    svg_end(out);
}

struct pf_lines *pf_flame_lines(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                                struct pf_error *error)
{
    struct flame flame = {.model = model, .tree = model->contexts, .metric = &model->metrics[metric]};
    struct pf_buf out = {0};
    struct pf_lines *lines = NULL;
    if (!add_up(&flame, aggregate, metric, error) && !(flame.total > 0 && draw_small(&flame, error))) {
        compose(&flame, &out);
        lines = pf_lines_of_text(&out, error);
    }
    free(flame.held);
    pf_buf_free(&flame.frames);
    return lines;
}
