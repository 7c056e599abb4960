/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "formats/hpctoolkit/experiment_xml.h"
#include "formats/hpctoolkit/utf8.h"
#include "formats/kit/array.h"
#include "formats/kit/parse.h"

/*
 * The calling-context tree of experiment.xml: frames (PF, inlined in 2.x: Pr), call sites (C), loops (L), lines and
 * instructions (S). A context may be written as two elements, one inside the other, whose numbers differ in sign at
 * most: a frame and the instruction that it consists of, say. The more telling element decides what it is.
 */

/* An element that is open. */
struct level {
    uint64_t id;           /* of its context */
    uint32_t context;      /* its number; PF_NO_CONTEXT: none could be made */
    uint32_t file, module; /* inherited by what says nothing of its own */
    uint8_t element;
};

struct reading {
    struct hpc_state *state;
    struct hpc_model *model;
    struct pf_notes *notes;
    struct pf_xml *xml;
    struct hpc_idmap modules, files, procedures; /* id -> index in the model's lists */
    struct level *levels;
    size_t depth, room;
    bool in_tree, strays;
    uint8_t *elements; /* by context: which element has decided what it is */
    size_t elements_room;
};

static struct pf_strings *strings_of(const struct reading *reading)
{
    return reading->model->tree->strings;
}

/* ---- tables --------------------------------------------------------------------------------------------- */

static uint32_t intern_attribute(struct reading *reading, const struct pf_xml *xml, const char *name,
                                 struct pf_error *error)
{
    struct pf_cell cell = hpc_attribute(xml, name);
    return pf_intern(strings_of(reading), cell.type == PF_TEXT ? cell.text : "",
                     cell.type == PF_TEXT ? cell.size : 0, error);
}

static int read_place(struct reading *reading, const struct pf_xml *xml, struct hpc_idmap *ids,
                      struct hpc_places *places, struct pf_error *error)
{
    int64_t id;
    struct hpc_place place = {.path = PF_NO_STRING};
    if (!hpc_number(xml, "i", &id))
        return 0;
    place.id = (uint64_t)id;
    int added = hpc_idmap_add(ids, place.id, places->count, error);
    if (added <= 0)
        return added;
    place.path = intern_attribute(reading, xml, "n", error);
    if (place.path == PF_NO_STRING)
        return -1;
    struct pf_cell path = pf_interned(strings_of(reading), place.path);
    place.copied = path.size > 6 && !memcmp(path.text, "./src/", 6);
    return hpc_add_place(places, &place, error);
}

static int read_procedure(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    int64_t id, offset;
    struct hpc_function function = {.file = PF_NO_STRING, .module = PF_NO_STRING, .offset = HPC_NO_OFFSET};
    if (!hpc_number(xml, "i", &id))
        return 0;
    function.id = (uint64_t)id;
    int added = hpc_idmap_add(&reading->procedures, function.id, reading->model->functions.count, error);
    if (added <= 0)
        return added;
    if (hpc_number(xml, "v", &offset) && offset)
        function.offset = (uint64_t)offset;
    function.name = intern_attribute(reading, xml, "n", error);
    return function.name == PF_NO_STRING || hpc_add_function(&reading->model->functions, &function, error)
               ? -1
               : 0;
}

static uint32_t path_of(const struct pf_xml *xml, const char *name, const struct hpc_idmap *ids,
                        const struct hpc_places *places)
{
    int64_t id;
    uint32_t i = hpc_number(xml, name, &id) ? hpc_idmap_find(ids, (uint64_t)id) : HPC_NO_NUMBER;
    return i == HPC_NO_NUMBER ? PF_NO_STRING : places->items[i].path;
}

/* ---- contexts ------------------------------------------------------------------------------------------- */

/* Of two elements of one context, which one tells more. */
static int rank(uint8_t element)
{
    static const uint8_t ranks[HPC_X_ELEMENTS] = {
        [HPC_X_C] = 1, [HPC_X_S] = 2, [HPC_X_L] = 3, [HPC_X_PR] = 4, [HPC_X_PF] = 5};
    return ranks[element];
}

static enum hpc_kind kind_of(enum hpc_element element, uint64_t address)
{
    switch (element) {
    case HPC_X_PF:
        return HPC_FUNCTION;
    case HPC_X_PR:
        return HPC_INLINED;
    case HPC_X_L:
        return HPC_LOOP;
    case HPC_X_C:
        return HPC_CALL;
    default:
        return address ? HPC_INSTRUCTION : HPC_LINE;
    }
}

static int set_name(struct reading *reading, const struct pf_xml *xml, struct hpc_context *context,
                    struct pf_error *error)
{
    int64_t id;
    bool frame = context->kind == HPC_FUNCTION || context->kind == HPC_INLINED;
    uint32_t i = frame && hpc_number(xml, "n", &id) ? hpc_idmap_find(&reading->procedures, (uint64_t)id)
                                                    : HPC_NO_NUMBER;
    if (i != HPC_NO_NUMBER &&
        pf_interned(strings_of(reading), reading->model->functions.items[i].name).size) {
        context->name = reading->model->functions.items[i].name;
        return 0;
    }
    return hpc_name_context(reading->model, context, error);
}

/* What an element says of its context; in 2.x an inlined frame's exclusive value is also its caller's. */
static int read_facts(struct reading *reading, enum hpc_element element, const struct pf_xml *xml,
                      const struct level *above, struct hpc_context *context, struct pf_error *error)
{
    const struct hpc_model *model = reading->model;
    int64_t number;
    *context = (struct hpc_context){.name = PF_NO_STRING, .offset = HPC_NO_OFFSET};
    uint64_t address = hpc_number(xml, "v", &number) ? (uint64_t)number : 0;
    if (address)
        context->offset = address;
    context->line =
        hpc_number(xml, "l", &number) && number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
    context->file = path_of(xml, "f", &reading->files, &model->files);
    context->module = path_of(xml, "lm", &reading->modules, &model->modules);
    if (context->file == PF_NO_STRING && element != HPC_X_PF && element != HPC_X_PR)
        context->file = above->file;
    if (context->module == PF_NO_STRING)
        context->module = above->module;
    context->kind = kind_of(element, address);
    context->flags = element == HPC_X_PF ? PF_FRAME : 0;
    return set_name(reading, xml, context, error);
}

static int remember_element(struct reading *reading, uint32_t context, uint8_t element,
                            struct pf_error *error)
{
    if (pf_array_reach(&reading->elements, &reading->elements_room, context, sizeof *reading->elements,
                       error))
        return -1;
    reading->elements[context] = element;
    return 0;
}

/* The context that has this id already is now told of by a better element. */
static void improve(struct reading *reading, uint32_t i, uint8_t element, const struct hpc_context *context)
{
    struct pf_tree *tree = reading->model->tree;
    if (i >= reading->elements_room || rank(element) <= rank(reading->elements[i]))
        return;
    reading->elements[i] = element;
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

static int read_root(struct reading *reading, struct pf_error *error)
{
    uint64_t id =
        reading->state->layout == HPC_OLD; /* numbers of 2.x begin with the root, which is not written */
    uint32_t i = hpc_model_add_root(reading->model, id, error);
    if (i == PF_NO_CONTEXT)
        return error->code ? -1 : note_stray(reading, "there is a second root");
    reading->in_tree = true;
    struct level level = {id, i, PF_NO_STRING, PF_NO_STRING, HPC_X_DATA};
    return remember_element(reading, i, HPC_X_DATA, error) || push(reading, &level, error) ? -1 : 0;
}

/* Numbers of samples in the traces of 2.x. */
static int read_traced(struct reading *reading, const struct pf_xml *xml, uint32_t context,
                       struct pf_error *error)
{
    int64_t traced;
    if (reading->state->layout != HPC_OLD || !hpc_number(xml, "it", &traced) || traced < 0)
        return 0;
    return hpc_idmap_add(&reading->model->traced, (uint64_t)traced, context, error) < 0 ? -1 : 0;
}

static int read_context(struct reading *reading, enum hpc_element element, const struct pf_xml *xml,
                        struct pf_error *error)
{
    struct hpc_context context;
    int64_t number;
    if (!reading->in_tree || !reading->depth)
        return 0;
    const struct level above = reading->levels[reading->depth - 1];
    struct level level = {above.id, above.context, above.file, above.module, (uint8_t)element};
    if (!hpc_number(xml, "i", &number) || number < -(int64_t)UINT32_MAX || number > (int64_t)UINT32_MAX)
        return note_stray(reading, "an element has no number") ? -1 : push(reading, &level, error);
    level.id = (uint64_t)(number < 0 ? -number : number);
    if (read_facts(reading, element, xml, &above, &context, error))
        return -1;
    context.id = level.id;
    level.context = hpc_idmap_find(&reading->model->ids, level.id);
    if (level.context == HPC_NO_NUMBER) {
        level.context = hpc_model_add(reading->model, above.context, &context, error);
        if (level.context == PF_NO_CONTEXT ||
            remember_element(reading, level.context, (uint8_t)element, error))
            return -1;
    } else {
        if (level.id != above.id && note_stray(reading, "two places of the tree have one number"))
            return -1;
        improve(reading, level.context, (uint8_t)element, &context);
    }
    if (context.file != PF_NO_STRING)
        level.file = context.file;
    if (context.module != PF_NO_STRING)
        level.module = context.module;
    return read_traced(reading, xml, level.context, error) || push(reading, &level, error) ? -1 : 0;
}

/* `<M n="metric" v="value"/>`: what the summary has in the context that it stands in. */
static int read_value(struct reading *reading, const struct pf_xml *xml, struct pf_error *error)
{
    int64_t id;
    double value;
    struct pf_cell text = hpc_attribute(xml, "v");
    if (!reading->in_tree || !reading->depth || reading->state->layout != HPC_OLD)
        return 0;
    uint32_t metric = hpc_number(xml, "n", &id)
                          ? hpc_idmap_find(&reading->state->summary_metrics.ids, (uint64_t)id)
                          : HPC_NO_NUMBER;
    if (metric == HPC_NO_NUMBER || text.type != PF_TEXT || !pf_parse_double(text.text, text.size, &value))
        return note_stray(reading, "a value is of no known metric, or no number");
    int added = hpc_old_summary_add(&reading->model->summary, reading->levels[reading->depth - 1].context,
                                    metric, value, error);
    return added ? (added < 0 ? -1 : 0) : note_stray(reading, "values of a context do not stand together");
}

/* ---- events --------------------------------------------------------------------------------------------- */

static int on_start(void *arg, const char *name, struct pf_error *error)
{
    struct reading *reading = arg;
    const struct pf_xml *xml = reading->xml;
    struct hpc_model *model = reading->model;
    enum hpc_element element = hpc_element(name);
    switch (element) {
    case HPC_X_MODULE:
        return read_place(reading, xml, &reading->modules, &model->modules, error);
    case HPC_X_FILE:
        return read_place(reading, xml, &reading->files, &model->files, error);
    case HPC_X_PROCEDURE:
        return read_procedure(reading, xml, error);
    case HPC_X_DATA:
        return read_root(reading, error);
    case HPC_X_PF:
    case HPC_X_PR:
    case HPC_X_C:
    case HPC_X_L:
    case HPC_X_S:
        return read_context(reading, element, xml, error);
    case HPC_X_M:
        return read_value(reading, xml, error);
    default:
        return 0;
    }
}

static int on_end(void *arg, const char *name, const char *text, size_t size, struct pf_error *error)
{
    (void)text, (void)size, (void)error;
    struct reading *reading = arg;
    enum hpc_element element = hpc_element(name);
    if ((!rank((uint8_t)element) && element != HPC_X_DATA) || !reading->depth)
        return 0;
    if (reading->levels[reading->depth - 1].element != element)
        return note_stray(reading, "an element is closed that is not open");
    if (!--reading->depth)
        reading->in_tree = false;
    return 0;
}

int hpc_experiment_contexts(struct hpc_state *state, struct hpc_model *model, struct pf_notes *notes,
                            struct pf_pass *pass, struct pf_error *error)
{
    static const struct pf_xml_events events = {on_start, on_end};
    struct reading reading = {.state = state, .model = model, .notes = notes};
    reading.xml = pf_xml_new(&events, &reading);
    int failed =
        reading.xml ? hpc_read_xml(state, UINT64_MAX, reading.xml, pass, error) : pf_fail_memory(error);
    failed = failed < 0 ? -1 : 0; /* a fault is told below */
    if (!failed && pf_xml_is_cut(reading.xml))
        failed = hpc_note(notes, HPC_NOTE_FATAL_CUT_XML, pf_xml_line(reading.xml), -1,
                          "experiment.xml ends inside of an element, or is no XML from here on");
    if (!failed && !model->tree->count)
        failed =
            hpc_note(notes, HPC_NOTE_FATAL_NO_TREE, 0, -1, "experiment.xml has no calling-context tree") ||
            read_root(&reading, error);
    pf_xml_free(reading.xml);
    hpc_idmap_free(&reading.modules);
    hpc_idmap_free(&reading.files);
    hpc_idmap_free(&reading.procedures);
    free(reading.levels);
    free(reading.elements);
    return failed ? -1 : 0;
}
