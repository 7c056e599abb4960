/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/data.h"
#include "formats/afperf/tables.h"

/*
 * The table "measurements": all values as they stand in the file, which is read again for each walk: of one run or context as
 * far as such data stand in it.
 */
struct measurements {
    struct afperf_walk walk;
    struct pf_restriction only;
    uint64_t end;                /* offset behind which no data are looked for */
    bool inside;                 /* a record has been begun, */
    struct afperf_target target; /* of which this is the target, */
    size_t at;                   /* and this the next field */
    char id[AFPERF_HEX];
};

/* A saved position. */
struct position {
    struct afperf_place place; /* of the record that has been begun, or of the next */
    uint64_t at;               /* next field; 0: the record has not been begun */
};

enum { TYPE_ID = 8, LINE, AGGREGATION, VALUE, NAME };
static const struct pf_column columns[] = {
    AFPERF_PLAIN("scope"),
    AFPERF_RUN,
    AFPERF_CONTEXT,
    AFPERF_PLAIN("object"),
    AFPERF_PLAIN("interval"),
    AFPERF_PLAIN("kind"),
    AFPERF_PLAIN("start"),
    AFPERF_PLAIN("stop"),
    [TYPE_ID] = AFPERF_PLAIN("type_id"),
    [LINE] = AFPERF_PLAIN("line"),
    [AGGREGATION] = AFPERF_PLAIN("aggregation"),
    [VALUE] = AFPERF_PLAIN("value"),
    [NAME] = AFPERF_PLAIN("name"),
};

/* Where the data of the restriction stand. */
static struct afperf_extent extent_of(const struct afperf_model *model, const struct pf_restriction *only)
{
    struct afperf_extent data = {0};
    if (only->context >= 0)
        for (uint32_t n = afperf_first_node(model, (uint32_t)only->context); n != AFPERF_NONE;
             n = model->nodes[n].next)
            afperf_extend(&data, model->nodes[n].data);
    else if (only->partition >= 0 && (uint64_t)only->partition < model->n_runs)
        data = model->runs[only->partition].data;
    else
        data.end = UINT32_MAX;
    return data;
}

static int open_measurements(struct pf_cursor *cursor, struct pf_error *error)
{
    struct measurements *measurements = cursor->state = calloc(1, sizeof *measurements);
    const struct afperf_model *model = afperf_model(cursor->profile);
    if (!measurements)
        return pf_fail_memory(error);
    measurements->only = cursor->only;
    if (afperf_walk_open(&measurements->walk, model, error) < 0)
        return -1;
    struct afperf_extent extent = extent_of(model, &cursor->only);
    measurements->end = (uint64_t)extent.end * AFPERF_BLOCK;
    if (extent.end && extent.first) {
        struct afperf_place place = afperf_place_before(model, (uint64_t)extent.first * AFPERF_BLOCK);
        afperf_walk_go(&measurements->walk, &place);
    }
    return 0;
}

static void close_measurements(struct pf_cursor *cursor)
{
    struct measurements *measurements = cursor->state;
    if (measurements)
        afperf_walk_close(&measurements->walk);
    free(measurements);
}

/* The context of what data belong to, or -1. */
static int64_t context_of(const struct afperf_model *model, const struct afperf_target *target)
{
    if (target->scope == AFPERF_SCOPE_REGION)
        return model->nodes[model->regions.items[target->object].owner].context;
    return target->scope == AFPERF_SCOPE_SECTION ? (int64_t)model->sections[target->object].context : -1;
}

static bool matches(const struct measurements *measurements)
{
    const struct afperf_target *target = &measurements->target;
    const struct pf_restriction *only = &measurements->only;
    return (only->partition < 0 || target->run == only->partition) &&
           (only->context < 0 || context_of(measurements->walk.model, target) == only->context);
}

/* Begins the next record that lets rows through. 1; 0: the end; -1: *error filled. */
static int begin_record(struct measurements *measurements, struct pf_error *error)
{
    struct afperf_walk *walk = &measurements->walk;
    int got = 0;
    while (walk->next.offset < measurements->end && (got = afperf_walk_next(walk, error)) > 0) {
        if (!afperf_walk_target(walk, &measurements->target) || !matches(measurements))
            continue;
        measurements->inside = true;
        measurements->at = walk->decoded.values;
        return 1;
    }
    return got < 0 ? -1 : 0;
}

static struct pf_cell kind_of(const struct afperf_decoded *decoded)
{
    bool aggregate = decoded->type == AFPERF_RUN_AGGREGATE || decoded->type == AFPERF_REGION_AGGREGATE ||
                     decoded->type == AFPERF_SECTION_AGGREGATE;
    if (!aggregate)
        return pf_plain("point", 5);
    return decoded->aggregation.size ? pf_plain("processed", 9) : pf_plain("raw", 3);
}

static struct pf_cell number_cell(uint32_t number)
{
    return number == AFPERF_NONE ? pf_absent() : pf_uint(number);
}

/* What all rows of a record have in common. */
static void record_cells(const struct measurements *measurements, struct pf_cell *cells)
{
    static const char *const scopes[] = {
        [AFPERF_SCOPE_RUN] = "run",
        [AFPERF_SCOPE_REGION] = "region",
        [AFPERF_SCOPE_SECTION] = "section",
        [AFPERF_SCOPE_RUN_REGIONS] = "run-regions",
        [AFPERF_SCOPE_RUN_SECTIONS] = "run-sections",
        [AFPERF_SCOPE_ORPHAN] = "orphan",
    };
    const struct afperf_walk *walk = &measurements->walk;
    const struct afperf_target *target = &measurements->target;
    const struct afperf_text *aggregation = &walk->decoded.aggregation;
    int64_t context = context_of(walk->model, target);
    const struct pf_cell common[] = {
        pf_plain(scopes[target->scope], strlen(scopes[target->scope])),
        pf_int(target->run),
        context < 0 ? pf_absent() : pf_int(context),
        number_cell(target->object),
        number_cell(target->interval),
        kind_of(&walk->decoded),
        pf_uint(walk->decoded.time),
        pf_uint(walk->decoded.end),
        [LINE] = pf_uint(walk->place.line),
        [AGGREGATION] = aggregation->size ? pf_text(aggregation->text, aggregation->size) : pf_absent(),
    };
    memcpy(cells, common, sizeof common);
}

static int next_measurement(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct measurements *measurements = cursor->state;
    const struct afperf_walk *walk = &measurements->walk;
    const struct afperf_model *model = walk->model;
    for (;;) {
        struct afperf_pair pair;
        if (!measurements->inside) {
            int got = begin_record(measurements, error);
            if (got <= 0)
                return got;
        }
        if (!afperf_next_pair(&walk->record, &walk->decoded, &measurements->at, &pair)) {
            measurements->inside = false;
            continue;
        }
        bool own;
        const struct afperf_measure *measure =
            afperf_find_measure(model, pair.type_id, measurements->target.run, &own);
        record_cells(measurements, cells);
        cells[TYPE_ID] = afperf_id_cell(pair.type_id, measurements->id);
        cells[NAME] = measure ? pf_interned(model->strings, measure->fields[AFPERF_NAME].text) : pf_absent();
        afperf_value(measure ? measure->datatype : AFPERF_ANY, pair.value, &cells[VALUE]);
        return 1;
    }
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct measurements *measurements = cursor->state;
    const struct afperf_walk *walk = &measurements->walk;
    struct position position = {.place = measurements->inside ? walk->place : walk->next,
                                .at = measurements->inside ? measurements->at : 0};
    return pf_position_save(&position, sizeof position, blob, room);
}

static bool place_fits(const struct afperf_model *model, const struct afperf_place *place)
{
    return place->offset <= pf_input_size(model->input) && place->events <= model->n_log &&
           place->block <= place->events && place->segment < model->n_segments &&
           (place->run < model->n_runs || place->run == AFPERF_NONE);
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct measurements *measurements = cursor->state;
    struct position position;
    if (pf_position_restore(&position, sizeof position, blob, size, error))
        return -1;
    if (!place_fits(measurements->walk.model, &position.place))
        return pf_position_refuse(error);
    afperf_walk_go(&measurements->walk, &position.place);
    measurements->inside = false;
    if (!position.at)
        return 0;
    int got = begin_record(measurements, error);
    if (got < 0)
        return -1;
    const struct afperf_decoded *decoded = &measurements->walk.decoded;
    if (!got || position.at < decoded->values || position.at > decoded->values_end)
        return pf_position_refuse(error);
    measurements->at = (size_t)position.at;
    return 0;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct measurements *measurements = cursor->state;
    uint64_t end = measurements->walk.model->end, offset = measurements->walk.next.offset;
    return offset < end ? (double)offset / (double)end : 1;
}

static const struct pf_cursor_ops cursor_ops = {
    .open = open_measurements,
    .next = next_measurement,
    .save = save,
    .restore = restore,
    .close = close_measurements,
    .progress = progress,
};

const struct pf_table afperf_measurements_table = {.name = "measurements",
                                                   AFPERF_COLUMNS(columns),
                                                   .flags = PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                                                   .ops = &cursor_ops};
