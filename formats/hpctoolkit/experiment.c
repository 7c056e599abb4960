/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/array.h"
#include "formats/kit/parse.h"
#include "formats/xml/xml.h"

/* What opening needs stands in the first bytes; the table of modules follows it. */
#define HEAD_MAX ((uint64_t)1 << 20)

#define NO_EXPERIMENT "not the XML of an HPCToolkit experiment"

enum { PIECE = 64 * 1024, KINDS_MAX = 256, NAME_LIMIT = 1024 };

/* ---- elements and attributes --------------------------------------------------------------------- */

/* A context's element that is open. */
struct level {
    uint64_t id;           /* of its context */
    uint32_t context;      /* its number; PF_NO_CONTEXT: none could be made */
    uint32_t file, module; /* inherited by what says nothing of its own */
    const struct element *element;
};

struct reading {
    struct hpc_state *state;
    struct pf_notes *notes;
    struct pf_xml *xml;
    const struct element *element; /* whose event this is */
    /* of the head alone */
    struct pf_profile *profile;
    bool root, complete;
    bool open; /* a metric of the summary, of which this is known: */
    struct hpc_metric_facts facts;
    const char *combine, *view; /* formulas */
    /* of the rest alone */
    struct hpc_model *model;
    struct hpc_idmap modules, files, procedures; /* id -> index in the model's lists */
    struct level *levels;
    size_t depth, room;
    bool in_tree, strays;
    uint8_t *ranks; /* by context: of the element that has decided what it is */
    size_t ranks_room;
};

/* What is no such element is passed over. */
struct element {
    const char *name;
    int (*in_head)(struct reading *reading,
                   struct pf_error *error); /* when the profile is opened; NULL: nothing */
    int (*in_tree)(struct reading *reading,
                   struct pf_error *error); /* when contexts are read; NULL: nothing */
    uint8_t rank; /* of two elements of one context, which one tells more; 0: it is none of a context */
    uint8_t kind; /* of the context */
};

/* An attribute as a number, decimal or `0x` hex, perhaps negative. False if there is none. */
static bool read_number(const struct reading *reading, const char *name, int64_t *value)
{
    const char *at = pf_xml_attribute(reading->xml, name);
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

/* ---- opening ------------------------------------------------------------------------------------------- */

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
    struct hpc_identifiers *identifiers = &reading->state->identifiers;
    int64_t i;
    if (!read_number(reading, "i", &i) || i < 0 || i >= KINDS_MAX)
        return 0;
    if (!identifiers->names && !(identifiers->names = calloc(KINDS_MAX, sizeof *identifiers->names)))
        return pf_fail_memory(error);
    identifiers->count = KINDS_MAX;
    identifiers->names[i] = keep(reading, "n", error);
    return identifiers->names[i] ? 0 : -1;
}

/* The end of a metric's element, or the beginning of the next one. */
static int add_pending(struct reading *reading, struct pf_error *error)
{
    if (!reading->open)
        return 0;
    reading->open = false;
    bool stored = reading->combine || !reading->view || reading->state->layout == HPC_OLD;
    return hpc_add_summary_metric(reading->state, &reading->facts, reading->view, reading->combine, !stored,
                                  error) < 0
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
    if (!read_number(reading, "i", &facts.id))
        return 0;
    int added = hpc_add_metric(reading->state, &facts, error);
    if (added > 0 && read_number(reading, "db-id", &column) && column >= 0 && column < 1 << 16)
        return hpc_set_column(reading->state, (uint32_t)column, error);
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

static int read_place(struct reading *reading, struct hpc_idmap *ids, struct hpc_places *places,
                      struct pf_error *error)
{
    int64_t id;
    struct hpc_place place = {.path = PF_NO_STRING};
    if (!read_number(reading, "i", &id))
        return 0;
    place.id = (uint64_t)id;
    int added = hpc_idmap_add(ids, place.id, places->count, error);
    if (added <= 0)
        return added;
    place.path = intern_attribute(reading, "n", error);
    if (place.path == PF_NO_STRING)
        return -1;
    struct pf_cell path = pf_interned(strings_of(reading), place.path);
    place.copied = path.size > 6 && !memcmp(path.text, "./src/", 6);
    return hpc_add_place(places, &place, error);
}

static int read_procedure(struct reading *reading, struct pf_error *error)
{
    int64_t id, offset;
    struct hpc_function function = {.file = PF_NO_STRING, .module = PF_NO_STRING, .offset = HPC_NO_OFFSET};
    if (!read_number(reading, "i", &id))
        return 0;
    function.id = (uint64_t)id;
    int added = hpc_idmap_add(&reading->procedures, function.id, reading->model->functions.count, error);
    if (added <= 0)
        return added;
    if (read_number(reading, "v", &offset) && offset)
        function.offset = (uint64_t)offset;
    function.name = intern_attribute(reading, "n", error);
    return function.name == PF_NO_STRING || hpc_add_function(&reading->model->functions, &function, error)
               ? -1
               : 0;
}

static int read_module(struct reading *reading, struct pf_error *error)
{
    return read_place(reading, &reading->modules, &reading->model->modules, error);
}

static int read_file(struct reading *reading, struct pf_error *error)
{
    return read_place(reading, &reading->files, &reading->model->files, error);
}

/* The index of what an attribute is the id of; HPC_NO_NUMBER: none. */
static uint32_t find(const struct reading *reading, const char *name, const struct hpc_idmap *ids)
{
    int64_t id;
    return read_number(reading, name, &id) ? hpc_idmap_find(ids, (uint64_t)id) : HPC_NO_NUMBER;
}

static uint32_t path_of(const struct reading *reading, const char *name, const struct hpc_idmap *ids,
                        const struct hpc_places *places)
{
    uint32_t i = find(reading, name, ids);
    return i == HPC_NO_NUMBER ? PF_NO_STRING : places->items[i].path;
}

/* ---- contexts ------------------------------------------------------------------------------------------- */

/*
 * The calling-context tree of experiment.xml: frames (PF, inlined in 2.x: Pr), call sites (C), loops (L), lines and
 * instructions (S). A context may be written as two elements, one inside the other, whose numbers differ in sign at
 * most: a frame and the instruction that it consists of, say. The more telling element decides what it is.
 */

/* What an element says of its context; in 2.x an inlined frame's exclusive value is also its caller's. */
static int read_facts(struct reading *reading, const struct level *above, struct hpc_context *context,
                      struct pf_error *error)
{
    const struct hpc_model *model = reading->model;
    enum hpc_kind kind = reading->element->kind;
    bool frame = kind == HPC_FUNCTION || kind == HPC_INLINED;
    int64_t number;
    uint64_t address = read_number(reading, "v", &number) ? (uint64_t)number : 0;
    *context = (struct hpc_context){
        .offset = address ? address : HPC_NO_OFFSET,
        .file = path_of(reading, "f", &reading->files, &model->files),
        .module = path_of(reading, "lm", &reading->modules, &model->modules),
        .kind = kind == HPC_LINE && address ? HPC_INSTRUCTION : kind,
        .flags = kind == HPC_FUNCTION ? PF_FRAME : 0,
    };
    if (read_number(reading, "l", &number) && number > 0 && number <= UINT32_MAX)
        context->line = (uint32_t)number;
    if (context->file == PF_NO_STRING && !frame)
        context->file = above->file;
    if (context->module == PF_NO_STRING)
        context->module = above->module;
    uint32_t i = frame ? find(reading, "n", &reading->procedures) : HPC_NO_NUMBER;
    context->name = i == HPC_NO_NUMBER ? PF_NO_STRING : model->functions.items[i].name;
    if (i == HPC_NO_NUMBER || !pf_interned(strings_of(reading), context->name).size)
        return hpc_name_context(reading->model, context, error);
    return 0;
}

static int remember_rank(struct reading *reading, uint32_t context, uint8_t rank, struct pf_error *error)
{
    if (pf_array_reach(&reading->ranks, &reading->ranks_room, context, sizeof *reading->ranks, error))
        return -1;
    reading->ranks[context] = rank;
    return 0;
}

/* The context that has this id already is now told of by another element, perhaps a better one. */
static void improve(struct reading *reading, uint32_t i, const struct hpc_context *context)
{
    struct pf_tree *tree = reading->model->tree;
    if (i >= reading->ranks_room || reading->element->rank <= reading->ranks[i])
        return;
    reading->ranks[i] = reading->element->rank;
    tree->kind[i] = (uint8_t)context->kind;
    tree->name[i] = context->name;
    tree->flags[i] |= context->flags;
    tree->line[i] = context->line;
    tree->file[i] = context->file;
    tree->module[i] = context->module;
    reading->model->offset[i] = context->offset;
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
    return hpc_note(reading->notes, HPC_NOTE_ERROR_INCONSISTENT_TREE, pf_xml_line(reading->xml), -1,
                    "experiment.xml: %s; so may others be", text);
}

/* Numbers of 2.x begin with the root, which is not written. */
static int read_data(struct reading *reading, struct pf_error *error)
{
    uint64_t id = reading->state->layout == HPC_OLD;
    uint32_t i = hpc_model_add_root(reading->model, id, error);
    if (i == PF_NO_CONTEXT)
        return error->code ? -1 : note_stray(reading, "there is a second root");
    reading->in_tree = true;
    struct level level = {id, i, PF_NO_STRING, PF_NO_STRING, reading->element};
    return remember_rank(reading, i, 0, error) || push(reading, &level, error) ? -1 : 0;
}

static int read_context(struct reading *reading, struct pf_error *error)
{
    struct hpc_context context;
    int64_t number, traced;
    if (!reading->in_tree || !reading->depth)
        return 0;
    const struct level above = reading->levels[reading->depth - 1];
    struct level level = {above.id, above.context, above.file, above.module, reading->element};
    if (!read_number(reading, "i", &number) || number < -(int64_t)UINT32_MAX || number > (int64_t)UINT32_MAX)
        return note_stray(reading, "an element has no number") ? -1 : push(reading, &level, error);
    level.id = (uint64_t)(number < 0 ? -number : number);
    if (read_facts(reading, &above, &context, error))
        return -1;
    context.id = level.id;
    level.context = hpc_idmap_find(&reading->model->ids, level.id);
    if (level.context == HPC_NO_NUMBER) {
        level.context = hpc_model_add(reading->model, above.context, &context, error);
        if (level.context == PF_NO_CONTEXT ||
            remember_rank(reading, level.context, reading->element->rank, error))
            return -1;
    } else {
        if (level.id != above.id && note_stray(reading, "two places of the tree have one number"))
            return -1;
        improve(reading, level.context, &context);
    }
    if (context.file != PF_NO_STRING)
        level.file = context.file;
    if (context.module != PF_NO_STRING)
        level.module = context.module;
    /* Samples in the traces of 2.x have numbers of their own. */
    if (reading->state->layout == HPC_OLD && read_number(reading, "it", &traced) && traced >= 0 &&
        hpc_idmap_add(&reading->model->traced, (uint64_t)traced, level.context, error) < 0)
        return -1;
    return push(reading, &level, error);
}

/* `<M n="metric" v="value"/>`: what the summary has in the context that it stands in. */
static int read_value(struct reading *reading, struct pf_error *error)
{
    double value;
    const char *text = pf_xml_attribute(reading->xml, "v");
    if (!reading->in_tree || !reading->depth || reading->state->layout != HPC_OLD)
        return 0;
    uint32_t metric = find(reading, "n", &reading->state->summary_metrics.ids);
    if (metric == HPC_NO_NUMBER || !text || !pf_parse_double(text, strlen(text), &value))
        return note_stray(reading, "a value is of no known metric, or no number");
    int added = hpc_old_summary_add(&reading->model->summary, reading->levels[reading->depth - 1].context,
                                    metric, value, error);
    return added ? (added < 0 ? -1 : 0) : note_stray(reading, "values of a context do not stand together");
}

/* ---- events --------------------------------------------------------------------------------------------- */

/* The frequent ones first. */
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
    {.name = "Procedure", .in_tree = read_procedure},
    {.name = "File", .in_tree = read_file},
    {.name = "LoadModule", .in_tree = read_module},
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

static int on_head_start(void *arg, const char *name, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct element *element = reading->element = element_of(name);
    if (!reading->root && (!element || element->in_head != read_root))
        return pf_fail_line(error, EINVAL, pf_xml_line(reading->xml), "%s", NO_EXPERIMENT);
    return element && element->in_head ? element->in_head(reading, error) : 0;
}

static int on_head_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    (void)text, (void)size;
    return element_of(name) == &elements[METRIC] ? add_pending(arg, error) : 0;
}

static int on_tree_start(void *arg, const char *name, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct element *element = reading->element = element_of(name);
    return element && element->in_tree ? element->in_tree(reading, error) : 0;
}

static int on_tree_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    (void)text, (void)size, (void)error;
    struct reading *reading = arg;
    const struct element *element = element_of(name);
    if (!element || (!element->rank && element != &elements[DATA]) || !reading->depth)
        return 0;
    if (reading->levels[reading->depth - 1].element != element)
        return note_stray(reading, "an element is closed that is not open");
    if (!--reading->depth)
        reading->in_tree = false;
    return 0;
}

/* Feeds the description's bytes up to `end` to the events. 0: all is read; 1: an event or a fault has ended it; -1: *error
 * filled. The reading's XML is to be freed in any case. */
static int read_xml(struct reading *reading, const struct pf_xml_events *events, uint64_t end,
                    struct pf_pass *pass, struct pf_error *error)
{
    struct pf_input *input = reading->state->description;
    uint64_t size = pf_input_size(input);
    char *bytes = malloc(PIECE);
    reading->xml = pf_xml_new(events, reading);
    int told = bytes && reading->xml ? 0 : pf_fail_memory(error);
    for (uint64_t at = 0; at < size && at < end && !told; at += PIECE) {
        ssize_t got = pf_input_read(input, bytes, PIECE, at, error);
        bool failed = got < 0 || pf_pass_step(pass, at, size, error);
        told = failed ? -1 : pf_xml_feed(reading->xml, bytes, (size_t)got, error);
    }
    free(bytes);
    return told;
}

int hpc_experiment_open(struct pf_profile *profile, struct pf_notes *notes, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_head_start, on_head_end};
    struct hpc_state *state = hpc_state(profile);
    struct reading reading = {.state = state, .profile = profile, .notes = notes};
    state->ticks_per_second = 1000000000;
    int failed = read_xml(&reading, &events, HEAD_MAX, NULL, error) < 0 || add_pending(&reading, error);
    if (!failed && !reading.root)
        failed = pf_fail_at(error, EINVAL, 0, "%s", NO_EXPERIMENT);
    if (!failed && !reading.complete)
        failed = hpc_note(notes, HPC_NOTE_ERROR_HEAD, 0, -1,
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
                            struct pf_pass *pass, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_tree_start, on_tree_end};
    struct reading reading = {.state = state, .model = model, .notes = notes};
    int failed = read_xml(&reading, &events, UINT64_MAX, pass, error) < 0; /* a fault is told below */
    if (!failed && pf_xml_is_cut(reading.xml))
        failed = hpc_note(notes, HPC_NOTE_FATAL_CUT_XML, pf_xml_line(reading.xml), -1,
                          "experiment.xml ends inside of an element, or is no XML from here on");
    if (!failed && !model->tree->count)
        failed =
            hpc_note(notes, HPC_NOTE_FATAL_NO_TREE, 0, -1, "experiment.xml has no calling-context tree") ||
            read_data(&reading, error);
    pf_xml_free(reading.xml);
    hpc_idmap_free(&reading.modules);
    hpc_idmap_free(&reading.files);
    hpc_idmap_free(&reading.procedures);
    free(reading.levels);
    free(reading.ranks);
    return failed ? -1 : 0;
}
