/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/hpctoolkit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

uint32_t hpc_intern(struct pf_strings *strings, const char *text, size_t size, struct pf_error *error)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0, out = 0, wrong, length = 1;
    while (at < size && (length = pf_utf8(bytes + at, size - at, &wrong)))
        at += length;
    if (length)
        return pf_intern(strings, text, size, error);
    char *mended = size <= SIZE_MAX / 3 ? malloc(size * 3) : NULL;
    if (!mended) {
        pf_fail_memory(error);
        return PF_NO_STRING;
    }
    for (at = 0; at < size; at += length ? length : 1) {
        length = pf_utf8(bytes + at, size - at, &wrong);
        memcpy(mended + out, length ? text + at : "\xef\xbf\xbd", length ? length : 3);
        out += length ? length : 3;
    }
    uint32_t id = pf_intern(strings, mended, out, error);
    free(mended);
    return id;
}

const char *hpc_keep(struct hpc_state *state, const char *text, size_t size, struct pf_error *error)
{
    uint32_t id = hpc_intern(state->strings, text, size, error);
    /* The pool pads each string with zeros. */
    return id == PF_NO_STRING ? NULL : pf_interned(state->strings, id).text;
}

/* ---- names and units ------------------------------------------------------------------------------ */

/* Where the last bracket of a name opens, if it ends with one that has something in it; else NULL. */
static const char *last_bracket(const char *name, size_t size)
{
    if (size < 3 || name[size - 1] != ')')
        return NULL;
    const char *open = memrchr(name, '(', size - 1);
    return open && open + 1 < name + size - 1 ? open : NULL;
}

static bool is_suffix(const char *open, const char *end)
{
    size_t size = (size_t)(end - open);
    return size == 3 && (open[1] == 'I' || open[1] == 'E');
}

/*
 * How much of a name is that of what was measured, if it is a statistic's: experiment.xml puts `:PARTIAL:0`, `:Sum` and so
 * on behind it. A coefficient of variation has no unit: 0.
 */
static size_t without_statistic(const char *name, size_t size)
{
    const char *colon = memrchr(name, ':', size);
    if (!colon)
        return 0;
    size_t word = size - (size_t)(colon + 1 - name);
    return word == 5 && !memcmp(colon + 1, "CfVar", word) ? 0 : (size_t)(colon - name);
}

/*
 * The unit that a metric's name ends with, in brackets: of `CPUTIME (sec) (I)` and of its statistic `CPUTIME (sec):Mean (I)` it
 * is `sec`. "" if there is none; NULL with *error filled.
 */
static const char *unit_of(struct hpc_state *state, const char *name, struct pf_error *error)
{
    size_t size = strlen(name);
    const char *open = last_bracket(name, size);
    if (open && is_suffix(open, name + size)) {
        size = (size_t)(open - name);
        while (size && name[size - 1] == ' ')
            size--;
        open = last_bracket(name, size);
    }
    while (!open && (size = without_statistic(name, size)))
        open = last_bracket(name, size);
    return open ? hpc_keep(state, open + 1, (size_t)(name + size - open) - 2, error) : "";
}

/* Takes a name for metric number `number` unless another has it. 1: taken; 0: it is another's; -1: error. */
static int take_name(struct hpc_state *state, struct hpc_idmap *names, const char *name, uint32_t number,
                     const char **taken, struct pf_error *error)
{
    uint32_t id = pf_intern(state->strings, name, strlen(name), error);
    if (id == PF_NO_STRING)
        return -1;
    int added = hpc_idmap_add(names, id, number, error);
    if (added > 0)
        *taken = pf_interned(state->strings, id).text;
    return added;
}

/*
 * `NAME`, `NAME (SUFFIX)` if it has one, `NAME (SUFFIX) (ID)` if that is another's; `metric ID` is the NAME of one without.
 * NULL: *error filled.
 */
static const char *unique_name(struct hpc_state *state, struct hpc_idmap *names, uint32_t number,
                               const struct hpc_metric_facts *facts, struct pf_error *error)
{
    const char *taken = NULL;
    size_t room = strlen(facts->name) + (facts->suffix ? strlen(facts->suffix) : 0) + 64;
    char *name = malloc(room);
    if (!name) {
        pf_fail_memory(error);
        return NULL;
    }
    int length = *facts->name ? snprintf(name, room, "%s", facts->name)
                              : snprintf(name, room, "metric %" PRId64, facts->id);
    if (facts->suffix)
        length += snprintf(name + length, room - (size_t)length, " (%s)", facts->suffix);
    int got = take_name(state, names, name, number, &taken, error);
    for (unsigned i = 0; !got; i++) {
        snprintf(name + length, room - (size_t)length, i ? " (%" PRId64 ") (%u)" : " (%" PRId64 ")",
                 facts->id, i);
        got = take_name(state, names, name, number, &taken, error);
    }
    free(name);
    return taken;
}

/* ---- metrics of the threads ------------------------------------------------------------------------ */

/*
 * Points are told apart wherever they are; an exclusive value of a frame holds its loops, lines and instructions, so
 * that frames alone add up; an inclusive one all that is below it. The rest is the tool's own affair.
 */
static void set_sums(struct pf_metric *metric)
{
    const char *scope = metric->scope;
    metric->over_partitions = PF_SUM;
    if (!strcmp(scope, "point")) {
        metric->over_contexts = PF_OVER_ALL;
    } else if (!strcmp(scope, "function") || !strcmp(scope, "exclusive")) {
        metric->over_contexts = PF_OVER_FRAMES;
    } else if (!strcmp(scope, "execution") || !strcmp(scope, "inclusive")) {
        metric->over_contexts = PF_OVER_ROOTS;
    } else {
        metric->over_contexts = PF_OVER_NO_CONTEXTS;
        metric->over_partitions = PF_OVER_NO_PARTITIONS;
    }
}

static const char *describe(const char *scope)
{
    if (!strcmp(scope, "point"))
        return "cost of exactly this place in the code, in this calling context";
    if (!strcmp(scope, "function") || !strcmp(scope, "exclusive"))
        return "cost of the context and what it holds, without what it calls";
    if (!strcmp(scope, "execution") || !strcmp(scope, "inclusive"))
        return "cost of the context and all below it, calls included";
    if (!strcmp(scope, "lex_aware"))
        return "as function, but at loops and lines with a part of what they call; does not add up";
    return "";
}

int hpc_add_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, struct pf_error *error)
{
    struct hpc_metrics *metrics = &state->metrics;
    if (pf_array_room(&metrics->items, &metrics->room, metrics->count, sizeof *metrics->items, error))
        return -1;
    int added = hpc_idmap_add(&metrics->ids, (uint64_t)facts->id, (uint32_t)metrics->count, error);
    if (added <= 0)
        return added;
    struct pf_metric metric = {
        .id = facts->id,
        .name = unique_name(state, &metrics->names, (uint32_t)metrics->count, facts, error),
        .unit = unit_of(state, facts->name, error),
        .scope = facts->scope,
        .type = "double",
        .description = facts->description ? facts->description : describe(facts->scope),
        .partner = PF_NO_PARTNER,
    };
    if (!metric.name || !metric.unit)
        return -1;
    set_sums(&metric);
    metrics->items[metrics->count++] = metric;
    return 1;
}

void hpc_pair_metrics(struct hpc_state *state, size_t exclusive, size_t inclusive, bool both)
{
    state->metrics.items[exclusive].partner = (int)inclusive;
    if (both)
        state->metrics.items[inclusive].partner = (int)exclusive;
}

int hpc_set_column(struct hpc_state *state, uint32_t column, struct pf_error *error)
{
    struct hpc_by_id *columns = &state->columns;
    if (column >= columns->count) {
        uint32_t *index = realloc(columns->index, (column + 1) * sizeof *index);
        if (!index)
            return pf_fail_memory(error);
        columns->index = index;
        while (columns->count <= column)
            index[columns->count++] = HPC_NO_NUMBER;
    }
    columns->index[column] = (uint32_t)state->metrics.count - 1;
    return 0;
}

/* ---- metrics of the summary ------------------------------------------------------------------------ */

const struct pf_column hpc_summary_metric_columns[HPC_SUMMARY_METRIC_COLUMNS] = {
    {"id", PF_PLAIN, 0},      {"name", PF_PLAIN, 0},    {"unit", PF_PLAIN, 0},        {"scope", PF_PLAIN, 0},
    {"formula", PF_PLAIN, 0}, {"combine", PF_PLAIN, 0}, {"description", PF_PLAIN, 0},
};

int hpc_add_summary_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, const char *formula,
                           const char *combine, bool computed, struct pf_error *error)
{
    struct hpc_summary_metrics *metrics = &state->summary_metrics;
    if (pf_array_room(&metrics->items, &metrics->room, metrics->count, sizeof *metrics->items, error))
        return -1;
    if (!metrics->rows && !(metrics->rows = pf_rows_new(HPC_SUMMARY_METRIC_COLUMNS)))
        return pf_fail_memory(error);
    int added = hpc_idmap_add(&metrics->ids, (uint64_t)facts->id, (uint32_t)metrics->count, error);
    if (added <= 0)
        return added;
    const char *name = unique_name(state, &metrics->names, (uint32_t)metrics->count, facts, error);
    const char *unit = unit_of(state, facts->name, error);
    if (!name || !unit)
        return -1;
    struct pf_cell cells[HPC_SUMMARY_METRIC_COLUMNS] = {pf_int(facts->id),
                                                        pf_string(name),
                                                        pf_string(unit),
                                                        pf_string(facts->scope),
                                                        pf_string(formula),
                                                        pf_string(combine),
                                                        pf_string(facts->description)};
    if (pf_rows_add(metrics->rows, cells, error))
        return -1;
    metrics->items[metrics->count++] = (struct hpc_summary_metric){
        .id = facts->id, .name = name, .formula = computed && formula ? hpc_formula_new(formula) : NULL};
    return 1;
}

/* ---- by id ------------------------------------------------------------------------------------------ */

enum { IDS = 1 << 16 };

static int index_ids(const struct hpc_idmap *ids, struct hpc_by_id *by_id, struct pf_error *error)
{
    for (uint32_t id = 0; id < IDS && id <= ids->largest; id++)
        if (hpc_idmap_find(ids, id) != HPC_NO_NUMBER)
            by_id->count = id + 1;
    by_id->index = malloc((by_id->count + 1) * sizeof *by_id->index);
    if (!by_id->index)
        return pf_fail_memory(error);
    for (uint32_t id = 0; id < by_id->count; id++)
        by_id->index[id] = hpc_idmap_find(ids, id);
    return 0;
}

int hpc_metrics_finish(struct hpc_state *state, struct pf_error *error)
{
    return index_ids(&state->metrics.ids, &state->metrics.by_id, error) ||
                   index_ids(&state->summary_metrics.ids, &state->summary_metrics.by_id, error)
               ? -1
               : 0;
}

void hpc_metrics_free(struct hpc_state *state)
{
    free(state->metrics.by_id.index);
    free(state->columns.index);
    free(state->summary_metrics.by_id.index);
    free(state->metrics.items);
    hpc_idmap_free(&state->metrics.ids);
    hpc_idmap_free(&state->metrics.names);
    for (size_t i = 0; i < state->summary_metrics.count; i++)
        hpc_formula_free(state->summary_metrics.items[i].formula);
    free(state->summary_metrics.items);
    hpc_idmap_free(&state->summary_metrics.ids);
    hpc_idmap_free(&state->summary_metrics.names);
    pf_rows_free(state->summary_metrics.rows);
}
