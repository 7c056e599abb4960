/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/afperf/walk.h"

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

/* A saved position; in the byte order of the machine, as the whole cache is. */
struct position {
    struct afperf_place place; /* of the record that has been begun, or of the next */
    uint64_t at;               /* next field; 0: the record has not been begun */
};

/* Where the data of the restriction stand. */
static struct afperf_extent extent_of(const struct afperf_model *model, const struct pf_restriction *only)
{
    if (only->context >= 0)
        return afperf_data_of(model, (uint32_t)only->context);
    if (only->partition >= 0 && (uint64_t)only->partition < model->n_runs)
        return model->runs[only->partition].data;
    return (struct afperf_extent){0, UINT32_MAX};
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
        return model->nodes[afperf_span(&model->regions, target->object)->owner].context;
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
        int found = afperf_walk_target(walk, &measurements->target, error);
        if (found < 0)
            return -1;
        if (!found || !matches(measurements))
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
    cells[AFPERF_MEASUREMENT_SCOPE] = pf_plain(scopes[target->scope], strlen(scopes[target->scope]));
    cells[AFPERF_MEASUREMENT_RUN] = pf_int(target->run);
    cells[AFPERF_MEASUREMENT_CONTEXT] = context < 0 ? pf_absent() : pf_int(context);
    cells[AFPERF_MEASUREMENT_OBJECT] = number_cell(target->object);
    cells[AFPERF_MEASUREMENT_INTERVAL] = number_cell(target->interval);
    cells[AFPERF_MEASUREMENT_KIND] = kind_of(&walk->decoded);
    cells[AFPERF_MEASUREMENT_START] = pf_uint(walk->decoded.time);
    cells[AFPERF_MEASUREMENT_STOP] = pf_uint(walk->decoded.end);
    cells[AFPERF_MEASUREMENT_LINE] = pf_uint(walk->place.line);
    cells[AFPERF_MEASUREMENT_AGGREGATION] =
        aggregation->size ? pf_text(aggregation->text, aggregation->size) : pf_absent();
}

static int next_measurement(struct pf_cursor *cursor, struct pf_cell *cells, struct pf_error *error)
{
    struct measurements *measurements = cursor->state;
    const struct afperf_walk *walk = &measurements->walk;
    const struct afperf_model *model = walk->model;
    for (;;) {
        struct afperf_pair room;
        if (!measurements->inside) {
            int got = begin_record(measurements, error);
            if (got <= 0)
                return got;
        }
        const struct afperf_pair *pair =
            afperf_next_pair(&walk->record, &walk->decoded, &measurements->at, &room);
        if (!pair) {
            measurements->inside = false;
            continue;
        }
        bool own;
        const struct afperf_measure *measure =
            afperf_find_measure(model, pair->type_id, measurements->target.run, &own);
        afperf_value(measure ? measure->datatype : AFPERF_ANY, pair->value, &cells[AFPERF_MEASUREMENT_VALUE]);
        record_cells(measurements, cells);
        cells[AFPERF_MEASUREMENT_TYPE_ID] = afperf_id_cell(pair->type_id, measurements->id);
        cells[AFPERF_MEASUREMENT_NAME] =
            measure ? pf_interned(model->strings, measure->fields[AFPERF_NAME].text) : pf_absent();
        return 1;
    }
}

static size_t save(const struct pf_cursor *cursor, void *blob, size_t room)
{
    const struct measurements *measurements = cursor->state;
    const struct afperf_walk *walk = &measurements->walk;
    struct position position;
    if (room < sizeof position)
        return sizeof position;
    memset(&position, 0, sizeof position); /* also what lies between its members */
    position.place = measurements->inside ? walk->place : walk->next;
    position.at = measurements->inside ? measurements->at : 0;
    memcpy(blob, &position, sizeof position);
    return sizeof position;
}

static bool place_fits(const struct afperf_model *model, const struct afperf_place *place)
{
    uint64_t events = pf_store_size(model->log) / sizeof(uint64_t);
    return place->offset <= pf_input_size(model->input) && place->events <= events &&
           place->block <= place->events && place->segment < model->n_segments &&
           (place->run < model->n_runs || place->run == AFPERF_NONE);
}

static int restore(struct pf_cursor *cursor, const void *blob, size_t size, struct pf_error *error)
{
    struct measurements *measurements = cursor->state;
    struct position position;
    if (size != sizeof position)
        return pf_fail(error, EINVAL, "a saved position has a wrong size");
    memcpy(&position, blob, sizeof position);
    if (!place_fits(measurements->walk.model, &position.place))
        return pf_fail(error, EINVAL, "a saved position does not fit the file");
    afperf_walk_go(&measurements->walk, &position.place);
    measurements->inside = false;
    if (!position.at)
        return 0;
    int got = begin_record(measurements, error);
    if (got < 0)
        return -1;
    const struct afperf_decoded *decoded = &measurements->walk.decoded;
    if (!got || position.at < decoded->values || position.at > decoded->values_end)
        return pf_fail(error, EINVAL, "a saved position is not in a record");
    measurements->at = (size_t)position.at;
    return 0;
}

static double progress(const struct pf_cursor *cursor)
{
    const struct measurements *measurements = cursor->state;
    uint64_t end = measurements->walk.model->end, offset = measurements->walk.next.offset;
    return offset < end ? (double)offset / (double)end : 1;
}

const struct pf_cursor_ops afperf_measurements_cursor = {
    .open = open_measurements,
    .next = next_measurement,
    .save = save,
    .restore = restore,
    .close = close_measurements,
    .progress = progress,
};
