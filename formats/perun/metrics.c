/* SPDX-License-Identifier: MIT */
/* The metrics and their sums, from a walk over the rows of the pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/kit/array.h"
#include "formats/perun/perun.h"

/* The key of a metric: type and subtype (strings of the tree), and a field. */
struct perun_metric {
    uint32_t type, subtype, field;
};

/* Maximum number of metrics; the values of further ones are only in resources.csv. */
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

/* Names are interned: equal names have equal addresses. */
static bool is_taken(const struct perun *perun, uint32_t before, const char *name)
{
    for (uint32_t i = 0; i < before; i++)
        if (perun->metrics[i].name == name)
            return true;
    return false;
}

/*
 * Returns the name type(subtype).field without the parts that are absent. A type can contain "(...)", so that two keys yield one
 * name; the later metric then gets its number as a suffix.
 */
static const char *name_of(struct perun *perun, uint32_t i, struct pf_error *error)
{
    char before[4 * 1024], number[24];
    const struct perun_metric key = metric_at(perun, i);
    struct pf_cell type = string_of(perun, key.type), subtype = string_of(perun, key.subtype),
                   field = pf_interned(perun->data.fields, key.field);
    snprintf(before, sizeof before, "%.*s%s%.*s%s%s", (int)type.size, type.text, subtype.size ? "(" : "",
             (int)subtype.size, subtype.text, subtype.size ? ")" : "", type.size || subtype.size ? "." : "");
    const char *name = perun_name(perun, before, field.text, field.size, error);
    if (!name || !is_taken(perun, i, name))
        return name;
    snprintf(number, sizeof number, " #%u", i);
    return perun_name(perun, name, number, strlen(number), error);
}

/*
 * Looks up the unit under header.units by type(subtype), type (subtype), subtype, type and header.type, in this order. The unit
 * given with the amounts is the fallback.
 */
static const char *unit_of(struct perun *perun, uint32_t i, struct pf_error *error)
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
    return perun_name(perun, "", found.text, found.size, error);
}

/* ---- how metrics add up ------------------------------------------------------------------------- */

/* Returns the number of the metric with this key; PERUN_NONE if it does not exist. */
static uint32_t find(const struct perun *perun, uint32_t type, uint32_t subtype, uint32_t field)
{
    const struct perun_metric key = {type, subtype, field};
    return pf_string_of(perun->keys, (const char *)&key, sizeof key);
}

/* Returns the metric of the same type and field with this subtype, or PERUN_NONE. */
static uint32_t find_subtype(const struct perun *perun, const struct perun_metric *key, const char *subtype)
{
    uint32_t string = pf_string_of(perun->data.tree->strings, subtype, strlen(subtype));
    return string == PF_NO_STRING ? PERUN_NONE : find(perun, key->type, string, key->field);
}

static void set(struct pf_metric *metric, const char *scope, enum pf_over_contexts contexts, uint32_t partner)
{
    metric->scope = scope;
    metric->over_contexts = contexts;
    metric->partner = partner == PERUN_NONE ? PF_NO_PARTNER : (int)partner;
}

/* The collector `time` reports three clocks of one interval (real, user, sys), which must not be added up. */
static bool is_of_clocks(const struct perun *perun, struct pf_cell type, struct pf_cell subtype)
{
    struct pf_cell name = perun_property(&perun->data, "collector_info.name");
    if (name.type != PF_TEXT)
        name = perun_property(&perun->data, "collector.name");
    return is_word(type, "time") && !subtype.size && name.type == PF_TEXT && is_word(name, "time");
}

/*
 * Sets scope, aggregation and partner of a metric. Allocations and samples are exclusive to their context. Durations of calls are
 * inclusive, and their functions form a list, not a tree, so that each function is a root: the total comes from the exclusive
 * durations if the file has them; otherwise there is no total, as for any other field. Type "memory" without a subtype (massif)
 * is a level, which has a maximum over snapshots, not a sum.
 */
static void set_sums(const struct perun *perun, const struct perun_metric *key, struct pf_metric *metric)
{
    struct pf_cell type = string_of(perun, key->type), subtype = string_of(perun, key->subtype);
    bool amount = key->field == PERUN_AMOUNT, level = is_word(type, "memory") && !subtype.size;
    uint32_t exclusive = amount ? find(perun, key->type, key->subtype, PERUN_EXCLUSIVE) : PERUN_NONE;
    metric->over_partitions = level ? PF_MAX : PF_SUM;
    if (key->field == PERUN_EXCLUSIVE)
        set(metric, "exclusive", PF_OVER_ALL, find(perun, key->type, key->subtype, PERUN_AMOUNT));
    else if (amount && is_word(subtype, "inclusive"))
        set(metric, "inclusive", PF_OVER_ROOTS, find_subtype(perun, key, "exclusive"));
    else if (amount && is_word(subtype, "exclusive"))
        set(metric, "exclusive", PF_OVER_ALL, find_subtype(perun, key, "inclusive"));
    else if (exclusive != PERUN_NONE)
        set(metric, "inclusive", PF_OVER_ROOTS, exclusive);
    else if (amount && is_word(subtype, "time delta"))
        set(metric, "inclusive", PF_OVER_NO_CONTEXTS, PERUN_NONE);
    else if (amount && is_of_clocks(perun, type, subtype))
        set(metric, "", PF_OVER_NO_CONTEXTS, PERUN_NONE);
    else if (amount && !level)
        set(metric, "exclusive", PF_OVER_ALL, PERUN_NONE);
    else
        set(metric, "", key->field == PERUN_NCALLS ? PF_OVER_ALL : PF_OVER_NO_CONTEXTS, PERUN_NONE);
    if (!amount && key->field != PERUN_EXCLUSIVE && key->field != PERUN_NCALLS)
        metric->over_partitions = PF_OVER_NO_PARTITIONS;
}

static int describe_metrics(struct perun *perun, struct pf_error *error)
{
    uint32_t count = pf_strings_count(perun->keys);
    perun->metrics = calloc((size_t)count + 1, sizeof *perun->metrics);
    if (!perun->metrics)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < count; i++) {
        const struct perun_metric key = metric_at(perun, i);
        struct pf_metric *metric = &perun->metrics[i];
        *metric = (struct pf_metric){.id = i, .type = "double", .description = ""};
        metric->name = name_of(perun, i, error);
        metric->unit = metric->name ? unit_of(perun, i, error) : NULL;
        if (!metric->unit)
            return -1;
        set_sums(perun, &key, metric);
    }
    return 0;
}

/* ---- sums --------------------------------------------------------------------------------------- */

/*
 * Finds or adds the metric of a field of an item. *metric is PERUN_NONE if the field is not a metric or there are too many. Returns 0,
 * or -1 with *error filled.
 */
static int metric_of(struct perun *perun, const struct perun_item *item, uint32_t field, uint32_t *metric,
                     struct pf_error *error)
{
    const struct perun_field *about = &perun->data.field_list[field];
    const struct perun_metric key = {perun_type_of(perun, item->kind), item->subtype, field};
    *metric = PERUN_NONE;
    if (about->identity || about->reserved)
        return 0;
    if (pf_strings_count(perun->keys) == METRICS_MAX) {
        *metric = pf_string_of(perun->keys, (const char *)&key, sizeof key);
        if (*metric == PERUN_NONE)
            pf_note(&perun->data.notes, &perun_problems[PERUN_TOO_MANY], 0, -1,
                    "metrics (the values are in resources.csv)");
        return 0;
    }
    uint32_t before = pf_strings_count(perun->keys);
    *metric = pf_intern(perun->keys, (const char *)&key, sizeof key, error);
    if (*metric == PERUN_NONE ||
        pf_array_reach(&perun->units, &perun->units_room, *metric, sizeof *perun->units, error))
        return -1;
    if (*metric == before)
        perun->units[*metric] = PERUN_NONE;
    if (field == PERUN_AMOUNT && perun->units[*metric] == PERUN_NONE)
        perun->units[*metric] = item->unit;
    return 0;
}

/* metrics: the metric of each cell, cached for all rows of one item. */
static int add_row(struct perun *perun, const struct perun_walk *walk, uint32_t *metrics,
                   struct pf_error *error)
{
    const uint32_t unknown = PERUN_NONE - 1;
    uint32_t partition = perun->data.regions[walk->item.region].partition;
    for (size_t i = 0; i < walk->n_cells; i++) {
        const struct perun_value *value = &walk->cells[i].value;
        if (walk->number == walk->item.first)
            metrics[i] = unknown;
        if (value->cell.type == PF_ABSENT || value->cell.type == PF_TEXT)
            continue;
        if (metrics[i] == unknown && metric_of(perun, &walk->item, value->field, &metrics[i], error))
            return -1;
        if (metrics[i] != PERUN_NONE &&
            pf_sums_add(perun->sums, partition, walk->item.context, metrics[i], &value->cell, error))
            return -1;
    }
    return 0;
}

static int add_rows(struct perun *perun, struct pf_error *error)
{
    uint32_t metrics[2 * PERUN_VALUES_MAX] = {0};
    uint64_t rows = perun->data.n_rows;
    struct perun_walk walk;
    int more = 1;
    perun_walk_open(&walk, &perun->data);
    for (uint64_t row = 0; more > 0 && (more = perun_walk_to(&walk, row, error)) > 0; row++)
        if (add_row(perun, &walk, metrics, error) || perun_points_add(perun->points, &walk, error) ||
            (row % 8192 == 8191 && pf_pass_step(row, rows, error)))
            more = -1;
    perun_walk_close(&walk);
    return more;
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

int perun_load_model(struct pf_model *model, struct pf_error *error)
{
    struct perun *perun = model->state;
    perun->sums = pf_sums_new(model->options->cache, true);
    perun->keys = pf_strings_new();
    int failed = perun->sums && perun->keys ? perun_points_begin(perun, error) : pf_fail_memory(error);
    if (failed || add_rows(perun, error) || perun_points_finish(perun->points, error) ||
        pf_sums_finish(perun->sums, (uint32_t)pf_rows_count(model->partitions.items), perun->data.tree->count,
                       error) ||
        describe_metrics(perun, error) || pf_notes_publish(&perun->data.notes, model, error)) {
        perun_drop_model(perun);
        return -1;
    }
    model->contexts = perun->data.tree;
    model->metrics = perun->metrics;
    model->n_metrics = pf_strings_count(perun->keys);
    return 0;
}
