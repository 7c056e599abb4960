/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "fs/draw/caption.h"
#include "fs/draw/draw.h"
#include "fs/draw/script.h"
#include "fs/sums/order.h"
#include "fs/sums/readable.h"
#include "fs/text/text.h"

/* In pixels: the width of the picture's frames, the height of a level, the room above the first level and below the last one. */
enum { INNER = SVG_WIDTH - 2 * SVG_MARGIN, LEVEL = 17, TOP = SVG_CAPTION, BOTTOM = 12 };

/* Limits of the first attempt: the maximum number of levels, and the narrowest frame, which is 1/SHARE of the width. Both are
 * tightened if the picture is too large. */
enum { LEVELS_MAX = 1000, SHARE = 2000 };

/* The maximum size in bytes of a picture without its frames. */
enum { CAPTION_AND_SCRIPT = 16384 };

/* Approximate width of a character in pixels; a label has three characters or more. */
static const double character = 6.4;

struct flame {
    const struct pf_model *model;
    const struct pf_tree *tree;
    const struct pf_metric *metric;
    double *held;      /* by context: sum of the positive exclusive values in its subtree */
    double total;      /* of the frames of level 0 */
    struct pf_buf sum; /* the metric's total, as in tree.txt */
    double narrowest;  /* minimum value of a frame */
    uint32_t levels;   /* maximum number of levels to draw */
    uint32_t deepest;  /* deepest level drawn */
    struct pf_buf frames;
};

/* ---- values ------------------------------------------------------------------------------------- */

static void add_sum(struct flame *flame, const struct pf_aggregate *aggregate, unsigned total_metric)
{
    pf_int128 wide;
    union pf_number total;
    bool real;
    const struct pf_cell cell = pf_aggregate_total(aggregate, total_metric, &wide);
    pf_number_of_cell(&cell, &total, &real);
    pf_add_number(&flame->sum, &total, real, 0);
    pf_add_readable(&flame->sum, pf_number_double(&total, real), flame->metric->unit);
}

/* Fills held[], total and sum. Returns 0, or -1 with *error filled. */
static int sum_flame_frames(struct flame *flame, struct pf_aggregate *aggregate, unsigned metric,
                            struct pf_error *error)
{
    const struct pf_tree *tree = flame->tree;
    struct pf_order *order = pf_order_get(aggregate, metric, PF_BY_STACK, error);
    if (!order)
        return -1;
    flame->held = calloc((size_t)tree->count + 1, sizeof *flame->held);
    if (!flame->held) {
        pf_order_release(aggregate, order);
        return pf_fail_memory(error);
    }
    for (uint32_t i = tree->count; i-- > 0;) {
        double value = pf_number_double(&order->exclusive[i], order->exclusive_real);
        if (value > 0 && isfinite(value))
            flame->held[i] += value;
        double *above = tree->parent[i] == PF_NO_CONTEXT ? &flame->total : &flame->held[tree->parent[i]];
        *above += flame->held[i];
    }
    add_sum(flame, aggregate, order->totals.metric);
    pf_order_release(aggregate, order);
    return 0;
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Returns a frame's colour, which depends on its module or, if unknown, on its file or, if unknown, on the prefix of its name. */
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
    /* The edges are rounded instead of the width, so that callees never extend beyond their caller. */
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

static void add_flame_frame(struct flame *flame, uint32_t context, double from)
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
        svg_name_cut(&flame->frames, shown, size, room);
        pf_buf_str(&flame->frames, "</text>");
    }
    pf_buf_str(&flame->frames, "</g>\n");
}

/* A frame whose callees are not drawn yet. */
struct pending_frame {
    uint32_t context;
    double from;
};

struct pending_frames {
    struct pending_frame *all;
    size_t count, room;
};

/* Draws siblings side by side, the first one at `from`. Draws the wide frames and adds them to `pending`, then draws all narrow
 * ones as one merged frame, unless that is too narrow, too. */
static int add_siblings(struct flame *flame, const uint32_t *siblings, uint32_t n, uint32_t level,
                        double from, struct pending_frames *pending, struct pf_error *error)
{
    double narrow = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t context = siblings[i];
        double value = flame->held[context];
        if (value <= 0 || value < flame->narrowest) {
            narrow += value > 0 ? value : 0;
            continue;
        }
        add_flame_frame(flame, context, from);
        if (pf_array_room(&pending->all, &pending->room, pending->count, sizeof *pending->all, error))
            return -1;
        pending->all[pending->count++] = (struct pending_frame){context, from};
        from += value;
    }
    if (narrow >= flame->narrowest && narrow > 0) {
        add_rect(flame, from, narrow, level, "#cccccc");
        pf_buf_char(&flame->frames, '\n');
    }
    return 0;
}

/* Draws into flame->frames; stops once the picture is too large. */
static int draw_flame_graph(struct flame *flame, struct pf_error *error)
{
    const struct pf_tree *tree = flame->tree;
    struct pending_frames pending = {0};
    flame->frames.size = 0;
    flame->deepest = 0;
    int result = add_siblings(flame, tree->root, tree->roots, 0, 0, &pending, error);
    while (!result && pending.count && flame->frames.size <= PF_PICTURE_MAX) {
        struct pending_frame frame = pending.all[--pending.count];
        uint32_t level = tree->depth[frame.context] + 1, first = tree->first[frame.context];
        if (level < flame->levels)
            result = add_siblings(flame, tree->child + first, tree->first[frame.context + 1] - first, level,
                                  frame.from, &pending, error);
    }
    free(pending.all);
    return result ? -1 : flame->frames.failed ? pf_fail_memory(error) : 0;
}

/* Merges more frames, and draws fewer levels, until the picture is small enough. */
static int draw_small(struct flame *flame, struct pf_error *error)
{
    const size_t room = PF_PICTURE_MAX - CAPTION_AND_SCRIPT;
    flame->levels = LEVELS_MAX;
    flame->narrowest = flame->total / SHARE;
    for (;;) {
        if (draw_flame_graph(flame, error))
            return -1;
        if (flame->frames.size <= room || flame->levels <= 1)
            return 0;
        flame->narrowest *= 1.5;
        if (flame->narrowest > flame->total / 50)
            flame->levels = flame->levels / 2;
    }
}

/* ---- the picture -------------------------------------------------------------------------------- */

/* Returns the reason why the picture has no frames; NULL if it has some. */
static const char *why_empty(const struct flame *flame)
{
    if (!pf_adds_up(flame->metric))
        return flame->metric->over_contexts == PF_OVER_NO_CONTEXTS
                   ? "empty: the metric cannot be summed over contexts"
                   : "empty: the metric cannot be summed over partitions";
    return !isfinite(flame->total) ? "empty: the values are too large to be added up"
           : flame->total <= 0     ? "empty: no context has a positive value"
                                   : NULL;
}

static void compose(struct flame *flame, struct pf_buf *out)
{
    struct svg_caption caption = {0};
    const struct pf_metric *metric = flame->metric;
    const char *why = why_empty(flame);
    caption_metric(&caption.title, metric->name, metric->unit);
    if (pf_adds_up(metric)) {
        pf_buf_str(&caption.title, ": ");
        pf_buf_add(&caption.title, flame->sum.data, flame->sum.size);
        pf_buf_str(&caption.title, " total");
    }
    caption_subject(&caption.subject, flame->model);
    pf_buf_str(&caption.about, why ? why : "callers above callees; the width is the value, callees included");
    out->failed |= flame->sum.failed;
    svg_begin(out, why ? SVG_CAPTION : TOP + LEVEL * (flame->deepest + 1.0) + BOTTOM, &caption);
    if (!why) {
        pf_buf_str(out, "<g id=\"frames\">\n");
        pf_buf_add(out, flame->frames.data, flame->frames.size);
        pf_buf_str(out, "</g>\n");
        for (size_t i = 0; i < sizeof flame_script / sizeof *flame_script; i++)
            pf_buf_str(out, flame_script[i]);
    }
    svg_end(out);
}

struct pf_walk *pf_flame_walk(struct pf_model *model, struct pf_aggregate *aggregate, unsigned metric,
                              struct pf_error *error)
{
    struct flame flame = {.model = model, .tree = model->contexts, .metric = &model->metrics[metric]};
    struct pf_buf out = {0};
    struct pf_walk *walk = NULL;
    if (!sum_flame_frames(&flame, aggregate, metric, error) &&
        (why_empty(&flame) || !draw_small(&flame, error))) {
        compose(&flame, &out);
        walk = pf_walk_of_text(&out, error);
    }
    free(flame.held);
    pf_buf_free(&flame.sum);
    pf_buf_free(&flame.frames);
    return walk;
}
