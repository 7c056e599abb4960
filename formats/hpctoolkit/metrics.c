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
    /* The pool NUL-terminates each string. */
    return id == PF_NO_STRING ? NULL : pf_interned(state->strings, id).text;
}

/* ---- names and units ------------------------------------------------------------------------------ */

/*
 * Extracts the unit from the brackets at the end of a metric's name: `sec` in `CPUTIME (sec) (I)` and in its statistic
 * `CPUTIME (sec):Mean (I)`. experiment.xml appends suffixes such as `:PARTIAL:0` or `:Sum` to the measured metric's
 * name; a coefficient of variation has no unit. "" if there is none; NULL with *error filled.
 */
static const char *unit_of(struct hpc_state *state, const char *name, struct pf_error *error)
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
            return hpc_keep(state, open + 1, inside, error);
        const char *colon = memrchr(name, ':', size);
        if (!colon || (name + size == colon + 6 && !memcmp(colon, ":CfVar", 6)))
            return "";
        size = (size_t)(colon - name);
    }
}

int hpc_take_name(struct pf_strings *names, const char *name, size_t size, uint32_t *number,
                  struct pf_error *error)
{
    uint32_t before = pf_strings_count(names);
    *number = pf_intern(names, name, size, error);
    return *number == PF_NO_STRING ? -1 : pf_strings_count(names) > before;
}

/*
 * Makes a unique name: `NAME`, `NAME (SUFFIX)` if there is a suffix, `NAME (SUFFIX) (ID)` if that is taken. An empty
 * NAME becomes `metric ID`. NULL with *error filled.
 */
static const char *unique_name(struct pf_strings *names, const struct hpc_metric_facts *facts,
                               struct pf_error *error)
{
    uint32_t number = PF_NO_STRING;
    char *name, id[64];
    snprintf(id, sizeof id, "metric %" PRId64, facts->id);
    int got = 0,
        length = asprintf(&name, "%s%s%s%s%*s", *facts->name ? facts->name : id, facts->suffix ? " (" : "",
                          facts->suffix ? facts->suffix : "", facts->suffix ? ")" : "", (int)sizeof id, "");
    if (length < 0) {
        pf_fail_memory(error);
        return NULL;
    }
    char *behind = name + length - sizeof id;
    *behind = 0;
    for (unsigned i = 0; !(got = hpc_take_name(names, name, strlen(name), &number, error)); i++)
        snprintf(behind, sizeof id, i ? " (%" PRId64 ") (%u)" : " (%" PRId64 ")", facts->id, i);
    free(name);
    return got < 0 ? NULL : pf_interned(names, number).text;
}

/*
 * Registers id and name of the metric at index `number`, and determines its unit. Returns 1; 0 if the id is taken; -1
 * with *error filled.
 */
static int take(struct hpc_state *state, struct hpc_taken *taken, size_t number,
                const struct hpc_metric_facts *facts, const char **name, const char **unit,
                struct pf_error *error)
{
    if (!taken->names && !(taken->names = pf_strings_new()))
        return pf_fail_memory(error);
    int added = pf_ids_add(&taken->ids, (uint64_t)facts->id, (uint32_t)number, error);
    if (added <= 0)
        return added;
    *name = unique_name(taken->names, facts, error);
    *unit = unit_of(state, facts->name, error);
    return *name && *unit ? 1 : -1;
}

/* ---- metrics of the threads ------------------------------------------------------------------------ */

/*
 * How the scopes aggregate. Values of points are disjoint. An exclusive value of a frame includes its loops, lines and
 * instructions, so only frames add up. An inclusive value includes all descendants, so only roots add up. Other scopes
 * are specific to the tool and do not add up.
 */
static const char of_exclusive[] = "cost of the context and what it holds, without what it calls";
static const char of_inclusive[] = "cost of the context and all below it, calls included";

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

int hpc_add_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, struct pf_error *error)
{
    struct hpc_metrics *metrics = &state->metrics;
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
    if (pf_array_room(&metrics->items, &metrics->room, metrics->count, sizeof metric, error))
        return -1;
    int taken = take(state, &metrics->taken, metrics->count, facts, &metric.name, &metric.unit, error);
    if (taken <= 0)
        return taken;
    metrics->items[metrics->count++] = metric;
    return 1;
}

/* ---- metrics of the summary ------------------------------------------------------------------------ */

int hpc_add_summary_metric(struct hpc_state *state, const struct hpc_metric_facts *facts, const char *formula,
                           const char *combine, struct pf_error *error)
{
    struct hpc_summary_metrics *metrics = &state->summary_metrics;
    const char *name = "", *unit = "";
    if (!metrics->rows && !(metrics->rows = pf_rows_new(HPC_SUMMARY_COLUMNS)))
        return pf_fail_memory(error);
    int taken = take(state, &metrics->taken, pf_rows_count(metrics->rows), facts, &name, &unit, error);
    if (taken <= 0)
        return taken;
    struct pf_cell cells[HPC_SUMMARY_COLUMNS] = {
        [HPC_SUMMARY_ID] = pf_int(facts->id),
        [HPC_SUMMARY_NAME] = pf_string(name),
        [HPC_SUMMARY_UNIT] = pf_string(unit),
        [HPC_SUMMARY_SCOPE] = pf_string(facts->scope),
        [HPC_SUMMARY_FORMULA] = pf_string(formula),
        [HPC_SUMMARY_COMBINE] = pf_string(combine),
        [HPC_SUMMARY_DESCRIPTION] = pf_string(facts->description),
    };
    return pf_rows_add(metrics->rows, cells, error) ? -1 : 1;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

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
