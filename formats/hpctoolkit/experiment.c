/* SPDX-License-Identifier: MIT */
#include "formats/hpctoolkit/experiment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/experiment_xml.h"
#include "formats/hpctoolkit/memory.h"
#include "formats/hpctoolkit/metrics.h"

/* What opening needs stands in the first bytes; the table of modules follows it. */
#define HEAD_MAX ((uint64_t)1 << 20)

enum { KINDS_MAX = 256, NAME_LIMIT = 1024 };

/* ---- what the readers share ---------------------------------------------------------------------------- */

enum hpc_element hpc_element(const char *name)
{
    static const char *const names[HPC_X_ELEMENTS] = {
        [HPC_X_EXPERIMENT] = "HPCToolkitExperiment",
        [HPC_X_PATH_PROFILE] = "SecCallPathProfile",
        [HPC_X_IDENTIFIER] = "Identifier",
        [HPC_X_METRIC] = "Metric",
        [HPC_X_FORMULA] = "MetricFormula",
        [HPC_X_METRIC_DB] = "MetricDB",
        [HPC_X_TRACE_DB] = "TraceDB",
        [HPC_X_MODULES] = "LoadModuleTable",
        [HPC_X_MODULE] = "LoadModule",
        [HPC_X_FILE] = "File",
        [HPC_X_PROCEDURE] = "Procedure",
        [HPC_X_DATA] = "SecCallPathProfileData",
        [HPC_X_PF] = "PF",
        [HPC_X_PR] = "Pr",
        [HPC_X_C] = "C",
        [HPC_X_L] = "L",
        [HPC_X_S] = "S",
        [HPC_X_M] = "M",
    };
    /* The frequent ones first: they are the last in the list. */
    for (int i = HPC_X_ELEMENTS - 1; i > HPC_X_OTHER; i--)
        if (*name == *names[i] && !strcmp(name, names[i]))
            return (enum hpc_element)i;
    return HPC_X_OTHER;
}

bool hpc_number(const struct pf_xml *xml, const char *name, int64_t *value)
{
    const char *at = pf_xml_attribute(xml, name);
    uint64_t number = 0;
    if (!at)
        return false;
    bool negative = *at == '-';
    at += negative;
    unsigned base = at[0] == '0' && at[1] == 'x' && at[2] ? 16 : 10;
    at += base == 16 ? 2 : 0;
    if (!*at)
        return false;
    for (; *at; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a' + 10)
                                                    : 16;
        if (digit >= base || __builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return false;
    }
    *value = negative ? (int64_t)-number : (int64_t)number;
    return true;
}

ssize_t hpc_read_description(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct hpc_description *description = arg;
    if (offset >= description->end)
        return 0;
    if (size > description->end - offset)
        size = (size_t)(description->end - offset);
    return pf_input_read(description->input, buffer, size, offset, error);
}

/* ---- probing ------------------------------------------------------------------------------------------- */

const char *hpc_experiment_version(char *head)
{
    char *root = strstr(head, "<HPCToolkitExperiment"), *end = root ? strchr(root, '>') : NULL;
    if (!end)
        return NULL;
    *end = 0;
    char *version = strstr(root, "version=\"");
    if (!version)
        return NULL;
    version += strlen("version=\"");
    end = strchr(version, '"');
    if (!end || end == version)
        return NULL;
    *end = 0;
    return version;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* A metric of the summary while its element is open. */
struct pending {
    bool open;
    struct hpc_metric_facts facts;
    const char *combine, *view; /* formulas */
};

struct reading {
    struct hpc_state *state;
    struct pf_profile *profile;
    struct pf_xml *xml;
    bool root, complete;
    struct pending pending;
};

/* The value of an attribute, kept; "" if there is none. NULL with *error filled. */
static const char *keep(struct reading *reading, const char *name, struct pf_error *error)
{
    const char *value = pf_xml_attribute(reading->xml, name);
    return value ? hpc_keep(reading->state, value, strnlen(value, NAME_LIMIT), error) : "";
}

static int read_root(struct reading *reading, struct pf_error *error)
{
    const char *version = keep(reading, "version", error);
    if (!version)
        return -1;
    reading->root = true;
    snprintf(reading->profile->version, sizeof reading->profile->version, "%s", version);
    if (!strncmp(version, "4.", 2))
        reading->state->layout = HPC_XML4;
    else if (!strncmp(version, "2.", 2))
        reading->state->layout = HPC_OLD;
    else
        return pf_fail_line(error, EINVAL, (int64_t)pf_xml_line(reading->xml),
                            "version %.20s of experiment.xml is not supported", version);
    return 0;
}

static int read_title(struct reading *reading, struct pf_error *error)
{
    const char *title = keep(reading, "n", error);
    struct pf_cell cells[] = {pf_string("Experiment"), pf_string(title)};
    return title ? pf_rows_add(reading->profile->info, cells, error) : -1;
}

static int read_identifier(struct reading *reading, struct pf_error *error)
{
    struct hpc_identifiers *identifiers = &reading->state->identifiers;
    int64_t i;
    if (!hpc_number(reading->xml, "i", &i) || i < 0 || i >= KINDS_MAX)
        return 0;
    if (!identifiers->names && !(identifiers->names = calloc(KINDS_MAX, sizeof *identifiers->names)))
        return hpc_fail_memory(error);
    identifiers->count = KINDS_MAX;
    identifiers->names[i] = keep(reading, "n", error);
    return identifiers->names[i] ? 0 : -1;
}

/* The end of a metric's element, or the beginning of the next one. */
static int add_pending(struct reading *reading, struct pf_error *error)
{
    struct pending *pending = &reading->pending;
    if (!pending->open)
        return 0;
    pending->open = false;
    bool stored = pending->combine || !pending->view || reading->state->layout == HPC_OLD;
    return hpc_add_summary_metric(reading->state, &pending->facts, pending->view, pending->combine, !stored,
                                  error) < 0
               ? -1
               : 0;
}

static int read_metric(struct reading *reading, struct pf_error *error)
{
    struct pending *pending = &reading->pending;
    if (add_pending(reading, error))
        return -1;
    *pending = (struct pending){0};
    if (!hpc_number(reading->xml, "i", &pending->facts.id))
        return 0;
    pending->facts.name = keep(reading, "n", error);
    pending->facts.scope = keep(reading, "t", error);
    pending->facts.description = keep(reading, "md", error);
    pending->open = true;
    return pending->facts.name && pending->facts.scope && pending->facts.description ? 0 : -1;
}

static int read_formula(struct reading *reading, struct pf_error *error)
{
    const char *type = pf_xml_attribute(reading->xml, "t");
    const char *formula = keep(reading, "frm", error);
    if (!formula)
        return -1;
    if (type && !strcmp(type, "combine"))
        reading->pending.combine = formula;
    else
        reading->pending.view = formula;
    return 0;
}

/* The scope of a metric of the threads is what its name ends with, or an attribute. */
static const char *scope_of(const char *name, const char *attribute)
{
    size_t size = strlen(name);
    if (*attribute)
        return attribute;
    if (size > 4 && !strcmp(name + size - 4, " (I)"))
        return "inclusive";
    return size > 4 && !strcmp(name + size - 4, " (E)") ? "exclusive" : "";
}

static int read_metric_db(struct reading *reading, struct pf_error *error)
{
    struct hpc_metric_facts facts = {.name = keep(reading, "n", error)};
    const char *type = keep(reading, "t", error);
    int64_t column;
    if (!facts.name || !type)
        return -1;
    facts.scope = scope_of(facts.name, type);
    /* In files of 2.x the values are known by their column. */
    if (!hpc_number(reading->xml, "i", &facts.id))
        return 0;
    int added = hpc_add_metric(reading->state, &facts, error);
    if (added > 0 && hpc_number(reading->xml, "db-id", &column) && column >= 0 && column < 1 << 16)
        return hpc_set_column(reading->state, (uint32_t)column, error);
    return added < 0 ? -1 : 0;
}

static int read_trace_db(struct reading *reading)
{
    int64_t ticks;
    if (hpc_number(reading->xml, "u", &ticks) && ticks > 0)
        reading->state->ticks_per_second = (uint64_t)ticks;
    return 0;
}

static int take_start(struct reading *reading, struct pf_error *error)
{
    enum hpc_element element = hpc_element(pf_xml_name(reading->xml));
    if (!reading->root && element != HPC_X_EXPERIMENT)
        return pf_fail_line(error, EINVAL, (int64_t)pf_xml_line(reading->xml),
                            "not the XML of an HPCToolkit experiment");
    switch (element) {
    case HPC_X_EXPERIMENT:
        return read_root(reading, error);
    case HPC_X_PATH_PROFILE:
        return read_title(reading, error);
    case HPC_X_IDENTIFIER:
        return read_identifier(reading, error);
    case HPC_X_METRIC:
        return read_metric(reading, error);
    case HPC_X_FORMULA:
        return read_formula(reading, error);
    case HPC_X_METRIC_DB:
        return read_metric_db(reading, error);
    case HPC_X_TRACE_DB:
        return read_trace_db(reading);
    case HPC_X_MODULES:
    case HPC_X_DATA:
        reading->complete = true;
        return 0;
    default:
        return 0;
    }
}

static int take_close(struct reading *reading, struct pf_error *error)
{
    return hpc_element(pf_xml_name(reading->xml)) == HPC_X_METRIC ? add_pending(reading, error) : 0;
}

/* Up to the tables that opening needs nothing of. */
static int read_head(struct reading *reading, struct pf_error *error)
{
    int failed = 0;
    while (!failed && !reading->complete) {
        switch (pf_xml_next(reading->xml, error)) {
        case PF_XML_FAILED:
            return -1;
        case PF_XML_END:
            return add_pending(reading, error);
        case PF_XML_START:
            failed = take_start(reading, error);
            break;
        case PF_XML_CLOSE:
            failed = take_close(reading, error);
            break;
        }
    }
    return failed || add_pending(reading, error) ? -1 : 0;
}

/* Twins have names that differ in what they end with. */
static void pair_metrics(struct hpc_state *state)
{
    const struct hpc_metrics *metrics = &state->metrics;
    for (size_t i = 0; i < metrics->count; i++) {
        size_t size = strlen(metrics->items[i].name);
        if (strcmp(metrics->items[i].scope, "exclusive") != 0 || size < 4)
            continue;
        /* They stand side by side. */
        for (size_t j = i ? i - 1 : 0; j < metrics->count && j <= i + 1; j++)
            if (!strcmp(metrics->items[j].scope, "inclusive") && strlen(metrics->items[j].name) == size &&
                !memcmp(metrics->items[j].name, metrics->items[i].name, size - 4))
                hpc_pair_metrics(state, i, j, true);
    }
}

int hpc_experiment_open(struct pf_profile *profile, struct hpc_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(profile);
    struct hpc_description head = {state->description, HEAD_MAX};
    struct reading reading = {.state = state, .profile = profile};
    state->ticks_per_second = 1000000000;
    reading.xml = pf_xml_new(hpc_read_description, &head);
    if (!reading.xml)
        return hpc_fail_memory(error);
    int failed = read_head(&reading, error);
    if (!failed && !reading.root)
        failed = pf_fail_at(error, EINVAL, 0, "not the XML of an HPCToolkit experiment");
    if (!failed && !reading.complete)
        failed = hpc_note(
            notes, 0, -1, "error", "head", error,
            "experiment.xml: the tables of metrics have no end within the first %d KB; what follows is not "
            "read",
            (int)(HEAD_MAX >> 10));
    pf_xml_free(reading.xml);
    if (failed && !*error->where)
        snprintf(error->where, sizeof error->where, "experiment.xml");
    pair_metrics(state);
    return failed ? -1 : 0;
}
