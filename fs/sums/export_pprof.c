/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/table.h"
#include "formats/kit/utf8.h"
#include "fs/sums/aggregate_private.h"
#include "fs/sums/export.h"

/* ---- messages ----------------------------------------------------------------------------------- */

static void put_varint(struct pf_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        pf_buf_char(out, (char)(value | 0x80));
    pf_buf_char(out, (char)value);
}

static void put_varint_field(struct pf_buf *out, unsigned field, uint64_t value)
{
    if (!value)
        return;
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_bytes(struct pf_buf *out, unsigned field, const char *bytes, size_t size)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, size);
    pf_buf_add(out, bytes, size);
}

/* Appends a submessage and empties its buffer. */
static void put_message(struct pf_buf *out, unsigned field, struct pf_buf *message)
{
    put_bytes(out, field, message->data, message->size);
    out->failed |= message->failed;
    message->size = 0;
}

/* Appends an item of the file's string table. Bytes that are not valid UTF-8 become \xHH. */
static void put_string(struct pf_buf *out, struct pf_buf *scratch, struct pf_cell text)
{
    for (size_t i = 0, n, wrong; i < text.size; i += n) {
        n = pf_utf8((const unsigned char *)text.text + i, text.size - i, &wrong);
        if (n)
            pf_buf_add(scratch, text.text + i, n);
        else
            pf_buf_printf(scratch, "\\x%02X", (unsigned char)text.text[i]);
        n = n ? n : 1;
    }
    put_message(out, 6, scratch);
}

/* ---- the walk ----------------------------------------------------------------------------------- */

/* The parts of the file, in order. A position holds the stage in its upper half and the index of the next record in its
 * lower half. */
enum pprof_stage { HEAD, SAMPLES, LOCATIONS, STRINGS, OVER };

/* The key of a pprof location. Contexts with the same key share one location. */
struct exported_location {
    uint32_t name, file, line;
};

struct pprof_walk {
    struct pf_walk base;
    const struct pf_model *model;
    const struct pf_aggregate *aggregate;
    uint32_t *location_of; /* by context */
    struct exported_location *locations;
    size_t n_locations;
    uint32_t *outer;   /* see pf_find_outer */
    unsigned *metrics; /* the exported metrics */
    struct pf_folded_unit *units;
    unsigned n;
    int64_t *values;           /* of the current context */
    struct pf_buf part, whole; /* messages under construction */
};

/* Returns the index of one of the tree's strings in the file's string table. That table holds the empty string, the tree's
 * strings, and then the name and the unit of each exported metric. */
static uint64_t pprof_string_index(uint32_t name)
{
    return name == PF_NO_STRING ? 0 : (uint64_t)name + 1;
}

static uint64_t metric_string(const struct pprof_walk *walk, unsigned k, bool unit)
{
    return (uint64_t)pf_strings_count(walk->model->contexts->strings) + 1 + 2 * k + unit;
}

static void add_pprof_head(struct pprof_walk *walk, struct pf_buf *out)
{
    const struct pf_model *model = walk->model;
    int primary = pf_primary_metric(model->metrics, model->n_metrics, model->options->metric);
    for (unsigned k = 0; k < walk->n; k++) {
        put_varint_field(&walk->part, 1, metric_string(walk, k, false));
        put_varint_field(&walk->part, 2, metric_string(walk, k, true));
        put_message(out, 1, &walk->part);
    }
    for (unsigned k = 0; k < walk->n; k++)
        if ((int)walk->metrics[k] == primary)
            put_varint_field(out, 14, metric_string(walk, k, false));
}

/* Converts a value to an integer; sets *saturated if the value exceeds 64 bits and was clamped. */
static int64_t folded(const struct pf_folded_unit *unit, const union pf_number *number, bool real,
                      bool *saturated)
{
    pf_int128 whole;
    if (real || __builtin_mul_overflow(number->i, unit->factor, &whole)) {
        double value = floor(pf_number_double(number, real) * (double)unit->factor + 0.5);
        whole = isnan(value)      ? 0
                : value >= 0x1p63 ? (pf_int128)INT64_MAX + 1
                : value < -0x1p63 ? (pf_int128)INT64_MIN - 1
                                  : (int64_t)value;
    }
    *saturated = whole != (int64_t)whole;
    return !*saturated ? (int64_t)whole : whole > 0 ? INT64_MAX : INT64_MIN;
}

/* The value of a metric in a context, converted by `folded`; 0 if over_contexts excludes the context. */
static int64_t context_value(const struct pf_aggregate *aggregate, unsigned metric,
                             const struct pf_folded_unit *unit, uint32_t context, bool *saturated)
{
    const struct pf_model *model = aggregate->model;
    union pf_number number;
    bool counts =
        pf_includes_context(model->metrics[metric].over_contexts, model->contexts->flags[context]) &&
        pf_context_number(aggregate, metric, context, &number);
    *saturated = false;
    return counts ? folded(unit, &number, aggregate->metrics[metric].real, saturated) : 0;
}

/* Fills values[]. Returns false if all of them are 0. */
static bool has_values(struct pprof_walk *walk, uint32_t context)
{
    bool any = false, saturated;
    for (unsigned k = 0; k < walk->n; k++) {
        walk->values[k] =
            context_value(walk->aggregate, walk->metrics[k], &walk->units[k], context, &saturated);
        any |= walk->values[k] != 0;
    }
    return any;
}

/* Adds the locations of a stack, innermost first. A stack of more than 2 * PF_STACK_HALF frames loses the frames in its middle. */
static void add_stack(struct pprof_walk *walk, uint32_t context)
{
    const struct pf_tree *tree = walk->model->contexts;
    uint32_t outer = tree->depth[context] >= 2 * PF_STACK_HALF ? walk->outer[context] : PF_NO_CONTEXT;
    for (uint32_t n = 0; context != PF_NO_CONTEXT; n++) {
        if (n == PF_STACK_HALF && outer != PF_NO_CONTEXT)
            context = outer;
        put_varint(&walk->part, (uint64_t)walk->location_of[context] + 1);
        context = tree->parent[context];
    }
    put_message(&walk->whole, 1, &walk->part);
}

static void add_pprof_sample(struct pprof_walk *walk, uint32_t context, struct pf_buf *out)
{
    add_stack(walk, context);
    for (unsigned k = 0; k < walk->n; k++)
        put_varint(&walk->part, (uint64_t)walk->values[k]);
    put_message(&walk->whole, 2, &walk->part);
    put_message(out, 2, &walk->whole);
}

/* Adds a location and its function; there is one function per location. */
static void add_pprof_location(struct pprof_walk *walk, uint32_t number, struct pf_buf *out)
{
    const struct exported_location *location = &walk->locations[number];
    uint64_t id = (uint64_t)number + 1;
    put_varint_field(&walk->part, 1, id);
    put_varint_field(&walk->part, 2, location->line);
    put_varint_field(&walk->whole, 1, id);
    put_message(&walk->whole, 4, &walk->part);
    put_message(out, 4, &walk->whole);
    put_varint_field(&walk->whole, 1, id);
    put_varint_field(&walk->whole, 2, pprof_string_index(location->name));
    put_varint_field(&walk->whole, 3, pprof_string_index(location->name));
    put_varint_field(&walk->whole, 4, pprof_string_index(location->file));
    put_message(out, 5, &walk->whole);
}

/* Adds the unit of a sample type. Times get the unit `nanoseconds`, which pprof recognizes. */
static void add_unit(struct pprof_walk *walk, unsigned k, struct pf_buf *out)
{
    const struct pf_folded_unit *unit = &walk->units[k];
    pf_buf_str(&walk->part, unit->prefix);
    if (*unit->prefix && *unit->name)
        pf_buf_char(&walk->part, ' ');
    pf_buf_str(&walk->part, !strcmp(unit->name, "ns") ? "nanoseconds" : unit->name);
    if (!walk->part.size)
        pf_buf_str(&walk->part, "count");
    struct pf_cell text = pf_text(walk->part.data, walk->part.size);
    walk->part.size = 0;
    put_string(out, &walk->whole, text);
}

static void add_pprof_string(struct pprof_walk *walk, uint32_t number, struct pf_buf *out)
{
    const struct pf_strings *strings = walk->model->contexts->strings;
    uint32_t known = pf_strings_count(strings), k = number - known - 1;
    if (number <= known)
        put_string(out, &walk->whole, number ? pf_interned(strings, number - 1) : pf_text("", 0));
    else if (k % 2)
        add_unit(walk, k / 2, out);
    else
        put_string(out, &walk->whole, pf_string(walk->model->metrics[walk->metrics[k / 2]].name));
}

/* The number of records in a stage. */
static uint32_t stage_length(const struct pprof_walk *walk, uint32_t stage)
{
    switch (stage) {
    case HEAD:
        return 1;
    case SAMPLES:
        return walk->aggregate->n_contexts;
    case LOCATIONS:
        return (uint32_t)walk->n_locations;
    case STRINGS:
        return (uint32_t)metric_string(walk, walk->n, false);
    default:
        return 0;
    }
}

static int next_pprof_record(struct pf_walk *base, struct pf_buf *out, struct pf_error *error)
{
    struct pprof_walk *walk = (struct pprof_walk *)base;
    size_t before = out->size;
    while (base->position >> 32 < OVER && out->size == before && !out->failed) {
        uint32_t stage = (uint32_t)(base->position >> 32), i = (uint32_t)base->position;
        bool within = i < stage_length(walk, stage);
        base->position = within ? base->position + 1 : (uint64_t)(stage + 1) << 32;
        if (!within)
            continue;
        if (stage == HEAD)
            add_pprof_head(walk, out);
        else if (stage == SAMPLES && has_values(walk, i))
            add_pprof_sample(walk, i, out);
        else if (stage == LOCATIONS)
            add_pprof_location(walk, i, out);
        else if (stage == STRINGS)
            add_pprof_string(walk, i, out);
    }
    if (out->failed || walk->part.failed || walk->whole.failed)
        return pf_fail_memory(error);
    return out->size > before;
}

static void close_pprof_walk(struct pf_walk *base)
{
    struct pprof_walk *walk = (struct pprof_walk *)base;
    pf_buf_free(&walk->part);
    pf_buf_free(&walk->whole);
    free(walk->location_of);
    free(walk->locations);
    free(walk->outer);
    free(walk->metrics);
    free(walk->units);
    free(walk->values);
    free(walk);
}

/* Estimates the progress from the samples only, which are most of the file. */
static double pprof_progress(const struct pf_walk *base)
{
    const struct pprof_walk *walk = (const struct pprof_walk *)base;
    uint32_t stage = (uint32_t)(base->position >> 32), i = (uint32_t)base->position;
    return stage < SAMPLES ? 0 : stage > SAMPLES ? 1 : (double)i / ((double)stage_length(walk, stage) + 1);
}

static const struct pf_walk_ops pprof_ops = {
    .next = next_pprof_record, .close = close_pprof_walk, .progress = pprof_progress};

/* False for metrics that do not add up, and for inclusive ones, which pprof derives from their exclusive partners. */
static bool is_exported(const struct pf_metric *metric)
{
    return (metric->over_contexts == PF_OVER_ALL || metric->over_contexts == PF_OVER_FRAMES) &&
           (metric->over_partitions == PF_SUM || metric->over_partitions == PF_AT);
}

bool pf_pprof_has_samples(const struct pf_model *model)
{
    for (size_t m = 0; m < model->n_metrics; m++)
        if (is_exported(&model->metrics[m]))
            return true;
    return false;
}

uint64_t pf_pprof_saturated(const struct pf_aggregate *aggregate, unsigned metric)
{
    const struct pf_model *model = aggregate->model;
    struct pf_folded_unit unit = pf_folded_unit_of(model, metric);
    uint64_t n = 0;
    bool saturated;
    for (uint32_t i = 0; i < aggregate->n_contexts && is_exported(&model->metrics[metric]);
         i++, n += saturated)
        context_value(aggregate, metric, &unit, i, &saturated);
    return n;
}

static bool is_pprof_location(const void *of, uint32_t number, const void *key)
{
    return !memcmp((const struct exported_location *)of + number, key, sizeof(struct exported_location));
}

static int number_locations(struct pprof_walk *walk, struct pf_hash_table *table, struct pf_error *error)
{
    const struct pf_tree *tree = walk->model->contexts;
    size_t room = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        struct exported_location location = {tree->name[i], tree->file ? tree->file[i] : PF_NO_STRING,
                                             tree->line ? tree->line[i] : 0};
        uint64_t hash = pf_siphash(0, &location, sizeof location);
        int64_t found = pf_hash_find(table, hash, is_pprof_location, walk->locations, &location);
        if (found < 0) {
            if (pf_array_room(&walk->locations, &room, walk->n_locations, sizeof location, error) ||
                pf_hash_add(table, hash, (uint32_t)walk->n_locations, error))
                return -1;
            walk->locations[found = (int64_t)walk->n_locations++] = location;
        }
        walk->location_of[i] = (uint32_t)found;
    }
    return 0;
}

static int find_locations(struct pprof_walk *walk, struct pf_error *error)
{
    const struct pf_tree *tree = walk->model->contexts;
    struct pf_hash_table table = {0};
    walk->location_of = malloc(((size_t)tree->count + 1) * sizeof *walk->location_of);
    if (!walk->location_of)
        return pf_fail_memory(error);
    int result = number_locations(walk, &table, error);
    pf_hash_free(&table);
    return result ? result : pf_find_outer(tree, &walk->outer, error);
}

static int choose_pprof_metrics(struct pprof_walk *walk, struct pf_error *error)
{
    const struct pf_model *model = walk->model;
    size_t n = model->n_metrics + 1;
    walk->metrics = calloc(n, sizeof *walk->metrics);
    walk->units = calloc(n, sizeof *walk->units);
    walk->values = calloc(n, sizeof *walk->values);
    if (!walk->metrics || !walk->units || !walk->values)
        return pf_fail_memory(error);
    for (unsigned m = 0; m < model->n_metrics; m++)
        if (is_exported(&model->metrics[m])) {
            walk->units[walk->n] = pf_folded_unit_of(model, m);
            walk->metrics[walk->n++] = m;
        }
    return 0;
}

struct pf_walk *pf_pprof_walk(struct pf_aggregate *aggregate, struct pf_error *error)
{
    struct pprof_walk *walk = calloc(1, sizeof *walk);
    if (!walk) {
        pf_fail_memory(error);
        return NULL;
    }
    walk->base.ops = &pprof_ops;
    walk->model = aggregate->model;
    walk->aggregate = aggregate;
    if (!find_locations(walk, error) && !choose_pprof_metrics(walk, error))
        return &walk->base;
    close_pprof_walk(&walk->base);
    return NULL;
}
