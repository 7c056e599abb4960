/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/experiment_xml.h"

/* What opening needs stands in the first bytes; the table of modules follows it. */
#define HEAD_MAX ((uint64_t)1 << 20)

enum { PIECE = 64 * 1024, KINDS_MAX = 256, NAME_LIMIT = 1024 };

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
        if (!strcmp(name, names[i]))
            return (enum hpc_element)i;
    return HPC_X_OTHER;
}

bool hpc_number(const struct pf_xml *xml, const char *name, int64_t *value)
{
    struct pf_cell cell = hpc_attribute(xml, name);
    uint64_t number = 0;
    if (cell.type != PF_TEXT || !cell.size)
        return false;
    const char *at = cell.text, *end = at + cell.size;
    bool negative = *at == '-';
    at += negative;
    unsigned base = end - at > 2 && at[0] == '0' && at[1] == 'x' ? 16 : 10;
    at += base == 16 ? 2 : 0;
    if (at == end)
        return false;
    for (; at < end; at++) {
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

int hpc_read_xml(struct hpc_state *state, uint64_t end, struct pf_xml *xml, struct pf_pass *pass,
                 struct pf_error *error)
{
    uint64_t size = pf_input_size(state->description);
    char *bytes = malloc(PIECE);
    int told = bytes ? 0 : pf_fail_memory(error);
    for (uint64_t at = 0; at < size && at < end && !told; at += PIECE) {
        ssize_t got = pf_input_read(state->description, bytes, PIECE, at, error);
        told =
            got < 0 || pf_pass_step(pass, at, size, error) ? -1 : pf_xml_feed(xml, bytes, (size_t)got, error);
    }
    free(bytes);
    return told;
}

struct pf_cell hpc_attribute(const struct pf_xml *xml, const char *name)
{
    const char *value = pf_xml_attribute(xml, name);
    return value ? pf_string(value) : pf_absent();
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
    struct pf_notes *notes;
    struct pf_xml *xml;
    bool root, complete;
    struct pending pending;
};

/* The value of an attribute, kept; "" if there is none. NULL with *error filled. */
static const char *keep(struct reading *reading, const struct pf_xml *xml, const char *name,
                        struct pf_error *error)
{
    struct pf_cell cell = hpc_attribute(xml, name);
    if (cell.type != PF_TEXT)
        return "";
    return hpc_keep(reading->state, cell.text, cell.size < NAME_LIMIT ? cell.size : NAME_LIMIT, error);
}

static int read_root(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    const char *version = keep(reading, xml, "version", error);
    if (!version)
        return -1;
    reading->root = true;
    snprintf(reading->profile->version, sizeof reading->profile->version, "%s", version);
    if (!strncmp(version, "4.", 2))
        reading->state->layout = HPC_XML4;
    else if (!strncmp(version, "2.", 2))
        reading->state->layout = HPC_OLD;
    else
        return pf_fail_line(error, EINVAL, pf_xml_line(reading->xml),
                            "version %.20s of experiment.xml is not supported", version);
    return 0;
}

static int read_title(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    const char *title = keep(reading, xml, "n", error);
    struct pf_cell cells[] = {pf_string("Experiment"), pf_string(title)};
    return title ? pf_rows_add(reading->profile->info, cells, error) : -1;
}

static int read_identifier(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    struct hpc_identifiers *identifiers = &reading->state->identifiers;
    int64_t i;
    if (!hpc_number(xml, "i", &i) || i < 0 || i >= KINDS_MAX)
        return 0;
    if (!identifiers->names && !(identifiers->names = calloc(KINDS_MAX, sizeof *identifiers->names)))
        return pf_fail_memory(error);
    identifiers->count = KINDS_MAX;
    identifiers->names[i] = keep(reading, xml, "n", error);
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

static int read_metric(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    struct pending *pending = &reading->pending;
    if (add_pending(reading, error))
        return -1;
    *pending = (struct pending){0};
    if (!hpc_number(xml, "i", &pending->facts.id))
        return 0;
    pending->facts.name = keep(reading, xml, "n", error);
    pending->facts.scope = keep(reading, xml, "t", error);
    pending->facts.description = keep(reading, xml, "md", error);
    pending->open = true;
    return pending->facts.name && pending->facts.scope && pending->facts.description ? 0 : -1;
}

static int read_formula(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    struct pf_cell type = hpc_attribute(xml, "t");
    const char *formula = keep(reading, xml, "frm", error);
    if (!formula)
        return -1;
    if (type.type == PF_TEXT && type.size == 7 && !memcmp(type.text, "combine", 7))
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

static int read_metric_db(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    struct hpc_metric_facts facts = {.name = keep(reading, xml, "n", error)};
    const char *type = keep(reading, xml, "t", error);
    int64_t column;
    if (!facts.name || !type)
        return -1;
    facts.scope = scope_of(facts.name, type);
    /* In files of 2.x the values are known by their column. */
    if (!hpc_number(xml, "i", &facts.id))
        return 0;
    int added = hpc_add_metric(reading->state, &facts, error);
    if (added > 0 && hpc_number(xml, "db-id", &column) && column >= 0 && column < 1 << 16)
        return hpc_set_column(reading->state, (uint32_t)column, error);
    return added < 0 ? -1 : 0;
}

static int read_trace_db(struct reading *reading, const struct pf_xml *xml)
{
    int64_t ticks;
    if (hpc_number(xml, "u", &ticks) && ticks > 0)
        reading->state->ticks_per_second = (uint64_t)ticks;
    return 0;
}

static int on_start(void *arg, const char *name, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct pf_xml *xml = reading->xml;
    enum hpc_element element = hpc_element(name);
    if (!reading->root && element != HPC_X_EXPERIMENT)
        return pf_fail_line(error, EINVAL, pf_xml_line(reading->xml),
                            "not the XML of an HPCToolkit experiment");
    switch (element) {
    case HPC_X_EXPERIMENT:
        return read_root(reading, xml, error);
    case HPC_X_PATH_PROFILE:
        return read_title(reading, xml, error);
    case HPC_X_IDENTIFIER:
        return read_identifier(reading, xml, error);
    case HPC_X_METRIC:
        return read_metric(reading, xml, error);
    case HPC_X_FORMULA:
        return read_formula(reading, xml, error);
    case HPC_X_METRIC_DB:
        return read_metric_db(reading, xml, error);
    case HPC_X_TRACE_DB:
        return read_trace_db(reading, xml);
    case HPC_X_MODULES:
    case HPC_X_DATA:
        reading->complete = true;
        return 1;
    default:
        return 0;
    }
}

static int on_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    (void)text, (void)size;
    return hpc_element(name) == HPC_X_METRIC ? add_pending(arg, error) : 0;
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

int hpc_experiment_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_start, on_end};
    struct hpc_state *state = hpc_state(profile);
    struct reading reading = {.state = state, .profile = profile, .notes = notes};
    state->ticks_per_second = 1000000000;
    reading.xml = pf_xml_new(&events, &reading);
    if (!reading.xml)
        return pf_fail_memory(error);
    int told = hpc_read_xml(state, HEAD_MAX, reading.xml, NULL, error);
    if (told >= 0 && add_pending(&reading, error))
        told = -1;
    if (told >= 0 && !reading.root)
        told = pf_fail_at(error, EINVAL, 0, "not the XML of an HPCToolkit experiment");
    if (told >= 0 && !reading.complete &&
        hpc_note(
            notes, HPC_NOTE_ERROR_HEAD, 0, -1,
            "experiment.xml: the tables of metrics have no end within the first %d KB; what follows is not "
            "read",
            (int)(HEAD_MAX >> 10)))
        told = -1;
    pf_xml_free(reading.xml);
    if (told < 0 && !*error->where)
        snprintf(error->where, sizeof error->where, "experiment.xml");
    pair_metrics(state);
    return told < 0 ? -1 : 0;
}
