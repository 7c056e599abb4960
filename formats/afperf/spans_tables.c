/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/afperf/tables.h"

/*
 * The tables "regions" and "intervals", by number. The model has all but lines and tags: these are counted and read
 * in the file, whose order that of the regions is.
 */
struct walk {
    const struct afperf_model *model;
    struct pf_restriction only;
    struct afperf_reader *reader;
    uint64_t next; /* number of the next row */
    uint64_t end;  /* and of that behind the last */
    char id[AFPERF_HEX];
};

static int open_walk(struct pf_cursor *cursor, struct pf_error *error)
{
    struct walk *walk = cursor->state = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->model = afperf_model(cursor->profile);
    walk->only = cursor->only;
    walk->reader = afperf_reader_new(walk->model->input);
    return walk->reader ? 0 : pf_fail_memory(error);
}

static int open_regions(struct pf_cursor *cursor, struct pf_error *error)
{
    if (open_walk(cursor, error) < 0)
        return -1;
    struct walk *walk = cursor->state;
    uint32_t first = 0, end = walk->model->regions.count;
    if (walk->only.context >= 0)
        afperf_regions_of(walk->model, (uint32_t)walk->only.context, &first, &end);
    walk->next = first;
    walk->end = end;
    return 0;
}

static int open_intervals(struct pf_cursor *cursor, struct pf_error *error)
{
    if (open_walk(cursor, error) < 0)
        return -1;
    struct walk *walk = cursor->state;
    walk->end = walk->model->intervals.count;
    return 0;
}

static void close_walk(struct pf_cursor *cursor)
{
    struct walk *walk = cursor->state;
    if (walk)
        afperf_reader_free(walk->reader);
    free(walk);
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct walk *walk = cursor->state;
    if (room >= sizeof walk->next)
        memcpy(blob, &walk->next, sizeof walk->next);
    return sizeof walk->next;
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    if (size != sizeof walk->next)
        return pf_fail(error, EINVAL, "a saved position has a wrong size");
    memcpy(&walk->next, blob, sizeof walk->next);
    return 0;
}

/* The line of the record at the offset. */
static int line_of(struct walk *walk, uint64_t offset, struct pf_cell *cell, struct pf_error *error)
{
    uint64_t line;
    if (afperf_go_to_line(walk->model, walk->reader, offset, error) < 0)
        return -1;
    afperf_reader_tell(walk->reader, &line);
    *cell = pf_uint(line);
    return 0;
}

static struct pf_cell id_of(struct walk *walk, const struct afperf_span *span)
{
    return span->flags & AFPERF_ANONYMOUS ? pf_absent() : afperf_id_cell(span->id, walk->id);
}

static struct pf_cell state_of(const struct afperf_span *span)
{
    return span->flags & AFPERF_CLOSED ? pf_plain("closed", 6) : pf_plain("unclosed", 8);
}

/* ---- regions ------------------------------------------------------------------------------------ */

int afperf_region_tags(const struct afperf_model *model, struct afperf_reader *reader,
                       const struct afperf_span *region, struct afperf_text *tags, struct pf_error *error)
{
    struct afperf_record record;
    struct afperf_decoded decoded;
    *tags = (struct afperf_text){"", 0};
    if (!(region->flags & AFPERF_TAGGED))
        return 0;
    if (afperf_go_to_line(model, reader, afperf_span_offset(region), error) < 0)
        return -1;
    int got = afperf_next_decoded(reader, &record, &decoded, error);
    if (got < 0)
        return -1;
    if (got && record.kind == AFPERF_FIELDS && decoded.type == AFPERF_REGION_START)
        *tags = decoded.tags;
    return 0;
}

/* What the model knows of a region. */
static void region_cells(struct walk *walk, const struct afperf_span *region, const struct afperf_node *node,
                         struct pf_cell *cells)
{
    const struct pf_tree *tree = walk->model->tree;
    uint64_t inclusive = region->stop - region->start;
    uint64_t paused = afperf_paused(walk->model, &walk->model->runs[node->run], region->start, region->stop);
    cells[AFPERF_REGION_RUN] = pf_int(node->run);
    cells[AFPERF_REGION_CONTEXT] = pf_int(node->context);
    cells[AFPERF_REGION_ID] = id_of(walk, region);
    cells[AFPERF_REGION_PARENT] = region->parent == AFPERF_NONE ? pf_absent() : pf_uint(region->parent);
    cells[AFPERF_REGION_DEPTH] = pf_uint(tree->depth[node->context]);
    cells[AFPERF_REGION_STARTS] = pf_uint(region->start);
    cells[AFPERF_REGION_STOPS] = pf_uint(region->stop);
    cells[AFPERF_REGION_INCLUSIVE] = pf_uint(inclusive);
    cells[AFPERF_REGION_EXCLUSIVE] = pf_uint(region->exclusive);
    cells[AFPERF_REGION_INCLUSIVE_NET] = pf_uint(inclusive - paused);
    cells[AFPERF_REGION_EXCLUSIVE_NET] = pf_uint(region->exclusive_net);
    cells[AFPERF_REGION_STATE] = state_of(region);
    cells[AFPERF_REGION_LABEL] = region->flags & AFPERF_UNLABELLED
                                     ? pf_absent()
                                     : pf_interned(tree->strings, tree->name[node->context]);
}

static int regions_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct afperf_model *model = walk->model;
    for (; walk->next < walk->end; walk->next++) {
        const struct afperf_span *region = afperf_span(&model->regions, (uint32_t)walk->next);
        const struct afperf_node *node = &model->nodes[region->owner];
        if ((walk->only.partition >= 0 && node->run != walk->only.partition) ||
            (walk->only.context >= 0 && node->context != walk->only.context))
            continue;
        struct afperf_text tags;
        if (line_of(walk, afperf_span_offset(region), &cells[AFPERF_REGION_LINE], error) < 0 ||
            afperf_region_tags(model, walk->reader, region, &tags, error) < 0)
            return -1;
        region_cells(walk, region, node, cells);
        cells[AFPERF_REGION_REGION] = pf_uint(walk->next++);
        cells[AFPERF_REGION_TAGS] = tags.size ? pf_text(tags.text, tags.size) : pf_absent();
        return 1;
    }
    return 0;
}

/* ---- intervals ---------------------------------------------------------------------------------- */

static void interval_cells(struct walk *walk, const struct afperf_span *interval,
                           const struct afperf_section *section, struct pf_cell *cells)
{
    uint64_t duration = interval->stop - interval->start;
    uint64_t paused =
        afperf_paused(walk->model, &walk->model->runs[section->run], interval->start, interval->stop);
    cells[AFPERF_INTERVAL_INTERVAL] = pf_uint(interval->parent);
    cells[AFPERF_INTERVAL_SECTION] = pf_uint(interval->owner);
    cells[AFPERF_INTERVAL_RUN] = pf_int(section->run);
    cells[AFPERF_INTERVAL_CONTEXT] = pf_int(section->context);
    cells[AFPERF_INTERVAL_ID] = id_of(walk, interval);
    cells[AFPERF_INTERVAL_STARTS] = pf_uint(interval->start);
    cells[AFPERF_INTERVAL_STOPS] = pf_uint(interval->stop);
    cells[AFPERF_INTERVAL_DURATION] = pf_uint(duration);
    cells[AFPERF_INTERVAL_DURATION_NET] = pf_uint(duration - paused);
    cells[AFPERF_INTERVAL_STATE] = state_of(interval);
}

static int intervals_next(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct walk *walk = cursor->state;
    const struct afperf_model *model = walk->model;
    for (; walk->next < walk->end; walk->next++) {
        const struct afperf_span *interval =
            afperf_span(&model->intervals, model->interval_order[walk->next]);
        const struct afperf_section *section = &model->sections[interval->owner];
        if ((walk->only.partition >= 0 && section->run != walk->only.partition) ||
            (walk->only.context >= 0 && section->context != walk->only.context))
            continue;
        if (line_of(walk, afperf_span_offset(interval), &cells[AFPERF_INTERVAL_LINE], error) < 0)
            return -1;
        interval_cells(walk, interval, section, cells);
        walk->next++;
        return 1;
    }
    return 0;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct walk *walk = cursor->state;
    return walk->next < walk->end ? (double)walk->next / (double)walk->end : 1;
}

const struct pf_cursor_ops afperf_regions_cursor = {
    .open = open_regions,
    .next = regions_next,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};

const struct pf_cursor_ops afperf_intervals_cursor = {
    .open = open_intervals,
    .next = intervals_next,
    .save = save,
    .restore = restore,
    .close = close_walk,
    .progress = progress,
};
