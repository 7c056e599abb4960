/* SPDX-License-Identifier: MIT */
/* Makes the metrics and their sums, by a walk over the rows of all items. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/perun/perun.h"

/* The key of a metric: the numbers of its type and subtype in the tree's strings, and of its field. */
struct perun_metric {
    uint32_t type, subtype, field;
};

/* Maximum number of metrics. The values of further metrics are in resources.csv only. */
enum { METRICS_MAX = 10000 };

static struct perun_metric metric_at(const struct perun *perun, uint32_t i)
{
    struct perun_metric metric;
    memcpy(&metric, pf_interned(perun->keys, i).text, sizeof metric);
    return metric;
}

/* ---- names and units ---------------------------------------------------------------------------- */

/* Returns the text of a string; empty for PERUN_NONE. */
static struct pf_cell string_of(const struct perun *perun, uint32_t string)
{
    return string == PERUN_NONE ? pf_text("", 0) : perun_string_cell(&perun->data, string);
}

static bool is_word(struct pf_cell text, const char *word)
{
    return text.type == PF_TEXT && text.size == strlen(word) && !memcmp(text.text, word, text.size);
}

/* Marks `name` as taken. Returns false if it is taken already. Names are interned, so equal names have equal addresses. */
static bool take_name(struct perun *perun, uint32_t metric, const char *name)
{
    struct pf_run *run = perun->data.run;
    return pf_run_check(run, pf_ids_add(&perun->taken, (uintptr_t)name, metric, run->error));
}

/*
 * Returns the name of metric i: type(subtype).field without the parts that are absent. Two keys may yield the same name, since a type
 * may contain "(...)". The name of the later metric then ends with the metric's number.
 */
static const char *perun_metric_name_of(struct perun *perun, uint32_t i)
{
    char before[4 * 1024], number[24];
    const struct perun_metric key = metric_at(perun, i);
    struct pf_cell type = string_of(perun, key.type), subtype = string_of(perun, key.subtype),
                   field = pf_interned(perun->data.fields, key.field);
    snprintf(before, sizeof before, "%.*s%s%.*s%s%s", (int)type.size, type.text, subtype.size ? "(" : "",
             (int)subtype.size, subtype.text, subtype.size ? ")" : "", type.size || subtype.size ? "." : "");
    const char *name = perun_name(perun, before, field.text, field.size);
    if (take_name(perun, i, name))
        return name;
    snprintf(number, sizeof number, " #%u", i);
    name = perun_name(perun, name, number, strlen(number));
    (void)take_name(perun, i, name);
    return name;
}

/*
 * Returns the unit of metric i. Looks for it under header.units, by type(subtype), type (subtype), subtype, type and header.type, in this
 * order. If header.units has none of these, returns the first unit that is written after an amount.
 */
static const char *unit_of(struct perun *perun, uint32_t i)
{
    const struct perun_metric key = metric_at(perun, i);
    struct pf_cell type = string_of(perun, key.type), subtype = string_of(perun, key.subtype),
                   header = string_of(perun, perun->header_type), found = pf_absent();
    const struct {
        const char *format;
        struct pf_cell first, second;
        bool tried;
    } names[] = {{"header.units.%.*s(%.*s)", type, subtype, subtype.size},
                 {"header.units.%.*s (%.*s)", type, subtype, subtype.size},
                 {"header.units.%.*s", subtype, pf_absent(), subtype.size},
                 {"header.units.%.*s", type, pf_absent(), type.size},
                 {"header.units.%.*s", header, pf_absent(), header.size}};
    /* Units apply to `amount`, and to `exclusive`, which is a part of the amount. */
    if (key.field != PERUN_AMOUNT && key.field != PERUN_EXCLUSIVE)
        return "";
    for (size_t k = 0; k < sizeof names / sizeof *names && found.type == PF_ABSENT; k++) {
        char name[300];
        const struct pf_cell *a = &names[k].first, *b = &names[k].second;
        int size = names[k].tried ? snprintf(name, sizeof name, names[k].format, (int)a->size, a->text,
                                             (int)b->size, b->text)
                                  : 0;
        if (size && size < (int)sizeof name)
            found = perun_property(&perun->data, name);
    }
    if (found.type != PF_TEXT)
        found = string_of(perun, perun->units[i]);
    return perun_name(perun, "", found.text, found.size);
}

/* ---- how metrics add up ------------------------------------------------------------------------- */

/* Returns the number of the metric with this key; PERUN_NONE if it does not exist. */
static uint32_t find_metric(const struct perun *perun, uint32_t type, uint32_t subtype, uint32_t field)
{
    const struct perun_metric key = {type, subtype, field};
    return pf_string_of(perun->keys, (const char *)&key, sizeof key);
}

/* Returns the metric with the type and field of `key` and with the subtype `subtype`, or PERUN_NONE. */
static uint32_t find_subtype(const struct perun *perun, const struct perun_metric *key, const char *subtype)
{
    uint32_t string = pf_string_of(perun->data.tree->strings, subtype, strlen(subtype));
    return string == PF_NO_STRING ? PERUN_NONE : find_metric(perun, key->type, string, key->field);
}

static void set_scope(struct pf_metric *metric, const char *scope, enum pf_over_contexts contexts,
                      uint32_t partner)
{
    metric->scope = scope;
    metric->over_contexts = contexts;
    metric->partner = partner == PERUN_NONE ? PF_NO_PARTNER : (int)partner;
}

/*
 * Returns true for the times of the collector `time`. These are three clocks of one interval (real, user, sys), which
 * must not be added up.
 */
static bool is_of_clocks(const struct perun *perun, struct pf_cell type, struct pf_cell subtype)
{
    struct pf_cell name = perun_property(&perun->data, "collector_info.name");
    if (name.type != PF_TEXT)
        name = perun_property(&perun->data, "collector.name");
    return is_word(type, "time") && !subtype.size && name.type == PF_TEXT && is_word(name, "time");
}

/*
 * Sets scope, aggregation and partner of a metric. Allocations and samples are exclusive to their context. Durations of calls are
 * inclusive, and the functions form a list, not a tree, so each function is a root. A sum over roots would count callees twice. The total
 * therefore comes from the exclusive durations, and there is none if the file lacks these. `ncalls` is the only other field that adds up.
 * Amounts of type "memory" without a subtype (massif) are levels, so snapshots are combined by maximum, not by sum.
 */
static void set_sums(const struct perun *perun, const struct perun_metric *key, struct pf_metric *metric)
{
    struct pf_cell type = string_of(perun, key->type), subtype = string_of(perun, key->subtype);
    bool amount = key->field == PERUN_AMOUNT, level = is_word(type, "memory") && !subtype.size;
    uint32_t exclusive = amount ? find_metric(perun, key->type, key->subtype, PERUN_EXCLUSIVE) : PERUN_NONE;
    metric->over_partitions = level ? PF_MAX : PF_SUM;
    if (key->field == PERUN_EXCLUSIVE)
        set_scope(metric, "exclusive", PF_OVER_ALL,
                  find_metric(perun, key->type, key->subtype, PERUN_AMOUNT));
    else if (amount && is_word(subtype, "inclusive"))
        set_scope(metric, "inclusive", PF_OVER_ROOTS, find_subtype(perun, key, "exclusive"));
    else if (amount && is_word(subtype, "exclusive"))
        set_scope(metric, "exclusive", PF_OVER_ALL, find_subtype(perun, key, "inclusive"));
    else if (exclusive != PERUN_NONE)
        set_scope(metric, "inclusive", PF_OVER_ROOTS, exclusive);
    else if (amount && is_word(subtype, "time delta"))
        set_scope(metric, "inclusive", PF_OVER_NO_CONTEXTS, PERUN_NONE);
    else if (amount && is_of_clocks(perun, type, subtype))
        set_scope(metric, "", PF_OVER_NO_CONTEXTS, PERUN_NONE);
    else if (amount && !level)
        set_scope(metric, "exclusive", PF_OVER_ALL, PERUN_NONE);
    else
        set_scope(metric, "", key->field == PERUN_NCALLS ? PF_OVER_ALL : PF_OVER_NO_CONTEXTS, PERUN_NONE);
    if (!amount && key->field != PERUN_EXCLUSIVE && key->field != PERUN_NCALLS)
        metric->over_partitions = PF_OVER_NO_PARTITIONS;
}

static void describe_metrics(struct perun *perun)
{
    uint32_t count = pf_strings_count(perun->keys);
    PF_OWN(perun->data.run, &perun->taken, pf_ids_free);
    perun->metrics = pf_run_memory(perun->data.run, calloc((size_t)count + 1, sizeof *perun->metrics));
    for (uint32_t i = 0; i < count; i++) {
        const struct perun_metric key = metric_at(perun, i);
        struct pf_metric *metric = &perun->metrics[i];
        *metric = (struct pf_metric){.id = i,
                                     .name = perun_metric_name_of(perun, i),
                                     .unit = unit_of(perun, i),
                                     .type = "double",
                                     .description = ""};
        set_sums(perun, &key, metric);
    }
}

/* ---- sums --------------------------------------------------------------------------------------- */

/* Finds or adds the metric of a field of an item. Returns PERUN_NONE if the field is not a metric or there are METRICS_MAX others. */
static uint32_t metric_of(struct perun *perun, const struct perun_item *item, uint32_t field)
{
    struct pf_run *run = perun->data.run;
    const struct perun_field *about = &perun->data.field_list[field];
    const struct perun_metric key = {perun_type_of(perun, item->kind), item->subtype, field};
    uint32_t before = pf_strings_count(perun->keys),
             metric = pf_string_of(perun->keys, (const char *)&key, sizeof key);
    if (about->identity || about->reserved)
        return PERUN_NONE;
    if (before == METRICS_MAX) {
        if (metric == PERUN_NONE)
            pf_run_note(run, &perun_problems[PERUN_TOO_MANY], 0, -1,
                        "metrics (the values are in resources.csv)");
        return metric;
    }
    metric = pf_run_intern(run, perun->keys, (const char *)&key, sizeof key);
    pf_run_check(run,
                 pf_array_reach(&perun->units, &perun->units_room, metric, sizeof *perun->units, run->error));
    if (metric == before)
        perun->units[metric] = PERUN_NONE;
    if (field == PERUN_AMOUNT && perun->units[metric] == PERUN_NONE)
        perun->units[metric] = item->unit;
    return metric;
}

/* Adds the values of the current row to the sums. `metrics` caches the metric of each cell, for all rows of an item. */
static void add_row_values(struct perun *perun, const struct perun_walk *walk, uint32_t *metrics)
{
    const uint32_t unknown = PERUN_NONE - 1;
    struct pf_run *run = perun->data.run;
    uint32_t partition = perun->data.regions[walk->item.region].partition;
    for (size_t i = 0; i < walk->n_cells; i++) {
        const struct perun_value *value = &walk->cells[i].value;
        if (walk->number == walk->item.first)
            metrics[i] = unknown;
        if (value->cell.type == PF_ABSENT || value->cell.type == PF_TEXT)
            continue;
        if (metrics[i] == unknown)
            metrics[i] = metric_of(perun, &walk->item, value->field);
        if (metrics[i] != PERUN_NONE)
            pf_run_check(run, pf_sums_add(perun->sums, partition, walk->item.context, metrics[i],
                                          &value->cell, run->error));
    }
}

static void add_rows(struct perun *perun)
{
    uint32_t metrics[2 * PERUN_VALUES_MAX] = {0};
    struct pf_run *run = perun->data.run;
    struct perun_walk *walk = PF_OWN(run, perun_walk_new(&perun->data), perun_walk_free);
    for (uint64_t row = 0; pf_run_check(run, perun_walk_to(walk, row, run->error)); row++) {
        add_row_values(perun, walk, metrics);
        perun_points_add(run, perun->points, walk);
        if (row % 8192 == 8191)
            pf_run_step(run, row, perun->data.n_rows);
    }
}

void perun_drop_model(struct perun *perun)
{
    pf_sums_free(perun->sums);
    pf_strings_free(perun->keys);
    free(perun->units);
    free(perun->metrics);
    perun_points_free(perun->points);
    perun->points = NULL;
    perun->sums = NULL;
    perun->keys = NULL;
    perun->units = NULL;
    perun->units_room = 0;
    perun->metrics = NULL;
}

void perun_load_model(struct pf_run *run, void *arg)
{
    struct perun *perun = arg;
    struct pf_model *model = run->model;
    perun->data.run = run;
    perun->sums = pf_run_memory(run, pf_sums_new(model->options->cache, true));
    perun->keys = pf_run_memory(run, pf_strings_new());
    perun_points_begin(perun);
    add_rows(perun);
    perun_points_finish(run, perun->points);
    pf_run_check(run, pf_sums_finish(perun->sums, (uint32_t)pf_rows_count(model->partitions.items),
                                     perun->data.tree->count, run->error));
    describe_metrics(perun);
}
