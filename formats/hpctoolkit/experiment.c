/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/array.h"
#include "formats/kit/number.h"
#include "formats/xml/xml.h"

/* Maximum size of the head in bytes. It ends where the table of modules begins. */
#define HEAD_MAX ((uint64_t)1 << 20)

#define NO_EXPERIMENT "not the XML of an HPCToolkit experiment"

enum { PIECE = 64 * 1024, KINDS_MAX = 256, NAME_LIMIT = 1024 };

/* ---- elements and attributes --------------------------------------------------------------------- */

/* An open element of a context. */
struct level {
    uint64_t id;           /* of its context */
    uint32_t context;      /* index of its context; PF_NO_CONTEXT: none was added */
    uint32_t file, module; /* inherited by elements that declare none */
    const struct element *element;
};

struct reading {
    struct hpc_state *state;
    struct pf_notes *notes;
    struct pf_xml *xml;
    const struct element *element; /* of the current event */
    /* only while reading the head */
    struct pf_model *profile;
    bool root, complete;
    bool open; /* a metric of the summary is pending, with these attributes: */
    struct hpc_metric_facts facts;
    const char *combine, *view; /* formulas */
    /* only while reading the tree */
    struct hpc_model *model;
    struct pf_ids ids[HPC_LISTS]; /* id -> index in the model's lists */
    struct level *levels;
    size_t depth, room;
    bool strays; /* an inconsistency has been noted */
};

/* A known element and its handlers. Other elements are skipped. */
struct element {
    const char *name;
    int (*in_head)(struct reading *reading,
                   struct pf_error *error); /* handler when the profile is opened; NULL: ignored */
    int (*in_tree)(struct reading *reading,
                   struct pf_error *error); /* handler when contexts are read; NULL: ignored */
    uint8_t rank; /* of two elements of one context, the higher rank describes it; 0: not a context */
    uint8_t what; /* enum hpc_kind of the context, or enum hpc_list of the item */
};

/* Reads an attribute as a number, decimal or `0x` hex, possibly negative. False if it is missing or invalid. */
static bool read_number(const struct reading *reading, const char *name, int64_t *value)
{
    const char *at = pf_xml_attribute(reading->xml, name);
    char *end;
    if (!at)
        return false;
    errno = 0;
    *value = (int64_t)strtoull(at, &end, strchr(at, 'x') ? 16 : 10);
    return end > at && !*end && !errno;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Interns the value of an attribute; "" if it is missing. NULL with *error filled. */
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
        return pf_fail_line(error, EINVAL, pf_xml_line(reading->xml),
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
    struct hpc_state *state = reading->state;
    int64_t i;
    if (!read_number(reading, "i", &i) || i < 0 || i >= KINDS_MAX)
        return 0;
    if (!state->identifiers && !(state->identifiers = calloc(KINDS_MAX, sizeof *state->identifiers)))
        return pf_fail_memory(error);
    state->n_identifiers = KINDS_MAX;
    state->identifiers[i] = keep(reading, "n", error);
    return state->identifiers[i] ? 0 : -1;
}

/* Adds the pending metric of the summary. Called at the end of its element, or at the start of the next one. */
static int add_pending(struct reading *reading, struct pf_error *error)
{
    if (!reading->open)
        return 0;
    reading->open = false;
    return hpc_add_summary_metric(reading->state, &reading->facts, reading->view, reading->combine, error) < 0
               ? -1
               : 0;
}

static int read_metric(struct reading *reading, struct pf_error *error)
{
    struct hpc_metric_facts facts = {0};
    if (add_pending(reading, error))
        return -1;
    reading->combine = reading->view = NULL;
    reading->open = read_number(reading, "i", &facts.id);
    if (!reading->open)
        return 0;
    facts.name = keep(reading, "n", error);
    facts.scope = keep(reading, "t", error);
    facts.description = keep(reading, "md", error);
    reading->facts = facts;
    return facts.name && facts.scope && facts.description ? 0 : -1;
}

static int read_formula(struct reading *reading, struct pf_error *error)
{
    const char *type = pf_xml_attribute(reading->xml, "t");
    const char *formula = keep(reading, "frm", error);
    if (!formula)
        return -1;
    if (type && !strcmp(type, "combine"))
        reading->combine = formula;
    else
        reading->view = formula;
    return 0;
}

/* The scope of a metric of the threads: the attribute if there is one, otherwise the suffix of the name. */
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
    /* The value files of 2.x identify metrics by column. */
    if (!read_number(reading, "i", &facts.id))
        return 0;
    int added = hpc_add_metric(reading->state, &facts, error);
    if (added > 0 && read_number(reading, "db-id", &column) && column >= 0)
        added = pf_ids_add(&reading->state->columns, (uint64_t)column,
                           (uint32_t)reading->state->metrics.count - 1, error);
    return added < 0 ? -1 : 0;
}

static int read_trace_db(struct reading *reading, struct pf_error *error)
{
    (void)error;
    int64_t ticks;
    if (read_number(reading, "u", &ticks) && ticks > 0)
        reading->state->ticks_per_second = (uint64_t)ticks;
    return 0;
}

static int end_head(struct reading *reading, struct pf_error *error)
{
    (void)error;
    reading->complete = true;
    return 1;
}

/* Makes metrics partners whose names differ only in the suffix. */
static void pair_metrics(struct hpc_state *state)
{
    struct hpc_metrics *metrics = &state->metrics;
    for (size_t i = 0; i < metrics->count; i++) {
        size_t size = strlen(metrics->items[i].name);
        if (strcmp(metrics->items[i].scope, "exclusive") != 0 || size < 4)
            continue;
        /* Partners are adjacent. */
        for (size_t j = i ? i - 1 : 0; j < metrics->count && j <= i + 1; j++)
            if (!strcmp(metrics->items[j].scope, "inclusive") && strlen(metrics->items[j].name) == size &&
                !memcmp(metrics->items[j].name, metrics->items[i].name, size - 4)) {
                metrics->items[i].partner = (int)j;
                metrics->items[j].partner = (int)i;
            }
    }
}

static struct pf_strings *strings_of(const struct reading *reading)
{
    return reading->model->tree->strings;
}

/* ---- tables --------------------------------------------------------------------------------------------- */

static uint32_t intern_attribute(struct reading *reading, const char *name, struct pf_error *error)
{
    const char *value = pf_xml_attribute(reading->xml, name);
    return pf_intern(strings_of(reading), value ? value : "", value ? strlen(value) : 0, error);
}

/* Reads a load module, file or procedure. */
static int read_item(struct reading *reading, struct pf_error *error)
{
    enum hpc_list list = reading->element->what;
    int64_t id, offset;
    struct hpc_item item = {.file = PF_NO_STRING, .module = PF_NO_STRING, .offset = HPC_NO_OFFSET};
    if (!read_number(reading, "i", &id))
        return 0;
    item.id = (uint64_t)id;
    int added = pf_ids_add(&reading->ids[list], item.id, reading->model->lists[list].count, error);
    if (added <= 0)
        return added;
    if (list == HPC_FUNCTIONS && read_number(reading, "v", &offset) && offset)
        item.offset = (uint64_t)offset;
    item.name = intern_attribute(reading, "n", error);
    if (item.name == PF_NO_STRING)
        return -1;
    struct pf_cell path = pf_interned(strings_of(reading), item.name);
    item.copied = path.size > 6 && !memcmp(path.text, "./src/", 6);
    return hpc_model_add_item(reading->model, list, &item, error);
}

/* The name of the item whose id the attribute holds; PF_NO_STRING if there is none. */
static uint32_t name_of(const struct reading *reading, const char *attribute, enum hpc_list list)
{
    int64_t id;
    if (!read_number(reading, attribute, &id))
        return PF_NO_STRING;
    uint32_t i = pf_ids_find(&reading->ids[list], (uint64_t)id);
    return i == PF_NO_ID ? PF_NO_STRING : reading->model->lists[list].items[i].name;
}

/* ---- contexts ------------------------------------------------------------------------------------------- */

/*
 * Elements of the calling-context tree: frames (PF; inlined ones in 2.x: Pr), call sites (C), loops (L), lines and
 * instructions (S). One context may be written as two nested elements whose numbers are equal or differ only in sign,
 * for example a frame and the instruction that it consists of. The element of higher rank describes the context.
 */

/*
 * Reads the attributes of a context's element. Inlined frames lack PF_FRAME: in 2.x the exclusive value of an inlined
 * frame is also included in that of its caller.
 */
static int read_facts(struct reading *reading, const struct level *above, struct hpc_context *context,
                      struct pf_error *error)
{
    enum hpc_kind kind = reading->element->what;
    bool frame = kind == HPC_FUNCTION || kind == HPC_INLINED;
    int64_t number;
    uint64_t address = read_number(reading, "v", &number) ? (uint64_t)number : 0;
    *context = (struct hpc_context){
        .offset = address ? address : HPC_NO_OFFSET,
        .file = name_of(reading, "f", HPC_FILES),
        .module = name_of(reading, "lm", HPC_MODULES),
        .kind = kind == HPC_LINE && address ? HPC_INSTRUCTION : kind,
        .flags = kind == HPC_FUNCTION ? PF_FRAME : 0,
    };
    if (read_number(reading, "l", &number) && number > 0 && number <= UINT32_MAX)
        context->line = (uint32_t)number;
    if (context->file == PF_NO_STRING && !frame)
        context->file = above->file;
    if (context->module == PF_NO_STRING)
        context->module = above->module;
    context->name = frame ? name_of(reading, "n", HPC_FUNCTIONS) : PF_NO_STRING;
    return pf_interned(strings_of(reading), context->name).size
               ? 0
               : hpc_name_context(reading->model, context, error);
}

/*
 * Handles an element whose context exists already: the element of higher rank describes it. tree->key holds the rank so
 * far.
 */
static void improve(struct reading *reading, uint32_t i, const struct hpc_context *context)
{
    struct pf_tree *tree = reading->model->tree;
    if (reading->element->rank <= tree->key[i])
        return;
    tree->key[i] = reading->element->rank;
    hpc_model_set(reading->model, i, context);
}

static int push(struct reading *reading, const struct level *level, struct pf_error *error)
{
    if (pf_array_room(&reading->levels, &reading->room, reading->depth, sizeof *reading->levels, error))
        return -1;
    reading->levels[reading->depth++] = *level;
    return 0;
}

static int note_stray(struct reading *reading, const char *text)
{
    if (reading->strays)
        return 0;
    reading->strays = true;
    return hpc_note(reading->notes, "error", "inconsistent-tree", pf_xml_line(reading->xml), -1,
                    "experiment.xml: %s; so may others be", text);
}

/* In 2.x the root has id 1, which is not written; in 4.0 it has id 0. */
static int read_data(struct reading *reading, struct pf_error *error)
{
    uint64_t id = reading->state->layout == HPC_OLD;
    uint32_t i = hpc_model_add_root(reading->model, id, error);
    if (i == PF_NO_CONTEXT)
        return error->code ? -1 : note_stray(reading, "there is a second root");
    struct level level = {id, i, PF_NO_STRING, PF_NO_STRING, reading->element};
    return push(reading, &level, error);
}

static int read_context(struct reading *reading, struct pf_error *error)
{
    struct hpc_context context;
    int64_t number, traced;
    if (!reading->depth)
        return 0;
    const struct level above = reading->levels[reading->depth - 1];
    struct level level = {above.id, above.context, above.file, above.module, reading->element};
    if (!read_number(reading, "i", &number) || number < -(int64_t)UINT32_MAX || number > (int64_t)UINT32_MAX)
        return note_stray(reading, "an element has no number") ? -1 : push(reading, &level, error);
    level.id = (uint64_t)(number < 0 ? -number : number);
    if (read_facts(reading, &above, &context, error))
        return -1;
    context.id = level.id;
    level.context = pf_ids_find(&reading->model->ids, level.id);
    if (level.context == PF_NO_ID) {
        level.context = hpc_model_add(reading->model, above.context, &context, error);
        if (level.context == PF_NO_CONTEXT)
            return -1;
        reading->model->tree->key[level.context] = reading->element->rank;
    } else {
        if (level.id != above.id && note_stray(reading, "two places of the tree have one number"))
            return -1;
        improve(reading, level.context, &context);
    }
    if (context.file != PF_NO_STRING)
        level.file = context.file;
    if (context.module != PF_NO_STRING)
        level.module = context.module;
    /* Traces of 2.x number contexts separately. */
    if (reading->state->layout == HPC_OLD && read_number(reading, "it", &traced) && traced >= 0 &&
        pf_ids_add(&reading->model->traced, (uint64_t)traced, level.context, error) < 0)
        return -1;
    return push(reading, &level, error);
}

/* `<M n="metric" v="value"/>`: a value of the summary, in the context of the enclosing element. */
static int read_value(struct reading *reading, struct pf_error *error)
{
    struct hpc_old_value value;
    int64_t id;
    const char *text = pf_xml_attribute(reading->xml, "v");
    if (!reading->depth || reading->state->layout != HPC_OLD)
        return 0;
    value.context = reading->levels[reading->depth - 1].context;
    value.metric = read_number(reading, "n", &id)
                       ? pf_ids_find(&reading->state->summary_metrics.taken.ids, (uint64_t)id)
                       : PF_NO_ID;
    if (value.metric == PF_NO_ID || !text || !pf_parse_double(text, strlen(text), &value.value))
        return note_stray(reading, "a value is of no known metric, or no number");
    int added = hpc_model_add_value(reading->model, &value, error);
    return added ? (added < 0 ? -1 : 0) : note_stray(reading, "values of a context do not stand together");
}

/* ---- events --------------------------------------------------------------------------------------------- */

/* In order of frequency. */
enum { DATA = 6, METRIC };
static const struct element elements[] = {
    {.name = "M", .in_tree = read_value},
    {"S", NULL, read_context, 2, HPC_LINE},
    {"C", NULL, read_context, 1, HPC_CALL},
    {"L", NULL, read_context, 3, HPC_LOOP},
    {"Pr", NULL, read_context, 4, HPC_INLINED},
    {"PF", NULL, read_context, 5, HPC_FUNCTION},
    [DATA] = {.name = "SecCallPathProfileData", .in_head = end_head, .in_tree = read_data},
    [METRIC] = {.name = "Metric", .in_head = read_metric},
    {.name = "Procedure", .in_tree = read_item, .what = HPC_FUNCTIONS},
    {.name = "File", .in_tree = read_item, .what = HPC_FILES},
    {.name = "LoadModule", .in_tree = read_item, .what = HPC_MODULES},
    {.name = "LoadModuleTable", .in_head = end_head},
    {.name = "TraceDB", .in_head = read_trace_db},
    {.name = "MetricDB", .in_head = read_metric_db},
    {.name = "MetricFormula", .in_head = read_formula},
    {.name = "Identifier", .in_head = read_identifier},
    {.name = "SecCallPathProfile", .in_head = read_title},
    {.name = "HPCToolkitExperiment", .in_head = read_root},
};

static const struct element *element_of(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (!strcmp(name, elements[i].name))
            return &elements[i];
    return NULL;
}

static int on_start(void *arg, const char *name, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct element *element = reading->element = element_of(name);
    if (reading->model)
        return element && element->in_tree ? element->in_tree(reading, error) : 0;
    if (!reading->root && (!element || element->in_head != read_root))
        return pf_fail_line(error, EINVAL, pf_xml_line(reading->xml), "%s", NO_EXPERIMENT);
    return element && element->in_head ? element->in_head(reading, error) : 0;
}

static int on_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    (void)text, (void)size;
    struct reading *reading = arg;
    const struct element *element = element_of(name);
    if (!reading->model)
        return element == &elements[METRIC] ? add_pending(reading, error) : 0;
    if (!element || (!element->rank && element != &elements[DATA]) || !reading->depth)
        return 0;
    if (reading->levels[reading->depth - 1].element != element)
        return note_stray(reading, "an element is closed that is not open");
    reading->depth--;
    return 0;
}

/*
 * Parses the description's bytes up to `end`. Returns 0 at the end; 1 if an event handler or a syntax error ended the
 * parse; -1 with *error filled. The caller frees reading->xml in any case.
 */
static int read_xml(struct reading *reading, uint64_t end, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_start, on_end, NULL};
    struct pf_input *input = reading->state->description;
    uint64_t size = pf_input_size(input);
    char *bytes = malloc(PIECE);
    reading->xml = pf_xml_new(&events, reading);
    int told = bytes && reading->xml ? 0 : pf_fail_memory(error);
    for (uint64_t at = 0; at < size && at < end && !told; at += PIECE) {
        ssize_t got = pf_input_read(input, bytes, PIECE, at, error);
        bool failed = got < 0 || pf_pass_step(at, size, error);
        told = failed ? -1 : pf_xml_feed(reading->xml, bytes, (size_t)got, error);
    }
    free(bytes);
    return told ? told : pf_xml_end(reading->xml, error);
}

int hpc_experiment_open(struct pf_model *model, struct pf_notes *notes, struct pf_error *error)
{
    struct hpc_state *state = hpc_state(model);
    struct reading reading = {.state = state, .profile = model, .notes = notes};
    state->ticks_per_second = 1000000000;
    int failed = read_xml(&reading, HEAD_MAX, error) < 0 || add_pending(&reading, error);
    if (!failed && !reading.root)
        failed = pf_fail_at(error, EINVAL, 0, "%s", NO_EXPERIMENT);
    if (!failed && !reading.complete)
        failed = hpc_note(notes, "error", "head", 0, -1,
                          "experiment.xml: the tables of metrics have no end within the first %d KB; what "
                          "follows is not read",
                          (int)(HEAD_MAX >> 10));
    pf_xml_free(reading.xml);
    if (failed && !*error->where)
        snprintf(error->where, sizeof error->where, "experiment.xml");
    pair_metrics(state);
    return failed ? -1 : 0;
}

int hpc_experiment_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                            struct pf_error *error)
{
    struct reading reading = {.state = state, .model = model, .notes = notes};
    int failed = read_xml(&reading, UINT64_MAX, error) < 0; /* a syntax error is noted below */
    if (!failed && pf_xml_is_cut(reading.xml))
        failed = hpc_note(notes, "fatal", "cut-xml", pf_xml_line(reading.xml), -1,
                          "experiment.xml ends inside of an element, or is no XML from here on");
    if (!failed && !model->tree->count)
        failed = hpc_note(notes, "fatal", "no-tree", 0, -1, "experiment.xml has no calling-context tree") ||
                 read_data(&reading, error);
    pf_xml_free(reading.xml);
    for (int list = 0; list < HPC_LISTS; list++)
        pf_ids_free(&reading.ids[list]);
    free(reading.levels);
    return failed ? -1 : 0;
}
