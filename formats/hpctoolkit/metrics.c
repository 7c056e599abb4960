/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/hpctoolkit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/kit/utf8.h"

uint32_t hpc_intern(struct pf_run *run, struct pf_strings *strings, const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0, out = 0, wrong, length = 1;
    while (at < size && (length = pf_utf8(bytes + at, size - at, &wrong)))
        at += length;
    if (length)
        return pf_run_intern(run, strings, text, size);
    char *mended = pf_run_memory(run, size <= SIZE_MAX / 3 ? malloc(size * 3) : NULL);
    for (at = 0; at < size; at += length ? length : 1) {
        length = pf_utf8(bytes + at, size - at, &wrong);
        memcpy(mended + out, length ? text + at : "\xef\xbf\xbd", length ? length : 3);
        out += length ? length : 3;
    }
    uint32_t id = pf_intern(strings, mended, out, run->error);
    free(mended);
    pf_run_check(run, id == PF_NO_STRING ? -1 : 0);
    return id;
}

const char *hpc_keep(struct pf_run *run, const char *text, size_t size)
{
    struct pf_strings *strings = hpc_state(run->model)->strings;
    /* The pool NUL-terminates each string. */
    return pf_interned(strings, hpc_intern(run, strings, text, size)).text;
}

/* ---- names and units ------------------------------------------------------------------------------ */

/*
 * Returns the unit in the brackets at the end of a metric's name: `sec` for `CPUTIME (sec) (I)`. The name of a
 * statistic in experiment.xml is the measured metric's name with a suffix such as `:PARTIAL:0` or `:Sum`, so the unit
 * of `CPUTIME (sec):Mean (I)` is `sec` too. A coefficient of variation has no unit. Returns "" if there is no unit.
 */
static const char *unit_in_name(struct pf_run *run, const char *name)
{
    size_t size = strlen(name);
    for (bool suffix = true;; suffix = false) {
        const char *open = size > 2 && name[size - 1] == ')' ? memrchr(name, '(', size - 1) : NULL;
        size_t inside = open ? (size_t)(name + size - open) - 2 : 0;
        if (suffix && inside == 1 && (open[1] == 'I' || open[1] == 'E')) {
            size = (size_t)(open - name);
            while (size && name[size - 1] == ' ')
                size--;
            continue;
        }
        if (inside)
            return hpc_keep(run, open + 1, inside);
        const char *colon = memrchr(name, ':', size);
        if (!colon || (name + size == colon + 6 && !memcmp(colon, ":CfVar", 6)))
            return "";
        size = (size_t)(colon - name);
    }
}

bool hpc_take_name(struct pf_run *run, struct pf_strings *names, const char *name, size_t size)
{
    uint32_t before = pf_strings_count(names);
    return pf_run_intern(run, names, name, size) == before;
}

/*
 * Makes a unique name from the metric's NAME, or from `metric ID` if NAME is empty. Appends ` (SUFFIX)` if there is a
 * suffix. If the result is taken, appends ` (ID)`, and if that is taken too, a number.
 */
static const char *unique_metric_name(struct pf_run *run, struct pf_strings *names,
                                      const struct hpc_metric_facts *facts)
{
    /* NAME and SUFFIX have up to HPC_NAME_MAX bytes in the file. hpc_keep may have replaced each byte by three. */
    char name[6 * HPC_NAME_MAX + 128], id[64];
    snprintf(id, sizeof id, "metric %" PRId64, facts->id);
    int size = snprintf(name, sizeof name, facts->suffix ? "%s (%s)" : "%s", *facts->name ? facts->name : id,
                        facts->suffix);
    for (unsigned i = 0; !hpc_take_name(run, names, name, strlen(name)); i++)
        snprintf(name + size, sizeof name - (size_t)size, i ? " (%" PRId64 ") (%u)" : " (%" PRId64 ")",
                 facts->id, i);
    return pf_interned(names, pf_strings_count(names) - 1).text;
}

/* Registers id and name of the metric at index `number`, and determines its unit. Returns false if the id is taken. */
static bool register_metric(struct pf_run *run, struct hpc_taken *taken, size_t number,
                            const struct hpc_metric_facts *facts, const char **name, const char **unit)
{
    if (!taken->names)
        taken->names = pf_run_memory(run, pf_strings_new());
    if (!pf_run_check(run, pf_ids_add(&taken->ids, (uint64_t)facts->id, (uint32_t)number, run->error)))
        return false;
    *name = unique_metric_name(run, taken->names, facts);
    *unit = unit_in_name(run, facts->name);
    return true;
}

/* ---- metrics of the threads ------------------------------------------------------------------------ */

static const char of_exclusive[] = "cost of the context and what it holds, without what it calls";
static const char of_inclusive[] = "cost of the context and all below it, calls included";

/*
 * The scopes of metrics, and the contexts whose values add up to a total. Values of the scope `point` are disjoint, so those
 * of all contexts add up. An exclusive value of a frame includes its loops, lines and instructions, so only frames add up.
 * An inclusive value includes all descendants, so only roots add up. Other scopes are specific to the tool: none add up.
 */
static const struct scope {
    const char *name, *description;
    enum pf_over_contexts over_contexts;
    enum pf_over_partitions over_partitions;
} scopes[] = {
    {"point", "cost of exactly this place in the code, in this calling context", PF_OVER_ALL, PF_SUM},
    {"function", of_exclusive, PF_OVER_FRAMES, PF_SUM},
    {"exclusive", of_exclusive, PF_OVER_FRAMES, PF_SUM},
    {"execution", of_inclusive, PF_OVER_ROOTS, PF_SUM},
    {"inclusive", of_inclusive, PF_OVER_ROOTS, PF_SUM},
    {"lex_aware", "as function, but at loops and lines with a part of what they call; does not add up",
     PF_OVER_NO_CONTEXTS, PF_OVER_NO_PARTITIONS},
    {NULL, "", PF_OVER_NO_CONTEXTS, PF_OVER_NO_PARTITIONS}, /* any other scope */
};

bool hpc_add_metric(struct pf_run *run, const struct hpc_metric_facts *facts)
{
    struct hpc_metrics *metrics = &hpc_state(run->model)->metrics;
    const struct scope *scope = scopes;
    while (scope->name && strcmp(scope->name, facts->scope) != 0)
        scope++;
    struct pf_metric metric = {
        .id = facts->id,
        .scope = facts->scope,
        .type = "double",
        .description = facts->description ? facts->description : scope->description,
        .over_contexts = scope->over_contexts,
        .over_partitions = scope->over_partitions,
        .partner = PF_NO_PARTNER,
    };
    pf_run_check(run,
                 pf_array_room(&metrics->items, &metrics->room, metrics->count, sizeof metric, run->error));
    if (!register_metric(run, &metrics->taken, metrics->count, facts, &metric.name, &metric.unit))
        return false;
    metrics->items[metrics->count++] = metric;
    return true;
}

/* ---- metrics of the summary ------------------------------------------------------------------------ */

bool hpc_add_summary_metric(struct pf_run *run, const struct hpc_metric_facts *facts, const char *formula,
                            const char *combine)
{
    struct hpc_summary_metrics *metrics = &hpc_state(run->model)->summary_metrics;
    const char *name, *unit;
    if (!metrics->rows)
        metrics->rows = pf_run_memory(run, pf_rows_new(HPC_SUMMARY_COLUMNS));
    if (!register_metric(run, &metrics->taken, pf_rows_count(metrics->rows), facts, &name, &unit))
        return false;
    struct pf_cell cells[HPC_SUMMARY_COLUMNS] = {
        [HPC_SUMMARY_ID] = pf_int(facts->id),
        [HPC_SUMMARY_NAME] = pf_string(name),
        [HPC_SUMMARY_UNIT] = pf_string(unit),
        [HPC_SUMMARY_SCOPE] = pf_string(facts->scope),
        [HPC_SUMMARY_FORMULA] = pf_string(formula),
        [HPC_SUMMARY_COMBINE] = pf_string(combine),
        [HPC_SUMMARY_DESCRIPTION] = pf_string(facts->description),
    };
    pf_run_check(run, pf_rows_add(metrics->rows, cells, run->error));
    return true;
}

/* ---- freeing ---------------------------------------------------------------------------------------- */

static void free_taken(struct hpc_taken *taken)
{
    pf_ids_free(&taken->ids);
    pf_strings_free(taken->names);
}

void hpc_metrics_free(struct hpc_state *state)
{
    free_taken(&state->metrics.taken);
    free_taken(&state->summary_metrics.taken);
    pf_ids_free(&state->columns);
    free(state->metrics.items);
    pf_rows_free(state->summary_metrics.rows);
}
