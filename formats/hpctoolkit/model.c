/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/kit/array.h"

/* ---- contexts ----------------------------------------------------------------------------------- */

static const char *const kinds[] = {
    [HPC_ROOT] = "root",         [HPC_ENTRY] = "entry",
    [HPC_FUNCTION] = "function", [HPC_INLINED] = "inlined",
    [HPC_CALL] = "call",         [HPC_LOOP] = "loop",
    [HPC_LINE] = "line",         [HPC_INSTRUCTION] = "instruction",
    [HPC_OTHER] = "other",
};

bool hpc_model_begin(struct hpc_model *model)
{
    *model = (struct hpc_model){.tree = pf_tree_new(kinds)};
    return model->tree != NULL;
}

void hpc_model_free(struct hpc_model *model)
{
    pf_tree_free(model->tree);
    pf_ids_free(&model->ids);
    pf_ids_free(&model->traced);
    pf_store_free(model->summary);
    free(model->offset);
    free(model->relation);
    for (int i = 0; i < HPC_LISTS; i++)
        free(model->lists[i].items);
    *model = (struct hpc_model){0};
}

/*
 * Grows the columns of contexts that the tree does not manage itself to the tree's room. Returns 0, or -1 with *error
 * filled.
 */
static int make_room(struct hpc_model *model, struct pf_error *error)
{
    struct pf_tree *tree = model->tree;
    model->room = tree->room;
    return pf_array_resize(&tree->id, tree->room, sizeof *tree->id, error) ||
                   pf_array_resize(&tree->line, tree->room, sizeof *tree->line, error) ||
                   pf_array_resize(&tree->file, tree->room, sizeof *tree->file, error) ||
                   pf_array_resize(&tree->module, tree->room, sizeof *tree->module, error) ||
                   pf_array_resize(&model->offset, tree->room, sizeof *model->offset, error) ||
                   pf_array_resize(&model->relation, tree->room, sizeof *model->relation, error)
               ? -1
               : 0;
}

uint32_t hpc_model_add(struct hpc_model *model, uint32_t parent, const struct hpc_context *context,
                       struct pf_error *error)
{
    struct pf_tree *tree = model->tree;
    error->code = 0;
    if (pf_ids_add(&model->ids, context->id, tree->count, error) <= 0)
        return PF_NO_CONTEXT;
    uint32_t i = pf_tree_add(tree, parent, 0, context->name, (uint8_t)context->kind, context->flags, error);
    if (i == PF_NO_CONTEXT || (model->room < tree->room && make_room(model, error)))
        return PF_NO_CONTEXT;
    hpc_model_set(model, i, context);
    tree->id[i] = context->id;
    return i;
}

void hpc_model_set(struct hpc_model *model, uint32_t i, const struct hpc_context *context)
{
    struct pf_tree *tree = model->tree;
    tree->kind[i] = (uint8_t)context->kind;
    tree->name[i] = context->name;
    tree->flags[i] |= context->flags;
    tree->line[i] = context->line;
    tree->file[i] = context->file;
    tree->module[i] = context->module;
    model->offset[i] = context->offset;
    model->relation[i] = context->relation;
}

uint32_t hpc_model_add_bare(struct hpc_model *model, uint64_t id, const char *name, enum hpc_kind kind,
                            uint8_t flags, struct pf_error *error)
{
    struct hpc_context context = {
        .id = id,
        .offset = HPC_NO_OFFSET,
        .name = pf_intern(model->tree->strings, name, strlen(name), error),
        .file = PF_NO_STRING,
        .module = PF_NO_STRING,
        .kind = kind,
        .flags = flags,
    };
    return context.name == PF_NO_STRING ? PF_NO_CONTEXT
                                        : hpc_model_add(model, PF_NO_CONTEXT, &context, error);
}

uint32_t hpc_model_add_root(struct hpc_model *model, uint64_t id, struct pf_error *error)
{
    return hpc_model_add_bare(model, id, "root", HPC_ROOT, PF_ROOT | PF_FRAME, error);
}

const struct pf_column hpc_context_columns[HPC_CONTEXT_COLUMNS] = {
    [HPC_RELATION] = {"relation", PF_PLAIN, 0}, [HPC_OFFSET] = {"offset", PF_PLAIN, 0}};

void hpc_context_cells(const struct pf_model *profile, uint32_t context, struct pf_cell *cells)
{
    static const char *const relations[HPC_RELATIONS] = {
        [HPC_LEXICAL] = "lexical", [HPC_BY_CALL] = "call", [HPC_BY_INLINED_CALL] = "inlined_call"};
    const struct hpc_model *model = &hpc_state(profile)->model;
    uint64_t offset = model->offset[context];
    unsigned relation = model->relation[context];
    cells[HPC_RELATION] =
        relation < HPC_RELATIONS ? pf_string(relations[relation]) : pf_uint(relation - HPC_LEXICAL);
    cells[HPC_OFFSET] = offset == HPC_NO_OFFSET ? pf_absent() : pf_uint(offset);
}

/* ---- names -------------------------------------------------------------------------------------- */

/* Maximum size in bytes of a file name within a context's name; the columns file and module have the full path. */
enum { PART_MAX = 400 };

/* The last component of a path, ignoring a trailing slash, truncated between UTF-8 characters. */
static struct pf_cell last_part(const struct hpc_model *model, uint32_t path)
{
    struct pf_cell cell = pf_interned(model->tree->strings, path);
    if (cell.type != PF_TEXT || !cell.size)
        return pf_string("");
    const char *slash = memrchr(cell.text, '/', cell.size - 1);
    const char *part = slash ? slash + 1 : cell.text;
    size_t size = cell.size - (size_t)(part - cell.text);
    if (size > PART_MAX)
        for (size = PART_MAX; size && (part[size] & 0xc0) == 0x80;)
            size--;
    return pf_text(part, size);
}

int hpc_name_context(struct hpc_model *model, struct hpc_context *context, struct pf_error *error)
{
    char name[PART_MAX + 64];
    bool loop = context->kind == HPC_LOOP, call = context->kind == HPC_CALL && context->line;
    bool place = loop || call || context->kind == HPC_LINE, offset = context->offset != HPC_NO_OFFSET;
    struct pf_cell part = last_part(model, place ? context->file : context->module);
    int size = snprintf(name, sizeof name, "%s%.*s", loop ? "loop at " : "", (int)part.size, part.text);
    if (place && !part.size)
        size += snprintf(name + size, sizeof name - (size_t)size, "<unknown file>");
    else if (place && context->line)
        size += snprintf(name + size, sizeof name - (size_t)size, ":%u", context->line);
    else if (!place && offset)
        size += snprintf(name + size, sizeof name - (size_t)size, "+0x%" PRIx64, context->offset);
    else if (!place && !part.size)
        size = snprintf(name, sizeof name, "<unknown %s>", kinds[context->kind]);
    context->name = pf_intern(model->tree->strings, name, (size_t)size, error);
    return context->name == PF_NO_STRING ? -1 : 0;
}

/* ---- lists, and the summary of 2.x ------------------------------------------------------------------ */

int hpc_model_add_item(struct hpc_model *model, enum hpc_list list, const struct hpc_item *item,
                       struct pf_error *error)
{
    struct hpc_items *items = &model->lists[list];
    if (items->count == UINT32_MAX ||
        pf_array_room(&items->items, &items->room, items->count, sizeof *item, error))
        return pf_fail_memory(error);
    items->items[items->count++] = *item;
    return 0;
}

int hpc_model_add_value(struct hpc_model *model, const struct hpc_old_value *value, struct pf_error *error)
{
    enum { HELD = 8 << 20 }; /* bytes of values kept in memory */
    if (!model->summary && !(model->summary = pf_store_new(HELD)))
        return pf_fail_memory(error);
    if (value->context < model->last_with_summary)
        return 0;
    model->last_with_summary = value->context;
    return pf_store_append(model->summary, value, sizeof *value, error) ? -1 : 1;
}
