/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/runtime/numbered.h"

/*
 * The tables "regions" and "intervals", by number. Everything is in the model, except tags of regions, which are read
 * from the file; both are in the same order.
 */
struct walk {
    struct afperf_reader *reader;
    char id[AFPERF_HEX];
};

static int begin_walk(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    struct walk *walk = numbers->own = calloc(1, sizeof *walk);
    if (walk)
        walk->reader = afperf_reader_new(afperf_model(cursor->model)->input);
    return walk && walk->reader ? 0 : pf_fail_memory(error);
}

static void free_walk(void *own)
{
    struct walk *walk = own;
    if (walk)
        afperf_reader_free(walk->reader);
    free(walk);
}

static int begin_regions(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    numbers->end = afperf_model(cursor->model)->regions.count;
    return begin_walk(cursor, numbers, error);
}

static int begin_intervals(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    numbers->end = afperf_model(cursor->model)->intervals.count;
    return begin_walk(cursor, numbers, error);
}

static struct pf_cell id_of(struct walk *walk, const struct afperf_span *span)
{
    return afperf_id_cell(!(span->flags & AFPERF_ANONYMOUS), span->id, walk->id);
}

static struct pf_cell state_of(const struct afperf_span *span)
{
    return span->flags & AFPERF_CLOSED ? pf_plain("closed", 6) : pf_plain("unclosed", 8);
}

/* ---- regions ------------------------------------------------------------------------------------ */

int afperf_region_tags(struct afperf_reader *reader, const struct afperf_span *region,
                       struct afperf_text *tags, struct pf_error *error)
{
    struct afperf_record record;
    struct afperf_decoded decoded;
    *tags = (struct afperf_text){"", 0};
    if (!(region->flags & AFPERF_TAGGED))
        return 0;
    int got = afperf_read_again(reader, region->offset, region->line, &record, &decoded, error);
    if (got > 0)
        *tags = decoded.tags;
    return got < 0 ? -1 : 0;
}

static const struct pf_column region_columns[] = {
    {.name = "region"},    {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0}, {.name = "region_id"},
    {.name = "parent"},    {.name = "depth"},        {.name = "start"},          {.name = "stop"},
    {.name = "inclusive"}, {.name = "exclusive"},    {.name = "inclusive_net"},  {.name = "exclusive_net"},
    {.name = "state"},     {.name = "line"},         {.name = "tags"},           {.name = "label"}};

static int region_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                      struct pf_error *error)
{
    struct walk *walk = own;
    const struct afperf_model *model = afperf_model(cursor->model);
    const struct afperf_span *region = &model->regions.items[number];
    uint32_t run = afperf_run_of(model, region->owner);
    struct afperf_text tags;
    if (!pf_wanted(cursor->only.partition, run) || !pf_wanted(cursor->only.context, region->context))
        return 0;
    if (afperf_region_tags(walk->reader, region, &tags, error))
        return -1;
    uint64_t inclusive = region->stop - region->start;
    const struct pf_cell row[] = {
        pf_uint(number),
        pf_int(run),
        pf_int(region->context),
        id_of(walk, region),
        region->parent == AFPERF_NONE ? pf_absent() : pf_uint(region->parent),
        pf_uint(model->tree->depth[region->context]),
        pf_uint(region->start),
        pf_uint(region->stop),
        pf_uint(inclusive),
        pf_uint(region->exclusive),
        pf_uint(inclusive - afperf_paused(model, run, region->start, region->stop)),
        pf_uint(region->exclusive_net),
        state_of(region),
        pf_uint(region->line),
        tags.size ? pf_text(tags.text, tags.size) : pf_absent(),
        pf_interned(model->tree->strings, region->label),
    };
    memcpy(cells, row, sizeof row);
    return 1;
}

/* ---- intervals ---------------------------------------------------------------------------------- */

static const struct pf_column interval_columns[] = {
    {.name = "interval"},     {.name = "section"}, {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0},
    {.name = "interval_id"},  {.name = "start"},   {.name = "stop"},         {.name = "duration"},
    {.name = "duration_net"}, {.name = "state"},   {.name = "line"}};

static int interval_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                        struct pf_error *error)
{
    struct walk *walk = own;
    const struct afperf_model *model = afperf_model(cursor->model);
    const struct afperf_span *interval = &model->intervals.items[model->interval_order[number]];
    const struct afperf_section *section = &model->sections[interval->owner];
    uint32_t run = afperf_run_of(model, section->ref);
    uint64_t duration = interval->stop - interval->start;
    (void)error;
    if (!pf_wanted(cursor->only.partition, run) || !pf_wanted(cursor->only.context, section->context))
        return 0;
    const struct pf_cell row[] = {
        pf_uint(number),
        pf_uint(interval->owner),
        pf_int(run),
        pf_int(section->context),
        id_of(walk, interval),
        pf_uint(interval->start),
        pf_uint(interval->stop),
        pf_uint(duration),
        pf_uint(duration - afperf_paused(model, run, interval->start, interval->stop)),
        state_of(interval),
        pf_uint(interval->line),
    };
    memcpy(cells, row, sizeof row);
    return 1;
}

static const struct pf_numbered regions = {PF_NUMBERED, .begin = begin_regions, .row = region_row,
                                           .free = free_walk};
static const struct pf_numbered intervals = {PF_NUMBERED, .begin = begin_intervals, .row = interval_row,
                                             .free = free_walk};

const struct pf_table afperf_regions_table = {
    .name = "regions", AFPERF_COLUMNS(region_columns), .ops = &regions.ops};
const struct pf_table afperf_intervals_table = {
    .name = "intervals", AFPERF_COLUMNS(interval_columns), .ops = &intervals.ops};
