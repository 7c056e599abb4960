/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/tables.h"
#include "formats/runtime/numbered.h"

/*
 * The table "measurements": all values as in the file. Each cursor reads the wanted data records again. A value's
 * number is that of its data record, above the number of its field in the record; 0: the first value.
 */
enum { FIELD_BITS = 21 };

struct measurements {
    struct pf_store_window targets;
    struct afperf_reader *reader;
    uint64_t entered; /* number of the data in `record`, plus 1; 0: none */
    struct afperf_target target;
    struct afperf_record record;
    struct afperf_decoded decoded;
    uint64_t next; /* number of the next row */
    char id[AFPERF_HEX];
};

static const struct pf_column columns[] = {
    {.name = "scope"},    {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0}, {.name = "object"},
    {.name = "interval"}, {.name = "kind"},         {.name = "start"},          {.name = "stop"},
    {.name = "type_id"},  {.name = "line"},         {.name = "aggregation"},    {.name = "value"},
    {.name = "name"}};

static int begin(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->model);
    struct measurements *measurements = numbers->own = calloc(1, sizeof *measurements);
    numbers->end = pf_store_size(model->targets) / sizeof(struct afperf_target) << FIELD_BITS;
    if (!measurements)
        return pf_fail_memory(error);
    measurements->targets.store = model->targets;
    measurements->reader = afperf_reader_new(model->input);
    return measurements->reader ? 0 : pf_fail_memory(error);
}

static void free_measurements(void *own)
{
    struct measurements *measurements = own;
    if (measurements) {
        pf_store_window_free(&measurements->targets);
        afperf_reader_free(measurements->reader);
    }
    free(measurements);
}

/* Returns the context that data belong to, or -1. */
static int64_t context_of(const struct afperf_model *model, const struct afperf_target *target)
{
    if (target->scope == AFPERF_SCOPE_REGION)
        return model->regions.items[target->object].context;
    if (target->scope == AFPERF_SCOPE_SECTION)
        return model->sections[target->object].context;
    return -1;
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

static void fill(const struct afperf_model *model, struct measurements *measurements,
                 const struct afperf_pair *pair, struct pf_cell *cells)
{
    static const char *const scopes[] = {
        [AFPERF_SCOPE_RUN] = "run",
        [AFPERF_SCOPE_REGION] = "region",
        [AFPERF_SCOPE_SECTION] = "section",
        [AFPERF_SCOPE_RUN_REGIONS] = "run-regions",
        [AFPERF_SCOPE_RUN_SECTIONS] = "run-sections",
        [AFPERF_SCOPE_ORPHAN] = "orphan",
    };
    const struct afperf_target *target = &measurements->target;
    const struct afperf_decoded *decoded = &measurements->decoded;
    const struct afperf_text *aggregation = &decoded->aggregation;
    uint32_t run = afperf_run_of(model, target->run);
    int64_t context = context_of(model, target);
    bool own;
    const struct afperf_measure *measure = afperf_find_measure(model, pair->type_id, run, &own);
    struct pf_cell value;
    afperf_value(measure ? measure->datatype : AFPERF_ANY, pair->value, &value);
    const struct pf_cell row[] = {
        pf_plain(scopes[target->scope], strlen(scopes[target->scope])),
        pf_int(run),
        context < 0 ? pf_absent() : pf_int(context),
        number_cell(target->object),
        number_cell(target->interval),
        kind_of(decoded),
        pf_uint(decoded->time),
        pf_uint(decoded->end),
        afperf_id_cell(true, pair->type_id, measurements->id),
        pf_uint(target->line),
        aggregation->size ? pf_text(aggregation->text, aggregation->size) : pf_absent(),
        value,
        measure ? pf_interned(model->strings, measure->fields[AFPERF_NAME].text) : pf_absent(),
    };
    memcpy(cells, row, sizeof row);
}

/* Reads the record of these data if the restriction allows them. Returns 1; 0 if not; -1 with *error filled. */
static int enter(const struct pf_cursor *cursor, struct measurements *measurements, uint64_t data,
                 struct pf_error *error)
{
    const struct afperf_model *model = afperf_model(cursor->model);
    const struct pf_restriction *only = &cursor->only;
    struct afperf_target *target = &measurements->target;
    if (measurements->entered == data + 1)
        return 1;
    const void *bytes = pf_store_at(&measurements->targets, data * sizeof *target, sizeof *target, error);
    if (!bytes)
        return -1;
    measurements->entered = 0;
    memcpy(target, bytes, sizeof *target);
    if (!pf_wanted(only->partition, afperf_run_of(model, target->run)) ||
        (only->context >= 0 && context_of(model, target) != only->context))
        return 0;
    int got = afperf_read_again(measurements->reader, target->offset, target->line, &measurements->record,
                                &measurements->decoded, error);
    measurements->entered = got > 0 ? data + 1 : 0;
    return got;
}

static int row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
               struct pf_error *error)
{
    struct measurements *measurements = own;
    struct afperf_pair pair;
    uint64_t data = number >> FIELD_BITS;
    int got = enter(cursor, measurements, data, error);
    measurements->next = (data + 1) << FIELD_BITS;
    if (got <= 0)
        return got;
    size_t at = number & ((1U << FIELD_BITS) - 1), first = measurements->decoded.values;
    at = at > first ? at : first;
    if (!afperf_next_pair(&measurements->record, &measurements->decoded, &at, &pair))
        return 0;
    measurements->next = data << FIELD_BITS | at;
    fill(afperf_model(cursor->model), measurements, &pair, cells);
    return 1;
}

static uint64_t after(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    (void)number;
    return ((const struct measurements *)own)->next;
}

static const struct pf_numbered measurements = {PF_NUMBERED, .begin = begin, .row = row, .after = after,
                                                .free = free_measurements};

const struct pf_table afperf_measurements_table = {.name = "measurements",
                                                   AFPERF_COLUMNS(columns),
                                                   .flags = PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                                                   .ops = &measurements.ops};
