/* SPDX-License-Identifier: MIT */
#include "formats/runtime/build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Maximum size in bytes of a line that is passed in one piece. It is large, since a line may hold a stack of a million
 * frames.
 */
#define WHOLE_LINE ((size_t)64 << 20)

/* Estimated bytes per item, including its sums. */
enum { CONTEXT_BYTES = 80, PARTITION_BYTES = 320, NAME_BYTES = 24 };

/* The cache of frames is indexed by name, since most names have only one frame. */
enum { MET = 4096 }; /* a power of two */
struct pf_met_frame {
    struct pf_frame frame;
    uint32_t number;
    bool met;
};

static const char *const function_kind[] = {"function"};

static const struct pf_column value_columns[PF_SUMS_COLUMNS] = {
    [PF_SUMS_PARTITION] = {"thread", PF_PARTITION, 0}, [PF_SUMS_CONTEXT] = {"context", PF_CONTEXT, 0},
    [PF_SUMS_METRIC] = {"metric", PF_METRIC, 0},       [PF_SUMS_VALUE] = {"value", PF_PLAIN, 0},
    [PF_SUMS_NAME] = {"name", PF_CONTEXT_NAME, 0},
};

enum { TRACE_THREAD, TRACE_TIME, TRACE_DURATION, TRACE_DEPTH, TRACE_CONTEXT, TRACE_NAME, TRACE_COLUMNS };
#define TRACE_STACK                                                                                          \
    [TRACE_THREAD] = {"thread", PF_PARTITION, 0}, [TRACE_TIME] = {"time", PF_PLAIN, 0},                      \
    [TRACE_DURATION] = {"duration", PF_PLAIN, 0}, [TRACE_DEPTH] = {"depth", PF_PLAIN, 0},                    \
    [TRACE_CONTEXT] = {"context", PF_PLAIN, 0}
static const struct pf_column trace_columns[] = {TRACE_STACK, [TRACE_NAME] = {"name", PF_PLAIN, 0}};
static const struct pf_column phased_columns[] = {TRACE_STACK, [TRACE_NAME] = {"phase", PF_PLAIN, 0},
                                                  [TRACE_NAME + 1] = {"name", PF_PLAIN, 0}};

/* Sets run->memory to `used`, and sets its bound, run->memory_most, by the size of the file. */
static void begin_memory(struct pf_build *build, uint64_t used)
{
    build->run->memory = used;
    build->run->memory_most = build->input ? pf_input_memory(build->input) : UINT64_MAX / 2;
}

/* A function to call in a run: a function of the format, make_list or make_all. */
struct call {
    struct pf_build *build;
    void (*function)(struct pf_build *build);
};

static void begin_run(struct pf_run *run, void *arg)
{
    const struct call *call = arg;
    call->build->run = run;
    begin_memory(call->build, 0);
    call->function(call->build);
}

static int run_format(struct pf_build *build, void (*function)(struct pf_build *build),
                      struct pf_error *error)
{
    int result = pf_run(build->model, begin_run, &(struct call){build, function}, error);
    build->run = NULL;
    return result;
}

/* ---- opening ------------------------------------------------------------------------------------ */

static bool is_stored(const struct pf_table *table)
{
    return table->ops == &pf_stored_cursor.ops;
}

static int list_tables(struct pf_model *model, struct pf_build *build, struct pf_error *error)
{
    const struct pf_build_format *format = build->format;
    size_t n = 0;
    build->tables = calloc(2 + format->n_tables, sizeof *build->tables);
    if (!build->tables)
        return pf_fail_memory(error);
    memcpy(build->values, value_columns, sizeof value_columns);
    if (format->singular)
        build->values[PF_SUMS_PARTITION].name = format->singular;
    build->tables[n++] = (struct pf_table){.name = "values",
                                           .columns = build->values,
                                           .n_columns = PF_SUMS_COLUMNS,
                                           .stage = PF_MODELLED,
                                           .flags = PF_SUMS_FLAGS,
                                           .ops = &pf_sums_cursor.ops,
                                           .data = &build->sums};
    if (format->time_unit)
        build->tables[n++] = (struct pf_table){.name = "trace",
                                               .columns = format->phased ? phased_columns : trace_columns,
                                               .n_columns = TRACE_COLUMNS + format->phased,
                                               .stage = PF_MODELLED,
                                               .flags = PF_BY_PARTITION | PF_SEEKS_PARTITION,
                                               .ops = &pf_stored_cursor.ops,
                                               .data = &build->trace};
    for (size_t i = 0; i < format->n_tables; i++, n++) {
        build->tables[n] = format->tables[i];
        if (is_stored(&format->tables[i]))
            build->tables[n].data = &build->stored[i];
        else if (!format->tables[i].ops)
            build->tables[n].data = &build->rows[i];
    }
    model->tables = model->values = build->tables;
    model->n_tables = n;
    model->value_column = PF_SUMS_VALUE;
    return 0;
}

int pf_build_open(struct pf_model *model, struct pf_error *error)
{
    return pf_build_open_input(model, NULL, error);
}

int pf_build_open_input(struct pf_model *model, struct pf_input *input, struct pf_error *error)
{
    const struct pf_build_format *format = model->driver->kit;
    struct pf_build *build = model->state = calloc(1, sizeof *build);
    if (!build)
        return pf_fail_memory(error);
    build->model = model;
    build->format = format;
    build->input = input;
    build->state = calloc(1, format->state + 1);
    build->opened = calloc(1, format->state + 1);
    if (!build->state || !build->opened)
        return pf_fail_memory(error);
    if (format->partitioned)
        model->partitions = (struct pf_partitions){.singular = format->singular ? format->singular : "thread",
                                                   .plural = format->plural ? format->plural : "threads",
                                                   .field_columns = format->fields,
                                                   .n_fields = format->n_fields};
    model->metrics = format->metrics;
    model->n_metrics = format->n_metrics;
    model->time_unit = format->time_unit;
    if (list_tables(model, build, error) ||
        (!format->folder && !input && pf_source_open(model->source, NULL, PF_UNPACK, &build->input, error)))
        return -1;
    if (format->open && run_format(build, format->open, error))
        return -1;
    memcpy(build->opened, build->state, format->state);
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------------ */

/* Makes the empty tree, which owns the names, and the empty tables of the partitions. */
static void begin_partitions(struct pf_build *build)
{
    struct pf_model *model = build->model;
    const struct pf_build_format *format = build->format;
    size_t n_fields = format->n_fields;
    build->partitions = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    model->contexts = pf_run_memory(build->run, pf_tree_new(format->kinds ? format->kinds : function_kind));
    if (!format->partitioned)
        return;
    model->partitions.items = pf_run_memory(build->run, pf_rows_new(2));
    if (n_fields)
        model->partitions.fields = pf_run_memory(build->run, pf_rows_new(n_fields));
}

static void begin_contexts(struct pf_build *build)
{
    const struct pf_build_format *format = build->format;
    uint64_t limit = build->model->options->cache;
    build->frames = PF_OWN(build->run, pf_strings_new(), pf_strings_free);
    build->met = PF_OWN(build->run, calloc(MET, sizeof *build->met), free);
    PF_OWN(build->run, &build->metric_of, pf_ids_free);
    build->sums = pf_run_memory(build->run, pf_sums_new(limit, format->zeros));
    if (format->time_unit)
        build->trace =
            pf_run_memory(build->run, pf_stored_new((size_t)TRACE_COLUMNS + format->phased, limit / 4));
    for (size_t i = 0; i < format->n_tables; i++)
        if (is_stored(&format->tables[i]))
            build->stored[i] =
                pf_run_memory(build->run, pf_stored_new(format->tables[i].n_columns, limit / 8));
        else if (!format->tables[i].ops)
            build->rows[i] = pf_run_memory(build->run, pf_rows_new(format->tables[i].n_columns));
}

struct pf_frame pf_build_frame_at(const struct pf_build *build, uint32_t frame)
{
    struct pf_frame found;
    memcpy(&found, pf_interned(build->frames, frame).text, sizeof found);
    return found;
}

/* Fills the tree's columns file, module and line, each only if any frame has a value for it. */
static void fill_columns(struct pf_build *build)
{
    struct pf_tree *tree = build->model->contexts;
    bool file = false, module = false, line = false;
    for (uint32_t i = 0; i < pf_strings_count(build->frames); i++) {
        struct pf_frame frame = pf_build_frame_at(build, i);
        file |= frame.file != PF_NO_STRING;
        module |= frame.module != PF_NO_STRING;
        line |= frame.line != 0;
    }
    if ((file && pf_array_resize(&tree->file, tree->count, sizeof *tree->file, build->run->error)) ||
        (module && pf_array_resize(&tree->module, tree->count, sizeof *tree->module, build->run->error)) ||
        (line && pf_array_resize(&tree->line, tree->count, sizeof *tree->line, build->run->error)))
        pf_run_fail(build->run);
    for (uint32_t c = 0; c < tree->count && (file || module || line); c++) {
        struct pf_frame frame = pf_build_frame_at(build, tree->key[c]);
        if (file)
            tree->file[c] = frame.file;
        if (module)
            tree->module[c] = frame.module;
        if (line)
            tree->line[c] = frame.line;
    }
}

static void build_add_partition(struct pf_build *build, struct pf_cell name, const struct pf_cell *fields)
{
    static const struct pf_cell none[PF_BUILD_FIELDS];
    const struct pf_partitions *partitions = &build->model->partitions;
    struct pf_cell cells[] = {pf_int((int64_t)pf_rows_count(partitions->items)), name};
    pf_run_use(build->run, PARTITION_BYTES + name.size);
    pf_run_check(build->run, pf_rows_add(partitions->items, cells, build->run->error));
    if (partitions->fields)
        pf_run_check(build->run, pf_rows_add(partitions->fields, fields ? fields : none, build->run->error));
}

static void end_contexts(struct pf_build *build)
{
    struct pf_model *model = build->model;
    struct pf_error damage;
    if (build->input && pf_input_damage(build->input, &damage))
        pf_build_warn(build, 0, damage.offset, "fatal", "damaged-gzip", "%s", damage.what);
    if (!build->format->list && !build->format->without_all && !pf_build_partitions(build))
        build_add_partition(build, pf_string("all"), NULL);
    fill_columns(build);
    pf_run_check(build->run, pf_tree_finish(model->contexts, build->run->error));
    pf_run_check(build->run, pf_sums_finish(build->sums, pf_build_partitions(build), model->contexts->count,
                                            build->run->error));
    if (!build->format->metrics) {
        model->metrics = build->metrics;
        model->n_metrics = build->n_metrics;
    }
}

static void make_list(struct pf_build *build)
{
    begin_partitions(build);
    build->format->list(build);
    build->memory = build->run->memory;
}

/*
 * Replaces the tree, which a failed pass may have filled, by an empty one. Keeps the names, since partitions and the driver
 * hold their numbers.
 */
static void begin_tree(struct pf_build *build)
{
    struct pf_tree *old = build->model->contexts, *tree = pf_run_memory(build->run, pf_tree_new(old->kinds));
    struct pf_strings *strings = tree->strings;
    tree->strings = old->strings;
    old->strings = strings;
    pf_tree_free(old);
    build->model->contexts = tree;
}

static void make_all(struct pf_build *build)
{
    if (build->format->list) {
        begin_memory(build, build->memory);
        begin_tree(build);
    } else {
        begin_partitions(build);
    }
    begin_contexts(build);
    if (build->format->read)
        build->format->read(build);
    else
        pf_build_lines(build, build->format->line);
    end_contexts(build);
}

/* Frees everything that make_all builds, except names, partitions and contexts. */
static void drop_contexts(struct pf_build *build)
{
    pf_sums_free(build->sums);
    pf_stored_free(build->trace);
    free(build->metrics);
    build->sums = NULL;
    build->trace = NULL;
    build->metrics = NULL;
    build->n_metrics = build->metrics_room = 0;
    build->more_metrics = false;
    for (size_t i = 0; i < build->format->n_tables; i++) {
        pf_rows_free(build->rows[i]);
        pf_stored_free(build->stored[i]);
        build->rows[i] = NULL;
        build->stored[i] = NULL;
    }
}

/* Resets the driver's own struct to its contents after `open`. */
static void drop_own(struct pf_build *build)
{
    if (!build->state || !build->opened)
        return;
    if (build->format->clear)
        build->format->clear(build);
    memcpy(build->state, build->opened, build->format->state);
}

/*
 * For a partitioned format without `list`, only the pass over all data finds the partitions, so PF_PARTITIONED loads
 * everything.
 */
int pf_build_load(struct pf_model *model, enum pf_stage stage, struct pf_error *error)
{
    struct pf_build *build = model->state;
    const struct pf_build_format *format = build->format;
    bool lists = format->list && stage == PF_PARTITIONED;
    if (!lists && stage != (format->partitioned && !format->list ? PF_PARTITIONED : PF_MODELLED))
        return 0;
    if (!run_format(build, lists ? make_list : make_all, error))
        return 0;
    /* The load failed: restore the state before it. */
    drop_contexts(build);
    if (format->list && !lists)
        return -1;
    drop_own(build);
    pf_tree_free(model->contexts);
    model->contexts = NULL;
    if (format->partitioned) {
        pf_rows_free(model->partitions.items);
        pf_rows_free(model->partitions.fields);
        model->partitions.items = model->partitions.fields = NULL;
    }
    return -1;
}

void pf_build_close(struct pf_model *model)
{
    struct pf_build *build = model->state;
    if (!build)
        return;
    drop_contexts(build);
    drop_own(build);
    free(build->state);
    free(build->opened);
    free(build->tables);
    free(build);
}

/* ---- passing over the file ---------------------------------------------------------------------- */

size_t pf_build_peek(struct pf_build *build, void *bytes, size_t size, uint64_t offset)
{
    return pf_run_read(build->run, build->input, bytes, size, offset);
}

void pf_build_step(struct pf_build *build, uint64_t offset)
{
    uint64_t done, total;
    pf_input_progress(build->input, offset, &done, &total);
    pf_run_step(build->run, done, total);
}

void pf_build_lines(struct pf_build *build, void (*take)(struct pf_build *build, const struct pf_line *line))
{
    struct pf_line line;
    build->lines = PF_OWN(build->run, pf_linereader_new(build->input), pf_linereader_free);
    while (
        pf_run_check(build->run, pf_linereader_whole(build->lines, WHOLE_LINE, &line, build->run->error))) {
        if (line.number % 1024 == 0)
            pf_build_step(build, line.offset);
        take(build, &line);
        if (pf_run_is_full(build->run)) {
            pf_build_warn_of_full(build, line.offset + line.size);
            break;
        }
    }
}

bool pf_build_line_is_open(const struct pf_build *build, const struct pf_line *line)
{
    return !line->more && pf_linereader_tell(build->lines) == line->offset + line->size;
}

void pf_build_warn_of_full(struct pf_build *build, int64_t offset)
{
    pf_build_warn(build, 0, offset, "fatal", "too-large", PF_RUN_FULL ": reading ends here");
}

/* ---- what a format adds ------------------------------------------------------------------------- */

void pf_build_info(struct pf_build *build, const char *key, struct pf_slice text)
{
    struct pf_cell cells[] = {pf_string(key), pf_text(text.at, pf_size(text))};
    if (pf_size(text))
        pf_run_check(build->run, pf_rows_add(build->model->info, cells, build->run->error));
}

void pf_build_row(struct pf_build *build, size_t table, const struct pf_cell *cells)
{
    if (build->rows[table])
        pf_run_use(build->run, build->format->tables[table].n_columns * sizeof *cells);
    pf_run_check(build->run, build->rows[table]
                                 ? pf_rows_add(build->rows[table], cells, build->run->error)
                                 : pf_stored_add(build->stored[table], cells, build->run->error));
}

uint32_t pf_build_intern(struct pf_build *build, struct pf_strings *strings, const void *bytes, size_t size)
{
    uint32_t before = pf_strings_count(strings), number = pf_intern(strings, bytes, size, build->run->error);
    if (number == PF_NO_STRING)
        pf_run_fail(build->run);
    if (number >= before)
        pf_run_use(build->run, size + NAME_BYTES);
    return number;
}

uint32_t pf_build_name(struct pf_build *build, const char *text, size_t size)
{
    return pf_build_intern(build, build->model->contexts->strings, text, size);
}

uint32_t pf_build_partitions(const struct pf_build *build)
{
    return (uint32_t)pf_rows_count(build->model->partitions.items);
}

uint32_t pf_build_partition(struct pf_build *build, const char *name, size_t size,
                            const struct pf_cell *fields)
{
    uint32_t number = pf_build_intern(build, build->partitions, name, size);
    if (number == pf_build_partitions(build))
        build_add_partition(build, pf_text(name, size), fields);
    return number;
}

uint32_t pf_build_own_partition(struct pf_build *build, const char *name, size_t size,
                                const struct pf_cell *fields)
{
    uint32_t number = pf_strings_count(build->partitions);
    while (pf_string_of(build->partitions, name, size) != PF_NO_STRING) {
        char *longer = PF_OWN(build->run, malloc(size + sizeof "~4294967295"), free);
        memcpy(longer, name, size);
        size += (size_t)sprintf(longer + size, "~%" PRIu32, number);
        name = longer;
    }
    return pf_build_partition(build, name, size, fields);
}

uint32_t pf_build_find_metric(const struct pf_build *build, const char *name, size_t size)
{
    uint32_t number = pf_string_of(build->model->contexts->strings, name, strnlen(name, size));
    uint32_t index = number == PF_NO_STRING ? PF_NO_ID : pf_ids_find(&build->metric_of, number);
    return index == PF_NO_ID ? PF_NO_METRIC : index;
}

static void build_add_metric(struct pf_build *build, struct pf_metric metric)
{
    pf_run_check(build->run, pf_array_room(&build->metrics, &build->metrics_room, (size_t)metric.id,
                                           sizeof metric, build->run->error));
    build->metrics[metric.id] = metric;
    build->metrics[metric.id].empty = true; /* until a value is added to it */
}

uint32_t pf_build_metric(struct pf_build *build, const char *name, size_t size, const char *unit)
{
    uint32_t index = pf_build_find_metric(build, name, size);
    if (index != PF_NO_METRIC)
        return index;
    if (build->n_metrics == PF_BUILD_METRICS) {
        if (!build->more_metrics) {
            build_add_metric(build, (struct pf_metric)PF_EXCLUSIVE(PF_NO_METRIC, "", "", "int"));
            pf_build_warn(build, 0, -1, "error", "many-metrics",
                          "more than %d metrics: further ones skipped", PF_BUILD_METRICS);
        }
        build->more_metrics = true;
        return PF_NO_METRIC;
    }
    uint32_t number = pf_build_name(build, name, strnlen(name, size));
    const char *kept = pf_build_named(build, number).text; /* the pool terminates it with a NUL */
    build_add_metric(build, (struct pf_metric)PF_EXCLUSIVE((int64_t)build->n_metrics, kept, unit, "int"));
    pf_run_check(build->run,
                 pf_ids_add(&build->metric_of, number, (uint32_t)build->n_metrics, build->run->error));
    return (uint32_t)build->n_metrics++;
}

uint32_t pf_build_child(struct pf_build *build, uint32_t parent, uint32_t key, uint32_t name, uint32_t kind)
{
    uint8_t flags = parent == PF_NO_CONTEXT ? PF_FRAME | PF_ROOT : PF_FRAME;
    struct pf_tree *tree = build->model->contexts;
    uint32_t before = tree->count;
    uint32_t context = pf_tree_child(tree, parent, key, name, (uint8_t)kind, flags, build->run->error);
    if (context == PF_NO_CONTEXT)
        pf_run_fail(build->run);
    if (context >= before)
        pf_run_use(build->run, CONTEXT_BYTES);
    return context;
}

uint32_t pf_build_call(struct pf_build *build, uint32_t parent, const char *name, size_t size)
{
    uint32_t number = pf_build_name(build, name, size);
    return pf_build_child(build, parent, number, number, 0);
}

uint32_t pf_build_frame(struct pf_build *build, const struct pf_frame *frame)
{
    struct pf_met_frame *met = &build->met[frame->name & (MET - 1)];
    if (!met->met || memcmp(&met->frame, frame, sizeof *frame) != 0)
        *met =
            (struct pf_met_frame){*frame, pf_build_intern(build, build->frames, frame, sizeof *frame), true};
    return met->number;
}

uint32_t pf_build_named_frame(struct pf_build *build, const char *name, size_t size)
{
    struct pf_frame frame = {
        .name = pf_build_name(build, name, size), .file = PF_NO_STRING, .module = PF_NO_STRING};
    return pf_build_frame(build, &frame);
}

void pf_build_add_file(struct pf_build *build, struct pf_build_files *files, uint32_t name, uint32_t file)
{
    uint32_t *of = PF_ITEM(build->run, files->of, name), mine = file == PF_NO_STRING ? UINT32_MAX : file + 1;
    *of = !*of || *of == mine ? mine : UINT32_MAX;
}

uint32_t pf_build_file_of(const struct pf_build_files *files, uint32_t name)
{
    uint32_t of = name < files->of.room ? files->of.at[name] : 0;
    return of && of != UINT32_MAX ? of - 1 : PF_NO_STRING;
}

uint32_t pf_build_enter(struct pf_build *build, uint32_t parent, uint32_t frame)
{
    struct pf_frame what = pf_build_frame_at(build, frame);
    return pf_build_child(build, parent, frame, what.name, what.kind);
}

static bool build_is_zero(const struct pf_cell *number)
{
    return number->type == PF_DOUBLE ? number->d == 0 : number->type == PF_WIDE ? !*number->wide : !number->u;
}

static double build_number_of(const struct pf_cell *number)
{
    return number->type == PF_DOUBLE ? number->d
           : number->type == PF_WIDE ? (double)*number->wide
           : number->type == PF_UINT ? (double)number->u
                                     : (double)number->i;
}

void pf_build_add(struct pf_build *build, uint32_t thread, uint32_t context, uint32_t metric,
                  struct pf_cell value)
{
    if (metric == PF_NO_METRIC)
        return;
    if (metric < build->n_metrics) {
        build->metrics[metric].empty &= build_is_zero(&value);
        build->metrics[metric].most += fabs(build_number_of(&value));
    }
    pf_run_check(build->run, pf_sums_add(build->sums, thread, context, metric, &value, build->run->error));
}

uint64_t pf_build_span(struct pf_build *build, const struct pf_span_row *span)
{
    uint64_t number = pf_stored_count(build->trace);
    bool stacked = span->context != PF_NO_CONTEXT, phased = build->format->phased;
    struct pf_cell cells[TRACE_COLUMNS + 1] = {
        [TRACE_THREAD] = pf_int(span->thread),
        [TRACE_TIME] = span->time,
        [TRACE_DURATION] = span->duration,
        [TRACE_DEPTH] = stacked ? pf_uint(build->model->contexts->depth[span->context]) : pf_absent(),
        [TRACE_CONTEXT] = stacked ? pf_uint(span->context) : pf_absent(),
        [TRACE_NAME] = pf_text(&span->phase, 1)};
    cells[TRACE_NAME + phased] = pf_name(span->name);
    pf_run_check(build->run, pf_stored_add(build->trace, cells, build->run->error));
    return number;
}

uint64_t pf_build_stay(struct pf_build *build, uint32_t thread, uint32_t context, struct pf_cell time,
                       struct pf_cell duration)
{
    struct pf_span_row span = {.thread = thread,
                               .context = context,
                               .name = build->model->contexts->name[context],
                               .time = time,
                               .duration = duration};
    return pf_build_span(build, &span);
}

void pf_build_lasts(struct pf_build *build, uint64_t number, struct pf_cell duration)
{
    pf_run_check(build->run,
                 pf_stored_set(build->trace, number, TRACE_DURATION, duration, build->run->error));
}
