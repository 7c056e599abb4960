/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/kit/numbered.h"

/*
 * The tables "regions" and "intervals", by number. The model has all but lines and tags: these are counted and read
 * in the file, whose order that of the regions is.
 */
struct walk {
    const struct afperf_model *model;
    struct afperf_reader *reader;
    char id[AFPERF_HEX];
};

static int begin_walk(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    struct walk *walk = numbers->own = calloc(1, sizeof *walk);
    if (!walk)
        return pf_fail_memory(error);
    walk->model = afperf_model(cursor->profile);
    walk->reader = afperf_reader_new(walk->model->input);
    return walk->reader ? 0 : pf_fail_memory(error);
}

static void free_walk(void *own)
{
    struct walk *walk = own;
    if (walk)
        afperf_reader_free(walk->reader);
    free(walk);
}

/* Regions of a context have numbers between the first and the last of its nodes; sections have none. */
static int begin_regions(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->profile);
    uint64_t first = model->regions.count, end = 0;
    uint32_t n =
        cursor->only.context < 0 ? AFPERF_NONE : afperf_first_node(model, (uint32_t)cursor->only.context);
    for (; n != AFPERF_NONE; n = model->nodes[n].next) {
        const struct afperf_node *node = &model->nodes[n];
        if (node->first_region == AFPERF_NONE)
            continue;
        first = node->first_region < first ? node->first_region : first;
        end = node->last_region >= end ? (uint64_t)node->last_region + 1 : end;
    }
    numbers->next = end ? first : 0;
    numbers->end = cursor->only.context < 0 ? model->regions.count : end;
    return begin_walk(cursor, numbers, error);
}

static int begin_intervals(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    numbers->end = afperf_model(cursor->profile)->intervals.count;
    return begin_walk(cursor, numbers, error);
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
    if (afperf_go_to_line(model, reader, region->offset, error) < 0)
        return -1;
    int got = afperf_next_decoded(reader, &record, &decoded, error);
    if (got < 0)
        return -1;
    if (got && record.kind == AFPERF_FIELDS && decoded.type == AFPERF_REGION_START)
        *tags = decoded.tags;
    return 0;
}

enum { LINE = 13, REGION_TAGS };
static const struct pf_column region_columns[] = {
    AFPERF_PLAIN("region"),
    AFPERF_RUN,
    AFPERF_CONTEXT,
    AFPERF_PLAIN("region_id"),
    AFPERF_PLAIN("parent"),
    AFPERF_PLAIN("depth"),
    AFPERF_PLAIN("start"),
    AFPERF_PLAIN("stop"),
    AFPERF_PLAIN("inclusive"),
    AFPERF_PLAIN("exclusive"),
    AFPERF_PLAIN("inclusive_net"),
    AFPERF_PLAIN("exclusive_net"),
    AFPERF_PLAIN("state"),
    [LINE] = AFPERF_PLAIN("line"),
    [REGION_TAGS] = AFPERF_PLAIN("tags"),
    AFPERF_PLAIN("label"),
};

/* What the model knows of a region: all but line and tags. */
static void region_cells(struct walk *walk, uint64_t number, const struct afperf_node *node,
                         struct pf_cell *cells)
{
    const struct pf_tree *tree = walk->model->tree;
    const struct afperf_span *region = &walk->model->regions.items[number];
    uint64_t inclusive = region->stop - region->start;
    uint64_t paused = afperf_paused(walk->model, &walk->model->runs[node->run], region->start, region->stop);
    const struct pf_cell known[] = {
        pf_uint(number),
        pf_int(node->run),
        pf_int(node->context),
        id_of(walk, region),
        region->parent == AFPERF_NONE ? pf_absent() : pf_uint(region->parent),
        pf_uint(tree->depth[node->context]),
        pf_uint(region->start),
        pf_uint(region->stop),
        pf_uint(inclusive),
        pf_uint(region->exclusive),
        pf_uint(inclusive - paused),
        pf_uint(region->exclusive_net),
        state_of(region),
    };
    memcpy(cells, known, sizeof known);
    cells[REGION_TAGS + 1] = region->flags & AFPERF_UNLABELLED
                                 ? pf_absent()
                                 : pf_interned(tree->strings, tree->name[node->context]);
}

static int region_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                      struct pf_error *error)
{
    struct walk *walk = own;
    const struct afperf_span *region = &walk->model->regions.items[number];
    const struct afperf_node *node = &walk->model->nodes[region->owner];
    struct afperf_text tags;
    if (!pf_wanted(cursor->only.partition, node->run) || !pf_wanted(cursor->only.context, node->context))
        return 0;
    if (line_of(walk, region->offset, &cells[LINE], error) < 0 ||
        afperf_region_tags(walk->model, walk->reader, region, &tags, error) < 0)
        return -1;
    region_cells(walk, number, node, cells);
    cells[REGION_TAGS] = tags.size ? pf_text(tags.text, tags.size) : pf_absent();
    return 1;
}

/* ---- intervals ---------------------------------------------------------------------------------- */

enum { INTERVAL_LINE = 10 };
static const struct pf_column interval_columns[] = {
    AFPERF_PLAIN("interval"),
    AFPERF_PLAIN("section"),
    AFPERF_RUN,
    AFPERF_CONTEXT,
    AFPERF_PLAIN("interval_id"),
    AFPERF_PLAIN("start"),
    AFPERF_PLAIN("stop"),
    AFPERF_PLAIN("duration"),
    AFPERF_PLAIN("duration_net"),
    AFPERF_PLAIN("state"),
    [INTERVAL_LINE] = AFPERF_PLAIN("line"),
};

static void interval_cells(struct walk *walk, const struct afperf_span *interval,
                           const struct afperf_section *section, struct pf_cell *cells)
{
    const struct afperf_run *run = &walk->model->runs[section->run];
    uint64_t duration = interval->stop - interval->start;
    const struct pf_cell known[] = {
        pf_uint(interval->parent),
        pf_uint(interval->owner),
        pf_int(section->run),
        pf_int(section->context),
        id_of(walk, interval),
        pf_uint(interval->start),
        pf_uint(interval->stop),
        pf_uint(duration),
        pf_uint(duration - afperf_paused(walk->model, run, interval->start, interval->stop)),
        state_of(interval),
    };
    memcpy(cells, known, sizeof known);
}

static int interval_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                        struct pf_error *error)
{
    struct walk *walk = own;
    const struct afperf_model *model = walk->model;
    const struct afperf_span *interval = &model->intervals.items[model->interval_order[number]];
    const struct afperf_section *section = &model->sections[interval->owner];
    if (!pf_wanted(cursor->only.partition, section->run) ||
        !pf_wanted(cursor->only.context, section->context))
        return 0;
    if (line_of(walk, interval->offset, &cells[INTERVAL_LINE], error) < 0)
        return -1;
    interval_cells(walk, interval, section, cells);
    return 1;
}

static const struct pf_numbered regions = {PF_NUMBERED, begin_regions, region_row, NULL, free_walk};
static const struct pf_numbered intervals = {PF_NUMBERED, begin_intervals, interval_row, NULL, free_walk};

const struct pf_table afperf_regions_table = {.name = "regions",
                                              AFPERF_COLUMNS(region_columns),
                                              .flags = PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                                              .ops = &regions.ops};
const struct pf_table afperf_intervals_table = {
    .name = "intervals", AFPERF_COLUMNS(interval_columns), .ops = &intervals.ops};
