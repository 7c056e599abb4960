/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/number.h"
#include "formats/xml/xml.h"

/* Maximum size in bytes of the head, which ends where the table of modules begins. */
#define HEAD_MAX ((uint64_t)1 << 20)

#define NO_EXPERIMENT "not an HPCToolkit experiment"

enum { PIECE = 64 * 1024, IDENTIFIERS_MAX = 256 };

/* ---- elements and attributes --------------------------------------------------------------------- */

/* An open element of a context. */
struct experiment_level {
    uint64_t id;           /* of the context that the element describes */
    uint32_t context;      /* index of that context */
    uint32_t file, module; /* inherited by elements that declare none */
    const struct experiment_element *element;
};

struct experiment_reading {
    struct pf_run *run;
    struct hpc_state *state;
    struct pf_xml *xml;
    const struct experiment_element *element; /* of the current event */
    /* valid only while the head is read */
    bool root, complete;
    bool is_pending; /* a metric of the summary, described by facts, combine and view, is to be added */
    struct hpc_metric_facts facts;
    const char *combine, *view; /* formulas */
    /* valid only while the tree is read */
    struct hpc_model *model;
    struct pf_ids ids[HPC_LISTS]; /* id -> index in the model's lists */
    PF_LIST(struct experiment_level) levels;
    bool strays; /* an inconsistency has been reported */
};

/* A known element and its handlers. Other elements are skipped. */
struct experiment_element {
    const char *name;
    void (*in_head)(
        struct experiment_reading *reading); /* handler when the profile is opened; NULL: ignored */
    void (*in_tree)(struct experiment_reading *reading); /* handler when contexts are read; NULL: ignored */
    uint8_t rank; /* of a context's nested elements, the highest rank describes it; 0: no context */
    uint8_t what; /* a context's enum hpc_kind, or a module's, file's or procedure's enum hpc_list */
};

/* Reads an attribute as a number, decimal or `0x` hex, possibly negative. False if it is missing or invalid. */
static bool number_attribute(const struct experiment_reading *reading, const char *name, int64_t *value)
{
    const char *at = pf_xml_attribute(reading->xml, name);
    pf_int128 number;
    if (!at)
        return false;
    struct pf_slice text = pf_slice(at, strlen(at));
    bool negative = pf_take(&text, "-");
    if (!pf_take_digits(&text, &number) || pf_size(text) || number > UINT64_MAX)
        return false;
    *value = (int64_t)(negative ? 0 - (uint64_t)number : (uint64_t)number);
    return true;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Interns the value of an attribute; "" if it is missing. */
static const char *keep_attribute(const struct experiment_reading *reading, const char *name)
{
    const char *value = pf_xml_attribute(reading->xml, name);
    return value ? hpc_keep(reading->run, value, strnlen(value, HPC_NAME_MAX)) : "";
}

static void experiment_root(struct experiment_reading *reading)
{
    struct pf_model *model = reading->run->model;
    const char *version = keep_attribute(reading, "version");
    reading->root = true;
    snprintf(model->version, sizeof model->version, "%s", version);
    if (!strncmp(version, "4.", 2))
        reading->state->layout = HPC_XML4;
    else if (!strncmp(version, "2.", 2))
        reading->state->layout = HPC_OLD;
    else
        pf_run_check(reading->run, pf_fail_line(reading->run->error, EINVAL, pf_xml_line(reading->xml),
                                                "version %.20s of experiment.xml is not supported", version));
}

static void experiment_title(struct experiment_reading *reading)
{
    struct pf_cell cells[] = {pf_string("Experiment"), pf_string(keep_attribute(reading, "n"))};
    pf_run_check(reading->run, pf_rows_add(reading->run->model->info, cells, reading->run->error));
}

static void experiment_identifier(struct experiment_reading *reading)
{
    struct hpc_state *state = reading->state;
    int64_t i;
    if (!number_attribute(reading, "i", &i) || i < 0 || i >= IDENTIFIERS_MAX)
        return;
    if (!state->identifiers)
        state->identifiers = pf_run_memory(reading->run, calloc(IDENTIFIERS_MAX, sizeof *state->identifiers));
    state->n_identifiers = IDENTIFIERS_MAX;
    state->identifiers[i] = keep_attribute(reading, "n");
}

/* Adds the pending metric of the summary, if any. Called at the end of the metric, at the next metric, and at the end of the head. */
static void add_pending(struct experiment_reading *reading)
{
    if (reading->is_pending)
        hpc_add_summary_metric(reading->run, &reading->facts, reading->view, reading->combine);
    reading->is_pending = false;
}

static void experiment_metric(struct experiment_reading *reading)
{
    struct hpc_metric_facts facts = {.name = keep_attribute(reading, "n"),
                                     .scope = keep_attribute(reading, "t"),
                                     .description = keep_attribute(reading, "md")};
    add_pending(reading);
    reading->combine = reading->view = NULL;
    reading->is_pending = number_attribute(reading, "i", &facts.id);
    reading->facts = facts;
}

static void experiment_formula(struct experiment_reading *reading)
{
    const char *type = pf_xml_attribute(reading->xml, "t");
    *(type && !strcmp(type, "combine") ? &reading->combine : &reading->view) = keep_attribute(reading, "frm");
}

/* Returns the scope of a metric of the threads: `attribute` or, if that is empty, the scope that the suffix of `name` implies. */
static const char *scope_of(const char *name, const char *attribute)
{
    size_t size = strlen(name);
    if (*attribute)
        return attribute;
    if (size > 4 && !strcmp(name + size - 4, " (I)"))
        return "inclusive";
    return size > 4 && !strcmp(name + size - 4, " (E)") ? "exclusive" : "";
}

static void experiment_metric_db(struct experiment_reading *reading)
{
    struct pf_run *run = reading->run;
    struct hpc_state *state = reading->state;
    struct hpc_metric_facts facts = {.name = keep_attribute(reading, "n")};
    int64_t column;
    facts.scope = scope_of(facts.name, keep_attribute(reading, "t"));
    /* In 2.x, the files with values identify a metric by the number of its column (`db-id`). */
    if (number_attribute(reading, "i", &facts.id) && hpc_add_metric(run, &facts) &&
        number_attribute(reading, "db-id", &column) && column >= 0)
        pf_run_check(run, pf_ids_add(&state->columns, (uint64_t)column, (uint32_t)state->metrics.count - 1,
                                     run->error));
}

static void experiment_trace_db(struct experiment_reading *reading)
{
    int64_t ticks;
    if (number_attribute(reading, "u", &ticks) && ticks > 0)
        reading->state->ticks_per_second = (uint64_t)ticks;
}

static void experiment_head_end(struct experiment_reading *reading)
{
    reading->complete = true;
    pf_xml_stop(reading->xml);
}

/* Makes an exclusive and an inclusive metric partners if their names differ only in the last four bytes, ` (E)` and ` (I)`. */
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

static struct pf_strings *experiment_strings(const struct experiment_reading *reading)
{
    return reading->model->tree->strings;
}

/* ---- tables --------------------------------------------------------------------------------------------- */

/* Reads a load module, file or procedure. */
static void experiment_item(struct experiment_reading *reading)
{
    struct pf_run *run = reading->run;
    enum hpc_list list = reading->element->what;
    const char *name = pf_xml_attribute(reading->xml, "n");
    int64_t id, offset;
    struct hpc_item item = {.file = PF_NO_STRING, .module = PF_NO_STRING, .offset = HPC_NO_OFFSET};
    if (!number_attribute(reading, "i", &id))
        return;
    item.id = (uint64_t)id;
    if (!pf_run_check(
            run, pf_ids_add(&reading->ids[list], item.id, reading->model->lists[list].count, run->error)))
        return;
    if (list == HPC_FUNCTIONS && number_attribute(reading, "v", &offset) && offset)
        item.offset = (uint64_t)offset;
    name = name ? name : "";
    item.name = pf_run_intern(run, experiment_strings(reading), name, strlen(name));
    item.copied = !strncmp(name, "./src/", 6) && name[6];
    hpc_model_add_item(run, reading->model, list, &item);
}

/* Returns the name of the item whose id the attribute holds; PF_NO_STRING if there is no such item. */
static uint32_t name_of_item_attribute(const struct experiment_reading *reading, const char *attribute,
                                       enum hpc_list list)
{
    int64_t id;
    if (!number_attribute(reading, attribute, &id))
        return PF_NO_STRING;
    uint32_t i = pf_ids_find(&reading->ids[list], (uint64_t)id);
    return i == PF_NO_ID ? PF_NO_STRING : reading->model->lists[list].items[i].name;
}

/* ---- contexts ------------------------------------------------------------------------------------------- */

/*
 * The elements of the calling-context tree are frames (PF), call sites (C), loops (L), and lines or instructions (S). In
 * 2.x, inlined frames are elements of their own (Pr). One context may be written as two nested elements whose ids are
 * equal or differ only in sign, for example a frame and the instruction that it consists of. The element of higher rank
 * describes the context.
 */

/*
 * Reads the attributes of a context's element. Inlined frames of 2.x do not get PF_FRAME, so sums over frames omit them,
 * because the exclusive values of the caller of an inlined frame already contain its values.
 */
static void read_context_attributes(const struct experiment_reading *reading,
                                    const struct experiment_level *above, struct hpc_context *context)
{
    enum hpc_kind kind = reading->element->what;
    bool frame = kind == HPC_FUNCTION || kind == HPC_INLINED;
    int64_t number;
    uint64_t address = number_attribute(reading, "v", &number) ? (uint64_t)number : 0;
    *context = (struct hpc_context){
        .offset = address ? address : HPC_NO_OFFSET,
        .file = name_of_item_attribute(reading, "f", HPC_FILES),
        .module = name_of_item_attribute(reading, "lm", HPC_MODULES),
        .kind = kind == HPC_LINE && address ? HPC_INSTRUCTION : kind,
        .flags = kind == HPC_FUNCTION ? PF_FRAME : 0,
    };
    if (number_attribute(reading, "l", &number) && number > 0 && number <= UINT32_MAX)
        context->line = (uint32_t)number;
    if (context->file == PF_NO_STRING && !frame)
        context->file = above->file;
    if (context->module == PF_NO_STRING)
        context->module = above->module;
    context->name = frame ? name_of_item_attribute(reading, "n", HPC_FUNCTIONS) : PF_NO_STRING;
    if (!pf_interned(experiment_strings(reading), context->name).size)
        hpc_name_context(reading->run, reading->model, context);
}

/*
 * Overwrites the attributes of context i, which exists already, if the current element has a higher rank than all
 * earlier elements of that context. tree->key holds the highest rank so far.
 */
static void set_context_by_rank(struct experiment_reading *reading, uint32_t i,
                                const struct hpc_context *context)
{
    struct pf_tree *tree = reading->model->tree;
    if (reading->element->rank <= tree->key[i])
        return;
    tree->key[i] = reading->element->rank;
    hpc_model_set(reading->model, i, context);
}

/* Warns of an inconsistency of the tree, once. */
static void note_stray(struct experiment_reading *reading, const char *text)
{
    if (!reading->strays)
        pf_run_warn(reading->run, "error", "inconsistent-tree", pf_xml_line(reading->xml), -1,
                    "experiment.xml: %s (further ones are not reported)", text);
    reading->strays = true;
}

/* Adds the root context. Its id, which the file does not contain, is 1 in 2.x and 0 in 4.0. */
static void experiment_data(struct experiment_reading *reading)
{
    uint64_t id = reading->state->layout == HPC_OLD;
    uint32_t i = hpc_model_add_root(reading->run, reading->model, id);
    if (i == PF_NO_CONTEXT)
        note_stray(reading, "second root: skipped");
    else
        *PF_PUSH(reading->run, reading->levels) =
            (struct experiment_level){id, i, PF_NO_STRING, PF_NO_STRING, reading->element};
}

/* Adds the context of an element, or merges the element into the existing context with the id level->id. */
static void add_element_context(struct experiment_reading *reading, const struct experiment_level *above,
                                struct experiment_level *level)
{
    struct pf_run *run = reading->run;
    struct hpc_model *model = reading->model;
    struct hpc_context context;
    int64_t traced;
    read_context_attributes(reading, above, &context);
    context.id = level->id;
    level->context = pf_ids_find(&model->ids, level->id);
    if (level->context == PF_NO_ID) {
        level->context = hpc_model_add(run, model, above->context, &context);
        model->tree->key[level->context] = reading->element->rank;
    } else {
        if (level->id != above->id)
            note_stray(reading, "duplicate number of a context: the elements are merged");
        set_context_by_rank(reading, level->context, &context);
    }
    if (context.file != PF_NO_STRING)
        level->file = context.file;
    if (context.module != PF_NO_STRING)
        level->module = context.module;
    /* Traces of 2.x have context ids of their own (`it`). */
    if (reading->state->layout == HPC_OLD && number_attribute(reading, "it", &traced) && traced >= 0)
        pf_run_check(run, pf_ids_add(&model->traced, (uint64_t)traced, level->context, run->error));
}

static void experiment_context(struct experiment_reading *reading)
{
    int64_t number;
    if (!reading->levels.n)
        return;
    const struct experiment_level above = reading->levels.at[reading->levels.n - 1];
    struct experiment_level level = {above.id, above.context, above.file, above.module, reading->element};
    if (number_attribute(reading, "i", &number) && number >= -(int64_t)UINT32_MAX &&
        number <= (int64_t)UINT32_MAX) {
        level.id = (uint64_t)(number < 0 ? -number : number);
        add_element_context(reading, &above, &level);
    } else {
        note_stray(reading, "element without a valid number: merged with its parent");
    }
    *PF_PUSH(reading->run, reading->levels) = level;
}

/* Reads `<M n="metric" v="value"/>`, which is a value of the summary in the context of the enclosing element. */
static void experiment_value(struct experiment_reading *reading)
{
    struct hpc_old_value value;
    int64_t id;
    const char *text = pf_xml_attribute(reading->xml, "v");
    if (!reading->levels.n || reading->state->layout != HPC_OLD)
        return;
    value.context = reading->levels.at[reading->levels.n - 1].context;
    value.metric = number_attribute(reading, "n", &id)
                       ? pf_ids_find(&reading->state->summary_metrics.taken.ids, (uint64_t)id)
                       : PF_NO_ID;
    if (value.metric == PF_NO_ID || !text || !pf_parse_double(text, strlen(text), &value.value))
        note_stray(reading, "value of an unknown metric, or invalid number: skipped");
    else if (!hpc_model_add_value(reading->run, reading->model, &value))
        note_stray(reading, "value out of the order of contexts: skipped");
}

/* ---- events --------------------------------------------------------------------------------------------- */

/* Indexes in elements[], which begins with the most frequent elements. */
enum { DATA = 6, METRIC };
static const struct experiment_element elements[] = {
    {.name = "M", .in_tree = experiment_value},
    {"S", NULL, experiment_context, 2, HPC_LINE},
    {"C", NULL, experiment_context, 1, HPC_CALL},
    {"L", NULL, experiment_context, 3, HPC_LOOP},
    {"Pr", NULL, experiment_context, 4, HPC_INLINED},
    {"PF", NULL, experiment_context, 5, HPC_FUNCTION},
    [DATA] = {.name = "SecCallPathProfileData", .in_head = experiment_head_end, .in_tree = experiment_data},
    [METRIC] = {.name = "Metric", .in_head = experiment_metric},
    {.name = "Procedure", .in_tree = experiment_item, .what = HPC_FUNCTIONS},
    {.name = "File", .in_tree = experiment_item, .what = HPC_FILES},
    {.name = "LoadModule", .in_tree = experiment_item, .what = HPC_MODULES},
    {.name = "LoadModuleTable", .in_head = experiment_head_end},
    {.name = "TraceDB", .in_head = experiment_trace_db},
    {.name = "MetricDB", .in_head = experiment_metric_db},
    {.name = "MetricFormula", .in_head = experiment_formula},
    {.name = "Identifier", .in_head = experiment_identifier},
    {.name = "SecCallPathProfile", .in_head = experiment_title},
    {.name = "HPCToolkitExperiment", .in_head = experiment_root},
};

static const struct experiment_element *element_of(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (!strcmp(name, elements[i].name))
            return &elements[i];
    return NULL;
}

static void experiment_start(void *arg, const char *name)
{
    struct experiment_reading *reading = arg;
    const struct experiment_element *element = reading->element = element_of(name);
    if (!reading->model && !reading->root && (!element || element->in_head != experiment_root))
        pf_run_refuse(reading->run, pf_xml_line(reading->xml), NO_EXPERIMENT);
    if (!element)
        return;
    void (*handler)(struct experiment_reading *) = reading->model ? element->in_tree : element->in_head;
    if (handler)
        handler(reading);
}

static void experiment_end(void *arg, const char *name, const char *text, size_t size)
{
    (void)text, (void)size;
    struct experiment_reading *reading = arg;
    const struct experiment_element *element = element_of(name);
    if (!reading->model) {
        if (element == &elements[METRIC])
            add_pending(reading);
    } else if (element && (element->rank || element == &elements[DATA]) && reading->levels.n) {
        if (reading->levels.at[reading->levels.n - 1].element == element)
            reading->levels.n--;
        else
            note_stray(reading, "closing tag without its opening tag: skipped");
    }
}

static void free_experiment_reading(struct experiment_reading *reading)
{
    for (int list = 0; list < HPC_LISTS; list++)
        pf_ids_free(&reading->ids[list]);
    free(reading);
}

/*
 * Reads the first `end` bytes of experiment.xml. Reads the head if model is NULL, and otherwise the contexts, into
 * `model`. Returns the state.
 */
static struct experiment_reading *read_xml(struct pf_run *run, struct hpc_model *model, uint64_t end)
{
    static const struct pf_xml_events events = {experiment_start, experiment_end, NULL};
    struct experiment_reading *reading = PF_OWN(run, calloc(1, sizeof *reading), free_experiment_reading);
    char *bytes = PF_OWN(run, malloc(PIECE), free);
    reading->run = run;
    reading->state = hpc_state(run->model);
    reading->model = model;
    reading->xml = pf_xml_new(run, &events, reading);
    struct pf_input *input = reading->state->description;
    uint64_t size = pf_input_size(input);
    bool more = true;
    for (uint64_t at = 0; more && at < size && at < end; at += PIECE) {
        pf_run_step(run, at, size);
        more = pf_xml_feed(reading->xml, bytes, pf_run_read(run, input, bytes, PIECE, at));
    }
    pf_xml_end(reading->xml);
    return reading;
}

void hpc_experiment_open(struct pf_run *run)
{
    struct hpc_state *state = hpc_state(run->model);
    state->ticks_per_second = 1000000000;
    struct experiment_reading *reading = read_xml(run, NULL, HEAD_MAX);
    add_pending(reading);
    if (!reading->root)
        pf_run_check(run, pf_fail_at(run->error, EINVAL, 0, NO_EXPERIMENT));
    if (!reading->complete)
        pf_run_warn(run, "error", "head", 0, -1,
                    "experiment.xml: tables of metrics longer than %d KB: the rest of them is skipped",
                    (int)(HEAD_MAX >> 10));
    pair_metrics(state);
}

void hpc_experiment_contexts(struct pf_run *run, struct hpc_model *model)
{
    struct experiment_reading *reading = read_xml(run, model, UINT64_MAX);
    if (pf_xml_is_cut(reading->xml))
        pf_run_warn(run, "fatal", "cut-xml", pf_xml_line(reading->xml), -1,
                    "experiment.xml: truncated, or not XML from here on: the contexts read so far are kept");
    if (!model->tree->count) {
        pf_run_warn(run, "fatal", "no-tree", 0, -1, "experiment.xml: no calling-context tree");
        experiment_data(reading);
    }
}
