/* SPDX-License-Identifier: MIT */
/* What the metrics are: their names, units, and how they add up. */
#include <stdio.h>
#include <stdlib.h>

#include "formats/kit/array.h"
#include "formats/perun/perun.h"

/* As many metrics as there may be; values of further ones are in resources.csv alone. */
enum { METRICS_MAX = 10000 };

/* ---- telling apart ------------------------------------------------------------------------------ */

static bool is_metric(const void *of, uint32_t i, const void *key)
{
    const struct perun_metric *a = &((const struct perun_metric *)of)[i], *b = key;
    return a->type == b->type && a->subtype == b->subtype && a->field == b->field;
}

int perun_metric_of(struct perun_metrics *metrics, uint32_t type, uint32_t subtype, uint32_t field,
                    uint32_t *index, struct pf_error *error)
{
    const struct perun_metric key = {type, subtype, field, PERUN_NONE};
    uint64_t hash = pf_siphash(field, (uint32_t[]){type, subtype}, 2 * sizeof type);
    int64_t found = pf_hash_find(&metrics->table, hash, is_metric, metrics->list, &key);
    *index = found == PF_NOT_THERE ? PERUN_NONE : (uint32_t)found;
    metrics->full |= found == PF_NOT_THERE && metrics->count == METRICS_MAX;
    if (found != PF_NOT_THERE || metrics->count == METRICS_MAX)
        return 0;
    if (pf_array_room(&metrics->list, &metrics->room, metrics->count, sizeof *metrics->list, error) ||
        pf_hash_add(&metrics->table, hash, metrics->count, error))
        return -1;
    metrics->list[metrics->count] = key;
    *index = metrics->count++;
    return 0;
}

/* ---- names and units ---------------------------------------------------------------------------- */

/* The empty text for none. */
static struct pf_cell string_of(const struct perun *perun, uint32_t string)
{
    return string == PERUN_NONE ? pf_text("", 0) : perun_string_cell(perun->data, string);
}

static bool is_word(struct pf_cell text, const char *word)
{
    return text.type == PF_TEXT && text.size == strlen(word) && !memcmp(text.text, word, text.size);
}

const char *perun_name(struct perun *perun, const char *text, size_t size, struct pf_error *error)
{
    char *copy = strndup(text, size); /* a NUL inside it ends it */
    uint32_t string = copy ? pf_intern(perun->names, copy, strlen(copy) + 1, error) : PF_NO_STRING;
    if (!copy)
        pf_fail_memory(error);
    free(copy);
    return string == PF_NO_STRING ? NULL : pf_interned(perun->names, string).text;
}

/* Equal names are kept once. */
static bool is_taken(const struct perun *perun, uint32_t before, const char *name)
{
    for (uint32_t i = 0; i < before; i++)
        if (perun->metrics[i].name == name)
            return true;
    return false;
}

/* type(subtype).field; what there is none of is left out. A type may look like another's subtype: then a number. */
static const char *name_of(struct perun *perun, uint32_t i, struct pf_error *error)
{
    const struct perun_metric *key = &perun->keys.list[i];
    struct pf_cell type = string_of(perun, key->type), subtype = string_of(perun, key->subtype),
                   field = pf_interned(perun->data->fields, key->field);
    struct perun_text name = {0};
    bool named = type.size || subtype.size, inner = subtype.size;
    const char *kept = NULL;
    if (!perun_add_cell(&name, &type, error) && !perun_add(&name, "(", inner, error) &&
        !perun_add_cell(&name, &subtype, error) && !perun_add(&name, ")", inner, error) &&
        !perun_add(&name, ".", named, error) && !perun_add_cell(&name, &field, error))
        kept = perun_name(perun, name.at, name.size, error);
    if (kept && is_taken(perun, i, kept)) {
        char number[16];
        int size = snprintf(number, sizeof number, " #%u", i);
        kept = perun_add(&name, number, (size_t)size, error) ? NULL
                                                             : perun_name(perun, name.at, name.size, error);
    }
    perun_text_free(&name);
    return kept;
}

static struct pf_cell unit_named(const struct perun *perun, const char *format, struct pf_cell a,
                                 struct pf_cell b)
{
    char key[300];
    int size = snprintf(key, sizeof key, format, (int)a.size, a.text, (int)b.size, b.text);
    return size < (int)sizeof key ? perun_property(perun->data, key) : pf_absent();
}

/* header.units by type(subtype), type (subtype), subtype, type, header.type. */
static const char *unit_of(struct perun *perun, const struct perun_metric *key, struct pf_error *error)
{
    struct pf_cell type = string_of(perun, key->type), subtype = string_of(perun, key->subtype);
    struct pf_cell none = pf_text("", 0), header = string_of(perun, perun->header_type), found = pf_absent();
    uint32_t field = key->field;
    /* Units are of amounts; of the other fields only the one that is a part of the amount has the same. */
    if (field != PERUN_AMOUNT && field != PERUN_EXCLUSIVE)
        return "";
    if (subtype.size)
        found = unit_named(perun, "header.units.%.*s(%.*s)", type, subtype);
    if (found.type == PF_ABSENT && subtype.size)
        found = unit_named(perun, "header.units.%.*s (%.*s)", type, subtype);
    if (found.type == PF_ABSENT && subtype.size)
        found = unit_named(perun, "header.units.%.*s%.*s", subtype, none);
    if (found.type == PF_ABSENT && type.size)
        found = unit_named(perun, "header.units.%.*s%.*s", type, none);
    if (found.type == PF_ABSENT && header.size)
        found = unit_named(perun, "header.units.%.*s%.*s", header, none);
    if (found.type != PF_TEXT && key->unit == PERUN_NONE)
        return "";
    if (found.type != PF_TEXT)
        found = string_of(perun, key->unit);
    return perun_name(perun, found.text, found.size, error);
}

/* ---- how they add up ---------------------------------------------------------------------------- */

static uint32_t find(const struct perun *perun, const struct perun_metric *key, const char *subtype,
                     uint32_t field)
{
    for (uint32_t i = 0; i < perun->keys.count; i++) {
        const struct perun_metric *other = &perun->keys.list[i];
        bool same =
            subtype ? is_word(string_of(perun, other->subtype), subtype) : other->subtype == key->subtype;
        if (other->type == key->type && other->field == field && same)
            return i;
    }
    return PERUN_NONE;
}

static void set(struct pf_metric *metric, const char *scope, enum pf_over_contexts contexts, uint32_t partner)
{
    metric->scope = scope;
    metric->over_contexts = contexts;
    metric->partner = partner == PERUN_NONE ? PF_NO_PARTNER : (int)partner;
}

/* What `time` measures of a command are clocks of one interval (real, user, sys), which are no parts of a whole. */
static bool is_of_clocks(const struct perun *perun, struct pf_cell type, struct pf_cell subtype)
{
    struct pf_cell name = perun_property(perun->data, "collector_info.name");
    if (name.type != PF_TEXT)
        name = perun_property(perun->data, "collector.name");
    return is_word(type, "time") && !subtype.size && name.type == PF_TEXT && is_word(name, "time");
}

/*
 * Allocations and samples belong to where they stand. Durations of calls are inclusive and stand in a list of functions, not
 * in a tree, so that each function is a root: where the file has exclusive ones too, these make the total; else there is
 * none, as for any other field. What an unknown collector measures in snapshots (massif) is a level, which does not add up
 * over these.
 */
static void set_sums(const struct perun *perun, const struct perun_metric *key, struct pf_metric *metric)
{
    struct pf_cell type = string_of(perun, key->type), subtype = string_of(perun, key->subtype);
    bool amount = key->field == PERUN_AMOUNT, level = is_word(type, "memory") && !subtype.size;
    uint32_t exclusive = amount ? find(perun, key, NULL, PERUN_EXCLUSIVE) : PERUN_NONE;
    metric->over_partitions = level ? PF_MAX : PF_SUM;
    if (key->field == PERUN_EXCLUSIVE)
        set(metric, "exclusive", PF_OVER_ALL, find(perun, key, NULL, PERUN_AMOUNT));
    else if (amount && is_word(subtype, "inclusive"))
        set(metric, "inclusive", PF_OVER_ROOTS, find(perun, key, "exclusive", PERUN_AMOUNT));
    else if (amount && is_word(subtype, "exclusive"))
        set(metric, "exclusive", PF_OVER_ALL, find(perun, key, "inclusive", PERUN_AMOUNT));
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

int perun_describe_metrics(struct perun *perun, struct pf_error *error)
{
    perun->metrics = calloc(perun->keys.count + 1, sizeof *perun->metrics);
    if (!perun->metrics)
        return pf_fail_memory(error);
    for (uint32_t i = 0; i < perun->keys.count; i++) {
        struct pf_metric *metric = &perun->metrics[i];
        const struct perun_metric *key = &perun->keys.list[i];
        *metric = (struct pf_metric){.id = i, .type = "double", .description = ""};
        metric->name = name_of(perun, i, error);
        metric->unit = metric->name ? unit_of(perun, key, error) : NULL;
        if (!metric->unit)
            return -1;
        set_sums(perun, key, metric);
    }
    return 0;
}
