/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/afperf/afperf.h"
#include "formats/runtime/numbered.h"

static const struct afperf_model *model_of(const struct pf_cursor *cursor)
{
    return cursor->model->state;
}

/* Copies the item at this index, of `size` bytes, to *item. Returns 0, or -1 with *error filled. */
static int copy_item(struct pf_store_window *window, uint64_t index, void *item, size_t size,
                     struct pf_error *error)
{
    const void *bytes = pf_store_at(window, index * size, size, error);
    if (!bytes)
        return -1;
    memcpy(item, bytes, size);
    return 0;
}

/* Reads the context of a region. Returns 0, or -1 with *error filled. */
static int read_context(struct pf_store_window *contexts, uint32_t region, int64_t *context,
                        struct pf_error *error)
{
    uint32_t number = 0;
    int failed = copy_item(contexts, region, &number, sizeof number, error);
    *context = number;
    return failed;
}

/* State of an open cursor. Cursors of "trace" use only the windows. */
struct afperf_cursor {
    struct pf_store_window items, contexts, tags; /* `items` are moments in "trace", otherwise targets */
    struct afperf_reader *reader;
    uint64_t entered; /* number of the data record in `record`, plus 1; 0 if there is none */
    struct afperf_target target;
    int64_t context; /* context of the target; -1 if it has none */
    struct afperf_record record;
    struct afperf_decoded decoded;
    uint64_t next; /* number of the next row */
    char id[AFPERF_HEX];
};

/* Creates the state of a cursor on a store whose items have this size. Returns 0, or -1 with *error filled. */
static int afperf_open_cursor(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                              enum afperf_store items, size_t size, struct pf_error *error)
{
    const struct afperf_model *model = model_of(cursor);
    struct afperf_cursor *own = numbers->own = calloc(1, sizeof *own);
    numbers->end = pf_store_size(model->stores[items]) / size;
    if (!own || !(own->reader = afperf_reader_new(model->input)))
        return pf_fail_memory(error);
    own->items.store = model->stores[items];
    own->contexts.store = model->stores[CONTEXTS];
    own->tags.store = model->stores[TAG_TEXTS];
    return 0;
}

static void free_cursor(void *state)
{
    struct afperf_cursor *own = state;
    if (own) {
        pf_store_window_free(&own->items);
        pf_store_window_free(&own->contexts);
        pf_store_window_free(&own->tags);
        afperf_reader_free(own->reader);
    }
    free(own);
}

/* ---- trace -------------------------------------------------------------------------------------- */

/* Row n of the table "trace" is moment n of the timeline. */
static int begin_trace(const struct pf_cursor *cursor, struct pf_numbers *numbers, struct pf_error *error)
{
    const struct afperf_model *model = model_of(cursor);
    int64_t only = cursor->only.partition;
    if (afperf_open_cursor(cursor, numbers, TIMELINE, sizeof(struct afperf_moment), error))
        return -1;
    if (only >= 0) {
        const struct afperf_run none = {0},
                                *run = (uint64_t)only < model->n_runs ? &model->runs[only] : &none;
        numbers->next = run->events;
        numbers->end = run->events + run->n_events;
    }
    return 0;
}

static const struct pf_column trace_columns[] = {{"run", PF_PARTITION, 0}, {.name = "time"},
                                                 {.name = "event"},        {"context", PF_CONTEXT, 0},
                                                 {.name = "tags"},         {"name", PF_CONTEXT_NAME, 0}};

/* Sets the context and tags of a moment, if it has any. Returns 0, or -1 with *error filled. */
static int fill_moment(const struct afperf_model *model, struct afperf_cursor *trace,
                       const struct afperf_moment *moment, int64_t *context, struct pf_cell *tags,
                       struct pf_error *error)
{
    *context = -1;
    *tags = pf_absent();
    if (moment->kind == AFPERF_EVENT_PAUSE || moment->kind == AFPERF_EVENT_RESUME)
        return 0;
    if (moment->kind == AFPERF_EVENT_REGION_START || moment->kind == AFPERF_EVENT_REGION_STOP)
        return afperf_tags(&trace->tags, moment->tags, tags, error)
                   ? -1
                   : read_context(&trace->contexts, moment->number, context, error);
    if (moment->kind == AFPERF_EVENT_INTERVAL_START)
        *tags = afperf_text_cell(model, model->sections[moment->number].is.tags);
    *context = model->sections[moment->number].context;
    return 0;
}

static int trace_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                     struct pf_error *error)
{
    static const char *const names[] = {
        [AFPERF_EVENT_REGION_START] = "region-start",
        [AFPERF_EVENT_REGION_STOP] = "region-stop",
        [AFPERF_EVENT_INTERVAL_START] = "section-start",
        [AFPERF_EVENT_INTERVAL_STOP] = "section-stop",
        [AFPERF_EVENT_PAUSE] = "pause",
        [AFPERF_EVENT_RESUME] = "resume",
    };
    struct afperf_cursor *trace = own;
    struct afperf_moment moment;
    int64_t context;
    if (copy_item(&trace->items, number, &moment, sizeof moment, error) ||
        fill_moment(model_of(cursor), trace, &moment, &context, &cells[4], error))
        return -1;
    if (cursor->only.context >= 0 && cursor->only.context != context)
        return 0;
    cells[0] = pf_int((int64_t)moment.run);
    cells[1] = pf_uint(moment.time);
    cells[2] = pf_plain(names[moment.kind], strlen(names[moment.kind]));
    cells[3] = context < 0 ? pf_absent() : pf_int(context);
    return 1;
}

static const struct pf_numbered trace = {PF_NUMBERED, .begin = begin_trace, .row = trace_row,
                                         .free = free_cursor};

const struct pf_table afperf_trace_table = {.name = "trace",
                                            AFPERF_COLUMNS(trace_columns),
                                            .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
                                            .ops = &trace.ops};

/* ---- measurements ------------------------------------------------------------------------------- */

/*
 * The table "measurements" has all values, as the file has them. Each cursor reads the wanted data records from the file again. The
 * number of a row is the number of its data record, shifted by FIELD_BITS, plus the index of a field of this record. The row is the
 * first measurement from this field on. The index 0 therefore means the record's first measurement.
 */
enum { FIELD_BITS = 21 };

static const struct pf_column measurement_columns[] = {
    {.name = "scope"},    {"run", PF_PARTITION, 0}, {"context", PF_CONTEXT, 0}, {.name = "object"},
    {.name = "interval"}, {.name = "kind"},         {.name = "start"},          {.name = "stop"},
    {.name = "type_id"},  {.name = "line"},         {.name = "aggregation"},    {.name = "value"},
    {.name = "name"}};

static int begin_measurements(const struct pf_cursor *cursor, struct pf_numbers *numbers,
                              struct pf_error *error)
{
    if (afperf_open_cursor(cursor, numbers, TARGETS, sizeof(struct afperf_target), error))
        return -1;
    numbers->end <<= FIELD_BITS;
    return 0;
}

/* Sets measurements->context. Returns 0, or -1 with *error filled. */
static int set_context(const struct afperf_model *model, struct afperf_cursor *measurements,
                       struct pf_error *error)
{
    const struct afperf_target *target = &measurements->target;
    measurements->context = -1;
    if (target->scope == AFPERF_SCOPE_REGION)
        return read_context(&measurements->contexts, target->object, &measurements->context, error);
    if (target->scope == AFPERF_SCOPE_SECTION)
        measurements->context = model->sections[target->object].context;
    return 0;
}

static struct pf_cell kind_of(const struct afperf_decoded *decoded)
{
    bool aggregate = decoded->type == AFPERF_RUN_AGGREGATE || decoded->type == AFPERF_REGION_AGGREGATE ||
                     decoded->type == AFPERF_SECTION_AGGREGATE;
    if (!aggregate)
        return pf_plain("point", 5);
    return decoded->aggregation.size ? pf_plain("processed", 9) : pf_plain("raw", 3);
}

static struct pf_cell optional_cell(uint32_t number)
{
    return number == AFPERF_NONE ? pf_absent() : pf_uint(number);
}

static void fill_measurement(const struct afperf_model *model, struct afperf_cursor *measurements,
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
    int64_t context = measurements->context;
    bool own;
    const struct afperf_measure *measure = afperf_find_measure(model, pair->type_id, run, &own);
    struct pf_cell value;
    afperf_value(measure ? measure->datatype : AFPERF_ANY, pair->value, &value);
    const struct pf_cell row[] = {
        pf_plain(scopes[target->scope], strlen(scopes[target->scope])),
        pf_int(run),
        context < 0 ? pf_absent() : pf_int(context),
        optional_cell(target->object),
        optional_cell(target->interval),
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

/*
 * Reads data record number `data`, unless the cursor's restriction excludes it. Returns 1; 0 if it is excluded or no
 * longer in the file; -1 with *error filled.
 */
static int enter_data(const struct pf_cursor *cursor, struct afperf_cursor *measurements, uint64_t data,
                      struct pf_error *error)
{
    const struct afperf_model *model = model_of(cursor);
    const struct pf_restriction *only = &cursor->only;
    struct afperf_target *target = &measurements->target;
    if (measurements->entered == data + 1)
        return 1;
    measurements->entered = 0;
    if (copy_item(&measurements->items, data, target, sizeof *target, error))
        return -1;
    if (!pf_wanted(only->partition, afperf_run_of(model, target->run)))
        return 0;
    if (set_context(model, measurements, error))
        return -1;
    if (only->context >= 0 && measurements->context != only->context)
        return 0;
    int got = afperf_read_again(measurements->reader, target->offset, target->line, &measurements->record,
                                &measurements->decoded, error);
    measurements->entered = got > 0 ? data + 1 : 0;
    return got;
}

static int measurement_row(const struct pf_cursor *cursor, void *own, uint64_t number, struct pf_cell *cells,
                           struct pf_error *error)
{
    struct afperf_cursor *measurements = own;
    struct afperf_pair pair;
    uint64_t data = number >> FIELD_BITS;
    int got = enter_data(cursor, measurements, data, error);
    measurements->next = (data + 1) << FIELD_BITS;
    if (got <= 0)
        return got;
    size_t at = number & ((1U << FIELD_BITS) - 1), first = measurements->decoded.values;
    at = at > first ? at : first;
    if (!afperf_next_pair(&measurements->record, &measurements->decoded, &at, &pair))
        return 0;
    measurements->next = data << FIELD_BITS | at;
    fill_measurement(model_of(cursor), measurements, &pair, cells);
    return 1;
}

static uint64_t after_measurement(const struct pf_cursor *cursor, const void *own, uint64_t number)
{
    (void)cursor;
    (void)number;
    return ((const struct afperf_cursor *)own)->next;
}

static const struct pf_numbered measurements = {PF_NUMBERED, .begin = begin_measurements,
                                                .row = measurement_row, .after = after_measurement,
                                                .free = free_cursor};

const struct pf_table afperf_measurements_table = {.name = "measurements",
                                                   AFPERF_COLUMNS(measurement_columns),
                                                   .flags = PF_SEEKS_PARTITION | PF_SEEKS_CONTEXT,
                                                   .ops = &measurements.ops};
